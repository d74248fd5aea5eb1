// Una máscara, casilla a casilla. Las cuentas son las de `compute`, en mask.py.

const PRESETS = ['sin máscara', 'causal', 'relleno', 'las dos'];
const CONVENTIONS = {
  keep: ['keep', 'True = puede mirar. Es la de este curso y la de F.scaled_dot_product_attention.'],
  block: [
    'block',
    'True = prohibido. Es la de nn.MultiheadAttention: la misma máscara, escrita al revés.',
  ],
  additive: ['aditiva', '0 = puede mirar y −∞ = prohibido. Se suma a las puntuaciones.'],
};
// Los pasos de la cuenta: cómo se llama cada tabla, qué lleva delante y su título.
const STEPS = [
  ['scores', '', 'puntuaciones'],
  ['masked', '→', 'enmascaradas (−∞)'],
  ['weights', '→', 'pesos: softmax por filas'],
  ['values', '·', 'V'],
  ['output', '=', 'salida'],
];
const STYLE = css`
  .exp-mask caption {
    text-align: left;
    font-weight: 600;
    padding: 0.2rem 0;
    white-space: nowrap;
  }
  .exp-mask .m-steps table {
    font-size: 0.88em;
  }
  .exp-mask :is(th, td) {
    min-width: 2.4em;
    padding: 0.15rem 0.3rem;
  }
  .exp-mask .m-steps :is(th, td) {
    padding: 0.1rem 0.3rem;
  }
  .exp-mask .m-grid {
    user-select: none;
  }
  .exp-mask .m-grid td {
    touch-action: none;
  }
  .exp-mask .m-grid :is(td, [scope='col']) {
    padding: 2px;
    text-align: center;
  }
  .exp-mask .m-cell {
    font: inherit;
    width: 3.9em;
    height: 1.9em;
    padding: 0;
    cursor: pointer;
    border-radius: 0.3rem;
    border: 2px solid var(--mute);
    color: inherit;
  }
  .exp-mask .m-no {
    background: repeating-linear-gradient(
      45deg,
      transparent 0 5px,
      color-mix(in srgb, currentColor 13%, transparent) 5px 8px
    );
  }
  .exp-mask button.m-no {
    border-style: dashed;
  }
  .exp-mask .m-cell[aria-pressed='true'] {
    background: var(--q);
    border-color: var(--q);
    color: #fff;
  }
  body[data-jp-theme-light='false'] .exp-mask [aria-pressed='true'] {
    color: #111;
  }
  .exp-mask .m-steps th[scope='row'] {
    padding-left: 0.5rem;
  }
  .exp-mask .m-row th {
    box-shadow: inset 5px 0 0 var(--k);
    text-decoration: underline;
  }
  .exp-mask .m-op {
    font-size: 1.3em;
    font-weight: 700;
    padding-right: 0.2rem;
  }
  .exp-mask .exp-say {
    min-height: 3em;
  }
  .exp-mask fieldset {
    border: 1px solid var(--mute);
    border-radius: var(--round);
    margin: 0.5rem 0;
    padding: 0.2rem 0.6rem;
  }
  .exp-mask .m-side {
    flex: 1 1 18rem;
    min-width: 0;
  }
  .exp-mask .m-row-of {
    display: flex;
    flex-wrap: wrap;
    gap: 0.4rem;
    margin-bottom: 0.4rem;
  }
  .exp-mask .m-steps {
    gap: 0.3rem;
    margin-top: 0.4rem;
  }
  .exp-mask .m-steps > p {
    flex: 1 1 16rem;
    align-self: center;
    margin: 0 0 0 1rem;
    font-size: 0.9em;
  }
  .exp-mask .m-steps > div {
    display: flex;
    align-items: center;
  }
  @media (min-height: 30.01rem) {
    .exp.exp-mask {
      display: flex;
      flex-wrap: wrap;
      gap: 0 1.5rem;
      align-items: flex-start;
    }
    .exp-mask .exp-stay {
      max-width: 100%;
    }
    .exp-mask :is(.exp-split, .m-right) {
      display: contents;
    }
    .exp-mask :is(.exp-say, .m-steps) {
      flex: 1 0 100%;
    }
    .exp-mask .m-steps {
      order: 1;
    }
  }
  @media (max-height: 30rem) {
    .exp-mask {
      --split: 60%;
    }
    .exp-mask .m-grid .m-cell {
      width: 3.2em;
      height: 1.6em;
    }
    .exp-mask .m-grid caption {
      white-space: normal;
      font-size: 0.8rem;
    }
  }
`;

