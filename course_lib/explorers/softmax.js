// La softmax. Las cuentas son las de `compute`, en softmax.py.

const LIMIT = 10;
const [FEWEST, MOST] = [2, 8];
const SHIFT_LIMIT = 20;
const TIE = 1e-9; // por debajo, dos puntuaciones son iguales y una suma es 0
const PRESETS = { '1, 2, 3': [1, 2, 3], iguales: [2, 2, 2, 2], 'uno muy grande': [1, 2, 3, 10] };
const NAMES = [...'₁₂₃₄₅₆₇₈'].map(digit => `x${digit}`);
const STEPS = 20; // pasos de la barra de la temperatura al multiplicar T por 10

const STYLE = css`
  .exp-softmax table {
    font-size: clamp(0.72rem, 2.4vw, 0.9rem);
  }
  .exp.exp-softmax :is(th, td) {
    padding: 0.15rem 0.45rem;
  }
  .exp-softmax .power {
    font-size: max(0.85em, 11px);
  }
  .exp-softmax .exp-charts {
    display: flex;
    flex-direction: column;
    flex: 0 1 26rem;
    min-width: min(20rem, 100%);
  }
  .exp-softmax .exp-knobs {
    flex: 1 1 20rem;
    min-width: 0;
  }
  .exp-softmax .exp-line {
    display: flex;
    flex-wrap: wrap;
    gap: 0.3rem 0.4rem;
    margin: 0.2rem 0;
  }
  @media (max-height: 30rem) {
    .exp-softmax .exp-charts {
      display: contents;
    }
    .exp-softmax .exp-row {
      display: block;
    }
    .exp-softmax {
      --above: 8rem;
    }
    .exp-softmax .exp-charts > * {
      width: 48%;
    }
    .exp-softmax .exp-charts > :first-child {
      float: left;
    }
    .exp-softmax .exp-row > :not(.exp-charts),
    .exp-softmax .exp-charts > :last-child {
      display: block;
      margin-left: 51%;
    }
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(logits, temperature = 1, shift = 0) {
  const shifted = logits.map(x => x + shift);
  const scaled = shifted.map(x => x / temperature);
  const highest = Math.max(...scaled);
  const exponentials = scaled.map(z => Math.exp(z - highest));
  const weights = exponentials.map(e => e / sum(exponentials));
  const total = sum(shifted);
  const top = Math.max(...logits);
  const best = logits.flatMap((x, i) => (top - x < TIE ? [i] : []));
  return {
    weights,
    exponentials,
    best,
    percentages: Math.abs(total) < TIE ? null : shifted.map(x => x / total),
    winner: best.length === 1 ? best[0] : null,
  };
}

/** Lo que se ve, en palabras: quién gana y qué diría el porcentaje. */
export function sentence({ weights, percentages, best, winner }) {
  const weight = brief(weights[best[0]]);
  const all = best.length === weights.length;
  const names = best.map(i => NAMES[i]);
  const first =
    winner !== null
      ? `La mayor, ${names[0]}, se lleva un peso de ${weight}.`
      : all
        ? `Empatan todas: peso ${weight} cada una.`
        : `Empatan ${join(names)}: peso ${weight} cada una.`;
  return `${first} ${verdict(percentages, best, all)}`;
}

function verdict(percentages, best, all) {
  if (percentages === null) return 'El porcentaje no existe: las puntuaciones suman 0.';
  if (percentages.some(p => p < -TIE)) return 'Los porcentajes no son pesos: hay negativos.';
  const mine = percentages[best[0]];
  if (all) return 'El porcentaje, aquí, da lo mismo.';
  if (mine < Math.max(...percentages) - TIE)
    return 'El porcentaje sale al revés: a la puntuación mayor le da lo mínimo.';
  return `El porcentaje le daría ${show(mine)}${best.length > 1 ? ' a cada una' : ''}.`;
}

/** Un peso, en corto: nunca es 0 ni 1 del todo, y el redondeo no tiene que decir que sí. */
const brief = p => (p < 0.005 ? 'casi 0' : p < 0.995 ? show(p) : 'casi 1');

/** Un peso o una exponencial, en la tabla. */
const exact = p =>
  p < 0.001 ? p.toExponential(1).replace('-', '−') : p < 0.99995 ? show(p, 4) : 'casi 1';

/** Una puntuación: un decimal, o dos si los tiene. */
const short = x => show(x, Math.abs(x * 10 - Math.round(x * 10)) < 1e-6 ? 1 : 2);

/** La barra de T es logarítmica: `u` es log₁₀ T. En los pasos de la barra, T lleva dos cifras. */
const temperatureAt = u =>
  Math.abs(u * STEPS - Math.round(u * STEPS)) < 1e-6 ? Number((10 ** u).toPrecision(2)) : 10 ** u;

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const read = () => traits(model, ['logits', 'temperature', 'shift']);
  let state = read();

  // --- El dibujo: arriba, las puntuaciones; abajo, los pesos, en las mismas columnas -------------
  const [LEFT, WIDTH] = [40, 430];
  const TOP = { from: 30, to: 220 };
  const BOTTOM = { from: 272, to: 392, low: -0.5, high: 1 };
  const FOLD = 246; // lo de debajo se dibuja aparte, con las mismas coordenadas: puede ir al lado
  const [HIDDEN, look] = [{ 'aria-hidden': 'true' }, { class: 'exp-plane exp-stay' }];
  const chart = make('svg', { ...look, viewBox: `0 0 ${WIDTH} ${FOLD}` });
  set(chart, { role: 'group', 'aria-label': 'Las puntuaciones' });
  const below = make('svg', { ...look, viewBox: `0 ${FOLD} ${WIDTH} ${418 - FOLD}`, ...HIDDEN });
  const [axes, axesBelow] = [0, 1].map(() => make('g', HIDDEN));
  const percentName = write(LEFT + 157, 260, 14, '');
  chart.append(axes, write(LEFT, 14, 14, 'puntuaciones, x + c', HIDDEN));
  below.append(
    axesBelow,
    rect(LEFT, 249, 12, 12, { fill: 'var(--q)' }),
    write(LEFT + 18, 260, 14, 'peso (softmax)'),
    rect(LEFT + 139, 249, 12, 12, HOLLOW),
    percentName,
  );
  const columns = NAMES.map((name, index) => {
    const parts = {
      hit: make('rect', {
        y: TOP.from - 8,
        height: TOP.to - TOP.from + 16,
        fill: 'currentColor',
        'fill-opacity': 0.04,
        rx: 4,
      }),
      bar: make('rect', { fill: 'var(--v)', 'fill-opacity': 0.55 }),
      tip: make('rect', { height: 7, rx: 3, fill: 'var(--v)', stroke: 'currentColor' }),
      value: make('text', { ...MIDDLE, 'font-size': 14, 'font-weight': 700 }),
      name: make('text', { ...MIDDLE, y: TOP.to + 22, 'font-size': 14 }, name),
    };
    const follow = event => drag(index, event);
    const group = focusable(
      make(
        'g',
        {
          class: 'exp-handle',
          tabindex: 0,
          role: 'slider',
          'aria-label': `Puntuación ${index + 1}`,
          'aria-orientation': 'vertical',
          'aria-valuemin': -LIMIT,
          'aria-valuemax': LIMIT,
          ...draggable(follow, follow),
          onkeydown: event => press(index, event),
        },
        ...Object.values(parts),
      ),
    );
    const shown = {
      weight: make('rect', { fill: 'var(--q)' }),
      percent: make('rect', HOLLOW),
      off: make('text', { ...MIDDLE, 'font-size': 14 }),
      label: make('text', { ...MIDDLE, y: 412, 'font-size': 14, 'font-weight': 700 }),
    };
    const passive = make('g', {}, ...Object.values(shown));
    chart.append(group);
    below.append(passive);
    return { ...parts, ...shown, group, passive };
  });

  // --- Los mandos y la tabla ---------------------------------------------------------------------
  const powers = { min: -1, max: 1, step: 1 / STEPS, format: u => show(temperatureAt(u)) };
  const heat = slider('temperatura T', powers, u => change({ temperature: temperatureAt(u) }));
  const added = { min: -SHIFT_LIMIT, max: SHIFT_LIMIT, step: 0.5, format: short };
  const shift = slider('c, sumada a todas', added, c => change({ shift: c }));
  const grow = () => state.logits.length < MOST && change({ logits: [...state.logits, 0] });
  const cut = () => state.logits.length > FEWEST && change({ logits: state.logits.slice(0, -1) });
  const [more, less] = [button('Añadir una', grow), button('Quitar la última', cut)];
  const presets = Object.entries(PRESETS).map(([label, logits]) =>
    button(label, () => change({ logits: [...logits], temperature: 1, shift: 0 })),
  );
  const table = make('table', {
    'aria-label': 'Cada puntuación, su exponencial, su peso y su porcentaje',
  });
  mount(
    el,
    'exp-softmax',
    STYLE,
    div(
      'exp-row',
      div('exp-charts', chart, below),
      div(
        'exp-knobs',
        div('exp-line', ...presets),
        div('exp-line', more, less),
        div('exp-line', heat.node, shift.node),
        sliding(table.getAttribute('aria-label'), table),
      ),
    ),
    voice.node,
    paragraph(
      'Arrastra las barras.',
      byKeys('tabulador hasta una, y flechas (con Mayús, de 1 en 1).'),
    ),
  );

  // --- Mover -------------------------------------------------------------------------------------
  /** Lo que abarca el eje de arriba: el margen de las puntuaciones, con c o sin ella. */
  const span = () => [Math.min(0, state.shift) - LIMIT, Math.max(0, state.shift) + LIMIT];

  function drag(index, event) {
    const box = chart.getBoundingClientRect();
    const y = ((event.clientY - box.top) * WIDTH) / box.width;
    const [low, high] = span();
    place(index, high - ((y - TOP.from) / (TOP.to - TOP.from)) * (high - low) - state.shift);
  }

  function press(index, event) {
    const [x, step] = [state.logits[index], event.shiftKey ? 1 : 0.1];
    const [up, down] = [x + step, x - step];
    const arrows = { ArrowUp: up, ArrowRight: up, ArrowDown: down, ArrowLeft: down };
    const ends = { PageUp: x + 1, PageDown: x - 1, Home: -LIMIT, End: LIMIT };
    const next = pressed(event, { ...arrows, ...ends });
    // Así el cuaderno no se mueve.
    if (event.key === ' ' || event.key === 'Enter') event.preventDefault();
    if (next !== undefined) place(index, next);
  }

  function place(index, x) {
    const snapped = Math.round(Math.max(-LIMIT, Math.min(LIMIT, x)) * 10) / 10;
    change({ logits: state.logits.map((old, i) => (i === index ? snapped : old)) });
  }

  function change(next) {
    state = { ...state, ...next };
    // Antes de guardar, se copia: cada trait que cambia vuelve a leer los tres.
    Object.entries(next).forEach(([name, value]) => save(name, value));
    reload();
  }

  // --- Dibujar -----------------------------------------------------------------------------------
  function draw() {
    const { logits, temperature, shift: c } = state;
    const result = compute(logits, temperature, c);
    const [low, high] = span();
    const yTop = x => TOP.from + ((high - x) / (high - low)) * (TOP.to - TOP.from);
    const yBottom = p =>
      BOTTOM.from + ((BOTTOM.high - p) / (BOTTOM.high - BOTTOM.low)) * (BOTTOM.to - BOTTOM.from);
    const ticks = [];
    for (let x = Math.ceil(low / 10) * 10; x <= high; x += 10)
      ticks.push([yTop(x), show(x, 0), x === 0]);
    for (const p of [-0.5, 0, 0.5, 1]) ticks.push([yBottom(p), show(p, 1), p === 0]);
    for (const part of [axes, axesBelow])
      part.replaceChildren(
        ...ticks
          .filter(([y]) => y > FOLD === (part === axesBelow))
          .flatMap(([y, text, zero]) => [
            segment(LEFT, y, WIDTH, y, {
              stroke: 'currentColor',
              'stroke-opacity': zero ? 0.7 : 0.15,
            }),
            write(LEFT - 6, y + 4, 14, text, END),
          ]),
      );
    const exists = result.percentages !== null;
    percentName.textContent = exists ? 'porcentaje, (x + c) / suma' : 'porcentaje: no existe';
    const width = (WIDTH - LEFT) / logits.length;
    columns.forEach((column, i) => {
      const used = i < logits.length;
      for (const node of [column.group, column.passive])
        set(node, { visibility: used ? null : 'hidden' });
      set(column.group, { tabindex: used ? 0 : -1 });
      if (!used) return;
      const middle = LEFT + width * (i + 0.5);
      const [half, side] = [Math.min(26, width / 2 - 4), Math.min(22, width / 2 - 5)];
      const shifted = logits[i] + c;
      set(column.hit, { x: middle - width / 2 + 2, width: width - 4 });
      set(column.bar, { x: middle - half, width: 2 * half, ...between(yTop(0), yTop(shifted)) });
      set(column.tip, { x: middle - half - 2, width: 2 * half + 4, y: yTop(shifted) - 3.5 });
      // Si no cabe fuera de la barra, dentro.
      const [above, below] = [yTop(shifted) - 8, yTop(shifted) + 18];
      set(column.value, {
        x: middle,
        y:
          shifted < 0 ? (below > TOP.to + 4 ? above : below) : above < TOP.from + 2 ? below : above,
      });
      column.value.textContent = short(shifted);
      set(column.group, {
        'aria-valuenow': logits[i],
        'aria-valuetext': `${short(logits[i])}, peso ${brief(result.weights[i])}`,
      });
      set(column.name, { x: middle });
      set(column.weight, {
        x: middle - side - 1,
        width: side,
        ...between(yBottom(0), yBottom(result.weights[i])),
      });
      set(column.label, { x: middle });
      column.label.textContent = brief(result.weights[i]);
      const p = exists ? result.percentages[i] : 0;
      const cut = Math.max(BOTTOM.low, Math.min(BOTTOM.high, p));
      set(column.percent, {
        x: middle + 2,
        width: side,
        ...between(yBottom(0), yBottom(cut)),
        visibility: exists && used ? null : 'hidden',
      });
      set(column.off, {
        x: middle + 2 + side / 2,
        y: cut > 0 ? yBottom(cut) + 12 : yBottom(cut) - 4,
      });
      // Una flecha dice que sigue fuera del dibujo.
      column.off.textContent = Math.abs(cut - p) < TIE ? '' : cut > 0 ? '▲' : '▼';
    });
    const head = [
      'x',
      'x + c',
      make('span', {}, 'e', make('sup', { class: 'power' }, '(x + c − máx) / T')),
      'peso',
      'porcentaje',
    ];
    table.replaceChildren(
      headRow(head),
      ...logits.map((x, i) =>
        namedRow(NAMES[i], [
          td(short(x)),
          td(short(x + c)),
          td(result.exponentials[i] === 1 ? '1' : exact(result.exponentials[i])),
          td(exact(result.weights[i]), result.best.includes(i) ? 'exp-best' : null),
          td(exists ? show(result.percentages[i], 4) : 'no existe'),
        ]),
      ),
      namedRow('suma', [
        td(short(sum(logits))),
        td(short(sum(logits.map(x => x + c)))),
        td(show(sum(result.exponentials), 4)),
        td('1'),
        td(exists ? '1' : 'no existe'),
      ]),
    );
    set(more, { 'aria-disabled': String(logits.length === MOST) });
    set(less, { 'aria-disabled': String(logits.length === FEWEST) });
    voice.say(sentence(result));
  }

  const reload = () => {
    state = read();
    heat.set(Math.log10(state.temperature));
    shift.set(state.shift);
    draw();
  };
  reload();
  return listen(model, { logits: reload, temperature: reload, shift: reload });
}

/** Un rectángulo de una altura a otra, al derecho o al revés. */
const between = (a, b) => ({ y: Math.min(a, b), height: Math.abs(a - b) });

// El porcentaje no se distingue solo por el color: va hueco y a rayas.
const HOLLOW = { fill: 'none', stroke: 'var(--k)', 'stroke-width': 2, 'stroke-dasharray': '4 3' };

export default { render };
