"""Lo que se vuelve a preguntar: el banco, cuáles tocan, lo que se apunta y que lo fallado vuelve, también en la página."""

import json
from collections import Counter

import pytest
from helpers_browser import PHONE, ROOT, write
from helpers_explorers import CUT, SHOW
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect
from test_prediction import well_asked
from test_serie import computes
from tools import notebooks, way

from course_checkers import Questions
from course_checkers.engine import asking
from course_tools.opening import progress

BANK = asking.bank()
LESSONS = [f"{lesson:02}" for lesson in range(17)]
each = pytest.mark.parametrize("name", BANK)
each_lesson = pytest.mark.parametrize("lesson", LESSONS)


def wrong(name):
    return next(say for say, *why in BANK[name]["answers"] if why)


# --- El banco -------------------------------------------------------------------------------------


@each
def test_each_is_whole_and_something_computes_it(name):
    asked = BANK[name]
    well_asked(asked, 3)
    assert len(asked["question"].split()) <= 45, "se lee en diez segundos"
    where, what = asked["shown"].split(" · ")
    if where.endswith(".py"):
        assert f"def {what}(" in (ROOT / where).read_text(encoding="utf-8")
    else:
        assert [computes(cell) for cell in notebooks.lesson(where).cells if cell.id == what] == [True]


def test_there_are_enough_and_no_more():
    count = Counter(name[:2] for name in BANK)
    assert [*count] == LESSONS and min(count.values()) >= asking.MANY and len(BANK) <= 90
    places = Counter([len(one) for one in asked["answers"]].index(1) for asked in BANK.values())
    assert max(places.values()) <= sum(places.values()) / 2


@each_lesson
def test_each_lesson_opens_with_earlier_ones_and_closes_with_its_own(lesson):
    codes = [cell.source for cell in way.code_cells(way.part(notebooks.lesson(lesson), way.WAY))]
    asked = [code for code in codes if code.startswith("Questions(")]
    opens = [f'Questions("{lesson}")'] * (lesson != "00")
    assert asked == [*opens, f'Questions("{lesson}", closing=True)']


# --- Cuáles tocan ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", LESSONS[1:])
def test_without_anything_noted_they_are_of_different_earlier_lessons(lesson):
    found = asking.opening(lesson, {})
    assert len(set(found)) == asking.MANY and len({name[:2] for name in found}) == min(asking.MANY, int(lesson))
    assert max(found) < lesson and (found[0] not in asking.closing_of(found[0][:2]) or lesson == "12")  # la 11 tiene tres


def test_what_was_just_asked_is_not_asked_again():
    last = {}
    for here in range(17):
        opened = asking.opening(f"{here:02}", {})
        for name in [*opened, *asking.closing_of(f"{here:02}")]:
            again = here - last.get(name, -9)
            assert again > 1 or name in ("00.a", "11.a"), (name, here)  # ni la 00 ni la 11 tienen más que dar
            last[name] = here


def note(right, lesson, date="2026-01-01"):
    return {"said": "x", "right": right, "date": date, "lesson": lesson}


def test_what_was_missed_comes_back_until_it_is_right():
    [first, second, *_] = BANK
    noted = {second: note(False, "01", "2026-01-02"), first: note(False, "02", "2026-01-03")}
    assert asking.opening("05", noted)[:2] == [second, first]
    noted[second] = note(True, "05")
    assert asking.opening("05", noted)[:2] == [second, first]  # la celda, otra vez: las mismas
    assert second not in asking.opening("06", noted) or second in asking.opening("06", {})
    assert asking.opening("06", noted)[0] == first


def test_each_answer_is_noted_and_a_mistake_mended_there_still_comes_back(kept):
    asked = Questions("03")
    name = asked.asked[0]["name"]
    asked.said = {name: wrong(name)}
    asked.said = {name: asking.right(name)}
    found = progress.load()["asked"][name]
    assert (found["said"], found["right"], found["lesson"]) == (asking.right(name), False, "03")
    assert Questions("03").said == {name: asking.right(name)}
    assert Questions("09").asked[0]["name"] == name
    later = Questions("09")
    later.said = {name: asking.right(name)}
    assert progress.load()["asked"][name]["right"] is True


