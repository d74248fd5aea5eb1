"""Respuestas de 13.3, atender con keys y values compartidos."""

import torch
import torch.nn.functional as F

from answers import odd, right, wrong
from course_lib import scaled_dot_product_attention


def sdpa(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def times(query, key):
    return query.shape[1] // key.shape[1]


# --- Buenas ---------------------------------------------------------------------------------------


@right("13.3")
def interleaved(query, key, value):
    g = query.shape[1] // key.shape[1]
    return sdpa(query, key.repeat_interleave(g, dim=1), value.repeat_interleave(g, dim=1))


@right("13.3")
def with_the_course(query, key, value):
    g = times(query, key)
    return scaled_dot_product_attention(
        query, key.repeat_interleave(g, 1), value.repeat_interleave(g, 1)
    )


@right("13.3")
def five_axes(query, key, value):
    B, h, L_q, d_k = query.shape
    h_kv = key.shape[1]
    q = query.view(B, h_kv, h // h_kv, L_q, d_k)
    scores = q @ key.unsqueeze(2).transpose(-2, -1) / d_k**0.5
    return (scores.softmax(-1) @ value.unsqueeze(2)).reshape(B, h, L_q, -1)


@right("13.3")
def like_llama(query, key, value):
    """``repeat_kv``, con ``expand`` y ``reshape``."""

    def repeat_kv(x, n):
        B, h_kv, L, d = x.shape
        return x[:, :, None].expand(B, h_kv, n, L, d).reshape(B, h_kv * n, L, d)

    n = times(query, key)
    return sdpa(query, repeat_kv(key, n), repeat_kv(value, n))


@right("13.3")
def head_by_head(query, key, value):
    g, outputs = times(query, key), []
    for i in range(query.shape[1]):
        scores = query[:, i] @ key[:, i // g].mT * query.shape[-1] ** -0.5
        outputs.append(scores.softmax(-1) @ value[:, i // g])
    return torch.stack(outputs, dim=1)


@right("13.3")
def long_queries(query, key, value):
    """Las queries de un grupo, en fila: son más queries para la misma key."""
    B, h, L_q, d_k = query.shape
    rows = query.reshape(B, key.shape[1], -1, d_k)
    return sdpa(rows, key, value).reshape(B, h, L_q, -1)


@right("13.3")
def with_einsum(query, key, value):
    q = query.unflatten(1, (key.shape[1], -1))
    weights = torch.einsum("bgrqd,bgkd->bgrqk", q, key).div(query.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bgrqk,bgkd->bgrqd", weights, value).flatten(1, 2)


@right("13.3")
def with_torch(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


@right("13.3")
def in_float64(query, key, value):
    return interleaved(query.double(), key.double(), value.double())


@right("13.3")
def indexed(query, key, value):
    which = torch.arange(query.shape[1]) // times(query, key)
    return sdpa(query, key[:, which], value[:, which])


@right("13.3")
def with_numpy(query, key, value):
    return interleaved(query, key, value).numpy()


# --- Malas: quién comparte con quién --------------------------------------------------------------


@wrong("13.3", "repite-la-serie")
def repeated(query, key, value):
    g = times(query, key)
    return sdpa(query, key.repeat(1, g, 1, 1), value.repeat(1, g, 1, 1))


@wrong("13.3", "repite-la-serie")
def groups_on_the_other_side(query, key, value):
    B, h, L_q, d_k = query.shape
    q = query.view(B, h // key.shape[1], key.shape[1], L_q, d_k)
    return sdpa(q, key[:, None], value[:, None]).flatten(1, 2)


@wrong("13.3", "repite-la-serie")
def modulo(query, key, value):
    which = torch.arange(query.shape[1]) % key.shape[1]
    return sdpa(query, key[:, which], value[:, which])


@wrong("13.3", "repite-la-serie")
def only_keys_repeated(query, key, value):
    g = times(query, key)
    return sdpa(query, key.repeat(1, g, 1, 1), value.repeat_interleave(g, 1))


@wrong("13.3", "repite-la-serie")
def only_values_repeated(query, key, value):
    g = times(query, key)
    return sdpa(query, key.repeat_interleave(g, 1), torch.cat([value] * g, dim=1))


@wrong("13.3", "todas-con-la-primera")
def all_with_the_first(query, key, value):
    return sdpa(query, key[:, :1], value[:, :1])


@wrong("13.3", "media-de-lo-compartido")
def mean_of_what_is_shared(query, key, value):
    return sdpa(query, key.mean(1, keepdim=True), value.mean(1, keepdim=True))


@wrong("13.3", "repite-los-tokens")
def tokens_repeated(query, key, value):
    B, h, _, d_k = query.shape
    g, L_k = times(query, key), key.shape[2]
    k = key.repeat_interleave(g, dim=2).view(B, h, L_k, d_k)
    return sdpa(query, k, value.repeat_interleave(g, dim=2).view(B, h, L_k, -1))


@wrong("13.3", "media-de-queries")
def mean_of_queries(query, key, value):
    return sdpa(query.unflatten(1, (key.shape[1], -1)).mean(2), key, value)


@wrong("13.3", "media-de-queries")
def mean_of_queries_repeated(query, key, value):
    return mean_of_queries(query, key, value).repeat_interleave(times(query, key), 1)


@wrong("13.3", "solo-h_kv-queries")
def first_queries(query, key, value):
    return sdpa(query[:, : key.shape[1]], key, value)


@wrong("13.3", "solo-h_kv-queries")
def one_query_a_group(query, key, value):
    return sdpa(query[:, :: times(query, key)], key, value)


@wrong("13.3", "media-de-salidas")
def mean_of_outputs(query, key, value):
    return interleaved(query, key, value).unflatten(1, (key.shape[1], -1)).mean(dim=2)


@wrong("13.3", "suma-de-salidas")
def sum_of_outputs(query, key, value):
    q = query.unflatten(1, (key.shape[1], -1))
    return sdpa(q, key[:, :, None], value[:, :, None]).sum(2)


@wrong("13.3", "cabezas-en-otro-orden")
def by_strides(query, key, value):
    g = times(query, key)
    return torch.cat([sdpa(query[:, i::g], key, value) for i in range(g)], dim=1)


@wrong("13.3", "cabezas-en-otro-orden")
def heads_turned(query, key, value):
    q = query.unflatten(1, (key.shape[1], -1)).transpose(1, 2)
    return sdpa(q, key[:, None], value[:, None]).flatten(1, 2)


@wrong("13.3", "sin-juntar-los-grupos")
def group_axis(query, key, value):
    q = query.unflatten(1, (key.shape[1], -1))
    return sdpa(q, key[:, :, None], value[:, :, None])


@wrong("13.3", "junta-las-cabezas")
def joined_heads(query, key, value):
    return interleaved(query, key, value).transpose(1, 2).flatten(2)


@wrong("13.3", "divide-por-el-grupo")
def shares_the_output(query, key, value):
    return interleaved(query, key, value) / times(query, key)


# --- Malas: los pasos de siempre ------------------------------------------------------------------


def explicit(query, key, value, divisor, dim=-1, weights=None):
    g = times(query, key)
    scores = query @ key.repeat_interleave(g, 1).mT / divisor
    shared = scores.softmax(dim) if weights is None else weights(scores)
    return shared @ value.repeat_interleave(g, 1)


@wrong("13.3", "escala-ninguna")
def without_scale(query, key, value):
    return explicit(query, key, value, 1)


@wrong("13.3", "escala-d_k")
def by_d_k(query, key, value):
    return explicit(query, key, value, query.shape[-1])


@wrong("13.3", "escala-√d_model")
def by_d_model(query, key, value):
    return explicit(query, key, value, (query.shape[1] * query.shape[-1]) ** 0.5)


@wrong("13.3", "softmax-queries")
def over_the_queries(query, key, value):
    return explicit(query, key, value, query.shape[-1] ** 0.5, dim=-2)


@wrong("13.3", "softmax-inestable")
def naive_softmax(query, key, value):
    def shared(scores):
        return scores.exp() / scores.exp().sum(-1, keepdim=True)

    return explicit(query, key, value, query.shape[-1] ** 0.5, weights=shared)


@wrong("13.3", "sin-value")
def returns_the_weights(query, key, value):
    g = times(query, key)
    return (query @ key.repeat_interleave(g, 1).mT / query.shape[-1] ** 0.5).softmax(-1)


@wrong("13.3", "orden-de-la-pareja")
def weights_first(query, key, value):
    g = times(query, key)
    k, v = key.repeat_interleave(g, 1), value.repeat_interleave(g, 1)
    output, weights = scaled_dot_product_attention(query, k, v)
    return weights, output


@wrong("13.3", "sin-repetir")
def nothing_repeated(query, key, value):
    return sdpa(query, key, value)


@wrong("13.3", "sin-repetir")
def expanded(query, key, value):
    h = query.shape[1]
    return sdpa(query, key.expand(-1, h, -1, -1), value.expand(-1, h, -1, -1))


@wrong("13.3", "repite-h_kv-veces")
def h_kv_times(query, key, value):
    h_kv = key.shape[1]
    return sdpa(query, key.repeat_interleave(h_kv, 1), value.repeat_interleave(h_kv, 1))


@wrong("13.3", "repite-h_kv-veces")
def divided_by_h_kv(query, key, value):
    h_kv = key.shape[1]
    heads = [
        sdpa(query[:, i], key[:, i // h_kv], value[:, i // h_kv]) for i in range(query.shape[1])
    ]
    return torch.stack(heads, 1)


@wrong("13.3", "repite-h-veces")
def h_times(query, key, value):
    h = query.shape[1]
    return sdpa(query, key.repeat_interleave(h, 1), value.repeat_interleave(h, 1))


@wrong("13.3", "cambia-la-entrada")
def scales_the_keys(query, key, value):
    key /= query.shape[-1] ** 0.5
    g = times(query, key)
    return (query @ key.repeat_interleave(g, 1).mT).softmax(-1) @ value.repeat_interleave(g, 1)


# --- Malas, con dos errores -----------------------------------------------------------------------


@wrong("13.3", "repite-la-serie", "escala-ninguna")
def repeated_without_scale(query, key, value):
    g = times(query, key)
    return (query @ key.repeat(1, g, 1, 1).mT).softmax(-1) @ value.repeat(1, g, 1, 1)


@wrong("13.3", "repite-la-serie", "sin-juntar-los-grupos")
def other_groups_apart(query, key, value):
    q = query.unflatten(1, (-1, key.shape[1]))
    return sdpa(q, key[:, None], value[:, None])


@wrong("13.3", "media-de-queries", "escala-d_k")
def mean_of_queries_by_d_k(query, key, value):
    q = query.unflatten(1, (key.shape[1], -1)).mean(2)
    return (q @ key.mT / q.shape[-1]).softmax(-1) @ value


@wrong("13.3", "todas-con-la-primera", "junta-las-cabezas")
def first_and_joined(query, key, value):
    return sdpa(query, key[:, :1], value[:, :1]).transpose(1, 2).flatten(2)


# --- Malas, sin un nombre: la propiedad que falla ------------------------------------------------


@wrong("13.3", "propiedad-grupo")
def turned_groups(query, key, value):
    return interleaved(query, key.flip(1), value.flip(1))


@wrong("13.3", "propiedad-forma")
def heads_behind(query, key, value):
    return interleaved(query, key, value).transpose(1, 2)


# --- Raras ----------------------------------------------------------------------------------------


@odd("13.3")
def last_for_all(query, key, value):
    return sdpa(query, key[:, -1:], value[:, -1:])


@odd("13.3")
def moved_one(query, key, value):
    return interleaved(query, key, value).roll(1, dims=1)


@odd("13.3")
def causal_too(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


@odd("13.3")
def eight_heads_at_most(query, key, value):
    output = interleaved(query, key, value)
    return torch.cat([output[:, :8], output[:, 8:] * 0], dim=1)
