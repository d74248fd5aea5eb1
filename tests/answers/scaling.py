"""Respuestas del ejercicio 3.2."""

import functools
import math

import numpy as np
import torch

from answers import odd, right, wrong


@right("3.2")
def scale_plain(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


@right("3.2")
def scale_einsum(q, k):
    return torch.einsum("...id,...jd->...ij", q, k) * q.size(-1) ** -0.5


@right("3.2")
def scale_query_first(query, key):
    query = query / torch.sqrt(torch.tensor(query.shape[-1], dtype=query.dtype))
    return torch.matmul(query, key.mT)


@right("3.2")
def scale_both(query, key):
    fourth = query.shape[-1] ** 0.25
    return (query / fourth) @ (key / fourth).mT


@right("3.2")
def scale_loops(*args):
    q, k = args
    out = torch.zeros(*q.shape[:-1], k.shape[-2])
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            out[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(-1)
    out /= np.sqrt(q.shape[-1])
    return out


@right("3.2")
def scale_broadcast(query, key):
    d_k = key.shape[-1]
    return (query[..., :, None, :] * key[..., None, :, :]).sum(dim=-1).div(d_k**0.5)


@right("3.2")
def scale_norms_undone(query, key):
    cosine = torch.cosine_similarity(query[..., :, None, :], key[..., None, :, :], dim=-1)
    norms = query.norm(dim=-1)[..., :, None] * key.norm(dim=-1)[..., None, :]
    return cosine * norms / math.sqrt(query.size(-1))


def _times(factor, query, key):
    return query @ key.mT * factor / math.sqrt(query.shape[-1])


def scale_partial():
    return functools.partial(_times, 1.0)


partial = scale_partial()
partial.__name__ = "scale_as_partial"
right("3.2")(partial)


@wrong("3.2", "escala-ninguna")
def scale_forgotten(query, key):
    return query @ key.mT


@wrong("3.2", "escala-d_k")
def scale_d_k(query, key):
    d_k = query.shape[-1]
    return query @ key.mT / d_k


@wrong("3.2", "escala-d_k")
def scale_root_twice(query, key):
    root = math.sqrt(query.shape[-1])
    return (query / root) @ (key / root).mT


@wrong("3.2", "escala-d_k")
def scale_mean(query, key):
    return (query[..., :, None, :] * key[..., None, :, :]).mean(-1)


@wrong("3.2", "escala-por-√d_k")
def scale_times_root(query, key):
    return query @ key.mT * math.sqrt(key.shape[-1])


@wrong("3.2", "escala-por-d_k")
def scale_times_d_k(query, key):
    return query @ key.mT * key.shape[-1]


@wrong("3.2", "escala-d_k²")
def scale_squared(query, key):
    return query @ key.mT / query.shape[-1] ** 2


@wrong("3.2", "escala-√d_model")
def scale_model(query, key):
    d_model = query.shape[1] * query.shape[-1]
    return query @ key.mT / math.sqrt(d_model)


@wrong("3.2", "escala-√d_model")
def scale_model_heads(query, key):
    heads = query.shape[-3] if query.dim() == 4 else 1
    return query @ key.mT / math.sqrt(heads * query.shape[-1])


@wrong("3.2", "escala-√L_k")
def scale_keys(query, key):
    return query @ key.mT / math.sqrt(key.shape[-2])


@wrong("3.2", "escala-√L_k")
def scale_last_of_scores(query, key):
    scores = query @ key.mT
    return scores / math.sqrt(scores.shape[-1])


@wrong("3.2", "escala-√L_q")
def scale_queries(query, key):
    return query @ key.mT / math.sqrt(query.size(-2))


@wrong("3.2", "escala-L_k")
def scale_number_of_keys(query, key):
    return query @ key.mT / key.size(-2)


@wrong("3.2", "escala-√eje-0")
def scale_len(query, key):
    return query @ key.mT / math.sqrt(len(query))


@wrong("3.2", "escala-√eje-1")
def scale_axis_one(query, key):
    return query @ key.mT / math.sqrt(query.shape[1])


@wrong("3.2", "escala-normas")
def scale_cosine(query, key):
    return torch.cosine_similarity(query[..., :, None, :], key[..., None, :, :], dim=-1)


@wrong("3.2", "escala-una-norma")
def scale_query_norm(query, key):
    return torch.nn.functional.normalize(query, dim=-1) @ key.mT


@wrong("3.2", "escala-una-norma")
def scale_whole_norm(query, key):
    return query @ key.mT / torch.norm(key)


@wrong("3.2", "escala-máximo")
def scale_max(query, key):
    scores = query @ key.mT
    return scores / scores.max()


@wrong("3.2", "escala-desviación")
def scale_std(query, key):
    scores = query @ key.mT
    return scores / scores.std()


@wrong("3.2", "escala-desviación")
def scale_z_rows(query, key):
    scores = query @ key.mT
    return (scores - scores.mean(-1, keepdim=True)) / scores.std(-1, keepdim=True)


@wrong("3.2", "entre-0-y-1")
def scale_min_max(query, key):
    scores = query @ key.mT
    scores = scores / math.sqrt(query.shape[-1])
    return (scores - scores.min()) / (scores.max() - scores.min())


@wrong("3.2", "raíz-de-todo")
def scale_root_of_all(query, key):
    return torch.sqrt(query @ key.mT / query.shape[-1])


@wrong("3.2", "escala-fija")
def scale_eight(query, key):
    return query @ key.mT / 8


@wrong("3.2", "escala-fija")
def scale_root_of_32(query, key):
    return query @ key.mT / math.sqrt(32)


@wrong("3.2", "escala-de-más")
def scale_two_roots(query, key):
    return query @ key.mT / (2 * math.sqrt(query.shape[-1]))


@wrong("3.2", "escala-otra")
def scale_plus_one(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1] + 1)


@wrong("3.2", "escala-otra")
def scale_cube_root(query, key):
    return query @ key.mT / query.shape[-1] ** (1 / 3)


@wrong("3.2", "escala-otra")
def scale_log(query, key):
    return query @ key.mT / math.log(query.shape[-1])


@wrong("3.2", "query-key-cambiadas")
def scale_swapped(query, key):
    return key @ query.mT / math.sqrt(query.shape[-1])


@wrong("3.2", "query-key-cambiadas")
def scale_transposed(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).transpose(-1, -2)


@wrong("3.2", "query-key-cambiadas", "escala-ninguna")
def scale_swapped_forgotten(key, query):
    return query @ key.mT


@wrong("3.2", "sin-trasponer")
def scale_no_transpose(query, key):
    return query @ key / math.sqrt(query.shape[-1])


@wrong("3.2", "sin-trasponer", "escala-ninguna")
def scale_no_transpose_no_scale(query, key):
    return torch.matmul(query, key)


@wrong("3.2", "query-traspuesta")
def scale_other_transposed(query, key):
    return query.mT @ key / math.sqrt(query.shape[-1])


@wrong("3.2", "componente-a-componente")
def scale_elementwise(query, key):
    return query * key / math.sqrt(query.shape[-1])


@wrong("3.2", "componente-a-componente", "escala-ninguna")
def scale_elementwise_only(query, key):
    return torch.mul(query, key)


@wrong("3.2", "solo-la-diagonal")
def scale_diagonal(query, key):
    return (query * key).sum(dim=-1) / math.sqrt(query.shape[-1])


@wrong("3.2", "softmax-de-más")
def scale_softmax(query, key):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)


