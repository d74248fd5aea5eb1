'use strict';
{
  // Anda una clase: una diapositiva cada vez y, en ella, lo que aparece al avanzar.
  const slides = [...document.querySelectorAll('.clase section')];
  const [back, told, on, read, notes] = document.querySelectorAll('.mando :is(button, output, [target])');
  const root = document.documentElement;
  let now, step, walking, touched, start, beside;

  /** La letra, las figuras y los exploradores crecen hasta llenar la pantalla. */
  function fit() {
    if (!walking) return;
    const wide = [...slides[now].querySelectorAll('pre, table, div.math')];
    const fits = scale => {
      root.style.setProperty('--crece', scale);
      const inside = wide.every(one => one.scrollWidth <= one.clientWidth + 1);
      return inside && root.scrollHeight <= innerHeight;
    };
    let [low, high] = [0, fits(1) ? 0 : 1]; // si cabe lo mayor, se queda
    for (let turn = 0; high && turn < 7; turn++)
      if (fits((low + high) / 2)) low = (low + high) / 2;
      else high = (low + high) / 2;
    if (high) fits(low);
  }
  const sizes = new ResizeObserver(() => touched || fit()); // mientras la mano mueve uno, nada salta

  function go(number, steps = 0) {
    now = Math.max(0, Math.min(number, slides.length - 1)) || 0;
    const parts = [...slides[now].querySelectorAll('.fragmento')];
    step = Math.min(steps, parts.length);
    touched = false;
    slides.forEach((one, n) => one.classList.toggle('ahora', n === now));
    parts.forEach((one, n) => one.classList.toggle('luego', n >= step));
    told.value = `${now + 1} de ${slides.length}`;
    history.replaceState(null, '', `#${now + 1}`);
    if (beside && !beside.closed) beside.location.replace(`${notes.href}#${now + 1}`);
    scrollTo(0, 0);
    sizes.disconnect();
    for (const one of slides[now].children) sizes.observe(one);
    fit();
  }
  function move(by) {
    if (by > 0 ? slides[now].querySelector('.luego') : step > 0) go(now, step + by);
    else if (slides[now + by]) go(now + by, by > 0 ? 0 : Infinity);
  }
  function walk(yes) {
    walking = root.classList.toggle('andando', yes);
    read.setAttribute('aria-pressed', !yes);
    if (yes) go(location.hash.slice(1) - 1);
    else slides[now].scrollIntoView();
  }

  const MOVES = { ArrowRight: 1, PageDown: 1, ' ': 1, ArrowLeft: -1, PageUp: -1 };
  addEventListener('keydown', event => {
    const { key, target, shiftKey } = event;
    const busy = target.closest('.exp, .ahora input') || (key === ' ' && target.closest('button, a, summary'));
    if (key === 'Escape') document.activeElement.blur(); // las teclas vuelven a la clase
    if (event.ctrlKey || event.altKey || event.metaKey || !walking) return;
    if (busy && !key.startsWith('Page')) return; // el mando de quien da la clase, siempre
    if (key in MOVES) move(shiftKey && key === ' ' ? -1 : MOVES[key]);
    else if (key === 'Home' || key === 'End') go(key === 'Home' ? 0 : Infinity);
    else return;
    event.preventDefault();
  });
  addEventListener('pointerdown', ({ target }) => (touched ||= target.closest('.exp')));
  addEventListener('touchstart', ({ touches, target }) => {
    start = walking && !touches[1] && !target.closest('.exp, pre, div.math, table') && touches[0];
  });
  addEventListener('touchend', ({ changedTouches: [end] }) => {
    const across = start ? end.clientX - start.clientX : 0;
    if (Math.abs(across) > 50 + 2 * Math.abs(end.clientY - start.clientY)) move(-Math.sign(across));
  });
  addEventListener('resize', fit);
  addEventListener('hashchange', () => walking && walk(true));
  [back.onclick, on.onclick, read.onclick] = [() => move(-1), () => move(1), () => walk(!walking)];
  if (notes) // en el sitio que se publica, no están
    notes.onclick = event => {
      event.preventDefault();
      beside = open(`${notes.href}#${now + 1}`, 'notas', 'popup,width=800,height=900');
    };
  walk(true);
}
