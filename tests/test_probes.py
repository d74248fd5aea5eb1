"""Lo que se prueba de más a quien lo acierta todo: ni quien guarda algo, ni quien solo acierta en unos
tamaños, unos números o una memoria, pasa. Las respuestas buenas las mira ``test_answers``."""

import pytest
import torch
from helpers_answers import ALL, EXERCISES

GOOD = {}
for answer in ALL:
    if answer.kind == "buena" and answer.exercise not in ("6.2", "7.1"):
        GOOD.setdefault(answer.exercise, answer.code)

# --- Quien guarda algo de una llamada a otra -------------------------------------------------------


def size(x):
    return tuple(x.shape) if isinstance(x, torch.Tensor) else repr(x)


def measured(measure):
    """De un tensor, lo que mide y algo de sus números."""
    alone = lambda x: x.double().nan_to_num(0, 9, -9).flatten() if x.numel() else torch.zeros(1)  # noqa: E731
    return lambda x: (size(x), measure(alone(x)) if isinstance(x, torch.Tensor) else None)


KEYS = {  # qué mira de cada argumento quien quiere saber si ya lo ha visto
    "nada": lambda x: None,
    "la-clase": type,
    "la-forma": size,
    "la-identidad": lambda x: id(x) if isinstance(x, torch.Tensor) else repr(x),
    "la-memoria": lambda x: x.data_ptr() if isinstance(x, torch.Tensor) else repr(x),
    "el-primero": measured(lambda x: float(x[0])),
    "la-suma": measured(lambda x: round(float(x.sum()), 3)),
    "media-y-desviación": measured(
        lambda x: tuple(round(float(y), 3) for y in (x.mean(), x.std()))
    ),
    "extremos": measured(lambda x: (float(x.min()), float(x.max()))),
    "redondeados": measured(lambda x: tuple((10 * x).round().tolist())),
}
WHOLE = {
    "0.1",
    "1.3",
    "4.2",
    "4.3",
    "6.1",
    "8.1",
    "11.1",
}  # entran o salen enteros: redondear no se nota
NO_TENSORS = {"2.1", "4.1", "10.2"}
VIEWS = {"6.1"}  # lo que devuelve es lo mismo que recibe, puesto de otra forma


def keeper(function, key, forgotten=None):
    """Guarda lo que da por la clave de cada argumento, menos uno."""
    kept = {}

    def answer(*arguments):
        known = tuple(key(x) for place, x in enumerate(arguments) if place != forgotten)
        if (len(arguments), known) not in kept:
            kept[len(arguments), known] = function(*arguments)
        return kept[len(arguments), known]

    return answer


@pytest.mark.parametrize(("number", "name"), [
    (number, name)
    for number in GOOD
    for name in KEYS
    if not (number in NO_TENSORS and name not in ("nada", "la-clase"))
    and not (number in WHOLE and name == "redondeados")
    and not (number in VIEWS and name in ("la-identidad", "la-memoria"))
])  # fmt: skip
def test_what_is_kept_is_seen(number, name):
    assert not EXERCISES[number].check(keeper(GOOD[number], KEYS[name])).ok


@pytest.mark.parametrize(("number", "place"), [
    (number, place)
    for number in GOOD
    for place in range(len(EXERCISES[number].names))
    if len(EXERCISES[number].names) > 1 and number != "10.2"  # el modelo ya dice cuáles son las marcas
])  # fmt: skip
def test_forgetting_one_argument_is_seen(number, place):
    exact = measured(lambda x: tuple(x.tolist()))
    assert not EXERCISES[number].check(keeper(GOOD[number], exact, place)).ok
