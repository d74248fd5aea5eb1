'use strict';
// Lo que en JupyterLab contesta Python a los exploradores que leen una frase con BERT: los traits
// que cambian. Si la frase no sirve, falla con las mismas palabras.
{
  globalThis.course ??= {};
  course.answers ??= {};
  const { LAYERS, HEADS, WIDTH, SIZE, isBlank, read, project, mixing } = course.bert;
  const { attend, linear } = course.counts;

  /** Los números de varias listas, en base 64 y con el byte bajo delante. */
  function encode(...lists) {
    let text = '';
    for (const { buffer, byteLength } of lists)
      for (let at = 0, some = 8192; at < byteLength; at += some) {
        const bytes = new Uint8Array(buffer, at, Math.min(some, byteLength - at));
        text += String.fromCharCode.apply(null, bytes); // con `...bytes` tarda diez veces más
      }
    return btoa(text);
  }

  const fits = (maxTokens, maxLetters, room) => (tokens, letters) =>
    (tokens > maxTokens || letters > maxLetters) &&
    ` tiene ${tokens} tokens y ${letters} caracteres, y aquí caben ${room}. Escribe una más corta.`;

  const range = count => [...Array(count).keys()];

  /** La query sigue al mismo token, al más cercano; si no está, se queda donde estaba. */
  function follow(query, before, after) {
    const [tokens, token] = [after[0].tokens, before[0]?.tokens[query]];
    const far = place => Math.abs(place - query);
    const places = range(tokens.length).filter(i => tokens[i] === token);
    const [place = query] = places.sort((a, b) => far(a) - far(b));
    return Math.min(place, Math.max(...after.map(reading => reading.tokens.length)) - 1);
  }

  course.answers.AttentionExplorer = async (model, load) => {
    const [first, second = ''] = model.get('request').sentences;
    const sentences = isBlank(second) ? [first] : [first, second];
    const data = [];
    for (const [i, sentence] of sentences.entries()) {
      const subject = `La ${sentences.length > 1 ? `${['primera', 'segunda'][i]} ` : ''}frase`;
      const limits = fits(64, 1000, '64 tokens y 1000 caracteres');
      const { tokens, notes, attentions } = await read(sentence, load, subject, limits);
      const whole = attentions.map(layer => new Uint16Array(layer.map(x => Math.round(65535 * x))));
      const shape = [LAYERS, HEADS, tokens.length, tokens.length];
      data.push({ tokens, shape, weights: encode(...whole), notes });
    }
    return { sentences, data, query: follow(model.get('query'), model.get('data'), data) };
  };

  /** Unos números, en enteros de 16 bits, o de 8, y su escala. */
  function pack(shape, numbers, Kind = Int16Array) {
    const steps = Kind === Int16Array ? 32767 : 127;
    const scale = numbers.reduce((top, x) => Math.max(top, Math.abs(x)), 0) / steps;
    return { shape, scale, numbers: encode(Kind.from(numbers, x => Math.round(x / scale))) };
  }

  /** Una matriz (L, d_model) repartida en cabezas, (h, L, d_k). */
  function split(X, Kind) {
    const shape = [HEADS, X.length / WIDTH, SIZE];
    const rows = range(HEADS).flatMap(h => range(shape[1]).map(i => i * WIDTH + h * SIZE));
    const numbers = rows.flatMap(start => [...X.subarray(start, start + SIZE)]);
    return pack(shape, numbers, Kind);
  }

  course.answers.QKVExplorer = async (model, load) => {
    const { sentence, layer } = model.get('request');
    const limits = fits(24, 400, '24 tokens y 400 caracteres');
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const [q, k, v] = (await project(layer, hidden[layer], load)).map(X => split(X));
    const query = Math.min(model.get('query'), tokens.length - 1);
    return { sentence, layer, layers: LAYERS, data: { tokens, notes, layer, q, k, v }, query };
  };

  course.answers.MultiHeadExplorer = async (model, load) => {
    const { sentence } = model.get('request');
    const limits = fits(12, 200, '12 tokens y 200 caracteres');
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const [X, L] = [hidden[3], tokens.length]; // lo que entra en la capa de la lección
    const [Q, K, V] = await project(3, X, load);
    const { output } = attend([Q, K, V], HEADS, WIDTH);
    const matrix = await mixing(3, load);
    const [heads, places] = [range(HEADS), range(L)];
    const dot = (a, b) => a.reduce((total, x, d) => total + x * b[d], 0);
    const piece = (T, h, i) => T.subarray(i * WIDTH + h * SIZE).subarray(0, SIZE);
    /** Lo de cada cabeza por su trozo de W_O, y nada más: una fila de d_model por cabeza y token. */
    const through = T => {
      const alone = new Float32Array(HEADS * T.length);
      const start = (h, i) => (h * L + i) * WIDTH;
      heads.forEach(h => places.forEach(i => alone.set(piece(T, h, i), start(h, i) + h * SIZE)));
      const mixed = linear(alone, matrix);
      return heads.map(h => places.map(i => mixed.subarray(start(h, i)).subarray(0, WIDTH)));
    };
    const given = through(output);
    const norms = rows => rows.flat().map(row => Math.hypot(...row));
    const cosine = (a, b) => dot(a, b) / Math.hypot(...a) / Math.hypot(...b);
    const each = what => heads.flatMap(h => places.flatMap(i => places.map(j => what(h, i, j))));
    const among = places.flatMap(i =>
      heads.flatMap(g => heads.map(h => cosine(given[g][i], given[h][i]))),
    );
    const data = {
      tokens,
      heads: HEADS,
      x: pack([L, WIDTH], X, Int8Array),
      q: split(Q, Int8Array),
      outputs: split(output, Int8Array),
      products: pack(
        [HEADS, L, L],
        each((h, i, j) => dot(piece(Q, h, i), piece(K, h, j))),
      ),
      lengths: pack([HEADS, L], norms(through(V))),
      written: pack([HEADS, L], norms(given)),
      cosines: pack([L, HEADS, HEADS], among),
    };
    return { sentence, data, notes, query: Math.min(model.get('query'), L - 1) };
  };
}
