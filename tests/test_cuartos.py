"""Cada cuarto importa solo los que tiene debajo: los contratos están en pyproject.toml."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["importlinter"]["root_packages"]
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]

# Un import prohibido para cada contrato, escondido dentro de una función.
FORBIDDEN = {
    "course_lib.masks": "course_checkers.engine.case",
    "imagenes.strokes": "course_tools.opening.copies",
    "course_checkers.engine.report": "course_checkers.lessons.l05_1_attention",
    "course_lib.layers": "course_lib.transformer",
    "course_tools.training.tokens": "course_tools.training.train_translator",
}
CIRCLE = ".train_translator -> .tokens"  # un círculo se dice por donde sería más fácil romperlo
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


def test_a_forbidden_import_breaks_its_contract(tmp_path):
    """Una copia con un import prohibido de cada clase: los rompe todos y dice por dónde va cada uno."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path in files(*ROOMS):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for module, wanted in FORBIDDEN.items():
        with (tmp_path / f"{module.replace('.', '/')}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef later():\n    import {wanted}\n")
    lint = "from importlinter.cli import lint_imports; lint_imports(no_cache=True, no_logo=True)"
    env = dict(os.environ, PYTHONPATH=str(tmp_path), PYTHONUTF8="1", COLUMNS="200")
    told = subprocess.check_output(
        [sys.executable, "-c", lint], cwd=tmp_path, env=env, text=True, encoding="utf-8"
    )
    assert f"0 kept, {len(CONTRACTS)} broken" in told
    chains = [f"{module} -> {wanted}" for module, wanted in FORBIDDEN.items()]
    assert [chain for chain in [*chains[:-1], CIRCLE] if chain not in told] == [], told


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
