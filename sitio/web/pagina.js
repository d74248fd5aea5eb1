'use strict';
{
  // Lo que hace cada página: que quepan las fórmulas y las tablas, y abrir lo plegado cuando hace falta.

  // Lo que no cabe se desliza, también con las flechas, y se dice.
  const watcher = new ResizeObserver(entries => {
    for (const { target } of entries) {
      const wide = target.scrollWidth > target.clientWidth + 1;
      target.classList.toggle('desliza', wide && !target.matches('.math'));
      if (wide) target.tabIndex = 0;
      else target.removeAttribute('tabindex');
    }
  });
  document.querySelectorAll('div.math, .cell_output > .output, .pst-scrollable-table-container:has(> img)').forEach(node => watcher.observe(node));

  // En un teléfono, una tabla que no cabe se lee en fichas: cada dato, con su columna delante.
  for (const table of innerWidth < 600 ? document.querySelectorAll('.bd-article table') : []) {
    const [head, ...rows] = [...table.rows].map(row => [...row.cells]);
    const even = rows.length && rows.every(row => row.length === head.length);
    if (!even || table.scrollWidth <= table.parentElement.clientWidth + 1) continue;
    table.classList.add('cards');
    for (const row of rows)
      row.forEach((cell, i) => {
        const name = head[i].textContent.trim();
        if (name && cell.textContent.trim()) cell.dataset.column = name;
      });
  }

  /** Un texto que llega en la dirección, o él mismo si está mal escrito. */
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** Abre todo lo que esconde el sitio al que lleva la dirección. */
  function openTarget() {
    const asked = location.hash.slice(1); // un sitio de la página, o un explorador y cómo está
    const name = new URLSearchParams(asked).get('explorador') ?? decoded(asked);
    const [, number] = /^§(\d+(?:\.\d+)?)$/.exec(name) ?? [];
    const titles = number ? [...document.querySelectorAll('article :is(h2, h3)')] : [];
    const start = number?.includes('.') ? `${number} ` : `${number}. `;
    const target = titles.find(one => one.textContent.startsWith(start)) ?? document.getElementById(name);
    if (!target) return;
    for (let node = target; node; node = node.parentElement)
      if (node.tagName === 'DETAILS') node.open = true;
    target.scrollIntoView();
  }
  addEventListener('hashchange', openTarget);
  if (location.hash) openTarget();

  // En papel no hay nada que pulsar: se abre todo y, después, vuelve a como estaba.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    opened.forEach(node => (node.open = true));
  });
  addEventListener('afterprint', () => opened.forEach(node => (node.open = false)));
}
