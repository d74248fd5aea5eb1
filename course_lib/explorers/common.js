// Lo que comparten los exploradores: crear elementos, controles que obedecen al teclado dentro de
// JupyterLab y una frase, para la vista y para el lector de pantalla, que dice cómo está todo.

const SVG_TAGS = new Set('svg g path line rect circle text polygon title'.split(' '));
// Hay varios exploradores en la página: al azar, para que sus id y sus grupos no se repitan.
let serial = Math.floor(1e9 * Math.random());

// Los estilos de un explorador van en css`…`: es el mismo texto, y quien da formato sabe qué es.
const css = String.raw;

/** Crea un elemento con atributos e hijos. Los hijos de texto son texto, nunca HTML. */
function make(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  set(node, attributes);
  node.append(...children);
  return node;
}

/** Cambia atributos; `onclick` y los demás `on…` son funciones que escuchan. */
function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === null || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? '' : value);
  }
  return node;
}

/** Un número con `decimals` decimales, con el signo menos de verdad y sin «menos cero». */
function show(number, decimals = 2) {
  const text = number.toFixed(decimals);
  return (Number(text) === 0 ? text.replace('-', '') : text).replace('-', '−');
}

/**
 * JupyterLab se queda con las flechas: con esto, en lo que tiene el foco, no. Con Ctrl o ⌘ sigue
 * mandando él: se puede guardar.
 */
function focusable(node) {
  const keep = on => set(node, { 'data-lm-suppress-shortcuts': on ? 'true' : null });
  const modifier = on => event => {
    if (event.key === 'Control' || event.key === 'Meta') keep(on);
  };
  set(node, { onkeydown: modifier(false), onkeyup: modifier(true), onblur: () => keep(true) });
  keep(true);
  return node;
}

/** El texto, con las marcas que darían la vuelta a la frase escritas con su código. */
function visible(text) {
  return text.replace(
    /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    mark => `\\u${mark.charCodeAt(0).toString(16)}`,
  );
}

/** Una casilla con su nombre. */
function checkbox(label, checked, onChange) {
  const box = focusable(make('input', { type: 'checkbox', onchange: () => onChange(box.checked) }));
  box.checked = checked;
  return {
    node: make('label', { class: 'exp-control' }, box, ` ${label}`),
    set: on => (box.checked = on),
  };
}

/** Una barra con su nombre y su valor a la vista. `format` lo escribe. */
function slider(label, { min, max, step = 1, value = min, format = String }, onInput) {
  const id = `exp-${serial++}`;
  const output = make('output', { for: id });
  const input = focusable(make('input', { type: 'range', id, min, max, step }));
  const update = x => {
    input.value = x;
    output.textContent = format(Number(x));
    set(input, { 'aria-valuetext': format(Number(x)) });
  };
  set(input, {
    oninput: () => {
      update(input.value);
      onInput(Number(input.value));
    },
  });
  update(value);
  return {
    node: make('div', { class: 'exp-control' }, make('label', { for: id }, label), input, output),
    set: update,
  };
}

/** Un botón. */
function button(label, onClick, pressed = null) {
  const look = { type: 'button', class: 'exp-button', 'aria-pressed': pressed };
  return focusable(make('button', { ...look, onclick: onClick }, label));
}

/** Una lista con su título, de la que se elige una cosa: `options` son pares [valor, nombre]. */
function radios(title, options, onChange, ...more) {
  const name = `exp-${serial++}`;
  const inputs = options.map(([value]) =>
    focusable(
      make('input', { type: 'radio', name, value: String(value), onchange: () => onChange(value) }),
    ),
  );
  const labels = options.map(([, label], i) =>
    make('label', { class: 'exp-control' }, inputs[i], ` ${label}`),
  );
  return {
    node: fieldset(title, ...labels, ...more),
    set: value => inputs.forEach(input => (input.checked = input.value === String(value))),
  };
}

/** Un desplegable con su nombre. */
function choice(label, onChange) {
  const node = focusable(
    make('select', { 'aria-label': label, onchange: () => onChange(Number(node.value)) }),
  );
  return {
    node: make('label', { class: 'exp-control' }, label, node),
    set(value, names) {
      if ([...node.options].map(option => option.text).join('\n') !== names.join('\n'))
        node.replaceChildren(...names.map((name, n) => make('option', { value: n }, name)));
      node.value = value;
    },
  };
}

