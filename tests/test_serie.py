"""La serie entera: se llega de una lección a otra, los minutos son los medidos y los errores
frecuentes tienen quien los conteste."""

import re
import sys
from pathlib import Path

import pytest
from tools import notebooks

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from imagenes.dibujar import FIGURES  # noqa: E402

LESSONS = [path for path in notebooks.course_notebooks() if path.parent.name == "notebooks"]

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def texts(nb):
    return [cell.source for cell in nb.cells if cell.cell_type == "markdown"]


def codes(nb):
    return [cell.source for cell in nb.cells if cell.cell_type == "code"]


def title(path):
    return notebooks.read(path).cells[0].source.splitlines()[0].removeprefix("# ")


def links(text):
    """Los enlaces de un texto: pares (nombre, destino)."""
    return re.findall(r"(?<!!)\[([^]]*)\]\(([^)\s]*)\)", text)


# --- Ir de una a otra -----------------------------------------------------------------------------


@each_lesson
def test_lesson_links_to_its_neighbours(path):
    position = LESSONS.index(path)
    found = links(texts(notebooks.read(path))[-1].splitlines()[-1])
    expected = []
    if position:
        previous = LESSONS[position - 1]
        expected.append((f"← {title(previous)}", previous.name))
    if position > 1:
        expected.append(("El mapa", LESSONS[0].name))
    expected.append(("Glosario", "glosario.md"))
    if path != LESSONS[-1]:
        following = LESSONS[position + 1]
        expected.append((f"{title(following)} →", following.name))
    assert found == expected


@pytest.mark.parametrize("where", ["README.md", "notebooks/00_empieza_aqui.ipynb"])
def test_index_has_every_lesson_in_order(where):
    path = ROOT / where
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(texts(notebooks.read(path))[:-1])
    rows = [links(line)[0] for line in text.splitlines() if re.match(r"\|.*\]\(\S*\d\d_", line)]
    expected = [lesson for lesson in LESSONS if lesson != path]
    assert [target.rpartition("/")[2] for _, target in rows] == [path.name for path in expected]
    for (name, _), lesson in zip(rows, expected):
        assert title(lesson).endswith(name.removeprefix(title(lesson)[:5]))


def test_every_figure_is_in_a_lesson_or_in_the_readme():
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    shown += "\n".join(text for path in LESSONS for text in texts(notebooks.read(path)))
    drawn = {path.name for path in (ROOT / "imagenes").iterdir() if path.suffix in (".svg", ".gif")}
    assert drawn == set(re.findall(r"imagenes/([\w-]+\.\w+)\)", shown))


def test_alternative_texts_are_those_of_the_figures():
    sources = {"README.md": (ROOT / "README.md").read_text(encoding="utf-8")}
    sources |= {path.name: "\n".join(texts(notebooks.read(path))) for path in LESSONS}
    found = 0
    for where, text in sources.items():
        for alternative, name in re.findall(r"!\[([^]]*)\]\([^)]*imagenes/([\w-]+\.\w+)\)", text):
            assert alternative == FIGURES[name][1].rstrip("."), f"{where}: {name}"
            found += 1
    assert found >= len(FIGURES)


def test_the_formula_is_text_where_it_is_a_picture():
    shown = [
        path for path in LESSONS if "sdpa-formula.svg" in "\n".join(texts(notebooks.read(path)))
    ]
    assert shown
    for path in shown:
        cells = [text for text in texts(notebooks.read(path)) if "sdpa-formula.svg" in text]
        assert all(re.search(r"\$\$.*softmax.*Q K.*d_k.*V\$\$", text) for text in cells), path.name


# --- Los minutos ----------------------------------------------------------------------------------

WORDS_A_MINUTE = 160  # leer despacio un texto técnico
SECONDS_A_LINE = 5  # leer una línea de código
SECONDS_A_FIGURE = 30  # mirar una figura o una fórmula
SECONDS_A_PREDICTION = 45  # pensar un «Antes de ejecutar»
SECONDS_AN_EXPLORER = 120  # mover un explorador hasta ver la respuesta


def before_the_exercises(nb):
    """La lección sin sus ejercicios, que llevan lo que cada cual necesite."""
    first = next(
        (i for i, cell in enumerate(nb.cells) if cell.source.startswith("## Ejercicios")), None
    )
    return type(nb)(nb, cells=nb.cells[:first])


