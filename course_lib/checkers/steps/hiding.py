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
    máscara_reparte_otra_vez=not_a_number, máscara_causal_siempre=None,
    **{"máscara_signo#∞": not_a_number},
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


SHARED_AGAIN = after(zero_and_share(0.0), zero_and_share(1e-9))
# Las formas malas que se ven en todas partes, con las más frecuentes delante.
EVERYWHERE = (
    ("máscara-ignorada", *before(lambda scores, mask: scores)),
    ("máscara-al-revés", *before(lambda scores, mask: scores.masked_fill(mask, -torch.inf))),
    ("máscara-después", *after(lambda weights, mask: weights * mask)),
    ("máscara-a-cero", *before(lambda scores, mask: scores * mask)),
    (
        "máscara-sumada",
        *before(lambda scores, mask: scores + mask, lambda scores, mask: scores - (~mask).float()),
    ),
    (
        "máscara-al-revés",
        *before(
            lambda scores, mask: scores.masked_fill(mask, -1e9),
            lambda scores, mask: scores + mask * -1e9,
            lambda scores, mask: scores + mask * -1e4,
        ),
    ),
    ("máscara-signo#∞", *before(filled(torch.inf))),
    ("máscara-signo", *before(filled(1e9))),
    (("máscara-después", "máscara-al-revés"), *after(lambda weights, mask: weights * ~mask)),
    ("máscara-tapa-pesos", *after(*map(overwritten, (-torch.inf, -1e9, LOWEST)))),
    ("máscara-suma-a-pesos", *after(lambda weights, mask: weights + mask)),
    ("máscara-reparte-otra-vez", *SHARED_AGAIN),
)
GOOD = [
    (filled(-torch.inf), None),
    # Igual de buenas: solo se distinguen si una fila entera está prohibida.
    (filled(-1e9), None),
    (filled(-1e9), lambda weights, mask: weights * mask),
]
MASK_OPTIONS = ways(
    MASKS,
    [*GOOD, *SHARED_AGAIN],  # repartir otra vez solo es un error si antes ya se ha repartido bien
    *EVERYWHERE,
    (
        "máscara-otro-eje",
        *before(
            lambda scores, mask: scores.masked_fill(~mask.mT, -torch.inf),
            lambda scores, mask: scores.masked_fill(~mask.mT, -1e9),
        ),
    ),
    ("máscara-causal-fija", *before(causal_instead)),
    ("máscara-poco-negativa", *before(*(filled(float(number)) for number in TOO_WEAK))),
    (
        "máscara-al-revés",
        (lambda scores, mask: scores.masked_fill(mask, -1e9), lambda w, mask: w * ~mask),
    ),
)


def hidden_zeros(scores, mask):
    kept = scores * mask
    return kept.masked_fill(kept == 0, -torch.inf)


def own_mask(missing, leaked):
    """Los errores de tapar en una cabeza que pone ella la máscara, y las formas de hacerlo.

    Args:
        missing: el error de no tapar nada.
        leaked: la consecuencia de los que dejan peso a lo prohibido.
    """
    known = told(
        __file__, "mask", leaked, máscara_después=row_sums, máscara_suma_a_pesos=row_sums,
        máscara_tapa_pesos=None, máscara_reparte_otra_vez=not_a_number,
    )  # fmt: skip
    known |= told(
        __file__, "own mask", leaked, máscara_cero_prohibido=not_a_number, máscara_entre_dos_softmax=None,
    )  # fmt: skip
    between = after(lambda weights, mask: weights.masked_fill(~mask, -torch.inf).softmax(-1))
    return known, ways(
        known | {"máscara-ignorada": missing},
        GOOD,
        *EVERYWHERE,
        ("máscara-suma-uno", *before(lambda scores, mask: scores + (~mask).float())),
        ("máscara-cero-prohibido", *before(hidden_zeros)),
        ("máscara-entre-dos-softmax", *between),
    )


def found_fills(weight):
    """Con qué número se tapa, si es pequeño: lo que pesa lo tapado, con todas las puntuaciones a 0."""
    if weight is not None and 1e-6 < weight < 0.5:
        number = math.log(weight / (1 - weight))
        yield Option((filled(number), None), WEAK)
        yield Option((lambda scores, mask: scores + (~mask) * number, None), WEAK)


def searched_fill(leaked, weak):
    """Con qué número se tapa, sea el que sea.

    Se baja la puntuación de lo que se ve hasta que lo tapado pesa lo mismo.

    Args:
        leaked: de ``low``, el peso de un token tapado frente a otro que se ve y puntúa ``-low``.
        weak: el error.
    """
    low, high = 0.0, 4096.0
    if not leaked(low) < 0.5 < leaked(high):
        return
    for _ in range(40):
        middle = (low + high) / 2
        weight = leaked(middle)
        if 0.01 < weight < 0.99:
            number = math.log(weight / (1 - weight)) - middle
            number = round(number) if abs(number - round(number)) < 1e-3 else number
            yield Option((filled(number), None), weak)
            return
        low, high = (middle, high) if weight < 0.5 else (low, middle)
