"""2.3 · Dónde son iguales los vectores de una misma palabra."""

import torch

import course_lib
from course_checkers.engine import question

CHASE = "The dog chased the cat"
MIDDLE = ("embeddings_with_positional_encoding", "encoder_input")
STOPS = ("token_embeddings", *MIDDLE, "contextual_embeddings")


def equal_stops(first, second, word):
    """En cuántas paradas son iguales los vectores de una palabra: la primera vez y la última."""
    first, second = course_lib.extract_embeddings(first), course_lib.extract_embeddings(second)
    i = first.tokens[0].index(word)
    j = len(second.tokens[0]) - 1 - second.tokens[0][::-1].index(word)
    pairs = ((getattr(first, stop)[0, i], getattr(second, stop)[0, j]) for stop in STOPS)
    return sum(torch.allclose(one, other, atol=1e-5) for one, other in pairs)


QUESTIONS = (question(__file__, "2.3", "los dos «the»", lambda: equal_stops(CHASE, CHASE, "the"), {
    "olvida-la-posición": lambda: equal_stops(CHASE, "The dog chased a cat", "the"),
    "una-palabra-un-vector": lambda: len(STOPS),
    "ni-la-tabla": lambda: equal_stops(CHASE, CHASE, "the") - 1,
}, kind="un número entero", read="02 §7"),)  # fmt: skip
