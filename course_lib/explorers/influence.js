// Influencia: qué salidas se mueven al tocar un token. Las cuentas son las de `compute`, en
// influence.py.

const FONT = 17;
// Lo más que encoge el dibujo: la letra no baja de 11 píxeles; si no cabe, se desliza.
const LEAST = 0.66;
const ROOM = 10; // a los lados, para que el foco del primero y del último se vea entero

/** Las mismas cuentas que `compute` en Python. */
export function compute(maps, layers, masked, token) {
  const changes = maps[layers - 1][Number(masked)].map(row => row[token]);
  const moved = changes.flatMap((change, i) => (change > 0 ? [i] : []));
  return { changes, moved, leaks: moved.filter(i => i < token) };
}

/** Lo que se ve, en una frase. */
export function sentence({ moved, leaks }, tokens, token, masked) {
  const named = moved.map(i => tokens[i]).join(', ');
  const start =
    `Tocar «${tokens[token]}» mueve ${moved.length} de ${tokens.length} ` +
    `salidas${named && `: ${named}`}. `;
  if (token === 0) return `${start}Es el primero: antes no hay nada.`;
  if (leaks.length === 1) return `${start}Va antes 1: a ella le llega el futuro.`;
  if (leaks.length) return `${start}Van antes ${leaks.length}: a ellas les llega el futuro.`;
  return `${start}Ninguna va antes${masked ? ': el futuro no se escapa' : ''}.`;
}

