"""4.4 · Una fila prohibida entera."""

from math import nan

import torch

from course_checkers.engine import question, same
from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, combine_masks, padding_mask

LEFT_PADDED = [[0, 0, 1, 1, 1]]
# Lo que recibe el último token en la primera fila: con −∞, con el más negativo y en course_lib.
OPTIONS = {"a": (0, 0, 0), "b": (nan, 1 / 3, 0), "c": (nan, 1 / 5, 0), "d": (nan, 1 / 5, 1 / 5)}


def last_weights():
    """El peso del último token en la primera fila, de las tres formas."""
    keep = combine_masks(causal_mask(5), padding_mask(LEFT_PADDED))[0, 0]
    query = torch.linspace(-1, 1, 20).reshape(5, 4)
    scores = query @ query.T / 2
    fills = -torch.inf, torch.finfo(scores.dtype).min
    naive = [scores.masked_fill(~keep, x).softmax(-1) for x in fills]
    _, ours = scaled_dot_product_attention(query, query, query, keep)
    return torch.stack([weights[0, -1] for weights in (*naive, ours)])


def right_letter():
    right = last_weights()
    return next(letter for letter, row in OPTIONS.items() if same(right, torch.tensor(row).to(right)))


QUESTIONS = (question(__file__, "4.4", "una fila prohibida entera", right_letter, {
    "prohibido-siempre-cero": lambda: "a",
    "reparte-entre-los-de-verdad": lambda: "b",
    "course_lib-reparte": lambda: "d",
}, kind="una letra: a, b, c o d", read="04 §8", options="abcd"),)  # fmt: skip
