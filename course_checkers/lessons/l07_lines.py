"""Las tres líneas de la lección 07: puntuar y mezclar con letras, y la multicabeza entera."""

import torch

from course_checkers.engine.lines import line
from course_checkers.lessons.l06_lines import join, numbers, split, write
from course_lib import scaled_dot_product_attention


def pair(Q, K):
    return torch.einsum("bqhd,bkhd->bhqk", Q, K)


def gather(weights, V):
    return torch.einsum("bhqk,bkhd->bqhd", weights, V)


def multi_head(X, W_Q, W_K, W_V, W_O, heads):
    return attended(split(X @ W_Q, heads), split(X @ W_K, heads), split(X @ W_V, heads), W_O)


def attended(Q, K, V, W_O):
    return write(join(scaled_dot_product_attention(Q, K, V)[0]), W_O)


def letters(equation):
    """La línea que multiplica con esas letras."""
    return lambda left, right: torch.einsum(equation, left, right)


def whole(rows, inside, outside, heads):
    """Una entrada y sus cuatro matrices: la anchura de lo que entra puede ser otra que la del bloque."""
    shapes = ((inside, outside),) * 3 + ((outside, outside),)
    matrices = [numbers(*shape, turn=2 + k) / 40 - 0.1 * k for k, shape in enumerate(shapes)]
    return (numbers(*rows, inside) / 20 - 1, *matrices, heads)


TOKENS, FEW = numbers(2, 6, 4, 5), numbers(1, 4, 2, 3)  # (B, L, h, d_k)
LINES = (
    line(__file__, "7.a", pair, ((numbers(2, 3, 4, 5), TOKENS), (FEW, FEW)), {
        "traspuesta": letters("bqhd,bkhd->bhkq"),
        "cabezas-cruzadas": letters("bqhd,bkgd->bhqk"),
        "cabezas-sumadas": letters("bqhd,bkhd->bqk"),
        "cabeza-detrás": letters("bqhd,bkhd->bqhk"),
    }),
    line(__file__, "7.b", gather, ((numbers(2, 4, 3, 6), TOKENS), (numbers(1, 2, 4, 4), FEW)), {
        "cabezas-delante": letters("bhqk,bkhd->bhqd"),
        "cabezas-sumadas": letters("bhqk,bkhd->bqd"),
        "cabezas-cruzadas": letters("bhqk,bkgd->bqhd"),
    }),
    line(__file__, "7.c", multi_head, (whole((2, 5), 6, 6, 3), whole((1, 3), 4, 4, 2), whole((2, 4), 7, 6, 1)), {
        "sin-W_O": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_V, torch.eye(len(W_O)), heads),
        "query-key-cambiadas": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_K, W_Q, W_V, W_O, heads),
        "una-sola-cabeza": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_V, W_O, 1),
        "value-con-W_K": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_K, W_O, heads),
    }),
)  # fmt: skip
