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

  /** Unos números, en enteros de 16 bits. */
  function pack(shape, numbers) {
    const scale = numbers.reduce((top, x) => Math.max(top, Math.abs(x)), 0) / 32767;
    return { shape, scale, numbers: encode(Int16Array.from(numbers, x => Math.round(x / scale))) };
  }

  /** Una matriz (L, d_model) repartida en cabezas, (h, L, d_k). */
  function split(X) {
    const shape = [HEADS, X.length / WIDTH, SIZE];
    const rows = range(HEADS).flatMap(h => range(shape[1]).map(i => i * WIDTH + h * SIZE));
    return pack(
      shape,
      rows.flatMap(start => [...X.subarray(start, start + SIZE)]),
    );
  }

  course.answers.QKVExplorer = async (model, load) => {
    const { sentence, layer } = model.get('request');
    const limits = fits(24, 400, '24 tokens y 400 caracteres');
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const [q, k, v] = (await project(layer, hidden[layer], load)).map(split);
    const query = Math.min(model.get('query'), tokens.length - 1);
    return { sentence, layer, layers: LAYERS, data: { tokens, notes, layer, q, k, v }, query };
  };

  course.answers.MultiHeadExplorer = async (model, load) => {
    const { sentence } = model.get('request');
    const limits = fits(12, 200, '12 tokens y 200 caracteres');
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const X = hidden[3]; // lo que entra en la capa de la lección
    const [Q, K, V] = await project(3, X, load);
    const [heads, places] = [range(HEADS), range(tokens.length)];
    // Lo que da cada token a cada cabeza, (h, L, d_model): su value, solo en esa cabeza, por W_O.
    const alone = new Float32Array(HEADS * V.length);
    heads.forEach(h =>
      places.forEach(i => {
        const start = i * WIDTH + h * SIZE;
        alone.set(V.subarray(start, start + SIZE), h * V.length + start);
      }),
    );
    const values = linear(alone, await mixing(3, load));
    const { weights } = attend([Q, K, V], HEADS, WIDTH);
    const value = (h, i) => values.subarray((h * tokens.length + i) * WIDTH).subarray(0, WIDTH);
    const dot = (a, b) => a.reduce((total, x, d) => total + x * b[d], 0);
    const written = places.map(query =>
      heads.map(h => {
        const row = new Float32Array(WIDTH);
        places.forEach(i => {
          const weight = weights[(h * tokens.length + query) * tokens.length + i];
          value(h, i).forEach((x, d) => (row[d] += weight * x));
        });
        return row;
      }),
    );
    const lengths = heads.flatMap(h => places.map(i => Math.hypot(...value(h, i))));
    const sizes = written.map(rows => rows.map(row => Math.hypot(...row)));
    const cosines = written.flatMap((rows, i) =>
      rows.flatMap((a, g) => rows.map((b, h) => dot(a, b) / (sizes[i][g] * sizes[i][h]))),
    );
    const data = {
      tokens,
      heads: HEADS,
      x: pack([tokens.length, WIDTH], X),
      ...{ q: split(Q), k: split(K), v: split(V) },
      lengths: pack([HEADS, tokens.length], lengths),
      written: pack(
        [HEADS, tokens.length],
        heads.flatMap(h => sizes.map(row => row[h])),
      ),
      cosines: pack([tokens.length, HEADS, HEADS], cosines),
    };
    return { sentence, data, notes, query: Math.min(model.get('query'), tokens.length - 1) };
  };
}
