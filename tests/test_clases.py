"""Las clases: que cada una se pueda dar tal como está, la guía docente y lo que se imprime.

Una clase es un cuaderno de ``notebooks/clases`` con el nombre de su lección. Lo que se le pide está
en ``faults``.
"""

import ast
import functools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat.v4 import new_notebook, new_output
from tools import notebooks, way

from aula import sheets as papers
from aula.sheets import kind, minutes, slides, tagged
from course_checkers.engine import catalog
from course_lib import MultiHeadAttention, causal_mask, example
from sitio.classes import for_slides

ROOT = Path(__file__).resolve().parents[1]
DECKS = sorted((ROOT / "notebooks/clases").glob("*.ipynb"))
LESSONS = [path for path in notebooks.course_notebooks() if notebooks.is_lesson(path)]
GUIDE = (ROOT / "notebooks/guia_docente.md").read_text(encoding="utf-8")
each_deck = pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)

SLIDES, MINUTES, WORDS = range(15, 18), range(45, 51), 65
NEEDED, NEEDED_MINUTES = range(11, 14), 40  # las imprescindibles
LINES, COLUMNS = 9, 72  # de código, y de lo que imprime
SHEET_WORDS = 260
FIRST_CELL_TAGS = {"encuesta", "respuesta", "salida", "si-hay-tiempo"}
TAGS = FIRST_CELL_TAGS | {"al-lado", "clave", "hoja", "raises-exception", "nbval-ignore-output"}
DISTRACTOR = re.compile(r"^- ([A-D]) · (\d+\.\d+) · ([^:\s]+): \S", re.MULTILINE)
MATH = r"\$\$.+?\$\$|\$[^$]+\$"


# --- Lo que se le pide a una clase ----------------------------------------------------------------


mistakes_of = functools.cache(catalog.mistakes)


def words(text):
    """Las palabras que se leen: sin figuras ni fórmulas. Un número es una."""
    text = re.sub(rf"!\[[^]]*\]\([^)]*\)|<[^>]*>|{MATH}", " ", text, flags=re.DOTALL)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def faults(nb):
    """Dice qué no cumple una clase."""
    deck = slides(nb)
    if len(deck) not in SLIDES:
        yield f"tiene {len(deck)} diapositivas"
    if sum(minutes(cells) for cells in deck) not in MINUTES:
        yield f"dura {sum(minutes(cells) for cells in deck)} minutos"
    needed = [cells for cells in deck if not tagged(cells[:1], "si-hay-tiempo")]
    if len(needed) not in NEEDED or sum(map(minutes, needed)) > NEEDED_MINUTES:
        yield f"tiene {len(needed)} imprescindibles, de {sum(map(minutes, needed))} minutos"
    for number, cells in enumerate(deck, 1):
        yield from (f"diapositiva {number}: {fault}" for fault in slide_faults(cells, number == 1))
    yield from poll_faults(deck)
    yield from sheet_faults(nb)
    for number, cell in enumerate(nb.cells, 1):
        yield from (f"celda {number}: {fault}" for fault in cell_faults(cell))
    first = [cells[0] for cells in deck]
    for cell in nb.cells:
        for tag in FIRST_CELL_TAGS.intersection(cell.metadata.get("tags", ())):
            if cell not in first:
                yield f"«{tag}» no está en la primera celda de su diapositiva"


def slide_faults(cells, is_first):
    start = "# " if is_first else "## "
    if kind(cells[0]) != "slide" or not cells[0].source.startswith(start):
        yield f"no empieza por una celda «slide» con «{start}»"
    if tagged(cells[:1], "al-lado"):
        yield "su título va «al-lado»"
    notes = [cell for cell in cells if kind(cell) == "notes"]
    if notes != cells[-1:]:
        yield "no acaba en sus notas, una sola celda"
    if not all(re.match(r"\*\*Minutos:\*\* \d+(\n|$)", cell.source) for cell in notes):
        yield "sus notas no empiezan por los minutos"
    text = "\n".join(c.source for c in cells if c.cell_type == "markdown" and c not in notes)
    if words(text) > WORDS:
        yield f"tiene {words(text)} palabras"


