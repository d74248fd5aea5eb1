'use strict';
// Las cuentas de un Transformer dentro de la página: las de BERT y las del traductor. Una matriz (L, n) es un
// Float32Array, con una fila tras otra.
{
  globalThis.course ??= {};

  let program; // el de bert.wat, que hace cuatro cuentas de una vez

  /** Prepara bert.wat; si el navegador no sabe, se hace sin él. */
  function assemble(bytes) {
    try {
      program ??= new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
    } catch {
      program = null;
    }
  }

  /** X · Wᵀ con bert.wat: cuatro tokens y dos filas de W, que son pares, cada vez: cada número se lee menos veces. */
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

  course.counts = { assemble, linear, attend, sum, softmax, addAndNorm };
}
