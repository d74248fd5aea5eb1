"""Una clase de mentira: cuadernos entregados, hechos con las lecciones y con el corpus de respuestas.

Cada respuesta del corpus lleva los errores que hay que nombrar: de ahí se sabe, sin calificar, qué
nota y qué errores tienen que salir.
"""

import base64
import functools
import json
import random
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import answers
import helpers_answers

from aula.calificar import submissions
from course_checkers.engine import questions
from course_tools.cells import exercise

ROOT = Path(__file__).resolve().parents[1]

# Pone el corpus entero, con sus módulos, dentro de una celda: la jaula no ve la carpeta de las pruebas.
WITH_CORPUS = """import base64, importlib.abc, importlib.util, json, sys, types, zlib
MODULES = json.loads(zlib.decompress(base64.b85decode({modules!r})))
class Corpus(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path, target=None):
        if name in MODULES:
            return importlib.util.spec_from_loader(name, self, is_package=name == "answers")
    def is_package(self, name):
        return name == "answers"
    def get_source(self, name):
        return MODULES[name]
sys.meta_path.insert(0, Corpus())
for module in MODULES:
    importlib.import_module(module)
{name} = next(one.code for one in sys.modules["answers"].ANSWERS
              if (one.exercise, one.name) == ({exercise!r}, {answer!r}))"""


class Given(NamedTuple):
    """Lo que una persona entrega en un ejercicio, y lo que tiene que salir."""

    code: str
    right: bool
    mistakes: tuple  # los errores que hay que nombrar
    done: bool = True


def cell(source, **metadata):
    return {"cell_type": "code", "id": f"c{abs(hash(source)) % 10**9}", "metadata": metadata,
            "outputs": [], "execution_count": None, "source": source}  # fmt: skip


def notebook(*sources):
    """Un cuaderno con estas celdas."""
    cells = [source if isinstance(source, dict) else cell(source) for source in sources]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


@functools.cache
def lesson_cells(number):
    """Las celdas de código de una lección, sin sus salidas."""
    path = ROOT / "notebooks" / f"{submissions.lessons()[number].name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell("".join(one["source"]), **one["metadata"]) for one in cells if one["cell_type"] == "code"]


def submitted(number, codes):
    """La lección, con estas respuestas en sus huecos: ejercicio → código."""
    made = []
    for one in lesson_cells(number):
        kind, number = exercise(one["source"]) or ("", "")
        if kind == "Ejercicio" and number in codes:
            one = one | {"source": f"# Ejercicio {number}\n{codes[number]}"}
        made.append(one)
    return notebook(*made)


@functools.cache
def sources():
    """El texto de los módulos del corpus."""
    folder = Path(answers.__file__).parent
    found = {f"answers.{p.stem}": p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))}
    return {"answers": found.pop("answers.__init__"), **found}


@functools.cache
def modules_of(exercise):
    """Los módulos del corpus que hacen falta para las respuestas de un ejercicio."""
    known = sources()
    chosen = [name for name, text in known.items() if f'"{exercise}"' in text]
    for name in chosen:  # crece mientras se recorre
        for found in re.findall(r"from answers\.(\w+) import|from answers import (\w+)", known[name]):
            for one in (f"answers.{part}" for part in found):
                if one in known and one not in chosen:
                    chosen.append(one)
    return {"answers": known["answers"]} | {n: t for n, t in known.items() if n in chosen}


def from_corpus(answer, name):
    """Una respuesta del corpus, como se entrega."""
    packed = base64.b85encode(zlib.compress(json.dumps(modules_of(answer.exercise)).encode()))
    code = WITH_CORPUS.format(modules=packed.decode(), name=name, exercise=answer.exercise, answer=answer.name)
    return Given(code, answer.kind == "buena", answer.expected)


def from_question(number, name, chance):
    """Una respuesta a una pregunta: la buena, una mala conocida o, a veces, ninguna."""
    question = questions.questions(number.split(".")[0])[number]
    wrong = list(question.wrong)
    kind = chance.choice(["buena", "buena", "mala", "mala", "nada"])
    if kind == "nada":
        return Given(f"{name} = ...", False, (), done=False)
    if kind == "buena" or not wrong:
        return Given(f"{name} = {question.right!r}", True, ())
    chosen = chance.choice(wrong)
    value = questions.tidy(chosen.value())
    if question.check(value).ok:  # la mala, redondeada, coincide con la buena
        return Given(f"{name} = {question.right!r}", True, ())
    first = next(one for one in wrong if question.equal(value, questions.tidy(one.value())))
    return Given(f"{name} = {value!r}", False, (first.mistake.id,))


def draw(many, lessons, seed=40):
    """Una clase al azar: de cada persona, lección → ejercicio → lo que entrega."""
    chance = random.Random(seed)
    pool = {}
    for one in helpers_answers.ALL:
        pool.setdefault(one.exercise, {}).setdefault(one.kind, []).append(one)
    people = []
    for _ in range(many):
        given = {}
        for number in lessons:
            for exercise, name in submissions.lessons()[number].answers.items():
                if exercise not in pool:
                    chosen = from_question(exercise, name, chance)
                elif (kind := chance.choices(["buena", "mala", "rara", "nada"], [7, 10, 2, 1])[0]) == "nada":
                    chosen = None  # el hueco, como estaba
                else:
                    chosen = from_corpus(chance.choice(pool[exercise][kind]), name)
                given.setdefault(number, {})[exercise] = chosen
        people.append(given)
    return people


def write_class(folder, people):
    """Escribe las entregas de una clase: una carpeta por persona."""
    for k, lessons in enumerate(people, 1):
        for number, given in lessons.items():
            place = folder / f"Persona {k:02}"
            place.mkdir(parents=True, exist_ok=True)
            codes = {exercise: one.code for exercise, one in given.items() if one}
            path = place / f"{submissions.lessons()[number].name}.ipynb"
            path.write_text(json.dumps(submitted(number, codes)), encoding="utf-8")


def solved(number):
    """Las soluciones de una lección, como entrega: sus respuestas se calculan en la jaula."""
    lesson = submissions.lessons()[number]
    path = ROOT / "notebooks/soluciones" / f"{lesson.name}.ipynb"
    cells, pending = [], dict(lesson.answers)
    for one in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if one["cell_type"] != "code":
            continue
        source = "".join(one["source"])
        for match in re.finditer(r'^check_answer\("([\d.]+)", (.+)\)$', source, re.MULTILINE):
            if name := pending.pop(match[1], None):
                source += f"\n{name} = {match[2]}"
        cells.append(re.sub(r"^check_\w+\(.*\)$", "", source, flags=re.MULTILINE))
    return notebook(*cells, *lesson.checks.values())
