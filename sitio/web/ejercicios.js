'use strict';
globalThis.course ??= {};
{
  // Responder un ejercicio y que se compruebe, en la página. Lo escrito se queda en el navegador, y se
  // guarda y se trae como el cuaderno que entienden «abrir» y «calificar».

  const { make, desk, python, agreed, download, chooser } = course;
  const kept = document.querySelector('.answers-kept');
  const { lesson, library: HEAD } = JSON.parse(kept.querySelector('script').textContent);
  const blocks = {}; // número → lo suyo
  const LINE = /^\s*# Ejercicio (\d+\.\d+)\b/;

  // Lo que no se puede guardar se dice una vez, junto a lo que se escribe.
  const lost = new Set();
  const notice = make('p', { className: 'exercise-unkept' });
  notice.setAttribute('role', 'alert');
  const always = 'unkept' in document.documentElement.dataset;
  function warn(host) {
    if (!always && !lost.size) return notice.remove();
    if (!notice.isConnected) host.before(notice);
    kept.open = true; // ahí está lo que hay que pulsar
    notice.textContent =
      'Este navegador no deja guardar nada aquí, o no le queda sitio: lo que escribes se pierde al cerrar. ' +
      'Antes, pulsa «Guardar mis respuestas».';
  }

  /** Lo que guarda el navegador. */
  const memory = {
    name: number => `${course.home}/${lesson}/${number}`,
    other: number => `${memory.name(number)}/otra`,
    read: course.kept,
    write(name, text, host = kept) {
      if (course.gone) return; // se acaba de borrar
      try {
        if (text === null) localStorage.removeItem(name);
        else localStorage.setItem(name, text);
        lost.delete(name);
      } catch {
        lost.add(name);
      }
      warn(host);
    },
  };

  // --- Lo que ya está bien: las piezas de mi_biblioteca.py, de todas las lecciones -----------------

  const PIECES = `${course.home}/mi_biblioteca`;
  const OWN = memory.name('celdas');
  const order = ([number]) => number.split('.').reduce((n, part) => 100 * n + parseInt(part, 36), 0);

  const whole = one => Array.isArray(one) && one.length === 4 && one.every(part => typeof part === 'string');

  /** Las piezas, por orden: número, nombre, cabecera y código. */
  course.library = () => {
    try {
      return JSON.parse(memory.read(PIECES) ?? '[]').filter(whole);
    } catch {
      return []; // ahí había otra cosa
    }
  };

  const ADDED = 'Necesita la pieza otra que no está aquí try except NameError None get_ipython'; // lo pone el curso
  const words = text => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

  /** Si una pieza es del ejercicio comprobado, y está hecha solo con palabras de lo que se ha ejecutado. */
  function isOf({ number, lesson, before, after, answer }, piece) {
    const known = new Set(words([...lesson, ...Object.values(before), ...after, answer, ADDED].join('\n')));
    const [asked, name, mark, code] = whole(piece) ? piece : [];
    const other = Object.entries(blocks).some(([one, { name: its }]) => one !== number && its === name);
    if (asked !== number || other || !/^# --- .*$/.test(mark)) return false;
    return words(`${name} ${code}`).every(one => known.has(one) || /^\d/.test(one));
  }

  function keep(piece) {
    const others = course.library().filter(([number]) => number !== piece[0]);
    memory.write(PIECES, JSON.stringify([...others, piece].sort((a, b) => order(a) - order(b))));
  }

  /** Guarda una línea que está bien, si es de la celda ejecutada. */
  course.keepLine = (piece, lesson, source) => {
    const [number = '', name] = whole(piece) ? piece : [];
    const own = /^\d+\.[a-z]$/.test(number) && source.includes(`def ${name}(`);
    if (own && isOf({ number, lesson, before: {}, after: [], answer: source }, piece)) keep(piece);
  };

  /** Las celdas que ha traído, con sus respuestas, quien responde. */
  function ownCells() {
    try {
      const { own, changed } = JSON.parse(memory.read(OWN));
      if (Array.isArray(own) && changed) return { own, changed };
    } catch {
      // ahí no había nada, u otra cosa
    }
    return { own: [], changed: {} };
  }

  // --- Un ejercicio ---------------------------------------------------------------------------

  function alive(host) {
    const { number, start, check } = JSON.parse(host.querySelector('script').textContent);
    const name = memory.name(number);
    const one = { start, text: memory.read(name) ?? start, mine: false, name: /(\w+)\)\s*$/.exec(check)?.[1] };
    const other = memory.other(number); // lo que se escribió en otra pestaña, si no es lo mismo

    async function ask(say, signal) {
      const [done, undone] = [{}, {}];
      for (const other in blocks) {
        if (other === number) break;
        const { text, start: empty } = blocks[other];
        (text === empty ? undone : done)[other] = text;
      }
      const mine = ownCells();
      const cells = course.own.around(course.own.merged(await python.notebook(lesson), mine), number, done);
      const own = mine.own.length + Object.keys(mine.changed).length > 0;
      const asked = { ...cells, undone, number, answer: one.text, check, own };
      const found = await python.ask(asked, say, signal);
      const forged = found.piece && !isOf(asked, found.piece);
      if (forged) {
        python.stop(); // lo siguiente, en otro
        found.notes.push('no se guarda en tu biblioteca: lo que llega de Python no es lo que has escrito.');
      } else {
        if (found.piece) keep(found.piece);
        if (!found.unsolved) course.progress.tried(number, found.ok);
        found.next = found.ok && course.progress.after(number);
        frameElement?.dispatchEvent(new CustomEvent('checked', { detail: { ...found, number, text: asked.answer } })); // a lms.js
      }
      return found;
    }

    const onChange = text => {
      if (text === one.text) return;
      one.text = text;
      one.mine = true;
      memory.write(name, text === start ? null : text, host);
    };
    const place = desk({
      host,
      what: `el ejercicio ${number}`,
      label: `Tu respuesta al ejercicio ${number}`,
      text: one.text,
      verb: 'Comprobar',
      again: 'Empezar de nuevo',
      ask,
      onChange,
      onClean() {
        const sure = one.text === start || agreed('Se borra lo que has escrito en este ejercicio. ¿Sigo?', host);
        if (sure) one.set(start);
        return sure;
      },
    });
    one.set = text => {
      onChange(text);
      place.text = text;
    };
    const choice = make('div', { className: 'exercise-other' });
    const settle = text => {
      memory.write(other, null, host);
      choice.remove();
      if (text !== one.text) place.text = text;
      one.text = text;
      one.mine = true;
      memory.write(name, text === start ? null : text, host);
      place.focus();
    };
    /** Enseña la de otra pestaña, para que elija quien escribe. Sin ella, no hay nada que elegir. */
    one.offer = text => {
      if (text === null || text === one.text) return choice.remove();
      const button = (label, chosen) => make('button', { type: 'button', onclick: () => settle(chosen()) }, label);
      const mine = button('Quedarme con esta', () => one.text);
      const theirs = button('Poner la otra', () => text);
      const said = make('p', {}, `En otra pestaña has escrito otra respuesta al ejercicio ${number}:`);
      choice.replaceChildren(said, make('pre', {}, text), make('div', { className: 'exercise-buttons' }, mine, theirs));
      if (!choice.isConnected) host.append(choice);
    };
    /** Lo que se acaba de escribir en otra pestaña: si aquí también se ha escrito, se guardan las dos. */
    one.show = text => {
      if (text === one.text) return;
      if (one.mine && one.text !== start) {
        memory.write(other, one.text, host);
        return one.offer(text === start ? null : text);
      }
      one.text = text;
      one.mine = false;
      place.text = text;
    };
    one.offer(memory.read(other));
    const { date } = course.progress.load().exercises[number] ?? {};
    if (date) host.prepend(make('p', { className: 'exercise-done' }, `✓ Lo tienes bien desde el ${date}.`));
    blocks[number] = one;
  }

  // --- Guardarlas y traerlas ------------------------------------------------------------------

  const status = make('p', {});
  status.setAttribute('role', 'status');

  function saveLibrary() {
    const pieces = course.library();
    if (!pieces.length) {
      status.textContent = 'En tu biblioteca aún no hay nada: entra en ella cada función que compruebas y está bien.';
      return;
    }
    const text = [HEAD.trimEnd(), ...pieces.map(([, , mark, code]) => (mark + code).trimEnd())].join('\n\n\n');
    download('mi_biblioteca.py', 'text/x-python', `${text}\n`);
    const names = pieces.map(([, name]) => name).join(', ');
    status.textContent = `Guardada como mi_biblioteca.py, con ${names}: ponla en «mis_cuadernos».`;
  }

  async function save() {
    try {
      const notebook = course.own.merged(await python.notebook(lesson), ownCells());
      for (const cell of notebook.cells) {
        if (cell.own) cell.id = `propia-${notebook.cells.indexOf(cell)}`;
        delete cell.own;
        const number = cell.cell_type === 'code' && LINE.exec(python.textOf(cell))?.[1];
        if (number && blocks[number]) cell.source = blocks[number].text;
      }
      download(`${lesson}.ipynb`, 'application/x-ipynb+json', JSON.stringify(notebook, null, 1));
      status.textContent = `Guardado como ${lesson}.ipynb: ponlo en «mis_cuadernos», o entrégalo: al calificar se comprueba otra vez.`;
    } catch (error) {
      status.textContent = error.message;
    }
  }

  async function bring(file) {
    let brought;
    try {
      if (file.size > 250e6) throw new Error();
      brought = course.own.read(JSON.parse(await file.text()), await python.notebook(lesson));
    } catch {
      status.textContent = `«${file.name}» no se puede leer como cuaderno. No ha cambiado nada.`;
      return;
    }
    const { answers, ...mine } = brought;
    const found = Object.fromEntries(Object.entries(answers).filter(([number]) => blocks[number]));
    const numbers = Object.keys(found).filter(n => found[n] !== blocks[n].text);
    if (!Object.keys(found).length) {
      status.textContent = `En «${file.name}» no hay ninguna respuesta de esta lección. No ha cambiado nada.`;
      return;
    }
    const many = mine.own.length + Object.keys(mine.changed).length;
    const more = many ? ` Con ${many === 1 ? 'una celda tuya, que se ejecuta' : `${many} celdas tuyas, que se ejecutan`} en su sitio.` : '';
    const kept = JSON.stringify(mine) === JSON.stringify(ownCells());
    if (!numbers.length && kept) {
      status.textContent = `Lo que hay en «${file.name}» ya estaba aquí. No ha cambiado nada.`;
      return;
    }
    const lost = numbers.filter(n => blocks[n].text !== blocks[n].start);
    if (lost.length && !agreed(`Se cambia lo que has escrito en ${lost.join(', ')}. ¿Sigo?`, kept)) return;
    for (const number of numbers) blocks[number].set(found[number]);
    memory.write(OWN, many ? JSON.stringify(mine) : null);
    const first = numbers.length ? `Traídas las respuestas de ${numbers.join(', ')}.` : 'Las respuestas ya estaban.';
    status.textContent = first + more;
  }

  const file = chooser('.ipynb', bring);
  const saver = make('button', { type: 'button', onclick: save }, 'Guardar mis respuestas');
  const bringer = make('button', { type: 'button', onclick: () => file.click() }, 'Traer un cuaderno');
  const shelf = make('button', { type: 'button', onclick: saveLibrary }, 'Guardar mi biblioteca');
  kept.append(make('div', { className: 'exercise-buttons' }, saver, bringer, shelf, file), status);
  document.querySelectorAll('.exercise').forEach(alive);
  warn(document.querySelector('.exercise') ?? kept);

  // En otra pestaña se ha escrito.
  addEventListener('storage', ({ key }) => {
    for (const [number, one] of Object.entries(blocks))
      if (key === memory.name(number)) one.show(memory.read(key) ?? one.start);
      else if (key === memory.other(number)) one.offer(memory.read(key));
  });
}
