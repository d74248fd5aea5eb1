// Tres preguntas cortas: al elegir se sabe si era, y por qué. Sin kernel, en el sitio, lo
// contestado se queda en el navegador, y lo fallado vuelve entero al abrir otra lección; con él, de
// eso se ocupa asking.py.

/** Las de una página sin kernel: lo contestado en la lección, lo fallado antes y las de siempre. */
export function drawn(asked, lesson, noted) {
  const earlier = Object.values(noted).filter(
    one => one?.item?.name < lesson && Array.isArray(one.item.answers),
  );
  const here = earlier.filter(one => one.lesson === lesson || one.places?.[lesson]);
  const failed = earlier.filter(one => !one.right && one.lesson !== lesson);
  const all = [...here, ...failed].map(one => one.item).concat(asked);
  return [...new Map(all.map(one => [one.name, one])).values()].slice(0, asked.length);
}

function render({ model, el }) {
  const lesson = model.get('lesson');
  const alone = !model.widget_manager;
  const noted = (alone && globalThis.course?.progress.load().asked) || {};
  const asked =
    alone && !model.get('closing') ? drawn(model.get('asked'), lesson, noted) : model.get('asked');
  const said = { ...model.get('said') };
  if (alone)
    for (const { name } of asked) {
      const { lesson: last, said: it, places } = noted[name] ?? {};
      const here = places?.[lesson] ?? (last === lesson && it);
      if (here) said[name] = here;
    }
  const missed = new Set(); // corregirlo no lo quita: vuelve
  const total = announcer();

  function keep(item, value, right) {
    if (!alone) {
      model.set('said', { ...said });
      return model.save_changes();
    }
    globalThis.course?.progress.asked(item.name, { item, said: value, right, lesson });
  }

  const boxes = asked.map(item => {
    const voice = announcer();
    const told = () => item.answers.find(({ say }) => say === said[item.name]);
    const list = radios(
      item.question,
      item.answers.map(({ say }) => [say, say]),
      value => {
        said[item.name] = value;
        keep(item, value, told().right);
        draw();
      },
      voice.node,
    );
    return {
      node: list.node,
      draw: () => told() && (list.set(told().say), voice.say(told().told)),
      told,
    };
  });

  function draw() {
    boxes.forEach(box => box.draw());
    const answers = boxes.map(box => box.told()).filter(Boolean);
    boxes.forEach((box, i) => box.told()?.right === false && missed.add(i));
    const first = `${asked.length - missed.size} de ${asked.length} a la primera.`;
    const end = missed.size ? ' Lo que has fallado vuelve en otra lección.' : '';
    total.say(answers.length === asked.length ? `${first}${end} ${model.get('note')}`.trim() : '');
  }
  mount(el, 'exp-asks exp-questions', null, ...boxes.map(box => box.node), total.node);
  draw();
  return listen(model, { note: draw });
}

export default { render };
