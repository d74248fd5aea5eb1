'use strict';
{
  // La página que abre un aula virtual (Moodle y otras, con SCORM 1.2): lleva dentro el sitio, y apunta en el libro
  // de notas lo que sale al comprobar. Lo cuenta el navegador, y quien sabe lo falsea: juzga «calificar».

  const { first, lessons, total } = JSON.parse(document.querySelector('[type="application/json"]').textContent);
  const [said, frame] = [document.querySelector('p'), document.querySelector('iframe')];
  const points = Object.assign({}, ...lessons.map(lesson => lesson.points));
  const done = new Map(); // ejercicio → si ya ha salido bien, y qué línea es en el informe del aula
  let lost = false;
  const attempt = ask => {
    try {
      return ask();
    } catch {
      return null; // una ventana de otro sitio, o algo que esta aula no sabe hacer
    }
  };

  /** Lo que un aula deja para hablar con ella, en una ventana de encima. */
  const find = (place, n = 0) =>
    place && n < 500 ? (attempt(() => place.API) ?? find(place === place.parent ? null : place.parent, n + 1)) : null;
  const api = find(window) ?? find(window.opener) ?? find(top.opener);
  const call = (what, ...given) => String(attempt(() => api[what](...given)) ?? '');
  const read = name => call('LMSGetValue', `cmi.${name}`);
  const write = parts => Object.keys(parts).map(name => call('LMSSetValue', `cmi.${name}`, String(parts[name])) === 'true');
  const stored = () => Number(read('core.score.raw')) || 0;

  /** La nota, sobre 100. Nunca menos que la que ya hay; lo optativo suma sin pasar del máximo de su lección. */
  function mark() {
    const sum = (items, of) => items.reduce((all, one) => all + of(one), 0);
    const worth = number => (done.get(number)?.ok ? points[number] : 0);
    const got = sum(lessons, lesson => Math.min(lesson.most, sum(Object.keys(lesson.points), worth)));
    return Math.max(stored(), Math.round((1e4 * got) / total) / 100);
  }

  /** Dice cuánto hay; o que algo se ha perdido, hasta que se entra otra vez: Moodle no repite lo que ya ha mandado. */
  function show(saved) {
    const missing = Object.keys(points).filter(number => !done.get(number)?.ok);
    const which = missing.length > 8 ? `${missing.length} ejercicios` : missing.join(', ');
    const told = `En el libro de notas: ${String(mark()).replace('.', ',')} de 100.`;
    said.textContent = told + (which && ` Por hacer: ${which}.`);
    lost ||= !saved;
    if (lost) said.textContent = 'El aula no ha guardado algo. Entra otra vez en la actividad y comprueba lo último de nuevo.';
  }
  function save() {
    const score = { 'core.score.min': 0, 'core.score.max': 100, 'core.score.raw': mark() };
    score['core.lesson_status'] = mark() === 100 ? 'passed' : 'incomplete'; // con «failed», Moodle no deja seguir
    show(write(score).every(Boolean) && call('LMSCommit', '') === 'true');
  }

  /** Apunta lo que dice una comprobación. Lo que ya está bien se queda; lo que está sin hacer no es un fallo. */
  function tell({ number, text, ok, unsolved, refused }) {
    if (!(number in points) || unsolved || refused.length || done.get(number)?.ok) return;
    const line = done.get(number)?.line ?? Number(read('interactions._count')); // un aula puede no guardarlas
    done.set(number, { ok, line });
    const told = { id: `ejercicio_${number.replace('.', '_')}`, type: 'fill-in', result: ok ? 'correct' : 'wrong' };
    told.student_response = text.replace(/\s+/g, ' ').trim().slice(0, 255);
    for (const name in told) write({ [`interactions.${line}.${name}`]: told[name] });
    write({ suspend_data: JSON.stringify([...done]) });
    save();
  }
  // Lo de fuera, en otra pestaña: muchas páginas no se dejan abrir dentro de otra.
  frame.onload = () => frame.contentDocument?.querySelectorAll('a[href^="http"]').forEach(one => (one.target = '_blank'));
  frame.src = first;
  said.textContent = 'Ningún aula contesta: lo que compruebes no va a ninguna nota.';
  if (api && call('LMSInitialize', '') === 'true') {
    globalThis.course = { student: read('core.student_id') }; // de quién es lo que guarda el navegador (quien.js)
    attempt(() => JSON.parse(read('suspend_data')).forEach(([number, one]) => done.set(number, one)));
    said.textContent = 'Esto es un repaso: lo que compruebes no se apunta.';
    if (!/browse|review/.test(read('core.lesson_mode'))) {
      if (!/passed|completed/.test(read('core.lesson_status'))) write({ 'core.lesson_status': 'incomplete' });
      frame.addEventListener('checked', ({ detail }) => tell(detail));
      mark() > stored() ? save() : show(true); // lo que no se guardó la otra vez
    }
    const time = () => new Date(performance.now()).toISOString().slice(11, 19);
    const leave = () => write({ 'core.session_time': time(), 'core.exit': 'suspend' }) && call('LMSFinish', '');
    addEventListener('pagehide', leave);
    addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
  }
}
