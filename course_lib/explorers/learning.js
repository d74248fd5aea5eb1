// La atención que aprende: el mapa de pesos y los aciertos, paso a paso. Las cuentas son las de
// `compute`, en learning.py.

const [EVERY, SIDE, COLUMNS, WAIT] = [25, 26, 10, 450]; // WAIT: lo que dura un momento, en ms
const SEEDS = ['0', '1', '2'].map(seed => [Number(seed), seed]);
const CHART = { wide: 330, tall: 150, left: 46, right: 8, top: 12, bottom: 34 };
const DASHES = ['none', '7 4'];
const STYLE = css`
  .exp-learning fieldset {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    border: 0;
    margin: 0;
    padding: 0;
  }
  .exp-learning legend {
    float: left;
    padding: 0 0.6rem 0 0;
    font-weight: 600;
  }
  .exp-learning .l-knobs {
    display: flex;
    flex-wrap: wrap;
    gap: 0 1.5rem;
  }
  .exp-learning [role='radio'] {
    cursor: pointer;
  }
  .exp-learning [role='radio'] :is(text) {
    text-decoration-thickness: 2px;
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute({ weights, curves, met }, rows, step) {
  const [now, bytes] = [step / EVERY, decode(weights)];
  const [size, inHead] = [bytes.byteLength / curves.length, rows * COLUMNS];
  const at = place => bytes.getUint8(now * size + place) / 100;
  const count = length => [...Array(length).keys()];
  const maps = count(size / inHead).map(h =>
    count(rows).map(i => count(COLUMNS).map(j => at(h * inHead + i * COLUMNS + j))),
  );
  return {
    weights: maps,
    best: maps.map(map => map.map(row => row.indexOf(Math.max(...row)))),
    values: curves[now],
    goals: met.map(moments => moments.includes(now)),
  };
}

const percent = value => `${Math.round(100 * value)} %`;

/** Lo que se ve, en una frase: cuánto acierta, y a quién mira una fila. */
export function sentence({ weights, best, values, goals }, names, step, row) {
  const right = names.map((name, i) => `${name}, ${percent(values[i])}`);
  const looks = best.map((columns, h) => {
    const [column, weight] = [columns[row], weights[h][row][columns[row]]];
    const who = best.length > 1 ? `Con la cabeza ${h}, la` : 'La';
    return weight < 0.5
      ? `${who} fila ${row} reparte su peso: a la que más mira es a la ${column} (${show(weight)}).`
      : `${who} fila ${row} mira sobre todo a la ${column} (${show(weight)}).`;
  });
  return [`Paso ${step}: ${join(right, ';')}.`, ...looks, ...won(goals)].join(' ');
}

/** El dibujo de los aciertos: uno por línea, y dónde se está. */
function chart(names, steps) {
  const { wide, tall, left, right, top, bottom } = CHART;
  const x = step => left + ((wide - left - right) * step) / steps;
  const y = value => tall - bottom - (tall - bottom - top) * value;
  const look = { stroke: 'currentColor', 'stroke-opacity': 0.3 };
  const lines = names.map((_, i) =>
    make('path', {
      fill: 'none',
      stroke: i ? 'var(--k)' : 'var(--q)',
      'stroke-width': 2.5,
      'stroke-dasharray': DASHES[i],
    }),
  );
  const marks = names.map((_, i) => make('circle', { r: 6, fill: i ? 'var(--k)' : 'var(--q)' }));
  const node = make(
    'svg',
    { viewBox: `0 0 ${wide} ${tall}`, class: 'exp-plane', role: 'img' },
    ...[0, 0.5, 0.95].flatMap(value => [
      segment(left, y(value), wide - right, y(value), look),
      write(left - 6, y(value) + 4, 12, percent(value), END),
    ]),
    ...[0, steps / 2, steps].map(step => write(x(step), tall - bottom + 16, 12, step, MIDDLE)),
    write((left + wide) / 2, tall - 2, 12, 'pasos', MIDDLE),
    ...lines,
    ...marks,
  );
  return {
    node,
    draw(curves, now) {
      const points = i => curves.map((values, n) => `${x(n * EVERY)},${y(values[i])}`);
      lines.forEach((line, i) => set(line, { d: `M${points(i).join('L')}` }));
      marks.forEach((mark, i) => set(mark, { cx: x(now * EVERY), cy: y(curves[now][i]) }));
      const told = names.map((name, i) => `${name}, ${percent(curves[now][i])}`);
      set(node, { 'aria-label': `Aciertos en el paso ${now * EVERY}: ${told.join('; ')}` });
    },
  };
}

/** El mapa de una cabeza: cada fila se elige al pasar, o con las flechas; `pick(i)`. */
function map(title, rows, pick) {
  const edge = 24;
  const cells = [];
  const groups = [...Array(rows).keys()].map(i => {
    cells.push(
      [...Array(COLUMNS).keys()].map(j =>
        rect(j * SIDE + 1, i * SIDE + 1, SIDE - 2, SIDE - 2, { fill: 'var(--q)', rx: 3 }),
      ),
    );
    const look = { fill: 'transparent', stroke: 'none', rx: 4 };
    const back = rect(-edge, i * SIDE, edge + COLUMNS * SIDE, SIDE, look);
    const node = make(
      'g',
      {
        role: 'radio',
        onclick: () => node.focus(),
        onfocus: () => pick(i),
        onpointerenter: () => pick(i),
        onkeydown: event => {
          const to = arrowTo(event, i, rows, { ' ': i, Enter: i });
          if (to !== undefined) groups[to].node.focus();
        },
      },
      back,
      write(-8, i * SIDE + 18, 13, i, END),
      ...cells[i],
    );
    return { node: focusable(node), back };
  });
  const size = edge + COLUMNS * SIDE + 2;
  const node = make(
    'svg',
    {
      viewBox: `${-edge} ${-edge} ${size} ${size}`,
      class: 'exp-plane',
      role: 'radiogroup',
      'aria-label': `${title}: las filas, quien mira; las columnas, a quién. Elige una fila`,
    },
    ...[...Array(COLUMNS).keys()].map(j => write((j + 0.5) * SIDE, -8, 13, j, MIDDLE)),
    ...groups.map(group => group.node),
  );
  return {
    node: make('figure', {}, make('figcaption', {}, title), node),
    draw(weights, best, chosen) {
      groups.forEach((group, i) => {
        const on = i === chosen;
        const told = `fila ${i}: sobre todo, la ${best[i]}, ${show(weights[i][best[i]])}`;
        set(group.node, { 'aria-checked': String(on), tabindex: on ? 0 : -1, 'aria-label': told });
        set(group.back, { stroke: on ? 'var(--k)' : 'none', 'stroke-width': 2 });
        cells[i].forEach((cell, j) => set(cell, { 'fill-opacity': weights[i][j] }));
      });
    },
  };
}

function render({ model, el }) {
  const save = saver(model);
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const printing = matchMedia('print');
  let [row, timer, draw] = [4, null, null];

  function stop() {
    clearInterval(timer);
    timer = null;
  }

  function build() {
    stop();
    const { task, knobs, curves: names, steps, rows, goals, runs } = model.get('data');
    const voice = announcer();
    const asked = challenges(goals);
    const plot = chart(names, steps);
    const choices = [...knobs, ['seed', 'nacimiento', SEEDS]].map(([name, title, options]) => {
      const { node, set: mark } = radios(title, options, value => save(name, value));
      const place = () => options.findIndex(([value]) => value === model.get(name));
      return { node, place, mark: () => mark(model.get(name)) };
    });
    const play = button('', () => {
      if (timer) stop();
      else if (calm.matches) save('step', steps);
      else {
        if (model.get('step') === steps) save('step', 0);
        timer = setInterval(() => {
          if (model.get('step') + EVERY >= steps) stop();
          save('step', Math.min(model.get('step') + EVERY, steps));
        }, WAIT);
      }
      draw();
    });
    const bar = slider('paso', { min: 0, max: steps, step: EVERY, value: 0 }, step => {
      stop();
      save('step', step);
      draw();
    });
    const drawings = div('exp-row');
    let maps = [];
    mount(
      el,
      'exp-learning',
      STYLE,
      asked.node,
      paragraph(task),
      div(
        'exp-split',
        div('exp-stay', div('l-knobs', ...choices.map(({ node }) => node)), play, ' ', bar.node),
        drawings,
      ),
      voice.node,
    );

    draw = () => {
      const step = printing.matches ? steps : model.get('step');
      const run = runs[choices.map(({ place }) => place()).join('')];
      const result = compute(run, rows, step);
      if (maps.length !== result.weights.length) {
        const title = h => (result.weights.length > 1 ? `Cabeza ${h}` : 'Los pesos');
        maps = result.weights.map((_, h) => map(title(h), rows, i => draw((row = i))));
        drawings.replaceChildren(...maps.map(({ node }) => node), plot.node);
      }
      choices.forEach(({ mark }) => mark());
      bar.set(step);
      play.textContent = timer ? 'Parar' : 'Ver cómo aprende';
      row = Math.min(row, rows - 1);
      maps.forEach((one, h) => one.draw(result.weights[h], result.best[h], row));
      plot.draw(run.curves, step / EVERY);
      asked.mark(result.goals);
      set(voice.node, { 'aria-live': timer ? 'off' : 'polite' });
      const text = sentence(result, names, step, row);
      if (printing.matches) voice.node.textContent = text;
      else voice.say(text);
    };
    draw();
  }

  build();
  const redraw = () => draw();
  printing.addEventListener('change', redraw);
  const moved = ['positions', 'mask', 'scaled', 'birth', 'rate', 'heads', 'seed', 'step'];
  const silence = listen(model, {
    ...Object.fromEntries(moved.map(name => [name, redraw])),
    data: build,
  });
  return () => {
    stop();
    printing.removeEventListener('change', redraw);
    silence();
  };
}

export default { render };
