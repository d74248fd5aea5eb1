"""3.1 · La softmax.

Sus pasos, y las formas malas de darlos, están en ``l03_steps``. Aquí, las pruebas que los distinguen,
lo que se mide en la respuesta y lo que cumple cualquier softmax. Primero se averigua la cuenta, después
qué pasa con puntuaciones extremas y, al final, con las de −∞.
"""

import math

import torch

from course_checkers.engine import Case, Exercise, Option, Stage, Tensors, finite, laws, right_shape
from course_checkers.engine.comparing import show, show_both
from course_checkers.engine.mistakes import messages, mistakes
from course_checkers.engine.properties import each_output, gives_nan, half_precision, not_by_hand, promised
from course_checkers.lessons import l03_steps as steps
from course_checkers.lessons.l03_steps import TOLD, Share, highest, total

LAWS = laws(__file__, "3.1 propiedades")


def draw(seed, *shape):
    return 1.5 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def case(name, scores):
    group = {1: "fila", 2: "tabla"}.get(scores.dim(), "ejes")
    return Case(name, (scores,), group, required=group == "ejes")


def plain(seed, name, *shape):
    return case(f"{name} {shape}", draw(seed, *shape))


def hiding(name, scores, blocked):
    return case(name, (scores + 3).masked_fill(torch.tensor(blocked).bool(), -torch.inf))


APART = torch.tensor([0.0, 1000, -1000, 0])[:, None]
FAR = torch.tensor(
    [[1000.0, 0, -1000, 500], [0, -1000, 500, 1000], [0, 1000, -1000, 500], [-1000, 1000, 0, 500]]
)
BLOCKED_4 = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
BLOCKED_3 = [[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]]
PLAIN = (
    plain(0, "una tabla", 3, 5),
    plain(1, "una tabla", 4, 4),
    plain(2, "un lote", 2, 3, 4),
    plain(3, "un lote", 4, 4, 4),
    plain(4, "un lote con cabezas", 2, 3, 4, 5),
    plain(13, "cinco ejes", 2, 1, 2, 3, 2),
    plain(5, "una fila suelta", 5),
    plain(14, "una tabla", 4, 70),
    plain(15, "un lote", 2, 3, 1),
)
LARGE = (
    PLAIN[1],  # una que no se para nunca
    case("puntuaciones de 1000", draw(6, 4, 4) + 1000),
    case("puntuaciones de −1000", draw(7, 4, 4) - 1000),
    case("filas muy distintas", draw(8, 4, 4) + APART),
    case("puntuaciones de −1000 a 1000 en la misma fila", draw(9, 4, 4) + FAR),
    case("un lote con tablas muy distintas", draw(10, 4, 4, 4) + APART[..., None]),
)
BLOCKED = (
    hiding("algunas puntuaciones de −∞", draw(11, 4, 4), BLOCKED_4),
    hiding("un lote con puntuaciones de −∞", draw(12, 2, 3, 4), BLOCKED_3),
)
TINY = ([[0.0]], [[0.0, 1.0]], [[0.0, 1.0], [0.0, 2.0]], [[0.0, -torch.inf]], [[0.0, 1000.0]])

# --- Lo que se mide en la respuesta ---------------------------------------------------------------


def probe(attempt, *scores):
    """Los pesos de una sola fila; si no sale nada útil, ``None``."""
    for shape in ((1, -1), (-1,), (1, 1, -1), (-1, 1), (1, -1, 1)):
        row = torch.tensor(scores).reshape(shape)
        value = attempt.ask(row)
        if value is None or value.shape != row.shape or not value.isfinite().all():
            continue
        weights = value.double().flatten().tolist()
        if len(set(weights)) > 1 or len(set(scores)) == 1 or abs(sum(weights) - 1) < 1e-3:
            return weights
    return None


def neat(number):
    """El número redondo que hay detrás de uno medido, si lo hay."""
    rounded = float(f"{number:.3g}") if abs(number) > 1e-5 else 0.0
    return rounded if abs(rounded - number) < 1e-5 + 1e-5 * abs(number) else number


