"""Respuestas de 11.1, cuánto mira una cabeza al anterior, y 11.3, el tamaño de un efecto."""


import numpy as np
import torch

from answers import odd, right, wrong

# --- 11.1: buenas ---------------------------------------------------------------------------------


@right("12.1")
def diagonal_mean(weights):
    return weights.diagonal(-1, -2, -1).mean(dim=-1)


@right("12.1")
def by_index(weights):
    L = weights.shape[-1]
    rows = torch.arange(1, L)
    return weights[:, rows, rows - 1].mean(1)


@right("12.1")
def loops(weights):
    out = []
    for head in weights:
        total = 0.0
        for i in range(1, len(head)):
            total += head[i, i - 1].item()
        out.append(total / (len(head) - 1))
    return out


@right("12.1")
def cut_and_trace(weights):
    h, L, _ = weights.shape
    return torch.stack([torch.trace(w[1:, :-1]) for w in weights]) / (L - 1)


@right("12.1")
def with_a_mask(w):
    previous = torch.diag(torch.ones(w.size(1) - 1), -1)
    return (w * previous).sum(dim=(1, 2)) / previous.sum()


@right("12.1")
def with_numpy(weights):
    return np.array([np.diag(head, -1).mean() for head in weights.numpy()])


@right("12.1")
def with_einsum(weights):
    return torch.einsum("hii->hi", weights[:, 1:, :-1]).mean(-1)


# --- 11.1: malas ----------------------------------------------------------------------------------


@wrong("12.1", "siguiente")
def next_one(weights):
    return weights.diagonal(1, -2, -1).mean(-1)


@wrong("12.1", "siguiente")
def transposed(weights):
    return weights.mT.diagonal(-1, -2, -1).mean(-1)


@wrong("12.1", "él-mismo")
def itself(weights):
    return torch.einsum("hii->hi", weights).mean(-1)


@wrong("12.1", "dos-antes")
def two_before(weights):
    return weights.diagonal(-2, 1, 2).mean(-1)


@wrong("12.1", "cuenta-la-primera-fila")
def python_minus_one(weights):
    L = weights.shape[-1]
    return sum(weights[:, i, i - 1] for i in range(L)) / L


@wrong("12.1", "cuenta-la-primera-fila")
def first_looks_at_itself(weights):
    L = weights.shape[-1]
    return torch.stack([weights[:, i, max(i - 1, 0)] for i in range(L)], -1).mean(-1)


@wrong("12.1", "todo-lo-anterior")
def everything_before(weights):
    return torch.tril(weights, -1).sum(-1)[:, 1:].mean(-1)


@wrong("12.1", "el-primero")
def the_first_column(weights):
    return weights[:, 1:, 0].mean(-1)


@wrong("12.1", "cuenta-victorias")
def how_often_it_wins(weights):
    best = weights.argmax(-1)[:, 1:]
    return (best == torch.arange(best.shape[1])).float().mean(-1)


@wrong("12.1", "el-mayor-de-la-fila")
def highest_of_the_row(weights):
    return weights[:, 1:].max(-1).values.mean(-1)


@wrong("12.1", "quita-filas")
def without_the_marks(weights):
    return weights.diagonal(-1, -2, -1)[:, 1:-1].mean(-1)


@wrong("12.1", "quita-filas")
def range_too_short(weights):
    L = weights.shape[-1]
    values = [weights[:, i, i - 1] for i in range(1, L - 1)]
    return sum(values) / len(values) if values else torch.full(weights.shape[:1], torch.nan)


@wrong("12.1", "una-sola-fila")
def only_the_last_row(weights):
    return weights[:, -1, -2]


@wrong("12.1", "toda-la-tabla")
def the_whole_table(weights):
    return weights.mean(dim=(-2, -1))


@wrong("12.1", "ejes-de-diagonal")
def diagonal_without_axes(weights):
    return weights.diagonal(-1).mean(dim=-1)


@wrong("12.1", "ejes-de-diagonal", "siguiente")
def next_diagonal_without_axes(weights):
    return torch.diagonal(weights, 1).mean(-1)


@wrong("12.1", "divide-por-otro-número")
def over_L_plus_one(weights):
    return weights.diagonal(-1, -2, -1).sum(-1) / (weights.shape[-1] + 1)


@wrong("12.1", "divide-por-otro-número")
def over_the_heads(weights):
    return weights.diagonal(-1, -2, -1).sum(-1) / len(weights)


@wrong("12.1", "cuenta-victorias", "suma")
def counts_the_wins(weights):
    L = weights.shape[-1]
    return (weights.argmax(-1) == torch.arange(L) - 1).sum(-1)


@wrong("12.1", "todo-lo-anterior", "suma")
def the_lower_half(weights):
    return weights.tril(-1).sum(dim=(1, 2))


@wrong("12.1", "softmax-de-más")
def softmax_again(weights):
    return weights.softmax(-1).diagonal(-1, -2, -1).mean(-1)


@wrong("12.1", "suma")
def only_the_sum(weights):
    return weights.diagonal(-1, -2, -1).sum(-1)


