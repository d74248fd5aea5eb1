"""Respuestas de 8.1, desplazar la entrada de un decoder, y 8.2, la autoatención enmascarada."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong
from course_lib import causal_mask, scaled_dot_product_attention

# --- 8.1: buenas ----------------------------------------------------------------------------------


@right("8.1")
def with_cat(target_ids, bos_id):
    start = torch.full((target_ids.shape[0], 1), bos_id)
    return torch.cat([start, target_ids[:, :-1]], dim=1)


@right("8.1")
def with_new_zeros(target_ids, bos_id):
    shifted = target_ids.new_zeros(target_ids.shape)
    shifted[:, 1:] = target_ids[:, :-1].clone()
    shifted[:, 0] = bos_id
    return shifted


@right("8.1")
def with_roll(ids, bos):
    out = torch.roll(ids, shifts=1, dims=-1)
    out[:, 0] = bos
    return out


@right("8.1")
def with_roll_of_everything(ids, bos):
    out = torch.roll(ids, 1)  # lo que salta de una fila a otra se pisa después
    out[:, 0] = bos
    return out


@right("8.1")
def with_pad(target_ids, bos_id):
    return F.pad(target_ids, (1, 0), value=bos_id)[:, :-1]


@right("8.1")
def with_lists(target_ids, bos_id):
    return torch.tensor([[bos_id] + row[:-1] for row in target_ids.tolist()])


@right("8.1")
def with_two_loops(target, bos):
    B, L = target.shape
    out = torch.empty(B, L, dtype=torch.long)
    for b in range(B):
        for i in range(L):
            out[b, i] = bos if i == 0 else target[b, i - 1]
    return out


@right("8.1")
def in_int32(target_ids, bos_id):
    start = torch.full((len(target_ids), 1), bos_id, dtype=torch.int32)
    return torch.hstack((start, target_ids.int()[:, :-1]))


@right("8.1")
def with_numpy_inside(target_ids, bos_id):
    array = np.roll(target_ids.numpy(), 1, axis=1)
    array[:, 0] = bos_id
    return torch.from_numpy(array)


@right("8.1")
def backwards_copy(target_ids, bos_id):
    out = target_ids.clone()
    for i in range(out.shape[1] - 1, 0, -1):
        out[:, i] = out[:, i - 1]
    out[:, 0] = bos_id
    return out


@right("8.1")
def with_gather(*arguments):
    ids, bos = arguments
    positions = (torch.arange(ids.shape[1]) - 1).clamp(min=0).expand_as(ids)
    return torch.where(torch.arange(ids.shape[1]) == 0, bos, ids.gather(1, positions))


class Shifter:
    def __call__(self, target_ids, bos_id):
        return torch.cat((torch.ones_like(target_ids[:, :1]) * bos_id, target_ids[:, 0:-1]), -1)


Shifter.__name__ = "Shifter"
shifter = Shifter()
shifter.__name__ = "an_object"
right("8.1")(shifter)
as_lambda = lambda t, b: torch.column_stack([torch.full((len(t),), b), t[:, :-1]])  # noqa: E731
as_lambda.__name__ = "as_lambda"
right("8.1")(as_lambda)


# --- 8.1: malas -----------------------------------------------------------------------------------


@wrong("8.1", "sin-desplazar")
def returns_the_target(target_ids, bos_id):
    return target_ids


@wrong("8.1", "sin-desplazar")
def returns_a_copy(target_ids, bos_id):
    shifted = target_ids.clone()
    for i in range(1, shifted.shape[1]):
        shifted[:, i] = target_ids[:, i]
    return shifted


@wrong("8.1", "a-la-izquierda")
def shift_left(target_ids, bos_id):
    return torch.cat([target_ids[:, 1:], torch.full((len(target_ids), 1), bos_id)], dim=1)


@wrong("8.1", "a-la-izquierda")
def roll_minus_one(ids, bos):
    out = ids.roll(-1, dims=1)
    out[:, -1] = bos
    return out


@wrong("8.1", "a-la-izquierda", "inicio-primero")
def roll_left_without_start(ids, bos):
    return ids.roll(-1, dims=1)


@wrong("8.1", "quita-el-primero")
def drops_the_first(target_ids, bos_id):
    return target_ids[:, 1:]


@wrong("8.1", "inicio-último")
def only_roll(target_ids, bos_id):
    return torch.roll(target_ids, 1, dims=1)


@wrong("8.1", "inicio-último")
def cat_the_last(t, b):
    return torch.cat([t[:, -1:], t[:, :-1]], dim=1)


@wrong("8.1", "inicio-último", "todo-seguido")
def roll_without_dims(target_ids, bos_id):
    return torch.roll(target_ids, 1)


@wrong("8.1", "todo-seguido")
def flat(target_ids, bos_id):
    everything = torch.cat([torch.tensor([bos_id]), target_ids.flatten()[:-1]])
    return everything.view(target_ids.shape)


@wrong("8.1", "no-quita-el-último")
def keeps_the_last(target_ids, bos_id):
    return torch.cat([torch.full((len(target_ids), 1), bos_id), target_ids], dim=1)


@wrong("8.1", "no-quita-el-último")
def padded_in_front(target_ids, bos_id):
    return F.pad(target_ids, (1, 0), value=bos_id)


@wrong("8.1", "inicio-añadido-al-final")
def padded_behind(target_ids, bos_id):
    return F.pad(target_ids, (0, 1), value=bos_id)


@wrong("8.1", "pisa-el-primero")
def overwrites_the_first(target_ids, bos_id):
    out = target_ids.clone()
    out[:, 0] = bos_id
    return out


@wrong("8.1", "pisa-el-primero")
def cat_and_drop_first(target_ids, bos_id):
    start = torch.full_like(target_ids[:, :1], bos_id)
    return torch.cat([start, target_ids[:, 1:]], dim=1)


@wrong("8.1", "inicio-al-final")
def start_at_the_end(target_ids, bos_id):
    return torch.cat([target_ids[:, :-1], torch.full((target_ids.size(0), 1), bos_id)], 1)


@wrong("8.1", "sin-inicio")
def drops_the_last(target_ids, bos_id):
    return target_ids[:, :-1]


@wrong("8.1", "inicio-primero")
def forgets_the_start(target_ids, bos_id):
    shifted = target_ids.clone()
    shifted[:, 1:] = target_ids[:, :-1]
    return shifted


@wrong("8.1", "inicio-fijo")
def leaves_a_zero(target_ids, bos_id):
    shifted = torch.zeros_like(target_ids)
    shifted[:, 1:] = target_ids[:, :-1]
    return shifted


@wrong("8.1", "inicio-fijo")
def always_cls(target_ids, bos_id=101):
    return torch.cat([torch.full((len(target_ids), 1), 101), target_ids[:, :-1]], dim=1)


@wrong("8.1", "inicio-fijo")
def start_token_one(target_ids, bos_id):
    return torch.cat([torch.ones_like(target_ids[:, :1]), target_ids[:, :-1]], dim=1)


@wrong("8.1", "inicio-fijo", "no-quita-el-último")
def zero_and_too_long(target_ids, bos_id):
    return F.pad(target_ids, (1, 0))


@wrong("8.1", "inicio-solo-en-una")
def only_the_first_sentence(target_ids, bos_id):
    out = target_ids.roll(1, dims=1)
    out[0, 0] = bos_id
    return out


@wrong("8.1", "inicio-solo-en-una")
def only_the_first_sentence_and_zeros(target_ids, bos_id):
    out = torch.zeros_like(target_ids)
    out[:, 1:] = target_ids[:, :-1]
    out[0][0] = bos_id
    return out


@wrong("8.1", "dos-puestos")
def two_places(target_ids, bos_id):
    start = torch.full((len(target_ids), 2), bos_id)
    return torch.cat([start, target_ids], dim=1)[:, : target_ids.shape[1]]


@wrong("8.1", "dos-puestos")
def roll_two(target_ids, bos_id):
    out = target_ids.roll(2, 1)
    out[:, 0] = bos_id
    return out


@wrong("8.1", "quita-dos")
def drops_two(target_ids, bos_id):
    return torch.cat([torch.full((len(target_ids), 1), bos_id), target_ids[:, :-2]], dim=1)


@wrong("8.1", "se-pisan")
def steps_on_itself(target_ids, bos_id):
    out = target_ids.clone()
    for i in range(1, out.shape[1]):
        out[:, i] = out[:, i - 1]
    out[:, 0] = bos_id
    return out


@wrong("8.1", "se-pisan")
def steps_on_itself_from_the_start(target_ids, bos_id):
    out = target_ids.clone()
    out[:, 0] = bos_id
    for i in range(1, out.shape[1]):
        out[:, i] = out[:, i - 1]
    return out


@wrong("8.1", "eje-del-lote")
def shifts_sentences(target_ids, bos_id):
    start = torch.full((1, target_ids.shape[1]), bos_id)
    return torch.cat([start, target_ids[:-1]], dim=0)


@wrong("8.1", "eje-del-lote", "inicio-último")
def rolls_sentences(target_ids, bos_id):
    return torch.roll(target_ids, 1, 0)


@wrong("8.1", "eje-del-lote", "no-quita-el-último")
def one_sentence_more(target_ids, bos_id):
    return torch.cat([torch.full_like(target_ids[:1], bos_id), target_ids])


@wrong("8.1", "quita-el-fin")
def removes_sep(target_ids, bos_id):
    rows = []
    for row in target_ids.tolist():
        kept = [token for token in row if token != 102]
        kept = kept if len(kept) < len(row) else kept[:-1]
        rows.append([bos_id, *kept])
    return torch.tensor(rows)


@wrong("8.1", "quita-el-fin")
def removes_the_last_real(target_ids, bos_id):
    out = []
    for row in target_ids:
        length = int((row != 0).sum())
        out.append(torch.cat([torch.tensor([bos_id]), row[: length - 1], row[length:]]))
    return torch.stack(out)


@wrong("8.1", "quita-el-fin")
def replaces_sep(target_ids, bos_id):
    out = torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1]], 1)
    out[out == 102] = 0
    return out


@wrong("8.1", "del-revés")
def reversed_order(target_ids, bos_id):
    return torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1].flip(1)], 1)


@wrong("8.1", "dtype")
def with_float_zeros(target_ids, bos_id):
    shifted = torch.zeros(target_ids.shape)
    shifted[:, 0] = bos_id
    shifted[:, 1:] = target_ids[:, :-1]
    return shifted


@wrong("8.1", "dtype", "pisa-el-primero")
def float_and_overwritten(target_ids, bos_id):
    shifted = target_ids.float()
    shifted[:, 0] = bos_id
    return shifted


@wrong("8.1", "dtype")
def as_booleans(target_ids, bos_id):
    return torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1]], 1).bool()


@wrong("8.1", "cambia-la-entrada")
def in_place(target_ids, bos_id):
    target_ids[:, 1:] = target_ids[:, :-1].clone()
    target_ids[:, 0] = bos_id
    return target_ids


@wrong("8.1", "none")
def no_return(target_ids, bos_id):
    torch.cat([torch.full((len(target_ids), 1), bos_id), target_ids[:, :-1]], dim=1)


@wrong("8.1", "tipo")
def a_list(target_ids, bos_id):
    return [[bos_id] + row[:-1] for row in target_ids.tolist()]


@wrong("8.1", "firma")
def too_few_arguments(target_ids):
    return target_ids


# --- 8.1: raras -----------------------------------------------------------------------------------


@odd("8.1")
def sorts_them(target_ids, bos_id):
    return torch.cat(
        [torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1].sort(1).values], 1
    )


@odd("8.1")
def adds_one(target_ids, bos_id):
    return torch.cat([torch.full_like(target_ids[:, :1], bos_id), target_ids[:, :-1] + 1], 1)


@odd("8.1")
def three_places(target_ids, bos_id):
    start = torch.full((len(target_ids), 3), bos_id)
    return torch.cat([start, target_ids], 1)[:, : target_ids.shape[1]]


@odd("8.1")
def random_start(target_ids, bos_id):
    start = torch.randint(0, 100, (len(target_ids), 1))
    return torch.cat([start, target_ids[:, :-1]], 1)


@odd("8.1")
def only_one_sentence(target_ids, bos_id):
    return torch.cat([torch.tensor([bos_id]), target_ids[0, :-1]])


# --- 8.2: buenas ----------------------------------------------------------------------------------


@right("8.2")
def with_tril(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    mask = torch.tril(torch.ones(x.shape[1], x.shape[1]))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


@right("8.2")
def with_additive_mask(x, W_Q, W_K, W_V):
    L = x.size(1)
    mask = torch.triu(torch.full((L, L), float("-inf")), diagonal=1)
    q, k, v = torch.matmul(x, W_Q), torch.matmul(x, W_K), torch.matmul(x, W_V)
    weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5 + mask, dim=2)
    return torch.bmm(weights, v), weights


@right("8.2")
def with_the_library(x, W_Q, W_K, W_V):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, causal_mask(x.shape[1]))


@right("8.2")
def is_causal(x, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, is_causal=True)


@right("8.2")
def with_einsum(x, W_Q, W_K, W_V):
    q = torch.einsum("bld,dk->blk", x, W_Q)
    k = torch.einsum("bld,dk->blk", x, W_K)
    v = torch.einsum("bld,dv->blv", x, W_V)
    scores = torch.einsum("bik,bjk->bij", q, k) * W_K.shape[1] ** -0.5
    i, j = torch.arange(x.shape[1])[:, None], torch.arange(x.shape[1])[None, :]
    scores = torch.where(j > i, -1e9, scores)
    e = torch.exp(scores - scores.max(-1, keepdim=True)[0])
    return torch.einsum("bij,bjv->biv", e / e.sum(-1, keepdim=True), v)


@right("8.2")
def prefix_by_prefix(x, W_Q, W_K, W_V):
    rows = []
    for i in range(x.shape[1]):
        seen = x[:, : i + 1]
        q, k, v = x[:, i : i + 1] @ W_Q, seen @ W_K, seen @ W_V
        rows.append((q @ k.mT / math.sqrt(W_Q.shape[1])).softmax(-1) @ v)
    return torch.cat(rows, 1)


@right("8.2")
def with_three_loops(x, W_Q, W_K, W_V):
    B, L, _ = x.shape
    out = torch.zeros(B, L, W_V.shape[1])
    for b in range(B):
        for i in range(L):
            q = x[b, i] @ W_Q
            scores = [float(q @ (x[b, j] @ W_K)) / math.sqrt(len(q)) for j in range(i + 1)]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            for j, w in enumerate(weights):
                out[b, i] += w / sum(weights) * (x[b, j] @ W_V)
    return out


@right("8.2")
def with_linear(x, W_Q, W_K, W_V):
    q, k, v = (F.linear(x, W.T) for W in (W_Q, W_K, W_V))
    scores = q.matmul(k.permute(0, 2, 1)).div(np.sqrt(q.shape[-1]))
    scores[:, torch.ones(scores.shape[1:]).triu(1).bool()] = torch.finfo(torch.float32).min
    return nn.Softmax(dim=-1)(scores).matmul(v)


@right("8.2")
def ones_and_zeros_well_added(x, W_Q, W_K, W_V):
    L = x.shape[-2]
    allowed = torch.ones(L, L).tril()
    scores = (x @ W_Q / W_Q.shape[-1] ** 0.5) @ (x @ W_K).mT
    scores = scores * allowed - 1e9 * (1 - allowed)
    weights = scores.softmax(-1) * allowed
    return weights @ (x @ W_V), weights


@right("8.2")
def as_a_list_of_sentences(x, W_Q, W_K, W_V):
    def one(sentence):
        q, k, v = sentence @ W_Q, sentence @ W_K, sentence @ W_V
        blocked = ~causal_mask(len(sentence))
        return (q @ k.T / q.shape[1] ** 0.5).masked_fill(blocked, -torch.inf).softmax(1) @ v

    return torch.stack([one(sentence) for sentence in x])


class Head(nn.Module):
    def forward(self, x, W_Q, W_K, W_V):
        scores = (x @ W_Q) @ (x @ W_K).transpose(1, 2) / math.sqrt(W_K.size(1))
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return (scores + mask).softmax(dim=-1) @ (x @ W_V)


head = Head()
head.__name__ = "a_module"
right("8.2")(head)


# --- 8.2: malas -----------------------------------------------------------------------------------


def attend(x, W_Q, W_K, W_V, scale=math.sqrt, dim=-1, keep=None, fill=-torch.inf, width=None):
    """Una atención enmascarada con algo cambiado: así se escriben muchas de las malas."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    keep = causal_mask(x.shape[1]) if keep is None else keep
    scores = q @ k.mT / scale(q.shape[-1] if width is None else width)
    return scores.masked_fill(~keep, fill).softmax(dim) @ v