/** Las mismas cuentas que `compute` en Python: un −∞ es `null`. */
export function compute(scores, values, mask) {
  const masked = scores.map((row, i) => row.map((x, j) => (mask[i][j] ? x : null)));
  const weights = masked.map((row, i) =>
    mask[i].some(Boolean) ? softmax(row.map(x => x ?? -Infinity)) : row.map(() => 0),
  );
  return {
    block: mask.map(row => row.map(keep => !keep)),
    additive: mask.map(row => row.map(keep => (keep ? 0 : null))),
    masked,
    weights,
    output: weights.map(row =>
      values[0].map((_, d) => row.reduce((sum, w, j) => sum + w * values[j][d], 0)),
    ),
    empty: mask.flatMap((row, i) => (row.some(Boolean) ? [] : [i])),
  };
}

/** La máscara que se llama así. */
export function preset(name, length, padding) {
  const rows = range(length);
  const past = name === 'causal' || name === 'las dos';
  const pad = name === 'relleno' || name === 'las dos' ? padding : 0;
  return rows.map(i => rows.map(j => (!past || j <= i) && j < length - pad));
}

/** Cómo se llama una máscara. */
export function nameOf(mask, padding) {
  const same = (known, flip) =>
    known.every((row, i) => row.every((keep, j) => keep === (mask[i][j] !== flip)));
  for (const name of PRESETS) {
    const known = preset(name, mask.length, padding);
    if (same(known, false)) return name;
    if (same(known, true)) return `${name}, invertida`;
  }
  return 'hecha a mano';
}

/** El nombre, para empezar una frase. */
function titleOf(name) {
  const [known, ...rest] = name.split(', ');
  const title = {
    'sin máscara': 'Sin máscara',
    relleno: 'Máscara de relleno',
    'las dos': 'Máscara causal y de relleno',
  };
  return [title[known] ?? `Máscara ${known}`, ...rest].join(', ');
}

/** Une con comas y una «y», o con una «e» si lo último suena como «i». */
const list = parts => join(parts, /^«?h?i(?![aeo])/i.test(parts.at(-1)) ? 'e' : 'y');

/** Lo que se ve, en una frase: la fila elegida y las que no tienen a quien mirar. */
export function sentence({ masked, weights, empty, words, row, name }) {
  const quoted = i => `«${words[i]}»`;
  let text = `${titleOf(name)}.`;
  if (!empty.includes(row)) {
    const seen = masked[row].flatMap((x, j) =>
      x === null ? [] : [`${quoted(j)} (${show(weights[row][j])})`],
    );
    text += ` ${quoted(row)} reparte su peso entre ${list(seen)}.`;
    if (seen.length === 1) text = text.replace('reparte su peso entre', 'da todo su peso a');
  }
  if (!empty.length) return text;
  const many = empty.length > 1;
  return (
    `${text} ${list(empty.map(quoted))} ${many ? 'no tienen' : 'no tiene'} a nadie a quien ` +
    'mirar: en el curso, ' +
    `${many ? 'sus pesos y sus salidas valen' : 'sus pesos y su salida valen'} 0; con −∞ y la ` +
    'softmax a secas, NaN.'
  );
}

