"""Respuestas de 12.2, tu intervención."""

import torch
import torch.nn.functional as F

from answers import odd, right, wrong
from course_lib.probes import changed_heads, hooked


def both(encoder, x, change, *chosen):
    """Los vectores finales, antes y después."""
    before, _ = encoder(x)
    with changed_heads(encoder, change, *chosen):
        after, _ = encoder(x)
    return before, after


def flipped(said):
    return said.flip(0)


def apart(pair):
    return (pair[1] - pair[0]).norm(dim=-1)


def columns(encoder, x, layer, cut, change=flipped):
    """A mano: antes de W_O, en esas columnas."""
    block = encoder.encoder_layers[layer].multi_head_attention

    def hook(_, inputs):
        said = inputs[0].clone()
        said[..., cut] = change(inputs[0])[..., cut]
        return (said,)

    with hooked((block.output_projection, hook)):
        return encoder(x)[0]


def many(encoder, x, layer, heads, cut):
    block = encoder.encoder_layers[layer].multi_head_attention
    places = torch.arange(x.shape[-1])
    chosen = torch.cat([places[cut(i, block.heads, block.dim_key)] for i in heads])
    return apart((encoder(x)[0], columns(encoder, x, layer, chosen)))


# --- Buenas ---------------------------------------------------------------------------------------


@right("12.2")
def with_the_helper(encoder, x, layer, heads):
    before, _ = encoder(x)
    with changed_heads(encoder, lambda said: said.flip(0), *((layer, head) for head in heads)):
        after, _ = encoder(x)
    return (after - before).norm(dim=-1)


@right("12.2")
def with_a_hook_by_hand(encoder, x, layer, heads):
    block = encoder.encoder_layers[layer].multi_head_attention

    def hook(module, inputs):
        said = inputs[0].unflatten(-1, (block.heads, block.dim_key)).clone()
        said[:, :, heads] = said[:, :, heads].flip(0)
        return said.flatten(-2)

    before = encoder(x)[0]
    handle = block.output_projection.register_forward_pre_hook(hook)
    try:
        after = encoder(x)[0]
    finally:
        handle.remove()
    return torch.sqrt(((before - after) ** 2).sum(-1))


