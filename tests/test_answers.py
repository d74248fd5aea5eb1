"""Las comprobaciones, con respuestas como las escribe la gente: ni una mala pasa, ni una buena falla,
ni se nombra un error que no está.

Cada día se comprueba una parte: hay de todos los ejercicios. Cada noche, todas.
"""

from collections import Counter

import corpus_table
import pytest
from answers import in_loops
from helpers_answers import ALL, EXERCISES, every_day, mistakes_of, report_of, verdict

EVERY_DAY = every_day()


def by_name(kind):
    found = [answer for answer in ALL if answer.kind == kind]
    return pytest.mark.parametrize("answer", [
        pytest.param(
            answer,
            id=f"{answer.exercise}-{answer.name}",
            marks=() if (answer.exercise, answer.name) in EVERY_DAY else pytest.mark.lenta,
        )
        for answer in found
    ])  # fmt: skip


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


@pytest.mark.parametrize("number", [
    pytest.param(one, marks=() if one in ("1.2", "12.1", "15.1") else pytest.mark.lenta)
    for one in in_loops.NAMES
])  # fmt: skip
def test_an_answer_in_loops_is_right_however_slow(number):
    report = EXERCISES[number].check(vars(in_loops)[in_loops.NAMES[number]])
    assert report.ok, str(report)


def test_there_is_an_answer_in_loops_of_every_function():
    assert EXERCISES.keys() - in_loops.NAMES.keys() == {"7.1"}  # que es un texto


def test_names_are_not_repeated():
    repeated = Counter((answer.exercise, answer.name) for answer in ALL)
    assert [name for name, times in repeated.items() if times > 1] == []


def test_the_corpus_is_large_and_each_day_has_something_of_everything():
    of_today = [answer for answer in ALL if (answer.exercise, answer.name) in EVERY_DAY]
    kinds = ("buena", "mala", "rara")
    everything = {(number, kind) for number in EXERCISES for kind in kinds}
    assert {(answer.exercise, answer.kind) for answer in of_today} == everything
    assert [sum(answer.kind == kind for answer in ALL) >= 250 for kind in kinds] == [True] * 3


def test_the_table_of_the_corpus_has_todays_answers():
    """Si cambia, se escribe de nuevo con: python tests/corpus_table.py."""
    assert corpus_table.written(slow=False) == corpus_table.table(slow=False)


@pytest.mark.lenta
@pytest.mark.parametrize("number", EXERCISES)
def test_what_the_table_says_of_each_check_is_todays(number):
    [row] = [row for row in corpus_table.written() if row[0].startswith(f"{number} ")]
    assert row == corpus_table.row(number)


def test_the_last_row_of_the_table_adds_the_others():
    *rows, totals = corpus_table.written()
    assert totals == corpus_table.totals(rows)


def test_the_readme_gives_the_totals_of_the_table():
    _, good, bad, ordinary, *_ = corpus_table.written()[-1]
    text = (corpus_table.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"con {int(good) + int(bad)} respuestas" in text
    assert f"acepta {ordinary} de las malas" in text
