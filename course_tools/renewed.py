"""Las celdas de antes, escritas con los nombres de ahora. Solo usa lo que trae Python.

Una copia o una entrega hecha hace tiempo importa lo que después ha cambiado de sitio.
"""

import re

MOVED = {  # lo que importan las lecciones: dónde estaba → dónde está
    "course_lib.checkers": "course_checkers",
    "course_lib.bert_files": "course_lib.model_files",
    "course_lib.translator_model.grammar": "course_tools.grammar",
    "course_lib.grammar": "course_tools.grammar",
    "course_lib.translator_model.training": "course_lib.training",
}


def renewed(source, moved=MOVED):
    """El código de una celda, con cada módulo donde está ahora."""
    names = "|".join(map(re.escape, moved))
    return re.sub(rf"(?<![\w.])(?:{names})(?!\w)", lambda match: moved[match[0]], source)


def aged(source):
    """Al revés: como estaba escrita antes de que nada cambiara de sitio."""
    return renewed(source, {new: old for old, new in MOVED.items()})
