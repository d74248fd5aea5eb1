"""2.1 · La posición sinusoidal.

Cada casilla de la tabla sale de una fila (la posición), una pareja (el exponente) y una función, el
seno o el coseno. Todos los pasos se dan a la vez en toda la tabla.
"""

import functools
import math

import numpy as np
import torch

from course_checkers.engine import Case, Exercise, Option, Stage, Tensors, stepping, told
from course_checkers.engine.comparing import same, show, show_both
from course_checkers.engine.properties import each_output, finite, half_precision, laws, right_shape
from course_lib.layers import PositionalEncoding

# --- Los errores, y lo que le hacen a la tabla ----------------------------------------------------


def first_row(look):
    """La fila 0 sale de un ángulo 0 en todas las parejas: 0, 1, 0, 1…"""
    yours, right = show_both(*(table[0, :4] for table in look.both()))
    if yours == right:  # empieza igual
        return ""
    return f"Con {look.case.name}, tu fila 0 empieza por {yours}, y tenía que empezar por {right}."


def products(look):
    """Lo que varía el producto de dos filas vecinas, que tendría que ser siempre el mismo."""
    yours, right = ((table[1:] * table[:-1]).sum(-1) for table in look.both())
    if not yours.isfinite().all() or yours.max() - yours.min() < 0.01:
        return ""
    return (
        f"Con {look.case.name}, el producto de dos filas vecinas va de {show(yours.min())} a "
        f"{show(yours.max())} según dónde estén, y tenía que ser siempre {show(right[0])}."
    )


STORIES = {"posición_desde_1": first_row, "posición_al_revés": first_row}
TOLD = told(__file__, "2.1", **STORIES, frecuencias_distintas=products)
LAWS = laws(__file__, "2.1 propiedades")
step = stepping(TOLD)
sin, cos, zero = np.sin, np.cos, np.zeros_like


def whole(L, d):
    return L, d


