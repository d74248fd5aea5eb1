"""Los exploradores, todos: cómo están hechos, lo que guardan y que viven sin kernel."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest
import torch
from helpers_browser import ROOT, write
from helpers_explorers import (
    CUT, FOLDER, LESSONS, SAVED, SHOW, WIDGETS, answers, controls, drawn, refuses, saved_explorers,
)  # fmt: skip
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell
from tools import explorer_pictures, notebooks

from course_lib import explorers, load_translator
from course_lib.bert import extract_embeddings
from course_lib.explorers import base
from course_lib.explorers.attention import DEFAULT
from course_lib.explorers.base import esm
from course_lib.explorers.declared import Declared
from course_lib.translator import ALIGNMENT_LAYER
from sitio.explorers import program

MAX_STATE = 140_000  # bytes de estado guardado por explorador

# Los que no se pueden crear sin decirles nada.
EXAMPLES = {
    "CrossAttentionExplorer": {
        "source_tokens": ["dog", "bone"],
        "seen": ["<inicio>", "el", "perro"],
        "predicted": ["el", "perro", "<fin>"],
        "weights": [[[0.9, 0.1]] * 3] * 4,
    }
}

each_class = pytest.mark.parametrize("name", explorers.__all__)
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@each_class
def test_it_has_a_sentence_and_a_docstring(name):
    first, second = (getattr(explorers, name)(**EXAMPLES.get(name, {})) for _ in range(2))
    assert repr(first) == repr(second) == first.describe()
    assert 40 <= len(repr(first)) <= 600
    assert getattr(explorers, name).__doc__


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_javascript_brings_nothing_from_outside_and_writes_no_html(path):
    text = path.read_text(encoding="utf-8")
    urls = re.findall(r"https?://[^'\"\s]+", text)
    assert [url for url in urls if not url.startswith("http://www.w3.org/")] == []
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in text
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\(|XMLHttpRequest", text, re.MULTILINE)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.stem}-{path.stem}")
def test_saved_code_is_todays_and_the_state_is_small(path):
    """Si cambia el JavaScript o el CSS: «python curso.py cuadernos --exploradores»."""
    for state in saved_explorers(path):
        module = state["_anywidget_id"].split(".")[-2]
        assert state["_esm"] == esm(module), module
        assert state["_css"] == base.css()
        assert len(str(state).encode()) <= MAX_STATE, module


def test_each_has_its_picture():
    """Si hay otros, o se ven distintos: «python tests/tools/explorer_pictures.py»."""
    files = {path.name: path.stat().st_size for path in explorer_pictures.FOLDER.glob("*.png")}
    assert sorted(files) == sorted(explorer_pictures.pictures())
    assert len(files) == sum(len(drawn(path)) for path in LESSONS)
    assert max(files.values()) <= explorer_pictures.MAX_BYTES


# --- Lo que vale y lo que no ----------------------------------------------------------------------

# De cada rasgo, sus dos puntas, enteras o con decimales, o lo que puede ser; al final, ``None`` si también vale.
# A mano: de lo que declara cada explorador saldría siempre bien.
YES_OR_NO = [False, True]
TAKES = {
    "AttentionExplorer": {
        "layer": (0, 5), "head": (0, 11), "query": (0, 11), "shown": (0, 1), "view": ["entero", "arcos"],
    },
    "BlocksExplorer": {"query": (0, 11), "block": (1, 12), "step": (0, 12), "causal": YES_OR_NO},
    "CrossAttentionExplorer": {"step": (0, 2), "head": (-1, 3)},
    "GeometryExplorer": {"asks": (0, 2), "scaled": YES_OR_NO, "part": ["producto", "pesos", "softmax", "salida"]},
    "InfluenceExplorer": {"token": (0, 11), "layers": (1, 3), "masked": YES_OR_NO},
    "LearningExplorer": {
        "scene": ["nace"], "positions": [True], "mask": [False], "scaled": [True], "birth": ["×1"],
        "rate": [0.001], "heads": [1], "seed": (0, 2), "step": (0, 300),
    },
    "LlmExplorer": {
        "layer": (0, 29, None), "temperature": (0.0, 2.0), "top_k": (1, 40, None), "top_p": (0.01, 1.0, None),
    },
    "MaskExplorer": {"padding": (1, 2), "convention": ["keep", "block", "additive"]},
    "MultiHeadExplorer": {"query": (0, 11), "head": (0, 11), "station": (1, 6)},
    "QKVExplorer": {"layer": (0, 5), "head": (0, 11), "query": (0, 11)},
    "SoftmaxExplorer": {"temperature": (0.1, 10.0), "shift": (-20.0, 20.0)},
}  # fmt: skip
# Los que piden algo más lo prueba cada uno; el que mira y escucha, con sus modelos pequeños, todos.
OWN = {
    "AttentionExplorer": {"sentences"}, "CrossAttentionExplorer": {"note", "sentence"},
    "GeometryExplorer": {"Q", "K", "V"}, "LlmExplorer": {"text", "written"},
    "MaskExplorer": {"words", "scores", "values", "mask"}, "MultiHeadExplorer": {"sentence", "muted"},
    "QKVExplorer": {"sentence"}, "SeeExplorer": {"layer", "head", "row"}, "SoftmaxExplorer": {"logits"},
}  # fmt: skip
KNOWN = [(name, trait, takes) for name in TAKES for trait, takes in TAKES[name].items()]


def beyond(takes):
    """Lo que no vale, por poco o por mucho; y lo que tiene que ser."""
    low, high, *empty = takes if isinstance(takes, tuple) else (0, 0)
    wrong = ["otra", b"a", [low], math.nan, math.inf, *([] if empty else [None])]
    if isinstance(takes, list):
        alike = [int(one) if isinstance(one, bool) else bool(one) for one in takes if isinstance(one, int)]
        return [*wrong, 7, *alike, *(f"{one} " for one in takes)], "uno de estos: "
    whole = isinstance(low, int)
    step = 1 if whole else 0.005
    wrong += [low - step, high + step, str(low), True, *([low + 0.5, float(low)] if whole else [])]
    return wrong, re.escape(f"un {'entero' if whole else 'número'} entre {low:g} y {high:g}".replace("-", "−"))


@pytest.mark.parametrize(("name", "trait", "takes"), KNOWN, ids=lambda one: one if isinstance(one, str) else "")
def test_it_takes_what_it_can_and_refuses_the_rest(name, trait, takes):
    """Ni al crearlo ni después; y sigue como estaba."""
    made = lambda **state: getattr(explorers, name)(**EXAMPLES.get(name, {}), **state)  # noqa: E731
    made.__name__, explorer = name, made()
    for value in takes:
        setattr(explorer, trait, value)
        assert getattr(explorer, trait) == value
        assert explorer.describe() == made(**{trait: value}).describe()
    wrong, wanted = beyond(takes)
    for value in wrong:
        shown = re.escape(f"{name}: {trait} = {value!r}, y tiene que ser ")
        refuses(made, trait, value, f"^{shown}{wanted}")


@each_class
def test_every_limit_is_tried(name):
    """Un rasgo nuevo pide su fila en ``TAKES`` o, si pide algo más, su prueba y su sitio en ``OWN``."""
    traits = getattr(explorers, name).class_traits(sync=True)
    declared = {trait for trait, one in traits.items() if isinstance(one, Declared)}
    own = set(traits) - set(base.anywidget.AnyWidget.class_traits(sync=True))
    # Con eco, lo que llega tarde desharía lo que la mano ya ha movido.
    assert [trait for trait in own if traits[trait].metadata.get("echo_update") is not False] == []
    assert declared == {*TAKES.get(name, ()), *OWN.get(name, ())}


SERVES = """([kind, state, tried]) => tried.map(([key, value]) =>
    course.serves(course.moves[kind][key].rule, value, state))"""
ALSO_TRIED = {  # de los que piden algo más, lo que vale en una dirección y lo que no
    "AttentionExplorer": {"frase": ([["a"], ["a", "b"]], [[], ["a", "b", "c"], ["a", " "], ["a" * 1001], "a", [3]])},
    "CrossAttentionExplorer": {"frase": (["a", "a" * 1000], ["", " ", "a" * 1001, 3, ["a"]])},
    "GeometryExplorer": {
        "Q": ([[[3, -3]] * 3], [[[1, 2]], [[1, 2], [1, 2], [1, 4]], [[1, 2, 3]] * 3, 7, [["1", 2]] * 3]),
        "V": ([[[-1, 2]] * 3], [[[-1.1, 2]] * 3, [[0, 2.1]] * 3]),
    },
    "MaskExplorer": {"mascara": ([[YES_OR_NO * 2] * 4], [[YES_OR_NO * 2] * 3, [YES_OR_NO] * 4, [[1, 0, 1, 0]] * 4])},
    "MultiHeadExplorer": {"apagadas": ([[], [11], [*range(12)]], [[12], [-1], [True], ["0"], 3, [0] * 13])},
    "SoftmaxExplorer": {"x": ([[-10, 10], [0] * 8], [[1], [0] * 9, [1, 11], [1, "2"], "123"])},
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES)
def test_an_address_takes_what_python_takes(browser, name):
    """Lo que de fuera pone una dirección del sitio no pasa de donde llega la mano."""
    kind, tried = getattr(explorers, name), []
    keys = {trait: one.key for trait, one in kind.class_traits().items() if getattr(one, "key", "")}
    for trait, takes in TAKES[name].items():
        same = lambda value: isinstance(value, bytes) or isinstance(value, float) and value.is_integer()  # noqa: E731
        wrong = [value for value in beyond(takes)[0] if not same(value)]  # en JSON no hay bytes, y 1.0 es 1
        tried += [(keys[trait], value, True) for value in takes if trait in keys]
        tried += [(keys[trait], value, False) for value in wrong if trait in keys]
    for key, (good, bad) in ALSO_TRIED.get(name, {}).items():
        tried += [(key, value, True) for value in good] + [(key, value, False) for value in bad]
    page = browser.new_page()
    page.add_script_tag(content=program())
    page.add_script_tag(path=ROOT / "sitio/web/enlaces.js")
    state = {key: value for key, value in kind(**EXAMPLES.get(name, {})).get_state().items() if key[0] != "_"}
    found = page.evaluate(SERVES, [name, state, [one[:2] for one in tried]])
    assert [one for one, good in zip(tried, found, strict=True) if one[2] != good] == []
    page.close()


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
            assert "/* «nuevo» */\n" in state[key]
            was, now = (json.dumps(x, ensure_ascii=False) for x in (text, state[key]))
            expected = expected.replace(was, now)
    assert copied.read_text(encoding="utf-8") == expected != before
    assert notebooks.file_problems(copied) == notebooks.file_problems(path) == []


@each_class
def test_it_stands_in_its_lessons_with_a_question(name):
    """Su página dice en qué lecciones está, y en ellas hay una pregunta justo antes."""
    page = (ROOT / "course_lib/explorers/README.md").read_text("utf-8")
    row = re.search(rf"^\| `{name}` \|([^|]*)\|", page, re.MULTILINE)
    found = []
    for path in filter(notebooks.is_lesson, notebooks.course_notebooks()):
        question = False  # en el último texto
        for cell in notebooks.read(path).cells:
            if cell.cell_type == "markdown":
                question = re.search(r"¿.*\?", cell.source, re.DOTALL)
            elif re.search(rf"\b{name}\(", cell.source):
                found.append(path.stem[:2])
                assert question
    assert list(dict.fromkeys(found)) == re.findall(r"\d\d", row[1])
    assert found


# --- En un navegador ------------------------------------------------------------------------------


def test_the_notebook_can_be_saved_from_a_control(lab):
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


@pytest.mark.parametrize("name", ["AttentionExplorer", "LlmExplorer", "MultiHeadExplorer", "QKVExplorer"])
def test_it_waits_with_patience(browser, name):
    """Si nadie contesta, lo dice; mientras algo dice por dónde va, como una descarga, no."""
    page = browser.new_page()  # en su propio contexto: el reloj de mentira es de todo el contexto
    page.clock.install(time=0)
    page.goto("about:blank")
    page.evaluate(SHOW, [getattr(explorers, name)().get_state()])
    page.clock.pause_at(3600)  # desde aquí solo pasa el tiempo que se le dice
    state = page.locator("[role=status]").first
    progress = "text => models[0].set('progress', text)"
    page.evaluate(progress, "De antes")  # no se ha pedido nada
    assert state.inner_text() == ""
    page.get_by_role("button", name="Calcular").click()
    assert state.inner_text() == "Calculando…"
    for size in (12, 20, 28):
        page.clock.run_for(9000)
        page.evaluate(progress, f"Descargo el modelo: {size} de 28 MB")
        assert state.inner_text() == f"Descargo el modelo: {size} de 28 MB"
    page.evaluate(progress, "")
    page.clock.run_for(9000)
    assert state.inner_text() == "Calculando…"
    page.clock.run_for(2000)
    assert state.inner_text().startswith("El kernel no contesta")
    page.evaluate("models[0].set('answered', models[0].get('request').serial)")
    assert state.inner_text() == ""
    page.clock.run_for(20_000)
    assert state.inner_text() == ""
    page.close()


def in_bert(shown, layer, head):
    read = extract_embeddings(DEFAULT[shown])
    return read.tokens[0], read.tokens[0], read.attentions[layer][0, head]


def translated(*heads):
    """El explorador de una traducción o, con sus cabezas, lo que da el modelo."""
    found = load_translator().translate("I sent my brother a letter.")
    read, wrote, weights = found.source_tokens, found.target_tokens, found.cross_attention[ALIGNMENT_LAYER]
    if heads:
        return wrote, read, weights[list(heads)].mean(0)
    return explorers.CrossAttentionExplorer(read, found.seen_tokens, wrote, weights)


TOLD = [  # el explorador, lo que le cambia la mano, qué tabla se lee, y lo que da el modelo
    (lambda: explorers.AttentionExplorer(view="arcos"), {}, 0, lambda: in_bert(0, 3, 1)),
    (lambda: explorers.AttentionExplorer(view="arcos"), {"shown": 1, "head": 4}, 0, lambda: in_bert(1, 3, 4)),
    (explorers.AttentionExplorer, {"layer": 5}, 1, lambda: in_bert(1, 5, 1)),
    (translated, {}, 0, lambda: translated(0, 1, 2, 3)),
    (translated, {"head": 2}, 0, lambda: translated(2)),
]


@pytest.mark.parametrize(("made", "moved", "which", "given"), TOLD)
def test_a_screen_reader_reads_the_arcs_in_a_table(alone, made, moved, which, given):
    page = alone(made())
    page.evaluate("traits => Object.entries(traits).forEach(pair => models[0].set(...pair))", moved)
    table = page.get_by_role("table", name=re.compile("^Los pesos.*cada fila")).nth(which)
    *names, weights = given()
    assert [table.get_by_role(role).all_inner_texts() for role in ("rowheader", "columnheader")] == names
    rows = [row.split("\t")[1:] for row in table.get_by_role("row").all_inner_texts()[1:]]
    told = torch.tensor([[float(cell) for cell in row] for row in rows])
    torch.testing.assert_close(told, weights.detach(), atol=0.0051, rtol=0)


def test_the_widest_fit_a_narrow_page(alone):
    widest = explorers.BlocksExplorer(block=12), explorers.QKVExplorer("dog " * 22)
    page = alone(*widest, viewport={"width": 360, "height": 800})
    sizes = page.locator(".exp").evaluate_all("all => all.map(n => [n.clientWidth, n.scrollWidth])")
    assert len(sizes) == 2
    assert all(inside <= box for box, inside in sizes)


@pytest.mark.turnos
@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.stem, marks=() if path.stem[:2] == "05" else pytest.mark.lenta)
    for path in LESSONS
])  # fmt: skip
def test_it_lives_in_an_exported_page_at_200_percent(lab, path):
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
