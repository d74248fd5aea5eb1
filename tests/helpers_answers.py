"""El corpus de respuestas, y lo que de cada una dice su comprobación."""

import importlib
import pkgutil
from collections import Counter

import answers

from course_checkers.engine import catalog

for module in pkgutil.iter_modules(answers.__path__):
    importlib.import_module(f"answers.{module.name}")

ALL = answers.ANSWERS
CHECKED = {}


EXERCISES = {
    exercise.number: exercise for module in catalog.modules() for exercise in catalog.exercises(module)
}


def every_day():
    """Las de cada día: de cada ejercicio y clase, la primera y, de las demás, una de cada veinticinco."""
    seen, chosen = Counter(), set()
    for answer in ALL:
        kind = answer.exercise, answer.kind
        if seen[kind] % 25 == 0:
            chosen.add((answer.exercise, answer.name))
        seen[kind] += 1
    return chosen


def mistakes_of(exercise):
    """Los identificadores de los errores que sabe nombrar una comprobación."""
    return set(exercise.mistake_ids())


def report_of(answer):
    """El informe de una respuesta; se calcula una vez."""
    key = answer.exercise, answer.name
    if key not in CHECKED:
        CHECKED[key] = EXERCISES[answer.exercise].check(answer.code)
    return CHECKED[key]


def verdict(answer):
    """Cómo ha ido: pasa, exacto, en parte, sin nombre, o un nombre que no es."""
    report = report_of(answer)
    if report.ok or report.unsolved:
        return "pasa"
    named = {finding.id for finding in report.findings}
    known = named & mistakes_of(EXERCISES[answer.exercise])
    if known - set(answer.expected):
        return "nombre falso"
    if named >= set(answer.expected):
        return "exacto"
    return "en parte" if known else "sin nombre"
