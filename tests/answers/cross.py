"""Respuestas de 9.1, la atención cruzada, y 9.2, sumar y normalizar."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong
from course_lib import padding_mask, scaled_dot_product_attention

# --- 9.1: buenas ----------------------------------------------------------------------------------


@right("9.1")
def step_by_step(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    query = decoder_x @ W_Q
    key = encoder_x @ W_K
    value = encoder_x @ W_V
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    if source_mask is not None:
        scores = scores.masked_fill(source_mask.unsqueeze(1) == False, float("-inf"))  # noqa: E712
    return torch.softmax(scores, dim=-1) @ value


@right("9.1")
def with_the_library(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = None if source_mask is None else padding_mask(source_mask)[:, 0]
    return scaled_dot_product_attention(decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V, mask)


@right("9.1")
def fused(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = source_mask if source_mask is None else source_mask[:, None]
    return F.scaled_dot_product_attention(
        decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V, attn_mask=mask
    )


@right("9.1")
def with_einsum(D, E, Wq, Wk, Wv, mask=None):
    scores = torch.einsum("bmd,dk,bne,ek->bmn", D, Wq, E, Wk) * Wq.shape[1] ** -0.5
    if mask is not None:
        scores = torch.where(mask[:, None, :], scores, -1e9)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    weights = e / e.sum(-1, keepdim=True)
    return torch.einsum("bmn,bne,ev->bmv", weights, E, Wv), weights


@right("9.1")
def additive(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    bias = 0.0
    if source_mask is not None:
        bias = (1 - source_mask.float())[:, None, :] * -1e9
    scores = torch.bmm(decoder_x @ W_Q, (encoder_x @ W_K).permute(0, 2, 1)) / np.sqrt(W_K.shape[1])
    return torch.bmm(nn.Softmax(dim=2)(scores + bias), encoder_x @ W_V)


@right("9.1")
def only_the_real_tokens(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    out = []
    for b in range(len(decoder_x)):
        source = encoder_x[b] if source_mask is None else encoder_x[b][source_mask[b]]
        scores = decoder_x[b] @ W_Q @ (source @ W_K).T / W_Q.size(1) ** 0.5
        out.append(scores.softmax(dim=1) @ (source @ W_V))
    return torch.stack(out)


@right("9.1")
def with_loops(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    B, m_D, _ = decoder_x.shape
    m_E = encoder_x.shape[1]
    out = torch.zeros(B, m_D, W_V.shape[1])
    for b in range(B):
        for i in range(m_D):
            q = decoder_x[b, i] @ W_Q
            scores = torch.full((m_E,), -torch.inf)
            for j in range(m_E):
                if source_mask is None or source_mask[b, j]:
                    scores[j] = q @ (encoder_x[b, j] @ W_K) / math.sqrt(len(q))
            weights = scores.softmax(0)
            for j in range(m_E):
                out[b, i] += weights[j] * (encoder_x[b, j] @ W_V)
    return out


@right("9.1")
def zeros_after_too(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V
    scores = q / math.sqrt(q.shape[-1]) @ k.mT
    if source_mask is not None:
        keep = source_mask[:, None].expand_as(scores)
        scores[~keep] = torch.finfo(scores.dtype).min
        weights = scores.softmax(-1) * keep
    else:
        weights = scores.softmax(-1)
    return weights @ v, weights


class Cross(nn.Module):
    def forward(self, decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        q, k, v = F.linear(decoder_x, W_Q.T), F.linear(encoder_x, W_K.T), F.linear(encoder_x, W_V.T)
        scores = (q @ k.mT).div(k.shape[-1] ** 0.5)
        if source_mask is not None:
            scores = scores + torch.zeros(scores.shape).masked_fill(
                ~source_mask[:, None], -torch.inf
            )
        return (scores.softmax(-1) @ v,)


module = Cross()
module.__name__ = "a_module"
right("9.1")(module)


@right("9.1")
def with_star_arguments(*arguments):
    decoder_x, encoder_x, W_Q, W_K, W_V, *rest = arguments
    mask = rest[0] if rest and rest[0] is not None else torch.ones(encoder_x.shape[:2]).bool()
    scores = decoder_x @ (W_Q @ W_K.T) @ encoder_x.mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(mask.logical_not()[:, None], -1e20).softmax(-1) @ encoder_x @ W_V


# --- 9.1: malas -----------------------------------------------------------------------------------


def cross(
    D, E, W_Q, W_K, W_V, mask=None, scale=math.sqrt, dim=-1, fill=-torch.inf, align=None, after=None
):
    """Una atención cruzada con algo cambiado: así se escriben muchas de las malas."""
    q, k, v = D @ W_Q, E @ W_K, E @ W_V
    scores = q @ k.mT / scale(q.shape[-1])
    keep = None if mask is None else (align(mask) if align else mask[:, None])
    if keep is not None and not after:
        scores = scores.masked_fill(~keep, fill)
    weights = scores.softmax(dim)
    if keep is not None and after:
        weights = after(weights, keep)
    return weights @ v


def part(name, expected, **changes):
    code = functools.partial(cross, **changes)
    code.__name__ = name
    wrong("9.1", *expected)(code)


part("no_scale", ["escala-ninguna"], scale=lambda d: 1)
part("divides_by_d_k", ["escala-d_k"], scale=lambda d: d)
part("times_root", ["escala-por-√d_k"], scale=lambda d: d**-0.5)
part("always_eight", ["escala-fija"], scale=lambda d: 8)
part("always_three", ["escala-fija"], scale=lambda d: 3)
part("over_queries", ["softmax-queries"], dim=1)
part("over_the_batch", ["softmax-eje-0"], dim=0)
part("over_the_batch_finite", ["softmax-eje-0"], dim=0, fill=-1e9)
part("weak_hundred", ["máscara-poco-negativa"], fill=-100.0)
part("weak_five", ["máscara-poco-negativa"], fill=-5.0)
part("tiny", ["máscara-a-cero"], fill=-1e-9)
part("plus_infinity", ["máscara-signo"], fill=torch.inf)
part("inverted", ["máscara-al-revés"], align=lambda mask: ~mask[:, None])
part("inverted_finite", ["máscara-al-revés"], align=lambda mask: ~mask[:, None], fill=-1e9)
part("without_axis", ["máscara-sin-eje"], align=lambda mask: mask)
part("axis_at_the_end", ["máscara-por-filas"], align=lambda mask: mask[:, :, None])
part(
    "axis_at_the_end_finite", ["máscara-por-filas"], align=lambda mask: mask[:, :, None], fill=-1e9
)
part("first_mask_only", ["máscara-solo-la-primera"], align=lambda mask: mask[0])
part("after", ["máscara-después"], after=lambda w, keep: w * keep)
part(
    "again",
    ["máscara-reparte-otra-vez"],
    after=lambda w, keep: (w * keep) / (w * keep).sum(-1, keepdim=True),
)
part("in_weights", ["máscara-tapa-pesos"], after=lambda w, keep: w.masked_fill(~keep, -1e9))
part("added_to_weights", ["máscara-suma-a-pesos"], after=lambda w, keep: w + keep)
part(
    "twice",
    ["máscara-entre-dos-softmax"],
    after=lambda w, keep: w.masked_fill(~keep, -torch.inf).softmax(-1),
)
part(
    "no_scale_and_after",
    ["escala-ninguna", "máscara-después"],
    scale=lambda d: 1,
    after=lambda w, k: w * k,
)
part("inverted_after", ["máscara-al-revés", "máscara-después"], after=lambda w, keep: w * ~keep)
part(
    "axis_and_no_scale", ["máscara-sin-eje", "escala-ninguna"], align=lambda m: m, scale=lambda d: 1
)
part("queries_and_d_k", ["softmax-queries", "escala-d_k"], dim=-2, scale=lambda d: d)
part(
    "weak_and_no_scale", ["máscara-poco-negativa", "escala-ninguna"], fill=-10.0, scale=lambda d: 1
)


@wrong("9.1", "máscara-falta")
def ignores_the_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return F.scaled_dot_product_attention(decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V)


@wrong("9.1", "máscara-falta", "papeles-cambiados")
def swapped_and_no_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(encoder_x, decoder_x, W_Q, W_K, W_V)


@wrong("9.1", "máscara-falta", "escala-ninguna")
def no_mask_no_scale(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return (decoder_x @ W_Q @ (encoder_x @ W_K).mT).softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "máscara-falta", "escala-ninguna", "papeles-cambiados")
def three_mistakes(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return (encoder_x @ W_Q @ (decoder_x @ W_K).mT).softmax(-1) @ (decoder_x @ W_V)


@wrong("9.1", "papeles-cambiados")
def swapped(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(encoder_x, decoder_x, W_Q, W_K, W_V, source_mask)


@wrong("9.1", "todo-del-decoder", "máscara-falta")
def self_attention(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, decoder_x, W_Q, W_K, W_V)


@wrong("9.1", "todo-del-decoder")
def self_attention_masked(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, decoder_x, W_Q, W_K, W_V, source_mask)


@wrong("9.1", "todo-del-encoder")
def encoder_only(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(encoder_x, encoder_x, W_Q, W_K, W_V, source_mask)


def from_where(name, expected, which):
    def code(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        q, k, v = (
            x @ W
            for x, W in zip([{"D": decoder_x, "E": encoder_x}[n] for n in which], (W_Q, W_K, W_V))
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if source_mask is not None:
            scores = scores.masked_fill(~source_mask[:, None], -1e9)
        return scores.softmax(-1) @ v

    code.__name__ = name
    wrong("9.1", *expected)(code)


from_where("values_of_the_decoder", ["values-del-decoder"], "DED")
from_where("keys_of_the_decoder", ["keys-del-decoder"], "DDE")
from_where("query_and_key_crossed", ["query-key-de-la-otra-frase"], "EDE")
from_where("query_and_value_crossed", ["query-value-de-la-otra-frase"], "EED")


@wrong("9.1", "keys-del-decoder", "máscara-falta")
def keys_of_the_decoder_no_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, decoder_x @ W_K, encoder_x @ W_V
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


@wrong("9.1", "frases-juntas")
def both_sentences(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    together = torch.cat([decoder_x, encoder_x], dim=1)
    return cross(decoder_x, together, W_Q, W_K, W_V, source_mask)


@wrong("9.1", "frases-juntas", "máscara-falta")
def both_sentences_no_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    together = torch.cat([encoder_x, decoder_x], dim=1)
    return cross(decoder_x, together, W_Q, W_K, W_V)


@wrong("9.1", "W_Q-W_K-cambiadas")
def matrices_swapped(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_K, W_Q, W_V, source_mask)


@wrong("9.1", "W_Q-W_K-cambiadas", "máscara-falta")
def matrices_swapped_no_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_K, W_Q, W_V)


@wrong("9.1", "query-key-cambiadas")
def key_by_query(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V
    scores = k @ q.mT / math.sqrt(q.shape[-1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -torch.inf)
    return scores.softmax(-1) @ v


@wrong("9.1", "matrices-traspuestas")
def transposed(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q.T, W_K.T, W_V.T, source_mask)


@wrong("9.1", "matrices-traspuestas", "máscara-falta")
def linear(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = F.linear(decoder_x, W_Q), F.linear(encoder_x, W_K), F.linear(encoder_x, W_V)
    return F.scaled_dot_product_attention(q, k, v)


@wrong("9.1", "sin-proyectar")
def raw(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = source_mask if source_mask is None else source_mask[:, None]
    return F.scaled_dot_product_attention(decoder_x, encoder_x, encoder_x, attn_mask=mask)


@wrong("9.1", "sin-W_V")
def raw_values(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, torch.eye(encoder_x.shape[-1]), source_mask)


@wrong("9.1", "key-por-value")
def values_are_keys(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_K, source_mask)


@wrong("9.1", "W_K-cambiada-por-W_Q")
def keys_with_w_q(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_Q, W_V, source_mask)


@wrong("9.1", "W_Q-cambiada-por-W_K", "escala-ninguna")
def queries_with_w_k(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_K, W_K, W_V, source_mask, scale=lambda d: 1)


@wrong("9.1", "máscara-causal-de-más")
def causal_and_padding(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(scores.shape[1:]).tril().bool()
    keep = past if source_mask is None else past & source_mask[:, None]
    return scores.masked_fill(~keep, -torch.inf).softmax(-1) @ v


@wrong("9.1", "máscara-causal-de-más", "máscara-falta")
def only_causal(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return F.scaled_dot_product_attention(
        decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V, is_causal=True
    )


@wrong("9.1", "máscara-causal-de-más", "máscara-falta")
def causal_of_the_target(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(q.shape[1], q.shape[1]).tril().bool()
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v


@wrong("9.1", "máscara-causal-en-su-lugar")
def causal_when_masked(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    past = lambda mask: torch.ones(decoder_x.shape[1], encoder_x.shape[1]).tril().bool()  # noqa: E731
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask, align=past)


def scaled(name, expected, divisor):
    def code(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        fixed = divisor(decoder_x, encoder_x, W_Q, W_V)
        return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask, scale=lambda d: fixed)

    code.__name__ = name
    wrong("9.1", *expected)(code)


scaled("root_of_d", ["escala-√d_model"], lambda D, E, W, V: math.sqrt(D.shape[-1]))
scaled("by_d", ["escala-d_model"], lambda D, E, W, V: D.shape[-1])
scaled("root_of_m_E", ["escala-√L_k"], lambda D, E, W, V: math.sqrt(E.shape[1]))
scaled("root_of_m_D", ["escala-√L_q"], lambda D, E, W, V: math.sqrt(D.shape[1]))
scaled("root_of_d_v", ["escala-√d_v"], lambda D, E, W, V: math.sqrt(V.shape[1]))
scaled("by_m_E", ["escala-L_k"], lambda D, E, W, V: E.shape[1])
scaled("twice_the_root", ["escala-de-más"], lambda D, E, W, V: 2 * math.sqrt(W.shape[1]))


def normalised(name, expected, function, blocked=-1e9):
    def code(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
        if source_mask is not None:
            scores = scores.masked_fill(~source_mask[:, None], blocked)
        return function(scores) @ (encoder_x @ W_V)

    code.__name__ = name
    wrong("9.1", *expected)(code)


normalised("whole_table", ["softmax-todo"], lambda s: s.flatten(1).softmax(-1).view_as(s))
normalised("no_softmax", ["softmax-ninguna"], lambda s: s)
normalised("sigmoid", ["softmax-sigmoide"], torch.sigmoid)
normalised("two_softmaxes", ["softmax-dos-veces"], lambda s: s.softmax(-1).softmax(-1))
normalised("naive", ["softmax-inestable"], lambda s: s.exp() / s.exp().sum(-1, keepdim=True))


normalised("logarithm", ["softmax-logaritmo"], lambda s: F.log_softmax(s, dim=-1))
normalised("hard", ["softmax-máximo"], lambda s: F.one_hot(s.argmax(-1), s.shape[-1]).float())
normalised("by_the_norm_of_the_row", ["softmax-norma"], lambda s: F.normalize(s, dim=-1))
normalised("percentage", ["softmax-porcentaje"], lambda s: s / s.sum(-1, keepdim=True))
normalised("relu", ["softmax-relu"], lambda s: s.relu() / s.relu().sum(-1, keepdim=True))
normalised("sign", ["softmax-signo"], lambda s: F.softmin(s, dim=-1))
normalised("not_divided", ["softmax-sin-dividir"], torch.exp)
normalised(
    "absolute", ["softmax-valor-absoluto"], lambda s: s.abs() / s.abs().sum(-1, keepdim=True)
)
normalised("base_two_stable", ["softmax-base-2"], lambda s: (s * math.log(2)).softmax(-1))
scaled("by_d_k_squared", ["escala-d_k²"], lambda D, E, W, V: W.shape[1] ** 2)
scaled("times_d_k", ["escala-por-d_k"], lambda D, E, W, V: 1 / W.shape[1])
scaled("root_of_batch", ["escala-√eje-0"], lambda D, E, W, V: math.sqrt(len(D)))
scaled("cube_root", ["escala-otra"], lambda D, E, W, V: W.shape[1] ** (1 / 3))


@wrong("9.1", "escala-normas")
def cosine(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    q, k, v = decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V
    scores = q @ k.mT / (q.norm(dim=-1)[:, :, None] * k.norm(dim=-1)[:, None])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -1e9)
    return scores.softmax(-1) @ v


@wrong("9.1", "escala-norma-de-V")
def by_a_norm(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    norm = (encoder_x @ W_V).norm()
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask, scale=lambda d: norm)


@wrong("9.1", "máscara-cero-prohibido")
def zero_means_blocked(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores * source_mask[:, None]
        scores = scores.masked_fill(scores == 0, -torch.inf)
    return scores.softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "máscara-suma-uno")
def adds_one_to_the_padding(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores + ~source_mask[:, None]
    return scores.softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "sin-W_Q")
def raw_queries(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, torch.eye(decoder_x.shape[-1]), W_K, W_V, source_mask)


@wrong("9.1", "sin-W_K")
def raw_keys(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, torch.eye(decoder_x.shape[-1]), W_V, source_mask)


@wrong("9.1", "W_V-traspuesta")
def transposed_value_matrix(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V.T, source_mask)


@wrong("9.1", "W_Q-traspuesta")
def transposed_query_matrix(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q.T, W_K, W_V, source_mask)


@wrong("9.1", "W_K-traspuesta")
def transposed_key_matrix(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K.T, W_V, source_mask)


@wrong("9.1", "W_K-cambiada-por-W_V")
def keys_with_w_v(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_V, W_V, source_mask)


@wrong("9.1", "W_Q-cambiada-por-W_V")
def queries_with_w_v(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_V, W_K, W_V, source_mask)


@wrong("9.1", "query-por-value")
def values_with_w_q(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_Q, source_mask)


@wrong("9.1", "devuelve-puntuaciones")
def returns_scores(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -torch.inf)
    return scores.softmax(-1) @ (encoder_x @ W_V), scores


@wrong("9.1", "devuelve-pesos-traspuestos")
def returns_transposed(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -torch.inf)
    weights = scores.softmax(-1)
    return weights @ (encoder_x @ W_V), weights.mT


@wrong("9.1", "escala-después")
def late_scale(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    output = cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask, scale=lambda d: 1)
    return output / math.sqrt(W_Q.shape[1])


@wrong("9.1", "máscara-a-cero")
def multiplies_by_the_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores * source_mask[:, None]
    return scores.softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "máscara-sumada")
def adds_the_mask(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores + source_mask[:, None]
    return scores.softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "máscara-sumada", "máscara-sin-eje")
def adds_the_mask_without_axis(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores + source_mask
    return scores.softmax(-1) @ (encoder_x @ W_V)


@wrong("9.1", "sin-value")
def only_weights(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = None if source_mask is None else source_mask[:, None]
    return scaled_dot_product_attention(decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V, mask)[1]


@wrong("9.1", "orden-de-la-pareja")
def other_order(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = None if source_mask is None else source_mask[:, None]
    return scaled_dot_product_attention(decoder_x @ W_Q, encoder_x @ W_K, encoder_x @ W_V, mask)[
        ::-1
    ]


@wrong("9.1", "pesos-traspuestos")
def transposed_weights(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -1e9)
    return scores.softmax(-1).mT @ (encoder_x @ W_V)


@wrong("9.1", "media")
def mean_of_values(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask) / encoder_x.shape[1]


@wrong("9.1", "sin-pesos")
def only_the_values(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return encoder_x @ W_V


@wrong("9.1", "suma-query")
def adds_the_query(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask) + decoder_x @ W_Q


@wrong("9.1", "softmax-todo-junto")
def over_the_whole_batch(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -1e9)
    return scores.flatten().softmax(0).view_as(scores) @ (encoder_x @ W_V)


@wrong("9.1", "suma-por-value")
def summed_weights(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores.masked_fill(~source_mask[:, None], -1e9)
    return scores.softmax(-1).sum(-1, keepdim=True) * (encoder_x @ W_V)


@wrong("9.1", "firma")
def without_mask_argument(decoder_x, encoder_x, W_Q, W_K, W_V):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V)


# --- 9.1: raras -----------------------------------------------------------------------------------


@odd("9.1")
def with_a_residual(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask) + decoder_x @ W_V


@odd("9.1")
def only_the_mean(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return (encoder_x @ W_V).mean(1, keepdim=True).expand(-1, decoder_x.shape[1], -1)


@odd("9.1")
def last_token_forgotten(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    mask = source_mask if source_mask is None else source_mask[:, :-1]
    return cross(decoder_x, encoder_x[:, :-1], W_Q, W_K, W_V, mask)


@odd("9.1")
def some_noise(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return cross(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask) + 0.01 * torch.randn(1)


@odd("9.1")
def mask_of_nan(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    scores = decoder_x @ W_Q @ (encoder_x @ W_K).mT / math.sqrt(W_Q.shape[1])
    if source_mask is not None:
        scores = scores + (~source_mask[:, None]) * -torch.inf
    return scores.softmax(-1) @ (encoder_x @ W_V)


# --- 9.2: buenas ----------------------------------------------------------------------------------


@right("9.2")
def by_the_book(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    mean = total.mean(dim=-1, keepdim=True)
    variance = total.var(dim=-1, keepdim=True, unbiased=False)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


@right("9.2")
def functional(x, sublayer_output, weight, bias, eps=1e-5):
    return F.layer_norm(x + sublayer_output, weight.shape, weight, bias, eps)


@right("9.2")
def with_a_module(x, sublayer_output, weight, bias, eps=1e-5):
    norm = nn.LayerNorm(x.shape[-1], eps=eps)
    with torch.no_grad():
        norm.weight.copy_(weight)
        norm.bias.copy_(bias)
    return norm(x + sublayer_output)


@right("9.2")
def with_squares(x, s, w, b, eps=1e-5):
    centred = x + s - (x + s).mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred**2).mean(-1, keepdim=True) + eps) * w + b


@right("9.2")
def with_var_mean(*arguments):
    x, s, w, b, *eps = arguments
    var, mean = torch.var_mean(x + s, dim=2, correction=0, keepdim=True)
    return torch.addcmul(b, ((x + s) - mean) / (var + (eps[0] if eps else 1e-5)) ** 0.5, w)


@right("9.2")
def token_by_token(x, sublayer_output, weight, bias, eps=1e-5):
    out = torch.empty_like(x)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            v = [float(n) for n in x[b, i] + sublayer_output[b, i]]
            mean = sum(v) / len(v)
            var = sum((n - mean) ** 2 for n in v) / len(v)
            for d, n in enumerate(v):
                out[b, i, d] = (n - mean) / math.sqrt(var + eps) * weight[d] + bias[d]
    return out


@right("9.2")
def no_default(x, sublayer_output, weight, bias, eps):
    return F.layer_norm(sublayer_output + x, (x.size(-1),), weight, bias, eps)


as_lambda = lambda x, s, w, b, e=1e-5: F.layer_norm(x + s, x.shape[-1:], w, b, e)  # noqa: E731
as_lambda.__name__ = "as_lambda"
right("9.2")(as_lambda)


# --- 9.2: malas -----------------------------------------------------------------------------------


def layer_norm(z, weight=None, bias=None, eps=1e-5):
    return F.layer_norm(z, z.shape[-1:], weight, bias, eps)


def residual(name, expected, function):
    def code(x, sublayer_output, weight, bias, eps=1e-5):
        return function(x, sublayer_output, lambda z: layer_norm(z, weight, bias, eps))

    code.__name__ = name
    wrong("9.2", *expected)(code)


residual("no_residual", ["sin-residual"], lambda x, s, norm: norm(s))
residual("outside", ["suma-fuera"], lambda x, s, norm: x + norm(s))
residual("norm_of_x_plus_s", ["normaliza-solo-x"], lambda x, s, norm: norm(x) + s)
residual("x_again", ["suma-x-otra-vez"], lambda x, s, norm: x + norm(x + s))
residual("s_again", ["suma-la-subcapa-otra-vez"], lambda x, s, norm: norm(x + s) + s)
residual("apart", ["normaliza-por-separado"], lambda x, s, norm: norm(x) + norm(s))
residual("only_x", ["sin-subcapa"], lambda x, s, norm: norm(x))
residual("product", ["multiplica"], lambda x, s, norm: norm(x * s))
residual("minus", ["resta"], lambda x, s, norm: norm(x - s))
residual("minus_x", ["resta"], lambda x, s, norm: norm(s - x))
residual("no_norm", ["sin-normalizar"], lambda x, s, norm: x + s)
residual("average", ["promedia"], lambda x, s, norm: norm((x + s) / 2))
residual("two_norms", ["normaliza-dos-veces"], lambda x, s, norm: norm(norm(x + s)))
residual("norm_s_first", ["normaliza-la-subcapa"], lambda x, s, norm: norm(x + norm(s)))
residual("norm_x_first", ["normaliza-x-antes"], lambda x, s, norm: norm(norm(x) + s))


@wrong("9.2", "sin-normalizar")
def scale_and_shift_only(x, sublayer_output, weight, bias, eps=1e-5):
    return (x + sublayer_output) * weight + bias


def moments_over(name, expected, dims, correction=0):
    def code(x, sublayer_output, weight, bias, eps=1e-5):
        z = x + sublayer_output
        mean, var = z.mean(dims, keepdim=True), z.var(dims, keepdim=True, correction=correction)
        return (z - mean) / torch.sqrt(var + eps) * weight + bias

    code.__name__ = name
    wrong("9.2", *expected)(code)


moments_over("over_tokens", ["por-tokens"], 1)
moments_over("over_the_batch", ["por-lote"], 0)
moments_over("over_the_sentence", ["por-frase"], (1, 2))
moments_over("over_everything", ["todo-junto"], (0, 1, 2))
moments_over("batchnorm", ["como-batchnorm"], (0, 1))
moments_over("unbiased", ["varianza-insesgada"], -1, 1)


@wrong("9.2", "todo-junto")
def plain_mean(x, sublayer_output, weight, bias, eps=1e-5):
    z = x + sublayer_output
    return (z - z.mean()) / torch.sqrt(z.var(unbiased=False) + eps) * weight + bias


def steps(name, expected, function):
    def code(x, sublayer_output, weight, bias, eps=1e-5):
        return function(x + sublayer_output, weight, bias, eps)

    code.__name__ = name
    wrong("9.2", *expected)(code)


def mean(z):
    return z.mean(-1, keepdim=True)


def var(z, correction=0):
    return z.var(-1, keepdim=True, correction=correction)


steps(
    "default_std",
    ["varianza-insesgada", "eps-fuera"],
    lambda z, w, b, e: (z - mean(z)) / (z.std(-1, keepdim=True) + e) * w + b,
)
steps(
    "default_std_no_eps",
    ["varianza-insesgada", "sin-eps"],
    lambda z, w, b, e: (z - mean(z)) / z.std(-1, keepdim=True) * w + b,
)
steps("eps_outside", ["eps-fuera"], lambda z, w, b, e: (z - mean(z)) / (var(z).sqrt() + e) * w + b)
steps("no_eps", ["sin-eps"], lambda z, w, b, e: (z - mean(z)) / var(z).sqrt() * w + b)
steps(
    "by_variance",
    ["divide-por-la-varianza"],
    lambda z, w, b, e: (z - mean(z)) / (var(z) + e) * w + b,
)
steps(
    "by_variance_no_eps",
    ["divide-por-la-varianza", "sin-eps"],
    lambda z, w, b, e: (z - mean(z)) / var(z) * w + b,
)
steps("only_centred", ["sin-dividir"], lambda z, w, b, e: (z - mean(z)) * w + b)
steps(
    "times_deviation",
    ["multiplica-por-la-desviación"],
    lambda z, w, b, e: (z - mean(z)) * (var(z) + e).sqrt() * w + b,
)
steps(
    "eps_squared",
    ["eps-al-cuadrado"],
    lambda z, w, b, e: (z - mean(z)) / (var(z) + e * e).sqrt() * w + b,
)
steps(
    "by_the_norm",
    ["divide-por-la-norma"],
    lambda z, w, b, e: F.normalize(z - mean(z), dim=-1) * w + b,
)
steps(
    "by_absolute",
    ["valor-absoluto"],
    lambda z, w, b, e: (z - mean(z)) / (mean((z - mean(z)).abs()) + e) * w + b,
)
steps(
    "by_range",
    ["rango"],
    lambda z, w, b, e: (
        (z - mean(z)) / (z.amax(-1, keepdim=True) - z.amin(-1, keepdim=True) + e) * w + b
    ),
)
steps("minus_eps", ["resta-eps"], lambda z, w, b, e: (z - mean(z)) / (var(z) - e).sqrt() * w + b)
steps(
    "clamped",
    ["eps-de-tope"],
    lambda z, w, b, e: (z - mean(z)) / var(z).clamp_min(e).sqrt() * w + b,
)
steps("no_mean", ["sin-restar-la-media"], lambda z, w, b, e: z / (var(z) + e).sqrt() * w + b)
steps(
    "rms_norm",
    ["rms"],
    lambda z, w, b, e: z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + e) * w + b,
)
steps("rms_norm_no_bias", ["rms", "sin-bias"], lambda z, w, b, e: z / (mean(z * z) + e).sqrt() * w)
steps(
    "variance_of_squares",
    ["varianza-sin-media"],
    lambda z, w, b, e: (z - mean(z)) / (mean(z * z) + e).sqrt() * w + b,
)
steps("no_weight_nor_bias", ["sin-weight", "sin-bias"], lambda z, w, b, e: layer_norm(z, eps=e))
steps("no_bias", ["sin-bias"], lambda z, w, b, e: layer_norm(z, w, None, e))
steps("no_weight", ["sin-weight"], lambda z, w, b, e: layer_norm(z, eps=e) + b)
steps("swapped_weight_bias", ["weight-bias-cambiados"], lambda z, w, b, e: layer_norm(z, b, w, e))
steps("bias_first", ["bias-antes"], lambda z, w, b, e: (layer_norm(z, eps=e) + b) * w)
steps("minus_bias", ["resta-bias"], lambda z, w, b, e: layer_norm(z, w, None, e) - b)
steps("plus_weight", ["suma-weight"], lambda z, w, b, e: layer_norm(z, eps=e) + w + b)
steps("one_plus_weight", ["uno-más-weight"], lambda z, w, b, e: layer_norm(z, 1 + w, b, e))
steps("over_weight", ["divide-por-weight"], lambda z, w, b, e: layer_norm(z, 1 / w, b, e))
steps("torch_default_eps", ["eps-fijo"], lambda z, w, b, e: layer_norm(z, w, b))
steps("fixed_eps", ["eps-fijo"], lambda z, w, b, e: layer_norm(z, w, b, 1e-6))
steps("fixed_strange_eps", ["eps-fijo"], lambda z, w, b, e: layer_norm(z, w, b, 0.02))
steps(
    "fixed_eps_no_bias", ["eps-fijo", "sin-bias"], lambda z, w, b, e: layer_norm(z, w, None, 1e-6)
)
steps(
    "without_keepdim",
    ["sin-keepdim"],
    lambda z, w, b, e: (z - z.mean(-1)) / (z.var(-1, correction=0) + e).sqrt() * w + b,
)
steps(
    "mean_without_keepdim",
    ["sin-keepdim"],
    lambda z, w, b, e: (z - z.mean(-1)) / (var(z) + e).sqrt() * w + b,
)
steps(
    "var_without_keepdim",
    ["sin-keepdim"],
    lambda z, w, b, e: (z - mean(z)) / (z.var(-1, correction=0) + e).sqrt() * w + b,
)
steps(
    "tokens_and_bias",
    ["por-tokens", "bias-antes"],
    lambda z, w, b, e: (
        ((z - z.mean(1, keepdim=True)) / (z.var(1, keepdim=True, correction=0) + e).sqrt() + b) * w
    ),
)


@wrong("9.2", "eps-por-defecto")
def other_default(x, sublayer_output, weight, bias, eps=1e-6):
    return layer_norm(x + sublayer_output, weight, bias, eps)


@wrong("9.2", "eps-por-defecto")
def bert_default(x, sublayer_output, weight, bias, eps=1e-12):
    return layer_norm(x + sublayer_output, weight, bias, eps)


@wrong("9.2", "sin-residual", "sin-eps")
def no_residual_no_eps(x, sublayer_output, weight, bias, eps=1e-5):
    s = sublayer_output
    return (s - mean(s)) / var(s).sqrt() * weight + bias


@wrong("9.2", "suma-fuera", "varianza-insesgada")
def pre_norm_unbiased(x, sublayer_output, weight, bias, eps=1e-5):
    s = sublayer_output
    return x + (s - mean(s)) / (var(s, 1) + eps).sqrt() * weight + bias


@wrong("9.2", "sin-residual", "varianza-insesgada", "eps-fuera")
def three_things(x, sublayer_output, weight, bias, eps=1e-5):
    s = sublayer_output
    return (s - mean(s)) / (s.std(-1, keepdim=True) + eps) * weight + bias


@wrong("9.2", "cambia-la-entrada")
def in_place(x, sublayer_output, weight, bias, eps=1e-5):
    x += sublayer_output
    return layer_norm(x, weight, bias, eps)


@wrong("9.2", "tipo")
def numpy_answer(x, sublayer_output, weight, bias, eps=1e-5):
    return layer_norm(x + sublayer_output, weight, bias, eps).numpy()


# --- 9.2: raras -----------------------------------------------------------------------------------


@odd("9.2")
def softmax_instead(x, sublayer_output, weight, bias, eps=1e-5):
    return (x + sublayer_output).softmax(-1) * weight + bias


@odd("9.2")
def with_dropout(x, sublayer_output, weight, bias, eps=1e-5):
    return layer_norm(x + F.dropout(sublayer_output, 0.1), weight, bias, eps)


@odd("9.2")
def between_zero_and_one(x, sublayer_output, weight, bias, eps=1e-5):
    z = x + sublayer_output
    low, high = z.amin(-1, keepdim=True), z.amax(-1, keepdim=True)
    return (z - low) / (high - low + eps) * weight + bias


@odd("9.2")
def concatenated(x, sublayer_output, weight, bias, eps=1e-5):
    return layer_norm(torch.cat([x, sublayer_output], -1), None, None, eps)


@odd("9.2")
def median(x, sublayer_output, weight, bias, eps=1e-5):
    z = x + sublayer_output
    return (z - z.median(-1, keepdim=True).values) / (var(z) + eps).sqrt() * weight + bias


# --- 9.1: dónde está el relleno, lo que se guarda y las longitudes --------------------------------

SEEN = {}


def crossed(D, E, W_Q, W_K, W_V, seen):
    scores = D @ W_Q @ (E @ W_K).mT / math.sqrt(W_Q.shape[1])
    if seen is not None:
        scores = scores.masked_fill(~seen[:, None], -torch.inf)
    return scores.softmax(-1) @ (E @ W_V)


@wrong("9.1", "máscara-relleno-al-final")
def counts_the_real_ones(D, E, W_Q, W_K, W_V, source_mask=None):
    seen = source_mask
    if seen is not None:
        seen = torch.arange(E.shape[1]) < source_mask.sum(1, keepdim=True)
    return crossed(D, E, W_Q, W_K, W_V, seen)


@wrong("9.1", "máscara-relleno-al-final")
def cuts_each_sentence(D, E, W_Q, W_K, W_V, source_mask=None):
    if source_mask is None:
        return crossed(D, E, W_Q, W_K, W_V, None)
    lengths = source_mask.sum(1).tolist()
    rows = [
        crossed(D[b : b + 1], E[b : b + 1, :n], W_Q, W_K, W_V, None) for b, n in enumerate(lengths)
    ]
    return torch.cat(rows)


@wrong("9.1", "máscara-relleno-al-final", "escala-ninguna")
def counts_and_no_scale(D, E, W_Q, W_K, W_V, source_mask=None):
    seen = source_mask
    if seen is not None:
        seen = torch.arange(E.shape[1]) < source_mask.sum(1, keepdim=True)
    return crossed(D, E, W_Q * math.sqrt(W_Q.shape[1]), W_K, W_V, seen)


@odd("9.1")
def mask_kept_by_shape(D, E, W_Q, W_K, W_V, source_mask=None):
    seen = source_mask
    if seen is not None:
        seen = SEEN.setdefault(seen.shape, seen)
    return crossed(D, E, W_Q, W_K, W_V, seen)


@odd("9.1")
def room_for_thirty_two(D, E, W_Q, W_K, W_V, source_mask=None):
    m_D, m_E = D.shape[1], E.shape[1]
    output = torch.zeros(len(D), 32, W_V.shape[1])
    output[:, :m_D] = crossed(D, E, W_Q, W_K, W_V, source_mask)[:, :32]
    return output[:, :m_D] if m_E else output


@odd("9.1")
def crossed_pair_in_a_pair(D, E, W_Q, W_K, W_V, source_mask=None):
    return (crossed(D, E, W_Q, W_K, W_V, source_mask), None), None


@odd("9.1")
def crossed_in_sixteen_bits(D, E, W_Q, W_K, W_V, source_mask=None):
    D, E, W_Q, W_K, W_V = (m.bfloat16() for m in (D, E, W_Q, W_K, W_V))
    return crossed(D, E, W_Q, W_K, W_V, source_mask).float()


# --- 9.2: números que no caben --------------------------------------------------------------------


@right("9.2")
def mean_of_the_squares(x, s, w, b, eps=1e-5):
    z = (x + s).double()
    mean = z.mean(-1, keepdim=True)
    variance = (z**2).mean(-1, keepdim=True) - mean**2
    return (((z - mean) / (variance + eps).sqrt()).float()) * w + b


@odd("9.2")
def clamped_sum(x, s, w, b, eps=1e-5):
    return layer_norm((x + s).clamp(-100, 100), w, b, eps)


@odd("9.2")
def sum_in_half(x, s, w, b, eps=1e-5):
    return layer_norm((x.half() + s.half()).float(), w, b, eps)


@odd("9.2")
def variance_in_sixteen_bits(x, s, w, b, eps=1e-5):
    z = x + s
    variance = z.bfloat16().var(-1, correction=0, keepdim=True).float()
    return (z - z.mean(-1, keepdim=True)) / (variance + eps).sqrt() * w + b