def found_temperature(attempt):
    """Por qué número se multiplican las puntuaciones: e¹ entre e⁰ tiene que ser e."""
    measured = []
    for n in (2, 4):
        weights = probe(attempt, 1.0, *[0.0] * (n - 1))
        if weights is None or min(weights) <= 0 or weights[0] == weights[1]:
            return
        measured.append(abs(math.log(weights[0] / weights[1])))
    factor, power = measured[0], math.log2(measured[1] / measured[0])
    if abs(power) > 0.01:
        first = factor / 2**power
        yield Option(lambda x: x * first * x.shape[-1] ** power, TOLD["temperatura#n"])
        return
    factor, divisor = neat(factor), neat(1 / factor)
    base = math.exp(factor)
    if abs(factor - 1) < 0.02 or 2.5 < base < 30 and abs(base - round(base)) < 1e-4 * base:
        found = TOLD["base-otra"].saying(number=f"{base:.5g}")
    else:
        times = f"Multiplicas por {show(factor)}" if factor > 1 else f"Divides por {show(divisor)}"
        found = TOLD["temperatura"].saying(times=times)
    yield Option(lambda x: x * factor, found)
    yield Option(lambda x: x / divisor, found)


def found_epsilon(attempt):
    """Lo que se suma a la suma: con dos puntuaciones a 0, cada peso tiene que ser 1/2."""
    weights = probe(attempt, 0.0, 0.0)
    if weights and weights[0] == weights[1] and 0 < weights[0] < 0.4999:
        epsilon = 1 / weights[0] - 2
        found = TOLD["épsilon"].saying(number=show(epsilon))
        yield Option(Share(lambda e, x, dims: e / (total(e, dims) + epsilon)), found)


def found_added(attempt):
    """Lo que se suma a los pesos: el de −∞ tiene que ser 0."""
    weights = probe(attempt, 0.0, -torch.inf)
    if weights and 0 < weights[1] < weights[0]:
        found = TOLD["épsilon-en-pesos"].saying(number=show(weights[1]))
        yield Option(lambda w, x, dims: w + weights[1], found)


def found_fill(attempt):
    """Por qué se cambia un −∞."""
    weights = probe(attempt, 1.0, -torch.inf)
    if weights and min(weights) > 0:
        fill = neat(math.log(weights[1] / weights[0]) + 1)
        yield Option(fill, TOLD["tapado"].saying(number=show(fill)))


def edge(attempt, sign):
    """Desde qué número, si se recorta, deja de notarse una diferencia de 1. Se busca por mitades."""

    def step(x):
        weights = probe(attempt, sign * x, sign * (x - 1))
        return sign * math.log(weights[0] / weights[1]) if weights and min(weights) > 0 else None

    below, above = 1, 10_000
    if step(above) != 0:
        return math.inf
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if step(middle) == 0 else (middle, above)
    return neat(below - 1 + step(below)) if step(below) else math.inf


def found_clamp(attempt):
    """Entre qué números se recortan las puntuaciones, si se recortan."""
    high, low = edge(attempt, 1), probe(attempt, 0.0, -1e4)
    low = neat(math.log(low[1] / low[0])) if low and min(low) > 0 else -edge(attempt, -1)
    limits = [f"las mayores que {show(high)}"] * (high < math.inf)
    limits += [f"las menores que {show(low)}"] * (low > -math.inf)
    if limits:
        found = TOLD["recorta"].saying(limits=" y ".join(limits))
        naive = (found, TOLD["inestable"]) if len(limits) < 2 else found
        yield Option(lambda x, dims: x.clamp(low, high) - highest(x.clamp(low, high), dims), found)
        yield Option(lambda x, dims: (x - highest(x, dims)).clamp(low, high), found)
        yield Option(lambda x, dims: x.clamp(low, high), naive)


# --- Lo que se mira, y lo que está bien y conviene saber ------------------------------------------


