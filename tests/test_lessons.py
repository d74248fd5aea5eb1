"""Cada lección en JupyterLab: como está guardada y ejecutada.

Cada día se mira así una; cada noche, tres ejecutadas y, por turnos, todas como están guardadas. Las salidas las
compara nbval: cada día, las del camino.
"""

import os
import re

import pytest
from helpers_browser import ROOT
from helpers_explorers import answers, controls, saved_explorers
from helpers_notebooks import code_cells, compared_outputs
from nbformat import from_dict
from tools import notebooks

LESSONS = [p.relative_to(ROOT) for p in notebooks.course_notebooks() if notebooks.is_lesson(p)]
EVERY_DAY = "01_producto_escalar"  # tiene fórmulas, figuras y exploradores

# nbval compara las salidas con los hilos que diga conftest.py; aquí, con otro número.
THREADS = 2 if "1" in (os.environ.get("OMP_NUM_THREADS"), str(os.cpu_count())) else 1

EACH = [
    pytest.param(path, id=path.stem, marks=() if path.stem == EVERY_DAY else pytest.mark.lenta)
    for path in LESSONS
]


# --- Lo que se ve alrededor -----------------------------------------------------------------------


def test_what_lesson_00_names_is_on_the_screen(lab):
    """Los menús, en español, como *Menú* → *Orden*; un botón, como ▶▶ de la barra (*lo que dice de él*)."""
    menus = lab.page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    assert {"Archivo", "Editar", "Ver", "Ayuda"} <= set(menus)
    path = "notebooks/00_empieza_aqui.ipynb"
    lab.restore(path)
    lab.open(path)
    text = "\n".join(cell.source for cell in lab.read(path).cells if cell.cell_type == "markdown")
    orders = re.findall(r"\*([^*]+)\* → \*([^*]+)\*", text)
    buttons = re.findall(r"de la barra \(\*([^*]+)\*\)", text)
    assert text.count(" → *") == len(orders) > 0
    assert buttons
    for menu, order in orders:
        lab.page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
        shown = lab.page.locator(".lm-Menu-itemLabel:visible").all_inner_texts()
        lab.page.keyboard.press("Escape")
        assert order in shown
    for button in buttons:
        lab.page.locator(f'.jp-NotebookPanel-toolbar [title="{button}"]:visible').wait_for()
    lab.close()


# --- Guardada -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=EACH)
def saved(lab, request):
    """Una lección abierta como está guardada, y lo que en ella se ve mal."""
    path = request.param
    lab.restore(path)
    with lab.trusted(path):
        found = lab.saved_faults(path, len(saved_explorers(ROOT / path)))
        yield path, found
        lab.close()


@pytest.mark.turnos
def test_saved_lesson_looks_right(saved):
    assert saved[1] == []


@pytest.mark.turnos
def test_its_explorers_live_with_no_kernel(lab, saved):
    """Con el cuaderno guardado y de confianza, responden sin ejecutar nada."""
    path, _ = saved
    lab.stop_kernel()
    found = lab.page.locator(".exp").all()
    assert len(found) == len(saved_explorers(ROOT / path))
    for explorer in found:
        others = explorer.locator("select").all()
        assert any(answers(lab.page, explorer, one) for one in controls(explorer) + others)


# --- Ejecutada ------------------------------------------------------------------------------------


# Las ejecuta todas nbval; aquí, una de cada parte, y cómo quedan las demás se ve guardadas.
SOME = [one for one in EACH if one.id[:2] in ("01", "05", "09")]


@pytest.fixture(scope="module", params=SOME)
def executed(lab, request):
    """Una lección ejecutada, lo que en ella se ve mal y lo que sale de cada celda."""
    path = request.param
    lab.blank(path)
    first = f"import os; os.environ['OMP_NUM_THREADS'] = '{THREADS}'"
    yield path, lab.faults(path, first), lab.cells
    lab.close()


def test_lesson_runs_and_looks_right(executed):
    assert executed[1] == []


def test_outputs_do_not_depend_on_the_number_of_threads(lab, executed):
    path, _, cells = executed
    before, after = notebooks.read(ROOT / path), notebooks.read(ROOT / path)
    fixed = any("set_num_threads(1)" in cell.source for cell in code_cells(before))  # los fija ella
    threads = "1" if fixed else str(THREADS)
    assert lab.prints("import torch; print(torch.get_num_threads())", threads)
    for cell, seen in zip(code_cells(after), cells, strict=True):
        cell.outputs = [from_dict(output) for output in seen["outputs"]]
    before, after = (compared_outputs(notebooks.normalize(nb)) for nb in (before, after))
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == []
