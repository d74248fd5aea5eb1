'use strict';
globalThis.course ??= {};
{
  // Lo de quien estudia, en un archivo: para otro navegador, o para JupyterLab, que lo lee al abrir el curso
  // (course_tools/opening/luggage.py). Lo que llega en él es de fuera: solo entra lo que se entiende.

  const { make, again, progress, download, chooser } = course;
  const { DONE, READ, object } = progress;
  const [COURSE, NAME] = ['atencion-paso-a-paso', 'mi_progreso.json'];
  const WRITTEN = /^(\d\d_\w+)\/([\w.-]+)$/; // la lección, y el ejercicio o la celda
  const OTHER = '/otra'; // lo escrito en otra pestaña, o en otro sitio, que espera a que se elija
  const PIECES = `${course.home}/mi_biblioteca`;
  const list = text => {
    try {
      const found = JSON.parse(text);
      return Array.isArray(found) ? found : [];
    } catch {
      return [];
    }
  };

  /** Todo, como va en el archivo. */
  function packed() {
    const written = {};
    for (const key of progress.names()) {
      const name = key.slice(course.home.length + 1);
      if (WRITTEN.test(name)) written[name] = localStorage.getItem(key);
    }
    const rest = { read: object(localStorage.getItem(READ)), written, library: list(localStorage.getItem(PIECES)) };
    return { course: COURSE, ...progress.load(), ...rest };
  }

  /** De dos cosas apuntadas, la que vale: lo dicho antes, o lo que ya estaba bien. */
  const better = (kind, mine, theirs) => {
    if (!mine) return theirs;
    if (kind === 'predictions') return theirs.date < mine.date ? theirs : mine;
    if (kind === 'asked') return theirs.date > mine.date ? theirs : mine;
    return mine.date || !theirs.date ? mine : theirs;
  };

  /** Mete lo de un archivo en lo de aquí: → lo que hay que escribir, y las respuestas que son dos. */
  function merged(found) {
    const [changes, all, read, two] = [{}, progress.load(), object(localStorage.getItem(READ)), []];
    for (const kind in all)
      for (const [name, one] of Object.entries(found[kind]))
        if (one && typeof one === 'object') all[kind][name] = better(kind, all[kind][name], one);
    for (const [lesson, ids] of Object.entries(found.read))
      if (Object.hasOwn(course.syllabus, lesson) && Array.isArray(ids))
        read[lesson] = [...new Set([...(read[lesson] ?? []), ...ids.filter(id => typeof id === 'string')])];
    read.last ??= found.read.last;
    for (const [name, text] of Object.entries(found.written)) {
      const [, lesson, what] = WRITTEN.exec(name) ?? [];
      if (!Object.hasOwn(course.syllabus, lesson) || typeof text !== 'string' || text.length > 2e5) continue;
      const [key, now] = [`${course.home}/${name}`, localStorage.getItem(`${course.home}/${name}`)];
      if (now === null) changes[key] = text;
      else if (now !== text && /^\d/.test(what)) two.push(what), (changes[key + OTHER] = text);
    }
    const pieces = list(localStorage.getItem(PIECES));
    const more = found.library.filter(one => Array.isArray(one) && !pieces.some(([number]) => number === one[0]));
    changes[PIECES] = JSON.stringify([...pieces, ...more]);
    return [{ ...changes, [DONE]: JSON.stringify(all), [READ]: JSON.stringify(read) }, two];
  }

  async function bring(file) {
    let found = {};
    try {
      if (file.size < 2e7) found = object((await file.text()).replace(/^\uFEFF/, ''));
    } catch {} // no se deja leer
    if (found.course !== COURSE) return (status.textContent = `«${file.name}» no es un ${NAME} de este curso. No ha cambiado nada.`);
    for (const name of ['exercises', 'predictions', 'lines', 'asked', 'inventory', 'read', 'written'])
      found[name] = object(JSON.stringify(found[name] ?? {}));
    found.library = list(JSON.stringify(found.library ?? []));
    const [changes, two] = merged(found);
    const before = Object.keys(changes).map(key => [key, localStorage.getItem(key)]);
    try {
      for (const [key, text] of Object.entries(changes)) localStorage.setItem(key, text);
    } catch {
      for (const [key, text] of before) text === null ? localStorage.removeItem(key) : localStorage.setItem(key, text);
      return (status.textContent = 'No cabe en lo que guarda este navegador. No ha cambiado nada.');
    }
    const many = Object.values(progress.load().exercises).filter(({ date }) => date).length;
    const both = two.length ? ` En ${two.join(', ')} habías escrito otra cosa: están las dos, y eliges allí.` : '';
    again(`Traído. Ejercicios resueltos: ${many}.${both}`);
  }

  function take() {
    download(NAME, 'application/json', JSON.stringify(packed(), null, 1));
    status.textContent = `Guardado como ${NAME}. En otro navegador, tráelo aquí; en tu ordenador, ponlo en «mis_cuadernos» y abre el curso.`;
  }

  const status = make('p', {});
  status.setAttribute('role', 'status');
  const file = chooser('.json', bring);
  const taker = make('button', { type: 'button', onclick: take }, 'Llevarme lo mío en un archivo');
  const bringer = make('button', { type: 'button', onclick: () => file.click() }, 'Traer lo mío');
  document.querySelector('.answers-kept').prepend(make('div', { className: 'exercise-buttons' }, taker, bringer, file), status);
}
