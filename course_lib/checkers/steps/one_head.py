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

MATRICES = told(__file__, "matrices")
ALL = MATRICES["matrices-traspuestas"], MATRICES["sin-proyectar"]


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


@functools.lru_cache(maxsize=4096)
def query_key_value(every, chosen, sources, *matrices):
    """La query, la key y el value.

    Args:
        every: lo que se hace con todos: ``"propias"``, ``"matrices cambiadas"``, ``"cambiadas"`` (la
            query y la key), ``"traspuestas"`` o ``"ninguna"``.
        chosen: de los tres, qué matriz usan y si va traspuesta.
        sources: de los tres, los vectores de los que salen.
        matrices: W_Q, W_K y W_V.
    """
    W_Q, W_K, W_V = matrices
    if every == "matrices cambiadas":
        W_Q, W_K = W_K, W_Q
    q, k, v = (
        project(None if every == "ninguna" else name, turned or every == "traspuestas", x, W_Q, W_K, W_V)
        for x, (name, turned) in zip(sources, chosen)
    )  # fmt: skip
    return (k, q, v) if every == "cambiadas" else (q, k, v)


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


def chosen_matrices(choice):
    return tuple(choice[axis] for axis in ("query", "key", "value_matrix"))


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


def found_scale(weight):
    """El divisor, si ``weight(W_Q, W_K, W_V)`` da lo que pesa un token con puntuación 1 frente a uno con 0.

    Los dos tokens son las filas de la identidad, y el segundo pregunta.
    """

    def measure(d_k):
        W_Q, W_K, W_V = torch.zeros(2, d_k), torch.zeros(2, d_k), torch.tensor([[1.0], [0.0]])
        W_Q[1, 0] = W_K[0, 0] = 1.0
        return steps.divisor_in(weight(W_Q, W_K, W_V))

    for option in steps.found_scales(measure):
        yield Option((of_x(option.value), False), option.mistake)


def only_nan(attempt):
    """Si todo es NaN: a eso se llega por muchos caminos."""
    return all(output.isnan().all() for _, output in attempt.outputs())
