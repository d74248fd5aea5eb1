"""Respuestas de los ejercicios 2.1 y 2.2."""

import math

import numpy as np
import torch
from torch import nn

from answers import odd, right, wrong

# --- 2.1 La posición sinusoidal -------------------------------------------------------------------


@right("2.1")
def pos_loops(length, dim_embedding):
    table = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(0, dim_embedding, 2):
            angle = pos / 10000 ** (i / dim_embedding)
            table[pos, i] = math.sin(angle)
            if i + 1 < dim_embedding:
                table[pos, i + 1] = math.cos(angle)
    return table


@right("2.1")
def pos_exp_log(seq_len, d):
    pe = torch.zeros(seq_len, d)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


@right("2.1")
def pos_numpy(*args):
    L, d = args
    pos = np.arange(L)[:, np.newaxis]
    j = np.arange(d)[np.newaxis, :]
    angles = pos / np.power(10000, (2 * (j // 2)) / np.float32(d))
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return angles


@right("2.1")
def pos_stack(length, dim_embedding):
    freqs = 1.0 / (10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))
    x = torch.outer(torch.arange(length).float(), freqs)
    return torch.stack([x.sin(), x.cos()], dim=-1).flatten(1)


@right("2.1")
def pos_list(length, dim_embedding):
    rows = []
    for p in range(length):
        row = []
        for j in range(dim_embedding):
            a = p / 10000 ** (2 * (j // 2) / dim_embedding)
            row.append(math.sin(a) if j % 2 == 0 else math.cos(a))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


@right("2.1")
def pos_cos_is_shifted_sin(length, dim_embedding):
    j = torch.arange(dim_embedding, dtype=torch.float64)
    even = j - j % 2
    phase = (j % 2) * math.pi / 2
    return torch.sin(
        torch.arange(length)[:, None] / 10000 ** (even / dim_embedding) + phase
    ).float()


right("2.1")(
    type(
        "PosObject",
        (),
        {"__name__": "pos_object", "__call__": lambda self, L, d: pos_exp_log(L, d)},
    )()
)


@right("2.1")
def pos_hundred_and_double(length, dim_embedding):
    # Dos cambios que se deshacen: 100 al doble es 10000.
    i = torch.arange(0, dim_embedding, 2)
    x = torch.arange(length)[:, None] / 100 ** (2 * i / dim_embedding)
    pe = torch.empty(length, dim_embedding)
    pe[:, ::2], pe[:, 1::2] = x.sin(), x.cos()
    return pe


def table(angles_even, angles_odd=None, first=torch.sin, second=torch.cos):
    angles_odd = angles_even if angles_odd is None else angles_odd
    out = torch.zeros(angles_even.shape[0], 2 * angles_even.shape[1])
    out[:, 0::2] = first(angles_even)
    out[:, 1::2] = second(angles_odd)
    return out


def column(L):
    return torch.arange(L, dtype=torch.float32).unsqueeze(1)


@wrong("2.1", "exponente-doble", "frecuencias-distintas")
def pos_famous_text(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(0, dim_embedding, 2):
            pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / dim_embedding)))
            pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / dim_embedding)))
    return pe


