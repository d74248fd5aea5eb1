"""Los pasos de la softmax de 5.1, y las formas de dar cada uno.

La familia: {las puntuaciones como llegan, con otro signo, con temperatura…} × {eˣ, x, |x|, x²…} ×
{lo que se resta antes} × {entre qué suma, y sobre qué eje} × {lo que se hace con los pesos}.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from course_checkers.engine import show, show_both, stepping, told

# --- Lo que pasa en la salida, en números ---------------------------------------------------------


def rows_of(look):
    """Las filas de quien aprende y las buenas."""
    return [x.double().reshape(-1, x.shape[-1]) for x in look.both()]


def row_sum(look):
    sums = rows_of(look)[0].sum(-1)
    row = int((sums - 1).abs().argmax())
    if not sums.isfinite().all() or abs(sums[row] - 1) < 1e-3:
        return ""
    where = "tus pesos" if len(sums) == 1 else f"los pesos de tu fila {row}"
    total = show_both(sums[row], 1.0)[0]
    return f"Con {look.case.name}, {where} suman {total}, y tenían que sumar 1."


def top_weight(look):
    yours, right = rows_of(look)
    if yours.isnan().any():
        return ""
    row = int((yours - right).abs().amax(-1).argmax())
    place = highest = int(right[row].argmax())
    if show(yours[row, place]) == show(right[row, place]):
        place = int((yours - right)[row].abs().argmax())
    mine, good = show_both(*(x[row, place] for x in (yours, right)))
    which = "la puntuación más alta" if place == highest else f"la columna {place}"
    which += f" de la fila {row}"
    return f"Con {look.case.name}, {which} recibe {mine}, y tenía que recibir {good}."


def lowest_weight(look):
    low = look.both()[0].min()
    told = f"Con {look.case.name}, uno de tus pesos es {show(low)}, y no hay pesos negativos."
    return told if low < 0 else top_weight(look)


def not_finite(look):
    bad, total = int((~look.yours.isfinite()).sum()), look.yours.numel()
    told = f"Con {look.case.name}, {bad} de tus {total} números son NaN o ∞."
    return told if bad else row_sum(look)


def blocked_weight(look):
    given = look.both()[0][look.case.arguments[0] == -torch.inf]
    if not len(given) or given.isnan().any():
        return not_finite(look)
    most = show(given.abs().max())
    return f"Con {look.case.name}, una puntuación de −∞ recibe {most}, y tenía que recibir 0."


SUMS, EXTREMES = told(__file__, "3.1 suma", row_sum), told(__file__, "3.1 extremos", not_finite)
OTHERS = {"sin_exponencial": lowest_weight, "tapado": blocked_weight}
TOLD = told(__file__, "3.1", top_weight, **OTHERS) | SUMS | EXTREMES
step = stepping(TOLD)

LAST = {"dim": -1, "keepdim": True}


def standard(x, correction):
    centered = x - x.mean(**LAST)
    return centered / (centered.square().sum(**LAST) / (x.shape[-1] - correction)).sqrt()


def unit_range(x):
    low, high = x.amin(**LAST), x.amax(**LAST)
    return (x - low) / (high - low)


def highest(x, dims=-1):
    return x.amax(dims, keepdim=True)


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


def twice(w, x, dims):
    return share((w - highest(w, dims)).exp(), x, dims)


def twice_by_rows(w, x, dims):
    return twice(w, x, (-1,))


def log_softmax(w, x, dims):
    return x.log_softmax(*dims)


# De cada paso van primero los errores que también se buscan de tres en tres.
AXES = {
    # Por qué signo se multiplican las puntuaciones, antes y después de restar el máximo.
    "sign": step((1, 1), ("signo", (-1, 1), (1, -1))),
    "transform": step(
        lambda x: x,
        ("base-2", lambda x: x * math.log(2)),
        ("temperatura-√n", lambda x: x / math.sqrt(x.shape[-1])),
        ("de-0-a-1", unit_range),
        ("base-10", lambda x: x * math.log(10)),
        ("temperatura-n", lambda x: x / x.shape[-1]),
        ("divide-por-el-máximo", lambda x: x / highest(x), lambda x: x / x.max()),
        ("normaliza-antes", lambda x: x / x.norm(**LAST)),
        ("estandariza", lambda x: standard(x, 1), lambda x: standard(x, 0)),
        ("porcentaje-antes", lambda x: x / x.sum(**LAST)),
    ),
    # Si lleva exponencial, y lo que se hace justo antes de ella (o en su lugar).
    "kernel": step(
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
    "offset": step(
        [None, highest],
        ("inestable", lambda x: 0.0),
        ("máximo-global", lambda x: x.max()),
        ("resta-media", lambda x: x.mean(**LAST)),
        ("resta-mínimo", lambda x: x.amin(**LAST)),
        ("sin-keepdim", lambda x: x.amax(-1)),
        ("resta-otro-eje", lambda x: x.amax(-2, keepdim=True), lambda x: x.amax(0, keepdim=True)),
    ),
    "share": step(
        Share(share, free=True),
        ("eje-0", along(0)),
        ("eje-1", along(1)),
        ("eje-penúltimo", along(-2)),
        ("eje-todo", Share(share, lambda axes: tuple(range(axes)))),
        # Entre la mayor es lo mismo que restar el máximo y no dividir.
        ("sin-dividir", Share(lambda e, x, dims: e), Share(lambda e, x, dims: e / highest(e), free=True)),
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
        # Entre la suma de esta fila y de las anteriores.
        (
            "suma-arrastrada",
            Share(lambda e, x, dims: e / e.sum(-1).flatten().cumsum(0).view(*e.shape[:-1], 1)),
        ),
    ),
    # Lo que se hace después, a partir de los pesos, las puntuaciones y los ejes.
    "after": step(
        lambda w, x, dims: w,
        ("dos-veces", twice, twice_by_rows),
        ("redondeo", *(lambda w, x, dims, n=n: w.round(decimals=n) for n in range(5))),
        ("por-100", lambda w, x, dims: w * 100),
        ("logaritmo", lambda w, x, dims: w.log(), log_softmax),
        ("solo-la-mayor", lambda w, x, dims: torch.zeros_like(x).scatter(-1, x.argmax(**LAST), 1.0)),
        ("complemento", lambda w, x, dims: 1 - w),
        ("traspuesta", lambda w, x, dims: w.mT),
    ),
    # Lo que solo se nota con puntuaciones extremas: restar lo mismo en toda la fila no cambia más.
    "shift": step(
        lambda x, dims: x - highest(x, dims),
        ("inestable", lambda x, dims: x, lambda x, dims: x + highest(x, dims)),
        ("máximo-global", lambda x, dims: x - x.max(), lambda x, dims: x - highest(x, (-2, -1)[-x.dim() :])),
        ("resta-media", lambda x, d: x - x.mean(d, keepdim=True), lambda x, dims: x - x.mean()),
        ("resta-mínimo", lambda x, d: x - x.amin(d, keepdim=True), lambda x, dims: x - x.min()),
        ("resta-absoluto", lambda x, d: x - highest(x.abs(), d), lambda x, d: x - x.abs().max()),
        ("resta-otra", lambda x, dims: x - x[..., :1], lambda x, dims: x - x[..., -1:]),
        ("máximo-desde-0", lambda x, dims: x - highest(x, dims).clamp(min=0)),
        ("máximo-desde-0", lambda x, dims: x - x.max().clamp(min=0)),
    ),
    # Cómo se cuenta no es un error: decide cuándo se desborda la exponencial y qué pasa entonces.
    "arithmetic": step(["float32", "float64", "python"]),
    "nans": step([None, "NaN → 0", "0/0 → 0"]),
    "hidden": step(None),
}
SUM = tuple(AXES)[:6]  # los de la cuenta; los demás, solo con puntuaciones extremas o de −∞
KERNEL, PROPORTION = (option.value for option in AXES["kernel"][:2])
ROW_WIDE = [option.value for option in AXES["offset"][1:6]]  # lo mismo en toda la fila


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


def redundant(choice):
    """Si da lo mismo que otra forma más sencilla, y por eso sobra."""
    sign, transform, kernel, offset, how, after = (choice[axis].value for axis in SUM)
    exponential, inner = kernel
    whole = exponential and how.divide is share
    if after in (log_softmax, twice, twice_by_rows) and not whole:
        return True  # es una sola softmax, hecha de otra forma
    if transform is unit_range and inner in (torch.abs, torch.relu):
        return True  # entre 0 y 1, no cambian nada
    if choice["shift"].mistake and (offset or how.offset or not exponential):
        return True  # no se usa
    if not offset or how.offset:
        return bool(offset)
    if kernel is KERNEL:
        same_everywhere = ROW_WIDE if how.free else ROW_WIDE[1:3] if how.divide is share else ()
        return offset in same_everywhere  # lo averigua la etapa siguiente
    return kernel is not PROPORTION or sign[0] != 1 or offset is not highest
