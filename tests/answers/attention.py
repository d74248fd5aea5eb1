"""Respuestas del ejercicio 5.1: la atención entera."""

import functools
import itertools
import math
import textwrap

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import _add, odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("5.1")
def with_matmul(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


@wrong("5.1", "sin-los-pesos")
def only_the_output(query, key, value, mask=None):
    scores = query @ key.mT * key.shape[-1] ** -0.5
    if mask is not None:
        scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(-1) @ value


@right("5.1")
def with_einsum(q, k, v, m=None):
    s = torch.einsum("...id,...jd->...ij", q, k) / q.shape[-1] ** 0.5
    if m is not None:
        s = torch.where(m, s, float("-inf"))
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    w = e / e.sum(-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", w, v), w


@wrong("5.1", "sin-los-pesos")
def fused(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@right("5.1")
def additive_mask(query, key, value, mask=None):
    bias = 0.0 if mask is None else (1.0 - mask.float()) * -1e9
    weights = torch.softmax(query @ key.transpose(-1, -2) / np.sqrt(key.shape[-1]) + bias, dim=-1)
    return weights @ value, weights


@right("5.1")
def additive_infinity(query, key, value, mask=None):
    scores = (query / query.shape[-1] ** 0.25) @ (key / key.shape[-1] ** 0.25).mT
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
    weights = nn.Softmax(dim=-1)(scores)
    return weights.matmul(value), weights


@right("5.1")
def with_loops(query, key, value, mask=None):
    *leading, L_q, d_k = query.shape
    L_k, d_v = value.shape[-2:]
    q, k, v = query.reshape(-1, L_q, d_k), key.reshape(-1, L_k, d_k), value.reshape(-1, L_k, d_v)
    m = None if mask is None else mask.expand(*leading, L_q, L_k).reshape(-1, L_q, L_k)
    output, shares = torch.zeros(len(q), L_q, d_v), torch.zeros(len(q), L_q, L_k)
    for b in range(len(q)):
        for i in range(L_q):
            scores = []
            for j in range(L_k):
                allowed = m is None or bool(m[b, i, j])
                scores.append(float(q[b, i] @ k[b, j]) / math.sqrt(d_k) if allowed else -math.inf)
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            total = sum(weights)
            for j in range(L_k):
                shares[b, i, j] = weights[j] / total
                output[b, i] += weights[j] / total * v[b, j]
    return output.reshape(*leading, L_q, d_v), shares.reshape(*leading, L_q, L_k)


@wrong("5.1", "sin-3", "sin-2")
def only_with_heads(query, key, value, mask=None):
    B, h, L_q, d_k = query.shape
    scores = torch.zeros(B, h, L_q, key.shape[2])
    for b in range(B):
        for i in range(h):
            scores[b, i] = query[b, i] @ key[b, i].T / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=3)
    return weights @ value, weights


@wrong("5.1", "sin-4", "sin-2")
def only_with_a_batch(query, key, value, mask=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(2))
    if mask is not None:
        scores.masked_fill_(~mask, -1e20)
    weights = torch.softmax(scores, 2)
    return torch.bmm(weights, value), weights


@right("5.1")
def mask_then_renormalise(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True).clamp_min(1e-9)
    return weights @ value, weights


@wrong("5.1", "máscara-reparte-otra-vez")
def zeros_after_and_shared_again(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value


@right("5.1")
def with_logsumexp(query, key, value, mask=None):
    scores = (key @ query.mT).mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.where(mask, torch.tensor(-1e30))
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return weights @ value, weights


@right("5.1")
def transposed_product(query, key, value, mask=None):
    scores = key.matmul(query.mT) / math.sqrt(key.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.mT, -1e9)
    weights = torch.softmax(scores, dim=-2)
    return weights.mT @ value, weights.mT


class Block(nn.Module):
    def forward(self, query, key, value, mask=None):
        return with_matmul(query, key, value, mask)


_add("5.1", Block(), (), "buena", "a_module")
_add("5.1", functools.partial(with_matmul), (), "buena", "a_partial")


@right("5.1")
def module_of_torch(query, key, value, mask=None):
    """nn.MultiheadAttention de una cabeza, con proyecciones que no hacen nada."""
    *leading, L_q, d_k = query.shape
    L_k, d_v = value.shape[-2:]
    width = max(d_k, d_v)
    pad = [
        F.pad(x.reshape(-1, *x.shape[-2:]), (0, width - x.shape[-1])) for x in (query, key, value)
    ]
    layer = nn.MultiheadAttention(width, 1, bias=False, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(width))
        pad[0] = pad[0] * math.sqrt(width / d_k)
        blocked = None if mask is None else ~mask.expand(*leading, L_q, L_k).reshape(-1, L_q, L_k)
        output, weights = layer(*pad, attn_mask=blocked)
    return output[..., :d_v].reshape(*leading, L_q, d_v), weights.reshape(*leading, L_q, L_k)


@right("5.1")
def by_hand_exponential(*tensors):
    query, key, value, mask = (*tensors, None)[:4]
    scores = query @ key.mT / torch.tensor(float(query.shape[-1])).sqrt()
    if mask is not None:
        scores = scores - 1e12 * (~mask)
    scores = scores - scores.amax(dim=-1, keepdim=True)
    numerator = torch.pow(math.e, scores)
    weights = numerator / numerator.sum(dim=-1).unsqueeze(-1)
    return weights @ value, weights


# --- Un solo error, cada una a su manera ----------------------------------------------------------


@wrong("5.1", "escala-ninguna")
def forgot_the_scale(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("5.1", "escala-d_k")
def divided_by_d_k(query, key, value, mask=None):
    d_k = key.shape[-1]
    scores = torch.einsum("...qd,...kd->...qk", query, key) / d_k
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "escala-d_k")
def divided_twice(query, key, value, mask=None):
    root = math.sqrt(query.shape[-1])
    return with_matmul(query / root, key, value, mask)


@wrong("5.1", "escala-por-√d_k")
def multiplied_by_the_root(query, key, value, mask=None):
    scores = (query @ key.mT) * math.sqrt(query.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    return torch.softmax(scores, dim=-1) @ value


@wrong("5.1", "escala-√d_model")
def root_of_d_model(query, key, value, mask=None):
    heads = query.shape[1] if query.dim() == 4 else 1
    d_model = heads * query.shape[-1]
    scores = query @ key.mT / d_model**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-fija")
def root_of_512(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(512)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-fija")
def eight_as_in_the_paper(query, key, value, mask=None):
    scores = query @ key.mT / 8
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-otra")
def cubic_root(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** (1 / 3)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-√L_k")
def root_of_the_keys(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.size(-2))
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-√d_v")
def root_of_the_values(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(value.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("5.1", "escala-después")
def scaled_the_weights(query, key, value, mask=None):
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) / math.sqrt(query.size(-1)) @ value


@wrong("5.1", "query-key-cambiadas")
def swapped(query, key, value, mask=None):
    scores = key @ query.transpose(-2, -1) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


@wrong("5.1", "softmax-queries")
def softmax_over_queries(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-2)
    return weights @ value, weights


@wrong("5.1", "softmax-eje-1")
def softmax_dim_one(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=1) @ value


@wrong("5.1", "softmax-eje-2")
def softmax_dim_two(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=2) @ value


@wrong("5.1", "softmax-eje-0")
def softmax_dim_zero(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=0) @ value


@wrong("5.1", "softmax-sin-keepdim")
def forgot_keepdim(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(dim=-1) @ value


@wrong("5.1", "softmax-sin-dim")
def did_not_say_the_axis(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return F.softmax(scores) @ value


@wrong("5.1", "sin-difusión")
def view_of_the_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.view(scores.shape), -1e9)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


@wrong("5.1", "suma-query")
def residual_inside(query, key, value, mask=None):
    return with_matmul(query, key, value, mask)[0] + query


@wrong("5.1", "sin-pesos")
def only_the_values(query, key, value, mask=None):
    return value


@wrong("5.1", "softmax-todo")
def softmax_over_everything(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.flatten(-2).softmax(-1).view(scores.shape) @ value


@wrong("5.1", "softmax-ninguna")
def no_softmax(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores @ value


@wrong("5.1", "softmax-porcentaje")
def percentage(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores / scores.sum(dim=-1, keepdim=True) @ value


@wrong("5.1", "softmax-sin-dividir")
def forgot_to_divide(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.exp() @ value


@wrong("5.1", "softmax-inestable")
def naive_exponential(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    e = torch.exp(scores)
    return e / e.sum(-1, keepdim=True) @ value


@wrong("5.1", "softmax-inestable")
def naive_loops(query, key, value, mask=None):
    *leading, L_q, d_k = query.shape
    L_k, d_v = value.shape[-2:]
    q, k, v = query.reshape(-1, L_q, d_k), key.reshape(-1, L_k, d_k), value.reshape(-1, L_k, d_v)
    rows = []
    for b in range(len(q)):
        e = (q[b] @ k[b].T / d_k**0.5).exp()
        if mask is not None:
            e = e * mask.expand(*leading, L_q, L_k).reshape(-1, L_q, L_k)[b]
        rows.append(e / e.sum(1, keepdim=True) @ v[b])
    return torch.stack(rows).reshape(*leading, L_q, d_v)


@wrong("5.1", "softmax-sigmoide")
def sigmoid(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.sigmoid() @ value


@wrong("5.1", "softmax-logaritmo")
def log_softmax(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return F.log_softmax(scores, dim=-1) @ value


@wrong("5.1", "softmax-máximo")
def hard_maximum(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).float() @ value


@wrong("5.1", "softmax-dos-veces")
def softmax_twice(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return F.softmax(weights, -1) @ value, F.softmax(weights, -1)


@wrong("5.1", "softmax-signo")
def wrong_sign(query, key, value, mask=None):
    scores = -(query @ key.mT) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-ignorada")
def forgot_the_mask(query, key, value, mask=None):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value


@wrong("5.1", "máscara-al-revés")
def inverted_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-al-revés")
def inverted_mask_finite(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = torch.where(mask, -1e9, scores)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-al-revés")
def inverted_mask_additive(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores += mask * -1e9
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-al-revés")
def inverted_as_in_nn_multihead(query, key, value, mask=None):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=None if mask is None else ~mask
    )


@wrong("5.1", "máscara-después")
def mask_after_the_softmax(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights @ value, weights


@wrong("5.1", "máscara-tapa-pesos")
def minus_infinity_after(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
    if mask is not None:
        weights = weights.masked_fill(~mask, -1e9)
    return weights @ value, weights


@wrong("5.1", "máscara-a-cero")
def multiplied_scores(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-a-cero")
def filled_with_one_billionth(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, 1e-9)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-sumada")
def added_ones(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask.float()
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-sumada")
def subtracted_ones(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores - mask.logical_not().float()
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-poco-negativa")
def minus_four_and_a_half(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -4.5)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-poco-negativa")
def minus_one_hundred(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -100.0)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-otro-eje")
def transposed_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.mT, -torch.inf)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-causal-fija")
def always_tril_when_masked(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        causal = torch.tril(torch.ones(scores.shape[-2:])).bool()
        scores = scores.masked_fill(~causal, -torch.inf)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-causal-siempre")
def always_causal(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.triu(torch.ones_like(scores), diagonal=1).bool()
    scores = scores.masked_fill(future, -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "máscara-signo")
def plus_infinity(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e9)
    return torch.softmax(scores, -1) @ value


@wrong("5.1", "pesos-traspuestos")
def transposed_weights(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1).mT @ value


@wrong("5.1", "key-por-value")
def keys_for_values(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ key


@wrong("5.1", "query-por-value")
def queries_for_values(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ query


@wrong("5.1", "sin-value")
def only_the_weights(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1)


@wrong("5.1", "orden-de-la-pareja")
def weights_first(query, key, value, mask=None):
    output, weights = with_matmul(query, key, value, mask)
    return weights, output


@wrong("5.1", "devuelve-puntuaciones")
def returns_the_scores(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ value, scores


# --- Todos los pares ------------------------------------------------------------------------------

# Cada trozo, escrito como lo escribe alguien. Un par son dos trozos malos, de pasos distintos.
PIECES = {
    "order": {
        "": "a, b = query, key",
        "query-key-cambiadas": "a, b = key, query",
    },
    "scale": {
        "": "scores = a @ b.transpose(-2, -1) / math.sqrt(query.shape[-1])",
        "escala-ninguna": "scores = a @ b.transpose(-2, -1)",
        "escala-d_k": "scores = a @ b.transpose(-2, -1) / query.shape[-1]",
        "escala-por-√d_k": "scores = torch.matmul(a, b.mT) * key.shape[-1] ** 0.5",
        "escala-√d_model": (
            "width = query.shape[-1] * (query.shape[1] if query.dim() == 4 else 1)\n"
            "scores = a @ b.mT / math.sqrt(width)"
        ),
        "escala-fija": "scores = torch.einsum('...id,...jd->...ij', a, b) / 8.0",
    },
    "mask": {
        "": "if mask is not None:\n    scores = scores.masked_fill(~mask, -1e9)",
        "máscara-ignorada": "",
        "máscara-al-revés": "if mask is not None:\n    scores = scores.masked_fill(mask, -1e9)",
        "máscara-a-cero": "if mask is not None:\n    scores = scores * mask",
        "máscara-sumada": "if mask is not None:\n    scores = scores + mask.float()",
        "máscara-otro-eje": "if mask is not None:\n    scores = scores.masked_fill(~mask.mT, -1e9)",
        "máscara-después": "",
    },
    "softmax": {
        "": "weights = torch.softmax(scores, dim=-1)",
        "softmax-queries": "weights = torch.softmax(scores, dim=-2)",
        "softmax-todo": "weights = scores.flatten(-2).softmax(-1).view_as(scores)",
        "softmax-ninguna": "weights = scores",
        "softmax-porcentaje": "weights = scores / scores.sum(-1, keepdim=True)",
        "softmax-inestable": (
            "weights = torch.exp(scores)\nweights = weights / weights.sum(-1, keepdim=True)"
        ),
        "softmax-sin-dividir": "weights = scores.exp()",
    },
    "value": {
        "": "output = weights @ value",
        "pesos-traspuestos": "output = weights.transpose(-2, -1) @ value",
        "key-por-value": "output = weights @ key",
        "sin-value": "output = weights",
    },
}
# La exponencial sin restar el máximo tampoco cabe aquí: e⁹⁰⁰ no es el único número grande.
LATE_MASK = "if mask is not None:\n    weights = weights * mask"


def written(mistakes):
    """El código de una atención con los errores pedidos: paso → error."""
    lines = [PIECES[step][mistakes.get(step, "")] for step in PIECES]
    if mistakes.get("mask") == "máscara-después":
        lines.insert(-1, LATE_MASK)
    body = textwrap.indent("\n".join([*lines, "return output"]), "    ")
    return f"def answer(query, key, value, mask=None):\n{body}\n"


def build(mistakes):
    space = {"math": math, "torch": torch}
    exec(written(mistakes), space)
    return space["answer"]


def pairs():
    for first, second in itertools.combinations(PIECES, 2):
        bad = ([name for name in PIECES[step] if name] for step in (first, second))
        for one, other in itertools.product(*bad):
            yield {first: one, second: other}


# Pares que dan siempre lo mismo que otra cosa: no hay manera de verlos en la salida.
SCALES = [name for name in PIECES["scale"] if name]
SAME_AS = {
    # Un porcentaje no cambia si todo se divide por lo mismo.
    **{(scale, "softmax-porcentaje"): ("softmax-porcentaje",) for scale in SCALES},
    # e^s·0 es e^(−∞): sin dividir por la suma, tapar antes o después es igual.
    ("máscara-después", "softmax-sin-dividir"): ("softmax-sin-dividir",),
    # Con un porcentaje, poner a 0 las puntuaciones o los pesos y repartir de nuevo es lo mismo.
    ("máscara-a-cero", "softmax-porcentaje"): ("softmax-porcentaje",),
    # Sin softmax, poner a 0 las puntuaciones y poner a 0 los pesos es lo mismo.
    ("máscara-después", "softmax-ninguna"): ("softmax-ninguna",),
    ("máscara-a-cero", "softmax-ninguna"): ("softmax-ninguna",),
    ("máscara-sumada", "softmax-ninguna"): ("softmax-ninguna", "ambiguo"),
    # (K·Qᵀ) es (Q·Kᵀ)ᵀ: dos trasposiciones se deshacen, o son la misma que otra.
    ("query-key-cambiadas", "softmax-queries"): ("ambiguo",),
    ("query-key-cambiadas", "pesos-traspuestos"): ("ambiguo",),
    ("query-key-cambiadas", "máscara-otro-eje"): ("ambiguo",),
    ("máscara-otro-eje", "softmax-queries"): ("ambiguo",),
    ("máscara-otro-eje", "pesos-traspuestos"): ("ambiguo",),
    ("softmax-queries", "pesos-traspuestos"): ("ambiguo",),
}

for chosen in pairs():
    both = tuple(chosen.values())
    _add("5.1", build(chosen), SAME_AS.get(both, both), "mala", "_y_".join(both))

# --- Raras ----------------------------------------------------------------------------------------


@odd("5.1")
def adds_a_bit_of_the_mean(query, key, value, mask=None):
    return with_matmul(query, key, value, mask)[0] + 0.1 * value.mean(-2, keepdim=True)


@odd("5.1")
def forgets_the_last_key(query, key, value, mask=None):
    mask = None if mask is None else mask[..., :-1]
    return with_matmul(query, key[..., :-1, :], value[..., :-1, :], mask)[0]


@odd("5.1")
def squeezes(query, key, value, mask=None):
    return with_matmul(query, key, value, mask)[0].squeeze()


@odd("5.1")
def the_mask_of_the_first_head(query, key, value, mask=None):
    if mask is not None and mask.dim() == 4:
        mask = mask[:, :1]
    return with_matmul(query, key, value, mask)


@odd("5.1")
def zeros(query, key, value, mask=None):
    return torch.zeros(*query.shape[:-1], value.shape[-1])


@odd("5.1")
def blocks_the_diagonal_too(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if scores.shape[-1] == scores.shape[-2]:
        scores = scores.masked_fill(torch.eye(scores.shape[-1]).bool(), -1e9)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ value


@odd("5.1")
def with_relative_positions(query, key, value, mask=None):
    distance = torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])
    scores = query @ key.mT / math.sqrt(query.shape[-1]) - 0.1 * distance.abs()
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ value


@odd("5.1")
def averages_the_keys(query, key, value, mask=None):
    return value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1])


@odd("5.1")
def leaks_a_thousandth(query, key, value, mask=None):
    return with_matmul(query, key, value, mask)[0] + 1e-3 * value.sum(-2, keepdim=True)


@odd("5.1")
def drops_a_dimension(query, key, value, mask=None):
    return with_matmul(query, key, value, mask)[0][..., :-1]


@odd("5.1")
def sums_absolute_differences(query, key, value, mask=None):
    scores = -(query[..., :, None, :] - key[..., None, :, :]).abs().sum(-1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ value


@wrong("5.1", "sin-los-pesos")
def no_weights(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value, None


@odd("5.1")
def pair_in_a_pair(query, key, value, mask=None):
    return no_weights(query, key, value, mask), None


@odd("5.1")
def only_32_keys(query, key, value, mask=None):
    """Lo que está más allá de la key 32 no se mira."""
    mask = None if mask is None else mask[..., :32]
    output, weights = with_matmul(query, key[..., :32, :], value[..., :32, :], mask)
    return output, F.pad(weights, (0, key.shape[-2] - weights.shape[-1]))
