"""El ejemplo pequeño hecho a mano, con listas y bucles: con él se comparan la biblioteca y las figuras."""

import math

import torch

from course_lib import causal_mask
from course_lib.example import W_K, W_O, W_Q, W_V, X_D, X

HALF = [slice(0, 2), slice(2, 4)]  # las columnas de cada cabeza
# (quien pregunta, quien responde, la máscara)
CASES = {"entera": (X, X, None), "causal": (X, X, causal_mask(3)), "cruzada": (X_D, X, None)}


def by_hand(query, key, mask, decimals=None):
    """Cada paso, con listas y bucles. Con ``decimals``, se redondea después de cada uno."""

    def short(x):
        return x if decimals is None else round(x, decimals)

    def product(a, b):
        return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]

    def rounded(matrix):
        return [[short(x) for x in row] for row in matrix]

    Q, K = product(query.tolist(), W_Q.tolist()), product(key.tolist(), W_K.tolist())
    V = product(key.tolist(), W_V.tolist())
    allowed = torch.ones(len(Q), len(K)) if mask is None else mask
    steps = {"Q": Q, "K": K, "V": V, "scores": [], "scaled": [], "weights": [], "heads": []}
    for part in HALF:
        q, k, v = ([row[part] for row in matrix] for matrix in (Q, K, V))
        scores = product(q, list(zip(*k)))
        scaled = rounded([[s / math.sqrt(2) for s in row] for row in scores])
        weights = []
        for row, ok in zip(scaled, allowed.tolist()):
            powers = [math.exp(s) if may else 0.0 for s, may in zip(row, ok)]
            weights.append([short(p / sum(powers)) for p in powers])
        steps["scores"].append(scores)
        steps["scaled"].append(scaled)
        steps["weights"].append(weights)
        steps["heads"].append(rounded(product(weights, v)))
    steps["concat"] = [a + b for a, b in zip(*steps["heads"])]
    steps["change"] = rounded(product(steps["concat"], W_O.tolist()))
    steps["sum"] = rounded((query + torch.tensor(steps["change"])).tolist())
    return {name: torch.tensor(value, dtype=torch.float) for name, value in steps.items()}
