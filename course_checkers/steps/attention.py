"""Las formas de dar cada paso de la atención: la buena y las que se ven por ahí.

{query y key como se piden, cambiadas} × {÷√d_k, sin dividir, ÷d_k…} × {softmax sobre las keys, sobre
las queries…} × {pesos·V, pesosᵀ·V, K por V…}. Tapar con la máscara está en ``hiding``.
"""

import math

import torch
from torch.nn.functional import normalize

from course_checkers.engine import Option, each_output, laws, same, show, show_both, told, ways

STORIES, LAWS = told(__file__, "stories"), laws(__file__, "propiedades")


def story(name, look, **numbers):
    """La frase de una consecuencia, con lo que se ha medido."""
    return STORIES[name].saying(name=look.case.name, **numbers).text


def largest_weight(look):
    """Cómo quedan los pesos de la primera query, y cómo tenían que quedar."""
    yours, right = look.traced["weights"], look.traced_right["weights"]
    if yours.shape != right.shape or yours.isnan().any():
        return ""
    row = int((yours - right).abs().amax(-1).reshape(-1, right.shape[-2])[0].argmax())
    mine, good = (x.reshape(-1, *x.shape[-2:])[0, row].max() for x in (yours, right))
    if same(mine, good):  # el mayor no cambia: se cuenta en la salida
        return ""
    mine, good = show_both(mine, good)
    return story("peso-más-alto", look, row=row, mine=mine, good=good)


def row_sums(look):
    weights = look.traced["weights"]
    if weights.shape != look.traced_right["weights"].shape:
        return ""
    sums = weights.reshape(-1, *weights.shape[-2:])[0].sum(-1)
    row = int((sums - 1).abs().argmax())
    if same(sums[row], torch.ones(()).to(sums)):
        return ""
    return story("suma-de-la-fila", look, row=row, sum=show_both(sums[row], 1.0)[0])


def lowest_weight(look):
    low = look.traced["weights"].min()
    return story("peso-negativo", look, low=show(low)) if low < 0 else ""


def not_a_number(look):
    bad = int((~look.yours.isfinite()).sum())
    return story("no-es-un-número", look, bad=bad, all=look.yours.numel()) if bad else ""


