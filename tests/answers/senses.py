"""Respuestas de 16.1, una fotografía en trozos, y 16.2, cuándo se dijo cada palabra."""

import numpy as np
import torch
import torch.nn.functional as F

from answers import odd, right, wrong

# --- 16.1: buenas ---------------------------------------------------------------------------------


@right("16.1")
def two_unfolds(pictures, p):
    cut = pictures.unfold(2, p, p).unfold(3, p, p)
    return cut.permute(0, 2, 3, 1, 4, 5).reshape(len(pictures), -1, 3 * p * p)


@right("16.1")
def six_axes(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


@right("16.1")
def torch_unfold(pictures, p):
    return F.unfold(pictures, p, stride=p).transpose(1, 2)


@right("16.1")
def with_einsum(pictures, p):
    B, C, H, W = pictures.shape
    six = pictures.reshape(B, C, H // p, p, W // p, p)
    return torch.einsum("bcrykx->brkcyx", six).reshape(B, (H // p) * (W // p), C * p * p)


@right("16.1")
def square_by_square(pictures, p):
    H, W = pictures.shape[2:]
    found = [pictures[:, :, i : i + p, j : j + p].flatten(1) for i in range(0, H, p) for j in range(0, W, p)]
    return torch.stack(found, dim=1)


@right("16.1")
def with_chunks(pictures, p):
    rows = pictures.split(p, dim=2)
    return torch.stack([one.flatten(1) for row in rows for one in row.split(p, dim=3)], 1)


@right("16.1")
def numpy_axes(pictures, p):
    B, C, H, W = pictures.shape
    six = pictures.numpy().reshape(B, C, H // p, p, W // p, p)
    return torch.from_numpy(np.ascontiguousarray(six.transpose(0, 2, 4, 1, 3, 5)).reshape(B, -1, C * p * p))


# --- 16.1: malas ----------------------------------------------------------------------------------


@wrong("16.1", "sin-mover")
def at_once(pictures, p):
    B, C, H, W = pictures.shape
    return pictures.view(B, (H // p) * (W // p), C * p * p)


@wrong("16.1", "sin-trasponer")
def left_as_unfold_gives_it(pictures, p):
    return F.unfold(pictures, p, stride=p)


@wrong("16.1", "por-columnas")
def down_first(pictures, p):
    H, W = pictures.shape[2:]
    found = [pictures[:, :, i : i + p, j : j + p].flatten(1) for j in range(0, W, p) for i in range(0, H, p)]
    return torch.stack(found, dim=1)


@wrong("16.1", "colores-al-final")
def colours_last(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


@wrong("16.1", "trozo-tumbado")
def lying_down(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)


@wrong("16.1", "colores-en-medio")
def colours_between(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 2, 4, 3, 1, 5).flatten(3).flatten(1, 2)


@wrong("16.1", "por-columnas", "colores-al-final")
def down_first_and_colours_last(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 4, 2, 3, 5, 1).flatten(3).flatten(1, 2)


@wrong("16.1", "salteados")
def strided(pictures, p):
    six = pictures.unflatten(3, (p, -1)).unflatten(2, (p, -1))
    return six.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)


@wrong("16.1", "salteados")
def dealt(pictures, p):
    H, W = pictures.shape[2:]
    found = [pictures[:, :, i :: H // p, j :: W // p].flatten(1) for i in range(H // p) for j in range(W // p)]
    return torch.stack(found, dim=1)


@wrong("16.1", "trozos-por-color")
def one_for_each_colour(pictures, p):
    cut = pictures.unfold(2, p, p).unfold(3, p, p)
    return cut.flatten(4).flatten(1, 3)


@wrong("16.1", "sin-aplanar-la-rejilla")
def still_a_grid(pictures, p):
    return pictures.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).flatten(3)


@wrong("16.1", "sin-aplanar-el-trozo")
def still_squares(pictures, p):
    return pictures.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).flatten(1, 2)


@wrong("16.1", "sin-aplanar-nada")
def still_six_axes(pictures, p):
    return pictures.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5)


@wrong("16.1", "píxel-a-píxel")
def pixel_by_pixel(pictures, p):
    return pictures.flatten(2).transpose(1, 2)


@wrong("16.1", "franjas")
def strips(pictures, p):
    return torch.stack([row.flatten(1) for row in pictures.split(p, dim=2)], dim=1)


@wrong("16.1", "se-solapan")
def overlapping(pictures, p):
    return F.unfold(pictures, p).transpose(1, 2)


@wrong("16.1", "sin-color")
def grey(pictures, p):
    return F.unfold(pictures.mean(1, keepdim=True), p, stride=p).transpose(1, 2)


@wrong("16.1", "sin-color")
def only_red(pictures, p):
    return F.unfold(pictures[:, :1], p, stride=p).transpose(1, 2)


@wrong("16.1", "promedia-el-trozo")
def averaged(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.mean((3, 5)).flatten(2).transpose(1, 2)


@wrong("16.1", "sin-lote")
def the_first_picture(pictures, p):
    return F.unfold(pictures, p, stride=p).transpose(1, 2)[0]


@wrong("16.1", "junta-el-lote")
def all_in_a_row(pictures, p):
    return F.unfold(pictures, p, stride=p).transpose(1, 2).flatten(0, 1)


@wrong("16.1", "por-columnas", "colores-en-medio", "trozo-tumbado")
def everything_turned(pictures, p):
    six = pictures.unflatten(3, (-1, p)).unflatten(2, (-1, p))
    return six.permute(0, 4, 2, 5, 1, 3).flatten(3).flatten(1, 2)


# --- 16.1: raras ----------------------------------------------------------------------------------


@odd("16.1")
def halves_them(pictures, p):
    return F.unfold(pictures, p, stride=p).transpose(1, 2) / 2


@odd("16.1")
def upside_down(pictures, p):
    return F.unfold(pictures.flip(2), p, stride=p).transpose(1, 2)


# --- 16.2: buenas ---------------------------------------------------------------------------------


@right("16.2")
def stack_mean_argmax(weights, heads):
    return torch.stack([weights[layer, head] for layer, head in heads]).mean(dim=0).argmax(dim=-1) * 0.02


@right("16.2")
def fancy_indices(weights, heads):
    layers, own = zip(*heads)
    return weights[list(layers), list(own)].mean(0).argmax(-1) / 50


@right("16.2")
def adds_them_up(weights, heads):
    total = sum(weights[layer][head] for layer, head in heads)
    return 0.02 * total.max(dim=1).indices


@right("16.2")
def token_by_token(weights, heads):
    out = []
    for t in range(weights.shape[2]):
        row = sum(weights[layer, head, t] for layer, head in heads) / len(heads)
        out.append(0.02 * int(row.argmax()))
    return out


@right("16.2")
def with_numpy(weights, heads):
    w = weights.numpy()
    return np.mean([w[layer, head] for layer, head in heads], axis=0).argmax(axis=1) * 0.02


# --- 16.2: malas ----------------------------------------------------------------------------------


def chosen(weights, heads):
    return torch.stack([weights[layer, head] for layer, head in heads])


@wrong("16.2", "todas-las-cabezas")
def every_head(weights, heads):
    return weights.mean(dim=(0, 1)).argmax(-1) * 0.02


@wrong("16.2", "capas-enteras")
def whole_layers(weights, heads):
    return weights[[layer for layer, _ in heads]].mean((0, 1)).argmax(-1) * 0.02


@wrong("16.2", "una-sola-cabeza")
def the_first_head(weights, heads):
    layer, head = heads[0]
    return weights[layer, head].argmax(-1) * 0.02


@wrong("16.2", "una-sola-cabeza")
def the_last_of_the_loop(weights, heads):
    for layer, head in heads:
        table = weights[layer, head]
    return table.argmax(-1) * 0.02


@wrong("16.2", "la-última-capa")
def last_layer(weights, heads):
    return weights[-1].mean(0).argmax(-1) * 0.02


@wrong("16.2", "capa-y-cabeza-cambiadas")
def head_and_layer(weights, heads):
    return torch.stack([weights[head, layer] for layer, head in heads]).mean(0).argmax(-1) * 0.02


@wrong("16.2", "argmax-de-cabezas", "devuelve-la-tabla")
def which_head(weights, heads):
    return chosen(weights, heads).argmax(0) * 0.02


@wrong("16.2", "devuelve-la-tabla", "sin-segundos")
def the_table(weights, heads):
    return chosen(weights, heads).mean(0)


@wrong("16.2", "máximo-de-cabezas")
def strongest_head(weights, heads):
    return chosen(weights, heads).amax(0).argmax(-1) * 0.02


@wrong("16.2", "sin-juntar-cabezas")
def one_for_each_head(weights, heads):
    return chosen(weights, heads).argmax(-1) * 0.02


@wrong("16.2", "media-de-otro-eje")
def averages_the_tokens(weights, heads):
    return chosen(weights, heads).mean(1).argmax(-1) * 0.02


@wrong("16.2", "el-segundo")
def second_best(weights, heads):
    return chosen(weights, heads).mean(0).argsort(-1)[:, -2] * 0.02


@wrong("16.2", "mediana-de-cabezas")
def median_head(weights, heads):
    return chosen(weights, heads).median(0).values.argmax(-1) * 0.02


@wrong("16.2", "producto-de-cabezas")
def multiplied(weights, heads):
    return chosen(weights, heads).prod(0).argmax(-1) * 0.02


@wrong("16.2", "mínimo-de-cabezas")
def weakest_head(weights, heads):
    return chosen(weights, heads).amin(0).argmax(-1) * 0.02


@wrong("16.2", "en-diagonal")
def one_after_another(weights, heads):
    return torch.arange(weights.shape[2]) * 0.02


@wrong("16.2", "voto")
def votes(weights, heads):
    return chosen(weights, heads).argmax(-1).mode(0).values * 0.02


@wrong("16.2", "media-de-posiciones")
def averages_the_moments(weights, heads):
    return chosen(weights, heads).argmax(-1).float().mean(0) * 0.02


@wrong("16.2", "por-columnas")
def by_columns(weights, heads):
    return chosen(weights, heads).mean(0).argmax(0) * 0.02


@wrong("16.2", "por-columnas")
def transposed(weights, heads):
    return chosen(weights, heads).mean(0).T.argmax(-1) * 0.02


@wrong("16.2", "posición-media")
def expected_moment(weights, heads):
    table = chosen(weights, heads).mean(0)
    return table @ (torch.arange(table.shape[-1]) * 0.02)


@wrong("16.2", "devuelve-el-peso", "sin-segundos")
def gives_the_weight(weights, heads):
    return chosen(weights, heads).mean(0).amax(-1)


@wrong("16.2", "en-toda-la-tabla")
def one_for_all(weights, heads):
    return chosen(weights, heads).mean(0).argmax() * 0.02


@wrong("16.2", "el-que-menos")
def weakest(weights, heads):
    return chosen(weights, heads).mean(0).argmin(-1) * 0.02


@wrong("16.2", "sin-segundos")
def columns(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1)


@wrong("16.2", "centésimas")
def hundredths(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1) * 0.01


@wrong("16.2", "milisegundos")
def milliseconds(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1) * 20


@wrong("16.2", "entre-0.02")
def divides(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1) / 0.02


@wrong("16.2", "parte-del-sonido")
def share_of_the_sound(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1) / weights.shape[-1]


@wrong("16.2", "treinta-segundos")
def thirty_seconds(weights, heads):
    return chosen(weights, heads).mean(0).argmax(-1) * 30 / weights.shape[-1]


@wrong("16.2", "columna-desde-1")
def from_one(weights, heads):
    return (chosen(weights, heads).mean(0).argmax(-1) + 1) * 0.02


@wrong("16.2", "enteros")
def whole_seconds(weights, heads):
    return (chosen(weights, heads).mean(0).argmax(-1) * 0.02).int()


@wrong("16.2", "todas-las-cabezas", "sin-segundos")
def every_head_in_columns(weights, heads):
    return weights.mean((0, 1)).argmax(-1)


# --- 16.2: raras ----------------------------------------------------------------------------------


@odd("16.2")
def evenly_spread(weights, heads):
    T, L = weights.shape[-2:]
    return torch.linspace(0, (L - 1) * 0.02, T)


@odd("16.2")
def backwards(weights, heads):
    return stack_mean_argmax(weights.flip(-1), heads)
