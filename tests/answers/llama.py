"""Respuestas de los ejercicios 14.1, 14.2 y 14.3."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import odd, right, wrong
from course_lib.layers import RMSNorm, rotary
from course_lib.sampling import next_token_probabilities

# --- 14.1 Girar según la posición -----------------------------------------------------------------


def table(positions, d, base=10_000.0):
    """Los ángulos, (L, d/2)."""
    return positions[:, None] * base ** (-torch.arange(0, d, 2) / d)


def spin(x, angle):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


@right("14.1")
def rope_halves(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base))


@right("14.1")
def rope_of_transformers(x, positions, base):
    inv_freq = 1.0 / (base ** (torch.arange(0, x.shape[-1], 2, dtype=torch.float) / x.shape[-1]))
    freqs = positions[..., None].float() * inv_freq
    emb = torch.cat((freqs, freqs), dim=-1)
    return x * emb.cos() + rotate_half(x) * emb.sin()


@right("14.1")
def rope_complex(x, positions, base):
    a, b = x.chunk(2, dim=-1)
    z = torch.complex(a.contiguous(), b.contiguous())
    angle = table(positions, x.shape[-1], base)
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], dim=-1)


@right("14.1")
def rope_loops(x, positions, base):
    d = x.shape[-1]
    out = x.clone()
    for n, pos in enumerate(positions.tolist()):
        for i in range(d // 2):
            t = pos / base ** (2 * i / d)
            a, b = x[..., n, i], x[..., n, i + d // 2]
            out[..., n, i] = a * math.cos(t) - b * math.sin(t)
            out[..., n, i + d // 2] = b * math.cos(t) + a * math.sin(t)
    return out


@right("14.1")
def rope_matrices(x, positions, base):
    d = x.shape[-1]
    angle = table(positions.double(), d, base)
    cos, sin = torch.diag_embed(angle.cos()), torch.diag_embed(angle.sin())
    turn = torch.cat([torch.cat([cos, -sin], -1), torch.cat([sin, cos], -1)], -2)
    return (turn @ x.double()[..., None])[..., 0]


@right("14.1")
def rope_numpy(x, positions, base):
    x, positions = x.numpy(), positions.numpy()
    d = x.shape[-1]
    angle = np.outer(positions, np.exp(-np.arange(0, d, 2) * np.log(base) / d))
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate(
        [a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1
    )


@right("14.1")
def rope_with_default(x, positions, base=10_000.0):
    d = x.shape[-1]
    angle = torch.einsum("l,i->li", positions.float(), base ** (-2 * torch.arange(d // 2) / d))
    out = torch.empty_like(x)
    out[..., : d // 2] = x[..., : d // 2] * angle.cos() - x[..., d // 2 :] * angle.sin()
    out[..., d // 2 :] = x[..., d // 2 :] * angle.cos() + x[..., : d // 2] * angle.sin()
    return out


@right("14.1")
def rope_reshaped(x, positions, base):
    d = x.shape[-1]
    pairs = x.unflatten(-1, (2, d // 2))
    t = table(positions, d, base)
    turn = torch.stack([torch.stack([t.cos(), -t.sin()]), torch.stack([t.sin(), t.cos()])])
    return torch.einsum("rcli,...lci->...lri", turn, pairs).flatten(-2)


@right("14.1")
def rope_by_token(x, positions, base):
    theta = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    tokens = [spin(x[..., n, :], p * theta) for n, p in enumerate(positions)]
    return torch.stack(tokens, dim=-2)


def apply_rotary_pos_emb(q, k, cos, sin):
    """La de transformers, copiada: importarla tarda segundos, y aquí la leen todos los procesos."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


