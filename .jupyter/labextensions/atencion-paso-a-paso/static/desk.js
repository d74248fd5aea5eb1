/*
 * Lo que el curso sabe de quien estudia: lo resuelto y por dónde va, que se apunta mientras se mueve. Lo
 * tiene el servidor (course_tools/opening/desk.py); donde no lo hay, solo se saben los nombres de las lecciones.
 */
const PLACE = 'curso.mesa';
export const LESSON = /^\d\d_\w+\.ipynb$/;

/** El apartado de una celda: su número o, si no tiene, su título. */
function sectionOf(cells, k) {
  for (; k >= 0; k--) {
    if (cells[k].model.type !== 'markdown') continue;
    const { source } = cells[k].model.sharedModel;
    const [, level, number, title] = source.match(/^(###?) (?:(\d[\d.]*\d|\d)\.? )?(.*)/m) ?? [];
    if (number || level === '##') return (number ?? title).slice(0, 80);
  }
  return '';
}

/** Las celdas que se ven: por lo menos la mitad de cada una, o media ventana. */
function shown({ content }) {
  const window = content.node.querySelector('.jp-WindowedPanel-outer')?.getBoundingClientRect();
  return content.widgets.filter(cell => {
    if (!window || cell.isHidden || !cell.node.isConnected) return false;
    const { top, bottom, height } = cell.node.getBoundingClientRect();
    const seen = Math.min(bottom, window.bottom) - Math.max(top, window.top);
    return seen > 0 && seen >= Math.min(height, window.height) / 2;
  });
}

/** Los apartados de los que se ha leído la mitad de las celdas, o más; lo plegado no cuenta. */
function readSections({ content: { widgets } }, read) {
  const counts = new Map();
  widgets.forEach((cell, k) => {
    const [number] = sectionOf(widgets, k).match(/^\d+/) ?? [];
    if (!number || cell.isHidden) return;
    const [seen, all] = counts.get(number) ?? [0, 0];
    counts.set(number, [seen + read.has(cell.model.id), all + 1]);
  });
  return [...counts].filter(([, [seen, all]]) => 2 * seen >= all).map(([number]) => number);
}

export class Desk {
  constructor({ serviceManager: { contents }, commands }, tracker) {
    Object.assign(this, { contents, commands, tracker, data: null });
    this.folder = 'notebooks';
    this.read = new Map(); // de cada lección, las celdas que han estado a la vista
  }

  /** Lo que se sabe ahora. */
  async load() {
    const root = await this.contents.get('').catch(() => ({}));
    const names = root.content?.map(one => one.name) ?? [];
    if (root.course) {
      const place = this.data?.place ?? root.course.place;
      for (const [name, { seen }] of Object.entries(root.course.place?.at ?? {}))
        if (place.at[name]) place.at[name].seen = [...new Set([...seen, ...place.at[name].seen])];
      this.data = { ...root.course, place };
      this.folder = root.course.folder;
      this.lessons = root.course.lessons;
    } else if (!this.lessons && names.includes(this.folder)) {
      const { content } = await this.contents.get(this.folder);
      const lessons = content.map(({ name }) => name).filter(name => LESSON.test(name));
      const title = name => name.replace('.ipynb', '').replace('_', ' · ').replaceAll('_', ' ');
      this.lessons = lessons.sort().map(name => ({ name, title: title(name) }));
    }
  }

  /** Abre una lección y, si se dice, en una celda. */
  async open(name, cell = this.data?.place?.at[name]?.cell) {
    const path = `${this.folder}/${name}`;
    const panel = await this.commands.execute('docmanager:open', { path, factory: 'Notebook' });
    await this.go(panel, cell);
    panel.content.activate();
  }

  async go(panel, cell) {
    await panel.context.ready;
    await panel.revealed;
    const { widgets } = panel.content;
    let k = widgets.findIndex(one => one.model.id === cell);
    while (k > 0 && widgets[k].isHidden) k--; // lo plegado, plegado se queda
    if (k < 0) return;
    panel.content.activeCellIndex = k;
    await panel.content.scrollToItem(k, 'start');
    this.keep(panel, k);
  }

  /** Lo de arriba aún se dibuja y crece: la celda sigue a la vista mientras nadie se mueva. */
  keep({ content, node }, k, turns = 15) {
    const moves = new AbortController();
    for (const move of ['wheel', 'keydown', 'pointerdown'])
      node.addEventListener(move, () => moves.abort(), { capture: true, signal: moves.signal });
    const again = setInterval(() => {
      if (!turns-- || content.isDisposed || content.activeCellIndex !== k) moves.abort();
      if (moves.signal.aborted) clearInterval(again);
      else content.scrollToItem(k, 'start');
    }, 200);
  }

  /** Al llegar, vuelve a donde se dejó; y desde entonces, lo apunta. */
  async start() {
    await this.load();
    if (!this.data) return;
    const panel = await this.first();
    const spot = this.data.place?.at[this.nameOf(panel)];
    if (spot && !location.hash) await this.go(panel, spot.cell);
    const moved = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.note(this.tracker.currentWidget), 1000);
    };
    this.tracker.activeCellChanged.connect(moved);
    setInterval(() => this.look(), 500);
  }

  /** Lo que se ve desde hace medio segundo está leído, se ande con las teclas o con la rueda. */
  look() {
    const panel = this.tracker.currentWidget;
    const looking = document.visibilityState === 'visible' && !document.body.dataset.clase;
    const here = looking && panel?.isVisible && this.nameOf(panel) ? shown(panel) : [];
    const still = here.filter(cell => this.before?.includes(cell));
    this.before = here;
    if (!still.length) return;
    const { widgets, activeCell } = panel.content;
    const spot = here.includes(activeCell) ? activeCell : still[0];
    const moved = spot !== activeCell && spot !== this.spot;
    this.spot = spot;
    if (this.saw(panel, still) || moved) this.note(panel, widgets.indexOf(spot));
  }

  /** Apunta unas celdas como leídas, y dice si alguna lo es ahora. */
  saw(panel, cells) {
    const name = this.nameOf(panel);
    const read = this.read.get(name) ?? new Set();
    const size = read.size;
    for (const cell of cells) read.add(cell.model.id);
    this.read.set(name, read);
    return read.size > size;
  }

  /** Lo que se ejecuta a la vista también se ha leído. */
  ran(notebook, cell) {
    const panel = this.tracker.currentWidget;
    if (!this.data || panel?.content !== notebook || !this.nameOf(panel)) return;
    if (shown(panel).includes(cell)) this.saw(panel, [cell]);
  }

  /** El primer cuaderno que se abre. */
  first() {
    const { tracker } = this;
    return new Promise(done => {
      const opened = (_, panel) =>
        panel && (tracker.currentChanged.disconnect(opened), done(panel));
      tracker.currentChanged.connect(opened);
      opened(tracker, tracker.currentWidget);
    });
  }

  /** El nombre de la lección de quien estudia que hay en un panel. */
  nameOf(panel) {
    const [folder, name, more] = panel.context.path.split('/');
    return folder === this.folder && !more && LESSON.test(name) ? name : null;
  }

  note(panel, k = panel?.content?.activeCellIndex) {
    const name = panel && !panel.isDisposed && this.nameOf(panel);
    const { widgets } = panel?.content ?? {};
    if (!name || !widgets[k]) return;
    const place = (this.data.place ??= { at: {} });
    const old = place.at[name];
    place.last = name;
    const section = sectionOf(widgets, k);
    const number = section.match(/^\d+/) ?? [];
    const read = readSections(panel, this.read.get(name) ?? new Set());
    const seen = [...new Set([...(old?.seen ?? []), ...number, ...read])];
    const stays = k === 0 && old; // nadie se queda en el título
    place.at[name] = stays ? { ...old, seen } : { cell: widgets[k].model.id, section, seen };
    const options = { type: 'file', format: 'text', content: JSON.stringify(place) };
    this.contents.save(PLACE, options).catch(() => {});
    this.changed?.();
  }
}
