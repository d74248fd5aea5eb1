"""De ``torch.linalg``, lo que usan las lecciones."""

import numpy as np

from torch.core import FUNCTIONS, made
from torch.overrides import all_heard, lacking

globals().update(all_heard({
    "norm": lambda A, ord=2, dim=None, keepdim=False: FUNCTIONS["norm"](A, 2 if ord is None else ord, dim, keepdim),
    "inv": lambda A: made(np.linalg.inv(A.array), dtype=A.dtype),
    "diagonal": lambda A, *, offset=0, dim1=-2, dim2=-1: A.diagonal(offset, dim1, dim2),
    "matrix_rank": lambda A: made(np.linalg.matrix_rank(A.array)),
    "qr": lambda A, mode="reduced": tuple(made(part, dtype=A.dtype) for part in np.linalg.qr(A.array, mode)),
}))  # fmt: skip
vector_norm = norm  # noqa: F821
__getattr__ = lacking("torch.linalg")
