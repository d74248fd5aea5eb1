"""Respuestas de 15.1, la puntuación de inducción; 15.2, la lente de logits, y 15.3, parchear."""

import numpy as np
import torch
import torch.nn.functional as F

from answers import odd, right, wrong

# --- 15.1: buenas ---------------------------------------------------------------------------------


@right("15.1")
def far_diagonal(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[:, 1:].mean(dim=-1)


@right("15.1")
def rows_and_columns(weights):
    half = weights.shape[-1] // 2
    rows = torch.arange(half, 2 * half)
    return weights[:, rows, rows - half + 1].mean(dim=1)


@right("15.1")
def token_by_token(weights):
    L, out = weights.shape[-1], []
    for head in weights:
        out.append(sum(head[i, i - L // 2 + 1].item() for i in range(L // 2, L)) / (L // 2))
    return out


@right("15.1")
def lower_block(weights):
    half = weights.shape[-1] // 2
    block = weights[:, half:, 1 : half + 1]
    return torch.einsum("hii->hi", block).mean(-1)


@right("15.1")
def numpy_trace(weights):
    half = weights.shape[-1] // 2
    return np.array([np.trace(head[half:, 1 : half + 1]) / half for head in weights.numpy()])


# --- 15.1: malas ----------------------------------------------------------------------------------


@wrong("15.1", "fila-de-más")
def whole_diagonal(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1).mean(-1)


@wrong("15.1", "la-repetición")
def same_token(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(-half, 1, 2).mean(-1)


@wrong("15.1", "el-de-antes")
def token_before(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(-half - 1, 1, 2).mean(-1)


@wrong("15.1", "dos-después")
def two_after(weights):
    half = weights.shape[-1] // 2
    rows = torch.arange(half, 2 * half)
    return weights[:, rows, rows - half + 2].mean(-1)


@wrong("15.1", "al-anterior")
def previous_of_second_half(weights):
    half = weights.shape[-1] // 2
    rows = torch.arange(half, 2 * half)
    return weights[:, rows, rows - 1].mean(-1)


@wrong("15.1", "al-anterior")
def previous_token(weights):
    return weights.diagonal(-1, 1, 2).mean(-1)


@wrong("15.1", "él-mismo")
def main_diagonal(weights):
    return weights.diagonal(0, 1, 2).mean(-1)


@wrong("15.1", "filas-y-columnas")
def turned_around(weights):
    half = weights.shape[-1] // 2
    return weights.mT.diagonal(1 - half, -2, -1)[:, 1:].mean(-1)


@wrong("15.1", "quita-filas")
def without_the_first_repeat(weights):
    half = weights.shape[-1] // 2
    rows = torch.arange(half + 1, 2 * half)
    return weights[:, rows, rows - half + 1].mean(-1)


@wrong("15.1", "una-sola-fila")
def last_row(weights):
    return weights[:, -1, weights.shape[-1] // 2]


@wrong("15.1", "toda-la-primera-mitad")
def first_half(weights):
    half = weights.shape[-1] // 2
    return weights[:, half:, :half].sum(-1).mean(-1)


@wrong("15.1", "el-mayor-de-la-fila")
def strongest(weights):
    return weights[:, weights.shape[-1] // 2 :].amax(-1).mean(-1)


@wrong("15.1", "cuenta-victorias")
def how_often(weights):
    half = weights.shape[-1] // 2
    return (weights[:, half:].argmax(-1) == torch.arange(1, half + 1)).float().mean(-1)


@wrong("15.1", "ejes-de-diagonal")
def default_axes(weights):
    return weights.diagonal(1 - weights.shape[-1] // 2).mean(-1)


@wrong("15.1", "suma")
def added(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[:, 1:].sum(-1)


@wrong("15.1", "divide-por-L")
def over_all_tokens(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[:, 1:].sum(-1) / weights.shape[-1]


@wrong("15.1", "divide-por-otro-número")
def over_one_less(weights):
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[:, 1:].sum(-1) / (half - 1)


@wrong("15.1", "máximo")
def best_token(weights):
    return far_diagonal_values(weights).amax(-1)


@wrong("15.1", "sin-media")
def far_diagonal_values(weights):
    return weights.diagonal(1 - weights.shape[-1] // 2, -2, -1)[:, 1:]


@wrong("15.1", "media-de-otro-eje")
def mean_of_heads(weights):
    return far_diagonal_values(weights).mean(0)


@wrong("15.1", "junta-las-cabezas")
def one_number(weights):
    return far_diagonal_values(weights).mean()


@wrong("15.1", "qué-cabeza")
def which_head(weights):
    return far_diagonal_values(weights).mean(-1).argmax()


@wrong("15.1", "umbral")
def above_half(weights):
    return (far_diagonal_values(weights).mean(-1) > 0.5).int()


@wrong("15.1", "softmax-de-más")
def softmax_again(weights):
    return far_diagonal_values(weights.softmax(-1)).mean(-1)


@wrong("15.1", "redondea")
def two_decimals(weights):
    return [round(x, 2) for x in far_diagonal_values(weights).mean(-1).tolist()]


@wrong("15.1", "sobran-ejes")
def kept_axis(weights):
    return far_diagonal_values(weights).mean(-1, keepdim=True)


@wrong("15.1", "fila-de-más", "suma")
def whole_diagonal_added(weights):
    return weights.diagonal(1 - weights.shape[-1] // 2, -2, -1).sum(-1)


@odd("15.1")
def logarithm(weights):
    return far_diagonal_values(weights).log().mean(-1)


@odd("15.1")
def two_diagonals(weights):
    half = weights.shape[-1] // 2
    return (far_diagonal_values(weights) + weights.diagonal(-half, -2, -1)).mean(-1)


@odd("15.1")
def period_of_ten(weights):
    return weights[:, 5:10, 1:6].diagonal(0, -2, -1).square().mean(-1)


# --- 15.2: buenas ---------------------------------------------------------------------------------


def normed(x, eps=1e-5):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)


@right("15.2")
def by_steps(states, gain, table):
    x = states[:, -1]
    return (normed(x) * gain @ table.T).softmax(dim=-1)


@right("15.2")
def all_and_then_last(states, gain, table):
    return (normed(states) * gain @ table.T).softmax(-1)[:, -1]


@right("15.2")
def with_torch(states, gain, table):
    x = F.rms_norm(states[:, -1], gain.shape, gain, 1e-5)
    return F.softmax(F.linear(x, table), -1)


@right("15.2")
def state_by_state(states, gain, table):
    rows = []
    for x in states:
        y = x[-1] / (x[-1].pow(2).mean() + 1e-5) ** 0.5 * gain
        scores = (table @ y).exp()
        rows.append(scores / scores.sum())
    return torch.stack(rows)


@right("15.2")
def with_einsum(states, gain, table):
    return torch.einsum("nd,vd->nv", normed(states[:, -1]) * gain, table).softmax(1)


# --- 15.2: malas ----------------------------------------------------------------------------------


@wrong("15.2", "sin-normalizar", "sin-gain")
def straight_to_the_table(states, gain, table):
    return (states[:, -1] @ table.T).softmax(-1)


@wrong("15.2", "sin-normalizar")
def only_the_gain(states, gain, table):
    return (states[:, -1] * gain @ table.T).softmax(-1)


@wrong("15.2", "sin-gain")
def without_gain(states, gain, table):
    return (normed(states[:, -1]) @ table.T).softmax(-1)


@wrong("15.2", "gain-antes")
def gain_first(states, gain, table):
    return (normed(states[:, -1] * gain) @ table.T).softmax(-1)


@wrong("15.2", "norma-dos-veces")
def normed_twice(states, gain, table):
    return (normed(normed(states[:, -1]) * gain) * gain @ table.T).softmax(-1)


@wrong("15.2", "layernorm")
def layer_norm(states, gain, table):
    return (F.layer_norm(states[:, -1], gain.shape, gain) @ table.T).softmax(-1)


@wrong("15.2", "longitud")
def unit_length(states, gain, table):
    return (F.normalize(states[:, -1], dim=-1) * gain @ table.T).softmax(-1)


@wrong("15.2", "una-norma-para-todos")
def one_norm(states, gain, table):
    x = states[:, -1]
    return (x / (x.square().mean() + 1e-5).sqrt() * gain @ table.T).softmax(-1)


@wrong("15.2", "sin-eps")
def no_eps(states, gain, table):
    return (normed(states[:, -1], 0) * gain @ table.T).softmax(-1)


@wrong("15.2", "primera-posición")
def first_place(states, gain, table):
    return by_steps(states[:, :1], gain, table)


@wrong("15.2", "todas-las-posiciones")
def every_place(states, gain, table):
    return (normed(states) * gain @ table.T).softmax(-1)


@wrong("15.2", "media-de-posiciones")
def mean_place(states, gain, table):
    return by_steps(states.mean(1, keepdim=True), gain, table)


@wrong("15.2", "quita-la-entrada")
def without_embedding(states, gain, table):
    return by_steps(states[1:], gain, table)


@wrong("15.2", "quita-la-salida")
def without_output(states, gain, table):
    return by_steps(states[:-1], gain, table)


@wrong("15.2", "capa-corrida")
def shifted(states, gain, table):
    return by_steps(states.roll(1, 0), gain, table)


@wrong("15.2", "lo-que-añade-la-capa")
def what_is_added(states, gain, table):
    return by_steps(states.diff(dim=0), gain, table)


@wrong("15.2", "sin-softmax")
def logits(states, gain, table):
    return normed(states[:, -1]) * gain @ table.T


@wrong("15.2", "log-softmax")
def log_probabilities(states, gain, table):
    return logits(states, gain, table).log_softmax(-1)


@wrong("15.2", "softmax-de-otro-eje")
def softmax_of_states(states, gain, table):
    return logits(states, gain, table).softmax(0)


@wrong("15.2", "entre-√d")
def scaled(states, gain, table):
    return (logits(states, gain, table) / states.shape[-1] ** 0.5).softmax(-1)


@wrong("15.2", "sigmoide")
def sigmoid(states, gain, table):
    return logits(states, gain, table).sigmoid()


@wrong("15.2", "el-que-gana")
def winners(states, gain, table):
    return logits(states, gain, table).argmax(-1)


@wrong("15.2", "sobran-ejes")
def kept_place(states, gain, table):
    return by_steps(states, gain, table)[:, None]


@wrong("15.2", "redondea")
def rounded(states, gain, table):
    return (by_steps(states, gain, table) * 100).round() / 100


@wrong("15.2", "primera-posición", "sin-softmax")
def first_logits(states, gain, table):
    return logits(states[:, :1], gain, table)


@odd("15.2")
def squared(states, gain, table):
    scores = logits(states, gain, table).square()
    return scores / scores.sum(-1, keepdim=True)


@odd("15.2")
def hot(states, gain, table):
    return (3 * logits(states, gain, table)).softmax(-1)


@odd("15.2")
def mixed(states, gain, table):
    return by_steps(states + states.flip(1), gain, table)


# --- 15.3: buenas ---------------------------------------------------------------------------------


def through(layers, x):
    for each in layers:
        x = each(x)
    return x


@right("15.3")
def side_by_side(layers, clean, other, layer, place):
    for i, each in enumerate(layers):
        if i == layer:
            clean = clean.clone()
            clean[place] = other[place]
        clean, other = each(clean), each(other)
    return clean


@right("15.3")
def in_two_parts(layers, clean, other, layer, place):
    x, z = through(layers[:layer], clean), through(layers[:layer], other)
    x = torch.cat([x[:place], z[place : place + 1], x[place + 1 :]])
    return through(layers[layer:], x)


@right("15.3")
def with_a_mask(layers, clean, other, layer, place):
    here = torch.arange(len(clean))[:, None] == place
    x, z = through(layers[:layer], clean), through(layers[:layer], other)
    return through(layers[layer:], torch.where(here, z, x))


@right("15.3")
def with_all_the_states(layers, clean, other, layer, place):
    states = [other]
    for each in layers:
        states.append(each(states[-1]))
    x = clean
    for i in range(len(layers)):
        if i == layer:
            x = x.index_copy(0, torch.tensor([place]), states[i][[place]])
        x = layers[i](x)
    return x


# --- 15.3: malas ----------------------------------------------------------------------------------


def patch(layers, clean, other, when, place, put=lambda x, z: z):
    """Con lo que se pone, antes de qué capas y dónde."""
    x, z = clean, other
    for i, each in enumerate(layers):
        if i in when:
            x = x.clone()
            x[place] = put(x, z)[place]
        x, z = each(x), each(z)
    return x


@wrong("15.3", "sentido-contrario")
def the_other_way(layers, clean, other, layer, place):
    return side_by_side(layers, other, clean, layer, place)


@wrong("15.3", "capa-siguiente")
def after_the_layer(layers, clean, other, layer, place):
    x, z = clean, other
    for i, each in enumerate(layers):
        x, z = each(x), each(z)
        if i == layer:
            x = x.clone()
            x[place] = z[place]
    return x


@wrong("15.3", "capa-anterior")
def one_before(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer - 1}, place)


@wrong("15.3", "desde-esa-capa")
def from_there_on(layers, clean, other, layer, place):
    return patch(layers, clean, other, range(layer, len(layers)), place)


@wrong("15.3", "en-la-entrada")
def at_the_entrance(layers, clean, other, layer, place):
    return patch(layers, clean, other, {0}, place)


@wrong("15.3", "todas-las-posiciones")
def every_position(layers, clean, other, layer, place):
    return through(layers, other)


@wrong("15.3", "posición-anterior")
def position_before(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place - 1)


@wrong("15.3", "desde-esa-posición")
def to_the_end(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, slice(place, None))


@wrong("15.3", "la-entrada-de-la-otra")
def raw_entry(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place, lambda x, z: other)


@wrong("15.3", "la-salida-de-la-otra")
def its_output(layers, clean, other, layer, place):
    end = through(layers, other)
    return patch(layers, clean, other, {layer}, place, lambda x, z: end)


@wrong("15.3", "estado-siguiente")
def its_next_state(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place, lambda x, z: layers[layer](z))


@wrong("15.3", "pone-ceros")
def zeros(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place, lambda x, z: torch.zeros_like(x))


@wrong("15.3", "suma-el-de-la-otra")
def added_state(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place, torch.add)


@wrong("15.3", "se-para-ahí")
def stops_there(layers, clean, other, layer, place):
    x, z = through(layers[:layer], clean).clone(), through(layers[:layer], other)
    x[place] = z[place]
    return x


@wrong("15.3", "solo-la-posición")
def only_the_place(layers, clean, other, layer, place):
    return side_by_side(layers, clean, other, layer, place)[place]


@wrong("15.3", "solo-la-última")
def only_the_last(layers, clean, other, layer, place):
    return side_by_side(layers, clean, other, layer, place)[-1]


@wrong("15.3", "lo-que-cambia")
def the_change(layers, clean, other, layer, place):
    return side_by_side(layers, clean, other, layer, place) - through(layers, clean)


@wrong("15.3", "cambia-la-entrada")
def in_place(layers, clean, other, layer, place):
    for i, each in enumerate(layers):
        if i == layer:
            clean[place] = other[place]
        clean, other = each(clean), each(other)
    return clean


@wrong("15.3", "no-cambia-nada")
def nothing_changes(layers, clean, other, layer, place):
    return through(layers, clean)


@wrong("15.3", "capa-siguiente", "solo-la-última")
def late_and_last(layers, clean, other, layer, place):
    return after_the_layer(layers, clean, other, layer, place)[-1]


@odd("15.3")
def tripled(layers, clean, other, layer, place):
    return patch(layers, clean, other, {layer}, place, lambda x, z: 3 * z)


@odd("15.3")
def layers_backwards(layers, clean, other, layer, place):
    return side_by_side(layers[::-1], clean, other, layer, place)