/** Una caja con su clase. */
const div = (look, ...children) => make('div', { class: look }, ...children);

/** Una caja con un nombre, que dice el lector de pantalla; y otra con él a la vista. */
const group = (name, look, ...children) =>
  make('div', { class: look, role: 'group', 'aria-label': name }, ...children);
const fieldset = (title, ...children) =>
  make('fieldset', {}, make('legend', {}, title), ...children);

/** Un párrafo. */
const paragraph = (...children) => make('p', {}, ...children);

/** Lo que solo sirve con un teclado: no se lee donde se usa el dedo. */
const byKeys = text => make('span', { class: 'exp-keys' }, ` Con el teclado: ${text}`);

/** Una casilla de una tabla. */
const td = (content, look = null) => make('td', { class: look }, content);

/** El nombre de una columna o, con `row`, el de una fila. */
const th = (name, scope = 'col') => make('th', { scope }, name);

/** La fila con los nombres de las columnas; sobre los de las filas, un hueco. */
const headRow = names => make('tr', {}, make('td'), ...names.map(name => th(name)));

/** Una fila de una tabla: su nombre y sus casillas. */
const namedRow = (name, cells, look = null) =>
  make('tr', { class: look }, th(name, 'row'), ...cells);

/** Una tabla con título que, si no cabe, se desliza. */
const table = (title, ...rows) =>
  sliding(title, make('table', {}, make('caption', {}, title), ...rows));

/** En un dibujo, un texto. (x, y) es donde empieza o, con MIDDLE y END, su centro y su final. */
const write = (x, y, size, text, look = {}) =>
  make('text', { x, y, 'font-size': size, ...look }, text);
const MIDDLE = { 'text-anchor': 'middle' };
const END = { 'text-anchor': 'end' };

/** En un dibujo, un texto que sube. */
const rising = (x, y, size, text) =>
  make('text', { transform: `translate(${x} ${y}) rotate(-90)`, 'font-size': size }, text);

/** En un dibujo, un rectángulo. */
const rect = (x, y, width, height, look) => make('rect', { x, y, width, height, ...look });

/** En un dibujo, un segmento. */
const segment = (x1, y1, x2, y2, look) => make('line', { x1, y1, x2, y2, ...look });

/** Pone el explorador en la página: su clase, sus estilos y sus partes. */
function mount(el, name, style, ...nodes) {
  el.replaceChildren(div(`exp ${name}`, ...(style ? [make('style', {}, style)] : []), ...nodes));
}

/** Con Ctrl, ⌘ o Alt, la tecla es de JupyterLab. */
const withModifier = event => event.ctrlKey || event.metaKey || event.altKey;

/** Lo que le toca a la tecla pulsada. Si le toca algo, no hace nada más: ni mover la página. */
function pressed(event, actions) {
  const action = actions[event.key];
  if (action !== undefined) {
    event.preventDefault();
    event.stopPropagation();
  }
  return action;
}

/** De `count` en fila, adónde va la tecla desde el `i`: al de al lado, o a un extremo. */
function arrowTo(event, i, count, more = {}) {
  const [next, last] = [i + 1, count - 1];
  const keys = { ArrowRight: next, ArrowDown: next, ArrowLeft: i - 1, ArrowUp: i - 1 };
  if (withModifier(event)) return undefined;
  const to = pressed(event, { ...keys, Home: 0, End: last, ...more });
  return to === undefined ? to : Math.max(0, Math.min(last, to));
}

/** Lo que se arrastra con la mano: `drag` recibe adónde va, y `press`, dónde empieza. */
const draggable = (drag, press = () => {}) => ({
  onpointerdown: event => {
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.focus({ preventScroll: true });
    event.preventDefault();
    press(event);
  },
  onpointermove: event => event.currentTarget.hasPointerCapture(event.pointerId) && drag(event),
});

/** Los enteros 0, 1, 2…, hasta `count` − 1. */
const range = count => [...Array(count).keys()];

/** Los nombres «0», «1», «2»… */
const numbered = count => range(count).map(String);

