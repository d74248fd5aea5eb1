"""Los cuadernos de quien estudia: una copia de cada lección, en ``mis_cuadernos``.

Así, abrir el curso no lo cambia y ponerlo al día no choca con lo que has escrito. La hace, y la
pone al día, ``python curso.py abrir``; a mano, ``python -m course_tools.opening.copies``. Solo usa lo que
trae Python.

Tu copia lleva el texto, las figuras y los exploradores de la lección, y ninguna otra salida: lo
que sale al ejecutar una celda contesta, casi siempre, a la pregunta que tiene encima.
"""

import hashlib
import json
import os
import re
import shutil
import uuid
from datetime import datetime
from pathlib import Path

from course_tools.cells import exercise, is_of_exercise
from course_tools.renewed import aged, renewed

ROOT = Path(__file__).resolve().parents[2]
LESSON = re.compile(r"\d\d_\w+\.ipynb")
PLACE = "CURSO_CUADERNOS"  # la variable de entorno que dice otra carpeta
FOLDER = "mis_cuadernos"
OLD = "anteriores"  # dentro de ella, las copias de antes
RECORD = ".entregado.json"  # de cada lección: qué versión se entregó y la huella de cada celda
LINKED = ("notebooks", "imagenes", "course_lib")  # lo que usan las lecciones desde «..»
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
LINK = re.compile(
    r"(?<=\]\()(?=\.\./|\d\d_\w+\.ipynb)"
)  # donde empieza un enlace a otro archivo del curso


class CopiesError(Exception):
    """Las copias no se pueden hacer: el texto dice por qué y qué hacer."""


# --- Dónde ----------------------------------------------------------------------------------------


def student_folder():
    """La carpeta de lo tuyo: la del curso o, si en ella no puedes escribir, una de tu carpeta personal.

    La variable de entorno CURSO_CUADERNOS dice otra. En ella van ``mis_cuadernos`` y tu progreso.
    """
    if chosen := os.environ.get(PLACE):
        return Path(chosen).expanduser().resolve()
    return ROOT if os.access(ROOT, os.W_OK) else Path.home() / "atencion-paso-a-paso"


def prepare_folder():
    """Hace, si faltan, ``mis_cuadernos`` y lo que una copia necesita a su lado. Devuelve su ruta.

    Raises:
        CopiesError: si no se puede escribir.
    """
    home = student_folder()
    try:
        (home / FOLDER).mkdir(parents=True, exist_ok=True)
        for name in LINKED if home != ROOT else ():
            if not (home / name).exists():
                (home / name).unlink(missing_ok=True)  # un enlace a un curso que ya no está
                try:
                    (home / name).symlink_to(ROOT / name, target_is_directory=True)
                except OSError:  # Windows pide un permiso para hacer enlaces
                    shutil.copytree(ROOT / name, home / name)
    except OSError as error:
        raise CopiesError(
            f"No se puede escribir en {home}, donde van tus cuadernos ({error.strerror}). Pon en la "
            f"variable {PLACE} una carpeta en la que puedas, y repite la orden."
        ) from None
    return home / FOLDER


# --- Lo que se entrega ----------------------------------------------------------------------------


def deliver(nb):
    """La lección ``nb`` (el JSON de su cuaderno) tal como se entrega: sin lo que da la respuesta."""
    for cell in nb["cells"]:
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "code":
            drawn = [out for out in cell["outputs"] if WIDGET_VIEW in out.get("data", ())]
            cell.update(execution_count=None, outputs=drawn)
            for output in drawn:
                if "execution_count" in output:
                    output["execution_count"] = None
        else:
            cell["source"] = re.sub(r"(?<=\]\()[^)#\s]+", _from_copy, cell["source"])
    return nb


def _from_copy(link):
    """El destino de un enlace, visto desde la copia: lo que no es una lección se queda donde está."""
    stays = LESSON.fullmatch(link[0]) or not (ROOT / "notebooks" / link[0]).exists()
    return link[0] if stays or link[0].startswith("..") else f"../notebooks/{link[0]}"


def fingerprint(cell):
    """La huella de lo que dice una celda: su tipo, su texto y sus imágenes; no lo que ha salido."""
    said = [cell["cell_type"], "".join(cell["source"]), cell.get("attachments", {})]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


# --- Ponerla al día -------------------------------------------------------------------------------


def rewritten(cell, how):
    """La misma celda, con su código reescrito por ``how``."""
    code = cell["cell_type"] == "code"
    return {**cell, "source": how("".join(cell["source"]))} if code else cell


