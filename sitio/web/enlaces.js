'use strict';
globalThis.course ??= {};
{
  // La dirección de un explorador lleva lo que la mano ha movido en él: «#cabeza=2&paso=3». Al abrirla,
  // se pone otra vez. Lo que dice es de fuera: solo vale lo que aquí se dice que vale.

  const whole =
    (high, low = 0) =>
    (x, state) =>
      Number.isInteger(x) && x >= low && x <= (typeof high === 'number' ? high : high(state));
  const real = (low, high) => x => Number.isFinite(x) && x >= low && x <= high;
  const either = x => typeof x === 'boolean';
  const last = name => state => state[name].length - 1;
  const maybe = check => (x, state) => x === null || check(x, state);
  const list = (check, most, least = most) => {
    const fits = whole(most, least);
    return (x, state) => Array.isArray(x) && fits(x.length, state) && x.every(one => check(one, state));
  };
  const arrows = (low, high) => list(list(real(low, high), 2), 3);
  const words = x => typeof x === 'string' && x.trim() !== '' && x.length <= 1000;
  const LAYER = whole(({ data, layers }) => (layers ?? data[0].shape[0]) - 1);
  const HEAD = whole(({ data }) => (data[0]?.shape[1] ?? data.heads ?? data.q.shape[0]) - 1);
  const TOKEN = whole(
    ({ data, tokens }) =>
      Math.max(...[data ?? { tokens }].flat().map(one => one.tokens.length)) - 1,
  );

  // De cada explorador: cómo se llama en la dirección, el trait, y qué valores puede tener. Lo primero
  // que hay que pedir al modelo es la frase.
  const ASKS = { frase: ['sentence', words] };
  const MOVES = {
    AttentionExplorer: {
      frase: ['sentences', list(words, 2, 1)],
      capa: ['layer', LAYER],
      cabeza: ['head', HEAD],
      token: ['query', TOKEN],
      vista: ['shown', whole(last('sentences'))],
    },
    BlocksExplorer: {
      token: ['query', TOKEN],
      bloque: ['block', whole(({ tokens }) => tokens.length, 1)],
      causal: ['causal', either],
      paso: ['step', whole(({ tokens }) => tokens.length)],
    },
    CrossAttentionExplorer: {
      ...ASKS,
      cabeza: ['head', whole(last('weights'), -1)],
      paso: ['step', whole(last('seen'))],
    },
    GeometryExplorer: {
      Q: ['Q', arrows(-3, 3)],
      K: ['K', arrows(-3, 3)],
      V: ['V', arrows(-1, 2)],
      token: ['asks', whole(2)],
      dividir: ['scaled', either],
    },
    InfluenceExplorer: {
      token: ['token', TOKEN],
      capas: ['layers', whole(({ maps }) => maps.length, 1)],
      causal: ['masked', either],
    },
    LearningExplorer: {
      posiciones: ['positions', either],
      mascara: ['mask', either],
      dividir: ['scaled', either],
      nace: ['birth', x => ['×1', '×√128', '÷√128'].includes(x)],
      velocidad: ['rate', x => [0.001, 0.01].includes(x)],
      cabezas: ['heads', whole(2, 1)],
      nacimiento: ['seed', whole(2)],
      paso: ['step', (x, { data }) => whole(data.steps)(x) && x % 25 === 0],
    },
    LlmExplorer: {
      capa: ['layer', maybe(whole(({ data }) => data.ids.length - 1))],
      temperatura: ['temperature', real(0, 2)],
      k: ['top_k', maybe(whole(40, 1))],
      p: ['top_p', maybe(real(0.01, 1))],
    },
    MaskExplorer: {
      mascara: ['mask', (x, s) => list(list(either, s.words.length), s.words.length)(x)],
      relleno: ['padding', whole(({ words }) => words.length - 2, 1)],
      convenio: ['convention', x => ['keep', 'block', 'additive'].includes(x)],
    },
    MultiHeadExplorer: {
      ...ASKS,
      token: ['query', TOKEN],
      cabeza: ['head', HEAD],
      estacion: ['station', whole(6, 1)],
      apagadas: ['muted', list(HEAD, ({ data }) => data.heads, 0)],
    },
    QKVExplorer: {
      ...ASKS,
      capa: ['layer', LAYER],
      cabeza: ['head', HEAD],
      token: ['query', TOKEN],
    },
    SeeExplorer: {
      capa: ['layer', (x, { saved }) => saved.heads.some(([layer]) => layer === x)],
      cabeza: ['head', (x, { saved }) => x === -1 || saved.heads.some(([, head]) => head === x)],
      fila: ['row', (x, { saved }) => saved.rows.includes(x)],
    },
    SoftmaxExplorer: {
      x: ['logits', list(real(-10, 10), 8, 2)],
      temperatura: ['temperature', real(0.1, 10)],
      c: ['shift', real(-20, 20)],
    },
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
      const [trait, check] = Object.hasOwn(moves, key) ? moves[key] : [];
      return { trait, check, value: trait && decode(text, model.get(trait)) };
    });
    const fits = ({ trait, check, value }) => trait && check(value, model.state);
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
    const moves = MOVES[host.dataset.explorer];
    if (!host.id || !moves) return;
    const start = structuredClone(model.state);
    const status = make('p', { role: 'status' });
    const copied = [];

    /** Lo que ha cambiado, como se escribe en una dirección. */
    function moved() {
      const same = trait => JSON.stringify(model.get(trait)) === JSON.stringify(start[trait]);
      const now = Object.entries(moves).filter(([, [trait]]) => !same(trait));
      return new URLSearchParams(now.map(([key, [trait]]) => [key, encode(model.get(trait))]));
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
      Object.values(moves).forEach(([trait]) => model.on(`change:${trait}`, follow));
    });
    addEventListener('hashchange', () => said(host).length && location.reload());
  };
}
