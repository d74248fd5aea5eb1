"""Respuestas buenas, todo con bucles: número a número, como las escribe quien aún no piensa en tensores.

No son del corpus: aquí importa que van despacio. Cada una se llama como la pide su lección, y el módulo
entero cabe en una celda.
"""

import functools
import math
import time

import torch
from torch import nn


def times(a, b):
    """(m, k) por (k, n)."""
    out = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total = total + a[i, k] * b[k, j]
            out[i, j] = total
    return out


def turned(a):
    out = torch.zeros(a.shape[1], a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out


def shares(row):
    """La softmax de una lista."""
    top = max(row)
    if top == -math.inf:
        return [0.0 for _ in row]
    powers = [torch.exp(x - top) for x in row]
    total = sum(powers)
    return [one / total for one in powers]


def attention_of(query, key, value, mask=None):
    """La de una cabeza: (L_q, d_k), (L_k, d_k) y (L_k, d_v)."""
    scores, weights = times(query, turned(key)), torch.zeros(query.shape[0], key.shape[0])
    for i in range(scores.shape[0]):
        row = []
        for j in range(scores.shape[1]):
            score = scores[i, j] / math.sqrt(query.shape[1])
            if mask is not None and not mask[i, j]:
                score = torch.tensor(-math.inf)
            row.append(score)
        for j, weight in enumerate(shares(row)):
            weights[i, j] = weight
    return times(weights, value), weights


def normalised(row, weight, bias, eps):
    mean = sum(row) / len(row)
    variance = 0.0
    for x in row:
        variance = variance + (x - mean) ** 2
    variance = variance / len(row)
    return [(x - mean) / torch.sqrt(variance + eps) * w + b for x, w, b in zip(row, weight, bias)]


def my_attended_token(weights, tokens, position):
    best = 0
    for j in range(len(tokens)):
        if weights[position, j] > weights[position, best]:
            best = j
    return tokens[best]


def my_dot_product(a, b):
    total = 0.0
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


def my_cosine_similarity(a, b):
    return my_dot_product(a, b) / torch.sqrt(my_dot_product(a, a) * my_dot_product(b, b))


def my_positional_encoding(length, dim_embedding):
    table = torch.zeros(length, dim_embedding)
    for position in range(length):
        for i in range(0, dim_embedding, 2):
            angle = torch.tensor(position / 10000 ** (i / dim_embedding), dtype=torch.float64)
            table[position, i] = torch.sin(angle)
            table[position, i + 1] = torch.cos(angle)
    return table


def my_encoder_input(token_vectors, position_vectors, type_vectors, gamma, beta, eps):
    return my_add_and_norm(token_vectors + position_vectors, type_vectors, gamma, beta, eps)


def my_projections(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    found = []
    for W, bias in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V)):
        out = torch.zeros(x.shape[0], x.shape[1], W.shape[1])
        for b in range(x.shape[0]):
            projected = times(x[b], W)
            for i in range(x.shape[1]):
                for k in range(W.shape[1]):
                    out[b, i, k] = projected[i, k] + bias[k]
        found.append(out)
    return tuple(found)


def my_softmax(scores):
    if scores.dim() == 1:
        return torch.stack(shares(list(scores)))
    return torch.stack([my_softmax(row) for row in scores])


def my_scaling(query, key):
    if query.dim() > 2:
        return torch.stack([my_scaling(q, k) for q, k in zip(query, key)])
    return times(query, turned(key)) / math.sqrt(query.shape[1])


def my_causal_mask(length):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(length):
            if j <= i:
                mask[i, j] = True
    return mask


def my_padding_mask(attention_mask):
    B, L = attention_mask.shape
    mask = torch.zeros(B, 1, 1, L, dtype=torch.bool)
    for b in range(B):
        for j in range(L):
            mask[b, 0, 0, j] = attention_mask[b, j] == 1
    return mask


def my_decoder_mask(attention_mask):
    B, L = attention_mask.shape
    mask = torch.zeros(B, 1, L, L, dtype=torch.bool)
    for b in range(B):
        for i in range(L):
            for j in range(L):
                mask[b, 0, i, j] = j <= i and bool(attention_mask[b, j] == 1)
    return mask


