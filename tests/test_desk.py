"""La mesa de quien estudia, en JupyterLab: andar con las teclas, volver a abrir, y saber por dónde iba."""

import contextlib
import json
import re

import nbformat
import pytest
from helpers_browser import ROOT, SCRATCH, audit, open_lab, write
from helpers_explorers import saved_explorers
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect
from tools import notebooks, way

from course_tools.cells import FOLDED

pytestmark = pytest.mark.navegador

LESSONS = [p.relative_to(ROOT) for p in notebooks.course_notebooks() if notebooks.is_lesson(p)]


OPEN = """async path => {
    const panel = await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session?.kernel?.info;
    window.lesson = panel;
    panel.content.mode = 'command';
    panel.content.activeCellIndex = 0;
    panel.content.activate();
}"""
HIDDEN = "lesson.content.widgets.filter(cell => cell.isHidden).length"
READY = "window.jupyterapp?.shell.currentWidget?.content?.activeCell"
ARRIVED = "name => lesson.content.activeCell.model.id === name"
WHERE = "[lesson.content.activeCell.model.id, lesson.content.activeCell.isHidden]"
SEEN = """() => {
    const outer = lesson.node.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
    const {top, bottom} = lesson.content.activeCell.node.getBoundingClientRect();
    return bottom > outer.top && top < outer.bottom && lesson.content.activeCell.node.contains(document.activeElement);
}"""


def shown(nb):
    """Los ids de las celdas que se ven con lo de al lado plegado."""
    below = 7
    for cell in nb.cells:
        level, _ = way.heading(cell)
        if below < level:
            continue
        below = level if cell.metadata.get(FOLDED) else 7
        yield cell.id


# --- Andar ----------------------------------------------------------------------------------------


@pytest.mark.turnos
@pytest.mark.parametrize(
    "path",
    [  # la más corta; y, de noche, la más larga y otra con mucho plegado
        pytest.param(p, id=p.stem, marks=() if p.name < "01" else pytest.mark.lenta)
        for p in LESSONS
        if p.name[:2] in ("00", "03", "14")
    ],
)
def test_walking_visits_what_is_seen_and_only_that(lab, path):
    """Con Mayús+Intro y, de dos en dos, con el botón; el código es otro, para que acabe enseguida."""
    nb = notebooks.read(ROOT / path)
    expected = list(shown(nb))
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.update(source="0", outputs=[], execution_count=None)
    lab.close()
    nbformat.write(nb, lab.folder / path)
    lab.page.evaluate(OPEN, path.as_posix())
    folded = lab.page.evaluate(HIDDEN)
    button = lab.page.locator("[data-jp-item-name=run] >> visible=true").first
    visited, names, jumped = [], [cell.id for cell in nb.cells], False
    for number, name in enumerate(expected):
        with contextlib.suppress(PlaywrightTimeout):  # se mueve cuando ha ejecutado la de antes
            lab.page.wait_for_function(ARRIVED, arg=name, timeout=10_000)
        here, hidden = lab.page.evaluate(WHERE)
        assert (here, hidden) == (name, False), f"tras {visited[-1:]}, {number}/{len(expected)}"
        visited.append(here)
        if jumped:
            lab.page.wait_for_function(SEEN)
        jumped = names.index(here) + 1 < len(names) and names[names.index(here) + 1] not in expected
        if number % 2:
            button.click()
        else:
            lab.page.keyboard.press("Shift+Enter")
    assert folded == lab.page.evaluate(HIDDEN)
    lab.restore(path)
    lab.close()


ASK = "from course_checkers import Prediction\nPrediction('05.1')"


