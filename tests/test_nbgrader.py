"""nbgrader corrige una lección tal como está: una clase de cinco, de principio a fin."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from copy import deepcopy
from html import unescape
from pathlib import Path

import nbformat
import pytest
from tools import notebooks

from course_checkers.engine import catalog, questions

pytestmark = pytest.mark.lenta  # cada entrega arranca un kernel, y hay cinco
ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "aula/calificar/requirements.txt"
LESSON = "05_atencion"
SOURCE = ROOT / "notebooks" / f"{LESSON}.ipynb"
POINTS = {number: points for number, (_, points) in catalog.catalog().items() if number.startswith("5.")}

ATTENTION = """def my_attention(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights"""
BY_D_K = ATTENTION.replace(" ** 0.5", "").replace("~mask", "mask")
BROKEN = ATTENTION.replace("@ key.mT", "@ key.mT)")


def answer(number):
    """La celda que contesta bien a una pregunta."""
    return f"my_answer = {questions.questions('5')[number].right!r}"


QUESTIONS = dict.fromkeys(questions.questions("5"), answer)  # se calcula al entregarla
# Qué entrega cada quien: ejercicio → su celda. Lo que no está se entrega como se repartió.
CLASS = {
    "perfecta": {"5.1": ATTENTION, **QUESTIONS},
    "vacía": {},
    "a-medias": {"5.1": ATTENTION},
    "descuidada": {"5.1": BY_D_K},
    "no-compila": {"5.1": BROKEN, **QUESTIONS},
}
# Los ejercicios por los que cada quien puntúa, y lo que lee en su devolución.
SOLVED = {
    "perfecta": set(POINTS),
    "vacía": set(),
    "a-medias": {"5.1"},
    "descuidada": set(),
    "no-compila": set(QUESTIONS),
}
SAYS = {
    "perfecta": ["✓ Ejercicio 5.1", "✓ Ejercicio 5.2"],
    "vacía": ["○ Ejercicio 5.1", "○ Ejercicio 5.2", "aún sin resolver"],
    "a-medias": ["✓ Ejercicio 5.1", "○ Ejercicio 5.2", "aún sin resolver"],
    "descuidada": ["Has dividido por d_k y no por √d_k", "Has leído la máscara al revés"],
    "no-compila": ["SyntaxError", "NameError"],
}


# --- nbgrader, al lado del entorno y no dentro ----------------------------------------------------


def install(folder):
    """Instala nbgrader en `folder`, entero o nada, con el uv de este entorno o, si no puede, con su pip."""
    half = tempfile.mkdtemp(dir=folder.parent)
    alone = ("--no-deps", "--only-binary=:all:", "--target", half, "-r", REQUIREMENTS)
    tools = ("uv", "pip", "install", "--python", sys.executable), ("pip", "install", "--retries=2", "--no-compile")
    for tool in tools:
        done = subprocess.run([sys.executable, "-m", *tool, *alone], capture_output=True, text=True)
        if not done.returncode:
            break
    if done.returncode:
        shutil.rmtree(half)
        stop = pytest.fail if "CI" in os.environ else pytest.skip
        stop(f"Sin nbgrader no se prueba la corrección, y no se puede instalar:\n{done.stderr}")
    try:
        os.rename(half, folder)
    except OSError:  # otra prueba lo ha instalado a la vez
        shutil.rmtree(half)


@pytest.fixture(scope="module")
def library():
    """La carpeta de nbgrader, dentro del entorno. Se hace una vez para cada requirements."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = Path(sys.prefix) / f"nbgrader-{digest}"
    if not folder.exists():
        install(folder)
    return folder


# Varias órdenes de nbgrader en un solo proceso: arrancarlo cuesta tres segundos.
ORDERS = """
import json, sys
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp
from traitlets.config import Application

for order in json.loads(sys.argv[1]):
    Application.clear_instance()
    NbGraderApp.clear_instance()
    NbGraderApp.launch_instance(order)
with Gradebook("sqlite:///gradebook.db") as book:
    submissions = [s for a in book.assignments for s in a.submissions]
    json.dump({s.student.id: {g.name: g.score for g in s.notebooks[0].grades} for s in submissions},
              open("notas.json", "w"))
"""


@pytest.fixture(scope="module")
def nbgrader(library, tmp_path_factory):
    """Una función que da órdenes a nbgrader en una carpeta y devuelve lo que escribe."""
    empty = tmp_path_factory.mktemp("config")
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(library), os.environ.get("PYTHONPATH", "")]),
        # nbgrader llama por su nombre al programa alembic.
        "PATH": os.pathsep.join([str(library / "bin"), os.environ["PATH"]]),
        # Ni la configuración ni el arranque de quien prueba.
        "JUPYTER_CONFIG_DIR": str(empty),
        "IPYTHONDIR": str(empty),
    }

    def run(folder, *orders):
        command = [sys.executable, "-c", ORDERS, json.dumps([order.split() for order in orders])]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


