"""5.1 · La softmax.

La familia: {las puntuaciones como llegan, con otro signo, con temperatura…} × {eˣ, x, |x|, x²…} ×
{lo que se resta antes} × {entre qué suma, y sobre qué eje} × {lo que se hace con los pesos}. Después
se averigua qué pasa con puntuaciones extremas y con las de −∞.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from course_lib.checkers.engine.comparing import show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import finite, right_shape
from course_lib.checkers.engine.reading import Tensors
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.engine.search import Stage

# --- Lo que pasa en la salida, en números ---------------------------------------------------------


def rows_of(look):
    """Las filas de quien aprende y las buenas, si miden lo mismo; si no, nada."""
    if look.yours.shape != look.right.shape:
        return None, None
    n = look.right.shape[-1]
    return look.yours.double().reshape(-1, n), look.right.double().reshape(-1, n)


def row_sum(look):
    yours, _ = rows_of(look)
    if yours is None or not yours.isfinite().all():
        return ""
    sums = yours.sum(-1)
    row = int((sums - 1).abs().argmax())
    if abs(sums[row] - 1) < 1e-3:
        return ""
    where = "tus pesos" if len(sums) == 1 else f"los pesos de tu fila {row}"
    return f"Con {look.case.name}, {where} suman {show(sums[row])}, y tenían que sumar 1."


def top_weight(look):
    yours, right = rows_of(look)
    if yours is None or yours.isnan().any():
        return ""
    row = int((yours - right).abs().amax(-1).argmax())
    place = int(right[row].argmax())
    return (
        f"Con {look.case.name}, la puntuación más alta de la fila {row} recibe "
        f"{show(yours[row, place])}, y tenía que recibir {show(right[row, place])}."
    )


def lowest_weight(look):
    yours, _ = rows_of(look)
    if yours is None or yours.isnan().any() or yours.min() >= 0:
        return top_weight(look)
    return (
        f"Con {look.case.name}, uno de tus pesos es {show(yours.min())}, y no hay pesos negativos."
    )


def not_finite(look):
    bad = int((~look.yours.isfinite()).sum())
    if not bad:
        return row_sum(look)
    return f"Con {look.case.name}, {bad} de tus {look.yours.numel()} números son NaN o ∞."


def blocked_weight(look):
    yours, _ = rows_of(look)
    if yours is None:
        return ""
    blocked = look.case.arguments[0].reshape(yours.shape) == -torch.inf
    if not blocked.any() or yours[blocked].isnan().any():
        return not_finite(look)
    most = yours[blocked].abs().max()
    return f"Con {look.case.name}, una puntuación de −∞ recibe {show(most)}, y tenía que recibir 0."


TOLD = told(
    __file__, "5.1", top_weight, sin_exponencial=lowest_weight, tapado=blocked_weight
) | told(__file__, "5.1 suma", row_sum) | told(__file__, "5.1 extremos", not_finite)  # fmt: skip

# --- Los pasos ------------------------------------------------------------------------------------

LAST = {"dim": -1, "keepdim": True}


def standard(correction):
    return lambda x: (x - x.mean(**LAST)) / x.std(**LAST, correction=correction)


def unit_range(x):
    low, high = x.amin(**LAST), x.amax(**LAST)
    return (x - low) / (high - low)


def over(function):
    """Aplica ``function`` (``amax``, ``mean``…) a los ejes pedidos; si no hay ninguno, a nada."""
    return lambda x, dims: function(x, dims, keepdim=True) if dims else x


highest, lowest, average = over(torch.amax), over(torch.amin), over(torch.mean)


def row_maximum(x):
    return x.amax(**LAST)


def of_the_table(x):
    return x.amax((-2, -1)[-x.dim() :], keepdim=True)


class Share(NamedTuple):
    """Cómo se reparte: ``divide(e, x, dims)``, y sobre qué ejes, según cuántos haya.

    ``free``: si da lo mismo restar cualquier número, siempre que sea el mismo en la fila.
    ``offset``: lo que se resta antes, si va con esta forma de repartir.
    """

    divide: Callable
    dims: Callable = lambda axes: (-1,)
    free: bool = False
    offset: Callable | None = None


def total(e, dims):
    return e.sum(dims, keepdim=True) if dims else e


def share(e, x, dims):
    return e / total(e, dims)


def along(*dims):
    return Share(share, lambda axes: dims)


def bare_sum(e, x, dims):
    return e / e.sum(-1)


def carried(e, x, dims):
    """Entre la suma de esta fila y de las anteriores."""
    sums = e.sum(-1)
    return e / sums.flatten().cumsum(0).view_as(sums)[..., None]


def twice(w, x, dims):
    e = (w - highest(w, dims)).exp()
    return e / total(e, dims)


def twice_by_rows(w, x, dims):
    return twice(w, x, (-1,))


def log_softmax(w, x, dims):
    return x.log_softmax(*dims)


def only_highest(w, x, dims):
    return torch.zeros_like(x).scatter(-1, x.argmax(**LAST), 1.0)


# De cada paso van primero los errores que también se buscan de tres en tres.
AXES = {
    # Por qué signo se multiplican las puntuaciones, antes y después de restar el máximo.
    "sign": ways(TOLD, (1, 1), ("signo", (-1, 1), (1, -1))),
    "transform": ways(
        TOLD,
        lambda x: x,
        ("base-2", lambda x: x * math.log(2)),
        ("temperatura-√n", lambda x: x / math.sqrt(x.shape[-1])),
        ("de-0-a-1", unit_range),
        ("base-10", lambda x: x * math.log(10)),
        ("temperatura-n", lambda x: x / x.shape[-1]),
        ("divide-por-el-máximo", lambda x: x / row_maximum(x), lambda x: x / x.max()),
        ("normaliza-antes", lambda x: x / x.norm(**LAST)),
        ("estandariza", standard(1), standard(0)),
        ("porcentaje-antes", lambda x: x / x.sum(**LAST)),
    ),
    # Si lleva exponencial, y lo que se hace justo antes de ella (o en su lugar).
    "kernel": ways(
        TOLD,
        (True, lambda x: x),
        ("sin-exponencial", (False, lambda x: x)),
        ("sigmoide", (False, torch.sigmoid)),
        ("valor-absoluto", (False, torch.abs)),
        ("cuadrados", (False, torch.square)),
        ("relu", (False, torch.relu)),
        ("exponencial-del-absoluto", (True, torch.abs)),
        ("relu-antes", (True, torch.relu)),
        ("sigmoide-antes", (True, torch.sigmoid)),
    ),
    # Lo que se resta y cambia el resultado con cualquier puntuación. Si es nada, lo dice ``shift``.
    "offset": ways(
        TOLD,
        [None, row_maximum],
        ("sin-keepdim", lambda x: x.amax(-1)),
        ("inestable", lambda x: 0.0),
        ("máximo-global", lambda x: x.max()),
        ("resta-media", lambda x: x.mean(**LAST)),
        ("resta-mínimo", lambda x: x.amin(**LAST)),
        ("resta-otro-eje", lambda x: x.amax(-2, keepdim=True), lambda x: x.amax(0, keepdim=True)),
    ),
    "share": ways(
        TOLD,
        Share(share, free=True),
        ("eje-0", along(0)),
        ("eje-1", along(1)),
        ("eje-penúltimo", along(-2)),
        ("eje-todo", Share(share, lambda axes: tuple(range(axes)))),
        # Entre la mayor es lo mismo que restar el máximo y no dividir.
        ("sin-dividir", Share(lambda e, x, dims: e)),
        ("sin-dividir", Share(lambda e, x, dims: e / row_maximum(e), free=True)),
        ("sin-keepdim", Share(bare_sum), Share(bare_sum, offset=lambda x: x.amax(-1))),
        ("eje-2", along(2)),
        ("eje-antepenúltimo", along(-3)),
        ("eje-tabla", along(-2, -1)),
        ("eje-por-bloque", Share(share, lambda axes: tuple(range(1, axes)))),
        # El eje que toma torch si no se le dice ninguno.
        ("eje-sin-decir", Share(share, lambda axes: (0,) if axes in (0, 1, 3) else (1,))),
        ("divide-por-la-media", Share(lambda e, x, dims: e / e.mean(**LAST), free=True)),
        ("divide-por-n", Share(lambda e, x, dims: e / e.shape[-1])),
        ("divide-por-la-norma", Share(lambda e, x, dims: e / e.norm(**LAST), free=True)),
        ("suma-de-puntuaciones", Share(lambda e, x, dims: e / x.sum(**LAST))),
        ("exponencial-solo-abajo", Share(lambda e, x, dims: x / e.sum(**LAST))),
        ("suma-a-medias", Share(lambda e, x, dims: e / e.cumsum(-1), free=True)),
        ("suma-arrastrada", Share(carried)),
    ),
    # Lo que se hace después, a partir de los pesos, las puntuaciones y los ejes.
    "after": ways(
        TOLD,
        lambda w, x, dims: w,
        ("dos-veces", twice, twice_by_rows),
        ("redondeo", *(lambda w, x, dims, n=n: w.round(decimals=n) for n in range(5))),
        ("por-100", lambda w, x, dims: w * 100),
        ("logaritmo", lambda w, x, dims: w.log(), log_softmax),
        ("solo-la-mayor", only_highest),
        ("complemento", lambda w, x, dims: 1 - w),
        ("traspuesta", lambda w, x, dims: w.mT),
    ),
    # Lo que solo se nota con puntuaciones extremas: restar lo mismo en toda la fila no cambia más.
    "shift": ways(
        TOLD,
        lambda x, dims: x - highest(x, dims),
        ("inestable", lambda x, dims: x, lambda x, dims: x + highest(x, dims)),
        ("máximo-global", lambda x, dims: x - x.max(), lambda x, dims: x - of_the_table(x)),
        ("resta-media", lambda x, dims: x - average(x, dims), lambda x, dims: x - x.mean()),
        ("resta-mínimo", lambda x, dims: x - lowest(x, dims), lambda x, dims: x - x.min()),
        ("resta-absoluto", lambda x, dims: x - highest(x.abs(), dims)),
        ("resta-absoluto", lambda x, dims: x - x.abs().max()),
        ("resta-otra", lambda x, dims: x - x[..., :1], lambda x, dims: x - x[..., -1:]),
        ("máximo-desde-0", lambda x, dims: x - highest(x, dims).clamp(min=0)),
        ("máximo-desde-0", lambda x, dims: x - x.max().clamp(min=0)),
    ),
    # Cómo se cuenta no es un error: decide cuándo se desborda la exponencial y qué pasa entonces.
    "arithmetic": ways(TOLD, ["float32", "float64", "python"]),
    "nans": ways(TOLD, [None, "NaN → 0", "0/0 → 0"]),
    "hidden": ways(TOLD, None),
}
KERNEL, PROPORTION = (option.value for option in AXES["kernel"][:2])
ROW_WIDE = {option.value for option in AXES["offset"][1:7]} - {AXES["offset"][2].value}


@functools.lru_cache(maxsize=8192)  # las mismas pruebas, para todo el mundo
def numerators(sign, transform, kernel, offset, shift, hidden, arithmetic, dims, scores):
    """Lo que se reparte, y las puntuaciones ya transformadas."""
    x = scores if arithmetic == "float32" else scores.double()
    if hidden is not None:
        x = torch.where(x == -torch.inf, hidden, x)
    (before, after), (exponential, inner) = sign, kernel
    x = transform(before * x)
    if offset:
        x = x - offset(x)
    x = inner(x)
    if not exponential:
        return after * x, after * x
    shifted = after * (x if offset else shift(x, dims))
    if arithmetic == "python" and shifted.max() > 709.78:
        raise ValueError  # math.exp se para: OverflowError
    return shifted.exp(), after * x


# --- Las pruebas ----------------------------------------------------------------------------------


def draw(seed, *shape):
    return 1.5 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def table(name, scores):
    return Case(name, (scores,), "tabla")


def deep(name, scores):
    return Case(name, (scores,), "ejes", required=True)


APART = torch.tensor([0.0, 1000, -1000, 0])[:, None]
FAR = torch.tensor(
    [[1000.0, 0, -1000, 500], [0, -1000, 500, 1000], [0, 1000, -1000, 500], [-1000, 1000, 0, 500]]
)
BLOCKED_4 = torch.tensor([[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=torch.bool)
BLOCKED_3 = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.bool)
PLAIN = (
    table("una tabla (3, 5)", draw(0, 3, 5)),
    table("una tabla (4, 4)", draw(1, 4, 4)),
    deep("un lote (2, 3, 4)", draw(2, 2, 3, 4)),
    deep("un lote (4, 4, 4)", draw(3, 4, 4, 4)),
    deep("un lote con cabezas (2, 3, 4, 5)", draw(4, 2, 3, 4, 5)),
    deep("cinco ejes (2, 1, 2, 3, 2)", draw(13, 2, 1, 2, 3, 2)),
    Case("una fila suelta (5,)", (draw(5, 5),), "fila"),
)
LARGE = (
    PLAIN[1],  # una que no se para nunca
    table("puntuaciones de 1000", draw(6, 4, 4) + 1000),
    table("puntuaciones de −1000", draw(7, 4, 4) - 1000),
    table("filas muy distintas", draw(8, 4, 4) + APART),
    table("puntuaciones de −1000 a 1000 en la misma fila", draw(9, 4, 4) + FAR),
    deep("un lote con tablas muy distintas", draw(10, 4, 4, 4) + APART[..., None]),
)
BLOCKED = (
    table("algunas puntuaciones de −∞", (draw(11, 4, 4) + 3).masked_fill(BLOCKED_4, -torch.inf)),
    deep(
        "un lote con puntuaciones de −∞", (draw(12, 2, 3, 4) + 3).masked_fill(BLOCKED_3, -torch.inf)
    ),
)

# --- Lo que se mide en la respuesta ---------------------------------------------------------------


def probe(attempt, *scores):
    """Los pesos de una sola fila; si no sale nada útil, ``None``."""
    for shape in ((1, -1), (-1,), (1, 1, -1), (-1, 1), (1, -1, 1)):
        row = torch.tensor(scores).reshape(shape)
        value = attempt.ask(row)
        if value is None or value.shape != row.shape or not value.isfinite().all():
            continue
        weights = value.double().flatten().tolist()
        if len(set(weights)) > 1 or len(set(scores)) == 1:
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


def found_clamp(attempt):
    """Entre qué números se recortan las puntuaciones, si se recortan."""
    high, low = probe(attempt, 1e4, 0.0), probe(attempt, 0.0, -1e4)
    high = neat(math.log(high[0] / high[1])) if high and min(high) > 0 else math.inf
    low = neat(math.log(low[1] / low[0])) if low and min(low) > 0 else -math.inf
    limits = [f"las mayores que {show(high)}"] * (high < math.inf)
    limits += [f"las menores que {show(low)}"] * (low > -math.inf)
    if limits:
        found = TOLD["recorta"].saying(limits=" y ".join(limits))
        naive = (found, TOLD["inestable"]) if len(limits) < 2 else found
        yield Option(lambda x, dims: x.clamp(low, high) - highest(x.clamp(low, high), dims), found)
        yield Option(lambda x, dims: (x - highest(x, dims)).clamp(low, high), found)
        yield Option(lambda x, dims: x.clamp(low, high), naive)


# --- Lo que se mira, y lo que está bien y conviene saber ------------------------------------------


def like_weights(attempt):
    """Que no haya pesos negativos, que cada fila sume 1 y que, a mayor puntuación, mayor peso."""
    for case, weights in attempt.outputs():
        scores, rows = case.arguments[0], weights.reshape(-1, weights.shape[-1])
        sums, order = rows.sum(-1), scores.reshape(rows.shape).argsort(-1)
        worst = int((sums - 1).abs().argmax())
        back = (rows.gather(-1, order).diff(dim=-1) < -1e-5).any(-1)
        if weights.min() < -1e-5:
            name, text, story = "positiva", "Hay pesos negativos.", f"uno es {show(weights.min())}"
        elif abs(sums[worst] - 1) > 1e-3:
            name, text = "suma", "Los pesos de cada fila tienen que sumar 1."
            story = f"los de la fila {worst} suman {show(sums[worst])}"
        elif back.any():
            name, text = "orden", "A mayor puntuación, mayor peso."
            story = f"no pasa en la fila {int(back.nonzero()[0])}"
        else:
            continue
        return [Finding(f"propiedad-{name}", text, f"Con {case.name}, {story}.", "05 §1")]
    return []


def only_one_row(attempt):
    if not {case.group for case in attempt.seen} & {"tabla", "ejes"}:
        text = "Tu código funciona con una fila suelta, (n,), y tiene que admitir más ejes delante: (..., n)."
        yield Finding("solo-una-fila", text, read="05 §2")


def nobody(attempt):
    """Una fila prohibida entera: no hay una respuesta buena; se dice cuál da."""
    value = attempt.ask(torch.tensor([[-torch.inf] * 2, [0.0, 1.0]]))
    if value is not None and value.isnan().any():
        yield "si una fila entera es −∞, la tuya da NaN, como torch.softmax; la atención de course_lib la deja a 0."


class Softmax(Exercise):
    """Puntuaciones → pesos, sobre el último eje."""

    number, title, points = "5.1", "la softmax", 3
    names = ("scores",)
    axes = AXES
    stages = (
        Stage(("sign", "transform", "kernel", "offset", "share", "after"), PLAIN, usual=9),
        Stage(("shift", "arithmetic", "nans"), LARGE),
        Stage(("hidden",), BLOCKED),
    )
    tiny = tuple(
        Case("", (torch.tensor(scores),))
        for scores in (
            [[0.0]],
            [[0.0, 1.0]],
            [[0.0, 1.0], [0.0, 2.0]],
            [[0.0, -torch.inf]],
            [[0.0, 1000.0]],
        )
    )
    measured = {
        "transform": found_temperature,
        "share": found_epsilon,
        "after": found_added,
        "shift": found_clamp,
        "hidden": found_fill,
    }
    must = (
        right_shape(
            lambda scores: scores.shape, "Tu salida no mide lo mismo que las puntuaciones.", "05 §1"
        ),
        like_weights,
        finite("05 §2"),
    )
    reader = Tensors(numpy=True)
    groups = {
        "fila": "Con una fila suelta, (n,), no funciona.",
        "tabla": "Con una tabla, (L_q, L_k), no funciona.",
        "ejes": "Con más de dos ejes, como (B, L_q, L_k), no funciona.",
    }
    narrow, notes = (only_one_row,), (nobody,)
    also = ("temperatura", "base-otra", "épsilon", "épsilon-en-pesos", "recorta", "tapado")

    def skip(self, choice):
        """Si da lo mismo que otra forma más sencilla, y por eso sobra."""
        sign, transform, kernel, offset, how, after = (
            choice[axis].value for axis in self.stages[0].axes
        )
        exponential, inner = kernel
        if after in (log_softmax, twice, twice_by_rows) and not (
            exponential and how.divide is share
        ):
            return True  # es una sola softmax, hecha de otra forma
        if transform is unit_range and inner in (torch.abs, torch.relu):
            return True  # entre 0 y 1, no cambian nada
        if choice["shift"].mistake and (offset or how.offset or not exponential):
            return True  # no se usa
        if offset is None:
            return False
        if how.offset:
            return True  # ya resta otra cosa
        if kernel is KERNEL:
            return how.free and offset in ROW_WIDE  # lo averigua la etapa siguiente
        return kernel is not PROPORTION or sign[0] != 1 or offset is not row_maximum

    def compute(self, choice, scores):
        how, nans = choice["share"], choice["nans"]
        dims, offset = how.dims(scores.dim()), choice["offset"] or how.offset
        first = (choice[axis] for axis in ("sign", "transform", "kernel"))
        then = (choice[axis] for axis in ("shift", "hidden", "arithmetic"))
        e, x = numerators(*first, offset, *then, dims, scores)
        empty = total(e, dims) == 0 if choice["arithmetic"] == "python" or nans else None
        if empty is not None and not nans and empty.any():
            raise ValueError  # 0/0: ZeroDivisionError
        weights = how.divide(e, x, dims)
        if nans == "NaN → 0":
            weights = weights.nan_to_num(0.0)
        elif nans:
            weights = torch.where(empty, 0.0, weights)
        return {"output": choice["after"](weights, x, dims)}


SOFTMAX = Softmax()
EXERCISES = (SOFTMAX,)


def check_softmax(function):
    """Comprueba una softmax sobre el último eje.

    Args:
        function: recibe ``scores``, un tensor ``(..., n)`` de float32, con los ejes que sea por
            delante y quizá algún −∞. Devuelve los pesos, de la misma forma: un tensor o un array de
            NumPy.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SOFTMAX.check(function))
