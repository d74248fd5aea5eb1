"""Las frases que se escriben en un explorador: si sirven, y qué lee en ellas el modelo."""

import warnings
from functools import lru_cache

from course_lib.bert import extract_embeddings, load_bert
from course_lib.explorers.declared import refusal, wrong
from course_lib.model_files import sentences


def check_sentence(explorer, sentence, tokens, letters):
    """Comprueba que es un texto y que sirve (véase ``fault``); si no, lo dice un ``TraitError``."""
    if not isinstance(sentence, str):
        raise wrong(explorer, "sentence", sentence, "un texto, como «The cat sat»")
    if reason := fault("la frase", sentence, tokens, letters):
        raise refusal(explorer, reason)


def fault(name, sentence, tokens, letters):
    """Por qué no sirve una frase en la que caben tantos tokens y letras; si sirve, nada."""
    if reason := sentences.why_broken(name, sentence):
        return reason
    tokenizer = load_bert().plain_tokenizer
    ids = tokenizer([sentence], verbose=False)["input_ids"][0]
    if len(ids) > tokens or len(sentence) > letters:
        has, room = (f"{a} tokens y {b} caracteres" for a, b in ((len(ids), len(sentence)), (tokens, letters)))
        return f"{name} tiene {has}, y aquí caben {room}. Escribe una más corta."
    return sentences.why_blank(name, sentence) or sentences.why_invisible(name, sentence, ids, tokenizer)


def read_with_bert(sentence):
    """Los embeddings de una frase que sirve, y los avisos."""
    return _read(sentence, load_bert().name)


@lru_cache(maxsize=16)
def _read(sentence, _model_name):
    embeddings, warned = with_warnings(extract_embeddings, sentence, sentences.TokenizationWarning)
    return embeddings, [str(warning) for warning in warned]


def shortened(sentence):
    """Una frase, para decirla: su principio."""
    return f"«{sentence}»" if len(sentence) <= 60 else f"«{sentence[:59]}…»"


def with_warnings(function, sentence, category):
    """Lo que da una función con una frase, y los avisos de esa clase, que no salen por pantalla."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(sentence)
    return result, [w.message for w in caught if issubclass(w.category, category)]
