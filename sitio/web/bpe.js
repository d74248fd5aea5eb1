'use strict';
// El tokenizador del traductor (BPE: Sennrich et al., 2016), leído de su tokenizer.json: los mismos
// ids que da `tokenizers` en Python.
{
  globalThis.course ??= {};

  /** Un patrón del archivo. El `\s` de JavaScript no es el suyo. */
  const pattern = ({ Regex, String: text }) =>
    new RegExp(Regex?.replaceAll('\\s', '\\p{White_Space}') ?? text, 'gu');

  /** Cada paso de la limpieza, por su nombre en el archivo. */
  const CLEANING = {
    NFC: text => text.normalize('NFC'),
    Replace: (text, { found, content }) => text.replace(found, () => content),
    Strip: text => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, ''),
  };

  course.Tokenizer = class {
    constructor({ added_tokens, normalizer, pre_tokenizer, model }) {
      this.ids = new Map(Object.entries(model.vocab));
      this.tokens = [];
      this.ids.forEach((id, token) => (this.tokens[id] = token));
      this.ranks = new Map(model.merges.map((pair, rank) => [pair.join(' '), rank]));
      this.unknown = this.ids.get(model.unk_token);
      this.marks = new RegExp(`(${added_tokens.map(({ content }) => content).join('|')})`);
      this.steps = normalizer.normalizers.map(step => {
        return { ...step, found: step.pattern && pattern(step.pattern) };
      });
      this.pieces = pattern(pre_tokenizer.pretokenizers[1].pattern);
    }

    /** Los ids de un texto. */
    encode(text) {
      return text.split(this.marks).flatMap((part, i) => {
        if (i % 2) return this.ids.get(part); // una marca, escrita tal cual
        const clean = this.steps.reduce((before, step) => CLEANING[step.type](before, step), part);
        const spaced = clean.replaceAll(' ', '▁').replace(/^(?=[^▁])/, '▁');
        return (spaced.match(this.pieces) ?? []).flatMap(piece => this.merge(piece));
      });
    }

    /** Junta las letras de un trozo de dos en dos: cada vez, la pareja que se aprendió antes. */
    merge(piece) {
      const parts = [...piece];
      for (;;) {
        const ranks = parts.map((part, i) => this.ranks.get(`${part} ${parts[i + 1]}`) ?? Infinity);
        const best = Math.min(...ranks);
        if (best === Infinity) return parts.map(part => this.ids.get(part) ?? this.unknown);
        const at = ranks.indexOf(best);
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
    }

    /** El texto de unos ids, sin las marcas. */
    decode(ids) {
      const tokens = ids.map(id => this.tokens[id]).filter(token => !this.marks.test(token));
      return tokens.map((token, i) => token.replaceAll('▁', i ? ' ' : '')).join('');
    }
  };
}
