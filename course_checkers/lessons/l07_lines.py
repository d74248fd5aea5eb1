"""Las tres líneas de la lección 07: la multicabeza entera, puntuar con letras y reparar un código."""

import torch

from course_checkers.engine.lines import line
from course_checkers.lessons.l06_lines import join, numbers, split
from course_lib import scaled_dot_product_attention


def pair(Q, K):
    return torch.einsum("bqhd,bkhd->bhqk", Q, K)


def project_heads(X, W, heads):
    return (X @ W).unflatten(-1, (heads, -1))


def cut_before(X, W, heads, shared=False):
    """Lo que da partir X antes de proyectar, con un bloque de la diagonal por cabeza, o con el primero."""
    parts = X.unflatten(-1, (heads, -1))
    d_k = parts.shape[-1]
    blocks = [W[place : place + d_k, place : place + d_k] for place in range(0, len(W), d_k)]
    return torch.stack([parts[..., k, :] @ blocks[0 if shared else k] for k in range(heads)], dim=-2)


def multi_head(X, W_Q, W_K, W_V, W_O, heads):
    return attended(split(X @ W_Q, heads), split(X @ W_K, heads), split(X @ W_V, heads), W_O)


def attended(Q, K, V, W_O):
    return join(scaled_dot_product_attention(Q, K, V)[0]) @ W_O


def letters(equation):
    """La línea que multiplica con esas letras."""
    return lambda left, right: torch.einsum(equation, left, right)


def whole(rows, inside, outside, heads):
    """Una entrada y sus cuatro matrices: la anchura de lo que entra puede ser otra que la del bloque."""
    shapes = ((inside, outside),) * 3 + ((outside, outside),)
    matrices = [numbers(*shape, turn=2 + k) / 40 - 0.1 * k for k, shape in enumerate(shapes)]
    return (numbers(*rows, inside) / 20 - 1, *matrices, heads)


def projected(*sizes):
    """Unos vectores, una matriz y cuántas cabezas: la anchura de lo que entra puede ser otra que la de lo que sale."""
    B, L, inside, outside, heads = sizes
    return numbers(B, L, inside), numbers(inside, outside, turn=5) - 9, heads


TOKENS, FEW = numbers(2, 6, 4, 5), numbers(1, 4, 2, 3)  # (B, L, h, d_k)
LINES = (
    line(__file__, "7.a", pair, ((numbers(2, 3, 4, 5), TOKENS), (FEW, FEW)), {
        "traspuesta": letters("bqhd,bkhd->bhkq"),
        "cabezas-cruzadas": letters("bqhd,bkgd->bhqk"),
        "cabezas-sumadas": letters("bqhd,bkhd->bqk"),
        "cabeza-detrás": letters("bqhd,bkhd->bqhk"),
    }),
    line(__file__, "7.c", multi_head, (whole((2, 5), 6, 6, 3), whole((1, 3), 4, 4, 2), whole((2, 4), 7, 6, 1)), {
        "sin-W_O": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_V, torch.eye(len(W_O)), heads),
        "query-key-cambiadas": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_K, W_Q, W_V, W_O, heads),
        "una-sola-cabeza": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_V, W_O, 1),
        "value-con-W_K": lambda X, W_Q, W_K, W_V, W_O, heads: multi_head(X, W_Q, W_K, W_K, W_O, heads),
    }),
    line(__file__, "7.d", project_heads, (projected(2, 5, 12, 12, 3), projected(1, 3, 8, 8, 2), projected(2, 4, 7, 6, 3)), {
        "reparte-antes": cut_before,
        "reparte-antes-y-comparte": lambda X, W, heads: cut_before(X, W, heads, shared=True),
        "sin-proyectar": lambda X, W, heads: X.unflatten(-1, (heads, -1)),
        "sin-repartir": lambda X, W, heads: X @ W,
        "cabezas-delante": lambda X, W, heads: split(X @ W, heads),
        "h-y-d_k-cambiados": lambda X, W, heads: (X @ W).unflatten(-1, (-1, heads)),
    }),
)  # fmt: skip
