/* Lo que JupyterLab carga: el módulo que busca, escrito a mano y sin empaquetar. */
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, '');
  const style = document.createElement('link');
  Object.assign(style, { rel: 'stylesheet', href: `${here}style.css` });
  document.head.append(style);
  let shared;
  // Lo que JupyterLab comparte con sus extensiones: una versión de cada paquete.
  const lab = async name => (await Object.values(shared[name])[0].get())();
  (window._JUPYTERLAB ??= {})['atencion-paso-a-paso'] = {
    init: scope => (shared = scope),
    get: async () => {
      const [{ plugin, silence }, application, ...parts] = await Promise.all([
        import(`${here}extension.js`),
        lab('@jupyterlab/application'),
        lab('@jupyterlab/apputils'),
        lab('@jupyterlab/notebook'),
        lab('@lumino/widgets'),
      ]);
      return () => ({ __esModule: true, default: [silence(application), plugin(...parts)] });
    },
  };
})();
