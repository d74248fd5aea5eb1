"""El sitio web: lo que se lee, lo que contesta, y que nada sale de él ni entra en él."""

import contextlib
import csv
import errno
import json
import re
from functools import partial
from types import SimpleNamespace
from unittest import mock
from urllib.parse import urlsplit

import pytest
from helpers_browser import PHONE, ROOT, audit
from helpers_explorers import CUT, LESSONS, answers, controls
from helpers_sitio import (
    LAPTOP, NOTEBOOKS, OPEN_ALL, SCROLL, SHIFTS, ask, broken_links, build, contents, explorers,
    prose, reading, serve, small_site, write,
)  # fmt: skip
from playwright.sync_api import expect
from sphinx.util.docutils import docutils_namespace
from test_ortografia import faults
from tools import page_cells
from tools.explorer_pictures import pictures

from course_checkers import Prediction
from course_checkers.engine.prediction import heard
from course_lib.explorers import AttentionExplorer
from course_tools import cells
from sitio import build as site
from sitio import conf
from sitio import notebook as pages
from sitio.exercises import elsewhere, runnable
from sitio.formulas import mathml

SOURCES = sorted([*NOTEBOOKS.rglob("*.ipynb"), *NOTEBOOKS.rglob("*.md")])
PAGES = [path.relative_to(NOTEBOOKS).with_suffix("").as_posix() for path in SOURCES]
DECKS = [name for name in PAGES if name.startswith("clases/")]
PAGES = [name for name in PAGES if name not in DECKS]
LESSON, CROSS = "05_atencion", "09_encoder_decoder"
DECK = f"clases/{LESSON}"
MARKUP = '<img src=x onerror="document.title=1"> it'
NEW = "The cat was hungry, so it ate the fish"
lenta, turnos = pytest.mark.lenta, pytest.mark.turnos


def read(name):
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))


def source(cell):
    return "".join(cell["source"])


# --- De un cuaderno a lo que se lee ---------------------------------------------------------------


def for_the_web(name, notebook=None, linked=frozenset()):
    """Las celdas que se leen en la web de un cuaderno, o del de verdad que se llama así."""
    notebook = notebook or read(name)
    pages.for_the_web(notebook, name, linked, {"05": "05_atencion", "07": "07_otra_cosa"})
    return notebook["cells"]


def markdown(text, id="aaaa", *tags):
    metadata = {"tags": list(tags)} if tags else {}
    cell = {"cell_type": "markdown", "id": id, "metadata": metadata}
    return cell | {"source": text.splitlines(True)}


def code(text, *outputs, **metadata):
    data = [{"output_type": "execute_result", "metadata": {}, "data": data} for data in outputs]
    cell = {"cell_type": "code", "id": f"c{text}", "metadata": metadata}
    return cell | {"source": [text], "outputs": data}


@pytest.mark.parametrize("name", [name for name in PAGES if name[:2].isdigit()])
def test_what_needs_a_kernel_is_not_there_and_the_rest_is(name):
    cells = for_the_web(name)
    assert "aún sin resolver" not in json.dumps(cells, ensure_ascii=False)
    expected = [
        cell["id"]
        for cell in read(name)["cells"]
        if not re.match("# Comprobación|show_progress|from course_checkers", source(cell))
    ]
    ids = [re.sub("-(abre|cierra|contesta|sale|guarda|responde|ejecuta|fuera)$", "", cell["id"]) for cell in cells]
    assert list(dict.fromkeys(ids)) == expected
    whole = [cell["id"] for cell in cells]
    hands = [before for before, one in zip(whole, whole[1:]) if one == f"{before}-ejecuta"]
    assert hands == [one for one in whole if one in runnable(name)]
    assert set(hands) == set(runnable(name))  # si no, python tests/tools/page_cells.py
    said = {one["id"].removesuffix("-fuera"): one["outputs"][0]["data"]["text/html"] for one in cells if one["id"].endswith("-fuera")}
    assert said == {id: f'<p class="elsewhere">{told}</p>' for id, told in elsewhere(name).items()}
    bare = [one for one in cells if source(one).startswith(pages.UNSEEN) or "preparar" in one["metadata"].get("tags", ())]
    assert bare and all("remove-input" in one["metadata"]["tags"] for one in bare)
    texts = "\n".join(map(source, cells))
    assert "Pista 3" in texts
    shown = [cell["outputs"][0]["data"]["text/html"] for cell in cells if cell["id"].endswith("-responde")]
    assert all("# Ejercicio " in text for text in shown)
    assert texts.count("Se hacen aquí") == 1


def test_the_solutions_keep_their_checks():
    name = f"soluciones/{LESSON}"
    assert len(for_the_web(name)) == len(read(name)["cells"])


def test_a_link_to_a_cell_arrives_at_it():
    there = markdown("## El lugar", "b0b0b0b0")
    away = markdown("Mira [allí](../07_otra_cosa.ipynb#cell-id=b0b0b0b0).")
    shown = code("x", {"text/html": '<a href="07_otra_cosa.ipynb#cell-id=b0b0b0b0">a</a>'})
    linked = pages.linked_cells(map(source, [there, away]))
    (target,) = for_the_web("07_otra_cosa", {"cells": [there], "metadata": {}}, linked)
    name = re.match(r"\(([\w-]+)\)=\n## El lugar", source(target))[1]
    link, output = for_the_web("05_x", {"cells": [away, shown], "metadata": {}}, linked)
    assert source(link) == f"Mira [allí](#{name})."
    assert f'href="07_otra_cosa.html#{name}"' in json.dumps(output).replace("\\", "")
    other = {"cells": [markdown("x", "b0b0b0b0")], "metadata": {}}
    (plain,) = for_the_web("06_otra", other, linked)
    assert source(plain) == "x"  # ese id es de otro cuaderno


@pytest.mark.parametrize(("text", "shown"), [
    ("El decoder de la lección 10.", "El decoder de la lección 10."),
    ("La lección 07.", "La [lección 07](../07_otra_cosa.ipynb)."),
    ("De la [lección 05](05_atencion.ipynb), `lección 05`.", "De la [lección 05](05_atencion.ipynb), `lección 05`."),
])
def test_a_lesson_by_its_number_is_a_link(text, shown):
    (cell,) = for_the_web("soluciones/05_x", {"cells": [markdown(text)], "metadata": {}})
    assert cell["source"] == shown


@pytest.mark.parametrize(("text", "shown"), [
    ("Uno. Pulsa <kbd>Mayús</kbd>. Dos.\n\nCierra con `python curso.py abrir`.", "Uno. Dos.\n"),
    ("- Uno.\n- Su comprobación es la celda siguiente.\n- Dos.", "- Uno.\n- Dos."),
    ("Pulsa *Lo digo*. Con <kbd>Tab</kbd> se entra.\n\nFin", "Pulsa *Lo digo*.\n\nFin"),
])  # fmt: skip
def test_what_hands_do_in_jupyterlab_is_not_told(text, shown):
    (cell,) = for_the_web("05_x", {"cells": [markdown(text)], "metadata": {}})
    assert cell["source"] == shown


