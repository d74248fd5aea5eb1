"""Una cabeza con sus matrices: de dónde salen la query, la key y el value, y qué se hace con ellos.

La usan la autoatención enmascarada (lección 08) y la atención cruzada (lección 09). Lo que va detrás
de las proyecciones son los pasos de ``attention`` y ``hiding``; aquí, los divisores reciben además x.
"""

import functools
import math

import torch

from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.properties import finite
from course_lib.checkers.engine.search import Stage
from course_lib.checkers.steps import attention as steps
from course_lib.checkers.steps.hiding import searched_fill
from course_lib.checkers.steps.pair import RETURNED

MATRICES = told(__file__, "matrices")
EVERY = (
    # Lo que se hace con las tres a la vez; ``"propias"`` es lo bueno.
    (steps.SWAPPED, "cambiadas"),
    ("matrices-traspuestas", "traspuestas"),
    ("sin-proyectar", "ninguna"),
)
ALSO = ("escala-fija", "escala-de-más", "escala-otra", "máscara-poco-negativa", *RETURNED)


# --- Las proyecciones -----------------------------------------------------------------------------


def matrix_options(own):
    """De qué matriz sale algo: de la suya o, por error, de otra, de ninguna o traspuesta."""
    others = [name for name in ("W_Q", "W_K", "W_V") if name != own]
    names = {("W_V", "W_Q"): "query-por-value", ("W_V", "W_K"): "key-por-value"}
    return ways(
        MATRICES,
        (own, False),
        *((names.get((own, x), f"{own}-cambiada-por-{x}"), (x, False)) for x in others),
        (f"sin-{own}", (None, False)),
        (f"{own}-traspuesta", (own, True)),
    )


@functools.lru_cache(maxsize=4096)
def project(name, transposed, x, W_Q, W_K, W_V):
    """x por una de las matrices, o sola."""
    W = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, None: None}[name]
    return x if W is None else x @ (W.mT if transposed else W)


def query_key_value(choice, sources, W_Q, W_K, W_V):
    """La query, la key y el value, de los vectores de ``sources``, con las matrices que se pidan."""
    every, out = choice["every"], []
    if every == "matrices cambiadas":
        W_Q, W_K = W_K, W_Q
    for x, axis in zip(sources, ("query", "key", "value_matrix")):
        name, turned = choice[axis]
        name = None if every == "ninguna" else name
        out.append(project(name, turned or every == "traspuestas", x, W_Q, W_K, W_V))
    return (out[1], out[0], out[2]) if every == "cambiadas" else out


@functools.lru_cache(maxsize=4096)
def dot(query, key):
    return query @ key.mT


# --- La atención ----------------------------------------------------------------------------------


def of_x(divisor):
    return lambda x, q, k, v: divisor(q, k, v)


def scale_options(*unused):
    """Los divisores de la atención, menos los que aquí son otro; √d_model es la anchura de x."""
    own = told(__file__, "scale", steps.largest_weight)
    divisors = {name: of_x(divisor) for name, divisor in steps.DIVISORS.items()}
    divisors |= {"√d_model": lambda x, q, k, v: math.sqrt(x.shape[-1])}
    divisors |= {"d_model": lambda x, q, k, v: x.shape[-1]}
    known = steps.SCALES | own
    forms = ((f"escala-{n}", (d, False)) for n, d in divisors.items() if n not in unused)
    right = of_x(steps.by_root)
    return ways(known, (right, False), *forms, ("escala-después", (right, True)))


def powers_of_two(scores, naive):
    """También bien hecha, sin que se desborde."""
    return steps.softmax_over(-1)(scores * math.log(2), naive)


def softmax_options():
    """Las formas de repartir, menos las que con tres ejes son otra."""
    for option in steps.SOFTMAX_OPTIONS:
        name = option.mistake.id if option.mistake else ""
        if name == "softmax-base-2":
            yield Option(powers_of_two, option.mistake)
        elif name not in ("softmax-eje-1", "softmax-eje-2", "softmax-eje--3", "softmax-sin-dim"):
            yield option


