// El modo «arcos» del explorador de atención: la frase en su línea y, desde la palabra que mira,
// un arco a cada una de las demás, tanto más grueso cuanto más peso.

const ARCS = css`
  .exp.exp-arcs {
    container-type: inline-size;
  }
  .exp.exp-arcs p {
    margin: 0.3rem 0;
  }
  .exp-arcs .a-words {
    position: relative;
    display: flex;
    flex-wrap: wrap;
    justify-content: center;
    gap: 3rem 0.2rem;
    padding: 5.4rem 0 0.3rem;
    touch-action: pan-y;
    user-select: none;
  }
  @media (max-width: 40rem) {
    .exp-arcs .a-words {
      padding: 2.6rem 0.9rem 0.3rem;
    }
  }
  .exp-arcs .a-words svg {
    position: absolute;
    inset: 0;
    width: 100%;
    height: 100%;
    overflow: visible;
    pointer-events: none;
  }
  .exp-arcs .a-words button {
    font: inherit;
    font-size: clamp(1.05rem, 2.6cqi, 1.5rem);
    color: inherit;
    border: 2px solid transparent;
    border-radius: var(--round);
    padding: 0.1rem 0.25rem;
    min-width: 2.2rem;
    cursor: pointer;
  }
  .exp-arcs .a-words :is(small, .a-mark) {
    display: block;
    font-size: 0.85rem;
    line-height: 1.3rem;
    min-height: 1.3rem;
    font-variant-numeric: tabular-nums;
  }
  .exp-arcs .a-words .a-mark {
    line-height: 1.8rem;
  }
  .exp-arcs .a-words .a-gloss {
    font-style: italic;
  }
  .exp-arcs .exp-say {
    font-size: 1.15rem;
    text-align: center;
    min-height: 1.5em;
  }
  .exp-arcs :is(.a-switch, .a-own) {
    display: flex;
    flex-wrap: wrap;
    justify-content: center;
    gap: 0.3rem 0.6rem;
    align-items: center;
    margin-bottom: 0.4rem;
  }
  .exp-arcs .a-switch button {
    font-size: 1.15rem;
    min-width: 6rem;
  }
  .exp-arcs .a-own input {
    flex: 1 1 15rem;
    max-width: 32rem;
  }
`;

/** Lo que distingue a cada frase de la otra; o, si no es solo una parte, cuál es. */
function switchNames(sentences) {
  const words = sentences.map(text => text.split(' '));
  return words.map((mine, i) => {
    const own = mine.filter((word, n) => word !== words[1 - i]?.[n]);
    return own.length && own.length < mine.length ? own.join(' ') : `la ${ORDINALS[i]} frase`;
  });
}

// Lo que dicen en español las frases del principio, debajo de cada palabra. De otras, nada.
const OPENING = '[CLS] i gave the dog a bone because it was';
const GLOSSES = ['', ...'yo di al perro un hueso porque ¿quién?'.split(' ')];
const ENDINGS = { hungry: ['tenía', 'hambre'], old: ['era', 'viejo'] };

function glosses(tokens) {
  const known = tokens.slice(0, -2).join(' ') === OPENING && ENDINGS[tokens.at(-2)];
  return known ? [...GLOSSES, ...known] : [];
}

/**
 * El camino de un arco, que no pasa sobre ninguna palabra: por encima; entre dos líneas; o, si hay
 * otra en medio, por el margen.
 */
function arcPath(from, to, firstTop, width) {
  const [{ x, top, bottom }, end] = [from, to];
  const across = Math.abs(x - end.x);
  if (!across)
    return `M${x - 8} ${top}C${x - 24} ${top - 30} ${x + 24} ${top - 30} ${x + 8} ${top}`;
  if (Math.abs(top - end.top) < 4) {
    const up = top - Math.min(top - firstTop < 4 ? 1.25 * firstTop : 54, 18 + 0.2 * across);
    return `M${x} ${top}C${x} ${up} ${end.x} ${up} ${end.x} ${top}`;
  }
  const [y1, y2, way] = end.top < top ? [top, end.bottom, -1] : [bottom, end.top, 1];
  if (Math.abs(y1 - y2) < 90)
    return `M${x} ${y1}C${x} ${y1 + 36 * way} ${end.x} ${y2 - 36 * way} ${end.x} ${y2}`;
  const side = x + end.x < width ? 5 : width - 5;
  const [out, back] = [y1 + 22 * way, y2 - 22 * way];
  const leave = `C${x} ${out} ${side} ${out} ${side} ${y1 + 44 * way}L${side} ${y2 - 44 * way}`;
  return `M${x} ${y1}${leave}C${side} ${back} ${end.x} ${back} ${end.x} ${y2}`;
}

