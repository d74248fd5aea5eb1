'use strict';
globalThis.course ??= {};
{
  // Los modelos llegan en piezas, y solo cuando alguien escribe una frase. Cada una es un programa que
  // llama a `course.piece` con sus bytes en una cadena: de una carpeta, donde no hay `fetch`, se
  // ejecuta; de un servidor, se lee tal como viene, y se sabe cuánto falta.

  const { dataset, src } = document.currentScript;
  const FOLDER = new URL(`../modelos/${dataset.version}/`, src);
  const SERVED = FOLDER.protocol.startsWith('http');
  const ADVICE =
    'Comprueba la conexión, o que la carpeta «modelos» está entera al lado de la página, y pulsa ' +
    '«Calcular» otra vez.';
  const STOPPED = '«Parar» ha detenido la descarga. Para seguirla, pulsa «Calcular» otra vez.';
  const arrived = new Map(); // nombre → bytes
  const coming = new Map(); // nombre → promesa

  /** Lo llama cada pieza cuando llega. En `x-user-defined`, el byte es lo bajo de cada letra. */
  course.piece = (name, text) => {
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    arrived.set(name, bytes);
  };

  /** Ejecuta una pieza. Falla si no llega. */
  const execute = address =>
    new Promise((onload, onerror) => {
      const script = document.createElement('script');
      Object.assign(script, { src: address, charset: 'x-user-defined', onload, onerror });
      document.head.append(script);
      script.remove();
    });

  /** Lee una pieza según viene: `onBytes(cuántos)`. Su cadena, sin lo que la escapa. */
  async function read(name, address, onBytes) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    const parts = [];
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      onBytes(value.length);
    }
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    const [QUOTE, SLASH] = [39, 92];
    let to = 0;
    for (let at = `course.piece('${name}', '`.length; at < bytes.length; at++) {
      let byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === SLASH) byte = { 110: 10, 114: 13 }[bytes[++at]] ?? bytes[at];
      bytes[to++] = byte;
    }
    arrived.set(name, bytes.slice(0, to));
  }

  /** Trae una pieza. Si no llega entera, lo dice. */
  function bring(name, size, onBytes) {
    if (arrived.has(name)) return Promise.resolve();
    if (coming.has(name)) return coming.get(name);
    const address = new URL(`${name}.js`, FOLDER);
    const fail = what => {
      arrived.delete(name);
      throw new Error(`«${name}», una parte del modelo, ${what}. ${ADVICE}`);
    };
    const promise = (SERVED ? read(name, address, onBytes) : execute(address))
      .catch(() => fail('no ha llegado'))
      .then(() => {
        const whole = arrived.get(name);
        if (!whole || (size !== null && whole.length !== size)) fail('ha llegado incompleta');
      })
      .finally(() => coming.delete(name));
    coming.set(name, promise);
    return promise;
  }

  /** Falla cuando alguien pulsa «Parar». */
  function stopping(signal) {
    const promise = new Promise((_, reject) => {
      const stop = () => reject(new Error(STOPPED));
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop);
    });
    promise.catch(() => {}); // si nadie la espera, no pasa nada
    return promise;
  }

  /**
   * Trae unas piezas, a la vez: → `{nombre: bytes}`. `onProgress(traído, total)`, en bytes. Con `signal` se
   * puede parar; lo que ya ha llegado se queda.
   */
  course.load = async (names, signal, onProgress = () => {}) => {
    if (!names.every(name => arrived.has(name))) {
      const stopped = stopping(signal);
      await Promise.race([bring('indice', null, () => {}), stopped]);
      const sizes = JSON.parse(new TextDecoder().decode(arrived.get('indice')));
      const missing = names.filter(name => !arrived.has(name));
      const total = missing.reduce((all, name) => all + sizes[name], 0);
      let done = 0;
      const add = bytes => onProgress((done = Math.min(done + bytes, total)), total);
      add(0);
      const all = missing.map(name =>
        bring(name, sizes[name], add).then(() => SERVED || add(sizes[name])),
      );
      await Promise.race([Promise.all(all), stopped]);
    }
    return Object.fromEntries(names.map(name => [name, arrived.get(name)]));
  };
}
