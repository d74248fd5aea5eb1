"""Lo que sabe el panel «Curso» de JupyterLab: las lecciones, lo resuelto y por dónde va quien estudia.

Por dónde va se guarda en ``.sitio.json``, al lado del progreso: la última lección (``last``) y, de cada una
(``at``), la celda, su apartado (``section``) y los que ha pisado (``seen``). Un archivo que no se entiende
es como si no estuviera. Solo usa lo que trae Python.
"""

import functools
import json
import os
import re

from course_tools.cells import BESIDE, checked, tagged
from course_tools.opening import copies, progress

NAME = "curso.mesa"  # en JupyterLab se escribe aquí; no es un archivo: lo recibe ``contents``
CLOSING = "curso.cierre"  # ni este: con él se pide a las páginas que guarden, y en él contestan
FIRST = "00_empieza_aqui.ipynb"
CELL = re.compile(r"[\w-]{1,64}", re.ASCII)
LONGEST = 80  # letras del nombre de un apartado
MOST = 500  # nombres de apartados, en todas las lecciones


def desk():
    """Todo lo que enseña el panel."""
    found = {"folder": copies.FOLDER, "lessons": lessons()}
    return found | {"exercises": sorted(progress.solved()), "place": place()}


@functools.cache
def lessons():
    """De cada lección: su archivo, su título, sus ejercicios y los apartados de su camino."""
    found = []
    for path in sorted((copies.ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = [c for c in cells if c["cell_type"] == "markdown"]
        whole = "\n".join("".join(c["source"]) for c in texts)
        way = "\n".join("".join(c["source"]) for c in texts if not tagged(c, BESIDE))
        found.append(
            {
                "name": path.name,
                "title": re.search(r"^# (.+)$", whole, re.MULTILINE)[1],
                "exercises": [number for cell in cells if (number := checked(cell))],
                "sections": re.findall(r"^## (\d+)\. ", way, re.MULTILINE),
            }
        )
    return found


def _file():
    """El archivo en que se apunta, o ``None`` si el progreso no se guarda."""
    path = progress.place()
    return path and path.with_name(".sitio.json")


def place():
    """Por dónde va, o ``None``."""
    try:
        said = json.loads(_file().read_text(encoding="utf-8"))
    except (AttributeError, OSError, ValueError, RecursionError):
        return None
    return said if _is_place(said) else None


def keep(text):
    """Apunta por dónde va, entero o nada; lo que no se entiende, no. Lo que vio otra pestaña, se queda.

    Raises:
        OSError: si no se puede escribir.
    """
    path = _file()
    if path and _is_place(said := json.loads(text)):
        for name, spot in (place() or {"at": {}})["at"].items():
            mine = said["at"].setdefault(name, spot)
            mine["seen"] = list(dict.fromkeys([*spot["seen"], *mine["seen"]]))
        if not _is_place(said):  # entre los dos, demasiados
            return
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(said, indent=1, ensure_ascii=False), encoding="utf-8")
        temporary.replace(path)


def last():
    """La lección por la que iba, si sigue en su carpeta; si no, la primera."""
    name = (place() or {}).get("last", FIRST)
    return name if (copies.student_folder() / copies.FOLDER / name).exists() else FIRST


def _is_place(said):
    """Dice si ``said`` es lo que escribe el panel."""
    try:
        spots = said["at"].values()
        names = [name for spot in spots for name in (spot["section"], *spot["seen"])]
        return (
            said["last"] in said["at"]
            and len(names) <= MOST
            and all(isinstance(name, str) and len(name) <= LONGEST for name in names)
            and all(map(copies.LESSON.fullmatch, said["at"]))
            and all(CELL.fullmatch(spot["cell"]) for spot in spots)
        )
    except (KeyError, TypeError, AttributeError):
        return False
