"""Cada cuarto importa solo los que tiene debajo: los contratos están en pyproject.toml."""

import tomllib
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOMS = PROJECT["tool"]["importlinter"]["root_packages"]


def test_every_room_imports_only_those_below(capsys):
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


def test_no_program_is_out_of_the_contracts():
    """Una carpeta sin ``__init__.py`` no es un paquete, y sus import no se miran."""
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    alone = {folder for folder in folders if not (folder / "__init__.py").exists()}
    assert alone == set(), "Ponles un __init__.py que diga qué hay dentro."
