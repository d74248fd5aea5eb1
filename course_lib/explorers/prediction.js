// Una predicción: se elige, se dice y queda dicho; y lo elegido sin decir, al ejecutar.
// Qué sale lo cuenta la celda de abajo, que avisa con `revealed`; donde no hay kernel, como en el
// sitio, se cuenta al decirlo.

const STYLE = css`
  .exp-prediction [type='range'] {
    flex: 0 1 24rem;
    width: 24rem;
  }
  .exp-prediction [data-hit='sí']::before {
    content: '✓ ' / '';
  }
  .exp-prediction [data-hit='casi']::before {
    content: '≈ ' / '';
  }
  .exp-prediction [data-hit='no']::before {
    content: '✗ ' / '';
  }
  @media print {
    .exp-prediction button {
      display: none;
    }
  }
`;

/** Lo que se dice a quien dice eso, y si acierta (sí, casi, no): `heard`, en prediction.py. */
export function heard({ answers, number }, said) {
  const far = ({ say }) => ('near' in number ? Math.abs(say - said) : Number(say !== said));
  const one = answers.reduce((a, b) => (far(b) < far(a) ? b : a));
  const nearly = one.say === number.right && far(one) > (number.hit ?? 0) + 1e-9;
  const told = nearly ? number.nearly : one.told;
  const close = far(one) <= (number.near ?? 0);
  const right = number.step ? one.say === number.right : one.told.startsWith('Lo dijiste.');
  const hit = right && close ? (nearly ? 'casi' : 'sí') : 'no';
  return [(close ? told : number.other).replace('{}', said), hit];
}

function render({ model, el }) {
  const [name, question, number] = ['name', 'question', 'number'].map(key => model.get(key));
  const answers = model.get('answers');
  // Lo elegido que un kernel aún no ha dado por dicho.
  const unseen = (globalThis.coursePredictions ??= {});
  const voice = announcer();
  const page = model.widget_manager ? null : globalThis.course?.progress; // el sitio guarda
  let chosen = '';

  const choose = value => {
    chosen = String(value);
    asked.set(chosen);
  };
  /** Lo que se elige: el kernel lo sabe ya, para darlo por dicho si se ejecuta sin decirlo. */
  const pick = value => {
    choose(value);
    unseen[name] = chosen;
    const alone = el.closest('.jupyter-widgets-disconnected');
    if (model.widget_manager && !alone) model.send({ chosen });
  };
  const { min, max, step, unit = '' } = number;
  const format = x => (chosen === '' ? '—' : `${x} ${unit}`.trim());
  const asked = number.step
    ? slider(`de ${min} a ${max}`, { min, max, step, value: min, format }, pick)
    : radios(
        question,
        answers.map(({ say }) => [say, say]),
        pick,
      );
  const box = number.step ? fieldset(question, asked.node) : asked.node;
  const commit = set(button('', null), { type: 'submit' });

  function say(said) {
    if (said) page?.predicted(name, said, heard({ answers, number }, said)[1] === 'sí');
    model.set('said', said);
    model.save_changes();
    (said ? commit : box.querySelector('input')).focus();
  }

  const submit = event => {
    event.preventDefault();
    if (model.get('said')) {
      pick('');
      say('');
    } else if (chosen === '') voice.say('Elige antes tu respuesta.');
    else say(chosen);
  };
  const form = make('form', { onsubmit: submit }, box, commit);
  mount(el, 'exp-asks exp-prediction', STYLE, form, voice.node);

  function draw() {
    const said = model.get('said');
    if (model.get('note')) unseen[name] = ''; // no cuenta, o ya está apuntado
    box.disabled = said !== '';
    if (said) choose(said);
    commit.textContent = said ? 'Contestar otra vez' : 'Lo digo';
    const out = said && (model.get('revealed') || !model.widget_manager);
    const wait = `Has dicho «${said}». Ejecuta lo que sigue y mira qué sale.`;
    const [told, hit] = out ? heard({ answers, number }, said) : [wait, ''];
    voice.node.dataset.hit = hit;
    voice.say(said && `${told} ${model.get('note')}`.trim());
    if (said) page?.opens(el); // en el sitio, lo que sale espera plegado
  }

  if (!model.get('said') && unseen[name]) {
    model.set('early', true);
    model.set('said', unseen[name]);
    model.save_changes();
  }
  const before = page && page.load().predictions[name]?.said;
  const listed = answers.some(({ say }) => say === before);
  const there = number.step ? before >= min && before <= max : listed;
  if (there && typeof before === 'string') model.set('said', before);
  draw();
  return listen(model, { said: draw, revealed: draw, note: draw });
}

export default { render };
