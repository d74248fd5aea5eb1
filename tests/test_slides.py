"""Presentar una clase: las teclas que dice la guía docente, que ninguna cambie nada y que todo quepa."""

import contextlib
import re

import pytest
from helpers_browser import ROOT, VIEWPORT, open_lab, write
from helpers_slides import SCREENS, open_deck, presented, slides, where
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect
from tools import notebooks

DECKS = [p.relative_to(ROOT) for p in notebooks.course_notebooks() if notebooks.is_deck(p)]
EVERY_DAY = "03_softmax_y_escalado"
CONTENT = "JSON.stringify(lesson.content.model.sharedModel.toJSON().cells)"
CLOSE_DECK = """async () => {
    const panel = jupyterapp.shell.currentWidget;
    await panel.sessionContext.ready;
    await panel.sessionContext.shutdown();
    panel.dispose();
}"""
SOURCES = "lesson.content.widgets.map(cell => cell.model.sharedModel.source)"


def cell(source, kind=None, *tags):
    new = new_markdown_cell if source.startswith(("#", "*", "- ")) else new_code_cell
    metadata = {"slideshow": {"slide_type": kind}} if kind else {}
    return new(source, metadata=metadata | ({"tags": list(tags)} if tags else {}))


def deck(lab, *cells):
    """Abre una clase con estas celdas, sin ejecutarla."""
    open_deck(lab, write(lab, *cells), run=False)


@pytest.fixture
def small(lab):
    """Una clase de tres diapositivas presentada: la segunda, con código que aparece después."""
    first = cell("start = 40", "skip"), cell("# Una", "slide")
    second = cell("## Dos", "slide"), cell("print(start + 2)", "fragment")
    notes = (cell(f"**Minutos:** {more}", "notes") for more in ("3\n\n**Di:** secreto", "2,5", "4"))
    deck(lab, *first, next(notes), *second, next(notes), cell("## Tres", "slide"), next(notes))
    with presented(lab) as page:
        yield page


def at(page):
    return where(page)[0]


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


# --- Andar ----------------------------------------------------------------------------------------


def test_forward_and_back_with_every_key_of_a_presenter(small):
    there = "PageDown", "ArrowRight", "ArrowDown", "Space", "Enter"
    for forward, back in zip(there, ("PageUp", "ArrowLeft", "ArrowUp", "Shift+Space", "Backspace")):
        seen = [at(small)]
        for key in [forward] * 4 + [back] * 4:
            press(small, key)
            seen.append(at(small))
        assert seen == [1, 2, 2, 3, 3, 2, 2, 1, 1], forward  # en la 2 hay dos pasos


def test_what_appears_later_waits(small):
    small.keyboard.press("PageDown")
    code = small.locator(".pr-on.jp-CodeCell")
    assert not code.is_visible()
    small.keyboard.press("PageDown")
    expect(code).to_be_visible()


def test_jump_by_number_from_the_list_and_to_the_ends(small):
    small.keyboard.type("3")
    assert small.locator(".pr-bar span").first.text_content() == "→ 3"
    small.keyboard.press("Enter")
    assert at(small) == 3
    small.keyboard.press("g")
    assert small.locator(".pr-list button").all_text_contents() == ["Una", "Dos", "Tres"]
    press(small, "ArrowUp", "Enter")
    assert (at(small), small.locator(".pr-list").count()) == (2, 0)
    small.keyboard.press("End")
    assert at(small) == 3
    small.keyboard.press("Home")
    assert at(small) == 1
    small.keyboard.type("99")
    small.keyboard.press("Enter")
    assert at(small) == 3


def test_the_bar_moves_it_too(small):
    small.get_by_role("button", name="Adelante (AvPág)").click()
    assert at(small) == 2
    small.keyboard.press("Space")  # el botón no se queda con las teclas
    small.keyboard.press("Space")
    assert at(small) == 3
    assert re.fullmatch(r"\d:\d\d", small.locator(".pr-bar span").nth(1).text_content())


@pytest.mark.parametrize(
    ("key", "look"), [("b", "black"), pytest.param(".", "black", marks=pytest.mark.lenta), ("w", "white")]
)
def test_a_covered_screen_comes_back_where_it_was(small, key, look):
    small.keyboard.press("PageDown")
    for back in (key, "Escape", "PageDown"):
        small.keyboard.press(key)
        assert small.locator(f".pr-blank[data-look={look}]").is_visible()
        small.keyboard.press(back)
        assert not small.locator(".pr-blank").is_visible()
        assert at(small) == 2


# --- Ninguna tecla cambia nada --------------------------------------------------------------------


