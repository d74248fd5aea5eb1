// Vectores en el plano. Las cuentas son las de `compute`, en vectors.py.

const LIMIT = 4;
const NAMES = [...'uvw'];
const TIE = 1e-9; // menos que esto es redondeo: ni gana nadie ni deja de ser recto un ángulo
const COLORS = ['var(--q)', 'var(--k)', 'var(--v)'];
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
// Aquí no hacen nada: ni mover la página.
const IDLE = [' ', 'Enter', 'Home', 'End', 'PageUp', 'PageDown'];

/** Las mismas cuentas que `compute` en Python. */
export function compute(vectors) {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const products = vectors.map(a => vectors.map(b => dot(a, b)));
  const norms = vectors.map(a => Math.sqrt(dot(a, a)));
  const best = products.map(row => row.flatMap((x, j) => (x >= Math.max(...row) - TIE ? [j] : [])));
  let cosine = null;
  if (norms[0] > 0 && norms[1] > 0) {
    cosine = products[0][1] / (norms[0] * norms[1]);
    cosine = [-1, 0, 1].find(mark => Math.abs(cosine - mark) < TIE) ?? cosine;
  }
  return {
    products,
    norms,
    dot: products[0][1],
    cosine,
    best,
    angle: cosine === null ? null : (Math.acos(cosine) * 180) / Math.PI,
    projection: norms[0] > 0 ? products[0][1] / norms[0] : null,
  };
}

/** Escribe un número con los decimales que hagan falta para no confundirlo con uno de `marks`. */
function tell(x, decimals, marks) {
  while (marks.some(mark => Number(x.toFixed(decimals)) === mark && Math.abs(x - mark) > TIE))
    decimals++;
  return show(x, decimals);
}
const degrees = angle => `${tell(angle, 0, [0, 90, 180])}°`;
const names = columns => join(columns.map(j => NAMES[j]));

/** Lo que se ve, en una frase. */
export function sentence({ dot, cosine, angle, norms, best }) {
  const between = norms.length > 2 ? ' entre u y v' : '';
  let text;
  if (angle === null) {
    const both = between ? 'u y v son nulos' : 'Los dos son nulos';
    text = `${norms[0] ? 'v es nulo' : norms[1] ? 'u es nulo' : both}: no hay ángulo${between}.`;
  } else {
    const kind =
      { 1: 'misma dirección y sentido', '-1': 'sentidos opuestos', 0: 'ángulo recto' }[cosine] ??
      (cosine > 0 ? 'ángulo agudo' : 'ángulo obtuso');
    const sign = cosine === 0 ? '0' : cosine > 0 ? 'positivo' : 'negativo';
    text = `${degrees(angle)}${between}, ${kind}: el producto es ${sign} (${tell(dot, 2, [0])}).`;
  }
  const lost = best.flatMap((columns, i) =>
    columns.includes(i)
      ? []
      : [`en la fila de ${NAMES[i]} ${columns.length > 1 ? 'ganan' : 'gana'} ${names(columns)}`],
  );
  if (lost.length) text += ` La diagonal no siempre es el máximo: ${lost.join(' y ')}.`;
  const tied = best.flatMap((columns, i) =>
    columns.includes(i) && columns.length > 1 && norms[i] ? [i] : [],
  );
  const ties = tied.map(
    (i, k) =>
      `${k ? 'en la de' : ' En la fila de'} ${NAMES[i]}${k ? ',' : ' empatan'} ${names(best[i])}`,
  );
  return ties.length ? `${text}${ties.join('; ')}.` : text;
}

/** El de norma 1 con la misma dirección; del nulo, que no tiene, [1, 0]. */
export function normalize(vector) {
  const norm = Math.hypot(...vector);
  if (Math.abs(norm - 1) < TIE) return vector;
  return norm ? vector.map(z => z / norm) : [1, 0];
}

/**
 * Gira un vector de norma 1 hacia donde apunta una flecha del teclado, por el lado corto y sin
 * pasarse.
 */
