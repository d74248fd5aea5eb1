// La atención del ejemplo pequeño, en el plano. Las cuentas son las de `compute`, en geometry.py.

const LIMITS = { Q: [-3, 3], K: [-3, 3], V: [-1, 2] }; // hasta dónde llegan las puntas
const TIE = 1e-9; // menos que esto es redondeo
const [CLOSE, NEAR] = [0.005, 0.1]; // dos pesos que se leen iguales; la salida, junto a un value
const SIDE = 170; // medio lado de un plano, en unidades de dibujo
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
// Aquí no hacen nada: ni mover la página.
const IDLE = { ' ': null, Enter: null, Home: null, End: null, PageUp: null, PageDown: null };
const LOOKS = {
  Q: { letter: 'q', name: 'query', color: 'var(--q)', dash: 'none' },
  K: { letter: 'k', name: 'key', color: 'var(--k)', dash: '12 4' },
  V: { letter: 'v', name: 'value', color: 'var(--v)', dash: '3 4' },
};

// De cada parte, las columnas de su tabla y sus retos: lo que se pide, y por qué sale.
const PARTS = {
  producto: {
    columns: ['key', 'norm', 'angle', 'product'],
    goals: [
      [
        'Mueve solo la key de «dog» hasta que su producto con la query sea 0. ¿Qué ángulo forman?',
        'Un producto 0 es un ángulo recto, midan lo que midan.',
      ],
      [
        '¿Gana siempre la key que mejor apunta? Haz que el mayor producto sea de otra.',
        'El tamaño también cuenta: gana la que más avanza hacia donde apunta la query.',
      ],
    ],
  },
  pesos: {
    columns: ['key', 'product', 'weight'],
    goals: [
      [
        'Mueve solo la key de «dog» hasta que «the» y «dog» pesen lo mismo. ¿Hay un solo sitio?',
        'Vale cualquier sitio de la raya que pasa por la key de «the»: las dos puntúan lo mismo.',
      ],
      [
        'Con las keys del principio, mueve la query: que «hungry» se dé a sí misma más de 0.50.',
        'Las keys son las mismas: quien decide a quién busca es la query.',
      ],
    ],
  },
  softmax: {
    columns: ['product', 'score', 'weight'],
    goals: [
      [
        'Alarga la query sin girarla hasta que «dog» pase de 0.95. ¿Cambia el orden o el reparto?',
        'El orden es el mismo: las puntuaciones se separan, y la mayor se lleva casi todo.',
      ],
      [
        'Quita la división y, solo con la longitud de la query, devuelve los pesos del principio.',
        'Dividir por √2 las puntuaciones es lo mismo que acortar √2 veces la query.',
      ],
    ],
  },
  salida: {
    columns: ['score', 'weight', 'share'],
    goals: [
      [
        'Sin tocar los values, lleva la salida a menos de 0.1 del value de «hungry». ' +
          '¿Puede salir del triángulo?',
        'Del triángulo no sale: ningún peso es negativo, y suman 1.',
      ],
      [
        'Sin tocar los values, llévala al centro del triángulo: el mismo peso para las tres.',
        'Si las tres puntúan lo mismo, la salida es la media de los values.',
      ],
    ],
  },
};

