// Qué token sigue, según un LLM. Escribir otro necesita el kernel; la capa, la temperatura y los
// cortes, no. Las cuentas son las de `next_token_probabilities`, en sampling.py.

const STEP = 0.02; // la anchura de las columnas del histograma de los que no viajan
const FEW = 8; // las barras que se ven mientras no se piden todas: tantas como en las otras capas
const READ = 40; // los tokens leídos que se ven
const SCALES = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
const STYLE = css`
  .exp-llm label.exp-sentence {
    flex: 1 1 20rem;
  }
  .exp-llm .exp-sentence input {
    flex-basis: 10rem;
  }
  .exp-llm .l-read {
    line-height: 1.9;
    overflow-wrap: anywhere;
  }
  .exp-llm .l-read span > span {
    display: inline-block;
    line-height: 1.4;
    border: 1px solid color-mix(in srgb, currentColor 35%, transparent);
    border-radius: 0.25rem;
    padding: 0.05rem 0.2rem;
    margin-right: 0.15rem;
  }
  .exp-llm .l-read button {
    line-height: 1.2;
  }
  .exp-llm .l-read .l-new {
    border: 2px solid var(--v);
    font-weight: 700;
  }
  .exp-llm .exp-say {
    min-height: 3em;
    margin-bottom: 0;
  }
  @media (min-height: 30.01rem) {
    .exp-llm .exp-split {
      display: flex;
      flex-wrap: wrap;
      gap: 0.3rem 1.5rem;
      align-items: flex-start;
    }
  }
  .exp-llm :is(.l-strip, .l-about, .l-depth) {
    flex: 1 1 100%;
    min-width: 0;
  }
  .exp-llm .l-depth .exp-control {
    flex-wrap: wrap;
    white-space: nowrap;
    gap: 0 0.5rem;
  }
  .exp-llm .l-strip {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(3.6rem, 1fr));
    gap: 0.2rem;
  }
  .exp-llm .l-strip button {
    padding: 0.05rem 0.15rem;
    border-width: 1px;
    font-size: 0.85rem;
    line-height: 1.25;
    min-width: 0;
    overflow: hidden;
    white-space: nowrap;
    text-overflow: ellipsis;
  }
  .exp-llm .l-strip small {
    display: block;
    font-size: 0.75rem;
  }
  .exp-llm .l-strip .exp-button[aria-pressed='true'] {
    color: inherit;
    border: 3px solid var(--k);
  }
  .exp-llm .l-same {
    font-weight: 700;
  }
  .exp-llm .l-tokens {
    flex: 2 1 24rem;
    min-width: 0;
  }
  .exp-llm .l-knobs {
    flex: 1 1 19rem;
    min-width: 0;
    margin: 0;
  }
  .exp-llm .l-knobs .exp-control {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.5rem;
  }
  .exp-llm .l-knobs label {
    min-width: 7rem;
  }
  .exp-llm .l-knobs input {
    flex: 1 1 4rem;
    width: 4rem;
  }
  .exp-llm .l-knobs output {
    min-width: 5.2rem;
  }
  .exp-llm .l-knobs:disabled button {
    opacity: 0.4;
    cursor: default;
  }
  .exp-llm .l-bar {
    display: grid;
    grid-template-columns: minmax(4.5rem, 8rem) minmax(0, 1fr) 7.2rem;
    gap: 0.5rem;
    align-items: center;
    width: 100%;
    min-height: 1.75rem;
    padding: 0 0.2rem;
    text-align: left;
    border: 1px solid transparent;
    border-radius: 0.3rem;
  }
  .exp-llm .l-bar[hidden] {
    display: none;
  }
  .exp-llm button.l-bar:hover {
    border-color: var(--mute);
  }
  .exp-llm .l-bar > span {
    overflow: hidden;
    white-space: nowrap;
    text-overflow: ellipsis;
    font-variant-numeric: tabular-nums;
  }
  .exp-llm .l-bar > svg {
    display: block;
    width: 100%;
    height: 1.1rem;
  }
  .exp-llm .l-out > :not(svg) {
    opacity: 0.7;
  }
  .exp-llm .l-foot {
    font-size: 0.85rem;
  }
  @media (max-height: 30rem) {
    .exp-llm :is(.l-strip, .l-about) {
      grid-column: 1 / -1;
    }
    .exp-llm .l-about {
      grid-row: 4;
    }
    .exp-llm .l-strip {
      grid-template-columns: repeat(auto-fill, minmax(2.4rem, 1fr));
      gap: 0.1rem;
    }
    .exp-llm .l-strip button {
      scroll-margin-bottom: 11rem;
    }
    .exp-llm .l-tokens {
      grid-area: 2 / 2 / 4;
    }
    .exp-llm .l-knobs {
      grid-area: 3 / 1;
    }
    .exp-llm .l-bar {
      grid-template-columns: 5rem minmax(0, 1fr) 7.2rem;
    }
  }
`;