def part(name, expected, **changes):
    code = functools.partial(attend, **changes)
    code.__name__ = name
    wrong("8.2", *expected)(code)


part("no_scale", ["escala-ninguna"], scale=lambda d: 1)
part("divides_by_d_k", ["escala-d_k"], scale=lambda d: d)
part("times_root", ["escala-por-√d_k"], scale=lambda d: d**-0.5)
part("times_d_k", ["escala-por-d_k"], scale=lambda d: 1 / d)
part("by_d_k_squared", ["escala-d_k²"], scale=lambda d: d * d)
part("always_eight", ["escala-fija"], scale=lambda d: 8)
part("one_seventh", ["escala-fija"], scale=lambda d: 7.3)
part("half_the_scale", ["escala-de-más"], scale=lambda d: 2 * math.sqrt(d))
part("cube_root", ["escala-otra"], scale=lambda d: d ** (1 / 3))
part("over_queries", ["softmax-queries"], dim=-2)
part("over_the_axis_one", ["softmax-queries"], dim=1)
part("over_the_batch", ["softmax-eje-0"], dim=0, fill=-1e9)
part("over_the_batch_infinite", ["softmax-eje-0"], dim=0)
part("weak_ten", ["máscara-poco-negativa"], fill=-10.0)
part("weak_hundred", ["máscara-poco-negativa"], fill=-100.0)
part("weak_thousand", ["máscara-poco-negativa"], fill=-1000.0)
part("weak_one", ["máscara-poco-negativa"], fill=-1.0)
part("weak_odd_number", ["máscara-poco-negativa"], fill=-37.5)
part("tiny_not_huge", ["máscara-a-cero"], fill=1e-9)
part("fill_zero", ["máscara-a-cero"], fill=0.0)
part("plus_infinity", ["máscara-signo"], fill=torch.inf)
part("plus_huge", ["máscara-signo"], fill=1e9)
part("fixed_mask", ["máscara-longitud-fija"], keep=causal_mask(4))
part("fixed_mask_five", ["máscara-longitud-fija"], keep=causal_mask(5))
part(
    "no_scale_and_weak", ["escala-ninguna", "máscara-poco-negativa"], scale=lambda d: 1, fill=-10.0
)
part("no_scale_and_queries", ["escala-ninguna", "softmax-queries"], scale=lambda d: 1, dim=1)
part("d_k_and_zero", ["escala-d_k", "máscara-a-cero"], scale=lambda d: d, fill=0.0)
part("eight_and_zero", ["escala-fija", "máscara-a-cero"], scale=lambda d: 8, fill=0.0)


