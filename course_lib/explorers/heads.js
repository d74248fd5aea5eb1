// La multicabeza, de estación en estación. Las cuentas son las de `compute`, en heads.py.

const STATIONS = ['X', 'proyectar', 'repartir', 'atender', 'concat', 'mezclar'];
const CHANGED = 1e-6; // lo que se mueve menos no ha cambiado
const STYLE = css`
  .exp-heads {
    font-size: 0.95rem;
  }
  .exp-heads ol {
    list-style: none;
    display: flex;
    flex-wrap: wrap;
    gap: 0.35rem;
    margin: 0.3rem 0;
    padding: 0;
  }
  .exp-heads li {
    flex: 1 1 8rem;
  }
  .exp-heads li button {
    width: 100%;
    line-height: 1.25;
    padding: 0.15rem 0.3rem;
  }
  .exp-heads small {
    display: block;
    font-size: 0.8em;
    white-space: nowrap;
  }
  .exp-heads [aria-current] {
    border-color: var(--q);
    box-shadow: inset 0 -4px 0 var(--q);
    font-weight: 700;
  }
  .exp-heads select {
    font: inherit;
  }
  .exp-heads .h-detail {
    min-height: 19.5rem;
  }
  .exp-heads .h-strip,
  .exp-heads .h-cells {
    display: flex;
    flex-wrap: wrap;
  }
  .exp-heads .h-strip {
    gap: 0.15rem 1.2rem;
    margin-bottom: 0.35rem;
  }
  .exp-heads .h-name {
    font-size: 0.85em;
    width: 100%;
  }
  .exp-heads :is(.h-cells span, td, th) {
    font-size: 0.82rem;
    line-height: 1.4;
    padding: 0.08rem 0.3rem;
  }
  .exp-heads .h-cells span {
    min-width: 3.4rem;
    text-align: right;
    font-variant-numeric: tabular-nums;
    border: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  }
  .exp-heads .h-cells .h-cut,
  .exp-heads td.h-cut {
    border-left: 3px solid currentColor;
  }
  .exp-heads .h-picked .h-cells {
    outline: 3px solid var(--v);
    outline-offset: 1px;
  }
  .exp-heads :is(.h-picked .h-name, .h-row th, .h-total) {
    font-weight: 700;
  }
  .exp-heads .h-off .h-cells span,
  .exp-heads tr.h-off :is(td, th) {
    border-style: dashed;
    opacity: 0.65;
  }
  .exp-heads .h-row :is(td, th) {
    border-block: 2px solid var(--v);
  }
  .exp-heads .h-total :is(td, th) {
    border-top: 2px solid currentColor;
  }
  .exp-heads .exp-scroll {
    margin-bottom: 0.35rem;
  }
  @media (max-height: 30rem) {
    .exp.exp-heads li {
      flex-basis: 5.5rem;
    }
    .exp-heads small {
      display: none;
    }
    .exp-heads .h-detail {
      min-height: 0;
    }
  }
  .exp-heads caption {
    text-align: left;
    font-size: 0.85rem;
    white-space: nowrap;
  }
  .exp-heads td {
    min-width: 3.2rem;
  }
  .exp-heads tr > th:first-child {
    text-align: left;
    white-space: nowrap;
  }
  .exp-heads th[colspan]:not([colspan='1'], [scope='row']) {
    text-align: center;
  }
  .exp-heads .h-none {
    border: 0;
    min-width: 0;
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute({ x, heads, matrices, biases }, query, muted = []) {
  const through = (row, n) =>
    biases[n].map((bias, j) =>
      row.reduce((sum, value, i) => sum + value * matrices[n][i][j], bias),
    );
  const [Q, K, V] = [0, 1, 2].map(n => x.map(row => through(row, n)));
  const size = x[0].length / heads;
  const all = range(heads);
  const piece = (row, head) => row.slice(head * size, (head + 1) * size);
  const products = all.map(head => K.map(key => dot(piece(Q[query], head), piece(key, head))));
  const scores = products.map(row => row.map(product => product / Math.sqrt(size)));
  const weights = scores.map(softmax);
  const outputs = weights.map((row, head) =>
    piece(V[0], head).map((_, d) =>
      dot(
        row,
        V.map(value => piece(value, head)[d]),
      ),
    ),
  );
  const kept = outputs.map((row, head) => row.map(value => (muted.includes(head) ? 0 : value)));
  const [before, concat] = [outputs.flat(), kept.flat()];
  const [full, output] = [through(before, 3), through(concat, 3)];
  const contributions = kept.map((row, head) =>
    x[0].map((_, j) =>
      dot(
        row,
        piece(matrices[3], head).map(line => line[j]),
      ),
    ),
  );
  const moved = (a, b) => a.filter((value, i) => Math.abs(value - b[i]) > CHANGED).length;
  return {
    Q,
    K,
    V,
    products,
    scores,
    weights,
    outputs,
    concat,
    contributions,
    output,
    full,
    norm: Math.hypot(...output.map((value, j) => value - full[j])),
    changed: [moved(concat, before), moved(output, full)],
  };
}

/** Dónde está el mayor de una fila; si empatan, el primero. */
function best(row) {
  const rounded = row.map(value => Math.round(value * 1e9));
  return rounded.indexOf(Math.max(...rounded));
}

/** Lo que se ve, en una frase. */
export function sentence(result, { tokens, heads }, { query, head, station, muted }) {
  const [word, width, winner] = [
    `«${tokens[query]}»`,
    result.output.length,
    best(result.weights[head]),
  ];
  let summed = 'las cabezas encendidas';
  if (muted.length === heads - 1) summed = 'la única cabeza encendida';
  if (muted.length === 0) summed = 'todas las cabezas';
  const said = [
    `${word} entra con su fila de X: ${width} números.`,
    `De ${word} salen una query, una key y un value, de ${width} números cada uno.`,
    `Los ${width} números de ${word} se reparten en ${heads} ${heads > 1 ? 'trozos' : 'trozo'} ` +
      `de ${width / heads}: no se calcula nada.`,
    `Con la cabeza ${head}, ${word} mira sobre todo a «${tokens[winner]}» ` +
      `(${show(result.weights[head][winner])}).`,
    `Los trozos de ${word} vuelven a estar uno tras otro, ${width} números: no se calcula nada.`,
    muted.length === heads
      ? `Sin ninguna cabeza, a la salida de ${word} no le llega nada de la frase.`
      : `La salida de ${word}: ${width} números, y cada uno combina los de ${summed}.`,
  ][station - 1];
  if (!muted.length) return said;
  const off =
    muted.length > 1
      ? `Con las cabezas ${join(muted)} apagadas`
      : `Con la cabeza ${muted[0]} apagada`;
  return (
    `${said} ${off} cambian ${result.changed[0]} de ${width} números en Concat y ` +
    `${result.changed[1]} de ${width} en la salida; el cambio mide ${show(result.norm)}.`
  );
}

function build(model, el) {
  const data = model.get('data');
  const { tokens, x, heads, matrices, biases } = data;
  const [L, width, size] = [tokens.length, x[0].length, x[0].length / heads];
  const all = range(heads);
  const save = saver(model);
  const voice = announcer();
  const names = tokens.map((token, i) =>
    tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : `${token} (${i})`,
  );
  const letter = n => `W_${'QKVO'[n]}${biases[n].some(Boolean) ? ` + b_${'QKVO'[n]}` : ''}`;

  // --- Tiras y tablas de números: azul si son positivos; bermellón y con su signo si son negativos
  const cut = i => (i && i % size === 0 ? 'h-cut' : null);
  const inked = (value, top, look = null) =>
    make('td', { class: look, style: ink(value, top) }, show(value));

  /** Una tira con su nombre; entera, o en un trozo por cabeza. */
  function strip(name, row, { pieces = false, cuts = false, off = [] } = {}) {
    const top = largest(row);
    const cells = (part, from) =>
      div(
        'h-cells',
        ...part.map((value, i) =>
          make('span', { class: cuts ? cut(from + i) : null, style: ink(value, top) }, show(value)),
        ),
      );
    const parts = pieces
      ? all.map(head =>
          div(
            [head === model.get('head') && 'h-picked', off.includes(head) && 'h-off']
              .filter(Boolean)
              .join(' '),
            div('h-name', `cabeza ${head}${off.includes(head) ? ', apagada' : ''}: (${size},)`),
            cells(row.slice(head * size, (head + 1) * size), 0),
          ),
        )
      : [cells(row, 0)];
    return make(
      'div',
      { class: 'h-strip', role: 'group', 'aria-label': name },
      div('h-name', name),
      ...parts,
    );
  }

  const head = (text, span = 1, scope = 'col') =>
    make(text === '' ? 'td' : 'th', { scope: text === '' ? null : scope, colspan: span }, text);

  // --- Las seis estaciones: su forma en el mapa, su texto y sus números --------------------------
  const [flat, middle, inside] = [
    `(${L}, ${width})`,
    `(${L}, ${heads}, ${size})`,
    `(${heads}, ${L}, ${size})`,
  ];
  const stations = [
    {
      map: flat,
      shapes: `X: (L, d_model) = ${flat}`,
      text: word =>
        `La frase entra como una matriz con una fila por token. Sigue la de ${word}: toda ella ` +
        'va a todas las cabezas.',
      nodes: (_, { query }) => [
        table(
          `X, con la fila de «${names[query]}» marcada: (${width},)`,
          headRow(x[0].map((__, j) => j)),
          ...x.map((row, i) =>
            namedRow(
              `${i === query ? '▶ ' : ''}${names[i]}`,
              row.map(value => inked(value, largest(x))),
              i === query ? 'h-row' : null,
            ),
          ),
        ),
      ],
    },
    {
      map: `3 veces ${flat}`,
      shapes: `Q, K y V: (L, d_model) → (L, h·d_k) = ${flat} cada una`,
      text: word =>
        'Tres matrices, tres vectores, tan anchos como x. Las mismas matrices sirven para ' +
        `todos los tokens, no solo para ${word}.`,
      nodes: ({ Q, K, V }, { query, head: h }) => {
        const [j, row] = [h * size, x[query]];
        const column = matrices[0].map(values => values[j]);
        const both = row.map((value, i) => value * column[i]);
        const numbers = (name, values) =>
          namedRow(
            name,
            values.map(value => inked(value, largest([values]))),
          );
        const bias = biases[0][j] ? `, con el sesgo (${show(biases[0][j])})` : '';
        return [
          ...[Q, K, V].map((rows, n) =>
            strip(`${'qkv'[n]} = x · ${letter(n)}: (${width},)`, rows[query]),
          ),
          table(
            `De cerca, el primer número de q que le tocará a la cabeza ${h}: lee los ${width} de x`,
            numbers('x', row),
            numbers(`columna ${j} de W_Q`, column),
            numbers('se multiplican', both),
            namedRow(
              `suma${bias}`,
              [make('td', { colspan: width, style: 'text-align: left' }, show(Q[query][j]))],
              'h-total',
            ),
          ),
        ];
      },
    },
    {
      map: inside,
      shapes: `(L, h·d_k) = ${flat} → (L, h, d_k) = ${middle} → (h, L, d_k) = ${inside}`,
      text: () =>
        'Los mismos números, cortados en trozos: aquí no se calcula nada. Después, el eje de ' +
        'las cabezas pasa delante.',
      nodes: ({ Q, K, V }, { query }) =>
        [Q, K, V].flatMap((rows, n) => [
          strip(`${'qkv'[n]}: (${width},)`, rows[query], { cuts: true }),
          strip(
            `${'qkv'[n]}, repartida: (${heads}, ${size})`.replace('v, repartida', 'v, repartido'),
            rows[query],
            { pieces: true },
          ),
        ]),
    },
    {
      map: inside,
      shapes: `pesos, (h, L, L) = (${heads}, ${L}, ${L}); por V, (h, L, d_k) = ${inside}`,
      text: (word, h) =>
        `La cabeza ${h} compara su trozo de la query de ${word} con los de las ${L} keys, y ` +
        'mezcla los values con los pesos.',
      nodes: ({ Q, K, V, products, scores, weights, outputs }, { query, head: h, muted }) => {
        const piece = row => row.slice(h * size, (h + 1) * size);
        const [q, keys, values] = [piece(Q[query]), K.map(piece), V.map(piece)];
        const [topK, topV, topS] = [largest([q, ...keys]), largest(values), largest([products[h]])];
        return [
          div(
            'exp-row',
            table(
              `La cabeza ${h}, para «${names[query]}»` +
                (muted.includes(h) ? ' (apagada: lo que calcula no llega a Concat)' : ''),
              namedRow(`q de «${names[query]}»`, [
                ...q.map(value => inked(value, topK)),
                make('td', { colspan: 3 + size, class: 'h-none' }),
              ]),
              make(
                'tr',
                {},
                head('token'),
                head('key', size),
                head('q · k'),
                head(`÷ √${size}`),
                head('peso'),
                head('value', size),
              ),
              ...names.map((name, i) =>
                namedRow(name, [
                  ...keys[i].map(value => inked(value, topK)),
                  inked(products[h][i], topS),
                  inked(scores[h][i], topS),
                  inked(weights[h][i], 1, i === best(weights[h]) ? 'exp-best' : null),
                  ...values[i].map(value => inked(value, topV)),
                ]),
              ),
              make(
                'tr',
                { class: 'h-total' },
                head(`suma de peso · value: (${size},)`, size + 4, 'row'),
                ...outputs[h].map(value => inked(value, topV)),
              ),
            ),
            table(
              `Los pesos de «${names[query]}» en cada cabeza`,
              headRow(names),
              ...weights.map((row, other) =>
                namedRow(
                  `cabeza ${other}`,
                  row.map((value, i) => inked(value, 1, i === best(row) ? 'exp-best' : null)),
                  other === h ? 'h-row' : null,
                ),
              ),
            ),
          ),
        ];
      },
    },
    {
      map: flat,
      shapes: `(h, L, d_k) = ${inside} → (L, h, d_k) = ${middle} → (L, h·d_k) = ${flat}`,
      text: () =>
        'Las salidas de las cabezas, una tras otra: tampoco aquí se calcula nada. Una cabeza ' +
        'apagada deja ceros en su sitio.',
      nodes: ({ outputs, concat }, { muted }) => [
        strip(`lo que da cada cabeza: (${heads}, ${size})`, outputs.flat(), { pieces: true }),
        strip(`lo que llega de cada cabeza: (${heads}, ${size})`, concat, {
          pieces: true,
          off: muted,
        }),
        strip(`Concat: (${width},)`, concat, { cuts: true }),
      ],
    },
    {
      map: flat,
      shapes: `(L, h·d_k) = ${flat} → (L, d_model) = ${flat}`,
      text: () =>
        `W_O mezcla. Cada cabeza aporta ${width} números: su trozo de Concat por sus ${size} ` +
        'filas de W_O. La salida es la suma.',
      nodes: ({ contributions, output, full, concat }, { muted }) => {
        const change = output.map((value, j) => value - full[j]);
        const top = largest([...contributions, output, full]);
        const row = (name, values, look) =>
          namedRow(
            name,
            [...values.map(value => inked(value, top)), td(show(Math.hypot(...values)))],
            look,
          );
        return [
          strip(`Concat: (${width},)`, concat, { cuts: true }),
          table(
            `De Concat a la salida, Concat · ${letter(3)}: (${width},)`,
            headRow([...x[0].keys(), 'norma']),
            ...contributions.map((values, h) =>
              row(
                `cabeza ${h}${muted.includes(h) ? ', apagada' : ''}`,
                values,
                muted.includes(h) ? 'h-off' : null,
              ),
            ),
            ...(biases[3].some(Boolean) ? [row('sesgo b_O', biases[3])] : []),
            row('suma: la salida', output, 'h-total'),
            ...(muted.length ? [row('sin apagar nada', full), row('el cambio', change)] : []),
          ),
        ];
      },
    },
  ];

  // --- Los mandos --------------------------------------------------------------------------------
  const go = station => save('station', Math.max(1, Math.min(STATIONS.length, station)));
  const token = choice('sigue a', index => save('query', index));
  const close = choice('mira de cerca la', index => save('head', index));
  const boxes = all.map(h =>
    checkbox(`apaga la cabeza ${h}`, false, on =>
      save(
        'muted',
        all.filter(other => (other === h ? on : model.get('muted').includes(other))),
      ),
    ),
  );
  const stops = STATIONS.map((name, i) => button('', () => go(i + 1)));
  stops.forEach((stop, i) =>
    stop.append(`${i + 1} · ${STATIONS[i]}`, make('small', {}, stations[i].map)),
  );
  const back = button('← anterior', () => go(model.get('station') - 1));
  const forward = button('siguiente →', () => go(model.get('station') + 1));
  const [shapes, text, detail] = [make('strong'), make('p'), make('div', { class: 'h-detail' })];
  const note = model.get('note');
  el.replaceChildren(
    div(
      'exp-split',
      div(
        null,
        div(null, token.node, close.node, ...boxes.map(box => box.node)),
        make('ol', { 'aria-label': 'Estaciones' }, ...stops.map(stop => make('li', {}, stop))),
        div(null, back, ' ', forward, ' ', shapes),
      ),
      div('exp-stay', text, detail),
    ),
    voice.node,
    ...(note ? [make('p', { class: 'exp-note' }, note)] : []),
  );

  function draw() {
    const now = traits(model, ['query', 'head', 'station', 'muted']);
    now.query = Math.min(now.query, L - 1); // lo guardado, sin salirse de lo que hay
    const result = compute(data, now.query, now.muted);
    const { shapes: written, text: told, nodes } = stations[now.station - 1];
    token.set(now.query, names);
    close.set(
      now.head,
      all.map(h => `cabeza ${h}`),
    );
    boxes.forEach((box, h) => box.set(now.muted.includes(h)));
    stops.forEach((stop, i) =>
      set(stop, { 'aria-current': i + 1 === now.station ? 'step' : null }),
    );
    // Apagado, pero no `disabled`: así no pierde el foco al llegar.
    set(back, { 'aria-disabled': now.station === 1 ? 'true' : null });
    set(forward, { 'aria-disabled': now.station === STATIONS.length ? 'true' : null });
    shapes.textContent = `En toda la frase, ${written}`;
    text.textContent = told(`«${names[now.query]}»`, now.head);
    detail.replaceChildren(...nodes(result, now));
    voice.say(sentence(result, { tokens: names, heads }, now));
  }

  draw();
  return listen(model, { query: draw, head: draw, station: draw, muted: draw });
}

const render = view => mountAsking(view, 'exp-heads', STYLE, 'data', build);

export default { render };
