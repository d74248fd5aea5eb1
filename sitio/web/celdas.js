'use strict';
{
  // Las celdas de la lección que se pueden cambiar y ejecutar aquí. Lo que se escribe en ellas no se guarda, salvo
  // las líneas de quien aprende, que son suyas: con ellas sigue la lección.

  const { lesson } = JSON.parse(document.querySelector('.answers-kept script').textContent);
  const edited = {}; // id → lo escrito
  const kept = name => course.kept(`${course.home}/${lesson}/${name}`);

  for (const host of document.querySelectorAll('.lesson-cell')) {
    const { cell: id } = host.dataset;
    const block = host.closest('.cell').previousElementSibling; // la celda, como está en la lección
    const code = block.querySelector('.cell_input');
    const start = code.querySelector('pre').textContent.trimEnd();
    const output = block.querySelector(':scope > .cell_output');
    const own = start.startsWith('@your_line') && `${course.home}/${lesson}/${id}`;
    const verb = own ? 'Escribir tu línea' : 'Cambiar y ejecutar';
    const open = course.make('button', { type: 'button', className: 'open' }, verb);
    const mine = own && kept(id);
    if (mine) edited[id] = mine;
    open.setAttribute('aria-label', `${verb}: ${start.split('\n')[own ? 1 : 0]}`);

    const onChange = text => {
      edited[id] = text;
      try {
        if (own) localStorage.setItem(own, text);
      } catch {
        // lo dice la página, donde los ejercicios
      }
    };
    const close = () => {
      if (own) onChange('');
      delete edited[id];
      code.hidden = false;
      if (output) output.hidden = false;
      host.replaceChildren(open);
      open.focus();
    };

    const begin = () => {
      code.hidden = true;
      const ask = async (say, signal) => {
        say('Traigo la lección…');
        const notebook = await course.python.notebook(lesson);
        const before = course.python.before(notebook, one => one.id === id, edited, kept);
        const source = edited[id] ?? start;
        if (output) output.hidden = source !== start || !output.querySelector('.course-explorer'); // el suyo sigue vivo
        const found = await course.python.ask({ lesson: before, source, library: course.library() }, say, signal);
        if (own && found.piece) course.keepLine(found.piece, before, source);
        if (own && !found.unsolved) course.progress.tried(host.dataset.line, Boolean(found.piece), 'lines');
        return found;
      };
      const look = { what: 'la celda', label: 'El código de la celda', verb: 'Ejecutar', again: 'Dejarla como estaba' };
      return course.desk({ host, text: edited[id] ?? start, ...look, ask, onChange, onClean: close });
    };
    open.onclick = () => begin().focus();
    if (edited[id]) {
      begin();
      if (output) output.hidden = true; // dice que está por escribir
    } else host.replaceChildren(open);
  }
}
