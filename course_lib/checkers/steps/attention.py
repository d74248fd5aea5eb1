"""Las formas de dar cada paso de la atención: la buena y las que se ven por ahí.

{query y key como se piden, cambiadas} × {÷√d_k, sin dividir, ÷d_k…} × {softmax sobre las keys, sobre
las queries…} × {pesos·V, pesosᵀ·V, K por V…}. Tapar con la máscara está en ``hiding``.
"""

import math

import torch
from torch.nn.functional import normalize

from course_lib.checkers.engine.comparing import show
from course_lib.checkers.engine.mistakes import Option, told, ways

# --- Lo que pasa en la salida, en números ---------------------------------------------------------


def largest_weight(look):
    """Cómo quedan los pesos de la primera query, y cómo tenían que quedar."""
    yours, right = look.traced["weights"], look.traced_right["weights"]
    if yours.shape != right.shape or yours.isnan().any():
        return ""
    rows = right.shape[-2]
    row = (yours - right).abs().amax(-1).reshape(-1, rows)[0].argmax()
    mine, good = (x.reshape(-1, *x.shape[-2:])[0, row] for x in (yours, right))
    return (
        f"Con {look.case.name}, el peso más alto de tu query {int(row)} es {show(mine.max())}, y "
        f"tenía que ser {show(good.max())}."
    )


def row_sums(look):
    weights = look.traced["weights"]
    if weights.shape != look.traced_right["weights"].shape:
        return ""
    sums = weights.reshape(-1, *weights.shape[-2:])[0].sum(-1)
    row = (sums - 1).abs().argmax()
    return (
        f"Con {look.case.name}, los pesos de tu query {int(row)} suman {show(sums[row])}, y tenían que "
        "sumar 1."
    )


def lowest_weight(look):
    if (low := look.traced["weights"].min()) >= 0:
        return ""
    return f"Con {look.case.name}, uno de tus pesos es {show(low)}, y no hay pesos negativos."


def not_a_number(look):
    if not (bad := int((~look.yours.isfinite()).sum())):
        return ""
    return (
        f"Con {look.case.name}, {bad} de los {look.yours.numel()} números de tu salida son NaN o ∞."
    )


# --- Quién pregunta, y entre qué se divide --------------------------------------------------------

SWAPPED = told(__file__, "order")["query-key-cambiadas"]
SCALES = told(__file__, "scale", largest_weight)
DIVISORS = {
    # Cada divisor malo, a partir de query, key y value.
    "ninguna": lambda q, k, v: 1.0,
    "d_k": lambda q, k, v: q.shape[-1],
    "por-√d_k": lambda q, k, v: q.shape[-1] ** -0.5,
    "por-d_k": lambda q, k, v: 1 / q.shape[-1],
    "d_k²": lambda q, k, v: q.shape[-1] ** 2,
    "√d_model": lambda q, k, v: math.sqrt(
        q.shape[-3] * q.shape[-1] if q.dim() == 4 else q.shape[-1]
    ),
    "√d_v": lambda q, k, v: math.sqrt(v.shape[-1]),
    "√L_k": lambda q, k, v: math.sqrt(k.shape[-2]),
    "√L_q": lambda q, k, v: math.sqrt(q.shape[-2]),
    "L_k": lambda q, k, v: k.shape[-2],
    "√eje-0": lambda q, k, v: math.sqrt(q.shape[0]),
    "√eje-1": lambda q, k, v: math.sqrt(q.shape[1]),
    "norma-de-V": lambda q, k, v: v.norm(),
    "normas": lambda q, k, v: q.norm(dim=-1)[..., :, None] * k.norm(dim=-1)[..., None, :],
}


def by_root(q, k, v):
    return math.sqrt(q.shape[-1])


def scale(name):
    """El error de dividir por otra cosa."""
    return SCALES[f"escala-{name}"]


SCALE_OPTIONS = [
    Option(by_root),
    *(Option(divisor, scale(name)) for name, divisor in DIVISORS.items()),
    # Con una sola cabeza por delante, quien usa el eje de las cabezas toma otro; el error es el mismo.
    Option(lambda q, k, v: math.sqrt(q.shape[-3] * q.shape[-1]), scale("√d_model")),
    Option(lambda q, k, v: math.sqrt(q.shape[1] * q.shape[-1]), scale("√d_model")),
]
LATE = scale("después")
# Divisores fijos que se copian de otros modelos o de los artículos.
CONSTANTS = (2.0, 4.0, 8.0, 10.0, 16.0, 64.0, 100.0, math.sqrt(512), 512.0, math.sqrt(768), 768.0)


