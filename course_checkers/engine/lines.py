"""Tus líneas: tres en cada camino, de la 01 a la 07 y en la 16, escritas donde aparece su idea.

Una línea es una función muy corta, con puntos donde va lo tuyo. ``your_line`` la prueba al ejecutarla: si
está bien, la lección sigue con ella; si no, dice qué error es y la lección sigue con la del curso.
"""

import contextlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import torch
from IPython import get_ipython

from course_checkers.engine import closing, running
from course_checkers.engine.comparing import calmly, clone, contrast, same, shape_of
from course_checkers.engine.mistakes import LESSONS, Mistake, told
from course_checkers.engine.report import Finding, Report

OURS, YOURS = "Lo que sigue usa la del curso.", "Lo que sigue usa la tuya."
CUT = Finding(
    "sin-gradiente",
    "Los números están bien, y no guardan de dónde salen: con ellos no se aprende. Haz la cuenta sin torch.tensor(…).",
)
OTHER = "No hay ninguna línea «{}»: deja el nombre que tenía. Lo que sigue usa la del curso."
BROKEN = "Python no entiende tu línea. Arréglala y ejecuta otra vez su celda: mientras, lo que sigue usa la de antes."


@dataclass(frozen=True)
class Line:
    """Una línea: su número, como ``"3.a"``, la del curso, con qué se prueba y los errores que se dan a menudo.

    ``cases`` son los argumentos de cada prueba; ``wrong``, de cada error, lo que da.
    """

    number: str
    right: Callable
    cases: tuple
    wrong: tuple[tuple[Mistake, Callable], ...]

    @property
    def name(self):
        return self.right.__name__

    def report(self, *findings, **more):
        return LineReport(self.number, self.name, findings, **more)


class LineReport(Report):
    """El informe de una línea: dice, además, con cuál sigue la lección."""

    @property
    def head(self):
        name = f"Tu línea «{self.title}»"
        if self.unsolved:
            return f"○ {name}: sin escribir. {OURS}"
        return f"✓ {name}: está bien. {YOURS}" if self.ok else f"✗ {name}: todavía no. {OURS}"


def line(file, number, right, cases, wrong):
    """Una línea y sus errores: ``wrong`` es nombre → función que lo comete.

    Sus frases están en el apartado ``number`` del módulo ``file`` (véase ``mistakes.told``).
    """
    known = told(file, number)
    return Line(number, right, cases, tuple((known[name], form) for name, form in wrong.items()))


@cache
def lines():
    """Las líneas del curso: nombre → ``Line``."""
    found = sorted(LESSONS.glob("l??_lines.py"))
    modules = [import_module(f"course_checkers.lessons.{path.stem}") for path in found]
    return {one.name: one for module in modules for one in module.LINES}


def read(value):
    """Lo que da una línea, como se compara: un número es un tensor sin ejes; una lista, o lo de NumPy, no lo es."""
    if isinstance(value, tuple | list):
        return tuple(map(read, value))
    number = isinstance(value, torch.Tensor) or not getattr(value, "ndim", 0)
    return calmly(lambda: torch.as_tensor(value), value) if number else value


def gives(function, case):
    """Lo que da una función con una copia de esos argumentos; ``None``, si no puede."""
    return calmly(lambda: read(function(*clone(case))), None)


def equal(yours, right):
    """Si son iguales: forma, números y clase de números, booleanos o decimales, que después hace falta."""
    tensors = isinstance(yours, torch.Tensor) and isinstance(right, torch.Tensor)
    return same(yours, right) and not (tensors and lacks(yours, right))


def lacks(yours, right):
    """Qué tienen que ser tus números y no son: booleanos, que después se niegan, o decimales, que se multiplican."""
    if right.dtype == torch.bool != yours.dtype:
        return "booleanos: True o False"
    if right.is_floating_point() and not yours.is_floating_point():
        return "decimales: con .float()"
    return f"del tipo {right.dtype}, y son {yours.dtype}" if right.is_floating_point() and yours.dtype != right.dtype else ""


def doubled(case):
    """Esos argumentos en 64 bits: una línea no cambia el tipo de lo que recibe."""
    return tuple(x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in case)


def check(one, function):
    """El informe de una línea."""
    names = [*inspect.signature(one.right).parameters]
    if problem := running.wrong_signature(function, names):
        return one.report(problem)
    outcomes, problem, cases = [], None, (*one.cases, doubled(one.cases[0]))
    with running.within_limits():
        for case in cases:
            given = clone(case)
            outcome = running.call(function, *given)
            if outcome.unsolved:
                return one.report(unsolved=True)
            if not same(given, case):
                changed = [name for name, now, before in zip(names, given, case) if not same(now, before)]
                return one.report(running.SAYS["cambia-la-entrada"].saying(which=" y ".join(changed)).found())
            if problem := outcome.problem:
                break  # con lo que ha dado antes, a veces, ya se sabe qué error es
            outcomes.append(read(outcome.value))
    pairs = [(yours, gives(one.right, case)) for yours, case in zip(outcomes, cases)]
    found = [pair for pair in pairs if not equal(*pair)]
    for mistake, form in one.wrong if found else ():
        if all(equal(yours, gives(form, case)) for yours, case in zip(outcomes, cases)):
            return one.report(mistake.found(story(*found[0])))
    if problem or not found:
        return one.report(*[problem] if problem else [CUT] if cut(one, function) else [])
    return one.report(Finding("otra-cosa", story(*found[0]) or "Da otra cosa."))


def cut(one, function):
    """Si de lo que da tu línea no se puede volver a lo que recibe, y de lo que da la del curso, sí."""
    given = clone(doubled(one.cases[0]))
    for x in given:
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            x.requires_grad_()
    kept = [calmly(lambda: form(*given).requires_grad, True) for form in (one.right, function)]  # noqa: B023
    return kept == [True, False]


def story(yours, right):
    """En qué se aparta de la buena, con el ejemplo más pequeño."""
    if yours is None:
        return "No devuelve nada: ¿falta «return»?"
    if isinstance(right, torch.Tensor) and not isinstance(yours, torch.Tensor):
        return "Tiene que dar un tensor de torch: lo que sigue lo necesita."
    if isinstance(yours, tuple | torch.Tensor) and shape_of(yours) != shape_of(right):
        return f"Tu línea da algo de forma {shape_of(yours)}, y tiene que ser {shape_of(right)}."
    if same(yours, right):
        return f"Los números están bien, y tienen que ser {lacks(yours, right)}."
    told = calmly(lambda: contrast(yours, right), "")
    return told and f"{told[0].upper()}{told[1:]}."


def your_line(function):
    """Prueba tu línea y dice cómo está. Da la tuya si está bien y, si no, la del curso.

    Se pone encima de la función: ``@your_line``. La que está bien va a ``mi_biblioteca.py``.
    """
    one = lines().get(getattr(function, "__name__", ""))
    if one is None:
        print(OTHER.format(getattr(function, "__name__", type(function).__name__)))
        return function
    report = closing.line(check(one, function), function)
    shell = get_ipython()
    if shell is None:
        print(report)
    else:
        from IPython.display import display

        display(report)
    return function if report.ok else one.right


def still_ours(result):
    """Lo que se dice de una línea que ni se ha podido leer: la lección sigue, con la del curso."""
    cell = getattr(result.info, "raw_cell", None) or ""
    if isinstance(result.error_before_exec, SyntaxError) and re.search(r"^@your_line\b", cell, re.MULTILINE):
        print(BROKEN)


with contextlib.suppress(AttributeError):  # fuera de un cuaderno no hay celdas
    get_ipython().events.register("post_run_cell", still_ours)
