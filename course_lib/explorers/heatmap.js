// Lo que comparten los exploradores con una rejilla.

/** Sus casillas, sus nombres y un recuadro. `look(i, j)` es lo propio de cada casilla. */
function heatmap(rows, columns, side, edge, look) {
  const [wide, tall] = [columns, rows].map(names => edge + names.length * side + 4);
  const middle = side / 2 + 3.5;
  const rowNames = rows.map((name, i) => write(-6, i * side + middle, 12, name, END));
  const columnNames = columns.map((name, j) =>
    typeof name === 'number' // tumbado no se lee
      ? write((j + 0.5) * side, -6, 12, name, MIDDLE)
      : rising(j * side + middle, -6, 12, name),
  );
  const squares = rows.map((_, i) =>
    columns.map((__, j) =>
      rect(j * side, i * side, side - 1, side - 1, { fill: 'var(--q)', ...look(i, j) }),
    ),
  );
  const frame = make('rect', { fill: 'none', stroke: 'var(--k)', 'stroke-width': 2.5 });
  const box = { viewBox: `${-edge} ${-edge} ${wide} ${tall}`, width: wide, height: tall };
  const about = { ...box, role: 'img' };
  const node = make('svg', about, ...rowNames, ...columnNames, ...squares.flat(), frame);
  const paint = fill =>
    squares.forEach((line, i) =>
      line.forEach((cell, j) => set(cell, { 'fill-opacity': fill(i, j) })),
    );
  return { node, columnNames, paint, frame };
}