def cell_faults(cell):
    shown = kind(cell) not in ("skip", "notes")
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
    allowed = {"slideshow", "tags"} | ({"jupyter"} if cell.cell_type == "code" else set())
    if set(cell.metadata) - allowed or cell.metadata.get("jupyter", {"source_hidden": True}) != {
        "source_hidden": True
    }:
        yield f"sobran metadatos: {dict(cell.metadata)}"
    if set(cell.metadata.get("tags", ())) - TAGS:
        yield f"no hay etiquetas {cell.metadata.tags}"
    if kind(cell) not in ("", "slide", "fragment", "notes", "skip"):
        yield f"no hay celdas «{kind(cell)}»"
    for alternative, target in re.findall(r"!\[([^]]*)\]\(([^)\s]*)\)", cell.source):
        if not target.startswith("../../") or not (ROOT / target[6:]).is_file():
            yield f"no hay ninguna figura {target}"
        if words(alternative) < 5:
            yield f"el texto alternativo de {target} no cuenta lo que se ve"
    if cell.cell_type != "code":
        return
    code = cell.source.splitlines()
    if shown and not hidden and (len(code) > LINES or max(map(len, code)) > COLUMNS):
        yield f"el código mide {len(code)} × {max(map(len, code))}"
    text = "".join(o.get("text") or o.data.get("text/plain", "") for o in cell.outputs if plain(o))
    printed = text.splitlines()
    if shown and (len(printed) > LINES or max(map(len, printed), default=0) > COLUMNS):
        yield f"lo impreso mide {len(printed)} × {max(map(len, printed))}"
    calls = {ast.unparse(n.func) for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Call)}
    tells = any(re.fullmatch(r"print|(\w+\.)*(plot_\w+|\w+Explorer)", name) for name in calls)
    if not cell.execution_count or (shown and (hidden or tells) and not cell.outputs):
        yield "no está ejecutada, o no tiene lo que tenía que salir"


def plain(output):
    """Si de una salida se ve su texto."""
    return set(output.get("data", {})) <= {"text/plain"}


def poll_faults(deck):
    """Las dos encuestas, sus respuestas y la pregunta de salida."""
    polls = [k for k, cells in enumerate(deck) if tagged(cells[:1], "encuesta")]
    answers = [k for k, cells in enumerate(deck) if tagged(cells[:1], "respuesta")]
    if len(polls) != 2 or answers != [k + 1 for k in polls]:
        yield f"las encuestas están en {polls} y sus respuestas, en {answers}"
        return
    for asked, answered in zip(polls, answers):
        options = re.findall(r"^- \*\*([A-Z])\.\*\* \S", deck[asked][0].source, re.MULTILINE)
        right = re.match(r"## Respuesta: ([A-D])\b", deck[answered][0].source)
        if not deck[asked][0].source.startswith("## Encuesta · ") or options != list("ABCD"):
            yield f"la encuesta de la {asked + 1} no tiene su título y sus opciones, de la A a la D"
        if not right:
            yield f"la diapositiva {answered + 1} no dice «## Respuesta:» y la letra"
        found = DISTRACTOR.findall(deck[answered][-1].source)
        if len({letter for letter, *_ in found}) < 2:
            yield f"las notas de la {answered + 1} dicen de qué error salen menos de dos opciones"
        for letter, exercise, name in found:
            if right and letter == right[1]:
                yield f"la {letter} de la {answered + 1} es la buena, y dice de qué error sale"
            if name not in mistakes_of(exercise):
                yield f"en el {exercise} no hay ningún error «{name}»"
    ends = [k for k, cells in enumerate(deck) if tagged(cells[:1], "salida")]
    if ends != [len(deck) - 1] or "**Clave:** " not in deck[-1][-1].source:
        yield "no acaba en una pregunta de salida con su clave"


