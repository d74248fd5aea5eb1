"""12.3 · El tamaño del efecto de un adjetivo: la d de Cohen.

{lo que ganan los dos nombres, uno solo…} × {la media…} × {entre la desviación de los efectos, la de
los pesos, el error típico…}.
"""

import torch
from torch import stack

from course_checkers.engine import Case, Exercise, Numbers, Stage, finish, laws, told, ways
from course_checkers.engine.properties import related
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

KNOWN, LAWS = told(__file__, "11") | told(__file__, "12.3"), laws(__file__, "12.3 propiedades")
# De los pesos con un adjetivo y con el otro, a y b, (n, 2) los dos, un efecto por pareja.


def gain(a, b):
    """Lo que gana cada nombre en la frase en que le toca ganar."""
    return a[:, 0] - b[:, 0], b[:, 1] - a[:, 1]


def effect(a, b):
    return sum(gain(a, b)) / 2


def against(a, b):
    return torch.sub(*gain(a, b))


def gap(x):
    """Lo que un nombre le saca al otro en una frase."""
    return x[:, 0] - x[:, 1]


EFFECTS = ways(
    KNOWN,
    [effect, lambda a, b: 2 * effect(a, b)],  # sin el 1/2 sale la misma d
    ("solo-el-primero", lambda a, b: gain(a, b)[0]),
    ("solo-el-segundo", lambda a, b: gain(a, b)[1]),
    ("suma-los-dos", lambda a, b: against(a, b) / 2, against),
    ("una-sola-frase", lambda a, b: gap(a), lambda a, b: gap(b), lambda a, b: -gap(b)),
    ("cuenta-ganadores", lambda a, b: ((gap(a) > 0) & (gap(b) < 0)).float()),
    ("cuenta-ganadores", lambda a, b: (effect(a, b) > 0).float(), lambda a, b: effect(a, b).sign()),
    ("cociente", lambda a, b: a[:, 0] / b[:, 0]),
    ("cociente", lambda a, b: a[:, 0] / a[:, 1] - b[:, 0] / b[:, 1]),
    ("frases-cambiadas", lambda a, b: -effect(a, b), lambda a, b: -2 * effect(a, b)),
    ("sin-signo", lambda a, b: effect(a, b).abs(), lambda a, b: 2 * effect(a, b).abs()),
    ("sin-signo", lambda a, b: sum(map(torch.abs, gain(a, b)))),
)
CENTERS = ways(
    KNOWN,
    torch.mean,
    ("mediana-de-efectos", torch.median, lambda x: x.quantile(0.5)),
    ("suma-de-efectos", torch.sum),
)


def pooled(a, b):
    """La desviación de dos grupos sueltos: la de la d de Cohen de dos muestras."""
    return ((a.var() + b.var()) / 2).sqrt()


def unpaired(a, b):
    return pooled(gap(a), gap(b))


# Por qué se divide: de los pesos y los efectos, x.
SPREADS = ways(
    KNOWN,
    lambda a, b, x: x.std(),
    ("sin-desviación", lambda a, b, x: 1.0),
    ("divide-por-n", lambda a, b, x: x.std(correction=0)),
    ("varianza", lambda a, b, x: x.var(), lambda a, b, x: x.var(correction=0)),
    ("error-típico", *(lambda a, b, x, k=k: x.std() / (len(x) - k) ** 0.5 for k in (0, 1))),
    ("nombres-por-separado", lambda a, b, x: torch.cat(gain(a, b)).std()),
    ("nombres-por-separado", lambda a, b, x: (a - b).std()),
    ("sin-emparejar", lambda a, b, x: gap(a).std(), lambda a, b, x: gap(b).std()),
    ("sin-emparejar", *(lambda a, b, x, k=k: unpaired(a, b) * k for k in (2**0.5, 1, 0.5))),
    ("sin-emparejar", *(lambda a, b, x, k=k: pooled(a[:, k], b[:, k]) for k in (0, 1))),
    ("sin-emparejar", lambda a, b, x: pooled(a, b), lambda a, b, x: stack([gap(a), gap(b)]).std()),
    ("desviación-de-los-pesos", lambda a, b, x: a.std(), lambda a, b, x: stack([a, b]).std()),
    ("desviación-de-los-pesos", lambda a, b, x: b.std(), lambda a, b, x: a[:, 0].std()),
    ("desviación-sin-centrar", lambda a, b, x: x.square().mean().sqrt(), lambda a, b, x: x.norm()),
    ("desviación-absoluta", lambda a, b, x: (x - x.mean()).abs().mean()),
    (("divide-por-n", "error-típico"), lambda a, b, x: x.std(correction=0) / len(x) ** 0.5),
    (("divide-por-n", "sin-emparejar"), lambda a, b, x: unpaired(a, b) * (1 - 1 / len(x)) ** 0.5),
)
# De la media, m, la desviación, s, y los efectos, lo que se devuelve.
QUOTIENTS = ways(
    KNOWN,
    lambda m, s, x: m / s,
    ("al-revés", lambda m, s, x: s / m),
    ("uno-por-pareja", lambda m, s, x: x / s, lambda m, s, x: (x - m) / s),
    ("devuelve-de-más", lambda m, s, x: stack([m, s]), lambda m, s, x: stack([m, m / s])),
    ("devuelve-de-más", lambda m, s, x: stack([m / s, m]), lambda m, s, x: stack([m, s, m / s])),
)