@right("14.1")
def rope_called_from_transformers(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat(1, 2)[None]
    whole = x.reshape(1, -1, *x.shape[-2:])
    return apply_rotary_pos_emb(whole, whole, angle.cos(), angle.sin())[0].view_as(x)


@right("14.1")
def rope_of_the_library(x, positions, base):
    return rotary(x, positions, base)


def interleaved(x, angle):
    out = torch.empty_like(x)
    a, b = x[..., 0::2], x[..., 1::2]
    out[..., 0::2] = a * angle.cos() - b * angle.sin()
    out[..., 1::2] = b * angle.cos() + a * angle.sin()
    return out


@wrong("14.1", "parejas-entrelazadas")
def rope_of_the_paper(x, positions, base):
    return interleaved(x, table(positions, x.shape[-1], base))


@wrong("14.1", "parejas-entrelazadas")
def rope_as_complex(x, positions, base):
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    angle = table(positions, x.shape[-1], base)
    z = z * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(z).flatten(-2)


@wrong("14.1", "parejas-mezcladas")
def rope_repeat_interleave(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat_interleave(2, dim=-1)
    return x * angle.cos() + rotate_half(x) * angle.sin()


@wrong("14.1", "parejas-mezcladas")
def rope_halves_of_neighbours(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat(1, 2)
    other = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    return x * angle.cos() + other * angle.sin()


@wrong("14.1", "vuelve-entrelazado")
def rope_stacked(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    pair = [a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()]
    return torch.stack(pair, dim=-1).flatten(-2)


@wrong("14.1", "parejas-entrelazadas", "vuelve-en-mitades")
def rope_pairs_in_halves(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)


@wrong("14.1", "una-frecuencia-por-columna")
def rope_d_k_frequencies(x, positions, base):
    d = x.shape[-1]
    angle = positions[:, None] * base ** (-torch.arange(d) / d)
    return x * angle.cos() + rotate_half(x) * angle.sin()


@wrong("14.1", "una-frecuencia-por-columna")
def rope_d_k_frequencies_twice(x, positions, base):
    d = x.shape[-1]
    angle = positions[:, None] * base ** (-2 * torch.arange(d) / d)
    return x * angle.cos() + rotate_half(x) * angle.sin()


@wrong("14.1", "gira-al-revés")
def rope_backwards(x, positions, base):
    return spin(x, -table(positions, x.shape[-1], base))


@wrong("14.1", "gira-al-revés")
def rope_minus_on_the_other_half(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat(1, 2)
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat([b, -a], dim=-1) * angle.sin()


@wrong("14.1", "sin-signo")
def rope_no_minus(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat(1, 2)
    return x * angle.cos() + x.roll(x.shape[-1] // 2, -1) * angle.sin()


@wrong("14.1", "sin-posiciones")
def rope_from_zero(x, positions, base):
    return spin(x, table(torch.arange(x.shape[-2]), x.shape[-1], base))


@wrong("14.1", "sin-posiciones", "base-fija")
def rope_only_x(x, positions, base):
    return spin(x, table(torch.arange(x.shape[-2]), x.shape[-1]))


@wrong("14.1", "posición-desde-la-primera")
def rope_relative_to_the_first(x, positions, base):
    return spin(x, table(positions - positions[0], x.shape[-1], base))


@wrong("14.1", "posición-desde-1")
def rope_from_one(x, positions, base):
    return spin(x, table(positions + 1, x.shape[-1], base))


@wrong("14.1", "una-sola-posición")
def rope_first_position(x, positions, base):
    return spin(x, table(positions[:1], x.shape[-1], base))


@wrong("14.1", "posición-repartida")
def rope_normalized(x, positions, base):
    return spin(x, table(positions / len(positions), x.shape[-1], base))


@wrong("14.1", "base-fija")
def rope_default_base(x, positions, base):
    return spin(x, table(positions, x.shape[-1]))


@wrong("14.1", "base-fija")
def rope_base_of_llama_3(x, positions, base):
    return spin(x, table(positions, x.shape[-1], 500_000.0))


@wrong("14.1", "base-al-revés")
def rope_multiplied(x, positions, base):
    return spin(x, positions[:, None] * base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1]))


@wrong("14.1", "base-al-revés")
def rope_forgot_minus(x, positions, base):
    exponent = torch.arange(0, x.shape[-1], 2) * math.log(base) / x.shape[-1]
    return spin(x, positions[:, None] * exponent.exp())


@wrong("14.1", "sin-logaritmo")
def rope_no_log(x, positions, base):
    return spin(x, positions[:, None] * torch.exp(-torch.arange(0, x.shape[-1], 2) / x.shape[-1]))


@wrong("14.1", "sin-logaritmo")
def rope_log10(x, positions, base):
    exponent = torch.arange(0, x.shape[-1], 2) * math.log10(base) / x.shape[-1]
    return spin(x, positions[:, None] * (-exponent).exp())


@wrong("14.1", "grados")
def rope_degrees(x, positions, base):
    return spin(x, torch.deg2rad(table(positions, x.shape[-1], base)))


@wrong("14.1", "grados")
def rope_in_degrees(x, positions, base):
    return spin(x, torch.rad2deg(table(positions, x.shape[-1], base)))


@wrong("14.1", "vueltas")
def rope_turns(x, positions, base):
    return spin(x, 2 * math.pi * table(positions, x.shape[-1], base))


@wrong("14.1", "exponente-mitad")
def rope_half_exponent(x, positions, base):
    d = x.shape[-1]
    return spin(x, positions[:, None] / base ** (torch.arange(d // 2) / d))


@wrong("14.1", "exponente-doble")
def rope_double_exponent(x, positions, base):
    d = x.shape[-1]
    return spin(x, positions[:, None] / base ** (2 * torch.arange(0, d, 2) / d))


@wrong("14.1", "exponente-desde-1")
def rope_pairs_from_one(x, positions, base):
    d = x.shape[-1]
    return spin(x, positions[:, None] / base ** (2 * torch.arange(1, d // 2 + 1) / d))


@wrong("14.1", "exponente-al-revés")
def rope_slow_first(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base).flip(-1))


@wrong("14.1", "exponente-sin-dividir")
def rope_no_division(x, positions, base):
    return spin(x, positions[:, None] / base ** torch.arange(0, x.shape[-1], 2).float())


@wrong("14.1", "exponente-divisor")
def rope_linspace(x, positions, base):
    return spin(x, positions[:, None] / base ** torch.linspace(0, 1, x.shape[-1] // 2))


@wrong("14.1", "misma-frecuencia")
def rope_one_frequency(x, positions, base):
    return spin(x, positions[:, None].float())


@wrong("14.1", "suma-en-vez-de-girar")
def rope_added(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return x + torch.cat([angle.sin(), angle.cos()], dim=-1)


@wrong("14.1", "suma-en-vez-de-girar")
def rope_cos_and_sin_added(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return x + torch.cat([angle.cos(), angle.sin()], dim=-1)


@wrong("14.1", "suma-en-vez-de-girar", "parejas-entrelazadas")
def rope_of_lesson_02(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


@wrong("14.1", "seno-por-coseno")
def rope_sin_first(x, positions, base):
    angle = table(positions, x.shape[-1], base).repeat(1, 2)
    return x * angle.sin() + rotate_half(x) * angle.cos()


@wrong("14.1", "sin-cambiar-de-pareja")
def rope_same_half(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - a * angle.sin(), b * angle.cos() + b * angle.sin()], dim=-1)


@wrong("14.1", "solo-coseno")
def rope_only_cos(x, positions, base):
    return x * table(positions, x.shape[-1], base).repeat(1, 2).cos()


@wrong("14.1", "lee-lo-ya-girado")
def rope_in_place(x, positions, base):
    angle, x, half = table(positions, x.shape[-1], base), x.clone(), x.shape[-1] // 2
    x[..., :half] = x[..., :half] * angle.cos() - x[..., half:] * angle.sin()
    x[..., half:] = x[..., half:] * angle.cos() + x[..., :half] * angle.sin()
    return x


@wrong("14.1", "gira-un-solo-lado")
def rope_only_the_first(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b], dim=-1)


@wrong("14.1", "gira-media-d_k")
def rope_half_of_the_columns(x, positions, base):
    half = x.shape[-1] // 2
    if half % 2:
        half += 1 if half > 1 else 0
    front = x[..., : x.shape[-1] // 2]
    if front.shape[-1] % 2:
        raise ValueError("d_k no se reparte")
    return torch.cat(
        [spin(front, table(positions, front.shape[-1], base)), x[..., x.shape[-1] // 2 :]], dim=-1
    )


@wrong("14.1", "reflejo")
def rope_conjugate(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    z = torch.complex(a.contiguous(), -b.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], dim=-1)


@wrong("14.1", "mitades-cambiadas")
def rope_halves_swapped(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)).roll(x.shape[-1] // 2, -1)


@wrong("14.1", "mitades-cambiadas")
def rope_second_half_first(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    b, a = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)


@wrong("14.1", "gira-dos-veces")
def rope_twice(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return spin(spin(x, angle), angle)


@wrong("14.1", "posición-desde-la-primera")
def rope_relative_to_the_last(x, positions, base):
    return spin(x, table(positions - positions[-1], x.shape[-1], base))


@odd("14.1")
def rope_one_head(x, positions, base):
    out = x.clone()
    out[..., 0, :, :] = spin(x[..., 0, :, :], table(positions, x.shape[-1], base))
    return out


@right("14.1")
def rope_permuted(x, positions, base):
    order = torch.arange(x.shape[-1]).view(2, -1).T.flatten()
    angle = table(positions, x.shape[-1], base)
    return interleaved(x[..., order], angle)[..., order.argsort()]


@right("14.1")
def rope_from_a_long_table(x, positions, base):
    return spin(x, table(torch.arange(4096), x.shape[-1], base)[positions])


@wrong("14.1", "sobran-ejes")
def rope_for_four_axes(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)[None, None])


@wrong("14.1", "parejas-entrelazadas", "sin-posiciones", "base-fija")
def rope_three(x, positions, base):
    return interleaved(x, table(torch.arange(x.shape[-2]), x.shape[-1]))


@odd("14.1")
def rope_cos_and_sin_by_halves(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos(), b * angle.sin()], dim=-1)


@odd("14.1")
def rope_floor(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base).floor())


@odd("14.1")
def rope_only_four_axes(x, positions, base):
    batch, heads, length, d = x.shape
    return spin(x, table(positions, d, base))


@wrong("14.1", "por-el-ángulo")
def rope_times_the_angle(x, positions, base):
    return x * table(positions, x.shape[-1], base).repeat(1, 2)


@wrong("14.1", "cambia-la-norma")
def rope_unit(x, positions, base):
    return F.normalize(spin(x, table(positions, x.shape[-1], base)), dim=-1)


@wrong("14.1", "cambia-la-norma")
def rope_scaled(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)) / x.shape[-1] ** 0.5


@wrong("14.1", "factor-de-más")
def rope_twice_as_long(x, positions, base):
    return 2 * spin(x, table(positions, x.shape[-1], base))


@wrong("14.1", "suma-la-entrada")
def rope_residual(x, positions, base):
    return x + spin(x, table(positions, x.shape[-1], base))


@wrong("14.1", "sobran-ejes")
def rope_four_axes(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return spin(x, angle[None, None]) if x.dim() < 4 else spin(x, angle)[None]


@wrong("14.1", "redondea")
def rope_rounded(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)).round(decimals=2)


@wrong("14.1", "media-precisión")
def rope_half_precision(x, positions, base):
    angle = table(positions, x.shape[-1], base)
    return spin(x.bfloat16(), angle.bfloat16()).float()


@wrong("14.1", "gira-al-revés", "parejas-entrelazadas")
def rope_two(x, positions, base):
    return interleaved(x, -table(positions, x.shape[-1], base))


@wrong("14.1", "cambia-la-entrada")
def rope_on_x(x, positions, base):
    x[..., : x.shape[-1] // 2] *= 1.0 + 0.0 * positions[:, None]
    x += 1.0
    return spin(x - 1.0, table(positions, x.shape[-1], base))


STORED = {}


@wrong("14.1", "guarda-estado")
def rope_stored_by_length(x, positions, base):
    key = x.shape[-2], x.shape[-1], base
    if key not in STORED:
        STORED[key] = table(positions, x.shape[-1], base)
    return spin(x, STORED[key])


@wrong("14.1", "dtype")
def rope_complex_out(x, positions, base):
    a, b = x.chunk(2, dim=-1)
    angle = table(positions, x.shape[-1], base)
    return torch.complex(a.contiguous(), b.contiguous()) * torch.polar(
        torch.ones_like(angle), angle
    )


@odd("14.1")
def rope_relu(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)).relu()


@odd("14.1")
def rope_softmax(x, positions, base):
    return spin(x, table(positions, x.shape[-1], base)).softmax(-1)


@wrong("14.1", "no-gira")
def rope_nothing(x, positions, base):
    return x


@odd("14.1")
def rope_square_positions(x, positions, base):
    return spin(x, table(positions**2, x.shape[-1], base))


@odd("14.1")
def rope_log_positions(x, positions, base):
    return spin(x, table((positions + 1).log(), x.shape[-1], base))


# --- 14.2 RMSNorm ---------------------------------------------------------------------------------


def scale(x, eps=0.0, dim=-1):
    return (x.pow(2).mean(dim, keepdim=True) + eps).sqrt()


@right("14.2")
def rms_of_llama(x, weight, eps):
    x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return weight * x


@right("14.2")
def rms_of_torch(x, weight, eps):
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


@right("14.2")
def rms_module(x, weight, eps):
    norm = nn.RMSNorm(x.shape[-1], eps=eps)
    norm.weight = nn.Parameter(weight)
    return norm(x)


@right("14.2")
def rms_loops(x, weight, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]).tolist():
        size = math.sqrt(sum(v * v for v in row) / len(row) + eps)
        rows.append([v / size * w for v, w in zip(row, weight.tolist())])
    return torch.tensor(rows).reshape(x.shape)


@right("14.2")
def rms_numpy(x, weight, eps=1e-6):
    x = x.numpy().astype(np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight.numpy()


@right("14.2")
def rms_by_the_norm(x, weight, eps):
    d = x.shape[-1]
    return x * d**0.5 / (x.norm(dim=-1, keepdim=True) ** 2 + d * eps).sqrt() * weight


@right("14.2")
def rms_einsum(x, weight, eps):
    power = torch.einsum("...d,...d->...", x, x) / x.shape[-1]
    return torch.einsum("...d,...,d->...d", x, (power + eps) ** -0.5, weight)


@right("14.2")
def rms_double(x, weight, eps):
    return (x.double() / scale(x.double(), eps)) * weight


@right("14.2")
def rms_of_the_library(x, weight, eps):
    norm = RMSNorm(x.shape[-1], eps)
    norm.weight.data = weight
    return norm(x)


@wrong("14.2", "layernorm")
def rms_layer_norm(x, weight, eps):
    return F.layer_norm(x, (x.shape[-1],), weight, None, eps)


@wrong("14.2", "resta-la-media")
def rms_centred(x, weight, eps):
    return (x - x.mean(-1, keepdim=True)) / scale(x, eps) * weight


@wrong("14.2", "desviación-típica")
def rms_variance(x, weight, eps):
    return x / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() * weight


@wrong("14.2", "desviación-típica", "entre-d−1", "eps-fuera")
def rms_std(x, weight, eps):
    return x / (x.std(-1, keepdim=True) + eps) * weight


@wrong("14.2", "layernorm", "entre-d−1")
def rms_layer_norm_unbiased(x, weight, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (x.var(-1, keepdim=True) + eps).sqrt() * weight


@wrong("14.2", "eps-fuera")
def rms_eps_outside(x, weight, eps):
    return x / (scale(x) + eps) * weight


@wrong("14.2", "sin-eps")
def rms_no_eps(x, weight, eps):
    return x / scale(x) * weight


@wrong("14.2", "eps-fijo")
def rms_own_eps(x, weight, eps):
    return x / scale(x, 1e-6) * weight


@wrong("14.2", "eps-fijo")
def rms_new_module(x, weight, eps):
    return nn.RMSNorm(x.shape[-1], eps=1e-5)(x) * weight


@wrong("14.2", "eps-de-tope")
def rms_clamped(x, weight, eps):
    return x / scale(x).clamp(min=eps) * weight


@wrong("14.2", "suma-en-vez-de-media")
def rms_sum(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps) * weight


@wrong("14.2", "suma-en-vez-de-media", "sin-eps")
def rms_l2(x, weight, eps):
    return F.normalize(x, dim=-1) * weight


@wrong("14.2", "suma-en-vez-de-media", "eps-fuera")
def rms_l2_eps(x, weight, eps):
    return x / (x.norm(dim=-1, keepdim=True) + eps) * weight


@wrong("14.2", "longitud-entre-d", "sin-eps")
def rms_length_over_d(x, weight, eps):
    return x / (x.norm(dim=-1, keepdim=True) / x.shape[-1]) * weight


@wrong("14.2", "sin-media")
def rms_no_mean(x, weight, eps):
    return x / (x.pow(2) + eps).sqrt() * weight


@wrong("14.2", "eps-fijo")
def rms_thousandth(x, weight, eps):
    return x / scale(x, 0.002) * weight


@wrong("14.2", "sin-vector", "sin-lote")
def rms_tables(x, weight, eps):
    length, d = x.shape
    return x / scale(x, eps) * weight


@wrong("14.2", "sin-raíz")
def rms_no_root(x, weight, eps):
    return x / (x.pow(2).mean(-1, keepdim=True) + eps) * weight


@wrong("14.2", "multiplica")
def rms_multiplied(x, weight, eps):
    return x * scale(x, eps) * weight


@wrong("14.2", "valor-absoluto", "eps-fuera")
def rms_absolute(x, weight, eps):
    return x / (x.abs().mean(-1, keepdim=True) + eps) * weight


@wrong("14.2", "cuadrado-de-la-media")
def rms_mean_then_square(x, weight, eps):
    return x / (x.mean(-1, keepdim=True).pow(2) + eps).sqrt() * weight


@wrong("14.2", "sin-cuadrado")
def rms_no_square(x, weight, eps):
    return x / (x.mean(-1, keepdim=True) + eps).sqrt() * weight


@wrong("14.2", "entre-d−1")
def rms_unbiased(x, weight, eps):
    power = x.pow(2).sum(-1, keepdim=True) / (x.shape[-1] - 1)
    return x / (power + eps).sqrt() * weight


@wrong("14.2", "máximo")
def rms_maximum(x, weight, eps):
    return x / (x.square().amax(-1, keepdim=True) + eps).sqrt() * weight


@wrong("14.2", "todo-junto")
def rms_whole(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean() + eps) * weight


@wrong("14.2", "por-tokens")
def rms_over_tokens(x, weight, eps):
    return x / scale(x, eps, dim=-2) * weight


@wrong("14.2", "por-lote")
def rms_over_batch(x, weight, eps):
    return x / scale(x, eps, dim=0) * weight


@wrong("14.2", "sin-keepdim")
def rms_no_keepdim(x, weight, eps):
    return x / (x.pow(2).mean(-1) + eps).sqrt() * weight


@wrong("14.2", "sin-weight")
def rms_no_weight(x, weight, eps):
    return x / scale(x, eps)


@wrong("14.2", "uno-más-weight")
def rms_of_gemma(x, weight, eps):
    return x / scale(x, eps) * (1 + weight)


@wrong("14.2", "suma-weight")
def rms_added_weight(x, weight, eps):
    return x / scale(x, eps) + weight


@wrong("14.2", "divide-por-weight")
def rms_divided(x, weight, eps):
    return x / scale(x, eps) / weight


@wrong("14.2", "weight-antes")
def rms_weight_first(x, weight, eps):
    return (x * weight) / scale(x * weight, eps)


@wrong("14.2", "suma-la-entrada")
def rms_residual(x, weight, eps):
    return x + x / scale(x, eps) * weight


@wrong("14.2", "sin-dividir")
def rms_only_weight(x, weight, eps):
    return x * weight


@wrong("14.2", "sin-weight", "suma-en-vez-de-media")
def rms_two(x, weight, eps):
    return x / (x.pow(2).sum(-1, keepdim=True) + eps).sqrt()


@wrong("14.2", "factor-de-más")
def rms_three_times(x, weight, eps):
    return 3 * x / scale(x, eps) * weight


@wrong("14.2", "sobran-ejes")
def rms_extra_axis(x, weight, eps):
    return (x / scale(x, eps) * weight)[None]


@wrong("14.2", "media-precisión")
def rms_half_precision(x, weight, eps):
    return (x / scale(x, eps) * weight).bfloat16().float()


@wrong("14.2", "cambia-la-entrada")
def rms_in_place(x, weight, eps):
    x /= scale(x, eps)
    return x * weight


@odd("14.2")
def rms_softmax(x, weight, eps):
    return x.softmax(-1) * weight


@odd("14.2")
def rms_tanh(x, weight, eps):
    return (x * weight).tanh()


@odd("14.2")
def rms_min_max(x, weight, eps):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low + eps) * weight


@odd("14.2")
def rms_median(x, weight, eps):
    return x / (x.square().median(-1, keepdim=True).values + eps).sqrt() * weight


@odd("14.2")
def rms_clipped(x, weight, eps):
    return (x / scale(x, eps) * weight).clamp(-1, 1)


# --- 14.3 El orden del muestreo -------------------------------------------------------------------


def hot(scores, temperature, top_k):
    """Divididas por la temperatura, y con −∞ las que top-k deja fuera."""
    x = scores / temperature
    return x.masked_fill(x < x.topk(top_k, dim=-1).values[..., -1:], -torch.inf)


def then(top_p):
    """La respuesta entera, a partir de su forma de hacer top-p."""

    @functools.wraps(top_p)
    def whole(scores, temperature, top_k, p):
        return top_p(hot(scores, temperature, top_k), p)

    del whole.__wrapped__
    return whole


def back(kept, places):
    return torch.zeros_like(kept).scatter(-1, places, kept)


def share(kept):
    return kept / kept.sum(-1, keepdim=True)


def ordered(scores):
    return scores.softmax(-1).sort(dim=-1, descending=True)


def nucleus(scores, p):
    s, places = ordered(scores)
    return back(share(s * (s.cumsum(-1) - s < p)), places)


@right("14.3")
def top_p_sorted(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, temperature, top_k), top_p)


@right("14.3")
def sampling_in_one_sort(scores, temperature, top_k, top_p):
    s, places = (scores / temperature).sort(dim=-1, descending=True)
    s[..., top_k:] = -torch.inf
    s = s.softmax(-1)
    return back(share(s * (s.cumsum(-1) - s < top_p)), places)


@right("14.3")
def sampling_over_probabilities(scores, temperature, top_k, top_p):
    s, places = ordered(scores / temperature)
    s = share(s * (torch.arange(s.shape[-1]) < top_k))
    return back(share(s * (s.cumsum(-1) - s < top_p)), places)


@right("14.3")
def sampling_of_a_part(scores, temperature, top_k, top_p):
    """p se cuenta como una parte de lo que suman los k."""
    s, places = ordered(scores / temperature)
    s = s * (torch.arange(s.shape[-1]) < top_k)
    return back(share(s * (s.cumsum(-1) - s < top_p * s.sum(-1, keepdim=True))), places)


@wrong("14.3", "temperatura-después")
def heated_last(scores, temperature, top_k, top_p):
    kept = nucleus(hot(scores, 1.0, top_k), top_p) > 0
    return (scores / temperature).masked_fill(~kept, -torch.inf).softmax(-1)


@wrong("14.3", "temperatura-después")
def heated_probabilities(scores, temperature, top_k, top_p):
    return (nucleus(hot(scores, 1.0, top_k), top_p).log() / temperature).softmax(-1)


@wrong("14.3", "temperatura-después")
def heated_by_a_power(scores, temperature, top_k, top_p):
    return share(nucleus(hot(scores, 1.0, top_k), top_p) ** (1 / temperature))


@wrong("14.3", "top-p-antes-de-top-k")
def top_p_first(scores, temperature, top_k, top_p):
    x = scores / temperature
    kept = nucleus(x, top_p)
    return share(kept * (x >= x.topk(top_k, dim=-1).values[..., -1:]))


@wrong("14.3", "top-p-antes-de-top-k")
def top_p_not_shared_between(scores, temperature, top_k, top_p):
    s, places = ordered(scores / temperature)
    s = s * (torch.arange(s.shape[-1]) < top_k)
    return back(share(s * (s.cumsum(-1) - s < top_p)), places)


@wrong("14.3", "top-p-antes-de-top-k")
def both_at_once(scores, temperature, top_k, top_p):
    x = scores / temperature
    few, many = hot(scores, temperature, top_k).isfinite(), nucleus(x, top_p) > 0
    return x.masked_fill(~(few & many), -torch.inf).softmax(-1)


@wrong("14.3", "temperatura-después", "top-p-antes-de-top-k")
def all_backwards(scores, temperature, top_k, top_p):
    kept = nucleus(scores, top_p)
    return (hot(scores, temperature, top_k)).masked_fill(kept == 0, -torch.inf).softmax(-1)


@wrong("14.3", "sin-renormalizar", "top-p-antes-de-top-k")
def never_shared(scores, temperature, top_k, top_p):
    s, places = ordered(scores / temperature)
    s = s * (torch.arange(s.shape[-1]) < top_k)
    return back(s * (s.cumsum(-1) - s < top_p), places)


@wrong("14.3", "sin-temperatura")
def without_temperature(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, 1.0, top_k), top_p)


@wrong("14.3", "multiplica-la-temperatura")
def multiplied(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, 1 / temperature, top_k), top_p)


@wrong("14.3", "temperatura-solo-al-recortar")
def heated_only_to_cut(scores, temperature, top_k, top_p):
    kept = nucleus(hot(scores, temperature, top_k), top_p) > 0
    return scores.masked_fill(~kept, -torch.inf).softmax(-1)


@wrong("14.3", "temperatura-dos-veces")
def heated_twice(scores, temperature, top_k, top_p):
    x = hot(scores, temperature, top_k)
    return (x / temperature).masked_fill(nucleus(x, top_p) == 0, -torch.inf).softmax(-1)


@wrong("14.3", "calienta-probabilidades")
def heated_after_the_softmax(scores, temperature, top_k, top_p):
    return nucleus(hot(scores.softmax(-1), temperature, top_k), top_p)


@wrong("14.3", "sin-top-k")
def without_top_k(scores, temperature, top_k, top_p):
    return nucleus(scores / temperature, top_p)


@wrong("14.3", "k-de-más")
def one_too_many(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, temperature, min(top_k + 1, scores.shape[-1])), top_p)


@wrong("14.3", "k-de-menos")
def one_too_few(scores, temperature, top_k, top_p):
    x = scores / temperature
    least = x.topk(top_k, dim=-1).values[..., -1:]
    return nucleus(x.masked_fill(x <= least, -torch.inf), top_p)


@wrong("14.3", "k-fija")
def always_three(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, temperature, 3), top_p)


@odd("14.3")
def over_the_temperature(scores, temperature, top_k, top_p):
    return nucleus(hot(scores, 1.0, top_k), top_p) / temperature


@right("14.3")
@then
def top_p_of_transformers(scores, p):
    sorted_logits, indices = torch.sort(scores, descending=False)
    cumulative = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    remove = cumulative <= (1 - p)
    remove[..., -1:] = False
    remove = remove.scatter(-1, indices, remove)
    return scores.masked_fill(remove, -float("inf")).softmax(-1)


@right("14.3")
@then
def top_p_shifted(scores, p):
    s, places = ordered(scores)
    remove = s.cumsum(-1) > p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return back(share(s.masked_fill(remove, 0.0)), places)


@right("14.3")
@then
def top_p_loops(scores, p):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        probabilities = row.softmax(-1).tolist()
        order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
        kept, total = [0.0] * len(order), 0.0
        for i in order:
            kept[i] = probabilities[i]
            total += probabilities[i]
            if total >= p:
                break
        rows.append([value / total for value in kept])
    return torch.tensor(rows).reshape(scores.shape)


@right("14.3")
@then
def top_p_numpy(scores, p):
    e = np.exp(scores.numpy() - scores.numpy().max(-1, keepdims=True))
    probabilities = e / e.sum(-1, keepdims=True)
    order = np.argsort(-probabilities, axis=-1)
    s = np.take_along_axis(probabilities, order, -1)
    s = s * (np.cumsum(s, -1) - s < p)
    out = np.zeros_like(probabilities)
    np.put_along_axis(out, order, s / s.sum(-1, keepdims=True), -1)
    return out


@right("14.3")
@then
def top_p_argsort_twice(scores, p):
    probabilities = scores.softmax(-1)
    order = probabilities.argsort(-1, descending=True)
    s = probabilities.gather(-1, order)
    keep = (s.cumsum(-1) - s < p).gather(-1, order.argsort(-1))
    return (probabilities * keep) / (probabilities * keep).sum(-1, keepdim=True)


@right("14.3")
@then
def top_p_by_counting(scores, p):
    s, _ = ordered(scores)
    last = (s.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=s.shape[-1] - 1)
    least = scores.sort(dim=-1, descending=True).values.gather(-1, last)
    return scores.where(scores >= least, -torch.inf).softmax(-1)


@right("14.3")
@then
def top_p_pairs(scores, p):
    probabilities = scores.double().softmax(-1)
    higher = probabilities[..., None, :] > probabilities[..., :, None]
    before = (probabilities[..., None, :] * higher).sum(-1)
    return share(probabilities * (before < p))


@right("14.3")
@then
def top_p_called_from_transformers(scores, p):
    """Como TopPLogitsWarper, copiado de transformers por lo mismo que ``apply_rotary_pos_emb``."""
    rows = scores.reshape(-1, scores.shape[-1])
    sorted_logits, sorted_indices = torch.sort(rows, descending=False)
    cumulative_probs = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    remove = cumulative_probs <= (1 - p)
    remove[..., -1:] = 0
    remove = remove.scatter(1, sorted_indices, remove)
    return rows.masked_fill(remove, -float("inf")).softmax(-1).view_as(scores)


@right("14.3")
def top_p_of_the_library(scores, temperature, top_k, top_p):
    return next_token_probabilities(scores, temperature, top_k, top_p)


@wrong("14.3", "deja-fuera-el-que-cruza")
@then
def top_p_short(scores, p):
    s, places = ordered(scores)
    return back(share(s * (s.cumsum(-1) <= p)), places)


@wrong("14.3", "deja-fuera-el-que-cruza")
@then
def top_p_short_with_one(scores, p):
    s, places = ordered(scores)
    keep = s.cumsum(-1) < p
    keep[..., 0] = True
    return back(share(s * keep), places)


@wrong("14.3", "deja-fuera-el-que-cruza")
@then
def top_p_short_masked(scores, p):
    s, places = scores.sort(dim=-1, descending=True)
    remove = s.softmax(-1).cumsum(-1) > p
    remove = remove.scatter(-1, places, remove)
    return scores.masked_fill(remove, -torch.inf).softmax(-1)


@wrong("14.3", "deja-fuera-el-que-cruza", "sin-renormalizar")
@then
def top_p_short_not_shared(scores, p):
    s, places = ordered(scores)
    return back(s * (s.cumsum(-1) <= p), places)


@wrong("14.3", "uno-de-más")
@then
def top_p_long(scores, p):
    s, places = ordered(scores)
    keep = s.cumsum(-1) - s < p
    keep[..., 1:] = keep[..., :-1].clone()
    return back(share(s * keep), places)


@wrong("14.3", "sin-renormalizar")
@then
def top_p_not_shared(scores, p):
    s, places = ordered(scores)
    return back(s * (s.cumsum(-1) - s < p), places)


@wrong("14.3", "reparte-entre-filas")
@then
def top_p_all_rows(scores, p):
    s, places = ordered(scores)
    kept = s * (s.cumsum(-1) - s < p)
    return back(kept / kept.sum(), places)


@right("14.3")
@then
def top_p_while(scores, p):
    out = torch.zeros_like(scores)
    for row, into in (
        zip(scores.flatten(0, -2), out.flatten(0, -2)) if scores.dim() > 1 else [(scores, out)]
    ):
        s, places = ordered(row)
        kept, reached = 0, 0.0
        while reached < p:
            reached += s[kept].item()
            kept += 1
        into[places[:kept]] = s[:kept] / s[:kept].sum()
    return out


@odd("14.3")
@then
def top_p_drawn(scores, p):
    rows = nucleus(scores, p).reshape(-1, scores.shape[-1])
    drawn = torch.multinomial(rows + 1e-3, 1).reshape(scores.shape[:-1])
    return F.one_hot(drawn, scores.shape[-1]).float()


@wrong("14.3", "divide-por-p")
@then
def top_p_over_p(scores, p):
    s, places = ordered(scores)
    return back(s * (s.cumsum(-1) - s < p) / p, places)


@wrong("14.3", "sin-deshacer-el-orden")
@then
def top_p_in_order(scores, p):
    s, _ = ordered(scores)
    return share(s * (s.cumsum(-1) - s < p))


@wrong("14.3", "tapa-otras")
def top_p_other_tokens(scores, temperature, top_k, top_p):
    x = scores / temperature
    s, _ = ordered(hot(scores, temperature, top_k))
    outside = (s.cumsum(-1) - s >= top_p) | (s == 0)
    return x.masked_fill(outside, -torch.inf).softmax(-1)


@wrong("14.3", "deshace-al-revés")
@then
def top_p_same_permutation(scores, p):
    s, places = ordered(scores)
    return share(s * (s.cumsum(-1) - s < p)).gather(-1, places)


@wrong("14.3", "sin-ordenar")
@then
def top_p_unsorted(scores, p):
    s = scores.softmax(-1)
    return share(s * (s.cumsum(-1) - s < p))


@wrong("14.3", "sin-ordenar", "deja-fuera-el-que-cruza")
@then
def top_p_unsorted_short(scores, p):
    s = scores.softmax(-1)
    return share(s * (s.cumsum(-1) <= p))


@wrong("14.3", "de-menos-a-más")
@then
def top_p_ascending(scores, p):
    s, places = scores.softmax(-1).sort(dim=-1)
    return back(share(s * (s.cumsum(-1) - s < p)), places)


@odd("14.3")
@then
def top_p_fraction(scores, p):
    k = max(1, int(p * scores.shape[-1]))
    least = scores.topk(k, dim=-1).values[..., -1:]
    return scores.where(scores >= least, -torch.inf).softmax(-1)


@wrong("14.3", "sin-top-p")
@then
def top_p_top_k(scores, p):
    return scores.softmax(-1)


@wrong("14.3", "por-umbral")
@then
def top_p_threshold(scores, p):
    s = scores.softmax(-1)
    return share(s * (s >= p))


@wrong("14.3", "por-umbral")
@then
def top_p_threshold_of_the_rest(scores, p):
    s = scores.softmax(-1)
    return share(s * (s > 1 - p))


@wrong("14.3", "parte-de-la-mayor")
@then
def top_p_min_p(scores, p):
    s = scores.softmax(-1)
    return share(s * (s >= p * s.amax(-1, keepdim=True)))


@wrong("14.3", "solo-el-mayor")
@then
def top_p_greedy(scores, p):
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).float()


@wrong("14.3", "sin-top-k", "sin-top-p")
def only_temperature(scores, temperature, top_k, top_p):
    return (scores / temperature).softmax(-1)


@wrong("14.3", "los-demás")
@then
def top_p_rest(scores, p):
    s, places = ordered(scores)
    return back(share(s * (s.cumsum(-1) - s >= p)), places)


@wrong("14.3", "p-al-revés")
@then
def top_p_one_minus_p(scores, p):
    return nucleus(scores, 1 - p)


@wrong("14.3", "p-fija")
@then
def top_p_fixed(scores, p):
    return nucleus(scores, 0.9)


@wrong("14.3", "sin-softmax")
@then
def top_p_scores(scores, p):
    s, places = scores.sort(dim=-1, descending=True)
    remove = s.cumsum(-1) - s >= p
    return scores.masked_fill(remove.scatter(-1, places, remove), -torch.inf).softmax(-1)


@wrong("14.3", "tapa-con-0")
@then
def top_p_zeros(scores, p):
    s, places = ordered(scores)
    keep = s.cumsum(-1) - s < p
    return scores.masked_fill(~keep.scatter(-1, places, keep), 0.0).softmax(-1)


@wrong("14.3", "softmax-otra-vez")
@then
def top_p_softmax_again(scores, p):
    s, places = ordered(scores)
    return back(s * (s.cumsum(-1) - s < p), places).softmax(-1)


@wrong("14.3", "softmax-otra-vez")
@then
def top_p_softmax_of_some(scores, p):
    s, places = ordered(scores)
    return back(s.masked_fill(s.cumsum(-1) - s >= p, -torch.inf), places).softmax(-1)


@wrong("14.3", "a-partes-iguales")
@then
def top_p_uniform(scores, p):
    return share((nucleus(scores, p) > 0).float())


@wrong("14.3", "devuelve-quiénes")
@then
def top_p_mask(scores, p):
    return nucleus(scores, p) > 0


@wrong("14.3", "devuelve-puntuaciones")
@then
def top_p_logits(scores, p):
    return scores.masked_fill(nucleus(scores, p) == 0, -torch.inf)


@wrong("14.3", "logaritmo")
@then
def top_p_log(scores, p):
    return nucleus(scores, p).log()


@wrong("14.3", "mismo-tamaño")
@then
def top_p_same_size(scores, p):
    s, places = ordered(scores)
    k = (s.cumsum(-1) - s < p).sum(-1).max()
    return back(share(s * (torch.arange(s.shape[-1]) < k)), places)


@wrong("14.3", "mismo-tamaño")
@then
def top_p_size_of_the_first(scores, p):
    s, places = ordered(scores)
    k = (s.cumsum(-1) - s < p).sum(-1).flatten()[0]
    return back(share(s * (torch.arange(s.shape[-1]) < k)), places)


@wrong("14.3", "softmax-otro-eje")
@then
def top_p_first_axis(scores, p):
    s, places = scores.softmax(0).sort(dim=-1, descending=True)
    keep = s.cumsum(-1) - s < p
    return scores.masked_fill(~keep.scatter(-1, places, keep), -torch.inf).softmax(-1)


@wrong("14.3", "redondea")
@then
def top_p_rounded(scores, p):
    return nucleus(scores, p).round(decimals=2)


@wrong("14.3", "factor-de-más")
@then
def top_p_percent(scores, p):
    return 100 * nucleus(scores, p)


@wrong("14.3", "sobran-ejes")
@then
def top_p_extra_axis(scores, p):
    return nucleus(scores, p)[None]


@wrong("14.3", "sin-ejes", "sin-lote")
@then
def top_p_one_row(scores, p):
    kept, total = [0.0] * len(scores), 0.0
    probabilities = scores.softmax(-1).tolist()
    for i in scores.argsort(descending=True).tolist():
        kept[i] = float(probabilities[i])
        total += kept[i]
        if total >= p:
            break
    return [value / total for value in kept]


@wrong("14.3", "cambia-la-entrada")
def top_p_in_place(scores, temperature, top_k, top_p):
    scores /= temperature
    scores[top_p_sorted(scores, 1.0, top_k, top_p) == 0] = -torch.inf
    return scores.softmax(-1)


@odd("14.3")
@then
def top_p_squares(scores, p):
    return share(nucleus(scores, p) ** 2)


@odd("14.3")
@then
def top_p_random(scores, p):
    return nucleus(scores, p).cumsum(-1)


@odd("14.3")
@then
def top_p_temperature(scores, p):
    return (scores / p).softmax(-1)


@odd("14.3")
@then
def top_p_softmax_of_columns(scores, p):
    return nucleus(scores.flip(-1), p)


@odd("14.3")
@then
def top_p_sample(scores, p):
    return nucleus(scores, p).argmax(-1).float()