AXES = {
    # Qué número lleva cada fila, a partir de la fila y de L.
    "positions": step(
        lambda row, L: row,
        ("posición-desde-1", lambda row, L: row + 1),
        ("posición-al-revés", lambda row, L: L - 1 - row),
        ("posición-repartida", lambda row, L: row / L, lambda row, L: row / (L - 1)),
        ("posición-repartida", lambda row, L: row * L / (L - 1)),
    ),
    # El 2i de la fórmula, a partir de la pareja y de d_model, y lo que se le suma en el segundo.
    "pairs": step(
        lambda i, d: 2 * i,
        ("exponente-desde-1", lambda i, d: 2 * i + 2, lambda i, d: 2 * i + 1),
        ("exponente-al-revés", lambda i, d: d - 2 - 2 * i),
    ),
    "other": step(0, ("frecuencias-distintas", 1, 2, -1)),
    "exponent": step(
        lambda k, d, L: k / d,
        ("exponente-doble", lambda k, d, L: 2 * k / d),
        ("exponente-mitad", lambda k, d, L: k / (2 * d)),
        ("exponente-sin-dividir", *(lambda k, d, L, n=n: n * k for n in (1, 0.5, 2))),
        ("exponente-divisor", lambda k, d, L: k / (d - 2), lambda k, d, L: k / (d - 1)),
        ("exponente-entre-L", lambda k, d, L: k / L, lambda k, d, L: k / L / 2),
        ("exponente-entero", lambda k, d, L: 0.0, lambda k, d, L: 2 * k // d),
    ),
    "base": step(
        1e4,
        *((TOLD["base"].saying(number=n), float(n)) for n in ("1000", "100000", "10")),
        ("base#e", math.e),
        ("base#e⁴", math.e**4),
    ),
    # El ángulo, a partir de pos, la base, el exponente y los números de los que sale.
    "operation": step(
        lambda p, b, x, k, d: p / b**x,
        ("posición-multiplicada", lambda p, b, x, k, d: p * b**x),
        ("sin-potencia", lambda p, b, x, k, d: p / (b * x)),
        ("ángulos-casi-0", lambda p, b, x, k, d: p / b**2 * k / d),
        ("paréntesis", lambda p, b, x, k, d: p / (b**2 * k / d)),
        ("paréntesis", lambda p, b, x, k, d: p / b**k / d, lambda p, b, x, k, d: p / (b**k / d)),
        ("paréntesis", lambda p, b, x, k, d: (p / b) ** x),
        ("división-entera", lambda p, b, x, k, d: p // b**x),
    ),
    "unit": step(1.0, ("grados", math.pi / 180, 180 / math.pi), ("vueltas", 2 * math.pi, math.pi)),
    # La función del primero y del segundo de cada pareja.
    "functions": step(
        (sin, cos),
        ("coseno-primero", (cos, sin)),
        ("solo-seno", (sin, sin)),
        ("solo-coseno", (cos, cos)),
        ("impares-a-cero", (sin, zero)),
        ("pares-a-cero", (zero, cos)),
    ),
    # Lo que mide la tabla, y qué va en cada casilla: fila, función, pareja y si es la segunda.
    "layout": step(
        (whole, lambda r, c, L, d: (r, c % 2, c // 2, c % 2)),
        ("mitades", (whole, lambda r, c, L, d: (r, 2 * c // d, c % (d // 2), 2 * c // d))),
        ("mitades-en-filas", (lambda L, d: (2 * L, d // 2), lambda r, c, L, d: (r % L, r // L, c, r // L))),
        ("paridad-de-la-fila", (whole, lambda r, c, L, d: (r, r % 2, c // 2, c % 2))),
        ("media-tabla", (lambda L, d: (L, d // 2), lambda r, c, L, d: (r, 0, c, 0))),
    ),
    "shape": step(
        lambda table: table,
        ("traspuesta", lambda table: table.T),
        ("eje-de-más", lambda table: table[None], lambda table: table[:, None]),
        ("sin-aplanar", lambda table: table.unflatten(1, (-1, 2))),
    ),
    "swapped": step(False, ("argumentos-cambiados", True)),
}


def found_bases(attempt):
    """La base que usa quien aprende, leída en los ángulos de la segunda pareja."""
    table = attempt.ask(4, 4)
    if table is None or table.numel() != 16:
        return
    seen = [number for number in table.reshape(-1)[1:8].tolist() if 0 < number < 1]
    angles = [turn(number) for number in seen for turn in (math.asin, math.acos)]
    for base in sorted({float(f"{angle**-2:.7g}") for angle in angles}):
        if 1.5 < base < 1e7 and abs(base / 10_000 - 1) > 0.01:
            yield Option(base, TOLD["base#tuya"].saying(number=show(base)))


def only_one_number(attempt):
    """De una tabla con un solo número no se aprende nada."""
    return any(not table.numel() or table.min() == table.max() for _, table in attempt.outputs())


@each_output(LAWS)
def sines_and_cosines(table, *sizes):
    """Que los números sean los senos y los cosenos de unos ángulos que en la fila 0 valen 0."""
    gap = ((table[:, 0::2] ** 2 + table[:, 1::2] ** 2) - 1).abs()
    if (most := table.abs().max()) > 1.0001:
        yield "propiedad-entre-1", {"most": show_both(most, 1.0)[0]}
    start = table[0] - torch.tensor([0.0, 1.0] * (table.shape[1] // 2))
    if not same(start, 0 * start):
        place = int(start.abs().nan_to_num(torch.inf).argmax())
        mine, good = show_both(table[0, place], float(place % 2))
        yield "propiedad-fila-0", {"place": place, "mine": mine, "good": good}
    if gap.max() > 1e-3:
        yield "propiedad-pareja", {"pair": int(gap.amax(0).argmax()), "gap": show(gap.max())}


def odd_width(attempt):
    """Un d_model impar: el artículo no lo usa, y se dice lo que pasa."""
    table, right = attempt.ask(4, 5), PositionalEncoding(4, 5).positional_encoding
    if table is None:
        yield "con un d_model impar tu código se para; el de course_lib deja al último seno sin coseno."
    elif not same(table, right):
        yield "con un d_model impar, tu tabla no es la de course_lib, que deja al último seno sin coseno."


def sized(*sizes):
    return tuple(Case(f"length = {L} y dim_embedding = {d}", (L, d)) for L, d in sizes)


# Las últimas: la del enunciado, y más largas y más anchas que cualquier tabla escrita a mano.
CASES = sized((6, 4), (4, 8), (6, 6), (12, 10), (2, 4), (130, 4), (4, 40))
NUMBERS = "02 §8", "Tu tabla tiene números que no son finitos."
SHAPE = "La forma de tu tabla no es (L, d_model).", "02 §8", "Con {name} mide {yours}."


@functools.cache
def grid(size, place, length, width):
    """De cada casilla de la tabla: la fila, la función, la pareja y si es la segunda."""
    return place(*np.indices(size(length, width)), length, width)


class Positions(Exercise):
    """Comprueba una tabla de posiciones sinusoidales.

    Args:
        function: recibe ``(length, dim_embedding)``, dos enteros, L y d_model (par), y devuelve la
            tabla, ``(L, d_model)``: un tensor o un array de NumPy.
    """

    number, title, points = "2.1", "la posición sinusoidal", 3
    possible = staticmethod(lambda length, width: length > 0 and width > 0 and width % 2 == 0)
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, usual=3),)
    extra, tiny = sized((520, 2), (3, 300)), sized((1, 2), (2, 2), (2, 4))
    measured = {"base": found_bases}
    silent = (only_one_number,)
    reader = Tensors(numpy=True)
    must = (half_precision, right_shape(whole, *SHAPE), finite(*NUMBERS), sines_and_cosines)
    notes = (odd_width,)

    def skip(self, choice):
        """Con los ángulos casi a 0, lo que los mueve no se nota."""
        moves = ("pairs", "other", "exponent", "base", "unit")
        almost_0 = choice["operation"].mistake is TOLD["ángulos-casi-0"]
        return almost_0 and any(choice[axis].mistake for axis in moves)

    def compute(self, choice, length, dim_embedding):
        length, width = length, dim_embedding
        if choice["swapped"]:
            length, width = width, length
        at, which, pair, second = grid(*choice["layout"], length, width)
        number = choice["pairs"](pair, width) + second * choice["other"]
        (first, other), turn = choice["functions"], choice["operation"]
        with np.errstate(all="ignore"):
            exponent = choice["exponent"](number, width, length)
            pos = choice["positions"](at, length)
            angle = turn(pos, choice["base"], exponent, number, width) * choice["unit"]
            table = np.where(which, other(angle), first(angle))
        # Un ángulo grande pierde decimales en float32: se perdona lo que eso mueve el seno.
        slack = 2e-5 + np.fmin(3e-6 * abs(angle), 0.05)
        put = choice["shape"]
        return {"output": put(torch.tensor(table).float()), "slack": put(torch.tensor(slack))}
