'use strict';
// Las cuentas de un Transformer dentro de la página: las de BERT y las del traductor. Una matriz (L, n) es un
// Float32Array, con una fila tras otra. Y cómo se dicen los signos que un modelo no lee.
{
  globalThis.course ??= {};

  let program; // el de bert.wat, que hace cuatro cuentas de una vez, y su memoria

  /** Prepara bert.wat; si el navegador no sabe, se hace sin él. */
  function assemble(bytes) {
    if (program !== undefined) return;
    try {
      const memory = new WebAssembly.Memory({ initial: 1 });
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { page: { memory } });
      program = { memory, ...exports };
    } catch {
      program = null;
    }
  }

  /** X · Wᵀ con bert.wat: de cuatro en cuatro tokens, y W tiene filas pares. */
  function fast({ memory, multiply }, X, W, columns, rows) {
    const padded = 4 * Math.ceil(X.length / columns / 4);
    const w = padded * columns; // dónde empieza cada cosa: X, W y lo que sale
    const out = w + W.length;
    const missing = 4 * (out + padded * rows) - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    const numbers = new Float32Array(memory.buffer);
    numbers.set(X);
    numbers.set(W, w);
    multiply(0, 4 * w, 4 * out, padded, rows, 4 * columns);
    return numbers.slice(out, out + (X.length / columns) * rows);
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

  /** X · Wᵀ + b. Una matriz de enteros lleva las escalas de sus filas. */
  function linear(X, { columns, weight, scales, bias }) {
    const rows = weight.length / columns;
    const Y = program ? fast(program, X, weight, columns, rows) : slow(X, weight, columns, rows);
    for (let start = 0; start < Y.length; start += rows)
      for (let j = 0; j < rows; j++)
        Y[start + j] = Y[start + j] * (scales ? scales[j] : 1) + (bias ? bias[j] : 0);
    return Y;
  }

  /** La atención de todas las cabezas, softmax(Q · Kᵀ / √d_k) · V, y sus pesos, (h, L_q, L_k). */
  function attend([Q, K, V], heads, width) {
    const [size, queries, keys] = [width / heads, Q.length / width, K.length / width]; // d_k, L_q y L_k
    const weights = new Float32Array(heads * queries * keys);
    const output = new Float32Array(Q.length);
    for (let head = 0; head < heads; head++)
      for (let i = 0; i < queries; i++) {
        const row = weights.subarray((head * queries + i) * keys).subarray(0, keys);
        const q = i * width + head * size; // donde empiezan los números de un token en esta cabeza
        for (let j = 0, k = head * size; j < keys; j++, k += width) {
          let product = 0;
          for (let d = 0; d < size; d++) product += Q[q + d] * K[k + d];
          row[j] = product / Math.sqrt(size);
        }
        softmax(row);
        for (let j = 0, v = head * size; j < keys; j++, v += width) {
          const weight = row[j];
          for (let d = 0; d < size; d++) output[q + d] += weight * V[v + d];
        }
      }
    return { weights, output };
  }

  const sum = numbers => numbers.reduce((a, b) => a + b, 0);

  /** Convierte unas puntuaciones en probabilidades. */
  function softmax(row) {
    const top = Math.max(...row);
    let total = 0;
    for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - top);
    for (let j = 0; j < row.length; j++) row[j] /= total;
    return row;
  }

  /** LayerNorm(X + Y). */
  function addAndNorm(X, Y, { weight, bias }, epsilon) {
    const result = X.map((x, i) => x + Y[i]);
    for (let start = 0; start < X.length; start += weight.length) {
      const row = result.subarray(start, start + weight.length);
      const mean = sum(row) / row.length;
      let squares = 0;
      for (const x of row) squares += (x - mean) ** 2;
      const deviation = Math.sqrt(squares / row.length + epsilon);
      for (let d = 0; d < row.length; d++) row[d] = (weight[d] * (row[d] - mean)) / deviation + bias[d];
    }
    return result;
  }

  // --- Los signos de un texto, con las palabras de `model_files/sentences.py` ----------------------

  const HIDDEN = {
    '\0': 'nulo', '\x0b': 'tabulación vertical', '\x0c': 'salto de página', '\xad': 'guion opcional',
    '\u200b': 'espacio sin ancho', '\u200c': 'separa letras', '\u200d': 'une letras',
    '\u200e': 'hacia la derecha', '\u200f': 'hacia la izquierda', '\u2060': 'une palabras',
    '\ufeff': 'marca BOM', '\ufffd': 'lo que otro programa no supo leer',
  }; // prettier-ignore
  const KINDS = [
    [/\p{Cc}/u, 'de control'],
    [/\p{Cf}/u, 'de formato'],
    [/\p{Co}/u, 'de uso privado'],
    [/\p{Cn}/u, 'sin asignar'],
    [/\p{M}/u, 'marca suelta'],
  ];

  /** Unos signos de un texto, para decirlos: de los que no se ven, el código, el nombre y el sitio. */
  function listed(signs, text) {
    const letters = [...text];
    const shown = [...signs].map(sign => {
      const name = HIDDEN[sign] ?? KINDS.find(([kind]) => kind.test(sign))?.[1];
      const code = sign.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
      return name ? `U+${code} (${name}, carácter ${letters.indexOf(sign) + 1})` : `«${sign}»`;
    });
    return shown.slice(0, 5).join(', ') + (shown.length > 5 ? ` y ${shown.length - 5} más` : '');
  }

  /** Lo que dice un signo, con los de siempre: «ﬂ» → «fl», «½» → «1/2»; casi todos, él mismo. */
  const usual = sign => sign.normalize('NFKC').replaceAll('\u2044', '/');

  /** Qué escribir en vez de una ligadura, de una letra de otro ancho o de un signo de `unknown`. */
  function advice(text, unknown) {
    const odd = [...new Set(text)].filter(
      sign =>
        sign !== usual(sign) &&
        /^[\0-\x7f]*$/.test(usual(sign)) &&
        (unknown.has(sign) || /[\p{Ll}\p{Lt}\p{Lu}]/u.test(sign)),
    );
    const told = odd.slice(0, 5).map(sign => `«${sign}» no es «${usual(sign)}»`);
    return told.length ? [`para el modelo, ${told.join(', ')}: escribe lo segundo.`] : [];
  }

  course.signs = { listed, usual, advice };
  course.counts = { assemble, linear, attend, sum, softmax, addAndNorm };
}
