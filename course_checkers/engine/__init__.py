"""El motor: buscar qué errores explican una respuesta, ejecutarla, medirla y contarlo."""

from course_lib import lazy

# Nombre → módulo. Se importa al usarlo: así, nada carga lo que no usa.
_MODULE_OF = {
    "Attempt": "exercise",
    "Case": "case",
    "Exercise": "exercise",
    "Finding": "report",
    "Look": "case",
    "NOTHING": "reading",
    "Numbers": "reading",
    "Option": "mistakes",
    "Pair": "reading",
    "Question": "questions",
    "Raised": "search",
    "Several": "reading",
    "Stage": "search",
    "Tensors": "reading",
    "difference": "comparing",
    "finish": "closing",
    "finite": "properties",
    "laws": "properties",
    "right_shape": "properties",
    "same": "comparing",
    "show": "comparing",
    "stepping": "mistakes",
    "told": "mistakes",
    "ways": "mistakes",
    "wrong_answers": "questions",
}

__all__ = list(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
