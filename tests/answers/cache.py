"""Respuestas de 13.2, atender con caché."""

import math

import torch
import torch.nn.functional as F

from answers import odd, right, wrong
from course_lib import causal_mask, scaled_dot_product_attention


def both(query, key, value, kept_keys, kept_values):
    """Lo guardado con lo nuevo detrás, y la máscara."""
    keys, values = torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)
    n, L = query.shape[2], kept_keys.shape[2]
    return keys, values, torch.ones(n, L + n, dtype=torch.bool).tril(L)


def attended(query, keys, values, mask=None):
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)


# --- Buenas ---------------------------------------------------------------------------------------


@right("13.2")
def with_torch(query, key, value, kept_keys, kept_values):
    keys = torch.cat([kept_keys, key], dim=-2)
    values = torch.cat([kept_values, value], dim=-2)
    n, L = query.shape[-2], kept_keys.shape[-2]
    mask = torch.ones(n, L + n).tril(L).bool()
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask), keys, values


@right("13.2")
def with_the_course(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)
    mask = causal_mask(keys.shape[2])[-query.shape[2] :]
    output, _ = scaled_dot_product_attention(query, keys, values, mask)
    return output, keys, values


@right("13.2")
def by_steps(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -1e9).softmax(-1) @ values, keys, values


@right("13.2")
def token_by_token(query, key, value, kept_keys, kept_values):
    outputs, keys, values = [], kept_keys, kept_values
    for i in range(query.shape[2]):
        keys = torch.cat([keys, key[:, :, i : i + 1]], dim=2)
        values = torch.cat([values, value[:, :, i : i + 1]], dim=2)
        outputs.append(attended(query[:, :, i : i + 1], keys, values))
    return torch.cat(outputs, dim=2), keys, values


