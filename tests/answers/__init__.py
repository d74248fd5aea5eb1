"""Respuestas de ejercicios, como las escribe la gente: malas y buenas.

Cada módulo es de una comprobación. Una respuesta mala lleva los errores que tiene que nombrar el
informe; una rara no está en ninguna familia: se rechaza sin nombrar ningún error.
"""

from typing import NamedTuple


class Answer(NamedTuple):
    exercise: str  # "5.1"
    name: str
    code: object  # la función o la clase
    expected: tuple  # los errores que hay que nombrar
    kind: str  # "buena", "mala" o "rara"


ANSWERS = []


def _add(exercise, code, expected, kind, name=None):
    ANSWERS.append(Answer(exercise, name or code.__name__, code, expected, kind))
    return code


def right(exercise):
    """Una respuesta buena: no se puede rechazar."""
    return lambda code: _add(exercise, code, (), "buena")


def wrong(exercise, *expected):
    """Una respuesta mala, con los identificadores de todos sus errores."""
    assert expected
    return lambda code: _add(exercise, code, expected, "mala")


def odd(exercise):
    """Una respuesta mala que no se parece a ningún error conocido."""
    return lambda code: _add(exercise, code, (), "rara")
