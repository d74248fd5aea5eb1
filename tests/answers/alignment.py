"""Respuestas de 10.3, leer un alineamiento en la atención cruzada."""

from collections import Counter

import numpy as np
import torch

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("11.1")
def mean_cut_argmax(weights):
    return weights.mean(dim=0)[:, :-1].argmax(dim=-1)


@right("11.1")
def cut_sum_max(weights):
    return torch.max(weights[:, :, :-1].sum(0), dim=1).indices


@right("11.1")
def hides_the_mark(weights):
    table = weights.mean(0)
    table[:, -1] = -1.0
    return table.argmax(1)


@right("11.1")
def in_a_list_of_ints(weights):
    mean = weights.mean(0)
    return [int(row[:-1].argmax()) for row in mean]


@right("11.1")
def with_loops(weights):
    h, m_D, m_E = weights.shape
    out = []
    for i in range(m_D):
        best, best_j = -1.0, None
        for j in range(m_E - 1):
            total = sum(weights[k, i, j].item() for k in range(h)) / h
            if total > best:
                best, best_j = total, j
        out.append(best_j)
    return torch.tensor(out)


@right("11.1")
def with_numpy(weights):
    return np.argmax(weights.numpy()[..., :-1].mean(axis=0), axis=-1)


@right("11.1")
def with_einsum(w):
    return torch.einsum("hij->ij", w)[..., : w.size(-1) - 1].sort(-1, descending=True).indices[:, 0]


@right("11.1")
def renormalises_the_mean(weights):
    table = weights.mean(0)[:, :-1]
    return (table / table.sum(-1, keepdim=True)).topk(1).indices.squeeze(1).to(torch.int32)


# --- Malas ----------------------------------------------------------------------------------------


@wrong("11.1", "cuenta-la-marca")
def counts_the_mark(weights):
    return weights.mean(0).argmax(-1)


@wrong("11.1", "quita-la-primera")
def drops_the_first(weights):
    return weights.mean(0)[:, 1:].argmax(-1)


@wrong("11.1", "quita-la-primera")
def drops_both(weights):
    return weights.mean(0)[:, 1:-1].argmax(-1)


@wrong("11.1", "quita-la-primera", "posición-desde-1")
def drops_both_and_moves(weights):
    return weights.mean(0)[:, 1:-1].argmax(-1) + 1


@wrong("11.1", "quita-la-última-fila")
def drops_a_row(weights):
    return weights.mean(0)[:-1, :-1].argmax(-1)


@wrong("11.1", "reparte-cada-cabeza")
def shares_again_each_head(weights):
    weights = weights[:, :, :-1]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights.mean(0).argmax(-1)


@wrong("11.1", "sin-juntar-cabezas")
def each_head(weights):
    return weights[..., :-1].argmax(-1)


@wrong("11.1", "una-sola-cabeza")
def first_head(weights):
    return weights[0, :, :-1].argmax(-1)


@wrong("11.1", "una-sola-cabeza")
def last_head(weights):
    return weights[-1][:, :-1].argmax(dim=1)


@wrong("11.1", "máximo-de-cabezas")
def max_over_heads(weights):
    return weights.max(0).values[:, :-1].argmax(-1)


@wrong("11.1", "mínimo-de-cabezas")
def min_over_heads(weights):
    return weights.amin(0)[:, :-1].argmax(-1)


@wrong("11.1", "mediana-de-cabezas")
def median_over_heads(weights):
    return weights.median(dim=0)[0][:, :-1].argmax(-1)


@wrong("11.1", "mediana-de-cabezas")
def numpy_median(weights):
    return torch.from_numpy(np.median(weights.numpy(), axis=0))[:, :-1].argmax(-1)


@wrong("11.1", "producto-de-cabezas")
def product_over_heads(weights):
    return weights.log().sum(0)[:, :-1].argmax(-1)


@wrong("11.1", "media-de-otro-eje")
def mean_over_rows(weights):
    return weights.mean(1)[:, :-1].argmax(-1)


@wrong("11.1", "voto")
def vote(weights):
    return weights[..., :-1].argmax(-1).mode(dim=0).values


@wrong("11.1", "voto")
def vote_with_counts(weights):
    places = weights[..., :-1].argmax(-1)
    out = []
    for column in places.T.tolist():
        counts = Counter(sorted(column))
        out.append(max(sorted(counts), key=counts.get))
    return torch.tensor(out)


@wrong("11.1", "media-de-posiciones")
def mean_of_places(weights):
    return weights[..., :-1].argmax(-1).float().mean(0).round().long()


@wrong("11.1", "media-de-posiciones")
def mean_of_places_truncated(weights):
    return weights[..., :-1].argmax(-1).sum(0) // len(weights)


@wrong("11.1", "fila-siguiente")
def next_row(weights):
    return weights.mean(0)[1:, :-1].argmax(-1)


@wrong("11.1", "fila-siguiente")
def next_row_rolled(weights):
    return weights.mean(0)[:, :-1].argmax(-1).roll(-1)


@wrong("11.1", "fila-anterior")
def previous_row(weights):
    table = weights.mean(0)[:, :-1]
    return torch.stack([table[max(i - 1, 0)].argmax() for i in range(len(table))])


@wrong("11.1", "por-columnas")
def by_columns(weights):
    return weights.mean(0)[:, :-1].argmax(0)


