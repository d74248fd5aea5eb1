"""Cada cuarto importa solo los que tiene debajo: los contratos están en pyproject.toml."""

import re
import tomllib
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["importlinter"]["root_packages"]

# Lo que pone algo en el camino de Python, y no es otro cuarto.
ON_THE_PATH = {
    "aula/first_cell.py",  # en Colab: el curso, que acaba de traer
    "aula/colab.py",  # en Colab: lo que allí falta
    "course_tools/download_models.py",  # en Colab: lo mismo
    "aula/calificar/student.py",  # en la jaula: lo que escribe una celda
    "aula/calificar/gradebook.py",  # nbgrader, que se instala aparte
}


def files(*rooms):
    """Los programas de unos cuartos, con su ruta desde la raíz."""
    return [path.relative_to(ROOT) for room in rooms for path in (ROOT / room).rglob("*.py")]


def test_every_room_imports_only_those_below(capsys):
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


def test_no_program_is_out_of_the_contracts():
    """Una carpeta sin ``__init__.py`` no es un paquete, y sus import no se miran."""
    alone = {path.parent for path in files(*ROOMS) if not (ROOT / path.parent / "__init__.py").exists()}
    assert alone == set(), "Ponles un __init__.py que diga qué hay dentro."


def test_no_room_reaches_another_through_the_path():
    """Los cuartos están instalados (``-e .``): para usar uno no se toca ``sys.path``."""
    edits = re.compile(r"\bsys\.path\b|PYTHONPATH")
    programs = [path for path in files(*ROOMS) if edits.search((ROOT / path).read_text("utf-8"))]
    assert {path.as_posix() for path in programs} == ON_THE_PATH
    installed = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {pattern.rstrip("*") for pattern in installed} == set(ROOMS)
