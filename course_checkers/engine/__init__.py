"""El motor: buscar qué errores explican una respuesta, ejecutarla, medirla y contarlo."""

from course_lib import lazy

# Módulo → sus nombres. Se importa al usarlo: así, nada carga lo que no usa.
_NAMES = {
    "case": ("Case", "Look", "drawn", "whole"),
    "closing": ("finish",),
    "comparing": ("clone", "difference", "same", "show", "show_both"),
    "exercise": ("Attempt", "Exercise"),
    "mistakes": ("Option", "messages", "stepping", "told", "ways"),
    "properties": (
        "TORCH", "differs", "each_output", "finite", "gives", "gives_nan", "half_precision",
        "hits", "laws", "not_by_hand", "promised", "related", "right_shape",
    ),
    "questions": ("question",),
    "reading": ("NOTHING", "Numbers", "Pair", "Several", "Tensors"),
    "report": ("Finding",),
    "search": ("Raised", "Stage"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = list(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
