// El sonido de un explorador: sus tokens, oírlo y grabarlo. Lo que se graba va al kernel, y de este
// ordenador no sale.

const [RATE, LONGEST] = [16000, 10]; // muestras por segundo, y segundos

const SOUND = css`
  .exp-see .s-axis {
    font-size: 0.85rem;
    position: relative;
    height: 1.4rem;
    overflow: hidden;
  }
  .exp-see .s-axis > * {
    position: absolute;
    border-left: 1px solid currentColor;
    padding-left: 0.2rem;
  }
  .exp-see .s-words {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem;
  }
  .exp-see .s-words > * {
    min-width: 28px;
    padding: 0.1rem 0.4rem;
  }
  .exp-see .s-now {
    box-shadow: 0 0 0 3px var(--k);
    font-weight: 700;
  }
`;

/** Unas muestras, de −1 a 1, como un WAV: un canal, de 16 bits. */
export function wav(samples) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const letters = (at, text) => range(4).forEach(i => view.setUint8(at + i, text.charCodeAt(i)));
  const whole = (at, ...numbers) => numbers.forEach((n, i) => view.setUint32(at + 4 * i, n, true));
  ['RIFF', 'WAVE', 'fmt ', 'data'].forEach((text, i) => letters([0, 8, 12, 36][i], text));
  whole(4, view.byteLength - 8);
  whole(16, 16, 0x10001, RATE, 2 * RATE, 0x100002); // PCM y un canal; 2 bytes y 16 bits
  whole(40, 2 * samples.length);
  samples.forEach((x, i) => view.setInt16(44 + 2 * i, 32767 * Math.max(-1, Math.min(1, x)), true));
  return view;
}

/** Un botón que graba, hasta diez segundos, y se lo da al kernel; si no puede, lo dice. */
function recorder(model, asked) {
  let tape = null;
  const stop = one => one.state === 'recording' && one.stop();
  const node = button('● Grabar', async () => {
    if (tape) return stop(tape);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      tape = new MediaRecorder(stream);
      tape.ondataavailable = async ({ data }) => {
        stream.getTracks().forEach(track => track.stop());
        [tape, node.textContent] = [null, '● Grabar'];
        const reader = new AudioContext({ sampleRate: RATE });
        const heard = await reader.decodeAudioData(await data.arrayBuffer());
        reader.close();
        model.set('recorded', wav(heard.getChannelData(0).subarray(0, LONGEST * RATE)));
        asked.ask();
      };
      tape.start();
      setTimeout(stop, 1000 * LONGEST, tape);
      node.textContent = '■ Parar y leerlo';
    } catch {
      asked.state.textContent = 'El navegador no deja usar el micrófono, o no hay ninguno.';
    }
  });
  return node;
}

/**
 * Los tokens, para elegir uno; debajo del dibujo, los segundos; y un botón para oírlo, que enciende
 * cada token cuando suena.
 */
function spoken({ tokens, when, audio, columns, step }, pick) {
  const sound = new Audio(audio);
  const heardAt = time =>
    Math.max(
      0,
      when.findLastIndex(one => one <= time),
    );
  const play = button('▶ Oírlo', () => (sound.paused ? sound.play() : sound.pause()));
  const onkeydown = event => {
    const to = arrowTo(event, words.indexOf(event.target), words.length);
    if (to === undefined) return;
    pick(to);
    words[to].focus();
  };
  const words = tokens.map((token, i) => {
    const node = button(visible(token.trim()) || '␣', () => pick(i));
    return set(node, { onkeydown });
  });
  function follow() {
    const on = !sound.paused && !sound.ended;
    const now = on ? heardAt(sound.currentTime) : -1;
    play.textContent = on ? '■ Parar' : '▶ Oírlo';
    words.forEach((word, i) => word.classList.toggle('s-now', i === now));
    if (on) requestAnimationFrame(follow);
  }
  ['play', 'pause', 'ended'].forEach(event => sound.addEventListener(event, follow));
  const every = Math.ceil((columns * step) / 8); // segundos entre dos rayas
  const tick = n => {
    const left = (100 * n * every) / (columns * step);
    return make('span', { style: `left: ${left}%` }, `${n * every} s`);
  };
  const axis = div('s-axis', ...range(8).map(tick));
  const list = group('Lo que ha escrito: elige con las flechas', 's-words', ...words);
  const choose = now =>
    words.forEach((word, i) =>
      set(word, { 'aria-pressed': String(i === now), tabindex: i === now ? 0 : -1 }),
    );
  return { list, play, axis, heardAt, choose, stop: () => sound.pause() };
}
