"""Vectores en el plano: producto escalar, normas, coseno, ángulo y proyección."""

import math

import torch
import traitlets

from course_lib.explorers.base import SHARED, Explorer, esm

LIMIT = 4.0  # hasta dónde llegan las puntas, en cada eje
NAMES = "uvw"
TIE = 1e-9  # menos que esto es redondeo: ni gana nadie ni deja de ser recto un ángulo
START = ((3.0, 1.0), (1.0, 2.0))


def compute(vectors):
    """Calcula todo lo que el explorador dice de sus vectores.

    Args:
        vectors: dos o tres pares de números.

    Returns:
        Diccionario con ``products`` (la matriz X·Xᵀ), ``norms`` y ``best`` (las columnas del
        máximo de cada fila: más de una, si empatan); y de los dos primeros, ``dot``, ``cosine``,
        ``angle`` (en grados) y ``projection`` (de v sobre u), que son ``None`` donde un vector es
        nulo.
    """
    X = torch.tensor(vectors, dtype=torch.float64)
    products, norms = X @ X.T, X.norm(dim=-1).tolist()
    dot = products[0, 1].item()
    best = [[j for j, x in enumerate(row) if x >= max(row) - TIE] for row in products.tolist()]
    cosine = None
    if norms[0] and norms[1]:
        cosine = dot / (norms[0] * norms[1])
        cosine = next((mark for mark in (-1.0, 0.0, 1.0) if abs(cosine - mark) < TIE), cosine)
    return {
        "products": products.tolist(),
        "norms": norms,
        "best": best,
        "dot": dot,
        "cosine": cosine,
        "angle": None if cosine is None else math.degrees(math.acos(cosine)),
        "projection": dot / norms[0] if norms[0] else None,
    }


def normalize(x, y):
    """Devuelve el vector de norma 1 con la misma dirección; del nulo, que no tiene, [1, 0]."""
    norm = math.hypot(x, y)
    if abs(norm - 1) < TIE:
        return [x, y]  # ya lo es: tocarlo sería devolverle a la página otro distinto
    return [x / norm, y / norm] if norm else [1.0, 0.0]


def degrees(angle):
    """Escribe un ángulo, con decimales solo si sin ellos parecería nulo, recto o llano."""
    decimals = 0
    while (shown := float(f"{angle:.{decimals}f}")) in (0, 90, 180) and abs(shown - angle) > TIE:
        decimals += 1
    return f"{angle:.{decimals}f}°"


def rounded(x, decimals):
    return f"{round(x, decimals) + 0:.{decimals}f}"  # sin −0.0


class VectorExplorer(Explorer):
    """Dos vectores que se arrastran, y un tercero si se quiere.

    Args:
        vectors: dos o tres pares de números entre −4 y 4.
        unit: si todos miden siempre 1. Al ponerlo, los que midan otra cosa pasan a medir 1.

    Raises:
        traitlets.TraitError: si los vectores no son dos o tres pares de números en ese margen.
    """

    _esm = esm("vectors")
    vectors = traitlets.List([list(vector) for vector in START]).tag(**SHARED)
    unit = traitlets.Bool(False).tag(**SHARED)

    def __init__(self, vectors=START, unit=False, **traits):
        super().__init__(vectors=vectors, unit=unit, **traits)

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
        return [normalize(*row) for row in rows] if self.unit else rows

    @traitlets.observe("unit")
    def _measure(self, change):
        self.vectors = [normalize(*row) if self.unit else row for row in self.vectors]

    def describe(self):
        result = compute(self.vectors)
        named = ", ".join(
            f"{name} = ({rounded(x, 1)}, {rounded(y, 1)})"
            for name, (x, y) in zip(NAMES, self.vectors)
        )
        angle = "sin ángulo" if result["angle"] is None else f"ángulo {degrees(result['angle'])}"
        lost = [
            f"en la fila de {NAMES[i]} {'ganan' if columns[1:] else 'gana'} "
            + " y ".join(NAMES[j] for j in columns)
            for i, columns in enumerate(result["best"])
            if i not in columns
        ]
        return (
            "; ".join([f"Vectores: {named}", f"u·v = {rounded(result['dot'], 2)}", angle, *lost])
            + "."
        )