def test_no_key_changes_inserts_or_deletes_a_cell(small):
    before = small.evaluate(CONTENT)
    one = [*"abcdhijklmnopqstuvxyzABCDMXYZ-_+'?0123", "Delete", "Tab", "F1", "F5", "Insert"]
    many = [f"{with_}+{key}" for with_ in ("Control", "Shift", "Alt") for key in "aczxvhmsy"]
    for number in (1, 2, 3):
        small.keyboard.type(str(number))
        small.keyboard.press("Enter")
        if number == 2:
            small.keyboard.press("PageDown")
            small.locator(".pr-on.jp-CodeCell .cm-content").click()  # el código, sin pedir editarlo
        for key in [*one, "d", "d", "m", *many, "Control+Shift+Minus"]:
            small.keyboard.press(key)
        assert small.locator(".jp-Dialog").count() == 0
        assert small.evaluate(CONTENT) == before
    small.locator(".pr-on h2").first.dblclick()
    small.keyboard.type("hola")
    assert small.evaluate(CONTENT) == before


@pytest.mark.parametrize("key", ["Space", "ArrowRight"])
def test_code_touched_with_the_mouse_lets_go_of_the_keys(small, key):
    press(small, "PageDown", "PageDown")
    small.locator(".pr-on.jp-CodeCell .cm-content").click()
    small.keyboard.press(key)
    assert at(small) == 3


def test_the_code_is_edited_only_if_asked(small):
    press(small, "PageDown", "PageDown", "e", "End")
    small.keyboard.type(" + 1  # b dd")
    assert small.evaluate(SOURCES)[4] == "print(start + 2) + 1  # b dd"
    small.keyboard.press("Escape")
    small.keyboard.type("dd")
    assert small.evaluate(SOURCES)[4] == "print(start + 2) + 1  # b dd"
    press(small, "e", "PageDown")  # el mando manda también mientras se escribe
    assert at(small) == 3


@pytest.mark.lenta  # abre otro JupyterLab
def test_presenting_writes_nothing_and_editing_does(browser):
    """Con ``abrir --editar``: ni abrir la clase, ni presentarla, ejecutar y cambiar su código. Fuera, lo que se escribe."""
    path, end = f"notebooks/clases/{EVERY_DAY}.ipynb", "!lesson.context.model.dirty"
    with open_lab(browser=browser, editing=True) as lab:
        page, before = lab.page, (lab.folder / path).read_bytes()
        lab.show(path)
        for _ in "ab":  # la segunda vez, lo escrito sigue ahí
            with presented(lab):
                page.locator(".exp").first.wait_for(state="attached")  # lo guardado se ve sin ejecutarlo
                while not page.locator(".pr-on.jp-CodeCell:not(.pr-bare)").count():
                    page.keyboard.press("PageDown")
                code = page.locator(".pr-on.jp-CodeCell:not(.pr-bare) .cm-content").first
                once = code.inner_text()
                press(page, "e", "Control+End")
                page.keyboard.type("  # dicho")
                assert code.inner_text() == f"{once}  # dicho"
                press(page, "Escape", "r")
                page.wait_for_selector(".pr-bar:not(.pr-busy)")
                page.wait_for_timeout(2500)  # se guarda a los dos segundos
                assert page.evaluate("lesson.context.model.dirty")  # hay qué guardar
                assert (lab.folder / path).read_bytes() == before
        assert once.endswith("# dicho")
        assert "# dicho" not in str(page.evaluate(SOURCES))
        page.wait_for_timeout(2500)
        page.wait_for_function(end)
        assert (lab.folder / path).read_bytes() == before

        page.evaluate("lesson.content.widgets[0].model.sharedModel.setSource('# Otra')")
        page.wait_for_timeout(2500)
        page.wait_for_function(end)
        assert lab.read(path).cells[0].source == "# Otra"
        lab.close()


# --- Código vivo ----------------------------------------------------------------------------------


def test_running_a_slide_runs_first_what_comes_before(small):
    press(small, "PageDown", "PageDown", "Shift+Enter")
    small.wait_for_selector(".pr-on .jp-OutputArea-output:has-text('42')")
    assert at(small) == 2


RESTARTS = {
    "reiniciado": "await lesson.sessionContext.session.kernel.restart()",
    "apagado": "await lesson.sessionContext.shutdown()",
    "otro": "await lesson.sessionContext.changeKernel({ name: lesson.sessionContext.kernelPreference.name })",
}


def runs(page, text):
    """La R, hasta que sale `text`; si JupyterLab pierde la respuesta del kernel, otra vez, como haría cualquiera."""
    code = page.locator(".pr-on.jp-CodeCell")
    for timeout in (30_000, 60_000):
        page.keyboard.press("r")
        with contextlib.suppress(PlaywrightTimeout):
            code.locator("pre").last.filter(has_text=re.compile(rf"^\s*{text}\s*$")).wait_for(timeout=timeout)
            return
    pytest.fail(f"no sale {text}: {code.all_inner_texts()}, {page.locator('.pr-bar').inner_text()}")