function render({ model, el }) {
  const tokens = model.get('tokens');
  const maps = model.get('maps');
  const save = saver(model);
  const voice = announcer();
  const longest = Math.max(...tokens.map(token => token.length));
  const WIDTH = Math.max(66, 10 * longest + 12);
  const wide = tokens.length * WIDTH + 2 * ROOM;

  // --- Los tokens de arriba se tocan; los de abajo son las salidas -------------------------------
  const scene = make('svg', {
    viewBox: `${-ROOM} 0 ${wide} 254`,
    role: 'group',
    'aria-label': 'Entradas arriba y salidas abajo',
    style:
      `display: block; width: 100%; max-width: ${wide}px; min-width: ` +
      `${Math.round(LEAST * wide)}px`,
  });
  const center = index => (index + 0.5) * WIDTH;
  const links = tokens.map(() => make('line', { stroke: 'var(--q)' }));
  const inputs = tokens.map((token, index) => {
    const box = make('rect', {
      x: center(index) - WIDTH / 2 + 3,
      y: 22,
      width: WIDTH - 6,
      height: 38,
      rx: 8,
      fill: 'transparent',
      stroke: 'currentColor',
      'stroke-width': 1.5,
    });
    const node = focusable(
      make(
        'g',
        {
          role: 'button',
          class: 'exp-handle',
          'aria-label': `Tocar ${token}`,
          onclick: () => choose(index),
          onkeydown: event => press(event),
        },
        box,
        make(
          'text',
          { x: center(index), y: 47, 'text-anchor': 'middle', 'font-size': FONT },
          token,
        ),
      ),
    );
    return { node, box };
  });
  const outputs = tokens.map((token, index) => {
    const box = make('rect', {
      x: center(index) - WIDTH / 2 + 3,
      y: 172,
      width: WIDTH - 6,
      height: 34,
      rx: 8,
      stroke: 'currentColor',
    });
    const value = make('text', {
      x: center(index),
      y: 226,
      'text-anchor': 'middle',
      'font-size': FONT,
    });
    scene.append(
      box,
      value,
      make('text', { x: center(index), y: 195, 'text-anchor': 'middle', 'font-size': FONT }, token),
    );
    return { box, value };
  });
  scene.prepend(...links);
  scene.append(
    ...inputs.map(input => input.node),
    make('text', { x: 3, y: 15, 'font-size': FONT, opacity: 0.8 }, 'entrada: elige cuál se toca'),
    make(
      'text',
      { x: 3, y: 248, 'font-size': FONT, opacity: 0.8 },
      'salidas, y cuánto cambia cada una (a trazos, hacia atrás)',
    ),
  );

  // --- El mapa entero: una fila por salida, una columna por token tocado, con sus nombres --------
  const CELL = 16;
  const size = tokens.length * CELL;
  const edge = 8 * longest + 10;
  const map = make('svg', {
    viewBox: `${-edge} ${-edge} ${size + edge + 4} ${size + edge + 4}`,
    width: size + edge + 4,
    height: size + edge + 4,
    role: 'img',
    style: 'display: block',
  });
  const columnNames = tokens.map((token, j) =>
    make(
      'text',
      { transform: `translate(${j * CELL + 11.5} -6) rotate(-90)`, 'font-size': 12 },
      token,
    ),
  );
  map.append(
    ...columnNames,
    ...tokens.map((token, i) =>
      make('text', { x: -6, y: i * CELL + 11.5, 'text-anchor': 'end', 'font-size': 12 }, token),
    ),
  );
  const squares = tokens.map((_, i) =>
    tokens.map((__, j) => {
      const square = make('rect', {
        x: j * CELL,
        y: i * CELL,
        width: CELL - 1,
        height: CELL - 1,
        onclick: () => choose(j),
      });
      map.append(square);
      return square;
    }),
  );
  const column = make('rect', {
    y: -1,
    width: CELL,
    height: size + 1,
    fill: 'none',
    stroke: 'var(--k)',
    'stroke-width': 2.5,
  });
  map.append(column);

  const mask = checkbox('máscara causal', model.get('masked'), on => {
    save('masked', on);
    draw();
  });
  const depth = slider(
    'capas',
    { min: 1, max: maps.length, step: 1, value: model.get('layers') },
    number => {
      save('layers', number);
      draw();
    },
  );
  const caption = make('p', { style: 'flex: 1 1 16rem; max-width: 26rem; margin: 0' });
  el.replaceChildren(
    make(
      'div',
      { class: 'exp exp-influence' },
      make('div', { class: 'exp-stay' }, mask.node, depth.node),
      sliding('Entradas y salidas', scene),
      voice.node,
      make('div', { class: 'exp-row' }, sliding('El mapa entero', map), caption),
    ),
  );

  function choose(index) {
    save('token', index);
    draw();
  }

  function press(event) {
    const last = tokens.length - 1;
    const now = model.get('token');
    const [after, before] = [Math.min(now + 1, last), Math.max(now - 1, 0)];
    const next = {
      ArrowRight: after,
      ArrowDown: after,
      ArrowLeft: before,
      ArrowUp: before,
      Home: 0,
      End: last,
      ' ': now,
      Enter: now,
      PageUp: now,
      PageDown: now,
    }[event.key]; // las que no mueven, tampoco deslizan la página
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    choose(next);
    inputs[next].node.focus();
  }

  function draw() {
    const [token, layers, masked] = ['token', 'layers', 'masked'].map(name => model.get(name));
    const result = compute(maps, layers, masked, token);
    const most = Math.max(...result.changes);
    tokens.forEach((_, index) => {
      const change = result.changes[index];
      const on = index === token;
      set(inputs[index].node, { tabindex: on ? 0 : -1, 'aria-pressed': String(on) });
      set(inputs[index].box, {
        fill: on ? 'var(--k)' : 'transparent',
        'fill-opacity': 0.45,
        'stroke-width': on ? 3.5 : 1.5,
      });
      set(links[index], {
        x1: center(token),
        y1: 57,
        x2: center(index),
        y2: 171,
        'stroke-width': 1 + (6 * change) / most,
        visibility: change > 0 ? null : 'hidden',
        'stroke-dasharray': index < token ? '6 4' : null,
        'stroke-opacity': 0.25 + (0.7 * change) / most,
      });
      set(outputs[index].box, {
        fill: change > 0 ? 'var(--q)' : 'transparent',
        'fill-opacity': 0.15 + (0.5 * change) / most,
        'stroke-width': change > 0 ? 3 : 1,
        'stroke-dasharray': change > 0 ? null : '3 3',
      });
      outputs[index].value.textContent =
        change > 0 && change < 0.005 ? '< 0.01' : change > 0 ? show(change) : '0';
    });
    const all = maps[layers - 1][Number(masked)];
    const top = Math.max(...all.flat());
    all.forEach((row, i) =>
      row.forEach((change, j) =>
        set(squares[i][j], {
          fill: 'var(--q)',
          'fill-opacity': change > 0 ? 0.12 + (0.88 * change) / top : 0,
        }),
      ),
    );
    set(column, { x: token * CELL - 0.5 });
    columnNames.forEach((name, j) => set(name, { 'font-weight': j === token ? 700 : null }));
    caption.textContent =
      'El mapa entero. Cada fila es una salida; cada columna, el token que se toca: el ' +
      'elegido, recuadrado. ' +
      `Cuanto más intenso el azul, más cambia la salida: el más intenso, ${show(top)}; lo ` +
      'vacío es cero exacto. ' +
      'Elige un token con el ratón, o con el tabulador y las flechas.';
    set(map, {
      'aria-label':
        `Mapa de influencia: ${all.flat().filter(x => x > 0).length} casillas de ` +
        `${all.length ** 2} no son cero`,
    });
    voice.say(sentence(result, tokens, token, masked));
  }

  const reload = () => {
    mask.set(model.get('masked'));
    depth.set(model.get('layers'));
    draw();
  };
  draw();
  return listen(model, { token: reload, layers: reload, masked: reload });
}

export default { render };
