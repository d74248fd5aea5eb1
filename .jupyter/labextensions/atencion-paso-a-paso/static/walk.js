/* Ejecutar y avanzar: JupyterLab pasa a la celda siguiente aunque esté plegada; aquí, a la siguiente que se ve. */
export function walk(NotebookActions) {
  const { run, runAndAdvance } = NotebookActions;
  NotebookActions.runAndAdvance = (notebook, ...rest) => {
    const cells = notebook.widgets;
    const after = cells.findLastIndex(cell => notebook.isSelectedOrActive(cell)) + 1;
    if (!cells[after]?.isHidden) return runAndAdvance(notebook, ...rest);
    const ran = run(notebook, ...rest);
    const next = cells.findIndex((cell, k) => k > after && !cell.isHidden);
    if (next > 0) {
      notebook.activeCellIndex = next;
      notebook.scrollToItem(next, 'smart', 0, 'center').catch(() => {});
    }
    return ran;
  };
}