def my_attention(query, key, value, mask=None):
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    if query.dim() == 2:
        return attention_of(query, key, value, mask)
    outputs, weights = [], []
    for b in range(len(query)):
        given = query[b], key[b], value[b], None if mask is None else mask[b]
        output, weight = my_attention(*given)
        outputs.append(output)
        weights.append(weight)
    return torch.stack(outputs), torch.stack(weights)


def my_split_heads(x, heads):
    B, L, d_model = x.shape
    d_k = d_model // heads
    out = torch.zeros(B, heads, L, d_k)
    for b in range(B):
        for i in range(L):
            for k in range(d_model):
                out[b, k // d_k, i, k % d_k] = x[b, i, k]
    return out


class MyMultiHeadAttention(nn.Module):
    def __init__(self, heads, dim_embedding):
        super().__init__()
        self.heads = heads
        self.W_Q = nn.Linear(dim_embedding, dim_embedding)
        self.W_K = nn.Linear(dim_embedding, dim_embedding)
        self.W_V = nn.Linear(dim_embedding, dim_embedding)
        self.W_O = nn.Linear(dim_embedding, dim_embedding)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_Q(query), self.W_K(key), self.W_V(value)
        B, L_q, d_model = q.shape
        if mask is not None:
            mask = mask.expand(B, self.heads, L_q, k.shape[1])
        batch = []
        for b in range(B):
            heads = []
            for h in range(self.heads):
                own = range(h * d_model // self.heads, (h + 1) * d_model // self.heads)
                hidden = None if mask is None else mask[b, h]
                heads.append(self.head(q[b], k[b], v[b], hidden, own))
            batch.append(torch.cat(heads, -1))
        return self.W_O(torch.stack(batch))

    def head(self, q, k, v, mask, own):
        rows = []
        for i in range(len(q)):
            scores = []
            for j in range(len(k)):
                score = sum(q[i, c] * k[j, c] for c in own) / math.sqrt(len(own))
                if mask is not None and not mask[i, j]:
                    score = torch.tensor(-1e9)
                scores.append(score)
            weights = torch.softmax(torch.stack(scores), -1)
            row = [sum(weights[j] * v[j, c] for j in range(len(k))) for c in own]
            rows.append(torch.stack(row))
        return torch.stack(rows)


def my_multi_head(x, W_Q, W_K, W_V, W_O, heads):
    B, L, d_model = x.shape
    d_k, out = d_model // heads, torch.zeros(x.shape)
    for b in range(B):
        q, k, v = times(x[b], W_Q), times(x[b], W_K), times(x[b], W_V)
        together = torch.zeros(L, d_model)
        for h in range(heads):
            own = slice(h * d_k, (h + 1) * d_k)
            together[:, own] = attention_of(q[:, own], k[:, own], v[:, own])[0]
        out[b] = times(together, W_O)
    return out


def my_shift_right(target_ids, bos_id):
    shifted = target_ids.clone()
    for b in range(shifted.shape[0]):
        for i in range(shifted.shape[1]):
            shifted[b, i] = bos_id if i == 0 else target_ids[b, i - 1]
    return shifted


def my_masked_self_attention(x, W_Q, W_K, W_V):
    mask, rows = my_causal_mask(x.shape[1]), []
    for one in x:
        rows.append(attention_of(times(one, W_Q), times(one, W_K), times(one, W_V), mask)[0])
    return torch.stack(rows)


def my_cross_attention(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    rows = []
    for b in range(len(decoder_x)):
        q, k, v = times(decoder_x[b], W_Q), times(encoder_x[b], W_K), times(encoder_x[b], W_V)
        mask = None if source_mask is None else source_mask[b].expand(len(q), len(k))
        rows.append(attention_of(q, k, v, mask)[0])
    return torch.stack(rows)


def my_add_and_norm(x, sublayer_output, weight, bias, eps=1e-5):
    out = torch.zeros(x.shape)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            row = [x[b, i, k] + sublayer_output[b, i, k] for k in range(x.shape[2])]
            for k, number in enumerate(normalised(row, weight, bias, eps)):
                out[b, i, k] = number
    return out


def my_next_token_loss(logits, targets, pad):
    total, many = 0.0, 0
    for b in range(logits.shape[0]):
        for i in range(logits.shape[1]):
            if targets[b, i] != pad:
                total = total - torch.log(shares(list(logits[b, i]))[targets[b, i]])
                many = many + 1
    return total / many


def my_greedy(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest:
        scores, best = next_scores([bos, *ids]), 0
        for i in range(len(scores)):
            if scores[i] > scores[best]:
                best = i
        ids.append(best)
        if best == eos:
            break
    return ids


def my_alignment(weights):
    h, m_D, m_E = weights.shape
    places = torch.zeros(m_D, dtype=torch.long)
    for i in range(m_D):
        most = -1.0
        for j in range(m_E - 1):
            total = 0.0
            for k in range(h):
                total = total + weights[k, i, j]
            if total / h > most:
                places[i], most = j, total / h
    return places


def my_previous_token_score(weights):
    scores = torch.zeros(len(weights))
    for k in range(len(weights)):
        total = 0.0
        for i in range(1, weights.shape[1]):
            total = total + weights[k, i, i - 1]
        scores[k] = total / (weights.shape[1] - 1)
    return scores


def my_intervention(encoder, x, layer, heads):
    block, found = encoder.encoder_layers[layer].multi_head_attention, torch.zeros(x.shape[:2])

    def hook(_, inputs):
        said = torch.zeros(x.shape)
        for b in range(2):
            for i in range(x.shape[1]):
                for k in range(x.shape[2]):
                    said[b, i, k] = inputs[0][1 - b if k // block.dim_key in heads else b, i, k]
        return (said,)

    before = encoder(x)[0]
    handle = block.output_projection.register_forward_pre_hook(hook)
    after = encoder(x)[0]
    handle.remove()
    for b in range(2):
        for i in range(x.shape[1]):
            total = 0.0
            for k in range(x.shape[2]):
                total = total + (after[b, i, k] - before[b, i, k]) ** 2
            found[b, i] = total**0.5
    return found


def my_online_step(maximum, total, output, scores, values):
    tops, totals, outputs = torch.zeros(maximum.shape), torch.zeros(total.shape), output.clone()
    for i in range(scores.shape[0]):
        tops[i, 0] = top = max(maximum[i, 0], *scores[i])
        factor = torch.exp(maximum[i, 0] - top)
        totals[i, 0] = factor * total[i, 0] + sum(torch.exp(score - top) for score in scores[i])
        for c in range(output.shape[1]):
            new = factor * output[i, c]
            for j in range(scores.shape[1]):
                new = new + torch.exp(scores[i, j] - top) * values[j, c]
            outputs[i, c] = new
    return tops, totals, outputs


def my_cached_attention(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)
    n, L = query.shape[2], kept_keys.shape[2]
    mask, batch = my_causal_mask(L + n)[L:], []
    for b in range(query.shape[0]):
        heads = [attention_of(*one, mask)[0] for one in zip(query[b], keys[b], values[b])]
        batch.append(torch.stack(heads))
    return torch.stack(batch), keys, values


def my_grouped_query_attention(query, key, value):
    each, batch = query.shape[1] // key.shape[1], []
    for b in range(query.shape[0]):
        heads = []
        for h in range(query.shape[1]):
            heads.append(attention_of(query[b, h], key[b, h // each], value[b, h // each])[0])
        batch.append(torch.stack(heads))
    return torch.stack(batch)


def my_rotary(x, positions, base):
    if x.dim() > 2:
        return torch.stack([my_rotary(one, positions, base) for one in x])
    out, half = torch.zeros(x.shape), x.shape[1] // 2
    for t in range(x.shape[0]):
        for i in range(half):
            angle = positions[t].double() * base ** (-i / half)
            out[t, i] = x[t, i] * torch.cos(angle) - x[t, i + half] * torch.sin(angle)
            out[t, i + half] = x[t, i + half] * torch.cos(angle) + x[t, i] * torch.sin(angle)
    return out


def my_rms_norm(x, weight, eps):
    if x.dim() > 1:
        return torch.stack([my_rms_norm(row, weight, eps) for row in x])
    mean = sum(number * number for number in x) / len(x)
    return torch.stack([number / torch.sqrt(mean + eps) * w for number, w in zip(x, weight)])


def my_next_probabilities(scores, temperature, top_k, top_p):
    if scores.dim() > 1:
        rows = [my_next_probabilities(row, temperature, top_k, top_p) for row in scores]
        return torch.stack(rows)
    left, order = list(range(len(scores))), []
    while left and len(order) < top_k:
        best = max(left, key=lambda i: scores[i])
        order.append(best)
        left.remove(best)
    out, total = torch.zeros(len(scores)), 0.0
    for i, share in zip(order, shares([scores[i] / temperature for i in order])):
        if total >= top_p:
            break
        out[i], total = share, total + share
    return out / total


def my_induction_score(weights):
    half, scores = weights.shape[1] // 2, torch.zeros(len(weights))
    for k in range(len(weights)):
        total = 0.0
        for i in range(half, 2 * half):
            total = total + weights[k, i, i - half + 1]
        scores[k] = total / half
    return scores


def my_logit_lens(states, gain, table):
    rows = []
    for state in states:
        x, logits = my_rms_norm(state[-1], gain, 1e-5), []
        for word in table:
            logits.append(my_dot_product(x, word))
        rows.append(torch.stack(shares(logits)))
    return torch.stack(rows)


def my_patched(layers, clean, other, layer, place):
    for n in range(len(layers)):
        if n == layer:
            clean = clean.clone()
            for j in range(clean.shape[1]):
                clean[place, j] = other[place, j]
        clean, other = layers[n](clean), layers[n](other)
    return clean


def my_patches(pictures, p):
    B, C, H, W = pictures.shape
    out = torch.zeros(B, (H // p) * (W // p), C * p * p)
    for b in range(B):
        for c in range(C):
            for i in range(H):
                for j in range(W):
                    place = c * p * p + (i % p) * p + j % p
                    out[b, (i // p) * (W // p) + j // p, place] = pictures[b, c, i, j]
    return out


def my_moments(weights, heads):
    out = []
    for t in range(weights.shape[2]):
        best, most = 0, -1.0
        for j in range(weights.shape[3]):
            total = sum(weights[layer, head, t, j].item() for layer, head in heads)
            if total > most:
                best, most = j, total
        out.append(0.02 * best)
    return out


def slowly(code, seconds=0.05):
    """La misma respuesta, que espera en cada llamada."""
    if isinstance(code, type):
        return type(code.__name__, (code,), {"forward": slowly(code.forward, seconds)})

    @functools.wraps(code)
    def later(*arguments, **options):
        time.sleep(seconds)
        return code(*arguments, **options)

    return later


# Cómo se llama la respuesta de cada ejercicio.
NAMES = {
    "0.1": "my_attended_token",
    "1.1": "my_dot_product",
    "1.2": "my_cosine_similarity",
    "2.1": "my_positional_encoding",
    "2.2": "my_encoder_input",
    "2.4": "my_projections",
    "3.1": "my_softmax",
    "3.2": "my_scaling",
    "4.1": "my_causal_mask",
    "4.2": "my_padding_mask",
    "4.3": "my_decoder_mask",
    "5.1": "my_attention",
    "6.1": "my_split_heads",
    "6.2": "MyMultiHeadAttention",
    "7.2": "my_multi_head",
    "8.1": "my_shift_right",
    "8.2": "my_masked_self_attention",
    "9.1": "my_cross_attention",
    "9.2": "my_add_and_norm",
    "10.1": "my_next_token_loss",
    "10.2": "my_greedy",
    "11.1": "my_alignment",
    "12.1": "my_previous_token_score",
    "12.2": "my_intervention",
    "13.1": "my_online_step",
    "13.2": "my_cached_attention",
    "13.3": "my_grouped_query_attention",
    "14.1": "my_rotary",
    "14.2": "my_rms_norm",
    "14.3": "my_next_probabilities",
    "15.1": "my_induction_score",
    "15.2": "my_logit_lens",
    "15.3": "my_patched",
    "16.1": "my_patches",
    "16.2": "my_moments",
}