const STYLE = css`
  .exp-geometry p {
    margin: 0 0 0.3rem;
  }
  .exp-geometry .g-planes {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    flex: 1 1 22rem;
    max-width: 26rem;
  }
  .exp-geometry .g-planes.g-two {
    flex-basis: 30rem;
    max-width: none;
  }
  .exp-geometry .exp-plane {
    flex: 1 1 14rem;
    min-width: 0;
    max-width: 26rem;
    touch-action: auto;
  }
  .exp-geometry .g-two .exp-plane {
    max-width: min(26rem, max(14rem, 38vh));
  }
  .exp-geometry .exp-handle {
    touch-action: none;
  }
  .exp-geometry .exp-plane > :not(.exp-handle) {
    pointer-events: none; /* ninguna flecha tapa la punta de otra */
  }
  .exp-geometry .g-facts {
    flex: 0 1 auto;
    min-width: 0;
  }
  .exp.exp-geometry :is(th, td) {
    padding: 0.15rem 0.4rem;
    white-space: nowrap;
  }
  .exp-geometry .exp-button {
    margin: 0.2rem 0.3rem 0.2rem 0;
  }
  @media (width < 30rem) {
    .exp-geometry .g-facts table {
      font-size: 0.8rem; /* que se vea cuánto pesa cada una */
    }
    .exp.exp-geometry :is(th, td) {
      padding: 0.15rem 0.25rem;
    }
  }
  @media (max-height: 30rem) {
    .exp-geometry :is(ol, p) {
      font-size: 0.9rem;
    }
    .exp-geometry .exp-split:has(.g-two) {
      --split: 64%;
    }
    .exp-geometry .exp-plane {
      flex: 1 1 6rem;
    }
    .exp-geometry .g-two .exp-plane:first-child {
      flex-grow: 2; /* que quepa el dedo */
    }
  }
`;

/** Las mismas cuentas que `compute` en Python. */
export function compute(state) {
  const { Q, K, V, asks, scaled } = state;
  const q = Q[asks];
  const [norm, ...norms] = [q, ...K].map(vector => Math.sqrt(dot(vector, vector)));
  const products = K.map(k => dot(q, k));
  const cosines = products.map((product, i) => {
    if (!(norm * norms[i])) return null;
    const cosine = product / (norm * norms[i]);
    return [-1, 0, 1].find(mark => Math.abs(cosine - mark) < TIE) ?? cosine;
  });
  const scores = products.map(product => product / (scaled ? Math.SQRT2 : 1));
  const weights = softmax(scores);
  const result = {
    norm,
    norms,
    cosines,
    angles: cosines.map(x => (x === null ? null : (Math.acos(x) * 180) / Math.PI)),
    products,
    scores,
    weights,
    output: [0, 1].map(axis => sum(weights.map((p, i) => p * V[i][axis]))),
  };
  return { ...result, goals: goalsOf(state, result).map(goal => asks === 1 && goal) };
}

/** Si se cumplen los dos retos de una parte, cuando pregunta «hungry». */
function goalsOf({ part, Q, K, V, asks, scaled, start }, result) {
  const same = (now, before) =>
    now.every((vector, i) => vector.every((z, d) => z === before[i][d]));
  const { products, cosines, weights, output } = result;
  const close = (a, b) => Math.abs(a - b) < CLOSE;
  const onlyDog = same(Q, start.Q) && same(K.slice(0, 2), start.K);
  const [fixed, kept] = [same(K, start.K), same(V, start.V)];
  if (part === 'producto') {
    const winners = cosines.filter((_, i) => products[i] >= Math.max(...products) - TIE);
    const whole = !cosines.includes(null);
    const beaten = whole && Math.max(...winners) < Math.max(...cosines) - TIE;
    return [onlyDog && cosines[2] === 0, beaten];
  }
  if (part === 'pesos')
    return [onlyDog && close(weights[0], weights[2]), fixed && weights[1] > 0.5];
  if (part === 'softmax') {
    const [q, before] = [Q[asks], start.Q[asks]];
    const cross = q[0] * before[1] - q[1] * before[0];
    const straight = fixed && Math.abs(cross) < TIE && dot(q, before) > 0;
    const wanted = softmax(start.K.map(k => dot(before, k) / Math.SQRT2));
    const back = weights.every((p, i) => close(p, wanted[i]));
    return [straight && scaled && weights[2] > 0.95, straight && !scaled && back];
  }
  const far = Math.hypot(output[0] - V[1][0], output[1] - V[1][1]);
  return [kept && far < NEAR, kept && weights.every(p => close(p, 1 / 3))];
}

