"""Lo último de cada comprobación: apuntar lo resuelto o, si califica nbgrader, decírselo."""

import os
import textwrap
from dataclasses import replace

from IPython import get_ipython

from course_checkers.engine.comparing import calmly
from course_checkers.engine.written import written
from course_tools.opening import library, progress

UNKNOWN = (
    f"está bien, pero no va a {library.MODULE}.py: no encuentro dónde la has escrito. Dale un nombre en una "
    "celda, ejecútala y repite esta."
)
_recording = True


class NotSolved(AssertionError):
    """Un ejercicio que no está bien, cuando se califica. Enseña el informe, no nuestras líneas."""

    def _render_traceback_(self):  # lo llama IPython en vez de escribir el suyo
        return [line for text in str(self).splitlines() for line in textwrap.wrap(text, 80)]


def finish(report, learner=None):
    """Lo último de cada comprobación: apunta lo que ya está resuelto y devuelve el informe.

    Si lo resuelto, ``learner``, es una función o una clase, va además a tu biblioteca.
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
        told += kept(report, learner)
    return replace(report, notes=report.notes + told, counted=report.ok)


def kept(report, learner):
    """Guarda en tu biblioteca lo que has escrito. Da lo que conviene decir."""
    space = getattr(get_ipython(), "user_ns", {})
    found = calmly(lambda: written(learner, report.exercise, space), None)
    if found is None:
        return (UNKNOWN,) if space else ()
    return library.keep(report.exercise, report.title, *found)


def predicted(name, said, hit):
    """Apunta lo dicho en una predicción. Da por qué no se ha podido, o nada."""
    return progress.predicted(name, said, hit) if _recording else ""


def without_progress():
    """Desde aquí, lo que se comprueba en este cuaderno no cuenta como tuyo."""
    global _recording
    _recording = False
