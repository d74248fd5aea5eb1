"""Las formas de tapar con la máscara: antes de la softmax, en las puntuaciones, o después, en los pesos.

Cada forma es una pareja ``(antes, después)``: lo que se hace a las puntuaciones y a los pesos.
"""

import math

import torch

from course_checkers.engine import Option, show, told, ways
from course_checkers.steps.attention import divisor_in, early_scales, not_a_number, row_sums


def too_much(look, row, amount, whom):
    """La frase de un peso que tenía que ser 0."""
    return f"Con {look.case.name}, tu query {row} da un peso de {show(amount)} {whom}, y tenía que dar 0."


def blocked_weight(look):
    """Cuánto peso se llevan los tokens prohibidos."""
    mask, weights = look.case.arguments[3], look.traced["weights"]
    leaked = weights.masked_fill(mask, 0.0).reshape(-1, *weights.shape[-2:])[0]
    row = int(leaked.abs().sum(-1).argmax())
    amount = leaked[row].sum()
    known = not amount.isnan() and amount != 0
    return too_much(look, row, amount, "a tokens prohibidos") if known else ""


def leaked_weight(allowed, whom, all_sentences=False):
    """Cuánto peso se lleva lo que no se ve, si es la cabeza la que pone la máscara.

    Args:
        allowed: de los argumentos de una prueba, quién se ve; sin máscara, ``None``.
        whom: a quién se da ese peso, como se dice en una frase.
        all_sentences: si se mira todo el lote, y no solo la primera frase.
    """

    def story(look):
        weights, visible = look.traced["weights"], allowed(*look.case.arguments)
        if visible is None:
            return ""
        if weights.shape != look.traced_right["weights"].shape or weights.isnan().any():
            return not_a_number(look)
        leaked = weights.masked_fill(visible, 0.0).abs().sum(-1)[: None if all_sentences else 1]
        sentence, row = divmod(int(leaked.argmax()), leaked.shape[1])
        where = f"{row} de la frase {sentence}" if all_sentences else row
        return too_much(look, where, leaked.max(), whom) if leaked.max() >= 1e-6 else ""

    return story


def masks(section, leaked):
    """Los errores de tapar, con la consecuencia de los que dejan peso a lo prohibido."""
    return told(
        __file__, section, leaked, máscara_después=row_sums, máscara_suma_a_pesos=row_sums,
        máscara_tapa_pesos=None, máscara_reparte_otra_vez=not_a_number, máscara_causal_siempre=None,
        máscara_cero_prohibido=not_a_number, máscara_entre_dos_softmax=None,
    )  # fmt: skip


MASKS = masks("mask", blocked_weight)
WEAK, ALWAYS_CAUSAL = MASKS["máscara-poco-negativa"], MASKS["máscara-causal-siempre"]
LOWEST = torch.finfo(torch.float32).min
TOO_WEAK = (-1, -2, -3, -5, -10, -20, -50, -99, -100, -999, -1000)  # no bastan para prohibir


def filled(number):
    """Tapar con un número: las puntuaciones, antes de la softmax, o por error los pesos."""
    return lambda scores, mask: scores.masked_fill(~mask, number)


def before(*functions):
    return [(function, None) for function in functions]


def after(*functions):
    return [(None, function) for function in functions]


def zero_and_share(epsilon):
    """Pone a 0 los pesos prohibidos y vuelve a dividir por la suma."""
    return lambda weights, mask: weights * mask / ((weights * mask).sum(-1, keepdim=True) + epsilon)


def triangle(rows, columns, offset=0):
    return torch.ones(rows, columns, dtype=torch.bool).tril(offset)


def causal(scores):
    """Siempre la causal, se pida la que se pida."""
    return scores.masked_fill(~triangle(*scores.shape[-2:]), -torch.inf)


def causal_instead(scores, mask):
    return causal(scores)


