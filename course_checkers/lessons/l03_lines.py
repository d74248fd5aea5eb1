"""Las tres líneas de la lección 03: el reparto, la exponencial y dividir por √d_k."""

import math

import torch

from course_checkers.engine.lines import line


def share(numbers):
    return numbers / numbers.sum(dim=-1, keepdim=True)


def positive(scores):
    return (scores - scores.amax(dim=-1, keepdim=True)).exp()


def scale(scores, d_k):
    return scores / math.sqrt(d_k)


TABLE = torch.tensor([[1.0, 2.0, 4.0], [8.0, 1.0, 0.5]])
HEADS = torch.arange(1, 25.0).reshape(2, 3, 4) % 7
ROW = torch.tensor([3.0, 1.0])
LINES = (
    line(__file__, "3.a", share, ((TABLE,), (HEADS,), (ROW,)), {
        "todo": lambda numbers: numbers / numbers.sum(),
        "por-columnas": lambda numbers: numbers / numbers.sum(dim=-2, keepdim=True),
        "máximo": lambda numbers: numbers / numbers.amax(dim=-1, keepdim=True),
    }),
    line(__file__, "3.b", positive, ((TABLE,), (HEADS,), (torch.tensor([1000.0, 999.0, -1000.0]),)), {
        "sin-restar": lambda scores: scores.exp(),
        "resta-el-de-todos": lambda scores: (scores - scores.max()).exp(),
    }),
    line(__file__, "3.c", scale, ((TABLE, 4), (HEADS, 9), (ROW, 2), (torch.tensor(6.0), 16)), {
        "por-d_k": lambda scores, d_k: scores / d_k,
        "sin-dividir": lambda scores, d_k: scores,
        "por-la-raíz": lambda scores, d_k: scores * math.sqrt(d_k),
    }),
)  # fmt: skip