/** Un ángulo, con los decimales que hagan falta para que no parezca nulo, recto o llano. */
function degrees(angle) {
  let decimals = 0;
  const hides = mark => Number(angle.toFixed(decimals)) === mark && Math.abs(angle - mark) > TIE;
  while ([0, 90, 180].some(hides)) decimals++;
  return `${show(angle, decimals)}°`;
}
const times = (vector, number) => vector.map(z => number * z);
const pair = (vector, decimals = 1) => `(${vector.map(z => show(z, decimals)).join(', ')})`;

/** Lo que se ve, en una frase: de la key elegida o, si ya hay pesos, de todas. */
export function sentence({ part, words, asks }, result, chosen) {
  const { cosines, angles, products, weights, output, goals } = result;
  const who = words[asks];
  let text = `«${who}» y la key de «${words[chosen]}»: sin ángulo, porque una de las dos es nula.`;
  if (part !== 'producto') {
    const top = Math.max(...weights);
    const most = words.filter((_, i) => weights[i] > top - CLOSE);
    text =
      most.length === words.length
        ? `«${who}» mira a las tres por igual.`
        : `«${who}» mira sobre todo a ${join(most.map(word => `«${word}»`))}: ${show(top)}.`;
    if (part === 'salida') text += ` Su salida es ${pair(output, 2)}.`;
  } else if (cosines[chosen] !== null) {
    const [cosine, product] = [cosines[chosen], products[chosen]];
    const kind =
      { 1: 'misma dirección y sentido', '-1': 'sentidos opuestos', 0: 'ángulo recto' }[cosine] ??
      (cosine > 0 ? 'ángulo agudo' : 'ángulo obtuso');
    text =
      `«${who}» y la key de «${words[chosen]}»: ${degrees(angles[chosen])}, ${kind}; ` +
      `producto ${show(product)}.`;
  }
  return [text, ...won(goals)].join(' ');
}

/** Dónde va cada nombre: más allá de su punta, o a un lado si ahí hay otro nombre u otra punta. */
export function labelSpots(tips, [fromX, fromY]) {
  const spots = [];
  const inside = (z, room) => Math.max(room - SIDE, Math.min(SIDE - room, z));
  tips.forEach(([x, y], index) => {
    const still = Math.hypot(x - fromX, y - fromY) < TIE;
    const ahead = still ? Math.PI / 2 : Math.atan2(y - fromY, x - fromX);
    const options = [26, 44].flatMap(far =>
      [0, 45, -45, 90, -90, 135, -135, 180].map(aside => {
        const angle = ahead + (aside * Math.PI) / 180;
        const [dx, dy] = [1.5 * far * Math.cos(angle), far * Math.sin(angle)]; // un nombre es ancho
        return [inside(x + dx, 34), inside(y + dy, 10)];
      }),
    );
    const others = [...spots, ...tips.filter((_, other) => other !== index)];
    const room = ([a, b]) =>
      Math.min(
        Math.hypot((a - x) / 1.5, b - y), // ni encima de la suya, si el borde lo empuja
        ...others.map(([c, d]) => Math.hypot((a - c) / 2.4, b - d)),
      );
    spots.push(
      options.find(spot => room(spot) > 20) ?? options.sort((a, b) => room(b) - room(a))[0],
    );
  });
  return spots;
}

/** Un plano vacío, de `low` a `high` en los dos ejes. `at` dice dónde se dibuja un punto. */
function grid(name, [low, high]) {
  const [scale, middle] = [(2 * SIDE) / (high - low + 0.8), (high + low) / 2];
  const at = ([x, y]) => [(x - middle) * scale, (middle - y) * scale];
  const node = make('svg', {
    viewBox: `${-SIDE} ${-SIDE} ${2 * SIDE} ${2 * SIDE}`,
    class: 'exp-plane',
    role: 'group',
    'aria-label': name,
  });
  const zero = at([0, 0]);
  for (let n = low; n <= high; n++) {
    const look = { stroke: 'currentColor', 'stroke-opacity': n ? 0.12 : 0.5 };
    const [x, y] = at([n, n]);
    node.append(segment(x, -SIDE, x, SIDE, look), segment(-SIDE, y, SIDE, y, look));
    if (n) node.append(write(x, zero[1] + 15, 13, show(n, 0), { ...MIDDLE, opacity: 0.7 }));
  }
  return { node, at, zero, scale, middle };
}

