"""Lo que has resuelto: se guarda en tu ordenador, junto a tus cuadernos, y en ningún otro sitio.

Es el archivo ``.progreso.json`` de ``copies.student_folder``. La variable de entorno CURSO_PROGRESO
dice otro, y «no», ninguno.
"""

import contextlib
import json
import os
import textwrap
from dataclasses import replace
from datetime import date
from html import escape
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from course_lib.opening.copies import student_folder

PLACE = "CURSO_PROGRESO"
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
    if report.ok and _recording:
        return replace(report, notes=report.notes + record(report), counted=True)
    return report


def without_progress():
    """Desde aquí, lo que se comprueba en este cuaderno no cuenta como tuyo."""
    global _recording
    _recording = False


def place():
    """El archivo del progreso, o ``None`` si no se guarda."""
    chosen = os.environ.get(PLACE)
    if chosen == "no":
        return None
    return Path(chosen) if chosen else student_folder() / ".progreso.json"


def load():
    """Los ejercicios resueltos: número → fecha. Si el archivo no se entiende, ninguno."""
    path = place()
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def record(report):
    """Apunta un ejercicio resuelto. Da las notas que hay que añadir: una, si no se puede escribir."""
    solved, path = load(), place()
    if path is None or report.exercise in solved:
        return ()
    solved[report.exercise] = date.today().isoformat()
    with contextlib.suppress(OSError):
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(solved, indent=1), encoding="utf-8")
        temporary.replace(path)
        return ()
    return (
        f"está bien, pero no se ha podido apuntar: no se puede escribir {path.parent.name}/{path.name}. "
        "Comprueba que la carpeta existe y es tuya, y que queda sitio en el disco; y repite esta celda.",
    )


def forget_progress():
    """Borra de tu ordenador lo que has resuelto. No se puede deshacer."""
    if (path := place()) is not None:
        path.unlink(missing_ok=True)
    print("Olvidado: no queda apuntado ningún ejercicio.")


def modules(lesson=None):
    """Los módulos que tienen ejercicios, de una lección o de todas, por orden."""
    package = f"{__package__.rsplit('.', 1)[0]}.lessons"
    names = sorted(found.name for found in iter_modules(import_module(package).__path__))
    wanted = [n for n in names if lesson is None or n.startswith(f"l{int(lesson):02}_")]
    return [import_module(f"{package}.{name}") for name in wanted]


def catalog():
    """Todos los ejercicios del curso, por orden: número → (título, puntos)."""
    found = {}
    for module in modules():
        for exercise in (*getattr(module, "EXERCISES", ()), *getattr(module, "QUESTIONS", ())):
            found[exercise.number] = (exercise.title, exercise.points)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


class Progress:
    """Lo resuelto de una lección o de todas, para enseñarlo."""

    def __init__(self, lesson, exercises, solved):
        self.lesson, self.exercises, self.solved = lesson, exercises, solved

    def lines(self):
        """Una línea por ejercicio, o por lección si son todas."""
        if self.lesson is not None:
            for number, (title, _) in self.exercises.items():
                yield f"{'✓' if number in self.solved else '○'} {number} · {title}"
            return
        lessons = dict.fromkeys(number.split(".")[0] for number in self.exercises)
        for lesson in lessons:
            mine = [number for number in self.exercises if number.split(".")[0] == lesson]
            done = sum(number in self.solved for number in mine)
            sign = "✓" if done == len(mine) else "○"
            yield f"{sign} Lección {int(lesson):02}: {done} de {len(mine)}"

    def __str__(self):
        done = sum(number in self.solved for number in self.exercises)
        where = "el curso" if self.lesson is None else "esta lección"
        head = f"Has resuelto {done} de los {len(self.exercises)} ejercicios de {where}."
        return "\n".join([head.replace("de el", "del"), *(f"  {line}" for line in self.lines())])

    __repr__ = __str__

    def _repr_html_(self):
        head, *lines = str(self).splitlines()
        items = "".join(f"<li>{escape(line.strip())}</li>" for line in lines)
        return f'<p><strong>{escape(head)}</strong></p><ul style="list-style: none">{items}</ul>'


def show_progress(lesson=None):
    """Enseña lo que has resuelto.

    Args:
        lesson: el número de una lección (``5``); sin él, todo el curso.

    Raises:
        ValueError: si la lección no tiene ejercicios.
    """
    exercises = catalog()
    if lesson is not None:
        wanted = str(lesson).lstrip("0") or "0"
        exercises = {n: e for n, e in exercises.items() if n.split(".")[0] == wanted}
        if not exercises:
            raise ValueError(
                f"show_progress: la lección {lesson!r} no tiene ejercicios. Prueba con 5."
            )
    return Progress(lesson, exercises, load())
