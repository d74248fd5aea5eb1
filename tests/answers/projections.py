"""Respuestas de 2.4, proyectar a Q, K y V."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("2.4")
def three_lines(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    Q = x @ W_Q + b_Q
    K = x @ W_K + b_K
    V = x @ W_V + b_V
    return Q, K, V


@right("2.4")
def as_torch_keeps_them(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return F.linear(x, W_Q.T, b_Q), F.linear(x, W_K.T, b_K), F.linear(x, W_V.T, b_V)


@right("2.4")
def with_layers(x, *given):
    found = []
    for W, b in zip(given[:3], given[3:]):
        layer = nn.Linear(*W.shape)
        with torch.no_grad():
            layer.weight.copy_(W.T)
            layer.bias.copy_(b)
        found.append(layer(x))
    return found


@right("2.4")
def with_einsum(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    def project(W, b):
        return torch.einsum("bld,de->ble", x, W) + b

    return project(W_Q, b_Q), project(W_K, b_K), project(W_V, b_V)


@right("2.4")
def all_at_once(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    joined = x @ torch.cat([W_Q, W_K, W_V], dim=1) + torch.cat([b_Q, b_K, b_V])
    return joined.split([W_Q.shape[1], W_K.shape[1], W_V.shape[1]], dim=-1)


@right("2.4")
def with_a_one_behind(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    x = torch.cat([x, torch.ones_like(x[..., :1])], -1)
    pairs = (W_Q, b_Q), (W_K, b_K), (W_V, b_V)
    return tuple(x @ torch.cat([W, b[None]]) for W, b in pairs)


@right("2.4")
def token_by_token(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    rows = [[(t @ W_Q + b_Q, t @ W_K + b_K, t @ W_V + b_V) for t in sentence] for sentence in x]
    return tuple(torch.stack([torch.stack([r[i] for r in row]) for row in rows]) for i in range(3))


@right("2.4")
def with_numpy(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    x = x.numpy()
    return tuple(
        np.matmul(x, W.numpy()) + b.numpy() for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V))
    )


@right("2.4")
def starting_with_the_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return [torch.baddbmm(b.expand(len(x), 1, -1), x, W.expand(len(x), -1, -1))
            for W, b in zip((W_Q, W_K, W_V), (b_Q, b_K, b_V))]  # fmt: skip


# --- Malas ----------------------------------------------------------------------------------------


@wrong("2.4", "sin-sesgos")
def forgets_the_biases(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q, x @ W_K, x @ W_V


@wrong("2.4", "sin-sesgos")
def layers_without_bias(x, W_Q, W_K, W_V, *_):
    return tuple(F.linear(x, W.T) for W in (W_Q, W_K, W_V))


@wrong("2.4", "falta-un-sesgo")
def only_two_biases(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K + b_K, x @ W_V


@wrong("2.4", "falta-un-sesgo")
def keys_need_no_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K, x @ W_V + b_V


@wrong("2.4", "falta-un-sesgo")
def only_the_first_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K, x @ W_V


@wrong("2.4", "traspuestas")
def like_linear(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return F.linear(x, W_Q, b_Q), F.linear(x, W_K, b_K), F.linear(x, W_V, b_V)


@wrong("2.4", "traspuestas")
def turned(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q.T + b_Q, x @ W_K.T + b_K, x @ W_V.T + b_V


@wrong("2.4", "traspuestas", "sin-sesgos")
def turned_and_bare(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q.T, x @ W_K.T, x @ W_V.T


@wrong("2.4", "una-traspuesta")
def turns_the_keys(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K.mT + b_K, x @ W_V + b_V


@wrong("2.4", "una-traspuesta")
def turns_the_values(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K + b_K, torch.einsum("bld,ed->ble", x, W_V) + b_V


@wrong("2.4", "otra-matriz")
def copied_line(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    Q = x @ W_Q + b_Q
    K = x @ W_K + b_K
    V = x @ W_K + b_K
    return Q, K, V


@wrong("2.4", "otra-matriz")
def copied_matrix(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_Q + b_K, x @ W_V + b_V


@wrong("2.4", "otra-matriz")
def same_for_query_and_key(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    Q = K = x @ W_Q + b_Q
    return Q, K, x @ W_V + b_V


@wrong("2.4", "otra-matriz", "otra-matriz")
def query_and_key_swapped(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_K + b_Q, x @ W_Q + b_K, x @ W_V + b_V


@wrong("2.4", "otra-matriz", "falta-un-sesgo")
def copied_without_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_Q, x @ W_V + b_V


@wrong("2.4", "otro-sesgo")
def copied_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K + b_Q, x @ W_V + b_V


@wrong("2.4", "otro-sesgo")
def bias_of_the_keys(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_K, x @ W_K + b_K, x @ W_V + b_V


@wrong("2.4", "una-sola-matriz")
def one_projection(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    projected = x @ W_Q + b_Q
    return projected, projected, projected


@wrong("2.4", "una-sola-matriz")
def one_matrix_three_biases(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return tuple(x @ W_V + b for b in (b_Q, b_K, b_V))


@wrong("2.4", "una-sola-matriz", "sin-sesgos")
def one_bare_projection(x, W_Q, *_):
    return x @ W_Q, x @ W_Q, x @ W_Q


@wrong("2.4", "sin-proyectar")
def three_copies(x, *_):
    return x, x, x


@wrong("2.4", "sin-proyectar")
def only_biases(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x + b_Q, x + b_K, x + b_V


@wrong("2.4", "sin-su-matriz")
def values_are_x(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K + b_K, x


@wrong("2.4", "sin-su-matriz")
def query_is_x(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x, x @ W_K + b_K, x @ W_V + b_V


@wrong("2.4", "sesgo-antes")
def bias_first(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return (x + b_Q) @ W_Q, (x + b_K) @ W_K, (x + b_V) @ W_V


@wrong("2.4", "sesgo-restado")
def takes_the_bias_away(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q - b_Q, x @ W_K - b_K, x @ W_V - b_V


@wrong("2.4", "sesgo-dos-veces")
def bias_twice(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    pairs = (W_Q, b_Q), (W_K, b_K), (W_V, b_V)
    return tuple(F.linear(x, W.T, b) + b for W, b in pairs)


@wrong("2.4", "sesgo-multiplicado")
def times_the_bias(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q * b_Q, x @ W_K * b_K, x @ W_V * b_V


@wrong("2.4", "suma-la-entrada")
def residual(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x + x @ W_Q + b_Q, x + x @ W_K + b_K, x + x @ W_V + b_V


@wrong("2.4", "escalada")
def scaled_query(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return (x @ W_Q + b_Q) / math.sqrt(W_Q.shape[1]), x @ W_K + b_K, x @ W_V + b_V


@wrong("2.4", "escalada")
def everything_scaled(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    pairs = (W_Q, b_Q), (W_K, b_K), (W_V, b_V)
    return tuple((x @ W + b) / len(b) ** 0.5 for W, b in pairs)


@wrong("2.4", "softmax-de-más")
def softmax_of_each(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    pairs = (W_Q, b_Q), (W_K, b_K), (W_V, b_V)
    return tuple((x @ W + b).softmax(-1) for W, b in pairs)


@wrong("2.4", "normalizada")
def unit_vectors(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    Q, K = F.normalize(x @ W_Q + b_Q, dim=-1), F.normalize(x @ W_K + b_K, dim=-1)
    return Q, K, x @ W_V + b_V


@wrong("2.4", "otro-orden")
def values_first(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_V + b_V, x @ W_K + b_K, x @ W_Q + b_Q


@wrong("2.4", "otro-orden")
def keys_first(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_K + b_K, x @ W_Q + b_Q, x @ W_V + b_V


@wrong("2.4", "sin-sesgos", "otro-orden")
def bare_and_out_of_order(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_K, x @ W_Q, x @ W_V


# --- Raras ----------------------------------------------------------------------------------------


@odd("2.4")
def only_the_query(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q


@odd("2.4")
def the_scores(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    Q, K, V = three_lines(x, W_Q, W_K, W_V, b_Q, b_K, b_V)
    return Q @ K.mT, K, V


@odd("2.4")
def activated(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return tuple(y.relu() for y in three_lines(x, W_Q, W_K, W_V, b_Q, b_K, b_V))


@odd("2.4")
def mean_of_the_sentence(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return three_lines(x.mean(1, keepdim=True).expand_as(x), W_Q, W_K, W_V, b_Q, b_K, b_V)


@odd("2.4")
def rounds(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return tuple(y.round() for y in three_lines(x, W_Q, W_K, W_V, b_Q, b_K, b_V))


@odd("2.4")
def one_tensor(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return torch.cat(three_lines(x, W_Q, W_K, W_V, b_Q, b_K, b_V), -1)
