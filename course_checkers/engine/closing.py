"""Lo último de cada comprobación: apuntar lo resuelto o, si califica nbgrader, decírselo."""

import os
import re
import textwrap
from dataclasses import replace

from IPython import get_ipython

from course_checkers.engine import running
from course_checkers.engine.comparing import calmly, same
from course_checkers.engine.written import written
from course_tools.opening import library, progress
from course_tools.outside import harmless

UNKNOWN = (
    f"está bien, pero no va a {library.MODULE}.py: no encuentro dónde la has escrito. Dale un nombre en una "
    "celda, ejecútala y repite esta."
)
PARTLY = (
    f"está bien, pero lo que se ha guardado en {library.MODULE}.py no está entero: sin las demás celdas no da lo "
    "mismo. Complétalo allí, o escribe la respuesta sin lo que hacen otras celdas y repite esta."
)
OWN_LINE = "tu línea"  # cómo se llama en tu biblioteca
_recording = True


class NotSolved(AssertionError):
    """Un ejercicio que no está bien, cuando se califica. Enseña el informe, no nuestras líneas."""

    def _render_traceback_(self):  # lo llama IPython en vez de escribir el suyo
        return [line for text in str(self).splitlines() for line in textwrap.wrap(text, 80)]


def finish(report, learner=None, task=None):
    """Lo último de cada comprobación: apunta lo que ya está resuelto y devuelve el informe.

    Si lo resuelto, ``learner``, es una función o una clase, va además a tu biblioteca, y se mira con ``task``.
    A nbgrader, cuando califica, le da lo que entiende: un error si no está bien, y nada si lo está.
    """
    if "NBGRADER_EXECUTION" in os.environ:
        if not report.ok:
            raise NotSolved(str(report))
        print(report)
        return None
    if not _recording or report.unsolved:
        return report
    told = progress.tried(report.exercise, report.ok)
    if report.ok and callable(learner) and library.place():
        told += kept(report, learner, task)
    return replace(report, notes=report.notes + told, counted=report.ok)


def line(report, function):
    """Lo último de una línea (véase ``lines``): la apunta y, si está bien, la guarda en tu biblioteca."""
    if not _recording or report.unsolved or "NBGRADER_EXECUTION" in os.environ:
        return report
    told = progress.tried(report.exercise, report.ok, "lines")
    if report.ok and library.place() and (found := line_written(report, function, getattr(get_ipython(), "user_ns", {}))):
        told += library.keep(report.exercise, OWN_LINE, *found)
    return replace(report, notes=told)


def line_written(report, function, space):
    """De una línea, su nombre y su código, sin lo que la prueba; ``None``, si no se sabe."""
    found = calmly(lambda: written(function, report.exercise, {**space, function.__name__: function}), None)
    code = re.sub(r"^@your_line\b.*\n|^from course_checkers import your_line$", "", (found or "  ")[1], flags=re.MULTILINE)
    return found and (found[0], code.strip())


def kept(report, learner, task):
    """Guarda en tu biblioteca lo que has escrito. Da lo que conviene decir."""
    space = getattr(get_ipython(), "user_ns", {})
    found = calmly(lambda: written(learner, report.exercise, space), None)
    if found is None:
        return (UNKNOWN,) if space else ()
    if task is None or calmly(lambda: alike(task, learner, space, *found), True):
        return library.keep(report.exercise, report.title, *found)
    more = calmly(lambda: written(learner, report.exercise, space, wide=True), None)
    whole = more and more != found and harmless(more[1]) and calmly(lambda: alike(task, learner, space, *more), False)
    return library.keep(report.exercise, report.title, *(more if whole else found)) or (() if whole else (PARTLY,))


def alike(task, learner, space, name, code):
    """Si una pieza, ejecutada sola, da lo mismo en una prueba. De lo que no se puede probar sin más, no se duda."""
    if not harmless(code):
        return True
    alone = {one: space.get(one) for one in re.findall(r"# Necesita (\w+), (?:la|otra) pieza", code)}
    alone["__name__"] = library.MODULE
    ran = running.call(exec, code.replace("get_ipython()", "no_kernel()"), alone)
    case = task.all_cases()[0]

    def gives(code):
        [attempt, *_] = task.prepare(code)
        return attempt.read(attempt.call(*case.arguments), case)[0]

    wanted, given = (calmly(lambda: gives(one), None) for one in (learner, alone.get(name)))  # noqa: B023
    return ran.fatal or wanted is None or given is not None and same(given, wanted)


def noted(note, *said):
    """Apunta con ``note`` lo dicho en una predicción o una pregunta. Da por qué no se ha podido, o nada."""
    return note(*said) if _recording else ""


def without_progress():
    """Desde aquí, lo que se comprueba en este cuaderno no cuenta como tuyo."""
    global _recording
    _recording = False
