"""Los exploradores, todos: cómo están hechos, lo que guardan y que viven sin kernel."""

import json
import re
import shutil
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell
from test_browser import CLOSE, lab, write  # noqa: F401
from tools import notebooks

from course_lib import explorers
from course_lib.explorers import base
from course_lib.explorers.base import esm

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "course_lib" / "explorers"
PRETTIER = FOLDER / ".prettierrc"
WIDGETS = "application/vnd.jupyter.widget-state+json"
MAX_STATE = 140_000  # bytes de estado guardado por explorador

# Los que no se pueden crear sin decirles nada.
EXAMPLES = {
    "CrossAttentionExplorer": {
        "source_tokens": ["dog", "bone"],
        "seen": ["<inicio>"],
        "predicted": ["perro"],
        "weights": [[[0.9, 0.1]]],
    }
}

each_class = pytest.mark.parametrize("name", explorers.__all__)


def saved_explorers(path):
    """Los exploradores guardados en un cuaderno: el estado de cada uno."""
    widgets = notebooks.read(path).metadata.get("widgets", {}).get(WIDGETS, {})
    states = [model["state"] for model in widgets.get("state", {}).values()]
    return [state for state in states if "_esm" in state]


LESSONS = [path for path in notebooks.course_notebooks() if saved_explorers(path)]
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@each_class
def test_it_has_a_sentence_and_a_docstring(name):
    first, second = (getattr(explorers, name)(**EXAMPLES.get(name, {})) for _ in range(2))
    assert repr(first) == repr(second) == first.describe()
    assert 40 <= len(repr(first)) <= 600
    assert getattr(explorers, name).__doc__


