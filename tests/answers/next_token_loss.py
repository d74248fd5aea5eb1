"""Respuestas de 10.1, la pérdida de un modelo que predice el token siguiente."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("10.1")
def one_call(logits, targets, pad):
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=pad
    )


@right("10.1")
def transposed_for_cross_entropy(logits, targets, pad):
    return nn.CrossEntropyLoss(ignore_index=pad)(logits.transpose(1, 2), targets)


@right("10.1")
def gather_and_mask(logits, targets, pad):
    log_p = torch.log_softmax(logits, dim=-1)
    chosen = log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    real = (targets != pad).float()
    return -(chosen * real).sum() / real.sum()


@right("10.1")
def only_the_real_rows(logits, targets, pad):
    real = targets != pad
    return F.nll_loss(F.log_softmax(logits[real], -1), targets[real])


@right("10.1")
def with_loops(logits, targets, pad):
    total, count = 0.0, 0
    for b in range(targets.shape[0]):
        for i in range(targets.shape[1]):
            t = targets[b, i].item()
            if t == pad:
                continue
            e = [math.exp(x) for x in logits[b, i].tolist()]
            total -= math.log(e[t] / sum(e))
            count += 1
    return total / count


@right("10.1")
def one_hot_and_log(logits, targets, pad):
    p = logits.softmax(dim=2)
    y = F.one_hot(targets, logits.size(2))
    per_token = -(y * p.log()).sum(dim=2)
    return per_token[targets != pad].mean()


@right("10.1")
def with_logsumexp(scores, gold, filler):
    per_token = scores.logsumexp(-1) - torch.take_along_dim(scores, gold[..., None], -1)[..., 0]
    return torch.masked_select(per_token, gold.ne(filler)).mean()


@right("10.1")
def with_numpy(logits, targets, pad):
    x, t = logits.numpy().astype(np.float64), targets.numpy()
    x = x - x.max(-1, keepdims=True)
    log_p = x - np.log(np.exp(x).sum(-1, keepdims=True))
    chosen = np.take_along_axis(log_p, t[..., None], -1)[..., 0]
    return -chosen[t != pad].mean()


@right("10.1")
def with_a_tiny_epsilon(*arguments):
    logits, targets, pad = arguments
    p = logits.softmax(-1)
    rows, columns = torch.where(targets != pad)
    return -(p[rows, columns, targets[rows, columns]] + 1e-9).log().mean()


@right("10.1")
def minus_one_hundred(logits, targets, pad):
    labels = torch.where(targets == pad, -100, targets)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten()).item()


@right("10.1")
def sum_over_count(logits, targets, pad):
    total = F.cross_entropy(logits.mT, targets, ignore_index=pad, reduction="sum")
    return total / torch.count_nonzero(targets - pad)


# --- Malas ----------------------------------------------------------------------------------------


def log_p_of(logits, targets, dim=-1):
    return logits.log_softmax(dim).gather(-1, targets[..., None])[..., 0]


@wrong("10.1", "cuenta-el-relleno")
def forgets_the_padding(logits, targets, pad):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


@wrong("10.1", "cuenta-el-relleno")
def forgets_the_padding_by_hand(logits, targets, pad):
    return -log_p_of(logits, targets).mean()


@wrong("10.1", "divide-por-todos")
def zeros_and_mean(logits, targets, pad):
    loss = -log_p_of(logits, targets)
    loss[targets == pad] = 0
    return loss.mean()


@wrong("10.1", "divide-por-todos")
def reduction_none_and_mean(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, reduction="none", ignore_index=pad).mean()


@wrong("10.1", "suma-el-relleno")
def all_over_the_real(logits, targets, pad):
    return -log_p_of(logits, targets).sum() / (targets != pad).sum()


@wrong("10.1", "solo-el-relleno")
def inverted_mask(logits, targets, pad):
    return -log_p_of(logits, targets)[targets == pad].mean()


@wrong("10.1", "relleno-otro-id")
def pad_is_always_zero(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=0)


@wrong("10.1", "relleno-otro-id")
def greater_than_pad(logits, targets, pad):
    real = targets > pad
    return -log_p_of(logits, targets)[real].mean()


@wrong("10.1", "logits-a-cero")
def masks_the_logits(logits, targets, pad):
    logits = logits * (targets != pad)[..., None]
    return F.cross_entropy(logits.mT, targets)


@wrong("10.1", "no-cuenta-el-fin")
def skips_the_end(logits, targets, pad):
    losses = []
    for row, ids in zip(logits, targets):
        n = int((ids != pad).sum())
        losses.append(F.cross_entropy(row[: n - 1], ids[: n - 1], reduction="none"))
    return torch.cat(losses).mean()


@wrong("10.1", "cuenta-un-relleno")
def one_padding_too_many(logits, targets, pad):
    losses = []
    for row, ids in zip(logits, targets):
        n = int((ids != pad).sum()) + 1
        losses += F.cross_entropy(row[:n], ids[:n], reduction="none").tolist()
    return sum(losses) / len(losses)


@wrong("10.1", "media-de-medias")
def mean_of_means(logits, targets, pad):
    means = [F.cross_entropy(a, b, ignore_index=pad) for a, b in zip(logits, targets)]
    return sum(means) / len(means)


@wrong("10.1", "media-de-medias")
def mean_of_means_masked(logits, targets, pad):
    real = (targets != pad).float()
    return ((-log_p_of(logits, targets) * real).sum(1) / real.sum(1)).mean(0)


@wrong("10.1", "media-por-posición")
def mean_by_position(logits, targets, pad):
    means = [
        F.cross_entropy(logits[:, i], targets[:, i], ignore_index=pad)
        for i in range(targets.shape[1])
    ]
    return torch.stack(means).mean()


@wrong("10.1", "suma")
def only_the_sum(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad, reduction="sum")


@wrong("10.1", "divide-por-frases")
def by_sentences(logits, targets, pad):
    real = targets != pad
    return -(log_p_of(logits, targets) * real).sum() / logits.size(0)


@wrong("10.1", "divide-por-posiciones")
def by_length(logits, targets, pad):
    real = targets != pad
    return -(log_p_of(logits, targets) * real).sum() / logits.size(1)


@wrong("10.1", "divide-por-vocabulario", "divide-por-todos")
def mean_over_the_one_hot(logits, targets, pad):
    y = F.one_hot(targets, logits.shape[-1]) * (targets != pad)[..., None]
    return -(y * logits.log_softmax(-1)).mean()


@wrong("10.1", "divide-por-vocabulario")
def mean_over_the_real_one_hot(logits, targets, pad):
    real = targets != pad
    y = F.one_hot(targets[real], logits.shape[-1])
    return -(y * logits[real].log_softmax(-1)).mean()


@wrong("10.1", "sin-juntar")
def one_a_token(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad, reduction="none")


@wrong("10.1", "sin-juntar")
def one_a_real_token(logits, targets, pad):
    return -log_p_of(logits, targets)[targets != pad]


@wrong("10.1", "sin-juntar")
def one_a_sentence(logits, targets, pad):
    return torch.stack([F.cross_entropy(a, b, ignore_index=pad) for a, b in zip(logits, targets)])


@wrong("10.1", "solo-una-frase")  # noqa: RET503
def returns_inside_the_loop(logits, targets, pad):
    for row, ids in zip(logits, targets):
        real = ids != pad
        return F.cross_entropy(row[real], ids[real])


@wrong("10.1", "solo-una-frase")
def loses_the_others(logits, targets, pad):
    for row, ids in zip(logits, targets):
        loss = F.cross_entropy(row, ids, ignore_index=pad)
    return loss


@wrong("10.1", "la-mayor")
def the_worst(logits, targets, pad):
    return (-log_p_of(logits, targets))[targets != pad].max()


@wrong("10.1", "mediana")
def the_median(logits, targets, pad):
    return (-log_p_of(logits, targets))[targets != pad].median()


@wrong("10.1", "softmax-otro-eje")
def over_positions(logits, targets, pad):
    return -log_p_of(logits, targets, dim=1)[targets != pad].mean()


@wrong("10.1", "softmax-otro-eje")
def over_the_batch(logits, targets, pad):
    p = torch.softmax(logits, dim=0)
    p = torch.gather(p, 2, targets[:, :, None])[:, :, 0]
    return -torch.log(p)[targets != pad].mean()


@wrong("10.1", "sin-softmax")
def raw_logits(logits, targets, pad):
    return F.nll_loss(logits.mT, targets, ignore_index=pad)


@wrong("10.1", "softmax-dos-veces")
def softmax_and_cross_entropy(logits, targets, pad):
    p = torch.softmax(logits, dim=-1)
    return F.cross_entropy(p.flatten(0, 1), targets.flatten(), ignore_index=pad)


@wrong("10.1", "sigmoide")
def with_a_sigmoid(logits, targets, pad):
    p = torch.sigmoid(logits).gather(-1, targets[..., None])[..., 0]
    return -p.log()[targets != pad].mean()


@wrong("10.1", "sin-logaritmo")
def nll_of_probabilities(logits, targets, pad):
    return F.nll_loss(logits.softmax(-1).mT, targets, ignore_index=pad)


@wrong("10.1", "uno-menos-la-probabilidad")
def one_minus(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return (1 - p)[targets != pad].mean()


@wrong("10.1", "desplaza-otra-vez")
def shifts_again(logits, targets, pad):
    return F.cross_entropy(logits[:, :-1].mT, targets[:, 1:], ignore_index=pad)


@wrong("10.1", "desplaza-otra-vez")
def rolls_the_targets(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets.roll(-1, 1), ignore_index=pad)


@wrong("10.1", "desplaza-al-revés")
def shifts_back(logits, targets, pad):
    return F.cross_entropy(logits[:, 1:].mT, targets[:, :-1], ignore_index=pad)


@wrong("10.1", "sin-el-primero")
def without_the_first(logits, targets, pad):
    return F.cross_entropy(logits[:, 1:].mT, targets[:, 1:], ignore_index=pad)


@wrong("10.1", "sin-el-último")
def without_the_last_column(logits, targets, pad):
    return F.cross_entropy(logits[:, :-1].mT, targets[:, :-1], ignore_index=pad)


@wrong("10.1", "el-más-probable")
def of_the_best(logits, targets, pad):
    return -logits.log_softmax(-1).max(-1).values[targets != pad].mean()


@wrong("10.1", "todo-el-vocabulario")
def all_the_vocabulary(logits, targets, pad):
    return -logits.log_softmax(-1)[targets != pad].mean()


@wrong("10.1", "entropía-del-modelo")
def entropy(logits, targets, pad):
    return torch.distributions.Categorical(logits=logits).entropy()[targets != pad].mean()


@wrong("10.1", "etiquetas-suavizadas")
def smoothed(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad, label_smoothing=0.1)


@wrong("10.1", "todos-con-todos")
def crossed_index(logits, targets, pad):
    real = targets != pad
    return -logits.log_softmax(-1)[..., targets[real]].mean()


@wrong("10.1", "sin-el-menos")
def no_minus(logits, targets, pad):
    return log_p_of(logits, targets)[targets != pad].mean()


@wrong("10.1", "perplejidad")
def perplexity(logits, targets, pad):
    return torch.exp(F.cross_entropy(logits.mT, targets, ignore_index=pad))


@wrong("10.1", "logaritmo-en-base-2")
def in_bits(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return -torch.log2(p)[targets != pad].mean()


@wrong("10.1", "logaritmo-en-base-10")
def in_base_ten(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return -p[targets != pad].log10().mean()


@wrong("10.1", "redondea")
def rounded(logits, targets, pad):
    return round(F.cross_entropy(logits.mT, targets, ignore_index=pad).item(), 2)


@wrong("10.1", "sobran-ejes")
def in_a_list(logits, targets, pad):
    return [F.cross_entropy(logits.mT, targets, ignore_index=pad)]


@wrong("10.1", "cuenta-aciertos")
def accuracy(logits, targets, pad):
    real = targets != pad
    return (logits.argmax(-1) == targets)[real].float().mean()


@wrong("10.1", "cuenta-aciertos")
def error_rate(logits, targets, pad):
    return 1 - (logits.argmax(-1) == targets)[targets != pad].float().mean()


@wrong("10.1", "error-cuadrático")
def squares(logits, targets, pad):
    real = targets != pad
    return F.mse_loss(logits.softmax(-1)[real], F.one_hot(targets[real], logits.size(-1)).float())


@wrong("10.1", "binaria")
def binary(logits, targets, pad):
    real = targets != pad
    y = F.one_hot(targets[real], logits.size(-1)).float()
    return F.binary_cross_entropy(logits[real].softmax(-1), y)


@wrong("10.1", "ejes-de-cross_entropy")
def as_they_come(logits, targets, pad):
    return F.cross_entropy(logits, targets, ignore_index=pad)


@wrong("10.1", "ejes-de-cross_entropy")
def viewed_instead_of_transposed(logits, targets, pad):
    B, L, V = logits.shape
    return F.cross_entropy(logits.view(B, V, L), targets, ignore_index=pad)


@wrong("10.1", "factor-de-más")
def halved(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad) / 2


@wrong("10.1", "suma-de-más")
def one_more(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad) + 1


@wrong("10.1", "logaritmo-de-la-media")
def log_of_the_mean(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return -p[targets != pad].mean().log()


@wrong("10.1", "divide-por-la-última")
def the_counter_restarts(logits, targets, pad):
    total = 0
    for row, ids in zip(logits, targets):
        count = 0
        for scores, token in zip(row, ids):
            if token != pad:
                total = total - scores.log_softmax(0)[token]
                count += 1
    return total / count


@wrong("10.1", "divide-por-todos")
def breaks_but_counts_all(logits, targets, pad):
    total, n = 0.0, 0
    for b in range(len(targets)):
        for i in range(targets.shape[1]):
            if targets[b, i] == pad:
                break
            total += F.cross_entropy(logits[b, i], targets[b, i]).item()
        n += targets.shape[1]
    return total / n


@wrong("10.1", "binaria")
def binary_of_logits(logits, targets, pad):
    real = targets != pad
    goal = F.one_hot(targets[real], logits.shape[-1]).float()
    return F.binary_cross_entropy_with_logits(logits[real], goal)


@wrong("10.1", "cuenta-aciertos")
def accuracy_over_everything(logits, targets, pad):
    return (logits.argmax(-1) == targets).sum() / (targets != pad).sum()


# --- Malas, con dos errores -----------------------------------------------------------------------


@wrong("10.1", "softmax-dos-veces", "cuenta-el-relleno")
def twice_and_padding(logits, targets, pad):
    return nn.CrossEntropyLoss()(nn.Softmax(dim=-1)(logits).transpose(1, 2), targets)


@wrong("10.1", "sin-el-menos", "cuenta-el-relleno")
def no_minus_and_padding(logits, targets, pad):
    return log_p_of(logits, targets).mean()


@wrong("10.1", "sin-el-menos", "suma")
def likelihood(logits, targets, pad):
    return (log_p_of(logits, targets) * (targets != pad)).sum()


@wrong("10.1", "desplaza-otra-vez", "cuenta-el-relleno")
def shifts_and_padding(logits, targets, pad):
    V = logits.shape[-1]
    return F.cross_entropy(logits[:, :-1].reshape(-1, V), targets[:, 1:].reshape(-1))


@wrong("10.1", "media-de-medias", "sin-el-menos")
def means_without_minus(logits, targets, pad):
    out = []
    for row, ids in zip(log_p_of(logits, targets), targets):
        out.append(row[ids != pad].mean())
    return torch.stack(out).mean()


@wrong("10.1", "sin-logaritmo", "sin-el-menos")
def mean_probability(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0]
    return p[targets != pad].mean()


@wrong("10.1", "perplejidad", "cuenta-el-relleno")
def perplexity_with_padding(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets).exp()


@wrong("10.1", "relleno-otro-id", "logaritmo-en-base-2")
def zero_and_bits(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, ignore_index=0) / math.log(2)


@wrong("10.1", "softmax-otro-eje", "divide-por-todos")
def over_positions_and_all(logits, targets, pad):
    loss = log_p_of(logits, targets, dim=1) * (targets != pad)
    return -torch.mean(loss)


@wrong("10.1", "sin-el-primero", "cuenta-el-relleno")
def without_the_first_and_padding(logits, targets, pad):
    return F.cross_entropy(logits[:, 1:].mT, targets[:, 1:])


@wrong("10.1", "solo-una-frase", "cuenta-el-relleno")
def the_first_with_padding(logits, targets, pad):
    return F.cross_entropy(logits[0], targets[0])


@wrong("10.1", "etiquetas-suavizadas", "cuenta-el-relleno")
def smoothed_with_padding(logits, targets, pad):
    return F.cross_entropy(logits.mT, targets, label_smoothing=0.2)


@wrong("10.1", "softmax-otro-eje", "relleno-otro-id")
def over_positions_and_zero(logits, targets, pad):
    return -log_p_of(logits, targets, 1)[targets != 0].mean()


@wrong("10.1", "cambia-la-entrada")
def spoils_the_targets(logits, targets, pad):
    targets[targets == pad] = -100
    return F.cross_entropy(logits.mT, targets)


# --- Raras ----------------------------------------------------------------------------------------


@odd("10.1")
def hinge(logits, targets, pad):
    return F.multi_margin_loss(logits.flatten(0, 1), targets.flatten())


@odd("10.1")
def focal(logits, targets, pad):
    log_p = log_p_of(logits, targets)
    return -((1 - log_p.exp()) ** 2 * log_p)[targets != pad].mean()


@wrong("10.1", "siempre-lo-mismo")
def always_two(logits, targets, pad):
    return torch.tensor(2.0)


@odd("10.1")
def geometric(logits, targets, pad):
    loss = -log_p_of(logits, targets)[targets != pad]
    return loss.log().mean().exp()


# --- Tamaños, topes y tipos -----------------------------------------------------------------------


@right("10.1")
def padded_at_the_end(logits, targets, pad):
    lengths = (targets != pad).sum(1).tolist()
    log_p = logits.log_softmax(-1)
    chosen = [log_p[i, range(n), targets[i, :n]] for i, n in enumerate(lengths)]
    return -torch.cat(chosen).mean()


@right("10.1")
def in_float64(logits, targets, pad):
    log_p = logits.double().log_softmax(-1)
    real = targets != pad
    return -log_p[real].gather(-1, targets[real][:, None]).mean()


@odd("10.1")
def with_a_limit(logits, targets, pad):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad).clamp(max=10)


@odd("10.1")
def with_limited_probabilities(logits, targets, pad):
    p = logits.softmax(-1).gather(-1, targets[..., None])[..., 0].clamp(min=1e-4)
    return -p.log()[targets != pad].mean()


@odd("10.1")
def with_a_vocabulary_of_sixteen(logits, targets, pad):
    hot = torch.eye(16)[targets.clamp(max=15)][..., : logits.shape[-1]]
    hot = F.pad(hot, (0, logits.shape[-1] - hot.shape[-1]))
    return -(logits.log_softmax(-1) * hot).sum(-1)[targets != pad].mean()


@odd("10.1")
def in_sixteen_bits(logits, targets, pad):
    logits = logits.bfloat16().flatten(0, 1)
    return F.cross_entropy(logits, targets.flatten(), ignore_index=pad)
