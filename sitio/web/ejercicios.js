'use strict';
globalThis.course ??= {};
{
  // Responder un ejercicio y que se compruebe, en la página. Lo escrito se queda en el navegador, y se
  // guarda y se trae como el cuaderno que entienden «abrir» y «calificar». Lo que llega de Python es texto.

  const FILES = ['pyodide.js', 'pyodide.asm.js', 'pyodide.asm.wasm', 'python_stdlib.zip'];
  FILES.push('pyodide-lock.json', 'numpy.whl', 'curso.zip', 'obrero.js');
  const LONGEST = 75_000; // ms que se espera a una comprobación: lo que no acaba, dentro de C, no se para solo
  const HERE = new URL('editor.js', document.currentScript.src);
  const kept = document.querySelector('.answers-kept');
  const { lesson, setup } = JSON.parse(kept.querySelector('script').textContent);
  const blocks = {}; // número → lo suyo

  const make = (tag, attributes = {}, ...inside) => {
    const node = Object.assign(document.createElement(tag), attributes);
    node.append(...inside);
    return node;
  };

  /** Lo que guarda el navegador. Si no deja, se dice una vez. */
  const memory = {
    name: number => `atencion/${lesson}/${number}`,
    read(number) {
      try {
        return localStorage.getItem(this.name(number));
      } catch {
        return null;
      }
    },
    write(number, text) {
      try {
        if (text === null) localStorage.removeItem(this.name(number));
        else localStorage.setItem(this.name(number), text);
      } catch {
        status.textContent =
          'Este navegador no deja guardar nada aquí: antes de cerrar, guarda tus respuestas en un archivo.';
      }
    },
  };

  // --- Python, en su hilo ---------------------------------------------------------------------

  let worker = null;
  let ready = null;
  let serial = 0;

  async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** Empieza Python, si no ha empezado. `say` dice por dónde va. */
  function python(say, signal) {
    ready ??= start(say, signal).catch(error => {
      stop();
      throw error;
    });
    return ready;
  }

  async function start(say, signal) {
    if (!globalThis.WebAssembly) throw new Error('Este navegador no ejecuta WebAssembly: prueba con otro.');
    const names = FILES.map(name => `python/${name}`);
    const MB = bytes => (bytes / 1e6).toFixed(1);
    const onProgress = (done, total) =>
      say(`Traigo Python, una sola vez: ${MB(done)} de ${MB(total)} MB.`, done / total);
    const pieces = await course.load(names, signal, onProgress);
    say('Arranco Python: unos segundos, una sola vez.');
    const files = {};
    for (const name of FILES) files[name] = await unpacked(pieces[`python/${name}`]);
    const address = URL.createObjectURL(new Blob([files['obrero.js']], { type: 'text/javascript' }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    return asking({ files });
  }

  /** Pide algo al hilo y espera lo que conteste. */
  function asking(message) {
    const mine = worker;
    return new Promise((resolve, reject) => {
      mine.cancel = reject;
      mine.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
      mine.onerror = event => reject(new Error(event.message || 'Python no ha podido arrancar.'));
      mine.postMessage(message);
    });
  }

  /** Para Python. El siguiente «Comprobar» empieza otro, con lo que ya se trajo. */
  function stop(why) {
    worker?.terminate();
    worker?.cancel?.(new Error(why ?? 'Parado.'));
    worker = ready = null;
  }

  let queue = Promise.resolve();

  /** Comprueba una respuesta: de una en una. */
  function check(number, say, signal) {
    const turn = queue.then(async () => {
      if (signal.aborted) throw new Error('Parado.');
      await python(say, signal);
      say('Compruebo…');
      const [before, undone] = [{}, {}];
      for (const other in blocks) {
        if (other === number) break;
        const { text, start } = blocks[other];
        (text === start ? undone : before)[other] = text;
      }
      const { text, check } = blocks[number];
      const asked = JSON.stringify({ setup, before, undone, number, answer: text, check });
      const seconds = LONGEST / 1000;
      const late = `Tu código no ha terminado en ${seconds} segundos: busca un bucle que no acabe. Lo he parado.`;
      const clock = setTimeout(() => stop(late), LONGEST);
      try {
        const { report } = await asking({ id: ++serial, asked });
        return JSON.parse(report);
      } finally {
        clearTimeout(clock);
      }
    });
    queue = turn.catch(() => {});
    return turn;
  }

  /** El editor, que pesa: llega cuando alguien va a escribir. */
  let coming = null;
  function whole() {
    coming ??= new Promise(resolve => {
      const script = make('script', { src: HERE, onload: resolve, onerror: resolve });
      document.head.append(script);
    });
    return coming;
  }

  // --- Un ejercicio ---------------------------------------------------------------------------

  function show(place, { head, findings, notes, printed, ok, unsolved, refused }) {
    place.className = `exercise-report ${ok ? 'right' : unsolved ? 'empty' : 'wrong'}`;
    if (refused?.length) {
      const names = refused.map(name => `«${name}»`).join(', ');
      place.className = 'exercise-report empty';
      const text = `En la página no está ${names}. Escríbelo de otra forma, o ábrelo en JupyterLab.`;
      return place.replaceChildren(make('p', {}, text));
    }
    const parts = [make('p', { className: 'head' }, head)];
    if (findings.length) parts.push(make('ol', {}, ...findings.map(text => make('li', {}, text))));
    parts.push(...notes.map(note => make('p', {}, `Nota: ${note}`)));
    if (printed) {
      const lines = printed.trimEnd().split('\n');
      const more = lines.length > 8 ? `\n… y ${lines.length - 8} líneas más` : '';
      const text = lines.slice(0, 8).map(line => line.slice(0, 200)).join('\n') + more;
      parts.push(make('p', {}, 'Tu código escribe:'), make('pre', {}, text));
    }
    place.replaceChildren(...parts);
  }

  function alive(host) {
    const { number, start, check: source } = JSON.parse(host.querySelector('script').textContent);
    const one = { start, check: source, text: memory.read(number) ?? start };
    const report = make('div', { className: 'exercise-report' });
    report.setAttribute('role', 'status');
    const bar = make('progress', { hidden: true, max: 1 });
    bar.setAttribute('aria-label', 'Lo que se ha traído de Python');
    const go = make('button', { type: 'button', className: 'go' }, 'Comprobar');
    const halt = make('button', { type: 'button', hidden: true }, 'Parar');
    const clean = make('button', { type: 'button' }, 'Empezar de nuevo');
    for (const [button, what] of [[go, 'Comprobar'], [halt, 'Parar'], [clean, 'Empezar de nuevo']])
      button.setAttribute('aria-label', `${what} el ejercicio ${number}`);
    const place = make('div', { className: 'exercise-editor' });
    const hint = make('p', { className: 'exercise-keys' });
    hint.append('Ctrl + Intro comprueba. El tabulador sangra; para salir del editor, Escape y después el tabulador.');
    let stopping = null;
    place.onkeydown = event => event.stopPropagation(); // «/» y Ctrl + K, aquí, no abren el buscador

    async function run() {
      if (stopping) return;
      stopping = new AbortController();
      go.disabled = clean.disabled = true;
      halt.hidden = false;
      report.className = 'exercise-report';
      const say = (text, part) => {
        report.textContent = text;
        bar.hidden = part === undefined;
        bar.value = part ?? 0;
      };
      try {
        show(report, await check(number, say, stopping.signal));
      } catch (error) {
        report.className = 'exercise-report wrong';
        report.textContent = error.message.replace('pulsa «Calcular» otra vez', 'pulsa «Comprobar» otra vez');
      }
      stopping = null;
      host.dataset.checked = Number(host.dataset.checked ?? 0) + 1;
      bar.hidden = halt.hidden = true;
      go.disabled = clean.disabled = false;
    }

    halt.onclick = () => {
      stopping?.abort();
      stop('Parado: lo que has escrito sigue aquí.');
      go.focus();
    };
    go.onclick = run;
    host.replaceChildren(
      place,
      make('div', { className: 'exercise-buttons' }, go, halt, clean, bar),
      hint,
      report,
    );
    const label = `Tu respuesta al ejercicio ${number}`;
    const onChange = text => {
      if (text === one.text) return;
      one.text = text;
      memory.write(number, text === start ? null : text);
    };
    const simple = make('textarea', { value: one.text, spellcheck: false, autocapitalize: 'off' });
    simple.setAttribute('aria-label', label);
    simple.rows = one.text.split('\n').length + 1;
    simple.oninput = () => onChange(simple.value);
    simple.onkeydown = event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
    };
    let editor = {
      focus: () => simple.focus(),
      set text(now) {
        simple.value = now;
      },
    };
    place.append(simple);
    simple.onfocus = async () => {
      await whole();
      if (!simple.isConnected || !course.editor) return; // sin él, se escribe igual
      const [at, mine] = [simple.selectionStart, document.activeElement === simple];
      simple.remove();
      editor = course.editor({ parent: place, text: one.text, at, label, onChange, onCheck: run });
      if (mine) editor.focus();
    };
    one.set = text => {
      one.text = text;
      memory.write(number, text === start ? null : text);
      editor.text = text;
    };
    clean.onclick = () => {
      if (one.text === start || confirm('Se borra lo que has escrito en este ejercicio. ¿Sigo?')) one.set(start);
      report.replaceChildren();
      editor.focus();
    };
    blocks[number] = one;
  }

  // --- Guardarlas y traerlas ------------------------------------------------------------------

  const status = make('p', {});
  status.setAttribute('role', 'status');
  const LINE = /^\s*# Ejercicio (\d+\.\d+)\b/;

  async function save() {
    const name = `cuadernos/${lesson}`;
    try {
      const piece = (await course.load([name]))[name];
      const notebook = JSON.parse(new TextDecoder().decode(await unpacked(piece)));
      for (const cell of notebook.cells) {
        const number = cell.cell_type === 'code' && LINE.exec([cell.source].flat().join(''))?.[1];
        if (number && blocks[number]) cell.source = blocks[number].text;
      }
      const text = JSON.stringify(notebook, null, 1);
      const address = URL.createObjectURL(new Blob([text], { type: 'application/x-ipynb+json' }));
      make('a', { href: address, download: `${lesson}.ipynb` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      status.textContent = `Guardado como ${lesson}.ipynb: ponlo en «mis_cuadernos», o entrégalo.`;
    } catch (error) {
      status.textContent = error.message;
    }
  }

  async function bring(file) {
    let cells;
    try {
      if (file.size > 20e6) throw new Error();
      cells = JSON.parse(await file.text()).cells.filter(({ cell_type: kind }) => kind === 'code');
    } catch {
      status.textContent = `«${file.name}» no se puede leer como cuaderno. No ha cambiado nada.`;
      return;
    }
    const found = {};
    for (const { source } of cells) {
      const text = [source].flat().join('');
      const number = LINE.exec(text)?.[1];
      if (number && blocks[number]) found[number] = text;
    }
    const numbers = Object.keys(found).filter(n => found[n] !== blocks[n].text);
    if (!numbers.length && Object.keys(found).length) {
      status.textContent = `Lo que hay en «${file.name}» ya estaba aquí. No ha cambiado nada.`;
      return;
    }
    if (!numbers.length) {
      status.textContent = `En «${file.name}» no hay ninguna respuesta de esta lección. No ha cambiado nada.`;
      return;
    }
    const lost = numbers.filter(n => blocks[n].text !== blocks[n].start);
    if (lost.length && !confirm(`Se cambia lo que has escrito en ${lost.join(', ')}. ¿Sigo?`)) return;
    for (const number of numbers) blocks[number].set(found[number]);
    status.textContent = `Traídas las respuestas de ${numbers.join(', ')}.`;
  }

  const file = make('input', { type: 'file', accept: '.ipynb', hidden: true });
  file.onchange = () => {
    if (file.files[0]) bring(file.files[0]);
    file.value = '';
  };
  const saver = make('button', { type: 'button', onclick: save }, 'Guardar mis respuestas');
  const bringer = make('button', { type: 'button', onclick: () => file.click() }, 'Traer un cuaderno');
  kept.append(make('div', { className: 'exercise-buttons' }, saver, bringer, file), status);
  document.querySelectorAll('.exercise').forEach(alive);

  // En otra pestaña se ha escrito: lo último que se escribe es lo que vale, en las dos.
  addEventListener('storage', ({ key, newValue }) => {
    const one = Object.entries(blocks).find(([number]) => memory.name(number) === key)?.[1];
    const text = newValue ?? one?.start;
    if (one && one.text !== text) one.set(text);
  });
}
