// La atención por bloques, paso a paso. Las cuentas son las de `compute`, en blocks.py.

const CELL = 19;
const LOOKS = [
  ['✓', 'var(--q)'], // visto
  ['▶', 'var(--k)'], // ahora
  ['', 'none'], // después
  ['×', 'none'], // nunca: es el futuro
];
const STYLE = css`
  .exp-blocks :is(td, th) {
    padding: 0.05rem 0.45rem;
    font-size: 0.85rem;
    white-space: nowrap;
  }
  .exp-blocks :is(p, caption) {
    margin: 0.3rem 0;
    text-align: left;
  }
  .exp-blocks .exp-row > div {
    min-width: 0;
    max-width: 100%;
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(scores, values, query, block, causal, step) {
  const length = scores.length;
  const index = Math.floor(query / block);
  const [first, end] = [index * block, Math.min((index + 1) * block, length)];
  const seen = scores[query].map((score, j) => (causal && j > query ? -Infinity : score));
  const mix = (weights, from) =>
    values[0].map((_, d) => weights.reduce((sum, w, n) => sum + w * values[from + n][d], 0));
  const keys = [];
  for (let j = 0; j < (causal ? end : length); j += block)
    keys.push([j, Math.min(j + block, length)]);
  let [m, total, output] = [-Infinity, 0, values[0].map(() => 0)];
  const steps = keys.slice(0, step).map(([start, stop]) => {
    const row = seen.slice(start, stop);
    const top = Math.max(m, ...row);
    const factor = Math.exp(m - top);
    const weights = row.map(score => Math.exp(score - top));
    const fresh = mix(weights, start);
    m = top;
    total = total * factor + sum(weights);
    output = output.map((x, d) => x * factor + fresh[d]);
    return { m, factor, added: sum(weights), total };
  });
  if (steps.length) output = output.map(x => x / total);
  const whole = mix(softmax(seen), 0);
  const [from, to] = keys[steps.length - 1] ?? [0, 0];
  const blocks = Math.ceil(length / block);
  return {
    queries: [first, end],
    keys,
    steps,
    output,
    whole,
    difference: Math.max(...output.map((x, d) => Math.abs(x - whole[d]))),
    alive: (end - first) * (to - from + 2), // el bloque, y m y l de cada fila
    table: length ** 2,
    done: (causal ? (index * (index + 1)) / 2 : index * blocks) + steps.length,
    count: causal ? (blocks * (blocks + 1)) / 2 : blocks ** 2,
  };
}

/** Lo que se ve, en una frase. */
export function sentence({ keys, steps, difference }, token) {
  if (!steps.length) return `${token} no ha visto ninguna key: m es −∞, y l, 0.`;
  const { m, factor, total } = steps[steps.length - 1];
  const last = steps.length === keys.length;
  return (
    `${token}, bloque de keys ${steps.length} de ${keys.length}: m = ${show(m)}; ` +
    (steps.length > 1 ? `lo acumulado se multiplica por ${show(factor)}; ` : '') +
    `l = ${show(total)}. ` +
    (last ? 'Es el último, y la salida es' : 'La salida aún no es') +
    ` la de la atención entera: se separan ${show(difference, last ? 6 : 2)}.`
  );
}

function render({ model, el }) {
  const names = ['query', 'block', 'causal', 'step'];
  const [tokens, scores, values] = ['tokens', 'scores', 'values'].map(name => model.get(name));
  const save = saver(model);
  const voice = announcer();
  const result = () => compute(scores, values, ...names.map(name => model.get(name)));
  const change = changes => {
    Object.entries(changes).forEach(([name, value]) => save(name, value));
    draw();
  };
  function go(way) {
    const { keys, steps, queries } = result();
    const step = steps.length + way;
    if (step >= 0 && step <= keys.length && (step || !queries[0])) change({ step });
    else if (way > 0 && queries[1] < tokens.length) change({ query: queries[1], step: 1 });
    else if (way < 0 && queries[0]) change({ query: queries[0] - 1, step: tokens.length });
  }
  const arrows = event => {
    const way = withModifier(event) ? 0 : pressed(event, { ArrowRight: 1, ArrowLeft: -1 });
    if (way) go(way);
  };
  const walk = (label, way) =>
    set(
      button(label, () => go(way)),
      { onkeydown: arrows },
    );
  const [back, forward] = [walk('← atrás', -1), walk('adelante →', 1)];
  const size = slider('bloque', { min: 1, max: tokens.length, step: 1, value: 1 }, block =>
    change({ block }),
  );
  const row = choice('fila', query => change({ query }));
  const mask = checkbox('máscara causal', false, causal => change({ causal }));
  const [map, memory, count] = [make('div'), make('div'), make('p')];
  const top = [back, ' ', forward, ' ', size.node, row.node, mask.node];
  const shown = [div('exp-stay', ...top), div('exp-row', map, memory)];
  mount(el, 'exp-blocks', STYLE, ...shown, count, voice.node);

  /** La tabla L × L, con lo que le pasa a cada bloque. */
  function picture(query, block, causal, { queries, steps, done }) {
    const [LEFT, SIDE] = [68, CELL * tokens.length];
    const drawing = make('svg', {
      viewBox: `${-LEFT} -18 ${LEFT + SIDE + 2} ${SIDE + 20}`,
      width: LEFT + SIDE + 2,
      role: 'img',
      'aria-label': `La tabla, por bloques: ${done} calculados`,
    });
    drawing.append(write(0, -5, 13, 'keys →'));
    tokens.forEach((token, i) => {
      const look = { ...END, 'font-weight': i === query ? 700 : null };
      drawing.append(write(-6, i * CELL + 14, 13, visible(token), look));
    });
    for (let i = 0; i < tokens.length; i += block)
      for (let j = 0; j < tokens.length; j += block) {
        const [x, y] = [j * CELL, i * CELL];
        const side = from => Math.min(block, tokens.length - from) * CELL - 2;
        const turn = Math.sign(i - queries[0]) || Math.sign(j / block - steps.length + 1);
        const [mark, fill] = LOOKS[causal && j > i ? 3 : turn + 1];
        const look = { fill, 'fill-opacity': 0.45, stroke: mark === '×' ? 'none' : 'var(--mute)' };
        const middle = [x + side(j) / 2, y + side(i) / 2 + 5];
        drawing.append(rect(x, y, side(j), side(i), look), write(...middle, 13, mark, MIDDLE));
      }
    const frame = { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 };
    drawing.append(rect(0, query * CELL, SIDE, CELL - 2, frame));
    return drawing;
  }

  /** Una tabla con título: la primera fila y la primera columna son nombres. */
  function named(title, [names, ...rows], best) {
    const cells = (row, i) => row.map(text => td(text, i + 1 === best ? 'exp-best' : null));
    const lines = rows.map(([name, ...row], i) => namedRow(name, cells(row, i)));
    return table(title, make('tr', {}, ...names.map(name => th(name))), ...lines);
  }

  function draw() {
    const [query, block, causal] = names.map(name => model.get(name));
    const r = result();
    const [first, end] = r.queries;
    const [from, to] = r.keys[r.steps.length - 1] ?? [0, 0];
    const label = i => `${visible(tokens[i])} (${i})`;
    const range = (start, stop) => tokens.map((_, i) => i).slice(start, stop);
    size.set(block);
    mask.set(causal);
    row.set(query, range(0).map(label));
    set(back, { 'aria-disabled': r.done === 0 ? 'true' : null }); // sin perder el foco al llegar
    set(forward, { 'aria-disabled': r.done === r.count ? 'true' : null });
    const cell = (i, j) => (causal && j > i ? '−∞' : show(scores[i][j]));
    const keys = range(from, to);
    const header = ['query', ...keys.map(label)];
    const held = range(first, end).map(i => [label(i), ...keys.map(j => cell(i, j))]);
    const lived = r.keys.map(([start, stop], n) => [
      `${start}–${stop - 1}`,
      ...['m', 'factor', 'added', 'total'].map(name => (r.steps[n] ? show(r.steps[n][name]) : '')),
    ]);
    const most = Math.max(...[...r.output, ...r.whole].map(Math.abs));
    const output = (name, numbers) =>
      div(null, paragraph(name), sliding(name, bars(name, numbers, most)));
    map.replaceChildren(sliding('La tabla, por bloques', picture(query, block, causal, r)));
    memory.replaceChildren(
      named('Las puntuaciones en memoria', [header, ...held], query - first + 1),
      named(
        `La fila de ${label(query)}`,
        [['keys', 'm', 'factor', 'suma del bloque', 'l = l · factor + suma'], ...lived],
        r.steps.length,
      ),
      div('exp-row', output('salida con lo visto', r.output), output('atención entera', r.whole)),
    );
    count.textContent =
      `Bloque ${r.done} de ${r.count}. Números a la vez en memoria, además de la salida: ` +
      `${r.alive} (el bloque, y m y l de cada fila); la tabla entera tiene ${r.table}.`;
    voice.say(sentence(r, `«${visible(tokens[query])}»`));
  }

  draw();
  return listen(model, Object.fromEntries(names.map(name => [name, draw])));
}

export default { render };