def found_scales(measure):
    """El divisor que usa quien aprende: uno fijo conocido, o medido, por si es a·d_kᵖ.

    Args:
        measure: por cuánto divide con una anchura d_k, o ``None`` si no se puede saber.
    """
    measured = [measure(d_k) for d_k in (1, 4)]
    for fixed in CONSTANTS:
        if any(found and abs(found - fixed) > 0.01 * fixed for found in measured):
            continue  # esta vez coincide, pero no es siempre
        yield Option(lambda q, k, v, n=fixed: n, scale("fija").saying(number=show(fixed)))
    if None in measured:
        return
    first, second = measured
    power = math.log(second / first, 4)
    usual = min(abs(power - known) for known in (-1, -0.5, 0, 0.5, 1, 2)) < 0.01
    if abs(first - 1) < 0.01 and usual:
        return  # ya está en la familia
    if abs(power) < 0.01 and min(abs(first - fixed) / fixed for fixed in CONSTANTS) < 1e-3:
        return
    name = "fija" if abs(power) < 0.01 else "de-más" if abs(power - 0.5) < 0.01 else "otra"
    found = scale(name).saying(number=show(second if name == "otra" else first))
    yield Option(lambda q, k, v: first * q.shape[-1] ** power, found)


def divisor_in(weight):
    """De lo que pesa la key con puntuación 1 frente a la que tiene 0, el divisor."""
    if weight is None or not 0.500001 < weight < 0.999999:
        return None
    return 1 / math.log(weight / (1 - weight))


# --- La softmax -----------------------------------------------------------------------------------

SOFTMAXES = told(
    __file__, "softmax", row_sums,
    softmax_porcentaje=lowest_weight, softmax_inestable=not_a_number,
    **dict.fromkeys(
        ("softmax_signo", "softmax_valor_absoluto", "softmax_dos_veces", "softmax_máximo",
         "softmax_relu", "softmax_base_2"),
        largest_weight,
    ),
)  # fmt: skip
SIGN, UNSTABLE = SOFTMAXES["softmax-signo"], SOFTMAXES["softmax-inestable"]


def softmax_over(*dims):
    """Softmax sobre los ejes pedidos, sin que se desborde."""

    def share(scores, naive):
        shifted = scores if naive else scores - scores.amax(dims, keepdim=True)
        exponentials = shifted.exp()
        return exponentials / exponentials.sum(dims, keepdim=True)

    return share


def plain(function):
    """Una normalización que no distingue si es estable."""
    return lambda scores, naive: function(scores)


def by_row_maximum(scores):
    return (scores - scores.amax(-1, keepdim=True)).exp()


def proportional(x):
    return x / x.sum(-1, keepdim=True)


def only_highest(scores):
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


SOFTMAX_OPTIONS = ways(
    SOFTMAXES,
    softmax_over(-1),
    ("softmax-queries", softmax_over(-2)),
    ("softmax-todo", softmax_over(-2, -1)),
    *((f"softmax-eje-{dim}", softmax_over(dim)) for dim in (0, 1, 2)),
    ("softmax-eje--3", softmax_over(-3)),
    ("softmax-sin-dim", lambda s, naive: softmax_over(0 if s.dim() in (0, 1, 3) else 1)(s, naive)),
    ("softmax-todo-junto", lambda s, naive: softmax_over(*range(s.dim()))(s, naive)),
    (
        "softmax-sin-keepdim",
        plain(lambda scores: scores.exp() / scores.exp().sum(-1)),
        plain(lambda scores: by_row_maximum(scores) / by_row_maximum(scores).sum(-1)),
    ),
    ("softmax-ninguna", plain(lambda scores: scores)),
    ("softmax-porcentaje", plain(proportional)),
    ("softmax-valor-absoluto", plain(lambda scores: proportional(scores.abs()))),
    ("softmax-sin-dividir", plain(torch.exp)),
    ("softmax-sigmoide", plain(torch.sigmoid)),
    ("softmax-logaritmo", plain(lambda scores: scores.log_softmax(-1))),
    ("softmax-dos-veces", plain(lambda scores: scores.softmax(-1).softmax(-1))),
    ("softmax-signo", plain(lambda scores: (-scores).softmax(-1))),
    ("softmax-máximo", plain(only_highest)),
    ("softmax-relu", plain(lambda scores: proportional(scores.relu()))),
    ("softmax-norma", plain(lambda scores: normalize(scores, dim=-1))),
    ("softmax-base-2", plain(lambda scores: proportional(2.0**scores))),
)

# --- El segundo producto --------------------------------------------------------------------------

VALUE_OPTIONS = ways(
    told(__file__, "value"),
    lambda weights, q, k, v: weights @ v,
    ("sin-pesos", lambda weights, q, k, v: v),
    ("suma-query", lambda weights, q, k, v: weights @ v + q),
    ("pesos-traspuestos", lambda weights, q, k, v: weights.mT @ v),
    ("key-por-value", lambda weights, q, k, v: weights @ k),
    ("query-por-value", lambda weights, q, k, v: weights @ q),
    ("sin-value", lambda weights, q, k, v: weights),
    ("suma-por-value", lambda weights, q, k, v: weights.sum(-1, keepdim=True) * v),
    ("media", lambda weights, q, k, v: (weights @ v) / v.shape[-2]),
)
