"""Comprobaciones de los ejercicios: dicen qué has hecho mal, no solo que está mal.

Cada ``check_*`` recibe tu función (o tu clase), la ejecuta con entradas pensadas para distinguir
unos errores de otros y devuelve un ``Report``: ``.ok`` y, si algo falla, ``.findings``.

De abajo arriba, en cinco cuartos:

- ``inside``: lo que acompaña al código de quien aprende, también en la jaula, sin ninguna respuesta.
- ``engine``: el motor: ejecuta la respuesta, la compara y busca qué errores explican lo que da.
- ``steps``: los pasos de la atención, con los errores que se cometen en cada uno.
- ``lessons``: un archivo por ejercicio, y otro con las preguntas de cada lección.
- ``inventory``: qué sabe de la atención quien contesta, antes y después, y para quien enseña, sus papeles y cuentas.
"""

import re
from importlib import import_module
from pkgutil import iter_modules

from course_lib import lazy

# Nombre público → módulo. Se importa al usarlo. El archivo de un ejercicio se llama como su comprobación.
_EXERCISE = re.compile(r"l\d+_\d_(\w+)")
_LESSONS = sorted(one.name for one in iter_modules(f"{path}/lessons" for path in __path__))
_MODULE_OF = {
    **{f"check_{m[1]}": f"lessons.{m[0]}" for m in map(_EXERCISE.fullmatch, _LESSONS) if m},
    "read_llama": "lessons.l14_labels",
    "check_answer": "engine.questions",
    "your_line": "engine.lines",
    "Questions": "engine.asking",
    "Inventory": "inventory.inventory",
    "Prediction": "engine.prediction",
    "reveal": "engine.prediction",
    "my_pieces": "engine.mine",
    "show_progress": "engine.progress",
    "forget_progress": "engine.progress",
    "without_progress": "engine.closing",
}

__all__ = list(_MODULE_OF)
_find, __dir__ = lazy(__name__, _MODULE_OF)


def __getattr__(name):
    """De un ejercicio, la comprobación que hace de su clase el catálogo; lo demás, con su nombre en su módulo."""
    where = _MODULE_OF.get(name, "")
    if not _EXERCISE.search(where):
        return _find(name)
    from course_checkers.engine.catalog import exercises

    [check] = exercises(import_module(f"{__name__}.{where}"))
    return check
