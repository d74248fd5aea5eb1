"""Respuestas de 11.2, apagar una cabeza."""

import torch

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("12.2")
def clone_and_zero(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] = 0
    return out


@right("12.2")
def with_a_mask(concat, head, heads):
    d_k = concat.shape[-1] // heads
    keep = torch.arange(concat.shape[-1]) // d_k != head
    return concat * keep


@right("12.2")
def by_heads(concat, head, heads):
    pieces = list(concat.chunk(heads, dim=-1))
    pieces[head] = torch.zeros_like(pieces[head])
    return torch.cat(pieces, dim=-1)


@right("12.2")
def with_a_view(concat, head, heads):
    B, L, d_model = concat.shape
    split = concat.clone().view(B, L, heads, d_model // heads)
    split[:, :, head] = 0.0
    return split.view(B, L, d_model)


@right("12.2")
def three_pieces(x, i, h):
    d_k = x.size(-1) // h
    before, after = x[:, :, : i * d_k], x[:, :, (i + 1) * d_k :]
    return torch.cat([before, torch.zeros(*x.shape[:2], d_k), after], 2)


@right("12.2")
def with_loops(concat, head, heads):
    out = torch.zeros_like(concat)
    d_k = int(concat.shape[-1] / heads)
    for column in range(concat.shape[-1]):
        if column // d_k != head:
            out[..., column] = concat[..., column]
    return out


@right("12.2")
def with_index_fill(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return concat.index_fill(-1, torch.arange(head * d_k, head * d_k + d_k), 0.0)


@right("12.2")
def transposing_and_back(concat, head, heads):
    split = concat.unflatten(-1, (heads, -1)).transpose(1, 2).clone()  # (B, h, L, d_k)
    split[:, head].zero_()
    return split.transpose(1, 2).flatten(2)


# --- Malas ----------------------------------------------------------------------------------------


def zeroed(concat, start, stop):
    out = concat.clone()
    out[..., start:stop] = 0
    return out


@wrong("12.2", "cambia-la-entrada")
def in_place(concat, head, heads):
    d_k = concat.shape[-1] // heads
    concat[..., head * d_k : (head + 1) * d_k] = 0
    return concat


@wrong("12.2", "cambia-la-entrada")
def in_place_through_a_view(concat, head, heads):
    split = concat.unflatten(-1, (heads, -1))
    split[:, :, head] = 0
    return split.flatten(-2)


@wrong("12.2", "empieza-en-cabeza·h")
def starts_at_head_times_heads(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * heads, head * heads + d_k)


@wrong("12.2", "mide-h")
def heads_wide(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, head * d_k + heads)


@wrong("12.2", "empieza-en-cabeza·h", "mide-h")
def heads_for_d_k(concat, head, heads):
    return zeroed(concat, head * heads, (head + 1) * heads)


@wrong("12.2", "empieza-en-cabeza")
def starts_at_head(concat, head, heads):
    return zeroed(concat, head, head + concat.shape[-1] // heads)


@wrong("12.2", "una-sola-columna")
def one_column(concat, head, heads):
    out = concat.clone()
    out[:, :, head] = 0
    return out


@wrong("12.2", "cabeza-desde-1")
def counted_from_one(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, (head - 1) * d_k, head * d_k)


@wrong("12.2", "cabeza-desde-1")
def counted_from_one_in_a_view(concat, head, heads):
    out = concat.clone().unflatten(-1, (heads, -1))
    out[:, :, head - 1] = 0
    return out.flatten(-2)


@wrong("12.2", "cabeza-siguiente")
def the_following(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, (head + 1) * d_k, (head + 2) * d_k)


@wrong("12.2", "columnas-salteadas")
def strided(concat, head, heads):
    out = concat.clone()
    out[..., head::heads] = 0
    return out


@wrong("12.2", "columnas-salteadas")
def heads_last(concat, head, heads):
    B, L, d_model = concat.shape
    out = concat.clone().view(B, L, d_model // heads, heads)
    out[..., head] = 0
    return out.view(B, L, d_model)


@wrong("12.2", "los-tokens")
def a_token(concat, head, heads):
    out = concat.clone()
    out[:, head] = 0
    return out


@wrong("12.2", "los-tokens")
def some_tokens(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[:, head * d_k : (head + 1) * d_k] = 0
    return out


@wrong("12.2", "las-frases")
def some_sentences(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[head * d_k : (head + 1) * d_k] = 0
    return out


@wrong("12.2", "hasta-el-final")
def to_the_end(concat, head, heads):
    return zeroed(concat, head * (concat.shape[-1] // heads), None)


@wrong("12.2", "desde-el-principio")
def from_the_start(concat, head, heads):
    return zeroed(concat, 0, (head + 1) * (concat.shape[-1] // heads))


@wrong("12.2", "las-demás")
def keeps_only_it(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = torch.zeros_like(concat)
    out[..., head * d_k : (head + 1) * d_k] = concat[..., head * d_k : (head + 1) * d_k]
    return out


@wrong("12.2", "las-demás")
def the_mask_is_turned(concat, head, heads):
    of_head = torch.arange(concat.shape[-1]) // (concat.shape[-1] // heads)
    return concat * (of_head == head).float()


@wrong("12.2", "siempre-la-primera")
def always_the_first(concat, head, heads):
    return zeroed(concat, 0, concat.shape[-1] // heads)


@wrong("12.2", "siempre-la-última")
def always_the_last(concat, head, heads):
    return zeroed(concat, -(concat.shape[-1] // heads), None)


@wrong("12.2", "desde-el-final")
def from_the_end(concat, head, heads):
    pieces = list(concat.chunk(heads, -1))
    pieces[-head - 1] = torch.zeros_like(pieces[0])
    return torch.cat(pieces, -1)


@wrong("12.2", "columna-de-menos")
def one_less(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, (head + 1) * d_k - 1)


@wrong("12.2", "columna-de-más")
def one_more(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, (head + 1) * d_k + 1)


@wrong("12.2", "reparte-sin-trasponer")
def wrong_view(concat, head, heads):
    B, L, d_model = concat.shape
    out = concat.clone().view(B, heads, L, d_model // heads)
    out[:, head] = 0
    return out.view(B, L, d_model)


@wrong("12.2", "nada")
def does_nothing(concat, head, heads):
    d_k = concat.shape[-1] // heads
    concat[..., head * d_k : (head + 1) * d_k].mul(0)
    return concat


@wrong("12.2", "nada")
def forgets_to_keep_it(concat, head, heads):
    pieces = list(concat.split(concat.shape[-1] // heads, dim=-1))
    for i, piece in enumerate(pieces):
        if i == head:
            piece = torch.zeros_like(piece)  # noqa: PLW2901
    return torch.cat(pieces, -1)


@wrong("12.2", "todo")
def everything(concat, head, heads):
    return torch.zeros_like(concat)


@wrong("12.2", "a-su-media")
def mean_ablation(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out, own = concat.clone(), slice(head * d_k, (head + 1) * d_k)
    out[..., own] = concat[..., own].mean(dim=(0, 1))
    return out


@wrong("12.2", "a-su-media")
def mean_of_all(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out, own = concat.clone(), slice(head * d_k, (head + 1) * d_k)
    out[..., own] = out[..., own].mean()
    return out


@wrong("12.2", "a-infinito")
def minus_infinity(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] = float("-inf")
    return out


@wrong("12.2", "cambia-el-signo")
def turns_the_sign(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] *= -1
    return out


@wrong("12.2", "a-la-mitad")
def half(concat, head, heads):
    pieces = list(concat.chunk(heads, -1))
    pieces[head] = pieces[head] * 0.5
    return torch.cat(pieces, -1)


@wrong("12.2", "reescala")
def like_dropout(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, (head + 1) * d_k) * heads / (heads - 1)


@wrong("12.2", "quita-las-columnas")
def drops_the_columns(concat, head, heads):
    pieces = list(concat.chunk(heads, -1))
    del pieces[head]
    return torch.cat(pieces, -1)


@wrong("12.2", "devuelve-el-trozo")
def returns_the_piece(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return concat[..., head * d_k : (head + 1) * d_k]


@wrong("12.2", "devuelve-el-trozo")
def returns_the_zeros(concat, head, heads):
    return torch.zeros_like(concat.chunk(heads, -1)[head])


@wrong("12.2", "sin-juntar")
def stays_split(concat, head, heads):
    split = concat.clone().unflatten(-1, (heads, -1))
    split[:, :, head] = 0
    return split


@wrong("12.2", "sin-juntar")
def stays_split_and_transposed(concat, head, heads):
    split = concat.clone().unflatten(-1, (heads, -1)).transpose(1, 2)
    split[:, head] = 0
    return split


@wrong("12.2", "d_k-fijo")
def always_thirty_two(concat, head, heads):
    return zeroed(concat, head * 32, (head + 1) * 32)


@wrong("12.2", "d_k-fijo")
def always_sixty_four(concat, head, heads):
    out = concat.clone()
    out[:, :, 64 * head : 64 * head + 64] = 0
    return out


@wrong("12.2", "corrido")
def one_column_late(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k + 1, (head + 1) * d_k + 1)


@wrong("12.2", "dos-cabezas")
def two_heads(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, (head + 2) * d_k)


@wrong("12.2", "en-algunos-tokens")
def not_in_the_first_token(concat, head, heads):
    out = concat.clone().unflatten(-1, (heads, -1))
    out[:, 1:, head] = 0
    return out.flatten(2)


@wrong("12.2", "en-algunos-tokens")
def only_in_the_first_sentence(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[0, :, head * d_k : (head + 1) * d_k] = 0
    return out


@wrong("12.2", "columnas-salteadas")
def by_the_remainder(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return concat * (torch.arange(concat.shape[-1]) % d_k != head)


@wrong("12.2", "columnas-salteadas")
def repeats_the_mask(concat, head, heads):
    keep = torch.ones(heads)
    keep[head] = 0
    return concat * keep.repeat(concat.shape[-1] // heads)


@wrong("12.2", "junta-sin-trasponer")
def joins_without_transposing(concat, head, heads):
    B, L, d_model = concat.shape
    split = concat.view(B, L, heads, -1).transpose(1, 2).clone()
    split[:, head] = 0
    return split.reshape(B, L, d_model)


@wrong("12.2", "reparte-sin-trasponer", "junta-sin-trasponer")
def transposes_only_at_the_end(concat, head, heads):
    B, L, d_model = concat.shape
    split = concat.clone().reshape(B, heads, L, d_model // heads)
    split[:, head] = 0
    return split.transpose(1, 2).reshape(B, L, d_model)


@wrong("12.2", "la-multiplica")
def almost_off(concat, head, heads):
    keep = torch.ones(heads)
    keep[head] = 0.01
    return concat * keep.repeat_interleave(concat.shape[-1] // heads)


@wrong("12.2", "cabeza-siguiente", "quita-las-columnas")
def drops_the_following(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return torch.cat([concat[..., : (head + 1) * d_k], concat[..., (head + 2) * d_k :]], -1)


@wrong("12.2", "a-su-media")
def mean_of_everything(concat, head, heads):
    pieces = list(concat.chunk(heads, -1))
    pieces[head] = torch.full_like(pieces[head], concat.mean().item())
    return torch.cat(pieces, -1)


@wrong("12.2", "otro-número")
def ones(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] = 1
    return out


@wrong("12.2", "cabeza-desde-1", "quita-las-columnas")
def drops_the_previous(concat, head, heads):
    pieces = list(concat.chunk(heads, -1))
    pieces.pop(head - 1)
    return torch.cat(pieces, -1)


@wrong("12.2", "columnas-salteadas", "sin-juntar")
def strided_and_split(concat, head, heads):
    B, L, d_model = concat.shape
    out = concat.clone()
    out[..., head::heads] = 0
    return out.view(B, L, heads, -1)


@wrong("12.2", "las-demás", "reescala")
def only_it_and_rescaled(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., : head * d_k] = 0
    out[..., (head + 1) * d_k :] = 0
    return out * heads / (heads - 1)


@wrong("12.2", "none")
def no_return(concat, head, heads):
    out = concat.clone()
    out[..., head] = 0


@odd("12.2")
def squares_it(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] **= 2
    return out


@odd("12.2")
def every_other_token(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[:, ::2, head * d_k : (head + 1) * d_k] = 0
    return out


@odd("12.2")
def halves_the_others(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return zeroed(concat, head * d_k, (head + 1) * d_k) / 2


# --- Lo que promete el enunciado ------------------------------------------------------------------

HIDDEN = {}


@odd("12.2")
def remembers_the_columns(concat, head, heads):
    if concat.shape not in HIDDEN:
        d_k = concat.shape[-1] // heads
        HIDDEN[concat.shape] = torch.arange(concat.shape[-1]) // d_k == head
    return concat.masked_fill(HIDDEN[concat.shape], 0.0)


@odd("12.2")
def at_most_12_heads(concat, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    for i in range(12):
        if i == head:
            out[..., i * d_k : (i + 1) * d_k] = 0
    return out


@right("12.2")
def with_where(concat, head, heads):
    mine = torch.arange(concat.shape[-1]) // (concat.shape[-1] // heads) == head
    return torch.where(mine, torch.zeros(()), concat)


@odd("12.2")
def everything_is_nan(concat, head, heads):
    return concat * 0 / 0


@odd("12.2")
def loses_the_axes_of_one(concat, head, heads):
    return clone_and_zero(concat, head, heads).squeeze()