export function turn([x, y], [a, b], most) {
  const gap = Math.atan2(x * b - y * a, x * a + y * b);
  if (Math.abs(gap) <= most) return [a, b];
  const angle = Math.atan2(y, x) + Math.sign(gap) * most;
  return [Math.cos(angle), Math.sin(angle)];
}

const snap = z => Math.round(Math.max(-LIMIT, Math.min(LIMIT, z)) * 10) / 10 + 0; // sin −0

/** El mismo vector con la norma que se pide, o la mayor que quepa en el plano. */
function stretch(vector, norm) {
  const [x, y] = normalize(vector);
  const fit = Math.min(norm, LIMIT / Math.max(Math.abs(x), Math.abs(y)));
  return [x * fit, y * fit];
}

/**
 * Un w que no se pone sobre nadie ni empata con u: mide como u y está a 45° de él, en el lado sin
 * v.
 */
export function newcomer([u, v]) {
  const [x, y] = normalize(Math.hypot(...u) ? u : v);
  const sides = [
    [x + y, y - x],
    [x - y, y + x],
  ]; // 45° a la derecha y 45° a la izquierda
  // El primero, el más lejano de v.
  const [side] = sides.sort(([a, b], [c, d]) => (a - c) * v[0] + (b - d) * v[1]);
  return stretch(side, Math.hypot(...u) < 0.5 ? 1 : Math.hypot(...u)).map(snap);
}