@wrong("8.2", "máscara-falta")
def no_mask(x, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V)


@wrong("8.2", "máscara-falta")
def mask_never_assigned(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / W_Q.shape[1] ** 0.5
    scores.masked_fill(~causal_mask(x.shape[1]), -torch.inf)
    return scores.softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-falta", "escala-ninguna")
def no_mask_no_scale(x, W_Q, W_K, W_V):
    return torch.softmax((x @ W_Q) @ (x @ W_K).mT, dim=-1) @ (x @ W_V)


@wrong("8.2", "máscara-falta", "query-key-cambiadas")
def no_mask_swapped(x, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x @ W_K, x @ W_Q, x @ W_V)


@wrong("8.2", "máscara-falta", "escala-ninguna", "query-key-cambiadas")
def three_things(x, W_Q, W_K, W_V):
    return torch.softmax((x @ W_K) @ (x @ W_Q).mT, dim=-1) @ (x @ W_V)


@wrong("8.2", "máscara-al-revés")
def inverted(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(causal_mask(x.shape[1]), -torch.inf).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-al-revés")
def inverted_finite(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-al-revés")
def inverted_added(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores + torch.ones(scores.shape[1:]).tril() * -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-al-revés", "escala-ninguna")
def inverted_without_scale(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT
    return scores.masked_fill(causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-diagonal")
def without_the_diagonal(x, W_Q, W_K, W_V):
    keep = torch.ones(x.shape[1], x.shape[1]).tril(-1).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep)


@wrong("8.2", "máscara-diagonal")
def triu_from_zero(x, W_Q, W_K, W_V):
    L = x.shape[1]
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    scores = scores.masked_fill(torch.triu(torch.ones(L, L)) == 1, -1e9)
    return scores.softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-diagonal")
def additive_triu(x, W_Q, W_K, W_V):
    L = x.shape[1]
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores + torch.full((L, L), -torch.inf).triu()).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-diagonal", "escala-d_k")
def diagonal_and_scale(x, W_Q, W_K, W_V):
    keep = torch.ones(x.shape[1], x.shape[1]).tril(-1).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep, scale=lambda d: d)


@wrong("8.2", "máscara-uno-de-más")
def one_too_many(x, W_Q, W_K, W_V):
    keep = torch.ones(x.shape[1], x.shape[1]).tril(1).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep)


@wrong("8.2", "máscara-uno-de-más", "softmax-queries")
def one_too_many_and_axis(x, W_Q, W_K, W_V):
    keep = torch.ones(x.shape[1], x.shape[1]).tril(1).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep, dim=1)


@wrong("8.2", "máscara-traspuesta")
def upper_triangle(x, W_Q, W_K, W_V):
    keep = torch.triu(torch.ones(x.shape[1], x.shape[1])).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep)


