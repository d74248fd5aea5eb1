/* El panel «Curso», a la izquierda: las lecciones, por dónde se va, las palabras y qué se guarda. */
const SAVED =
  'El cuaderno abierto se guarda solo al parar de escribir, y con Ctrl+S (⌘S), en el acto: también lo que ' +
  'ha salido y sus exploradores.';
const NOTED =
  ' Un ejercicio se apunta al comprobarlo, y por dónde vas, al moverte: en .progreso.json y .sitio.json, ' +
  'al lado de tus cuadernos.';

function make(tag, attributes, ...children) {
  const node = Object.assign(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

/** De una fórmula corta del glosario, lo que se lee sin dibujarla. */
const plain = text => text.replace(/\\text|[$`*\\{}]/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
const bare = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Las palabras del glosario, de sus tablas: el término, en español, y qué es. */
const wordsOf = text =>
  [...text.matchAll(/^\| \*(.+?)\* \| (.*?) \| .*? \| (.*?) \| /gm)].map(
    ([, term, name, said]) => ({
      name: plain(name === term ? name : `${name} (${term})`),
      said: plain(said),
    }),
  );

/** Enseña u oculta el código de los cuadernos, también otro día; el de los ejercicios se queda. */
const HIDE = 'curso:sin-codigo';
/** Lo que guarda el navegador, si deja. */
function stored(what, ...given) {
  try {
    return localStorage[what](HIDE, ...given);
  } catch {
    return null;
  }
}
function hideCode(hide) {
  document.body.classList.toggle('cu-bare', hide);
  stored('setItem', hide ? 'si' : '');
}
async function markCode({ context, content }) {
  await context.ready;
  for (const cell of content.widgets)
    cell.node.classList.toggle('cu-code', cell.model.getMetadata('nbgrader') === undefined);
}

export function coursePanel(Widget, desk, tracker) {
  const on = make('button', { className: 'cu-on', hidden: true });
  const list = make('ol', {});
  const box = make('input', { type: 'search', placeholder: 'token, máscara, softmax…' });
  const words = make('dl', {});
  const code = make('button', {});
  const saved = make('p', {});
  const label = make('label', {}, 'Buscar una palabra', box);
  const count = make('p', {});
  count.setAttribute('role', 'status');
  const node = make('section', { className: 'cu-panel', tabIndex: -1 });
  node.setAttribute('aria-label', 'Curso');
  const [lessons, kept] = ['Lecciones', 'Qué se guarda'].map(title => make('h2', {}, title));
  node.append(on, code, label, count, words, lessons, list, kept, saved);
  box.addEventListener('input', () => search());

  let known;
  async function search() {
    known ??= desk.contents
      .get('notebooks/glosario.md', { type: 'file', format: 'text', content: true })
      .then(({ content }) => wordsOf(content))
      .catch(() => []);
    const wanted = bare(box.value.trim());
    const found = (await known).filter(
      ({ name, said }) => wanted && bare(name + said).includes(wanted),
    );
    const far = ({ name }) => (bare(name).indexOf(wanted) + 1 || 1e3) + name.length / 1e3;
    found.sort((a, b) => far(a) - far(b));
    const many = `${found.length} ${found.length === 1 ? 'palabra' : 'palabras'}`;
    count.textContent = wanted && many;
    const rows = found.map(({ name, said }) => [make('dt', {}, name), make('dd', {}, said)]);
    words.replaceChildren(...rows.flat());
  }

  function lesson({ name, title, exercises = [], sections = [] }) {
    const { data } = desk;
    const open = make('button', { onclick: () => desk.open(name) }, title);
    if (data?.place?.last === name) open.setAttribute('aria-current', 'true');
    const item = make('li', {}, open);
    if (!data) return item;
    const done = exercises.filter(number => data.exercises.includes(number));
    const left = exercises.filter(number => !data.exercises.includes(number));
    const seen = sections.filter(number => data.place?.at[name]?.seen.includes(number));
    const told = [`Apartados: ${seen.length} de ${sections.length}`];
    if (done.length) told.push(`Hechos: ${done.join(', ')}`);
    if (left.length) told.push(`Faltan: ${left.join(', ')}`);
    item.append(make('span', {}, told.join(' · ')));
    item.classList.toggle('cu-done', exercises.length > 0 && !left.length);
    return item;
  }

  function show() {
    const { data } = desk;
    const spot = data?.place?.at[data.place.last];
    on.hidden = !spot;
    if (spot) {
      const where = /^\d/.test(spot.section) ? `§${spot.section}` : `· ${spot.section}`;
      on.textContent = `Sigue en ${data.place.last.slice(0, 2)} ${where}`;
      on.onclick = () => desk.open(data.place.last);
    }
    const active = list.contains(document.activeElement) && document.activeElement.textContent;
    list.replaceChildren(...(desk.lessons ?? []).map(lesson));
    if (active)
      [...list.querySelectorAll('button')].find(one => one.textContent === active)?.focus();
    saved.textContent = SAVED + (data ? NOTED : '');
    const hidden = document.body.classList.contains('cu-bare');
    code.textContent = hidden ? 'Mostrar el código' : 'Ocultar el código';
    code.onclick = () => (hideCode(!hidden), show());
  }

  const panel = new Widget({ node });
  Object.assign(panel, { id: 'curso' });
  Object.assign(panel.title, { label: 'Curso', caption: 'Curso: las lecciones y por dónde vas' });
  const refresh = async () => panel.isVisible && (await desk.load(), show());
  panel.onAfterShow = refresh;
  panel.onActivateRequest = async () => {
    await refresh();
    (on.hidden ? list.querySelector('button') : on)?.focus();
  };
  desk.changed = () => panel.isVisible && show();
  tracker.currentChanged.connect(desk.changed);
  tracker.widgetAdded.connect((_, added) => markCode(added));
  hideCode(stored('getItem') === 'si');
  return { panel, refresh };
}
