"""3.2 · Las puntuaciones escaladas, Q·Kᵀ/√d_k.

La familia: {Q·Kᵀ, Q·K, componente a componente…} × {÷√d_k, ÷d_k, ÷√d_model…} × {nada más, softmax…}.
"""

import math
from itertools import product

import torch

from course_checkers.engine import Exercise, Option, Stage, messages, same, show, show_both, stepping, told
from course_checkers.engine.case import Case, drawn
from course_checkers.engine.properties import finite, half_precision, laws, promised, right_shape
from course_checkers.steps import attention as steps

# --- Los errores ----------------------------------------------------------------------------------


def size(look):
    """La desviación de las puntuaciones, y la que tenían que tener."""
    mine, good = (float(scores.std()) for scores in look.both())
    if not look.yours.isfinite().all() or abs(mine - good) < 0.02 * good:
        return ""
    return (
        f"Con {look.case.name}, tus puntuaciones tienen una desviación típica de {show(mine)}, "
        f"y tenía que ser {show(good)}."
    )


SCALES = told(steps.__file__, "scale", size) | told(__file__, "3.2 escala", size)
TOLD, LAWS = told(__file__, "3.2") | SCALES, laws(__file__, "3.2 propiedades")
step = stepping(TOLD)


def over(divisor):
    """Dividir por un número, a partir de la query y la key: sin mirar las puntuaciones."""
    return lambda scores, q, k: scores / divisor(q, k, k)


def standardize(dims, correction, centered):
    def change(scores, q, k):
        axes = tuple(range(scores.dim())) if dims is None else dims
        mean = scores.mean(axes, keepdim=True)
        freedom = scores.numel() // mean.numel() - correction  # si es 0, sale NaN, como en torch
        variance = ((scores - mean) ** 2).sum(axes, keepdim=True) / freedom
        return (scores - mean if centered else scores) / variance.sqrt()

    return change


def squeeze(scores, low, high):
    return (scores - low) / (high - low)


