"""La atención del ejemplo pequeño, dibujada: la query, las keys y los values son flechas."""

import math

import torch
import traitlets

from course_lib import scaled_dot_product_attention
from course_lib.example import TOKENS, W_K, W_Q, W_V, X
from course_lib.explorers.base import Explorer, esm, listed, written
from course_lib.explorers.declared import NO_YES, SHARED, Choice, Items, Real, Whole

PARTS = ("producto", "pesos", "softmax", "salida")  # qué se enciende: lecciones 01, 00, 03 y 05
LIMITS = {"Q": (-3.0, 3.0), "K": (-3.0, 3.0), "V": (-1.0, 2.0)}  # hasta dónde llegan, en cada eje
TIE = 1e-9  # menos que esto es redondeo
CLOSE = 0.005  # dos pesos más cerca que esto se leen iguales
NEAR = 0.1  # hasta aquí, la salida está junto a un value
ARROWS = ("Q", "K", "V")
EXAMPLE = {name: (X @ W + 0.0)[:, :2].tolist() for name, W in zip(ARROWS, (W_Q, W_K, W_V))}


def compute(part, Q, K, V, asks, scaled, start):
    """Hace la atención de la palabra que pregunta, paso a paso; ``start`` son Q, K y V al principio.

    Returns:
        Diccionario con ``norm``, lo que mide la query, y ``norms``, lo que miden las keys; y de cada
        key, ``cosines`` y ``angles`` (en grados) con la query, que son ``None`` si una es nula, y
        ``products``, ``scores`` (lo que entra en la softmax) y ``weights``; ``output``, la salida;
        y ``goals``, cuáles de los dos retos de esa parte se cumplen.
    """
    Q, K, V = (torch.tensor(x, dtype=torch.float64) for x in (Q, K, V))
    q, first = Q[asks], [torch.tensor(start[name], dtype=torch.float64) for name in ARROWS]
    products, norm, norms = K @ q, q.norm().item(), K.norm(dim=-1).tolist()
    # La biblioteca divide siempre: para no dividir, la query se alarga √d_k antes.
    asked = q[None] if scaled else q[None] * math.sqrt(len(q))
    output, weights = scaled_dot_product_attention(asked, K, V)
    cosines = [_cosine(x, norm * other) for x, other in zip(products.tolist(), norms)]
    result = {
        "norm": norm, "norms": norms, "cosines": cosines,
        "angles": [None if x is None else math.degrees(math.acos(x)) for x in cosines],
        "products": products.tolist(),
        "scores": (products / (math.sqrt(len(q)) if scaled else 1)).tolist(),
        "weights": weights[0].tolist(), "output": output[0].tolist(),
    }  # fmt: skip
    goals = _goals(part, (Q, K, V), first, scaled, q, first[0][asks], result)
    return result | {"goals": [asks == 1 and bool(goal) for goal in goals]}


def _cosine(product, size):
    if not size:
        return None
    cosine = product / size
    return next((mark for mark in (-1.0, 0.0, 1.0) if abs(cosine - mark) < TIE), cosine)


def _goals(part, now, first, scaled, q, before, result):
    """Si se cumplen los dos retos de una parte, cuando pregunta «hungry»."""
    same_q, same_k, same_v = ((a == b).all(dim=-1) for a, b in zip(now, first))
    only_dog = same_q.all() and same_k[:2].all()  # nadie más se ha movido
    weights, cosines = torch.tensor(result["weights"]), result["cosines"]
    if part == "producto":
        top = max(result["products"]) - TIE
        winners = [c for c, x in zip(cosines, result["products"]) if x >= top]
        whole = None not in cosines
        return only_dog and cosines[2] == 0, whole and max(winners) < max(cosines) - TIE
    if part == "pesos":
        return only_dog and abs(weights[0] - weights[2]) < CLOSE, same_k.all() and weights[1] > 0.5
    if part == "softmax":
        straight = abs(q[0] * before[1] - q[1] * before[0]) < TIE and q @ before > 0
        wanted = scaled_dot_product_attention(before[None], *first[1:])[1][0]
        back = (weights - wanted).abs().max() < CLOSE
        fixed = same_k.all() and straight
        return fixed and scaled and weights[2] > 0.95, fixed and not scaled and back
    near = math.dist(result["output"], now[2][1].tolist()) < NEAR
    return same_v.all() and near, same_v.all() and (weights - 1 / 3).abs().max() < CLOSE


def degrees(angle):
    """Escribe un ángulo, con decimales solo si sin ellos parecería nulo, recto o llano."""
    decimals = 0
    while (shown := float(f"{angle:.{decimals}f}")) in (0, 90, 180) and abs(shown - angle) > TIE:
        decimals += 1
    return f"{angle:.{decimals}f}°"


def _arrows(name):
    """Las tres flechas de un nombre."""
    pair = Items(Real(*LIMITS[name]), 2, 2)
    return Items(pair, 3, 3, "tres pares de números {}", default=EXAMPLE[name], key=name)


class GeometryExplorer(Explorer):
    """La query de una palabra y las tres keys, en el plano: se arrastran, y todo se mueve con ellas.

    Args:
        part: qué se enciende: ``"producto"``, ángulo y producto; ``"pesos"``, puntuación y peso;
            ``"softmax"``, además, la división por √d_k; ``"salida"``, además, los values.
        Q, K, V: tres pares de números entre −3 y 3, o entre −1 y 2 los values. Si no se dicen, los
            del ejemplo.
        asks: la posición de la palabra que pregunta.
        scaled: si las puntuaciones se dividen por √d_k.
    """

    _esm = esm("geometry")
    part = Choice(PARTS, "salida")
    Q, K, V = map(_arrows, ARROWS)
    asks = Whole(0, len(TOKENS) - 1, 1, key="token")
    scaled = Choice(NO_YES, True, key="dividir")
    words = traitlets.List(TOKENS).tag(**SHARED)
    start = traitlets.Dict().tag(**SHARED)  # a donde se vuelve

    def __init__(self, part="salida", **state):
        super().__init__(part=part, **state)
        self.start = {name: getattr(self, name) for name in ARROWS}

    def describe(self):
        names = ("part", *ARROWS, "asks", "scaled", "start")
        r = compute(**{name: getattr(self, name) for name in names})
        keys = ", ".join(f"{word} {_pair(k, 1)}" for word, k in zip(TOKENS, self.K))
        said = [f"Pregunta «{TOKENS[self.asks]}», q = {_pair(self.Q[self.asks], 1)}; k: {keys}"]
        if self.part == "producto":
            said.append(f"ángulos {', '.join('—' if x is None else degrees(x) for x in r['angles'])}")
        said.append(f"q·k: {listed(r['products'])}")
        if self.part != "producto":
            said.append(f"pesos{'' if self.scaled else ' sin dividir'}: {listed(r['weights'])}")
        if self.part == "salida":
            said.append(f"salida {_pair(r['output'], 2)}")
        done = [str(i) for i, goal in enumerate(r["goals"], 1) if goal]
        return "; ".join(said) + (f"; cumple el reto {' y el '.join(done)}." if done else ".")


def _pair(vector, decimals):
    return f"({', '.join(written(x, decimals) for x in vector)})"
