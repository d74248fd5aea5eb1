// Los pesos de atención de un BERT. Llegan todos de una vez: cambiar de capa o de cabeza no
// necesita
// el kernel; una frase nueva, sí. Las cuentas son las de `compute`, en attention.py.

const STEPS = 65535; // cada peso viaja como un entero de 16 bits
const ORDINALS = ['primera', 'segunda'];
const STYLE = css`
  .exp-attention .exp-row {
    gap: 0.2rem 1.2rem;
  }
  .exp-attention .exp-texts {
    display: flex;
    flex-wrap: wrap;
    gap: 0.3rem 1rem;
    flex: 1 1 30rem;
  }
  .exp-attention .exp-texts label {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.5rem;
    flex: 1 1 22rem;
    align-items: baseline;
  }
  .exp-attention .exp-choose {
    display: flex;
    flex-wrap: wrap;
    gap: 0 1rem;
    align-items: center;
    margin-top: 0.4rem;
  }
  .exp-attention .exp-choose > :first-child {
    flex: 0 1 16rem;
  }
  .exp-attention .exp-choose .exp-control {
    margin-right: 0.4rem;
  }
  .exp-attention table {
    font-size: 0.85rem;
  }
  .exp.exp-attention {
    display: flex;
    flex-direction: column;
  }
  @media (min-height: 30.01rem) {
    .exp-attention .exp-split {
      display: contents;
    }
    .exp-attention :is(.exp-drawings, .exp-say ~ *) {
      order: 1;
    }
  }
  @media (max-height: 30rem) {
    .exp.exp-attention .exp-heads {
      grid-template-columns: repeat(6, 1fr);
    }
    .exp-attention .exp-choose p {
      display: none;
    }
    .exp-attention .exp-texts,
    .exp-attention .exp-texts :is(label, input) {
      flex-basis: 9rem;
      min-width: 0;
    }
    .exp-attention .exp-texts span {
      width: 100%;
    }
    .exp-attention figcaption {
      min-height: 0;
      white-space: nowrap;
      overflow: hidden;
      text-overflow: ellipsis;
    }
  }
  .exp-attention p {
    margin: 0.1rem 0;
  }
  .exp-attention input {
    flex: 1 1 14rem;
  }
  .exp-attention select {
    flex: none;
  }
  .exp-attention .exp-heads {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(3.3rem, 1fr));
    gap: 0.3rem;
    flex: 1 1 30rem;
    min-width: 0;
    max-width: 54rem;
  }
  .exp-attention .exp-heads button {
    padding: 0.1rem;
    font-size: 0.75rem;
    line-height: 1.2;
  }
  .exp-attention .exp-heads .exp-button[aria-pressed='true'] {
    background: transparent;
    color: inherit;
    border: 3px solid var(--k);
    font-weight: 700;
  }
  .exp-attention .exp-heads svg {
    display: block;
    width: 100%;
    border: 1px solid var(--mute);
    background: var(--jp-layout-color0, Canvas);
  }
  .exp-attention figure {
    flex: 1 1 24rem;
    min-width: 0;
    margin: 0;
  }
  .exp-attention figure > .exp-row > * {
    flex: 1 1 auto;
    min-width: 0;
    max-width: 22rem;
  }
  .exp-attention figure > .exp-row > :first-child {
    flex-grow: 0;
    flex-shrink: 0;
    max-width: 100%;
  }
  .exp-attention :is(.exp-say, figcaption) {
    min-height: 3em;
  }
  @media (min-width: 80rem) {
    .exp-attention :is(.exp-say, figcaption) {
      min-height: 1.5em;
    }
  }
  @media (max-width: 50rem) {
    .exp-attention .exp-say {
      min-height: 7.5em;
    }
  }
  .exp-attention figcaption {
    font-weight: 600;
    font-size: 0.9rem;
    overflow-wrap: anywhere;
  }
  .exp-attention [role='radio'] {
    cursor: pointer;
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(weights, query, other = null) {
  const row = [...weights[query]];
  return {
    row,
    top: ranking(row),
    difference:
      other && other.length === weights.length ? other[query].map((x, j) => x - row[j]) : null,
  };
}

/** Lo que se ve, en una frase. `rows` tiene, de cada frase, sus tokens y lo calculado (o null). */
export function sentence(rows, query) {
  return rows
    .map(({ tokens, result }, i) => {
      const where = rows.length > 1 ? `En la ${ORDINALS[i]}, ` : '';
      if (!result) return `${where}no hay token en la posición ${query}.`;
      const best = result.top
        .slice(0, 2)
        .filter((j, n) => n === 0 || result.row[j] >= 0.005)
        .map(j => `«${tokens[j]}» (${show(result.row[j])})`);
      return `${where}«${tokens[query]}» mira a ${best.join(' y a ')}.`;
    })
    .join(' ');
}

/** Los pesos de una frase, y cómo sacar de ellos la matriz de una cabeza. */
export function unpack({ tokens, shape: [layers, heads, length], weights, notes }) {
  const view = decode(weights);
  const at = (layer, head, i, j) =>
    view.getUint16(2 * (((layer * heads + head) * length + i) * length + j), true) / STEPS;
  const matrix = (layer, head) => tokens.map((_, i) => tokens.map((_, j) => at(layer, head, i, j)));
  return { tokens, layers, heads, notes, matrix };
}

/**
 * Un trazo por cada peso, en diez niveles de opacidad (la raíz del peso): diez elementos, no miles.
 */
function shades(weights, piece, look) {
  const levels = Array.from({ length: 11 }, () => []);
  weights.forEach((row, i) =>
    row.forEach((x, j) => levels[Math.round(10 * Math.sqrt(x))].push(piece(i, j))),
  );
  return levels
    .slice(1)
    .map((pieces, k) => make('path', { d: pieces.join(''), ...look((k + 1) / 10) }));
}

/** Una matriz de cuadros de lado `side`, tanto más llenos cuanto más peso. */
function squares(weights, side) {
  return shades(
    weights,
    (i, j) => `M${j * side} ${i * side}h${side}v${side}h${-side}z`,
    level => ({ fill: 'var(--q)', 'fill-opacity': level }),
  );
}

const clip = token => (token.length > 12 ? `${token.slice(0, 11)}…` : token);

/**
 * El dibujo de una frase: las dos columnas con sus líneas y la matriz. `pick(i)` elige una query;
 * `peek(i)`, de paso.
 */
function panel({ tokens, weights, name, text, pick, peek }) {
  const ROW = 24,
    CELL = 20;
  const longest = Math.max(5, ...tokens.map(token => clip(token).length)); // caben los nombres
  const MARGIN = 14 + 8 * longest;
  const LEFT = 20 + 8.5 * longest;
  const RIGHT = LEFT + 84;
  const y = i => 30 + i * ROW;
  // No encoge: cada token mide al menos 24 píxeles de alto.
  const wide = Math.round(RIGHT + 46 + 8.5 * longest);
  const lines = make('svg', {
    viewBox: `0 0 ${wide} ${y(tokens.length) - 14}`,
    style: `width: 100%; min-width: ${wide}px`,
    role: 'radiogroup',
    'aria-label': `Tokens de la ${name}: elige la query con las flechas`,
    onpointerleave: () => peek(null),
  });
  const flat = { stroke: 'var(--mute)', fill: 'none' };
  lines.append(
    write(LEFT, 11, 13, 'query', { ...END, opacity: 0.8 }),
    write(RIGHT, 11, 13, 'peso y key', { opacity: 0.8 }),
    ...shades(
      weights,
      (i, j) => `M${LEFT + 4} ${y(i) - 5}L${RIGHT - 4} ${y(j) - 5}`,
      level => ({
        ...flat,
        'stroke-opacity': 0.6 * level ** 2,
        'stroke-width': 0.5 + 2.5 * level ** 2,
      }),
    ),
  );
  const front = make('g');
  lines.append(front);
  const queries = tokens.map((token, i) => {
    const label = write(LEFT, y(i), 15, clip(token), END);
    const node = focusable(
      make(
        'g',
        {
          role: 'radio',
          'aria-label': `${token}, posición ${i}`,
          onclick: () => {
            pick(i);
            node.focus();
          },
          onpointerenter: () => peek(i),
          onkeydown(event) {
            const ends = { PageUp: 0, PageDown: tokens.length - 1 };
            const next = arrowTo(event, i, tokens.length, { ...ends, ' ': i, Enter: i });
            if (next === undefined) return;
            pick(next);
            queries[next].node.focus();
          },
        },
        rect(0, y(i) - 16, LEFT + 2, ROW, { fill: 'transparent' }),
        label,
        make('title', {}, token),
      ),
    );
    lines.append(node);
    return { node, label };
  });
  const keys = tokens.map((token, j) => {
    const number = write(RIGHT, y(j), 14, '', { 'font-variant-numeric': 'tabular-nums' });
    const label = write(RIGHT + 40, y(j), 15, clip(token));
    lines.append(number, make('g', {}, label, make('title', {}, token)));
    return { number, label };
  });

  const side = MARGIN + CELL * tokens.length;
  const grid = make('svg', {
    viewBox: `0 0 ${side + 2} ${side + 2}`,
    role: 'img',
    'aria-label': `Matriz de pesos de la ${name}: una fila por query y una columna por key`,
    style:
      `width: 100%; min-width: ${Math.round(0.7 * side)}px; max-width: ` +
      `${Math.round(1.3 * side)}px; cursor: pointer`,
    onpointermove: event => peek(rowAt(event)),
    onpointerleave: () => peek(null),
    onclick: event => {
      const i = rowAt(event);
      if (i !== null) pick(i);
    },
  });
  const rowAt = event => {
    const box = grid.getBoundingClientRect();
    const i = Math.floor((((event.clientY - box.top) / box.height) * (side + 2) - MARGIN) / CELL);
    return i >= 0 && i < tokens.length ? i : null;
  };
  const frame = rect(MARGIN, 0, CELL * tokens.length, CELL, {
    fill: 'none',
    stroke: 'var(--k)',
    'stroke-width': 3,
  });
  const names = tokens.map((token, i) =>
    write(MARGIN - 5, MARGIN + CELL * i + 15, 14, clip(token), END),
  );
  grid.append(
    make(
      'g',
      { transform: `translate(${MARGIN} ${MARGIN})` },
      rect(0, 0, CELL * tokens.length, CELL * tokens.length, flat),
      ...squares(weights, CELL),
    ),
    ...names,
    ...tokens.map((token, j) => rising(MARGIN + CELL * j + 15, MARGIN - 5, 14, clip(token))),
    frame,
  );

  function mark(shown, chosen) {
    const result = shown < tokens.length ? compute(weights, shown) : null;
    front.replaceChildren(
      ...(result ? result.row : []).flatMap((x, j) =>
        x < 0.005
          ? []
          : segment(LEFT + 4, y(shown) - 5, RIGHT - 4, y(j) - 5, {
              stroke: 'var(--k)',
              'stroke-width': 1 + 9 * x,
              'stroke-opacity': 0.25 + 0.75 * x,
            }),
      ),
    );
    queries.forEach(({ node, label }, i) => {
      set(node, {
        tabindex: i === Math.min(chosen, tokens.length - 1) ? 0 : -1,
        'aria-checked': String(i === chosen),
      });
      set(label, { 'font-weight': i === shown ? 700 : null });
      label.textContent = `${i === shown ? '▸ ' : ''}${clip(tokens[i])}`;
    });
    keys.forEach(({ number, label }, j) => {
      number.textContent = result ? show(result.row[j]) : '';
      [number, label].forEach(node =>
        set(node, { 'font-weight': result && result.top.indexOf(j) < 2 ? 700 : null }),
      );
    });
    names.forEach((node, i) => set(node, { 'font-weight': i === shown ? 700 : null }));
    set(frame, { y: MARGIN + CELL * shown, visibility: result ? null : 'hidden' });
    return result;
  }
  const title = make(
    'figcaption',
    {},
    `${name[0].toUpperCase()}${name.slice(1)}: ` +
      `«${visible(text.length > 80 ? `${text.slice(0, 79)}…` : text)}»`,
  );
  const table = unseen(`Los pesos de la ${name}: una query en cada fila, una key en cada columna`);
  table.tell(tokens, tokens, weights);
  const box = (what, drawing, basis) =>
    set(sliding(`${what} de la ${name}`, drawing), { style: `flex-basis: ${basis}px` });
  return {
    mark,
    node: make(
      'figure',
      {},
      title,
      div('exp-row', box('Tokens', lines, wide), box('Matriz', grid, 0.7 * side)),
      table.node,
    ),
  };
}

function render({ model, el }) {
  if (model.get('view') === 'arcos') return renderArcs({ model, el });
  const save = saver(model);
  const voice = announcer();
  const labels = ['Frase', 'Otra frase (opcional)'];
  const asked = asking(model, 'sentences', labels, 'No se ha podido.');
  let readings, matrices, panels;

  const notes = make('div');
  const layer = choice('Capa', value => save('layer', value));
  const head = choice('Cabeza', value => save('head', value));
  const heads = make('div', { class: 'exp-heads', role: 'group' });
  const caption = make('p', { style: 'font-size: 0.85rem; margin: 0' });
  const drawings = make('div', { class: 'exp-row exp-drawings' });
  const numbers = focusable(
    make('div', {
      class: 'exp-scroll',
      tabindex: 0,
      role: 'region',
      'aria-label': 'La fila, en números',
    }),
  );
  mount(
    el,
    'exp-asks exp-attention',
    ASKING + STYLE,
    div(
      'exp-row',
      div(
        'exp-texts',
        ...asked.inputs.map((input, i) => make('label', {}, make('span', {}, labels[i]), input)),
      ),
      paragraph(asked.button, ' ', asked.state),
    ),
    asked.error,
    notes,
    div(
      'exp-split',
      div('exp-choose exp-stay', div(null, layer.node, head.node, caption), heads),
      drawings,
    ),
    voice.node,
    numbers,
    paragraph(
      'Pasa por un token, o por una fila de la matriz, para leer sus pesos; con un clic se ' +
        'queda. En las matrices, cuanto más color, más peso.',
      byKeys('tabulador hasta los tokens y flechas.'),
    ),
  );

  // --- Elegir ------------------------------------------------------------------------------------
  const chosen = name =>
    Math.min(
      model.get(name), // lo guardado, sin salirse de lo que hay
      {
        layer: readings[0].layers,
        head: readings[0].heads,
        query: Math.max(...readings.map(({ tokens }) => tokens.length)),
      }[name] - 1,
    );

  // --- Dibujar -----------------------------------------------------------------------------------
  function load() {
    readings = model.get('data').map(unpack);
    const which = i => (readings.length > 1 ? `, ${ORDINALS[i]} frase` : '');
    notes.replaceChildren(
      ...readings.flatMap((reading, i) =>
        reading.notes.map(note =>
          make('p', { class: 'exp-note' }, `Aviso${which(i)}: ${visible(note)}`),
        ),
      ),
    );
    draw();
  }

  function draw() {
    const [l, h] = [chosen('layer'), chosen('head')];
    layer.set(l, numbered(readings[0].layers));
    head.set(h, numbered(readings[0].heads));
    caption.textContent =
      'Las cabezas de la capa ' +
      `${l}${readings.length > 1 ? ', en la primera frase' : ''}: pulsa una.`;
    const side = readings[0].tokens.length;
    if (heads.childElementCount !== readings[0].heads)
      heads.replaceChildren(
        ...Array.from({ length: readings[0].heads }, (_, n) =>
          button(String(n), () => save('head', n)),
        ),
      );
    [...heads.children].forEach((node, n) => {
      set(node, { 'aria-pressed': String(n === h), 'aria-label': `cabeza ${n}` });
      node.replaceChildren(
        make(
          'svg',
          { viewBox: `0 0 ${side} ${side}`, 'aria-hidden': 'true' },
          ...squares(readings[0].matrix(l, n), 1),
        ),
        n === h ? `▸ ${n}` : String(n),
      );
    });
    set(heads, { 'aria-label': caption.textContent });
    matrices = readings.map(reading => reading.matrix(l, h));
    panels = readings.map(({ tokens }, i) =>
      panel({
        tokens,
        weights: matrices[i],
        text: model.get('sentences')[i] ?? '',
        name: readings.length > 1 ? `${ORDINALS[i]} frase` : 'frase',
        pick: n => save('query', n),
        peek: mark,
      }),
    );
    drawings.replaceChildren(...panels.map(({ node }) => node));
    mark();
  }

  function mark(hovered = null) {
    const query = hovered ?? chosen('query');
    const rows = panels.map(({ mark: show_ }, i) => ({
      tokens: readings[i].tokens,
      result: show_(query, chosen('query')),
    }));
    voice.say(sentence(rows, query));
    table(rows, query);
  }

  function table(rows, query) {
    const [one, two] = rows;
    numbers.hidden = !two;
    if (!two) return;
    const { difference } = one.result
      ? compute(matrices[0], query, matrices[1])
      : { difference: null };
    if (!difference) {
      numbers.replaceChildren(
        paragraph(
          `Las filas no se pueden restar: la primera frase tiene ${one.tokens.length} tokens y ` +
            `la segunda, ${two.tokens.length}.`,
        ),
      );
      return;
    }
    const most = largest([difference]);
    const best = x => (Math.abs(x) === most && most >= 0.005 ? 'exp-best' : null);
    // Si las dos frases tienen ahí el mismo token, se nombra una vez.
    const compared = [...new Set([one, two].map(({ tokens }) => `«${tokens[query]}»`))];
    numbers.replaceChildren(
      make(
        'table',
        {},
        make(
          'caption',
          { style: 'text-align: left' },
          `La fila de ${compared.join(' y la de ')}, y cuánto cambia:`,
        ),
        headRow(
          one.tokens.map((token, j) =>
            token === two.tokens[j] ? token : `${token} / ${two.tokens[j]}`,
          ),
        ),
        namedRow('primera', numbersOf(one.result.row)),
        namedRow('segunda', numbersOf(two.result.row)),
        namedRow(
          'segunda − primera',
          difference.map(x => td((x > 0.005 ? '+' : '') + show(x), best(x))),
        ),
      ),
    );
  }

  load();
  return asked.start({ data: load, layer: draw, head: draw, query: () => mark() });
}

export default { render };