def merge(delivered, mine, theirs):
    """Pone en la lección nueva, ``theirs``, lo que has escrito en tu copia, ``mine``.

    El texto nuevo entra entero. Cada celda tuya se queda como está: la de un ejercicio, en su
    sitio; una que has añadido, detrás de la que tenía delante; una del curso que has cambiado, en
    su sitio o, si el curso también la ha cambiado, detrás de la nueva. Y al final, la que ya no
    tiene sitio. Nada se mezcla dentro de una celda: solo se ponen al día los nombres de lo que importa
    del curso y ha cambiado de sitio, y eso no cuenta como un cambio de nadie.

    Args:
        delivered: la huella de cada celda que se entregó, por su id.
        mine, theirs: el JSON de los dos cuadernos; ``theirs``, como lo deja ``deliver``.

    Returns:
        El JSON del cuaderno nuevo y si en ``mine`` había algo tuyo.
    """
    coming = {cell["id"]: cell for cell in theirs["cells"]}
    names = _names(delivered, mine["cells"], coming)
    changed, added, loose, last = {}, {}, [], None
    for name, cell in zip(names, mine["cells"]):
        mark, cell = fingerprint(cell), rewritten(cell, renewed)
        if name in coming:
            last, same = name, fingerprint(coming[name])
            if mark != delivered.get(name) and fingerprint(cell) != same:
                changed[name] = cell
        elif name not in delivered:
            added.setdefault(last, []).append(cell)
        elif mark != delivered[name]:
            loose.append(cell)

    cells, used = [], set(coming)

    def keep(cell, name=None):
        """Añade una celda tuya, con el id ``name``; sin él, con el suyo si nadie lo lleva ya."""
        if name is None:
            name = str(cell.get("id", ""))
            if name in used or not re.fullmatch(r"[\w-]{1,64}", name, re.ASCII):
                name = uuid.uuid4().hex[:8]
            used.add(name)
        cells.append({**cell, "id": name, "source": "".join(cell["source"])})

    def say(text):
        keep({"cell_type": "markdown", "metadata": {}, "source": text})

    for own in added.get(None, ()):
        keep(own)
    for name, new in coming.items():
        source, stays = new["source"], name in changed
        if stays and delivered.get(name) in map(fingerprint, (new, rewritten(new, aged))):
            keep(changed[name], name)
        elif stays and is_of_exercise(new):
            keep(changed[name], name)
            say(
                f"> **El hueco de este ejercicio ha cambiado.** Ahora es así:\n\n```python\n{source}\n```"
            )
        elif stays:
            cells.append(new)
            say("> **Lo que tú tenías** en la celda de arriba, que en el curso ha cambiado:")
            keep({**changed[name], "id": ""})
        else:
            cells.append(new)
        for own in added.get(name, ()):
            keep(own)
    if loose:
        say("## Tus celdas sin sitio\n\nEran de celdas que ya no están en la lección.")
        for cell in loose:
            keep({**cell, "id": ""})

    merged = {**theirs, "cells": cells}
    states = [nb["metadata"].get("widgets", {}).get(WIDGET_STATE, {}) for nb in (mine, theirs)]
    if any(states):  # lo que dibujan los exploradores, los tuyos y los del curso
        state = {key: value for one in states for key, value in one.get("state", {}).items()}
        widgets = {WIDGET_STATE: {**states[0], **states[1], "state": state}}
        merged["metadata"] = {**theirs["metadata"], "widgets": widgets}
    return merged, bool(changed or added or loose)


def _names(delivered, cells, coming):
    """El id de cada celda de tu copia. A quien lo ha perdido se le busca por lo que dice."""
    taken = {cell.get("id") for cell in cells}
    by_text = {mark: name for name, mark in delivered.items() if name not in taken}
    # Por su primera línea se busca la celda de un ejercicio que ha perdido, con su id, sus metadatos.
    by_line = {
        exercise(cell["source"]): name
        for name, cell in coming.items()
        if name not in taken and is_of_exercise(cell)
    }
    seen = set()
    for cell in cells:
        line = cell["cell_type"] == "code" and exercise("".join(cell["source"])) or 0  # 0, si no la hay
        options = (cell.get("id"), by_text.get(fingerprint(cell)), by_line.get(line))
        known = (o for o in options if o and o not in seen and (o in coming or o in delivered))
        name = next(known, None)
        seen.add(name)
        yield name


