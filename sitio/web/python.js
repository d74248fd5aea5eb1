'use strict';
globalThis.course ??= {};
{
  // Python en la página, en su hilo: llega cuando alguien lo pide, se puede parar y no para a la página.

  const FILES = ['pyodide.js', 'pyodide.asm.js', 'pyodide.asm.wasm', 'python_stdlib.zip'];
  FILES.push('pyodide-lock.json', 'numpy.whl', 'curso.zip', 'producto.wasm', 'obrero.js');
  const LONGEST = 75_000; // ms que se espera: lo que no acaba, dentro de C, no se para solo
  const LARGEST = 200_000; // letras de lo que dice un informe
  const FIGURES = 6; // las que trae, cada una de tres veces eso como mucho
  const DRAWING = 'python/dibujo.zip'; // llega con la primera celda que dibuja
  const WIDEST = 5000; // píxeles de una figura

  let worker = null;
  let ready = null;
  let queue = Promise.resolve();

  async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** Trae unas piezas y dice cuánto falta. */
  function bring(what, names, say, signal) {
    const MB = bytes => (bytes / 1e6).toFixed(1);
    const onProgress = (done, total) =>
      say(`Traigo ${what}, una sola vez: ${MB(done)} de ${MB(total)} MB.`, done / total);
    return course.load(names, signal, onProgress);
  }

  async function start(say, signal) {
    if (!globalThis.WebAssembly) throw new Error('Este navegador no ejecuta WebAssembly: prueba con otro.');
    const pieces = await bring('Python', FILES.map(name => `python/${name}`), say, signal);
    say('Arranco Python: unos segundos, una vez en cada página.');
    const files = {};
    for (const name of FILES) files[name] = await unpacked(pieces[`python/${name}`]);
    const address = URL.createObjectURL(new Blob([files['obrero.js']], { type: 'text/javascript' }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    const { port1, port2 } = new MessageChannel();
    worker.port = port1;
    return told({ files, port: port2 }, worker, [port2]);
  }

  /** Dice algo al hilo y espera lo que conteste: lleva el número, que nadie más sabe, de lo que se le ha dicho. */
  function told(message, by = worker.port, given = []) {
    const mine = worker;
    const id = `${crypto.getRandomValues(new Uint32Array(4))}`;
    return new Promise((resolve, reject) => {
      mine.cancel = reject;
      mine.port.onmessage = ({ data }) => {
        if (data.id === id) data.error ? reject(new Error(data.error)) : resolve(data.report);
      };
      mine.onerror = event => reject(new Error(event.message || 'Python no ha podido arrancar.'));
      by.postMessage({ id, ...message }, given);
    });
  }

  /** Una figura, si es un PNG que cabe en la página: sus medidas, que están en su cabecera. */
  function measured({ png, alt }) {
    const big = typeof png === 'string' && /^iVBORw0KGgo[\w+/]+=*$/.test(png) && atob(png.slice(0, 32));
    const at = place => [0, 1, 2, 3].reduce((sum, k) => sum * 256 + big.charCodeAt(place + k), 0);
    const sizes = big && big.slice(12, 16) === 'IHDR' && [at(16), at(20)];
    if (!sizes || typeof alt !== 'string' || !sizes.every(size => size > 0 && size <= WIDEST)) throw new Error('No es una figura.');
    return { src: `data:image/png;base64,${png}`, alt, width: Math.round(sizes[0] / 2), height: Math.round(sizes[1] / 2) };
  }

  /** Un informe, que la respuesta puede haber escrito: de él solo se toman textos, figuras y nombres de piezas. */
  function read(report) {
    try {
      const found = JSON.parse(report.length < LARGEST * (2 + 3 * FIGURES) ? report : '');
      const texts = found.need ?? [found.head, found.printed, ...found.findings, ...found.notes, ...found.refused];
      const ours = one => typeof one === 'string' && (!found.need || one === DRAWING || /^(bert|traductor)\/[\w-]+$/.test(one));
      const figures = (found.figures ?? []).slice(0, FIGURES).map(measured);
      if (texts.every(ours) && texts.join('').length < LARGEST) return { ...found, figures };
    } catch {} // no es un informe
    throw new Error('Tu código cambia lo que lo comprueba. Quita de él lo que no sea del ejercicio, y prueba otra vez.');
  }

  /** Para Python. Lo siguiente que se pida empieza otro, con lo que ya se trajo. */
  function stop(why = 'Parado.') {
    worker?.terminate();
    worker?.cancel?.(new Error(why));
    worker = ready = null;
  }

  /** Lo que ha fallado así no vuelve a contestar bien: lo siguiente, en otro. */
  function broken(error) {
    stop();
    throw error;
  }

  /** Pide algo a Python: de uno en uno. Si le falta una parte de BERT, se trae y se empieza otra vez. */
  function ask(asked, say, signal) {
    const turn = queue.then(async () => {
      if (signal.aborted) throw new Error('Parado.');
      ready ??= start(say, signal).catch(broken);
      await ready;
      for (;;) {
        say('Ejecuto…');
        const seconds = LONGEST / 1000;
        const late = `Tu código tarda más de ${seconds} s: o no acaba, o da muchas vueltas de más. Lo he parado.`;
        const clock = setTimeout(() => stop(late), LONGEST);
        const answer = told({ asked: JSON.stringify(asked), pieces: null }).then(read);
        const found = await answer.finally(() => clearTimeout(clock)).catch(broken);
        if (!found.need) return found;
        const what = found.need.includes(DRAWING) ? 'lo que dibuja' : found.need[0].startsWith('traductor') ? 'el traductor' : 'BERT';
        const pieces = await bring(what, found.need, say, signal);
        if (pieces[DRAWING]) pieces[DRAWING] = await unpacked(pieces[DRAWING]);
        await told({ asked: null, pieces });
      }
    });
    queue = turn.catch(() => {});
    return turn;
  }

  /** Un cuaderno del curso, sin lo que sale al ejecutarlo. */
  async function notebook(lesson) {
    const name = `cuadernos/${lesson}`;
    const { [name]: bytes } = await course.load([name]);
    return JSON.parse(new TextDecoder().decode(await unpacked(bytes)));
  }

  const textOf = ({ source, input }) => [source ?? input].flat().join('');

  /** Lo que hay escrito en las celdas de código de antes de una. Con `answers`, también en los huecos: número → lo suyo. */
  function before({ cells }, isLast, edited = {}, answers = null) {
    const mine = cells.slice(0, cells.findIndex(isLast)).filter(cell => cell.cell_type === 'code');
    const number = ({ metadata: { nbgrader } }) => nbgrader?.grade_id.match(/^ejercicio-(.*)/)?.[1].replace('-', '.');
    const own = mine.filter(cell => !cell.metadata.nbgrader || (answers && number(cell)));
    return own.map(cell => edited[cell.id] ?? (number(cell) && answers(number(cell))) ?? textOf(cell));
  }

  course.python = { ask, stop, notebook, textOf, before };
}