@right("12.2")
def after_w_o_by_linearity(encoder, x, layer, heads):
    block, d_k = encoder.encoder_layers[layer].multi_head_attention, x.shape[-1] // encoder.h
    own, kept = torch.isin(torch.arange(x.shape[-1]) // d_k, torch.tensor(heads)), []

    def note(_, inputs, out):
        kept.append(inputs[0])
        return out + F.linear((inputs[0].flip(0) - inputs[0]) * own, block.output_projection.weight)

    with hooked((block.output_projection, note), after=True):
        after, _ = encoder(x)
    return torch.linalg.vector_norm(after - encoder(x)[0], dim=-1)


@right("12.2")
def layer_by_layer(encoder, x, layer, heads):
    before = after = x
    for i, each in enumerate(encoder.encoder_layers):
        pairs = [(0, head) for head in heads] if i == layer else []
        before, _ = each(before)
        with changed_heads(each, lambda said: said[[1, 0]], *pairs):
            after, _ = each(after)
    return (after - before).pow(2).sum(dim=-1).sqrt()


@right("12.2")
def one_inside_another(encoder, x, layer, heads):
    def through(left):
        if not left:
            return encoder(x)[0]
        with changed_heads(encoder, flipped, (layer, left[0])):
            return through(left[1:])

    return apart((through([]), through(heads)))


@right("12.2")
def keeps_what_the_other_says(encoder, x, layer, heads):
    chosen, kept = [(layer, head) for head in heads], []
    with changed_heads(encoder, lambda said: kept.append(said) or said, *chosen):
        before, _ = encoder(x)
    with changed_heads(encoder, lambda said: kept.pop(0).flip(0), *chosen):
        after, _ = encoder(x)
    return (after - before).norm(dim=-1)


# --- Con un error ---------------------------------------------------------------------------------


@wrong("12.2", "a-cero")
def silenced(encoder, x, layer, heads):
    return apart(both(encoder, x, torch.zeros_like, *((layer, head) for head in heads)))


@wrong("12.2", "a-su-media")
def averaged(encoder, x, layer, heads):
    def mean(said):
        return said.mean(dim=(0, 1)).expand_as(said)

    return apart(both(encoder, x, mean, *((layer, head) for head in heads)))


@wrong("12.2", "a-medias")
def averaged_over_sentences(encoder, x, layer, heads):
    return apart(both(encoder, x, lambda said: said.mean(0), *((layer, head) for head in heads)))


@wrong("12.2", "las-suma")
def added(encoder, x, layer, heads):
    return apart(both(encoder, x, lambda said: said + said.flip(0), *((layer, head) for head in heads)))


@wrong("12.2", "una-pisa-a-la-otra")
def one_over_the_other(encoder, x, layer, heads):
    def change(said):
        said[0] = said[1]
        said[1] = said[0]
        return said

    return apart(both(encoder, x, change, *((layer, head) for head in heads)))


@wrong("12.2", "los-tokens")
def turns_the_tokens(encoder, x, layer, heads):
    return apart(both(encoder, x, lambda said: said.flip(1), *((layer, head) for head in heads)))


@wrong("12.2", "nada")
def reads_outside(encoder, x, layer, heads):
    before, _ = encoder(x)
    with changed_heads(encoder, flipped, *((layer, head) for head in heads)):
        pass
    return (encoder(x)[0] - before).norm(dim=-1)


@wrong("12.2", "nada")
def both_inside(encoder, x, layer, heads):
    with changed_heads(encoder, flipped, *((layer, head) for head in heads)):
        return apart((encoder(x)[0], encoder(x)[0]))


@wrong("12.2", "todo")
def the_whole_layer(encoder, x, layer, heads):
    return apart(both(encoder, x, flipped, *((layer, i) for i in range(encoder.h))))


@wrong("12.2", "una-de-las-cabezas")
def only_the_first(encoder, x, layer, heads):
    return apart(both(encoder, x, flipped, (layer, heads[0])))


@wrong("12.2", "las-demás")
def the_others(encoder, x, layer, heads):
    return apart(both(encoder, x, flipped, *((layer, i) for i in range(encoder.h) if i not in heads)))


@wrong("12.2", "cabeza-desde-1")
def heads_from_one(encoder, x, layer, heads):
    return apart(both(encoder, x, flipped, *((layer, (head - 1) % encoder.h) for head in heads)))


@wrong("12.2", "capa-desde-1")
def layers_from_one(encoder, x, layer, heads):
    return apart(both(encoder, x, flipped, *(((layer - 1) % encoder.n, head) for head in heads)))


@wrong("12.2", "todas-las-capas")
def every_layer(encoder, x, layer, heads):
    every = [(i, head) for i in range(encoder.n) for head in heads]
    return apart(both(encoder, x, flipped, *every))


@wrong("12.2", "detrás-de-W_O")
def after_the_projection(encoder, x, layer, heads):
    block = encoder.encoder_layers[layer].multi_head_attention

    def hook(_, inputs, out):
        said = out.unflatten(-1, (block.heads, -1)).clone()
        said[:, :, heads] = said[:, :, heads].flip(0)
        return said.flatten(2)

    before, _ = encoder(x)
    with hooked((block.output_projection, hook), after=True):
        after, _ = encoder(x)
    return (after - before).norm(dim=-1)


@wrong("12.2", "empieza-en-cabeza·h")
def starts_at_head_times_heads(encoder, x, layer, heads):
    return many(encoder, x, layer, heads, lambda i, h, d: slice(i * h, i * h + d))


@wrong("12.2", "empieza-en-cabeza")
def starts_at_head(encoder, x, layer, heads):
    return many(encoder, x, layer, heads, lambda i, h, d: slice(i, i + d))


@wrong("12.2", "una-sola-columna")
def one_column(encoder, x, layer, heads):
    return many(encoder, x, layer, heads, lambda i, h, d: slice(i, i + 1))


@wrong("12.2", "columnas-salteadas")
def strided(encoder, x, layer, heads):
    return many(encoder, x, layer, heads, lambda i, h, d: slice(i, None, h))


@wrong("12.2", "columna-de-menos")
def one_column_less(encoder, x, layer, heads):
    return many(encoder, x, layer, heads, lambda i, h, d: slice(i * d, (i + 1) * d - 1))


@wrong("12.2", "sale-de-la-capa")
def what_leaves_the_layer(encoder, x, layer, heads):
    for each in encoder.encoder_layers[:layer]:
        x, _ = each(x)
    return apart(both(encoder.encoder_layers[layer], x, flipped, *((0, head) for head in heads)))


@wrong("12.2", "con-lo-que-entra")
def from_what_enters(encoder, x, layer, heads):
    _, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return (after - x).norm(dim=-1)


@wrong("12.2", "sin-restar")
def only_the_changed_ones(encoder, x, layer, heads):
    return both(encoder, x, flipped, *((layer, head) for head in heads))[1].norm(dim=-1)


@wrong("12.2", "cuadrado")
def squares(encoder, x, layer, heads):
    before, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return (after - before).square().sum(dim=-1)


@wrong("12.2", "resta-de-normas")
def difference_of_norms(encoder, x, layer, heads):
    before, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return after.norm(dim=-1) - before.norm(dim=-1)


@wrong("12.2", "coseno")
def cosine(encoder, x, layer, heads):
    before, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return F.cosine_similarity(before, after, dim=-1)


@wrong("12.2", "la-diferencia")
def vectors(encoder, x, layer, heads):
    before, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return after - before


@wrong("12.2", "un-solo-número")
def one_number(encoder, x, layer, heads):
    before, after = both(encoder, x, flipped, *((layer, head) for head in heads))
    return (after - before).norm()


@wrong("12.2", "una-sola-frase")
def one_sentence(encoder, x, layer, heads):
    return with_the_helper(encoder, x, layer, heads)[0]


@wrong("12.2", "sobran-ejes")
def one_axis_more(encoder, x, layer, heads):
    return with_the_helper(encoder, x, layer, heads)[None]


@wrong("12.2", "redondea")
def rounds(encoder, x, layer, heads):
    return (with_the_helper(encoder, x, layer, heads) * 100).round() / 100


@wrong("12.2", "a-cero", "todo")
def silences_the_layer(encoder, x, layer, heads):
    return apart(both(encoder, x, torch.zeros_like, *((layer, i) for i in range(encoder.h))))


@wrong("12.2", "a-cero", "cuadrado")
def silenced_and_squared(encoder, x, layer, heads):
    return silenced(encoder, x, layer, heads).square()


@wrong("12.2", "nada")  # nadie lo guarda, y se quita solo
def leaves_it_there(encoder, x, layer, heads):
    before, _ = encoder(x)
    changed_heads(encoder, flipped, *((layer, head) for head in heads)).__enter__()
    return (encoder(x)[0] - before).norm(dim=-1)


@wrong("12.2", "deja-el-hook")
def never_removed(encoder, x, layer, heads):
    block = encoder.encoder_layers[layer].multi_head_attention
    before, _ = encoder(x)
    block.output_projection.register_forward_pre_hook(lambda _, inputs: (inputs[0].flip(0),))
    return (encoder(x)[0] - before).norm(dim=-1)


@wrong("12.2", "cambia-la-entrada")
def changes_the_weights(encoder, x, layer, heads):
    before, _ = encoder(x)
    block = encoder.encoder_layers[layer].multi_head_attention
    for head in heads:
        block.output_projection.weight[:, head * block.dim_key : (head + 1) * block.dim_key] = 0.0
    return (encoder(x)[0] - before).norm(dim=-1)


@wrong("12.2", "none")
def no_return(encoder, x, layer, heads):
    with_the_helper(encoder, x, layer, heads)


# --- Raras ----------------------------------------------------------------------------------------


@odd("12.2")
def only_in_the_first_token(encoder, x, layer, heads):
    def change(said):
        said[:, 0] = said[:, 0].flip(0)
        return said

    return apart(both(encoder, x, change, *((layer, head) for head in heads)))


@odd("12.2")
def twice_the_other(encoder, x, layer, heads):
    return apart(both(encoder, x, lambda said: 2 * said.flip(0), *((layer, head) for head in heads)))


@odd("12.2")
def everything_is_nan(encoder, x, layer, heads):
    return with_the_helper(encoder, x, layer, heads) * 0 / 0


@odd("12.2")
def at_most_five_heads(encoder, x, layer, heads):
    return with_the_helper(encoder, x, layer, heads) * (1 if encoder.h < 6 else 2)