def sheet_faults(nb):
    if tagged(nb.cells, "hoja") != nb.cells[-1:] or kind(nb.cells[-1]) != "skip":
        yield "la última celda, y solo ella, es la hoja"
        return
    text = nb.cells[-1].source
    if not re.match(r"# \d\d · .", text) or "Para casa" not in text:
        yield "la hoja no empieza por el número de la lección, o no dice qué hacer en casa"
    if len(re.findall(r"!\[", text)) != 1 or len(re.findall("…{4,}", text)) < 3:
        yield "la hoja no tiene una figura y tres sitios para contestar"
    if words(text) > SHEET_WORDS:
        yield f"la hoja tiene {words(text)} palabras"
    key, sheet = (re.findall(r"^\**(\d)\.\** ", one.source, re.MULTILINE) for one in nb.cells[-2:])
    if tagged(nb.cells, "clave") != nb.cells[-2:-1] or kind(nb.cells[-2]) != "skip" or key != sheet:
        yield f"la penúltima celda, y solo ella, es la clave de la hoja: contesta {key} de {sheet}"


@each_deck
def test_deck(path):
    assert list(faults(notebooks.read(path))) == []


@each_deck
def test_the_sheet_and_the_deck_are_of_their_lesson(path):
    (lesson,) = (one for one in LESSONS if one.name == path.name)
    number, at_home = path.name[:2], way.FOR_HOME.findall(whole_text(lesson))
    sheet = notebooks.read(path).cells[-1].source
    assert sheet.startswith(f"# {number} · ")
    assert set(at_home) <= set(re.findall(r"\d+\.\d+", sheet.partition("Para casa")[2]))


def worked_out():
    """Lo que se calcula en cada clave: de una respuesta, sus números, en el orden en que los dice."""
    t, e, block, x = torch.tensor, math.exp(-1), MultiHeadAttention(3, 12), torch.ones(2, 5, 12)
    query, key = ((example.X @ matrix)[:, 2:] for matrix in (example.W_Q, example.W_K))
    cross, scores = example.example_attention(), query[1] @ key.T
    mixed, weights = block(x, x, x)
    yield "00", t([1, -1]) @ t([3, 1])
    yield "01", t([2, -1]) @ t([3, 4]), 2 * 5 * math.cos(math.radians(60))
    yield "02", t([4, 1, 0, 2, 5, 3]).view(3, 2)[1], t([1, 2]) @ t([[0, 1], [3, 0]])
    yield "03", math.exp(2), t([0.0, 1]).softmax(-1), t([50.0, 51]).softmax(-1)
    yield "04", t([1, -math.inf, 3]).softmax(-1)
    yield "05", t([0.5, 0.25, 0.25]) @ t([[4.0, 0], [0, 4], [0, 0]])
    yield "06", torch.arange(12).view(3, 4)[2, [0, -1]], sum(p.numel() for p in block.parameters())
    yield "06", block.split_heads(x).shape + weights.shape + mixed.shape
    yield "07", query[1], scores, (scores / 2**0.5).softmax(-1), (scores / 2).softmax(-1)
    yield "08", (~causal_mask(4)).sum()
    yield "09", cross(example.X_D[None], example.X[None], example.X[None])[1][0, 0, 1]
    yield "10", (math.log(2) + math.log(4)) / 2
    yield "11", sum(range(1, 7))
    yield "13", [1, 1 + e, (1 + e) * e + 1], 20 / 2, 12 / 3
    yield "14", *(norm(t([3.0, 3, -3, -3]), (4,)) for norm in (torch.rms_norm, torch.layer_norm))


@pytest.mark.parametrize(("number", "results"), [(number, results) for number, *results in worked_out()])
def test_each_number_of_a_key_is_calculated(number, results):
    (path,) = (path for path in DECKS if path.name.startswith(number))
    for result in results:
        numbers = torch.as_tensor(result).double().view(-1).mul(100).round().div(100).tolist()
        said = [f"{one:.0f}" if one == int(one) else f"{one:.2f}" for one in numbers]
        pattern = r"\D+".join(re.escape(one.replace("-", "−")) for one in said)
        assert re.search(rf"(?<![\d.]){pattern}(?!\d|\.\d)", notebooks.read(path).cells[-2].source), said


