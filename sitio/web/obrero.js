'use strict';
{
  // El hilo en que Python ejecuta y comprueba. Recibe sus archivos de la página y no llega a nada más:
  // ni a la red, ni a lo que guarda el navegador, ni a la página: la respuesta no alcanza el canal que va a ella.

  const PLACE = 'https://curso.invalid/'; // nadie: lo que se pide de ahí sale de `files`
  let files = {};
  let page = null;
  const named = url => files[String(url).slice(PLACE.length)];

  /** Pyodide pide sus archivos como si estuvieran en un servidor. */
  async function start(given) {
    files = given;
    const execute = self.importScripts.bind(self);
    self.fetch = async url => {
      const type = String(url).endsWith('.wasm') ? 'application/wasm' : 'text/plain';
      const bytes = named(url);
      if (!bytes) throw new TypeError(`No hay ${url}`);
      return new Response(bytes, { headers: { 'Content-Type': type } });
    };
    self.importScripts = url => {
      const address = URL.createObjectURL(new Blob([named(url)], { type: 'text/javascript' }));
      execute(address);
      URL.revokeObjectURL(address);
    };
    self.importScripts(`${PLACE}pyodide.js`);
    let memory; // la de Python: las cuentas que más tardan se hacen en ella
    const Memory = WebAssembly.Memory;
    WebAssembly.Memory = function (sizes) {
      const made = new Memory(sizes);
      if (!sizes.shared) memory = made; // las otras son para saber qué hace el navegador
      return made;
    };
    const python = await self.loadPyodide({
      indexURL: PLACE,
      lockFileURL: `${PLACE}pyodide-lock.json`,
      stdLibURL: `${PLACE}python_stdlib.zip`,
    });
    python.unpackArchive(files['numpy.whl'], 'wheel');
    const site = python.runPython('import site; site.getsitepackages()[0]');
    python.unpackArchive(files['curso.zip'], 'zip', { extractDir: site });
    WebAssembly.Memory = Memory;
    const program = await WebAssembly.instantiate(files['producto.wasm'], { page: { memory } }).catch(() => null);
    if (program) {
      const { multiply } = program.instance.exports;
      Object.setPrototypeOf(multiply, null); // de ella no se llega a nada más
      python.runPython('from torch import fast; fast.MULTIPLY.append')(multiply);
    }
    files = {};
    const here = python.runPython('import page; page.Page()');
    page = { check: asked => here.check(asked), give: pieces => here.give(python.toPy(pieces)) };
    close();
  }

  /** Quita lo que llega fuera de aquí, de donde esté. */
  function close() {
    const kinds = ['fetch', 'request', 'socket', 'worker', 'idb', 'indexeddb', 'cache', 'storage'];
    kinds.push('navigator', 'channel', 'font', 'port', 'eventsource', 'rtc', 'notification', 'filesystem', 'postmess', '^close$');
    const outside = new RegExp(kinds.join('|'), 'i');
    for (let place = self; place; place = Object.getPrototypeOf(place))
      for (const name of Object.getOwnPropertyNames(place))
        if (outside.test(name))
          try {
            Object.defineProperty(place, name, { value: undefined, writable: false });
          } catch {
            delete place[name];
          }
  }

  // Lo que aquí se usa de JavaScript se toma antes de que llegue Python, que después lo puede cambiar.
  self.onmessage = ({ data: { id: first, files: given, port } }) => {
    self.onmessage = null;
    const { apply } = Reflect;
    const { get: dataOf } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
    const answer = port.postMessage.bind(port);
    const fail = (id, error) => answer({ id, error: `${error?.message ?? error}`.slice(-2000) });
    port.onmessage = event => {
      const { id, asked, pieces } = apply(dataOf, event, []);
      try {
        answer({ id, report: pieces ? page.give(pieces) : page.check(asked) });
      } catch (error) {
        fail(id, error);
      }
    };
    start(given).then(() => answer({ id: first }), error => fail(first, error));
  };
}