@each_output(LAWS)
def like_weights(weights, scores):
    """Que no haya pesos negativos, que cada fila sume 1 y que, a mayor puntuación, mayor peso."""
    rows = weights.reshape(-1, weights.shape[-1])
    sums, order = rows.sum(-1), scores.reshape(rows.shape).argsort(-1)
    row, low = int((sums - 1).abs().argmax()), weights.min()
    back = (rows.gather(-1, order).diff(dim=-1) < -1e-5).any(-1)
    if low < -1e-5:
        yield "propiedad-positiva", {"low": show(low)}
    if abs(sums[row] - 1) > 1e-3:
        yield "propiedad-suma", {"row": row, "sum": show_both(sums[row], 1.0)[0]}
    if back.any():
        yield "propiedad-orden", {"row": int(back.nonzero()[0])}


def exactly_zero(attempt, choice):
    """Que −∞ pese 0, y no casi 0."""
    for case, weights in attempt.outputs():
        given = weights[case.arguments[0] == -torch.inf]
        if (given != 0).any() and not mistakes(choice):
            return [TOLD[ZERO].found(f"Con {case.name}, recibe hasta {show(given.abs().max())}.")]
    return []


ZERO = "menos-infinito-no-es-0"
MADE = ("softmax", "log_softmax", "_softmax", "softmin", "scaled_dot_product_attention")
MADE += ("special_softmax", "special_log_softmax")
# Una fila prohibida entera: no hay una respuesta buena; se dice cuál da.
NOBODY = gives_nan(LAWS["fila-vacía"].text, torch.tensor([[-torch.inf] * 2, [0.0, 1.0]]))
same_shape = right_shape(lambda x: x.shape, "Tu salida no mide lo mismo que las puntuaciones.", "03 §1")
EXTREMES = ("shift", "arithmetic", "nans")


class Softmax(Exercise):
    """Comprueba una softmax sobre el último eje.

    Args:
        function: recibe ``scores``, un tensor ``(..., n)`` de float32, con los ejes que sea por
            delante y quizá algún −∞. Devuelve los pesos, de la misma forma: un tensor o un array de
            NumPy.
    """

    number, title, points = "3.1", "la softmax", 3
    letters = ("n",)
    axes = steps.AXES
    stages = (
        Stage(steps.SUM, PLAIN, usual=8),
        Stage(EXTREMES, LARGE, smallest=True, styles=(), otherwise=Stage(EXTREMES, LARGE)),
        Stage(("hidden",), BLOCKED),
    )
    extra = (hiding("puntuaciones de −1000 y de −∞", draw(16, 4, 4) - 1000, BLOCKED_4),)
    tiny = tuple(Case("", (torch.tensor(scores),)) for scores in TINY)
    measured = {
        "transform": found_temperature,
        "share": found_epsilon,
        "after": found_added,
        "shift": found_clamp,
        "hidden": found_fill,
    }
    must = (half_precision, same_shape, like_weights, finite("03 §2"))
    reader = Tensors(numpy=True)
    groups = messages(__file__, "3.1 grupos")
    besides, returned = (promised,), (exactly_zero,)
    notes = (not_by_hand(MADE, LAWS["ya-hecha"].text), NOBODY)
    skip = staticmethod(steps.redundant)
    also = ("temperatura", "base-otra", "épsilon", "épsilon-en-pesos", "recorta", "tapado", ZERO)

    def narrow(self, attempt):
        if not {case.group for case in attempt.seen} & {"tabla", "ejes"}:
            yield LAWS["solo-una-fila"]

    def compute(self, choice, scores):
        how, nans = choice["share"], choice["nans"]
        dims, offset = how.dims(scores.dim()), choice["offset"] or how.offset
        first = (choice[axis] for axis in ("sign", "transform", "kernel"))
        then = (choice[axis] for axis in ("shift", "hidden", "arithmetic"))
        e, x = steps.numerators(*first, offset, *then, dims, scores)
        empty, weights = total(e, dims) == 0, how.divide(e, x, dims)
        if choice["arithmetic"] == "python" and not nans and empty.any():
            raise ValueError  # 0/0: ZeroDivisionError
        if nans:
            weights = weights.nan_to_num(0.0) if nans == "NaN → 0" else weights.where(~empty, 0.0)
        return {"output": choice["after"](weights, x, dims)}
