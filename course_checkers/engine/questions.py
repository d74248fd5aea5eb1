"""Preguntas con una respuesta: un número, una palabra, una forma o la letra de una opción.

Las respuestas malas que se dan a menudo también se calculan: si la tuya es una de ellas, se dice
de qué cuenta sale.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from course_checkers.engine import running
from course_checkers.engine.catalog import modules
from course_checkers.engine.closing import finish
from course_checkers.engine.mistakes import Option, told
from course_checkers.engine.report import Finding, Report


@dataclass
class Question:
    """Una pregunta.

    Args:
        number, title: ``"3.3"`` y su nombre.
        compute: sin argumentos, la respuesta buena. Se calcula la primera vez que hace falta.
        wrong: respuestas malas frecuentes: de cada una, cómo se calcula y qué error es.
        kind: qué clase de respuesta se espera, como se dice en una frase: «un número».
        read: dónde se explica.
        options: si es de elegir, las letras posibles.
        explain: recibe una respuesta mala y dice en qué lo es, sin decir la buena. Si falta, se dice
            si es demasiado grande o demasiado pequeña.
    """

    number: str
    title: str
    compute: Callable
    wrong: tuple[Option, ...] = ()
    kind: str = "un número"
    read: str = ""
    options: str = ""
    points: int = 1
    explain: Callable | None = None

    @cached_property
    def right(self):
        return tidy(self.compute())

    def check(self, given):
        outcome = running.call(lambda: given)  # de lo que da quien aprende, una copia de los datos
        if outcome.problem:
            return self.report(outcome.problem)
        answer, shown = tidy(outcome.value), show(outcome.value)
        if answer is None or answer is ...:
            return Report(self.number, self.title, unsolved=True)
        if not self.readable(answer):
            text = f"Tu respuesta es {shown}, y esperaba {self.kind}."
            return self.report(Finding("respuesta-ilegible", text))
        if self.equal(answer, self.right):
            return self.report()
        for option in self.wrong:
            if self.equal(answer, tidy(option.value())):
                found = option.mistake.found()
                return self.report(replace(found, read=found.read or self.read))
        text = f"Tu respuesta, {shown}, no es la buena."
        return self.report(Finding("respuesta", text, self.hint(answer), self.read))

    def readable(self, answer):
        """Si la respuesta es de la clase que se espera."""
        right = self.right
        if self.options:
            return isinstance(answer, str) and len(answer) == 1 and answer in self.options
        if is_number(right):
            return is_number(answer) and math.isfinite(answer)
        if isinstance(right, tuple):
            return isinstance(answer, tuple) and len(answer) >= 1
        return type(answer) is type(right)

    def equal(self, first, second):
        if is_number(first) and is_number(second):  # lo que no se cuenta con enteros, se redondea
            near = 0.01 if isinstance(self.right, float) else 0.0
            return math.isclose(first, second, rel_tol=near, abs_tol=1e-9)
        if isinstance(first, tuple) and isinstance(second, tuple):
            return len(first) == len(second) and all(map(self.equal, first, second))
        return type(first) is type(second) and first == second

    def hint(self, answer):
        """Hacia dónde se aparta, sin decir la respuesta."""
        if self.explain:
            return self.explain(answer)
        if is_number(answer) and is_number(self.right):
            return "Es demasiado grande." if answer > self.right else "Es demasiado pequeña."
        if isinstance(answer, tuple) and len(answer) != len(self.right):
            return f"Tiene {len(answer)} números y tenía que tener {len(self.right)}."
        return ""

    def report(self, *findings):
        return Report(self.number, self.title, findings)


def question(file, number, title, compute, wrong, **more):
    """Una pregunta y las respuestas malas que se dan a menudo: ``wrong`` es nombre → función que la da.

    Sus frases están en el apartado ``number`` del módulo ``file`` (véase ``mistakes.told``).
    """
    known = told(file, number)
    options = tuple(Option(value, known[name]) for name, value in wrong.items())
    return Question(number, title, compute, options, **more)


def tidy(value, text=lambda text: text.strip().strip(").").lower()):
    """Una respuesta, sin lo que da igual: mayúsculas, espacios, puntos o tensores de un número."""
    if isinstance(value, torch.Tensor | np.ndarray) and math.prod(value.shape) == 1:
        value = value.reshape(())
    if isinstance(value, torch.Tensor) or type(value).__module__ == "numpy":
        value = value.tolist()
    if isinstance(value, str):
        return text(value)
    if isinstance(value, torch.Size | list | tuple):
        items = tuple(tidy(item, text) for item in value)
        return ... if ... in items else items
    return value


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def show(given):
    """Una respuesta, como se escribe en una frase: sus textos, tal como son."""
    value = tidy(given, str)
    value = value[:60] if isinstance(value, tuple) else value
    text = f"«{value}»" if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def questions(lesson):
    """Las preguntas de una lección, por su número."""
    return {q.number: q for module in modules(lesson) for q in getattr(module, "QUESTIONS", ())}


def check_answer(exercise, answer):
    """Comprueba la respuesta a una pregunta.

    Args:
        exercise: el número del ejercicio, como texto: ``"3.3"``.
        answer: tu respuesta: un número, un texto, una forma o una letra, según la pregunta.

    Returns:
        Un ``Report``. Si tu respuesta sale de un error frecuente, dice de cuál.

    Raises:
        ValueError: si no hay ninguna pregunta con ese número.
    """
    lesson = str(exercise).split(".")[0]
    known = questions(lesson) if lesson.isdecimal() else {}
    if str(exercise) not in known:
        some = ", ".join(f'"{number}"' for number in known) or '"5.2"'
        text = f"no hay ninguna pregunta {exercise!r}. Escribe su número entre comillas"
        raise ValueError(f"check_answer: {text}: {some}.")
    return finish(known[str(exercise)].check(answer))
