// El escalado. Las cuentas son las de `compute`, en scaling.py, con sus mismas muestras.

const WIDTHS = Array.from({ length: 11 }, (_, i) => 2 ** i);
const [QUERIES, KEYS, HEADS] = [320, 12, 12];
const LEVEL = 2 ** -11; // lo que vale cada unidad de los enteros de 16 bits
const [BIN, BINS] = [0.5, 50]; // la primera caja y la última guardan todo lo que queda fuera
const EDGE = (BIN * (BINS - 2)) / 2;
const REFERENCE = 'sqrt(d_k)';
const DIVISORS = {
  nada: { label: 'nada', says: 'sin dividir', value: () => 1 },
  'sqrt(d_k)': { label: '√d_k', says: 'entre √d_k', value: d_k => Math.sqrt(d_k) },
  d_k: { label: 'd_k', says: 'entre d_k', value: d_k => d_k },
  'sqrt(d_model)': {
    label: `√d_model (${HEADS} cabezas: √(${HEADS}·d_k))`,
    says: 'entre √d_model',
    value: d_k => Math.sqrt(HEADS * d_k),
  },
};

const STYLE = css`
  .exp-scaling fieldset {
    border: 1px solid var(--mute);
    border-radius: 0.4rem;
    margin: 0.3rem 0;
    padding: 0.1rem 0.7rem;
  }
  .exp-scaling .exp-histogram {
    flex: 0 1 28rem;
    min-width: 0;
  }
  .exp-scaling .exp-chart {
    width: min(28rem, 100%);
  }
  .exp-scaling input[type='range'] {
    flex: 0 1 16rem;
    width: 16rem;
  }
  .exp-scaling table {
    font-size: 0.92rem;
  }
  .exp-scaling :is(th, td) {
    padding: 0.15rem 0.4rem;
  }
  .exp-scaling thead th {
    max-width: 6.5rem;
  }
  .exp-scaling .exp-key {
    display: inline-block;
    width: 1.6em;
    height: 0.8em;
    margin-right: 0.4em;
  }
  .exp-scaling .exp-legend {
    margin: 0.2rem 0;
    display: flex;
    flex-wrap: wrap;
    gap: 0 1.2rem;
  }
  .exp-scaling thead th {
    vertical-align: bottom;
  }
  .exp-scaling tbody th {
    text-align: left;
    font-weight: 400;
  }
  .exp-scaling td:nth-child(2) {
    font-weight: 700;
  }
`;

/** Las muestras, de base 64 a números: los q·k / √d_k de cada anchura, uno tras otro. */
export function unpack(text) {
  const view = decode(text);
  return Float64Array.from(
    { length: view.byteLength / 2 },
    (_, i) => view.getInt16(2 * i, true) * LEVEL,
  );
}

/** La norma de diag(p) − p·pᵀ. */
function jacobianNorm(p) {
  let squares = 0;
  for (let i = 0; i < p.length; i++) {
    for (let j = 0; j < p.length; j++) squares += ((i === j ? p[i] : 0) - p[i] * p[j]) ** 2;
  }
  return Math.sqrt(squares);
}

/** Las mismas cuentas que `compute` en Python. */
export function compute(samples, d_k, divisor) {
  const theory = Math.sqrt(d_k) / DIVISORS[divisor].value(d_k);
  const size = QUERIES * KEYS;
  const start = WIDTHS.indexOf(d_k) * size;
  const scores = Array.from(samples.subarray(start, start + size), x => x * theory);
  const average = (values, count = values.length) => sum(values) / count;
  const middle = average(scores);
  const rows = Array.from({ length: QUERIES }, (_, i) =>
    softmax(scores.slice(i * KEYS, (i + 1) * KEYS)),
  );
  const norms = rows.map(jacobianNorm);
  const histogram = Array(BINS).fill(0);
  for (const x of scores)
    histogram[Math.max(0, Math.min(BINS - 1, Math.floor(x / BIN) + BINS / 2))]++;
  return {
    d_k,
    divisor,
    theory,
    histogram,
    std: Math.sqrt(
      average(
        scores.map(x => (x - middle) ** 2),
        size - 1,
      ),
    ),
    largest: average(rows.map(p => Math.max(...p))),
    entropy: average(rows.map(p => p.reduce((sum, x) => sum - (x > 0 ? x * Math.log(x) : 0), 0))),
    jacobian_mean: average(norms),
    // La mediana de torch: de las dos del centro, la de abajo.
    jacobian_median: [...norms].sort((a, b) => a - b)[(QUERIES - 1) >> 1],
  };
}

