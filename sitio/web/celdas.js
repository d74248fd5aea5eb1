'use strict';
{
  // Las celdas de la lección que se pueden cambiar y ejecutar aquí. Lo que se escribe en ellas no se guarda.

  const { lesson } = JSON.parse(document.querySelector('.answers-kept script').textContent);
  const edited = {}; // id → lo escrito

  for (const host of document.querySelectorAll('.lesson-cell')) {
    const { cell: id } = host.dataset;
    const block = host.closest('.cell').previousElementSibling; // la celda, como está en la lección
    const code = block.querySelector('.cell_input');
    const start = code.querySelector('pre').textContent.trimEnd();
    const output = block.querySelector(':scope > .cell_output');
    const open = course.make('button', { type: 'button', className: 'open' }, 'Cambiar y ejecutar');
    open.setAttribute('aria-label', `Cambiar y ejecutar: ${start.split('\n')[0]}`);

    const close = () => {
      delete edited[id];
      code.hidden = false;
      if (output) output.hidden = false;
      host.replaceChildren(open);
      open.focus();
    };

    open.onclick = () => {
      code.hidden = true;
      const onChange = text => (edited[id] = text);
      const ask = async (say, signal) => {
        say('Traigo la lección…');
        const notebook = await course.python.notebook(lesson);
        const before = course.python.before(notebook, one => one.id === id, edited);
        const source = edited[id] ?? start;
        if (output) output.hidden = source !== start || !output.querySelector('img'); // su figura sigue valiendo
        return course.python.ask({ lesson: before, source, library: course.library() }, say, signal);
      };
      const look = { what: 'la celda', label: 'El código de la celda', verb: 'Ejecutar', again: 'Dejarla como estaba' };
      course.desk({ host, text: start, ...look, ask, onChange, onClean: close }).focus();
    };
    host.replaceChildren(open);
  }
}
