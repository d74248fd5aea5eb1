"""Qué es cada celda de una lección: lo dicen sus etiquetas, que pone ``python curso.py cuadernos``.

Quien necesita saberlo (el kernel, el sitio web, las pruebas) lo lee de aquí y no del texto. De una celda que
ha pasado por otro programa solo queda el texto: de qué ejercicio es lo dice su primera línea.
"""

import re

SETUP = "preparar"  # solo importa: se pliega en una línea
LOOKING = "mirar"  # solo comprueba o dibuja, y su primera línea dice qué: se pliega
BESIDE = "profundizar"  # está al lado del camino
TRY = "probar"  # abre lo que está al lado y solo sirve con un kernel
PREDICTION = "prediccion"  # pide decir qué saldrá de lo que sigue: una ``Prediction``
EXERCISES = "ejercicios"  # el título que los abre
CHECKING = "comprobar"  # trae las comprobaciones, o cuenta lo resuelto
UNSOLVED = "por-resolver"  # enseña algo cuando el ejercicio de arriba está resuelto
TAGS = SETUP, LOOKING, BESIDE, TRY, PREDICTION, EXERCISES, CHECKING, UNSOLVED

# Delante puede haber líneas vacías, otros comentarios (un título de Colab) y órdenes de Jupyter.
EXERCISE = re.compile(
    r"(?:[ \t]*(?:[#%!].*)?\n)*?[ \t]*#+[ \t]*(Ejercicio|Comprobación)\s+(\d+\.\d+)\b", re.IGNORECASE
)
FOLDED = "jp-MarkdownHeadingCollapsed"  # JupyterLab pliega lo que hay debajo de este título


def tagged(cell, tag):
    """Dice si la celda, leída de su JSON, lleva esa etiqueta."""
    return tag in cell["metadata"].get("tags", ())


def opens_beside(cell):
    """Dice si la celda es el título de un apartado que está al lado del camino."""
    return bool(cell["metadata"].get(FOLDED)) or tagged(cell, TRY)


def is_check(cell):
    """Dice si la celda comprueba un ejercicio y da sus puntos."""
    return checked(cell) is not None


def checked(cell):
    """El ejercicio que comprueba la celda, como ``"5.1"``; ``None`` si no comprueba ninguno."""
    return _number(cell, "comprobacion")


def answered(cell):
    """El ejercicio cuya respuesta va en la celda, como ``"5.1"``; ``None`` si no es de ninguno."""
    return _number(cell, "ejercicio")


def _number(cell, what):
    kind, _, number = cell["metadata"].get("nbgrader", {}).get("grade_id", "").partition("-")
    return number.replace("-", ".") if kind == what else None


def is_of_exercise(cell):
    """Dice si la celda es el hueco de un ejercicio o lo que lo comprueba."""
    return "nbgrader" in cell["metadata"]


def exercise(source):
    """De una celda, qué es y de qué ejercicio, como ``("Ejercicio", "5.1")``; ``None`` si no lo dice."""
    match = EXERCISE.match(source)
    return match and (match[1].capitalize(), match[2])