/**
 * Un número de 0 en adelante: dos cifras que cuenten, al menos; si es muy pequeño, con potencia de
 * 10.
 */
function brief(x) {
  if (x === 0 || x >= 0.001) return show(x, x > 0 ? Math.max(2, 1 - Math.floor(Math.log10(x))) : 2);
  const [digits, power] = x.toExponential(1).split('e-');
  return `${digits}·10⁻${[...power].map(digit => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]).join('')}`;
}

const percent = x => `${show(100 * x, 0)} %`;
const outside = ({ histogram }) => (histogram[0] + histogram[BINS - 1]) / (QUERIES * KEYS);

/** Lo que se ve, en una frase. */
export function sentence({ d_k, divisor, std, largest, entropy, jacobian_median }) {
  const start =
    `Con d_k = ${d_k}, ${DIVISORS[divisor].says}, ` + `la desviación típica es ${brief(std)}`;
  const share = `de media, el ${percent(largest)} del peso se lo lleva un token`;
  if (divisor === 'sqrt(d_model)') {
    return `${start}, √${HEADS} veces menor que entre √d_k, a cualquier anchura; ${share}.`;
  }
  if (d_k === 1)
    return `${start}. Con anchura 1, no dividir, √d_k y d_k son lo mismo: se divide por 1.`;
  if (divisor === REFERENCE) return `${start}, cerca de 1 como a cualquier anchura; ${share}.`;
  if (divisor === 'd_k') {
    const even =
      Math.log(KEYS) - entropy < 0.05
        ? 'reparte casi a partes iguales'
        : 'reparte más que entre √d_k';
    return (
      `${start}: las puntuaciones se aplastan y la softmax ${even} (peso mayor ` +
      `${show(largest)}; ${KEYS} partes iguales, ${show(1 / KEYS)}).`
    );
  }
  return largest > 0.7
    ? `${start}: la softmax se satura; ${share}, y la mediana del jacobiano es ` +
        `${brief(jacobian_median)}.`
    : `${start}, mayor que entre √d_k; ${share}.`;
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const samples = unpack(model.get('samples'));
  const known = {}; // lo ya calculado
  const measure = (d_k, divisor) => (known[`${d_k} ${divisor}`] ??= compute(samples, d_k, divisor));

  // --- Los controles -----------------------------------------------------------------------------
  const width = slider(
    'anchura, d_k',
    {
      min: 0,
      max: WIDTHS.length - 1,
      step: 1,
      value: WIDTHS.indexOf(model.get('d_k')),
      format: i => String(WIDTHS[i]),
    },
    i => save('d_k', WIDTHS[i]),
  );
  const divisors = radios(
    'q·k se divide por',
    Object.entries(DIVISORS).map(([name, { label }]) => [name, label]),
    name => save('divisor', name),
  );

  // --- El histograma -----------------------------------------------------------------------------
  const [STEP, LEFT, TOP, FLOOR, GAP] = [8, 48, 14, 204, 6]; // en unidades de dibujo
  const WIDTH = LEFT + BINS * STEP + 2 * GAP + 8;
  const level = (y, opacity) =>
    segment(LEFT - 4, y, WIDTH - 4, y, { stroke: 'currentColor', 'stroke-opacity': opacity });
  const left = i => LEFT + i * STEP + (i > 0 ? GAP : 0) + (i === BINS - 1 ? GAP : 0);
  const chart = make('svg', { viewBox: `0 0 ${WIDTH} 250`, class: 'exp-chart', role: 'img' });
  const grid = make('g');
  const bars = Array.from({ length: BINS }, (_, i) =>
    make('rect', { x: left(i) + 0.5, width: STEP - 1, fill: 'var(--q)', 'fill-opacity': 0.85 }),
  );
  const outline = make('path', {
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': 2,
    'stroke-dasharray': '6 3',
  });
  chart.append(grid, ...bars, outline, level(FLOOR, 0.6));
  for (let value = 4 - EDGE; value <= EDGE - 4; value += 4) {
    const x = left(1) + ((value + EDGE) / BIN) * STEP;
    chart.append(
      segment(x, FLOOR, x, FLOOR + 5, { stroke: 'currentColor' }),
      write(x, FLOOR + 19, 13, show(value, 0), MIDDLE),
    );
  }
  chart.append(
    write(LEFT - 6, FLOOR + 19, 13, `< ${show(-EDGE, 0)}`),
    write(WIDTH - 4, FLOOR + 19, 13, `≥ ${EDGE}`, END),
    write(left(BINS / 2), FLOOR + 39, 13, 'q·k, ya dividido', MIDDLE),
  );
  const lost = make('span');

  // --- La tabla ----------------------------------------------------------------------------------
  const table = make('table', { 'aria-label': 'Medidas' });
  const even = Math.sqrt(KEYS - 1) / KEYS; // el jacobiano de doce pesos iguales
  const MEASURES = [
    ['divisor', r => DIVISORS[r.divisor].value(r.d_k), null],
    ['desviación típica', r => r.std, 0],
    ['teoría: √d_k / divisor', r => r.theory, null],
    ['peso mayor', r => r.largest, 1 / KEYS],
    ['entropía', r => r.entropy, Math.log(KEYS)],
    ['jacobiano, media', r => r.jacobian_mean, even],
    ['jacobiano, mediana', r => r.jacobian_median, even],
  ];

  const key = (name, style) => make('span', {}, make('span', { class: 'exp-key', style }), name);
  mount(
    el,
    'exp-scaling',
    STYLE,
    div(
      'exp-split',
      div(null, width.node, divisors.node),
      div(
        'exp-row',
        div(
          'exp-histogram',
          chart,
          make(
            'p',
            { class: 'exp-legend' },
            key('ahora', 'background: var(--q); opacity: 0.85'),
            key('entre √d_k', 'border: 2px dashed currentColor'),
            lost,
          ),
        ),
        sliding('Medidas', table),
      ),
    ),
    voice.node,
    paragraph(
      `Componentes al azar, de media 0 y varianza 1; ${QUERIES} queries, y ${KEYS} keys para ` +
        'cada una. Peso mayor y entropía, de media. ' +
        'Del jacobiano, diag(p) − p·pᵀ, la norma: dice lo que deja pasar la softmax; lo que ' +
        'llega a la query pasa también por el divisor.',
    ),
  );

  // --- Dibujar -----------------------------------------------------------------------------------
  function draw() {
    const [d_k, divisor] = [model.get('d_k'), model.get('divisor')];
    width.set(WIDTHS.indexOf(d_k));
    divisors.set(divisor);
    const now = measure(d_k, divisor);
    const other = measure(d_k, REFERENCE);
    const peak = Math.max(...now.histogram, ...other.histogram) / (QUERIES * KEYS);
    const y = share => FLOOR - (share / peak) * (FLOOR - TOP);
    const tick = [0.02, 0.05, 0.1, 0.2, 0.25].find(size => peak / size < 5);
    grid.replaceChildren();
    for (let share = 0; share <= peak; share += tick) {
      grid.append(write(LEFT - 8, y(share) + 4, 13, percent(share), END), level(y(share), 0.15));
    }
    const heights = ({ histogram }) => histogram.map(count => y(count / (QUERIES * KEYS)));
    heights(now).forEach((top, i) => set(bars[i], { y: top, height: FLOOR - top }));
    const path = heights(other).map((top, i) => `L${left(i)},${top} H${left(i) + STEP}`);
    set(outline, { d: `M${LEFT},${FLOOR} ${path.join(' ')} V${FLOOR}` });
    lost.textContent = `fuera de ±${EDGE}: ${percent(outside(now))}`;
    set(chart, {
      'aria-label':
        `Histograma de q·k, ${DIVISORS[divisor].says}: desviación típica ` +
        `${brief(now.std)}; ${lost.textContent}`,
    });
    const cell = value => td(value === null ? '—' : brief(value));
    table.replaceChildren(
      make(
        'thead',
        {},
        headRow([
          `ahora: ${divisor === REFERENCE ? 'igual' : DIVISORS[divisor].says}`,
          'entre √d_k',
          'a\u00a0partes iguales',
        ]),
      ),
      make(
        'tbody',
        {},
        ...MEASURES.map(([name, read, flat]) =>
          namedRow(name, [cell(read(now)), cell(read(other)), cell(flat)]),
        ),
      ),
    );
    voice.say(sentence(now));
  }

  draw();
  return listen(model, { d_k: draw, divisor: draw });
}

export default { render };
