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


# --- 1.3 La tabla de cosenos, bien ----------------------------------------------------------------


@right("1.3")
def table_units(X):
    unit = X / X.norm(dim=-1, keepdim=True)
    return unit @ unit.T


@right("1.3")
def table_normalize(X):
    X = F.normalize(X, dim=1)
    return torch.einsum("id,jd->ij", X, X)


@right("1.3")
def table_outer_norms(X):
    norms = X.norm(dim=1)
    return X @ X.T / torch.outer(norms, norms)


@right("1.3")
def table_broadcast(X):
    return F.cosine_similarity(X[:, None, :], X[None, :, :], dim=-1)


@right("1.3")
def table_loops(X):
    L = X.shape[0]
    table = torch.zeros(L, L)
    for i in range(L):
        for j in range(L):
            table[i, j] = (X[i] @ X[j]) / (X[i].norm() * X[j].norm())
    return table


@right("1.3")
def table_half_loops(X):
    table = torch.eye(len(X))
    for i in range(len(X)):
        for j in range(i):
            table[i, j] = table[j, i] = torch.cosine_similarity(X[i], X[j], dim=0)
    return table


@right("1.3")
def table_stack(X):
    return torch.stack([F.cosine_similarity(row[None], X, dim=-1) for row in X])


@right("1.3")
def table_numpy(X):
    X = X.numpy()
    norms = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return (X @ X.T) / (norms * norms.T)


@right("1.3")
def table_of_a_list(X):
    return torch.tensor([[float(u @ v / (u.norm() * v.norm())) for v in X] for u in X])


@right("1.3")
def table_in_place(X):
    products = X @ X.T
    lengths = products.diagonal().sqrt()
    products /= lengths[:, None] * lengths
    return products


@right("1.3")
def table_lambda(*args):
    return (lambda X: table_normalize(X))(args[0])


# --- 1.3 Mal --------------------------------------------------------------------------------------


@wrong("1.3", "sin-normalizar")
def table_products(X):
    return X @ X.T


@wrong("1.3", "por-columnas")
def table_columns(X):
    X = F.normalize(X, dim=0)
    return X @ X.T


@wrong("1.3", "norma-de-toda-la-tabla")
def table_frobenius(X):
    X = X / X.norm()
    return X @ X.T


@wrong("1.3", "norma-de-toda-la-tabla")
def table_one_frobenius(X):
    return X @ X.T / torch.norm(X)


@wrong("1.3", "solo-un-lado")
def table_left(X):
    return (X / X.norm(dim=-1, keepdim=True)) @ X.T


@wrong("1.3", "solo-un-lado")
def table_right(X):
    return X @ X.T / X.norm(dim=-1)


@wrong("1.3", "falta-la-raíz")
def table_without_root(X):
    X = X / (X**2).sum(dim=-1, keepdim=True)
    return X @ X.T


@wrong("1.3", "falta-la-raíz")
def table_over_diagonal(X):
    products = X @ X.T
    return products / products.diagonal()


@wrong("1.3", "sin-paréntesis")
def table_precedence(X):
    n = X.norm(dim=-1)
    return X @ X.T / n[:, None] * n[None, :]


@wrong("1.3", "normas-en-fila")
def table_without_keepdim(X):
    X = X / X.norm(dim=-1)
    return X @ X.T


@wrong("1.3", "norma-de-valores-absolutos")
def table_norm_one(X):
    X = F.normalize(X, p=1, dim=-1)
    return X @ X.T


@wrong("1.3", "norma-del-mayor")
def table_maximum(X):
    X = X / X.abs().max(dim=-1, keepdim=True).values
    return X @ X.T


@wrong("1.3", "sumas")
def table_sums(X):
    X = X / X.sum(dim=-1, keepdim=True)
    return X @ X.T


@wrong("1.3", "norma-con-media")
def table_rms(X):
    X = X / (X**2).mean(dim=-1, keepdim=True).sqrt()
    return X @ X.T


@wrong("1.3", "normas-sumadas")
def table_added_norms(X):
    n = X.norm(dim=-1)
    return X @ X.T / (n[:, None] + n)


@wrong("1.3", "raíz-de-las-normas")
def table_two_roots(X):
    n = X.norm(dim=-1)
    return X @ X.T / torch.sqrt(torch.outer(n, n))


@wrong("1.3", "por-normas")
def table_times_norms(X):
    n = X.norm(dim=-1)
    return (X @ X.T) * n * n[:, None]


@wrong("1.3", "longitudes")
def table_scaled(X):
    return X @ X.T / math.sqrt(X.shape[-1])


@wrong("1.3", "longitudes", "softmax")
def table_attention(X):
    return (X @ X.T / X.shape[-1] ** 0.5).softmax(dim=-1)


