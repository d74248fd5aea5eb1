// Atención cruzada, paso a paso. Las cuentas son las de `compute`, en cross.py.

/** Las mismas cuentas que `compute` en Python. */
export function compute(weights, head, step) {
  const rows = head < 0 ? weights.map(matrix => matrix[step]) : [weights[head][step]];
  const row = rows[0].map((_, j) => rows.reduce((sum, other) => sum + other[j], 0) / rows.length);
  return { row, best: row.indexOf(Math.max(...row)), even: 1 / row.length };
}

/** Lo que se ve, en una frase. */
export function sentence({ row, best, even }, origin, predicted, step) {
  return `Paso ${step + 1}: para predecir «${predicted[step]}» mira sobre todo a «${origin[best]}» `
    + `(${show(row[best])}; a partes iguales, ${show(even)}).`;
}

function render({ model, el }) {
  const [origin, seen, predicted, weights] = ['source_tokens', 'seen', 'predicted', 'weights'].map(name => model.get(name));
  const save = saver(model);
  const voice = announcer();
  const last = seen.length - 1;
  const WIDTH = 78;
  const wide = Math.max(origin.length, 6) * WIDTH;

  // --- Arriba, la frase de origen; abajo, lo escrito hasta aquí y lo que se predice -----------------
  const scene = make('svg', { viewBox: `0 0 ${wide} 196`, style: `width: 100%; max-width: ${wide}px`, role: 'img' });
  const from = { x: wide / 2, y: 140 };
  const boxes = origin.map((token, index) => {
    const x = (index + 0.5) * WIDTH;
    const line = make('line', { x1: from.x, y1: from.y, x2: x, y2: 80, stroke: 'var(--q)' });
    const box = make('rect', { x: x - 36, y: 44, width: 72, height: 34, rx: 8, stroke: 'currentColor', fill: 'var(--v)' });
    const value = make('text', { x, y: 34, 'text-anchor': 'middle', 'font-size': 15 });
    scene.append(line, box, value, make('text', { x, y: 66, 'text-anchor': 'middle', 'font-size': 15 }, token));
    return { line, box, value };
  });
  const query = make('text', { x: from.x, y: 163, 'text-anchor': 'middle', 'font-size': 17, 'font-weight': 700 });
  scene.append(make('rect', { x: from.x - 190, y: from.y, width: 380, height: 34, rx: 8, fill: 'transparent',
    stroke: 'var(--q)', 'stroke-width': 3 }), query,
  make('text', { x: 4, y: 14, 'font-size': 14, opacity: 0.8 }, 'frase de origen (keys y values) y su peso'),
  make('text', { x: 4, y: 192, 'font-size': 14, opacity: 0.8 }, 'el decoder (query)'));

  // --- Los mandos ---------------------------------------------------------------------------------
  const names = ['media', ...weights.map((_, index) => `cabeza ${index}`)];
  const id = `exp-${serial++}`;
  const heads = focusable(make('select', { id, onchange: () => { save('head', Number(heads.value)); draw(); } },
    ...names.map((name, index) => make('option', { value: index - 1 }, name))));
  const bar = slider('paso', { min: 0, max: last, step: 1, value: model.get('step'), format: x => `${x + 1} de ${last + 1}` }, go);
  const back = button('← anterior', () => go(model.get('step') - 1));
  const forward = button('siguiente →', () => go(model.get('step') + 1));
  const written = make('p', { style: 'margin: 0.2rem 0' });

  // --- Todos los pasos, en una rejilla --------------------------------------------------------------
  const CELL = 13;
  const grid = make('svg', { viewBox: `-2 -2 ${origin.length * CELL + 4} ${seen.length * CELL + 4}`, role: 'img',
    style: `width: ${origin.length * CELL + 4}px; max-width: 100%` });
  const squares = seen.map((_, i) => origin.map((__, j) => {
    const square = make('rect', { x: j * CELL, y: i * CELL, width: CELL - 1, height: CELL - 1, fill: 'var(--q)', onclick: () => go(i) });
    grid.append(square);
    return square;
  }));
  const frame = make('rect', { x: -1, width: origin.length * CELL + 1, height: CELL, fill: 'none', stroke: 'var(--k)', 'stroke-width': 2.5 });
  grid.append(frame);

  const note = model.get('note');
  el.replaceChildren(make('div', { class: 'exp' },
    make('div', {}, back, ' ', forward, ' ', bar.node,
      make('span', { class: 'exp-control' }, make('label', { for: id }, 'pesos de'), heads)),
    ...(note ? [make('p', { style: 'border-left: 4px solid var(--k); padding-left: 0.6rem; margin: 0.2rem 0' }, `⚠ ${note}`)] : []),
    written, scene, voice.node,
    make('div', { class: 'exp-row' }, grid, make('p', { style: 'max-width: 24rem; margin: 0' },
      'Todos los pasos: una fila por paso de la escritura y una columna por token de origen; el de ahora, recuadrado.'))));

  function go(step) {
    save('step', Math.max(0, Math.min(last, step)));
    bar.set(model.get('step'));
    draw();
  }

  function draw() {
    const [step, head] = [model.get('step'), model.get('head')];
    const result = compute(weights, head, step);
    const top = Math.max(...result.row);
    boxes.forEach(({ line, box, value }, index) => {
      const weight = result.row[index];
      const best = index === result.best;
      set(line, { 'stroke-width': 1 + 8 * weight, 'stroke-opacity': 0.15 + 0.8 * weight / top });
      set(box, { 'fill-opacity': 0.05 + 0.6 * weight / top, 'stroke-width': best ? 3.5 : 1 });
      set(value, { 'font-weight': best ? 700 : 400 });
      value.textContent = show(weight);
    });
    query.textContent = `ve «${seen[step]}» y predice «${predicted[step]}»`;
    written.textContent = `Escrito: ${seen.slice(0, step + 1).join(' ')} ▸ ${predicted[step]}`;
    seen.forEach((_, i) => compute(weights, head, i).row.forEach((weight, j) => set(squares[i][j], { 'fill-opacity': weight })));
    set(frame, { y: step * CELL - 0.5 });
    set(grid, { 'aria-label': `Pesos de ${last + 1} pasos sobre ${origin.length} tokens de origen` });
    set(scene, { 'aria-label': sentence(result, origin, predicted, step) });
    heads.value = head;
    back.disabled = step === 0;
    forward.disabled = step === last;
    voice.say(sentence(result, origin, predicted, step));
  }

  const reload = () => { bar.set(model.get('step')); draw(); };
  for (const name of ['step', 'head']) model.on(`change:${name}`, reload);
  draw();
  return () => { for (const name of ['step', 'head']) model.off(`change:${name}`, reload); };
}

export default { render };
