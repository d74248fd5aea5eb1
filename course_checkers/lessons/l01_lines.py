"""Las tres líneas de la lección 01: el producto escalar, la norma 1 y todos los productos de una vez."""

import torch

from course_checkers.engine.lines import line


def dot(u, v):
    return (u * v).sum()


def unit(v):
    return v / v.norm()


def match(Q, K):
    return Q @ K.T


ONE, OTHER = torch.tensor([2.0, -1.0]), torch.tensor([3.0, 5.0])
LONG, LONGER = torch.tensor([1.0, -2.0, 4.0]), torch.tensor([0.5, 3.0, -1.0, 2.0, 7.0])
WORDS = torch.arange(384.0) % 7 - 2.5  # tan largo como los de BERT
QUERIES = torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])
KEYS = torch.tensor([[3.0, 0.0, 1.0], [1.0, 1.0, 2.0], [-2.0, 4.0, 0.5]])
MANY, FOUR = WORDS.reshape(96, 4)[:5], torch.ones(4, 4).tril() - 2
LINES = (
    line(__file__, "1.a", dot, ((ONE, OTHER), (LONG, LONG + 1), (WORDS, WORDS.flip(0))), {
        "sin-sumar": lambda u, v: u * v,
        "suma-los-números": lambda u, v: (u + v).sum(),
        "todos-con-todos": lambda u, v: u.sum() * v.sum(),
        "coseno": lambda u, v: u @ v / (u.norm() * v.norm()),
    }),
    line(__file__, "1.b", unit, ((OTHER,), (LONG,), (LONGER,), (WORDS,)), {
        "sin-raíz": lambda v: v / (v @ v),
        "solo-la-norma": lambda v: v.norm(),
        "por-la-suma": lambda v: v / v.sum(),
        "por-la-norma": lambda v: v * v.norm(),
    }),
    # Hay tantas keys como números en cada una: así, Q @ K se deja hacer, y se le puede dar su nombre.
    line(__file__, "1.c", match, ((QUERIES, KEYS), (KEYS + 1, KEYS), (MANY, FOUR)), {
        "sin-trasponer": lambda Q, K: Q @ K,
        "al-revés": lambda Q, K: K @ Q.T,
        "sin-las-keys": lambda Q, K: Q @ Q.T,
    }),
)  # fmt: skip
