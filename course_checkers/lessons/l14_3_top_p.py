"""14.3 · El núcleo (top-p): {qué se acumula} × {en qué orden} × {dónde se corta} × {qué se reparte}."""

import functools
from itertools import count

import torch

from course_checkers.engine import Case, Exercise, Numbers, Stage, finish, laws, told, ways
from course_checkers.engine import properties as law
from course_checkers.engine.comparing import show_both
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

LAWS = laws(__file__, "14.3 propiedades")
step = functools.partial(ways, told(__file__, "14.3"))


def softmax(x):
    return x.softmax(-1)


def before(s):
    """Lo que suman los que van delante de cada uno."""
    return s.cumsum(-1) - s


def with_first(keep):
    return torch.cat([torch.ones_like(keep[..., :1]), keep[..., 1:]], -1)


def first(many):
    """Tantos como diga ``many``, a partir de V y p."""
    return lambda s, p: torch.arange(s.shape[-1]).expand_as(s) < many(s.shape[-1], p)


def share(x):
    return x / x.sum(-1, keepdim=True)


AXES = {
    # Lo que se acumula, a partir de las puntuaciones.
    "weigh": step(
        softmax,
        ("sin-softmax", itself, torch.sigmoid),
        ("softmax-dos-veces", lambda x: softmax(softmax(x))),
        ("softmax-todo-junto", lambda x: softmax(x.flatten()).view_as(x)),
        ("softmax-otro-eje", lambda x: x.softmax(0), lambda x: x.softmax(-2)),
    ),
    "threshold": step(
        itself,
        ("p-al-revés", lambda p: 1 - p),
        ("p-fija", *(lambda p, n=n: n for n in (0.9, 0.95, 0.5, 0.8))),
    ),
    "order": step(
        lambda w: w.argsort(-1, descending=True),
        ("sin-ordenar", lambda w: torch.arange(w.shape[-1]).expand_as(w)),
        ("de-menos-a-más", lambda w: w.argsort(-1)),
    ),
    # De las probabilidades ya ordenadas, s, y de p, las que se quedan.
    "cut": step(
        lambda s, p: before(s) < p,
        ("deja-fuera-el-que-cruza", lambda s, p: s.cumsum(-1) <= p),
        ("deja-fuera-el-que-cruza", lambda s, p: with_first(s.cumsum(-1) <= p)),
        ("uno-de-más", lambda s, p: with_first((before(s) < p).roll(1, -1))),
        ("por-umbral", lambda s, p: s >= p, lambda s, p: s > 1 - p),
        ("por-umbral", lambda s, p: with_first(s >= p), lambda s, p: with_first(s > 1 - p)),
        ("parte-de-la-mayor", lambda s, p: s >= p * s.amax(-1, keepdim=True)),
        ("fracción-del-vocabulario", first(lambda V, p: max(1, int(p * V)))),
        ("fracción-del-vocabulario", first(lambda V, p: max(1, round(p * V)))),
        ("fracción-del-vocabulario", first(lambda V, p: p * V)),
        ("solo-el-mayor", first(lambda V, p: 1)),
        ("top-k", *(first(lambda V, p, k=k: k) for k in (2, 3, 4, 5))),
        ("todos", first(lambda V, p: V)),
        ("los-demás", lambda s, p: before(s) >= p, lambda s, p: s.cumsum(-1) > p),
    ),
    # Si cada fila tiene su núcleo.
    "rows": step(
        itself,
        ("mismo-tamaño", lambda keep: keep.reshape(-1, keep.shape[-1]).any(0).expand_as(keep)),
        ("mismo-tamaño", lambda keep: keep.reshape(-1, keep.shape[-1])[0].expand_as(keep)),
    ),
    # De las que se quedan, ordenadas, su orden y las puntuaciones, las dos en el orden en que salen.
    "back": step(
        lambda keep, order, x: (torch.zeros_like(keep).scatter(-1, order, keep), x),
        ("sin-deshacer-el-orden", lambda keep, order, x: (keep, x.gather(-1, order))),
        ("tapa-otras", lambda keep, order, x: (keep, x)),
        ("deshace-al-revés", lambda keep, order, x: (keep.gather(-1, order), x)),
        (
            "deshace-al-revés",
            lambda keep, order, x: (keep.gather(-1, order), x.gather(-1, order).gather(-1, order)),
        ),
    ),
    # De las que se quedan, sus puntuaciones y p, lo que se devuelve.
    "share": step(
        lambda keep, x, p: softmax(x.where(keep, -torch.inf)),
        ("sin-renormalizar", lambda keep, x, p: softmax(x) * keep),
        ("reparte-entre-filas", lambda keep, x, p: softmax(x) * keep / (softmax(x) * keep).sum()),
        ("divide-por-p", lambda keep, x, p: softmax(x) * keep / p),
        ("tapa-con-0", lambda keep, x, p: softmax(x * keep)),
        ("softmax-otra-vez", lambda keep, x, p: softmax(softmax(x) * keep)),
        ("softmax-otra-vez", lambda keep, x, p: softmax(softmax(x).where(keep, -torch.inf))),
        ("a-partes-iguales", lambda keep, x, p: share(keep * 1.0)),
        ("devuelve-quiénes", lambda keep, x, p: keep * 1.0, lambda keep, x, p: ~keep * 1.0),
        ("devuelve-puntuaciones", lambda keep, x, p: x.where(keep, -torch.inf)),
        ("devuelve-puntuaciones", lambda keep, x, p: x * keep),
        ("logaritmo", lambda keep, x, p: x.where(keep, -torch.inf).log_softmax(-1)),
        ("reparte-puntuaciones", lambda keep, x, p: share(x * keep)),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3, 4)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None])),
}
# Con estos errores, hay pasos que ya no cuentan.
IDLE = {
    "todos": ("weigh", "threshold", "order", "rows"),
    "solo-el-mayor": ("weigh", "threshold", "rows"),
    "top-k": ("weigh", "threshold", "rows"),
    "fracción-del-vocabulario": ("weigh", "rows"),
    "sin-ordenar": ("back",),
}


