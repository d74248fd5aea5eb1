'use strict';
globalThis.course ??= {};
{
  // La dirección de un explorador lleva lo que la mano ha movido en él: «#cabeza=2&paso=3». Al abrirla,
  // se pone otra vez. Lo que dice es de fuera: solo vale lo que su explorador declara que vale, que está en
  // `course.moves`: de cada nombre en la dirección, su trait y su regla.

  /** Lo que hay en un sitio del estado, como «data.tokens»; con «*», lo de cada uno. */
  const found = (path, state) =>
    path
      .split('.')
      .reduce((all, key) => all.flatMap(one => (key === '*' ? one : [one[key]])), [state]);

  /** Lo que vale un límite: un número; o un sitio, y lo que se suma a cuántos hay en él. */
  const measured = (limit, state) =>
    typeof limit === 'number'
      ? limit
      : Math.max(...found(limit[0], state).map(one => one.length ?? one)) + limit[1];

  /** Si un valor sirve: lo mismo que en Python mira `kept`, en declared.py, que da también las reglas. */
  course.serves = (rule, x, state) => {
    if (x === undefined || x === null) return x === null && Boolean(rule.optional);
    if (x === rule.or) return true;
    if (rule.text) return typeof x === 'string' && x.trim() !== '' && x.length <= rule.text;
    if (rule.of) return (typeof rule.of === 'string' ? found(rule.of, state) : rule.of).includes(x);
    const [low, high] = rule.between.map(limit => measured(limit, state));
    const fits = number => low <= number && number <= high;
    if (rule.list)
      return (
        Array.isArray(x) && fits(x.length) && x.every(one => course.serves(rule.list, one, state))
      );
    return Number.isFinite(x) && fits(x) && (!rule.step || x % rule.step === 0);
  };

  // Un texto va como es, y dos, en dos líneas; lo demás, en JSON.
  const isText = value => typeof value === 'string';
  const areTexts = value => Array.isArray(value) && value.length > 0 && value.every(isText);
  const encode = value =>
    isText(value) ? value : areTexts(value) ? value.join('\n') : JSON.stringify(value);
  function decode(text, sample) {
    if (isText(sample)) return text;
    if (areTexts(sample)) return text.split('\n');
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  /** Lo que la dirección de la página dice de un explorador; si habla de otra cosa, nada. */
  function said({ id, dataset }) {
    const found = new Map(new URLSearchParams(location.hash.slice(1)));
    const mine = !dataset.page || found.get('explorador') === id;
    found.delete('explorador');
    return mine ? [...found] : [];
  }

  /** Escribe lo que pide una dirección, como si lo hiciera una mano; espera a que se conteste. */
  const ask = (host, model, texts) =>
    new Promise(done => {
      const boxes = [...host.querySelectorAll('input[type=text]')];
      model.on('change:answered', done);
      boxes.forEach((box, i) => (box.value = texts[i] ?? ''));
      boxes[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
    });

  /** Pone lo que dice la dirección. Devuelve si todo se ha podido. */
  async function restore(host, model, moves) {
    const found = said(host).map(([key, text]) => {
      const { trait, rule } = Object.hasOwn(moves, key) ? moves[key] : {};
      return { trait, rule, value: trait && decode(text, model.get(trait)) };
    });
    const fits = ({ trait, rule, value }) => trait && course.serves(rule, value, model.state);
    const isAsked = ({ trait }) =>
      trait?.startsWith('sentence') || (trait === 'layer' && model.get('layers')); // QKV la pide
    const asked = found.filter(isAsked).filter(fits);
    const layer = asked.find(({ trait }) => trait === 'layer');
    if (layer) model.set('layer', layer.value);
    const sentence = asked.find(one => one !== layer)?.value ?? model.get('sentence');
    if (asked.length) await ask(host, model, [sentence].flat());
    const rest = found.filter(one => !asked.includes(one));
    const good = rest.filter(fits);
    model.update(Object.fromEntries(good.map(({ trait, value }) => [trait, value])));
    return good.length === rest.length;
  }

  const LOCAL = 'Es una dirección de este ordenador: en otro, usa la del sitio publicado.';

  /** Un explorador ya vivo: se pone como dice la dirección, y desde entonces la dirección lo sigue. */
  course.link = (host, model) => {
    const { make } = course;
    const moves = course.moves[host.dataset.explorer];
    if (!host.id || !moves) return;
    const start = structuredClone(model.state);
    const status = make('p', { role: 'status' });
    const copied = [];

    /** Lo que ha cambiado, como se escribe en una dirección. */
    function moved() {
      const same = trait => JSON.stringify(model.get(trait)) === JSON.stringify(start[trait]);
      const now = Object.entries(moves).filter(([, { trait }]) => !same(trait));
      return new URLSearchParams(now.map(([key, { trait }]) => [key, encode(model.get(trait))]));
    }

    function fill() {
      const own = new URL(host.dataset.page ?? '', location.href.split('#')[0]);
      own.hash = moved();
      const frame = make('iframe', { src: own.href, title: document.title, loading: 'lazy' });
      const look = { width: '100%', height: host.offsetHeight + 160, style: 'border: 0' };
      Object.entries(look).forEach(([name, value]) => frame.setAttribute(name, value));
      copied.forEach(({ input }, i) => (input.value = [own.href, frame.outerHTML][i]));
      status.textContent = '';
    }

    let timer;
    function follow() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const params = moved();
        const whose = host.dataset.page ? [['explorador', host.id]] : [];
        history.replaceState(null, '', `#${new URLSearchParams([...whose, ...params])}`);
        fill();
      }, 500);
    }

    function copy(input) {
      input.select();
      const done = () => (status.textContent = 'Copiado.');
      const fail = () => (status.textContent = 'Está seleccionado: cópialo con Ctrl+C.');
      const byHand = () => (document.execCommand('copy') ? done() : fail());
      navigator.clipboard?.writeText(input.value).then(done, byHand) ?? byHand();
    }

    for (const name of ['Enlace', 'Para incrustarlo']) {
      const input = make('input', { readOnly: true, type: 'text' });
      const press = make('button', { type: 'button', onclick: () => copy(input) }, 'Copiar');
      press.setAttribute('aria-label', `Copiar: ${name}`);
      copied.push({ input, node: make('div', {}, make('label', {}, `${name} `, input), press) });
    }
    const look = { className: 'course-link', ontoggle: fill };
    const inside = [make('summary', {}, 'Enlace e incrustar'), ...copied.map(({ node }) => node)];
    if (location.protocol === 'file:') inside.push(make('p', {}, LOCAL));
    host.after(make('details', look, ...inside, status));
    restore(host, model, moves).then(good => {
      const text = 'En la dirección hay algo que este explorador no tiene: se ve lo demás.';
      if (!good) host.prepend(make('p', { className: 'course-note', role: 'status' }, text));
      Object.values(moves).forEach(({ trait }) => model.on(`change:${trait}`, follow));
    });
    addEventListener('hashchange', () => said(host).length && location.reload());
  };
}
