"""El tokenizador del traductor: aprenderlo de las frases y partir de más, al azar, al entrenar."""

import json
import unicodedata

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from course_lib.translator_model.marks import EOS, MARKS, UNKNOWN_TOKEN


def train_tokenizer(pairs, vocab_size):
    """Aprende un vocabulario BPE común a las dos lenguas (Sennrich et al., 2016).

    Las palabras llevan delante «▁», que marca el espacio; la puntuación va suelta, y cada
    cifra, también.
    """
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN_TOKEN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(Regex("[‘’´`]"), "'"),
            normalizers.Replace(Regex("[“”«»„]"), '"'),
            normalizers.Replace("…", "..."),
            normalizers.Replace(Regex("[–—]"), "-"),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )
    pieces = Regex(r"▁?[\p{L}\p{M}']*\p{L}|▁?[^\p{L}▁]|▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
            pre_tokenizers.Split(pieces, behavior="isolated"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    letters = [unicodedata.normalize("NFC", text) for pair in pairs for text in pair]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=list(MARKS), limit_alphabet=130, show_progress=False
    )
    tokenizer.train_from_iterator(letters, trainer)
    return tokenizer


def encode(tokenizer, texts):
    """Ids de cada texto, con la marca de fin: lista de listas."""
    return [encoding.ids + [EOS] for encoding in tokenizer.encode_batch(texts)]


def halves(tokenizer):
    """De qué dos se hace cada token: → diccionario ``{id: (id, id)}``, sin los que son una letra."""
    ids = tokenizer.get_vocab()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {ids[first + second]: (ids[first], ids[second]) for first, second in merges}


def split_tokens(ids, halves, fraction, rng):
    """Parte al azar algunos tokens en los trozos de que se hicieron: la misma frase, de otro modo.

    Con una sola forma de partir cada palabra, el modelo memoriza más las frases; con muchas, ve
    también de qué trozos se hace cada una.

    Args:
        ids: lista de ids.
        halves: véase ``halves``.
        fraction: probabilidad de partir cada token en sus dos mitades, y cada mitad en las suyas,
            de 0 (ninguno) a 1 (quedan las letras).
        rng: un ``random.Random``.

    Fuente: Provilkov et al., «BPE-Dropout» (2020); aquí se deshacen uniones ya hechas, en vez de
    saltárselas, y así depende solo de ``rng``.
    """
    pieces, pending = [], ids[::-1]
    while pending:
        token = pending.pop()
        if token in halves and rng.random() < fraction:
            pending.extend(reversed(halves[token]))
        else:
            pieces.append(token)
    return pieces
