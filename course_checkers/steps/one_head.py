"""Una cabeza con sus matrices: de dónde salen la query, la key y el value, y qué se hace con ellos.

La usan la autoatención enmascarada (lección 08) y la atención cruzada (lección 09). Lo que va detrás
de las proyecciones son los pasos de ``attention`` y ``hiding``; aquí, los divisores reciben además x.
"""

import functools
import math

import torch

from course_checkers.engine import Option, Stage, case, clone, finite, show, told, ways
from course_checkers.engine.properties import NOT_FINITE
from course_checkers.steps import attention as steps
from course_checkers.steps.hiding import searched_fill, shared
from course_checkers.steps.pair import RETURNED

MATRICES = told(__file__, "matrices")
EVERY = (
    # Lo que se hace con las tres a la vez; ``"propias"`` es lo bueno.
    (steps.SWAPPED, "cambiadas"),
    ("matrices-traspuestas", "traspuestas"),
    ("sin-proyectar", "ninguna"),
)
ALSO = ("escala-fija", "escala-de-más", "escala-otra", "máscara-poco-negativa", *RETURNED)
ALL_FINITE = finite("04 §8", f"{NOT_FINITE} Recuerda que 0·(−∞) es NaN.")


def drawn(seed, B, lengths, d, d_k, d_v, size=1.0, blank=None):
    """Un lote de frases de cada longitud, W_Q, W_K y W_V. ``blank``: el token que es 0 en el último."""
    shapes = *((B, length, d) for length in lengths), (d, d_k), (d, d_k), (d, d_v)
    *sentences, W_Q, W_K, W_V = case.drawn(seed, *shapes)
    if blank is not None:
        sentences[-1][:, blank] = 0.0
    return *sentences, *(matrix / math.sqrt(d) * size for matrix in (W_Q, W_K, W_V))


def whole_numbers(first, d, d_k):
    """Puntuaciones enteras, exactas en float32: 200 por ``first`` y por la columna 1 de quien pregunta."""
    x = torch.zeros(1, 4, d)
    x[0, :, 0] = torch.tensor(first)
    x[0, :, 2:4] = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]])
    W_Q, W_K, W_V = torch.zeros(d, d_k), torch.zeros(d, d_k), torch.zeros(d, 2)
    W_Q[1, 0] = 200 * math.sqrt(d_k)
    W_K[0, 0] = W_V[2, 0] = W_V[3, 1] = 1.0
    return x, W_Q, W_K, W_V


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
def project(x, W, transposed):
    return x if W is None else x @ (W.mT if transposed else W)


@functools.lru_cache(maxsize=4096)
def dot(query, key):
    return query @ key.mT


def query_key_value(choice, sources, W_Q, W_K, W_V):
    """La query, la key y el value, de los vectores de ``sources``, con las matrices que se pidan."""
    every, out = choice["every"], []
    if every == "matrices cambiadas":
        W_Q, W_K = W_K, W_Q
    matrices = {} if every == "ninguna" else {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    for x, axis in zip(sources, ("query", "key", "value_matrix")):
        name, turned = choice[axis]
        out.append(project(x, matrices.get(name), turned or every == "traspuestas"))
    return (out[1], out[0], out[2]) if every == "cambiadas" else out


# --- La atención ----------------------------------------------------------------------------------


def of_x(divisor):
    return lambda x, q, k, v: divisor(q, k, v)


def scale_options(*unused):
    """Los divisores de la atención, menos los que aquí son otro; √d_model es la anchura de x."""
    divisors = {name: of_x(divisor) for name, divisor in steps.DIVISORS.items()} | {
        "√d_model": lambda x, q, k, v: math.sqrt(x.shape[-1]),
        "d_model": lambda x, q, k, v: x.shape[-1],
    }
    known = steps.SCALES | told(__file__, "scale", steps.largest_weight)
    forms = ((f"escala-{n}", (d, False)) for n, d in divisors.items() if n not in unused)
    right = of_x(steps.by_root)
    return ways(known, (right, False), *forms, ("escala-después", (right, True)))


def here(options, changed):
    """Las formas de un paso. ``changed``: error → el que es aquí; ``None``, si es la misma que otra."""
    for option in options:
        mistake = option.mistake and changed.get(option.mistake.id, option.mistake)
        if mistake or not option.mistake:
            yield Option(option.value, mistake)


def softmax_options():
    """Las formas de repartir con tres ejes; con potencias de 2, también bien hecha, sin que se desborde."""
    repeated = ("eje-1", "eje-2", "eje--3", "sin-dim", "base-2")
    powers = steps.SOFTMAXES["softmax-base-2"]
    yield from here(steps.SOFTMAX_OPTIONS, {f"softmax-{name}": None for name in repeated})
    yield Option(lambda s, naive: steps.softmax_over(-1)(s * math.log(2), naive), powers)


def value_options(**changed):
    """Lo que se hace con los pesos; de qué matriz sale el value se averigua aparte."""
    changed = {name.replace("_", "-"): mistake for name, mistake in changed.items()}
    return here(steps.VALUE_OPTIONS, changed | {"key-por-value": None, "query-por-value": None})


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
    """La atención, con cada paso como se pide.

    ``allowed``, quién se ve; ``past``, quién no es futuro, si se tapa sin que nadie lo pida.
    """
    divide, late = choice["scale"]
    divisor = divide(x, q, k, v)
    scores = dot(q, k) if late else dot(q, k) / divisor
    if past is not None:
        scores = scores.masked_fill(~past, -torch.inf)
    ways = (choice[axis] for axis in ("hide", "softmax", "naive"))
    scores, weights = shared(scores, allowed, *ways, divisor if late else None)
    return {"output": choice["value"](weights, q, k, v), "weights": weights, "scores": scores}


def covers_the_same(exercise, choice):
    """Si solo cambia con qué se tapa, y no se puede notar: no queda tapado todo lo que se reparte."""
    whole = choice["softmax"].mistake or choice["allowed"].mistake
    return choice["hide"] in exercise.axes["hide"][1:3] and not whole


# --- Lo que se mide, y lo que no dice nada --------------------------------------------------------


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
            W_K, W_V = torch.eye(2)[:, :, None]
            weight = look(attempt, 0, W_K * -low, W_K, W_V)
            return math.nan if weight is None else weight

        return searched_fill(leaked, weak)

    return {"scale": scales, "hide": fills}


def only_nan(attempt):
    """Si todo es NaN: a eso se llega por muchos caminos."""
    return all(output.isnan().all() for _, output in attempt.outputs())


def moved_by(attempt, arguments, which, where):
    """Cuánto se mueve cada salida al sumar 1 a una parte de un argumento; ``None``, si no se sabe."""
    touched = clone(arguments)
    touched[which][where] += 1.0
    base, other = attempt.ask(*arguments), attempt.ask(*touched)
    known = base is not None and other is not None and base.shape == other.shape
    return (other - base).abs().amax(-1) if known and base.dim() == 3 else None


def apart(law, arguments, where, others):
    """Que sumar 1 a una parte del primer argumento no mueva otras salidas; ``{gap}``, lo que se mueven."""

    def look(attempt):
        gap = moved_by(attempt, arguments, 0, where)
        if gap is not None and gap[others].max() > 1e-5:
            yield law.saying(gap=show(gap[others].max()))

    return look
