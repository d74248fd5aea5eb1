"""Lo que escriben otros programas, leído como lo que es. Solo usa lo que trae Python.

- ``lms``: las hojas de calificaciones de cada sistema.
- ``names``: los nombres de personas y de archivos, que cada sistema escribe a su manera.
- ``notebooks``: los cuadernos de cada formato, sin sus salidas.
- ``tables``: las listas y tablas de quien califica.
- ``zips``: los zips de cada sistema, con sus topes, y los que hace el curso.
"""

import errno


class Unreadable(Exception):
    """Algo de fuera que no se puede leer o usar: el texto dice por qué, y qué hacer."""


def is_full(error):
    """Si un error es que no queda disco; SQLite lo dice con palabras."""
    full = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
    return getattr(error, "errno", None) in full or "disk is full" in str(error)