@wrong("8.2", "máscara-traspuesta", "escala-ninguna")
def upper_triangle_no_scale(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=causal_mask(x.shape[1]).T, scale=lambda d: 1)


@wrong("8.2", "máscara-tamaño-B")
def mask_of_the_batch(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=causal_mask(x.shape[0]))


@wrong("8.2", "máscara-tamaño-d_model")
def mask_of_the_width(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=causal_mask(x.shape[-1]))


@wrong("8.2", "máscara-tamaño-d_k")
def mask_of_d_k(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=causal_mask((x @ W_Q).shape[-1]))


@wrong("8.2", "solo-su-value")
def only_itself(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=torch.eye(x.shape[1]).bool())


@wrong("8.2", "máscara-después")
def after_the_softmax(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return weights.tril() @ (x @ W_V)


@wrong("8.2", "máscara-después", "escala-ninguna")
def after_without_scale(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT).softmax(-1)
    return weights.masked_fill(~causal_mask(x.shape[1]), 0) @ (x @ W_V)


@wrong("8.2", "máscara-después", "máscara-al-revés")
def after_and_inverted(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return weights.masked_fill(causal_mask(x.shape[1]), 0) @ (x @ W_V)


@wrong("8.2", "máscara-después", "máscara-diagonal")
def after_and_diagonal(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return torch.tril(weights, diagonal=-1) @ (x @ W_V)


@wrong("8.2", "máscara-reparte-otra-vez")
def renormalised(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1).tril()
    return weights / weights.sum(-1, keepdim=True) @ (x @ W_V)


@wrong("8.2", "máscara-tapa-pesos")
def infinity_in_the_weights(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return weights.masked_fill(~causal_mask(x.shape[1]), -torch.inf) @ (x @ W_V)


@wrong("8.2", "máscara-tapa-pesos")
def huge_in_the_weights(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return weights.masked_fill(~causal_mask(x.shape[1]), -1e9) @ (x @ W_V)


@wrong("8.2", "máscara-entre-dos-softmax")
def two_softmaxes(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    weights = weights.masked_fill(~causal_mask(x.shape[1]), -torch.inf).softmax(-1)
    return weights @ (x @ W_V), weights


@wrong("8.2", "máscara-suma-a-pesos")
def added_to_weights(x, W_Q, W_K, W_V):
    weights = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).softmax(-1)
    return (weights + causal_mask(x.shape[1])) @ (x @ W_V)


@wrong("8.2", "máscara-a-cero")
def tril_of_scores(x, W_Q, W_K, W_V):
    scores = torch.tril(x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1]))
    return scores.softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-a-cero", "escala-√d_model")
def multiplied_by_mask(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(x.shape[-1])
    return (scores * causal_mask(x.shape[1])).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-sumada")
def mask_added(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores + torch.ones(scores.shape[1:]).tril()).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-sumada")
def one_subtracted(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores - torch.ones(scores.shape[1:]).triu(1)).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-suma-uno")
def one_added(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores + torch.ones(scores.shape[1:]).triu(1)).softmax(-1) @ (x @ W_V)


@wrong("8.2", "máscara-cero-prohibido")
def zero_means_blocked(x, W_Q, W_K, W_V):
    scores = torch.tril(x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1]))
    return scores.masked_fill(scores == 0, -torch.inf).softmax(-1) @ (x @ W_V)


@wrong("8.2", "escala-√d_model")
def root_of_d_model(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=x.shape[-1])


@wrong("8.2", "escala-d_model")
def by_d_model(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=x.shape[-1], scale=lambda d: d)


@wrong("8.2", "escala-√d_v")
def root_of_d_v(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=W_V.shape[1])


@wrong("8.2", "escala-√L_k")
def root_of_length(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=x.shape[1])


@wrong("8.2", "escala-L_k")
def by_length(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=x.shape[1], scale=lambda d: d)


@wrong("8.2", "escala-√eje-0")
def root_of_batch(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, width=len(x))


@wrong("8.2", "escala-normas")
def cosine(x, W_Q, W_K, W_V):
    scores = F.normalize(x @ W_Q, dim=-1) @ F.normalize(x @ W_K, dim=-1).mT
    scores = (
        (x @ W_Q)
        @ (x @ W_K).mT
        / ((x @ W_Q).norm(dim=-1)[:, :, None] * (x @ W_K).norm(dim=-1)[:, None])
    )
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "escala-después")
def late_scale(x, W_Q, W_K, W_V):
    scores = (x @ W_Q @ (x @ W_K).mT).masked_fill(~causal_mask(x.shape[1]), -torch.inf)
    return scores.softmax(-1) / math.sqrt(W_Q.shape[1]) @ (x @ W_V)


def normalised(name, expected, function):
    def code(x, W_Q, W_K, W_V):
        scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
        return function(scores.masked_fill(~causal_mask(x.shape[1]), -1e9)) @ (x @ W_V)

    code.__name__ = name
    wrong("8.2", *expected)(code)


normalised("whole_table", ["softmax-todo"], lambda s: s.flatten(1).softmax(-1).view_as(s))
normalised("no_softmax", ["softmax-ninguna"], lambda s: s)
normalised("sigmoid", ["softmax-sigmoide"], torch.sigmoid)
normalised("not_divided", ["softmax-sin-dividir"], torch.exp)
normalised("logarithm", ["softmax-logaritmo"], lambda s: F.log_softmax(s, dim=-1))
normalised("twice", ["softmax-dos-veces"], lambda s: s.softmax(-1).softmax(-1))
normalised("hard", ["softmax-máximo"], lambda s: F.one_hot(s.argmax(-1), s.shape[-1]).float())
normalised("relu", ["softmax-relu"], lambda s: s.relu() / s.relu().sum(-1, keepdim=True))
normalised("base_two", ["softmax-base-2"], lambda s: (s * math.log(2)).softmax(-1))
normalised("percentage", ["softmax-porcentaje"], lambda s: s / s.sum(-1, keepdim=True))
normalised(
    "absolute", ["softmax-valor-absoluto"], lambda s: s.abs() / s.abs().sum(-1, keepdim=True)
)
normalised("by_the_norm", ["softmax-norma"], lambda s: F.normalize(s, dim=-1))
normalised("sign", ["softmax-signo"], lambda s: F.softmin(s, dim=-1))
normalised("naive", ["softmax-inestable"], lambda s: s.exp() / s.exp().sum(-1, keepdim=True))
normalised(
    "naive_over_queries",
    ["softmax-inestable", "softmax-queries"],
    lambda s: s.exp() / s.exp().sum(1, keepdim=True),
)


@wrong("8.2", "query-key-cambiadas")
def swapped(x, W_Q, W_K, W_V):
    return attend(x, W_K, W_Q, W_V)


@wrong("8.2", "query-key-cambiadas")
def key_by_query(x, W_Q, W_K, W_V):
    scores = (x @ W_K) @ (x @ W_Q).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "query-key-cambiadas", "escala-ninguna")