/**
 * Las mismas cuentas que en Python: las probabilidades de los mejores tokens, antes de los cortes
 * y después; cuántos quedan, y cuánto suma lo que sobra. Los que no viajan van en un histograma.
 */
export function compute({ logits, rest }, temperature = 1, topK = null, topP = null) {
  const heat = temperature || 1;
  const powers = logits.slice(0, -1).map(x => Math.exp(x / heat));
  const others = rest.map(
    (count, n) => count * Math.exp((logits.at(-1) - (n + 0.5) * STEP) / heat),
  );
  const total = sum(powers) + sum(others);
  const before = powers.map(power => power / total);
  const k = temperature === 0 ? 1 : topK;
  const most = topP === null || topP === 1 ? Infinity : topP * (k ? sum(before.slice(0, k)) : 1);
  let [kept, mass] = [0, 0]; // quien empieza cuando los anteriores ya suman top-p, sobra
  while (kept < (k ?? before.length) && mass < most) mass += before[kept++];
  for (let n = 0; n < others.length && k === null && mass < most; n++) {
    if (!rest[n]) continue;
    const each = others[n] / total / rest[n];
    const some = Math.min(rest[n], Math.ceil((most - mass) / each));
    kept += some;
    mass += some * each;
  }
  return {
    before,
    after: before.map((chance, i) => (i < kept ? chance / mass : 0)),
    kept,
    lost: Math.max(0, 1 - mass),
  };
}

/** Una probabilidad, en corto: si no es 0 ni 1 del todo, el redondeo no tiene que decir que sí. */
const brief = p => (p === 1 ? '1' : p < 0.005 ? 'casi 0' : p < 0.995 ? show(p) : 'casi 1');

/** Lo mismo, en una barra: tres decimales si con dos no se ve. */
const fine = p => (p >= 0.0005 && p < 0.0095 ? show(p, 3) : brief(p));

/** Un token, recortado si es muy largo. */
const clip = name => visible([...name].length > 16 ? `${[...name].slice(0, 15).join('')}…` : name);

/** Cuántos: hasta 40, los justos; después, sus dos primeras cifras. */
function many(count) {
  if (count <= 40) return `${count} tokens`;
  const digits = 10 ** (String(count).length - 2);
  return `unos ${grouped(Math.round(count / digits) * digits)} tokens`;
}
const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, '\u00a0');

