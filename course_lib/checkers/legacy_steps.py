"""Las formas de dar cada paso de la atención: la buena y las que se ven por ahí.

La familia: {query y key como se piden, cambiadas} × {÷√d_k, sin dividir, ÷d_k…} × {softmax sobre las
keys, sobre las queries…} × {máscara bien, ignorada, al revés…} × {pesos·V, pesosᵀ·V, K por V…}.
"""

import math

import torch

from course_lib.checkers.family import Mistake, Option, show

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


def blocked_weight(look):
    """Cuánto peso reciben los tokens prohibidos."""
    mask, weights = look.case.arguments[3], look.traced["weights"]
    if mask is None:
        return ""
    leaked = weights.masked_fill(mask.expand_as(weights), 0.0)
    leaked = leaked.reshape(-1, *leaked.shape[-2:])[0]
    row = leaked.abs().sum(-1).argmax()
    amount = leaked[row].sum()
    if amount.isnan() or amount == 0:
        return ""
    return (
        f"Con {look.case.name}, tu query {int(row)} da un peso de {show(amount)} a tokens prohibidos, "
        "y tenía que dar 0."
    )


def not_a_number(look):
    bad = int((~look.yours.isfinite()).sum())
    return (
        f"Con {look.case.name}, {bad} de los {look.yours.numel()} números de tu salida son NaN o ∞."
    )


# --- Los errores ----------------------------------------------------------------------------------


READ_SCALE = {
    "d_k": "03 §6.3",
    "√d_model": "03 §6.4",
    "normas": "03 §6.2",
    "norma-de-V": "03 §6.2",
}  # y los demás divisores, donde se deduce el bueno


def scale_mistake(name, text):
    return Mistake(f"escala-{name}", text, READ_SCALE.get(name, "03 §3"), largest_weight)


SWAPPED = Mistake(
    "query-key-cambiadas",
    "Los papeles de la query y la key están cambiados: cada fila de pesos tiene que ser de una query.",
    "06 §10",
)
SCALES = {
    # Cada divisor, a partir de query, key y value.
    "ninguna": (lambda q, k, v: 1.0, "No has dividido las puntuaciones por √d_k."),
    "d_k": (
        lambda q, k, v: q.shape[-1],
        "Has dividido por d_k y no por √d_k: las puntuaciones se acercan y los pesos, también.",
    ),
    "por-√d_k": (
        lambda q, k, v: q.shape[-1] ** -0.5,
        "Has multiplicado por √d_k en lugar de dividir.",
    ),
    "por-d_k": (
        lambda q, k, v: 1 / q.shape[-1],
        "Has multiplicado por d_k en lugar de dividir por √d_k.",
    ),
    "d_k²": (lambda q, k, v: q.shape[-1] ** 2, "Has dividido por d_k² y no por √d_k."),
    "√d_model": (
        lambda q, k, v: math.sqrt(q.shape[-3] * q.shape[-1] if q.dim() == 4 else q.shape[-1]),
        "Has dividido por √d_model y no por √d_k: cada cabeza mide d_k.",
    ),
    "√d_v": (
        lambda q, k, v: math.sqrt(v.shape[-1]),
        "Has dividido por √d_v, la anchura de los values.",
    ),
    "√L_k": (
        lambda q, k, v: math.sqrt(k.shape[-2]),
        "Has dividido por √L_k, el número de keys, y no por su anchura, √d_k.",
    ),
    "√L_q": (
        lambda q, k, v: math.sqrt(q.shape[-2]),
        "Has dividido por √L_q, el número de queries, y no por su anchura, √d_k.",
    ),
    "L_k": (lambda q, k, v: k.shape[-2], "Has dividido por L_k, el número de keys, y no por √d_k."),
    "√eje-0": (
        lambda q, k, v: math.sqrt(q.shape[0]),
        "Has dividido por la raíz del primer eje (el lote), y no por la anchura, √d_k.",
    ),
    "√eje-1": (
        lambda q, k, v: math.sqrt(q.shape[1]),
        "Has dividido por la raíz del segundo eje, y no por la del último, √d_k.",
    ),
    "norma-de-V": (lambda q, k, v: v.norm(), "Has dividido por una norma, y no por √d_k."),
    "normas": (
        lambda q, k, v: q.norm(dim=-1)[..., :, None] * k.norm(dim=-1)[..., None, :],
        "Has dividido por las normas, como en el coseno, y no por √d_k.",
    ),
    "máximo": (None, "Has dividido por la puntuación más alta, y no por √d_k."),
}
SCALE_OPTIONS = [
    Option(lambda q, k, v: math.sqrt(q.shape[-1])),
    *(
        Option(divisor, scale_mistake(name, text))
        for name, (divisor, text) in SCALES.items()
        if divisor
    ),
]
# Con una sola cabeza por delante, quien usa el eje de las cabezas toma otro; el error es el mismo.
SCALE_OPTIONS += [
    Option(divisor, scale_mistake("√d_model", SCALES["√d_model"][1]))
    for divisor in (
        lambda q, k, v: math.sqrt(q.shape[-3] * q.shape[-1]),
        lambda q, k, v: math.sqrt(q.shape[1] * q.shape[-1]),
    )
]
# Divisores fijos que se copian de otros modelos o de los artículos.
CONSTANTS = (2.0, 4.0, 8.0, 10.0, 16.0, 64.0, 100.0, math.sqrt(512), 512.0, math.sqrt(768), 768.0)
LATE = scale_mistake(
    "después",
    "Has dividido por √d_k después de la softmax: es a las puntuaciones, antes.",
)