def test_what_a_prediction_answers_waits_too():
    """La que se contesta se ve; lo que sale en la celda de debajo, no. Y no lleva foto."""
    state = Prediction("05.3").get_state()
    metadata = {"widgets": {pages.STATES: {"state": {"m": {"state": state}}}}}
    view = {pages.WIDGET: {"model_id": "m"}, "text/plain": "¿Quién?\n  ○ bone"}
    given = [code("1", {}), code("2", view, tags=[cells.PREDICTION]), code("3", {})]
    given += [markdown("Sale dog.\n\n## Fin"), code("4", {})]
    shown = for_the_web("05_x", {"cells": given, "metadata": metadata})
    told = [source(cell).partition("\n")[0] for cell in shown]
    assert told == ["1", "2", "3", pages.OPEN, "3", "Sale dog.", pages.CLOSE, "## Fin", "4"]
    html = shown[1]["outputs"][0]["data"]["text/html"]
    assert re.search('data-explorer="Prediction"[^>]*><p>¿Quién?\n  ○ bone</p>'.replace("?", "[?]"), html)


def waiting(cells):
    """Las celdas que esperan detrás de «Ver qué sale»."""
    inside = False
    for cell in cells:
        inside = (inside or source(cell) == pages.OPEN) and source(cell) != pages.CLOSE
        if inside and source(cell) != pages.OPEN:
            yield cell


LINE, ASKS = "@your_line\ndef dot(u, v):\n    return ...", 'Prediction("05.1")'


@pytest.mark.parametrize(("between", "hidden"), [
    (["Escribe `dot`.", LINE, "x", 'reveal("05.1", "8")', "Sigue."], ["x", 'reveal("05.1", "8")']),
    (["Empieza.", "y", "Escribe `dot`.", LINE, "Ahora.", 'dibuja; reveal("05.1", "8")', "Ocho."],
     ['dibuja; reveal("05.1", "8")', "Ocho."]),
    (["mueve", "Con lápiz.", "y", "Ahora.", 'dibuja; reveal("05.1", "8")', "Ocho."],
     ['dibuja; reveal("05.1", "8")', "Ocho."]),
    (["x", 'reveal("05.1", "8")', "Ocho.\n\nEscribe `dot`.", LINE], ["x", 'reveal("05.1", "8")', "Ocho."]),
    (["x", 'reveal("05.1", "8")', "Escribe `dot`.", LINE, "Sigue."], ["x", 'reveal("05.1", "8")']),
])  # fmt: skip
def test_a_line_of_ones_own_is_asked_in_sight(between, hidden):
    """Lo que se pide escribir, y su celda, se leen sin abrir nada; lo que descubre la respuesta, no."""
    state = Prediction("05.1").get_state()
    metadata = {"widgets": {pages.STATES: {"state": {"m": {"state": state}}}}}
    view = {pages.WIDGET: {"model_id": "m"}, "text/plain": "¿Cuál?"}
    given = [code(ASKS, view, tags=[cells.PREDICTION])]
    for text in between:
        is_text, quiet = text.endswith(".") and "\ndef" not in text, text.startswith("reveal")
        shows = view if text == "mueve" else {}
        given.append(markdown(text) if is_text else code(text, *[shows] * (not quiet)))
    shown = for_the_web("05_x", {"cells": given, "metadata": metadata})
    assert [source(cell).strip() for cell in waiting(shown)] == hidden


@pytest.mark.parametrize("name", [name for name in PAGES if name[:2].isdigit()])
def test_no_line_of_ones_own_waits_for_a_prediction(name):
    hidden = [cell["id"].removesuffix("-contesta") for cell in waiting(for_the_web(name))]
    texts = {cell["id"]: source(cell) for cell in waiting(for_the_web(name))}
    given = read(name)["cells"]
    lines = [i for i, cell in enumerate(given) if pages.YOURS in source(cell) and cell["cell_type"] == "code"]
    assert len(lines) == 3 * (int(name[:2]) in (*range(1, 8), 16))
    for i in lines:
        assert given[i]["id"] not in hidden
        asked = source(given[i - 1]).strip().rpartition("\n")[2]
        assert asked not in texts.get(given[i - 1]["id"] + "-contesta", "")


def test_a_title_after_a_prediction_keeps_its_anchor():
    given = [code(ASKS, tags=[cells.PREDICTION]), code("2", {}), markdown("## Título", "b0")]
    shown = for_the_web("05_x", {"cells": given, "metadata": {}}, {("05", "b0")})
    assert [source(cell) for cell in shown[-2:]] == [pages.CLOSE, "(celda-05-b0)=\n## Título"]


def test_what_a_cell_is_is_read_in_its_tags():
    """Con el texto de siempre y sin etiquetas, nada se quita ni se pliega; con ellas, sí."""
    said = "## Para profundizar: pruébalo", "## Ejercicios", "show_progress(5)", "Cuando esté resuelto"
    tags = cells.TRY, cells.EXERCISES, cells.CHECKING, cells.UNSOLVED
    for marked in (False, True):
        given = [markdown(text, f"b{i}", *tags[i : i + marked]) for i, text in enumerate(said[:2])]
        for text, tag in zip(said[2:], tags[2:]):
            given.append(code(text, {}, tags=[tag] if marked else []))
        shown = for_the_web("05_x", {"cells": given, "metadata": {}})
        texts = [source(cell) for cell in shown]
        assert (f"% {pages.FOLDS}" in texts[0]) == marked == ("abre el curso" in texts[0])
        assert ("Se hacen aquí" in texts[1]) == marked
        assert (said[2] in texts) != marked
        assert (shown[-1]["outputs"] == []) == marked
        assert not marked or shown[-1]["metadata"] == {"tags": []}  # en la página no pone nada


def test_the_state_of_an_explorer_closes_nothing():
    state = {"_anywidget_id": "course_lib.explorers.x.XExplorer", "_esm": "a < b", "_view": 1}
    state["sentences"] = ["</script><img src=x>", "<!--", "ñ & «»"]
    view = {pages.WIDGET: {"model_id": "m"}, "text/plain": ['Frase: "</p><b>"']}
    widgets = {pages.STATES: {"state": {"m": {"state": state}}}}
    notebook = {"cells": [code("x", view)], "metadata": {"widgets": widgets}}
    ((output,),) = (cell["outputs"] for cell in for_the_web("05_x", notebook))
    text = output["data"]["text/html"]
    packed = re.search(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)[1]
    assert "<" not in packed
    assert json.loads(packed) == {"sentences": state["sentences"]}  # su programa, aparte
    assert "<b>" not in text
    assert output["data"].keys() == {"text/html"}


# --- El generador ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    return small_site()


def test_a_build_leaves_the_notebooks_as_they_were(small):
    folder, before = small
    assert contents(NOTEBOOKS) == before
    assert {path.name for path in folder.parent.iterdir()} <= {"_sitio", "jupyter_execute"}