def test_a_question_is_answered_and_left_with_the_keys(lab):
    """El tabulador entra, las flechas eligen, Intro lo dice y Mayús+Intro sigue; y Esc vuelve a la celda."""
    link = "[a la última](de_prueba.ipynb#cell-id=ultima)"
    tall = new_markdown_cell("\n\n".join(["Una"] * 60))
    last = new_markdown_cell("Fin", id="ultima")
    cells = new_code_cell(ASK), new_code_cell("1 + 1"), new_markdown_cell(link), tall, last
    lab.open(write(lab, *cells))
    lab.run_all()
    page, keys = lab.page, lab.page.keyboard
    page.evaluate(OPEN, SCRATCH.as_posix())
    where = "[lesson.content.activeCellIndex, lesson.content.mode]"
    first = page.locator(".exp-prediction")
    first.wait_for()
    keys.press("Tab")
    expect(first.locator("input").first).to_be_focused()
    keys.press("Escape")
    assert page.evaluate(where) == [0, "command"]
    expect(page.locator(".jp-Notebook-cell.jp-mod-active")).to_be_focused()
    keys.press("Tab")
    keys.press("ArrowDown")
    keys.press("Tab")
    keys.press("Enter")
    expect(first.get_by_role("status")).to_contain_text("Has dicho «(0.5, 0.25, 0.25)»")
    keys.press("Shift+Enter")
    page.wait_for_function("lesson.content.activeCellIndex === 1")
    expect(page.locator(".exp-prediction").get_by_role("button")).to_have_text("Contestar otra vez")
    for number in (2, 3, 4, 4):  # la última es texto: no crece otra
        keys.press("Shift+Enter")
        page.wait_for_function(f"lesson.content.activeCellIndex === {number}")
        if number == 3:
            page.wait_for_function(SEEN.replace("bottom > outer.top", "top >= outer.top - 1"))
    assert page.evaluate("lesson.content.widgets.length") == 5
    page.evaluate("lesson.content.activeCellIndex = 0")
    page.get_by_role("link", name="a la última").click()
    page.wait_for_function("lesson.content.activeCellIndex === 4")
    page.evaluate("lesson.content.activeCellIndex = 1")
    keys.press("F8")
    expect(page.locator(".cu-panel :focus")).to_be_attached()
    assert page.evaluate("lesson.content.activeCellIndex") == 1
    page.evaluate("jupyterapp.shell.collapseLeft()")
    lab.close()


# --- Volver a abrir ---------------------------------------------------------------------------------

SAVE = """async () => {
    await jupyterapp.commands.execute('docmanager:save');
    return lesson.content.model.dirty;
}"""
ASKS = """import anywidget, traitlets
class Asks(anywidget.AnyWidget):
    _esm = '''export default {render({model, el}) {
        el.className = 'exp';
        const button = document.createElement('button');
        const show = () => button.textContent = `Pide ${model.get('answered')}`;
        button.onclick = () => {
            model.set('request', {serial: model.get('answered') + 1});
            model.save_changes();
        };
        model.on('change:answered', show);
        show();
        el.append(button);
    }}'''
    request = traitlets.Dict().tag(sync=True)
    answered = traitlets.Int(y).tag(sync=True)
    @traitlets.observe('request')
    def answer(self, change):
        self.answered = change.new['serial'] + y
Asks()"""


@pytest.mark.lenta
def test_an_explorer_is_saved_once_and_asks_for_its_cell(lab):
    cells = [new_code_cell(code) for code in ("x = 40", "y = x + 2", ASKS)]
    lab.open(write(lab, *cells))
    lab.run_all()
    page = lab.page
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")  # otra vez: el de antes sobra
    page.get_by_role("button", name="Pide 42").click()
    page.get_by_role("button", name="Pide 85").wait_for()
    assert page.evaluate(SAVE) is False
    lab.stop_kernel()
    lab.close()  # con su kernel, como quien acaba
    assert len(saved_explorers(lab.folder / SCRATCH)) == 1
    page.evaluate(OPEN, SCRATCH.as_posix())
    page.get_by_role("button", name="Pide 85").click()
    run = page.get_by_role("button", name="Ejecuta esta celda")
    run.click()
    page.get_by_role("button", name="Pide 42").click()
    page.get_by_role("button", name="Pide 85").wait_for()
    assert run.count() == 0
    lab.close()


# --- El panel del curso, y por dónde iba ----------------------------------------------------------

