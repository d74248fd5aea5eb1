"""Repartos en cabezas y multicabezas, como los escribe la gente: 6.1 y 6.2."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from answers import odd, right, wrong
from course_lib import MultiHeadAttention, scaled_dot_product_attention

# --- 6.1: buenas ----------------------------------------------------------------------------------


@right("6.1")
def view_and_transpose(x, heads):
    B, L, d_model = x.shape
    return x.view(B, L, heads, d_model // heads).transpose(1, 2)


@right("6.1")
def reshape_and_permute(x, heads):
    split = x.reshape(x.size(0), x.size(1), heads, -1)
    return split.permute(0, 2, 1, 3).contiguous()


@right("6.1")
def with_a_loop(x, heads):
    d_k = x.shape[-1] // heads
    return torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(heads)], dim=1)


@right("6.1")
def with_chunk(tensor, h):
    return torch.stack(tensor.chunk(h, dim=-1), dim=1)


@right("6.1")
def by_the_transpose(x, heads):
    B, L, d_model = x.shape
    return x.mT.reshape(B, heads, d_model // heads, L).mT


@right("6.1")
def with_unflatten(x, heads):
    return x.unflatten(-1, (heads, -1)).movedim(2, 1)


@right("6.1")
def filling_zeros(x, heads):
    B, L, d_model = x.shape
    out = torch.zeros(B, heads, L, d_model // heads)
    for b in range(B):
        for position in range(L):
            for i in range(d_model):
                out[b, i // (d_model // heads), position, i % (d_model // heads)] = x[
                    b, position, i
                ]
    return out


right("6.1")(lambda *inputs: with_chunk(*inputs))


class Splitter:
    def __call__(self, x, heads):
        return einsum("blhd->bhld", x.view(*x.shape[:2], heads, -1))


def _split_with(x, heads, axis):
    return x.view(*x.shape[:2], heads, x.shape[2] // heads).transpose(1, axis)


for _name, _code in (
    ("an_object", Splitter()),
    ("a_partial", functools.partial(_split_with, axis=2)),
):
    _code.__name__ = _name
    right("6.1")(_code)

# --- 6.1: malas -----------------------------------------------------------------------------------


@wrong("6.1", "view-sin-trasponer")
def straight_view(x, heads):
    B, L, d_model = x.shape
    return x.view(B, heads, L, d_model // heads)


@wrong("6.1", "view-sin-trasponer")
def heads_first_then_transpose(x, heads):
    B, L, d_model = x.shape
    return x.reshape(heads, B, L, -1).transpose(0, 1)


@wrong("6.1", "view-sin-trasponer")
def view_with_the_last_two_swapped(x, heads):
    B, L, d_model = x.shape
    return x.view(B, heads, d_model // heads, L).transpose(-2, -1)


@wrong("6.1", "falta-trasponer")
def without_transpose(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1)


@wrong("6.1", "falta-trasponer")
def stacked_at_two(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=2)


@wrong("6.1", "cabezas-intercaladas")
def interleaved(x, heads):
    B, L, d_model = x.shape
    return x.view(B, L, d_model // heads, heads).permute(0, 3, 1, 2)


@wrong("6.1", "cabezas-intercaladas")
def with_steps(x, heads):
    return torch.stack([x[..., i::heads] for i in range(heads)], dim=1)


@wrong("6.1", "h-y-d_k-cambiados")
def sizes_swapped(x, heads):
    d_k = x.shape[-1] // heads
    return x.view(x.shape[0], x.shape[1], d_k, heads).transpose(1, 2)


@wrong("6.1", "h-y-d_k-cambiados")
def split_is_not_chunk(x, heads):
    return torch.stack(torch.split(x, heads, dim=-1), dim=1)


@wrong("6.1", "h-y-d_k-cambiados", "falta-trasponer")
def sizes_swapped_and_no_transpose(x, heads):
    return x.view(x.shape[0], x.shape[1], -1, heads)


@wrong("6.1", "traspone-antes-de-repartir")
def transpose_first(x, heads):
    B, L, d_model = x.shape
    return x.transpose(1, 2).reshape(B, heads, L, d_model // heads)


@wrong("6.1", "cabezas-delante-del-lote")
def stacked_at_zero(x, heads):
    return torch.stack(x.chunk(heads, dim=-1))


@wrong("6.1", "cabezas-tumbadas")
def keys_already_transposed(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).permute(0, 2, 3, 1)


@wrong("6.1", "ejes-en-otro-orden")
def transposed_one_and_three(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 3)


@wrong("6.1", "ejes-en-otro-orden")
def transposed_the_last_two(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(-1, -2)


@wrong("6.1", "view-sin-trasponer", "cabezas-tumbadas")
def straight_view_sideways(x, heads):
    B, L, d_model = x.shape
    return x.view(B, heads, d_model // heads, L)


@wrong("6.1", "view-sin-trasponer", "cabezas-delante-del-lote")
def straight_view_heads_first(x, heads):
    return x.reshape(heads, x.shape[0], x.shape[1], -1)


@wrong("6.1", "cabezas-intercaladas", "cabezas-delante-del-lote")
def interleaved_heads_first(x, heads):
    return torch.stack([x[..., i::heads] for i in range(heads)])


@wrong("6.1", "lote-y-cabezas-juntos")
def batch_and_heads(x, heads):
    B, L, d_model = x.shape
    return x.view(B, L, heads, -1).transpose(1, 2).reshape(B * heads, L, d_model // heads)


@wrong("6.1", "lote-y-cabezas-juntos")
def concatenated_in_the_batch(x, heads):
    return torch.cat(x.chunk(heads, dim=-1), dim=0)


@wrong("6.1", "view-sin-trasponer", "lote-y-cabezas-juntos")
def straight_view_batch_and_heads(x, heads):
    return x.reshape(x.shape[0] * heads, x.shape[1], -1)


@wrong("6.1", "cabezas-en-fila")
def concatenated_in_the_tokens(x, heads):
    return torch.cat(x.chunk(heads, dim=2), dim=1)


@wrong("6.1", "sin-repartir")
def joined_again(x, heads):
    split = x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)
    return split.transpose(1, 2).reshape(x.shape)


@wrong("6.1", "una-sola-cabeza")
def only_a_new_axis(x, heads):
    return x.unsqueeze(1)


@wrong("6.1", "todo-en-cada-cabeza")
def everything_to_everyone(x, heads):
    return torch.stack([x for _ in range(heads)], dim=1)


@wrong("6.1", "solo-la-primera-cabeza")
def only_the_first(x, heads):
    return x[:, None, :, : x.shape[-1] // heads]


@wrong("6.1", "misma-en-todas")
def always_the_first_slice(x, heads):
    d_k = x.shape[-1] // heads
    return torch.stack([x[:, :, :d_k] for i in range(heads)], 1)


@wrong("6.1", "cortes-solapados")
def overlapping(x, heads):
    d_k = x.shape[-1] // heads
    return torch.stack([x[:, :, i : i + d_k] for i in range(heads)], 1)


@wrong("6.1", "reparte-los-tokens")
def split_tokens(x, heads):
    return (
        torch.stack(x.chunk(heads, dim=1), dim=1)
        if x.shape[1] % heads == 0
        else x.reshape(-1, 0, 3)
    )


@wrong("6.1", "lista-de-cabezas")
def a_tuple(x, heads):
    return torch.chunk(x, heads, dim=-1)


@wrong("6.1", "lista-de-cabezas")
def a_list(x, heads):
    d_k = x.shape[-1] // heads
    return [x[..., i * d_k : (i + 1) * d_k] for i in range(heads)]


@wrong("6.1", "lista-de-cabezas", "cabezas-intercaladas")
def an_interleaved_list(x, heads):
    return [x[..., i::heads] for i in range(heads)]


@odd("6.1")
def reversed_numbers(x, heads):
    return x.flip(-1).view(*x.shape[:2], heads, -1).transpose(1, 2)


@odd("6.1")
def normalized(x, heads):
    return F.normalize(x, dim=-1).view(*x.shape[:2], heads, -1).transpose(1, 2)


@odd("6.1")
def reversed_heads(x, heads):
    return with_chunk(x, heads).flip(1)


@odd("6.1")
def only_one_sentence(x, heads):
    return x[0].view(x.shape[1], heads, -1).transpose(0, 1)


# --- 6.2: buenas ----------------------------------------------------------------------------------


@right("6.2")
class TheReference(MultiHeadAttention):
    pass


@right("6.2")
class Pieces(nn.Module):
    """La de la lección, a trozos: las malas cambian uno o dos."""

    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads, self.d_k = heads, dim_embedding // heads
        self.query_projection = nn.Linear(dim_embedding, dim_embedding)
        self.key_projection = nn.Linear(dim_embedding, dim_embedding)
        self.value_projection = nn.Linear(dim_embedding, dim_embedding)
        self.output_projection = nn.Linear(dim_embedding, dim_embedding)

    def project(self, query, key, value):
        return self.query_projection(query), self.key_projection(key), self.value_projection(value)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.d_k).transpose(1, 2)

    def score(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(self.d_k)

    def hide(self, scores, mask):
        return scores.masked_fill(~mask, float("-inf"))

    def normalize(self, scores):
        return torch.softmax(scores, dim=-1)

    def mix(self, weights, q, k, v):
        return weights @ v

    def join(self, x):
        return x.transpose(1, 2).flatten(2)

    def finish(self, concat, query):
        return self.output_projection(concat)

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split(x) for x in self.project(query, key, value))
        scores = self.score(q, k)
        if mask is not None:
            scores = self.hide(scores, mask)
        weights = self.normalize(scores)
        self.weights = weights
        return self.finish(self.join(self.mix(weights, q, k, v)), query)


@right("6.2")
class ShortNames(nn.Module):
    def __init__(self, num_heads, d_model, bias=False):
        super().__init__()
        self.h = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, Q, K, V, mask=None):
        B = Q.size(0)
        Q, K, V = (
            w(x).reshape(B, -1, self.h, x.size(-1) // self.h).permute(0, 2, 1, 3)
            for w, x in ((self.W_q, Q), (self.W_k, K), (self.W_v, V))
        )
        out, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.W_o(out.permute(0, 2, 1, 3).reshape(B, Q.size(2), -1)), weights


@right("6.2")
class ListOfFour(nn.Module):
    """Como en el Transformer comentado: cuatro capas iguales en una lista."""

    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p_attn = self.dropout(scores.softmax(dim=-1))
        x = torch.matmul(p_attn, value).transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


@right("6.2")
class NamelessLayers(nn.Module):
    """Cuatro capas sin nombre que lo diga, y usadas en otro orden."""

    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.layer1, self.layer2 = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.layer3, self.layer4 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        cut = lambda x: torch.stack(x.chunk(self.heads, dim=-1), dim=1)  # noqa: E731
        k, q, o = cut(self.layer1(key)), cut(self.layer3(query)), self.layer2
        heads = F.scaled_dot_product_attention(q, k, cut(self.layer4(value)), attn_mask=mask)
        return o(torch.cat(heads.unbind(1), dim=-1)), None


class OneHead(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_k, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query(query), self.key(key), self.value(value)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.where(mask, 0.0, -torch.inf)
        return F.softmax(scores, dim=2) @ v


@right("6.2")
class HeadByHead(nn.Module):
    """Un módulo por cabeza."""

    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads = nn.ModuleList(
            OneHead(dim_embedding, dim_embedding // heads) for _ in range(heads)
        )
        self.proj = nn.Linear(dim_embedding, dim_embedding)

    def forward(self, query, key, value, mask=None):
        outs = []
        for i, head in enumerate(self.heads):
            own = None
            if mask is not None:
                own = mask.expand(len(query), len(self.heads), query.shape[1], key.shape[1])[:, i]
            outs.append(head(query, key, value, own))
        return self.proj(torch.cat(outs, dim=-1))


@right("6.2")
class ThreeLists(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()

        def small():
            sizes = [(dim_embedding, dim_embedding // heads)] * heads
            return nn.ModuleList([nn.Linear(*size) for size in sizes])

        self.values, self.keys, self.queries = small(), small(), small()
        self.fc_out = nn.Linear(dim_embedding, dim_embedding)

    def forward(self, query, key, value, mask=None):
        q = torch.stack([layer(query) for layer in self.queries], dim=1)
        k = torch.stack([layer(key) for layer in self.keys], dim=1)
        v = torch.stack([layer(value) for layer in self.values], dim=1)
        energy = einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            energy = energy.masked_fill(~mask, torch.finfo(energy.dtype).min)
        out = einsum("bhqk,bhkd->bqhd", energy.softmax(-1), v)
        return self.fc_out(out.reshape(query.shape))


@right("6.2")
class SumOfContributions(nn.Module):
    """Sin concat: cada cabeza tiene su trozo de W_O y se suman las aportaciones."""

    def __init__(self, heads, dim_embedding):
        super().__init__()
        d_k = dim_embedding // heads
        self.heads = nn.ModuleList(OneHead(dim_embedding, d_k) for _ in range(heads))
        self.out = nn.ModuleList(nn.Linear(d_k, dim_embedding, bias=False) for _ in range(heads))

    def forward(self, query, key, value, mask=None):
        total = 0
        for i, (head, layer) in enumerate(zip(self.heads, self.out)):
            own = mask if mask is None or mask.dim() == 2 else mask[:, min(i, mask.shape[1] - 1)]
            total = total + layer(head(query, key, value, own))
        return total


@right("6.2")
class FusedInput(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.num_heads, self.dim = heads, dim_embedding
        self.in_proj = nn.Linear(dim_embedding, 3 * dim_embedding)
        self.out_proj = nn.Linear(dim_embedding, dim_embedding)

    def forward(self, query, key, value, mask=None):
        w, b = self.in_proj.weight.chunk(3), self.in_proj.bias.chunk(3)
        q, k, v = (
            F.linear(x, w[i], b[i]).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for i, x in enumerate((query, key, value))
        )
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(out.transpose(1, 2).reshape(len(query), -1, self.dim))


@right("6.2")
class FusedKeysAndValues(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.h = heads
        self.to_q = nn.Linear(dim_embedding, dim_embedding, bias=False)
        self.to_kv = nn.Linear(dim_embedding, 2 * dim_embedding, bias=False)
        self.to_out = nn.Sequential(nn.Linear(dim_embedding, dim_embedding), nn.Dropout(0.2))

    def forward(self, query, key, value, mask=None):
        q = self.to_q(query)
        k, v = self.to_kv(key).chunk(2, -1)[0], self.to_kv(value).chunk(2, -1)[1]
        q, k, v = (x.view(*x.shape[:2], self.h, -1).transpose(1, 2) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.to_out(out.transpose(1, 2).flatten(-2))


@right("6.2")
class TorchInside(nn.Module):
    """La de torch, con la máscara al revés, como ella la pide."""

    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads = heads
        self.inner = nn.MultiheadAttention(dim_embedding, heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            B, L_q, L_k = query.shape[0], query.shape[1], key.shape[1]
            mask = ~mask.expand(B, self.heads, L_q, L_k).reshape(B * self.heads, L_q, L_k)
        return self.inner(query, key, value, attn_mask=mask)


@right("6.2")
class TorchAsParent(nn.MultiheadAttention):
    def __init__(self, heads, dim_embedding):
        super().__init__(dim_embedding, heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.expand(len(query), self.num_heads, query.shape[1], key.shape[1])
            mask = ~mask.flatten(0, 1)
        return super().forward(query, key, value, attn_mask=mask, average_attn_weights=False)


@right("6.2")
class MatricesAsParameters(nn.Module):
    """Sin nn.Linear: x @ W, con W (entrada, salida)."""

    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.W_Q = nn.Parameter(torch.randn(dim, dim) / dim**0.5)
        self.W_K = nn.Parameter(torch.randn(dim, dim) / dim**0.5)
        self.W_V = nn.Parameter(torch.randn(dim, dim) / dim**0.5)
        self.W_O = nn.Parameter(torch.randn(dim, dim) / dim**0.5)
        self.b_O = nn.Parameter(torch.zeros(dim))

    def forward(self, query, key, value, mask=None):
        B, L, d = query.shape
        q, k, v = query @ self.W_Q, key @ self.W_K, value @ self.W_V
        q, k, v = (x.view(B, -1, self.heads, d // self.heads) for x in (q, k, v))
        scores = einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(d // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -math.inf)
        weights = scores.softmax(-1)
        return einsum("bhqk,bkhd->bqhd", weights, v).flatten(2) @ self.W_O + self.b_O, weights


@right("6.2")
class MatricesByHead(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        d_k = dim // heads
        self.query_weight = nn.Parameter(torch.empty(heads, dim, d_k).normal_())
        self.key_weight = nn.Parameter(torch.empty(heads, dim, d_k).normal_())
        self.value_weight = nn.Parameter(torch.empty(heads, dim, d_k).normal_())
        self.output_weight = nn.Parameter(torch.empty(heads, d_k, dim).normal_())

    def forward(self, query, key, value, mask=None):
        q = einsum("bld,hdk->bhlk", query, self.query_weight)
        k = einsum("bld,hdk->bhlk", key, self.key_weight)
        v = einsum("bld,hdk->bhlk", value, self.value_weight)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return einsum("bhlk,hkd->bld", out, self.output_weight)


@right("6.2")
class WithAveragedWeights(Pieces):
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask), self.weights.mean(dim=1)


@right("6.2")
class OnlyFourAxisMasks(Pieces):
    def hide(self, scores, mask):
        assert mask.dim() == 4
        return torch.where(mask, scores, -1e10)


@right("6.2")
class ScaledBeforeMultiplying(Pieces):
    def score(self, q, k):
        return (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT


@right("6.2")
class ByHandSoftmax(Pieces):
    def normalize(self, scores):
        e = (scores - scores.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)


_maker = functools.partial(ShortNames, bias=True)  # no es una clase, pero crea módulos
_maker.__name__ = "a_partial"
right("6.2")(_maker)
right("6.2")(lambda heads, width: MultiHeadAttention(heads, width, bias=False))

# --- 6.2: malas, de una en una y de dos en dos ------------------------------------------------------


@wrong("6.2", "view-sin-trasponer")
class StraightView(Pieces):
    def split(self, x):
        return x.view(x.shape[0], self.heads, x.shape[1], self.d_k)


@wrong("6.2", "view-sin-trasponer", "junta-sin-trasponer")
class StraightViewBothWays(StraightView):
    def join(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@wrong("6.2", "falta-trasponer")
class NoTranspose(Pieces):
    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.d_k)

    def join(self, x):
        return x.flatten(2)


@wrong("6.2", "falta-trasponer")
class NoTransposeButBack(NoTranspose):
    def join(self, x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)


@wrong("6.2", "cabezas-intercaladas")
class Interleaved(Pieces):
    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.d_k, self.heads).permute(0, 3, 1, 2)


@wrong("6.2", "cabezas-intercaladas")
class InterleavedBothWays(Interleaved):
    def join(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@wrong("6.2", "h-y-d_k-cambiados")
class SizesSwapped(Pieces):
    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.d_k, self.heads).transpose(1, 2)


@wrong("6.2", "una-sola-cabeza")
class SingleHead(Pieces):
    def split(self, x):
        return x

    def score(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])

    def hide(self, scores, mask):
        return scores.masked_fill(~mask[:, 0] if mask.dim() == 4 else ~mask, -1e9)

    def join(self, x):
        return x


@wrong("6.2", "traspone-antes-de-repartir")
class TransposeFirst(Pieces):
    def split(self, x):
        return x.transpose(1, 2).reshape(x.shape[0], self.heads, x.shape[1], self.d_k)


@wrong("6.2", "view-sin-trasponer")
class OnlyTheValuesStraight(Pieces):
    def project(self, query, key, value):
        v = self.value_projection(value)
        self.straight = v.view(v.shape[0], self.heads, v.shape[1], self.d_k)
        return self.query_projection(query), self.key_projection(key), v

    def mix(self, weights, q, k, v):
        return weights @ self.straight


@wrong("6.2", "reparte-antes")
class OneSmallLayerForEveryHead(nn.Module):
    """Como en un texto conocido: parte el embedding y proyecta cada trozo con la misma capa."""

    def __init__(self, heads, embed_size):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(heads * self.head_dim, embed_size)
        self.root = math.sqrt(self.head_dim)

    def forward(self, query, keys, values, mask=None):
        N, query_len = query.shape[:2]
        values = self.values(values.reshape(N, -1, self.heads, self.head_dim))
        keys = self.keys(keys.reshape(N, -1, self.heads, self.head_dim))
        queries = self.queries(query.reshape(N, query_len, self.heads, self.head_dim))
        energy = einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / self.root, dim=3)
        out = einsum("nhql,nlhd->nqhd", [attention, values])
        return self.fc_out(out.reshape(N, query_len, self.heads * self.head_dim))


@wrong("6.2", "reparte-antes", "escala-√d_model")
class TheTextItself(OneSmallLayerForEveryHead):
    def __init__(self, heads, embed_size):
        super().__init__(heads, embed_size)
        self.root = embed_size**0.5


@wrong("6.2", "otro-orden")
class ValuesFirst(Pieces):
    def forward(self, values, keys, query, mask=None):
        return super().forward(query, keys, values, mask)


@wrong("6.2", "reparte-antes", "otro-orden")
class TheTextWithItsOrder(OneSmallLayerForEveryHead):
    def forward(self, values, keys, query, mask=None):
        return super().forward(query, keys, values, mask)


@wrong("6.2", "reparte-antes")
class SmallLayersByHead(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        d_k = dim // heads
        self.q = nn.ModuleList(nn.Linear(d_k, d_k) for _ in range(heads))
        self.k = nn.ModuleList(nn.Linear(d_k, d_k) for _ in range(heads))
        self.v = nn.ModuleList(nn.Linear(d_k, d_k) for _ in range(heads))
        self.o = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        n = len(self.q)
        cut = lambda layers, x: torch.stack([f(y) for f, y in zip(layers, x.chunk(n, -1))], 1)  # noqa: E731
        q, k, v = cut(self.q, query), cut(self.k, key), cut(self.v, value)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.o(out.transpose(1, 2).flatten(2))


@wrong("6.2", "misma-proyección-en-todas")
class SameProjectionForAll(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(dim, dim // heads) for _ in range(3))
        self.out = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query(query), self.key(key), self.value(value)
        heads = []
        for i in range(self.heads):
            own = mask
            if mask is not None and mask.dim() == 4:
                own = mask[:, min(i, mask.shape[1] - 1)]
            heads.append(scaled_dot_product_attention(q, k, v, own)[0])
        return self.out(torch.cat(heads, dim=-1))


@wrong("6.2", "cabezas-anchas")
class WideHeads(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.toqueries, self.tokeys, self.tovalues = (
            nn.Linear(dim, dim * heads, bias=False) for _ in range(3)
        )
        self.unifyheads = nn.Linear(heads * dim, dim)

    def forward(self, query, key, value, mask=None):
        cut = lambda x: x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # noqa: E731
        q, k, v = cut(self.toqueries(query)), cut(self.tokeys(key)), cut(self.tovalues(value))
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.unifyheads(out.transpose(1, 2).flatten(2))


@wrong("6.2", "una-sola-proyección")
class OneProjection(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(dim, dim)
        self.output_projection = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.projection(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for x in (query, key, value)
        )
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.output_projection(out.transpose(1, 2).flatten(2)), weights


@wrong("6.2", "una-sola-proyección")
class OneProjectionOfFour(Pieces):
    def project(self, query, key, value):
        return [self.query_projection(x) for x in (query, key, value)]


@wrong("6.2", "otra-proyección")
class KeysWithTheQueryLayer(Pieces):
    def project(self, query, key, value):
        return (
            self.query_projection(query),
            self.query_projection(key),
            self.value_projection(value),
        )


@wrong("6.2", "otra-proyección")
class ValuesWithTheKeyLayer(Pieces):
    def project(self, query, key, value):
        return self.query_projection(query), self.key_projection(key), self.key_projection(value)


@wrong("6.2", "proyecciones-cambiadas")
class ProjectionsSwapped(Pieces):
    def project(self, query, key, value):
        return self.key_projection(query), self.query_projection(key), self.value_projection(value)


@wrong("6.2", "otra-entrada")
class ValuesFromTheKey(Pieces):
    def project(self, query, key, value):
        return self.query_projection(query), self.key_projection(key), self.value_projection(key)


@wrong("6.2", "solo-query")
class OnlySelfAttention(Pieces):
    def project(self, query, key, value):
        return (
            self.query_projection(query),
            self.key_projection(query),
            self.value_projection(query),
        )


@wrong("6.2", "otro-orden")
class KeyFirst(Pieces):
    def forward(self, key, query, value, mask=None):
        return super().forward(query, key, value, mask)


@wrong("6.2", "sin-proyectar")
class NothingProjected(Pieces):
    def project(self, query, key, value):
        return query, key, value


@wrong("6.2", "sin-proyectar")
class OnlyTheOutputLayer(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads, self.output_projection = heads, nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            x.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in (query, key, value)
        )
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.output_projection(out.transpose(1, 2).flatten(2))


@wrong("6.2", "sin-proyectar")
class ValuesUnprojected(Pieces):
    def project(self, query, key, value):
        return self.query_projection(query), self.key_projection(key), value


@wrong("6.2", "proyecta-dos-veces")
class ProjectedTwice(Pieces):
    def project(self, query, key, value):
        return super().project(*super().project(query, key, value))


@wrong("6.2", "olvida-el-sesgo")
class WithoutTheBias(Pieces):
    def project(self, query, key, value):
        layers = (self.query_projection, self.key_projection, self.value_projection)
        return [x @ layer.weight.T for x, layer in zip((query, key, value), layers)]


@wrong("6.2", "matriz-sin-trasponer")
class WeightUntransposed(Pieces):
    def project(self, query, key, value):
        layers = (self.query_projection, self.key_projection, self.value_projection)
        return [torch.matmul(x, layer.weight) for x, layer in zip((query, key, value), layers)]


@wrong("6.2", "sin-W_O")
class NoOutputLayer(Pieces):
    def finish(self, concat, query):
        return concat


@wrong("6.2", "sin-W_O")
class ThreeLayers(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.h = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).view(*x.shape[:2], self.h, -1).transpose(1, 2)
            for layer, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        return scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2)


@wrong("6.2", "W_O-dos-veces")
class OutputTwice(Pieces):
    def finish(self, concat, query):
        return self.output_projection(self.output_projection(concat))


@wrong("6.2", "W_O-es-otra")
class ValueLayerAsOutput(Pieces):
    def finish(self, concat, query):
        return self.value_projection(concat)


@wrong("6.2", "W_O-sin-su-sesgo")
class OutputWithoutBias(Pieces):
    def finish(self, concat, query):
        return F.linear(concat, self.output_projection.weight)


@wrong("6.2", "W_O-sin-trasponer")
class OutputUntransposed(Pieces):
    def finish(self, concat, query):
        return concat @ self.output_projection.weight


@wrong("6.2", "suma-la-entrada")
class WithResidual(Pieces):
    def finish(self, concat, query):
        return query + self.output_projection(concat)


@wrong("6.2", "junta-sin-trasponer")
class JoinedWithoutTranspose(Pieces):
    def join(self, x):
        return x.reshape(x.shape[0], x.shape[2], self.heads * self.d_k)


@wrong("6.2", "junta-intercalando")
class JoinedInterleaving(Pieces):
    def join(self, x):
        return torch.stack(x.unbind(1), dim=-1).flatten(2)


@wrong("6.2", "junta-otros-ejes")
class JoinedWithOtherAxes(Pieces):
    def join(self, x):
        return x.transpose(2, 3).reshape(x.shape[0], x.shape[2], -1)


@wrong("6.2", "media-de-cabezas")
class MeanOfHeads(Pieces):
    def join(self, x):
        return x.mean(dim=1)


@wrong("6.2", "media-de-cabezas")
class MeanOfHeadsThatFits(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.h = heads
        self.W_q, self.W_k, self.W_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.W_o = nn.Linear(dim // heads, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).view(*x.shape[:2], self.h, -1).transpose(1, 2)
            for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value))
        )
        return self.W_o(scaled_dot_product_attention(q, k, v, mask)[0].mean(1))


@wrong("6.2", "suma-de-cabezas")
class SumOfHeads(Pieces):
    def join(self, x):
        return sum(x[:, i] for i in range(self.heads))


@wrong("6.2", "concat-otro-eje")
class ConcatInTheTokens(Pieces):
    def join(self, x):
        return torch.cat(x.unbind(1), dim=1)


@wrong("6.2", "concat-otro-eje")
class ConcatInTheBatch(Pieces):
    def join(self, x):
        return torch.cat([x[:, i] for i in range(self.heads)])


@wrong("6.2", "concat-otro-eje", "sin-W_O")
class ConcatInTheTokensAndNoOutput(ConcatInTheTokens):
    def finish(self, concat, query):
        return concat


@wrong("6.2", "sin-juntar")
class NotJoined(Pieces):
    def join(self, x):
        return x


@wrong("6.2", "solo-la-última-cabeza")
class LastHeadOnly(Pieces):
    def join(self, x):
        for i in range(self.heads):
            out = x[:, i]
        return out


@wrong("6.2", "solo-la-primera-cabeza")
class FirstHeadOnly(Pieces):
    def join(self, x):
        return x[:, 0]


@wrong("6.2", "escala-√d_model")
class RootOfTheModel(Pieces):
    def score(self, q, k):
        return q @ k.mT / math.sqrt(self.heads * self.d_k)


@wrong("6.2", "escala-ninguna")
class NoScale(Pieces):
    def score(self, q, k):
        return q @ k.mT


@wrong("6.2", "escala-d_k")
class DividedByWidth(Pieces):
    def score(self, q, k):
        return q @ k.mT / self.d_k


@wrong("6.2", "escala-√h")
class RootOfHeads(Pieces):
    def score(self, q, k):
        return q @ k.mT / self.heads**0.5


@wrong("6.2", "escala-d_model")
class DividedByModel(Pieces):
    def score(self, q, k):
        return q @ k.mT / (self.heads * self.d_k)


@wrong("6.2", "escala-√L_k")
class RootOfLength(Pieces):
    def score(self, q, k):
        return q @ k.mT / math.sqrt(k.size(2))


@wrong("6.2", "escala-por-√d_k")
class Multiplied(Pieces):
    def score(self, q, k):
        return q @ k.mT * math.sqrt(self.d_k)


@wrong("6.2", "escala-fija")
class AlwaysEight(Pieces):
    def score(self, q, k):
        return q @ k.mT / 8


@wrong("6.2", "escala-después")
class ScaledLate(Pieces):
    def score(self, q, k):
        return q @ k.mT

    def normalize(self, scores):
        return scores.softmax(-1) / math.sqrt(self.d_k)


@wrong("6.2", "query-key-cambiadas")
class KeysTimesQueries(Pieces):
    def score(self, q, k):
        return k @ q.mT / math.sqrt(self.d_k)


@wrong("6.2", "softmax-queries")
class SoftmaxOverQueries(Pieces):
    def normalize(self, scores):
        return scores.softmax(-2)


@wrong("6.2", "softmax-eje-1")
class SoftmaxOverHeads(Pieces):
    def normalize(self, scores):
        return scores.softmax(1)


@wrong("6.2", "softmax-ninguna")
class NoSoftmax(Pieces):
    def normalize(self, scores):
        return scores


@wrong("6.2", "pesos-traspuestos")
class WeightsTransposed(Pieces):
    def mix(self, weights, q, k, v):
        return weights.mT @ v


@wrong("6.2", "key-por-value")
class WeightsTimesKeys(Pieces):
    def mix(self, weights, q, k, v):
        return weights @ k


@wrong("6.2", "softmax-inestable")
class NaiveSoftmax(Pieces):
    def normalize(self, scores):
        return scores.exp() / scores.exp().sum(-1, keepdim=True)


@wrong("6.2", "máscara-ignorada")
class MaskIgnored(Pieces):
    def hide(self, scores, mask):
        return scores


@wrong("6.2", "máscara-al-revés")
class MaskInverted(Pieces):
    def hide(self, scores, mask):
        return scores.masked_fill(mask, -1e9)


@wrong("6.2", "máscara-al-revés")
class TorchWithItsMask(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads = heads
        self.inner = nn.MultiheadAttention(dim_embedding, heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.expand(len(query), self.heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return self.inner(query, key, value, attn_mask=mask)[0]


@wrong("6.2", "máscara-después")
class MaskAfter(Pieces):
    def forward(self, query, key, value, mask=None):
        self.mask = mask
        return super().forward(query, key, value)

    def normalize(self, scores):
        weights = scores.softmax(-1)
        return weights if self.mask is None else weights * self.mask


@wrong("6.2", "máscara-a-cero")
class MaskToZero(Pieces):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, 0)


@wrong("6.2", "máscara-poco-negativa")
class MaskNotEnough(Pieces):
    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -5.0)


@wrong("6.2", "máscara-eje-de-más")
class MaskUnsqueezed(Pieces):
    def hide(self, scores, mask):
        return scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)


@wrong("6.2", "sin-máscara")
class NoMaskArgument(Pieces):
    def forward(self, query, key, value):
        return super().forward(query, key, value)


@wrong("6.2", "máscara-causal-siempre")
class AlwaysCausal(Pieces):
    def score(self, q, k):
        scores = super().score(q, k)
        return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)


@wrong("6.2", "lote-por-tokens")
class BatchSecond(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads = heads
        self.inner = nn.MultiheadAttention(dim_embedding, heads)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = ~mask.expand(len(query), self.heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return self.inner(query, key, value, attn_mask=mask)[0]


@wrong("6.2", "lista-de-python")
class PythonList(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.queries = [nn.Linear(dim, dim // heads) for _ in range(heads)]
        self.keys = [nn.Linear(dim, dim // heads) for _ in range(heads)]
        self.values = [nn.Linear(dim, dim // heads) for _ in range(heads)]
        self.out = nn.Linear(dim, dim)

    def join(self, outs):
        return torch.cat(outs, dim=-1)

    def forward(self, query, key, value, mask=None):
        outs = []
        for i, (q, k, v) in enumerate(zip(self.queries, self.keys, self.values)):
            own = (
                mask if mask is None or mask.dim() == 2 else mask[:, i if mask.shape[1] > 1 else 0]
            )
            outs.append(scaled_dot_product_attention(q(query), k(key), v(value), own)[0])
        return self.out(self.join(outs))


@wrong("6.2", "lista-de-python", "concat-otro-eje")
class PythonListAndConcat(PythonList):
    def join(self, outs):
        return torch.cat(outs, dim=1)


@wrong("6.2", "lista-de-python", "suma-de-cabezas")
class PythonListAndSum(PythonList):
    def join(self, outs):
        return sum(outs)


@wrong("6.2", "tensor-sin-parameter")
class PlainTensors(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_o = (torch.randn(dim, dim) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            (x @ W).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for x, W in ((query, self.W_q), (key, self.W_k), (value, self.W_v))
        )
        return scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2) @ self.W_o


@wrong("6.2", "corta-el-gradiente")
class DetachedWeights(Pieces):
    def normalize(self, scores):
        return scores.softmax(-1).detach()


@wrong("6.2", "corta-el-gradiente")
class NoGrad(Pieces):
    @torch.no_grad()
    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask)


@wrong("6.2", "parámetros-de-más")
class OneLayerTooMany(Pieces):
    def __init__(self, heads, dim):
        super().__init__(heads, dim)
        self.extra = nn.Linear(dim, 4 * dim + 1)


@wrong("6.2", "capas-en-forward")
class LayersInForward(Pieces):
    def project(self, query, key, value):
        dim = query.shape[-1]
        return [nn.Linear(dim, dim)(x) for x in (query, key, value)]


@wrong("6.2", "constructor-al-revés")
class WidthFirst(Pieces):
    def __init__(self, d_model, num_heads):
        super().__init__(num_heads, d_model)


@wrong("6.2", "devuelve-puntuaciones")
class ScoresAsWeights(Pieces):
    def normalize(self, scores):
        self.scores = scores
        return super().normalize(scores)

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, mask), self.scores


@wrong("6.2", "orden-de-la-pareja")
class WeightsFirst(Pieces):
    def forward(self, query, key, value, mask=None):
        output = super().forward(query, key, value, mask)
        return self.weights, output


# --- 6.2: parejas y tríos -------------------------------------------------------------------------


def mixed(*parents):
    """Una clase con los errores de varias, si cada una cambia una cosa."""
    own = [name for parent in parents for name in vars(parent) if not name.startswith("__")]
    assert len(set(own)) == len(own), own
    return type("And".join(parent.__name__ for parent in parents), parents, {})


PAIRS = [
    ((StraightView, RootOfTheModel), ("view-sin-trasponer", "escala-√d_model")),
    ((NoTranspose, NoScale), ("falta-trasponer", "escala-ninguna")),
    ((NoTranspose, MaskIgnored), ("falta-trasponer", "máscara-ignorada")),
    ((RootOfTheModel, MaskInverted), ("escala-√d_model", "máscara-al-revés")),
    ((NoScale, SoftmaxOverQueries), ("escala-ninguna", "softmax-queries")),
    ((NoOutputLayer, JoinedWithoutTranspose), ("sin-W_O", "junta-sin-trasponer")),
    ((NoOutputLayer, OneProjectionOfFour), ("sin-W_O", "una-sola-proyección")),
    ((ConcatInTheTokens, RootOfTheModel), ("concat-otro-eje", "escala-√d_model")),
    ((MeanOfHeads, MaskIgnored), ("media-de-cabezas", "máscara-ignorada")),
    ((KeysWithTheQueryLayer, NoScale), ("otra-proyección", "escala-ninguna")),
    ((ProjectionsSwapped, RootOfTheModel), ("proyecciones-cambiadas", "escala-√d_model")),
    ((ValuesFromTheKey, MaskInverted), ("otra-entrada", "máscara-al-revés")),
    ((ValuesFirst, NoScale), ("otro-orden", "escala-ninguna")),
    ((OnlySelfAttention, StraightView), ("solo-query", "view-sin-trasponer")),
    ((WithResidual, RootOfTheModel), ("suma-la-entrada", "escala-√d_model")),
    ((Interleaved, NoOutputLayer), ("cabezas-intercaladas", "sin-W_O")),
    ((JoinedInterleaving, SoftmaxOverQueries), ("junta-intercalando", "softmax-queries")),
    ((NoSoftmax, NoScale), ("softmax-ninguna", "escala-ninguna")),
    ((KeysTimesQueries, NoOutputLayer), ("query-key-cambiadas", "sin-W_O")),
    ((WeightsTimesKeys, NoOutputLayer), ("key-por-value", "sin-W_O")),
    ((AlwaysCausal, MaskIgnored), ("máscara-causal-siempre", "máscara-ignorada")),
    ((RootOfHeads, StraightView), ("escala-√h", "view-sin-trasponer")),
    ((NothingProjected, NoScale), ("sin-proyectar", "escala-ninguna")),
    ((OutputTwice, MaskToZero), ("W_O-dos-veces", "máscara-a-cero")),
    (
        (StraightView, RootOfTheModel, MaskInverted),
        ("view-sin-trasponer", "escala-√d_model", "máscara-al-revés"),
    ),
    ((NoOutputLayer, NoScale, MaskIgnored), ("sin-W_O", "escala-ninguna", "máscara-ignorada")),
    (
        (NoOutputLayer, SoftmaxOverQueries, JoinedWithoutTranspose),
        ("sin-W_O", "softmax-queries", "junta-sin-trasponer"),
    ),
    ((WidthFirst, StraightView), ("constructor-al-revés", "view-sin-trasponer")),
]
for _parents, _names in PAIRS:
    wrong("6.2", *_names)(mixed(*_parents))

# --- 6.2: raras -----------------------------------------------------------------------------------


@odd("6.2")
class WithRelu(Pieces):
    def finish(self, concat, query):
        return self.output_projection(concat).relu()


@odd("6.2")
class LastTokenOnly(Pieces):
    def finish(self, concat, query):
        return self.output_projection(concat[:, -1:].expand_as(concat))


@odd("6.2")
class TanhWeights(Pieces):
    def normalize(self, scores):
        return scores.tanh()


@odd("6.2")
class MixesTheBatch(Pieces):
    def finish(self, concat, query):
        return self.output_projection(concat + concat.flip(0))


@odd("6.2")
class NormalizedValues(Pieces):
    def mix(self, weights, q, k, v):
        return weights @ F.normalize(v, dim=-1)


@odd("6.2")
class NotAModule:
    def __init__(self, heads, dim):
        self.query_projection = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        return query


@odd("6.2")
class ForgetsSuper(nn.Module):
    def __init__(self, heads, dim):
        self.query_projection = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        return self.query_projection(query)


@odd("6.2")
class ForwardOfOne(Pieces):
    def forward(self, x):
        return super().forward(x, x, x)


@odd("6.2")
class StrangeLayers(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.first, self.second = nn.Linear(dim, 7), nn.Linear(7, dim)

    def forward(self, query, key, value, mask=None):
        return self.second(self.first(query))


@odd("6.1")
def only_32_tokens(x, heads):
    output = view_and_transpose(x[:, :32], heads)
    lost = output.new_zeros(len(x), heads, len(x[0, 32:]), output.shape[-1])
    return torch.cat([output, lost], dim=2)


@odd("6.2")
class OnlyThirtyTwoKeys(Pieces):
    def forward(self, query, key, value, mask=None):
        mask = None if mask is None else mask[..., :32]
        return super().forward(query, key[:, :32], value[:, :32], mask)
