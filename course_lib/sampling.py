"""Escribir con un modelo que es solo decoder: de sus puntuaciones al token siguiente.

Con las probabilidades que da la softmax se puede sortear; la temperatura y los recortes *top-k* y
*top-p* dicen cuánto se arriesga.
"""

import torch

from course_lib.cache import DecoderCache
from course_lib.checks import check_whole


def next_token_probabilities(scores, temperature=1.0, top_k=None, top_p=None):
    """De puntuaciones a probabilidades, recortadas: (..., vocab_size) → (..., vocab_size).

    Args:
        scores: las puntuaciones, sin softmax.
        temperature: por cuánto se dividen. Con 0, todo para la mejor (*greedy*).
        top_k: cuántos tokens quedan, los más probables.
        top_p: quedan los más probables, los justos para sumar al menos ``top_p``.

    Raises:
        ValueError: si ``temperature`` es negativa, ``top_k`` no es un entero positivo o ``top_p``
            no está entre 0 y 1.

    Fuente: top-k, Fan et al. (2018), §5.1; top-p, Holtzman et al. (2019), §3.1.
    """
    if not temperature >= 0:
        raise ValueError(f"temperature = {temperature!r} y tiene que ser 0 o más.")
    if top_k is not None:
        check_whole("next_token_probabilities", top_k=top_k)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p = {top_p!r} y tiene que ser mayor que 0 y como mucho 1.")
    if temperature == 0:
        temperature, top_k = 1.0, 1
    ordered, order = (scores / temperature).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = -torch.inf
    chances = ordered.softmax(dim=-1)
    if top_p is not None:  # sobra quien empieza cuando los anteriores ya suman top_p
        chances = chances.masked_fill(chances.cumsum(dim=-1) - chances >= top_p, 0.0)
        chances = chances / chances.sum(dim=-1, keepdim=True)
    return torch.empty_like(chances).scatter(-1, order, chances)


@torch.no_grad()
def generate(model, token_ids, longest, end=None, cache=True, generator=None, **options):
    """Sigue escribiendo con un modelo que es solo decoder.

    Args:
        model: un ``DecoderOnly``.
        token_ids: enteros ``(B, L)``: el principio de cada frase, todos igual de largos.
        longest: tokens que se escriben como mucho.
        end: la marca de fin; quien la escribe ya no escribe otra cosa.
        cache: si se guardan las keys y los values.
        generator: el de torch, para repetir un sorteo.
        options: las de ``next_token_probabilities``; por defecto, ``temperature=0``.

    Returns:
        Lo escrito, sin el principio: ``(B, n)``.
    """
    memory = DecoderCache(len(model.layers)) if cache else None
    written, new = token_ids, token_ids
    while written.shape[1] - token_ids.shape[1] < longest:
        logits, _ = model(new if cache else written, cache=memory)
        scores = logits[:, -1]  # (B, vocab_size)
        chances = next_token_probabilities(scores, **{"temperature": 0.0, **options})
        new = torch.multinomial(chances, 1, generator=generator)  # (B, 1)
        if end is not None:
            new = new.masked_fill((written[:, token_ids.shape[1] :] == end).any(1, True), end)
        written = torch.cat([written, new], dim=1)
        if end is not None and (new == end).all():
            break
    return written[:, token_ids.shape[1] :]