@pytest.mark.parametrize(
    ("outside", "how"),
    [("", "reiniciado"), ("fuera", "apagado")]
    + [
        pytest.param(*one, marks=pytest.mark.lenta)
        for one in (("", "apagado"), ("", "otro"), ("fuera", "reiniciado"), ("fuera", "otro"))
    ],
)
def test_after_a_restart_running_a_slide_runs_what_it_needs(small, how, outside):
    def forward():
        for _ in range(8):  # una tecla que llega antes de que esté todo no cuenta: otra vez
            small.keyboard.press("PageDown")
            if at(small) == 2 and not small.locator(".pr-on.pr-later").count():
                break

    forward()
    runs(small, "42")
    if outside:
        small.keyboard.press("Escape")
    small.evaluate("lesson.content.widgets.forEach(c => c.model.type === 'code' && c.model.clearExecution())")
    small.evaluate(f"async () => {{ {RESTARTS[how]} }}")
    if outside:
        small.evaluate("jupyterapp.commands.execute('presentar:empezar')")
        forward()
    runs(small, "42")


def test_leaving_and_coming_back_keeps_the_clock(small):
    clock = small.locator(".pr-bar span").nth(1)
    start = "jupyterapp.commands.execute('presentar:empezar')"
    small.keyboard.press("PageDown")
    small.evaluate("Date.now = (now => () => now() + 754000)(Date.now)")
    small.keyboard.press("Escape")
    small.evaluate(start)
    assert (at(small), clock.text_content()[:2]) == (2, "12")
    small.keyboard.press("Home")  # quien la deja en la portada empieza de nuevo
    small.keyboard.press("Escape")
    small.evaluate(start)
    assert (at(small), clock.text_content()[:2]) == (1, "0:")


def test_it_says_how_late_one_is_and_what_can_be_left_out(lab):
    titles = cell("# Una", "slide"), cell("## Dos", "slide", "si-hay-tiempo"), cell("## Tres", "slide")
    notes = (cell(f"**Minutos:** {minutes}", "notes") for minutes in (3, 2, 4))
    deck(lab, *(one for both in zip(titles, notes) for one in both))
    with presented(lab) as page:
        place, clock = (page.locator(".pr-bar span").nth(k) for k in (0, 1))
        expect(clock).to_have_text(re.compile(r"^0:\d\d$"))
        page.evaluate("Date.now = (now => () => now() + 7.5 * 60000)(Date.now)")
        expect(clock).to_have_text(re.compile(r"^7:\d\d · 4 min tarde \(2 de si hay tiempo\)$"))
        page.keyboard.press("PageDown")
        assert place.text_content() == "2 / 3 · si hay tiempo"
        expect(clock).to_have_text(re.compile(r"^7:\d\d · 2 min tarde$"))
        page.keyboard.press("PageDown")
        assert place.text_content() == "3 / 3"
        expect(clock).to_have_text(re.compile(r"^7:\d\d$"))


def test_F5_presents_a_class_and_reloads_what_is_not_one(small):  # noqa: N802
    small.evaluate("window.same = true")
    press(small, "Escape", "F5")
    small.wait_for_selector(".pr-place")
    small.keyboard.press("F5")  # ya presentando, nada
    assert (at(small), small.evaluate("window.same")) == (1, True)


def test_a_failure_of_the_slide_is_seen_in_the_slide(lab):
    deck(lab, cell("x = 1", "skip"), cell("# Una", "slide"), cell("x / 0"))
    with presented(lab) as page:
        page.keyboard.press("r")
        page.wait_for_selector(".pr-on .jp-OutputArea-output:has-text('ZeroDivisionError')")
        page.wait_for_selector(".pr-bar:not(.pr-busy)")
        assert page.locator(".jp-Dialog").count() == 0


def test_a_hidden_cell_that_fails_is_told(lab):
    deck(lab, cell("1 / 0", "skip"), cell("# Una", "slide"), cell("print(1)"))
    with presented(lab) as page:
        page.keyboard.press("r")
        dialog = page.wait_for_selector(".jp-Dialog")
        assert "falla una celda anterior" in dialog.text_content()
        page.keyboard.press("Escape")
        page.wait_for_selector(".jp-Dialog", state="detached")
        assert page.locator(".pr-bar").count() == 1  # la clase sigue


# --- Un explorador suelta las teclas --------------------------------------------------------------


@pytest.fixture
def explorer(lab):
    source = "from course_lib.explorers import SoftmaxExplorer\nSoftmaxExplorer()"
    open_deck(lab, write(lab, cell("# Una", "slide"), cell(source), cell("## Dos", "slide")))
    with presented(lab) as page:
        page.wait_for_selector(".pr-on .exp")
        yield page


