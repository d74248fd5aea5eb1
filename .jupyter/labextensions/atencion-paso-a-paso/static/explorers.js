/*
 * Los exploradores de un cuaderno se guardan con él. Y el que pide algo a un kernel que no lo conoce,
 * porque su celda no se ha ejecutado en esta sesión, lo dice y se ejecuta con un botón.
 */
import { Runner } from './run.js';

const VIEW = 'application/vnd.jupyter.widget-view+json';
const STATE = 'application/vnd.jupyter.widget-state+json';
const UNKNOWN =
  'Para contestar hace falta el kernel, que en esta sesión no ha ejecutado esta celda. ';
const BROKEN = 'No se ha ejecutado: mira si falla una celda de más arriba.';

/** Los controles de una celda: de cada uno, el id de su modelo y su salida. */
const viewsOf = cell =>
  (cell.model.type === 'code' ? cell.model.outputs.toJSON() : [])
    .map((output, k) => ({ id: output.data?.[VIEW]?.model_id, k }))
    .filter(({ id }) => id);
const beside = cell => cell.model.getMetadata('tags')?.includes('profundizar') ?? false;

/** El gestor de controles de un cuaderno: lo tiene lo que los dibuja. */
async function managerOf(panel) {
  await panel.sessionContext.ready;
  for (let turn = 0; turn < 600 && !panel.isDisposed; turn++) {
    const renderer = panel.content.rendermime.createRenderer(VIEW);
    const late = new Promise(done => setTimeout(done, 50)); // quien guarda enseguida, guarda los suyos
    const found = await Promise.race([renderer._manager?.promise, late]);
    renderer.dispose();
    if (found) return found;
  }
  return null;
}

export async function explorers(panel, { run, say, executed }) {
  await panel.context.ready;
  const [{ content, context }, manager] = [panel, await managerOf(panel)];
  if (!manager || panel.isDisposed) return;
  const { model } = context;
  let known = model.getMetadata('widgets')?.[STATE]?.state ?? {};

  /** De lo sabido, los controles que se ven y los que ellos usan. */
  const used = () => {
    const kept = {};
    const take = id => {
      if (!(id in known) || id in kept) return;
      kept[id] = known[id];
      for (const [, other] of JSON.stringify(known[id].state).matchAll(/"IPY_MODEL_([\w-]+)"/g))
        take(other);
    };
    for (const { id } of content.widgets.flatMap(viewsOf)) take(id);
    return kept;
  };

  context.saveState.connect((_, stage) => {
    if (stage !== 'started') return;
    const { state, ...version } = manager.get_state_sync({ drop_defaults: true });
    known = { ...known, ...state };
    known = used();
    const saved = Object.keys(known).length ? { [STATE]: { ...version, state: known } } : undefined;
    if (JSON.stringify(saved) === JSON.stringify(model.getMetadata('widgets'))) return;
    if (saved) model.setMetadata('widgets', saved);
    else model.deleteMetadata('widgets');
  });

  // Una celda que se dibuja mientras llegan los controles guardados no los encuentra: otra vez.
  const redraw = () => {
    for (const cell of content.widgets)
      for (const { id, k } of viewsOf(cell)) {
        const renderers = [...(cell.outputArea.widgets[k]?.children() ?? [])];
        const lost = renderers.find(one => one.node.textContent.endsWith('model not found'));
        if (lost && manager.has_model(id)) lost.renderModel(cell.model.outputs.get(k));
      }
  };
  manager.restored.connect(redraw);
  redraw();

  const runner = new Runner(panel, run);
  const watched = new Map(); // cada explorador, con su celda
  const waits = explorer => {
    const asked = explorer.get('request')?.serial;
    return asked && asked !== explorer.get('answered');
  };
  /** El kernel se ha ido: a lo que se le pidió ya no contesta. */
  const ended = () => {
    manager.disconnect();
    for (const [explorer, cell] of watched) if (waits(explorer)) tell(cell, explorer);
  };
  panel.sessionContext.statusChanged.connect(
    (_, status) => ['dead', 'autorestarting', 'terminating'].includes(status) && ended(),
  );
  panel.sessionContext.kernelChanged.connect((_, { newValue }) => newValue || ended());
  const notes = (_, { notebook, cell, success }) =>
    notebook === content && success && runner.ran.add(cell);
  executed.connect(notes);
  panel.disposed.connect(() => executed.disconnect(notes));

  const tell = (cell, explorer) => {
    if (explorer.comm_live) return;
    explorer.set('answered', explorer.get('request').serial); // que no espere
    if (cell.node.querySelector('.cu-ask')) return;
    const note = document.createElement('p');
    note.className = 'cu-ask';
    note.setAttribute('role', 'status');
    const button = document.createElement('button');
    button.textContent = 'Ejecuta esta celda, con lo que necesita';
    button.dataset.lmSuppressShortcuts = 'true';
    button.onclick = async () => {
      note.textContent = 'Ejecutando…';
      const all = content.widgets.slice(0, content.widgets.indexOf(cell) + 1);
      const code = all.filter(one => one.model.type === 'code' && (beside(cell) || !beside(one)));
      const { well, failed } = await runner.run([cell], code);
      note.remove();
      if (!well && failed !== cell) say(BROKEN);
    };
    note.append(UNKNOWN, button);
    cell.node.append(note);
  };
  content.node.addEventListener(
    'focusin',
    async ({ target }) => {
      const cell = target.closest('.exp') && content.widgets.find(one => one.node.contains(target));
      for (const { id } of cell ? viewsOf(cell) : []) {
        const explorer = manager.has_model(id) && (await manager.get_model(id));
        if (!explorer || watched.has(explorer)) continue;
        watched.set(explorer, cell);
        explorer.on('change:request', () => tell(cell, explorer));
        waits(explorer) && tell(cell, explorer); // si se ha pedido mientras se esperaba al modelo
      }
    },
    true,
  );
}
