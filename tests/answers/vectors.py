"""Respuestas de la lección 01: producto escalar, coseno y tabla de cosenos."""

import math
import operator

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from answers import odd, right, wrong

# --- 1.1 El producto escalar, bien ----------------------------------------------------------------


@right("1.1")
def dot_sum(a, b):
    return (a * b).sum()


@right("1.1")
def dot_at(u, v):
    return u @ v


@right("1.1")
def dot_loop(a, b):
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@right("1.1")
def dot_zip(a, b):
    return sum(x * y for x, y in zip(a, b))


@right("1.1")
def dot_float(a, b):
    return float(np.dot(a.numpy(), b.numpy()))


@right("1.1")
def dot_numpy(a, b):
    return np.sum(np.array(a) * np.array(b))


@right("1.1")
def dot_double(a, b):
    return (a.double() * b.double()).sum()


@right("1.1")
def dot_einsum(a, b):
    return torch.einsum("i,i->", a, b)


@right("1.1")
def dot_angle(a, b):
    return a.norm() * b.norm() * torch.cosine_similarity(a, b, dim=0)


@right("1.1")
def dot_fsum(*vectors):
    return math.fsum(map(operator.mul, *(v.tolist() for v in vectors)))


@right("1.1")
def dot_polarization(a, b):
    return ((a + b).pow(2).sum() - (a - b).pow(2).sum()) / 4


right("1.1")(torch.dot)

# --- 1.1 Mal --------------------------------------------------------------------------------------


@wrong("1.1", "suma-los-números")
def dot_adds(a, b):
    return (a + b).sum()


@wrong("1.1", "suma-los-números")
def dot_sum_plus_sum(a, b):
    return sum(a) + sum(b)


@wrong("1.1", "resta-los-números")
def dot_subtracts(a, b):
    return sum(x - y for x, y in zip(a, b))


@wrong("1.1", "divide-los-números")
def dot_divides(a, b):
    return (a / b).sum()


@wrong("1.1", "potencia")
def dot_power(a, b):
    return (a**b).sum()


@wrong("1.1", "a-consigo")
def dot_a_a(a, b):
    return a @ a


@wrong("1.1", "b-consigo")
def dot_b_b(a, b):
    return (b * b).sum()


@wrong("1.1", "orden-al-revés")
def dot_reversed(a, b):
    n = len(a)
    return sum(a[i] * b[n - 1 - i] for i in range(n))


@wrong("1.1", "lugar-corrido")
def dot_shifted(a, b):
    return sum(a[i] * b[i - 1] for i in range(len(a)))


@wrong("1.1", "lugar-corrido")
def dot_next(a, b):
    total = 0.0
    for i in range(len(a) - 1):
        total += a[i] * b[i + 1]
    return total


@wrong("1.1", "todos-con-todos")
def dot_product_of_sums(a, b):
    return a.sum() * b.sum()


@wrong("1.1", "todos-con-todos")
def dot_two_loops(a, b):
    total = 0
    for x in a:
        for y in b:
            total += x * y
    return total


@wrong("1.1", "todos-con-todos", "sin-sumar")
def dot_outer(a, b):
    return torch.outer(a, b)


@wrong("1.1", "todos-con-todos", "media")
def dot_product_of_means(a, b):
    return a.mean() * b.mean()


@wrong("1.1", "distancia")
def dot_distance(a, b):
    return torch.sqrt(((a - b) ** 2).sum())


@wrong("1.1", "distancia")
def dot_squared_distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


@wrong("1.1", "solo-normas")
def dot_only_norms(a, b):
    return a.norm() * b.norm()


@wrong("1.1", "sin-sumar")
def dot_without_sum(a, b):
    return a * b


@wrong("1.1", "sin-sumar")
def dot_list(a, b):
    return [x * y for x, y in zip(a, b)]


@wrong("1.1", "suma-los-números", "sin-sumar")
def dot_vector_sum(a, b):
    return a + b


@wrong("1.1", "suma-a-medias")
def dot_cumulative(a, b):
    total, all_totals = 0.0, []
    for x, y in zip(a.tolist(), b.tolist()):
        total += x * y
        all_totals.append(total)
    return all_totals


@wrong("1.1", "media")
def dot_mean(a, b):
    return (a * b).mean()