def over(*dims):
    """Softmax sobre los ejes pedidos, sin que se desborde."""

    def normalize(scores, naive):
        shifted = scores if naive else scores - scores.amax(dims, keepdim=True)
        exponentials = shifted.exp()
        return exponentials / exponentials.sum(dims, keepdim=True)

    return normalize


def by_row_maximum(scores):
    return (scores - scores.amax(-1, keepdim=True)).exp()


def softmax_mistake(name, text, consequence=row_sums):
    return Mistake(f"softmax-{name}", text, "05 §1", consequence)


SIGN = softmax_mistake(
    "signo", "El signo está cambiado: el peso más alto va a la puntuación más baja.", largest_weight
)


def plain(function):
    """Una normalización que no distingue si es estable."""
    return lambda scores, naive: function(scores)


ON_QUERIES = softmax_mistake(
    "queries", "La softmax va sobre las keys (dim=-1) y la has hecho sobre las queries."
)
NO_KEEPDIM = softmax_mistake(
    "sin-keepdim",
    "La suma de cada fila ha perdido su eje y no se divide fila a fila: falta keepdim=True.",
)
SOFTMAX_OPTIONS = [  # la primera es la buena
    Option(over(-1)),
    Option(over(-2), ON_QUERIES),
    Option(
        over(-2, -1),
        softmax_mistake("todo", "Has hecho una sola softmax sobre toda la tabla: va fila a fila."),
    ),
    *(
        Option(
            over(dim),
            softmax_mistake(
                f"eje-{dim}",
                f"Has hecho la softmax con dim={dim}, contando desde el principio: con lote o cabezas, ese "
                "eje no es el de las keys. Usa dim=-1.",
            ),
        )
        for dim in (0, 1, 2)
    ),
    Option(
        over(-3),
        softmax_mistake(
            "eje--3",
            "Has hecho la softmax sobre el eje de las cabezas, el tercero por el final: va sobre las "
            "keys. Usa dim=-1.",
        ),
    ),
    Option(
        lambda scores, naive: over(0 if scores.dim() in (0, 1, 3) else 1)(scores, naive),
        softmax_mistake(
            "sin-dim",
            "Has hecho la softmax sin decir el eje, y no ha ido sobre las keys. Usa dim=-1.",
        ),
    ),
    Option(
        lambda scores, naive: over(*range(scores.dim()))(scores, naive),
        softmax_mistake(
            "todo-junto", "Has dividido por la suma de todo, lote y cabezas: va fila a fila."
        ),
    ),
    Option(plain(lambda scores: scores.exp() / scores.exp().sum(-1)), NO_KEEPDIM),
    Option(
        plain(lambda scores: by_row_maximum(scores) / by_row_maximum(scores).sum(-1)), NO_KEEPDIM
    ),
    Option(
        plain(lambda scores: scores),
        softmax_mistake("ninguna", "Falta la softmax: las puntuaciones se usan como pesos."),
    ),
    Option(
        plain(lambda scores: scores / scores.sum(-1, keepdim=True)),
        softmax_mistake(
            "porcentaje",
            "Has repartido en proporción a las puntuaciones, sin la exponencial.",
            lambda look: (
                ""
                if (low := look.traced["weights"].min()) >= 0
                else (
                    f"Con {look.case.name}, uno de tus pesos es {show(low)}, y no hay pesos negativos."
                )
            ),
        ),
    ),
    Option(
        plain(lambda scores: scores.abs() / scores.abs().sum(-1, keepdim=True)),
        softmax_mistake(
            "valor-absoluto",
            "Has repartido según el valor absoluto, sin la exponencial.",
            largest_weight,
        ),
    ),
    Option(
        plain(lambda scores: scores.exp()),
        softmax_mistake(
            "sin-dividir", "Has hecho la exponencial y no has dividido por la suma de la fila."
        ),
    ),
    Option(
        plain(torch.sigmoid),
        softmax_mistake("sigmoide", "Has usado la sigmoide, que no reparte: la softmax, sí."),
    ),
    Option(
        plain(lambda scores: scores.log_softmax(-1)),
        softmax_mistake("logaritmo", "Has usado log_softmax: son los logaritmos de los pesos."),
    ),
    Option(
        plain(lambda scores: scores.softmax(-1).softmax(-1)),
        softmax_mistake("dos-veces", "Has hecho la softmax dos veces.", largest_weight),
    ),
    Option(
        plain(lambda scores: (-scores).softmax(-1)),
        SIGN,
    ),
    Option(
        plain(
            lambda scores: torch.zeros_like(scores).scatter(
                -1, scores.argmax(-1, keepdim=True), 1.0
            )
        ),
        softmax_mistake(
            "máximo",
            "Te quedas solo con la puntuación más alta: la softmax reparte.",
            largest_weight,
        ),
    ),
    Option(
        plain(lambda scores: scores.relu() / scores.relu().sum(-1, keepdim=True)),
        softmax_mistake(
            "relu",
            "Has puesto a 0 las puntuaciones negativas y has repartido, sin la exponencial.",
            largest_weight,
        ),
    ),
    Option(
        plain(lambda scores: torch.nn.functional.normalize(scores, dim=-1)),
        softmax_mistake("norma", "Has dividido cada fila por su norma: no es una softmax."),
    ),
    Option(
        plain(lambda scores: (2.0**scores) / (2.0**scores).sum(-1, keepdim=True)),
        softmax_mistake(
            "base-2", "Has usado potencias de 2, y la softmax usa las de e.", largest_weight
        ),
    ),
]
UNSTABLE = Mistake(
    "softmax-inestable",
    "Tu exponencial se desborda con puntuaciones grandes: resta antes el máximo de cada fila.",
    "05 §2",
    not_a_number,
)