@wrong("11.1", "en-toda-la-tabla")
def whole_table(weights):
    return weights.mean(0)[:, :-1].argmax()


@wrong("11.1", "el-que-menos")
def least(weights):
    return weights.mean(0)[:, :-1].argmin(-1)


@wrong("11.1", "el-segundo")
def second(weights):
    return weights.mean(0)[:, :-1].topk(2).indices[:, 1]


@wrong("11.1", "posición-media")
def expected_place(weights):
    table = weights.mean(0)[:, :-1]
    table = table / table.sum(-1, keepdim=True)
    return (table @ torch.arange(table.shape[1]).float()).round().int()


@wrong("11.1", "devuelve-el-peso")
def returns_the_weight(weights):
    return weights.mean(0)[:, :-1].max(-1).values


@wrong("11.1", "devuelve-la-tabla")
def returns_the_table(weights):
    return weights.mean(0)[:, :-1]


@wrong("11.1", "en-diagonal")
def in_order(weights):
    return torch.arange(weights.shape[1])


@wrong("11.1", "posición-desde-1")
def from_one(weights):
    return 1 + weights.mean(0)[:, :-1].argmax(-1)


@wrong("11.1", "posición-menos-1")
def minus_one(weights):
    return weights.mean(0)[:, :-1].argmax(-1) - 1


@wrong("11.1", "devuelve-parejas")
def pairs(weights):
    best = weights.mean(0)[:, :-1].argmax(-1).tolist()
    return list(enumerate(best))


@wrong("11.1", "sobran-ejes")
def keeps_the_axis(weights):
    return weights.mean(0, keepdim=True)[..., :-1].argmax(-1)


@wrong("11.1", "sobran-ejes")
def keeps_the_last_axis(weights):
    return weights.mean(0)[:, :-1].argmax(-1, keepdim=True)


@wrong("11.1", "dtype")
def floats(weights):
    return weights.mean(0)[:, :-1].argmax(-1).float()


@wrong("11.1", "siempre-lo-mismo")
def always_zero(weights):
    return torch.tensor([0, 0, 0])


# --- Malas, con dos errores -----------------------------------------------------------------------


@wrong("11.1", "una-sola-cabeza", "cuenta-la-marca")
def first_head_and_mark(weights):
    return weights[0].argmax(-1)


@wrong("11.1", "sin-juntar-cabezas", "cuenta-la-marca")
def each_head_and_mark(weights):
    return weights.argmax(dim=-1)


@wrong("11.1", "máximo-de-cabezas", "cuenta-la-marca")
def max_and_mark(weights):
    return weights.max(dim=0)[0].argmax(dim=-1)


@wrong("11.1", "fila-siguiente", "cuenta-la-marca")
def next_and_mark(weights):
    return weights.mean(0)[1:].argmax(-1)


@wrong("11.1", "por-columnas", "cuenta-la-marca")
def columns_and_mark(weights):
    return weights.mean(0).argmax(0)


@wrong("11.1", "voto", "cuenta-la-marca")
def vote_and_mark(weights):
    return torch.mode(weights.argmax(2), 0)[0]


@wrong("11.1", "quita-la-primera", "una-sola-cabeza")
def first_dropped_one_head(weights):
    return weights[0, :, 1:].argmax(-1)


@wrong("11.1", "cuenta-la-marca", "quita-la-última-fila")
def cuts_the_other_side(weights):
    return weights.mean(0)[:-1].argmax(-1)


@wrong("11.1", "media-de-posiciones", "cuenta-la-marca")
def mean_of_places_and_mark(weights):
    return weights.argmax(-1).float().mean(0)


@wrong("11.1", "fila-siguiente", "posición-desde-1")
def drops_the_first_row(weights):
    return weights.mean(0)[1:, :-1].argmax(-1) + 1


@wrong("11.1", "cambia-la-entrada")
def spoils(weights):
    weights[..., -1] = 0
    return weights.mean(0).argmax(-1)


# --- Raras ----------------------------------------------------------------------------------------


@odd("11.1")
def relative_to_the_column(weights):
    table = weights.mean(0)[:, :-1]
    return (table / table.sum(0)).argmax(-1)


@odd("11.1")
def never_twice(weights):
    table, out = weights.mean(0)[:, :-1], []
    for row in table:
        for j in row.argsort(descending=True).tolist():
            if j not in out or len(out) >= len(row):
                out.append(j)
                break
    return torch.tensor(out)


@odd("11.1")
def most_certain_head(weights):
    weights = weights[..., :-1]
    sure = weights.amax(-1).mean(-1).argmax()
    return weights[sure].argmax(-1).flip(0)


@odd("11.1")
def helped_by_the_previous_row(weights):
    table = weights.mean(0)[:, :-1]
    return (table + 0.1 * table.roll(1, 0)).argmax(-1)


# --- Tamaños y tipos ------------------------------------------------------------------------------


@right("11.1")
def in_thirty_two_bits(weights):
    return weights.mean(0)[:, :-1].argmax(-1).int()


@odd("11.1")
def in_eight_bits(weights):
    return weights.mean(0)[:, :-1].argmax(-1).to(torch.uint8)


@odd("11.1")
def squeezed(weights):
    return weights.mean(0)[:, :-1].argmax(-1).squeeze()


@odd("11.1")
def sixty_rows(weights):
    table = weights.mean(0)[:, :-1]
    return torch.tensor([int(row.argmax()) if i < 60 else 0 for i, row in enumerate(table)])
