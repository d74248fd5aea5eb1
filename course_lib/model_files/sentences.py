"""De las frases a los ids: comprobar lo que llega, trocearlo y avisar de lo que se pierde.

El tokenizador de un BERT quita lo que no entiende sin decir nada. Aquí se dice.
"""

import unicodedata
import warnings
from functools import cache

import torch
from tokenizers import Tokenizer
from torch.nn.utils.rnn import pad_sequence


class TokenizationWarning(UserWarning):
    """El tokenizador ha perdido o troceado algo de tu texto."""


class PlainTokenizer:
    """Lo que ``tokenize`` pide al tokenizador de transformers de un BERT, hecho solo con ``tokenizers``."""

    pad_token_id, unk_token = 0, "[UNK]"

    def __init__(self, path):
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()  # el del curso rellena y corta hasta 128 tokens
        self._tokenizer.no_truncation()

    def __call__(self, sentences, verbose=False):
        """Los ids de cada frase, sin cortar ni rellenar: ``{"input_ids": listas}``."""
        return {"input_ids": [self._tokenizer.encode(text).ids for text in sentences]}

    def tokenize(self, text):
        """Los tokens de un texto, sin las marcas de principio y fin."""
        return self._tokenizer.encode(text, add_special_tokens=False).tokens

    def convert_ids_to_tokens(self, ids):
        """El texto de cada id."""
        return [self._tokenizer.id_to_token(i) for i in ids]

    def num_special_tokens_to_add(self):
        """Cuántas marcas de principio y fin lleva cada frase."""
        return self._tokenizer.num_special_tokens_to_add(is_pair=False)


def check_sentences(sentences):
    """La lista de frases, también de una sola; si alguna no sirve, ``TypeError`` o ``ValueError``."""
    if isinstance(sentences, str):
        sentences = [sentences]
    if not isinstance(sentences, (list, tuple)):
        raise TypeError(
            f"extract_embeddings: has pasado {type(sentences).__name__} ({sentences!r:.40}) y espera "
            f"una frase (str) o una lista de frases.{remedy(sentences)}"
        )
    if not sentences:
        raise ValueError("extract_embeddings: la lista está vacía. Pásale al menos una frase.")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise TypeError(
                f"extract_embeddings: el elemento {i} es {type(sentence).__name__} "
                f"({sentence!r:.40}) y tiene que ser un texto.{remedy(sentence)}"
            )
        named = f"la frase {i}", sentence
        if reason := why_blank(*named) or why_broken(*named):
            raise ValueError(f"extract_embeddings: {reason}")
    return list(sentences)


def remedy(value):
    """Cómo se hace un texto de algo que no lo es, si se sabe."""
    ways = {"decode": '.decode("utf-8")', "read_text": ".read_text()", "tolist": ".tolist()"}
    return next((f" Usa {way}." for name, way in ways.items() if hasattr(value, name)), "")


def why_blank(name, sentence):
    """Por qué no sirve ``sentence``, a la que se llama ``name``, si está vacía; si no lo está, nada."""
    return "" if sentence.strip() else f"{name} está vacía. Escribe alguna palabra."


def why_broken(name, sentence):
    """Lo mismo, si ``sentence``, a la que se llama ``name``, tiene un carácter roto."""
    whole = sentence.encode("utf-8", "ignore").decode() == sentence
    return "" if whole else f"{name} tiene un carácter roto (medio emoji). Vuelve a escribirla."


def why_invisible(name, sentence, ids, tokenizer):
    """Lo mismo, si en los ``ids`` que ``tokenizer`` da a ``sentence``, llamada ``name``, solo hay marcas."""
    if len(ids) > tokenizer.num_special_tokens_to_add():
        return ""
    return f"{name}, {sentence!r:.40}, no tiene ningún carácter visible. Escribe alguna palabra."


# Los signos que no se ven, y de dónde vienen: cada uno, o los de su clase de Unicode.
HIDDEN = {
    "\0": "nulo", "\x0b": "tabulación vertical", "\x0c": "salto de página", "\xad": "guion opcional",
    "\u200b": "espacio sin ancho", "\u200c": "separa letras", "\u200d": "une letras",
    "\u200e": "hacia la derecha", "\u200f": "hacia la izquierda", "\u2060": "une palabras",
    "\ufeff": "marca BOM", "\ufffd": "lo que otro programa no supo leer", "Cc": "de control",
    "Cf": "de formato", "Co": "de uso privado", "Cn": "sin asignar", "M": "marca suelta",
}  # fmt: skip
CASED = ("Ll", "Lt", "Lu")


def listed(signs, text):
    """Los ``signs`` de ``text``, en NFC, para decirlos: si no se ven, con su código, nombre y sitio."""
    shown = []
    for sign in signs:
        kind = unicodedata.category(sign)
        name = HIDDEN.get(sign) or HIDDEN.get(kind) or HIDDEN.get(kind[0])
        where = f"U+{ord(sign):04X} ({name}, carácter {text.find(sign) + 1})"
        shown.append(where if name else f"«{sign}»")
    return ", ".join(shown[:5]) + (f" y {len(shown) - 5} más" if len(shown) > 5 else "")