def mask_mistake(name, text, consequence=blocked_weight, read="04 §4"):
    return Mistake(f"máscara-{name}", text, read, consequence)


def filled(number):
    return lambda scores, mask: scores.masked_fill(~mask, number)


INVERTED = mask_mistake(
    "al-revés",
    "Has leído la máscara al revés: True significa «puede atender», y has tapado lo permitido.",
    read="04 §6",
)
WRONG_AXIS = mask_mistake(
    "otro-eje",
    "Has aplicado la máscara por filas (queries): se tapan columnas (keys).",
    read="04 §5.2",
)
WEAK = mask_mistake(
    "poco-negativa",
    "El número con que tapas no es bastante negativo: a lo prohibido le queda algo de peso. Usa −∞.",
)
ZERO = mask_mistake(
    "a-cero",
    "Pones a 0, o casi, las puntuaciones prohibidas: en la softmax e⁰ es 1, y siguen ahí. Es −∞.",
    read="04 §4.3",
)
ADDED = mask_mistake(
    "sumada",
    "A lo prohibido solo le restas 1 respecto a lo permitido: se suma 0 o −∞, no 1 o 0.",
    read="04 §4.4",
)
FIRST = {
    # Lo que se hace a las puntuaciones antes de la softmax.
    "ignorada": (
        lambda scores, mask: scores,
        mask_mistake(
            "ignorada",
            "La máscara no tapa nada: la salida es la misma con ella y sin ella.",
            read="04 §1",
        ),
    ),
    "inversa-infinita": (lambda scores, mask: scores.masked_fill(mask, -torch.inf), INVERTED),
    "inversa-finita": (lambda scores, mask: scores.masked_fill(mask, -1e9), INVERTED),
    "inversa-sumada": (lambda scores, mask: scores + mask * -1e4, INVERTED),
    "inversa-sumada-más": (lambda scores, mask: scores + mask * -1e9, INVERTED),
    "a-cero": (lambda scores, mask: scores * mask, ZERO),
    "unos": (
        lambda scores, mask: scores + mask,
        ADDED,
    ),
    "restada": (
        lambda scores, mask: scores - (~mask).float(),
        ADDED,
    ),
    "traspuesta": (lambda scores, mask: scores.masked_fill(~mask.mT, -torch.inf), WRONG_AXIS),
    "traspuesta-finita": (lambda scores, mask: scores.masked_fill(~mask.mT, -1e9), WRONG_AXIS),
    "causal": (
        lambda scores, mask: scores.masked_fill(~torch.ones_like(scores).tril().bool(), -torch.inf),
        mask_mistake(
            "causal-fija", "No usas la máscara que recibes, sino siempre la causal.", read="04 §2"
        ),
    ),
    "infinito": (
        filled(torch.inf),
        mask_mistake(
            "signo",
            "Tapas con +∞ o un número muy grande: lo prohibido se lo lleva todo. Es −∞.",
            not_a_number,
        ),
    ),
    "grande": (
        filled(1e9),
        mask_mistake(
            "signo", "Tapas con +∞ o un número muy grande: lo prohibido se lo lleva todo. Es −∞."
        ),
    ),
    **{
        f"{n}": (filled(float(n)), WEAK)
        for n in (-1, -2, -3, -5, -10, -20, -50, -99, -100, -999, -1000)
    },
}