@wrong("2.1", "exponente-doble")
def pos_double(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table(column(length) / 10000 ** (2 * i / dim_embedding))


@wrong("2.1", "exponente-mitad")
def pos_half(length, dim_embedding):
    i = torch.arange(dim_embedding // 2)
    return table(column(length) / 10000 ** (i / dim_embedding))


@wrong("2.1", "exponente-mitad")
def pos_base_hundred(length, dim_embedding):
    pe = np.zeros((length, dim_embedding))
    for k in range(length):
        for i in np.arange(dim_embedding // 2):
            denominator = np.power(100, 2 * i / dim_embedding)
            pe[k, 2 * i] = np.sin(k / denominator)
            pe[k, 2 * i + 1] = np.cos(k / denominator)
    return pe


@wrong("2.1", "frecuencias-distintas")
def pos_every_column(length, dim_embedding):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(dim_embedding) / dim_embedding)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return angles


@wrong("2.1", "frecuencias-distintas")
def pos_next_pair(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for p in range(length):
        for i in range(dim_embedding // 2):
            pe[p, 2 * i] = math.sin(p / 10000 ** (2 * i / dim_embedding))
            pe[p, 2 * i + 1] = math.cos(p / 10000 ** (2 * (i + 1) / dim_embedding))
    return pe


@wrong("2.1", "exponente-desde-1")
def pos_pairs_from_one(length, dim_embedding):
    i = torch.arange(1, dim_embedding // 2 + 1)
    return table(column(length) / torch.pow(10000, 2 * i / dim_embedding))


@wrong("2.1", "exponente-desde-1")
def pos_odd_exponents(length, dim_embedding):
    return table(column(length) / 10000 ** (torch.arange(1, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "exponente-al-revés")
def pos_reversed_pairs(length, dim_embedding):
    div = 10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding)
    return table(column(length) / div.flip(0))


@wrong("2.1", "exponente-sin-dividir")
def pos_no_division(length, dim_embedding):
    return table(column(length) / 10000.0 ** torch.arange(0, dim_embedding, 2))


@wrong("2.1", "exponente-sin-dividir")
def pos_no_division_i(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(dim_embedding // 2):
            pe[pos, 2 * i] = math.sin(pos / 10000**i)
            pe[pos, 2 * i + 1] = math.cos(pos / 10000**i)
    return pe


@wrong("2.1", "exponente-divisor")
def pos_tensor2tensor(length, dim_embedding):
    return table(column(length) / 10000 ** torch.linspace(0, 1, dim_embedding // 2))


@wrong("2.1", "exponente-divisor")
def pos_minus_one(length, dim_embedding):
    return table(
        column(length) / 10000 ** (torch.arange(0, dim_embedding, 2) / (dim_embedding - 1))
    )


@wrong("2.1", "exponente-entre-L")
def pos_over_length(length, dim_embedding):
    return table(column(length) / 10000 ** (torch.arange(0, dim_embedding, 2) / length))


@wrong("2.1", "exponente-entero")
def pos_integer_exponent(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(0, dim_embedding, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i // dim_embedding))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i // dim_embedding))
    return pe


@wrong("2.1", "base")
def pos_base_thousand(length, dim_embedding):
    return table(column(length) / 1000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "base")
def pos_base_extra_zero(length, dim_embedding):
    div = torch.exp(torch.arange(0, dim_embedding, 2) * -(math.log(100000.0) / dim_embedding))
    return table(column(length) * div)


@wrong("2.1", "base")
def pos_no_log(length, dim_embedding):
    return table(column(length) * torch.exp(-torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "base")
def pos_log10(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table(column(length) * torch.exp(-i * math.log10(10000) / dim_embedding))


@wrong("2.1", "base")
def pos_base_512(length, dim_embedding):
    return table(column(length) / 512 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "base", "mitades")
def pos_base_2000_halves(length, dim_embedding):
    x = column(length) / 2000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding)
    return torch.hstack([x.sin(), x.cos()])


@wrong("2.1", "posición-multiplicada")
def pos_multiplied(length, dim_embedding):
    return table(column(length) * 10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "posición-multiplicada")
def pos_forgot_minus(length, dim_embedding):
    div = torch.exp(torch.arange(0, dim_embedding, 2) * (math.log(10000.0) / dim_embedding))
    return table(column(length) * div)


@wrong("2.1", "posición-multiplicada")
def pos_negative_and_division(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(dim_embedding // 2):
            pe[pos, 2 * i] = math.sin(pos / 10000 ** (-2 * i / dim_embedding))
            pe[pos, 2 * i + 1] = math.cos(pos / 10000 ** (-2 * i / dim_embedding))
    return pe


@wrong("2.1", "sin-potencia")
def pos_no_power(length, dim_embedding):
    return table(column(length) / (10000 * torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "ángulos-casi-0")
def pos_precedence(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(dim_embedding // 2):
            pe[pos, 2 * i] = math.sin(pos / 10000**2 * i / dim_embedding)
            pe[pos, 2 * i + 1] = math.cos(pos / 10000**2 * i / dim_embedding)
    return pe


@wrong("2.1", "paréntesis")
def pos_precedence_division(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table(column(length) / 10000.0**i / dim_embedding)


@wrong("2.1", "paréntesis")
def pos_power_of_all(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table((column(length) / 10000) ** (i / dim_embedding))


@wrong("2.1", "división-entera")
def pos_floor(length, dim_embedding):
    return table(column(length) // 10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "grados")
def pos_degrees(length, dim_embedding):
    x = np.arange(length)[:, None] / 10000 ** (np.arange(0, dim_embedding, 2) / dim_embedding)
    pe = np.zeros((length, dim_embedding))
    pe[:, 0::2] = np.sin(np.deg2rad(x))
    pe[:, 1::2] = np.cos(np.deg2rad(x))
    return pe


@wrong("2.1", "vueltas")
def pos_turns(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table(2 * math.pi * column(length) / 10000 ** (i / dim_embedding))


def angles(length, dim_embedding):
    return column(length) / 10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding)


@wrong("2.1", "posición-desde-1")
def pos_from_one(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(1, length + 1):
        for i in range(0, dim_embedding, 2):
            pe[pos - 1, i] = math.sin(pos / 10000 ** (i / dim_embedding))
            pe[pos - 1, i + 1] = math.cos(pos / 10000 ** (i / dim_embedding))
    return pe


@wrong("2.1", "posición-al-revés")
def pos_backwards(length, dim_embedding):
    return pos_exp_log(length, dim_embedding).flip(0)


@wrong("2.1", "posición-repartida")
def pos_normalized(length, dim_embedding):
    return table(angles(length, dim_embedding) / length)


@wrong("2.1", "posición-repartida")
def pos_linspace(length, dim_embedding):
    pos = torch.linspace(0, length, length)[:, None]
    return table(pos / 10000 ** (torch.arange(0, dim_embedding, 2) / dim_embedding))


@wrong("2.1", "coseno-primero")
def pos_cos_first(length, dim_embedding):
    return table(angles(length, dim_embedding), first=torch.cos, second=torch.sin)


@wrong("2.1", "solo-seno")
def pos_sin_only(length, dim_embedding):
    return angles(length, dim_embedding).repeat_interleave(2, dim=1).sin()


@wrong("2.1", "solo-seno", "frecuencias-distintas")
def pos_sin_every_column(length, dim_embedding):
    return torch.sin(column(length) / 10000 ** (torch.arange(dim_embedding) / dim_embedding))


@wrong("2.1", "solo-coseno")
def pos_cos_only(length, dim_embedding):
    return table(angles(length, dim_embedding), first=torch.cos)


@wrong("2.1", "impares-a-cero")
def pos_no_cosine(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    pe[:, 0::2] = angles(length, dim_embedding).sin()
    return pe


@wrong("2.1", "pares-a-cero")
def pos_overwritten(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    pe[:, 0::2] = angles(length, dim_embedding).sin()
    pe = torch.zeros_like(pe)
    pe[:, 1::2] = angles(length, dim_embedding).cos()
    return pe


@wrong("2.1", "mitades")
def pos_halves(length, dim_embedding):
    x = angles(length, dim_embedding)
    return torch.cat([torch.sin(x), torch.cos(x)], dim=1)


@wrong("2.1", "mitades", "coseno-primero")
def pos_halves_cos_first(length, dim_embedding):
    x = angles(length, dim_embedding)
    return torch.cat([torch.cos(x), torch.sin(x)], dim=-1)


@wrong("2.1", "mitades-en-filas")
def pos_cat_rows(length, dim_embedding):
    x = angles(length, dim_embedding)
    return torch.cat([x.sin(), x.cos()])


@wrong("2.1", "paridad-de-la-fila")
def pos_row_parity(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for j in range(dim_embedding):
            a = pos / 10000 ** (2 * (j // 2) / dim_embedding)
            pe[pos, j] = math.sin(a) if pos % 2 == 0 else math.cos(a)
    return pe


@wrong("2.1", "media-tabla")
def pos_half_table(length, dim_embedding):
    return angles(length, dim_embedding).sin()


@wrong("2.1", "traspuesta")
def pos_transposed(length, dim_embedding):
    return pos_exp_log(length, dim_embedding).T


@wrong("2.1", "traspuesta", "mitades")
def pos_transposed_halves(length, dim_embedding):
    x = angles(length, dim_embedding).T
    return torch.cat([x.sin(), x.cos()], dim=0)


@wrong("2.1", "eje-de-más")
def pos_batch_axis(length, dim_embedding):
    return pos_exp_log(length, dim_embedding).unsqueeze(0)


@wrong("2.1", "eje-de-más", "exponente-doble")
def pos_tutorial_axis(length, dim_embedding):
    i = torch.arange(0, dim_embedding, 2)
    return table(column(length) / 10000 ** (2 * i / dim_embedding)).unsqueeze(1)


@wrong("2.1", "sin-aplanar")
def pos_not_flattened(length, dim_embedding):
    x = angles(length, dim_embedding)
    return torch.stack([x.sin(), x.cos()], dim=-1)


@wrong("2.1", "argumentos-cambiados")
def pos_swapped(dim_embedding, length):
    return pos_exp_log(length, dim_embedding)


@wrong("2.1", "posición-desde-1", "exponente-doble", "frecuencias-distintas")
def pos_three(length, dim_embedding):
    pe = torch.zeros(length, dim_embedding)
    for pos in range(length):
        for i in range(0, dim_embedding, 2):
            pe[pos, i] = math.sin((pos + 1) / (10000 ** ((2 * i) / dim_embedding)))
            pe[pos, i + 1] = math.cos((pos + 1) / (10000 ** ((2 * (i + 1)) / dim_embedding)))
    return pe


@wrong("2.1", "posición-desde-1", "coseno-primero")
def pos_from_one_cos(length, dim_embedding):
    pos = torch.arange(1, length + 1).unsqueeze(1)
    x = pos * torch.exp(torch.arange(0, dim_embedding, 2) * (-math.log(10000.0) / dim_embedding))
    return table(x, first=torch.cos, second=torch.sin)


@odd("2.1")
def pos_squared(length, dim_embedding):
    return pos_exp_log(length, dim_embedding) ** 2


@odd("2.1")
def pos_learned(length, dim_embedding):
    torch.manual_seed(3)
    return torch.randn(length, dim_embedding)


@odd("2.1")
def pos_plain_number(length, dim_embedding):
    return column(length).expand(length, dim_embedding)


@odd("2.1")
def pos_zeros(length, dim_embedding):
    return torch.zeros(length, dim_embedding)


@odd("2.1")
def pos_square_wave(length, dim_embedding):
    return pos_exp_log(length, dim_embedding).sign()


# --- 2.2 Lo que entra en la primera capa ----------------------------------------------------------


@right("2.2")
def enter_by_hand(token_vectors, position_vectors, type_vectors, gamma, beta, eps):
    s = token_vectors + position_vectors + type_vectors
    mean = s.mean(dim=-1, keepdim=True)
    variance = s.var(dim=-1, keepdim=True, correction=0)
    return gamma * (s - mean) / torch.sqrt(variance + eps) + beta


@right("2.2")
def enter_functional(token_vectors, position_vectors, type_vectors, gamma, beta, eps=1e-12):
    s = token_vectors + position_vectors + type_vectors
    return nn.functional.layer_norm(s, (s.shape[-1],), gamma, beta, eps)


@right("2.2")
def enter_module(t, p, k, w, b, e):
    norm = nn.LayerNorm(t.shape[-1], eps=e)
    norm.weight = nn.Parameter(w)
    norm.bias = nn.Parameter(b)
    return norm(t + p + k)


@right("2.2")
def enter_loops(t, p, k, w, b, e):
    out = torch.empty_like(t)
    for n in range(t.shape[0]):
        for i in range(t.shape[1]):
            s = t[n, i] + p[n, i] + k[n, i]
            m = sum(s) / len(s)
            v = sum((x - m) ** 2 for x in s) / len(s)
            out[n, i] = (s - m) / (v + e) ** 0.5 * w + b
    return out


@right("2.2")
def enter_in_place(*args):
    t, p, k, w, b, e = args
    s = torch.stack((t, p, k)).sum(0)
    s -= s.mean(-1, keepdim=True)
    s *= torch.rsqrt((s * s).mean(-1, keepdim=True) + e)
    return s * w + b


@right("2.2")
def enter_moments(t, p, k, w, b, e):
    x = (t + p + k).double()
    var, mean = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
    return torch.addcmul(b, w, ((x - mean) / (var + e).sqrt()).float())


def normalized(s, w, b, e, dim=-1):
    m = s.mean(dim, keepdim=True)
    return w * (s - m) / torch.sqrt(((s - m) ** 2).mean(dim, keepdim=True) + e) + b


@wrong("2.2", "sin-tipo")
def enter_no_type(t, p, k, w, b, e):
    return nn.functional.layer_norm(t + p, t.shape[-1:], w, b, e)


@wrong("2.2", "sin-posición")
def enter_no_position(t, p, k, w, b, e):
    return normalized(t + k, w, b, e)


@wrong("2.2", "sin-token")
def enter_no_token(t, p, k, w, b, e):
    return normalized(p + k, w, b, e)


@wrong("2.2", "sin-tipo", "sin-posición")
def enter_token_only(t, p, k, w, b, e):
    return normalized(t, w, b, e)


@wrong("2.2", "posición-dos-veces")
def enter_position_twice(t, p, k, w, b, e):
    x = t + p
    return normalized(x + p + k, w, b, e)


@wrong("2.2", "√d_model")
def enter_scaled(t, p, k, w, b, e):
    return normalized(t * math.sqrt(t.shape[-1]) + p + k, w, b, e)


@wrong("2.2", "√d_model")
def enter_all_scaled(t, p, k, w, b, e):
    return normalized((t + p + k) * math.sqrt(t.shape[-1]), w, b, e)


@wrong("2.2", "media-de-los-tres")
def enter_mean(t, p, k, w, b, e):
    return normalized(torch.stack([t, p, k]).mean(0), w, b, e)


@wrong("2.2", "norma-antes")
def enter_norm_tokens(t, p, k, w, b, e):
    return normalized(t, w, b, e) + p + k


@wrong("2.2", "norma-antes")
def enter_norm_each(t, p, k, w, b, e):
    return normalized(t, w, b, e) + normalized(p, w, b, e) + normalized(k, w, b, e)


@wrong("2.2", "norma-antes")
def enter_type_last(t, p, k, w, b, e):
    return normalized(t + p, w, b, e) + k


@wrong("2.2", "sin-norma")
def enter_sum(t, p, k, w, b, e):
    return t + p + k


@wrong("2.2", "sin-norma", "sin-tipo")
def enter_sum_of_two(t, p, k, w, b, e):
    return t + p


@wrong("2.2", "norma-dos-veces")
def enter_twice(t, p, k, w, b, e):
    return normalized(normalized(t + p + k, w, b, e), w, b, e)


@wrong("2.2", "suma-de-más")
def enter_residual(t, p, k, w, b, e):
    s = t + p + k
    return s + normalized(s, w, b, e)


@wrong("2.2", "producto")
def enter_product(t, p, k, w, b, e):
    return normalized(t * p * k, w, b, e)


@wrong("2.2", "norma-otro-eje")
def enter_over_tokens(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, e, dim=1)


@wrong("2.2", "norma-otro-eje")
def enter_over_batch(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, e, dim=0)


@wrong("2.2", "norma-otro-eje")
def enter_batch_norm(t, p, k, w, b, e):
    s = (t + p + k).transpose(1, 2)
    return nn.functional.batch_norm(s, None, None, w, b, training=True, eps=e).transpose(1, 2)


@wrong("2.2", "norma-todo")
def enter_whole(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean()) / (s.var(correction=0) + e).sqrt() + b


@wrong("2.2", "norma-todo")
def enter_sentence(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, e, dim=(1, 2))


@wrong("2.2", "sin-centrar")
def enter_rms(t, p, k, w, b, e):
    s = t + p + k
    return w * s * torch.rsqrt(s.pow(2).mean(-1, keepdim=True) + e) + b


@wrong("2.2", "sin-centrar")
def enter_uncentered(t, p, k, w, b, e):
    s = t + p + k
    return w * s / (s.var(-1, keepdim=True, correction=0) + e).sqrt() + b


@wrong("2.2", "varianza-n-1")
def enter_unbiased(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean(-1, keepdim=True)) / (s.var(-1, keepdim=True) + e).sqrt() + b


@wrong("2.2", "varianza-n-1", "eps-fuera")
def enter_std(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean(-1, keepdim=True)) / (s.std(-1, keepdim=True) + e) + b


@wrong("2.2", "varianza-n-1", "sin-eps")
def enter_std_no_eps(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean(-1, keepdim=True)) / s.std(-1, keepdim=True) + b


@wrong("2.2", "varianza-n-1", "sin-eps", "sin-γ", "sin-β")
def enter_four(t, p, k, w, b, e):
    s = t + p + k
    return (s - s.mean(-1, keepdim=True)) / s.std(-1, keepdim=True)


@wrong("2.2", "sin-raíz")
def enter_variance(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean(-1, keepdim=True)) / (s.var(-1, keepdim=True, correction=0) + e) + b


@wrong("2.2", "sin-dividir")
def enter_only_centered(t, p, k, w, b, e):
    s = t + p + k
    return (s - s.mean(-1, keepdim=True)) * w + b


@wrong("2.2", "norma-l2", "sin-centrar")
def enter_l2(t, p, k, w, b, e):
    return nn.functional.normalize(t + p + k, dim=-1) * w + b


@wrong("2.2", "norma-l2")
def enter_centered_l2(t, p, k, w, b, e):
    s = t + p + k
    s = s - s.mean(-1, keepdim=True)
    return s / s.norm(dim=-1, keepdim=True) * w + b


@wrong("2.2", "sin-β")
def enter_no_bias(t, p, k, w, b, e):
    return normalized(t + p + k, w, 0, e)


@wrong("2.2", "sin-γ")
def enter_no_weight(t, p, k, w, b, e):
    return normalized(t + p + k, 1, b, e)


@wrong("2.2", "sin-γ", "sin-β", "eps-fijo")
def enter_new_module(t, p, k, w, b, e):
    return nn.LayerNorm(t.shape[-1])(t + p + k)


@wrong("2.2", "sin-γ", "sin-β")
def enter_bare(t, p, k, w, b, e):
    return nn.functional.layer_norm(t + p + k, t.shape[-1:], eps=e)


@wrong("2.2", "γ-y-β")
def enter_swapped(t, p, k, w, b, e):
    return nn.functional.layer_norm(t + p + k, t.shape[-1:], b, w, e)


@wrong("2.2", "β-antes")
def enter_bias_first(t, p, k, w, b, e):
    return (normalized(t + p + k, 1, 0, e) + b) * w


@wrong("2.2", "sin-eps")
def enter_no_eps(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, 0)


@wrong("2.2", "eps-fijo")
def enter_default_eps(t, p, k, w, b, e):
    return nn.functional.layer_norm(t + p + k, t.shape[-1:], w, b)


@wrong("2.2", "eps-fijo")
def enter_bert_eps(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, 1e-12)


@wrong("2.2", "eps-fuera")
def enter_eps_outside(t, p, k, w, b, e):
    s = t + p + k
    return w * (s - s.mean(-1, keepdim=True)) / (s.std(-1, keepdim=True, correction=0) + e) + b


@wrong("2.2", "sin-tipo", "eps-fuera")
def enter_pair(t, p, k, w, b, e):
    return enter_eps_outside(t, p, torch.zeros_like(k), w, b, e)


@wrong("2.2", "norma-otro-eje", "sin-tipo")
def enter_axis_and_type(t, p, k, w, b, e):
    return normalized(t + p, w, b, e, dim=-2)


@odd("2.2")
def enter_softmax(t, p, k, w, b, e):
    return torch.softmax(t + p + k, dim=-1) * w + b


@odd("2.2")
def enter_tanh(t, p, k, w, b, e):
    return torch.tanh(t + p + k)


@odd("2.2")
def enter_min_max(t, p, k, w, b, e):
    s = t + p + k
    low, high = s.amin(-1, keepdim=True), s.amax(-1, keepdim=True)
    return (s - low) / (high - low + e) * w + b


@odd("2.2")
def enter_cat(t, p, k, w, b, e):
    return torch.cat([t, p, k], dim=-1)


# --- Lo que no se ve con números corrientes -------------------------------------------------------


def _sines(length, width, kind=torch.float32):
    angle = torch.arange(length, dtype=kind)[:, None] / 10_000 ** (
        torch.arange(0, width, 2) / width
    )
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


@odd("2.1")
def pos_of_a_stored_table(length, dim_embedding):
    return _sines(64, dim_embedding)[:length]


@odd("2.1")
def pos_that_overflow(length, dim_embedding):
    return _sines(length, dim_embedding, torch.int8)


@wrong("2.1", "media-precisión")
def pos_bfloat16(length, dim_embedding):
    return _sines(length, dim_embedding).bfloat16().float()


@right("2.2")
def enter_two_moments(t, p, k, w, b, e):
    s = t + p + k
    mean = s.mean(-1, keepdim=True)
    variance = (s * s).mean(-1, keepdim=True) - mean**2
    return w * (s - mean) / torch.sqrt(variance + e) + b


@odd("2.2")
def enter_clamped(t, p, k, w, b, e):
    return normalized(t + p + k, w, b, e).clamp(-5, 5)


@wrong("2.2", "media-precisión")
def enter_half(t, p, k, w, b, e):
    return normalized(*(x.half() for x in (t + p + k, w, b)), e).float()