@wrong("3.2", "softmax-de-más", "escala-ninguna")
def scale_softmax_only(query, key):
    return (query @ key.mT).softmax(-1)


@wrong("3.2", "softmax-de-más", "escala-después")
def scale_softmax_then(query, key):
    return torch.softmax(query @ key.mT, dim=-1) / math.sqrt(query.shape[-1])


@wrong("3.2", "softmax-de-más", "escala-d_k")
def scale_softmax_d_k(query, key):
    return torch.softmax(query @ key.mT / query.shape[-1], dim=-1)


@wrong("3.2", "valor-absoluto")
def scale_abs(query, key):
    return abs(query @ key.mT) / math.sqrt(query.shape[-1])


@wrong("3.2", "signo")
def scale_negative(query, key):
    return -(query @ key.mT) / math.sqrt(query.shape[-1])


@wrong("3.2", "relu")
def scale_relu(query, key):
    return torch.relu(query @ key.mT / math.sqrt(query.shape[-1]))


@wrong("3.2", "recorta")
def scale_clamp(query, key):
    return torch.clamp(query @ key.mT / math.sqrt(query.shape[-1]), 0, 1)


@wrong("3.2", "exponencial")
def scale_exp(query, key):
    return torch.exp(query @ key.mT / math.sqrt(query.shape[-1]))