@pytest.mark.parametrize("noted", [
    {"exercises": {}, "predictions": {}}, {"5.1": "2025-01-01"}, {"asked": {"00.a": {"said": 3}, "99.z": {"right": False}}},
    {"asked": {"00.a": {"right": False, "lesson": "01"}}},
])  # fmt: skip
def test_a_file_of_before_or_a_strange_one_asks_as_ever(kept, noted):
    kept.write_text(json.dumps(noted), encoding="utf-8")
    asked = Questions("03")
    assert (len(asked.asked), asked.said) == (3, {})


@pytest.mark.parametrize("lesson", ["00", "99x", "", 3, None])
def test_a_lesson_that_asks_nothing_is_said(lesson):
    with pytest.raises(ValueError, match=r"No hay preguntas para la lección .* Escribe su número entre comillas"):
        Questions(lesson)


def test_a_place_that_cannot_be_written_is_said(kept, monkeypatch):
    monkeypatch.setenv("CURSO_PROGRESO", str(kept / "no" / "progreso.json"))
    asked = Questions("03")
    asked.said = {(name := asked.asked[0]["name"]): wrong(name), "<b>": "x"}
    assert asked.note.startswith("No se ha apuntado: no se puede escribir no/progreso.json.") and [*asked.said] == [name]


# --- En la página ---------------------------------------------------------------------------------


DRAWN = """async ([esm, asked, lesson, noted]) => {
    const text = new Blob([esm], {type: 'text/javascript'});
    const {drawn} = await import(URL.createObjectURL(text));
    return drawn(asked, lesson, noted).map(one => one.name);
}"""


@pytest.mark.navegador
def test_with_no_kernel_it_answers_keeps_and_brings_back_what_was_missed(browser):
    page = browser.new_page(viewport=PHONE)
    page.route("http://curso.test/", lambda route: route.fulfill(body="<html></html>", content_type="text/html"))
    page.goto("http://curso.test/")
    memory = "http://curso.test/_static/progreso.js"
    page.route(memory, lambda route: route.fulfill(path=ROOT / "sitio/web/progreso.js"))
    page.evaluate("globalThis.course = {syllabus: {}}")
    page.add_script_tag(url=memory)
    states = [Questions("03").get_state(), Questions("05").get_state()]
    page.evaluate(SHOW, states)
    assert page.evaluate(CUT) == []
    first = page.locator(".exp-questions").first
    name = states[0]["asked"][0]["name"]
    first.get_by_label(wrong(name), exact=True).first.check()
    told = next(one["told"] for one in states[0]["asked"][0]["answers"] if one["say"] == wrong(name))
    expect(first.locator("fieldset .exp-say").first).to_have_text(told)
    for one, box in zip(states[0]["asked"], first.locator("fieldset").all()):
        box.get_by_label(asking.right(one["name"]), exact=True).check()
    expect(first.locator(".exp-say").last).to_have_text("2 de 3 a la primera. Lo que has fallado vuelve en otra lección.")
    noted = page.evaluate("() => course.progress.load().asked")
    found = page.evaluate(DRAWN, [states[1]["_esm"], states[1]["asked"], "05", noted])
    assert found[0] == name
    same = page.evaluate(DRAWN, [states[0]["_esm"], states[0]["asked"], "03", noted])
    assert {*same} == {one["name"] for one in states[0]["asked"]}
    page.close()


@pytest.mark.navegador
@pytest.mark.lenta
def test_in_jupyter_what_is_answered_with_the_keyboard_is_noted(lab):
    lab.open(write(lab, new_code_cell("from course_checkers import Questions\nQuestions('03')")))
    lab.run_all()
    box = lab.page.locator(".exp-questions fieldset").first
    box.get_by_role("radio").first.focus()
    lab.page.keyboard.press("ArrowDown")
    expect(box.locator(".exp-say")).not_to_have_text("")
    assert lab.messages == []
    lab.close()