def polls():
    """Las encuestas: de cada una, sus opciones, por su letra, y la letra de la buena."""
    for path in DECKS:
        deck = slides(notebooks.read(path))
        for asked, answered in zip(deck, deck[1:]):
            if tagged(asked[:1], "encuesta"):
                options = re.findall(r"^- \*\*([A-D])\.\*\* (.+)", asked[0].source, re.MULTILINE)
                yield dict(options), re.match(r"## Respuesta: ([A-D])", answered[0].source)[1]


def number_of(option):
    """El número que es una opción, o con el que empieza; si no es un número, ``None``."""
    found = re.match(r"\$?(-?\d+(?:\.\d+)?)\$?(?:$|: | GB$)", option)
    return float(found[1]) if found else None


def test_the_letter_of_a_poll_is_not_guessed():
    """Ninguna letra es más veces la buena; los números van por orden, y la larga no es la buena."""
    rights = [right for _, right in polls()]
    shares = {letter: rights.count(letter) / len(rights) for letter in "ABCD"}
    assert all(0.15 <= share <= 0.4 for share in shares.values()), shares
    for options, _ in polls():
        numbers = [number_of(text) for text in options.values()]
        known = [number for number in numbers if number is not None]
        assert len(known) < 3 or known in (sorted(known), sorted(known)[::-1]), options
    longest = [max(options, key=lambda o: len(options[o])) == right for options, right in polls()]
    assert sum(longest) <= 0.4 * len(rights)


def test_each_lesson_has_its_deck():
    assert [path.name for path in DECKS] == [path.name for path in LESSONS]


# --- La guía --------------------------------------------------------------------------------------


def whole_text(path):
    return "\n".join(one.source for one in notebooks.read(path).cells)


def tables():
    """Las tablas de la guía: de cada una, sus filas, sin la cabecera."""
    found = re.findall(r"(?:^\|.*\n)+", GUIDE, re.MULTILINE)
    return [
        [[box.strip() for box in row.strip("|\n").split("|")] for row in table.splitlines()][2:]
        for table in found
    ]


LIST, SIX, THREE, _, TOLD = tables()


@each_deck
def test_the_guide_says_how_long_and_with_what(path):
    (row,) = (row for row in LIST if f"({path.name})" in row[0])
    nb = notebooks.read(path)
    shown = "\n".join(c.source for c in nb.cells if c.cell_type == "code" and kind(c) != "skip")
    assert row[1] == f"[{sum(minutes(cells) for cells in slides(nb))}](clases/{path.name})"
    assert set(re.findall(r"`(\w+)`", row[4])) == set(re.findall(r"(\w+Explorer)\(", shown))


def test_the_guide_has_every_lesson_and_its_home_exercises():
    assert [re.search(r"\((.+)\)", row[0])[1] for row in LIST] == [path.name for path in LESSONS]
    for row, lesson in zip(LIST, LESSONS, strict=True):
        text = whole_text(lesson)
        assert f"# {row[0][1:].partition(']')[0]}\n" in text
        assert row[3].split(", ") == way.FOR_HOME.findall(text)


@pytest.mark.parametrize("route", [SIX, THREE], ids=["seis", "tres"])
def test_the_minutes_of_a_route_add_up(route):
    *classes, total = route
    given = {row[0][1:3]: int(row[1][1:3]) for row in LIST}
    read = {path.name[:2]: way.stated_times(notebooks.read(path))[0][0] for path in LESSONS}
    for number, (class_, lessons, in_class, home, at_home) in enumerate(classes, 1):
        assert int(class_) == number
        assert int(in_class) == sum(given[one] for one in lessons.split(", "))
        assert int(at_home) == sum(read[one] for one in home.split(", ") if one)
    assert [int(total[k]) for k in (2, 4)] == [sum(int(row[k]) for row in classes) for k in (2, 4)]
    seen = []  # nada se da antes de lo que pide
    for _, lessons, _, home, _ in classes:
        seen += [one for one in f"{home}, {lessons}".split(", ") if one]
    assert seen == sorted(seen)


