"""4.2 · La máscara de relleno: {qué tokens son de verdad} × {columnas, filas…} × {del derecho, al revés}.

Con qué convenio y con qué ejes está escrita lo mira ``steps.mask_notation``.
"""

import functools

import torch
from torch.nn.functional import pad

from course_checkers.engine import Stage, ways
from course_checkers.steps import padding as steps
from course_checkers.steps.mask_notation import Masks, permitted, told_of
from course_lib.masks import causal_mask

TOLD = told_of(__file__, "4.2")
INVERTED = ways(TOLD, False, ("al-revés", True))


@functools.lru_cache(maxsize=1 << 14)
def padding(real, edge, side, whole, parts, causal, attention_mask):
    """Lo que deja mirar una máscara de relleno, con cada paso dado de la forma que se pide."""
    B, L = attention_mask.shape
    tokens = edge(real(attention_mask == 1))
    mask = steps.applied(~tokens if parts else tokens, side)
    mask = ~mask if whole else mask
    return (mask & causal_mask(L) if causal else mask).expand(B, 1, L, L)


class PaddingMask(steps.PaddedMask):
    """Comprueba una máscara de relleno.

    Args:
        function: recibe ``attention_mask``, de forma ``(B, L_k)``, con 1 en los tokens de verdad y 0 en
            el relleno, y devuelve una máscara booleana ``(B, 1, 1, L_k)``; True = puede mirar.
    """

    number, title, points = "4.2", "la máscara de relleno", 2
    axes = {
        "real": [*steps.REAL_OPTIONS, *ways(TOLD, [], ("no-tapa-el-relleno", torch.ones_like))],
        "edge": ways(
            TOLD,
            torch.clone,
            ("falta-el-último", lambda real: real & (steps.from_the_end(real) > 1)),
            ("un-relleno-de-más", lambda real: real | pad(real, (1, 0))[:, :-1]),
            ("falta-el-primero", lambda real: real & (real.cumsum(-1) > 1)),
        ),
        "side": steps.SIDE_OPTIONS,
        "whole": INVERTED,
        "parts": INVERTED,
        "causal": ways(TOLD, False, ("causal-de-más", True)),
    }
    stages, mask = (Stage(tuple(axes), steps.CASES),), staticmethod(padding)
    reader = Masks(
        lambda attention_mask: (len(attention_mask), 1, 1, attention_mask.shape[1]),
        "Da lo mismo si las queries son los mismos tokens que las keys. Con un 1 en su eje vale siempre.",
    )
    must = (permitted(__file__, "4.2 propiedades"),)

    def skip(self, choice):
        """Al revés, «filas-o-columnas» es «filas-y-columnas»."""
        turned = choice["parts"].value or choice["whole"].value
        return turned and choice["side"].value is steps.either_side
