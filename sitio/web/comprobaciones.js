'use strict';
// Lo que el traductor comprueba de lo que has escrito y de lo que ha salido, con las palabras de
// Python: checks.py y pieces.py, en course_lib/translator_model.
{
  globalThis.course ??= {};

  const { listed, usual } = course.signs;

  /** El traductor no puede con esa frase: se dice por qué y qué hacer. */
  const refuse = reason => {
    throw new Error(reason);
  };

  // Los espacios, las letras y las cifras de Python no son los de `\s`, `\w` y `\b`.
  const SPACES = /[\p{White_Space}\x1c-\x1f]+/gu;
  const LONE_I = /(?<![\p{L}\p{N}])i(?![\p{L}\p{N}])/gu;
  // Dónde empieza y acaba lo cambiado que va aparte: «2½», «№5» → «2 1/2», «No 5»; pero «m²» → «m2».
  const APART =
    /(?<=\d)\0(?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}])\0(?=\p{L})|(?<=[\p{L}\p{N}])\x01\0?(?=[\p{L}\p{N}])/gu;
  const TAG = /<\/?[a-zA-Z][^<>]*>/g; // de HTML: «<b>», «</p>»
  const tidy = text => text.replace(SPACES, ' ').replace(/^ | $/g, '');
  const list = words => words.map(word => `«${word}»`).join(', ');

  /** Un texto entre comillas, con lo que no se ve escrito con su código, como hace Python. */
  function repr(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const body = text.replace(/[\p{C}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}/gu, sign => {
      const code = sign.codePointAt(0).toString(16);
      const [letter, size] = code.length <= 2 ? ['x', 2] : code.length <= 4 ? ['u', 4] : ['U', 8];
      const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };
      return named[sign] ?? `\\${letter}${code.padStart(size, '0')}`;
    });
    return quote + (quote === "'" ? body.replaceAll("'", "\\'") : body) + quote;
  }

  /** Limpia una frase inglesa: el texto que se lee, sus ids y los avisos; o dice qué tiene de malo. */
  course.readSentence = (tokenizer, sentence, facts) => {
    const reads = sign => !tokenizer.encode(sign).includes(tokenizer.unknown);
    const notes = [];
    if (/\p{Surrogate}/u.test(sentence))
      refuse('la frase tiene un carácter roto (medio emoji). Vuelve a escribirla.');
    const whole = sentence.normalize('NFC');
    let text = tidy(whole);
    if (!text) refuse('la frase está vacía. Escribe una frase en inglés.');
    const tags = text.match(TAG) ?? [];
    if (tags.length) notes.push(`${list(tags.slice(0, 3))}: las etiquetas no se leen.`);
    // Un signo que el modelo no conoce se cambia por los que dicen lo mismo, o sin tilde, o se quita.
    const [changed, lost] = [new Set(), new Set()];
    const kept = Array.from(text.replace(TAG, ' '), sign => {
      if (reads(sign)) return sign;
      const bare = Array.from(usual(sign), x => (reads(x) ? x : [...x.normalize('NFKD')][0]));
      if (!bare.every(reads) || bare.includes(' ')) return lost.add(sign), '';
      const said = bare.join('');
      changed.add(`«${sign}» como «${said}»`);
      return /[\p{L}\p{Nd}]/u.test(sign) ? said : `\0${said}\x01`;
    });
    const joined = kept.join('').replace(APART, ' ').replace(/[\0\x01]/g, '');
    text = tidy(joined).replace(/ +([.,;:!?])/g, '$1');
    if (!/[\p{L}\p{N}]/u.test(text))
      refuse(
        `en ${repr([...sentence].slice(0, 40).join(''))} no hay ninguna palabra que el modelo ` +
          'pueda leer. Conoce las letras del inglés y del español.',
      );
    if (changed.size) notes.push(`se ha leído ${[...changed].join(', ')}.`);
    if (lost.size) notes.push(`el modelo no conoce ${listed(lost, whole)}: no lo ha leído.`);
    const upper = text === text.toUpperCase() && text !== text.toLowerCase();
    if (upper && text.includes(' ') && /[^ ]{3}/.test(text)) {
      text = text.toLowerCase();
      notes.push('la frase está toda en mayúsculas: se ha leído en minúsculas.');
    }
    const capital = text[0].toUpperCase();
    text = ((reads(capital) ? capital : text[0]) + text.slice(1)).replace(LONE_I, 'I');
    const ids = [...tokenizer.encode(text), 3]; // la marca de fin
    const [size, room] = [`la frase tiene ${ids.length} tokens y`, facts.max_sequence_len - 1];
    if (ids.length > room) refuse(`${size} caben ${room}. Traduce una frase cada vez.`);
    if (looksSpanish(text, facts))
      notes.push('esta frase parece española, y el modelo traduce del inglés al español.');
    if (ids.length > facts.longest_seen)
      notes.push(
        `${size} el modelo aprendió con frases de ${facts.longest_seen} como mucho: en las más ` +
          'largas se pierde. Pártela.',
      );
    return { text, ids, notes };
  };

  /** Dice si un texto parece español y no inglés, por sus signos y sus palabras más corrientes. */
  function looksSpanish(text, facts) {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu);
    const [spanish, english] = [facts.spanish, facts.english].map(
      known => words.filter(word => known.includes(word)).length,
    );
    return (/[¿¡ñáéíóú]/.test(text) || spanish > 0) && spanish >= 2 * english;
  }

  const NUMBER = /(?<![\d:])\d[\d.,]*\d(?![\d:])/g; // de dos cifras o más, y no una hora

  /** El valor de un número, escrito a la inglesa o a la española: «1,250.00» y «1.250» son 1250. */
  function valueOf(number) {
    const [, whole, , decimals = ''] = number.match(/^(\d[\d.,]*?)([.,](\d{1,2}))?$/);
    return `${whole.replace(/\D/g, '')},${decimals.replace(/0+$/, '')}`;
  }

  /** La palabra sin tildes y en minúsculas. */
  function plain(word) {
    const letters = word.toLowerCase().normalize('NFKD');
    return letters.replace(/\P{ASCII}/gu, '');
  }

  /** Lo que debía copiarse y no está, y lo que el modelo no conoce: los avisos. */
  course.doubts = ({ source, text, sourceTokens, targetTokens }, known) => {
    const written = new Set(wordsOf(targetTokens).map(plain));
    const figures = new Set((text.match(NUMBER) ?? []).map(valueOf));
    const changed = (source.match(NUMBER) ?? []).filter(number => !figures.has(valueOf(number)));
    const unknown = [];
    wordsOf(sourceTokens).forEach((whole, place) => {
      const [word] = whole.split("'");
      const lower = word.toLowerCase();
      const forms = [word, lower, lower.replace(/s$/, '')];
      if (!/^\p{L}+$/u.test(word) || forms.some(form => known.has(form))) return;
      if (written.has(plain(word))) return;
      (place && /^\p{Lu}/u.test(word) ? changed : unknown).push(word);
    });
    const [one, two] = [changed, unknown].map(words => list([...new Set(words)]));
    const copied = one && `comprueba ${one}: no está igual en la traducción.`;
    const invented = two && `el modelo no conoce ${two}: puede habérselo inventado.`;
    return [copied, invented].filter(Boolean);
  };

  const inWord = token => /^'$|[\p{L}\p{N}]/u.test(token);

  /** Los tokens sin la marca de espacio, y con `##` los que siguen a otro de la misma palabra. */
  course.shownTokens = tokens =>
    tokens.map((token, i) => {
      const joined = /^[^▁<]/.test(token) && inWord(token) && inWord(tokens[i - 1] ?? '');
      return joined ? `##${token}` : token.replace(/^▁/, '') || '▁';
    });

  /** Junta los trozos de cada palabra y deja fuera los signos. */
  function wordsOf(tokens) {
    const words = [];
    for (const token of tokens)
      if (token.startsWith('##')) words.push(words.pop() + token.slice(2));
      else if (inWord(token)) words.push(token);
    return words;
  }
}
