"""La serie entera: se llega de una lección a otra, los minutos son los medidos y los errores
frecuentes tienen quien los conteste."""

import ast
import re
from pathlib import Path

import pytest
from tools import notebooks, way

from course_checkers.engine import prediction
from imagenes.draw import FIGURES

ROOT = Path(__file__).resolve().parents[1]
LESSONS = [path for path in notebooks.course_notebooks() if notebooks.is_lesson(path)]

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def texts(nb):
    return [cell.source for cell in nb.cells if cell.cell_type == "markdown"]


def codes(nb):
    """Los trozos de código que se leen: ni lo que comprueba o dibuja, plegado, ni lo que vuelve a preguntar."""
    found = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    return [one for one in found if not one.startswith("Questions(") and not way.LOOKING.match(one)]


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
    pages = "README.md", "notebooks/index.md"
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in pages}
    sources |= {path.name: "\n".join(texts(notebooks.read(path))) for path in LESSONS}
    found = 0
    for where, text in sources.items():
        for alternative, name in re.findall(r"!\[([^]]*)\]\([^)]*imagenes/([\w-]+\.\w+)\)", text):
            assert alternative == FIGURES[name][1].rstrip("."), f"{where}: {name}"
            found += 1
    assert found >= len(FIGURES)


def test_the_formula_is_text_where_it_is_a_picture():
    shown = [path for path in LESSONS if "sdpa-formula.svg" in "\n".join(texts(notebooks.read(path)))]
    assert shown
    for path in shown:
        cells = [text for text in texts(notebooks.read(path)) if "sdpa-formula.svg" in text]
        assert all(re.search(r"\$\$.*softmax.*Q K.*d_k.*V\$\$", text) for text in cells), path.name


# --- El camino ------------------------------------------------------------------------------------

# De un camino: palabras, celdas de código, líneas y minutos; y, más largos, los que leen modelos de hoy.
MAX_WAY = (2000, 28, 130, 50)
LONGER = dict.fromkeys(("13", "14", "15"), (2200, 30, 150, 50))
# En las primeras, lo que se lee es la idea: las líneas, y la parte que comprueba, escribe o dibuja.
FIRST, FIRST_LINES, LOOKING = [f"{n:02}" for n in range(8)], 110, 0.15
# De 00 a 12: los caminos, con un ejercicio cada uno y lo que tienen enteras.
WAY_HOURS, PRACTISED_HOURS = 8.5, 11
ALL_WORDS, ALL_CODE_CELLS, ALL_LINES = 38_000, 520, 2900
SERIES_WORDS, WORDS_ALONE = 52_000, 4500  # todas; y cada una de las demás
WARNINGS_ON_THE_WAY = 8  # los «Error frecuente» de los caminos


@each_lesson
def test_the_way_fits_in_a_class(path):
    walked = way.part(notebooks.read(path), way.WAY)
    measured = (way.words(walked), len(codes(walked)), way.lines(walked), way.times(notebooks.read(path))[0])
    top = LONGER.get(path.stem[:2], MAX_WAY)
    assert [found <= most for found, most in zip(measured, top)] == [True] * 4, measured


@each_lesson
def test_in_the_first_ones_what_one_reads_is_the_idea(path):
    if path.stem[:2] in FIRST:
        walked = way.part(notebooks.read(path), way.WAY)
        assert way.lines(walked) <= FIRST_LINES
        assert way.looking(walked) <= LOOKING
        assert list(way.crowded(walked)) == []


def test_in_the_first_one_nothing_is_made_of_something_else():
    """Ni listas ni generadores por comprensión: es el primer código que lee quien empieza."""
    walked = way.part(notebooks.read(LESSONS[0]), way.WAY)
    kinds = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    assert not [one for one in way.read(walked) for node in ast.walk(ast.parse(one)) if isinstance(node, kinds)]


def test_a_pencil_twice_in_each_of_the_first_ones():
    asked = prediction.predictions()
    by_hand = [name[:2] for name in asked if asked[name]["question"].startswith("Con lápiz: ")]
    assert {number: by_hand.count(number) for number in FIRST[1:]} == dict.fromkeys(FIRST[1:], 2)


def test_each_way_asks_three_to_five_times():
    ways = {path.stem[:2]: codes(way.part(notebooks.read(path), way.WAY)) for path in LESSONS}
    asked = {number: sum("Prediction(" in code for code in way) for number, way in ways.items()}
    assert all(number in LONGER or 3 <= count <= 5 for number, count in asked.items()), asked


@each_lesson
def test_the_way_stands_alone(path):
    assert way.faults(notebooks.read(path)) == []