def test_no_formula_is_left_in_one_line_or_in_latex():
    texts = "\n".join(path.read_text("utf-8") for path in NOTEBOOKS.rglob("*.ipynb"))
    found = {json.loads(f'"{one}"') for one in re.findall(r"\$\$(.*?)\$\$", texts)}
    wrong = [one for one in found if re.search(r"newline|\dpt<|<m[io]>\\\\", mathml(one, True))]
    assert len(found) > 60 and not wrong, wrong


def test_the_pieces_add_up(small):
    (folder,) = (small[0] / "modelos").iterdir()
    assert f'data-version="{folder.name}"' in (small[0] / f"{LESSON}.html").read_text("utf-8")
    piece = re.compile(rb"course\.piece\('(.+?)', '(.*)'\);\n", re.DOTALL)
    files = [path.read_bytes() for path in folder.rglob("*.js")]
    arrived = dict(piece.fullmatch(text).groups() for text in files)
    names = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.js")}
    letters = {b"n": b"\n", b"r": b"\r"}
    plain = partial(re.compile(rb"\\(.)", re.DOTALL).sub, lambda one: letters.get(one[1], one[1]))
    data = {name.decode(): plain(text) for name, text in arrived.items()}
    sizes = json.loads(data.pop("indice"))
    assert sizes == {name: len(one) for name, one in data.items()}
    assert {*data, "indice"} == names
    assert sum(map(len, files)) <= 1.04 * sum(map(len, data.values()))  # lo mismo que sus bytes
    weights = [data[name] for name in sizes if name.startswith("traductor/pesos-")]
    original = ROOT / "course_lib/translator_model/model.safetensors"
    assert b"".join(weights) == original.read_bytes()


def test_the_search_knows_what_is_read_in_each_section(small):
    text = (small[0] / "searchindex.js").read_text("utf-8")
    texts = json.loads(re.match(r"Search\.texts = (.*);\n", text)[1])
    assert {f"{LESSON}", f"{LESSON}#resumen", f"{CROSS}#resumen"} < texts.keys()
    assert not [name for name in texts if name.startswith("clases/")]
    assert texts[LESSON].startswith(texts[f"{LESSON}#en-esta-leccion"][:20])  # su título no tiene texto
    read = " ".join(texts.values())
    assert "√dk" in read
    assert not re.search(r"\\[a-z]{2}|\bimport\b|\$|<(div|img|span)|Mapa de calor", read)


def test_what_is_changed_has_to_be_there(tmp_path):
    path = tmp_path / "a.js"
    path.write_text("uno dos", encoding="utf-8")
    site.replace(path, re.compile("d.s"), "tres")
    assert path.read_text(encoding="utf-8") == "uno tres"
    with pytest.raises(SystemExit, match=r"a\.js ya no tiene d\.s: revisa"):
        site.replace(path, re.compile("d.s"), "tres")


def test_a_style_that_no_page_uses_is_left_out():
    words = {"used", "a", "x"}
    kept = ".used{color:red}", "p > a:hover{x:y}", "img:not(.no){x:y}", "@media print{.used{x:y}}"
    left = ".no{color:red}", "@media print{#no{x:y}}", ".used .no{x:y}"
    assert site.pruned("".join(kept + left), words) == "".join(
        f"{one}\n" for one in (*kept[:3], "@media print{.used{x:y}}")
    )


def test_a_page_carries_the_style_it_uses():
    """Con sus variables, la letra que está al lado y lo que ponen los programas: «b»."""
    style = """:root{--in: "a;b";--out: url("x;y");--chain: var(--end);--end: 1;--js: 2}
.a{color:var(--in);src:url('letra.woff2')}
.b{x:url("data:image/svg+xml,<svg>")}
.c{x:var(--chain)}
"""
    page = '<link rel="stylesheet" href="../_static/estilo.css"><p class="a">'
    made = site.dressed(page, style, {"b", "root", "--js"})
    rules = made[: made.index("</style>")].removeprefix("<style>\n").splitlines()
    assert rules == [
        ':root{--in: "a;b";--js: 2}',
        ".a{color:var(--in);src:url(../_static/letra.woff2)}",
        '.b{x:url("data:image/svg+xml,<svg>")}',
    ]
    with pytest.raises(SystemExit, match=r"estilo\.css"):
        site.dressed(page.replace("rel", "data-rel"), style, set())


@lenta
def test_a_page_only_runs_the_programs_it_was_made_with(browser, tmp_path):
    program = "<script>document.title += {}</script>"
    page = "<head><title>a</title>" + program.format(1) + "</head>"
    made = site.protect(page) + program.format(2)
    (tmp_path / "a.html").write_text(made, encoding="utf-8")
    outside = "https://example.org/a.png"
    broken = f"Content Security Policy|^{outside}$"
    with reading(browser, f"{tmp_path.as_uri()}/", "a.html", broken) as page:
        assert page.title() == "a1"
        with page.expect_event("requestfailed") as failed:
            page.evaluate("url => { new Image().src = url; }", outside)
        assert failed.value.failure == "csp"


# Lo que la página no puede decir: un artículo que no concuerda, o lo que solo hay en JupyterLab.
MISPLACED = re.compile(
    r"\b(del?|al|el|los|un|este|estos|otro) lecci(ón|ones)\b|\b(la|las|una|esta) cuadernos?\b"
    r"|Mayús\b|\bkernel\b|\bcelda de abajo\b",
    re.IGNORECASE,
)


def prose_faults(folder):
    """Las faltas de ortografía y de concordancia de las páginas ya hechas."""
    for path in sorted(folder.rglob("*.html")):
        if path.name == "search.html":
            continue
        pieces, code = prose(path)
        for piece in pieces:
            yield from (said for said in faults(piece) if re.search("«(.*?)»", said)[1] not in code)
            wrong = MISPLACED.search(piece.text)
            if wrong and wrong[0] != "de lección" and path.stem != "guia_docente":
                yield f"{path.name}: «{wrong[0]}», en «{piece.text[:100]}»"


def test_the_made_pages_are_well_written(small):
    assert list(prose_faults(small[0])) == []


@lenta
def test_every_made_page_is_well_written(whole):
    assert list(prose_faults(whole[0])) == []


# --- Cada día: unas pocas páginas, abiertas de la carpeta -----------------------------------------

# Lo que está mal a la vista en una página.
FAULTS = r"""async () => {
    const all = query => [...document.querySelectorAll(query)];
    const images = all('img');
    for (const image of images) image.loading = 'eager';
    await Promise.allSettled(images.map(image => image.decode()));
    const faults = {
        'no es el único título': all('h1').filter(node => node.checkVisibility()).slice(1),
        'no está en español': all('html:not([lang="es"])'),
        'no se describe': all('img:not([alt]), img[alt=""]').filter(
            image => !image.closest('.course-explorer')),  // lo cuenta la frase de al lado
        'no se ve': images.filter(image => !image.naturalWidth),
        'la fórmula no se entiende': all('merror, .math:not(:has(math > *))'),
        'no tiene norma': document.head.firstElementChild.httpEquiv ? [] : [document.head],
        'no dice nada': all('p, li, td').filter(
            node => /\bundefined\b|\[object /.test(node.innerText)),
    };
    return Object.entries(faults).flatMap(([what, nodes]) =>
        nodes.map(node => `${what}: ${node.outerHTML.slice(0, 200)}`));
}"""


