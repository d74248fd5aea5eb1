'use strict';
{
  // La página que se cuenta sola: el texto avanza y mueve los exploradores, que están en un marco.

  const STILL = matchMedia('(prefers-reduced-motion: reduce)');
  const GLIDES = ['Q', 'K', 'logits', 'temperature']; // lo que se desliza, en GLIDE ms
  const [GLIDE, QUIET] = [900, 1500];
  const [PER_WORD, AT_LEAST] = [350, 3500]; // lo que se espera en cada paso, al reproducir
  const stage = document.querySelector('.marco');
  const [back, player, forward] = stage.querySelectorAll('button');
  const steps = [...document.querySelectorAll('.paso')].map(
    ({ dataset, nextElementSibling: text }) => {
      text.classList.add('rotulo');
      const traits = JSON.parse(dataset.traits);
      return { text, scene: text.closest('section'), name: dataset.pieza, traits };
    },
  );
  const scenes = [...new Set(steps.map(({ scene }) => scene))];
  const pieces = Object.fromEntries(
    [...new Set(steps.map(({ name }) => name))].map(name => {
      const place = document.getElementById(name);
      stage.prepend(place);
      const start = JSON.parse(place.querySelector('script').textContent);
      return [name, { place, start, host: place.firstElementChild }];
    }),
  );
  let [at, timer, frame, moved] = [-1, null, null, -Infinity];

  const between = (a, b, t) =>
    Array.isArray(b) ? b.map((x, i) => between(a[i], x, t)) : a + (b - a) * t;

  /** Deja el explorador como dicen los traits; algunos, poco a poco. Si aún no vive, lo espera. */
  function move(host, traits, from = null, begun = 0) {
    frame = requestAnimationFrame(now => {
      if (!host.model) return move(host, traits);
      const before = from ?? { ...host.model.state };
      const t = STILL.matches ? 1 : Math.min(1, (now - (begun || now)) / GLIDE);
      const names = GLIDES.filter(name => name in traits && t < 1);
      const part = names.map(name => [name, between(before[name], traits[name], t)]);
      host.model.update({ ...traits, ...Object.fromEntries(part) });
      if (t < 1) move(host, traits, before, begun || now);
    });
  }

  /** Enseña un paso, venga de donde venga: su rótulo, su escena y todo lo que ya se ha movido. */
  function show(n) {
    if (n === at) return;
    const { text, scene, name } = steps[(at = n)];
    const { host, start } = pieces[name];
    const traits = {};
    steps.forEach((step, i) => {
      step.text.classList.toggle('ahora', i === n);
      step.scene.classList.toggle('presente', step.scene === scene);
      if (step.name !== name) return;
      for (const key in step.traits)
        traits[key] = i > n ? (traits[key] ?? start[key]) : step.traits[key];
    });
    for (const [other, { place }] of Object.entries(pieces)) place.hidden = other !== name;
    const number = scenes.indexOf(scene) + 1;
    stage.querySelector('.cuenta').textContent = `Escena ${number} de ${scenes.length}`;
    cancelAnimationFrame(frame);
    move(host, traits);
    if (timer) play(true);
  }

  function go(n) {
    if (!steps[n]) return play(false);
    moved = performance.now();
    show(n);
    const { text, scene } = steps[n]; // a quien no ve la página, se le lee; al deslizarla, la lee por su cuenta
    const title = n && steps[n - 1].scene === scene ? '' : `${scene.querySelector('h2').firstChild.textContent}. `;
    stage.querySelector('.mandos [role=status]').textContent = title + text.textContent;
    measure();
    (title && n ? scene.querySelector('h2') : text).scrollIntoView({ behavior: STILL.matches ? 'instant' : 'smooth' });
  }

  function play(on) {
    clearTimeout(timer);
    const wait = AT_LEAST + PER_WORD * steps[at].text.textContent.split(/\s+/).length;
    timer = on ? setTimeout(() => go(at + 1), wait) : null;
    player.textContent = on ? '❚❚ Pausa' : '▶ Reproducir';
  }

  /** Toca el último paso que ha llegado a la altura en que se lee. */
  function follow() {
    if (performance.now() - moved < QUIET) return; // aún se va a uno
    const margins = [steps[0].text, document.documentElement].map(getComputedStyle);
    const line = parseFloat(margins[0].scrollMarginTop) + parseFloat(margins[1].scrollPaddingTop) + 9;
    show(
      Math.max(
        0,
        steps.findLastIndex(({ text }) => text.getBoundingClientRect().top < line),
      ),
    );
  }

  // Cuánto ocupa la figura: en un teléfono, el texto se para justo debajo.
  const measure = () => document.body.style.setProperty('--stage', `${stage.offsetHeight}px`);
  new ResizeObserver(measure).observe(stage);

  back.onclick = () => go(at - 1);
  forward.onclick = () => go(at + 1);
  player.onclick = () => play(!timer);
  addEventListener('scroll', follow, { passive: true });
  addEventListener('keydown', event => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const used =
      event.ctrlKey || event.metaKey || event.altKey || event.target.closest('.exp, input');
    if (by && !used) go(at + by);
  });
  scenes[0].before(stage);
  stage.hidden = false;
  document.querySelector('article').classList.add('minutos');
  follow();
}
