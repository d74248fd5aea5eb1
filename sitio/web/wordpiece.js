'use strict';
// WordPiece: una frase, en los trozos del vocabulario de BERT. Lo mismo que hace `tokenizers`.
{
  globalThis.course ??= {};

  const LONGEST = 100; // una palabra con más letras es desconocida
  const MARKS = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/; // escritas en la frase, también son marcas
  const CONTROL = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu;
  const IDEOGRAM =
    /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
  const WORD = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu; // un signo, o lo que hay entre dos

  /** Las palabras y los signos de un texto, sin tildes y en minúsculas. */
  const words = text =>
    text
      .replace(CONTROL, '')
      .replace(IDEOGRAM, ' $& ')
      .normalize('NFD')
      .replace(/\p{Mn}/gu, '')
      .replace(/Σ/g, 'σ') // la del final de una palabra es otra: aquí, no
      .toLowerCase()
      .match(WORD) ?? [];

  /** El trozo más largo que esté en el vocabulario; luego, lo mismo con lo que queda. */
  function pieces(word, vocabulary) {
    const letters = [...word];
    if (letters.length > LONGEST) return ['[UNK]'];
    const found = [];
    for (let start = 0, end; start < letters.length; start = end) {
      const piece = () => (start ? '##' : '') + letters.slice(start, end).join('');
      for (end = letters.length; end > start && !vocabulary.has(piece()); end--);
      if (end === start) return ['[UNK]'];
      found.push(piece());
    }
    return found;
  }

  /** Los trozos de una frase, sin [CLS] ni [SEP]. `vocabulary` es un Map de trozo a id. */
  course.wordpiece = (sentence, vocabulary) =>
    sentence
      .split(MARKS)
      .flatMap((text, i) =>
        i % 2 ? [text] : words(text).flatMap(word => pieces(word, vocabulary)),
      );
}
