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
    const target = document.getElementById(name);
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
