"""Las tres líneas de la lección 02: proyectar, un paso atrás y sumar la posición."""

import math

import torch

from course_checkers.engine.lines import line


def project(X, W):
    return X @ W


def step_back(length):
    return torch.eye(length).roll(1, dims=0)


def enter(tokens, positions):
    return tokens + positions


X = torch.tensor([[1.0, 2.0], [0.0, 3.0], [4.0, -1.0]])
W = torch.tensor([[0.0, 1.0, 2.0, 5.0], [3.0, 0.0, 1.0, 2.0]])
BATCH = torch.arange(24.0).reshape(2, 3, 4) % 7
WIDE = torch.arange(20.0).reshape(4, 5) % 3
SQUARE = torch.tensor([[0.0, 1.0], [3.0, 2.0]])
LINES = (
    line(__file__, "2.a", project, ((X, SQUARE), (X[0], W), (X, W), (BATCH, WIDE)), {
        "traspuesta": lambda X, W: X @ W.T,
        "sin-proyectar": lambda X, W: X,
        "la-matriz": lambda X, W: W,
        "un-número": lambda X, W: (X @ W).sum(dim=-1),
        "escalada": lambda X, W: X @ W / math.sqrt(W.shape[-1]),
    }),
    line(__file__, "2.b", step_back, ((3,), (5,), (10,)), {
        "siguiente": lambda length: torch.eye(length).roll(-1, dims=0),
        "sin-mover": lambda length: torch.eye(length),
        "sin-corro": lambda length: torch.diag(torch.ones(length - 1), -1),
        "en-espejo": lambda length: torch.eye(length).flip(0),
    }),
    line(__file__, "2.c", enter, ((X, 10 * X.roll(1)), (BATCH, 2 * BATCH.roll(1))), {
        "sin-posición": lambda tokens, positions: tokens,
        "solo-la-posición": lambda tokens, positions: positions,
        "junta": lambda tokens, positions: torch.cat([tokens, positions], dim=-1),
        "multiplica": lambda tokens, positions: tokens * positions,
    }),
)  # fmt: skip
