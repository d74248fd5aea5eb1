"""De ``torch.linalg``, las longitudes."""

import numpy as np

from torch.core import FUNCTIONS, made
from torch.overrides import heard, lacking


@heard
def norm(A, ord=2, dim=None, keepdim=False):
    return FUNCTIONS["norm"](A, 2 if ord is None else ord, dim, keepdim)


@heard
def inv(A):
    return made(np.linalg.inv(A.array), dtype=A.dtype)


@heard
def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return A.diagonal(offset, dim1, dim2)


@heard
def qr(A, mode="reduced"):
    return tuple(made(part, dtype=A.dtype) for part in np.linalg.qr(A.array, mode))


vector_norm = norm


__getattr__ = lacking("torch.linalg")
