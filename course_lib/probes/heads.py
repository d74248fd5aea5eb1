"""Intervenir en un modelo: ¿qué pasa si por un sitio va otra cosa, o si le quito una cabeza?"""

from contextlib import ExitStack, contextmanager

import torch

from course_lib.attention import MultiHeadAttention


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


def changed_heads(model, change, *chosen):
    """Cambia lo que dicen unas cabezas mientras dura el bloque ``with``.

    Args:
        model: el que tiene las capas de atención del curso, que se cuentan en su orden.
        change: de lo que dice una, ``(B, L, d_k)``, justo antes de W_O, lo que dirá.
        chosen: pares ``(capa, cabeza)``, desde 0.

    Raises:
        ValueError: si no hay esa capa o esa cabeza.
    """
    blocks = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    if missing := [layer for layer, _ in chosen if layer not in range(len(blocks))]:
        many = f"tiene {len(blocks)} capas de atención del curso, desde la 0"
        raise ValueError(f"changed_heads: no hay capa {missing[0]!r}: este modelo {many}. Elige otra.")
    return hooked(*(saying(blocks[layer], head, change) for layer, head in chosen))


def without_heads(*silenced):
    """Como ``changed_heads``, a cero: lo que aportan pasa a ser 0. Pares ``(atención, cabeza)``."""
    return hooked(*(saying(attention, head, torch.zeros_like) for attention, head in silenced))


def saying(attention, head, change):
    """La proyección que junta las cabezas de una atención, y el *hook* que cambia lo que dice una."""
    if head not in range(attention.heads):
        many = f"tiene {attention.heads}, desde la 0"
        raise ValueError(f"no hay cabeza {head!r}: esta atención {many}. Elige otra.")

    def hook(_, inputs):
        said = inputs[0].unflatten(-1, (attention.heads, -1)).clone()  # (B, L, h, d_k)
        said[..., head, :] = change(said[..., head, :].clone())
        return (said.flatten(-2),)

    return attention.output_projection, hook
