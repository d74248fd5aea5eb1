// Atención cruzada, paso a paso. Las cuentas son las de `compute`, en cross.py.

const NEAR = 1.25; // «casi por igual»: ningún peso se aleja más que esto de las partes iguales
// «Sobre todo»: el mayor es al menos este número de partes iguales, o la mitad del total.
const MOSTLY = 2;
const FONT = 17;
const STYLE = css`
  .exp-cross [aria-disabled='true'] {
    opacity: 0.5;
    border-style: dashed;
    cursor: default;
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
  const few = many ? `${names.slice(0, -1).join(', ')} y ${names.at(-1)}` : names[0];
  const named = ties.length > 3 ? `${ties.length} tokens` : few;
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

/** Un token, recortado si es muy largo, para rotular la rejilla. */
const brief = token => ([...token].length > 10 ? `${[...token].slice(0, 9).join('')}…` : token);

/** Lo que se ve, en una frase. */
export function sentence(result, origin, seen, predicted, step) {
  return (
    `Paso ${step + 1}: entra «${seen[step]}» y, para predecir «${predicted[step]}», ` +
    `${looks(result, origin)}.`
  );
}

function build(model, el) {
  const [origin, seen, predicted, weights] = ['source_tokens', 'seen', 'predicted', 'weights'].map(
    name => model.get(name),
  );
  const save = saver(model);
  const voice = announcer();
  const last = seen.length - 1;
  const longest = tokens => Math.max(...tokens.map(token => [...token].length));
  const WIDTH = Math.max(66, 10 * longest(origin) + 12);
  const wide = Math.max(origin.length, 6) * WIDTH;

  // --- Arriba, la frase de origen; abajo, lo escrito hasta aquí y lo que se predice --------------
  const scene = make('svg', {
    viewBox: `0 0 ${wide} 191`,
    role: 'img',
    style: shrinking(wide),
  });
  const from = { x: wide / 2, y: 131 };
  const boxes = origin.map((token, index) => {
    const x = (index + 0.5) * WIDTH;
    const line = segment(from.x, from.y, x, 80, { stroke: 'var(--q)' });
    const box = rect(x - WIDTH / 2 + 3, 45, WIDTH - 6, 34, {
      rx: 8,
      stroke: 'currentColor',
      fill: 'var(--v)',
    });
    const value = write(x, 38, FONT, '', MIDDLE);
    scene.append(line, box, value, write(x, 68, FONT, token, MIDDLE));
    return { line, box, value };
  });
  const query = write(from.x, 154, FONT, '', { ...MIDDLE, 'font-weight': 700 });
  scene.append(
    rect(from.x - 190, from.y, 380, 34, {
      rx: 8,
      fill: 'transparent',
      stroke: 'var(--q)',
      'stroke-width': 3,
    }),
    query,
    write(4, 15, FONT, 'frase de origen (keys y values) y su peso', { opacity: 0.8 }),
    write(4, 186, FONT, 'el decoder (query)', { opacity: 0.8 }),
  );

  // --- Los mandos --------------------------------------------------------------------------------
  const names = ['media', ...weights.map((_, index) => `cabeza ${index}`)];
  const heads = choice('pesos de', index => save('head', index - 1));
  const bar = slider(
    'paso',
    {
      min: 0,
      max: last,
      step: 1,
      value: model.get('step'),
      format: x => `${x + 1} de ${last + 1}`,
    },
    go,
  );
  const back = button('← anterior', () => go(model.get('step') - 1));
  const forward = button('siguiente →', () => go(model.get('step') + 1));
  const written = make('p', { style: 'margin: 0.2rem 0' });

  // --- Todos los pasos, en una rejilla: filas y columnas con su nombre ---------------------------
  const SIDE = 14;
  const HEADING = 'entra → predice';
  const steps = seen.map((token, i) => `${brief(token)} → ${brief(predicted[i])}`);
  const [left, over] = [[HEADING, ...steps], origin.map(brief)].map(
    names => 7 * longest(names) + 10,
  );
  const grid = heatmap(steps, origin.map(brief), {
    side: SIDE,
    font: 11.5,
    left,
    over,
    pick: go,
  });
  grid.node.prepend(write(-6, -6, 11.5, HEADING, END));
  set(grid.frame, { x: -1.5, width: origin.length * SIDE + 2, height: SIDE });

  const caption = make('p');
  const note = model.get('note');
  el.replaceChildren(
    div('exp-stay', back, ' ', forward, ' ', bar.node, heads.node),
    ...(note ? [make('p', { class: 'exp-note', style: 'margin: 0.2rem 0' }, `⚠ ${note}`)] : []),
    written,
    sliding('A qué mira este paso', scene),
    voice.node,
    div('exp-row exp-map', sliding('Todos los pasos', grid.node), caption),
  );

  function go(step) {
    if (step >= 0 && step <= last) save('step', step);
  }

  function draw() {
    const [step, head] = [Math.min(model.get('step'), last), model.get('head')];
    const result = compute(weights, head, step);
    const top = Math.max(...result.row);
    boxes.forEach(({ line, box, value }, index) => {
      const weight = result.row[index];
      // Si casi empatan todos, no se destaca ninguno.
      const best = !result.near && result.ties.includes(index);
      set(line, { 'stroke-width': 1 + 8 * weight, 'stroke-opacity': 0.15 + (0.8 * weight) / top });
      set(box, { 'fill-opacity': 0.05 + (0.6 * weight) / top, 'stroke-width': best ? 3.5 : 1 });
      set(value, { 'font-weight': best ? 700 : 400 });
      value.textContent = show(weight);
    });
    query.textContent = `entra «${seen[step]}», predice «${predicted[step]}»`;
    written.textContent = `Escrito: ${seen.slice(0, step + 1).join(' ')} ▸ ${predicted[step]}`;
    const all = seen.map((_, i) => compute(weights, head, i).row);
    const most = Math.max(...all.flat());
    all.forEach((row, i) =>
      row.forEach((weight, j) => set(grid.squares[i][j], { 'fill-opacity': weight / most })),
    );
    grid.rowNames.forEach((name, i) => set(name, { 'font-weight': i === step ? 700 : null }));
    caption.textContent =
      'Todos los pasos. Cada fila es un paso: el token que entra en el decoder y el que predice; ' +
      'el de ahora, recuadrado. ' +
      'Cada columna es un token de la frase de origen. Cuanto más intenso el azul, más peso: ' +
      'el más intenso es el mayor ' +
      `de la rejilla (${show(most)}), y sin color sería 0.`;
    set(grid.frame, { y: step * SIDE - 0.5 });
    set(grid.node, {
      'aria-label': `Pesos de ${last + 1} pasos sobre ${origin.length} tokens de origen`,
    });
    set(scene, { 'aria-label': sentence(result, origin, seen, predicted, step) });
    bar.set(step);
    heads.set(head + 1, names);
    set(back, { 'aria-disabled': step === 0 ? 'true' : null }); // sin perder el foco al llegar
    set(forward, { 'aria-disabled': step === last ? 'true' : null });
    voice.say(sentence(result, origin, seen, predicted, step));
  }

  draw();
  return listen(model, { step: draw, head: draw });
}

const render = view => mountAsking(view, 'exp-cross', STYLE, 'weights', build);

export default { render };