/** Dónde va cada nombre: más allá de su punta, o a un lado si ahí hay otro nombre u otra punta. */
export function labelSpots(tips, side) {
  const spots = [];
  const inside = z => Math.max(-side + 9, Math.min(side - 9, z));
  tips.forEach(([x, y], index) => {
    const ahead = x || y ? Math.atan2(y, x) : -Math.PI / 2;
    const options = [26, 44].flatMap(far =>
      [0, 45, -45, 90, -90, 135, -135, 180].map(aside => {
        const angle = ahead + (aside * Math.PI) / 180;
        return [inside(x + far * Math.cos(angle)), inside(y + far * Math.sin(angle))];
      }),
    );
    const others = [...spots, ...tips.filter((_, other) => other !== index)];
    const room = ([a, b]) =>
      Math.min(Infinity, ...others.map(([c, d]) => Math.hypot(a - c, b - d)));
    spots.push(
      options.find(spot => room(spot) > 22) ?? options.sort((a, b) => room(b) - room(a))[0],
    );
  });
  return spots;
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  let vectors = [];
  let before = []; // con norma 1, cada uno como era antes

  // --- El plano: 50 unidades de dibujo por unidad ------------------------------------------------
  const SCALE = 50;
  const side = SCALE * (LIMIT + 0.6);
  const plane = make('svg', {
    viewBox: `${-side} ${-side} ${2 * side} ${2 * side}`,
    class: 'exp-plane exp-stay',
    role: 'group',
    'aria-label': 'Plano con los vectores',
  });
  for (let n = -LIMIT; n <= LIMIT; n++) {
    const look = { stroke: 'currentColor', 'stroke-opacity': n ? 0.12 : 0.5 };
    plane.append(
      segment(n * SCALE, -side, n * SCALE, side, look),
      segment(-side, n * SCALE, side, n * SCALE, look),
    );
    if (n) plane.append(write(n * SCALE, 16, 13, show(n, 0), { ...MIDDLE, opacity: 0.7 }));
  }
  const shadow = make('line', { stroke: 'currentColor', 'stroke-width': 9, 'stroke-opacity': 0.3 });
  const drop = make('line', {
    stroke: 'currentColor',
    'stroke-dasharray': '4 5',
    'stroke-opacity': 0.7,
  });
  const corner = make('path', { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 });
  plane.append(shadow, drop, corner);
  const arrows = NAMES.map((name, index) => {
    const line = make('line', {
      stroke: COLORS[index],
      'stroke-width': 4,
      'stroke-dasharray': ['none', '12 4', '3 4'][index],
    });
    const head = make('polygon', { fill: COLORS[index] });
    const label = make('text', { ...MIDDLE, 'font-size': 20, 'font-weight': 700 }, name);
    const handle = focusable(
      make('circle', {
        r: 14,
        fill: COLORS[index],
        'fill-opacity': 0.25,
        class: 'exp-handle',
        stroke: 'transparent',
        'stroke-width': 14,
        'vector-effect': 'non-scaling-stroke',
        tabindex: 0,
        role: 'button',
        'aria-roledescription': 'punta de vector',
        onpointerdown: event => {
          handle.setPointerCapture(event.pointerId);
          handle.focus();
          event.preventDefault();
        },
        onpointermove: event => {
          if (handle.hasPointerCapture(event.pointerId)) drag(index, event);
        },
        onkeydown: event => press(index, event),
      }),
    );
    const rim = make('circle', { r: 14, fill: 'none', stroke: COLORS[index], 'stroke-width': 2 });
    plane.append(line, head, label, rim, handle);
    return { line, head, label, rim, handle, all: [line, head, label, rim, handle] };
  });

  // --- Lo que se lee -----------------------------------------------------------------------------
  const facts = make('table', { 'aria-label': 'Lo que miden los vectores' });
  const cells = {};
  for (const [key, name] of [
    ['norm0', '‖u‖'],
    ['norm1', '‖v‖'],
    ['norm2', '‖w‖'],
    ['dot', 'u · v'],
    ['cosine', 'cos θ'],
    ['angle', 'θ, entre u y v'],
    ['projection', 'proyección de v sobre u'],
  ]) {
    cells[key] = make('td');
    facts.append(namedRow(name, [cells[key]]));
  }
  const matrix = make('table', { 'aria-label': 'Matriz X por X traspuesta' });
  const unit = checkbox('todos de norma 1', model.get('unit'), on => {
    const free = freed();
    save('unit', on);
    if (!on) change(free);
  });
  const third = checkbox('un tercer vector, w', false, on =>
    change(on ? [...vectors.slice(0, 2), newcomer(freed())] : vectors.slice(0, 2)),
  );
  const help = make('p');
  mount(
    el,
    'exp-vectors',
    '',
    div(
      'exp-row exp-split',
      plane,
      div(
        null,
        div(null, unit.node, third.node),
        facts,
        paragraph('X · Xᵀ, con el máximo de cada fila recuadrado:'),
        matrix,
      ),
    ),
    voice.node,
    help,
  );

  // --- Mover -------------------------------------------------------------------------------------
  const change = next => save('vectors', next); // y `reload` lo dibuja
  const replace = (index, vector) => change(vectors.map((old, i) => (i === index ? vector : old)));

  function drag(index, event) {
    const box = plane.getBoundingClientRect();
    const unitPixels = box.width / ((2 * side) / SCALE);
    const [x, y] = [
      (event.clientX - box.left - box.width / 2) / unitPixels,
      -(event.clientY - box.top - box.height / 2) / unitPixels,
    ];
    replace(index, model.get('unit') ? normalize([x, y]) : [snap(x), snap(y)]);
  }

  function press(index, event) {
    const arrow = ARROWS[event.key];
    if (withModifier(event) || !(arrow || IDLE.includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    if (!arrow) return;
    const step = event.shiftKey ? 0.5 : 0.1;
    if (model.get('unit'))
      replace(index, turn(vectors[index], arrow, (step * Math.PI) / 9)); // 2° o 10°
    else
      replace(
        index,
        vectors[index].map((z, axis) => (arrow[axis] ? snap(z + step * arrow[axis]) : z)),
      );
  }

  /**
   * Los vectores sin la norma 1: el que no se ha movido vuelve a ser el que era; los demás, solo a
   * medir lo mismo.
   */
  function freed() {
    return vectors.map((vector, i) => {
      if (!before[i]) return vector;
      const [x, y] = normalize(before[i]);
      return Math.hypot(vector[0] - x, vector[1] - y) < TIE
        ? before[i]
        : stretch(vector, Math.hypot(...before[i]) || 1);
    });
  }

  /** Lee el estado. Con norma 1, lo que llegue con otra se recuerda y se corrige. */
  function read() {
    const [shared, one] = [model.get('vectors'), model.get('unit')];
    vectors = one ? shared.map(normalize) : shared;
    before = one ? shared.map((vector, i) => (vector === vectors[i] ? before[i] : vector)) : [];
    model.set('vectors', vectors);
  }

  // --- Dibujar -----------------------------------------------------------------------------------
  function draw() {
    const result = compute(vectors);
    const one = model.get('unit');
    unit.set(one);
    third.set(vectors.length > 2);
    help.textContent = `Arrastra las puntas, o elige una con el tabulador y ${
      one ? 'gírala con las flechas hacia su lado' : 'muévela con las flechas'
    } (con Mayús, más deprisa).`;
    const tips = vectors.map(([x, y]) => [x * SCALE, -y * SCALE]);
    const spots = labelSpots(tips, side);
    arrows.forEach(({ line, head, label, rim, handle, all }, index) => {
      const vector = vectors[index];
      all.forEach(node => set(node, { visibility: vector ? null : 'hidden' }));
      set(handle, { tabindex: vector ? 0 : -1 });
      if (!vector) return;
      const [x, y] = tips[index];
      const length = Math.hypot(x, y) || 1;
      const [dx, dy] = [x / length, y / length];
      set(line, { x1: 0, y1: 0, x2: x - 12 * dx, y2: y - 12 * dy });
      set(head, {
        points:
          `${x},${y} ${x - 16 * dx - 7 * dy},${y - 16 * dy + 7 * dx} ` +
          `${x - 16 * dx + 7 * dy},${y - 16 * dy - 7 * dx}`,
      });
      set(label, { x: spots[index][0], y: spots[index][1] + 7 });
      set(rim, { cx: x, cy: y });
      set(handle, {
        cx: x,
        cy: y,
        'aria-label': `${NAMES[index]}: ${vector.map(z => show(z, one ? 2 : 1)).join(', ')}. ${
          one ? 'Cada flecha lo gira hacia su lado' : 'Flechas para mover'
        }`,
      });
    });
    const [u, v] = vectors;
    const along = result.projection === null ? 0 : result.dot / result.norms[0] ** 2;
    const foot = [u[0] * along * SCALE, -u[1] * along * SCALE];
    set(shadow, { x1: 0, y1: 0, x2: foot[0], y2: foot[1] });
    set(drop, { x1: foot[0], y1: foot[1], x2: v[0] * SCALE, y2: -v[1] * SCALE });
    if (result.cosine === 0) {
      const [a, b] = [u, v].map((w, i) => [
        (w[0] / result.norms[i]) * 22,
        (-w[1] / result.norms[i]) * 22,
      ]);
      set(corner, { d: `M${a} L${a[0] + b[0]},${a[1] + b[1]} L${b}` });
    } else set(corner, { d: null });
    const or = (value, text) => (value === null ? '—' : text(value));
    for (const i of [0, 1, 2])
      cells[`norm${i}`].textContent = i in vectors ? show(result.norms[i]) : '';
    cells.norm2.parentNode.hidden = vectors.length < 3;
    cells.dot.textContent = tell(result.dot, 2, [0]);
    cells.cosine.textContent = or(result.cosine, x => tell(x, 2, [-1, 0, 1]));
    cells.angle.textContent = or(result.angle, degrees);
    cells.projection.textContent = or(result.projection, x => show(x));
    matrix.replaceChildren(
      headRow(vectors.map((_, j) => NAMES[j])),
      ...result.products.map((row, i) =>
        namedRow(
          NAMES[i],
          row.map((x, j) => td(show(x), result.best[i].includes(j) ? 'exp-best' : null)),
        ),
      ),
    );
    voice.say(sentence(result));
  }

  const reload = () => {
    read();
    draw();
  };
  reload();
  return listen(model, { vectors: reload, unit: reload });
}

export default { render };
