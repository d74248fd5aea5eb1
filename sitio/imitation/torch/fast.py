"""El producto de matrices. En la página, el de NumPy va muy despacio, y lo hace ``bert.wat`` en la misma memoria."""

import math

import numpy as np

MULTIPLY = []  # lo que da la página: recibe direcciones y tamaños
WORTH = 2**14  # multiplicaciones: para menos, tarda más llamarlo


def product(x, y):
    """``x @ y``. Con una matriz y el ancho múltiplo de cuatro, con ``bert.wat``."""
    k, p = y.shape[-2:] if y.ndim > 1 else (0, 0)
    rows = math.prod(x.shape[:-1])
    if not MULTIPLY or x.dtype != np.float32 or y.dtype != np.float32 or y.ndim != 2 or k % 4 or rows * k * p < WORTH:
        return np.matmul(x, y)
    wide = np.zeros((rows + -rows % 4, k), np.float32)
    wide[:rows] = x.reshape(rows, k)
    turned = np.ascontiguousarray(y.T) if p % 2 == 0 else np.concatenate([y.T, np.zeros((1, k), np.float32)])
    found = np.empty((len(wide), len(turned)), np.float32)
    places = (one.__array_interface__["data"][0] for one in (wide, turned, found))
    MULTIPLY[0](*places, *found.shape, 4 * k)
    return np.ascontiguousarray(found[:rows, :p]).reshape(*x.shape[:-1], p)
