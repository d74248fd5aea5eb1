// El inventario: 24 preguntas, sin decir cuál era la buena, para que valga otra vez. Se guarda lo que se va
// diciendo; al entregarlo, cuántas, cuántas más que la vez anterior y a qué apartados volver. Sin kernel, en el
// sitio, queda en el navegador; con él, de eso se ocupa inventory/inventory.py.

/** Cuántas están bien en lo dicho. */
export const rightOnes = (items, said) => items.filter(({ concept, right }) => said[concept] === right);

/** Las otras veces, de la primera a la última: las entregadas con estas mismas preguntas. */
export function before(takes, version, today) {
  const all = Object.values(takes).filter(one => one?.date && one.said);
  const known = all.filter(one => one.version === version).sort((a, b) => (a.date < b.date ? -1 : 1));
  return { known, strange: all.length - known.length, late: known.some(({ date }) => date > today) };
}

function render({ model, el }) {
  const [items, form, version] = ['items', 'form', 'version'].map(name => model.get(name));
  const alone = !model.widget_manager;
  const page = alone && globalThis.course?.progress;
  const today = new Date().toLocaleDateString('sv'); // como 2026-03-14
  const takes = { ...model.get('takes'), ...(page ? page.load().inventory : {}) };
  const mark = `${form} ${today}`;
  const said = { ...takes[form]?.said, ...model.get('said') };
  const voice = announcer();
  let warned = false;

  function keep(name, record) {
    takes[name] = record;
    if (page) return page.taken(name, record);
    model.set('takes', { ...takes });
    model.save_changes();
  }

  const asked = items.map(({ concept, question, answers }, place) => {
    const options = answers.map((text, k) => [String(k), text]);
    const list = radios(`${place + 1}. ${question}`, options, value => {
      said[concept] = Number(value);
      warned = false;
      keep(form, { form, version, said: { ...said } }); // sin fecha: aún no está entregado
    });
    if (concept in said) list.set(String(said[concept]));
    return list.node;
  });

  function result() {
    const right = rightOnes(items, takes[mark].said);
    const { known, strange, late } = before(takes, version, today);
    const earlier = known.filter(one => one !== takes[mark] && one.date <= today).at(-1);
    const words = [`Son ${right.length} de ${items.length}.`];
    if (earlier) {
      const more = right.length - earlier.right;
      const signed = `${more > 0 ? '+' : ''}${more}`.replace('-', '−');
      words.push(`El ${earlier.date}, con la forma ${earlier.form}, fueron ${earlier.right}: ${signed}.`);
    }
    const missed = items.filter(one => !right.includes(one));
    if (missed.length) words.push(`Vuelve a ${join(missed.map(({ title, lesson }) => `«${title}» (${lesson})`))}.`);
    if (strange) words.push('Otra vez tuya es de otra versión del inventario, y no se compara.');
    if (late) words.push('Hay una vez apuntada con una fecha que aún no ha llegado: mira el reloj.');
    voice.say([...words, model.get('note')].join(' ').trim());
    for (const node of asked) node.disabled = true;
    hand.hidden = true;
  }

  function deliver() {
    const left = items.flatMap(({ concept }, place) => (concept in said ? [] : [place + 1]));
    if (left.length && !warned) {
      warned = true;
      return voice.say(`Sin contestar: ${join(left.map(String))}. Entrega otra vez para dejarlas en blanco.`);
    }
    const right = rightOnes(items, said).length;
    keep(mark, { form, version, said: { ...said }, right, date: today });
    result();
  }

  const hand = button('Lo entrego', deliver);
  const intro = 'No se dice cuál era la buena, para que valga otra vez. Se guarda en tu ordenador, y no sale de él.';
  mount(el, 'exp-asks exp-inventory', null, paragraph(intro), ...asked, hand, voice.node);
  if (takes[mark]) result(); // hoy ya está entregado: cuenta la primera vez
  return listen(model, { note: () => takes[mark] && result() });
}

export default { render };
