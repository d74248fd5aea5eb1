"""Lo que comparten los ejercicios que devuelven números: lo que se mide y lo que tienen que cumplir."""

import math
from dataclasses import replace
from functools import cached_property

import torch

from course_checkers.engine import Exercise, Numbers, Option, finite, right_shape, same, show, told

KNOWN = told(__file__, "number")


def itself(x):
    return x


def rounded(decimals):
    return lambda x: (x.double() * 10**decimals).round().div(10**decimals).float()


def mean_square(x, dims=(-1,), less=0):
    """La media de los cuadrados, con sus ejes; se divide por ``less`` de menos, y si es por 0 sale NaN."""
    many = math.prod(x.shape[dim] for dim in dims) - less
    return x.square().sum(dims, keepdim=True) / (many or math.nan)


def constant(attempt):
    """Si la salida es la misma en todas las pruebas: no dice qué cuenta hay detrás."""
    first, *others = attempt.seen.values()
    return isinstance(first, torch.Tensor) and all(same(first, other) for other in others)


def by_a_number(read):
    """La salida buena por un número fijo, o más un número fijo: se mide cuál."""
    known = {name: replace(mistake, read=read) for name, mistake in KNOWN.items()}

    def measure(attempt):
        case = attempt.exercise.all_cases()[0]
        yours, right = attempt.ask(*case.arguments), attempt.exercise.trace({}, case)["output"]
        if yours is not None and yours.shape == right.shape and yours.isfinite().all():
            factor, extra = (float(x.flatten()[0]) for x in (yours / right, yours - right))
            yield Option(lambda x: x * factor, known["factor-de-más"].saying(number=show(factor)))
            yield Option(lambda x: x + extra, known["suma-de-más"].saying(number=show(extra)))

    return measure


def must(read, shape):
    """Que la salida cambie con los datos, mida lo que da ``shape`` con los argumentos y sea finita."""

    def moves(attempt):
        if constant(attempt) and (value := next(iter(attempt.seen.values()))).isfinite().all():
            story = f"Vale {show(value)} en todas las pruebas."
            if not value.any():
                story += " ¿Multiplicas por un total que empieza en 0?"
            yield replace(KNOWN["siempre-lo-mismo"], read=read).found(story)

    story = "Con {name}, mide {yours} y tenía que medir {right}."
    shaped = right_shape(shape, "La forma de tu salida no es la que se pide.", read, story)
    text = "Tu salida no es un número de verdad: es NaN o ∞."
    return moves, shaped, finite(read, text, story="Pasa con {name}.")


class NumberExercise(Exercise):
    """Lo que declara casi todo ejercicio que devuelve números; ``section`` es donde se explica."""

    section = ""
    reader, silent, also = Numbers(), (constant,), tuple(KNOWN)
    measured = cached_property(lambda self: {"finish": by_a_number(self.section)})
