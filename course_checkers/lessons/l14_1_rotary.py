"""14.1 · La posición que gira: {qué posición} × {qué frecuencia} × {qué parejas} × {cómo giran}."""

import math

import torch

from course_checkers.engine import Case, Exercise, Stage, Tensors, drawn, laws, messages, stepping, told
from course_checkers.engine import properties as law
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

LAWS = laws(__file__, "14.1 propiedades")
step = stepping(told(__file__, "14.1"))


# Las columnas de los primeros de cada pareja y las de los segundos, (2, d_k/2).
def halves(d):
    return torch.arange(d).view(2, -1)


def even_odd(d):
    return torch.arange(d).view(-1, 2).T


def turned(x, y, t, s):
    """Uno de la pareja, x, a partir del otro, y, su ángulo, y −1 si es el primero."""
    return x * t.cos() + s * y * t.sin()


AXES = {
    "positions": step(
        itself,
        ("sin-posiciones", lambda p: torch.arange(len(p))),
        ("posición-desde-la-primera", lambda p: p - p[0], lambda p: p - p[-1]),
        ("posición-desde-1", lambda p: p + 1),
        ("una-sola-posición", lambda p: p[:1].expand_as(p), lambda p: p[-1:].expand_as(p)),
        ("posición-repartida", lambda p: p / len(p), lambda p: p / p.max()),
    ),
    "exponent": step(
        lambda i, d: 2 * i / d,
        ("exponente-mitad", lambda i, d: i / d),
        ("exponente-doble", lambda i, d: 4 * i / d),
        ("exponente-desde-1", lambda i, d: (2 * i + 2) / d, lambda i, d: (2 * i + 1) / d),
        ("exponente-al-revés", lambda i, d: (d - 2 - 2 * i) / d),
        ("exponente-sin-dividir", lambda i, d: i, lambda i, d: 2 * i),
        ("exponente-divisor", lambda i, d: 2 * i / (d - 2), lambda i, d: 2 * i / (d - 1)),
        ("misma-frecuencia", lambda i, d: 0 * i, lambda i, d: 0 * i + 1),
    ),
    "base": step(
        itself,
        ("base-fija", *(lambda base, n=n: n for n in (1e4, 5e5, 1e3, 100.0))),
        ("sin-logaritmo", lambda base: math.e, lambda base: math.e ** math.log10(base)),
    ),
    "power": step(-1, ("base-al-revés", 1)),
    "unit": step(
        1.0,
        ("grados", math.pi / 180, 180 / math.pi),
        ("vueltas", 2 * math.pi, math.pi),
        ("gira-dos-veces", 2.0),
    ),
    # Qué columnas son pareja, y qué parejas numera la i del ángulo; o la i de cada columna, por c.
    "pairs": step(
        (halves, halves),
        ("parejas-entrelazadas", (even_odd, even_odd)),
        ("parejas-mezcladas", (halves, even_odd), (even_odd, halves)),
        ("una-frecuencia-por-columna", (halves, 0.5), (halves, 1), (even_odd, 0.5), (even_odd, 1)),
        ("gira-media-d_k", (lambda d: halves(d // 2), halves)),
    ),
    "turn": step(
        turned,
        ("gira-al-revés", lambda x, y, t, s: turned(x, y, t, -s)),
        ("sin-signo", *(lambda x, y, t, s, n=n: turned(x, y, t, n) for n in (1, -1))),
        ("suma-en-vez-de-girar", lambda x, y, t, s: x + (t.sin() if s < 0 else t.cos())),
        ("suma-en-vez-de-girar", lambda x, y, t, s: x + (t.cos() if s < 0 else t.sin())),
        ("suma-en-vez-de-girar", lambda x, y, t, s: x + t),
        ("seno-por-coseno", lambda x, y, t, s: x * t.sin() + s * y * t.cos()),
        ("sin-cambiar-de-pareja", *(lambda x, y, t, s, n=n: turned(x, x, t, s**n) for n in (0, 1))),
        ("solo-coseno", lambda x, y, t, s: x * t.cos()),
        ("solo-seno", lambda x, y, t, s: s * y * t.sin(), lambda x, y, t, s: x * t.sin()),
        # El segundo, con el primero ya cambiado.
        ("lee-lo-ya-girado", lambda x, y, t, s: turned(x, y if s < 0 else turned(y, x, t, -1), t, s)),
        ("gira-un-solo-lado", lambda x, y, t, s: turned(x, y, t, s) if s < 0 else x),
        ("gira-un-solo-lado", lambda x, y, t, s: turned(x, y, t, s) if s > 0 else x),
        ("por-el-ángulo", lambda x, y, t, s: x * t),
        ("reflejo", lambda x, y, t, s: y * t.sin() - s * x * t.cos()),
        ("suma-la-entrada", lambda x, y, t, s: x + turned(x, y, t, s)),
        ("no-gira", lambda x, y, t, s: x),
        ("mitades-cambiadas", *(lambda x, y, t, s, n=n: turned(y, x, t, n * s) for n in (-1, 1))),
    ),
    # Las columnas a las que vuelven; con nada, a las suyas.
    "back": step(None, ("vuelve-entrelazado", even_odd), ("vuelve-en-mitades", halves)),
    "finish": step(
        itself,
        ("cambia-la-norma", lambda x: x / x.norm(dim=-1, keepdim=True)),
        ("cambia-la-norma", lambda x: x * x.shape[-1] ** 0.5, lambda x: x / x.shape[-1] ** 0.5),
        ("redondea", *map(rounded, (1, 2, 3, 4))),
    ),
    "shape": step(
        itself, ("sobran-ejes", *(lambda x, n=n: x[(None,) * max(n, 4 - x.dim())] for n in (0, 1)))
    ),
}


def rotary_case(seed, shape, positions, base):
    x = drawn(seed, shape)
    name = f"x {shape}, positions = {positions} y base = {base}".replace(".0", "")
    return Case(name, (x, torch.tensor(positions), base), "tabla" if x.dim() == 2 else "ejes")


CASES = (
    rotary_case(0, (2, 3, 5, 6), [4, 5, 6, 7, 8], 100.0),
    rotary_case(1, (3, 4, 8), [0, 2, 9, 5], 50.0),
    rotary_case(2, (2, 3, 1, 8), [7], 10_000.0),
    rotary_case(3, (4, 4), [1, 2, 3, 4], 500.0),
    rotary_case(4, (5, 10), [0, 1, 2, 3, 4], 10_000.0),
)
FAR = rotary_case(5, (2, 4, 64), [1000, 1001, 1002, 1003], 10_000.0)
FARTHER = rotary_case(7, (2, 1, 2, 3, 6), [3001, 3, 2500], 500_000.0)
TINY = ([[1.0, 0.0]], [1]), ([[1.0, 2.0, 0.0, 0.0]], [1]), ([[1.0, 0.0], [1.0, 0.0]], [2, 3])
X, POSITIONS, BASE = CASES[0].arguments


def moved(name, measure):
    """Que ``measure`` dé lo mismo si se suma 3 a todas las posiciones."""
    after = X, POSITIONS + 3, BASE
    alike = lambda one, other: law.same(measure(one), measure(other), 1e-3, 1e-3)  # noqa: E731
    return law.related(LAWS[name], CASES[0], after, alike=alike)


class Rotary(Exercise):
    """Comprueba la posición que gira, RoPE.

    Args:
        function: recibe ``(x, positions, base)``: un tensor ``(..., L, d_k)``, las posiciones de sus
            L tokens, enteros ``(L,)``, y la base. Devuelve x girado, de la misma forma: la pareja i,
            las columnas i e i + d_k/2, gira ``positions·base^(−2i/d_k)`` radianes.
    """

    number, title, points = "14.1", "girar según la posición", 3
    letters = ("L -", "L")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, usual=2),)
    extra = FAR, rotary_case(6, (3, 2), [0, 1, 2], 10_000.0), FARTHER
    tiny = tuple(Case("", (torch.tensor(x), torch.tensor(p), 100.0)) for x, p in TINY)
    measured = {"finish": numbers.by_a_number("14 §2")}
    reader, also = Tensors(numpy=True), tuple(numbers.KNOWN)
    groups = messages(__file__, "14.1 grupos")
    must = (
        law.half_precision,
        law.right_shape(lambda x, *_: x.shape, "Tu salida no mide lo mismo que x.", "14 §2"),
        law.finite("14 §2"),
        law.gives(LAWS["propiedad-0"], (X, 0 * POSITIONS, BASE), X),
        moved("propiedad-longitud", lambda x: x.norm(dim=-1)),
        moved("propiedad-distancia", lambda x: x @ x.mT),
    )

    besides = (law.promised,)

    def skip(self, choice):
        """Volver a donde estaba no es un error."""
        return choice["back"].value is choice["pairs"].value[0]

    def compute(self, choice, x, positions, base):
        (split, pairs), x = choice["pairs"], x.double()
        columns = split(x.shape[-1])
        i = torch.arange(columns.numel()).double()
        i = pairs * i if pairs in (0.5, 1) else i.index_put((pairs(len(i)),), i[: len(i) // 2])
        theta = choice["base"](base) ** (choice["power"] * choice["exponent"](i, len(i)))
        angle = choice["positions"](positions.double())[:, None] * theta * choice["unit"]
        output, (a, b) = x.clone(), columns
        places = choice["back"](x.shape[-1]) if choice["back"] else columns
        for place, own, other, sign in ((places[0], a, b, -1), (places[1], b, a, 1)):
            output[..., place] = choice["turn"](x[..., own], x[..., other], angle[:, own], sign)
        # Un ángulo grande pierde decimales en float32: se perdona lo que eso mueve el seno.
        lost = (3e-6 * angle.abs().amax(-1, keepdim=True)).clamp(max=0.05) * x.abs().amax()
        output, slack = choice["finish"](output), 2e-5 + lost.expand_as(x)
        return {"output": choice["shape"](output).float(), "slack": choice["shape"](slack)}
