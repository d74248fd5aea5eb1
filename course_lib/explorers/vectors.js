// Vectores en el plano. Las cuentas son las de `compute`, en vectors.py.

const LIMIT = 4;
const NAMES = [...'uvw'];
const TIE = 1e-9; // un empate con la diagonal no es perder
const COLORS = ['var(--q)', 'var(--k)', 'var(--v)'];

/** Las mismas cuentas que `compute` en Python. */
export function compute(vectors) {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const products = vectors.map(a => vectors.map(b => dot(a, b)));
  const norms = vectors.map(a => Math.sqrt(dot(a, a)));
  const defined = norms[0] > 0 && norms[1] > 0;
  const cosine = defined
    ? Math.max(-1, Math.min(1, products[0][1] / (norms[0] * norms[1]))) : null;
  return {
    products, norms, dot: products[0][1], cosine,
    angle: defined ? Math.acos(cosine) * 180 / Math.PI : null,
    projection: norms[0] > 0 ? products[0][1] / norms[0] : null,
    winners: products.map((row, i) => {
      const best = Math.max(...row);
      return row[i] >= best - TIE ? i : row.indexOf(best);
    }),
  };
}

/** Lo que se ve, en una frase. */
export function sentence({ dot, angle, winners }) {
  let text = 'Uno de los dos es nulo: no hay ángulo.';
  if (angle !== null) {
    const kind = Math.abs(dot) < 0.005 ? 'ángulo recto: el producto es 0'
      : dot > 0 ? 'ángulo agudo: el producto es positivo' : 'ángulo obtuso: el producto es negativo';
    text = `${show(angle, 0)}°, ${kind} (${show(dot)}).`;
  }
  const lost = winners.flatMap((j, i) => (i === j ? [] : [`en la fila de ${NAMES[i]} gana ${NAMES[j]}`]));
  return lost.length ? `${text} La diagonal no siempre es el máximo: ${lost.join(' y ')}.` : text;
}