@each_class
def test_changing_a_trait_never_breaks_it(name):
    """Un error en lo que se ejecuta al cambiar un control no se ve en el cuaderno: aquí, sí."""
    explorer = getattr(explorers, name)(**EXAMPLES.get(name, {}))
    for trait in explorer.traits(sync=True):
        if not trait.startswith("_") and trait not in ("layout", "tabbable", "tooltip"):
            explorer.notify_change(
                {"name": trait, "old": None, "new": getattr(explorer, trait), "owner": explorer,
                 "type": "change"}
            )  # fmt: skip
    assert explorer.describe()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_javascript_brings_nothing_from_outside_and_writes_no_html(path):
    text = path.read_text(encoding="utf-8")
    urls = re.findall(r"https?://[^'\"\s]+", text)
    assert [url for url in urls if not url.startswith("http://www.w3.org/")] == []
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in text
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\(|XMLHttpRequest", text, re.MULTILINE)


@pytest.mark.parametrize(
    "path", sorted([*FOLDER.glob("*.js"), *FOLDER.glob("*.css")]), ids=lambda path: path.name
)
def test_its_files_are_tidy(path):
    """Lo que se puede exigir sin node: del formato entero se encarga prettier (CONTRIBUTING.md)."""
    widest = int(re.search(r"^printWidth: (\d+)$", PRETTIER.read_text("utf-8"), re.MULTILINE)[1])
    assert widest <= 120
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    lines = enumerate(text.splitlines(), 1)
    untidy = [n for n, x in lines if len(x) > widest or "\t" in x or x != x.rstrip()]
    assert untidy == [], (
        f"{path.name}, líneas {untidy}: más de {widest} columnas, o espacios de más"
    )


@each_lesson
def test_saved_code_is_todays(path):
    """Si cambia el JavaScript o el CSS: «python curso.py cuadernos --exploradores»."""
    for state in saved_explorers(path):
        module = state["_anywidget_id"].split(".")[-2]
        assert state["_esm"] == esm(module), module
        assert state["_css"] == (FOLDER / "explorador.css").read_text(encoding="utf-8")


@each_lesson
def test_saved_state_is_small(path):
    for state in saved_explorers(path):
        assert len(str(state).encode()) <= MAX_STATE, state["_anywidget_id"]


# --- Ponerlos al día sin ejecutar -----------------------------------------------------------------


@each_class
def test_refreshed_code_is_what_executing_saves(name):
    """Lo que escribe «--exploradores» es lo que un explorador recién creado manda a la página."""
    state = getattr(explorers, name)(**EXAMPLES.get(name, {})).get_state()
    files = notebooks._explorer_files(state["_anywidget_id"])
    assert files == {key: state[key] for key in ("_esm", "_css")}


def copy_of(path, folder):
    """Una copia del cuaderno: su ruta y su texto."""
    copied = Path(shutil.copy(path, folder))
    return copied, copied.read_text(encoding="utf-8")


@each_lesson
def test_refreshing_changes_the_code_and_nothing_else(path, tmp_path, monkeypatch):
    """Con otro JavaScript y otro CSS, cambian ellos y ni un byte más."""
    copied, before = copy_of(path, tmp_path)
    old = [{key: state[key] for key in ("_esm", "_css")} for state in saved_explorers(path)]
    shutil.copytree(FOLDER, tmp_path / "explorers")
    monkeypatch.setattr(base, "HERE", tmp_path / "explorers")
    for file in (*base.HERE.glob("*.js"), *base.HERE.glob("*.css")):
        file.write_text(f"/* «nuevo» */\n{file.read_text('utf-8')}", encoding="utf-8")

    assert notebooks.main(["--exploradores", str(copied)]) == 0
    expected = before
    for texts, state in zip(old, saved_explorers(copied), strict=True):
        assert state["_esm"] == base.esm(state["_anywidget_id"].split(".")[-2])
        for key, text in texts.items():
            assert state[key].startswith("/* «nuevo» */\n")
            was, now = (json.dumps(x, ensure_ascii=False) for x in (text, state[key]))
            expected = expected.replace(was, now)
    assert copied.read_text(encoding="utf-8") == expected != before
    assert notebooks.file_problems(copied) == notebooks.file_problems(path) == []


def test_refreshing_leaves_the_rest_alone(tmp_path, capsys):
    """Un cuaderno sin controles, o con los de hoy, no se escribe."""
    for path in (ROOT / "notebooks" / "07_multi_cabeza_a_mano.ipynb", LESSONS[0]):
        copied, _ = copy_of(path, tmp_path)
        untidy = json.dumps(json.loads(copied.read_text(encoding="utf-8"))).encode()
        copied.write_bytes(untidy)  # si se escribiera, quedaría como lo escribe nbformat
        assert notebooks.main(["--exploradores", str(copied)]) == 0
        assert copied.read_bytes() == untidy
    assert capsys.readouterr().out.count("ya estaba así") == 2


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("mask.MaskExplorer", "mask.Tapador", r"mask\.Tapador: vuelve a ejecutarlo"),
        ("mask.MaskExplorer", "tapas.MaskExplorer", r"tapas\.MaskExplorer: vuelve a ejecutarlo"),
        ('"execution_count": 1,', '"execution_count": 9,', "no está en forma normal"),
    ],
)
def test_what_cannot_be_refreshed_is_said_and_stays(was, now, words, tmp_path, capsys):
    """Un explorador que ya no existe, o un cuaderno a medias: una frase, y el archivo, intacto."""
    copied, text = copy_of(ROOT / "notebooks" / "04_mascaras.ipynb", tmp_path)
    broken = text.replace(was, now).replace("// Lo que comparten", "// Lo viejo que comparten")
    assert broken.count("Lo viejo") == 1
    copied.write_text(broken, encoding="utf-8")
    assert notebooks.main(["--exploradores", str(copied)]) == 1
    out = capsys.readouterr().out
    assert re.search(words, out), out
    assert "no se ha tocado" in out
    assert copied.read_text(encoding="utf-8") == broken


