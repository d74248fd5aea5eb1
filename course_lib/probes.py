"""Preguntas al traductor: ¿adónde mira?, ¿a qué nombre atribuye *it*?, ¿qué pasa si le quito una cabeza?

Las frases son del curso, escritas y alineadas a mano; ninguna está entre las de su entrenamiento.
"""

from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path

import torch

FOLDER = Path(__file__).parent / "translator_model"

Aligned = namedtuple("Aligned", "english spanish gold")
Aligned.__doc__ = """Una pareja alineada: ``gold[i]`` es el conjunto de palabras inglesas admisibles
para la palabra española i (números de orden, desde 0)."""

Gendered = namedtuple("Gendered", "english noun gender masculine feminine")
Gendered.__doc__ = """Una frase con *it* y el adjetivo que, en español, lleva el género del nombre al
que remite: ``gender`` es «m» o «f», y las dos formas son las del adjetivo."""


def aligned_pairs():
    """Las 72 parejas alineadas a mano: la primera mitad, para elegir; la segunda, para la nota."""
    pairs = []
    for english, spanish, links in _rows("aligned.tsv"):
        gold = [set(map(int, link.split(":")[1].split(","))) for link in links.split()]
        pairs.append(Aligned(english, spanish, gold))
    return pairs


def gender_pairs():
    """Parejas de frases iguales salvo el adjetivo, que decide a cuál de dos nombres remite *it*.

    Los dos nombres tienen en español distinto género: el del adjetivo enseña la elección.

    Returns:
        Lista de pares de ``Gendered``: en la primera *it* es el nombre más lejano.
    """
    rows = [Gendered(*row) for row in _rows("gender_pairs.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


def gender_controls():
    """Parejas de frases iguales salvo el nombre al que remite *it*: masculino y femenino."""
    rows = [Gendered(*row) for row in _rows("gender_controls.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


def _rows(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def alignment_hits(translation, gold, weights):
    """De cuántas palabras es admisible la palabra de origen más mirada.

    Args:
        translation: una ``Translation``.
        gold: las admisibles de cada palabra escrita.
        weights: una matriz cruzada ``(m_D, m_E)`` suya: una cabeza, o una media.

    Returns:
        ``(aciertos, palabras)``. Los signos y la marca de fin no cuentan.

    Raises:
        ValueError: si no hay tantas palabras como dice ``gold``.
    """
    table = translation.to_words(weights)
    if len(table) != len(gold):
        raise ValueError(
            f"alignment_hits: la traducción tiene {len(table)} palabras y gold {len(gold)}: "
            f"{translation.text!r}."
        )
    best = table.argmax(dim=-1).tolist()
    return sum(j in admissible for j, admissible in zip(best, gold)), len(gold)


def alignment_accuracy(translator, pairs):
    """Fracción de palabras bien alineadas, en cada capa y cada cabeza del decoder y en su media.

    El decoder lee la traducción de referencia (teacher forcing).

    Args:
        translator: un ``Translator``.
        pairs: lista de ``Aligned``.

    Returns:
        ``(capas, h + 1)``: la última columna es la media de las cabezas de la capa.
    """
    right, total = 0, 0
    for pair in pairs:
        found = translator.align(pair.english, pair.spanish)
        cross = found.cross_attention  # (capas, h, m_D, m_E)
        tables = torch.cat([cross, cross.mean(dim=1, keepdim=True)], dim=1)
        hits = [[alignment_hits(found, pair.gold, table)[0] for table in layer] for layer in tables]
        right = right + torch.tensor(hits)
        total += len(pair.gold)
    return right / total


def chosen_gender(translation, example):
    """Qué género lleva el adjetivo en una traducción: «m», «f» o, si no está, ``None``."""
    words = [word.lower() for word, _ in translation.target_words]
    found = {"m": example.masculine in words, "f": example.feminine in words}
    chosen = [gender for gender, present in found.items() if present]
    return chosen[0] if len(chosen) == 1 else None


@contextmanager
def without_heads(*silenced):
    """Apaga unas cabezas mientras dura el bloque ``with``: lo que aportan pasa a ser 0.

    Args:
        silenced: pares ``(atención, cabeza)``: un ``MultiHeadAttention`` y un número desde 0.
    """
    saved = [
        (attention, attention.output_projection.weight.detach().clone())
        for attention, _ in silenced
    ]
    try:
        with torch.no_grad():
            for attention, head in silenced:
                # W_O junta las cabezas: estas columnas son las que leen la que se apaga.
                columns = slice(head * attention.dim_key, (head + 1) * attention.dim_key)
                attention.output_projection.weight[:, columns] = 0.0
        yield
    finally:
        with torch.no_grad():
            for attention, weight in reversed(saved):
                attention.output_projection.weight.copy_(weight)