@wrong("1.1", "media")
def dot_over_n(a, b):
    return a @ b / len(a)


@wrong("1.1", "multiplica-todo")
def dot_prod(a, b):
    total = 1
    for x, y in zip(a, b):
        total *= x * y
    return total


@wrong("1.1", "suma-los-números", "multiplica-todo")
def dot_swapped_signs(a, b):
    return (a + b).prod()


@wrong("1.1", "solo-el-mayor")
def dot_max(a, b):
    return max(a * b)


@wrong("1.1", "solo-el-menor")
def dot_min(a, b):
    return (a * b).min()


@wrong("1.1", "solo-el-primero")
def dot_return_inside(a, b):
    total = 0
    for x, y in zip(a, b):
        total += x * y
        return total
    return None


@wrong("1.1", "solo-el-último")
def dot_overwrites(a, b):
    for i in range(len(a)):
        total = a[i] * b[i]
    return total


@wrong("1.1", "falta-el-primero")
def dot_from_one(a, b):
    return sum(a[i] * b[i] for i in range(1, len(a)))


@wrong("1.1", "falta-el-último")
def dot_to_n_minus_one(a, b):
    total = 0
    i = 0
    while i < len(a) - 1:
        total = total + a[i] * b[i]
        i += 1
    return total


@wrong("1.1", "faltan-los-extremos")
def dot_inner_range(a, b):
    return sum(a[i] * b[i] for i in range(1, len(a) - 1))


@wrong("1.1", "primero-dos-veces")
def dot_first_twice(a, b):
    total = a[0] * b[0]
    for x, y in zip(a, b):
        total = total + x * y
    return total


@wrong("1.1", "solo-dos")
def dot_two_terms(a, b):
    return a[0] * b[0] + a[1] * b[1]


@wrong("1.1", "solo-tres")
def dot_three_terms(a, b):
    return sum(a[:3] * b[:3])


@wrong("1.1", "de-dos-en-dos")
def dot_steps_of_two(a, b):
    return sum(a[i] * b[i] for i in range(0, len(a), 2))


@wrong("1.1", "siempre-lo-mismo")
def dot_times_zero(a, b):
    total = 0
    for x, y in zip(a, b):
        total *= x * y
    return total


@wrong("1.1", "valor-absoluto")
def dot_abs(a, b):
    return abs(a @ b)


@wrong("1.1", "valor-absoluto")
def dot_sum_of_abs(a, b):
    return (a.abs() * b.abs()).sum()


@wrong("1.1", "signo-cambiado")
def dot_negative(a, b):
    return -(a @ b)


@wrong("1.1", "negativos-a-cero")
def dot_relu(a, b):
    return max(0, float(a @ b))


@wrong("1.1", "trunca")
def dot_int(a, b):
    return int(a @ b)


@wrong("1.1", "trunca")
def dot_int_terms(a, b):
    return sum(int(x) * int(y) for x, y in zip(a, b))


@wrong("1.1", "redondea")
def dot_round(a, b):
    return round((a @ b).item(), 2)


@wrong("1.1", "redondea")
def dot_round_four(a, b):
    return (a @ b).round(decimals=4)


@wrong("1.1", "cuadrado-de-más")
def dot_squares(a, b):
    return ((a * b) ** 2).sum()


@wrong("1.1", "raíz-de-más")
def dot_root(a, b):
    return (a * b).sum().sqrt()


@wrong("1.1", "raíz-de-más")
def dot_math_root(a, b):
    return math.sqrt(a @ b)


@wrong("1.1", "cuadrado-de-más", "raíz-de-más")
def dot_norm_of_products(a, b):
    return torch.norm(a * b)


@wrong("1.1", "a-consigo")
def dot_norm_of_a(a, b):
    return sum(x * x for x in a) ** 0.5


@wrong("1.1", "sobran-ejes")
def dot_row_by_column(a, b):
    return a.reshape(1, -1) @ b.reshape(-1, 1)


@wrong("1.1", "sobran-ejes")
def dot_in_a_list(a, b):
    return [float(a @ b)]


@wrong("1.1", "divide-por-normas")
def dot_cosine(a, b):
    return a @ b / (a.norm() * b.norm())


@wrong("1.1", "divide-por-una-norma")
def dot_projection(a, b):
    return a @ b / torch.linalg.norm(b)