TABS = "[...jupyterapp.shell.widgets('main')].map(({title}) => title.label)"


@pytest.fixture(scope="module")
def studying(browser):
    """El curso como lo abre quien estudia, con el 5.1 hecho."""
    with open_lab(browser=browser, studying=True) as lab:
        done = {"exercises": {"5.1": {"tries": 1, "date": "2026-01-01"}}}
        (lab.folder / ".progreso.json").write_text(json.dumps(done), encoding="utf-8")
        yield lab


def opened(lab):
    """Abre el panel del curso."""
    lab.page.evaluate("jupyterapp.shell.activateById('curso')")
    panel = lab.page.locator(".cu-panel")
    panel.get_by_role("listitem").nth(len(LESSONS) - 1).wait_for()
    return panel


@pytest.mark.lenta
def test_the_panel_knows_what_is_done_and_goes_on_where_it_was(studying):
    page, panel = studying.page, opened(studying)
    fifth = panel.get_by_role("listitem").nth(5)
    assert "Hechos: 5.1 · Faltan: 5.2, 5.3" in fifth.inner_text()
    on = panel.get_by_role("button", name="Sigue en")
    assert on.count() == 0
    panel.get_by_role("button", name=re.compile("^06")).click()
    page.wait_for_function("jupyterapp.shell.currentWidget?.content?.activeCell")
    page.evaluate("window.lesson = jupyterapp.shell.currentWidget, 0")
    page.wait_for_function("lesson.content.node.contains(document.activeElement)")
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    on.wait_for()
    here = page.evaluate(WHERE)[0]
    written = studying.folder / ".sitio.json"
    for _ in range(100):  # se apunta un segundo después de moverse
        page.wait_for_timeout(100)
        place = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
        if place and place["at"]["06_multicabeza.ipynb"]["cell"] == here:
            break
    assert place["at"]["06_multicabeza.ipynb"]["cell"] == here
    expect(on).to_have_text(re.compile(r"^Sigue en 06 §[\d.]+$"))

    path = "{path: 'mis_cuadernos/01_producto_escalar.ipynb'}"
    page.evaluate(f"jupyterapp.commands.execute('docmanager:open', {path}).then(() => 0)")
    there = "/lab/tree/mis_cuadernos/06_multicabeza.ipynb?reset"
    page.goto(studying.url.replace("/lab?reset", there))  # otro día
    page.wait_for_function(f"{READY}?.model.id === '{here}'", timeout=60_000)
    assert page.evaluate(TABS) == ["06_multicabeza.ipynb"]
    expect(page.locator(".jp-Notebook-cell.jp-mod-active")).to_be_in_viewport()


@pytest.mark.lenta
def test_the_panel_finds_words_and_hides_the_code(studying):
    page, panel = studying.page, opened(studying)
    panel.get_by_label("Buscar una palabra").fill("MASCARA CAUSAL")
    assert "máscara causal" in panel.locator("dt").first.inner_text()
    panel.get_by_role("button", name="Ocultar el código").click()
    code = page.locator(".cu-bare .jp-CodeCell.cu-code > .jp-Cell-inputWrapper")
    assert code.count()
    assert not any(one.is_visible() for one in code.all())
    panel.get_by_role("button", name="Mostrar el código").click()
    assert page.locator(".cu-bare").count() == 0
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
        page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'")
        assert audit(page, ".cu-panel") == []


TOP = "lesson.node.querySelector('.jp-WindowedPanel-outer').scrollTop"


@pytest.mark.lenta
def test_a_section_that_was_read_counts_and_one_passed_by_does_not(studying):
    """Con la rueda: de prisa, ninguno o el que se para delante; despacio, todos. Y se sigue por lo que se veía."""
    page, panel = studying.page, opened(studying)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate(OPEN, "mis_cuadernos/00_empieza_aqui.ipynb")
    page.locator(".jp-WindowedPanel-outer:visible").hover()
    told = panel.get_by_role("listitem").first
    for pause, step, read in ((100, 600, "[0-2] de 6"), (1200, 450, "6 de 6")):
        page.evaluate("lesson.content.scrollToItem(0, 'start')")
        before = None
        while before != (before := page.evaluate(TOP)):
            page.mouse.wheel(0, step)
            page.wait_for_timeout(pause)
        expect(told).to_have_text(re.compile(f"Apartados: {read}"))
    expect(panel.get_by_role("button", name="Sigue en")).to_have_text(re.compile("00 · (Resumen|Siguiente)"))
    studying.close()


