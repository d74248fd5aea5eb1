"""Una prueba, y lo que se mira de ella para contar una consecuencia."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch


@dataclass(frozen=True, eq=False)
class Case:
    """Una prueba: unos argumentos y cómo se llaman en una frase («con 3 queries y 5 keys»).

    Si el código se para en todas las pruebas de un ``group``, es que no admite esa clase de
    entrada: se dice en una nota, y se juzga por las demás. ``required`` es lo contrario.
    """

    name: str
    arguments: tuple
    group: str = ""
    required: bool = False


def drawn(seed, *shapes):
    """Números al azar, siempre los mismos: un tensor de cada forma, o uno solo si hay una."""
    generator = torch.Generator().manual_seed(seed)
    found = [torch.randn(shape, generator=generator) for shape in shapes]
    return found if len(found) > 1 else found[0]


def whole(case):
    """La misma prueba con números enteros, que se leen mejor."""
    return replace(case, arguments=tuple(x.round() + 0.0 for x in case.arguments))


class Look(NamedTuple):
    """Lo que se mira para contar una consecuencia."""

    case: Case
    yours: torch.Tensor  # lo que ha devuelto quien aprende
    right: torch.Tensor
    traced: dict  # la cuenta entera, con los errores encontrados
    traced_right: dict  # y sin ellos

    def both(self):
        """Las dos salidas. Si no miden lo mismo no hay nada que contar: ``ValueError``."""
        if self.yours.shape != self.right.shape:
            raise ValueError
        return self.yours, self.right
