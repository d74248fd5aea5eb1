/*
 * Andar una lección con las teclas. Ejecutar y avanzar: JupyterLab pasa a la celda siguiente aunque esté
 * plegada; aquí, a la siguiente que se ve. Y de una pregunta o un explorador se entra y se sale.
 */
export function walk(NotebookActions) {
  const { run, runAndAdvance } = NotebookActions;
  NotebookActions.runAndAdvance = (notebook, ...rest) => {
    const cells = notebook.widgets;
    const after = cells.findLastIndex(cell => notebook.isSelectedOrActive(cell)) + 1;
    const lastText = after === cells.length && cells.at(-1)?.model.type === 'markdown';
    if (lastText) return run(notebook, ...rest); // una lección acaba ahí: no le crece otra celda
    const next = cells.findIndex((cell, k) => k >= after && !cell.isHidden);
    const jumps = cells[after]?.isHidden;
    const ran = (jumps ? run : runAndAdvance)(notebook, ...rest);
    if (jumps && next > 0) {
      notebook.activeCellIndex = next;
      notebook.scrollToItem(next, 'smart', 0, 'center').catch(() => {});
    }
    const cell = cells[next]?.node;
    const height = notebook.node.querySelector('.jp-WindowedPanel-outer')?.clientHeight;
    // Lo que casi llena la ventana se empieza a ver por arriba.
    if (cell?.clientHeight > 0.6 * height) notebook.scrollToItem(next, 'start').catch(() => {});
    return ran;
  };
}

const CONTROLS = 'input, select, button, textarea, [tabindex="0"]';

/** El tabulador entra en lo que tiene una celda; con Esc se vuelve a ella, y con Mayús+Intro se sigue. */
export function enter(tracker, commands) {
  const keys = event => {
    const { key, shiftKey, target } = event;
    const { content } = tracker.currentWidget ?? {};
    if (!content?.node.contains(target) || document.body.dataset.clase) return;
    const onward = key === 'Enter' && shiftKey;
    const explorer = target.closest('.exp');
    let done = false;
    if (explorer && (key === 'Escape' || onward)) {
      content.activeCellIndex = content.widgets.findIndex(cell => cell.node.contains(explorer));
      content.mode = 'command';
      content.activeCell.node.focus();
      if (onward) commands.execute('notebook:run-cell-and-select-next');
      done = true;
    } else if (key === 'Tab' && !shiftKey && target === content.activeCell?.node) {
      const every = [...target.querySelectorAll('.exp')].flatMap(one => [
        ...one.querySelectorAll(CONTROLS),
      ]);
      const first = every.find(one => one.checkVisibility() && !one.matches(':disabled'));
      first?.focus();
      done = first;
    }
    if (!done) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  window.addEventListener('keydown', keys, true);
  // Un enlace a otra celda del mismo cuaderno lleva también a quien anda con las teclas.
  window.addEventListener('click', ({ target }) => {
    const name = target.closest?.('a[href*="#cell-id="]')?.href.split('#cell-id=')[1];
    const { content } = tracker.currentWidget ?? {};
    const k = content?.node.contains(target)
      ? content.widgets.findIndex(cell => cell.model.id === name)
      : -1;
    if (k >= 0) setTimeout(() => (content.activeCellIndex = k), 100);
  });
}
