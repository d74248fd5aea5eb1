'use strict';
// BERT dentro de la página: las mismas cuentas que `extract_embeddings`, con los pesos que empaqueta
// pieces.py. Una matriz (L, n) es un Float32Array, con una fila tras otra.
{
  globalThis.course ??= {};

  const [LAYERS, HEADS, WIDTH, INNER] = [6, 12, 384, 1536]; // capas, h, d_model y la red densa
  const SIZE = WIDTH / HEADS; // d_k
  const [POSITIONS, CHUNK] = [512, 64]; // filas de la tabla de posiciones, y de un trozo de la otra
  const KEPT = 8; // las últimas frases no se vuelven a calcular

  // --- Las cuentas -------------------------------------------------------------------------------

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
      return { columns, scales, whole: take(Int16Array, rows * columns) };
    };
    return {
      matrix,
      projection: (rows, columns) => ({ ...matrix(rows, columns), bias: vector(rows) }),
      norm: () => ({ gamma: vector(WIDTH), beta: vector(WIDTH) }),
    };
  }

  /** El programa de bert.wat, que hace cuatro cuentas de una vez; nada, si el navegador no sabe. */
  function assemble(bytes) {
    try {
      return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    } catch {
      return null;
    }
  }

  /** X · Wᵀ con bert.wat: cuatro tokens y dos filas de W cada vez, y así cada número se lee menos veces. */
  function fast({ memory, tile }, X, W, columns, rows) {
    const padded = 4 * Math.ceil(X.length / columns / 4);
    const w = padded * columns; // dónde empieza cada cosa: X, W y los ocho productos
    const out = w + W.length;
    const missing = 4 * (out + 8) - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    const numbers = new Float32Array(memory.buffer);
    numbers.set(X);
    numbers.set(W, w);
    const Y = new Float32Array(padded * rows);
    for (let row = 0; row < rows; row += 2)
      for (let token = 0; token < padded; token += 4) {
        tile(4 * token * columns, 4 * (w + row * columns), 4 * out, 4 * columns);
        for (let n = 0; n < 8; n++) Y[(token + (n % 4)) * rows + row + (n >> 2)] = numbers[out + n];
      }
    return Y.subarray(0, (X.length / columns) * rows);
  }

  /** X · Wᵀ, número a número. */
  function slow(X, W, columns, rows) {
    const Y = new Float32Array((X.length / columns) * rows);
    for (let n = 0; n < Y.length; n++) {
      const [x, w] = [Math.floor(n / rows) * columns, (n % rows) * columns];
      let total = 0;
      for (let i = 0; i < columns; i++) total += X[x + i] * W[w + i];
      Y[n] = total;
    }
    return Y;
  }

  let program; // lo que da `assemble`

  /** X · Wᵀ + b. */
  function linear(X, { columns, scales, whole, bias }) {
    const rows = scales.length;
    const Y = program ? fast(program, X, whole, columns, rows) : slow(X, whole, columns, rows);
    for (let start = 0; start < Y.length; start += rows)
      for (let j = 0; j < rows; j++) Y[start + j] = scales[j] * Y[start + j] + bias[j];
    return Y;
  }

  /** La atención de todas las cabezas, softmax(Q · Kᵀ / √d_k) · V, y sus pesos, (h, L, L). */
  function attend([Q, K, V], length) {
    const weights = new Float32Array(HEADS * length * length);
    const output = new Float32Array(length * WIDTH);
    for (let head = 0; head < HEADS; head++)
      for (let i = 0; i < length; i++) {
        const row = weights.subarray((head * length + i) * length).subarray(0, length);
        const q = i * WIDTH + head * SIZE; // donde empiezan los números de un token en esta cabeza
        for (let j = 0, k = head * SIZE; j < length; j++, k += WIDTH) {
          let product = 0;
          for (let d = 0; d < SIZE; d++) product += Q[q + d] * K[k + d];
          row[j] = product / Math.sqrt(SIZE);
        }
        softmax(row);
        for (let j = 0, v = head * SIZE; j < length; j++, v += WIDTH) {
          const weight = row[j];
          for (let d = 0; d < SIZE; d++) output[q + d] += weight * V[v + d];
        }
      }
    return { weights, output };
  }

  const sum = numbers => numbers.reduce((a, b) => a + b, 0);

  function softmax(row) {
    const top = Math.max(...row);
    let total = 0;
    for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - top);
    for (let j = 0; j < row.length; j++) row[j] /= total;
  }

  /** LayerNorm(X + Y). */
  function addAndNorm(X, Y, { gamma, beta }) {
    const result = X.map((x, i) => x + Y[i]);
    for (let start = 0; start < X.length; start += WIDTH) {
      const row = result.subarray(start, start + WIDTH);
      const mean = sum(row) / WIDTH;
      let squares = 0;
      for (const x of row) squares += (x - mean) ** 2;
      const deviation = Math.sqrt(squares / WIDTH + 1e-12);
      for (let d = 0; d < WIDTH; d++) row[d] = (gamma[d] * (row[d] - mean)) / deviation + beta[d];
    }
    return result;
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
  const row = ({ scales, whole }, i) =>
    Float32Array.from(whole.subarray(i * WIDTH, (i + 1) * WIDTH), x => x * scales[i]);

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
    return addAndNorm(words, places, rest.norm());
  }

  /** Q, K y V de todas las cabezas: lo primero de una capa. */
  const projections = (layer, X) => [0, 0, 0].map(() => linear(X, layer.projection(WIDTH, WIDTH)));

  /** Lo que entra en cada capa, (L, d_model), y sus pesos de atención, (h, L, L). */
  async function run(ids, load) {
    const layers = [...Array(LAYERS).keys()].map(layerPiece);
    const names = ['bert/resto', PROGRAM, ...ids.map(wordsPiece), ...layers];
    const pieces = await load([...new Set(names)]);
    program ??= assemble(pieces[PROGRAM]);
    const [hidden, attentions] = [[embed(ids, pieces)], []];
    for (const name of layers) {
      await new Promise(done => setTimeout(done)); // que la página se dibuje
      const [layer, X] = [unpack(pieces[name]), hidden.at(-1)];
      const { weights, output } = attend(projections(layer, X), ids.length);
      attentions.push(weights);
      if (attentions.length === LAYERS) break; // lo que sale de la última no lo mira nadie
      const mixed = linear(output, layer.projection(WIDTH, WIDTH));
      const Y = addAndNorm(X, mixed, layer.norm());
      const inside = linear(Y, layer.projection(INNER, WIDTH)).map(gelu);
      hidden.push(addAndNorm(Y, linear(inside, layer.projection(WIDTH, INNER)), layer.norm()));
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

  /** Los avisos de lo que se pierde, con las palabras de `model_files/sentences.py`. */
  function losses(sentence, tokens, split) {
    const count = parts => parts.filter(part => part === '[UNK]').length;
    const unknown = count(tokens) - count(sentence.split(/(\[UNK\])/));
    const foreign = sentence.split(SPACES).filter(word => /[^\0-\x7f]/.test(word));
    const stripped = [...new Set(foreign.map(word => word.replace(EDGES, '')))].flatMap(word => {
      const parts = /\p{L}/u.test(word) ? split(word) : [];
      const again = parts.map(part => part.replace(/^##/, '')).join('');
      const same = !again || count(parts) || again.toLowerCase() === word.toLowerCase();
      return same ? [] : [`${word} → ${parts.join(' ')}`];
    });
    return [
      unknown > 0 &&
        `el vocabulario no tiene ${unknown} fragmento(s) del texto y en su lugar pone [UNK]: lo ` +
          'que dijeran se ha perdido.',
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
    program ??= assemble(simd);
    return projections(unpack(bytes), X);
  }

  course.bert = { LAYERS, HEADS, WIDTH, SIZE, isBlank, read, project };
}
