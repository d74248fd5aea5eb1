// La atención, vista y oída. Las cuentas son las de `compute`, en see.py.

const ROW = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], Home: [-99, 0], End: [99, 0] };
const MOVES = { ...ROW, ArrowUp: [0, -1], ArrowDown: [0, 1] }; // columnas y filas, de cada tecla
const STYLE = css`
  .exp-see .s-look {
    display: flex;
    flex-wrap: wrap;
    gap: 0.3rem 1.5rem;
  }
  .exp-see .s-look > * {
    flex: 1 1 11rem;
  }
  .exp-see .s-stage {
    position: relative;
    touch-action: none;
    user-select: none;
    cursor: crosshair;
  }
  .exp-see .s-look .s-stage {
    flex: 1 1 16rem;
    max-width: min(28rem, 55vh);
    align-self: start;
  }
  .exp-see .s-stage > * {
    display: block;
    width: 100%;
    height: 9rem;
  }
  .exp-see .s-look .s-stage > * {
    height: auto;
    aspect-ratio: 1;
  }
  .exp-see .s-stage svg {
    position: absolute;
    inset: 0;
  }
  .exp-see .s-look img {
    filter: grayscale(0.7);
  }
  body[data-jp-theme-light='false'] .exp-see .s-hear img {
    filter: invert(1);
  }
  .exp.exp-see .s-mark {
    fill: #fff;
    stroke: #000;
    stroke-width: 0.15;
    paint-order: stroke;
    text-anchor: middle;
  }
  .exp-see caption {
    white-space: nowrap;
    text-align: left;
  }
  .exp-see :is(p, select) {
    margin: 0.25rem 0;
    min-width: 0;
  }
  .exp-see :is(.s-small, table) {
    font-size: 0.85rem;
  }
`;

/** Los pesos guardados, listos para leerse. */
export async function inflate({ heads, rows, numbers }) {
  const packed = new Blob([decode(numbers)]).stream();
  const whole = new Response(packed.pipeThrough(new DecompressionStream('deflate')));
  return { heads, rows, whole: new Uint8Array(await whole.arrayBuffer()) };
}

/** Dónde está un par [capa, cabeza] entre otros. */
const locate = (pairs, [layer, head]) =>
  pairs.findIndex(one => one[0] === layer && one[1] === head);

/** Las mismas cuentas que `compute` en Python. */
export function compute({ heads, rows, whole }, wanted, row) {
  const size = whole.length / heads.length / rows.length;
  const each = wanted.map(pair => {
    const at = size * (locate(heads, pair) * rows.length + rows.indexOf(row));
    const [rest, most] = [at, at + 1].map(i => (256 * whole[i] + whole[i + 2]) / 65535);
    return [rest, ...[...whole.subarray(at + 4, at + size)].map(x => (most * x) / 255)];
  });
  const mean = j => sum(each.map(shares => shares[j])) / each.length;
  const weights = range(size - 4).map(j => Math.round(1e9 * mean(j + 1)) / 1e9);
  return { weights, top: ranking(weights).slice(0, 5), rest: mean(0) };
}

/** Cómo se llama lo que se mira: un trozo, o un momento. */
export const named = (j, { side, step }) =>
  side ? `fila ${Math.floor(j / side)}, columna ${j % side}` : `${show(j * step)} s`;

/** Lo que se ve, en una frase. */
export function sentence({ weights, top, rest }, data, row) {
  const said = data.tokens && `«${visible(data.tokens[row].trim())}»`;
  const asker = said || `El trozo de la ${named(row, data)},`;
  const out = said ? 'silencio que sigue al sonido' : 'token del principio';
  const whom = j => (said ? 'a' : j === row ? 'a sí mismo, el de la' : 'al de la');
  const name = j => `${whom(j)} ${named(j, data)} (${show(weights[j])})`;
  const best = top.slice(0, 3).filter((j, n) => n === 0 || weights[j] >= 0.005);
  const told = join(best.map(name));
  if (rest > 0.5) return `${asker} mira sobre todo al ${out} (${show(rest)}); después, ${told}.`;
  const even = weights[top[0]] < (2 * (1 - rest)) / weights.length;
  const mostly = even ? 'casi por igual a todo; lo que más,' : 'sobre todo';
  return `${asker} mira ${mostly} ${told}; y al ${out}, ${show(rest)}.`;
}