def update(lessons=None):
    """Hace las copias que faltan y pone al día las que se han quedado atrás.

    Returns:
        Frases que dicen lo que se ha hecho y las rutas que se han escrito.

    Raises:
        CopiesError: si no se puede escribir.
    """
    folder = prepare_folder()
    record = _read(folder / RECORD) or {}
    told, written = {}, []
    for source in sorted(lessons or (ROOT / "notebooks").iterdir()):
        if not LESSON.fullmatch(source.name):
            continue
        content, path = source.read_bytes(), folder / source.name
        version, before = hashlib.sha256(content).hexdigest(), record.get(source.name, {})
        if path.exists() and before.get("version") == version:
            continue
        new = deliver(json.loads(content))
        cells = {cell["id"]: fingerprint(cell) for cell in new["cells"]}
        result, what = new, "nueva"
        if path.exists():
            try:
                result, touched = merge(before.get("cells", {}), _read(path), new)
                what = "tuya" if touched else "al día"
            except (KeyError, TypeError, AttributeError):  # no es el JSON de un cuaderno
                what = "rota"
            if what != "al día":
                put_away(path)
        _write(path, result if what == "tuya" else new)
        record[source.name] = {"version": version, "cells": cells}
        _write(folder / RECORD, record)
        told.setdefault(what, []).append(source.stem[:2])
        written.append(path)
    if lessons is None:
        for name in [name for name in record if not (ROOT / "notebooks" / name).exists()]:
            _retire(folder / name, record.pop(name)["cells"], told)
            _write(folder / RECORD, record)
    return [TOLD[what].format(", ".join(names), folder) for what, names in told.items()], written


# Qué ha pasado con unas lecciones, {0}; la carpeta es {1}.
TOLD = {
    "nueva": "En {1} tienes tu copia de: {0}.",
    "al día": "Puestas al día: {0}.",
    "tuya": "Puestas al día, con lo tuyo dentro: {0}. La copia anterior está en «anteriores».",
    "rota": "No se podía leer tu copia de: {0}. Tienes una limpia; la otra está en «anteriores».",
    "retirada": "Ya no están en el curso: {0}. Lo que escribiste está en «anteriores».",
}


def _retire(path, delivered, told):
    """Quita la copia de una lección que ya no está; si has escrito en ella, la deja con su fecha."""
    try:
        mine = {fingerprint(cell) for cell in _read(path)["cells"]} - set(delivered.values())
    except (KeyError, TypeError, AttributeError):
        mine = path.exists()
    if mine:
        put_away(path)
        path.unlink()
        told.setdefault("retirada", []).append(path.stem)
    else:
        path.unlink(missing_ok=True)


def restore(lesson):
    """Deja limpia tu copia de una lección, ``"05"`` o ``5``. La que tenías va a ``anteriores``.

    Returns:
        Lo mismo que ``update``.

    Raises:
        CopiesError: si no existe la lección o no se puede escribir.
    """
    known = {
        path.name[:2]: path for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    }
    number = Path(str(lesson)).name[:2].rstrip("_.").zfill(2)
    if number not in known:
        raise CopiesError(
            f"No hay ninguna lección «{lesson}». Las hay de la {min(known)} a la {max(known)}."
        )
    path, old = prepare_folder() / known[number].name, None
    if path.exists():
        old = put_away(path)
        path.unlink()
    told, written = update([known[number]])
    return ([f"La que tenías es {OLD}/{old.name}."] if old else []) + told, written


def put_away(path):
    """Deja en ``anteriores``, con su fecha, la copia que hay en ``path``. Devuelve su ruta."""
    folder = path.parent / OLD
    folder.mkdir(exist_ok=True)
    old = beside(folder / path.name)
    shutil.copy2(path, old)
    try:
        nb, moved = _read(old), False
        for cell in nb["cells"]:  # desde ahí, lo enlazado está una carpeta más arriba
            text = "".join(cell["source"])
            if cell["cell_type"] == "markdown" and (new := LINK.sub("../", text)) != text:
                cell["source"], moved = new, True
    except (KeyError, TypeError, AttributeError):  # no es el JSON de un cuaderno
        return old
    if moved:
        _write(old, nb)
    return old


def beside(path):
    """Un nombre libre, con la fecha, al lado de ``path``."""
    name, tails = f"{path.stem}-antes-{datetime.now():%Y-%m-%d-%H%M%S}", range(2, 1000)
    free = (path.with_name(f"{name}{n}{path.suffix}") for n in ("", *(f"-{k}" for k in tails)))
    return next(option for option in free if not option.exists())


def _read(path):
    """El JSON del archivo ``path``, o ``None`` si no está o no se entiende."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))  # otro programa le pone una marca
    except (OSError, ValueError):
        return None


def _write(path, content):
    """Escribe ``content`` de una vez: si se corta, queda lo que había."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    print(*update()[0], sep="\n")