HIDE = filled(-torch.inf)
SHARED_AGAIN = after(zero_and_share(0.0), zero_and_share(1e-9))
# Las formas malas que se ven en todas partes, con las más frecuentes delante.
EVERYWHERE = (
    ("máscara-ignorada", *before(lambda scores, mask: scores)),
    ("máscara-al-revés", *before(lambda scores, mask: scores.masked_fill(mask, -torch.inf))),
    ("máscara-después", *after(lambda weights, mask: weights * mask)),
    ("máscara-a-cero", *before(lambda scores, mask: scores * mask)),
    ("máscara-sumada", *before(lambda s, mask: s + mask, lambda s, mask: s - (~mask).float())),
    ("máscara-al-revés", *before(lambda scores, mask: scores.masked_fill(mask, -1e9))),
    ("máscara-al-revés", *before(lambda s, m: s + m * -1e9, lambda s, m: s + m * -1e4)),
    ("máscara-signo#∞", *before(filled(torch.inf))),
    ("máscara-signo", *before(filled(1e9))),
    (("máscara-después", "máscara-al-revés"), *after(lambda weights, mask: weights * ~mask)),
    ("máscara-tapa-pesos", *after(HIDE, filled(-1e9), filled(LOWEST))),
    ("máscara-suma-a-pesos", *after(lambda weights, mask: weights + mask)),
    ("máscara-reparte-otra-vez", *SHARED_AGAIN),
)
GOOD = [
    (HIDE, None),
    # Igual de buenas: solo se distinguen si una fila entera está prohibida.
    (filled(-1e9), None),
    (filled(-1e9), lambda weights, mask: weights * mask),
]
MASK_OPTIONS = ways(
    MASKS,
    [*GOOD, *SHARED_AGAIN],  # repartir otra vez solo es un error si antes ya se ha repartido bien
    *EVERYWHERE,
    ("máscara-otro-eje", *before(lambda scores, mask: HIDE(scores, mask.mT))),
    ("máscara-otro-eje", *before(lambda scores, mask: filled(-1e9)(scores, mask.mT))),
    ("máscara-causal-fija", *before(causal_instead)),
    ("máscara-poco-negativa", *before(*(filled(float(number)) for number in TOO_WEAK))),
    ("máscara-al-revés", (lambda s, mask: s.masked_fill(mask, -1e9), lambda w, mask: w * ~mask)),
)


def shared(scores, mask, hide, softmax, naive, late=None):
    """Las puntuaciones y los pesos, con lo que se tapa antes y después; ``late``, lo que se divide tarde."""
    before, after = hide if mask is not None else (None, None)
    scores = before(scores, mask) if before else scores
    weights = softmax(scores, naive)
    weights = weights if late is None else weights / late
    return scores, after(weights, mask) if after else weights


def own_mask(missing, leaked):
    """Los errores de una cabeza que pone ella la máscara, y las formas de tapar que hay en ella.

    ``missing``, el error de no tapar nada; ``leaked``, la consecuencia de los que dejan peso.
    """
    known = masks("mask", leaked) | masks("own_mask", leaked)
    return known, ways(
        known | {"máscara-ignorada": missing},
        GOOD,
        *EVERYWHERE,
        ("máscara-suma-uno", *before(lambda scores, mask: scores + (~mask).float())),
        ("máscara-cero-prohibido", *before(lambda scores, mask: HIDE(scores, scores * mask != 0))),
        ("máscara-entre-dos-softmax", *after(lambda w, mask: HIDE(w, mask).softmax(-1))),
    )


def measured_in(look):
    """Lo que se mide en una atención: por cuánto se divide y, si es pequeño, con qué número se tapa.

    ``look``: de un ``Attempt``, query, key, value y máscara, de cuatro ejes, la salida, un número, o ``None``.
    """

    def scales(attempt):
        def measure(d_k):
            """Con dos keys, se lee en la salida por cuánto se dividen las puntuaciones."""
            query, key, value = (torch.zeros(1, 1, n, d) for n, d in ((1, d_k), (2, d_k), (2, 1)))
            query[..., 0], key[..., 0, 0], value[..., 0, 0] = 1.0, 1.0, 1.0
            return divisor_in(look(attempt, query, key, value, None))

        return early_scales(measure)

    def fills(attempt):
        """Lo que pesa lo tapado, con todas las puntuaciones a 0."""
        zeros, value = torch.zeros(1, 1, 2, 1), torch.tensor([[[[0.0], [1.0]]]])
        mask = torch.tensor([[[[True, False]]]])
        weight = look(attempt, zeros[:, :, :1], zeros, value, mask)
        if weight is not None and 1e-6 < weight < 0.5:
            number = math.log(weight / (1 - weight))
            yield Option((filled(number), None), WEAK)
            yield Option((lambda scores, mask: scores + (~mask) * number, None), WEAK)

    return {"scale": scales, "mask": fills}


def searched_fill(leaked, weak):
    """Con qué número se tapa, sea el que sea: se baja lo que se ve hasta que lo tapado pesa lo mismo.

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