@wrong("1.1", "divide-por-raíz")
def dot_scaled(a, b):
    return a @ b / math.sqrt(a.shape[-1])


@wrong("1.1", "por-normas")
def dot_with_norms(a, b):
    return a.norm() * b.norm() * (a @ b)


@wrong("1.1", "factor-de-más")
def dot_twice(a, b):
    return 2 * (a @ b)


@wrong("1.1", "suma-de-más")
def dot_from_total_one(a, b):
    total = 1
    for x, y in zip(a, b):
        total += x * y
    return total


@wrong("1.1", "media", "valor-absoluto")
def dot_mean_abs(a, b):
    return (a * b).abs().mean()


@wrong("1.1", "falta-el-último", "trunca")
def dot_short_and_int(a, b):
    return int(sum(a[i] * b[i] for i in range(len(a) - 1)))


@wrong("1.1", "suma-los-números", "falta-el-primero")
def dot_adds_from_one(a, b):
    total = 0
    for i in range(1, len(a)):
        total += a[i] + b[i]
    return total


@wrong("1.1", "divide-por-normas", "redondea")
def dot_rounded_cosine(a, b):
    return round(float(F.cosine_similarity(a, b, dim=0)), 3)


# --- 1.1 Raras ------------------------------------------------------------------------------------


@odd("1.1")
def dot_sines(a, b):
    return (a * b).sin().sum()


@odd("1.1")
def dot_alternating(a, b):
    return sum((-1) ** i * x * y for i, (x, y) in enumerate(zip(a, b)))


@odd("1.1")
def dot_text(a, b):
    return f"{a @ b:.2f}"


@odd("1.1")
def dot_pair(a, b):
    return a @ b, a.norm()


@odd("1.1")
def dot_median(a, b):
    return (a * b).median()


@odd("1.1")
def dot_prints(a, b):
    print((a * b).sum())


@odd("1.1")
def dot_in_place(a, b):
    a *= b
    return a.sum()


# --- 1.2 El coseno, bien --------------------------------------------------------------------------


@right("1.2")
def cosine_formula(a, b):
    return (a @ b) / (a.norm() * b.norm())


@right("1.2")
def cosine_two_divisions(a, b):
    return torch.dot(a, b) / torch.norm(a) / torch.norm(b)


@right("1.2")
def cosine_units(a, b):
    return F.normalize(a, dim=0) @ F.normalize(b, dim=0)


@right("1.2")
def cosine_torch(a, b):
    return torch.cosine_similarity(a, b, dim=0)


@right("1.2")
def cosine_lists(a, b):
    top = sum(x * y for x, y in zip(a.tolist(), b.tolist()))
    bottom = math.sqrt(sum(x * x for x in a.tolist())) * math.sqrt(sum(y * y for y in b.tolist()))
    return top / bottom


@right("1.2")
def cosine_one_root(a, b):
    return (a * b).sum() / ((a**2).sum() * (b**2).sum()) ** 0.5


@right("1.2")
def cosine_numpy(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))


@right("1.2")
def cosine_clamped(a, b):
    return torch.clamp(a @ b / (a.norm() * b.norm() + 1e-8), -1.0, 1.0)


@right("1.2")
def cosine_of_the_sides(a, b):
    x, y, z = a.norm(), b.norm(), (a - b).norm()
    return (x**2 + y**2 - z**2) / (2 * x * y)


class CosineModule(nn.CosineSimilarity):
    __name__ = "cosine_module"


right("1.2")(CosineModule(dim=0))

# --- 1.2 Mal --------------------------------------------------------------------------------------


@wrong("1.2", "sin-dividir")
def cosine_is_dot(a, b):
    return a @ b


@wrong("1.2", "una-sola-norma")
def cosine_norm_of_a(a, b):
    return (a @ b) / a.norm()


@wrong("1.2", "una-sola-norma")
def cosine_unit_b(a, b):
    return (a * (b / np.linalg.norm(b))).sum()


@wrong("1.2", "misma-norma-dos-veces")
def cosine_same_norm(a, b):
    return (a @ b) / (a.norm() * a.norm())


@wrong("1.2", "falta-la-raíz")
def cosine_without_root(a, b):
    return (a @ b) / ((a @ a) * (b @ b))


