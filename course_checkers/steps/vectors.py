"""Las formas de comparar dos vectores: cómo se multiplican, se suman, se miden y se acaba la cuenta.

{a por b, a más b, a por a…} × {sumar, hacer la media, quedarse con uno…} × {dejarlo así, el valor
absoluto, el ángulo, redondear…}. Por qué se divide es de cada ejercicio.
"""

import functools

import torch

from course_checkers.engine import Case, show, stepping, told
from course_checkers.steps.numbers import itself, rounded


def with_decimals(look):
    """Dónde se aparta más la salida, con los decimales que hacen falta para verlo."""
    yours, right = look.yours.flatten(), look.right.flatten()
    if yours.shape != right.shape:
        return ""
    i = (yours - right).abs().argmax()
    return f"Con {look.case.name}, donde va {right[i]:.6g} tú devuelves {yours[i]:.6g}."


KNOWN = told(__file__, "vectors", redondea=with_decimals)
step = stepping(KNOWN)


def both_ways(*functions):
    """Lo mismo con a y b, y con b y a."""
    for function in functions:
        yield function
        yield lambda a, b, function=function: function(b, a)


def product_of(*norms):
    """Una norma por la otra."""
    for norm in norms:
        yield lambda a, b, norm=norm: norm(a) * norm(b)


PAIRS = step(
    torch.mul,
    ("suma-los-números", torch.add),
    ("resta-los-números", *both_ways(torch.sub)),
    ("divide-los-números", *both_ways(torch.div)),
    ("potencia", *both_ways(torch.pow)),
    ("a-consigo", lambda a, b: a * a),
    ("b-consigo", lambda a, b: b * b),
    ("orden-al-revés", *both_ways(lambda a, b: a * b.flip(0))),
    ("lugar-corrido", *both_ways(lambda a, b: a * b.roll(1), lambda a, b: a[:-1] * b[1:])),
    ("todos-con-todos", lambda a, b: a[:, None] * b, *both_ways(lambda a, b: a.sum() * b)),
    ("todos-con-todos", lambda a, b: torch.outer(a, b).flatten()),
    ("valor-absoluto", lambda a, b: (a * b).abs()),
    ("cuadrado-de-más", lambda a, b: (a * b) ** 2),
    ("trunca", lambda a, b: (a * b).trunc(), lambda a, b: a.trunc() * b.trunc()),
)
REDUCTIONS = step(
    torch.sum,
    ("sin-sumar", itself),
    ("suma-a-medias", lambda x: x.cumsum(0)),
    ("media", torch.mean),
    ("multiplica-todo", torch.prod),
    ("solo-el-mayor", torch.max),
    ("solo-el-menor", torch.min),
    ("solo-el-primero", lambda x: x[0]),
    ("solo-el-último", lambda x: x[-1]),
    ("falta-el-primero", lambda x: x[1:].sum(0)),
    ("falta-el-último", lambda x: x[:-1].sum(0)),
    ("faltan-los-extremos", lambda x: x[1:-1].sum(0)),
    ("primero-dos-veces", lambda x: x.sum() + x[0]),
    ("solo-dos", lambda x: x[:2].sum(0)),
    ("solo-tres", lambda x: x[:3].sum(0)),
    ("de-dos-en-dos", lambda x: x[::2].sum(0), lambda x: x[1::2].sum(0)),
)
OTHERS = step(
    None,
    ("distancia", torch.dist, lambda a, b: torch.dist(a, b) ** 2),
    ("distancia", lambda a, b: torch.dist(a, b, 1), lambda a, b: 1 / (1 + torch.dist(a, b))),
    ("solo-normas", *product_of(torch.norm)),
)


@functools.lru_cache(maxsize=16384)  # las mismas pruebas, para todo el mundo
def quotient(other, center, pair, reduction, divisor, a, b):
    if center:
        a, b = center(a, b)
    total = other(a, b) if other else reduction(pair(a, b))
    return total / divisor(a, b) if divisor else total


def also_strict(function):
    """Como en torch, que da NaN, y como en ``math``, que se para."""

    def stops(x):
        if (result := function(x)).isnan().any():
            raise ValueError
        return result

    return function, stops


ENDINGS = (
    ("valor-absoluto", torch.abs),
    ("signo-cambiado", torch.neg),
    ("negativos-a-cero", torch.relu),
    ("trunca", torch.trunc, torch.floor),
    ("redondea", *map(rounded, range(5))),
    ("cuadrado-de-más", torch.square),
    ("raíz-de-más", *also_strict(torch.sqrt)),
)
ANGLES = (
    ("ángulo", *also_strict(torch.arccos), lambda x: x.clamp(-1, 1).arccos()),
    ("ángulo-en-grados", *also_strict(lambda x: x.arccos().rad2deg())),
    ("ángulo-en-grados", lambda x: x.clamp(-1, 1).arccos().rad2deg()),
    ("coseno-de-más", torch.cos),
    ("distancia-coseno", lambda x: 1 - x),
    ("entre-0-y-1", lambda x: (1 + x) / 2),
    ("cociente-al-revés", torch.reciprocal),
    ("solo-el-signo", torch.sign),
)
SHAPES = step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[None, None]))


def vector_case(a, b):
    a, b = torch.tensor(a), torch.tensor(b)
    return Case(f"a = {show(a)} y b = {show(b)}", (a, b))


VECTORS = (
    vector_case([1.5, -2.0, 2.0], [2.0, 1.2, -1.0]),
    vector_case([-1.31, 2.47], [0.83, 1.92]),
    vector_case([1.27, -0.64, 2.15, 1.71, -3.42], [0.36, 1.83, 2.61, -1.18, -0.52]),
    vector_case([1.73, 0.42, 2.91, 1.16], [2.34, 1.57, 0.68, 1.91]),
    vector_case([-2.13, 1.48, 0.77, -1.36, 2.82, 0.31], [1.94, 2.23, -0.58, 1.67, -1.41, 3.12]),
    vector_case([0.137, 0.218, -0.353], [0.236, 0.192, 0.207]),
    vector_case([1.0, -3.0, 2.0, 1.0, 1.0], [-2.0, 6.0, -4.0, -2.0, -2.0]),  # coseno −1, exacto
)
# Dos vectores largos, de números grandes: ni caben en una tabla ni se recortan.
LONG = 10.0 + 20.0 * torch.rand(2, 300, generator=torch.Generator().manual_seed(300))
EXTRA = (
    vector_case([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
    vector_case([-2.0], [3.0]),
    Case("dos vectores de 300 números", tuple(LONG)),
)
TINY = (
    vector_case([2.0], [3.0]),
    vector_case([1.0, 2.0], [3.0, 5.0]),
    vector_case([1.0, -2.0], [3.0, 5.0]),
    vector_case([1.0, 2.0, 2.0], [3.0, 0.0, 4.0]),
)
