"""Las tres líneas de la lección 05: mezclar los values, la atención entera y la suma del final."""

import torch

from course_checkers.engine.lines import line
from course_checkers.lessons.l01_lines import match
from course_checkers.lessons.l03_lines import positive, scale, share
from course_checkers.lessons.l04_lines import hide


def mix(weights, V):
    return weights @ V


def attend(Q, K, V, mask):
    return mix(share(positive(hide(scale(match(Q, K), Q.shape[-1]), mask))), V)


def add(x, change):
    return x + change


def weights(Q, K):
    return share(positive(scale(match(Q, K), Q.shape[-1])))


P = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]])
V = torch.tensor([[8.0, 0, 1, 0], [0, 4, 0, 2], [0, 8, 3, 0]])
HEADS_V = torch.arange(60.0).reshape(4, 3, 5) % 7
# 2 queries y 3 keys, con d_k = 4 y d_v = 5, y 3 y 2, con 3 y 5: «match» es de tablas.
Q, K = torch.arange(8.0).reshape(2, 4) % 3, torch.arange(12.0).reshape(3, 4) % 5 - 1
KEEP, EVERYONE = torch.tensor([[True, False, False], [True, True, False]]), torch.tensor(True)
ONE, FREE = (Q, K, HEADS_V[0], KEEP), (K[:, :3] - 1, Q[:, 1:], HEADS_V[0, :2], EVERYONE)
X, CHANGE = torch.tensor([[1.0, 1, 0, 0], [2, 0, 3, 0]]), torch.tensor([[0.0, 2, 5, 1], [1, 0, 0, 4]])
LINES = (
    line(__file__, "5.a", mix, ((P, V), (P.mT[:, :1], V[:1])), {
        "sin-pesos": lambda weights, V: V,
        "sin-value": lambda weights, V: weights,
        "media": lambda weights, V: weights @ V / V.shape[-2],
    }),
    line(__file__, "5.b", attend, (ONE, FREE), {
        "máscara-ignorada": lambda Q, K, V, mask: mix(weights(Q, K), V),
        "máscara-después": lambda Q, K, V, mask: mix(weights(Q, K) * mask, V),
        "sin-escala": lambda Q, K, V, mask: mix(share(positive(hide(match(Q, K), mask))), V),
        "sin-value": lambda Q, K, V, mask: share(positive(hide(scale(match(Q, K), Q.shape[-1]), mask))),
    }),
    line(__file__, "5.c", add, ((X, CHANGE), (HEADS_V, HEADS_V.flip(0))), {
        "se-pierde-lo-suyo": lambda x, change: change,
        "sin-el-cambio": lambda x, change: x,
        "media": lambda x, change: (x + change) / 2,
    }),
)  # fmt: skip
