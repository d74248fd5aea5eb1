'use strict';
{
  // Lo que hace cada página: deslizar las fórmulas, y abrir lo plegado cuando hace falta.

  // La que no cabe se desliza, también con las flechas.
  const watcher = new ResizeObserver(entries => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute('tabindex');
  });
  document.querySelectorAll('div.math').forEach(node => watcher.observe(node));

  /** Abre todo lo que esconde el sitio al que lleva la dirección. */
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
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
