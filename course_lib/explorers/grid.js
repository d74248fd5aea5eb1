// Lo que comparten los exploradores con una rejilla de casillas.

/** Lo más que encoge un dibujo: la letra no baja de 11 píxeles; si no cabe, se desliza. */
const shrinking = wide =>
  `width: 100%; max-width: ${wide}px; min-width: ${Math.round(0.66 * wide)}px`;

/**
 * Una rejilla de casillas de lado `side`, con el nombre de cada fila y de cada columna. Al pulsar
 * una, `pick(i, j)`. A la izquierda y arriba deja sitio para los nombres.
 */
function heatmap(rows, columns, { side, font, left, over, pick }) {
  const size = [left + columns.length * side + 4, over + rows.length * side + 4];
  const middle = side / 2 + 3.5;
  const rowNames = rows.map((name, i) => write(-6, i * side + middle, font, name, END));
  const columnNames = columns.map((name, j) => rising(j * side + middle, -6, font, name));
  const look = { fill: 'var(--q)' };
  const squares = rows.map((_, i) =>
    columns.map((__, j) =>
      rect(j * side, i * side, side - 1, side - 1, { ...look, onclick: () => pick(i, j) }),
    ),
  );
  const frame = make('rect', { fill: 'none', stroke: 'var(--k)', 'stroke-width': 2.5 });
  const node = make(
    'svg',
    {
      viewBox: `${-left} ${-over} ${size.join(' ')}`,
      width: size[0],
      height: size[1],
      role: 'img',
    },
    ...rowNames,
    ...columnNames,
    ...squares.flat(),
    frame,
  );
  return { node, rowNames, columnNames, squares, frame };
}