def minutes(nb):
    """Lo que se tarda en leer y ejecutar una lección, sin los ejercicios."""
    nb = before_the_exercises(nb)
    text = "\n".join(texts(nb))
    formulas = re.findall(r"\$\$.*?\$\$", text, re.DOTALL)
    drawn = sum("image/png" in o.get("data", ()) for c in nb.cells for o in c.get("outputs", ()))
    figures = len(re.findall(r"!\[", text)) + drawn
    predictions = text.count("Antes de ejecutar:")
    prose = re.sub(
        r"\$\$.*?\$\$|\$[^$]*\$|!\[[^]]*\]|\]\([^)]*\)|<[^>]*>", " ", text, flags=re.DOTALL
    )
    lines = sum(bool(line.strip()) for code in codes(nb) for line in code.splitlines())
    seconds = SECONDS_A_LINE * lines + SECONDS_A_PREDICTION * predictions
    seconds += SECONDS_A_FIGURE * (figures + len(formulas))
    explorers = sum(code.count("Explorer(") for code in codes(nb))
    seconds += SECONDS_AN_EXPLORER * explorers
    return len(re.findall(r"\w+", prose)) / WORDS_A_MINUTE + seconds / 60


@each_lesson
def test_minutes_are_measured(path):
    nb = notebooks.read(path)
    stated = re.findall(r"\*\*Tiempo:\*\* unos (\d+) minutos", nb.cells[0].source)
    assert len(stated) == 1
    assert int(stated[0]) % 5 == 0
    assert abs(int(stated[0]) - minutes(nb)) <= 5, f"{path.stem}: {minutes(nb):.0f} minutos"


# --- Los errores que se leen por ahí --------------------------------------------------------------


def errors_table():
    """Las filas de la tabla de CONTRIBUTING.md: número, error, lección y lo que lo sostiene."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    return [(int(number), error, lesson, proof) for number, error, lesson, proof in rows]


def proof_faults(lesson, proof):
    """Dice qué falla en una fila: cada prueba es el nombre de un test o un trozo de una celda."""
    files = [ROOT / target for _, target in links(lesson)]
    yield from (f"no existe {file.name}" for file in files if not file.is_file())
    lessons = [file for file in files if file.is_file() and file.suffix == ".ipynb"]
    cells = [cell for file in lessons for cell in codes(notebooks.read(file))]
    pieces = re.findall(r"`` ?(.+?) ?``|`(.+?)`", proof)
    if not pieces:
        yield "no dice qué lo sostiene"
    for piece in (double or single for double, single in pieces):
        if match := re.fullmatch(r"(tests/\w+\.py)::(\w+)", piece):
            file = ROOT / match[1]
            if not file.is_file() or f"def {match[2]}(" not in file.read_text(encoding="utf-8"):
                yield f"no hay ninguna prueba {piece}"
        elif (found := sum(piece in cell for cell in cells)) != 1:
            yield f"está en {found} celdas, y tiene que estar en una: {piece}"
        elif re.search(r"\bimport\b", piece) or not re.search(r"[=(]|assert", piece):
            yield f"no es una cuenta ni una comprobación: {piece}"


def test_every_common_error_is_numbered():
    assert [number for number, *_ in errors_table()] == list(range(1, 45))


@pytest.mark.parametrize("row", errors_table(), ids=lambda row: str(row[0]))
def test_every_common_error_is_answered(row):
    _, _, lesson, proof = row
    assert list(proof_faults(lesson, proof)) == []


@pytest.mark.parametrize(
    ("lesson", "proof", "fault"),
    [
        ("[99](notebooks/99_nada.ipynb)", "`x`", "no existe"),
        ("[01](notebooks/01_producto_escalar.ipynb)", "una frase", "no dice qué"),
        ("[01](notebooks/01_producto_escalar.ipynb)", "`assert 1 == 2`", "está en 0 celdas"),
        ("[01](notebooks/01_producto_escalar.ipynb)", "`print(`", "tiene que estar en una"),
        ("[01](notebooks/01_producto_escalar.ipynb)", "`import torch`", "no es una cuenta"),
        ("[pruebas](tests/test_serie.py)", "`tests/test_serie.py::test_nada`", "ninguna prueba"),
    ],
)
def test_an_unanswered_error_is_seen(lesson, proof, fault):
    assert any(fault in found for found in proof_faults(lesson, proof))
