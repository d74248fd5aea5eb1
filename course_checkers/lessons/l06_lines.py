"""Las tres líneas de la lección 06: repartir, juntar y lo que escribe cada cabeza."""

import torch

from course_checkers.engine.lines import line


def split(X, heads):
    return X.unflatten(-1, (heads, -1)).transpose(1, 2)


def join(heads):
    return heads.transpose(1, 2).flatten(2)


def write(heads, W_O):
    return heads @ W_O.unflatten(0, (heads.shape[1], -1))


def first_piece(heads, W_O):
    """Lo que escribirían todas con el trozo de la primera."""
    return heads @ W_O[: heads.shape[-1]]


def alternate_pieces(heads, W_O):
    """A cada cabeza, una fila de cada h, y no las suyas, que son seguidas."""
    return heads @ W_O.unflatten(0, (-1, heads.shape[1])).transpose(0, 1)


def numbers(*shape, turn=7):
    """Números pequeños, casi todos distintos, y ninguno al azar."""
    return (torch.arange(1.0, torch.Size(shape).numel() + 1) ** 2 % 101 % (turn * 7)).reshape(shape)


LINES = (
    line(__file__, "6.a", split, ((numbers(2, 5, 12), 3), (numbers(1, 4, 6), 2), (numbers(3, 2, 8), 1)), {
        "view-de-una-vez": lambda X, heads: X.reshape(len(X), heads, X.shape[1], -1),
        "sin-trasponer": lambda X, heads: X.unflatten(-1, (heads, -1)),
        "intercaladas": lambda X, heads: X.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2),
        "h-y-d_k-cambiados": lambda X, heads: X.unflatten(-1, (-1, heads)).transpose(1, 2),
    }),
    line(__file__, "6.b", join, ((numbers(2, 3, 5, 4),), (numbers(1, 2, 4, 3),), (numbers(3, 1, 2, 5),)), {
        "sin-trasponer": lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
        "intercaladas": lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        "tokens-en-fila": lambda heads: heads.flatten(1, 2),
        "sumadas": lambda heads: heads.sum(dim=1),
    }),
    line(__file__, "6.d", write, ((numbers(2, 3, 5, 4), numbers(12, 12)), (numbers(1, 2, 4, 3), numbers(6, 6, turn=5))), {
        "ya-sumadas": lambda heads, W_O: join(heads) @ W_O,
        "traspuesta": lambda heads, W_O: write(heads, W_O.mT),
        "el-primer-trozo": first_piece,
        "trozos-intercalados": alternate_pieces,
        "sin-W_O": lambda heads, W_O: heads,
    }),
)  # fmt: skip