def pairs_case(seed, n, move):
    """Los pesos de n parejas: lo que se mueve de un nombre al otro al cambiar el adjetivo."""
    generator = torch.Generator().manual_seed(seed)
    first = 0.15 + 0.5 * torch.rand(n, 2, generator=generator)
    moved = move + 0.15 * torch.randn(n, 2, generator=generator)
    second = (first - moved * torch.tensor([1.0, -1.0])).abs() + 0.01
    way = "hacia donde debe" if move > 0 else "al revés"
    return Case(f"{n} parejas y un efecto que va {way}", (first, second))


SIZES = (6, 0.12), (5, -0.1), (9, 0.05), (3, 0.2), (12, 0.1), (4, -0.2)
PAIRS = tuple(pairs_case(seed, *sizes) for seed, sizes in enumerate(SIZES))
FIRST, SECOND = PAIRS[0].arguments
TWICE = FIRST.repeat(2, 1), SECOND.repeat(2, 1)
TINY = (
    ([[0.6, 0.2], [0.5, 0.3]], [[0.2, 0.6], [0.3, 0.3]]),
    ([[0.6, 0.2], [0.5, 0.1]], [[0.4, 0.5], [0.7, 0.3]]),
)


def near(one, other):
    return 0.9 < float(other / one) < 1.2


class EffectSize(Exercise):
    """Pesos de los dos nombres en las dos frases de cada pareja → la d de Cohen del efecto."""

    number, title, points = "12.3", "el tamaño del efecto", 3
    names = ("with_first", "with_second")
    letters = ("n -", "n -")
    possible = staticmethod(lambda first, second: len(first) > 1)
    axes = {
        "effect": EFFECTS,
        "center": CENTERS,
        "spread": SPREADS,
        "quotient": QUOTIENTS,
        "finish": ways(
            KNOWN,
            itself,
            ("quita-el-signo", torch.abs),
            ("redondea", *map(rounded, (1, 2, 3)), torch.round, torch.trunc),
        ),
        "shape": ways(KNOWN, itself, ("sobran-ejes", lambda x: x[None], lambda x: x[..., None])),
    }
    stages = (Stage(tuple(axes), PAIRS, most=2),)
    extra = (pairs_case(6, 150, 0.03), pairs_case(7, 2, 0.1))
    tiny = tuple(Case("", tuple(map(torch.tensor, pair))) for pair in TINY)
    reader, silent, also = Numbers(), (numbers.constant,), tuple(numbers.KNOWN)
    measured = {"finish": numbers.by_a_number("12 §5.2")}
    must = (
        *numbers.must("12 §5.2", lambda first, second: ()),
        related(LAWS["propiedad-frases"], PAIRS[0], (SECOND, FIRST), torch.neg),
        related(LAWS["propiedad-nombres"], PAIRS[0], (FIRST.flip(1), SECOND.flip(1)), torch.neg),
        related(LAWS["propiedad-cuántas"], PAIRS[0], TWICE, alike=near),
    )

    def compute(self, choice, first, second):
        x = choice["effect"](first, second)
        mean, spread = choice["center"](x), choice["spread"](first, second, x)
        output = choice["quotient"](mean, spread, x)
        return {"output": choice["shape"](choice["finish"](output))}


EXERCISES = (EffectSize(),)


def check_effect_size(function):
    """Comprueba una función que da la d de Cohen del efecto de un adjetivo.

    Args:
        function: recibe ``(with_first, with_second)``, ``(n, 2)`` los dos: lo que da la cabeza a los
            dos nombres de cada pareja, con el adjetivo del primero y con el del segundo. Devuelve un
            número: la media de los n efectos partida por su desviación.
    """
    return finish(EXERCISES[0].check(function), function)
