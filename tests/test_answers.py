"""Las comprobaciones, con respuestas como las escribe la gente: ni una mala pasa, ni una buena falla,
ni se nombra un error que no está.

    python tests/test_answers.py    escribe la tabla del README
"""

import functools
import importlib
import pkgutil
from collections import Counter
from pathlib import Path

import answers
import pytest
import torch

from course_lib.checkers.engine import progress
from course_lib.checkers.engine.comparing import clone, same

for module in pkgutil.iter_modules(answers.__path__):
    importlib.import_module(f"answers.{module.name}")

ROOT = Path(__file__).resolve().parents[1]
ALL = answers.ANSWERS
CHECKED = {}


def exercises():
    for module in progress.modules():
        yield from ((exercise.number, exercise) for exercise in getattr(module, "EXERCISES", ()))


EXERCISES = dict(exercises())


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


def by_name(kind):
    chosen = [answer for answer in ALL if answer.kind == kind]
    return pytest.mark.parametrize(
        "answer", chosen, ids=[f"{answer.exercise}-{answer.name}" for answer in chosen]
    )


@by_name("buena")
def test_a_right_answer_passes(answer):
    report = report_of(answer)
    assert report.ok, str(report)


@by_name("mala")
def test_a_wrong_answer_is_named(answer):
    assert verdict(answer) == "exacto", str(report_of(answer))


@by_name("rara")
def test_an_odd_answer_gets_no_name(answer):
    report = report_of(answer)
    assert not report.ok
    assert not report.unsolved
    assert not {finding.id for finding in report.findings} & mistakes_of(EXERCISES[answer.exercise])
    assert all(finding.text for finding in report.findings)


def test_names_are_not_repeated():
    repeated = Counter((answer.exercise, answer.name) for answer in ALL)
    assert [name for name, times in repeated.items() if times > 1] == []


# --- La tabla del README --------------------------------------------------------------------------


def einsum_output(equation):
    """Lo que da una ecuación con dos tensores, o ``None`` si no se puede calcular."""
    query, key = torch.randn(2, 3, 4, 5), torch.randn(2, 6, 4, 5)
    try:
        return torch.einsum(equation, query.clone(), key), torch.einsum(
            "bqhd,bkhd->bhqk", query, key
        )
    except (RuntimeError, TypeError, ValueError):
        return None


def outputs(answer, cases=None):
    """El ejercicio y lo que da el código en cada prueba; ``None`` si en alguna se para."""
    exercise = EXERCISES[answer.exercise]
    if hasattr(exercise, "candidates"):  # una clase: primero se le copian los pesos
        found = exercise.candidates(answer.code)
        if not isinstance(found, tuple):
            return None
        exercise = exercise.bound(answer.code, found[1][0], found[0])
    seen = {}
    for case in exercise.all_cases()[:cases]:
        outcome = exercise.call(answer.code, *clone(case.arguments))
        value, problem = (None, True) if outcome.problem else exercise.read(outcome.value, case)
        if problem:
            return None
        seen[case] = exercise.main(value, case)
    return exercise, seen


def ordinary_check(answer):
    """Si la acepta una comprobación corriente: un ejemplo y `allclose`, en la primera prueba."""
    if answer.exercise == "7.1":
        found = einsum_output(answer.code)
        return found is not None and same(*found)
    found = outputs(answer, cases=1)
    return found is not None and all(found[0].agrees({}, c, v) for c, v in found[1].items())


def property_check(answer):
    """Si la acepta una comprobación que solo mira propiedades: formas, sumas, fugas…"""
    if answer.exercise == "7.1":
        found = einsum_output(answer.code)
        return found is not None and found[0].shape == found[1].shape
    found = outputs(answer)
    return found is not None and not list(found[0].properties(answer.code, found[1]))


@functools.cache
def table():
    """Las filas de la tabla: ejercicio, malas, las que acepta cada forma de comprobar, y los nombres."""
    rows = []
    for number, exercise in sorted(EXERCISES.items(), key=lambda item: float(item[0])):
        bad = [a for a in ALL if a.exercise == number and a.kind != "buena"]
        good = sum(a.exercise == number and a.kind == "buena" for a in ALL)
        ordinary, by_property = (sum(map(f, bad)) for f in (ordinary_check, property_check))
        verdicts = Counter(map(verdict, bad))
        rows.append(
            [f"{number} {exercise.title}", good, len(bad), ordinary, by_property, verdicts["pasa"]]
            + [sum(a.kind == "mala" and verdict(a) == v for a in bad) for v in NAMED]
            + [sum(a.kind == "rara" for a in bad), verdicts["nombre falso"]]
        )
    totals = ["**Todos**", *(sum(column) for column in list(zip(*rows))[1:])]
    return [*rows, totals]


NAMED = ("exacto", "en parte", "sin nombre")


def written(rows):
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


def test_the_corpus_is_large_and_the_bars_are_held():
    *_, (_, good, bad, _, _, accepted, exact, _, _, odd, false) = table()
    assert good >= 40
    assert bad >= 200
    assert accepted == 0
    assert false == 0
    assert exact >= 0.95 * (bad - odd)


def test_the_table_of_the_readme_is_todays():
    """Si cambia, se escribe de nuevo con: python tests/test_answers.py."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [row for row in written(table()) if row not in text] == []


if __name__ == "__main__":
    print("\n".join(written(table())))
