"""Los cuadernos como archivos: forma normal, reglas de una lección y salidas ciertas."""

import ast
import functools
import re
import statistics
from pathlib import Path

import pytest
from helpers_notebooks import code_cells, is_exempt
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tools import notebooks, way

import course_lib
from course_lib import explorers

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = notebooks.course_notebooks()
LESSONS = [path for path in NOTEBOOKS if notebooks.is_lesson(path)]
MAX_EXEMPT = 0.03
MAX_LINES = 25
MAX_LETTERS = 110  # de una línea de código: más no cabe al proyectarla

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def sound_notebook():
    """Un cuaderno pequeño que cumple todas las reglas."""
    stream = new_output("stream", name="stdout", text="0.53\n")
    cells = [
        new_markdown_cell("# 00 · Prueba\n\n## En esta lección\n\nVerás un número."),
        new_markdown_cell(
            "![El bloque de la atención](../imagenes/sdpa.svg) de [aquí](../README.md#licencia)"
        ),
        new_code_cell("from course_lib import extract_embeddings", outputs=[]),
        new_code_cell("extract_embeddings('Hola')\nprint(0.53)", outputs=[stream]),
        new_markdown_cell("## Resumen\n\nUn número.\n\n## Siguiente\n\nNada."),
    ]
    nb = new_notebook(cells=cells)
    for cell in nb.cells:
        del cell["id"]  # nbformat los pone al azar
    return notebooks.normalize(nb)


# --- La forma normal ------------------------------------------------------------------------------


@each_notebook
def test_notebook_is_in_normal_form(path):
    assert notebooks.file_problems(path) == [], "Arréglalo con: python curso.py cuadernos"


def _output(nb, kind="display_data", **fields):
    code_cells(nb)[1].outputs.append(new_output(kind, **fields))


def _text(nb, text):
    _output(nb, data={"text/plain": text})


# Lo que `normalize` arregla y lo que solo se arregla cambiando la celda.
REPAIRED = {
    "no 4.5": lambda nb: nb.update(nbformat_minor=4),
    "cuaderno .*: kernelspec": lambda nb: nb.metadata.kernelspec.update(display_name="mi_env"),
    "cuaderno .*: jupytext": lambda nb: nb.metadata.update(jupytext={}),
    "cuaderno .*: widgets": lambda nb: nb.metadata.update(widgets={"state": {}}),
    "Hay celdas vacías": lambda nb: nb.cells.append(new_code_cell(" \n")),
    r"Celda 2: el id.*\(id\)": lambda nb: nb.cells[1].pop("id"),
    r"Celda 4: el id.*\(id\)": lambda nb: nb.cells[3].update(id=nb.cells[2].id),
    r"Celda 5: el id.*\(id\)": lambda nb: nb.cells[4].update(id="con espacios"),
    "Celda 1: tiene metadatos": lambda nb: nb.cells[0].metadata.update(collapsed=False),
    "Celda 3: tiene metadatos": lambda nb: nb.cells[2].metadata.update(execution={"a": 1}),
    "Celda 3: no está ejecutada": lambda nb: nb.cells[2].update(execution_count=7),
    "Celda 4: no está ejecutada": lambda nb: nb.cells[3].update(execution_count=None),
    "Celda 4: las salidas": lambda nb: _output(nb, "stream", name="stdout", text="más\n"),
}
UNREPAIRED = {
    "falla: ValueError": lambda nb: _output(nb, "error", ename="ValueError", evalue="no"),
    "escribe un aviso: ojo": lambda nb: _output(nb, "stream", name="stderr", text="ojo\n"),
    "dirección de memoria: 0x7f": lambda nb: _text(nb, "<x at 0x7f12ab34cd>"),
    "ruta .*/home/ana": lambda nb: _output(nb, data={"text/html": "<a href='/home/ana/x'>x</a>"}),
    r"ruta .*C:\\Users": lambda nb: _text(nb, "C:\\Users\\ana"),
    "Celda .*: muestra una ruta": lambda nb: _text(nb, str(ROOT / "curso.py")),
    "no es un cuaderno válido|válido": lambda nb: nb.cells[0].update(inventado=1),
}


