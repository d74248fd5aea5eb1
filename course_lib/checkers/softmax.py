"""Comprueba la softmax, y lo que se pregunta en la lección 05.

La familia: {las puntuaciones como llegan, con otro signo, con temperatura…} × {eˣ, x, |x|, x²…} ×
{lo que se resta antes} × {entre qué suma, y sobre qué eje} × {lo que se hace con los pesos}.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from course_lib.checkers.family import (
    Case,
    Exercise,
    Mistake,
    Option,
    Stage,
    clone,
    mistakes,
    show,
)
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding

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


# --- Los errores ----------------------------------------------------------------------------------

# Lección y sección, y la consecuencia que se cuenta → los errores.
TEXTS = {
    ("05 §1", top_weight): {
        "signo": "Has cambiado el signo: el peso más alto va a la puntuación más baja.",
        "base-2": "Has usado potencias de 2, y la softmax usa las de e.",
        "base-10": "Has usado potencias de 10, y la softmax usa las de e.",
        "porcentaje-antes": "Has dividido por la suma antes de la exponencial, y la exponencial va primero.",
        "valor-absoluto": "Has usado el valor absoluto en lugar de la exponencial: −3 pesa como 3.",
        "cuadrados": "Has usado cuadrados en lugar de la exponencial: −3 pesa como 3.",
        "relu": "Has puesto a 0 las puntuaciones negativas y repartido el resto, sin la exponencial.",
        "sigmoide": "Has usado la sigmoide en lugar de la exponencial.",
        "exponencial-del-absoluto": "Has hecho la exponencial del valor absoluto: −3 pesa como 3.",
        "relu-antes": "Has puesto a 0 las puntuaciones negativas antes de la exponencial.",
        "sigmoide-antes": "Has pasado las puntuaciones por la sigmoide antes de la exponencial.",
        "dos-veces": "Has hecho la softmax dos veces: los pesos se igualan.",
        "solo-la-mayor": "Das todo el peso a la puntuación más alta: la softmax reparte.",
    },
    ("05 §1", lowest_weight): {
        "sin-exponencial": "Has repartido en proporción a las puntuaciones: falta la exponencial.",
    },
    ("05 §1", row_sum): {
        "sin-dividir": "Falta dividir por la suma de la fila.",
        "divide-por-la-media": "Divides por la media de la fila, y no por la suma.",
        "divide-por-n": "Divides por cuántas puntuaciones hay, y no por la suma de la fila.",
        "divide-por-la-norma": "Divides por la norma de la fila, y no por la suma.",
        "suma-de-puntuaciones": "Divides por la suma de las puntuaciones: es por la de sus exponenciales.",
        "exponencial-solo-abajo": "Has hecho la exponencial solo abajo, en la suma: arriba también va.",
        "suma-a-medias": "Divides mientras aún estás sumando: la suma tiene que estar entera antes.",
        "suma-arrastrada": "Tu suma no vuelve a 0 en cada fila: arrastra las de las anteriores.",
        "logaritmo": "Devuelves los logaritmos de los pesos (log_softmax).",
        "redondeo": "Redondeas los pesos, y lo que sigue los necesita con todos sus decimales.",
        "por-100": "Multiplicas por 100: los pesos suman 1, no 100.",
        "complemento": "Devuelves 1 menos cada peso.",
        "traspuesta": "Devuelves la tabla de pesos traspuesta.",
    },
    ("05 §2", row_sum): {
        "eje-0": "Has repartido sobre el eje 0, el primero: cada fila suma 1 con dim=-1, el último.",
        "eje-1": "Has repartido sobre el eje 1, desde el principio, que no siempre es el último: usa dim=-1.",
        "eje-2": "Has repartido sobre el eje 2, desde el principio, que no siempre es el último: usa dim=-1.",
        "eje-penúltimo": "Has repartido sobre el penúltimo eje, por columnas: es dim=-1, por filas.",
        "eje-antepenúltimo": "Has repartido sobre el antepenúltimo eje: es dim=-1, el último.",
        "eje-tabla": "Has hecho una sola softmax para toda la tabla: va una por fila.",
        "eje-todo": "Divides por la suma de todo lo que llega, y cada fila tiene la suya: es dim=-1.",
        "eje-por-bloque": "Repartes entre todo lo que hay en cada elemento del primer eje: va fila a fila.",
        "eje-sin-decir": "No dices sobre qué eje va, y torch no siempre toma el último: usa dim=-1.",
    },
    ("05 §2", top_weight): {
        "divide-por-el-máximo": "Has dividido por el máximo, y hay que restarlo: dividir cambia el reparto.",
        "de-0-a-1": "Mides desde el mínimo de cada fila, como para llevarla de 0 a 1: la softmax no lo hace.",
        "resta-otro-eje": "En la misma fila restas números distintos: resta solo el máximo de la fila.",
        "sin-keepdim": "Falta keepdim=True: el número de cada fila se empareja con una columna, o no encaja.",
    },
    ("05 §2", not_finite): {
        "inestable": "Tu exponencial se desborda con puntuaciones grandes (∞/∞) y se anula con muy negativas "
        "(0/0): resta antes el máximo de cada fila.",
        "máximo-global": "Restas el máximo de todo y no el de cada fila: si otra es mucho mayor, en esta queda 0/0.",
        "resta-media": "Restas la media y no el máximo: si una puntuación destaca, se desborda igual.",
        "resta-mínimo": "Restas el mínimo y no el máximo: lo que queda es positivo, y se desborda.",
        "resta-absoluto": "Restas el mayor valor absoluto, y no el máximo: si todo es muy negativo, queda 0/0.",
        "resta-otra": "Restas una puntuación cualquiera de la fila, y no la mayor: puede desbordarse.",
        "máximo-desde-0": "Tu máximo nunca baja de 0: si todas son muy negativas, queda 0/0. Empieza en −∞.",
    },
    ("05 §3", top_weight): {
        "temperatura-√n": "Has dividido las puntuaciones por √n, y la softmax no las divide por nada.",
        "temperatura-n": "Has dividido las puntuaciones por cuántas son, y la softmax no las divide por nada.",
        "normaliza-antes": "Has dividido cada fila por su norma antes de la exponencial: eso cambia el reparto.",
        "estandariza": "Has llevado cada fila a media 0 y desviación 1 antes de la exponencial.",
    },
}
MISTAKES = {
    name: Mistake(name, text, read, consequence)
    for (read, consequence), texts in TEXTS.items()
    for name, text in texts.items()
}


def bad(name, *values):
    """Las formas de cometer un error, para una lista de opciones."""
    return [Option(value, MISTAKES[name]) for value in values]


# --- Qué se hace con las puntuaciones -------------------------------------------------------------

LAST = {"dim": -1, "keepdim": True}


def standard(correction):
    return lambda x: (x - x.mean(**LAST)) / x.std(**LAST, correction=correction)


def unit_range(x):
    low, high = x.amin(**LAST), x.amax(**LAST)
    return (x - low) / (high - low)


# Por qué signo se multiplican, antes y después de restar el máximo.
SIGNS = [Option((1, 1)), *bad("signo", (-1, 1), (1, -1))]
TRANSFORMS = [
    Option(lambda x: x),
    *bad("base-2", lambda x: x * math.log(2)),
    *bad("base-10", lambda x: x * math.log(10)),
    *bad("temperatura-√n", lambda x: x / math.sqrt(x.shape[-1])),
    *bad("temperatura-n", lambda x: x / x.shape[-1]),
    *bad("divide-por-el-máximo", lambda x: x / x.amax(**LAST), lambda x: x / x.max()),
    *bad("normaliza-antes", lambda x: x / x.norm(**LAST)),
    *bad("estandariza", standard(1), standard(0)),
    *bad("porcentaje-antes", lambda x: x / x.sum(**LAST)),
    *bad("de-0-a-1", unit_range),
]
# Si lleva exponencial, y lo que se hace justo antes de ella (o en su lugar).
KERNELS = [
    Option((True, lambda x: x)),
    *bad("sin-exponencial", (False, lambda x: x)),
    *bad("valor-absoluto", (False, torch.abs)),
    *bad("cuadrados", (False, torch.square)),
    *bad("relu", (False, torch.relu)),
    *bad("sigmoide", (False, torch.sigmoid)),
    *bad("exponencial-del-absoluto", (True, torch.abs)),
    *bad("relu-antes", (True, torch.relu)),
    *bad("sigmoide-antes", (True, torch.sigmoid)),
]

# --- Lo que se resta antes de la exponencial ------------------------------------------------------


def over(function):
    """Aplica ``function`` (``amax``, ``mean``…) a los ejes pedidos; si no hay ninguno, a nada."""
    return lambda x, dims: function(x, dims, keepdim=True) if dims else x


highest, lowest, average = over(torch.amax), over(torch.amin), over(torch.mean)


def of_the_table(x):
    return x.amax((-2, -1)[-x.dim() :], keepdim=True)


# Lo que cambia el resultado, con cualquier puntuación. Sin nada, se resta lo que diga SHIFTS.
OFFSETS = [
    Option(None),
    Option(lambda x: x.amax(**LAST)),
    *bad("inestable", lambda x: 0.0),
    *bad("máximo-global", lambda x: x.max()),
    *bad("resta-media", lambda x: x.mean(**LAST)),
    *bad("resta-mínimo", lambda x: x.amin(**LAST)),
    *bad("sin-keepdim", lambda x: x.amax(-1)),
    *bad("resta-otro-eje", lambda x: x.amax(-2, keepdim=True), lambda x: x.amax(0, keepdim=True)),
]
# Lo que solo se nota con puntuaciones extremas: restar lo mismo en toda la fila no cambia nada más.
SHIFTS = [
    Option(lambda x, dims: x - highest(x, dims)),
    *bad("inestable", lambda x, dims: x, lambda x, dims: x + highest(x, dims)),
    *bad("máximo-global", lambda x, dims: x - x.max(), lambda x, dims: x - of_the_table(x)),
    *bad("resta-media", lambda x, dims: x - average(x, dims), lambda x, dims: x - x.mean()),
    *bad("resta-mínimo", lambda x, dims: x - lowest(x, dims), lambda x, dims: x - x.min()),
    *bad("resta-absoluto", lambda x, dims: x - highest(x.abs(), dims)),
    *bad("resta-absoluto", lambda x, dims: x - x.abs().max()),
    *bad("resta-otra", lambda x, dims: x - x[..., :1], lambda x, dims: x - x[..., -1:]),
    *bad("máximo-desde-0", lambda x, dims: x - highest(x, dims).clamp(min=0)),
    *bad("máximo-desde-0", lambda x, dims: x - x.max().clamp(min=0)),
]

# --- Entre qué se divide --------------------------------------------------------------------------


class Share(NamedTuple):
    """Cómo se reparte: ``divide(e, x, dims)``, y sobre qué ejes, según cuántos haya."""

    divide: Callable
    dims: Callable = lambda axes: (-1,)
    free: bool = (
        False  # si da lo mismo restar cualquier número, siempre que sea el mismo en la fila
    )


def total(e, dims):
    return e.sum(dims, keepdim=True) if dims else e


def share(e, x, dims):
    return e / total(e, dims)


def along(*dims):
    return Share(share, lambda axes: dims)


def by_default(axes):
    """El eje que toma torch si no se le dice ninguno."""
    return (0,) if axes in (0, 1, 3) else (1,)


def carried(e, x, dims):
    """Entre la suma de esta fila y de las anteriores."""
    sums = e.sum(-1)
    return e / sums.flatten().cumsum(0).view_as(sums)[..., None]


SHARES = [
    Option(Share(share, free=True)),
    *bad("eje-0", along(0)),
    *bad("eje-1", along(1)),
    *bad("eje-2", along(2)),
    *bad("eje-penúltimo", along(-2)),
    *bad("eje-antepenúltimo", along(-3)),
    *bad("eje-tabla", along(-2, -1)),
    *bad("eje-todo", Share(share, lambda axes: tuple(range(axes)))),
    *bad("eje-por-bloque", Share(share, lambda axes: tuple(range(1, axes)))),
    *bad("eje-sin-decir", Share(share, by_default)),
    # Entre la mayor es lo mismo que restar el máximo y no dividir.
    *bad("sin-dividir", Share(lambda e, x, dims: e)),
    *bad("sin-dividir", Share(lambda e, x, dims: e / e.amax(**LAST), free=True)),
    *bad("sin-keepdim", Share(lambda e, x, dims: e / e.sum(-1))),
    *bad("divide-por-la-media", Share(lambda e, x, dims: e / e.mean(**LAST), free=True)),
    *bad("divide-por-n", Share(lambda e, x, dims: e / e.shape[-1])),
    *bad("divide-por-la-norma", Share(lambda e, x, dims: e / e.norm(**LAST), free=True)),
    *bad("suma-de-puntuaciones", Share(lambda e, x, dims: e / x.sum(**LAST))),
    *bad("exponencial-solo-abajo", Share(lambda e, x, dims: x / e.sum(**LAST))),
    *bad("suma-a-medias", Share(lambda e, x, dims: e / e.cumsum(-1), free=True)),
    *bad("suma-arrastrada", Share(carried)),
]

# --- Lo que se hace después, con los pesos --------------------------------------------------------


def twice(w, x, dims):
    e = (w - highest(w, dims)).exp()
    return e / total(e, dims)


def twice_by_rows(w, x, dims):
    return twice(w, x, (-1,))


def log_softmax(w, x, dims):
    return x.log_softmax(*dims)


def only_highest(w, x, dims):
    return torch.zeros_like(x).scatter(-1, x.argmax(**LAST), 1.0)


def rounded(decimals):
    return lambda w, x, dims: w.round(decimals=decimals)


# Cada uno, a partir de los pesos, las puntuaciones y los ejes.
AFTER = [
    Option(lambda w, x, dims: w),
    *bad("dos-veces", twice, twice_by_rows),
    *bad("logaritmo", lambda w, x, dims: w.log()),
    *bad("logaritmo", log_softmax),
    *bad("solo-la-mayor", only_highest),
    *bad("redondeo", *map(rounded, range(5))),
    *bad("por-100", lambda w, x, dims: w * 100),
    *bad("complemento", lambda w, x, dims: 1 - w),
    *bad("traspuesta", lambda w, x, dims: w.mT),
]
# --- Todas las formas de hacer la cuenta ----------------------------------------------------------

STEPS = {
    "sign": SIGNS,
    "transform": TRANSFORMS,
    "kernel": KERNELS,
    "offset": OFFSETS,
    "share": SHARES,
    "after": AFTER,
}
# Los que se buscan también de tres en tres; los demás, de dos en dos.
FREQUENT = {
    *(
        "signo",
        "base-2",
        "temperatura-√n",
        "de-0-a-1",
        "sin-exponencial",
        "sigmoide",
        "sin-keepdim",
    ),
    *(
        "eje-0",
        "eje-1",
        "eje-penúltimo",
        "eje-todo",
        "sin-dividir",
        "dos-veces",
        "redondeo",
        "por-100",
    ),
}


class Steps(NamedTuple):
    """Una forma de dar cada paso."""

    sign: tuple
    transform: Callable
    kernel: tuple
    offset: Callable | None
    share: Share
    after: Callable


def ways(**measured):
    """Las formas de dar todos los pasos, con pocos errores a la vez.

    Si lo que se hace en un paso se ha medido en quien aprende, solo las que lo llevan.
    """
    free, bad = [], []
    for name, options in STEPS.items():
        always = measured.get(name) or (options[:4] if name == "offset" else options[:1])
        free.append(always)
        bad.append([] if name in measured else [o for o in options if o not in always])
    frequent = [[o for o in options if o.mistake.id in FREQUENT] for options in bad]
    for size in range(3 if measured else 4):
        some = bad if size < 3 else frequent
        for where in itertools.combinations(range(len(free)), size):
            chosen = (some[i] if i in where else free[i] for i in range(len(free)))
            for options in itertools.product(*chosen):
                steps = Steps(*(option.value for option in options))
                if not repeats_another(steps):
                    named = (mistake for option in options for mistake in option.mistakes)
                    yield Option(steps, tuple(dict.fromkeys(named)))


ROWWISE = [option.value for option in OFFSETS[1:6]]  # lo mismo en toda la fila


def repeats_another(steps):
    """Si da lo mismo que otra forma más sencilla, y por eso sobra."""
    exponential, inner = steps.kernel
    again = steps.after in (log_softmax, twice, twice_by_rows)
    if again and not (exponential and steps.share.divide is share):
        return True  # es una sola softmax, hecha de otra forma
    if steps.transform is unit_range and inner in (torch.abs, torch.relu):
        return True  # entre 0 y 1, no cambian nada
    if steps.offset is None:
        return False
    if steps.kernel == KERNELS[0].value:
        return steps.share.free and steps.offset in ROWWISE  # lo averigua la etapa siguiente
    return steps.kernel != KERNELS[1].value or steps.sign[0] != 1 or steps.offset != ROWWISE[0]


# Cómo se cuenta no es un error: solo decide cuándo se desborda la exponencial y qué pasa entonces.
ARITHMETIC = [Option("float32"), Option("float64"), Option("python")]
HIDDEN_NAN = [Option(None), Option("NaN → 0"), Option("0/0 → 0")]


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


def weigh(steps, shift, arithmetic, nans, hidden, scores):
    """Los pesos, con cada paso dado de la forma que se pide."""
    dims, how = steps.share.dims(scores.dim()), (shift, hidden, arithmetic)
    e, x = numerators(*steps[:4], *how, dims, scores)
    if arithmetic == "python" and not nans and (total(e, dims) == 0).any():
        raise ValueError  # 0/0: ZeroDivisionError
    weights = steps.share.divide(e, x, dims)
    if nans == "NaN → 0":
        weights = weights.nan_to_num(0.0)
    elif nans:
        weights = torch.where(total(e, dims) == 0, 0.0, weights)
    return steps.after(weights, x, dims)


# --- Las pruebas ----------------------------------------------------------------------------------


def draw(seed, *shape):
    return 1.5 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def column(*numbers):
    return torch.tensor(numbers)[:, None]


FAR = torch.tensor(
    [[1000.0, 0, -1000, 500], [0, -1000, 500, 1000], [0, 1000, -1000, 500], [-1000, 1000, 0, 500]]
)
BLOCKED_4 = torch.tensor([[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=torch.bool)
BLOCKED_3 = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.bool)
PLAIN = (
    Case("una tabla (3, 5)", (draw(0, 3, 5),), "tabla"),
    Case("una tabla (4, 4)", (draw(1, 4, 4),), "tabla"),
    Case("un lote (2, 3, 4)", (draw(2, 2, 3, 4),), "ejes", True),
    Case("un lote (4, 4, 4)", (draw(3, 4, 4, 4),), "ejes", True),
    Case("un lote con cabezas (2, 3, 4, 5)", (draw(4, 2, 3, 4, 5),), "ejes", True),
    Case("cinco ejes (2, 1, 2, 3, 2)", (draw(13, 2, 1, 2, 3, 2),), "ejes", True),
    Case("una fila suelta (5,)", (draw(5, 5),), "fila"),
)
LARGE = (
    PLAIN[1],  # una que no se para nunca
    Case("puntuaciones de 1000", (draw(6, 4, 4) + 1000,), "tabla"),
    Case("puntuaciones de −1000", (draw(7, 4, 4) - 1000,), "tabla"),
    Case("filas muy distintas", (draw(8, 4, 4) + column(0.0, 1000, -1000, 0),), "tabla"),
    Case("puntuaciones de −1000 a 1000 en la misma fila", (draw(9, 4, 4) + FAR,), "tabla"),
    Case(
        "un lote con tablas muy distintas",
        (draw(10, 4, 4, 4) + column(0.0, 1000, -1000, 0)[..., None],),
        "ejes",
        True,
    ),
)
BLOCKED = (
    Case(
        "algunas puntuaciones de −∞",
        ((draw(11, 4, 4) + 3).masked_fill(BLOCKED_4, -torch.inf),),
        "tabla",
    ),
    Case(
        "un lote con puntuaciones de −∞",
        ((draw(12, 2, 3, 4) + 3).masked_fill(BLOCKED_3, -torch.inf),),
        "ejes",
        True,
    ),
)


class Softmax(Exercise):
    """Puntuaciones → pesos, sobre el último eje."""

    number, title, points = "5.1", "la softmax", 3
    names = ("scores",)
    numpy = True
    axes = {
        "steps": list(ways()),
        "shift": SHIFTS,
        "arithmetic": ARITHMETIC,
        "nans": HIDDEN_NAN,
        "hidden": [Option(None)],
    }
    stages = (
        Stage(("steps",), PLAIN),
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
    groups = {
        "fila": "Con una fila suelta, (n,), no funciona.",
        "tabla": "Con una tabla, (L_q, L_k), no funciona.",
        "ejes": "Con más de dos ejes, como (B, L_q, L_k), no funciona.",
    }

    def compute(self, choice, scores):
        return {"output": weigh(*(choice[axis] for axis in self.axes), scores)}

    def expects_tuple(self, value):
        return False

    def read(self, value, case):
        if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16):
            text = f"Tu salida es {str(value.dtype)[6:]}: pierde decimales. Tiene que ser float32."
            return None, Finding("dtype", text)
        return super().read(value, case)

    def too_narrow(self, seen):
        if {case.group for case in seen} & {"tabla", "ejes"}:
            return
        text = "Tu código funciona con una fila suelta, (n,), y tiene que admitir más ejes delante: (..., n)."
        yield Finding("solo-una-fila", text, read="05 §2")

    # --- Lo que se mide en quien aprende ----------------------------------------------------------

    def mistake_ids(self):
        measured = ("temperatura", "base-otra", "épsilon", "épsilon-en-pesos", "recorta", "tapado")
        return super().mistake_ids() | set(measured)

    def matching(self, survivors, axes, stage, cases, seen):
        """Sin los que añaden, a otro que también vale, un error que no se nota."""
        if stage is not self.stages[0] and axes is self.axes:
            usual = {axis: axes[axis][0] for axis in stage.axes}
            kept = [known | usual for known in survivors]
            kept = [c for c in kept if all(self.agrees(c, case, seen[case]) for case in cases)]
            if kept:
                return kept
        found = super().matching(survivors, axes, stage, cases, seen)
        named = [frozenset(mistakes(choice)) for choice in found]
        least = {names for names in set(named) if not any(other < names for other in set(named))}
        return [choice for choice, names in zip(found, named) if names in least]

    def extra_options(self, learner):
        measured = {
            "transform": list(self.found_temperature(learner)),
            "share": list(self.found_epsilon(learner)),
            "after": list(self.found_added(learner)),
        }
        measured = {name: options for name, options in measured.items() if options}
        return {
            "steps": [way for name in measured for way in ways(**{name: measured[name]})],
            "shift": list(self.found_clamp(learner)),
            "hidden": list(self.found_fill(learner)),
        }

    def probe(self, learner, *scores):
        """Los pesos de una sola fila; si no sale nada útil, ``None``."""
        for shape in ((1, -1), (-1,), (1, 1, -1), (-1, 1), (1, -1, 1)):
            row = torch.tensor(scores).reshape(shape)
            outcome = self.call(learner, row.clone())
            value, problem = (None, True) if outcome.problem else self.read(outcome.value, None)
            if problem or value.shape != row.shape or not value.isfinite().all():
                continue
            weights = value.double().flatten().tolist()
            if len(set(weights)) > 1 or len(set(scores)) == 1:
                return weights
        return None

    def found_temperature(self, learner):
        """Por qué número se multiplican las puntuaciones: e¹ entre e⁰ tiene que ser e."""
        measured = []
        for n in (2, 4):
            weights = self.probe(learner, 1.0, *[0.0] * (n - 1))
            if weights is None or min(weights) <= 0 or weights[0] == weights[1]:
                return
            measured.append(abs(math.log(weights[0] / weights[1])))
        factor, power = measured[0], math.log2(measured[1] / measured[0])
        if abs(power) > 0.01:
            text = "Lo que haces a las puntuaciones antes de la exponencial depende de cuántas son."
            first = factor / 2**power
            yield Option(
                lambda x: x * first * x.shape[-1] ** power,
                Mistake("temperatura", text, "05 §3", top_weight),
            )
            return
        factor, divisor = neat(factor), neat(1 / factor)
        base = math.exp(factor)
        whole = 2.5 < base < 30 and abs(base - round(base)) < 1e-4 * base
        if whole or abs(factor - 1) < 0.02:
            text = f"Has usado potencias de {base:.5g}, y la softmax usa las de e = 2.71828…"
            found = Mistake("base-otra", text, "05 §1", top_weight)
        else:
            times = (
                f"Multiplicas por {show(factor)}" if factor > 1 else f"Divides por {show(divisor)}"
            )
            text = f"{times} las puntuaciones, y la softmax no las cambia antes de la exponencial."
            found = Mistake("temperatura", text, "05 §3", top_weight)
        yield Option(lambda x: x * factor, found)
        yield Option(lambda x: x / divisor, found)

    def found_epsilon(self, learner):
        """Lo que se suma a la suma: con dos puntuaciones a 0, cada peso tiene que ser 1/2."""
        weights = self.probe(learner, 0.0, 0.0)
        if weights and weights[0] == weights[1] and 0 < weights[0] < 0.4999:
            epsilon = 1 / weights[0] - 2
            text = f"Sumas {show(epsilon)} a la suma de la fila: los pesos ya no suman 1."
            yield Option(
                Share(lambda e, x, dims: e / (total(e, dims) + epsilon)),
                Mistake("épsilon", text, "05 §2", row_sum),
            )

    def found_added(self, learner):
        """Lo que se suma a los pesos: el de −∞ tiene que ser 0."""
        weights = self.probe(learner, 0.0, -torch.inf)
        if weights and 0 < weights[1] < weights[0]:
            added = weights[1]
            text = (
                f"Sumas {show(added)} a los pesos: los de las puntuaciones bloqueadas ya no son 0."
            )
            found = Mistake("épsilon-en-pesos", text, "05 §1", row_sum)
            yield Option(lambda w, x, dims: w + added, found)

    def found_fill(self, learner):
        """Por qué se cambia un −∞."""
        weights = self.probe(learner, 1.0, -torch.inf)
        if weights and min(weights) > 0:
            fill = neat(math.log(weights[1] / weights[0]) + 1)
            text = f"Cambias el −∞ por {show(fill)}: lo bloqueado recibe peso. Déjalo: e^(−∞) es 0."
            yield Option(fill, Mistake("tapado", text, "04 §4", blocked_weight))

    def found_clamp(self, learner):
        """Entre qué números se recortan las puntuaciones, si se recortan."""
        high, low = self.probe(learner, 1e4, 0.0), self.probe(learner, 0.0, -1e4)
        high = neat(math.log(high[0] / high[1])) if high and min(high) > 0 else math.inf
        low = neat(math.log(low[1] / low[0])) if low and min(low) > 0 else -math.inf
        limits = [f"las mayores que {show(high)}"] * (high < math.inf)
        limits += [f"las menores que {show(low)}"] * (low > -math.inf)
        if not limits:
            return
        text = f"Recortas {' y '.join(limits)}: lo recortado queda empatado. Resta el máximo de la fila."
        found = Mistake("recorta", text, "05 §2", top_weight)
        naive = (found, MISTAKES["inestable"]) if len(limits) < 2 else found
        yield Option(lambda x, dims: x.clamp(low, high) - highest(x.clamp(low, high), dims), found)
        yield Option(lambda x, dims: (x - highest(x, dims)).clamp(low, high), found)
        yield Option(lambda x, dims: x.clamp(low, high), naive)

    # --- Lo que se ve si no se reconoce nada ------------------------------------------------------

    def properties(self, learner, seen):
        """Lo que tiene que cumplir cualquier softmax."""
        for case, weights in seen.items():
            if not isinstance(weights, torch.Tensor):
                continue
            scores = case.arguments[0]
            if weights.shape != scores.shape:
                story = f"Con {case.name} mide {tuple(weights.shape)} y tenía que medir {tuple(scores.shape)}."
                yield Finding(
                    "propiedad-forma",
                    "Tu salida no mide lo mismo que las puntuaciones.",
                    story,
                    "05 §1",
                )
                return
            rows, sums = weights.reshape(-1, scores.shape[-1]), weights.sum(-1).flatten()
            if bad := int((~weights.isfinite()).sum()):
                story = f"Con {case.name}, {bad} de {weights.numel()} son NaN o ∞."
                yield Finding(
                    "propiedad-finita",
                    "Tu salida tiene números que no son finitos.",
                    story,
                    "05 §2",
                )
                return
            if weights.min() < -1e-5:
                story = f"Con {case.name}, uno es {show(weights.min())}."
                yield Finding("propiedad-positiva", "Hay pesos negativos.", story, "05 §1")
                return
            if (worst := int((sums - 1).abs().argmax())) >= 0 and abs(sums[worst] - 1) > 1e-3:
                story = f"Con {case.name}, los de la fila {worst} suman {show(sums[worst])}."
                yield Finding(
                    "propiedad-suma", "Los pesos de cada fila tienen que sumar 1.", story, "05 §1"
                )
                return
            order = scores.reshape(rows.shape).argsort(-1)
            if (back := rows.gather(-1, order).diff(dim=-1) < -1e-5).any():
                row = int(back.any(-1).nonzero()[0])
                story = f"Con {case.name}, no pasa en la fila {row}."
                yield Finding("propiedad-orden", "A mayor puntuación, mayor peso.", story, "05 §1")
                return

    def notes(self, learner, seen):
        """Una fila prohibida entera: no hay una respuesta buena; se dice cuál da."""
        outcome = self.call(learner, clone(torch.tensor([[-torch.inf] * 2, [0.0, 1.0]])))
        value, problem = (None, True) if outcome.problem else self.read(outcome.value, None)
        if not problem and value.isnan().any():
            yield "si una fila entera es −∞, la tuya da NaN, como torch.softmax; la atención de course_lib la deja a 0."


def neat(number):
    """El número redondo que hay detrás de uno medido, si lo hay."""
    rounded = float(f"{number:.3g}") if abs(number) > 1e-5 else 0.0
    return rounded if abs(rounded - number) < 1e-5 + 1e-5 * abs(number) else number


SOFTMAX = Softmax()
EXERCISES = (SOFTMAX,)


# --- Las preguntas --------------------------------------------------------------------------------

SENTENCE = "The cat drank the milk because it was thirsty"


@functools.cache
def bert(layer=3):
    """Los tokens de la frase, lo que entra en una capa de BERT y la atención de la capa 3."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    found = extract_embeddings(SENTENCE)
    attention = encoder_from_bert(load_bert()).encoder.encoder_layers[3].multi_head_attention
    return found.tokens[0], found.hidden_states[layer], attention