@wrong("12.1", "divide-por-L")
def over_L(weights):
    return weights.diagonal(-1, -2, -1).sum(-1) / weights.shape[-1]


@wrong("12.1", "divide-por-L²")
def masked_mean(weights):
    previous = torch.eye(weights.shape[-1]).roll(-1, 1).tril(-1)
    return (weights * previous).mean(dim=(1, 2))


@wrong("12.1", "máximo")
def the_highest(weights):
    return weights.diagonal(-1, -2, -1).amax(-1)


@wrong("12.1", "mínimo")
def the_lowest(weights):
    return weights.diagonal(-1, -2, -1).min(-1)[0]


@wrong("12.1", "mediana")
def the_median(weights):
    return weights.diagonal(-1, -2, -1).median(-1).values


@wrong("12.1", "sin-media")
def no_mean(weights):
    return weights.diagonal(-1, -2, -1)


@wrong("12.1", "media-de-otro-eje")
def mean_over_heads(weights):
    return weights.diagonal(-1, -2, -1).mean(0)


@wrong("12.1", "media-de-otro-eje")
def default_axes(weights):
    return weights.mean(0).diagonal(-1)


@wrong("12.1", "junta-las-cabezas")
def one_number(weights):
    return weights.diagonal(-1, -2, -1).mean()


@wrong("12.1", "junta-las-cabezas")
def the_best_score(weights):
    return weights.diagonal(-1, -2, -1).mean(-1).max()


@wrong("12.1", "una-sola-cabeza")
def first_head(weights):
    return weights[0].diagonal(-1).mean()


@wrong("12.1", "qué-cabeza")
def which_head(weights):
    return weights.diagonal(-1, -2, -1).mean(-1).argmax()


@wrong("12.1", "en-otro-orden")
def sorted_heads(weights):
    return sorted(weights.diagonal(-1, -2, -1).mean(-1).tolist(), reverse=True)


@wrong("12.1", "umbral")
def above_a_half(weights):
    return (weights.diagonal(-1, -2, -1).mean(-1) > 0.5).int()


@wrong("12.1", "redondea")
def two_decimals(weights):
    return [round(head.diagonal(-1).mean().item(), 2) for head in weights]


@wrong("12.1", "sobran-ejes")
def keeps_an_axis(weights):
    return weights.diagonal(-1, -2, -1).mean(-1, keepdim=True)


@wrong("12.1", "factor-de-más")
def percentage(weights):
    return 100 * weights.diagonal(-1, -2, -1).mean(-1)


@wrong("12.1", "siempre-lo-mismo")
def a_constant(weights):
    return torch.tensor(0.5)


@wrong("12.1", "siguiente", "suma")
def next_and_sum(weights):
    return sum(weights[:, i, i + 1] for i in range(weights.shape[1] - 1))


@wrong("12.1", "cuenta-la-primera-fila", "suma")
def first_row_and_sum(weights):
    out = torch.zeros(len(weights))
    for i in range(weights.shape[1]):
        out += weights[:, i, i - 1]
    return out


@wrong("12.1", "él-mismo", "junta-las-cabezas")
def trace_of_all(weights):
    return weights.diagonal(0, 1, 2).mean()


@wrong("12.1", "divide-por-L", "siguiente")
def next_over_L(weights):
    return weights.diagonal(1, 1, 2).sum(-1) / weights.size(1)


@wrong("12.1", "siguiente", "sin-media")
def next_no_mean(weights):
    return torch.stack([head.diagonal(1) for head in weights])


@wrong("12.1", "suma-de-más")
def one_more(weights):
    return 1 + weights.diagonal(-1, -2, -1).mean(-1)


@odd("12.1")
def first_three_rows(weights):
    return weights[:, 1:4].diagonal(0, -2, -1).square().mean(-1)


@odd("12.1")
def both_neighbours(weights):
    return (weights.diagonal(-1, -2, -1) + weights.diagonal(1, -2, -1)).mean(-1)


@odd("12.1")
def geometric(weights):
    return weights.diagonal(-1, -2, -1).log().mean(-1).exp()


# --- 11.3: buenas ---------------------------------------------------------------------------------


def effects(first, second):
    return ((first[:, 0] - second[:, 0]) - (first[:, 1] - second[:, 1])) / 2


# --- 11.3: malas ----------------------------------------------------------------------------------


# --- Tamaños y tipos ------------------------------------------------------------------------------


@right("12.1")
def previous_in_float64(weights):
    return weights.double().diagonal(-1, 1, 2).mean(-1)


@odd("12.1")
def previous_of_ten(weights):
    return weights[:, :10, :10].diagonal(-1, 1, 2).mean(-1)


@odd("12.1")
def previous_of_six_heads(weights):
    return torch.cat(
        [weights[:6].diagonal(-1, 1, 2).mean(-1), torch.zeros(max(len(weights) - 6, 0))]
    )


@odd("12.1")
def previous_in_sixteen_bits(weights):
    return weights.diagonal(-1, 1, 2).mean(-1).half()
