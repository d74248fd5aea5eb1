'use strict';
globalThis.course ??= {};
{
  // Los exploradores de exploradores.js, sin kernel: el JavaScript de JupyterLab, sobre un modelo que guarda
  // su estado en la página. Lo que en JupyterLab contesta Python, aquí lo contesta `course.answers`.

  /** Lo que anywidget da a un explorador. */
  class Model {
    constructor(state, onRequest) {
      this.state = state;
      this.onRequest = onRequest;
      this.listeners = {};
      this.asked = state.request?.serial ?? 0;
    }

    get(name) {
      return this.state[name];
    }

    set(name, value) {
      this.update({ [name]: value });
    }

    /** Cambia varios traits de una vez y, después, avisa de los que han cambiado. */
    update(traits) {
      const changed = Object.keys(traits).filter(
        name => JSON.stringify(traits[name]) !== JSON.stringify(this.state[name]),
      );
      Object.assign(this.state, traits);
      changed.forEach(name => this.tell(name));
    }

    /** Avisa a quien escucha un trait. */
    tell(name) {
      for (const listener of [...(this.listeners[`change:${name}`] ?? [])]) listener();
    }

    on(event, listener) {
      (this.listeners[event] ??= []).push(listener);
    }

    off(event, listener) {
      this.listeners[event] = this.listeners[event]?.filter(other => other !== listener);
    }

    save_changes() {
      const serial = this.state.request?.serial ?? 0;
      if (serial === this.asked) return;
      this.asked = serial;
      this.onRequest();
    }

    send() {} // a nadie: no hay kernel
  }

  /** Lo que falta de una descarga, y un botón para pararla. `show` da la frase, que dice el explorador. */
  function progressBar(onStop) {
    const node = document.createElement('div');
    const bar = document.createElement('progress');
    const stop = document.createElement('button');
    node.className = 'course-progress';
    stop.type = 'button';
    stop.textContent = 'Parar';
    stop.onclick = onStop;
    bar.setAttribute('aria-label', 'Descarga del modelo');
    node.append(bar, stop);
    return {
      node,
      show(done, total) {
        const MB = bytes => (bytes / 1e6).toFixed(1);
        bar.max = total;
        bar.value = done;
        return `Descargo el modelo, una sola vez: ${MB(done)} de ${MB(total)} MB.`;
      },
    };
  }

  /** Lo que se contesta al explorador del LLM, cuyo modelo no cabe en el sitio. */
  const nobody = async () => {
    throw new Error(
      'Escribir pide el modelo, que en esta página no está: abre la lección en JupyterLab. La capa, ' +
        'la temperatura y los cortes sí se mueven.',
    );
  };

  /** Contesta lo que pide un explorador. Si mientras tanto pide otra cosa, al final, la última. */
  function answering(host, name) {
    let busy = false;
    return async function answer(model) {
      if (busy) return;
      busy = true;
      const { serial } = model.get('request');
      const stop = new AbortController();
      const bar = progressBar(() => stop.abort());
      const onProgress = (done, total) => {
        if (total < 1e6) return; // no da tiempo a leerlo
        if (!bar.node.isConnected) host.prepend(bar.node);
        model.set('progress', bar.show(done, total));
      };
      const load = names => course.load(names, stop.signal, onProgress);
      const beat = setInterval(() => model.tell('progress'), 5000); // sigue en ello
      let traits;
      try {
        traits = { error: '', ...(await (course.answers?.[name] ?? nobody)(model, load)) };
      } catch (error) {
        traits = { error: error.message };
      }
      clearInterval(beat);
      bar.node.remove();
      busy = false;
      model.update({ ...traits, answered: serial });
      if (model.get('request').serial !== serial) answer(model);
    };
  }

  /** Pone en su sitio un explorador: se va su imagen y queda vivo. */
  function bringToLife(host) {
    const state = JSON.parse(host.querySelector('script').textContent);
    const el = document.createElement('div');
    const answer = answering(host, host.dataset.explorer);
    const model = new Model(state, () => answer(model));
    course.explorers[host.dataset.explorer].render({ model, el });
    host.replaceChildren(el);
    host.classList.add('alive');
    host.model = model;
    course.link?.(host, model);
  }

  // Los colores de los exploradores siguen al tema de la página; en papel, los del claro.
  const page = document.documentElement;
  const tint = dark => (document.body.dataset.jpThemeLight = String(!dark));
  const follow = () => tint(page.dataset.theme === 'dark');
  new MutationObserver(follow).observe(page, { attributeFilter: ['data-theme'] });
  addEventListener('beforeprint', () => tint(false));
  addEventListener('afterprint', follow);
  follow();

  const watcher = new IntersectionObserver(
    entries => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) {
          watcher.unobserve(target);
          bringToLife(target);
        }
    },
    { rootMargin: '400px' },
  );
  document.querySelectorAll('.course-explorer').forEach(host => watcher.observe(host));
}