SWAPPED = told(__file__, "order")["query-key-cambiadas"]
SCALES = told(__file__, "scale", largest_weight)
DIVISORS = {  # cada divisor malo, a partir de query, key y value
    "ninguna": lambda q, k, v: 1.0,
    "d_k": lambda q, k, v: q.shape[-1],
    "por-√d_k": lambda q, k, v: q.shape[-1] ** -0.5,
    "por-d_k": lambda q, k, v: 1 / q.shape[-1],
    "d_k²": lambda q, k, v: q.shape[-1] ** 2,
    "√d_model": lambda q, k, v: math.sqrt(q.shape[-1] * (q.shape[-3] if q.dim() == 4 else 1)),
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


SCALE_OPTIONS = ways(
    SCALES,
    by_root,
    *((f"escala-{name}", divisor) for name, divisor in DIVISORS.items()),
    # Con una sola cabeza por delante, quien usa el eje de las cabezas toma otro; el error es el mismo.
    ("escala-√d_model", lambda q, k, v: math.sqrt(q.shape[-3] * q.shape[-1])),
    ("escala-√d_model", lambda q, k, v: math.sqrt(q.shape[1] * q.shape[-1])),
)
LATE, FOUND_SCALES = SCALES["escala-después"], ("escala-fija", "escala-de-más", "escala-otra")
# Divisores fijos que se copian de otros modelos o de los artículos.
CONSTANTS = (2.0, 4.0, 8.0, 10.0, 16.0, 64.0, 100.0, math.sqrt(512), 512.0, math.sqrt(768), 768.0)


def found_scales(measure):
    """El divisor que usa quien aprende: uno fijo conocido, o medido, por si es a·d_kᵖ.

    Args:
        measure: por cuánto divide con una anchura d_k, o ``None`` si no se puede saber.
    """
    measured = [measure(d_k) for d_k in (1, 4)]
    for fixed in CONSTANTS:  # si esta vez coincide, pero no es siempre, no es ese
        if not any(found and abs(found - fixed) > 0.01 * fixed for found in measured):
            mistake = SCALES["escala-fija"].saying(number=show(fixed))
            yield Option(lambda q, k, v, n=fixed: n, mistake)
    if None in measured:
        return
    first, second = measured
    power = math.log(second / first, 4)
    usual = min(abs(power - known) for known in (-1, -0.5, 0, 0.5, 1, 2)) < 0.01
    constant = abs(power) < 0.01
    known = constant and min(abs(first - fixed) / fixed for fixed in CONSTANTS) < 1e-3
    if known or abs(first - 1) < 0.01 and usual:
        return  # ya está en la familia
    name = "fija" if constant else "de-más" if abs(power - 0.5) < 0.01 else "otra"
    found = SCALES[f"escala-{name}"].saying(number=show(second if name == "otra" else first))
    yield Option(lambda q, k, v: first * q.shape[-1] ** power, found)


def early_scales(measure):
    """Los mismos, como ``(divisor, si se divide después de la softmax)``."""
    return [Option((option.value, False), option.mistake) for option in found_scales(measure)]


def divisor_in(weight):
    """De lo que pesa la key con puntuación 1 frente a la que tiene 0, el divisor."""
    if weight is None or not 0.500001 < weight < 0.999999:
        return None
    return 1 / math.log(weight / (1 - weight))


BY_LARGEST = ("signo", "valor_absoluto", "dos_veces", "máximo", "relu", "base_2")
SOFTMAXES = told(
    __file__, "softmax", row_sums, softmax_porcentaje=lowest_weight, softmax_inestable=not_a_number,
    **dict.fromkeys((f"softmax_{name}" for name in BY_LARGEST), largest_weight),
)  # fmt: skip
SIGN, UNSTABLE = SOFTMAXES["softmax-signo"], SOFTMAXES["softmax-inestable"]


def softmax_over(*dims):
    """Softmax sobre los ejes pedidos, sin que se desborde."""

    def share(scores, naive):
        shifted = scores if naive else scores - scores.amax(dims, keepdim=True)
        exponentials = shifted.exp()
        return exponentials / exponentials.sum(dims, keepdim=True)

    return share


def by_row_maximum(scores):
    return (scores - scores.amax(-1, keepdim=True)).exp()


def proportional(x):
    return x / x.sum(-1, keepdim=True)


SOFTMAX_OPTIONS = ways(
    SOFTMAXES,
    softmax_over(-1),
    ("softmax-queries", softmax_over(-2)),
    ("softmax-todo", softmax_over(-2, -1)),
    *((f"softmax-eje-{dim}", softmax_over(dim)) for dim in (0, 1, 2)),
    ("softmax-eje--3", softmax_over(-3)),
    ("softmax-sin-dim", lambda s, naive: softmax_over(0 if s.dim() in (0, 1, 3) else 1)(s, naive)),
    ("softmax-todo-junto", lambda s, naive: softmax_over(*range(s.dim()))(s, naive)),
    ("softmax-sin-keepdim", lambda s, naive: s.exp() / s.exp().sum(-1)),
    ("softmax-sin-keepdim", lambda s, naive: by_row_maximum(s) / by_row_maximum(s).sum(-1)),
    ("softmax-ninguna", lambda s, naive: s),
    ("softmax-porcentaje", lambda s, naive: proportional(s)),
    ("softmax-valor-absoluto", lambda s, naive: proportional(s.abs())),
    ("softmax-sin-dividir", lambda s, naive: s.exp()),
    ("softmax-sigmoide", lambda s, naive: s.sigmoid()),
    ("softmax-logaritmo", lambda s, naive: s.log_softmax(-1)),
    ("softmax-dos-veces", lambda s, naive: s.softmax(-1).softmax(-1)),
    ("softmax-signo", lambda s, naive: (-s).softmax(-1)),
    ("softmax-máximo", lambda s, naive: torch.zeros_like(s).scatter(-1, s.argmax(-1, True), 1.0)),
    ("softmax-relu", lambda s, naive: proportional(s.relu())),
    ("softmax-norma", lambda s, naive: normalize(s, dim=-1)),
    ("softmax-base-2", lambda s, naive: proportional(2.0**s)),
)

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


# --- Lo que cumple cualquier atención ------------------------------------------------------------


def output_shape(query, key, value, mask=None):
    return (*query.shape[:-1], value.shape[-1])


def within_values(values, law=LAWS["propiedad-media"], bounds=lambda v: (v.amin(-2, True), v.amax(-2, True))):
    """Que cada salida esté entre el menor y el mayor de los values, o entre los que da ``bounds``."""

    @each_output({"": law})
    def look(output, *given):
        low, high = bounds(values(*given))
        outside = torch.maximum(low - output, output - high)
        if outside.amax() > 1e-3:
            row = int(outside.amax(-1).reshape(-1, outside.shape[-2]).amax(0).argmax())
            yield "", {"gap": show(outside.amax()), "row": row}

    return look


def leak(attempt):
    """Que cambiar un token prohibido no cambie la salida de quien no lo puede ver."""
    for case, output in attempt.outputs():
        query, key, value, mask = case.arguments
        if mask is None:
            continue
        blocked = ~mask.expand(*query.shape[:-1], key.shape[-2])
        changed = value.clone()
        changed[..., -1, :] += 1.0
        other = attempt.ask(query, key, changed, mask)
        if not isinstance(other, torch.Tensor):
            continue
        moved = ((other - output).abs().amax(-1) > 1e-4) & blocked[..., -1]
        if moved.any():
            gap = show((other - output).abs().amax(-1)[moved].max())
            return [LAWS["propiedad-fuga"].saying(name=case.name, gap=gap)]
    return []