def zero_and_share(epsilon):
    """Pone a 0 los pesos prohibidos y vuelve a dividir por la suma."""

    def share(weights, mask):
        kept = weights * mask
        return kept / (kept.sum(-1, keepdim=True) + epsilon)

    return share


AFTERWARDS = mask_mistake(
    "después",
    "Aplicas la máscara después de la softmax y no vuelves a repartir: las filas ya no suman 1.",
    row_sums,
    "04 §4.1",
)
AFTER = {
    # Lo que se hace a los pesos después.
    "ceros": (
        lambda weights, mask: weights * mask,
        AFTERWARDS,
    ),
    "ceros-al-revés": (
        lambda weights, mask: weights * ~mask,
        (AFTERWARDS, INVERTED),
    ),
    **{
        f"tapar-{number:g}": (
            lambda weights, mask, number=number: weights.masked_fill(~mask, number),
            mask_mistake(
                "tapa-pesos",
                "Tapas los pesos, después de la softmax, con un número muy negativo: son las "
                "puntuaciones, antes.",
                None,
                "04 §4.1",
            ),
        )
        for number in (-torch.inf, -1e9, torch.finfo(torch.float32).min)
    },
    "sumada": (
        lambda weights, mask: weights + mask,
        mask_mistake(
            "suma-a-pesos",
            "Sumas la máscara a los pesos, después de la softmax.",
            row_sums,
            "04 §4.4",
        ),
    ),
}
MASK_OPTIONS = [
    Option((filled(-torch.inf), None)),
    # Igual de buenas: solo se distinguen si una fila entera está prohibida.
    Option((filled(-1e9), None)),
    Option((filled(-1e9), lambda weights, mask: weights * mask)),
    # Y estas, casi: solo fallan si lo prohibido tiene puntuaciones mucho más altas.
    Option((None, zero_and_share(0.0))),
    Option((None, zero_and_share(1e-9))),
    *(Option((before, None), mistake) for before, mistake in FIRST.values()),
    *(Option((None, after), mistake) for after, mistake in AFTER.values()),
    Option(
        (lambda scores, mask: scores.masked_fill(mask, -1e9), lambda w, mask: w * ~mask), INVERTED
    ),
]
ALWAYS_CAUSAL = mask_mistake(
    "causal-siempre",
    "Tapas el futuro aunque nadie te lo pide: sin máscara se atiende a todo.",
    None,
    "04 §2",
)


def causal(scores):
    return scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)


VALUE_OPTIONS = [
    Option(lambda weights, q, k, v: weights @ v),
    Option(
        lambda weights, q, k, v: v,
        Mistake("sin-pesos", "Devuelves los values: falta multiplicarlos por los pesos.", "05 §4"),
    ),
    Option(
        lambda weights, q, k, v: weights @ v + q,
        Mistake(
            "suma-query", "Has sumado la query a la salida: eso va después, fuera de aquí.", "05 §4"
        ),
    ),
    Option(
        lambda weights, q, k, v: weights.mT @ v,
        Mistake(
            "pesos-traspuestos",
            "Los pesos llegan traspuestos al segundo producto: cada fila tiene que ser de una query.",
            "05 §4",
        ),
    ),
    Option(
        lambda weights, q, k, v: weights @ k,
        Mistake(
            "key-por-value",
            "Has multiplicado los pesos por las keys: se multiplican por los values.",
            "05 §4",
        ),
    ),
    Option(
        lambda weights, q, k, v: weights @ q,
        Mistake(
            "query-por-value",
            "Has multiplicado los pesos por las queries: se multiplican por los values.",
            "05 §4",
        ),
    ),
    Option(
        lambda weights, q, k, v: weights,
        Mistake("sin-value", "Devuelves los pesos y falta multiplicarlos por los values.", "05 §4"),
    ),
    Option(
        lambda weights, q, k, v: weights.sum(-1, keepdim=True) * v,
        Mistake(
            "suma-por-value", "Has sumado los pesos antes de multiplicar por los values.", "05 §4"
        ),
    ),
    Option(
        lambda weights, q, k, v: (weights @ v) / v.shape[-2],
        Mistake(
            "media",
            "Has dividido la suma ponderada por el número de tokens: los pesos ya suman 1.",
            "05 §4",
        ),
    ),
]
