// La query de un token, la key de cada uno y su producto. Las cuentas son las de `compute`, en
// qkv.py. Llegan las doce cabezas de una capa: otra capa, u otra frase, se piden al kernel.

const PATIENCE = 10000; // milisegundos que se espera al kernel antes de decir algo
const STYLE = css`
  .exp.exp-qkv {
    max-width: 80rem;
  }
  .exp-qkv p {
    margin: 0.25rem 0;
  }
  .exp-qkv :is(input, select) {
    font: inherit;
    color: inherit;
    background: transparent;
    padding: 0.15rem 0.4rem;
    border: 2px solid var(--mute);
    border-radius: 0.4rem;
    min-width: 0;
  }
  .exp-qkv option {
    color: #111;
    background: #fff;
  }
  .exp-qkv .v-sentence {
    display: flex;
    flex-wrap: wrap;
    gap: 0.3rem 0.6rem;
    align-items: center;
  }
  .exp-qkv .v-sentence input {
    flex: 1 1 16rem;
    max-width: 40rem;
  }
  .exp-qkv .v-error {
    border: 2px solid var(--k);
    border-radius: 0.4rem;
    padding: 0.3rem 0.6rem;
    overflow-wrap: anywhere;
  }
  .exp-qkv .v-note {
    border-left: 4px solid var(--mute);
    padding-left: 0.6rem;
    overflow-wrap: anywhere;
  }
  .exp-qkv :is(td, th) {
    padding: 0.05rem 0.5rem;
    font-size: 0.85rem;
    white-space: nowrap;
  }
  .exp-qkv :is(th, .v-left) {
    text-align: left;
  }
  .exp-qkv td svg {
    display: block;
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
  const products = parts.map(row => row.reduce((sum, value) => sum + value, 0));
  return {
    parts,
    products,
    scores: products.map(product => product / Math.sqrt(q.length)),
    top: products.map((_, j) => j).sort((a, b) => products[b] - products[a] || a - b),
  };
}

/** Los números que `pack` ha guardado: una lista por cabeza, con una fila por token. */
export function unpack({ shape: [heads, length, size], scale, numbers }) {
  const bytes = Uint8Array.from(atob(numbers), character => character.charCodeAt(0));
  const view = new DataView(bytes.buffer); // los enteros vienen con el byte bajo delante
  const at = (head, i, d) => view.getInt16(2 * ((head * length + i) * size + d), true) * scale;
  const range = count => [...Array(count).keys()];
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
  let waiting = null;
  let timer;
  let written = '';
  let vectors;

  const input = focusable(
    make('input', {
      type: 'text',
      'aria-label': 'Frase',
      spellcheck: 'false',
      autocomplete: 'off',
      onkeydown: event => {
        if (event.key === 'Enter' && !event.isComposing) {
          event.preventDefault();
          event.stopPropagation();
          ask({});
        }
      },
    }),
  );
  const state = make('span', { role: 'status' });
  const error = make('p', { class: 'v-error', role: 'alert', hidden: true });
  const notes = make('div');
  const change = (name, value) => {
    save(name, value);
    draw();
  };
  const layer = choice('Capa', value => ask({ layer: value }));
  const head = choice('Cabeza', value => change('head', value));
  const query = choice('Pregunta', value => change('query', value));
  const detail = make('div');
  el.replaceChildren(
    make(
      'div',
      { class: 'exp exp-qkv' },
      make('style', {}, STYLE),
      make(
        'div',
        { class: 'v-sentence' },
        make('span', {}, 'Frase'),
        input,
        button('Calcular', () => ask({})),
        state,
      ),
      error,
      notes,
      make('div', {}, layer.node, head.node, query.node),
      detail,
      voice.node,
      make(
        'p',
        {},
        'Cada barra es un número: hacia arriba y azul, positivo; hacia abajo y naranja, ' +
          'negativo. En «q × k», hacia arriba donde la query y la key tienen el mismo signo.',
      ),
    ),
  );

  // --- Pedir otra frase, u otra capa, al kernel --------------------------------------------------
  function ask({ layer: other = model.get('layer') }) {
    written = input.value;
    waiting = Math.max(model.get('answered'), model.get('request').serial ?? 0) + 1;
    state.textContent = 'Calculando…';
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.textContent =
        'El kernel no contesta: está ocupado o parado. Sigue a la vista lo anterior.';
    }, PATIENCE);
    const text = input.value.replace(/\p{Surrogate}/gu, '\ufffd');
    model.set('request', { serial: waiting, sentence: text, layer: other });
    model.save_changes();
    draw(); // la capa elegida se verá cuando llegue
  }

  function settle() {
    if (waiting !== null && model.get('answered') < waiting) return;
    waiting = null;
    clearTimeout(timer);
    state.textContent = '';
    complain();
  }

  function complain() {
    const text = model.get('error');
    error.textContent = text && `No se ha podido: ${visible(text)} Sigue a la vista lo anterior.`;
    error.hidden = !text;
  }

  function write() {
    // lo que se está escribiendo no se toca
    if (input.value === written) input.value = written = model.get('sentence');
  }

  // --- Dibujar -----------------------------------------------------------------------------------
  function load() {
    const data = model.get('data');
    vectors = Object.fromEntries(['q', 'k', 'v'].map(name => [name, unpack(data[name])]));
    notes.replaceChildren(
      ...data.notes.map(note => make('p', { class: 'v-note' }, `Aviso: ${visible(note)}`)),
    );
    draw();
  }

  function draw() {
    const { tokens, layer: shown } = model.get('data');
    const names = tokens.map((token, i) => `${visible(token)} (${i})`);
    const asked = Math.min(model.get('query'), tokens.length - 1);
    const h = Math.min(model.get('head'), vectors.q.length - 1);
    layer.set(shown, numbered(model.get('layers')));
    head.set(h, numbered(vectors.q.length));
    query.set(asked, names);
    const [q, keys, values] = [vectors.q[h][asked], vectors.k[h], vectors.v[h]];
    const result = compute(q, keys);
    const largest = rows => Math.max(...rows.flat().map(Math.abs));
    const [topQ, topK, topV, topP] = [q, keys, values, result.parts].map(largest);
    const cell = (...children) => make('td', {}, ...children);
    const title = (text, scope = 'col') => make('th', { scope }, text);
    const table = make(
      'table',
      {},
      make(
        'tr',
        {},
        ...['token', 'key', 'q × k, número a número', 'suma: q · k', `÷ √${q.length}`, 'value'].map(
          text => title(text),
        ),
      ),
      make(
        'tr',
        { class: 'v-q' },
        title(`query de «${visible(tokens[asked])}»`, 'row'),
        cell(bars(`query de «${visible(tokens[asked])}»`, q, topQ)),
        make('td', { colspan: 4, class: 'v-left' }, '← esta, por la key de cada token'),
      ),
      ...keys.map((key, j) =>
        make(
          'tr',
          { class: j === result.top[0] ? 'v-best' : null },
          title(`${j === result.top[0] ? '▶ ' : ''}${names[j]}`, 'row'),
          cell(bars(`key de ${names[j]}`, key, topK)),
          cell(bars(`q por k de ${names[j]}`, result.parts[j], topP)),
          cell(show(result.products[j], 1)),
          cell(show(result.scores[j], 1)),
          cell(bars(`value de ${names[j]}`, values[j], topV)),
        ),
      ),
    );
    detail.replaceChildren(sliding('Query, keys, productos y values', table));
    voice.say(sentence(result, names, { layer: shown, head: h, query: asked }));
  }

  const silence = listen(model, {
    data: load,
    sentence: write,
    head: draw,
    query: draw,
    answered: settle,
    error: complain,
  });
  write();
  load();
  complain();
  return () => {
    clearTimeout(timer);
    silence();
  };
}

export default { render };
