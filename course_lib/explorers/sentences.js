// Lo que comparten los exploradores que piden frases al kernel.

const ASKING = css`
  .exp.exp-asks {
    max-width: 80rem;
  }
  .exp-asks input {
    font: inherit;
    color: inherit;
    background: transparent;
    padding: 0.15rem 0.4rem;
    border: 2px solid var(--mute);
    border-radius: var(--round);
    min-width: 0;
  }
  .exp-sentence {
    display: flex;
    flex-wrap: wrap;
    gap: 0.3rem 0.6rem;
    align-items: center;
  }
  .exp-sentence input {
    flex: 1 1 16rem;
    max-width: 40rem;
  }
  .exp-unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .exp-asks .exp-error {
    border: 2px solid var(--k);
    border-radius: var(--round);
    padding: 0.3rem 0.6rem;
  }
  .exp-asks :is(.exp-error, .exp-note) {
    margin: 0.25rem 0;
    overflow-wrap: anywhere;
  }
  .exp-asks .exp-note {
    border-color: var(--mute);
  }
  /* Lo que se avisó de la frase anterior no es de la que no ha salido. */
  .exp-error:not([hidden]) + div > .exp-note {
    display: none;
  }
`;

/** Unos números, cada uno en su casilla. */
const numbersOf = row => row.map(x => td(show(x)));

/** Los números de un dibujo, en una tabla que no se ve: la recorre un lector de pantalla. */
function unseen(title) {
  const node = make('table');
  const tell = (names, columns, weights) => {
    const rows = weights.map((row, i) => namedRow(visible(names[i]), numbersOf(row)));
    node.replaceChildren(make('caption', {}, title), headRow(columns.map(visible)), ...rows);
  };
  return { node: div('exp-unseen', node), tell };
}

/** Las posiciones, de la del mayor a la del menor; si empatan, antes la primera. */
const ranking = row => row.map((_, j) => j).sort((a, b) => row[b] - row[a] || a - b);

/** Una casilla para escribir una frase. `onEnter` la pide. */
function sentenceBox(label, onEnter) {
  const listener = event => {
    if (!event.isComposing && pressed(event, { Enter: true })) onEnter();
  };
  const about = { 'aria-label': label, spellcheck: 'false', autocomplete: 'off' };
  return focusable(make('input', { type: 'text', ...about, onkeydown: listener }));
}

/**
 * Las frases del trait `name`, que se escriben y se piden al kernel: una casilla por título, un
 * botón, cómo va lo pedido y lo que ha salido mal, que empieza por `failed`. `more` dice qué se
 * pide con ellas.
 */
function asking(model, name, labels, failed, more = () => ({})) {
  const PATIENCE = 10000; // milisegundos que se espera al kernel antes de decir algo
  const inputs = labels.map(label => sentenceBox(label, () => ask()));
  const written = labels.map(() => ''); // lo último que se puso en las casillas
  const state = make('span', { role: 'status' });
  const error = make('p', { class: 'exp-error', role: 'alert', hidden: true });
  let waiting = null;
  let timer;

  /** Dice cómo va, y vuelve a empezar la espera. */
  function wait(text) {
    state.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.textContent =
        'El kernel no contesta: está ocupado o parado. Sigue a la vista lo anterior.';
    }, PATIENCE);
  }

  function ask(other = {}) {
    inputs.forEach((input, i) => (written[i] = input.value));
    waiting = Math.max(model.get('answered'), model.get('request').serial ?? 0) + 1;
    wait('Calculando…');
    const texts = inputs.map(input => input.value.replace(/\p{Surrogate}/gu, '\ufffd'));
    const asked = { [name]: name === 'sentence' ? texts[0] : texts, ...more(), ...other };
    model.set('request', { serial: waiting, ...asked });
    model.save_changes();
  }

  /** Ha llegado una respuesta. */
  function settle() {
    if (waiting !== null && model.get('answered') < waiting) return;
    waiting = null;
    clearTimeout(timer);
    state.textContent = '';
    complain();
  }

  /** Pone las frases; lo que se está escribiendo no se toca. */
  function fill() {
    if (waiting !== null) return;
    const sentences = [model.get(name)].flat();
    inputs.forEach((input, i) => {
      if (input.value === written[i]) input.value = written[i] = sentences[i] ?? '';
    });
  }

  /** En una página sin kernel, lo que tarda, como una descarga, dice por dónde va. */
  const progress = () => waiting === null || wait(model.get('progress') || 'Calculando…');

  function complain() {
    const text = model.get('error');
    error.textContent = text && `${failed} ${visible(text)} Sigue a la vista lo anterior.`;
    error.hidden = !text;
  }
  return {
    inputs,
    state,
    error,
    ask,
    button: button('Calcular', () => ask()),
    /** Empieza a escuchar, también lo que se le dice. Devuelve una función que deja de hacerlo. */
    start(listeners) {
      const own = { [name]: fill, answered: settle, error: complain, progress };
      const silence = listen(model, { ...own, ...listeners });
      fill();
      complain();
      return () => {
        clearTimeout(timer);
        silence();
      };
    },
  };
}

/** Una sola frase, en una línea; debajo, lo que ha salido mal y los avisos, que pone `warn`. */
function sentenceLine(model, more) {
  const asked = asking(model, 'sentence', ['Frase'], 'No se ha podido:', more);
  const line = [make('span', {}, 'Frase'), ...asked.inputs, asked.button, asked.state];
  const notes = make('div');
  return {
    ...asked,
    node: div('exp-asks', div('exp-sentence', ...line), asked.error, notes),
    warn: texts =>
      notes.replaceChildren(
        ...texts.map(text => make('p', { class: 'exp-note' }, `Aviso: ${visible(text)}`)),
      ),
  };
}

/**
 * Monta un explorador que `draw` dibuja en una caja; devuelve, como él, cómo dejar de escuchar.
 * Si sale de una frase, encima se puede escribir otra, y se dibuja de nuevo cuando cambia `name`.
 */
function mountAsking({ model, el }, look, style, name, draw) {
  const stage = make('div', { style: 'display: contents' });
  const asked = model.get('sentence') && sentenceLine(model);
  mount(el, look, ASKING + style, ...(asked ? [asked.node] : []), stage);
  let silence = draw(model, stage);
  if (!asked) return silence;
  function load() {
    silence();
    silence = draw(model, stage);
  }
  const warn = () => asked.warn(model.get('notes'));
  const stop = asked.start({ [name]: load, notes: warn });
  warn();
  return () => {
    silence();
    stop();
  };
}