@pytest.mark.parametrize("phrase", REPAIRED | UNREPAIRED)
def test_fault_is_seen_and_repaired_or_stays(phrase):
    nb = sound_notebook()
    (REPAIRED | UNREPAIRED)[phrase](nb)
    assert re.search(phrase, "\n".join(notebooks.problems(nb)))
    left = "\n".join(notebooks.problems(notebooks.normalize(nb)))
    assert re.search(phrase, left) if phrase in UNREPAIRED else left == ""


# --- La orden «cuadernos» -------------------------------------------------------------------------


def save(path, *sources):
    cells = [new_code_cell(source) for source in sources]
    path.write_text(notebooks.to_text(new_notebook(cells=cells)), encoding="utf-8")
    return path


CHANGES = """import io, time
from IPython.display import Image
from matplotlib.figure import Figure
Figure(figsize=(1, 1)).savefig(file := io.BytesIO(), metadata={"Title": str(time.time())})
Image(file.getvalue())"""


def test_running_twice_gives_the_same_bytes(tmp_path, capsys):
    """Aunque cambien el nombre de un control y lo que un PNG lleva escrito; el JSON, como el de nbformat."""
    code = "import ipywidgets\nprint('uno', flush=True)\nprint('dos')"
    path = save(tmp_path / "x.ipynb", code, "ipywidgets.IntSlider()", CHANGES)
    assert notebooks.main(["--comprobar", str(path)]) == 1
    assert notebooks.main([str(path)]) == 0
    first = path.read_bytes()
    assert notebooks.main([str(path)]) == 0
    assert path.read_bytes() == first
    assert notebooks.main(["--comprobar", str(path)]) == 0
    assert "guardado" in capsys.readouterr().out
    path.write_bytes(first.replace(b'\n "', b'\n  "'))
    assert notebooks.file_problems(path) == ["El JSON no está escrito como lo escribe nbformat."]


def test_what_is_projected_is_the_class_and_not_the_lesson(tmp_path):
    for folder, kept in (("notebooks", 0), ("clases", 1)):
        path = tmp_path / folder / "00_x.ipynb"
        path.parent.mkdir()
        save(path, "x = 1")
        nb = notebooks.read(path)
        nb.cells[0].metadata.slideshow = {"slide_type": "slide"}
        path.write_text(notebooks.to_text(nb), encoding="utf-8")
        assert notebooks.main([str(path)]) == 0
        assert len(notebooks.read(path).cells[0].metadata) == kept


@pytest.mark.parametrize(("source", "says"), [
    ("# la prueba\n1 / 0", "la celda 2 falla:\n\n    # la prueba\n    1 / 0\n\nZeroDivisionError"),
    pytest.param(
        "import os; os._exit(1)", "la celda 2 falla:.*el kernel ha muerto", marks=pytest.mark.lenta
    ),
    pytest.param("import os; print(os.getcwd())", "Celda 2: muestra una ruta", marks=pytest.mark.lenta),
])  # fmt: skip
def test_a_notebook_that_fails_is_not_touched(tmp_path, capsys, source, says):
    path = save(tmp_path / "x.ipynb", "x = 1", source, "x")
    before = path.read_bytes()
    assert notebooks.main([str(path)]) == 1
    assert path.read_bytes() == before
    assert re.search(f"x.ipynb: .*{says}.*no se ha tocado", capsys.readouterr().out, re.DOTALL)


# --- Las reglas de una lección --------------------------------------------------------------------