/** Un párrafo con su clase. */
const styled = (look, text) => set(paragraph(visible(text)), { class: look });

function build(model, el, live) {
  const data = model.get('data');
  const { side, step, following, sizes } = data;
  const [wide, tall] = side ? [side, side] : [data.columns, 1];
  const save = saver(model);
  const voice = announcer();
  const asked = asking(model, 'asked', [], 'No se ha podido:');
  let packs = []; // los pesos que han llegado
  const state = () => traits(model, ['layer', 'head', 'row']);
  const pairs = layer => range(sizes[1]).map(head => [layer, head]);
  const wanted = ({ layer, head }) => (head < 0 ? (following ?? pairs(layer)) : [[layer, head]]);
  const has = (one, pair) => locate(one.heads, pair) >= 0;
  const find = now =>
    packs.find(one => one.rows.includes(now.row) && wanted(now).every(pair => has(one, pair)));
  const at = j => [j % wide, Math.floor(j / wide)];

  /** Va adonde dice la mano; sin kernel, al trozo guardado más cercano. */
  function go(changes) {
    const now = { ...state(), ...changes };
    const far = row => Math.hypot(...at(row).map((x, axis) => x - at(now.row)[axis]));
    if (!live() && packs.length && !find(now))
      now.row = packs[0].rows.reduce((a, b) => (far(b) < far(a) ? b : a));
    Object.entries(now).forEach(([name, value]) => save(name, value));
    if (live() && !find(now)) asked.ask();
  }

  // --- El dibujo: la fotografía o el espectrograma y, encima, lo que se mira ---------------------
  const cells = range(wide * tall).map(j => rect(...at(j), 1, 1, { fill: 'var(--q)' }));
  const ring = (stroke, width) => rect(0, 0, 1, 1, { fill: 'none', stroke, 'stroke-width': width });
  const rings = side ? [ring('#fff', 0.26), ring('var(--k)', 0.14)] : [];
  const marks = range(side ? 3 : 0).map(n => write(0, 0, 0.75, n + 1, { class: 's-mark' }));
  const box = { viewBox: `0 0 ${wide} ${tall}`, preserveAspectRatio: 'none' };
  const svg = make('svg', box, ...cells, ...rings, ...marks);
  const inside = (x, many) => Math.max(0, Math.min(many - 1, x));
  const reach = event => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    const x = inside(Math.floor((wide * (event.clientX - left)) / width), wide);
    const y = inside(Math.floor((tall * (event.clientY - top)) / height), tall);
    const row = side ? y * side + x : sound.heardAt(x * step);
    if (row !== model.get('row')) go({ row });
  };
  const name = visible(data.name);
  const about = side
    ? `«${name}», en ${side} × ${side} trozos: elige uno con las flechas`
    : `Espectrograma de «${name}»: el tiempo, a la derecha; los agudos, arriba`;
  const stage = div('s-stage', make('img', { src: data.image, alt: about }), svg);
  set(stage, draggable(reach, reach));
  const onkeydown = event => {
    const moved = !withModifier(event) && pressed(event, MOVES);
    const far = live() ? 1 : 2; // sin kernel, el de al lado no está
    const to = moved && at(model.get('row')).map((x, k) => inside(x + far * moved[k], side));
    if (moved) go({ row: to[1] * side + to[0] });
  };
  const hand = { role: 'slider', 'aria-label': about, 'aria-valuemax': sizes[2] - 1 };
  if (side) set(focusable(stage), { tabindex: 0, ...hand, onkeydown });
  const sound = side ? null : spoken(data, row => go({ row }));
  const record = recorder(model, asked);

  // --- Los mandos --------------------------------------------------------------------------------
  const format = n => (live() ? String(n) : `${n}, la guardada`);
  const depth = slider('capa', { min: 0, max: sizes[0] - 1, format }, layer => go({ layer }));
  let options = []; // pares [capa, cabeza]; con −1, la media
  const heads = choice(side ? 'cabeza' : 'cabezas', i =>
    go({ layer: options[i][0], head: options[i][1] }),
  );
  const only = side ? 'esta capa y un trozo de cada cuatro' : 'las cabezas guardadas';
  const few = styled('s-small', `Sin Python se ven ${only}; con él, todo.`);
  const end = styled('s-small', 'Ni la fotografía ni el sonido salen de este ordenador.');
  const five = make('div');
  const above = side ? [depth.node] : [sound.play, ' ', record, ' '];
  const knobs = div('exp-stay', ...above, heads.node, asked.state, few);
  const whole = side
    ? div('s-look', stage, knobs)
    : div('s-hear', knobs, stage, sound.axis, sound.list);
  const looks = ASKING + STYLE + SOUND;
  const notes = (data.notes ?? []).map(text => styled('exp-note', text));
  mount(el, 'exp-asks exp-see', looks, asked.error, ...notes, whole, voice.node, five, end);
  if (side) knobs.append(five, end);

  function draw() {
    const now = state();
    [few.hidden, record.hidden] = [live(), !live()];
    depth.node.querySelector('input').disabled = !live();
    depth.set(now.layer);
    const offered = pair => live() || packs.some(one => has(one, pair));
    const all = side ? pairs(now.layer) : range(sizes[0]).flatMap(pairs);
    options = [[now.layer, -1], ...all.filter(offered)];
    const title = ([layer, head]) => (side ? String(head) : `capa ${layer}, cabeza ${head}`);
    const titles = options.map(title);
    titles[0] = side ? 'media' : 'las ocho que siguen al sonido';
    heads.set(locate(options, [now.layer, now.head]), titles);
    sound?.choose(now.row);
    rings.forEach(node => set(node, { x: at(now.row)[0], y: at(now.row)[1] }));
    if (side) set(stage, { 'aria-valuenow': now.row, 'aria-valuetext': named(now.row, data) });
    const pack = find(now);
    if (!pack) return; // se ha pedido
    const result = compute(pack, wanted(now), now.row);
    const { weights, top } = result;
    cells.forEach((cell, j) =>
      set(cell, { 'fill-opacity': (0.85 * weights[j]) / (weights[top[0]] || 1) }),
    );
    marks.forEach((mark, n) => {
      const [x, y] = at(top[n]);
      set(mark, { x: x + 0.5, y: y + 0.77, visibility: weights[top[n]] < 0.005 ? 'hidden' : null });
    });
    const told = top.filter(j => weights[j] >= 0.0005);
    const rows = told.map(j => namedRow(named(j, data), [td(show(weights[j], 3))]));
    five.replaceChildren(table('Lo que más mira', ...rows));
    voice.say(sentence(result, data, now.row));
  }

  const receive = async () => {
    packs = [await inflate(model.get('saved')), ...packs].slice(0, 16);
    draw();
  };
  draw();
  receive();
  const silence = asked.start({ saved: receive, layer: draw, head: draw, row: draw });
  return () => {
    sound?.stop();
    silence();
  };
}

function render({ model, el }) {
  const live = () => Boolean(model.widget_manager) && !el.matches('.jupyter-widgets-disconnected');
  let silence;
  const load = () => {
    silence?.();
    if (model.get('data').image) silence = build(model, el, live);
    else mount(el, 'exp-asks exp-see', ASKING, styled('exp-error', model.get('error')));
  };
  load();
  const stop = listen(model, { data: load });
  return () => {
    stop();
    silence?.();
  };
}

export default { render };
