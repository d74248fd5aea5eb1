'use strict';
globalThis.course ??= {};
{
  // Las celdas de un cuaderno que se trae que no son de la lección: las que ha puesto o cambiado quien lo escribe.
  // Se ejecutan en su sitio, antes de comprobar una respuesta, y se guardan con ellas.

  const LINE = /^\s*# (Ejercicio|Comprobación) (\d+\.\d+)\b/;
  const { textOf } = course.python;
  const lineOf = cell => (cell.cell_type === 'code' && LINE.exec(textOf(cell))) || [];

  /** Las celdas de un cuaderno, también de los formatos de antes. */
  const cellsOf = book => book.cells ?? book.worksheets.flatMap(({ cells }) => cells);

  /** De un cuaderno que se trae: las respuestas, y lo suyo: detrás de qué celda va cada una, y las cambiadas. */
  function read(book, lesson) {
    const known = lesson.cells.filter(({ cell_type: kind }) => kind === 'code');
    const [answers, own, changed] = [{}, [], {}];
    let last = null;
    for (const cell of cellsOf(book).filter(({ cell_type: kind }) => kind === 'code')) {
      const text = textOf(cell);
      const [, what, number] = lineOf(cell);
      if (what === 'Ejercicio') answers[number] = text;
      const same = what
        ? known.find(one => lineOf(one)[1] === what && lineOf(one)[2] === number)
        : (known.find(one => one.id === cell.id) ?? known.find(one => textOf(one).trim() === text.trim()));
      if (same) last = same.id;
      if (same && !what && textOf(same).trim() !== text.trim()) changed[same.id] = text;
      if (!same && !what && text.trim()) own.push([last, text]);
    }
    return { answers, own, changed };
  }

  /** La lección, con lo suyo en su sitio. */
  function merged(lesson, { own, changed }) {
    const after = place => own.filter(([id]) => id === place).map(([, source]) => ({ ...EMPTY, source, own: true }));
    const cells = lesson.cells.map(cell => ({ ...cell, source: changed[cell.id] ?? cell.source }));
    return { ...lesson, cells: [...after(null), ...cells.flatMap(cell => [cell, ...after(cell.id)])] };
  }
  const EMPTY = { cell_type: 'code', metadata: {}, outputs: [], execution_count: null };

  /** Lo que hay que ejecutar para comprobar una respuesta, en el orden del cuaderno. */
  function around({ cells }, number, answers) {
    const parts = { lesson: [], before: {}, after: [] };
    let passed = false;
    for (const cell of cells.filter(({ cell_type: kind }) => kind === 'code')) {
      const [, what, other] = lineOf(cell);
      if (what === 'Comprobación' && other === number) break;
      if (what === 'Ejercicio' && other === number) passed = true;
      else if (what === 'Ejercicio' && !passed && other in answers) parts.before[other] = answers[other];
      else if (passed && cell.own) parts.after.push(textOf(cell));
      else if (passed || what || cell.metadata.nbgrader) continue;
      else if (cell.own && Object.keys(parts.before).length) parts.before[`celda ${cells.indexOf(cell)}`] = textOf(cell);
      else parts.lesson.push(textOf(cell));
    }
    return parts;
  }

  course.own = { read, merged, around };
}
