"""Respuestas de 13.1, un paso de la softmax en línea."""

import math

import numpy as np
import torch

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


def parts(maximum, scores):
    """El máximo nuevo, las exponenciales del bloque y el factor."""
    new = torch.maximum(maximum, scores.amax(-1, keepdim=True))
    return new, (scores - new).exp(), (maximum - new).exp()


@right("13.1")
def four_steps(maximum, total, output, scores, values):
    new_maximum = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
    weights = torch.exp(scores - new_maximum)
    factor = torch.exp(maximum - new_maximum)
    return (
        new_maximum,
        factor * total + weights.sum(dim=-1, keepdim=True),
        factor * output + weights @ values,
    )


@right("13.1")
def with_loops(maximum, total, output, scores, values):
    new_m, new_t, new_o = maximum.clone(), total.clone(), output.clone()
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            m = max(new_m[i].item(), scores[i, j].item())
            factor, weight = math.exp(new_m[i].item() - m), math.exp(scores[i, j].item() - m)
            new_t[i] = new_t[i] * factor + weight
            new_o[i] = new_o[i] * factor + weight * values[j]
            new_m[i] = m
    return new_m, new_t, new_o


@right("13.1")
def the_block_apart(maximum, total, output, scores, values):
    """Como en el artículo: el bloque con su máximo, y dos factores."""
    block = scores.max(-1, keepdim=True).values
    weights = (scores - block).exp()
    new = torch.max(maximum, block)
    old, now = (maximum - new).exp(), (block - new).exp()
    total = old * total + now * weights.sum(-1, keepdim=True)
    return new, total, old * output + now * (weights @ values)


@right("13.1")
def joined_maximum(maximum, total, output, scores, values):
    new = torch.cat([maximum, scores], dim=1).amax(1)[:, None]
    weights = torch.exp(torch.cat([maximum, scores], dim=1) - new)
    total = (weights[:, :1] * total) + weights[:, 1:].sum(1)[:, None]
    return [new, total, weights[:, :1] * output + torch.einsum("qb,bd->qd", weights[:, 1:], values)]


@right("13.1")
def in_float64(maximum, total, output, scores, values):
    maximum, total, output = maximum.double(), total.double(), output.double()
    new, weights, factor = parts(maximum, scores.double())
    total = factor * total + weights.sum(-1, True)
    return new, total, factor * output + weights @ values.double()


@right("13.1")
def with_numpy(maximum, total, output, scores, values):
    m, t, o, s, v = (x.numpy() for x in (maximum, total, output, scores, values))
    new = np.maximum(m, s.max(axis=-1, keepdims=True))
    w, f = np.exp(s - new), np.exp(m - new)
    return new, f * t + w.sum(-1, keepdims=True), f * o + w @ v


