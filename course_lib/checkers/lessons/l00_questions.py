"""0.2 · La forma de los pesos."""

from functools import partial

from course_lib.checkers.engine import Question, wrong_answers

THREE = ["The dog ate the bone", "The cat saw the bird", "The boy ate the cake"]


def shape(pick):
    """Una forma, a partir de frases, cabezas, tokens, anchura, palabras y capas de los embeddings."""
    from course_lib import extract_embeddings

    found = extract_embeddings(THREE)
    B, h, L, _ = found.attentions[3].shape
    d, words = found.contextual_embeddings.shape[-1], len(THREE[0].split())
    return pick(B, h, L, d, words, len(found.attentions))


WRONG = {
    "sin-contar-las-marcas": lambda B, h, L, d, words, layers: (B, h, words, words),
    "una-sola-marca": lambda B, h, L, d, words, layers: (B, h, words + 1, words + 1),
    "sin-cabezas": lambda B, h, L, d, words, layers: (B, L, L),
    "sin-lote": lambda B, h, L, d, words, layers: (h, L, L),
    "capas-por-cabezas": lambda B, h, L, d, words, layers: (B, layers, L, L),
    "con-las-capas": lambda B, h, L, d, words, layers: (layers, B, h, L, L),
    "cabezas-primero": lambda B, h, L, d, words, layers: (h, B, L, L),
    "una-sola-fila": lambda B, h, L, d, words, layers: (B, h, L),
    "vectores-por-cabeza": lambda B, h, L, d, words, layers: (B, h, L, d // h),
    "vectores": lambda B, h, L, d, words, layers: (B, L, d),
    "anchura-por-tokens": lambda B, h, L, d, words, layers: (B, h, L, d),
}
SHAPE = Question(
    "0.2",
    "la forma de los pesos",
    partial(shape, lambda B, h, L, d, words, layers: (B, h, L, L)),
    wrong_answers(__file__, "0.2", {name: partial(shape, pick) for name, pick in WRONG.items()}),
    kind="una forma: cuatro números entre paréntesis, como (1, 2, 3, 4)",
    read="00 §3",
)
QUESTIONS = (SHAPE,)