@pytest.mark.parametrize(
    "key", ["Space", *(pytest.param(key, marks=pytest.mark.lenta) for key in ("ArrowRight", "PageDown"))]
)
def test_after_the_mouse_the_keys_are_of_the_class(explorer, key):
    heat = explorer.get_by_role("slider", name="temperatura")
    heat.click(position={"x": 8, "y": 5})
    assert float(heat.input_value()) < 1
    explorer.keyboard.press(key)
    assert at(explorer) == 2


def test_with_the_tab_key_the_control_has_them_until_escape(explorer):
    heat = explorer.get_by_role("slider", name="temperatura")
    before = heat.input_value()
    explorer.keyboard.press("Tab")
    for _ in range(30):
        if heat.evaluate("node => node === document.activeElement"):
            break
        explorer.keyboard.press("Tab")
    explorer.keyboard.press("ArrowRight")
    assert (heat.input_value() != before, at(explorer)) == (True, 1)
    press(explorer, "Escape", "ArrowRight")
    assert at(explorer) == 2
    explorer.keyboard.press("Escape")
    assert explorer.locator(".pr-bar").count() == 0


# --- Las notas ------------------------------------------------------------------------------------


def test_the_notes_are_seen_by_the_teacher_and_not_by_the_class(small):
    assert "secreto" not in small.locator(".pr-place").inner_text()
    with small.expect_popup() as opened:
        small.keyboard.press("n")
    notes = opened.value
    assert "secreto" in notes.locator("main").inner_text()
    assert "Después: Dos" in notes.locator("footer").inner_text()
    assert "1 / 3 · hasta el minuto 3 de 9.5" in notes.locator("header").inner_text()
    notes.keyboard.press("PageDown")  # también se anda desde aquí
    assert at(small) == 2
    assert "hasta el minuto 5.5" in notes.locator("header").inner_text()
    with notes.expect_event("close"):
        small.keyboard.press("Escape")


# --- Empezar y acabar -----------------------------------------------------------------------------


def test_it_leaves_no_trace(lab, small):
    press(small, "PageDown", "Escape")
    assert small.locator(".pr-bar, .pr-chain, .pr-panel, .pr-on, .pr-place").count() == 0
    assert small.locator("#jp-top-panel").is_visible()
    assert small.evaluate("lesson.content.activeCellIndex") == 3  # donde estaba la clase
    small.keyboard.press("b")  # los atajos de JupyterLab vuelven
    small.wait_for_function("lesson.content.widgets.length === 9")


@pytest.mark.lenta  # recarga JupyterLab
def test_it_is_never_found_on(lab, small):
    lab.page.reload()
    lab.page.wait_for_function("window.jupyterapp !== undefined")
    lab.page.evaluate("jupyterapp.restored")
    assert lab.page.locator(".pr-bar").count() == 0
    assert lab.page.locator("#jp-top-panel").is_visible()
    lab.start()


@pytest.mark.lenta  # abre una lección y su clase enteras
def test_a_lesson_opens_its_class(lab):
    name = f"{EVERY_DAY}.ipynb"
    lab.show(f"notebooks/{name}")
    with presented(lab) as page:
        assert page.locator(".pr-bar").count() == 1
        path = page.evaluate("jupyterapp.shell.currentWidget.context.path")
        assert path == f"notebooks/clases/{name}"
        press(page, "PageDown", "Escape")
        assert [said for said in lab.messages if "Cannot read" in said] == []
        page.evaluate(CLOSE_DECK)


def test_what_has_no_slides_says_where_they_are(lab):
    deck(lab, cell("# Sin diapositivas"))
    lab.page.evaluate("void jupyterapp.commands.execute('presentar:empezar')")
    assert "notebooks/clases" in lab.page.wait_for_selector(".jp-Dialog").text_content()
    lab.page.keyboard.press("Escape")
    assert lab.page.locator(".pr-bar").count() == 0


# --- Todo se ve -----------------------------------------------------------------------------------


@pytest.mark.lenta
@pytest.mark.turnos
@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_slide_fits(lab, path):
    """Todas en la pantalla pequeña, y una en las dos: la letra y las figuras crecen con ella."""
    lab.restore(path)
    faults, explorers = [], (ROOT / path).read_text("utf-8").count("jupyter.widget-view+json")
    with lab.trusted(path):
        lab.open_saved(path, explorers)  # que salen así lo dice nbval
        for width, height in [*SCREENS.values()][: 2 if path == DECKS[5] else 1]:
            lab.page.set_viewport_size({"width": width, "height": height})
            with presented(lab) as page:
                faults += [f"{width}, {n}: {x}" for n, found in slides(page) for x in found]
    lab.page.set_viewport_size(VIEWPORT)
    assert faults == []
