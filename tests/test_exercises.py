"""Los ejercicios en las lecciones: su hueco, su comprobación, sus pistas y su solución."""

import ast
import functools
import re
from pathlib import Path

import nbformat
import pytest
import torch
from answers import cross
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import TimeoutError
from tools import notebooks

import course_checkers
from course_checkers import check_add_and_norm, check_projections
from course_checkers.engine import catalog, places
from course_checkers.engine.mistakes import lines
from course_tools import notebook
from course_tools.code import Code, needed

ROOT = Path(__file__).resolve().parents[1]
LESSONS = [path for path in notebooks.course_notebooks() if notebooks.is_lesson(path)]
CATALOG = catalog.catalog()
HINTS = ("Pista 1: una pregunta", "Pista 2: por dónde", "Pista 3: casi")

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
each_exercise = pytest.mark.parametrize("number", CATALOG)


def numbers_of(path):
    return [number for number in CATALOG if number.split(".")[0] == str(int(path.stem[:2]))]


def lesson_of(number):
    (path,) = (path for path in LESSONS if number in numbers_of(path))
    return path


def solution_of(path):
    return path.parent / "soluciones" / path.name


@functools.cache
def section(path):
    """Las celdas de «## Ejercicios»."""
    cells = notebooks.read(path).cells
    titles = {c.source.splitlines()[0]: i for i, c in enumerate(cells) if c.source.startswith("## ")}
    return cells[titles["## Ejercicios"] : titles["## Resumen"]]


def position(cells, kind, number):
    found = [i for i, c in enumerate(cells) if c.source.startswith(f"# {kind} {number}\n")]
    assert len(found) == 1, f"«# {kind} {number}» aparece {len(found)} veces"
    return found[0]