/** De un punto del dibujo y una dirección, dónde está el borde. */
function edge([x, y], dx, dy) {
  const far = [
    [x, dx],
    [y, dy],
  ].map(([z, d]) => (d ? (Math.sign(d) * SIDE - z) / d : Infinity));
  const steps = Math.min(...far, 1e6);
  return [x + steps * dx, y + steps * dy];
}

function render({ model, el }) {
  const save = saver(model);
  const voice = announcer();
  const part = model.get('part');
  const { columns, goals } = PARTS[part];
  const words = model.get('words');
  const whole = part === 'salida';
  const names = ['Q', 'K', 'V', 'asks', 'scaled'];
  const read = () => traits(model, ['part', 'words', 'start', ...names]);
  let chosen = 2; // la key de la que se enseña el ángulo: la última que se ha tocado
  const asked = challenges(goals);

  // --- Los planos: el de la query y las keys y, si toca, el de los values ------------------------
  const plane = grid('La query y las keys', LIMITS.K);
  const level = make('line', { stroke: 'currentColor', 'stroke-dasharray': '2 5' });
  set(level, { 'stroke-width': 2, 'stroke-opacity': 0.7 });
  const shadow = make('line', { stroke: 'currentColor', 'stroke-width': 9, 'stroke-opacity': 0.3 });
  const arc = make('path', { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 });
  const turn = make('text', { ...MIDDLE, 'font-size': 13 });
  if (part === 'producto') plane.node.append(shadow, arc, turn);
  if (part === 'producto' || part === 'pesos') plane.node.append(level);
  const mixing = grid('Los values y la salida', LIMITS.V);
  const triangle = make('polygon', { fill: 'var(--v)', 'fill-opacity': 0.2, stroke: 'var(--v)' });
  mixing.node.append(triangle);

  /** Una flecha que la mano mueve. `which` dice de qué palabra es ahora. */
  function arrow(where, kind, which) {
    const { letter, name, color, dash } = LOOKS[kind];
    const line = make('line', { stroke: color, 'stroke-dasharray': dash });
    const head = make('polygon', { fill: color });
    const label = make('text', { ...MIDDLE, 'font-size': 15, 'font-weight': 700 });
    // A décimas, y sin −0.
    const [low, high] = LIMITS[kind];
    const snap = z => Math.round(Math.max(low, Math.min(high, z)) * 10) / 10 + 0;
    const move = next =>
      save(
        kind,
        model.get(kind).map((old, i) => (i === which() ? next(old).map(snap) : old)),
      );
    const drag = event => {
      const { left, top, width, height } = where.node.getBoundingClientRect();
      const unit = (width * where.scale) / (2 * SIDE);
      const [x, y] = [event.clientX - left - width / 2, event.clientY - top - height / 2];
      move(() => [where.middle + x / unit, where.middle - y / unit]);
    };
    const press = event => {
      const step = withModifier(event) ? null : pressed(event, { ...ARROWS, ...IDLE });
      const size = event.shiftKey ? 0.5 : 0.1;
      if (step) move(old => old.map((z, d) => z + size * step[d]));
    };
    const handle = focusable(
      make('circle', {
        r: 12,
        fill: color,
        'fill-opacity': 0.25,
        class: 'exp-handle',
        stroke: 'transparent',
        'stroke-width': 16,
        'vector-effect': 'non-scaling-stroke',
        tabindex: 0,
        role: 'button',
        'aria-roledescription': 'punta de flecha',
        onfocus: () => kind === 'K' && choose(which()),
        ...draggable(drag),
        // Chromium no cumple `touch-action` en un círculo.
        ontouchstart: event => event.preventDefault(),
        onkeydown: press,
      }),
    );
    const rim = make('circle', { r: 12, fill: 'none', stroke: color, 'stroke-width': 2 });
    where.node.append(line, head, label, rim, handle);
    return (vector, spot, width) => {
      const [[x, y], [x1, y1]] = [where.at(vector), where.zero];
      const length = Math.hypot(x - x1, y - y1) || 1;
      const [dx, dy] = [(x - x1) / length, (y - y1) / length];
      set(line, { x1, y1, x2: x - 12 * dx, y2: y - 12 * dy, 'stroke-width': width });
      set(head, {
        points:
          `${x},${y} ${x - 16 * dx - 7 * dy},${y - 16 * dy + 7 * dx} ` +
          `${x - 16 * dx + 7 * dy},${y - 16 * dy - 7 * dx}`,
      });
      set(label, { x: spot[0], y: spot[1] + 5 });
      label.textContent = `${letter} ${words[which()]}`;
      for (const node of [rim, handle]) set(node, { cx: x, cy: y });
      const told = vector.map(z => show(z, 1)).join(', ');
      set(handle, { 'aria-label': `${name} de «${words[which()]}»: ${told}. Flechas para mover` });
    };
  }
  const keys = words.map((_, i) => arrow(plane, 'K', () => i));
  const query = arrow(plane, 'Q', () => model.get('asks'));
  const values = words.map((_, i) => arrow(mixing, 'V', () => i));
  const out = make('line', { stroke: 'currentColor', 'stroke-width': 4 });
  const point = make('circle', { r: 7, fill: 'currentColor' });
  const outName = write(0, 0, 15, 'salida', { ...MIDDLE, 'font-weight': 700 });
  mixing.node.append(out, point, outName);

  // --- Lo que se pide, los mandos y lo que se lee ------------------------------------------------
  const asking = words.map((word, i) => button(word, () => save('asks', i), false));
  const scaled = checkbox('÷ √2', true, on => save('scaled', on));
  const back = button('Como al principio', () => {
    const { start } = read();
    for (const [name, value] of Object.entries({ ...start, asks: 1, scaled: true }))
      save(name, value);
  });
  const facts = make('table', { 'aria-label': 'Lo que le toca a cada palabra' });
  const size = make('p');
  mount(
    el,
    'exp-geometry',
    STYLE,
    asked.node,
    paragraph(
      'Arrastra una punta.' +
        (level.parentNode ? ' Todas las keys de la raya de puntos dan el mismo producto.' : ''),
      byKeys('tabulador hasta una punta, y flechas (con Mayús, más deprisa).'),
    ),
    div(
      'exp-row exp-split',
      div(`g-planes exp-stay${whole ? ' g-two' : ''}`, plane.node, ...(whole ? [mixing.node] : [])),
      div(
        'g-facts',
        group('Quién pregunta', null, 'Pregunta ', ...asking),
        ...(part === 'softmax' ? [scaled.node] : []),
        size,
        sliding(facts.getAttribute('aria-label'), facts),
        back,
      ),
    ),
    voice.node,
  );

  function choose(i) {
    chosen = i;
    draw();
  }

  // --- Dibujar -----------------------------------------------------------------------------------
  const NAMES = {
    key: ['key', (i, { state }) => pair(state.K[i])],
    norm: ['mide', (i, { norms }) => show(norms[i])],
    angle: ['ángulo', (i, { angles }) => (angles[i] === null ? '—' : degrees(angles[i]))],
    product: [part === 'pesos' ? 'puntuación' : 'q · k', (i, { products }) => show(products[i])],
    score: [
      () => (read().scaled ? 'q · k / √2' : 'sin dividir'),
      (i, { scores }) => show(scores[i]),
    ],
    weight: [
      () => (part === 'pesos' && read().scaled ? 'peso (÷ √2)' : 'peso'),
      (i, { weights }) => show(weights[i]),
    ],
    share: ['peso · value', (i, { state, weights }) => pair(times(state.V[i], weights[i]), 2)],
  };

  function draw() {
    const state = read();
    const result = compute(state);
    const { weights, products, cosines, angles, norm, norms, output } = result;
    const q = state.Q[state.asks];
    const tips = [...state.K, q].map(plane.at);
    const spots = labelSpots(tips, plane.zero);
    const thick = i => (part === 'producto' ? 4 : 2 + 8 * weights[i]);
    keys.forEach((place, i) => place(state.K[i], spots[i], thick(i)));
    query(q, spots[3], 4);
    // Hasta dónde llega la key elegida en la dirección de la query, y las que llegan igual.
    const [x, y] = plane.at(q.map(z => (norm ? (z * products[chosen]) / norm ** 2 : 0)));
    set(shadow, { x1: 0, y1: 0, x2: x, y2: y });
    const [[x1, y1], [x2, y2]] = [1, -1].map(w => edge(tips[chosen], w * q[1], w * q[0]));
    set(level, { x1, y1, x2, y2, visibility: norm ? null : 'hidden' });
    set(arc, { d: null });
    turn.textContent = '';
    if (cosines[chosen] !== null) {
      const [[a, b], [c, d]] = [
        q.map(z => z / norm),
        state.K[chosen].map(z => z / norms[chosen]),
      ].map(([z, w]) => [20 * z, -20 * w]);
      const opposite = cosines[chosen] === -1;
      const wide = Math.hypot(a + c, b + d) / 40 || 1;
      const [mx, my] = opposite ? [-b, a] : [(a + c) / (2 * wide), (b + d) / (2 * wide)];
      set(arc, {
        d: cosines[chosen]
          ? `M${a},${b} A20,20 0 0 ${a * d - b * c > 0 ? 1 : 0} ${c},${d}`
          : `M${a},${b} L${a + c},${b + d} L${c},${d}`,
      });
      set(turn, { x: 2 * mx, y: 2 * my + 4 });
      turn.textContent = degrees(angles[chosen]);
    }
    if (whole) {
      const [ends, end] = [state.V.map(mixing.at), mixing.at(output)];
      const places = labelSpots([...ends, end], mixing.zero);
      values.forEach((place, i) => place(state.V[i], places[i], 2 + 8 * weights[i]));
      set(triangle, { points: ends.join(' ') });
      set(out, { x1: mixing.zero[0], y1: mixing.zero[1], x2: end[0], y2: end[1] });
      set(point, { cx: end[0], cy: end[1] });
      set(outName, { x: places[3][0], y: places[3][1] + 5 });
    }

    asking.forEach((node, i) => set(node, { 'aria-pressed': String(i === state.asks) }));
    scaled.set(state.scaled);
    size.textContent = `q = ${pair(q)}, y mide ${show(norm)}`;
    const bar = i => {
      const full = `color-mix(in srgb, var(--q) 35%, transparent) ${100 * weights[i]}%`;
      return `background: linear-gradient(90deg, ${full}, transparent 0); min-width: 4rem`;
    };
    const cell = (name, i) => {
      const node = td(NAMES[name][1](i, { state, ...result }));
      return name === 'weight' ? set(node, { style: bar(i) }) : node;
    };
    const title = ([name]) => (typeof name === 'function' ? name() : name);
    const cells = i => columns.map(name => cell(name, i));
    const added = ['', '1', pair(output, 2)].map(text => td(text));
    facts.replaceChildren(
      headRow(columns.map(name => title(NAMES[name]))),
      ...words.map((word, i) => namedRow(word, cells(i))),
      ...(whole ? [namedRow('suma', added)] : []),
    );
    asked.mark(result.goals);
    voice.say(sentence(state, result, chosen));
  }

  draw();
  return listen(model, Object.fromEntries(names.map(name => [name, draw])));
}

export default { render };