@each_class
def test_it_stands_in_its_lessons_with_a_question(name):
    """El README dice en qué lecciones está, y en ellas hay una pregunta justo antes."""
    row = re.search(
        rf"^\| `{name}` \|([^|]*)\|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    found = []
    for path in notebooks.course_notebooks():
        question = False  # en el último texto
        for cell in notebooks.read(path).cells:
            if cell.cell_type == "markdown":
                question = re.search(r"\*\*Antes de ejecutar:\*\*.*¿.*\?", cell.source, re.DOTALL)
            elif re.search(rf"\b{name}\(", cell.source):
                found.append(path.stem[:2])
                assert question
    assert list(dict.fromkeys(found)) == re.findall(r"\d\d", row[1]) != []


# --- En un navegador ------------------------------------------------------------------------------


def controls(explorer):
    """Los controles de un explorador que se manejan igual en todos."""
    return explorer.locator("input[type=range], input[type=checkbox], button:enabled").all()


def answers(page, explorer, control):
    """Dice si tocar un control con el teclado cambia lo que se lee: como mucho, en un segundo."""
    before = explorer.inner_text()
    control.focus()
    is_range = control.get_attribute("type") == "range"
    page.keyboard.press("ArrowRight" if is_range else "Space")
    for _ in range(20):
        if explorer.inner_text() != before:
            return True
        page.wait_for_timeout(50)
    return False


OPEN_SAVED = """async path => {
    const options = {path, factory: 'Notebook'};
    const panel = await jupyterapp.commands.execute('docmanager:open', options);
    await panel.context.ready;
    await panel.sessionContext.ready;
    jupyterapp.shell.activateById(panel.id);
    window.lesson = panel;
}"""

# Lo que se ve en las celdas con controles, que se ponen antes a la vista.
PLACES = """async () => {
    const places = [];
    for (const [index, cell] of lesson.content.widgets.entries()) {
        const outputs = cell.model.type === 'code' ? cell.model.outputs.toJSON() : [];
        const kind = 'application/vnd.jupyter.widget-view+json';
        if (!outputs.some(output => output.data?.[kind])) continue;
        await lesson.content.scrollToItem(index, 'start');
        const texts = [...cell.node.querySelectorAll('.jp-OutputArea-output')].map(
            node => node.querySelector('.exp') ? 'explorador' : node.textContent.trim());
        places.push(...texts);
    }
    return places;
}"""


# Lo que Jupyter deja en el sitio de un control cuyo estado no encuentra.
LOADING, LOST = "Loading widget...", "Error displaying widget: model not found"


def show_saved(lab, path, total):  # noqa: F811
    """Abre un cuaderno y espera a sus exploradores guardados. Devuelve lo que se ve en su sitio.

    Jupyter pregunta por sus controles al kernel y solo después lee los guardados. Si una celda se
    dibuja entre una cosa y otra, o si la pregunta se queda sin respuesta, no los enseña nunca, y
    hay que cerrar el cuaderno y abrirlo otra vez. Los que de verdad no están no salen ninguna vez.
    """
    for _ in range(4):
        lab.page.evaluate(OPEN_SAVED, path)
        for _ in range(60):  # 15 segundos, por lo menos
            places = lab.page.evaluate(PLACES)
            if places.count("explorador") == total or LOST in places:
                break
            lab.page.wait_for_timeout(250)
        if not {LOADING, LOST} & set(places):
            break
        lab.page.evaluate(CLOSE)
    return places


@pytest.mark.navegador
@each_lesson
def test_it_lives_with_no_kernel(lab, path):  # noqa: F811
    """Con el cuaderno guardado y de confianza, el explorador se ve y responde sin ejecutar nada."""
    path_in_lab = path.relative_to(ROOT)
    lab.restore(path_in_lab)
    notary = NotebookNotary(data_dir=str(lab.folder.parent / "jupyter" / "data"))
    notebook = notebooks.read(path)
    notary.sign(notebook)
    page = lab.page
    try:
        total = len(saved_explorers(path))
        places = show_saved(lab, path_in_lab.as_posix(), total)
        assert places.count("explorador") == total, places
        page.wait_for_function("lesson.sessionContext.session?.kernel")
        page.evaluate("lesson.sessionContext.shutdown()")
        page.wait_for_function("!lesson.sessionContext.session?.kernel")
        explorers = page.locator(".exp").all()
        assert len(explorers) == total
        for explorer in explorers:
            explorer.wait_for(timeout=20_000)
            assert any(answers(page, explorer, control) for control in controls(explorer))
    finally:
        page.evaluate(CLOSE)
        notary.unsign(notebook)
        notary.store.close()


@pytest.mark.navegador
def test_the_notebook_can_be_saved_from_a_control(lab):  # noqa: F811
    """Las flechas son del explorador; Ctrl + S, de JupyterLab."""
    path = write(lab, new_code_cell("from course_lib.explorers import *\nSoftmaxExplorer()"))
    assert lab.faults(path) == []
    page = lab.page
    control = page.locator(".exp input[type=range]").first
    control.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("lesson.content.model.dirty")
    page.keyboard.press("Control+s")
    page.wait_for_function("!lesson.content.model.dirty")
    before, active = control.input_value(), "lesson.content.activeCellIndex"
    cell = page.evaluate(active)
    page.keyboard.press("ArrowRight")
    assert control.input_value() != before
    assert page.evaluate(active) == cell
    assert lab.messages == []
    lab.close()


# Un modelo como el de los controles de Jupyter, para verlos en una página sin Jupyter.
SHOW = """async states => {
    for (const state of states) {
        const style = document.createElement('style');
        style.textContent = state._css;
        const el = document.createElement('div');
        document.body.append(style, el);
        const listeners = {};
        const model = {
            get: name => state[name],
            set: (name, value) => {
                if (JSON.stringify(value) === JSON.stringify(state[name])) return;
                state[name] = value;
                (listeners[`change:${name}`] ?? []).forEach(listener => listener());
            },
            on: (name, listener) => { (listeners[name] ??= []).push(listener); },
            off: (name, listener) => {
                listeners[name] = (listeners[name] ?? []).filter(other => other !== listener);
            },
            save_changes: () => {},
        };
        const text = new Blob([state._esm], {type: 'text/javascript'});
        const module = await import(URL.createObjectURL(text));
        module.default.render({model, el});
    }
}"""

# Lo que se sale de su explorador, salvo lo que se desliza dentro de su propia caja.
CUT = """() => [...document.querySelectorAll('.exp')].flatMap(root => {
    const right = Math.min(innerWidth, root.getBoundingClientRect().right) + 1;
    return [...root.querySelectorAll('*')].filter(node => {
        for (let up = node.parentElement; up !== root.parentElement; up = up.parentElement)
            if (['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return false;
        return node.getBoundingClientRect().right > right;
    }).map(node => `${root.className}: ${node.tagName} ${node.className} ${node.textContent.slice(0, 30)}`);
})"""


@pytest.mark.navegador
@each_lesson
def test_it_lives_in_an_exported_page_at_200_percent(lab, path):  # noqa: F811
    """Una lección exportada a HTML lleva sus exploradores: en una página estrecha, responden."""
    html, _ = HTMLExporter().from_filename(str(path))
    script = rf'<script type="{re.escape(WIDGETS)}">(.*?)</script>'
    saved = json.loads(re.search(script, html, re.DOTALL)[1])["state"].values()
    states = [model["state"] for model in saved if "_esm" in model["state"]]
    assert len(states) == len(saved_explorers(path))

    page = lab.page.context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: message.type == "error" and faults.append(message.text))
    page.set_viewport_size({"width": 640, "height": 450})  # 1280 × 900, ampliado al 200 %
    page.emulate_media(reduced_motion="reduce")
    page.goto("about:blank")
    page.evaluate(SHOW, states)
    found = page.locator(".exp").all()
    assert len(found) == len(states)
    for explorer in found:
        assert any(answers(page, explorer, control) for control in controls(explorer))
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.getAnimations().length") == 0
    assert faults == lab.outside == []
    page.close()