@wrong("1.2", "falta-la-raíz")
def cosine_half_root(a, b):
    norm_a = (a * a).sum() ** 0.5
    norm_b = (b * b).sum()
    return (a * b).sum() / (norm_a * norm_b)


@wrong("1.2", "normas-sumadas")
def cosine_added_norms(a, b):
    return (a @ b) / (a.norm() + b.norm())


@wrong("1.2", "cuadrados-sumados")
def cosine_added_squares(a, b):
    return (a @ b) / torch.sqrt((a**2).sum() + (b**2).sum())


@wrong("1.2", "sin-paréntesis")
def cosine_precedence(a, b):
    return (a @ b) / a.norm() * b.norm()


@wrong("1.2", "por-normas")
def cosine_multiplies(a, b):
    return a @ b * a.norm() * b.norm()


@wrong("1.2", "raíz-de-las-normas")
def cosine_two_roots(a, b):
    return (a @ b) / math.sqrt(a.norm() * b.norm())


@wrong("1.2", "longitudes")
def cosine_lengths(a, b):
    return (a @ b) / (len(a) * len(b))


@wrong("1.2", "norma-de-valores-absolutos")
def cosine_norm_one(a, b):
    return (a @ b) / (a.abs().sum() * b.abs().sum())


@wrong("1.2", "norma-con-media")
def cosine_rms(a, b):
    return (a @ b) / ((a**2).mean().sqrt() * (b**2).mean().sqrt())


@wrong("1.2", "norma-del-mayor")
def cosine_maximum(a, b):
    return (a @ b) / (max(abs(a)) * max(abs(b)))


@wrong("1.2", "norma-de-la-suma")
def cosine_norm_of_sum(a, b):
    return (a @ b) / (a + b).norm()


@wrong("1.2", "norma-de-la-resta")
def cosine_over_distance(a, b):
    return (a @ b) / torch.dist(a, b)


@wrong("1.2", "norma-de-los-productos")
def cosine_norm_of_products(a, b):
    return (a * b).sum() / (a * b).norm()


@wrong("1.2", "sumas")
def cosine_over_sums(a, b):
    return (a @ b) / (a.sum() * b.sum())


@wrong("1.2", "sin-sumar")
def cosine_signs(a, b):
    return (a * b) / (torch.sqrt(a**2) * torch.sqrt(b**2))


@wrong("1.2", "norma-sin-sumar")
def cosine_vector_of_norms(a, b):
    return (a @ b) / (torch.sqrt(a**2) * torch.sqrt(b**2))


@wrong("1.2", "resta-la-media")
def cosine_correlation(a, b):
    return torch.corrcoef(torch.stack([a, b]))[0, 1]


@wrong("1.2", "sin-sumar")
def cosine_vector(a, b):
    return a * b / (a.norm() * b.norm())


@wrong("1.2", "media")
def cosine_mean(a, b):
    return (a * b).mean() / (a.norm() * b.norm())


@wrong("1.2", "suma-los-números")
def cosine_adds(a, b):
    return (a + b).sum() / (a.norm() * b.norm())


@wrong("1.2", "todos-con-todos")
def cosine_sums(a, b):
    return a.sum() * b.sum() / (a.norm() * b.norm())


@wrong("1.2", "a-consigo")
def cosine_a_a(a, b):
    return (a @ a) / (a.norm() * b.norm())


@wrong("1.2", "solo-dos")
def cosine_plane(a, b):
    return (a[0] * b[0] + a[1] * b[1]) / (a.norm() * b.norm())


@wrong("1.2", "valor-absoluto")
def cosine_abs(a, b):
    return abs(a @ b) / (a.norm() * b.norm())


@wrong("1.2", "valor-absoluto")
def cosine_abs_terms(a, b):
    return (a * b).abs().sum() / (a.norm() * b.norm())


@wrong("1.2", "negativos-a-cero")
def cosine_relu(a, b):
    return torch.cosine_similarity(a, b, dim=0).clamp(min=0)


@wrong("1.2", "signo-cambiado")
def cosine_negative(a, b):
    return -torch.cosine_similarity(a, b, dim=-1)


@wrong("1.2", "cuadrado-de-más")
def cosine_squared(a, b):
    return (a @ b) ** 2 / ((a @ a) * (b @ b))


@wrong("1.2", "redondea")
def cosine_rounded(a, b):
    return round(float(a @ b / (a.norm() * b.norm())), 2)