/** Lo que se ve, en una frase. */
export function sentence(data, { layer, temperature, top_k, top_p }) {
  const named = id => `«${clip(data.names[id])}»`;
  const [best, second] = data.words.map(named);
  const last = data.ids.length - 1;
  if (layer < last) {
    const [mine, chance] = [data.ids[layer][0], brief(data.chances[layer][0])];
    const first = `Si el modelo acabara en la capa ${layer}, lo más probable sería ${named(mine)}`;
    if (mine === data.words[0]) return `${first} (${chance}), como en la última.`;
    return (
      `${first} (${chance}). El mejor de la última, ${best}, estaría en el puesto ` +
      `${grouped(data.ranks[layer])} (${brief(data.finals[layer])}).`
    );
  }
  const plain = compute(data).before;
  const { before, after, kept, lost } = compute(data, temperature, top_k, top_p);
  const cuts = [top_k && `top-k = ${top_k}`, top_p && `top-p = ${show(top_p)}`].filter(Boolean);
  const heat = `T = ${show(temperature, 1)}`;
  if (temperature === 0)
    return (
      `Con ${heat} no hay sorteo: se escribe siempre el mejor, ${best} (con T = 1, ` +
      `${brief(plain[0])}).`
    );
  if (!cuts.length) {
    const shown = `${best} (${brief(before[0])}), y después ${second} (${brief(before[1])}).`;
    if (temperature === 1) return `Lo más probable es que siga ${shown}`;
    return `Con ${heat}, lo más probable es ${shown} Con T = 1, ${best} tiene ${brief(plain[0])}.`;
  }
  const knobs = join([...(temperature === 1 ? [] : [heat]), ...cuts]);
  const outside = `lo que queda fuera sumaba ${brief(lost)}`;
  const [was, now] = [before[0], after[0]].map(brief);
  const moved = was === now ? `se queda en ${now}` : `pasa de ${was} a ${now}`;
  if (kept === 1) return `Con ${knobs}, solo puede salir ${best}: ${outside}.`;
  return `Con ${knobs}, pueden salir ${many(kept)}: ${best} ${moved}, y ${outside}.`;
}

/** En un grupo de botones, el tabulador llega a uno, y las flechas van a los demás. */
function roving(group) {
  const reach = () => [...group.querySelectorAll('button')].filter(node => !node.hidden);
  const only = node => reach().forEach(other => set(other, { tabindex: other === node ? 0 : -1 }));
  set(group, {
    onfocusin: event => only(event.target.closest('button')),
    onkeydown: event => {
      const nodes = reach();
      const at = nodes.indexOf(event.target.closest('button'));
      const to = at < 0 ? undefined : arrowTo(event, at, nodes.length);
      if (to !== undefined) nodes[to].focus();
    },
  });
  /** Si el que tenía el turno ya no se ve, lo tiene el primero, o el elegido. */
  return (chosen = null) => {
    const nodes = reach();
    const now = nodes.find(node => node.tabIndex === 0 && node === document.activeElement);
    only(now ?? chosen ?? nodes[0]);
  };
}

