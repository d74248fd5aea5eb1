"""La softmax: puntuaciones, temperatura, una constante que no cambia nada y el porcentaje."""

import math

import torch

from course_lib.explorers.base import Explorer, esm, listed, written
from course_lib.explorers.declared import Items, Real

LIMIT = 10.0  # hasta dónde llega una puntuación, a los dos lados de 0
TIE = 1e-9  # por debajo, dos puntuaciones son iguales y una suma es 0


def compute(logits, temperature=1.0, shift=0.0):
    """Reparte un peso entre las puntuaciones x, con la softmax y con el porcentaje.

    Returns:
        Diccionario con ``weights`` (la softmax de (x + c) / T), ``exponentials`` (las de la softmax,
        tras restar el máximo), ``percentages`` (cada x + c entre la suma de todas, o ``None`` si
        suman 0), ``best`` (las posiciones de la mayor puntuación: más de una, si empatan) y ``winner``
        (la suya, o ``None`` si empatan).
    """
    shifted = torch.tensor(logits, dtype=torch.float64) + shift
    scaled = shifted / temperature
    weights = torch.softmax(scaled, dim=-1)
    total, top = math.fsum(shifted.tolist()), max(logits)
    best = [i for i, x in enumerate(logits) if top - x < TIE]
    return {
        "weights": weights.tolist(), "exponentials": torch.exp(scaled - scaled.max()).tolist(),
        "percentages": None if abs(total) < TIE else (shifted / total).tolist(),
        "best": best, "winner": best[0] if len(best) == 1 else None,
    }  # fmt: skip


class SoftmaxExplorer(Explorer):
    """De dos a ocho puntuaciones que se arrastran, y los pesos que les da la softmax.

    Args:
        logits: x, de dos a ocho números entre −10 y 10.
        temperature: T, número entre 0.1 y 10 por el que se dividen.
        shift: c, número entre −20 y 20 que se suma a todas.
    """

    _esm = esm("softmax")
    logits = Items(Real(-LIMIT, LIMIT), 2, 8, "una lista de 2 a 8 números {}. Por ejemplo, [1, 2, 3]", key="x")
    temperature = Real(0.1, 10, 1.0, "un número {}. Con 1, las puntuaciones no cambian", key="temperatura")
    shift = Real(-20, 20, 0.0, "un número {}. Con 0, no se suma nada", key="c")

    def __init__(self, logits=(1, 2, 3), **state):
        super().__init__(logits=logits, **state)

    def describe(self):
        result = compute(self.logits, self.temperature, self.shift)
        named = ", ".join(f"{round(x, 2) + 0.0:g}" for x in self.logits)
        best = result["best"]
        end = f"gana la {best[0] + 1}.ª" if len(best) == 1 else f"empatan {len(best)}"
        compared, percentages = "el porcentaje no existe", result["percentages"]
        if percentages is not None:
            wrong = " (no son pesos: hay negativos)" if min(percentages) < -TIE else ""
            compared = f"porcentajes: {listed(percentages)}{wrong}"
        return (
            f"Puntuaciones: {named}; c = {round(self.shift, 2) + 0.0:g}; T = {written(self.temperature)}; "
            f"pesos: {listed(result['weights'])}; {end}; {compared}."
        )
