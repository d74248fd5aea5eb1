'use strict';
// Lo que en JupyterLab contesta Python a los exploradores que leen una frase con BERT: los traits
// que cambian. Si la frase no sirve, falla con las mismas palabras.
{
  globalThis.course ??= {};
  course.answers ??= {};
  const { LAYERS, HEADS, WIDTH, SIZE, isBlank, read, project } = course.bert;

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

  /** Una matriz (L, d_model) repartida en cabezas, (h, L, d_k), en enteros de 16 bits. */
  function pack(X) {
    const shape = [HEADS, X.length / WIDTH, SIZE];
    const rows = range(HEADS).flatMap(h => range(shape[1]).map(i => i * WIDTH + h * SIZE));
    const numbers = rows.flatMap(start => [...X.subarray(start, start + SIZE)]);
    const scale = Math.max(...numbers.map(Math.abs)) / 32767;
    const whole = Int16Array.from(numbers, x => Math.round(x / scale));
    return { shape, scale, numbers: encode(whole) };
  }

  course.answers.QKVExplorer = async (model, load) => {
    const { sentence, layer } = model.get('request');
    const limits = fits(24, 400, '24 y 400');
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const [q, k, v] = (await project(layer, hidden[layer], load)).map(pack);
    const query = Math.min(model.get('query'), tokens.length - 1);
    return { sentence, layer, layers: LAYERS, data: { tokens, notes, layer, q, k, v }, query };
  };

  course.answers.MultiHeadExplorer = async (model, load) => {
    const { sentence } = model.get('request');
    const limits = tokens => {
      const size = tokens === 3 ? '1 token' : `${tokens - 2} tokens`; // sin [CLS] ni [SEP]
      return (
        (tokens === 3 || tokens > 10) && ` tiene ${size}, y aquí caben de 2 a 8. Escribe otra.`
      );
    };
    const { tokens, notes, hidden } = await read(sentence, load, 'la frase', limits);
    const before = model.get('data');
    const x = range(tokens.length - 2).map(i => {
      const row = hidden[0].subarray((i + 1) * WIDTH).subarray(0, before.x[0].length);
      return Array.from(row, number => Math.round(100 * number) / 100);
    });
    const data = { ...before, tokens: tokens.slice(1, -1), x };
    return { sentence, data, notes, query: Math.min(model.get('query'), x.length - 1) };
  };
}
