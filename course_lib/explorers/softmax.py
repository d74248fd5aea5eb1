"""La softmax: puntuaciones, temperatura, una constante que no cambia nada y el porcentaje."""

import math

import torch
import traitlets

from course_lib.explorers.base import SHARED, Explorer, esm

LIMIT = 10.0  # hasta dónde llega una puntuación, a los dos lados de 0
FEWEST, MOST = 2, 8  # cuántas puntuaciones caben
COLDEST, HOTTEST = 0.1, 10.0  # la temperatura
SHIFT_LIMIT = 20.0  # la constante que se suma a todas
TIE = 1e-9  # por debajo, dos puntuaciones son iguales y una suma es 0


def compute(logits, temperature=1.0, shift=0.0):
    """Reparte un peso entre las puntuaciones, con la softmax y con el porcentaje.

    Args:
        logits: las puntuaciones, x.
        temperature: T, por la que se divide antes de la softmax.
        shift: c, la constante que se suma a todas las puntuaciones.

    Returns:
        Diccionario con ``weights`` (la softmax de (x + c) / T), ``exponentials`` (las de la softmax,
        tras restar el máximo), ``percentages`` (cada x + c entre la suma de todas, o ``None`` si
        suman 0), ``entropy`` (de los pesos, con logaritmo natural), ``best`` (las posiciones de la
        mayor puntuación: más de una, si empatan) y ``winner`` (la suya, o ``None`` si empatan).
    """
    shifted = torch.tensor(logits, dtype=torch.float64) + shift
    scaled = shifted / temperature
    weights = torch.softmax(scaled, dim=-1)
    total, top = math.fsum(shifted.tolist()), max(logits)
    best = [i for i, x in enumerate(logits) if top - x < TIE]
    return {
        "weights": weights.tolist(), "exponentials": torch.exp(scaled - scaled.max()).tolist(),
        "percentages": None if abs(total) < TIE else (shifted / total).tolist(),
        "entropy": torch.special.entr(weights).sum().item(), "best": best,
        "winner": best[0] if len(best) == 1 else None,
    }  # fmt: skip


class SoftmaxExplorer(Explorer):
    """De dos a ocho puntuaciones que se arrastran, y los pesos que les da la softmax.

    Args:
        logits: de dos a ocho números entre −10 y 10.
        temperature: número entre 0.1 y 10 por el que se dividen.
        shift: número entre −20 y 20 que se suma a todas.

    Raises:
        traitlets.TraitError: si un valor no es un número o se sale de su margen.
    """

    _esm = esm("softmax")
    # `TraitType`, y no `List` o `Float`: así lo que está mal se dice siempre en español.
    logits = traitlets.TraitType().tag(**SHARED)
    temperature = traitlets.TraitType(1.0).tag(**SHARED)
    shift = traitlets.TraitType(0.0).tag(**SHARED)

    @traitlets.default("logits")
    def _first(self):
        return [1.0, 2.0, 3.0]

    @traitlets.validate("logits")
    def _check_logits(self, proposal):
        numbers = _numbers(proposal["value"])
        if not FEWEST <= len(numbers) <= MOST or not all(abs(x) <= LIMIT for x in numbers):
            raise traitlets.TraitError(
                f"SoftmaxExplorer: logits = {proposal['value']!r:.80}, y tienen que ser de "
                f"{FEWEST} a {MOST} números entre −{LIMIT:g} y {LIMIT:g}. Por ejemplo, [1, 2, 3]."
            )
        return numbers

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal):
        return _within(proposal, COLDEST, HOTTEST, "Con 1, las puntuaciones no cambian.")

    @traitlets.validate("shift")
    def _check_shift(self, proposal):
        return _within(proposal, -SHIFT_LIMIT, SHIFT_LIMIT, "Con 0, no se suma nada.")

    def describe(self):
        result = compute(self.logits, self.temperature, self.shift)
        named = ", ".join(f"{round(x, 2) + 0.0:g}" for x in self.logits)
        best = result["best"]
        end = f"gana la {best[0] + 1}.ª" if len(best) == 1 else f"empatan {len(best)}"
        compared, percentages = "el porcentaje no existe", result["percentages"]
        if percentages is not None:
            wrong = " (no son pesos: hay negativos)" if min(percentages) < -TIE else ""
            compared = f"porcentajes: {_list(percentages)}{wrong}"
        return (
            f"Puntuaciones: {named}; c = {round(self.shift, 2) + 0.0:g}; T = {_text(self.temperature)}; "
            f"pesos: {_list(result['weights'])}; {end}; entropía {_text(result['entropy'])} "
            f"de {_text(math.log(len(self.logits)))}; {compared}."
        )


def _numbers(values):
    """Los números de una lista, una tupla o un tensor; ninguno, si hay algo que no lo es."""
    try:
        return [float(x + 0.0) for x in values]
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return []


def _within(proposal, low, high, advice):
    numbers = _numbers([proposal["value"]])
    if not numbers or not low <= numbers[0] <= high:
        limits = f"{low:g} y {high:g}".replace("-", "−")
        raise traitlets.TraitError(
            f"SoftmaxExplorer: {proposal['trait'].name} = {proposal['value']!r:.80}, y tiene que "
            f"ser un número entre {limits}. {advice}"
        )
    return numbers[0]


def _text(number):
    """Dos decimales. Antes redondea a nueve: el último bit no decide un empate."""
    return f"{round(number, 9):z.2f}"


def _list(numbers):
    return ", ".join(map(_text, numbers))
