/*
 * Presentar una clase: enseña, diapositiva a diapositiva, las celdas vivas de un cuaderno.
 *
 * No mueve ni cambia ninguna celda: pone clases de CSS (style.css) y se queda con las teclas. Mientras
 * dura, JupyterLab no recibe ninguna ni guarda, y al acabar no queda nada puesto.
 */
import { Notes } from './notes.js';
import { Runner } from './run.js';

/** Las diapositivas de un cuaderno: sus celdas, con el paso en que aparece cada una, y sus notas. */
export function slidesOf(notebook) {
  const slides = [];
  for (const cell of notebook.widgets) {
    const kind = cell.model.getMetadata('slideshow')?.slide_type;
    if (kind === 'slide') slides.push({ cells: [], notes: [], steps: 0 });
    const slide = slides.at(-1);
    if (!slide || kind === 'skip') continue;
    if (kind === 'notes') slide.notes.push(cell);
    else slide.cells.push({ cell, step: kind === 'fragment' ? ++slide.steps : slide.steps });
  }
  let until = 0;
  for (const slide of slides) {
    const text = slide.cells[0].cell.model.sharedModel.source;
    slide.spare = slide.cells[0].cell.model.getMetadata('tags')?.includes('si-hay-tiempo') ?? false;
    slide.title = text.match(/^#+ (.*)$/m)?.[1].replace(/[$*`]/g, '') ?? 'Sin título';
    const told = slide.notes.map(note => note.model.sharedModel.source).join('\n');
    slide.minutes = Number(told.match(/\*\*Minutos:\*\*\s*([\d.,]+)/)?.[1].replace(',', '.') ?? 0);
    slide.until = until += slide.minutes;
  }
  return slides;
}

const FORWARD = ['ArrowRight', 'ArrowDown', 'PageDown', ' ', 'Enter'];
const BACK = ['ArrowLeft', 'ArrowUp', 'PageUp', 'Backspace'];
const TYPED =
  'input:not([type=range], [type=checkbox], [type=radio], [type=button]), textarea, select';
const EDITED = '.cm-content:not([aria-readonly=true])'; // el código que se deja cambiar
const CLICKER = ['PageDown', 'PageUp', 'F5']; // los de un mando: ni escribiendo son de otro

const left = new WeakMap(); // en qué diapositiva se dejó cada clase, y a qué hora empezó
const typed = new WeakMap(); // de cada celda, cómo estaba y cómo la dejó quien presentaba

export class Show {
  constructor(app, panel, { run, say }) {
    Object.assign(this, { app, panel, say });
    this.notebook = panel.content;
    this.slides = slidesOf(this.notebook);
    this.now = this.step = 0;
    this.typed = '';
    this.runner = new Runner(panel, run);
    const { now, started } = left.get(panel) ?? { now: 0 };
    this.started = started ?? Date.now();
    this.undo = []; // lo que hay que deshacer al acabar
    this.notes = new Notes(this);
    this.borrow();
    this.take();
    this.build();
    this.go(now);
  }

  // --- Quedarse con la pantalla y las teclas, y devolverlas -----------------------------------------

  listen(target, name, does) {
    target.addEventListener(name, does, true);
    this.undo.push(() => target.removeEventListener(name, does, true));
  }

  mark(node, name) {
    node.classList.add(name);
    this.undo.push(() => node.classList.remove(name));
  }

  /** No se guarda nada: al salir, el código está como antes; y al volver, como se dejó. */
  borrow() {
    const { context } = this.panel;
    const { dirty } = context.model;
    const before = this.notebook.widgets.map(({ model }) => [model.sharedModel, model.sharedModel.source]);
    Object.defineProperty(context, 'canSave', { value: false, configurable: true });
    for (const [cell, source] of before) {
      const [was, now] = typed.get(cell) ?? [];
      if (was === source && now !== source) cell.setSource(now);
    }
    this.undo.push(() => {
      delete context.canSave;
      if (this.panel.isDisposed) return;
      for (const [cell, source] of before) {
        typed.set(cell, [source, cell.source]);
        if (cell.source !== source) cell.setSource(source);
      }
      context.model.dirty = dirty;
    });
  }

  take() {
    const { app, panel, notebook } = this;
    document.body.dataset.clase = 'presentando';
    this.undo.push(() => delete document.body.dataset.clase);
    for (let node = panel.node.parentNode; node !== document.body; node = node.parentNode)
      this.mark(node, 'pr-chain');
    this.mark(panel.node, 'pr-panel');

    const settings = notebook.notebookConfig;
    notebook.notebookConfig = { ...settings, windowingMode: 'none' };
    notebook.mode = 'command';
    app.commands.processKeydownEvent = () => {}; // los atajos de JupyterLab: ninguno
    this.onDisposed = () => this.end();
    panel.disposed.connect(this.onDisposed);
    this.undo.push(() => {
      delete app.commands.processKeydownEvent;
      panel.disposed.disconnect(this.onDisposed);
      if (panel.isDisposed) return;
      this.runner.stop();
      notebook.notebookConfig = settings;
    });

    this.listen(window, 'keydown', event => this.key(event));
    this.listen(window, 'resize', () => this.fit());
    // Una figura que llega o un explorador que se dibuja; mientras la mano mueve uno, nada salta.
    this.sizes = new ResizeObserver(() => this.mouse || this.fit());
    this.undo.push(() => this.sizes.disconnect());
    // Una celda que JupyterLab acaba de montar aún no está cerrada.
    this.listen(panel.node, 'focusin', () => this.editing || this.lock(true));
    this.listen(panel.node, 'dblclick', event => {
      if (event.target.closest('.jp-MarkdownCell')) event.stopPropagation(); // no se edita
    });
    const release = ({ target }) =>
      this.mouse && setTimeout(() => this.release(target.matches('select')));
    this.listen(panel.node, 'pointerdown', () => (this.mouse = true));
    this.listen(panel.node, 'pointerup', event => event.target.matches('select') || release(event));
    this.listen(panel.node, 'change', release);
  }

  end() {
    if (!this.panel.isDisposed) this.lock(false);
    for (const undo of this.undo.splice(0).reverse()) undo();
    this.notes.close();
    this.bar.remove();
    this.blank.remove();
    this.list?.remove();
    if (this.panel.isDisposed) return;
    for (const cell of this.notebook.widgets) {
      cell.node.classList.remove('pr-on', 'pr-later', 'pr-right', 'pr-first', 'pr-bare');
      cell.node.style.removeProperty('top');
    }
    this.place.classList.remove('pr-place', 'pr-two', 'pr-cover', 'pr-poll', 'pr-words');
    this.place.style.removeProperty('--pr-fit');
    const now = this.now % (this.slides.length - 1); // tras la última, otra vez la primera
    left.set(this.panel, now ? { now, started: this.started } : { now });
    const first = this.slides[this.now].cells[0].cell;
    this.notebook.activeCellIndex = this.notebook.widgets.indexOf(first);
    this.app.shell.activateById(this.panel.id);
  }

  // --- La barra -------------------------------------------------------------------------------------

  build() {
    const make = (label, title, does) => {
      const button = document.createElement('button');
      Object.assign(button, { textContent: label, title, onclick: does, tabIndex: -1 });
      button.setAttribute('aria-label', title);
      return button;
    };
    this.bar = document.createElement('div');
    this.bar.className = 'pr-bar';
    this.line = document.createElement('i');
    this.told = document.createElement('span');
    this.told.setAttribute('aria-live', 'polite');
    this.clock = document.createElement('span');
    this.bar.append(
      this.line,
      this.told,
      this.clock,
      make('◀', 'Atrás (RePág)', () => this.back()),
      make('▶', 'Adelante (AvPág)', () => this.forward()),
      make('≡', 'La lista de diapositivas (G)', () => this.choose()),
      make('▷', 'Ejecutar el código (R)', () => this.run()),
      make('✎', 'Editar el código (E)', () => this.edit()),
      make('◧', 'Las notas, en otra ventana (N)', () => this.notes.open()),
      make('✕', 'Salir (Esc)', () => this.end()),
    );
    this.blank = document.createElement('div');
    this.blank.className = 'pr-blank';
    document.body.append(this.bar, this.blank);
    const clock = setInterval(() => this.tick(), 1000);
    this.undo.push(() => clearInterval(clock));
  }

  /** Cuánto se lleva: ``12:40``. */
  get elapsed() {
    const seconds = Math.floor((Date.now() - this.started) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }

  /** Cuánto se va tarde, y qué se gana sin las diapositivas que quedan de «si hay tiempo»; o nada. */
  get late() {
    const minutes = Math.floor((Date.now() - this.started) / 60000 - this.slide.until);
    if (minutes < 1) return '';
    const spare = this.slides.slice(this.now + 1).reduce((sum, one) => sum + one.spare * one.minutes, 0);
    return ` · ${minutes} min tarde` + (spare ? ` (${spare} de si hay tiempo)` : '');
  }

  tick() {
    this.clock.textContent = this.elapsed + this.late;
    this.notes.tick();
  }

  // --- Andar ----------------------------------------------------------------------------------------

  get slide() {
    return this.slides[this.now];
  }

  get place() {
    return this.slides[0].cells[0].cell.node.parentNode;
  }

  go(number, step = 0) {
    this.mouse = false;
    this.lock(true);
    this.now = Math.min(Math.max(number, 0), this.slides.length - 1);
    this.step = Math.min(step, this.slide.steps);
    const shown = new Map(this.slide.cells.map(({ cell, step }) => [cell, step]));
    const tagged = (cell, tag) => cell.model.getMetadata('tags')?.includes(tag) ?? false;
    let two = false;
    for (const cell of this.notebook.widgets) {
      const put = (name, yes) => cell.node.classList.toggle(name, yes);
      const right = shown.has(cell) && tagged(cell, 'al-lado');
      two ||= right;
      put('pr-on', shown.has(cell));
      put('pr-later', shown.get(cell) > this.step);
      put('pr-first', cell === this.slide.cells[0].cell);
      put('pr-right', right);
      put('pr-bare', cell.model.getMetadata('jupyter')?.source_hidden === true);
    }
    this.place.classList.add('pr-place');
    this.place.classList.toggle('pr-two', two);
    this.place.classList.toggle('pr-cover', this.now === 0);
    this.place.classList.toggle('pr-poll', tagged(this.slide.cells[0].cell, 'encuesta'));
    this.place.scrollTop = 0;
    this.say_where();
    this.fit();
    this.sizes.disconnect();
    for (const cell of shown.keys()) this.sizes.observe(cell.node);
  }

  say_where() {
    const count = this.slides.length;
    const spare = this.slide.spare ? ' · si hay tiempo' : '';
    this.told.textContent = this.typed ? `→ ${this.typed}` : `${this.now + 1} / ${count}${spare}`;
    this.line.style.width = `${(100 * (this.now + 1)) / count}%`;
    this.tick();
    this.notes.update();
  }

  forward() {
    if (this.step < this.slide.steps) this.go(this.now, this.step + 1);
    else if (this.now < this.slides.length - 1) this.go(this.now + 1);
  }

  back() {
    if (this.step > 0) this.go(this.now, this.step - 1);
    else if (this.now > 0) this.go(this.now - 1, Infinity);
  }

  /** Figuras, exploradores y, si no los hay, la letra crecen hasta llenar la pantalla. */
  fit() {
    const { place } = this;
    const shown = [...(place?.querySelectorAll(':scope > .pr-on') ?? [])];
    if (!this.undo.length || !shown.length) return; // recién abierta, sus celdas aún llegan
    const all = what => shown.flatMap(cell => [...cell.querySelectorAll(what)]);
    place.classList.toggle('pr-words', !all('img, .exp').length);
    const wide = [place, ...all('.cm-scroller, .jp-OutputArea-output pre, .jp-RenderedMarkdown')];
    const fits = scale => {
      place.style.setProperty('--pr-fit', scale);
      this.stack(shown);
      return (
        place.scrollHeight <= place.clientHeight + 1 &&
        wide.every(part => part.scrollWidth <= part.clientWidth + 1)
      );
    };
    if (fits(1)) return;
    let [low, high] = [0, 1];
    for (let turn = 0; turn < 7; turn++) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    fits(low);
  }

  /** Pone una debajo de otra las celdas de la derecha. */
  stack([first, ...shown]) {
    const gap = parseFloat(getComputedStyle(this.place).rowGap);
    let top = first.offsetTop + first.offsetHeight + gap;
    for (const cell of shown.filter(cell => cell.classList.contains('pr-right'))) {
      cell.style.top = `${top}px`;
      top += cell.offsetHeight + gap;
    }
  }

  // --- Código vivo ----------------------------------------------------------------------------------

  get code() {
    return this.slide.cells.map(one => one.cell).filter(cell => cell.model.type === 'code');
  }

  /** Ejecuta el código de la diapositiva y, la primera vez, lo que el cuaderno trae antes. */
  async run() {
    const mine = this.code;
    if (!mine.length) return;
    const all = this.notebook.widgets;
    const last = all.indexOf(mine.at(-1));
    const wanted = all.slice(0, last + 1).filter(cell => cell.model.type === 'code');
    this.bar.classList.add('pr-busy');
    const { well, failed } = await this.runner.run(mine, wanted);
    this.bar.classList.remove('pr-busy');
    if (!this.undo.length) return;
    if (!well && !mine.includes(failed))
      this.say('El código no se ha ejecutado: mira si falla una celda anterior de esta clase.');
    if (!this.notebook.widgets.some(cell => cell.editor?.hasFocus())) this.release(true);
    this.fit();
  }

  lock(locked, cells = this.notebook.widgets) {
    this.editing = !locked;
    for (const cell of cells)
      if (cell.model?.type === 'code') cell.editor?.setOption('readOnly', locked);
  }

  /** Deja escribir en el código de esta diapositiva, hasta que se sale de él o de ella. */
  edit() {
    const [first] = this.code.filter(cell => !cell.node.classList.contains('pr-bare'));
    if (!first) return;
    this.lock(false, this.code);
    first.editor?.focus();
  }

  // --- Las teclas -----------------------------------------------------------------------------------

  /** Quita el foco de donde esté, para que las teclas vuelvan a la clase; un texto a medias lo conserva. */
  release(always) {
    const active = document.activeElement;
    if (!always && (active.matches(TYPED) || active.closest(EDITED))) return;
    if (active !== document.body && !this.list?.contains(active)) active.blur();
  }

  key(event) {
    const clicked = this.mouse; // lo que se acaba de tocar con el ratón no se queda con las teclas
    this.mouse = false;
    if (event.target.closest?.('.jp-Dialog')) return; // JupyterLab pregunta algo
    const { key } = event;
    const stop = () => {
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    const active = event.view.document.activeElement;
    const inside = active.closest?.('.pr-on :is(.jp-OutputArea, .jp-InputArea)');
    const writing = active.closest?.(EDITED) || active.matches?.(TYPED);
    if (key === 'Escape' || (key === 'Enter' && event.shiftKey)) {
      stop();
      return key === 'Enter' ? this.run() : this.escape(inside);
    }
    if (!CLICKER.includes(key)) {
      if (event.ctrlKey || event.metaKey || event.altKey) {
        if (!writing) event.stopImmediatePropagation(); // del navegador, sí; de JupyterLab, no
        return;
      }
      // Lo que se está escribiendo, y un control al que se ha llegado con el tabulador.
      if (key === 'Tab' || writing) return;
      if (inside && !clicked && active.matches(':focus-visible, .exp *')) return;
      if (this.list?.contains(active) && this.inList(event)) return;
    }
    stop();
    if (this.blank.dataset.look) return this.cover('');
    this.command(event.shiftKey && key === ' ' ? 'PageUp' : key);
  }

  command(key) {
    const typed = this.typed;
    this.typed = '';
    if (/^\d$/.test(key)) this.typed = (typed + key).slice(-3);
    else if (key === 'Enter' && typed) return this.go(Number(typed) - 1);
    else if (FORWARD.includes(key)) return this.forward();
    else if (BACK.includes(key)) return this.back();
    else if (key === 'Home') return this.go(0);
    else if (key === 'End') return this.go(this.slides.length - 1);
    else {
      const does = {
        b: () => this.cover('black'),
        '.': () => this.cover('black'),
        w: () => this.cover('white'),
        ',': () => this.cover('white'),
        g: () => this.choose(),
        n: () => this.notes.open(),
        r: () => this.run(),
        e: () => this.edit(),
        f: () => this.screen(),
      }[key.toLowerCase()];
      does?.();
    }
    if (this.undo.length) this.say_where();
  }

  escape(inside) {
    if (this.blank.dataset.look) return this.cover('');
    if (this.list) return this.choose();
    if (this.typed) return this.command('');
    if (inside) {
      this.lock(true);
      return this.release(true);
    }
    return this.end();
  }

  /** La pantalla en negro o en blanco: la clase mira al profesor. */
  cover(look) {
    this.blank.dataset.look = look;
  }

  screen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen();
  }

  // --- La lista -------------------------------------------------------------------------------------

  /** Abre la lista de diapositivas, o la cierra. */
  choose() {
    const open = this.list;
    open?.remove();
    this.list = null;
    if (open) return;
    this.list = document.createElement('ol');
    this.list.className = 'pr-list';
    for (const [number, slide] of this.slides.entries()) {
      const item = document.createElement('li');
      const button = document.createElement('button');
      button.textContent = slide.title;
      button.onclick = () => {
        this.choose();
        this.go(number);
      };
      item.append(button);
      this.list.append(item);
    }
    document.body.append(this.list);
    this.list.children[this.now].firstChild.focus();
  }

  inList(event) {
    const items = [...this.list.querySelectorAll('button')];
    const at = items.indexOf(document.activeElement);
    if (event.key === 'Enter' || event.key === ' ') return !this.typed;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return false;
    items.at(Math.min(Math.max(to, 0), items.length - 1)).focus();
    event.preventDefault();
    event.stopImmediatePropagation();
    return true;
  }
}
