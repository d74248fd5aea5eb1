"""Intervenir en un modelo: ¿qué pasa si por un sitio va otra cosa, o si le quito una cabeza?"""

from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def hooked(*pairs, after=False, **options):
    """Pone unos *hooks* de torch mientras dura el bloque ``with``. Al salir los quita, aunque algo falle.

    Args:
        pairs: pares ``(módulo, hook)``: antes de pasar por el módulo, ``hook(módulo, entradas)``.
        after: si es después: ``hook(módulo, entradas, salida)``.
        options: las de torch, como ``with_kwargs``.
    """
    with ExitStack() as placed:
        for module, hook in pairs:
            place = module.register_forward_hook if after else module.register_forward_pre_hook
            placed.enter_context(place(hook, **options))
        yield


def without_heads(*silenced):
    """Apaga unas cabezas mientras dura el bloque ``with``: lo que aportan pasa a ser 0.

    Args:
        silenced: pares ``(atención, cabeza)``: un ``MultiHeadAttention`` y un número desde 0.

    Raises:
        ValueError: si esa atención no tiene esa cabeza.
    """

    def silence(attention, head):
        if head not in range(attention.heads):
            raise ValueError(
                f"without_heads: no hay cabeza {head!r}: esta atención tiene {attention.heads}, de la "
                f"0 a la {attention.heads - 1}."
            )
        join = attention.output_projection  # lo que le entra: las cabezas, una al lado de otra
        own = torch.arange(join.in_features, device=join.weight.device) // attention.dim_key == head
        return join, lambda _, inputs: (inputs[0].masked_fill(own, 0.0),)

    return hooked(*(silence(*one) for one in silenced))
