'use strict';
globalThis.course ??= {};
{
  // Los modelos llegan en piezas, y solo cuando alguien escribe una frase. Cada una es un programa que
  // llama a `course.piece`: así llegan igual de un servidor que de una carpeta, donde no hay `fetch`.

  const FOLDER = new URL('../modelos/', document.currentScript.src);
  const ADVICE =
    'Comprueba la conexión, o que la carpeta «modelos» está entera al lado de la página, y pulsa ' +
    '«Calcular» otra vez.';
  const STOPPED = '«Parar» ha detenido la descarga. Para seguirla, pulsa «Calcular» otra vez.';
  const arrived = new Map(); // nombre → bytes
  const coming = new Map(); // nombre → promesa

  /** Los bytes de un texto en base 64. */
  function bytesOf(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
  }

  /** Lo llama cada pieza cuando llega. */
  course.piece = (name, text) => arrived.set(name, bytesOf(text));

  /** Trae una pieza. Si no llega entera, lo dice. */
  function bring(name, size) {
    if (arrived.has(name)) return Promise.resolve();
    if (coming.has(name)) return coming.get(name);
    const script = document.createElement('script');
    script.src = new URL(`${name}.js`, FOLDER);
    const promise = new Promise((resolve, reject) => {
      const fail = what => {
        arrived.delete(name);
        reject(new Error(`«${name}», una parte del modelo, ${what}. ${ADVICE}`));
      };
      script.onerror = () => fail('no ha llegado');
      script.onload = () => {
        const whole = arrived.get(name);
        if (whole && (size === null || whole.length === size)) resolve();
        else fail('ha llegado incompleta');
      };
    }).finally(() => {
      coming.delete(name);
      script.remove();
    });
    coming.set(name, promise);
    document.head.append(script);
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
   * Trae unas piezas: → `{nombre: bytes}`. `onProgress(traído, total)`, en bytes. Con `signal` se
   * puede parar; lo que ya ha llegado se queda.
   */
  course.load = async (names, signal, onProgress = () => {}) => {
    if (!names.every(name => arrived.has(name))) {
      const stopped = stopping(signal);
      await Promise.race([bring('indice', null), stopped]);
      const sizes = JSON.parse(new TextDecoder().decode(arrived.get('indice')));
      const missing = names.filter(name => !arrived.has(name));
      const total = missing.reduce((all, name) => all + sizes[name], 0);
      let done = 0;
      for (const name of missing) {
        onProgress(done, total);
        await Promise.race([bring(name, sizes[name]), stopped]);
        done += sizes[name];
      }
      onProgress(total, total);
    }
    return Object.fromEntries(names.map(name => [name, arrived.get(name)]));
  };
}