OF_VALUE = ("escala-√d_v", "escala-norma-de-V")  # aquí no hay values
SHARED = [o for o in steps.SCALE_OPTIONS if o.mistake and o.mistake.id not in OF_VALUE]
STANDARDS = product((None, (-1,), (-2, -1)), (0, 1), (False, True))
AXES = {
    "order": step(False, ("query-key-cambiadas", True)),
    "product": step(
        lambda q, k: q @ k.mT,
        ("sin-trasponer", lambda q, k: q @ k),
        ("query-traspuesta", lambda q, k: q.mT @ k),
        ("componente-a-componente", lambda q, k: q * k),
        ("solo-la-diagonal", lambda q, k: (q * k).sum(-1), lambda q, k: (q * k).sum(-1, True)),
    ),
    # De las puntuaciones (s), la query y la key, las puntuaciones ya divididas.
    "scale": step(
        over(steps.by_root),
        *((option.mistake.id, over(option.value)) for option in SHARED),
        ("escala-d_model", lambda s, q, k: s / (q.shape[-3] * q.shape[-1])),
        ("escala-d_model", lambda s, q, k: s / (q.shape[1] * q.shape[-1])),
        ("escala-d_model", lambda s, q, k: s / (q.shape[-1] * (q.shape[-3] if q.dim() == 4 else 1))),
        ("escala-otro-eje", lambda s, q, k: s / q.shape[-2]),
        ("escala-otro-eje", lambda s, q, k: s / q.shape[0], lambda s, q, k: s / k.shape[0]),
        ("escala-otro-eje", lambda s, q, k: s / q.shape[1], lambda s, q, k: s / k.shape[1]),
        ("escala-otro-eje", *(lambda s, q, k, i=i: s / math.sqrt(k.shape[i]) for i in (0, 1))),
        ("escala-máximo", lambda s, q, k: s / s.max(), lambda s, q, k: s / s.abs().max()),
        ("escala-máximo", lambda s, q, k: s / s.amax(-1, keepdim=True)),
        ("escala-una-norma", lambda s, q, k: s / q.norm(), lambda s, q, k: s / k.norm()),
        ("escala-una-norma", lambda s, q, k: s / (q.norm() * k.norm()), lambda s, q, k: s / s.norm()),
        ("escala-una-norma", lambda s, q, k: s / s.norm(dim=-1)[..., None]),
        ("escala-una-norma", lambda s, q, k: s / q.norm(dim=-1)[..., None]),
        ("escala-una-norma", lambda s, q, k: s / k.norm(dim=-1)[..., None, :]),
        ("escala-desviación", *(standardize(*how) for how in STANDARDS)),
        ("entre-0-y-1", lambda s, q, k: squeeze(s, s.min(), s.max())),
        ("entre-0-y-1", lambda s, q, k: squeeze(s, s.amin(-1, True), s.amax(-1, True))),
        ("raíz-de-todo", lambda s, q, k: (s / q.shape[-1]).sqrt()),
        ("raíz-de-todo", lambda s, q, k: s.sqrt() / q.shape[-1], lambda s, q, k: s.sqrt()),
    ),
    # De las puntuaciones ya divididas y de √d_k, la salida.
    "after": step(
        lambda s, root: s,
        ("softmax-de-más", lambda s, root: s.softmax(-1), lambda s, root: s.softmax(-2)),
        (("softmax-de-más", "escala-después"), lambda s, root: (s * root).softmax(-1) / root),
        ("valor-absoluto", lambda s, root: s.abs()),
        ("signo", lambda s, root: -s),
        ("relu", lambda s, root: s.clamp_min(0)),
        ("recorta", lambda s, root: s.clamp(0, 1), lambda s, root: s.clamp(-1, 1)),
        ("recorta", lambda s, root: s.tanh(), lambda s, root: s.sigmoid()),
        ("exponencial", lambda s, root: s.exp()),
        ("sin-decimales", lambda s, root: s.floor(), lambda s, root: s.trunc(), lambda s, root: s.round()),
    ),
}

KINDS = (("frase", "en una frase suelta"), ("lote", "en un lote"), ("cabezas", "con cabezas"))


def case(name, seed, leading, L_q, L_k, d_k, size=1.5):
    group, where = KINDS[len(leading)]
    query, key = drawn(seed, (*leading, L_q, d_k), (*leading, L_k, d_k))
    return Case(f"{name}, {where}", (query * size, key * size), group)


EXAMPLE = (torch.full((1, 4), 2.0), torch.full((1, 4), 3.0))
CASES = (
    case("4 queries y 5 keys", 0, (2, 3), 4, 5, 6),
    case("4 queries, 4 keys y d_k = 5", 1, (2, 3), 4, 4, 5),
    case("4 queries, 4 keys y d_k = 4", 2, (2, 3), 4, 4, 4),
    case("7 queries y 9 keys muy largas, con d_k = 64", 3, (2, 3), 7, 9, 64, size=300.0),
    case("3 queries y 5 keys", 10, (2,), 3, 5, 6),
    case("4 queries, 4 keys y d_k = 5", 11, (2,), 4, 4, 5),
    case("4 queries, 4 keys y d_k = 4", 12, (2,), 4, 4, 4),
    case("3 queries y 5 keys", 20, (), 3, 5, 6),
    case("4 queries, 4 keys y d_k = 5", 21, (), 4, 4, 5),
    case("4 queries, 4 keys y d_k = 4", 22, (), 4, 4, 4),
    Case("la query y la key del enunciado", EXAMPLE, "frase"),
)


def divisor(attempt, d_k):
    """Por cuánto divide un producto que vale 1; con cabezas, con lote o sin nada delante."""
    for leading in ((1, 1), (1,), ()):
        query = torch.zeros(*leading, 1, d_k)
        query[..., 0] = 1.0
        value = attempt.ask(query, query)
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            score = abs(float(value))
            return 1 / score if math.isfinite(score) and score > 1e-6 else None
    return None