def weight(
    row="it",
    token="cat",
    *,
    layer=3,
    head=1,
    scale=None,
    dim=-1,
    hide=("[CLS]", "[SEP]"),
    project=True,
    keep=False,
):
    """El peso que la fila de ``row`` da a ``token``, con la cuenta bien hecha o con algo cambiado."""
    words, x, attention = bert(layer)
    with torch.no_grad():
        projections = attention.query_projection, attention.key_projection
        q, k = (
            (attention.split_heads(p(x))[0, head] for p in projections) if project else (x[0], x[0])
        )
    scores = q @ k.mT / (scale or math.sqrt(k.shape[-1]))
    hidden = torch.tensor([(word in hide) != keep for word in words])
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim)
    return float(weights[words.index(row), words.index(token)])


def letter():
    """Qué cambia los pesos: multiplicar Q por 3, o sumar el mismo vector a todas las keys."""
    q, k, c = (draw(seed, n, 4) for seed, n in ((20, 3), (21, 5), (22, 1)))
    weights, longer, moved = (
        (q_ @ k_.mT / 2).softmax(-1) for q_, k_ in ((q, k), (3 * q, k), (q, k + c))
    )
    changes = not torch.allclose(weights, longer), not torch.allclose(weights, moved)
    return {(True, False): "b", (False, True): "a", (True, True): "c", (False, False): "d"}[changes]


