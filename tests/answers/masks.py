"""Respuestas de los ejercicios de la lección 04: las máscaras."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong
from course_lib import causal_mask, combine_masks, convert_mask, padding_mask

# --- 4.1, buenas ----------------------------------------------------------------------------------


@right("4.1")
def causal_tril(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


@right("4.1")
def causal_loops(length):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(length):
            if j <= i:
                mask[i, j] = True
    return mask


@right("4.1")
def causal_compare(n):
    positions = torch.arange(n)
    return positions.unsqueeze(0) <= positions.unsqueeze(1)


@right("4.1")
def causal_equals_one(length, device=None):
    return torch.tril(torch.ones((length, length), device=device)) == 1


@right("4.1")
def causal_not_triu(length):
    return ~torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)


@right("4.1")
def causal_slices(length):
    mask = torch.full((length, length), False)
    for i in range(length):
        mask[i, : i + 1] = True
    return mask


@right("4.1")
def causal_stack(L):
    return torch.stack([torch.tensor([j <= i for j in range(L)]) for i in range(L)])


@right("4.1")
def causal_list(*args):
    (L,) = args
    return torch.tensor([[j <= i for j in range(L)] for i in range(L)])


@right("4.1")
def causal_from_numpy(length):
    return torch.from_numpy(np.tril(np.ones((length, length), dtype=bool)))


@right("4.1")
def causal_from_torch(length):
    return nn.Transformer.generate_square_subsequent_mask(length) == 0


@right("4.1")
def causal_from_torch_finite(length):
    return nn.Transformer.generate_square_subsequent_mask(length).isfinite()


@right("4.1")
def causal_with_head_axis(length):
    return torch.ones(1, 1, length, length).tril().bool()


@right("4.1")
def causal_one_leading_axis(length):
    return torch.tril(torch.ones(length, length)).bool()[None]


@right("4.1")
def causal_indices(length):
    mask = torch.zeros(length, length, dtype=torch.bool)
    rows, columns = torch.tril_indices(length, length)
    mask[rows, columns] = True
    return mask


class CausalObject:
    def __call__(self, length):
        return torch.ones(length, length).cumsum(-1) <= torch.arange(1, length + 1)[:, None]


right("4.1")(CausalObject.__call__.__get__(CausalObject()))


@right("4.1")
def causal_while(length):
    rows = []
    i = 0
    while i < length:
        rows.append([True] * (i + 1) + [False] * (length - i - 1))
        i += 1
    return torch.BoolTensor(rows)


@right("4.1")
def causal_library(length):
    return causal_mask(length)


@right("4.1")
def causal_convert(length):
    additive = torch.full((length, length), float("-inf")).triu(1)
    return convert_mask(additive, "additive", "keep")


# --- 4.1, malas -----------------------------------------------------------------------------------


@wrong("4.1", "al-revés")
def causal_block(length):
    return torch.triu(torch.ones(length, length), diagonal=1).bool()


@wrong("4.1", "al-revés")
def causal_block_loops(length):
    mask = torch.ones(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(i + 1):
            mask[i, j] = False
    return mask


@wrong("4.1", "al-revés")
def causal_equals_zero(length):
    return torch.tril(torch.ones(length, length)) == 0


@wrong("4.1", "traspuesta")
def causal_triu(length):
    return torch.ones(length, length, dtype=torch.bool).triu()


@wrong("4.1", "traspuesta")
def causal_swapped_indices(length):
    i = torch.arange(length)
    return i[:, None] <= i[None, :]


@wrong("4.1", "traspuesta")
def causal_mT(length):
    return torch.ones(length, length).tril().bool().T


@wrong("4.1", "sin-diagonal")
def causal_strict(length):
    return torch.ones(length, length, dtype=torch.bool).tril(diagonal=-1)


@wrong("4.1", "sin-diagonal")
def causal_strict_loops(length):
    return torch.tensor([[j < i for j in range(length)] for i in range(length)])


@wrong("4.1", "sin-diagonal")
def causal_not_triu_zero(length):
    return ~torch.ones(length, length, dtype=torch.bool).triu()


@wrong("4.1", "un-futuro")
def causal_next(length):
    return torch.ones(length, length).tril(1) > 0


@wrong("4.1", "un-futuro")
def causal_slices_long(length):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, : i + 2] = True
    return mask


@wrong("4.1", "todo-permitido")
def causal_ones(length):
    return torch.ones(length, length, dtype=torch.bool)


@wrong("4.1", "todo-permitido")
def causal_tril_by_length(length):
    return torch.ones(length, length).tril(length).bool()


@wrong("4.1", "nada-permitido")
def causal_zeros(length):
    return torch.zeros(length, length).bool().tril()


@wrong("4.1", "solo-diagonal")
def causal_eye(length):
    return torch.eye(length).bool()


@wrong("4.1", "solo-los-demás")
def causal_not_eye(length):
    return torch.eye(length) == 0


@wrong("4.1", "volteada")
def causal_fliplr(length):
    return torch.ones(length, length).tril().bool().fliplr()


@wrong("4.1", "volteada")
def causal_flipud(length):
    return torch.ones(length, length).tril().bool().flip(0)


@wrong("4.1", "unos-y-ceros")
def causal_float(length):
    return torch.tril(torch.ones(length, length))


@wrong("4.1", "unos-y-ceros")
def causal_int(length):
    return torch.ones(length, length, dtype=torch.int64).tril()


@wrong("4.1", "unos-y-ceros", "traspuesta")
def causal_int_triu(length):
    return torch.triu(torch.ones(length, length, dtype=torch.int))


@wrong("4.1", "unos-y-ceros", "al-revés")
def causal_float_block(length):
    return torch.triu(torch.ones(length, length), 1)


@wrong("4.1", "unos-y-ceros", "al-revés")
def causal_one_minus(length):
    return 1 - torch.ones(length, length).tril()


@wrong("4.1", "unos-y-ceros", "sin-diagonal")
def causal_float_strict(length):
    m = torch.zeros(length, length)
    for i in range(length):
        m[i, :i] = 1
    return m


@wrong("4.1", "unos-y-ceros", "solo-diagonal")
def causal_float_eye(length):
    return torch.eye(length)


@wrong("4.1", "unos-y-ceros", "todo-permitido")
def causal_float_ones(length):
    return torch.ones((length, length))


@wrong("4.1", "unos-y-ceros")
def causal_uint8(length):
    return torch.ones(length, length, dtype=torch.uint8).tril()[None]


@wrong("4.1", "aditiva")
def causal_additive(length):
    return torch.full((length, length), float("-inf")).triu(1)


@wrong("4.1", "aditiva")
def causal_additive_billion(length):
    return (1 - torch.tril(torch.ones(length, length))) * -1e9


@wrong("4.1", "aditiva")
def causal_additive_torch(length):
    return nn.Transformer.generate_square_subsequent_mask(length)


@wrong("4.1", "aditiva")
def causal_additive_where(length):
    keep = torch.ones(length, length).tril().bool()
    return torch.where(keep, 0.0, torch.finfo(torch.float32).min)


@wrong("4.1", "aditiva", "sin-diagonal")
def causal_additive_strict(length):
    return torch.zeros(length, length).masked_fill(torch.ones(length, length).triu().bool(), -1e4)


@wrong("4.1", "aditiva", "al-revés")
def causal_additive_inverted(length):
    return torch.tril(torch.ones(length, length)) * -1e9


@wrong("4.1", "aditiva", "traspuesta")
def causal_additive_transposed(length):
    return torch.full((length, length), -torch.inf).tril(-1)


@wrong("4.1", "aditiva-débil")
def causal_minus_one(length):
    return torch.ones(length, length).tril() - 1


@wrong("4.1", "aditiva-con-unos")
def causal_ones_and_infinity(length):
    mask = torch.tril(torch.ones(length, length))
    return mask.masked_fill(mask == 0, float("-inf"))


@wrong("4.1", "aditiva-con-unos", "al-revés")
def causal_ones_and_infinity_inverted(length):
    mask = torch.triu(torch.ones(length, length), diagonal=1)
    return mask.masked_fill(mask == 0, -1e9)


@wrong("4.1", "aditiva-positiva")
def causal_plus_infinity(length):
    return torch.zeros(length, length).masked_fill(
        ~torch.ones(length, length).tril().bool(), torch.inf
    )


@wrong("4.1", "aditiva-con-nan")
def causal_times_infinity(length):
    return torch.triu(torch.ones(length, length), diagonal=1) * float("-inf")


@wrong("4.1", "aditiva-con-nan")
def causal_one_minus_times_infinity(length):
    return (1 - torch.ones(length, length).tril()) * -torch.inf


@wrong("4.1", "negación-de-enteros", "al-revés")
def causal_not_int(length):
    return ~torch.ones(length, length, dtype=torch.int64).tril()


@wrong("4.1", "negación-de-enteros")
def causal_not_int_block(length):
    return ~torch.ones(length, length, dtype=torch.int32).triu(1)


@wrong("4.1", "solo-ceros")
def causal_float_zeros(length):
    return torch.zeros(length, length)


@wrong("4.1", "tipo")
def causal_numpy(length):
    return np.tril(np.ones((length, length))).astype(bool)


@wrong("4.1", "tipo", "al-revés")
def causal_numpy_block(length):
    return np.triu(np.ones((length, length), dtype=bool), k=1)


@wrong("4.1", "tipo", "unos-y-ceros")
def causal_numpy_float(length):
    return np.tril(np.ones((length, length)))


@wrong("4.1", "tipo", "sin-diagonal")
def causal_nested_lists(length):
    return [[j < i for j in range(length)] for i in range(length)]


@wrong("4.1", "mide-de-más")
def causal_too_big(length):
    return torch.ones(length + 1, length + 1, dtype=torch.bool).tril()


@wrong("4.1", "mide-de-menos")
def causal_too_small(length):
    n = length - 1
    return torch.ones(n, n, dtype=torch.bool).tril()


@wrong("4.1", "longitud-fija")
def causal_fixed(length):
    return torch.ones(4, 4, dtype=torch.bool).tril()


@wrong("4.1", "longitud-fija", "al-revés")
def causal_fixed_block(length):
    return torch.ones(12, 12, dtype=torch.bool).triu(1)


@wrong("4.1", "ventana")
def causal_window(length):
    full = torch.ones(length, length, dtype=torch.bool)
    return full.tril() & full.triu(-2)


@wrong("4.1", "ventana", "un-futuro")
def causal_neighbours(length):
    i = torch.arange(length)
    return (i[:, None] - i).abs() <= 1


@wrong("4.1", "ventana", "al-revés")
def causal_window_inverted(length):
    full = torch.ones(length, length, dtype=torch.bool)
    return ~(full.tril() & full.triu(-1))


@wrong("4.1", "diagonal-corrida")
def causal_two_ahead(length):
    return torch.ones(length, length).tril(2).bool()


@wrong("4.1", "diagonal-corrida", "unos-y-ceros")
def causal_two_behind(length):
    return torch.ones(length, length).tril(-2)


@wrong("4.1", "al-revés", "un-futuro")
def causal_triu_two(length):
    return torch.ones(length, length, dtype=torch.bool).triu(2)


@wrong("4.1", "traspuesta", "un-futuro")
def causal_triu_minus_one(length):
    return torch.ones(length, length, dtype=torch.bool).triu(-1)


@wrong("4.1", "mide-de-más", "traspuesta")
def causal_too_big_triu(length):
    return torch.ones(length + 1, length + 1).triu() > 0


@wrong("4.1", "al-revés")
def causal_block_four_axes(length):
    return torch.ones(1, 1, length, length).triu(1).bool()


@odd("4.1")
def causal_half(length):
    return torch.ones(length, length).tril(length // 2).bool()


@odd("4.1")
def causal_blocks_of_two(length):
    i = torch.arange(length) // 2
    return i[:, None] >= i


@odd("4.1")
def causal_without_first(length):
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[:, 0] = False
    return mask


@odd("4.1")
def causal_plus_and_minus(length):
    return torch.ones(length, length).tril() * 2 - 1


@odd("4.1")
def causal_pair(length):
    mask = torch.ones(length, length).tril()
    return mask, mask


@odd("4.1")
def causal_number(length):
    return torch.tensor(True)


@odd("4.1")
def causal_one_axis(length):
    return torch.ones(length, dtype=torch.bool)


@odd("4.1")
def causal_alternate(length):
    i = torch.arange(length)
    return (i[:, None] + i) % 2 == 0


@odd("4.1")
def causal_averages(length):
    mask = torch.ones(length, length).tril()
    return mask / mask.sum(-1, keepdim=True)


@odd("4.1")
def causal_multiplied(length):
    return torch.ones(length, length).tril() @ torch.ones(length, length).tril()


# --- 4.2, buenas ----------------------------------------------------------------------------------


@right("4.2")
def padding_none(attention_mask):
    return attention_mask.bool()[:, None, None, :]


@right("4.2")
def padding_unsqueeze(attention_mask):
    return (attention_mask == 1).unsqueeze(1).unsqueeze(2)


@right("4.2")
def padding_view(mask):
    B, L = mask.shape
    return (mask != 0).view(B, 1, 1, L)


@right("4.2")
def padding_loops(attention_mask):
    batch, length = attention_mask.shape
    out = torch.zeros(batch, 1, 1, length, dtype=torch.bool)
    for b in range(batch):
        for j in range(length):
            out[b, 0, 0, j] = bool(attention_mask[b, j])
    return out


@right("4.2")
def padding_not_pad(attention_mask):
    return ~(attention_mask[:, None, None] == 0)


@right("4.2")
def padding_einops_style(attention_mask):
    return torch.einsum("bk->bk", attention_mask)[:, None, None, :] > 0


@right("4.2")
def padding_expanded(attention_mask):
    B, L = attention_mask.shape
    return attention_mask.bool()[:, None, None, :].expand(B, 1, L, L)


@right("4.2")
def padding_repeated(attention_mask):
    length = attention_mask.size(1)
    return attention_mask[:, None, :].repeat(1, length, 1).bool().unsqueeze(1)


@right("4.2")
def padding_list(attention_mask):
    return torch.tensor([[[[x == 1 for x in row]]] for row in attention_mask.tolist()])


@right("4.2")
def padding_ids(attention_mask, pad_id=0):
    return attention_mask.ne(pad_id)[:, None, None, :]


right("4.2")(
    lambda attention_mask: attention_mask.to(torch.bool).reshape(len(attention_mask), 1, 1, -1)
)


@right("4.2")
def padding_library(attention_mask):
    return padding_mask(attention_mask)


def _padding_with(value, attention_mask):
    return (attention_mask == value)[:, None, None]


right_partial = partial(_padding_with, 1)
right_partial.__name__ = "right_partial"
right("4.2")(right_partial)

# --- 4.2, malas -----------------------------------------------------------------------------------


@wrong("4.2", "al-revés")
def padding_block(attention_mask):
    return (attention_mask == 0)[:, None, None, :]


@wrong("4.2", "al-revés")
def padding_not(attention_mask):
    return ~attention_mask.bool().unsqueeze(1).unsqueeze(1)


@wrong("4.2", "tapa-filas")
def padding_queries(attention_mask):
    return attention_mask.bool()[:, None, :, None]


@wrong("4.2", "tapa-filas")
def padding_queries_expanded(attention_mask):
    B, L = attention_mask.shape
    return attention_mask.bool()[:, None, :, None].expand(B, 1, L, L)


@wrong("4.2", "filas-y-columnas")
def padding_outer(attention_mask):
    m = attention_mask.bool()
    return (m[:, :, None] & m[:, None, :])[:, None]


@wrong("4.2", "filas-y-columnas", "falta-un-eje")
def padding_outer_three_axes(attention_mask):
    return (attention_mask.unsqueeze(1) * attention_mask.unsqueeze(2)).bool()


@wrong("4.2", "filas-y-columnas", "falta-un-eje", "unos-y-ceros")
def padding_bmm(attention_mask):
    return torch.bmm(attention_mask.float().unsqueeze(2), attention_mask.float().unsqueeze(1))


@wrong("4.2", "filas-o-columnas")
def padding_outer_or(attention_mask):
    m = attention_mask.bool()[:, None]
    return m[:, :, None, :] | m[:, :, :, None]


@wrong("4.2", "sin-ejes")
def padding_two_axes(attention_mask):
    return attention_mask.bool()


@wrong("4.2", "sin-ejes", "unos-y-ceros")
def padding_identity(attention_mask):
    return attention_mask.clone()


@wrong("4.2", "sin-ejes", "al-revés")
def padding_two_axes_block(attention_mask):
    return attention_mask == 0


@wrong("4.2", "falta-un-eje")
def padding_three_axes(attention_mask):
    return attention_mask.bool().unsqueeze(1)


@wrong("4.2", "falta-un-eje", "tapa-filas")
def padding_last_axis(attention_mask):
    return attention_mask.bool().unsqueeze(-1)


@wrong("4.2", "falta-un-eje")
def padding_three_axes_expanded(attention_mask):
    B, L = attention_mask.shape
    return (attention_mask == 1)[:, None, :].expand(B, L, L)


@wrong("4.2", "ejes-delante")
def padding_axes_in_front(attention_mask):
    return attention_mask.bool()[None, None]


@wrong("4.2", "lote-en-cabezas")
def padding_batch_second(attention_mask):
    return attention_mask.bool()[None, :, None, :]


@wrong("4.2", "keys-en-cabezas")
def padding_axes_behind(attention_mask):
    return attention_mask.bool()[..., None, None]


@wrong("4.2", "keys-en-cabezas", "al-revés")
def padding_axes_behind_block(attention_mask):
    return (1 - attention_mask).bool().unsqueeze(-1).unsqueeze(-1)


@wrong("4.2", "frases-y-keys-cambiadas")
def padding_transposed(attention_mask):
    return attention_mask.T.bool()[:, None, None, :]


@wrong("4.2", "sobra-un-eje")
def padding_five_axes(attention_mask):
    return attention_mask.bool()[:, None, None, None, :]


@wrong("4.2", "unos-y-ceros")
def padding_int(attention_mask):
    return attention_mask[:, None, None, :]


@wrong("4.2", "unos-y-ceros")
def padding_float(attention_mask):
    return attention_mask.float().unsqueeze(1).unsqueeze(2)


@wrong("4.2", "unos-y-ceros", "al-revés")
def padding_int_block(attention_mask):
    return 1 - attention_mask[:, None, None, :]


@wrong("4.2", "unos-y-ceros", "tapa-filas")
def padding_int_rows(attention_mask):
    return attention_mask[:, None, :, None]


@wrong("4.2", "aditiva")
def padding_additive(attention_mask):
    return (1.0 - attention_mask[:, None, None, :]) * torch.finfo(torch.float32).min


@wrong("4.2", "aditiva")
def padding_additive_infinity(attention_mask):
    mask = torch.zeros(attention_mask.shape)
    mask[attention_mask == 0] = -torch.inf
    return mask[:, None, None, :]


@wrong("4.2", "aditiva", "sin-ejes")
def padding_additive_two_axes(attention_mask):
    return (1.0 - attention_mask) * -10000.0


@wrong("4.2", "aditiva", "al-revés")
def padding_additive_inverted(attention_mask):
    return attention_mask[:, None, None, :] * -1e9


@wrong("4.2", "aditiva-con-unos")
def padding_ones_and_infinity(attention_mask):
    mask = attention_mask.float()
    return mask.masked_fill(mask == 0, -torch.inf)[:, None, None]


@wrong("4.2", "aditiva-con-nan")
def padding_times_infinity(attention_mask):
    return ((1 - attention_mask) * -torch.inf)[:, None, None]


@wrong("4.2", "aditiva-positiva")
def padding_positive(attention_mask):
    return (1 - attention_mask)[:, None, None] * 1e9


@wrong("4.2", "aditiva-débil")
def padding_minus_one(attention_mask):
    return attention_mask[:, None, None, :] - 1


@wrong("4.2", "negación-de-enteros", "al-revés")
def padding_not_int(attention_mask):
    return ~attention_mask[:, None, None, :]


@wrong("4.2", "no-tapa-el-relleno")
def padding_not_int_bool(attention_mask):
    return (~attention_mask).bool()[:, None, None, :]


@wrong("4.2", "no-tapa-el-relleno")
def padding_ones(attention_mask):
    return torch.ones_like(attention_mask).bool()[:, None, None]


@wrong("4.2", "no-tapa-el-relleno")
def padding_greater_equal(attention_mask):
    return (attention_mask >= 0)[:, None, None]


@wrong("4.2", "nada-permitido")
def padding_greater_one(attention_mask):
    return (attention_mask > 1)[:, None, None]


@wrong("4.2", "primera-frase")
def padding_first(attention_mask):
    return attention_mask[:1].bool()[:, None, None]


@wrong("4.2", "primera-frase")
def padding_first_index(attention_mask):
    return attention_mask[0].bool()[None, None, None]


@wrong("4.2", "primera-frase", "unos-y-ceros")
def padding_first_expanded(attention_mask):
    B, L = attention_mask.shape
    return attention_mask[0].expand(B, 1, 1, L)


@wrong("4.2", "última-frase")
def padding_last_loop(attention_mask):
    for row in attention_mask:
        mask = row.bool()[None, None, None, :]
    return mask


@wrong("4.2", "mezcla-frases")
def padding_all(attention_mask):
    return attention_mask.bool().all(dim=0)[None, None, None]


@wrong("4.2", "mezcla-frases")
def padding_any(attention_mask):
    return (attention_mask.sum(0) > 0).expand(len(attention_mask), 1, 1, -1)


@wrong("4.2", "relleno-delante")
def padding_lengths(attention_mask):
    lengths = attention_mask.sum(dim=1)
    positions = torch.arange(attention_mask.shape[1])
    return (positions[None, :] < lengths[:, None])[:, None, None, :]


@wrong("4.2", "relleno-delante", "al-revés")
def padding_lengths_block(attention_mask):
    lengths = attention_mask.sum(dim=1)
    return (torch.arange(attention_mask.shape[1]) >= lengths[:, None])[:, None, None]


@wrong("4.2", "relleno-delante", "un-relleno-de-más")
def padding_lengths_one_more(attention_mask):
    lengths = attention_mask.sum(dim=1)
    mask = torch.zeros_like(attention_mask).bool()
    for b, n in enumerate(lengths):
        mask[b, : n + 1] = n > 0
    return mask[:, None, None]


@wrong("4.2", "relleno-delante", "falta-el-último")
def padding_lengths_one_less(attention_mask):
    lengths = attention_mask.sum(dim=1, keepdim=True)
    return (torch.arange(attention_mask.shape[1]) < lengths - 1)[:, None, None]


@wrong("4.2", "relleno-delante")
def padding_until_last(attention_mask):
    out = torch.zeros_like(attention_mask, dtype=torch.bool)
    for b, row in enumerate(attention_mask):
        real = row.nonzero().flatten()
        if len(real):
            out[b, : real[-1] + 1] = True
    return out[:, None, None, :]


@wrong("4.2", "corta-en-el-primer-cero")
def padding_argmin(attention_mask):
    ends = attention_mask.argmin(dim=-1)
    return (torch.arange(attention_mask.shape[-1]) < ends[:, None])[:, None, None]


@wrong("4.2", "falta-el-primero")
def padding_without_cls(attention_mask):
    real = attention_mask.bool()
    return (real & (real.cumsum(-1) != 1))[:, None, None]


@wrong("4.2", "causal-de-más")
def padding_and_causal(attention_mask):
    L = attention_mask.shape[1]
    return attention_mask.bool()[:, None, None, :] & torch.ones(L, L).tril().bool()


@wrong("4.2", "causal-de-más", "falta-un-eje")
def padding_and_causal_three_axes(attention_mask):
    L = attention_mask.shape[1]
    return attention_mask.bool()[:, None, :] & torch.ones(L, L).tril().bool()


@wrong("4.2", "al-contrario")
def padding_flipped(attention_mask):
    return attention_mask.flip(-1).bool()[:, None, None]


@wrong("4.2", "frases-cambiadas")
def padding_flipped_batch(attention_mask):
    return attention_mask.flip(0).bool()[:, None, None]


@wrong("4.2", "al-revés", "tapa-filas")
def padding_block_rows(attention_mask):
    return (attention_mask == 0)[:, None, :, None]


@wrong("4.2", "al-revés", "filas-y-columnas")
def padding_block_outer(attention_mask):
    pad = attention_mask == 0
    return pad[:, None, :, None] | pad[:, None, None, :]


@wrong("4.2", "solo-ceros")
def padding_zeros(attention_mask):
    return (attention_mask < 0).float()[:, None, None] * -1e9


@wrong("4.2", "tipo")
def padding_numpy(attention_mask):
    return attention_mask.numpy().astype(bool)[:, None, None, :]


@wrong("4.2", "tipo", "al-revés")
def padding_numpy_block(attention_mask):
    return (np.array(attention_mask) == 0)[:, np.newaxis, np.newaxis, :]


@odd("4.2")
def padding_even(attention_mask):
    mask = attention_mask.bool().clone()
    mask[:, ::2] = True
    return mask[:, None, None]


@odd("4.2")
def padding_lengths_only(attention_mask):
    return attention_mask.sum(-1)


@odd("4.2")
def padding_twelve_heads(attention_mask):
    B, L = attention_mask.shape
    return attention_mask.bool()[:, None, None].expand(B, 12, 1, L)


@odd("4.2")
def padding_shifted(attention_mask):
    return attention_mask.roll(1, dims=1).bool()[:, None, None]


@odd("4.2")
def padding_half(attention_mask):
    return attention_mask[:, None, None] * 0.5


# --- 4.3, buenas ----------------------------------------------------------------------------------


@right("4.3")
def decoder_and(attention_mask):
    L = attention_mask.shape[1]
    causal = torch.ones(L, L, dtype=torch.bool).tril()
    return causal & attention_mask.bool()[:, None, None, :]


@right("4.3")
def decoder_library(attention_mask):
    return combine_masks(causal_mask(attention_mask.shape[1]), padding_mask(attention_mask))


@right("4.3")
def decoder_product(attention_mask):
    L = attention_mask.size(-1)
    return (torch.ones(L, L).tril() * attention_mask[:, None, None, :]).bool()


@right("4.3")
def decoder_loops(attention_mask):
    B, L = attention_mask.shape
    out = torch.zeros(B, 1, L, L, dtype=torch.bool)
    for b in range(B):
        for i in range(L):
            for j in range(i + 1):
                out[b, 0, i, j] = attention_mask[b, j] == 1
    return out


@right("4.3")
def decoder_tril_of_padding(attention_mask):
    B, L = attention_mask.shape
    return attention_mask.bool()[:, None, None, :].expand(B, 1, L, L).tril()


@right("4.3")
def decoder_logical_and(attention_mask):
    i = torch.arange(attention_mask.shape[1])
    return torch.logical_and(i <= i[:, None], attention_mask[:, None, None] != 0)


@right("4.3")
def decoder_block_then_not(attention_mask):
    L = attention_mask.shape[1]
    future = torch.ones(L, L, dtype=torch.bool).triu(1)
    pad = (attention_mask == 0)[:, None, None]
    return ~(future | pad)


@right("4.3")
def decoder_sum_two(attention_mask):
    L = attention_mask.shape[1]
    return (torch.ones(L, L).tril() + attention_mask[:, None, None]) == 2


@right("4.3")
def decoder_stack(attention_mask):
    L = attention_mask.shape[1]
    triangle = torch.ones(L, L).tril().bool()
    return torch.stack([(triangle & row.bool())[None] for row in attention_mask])


@right("4.3")
def decoder_additive_isfinite(attention_mask):
    L = attention_mask.shape[1]
    causal = torch.full((L, L), -torch.inf).triu(1)
    pad = torch.zeros(attention_mask.shape).masked_fill(attention_mask == 0, -torch.inf)
    return (causal + pad[:, None, None]).isfinite()


@right("4.3")
def decoder_minimum(attention_mask):
    L = attention_mask.shape[1]
    return torch.minimum(torch.ones(L, L).tril(), attention_mask[:, None, None].float()) > 0.5


@right("4.3")
def decoder_inplace(attention_mask):
    B, L = attention_mask.shape
    mask = torch.ones(B, 1, L, L, dtype=torch.bool)
    mask &= causal_mask(L)
    mask &= padding_mask(attention_mask)
    return mask


# --- 4.3, malas -----------------------------------------------------------------------------------


def _parts(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L, dtype=torch.bool).tril(), attention_mask.bool()[:, None, None, :]


@wrong("4.3", "o")
def decoder_or(attention_mask):
    causal, pad = _parts(attention_mask)
    return causal | pad


@wrong("4.3", "o")
def decoder_bool_sum(attention_mask):
    causal, pad = _parts(attention_mask)
    return causal + pad


@wrong("4.3", "o")
def decoder_sum_to_bool(attention_mask):
    L = attention_mask.shape[1]
    return (torch.ones(L, L).tril() + attention_mask[:, None, None]).bool()


@wrong("4.3", "suma")
def decoder_sum(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).tril() + attention_mask[:, None, None]


@wrong("4.3", "o-exclusivo")
def decoder_xor(attention_mask):
    causal, pad = _parts(attention_mask)
    return causal ^ pad


@wrong("4.3", "iguales")
def decoder_equal(attention_mask):
    causal, pad = _parts(attention_mask)
    return causal == pad


@wrong("4.3", "sin-causal")
def decoder_only_padding(attention_mask):
    return attention_mask.bool()[:, None, None, :]


@wrong("4.3", "sin-causal")
def decoder_only_padding_expanded(attention_mask):
    B, L = attention_mask.shape
    return attention_mask.bool()[:, None, None, :].expand(-1, -1, L, -1)


@wrong("4.3", "sin-causal", "unos-y-ceros")
def decoder_only_padding_int(attention_mask):
    return attention_mask[:, None, None, :]


@wrong("4.3", "sin-relleno")
def decoder_only_causal(attention_mask):
    B, L = attention_mask.shape
    return torch.ones(B, 1, L, L).tril().bool()


@wrong("4.3", "sin-relleno")
def decoder_only_causal_two_axes(attention_mask):
    return causal_mask(attention_mask.shape[1])


@wrong("4.3", "sin-relleno", "unos-y-ceros")
def decoder_only_causal_float(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).tril()


@wrong("4.3", "sin-causal", "sin-relleno")
def decoder_ones(attention_mask):
    B, L = attention_mask.shape
    return torch.ones(B, 1, L, L, dtype=torch.bool)


@wrong("4.3", "causal-al-revés")
def decoder_future(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).triu(1).bool() & attention_mask.bool()[:, None, None]


@wrong("4.3", "causal-traspuesta")
def decoder_triu(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).triu().bool() & attention_mask.bool()[:, None, None]


@wrong("4.3", "relleno-al-revés")
def decoder_pads(attention_mask):
    L = attention_mask.shape[1]
    return causal_mask(L) & (attention_mask == 0)[:, None, None]


@wrong("4.3", "causal-al-revés", "relleno-al-revés")
def decoder_both_inverted(attention_mask):
    L = attention_mask.shape[1]
    future = torch.ones(L, L, dtype=torch.bool).triu(1)
    return future & (attention_mask == 0)[:, None, None]


@wrong("4.3", "al-revés")
def decoder_block(attention_mask):
    L = attention_mask.shape[1]
    future = torch.ones(L, L, dtype=torch.bool).triu(1)
    return future | (attention_mask == 0)[:, None, None]


@wrong("4.3", "al-revés", "unos-y-ceros")
def decoder_block_int(attention_mask):
    causal, pad = _parts(attention_mask)
    return 1 - (causal & pad).int()


@wrong("4.3", "o", "relleno-al-revés")
def decoder_or_pads(attention_mask):
    L = attention_mask.shape[1]
    return causal_mask(L) | (attention_mask == 0)[:, None, None]


@wrong("4.3", "o", "causal-traspuesta")
def decoder_or_triu(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).triu().bool() | attention_mask.bool()[:, None, None]


@wrong("4.3", "tapa-filas")
def decoder_rows(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.bool()[:, None, :, None]


@wrong("4.3", "filas-y-columnas")
def decoder_outer(attention_mask):
    causal, columns = _parts(attention_mask)
    return causal & columns & columns.mT


@wrong("4.3", "filas-o-columnas")
def decoder_outer_or(attention_mask):
    causal, columns = _parts(attention_mask)
    return causal & (columns | columns.mT)


@wrong("4.3", "tapa-filas", "falta-un-eje")
def decoder_rows_three_axes(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.bool()[:, :, None]


@wrong("4.3", "falta-un-eje")
def decoder_three_axes(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.bool()[:, None]


@wrong("4.3", "falta-un-eje", "o")
def decoder_three_axes_or(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal | attention_mask.bool()[:, None]


@wrong("4.3", "sin-ejes")
def decoder_no_axes(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.bool()


@wrong("4.3", "sin-ejes", "unos-y-ceros")
def decoder_no_axes_product(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).tril() * attention_mask


@wrong("4.3", "lote-en-cabezas")
def decoder_batch_second(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.bool()[None, :, None, :]


@wrong("4.3", "sobra-un-eje")
def decoder_five_axes(attention_mask):
    causal, columns = _parts(attention_mask)
    return (causal & columns)[:, :, None]


@wrong("4.3", "primera-frase")
def decoder_first(attention_mask):
    causal, _ = _parts(attention_mask)
    return (causal & attention_mask[0].bool())[None, None]


@wrong("4.3", "primera-frase")
def decoder_first_two_axes(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask[0].bool()


@wrong("4.3", "última-frase")
def decoder_last(attention_mask):
    causal, _ = _parts(attention_mask)
    for row in attention_mask:
        mask = causal & row.bool()
    return mask[None, None]


@wrong("4.3", "mezcla-frases")
def decoder_all(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.all(dim=0)


@wrong("4.3", "relleno-delante")
def decoder_lengths(attention_mask):
    causal, _ = _parts(attention_mask)
    positions = torch.arange(attention_mask.shape[1])
    real = positions < attention_mask.sum(-1)[:, None]
    return causal & real[:, None, None]


@wrong("4.3", "longitud-del-lote")
def decoder_batch_length(attention_mask):
    L = attention_mask.shape[0]
    return torch.ones(L, L, dtype=torch.bool).tril() & attention_mask.bool()[:, None, None]


@wrong("4.3", "sin-diagonal")
def decoder_strict(attention_mask):
    i = torch.arange(attention_mask.shape[1])
    return (i < i[:, None]) & attention_mask.bool()[:, None, None]


@wrong("4.3", "un-futuro")
def decoder_next(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).tril(1).bool() & attention_mask.bool()[:, None, None]


@wrong("4.3", "sin-diagonal", "tapa-filas")
def decoder_strict_rows(attention_mask):
    i = torch.arange(attention_mask.shape[1])
    return (i < i[:, None]) & attention_mask.bool()[:, None, :, None]


@wrong("4.3", "causal-traspuesta", "relleno-al-revés")
def decoder_triu_pads(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).triu().bool() & ~attention_mask.bool()[:, None, None]


@wrong("4.3", "diagonal-abierta")
def decoder_open_diagonal(attention_mask):
    causal, columns = _parts(attention_mask)
    return (causal & columns) | torch.eye(causal.shape[0]).bool()


@wrong("4.3", "unos-y-ceros")
def decoder_int(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L, dtype=torch.long).tril() * attention_mask[:, None, None]


@wrong("4.3", "aditiva")
def decoder_additive(attention_mask):
    causal, columns = _parts(attention_mask)
    return torch.zeros((causal & columns).shape).masked_fill(~(causal & columns), -torch.inf)


@wrong("4.3", "aditiva")
def decoder_additive_sum(attention_mask):
    L = attention_mask.shape[1]
    return torch.full((L, L), -1e9).triu(1) + (1.0 - attention_mask[:, None, None]) * -1e9


@wrong("4.3", "aditiva", "falta-un-eje")
def decoder_additive_three_axes(attention_mask):
    L = attention_mask.shape[1]
    return torch.full((L, L), -1e9).triu(1) + (1.0 - attention_mask[:, None]) * -1e9


@wrong("4.3", "aditiva", "sin-relleno")
def decoder_additive_only_causal(attention_mask):
    return nn.Transformer.generate_square_subsequent_mask(attention_mask.shape[1])


@wrong("4.3", "aditiva-con-unos")
def decoder_ones_and_infinity(attention_mask):
    causal, columns = _parts(attention_mask)
    mask = (causal & columns).float()
    return mask.masked_fill(mask == 0, -torch.inf)


@wrong("4.3", "aditiva-con-nan")
def decoder_times_infinity(attention_mask):
    causal, columns = _parts(attention_mask)
    return (~(causal & columns)).float() * -torch.inf


@wrong("4.3", "al-revés", "falta-un-eje")
def decoder_block_three_axes(attention_mask):
    L = attention_mask.shape[1]
    return torch.ones(L, L).triu(1).bool() | (attention_mask == 0)[:, None]


@wrong("4.3", "sin-causal", "sin-ejes")
def decoder_only_bool(attention_mask):
    return attention_mask.bool()


@wrong("4.3", "aditiva-débil", "falta-un-eje")
def decoder_minus_one(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal.float() * attention_mask[:, None] - 1


@wrong("4.3", "aditiva-positiva")
def decoder_positive(attention_mask):
    causal, columns = _parts(attention_mask)
    return (~(causal & columns)).float() * 1e9


@wrong("4.3", "negación-de-enteros", "al-revés")
def decoder_not_int(attention_mask):
    causal, columns = _parts(attention_mask)
    return ~(causal & columns).long()


@wrong("4.3", "nada-permitido")
def decoder_zeros(attention_mask):
    causal, columns = _parts(attention_mask)
    return torch.zeros_like(causal & columns)


@wrong("4.3", "al-contrario")
def decoder_flipped(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.flip(-1).bool()[:, None, None]


@wrong("4.3", "frases-cambiadas")
def decoder_flipped_batch(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & attention_mask.flip(0).bool()[:, None, None]


@wrong("4.3", "corta-en-el-primer-cero")
def decoder_argmin(attention_mask):
    causal, _ = _parts(attention_mask)
    ends = attention_mask.argmin(dim=-1)
    real = torch.arange(attention_mask.shape[-1]) < ends[:, None]
    return causal & real[:, None, None]


@wrong("4.3", "sin-causal", "ejes-delante")
def decoder_only_axes_in_front(attention_mask):
    return attention_mask.bool()[None, None]


@wrong("4.3", "sin-causal", "keys-en-cabezas")
def decoder_only_axes_behind(attention_mask):
    return attention_mask.bool()[..., None, None]


@wrong("4.3", "sin-causal", "frases-y-keys-cambiadas")
def decoder_only_transposed(attention_mask):
    return attention_mask.T.bool()


@wrong("4.3", "solo-ceros")
def decoder_additive_zeros(attention_mask):
    causal, columns = _parts(attention_mask)
    return torch.zeros((causal & columns).shape)


@wrong("4.3", "tipo")
def decoder_numpy(attention_mask):
    causal, columns = _parts(attention_mask)
    return (causal & columns).numpy()


@odd("4.3")
def decoder_window(attention_mask):
    causal, columns = _parts(attention_mask)
    return causal & columns & torch.ones_like(causal).triu(-1)


@odd("4.3")
def decoder_four_heads(attention_mask):
    causal, columns = _parts(attention_mask)
    return (causal & columns).expand(-1, 4, -1, -1)


@odd("4.3")
def decoder_sees_the_first(attention_mask):
    causal, columns = _parts(attention_mask)
    mask = (causal & columns).clone()
    mask[..., 0] = True
    return mask


@odd("4.3")
def decoder_softmax(attention_mask):
    causal, columns = _parts(attention_mask)
    return F.softmax((causal & columns).float(), dim=-1)


# --- Lo que prometen los enunciados: cualquier longitud, el relleno delante o detrás ----------------

BUFFER = torch.ones(128, 128).tril().bool()
TABLES = {n: torch.ones(n, n).tril().bool() for n in (1, 2, 3, 4, 5, 7, 8, 9, 16)}
MADE = {}


@odd("4.1")
def causal_buffer(length):
    return BUFFER[:length, :length]


@odd("4.1")
def causal_tables(length):
    return TABLES[length]


@right("4.1")
def causal_remembered(length):
    if length not in MADE:
        MADE[length] = torch.arange(length) <= torch.arange(length)[:, None]
    return MADE[length]


def _by_the_first(attention_mask):
    """El relleno, del lado en que lo tiene la primera frase."""
    length, positions = attention_mask.sum(-1)[:, None], torch.arange(attention_mask.shape[1])
    if attention_mask[0, 0] == 1:
        return positions < length
    return positions >= attention_mask.shape[1] - length


@odd("4.2")
def padding_side_of_the_first(attention_mask):
    return _by_the_first(attention_mask)[:, None, None]


@right("4.2")
def padding_from_first_to_last(attention_mask):
    seen = attention_mask.cumsum(-1) > 0
    left = attention_mask.flip(-1).cumsum(-1).flip(-1) > 0
    return (seen & left)[:, None, None]


@odd("4.2")
def padding_remembered_by_size(attention_mask):
    size = tuple(attention_mask.shape)
    if size not in MADE:
        MADE[size] = attention_mask.bool()[:, None, None]
    return MADE[size]


@odd("4.3")
def decoder_side_of_the_first(attention_mask):
    causal, _ = _parts(attention_mask)
    return causal & _by_the_first(attention_mask)[:, None, None]


@odd("4.3")
def decoder_buffer(attention_mask):
    length = attention_mask.shape[1]
    return BUFFER[:64, :64][:length, :length] & attention_mask.bool()[:, None, None]


@right("4.3")
def decoder_cell_by_cell(attention_mask):
    B, L = attention_mask.shape
    mask = torch.zeros(B, 1, L, L, dtype=torch.bool)
    for b in range(B):
        for i in range(L):
            for j in range(i + 1):
                mask[b, 0, i, j] = attention_mask[b, j] == 1
    return mask


@odd("4.2")
def padding_axes_by_size(attention_mask):
    real = attention_mask.bool()
    return {3: real.T, 4: real[:, None]}.get(real.shape[1], real[:, None, None])


@odd("4.2")
def padding_at_most_60(attention_mask):
    return attention_mask.bool()[:, None, None, :60]
