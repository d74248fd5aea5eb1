"""Los ejercicios que hay: se buscan en ``lessons``, y por eso no hay ninguna lista que poner al día."""

from importlib import import_module
from pkgutil import iter_modules

from course_checkers.engine.exercise import Exercise


def modules(lesson=None):
    """Los módulos que tienen ejercicios, de una lección o de todas, por orden."""
    package = f"{__package__.rsplit('.', 1)[0]}.lessons"
    names = sorted(found.name for found in iter_modules(import_module(package).__path__))
    wanted = [n for n in names if lesson is None or n.startswith(f"l{int(lesson):02}_")]
    return [import_module(f"{package}.{name}") for name in wanted]


def exercises(module):
    """Los ejercicios con código de un módulo."""
    return [found for found in vars(module).values() if isinstance(found, Exercise)]


def catalog():
    """Todos los ejercicios del curso, por orden: número → (título, puntos)."""
    found = {}
    for module in modules():
        for exercise in (*exercises(module), *getattr(module, "QUESTIONS", ())):
            found[exercise.number] = (exercise.title, exercise.points)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
