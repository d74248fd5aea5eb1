"""4.1 · La máscara causal: {L por L, uno de más…} × {un triángulo, todo, la diagonal…} × {traspuesta…}.

Con qué convenio está escrita lo mira ``steps.mask_notation``. Aquí, qué casillas deja mirar.
"""

from math import inf

import torch

from course_checkers.engine import Case, Option, Stage, stepping
from course_checkers.steps import mask_notation as notation

CASES = [Case(f"{n} token{'s' * (n > 1)}", (n,)) for n in (5, 4, 8, 2, 1, 3, 130, 520)]
TOLD = notation.told_of(__file__, "4.1")
step = stepping(TOLD)


def found_size(attempt):
    """Si no depende de ``length``, cuánto mide."""
    mask, other = attempt.ask(9), attempt.ask(7)
    if mask.dim() == 2 and mask.shape == other.shape == (n := len(mask), n):
        yield Option(lambda length: n, TOLD["longitud-fija"].saying(n=n))


def found_band(attempt):
    """Entre qué diagonales deja mirar."""
    mask = attempt.ask(9)
    if mask.shape != (n := len(mask), n) or n < 3:
        return
    for keep in (mask != 0, mask == 0):
        seen = [d for d in range(1 - n, n) if keep.diagonal(d).any()]
        if seen and (last := seen[-1]) < n - 1:
            first = seen[0] if seen[0] > 1 - n else -inf
            name = {-1: "sin-diagonal", 0: None, 1: "un-futuro"}.get(last, "diagonal-corrida")
            wrong = [TOLD[name].saying(last=last)] if name else []
            wrong += [TOLD["ventana"].saying(first=first)] if first > -inf else []
            yield Option((first, last), tuple(wrong))
            return


class CausalMask(notation.MaskExercise):
    """Comprueba una máscara causal.

    Args:
        function: recibe ``length``, un entero, y devuelve una máscara booleana ``(L, L)``: True si la
            query de esa fila puede mirar a la key de esa columna.
    """

    number, title, points = "4.1", "la máscara causal", 1
    possible = staticmethod(lambda length: length > 0)
    axes = {
        "size": step(
            lambda length: length,
            ("mide-de-más", lambda length: length + 1),
            ("mide-de-menos", lambda length: length - 1),
        ),
        "base": step(
            None,  # un triángulo
            ("todo-permitido", lambda i, j: i + j >= 0),
            ("nada-permitido", lambda i, j: i + j < 0),
            ("solo-diagonal", lambda i, j: i == j),
            ("solo-los-demás", lambda i, j: i != j),
            ("volteada", lambda i, j: i + j >= len(i) - 1, lambda i, j: i + j <= len(i) - 1),
        ),
        # De qué diagonal a qué diagonal se puede mirar.
        "band": step((-inf, 0), ("sin-diagonal", (-inf, -1)), ("un-futuro", (-inf, 1))),
        "transposed": step(False, ("traspuesta", True)),
        "inverted": step(False, ("al-revés", True)),
    }
    measured = {"size": found_size, "band": found_band}
    stages, extra = (Stage(tuple(axes), tuple(CASES[:5])),), CASES[5:]
    tiny = tuple(Case("", (n,)) for n in (1, 2, 3, 4))
    reader = notation.Masks(lambda n: (n, n), "Por difusión da lo mismo.", notation.SQUARES)
    must = (notation.permitted(__file__, "4.1 propiedades"),)
    also = ("longitud-fija", "diagonal-corrida", "ventana", *notation.MaskExercise.also)

    def skip(self, choice):
        """Lo demás es cosa de un triángulo; y traspuesto y al revés vuelve a ser el de abajo."""
        turned = [choice[name].value for name in ("transposed", "inverted")]
        triangular = any(turned) or bool(choice["band"].mistakes)
        return all(turned) or (choice["base"].value and triangular)

    def compute(self, choice, length):
        i = torch.arange(choice["size"](length))[:, None]
        j = i.mT
        if choice["base"]:
            return {"output": choice["base"](i, j)}
        ahead, (first, last) = (i - j if choice["transposed"] else j - i), choice["band"]
        mask = (first <= ahead) & (ahead <= last)
        return {"output": ~mask if choice["inverted"] else mask}
