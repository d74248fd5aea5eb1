'use strict';
globalThis.course ??= {};
{
  // Donde se escribe un programa, se ejecuta y se lee lo que dice. Lo que llega de Python es texto.

  const HERE = new URL('editor.js', document.currentScript.src);
  const SHOWN = 8; // líneas de lo que escribe una respuesta

  const { make } = course;
  let desks = 0;

  /** El editor, que pesa: llega cuando alguien va a escribir. */
  let coming = null;
  function whole() {
    coming ??= new Promise(resolve => {
      document.head.append(make('script', { src: HERE, onload: resolve, onerror: resolve }));
    });
    return coming;
  }

  function show(place, { head, findings, notes, printed, ok, unsolved, refused, next, figures = [] }) {
    const parts = head ? [make('p', { className: 'head' }, head)] : findings.length ? [] : ['Sale:'];
    place.className = `exercise-report ${ok ? 'right' : unsolved ? 'empty' : head || findings.length ? 'wrong' : 'ran'}`;
    if (refused?.length) {
      const names = refused.map(name => `«${name}»`).join(', ');
      place.className = 'exercise-report empty';
      const text = `En la página no está ${names}. Escríbelo de otra forma, o ábrelo en JupyterLab.`;
      return place.replaceChildren(make('p', {}, text));
    }
    if (findings.length) parts.push(make('ol', {}, ...findings.map(text => make('li', {}, ...course.linked(text)))));
    parts.push(...notes.map(note => make('p', {}, ...course.linked(`Nota: ${note}`))));
    const lines = printed.trimEnd().split('\n');
    const more = head && lines.length > SHOWN ? `\n… y ${lines.length - SHOWN} líneas más` : '';
    const text = head ? lines.slice(0, SHOWN).map(line => line.slice(0, 200)).join('\n') + more : printed;
    if (head && printed) parts.push(make('p', {}, 'Tu código escribe:'));
    if (printed) parts.push(make('pre', {}, text));
    else if (!head && !findings.length && !figures.length) parts[0] = 'No escribe nada.';
    parts.push(...figures.map(one => make('img', one)));
    if (next) parts.push(make('p', {}, make('a', { href: next[0] }, next[1])));
    place.replaceChildren(...parts);
  }

  /**
   * La mesa de un programa, en `host`. `what` y `label` dicen cuál es; `verb` y `again` son sus botones;
   * `ask(say, signal)` lo ejecuta; `onChange` recibe lo escrito, y `onClean` lo borra, si quien escribe quiere.
   */
  course.desk = ({ host, what, label, text, verb, again, ask, onChange, onClean }) => {
    const report = make('div', { className: 'exercise-report' });
    report.setAttribute('role', 'status');
    const bar = make('progress', { hidden: true, max: 1 });
    bar.setAttribute('aria-label', 'Lo que se ha traído');
    const go = make('button', { type: 'button', className: 'go' }, verb);
    const halt = make('button', { type: 'button', hidden: true }, 'Parar');
    const clean = make('button', { type: 'button' }, again);
    for (const button of [go, halt, clean]) button.setAttribute('aria-label', `${button.textContent} ${what}`);
    const place = make('div', { className: 'exercise-editor' });
    const hint = make('p', { className: 'exercise-keys' });
    hint.append(
      `Con el teclado: Intro entra en el editor y Escape sale. Dentro, el tabulador sangra y Ctrl + Intro es «${verb}».`,
    );
    hint.id = `teclas-${(desks += 1)}`;
    // Al pasar con el tabulador se llega al marco, y no dentro, donde el tabulador sangra.
    place.tabIndex = 0;
    place.setAttribute('role', 'group');
    place.setAttribute('aria-label', `Editor: ${label}`);
    place.setAttribute('aria-describedby', hint.id);
    let stopping = null;
    place.addEventListener('keydown', event => {
      event.stopPropagation(); // «/» y Ctrl + K, aquí, no abren el buscador
      const out = event.target === place;
      if (event.key === (out ? 'Enter' : 'Escape')) {
        event.preventDefault();
        (out ? editor : place).focus();
      }
    });

    async function run() {
      if (stopping) return;
      stopping = new AbortController();
      busy(true);
      halt.hidden = false;
      report.className = 'exercise-report';
      const say = (said, part) => {
        report.textContent = said;
        bar.hidden = part === undefined;
        bar.value = part ?? 0;
      };
      try {
        show(report, await ask(say, stopping.signal));
      } catch (error) {
        report.className = 'exercise-report wrong';
        report.textContent = error.message.replace('pulsa «Calcular» otra vez', `pulsa «${verb}» otra vez`);
      }
      stopping = null;
      host.dataset.checked = Number(host.dataset.checked ?? 0) + 1;
      if (document.activeElement === halt) go.focus();
      bar.hidden = halt.hidden = true;
      busy(false);
    }
    // Apagados, y no «disabled»: quien ha pulsado sigue donde estaba.
    const busy = on => [go, clean].forEach(button => button.setAttribute('aria-disabled', on));

    halt.onclick = () => {
      stopping?.abort();
      course.python.stop('Parado: lo que has escrito sigue aquí.');
      go.focus();
    };
    go.onclick = run;
    const buttons = make('div', { className: 'exercise-buttons' }, go, halt, clean, bar);
    host.replaceChildren(hint, place, buttons, report);
    const simple = make('textarea', { value: text, spellcheck: false, autocapitalize: 'off' });
    simple.setAttribute('aria-label', label);
    simple.tabIndex = -1;
    simple.rows = text.split('\n').length + 1;
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
      const [at, mine, now] = [simple.selectionStart, document.activeElement === simple, simple.value];
      simple.remove();
      editor = course.editor({ parent: place, text: now, at, label, onChange, onCheck: run });
      place.querySelector('[contenteditable]').tabIndex = -1;
      if (mine) editor.focus();
    };
    clean.onclick = () => {
      if (stopping) return;
      if (onClean()) report.replaceChildren();
      if (host.isConnected) editor.focus();
    };
    return {
      focus: () => editor.focus(),
      set text(now) {
        editor.text = now;
      },
    };
  };
}