# «cuaderno 03, apartado 9.4», «lección [03](…) (9.4)», «cuaderno 03 §9.4».
SECTION = re.compile(
    r"(?:cuaderno|lección) \[?(\d\d)\]?(?:\([^)]*\))?(?: \(|,? (?:el )?apartado |,? §)(\d+(?:\.\d+)?)"
)


def beside_sections(nb):
    """Los números de los apartados que están al lado del camino."""
    found = texts(way.part(nb, way.ASIDE))
    return {number for text in found for number in re.findall(r"^#+ (\d+(?:\.\d+)?)[. ]", text, re.M)}


def leaning_faults(nb, beside):
    """A qué apartados plegados de otras lecciones manda el camino. ``beside``: los de cada lección."""
    for text in texts(way.part(nb, way.WAY)):
        for match in SECTION.finditer(text):
            if match[2] in beside[match[1]]:
                yield match[0]


def test_the_way_leans_only_on_ways():
    beside = {path.stem[:2]: beside_sections(notebooks.read(path)) for path in LESSONS}
    assert beside["03"] >= {"9.4", "10.1"}
    found = {path.stem: list(leaning_faults(notebooks.read(path), beside)) for path in LESSONS}
    assert not any(found.values()), found


@each_lesson
def test_minutes_are_those_of_the_model(path):
    nb = notebooks.read(path)
    [stated] = way.stated_times(nb)
    for number, computed in zip(stated, way.times(nb)):
        assert number % 5 == 0
        assert abs(number - computed) <= 4, [round(found) for found in way.times(nb)]


@each_lesson
def test_one_exercise_is_for_home(path):
    nb = notebooks.read(path)
    [chosen] = way.FOR_HOME.findall("\n".join(texts(nb)))
    assert any(code.startswith(f"# Ejercicio {chosen}\n") for code in codes(nb))


def test_the_whole_series_is_no_longer_than_it_was():
    lessons = [notebooks.read(path) for path in LESSONS]
    lessons, later = lessons[:13], lessons[13:]
    minutes = [way.times(nb)[0] for nb in lessons]
    assert sum(minutes) <= 60 * WAY_HOURS
    assert sum(minutes) + len(lessons) * way.MINUTES_AN_ANSWER[True] <= 60 * PRACTISED_HOURS
    assert sum(map(way.words, lessons)) <= ALL_WORDS
    assert sum(len(codes(nb)) for nb in lessons) <= ALL_CODE_CELLS
    assert sum(map(way.lines, lessons)) <= ALL_LINES
    assert sum(map(way.words, lessons + later)) <= SERIES_WORDS
    assert all(way.words(nb) <= WORDS_ALONE for nb in later)
    walked = "\n".join(text for nb in lessons for text in texts(way.part(nb, way.WAY)))
    assert walked.count("Error frecuente") <= WARNINGS_ON_THE_WAY


# --- Los errores que se leen por ahí --------------------------------------------------------------


HERE = Path(__file__).parent


def rows_of(name):
    """Las filas de la tabla de un documento, sin la cabecera."""
    text = (HERE / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def place_faults(places):
    """Dice qué falla en una fila: cada enlace lleva a una celda, por su id, o nombra una prueba."""
    found = links(places)
    if not found:
        yield "no dice dónde"
    for name, target in found:
        path, _, cell_id = target.partition("#cell-id=")
        file = HERE / path
        if not file.is_file():
            yield f"no existe {path}"
        elif file.suffix == ".py":
            if f"def {name.strip('`')}(" not in file.read_text(encoding="utf-8"):
                yield f"no hay ninguna prueba {name}"
        elif name != file.stem[:2]:
            yield f"no es la lección {name}: {path}"
        else:
            cells = [cell for cell in notebooks.read(file).cells if cell.id == cell_id]
            yield from ["no hay ninguna celda con el id de " + target] if not cells else ()
            yield from (f"no calcula nada: {target}" for cell in cells if not computes(cell))


def computes(cell):
    """Dice si una celda tiene alguna cuenta o comprobación, y no solo `import` o texto."""
    idle = ast.Import | ast.ImportFrom
    return cell.cell_type == "code" and not all(
        isinstance(statement, idle) for statement in ast.parse(cell.source).body
    )


@pytest.mark.parametrize(("number", "_", "places"), rows_of("errores_frecuentes.md"))
def test_every_common_error_is_answered(number, _, places):
    assert number.isdigit() and list(place_faults(places)) == []


def test_every_mended_sentence_is_checked():
    faults = {said: list(place_faults(places)) for said, places in rows_of("lo_que_se_decia_de_mas.md")}
    assert len(faults) >= 30
    assert not any(faults.values()), faults
