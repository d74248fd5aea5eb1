"""Ecuaciones de einsum y multicabezas a mano, como las escribe la gente: 7.1 y 7.2."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import einsum

from answers import _add, odd, right, wrong
from course_lib import scaled_dot_product_attention

# --- 7.1: textos ----------------------------------------------------------------------------------

EQUATIONS = {
    "bqhd,bkhd->bhqk": (),
    "b q h d, b k h d -> b h q k": (),
    "nihd,njhd->nhij": (),
    "BLHD,BMHD->BHLM": (),
    "...qhd,...khd->...hqk": (),
    "abcd,aecd->acbe": (),
    "bhqd,bhkd->bhqk": ("como-si-traspuestas",),
    "bhid,bhjd->bhij": ("como-si-traspuestas",),
    "bhqd,bhkd->bhkq": ("como-si-traspuestas", "salida-traspuesta"),
    "bqhd,bkhd->bhkq": ("salida-traspuesta",),
    "bqhd,bkhd->bqkh": ("orden-de-la-salida",),
    "bqhd,bkhd->hbqk": ("orden-de-la-salida",),
    "bqhd,bkhd->bqhk": ("orden-de-la-salida",),
    "bqhd,bkhd->bhqkd": ("d_k-en-la-salida",),
    "bqhd,bkhd->bqkd": ("d_k-en-la-salida", "suma-de-más"),
    "bqhd,bkhd->bqk": ("suma-de-más",),
    "bqhd,bkhd->hqk": ("suma-de-más",),
    "bqhd,bkhd->bhq": ("suma-de-más",),
    "bqhd,bkhd->": ("suma-de-más",),
    "bqhd,bkhd": ("sin-flecha", "suma-de-más"),
    "aqhd,bkhd->ahqk": ("frases-cruzadas",),
    "bqhd,ckhd->bchqk": ("frases-cruzadas",),
    "bqhd,bkgd->bhqk": ("cabezas-cruzadas",),
    "bqhd,bkgd->bhgqk": ("cabezas-cruzadas",),
    "bqhd,bkhe->bhqk": ("d_k-con-dos-letras",),
    "bqhd,bkhe->bhqkde": ("d_k-con-dos-letras", "d_k-en-la-salida"),
    "bqhd,bqhd->bhq": ("tokens-con-una-letra",),
    "blhd,blhd->bhll": ("tokens-con-una-letra",),
    "blhd,blhd->blh": ("tokens-con-una-letra", "orden-de-la-salida"),
    "bqhd,bkdh->bhqk": ("letra-de-otro-eje",),
    "bqhd,bdhk->bhqk": ("letra-de-otro-eje",),
    "bqhd,ckgd->bhqk": ("frases-cruzadas", "cabezas-cruzadas"),
    "bqhd,bkge->bhkq": ("cabezas-cruzadas", "d_k-con-dos-letras", "salida-traspuesta"),
}
UNREADABLE = (
    "bqd,bkd->bqk",
    "bqhd->bhqk",
    "bqhd,bkhd->bhqx",
    "bqhd,bkhd=>bhqk",
    "bbhd,bkhd->bhqk",
    3,
)

for _text, _names in EQUATIONS.items():
    _add("7.1", _text, _names, "mala" if _names else "buena", _text)
for _text in UNREADABLE:
    _add("7.1", _text, (), "rara", str(_text))

# --- 7.2: buenas ----------------------------------------------------------------------------------


@right("7.2")
def with_einsum(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d_model = x.shape
    Q, K, V = [(x @ W).view(B, L, heads, d_model // heads) for W in (W_Q, W_K, W_V)]
    weights = torch.softmax(einsum("bqhd,bkhd->bhqk", Q, K) / math.sqrt(d_model // heads), dim=-1)
    return einsum("bhqk,bkhd->bqhd", weights, V).flatten(2) @ W_O


@right("7.2")
def with_transposes(x, wq, wk, wv, wo, h):
    split = lambda y: y.reshape(*y.shape[:2], h, -1).transpose(1, 2)  # noqa: E731
    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    out, weights = scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(x.shape) @ wo, weights


@right("7.2")
def with_loops(x, W_Q, W_K, W_V, W_O, heads):
    d_k = x.shape[-1] // heads
    sentences = []
    for sentence in x:
        outs = []
        for i in range(heads):
            columns = slice(i * d_k, (i + 1) * d_k)
            q, k, v = (
                sentence @ W_Q[:, columns],
                sentence @ W_K[:, columns],
                sentence @ W_V[:, columns],
            )
            outs.append(F.softmax(q @ k.T / d_k**0.5, dim=-1) @ v)
        sentences.append(torch.cat(outs, dim=1) @ W_O)
    return torch.stack(sentences)


@right("7.2")
def by_contributions(x, W_Q, W_K, W_V, W_O, heads):
    d_model = x.shape[-1]
    q, k, v = (einsum("bld,dhk->bhlk", x, W.view(d_model, heads, -1)) for W in (W_Q, W_K, W_V))
    mixed = F.scaled_dot_product_attention(q, k, v)
    return einsum("bhlk,hkd->bld", mixed, W_O.reshape(heads, -1, d_model))


@right("7.2")
def with_torch(x, W_Q, W_K, W_V, W_O, heads):
    return F.multi_head_attention_forward(
        x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), x.shape[-1], heads,
        torch.cat([W_Q.T, W_K.T, W_V.T]), None, None, None, False, 0.0, W_O.T, None,
    )[0].transpose(0, 1)  # fmt: skip


@right("7.2")
def linear_and_bmm(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d = x.shape
    q, k, v = (
        F.linear(x, W.T).view(B, L, heads, -1).permute(0, 2, 1, 3).reshape(B * heads, L, -1)
        for W in (W_Q, W_K, W_V)
    )
    scores = torch.bmm(q, k.permute(0, 2, 1)).div_(math.sqrt(d // heads))
    e = torch.exp(scores - scores.max(-1, keepdim=True)[0])
    out = torch.bmm(e / e.sum(-1, keepdim=True), v).view(B, heads, L, -1)
    return torch.matmul(out.permute(0, 2, 1, 3).contiguous().view(B, L, d), W_O)


class Callable:
    def __call__(self, *everything):
        return with_einsum(*everything)


for _name, _code in (("an_object", Callable()), ("a_partial", functools.partial(with_transposes))):
    _code.__name__ = _name
    right("7.2")(_code)
right("7.2")(lambda *args: with_loops(*args))

# --- 7.2: malas, a partir de una que se puede estropear por un sitio ------------------------------


def spoiled(  # cada paso se puede cambiar
    project=lambda x, W: x @ W,
    split=lambda y, h: y.view(*y.shape[:2], h, -1).transpose(1, 2),
    score=lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]),
    normalize=lambda s: s.softmax(-1),
    mix=lambda w, q, k, v: w @ v,
    join=lambda o: o.transpose(1, 2).flatten(2),
    last=lambda c, x, W: c @ W,
    matrices=lambda q, k, v, o: (q, k, v, o),
):
    def attention(x, W_Q, W_K, W_V, W_O, heads):
        q, k, v, o = matrices(W_Q, W_K, W_V, W_O)
        q, k, v = (split(project(x, W), heads) for W in (q, k, v))
        return last(join(mix(normalize(score(q, k)), q, k, v)), x, o)

    return attention


def straight(y, h):
    return y.reshape(y.shape[0], h, y.shape[1], -1)


def untransposed(y, h):
    return y.view(*y.shape[:2], h, -1)


def interleaved(y, h):
    return y.view(*y.shape[:2], -1, h).permute(0, 3, 1, 2)


def join_straight(o):
    return o.reshape(o.shape[0], o.shape[2], -1)


def root_of_model(q, k):
    return q @ k.mT / math.sqrt(q.shape[1] * q.shape[3])


def no_scale(q, k):
    return q @ k.mT


def turned(x, W):
    return x @ W.T


def no_output(c, x, W):
    return c


SPOILED = {
    "straight_view": ({"split": straight}, "view-sin-trasponer"),
    "straight_both_ways": (
        {"split": straight, "join": join_straight},
        "view-sin-trasponer",
        "junta-sin-trasponer",
    ),
    "no_transpose": ({"split": untransposed, "join": lambda o: o.flatten(2)}, "falta-trasponer"),
    "interleaved_heads": ({"split": interleaved}, "cabezas-intercaladas"),
    "sizes_swapped": (
        {
            "split": lambda y, h: y.view(*y.shape[:2], -1, h).transpose(1, 2),
            "score": lambda q, k: q @ k.mT / math.sqrt(q.shape[1]),
        },
        "h-y-d_k-cambiados",
    ),
    "one_head": ({"split": lambda y, h: y[:, None]}, "una-sola-cabeza"),
    "transpose_first": (
        {"split": lambda y, h: y.mT.reshape(y.shape[0], h, y.shape[1], -1)},
        "traspone-antes-de-repartir",
    ),
    "joined_straight": ({"join": join_straight}, "junta-sin-trasponer"),
    "joined_interleaving": (
        {"join": lambda o: o.permute(0, 2, 3, 1).flatten(2)},
        "junta-intercalando",
    ),
    "root_of_the_model": ({"score": root_of_model}, "escala-√d_model"),
    "without_scale": ({"score": no_scale}, "escala-ninguna"),
    "divided_by_d_k": ({"score": lambda q, k: q @ k.mT / q.shape[-1]}, "escala-d_k"),
    "always_eight": ({"score": lambda q, k: q @ k.mT / 8}, "escala-fija"),
    "keys_by_queries": (
        {"score": lambda q, k: k @ q.mT / math.sqrt(q.shape[-1])},
        "query-key-cambiadas",
    ),
    "over_the_queries": ({"normalize": lambda s: s.softmax(-2)}, "softmax-queries"),
    "over_the_heads": ({"normalize": lambda s: s.softmax(1)}, "softmax-eje-1"),
    "no_softmax": ({"normalize": lambda s: s}, "softmax-ninguna"),
    "naive_softmax": (
        {"normalize": lambda s: s.exp() / s.exp().sum(-1, keepdim=True)},
        "softmax-inestable",
    ),
    "causal": (
        {
            "normalize": lambda s: s.masked_fill(
                torch.ones(s.shape[-2:]).triu(1) > 0, -1e9
            ).softmax(-1)
        },
        "máscara-causal-siempre",
    ),
    "weights_by_keys": ({"mix": lambda w, q, k, v: w @ k}, "otra-proyección"),
    "turned_weights": ({"mix": lambda w, q, k, v: w.mT @ v}, "pesos-traspuestos"),
    "turned_matrices": ({"project": turned}, "matriz-traspuesta"),
    "turned_everything": (
        {"project": turned, "last": lambda c, x, W: c @ W.T},
        "matriz-traspuesta",
        "W_O-traspuesta",
    ),
    "turned_output": ({"last": lambda c, x, W: F.linear(c, W)}, "W_O-traspuesta"),
    "no_output_matrix": ({"last": no_output}, "sin-W_O"),
    "output_twice": ({"last": lambda c, x, W: c @ W @ W}, "W_O-dos-veces"),
    "residual": ({"last": lambda c, x, W: x + c @ W}, "suma-la-entrada"),
    "one_matrix": ({"matrices": lambda q, k, v, o: (q, q, q, o)}, "una-sola-proyección"),
    "queries_twice": ({"matrices": lambda q, k, v, o: (q, q, v, o)}, "otra-proyección"),
    "swapped_matrices": ({"matrices": lambda q, k, v, o: (k, q, v, o)}, "query-key-cambiadas"),
    "value_as_output": ({"matrices": lambda q, k, v, o: (q, k, v, v)}, "W_O-es-otra"),
    "nothing_projected": ({"project": lambda x, W: x}, "sin-proyectar"),
    "projected_twice": ({"project": lambda x, W: x @ W @ W}, "proyecta-dos-veces"),
    "straight_and_root_of_model": (
        {"split": straight, "score": root_of_model},
        "view-sin-trasponer",
        "escala-√d_model",
    ),
    "turned_and_no_scale": (
        {"project": turned, "score": no_scale},
        "matriz-traspuesta",
        "escala-ninguna",
    ),
    "no_output_and_joined_straight": (
        {"last": no_output, "join": join_straight},
        "sin-W_O",
        "junta-sin-trasponer",
    ),
    "queries_and_no_output": (
        {"normalize": lambda s: s.softmax(-2), "last": no_output},
        "softmax-queries",
        "sin-W_O",
    ),
    "interleaved_and_no_scale": (
        {"split": interleaved, "score": no_scale},
        "cabezas-intercaladas",
        "escala-ninguna",
    ),
    "no_transpose_and_turned": (
        {"split": untransposed, "join": lambda o: o.flatten(2), "project": turned},
        "falta-trasponer",
        "matriz-traspuesta",
    ),
    "one_matrix_and_root": (
        {"matrices": lambda q, k, v, o: (q, q, q, o), "score": root_of_model},
        "una-sola-proyección",
        "escala-√d_model",
    ),
    "three_at_once": (
        {"split": straight, "score": root_of_model, "last": no_output},
        "view-sin-trasponer",
        "escala-√d_model",
        "sin-W_O",
    ),
}
for _name, (_steps, *_names) in SPOILED.items():
    _add("7.2", spoiled(**_steps), tuple(_names), "mala", _name)


@wrong("7.2", "matriz-repartida-con-view")
def matrix_by_head_with_view(x, W_Q, W_K, W_V, W_O, heads):
    d = x.shape[-1]
    q, k, v = (einsum("bld,hdk->bhlk", x, W.view(heads, d, d // heads)) for W in (W_Q, W_K, W_V))
    out, _ = scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).flatten(2) @ W_O


def split_first(x, matrices, heads, block, width):
    """Parte x en trozos y proyecta cada uno con un bloque de la matriz: las tres, y la cuenta entera."""
    *three, W_O = matrices
    d_k = x.shape[-1] // heads
    pieces = x.view(*x.shape[:2], heads, d_k)
    q, k, v = (
        torch.stack(
            [pieces[:, :, i] @ W[block(i, d_k), block(i, d_k)] for i in range(heads)], dim=1
        )
        for W in three
    )
    weights = torch.softmax(q @ k.mT / math.sqrt(width), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ W_O


def own_block(i, d_k):
    return slice(i * d_k, (i + 1) * d_k)


def first_block(_, d_k):
    return slice(0, d_k)


@wrong("7.2", "reparte-antes")
def splits_x_and_each_head_has_its_block(x, W_Q, W_K, W_V, W_O, heads):
    return split_first(x, (W_Q, W_K, W_V, W_O), heads, own_block, x.shape[-1] // heads)


@wrong("7.2", "reparte-antes-y-comparte")
def splits_x_and_shares_the_block(x, W_Q, W_K, W_V, W_O, heads):
    return split_first(x, (W_Q, W_K, W_V, W_O), heads, first_block, x.shape[-1] // heads)


@wrong("7.2", "reparte-antes-y-comparte", "escala-√d_model")
def as_the_text_does(x, W_Q, W_K, W_V, W_O, heads):
    return split_first(x, (W_Q, W_K, W_V, W_O), heads, first_block, x.shape[-1])


@wrong("7.2", "reparte-antes", "escala-√d_model")
def splits_x_and_divides_by_the_wrong_root(x, W_Q, W_K, W_V, W_O, heads):
    return split_first(x, (W_Q, W_K, W_V, W_O), heads, own_block, x.shape[-1])


@wrong("7.2", "reparte-antes")
def splits_x_only_for_the_values(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d = x.shape
    d_k = d // heads
    q, k = ((x @ W).view(B, L, heads, d_k).transpose(1, 2) for W in (W_Q, W_K))
    v = torch.stack([x[..., c] @ W_V[c, c] for c in (own_block(i, d_k) for i in range(heads))], 1)
    weights = torch.softmax(q @ k.mT / math.sqrt(d_k), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ W_O


@wrong("7.2", "frases-juntas")
def one_long_row(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d = x.shape
    flat = x.reshape(1, B * L, d)
    return with_transposes(flat, W_Q, W_K, W_V, W_O, heads)[0].view(B, L, d)


@wrong("7.2", "lote-por-tokens")
def across_the_batch(x, W_Q, W_K, W_V, W_O, heads):
    L, B, d = x.shape
    q, k, v = ((x @ W).view(L, B * heads, d // heads).transpose(0, 1) for W in (W_Q, W_K, W_V))
    weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d // heads), dim=-1)
    return (weights @ v).transpose(0, 1).reshape(L, B, d) @ W_O


@wrong("7.2", "query-key-cambiadas")
def letters_of_the_output_swapped(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d = x.shape
    Q, K, V = [(x @ W).view(B, L, heads, d // heads) for W in (W_Q, W_K, W_V)]
    scores = einsum("bqhd,bkhd->bhkq", Q, K) / math.sqrt(d // heads)
    return einsum("bhqk,bkhd->bqhd", scores.softmax(-1), V).flatten(2) @ W_O


@odd("7.2")
def with_tanh(x, W_Q, W_K, W_V, W_O, heads):
    return spoiled(normalize=torch.tanh)(x, W_Q, W_K, W_V, W_O, heads)


@odd("7.2")
def relu_at_the_end(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x, W_Q, W_K, W_V, W_O, heads).relu()


@odd("7.2")
def last_sentence_leaks(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x + x[-1:] * 0.5, W_Q, W_K, W_V, W_O, heads)


@odd("7.2")
def inverse_matrix(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x, W_Q, torch.linalg.inv(W_K), W_V, W_O, heads)


@odd("7.2")
def wrong_shape(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x, W_Q, W_K, W_V, W_O, heads)[0]


# --- 7.2: la pareja, y frases largas --------------------------------------------------------------


def in_pair(x, W_Q, W_K, heads):
    """Los pesos de cada cabeza."""
    Q, K = [(x @ W).unflatten(-1, (heads, -1)) for W in (W_Q, W_K)]
    return (einsum("bqhd,bkhd->bhqk", Q, K) / math.sqrt(Q.shape[-1])).softmax(-1)


@right("7.2")
def paired_with_the_average(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x, W_Q, W_K, W_V, W_O, heads), in_pair(x, W_Q, W_K, heads).mean(1)


@wrong("7.2", "devuelve-pesos-traspuestos")
def paired_with_the_transpose(x, W_Q, W_K, W_V, W_O, heads):
    return with_einsum(x, W_Q, W_K, W_V, W_O, heads), in_pair(x, W_Q, W_K, heads).mT


@wrong("7.2", "orden-de-la-pareja")
def weights_first(x, W_Q, W_K, W_V, W_O, heads):
    return in_pair(x, W_Q, W_K, heads), with_einsum(x, W_Q, W_K, W_V, W_O, heads)


@odd("7.2")
def paired_with_anything(x, W_Q, W_K, W_V, W_O, heads):
    weights = in_pair(x, W_Q, W_K, heads)
    return with_einsum(x, W_Q, W_K, W_V, W_O, heads), torch.ones_like(weights) / x.shape[1]


@odd("7.2")
def only_32_tokens(x, W_Q, W_K, W_V, W_O, heads):
    output = with_einsum(x[:, :32], W_Q, W_K, W_V, W_O, heads)
    return torch.cat([output, torch.zeros_like(x[:, 32:])], dim=1)