function renderArcs({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const remembered = ['sentences', 'data', 'query', 'shown', 'error'];
  const first = remembered.map(name => [name, model.get(name)]);
  const label = 'Escribe la tuya, en inglés';
  const asked = asking(model, 'sentences', [label], 'No se ha podido.');
  const notes = make('div');
  const options = make('div', { class: 'a-switch', role: 'group', 'aria-label': 'Prueba con' });
  const back = button('Volver a la frase del principio', () => {
    first.forEach(([name, value]) => save(name, value));
    words.querySelector('[tabindex="0"]').focus();
  });
  const drawing = make('svg', { 'aria-hidden': 'true' });
  const table = unseen('Los pesos: en cada fila, quién mira; en cada columna, a quién');
  const words = make('div', {
    class: 'a-words',
    role: 'radiogroup',
    'aria-label': 'Elige, con las flechas, la palabra que mira',
    onpointermove: event => {
      const under = document.elementFromPoint(event.clientX, event.clientY);
      const i = nodes.indexOf(under?.closest('.a-words button'));
      if (i >= 0 && i !== peeked) mark((peeked = i)); // también cuando el dedo se desliza
    },
    onpointerup: () => peeked !== null && save('query', peeked),
    onpointerleave: () => mark((peeked = null)),
  });
  let tokens, weights;
  let peeked = null; // por la que pasa el ratón o el dedo
  let nodes = [];
  mount(
    el,
    'exp-asks exp-arcs',
    ASKING + ARCS,
    paragraph('Toca una palabra: los arcos dicen a quién mira; los números, cuánto.'),
    words,
    voice.node,
    table.node,
    div('a-own', make('span', { 'aria-hidden': 'true' }, 'Prueba con'), options),
    div(
      'a-own',
      make('span', { 'aria-hidden': 'true' }, label),
      ...asked.inputs,
      asked.button,
      back,
    ),
    paragraph(asked.state),
    asked.error,
    notes,
  );

  const chosen = () => Math.min(model.get('query'), tokens.length - 1);

  function press(event, i) {
    const to = arrowTo(event, i, tokens.length);
    if (to === undefined) return;
    peeked = null;
    save('query', to);
    nodes[chosen()].focus();
  }

  /** Otra frase, o la misma por otra cabeza. */
  function load() {
    const [readings, sentences] = [model.get('data').map(unpack), model.get('sentences')];
    const shown = Math.min(model.get('shown'), readings.length - 1);
    const { layers, heads, matrix, ...reading } = readings[shown];
    const before = tokens?.join(' ');
    tokens = reading.tokens;
    weights = matrix(...[model.get('layer') % layers, model.get('head') % heads]);
    table.tell(tokens, tokens, weights);
    if (tokens.join(' ') !== before) {
      peeked = null;
      const told = glosses(tokens);
      nodes = tokens.map((token, i) => {
        const small = /^\[(CLS|SEP)\]$/.test(token) && 'a-mark';
        const name = make('span', { class: small, lang: 'en' }, visible(token));
        const gloss = told.length ? [make('small', { class: 'a-gloss' }, told[i] ?? '')] : [];
        const look = { type: 'button', role: 'radio' };
        const node = make('button', look, name, ...gloss, make('small'));
        return focusable(
          set(node, { onclick: () => save('query', i), onkeydown: event => press(event, i) }),
        );
      });
      words.replaceChildren(drawing, ...nodes);
    }
    const names = sentences.length > 1 ? switchNames(sentences) : [];
    if (names.join('\n') !== [...options.children].map(node => node.textContent).join('\n'))
      options.replaceChildren(
        ...names.map((name, i) =>
          set(button(name, () => save('shown', i)), { lang: !name.startsWith('la ') && 'en' }),
        ),
      );
    [...options.children].forEach((node, i) => set(node, { 'aria-pressed': String(i === shown) }));
    options.parentElement.style.display = names.length ? '' : 'none';
    back.hidden = sentences.join('\n') === first[0][1].join('\n');
    notes.replaceChildren(
      ...reading.notes.map(note => make('p', { class: 'exp-note' }, `Aviso: ${visible(note)}`)),
    );
    mark();
  }

  /** Los arcos y los números de una palabra: la elegida, o por la que se pasa. */
  function mark() {
    const from = peeked ?? chosen();
    const result = compute(weights, from);
    nodes.forEach((node, j) => {
      const weight = result.row[j];
      set(node, {
        'aria-checked': String(j === chosen()),
        'aria-label': `${tokens[j]}, posición ${j}: ${show(weight)}`,
        tabindex: j === chosen() ? 0 : -1,
        style:
          `background: color-mix(in srgb, var(--k) ${Math.round(55 * weight)}%, transparent);` +
          (j === from ? 'border-color: var(--q); font-weight: 700' : ''),
      });
      node.lastChild.textContent = weight < 0.005 ? '' : show(weight);
    });
    const places = nodes.map(({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => ({
      x: offsetLeft + offsetWidth / 2,
      top: offsetTop,
      bottom: offsetTop + offsetHeight,
    }));
    drawing.replaceChildren(
      ...result.row.flatMap((weight, j) => {
        const look = { 'stroke-width': 1 + 9 * weight, 'stroke-opacity': 0.3 + 0.7 * weight };
        const d = arcPath(places[from], places[j], places[0].top, words.clientWidth);
        const line = { d, fill: 'none', stroke: 'var(--k)', 'stroke-linecap': 'round', ...look };
        return weight < 0.005 ? [] : [make('path', line)];
      }),
    );
    voice.say(sentence([{ tokens, result }], from));
  }

  load();
  const watcher = new ResizeObserver(() => mark());
  watcher.observe(words);
  const heard = { data: load, shown: load, layer: load, head: load, query: () => mark() };
  const silence = asked.start(heard);
  return () => {
    watcher.disconnect();
    silence();
  };
}
