'use strict';
globalThis.course ??= {};
{
  // Lo hecho por quien estudia, en este navegador: lo de .progreso.json, y además lo leído. Cada página lo
  // enseña: la portada, por dónde seguir; el índice, lo que falta; la lección, lo suyo.

  const { lesson } = document.currentScript.dataset; // la de esta página, si es una lección
  const root = new URL('..', document.currentScript.src);
  const KINDS = ['exercises', 'predictions', 'lines', 'asked', 'inventory'];
  const STAY = 2000; // ms que se está en un apartado para haberlo leído

  // De quién es: si el ordenador es de varios, lo de cada uno va aparte (quien.js); en un aula virtual, de su
  // cuenta (lms.js).
  const student = (() => {
    try {
      return parent.course?.student ?? '';
    } catch {
      return ''; // la página que lleva esta dentro es de otro sitio
    }
  })();
  const typed = sessionStorage.getItem('atencion/quien') ?? '';
  const whose = student ? `@${encodeURIComponent(student)}` : encodeURIComponent(typed.toLowerCase());
  course.who = { student, typed };
  course.home = whose ? `atencion/@${whose}` : 'atencion';
  const [DONE, READ, BEFORE] = ['progreso', 'leido', 'preguntas'].map(name => `${course.home}/${name}`);

  const make = (tag, attributes = {}, ...inside) => {
    const node = Object.assign(document.createElement(tag), attributes);
    node.append(...inside);
    return node;
  };
  course.make = make;

  /** Un objeto guardado. De otra cosa, o de nada, uno vacío. */
  function object(text) {
    try {
      const found = JSON.parse(text);
      return found && typeof found === 'object' && !Array.isArray(found) ? found : {};
    } catch {
      return {};
    }
  }
  const stored = name => object(localStorage.getItem(name));

  /** Lo guardado con ese nombre; nada, si no se deja leer. */
  course.kept = name => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  /** Los nombres de todo lo guardado de quien estudia. */
  const names = () =>
    Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place)).filter(
      key => key.startsWith(`${course.home}/`) && (whose || !key.startsWith('atencion/@')),
    );
  const only = found =>
    Object.fromEntries(Object.entries(found ?? {}).filter(([, one]) => one && typeof one === 'object'));

  /** Lo apuntado, de cada clase. Lo que escribió otra versión, o está roto, no cuenta. */
  function load() {
    const found = stored(DONE);
    found.asked ??= stored(BEFORE);
    return Object.fromEntries(KINDS.map(kind => [kind, only(found[kind])]));
  }

  function keep(name, what) {
    if (course.gone) return;
    try {
      localStorage.setItem(name, JSON.stringify(what));
    } catch {} // no cabe: la página ya lo dice
    draw();
  }

  const today = () => new Date().toLocaleDateString('sv'); // como 2026-03-14

  /** Apunta que se ha comprobado un ejercicio, o una línea, y si está bien: hasta la primera vez que lo está. */
  function tried(number, ok, kind = 'exercises') {
    const all = load();
    const { tries = 0, date } = all[kind][number] ?? {};
    if (date) return;
    all[kind][number] = { tries: Number(tries) + 1, date: ok ? today() : null };
    keep(DONE, all);
  }

  /** Apunta lo dicho, la primera vez. Lo que se dice después no cambia lo apuntado. */
  function predicted(name, said, right) {
    const all = load();
    all.predictions[name] ??= { said, right, date: today() };
    keep(DONE, all);
  }

  /** Abre lo que sale detrás de una predicción ya dicha. */
  function opens(host) {
    const later = [...document.querySelectorAll('details.answer, [data-explorer=Prediction]')];
    const next = later.find(one => !one.contains(host) && host.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (next?.tagName === 'DETAILS') next.open = true;
  }

  /** Apunta lo contestado a una pregunta que vuelve. Si en esta lección se había fallado, corregirlo no lo quita. */
  function asked(name, one) {
    const all = load();
    const { lesson: where, right, places } = all.asked[name] ?? {};
    const missed = where === one.lesson && right === false;
    const said = { ...places, [one.lesson]: one.said }; // en cada lección, lo suyo
    all.asked[name] = { ...one, right: one.right && !missed, places: said, date: today() };
    keep(DONE, all);
  }

  /** Apunta lo dicho en el inventario: lo que se va diciendo de una forma; lo entregado un día, una vez. */
  function taken(name, record) {
    const all = load();
    if (all.inventory[name]?.date) return;
    all.inventory[name] = record;
    keep(DONE, all);
  }

  // --- Lo que falta ---------------------------------------------------------------------------------

  const NAMES = [
    ['lines', 'línea', 'líneas'],
    ['predictions', 'predicción', 'predicciones'],
    ['exercises', 'ejercicio', 'ejercicios'],
  ];
  const isDone = (all, kind, name) => (kind === 'predictions' ? name in all[kind] : Boolean(all[kind][name]?.date));

  /** De una lección: cuánto hay hecho de cada cosa, y de cuánto. */
  function counts(name, all) {
    return NAMES.map(([kind, ...words]) => {
      const there = course.syllabus[name][kind];
      const done = there.filter(one => isDone(all, kind, one)).length;
      return { done, total: there.length, words };
    }).filter(({ total }) => total);
  }

  const listed = parts => parts.join(', ').replace(/, ([^,]*)$/, ' y $1');
  const told = (many, [one, more]) => `${many} ${many === 1 ? one : more}`;

  /** Lo que viene después de un ejercicio que está bien: → dirección y palabras. */
  function after(number) {
    const [names, all] = [Object.keys(course.syllabus), load()];
    const { exercises } = course.syllabus[lesson];
    const at = exercises.indexOf(number);
    const left = [...exercises.slice(at + 1), ...exercises.slice(0, at)].find(one => !isDone(all, 'exercises', one));
    if (left) return [`#responde-${left}`, `Sigue con el ejercicio ${left}`];
    const next = names[names.indexOf(lesson) + 1];
    return next ? [`${next}.html`, `Sigue con la lección ${course.syllabus[next].title}`] : ['index.html', 'Era el último'];
  }

  // --- Por dónde se va ------------------------------------------------------------------------------

  const sections = lesson ? [...document.querySelectorAll('article section[id] > :is(h2, h3)')] : [];
  const nameOf = title => title.firstChild.textContent.trim();
  let timer;

  /** Apunta el apartado que se está leyendo, si se lleva un rato en él. */
  function note() {
    const here = sections.findLast(one => one.getBoundingClientRect().top < innerHeight / 4);
    if (!here || document.hidden) return;
    const [read, id] = [stored(READ), here.parentElement.id];
    const seen = Array.isArray(read[lesson]) ? read[lesson] : [];
    read[lesson] = [...new Set([...seen, id])];
    const back = seen.includes(id) && read.last?.lesson !== lesson; // volver a mirar no cambia por dónde se va
    if (!back) read.last = { lesson, id, title: nameOf(here) };
    if (JSON.stringify(read) !== localStorage.getItem(READ)) keep(READ, read);
  }

  /** La lección y el apartado por los que se iba: → dirección y palabras; o nada. */
  function place() {
    const { lesson: name, id, title } = stored(READ).last ?? {};
    if (!Object.hasOwn(course.syllabus, name) || typeof id !== 'string' || typeof title !== 'string') return null;
    const [, part] = /^(\d+(?:\.\d+)?)\.? /.exec(title) ?? [];
    const where = part ? `§${part}` : `«${title.slice(0, 60)}»`;
    return { name, href: `${root}${name}.html#${encodeURIComponent(id)}`, text: `${name.slice(0, 2)} ${where}` };
  }

  // --- Enseñarlo ------------------------------------------------------------------------------------

  function draw() {
    document.querySelectorAll('.hecho').forEach(node => node.remove());
    const [all, read, last] = [load(), stored(READ), place()];
    for (const name of Object.keys(course.syllabus)) {
      const found = counts(name, all);
      const [done, total] = ['done', 'total'].map(what => found.reduce((sum, one) => sum + one[what], 0));
      if (!done && !read[name]) continue;
      const left = found.filter(one => one.done < one.total).map(one => told(one.total - one.done, one.words));
      const words = left.length ? `Te faltan ${listed(left)}` : 'Hecha';
      const mark = make('span', { className: 'hecho', title: words }, left.length ? `${done}/${total}` : '✓');
      mark.append(make('span', { className: 'visually-hidden' }, `. ${words}`));
      const here = name === lesson ? 'href="#"' : `href$="${name}.html"`;
      document.querySelectorAll(`.bd-docs-nav a[${here}]`).forEach(link => link.append(mark.cloneNode(true)));
      if (name !== lesson) continue;
      const parts = found.map(one => `${one.done} de ${told(one.total, one.words)}`);
      document.querySelector('article h1').after(make('p', { className: 'hecho llevas' }, `Llevas ${listed(parts)}.`));
      if (last?.name === name && last.href !== location.href)
        document.querySelector('.llevas').append(' ', make('a', { href: last.href }, `Ibas por ${last.text.slice(3)}`));
    }
    const start = document.querySelector('a.empezar:not(.hecho)');
    const first = last && start && make('a', { className: 'hecho empezar', href: last.href }, `Sigue en ${last.text}`);
    if (first) start.before(first, ' ');
    start?.classList.toggle('otra', Boolean(last));
  }

  /** Un texto, con cada «00 §3» que dice como enlace a ese apartado: → nodos. */
  course.linked = text =>
    text.split(/(\b\d\d §\d+(?:\.\d+)?)/).map(part => {
      const [, number, section] = /^(\d\d) (§.+)$/.exec(part) ?? [];
      const name = number && Object.keys(course.syllabus).find(one => one.startsWith(number));
      return name ? make('a', { href: `${root}${name}.html#${section}` }, part) : part;
    });

  course.progress = { DONE, READ, object, names, load, tried, predicted, opens, asked, taken, after };
  draw();
  if (lesson)
    for (const kind of ['scroll', 'visibilitychange'])
      document.addEventListener(kind, () => (clearTimeout(timer), (timer = setTimeout(note, STAY))), { passive: true });
  addEventListener('storage', ({ key }) => [DONE, READ].includes(key) && draw());
}
