/*
 * Nada de lo escrito se pierde: se guarda al parar de escribir y cuando la terminal va a cerrar; si el
 * servidor no contesta, se dice y se guarda al volver; y si otra pestaña ha guardado otra cosa, se quedan
 * las dos y se pregunta con cuál se sigue.
 */
const PAUSE_MS = 2000; // sin escribir
const PING_MS = 2000;
const CLOSING = 'curso.cierre'; // lo que manda la terminal al cerrar, y donde se le contesta (desk.py)
const LINK = /(?<=\]\()(?=\.\.\/|\d\d_\w+\.ipynb)/g; // como en copies.py: desde «anteriores», una carpeta más arriba
const LOST =
  'JupyterLab no contesta. Lo que escribas se queda en esta página, sin guardar: no la cierres. Si lo has ' +
  'cerrado, ábrelo otra vez con «python curso.py abrir» y se guardará solo.';
const STALE =
  'JupyterLab se ha abierto otra vez y ya no conoce esta página. Abre la lección con la dirección que dice ' +
  'la terminal. Lo que aquí está sin guardar se baja con Archivo → Descargar.';
const BORN = 'JupyterLab ha vuelto, con otro kernel: lo que habías ejecutado, ejecútalo otra vez.';
const BOTH =
  'Desde que se abrió aquí, en otro sitio se ha guardado algo distinto: casi siempre, en otra pestaña. Elige ' +
  'con cuál sigues. El otro no se pierde: queda en la carpeta «anteriores», al lado.';
const REASONS = [
  [/No space left|Errno 28|quota/i, 'no queda sitio en el disco'],
  [/Permission denied|Read-only|Errno (13|30)/i, 'en su carpeta no se puede escribir'],
];

const nameOf = path => path.split('/').at(-1);
const written = ({ cells }) =>
  JSON.stringify(cells.map(one => [one.id, one.cell_type, [one.source].flat().join('')]));

/** Lo que no se ha podido hacer, a la vista hasta que se puede: una línea por cada cosa. */
class Notice {
  constructor() {
    this.node = document.createElement('div');
    this.node.className = 'cu-notice';
    this.node.setAttribute('role', 'alert');
    this.lines = new Map();
  }

  say(about, text) {
    if ((this.lines.get(about)?.textContent ?? '') === text) return;
    this.lines.get(about)?.remove();
    this.lines.delete(about);
    if (text) {
      const line = Object.assign(document.createElement('p'), { textContent: text });
      this.lines.set(about, line);
      this.node.append(line);
    }
    if (!this.node.isConnected) document.body.append(this.node);
  }
}

export class Saver {
  constructor({ serviceManager, shell }, tracker, desk, { showDialog, Dialog }) {
    const { contents, events, sessions } = serviceManager;
    Object.assign(this, { contents, events, sessions, shell, tracker, desk, showDialog, Dialog });
    this.notice = new Notice();
    this.who = crypto.getRandomValues(new Uint32Array(2)).join('-');
    this.later = new Set(); // los documentos de los que se ha dejado para luego con cuál se sigue
    tracker.widgetAdded.connect((_, panel) => this.watch(panel));
    const back = () => document.visibilityState === 'visible' && this.refresh();
    for (const event of ['focus', 'visibilitychange']) window.addEventListener(event, back);
    events.stream.connect((_, { action, path }) => {
      if (path === CLOSING) this.closing();
      else if (action === 'save') setTimeout(back, 500);
    });
  }

