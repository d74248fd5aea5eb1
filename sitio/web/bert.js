'use strict';
// BERT dentro de la página: las mismas cuentas que `extract_embeddings`, con los pesos que empaqueta
// pieces.py.
{
  globalThis.course ??= {};
  const { assemble, attend, addAndNorm, linear } = course.counts;
  const { listed, advice } = course.signs;

  const [LAYERS, HEADS, WIDTH, INNER] = [6, 12, 384, 1536]; // capas, h, d_model y la red densa
  const SIZE = WIDTH / HEADS; // d_k
  const [POSITIONS, CHUNK] = [512, 64]; // filas de la tabla de posiciones, y de un trozo de la otra
  const KEPT = 8; // las últimas frases no se vuelven a calcular

  /** Lee los tensores de una pieza, en el orden en que los escribe pieces.py. No copia nada. */
  function unpack(bytes) {
    let at = bytes.byteOffset;
    const take = (Kind, count) => {
      const numbers = new Kind(bytes.buffer, at, count);
      at += numbers.byteLength;
      return numbers;
    };
    const vector = size => take(Float32Array, size);
    const matrix = (rows, columns) => {
      const scales = vector(rows);
      return { columns, scales, weight: take(Int16Array, rows * columns) };
    };
    return {
      matrix,
      projection: (rows, columns) => ({ ...matrix(rows, columns), bias: vector(rows) }),
      norm: () => ({ weight: vector(WIDTH), bias: vector(WIDTH) }),
    };
  }

  /** x · Φ(x). La función error es la de Abramowitz y Stegun, 7.1.26: se aparta menos de 2e-7. */
  function gelu(x) {
    const z = Math.abs(x) / Math.SQRT2;
    const t = 1 / (1 + 0.3275911 * z);
    const series = 1.421413741 + t * (-1.453152027 + t * 1.061405429);
    const tail = t * (0.254829592 + t * (-0.284496736 + t * series)) * Math.exp(-z * z);
    return (x / 2) * (x < 0 ? tail : 2 - tail);
  }

  // --- El modelo ---------------------------------------------------------------------------------

  const VOCABULARY = 'bert/vocabulario';
  const PROGRAM = 'bert/programa';
  const layerPiece = number => `bert/capa-${number}`;
  const wordsPiece = id => `bert/palabras-${String(Math.floor(id / CHUNK)).padStart(3, '0')}`;
  const row = ({ scales, weight }, i) =>
    Float32Array.from(weight.subarray(i * WIDTH, (i + 1) * WIDTH), x => x * scales[i]);

  const norm = (X, Y, layer) => addAndNorm(X, Y, layer.norm(), 1e-12);

  /** Lo que entra en la primera capa: la palabra más su posición, normalizadas. */
  function embed(ids, pieces) {
    const rest = unpack(pieces['bert/resto']);
    const [table, types] = [rest.matrix(POSITIONS, WIDTH), rest.matrix(2, WIDTH)];
    const kind = row(types, 0); // el vector del tipo de frase: siempre el mismo
    const [words, places] = [0, 0].map(() => new Float32Array(ids.length * WIDTH));
    ids.forEach((id, i) => {
      const bytes = pieces[wordsPiece(id)];
      const rows = bytes.length / (4 + 2 * WIDTH); // en el último trozo hay menos
      words.set(row(unpack(bytes).matrix(rows, WIDTH), id % CHUNK), i * WIDTH);
      places.set(row(table, i).map((x, d) => x + kind[d]), i * WIDTH);
    });
    return norm(words, places, rest);
  }

  /** Q, K y V de todas las cabezas: lo primero de una capa. */
  const projections = (layer, X) => [0, 0, 0].map(() => linear(X, layer.projection(WIDTH, WIDTH)));

  /** Lo que entra en cada capa, (L, d_model), y sus pesos de atención, (h, L, L). */
  async function run(ids, load) {
    const layers = [...Array(LAYERS).keys()].map(layerPiece);
    const names = ['bert/resto', PROGRAM, ...ids.map(wordsPiece), ...layers];
    const pieces = await load([...new Set(names)]);
    assemble(pieces[PROGRAM]);
    const [hidden, attentions] = [[embed(ids, pieces)], []];
    for (const name of layers) {
      await new Promise(done => setTimeout(done)); // que la página se dibuje
      const [layer, X] = [unpack(pieces[name]), hidden.at(-1)];
      const { weights, output } = attend(projections(layer, X), HEADS, WIDTH);
      attentions.push(weights);
      if (attentions.length === LAYERS) break; // lo que sale de la última no lo mira nadie
      const mixed = linear(output, layer.projection(WIDTH, WIDTH));
      const Y = norm(X, mixed, layer);
      const inside = linear(Y, layer.projection(INNER, WIDTH)).map(gelu);
      hidden.push(norm(Y, linear(inside, layer.projection(WIDTH, INNER)), layer));
    }
    return { hidden, attentions };
  }

  // --- La frase ----------------------------------------------------------------------------------

  // Los espacios de Python, que no son los de JavaScript.
  const SPACES = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
  const isBlank = text => !text.split(SPACES).join('');
  const EDGES = /^[.,;:¿?¡!«»"'()…]+|[.,;:¿?¡!«»"'()…]+$/g;

  /** El `repr` de Python: lo que no se ve, con su código. */
  const repr = text =>
    `'${text.replace(/(?! )[\p{C}\p{Z}]/gu, letter => {
      const code = letter.codePointAt(0);
      const [kind, digits] = code < 256 ? ['x', 2] : code < 65536 ? ['u', 4] : ['U', 8];
      const named = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }[letter];
      return named ?? `\\${kind}${code.toString(16).padStart(digits, '0')}`;
    })}'`;

  /** Por qué no sirve una frase, si no sirve. */
  function fault(sentence, length, refuse) {
    if (/\p{Surrogate}/u.test(sentence))
      return ' tiene un carácter roto (medio emoji). Vuelve a escribirla.';
    const tooLong = refuse(length, [...sentence].length);
    if (tooLong) return tooLong;
    if (isBlank(sentence)) return ' está vacía. Escribe alguna palabra.';
    const shown = [...repr(sentence)].slice(0, 40).join('');
    return length === 2 && `, ${shown}, no tiene ningún carácter visible. Escribe alguna palabra.`;
  }

  /** Los signos que el tokenizador quita, menos las tildes de una letra, y los que no conoce. */
  function signs(text, split) {
    const [dropped, unread] = [new Set(), new Set()];
    let before = ' ';
    for (const sign of text) {
      const accent = /\p{Mn}/u.test(sign) && /[\p{L}\p{M}]/u.test(before);
      before = sign;
      if (/[ -~]/.test(sign) || accent || dropped.has(sign) || unread.has(sign)) continue;
      const parts = split(sign);
      if (parts.includes('[UNK]')) unread.add(sign);
      else if (!parts.length && split(`a${sign}a`).length === 1) dropped.add(sign);
    }
    return [dropped, unread];
  }

  /** Los avisos de lo que se pierde, con las palabras de `model_files/sentences.py`. */
  function losses(sentence, tokens, split) {
    const count = parts => parts.filter(part => part === '[UNK]').length;
    const unknown = count(tokens) - count(sentence.split(/(\[UNK\])/));
    const text = sentence.normalize('NFC');
    const [dropped, unread] = signs(text, split);
    const which = unread.size ? ` (${listed(unread, text)})` : '';
    const seen = [...sentence].filter(sign => !dropped.has(sign) || isBlank(sign)).join('');
    const foreign = seen.split(SPACES).filter(word => /[^\0-\x7f]/.test(word));
    const stripped = [...new Set(foreign.map(word => word.replace(EDGES, '')))].flatMap(word => {
      const parts = /\p{L}/u.test(word) ? split(word) : [];
      const again = parts.map(part => part.replace(/^##/, '')).join('');
      const same = !again || count(parts) || again.toLowerCase() === word.toLowerCase();
      return same ? [] : [`${word} → ${parts.join(' ')}`];
    });
    return [
      dropped.size > 0 && `el modelo no conoce ${listed(dropped, text)}: no lo ha leído.`,
      unknown > 0 &&
        `el vocabulario no tiene ${unknown} fragmento(s) del texto y en su lugar pone [UNK]: lo ` +
          `que dijeran se ha perdido${which}.`,
      ...advice(text, unread),
      stripped.length > 0 &&
        'este tokenizador quita las tildes y trocea lo que no conoce ' +
          `(${stripped.slice(0, 3).join(', ')}). Está hecho para inglés: funciona, pero entiende ` +
          'peor el texto.',
    ].filter(Boolean);
  }

  let vocabulary;
  const recent = new Map();

  /**
   * Pasa una frase por BERT: sus tokens, sus ids, los avisos y lo que da `run`. Si no sirve, falla con
   * un error que empieza por `subject`; `refuse(tokens, letras)` dice si es demasiado larga.
   */
  async function read(sentence, load, subject = 'La frase', refuse = () => '') {
    const { [VOCABULARY]: bytes } = await load([VOCABULARY]);
    vocabulary ??= new Map(
      new TextDecoder()
        .decode(bytes)
        .split('\n')
        .map((line, id) => [line, id]),
    );
    const split = text => course.wordpiece(text, vocabulary);
    const tokens = ['[CLS]', ...split(sentence), '[SEP]'];
    const reason = fault(sentence, tokens.length, refuse);
    if (reason) throw new Error(subject + reason);
    const ids = tokens.map(token => vocabulary.get(token));
    const result = recent.get(sentence) ?? (await run(ids, load));
    recent.delete(sentence); // entra otra vez: es la última
    recent.set(sentence, result);
    if (recent.size > KEPT) recent.delete(recent.keys().next().value);
    return { tokens, ids, notes: losses(sentence, tokens, split), ...result };
  }

  /** Q, K y V de una capa, (L, d_model), de lo que entra en ella. */
  async function project(number, X, load) {
    const { [layerPiece(number)]: bytes, [PROGRAM]: simd } = await load([layerPiece(number), PROGRAM]);
    assemble(simd);
    return projections(unpack(bytes), X);
  }

  /** W_O de una capa, detrás de las otras tres, sin su sesgo. */
  async function mixing(number, load) {
    const { [layerPiece(number)]: bytes } = await load([layerPiece(number)]);
    const layer = unpack(bytes);
    const [, , , matrix] = [0, 0, 0, 0].map(() => layer.projection(WIDTH, WIDTH));
    return { ...matrix, bias: null };
  }

  course.bert = { LAYERS, HEADS, WIDTH, SIZE, isBlank, read, project, mixing };
}