# --- La lección y las entregas --------------------------------------------------------------------


def exercise_of(cell):
    """El número del ejercicio de un hueco o de su comprobación, o ``None``."""
    match = notebooks.EXERCISE_LINE.match(cell.source)
    return match and match[2]


def is_blank(cell):
    return cell.metadata.get("nbgrader", {}).get("solution", False)


def submission(released, cells):
    """Una entrega: la lección repartida, con los huecos rellenos y sin lo que no es un ejercicio.

    nbgrader ejecuta lo que se entrega, no lo que se repartió: con los import y los ejercicios basta.
    """

    def needed(cell):
        return exercise_of(cell) or re.match(r"(import|from) ", cell.source)

    nb = deepcopy(released)
    nb.cells = [cell for cell in nb.cells if cell.cell_type == "code" and needed(cell)]
    for cell in nb.cells:
        number = exercise_of(cell)
        if is_blank(cell) and number in cells:
            name = re.search(r"^my_\w+(?= =)", cell.source, re.MULTILINE)
            code = cells[number](number) if callable(cells[number]) else cells[number]
            code = code.replace("my_answer", name[0]) if name else code
            cell.source = f"# Ejercicio {number}\n{code}"
        elif is_blank(cell) and number in QUESTIONS:
            cell.source = re.sub(r"(?s)^(# Ejercicio \S+\n).*?(my_\w+ = ).*", r"\1\2...", cell.source)
    return nb


@pytest.fixture(scope="module")
def course(nbgrader, tmp_path_factory):
    """El curso de quien da clase, con las entregas corregidas."""
    root = tmp_path_factory.mktemp("curso")
    shutil.copy(ROOT / ".jupyter/nbgrader_config.py", root)
    source = root / "source" / LESSON
    source.mkdir(parents=True)
    shutil.copy(SOURCE, source)
    nbgrader(root, f"generate_assignment {LESSON}")
    released = nbformat.read(root / "release" / LESSON / f"{LESSON}.ipynb", 4)
    for name, cells in CLASS.items():
        folder = root / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        nbformat.write(submission(released, cells), folder / f"{LESSON}.ipynb")
    nbgrader(root, f"autograde {LESSON}", f"generate_feedback {LESSON}")
    return root


def feedback(course, name):
    """Lo que se lee en la devolución de una persona, sin etiquetas."""
    html = (course / "feedback" / name / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    body = html.partition("<body")[2]
    return " ".join(unescape(re.sub("<[^>]+>", "", body)).split())


# --- Las pruebas ----------------------------------------------------------------------------------


def test_release_keeps_the_stubs_and_nothing_else_is_released(course):
    files = [path.relative_to(course) for path in (course / "release").rglob("*") if path.is_file()]
    assert files == [Path("release", LESSON, f"{LESSON}.ipynb")]
    released, lesson = nbformat.read(course / files[0], 4), notebooks.read(SOURCE)
    stubs = [[cell.source for cell in nb.cells if is_blank(cell)] for nb in (released, lesson)]
    assert len(stubs[0]) == len(POINTS)
    assert stubs[0] == stubs[1]


def test_each_submission_gets_its_mark(course):
    scores = json.loads((course / "notas.json").read_text(encoding="utf-8"))
    assert scores == {
        name: {
            f"comprobacion-{number.replace('.', '-')}": points * (number in SOLVED[name])
            for number, points in POINTS.items()
        }
        for name in CLASS
    }


@pytest.mark.parametrize("name", CLASS)
def test_feedback_is_the_report_in_spanish(course, name):
    text = feedback(course, name)
    for sentence in SAYS[name]:
        assert sentence in text
    assert not re.search("course_(lib|checkers)/", text)
