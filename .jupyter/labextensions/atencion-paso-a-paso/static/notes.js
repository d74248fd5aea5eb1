/* La ventana del profesor: las notas de la diapositiva, el tiempo y lo que viene. */

const BLOCKED =
  'El navegador no deja abrir la ventana de las notas: permite las ventanas emergentes de esta página.';
const LOOK = `
  body { margin: 0; padding: 1.2rem 1.6rem; overflow: auto; font: 1.25rem/1.5 system-ui, sans-serif;
    background: #fff; color: #222; }
  header { display: flex; gap: 1.5rem; align-items: baseline; border-bottom: 2px solid #bbb; }
  header b { font-size: 2.2rem; font-variant-numeric: tabular-nums; }
  footer { border-top: 1px solid #bbb; color: #555; padding-top: .5rem; margin-top: 1rem; }
  h1 { font-size: 1.4rem; }
`;

export class Notes {
  constructor(show) {
    this.show = show;
  }

  open() {
    if (this.window && !this.window.closed) return this.window.focus();
    this.window = window.open('', 'notas', 'width=760,height=820');
    if (!this.window) return this.show.say(BLOCKED);
    const page = this.window.document;
    page.title = 'Notas de la clase';
    page.documentElement.lang = 'es';
    const sheets = [...document.querySelectorAll('style, link[rel=stylesheet]')]; // los de las fórmulas
    const style = page.createElement('style');
    style.textContent = LOOK;
    page.head.replaceChildren(...sheets.map(sheet => page.importNode(sheet, true)), style);
    page.body.dataset.notas = 'sí';
    const make = name => page.body.appendChild(page.createElement(name));
    page.body.replaceChildren();
    [this.top, this.main, this.next] = [make('header'), make('main'), make('footer')];
    this.window.addEventListener('keydown', event => this.show.key(event), true);
    this.update();
    this.tick();
    return undefined;
  }

  get alive() {
    return this.window && !this.window.closed;
  }

  update() {
    if (!this.alive) return;
    const { show } = this;
    const page = this.window.document;
    const title = page.createElement('h1');
    title.textContent = show.slide.title;
    const notes = show.slide.notes.map(note => {
      const text = note.node.querySelector('.jp-RenderedMarkdown');
      return text ? page.importNode(text, true) : note.model.sharedModel.source;
    });
    this.main.replaceChildren(title, ...notes);
    const next = show.slides[show.now + 1]?.title;
    this.next.textContent = next ? `Después: ${next}` : 'Es la última.';
  }

  tick() {
    if (!this.alive) return;
    const { show } = this;
    const page = this.window.document;
    const clock = page.createElement('b');
    clock.textContent = show.elapsed;
    const told = `${show.told.textContent} · hasta el minuto ${show.slide.until} de ${show.slides.at(-1).until}${show.late}`;
    this.top.replaceChildren(clock, told);
  }

  close() {
    if (this.alive) this.window.close();
  }
}
