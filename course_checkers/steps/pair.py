"""La pareja (salida, pesos): su orden y qué se devuelve como pesos."""

from course_checkers.engine.comparing import same
from course_checkers.engine.mistakes import mistakes, told

TOLD = told(__file__, "pair")
RETURNED = ("orden-de-la-pareja", "devuelve-puntuaciones", "devuelve-pesos-traspuestos")


def wrong_pair(attempt, choice, values=None):
    """Los ``Finding`` de lo que se devuelve con la salida, si no son los pesos que la dan.

    Args:
        values: prueba → lo que se mira, si no es todo lo que ha devuelto.
    """
    for case, value in (attempt.values if values is None else values).items():
        if not isinstance(value, tuple) or len(value) < 2 or value[1] is None:
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
    for value in attempt.values.values():
        if not isinstance(value, tuple) or len(value) < 2 or value[1] is None:
            return [] if mistakes(choice) else [TOLD["sin-los-pesos"].found()]
    return []