@pytest.mark.parametrize("name", ["index", "glosario", LESSON, pytest.param(CROSS, marks=pytest.mark.lenta)])
def test_a_page_is_sound(browser, small, name):
    with reading(browser, f"{small[0].as_uri()}/", f"{name}.html") as page:
        assert bool(explorers(page)) == (name != "glosario")
        assert page.evaluate(FAULTS) == []
        assert (page.locator("math").count() > 10) == (name != "index")


def test_a_prediction_is_answered_in_the_page(browser, small):
    with reading(browser, f"{small[0].as_uri()}/", f"{LESSON}.html") as page:
        place = page.locator("[data-explorer=Prediction]").first
        place.scroll_into_view_if_needed()
        answers = place.locator("xpath=following::details[contains(@class, 'answer')]")
        assert [answers.nth(k).get_attribute("open") for k in range(2)] == [None, None]
        place.get_by_label("(0.5, 0.25, 0.25)").check()
        place.get_by_role("button", name="Lo digo").click()
        expect(place.locator(".exp-say")).to_have_text(heard("05.1", "(0.5, 0.25, 0.25)")[0])
        assert [answers.nth(k).get_attribute("open") for k in range(2)] == ["", None]  # la otra es de otra


ALONE = "exploradores/09-CrossAttentionExplorer.html"


def test_an_address_carries_what_the_hand_has_moved(browser, small):
    address = f"{small[0].as_uri()}/"
    with reading(browser, address, f"{ALONE}#paso=7&cabeza=2") as page:
        said = page.locator(".exp-say")
        expect(said).to_contain_text("Paso 8: ")
        page.get_by_role("slider", name="paso").press("ArrowLeft")
        expect(page).to_have_url(re.compile("#cabeza=2&paso=6$"))
        page.get_by_text("Enlace e incrustar").click()
        link, frame = (one.input_value() for one in page.locator(".course-link input").all())
        assert link == page.url
        assert frame.startswith(f'<iframe src="{page.url}" title="09 '.replace("&", "&amp;"))
    hostile = "#paso=1e9&cabeza=-7&otra=%3Cb%3E&__proto__=1&frase=%20&%E0%A4%A"
    with reading(browser, address, ALONE + hostile) as page:
        expect(page.locator(".course-note")).to_contain_text("algo que este explorador no tiene")
        state = "node => [node.model.get('step'), node.model.get('head'), node.querySelectorAll('b').length]"
        assert page.locator(".course-explorer").evaluate(state) == [0, -1, 0]


def test_a_class_is_walked_and_its_notes_are_apart(browser, small):
    with reading(browser, f"{small[0].as_uri()}/", f"{DECK}.html") as page:
        said, seen = page.locator(".mando output"), []
        for key in ("ArrowRight", " ", "PageDown", "ArrowLeft", "End", "ArrowRight", "Home"):
            page.keyboard.press(key)
            seen.append(int(said.inner_text().split()[0]))
        assert seen == [2, 3, 4, 3, 17, 17, 1]
        assert page.locator("section:visible").count() == 1
        assert "Minutos" not in page.content()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Notas").click()
        page.keyboard.press("PageDown")
        opened.value.wait_for_url("**-notas.html#2")
        expect(opened.value.locator(":target")).to_contain_text("Del minuto 2 al 4")
        page.evaluate("location.hash = 7")
        expect(page.get_by_text("puntuaciones: (2, 4, 5)")).to_be_hidden()  # hasta que se pide
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text("puntuaciones: (2, 4, 5)")).to_be_visible()
        page.get_by_role("button", name="Leer").click()
        assert page.locator("section:visible").count() == 17


def test_the_votes_of_a_poll_are_counted_and_kept(browser, small):
    with reading(browser, f"{small[0].as_uri()}/", f"{DECK}.html#4") as page:
        poll, there = page.locator(".ahora .votos"), page.locator(".mando output")
        boxes, totals = poll.get_by_role("spinbutton"), poll.get_by_role("status")
        page.keyboard.type("a12 B8c15\n5\n")  # con la letra, o con Intro
        page.keyboard.type("a4d30")
        for key in ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"):
            page.keyboard.press(key)  # son de la casilla
        assert there.inner_text() == "4 de 17"
        assert [box.input_value() for box in boxes.all()] == ["12", "8", "15", "5", "4", "", "", "31"]
        assert totals.all_inner_texts() == ["1.ª: 40", "2.ª: 35"]
        assert "37.5%" in boxes.nth(2).evaluate("box => getComputedStyle(box).backgroundImage")
        for key, number in ("PageDown", 5), ("ArrowRight", 6), ("PageUp", 5), ("a", 5), ("ArrowLeft", 4):
            page.keyboard.press(key)  # el mando anda siempre; y en otra diapositiva, todas las teclas
            assert there.inner_text() == f"{number} de 17"
        for number, votes in (11, "b7"), (4, ""):
            page.evaluate(f"location.hash = {number}")
            expect(there).to_have_text(f"{number} de 17")  # la página cambia un instante después
            page.keyboard.type(votes)
        page.reload()
        assert totals.all_inner_texts() == ["1.ª: 40", "2.ª: 35"]
        boxes.nth(1).fill("-8")
        with page.expect_download() as saved:
            poll.get_by_role("link", name="Guardar los votos").click()
        assert saved.value.suggested_filename == f"votos_{LESSON}.csv"
        _, *rows = csv.reader(saved.value.path().open(encoding="utf-8-sig"), delimiter=";")
        assert rows[0] == ["Encuesta · ¿Qué sale para hungry?", "Primera votación", "12", "0", "15", "5"]
        assert [row[2:] for row in rows[1:]] == [["4", "0", "0", "31"], ["0", "7", "0", "0"], ["0"] * 4]
        page.on("dialog", lambda asks: asks.accept())
        poll.get_by_role("button", name="Borrar").click()
        page.reload()
        boxes = page.locator(".votos input")
        expect(boxes.nth(9)).to_have_value("7")
        assert [box.input_value() for box in boxes.all()] == [*[""] * 9, "7", *[""] * 6]
        page.get_by_role("button", name="Leer").click()
        assert page.locator(".votos li:visible").count() == 8
        assert page.locator(".votos input:visible").count() == 0


def asking(page):
    """El explorador que pide algo, ya vivo."""
    explorers(page)
    return page.locator("[data-explorer=AttentionExplorer]")


def told(explorer):
    """Lo que en Python cuenta el explorador, tal como lo dice la página."""
    return explorer.describe().partition(f"posición {explorer.query}; ")[2]