def test_the_mistakes_of_the_guide_are_those_of_the_checkers():
    assert [row[0] for row in TOLD] == [row[3] for row in LIST]
    for exercise, name, place, _ in TOLD:
        assert mistakes_of(exercise)[name.strip("`")] == place


# --- Lo que se imprime ----------------------------------------------------------------------------


@pytest.fixture
def deck():
    """La de la 03, con una salida que parece HTML y una fórmula con un menor que."""
    nb = notebooks.read(DECKS[3])
    cells = [cell for cells in slides(nb) for cell in cells]
    printed = next(cell for cell in cells if cell.get("outputs"))
    printed.outputs = [new_output("stream", name="stdout", text="<script>alert(1)</script>\n")]
    cells[0].source += "\n\n$d_k < 9$"
    return nb


def test_the_handout_has_the_slides_and_the_answers_at_the_end(deck):
    html = papers.page(deck, "03", "diapositivas")
    assert "03 · Softmax y escalado" in html
    assert html.count('<section class="slide">') == 17
    numbers = re.findall(r'class="number">(\d+)<', html)
    assert numbers == [str(n) for n in [*range(1, 7), *range(8, 14), 15, 16, 17, 7, 14]]
    assert html.index("Las respuestas a las encuestas") < html.index("Respuesta: C")
    for hidden in ("Minutos", "Clave", "import torch", "Para casa"):
        assert hidden not in html
    assert "<mo>&#x0003C;</mo><mn>9</mn>" in html


def test_an_output_is_escaped_and_hidden_code_is_not_there(deck):
    html = papers.page(deck, "03", "diapositivas")
    assert "<script>alert" not in html
    assert "<pre>&lt;script&gt;alert(1)&lt;/script&gt;\n</pre>" in html
    hidden = [one for one in deck.cells if one.metadata.get("jupyter") and "plot_" in one.source]
    assert hidden
    assert "plot_" not in html
    assert "data:image/png;base64," in html


def test_the_script_has_the_notes_and_the_clock(deck):
    html = papers.page(deck, "03", "guion")
    assert html.count("<strong>Minutos:</strong>") == 17
    assert "Del minuto 0 al 2<" in html
    assert "Del minuto 47 al 50<" in html
    assert html.index("Respuesta: C") < html.index("Antes de salir") < html.index("<strong>2.</strong> 0.27")


def test_the_sheet_is_the_last_cell_with_its_figure_inside(deck):
    html = papers.page(deck, "03", "hoja")
    assert html.count('<span class="line">') == 3
    assert "…" not in html
    assert 'src="data:image/svg+xml;base64,' in html
    assert "../../imagenes" not in html
    assert "Antes de salir" not in html
    assert "<strong>2.</strong> 0.27" not in html  # la clave, no
    assert "Nombre" in html
    for_slides(deck)  # ni en el sitio
    assert not any("**2.** 0.27" in one["source"] for one in deck.cells)


@pytest.fixture
def printer(monkeypatch, tmp_path, deck):
    """Una carpeta con una clase, y lo que se hace de ella: sin navegador."""
    (tmp_path / "clases").mkdir()
    nbformat.write(deck, tmp_path / "clases/03_softmax.ipynb")
    monkeypatch.setattr(papers, "DECKS", tmp_path / "clases")
    monkeypatch.setattr(papers, "print_pages", lambda paths: False)
    return lambda *arguments: papers.main([*arguments, "--carpeta", str(tmp_path / "hojas")])