# Lo que sale con un error: cómo se llama, con qué se calcula, qué se dice y dónde se lee.
WRONG_WEIGHTS = (
    (
        "sin-máscara",
        {"hide": ()},
        "Es el peso sin tapar nada, o tapando después de la softmax.",
        "04 §4.1",
    ),
    ("solo-cls", {"hide": ("[CLS]",)}, "Has tapado [CLS] y te falta [SEP].", "04 §4"),
    ("solo-sep", {"hide": ("[SEP]",)}, "Has tapado [SEP] y te falta [CLS].", "04 §4"),
    (
        "sin-it",
        {"hide": ("[CLS]", "[SEP]", "it")},
        "Has tapado también `it`, y se puede mirar.",
        "04 §4",
    ),
    (
        "máscara-al-revés",
        {"keep": True},
        "La máscara está al revés: True significa «puede atender».",
        "04 §6",
    ),
    (
        "fila-cambiada",
        {"row": "cat", "token": "it"},
        "Es lo que `cat` da a `it`: la fila es la de `it`.",
        "05 §6.5",
    ),
    (
        "otra-columna",
        {"token": "milk"},
        "Es lo que `it` da a `milk`: se pide lo que da a `cat`.",
        "05 §6.5",
    ),
    (
        "softmax-queries",
        {"dim": -2},
        "La softmax va sobre las keys, y la has hecho sobre las queries.",
        "05 §1",
    ),
    ("sin-escala", {"scale": 1.0}, "Falta dividir por √d_k.", "03 §3"),
    ("escala-d_k", {"scale": 32}, "Has dividido por d_k y no por √d_k.", "03 §6.3"),
    (
        "escala-√d_model",
        {"scale": math.sqrt(384)},
        "Has dividido por √384: cada cabeza mide 32, y es √32.",
        "03 §6.4",
    ),
    ("otra-cabeza", {"head": 0}, "Es la cabeza 0: la 1 es la segunda.", "05 §6.5"),
    (
        "otra-capa",
        {"layer": 4},
        "Lo que entra en la capa 3 es hidden_states[3], y este es el 4.",
        "05 §6.5",
    ),
    (
        "otra-capa",
        {"layer": 2},
        "Lo que entra en la capa 3 es hidden_states[3], y este es el 2.",
        "05 §6.5",
    ),
    (
        "sin-proyectar",
        {"project": False},
        "Faltan las matrices de la cabeza, W_Q y W_K.",
        "05 §6.5",
    ),
)
SHARPER = "Con 3·Q, todas las diferencias de una fila se triplican: el reparto es más extremo."
SAME = "Sumar c a las keys suma q·c a toda la fila de q, y a la softmax solo le importan las diferencias."
WRONG_LETTERS = {
    "a": ("todo-al-revés", f"Es al revés. {SHARPER} {SAME}"),
    "c": ("sumar-no-cambia", f"Sumar el mismo vector no cambia nada. {SAME}"),
    "d": ("multiplicar-sí-cambia", f"Multiplicar sí cambia los pesos. {SHARPER}"),
}
QUESTIONS = (
    Question(
        "5.3",
        "tu atención, en una cabeza de BERT",
        weight,
        tuple(
            Wrong(functools.partial(weight, **changed), name, text, read)
            for name, changed, text, read in WRONG_WEIGHTS
        ),
        kind="un número entre 0 y 1",
        read="05 §6.5",
        points=3,
    ),
    Question(
        "5.4",
        "qué cambia los pesos",
        letter,
        tuple(
            Wrong(functools.partial(str, chosen), name, text)
            for chosen, (name, text) in WRONG_LETTERS.items()
        ),
        kind='una letra, "a", "b", "c" o "d"',
        read="05 §2",
        options="abcd",
    ),
)


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