def said(cell):
    """Lo que se lee en las salidas de una celda."""
    texts = (o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
    return "\n".join(texts)


# --- En la lección --------------------------------------------------------------------------------


@each_lesson
def test_a_lesson_has_its_exercises(path):
    numbers = numbers_of(path)
    assert 2 <= len(numbers) <= 4
    text = "\n".join(cell.source for cell in section(path))
    assert re.findall(r"^# Ejercicio (\S+)$", text, re.MULTILINE) == numbers
    assert re.findall(r"^### Ejercicio (\S+) · ", text, re.MULTILINE) == numbers


@each_lesson
def test_one_is_on_a_trained_model_and_one_asks_for_an_answer(path):
    text = "\n".join(cell.source for cell in section(path))
    assert re.search("BERT|traductor|juguete|SmolLM2|Whisper", text)
    assert "check_answer(" in text


@each_lesson
def test_its_progress_ends_the_section(path):
    last = [cell for cell in section(path) if cell.cell_type == "code"][-1]
    assert re.search(rf"show_progress\(({int(path.stem[:2])})?\)", last.source)
    assert "Has resuelto 0 de" in said(last)


@each_exercise
def test_the_stub_runs_and_the_check_says_it_is_unsolved(number):
    cells = section(lesson_of(number))
    stub, check = (position(cells, kind, number) for kind in ("Ejercicio", "Comprobación"))
    assert check == stub + 1
    title, _ = CATALOG[number]
    assert said(cells[check]) == f"○ Ejercicio {number} · {title}: aún sin resolver."
    call = ast.parse(cells[check].source).body[-1].value
    assert call.func.id in course_checkers.__all__
    assert "..." in cells[stub].source


@each_exercise
def test_it_has_a_statement_and_three_hints(number):
    cells = section(lesson_of(number))
    stub = position(cells, "Ejercicio", number)
    statement = cells[stub - 1].source
    title, _ = CATALOG[number]
    assert statement.startswith(f"### Ejercicio {number} · ")
    assert len(statement.split()) >= 20
    after = next(cell.source for cell in cells[stub + 2 :] if cell.cell_type == "markdown")
    assert tuple(re.findall(r"<summary>(.*?)</summary>", after)) == HINTS
    assert after.count("</details>") == 3


@each_lesson
def test_the_answer_is_not_in_the_lesson(path):
    """Ni la pista «casi» trae el código entero: ningún bloque define lo que se pide."""
    wanted = re.findall(r"^(?:def|class) (my_\w+|My\w+)", "\n".join(c.source for c in section(path)), re.M)
    for cell in section(path):
        if cell.cell_type == "markdown":
            assert not re.search(rf"(?:def|class) (?:{'|'.join(wanted) or 'my_'})\b", cell.source)


# --- En las soluciones ----------------------------------------------------------------------------


@each_lesson
def test_the_solutions_are_right_and_show_a_tempting_mistake(path):
    nb = notebooks.read(solution_of(path))
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    outputs = "\n".join(map(said, cells))
    solved = re.findall(r"^✓ Ejercicio (\S+) ·", outputs, re.MULTILINE)
    assert [number for number in numbers_of(path) if number not in solved] == []
    refused = set(re.findall(r"^✗ Ejercicio (\S+) ·", outputs, re.MULTILINE))
    assert refused == set(numbers_of(path))
    assert "without_progress()" in cells[0].source
    assert f"(../{path.name})" in nb.cells[-1].source


def definitions(source):
    """Las funciones, las clases y las respuestas escritas de una celda: nombre → su texto."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = ast.get_source_segment(source, node)
        elif isinstance(node, ast.Assign):
            name, parts = ast.unparse(node.targets[0]), ast.walk(node.value)
            if name.startswith("my_") and not any(isinstance(part, ast.Name) for part in parts):
                found[name] = ast.get_source_segment(source, node)
    return found


def exercise_codes(nb):
    """El código de los ejercicios de una lección y, antes, solo lo que necesita de más arriba."""
    codes = [Code(cell.source) for cell in nb.cells if cell.cell_type == "code"]
    first = next(i for i, code in enumerate(codes) if code.source.startswith("# Ejercicio"))
    return [codes[k].source for k in needed(codes, (), also=range(first, len(codes)))]


EVERY_DAY = ("00", "03", "05", "06")  # cada noche, todos


@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.stem, marks=() if path.stem[:2] in EVERY_DAY else pytest.mark.lenta)
    for path in LESSONS
])  # fmt: skip
def test_the_exercises_of_a_lesson_run_when_solved(path, monkeypatch):
    """Quien los resuelve bien no se encuentra con un error en las celdas que usan lo suyo."""
    solutions = {}
    for cell in notebooks.read(solution_of(path)).cells:
        if cell.cell_type == "code":
            solutions = definitions(cell.source) | solutions
    monkeypatch.chdir(path.parent)
    names = {"__name__": "__main__", "display": lambda *shown: None}
    replaced = []
    for source in exercise_codes(notebooks.read(path)):
        if source.startswith("# Ejercicio"):
            written = [name for name in definitions(source) if name in solutions]
            source = "\n\n".join([source, *(solutions[name] for name in written)])
            replaced += written
        exec(compile(source, path.stem, "exec"), names)
        last = source.splitlines()[-1]
        checked = source.startswith("# Comprobación") and re.search(r"\bmy_\w+|\bMy\w+", last)
        if checked and checked[0] in replaced:
            assert eval(last, names), source
    assert replaced


# --- Lo que dicen los informes --------------------------------------------------------------------


LABELS = ROOT / "course_checkers/lessons/l14_labels.txt"  # sus segundas partes son instrucciones


def references():
    """Todo lo que un informe manda leer, con quien lo dice."""
    for module in catalog.modules():
        for exercise in catalog.exercises(module):
            for options in exercise.axes.values():
                for mistake in (m for option in options for m in option.mistakes):
                    yield mistake.id, mistake.read
        for question in getattr(module, "QUESTIONS", ()):
            yield question.number, question.read
            told = (wrong.mistake for wrong in question.wrong)
            yield from ((mistake.id, mistake.read) for mistake in told if mistake.read)
    for path in sorted((ROOT / "course_checkers").rglob("*.py")):
        for reference in re.findall(r"\"(\d\d §[^\"]*)\"", path.read_text(encoding="utf-8")):
            yield path.name, reference
    for path in sorted(set((ROOT / "course_checkers").rglob("*.txt")) - {LABELS}):
        for told in lines(path).values():
            yield from ((name, read) for name, (read, _) in told.items() if read)


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/soluciones"])
def test_every_section_a_report_sends_to_is_a_link(folder, monkeypatch):
    monkeypatch.chdir(ROOT / folder)
    lost = set()
    for reference in {reference for _, reference in references()}:
        found = re.fullmatch(rf'<a href="(.*)#cell-id=(.*)">{reference}</a>', places.linked(reference))
        cells = notebooks.read(found[1]).cells if found else []
        lesson, section = reference.split(" §")
        for cell in cells:
            if cell.id == found[2] and cell.cell_type == "markdown" and lesson in found[1]:
                titles = re.findall(r"^##+ (\d+(?:\.\d+)?)[. ]", cell.source, re.MULTILINE)
                # un apartado plegado no se ve: se va al título que lo pliega
                folded = cell.metadata.get(notebook.FOLDED) and section.split(".")[0] in titles
                if section in titles or folded:
                    break
        else:
            lost.add(reference)
    assert lost == set()


def test_each_exercise_leads_to_the_next_and_the_last_of_a_lesson_to_the_next_lesson(monkeypatch):
    monkeypatch.chdir(LESSONS[0].parent)
    following = dict(zip(CATALOG, [*list(CATALOG)[1:], None]))
    for number, after in following.items():
        path = lesson_of(after) if after else None
        if after is None:
            expected = ""
        elif path == lesson_of(number):
            statement = section(path)[position(section(path), "Ejercicio", after) - 1]
            there = f"{path.name}#cell-id={statement.id}"
            expected = f'{there}">Ejercicio {after} · {CATALOG[after][0]}'
        else:
            first = notebooks.read(path).cells[0]
            title = first.source.splitlines()[0].removeprefix("# ")
            expected = f'{path.name}#cell-id={first.id}">{title}'
        html = f'<p>Siguiente: <a href="{expected}</a></p>' if expected else ""
        assert places.onward(number) == html


@pytest.mark.parametrize("name", [n for n in course_checkers.__all__ if n.startswith("check_")])
def test_every_check_is_documented_and_in_a_lesson(name):
    assert "Args:" in getattr(course_checkers, name).__doc__
    assert any(f"{name}(" in cell.source for path in LESSONS for cell in section(path))


@pytest.mark.parametrize(("name", "notes"), [("functional", 1), ("with_a_module", 1), ("by_hand", 0)])
def test_a_function_of_torch_that_replaces_the_sum_is_a_note(name, notes):
    """La LayerNorm de torch da lo mismo, y no es lo que pide el enunciado de la 9.2."""

    def by_hand(x, sublayer_output, weight, bias, eps=1e-5):
        z = x + sublayer_output
        centred = z - z.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias

    code = by_hand if name == "by_hand" else getattr(cross, name)
    report = check_add_and_norm.check(code)
    assert report.ok
    assert len([note for note in report.notes if "LayerNorm de torch" in note]) == notes


def test_the_query_of_the_statement_is_that_of_torch():
    [case] = check_projections.extra
    x, W, *_, b = case.arguments
    assert check_projections.trace({}, case)["output"].Q.tolist() == [[[16, 21]]]
    assert torch.nn.functional.linear(x, W.T, b).tolist() == [[[16, 21]]]


# --- En JupyterLab --------------------------------------------------------------------------------

REPORT = """from course_checkers.engine.report import Finding, Report
Report("4.1", "x", (Finding("x", "mal", read="05 §9, 04 §9"),))"""

# Ejecuta la celda de código que ocupa esta posición y da lo que sale.
RUN = """async position => {
    lesson.content.activeCellIndex = position;
    await jupyterapp.commands.execute('notebook:run-cell');
    return lesson.content.widgets[position].model.outputs.toJSON();
}"""

# Dice si en el cuaderno que se ve, `path`, se lee la celda de ese id, o está a menos de media pantalla:
# JupyterLab recoloca después lo que aún no había dibujado.
LANDED = """([path, id]) => {
    const panel = jupyterapp.shell.currentWidget;
    if (panel?.context?.path !== path) return false;
    const cell = panel.content.widgets.find(cell => cell.model.id === id)?.node;
    const seen = panel.content.node.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
    const box = cell?.getBoundingClientRect();
    const near = seen.height / 2;
    return cell?.isConnected && box.bottom > seen.top - near && box.top < seen.bottom + near;
}"""

TO_THE_TOP = """() => {
    const panel = jupyterapp.shell.currentWidget;
    panel.content.node.querySelector('.jp-WindowedPanel-outer').scrollTop = 0;
    jupyterapp.shell.activateById(lesson.id);
}"""


def follow(page, text, path, tries=3):
    """Pulsa un enlace hasta llegar: JupyterLab, si va muy despacio, a veces recoloca lejos lo que abre."""
    for left in reversed(range(tries)):
        page.locator("a[href^='http']:visible", has_text=text).click()  # ya lo lleva JupyterLab
        try:
            page.wait_for_function(LANDED, arg=[path, "lejos"], timeout=40_000)
            return
        except TimeoutError:
            if not left:
                raise
            page.evaluate("() => jupyterapp.shell.activateById(lesson.id)")


@pytest.mark.lenta
def test_in_jupyterlab_a_report_lands_and_a_missing_name_says_what_to_run(lab):
    """Una lección que se abre sola, la misma ya abierta, y la que se está leyendo."""
    folder, filler = "de_prueba", "Un párrafo.\n\n" * 6
    (lab.folder / folder).mkdir()
    code = [new_code_cell("tool = print"), new_code_cell(REPORT), new_code_cell("tool(1); typo")]
    for name, start in (("04_de_aqui.ipynb", code), ("05_de_alla.ipynb", [])):
        cells = [*start, *(new_markdown_cell(filler, id=f"relleno-{n}") for n in range(120))]
        cells[80] = new_markdown_cell("## 9. Lejos", id="lejos")
        metadata = {"kernelspec": notebooks.KERNELSPEC}
        nbformat.write(new_notebook(cells=cells, metadata=metadata), lab.folder / folder / name)
    here, there = f"{folder}/04_de_aqui.ipynb", f"{folder}/05_de_alla.ipynb"
    lab.open(here)  # el kernel del curso, el de .jupyter, es quien carga la ayuda
    menus = lab.page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    order = lab.page.evaluate("jupyterapp.commands.label('notebook:run-all-above')")
    assert notebook.RUN_ABOVE[0] in menus
    assert notebook.RUN_ABOVE[1] == order

    assert "«tool» sale de una celda de más arriba" in str(lab.page.evaluate(RUN, 2))
    lab.page.evaluate(RUN, 0)
    (error,) = (o for o in lab.page.evaluate(RUN, 2) if o["output_type"] == "error")
    assert "name 'typo' is not defined" in error["evalue"]
    assert "más arriba" not in "".join(error["traceback"])

    lab.page.evaluate(RUN, 1)
    for text, path in (("05 §9", there), ("05 §9", there), ("04 §9", here)):
        follow(lab.page, text, path)
        lab.page.evaluate(TO_THE_TOP)
    lab.open(there)  # cierra el uno y, con su kernel, el otro
    lab.close()
