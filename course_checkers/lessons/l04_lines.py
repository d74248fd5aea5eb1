"""Las tres líneas de la lección 04: el pasado, tapar y juntar dos máscaras."""

import torch

from course_checkers.engine.lines import line


def past(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


def hide(scores, mask):
    return scores.masked_fill(~mask, -torch.inf)


def both(causal, padding):
    return causal & padding


SCORES = torch.arange(1, 7.0).reshape(2, 3) - 3
HEADS = torch.arange(24.0).reshape(2, 1, 3, 4) % 5 - 2
KEEP = torch.tensor([[True, False, True], [True, True, False]])
REAL = torch.tensor([[True, True, True, False], [True, True, False, False]])[:, None, None, :]
LINES = (
    line(__file__, "4.a", past, ((3,), (1,), (5,)), {
        "al-revés": lambda length: torch.ones(length, length, dtype=torch.bool).triu(1),
        "traspuesta": lambda length: torch.ones(length, length, dtype=torch.bool).triu(),
        "sin-diagonal": lambda length: torch.ones(length, length, dtype=torch.bool).tril(-1),
    }),
    line(__file__, "4.b", hide, ((SCORES, KEEP), (HEADS, REAL), (SCORES, torch.tensor(True))), {
        "al-revés": lambda scores, mask: scores.masked_fill(mask, -torch.inf),
        "a-cero": lambda scores, mask: scores * mask,
        "suma-uno": lambda scores, mask: scores + mask,
        "un-número": lambda scores, mask: scores.masked_fill(~mask, -1e9),
        "un-número#mínimo": lambda scores, mask: scores.masked_fill(~mask, torch.finfo(scores.dtype).min),
    }),
    line(__file__, "4.c", both, ((past(4), REAL), (past(3), KEEP[:1])), {
        "o": lambda causal, padding: causal | padding,
        "o-exclusivo": lambda causal, padding: causal ^ padding,
        "sin-relleno": lambda causal, padding: causal,
        "sin-causal": lambda causal, padding: padding,
    }),
)  # fmt: skip