/** Las palabras; las repetidas, con su posición. */
function labels(words) {
  return words.map((word, i) =>
    words.filter(other => other === word).length > 1 ? `${word} (${i + 1})` : word,
  );
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  // Lo crea `build`.
  let words, mask, cells, tables, note, buttons, pad, convention, focus, brush, from;

  function build() {
    words = labels(model.get('words'));
    focus = [Math.min(1, words.length - 1), 0];
    brush = null;

    // --- La máscara ------------------------------------------------------------------------------
    cells = words.map((query, i) =>
      words.map((key, j) =>
        focusable(
          make('button', {
            type: 'button',
            class: 'm-cell',
            'aria-label': `${query} puede mirar a ${key}`,
            'data-i': i,
            'data-j': j,
            onkeydown: press,
            onfocus: () => move(i, j),
            onclick: event => {
              if (!event.detail) write([[i, j]], !mask[i][j]);
            },
          }),
        ),
      ),
    );
    const grid = make(
      'table',
      {
        class: 'm-grid',
        role: 'grid',
        'aria-label': 'Máscara: en las filas, quien mira; en las columnas, a quién',
        onpointerdown: start,
        onpointermove: sweep,
        onpointerup: stop,
        onpointercancel: stop,
        onlostpointercapture: stop,
      },
      make('caption', {}, 'máscara: fila, quien mira; columna, a quién'),
      headRow(words),
      ...cells.map((row, i) =>
        namedRow(
          words[i],
          row.map(cell => make('td', { role: 'gridcell' }, cell)),
        ),
      ),
    );

    // --- Los controles ---------------------------------------------------------------------------
    const named = name => [name, button(name, () => use(name), 'false')];
    const flip = () => change(mask.map(row => row.map(keep => !keep)));
    buttons = Object.fromEntries(PRESETS.map(named));
    buttons.invertida = button('invertida', flip, 'false');
    const most = words.length - 2;
    pad = slider('tokens de relleno, al final', { min: 1, max: most }, count => {
      const name = nameOf(mask, model.get('padding'));
      save('padding', count);
      use(name === 'las dos' ? name : 'relleno');
    });
    note = make('div');
    convention = radios(
      'convenio: la misma máscara, escrita de otra manera',
      Object.entries(CONVENTIONS).map(([value, [label]]) => [value, label]),
      value => save('convention', value),
      note,
    );
    const side = div(
      'm-side',
      group('Máscaras conocidas', 'm-row-of', ...Object.values(buttons)),
      pad.node,
      convention.node,
    );
    const help = paragraph(
      'Pulsa una casilla, o arrastra para cambiar varias.',
      byKeys('flechas, espacio para cambiarla, Mayús y flecha para copiarla a la siguiente.'),
    );

    // --- Los pasos -------------------------------------------------------------------------------
    tables = {};
    const boxes = STEPS.map(([name, sign, title]) => {
      tables[name] = make('table', { 'aria-label': title });
      const before = make('span', { class: 'm-op', 'aria-hidden': 'true' }, sign);
      return sliding(title, before, tables[name]);
    });
    mount(
      el,
      'exp-mask',
      STYLE,
      div(
        'exp-split',
        div('exp-stay', sliding('Máscara', grid)),
        div('m-right', side, div('exp-row m-steps', ...boxes, help)),
      ),
      voice.node,
    );
    reload();
  }

  // --- Cambiar la máscara ------------------------------------------------------------------------
  function change(next) {
    mask = next;
    save('mask', mask);
    draw();
  }

  const use = name => change(preset(name, words.length, model.get('padding')));

  function write(places, keep) {
    const next = mask.map(row => [...row]);
    places.forEach(([i, j]) => (next[i][j] = keep));
    change(next);
  }

  function move(...place) {
    focus = place;
    draw();
  }

  function press(event) {
    const arrows = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const ends = { Home: [0, -9], End: [0, 9], PageUp: [-9, 0], PageDown: [9, 0] };
    const step = pressed(event, { ...arrows, ...ends });
    if (!step) return;
    const [i, j] = focus.map((x, axis) => Math.max(0, Math.min(words.length - 1, x + step[axis])));
    if (event.shiftKey && event.key.startsWith('Arrow')) write([[i, j]], mask[focus[0]][focus[1]]);
    cells[i][j].focus();
  }

  /** La casilla que hay en un punto de la pantalla. */
  function at(x, y) {
    const cell = el.getRootNode().elementFromPoint(x, y)?.closest('.m-cell');
    return cell && el.contains(cell) ? [Number(cell.dataset.i), Number(cell.dataset.j)] : null;
  }

  function start(event) {
    const place = event.button === 0 && at(event.clientX, event.clientY);
    if (!place) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    brush = !mask[place[0]][place[1]]; // la primera casilla dice qué escriben las demás
    from = [event.clientX, event.clientY];
    write([place], brush);
    cells[place[0]][place[1]].focus({ preventScroll: true });
  }

  function sweep(event) {
    if (brush === null) return;
    const to = [event.clientX, event.clientY];
    // Con pasos así de cortos no se salta ninguna casilla.
    const steps = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / 6) || 1;
    const places = range(steps).map(n =>
      at(...from.map((x, k) => x + ((to[k] - x) * (n + 1)) / steps)),
    );
    from = to;
    const news = places.filter(place => place && mask[place[0]][place[1]] !== brush);
    if (news.length) {
      write(news, brush);
      cells[news.at(-1)[0]][news.at(-1)[1]].focus({ preventScroll: true });
    }
  }

  function stop() {
    brush = null;
  }

  // --- Dibujar -----------------------------------------------------------------------------------
  function fill(name, rows, columns, look = () => ({})) {
    tables[name].replaceChildren(
      make('caption', {}, tables[name].getAttribute('aria-label')),
      headRow(columns),
      ...rows.map((row, i) =>
        namedRow(
          words[i],
          row.map((x, j) => make('td', look(x, i, j), x === null ? '−∞' : show(x))),
          i === focus[0] && name !== 'values' ? 'm-row' : null,
        ),
      ),
    );
  }

  function draw() {
    const { scores, values } = traits(model, ['scores', 'values']);
    const written = model.get('convention');
    const result = compute(scores, values, mask);
    const numbers = values[0].map((_, d) => d + 1);
    const name = nameOf(mask, model.get('padding'));
    const blocked = (_, i, j) => ({ class: mask[i][j] ? null : 'm-no' });
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        set(cell, {
          'aria-pressed': String(mask[i][j]),
          class: mask[i][j] ? 'm-cell' : 'm-cell m-no',
          tabindex: i === focus[0] && j === focus[1] ? 0 : -1,
        });
        const keep = written === 'keep' ? mask[i][j] : !mask[i][j];
        cell.textContent =
          written !== 'additive' ? (keep ? 'True' : 'False') : mask[i][j] ? '0' : '−∞';
        set(cell.closest('tr'), { class: i === focus[0] ? 'm-row' : null });
      }),
    );
    const now = name.endsWith(', invertida') ? 'invertida' : name;
    for (const [label, node] of Object.entries(buttons))
      set(node, { 'aria-pressed': String(label === now) });
    convention.set(written);
    note.textContent = CONVENTIONS[written][1];
    fill('scores', scores, words);
    fill('masked', result.masked, words, blocked);
    fill('weights', result.weights, words, (x, i, j) => ({
      ...blocked(x, i, j),
      style: x > 0 && ink(x),
    }));
    fill('values', values, numbers);
    fill('output', result.output, numbers, (_, i) => ({
      class: result.empty.includes(i) ? 'm-no' : null,
    }));
    voice.say(sentence({ ...result, words, row: focus[0], name }));
  }

  function reload() {
    mask = model.get('mask').map(row => [...row]);
    pad.set(model.get('padding'));
    draw();
  }

  build();
  return listen(model, {
    words: build,
    scores: build,
    values: build,
    mask: reload,
    padding: reload,
    convention: reload,
  });
}

export default { render };
