"""Lo que has hecho: se guarda en tu ordenador, junto a tus cuadernos, y en ningún otro sitio.

Es el archivo ``.progreso.json`` de ``copies.student_folder``. La variable de entorno CURSO_PROGRESO
dice otro, y «no», ninguno. Dice, de cada ejercicio, cuántas veces se ha comprobado hasta estar bien
(``tries``) y, si ya lo está, el día (``date``), como de cada línea (``lines``); de cada predicción, lo que se
dijo (``said``), si era lo que sale (``right``) y el día; y de lo que se vuelve a preguntar (``asked``), lo mismo.
Del inventario (``inventory``), lo que se va diciendo de cada forma y lo entregado cada día.
"""

import contextlib
import json
import os
from datetime import date
from pathlib import Path

from course_tools.opening.copies import beside, student_folder

PLACE = "CURSO_PROGRESO"
KINDS = "exercises", "predictions", "lines", "asked", "inventory"


def place():
    """El archivo del progreso, o ``None`` si no se guarda."""
    chosen = os.environ.get(PLACE)
    if chosen == "no":
        return None
    return Path(chosen) if chosen else student_folder() / ".progreso.json"


def load():
    """Todo lo apuntado, de cada clase (``KINDS``): ``{"exercises": {…}, …}``. Si el archivo no se entiende, nada."""
    try:
        return _read(place())
    except (OSError, ValueError):
        return {kind: {} for kind in KINDS}


def _read(path):
    """Lo que dice un archivo del progreso, también uno de antes: número → fecha.

    Raises:
        ValueError: si no se entiende.
    """
    if path is None or not path.exists():
        return {kind: {} for kind in KINDS}
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError
    if found and all(isinstance(day, str) for day in found.values()):
        found = {"exercises": {number: {"tries": None, "date": d} for number, d in found.items()}}
    kept = {kind: found.get(kind, {}) for kind in KINDS}
    if not all(isinstance(one, dict) for kind in kept.values() for one in [kind, *kind.values()]):
        raise ValueError
    return kept


def solved():
    """Los ejercicios resueltos: número → fecha."""
    return {n: one["date"] for n, one in load()["exercises"].items() if one.get("date")}


def tried(exercise, ok, kind="exercises"):
    """Apunta que un ejercicio se ha comprobado, por su número, y si está bien. Da las notas que hay que añadir."""

    def add(found):
        old = found[kind].get(exercise, {})
        if old.get("date"):
            return False
        tries = old.get("tries") if isinstance(old.get("tries"), int) else 0
        day = date.today().isoformat() if ok else None
        found[kind][exercise] = {"tries": tries + 1, "date": day}
        return True

    told = _change(add)
    if not told or not ok:
        return ()
    return (f"está bien, pero no se ha podido apuntar: {told}; y repite esta celda.",)


def predicted(name, said, right):
    """Apunta lo dicho en una predicción: solo lo primero. Da por qué no se ha podido, o nada.

    Si es lo que ya estaba apuntado, y se juzgó de otra forma, cambia si era lo que sale.
    """

    def add(found):
        new = {"said": said, "right": right, "date": date.today().isoformat()}
        old = found["predictions"].setdefault(name, new)
        judged = old is new or (old.get("said") == said and old.get("right") is not right)
        if judged:
            old["right"] = right
        return judged

    return _change(add)


def asked(name, said, right, lesson):
    """Apunta lo contestado a una pregunta que vuelve, y en qué lección. Da por qué no se ha podido, o nada.

    Si en esa lección ya se había fallado, corregirlo no lo quita: vuelve en otra.
    """

    def add(found):
        old = found["asked"].get(name, {})
        missed = old.get("lesson") == lesson and old.get("right") is False
        new = {"said": said, "right": right and not missed, "date": date.today().isoformat(), "lesson": lesson}
        found["asked"][name] = new
        return old != new

    return _change(add)


def taken(name, record):
    """Apunta lo dicho en el inventario: de una forma, lo que se va diciendo; con su día, lo entregado, una vez.

    Da por qué no se ha podido, o nada.
    """

    def add(found):
        old = found["inventory"].get(name, {})
        if not old.get("date"):
            found["inventory"][name] = record
        return found["inventory"][name] != old

    return _change(add)


def _change(add):
    """Lee lo apuntado, deja que ``add`` lo cambie y lo escribe. Da por qué no, o nada.

    Un archivo que no se entiende no se pierde: queda al lado, con su fecha.
    """
    if (path := place()) is None:
        return ""

    def edit():
        try:
            found = _read(path)
        except ValueError:
            path.rename(beside(path))
            found = {kind: {} for kind in KINDS}
        return json.dumps(found, indent=1, ensure_ascii=False) if add(found) else None

    return change(path, edit)


def change(path, edit):
    """Escribe un archivo entero, uno cada vez: lo que dé ``edit``, o nada si da ``None``. Da por qué no."""
    from filelock import FileLock, Timeout  # solo para escribir: aquí está, con torch

    name = f".{path.stem.lstrip('.')}"
    with contextlib.suppress(OSError, Timeout):
        path.parent.resolve(strict=True)  # ``FileLock`` la haría
        with FileLock(path.with_name(f"{name}.lock"), timeout=5):
            if (text := edit()) is not None:
                temporary = path.with_name(f"{name}.tmp")
                temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
                temporary.replace(path)
            return ""
    return (
        f"no se puede escribir {path.parent.name}/{path.name}. Comprueba que la carpeta existe y es tuya, "
        "y que queda sitio en el disco"
    )


def forget():
    """Borra el archivo."""
    if (path := place()) is not None:
        path.unlink(missing_ok=True)
