"""4.2 · La máscara de relleno: {qué tokens son de verdad} × {columnas, filas…} × {del derecho, al revés}.

Con qué convenio y con qué ejes está escrita lo mira ``steps.mask_notation``.
"""

import functools

import torch

from course_lib.checkers.engine.mistakes import told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.search import Stage
from course_lib.checkers.steps.mask_notation import MaskExercise, Masks, permissions, permitted
from course_lib.checkers.steps.padding import (
    CASES,
    EXTRA,
    REAL_OPTIONS,
    SIDE_OPTIONS,
    TINY,
    applied,
    either_side,
    from_the_end,
)
from course_lib.masks import causal_mask

TOLD = told(__file__, "4.2", permissions) | told(__file__, "todas", permissions)
INVERTED = ways(TOLD, False, ("al-revés", True))


@functools.lru_cache(maxsize=1 << 14)
def padding(real, edge, side, whole, parts, causal, attention_mask):
    """Lo que deja mirar una máscara de relleno, con cada paso dado de la forma que se pide."""
    B, L = attention_mask.shape
    tokens = edge(real(attention_mask == 1))
    mask = applied(~tokens if parts else tokens, side)
    mask = ~mask if whole else mask
    return (mask & causal_mask(L) if causal else mask).expand(B, 1, L, L)


class PaddingMask(MaskExercise):
    """attention_mask (B, L_k) → (B, 1, 1, L_k)."""

    number, title, points = "4.2", "la máscara de relleno", 2
    names = ("attention_mask",)
    axes = {
        "real": [*REAL_OPTIONS, *ways(TOLD, [], ("no-tapa-el-relleno", torch.ones_like))],
        "edge": ways(
            TOLD,
            torch.clone,
            ("falta-el-último", lambda real: real & (from_the_end(real) > 1)),
            (
                "un-relleno-de-más",
                lambda real: real | torch.nn.functional.pad(real, (1, 0))[:, :-1],
            ),
            ("falta-el-primero", lambda real: real & (real.cumsum(-1) > 1)),
        ),
        "side": SIDE_OPTIONS,
        "whole": INVERTED,
        "parts": INVERTED,
        "causal": ways(TOLD, False, ("causal-de-más", True)),
    }
    stages, extra, tiny = (Stage(tuple(axes), CASES),), EXTRA, TINY
    reader = Masks(
        lambda attention_mask: (len(attention_mask), 1, 1, attention_mask.shape[1]),
        "Da lo mismo si las queries son los mismos tokens que las keys. Con un 1 en su eje vale siempre.",
    )
    must = (
        permitted(
            "Tu máscara deja mirar al relleno: hay permisos en columnas en las que attention_mask vale 0.",
            "Tu máscara tapa tokens de verdad: hay prohibiciones en columnas en las que attention_mask vale 1.",
        ),
    )
    notes = (reader.other_shape,)

    def skip(self, choice):
        """Al revés, «filas-o-columnas» es «filas-y-columnas»."""
        turned = choice["parts"].value or choice["whole"].value
        return turned and choice["side"].value is either_side

    def compute(self, choice, attention_mask):
        return {"output": padding(*(choice[axis] for axis in self.axes), attention_mask)}


PADDING = PaddingMask()
EXERCISES = (PADDING,)


def check_padding_mask(function):
    """Comprueba una máscara de relleno.

    Args:
        function: recibe ``attention_mask``, de forma ``(B, L_k)``, con 1 en los tokens de verdad y 0 en
            el relleno, y devuelve una máscara booleana ``(B, 1, 1, L_k)``; True = puede mirar.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(PADDING.check(function))
