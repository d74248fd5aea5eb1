"""7.3 y 7.4 · Las preguntas de la lección 07."""

import math

import torch

from course_checkers.engine import question
from course_checkers.steps import bert_head

HEADS, WIDTH = 8, 512


def parameters(width):
    """Los de las tres capas de entrada, sin sesgo, contados de verdad."""
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(3)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def ratio():
    return parameters(WIDTH) / parameters(WIDTH // HEADS)


def from_it_to_bone(what="old", row="it", column="bone", head=8, **how):
    sentence = f"I gave the dog a bone because it was very {what}"
    return bert_head.weight(sentence, row, column, layer=3, head=head, **how)


QUESTIONS = (
    question(__file__, "7.3", "cuántas veces menos", ratio, {
        "solo-un-factor": lambda: HEADS,
        "los-de-la-lección": lambda: 4,
        "los-mismos": lambda: 1,
        "con-W_O": lambda: (parameters(WIDTH) + WIDTH**2) / (parameters(WIDTH // HEADS) + WIDTH**2),
        "por-tres": lambda: 3 * HEADS**2,
        "al-revés": lambda: 1 / HEADS**2,
    }, read="07 §5.1"),
    question(__file__, "7.4", "un peso de BERT, a mano", from_it_to_bone, {
        "primera-frase": lambda: from_it_to_bone("hungry"),
        "cabeza-desde-1": lambda: from_it_to_bone(head=7),
        "de-bone-a-it": lambda: from_it_to_bone(row="bone", column="it"),
        "escala-√d_model": lambda: from_it_to_bone(divisor=math.sqrt(384)),
        "sin-escala": lambda: from_it_to_bone(divisor=1.0),
        "escala-d_k": lambda: from_it_to_bone(divisor=32.0),
        "softmax-queries": lambda: from_it_to_bone(dim=-2),
    }, kind="un número entre 0 y 1", read="07 §4"),
)  # fmt: skip
