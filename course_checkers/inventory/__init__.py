"""El inventario de la atención: 24 conceptos, dos formas paralelas, y cada respuesta mala, la de un error con nombre.

Las preguntas están en ``items.toml``, en español y en inglés, y sus números, en cada forma, ``A`` y ``B``.
Las respuestas no se escriben: las calculan ``situations.py`` y los errores de las comprobaciones.
"""

import random
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_checkers.engine.case import Case
from course_checkers.engine.catalog import exercises, modules
from course_checkers.engine.lines import lines
from course_checkers.inventory import situations
from course_checkers.inventory.situations import table, vector

FORMS = "A", "B"
SALT = 2150  # con este, las buenas quedan repartidas entre los lugares
AND = {"es": " y ", "en": " and "}
VERSION = 1  # con otra, las respuestas de antes no se comparan


@dataclass(frozen=True)
class Item:
    """Una pregunta, ya dicha: sus respuestas, la buena y qué error es cada una de las malas."""

    concept: str
    form: str
    lesson: str
    question: str
    answers: tuple[str, ...]
    right: int
    mistakes: tuple[str, ...]  # de cada respuesta, «5.1 · máscara-después»; de la buena, nada


@cache
def concepts():
    """Lo que dice ``items.toml``: los conceptos, por orden, y las palabras de las respuestas."""
    found = tomllib.loads(Path(__file__).with_name("items.toml").read_text(encoding="utf-8"))
    return {name: one for name, one in found.items() if name != "palabras"}, found["palabras"]


def counted(number, mistake=None, what="output"):
    """La cuenta de una línea o de un ejercicio: la buena o la de quien comete un error, por su nombre.

    De un ejercicio, ``what`` dice si se quiere su salida o lo que calcula por el camino, como ``"weights"``.
    """
    for line in lines().values():
        if line.number == number:
            return line.right if mistake is None else next(way for m, way in line.wrong if m.id == mistake)
    every = (one for module in modules(number.split(".")[0]) for one in exercises(module))
    exercise = next(one for one in every if one.number == number)
    options = ((axis, option) for axis, ways in exercise.axes.items() for option in ways)
    choice = next(({a: o} for a, o in options if [m.id for m in o.mistakes] == [mistake]), {})
    if mistake and not choice:
        raise LookupError(f"El ejercicio {number} no sabe cometer «{mistake}».")

    def run(*arguments):
        return exercise.trace(choice, Case("inventario", arguments))[what]

    return run


@cache
def answer(concept, form, wrong=""):
    """Lo que sale de la cuenta de una pregunta; con ``wrong``, como ``"5.1 · máscara-después"``, a quien comete ese error."""
    number, _, mistake = wrong.partition(" · ")
    one = concepts()[0][concept]

    def use(asked, what="output"):
        return counted(asked, mistake if asked == number else None, what)

    if "cuenta" in one:
        return vector(use(one["cuenta"])(*map(table, one[form].values())))
    return getattr(situations, concept.replace("-", "_"))(use, **one[form])


@cache
def items(form, language="es"):
    """Las 24 preguntas de una forma, en un idioma: el orden de las respuestas es siempre el mismo."""
    return [item(concept, form, language) for concept in concepts()[0]]


def item(concept, form, language):
    found, words = concepts()
    one = found[concept]
    ways = ["", *one["malas"]]
    random.Random(f"{concept} {form} {SALT}").shuffle(ways)  # noqa: S311 (barajar no es cifrar)
    raw = [answer(concept, form, way) for way in ways]
    said = tuple(words.get(text, {}).get(language, text) for text in raw)
    shown = {name: spoken(value, language) for name, value in one[form].items()} | one[language].get(form, {})
    question = one[language]["pregunta"].format(**shown)
    return Item(concept, form, one["leccion"], question, said, ways.index(""), tuple(ways))


def spoken(value, language):
    """Un número, un vector o una tabla, como se lee en la pregunta."""
    if isinstance(value, dict):
        return "; ".join(f"{name}, {spoken(one, language)}" for name, one in value.items())
    if isinstance(value, list) and isinstance(value[0], list):
        *most, last = map(vector, value)
        return ", ".join(most) + AND[language] + last
    return vector(value) if isinstance(value, list) and not isinstance(value[0], str) else f"{value}".replace("-", "−")
