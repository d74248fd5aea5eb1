"""El mapa de cada paquete, al principio de su ``__init__.py``, está completo; lo que tiene se instala; y cada
cuarto importa solo los que tiene debajo: los contratos están en pyproject.toml."""

import ast
import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import aula
import course_checkers
import course_lib
import course_tools
import imagenes
import sitio

ROOT = Path(__file__).resolve().parents[1]
HOW = """El mapa es la docstring de {0}/__init__.py: una línea, «- ``nombre``: una frase.», por cada
archivo o cuarto (carpeta) que hay en {0}. Si has añadido uno, ponle su frase; si lo has movido o quitado,
quita la suya. Un archivo nuevo va a un cuarto, salvo que lo enseñe una lección."""

# Lo primero que ve quien abre la biblioteca: lo que enseñan las lecciones, en su orden.
TAUGHT = ["example", "masks", "attention", "neighbours", "layers", "transformer", "cache"]
TAUGHT += ["training", "decoding", "bert", "translator", "flash", "decoder_only"]
TAUGHT += ["sampling", "llama", "induction", "pre_norm", "seeing", "hearing", "plots"]

PACKAGES = {one.__name__: one for one in (course_lib, course_tools, course_checkers)}
PACKAGES |= {one.__name__: one for one in (sitio, aula, imagenes)}
each_package = pytest.mark.parametrize("package", PACKAGES)


def sentences(package):
    """(nombre, frase) de cada línea del mapa."""
    return re.findall(r"^- (.+?): (.+(?:\n  .+)*)", PACKAGES[package].__doc__, re.MULTILINE)


def entries(package):
    """Los programas y los cuartos que hay: los módulos, por su nombre."""
    for path in (ROOT / package).iterdir():
        room = path.is_dir() and any(path.glob("*.py"))
        if (room or path.suffix == ".py") and not path.name.startswith((".", "__")):
            yield path


@each_package
def test_the_map_is_complete(package):
    names = [name.strip("`") for name, _ in sentences(package)]
    there = {path.stem for path in entries(package)}
    repeated = {name for name in names if names.count(name) > 1}
    faults = {"faltan en el mapa": there - set(names), "sobran": set(names) - there}
    faults["están repetidos"] = repeated
    assert not any(faults.values()), f"{faults}\n{HOW.format(package)}"


def test_first_what_the_lessons_teach_and_no_other_module():
    names = [name.strip("`") for name, _ in sentences("course_lib")]
    how = HOW.format("course_lib")
    assert names[: len(TAUGHT)] == TAUGHT, how
    modules = {path.stem for path in (ROOT / "course_lib").glob("*.py")} - {"__init__"}
    assert modules <= set(TAUGHT), f"{modules - set(TAUGHT)}\n{how}"


@each_package
def test_each_has_one_sentence(package):
    for name, sentence in sentences(package):
        assert re.fullmatch(r"``\w+``", name), f"«{name}»: uno por línea.\n{HOW.format(package)}"
        assert re.fullmatch(r"[^.]+\.", sentence), f"«{name}»: «{sentence}»\n{HOW.format(package)}"


@each_package
def test_every_room_presents_itself(package):
    for room in filter(Path.is_dir, entries(package)):
        path = room / "__init__.py"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text.startswith('"""'), f"{room.name}: di en su __init__.py qué hay dentro."


def test_what_is_not_python_is_installed_too():
    """Lo que no es Python solo se instala si lo dice ``package-data``, en pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    told = [
        (package, pattern, set((ROOT / package.replace(".", "/")).glob(pattern)))
        for package, patterns in project["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
    ]
    installed = set().union(*(paths for _, _, paths in told))
    data = {
        path.relative_to(ROOT).as_posix()
        for package in ("course_lib", "course_checkers", "course_tools")
        for path in (ROOT / package).rglob("*.*")
        if path.suffix not in (".py", ".pyc")
        and path.is_file()
        and path.name[0] != "."
        and path not in installed
    }
    assert data == set(), "Añádelos a package-data, en pyproject.toml."
    assert [(package, pattern) for package, pattern, paths in told if not paths] == [], "Sobran."


def test_every_room_imports_only_those_below(capsys):
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


def test_no_program_is_out_of_the_contracts():
    """Una carpeta sin ``__init__.py`` no es un paquete, y sus import no se miran."""
    folders = {path.parent for room in PACKAGES for path in (ROOT / room).rglob("*.py")}
    alone = {folder for folder in folders if not (folder / "__init__.py").exists()}
    assert alone == set(), "Ponles un __init__.py que diga qué hay dentro."


# --- Solo lo que usa una lección ------------------------------------------------------------------


def modules():
    """Nombre → archivo de cada módulo de la biblioteca."""
    paths = sorted((ROOT / "course_lib").rglob("*.py"))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths)}


def imported(code):
    """Los módulos de la biblioteca que importa un código, también los que un paquete da al pedirlos."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
            lazy = getattr(import_module(node.module), "_MODULE_OF", {})
            yield node.module
            yield from (f"{node.module}.{lazy.get(a.name, a.name)}" for a in node.names)


def test_the_library_holds_only_what_the_lessons_use():
    """Lo que abre el curso, comprueba respuestas o entrena el traductor está en otro paquete."""
    every, used = modules(), set()
    pending = {
        name
        for path in ROOT.glob("notebooks/**/*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
        for name in imported(re.sub(r"^(\s*)[%!].*$", r"\1pass", "".join(cell["source"]), flags=re.M))
    }
    while pending:
        name = pending.pop()
        if name in every and name not in used:
            used.add(name)
            pending.update(imported(every[name].read_text(encoding="utf-8")))
    assert sorted(set(every) - used) == []


MOST = {"course_lib/attention.py": 270, "course_lib": 7500, "course_checkers": 14044}


@pytest.mark.parametrize("place", MOST)
def test_it_does_not_outgrow_a_reader(place):
    """Líneas de Python, de lo que se lee de una sentada y de cada paquete: quien añade, quita."""
    paths = [*(ROOT / place).rglob("*.py")] or [ROOT / place]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= MOST[place]


def test_the_library_is_a_shelf_and_not_an_archive():
    files = [p for p in (ROOT / "course_lib").rglob("*.*") if p.is_file() and p.suffix != ".pyc"]
    assert len(files) <= 100
