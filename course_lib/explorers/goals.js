// Lo que comparten los exploradores con retos.

/** Los retos: lo que se pide y, cuando se ha cumplido una vez, por qué sale. */
function challenges(goals) {
  const marks = goals.map(() => make('span', { class: 'exp-done' }));
  const items = goals.map(([goal], i) => make('li', {}, goal, marks[i]));
  return {
    node: make('ol', { class: 'exp-goals' }, ...items),
    mark: met => goals.forEach(([, why], i) => met[i] && marks[i].replaceChildren(` ✓ ${why}`)),
  };
}

/** Los retos que se cumplen, dichos. */
const won = met => met.flatMap((goal, i) => (goal ? [`Reto ${i + 1}, conseguido.`] : []));