@wrong("1.3", "máximo-de-la-tabla")
def table_over_maximum(X):
    return (X @ X.T) / (X @ X.T).max()


@wrong("1.3", "resta-la-media")
def table_corrcoef(X):
    return np.corrcoef(X)


@wrong("1.3", "estandariza")
def table_standardized(X):
    X = (X - X.mean(dim=-1, keepdim=True)) / X.std(dim=-1, keepdim=True)
    return X @ X.T


@wrong("1.3", "estandariza")
def table_layer_norm(X):
    X = (X - X.mean(0)) / X.std(0)
    return X @ X.T


@wrong("1.3", "softmax-antes")
def table_softmax_first(X):
    X = X.softmax(dim=-1)
    return X @ X.T


@wrong("1.3", "medias-sin-normas")
def table_covariance(X):
    return torch.cov(X)


@wrong("1.3", "tabla-de-columnas")
def table_d_by_d(X):
    X = F.normalize(X, dim=-1)
    return X.T @ X


@wrong("1.3", "tabla-de-columnas", "por-columnas")
def table_of_columns(X):
    X = X / X.norm(dim=0)
    return X.T @ X


@wrong("1.3", "tabla-de-columnas", "sin-normalizar")
def table_gram(X):
    return X.T @ X


@wrong("1.3", "sin-trasponer")
def table_without_transpose(X):
    X = F.normalize(X, dim=-1)
    return X @ X


@wrong("1.3", "uno-a-uno")
def table_elementwise(X):
    X = F.normalize(X, dim=-1)
    return X * X


@wrong("1.3", "sin-multiplicar")
def table_only_units(X):
    return X / X.norm(dim=-1, keepdim=True)


@wrong("1.3", "normaliza-la-tabla")
def table_of_normalized_rows(X):
    return F.normalize(X @ X.T, dim=-1)


@wrong("1.3", "cociente-al-revés", "sin-normalizar")
def table_one_over_products(X):
    return 1 / (X @ X.T)


@wrong("1.3", "cociente-al-revés")
def table_upside_down(X):
    n = X.norm(dim=-1)
    return torch.outer(n, n) / (X @ X.T)


@wrong("1.3", "cada-uno-consigo")
def table_with_itself(X):
    return torch.cosine_similarity(X, X)


@wrong("1.3", "cada-uno-consigo", "sin-normalizar")
def table_squared_norms(X):
    return (X * X).sum(dim=-1)


@wrong("1.3", "solo-vecinos")
def table_neighbours(X):
    return torch.cosine_similarity(X[:-1], X[1:], dim=-1)


@wrong("1.3", "una-sola-fila")
def table_first_row(X):
    return F.cosine_similarity(X[0], X)


@wrong("1.3", "una-sola-fila")
def table_return_inside(X):
    table = []
    for row in X:
        table.append(torch.cosine_similarity(row, X, dim=-1))
        return torch.stack(table)
    return None


@wrong("1.3", "distancias")
def table_distances(X):
    return torch.cdist(X, X)


@wrong("1.3", "media-tabla")
def table_upper(X):
    table = torch.zeros(len(X), len(X))
    for i in range(len(X)):
        for j in range(i, len(X)):
            table[i][j] = torch.cosine_similarity(X[i], X[j], dim=0)
    return table


@wrong("1.3", "media-tabla", "diagonal-tapada")
def table_strictly_lower(X):
    table = torch.zeros(len(X), len(X))
    for i in range(len(X)):
        for j in range(i):
            table[i, j] = torch.cosine_similarity(X[i], X[j], dim=0)
    return table


@wrong("1.3", "falta-el-último-token")
def table_short_loops(X):
    L = len(X)
    table = torch.zeros(L, L)
    for i in range(L - 1):
        for j in range(L - 1):
            table[i, j] = (X[i] @ X[j]) / (X[i].norm() * X[j].norm())
    return table


@wrong("1.3", "falta-el-primer-token")
def table_loops_from_one(X):
    table = np.zeros((len(X), len(X)))
    for i in range(1, len(X)):
        for j in range(1, len(X)):
            table[i, j] = X[i] @ X[j] / (X[i].norm() * X[j].norm())
    return table


@wrong("1.3", "diagonal-tapada")
def table_zero_diagonal(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).fill_diagonal_(0)


@wrong("1.3", "diagonal-tapada")
def table_infinite_diagonal(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).masked_fill(torch.eye(len(X)).bool(), -torch.inf)


@wrong("1.3", "sin-normalizar", "diagonal-tapada")
def table_products_without_diagonal(X):
    return X @ X.T * (1 - torch.eye(len(X)))


@wrong("1.3", "softmax")
def table_softmax(X):
    X = F.normalize(X, dim=-1)
    return torch.softmax(X @ X.T, dim=-1)


@wrong("1.3", "sin-normalizar", "softmax")
def table_products_softmax(X):
    return (X @ X.T).softmax(-1)