def usual(sign):
    """Lo que dice un signo, con los de siempre: «ﬂ» → «fl», «½» → «1/2»; casi todos, él mismo."""
    return unicodedata.normalize("NFKC", sign).replace("\u2044", "/")


def advice(text, unknown=()):
    """Qué escribir por las ligaduras y letras anchas de ``text`` y lo ``unknown``: una lista, quizá vacía."""
    odd = [
        f"«{sign}» no es «{usual(sign)}»"
        for sign in dict.fromkeys(text)
        if sign != usual(sign)
        and usual(sign).isascii()
        and (sign in unknown or unicodedata.category(sign) in CASED)
    ]
    return [f"para el modelo, {', '.join(odd[:5])}: escribe lo segundo."] if odd else []


def tokenize(sentences, tokenizer, limit):
    """Trocea B frases, corta las que pasan de ``limit`` y rellena las demás hasta la más larga.

    Args:
        sentences: lista de B textos.
        tokenizer: un ``PlainTokenizer`` o un tokenizador de transformers.
        limit: los tokens que admite el modelo.

    Returns:
        ``(input_ids, attention_mask, tokens)``: dos tensores ``(B, L)`` y B listas de L textos.

    Raises:
        ValueError: si de alguna frase no queda ningún token.
    """
    rows = tokenizer(sentences, verbose=False)["input_ids"]
    for i, (sentence, row) in enumerate(zip(sentences, rows)):
        if reason := why_invisible(f"la frase {i}", sentence, row, tokenizer):
            raise ValueError(f"extract_embeddings: {reason}")
    lengths = [len(row) for row in rows]
    # La última marca, [SEP], se queda.
    rows = [torch.tensor(row if len(row) <= limit else row[: limit - 1] + row[-1:]) for row in rows]
    input_ids = pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_token_id)
    attention_mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
    tokens = [tokenizer.convert_ids_to_tokens(row) for row in input_ids.tolist()]
    _warn_about_losses(sentences, tokens, lengths, tokenizer, limit)
    return input_ids, attention_mask, tokens


def _warn_about_losses(sentences, tokens, lengths, tokenizer, limit):
    """Avisa de lo que el tokenizador ha cortado, no conoce o ha cambiado."""
    for i, (sentence, row, length) in enumerate(zip(sentences, tokens, lengths)):
        where = f"frase {i}: " if len(sentences) > 1 else ""
        if length > limit:
            _warn(
                f"{where}tiene {length} tokens y el modelo admite {limit}: se han cortado los "
                f"{length - limit} últimos."
            )
        text = unicodedata.normalize("NFC", sentence)
        dropped, unread = _signs(text, tokenizer)
        if dropped:
            _warn(f"{where}el modelo no conoce {listed(dropped, text)}: no lo ha leído.")
        unknown = row.count(tokenizer.unk_token) - sentence.count(tokenizer.unk_token)
        if unknown > 0:
            which = f" ({listed(unread, text)})" if unread else ""
            _warn(
                f"{where}el vocabulario no tiene {unknown} fragmento(s) del texto y en su lugar pone "
                f"{tokenizer.unk_token}: lo que dijeran se ha perdido{which}."
            )
        for note in advice(text, unread):
            _warn(where + note)
        seen = "".join(" " if s in unread else s for s in sentence if s not in dropped or s.isspace())
        if stripped := _words_that_lose_accents(seen, tokenizer):
            examples = ", ".join(f"{word} → {' '.join(pieces)}" for word, pieces in stripped[:3])
            _warn(
                f"{where}este tokenizador quita las tildes y trocea lo que no conoce ({examples}). "
                "Está hecho para inglés: funciona, pero entiende peor el texto."
            )


def _signs(text, tokenizer):
    """Los signos que el tokenizador quita, menos las tildes de una letra, y los que no conoce."""
    dropped, unread, split = {}, {}, cache(tokenizer.tokenize)
    for before, sign in zip(f" {text}", text):
        kind = unicodedata.category(before)[0] + unicodedata.category(sign)
        if sign.isascii() and sign.isprintable() or kind in ("LMn", "MMn"):
            continue
        if tokenizer.unk_token in split(sign):
            unread[sign] = None
        elif not split(sign) and split(f"a{sign}a") == split("aa"):
            dropped[sign] = None
    return dropped, unread


def _words_that_lose_accents(sentence, tokenizer):
    if sentence.isascii():
        return []
    words = {w.strip(".,;:¿?¡!«»\"'()…"): None for w in sentence.split() if not w.isascii()}
    pieces = {word: tokenizer.tokenize(word) for word in words if any(map(str.isalpha, word))}
    return [
        (word, parts)
        for word, parts in pieces.items()
        if parts
        and tokenizer.unk_token not in parts
        and "".join(part.removeprefix("##") for part in parts).lower() != word.lower()
    ]


def _warn(message):
    warnings.warn(message, TokenizationWarning, stacklevel=5)  # en quien llama a extract_embeddings
