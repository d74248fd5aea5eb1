"""De ``torch.testing``, la comparación de dos tensores."""

from types import SimpleNamespace

import numpy as np

from torch import core, types
from torch.creation import as_tensor
from torch.overrides import lacking

_comparison = SimpleNamespace()
CLOSE = {types.float16: (1e-3, 1e-5), types.bfloat16: (1.6e-2, 1e-5), types.float32: (1.3e-6, 1e-5)}
CLOSE[types.float64] = (1e-7, 1e-7)


def assert_close(actual, expected, *, rtol=None, atol=None, equal_nan=False, check_dtype=True, msg=None, **_):
    """Que dos tensores, o dos colecciones de ellos, sean casi iguales. Si no, ``AssertionError``."""
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype, "msg": msg}
    if isinstance(actual, list | tuple):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for one, other in zip(actual, expected):
            assert_close(one, other, **options)
        return
    one, other = (x if isinstance(x, core.Tensor) else as_tensor(x) for x in (actual, expected))
    if one.shape != other.shape:
        raise AssertionError(f"The values for attribute 'shape' do not match: {one.shape} != {other.shape}.")
    if check_dtype and isinstance(actual, core.Tensor) and one.dtype != other.dtype:
        raise AssertionError(f"The values for attribute 'dtype' do not match: {one.dtype} != {other.dtype}.")
    if rtol is None:
        pairs = [CLOSE.get(x.dtype, (0.0, 0.0)) for x in (one, other)]
        rtol, atol = (max(pair) for pair in zip(*pairs))
    a, b = (x.array.astype("c16" if x.is_complex() else "f8") for x in (one, other))
    close = np.isclose(a, b, rtol, atol, equal_nan)
    if close.all():
        return
    wrong, total = int((~close).sum()), close.size
    with np.errstate(all="ignore"):
        far = np.where(close, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf))
    text = (
        f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {total} ({100 * wrong / total:.1f}%)\n"
        f"Greatest absolute difference: {far.max()} (up to {atol} allowed)"
    )
    raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


__getattr__ = lacking("torch.testing")
