'use strict';
{
  // El glosario se abre por la palabra inglesa y por la española: se busca en las dos columnas, se ordena por la
  // que se quiera, y «glosario.html#máscara causal» lleva a su fila.

  const { make } = course;
  const table = document.querySelector('#glosario table');
  const [body, rows] = [table.tBodies[0], [...table.tBodies[0].rows]];
  const fold = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
  const names = new Map(rows.map(row => [row, [...row.cells].slice(0, 2).map(cell => fold(cell.textContent))]));
  for (const { cells } of rows) cells[0].lang = 'en';

  function look() {
    const asked = fold(box.value);
    for (const row of rows) row.hidden = !names.get(row).some(name => name.includes(asked));
    const many = rows.filter(row => !row.hidden).length;
    said.textContent = !asked ? '' : many ? `${many} de ${rows.length}.` : 'No está. Prueba con el buscador de la página.';
  }
  function sort(column) {
    const by = (a, b) => names.get(a)[column].localeCompare(names.get(b)[column], 'es');
    body.append(...rows.toSorted(by));
    [...orders].forEach((one, k) => one.setAttribute('aria-pressed', String(k === column)));
  }
  function open() {
    const asked = fold(decodeURIComponent(location.hash.slice(1)));
    const row = asked && rows.find(one => names.get(one).includes(asked));
    if (!row) return;
    row.hidden = false;
    row.tabIndex = -1;
    row.focus();
  }

  const box = make('input', { type: 'search', oninput: look, spellcheck: false, autocomplete: 'off' });
  const orders = ['inglés', 'español'].map((name, k) => make('button', { type: 'button', onclick: () => sort(k) }, name));
  const said = make('span', {});
  said.setAttribute('role', 'status');
  const label = make('label', {}, 'Busca una palabra, en inglés o en español: ', box);
  const order = make('span', { className: 'exercise-buttons' }, 'Por orden en ', ...orders);
  order.setAttribute('role', 'group');
  (table.closest('.pst-scrollable-table-container') ?? table).before(make('div', { className: 'glosario-busca' }, label, said, order));
  orders[0].setAttribute('aria-pressed', 'true');
  orders[1].setAttribute('aria-pressed', 'false');
  addEventListener('hashchange', open);
  try {
    open();
  } catch {} // una dirección mal escrita
}
