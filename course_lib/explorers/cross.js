// Atención cruzada, paso a paso. Las cuentas son las de `compute`, en cross.py.

const NEAR = 1.25; // «casi por igual»: ningún peso se aleja más que esto de las partes iguales
// «Sobre todo»: el mayor es al menos este número de partes iguales, o la mitad del total.
const MOSTLY = 2;
const SEEN = 0.08; // con todos los arcos a la vez, los que pesan menos no se dibujan
const STYLE = css`
  .exp-cross [aria-disabled='true'] {
    opacity: 0.5;
    border-style: dashed;
    cursor: default;
  }
  .exp-cross .c-text {
    margin: 0.4rem 0;
    font-size: clamp(1.5rem, 1rem + 2.4cqi, 2.1rem);
    font-weight: 600;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  .exp-cross .c-now {
    text-decoration: underline 0.12em var(--q);
    text-underline-offset: 0.2em;
  }
  .exp-cross .c-room {
    container-type: inline-size;
  }
  .exp-cross .c-pair {
    position: relative;
    display: flex;
    flex-direction: column;
    gap: 4.5rem;
  }
  .exp-cross .c-pair svg {
    position: absolute;
    inset: 0;
    width: 100%;
    height: 100%;
    overflow: visible;
    pointer-events: none;
  }
  .exp-cross .c-row {
    display: flex;
    flex-wrap: wrap;
    gap: 1.4rem 0.4rem;
  }
  .exp-cross .c-row > p {
    width: 100%;
    margin: 0;
  }
  .exp-cross .c-row:last-child > p {
    order: 1;
  }
  .exp-cross .c-row > span {
    position: relative;
    min-width: 2.6rem;
    max-width: 100%;
    padding: 0.15rem 0.5rem;
    border: 2px solid var(--ink);
    border-radius: 0.6rem;
    background: color-mix(in srgb, var(--ink) var(--on), var(--jp-layout-color0, Canvas));
    font-size: 1.15rem;
    text-align: center;
    overflow-wrap: anywhere;
    cursor: pointer;
  }
  .exp-cross .c-row small {
    position: absolute;
    inset: auto 0 100%;
    font-size: 0.85rem;
    font-variant-numeric: tabular-nums;
  }
  .exp-cross .c-row:last-child small {
    inset: 100% 0 auto;
  }
  @media (max-height: 30rem) {
    .exp-cross .exp-stay {
      order: -1;
    }
    .exp-cross .c-text {
      font-size: 1.1rem;
    }
  }
  @container (width < 34rem) {
    .exp-cross .c-pair {
      flex-direction: row;
      gap: 0;
      justify-content: space-between;
    }
    .exp-cross .c-row {
      flex-flow: column;
      max-width: 44%;
      gap: 0.25rem;
    }
    .exp-cross .c-row:last-child > p {
      order: 0;
    }
    .exp-cross .c-row small {
      position: static;
      display: inline-block;
      margin-left: 0.4rem;
    }
    .exp-cross .c-row small:empty {
      display: none;
    }
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(weights, head, step) {
  const rows = head < 0 ? weights.map(matrix => matrix[step]) : [weights[head][step]];
  const row = rows[0].map(
    (_, j) =>
      Math.round((1e9 * rows.reduce((sum, other) => sum + other[j], 0)) / rows.length) / 1e9,
  );
  const [top, even] = [Math.max(...row), 1 / row.length];
  return {
    row,
    best: row.indexOf(top),
    even,
    ties: row.flatMap((weight, j) => (show(weight) === show(top) ? [j] : [])),
    near: row.length > 1 && top < NEAR * even && Math.min(...row) > even / NEAR,
    mostly: top >= Math.min(MOSTLY * even, 0.5),
  };
}

/** Dice con palabras a qué mira una fila, sin destacar lo que apenas destaca. */
export function looks({ row, best, even, ties, near, mostly }, origin) {
  const names = ties.map(j => `«${origin[j]}»`);
  const many = names.length > 1;
  const named = ties.length > 3 ? `${ties.length} tokens` : join(names);
  const numbers = `(${show(row[best])}${many ? ' cada uno' : ''}; a partes iguales, ${show(even)})`;
  if (near)
    return (
      'mira casi por igual a ' +
      `todos${ties.length < row.length ? `; a ${named}, apenas más` : ''} ${numbers}`
    );
  return (
    `${mostly ? 'mira sobre todo a' : `lo que más mira ${many ? 'son' : 'es'}`} ${named} ` +
    `${numbers}`
  );
}

/** Lo que se ve, en una frase. */
export function sentence(result, origin, seen, predicted, step) {
  return (
    `Paso ${step + 1}: entra «${seen[step]}» y, para predecir «${predicted[step]}», ` +
    `${looks(result, origin)}.`
  );
}

/** Los tokens, con el espacio que va delante de cada uno al escribirlos; sin las marcas. */
function spaced(tokens) {
  let [tight, quoted] = [true, false]; // al principio, y tras abrir
  return tokens.map(token => {
    if (/^<\/?\w+>$/.test(token)) return '';
    const [, joined, text] = token.match(/^(##)?(.*)$/s);
    if (text === '"') quoted = !quoted;
    const closes = /^[.,;:!?…»)]/.test(text) || (text === '"' && !quoted);
    const space = tight || joined || closes ? '' : ' ';
    tight = /[¿¡«(]$/.test(text) || (text === '"' && quoted);
    return space + visible(text);
  });
}

function build(model, el) {
  const given = ['source_tokens', 'seen', 'predicted', 'weights'];
  const [origin, seen, predicted, weights] = given.map(name => model.get(name));
  const save = saver(model);
  const voice = announcer();
  const last = seen.length - 1;
  const now = () => Math.min(model.get('step'), last);
  let all; // lo que da `compute` en cada paso

  // --- La frase que escribe y, debajo, las dos, unidas por los arcos -----------------------------
  const [WRITTEN, READ] = [0, 1];
  let [held, peeked] = [null, null]; // la palabra que tiene el foco, y por la que se pasa
  const texts = spaced(predicted);
  const written = texts.map(text => make('span', {}, text.trimStart()));
  const words = written.flatMap((node, i) => [texts[i].startsWith(' ') ? ' ' : '', node]);
  const text = make('p', { class: 'c-text' }, ...words);
  const drawing = make('svg', { 'aria-hidden': 'true' });
  const sides = [
    row(WRITTEN, 'lo que escribe', '--q', predicted),
    row(READ, 'lo que lee', '--k', origin),
  ];
  const pair = div('c-pair', drawing, ...sides.map(({ node }) => node));
  const table = unseen('Los pesos: en cada fila, lo que escribe; en cada columna, lo que lee');

  /** Una de las dos frases: una palabra se elige con las flechas, con el dedo o al pasar. */
  function row(side, title, ink, tokens) {
    const nodes = tokens.map((token, i) => {
      const look = { role: 'radio', 'aria-label': `${visible(token)}, posición ${i}` };
      const node = make('span', look, make('span', {}, visible(token)), make('small'));
      return focusable(
        set(node, {
          onclick: () => side === WRITTEN && go(i),
          onfocus: () => mark((held = [side, i])),
          onblur: () => mark((held = null)),
          onpointerenter: () => mark((peeked = [side, i])),
          onpointerleave: () => mark((peeked = null)),
          onkeydown: event => {
            const to = arrowTo(event, i, tokens.length);
            if (to === undefined) return;
            peeked = null;
            if (side === WRITTEN) go(to);
            nodes[to].focus();
          },
        }),
      );
    });
    const about = { role: 'radiogroup', class: 'c-row', style: `--ink: var(${ink})` };
    const name = set(paragraph(title), { 'aria-hidden': 'true' });
    return {
      nodes,
      node: make(
        'div',
        { ...about, 'aria-label': `${title}: elige una palabra con las flechas` },
        name,
        ...nodes,
      ),
    };
  }

  // --- Los mandos --------------------------------------------------------------------------------
  const names = ['media', ...weights.map((_, index) => `cabeza ${index}`)];
  const heads = choice('pesos de', index => save('head', index - 1));
  const format = x => `${x + 1} de ${last + 1}`;
  const bar = slider('paso', { min: 0, max: last, value: model.get('step'), format }, go);
  const back = button('← anterior', () => go(now() - 1));
  const forward = button('siguiente →', () => go(now() + 1));

  const list = make('ol', { style: 'list-style: none; margin: 0.3rem 0; padding: 0' });
  const note = model.get('note');
  el.replaceChildren(
    ...(note ? [make('p', { class: 'exp-note', style: 'margin: 0.2rem 0' }, `⚠ ${note}`)] : []),
    div(
      'exp-split',
      div('c-room', text, pair),
      div('exp-stay', back, ' ', forward, ' ', bar.node, heads.node),
    ),
    voice.node,
    table.node,
    make('details', {}, focusable(make('summary', {}, 'Todos los pasos, en una lista')), list),
  );

  function go(step) {
    if (step >= 0 && step <= last) save('step', step);
  }

  function draw() {
    const [step, head] = [now(), model.get('head')];
    all = seen.map((_, i) => compute(weights, head, i));
    const rows = all.map(({ row }) => row);
    table.tell(predicted, origin, rows);
    list.replaceChildren(
      ...all.map((result, i) => make('li', {}, sentence(result, origin, seen, predicted, i))),
    );
    bar.set(step);
    heads.set(head + 1, names);
    set(back, { 'aria-disabled': step === 0 ? 'true' : null }); // sin perder el foco al llegar
    set(forward, { 'aria-disabled': step === last ? 'true' : null });
    mark();
  }

  /** Los arcos y los números de una palabra, sola si se la toca; si no, la del paso entre todas. */
  function mark() {
    const alone = peeked ?? held;
    const [side, at] = alone ?? [WRITTEN, now()];
    const column = all.map(({ row }) => row[at]);
    const numbers = side === WRITTEN ? [[], all[at].row] : [column, []];
    const tops = side === WRITTEN ? (all[at].near ? [] : all[at].ties) : [];
    sides.forEach(({ nodes }, s) =>
      nodes.forEach((node, n) => {
        const weight = numbers[s][n] ?? 0;
        const chosen = s === side && n === at;
        const strong = chosen || (s === READ && tops.includes(n));
        set(node, {
          'aria-checked': String(chosen),
          tabindex: n === (s === side ? at : s === WRITTEN ? now() : 0) ? 0 : -1,
          style:
            `--on: ${chosen ? 30 : Math.round(45 * weight)}%; ` +
            `font-weight: ${strong ? 700 : 400}; border-width: ${chosen ? 3 : 2}px`,
        });
        node.lastChild.textContent = weight < 0.005 ? '' : show(weight);
      }),
    );
    written.forEach((node, i) => set(node, { class: side === WRITTEN && i === at && 'c-now' }));
    const down = getComputedStyle(pair).flexDirection === 'column';
    const places = sides.map(({ nodes }, s) =>
      nodes.map(({ offsetLeft: x, offsetTop: y, offsetWidth: wide, offsetHeight: tall }) =>
        down ? [x + wide / 2, s ? y : y + tall] : [s ? x : x + wide, y + tall / 2],
      ),
    );
    const arcs = all.flatMap(({ row, ties, near }, i) =>
      row.flatMap((weight, j) => {
        const own = [i, j][side] === at;
        if (weight < (own ? 0.005 : SEEN) || (alone && !own)) return [];
        const [[x, y], [endX, endY]] = [places[WRITTEN][i], places[READ][j]];
        const [halfX, halfY] = down ? [0, (endY - y) / 2] : [(endX - x) / 2, 0];
        const top = !near && ties.includes(j);
        return make('path', {
          d: `M${x} ${y}C${x + halfX} ${y + halfY} ${endX - halfX} ${endY - halfY} ${endX} ${endY}`,
          fill: 'none',
          stroke: top ? 'var(--k)' : 'var(--mute)',
          'stroke-width': 1 + 9 * weight,
          'stroke-opacity': own ? (top ? 0.9 : 0.55) : 0.2,
        });
      }),
    );
    drawing.replaceChildren(...arcs);
    const most = column.indexOf(Math.max(...column));
    voice.say(
      side === WRITTEN
        ? sentence(all[at], origin, seen, predicted, at)
        : `«${origin[at]}»: el paso que más lo mira es el ${most + 1}, para predecir ` +
            `«${predicted[most]}» (${show(column[most])}).`,
    );
  }

  draw();
  const watcher = new ResizeObserver(() => mark());
  watcher.observe(pair);
  const silence = listen(model, { step: draw, head: draw });
  return () => {
    watcher.disconnect();
    silence();
  };
}

const render = view => mountAsking(view, 'exp-cross', STYLE, 'weights', build);

export default { render };