/** El texto en la casilla: un salto de línea, que ahí no cabe, es ↵. */
const boxed = model => ({
  get: name => (name === 'text' ? model.get(name).replaceAll('\n', '↵') : model.get(name)),
  set: (name, value) => {
    const text = Array.isArray(value.text) ? value.text[0].replaceAll('↵', '\n') : value.text;
    model.set(name, { ...value, text });
  },
  save_changes: () => model.save_changes(),
  on: (event, listener) => model.on(event, listener),
  off: (event, listener) => model.off(event, listener),
});

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const asked = asking(boxed(model), 'text', ['Principio del texto'], 'No se ha podido:');
  let all = false; // si se ven todas las barras

  // --- Escribir ----------------------------------------------------------------------------------
  /** Pide lo mismo con otros tokens detrás. Si se pide dos veces seguidas, da lo mismo. */
  const write = (written, more = {}) => asked.ask({ text: model.get('text'), written, ...more });
  const undo = button('Deshacer el último', () => {
    if (model.get('written').length) write(model.get('written').slice(0, -1));
  });
  const draw_ = button('Sortear uno', () => write(model.get('written'), { draw: true }));
  const row = make('label', { class: 'exp-sentence' }, 'Principio', ...asked.inputs);

  const [input] = asked.inputs;
  set(input, {
    oninput: () => {
      for (let at; (at = input.value.indexOf('\\n')) >= 0;)
        input.setRangeText('↵', at, at + 2, 'end');
    },
  });

  // --- Los mandos --------------------------------------------------------------------------------
  const layers = () => model.get('data').ids.length;
  const layer = () => Math.min(model.get('layer') ?? Infinity, layers() - 1);
  const pick = n => save('layer', n);
  const format = n => (n === layers() - 1 ? `${n}, la última` : String(n));
  const every = { min: 0, max: layers() - 1, value: layer(), format };
  const depth = slider('Tras la capa', every, pick);
  const strip = group('El mejor token de cada capa', 'l-strip');
  const settle = roving(strip);
  const uncut = { min: 1, max: 41, value: 41 };
  const knobs = [
    slider('temperatura T', { min: 0, max: 2, step: 0.1, value: 1, format: t => show(t, 1) }, t =>
      save('temperature', Math.round(10 * t) / 10),
    ),
    slider('top-k', { ...uncut, format: k => (k > 40 ? 'sin cortar' : String(k)) }, k =>
      save('top_k', k > 40 ? null : k),
    ),
    slider(
      'top-p',
      { min: 0.05, max: 1, step: 0.05, value: 1, format: p => (p === 1 ? 'sin cortar' : show(p)) },
      p => save('top_p', p === 1 ? null : Math.round(100 * p) / 100),
    ),
  ];
  const turned = [...knobs.map(knob => knob.node), draw_];
  const sampling = fieldset('El sorteo, en la última capa', ...turned);
  set(sampling, { class: 'l-knobs' });

  // --- Las barras --------------------------------------------------------------------------------
  const bar = (node, hit) => {
    const parts = {
      name: make('span'),
      was: make('rect', { y: 1, height: 15, fill: 'none', stroke: 'var(--mute)' }),
      now: make('rect', { y: 1, height: 15, fill: 'var(--q)' }),
      value: make('span'),
    };
    set(parts.was, { 'stroke-dasharray': '3 2', 'vector-effect': 'non-scaling-stroke' });
    const chart = make('svg', { 'aria-hidden': 'true' }, parts.now, parts.was);
    node.append(parts.name, chart, parts.value);
    return { node, ...parts };
  };
  const bars = model.get('data').words.map((_, i) => {
    const node = button('', () => write([...model.get('written'), bars[i].id]));
    node.className = 'l-bar exp-button';
    return bar(node);
  });
  const others = bar(div('l-bar'));
  const list = group('Los tokens que pueden seguir: pulsa uno y se escribe', null);
  list.append(...bars.map(({ node }) => node));
  const settleBars = roving(list);
  const more = button('', () => {
    all = !all;
    draw();
  });
  const foot = make('p', { class: 'l-foot' });
  const read = make('span');
  mount(
    el,
    'exp-asks exp-llm',
    ASKING + STYLE,
    paragraph(
      'Escribe un principio y pulsa «Calcular». Con un clic en una barra, su token se escribe ' +
        'detrás. ␣ es un espacio; ↵, un salto de línea: en la casilla, \\n.',
      byKeys('tabulador hasta las barras, flechas e Intro.'),
    ),
    div('exp-sentence', row, asked.button, asked.state),
    asked.error,
    make('p', { class: 'l-read' }, read, ' ', undo),
    voice.node,
    div(
      'exp-split',
      strip,
      make(
        'p',
        { class: 'l-foot l-about' },
        'En cada casilla, el mejor token si el modelo acabara ahí (la lente de logits): cuanto ' +
          'más azul, más probable; en negrita, si ya es el de la última.',
      ),
      div('l-depth', depth.node),
      div('l-tokens', list, others.node, foot, more),
      sampling,
    ),
  );

  // --- Dibujar -----------------------------------------------------------------------------------
  /** Una barra: lo que tenía, lo que tiene y, si se ha quedado fuera, que lo está. */
  function paint({ node, name, was, now, value }, text, before, after, top) {
    const changed = Math.abs(after - before) >= 0.005 * top;
    const width = chance => `${(100 * Math.min(chance, top)) / top}%`;
    name.textContent = text;
    set(name, { title: text });
    set(was, { width: width(before), visibility: changed ? null : 'hidden' });
    set(now, { width: width(after) });
    const [old, fresh] = [before, after].map(fine);
    value.textContent = fresh;
    if (after === 0 && before > 0) value.textContent = `${old} → fuera`;
    else if (old !== fresh) value.textContent = `${old} → ${fresh}`;
    node.classList.toggle('l-out', after === 0);
  }

  function draw() {
    const data = model.get('data');
    const state = traits(model, ['temperature', 'top_k', 'top_p']);
    const [n, last] = [layer(), layers() - 1];
    const result =
      n === last
        ? compute(data, state.temperature, state.top_k, state.top_p)
        : { before: data.chances[n], after: data.chances[n] };
    const ids = n === last ? data.words : data.ids[n];
    const shown = n === last ? (all ? ids.length : FEW) : ids.length;
    const most = Math.max(...result.before, ...result.after);
    const top = SCALES.filter(scale => scale >= most - 1e-9).at(-1) ?? 1;
    bars.forEach((one, i) => {
      one.node.hidden = i >= shown;
      one.id = ids[i];
      if (i < shown) paint(one, clip(data.names[ids[i]]), result.before[i], result.after[i], top);
    });
    const left = chances => Math.max(0, 1 - sum(chances.slice(0, shown)));
    const size = data.logits.length - 1 + sum(data.rest);
    const kept = n === last && result.kept <= shown ? 0 : left(result.after);
    paint(others, `otros ${grouped(size - shown)}`, left(result.before), kept, top);
    foot.textContent = [
      `Una barra entera sería ${show(top, top < 0.1 ? 2 : top < 1 ? 1 : 0)}.`,
      Math.max(left(result.before), kept) > top && 'La de los otros no cabe.',
      n === last && result.kept < size && 'A rayas, lo que tenía antes de los cortes.',
      ids.slice(0, shown).some(id => data.names[id].includes('�')) &&
        '� es un trozo de un carácter: los hay de varios tokens.',
    ]
      .filter(Boolean)
      .join(' ');
    more.hidden = n < last;
    more.textContent = all ? `Ver solo ${FEW}` : `Ver los ${ids.length} mejores`;
    settleBars();

    const final = data.words[0];
    if (strip.childElementCount !== last + 1)
      strip.replaceChildren(...numbered(last + 1).map(i => button('', () => pick(Number(i)))));
    [...strip.children].forEach((node, i) => {
      const [name, chance] = [clip(data.names[data.ids[i][0]]), data.chances[i][0]];
      set(node, {
        'aria-pressed': String(i === n),
        'aria-label': `capa ${i}: «${name}», ${brief(chance)}`,
        title: `capa ${i}: «${name}», ${brief(chance)}`,
        style: ink(chance),
      });
      node.classList.toggle('l-same', data.ids[i][0] === final);
      node.replaceChildren(make('small', {}, String(i)), name);
    });
    settle(strip.children[n]);
    depth.set(n);
    [state.temperature, state.top_k ?? 41, state.top_p ?? 1].forEach((x, i) => knobs[i].set(x));
    sampling.disabled = n < last;

    const [tokens, written] = [data.tokens, model.get('written').length];
    const hidden = Math.max(0, tokens.length - READ);
    const look = i => (i + hidden >= tokens.length - written ? 'l-new' : null);
    read.replaceChildren(
      `Lee ${tokens.length} ${tokens.length > 1 ? 'tokens' : 'token'}: ${hidden ? '… ' : ''}`,
      ...tokens.slice(hidden).map((token, i) => make('span', { class: look(i) }, visible(token))),
    );
    set(undo, { 'aria-disabled': String(written === 0) });
    voice.say(sentence(data, { layer: n, ...state }));
  }

  draw();
  return asked.start({ data: draw, layer: draw, temperature: draw, top_k: draw, top_p: draw });
}

export default { render };
