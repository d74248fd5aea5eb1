// La multicabeza de BERT, de estación en estación. Las cuentas son las de `compute`, en heads.py.

const STATIONS = ['X', 'proyectar', 'repartir', 'atender', 'concat', 'mezclar'];
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
  .exp-heads p {
    margin: 0.25rem 0;
  }
  .exp-heads fieldset {
    border: 0;
    margin: 0;
    padding: 0;
  }
  .exp-heads legend {
    float: left;
    margin: 0.2rem 0.6rem 0.2rem 0;
  }
  .exp-heads fieldset .exp-control {
    gap: 0.15rem;
    margin-right: 0.5rem;
  }
  .exp-heads .h-detail {
    min-height: 17rem;
  }
  .exp-heads figure {
    margin: 0 0 0.4rem;
  }
  .exp-heads figcaption {
    font-size: 0.85em;
  }
  .exp-heads .h-wide {
    display: block;
    width: 100%;
    height: 32px;
  }
  .exp-heads .h-pieces {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(168px, 1fr));
    gap: 0.2rem 0.6rem;
  }
  .exp-heads .h-picked {
    outline: 3px solid var(--v);
    outline-offset: 1px;
  }
  .exp-heads :is(.h-picked figcaption, .h-row th, .h-total :is(th, td)) {
    font-weight: 700;
  }
  .exp-heads :is(td, th) {
    font-size: 0.8rem;
    line-height: 1.2;
    padding: 0.05rem 0.3rem;
    white-space: nowrap;
  }
  .exp-heads tr > th:first-child {
    text-align: left;
  }
  .exp-heads .h-row :is(td, th) {
    border-block: 2px solid var(--v);
  }
  .exp-heads .h-off :is(td, th) {
    opacity: 0.65;
    text-decoration: line-through;
  }
  .exp-heads .h-total :is(td, th) {
    border-top: 2px solid currentColor;
  }
  .exp-heads caption {
    text-align: left;
    font-size: 0.85rem;
    white-space: nowrap;
  }
  @media (max-height: 30rem) {
    .exp.exp-heads li {
      flex-basis: 5.5rem;
    }
    .exp-heads small {
      display: none;
    }
    .exp-heads .exp-goals {
      order: 1;
    }
    .exp-heads .h-detail {
      min-height: 0;
    }
  }