# --- Lo escrito no se pierde ------------------------------------------------------------------------

WRITE = """text => {
    window.lesson = jupyterapp.shell.currentWidget;
    lesson.content.widgets[2].model.sharedModel.setSource(text);
}"""
READ = "jupyterapp.shell.currentWidget.content.widgets[2]?.model.sharedModel.source"


def test_what_is_typed_is_saved_when_the_hand_stops(lab):
    """También lo que se escribe mientras se guarda, que JupyterLab da por guardado."""
    lab.open(write(lab, *(new_code_cell(f"{k}") for k in range(3))))
    late = "lesson.context.saveState.connect((_, stage) => stage === 'started' && setTimeout("
    late += "() => lesson.content.widgets[1].model.sharedModel.setSource('tarde'), 0))"
    lab.page.evaluate(f"{{ {late}; ({WRITE})('pronto') }}")
    for _ in range(300):
        lab.page.wait_for_timeout(100)
        if {"pronto", "tarde"} <= {cell.source for cell in lab.read(SCRATCH).cells}:
            break
    assert [cell.source for cell in lab.read(SCRATCH).cells] == ["0", "tarde", "pronto"]
    lab.close()


@pytest.mark.lenta
def test_two_tabs_are_both_kept_and_the_reader_chooses(studying):
    path = "mis_cuadernos/03_softmax_y_escalado.ipynb"
    url = studying.url.replace("/lab?reset", f"/lab/tree/{path}?reset")
    pages = one, two = studying.page, studying.page.context.new_page()
    for page in pages:
        page.goto(url)
        page.wait_for_function(f"{READY} && {READ} !== undefined", timeout=60_000)
    one.evaluate(WRITE, "# de la primera")
    two.wait_for_function(f"{READ} === '# de la primera'")  # donde no hay nada a medias, se ve lo de la otra
    lesson, old = studying.folder / path, studying.folder / "mis_cuadernos/anteriores"
    dialog = two.locator(".jp-Dialog")
    for turn, (choice, stays, goes) in enumerate(
        [("Sigo con el de aquí", "dos", "uno"), ("Sigo con el otro", "uno", "dos")]
    ):
        two.evaluate(WRITE, f"# dos {turn}")
        one.evaluate(f"text => {{ ({WRITE})(text); return lesson.context.save(); }}", f"# uno {turn}")
        expect(dialog).to_contain_text("Hay dos «03_softmax_y_escalado.ipynb» distintos")
        expect(dialog.get_by_role("button", name="Decidir luego")).to_be_focused()
        dialog.get_by_role("button", name=choice).click()
        for page in pages:
            page.wait_for_function(f"{READ} === '# {stays} {turn}'")
        two.wait_for_function("!lesson.content.model.dirty")
        assert f"# {stays} {turn}" in lesson.read_text(encoding="utf-8")
        kept = [file.read_text(encoding="utf-8") for file in old.glob("03_*-antes-*.ipynb")]
        assert [f"# {goes} {turn}" in text for text in kept].count(True) == 1
        assert not any("](../imagenes" in text for text in kept)  # una carpeta más abajo
        assert any("](../../imagenes" in text for text in kept)
    two.close()


def test_without_what_the_course_notes_the_panel_says_only_what_it_knows(lab):
    lab.messages.clear()
    panel = opened(lab)
    assert panel.get_by_role("listitem").count() == len(LESSONS)
    assert not re.search("Sigue en|Apartados|Faltan|.progreso", panel.inner_text())
    assert lab.messages == []
    lab.page.evaluate("jupyterapp.shell.collapseLeft()")
