"""Los ejercicios que hay: se buscan en ``lessons``, y por eso no hay ninguna lista que poner al día."""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from course_checkers.engine.exercise import Exercise
from course_checkers.engine.mistakes import LESSONS, lines


def modules(lesson=None):
    """Los módulos que tienen ejercicios, de una lección o de todas, por orden."""
    package = f"{__package__.rsplit('.', 1)[0]}.lessons"
    names = sorted(found.name for found in iter_modules(import_module(package).__path__))
    wanted = [n for n in names if lesson is None or n.startswith(f"l{int(lesson):02}_")]
    return [import_module(f"{package}.{name}") for name in wanted]


@cache
def check_of(kind):
    """La comprobación de un ejercicio: de su clase se hace una, para todo el mundo."""
    return kind()


def exercises(module):
    """Los ejercicios con código de un módulo: sus comprobaciones."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    own = (kind for kind in kinds if kind.__module__ == module.__name__)
    return [check_of(kind) for kind in own if issubclass(kind, Exercise)]


def mistakes(number):
    """Los errores de un ejercicio que tienen nombre: nombre → dónde se explica, o nada si es de todo el apartado."""
    found = {}
    for path in sorted(LESSONS.glob("*.txt")):
        for section, told in lines(path).items():
            if re.match(rf"{re.escape(number)}(?!\d)", section):
                found |= {name: read for name, (read, _) in told.items()}
                found |= {name.split("#")[0]: read for name, (read, _) in told.items()}
    for module in modules(number.split(".")[0]):
        for exercise in (one for one in exercises(module) if one.number == number):
            found |= {name: found.get(name, "") for name in exercise.mistake_ids()}
            options = [option for axis in exercise.axes.values() for option in axis]
            found |= {m.id: m.read for option in options for m in option.mistakes}
        for question in (one for one in getattr(module, "QUESTIONS", ()) if one.number == number):
            found |= {option.mistake.id: option.mistake.read for option in question.wrong}
    return found


def catalog():
    """Todos los ejercicios del curso, por orden: número → (título, puntos)."""
    found = {}
    for module in modules():
        for exercise in (*exercises(module), *getattr(module, "QUESTIONS", ())):
            found[exercise.number] = (exercise.title, exercise.points)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
