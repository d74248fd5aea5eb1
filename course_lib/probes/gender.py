"""Preguntas al traductor: ¿a qué nombre atribuye *it*?

Las frases, en ``gender_pairs.tsv`` y ``gender_controls.tsv``, son del curso; ninguna está entre las
de su entrenamiento.
"""

from typing import NamedTuple

from course_lib.probes.alignment import read_table


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