@right("13.2")
def with_positions(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat((kept_keys, key), -2), torch.cat((kept_values, value), -2)
    total = keys.size(-2)
    asks = torch.arange(total - query.size(-2), total)[:, None]
    scores = torch.einsum("bhnd,bhld->bhnl", query, keys) * query.size(-1) ** -0.5
    scores = torch.where(torch.arange(total) > asks, -torch.inf, scores)
    return torch.einsum("bhnl,bhld->bhnd", scores.softmax(-1), values), keys, values


@right("13.2")
def padded_and_cut(query, key, value, kept_keys, kept_values):
    """Con queries de mentira delante, la máscara es la cuadrada."""
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    fake = torch.cat([torch.zeros_like(kept_keys), query], 2)
    output = F.scaled_dot_product_attention(fake, keys, values, is_causal=True)
    return output[:, :, kept_keys.shape[2] :], keys, values


@right("13.2")
def preallocated(query, key, value, kept_keys, kept_values):
    B, h, L, d_k = kept_keys.shape
    n = query.shape[2]
    keys, values = torch.empty(B, h, L + n, d_k), torch.empty(B, h, L + n, value.shape[-1])
    keys[:, :, :L], keys[:, :, L:] = kept_keys, key
    values[:, :, :L], values[:, :, L:] = kept_values, value
    scores = query @ keys.mT / d_k**0.5
    scores += torch.full((n, L + n), -torch.inf).triu(L + 1)
    return scores.softmax(-1) @ values, keys, values


@right("13.2")
def in_float64(query, key, value, kept_keys, kept_values):
    given = (x.double() for x in (query, key, value, kept_keys, kept_values))
    return with_torch(*given)


@right("13.2")
def mask_only_if_needed(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return [attended(query, keys, values, mask if query.shape[2] > 1 else None), keys, values]


@right("13.2")
def with_numpy(query, key, value, kept_keys, kept_values):
    output, keys, values = with_torch(query, key, value, kept_keys, kept_values)
    return output.numpy(), keys.numpy(), values.numpy()


@right("13.2")
def two_softmax_parts(query, key, value, kept_keys, kept_values):
    """Las puntuaciones de lo guardado y las de lo nuevo, por separado hasta la softmax."""
    scale, n = query.shape[-1] ** 0.5, query.shape[2]
    now = (query @ key.mT / scale).masked_fill(~causal_mask(n), -torch.inf)
    weights = torch.cat([query @ kept_keys.mT / scale, now], -1).softmax(-1)
    old, new = weights.split([kept_keys.shape[2], n], -1)
    output = old @ kept_values + new @ value
    return output, torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)


# --- Malas: a qué se atiende y qué se guarda ------------------------------------------------------


@wrong("13.2", "sin-máscara")
def without_mask(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values), keys, values


@wrong("13.2", "máscara-sin-correr")
def is_causal(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    return F.scaled_dot_product_attention(query, keys, values, is_causal=True), keys, values


@wrong("13.2", "máscara-sin-correr")
def is_causal_if_many(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    many = query.shape[2] > 1
    return F.scaled_dot_product_attention(query, keys, values, is_causal=many), keys, values


@wrong("13.2", "máscara-sin-correr")
def first_rows_of_the_mask(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    mask = causal_mask(keys.shape[2])[: query.shape[2]]
    return attended(query, keys, values, mask), keys, values


@wrong("13.2", "máscara-solo-al-empezar")
def mask_only_at_the_start(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, None if kept_keys.shape[2] else mask), keys, values


@wrong("13.2", "máscara-cuadrada")
def square_mask(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~causal_mask(query.shape[2]), -torch.inf)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "máscara-sin-sí-mismo")
def only_what_is_before(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.ones(n, L + n).triu(L).bool(), -torch.inf)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "máscara-uno-de-más")
def one_too_many(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    return attended(query, keys, values, torch.ones(n, L + n).tril(L + 1).bool()), keys, values


@wrong("13.2", "máscara-corrida-n")
def moved_by_n(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    return attended(query, keys, values, torch.ones(n, L + n).tril(n).bool()), keys, values


@wrong("13.2", "máscara-al-revés")
def mask_upside_down(query, key, value, kept_keys, kept_values):
    """Como la de ``nn.MultiheadAttention``, donde True tapa."""
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    return scores.masked_fill(mask, -1e9).softmax(-1) @ values, keys, values


@wrong("13.2", "máscara-al-revés")
def upside_down_for_torch(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, ~mask), keys, values


@wrong("13.2", "máscara-sumada")
def mask_of_ones(query, key, value, kept_keys, kept_values):
    """Con decimales, torch la suma a las puntuaciones."""
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask.float()), keys, values


@wrong("13.2", "máscara-traspuesta")
def other_triangle(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    mask = torch.ones(n, L + n).triu(L).bool()
    return attended(query, keys, values, mask), keys, values


@wrong("13.2", "máscara-después")
def mask_after(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1) * mask
    return weights @ values, keys, values


@wrong("13.2", "máscara-a-cero")
def zeros_in_the_scores(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT / query.shape[-1] ** 0.5).masked_fill(~mask, 0.0)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "máscara-poco-negativa")
def minus_a_hundred(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -100)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "solo-lo-nuevo")
def only_the_new(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return output, keys, values


@wrong("13.2", "solo-lo-guardado")
def attends_before_adding(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    scores = query @ kept_keys.mT / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ kept_values, keys, values


@wrong("13.2", "caché-sin-crecer")
def never_kept(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), kept_keys, kept_values


@wrong("13.2", "caché-solo-lo-nuevo")
def keeps_the_new(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), key, value


@wrong("13.2", "caché-solo-lo-nuevo")
def forgets_the_values(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys, value


@wrong("13.2", "solo-lo-nuevo")
def hides_the_cache(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    mask = torch.cat([torch.zeros(n, L, dtype=torch.bool), causal_mask(n)], dim=1)
    return attended(query, keys, values, mask), keys, values


@wrong("13.2", "guarda-la-query")
def keeps_the_query(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, query, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys, values


@wrong("13.2", "nuevo-delante")
def in_front(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([key, kept_keys], 2), torch.cat([value, kept_values], 2)
    n, L = query.shape[2], kept_keys.shape[2]
    return attended(query, keys, values, torch.ones(n, L + n).tril(L).bool()), keys, values


@wrong("13.2", "error")
def joins_the_heads(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([kept_keys, key], dim=1), torch.cat([kept_values, value], dim=1)
    n, L = query.shape[2], kept_keys.shape[2]
    return attended(query, keys, values, torch.ones(n, L + n).tril(L).bool()), keys, values


@wrong("13.2", "otro-orden")
def cache_first(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return keys, values, attended(query, keys, values, mask)


@wrong("13.2", "otro-orden")
def values_before_keys(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), values, keys


@wrong("13.2", "solo-el-último")
def only_the_last(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask)[:, :, -1:], keys, values


@wrong("13.2", "junta-las-cabezas")
def joined_heads(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask).transpose(1, 2).flatten(2), keys, values


# --- Malas: los pasos de siempre ------------------------------------------------------------------


@wrong("13.2", "escala-ninguna")
def without_scale(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "escala-d_k")
def by_d_k(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT / query.shape[-1]).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "escala-√L_k")
def by_length(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT / keys.shape[2] ** 0.5).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ values, keys, values


@wrong("13.2", "softmax-queries")
def over_the_queries(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    scores = (query @ keys.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -1e9)
    return scores.softmax(-2) @ values, keys, values


@wrong("13.2", "softmax-inestable")
def naive_softmax(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    weights = (query @ keys.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).exp()
    return weights / weights.sum(-1, keepdim=True) @ values, keys, values


@wrong("13.2", "tipo")
def only_the_output(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask)


@wrong("13.2", "tipo")
def with_the_pair(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return scaled_dot_product_attention(query, keys, values, mask), keys, values


@wrong("13.2", "cambia-la-entrada")
def scales_what_is_kept(query, key, value, kept_keys, kept_values):
    kept_keys /= query.shape[-1] ** 0.5
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys, values


@wrong("13.2", "cambia-la-entrada")
def writes_over_the_cache(query, key, value, kept_keys, kept_values):
    n = query.shape[2]
    kept_keys[:, :, -n:], kept_values[:, :, -n:] = key, value
    return attended(query, kept_keys, kept_values), kept_keys, kept_values


_read = [0]


@wrong("13.2", "guarda-estado")
def counts_outside(query, key, value, kept_keys, kept_values):
    """Cuántos tokens lleva leídos, en una lista que no vuelve a 0 con otra frase."""
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    mask = torch.ones(query.shape[2], keys.shape[2]).tril(_read[0]).bool()
    _read[0] += query.shape[2]
    return attended(query, keys, values, mask), keys, values


_buffers = torch.zeros(2, 3, 3, 200, 8)


@wrong("13.2", "caché-compartida")
def one_buffer_for_all(query, key, value, kept_keys, kept_values):
    """Escribe siempre en el mismo tensor, y devuelve un trozo de él."""
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    kept = []
    for buffer, new in zip(_buffers, (keys, values)):
        B, h, length, width = new.shape
        kept.append(buffer[:B, :h, :length, :width])
        kept[-1][:] = new
    return attended(query, keys, values, mask), *kept


# --- Malas, con dos errores -----------------------------------------------------------------------


@wrong("13.2", "sin-máscara", "escala-ninguna")
def no_mask_no_scale(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    return (query @ keys.mT).softmax(-1) @ values, keys, values


@wrong("13.2", "sin-máscara", "caché-solo-lo-nuevo")
def no_mask_keeps_the_new(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values), key, value


@wrong("13.2", "máscara-al-revés", "máscara-sin-correr")
def triu_for_torch(query, key, value, kept_keys, kept_values):
    """La de los que tapan con True, sin correr."""
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, torch.ones(mask.shape).triu(1).bool()), keys, values


@wrong("13.2", "solo-lo-nuevo", "caché-solo-lo-nuevo")
def without_cache(query, key, value, kept_keys, kept_values):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True), key, value


@wrong("13.2", "solo-el-último")
def for_one_token(query, key, value, kept_keys, kept_values):
    keys, values, _ = both(query, key, value, kept_keys, kept_values)
    return attended(query[:, :, -1:], keys, values), keys, values


# --- Malas, sin un nombre: la propiedad que falla ------------------------------------------------


@wrong("13.2", "propiedad-pasos")
def moved_by_the_heads(query, key, value, kept_keys, kept_values):
    """El eje 1 son las cabezas, y no los tokens."""
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return (
        attended(query, keys, values, torch.ones(mask.shape).tril(key.shape[1]).bool()),
        keys,
        values,
    )


@wrong("13.2", "propiedad-forma")
def heads_behind(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask).transpose(1, 2), keys, values


# --- Raras ----------------------------------------------------------------------------------------


@odd("13.2")
def twice(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    kept = torch.cat([keys, key], 2), torch.cat([values, value], 2)
    return attended(query, keys, values, mask), *kept


@odd("13.2")
def window(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    n, L = query.shape[2], kept_keys.shape[2]
    return (
        attended(query, keys, values, mask & torch.ones(n, L + n).triu(L - 2).bool()),
        keys,
        values,
    )


@odd("13.2")
def forgets_the_oldest(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys[:, :, -4:], values[:, :, -4:]


@odd("13.2")
def first_sentence_only(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys[:1], values[:1], mask), keys, values


@odd("13.2")
def normalised_keys(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, F.normalize(key, dim=-1), value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys, values


@odd("13.2")
def fifty_at_most(query, key, value, kept_keys, kept_values):
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask & (torch.arange(keys.shape[2]) < 50)), keys, values


_kept = {}


@odd("13.2")
def cache_by_shape(query, key, value, kept_keys, kept_values):
    """Lo guardado la primera vez que se ve cada tamaño, y no lo que se recibe."""
    shapes = query.shape, kept_keys.shape
    kept_keys, kept_values = _kept.setdefault(shapes, (kept_keys, kept_values))
    keys, values, mask = both(query, key, value, kept_keys, kept_values)
    return attended(query, keys, values, mask), keys, values