@functools.cache
def library_names():
    """Los nombres públicos que definen los módulos que usan las lecciones."""
    names = {*course_lib.__all__, *explorers.__all__}
    library = ROOT / "course_lib"
    for path in library.rglob("*.py"):
        room = path.relative_to(library).parts[0]
        if room != "explorers":  # una lección solo ve lo que anuncian
            body = ast.parse(path.read_text(encoding="utf-8")).body
            names |= {n.name for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")}


def defined_names(tree):
    """Los nombres a los que el código da un valor: clases, funciones y variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def lesson_faults(nb):
    """Dice en qué se aparta una lección de las reglas de la casa."""
    yield from structure_faults(nb)
    used, library = set(), library_names()
    for number, cell in enumerate(nb.cells, 1):
        faults = code_faults if cell.cell_type == "code" else markdown_faults
        yield from (f"celda {number}: {fault}" for fault in faults(cell, used, library))
    if "course_lib" not in used:
        yield "no importa nada de course_lib"
    if not used & {"extract_embeddings", "load_bert", "load_llama"}:
        yield "no usa un modelo de verdad: ni extract_embeddings, ni load_bert, ni load_llama"


def structure_faults(nb):
    texts = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    headings = re.findall(r"^(#+) +(.+?) *$", "\n".join(texts), re.MULTILINE)
    if [level for level, _ in headings].count("#") != 1 or not nb.cells[0].source.startswith("# "):
        yield "no empieza con un título, y solo uno"
    titles = [title for _, title in headings]
    if titles[1:2] != ["En esta lección"]:
        yield "tras el título falta «En esta lección»"
    if titles[-2:] != ["Resumen", "Siguiente"]:
        yield "no acaba con «Resumen» y «Siguiente»"


def code_faults(cell, used, library):
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as error:
        yield f"no es Python sin más (¿una orden con ! o %?): {error.text}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            module = getattr(node, "module", None) or node.names[0].name
            used.add(module.split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used.add(node.func.id)
    repeated = library & set(defined_names(tree))
    if repeated:
        yield f"vuelve a definir lo que ya está en course_lib: {', '.join(sorted(repeated))}"
    if re.search(r"\.show\(\)", cell.source):
        yield "sobra .show(): la figura se muestra al ser la última línea"
    drawn = [ast.unparse(n.value.func) for n in tree.body[:-1] if is_call(n)]
    lost = [name for name in drawn if re.match("plot_|[a-zA-Z]*Explorer$", name)]
    if lost:
        yield f"la figura de {lost[0]} no se ve: tiene que ser la última línea"
    if re.search(r"# *(NBVAL_|PYTEST_VALIDATE)", cell.source):
        yield "se libra de la comparación con un comentario: usa la etiqueta"
    if is_exempt(cell) and not re.search(r"# sin comparar: \w+", cell.source):
        yield "no dice por qué se libra: «# sin comparar: …»"
    if len(cell.source.splitlines()) > MAX_LINES:
        yield f"tiene más de {MAX_LINES} líneas"
    if any(len(line) > MAX_LETTERS for line in cell.source.splitlines()):
        yield f"tiene una línea de más de {MAX_LETTERS} letras"


def markdown_faults(cell, _used, _library):
    """Que un enlace o una imagen existan lo mira ``test_copies``."""
    text = re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL)
    if "<img" in text:
        yield "una imagen se escribe como en Markdown"
    for alternative, target in re.findall(r"!\[([^]]*)\]\(([^)\s]*)", text):
        if len(alternative.split()) < 3:
            yield f"la imagen {target} no cuenta lo que muestra: «{alternative}»"


def is_call(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


@each_lesson
def test_lesson_follows_the_rules(path):
    assert list(lesson_faults(notebooks.read(path))) == []


# --- Las medidas de la serie ----------------------------------------------------------------------


def test_half_of_the_cells_are_short_and_there_is_text_between_them():
    books = [notebooks.read(path) for path in LESSONS]
    every = [cell for nb in books for cell in code_cells(nb)]
    assert 3 <= statistics.median(len(cell.source.splitlines()) for cell in every) <= 6
    assert 40 <= sum(map(way.words, books)) / len(every) <= 200


def test_few_cells_are_exempt_from_comparison():
    cells = [cell for path in NOTEBOOKS for cell in code_cells(notebooks.read(path))]
    exempt = [cell.source for cell in cells if is_exempt(cell)]
    assert len(exempt) <= MAX_EXEMPT * len(cells), exempt


def test_no_class_is_defined_twice():
    where = {}
    for path in LESSONS:
        for cell in code_cells(notebooks.read(path)):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.ClassDef):
                    where.setdefault(node.name, []).append(path.stem)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}
