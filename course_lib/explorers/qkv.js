// La query de un token, la key de cada uno y su producto. Las cuentas son las de `compute`, en
// qkv.py. Llegan las doce cabezas de una capa: otra capa, u otra frase, se piden al kernel.

const STYLE = css`
  .exp-qkv :is(td, th) {
    padding: 0.05rem 0.5rem;
    font-size: 0.85rem;
    white-space: nowrap;
  }
  .exp-qkv :is(th, .v-left) {
    text-align: left;
  }
  .exp-qkv .v-q :is(th, td) {
    border-bottom: 2px solid currentColor;
  }
  .exp-qkv .v-best :is(th, td) {
    font-weight: 700;
    border-block: 2px solid var(--k);
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(q, keys) {
  const parts = keys.map(key => key.map((value, d) => q[d] * value));
  const products = parts.map(sum);
  return {
    parts,
    products,
    scores: products.map(product => product / Math.sqrt(q.length)),
    top: ranking(products),
  };
}

/** Los números que `pack` ha guardado: una lista por cabeza, con una fila por token. */
export function unpack({ shape: [heads, length, size], scale, numbers }) {
  const view = decode(numbers);
  const at = (head, i, d) => view.getInt16(2 * ((head * length + i) * size + d), true) * scale;
  return range(heads).map(h => range(length).map(i => range(size).map(d => at(h, i, d))));
}

/** Lo que se ve, en una frase. */
export function sentence(result, tokens, { layer, head, query }) {
  const [best] = result.top;
  return (
    `Capa ${layer}, cabeza ${head}: «${tokens[query]}» puntúa más a «${tokens[best]}»: ` +
    `q · k = ${show(result.products[best], 1)}, y entre la raíz de d_k, ` +
    `${show(result.scores[best], 1)}.`
  );
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  let vectors;

  const asked = sentenceLine(model, () => ({ layer: model.get('layer') }));
  const layer = choice('Capa', value => {
    asked.ask({ layer: value });
    draw(); // la capa elegida se verá cuando llegue
  });
  const head = choice('Cabeza', value => save('head', value));
  const query = choice('Pregunta', value => save('query', value));
  const detail = make('div');
  mount(
    el,
    'exp-asks exp-qkv',
    ASKING + STYLE,
    asked.node,
    div(null, layer.node, head.node, query.node),
    detail,
    voice.node,
    paragraph(
      'Cada barra es un número: hacia arriba y azul, positivo; hacia abajo y naranja, ' +
        'negativo. En «q × k», hacia arriba donde la query y la key tienen el mismo signo.',
    ),
  );

  // --- Dibujar -----------------------------------------------------------------------------------
  function load() {
    const data = model.get('data');
    vectors = Object.fromEntries(['q', 'k', 'v'].map(name => [name, unpack(data[name])]));
    asked.warn(data.notes);
    draw();
  }

  function draw() {
    const { tokens, layer: shown } = model.get('data');
    const names = tokens.map((token, i) => `${visible(token)} (${i})`);
    const position = Math.min(model.get('query'), tokens.length - 1);
    const h = Math.min(model.get('head'), vectors.q.length - 1);
    layer.set(shown, numbered(model.get('layers')));
    head.set(h, numbered(vectors.q.length));
    query.set(position, names);
    const [q, keys, values] = [vectors.q[h][position], vectors.k[h], vectors.v[h]];
    const result = compute(q, keys);
    const [topQ, topK, topV, topP] = [q, keys, values, result.parts].map(largest);
    const about = `query de «${visible(tokens[position])}»`;
    const products = ['q × k, uno a uno', 'suma: q · k', `÷ √${q.length}`];
    const titles = ['token', 'key', ...products, 'value'];
    const table = make(
      'table',
      {},
      make('tr', {}, ...titles.map(title => th(title))),
      namedRow(
        about,
        [
          td(bars(about, q, topQ)),
          make('td', { colspan: 4, class: 'v-left' }, '← esta, por la key de cada token'),
        ],
        'v-q',
      ),
      ...keys.map((key, j) => {
        const best = j === result.top[0];
        const cells = [
          bars(`key de ${names[j]}`, key, topK),
          bars(`q por k de ${names[j]}`, result.parts[j], topP),
          show(result.products[j], 1),
          show(result.scores[j], 1),
          bars(`value de ${names[j]}`, values[j], topV),
        ];
        return namedRow(
          `${best ? '▶ ' : ''}${names[j]}`,
          cells.map(content => td(content)),
          best ? 'v-best' : null,
        );
      }),
    );
    detail.replaceChildren(sliding('Query, keys, productos y values', table));
    voice.say(sentence(result, names, { layer: shown, head: h, query: position }));
  }

  load();
  return asked.start({ data: load, head: draw, query: draw });
}

export default { render };