@wrong("1.3", "quién-gana")
def table_argmax(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).argmax(dim=-1)


@wrong("1.3", "media-de-la-tabla")
def table_mean(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).mean()


@wrong("1.3", "aplanada")
def table_flat(X):
    return torch.tensor([F.cosine_similarity(u, v, dim=0) for u in X for v in X])


@wrong("1.3", "tabla-con-más-ejes")
def table_batch(X):
    X = F.normalize(X[None], dim=-1)
    return X @ X.mT


@wrong("1.3", "lista")
def table_list(X):
    return [[(u @ v / (u.norm() * v.norm())).item() for v in X] for u in X]


@wrong("1.3", "lista", "sin-normalizar")
def table_list_of_products(X):
    return [[u @ v for v in X] for u in X]


@wrong("1.3", "valor-absoluto")
def table_abs(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).abs()


@wrong("1.3", "negativos-a-cero")
def table_relu(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).clamp(min=0)


@wrong("1.3", "signo-cambiado")
def table_negative(X):
    X = F.normalize(X, dim=-1)
    return -X @ X.T


@wrong("1.3", "redondea")
def table_rounded(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).round(decimals=2)


@wrong("1.3", "trunca")
def table_int(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).int()


@wrong("1.3", "cuadrado-de-más")
def table_squared(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T) ** 2


@wrong("1.3", "raíz-de-más")
def table_root(X):
    X = F.normalize(X, dim=-1)
    return torch.sqrt(X @ X.T)


@wrong("1.3", "ángulo")
def table_radians(X):
    X = X / X.norm(dim=-1, keepdim=True)
    return torch.arccos(X @ X.T)


@wrong("1.3", "ángulo-en-grados")
def table_degrees(X):
    n = X.norm(dim=-1)
    return torch.rad2deg(torch.acos((X @ X.T / (n[:, None] * n)).clamp(-1, 1)))


@wrong("1.3", "coseno-de-más")
def table_cos(X):
    X = F.normalize(X, dim=-1)
    return torch.cos(X @ X.T)


@wrong("1.3", "distancia-coseno")
def table_cosine_distance(X):
    X = F.normalize(X, dim=-1)
    return 1 - X @ X.T


@wrong("1.3", "entre-0-y-1")
def table_unit_interval(X):
    X = F.normalize(X, dim=-1)
    return 0.5 * (X @ X.T) + 0.5


@wrong("1.3", "solo-el-signo")
def table_signs(X):
    return torch.sign(X @ X.T)


@wrong("1.3", "factor-de-más")
def table_temperature(X):
    X = F.normalize(X, dim=-1)
    return X @ X.T / 0.05


@wrong("1.3", "suma-de-más")
def table_shifted(X):
    X = F.normalize(X, dim=-1)
    return X @ X.T - 1


@wrong("1.3", "por-columnas", "softmax")
def table_columns_softmax(X):
    X = F.normalize(X, dim=0)
    return torch.softmax(X @ X.T, dim=-1)


@wrong("1.3", "solo-un-lado", "diagonal-tapada")
def table_left_without_diagonal(X):
    table = (X / X.norm(dim=-1, keepdim=True)) @ X.T
    table.fill_diagonal_(0)
    return table


@wrong("1.3", "siempre-lo-mismo")
def table_single_number(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).max().round()


# --- 1.3 Raras ------------------------------------------------------------------------------------


@odd("1.3")
def table_ones(X):
    return torch.full((len(X), len(X)), 0.5)


@odd("1.3")
def table_cubes(X):
    X = F.normalize(X, p=3, dim=-1)
    return X @ X.T


@odd("1.3")
def table_tanh(X):
    return torch.tanh(X @ X.T)


@odd("1.3")
def table_reversed(X):
    X = F.normalize(X, dim=-1)
    return X @ X.flip(0).T


@odd("1.3")
def table_text(X):
    return str(X @ X.T)


@odd("1.3")
def table_in_place_input(X):
    X /= X.norm(dim=-1, keepdim=True)
    return X @ X.T


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


@right("1.3")
def table_row_by_row(X):
    X = X / X.norm(dim=-1, keepdim=True)
    return torch.stack([(X * row).sum(-1) for row in X])


@odd("1.3")
def table_ten_tokens(X):
    table, X = torch.eye(len(X)), F.normalize(X, dim=-1)
    for i in range(min(len(X), 10)):
        for j in range(min(len(X), 10)):
            table[i, j] = X[i] @ X[j]
    return table


@odd("1.3")
def table_squeezed(X):
    X = F.normalize(X, dim=-1)
    return (X @ X.T).squeeze()


@odd("1.3")
def table_in_sixteen_bits(X):
    X = F.normalize(X, dim=-1).half()
    return X @ X.T