@right("13.1")
def in_place_on_copies(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total, output = total.clone(), output.clone()
    total *= factor
    total += weights.sum(-1, keepdim=True)
    output.mul_(factor).addmm_(weights, values)
    return new, total, output


@right("13.1")
def asks_if_it_grows(maximum, total, output, scores, values):
    block = scores.amax(-1, True)
    new = torch.where(block > maximum, block, maximum)
    factor = torch.where(block > maximum, (maximum - block).exp(), torch.ones_like(maximum))
    weights = (scores - new).exp()
    return new, total * factor + weights.sum(1, True), output * factor + weights.matmul(values)


@right("13.1")
def with_logsumexp(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = (maximum + total.log()).logaddexp(scores.logsumexp(-1, True))
    return new, (total - new).exp(), factor * output + weights @ values


@right("13.1")
def key_by_key(maximum, total, output, scores, values):
    for s, v in zip(scores.T, values):
        new, weight, factor = parts(maximum, s[:, None])
        maximum, total, output = new, factor * total + weight, factor * output + weight * v
    return maximum, total, output


# --- Malas ----------------------------------------------------------------------------------------


@wrong("13.1", "sin-corregir")
def without_factor(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    return new, total + weights.sum(-1, keepdim=True), output + weights @ values


@wrong("13.1", "salida-sin-corregir")
def output_as_it_was(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1, keepdim=True), output + weights @ values


@wrong("13.1", "total-sin-corregir")
def total_as_it_was(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, total + weights.sum(-1, keepdim=True), factor * output + weights @ values


@wrong("13.1", "factor-al-revés")
def factor_upside_down(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    factor = torch.exp(new - maximum)
    total = factor * total + weights.sum(-1, keepdim=True)
    return new, total, factor * output + weights @ values


@wrong("13.1", "factor-al-revés")
def divides_by_the_factor(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = total / factor + weights.sum(-1, keepdim=True)
    return new, total, output / factor + weights @ values


@wrong("13.1", "factor-del-bloque")
def factor_of_the_block(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    factor = (maximum - scores.amax(-1, keepdim=True)).exp()
    total = factor * total + weights.sum(-1, keepdim=True)
    return new, total, factor * output + weights @ values


@wrong("13.1", "corrige-lo-nuevo")
def corrects_the_block(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    weights = weights * factor
    return new, total + weights.sum(-1, keepdim=True), output + weights @ values


@wrong("13.1", "corrige-todo")
def corrects_everything(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = (total + weights.sum(-1, keepdim=True)) * factor
    return new, total, (output + weights @ values) * factor


@wrong("13.1", "factor-sin-exponencial")
def factor_is_the_gap(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    factor = maximum - new
    total = factor * total + weights.sum(-1, keepdim=True)
    return new, total, factor * output + weights @ values


@wrong("13.1", "máximo-solo-del-bloque")
def maximum_of_the_block(maximum, total, output, scores, values):
    new = scores.amax(-1, keepdim=True)
    weights, factor = (scores - new).exp(), (maximum - new).exp()
    total = factor * total + weights.sum(-1, keepdim=True)
    return new, total, factor * output + weights @ values


@wrong("13.1", "máximo-de-antes")
def never_a_new_maximum(maximum, total, output, scores, values):
    weights = (scores - maximum).exp()
    return maximum.clone(), total + weights.sum(-1, True), output + weights @ values


@wrong("13.1", "máximo-de-todas")
def one_maximum_for_all(maximum, total, output, scores, values):
    new = torch.maximum(maximum, scores.max())
    weights, factor = torch.exp(scores - new), torch.exp(maximum - new)
    return new, factor * total + weights.sum(1, True), factor * output + weights @ values


@wrong("13.1", "máximo-de-todas")
def one_number(maximum, total, output, scores, values):
    new = torch.full_like(maximum, max(maximum.max().item(), scores.max().item()))
    weights, factor = torch.exp(scores - new), torch.exp(maximum - new)
    return new, factor * total + weights.sum(1, True), factor * output + weights @ values


@wrong("13.1", "mínimo")
def the_least(maximum, total, output, scores, values):
    new = torch.minimum(maximum, scores.amin(-1, keepdim=True))
    weights, factor = torch.exp(scores - new), torch.exp(maximum - new)
    return new, factor * total + weights.sum(1, True), factor * output + weights @ values


@wrong("13.1", "devuelve-el-máximo-de-antes")
def forgets_to_update(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return maximum, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "sin-restar")
def never_subtracts(maximum, total, output, scores, values):
    weights = scores.exp()
    new = torch.maximum(maximum, scores.amax(-1, True))
    return new, total + weights.sum(-1, True), output + weights @ values


@wrong("13.1", "sin-restar")
def subtracts_only_before(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = scores.exp()
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "resta-el-de-antes")
def subtracts_the_old(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = (scores - maximum).exp()
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "resta-el-del-bloque")
def subtracts_the_blocks(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = (scores - scores.max(-1, True)[0]).exp()
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "sin-exponencial")
def without_exponential(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = scores - new
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "softmax-del-bloque")
def softmax_of_the_block(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = torch.softmax(scores, dim=-1)
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "resta-al-revés")
def wrong_sign(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = torch.exp(new - scores)
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "potencias-de-2")
def powers_of_two(maximum, total, output, scores, values):
    new, _, factor = parts(maximum, scores)
    weights = torch.exp2(scores - new)
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "olvida-lo-de-antes")
def only_the_block(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    return new, weights.sum(-1, True), weights @ values


@wrong("13.1", "olvida-el-total")
def total_of_the_block(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "olvida-la-salida")
def output_of_the_block(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1, True), weights @ values


@wrong("13.1", "suma-todas-las-filas")
def sums_every_row(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(), factor * output + weights @ values


@wrong("13.1", "sin-keepdim")
def loses_the_axis(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(dim=-1), factor * output + weights @ values


@wrong("13.1", "sin-keepdim")
def maximum_without_axis(maximum, total, output, scores, values):
    new = torch.maximum(maximum, scores.amax(dim=-1))
    weights, factor = (scores - new).exp(), (maximum - new).exp()
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "media-de-pesos")
def mean_of_weights(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.mean(-1, True), factor * output + weights @ values


@wrong("13.1", "values-sin-pesos")
def plain_values(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1, True), factor * output + values.sum(0)


@wrong("13.1", "divide-el-bloque")
def divides_the_block(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    block = weights.sum(-1, keepdim=True)
    return new, factor * total + block, factor * output + (weights / block) @ values


@wrong("13.1", "divide-ya")
def divides_now(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = factor * total + weights.sum(-1, True)
    return new, total, (factor * output + weights @ values) / total


@wrong("13.1", "divide-ya")
def always_divided(maximum, total, output, scores, values):
    """Como en el primer FlashAttention, que guarda la salida ya dividida."""
    new, weights, factor = parts(maximum, scores)
    now = factor * total + weights.sum(-1, True)
    return new, now, (factor * total * output + weights @ values) / now


@wrong("13.1", "otro-orden")
def output_first(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return factor * output + weights @ values, new, factor * total + weights.sum(-1, True)


@wrong("13.1", "otro-orden")
def total_first(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return factor * total + weights.sum(-1, True), new, factor * output + weights @ values


@wrong("13.1", "sin-eje")
def in_rows(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = factor[:, 0] * total[:, 0] + weights.sum(-1)
    return new.squeeze(-1), total, factor * output + weights @ values


@wrong("13.1", "cambia-la-entrada")
def spoils_the_state(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total *= factor
    total += weights.sum(-1, True)
    return new, total, factor * output + weights @ values


@wrong("13.1", "tipo")
def only_two(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return factor * total + weights.sum(-1, True), factor * output + weights @ values


# --- Malas, con dos errores -----------------------------------------------------------------------


@wrong("13.1", "sin-corregir", "divide-ya")
def divides_without_factor(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    total = total + weights.sum(-1, True)
    return new, total, (output + weights @ values) / total


@wrong("13.1", "máximo-solo-del-bloque", "sin-corregir")
def block_alone(maximum, total, output, scores, values):
    new = scores.amax(-1, True)
    weights = (scores - new).exp()
    return new, total + weights.sum(-1, True), output + weights @ values


@wrong("13.1", "salida-sin-corregir", "sin-keepdim")
def half_and_without_axis(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1), output + weights @ values


@wrong("13.1", "softmax-del-bloque", "sin-corregir")
def softmax_and_sum(maximum, total, output, scores, values):
    new, _, _ = parts(maximum, scores)
    weights = scores.softmax(-1)
    return new, total + weights.sum(-1, True), output + weights @ values


# --- Malas, sin un nombre: la propiedad que falla ------------------------------------------------


@wrong("13.1", "propiedad-trozos")
def forgets_the_maximum_in_the_loop(maximum, total, output, scores, values):
    for s, v in zip(scores.T, values):
        new, weight, factor = parts(maximum, s[:, None])
        total, output = factor * total + weight, factor * output + weight * v
    return new, total, output


@wrong("13.1", "propiedad-finita")
def quotient_of_exponentials(maximum, total, output, scores, values):
    new, weights, _ = parts(maximum, scores)
    factor = maximum.exp() / new.exp()
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@wrong("13.1", "propiedad-forma")
def with_a_batch(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    total = factor * total + weights.sum(-1, True)
    return new[None], total[None], (factor * output + weights @ values)[None]


# --- Raras ----------------------------------------------------------------------------------------


@odd("13.1")
def a_bit_more(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1, True) + 1e-2, factor * output + weights @ values


@odd("13.1")
def average_of_both(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores)
    return new, factor * total + weights.sum(-1, True), (factor * output + weights @ values) / 2


@odd("13.1")
def clipped(maximum, total, output, scores, values):
    new, weights, factor = parts(maximum, scores.clamp(-1, 1))
    return new, factor * total + weights.sum(-1, True), factor * output + weights @ values


@odd("13.1")
def only_three_keys(maximum, total, output, scores, values):
    return four_steps(maximum, total, output, scores[:, :3], values[:3])


@odd("13.1")
def nothing_new(maximum, total, output, scores, values):
    return maximum, total, output


@odd("13.1")
def corrects_if_the_highest_of_all_rises(maximum, total, output, scores, values):
    if scores.max() > maximum.max():
        return four_steps(maximum, total, output, scores, values)
    weights = (scores - maximum).exp()
    return maximum, total + weights.sum(-1, True), output + weights @ values