def test_the_order_writes_the_pages(printer, tmp_path, capsys):
    (tmp_path / "hojas").mkdir()
    old = tmp_path / "hojas/03_softmax-hoja.pdf"
    old.write_text("de antes")
    assert printer() == 0
    made = sorted(path.name for path in (tmp_path / "hojas").glob("*.*"))
    assert made == ["03_softmax-diapositivas.html", "03_softmax-hoja.html"]
    told = capsys.readouterr().out
    assert "2 páginas hechas" in told
    assert "hace falta Chromium, Chrome o Edge" in told
    for name in re.findall(
        r'(?:src|href)="(aspecto/[^"]+)"', (tmp_path / "hojas" / made[0]).read_text("utf-8")
    ):
        assert (tmp_path / "hojas" / name).is_file()
    assert printer("3", "--notas") == 0
    assert (tmp_path / "hojas/03_softmax-guion.html").exists()
    assert printer("--ejercicios", "3.1", "3.2") == 0
    texts = [(tmp_path / "hojas" / name).read_text("utf-8") for name in made]
    assert [text.count("el 3.2 (") for text in texts] == [1, 1]


def test_what_cannot_be_done_is_said(printer, tmp_path, capsys):
    assert printer("77") == 1
    assert "No hay clase 77, o está dañada. Las hay de: 03." in capsys.readouterr().out
    (tmp_path / "clases/04_rota.ipynb").write_text('{"cells": [')
    nbformat.write(new_notebook(), tmp_path / "clases/05_vacia.ipynb")
    assert printer() == 1
    told = capsys.readouterr().out
    assert "No hay clase 04" in told
    assert "No hay clase 05" in told
    assert "2 páginas hechas" in told
    (tmp_path / "ocupado").write_text("un archivo")
    assert papers.main(["3", "--carpeta", str(tmp_path / "ocupado/dentro")]) == 1
    assert "No se puede escribir en" in capsys.readouterr().out


# --- En papel -------------------------------------------------------------------------------------


def paper(page, nb, what, folder):
    """Cuántas páginas tiene el PDF, y lo que en la página no ha salido bien."""
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    path = folder / f"{what}.html"
    path.write_text(papers.page(nb, "03", what), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_function(papers.DRAWN, timeout=120_000)
    said += [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    said += page.locator(".math:not(:has(math)), merror").all_text_contents()
    pdf = page.pdf(prefer_css_page_size=True, print_background=True)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)), said


@pytest.fixture(scope="module")
def sheets(tmp_path_factory):
    """Una carpeta con lo que usan las páginas."""
    folder = tmp_path_factory.mktemp("hojas")
    papers.dress(folder)
    return folder


@pytest.fixture
def page(browser):
    with browser.new_page() as page:
        yield page


@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.stem, marks=() if k % 7 == 0 else pytest.mark.lenta)
    for k, path in enumerate(DECKS)
])  # fmt: skip
def test_the_sheet_is_one_page(page, sheets, path):
    assert paper(page, notebooks.read(path), "hoja", sheets) == (1, [])


def test_a_sheet_with_too_much_text_is_two_pages(page, sheets, deck):
    deck.cells[-1].source += "\n\nOtra línea." * 30
    assert paper(page, deck, "hoja", sheets) == (2, [])


def test_the_handout_and_the_script_are_drawn_without_network(page, sheets, deck):
    """Con un explorador, que se dibuja sin kernel, como está guardado."""
    page.set_viewport_size({"width": 1000, "height": 20_000})  # se dibuja lo que se ve
    for what in ("diapositivas", "guion"):
        pages, said = paper(page, deck, what, sheets)
        assert said == []
        assert 2 <= pages <= 5
        assert page.locator(".course-explorer.alive svg").count()


@pytest.mark.lenta
def test_the_pdf_is_left_beside(browser, printer, tmp_path):
    code = f"import pathlib; from aula import sheets; sheets.DECKS = pathlib.Path({str(tmp_path / 'clases')!r})"
    code += f"; sheets.main(['--notas', '--carpeta', {str(tmp_path)!r}])"
    command = [sys.executable, "-c", code]
    env = dict(os.environ, PYTHONUTF8="1")
    told = subprocess.check_output(command, env=env, text=True, encoding="utf-8")
    assert "3 páginas hechas" in told
    assert "Chromium" not in told
    for what in ("hoja", "diapositivas", "guion"):
        assert (tmp_path / f"03_softmax-{what}.pdf").read_bytes().startswith(b"%PDF")