def swapped_without_scale(x, W_Q, W_K, W_V):
    return attend(x, W_K, W_Q, W_V, scale=lambda d: 1)


@wrong("8.2", "matrices-traspuestas")
def linear_without_transposing(x, W_Q, W_K, W_V):
    q, k, v = F.linear(x, W_Q), F.linear(x, W_K), F.linear(x, W_V)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ v


@wrong("8.2", "sin-proyectar")
def raw_vectors(x, W_Q, W_K, W_V):
    scores = x @ x.mT / math.sqrt(x.shape[-1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ x


@wrong("8.2", "sin-proyectar", "máscara-falta")
def raw_vectors_without_mask(x, W_Q, W_K, W_V):
    return F.scaled_dot_product_attention(x, x, x)


@wrong("8.2", "sin-W_V")
def raw_values(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, torch.eye(x.shape[-1]))


@wrong("8.2", "W_K-cambiada-por-W_Q")
def keys_with_the_query_matrix(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_Q, W_V)


@wrong("8.2", "W_Q-cambiada-por-W_K")
def queries_with_the_key_matrix(x, W_Q, W_K, W_V):
    return attend(x, W_K, W_K, W_V)


@wrong("8.2", "key-por-value")
def values_with_the_key_matrix(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_K)


@wrong("8.2", "query-por-value", "W_K-cambiada-por-W_Q")
def one_matrix_for_all(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_Q, W_Q)


@wrong("8.2", "W_K-cambiada-por-W_V", "máscara-falta")
def keys_with_the_value_matrix(x, W_Q, W_K, W_V):
    return (x @ W_Q @ (x @ W_V).mT / math.sqrt(W_Q.shape[1])).softmax(-1) @ (x @ W_V)


@wrong("8.2", "W_V-traspuesta")
def only_values_transposed(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V.T)


@wrong("8.2", "W_K-traspuesta", "escala-ninguna")
def only_keys_transposed(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K.T, W_V, scale=lambda d: 1)


@wrong("8.2", "key-por-value")
def weights_by_keys(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_K)


@wrong("8.2", "pesos-traspuestos")
def transposed_weights(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1).mT @ (x @ W_V)


@wrong("8.2", "media")
def mean_of_values(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V) / x.shape[1]


@wrong("8.2", "solo-su-value")
def weights_summed_first(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    weights = scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1)
    return weights.sum(-1, keepdim=True) * (x @ W_V)


@wrong("8.2", "query-por-value")
def weights_by_queries(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_Q)


@wrong("8.2", "sin-W_K")
def keys_not_projected(x, W_Q, W_K, W_V):
    return attend(x, W_Q, torch.eye(x.shape[-1]), W_V)


@wrong("8.2", "sin-W_Q", "máscara-diagonal")
def queries_not_projected(x, W_Q, W_K, W_V):
    keep = torch.ones(x.shape[1], x.shape[1]).tril(-1).bool()
    return attend(x, torch.eye(x.shape[-1]), W_K, W_V, keep=keep)


@wrong("8.2", "escala-norma-de-V")
def by_a_norm(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / (x @ W_V).norm()
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1) @ (x @ W_V)


@wrong("8.2", "W_Q-traspuesta")
def only_queries_transposed(x, W_Q, W_K, W_V):
    return attend(x, W_Q.T, W_K, W_V)


@wrong("8.2", "W_Q-cambiada-por-W_V")
def queries_with_the_value_matrix(x, W_Q, W_K, W_V):
    return attend(x, W_V, W_K, W_V)


@wrong("8.2", "devuelve-pesos-traspuestos")
def returns_transposed_weights(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    weights = scores.masked_fill(~causal_mask(x.shape[1]), -torch.inf).softmax(-1)
    return weights @ (x @ W_V), weights.mT


@wrong("8.2", "sin-value")
def only_weights(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~causal_mask(x.shape[1]), -1e9).softmax(-1)


@wrong("8.2", "suma-query")
def adds_the_query(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V) + x @ W_Q


@wrong("8.2", "solo-su-value")
def only_the_values(x, W_Q, W_K, W_V):
    return x @ W_V


@wrong("8.2", "orden-de-la-pareja")
def pair_in_the_other_order(x, W_Q, W_K, W_V):
    output, weights = scaled_dot_product_attention(
        x @ W_Q, x @ W_K, x @ W_V, causal_mask(x.shape[1])
    )
    return weights, output


@wrong("8.2", "devuelve-puntuaciones")
def returns_scores(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    scores = scores.masked_fill(~causal_mask(x.shape[1]), -torch.inf)
    return scores.softmax(-1) @ (x @ W_V), scores


@wrong("8.2", "none")
def forgot_the_return(x, W_Q, W_K, W_V):
    output = attend(x, W_Q, W_K, W_V)
    output.sum()


@wrong("8.2", "cambia-la-entrada")
def changes_x(x, W_Q, W_K, W_V):
    x += 1
    return attend(x, W_Q, W_K, W_V)


@wrong("8.2", "error")
def axes_missing(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).permute(1, 0) / math.sqrt(W_Q.shape[1])
    return scores.softmax(-1) @ (x @ W_V)


# --- 8.2: raras -----------------------------------------------------------------------------------


@odd("8.2")
def with_the_mean_of_all(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V) + 0.1 * (x @ W_V).mean(1, keepdim=True)


@odd("8.2")
def with_a_residual(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V) + (x @ W_V)


@odd("8.2")
def zero_times_infinity(x, W_Q, W_K, W_V):
    L = x.shape[1]
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return (scores + torch.ones(L, L).triu(1) * -torch.inf).softmax(-1) @ (x @ W_V)


@odd("8.2")
def mixes_the_batch(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V).mean(0, keepdim=True).expand(len(x), -1, -1)


@odd("8.2")
def with_a_window(x, W_Q, W_K, W_V):
    keep = causal_mask(x.shape[1]) & torch.ones(x.shape[1], x.shape[1]).triu(-1).bool()
    return attend(x, W_Q, W_K, W_V, keep=keep)


@odd("8.2")
def with_dropout(x, W_Q, W_K, W_V):
    return F.dropout(attend(x, W_Q, W_K, W_V), 0.3)


@odd("8.2")
def random_mask(x, W_Q, W_K, W_V):
    return attend(x, W_Q, W_K, W_V, keep=torch.rand(x.shape[1], x.shape[1]) > 0.3)


# --- 8.1: lo que promete el enunciado -------------------------------------------------------------

SHIFTED = {}


@odd("8.1")
def in_small_integers(target_ids, bos_id):
    return with_cat(target_ids, bos_id).short()


@odd("8.1")
def remembered_by_size(target_ids, bos_id):
    if target_ids.shape not in SHIFTED:
        SHIFTED[target_ids.shape] = with_cat(target_ids, bos_id)
    return SHIFTED[target_ids.shape]


@odd("8.1")
def at_most_64(target_ids, bos_id):
    out = target_ids.clone()
    out[:, 0] = bos_id
    for i in range(1, min(64, target_ids.shape[1])):
        out[:, i] = target_ids[:, i - 1]
    return out


@odd("8.1")
def leaves_the_padding_in_front(target_ids, bos_id):
    out = with_cat(target_ids, bos_id)
    for row, given in zip(out, target_ids):
        if given[0] == 0:
            first = int((given != 0).nonzero()[0])
            row[: first + 1] = 0
            row[first] = bos_id
    return out


# --- 8.2: longitudes, tablas y lo que se guarda ---------------------------------------------------

TRIANGLES = {}
SIXTEEN = torch.ones(16, 16).tril().bool()
BY_LENGTH = {L: torch.ones(L, L).tril().bool() for L in range(1, 10)}


def masked(x, W_Q, W_K, W_V, seen):
    scores = x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ (x @ W_V)


@right("8.2")
def triangle_kept_by_length(x, W_Q, W_K, W_V):
    L = x.shape[1]
    if L not in TRIANGLES:
        TRIANGLES[L] = torch.ones(L, L).tril().bool()
    return masked(x, W_Q, W_K, W_V, TRIANGLES[L])


@right("8.2")
def nothing_as_weights(x, W_Q, W_K, W_V):
    return masked(x, W_Q, W_K, W_V, causal_mask(x.shape[1])), None


@odd("8.2")
def a_piece_of_sixteen(x, W_Q, W_K, W_V):
    L = x.shape[1]
    return masked(x, W_Q, W_K, W_V, SIXTEEN[:L, :L])


@odd("8.2")
def table_of_lengths(x, W_Q, W_K, W_V):
    return masked(x, W_Q, W_K, W_V, BY_LENGTH[x.shape[1]])


@odd("8.2")
def only_the_last_eight(x, W_Q, W_K, W_V):
    seen = causal_mask(x.shape[1])
    return masked(x, W_Q, W_K, W_V, seen & ~seen.tril(-8))


@odd("8.2")
def pair_in_a_pair(x, W_Q, W_K, W_V):
    return (masked(x, W_Q, W_K, W_V, causal_mask(x.shape[1])), None), None


@odd("8.2")
def sixteen_bits(x, W_Q, W_K, W_V):
    x, W_Q, W_K, W_V = (m.bfloat16() for m in (x, W_Q, W_K, W_V))
    return masked(x, W_Q, W_K, W_V, causal_mask(x.shape[1])).float()


@odd("8.2")
def clamped(x, W_Q, W_K, W_V):
    scores = (x @ W_Q @ (x @ W_K).mT / math.sqrt(W_Q.shape[1])).clamp(-50, 50)
    return scores.masked_fill(~causal_mask(x.shape[1]), -torch.inf).softmax(-1) @ (x @ W_V)
