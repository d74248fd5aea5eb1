"""Frases para interrogar a un BERT. Están en ``sentences_en.json`` y en ``sentences_es.json``.

Las parejas y las frases se escribieron antes de medir nada con ellas, y no se han retocado. De los
adjetivos de ``neutral`` están todos los que se probaron, salgan como salgan. Hay unas en inglés y
otras, menos, en español: ``load_probes`` elige según el vocabulario del modelo. Las españolas no
se han medido: hace falta un BERT en español. En ellas el sujeto no se dice, y se mira la fila del
verbo; y los dos sustantivos de una pareja son masculinos, para que el género del adjetivo no delate
a quién se refiere.

Fuente de la idea, dos frases que solo se distinguen en una palabra: los esquemas de Winograd
(Levesque et al., 2012).
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from course_lib.bert import load_bert


class Pair(NamedTuple):
    """Dos sustantivos, el verbo que los une y un adjetivo para cada uno."""

    first: str
    second: str
    active: str
    passive: str
    first_adjective: str
    second_adjective: str


@dataclass(frozen=True)
class Probes:
    """Las frases de un idioma, como están en su archivo; las parejas, con sus nombres."""

    language: str
    forms: dict  # de cada forma, su plantilla y la palabra cuya fila se mira
    living: list  # parejas de un ser vivo y una cosa, cada uno con un adjetivo suyo
    things: list  # lo mismo, con dos cosas
    both_living: list  # y con dos seres vivos
    neutral: list  # parejas de adjetivos que valen para un ser vivo y para una cosa
    varied: list  # frases sueltas
    senses: dict  # de cada palabra con dos sentidos, las frases de uno y las del otro
    topics: dict  # de cada palabra con un solo sentido, las frases de dos temas

    def query(self, form="active"):
        """La palabra cuya fila se mira en esa forma: el pronombre o lo que haga sus veces."""
        return self._form(form)[1]

    def sentence(self, pair, adjective, form="active"):
        """Escribe la frase de una pareja, con el adjetivo que se quiera.

        Args:
            pair: un ``Pair``.
            adjective: cómo acaba la frase; una sola palabra.
            form: una de ``forms``, o ``"shuffled"``: las palabras de ``"active"``, barajadas. El
                orden depende de la pareja y no del adjetivo.

        Raises:
            ValueError: si la forma no existe.
        """
        words = self._form(form)[0].format(adjective=adjective, **pair._asdict()).split()
        if form == "shuffled":
            random.Random(f"{pair.first} {pair.second}").shuffle(words)
        return " ".join(words)

    def _form(self, form):
        if form not in self.forms and form != "shuffled":
            options = ", ".join([*self.forms, "shuffled"])
            raise ValueError(f"No hay ninguna forma {form!r}. Las que hay: {options}.")
        return self.forms["active" if form == "shuffled" else form]


def _read(language):
    path = Path(__file__).with_name(f"sentences_{language}.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    for name in ("living", "things", "both_living"):
        data[name] = [Pair(*row) for row in data[name]]
    return Probes(language, **data)


PROBES = {language: _read(language) for language in ("en", "es")}


def load_probes(language=None):
    """Las frases en el idioma del modelo cargado.

    Args:
        language: ``"en"`` o ``"es"``. Si falta, aquel cuyos sustantivos conozca mejor, enteros,
            el vocabulario de ``load_bert()``.

    Raises:
        ValueError: si no hay frases en ese idioma.
    """
    if language is None:
        split = load_bert().plain_tokenizer.tokenize
        shares = {
            name: sum(split(one.second) == [one.second] for one in probes.living) / len(probes.living)
            for name, probes in PROBES.items()
        }
        language = max(shares, key=shares.get)
    if language not in PROBES:
        raise ValueError(f"load_probes: language = {language!r}, y hay: {', '.join(PROBES)}.")
    return PROBES[language]
