"""Las formas de tapar con la máscara: antes de la softmax, en las puntuaciones, o después, en los pesos.

Cada forma es una pareja ``(antes, después)``: lo que se hace a las puntuaciones y a los pesos.
"""

import math

import torch

from course_lib.checkers.engine.comparing import show
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.steps.attention import not_a_number, row_sums


def blocked_weight(look):
    """Cuánto peso reciben los tokens prohibidos."""
    mask, weights = look.case.arguments[3], look.traced["weights"]
    if mask is None:
        return ""
    leaked = weights.masked_fill(mask.expand_as(weights), 0.0)
    leaked = leaked.reshape(-1, *leaked.shape[-2:])[0]
    row = leaked.abs().sum(-1).argmax()
    amount = leaked[row].sum()
    if amount.isnan() or amount == 0:
        return ""
    return (
        f"Con {look.case.name}, tu query {int(row)} da un peso de {show(amount)} a tokens prohibidos, "
        "y tenía que dar 0."
    )


MASKS = told(
    __file__, "mask", blocked_weight,
    máscara_después=row_sums, máscara_suma_a_pesos=row_sums, máscara_tapa_pesos=None,
    máscara_causal_siempre=None, **{"máscara_signo#∞": not_a_number},
)  # fmt: skip
WEAK, ALWAYS_CAUSAL = MASKS["máscara-poco-negativa"], MASKS["máscara-causal-siempre"]
LOWEST = torch.finfo(torch.float32).min
TOO_WEAK = (-1, -2, -3, -5, -10, -20, -50, -99, -100, -999, -1000)  # no bastan para prohibir


def filled(number):
    """Tapar con un número, antes de la softmax."""
    return lambda scores, mask: scores.masked_fill(~mask, number)


def before(*functions):
    return [(function, None) for function in functions]


def after(*functions):
    return [(None, function) for function in functions]


def overwritten(number):
    return lambda weights, mask: weights.masked_fill(~mask, number)


def zero_and_share(epsilon):
    """Pone a 0 los pesos prohibidos y vuelve a dividir por la suma."""

    def share(weights, mask):
        kept = weights * mask
        return kept / (kept.sum(-1, keepdim=True) + epsilon)

    return share


def causal(scores):
    """Siempre la causal, se pida la que se pida."""
    return scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)


def causal_instead(scores, mask):
    return causal(scores)


MASK_OPTIONS = ways(
    MASKS,
    [
        (filled(-torch.inf), None),
        # Igual de buenas: solo se distinguen si una fila entera está prohibida.
        (filled(-1e9), None),
        (filled(-1e9), lambda weights, mask: weights * mask),
        # Y estas, casi: solo fallan si lo prohibido tiene puntuaciones mucho más altas.
        (None, zero_and_share(0.0)),
        (None, zero_and_share(1e-9)),
    ],
    ("máscara-ignorada", *before(lambda scores, mask: scores)),
    (
        "máscara-al-revés",
        *before(
            lambda scores, mask: scores.masked_fill(mask, -torch.inf),
            lambda scores, mask: scores.masked_fill(mask, -1e9),
            lambda scores, mask: scores + mask * -1e4,
            lambda scores, mask: scores + mask * -1e9,
        ),
    ),
    ("máscara-a-cero", *before(lambda scores, mask: scores * mask)),
    (
        "máscara-sumada",
        *before(lambda scores, mask: scores + mask, lambda scores, mask: scores - (~mask).float()),
    ),
    (
        "máscara-otro-eje",
        *before(
            lambda scores, mask: scores.masked_fill(~mask.mT, -torch.inf),
            lambda scores, mask: scores.masked_fill(~mask.mT, -1e9),
        ),
    ),
    ("máscara-causal-fija", *before(causal_instead)),
    ("máscara-signo#∞", *before(filled(torch.inf))),
    ("máscara-signo", *before(filled(1e9))),
    ("máscara-poco-negativa", *before(*(filled(float(number)) for number in TOO_WEAK))),
    ("máscara-después", *after(lambda weights, mask: weights * mask)),
    (("máscara-después", "máscara-al-revés"), *after(lambda weights, mask: weights * ~mask)),
    ("máscara-tapa-pesos", *after(*map(overwritten, (-torch.inf, -1e9, LOWEST)))),
    ("máscara-suma-a-pesos", *after(lambda weights, mask: weights + mask)),
    (
        "máscara-al-revés",
        (lambda scores, mask: scores.masked_fill(mask, -1e9), lambda w, mask: w * ~mask),
    ),
)


def found_fills(weight):
    """Con qué número se tapa, si es pequeño: lo que pesa lo tapado, con todas las puntuaciones a 0."""
    if weight is not None and 1e-6 < weight < 0.5:
        number = math.log(weight / (1 - weight))
        yield Option((filled(number), None), WEAK)
        yield Option((lambda scores, mask: scores + (~mask) * number, None), WEAK)
