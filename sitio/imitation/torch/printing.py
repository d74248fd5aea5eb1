"""Un tensor, como se escribe."""

import numpy as np

from torch import types
from torch.core import Tensor


def number(kind, numbers):
    """Cómo se escribe cada número de un tensor, todos con el mismo ancho."""
    if kind is types.bool_:
        texts = [str(bool(x)) for x in numbers]
    elif kind.category < 2:
        texts = [str(int(x)) for x in numbers]
    else:
        finite = np.abs(np.array([x for x in numbers if np.isfinite(x) and x], float))
        whole = bool(len(numbers)) and all(not np.isfinite(x) or x == round(x) for x in numbers)
        if finite.size and (finite.max() / finite.min() > 1000 or finite.max() > 1e8 or finite.min() < 1e-4):
            form = "{:.4e}" if not whole or finite.max() > 1e8 else "{:.0f}."
        else:
            form = "{:.0f}." if whole else "{:.4f}"
        texts = [form.format(x) if np.isfinite(x) else str(x) for x in map(float, numbers)]
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]


def rows(texts, shape, indent):
    if not shape:
        return texts[0]
    n, rest = shape[0], shape[1:]
    size = len(texts) // n if n else 0
    parts = [rows(texts[i * size : (i + 1) * size], rest, indent + 1) for i in range(n)]
    if not rest:
        return "[" + ", ".join(parts) + "]" if n else "[]"
    return "[" + ("," + "\n" * len(rest) + " " * indent).join(parts) + "]"


def written(x):
    if x.array.size > 1000:
        edge = x.array[tuple(slice(3) if n > 6 else slice(None) for n in x.shape)]
        inside = rows(number(x.dtype, edge.reshape(-1)), edge.shape, 8) + " …"
        return f"tensor({inside}, size={tuple(x.shape)})"
    name = "Parameter containing:\n" if type(x).__name__ == "Parameter" else ""
    inside = rows(number(x.dtype, x.array.reshape(-1)), x.shape, len("tensor(") + 1)
    more = "" if x.array.size or x.array.ndim == 1 else f", size={tuple(x.shape)}"
    plain = x.dtype in (types.default[0], types.int64, types.bool_)
    more += "" if plain and (x.array.size or x.dtype is types.default[0]) else f", dtype={x.dtype}"
    more += ", grad_fn=<>" if x.edges else ", requires_grad=True" if x.requires_grad else ""
    return f"{name}tensor({inside}{more})"


Tensor.__repr__ = written