/** Un vector como barras: hacia arriba, lo positivo; hacia abajo, lo negativo. */
function bars(name, values, top) {
  const [WIDTH, HALF] = [5, 13];
  const [wide, middle] = [WIDTH * values.length, HALF + 0.5];
  const bar = (value, d) => {
    const tall = (HALF * value) / (top || 1);
    return `M${d * WIDTH + 0.5} ${middle}v${-tall}h${WIDTH - 1}v${tall}z`;
  };
  const half = (fill, chosen) =>
    make('path', { fill, d: values.map((x, d) => (chosen(x) ? bar(x, d) : '')).join('') });
  const title = make('title'); // el número que hay debajo del ratón
  const drawing = make(
    'svg',
    {
      viewBox: `0 0 ${wide} ${2 * HALF + 1}`,
      width: wide,
      height: 2 * HALF + 1,
      role: 'img',
      'aria-label': `${name}: ${values.length} números`,
      onpointermove: event => {
        const { left, width } = drawing.getBoundingClientRect();
        const d = Math.floor(((event.clientX - left) / width) * values.length);
        if (d in values) title.textContent = `${d}: ${show(values[d])}`;
      },
    },
    title,
    make('line', { x1: 0, x2: wide, y1: middle, y2: middle, stroke: 'var(--mute)' }),
    half('var(--q)', x => x > 0),
    half('var(--k)', x => x < 0),
  );
  return drawing;
}

/** Una frase que el lector de pantalla lee cuando deja de cambiar. */
function announcer() {
  const node = make('p', { class: 'exp-say', role: 'status', 'aria-live': 'polite' });
  let timer;
  return {
    node,
    say(text, now = false) {
      clearTimeout(timer);
      const tell = () => node.textContent !== text && node.replaceChildren(text);
      if (now) tell();
      else timer = setTimeout(tell, 150);
    },
  };
}

/**
 * Lo que es más ancho que la página se desliza dentro de su caja; y entonces, también con las
 * flechas.
 */
function sliding(name, ...nodes) {
  const box = focusable(make('div', { class: 'exp-scroll' }, ...nodes));
  const wide = () => box.scrollWidth > box.clientWidth;
  const watcher = new ResizeObserver(() =>
    set(box, { tabindex: wide() && 0, role: wide() && 'region', 'aria-label': wide() && name }),
  );
  [box, ...nodes].forEach(node => watcher.observe(node));
  return box;
}

/** Lo que llega escrito en base 64, para leerlo; los enteros vienen con el byte bajo delante. */
function decode(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return new DataView(bytes.buffer);
}

/** La suma de unos números, y el producto escalar de dos listas. */
const sum = numbers => numbers.reduce((a, b) => a + b, 0);
const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

/** Los pesos de una fila de puntuaciones; de un −∞, 0. */
function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map(score => Math.exp(score - top));
  const total = sum(powers);
  return powers.map(power => power / total);
}

/** Une con comas y una «y». */
const join = (parts, and = 'y') =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${and} ${parts.at(-1)}`;

/** Un fondo más intenso cuanto mayor es el número, hasta `top`; si es negativo, naranja. */
const ink = (value, top = 1) =>
  `background: color-mix(in srgb, var(${value < 0 ? '--k' : '--q'}) ` +
  `${Math.round(45 * Math.min(1, Math.abs(value) / (top || 1)))}%, transparent)`;

/** El mayor tamaño de una matriz de números. */
const largest = rows => Math.max(...rows.flat().map(Math.abs));

/** Lo que valen esos traits. */
const traits = (model, names) => Object.fromEntries(names.map(name => [name, model.get(name)]));

/** Guarda un trait y avisa al kernel, si lo hay, cuando la mano para. */
function saver(model) {
  let timer;
  return (name, value) => {
    model.set(name, value);
    clearTimeout(timer);
    timer = setTimeout(() => model.save_changes(), 120);
  };
}

/** Llama a quien toca cuando cambia un trait. Devuelve una función que deja de hacerlo. */
function listen(model, listeners) {
  const events = Object.entries(listeners).map(([name, listener]) => [`change:${name}`, listener]);
  events.forEach(([event, listener]) => model.on(event, listener));
  return () => events.forEach(([event, listener]) => model.off(event, listener));
}
