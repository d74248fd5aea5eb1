"""Las tres líneas de la lección 06: repartir, juntar y escribir."""

import torch

from course_checkers.engine.lines import line


def split(X, heads):
    return X.unflatten(-1, (heads, -1)).transpose(1, 2)


def join(heads):
    return heads.transpose(1, 2).flatten(2)


def write(joined, W_O):
    return joined @ W_O


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
    line(__file__, "6.c", write, ((numbers(2, 5, 6), numbers(6, 6)), (numbers(1, 3, 4), numbers(4, 4, turn=5))), {
        "traspuesta": lambda joined, W_O: joined @ W_O.mT,
        "sin-W_O": lambda joined, W_O: joined,
        "suma-la-entrada": lambda joined, W_O: joined + joined @ W_O,
    }),
)  # fmt: skip
