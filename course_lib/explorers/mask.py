"""Una máscara pequeña, casilla a casilla, y lo que hace en cada paso de la atención."""

import math

import torch
import traitlets

from course_lib.attention import scaled_dot_product_attention
from course_lib.explorers.base import Explorer, esm
from course_lib.explorers.declared import NO_YES, Choice, Declared, Whole, count, wrong
from course_lib.masks import CONVENTIONS, causal_mask, combine_masks, convert_mask, padding_mask

TABLES = "scores", "values", "mask"
PRESETS = "sin máscara", "causal", "relleno", "las dos"
LENGTH = {"between": [count("words"), count("words")]}
TABLE = {"list": {"list": {"of": NO_YES}, **LENGTH}, **LENGTH}
LIMIT = 1000  # lo que puede medir un número
SCORES = [[2.0, 3, 0.5, 3], [2, 1, 3.5, 3], [1, 3, 2.5, 2], [3.5, 1, 0, 5]]  # de la lección 04


def preset(name, length, padding=1):
    """Construye una máscara con nombre; `padding` es cuántos tokens del final son relleno."""
    causal = causal_mask(length)
    pad = padding_mask(torch.arange(length)[None] < length - padding)[0, 0]
    masks = dict(zip(PRESETS, ([], [causal], [pad], [causal, pad])))
    return combine_masks(torch.ones(length, length).bool(), *masks[name]).tolist()


def name_of(mask, padding=1):
    """Dice cómo se llama una máscara."""
    opposite = [[not keep for keep in row] for row in mask]
    for name in PRESETS:
        known = preset(name, len(mask), padding)
        if known in (mask, opposite):
            return name if known == mask else f"{name}, invertida"
    return "hecha a mano"


def title_of(name):
    """Escribe el nombre de una máscara para empezar una frase."""
    known, *rest = name.split(", ")
    titles = {"sin máscara": "Sin máscara", "relleno": "Máscara de relleno"}
    titles["las dos"] = "Máscara causal y de relleno"
    return ", ".join([titles.get(known, f"Máscara {known}"), *rest])


def compute(scores, values, mask):
    """Calcula los pasos de la atención enmascarada, desde las puntuaciones ya escaladas.

    Devuelve un diccionario con la máscara en los otros convenios (``block``, ``additive``), las
    puntuaciones enmascaradas (``masked``), los pesos (``weights``), la salida (``output``) y las
    filas sin permisos (``empty``), que la softmax de −∞ deja en NaN. Un −∞ se escribe ``None``.
    """
    S, V = (torch.tensor(table, dtype=torch.float64) for table in (scores, values))
    keep, L = torch.tensor(mask), len(scores)
    # Con Q = √L·S y K = I, lo que la biblioteca calcula, Q·Kᵀ / √L, es S.
    output, weights = scaled_dot_product_attention(S * math.sqrt(L), torch.eye(L).double(), V, keep)
    additive = convert_mask(keep, "keep", "additive", dtype=torch.float64)
    naive = torch.softmax(S + additive, dim=-1)

    def finite(tensor):
        return [[x if math.isfinite(x) else None for x in row] for row in tensor.tolist()]

    return {
        "block": convert_mask(keep, "keep", "block").tolist(), "additive": finite(additive),
        "masked": finite(S + additive), "weights": weights.tolist(), "output": output.tolist(),
        "empty": naive.isnan().any(dim=-1).nonzero().flatten().tolist(),
    }  # fmt: skip


def _check(explorer, name, value):
    """Los tokens o una de las tablas, con los demás: todos tienen que medir L."""
    state = {key: getattr(explorer, key) for key in ("words", *TABLES)} | {name: value}
    L = _length(state["words"])
    return {key: _table(key, state[key], L) for key in TABLES}.get(name, value)


class MaskExplorer(Explorer):
    """Una máscara que se escribe con el ratón o con el teclado.

    Args:
        words: de 4 a 6 tokens, L.
        scores, values: puntuaciones ya escaladas, (L, L), y values, (L, d_v), con d_v de 1 a 4.
        mask: booleana, (L, L); True = puede mirar. Por defecto, la causal.
        padding: cuántos tokens del final son relleno, para las máscaras que lo tapan.
        convention: cómo se escribe: ``"keep"``, ``"block"`` o ``"additive"``.
    """

    _esm = esm("mask")
    words = Declared(None, ["el", "perro", "come", "pan"], check=_check)
    scores = Declared(None, SCORES, check=_check)
    values = Declared(None, [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [-1.0, 3.0]], check=_check)
    mask = Declared(TABLE, [], check=_check, key="mascara")
    padding = Whole(1, ("words", -2), 1, "un entero {}: tokens del final", key="relleno")
    convention = Choice(CONVENTIONS, key="convenio")

    @traitlets.default("mask")
    def _causal(self):
        return preset("causal", _length(self.words))

    def describe(self):
        result = compute(self.scores, self.values, self.mask)
        empty = ", ".join(self.words[i] for i in result["empty"]) or "nadie"
        rows = [", ".join(f"{round(x, 6):.2f}" for x in row) for row in result["output"]]
        outputs = ", ".join(f"{word} ({row})" for word, row in zip(self.words, rows))
        return (
            f"{title_of(name_of(self.mask, self.padding))}, escrita como {self.convention}: "
            f"{sum(map(sum, self.mask))} permisos de {len(self.words) ** 2}; sin ningún permiso: "
            f"{empty}; salidas: {outputs.replace('-0.00', '0.00')}."
        )


def _length(words):
    good = isinstance(words, list) and 4 <= len(words) <= 6
    if not good or not all(isinstance(w, str) and 0 < len(w.strip()) <= 12 for w in words):
        raise wrong("MaskExplorer", "words", words, "una lista de 4 a 6 tokens, de 1 a 12 letras")
    return len(words)


def _table(name, value, L):
    """Comprueba una tabla de L filas, una por token, y la devuelve como lista de listas."""
    rows = value.tolist() if hasattr(value, "tolist") else value
    numbers = (int, float), f"números entre −{LIMIT} y {LIMIT}"
    kinds, kind = ((bool,), "booleanos") if name == "mask" else numbers
    widths, columns = ((1, 2, 3, 4), "de 1 a 4") if name == "values" else ((L,), L)
    try:
        good = len(rows) == L and len({len(row) for row in rows}) == 1 and len(rows[0]) in widths
        good = good and all(type(x) in kinds and abs(x) <= LIMIT for row in rows for x in row)
    except (TypeError, LookupError):
        good = False
    if not good:
        wanted = f"una tabla de {kind}, de {L} filas (una por token) y {columns} columnas"
        raise wrong("MaskExplorer", name, value, f"{wanted}; con otros `words`, otro explorador")
    return [[kinds[-1](x) for x in row] for row in rows]
