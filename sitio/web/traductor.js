'use strict';
// El traductor del curso, dentro de la página: el Transformer de la lección 10, con los números de
// model.safetensors. Aquí no hay lotes ni relleno.
{
  globalThis.course ??= {};

  const { linear, attend, sum, softmax, addAndNorm } = course.counts;
  const [BOS, EOS] = [2, 3]; // <pad>, <unk>, <s> y </s> son, por orden, los ids de 0 a 3
  const nothing = new Float32Array(0);
  const empty = () => ({ keys: nothing, values: nothing });

  /** Las filas de Y, debajo de las de X. */
  function joined(X, Y) {
    const both = new Float32Array(X.length + Y.length);
    both.set(X);
    both.set(Y, X.length);
    return both;
  }

  // --- El Transformer ----------------------------------------------------------------------------

  /** El encoder, y el decoder un token cada vez. `parts`: los pesos y los sesgos de cada pieza. */
  function transformer(parts, { dim_embedding: width, heads, Nx, Nx_decoder }) {
    const table = parts['encoder.input_embedding.table']; // a la entrada y a la salida
    const layers = (stack, count) =>
      Array.from({ length: count }, (_, i) => `${stack}_layers.${i}.`);

    /** Embedding por √d_model, más la posición, que empieza en `start`. */
    const embed = (ids, start = 0) =>
      Float32Array.from({ length: ids.length * width }, (_, n) => {
        const [i, c] = [Math.floor(n / width), n % width];
        const angle = (start + i) / 10000 ** ((c - (c % 2)) / width);
        const number = table.weight[ids[i] * width + c];
        return number * Math.sqrt(width) + (c % 2 ? Math.cos(angle) : Math.sin(angle));
      });

    /** Cada x atiende a lo que guarda `kept`, con los `source` añadidos: la salida y los pesos. */
    function multiHead(name, x, source, kept = empty()) {
      const project = (which, rows) => linear(rows, parts[`${name}.${which}_projection`]);
      kept.keys = joined(kept.keys, project('key', source));
      kept.values = joined(kept.values, project('value', source));
      const { output, weights } = attend([project('query', x), kept.keys, kept.values], heads, width);
      return [project('output', output), weights];
    }

    function feedForward(name, x) {
      const hidden = linear(x, parts[`${name}.0`]).map(z => Math.max(z, 0));
      return linear(hidden, parts[`${name}.2`]);
    }

    const norm = (layer, n, x, y) =>
      addAndNorm(x, y, parts[`${layer}add_and_norm_${n}.normalization`], 1e-5);

    return {
      cache: () => layers('', Nx_decoder).map(() => ({ own: empty(), cross: empty() })),

      /** De los ids a los vectores. */
      encode(ids) {
        let x = embed(ids);
        for (const layer of layers('encoder.encoder.encoder', Nx)) {
          x = norm(layer, 1, x, multiHead(`${layer}multi_head_attention`, x, x)[0]);
          x = norm(layer, 2, x, feedForward(`${layer}feed_forward.feed_forward`, x));
        }
        return x;
      },

      /**
       * Lee un token más: lo que puntúan los que pueden venir y los pesos cruzados, (capas, h, m_E).
       * No hace falta máscara: en la caché solo está lo ya escrito.
       */
      step(token, encoded, cache) {
        let x = embed([token], cache[0].own.keys.length / width);
        const crossWeights = layers('decoder.decoder.decoder', Nx_decoder).map((layer, i) => {
          const { own, cross } = cache[i];
          const source = cross.keys.length ? nothing : encoded; // el origen se guarda la primera vez
          x = norm(layer, 1, x, multiHead(`${layer}masked_attention`, x, x, own)[0]);
          const [attended, weights] = multiHead(`${layer}cross_attention`, x, source, cross);
          x = norm(layer, 2, x, attended);
          x = norm(layer, 3, x, feedForward(`${layer}feed_forward.feed_forward`, x));
          const size = weights.length / heads;
          return [...Array(heads).keys()].map(head => [...weights.subarray(head * size).subarray(0, size)]);
        });
        return [linear(x, table), crossWeights];
      },
    };
  }

  // --- El traductor ------------------------------------------------------------------------------

  const json = bytes => JSON.parse(new TextDecoder().decode(bytes));

  /** Las piezas de un archivo .safetensors de números de 16 bits, que pasan a 32. */
  function readParts(bytes) {
    const numbers = Float32Array.from({ length: 65536 }, (_, bits) => {
      const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
      const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
      return bits >> 15 ? -size : size;
    });
    const start = 8 + new DataView(bytes.buffer).getUint32(0, true);
    const parts = {};
    for (const [name, { shape, data_offsets }] of Object.entries(json(bytes.subarray(8, start)))) {
      const [from, to] = data_offsets.map(offset => start + offset);
      const halves = new Uint16Array(bytes.slice(from, to).buffer);
      const [, part, kind] = name.match(/(.+)\.(.+)/);
      const tensor = Float32Array.from(halves, bits => numbers[bits]);
      parts[part] = { ...parts[part], [kind]: tensor };
      if (shape.length > 1) parts[part].columns = shape[1];
    }
    return parts;
  }

  /** Escribe siempre el token más probable. Devuelve lo que Python, y en `notes`, los avisos. */
  function translate(sentence, { model, tokenizer, facts, known }) {
    const { text: source, ids, notes } = course.readSentence(tokenizer, sentence, facts);
    const longest = Math.min(facts.max_sequence_len - 1, 2 * ids.length + 10);
    const [encoded, cache] = [model.encode(ids), model.cache()];
    const [written, looks, logProbabilities] = [[], [], []];
    while (written.at(-1) !== EOS && written.length < longest) {
      const [scores, crossWeights] = model.step(written.at(-1) ?? BOS, encoded, cache);
      const token = scores.indexOf(Math.max(...scores.subarray(EOS))); // las otras marcas, no
      logProbabilities.push(Math.log(softmax(scores)[token]));
      looks.push(crossWeights);
      written.push(token);
    }
    const [sourceTokens, targetTokens] = [ids, written].map(some =>
      course.shownTokens(some.map(id => tokenizer.tokens[id])),
    );
    const crossAttention = looks[0].map((layer, l) =>
      layer.map((_, head) => looks.map(weights => weights[l][head])),
    ); // (capas, h, m_D, m_E)
    const text = tokenizer.decode(written);
    const found = { source, text, sourceTokens, targetTokens, crossAttention, logProbabilities };
    const confidence = sum(logProbabilities) / written.length;
    if (written.at(-1) !== EOS)
      notes.push(`el modelo no ha sabido acabar: se ha parado en ${longest} tokens.`);
    else if (confidence < facts.unsure)
      notes.push(
        `el modelo está muy poco seguro (${confidence.toFixed(1)} nats por token): ` +
          'no te fíes de esta traducción. ¿Es una frase normal, en inglés?',
      );
    else notes.push(...course.doubts(found, known));
    return { ...found, notes };
  }

  let translator; // se carga una sola vez

  /** Carga el traductor: una función que traduce una frase. `load` da los bytes de cada pieza. */
  course.loadTranslator = async load => {
    if (translator) return translator;
    const read = async names => {
      const pieces = await load(names.map(name => `traductor/${name}`));
      return names.map(name => pieces[`traductor/${name}`]);
    };
    const facts = json((await read(['datos']))[0]);
    const numbers = Array.from({ length: facts.pieces }, (_, i) => `pesos-${i}`);
    const [file, words, ...weights] = await read(['tokenizador', 'palabras', ...numbers]);
    const bytes = new Uint8Array(await new Blob(weights).arrayBuffer());
    const tokenizer = new course.Tokenizer(json(file));
    const whole = tokenizer.tokens.filter(token => token[0] === '▁').map(token => token.slice(1));
    const known = new Set([...whole, ...json(words)]);
    const all = { model: transformer(readParts(bytes), facts), tokenizer, facts, known };
    return (translator = sentence => translate(sentence, all));
  };

  /** Lo que Python contesta a `CrossAttentionExplorer`. */
  course.answers ??= {};
  course.answers.CrossAttentionExplorer = async (model, load) => {
    const { sentence } = model.get('request');
    const found = (await course.loadTranslator(load))(sentence);
    const { sourceTokens: source, targetTokens: target, notes } = found;
    if (Math.max(source.length, target.length) > 40)
      throw new Error(
        `la frase tiene ${source.length} tokens y su traducción, ${target.length}, y aquí caben ` +
          '40. Escribe una más corta.',
      );
    const round = weight => Math.round(weight * 1e4) / 1e4;
    const weights = found.crossAttention.at(-1).map(head => head.map(row => row.map(round)));
    const seen = ['<s>', ...target.slice(0, -1)];
    const head = Math.min(model.get('head'), weights.length - 1);
    return { sentence, source_tokens: source, seen, predicted: target, weights, notes, step: 0, head };
  };
}
