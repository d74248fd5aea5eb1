"""La atención por bloques: la misma cuenta, sin que exista nunca la tabla de L_q × L_k pesos.

La softmax parece necesitar la fila entera. No: basta llevar, de lo visto hasta ahora, el máximo m y
la suma l de exponenciales. Si aparece un máximo mayor, lo acumulado se encoge por exp(m − m_nuevo).

Fuente: Milakov y Gimelshein, arXiv 1805.02867 (2018), algoritmo 3; Dao et al.,
«FlashAttention» (2022), algoritmo 1. Las queries por fuera y dividir una sola vez, al final, es de
Dao, «FlashAttention-2» (2023), algoritmo 1.
"""

import math

import torch
import torch.nn.functional as F

from course_lib.checks import check_whole, is_autocast, is_tracing
from course_lib.masks import causal_mask, check_shapes, combine_masks


def flash_attention(query, key, value, mask=None, *, causal=False, block=128):
    """Atención de producto escalar escalado, por bloques de queries y de keys.

    Da lo mismo que ``scaled_dot_product_attention``, sin los pesos. A la vez solo hay
    ``block × block`` puntuaciones: la memoria crece con L, no con L². Si se piden gradientes,
    torch guarda todos los bloques y el ahorro se pierde (FlashAttention los recalcula).

    Args:
        query, key, value, mask: como en ``scaled_dot_product_attention``.
        causal: si nadie ve el futuro. Si hay más keys que queries, las queries son las últimas
            posiciones, como con una caché. Los bloques que son todo futuro ni se calculan.
        block: queries y keys de cada bloque.

    Returns:
        La salida, ``(..., L_q, d_v)``. Una fila bloqueada entera sale 0.

    Raises:
        ValueError: si las formas no encajan, ``block`` no es un entero positivo o, con
            ``causal``, hay más queries que keys.
        TypeError: si la máscara no es booleana.

    Fuente: Dao et al. (2022), §3.1.
    """
    check_shapes(query, key, value, mask)
    block = check_whole("flash_attention", block=block)
    L_q, L_k = query.shape[-2], key.shape[-2]
    if causal and L_q > L_k:
        raise ValueError(
            f"flash_attention: con causal=True hay {L_q} queries y {L_k} keys: cada query necesita "
            "al menos su propia key. ¿Falta lo que hay en la caché?"
        )
    if mask is not None:
        mask = torch.atleast_2d(mask)
        mask = mask.expand(*mask.shape[:-2], L_q, L_k)
    if is_tracing() or not L_q * L_k:  # un bucle trazado no crece con L: el núcleo, también por bloques
        future = causal_mask(L_k, query.device)[L_k - L_q :] if causal else None
        mask = combine_masks(future, mask)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    if is_autocast(query):
        lower = torch.get_autocast_dtype(query.device.type)
        query, key, value = (x.to(lower) for x in (query, key, value))
    outputs = []
    for start in range(0, L_q, block):
        rows = slice(start, start + block)
        first = L_k - L_q + start if causal else None  # la posición de la primera query del bloque
        part = None if mask is None else mask[..., rows, :]
        outputs.append(_attend_rows(query[..., rows, :], key, value, part, first, block))
    return torch.cat(outputs, dim=-2)


def _attend_rows(query, key, value, mask, first, block):
    """Un bloque de queries contra todas las keys, bloque a bloque: → (..., filas, d_v)."""
    rows, d_k = query.shape[-2:]
    query = query / math.sqrt(d_k)
    end = key.shape[-2] if first is None else first + rows  # más allá, todo es futuro
    maximum = torch.finfo(query.dtype).min  # m, de cada fila
    total = output = 0.0  # l, y la salida sin dividir
    for start in range(0, end, block):
        columns = slice(start, start + block)
        scores = query @ key[..., columns, :].mT  # (..., filas, block): lo único grande
        if mask is not None:
            scores = scores.masked_fill(~mask[..., columns], -torch.inf)
        if first is not None and columns.stop > first + 1:  # el bloque toca la diagonal
            keep = torch.ones(rows, scores.shape[-1], dtype=torch.bool, device=scores.device)
            scores = scores.masked_fill(~keep.tril(first - start), -torch.inf)
        # El máximo no cambia el resultado, así que tampoco lleva gradiente.
        highest = scores.detach().amax(dim=-1, keepdim=True).clamp(min=maximum)
        shrink = (maximum - highest).exp()
        exponentials = (scores - highest).exp()
        total = total * shrink + exponentials.sum(dim=-1, keepdim=True)
        output = output * shrink + exponentials @ value[..., columns, :]
        maximum = highest
    return output / total.masked_fill(total == 0, 1)
