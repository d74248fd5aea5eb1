"""4.3 · La máscara del decoder: {causal, traspuesta…} × {qué tokens son de verdad} × {con una «y», con una «o»…}.

Con qué convenio y con qué ejes está escrita lo mira ``steps.mask_notation``.
"""

import functools
from operator import and_, eq, or_, xor

import torch

from course_checkers.engine import Stage, stepping
from course_checkers.steps import padding as steps
from course_checkers.steps.mask_notation import Masks, permitted, told_of
from course_lib.masks import causal_mask

step = stepping(told_of(__file__, "4.3"))


def triangle(cut):
    """Una causal a partir de su lado: (L, L)."""
    return lambda B, L: cut(torch.ones(L, L, dtype=torch.bool))


UPPER, FUTURE, ALL = (triangle(cut) for cut in (torch.triu, lambda ones: ones.triu(1), torch.clone))


def of_the_batch(B, L):
    return causal_mask(B)


def open_diagonal(causal, mask):
    return causal & mask | torch.eye(causal.shape[-1], dtype=torch.bool)


@functools.lru_cache(maxsize=1 << 15)
def decoder(causal, real, parts, side, join, whole, attention_mask):
    """Lo que deja mirar una máscara de decoder, con cada paso dado de la forma que se pide."""
    B, L = attention_mask.shape
    tokens = real(attention_mask == 1)
    mask = join(causal(B, L), steps.applied(~tokens if parts else tokens, side))
    return (~mask if whole else mask).expand(B, 1, L, L)


class DecoderMask(steps.PaddedMask):
    """Comprueba la máscara de un decoder: causal y de relleno a la vez.

    Args:
        function: recibe ``attention_mask``, de forma ``(B, L)``, con 1 en los tokens de verdad y 0 en el
            relleno, y devuelve una máscara booleana ``(B, 1, L, L)``; True = puede mirar.
    """

    number, title, points = "4.3", "la máscara del decoder", 3
    axes = {
        "causal": step(
            triangle(torch.tril),
            ("sin-diagonal", triangle(lambda ones: ones.tril(-1))),
            ("un-futuro", triangle(lambda ones: ones.tril(1))),
            ("causal-traspuesta", UPPER),
            ("causal-al-revés", FUTURE),
            ("sin-causal", ALL),
            ("longitud-del-lote", of_the_batch),
        ),
        "real": [*steps.REAL_OPTIONS, *step([], ("sin-relleno", torch.ones_like))],
        "parts": step(False, ("relleno-al-revés", True)),
        "side": [*steps.SIDE_OPTIONS, *step([], ("sin-ejes", None))],
        "join": step(
            and_,
            ("o", or_),
            ("suma", lambda causal, mask: causal.int() + mask.int()),
            ("o-exclusivo", xor),
            ("iguales", eq),
            ("diagonal-abierta", open_diagonal),
        ),
        "whole": step(False, ("al-revés", True)),
    }
    stages, mask = (Stage(tuple(axes), steps.CASES),), staticmethod(decoder)
    reader = Masks(
        lambda attention_mask: (len(attention_mask), 1, *[attention_mask.shape[1]] * 2),
        "Por difusión da lo mismo.",
    )
    must = (permitted(__file__, "4.3 propiedades"),)

    def skip(self, choice):
        """Si esto mismo es otro miembro de la familia, que se cuenta mejor."""
        causal, real, parts, side, join, whole = (choice[axis].value for axis in self.axes)
        missing = causal is ALL or real in (torch.ones_like, torch.zeros_like)
        return (
            (missing and (whole or join not in (and_, open_diagonal)))
            or (whole and (parts or join is not and_ or causal is FUTURE))
            or ((parts or whole) and side is steps.either_side)
            or (causal in (UPPER, FUTURE) and join in (xor, eq))
            or (causal is FUTURE and join is open_diagonal)
            or (real in steps.OF_OTHERS and (side is None or causal is of_the_batch))
        )