  /** Guarda un cuaderno dos segundos después de lo último que se escribe en él. */
  async watch({ context }) {
    const options = context._createSaveOptions;
    Object.assign(context, {
      // Lo que se guarda dice de qué parte: si otra página guarda a la vez, una de las dos lo sabe.
      _createSaveOptions: () => ({ ...options.call(context), hash: context.contentsModel?.hash }),
      _raiseConflict: (disk, mine) => this.choose(context, mine),
      _handleError: error => this.failed(context, error),
    });
    await context.ready;
    let timer, began, saving, more;
    let took = 0;
    const due = () => saving || this.later.has(context) || this.save(context);
    const changed = () => {
      more = true;
      clearTimeout(timer);
      timer = setTimeout(due, Math.max(PAUSE_MS, 4 * took)); // en un disco lento, menos veces
    };
    context.model.contentChanged.connect(changed);
    context.saveState.connect((_, stage) => {
      saving = stage === 'started';
      if (saving) {
        began = performance.now();
        queueMicrotask(() => (more = false));
      }
      if (stage !== 'completed') return;
      took = performance.now() - began;
      this.later.delete(context);
      this.notice.say(context, '');
      // Lo escrito mientras se guardaba no se ha guardado, y JupyterLab lo da por guardado.
      if (more) (context.model.dirty = true), changed();
    });
    context.disposed.connect(() => (clearTimeout(timer), this.notice.say(context, '')));
  }

  unsaved() {
    const documents = [...this.shell.widgets('main')].map(({ context }) => context);
    return [...new Set(documents)].filter(one => one?.model?.dirty && one.canSave);
  }

  save(context) {
    const due = !context.isDisposed && context.model.dirty && context.canSave;
    return due ? context.save().catch(() => {}) : null;
  }

  /** La terminal va a cerrar: se le dice lo que hay sin guardar, se guarda y se le dice otra vez. */
  async closing() {
    const tell = async () => {
      const said = { who: this.who, unsaved: this.unsaved().map(({ path }) => nameOf(path)) };
      const options = { type: 'file', format: 'text', content: JSON.stringify(said) };
      if (this.desk.data) await this.contents.save(CLOSING, options).catch(() => {});
      return said.unsaved.length;
    };
    if (!(await tell())) return;
    await Promise.all(this.unsaved().map(one => this.later.has(one) || this.save(one)));
    await tell();
  }

  /** Algo no se ha podido guardar, o abrir. */
  failed(context, error) {
    if (context.isDisposed) return;
    if (error.response?.status === 409) setTimeout(() => this.save(context), 100);
    else if (!error.response) this.lost();
    else {
      const why = REASONS.find(([seen]) => seen.test(error.message))?.[1] ?? error.message;
      const what = `«${nameOf(context.path)}» no se ha podido guardar: ${why}.`;
      this.notice.say(context, `${what} Lo que has escrito sigue en esta página: no la cierres.`);
    }
  }

  /** El servidor no contesta: se espera a que vuelva, y entonces se guarda. */
  lost() {
    if (this.waiting) return;
    this.notice.say('lost', LOST);
    this.waiting = setInterval(async () => {
      const error = await this.contents.get('', { content: false }).then(
        () => null,
        error => error,
      );
      if (error && error.response?.status !== 403) return;
      clearInterval(this.waiting);
      this.waiting = null;
      if (error) return this.notice.say('lost', STALE);
      this.events._poll?.refresh(); // sin esperar a que JupyterLab vuelva a escuchar
      await Promise.all(this.unsaved().map(one => this.save(one)));
      await this.refresh();
      if (!this.waiting) this.notice.say('lost', '');
      await this.sessions.refreshRunning().catch(() => {});
      this.tracker.forEach(panel => this.revive(panel));
    }, PING_MS);
  }

  /** El kernel se fue con el servidor: cuando JupyterLab lo sabe, otro. */
  async revive({ sessionContext }, turns = 60) {
    const { name } = sessionContext.kernelPreference;
    while (turns-- && !sessionContext.isDisposed && !sessionContext.hasNoKernel)
      await new Promise(done => setTimeout(done, 500));
    if (!sessionContext.hasNoKernel || sessionContext.isDisposed) return;
    await sessionContext.changeKernel({ name }).catch(() => {});
    this.notice.say('kernel', BORN);
    setTimeout(() => this.notice.say('kernel', ''), 15_000);
  }

