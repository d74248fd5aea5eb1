"""Cada lección en JupyterLab, abierta una sola vez: se ejecuta, se ve bien y cabe al proyectarla."""

import os
from collections import namedtuple

import pytest
from nbformat import from_dict
from playwright.sync_api import TimeoutError
from test_browser import ROOT, lab  # noqa: F401
from test_notebooks import code_cells, compared_outputs
from test_slides import deck, open_deck, slides
from tools import notebooks

SCREENSHOTS = os.environ.get("CURSO_CAPTURAS")
LESSONS = [p.relative_to(ROOT) for p in notebooks.course_notebooks() if notebooks.is_lesson(p)]

# nbval compara las salidas con los hilos de serie, tantos como núcleos; aquí, con otro número.
THREADS = 2 if "1" in (os.environ.get("OMP_NUM_THREADS"), str(os.cpu_count())) else 1

pytestmark = pytest.mark.navegador

Lesson = namedtuple("Lesson", "path found cells")


@pytest.fixture(
    scope="module",
    params=LESSONS,
    ids=lambda path: path.stem,
)
def lesson(lab, request):  # noqa: F811
    """Una lección abierta y ejecutada, con lo que un estudiante vería mal y sus celdas."""
    lab.restore(request.param)
    first = f"import os; os.environ['OMP_NUM_THREADS'] = '{THREADS}'"
    yield Lesson(request.param, lab.faults(request.param, first), lab.cells)
    lab.close()


def test_lesson_runs_and_looks_right(lab, lesson, tmp_path):  # noqa: F811
    found = list(lesson.found)
    if found or SCREENSHOTS:
        images = lab.capture(SCREENSHOTS or tmp_path, lesson.path.stem)
        found += [f"Míralo en {images[0].parent}"] if found else []
    assert found == []


def test_outputs_do_not_depend_on_the_number_of_threads(lab, lesson):  # noqa: F811
    assert lab.prints("import torch; print(torch.get_num_threads())", str(THREADS))
    saved = notebooks.read(ROOT / lesson.path)
    executed = notebooks.read(ROOT / lesson.path)
    for cell, seen in zip(code_cells(executed), lesson.cells, strict=True):
        cell.outputs = [from_dict(output) for output in seen["outputs"]]
    before, after = (compared_outputs(notebooks.normalize(nb)) for nb in (saved, executed))
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == []


def test_every_cell_fits_the_screen(lab, lesson):  # noqa: F811
    try:
        with deck(lab) as page:
            seen = list(slides(page, lab, lesson.path))
    except (
        TimeoutError
    ):  # si una presentación se atasca, no hay otra hasta cargar la página de nuevo
        lab.close()
        lab.start()
        with open_deck(lab, lesson.path) as page:
            seen = list(slides(page, lab, lesson.path))
    total = len(lab.read(lesson.path).cells)
    assert [fault for slide in seen for fault in slide["faults"]] == []
    assert sorted({cell for slide in seen for cell in slide["cells"]}) == list(range(1, total + 1))
