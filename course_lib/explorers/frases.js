// Lo que comparten los exploradores que piden frases al kernel.

const ASKING = css`
  .exp.exp-asks {
    max-width: 80rem;
  }
  .exp-asks :is(input, select) {
    font: inherit;
    color: inherit;
    background: transparent;
    padding: 0.15rem 0.4rem;
    border: 2px solid var(--mute);
    border-radius: 0.4rem;
    min-width: 0;
  }
  .exp-asks option {
    color: #111;
    background: #fff;
  }
  .exp-asks .exp-error {
    border: 2px solid var(--k);
    border-radius: 0.4rem;
    padding: 0.3rem 0.6rem;
  }
  .exp-asks :is(.exp-error, .exp-note) {
    overflow-wrap: anywhere;
  }
  .exp-asks .exp-note {
    border-color: var(--mute);
  }
`;

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
 * Las frases que se escriben y se piden al kernel: una casilla por nombre, un botón, cómo va lo
 * pedido y lo que ha salido mal, que empieza por `failed`. `request` dice qué se pide con los
 * textos.
 */
function asking(model, labels, failed, request) {
  const PATIENCE = 10000; // milisegundos que se espera al kernel antes de decir algo
  const inputs = labels.map(label => sentenceBox(label, () => ask()));
  const written = labels.map(() => ''); // lo último que se puso en las casillas
  const state = make('span', { role: 'status' });
  const error = make('p', { class: 'exp-error', role: 'alert', hidden: true });
  let waiting = null;
  let timer;

  function ask(more = {}) {
    inputs.forEach((input, i) => {
      written[i] = input.value;
    });
    waiting = Math.max(model.get('answered'), model.get('request').serial ?? 0) + 1;
    state.textContent = 'Calculando…';
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.textContent =
        'El kernel no contesta: está ocupado o parado. Sigue a la vista lo anterior.';
    }, PATIENCE);
    const texts = inputs.map(input => input.value.replace(/\p{Surrogate}/gu, '\ufffd'));
    model.set('request', { serial: waiting, ...request(texts), ...more });
    model.save_changes();
  }

  const complain = () => {
    const text = model.get('error');
    error.textContent = text && `${failed} ${visible(text)} Sigue a la vista lo anterior.`;
    error.hidden = !text;
  };
  return {
    inputs,
    state,
    error,
    ask,
    complain,
    button: button('Calcular', () => ask()),
    waits: () => waiting !== null,
    stop: () => clearTimeout(timer),
    /** Ha llegado una respuesta. */
    settle() {
      if (waiting !== null && model.get('answered') < waiting) return;
      waiting = null;
      clearTimeout(timer);
      state.textContent = '';
      complain();
    },
    /** Pone las frases; lo que se está escribiendo no se toca. */
    write: sentences =>
      inputs.forEach((input, i) => {
        if (input.value === written[i]) input.value = written[i] = sentences[i] ?? '';
      }),
  };
}
