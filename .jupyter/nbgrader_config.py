"""Lo que hay que decirle a nbgrader para que corrija las lecciones del curso tal como están."""

from nbgrader.converters import Autograde
from nbgrader.preprocessors import DeduplicateIds

c = get_config()  # noqa: F821 — lo define nbgrader al leer este archivo

# Las lecciones no traen soluciones: los huecos se reparten como están.
c.ClearSolutions.enabled = False

# Un aviso en stderr no es un fallo. Sin esto, nbgrader pone un 0 a la celda que lo escribe.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = "."

# Segundos por celda; el valor de nbgrader es 30. Un bucle sin fin cuesta esto y puntúa 0.
c.Execute.timeout = 60


def drop_empty(nb, resources):
    """Quita el «nbgrader: {}» que DeduplicateIds deja en una celda copiada y nbgrader no admite."""
    for cell in nb.cells:
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
    return nb, resources


# Quien copia y pega su celda copia también su id: vale la última, y la entrega se corrige.
steps = list(Autograde().sanitize_preprocessors)
steps.insert(steps.index(DeduplicateIds) + 1, drop_empty)
c.Autograde.sanitize_preprocessors = steps