def apart(scores, p, gap):
    """Si ninguna suma se acerca a p, ni hay dos iguales: si no, lo decidiría el redondeo."""
    s = softmax(scores.double()).sort(-1, descending=True).values
    near = (s.cumsum(-1)[..., :-1] - p).abs() <= gap
    return not (near | (s.diff(dim=-1) == 0)).any()


def starts(scores):
    """Si el primero de todos está en su núcleo: es el mayor de su fila."""
    return bool(scores.flatten()[0] > scores.flatten()[1 : scores.shape[-1]].max())


def scores_case(p, shape, gap=0.02, less=0.0):
    drawn = (1.5 * torch.randn(*shape, generator=torch.Generator().manual_seed(s)) for s in count())
    scores = next(scores for scores in drawn if starts(scores) and apart(scores, p, gap)) - less
    group = {1: "fila", 2: "lote"}.get(len(shape), "ejes")
    return Case(f"puntuaciones {shape} y p = {p}", (scores, p), group)


CASES = (
    scores_case(0.7, (3, 6)),
    scores_case(0.9, (2, 3, 5), less=3.0),
    scores_case(0.6, (8,)),
    scores_case(0.04, (4, 5)),
    scores_case(0.35, (4, 4)),
    scores_case(0.8, (2, 7), less=1.0),
)
TINY = ([1.0, 2.0], 0.5), ([0.0, 2.0, 1.0], 0.8), ([0.0, 2.0, 1.0], 0.1)
NUCLEUS = torch.tensor([0.2, 0.5, 0.3]).log(), 0.6


def one(attempt):
    """Que cada fila sume 1."""
    for case, output in attempt.outputs():
        sums = output.sum(-1).flatten()
        row = (sums - 1).abs().nan_to_num(torch.inf).argmax()
        if not abs(sums[row] - 1) < 1e-3:
            return [LAWS["propiedad-suma"].saying(name=case.name, sum=show_both(sums[row], 1.0)[0])]
    return []


class TopP(Exercise):
    """Puntuaciones (..., V) → las probabilidades, repartidas entre los pocos que suman p."""

    number, title, points = "14.3", "el núcleo", 3
    names = ("scores", "p")
    letters = ("V",)
    possible = staticmethod(lambda scores, p: apart(scores, p, 1e-4))
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, usual=3),)
    extra = (
        Case("el ejemplo del enunciado", NUCLEUS, "fila"),
        scores_case(0.9, (2, 300), 1e-4),
        scores_case(0.5, (2, 1, 1, 1, 40), 1e-3),
    )
    tiny = tuple(Case("", (torch.tensor(scores), p)) for scores, p in TINY)
    measured = {"finish": numbers.by_a_number("14 §8")}
    reader = Numbers("las probabilidades, (..., V)")
    silent, also = (numbers.constant,), tuple(numbers.KNOWN)
    groups = {
        "fila": "Con una sola fila, (V,), no funciona.",
        "lote": "Con un lote, (B, V), no funciona.",
        "ejes": "Con más ejes delante, como (B, L, V), no funciona.",
    }
    must = (
        law.right_shape(lambda scores, p: scores.shape, "Tu salida no mide lo mismo.", "14 §8"),
        law.finite("14 §8"),
        one,
        law.gives(LAWS["propiedad-ejemplo"], NUCLEUS, torch.tensor([0.0, 0.625, 0.375])),
    )

    besides = (law.promised,)

    def skip(self, choice):
        """Si da lo mismo que otra forma más sencilla."""
        found = {mistake.id for option in choice.values() for mistake in option.mistakes}
        return any(choice[axis].mistakes for name in found for axis in IDLE.get(name, ()))

    def compute(self, choice, scores, p):
        scores = scores.double()
        weights = choice["weigh"](scores)
        order = choice["order"](weights)
        keep = choice["cut"](weights.gather(-1, order), choice["threshold"](p))
        keep, x = choice["back"](choice["rows"](keep), order, scores)
        output = choice["finish"](choice["share"](keep, x, p))
        return {"output": choice["shape"](output).float()}


EXERCISES = (TopP(),)


def check_top_p(function):
    """Comprueba las probabilidades del núcleo, top-p.

    Args:
        function: recibe ``(scores, p)``: puntuaciones ``(..., V)`` y un número entre 0 y 1. Devuelve
            probabilidades de la misma forma: las de los menos tokens que juntos suman p o más, los más
            probables, repartidas de nuevo para que sumen 1, y 0 en los demás.
    """
    return finish(EXERCISES[0].check(function), function)
