"""Lo último de cada comprobación: apuntar lo resuelto o, si califica nbgrader, decírselo."""

import os
import textwrap
from dataclasses import replace

from course_tools.opening import progress

_recording = True


class NotSolved(AssertionError):
    """Un ejercicio que no está bien, cuando se califica. Enseña el informe, no nuestras líneas."""

    def _render_traceback_(self):  # lo llama IPython en vez de escribir el suyo
        return [line for text in str(self).splitlines() for line in textwrap.wrap(text, 80)]


def finish(report):
    """Lo último de cada comprobación: apunta lo que ya está resuelto y devuelve el informe.

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
    return replace(report, notes=report.notes + told, counted=report.ok)


def without_progress():
    """Desde aquí, lo que se comprueba en este cuaderno no cuenta como tuyo."""
    global _recording
    _recording = False
