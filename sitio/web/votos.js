'use strict';
{
  // Los votos de las encuestas: se escriben al lado de cada opción. Se quedan en la pestaña hasta que se cierra.
  const KEPT = `votos${location.pathname}`;
  const polls = [...document.querySelectorAll('.votos')];
  const boxesOf = place => [...place.querySelectorAll('input')];
  const every = polls.flatMap(boxesOf);

  /** Suma, dibuja las barras y guarda: en la pestaña y, como una hoja de cálculo, en el enlace. */
  function tell() {
    const rows = [['Encuesta', 'Votación', 'A', 'B', 'C', 'D']];
    for (const round of document.querySelectorAll('.votos [role=group]')) {
      const votes = boxesOf(round).map(box => Number(box.validity.valid && box.value));
      const total = votes.reduce((sum, some) => sum + some);
      boxesOf(round).forEach((box, k) => box.style.setProperty('--parte', votes[k] / (total || 1)));
      round.lastElementChild.value = total ? `${round.dataset.name}: ${total}` : '';
      rows.push([round.closest('section').querySelector('h2').textContent, round.ariaLabel, ...votes]);
    }
    const quoted = one => `"${String(one).replaceAll('"', '""')}"`;
    const text = encodeURIComponent(rows.map(row => row.map(quoted).join(';')).join('\r\n'));
    for (const poll of polls)
      poll.querySelector('[download]').href = `data:text/csv;charset=utf-8,%EF%BB%BF${text}`;
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(every.map(({ value }) => value)));
    } catch {} // el navegador no deja: duran lo que la página
  }

  try {
    JSON.parse(sessionStorage.getItem(KEPT)).forEach((value, k) => (every[k].value = value));
  } catch {} // no hay nada, o no deja leerlo
  for (const poll of polls) {
    const list = poll.closest('section').querySelector('ul');
    list.replaceWith(poll);
    poll.prepend(list);
    poll.oninput = tell;
    poll.querySelector('button').onclick = () => {
      if (!confirm('Se borran los votos de esta encuesta. ¿Sigo?')) return;
      for (const box of boxesOf(poll)) box.value = '';
      tell();
    };
  }
  tell();

  // «a12 b8 c15 d5»: cada letra va a su casilla; si nadie escribe, a la primera vacía de las suyas.
  addEventListener('keydown', event => {
    const { key, target } = event;
    const poll = document.querySelector('.andando .ahora .votos');
    if (!poll || event.ctrlKey || event.altKey || event.metaKey) return;
    const boxes = boxesOf(poll);
    const [at, letter] = [boxes.indexOf(target), [...'abcd'].indexOf(key.toLowerCase())];
    const round = at < 0 ? 4 * Boolean(boxes[letter]?.value) : at - (at % 4);
    if (letter >= 0) boxes[round + letter].select();
    else if (key === 'Enter' && at >= 0) at % 4 < 3 ? boxes[at + 1].select() : target.blur();
    else return;
    event.preventDefault();
  });
}