function render({ model, el }) {
  const root = make('div', { class: 'exp' });
  const save = saver(model);
  const voice = announcer();
  let vectors = model.get('vectors').map(vector => [...vector]);
  let chosen = 1; // el que se mueve: v

  // --- El plano: 50 unidades de dibujo por unidad -------------------------------------------------
  const SCALE = 50;
  const side = SCALE * (LIMIT + 0.6);
  const plane = make('svg', { viewBox: `${-side} ${-side} ${2 * side} ${2 * side}`, class: 'exp-plane',
    role: 'group', 'aria-label': 'Plano con los vectores' });
  for (let n = -LIMIT; n <= LIMIT; n++) {
    const look = { stroke: 'currentColor', 'stroke-opacity': n ? 0.12 : 0.5 };
    plane.append(make('line', { x1: n * SCALE, x2: n * SCALE, y1: -side, y2: side, ...look }),
      make('line', { y1: n * SCALE, y2: n * SCALE, x1: -side, x2: side, ...look }));
    if (n) plane.append(make('text', { x: n * SCALE, y: 16, 'text-anchor': 'middle', 'font-size': 13,
      opacity: 0.7 }, show(n, 0)));
  }
  const shadow = make('line', { stroke: 'currentColor', 'stroke-width': 9, 'stroke-opacity': 0.3 });
  const drop = make('line', { stroke: 'currentColor', 'stroke-dasharray': '4 5', 'stroke-opacity': 0.7 });
  const corner = make('path', { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 });
  plane.append(shadow, drop, corner);
  const arrows = NAMES.map((name, index) => {
    const line = make('line', { stroke: COLORS[index], 'stroke-width': 4, 'stroke-dasharray': ['none', '12 4', '3 4'][index] });
    const head = make('polygon', { fill: COLORS[index] });
    const label = make('text', { 'font-size': 20, 'font-weight': 700, 'text-anchor': 'middle' }, name);
    const handle = focusable(make('circle', { r: 14, fill: COLORS[index], 'fill-opacity': 0.25, class: 'exp-handle',
      stroke: COLORS[index], 'stroke-width': 2, tabindex: 0, role: 'button', 'aria-roledescription': 'punta de vector',
      onpointerdown: event => { handle.setPointerCapture(event.pointerId); chosen = index; handle.focus(); event.preventDefault(); },
      onpointermove: event => { if (handle.hasPointerCapture(event.pointerId)) drag(index, event); },
      onkeydown: event => press(index, event) }));
    plane.append(line, head, label, handle);
    return { line, head, label, handle, all: [line, head, label, handle] };
  });

  // --- Lo que se lee ------------------------------------------------------------------------------
  const facts = make('table', { 'aria-label': 'Lo que miden u y v' });
  const cells = {};
  for (const [key, name] of [['norm0', '‖u‖'], ['norm1', '‖v‖'], ['dot', 'u · v'], ['cosine', 'cos θ'], ['angle', 'θ'],
    ['projection', 'proyección de v sobre u']]) {
    cells[key] = make('td');
    facts.append(make('tr', {}, make('th', { scope: 'row' }, name), cells[key]));
  }
  const matrix = make('table', { 'aria-label': 'Matriz X por X traspuesta' });
  const unit = checkbox('todos de norma 1', model.get('unit'), on => { save('unit', on); change(vectors); });
  const third = checkbox('un tercer vector, w', vectors.length > 2,
    on => change(on ? [...vectors.slice(0, 2), [2, 2]] : vectors.slice(0, 2)));
  root.append(
    make('div', { class: 'exp-row' }, plane, make('div', {}, make('div', {}, unit.node, third.node), facts,
      make('p', {}, 'X · Xᵀ, con el máximo de cada fila recuadrado:'), matrix)),
    voice.node,
    make('p', {}, 'Arrastra las puntas, o elige una con el tabulador y muévela con las flechas (con Mayús, más deprisa).'));

  // --- Mover --------------------------------------------------------------------------------------
  function drag(index, event) {
    const box = plane.getBoundingClientRect();
    const unitPixels = box.width / (2 * side / SCALE);
    place(index, [(event.clientX - box.left - box.width / 2) / unitPixels,
      -(event.clientY - box.top - box.height / 2) / unitPixels]);
  }

  function press(index, event) {
    const step = event.shiftKey ? 0.5 : 0.1;
    const moves = { ArrowRight: [step, 0], ArrowLeft: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    chosen = index;
    const [x, y] = vectors[index];
    if (model.get('unit')) { // de norma 1: girar
      const turn = (move[1] - move[0]) * 0.35;
      const angle = Math.atan2(y, x) + turn;
      change(vectors.map((vector, i) => (i === index ? [Math.cos(angle), Math.sin(angle)] : vector)));
    } else place(index, [x + move[0], y + move[1]]);
  }

  function place(index, [x, y]) {
    const snap = z => Math.round(Math.max(-LIMIT, Math.min(LIMIT, z)) * 10) / 10;
    const free = model.get('unit') ? [x, y] : [snap(x), snap(y)];
    change(vectors.map((vector, i) => (i === index ? free : vector)));
  }

  function change(next) {
    vectors = model.get('unit') ? next.map(normalize) : next;
    save('vectors', vectors);
    draw();
  }

  // --- Dibujar ------------------------------------------------------------------------------------
  function draw() {
    const result = compute(vectors);
    arrows.forEach(({ line, head, label, handle, all }, index) => {
      const vector = vectors[index];
      all.forEach(node => set(node, { visibility: vector ? null : 'hidden' }));
      set(handle, { tabindex: vector ? 0 : -1 });
      if (!vector) return;
      const [x, y] = [vector[0] * SCALE, -vector[1] * SCALE];
      const length = Math.hypot(x, y) || 1;
      const [dx, dy] = [x / length, y / length];
      set(line, { x1: 0, y1: 0, x2: x - 12 * dx, y2: y - 12 * dy });
      set(head, { points: `${x},${y} ${x - 16 * dx - 7 * dy},${y - 16 * dy + 7 * dx} ${x - 16 * dx + 7 * dy},${y - 16 * dy - 7 * dx}` });
      set(label, { x: x + 26 * dx, y: y + 26 * dy + 7 });
      set(handle, { cx: x, cy: y, 'aria-label': `${NAMES[index]}: ${show(vector[0], 1)}, ${show(vector[1], 1)}. Flechas para mover` });
    });
    const [u, v] = vectors;
    const along = result.projection === null ? 0 : result.dot / (result.norms[0] ** 2);
    const foot = [u[0] * along * SCALE, -u[1] * along * SCALE];
    set(shadow, { x1: 0, y1: 0, x2: foot[0], y2: foot[1] });
    set(drop, { x1: foot[0], y1: foot[1], x2: v[0] * SCALE, y2: -v[1] * SCALE });
    const right = result.angle !== null && Math.abs(result.dot) < 0.005;
    if (right) {
      const [a, b] = [u, v].map((w, i) => [w[0] / result.norms[i] * 22, -w[1] / result.norms[i] * 22]);
      set(corner, { d: `M${a} L${a[0] + b[0]},${a[1] + b[1]} L${b}` });
    } else set(corner, { d: null });
    const or = (value, text) => (value === null ? '—' : text(value));
    cells.norm0.textContent = show(result.norms[0]);
    cells.norm1.textContent = show(result.norms[1]);
    cells.dot.textContent = show(result.dot);
    cells.cosine.textContent = or(result.cosine, x => show(x));
    cells.angle.textContent = or(result.angle, x => `${show(x, 0)}°`);
    cells.projection.textContent = or(result.projection, x => show(x));
    matrix.replaceChildren(
      make('tr', {}, make('td'), ...vectors.map((_, j) => make('th', { scope: 'col' }, NAMES[j]))),
      ...result.products.map((row, i) => make('tr', {}, make('th', { scope: 'row' }, NAMES[i]),
        ...row.map((x, j) => make('td', { class: j === result.winners[i] ? 'exp-best' : null }, show(x))))));
    voice.say(sentence(result));
  }

  const reload = () => {
    vectors = model.get('vectors').map(vector => [...vector]);
    unit.set(model.get('unit'));
    third.set(vectors.length > 2);
    draw();
  };
  model.on('change:vectors', reload);
  model.on('change:unit', reload);
  draw();
  el.replaceChildren(root);
  return () => { model.off('change:vectors', reload); model.off('change:unit', reload); };
}

function normalize([x, y]) {
  const norm = Math.hypot(x, y);
  return norm ? [x / norm, y / norm] : [1, 0];
}

export default { render };
