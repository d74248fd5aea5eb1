"""Lo que escriben otros programas, leído como lo que es. Solo usa lo que trae Python.

- ``names``: los nombres de personas y de archivos, que cada sistema escribe a su manera.
- ``notebooks``: los cuadernos de cada formato, sin sus salidas.
- ``tables``: las listas y tablas de quien califica.
- ``zips``: los zips de cada sistema, con sus topes.
"""


class Unreadable(Exception):
    """Algo de fuera que no se puede leer o usar: el texto dice por qué, y qué hacer."""
