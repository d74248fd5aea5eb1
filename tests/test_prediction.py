"""Las predicciones: sus textos, lo que se apunta y que se contestan con el teclado, en JupyterLab y sin él."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from helpers_browser import PHONE, ROOT, audit, write
from helpers_explorers import CUT
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect
from test_clases import mistakes_of
from tools import notebooks, way

from course_checkers import Prediction, reveal, show_progress
from course_checkers.engine import closing, prediction
from course_tools.cells import PREDICTION, tagged
from course_tools.opening import progress

KNOWN = prediction.predictions()
NUMBER = next(name for name, asked in KNOWN.items() if "number" in asked)
LESSONS = sorted({name[:2] for name in KNOWN})
each = pytest.mark.parametrize("name", KNOWN)


@pytest.fixture(autouse=True)
def as_new(monkeypatch):
    """Como en un kernel recién arrancado."""
    monkeypatch.setattr(prediction, "_last", {})
    monkeypatch.setattr(prediction, "_out", set())
    monkeypatch.setattr(closing, "_recording", True)


def wrong(name):
    return next(say for say, *why in KNOWN[name]["answers"] if why)


# --- Los textos -----------------------------------------------------------------------------------


def well_asked(asked, fewest):
    """Una pregunta con sus respuestas, una sola buena, y de las malas por qué: devuelve las que son."""
    says = [say for say, *_ in asked["answers"]]
    assert asked["question"].endswith("?")
    assert fewest <= len(set(says)) == len(says) <= 4
    assert sum(not why for _, *why in asked["answers"]) == 1
    for _, *why in asked["answers"]:
        assert all(re.fullmatch(r"[^.]+(\.\d[^.]*)*\.", text) for text in why[:1]), "una sola frase"
        for exercise, mistake in (one.split(" · ") for one in why[1:]):
            assert mistake in mistakes_of(exercise)
    return says


@each
def test_each_is_whole(name):
    says = well_asked(KNOWN[name], 2)
    if number := KNOWN[name].get("number"):
        assert number["min"] < number["max"]
        assert all(number["min"] <= float(say) <= number["max"] for say in says)
        assert number["step"] <= number["near"] < (number["max"] - number["min"]) / 4
        measured = number["step"] < 1 or number.get("unit") == "%"  # lo que se cuenta, exacto
        assert 0 < number["hit"] < number["near"] if measured else "hit" not in number


def test_the_place_of_the_right_one_says_nothing():
    places = Counter()
    for asked in KNOWN.values():
        if "number" not in asked:
            places[[len(one) for one in asked["answers"]].index(1)] += 1
    assert max(places.values()) <= sum(places.values()) / 2


@pytest.mark.parametrize("number", LESSONS)
def test_each_is_on_the_way_and_is_answered_below(number):
    """De tres a cinco, en su orden; y nada de ese camino se pregunta de otra forma."""
    nb = notebooks.lesson(number)
    walked = way.part(nb, way.WAY)
    text = "\n".join(cell.source for cell in walked.cells)
    asked = re.findall(r'^(Prediction|reveal)\("(.+?)"|^ +(reveal)\("(.+?)"', text, re.MULTILINE)
    order = [(one[0] or one[2], one[1] or one[3]) for one in asked]
    names = [name for name in KNOWN if name.startswith(number)]
    assert order == [(what, name) for name in names for what in ("Prediction", "reveal")]
    assert 3 <= len(names) <= 5
    assert "**Antes de ejecutar:" not in text
    assert sum(tagged(cell, PREDICTION) for cell in nb.cells) == len(names)


@each
def test_what_comes_out_is_what_the_text_says(name, monkeypatch):
    """Con la salida guardada no hay duda: la celda pasa. Con otra buena en el texto, se para y dice cuál."""
    good = prediction.right(name)
    value = float(good) if "number" in KNOWN[name] else good
    reveal(name, value)
    if value == 0:  # «-0», según con qué procesador
        reveal(name, -0.4 / 10 ** len(good.partition(".")[2]))
    changed = json.loads(json.dumps(KNOWN[name]))
    for one in changed["answers"]:
        one[1:] = [] if one[0] == wrong(name) else ["No."]
    monkeypatch.setattr(prediction, "predictions", lambda: {name: changed})
    with pytest.raises(AssertionError, match=re.escape(f"da por buena {wrong(name)!r}")):
        reveal(name, value)


def test_one_that_is_not_there_is_said():
    with pytest.raises(ValueError, match=r"ninguna predicción '99.1'. Las que hay: \"00.1\""):
        Prediction("99.1")


# --- Lo que se apunta -----------------------------------------------------------------------------


def test_the_first_one_is_kept_and_comes_back(kept, capsys):
    asked = Prediction("05.3")
    text = repr(asked)
    assert text.splitlines()[1:] == ["  ○ bone", "  ○ empatan", "  ○ dog"]
    reveal("05.2", "(2, 3)")  # de otra, y sin contestar
    assert (capsys.readouterr().out, kept.exists()) == ("", False)
    asked.said = "bone"
    assert asked.revealed is False
    reveal("05.3", "dog")
    assert capsys.readouterr().out.startswith("Dijiste «bone»: como si mandaran las keys")
    assert asked.revealed is True
    again = Prediction("05.3")
    assert (again.said, again.revealed, repr(again)) == ("bone", True, text)
    again.said = ""
    again.said = "dog"
    assert again.note == prediction.FIRST
    found = progress.load()["predictions"]
    assert found["05.3"].items() >= {"said": "bone", "right": False}.items()
    assert list(found) == ["05.3"]


def test_what_has_come_out_does_not_count(kept):
    asked = Prediction("05.3")
    reveal("05.3", "dog")
    asked._handle_custom_msg({"chosen": "bone"}, [])
    assert (asked.said, asked.note, kept.exists()) == ("", prediction.LATE, False)
    asked._handle_custom_msg({"chosen": ""}, [])
    asked.said = "dog"
    assert (asked.note, asked.revealed, kept.exists()) == (prediction.LATE, True, False)
    early = Prediction("05.3")  # contestada en la página antes de ejecutar nada
    early.set_state({"early": True, "said": "dog"})
    assert (early.note, early.revealed) == ("", True)
    assert progress.load()["predictions"]["05.3"]["right"] is True


@pytest.mark.parametrize(("name", "said", "told", "hit"), [
    ("00.4", "12", "Dijiste 12: acertaste. Sale 12 de 12.", True),
    ("00.4", "11", "Dijiste 11: casi. Sale 12 de 12.", False),
    ("00.4", "2", "Dijiste 2: la de «it»", False),
    ("00.4", "7", "Dijiste 7. Sale 12 de 12.", False),
    ("09.2", "0.6", "Dijiste 0.6: acertaste. Sale 0.57.", True),
])  # fmt: skip
def test_a_number_is_judged_by_how_near_it_is(name, said, told, hit):
    text, right = prediction.heard(name, said)
    assert text.startswith(told)
    assert right is hit


@each
def test_only_what_comes_out_is_right_and_a_measure_as_near_as_it_says(name):
    number, good = KNOWN[name].get("number", {}), prediction.right(name)
    says = np.arange(number["min"], number["max"] + 1e-6, number["step"]) if number else ()
    for said in [f"{say:.4g}" for say in says] or [say for say, *_ in KNOWN[name]["answers"]]:
        far = abs(float(said) - float(good)) if number else said != good
        text, right = prediction.heard(name, said)
        assert right is (far < number.get("hit", 0) + 1e-6)
        assert (": acertaste." in text) is (right and bool(number))


def test_what_was_saved_as_right_is_judged_again(kept):
    """Antes bastaba con acercarse; lo que ya no se pregunta se queda como estaba."""
    said = {"00.2": "hungry", "00.4": "3", "00.9": "a"}
    noted = {name: {"said": one, "right": True, "date": "2026-01-01"} for name, one in said.items()}
    kept.write_text(json.dumps({"exercises": {}, "predictions": noted}), encoding="utf-8")
    assert str(show_progress(0)).endswith("Predicciones acertadas: 2 de 3")
    for name in ("00.2", "00.4"):
        Prediction(name)
    found = progress.load()["predictions"]
    assert [one["right"] for one in found.values()] == [True, False, True]
    assert {one["date"] for one in found.values()} == {"2026-01-01"}


@pytest.mark.parametrize("again", [False, True], ids=["sale", "otra vez"])
@pytest.mark.parametrize(("name", "said"), [("05.3", "bone"), ("00.4", "3")])
def test_what_was_chosen_and_not_said_is_not_lost(kept, capsys, name, said, again):
    """Se dice solo al ejecutar su celda otra vez, o la que lo calcula; lo que no es una respuesta, no."""
    asked, good = Prediction(name), prediction.right(name)
    for one in (good, said, "<b>" * again, said):
        asked._handle_custom_msg({"chosen": one}, [])
    assert not kept.exists()
    if again:
        asked = Prediction(name)
        assert (asked.said, asked.note) == (said, "")
    reveal(name, good if name == "05.3" else float(good))
    assert capsys.readouterr().out == prediction.heard(name, said)[0] + "\n"
    assert (asked.said, asked.revealed) == (said, True)
    assert progress.load()["predictions"][name]["said"] == said
    asked._handle_custom_msg({"chosen": ""}, [])  # «Contestar otra vez»
    asked.said = ""
    asked._handle_custom_msg({"chosen": good}, [])
    asked = Prediction(name)
    assert (asked.said, asked.note) == (good, prediction.FIRST)


@pytest.mark.parametrize("said", ["<b>", "nan", "1e999", "", "-1", 7, None, ["dog"]])
@pytest.mark.parametrize("name", ["05.3", NUMBER])
def test_a_strange_file_is_an_unanswered_one(kept, name, said):
    kept.write_text(json.dumps({"exercises": {}, "predictions": {name: {"said": said}}}))
    assert Prediction(name).said == ""


def test_a_place_that_cannot_be_written_is_said(kept, monkeypatch):
    monkeypatch.setenv("CURSO_PROGRESO", str(kept / "no" / "progreso.json"))
    asked = Prediction("05.3")
    asked.said = "dog"
    assert asked.note.startswith("No se ha apuntado: no se puede escribir no/progreso.json.")
    assert asked.said == "dog"


def test_in_the_solutions_nothing_is_kept(kept):
    closing.without_progress()
    Prediction("05.3").said = "dog"
    assert not kept.exists()


# --- En la página ---------------------------------------------------------------------------------


TOLD = """async ([esm, state, said]) => {
    const text = new Blob([esm], {type: 'text/javascript'});
    const {heard} = await import(URL.createObjectURL(text));
    return said.map(one => heard(state, one));
}"""


@pytest.mark.navegador
def test_with_no_kernel_it_answers_and_says_the_same_as_python(alone):
    page = alone(*map(Prediction, KNOWN), viewport=PHONE)
    for name in KNOWN:
        state = Prediction(name).get_state()
        says = [one["say"] for one in state["answers"]]
        if ends := state["number"]:
            size = round((ends["max"] - ends["min"]) / ends["step"])
            says += [f"{round(ends['min'] + k * ends['step'], 2)}" for k in range(size + 1)]
        told = page.evaluate(TOLD, [state["_esm"], prediction.state(name), says])
        heard = [prediction.heard(name, say) for say in says]
        assert [(words, hit == "sí") for words, hit in told] == heard
    assert page.evaluate(CUT) == []
    ids = page.eval_on_selector_all(".exp [id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids)) == sum("number" in asked for asked in KNOWN.values())
    one = page.locator(".exp-prediction").nth(list(KNOWN).index("05.3"))
    one.get_by_role("radio").first.focus()
    page.keyboard.press("Enter")
    expect(one.locator(".exp-say")).to_have_text("Elige antes tu respuesta.")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(one.locator(".exp-say")).to_have_text(prediction.heard("05.3", "empatan")[0])
    expect(one.get_by_role("button", name="Contestar otra vez")).to_be_focused()
    expect(one.get_by_role("radio").first).to_be_disabled()
    page.keyboard.press("Enter")
    expect(one.locator(".exp-say")).to_have_text("")
    assert page.locator(".exp-prediction").nth(0).locator(".exp-say").inner_text() == ""


SAYS = "Has dicho «{}». Ejecuta lo que sigue y mira qué sale."
THEME = "name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
RUN = "k => (lesson.content.activeCellIndex = k, void jupyterapp.commands.execute('notebook:run-cell'))"
RESTART = "lesson.sessionContext.session.kernel.restart()"


@pytest.mark.navegador
@pytest.mark.parametrize(("how", "name"), [
    ("intro", NUMBER),
    ("mayús+intro", "08.1"),
    pytest.param("intro", "05.3", marks=pytest.mark.lenta),
    pytest.param("ocupado", "08.4", marks=pytest.mark.lenta),
    pytest.param("todo", "09.2", marks=pytest.mark.lenta),
    pytest.param("reinicio", "10.4", marks=pytest.mark.lenta),
])  # fmt: skip
def test_in_jupyter_what_was_chosen_is_said_and_said_again(lab, how, name):
    """También sin decirlo, con el kernel ocupado; y si el kernel se reinicia, lo dice la pregunta."""
    number, (one, two) = KNOWN[name].get("number"), [say for say, *_ in KNOWN[name]["answers"]][:2]
    good, said = prediction.right(name), f"{number['min'] + number['step']}" if number else two
    wait = "import time; time.sleep(2)" if how == "ocupado" else "0"
    ask = f"from course_checkers import *\nPrediction({name!r})"
    codes = ask, wait, f"reveal({name!r}, {good if number else repr(good)})"
    lab.open(write(lab, *map(new_code_cell, codes)))
    page, keys = lab.page, lab.page.keyboard
    page.evaluate(RUN, 0)
    asked = page.locator(".exp-prediction")
    asked.wait_for()
    if how == "ocupado":
        page.evaluate(RUN, 1)
    for say in () if number else (two, one):
        asked.get_by_label(say, exact=True).check()
    asked.locator("input").first.focus()
    keys.press("ArrowRight" if number else "ArrowDown")
    if "intro" in how:
        keys.press("Enter" if how == "intro" else "Shift+Enter")
        page.wait_for_function(f"lesson.content.activeCellIndex === {int(how != 'intro')}")
        expect(asked.locator(".exp-say")).to_have_text(SAYS.format(said))
    if how == "reinicio":
        page.evaluate(RESTART)
        page.wait_for_function("lesson.sessionContext.session.kernel.status === 'idle'")
    if how in ("todo", "reinicio"):
        lab.run_all()
    else:
        page.evaluate(RUN, 2)
    told = prediction.heard(name, said)[0]
    expect(asked.locator(".exp-say")).to_have_text(told)
    printed = page.locator(".jp-OutputArea-output pre", has_text=told)
    expect(printed).to_have_count(0 if how == "reinicio" else 1)
    assert lab.messages == []
    lab.close()


@pytest.mark.navegador
@pytest.mark.lenta
@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_in_jupyter_axe_finds_nothing(lab, theme):
    calls = ("Prediction('05.3')", f"Prediction('{NUMBER}')")
    cells = [new_code_cell(f"from course_checkers import *\n{call}") for call in calls]
    assert lab.faults(write(lab, *cells)) == []
    lab.page.evaluate(THEME, theme)
    lab.page.wait_for_function(
        "name => document.body.dataset.jpThemeName === name", arg=theme, timeout=60_000
    )
    for size in (lab.page.viewport_size, PHONE):
        lab.page.set_viewport_size(size)
        assert audit(lab.page, ".jp-OutputArea-output") == []
        assert lab.page.evaluate(CUT) == []
    lab.page.evaluate(THEME, "JupyterLab Light")
    lab.close()


@pytest.mark.navegador
@pytest.mark.lenta
def test_in_jupyter_one_said_before_running_its_cell_is_not_lost(lab):
    """Como se entrega una lección: se ve sin ejecutar. Lo dicho pasa a la celda cuando se ejecuta."""
    path = "notebooks/05_atencion.ipynb"
    nb = notebooks.read(ROOT / path)
    last = ['reveal("05.1"' in cell.source for cell in nb.cells].index(True)
    nb.cells = nb.cells[: last + 1]  # hasta donde sale
    views = sum("widget-view" in str(cell.get("outputs")) for cell in nb.cells)
    lab.close()
    lab.page.evaluate("window.coursePredictions = {}")  # lo dicho en otra prueba
    (lab.folder / path).write_text(notebooks.to_text(nb), encoding="utf-8")
    with lab.trusted(path):
        lab.open_saved(path, views)
        first = lab.page.locator(".exp-prediction").first
        first.scroll_into_view_if_needed()
        first.get_by_label("(0.5, 0.25, 0.25)").check()
        first.get_by_role("button", name="Lo digo").click()
        expect(first.locator(".exp-say")).to_have_text(SAYS.format("(0.5, 0.25, 0.25)"))
        lab.run_all()
        again = lab.page.locator(".exp-prediction").first
        expect(again.locator(".exp-say")).to_have_text(prediction.heard("05.1", "(0.5, 0.25, 0.25)")[0])
    lab.restore(path)
