"""Preguntas al traductor: ¿adónde mira cada palabra que escribe?, ¿a qué nombre atribuye *it*?

Las frases, en ``aligned.tsv``, ``gender_pairs.tsv`` y ``gender_controls.tsv``, son del curso, escritas y
alineadas a mano; ninguna está entre las de su entrenamiento.
"""

from pathlib import Path
from typing import NamedTuple

import torch


class Aligned(NamedTuple):
    """Una pareja de frases alineada a mano.

    ``gold[i]`` es el conjunto de palabras inglesas admisibles para la palabra española i
    (números de orden, desde 0).
    """

    english: str
    spanish: str
    gold: list


def read_table(name):
    """Las filas de un archivo ``.tsv`` de esta carpeta: de cada una, la lista de sus textos."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def aligned_pairs():
    """Las 72 parejas alineadas a mano: la primera mitad, para elegir; la segunda, para la nota."""
    pairs = []
    for english, spanish, links in read_table("aligned.tsv"):
        gold = [set(map(int, link.split(":")[1].split(","))) for link in links.split()]
        pairs.append(Aligned(english, spanish, gold))
    return pairs


def alignment_hits(translation, gold, weights):
    """De cuántas palabras es admisible la palabra de origen más mirada.

    Args:
        translation: una ``Translation``.
        gold: las admisibles de cada palabra escrita.
        weights: una matriz cruzada ``(m_D, m_E)`` suya: una cabeza, o una media.

    Returns:
        ``(aciertos, palabras)``. Los signos y la marca de fin no cuentan.

    Raises:
        ValueError: si no hay tantas palabras como dice el alineamiento.
    """
    table = translation.to_words(weights)
    if len(table) != len(gold):
        raise ValueError(
            f"alignment_hits: la traducción tiene {len(table)} palabras y el alineamiento, {len(gold)}: "
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


class Gendered(NamedTuple):
    """Una frase con *it*, y el adjetivo que en español lleva el género del nombre al que remite.

    ``gender`` es «m» o «f»; ``masculine`` y ``feminine``, las dos formas del adjetivo.
    """

    english: str
    noun: str
    gender: str
    masculine: str
    feminine: str


def gender_pairs():
    """Parejas de frases iguales salvo el adjetivo, que decide a cuál de dos nombres remite *it*.

    Los dos nombres tienen en español distinto género: el del adjetivo enseña la elección.

    Returns:
        Lista de pares de ``Gendered``: en la primera *it* es el nombre más lejano.
    """
    return _in_pairs("gender_pairs.tsv")


def gender_controls():
    """Parejas de frases iguales salvo el nombre al que remite *it*: masculino y femenino."""
    return _in_pairs("gender_controls.tsv")


def _in_pairs(name):
    rows = [Gendered(*row) for row in read_table(name)]
    return list(zip(rows[0::2], rows[1::2]))


def chosen_gender(translation, example):
    """Qué género lleva el adjetivo en una traducción: «m», «f» o, si no está, ``None``."""
    words = [word.lower() for word, _ in translation.target_words]
    masculine, feminine = (form in words for form in (example.masculine, example.feminine))
    return None if masculine == feminine else "m" if masculine else "f"
