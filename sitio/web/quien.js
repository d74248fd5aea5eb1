'use strict';
globalThis.course ??= {};
{
  // De quién es lo que guarda el navegador (progreso.js), si el ordenador es de varios. El nombre se olvida al cerrar la pestaña;
  // dentro de un aula virtual, no hace falta: lo suyo es de la cuenta con que ha entrado (lms.js).

  const { make, who: { student, typed } } = course;
  const [WHO, SAID] = ['atencion/quien', 'atencion/dicho'];
  const said = sessionStorage.getItem(SAID) ?? '';
  sessionStorage.removeItem(SAID);
  const name = student ? 'tu cuenta del aula' : typed;
  const GONE = `${course.home}/borrado`; // lo que leen las otras pestañas

  // Una página dentro de otra puede no tener permiso para preguntar: entonces «no» llega en el acto.
  const question = make('p', { className: 'exercise-unkept' });
  question.setAttribute('role', 'alert');
  function agreed(text, host) {
    const began = performance.now();
    const [yes, again] = [confirm(text), question.isConnected && question.textContent.startsWith(text)];
    question.remove();
    if (yes || performance.now() - began > 50) return yes;
    if (!again) {
      question.textContent = `${text} Si es que sí, púlsalo otra vez.`;
      host.before(question);
    }
    return again;
  }
  Object.assign(course, { agreed, again, download, chooser });

  /** Da un archivo a quien estudia. */
  function download(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    make('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  /** Lo que pide un archivo y se lo da a `bring`. */
  function chooser(accept, bring) {
    const file = make('input', { type: 'file', accept, hidden: true });
    file.onchange = () => {
      if (file.files[0]) bring(file.files[0]);
      file.value = '';
    };
    return file;
  }

  /** Lee otra vez la página, con lo de `next`. De lo de ahora ya no se guarda nada. */
  function again(text, next = typed) {
    course.gone = true;
    for (const [key, one] of [[WHO, next], [SAID, text]]) sessionStorage.setItem(key, one);
    location.reload();
  }

  function change(event) {
    event.preventDefault();
    const next = box.value.normalize('NFC').replace(/\p{Cs}/gu, '').replace(/\s+/gu, ' ').trim();
    const lost = document.querySelector('.exercise-unkept');
    if (!lost || agreed('Lo que no se ha podido guardar se pierde. ¿Sigo?', form))
      again(next ? '' : 'Ahora se guarda sin nombre.', next);
  }

  function erase() {
    const all = name ? `todo lo de ${name}` : 'todo lo escrito sin decir un nombre';
    if (!agreed(`Se borra de este navegador ${all}, de todas las lecciones. ¿Sigo?`, form)) return;
    const keys = course.progress.names();
    try {
      localStorage.setItem(GONE, 'sí');
    } catch {} // no cabe: las otras pestañas siguen con lo suyo
    [...keys, GONE].forEach(key => localStorage.removeItem(key));
    again(`Borrado de este navegador ${all}.`, '');
  }

  const keeps = !('unkept' in document.documentElement.dataset); // donde no se guarda nada, nada que separar
  const asks = keeps && !student;
  const box = make('input', { value: name, maxLength: 60, autocomplete: 'off', spellcheck: false });
  const set = [make('label', {}, '¿Quién eres? ', box), make('button', {}, name ? 'Cambiar' : 'Guardar aparte lo mío')];
  const form = make('form', { className: 'exercise-buttons', onsubmit: change }, ...(asks ? set : []));
  form.append(make('button', { type: 'button', onclick: erase }, 'Borrar lo mío de este ordenador'));
  const told = name
    ? `Se guarda a nombre de ${name}.${student ? '' : ' Sin nombre, se guarda como siempre.'}`
    : 'Dilo si este ordenador es de varios: guarda aparte lo tuyo. Se olvida al cerrar la pestaña, y no es una contraseña.';
  const hint = make('p', { className: 'exercise-keys', id: 'quien-dice' }, keeps ? `${said} ${told}`.trim() : said);
  box.setAttribute('aria-describedby', hint.id);
  const kept = document.querySelector('.answers-kept');
  kept.append(form, hint);
  if (said || typed) kept.open = true;
  if (said) (asks ? box : form.lastChild).focus({ preventScroll: true });

  addEventListener('storage', ({ key, newValue }) => key === GONE && newValue && again('Borrado en otra pestaña.', ''));
  addEventListener('pageshow', ({ persisted }) => persisted && keeps && location.reload()); // era de otro, quizá
}
