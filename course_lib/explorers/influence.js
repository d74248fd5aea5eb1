// Influencia: qué salidas se mueven al tocar un token. Las cuentas son las de `compute`, en
// influence.py.

const [FONT, FAINT] = [17, { opacity: 0.8 }];
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
    // La letra no baja de 11 píxeles; si no cabe, se desliza.
    style: `width: 100%; max-width: ${wide}px; min-width: ${Math.round(0.66 * wide)}px`,
  });
  const center = index => (index + 0.5) * WIDTH;
  const links = tokens.map(() => make('line', { stroke: 'var(--q)' }));
  const boxAt = (index, y, height) =>
    rect(center(index) - WIDTH / 2 + 3, y, WIDTH - 6, height, { rx: 8, stroke: 'currentColor' });
  const inputs = tokens.map((token, index) => {
    const box = boxAt(index, 22, 38);
    const node = focusable(
      make(
        'g',
        {
          role: 'button',
          class: 'exp-handle',
          'aria-label': `Tocar ${token}`,
          onclick: () => save('token', index),
          onkeydown: press,
        },
        box,
        write(center(index), 47, FONT, token, MIDDLE),
      ),
    );
    return { node, box };
  });
  const outputs = tokens.map((token, index) => {
    const box = boxAt(index, 172, 34);
    const value = write(center(index), 226, FONT, '', MIDDLE);
    scene.append(box, value, write(center(index), 195, FONT, token, MIDDLE));
    return { box, value };
  });
  scene.prepend(...links);
  scene.append(
    ...inputs.map(input => input.node),
    write(3, 15, FONT, 'entrada: elige cuál se toca', FAINT),
    write(3, 248, FONT, 'salidas, y cuánto cambia cada una (a trazos, hacia atrás)', FAINT),
  );

  // --- El mapa entero: una fila por salida, una columna por token tocado, con sus nombres --------
  const SIDE = 16;
  const edge = 8 * longest + 10;
  const map = heatmap(tokens, tokens, SIDE, edge, (_, j) => ({ onclick: () => save('token', j) }));
  set(map.frame, { y: -1, width: SIDE, height: tokens.length * SIDE + 1 });

  const mask = checkbox('máscara causal', false, on => save('masked', on));
  const depth = slider('capas', { min: 1, max: maps.length, step: 1, value: 1 }, number =>
    save('layers', number),
  );
  const caption = make('p');
  mount(
    el,
    'exp-influence',
    '',
    div('exp-stay', mask.node, depth.node),
    sliding('Entradas y salidas', scene),
    voice.node,
    div('exp-row exp-map', sliding('El mapa entero', map.node), caption),
  );

  function press(event) {
    const now = model.get('token');
    // Las que no mueven, tampoco deslizan la página.
    const still = { ' ': now, Enter: now, PageUp: now, PageDown: now };
    const next = arrowTo(event, now, tokens.length, still);
    if (next === undefined) return;
    save('token', next);
    inputs[next].node.focus();
  }

  function draw() {
    const [token, layers, masked] = ['token', 'layers', 'masked'].map(name => model.get(name));
    const result = compute(maps, layers, masked, token);
    mask.set(masked);
    depth.set(layers);
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
    map.paint((i, j) => (all[i][j] > 0 ? 0.12 + (0.88 * all[i][j]) / top : 0));
    set(map.frame, { x: token * SIDE - 0.5 });
    map.columnNames.forEach((name, j) => set(name, { 'font-weight': j === token ? 700 : null }));
    caption.textContent =
      'El mapa entero. Cada fila es una salida; cada columna, el token que se toca: el ' +
      'elegido, recuadrado. ' +
      `Cuanto más intenso el azul, más cambia la salida: el más intenso, ${show(top)}; lo ` +
      'vacío es cero exacto. Elige un token.';
    caption.append(byKeys('tabulador hasta uno, y flechas.'));
    set(map.node, {
      'aria-label':
        `Mapa de influencia: ${all.flat().filter(x => x > 0).length} casillas de ` +
        `${all.length ** 2} no son cero`,
    });
    voice.say(sentence(result, tokens, token, masked));
  }

  draw();
  return listen(model, { token: draw, layers: draw, masked: draw });
}

export default { render };
