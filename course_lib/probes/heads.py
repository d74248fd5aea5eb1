"""Una pregunta para cualquier modelo del curso: ¿qué pasa si le quito una cabeza?"""

from contextlib import contextmanager

import torch


@contextmanager
def without_heads(*silenced):
    """Apaga unas cabezas mientras dura el bloque ``with``: lo que aportan pasa a ser 0.

    Args:
        silenced: pares ``(atención, cabeza)``: un ``MultiHeadAttention`` y un número desde 0.

    Raises:
        ValueError: si esa atención no tiene esa cabeza.
    """
    for attention, head in silenced:
        if head not in range(attention.heads):
            raise ValueError(
                f"without_heads: no hay cabeza {head!r}: esta atención tiene {attention.heads}, de la "
                f"0 a la {attention.heads - 1}."
            )
    saved = [
        (attention, attention.output_projection.weight.detach().clone())
        for attention, _ in silenced
    ]
    try:
        with torch.no_grad():
            for attention, head in silenced:
                # W_O junta las cabezas: estas columnas son las que leen la que se apaga.
                columns = slice(head * attention.dim_key, (head + 1) * attention.dim_key)
                attention.output_projection.weight[:, columns] = 0.0
        yield
    finally:
        with torch.no_grad():
            for attention, weight in reversed(saved):
                attention.output_projection.weight.copy_(weight)
