"""El mapa de la biblioteca, al principio de ``course_lib``, está completo; y lo que tiene se instala."""

import re
import tomllib
from pathlib import Path

import course_lib

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "course_lib"
HOW = """El mapa es la docstring de course_lib/__init__.py: una línea, «- ``nombre``: una frase.», por
cada archivo o cuarto (carpeta) que hay en course_lib. Si has añadido uno, ponle su frase; si lo has
movido o quitado, quita la suya. Un archivo nuevo va a un cuarto, salvo que lo enseñe una lección."""

# Lo primero que ve quien abre la biblioteca: lo que enseñan las lecciones, en su orden.
TAUGHT = ["example", "masks", "attention", "layers", "transformer", "cache", "decoding"]
TAUGHT += ["bert", "translator", "flash", "decoder_only", "sampling", "llama", "plots"]


def sentences():
    """(nombre, frase) de cada línea del mapa."""
    return re.findall(r"^- (.+?): (.+(?:\n  .+)*)", course_lib.__doc__, re.MULTILINE)


def entries():
    """Lo que hay en la biblioteca, sin lo que deja Python al ejecutarla."""
    for path in LIBRARY.iterdir():
        inside = path.is_file() or set(path.glob("*")) - {path / "__pycache__"}
        if inside and not path.name.startswith((".", "__")):
            yield path


def at_the_root():
    """Los módulos y los cuartos que hay; de otra cosa, su nombre entero."""
    return [path.stem if path.suffix == ".py" else path.name for path in entries()]


def test_the_map_is_complete():
    names = [name.strip("`") for name, _ in sentences()]
    missing, extra = set(at_the_root()) - set(names), set(names) - set(at_the_root())
    repeated = {name for name in names if names.count(name) > 1}
    faults = {"faltan en el mapa": missing, "sobran": extra, "están repetidos": repeated}
    assert not any(faults.values()), f"{faults}\n{HOW}"


def test_first_what_the_lessons_teach_and_no_other_module():
    names = [name.strip("`") for name, _ in sentences()]
    assert names[: len(TAUGHT)] == TAUGHT, HOW
    modules = {path.stem for path in LIBRARY.glob("*.py")} - {"__init__"}
    assert modules <= set(TAUGHT), f"{modules - set(TAUGHT)}\n{HOW}"


def test_each_has_one_sentence():
    for name, sentence in sentences():
        assert re.fullmatch(r"``\w+``", name), f"«{name}»: uno por línea.\n{HOW}"
        assert re.fullmatch(r"[^.]+\.", sentence), f"«{name}»: «{sentence}»\n{HOW}"


def test_every_room_presents_itself():
    for room in filter(Path.is_dir, entries()):
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
        for path in LIBRARY.rglob("*.*")
        if path.suffix not in (".py", ".pyc")
        and path.is_file()
        and path.name[0] != "."
        and path not in installed
    }
    assert data == set(), "Añádelos a package-data, en pyproject.toml."
    assert [(package, pattern) for package, pattern, paths in told if not paths] == [], "Sobran."