@wrong("1.2", "redondea")
def cosine_rounded_four(a, b):
    return np.round(torch.cosine_similarity(a, b, dim=0).item(), 4)


@wrong("1.2", "trunca")
def cosine_int(a, b):
    return (a @ b / (a.norm() * b.norm())).int()


@wrong("1.2", "ángulo")
def cosine_radians(a, b):
    return torch.arccos((a @ b) / (a.norm() * b.norm()))


@wrong("1.2", "ángulo")
def cosine_radians_math(a, b):
    cosine = float((a @ b) / (a.norm() * b.norm()))
    return math.acos(max(-1, min(1, cosine)))


@wrong("1.2", "ángulo-en-grados")
def cosine_degrees(a, b):
    return np.degrees(np.arccos(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))))


@wrong("1.2", "coseno-de-más")
def cosine_of_cosine(a, b):
    return torch.cos((a @ b) / (a.norm() * b.norm()))


@wrong("1.2", "coseno-de-más", "sin-dividir")
def cosine_of_dot(a, b):
    return math.cos(a @ b)


@wrong("1.2", "distancia-coseno")
def cosine_distance(a, b):
    return 1 - (a @ b) / (a.norm() * b.norm())


@wrong("1.2", "entre-0-y-1")
def cosine_to_unit_interval(a, b):
    return (1 + (a @ b) / (a.norm() * b.norm())) / 2


@wrong("1.2", "cociente-al-revés")
def cosine_upside_down(a, b):
    return a.norm() * b.norm() / (a @ b)


@wrong("1.2", "solo-el-signo")
def cosine_sign(a, b):
    return (a @ b) / abs(a @ b)


@wrong("1.2", "distancia")
def cosine_euclid(a, b):
    return ((a - b) ** 2).sum().sqrt()


@wrong("1.2", "solo-normas")
def cosine_only_norms(a, b):
    return a.norm() * b.norm()


@wrong("1.2", "sobran-ejes")
def cosine_batch(a, b):
    return F.cosine_similarity(a[None], b[None])


@wrong("1.2", "factor-de-más")
def cosine_percent(a, b):
    return 100 * F.cosine_similarity(a, b, dim=0)


@wrong("1.2", "suma-de-más")
def cosine_plus_one(a, b):
    return F.cosine_similarity(a, b, dim=0) + 1


@wrong("1.2", "una-sola-norma", "valor-absoluto")
def cosine_one_norm_abs(a, b):
    return abs(sum(x * y for x, y in zip(a, b)) / sum(x * x for x in a) ** 0.5)


@wrong("1.2", "falta-la-raíz", "ángulo")
def cosine_angle_without_root(a, b):
    return torch.arccos((a @ b) / (a.pow(2).sum() * b.pow(2).sum()))


@wrong("1.2", "sin-paréntesis", "distancia-coseno")
def cosine_distance_precedence(a, b):
    return 1 - a @ b / a.norm() * b.norm()


@wrong("1.2", "longitudes")
def cosine_mean_of_products(a, b):
    return torch.mean(a * b)


@wrong("1.2", "falta-el-último")
def cosine_short_loop(a, b):
    total = 0
    for i in range(len(a) - 1):
        total += a[i] * b[i]
    return total / (torch.linalg.norm(a) * torch.linalg.norm(b))


@wrong("1.2", "falta-el-primero")
def cosine_from_one(a, b):
    top = sum(a[i] * b[i] for i in range(1, len(a)))
    return top / (a.norm() * b.norm())


@wrong("1.2", "divide-los-números")
def cosine_divides(a, b):
    top = (a / b).sum()
    return top / (a.norm() * b.norm())


@wrong("1.2", "de-dos-en-dos")
def cosine_steps_of_two(a, b):
    top = (a[::2] * b[::2]).sum()
    return top / (a.norm() * b.norm())


@wrong("1.2", "b-consigo")
def cosine_b_b(a, b):
    top = b @ b
    return top / (a.norm() * b.norm())


@wrong("1.2", "multiplica-todo")
def cosine_prod(a, b):
    top = (a * b).prod()
    return top / (a.norm() * b.norm())


@wrong("1.2", "solo-el-último")
def cosine_last_term(a, b):
    top = a[-1] * b[-1]
    return top / (a.norm() * b.norm())


