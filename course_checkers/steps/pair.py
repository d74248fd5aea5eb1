"""La pareja (salida, pesos): su orden y qué se devuelve como pesos."""

from course_checkers.engine.comparing import same
from course_checkers.engine.mistakes import mistakes, told

TOLD = told(__file__, "pair")
RETURNED = ("orden-de-la-pareja", "devuelve-puntuaciones", "devuelve-pesos-traspuestos")


def has_both(value):
    """Si con la salida se devuelve algo más."""
    return isinstance(value, tuple) and len(value) > 1 and value[1] is not None


def wrong_pair(attempt, choice, values=None):
    """Los ``Finding`` de lo que se devuelve con la salida, si no son los pesos que la dan.

    Args:
        values: prueba → lo que se mira, si no es todo lo que ha devuelto.
    """
    for case, value in (attempt.values if values is None else values).items():
        if not has_both(value):
            continue
        (output, weights), traced = value[:2], attempt.exercise.trace(choice, case)
        if same(output, traced["weights"]) and same(weights, traced["output"]):
            name = "orden-de-la-pareja"
        elif same(weights, traced["weights"]):
            continue
        elif same(weights, traced["scores"]):
            name = "devuelve-puntuaciones"
        elif same(weights.mT, traced["weights"]):
            name = "devuelve-pesos-traspuestos"
        else:
            name = "devuelve-otros-pesos"
        return [TOLD[name].found()]
    return []


def both(attempt, choice):
    """Un ``Finding`` si falta la segunda: para los ejercicios cuyo enunciado pide la pareja.

    Con otros errores no se dice: se arreglan antes.
    """
    complete = all(map(has_both, attempt.values.values()))
    return [] if complete or mistakes(choice) else [TOLD["sin-los-pesos"].found()]