def value_options(**others):
    """Lo que se hace con los pesos; de qué matriz sale el value se averigua aparte.

    Args:
        others: error, con ``_`` por ``-``, → el que es en esta cabeza, o ``None`` si no puede ser.
    """
    others = {name.replace("_", "-"): mistake for name, mistake in others.items()}
    others |= {"key-por-value": None, "query-por-value": None}
    for option in steps.VALUE_OPTIONS:
        mistake = option.mistake and others.get(option.mistake.id, option.mistake)
        if mistake or not option.mistake:
            yield Option(option.value, mistake)


def last_axes():
    """Los pasos que se buscan los últimos."""
    return {
        "query": matrix_options("W_Q"),
        "key": matrix_options("W_K"),
        "value_matrix": matrix_options("W_V"),
        "naive": [Option(False), Option(True, steps.UNSTABLE)],
    }


def few_errors(cases, axes, in_threes, frequent=8):
    """Un error, o dos, en cualquier paso; y solo si no basta, tres, de los más vistos de unos pocos.

    Sirve cuando todos los pasos se notan a la vez y no hay pruebas que los separen.
    """
    trios = Stage(in_threes, cases, usual=4, smallest=True)
    return (Stage(axes, cases, most=2, frequent=frequent, smallest=True, otherwise=trios),)


def attend(choice, x, q, k, v, allowed, past=None):
    """La atención, con cada paso dado de la forma que se pide.

    Args:
        allowed: quién se ve; sin máscara, ``None``.
        past: si se tapa el futuro sin que nadie lo pida, quién no lo es.
    """
    divide, late = choice["scale"]
    divisor = divide(x, q, k, v)
    scores = dot(q, k) if late else dot(q, k) / divisor
    if past is not None:
        scores = scores.masked_fill(~past, -torch.inf)
    before, after = choice["hide"] if allowed is not None else (None, None)
    if before:
        scores = before(scores, allowed)
    weights = choice["softmax"](scores, choice["naive"])
    if late:
        weights = weights / divisor
    if after:
        weights = after(weights, allowed)
    return {"output": choice["value"](weights, q, k, v), "weights": weights, "scores": scores}


def covers_the_same(exercise, choice):
    """Si solo cambia con qué se tapa, y no se puede notar: no queda tapado todo lo que se reparte."""
    whole = choice["softmax"].mistake or choice["allowed"].mistake
    return choice["hide"] in exercise.axes["hide"][1:3] and not whole


# --- Lo que se mide, y lo que no dice nada --------------------------------------------------------

FINITE = "Tu salida tiene números que no son finitos. Recuerda que 0·(−∞) es NaN."
ALL_FINITE = finite("04 §7", FINITE)


def measured_in(look, weak):
    """Lo que se mide en una cabeza: el divisor, y con qué número se tapa.

    Args:
        look: de un ``Attempt``, un número de token y W_Q, W_K y W_V, la salida de ese token, un número,
            o ``None``. Los tokens son dos, las filas de la identidad, y el primero no ve el segundo.
        weak: el error de tapar con poco.
    """

    def scales(attempt):
        def measure(d_k):
            W_Q, W_K, W_V = torch.zeros(2, d_k), torch.zeros(2, d_k), torch.tensor([[1.0], [0.0]])
            W_Q[1, 0] = W_K[0, 0] = 1.0
            return steps.divisor_in(look(attempt, 1, W_Q, W_K, W_V))

        for option in steps.found_scales(measure):
            yield Option((of_x(option.value), False), option.mistake)

    def fills(attempt):
        def leaked(low):
            W_Q, W_K = torch.tensor([[-low], [0.0]]), torch.tensor([[1.0], [0.0]])
            weight = look(attempt, 0, W_Q, W_K, torch.tensor([[0.0], [1.0]]))
            return math.nan if weight is None else weight

        return searched_fill(leaked, weak)

    return {"scale": scales, "hide": fills}


def only_nan(attempt):
    """Si todo es NaN: a eso se llega por muchos caminos."""
    return all(output.isnan().all() for _, output in attempt.outputs())
