"""Vectores en el plano: producto escalar, normas, coseno, ángulo y proyección."""

import math

import torch
import traitlets

from course_lib.explorers.base import SHARED, Explorer, esm

LIMIT = 4.0  # hasta dónde llegan las puntas, en cada eje
NAMES = "uvw"
TIE = 1e-9  # un empate con la diagonal no es perder


def compute(vectors):
    """Calcula todo lo que el explorador dice de sus vectores.

    Args:
        vectors: dos o tres pares de números.

    Returns:
        Diccionario con ``products`` (la matriz X·Xᵀ), ``norms`` y ``winners`` (la columna del
        máximo de cada fila); y de los dos primeros, ``dot``, ``cosine``, ``angle`` (en grados) y
        ``projection`` (de v sobre u), que son ``None`` donde un vector es nulo.
    """
    X = torch.tensor(vectors, dtype=torch.float64)
    products, norms = X @ X.T, X.norm(dim=-1).tolist()
    dot = products[0, 1].item()
    cosine = max(-1.0, min(1.0, dot / (norms[0] * norms[1]))) if norms[0] and norms[1] else None
    return {
        "products": products.tolist(),
        "norms": norms,
        "winners": [
            i if row[i] >= row.max() - TIE else row.argmax().item()
            for i, row in enumerate(products)
        ],
        "dot": dot,
        "cosine": cosine,
        "angle": None if cosine is None else math.degrees(math.acos(cosine)),
        "projection": dot / norms[0] if norms[0] else None,
    }


class VectorExplorer(Explorer):
    """Dos vectores que se arrastran, y un tercero si se quiere.

    Args:
        vectors: dos o tres pares de números entre −4 y 4.
        unit: si todos miden siempre 1.

    Raises:
        traitlets.TraitError: si los vectores no son dos o tres pares de números en ese margen.
    """

    _esm = esm("vectors")
    vectors = traitlets.List([[3.0, 1.0], [1.0, 2.0]]).tag(**SHARED)
    unit = traitlets.Bool(False).tag(**SHARED)

    @traitlets.validate("vectors")
    def _check(self, proposal):
        vectors = proposal["value"]
        try:
            rows = [[float(x), float(y)] for x, y in vectors]
        except (TypeError, ValueError):
            rows = []
        if len(rows) not in (2, 3) or not all(abs(z) <= LIMIT for row in rows for z in row):
            raise traitlets.TraitError(
                f"VectorExplorer: vectors = {vectors!r:.80}, y tienen que ser dos o tres pares de "
                f"números entre −{LIMIT:g} y {LIMIT:g}. Por ejemplo, [[3, 1], [1, 2]]."
            )
        return rows

    def describe(self):
        result = compute(self.vectors)
        named = ", ".join(
            f"{name} = ({x:.1f}, {y:.1f})" for name, (x, y) in zip(NAMES, self.vectors)
        )
        angle = "sin ángulo" if result["angle"] is None else f"ángulo {result['angle']:.0f}°"
        lost = [
            f"en la fila de {NAMES[i]} gana {NAMES[j]}"
            for i, j in enumerate(result["winners"])
            if i != j
        ]
        return "; ".join([f"Vectores: {named}", f"u·v = {result['dot']:.2f}", angle, *lost]) + "."
