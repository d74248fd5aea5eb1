"""Lo que se pregunta en la lección 05: un peso de BERT y qué cambia los pesos."""

import math

import torch

from course_checkers.engine import drawn, question
from course_checkers.steps import bert_head

# 5.2 Un peso, en una cabeza de BERT.
SENTENCE, MARKS = "The cat drank the milk because it was thirsty", ("[CLS]", "[SEP]")


def weight(row="it", column="cat", head=1, hide=MARKS, **how):
    return bert_head.weight(SENTENCE, row, column, layer=3, head=head, hide=hide, **how)


def letter():
    """Qué cambia los pesos: multiplicar Q por 3, o sumar el mismo vector a todas las keys."""
    q, k, c = drawn(20, (3, 4), (5, 4), (1, 4))
    weights, longer, moved = ((q_ @ k_.mT / 2).softmax(-1) for q_, k_ in ((q, k), (3 * q, k), (q, k + c)))
    changes = not torch.allclose(weights, longer), not torch.allclose(weights, moved)
    return {(True, False): "b", (False, True): "a", (True, True): "c", (False, False): "d"}[changes]


QUESTIONS = (
    question(__file__, "5.2", "tu atención, en una cabeza de BERT", weight, {
        "sin-máscara": lambda: weight(hide=()),
        "solo-cls": lambda: weight(hide=MARKS[:1]),
        "solo-sep": lambda: weight(hide=MARKS[1:]),
        "sin-it": lambda: weight(hide=(*MARKS, "it")),
        "máscara-al-revés": lambda: weight(hide=SENTENCE.lower().split()),
        "fila-cambiada": lambda: weight("cat", "it"),
        "otra-columna": lambda: weight(column="milk"),
        "softmax-queries": lambda: weight(dim=-2),
        "sin-escala": lambda: weight(divisor=1.0),
        "escala-d_k": lambda: weight(divisor=32),
        "escala-√d_model": lambda: weight(divisor=math.sqrt(384)),
        "otra-cabeza": lambda: weight(head=0),
        "otra-capa#4": lambda: weight(entering=4),
        "otra-capa#2": lambda: weight(entering=2),
        "sin-proyectar": lambda: weight(project=False),
    }, kind="un número entre 0 y 1", read="05 §4.3", points=3),
    question(__file__, "5.3", "qué cambia los pesos", letter, {
        "todo-al-revés": lambda: "a",
        "sumar-no-cambia": lambda: "c",
        "multiplicar-sí-cambia": lambda: "d",
    }, kind='una letra, "a", "b", "c" o "d"', read="03 §2", options="abcd"),
)  # fmt: skip
