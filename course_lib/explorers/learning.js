// La atención que aprende: el mapa de pesos y los aciertos, paso a paso. Las cuentas son las de
// `compute`, en learning.py.

const [EVERY, COLUMNS, WAIT] = [25, 10, 450]; // los pasos, y los milisegundos, de un momento a otro
const [SIDE, EDGE] = [26, 24];
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 284, 34, 150]; // la caja de los aciertos
const LINES = [
  { stroke: 'var(--q)', 'stroke-width': 2.5, fill: 'none' },
  { stroke: 'var(--k)', 'stroke-width': 2.5, fill: 'none', 'stroke-dasharray': '7 4' },
];
const STYLE = css`
  .exp-learning fieldset {
    display: inline-block;
    border: 0;
    margin: 0 1rem 0 0;
    padding: 0;
  }
  .exp-learning legend {
    float: left;
    padding: 0.25rem 0.6rem 0 0;
    font-weight: 600;
  }
  .exp-learning svg {
    display: block;
    max-width: 100%;
    height: auto;
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute({ weights, curves, met }, rows, step) {
  const [now, packed, inHead] = [step / EVERY, decode(weights), rows * COLUMNS];
  const bytes = range(packed.byteLength).map(i => packed.getUint8(i));
  const data = bytes.flatMap(n => (n > 100 ? Array(n - 100).fill(0) : n));
  const size = data.length / curves.length;
  const at = place => data[now * size + place] / 100;
  const maps = range(size / inHead).map(h =>
    range(rows).map(i => range(COLUMNS).map(j => at(h * inHead + i * COLUMNS + j))),
  );
  return {
    weights: maps,
    best: maps.map(map => map.map(row => row.indexOf(Math.max(...row)))),
    values: curves[now],
    goals: met.map(moments => moments.includes(now)),
  };
}

/** Los aciertos de un momento, dichos. */
const told = (names, values) =>
  names.map((name, i) => `${name}, ${Math.round(100 * values[i])} %`).join('; ');

/** A quién mira una fila de un mapa. */
function looks(row, best, i) {
  const most =
    row[best] < 0.5 ? `reparte; a la que más, a la ${best}` : `mira sobre todo a la ${best}`;
  return `a fila ${i} ${most} (${show(row[best])})`;
}

/** Lo que se ve, en una frase: cuánto acierta, y a quién mira una fila. */
export function sentence({ weights, best, values, goals }, names, step, row) {
  const said = weights.map((map, h) => {
    const who = weights.length > 1 ? `Con la cabeza ${h}, l` : 'L';
    return `${who}${looks(map[row], best[h][row], row)}.`;
  });
  return [`Paso ${step}: ${told(names, values)}.`, ...said, ...won(goals)].join(' ');
}

/** Los aciertos a lo largo de los pasos, y una marca en el de ahora. */
function chart(names, steps) {
  const [x, y] = [s => LEFT + ((RIGHT - LEFT) * s) / steps, p => BOTTOM - (BOTTOM - TOP) * p];
  const paths = names.map((_, i) => make('path', LINES[i]));
  const marks = names.map((_, i) => make('circle', { r: 6, fill: LINES[i].stroke }));
  const node = make(
    'svg',
    { viewBox: '0 0 300 190', width: 300, role: 'img' },
    ...[0, 0.5, 0.95].flatMap(p => [
      segment(LEFT, y(p), RIGHT, y(p), { stroke: 'currentColor', 'stroke-opacity': 0.3 }),
      write(LEFT - 8, y(p) + 4, 13, `${100 * p} %`, END),
    ]),
    ...[0, steps / 2, steps].map(s => write(x(s), BOTTOM + 17, 13, s, MIDDLE)),
    write(x(steps / 2), BOTTOM + 34, 13, 'pasos', MIDDLE),
    ...names.flatMap((name, i) => [
      segment(LEFT + 125 * i, 12, LEFT + 24 + 125 * i, 12, LINES[i]),
      write(LEFT + 30 + 125 * i, 16, 13, name),
    ]),
    ...paths,
    ...marks,
  );
  function draw(curves, step) {
    const now = curves[step / EVERY];
    const seen = curves.slice(0, step / EVERY + 1); // lo que viene después, aún no
    const points = i => seen.map((values, n) => [x(n * EVERY), y(values[i])]);
    paths.forEach((path, i) => set(path, { d: `M${points(i).join('L')}` }));
    marks.forEach((mark, i) => set(mark, { cx: x(step), cy: y(now[i]) }));
    set(node, { 'aria-label': `Aciertos en el paso ${step}: ${told(names, now)}` });
  }
  return { node, draw };
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const { task, knobs, curves, steps, rows, goals, runs } = model.get('data');
  const [calm, paper] = ['(prefers-reduced-motion: reduce)', 'print'].map(what => matchMedia(what));
  const asked = challenges(goals);
  const plot = chart(curves, steps);
  const seeds = ['seed', 'nacimiento', range(3).map(seed => [seed, seed])];
  const choices = [...knobs, seeds].map(([name, title, options]) => ({
    ...radios(title, options, value => save(name, value)),
    name,
    place: () => options.findIndex(([value]) => value === model.get(name)),
  }));
  let [row, timer] = [4, null];

  // --- El tiempo: a mano, o solo -----------------------------------------------------------------
  function go(step, playing = false) {
    clearTimeout(timer);
    timer = playing && step < steps && setTimeout(() => go(step + EVERY, true), WAIT);
    save('step', step);
    draw();
  }
  const play = button('', () => {
    const now = model.get('step');
    if (timer) go(now);
    else if (calm.matches) go(steps);
    else go(now === steps ? 0 : now, true);
  });
  const bar = slider('paso', { min: 0, max: steps, step: EVERY, value: 0 }, step => go(step));

  // --- Los mapas: de cada fila se dice a quién mira ----------------------------------------------
  function pick(i) {
    row = i;
    draw();
  }
  const maps = range(knobs.some(([name]) => name === 'heads') ? 2 : 1).map(h => {
    const look = { stroke: 'currentColor', 'stroke-opacity': 0.15 };
    const on = i => ({ ...look, onpointerenter: () => pick(i), onclick: () => pick(i) });
    const parts = heatmap(range(rows), range(COLUMNS), SIDE, EDGE, on);
    const title = paragraph('Pesos: la fila mira a la columna');
    const ends = { 'aria-valuemin': 0, 'aria-valuemax': rows - 1, 'aria-orientation': 'vertical' };
    const about = { role: 'slider', tabindex: 0, 'aria-label': `Fila, en la cabeza ${h}`, ...ends };
    const onkeydown = event => pick(arrowTo(event, row, rows) ?? row);
    set(focusable(parts.node), { ...about, onkeydown });
    set(parts.frame, { x: -EDGE + 2, width: EDGE + COLUMNS * SIDE, height: SIDE + 1 });
    return { ...parts, title, box: div(null, title, parts.node) };
  });
  const controls = [...choices.map(({ node }) => node), div(null, play, ' ', bar.node)];
  const drawings = div('exp-row', ...maps.map(({ box }) => box), plot.node);
  const halves = div('exp-split', div('exp-stay', ...controls), drawings);
  mount(el, 'exp-learning', STYLE, asked.node, paragraph(task), halves, voice.node);

  function draw() {
    const step = paper.matches ? steps : model.get('step'); // en papel, cómo acaba
    const run = runs[choices.map(({ place }) => place()).join('')];
    const result = compute(run, rows, step);
    choices.forEach(choice => choice.set(model.get(choice.name)));
    bar.set(step);
    play.textContent = timer ? 'Parar' : 'Ver cómo aprende';
    maps.forEach(({ node, paint, frame, box, title }, h) => {
      box.hidden = !(h in result.weights);
      if (box.hidden) return;
      const [weights, best] = [result.weights[h], result.best[h]];
      if (maps.length > 1) title.textContent = `Cabeza ${h}`;
      const said = `l${looks(weights[row], best[row], row)}`;
      set(node, { 'aria-valuenow': row, 'aria-valuetext': said });
      set(frame, { y: row * SIDE - 1 });
      paint((i, j) => weights[i][j]);
    });
    plot.draw(run.curves, step);
    asked.mark(result.goals);
    set(voice.node, { 'aria-live': timer ? 'off' : 'polite' });
    voice.say(sentence(result, curves, step, row), paper.matches);
  }

  draw();
  paper.addEventListener('change', draw);
  const moved = [...choices.map(({ name }) => name), 'step'];
  const silence = listen(model, Object.fromEntries(moved.map(name => [name, draw])));
  return () => {
    clearTimeout(timer);
    paper.removeEventListener('change', draw);
    silence();
  };
}

export default { render };