`;

/** Los números que `packed` ha guardado, en listas de listas, con su forma. */
export function unpack({ shape, scale, numbers }) {
  const view = decode(numbers);
  const wide = view.byteLength > shape.reduce((a, b) => a * b); // de 16 bits, o de 8
  const one = at => (wide ? view.getInt16(2 * at, true) : view.getInt8(at)) * scale;
  const part = (at, [size, ...rest]) => {
    const step = rest.reduce((a, b) => a * b, 1);
    return range(size).map(i => (rest.length ? part(at + i * step, rest) : one(at + i)));
  };
  return part(0, shape);
}

/** Las mismas cuentas que `compute` en Python. */
export function compute(data, query, muted = []) {
  const names = ['products', 'lengths', 'written', 'cosines'];
  const [all, lengths, sizes, cosines] = names.map(name => unpack(data[name]));
  const [heads, products] = [range(all.length), all.map(table => table[query])];
  const written = sizes.map(row => row[query]);
  const dots = cosines[query].map((row, a) => row.map((x, b) => x * written[a] * written[b]));
  const scores = products.map(row => row.map(x => x / Math.sqrt(data.q.shape[2])));
  const weights = scores.map(softmax);
  const size = chosen =>
    Math.sqrt(Math.max(0, sum(chosen.flatMap(a => chosen.map(b => dots[a][b])))));
  const norm = size(muted);
  const against = heads.map(h => sum(muted.map(other => dots[h][other])));
  return {
    products,
    scores,
    weights,
    brought: weights.map((row, h) => row.map((weight, i) => weight * lengths[h][i])),
    written,
    turned: against.map((product, h) => (norm ? product / (written[h] * norm) : 0)),
    total: size(heads.filter(h => !muted.includes(h))),
    norm,
    met: muted.length === 2 && norm < Math.min(...muted.map(h => written[h])),
  };
}

/** Dónde está el mayor de una fila; si empatan, el primero. */
function best(row) {
  const rounded = row.map(value => Math.round(value * 1e9));
  return rounded.indexOf(Math.max(...rounded));
}

/** Lo que se ve, en una frase. */
export function sentence(result, { tokens, q }, { query, head, station, muted }) {
  const word = `«${visible(tokens[query])}»`;
  const [heads, , size] = q.shape;
  const width = heads * size;
  const [winner, taken] = [best(result.weights[head]), best(result.brought[head])];
  const said = [
    `${word} entra con su fila de X: ${width} números, que leen todas las cabezas.`,
    `De ${word} salen una query, una key y un value, de ${width} números cada uno.`,
    `Los ${width} números de ${word} se reparten en ${heads} trozos de ${size}: ` +
      'no se calcula nada.',
    `Con la cabeza ${head}, ${word} mira sobre todo a «${visible(tokens[winner])}» ` +
      `(${show(result.weights[head][winner])}).`,
    `Los trozos de ${word} vuelven a estar uno tras otro, ${width} números: no se calcula nada.`,
    `La cabeza ${head} escribe en ${word} un vector que mide ${show(result.written[head])}; ` +
      `de quien más trae es de «${visible(tokens[taken])}».`,
  ][station - 1];
  if (!muted.length) return said;
  const off =
    muted.length > 1
      ? `Con las cabezas ${join(muted)} apagadas`
      : `Con la cabeza ${muted[0]} apagada`;
  const changed = `cambian ${size * muted.length} de ${width} números en Concat`;
  const met = won([result.met]).map(text => ` ${text}`);
  const before = station < 5 ? `${said} ` : '';
  return `${before}${off} ${changed}; en la salida, el cambio mide ${show(result.norm)}.${met}`;
}

/** Un vector entero como barras tan estrechas como haga falta, con una raya entre cabezas. */
function wide(name, values, pieces) {
  const drawing = bars(name, values, largest([values]));
  const [, , across, tall] = drawing.getAttribute('viewBox').split(' ').map(Number);
  set(drawing, { class: 'h-wide', preserveAspectRatio: 'none' });
  const lines = range(Math.max(0, pieces - 1)).map(i => {
    const x = (across * (i + 1)) / pieces;
    return segment(x, 0, x, tall, {
      stroke: 'currentColor',
      'vector-effect': 'non-scaling-stroke',
    });
  });
  drawing.append(...lines);
  return make('figure', {}, make('figcaption', {}, name), drawing);
}

function build(model, el) {
  const data = model.get('data');
  const { tokens, heads } = data;
  const [X, Q, outputs] = ['x', 'q', 'outputs'].map(name => unpack(data[name]));
  const [L, size, all] = [tokens.length, Q[0][0].length, range(heads)];
  const width = heads * size;
  const save = saver(model);
  const voice = announcer();
  const names = tokens.map((token, i) =>
    tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : `${token} (${i})`,
  );
  const state = () => traits(model, ['query', 'head', 'station', 'muted']);
  const whole = (T, query) => T.flatMap(part => part[query]);

  /** Doce trozos, uno por cabeza, a la misma escala. */
  const pieces = (name, rows, { head, muted = [] }) =>
    group(
      name,
      'h-pieces',
      ...rows.map((row, h) =>
        make(
          'figure',
          { class: h === head ? 'h-picked' : null },
          make('figcaption', {}, `cabeza ${h}${muted.includes(h) ? ', apagada' : ''}`),
          bars(`${name}, cabeza ${h}`, row, largest(rows)),
        ),
      ),
    );
  const inked = (value, top, look = null) =>
    make('td', { class: look, style: ink(value, top) }, show(value));

  const alone = cell => [cell, td(''), td(''), td('')];

  // --- Las seis estaciones: su forma en el mapa, su texto y sus números --------------------------
  const [flat, inside] = [`(${L}, ${width})`, `(${heads}, ${L}, ${size})`];
  const stations = [
    {
      map: flat,
      shapes: `X: (L, d_model) = ${flat}`,
      text: word =>
        `Lo que entra en la capa, una fila por token. La de ${word} va entera a todas las ` +
        'cabezas. Azul y arriba, lo positivo; naranja y abajo, lo negativo.',
      nodes: (_, { query }) =>
        [query - 1, query, query + 1]
          .filter(i => i in tokens)
          .map(i => wide(`${i === query ? '▶ ' : ''}x de «${names[i]}»: (${width},)`, X[i], 0)),
    },
    {
      map: `3 veces ${flat}`,
      shapes: `Q, K y V: (L, d_model) → (L, h·d_k) = ${flat} cada una`,
      text: word =>
        'Tres matrices, tres vectores, tan anchos como x: la query, que es esta, y la key y el ' +
        `value de ${word}. Cada número combina los ${width} de x.`,
      nodes: (_, { query }) => [wide(`q = x · W_Q + b_Q: (${width},)`, whole(Q, query), 0)],
    },
    {
      map: inside,
      shapes: `(L, h·d_k) = ${flat} → (L, h, d_k) → (h, L, d_k) = ${inside}`,
      text: () =>
        'Los mismos números, cortados en trozos: aquí no se calcula nada. Después, el eje de ' +
        'las cabezas pasa delante.',
      nodes: (_, { query, head }) => [
        wide(`q: (${width},)`, whole(Q, query), heads),
        pieces(
          `q, repartida: (${heads}, ${size})`,
          Q.map(part => part[query]),
          { head },
        ),
      ],
    },
    {
      map: inside,
      shapes: `pesos, (h, L, L) = (${heads}, ${L}, ${L}); por V, (h, L, d_k) = ${inside}`,
      text: (word, h) =>
        `La cabeza ${h} compara su trozo de la query de ${word} con los de las ${L} keys, y ` +
        'mezcla los values con los pesos.',
      nodes: ({ products, scores, weights }, { query, head: h }) => [
        div(
          'exp-row',
          table(
            `La cabeza ${h}, para «${names[query]}»`,
            headRow(['q · k', `÷ √${size}`, 'peso']),
            ...names.map((name, i) =>
              namedRow(name, [
                inked(products[h][i], largest([products[h]])),
                inked(scores[h][i], largest([products[h]])),
                inked(weights[h][i], 1, i === best(weights[h]) ? 'exp-best' : null),
              ]),
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
      ],
    },
    {
      map: flat,
      shapes: `(h, L, d_k) = ${inside} → (L, h, d_k) → (L, h·d_k) = ${flat}`,
      text: () =>
        'Las salidas de las cabezas, una tras otra: tampoco aquí se calcula nada. Una cabeza ' +
        'apagada deja ceros en su sitio.',
      nodes: (_, { query, head, muted }) => {
        const given = outputs.map((part, h) =>
          part[query].map(value => (muted.includes(h) ? 0 : value)),
        );
        return [
          pieces(`lo que llega de cada cabeza: (${heads}, ${size})`, given, { head, muted }),
          wide(`Concat: (${width},)`, given.flat(), heads),
        ];
      },
    },
    {
      map: flat,
      shapes: `(L, h·d_k) = ${flat} → (L, d_model) = ${flat}`,
      text: word =>
        `Cada cabeza escribe en ${word} ${width} números: su trozo de Concat por sus ${size} ` +
        'filas de W_O. La salida es la suma, más un sesgo.',
      nodes: ({ written, brought, turned, total, norm }, { head, muted }) => [
        table(
          'Lo que escribe cada cabeza',
          headRow(['norma', 'trae más de', 'y trae', 'coseno con lo apagado']),
          ...written.map((value, h) => {
            const from = best(brought[h]);
            return namedRow(
              `cabeza ${h}${muted.includes(h) ? ', apagada' : ''}`,
              [
                inked(value, largest([written])),
                td(names[from]),
                inked(brought[h][from], largest(brought)),
                muted.length ? inked(turned[h]) : td('—'),
              ],
              muted.includes(h) ? 'h-off' : h === head ? 'h-row' : null,
            );
          }),
          namedRow('la suma de las encendidas', alone(inked(total)), 'h-total'),
          namedRow('lo apagado: cuánto cambia la salida', alone(inked(norm, largest([written])))),
        ),
      ],
    },
  ];

  // --- Los mandos --------------------------------------------------------------------------------
  const go = station => save('station', Math.max(1, Math.min(STATIONS.length, station)));
  const token = choice('sigue a', index => save('query', index));
  const close = choice('mira de cerca la', index => save('head', index));
  const boxes = all.map(h => {
    const others = () => model.get('muted').filter(other => other !== h);
    const sorted = muted => muted.sort((a, b) => a - b);
    const box = checkbox(h, false, on => save('muted', sorted([...others(), ...(on ? [h] : [])])));
    set(box.node.querySelector('input'), { 'aria-label': `apaga la cabeza ${h}` });
    return box;
  });
  const stops = STATIONS.map((name, i) => button('', () => go(i + 1)));
  stops.forEach((stop, i) =>
    stop.append(`${i + 1} · ${STATIONS[i]}`, make('small', {}, stations[i].map)),
  );
  const back = button('← anterior', () => go(model.get('station') - 1));
  const forward = button('siguiente →', () => go(model.get('station') + 1));
  const [shapes, text, detail] = [make('strong'), make('p'), make('div', { class: 'h-detail' })];
  const goals = challenges([
    [
      'Apaga dos cabezas que, juntas, cambien la salida menos que cada una sola.',
      'Una escribe, en parte, contra la otra: al sumarse se quitan.',
    ],
  ]);
  el.replaceChildren(
    goals.node,
    div(
      'exp-split',
      div(
        null,
        div(null, token.node, close.node),
        fieldset('apaga las cabezas', ...boxes.map(box => box.node)),
        make('ol', { 'aria-label': 'Estaciones' }, ...stops.map(stop => make('li', {}, stop))),
        div(null, back, ' ', forward, ' ', shapes),
      ),
      div('exp-stay', text, detail),
    ),
    voice.node,
  );

  function draw() {
    const now = state();
    now.query = Math.min(now.query, L - 1); // lo guardado, sin salirse de lo que hay
    const result = compute(data, now.query, now.muted);
    const { shapes: shaped, text: told, nodes } = stations[now.station - 1];
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
    shapes.textContent = `En toda la frase, ${shaped}`;
    text.textContent = told(`«${names[now.query]}»`, now.head);
    detail.replaceChildren(...nodes(result, now));
    goals.mark([result.met]);
    voice.say(sentence(result, { tokens: names, q: data.q }, now));
  }

  draw();
  return listen(model, { query: draw, head: draw, station: draw, muted: draw });
}

const render = view => mountAsking(view, 'exp-heads', STYLE, 'data', build);

export default { render };
