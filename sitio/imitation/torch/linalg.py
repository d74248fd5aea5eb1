"""De ``torch.linalg``, las longitudes."""

import numpy as np

from torch.core import FUNCTIONS, made
from torch.overrides import heard, refuse


@heard
def norm(A, ord=2, dim=None, keepdim=False):
    return FUNCTIONS["norm"](A, 2 if ord is None else ord, dim, keepdim)


@heard
def inv(A):
    return made(np.linalg.inv(A.array), dtype=A.dtype)


vector_norm = norm


def __getattr__(name):
    if name[0] == "_":
        raise AttributeError(name)
    refuse(f"torch.linalg.{name}")