def alike(numbers):
    return (max(numbers) - min(numbers)) / max(numbers) < 1e-4


def found_scales(attempt):
    """El divisor que usa quien aprende: uno fijo conocido, o medido en cada anchura de las pruebas."""
    fixed = SCALES["escala-fija"]
    for number in steps.CONSTANTS:
        yield Option(over(lambda *_, n=number: n), fixed.saying(number=show(number)))
    measured = {d_k: divisor(attempt, d_k) for d_k in (4, 5, 6, 64)}
    numbers = measured.values()
    if not all(numbers) or any(alike((number, *numbers)) for number in steps.CONSTANTS):
        return
    ratio = {d_k: found / math.sqrt(d_k) for d_k, found in measured.items()}
    if alike(numbers):
        found = fixed.saying(number=show(measured[4]))
    elif alike(ratio.values()):
        found = SCALES["escala-de-más"].saying(number=show(ratio[4]))
    else:
        width = next(d_k for d_k, found in ratio.items() if not alike((found, 1.0)))
        mine, good = show_both(measured[width], math.sqrt(width))
        found = SCALES["escala-otra"].saying(width=width, number=mine, right=good)
    yield Option(over(lambda q, *_: measured[q.shape[-1]]), found)


def found_limits(attempt):
    """Entre qué topes se recortan las puntuaciones: los que da un producto enorme."""
    large = torch.full((1, 1), 1e6)
    tops = [attempt.ask(query, large) for query in (-large, large)]
    if all(top is not None and top.numel() == 1 for top in tops):
        low, high = map(float, tops)
        yield Option(lambda scores, root: scores.clamp(low, high), TOLD["recorta"])


def doubles(attempt):
    """Que, con queries el doble de largas, las puntuaciones sean el doble."""
    for case, output in attempt.outputs():
        query, key = case.arguments
        longer = attempt.ask(2 * query, key)
        if longer is not None and not same(longer, 2 * output, 1e-3, 1e-4):
            return [LAWS["propiedad-doble"].saying(name=case.name)]
    return []


SHAPE = "La forma de tu salida no es (..., L_q, L_k): una fila por query y una columna por key."
every_pair = right_shape(lambda q, k: (*q.shape[:-1], k.shape[-2]), SHAPE, "03 §4")


class Scaling(Exercise):
    """Comprueba unas puntuaciones escaladas.

    Args:
        function: recibe ``(query, key)``, de formas ``(..., L_q, d_k)`` y ``(..., L_k, d_k)``, y
            devuelve Q·Kᵀ/√d_k, ``(..., L_q, L_k)``.
    """

    number, title, points = "3.2", "las puntuaciones escaladas", 2
    letters = ("L_q d_k", "L_k d_k")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES),)
    tiny = (
        Case("1 query y 1 key", (torch.tensor([[3.0]]), torch.tensor([[2.0]]))),
        Case("1 query y 1 key, con d_k = 4", EXAMPLE),
        Case("2 queries y 1 key", (torch.tensor([[1.0], [-2.0]]), torch.tensor([[3.0]]))),
        Case("2 queries y 2 keys", (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.eye(2))),
    )
    measured = {"scale": found_scales, "after": found_limits}
    must = (half_precision, every_pair, finite("03 §4"), doubles)
    groups = messages(__file__, "3.2 grupos")
    besides = (promised,)
    also = ("escala-fija", "escala-de-más", "escala-otra")

    def narrow(self, attempt):
        if not {case.group for case in attempt.seen} & {"lote", "cabezas"}:
            yield LAWS["sin-lote"]

    def compute(self, choice, query, key):
        q, k = (key, query) if choice["order"] else (query, key)
        scores = choice["scale"](choice["product"](q, k), query, key)
        return {"output": choice["after"](scores, math.sqrt(query.shape[-1]))}
