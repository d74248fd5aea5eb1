"""0.2 · La forma de los pesos."""

from functools import partial

import course_lib
from course_checkers.engine import question

THREE = ["The dog ate the bone", "The cat saw the bird", "The boy ate the cake"]


def shape(letters):
    """Una forma, escrita con las letras del curso: «B h L L»."""
    found = course_lib.extract_embeddings(THREE)
    B, h, L, _ = found.attentions[3].shape
    d, words = found.contextual_embeddings.shape[-1], len(THREE[0].split())
    sizes = {"B": B, "h": h, "L": L, "d_model": d, "d_k": d // h, "capas": len(found.attentions)}
    sizes |= {"n": words, "n+1": words + 1}  # sin marcas, y con una
    return tuple(sizes[letter] for letter in letters.split())


WRONG = {
    "sin-contar-las-marcas": "B h n n",
    "una-sola-marca": "B h n+1 n+1",
    "sin-cabezas": "B L L",
    "sin-lote": "h L L",
    "capas-por-cabezas": "B capas L L",
    "con-las-capas": "capas B h L L",
    "cabezas-primero": "h B L L",
    "una-sola-fila": "B h L",
    "vectores-por-cabeza": "B h L d_k",
    "vectores": "B L d_model",
    "anchura-por-tokens": "B h L d_model",
}
QUESTIONS = (question(
    __file__, "0.2", "la forma de los pesos", partial(shape, "B h L L"),
    {name: partial(shape, wrong) for name, wrong in WRONG.items()},
    kind="una forma: cuatro números entre paréntesis, como (1, 2, 3, 4)", read="00 §5",
),)  # fmt: skip