@wrong("1.2", "potencia")
def cosine_power(a, b):
    top = (a**b).sum()
    return top / (a.norm() * b.norm())


@wrong("1.2", "lugar-corrido")
def cosine_shifted_loop(a, b):
    top = sum(a[i - 1] * b[i] for i in range(len(a)))
    return top / (a.norm() * b.norm())


@wrong("1.2", "suma-a-medias")
def cosine_cumulative(a, b):
    top = torch.cumsum(a * b, 0)
    return top / (a.norm() * b.norm())


@wrong("1.2", "solo-el-mayor")
def cosine_biggest(a, b):
    top = (a * b).max()
    return top / (a.norm() * b.norm())


@wrong("1.2", "solo-tres")
def cosine_space(a, b):
    top = sum(x * y for x, y in zip(a[:3], b[:3]))
    return top / (a.norm() * b.norm())


@wrong("1.2", "primero-dos-veces")
def cosine_first_twice(a, b):
    top = a @ b + a[0] * b[0]
    return top / (a.norm() * b.norm())


@wrong("1.2", "solo-el-primero")
def cosine_first_term(a, b):
    top = a[0] * b[0]
    return top / (a.norm() * b.norm())


@wrong("1.2", "resta-los-números")
def cosine_subtracts(a, b):
    top = (a - b).sum()
    return top / (a.norm() * b.norm())


@wrong("1.2", "solo-el-menor")
def cosine_smallest(a, b):
    top = min(a * b)
    return top / (a.norm() * b.norm())


@wrong("1.2", "faltan-los-extremos")
def cosine_inner(a, b):
    top = a[1:-1] @ b[1:-1]
    return top / (a.norm() * b.norm())


@wrong("1.2", "orden-al-revés")
def cosine_reversed(a, b):
    top = a @ b.flip(0)
    return top / (a.norm() * b.norm())


@wrong("1.2", "raíz-de-más")
def cosine_root(a, b):
    return torch.sqrt((a @ b) / (a.norm() * b.norm()))


@wrong("1.2", "raíz-de-más")
def cosine_math_root(a, b):
    return math.sqrt((a @ b) / (a.norm() * b.norm()))


# --- 1.2 Raras ------------------------------------------------------------------------------------


@odd("1.2")
def cosine_tanimoto(a, b):
    return (a @ b) / (a @ a + b @ b - a @ b)


@odd("1.2")
def cosine_tanh(a, b):
    return torch.tanh(a @ b)


@odd("1.2")
def cosine_softmax(a, b):
    return a.softmax(0) @ b.softmax(0)


@odd("1.2")
def cosine_dice(a, b):
    return 2 * (a @ b) / (a @ a + b @ b) ** 2


@odd("1.2")
def cosine_cubes(a, b):
    return (a @ b) / (a.norm(p=3) * b.norm(p=3))


@wrong("1.2", "siempre-lo-mismo")
def cosine_one(a, b):
    return 0.5


# --- Tamaños, topes y tipos -----------------------------------------------------------------------


@right("1.1")
def dot_with_fsum(a, b):
    return math.fsum((a.double() * b.double()).tolist())


@odd("1.1")
def dot_six_places(a, b):
    return sum((a[i] * b[i] for i in range(min(len(a), 6))), torch.tensor(0.0))


@odd("1.1")
def dot_with_a_limit(a, b):
    return (a * b).sum().clamp(-1000, 1000)


@odd("1.1")
def dot_two_or_more(a, b):
    return a.squeeze() @ b.squeeze()


@odd("1.1")
def dot_in_sixteen_bits(a, b):
    return (a @ b).bfloat16()


@odd("1.1")
def dot_in_numpy_sixteen_bits(a, b):
    return np.dot(a.numpy(), b.numpy()).astype(np.float16)


@right("1.2")
def cosine_in_float64(a, b):
    a, b = a.double(), b.double()
    return (a / a.norm()) @ (b / b.norm())


@odd("1.2")
def cosine_six_places(a, b):
    return a[:6] @ b[:6] / (a[:6].norm() * b[:6].norm())


@odd("1.2")
def cosine_of_short_vectors(a, b):
    return a @ b / (a.norm() * b.norm()).clamp(max=500)


@odd("1.2")
def cosine_in_sixteen_bits(a, b):
    return (a @ b / (a.norm() * b.norm())).half()
