"""Lo que se parece más de lo que da el azar: en parecidas.txt, 40 respuestas honestas a cada ejercicio y 20 copias."""

import re
from argparse import Namespace
from pathlib import Path

import pytest

from aula.calificar import marks, pages, submissions
from aula.calificar.text import SAYS
from course_checkers.engine.properties import BORROWED, is_borrowed
from course_tools import alike, homework

BANK = Path(__file__).with_name("parecidas.txt")
PART = r"(?ms)^=== ([\d.]+) · (\w+)(?: de (\d+))?\n(.*?)(?=^=== |\Z)"
PARTS = re.findall(PART, BANK.read_text(encoding="utf-8"))
COPIES = sorted({(who, of) for _, who, of, _ in PARTS if of}, key=lambda one: int(one[0][1:]))
CODES = {(number, who): code for number, who, _, code in PARTS}
NUMBERS = "1.1", "5.1", "6.2"
HONEST = {str(k): {n: CODES[n, str(k)] for n in NUMBERS} for k in range(1, 41)}


def room(codes):
    """Una clase, con lo que da el curso: persona → ejercicio → código."""
    given = {n: {who: own[n] for who, own in codes.items() if n in own} for n in NUMBERS}
    return {n: alike.Room(answers, *submissions.written(n)[1:]) for n, answers in given.items()}


def test_of_forty_honest_answers_that_resemble_each_other_at_most_two_pairs_are_shown():
    assert len(list(alike.pairs(rooms := room(HONEST)))) <= 2
    assert [found for one in rooms.values() for found in alike.written(one)] == []


@pytest.mark.parametrize("k", range(4))
def test_every_disguised_copy_is_found_in_a_class_of_forty(k):
    """Copian cinco de los 40; en lo que no copian, entregan lo de alguien honesto, que no está."""
    mine, codes = COPIES[k::4], dict(HONEST)
    for who, place in zip(dict(mine), [one for one in HONEST if one not in dict(mine).values()][::7]):
        codes[who] = codes.pop(place) | {n: CODES[n, who] for n in NUMBERS if (n, who) in CODES}
    assert {frozenset(pair) for pair, _ in alike.pairs(room(codes))} == {frozenset(one) for one in mine}


def test_what_is_told_is_for_who_grades_and_says_of_whom_and_what():
    """Una copia, lo ya hecho, lo de la biblioteca, y código roto u hostil, que no tumba nada."""
    name, cells, sources = submissions.written("5.1")
    library = "from course_lib import scaled_dot_product_attention as my_attention"
    torch = "def my_attention(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)"
    odd = ["(" * 3000, "a = " * 1500 + "1", "'''", "!ls\n%%time\nx = [", "\x00\ud800", "def f(:\n  return"]
    codes = [CODES["5.1", "39"], CODES["5.1", "39"].replace("trozos", "t"), library, torch, *odd]
    one = {"exercise": "5.1", "unsolved": False}
    given = [one | {"answer": code, "borrowed": ["usas algo"] * (k == 5)} for k, code in enumerate(codes)]
    people = [{"name": f"P{k}", "lessons": {"05": {"exercises": [one]}}} for k, one in enumerate(given)]
    alike.tell(people, submissions.written, SAYS["parecidos"])
    assert people[0]["alike"][0].startswith(SAYS["parecidos"]["igual"].format("el 5.1", "P1"))
    assert people[2]["alike"] == ["el 5.1 no está escrito: es «scaled_dot_product_attention», o solo la llama"]
    assert "F.scaled_dot_product_attention" in people[3]["alike"][0]
    assert people[5]["alike"] == ["el 5.1, según dice su página: usas algo"]
    assert not any(person["alike"] for person in people[6:])
    copied = sources["scaled_dot_product_attention, de course_lib"].replace("scaled", "s")
    rooms = alike.Room({"Ana": copied} | {who: own["5.1"] for who, own in HONEST.items()}, cells, sources)
    assert ("Ana", "scaled_dot_product_attention, de course_lib") in alike.written(rooms)
    assert is_borrowed(BORROWED.format("f")) and not is_borrowed("hay pruebas que no caben")


def test_it_is_in_the_marks_and_in_no_page(tmp_path):
    person = {"name": "Ana", "label": "", "told": ["una"], "alike": ["otra"], "lessons": {}, "marks": {}}
    marks.write([person], path := tmp_path / "notas.csv", Namespace(homework=homework.Homework({}), sin_arrastre=False))
    assert "una; otra" in path.read_text(encoding="utf-8-sig")
    assert "una" in pages.feedback(person) and "otra" not in pages.feedback(person).partition("</style>")[2]
    assert not [one for one in pages.HERE.glob("*.html") if "alike" in one.read_text(encoding="utf-8")]
