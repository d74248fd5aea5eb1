"""Respuestas de 12.2, intercambiar una cabeza."""

import torch

from answers import odd, right, wrong


def own(concat, head, heads):
    d_k = concat.shape[-1] // heads
    return slice(head * d_k, (head + 1) * d_k)


def swapped(concat, other, start, stop):
    out = concat.clone()
    out[..., start:stop] = other[..., start:stop]
    return out


def split(x, heads):
    return x.clone().unflatten(-1, (heads, -1))  # (B, L, h, d_k)


# --- Buenas ---------------------------------------------------------------------------------------


@right("12.2")
def clone_and_copy(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    out = concat.clone()
    out[..., head * d_k : (head + 1) * d_k] = other[..., head * d_k : (head + 1) * d_k]
    return out


@right("12.2")
def with_where(concat, other, head, heads):
    mine = torch.arange(concat.shape[-1]) // (concat.shape[-1] // heads) == head
    return torch.where(mine, other, concat)


@right("12.2")
def by_heads(concat, other, head, heads):
    pieces = list(concat.chunk(heads, dim=-1))
    pieces[head] = other.chunk(heads, dim=-1)[head]
    return torch.cat(pieces, dim=-1)


@right("12.2")
def with_a_view(concat, other, head, heads):
    B, L, d_model = concat.shape
    out = concat.clone().view(B, L, heads, d_model // heads)
    out[:, :, head] = other.view(B, L, heads, -1)[:, :, head]
    return out.view(B, L, d_model)


@right("12.2")
def three_pieces(x, y, i, h):
    d_k = x.size(-1) // h
    return torch.cat([x[:, :, : i * d_k], y[:, :, i * d_k : (i + 1) * d_k], x[:, :, (i + 1) * d_k :]], 2)


@right("12.2")
def with_loops(concat, other, head, heads):
    d_k = int(concat.shape[-1] / heads)
    columns = [(other if c // d_k == head else concat)[..., c] for c in range(concat.shape[-1])]
    return torch.stack(columns, dim=-1)


@right("12.2")
def with_a_mask(concat, other, head, heads):
    mine = (torch.arange(concat.shape[-1]) // (concat.shape[-1] // heads) == head).to(concat)
    return concat * (1 - mine) + other * mine


@right("12.2")
def transposing_and_back(concat, other, head, heads):
    out = split(concat, heads).transpose(1, 2)  # (B, h, L, d_k)
    out[:, head] = split(other, heads)[:, :, head]
    return out.transpose(1, 2).flatten(2)


# --- Malas: qué columnas --------------------------------------------------------------------------


@wrong("12.2", "cambia-la-entrada")
def in_place(concat, other, head, heads):
    mine = own(concat, head, heads)
    concat[..., mine] = other[..., mine]
    return concat


@wrong("12.2", "cambia-la-entrada")
def in_place_through_a_view(concat, other, head, heads):
    concat.unflatten(-1, (heads, -1))[:, :, head] = split(other, heads)[:, :, head]
    return concat


@wrong("12.2", "empieza-en-cabeza·h")
def starts_at_head_times_heads(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return swapped(concat, other, head * heads, head * heads + d_k)


@wrong("12.2", "mide-h")
def heads_wide(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return swapped(concat, other, head * d_k, head * d_k + heads)


@wrong("12.2", "empieza-en-cabeza·h", "mide-h")
def heads_for_d_k(concat, other, head, heads):
    return swapped(concat, other, head * heads, (head + 1) * heads)


@wrong("12.2", "empieza-en-cabeza")
def starts_at_head(concat, other, head, heads):
    return swapped(concat, other, head, head + concat.shape[-1] // heads)


@wrong("12.2", "una-sola-columna")
def one_column(concat, other, head, heads):
    return swapped(concat, other, head, head + 1)


@wrong("12.2", "cabeza-desde-1")
def counted_from_one(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return swapped(concat, other, (head - 1) * d_k, head * d_k)


@wrong("12.2", "cabeza-desde-1")
def counted_from_one_in_a_view(concat, other, head, heads):
    out = split(concat, heads)
    out[:, :, head - 1] = split(other, heads)[:, :, head - 1]
    return out.flatten(-2)


@wrong("12.2", "cabeza-siguiente")
def the_following(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return swapped(concat, other, (head + 1) * d_k, (head + 2) * d_k)


@wrong("12.2", "columnas-salteadas")
def strided(concat, other, head, heads):
    out = concat.clone()
    out[..., head::heads] = other[..., head::heads]
    return out


@wrong("12.2", "columnas-salteadas")
def by_the_remainder(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return torch.where(torch.arange(concat.shape[-1]) % d_k == head, other, concat)


@wrong("12.2", "los-tokens")
def a_token(concat, other, head, heads):
    out = concat.clone()
    out[:, head] = other[:, head] if head < concat.shape[1] else 0
    return out


@wrong("12.2", "los-tokens")
def some_tokens(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[:, mine] = other[:, mine]
    return out


@wrong("12.2", "las-frases")
def some_sentences(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[mine] = other[mine]
    return out


@wrong("12.2", "hasta-el-final")
def to_the_end(concat, other, head, heads):
    return swapped(concat, other, own(concat, head, heads).start, None)


@wrong("12.2", "desde-el-principio")
def from_the_start(concat, other, head, heads):
    return swapped(concat, other, 0, own(concat, head, heads).stop)


@wrong("12.2", "las-demás")
def all_but_it(concat, other, head, heads):
    return clone_and_copy(other, concat, head, heads)


@wrong("12.2", "siempre-la-primera")
def always_the_first(concat, other, head, heads):
    return swapped(concat, other, 0, concat.shape[-1] // heads)


@wrong("12.2", "siempre-la-última")
def always_the_last(concat, other, head, heads):
    return swapped(concat, other, -(concat.shape[-1] // heads), None)


@wrong("12.2", "desde-el-final")
def from_the_end(concat, other, head, heads):
    pieces = list(concat.chunk(heads, -1))
    pieces[-head - 1] = other.chunk(heads, -1)[-head - 1]
    return torch.cat(pieces, -1)


@wrong("12.2", "columna-de-menos")
def one_less(concat, other, head, heads):
    mine = own(concat, head, heads)
    return swapped(concat, other, mine.start, mine.stop - 1)


@wrong("12.2", "columna-de-más")
def one_more(concat, other, head, heads):
    mine = own(concat, head, heads)
    return swapped(concat, other, mine.start, mine.stop + 1)


@wrong("12.2", "corrido")
def one_column_late(concat, other, head, heads):
    mine = own(concat, head, heads)
    return swapped(concat, other, mine.start + 1, mine.stop + 1)


@wrong("12.2", "dos-cabezas")
def two_heads(concat, other, head, heads):
    d_k = concat.shape[-1] // heads
    return swapped(concat, other, head * d_k, (head + 2) * d_k)


@wrong("12.2", "d_k-fijo")
def always_sixty_four(concat, other, head, heads):
    return swapped(concat, other, 64 * head, 64 * head + 64)


@wrong("12.2", "reparte-sin-trasponer")
def wrong_view(concat, other, head, heads):
    B, L, d_model = concat.shape
    out = concat.clone().view(B, heads, L, d_model // heads)
    out[:, head] = other.view(B, heads, L, d_model // heads)[:, head]
    return out.view(B, L, d_model)


@wrong("12.2", "en-algunos-tokens")
def not_in_the_first_token(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[:, 1:, mine] = other[:, 1:, mine]
    return out


@wrong("12.2", "en-algunos-tokens")
def only_in_the_first_sentence(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[0, :, mine] = other[0, :, mine]
    return out


@wrong("12.2", "nada")
def forgets_to_keep_it(concat, other, head, heads):
    for i, piece in enumerate(concat.chunk(heads, dim=-1)):
        if i == head:
            piece = other.chunk(heads, dim=-1)[i]  # noqa: F841, PLW2901
    return concat.clone()


@wrong("12.2", "todo")
def everything(concat, other, head, heads):
    return other.clone()


# --- Malas: qué se pone, y qué se devuelve --------------------------------------------------------


@wrong("12.2", "a-cero")
def silenced(concat, other, head, heads):
    return swapped(concat, torch.zeros_like(other), own(concat, head, heads).start,
                   own(concat, head, heads).stop)  # fmt: skip


@wrong("12.2", "a-su-media")
def mean_ablation(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[..., mine] = concat[..., mine].mean(dim=(0, 1))
    return out


@wrong("12.2", "a-su-media")
def mean_of_the_other(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[..., mine] = other[..., mine].mean(dim=1, keepdim=True)
    return out


@wrong("12.2", "a-medias")
def half_and_half(concat, other, head, heads):
    return clone_and_copy(concat, (concat + other) / 2, head, heads)


@wrong("12.2", "las-suma")
def adds_them(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[..., mine] += other[..., mine]
    return out


@wrong("12.2", "quita-las-columnas")
def drops_the_columns(concat, other, head, heads):
    pieces = list(concat.chunk(heads, -1))
    del pieces[head]
    return torch.cat(pieces, -1)


@wrong("12.2", "devuelve-el-trozo")
def returns_the_piece(concat, other, head, heads):
    return other[..., own(concat, head, heads)]


@wrong("12.2", "sin-juntar")
def stays_split(concat, other, head, heads):
    return split(clone_and_copy(concat, other, head, heads), heads)


@wrong("12.2", "sin-juntar")
def stays_split_and_transposed(concat, other, head, heads):
    return split(clone_and_copy(concat, other, head, heads), heads).transpose(1, 2)


@wrong("12.2", "junta-sin-trasponer")
def joins_without_transposing(concat, other, head, heads):
    B, L, d_model = concat.shape
    return split(clone_and_copy(concat, other, head, heads), heads).transpose(1, 2).reshape(B, L, d_model)


@wrong("12.2", "cabeza-siguiente", "a-cero")
def silences_the_following(concat, other, head, heads):
    return the_following(concat, torch.zeros_like(other), head, heads)


@wrong("12.2", "columnas-salteadas", "sin-juntar")
def strided_and_split(concat, other, head, heads):
    return strided(concat, other, head, heads).unflatten(-1, (heads, -1))


@wrong("12.2", "none")
def no_return(concat, other, head, heads):
    swapped(concat, other, head, head + 1)


# --- Raras, y lo que promete el enunciado ---------------------------------------------------------


@odd("12.2")
def multiplies_them(concat, other, head, heads):
    return clone_and_copy(concat, concat * other, head, heads)


@odd("12.2")
def every_other_token(concat, other, head, heads):
    out, mine = concat.clone(), own(concat, head, heads)
    out[:, ::2, mine] = other[:, ::2, mine]
    return out


@odd("12.2")
def halves_the_others(concat, other, head, heads):
    return clone_and_copy(concat, other * 2, head, heads) / 2


HIDDEN = {}


@odd("12.2")
def remembers_the_columns(concat, other, head, heads):
    if concat.shape not in HIDDEN:
        HIDDEN[concat.shape] = torch.arange(concat.shape[-1]) // (concat.shape[-1] // heads) == head
    return torch.where(HIDDEN[concat.shape], other, concat)


@odd("12.2")
def at_most_12_heads(concat, other, head, heads):
    return clone_and_copy(concat, other, head, heads) if head < 12 else concat.clone()


@odd("12.2")
def everything_is_nan(concat, other, head, heads):
    return concat * 0 / 0


@odd("12.2")
def loses_the_axes_of_one(concat, other, head, heads):
    return clone_and_copy(concat, other, head, heads).squeeze()