  disk(context, content) {
    const options = { type: 'notebook', format: 'json', hash: true, content };
    return this.contents.get(context.path, content ? options : { content, hash: true });
  }

  /** Lo que otra pestaña ha guardado se ve en esta, si aquí no hay nada a medias. */
  async refresh() {
    const panels = [];
    this.tracker.forEach(panel => panels.push(panel));
    for (const panel of panels) {
      const { context, content, sessionContext } = panel;
      const still = () =>
        !context.isDisposed &&
        context.isReady &&
        context.canSave &&
        !context.model.dirty &&
        sessionContext.session?.kernel?.status !== 'busy';
      const known = context.contentsModel?.hash;
      if (!known || !still()) continue;
      const found = await this.disk(context, false).catch(() => null);
      if (!found || found.hash === known || context.contentsModel?.hash !== known) continue;
      const there = await this.disk(context, true).catch(() => null);
      if (!there || !still()) continue;
      const outer = content.node.querySelector('.jp-WindowedPanel-outer');
      const [top, name] = [outer?.scrollTop, content.activeCell?.model.id];
      context.model.fromJSON(there.content);
      context._updateContentsModel(there);
      context.model.dirty = false;
      const k = content.widgets.findIndex(one => one.model.id === name);
      if (k >= 0) content.activeCellIndex = k;
      if (outer) requestAnimationFrame(() => (outer.scrollTop = top));
    }
  }

  /** En el disco hay otra cosa que la que se abrió aquí: se pregunta con cuál se sigue, y la otra se aparta. */
  async choose(context, mine) {
    const stop = name => Object.assign(new Error(name), { name });
    if (this.asking?.has(context)) throw stop('ModalDuplicateError');
    (this.asking ??= new Set()).add(context);
    try {
      const there = await this.disk(context, true);
      if (mine.type === 'notebook' && written(there.content) !== written(mine.content)) {
        const { Dialog } = this;
        const button = (label, action) => Dialog.okButton({ label, actions: [action] });
        const { button: chosen } = await this.showDialog({
          title: `Hay dos «${nameOf(context.path)}» distintos`,
          body: BOTH,
          defaultButton: 0, // quien estaba escribiendo no elige sin querer
          buttons: [
            Dialog.cancelButton({ label: 'Decidir luego' }),
            button('Sigo con el otro', 'there'),
            button('Sigo con el de aquí', 'here'),
          ],
        });
        if (context.isDisposed) throw new Error('Disposed');
        const [choice] = chosen.actions;
        if (!['there', 'here'].includes(choice)) {
          this.later.add(context);
          throw stop('ModalCancelError');
        }
        mine.content = context.model.toJSON();
        await this.putAway(context.path, choice === 'here' ? there.content : mine.content);
        if (choice === 'there') {
          await context.revert();
          return await this.disk(context, false);
        }
      }
      const saved = await this.contents.save(context.path, { ...mine, hash: there.hash });
      return { ...saved, hash: (await this.disk(context, false)).hash };
    } finally {
      this.asking.delete(context);
    }
  }

  /** Deja un cuaderno en «anteriores», con su fecha, como `put_away`, en copies.py. */
  async putAway(path, content) {
    const folder = [...path.split('/').slice(0, -1), 'anteriores'].join('/');
    await this.contents.save(folder, { type: 'directory' });
    const now = new Date(Date.now() - 60_000 * new Date().getTimezoneOffset());
    const when = now.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');
    const cells = content.cells.map(cell =>
      cell.cell_type === 'markdown'
        ? { ...cell, source: [cell.source].flat().join('').replace(LINK, '../') }
        : cell,
    );
    await this.contents.save(`${folder}/${nameOf(path).replace(/\.ipynb$/, '')}-antes-${when}.ipynb`, {
      type: 'notebook',
      format: 'json',
      content: { ...content, cells },
    });
  }
}