def test_bert_reads_a_sentence_in_the_page(browser, small):
    python = AttentionExplorer()
    with reading(browser, f"{small[0].as_uri()}/", f"{LESSON}.html") as page:
        explorer = asking(page)
        said = explorer.locator(".exp-say")
        expect(said).to_contain_text("«it» mira a «dog» (0.53) y a «bone» (0.22)")
        assert ask(page, explorer, NEW, "") == ""
        python.request = {"serial": 1, "sentences": [NEW, ""]}
        expect(said).to_have_text(told(python))
        assert ask(page, explorer, MARKUP, "") == ""
        python.request = {"serial": 2, "sentences": [MARKUP, ""]}
        expect(said).to_have_text(told(python))
        assert "onerror" not in page.title() != "1"
        assert explorer.locator("img").count() == 0
        assert "vacía" in ask(page, explorer, " ", "")
        expect(said).to_have_text(told(python))  # sigue a la vista


# --- Las celdas de las lecciones, en la página ----------------------------------------------------


def others(browser, folder, name, chosen):
    """Las celdas que en la página no enseñan lo que está guardado."""
    with contextlib.closing(browser.new_page()) as page:
        page.set_default_timeout(120_000)
        page.goto(f"{folder.as_uri()}/{name}.html")
        alone = ["[w for w in (1, 2)], {w: w for w in 'a'}", ["w = nada"]]  # el nombre es suyo
        assert page.evaluate(page_cells.ASK, alone)["printed"] == "([1, 2], {'a': 'a'})\n"
        found = {key: (shown, problem, saved) for key, _, shown, problem, saved, _ in page_cells.in_page(page, name, chosen)}
    return {key: found.get(key) for key in chosen if key not in found or found[key][0] != found[key][2] or found[key][1]}


SOME = "linea-mix", "943a90de", "d6d9ed68", "dibuja-it", "0726a402", "05a70006"  # escribe, BERT, dibuja, un explorador, y lo que lee de él


def test_some_cells_give_in_the_page_what_is_saved(browser, small):
    assert others(browser, small[0], LESSON, SOME) == {}


@lenta
@turnos
@pytest.mark.parametrize("name", [name for name in PAGES if runnable(name)])
def test_the_cells_of_a_lesson_give_in_the_page_what_is_saved(browser, whole, name):
    assert others(browser, whole[0], name, runnable(name)) == {}


# --- Cada noche: el sitio entero, de la carpeta y de un servidor ----------------------------------

