/* Lo que el curso añade: presentar una clase (un botón, el menú Ver y la paleta) y la mesa de quien estudia. */
import { Desk } from './desk.js';
import { explorers } from './explorers.js';
import { coursePanel } from './panel.js';
import { Show, slidesOf } from './present.js';
import { Saver } from './saving.js';
import { enter, walk } from './walk.js';

const CALL = 'presentar:empezar';
const PANEL = 'curso:panel';
const LESSON = /\d\d_\w+\.ipynb$/;
const NOTHING =
  'Este cuaderno no tiene diapositivas. Las clases están en notebooks/clases: abre una y pulsa Presentar.';

let saver;

/** Si el servidor no contesta, lo dice quien guarda, y no JupyterLab con una ventana. */
export const silence = ({ IConnectionLost }) => ({
  id: 'atencion-paso-a-paso:sin-servidor',
  description: 'Dice que el servidor no contesta.',
  autoStart: true,
  provides: IConnectionLost,
  activate: () => async () => saver?.lost(),
});

export const plugin = (apputils, { INotebookTracker, NotebookActions }, { Widget }) => ({
  id: 'atencion-paso-a-paso:presentar',
  description: 'Presenta una clase, y acompaña a quien estudia.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [apputils.ICommandPalette],
  activate: (app, tracker, palette) => {
    walk(NotebookActions);
    enter(tracker, app.commands);
    const running = (panel, title) => ({
      run: cells => NotebookActions.runCells(panel.content, cells, panel.sessionContext),
      say: text => apputils.showErrorMessage(title, text),
      executed: NotebookActions.executed,
    });
    tracker.widgetAdded.connect((_, panel) => explorers(panel, running(panel, 'Ejecutar')));

    const desk = new Desk(app, tracker);
    saver = new Saver(app, tracker, desk, apputils);
    const { panel: course, refresh } = coursePanel(Widget, desk, tracker);
    app.shell.add(course, 'left', { rank: 50 });
    app.commands.addCommand(PANEL, {
      label: 'Panel «Curso»: por dónde vas',
      execute: () => app.shell.activateById(course.id),
    });
    app.commands.addKeyBinding({ command: PANEL, keys: ['F8'], selector: 'body:not([data-clase])' });
    palette?.addItem({ command: PANEL, category: 'Curso' });
    let soon;
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      desk.ran(notebook, cell);
      if (cell.model.getMetadata('nbgrader')?.grade !== true) return;
      clearTimeout(soon);
      soon = setTimeout(refresh, 500); // un ejercicio comprobado
    });
    app.restored.then(() => desk.start());

    const present = panel => new Show(app, panel, running(panel, 'Presentar'));

    /** La clase de una lección: el cuaderno que se llama igual, en notebooks/clases. */
    async function deckOf(panel) {
      const name = panel.context.path.match(LESSON)?.[0];
      if (!name) return null;
      const deck = await app.commands
        .execute('docmanager:open', { path: `notebooks/clases/${name}` })
        .catch(() => null);
      await deck?.context.ready;
      await deck?.revealed;
      return deck;
    }

    app.commands.addCommand(CALL, {
      label: 'Presentar',
      caption: 'Proyectar la clase: → avanza, G la lista, N las notas, Esc sale',
      isEnabled: () => tracker.currentWidget !== null,
      execute: async () => {
        let panel = tracker.currentWidget;
        if (!panel || document.body.dataset.clase) return;
        await panel.context.ready;
        if (!slidesOf(panel.content).length) panel = await deckOf(panel);
        // Lo que JupyterLab deja para cuando pinte se queja si antes se cambia cómo dibuja las celdas.
        await new Promise(requestAnimationFrame);
        if (!panel || !slidesOf(panel.content).length) await apputils.showErrorMessage('Presentar', NOTHING);
        else if (!document.body.dataset.clase) present(panel);
      },
    });
    // F5, la tecla de los mandos: si lo que se ve es una clase, la presenta y no recarga la página.
    const starts = event => {
      const { key, ctrlKey, shiftKey, altKey, metaKey } = event;
      const deck = !document.body.dataset.clase && tracker.currentWidget;
      if (key !== 'F5' || ctrlKey || shiftKey || altKey || metaKey || !deck?.isVisible) return;
      if (!slidesOf(deck.content).length) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      app.commands.execute(CALL);
    };
    window.addEventListener('keydown', starts, true);
    palette?.addItem({ command: CALL, category: 'Clase' });
    tracker.currentChanged.connect(() => app.commands.notifyCommandChanged(CALL));
  },
});