@wrong("3.2", "sin-decimales")
def scale_floor(query, key):
    return (query @ key.mT) // math.sqrt(query.shape[-1])


@wrong("3.2", "sin-decimales")
def scale_int(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).int().float()


@wrong("3.2", "escala-fija", "query-key-cambiadas")
def scale_fixed_swapped(query, key):
    return key @ query.mT / 8.0


@wrong("3.2", "escala-√L_k", "softmax-de-más")
def scale_keys_softmax(query, key):
    return (query @ key.mT / key.shape[-2] ** 0.5).softmax(dim=-1)


@wrong("3.2", "escala-otro-eje")
def scale_by_len(query, key):
    return query @ key.mT / len(key)


@wrong("3.2", "escala-d_model")
def scale_whole_model(query, key):
    d_model = query.shape[1] * query.shape[-1]
    return query @ key.mT / d_model


@wrong("3.2", "escala-fija", "softmax-de-más")
def scale_eight_softmax(query, key):
    return torch.softmax(query @ key.mT / 8, dim=-1)


@odd("3.2")
def scale_distance(query, key):
    return -torch.cdist(query, key) / math.sqrt(query.shape[-1])


@odd("3.2")
def scale_mean_subtracted(query, key):
    query = query - query.mean(-1, keepdim=True)
    return query @ key.mT / math.sqrt(query.shape[-1])


@odd("3.2")
def scale_sum(query, key):
    return query.sum(-1)[..., :, None] + key.sum(-1)[..., None, :]


@odd("3.2")
def scale_square(query, key):
    return (query @ key.mT) ** 2 / query.shape[-1]


@odd("3.2")
def scale_one_sentence(query, key):
    return query @ key.T / math.sqrt(query.shape[-1]) if query.dim() == 2 else query @ key


# --- Lo que promete el enunciado, y lo que no se ve con números corrientes -------------------------


@right("3.2")
def scale_bmm(query, key):
    flat = (x.reshape(-1, *x.shape[-2:]) for x in (query, key.mT))
    scores = torch.bmm(*flat) / math.sqrt(query.shape[-1])
    return scores.reshape(*query.shape[:-1], key.shape[-2])


@wrong("3.2", "sin-lote", "sin-frase")
def scale_only_with_heads(query, key):
    return torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])


@wrong("3.2", "sin-cabezas", "sin-frase")
def scale_only_a_batch(query, key):
    return torch.bmm(query, key.mT) / math.sqrt(query.shape[-1])


@wrong("3.2", "escala-otra")
def scale_whole_root(query, key):
    return query @ key.mT / int(math.sqrt(query.shape[-1]))


@wrong("3.2", "escala-otra")
def scale_half_the_width(query, key):
    return query @ key.mT / (query.shape[-1] // 2)


@wrong("3.2", "escala-otra")
def scale_from_a_table(query, key):
    return query @ key.mT / {4: 2.0, 5: 5**0.5, 6: 6**0.5}.get(query.shape[-1], 1.0)


@wrong("3.2", "recorta")
def scale_clamped_far(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).clamp(-100, 100)


@wrong("3.2", "media-precisión")
def scale_bfloat16(query, key):
    return (query.bfloat16() @ key.bfloat16().mT / math.sqrt(query.shape[-1])).float()