EXPLORERS = [path.stem for path in LESSONS]
WITH_BERT = "AttentionExplorer", "QKVExplorer", "MultiHeadExplorer"
SENTENCE = "The old dog slept"
TOP_SITE, TOP_PAGE = 95e6, 920e3  # bytes; en cada página, el explorador que aprende y las preguntas
ALL_ALONE = [f"exploradores/{name.removesuffix('.png')}" for name in pictures()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """El sitio entero: su carpeta, lo que se ha quejado Sphinx y su dirección de dos maneras."""
    folder = tmp_path_factory.mktemp("entero") / "_sitio"
    warnings = build(folder)
    with serve(folder) as served:
        yield folder, warnings, {"carpeta": f"{folder.as_uri()}/", "servidor": served}


@pytest.fixture(params=["carpeta", "servidor"])
def address(whole, request):
    return whole[2][request.param]


@lenta
def test_the_whole_site_is_made_without_warnings_and_fits(whole):
    folder, warnings, _ = whole
    assert warnings == 0
    assert broken_links(folder) == []
    made = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.html")]
    notes = [f"{name}-notas" for name in DECKS]
    assert sorted(made) == sorted([*PAGES, *DECKS, *notes, *ALL_ALONE, "search", "404"])
    assert (folder / ".nojekyll").is_file()
    for name in PAGES:
        text = (folder / f"{name}.html").read_text(encoding="utf-8")
        assert re.search(r'<meta name="description" content="[^"]{20,}"', text)
        assert re.search(r"Versión \d+\.\d+\.\d+(, del \d{4}-\d\d-\d\d)?\.", text)
    assert {path.name for path in folder.parent.iterdir()} == {"_sitio", "jupyter_execute"}
    assert sum(map(len, contents(folder).values())) <= TOP_SITE


@lenta
def test_a_published_site_has_its_map_and_no_trace_of_notes_or_solutions(tmp_path, monkeypatch):
    monkeypatch.setenv("CURSO_SITIO", "https://ejemplo.org/")
    monkeypatch.setattr(site, "SITE", tmp_path / "_sitio")
    monkeypatch.setattr(site, "SCRATCH", tmp_path / "_sitio.nuevo")
    with docutils_namespace():
        assert site.main(["--zip"]) == 0
    folder = tmp_path / "_sitio"
    text = (folder / f"{LESSON}.html").read_text(encoding="utf-8")
    assert 'og:image" content="https://ejemplo.org/_static/para-redes.png"' in text
    written = [p for p in folder.rglob("*") if p.suffix in (".html", ".xml") or p.name == "searchindex.js"]
    texts = "".join(p.read_text(encoding="utf-8") for p in written)
    assert f"{DECK}.html" in texts  # las clases están
    assert not re.search(r"soluciones/|-notas\b|<strong>Minutos:|>Notas<|intentado, mira", texts)
    assert broken_links(folder) == []
    assert f"https://ejemplo.org/{LESSON}.html<" in (folder / "sitemap.xml").read_text("utf-8")
    small, large = tmp_path / "_sitio_sin_modelos.zip", tmp_path / "_sitio.zip"
    assert small.stat().st_size < 45e6 < large.stat().st_size
    before = small.read_bytes()
    site.zip_site(small, {"modelos"})
    assert small.read_bytes() == before


def test_notes_and_solutions_are_only_where_they_are_asked_for(monkeypatch):
    done = []
    monkeypatch.setattr(site, "make", lambda place, task, *given: done.append((place.name, *given)))
    for name in ("serve", "zip_site"):
        monkeypatch.setattr(site, name, lambda *_: None)
    for asked in ("", "--ver --zip", "--con-notas", "--con-soluciones", "--ver"):
        site.main(asked.split())
    shared = [(False, False), (False, False), (True, False), (False, True)]
    assert done == [*(("_sitio", *one) for one in shared), ("_sitio_local", True, True)]


def test_the_lesson_and_its_class_say_the_task(monkeypatch, tmp_path):
    monkeypatch.setattr(site, "SCRATCH", tmp_path / "nuevo")
    monkeypatch.setattr(site, "build", lambda _, **settings: tasks.append(settings["homework"]) or 1 / 0)
    tasks = []
    with pytest.raises(ZeroDivisionError):  # hecho el encargo, se para
        site.main(["--ejercicios", "5.1", "5.3"])
    config = SimpleNamespace(homework=tasks[0], exclude_patterns=[])
    env = SimpleNamespace(doc2path=lambda name: NOTEBOOKS / f"{name}.ipynb", course_links=(set(), {}))
    for name in (LESSON, DECK):
        content = [(NOTEBOOKS / f"{name}.ipynb").read_text("utf-8")]
        conf.read_source(SimpleNamespace(config=config, env=env), name, content)
        assert content[0].count(f"**Para casa:** {tasks[0].text('05')}") == 1


@pytest.mark.parametrize(
    ("error", "said"), [(errno.EROFS, "No puedo escribir _sitio"), (errno.ENOSPC, "No queda sitio")]
)
def test_a_folder_that_cannot_be_written_is_told_in_one_sentence(monkeypatch, error, said):
    monkeypatch.setattr(site, "make", mock.Mock(side_effect=OSError(error, "x")))
    with pytest.raises(SystemExit, match=f"^{said}.*repi"):
        site.main([])


@lenta
def test_the_dark_page_is_printed_black_on_white(browser, whole):
    options = {"color_scheme": "dark"}
    with reading(browser, whole[2]["carpeta"], f"{LESSON}.html", **options) as page:
        page.emulate_media(media="print", color_scheme="dark")
        colors = "node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]"
        body = page.locator("article p").first.evaluate(colors)
        code = page.locator("article pre span").first.evaluate(colors)
        assert (body[0], *code) == ("rgb(0, 0, 0)", "rgb(0, 0, 0)", "rgb(255, 255, 255)")
        assert page.locator("body").evaluate(colors)[1] == "rgb(255, 255, 255)"


@lenta
def test_a_phone_reads_the_glossary_as_a_list_and_the_answer_stays(browser, whole):
    with reading(browser, whole[2]["carpeta"], "glosario.html", viewport=PHONE) as page:
        assert all(
            one.evaluate("n => n.getBoundingClientRect().right") <= 390
            for one in page.locator("#glosario td").all()[:20]
        )
    with reading(browser, whole[2]["carpeta"], f"{LESSON}.html", viewport=PHONE) as page:
        explorer = asking(page)
        explorer.get_by_role("button", name="cabeza 2", exact=True).scroll_into_view_if_needed()
        expect(explorer.locator(".exp-say")).to_be_in_viewport()


WIDER = """() => [...document.querySelectorAll('.bd-article :is(table, .text_html:has(table))')]
    .filter(node => node.scrollWidth > node.parentElement.clientWidth + 1).map(node => node.innerText.slice(0, 60))"""


@lenta
@pytest.mark.parametrize("name", ["guia_docente", "09_encoder_decoder", "14_leer_un_llm"])
def test_in_a_phone_every_table_fits(browser, whole, name):
    with reading(browser, whole[2]["carpeta"], f"{name}.html", viewport=PHONE) as page:
        page.evaluate(OPEN_ALL)
        page.wait_for_timeout(300)
        assert page.evaluate(WIDER) == []
        if name == "guia_docente":
            cell = page.locator(".cards td").nth(1)
            assert cell.evaluate("n => getComputedStyle(n, '::before').content") == '"minutos: "'


# Lo que se lee con una letra de menos de 11 píxeles, tal como se ve.
TINY = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
        const [text, node] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
        if (!text || !node.checkVisibility({visibilityProperty: true}) || node.closest('math, .visually-hidden')) continue;
        const {a, b} = node instanceof SVGElement ? node.getScreenCTM() : {a: node.currentCSSZoom ?? 1, b: 0};
        if (parseFloat(getComputedStyle(node).fontSize) * Math.hypot(a, b) < 10.95) found.push(text);
    }
    return found.concat([...document.querySelectorAll('p > img[src$=svg]')].filter(one => one.checkVisibility()
        && one.getBoundingClientRect().width < one.getAttribute('width') * 11 / 14 - 1).map(one => one.src));
}"""


@lenta
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index", "en_seis_minutos", "03_softmax_y_escalado", LESSON, "glosario"])
def test_every_letter_is_big_enough_and_no_name_is_broken(browser, whole, name, width):
    options = {"viewport": {"width": width, "height": 800}}
    with reading(browser, whole[2]["carpeta"], f"{name}.html", **options) as page:
        explorers(page)
        assert page.evaluate(TINY) == []
        spaces = "all => [...new Set(all.map(one => getComputedStyle(one).whiteSpace))]"
        assert page.locator(".cell_input pre").evaluate_all(spaces) in ([], ["pre"])


ROOMS = "all => all.map(getComputedStyle).map(one => parseFloat(one.paddingRight) / parseFloat(one.fontSize))"


@lenta
def test_a_formula_keeps_room_for_its_last_letter(browser, whole):
    """Chromium dibuja una letra inclinada más allá de su sitio, y corta lo que sale de la fórmula: «P» sería «F»."""
    with reading(browser, whole[2]["carpeta"], f"{LESSON}.html") as page:
        rooms = page.locator(".bd-article p math").evaluate_all(ROOMS)
    assert len(rooms) > 10
    assert min(rooms) >= 0.1


@lenta
def test_a_laptop_sees_the_whole_row_and_the_sentence_in_its_line(browser, whole):
    laptop = {"width": 1280, "height": 800}
    with reading(browser, whole[2]["carpeta"], "glosario.html", viewport=laptop) as page:
        room = "n => [n.scrollWidth, n.parentNode.clientWidth]"
        wide, box = page.locator("#glosario table").first.evaluate(room)
        assert wide <= box
    with reading(browser, whole[2]["carpeta"], "00_empieza_aqui.html", viewport=laptop) as page:
        asking(page).scroll_into_view_if_needed()
        words = page.locator(".a-words").first.locator("[role=radio]")
        expect(words).to_have_count(12)
        assert len({round(word.bounding_box()["y"]) for word in words.all()}) == 1


@lenta
def test_who_wants_no_motion_sees_a_still_picture(browser, whole):
    still = {"reduced_motion": "reduce"}
    with reading(browser, whole[2]["carpeta"], "01_producto_escalar.html", **still) as page:
        shown = "[...document.querySelectorAll('picture img')].map(n => n.currentSrc)"
        sources = page.evaluate(shown)
        assert sources
        assert not [one for one in sources if one.endswith(".gif")]


@lenta
@turnos
@pytest.mark.parametrize(
    ("address", "name"),
    [("carpeta", name) for name in (*PAGES, "search")]
    + [("servidor", name) for name in ("index", *EXPLORERS)],
    indirect=["address"],
)
def test_each_page_is_sound(browser, whole, address, name):
    """Sin faltas, cada control con su nombre, nada que salte ni se salga a ningún ancho; y, servida, ligera."""
    served = address.startswith("http")
    options = {"script": SHIFTS, "viewport": LAPTOP} if served else {"viewport": PHONE}
    with reading(browser, address, f"{name}.html", **options) as page:
        if served:
            page.evaluate(SCROLL)
            assert page.evaluate("shift") <= 0.1
        assert len(explorers(page)) >= (name in EXPLORERS)
        for width in () if served else (390, 768, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_timeout(200)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.evaluate(CUT) == []
        assert page.evaluate(FAULTS) == []  # trae todas las imágenes
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(({id}) => id)")
        assert sorted(ids) == sorted(set(ids))
        sliders = page.locator(".exp [type=range]").all()
        assert all(one.evaluate("node => node.labels.length === 1") for one in sliders)
        names = page.evaluate("performance.getEntriesByType('resource').map(({name}) => name)")
    if name not in EXPLORERS or not served:
        return
    paths = {urlsplit(url).path for url in [page.url, *names]}
    assert not [path for path in paths if "modelos" in path]
    assert len(paths) > 5
    own = [path for path in paths if not path.endswith((".png", ".svg", ".gif"))]
    assert sum((whole[0] / path[1:]).stat().st_size for path in own) <= TOP_PAGE
    assert not [path for path in own if "search" in path]  # el buscador, en su página


@lenta
@turnos
@pytest.mark.parametrize("name", ["index", *EXPLORERS])
def test_in_a_phone_nothing_jumps_while_one_scrolls(browser, whole, name):
    with reading(browser, whole[2]["servidor"], f"{name}.html", script=SHIFTS, viewport=PHONE) as page:
        page.evaluate(SCROLL)
        assert page.evaluate("shift") <= 0.1


SEEN = """async count => {
    const seen = [];
    for (let number = 1; number <= count; number++) {
        location.hash = number;
        await new Promise(done => setTimeout(() => requestAnimationFrame(done), 20));
        const {scrollWidth, scrollHeight} = document.scrollingElement;
        seen.push([parseInt(document.querySelector('.mando output').textContent), scrollWidth, scrollHeight]);
    }
    return seen;
}"""


@lenta
@turnos
@pytest.mark.parametrize("name", DECKS)
def test_each_slide_fits_and_is_printed_on_its_page(browser, whole, name):
    with reading(browser, whole[2]["carpeta"], f"{name}.html") as page:
        alive = "!document.querySelector('.course-explorer:not(.alive)')"
        page.wait_for_function(f"document.readyState === 'complete' && {alive}")
        count = page.locator("section").count()
        options = page.locator(".votos > ul:first-child > li").all_text_contents()
        assert "".join(text.strip()[0] for text in options) == "ABCDABCD"  # sus dos encuestas
        for viewport in ({"width": 1280, "height": 720}, PHONE):
            page.set_viewport_size(viewport)
            numbers, widths, heights = zip(*page.evaluate(SEEN, count), strict=True)
            assert numbers == (*range(1, count + 1),)
            assert max(widths) <= viewport["width"]
            assert max(heights) <= viewport["height"] or viewport is PHONE
        paper = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) == count


@lenta
@turnos
@pytest.mark.parametrize(
    ("address", "name"),
    [("carpeta", name) for name in EXPLORERS] + [("servidor", name) for name in (LESSON, CROSS)],
    indirect=["address"],
)
def test_each_explorer_answers(browser, address, name):
    with reading(browser, address, f"{name}.html") as page:
        for explorer in explorers(page):
            assert any(answers(page, explorer, control) for control in controls(explorer))
            kind, inputs = explorer.get_attribute("data-explorer"), explorer.locator("[type=text]")
            if kind in WITH_BERT or kind == "CrossAttentionExplorer":
                before = explorer.inner_text()
                rest = [""] * (inputs.count() - 1)
                assert ask(page, explorer, SENTENCE, *rest) == ""
                assert explorer.inner_text() != before
                assert "slept" in explorer.inner_text()
            elif kind == "LlmExplorer":  # escribir pide el modelo, y aquí no está
                before = explorer.locator(".exp-say:not(:empty)").inner_text()  # tarda un poco
                assert "JupyterLab" in ask(page, explorer, SENTENCE)
                assert explorer.locator(".exp-say").inner_text() == before
            else:
                assert inputs.count() == 0


STATE = """node => JSON.stringify(Object.entries(node.model.state)
    .filter(([name]) => !['request', 'answered', 'progress', 'data'].includes(name)))"""


@lenta
@turnos
@pytest.mark.parametrize("name", ALL_ALONE)
def test_an_explorer_alone_is_embedded_as_it_was_left(browser, whole, tmp_path, name):
    """Lo que la mano mueve en su página, y lo que dice su dirección dentro de otra, es lo mismo."""
    address = whole[2]["carpeta"]
    with reading(browser, address, f"{name}.html", viewport=PHONE) as page:
        (explorer,) = explorers(page)
        expect(explorer.locator(".exp-say")).not_to_be_empty()
        for control in explorer.locator("[type=range], [type=checkbox], select:visible").all():
            control.focus()
            page.keyboard.press("Space" if control.get_attribute("type") == "checkbox" else "ArrowRight")
        tokens = explorer.locator("[role=radio][tabindex='0'], .m-cell[tabindex='0'], .exp-handle")
        if tokens.count():
            tokens.first.press("Space" if "Mask" in name else "ArrowRight")
        expect(page).to_have_url(re.compile("#."))
        page.wait_for_timeout(1500)  # la última, cuando la mano para
        url, state, words = page.url, explorer.evaluate(STATE), explorer.inner_text()
        assert page.evaluate(FAULTS) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    outside = f'<iframe src="{url.replace("&", "&amp;")}" title="a" width="390" height="800"></iframe>'
    (tmp_path / "aula.html").write_text(outside, encoding="utf-8")
    with contextlib.closing(browser.new_page()) as page:
        page.goto((tmp_path / "aula.html").as_uri())
        explorer = page.frame_locator("iframe").locator(".course-explorer")
        expect(explorer).to_have_text(re.compile(re.escape(words.split("\n")[0])))
        page.wait_for_timeout(3000 if "QKV" in name else 500)
        assert explorer.evaluate(STATE) == state
        assert page.frame_locator("iframe").locator(".course-note").count() == 0
    with reading(browser, address, f"{name}.html", java_script_enabled=False) as page:
        assert page.locator("img").evaluate("node => node.naturalWidth") > 300


@lenta
def test_an_address_asks_for_its_sentence(browser, address):
    there = "11_el_traductor.html#explorador=CrossAttentionExplorer&frase=The+black+cat+sleeps.&paso=2"
    with reading(browser, address, there) as page:
        explorer = page.locator("#CrossAttentionExplorer")
        expect(explorer.locator(".c-text")).to_have_text("El gato negro duerme.")
        expect(explorer.locator(".exp-say")).to_contain_text("mira sobre todo a «black»")
        expect(explorer).to_be_in_viewport()


@lenta
def test_with_a_sentence_of_ones_own_there_is_nothing_to_switch(browser, address):
    with reading(browser, address, "index.html") as page:
        explorer = page.locator(".exp-arcs")
        expect(explorer.get_by_text("Prueba con")).to_be_visible()
        write(page, explorer, SENTENCE)
        expect(explorer.get_by_role("radio", name="slept")).to_be_visible()
        expect(explorer.get_by_text("Prueba con")).to_be_hidden()
        explorer.get_by_role("button", name="Volver a la frase del principio").click()
        expect(explorer.get_by_role("button", name="hungry")).to_be_visible()


@lenta
def test_the_search_forgives_accents(browser, address):
    with reading(browser, address, "index.html") as page:
        page.get_by_role("button", name="Búsqueda").click()
        page.keyboard.type("mascara")
        page.keyboard.press("Enter")
        found = page.locator("#search-results li", has=page.locator("[href^='04_mascaras.html#']"))
        expect(found.first.locator("mark")).to_have_text(re.compile("máscaras?", re.IGNORECASE))
        solutions = page.locator("#search-results [href^='soluciones/04']")
        expect(solutions).to_have_count(0)
        page.evaluate("course.progress.tried('4.1', false)")
        page.reload()
        expect(solutions).not_to_have_count(0)
        for wrong, word in ("softmaxx", "softmax"), ("producto escalr", "producto escalar"):
            page.goto(f"{address}search.html?q={wrong}")
            expect(page.get_by_text(f"No hay nada de «{wrong}»: esto es de «{word}».")).to_be_visible()
            expect(found.first if word == "softmax" else page.locator("#search-results li").first).to_be_visible()


WATCHED = [
    "index", "en_seis_minutos", "00_empieza_aqui", "03_softmax_y_escalado", LESSON, "11_el_traductor",
    "14_leer_un_llm", "glosario", "accesibilidad", "search", DECK, ALONE.removesuffix(".html"),
]  # fmt: skip
LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


def test_the_statement_says_how_many_pages_are_watched():
    text = (NOTEBOOKS / "accesibilidad.md").read_text(encoding="utf-8")
    assert f"`axe-core` mira {len(WATCHED)} páginas, claras y oscuras" in text
    assert f"de {len(WATCHED) * len(LOOKS)} veces, en 0 encuentra algo" in text


@lenta
@turnos
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("name", [*WATCHED, f"soluciones/{LESSON}", f"{DECK}-notas"])
def test_axe_finds_nothing(browser, whole, name, width, scheme):
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with reading(browser, whole[2]["servidor"], f"{name}.html", **options) as page:
        if name != DECK:  # que solo enseña uno
            explorers(page)
        assert audit(page) == []


@lenta
def test_what_is_beside_is_folded_until_it_is_asked_for_or_printed(browser, whole):
    with reading(browser, whole[2]["carpeta"], f"{LESSON}.html") as page:
        folded = page.locator("details.beside")
        assert folded.count() > 0
        closed = page.locator("details:not([open])")
        total = closed.count()
        assert total == page.locator("details").count() > folded.count()
        inside = folded.locator("h3").last
        assert not inside.is_visible()
        page.evaluate("id => { location.hash = id; }", inside.evaluate("n => n.parentElement.id"))
        expect(inside).to_be_in_viewport()
        assert closed.count() == total - 1
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert closed.count() == 0
        assert page.locator("details:is(.hide, .beside) > summary:visible").count() == 0
        outputs = page.locator(".cell_output:not(:has(.lesson-cell))").all()
        assert all(one.is_visible() for one in outputs)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert closed.count() == total - 1


@lenta
@pytest.mark.parametrize("name", EXPLORERS)
def test_without_javascript_the_picture_and_the_words_are_there(browser, whole, name):
    with reading(browser, whole[2]["carpeta"], f"{name}.html", java_script_enabled=False) as page:
        page.evaluate(OPEN_ALL)
        asked = page.locator(".course-explorer[data-explorer=Prediction]")
        assert all("?" in text for text in asked.all_inner_texts())
        for place in page.locator(".course-explorer[data-explorer$=Explorer]").all():
            picture = place.locator("img")
            picture.scroll_into_view_if_needed()
            expect(picture).to_have_js_property("complete", True)
            assert picture.evaluate("node => node.naturalWidth") > 300
            assert len(place.inner_text()) > 40
        text = page.locator("article").inner_text()
        assert "En esta lección" in text
        assert "undefined" not in text


# --- Cuando algo no llega -------------------------------------------------------------------------

PIECE = "bert/capa-3"
HARMS = {  # lo que le pasa a una pieza
    "falta": lambda route: route.fulfill(status=404),
    "no se puede traer": lambda route: route.abort(),
    "está cortada": lambda route: route.fulfill(body=f"course.piece('{PIECE}', 'AAAA');"),
    "está a medias": lambda route: route.fulfill(body=f"course.piece('{PIECE}', 'AAAA"),
    "es otra cosa": lambda route: route.fulfill(body="<!doctype html>"),
}


@lenta
@pytest.mark.parametrize("harm", HARMS)
def test_a_broken_piece_is_told_and_a_second_try_works(browser, address, harm):
    broken = "Failed to load resource|SyntaxError|Unexpected|Invalid|atob|base64"
    route = f"**/{PIECE}.js", HARMS[harm]
    with reading(browser, address, f"{LESSON}.html", broken, route) as page:
        explorer = asking(page)
        said = explorer.locator(".exp-say")
        expect(said).to_contain_text("(0.53)")
        complaint = ask(page, explorer, SENTENCE, "")
        assert f"«{PIECE}»" in complaint
        assert "pulsa «Calcular» otra vez" in complaint
        expect(said).to_contain_text("(0.53)")
        assert answers(page, explorer, explorer.get_by_role("button", name="cabeza 2", exact=True))
        page.unroute(route[0])
        explorer.get_by_role("button", name="Calcular").click()
        expect(explorer.locator(".exp-error")).to_be_hidden(timeout=120_000)
        expect(explorer.get_by_text("slept").first).to_be_visible()


@lenta
def test_the_download_is_stopped_at_once_and_goes_on_where_it_was(browser, address):
    held, asked = [], []
    route = f"**/{PIECE}.js", lambda route: held.append(route)
    with reading(browser, address, f"{LESSON}.html", route=route) as page:
        explorer = asking(page)
        page.on("request", lambda request: asked.append(request.url))
        page.clock.install()
        write(page, explorer, SENTENCE, "")
        shown = explorer.locator(".course-progress")
        expect(explorer).to_contain_text(re.compile(r"Descargo el modelo.* \d+\.\d de \d+\.\d MB"))
        expect(shown.locator("progress")).to_be_visible()
        while not held:
            page.wait_for_timeout(50)
        page.clock.run_for(30_000)  # una pieza puede tardar
        assert "no contesta" not in explorer.inner_text()
        shown.get_by_role("button", name="Parar").click()
        expect(explorer.locator(".exp-error")).to_contain_text("ha detenido la descarga")
        expect(shown).to_have_count(0)
        held.pop().continue_()
        explorer.get_by_role("button", name="Calcular").click()
        expect(explorer.locator(".exp-error")).to_be_hidden(timeout=120_000)
        expect(explorer.get_by_text("slept").first).to_be_visible()
        arrived = [url for url in asked if PIECE not in url]
        assert len(arrived) == len(set(arrived))
