// Influencia: qué salidas se mueven al tocar un token. Las cuentas son las de `compute`, en influence.py.

/** Las mismas cuentas que `compute` en Python. */
export function compute(maps, layers, masked, token) {
  const changes = maps[layers - 1][Number(masked)].map(row => row[token]);
  const moved = changes.flatMap((change, i) => (change > 0 ? [i] : []));
  return { changes, moved, leaks: moved.filter(i => i < token) };
}

/** Lo que se ve, en una frase. */
export function sentence({ moved, leaks }, tokens, token) {
  const named = moved.map(i => tokens[i]).join(', ');
  const start = `Tocar «${tokens[token]}» mueve ${moved.length} de ${tokens.length} salidas: ${named}. `;
  return start + (leaks.length
    ? `Van antes ${leaks.length}: a ellas les llega el futuro.`
    : 'Ninguna va antes: el futuro no se escapa.');
}

function render({ model, el }) {
  const tokens = model.get('tokens');
  const maps = model.get('maps');
  const save = saver(model);
  const voice = announcer();
  const WIDTH = 72;
  const wide = tokens.length * WIDTH;

  // --- Los tokens de arriba se tocan; los de abajo son las salidas ---------------------------------
  const scene = make('svg', { viewBox: `0 0 ${wide} 250`, style: 'width: 100%', role: 'group',
    'aria-label': 'Entradas arriba y salidas abajo' });
  const center = index => (index + 0.5) * WIDTH;
  const links = tokens.map(() => make('line', { stroke: 'var(--q)' }));
  const inputs = tokens.map((token, index) => {
    const box = make('rect', { x: center(index) - 33, y: 22, width: 66, height: 34, rx: 8, fill: 'transparent',
      stroke: 'currentColor', 'stroke-width': 1.5 });
    const node = focusable(make('g', { role: 'button', class: 'exp-handle', 'aria-label': `Tocar ${token}`,
      onclick: () => choose(index), onkeydown: event => press(event) },
    box, make('text', { x: center(index), y: 44, 'text-anchor': 'middle', 'font-size': 15 }, token)));
    return { node, box };
  });
  const outputs = tokens.map((token, index) => {
    const box = make('rect', { x: center(index) - 33, y: 172, width: 66, height: 34, rx: 8, stroke: 'currentColor' });
    const value = make('text', { x: center(index), y: 228, 'text-anchor': 'middle', 'font-size': 15 });
    scene.append(box, value,
      make('text', { x: center(index), y: 194, 'text-anchor': 'middle', 'font-size': 15 }, token));
    return { box, value };
  });
  scene.prepend(...links);
  scene.append(...inputs.map(input => input.node),
    make('text', { x: 4, y: 14, 'font-size': 14, opacity: 0.8 }, 'entrada: elige cuál se toca'),
    make('text', { x: 4, y: 246, 'font-size': 14, opacity: 0.8 }, 'cuánto cambia cada salida'));

  // --- El mapa entero: una fila por salida, una columna por token tocado ---------------------------
  const CELL = 16;
  const size = tokens.length * CELL;
  const map = make('svg', { viewBox: `-2 -2 ${size + 4} ${size + 4}`, style: `width: ${size + 4}px; max-width: 100%`,
    role: 'img' });
  const squares = tokens.map((_, i) => tokens.map((__, j) => {
    const square = make('rect', { x: j * CELL, y: i * CELL, width: CELL - 1, height: CELL - 1, onclick: () => choose(j) });
    map.append(square);
    return square;
  }));
  const column = make('rect', { y: -1, width: CELL, height: size + 1, fill: 'none', stroke: 'var(--k)', 'stroke-width': 2.5 });
  map.append(column);

  const mask = checkbox('máscara causal', model.get('masked'), on => { save('masked', on); draw(); });
  const depth = slider('capas', { min: 1, max: maps.length, step: 1, value: model.get('layers') },
    number => { save('layers', number); draw(); });
  el.replaceChildren(make('div', { class: 'exp' },
    make('div', {}, mask.node, depth.node), scene, voice.node,
    make('div', { class: 'exp-row' }, map, make('p', { style: 'max-width: 24rem; margin: 0' },
      'El mapa entero: una fila por salida y una columna por token tocado; la elegida, recuadrada. ',
      'Lo vacío es cero exacto. Elige un token con el ratón, o con el tabulador y las flechas.'))));

  function choose(index) {
    save('token', index);
    draw();
  }

  function press(event) {
    const last = tokens.length - 1;
    const now = model.get('token');
    const next = { ArrowRight: Math.min(now + 1, last), ArrowLeft: Math.max(now - 1, 0), Home: 0, End: last,
      ' ': now, Enter: now }[event.key];
    if (next === undefined) return;
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
      set(inputs[index].box, { fill: on ? 'var(--k)' : 'transparent', 'fill-opacity': 0.45, 'stroke-width': on ? 3.5 : 1.5 });
      set(links[index], { x1: center(token), y1: 57, x2: center(index), y2: 171, 'stroke-width': 1 + 6 * change / most,
        visibility: change > 0 ? null : 'hidden', 'stroke-dasharray': index < token ? '6 4' : null,
        'stroke-opacity': 0.25 + 0.7 * change / most });
      set(outputs[index].box, { fill: change > 0 ? 'var(--q)' : 'transparent', 'fill-opacity': 0.15 + 0.5 * change / most,
        'stroke-width': change > 0 ? 3 : 1, 'stroke-dasharray': change > 0 ? null : '3 3' });
      outputs[index].value.textContent = change > 0 ? show(change, 2) : '0';
    });
    const all = maps[layers - 1][Number(masked)];
    const top = Math.max(...all.flat());
    all.forEach((row, i) => row.forEach((change, j) => set(squares[i][j],
      { fill: 'var(--q)', 'fill-opacity': change > 0 ? 0.12 + 0.88 * change / top : 0 })));
    set(column, { x: token * CELL - 0.5 });
    set(map, { 'aria-label': `Mapa de influencia: ${all.flat().filter(x => x > 0).length} casillas de ${all.length ** 2} no son cero` });
    voice.say(sentence(result, tokens, token));
  }

  const reload = () => {
    mask.set(model.get('masked'));
    depth.set(model.get('layers'));
    draw();
  };
  for (const name of ['token', 'layers', 'masked']) model.on(`change:${name}`, reload);
  draw();
  return () => { for (const name of ['token', 'layers', 'masked']) model.off(`change:${name}`, reload); };
}

export default { render };
