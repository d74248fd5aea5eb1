"""Atención cruzada, paso a paso: qué mira cada paso de la escritura en la frase de origen."""

from decimal import ROUND_HALF_UP, Decimal

import torch
import traitlets

from course_lib.explorers.base import AskingExplorer, esm
from course_lib.explorers.declared import SHARED, TEXT, Declared, Whole, last, refusal
from course_lib.explorers.typed import with_warnings
from course_lib.translator import ALIGNMENT_LAYER, load_translator
from course_lib.translator_model.checks import TranslatorError, TranslatorWarning

MAX_TOKENS = 40
MAX_NUMBERS = 12_000
NEAR = 1.25  # «casi por igual»: ningún peso se aleja más que esto de las partes iguales
MOSTLY = 2  # «sobre todo»: el mayor es al menos este número de partes iguales, o la mitad del total


def show(number):
    """Dos decimales, redondeados como en la pantalla."""
    return str(Decimal(number).quantize(Decimal("0.01"), ROUND_HALF_UP))


def compute(weights, head, step):
    """Dice qué mira un paso de la escritura: una fila de los pesos, ``(h, m_D, m_E)``.

    Returns:
        Diccionario: ``row`` (los m_E pesos), ``best`` (el token de origen que más recibe),
        ``even`` (lo que recibiría cada uno a partes iguales), ``ties`` (los que, con dos decimales,
        reciben tanto como el mayor), ``near`` (si todos reciben casi lo mismo) y ``mostly`` (si el
        mayor destaca).
    """
    weights = torch.as_tensor(weights, dtype=torch.float64)
    row = weights[:, step].mean(dim=0) if head < 0 else weights[head, step]
    row = [round(weight, 9) for weight in row.tolist()]
    top, even = max(row), 1 / len(row)
    return {
        "row": row, "best": row.index(top), "even": even,
        "ties": [j for j, weight in enumerate(row) if show(weight) == show(top)],
        "near": len(row) > 1 and top < NEAR * even and min(row) > even / NEAR,
        "mostly": top >= min(MOSTLY * even, 0.5),
    }  # fmt: skip


def looks(result, tokens):
    """Dice con palabras a qué mira una fila, sin destacar lo que apenas destaca."""
    row, ties = result["row"], result["ties"]
    names = [f"«{tokens[j]}»" for j in ties]
    many = len(names) > 1
    named = " y ".join([", ".join(names[:-1]), names[-1]]) if many else names[0]
    named = named if len(ties) <= 3 else f"{len(ties)} tokens"
    each = " cada uno" if many else ""
    numbers = f"({show(max(row))}{each}; a partes iguales, {show(result['even'])})"
    if result["near"]:
        more = f"; a {named}, apenas más" if len(ties) < len(row) else ""
        return f"mira casi por igual a todos{more} {numbers}"
    verb = "mira sobre todo a" if result["mostly"] else f"lo que más mira {'son' if many else 'es'}"
    return f"{verb} {named} {numbers}"


def why_not(weights, sizes, predicted):
    """Por qué no se pueden dibujar unos pesos; si se puede, nada. ``sizes``, m_D y m_E."""
    if weights.dim() != 3 or weights.shape[1:] != sizes or predicted != sizes[0]:
        return (
            f"`weights` tiene forma {tuple(weights.shape)}, y tiene que ser (h, m_D, m_E) = "
            f"(h, {sizes[0]}, {sizes[1]}); `predicted` tiene {predicted} tokens y `seen`, "
            f"{sizes[0]}: tienen que ser los mismos."
        )
    if max(sizes) > MAX_TOKENS or weights.numel() > MAX_NUMBERS:
        many = f"{weights.numel()} pesos y frases de {sizes} tokens son demasiado para dibujarlos"
        return f"{many}: como mucho {MAX_TOKENS} tokens y {MAX_NUMBERS} pesos."
    sums = weights.double().sum(dim=-1)
    if weights.numel() and torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
        return ""
    return "cada fila de `weights` tiene que sumar 1. ¿Son puntuaciones sin softmax, o una fila prohibida entera?"


class CrossAttentionExplorer(AskingExplorer):
    """Recorre la escritura paso a paso y enseña a qué mira cada uno en la frase de origen.

    Args:
        source_tokens: los m_E tokens que leyó el encoder.
        seen: los m_D tokens que entran en el decoder, empezando por la marca de inicio.
        predicted: los m_D tokens que predice, uno por paso: entra t−1, predice t.
        weights: pesos cruzados ``(h, m_D, m_E)`` (o ``(1, h, m_D, m_E)``), tensor o listas; cada fila suma 1.
        step: en qué paso empieza.
        head: qué cabeza se ve; −1 es la media.
        note: una advertencia que se ve siempre, por ejemplo «pesos sin entrenar».
        sentence: la frase inglesa de la que salen; con ella, se pueden pedir otras al traductor.
    """

    _esm = esm("cross")
    source_tokens = traitlets.List(traitlets.Unicode()).tag(**SHARED)
    seen = traitlets.List(traitlets.Unicode()).tag(**SHARED)
    predicted = traitlets.List(traitlets.Unicode()).tag(**SHARED)
    weights = traitlets.List().tag(**SHARED)
    sentence = Declared(TEXT, "", key="frase")
    head = Whole(-1, last("weights"), key="cabeza")
    step = Whole(0, last("seen"), key="paso")
    note = Declared(TEXT, "")
    notes = traitlets.List().tag(**SHARED)  # los avisos del traductor

    def __init__(self, source_tokens, seen, predicted, weights, **state):
        weights = torch.as_tensor(weights).detach()
        if weights.dim() == 4 and len(weights) == 1:
            weights = weights[0]
        if reason := why_not(weights, (len(seen), len(source_tokens)), len(predicted)):
            raise refusal("CrossAttentionExplorer", reason)
        super().__init__(
            source_tokens=list(source_tokens), seen=list(seen), predicted=list(predicted),
            weights=weights.double().round(decimals=4).tolist(), **state,
        )  # fmt: skip

    def _take(self, asked):
        try:
            translate = load_translator().translate
            found, warned = with_warnings(translate, asked["sentence"], TranslatorWarning)
        except TranslatorError as error:
            raise traitlets.TraitError(error.reason) from None
        sizes = len(found.source_tokens), len(found.target_tokens)
        if max(sizes) > MAX_TOKENS:
            raise traitlets.TraitError(
                f"la frase tiene {sizes[0]} tokens y su traducción, {sizes[1]}, y aquí caben "
                f"{MAX_TOKENS}. Escribe una más corta."
            )
        self.step, self.sentence = 0, asked["sentence"]
        self.source_tokens, self.seen = found.source_tokens, found.seen_tokens
        self.predicted = found.target_tokens
        self.weights = found.cross_attention[ALIGNMENT_LAYER].double().round(decimals=4).tolist()
        self.head = min(self.head, len(self.weights) - 1)
        self.notes = [warning.note for warning in warned]

    def describe(self):
        result = compute(self.weights, self.head, self.step)
        head = "media de las cabezas" if self.head < 0 else f"cabeza {self.head}"
        note = f" {self.note}" if self.note else ""
        return (
            f"Atención cruzada, paso {self.step + 1} de {len(self.seen)}, {head}: entra "
            f"«{self.seen[self.step]}» y, para predecir «{self.predicted[self.step]}», "
            f"{looks(result, self.source_tokens)}.{note}"
        )
