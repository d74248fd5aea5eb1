"""Lo tuyo, en un archivo que va y viene: ``mi_progreso.json``, el que la página del curso da y lee.

``python curso.py abrir`` toma de él lo que no está aquí y lo deja puesto al día, en ``mis_cuadernos``. Lleva lo
apuntado (``progress``), lo leído en la página, lo escrito en cada ejercicio y en cada línea, y tu biblioteca.
Llega de fuera: solo entra lo que se entiende, y nada de lo que ya has escrito cambia. Lo que él mismo dejó no lo
toma otra vez: si no, volvería lo que has borrado o repuesto.
"""

import hashlib
import json

from course_tools.cells import exercise
from course_tools.opening import copies, library, progress

NAME = "mi_progreso.json"
COURSE = "atencion-paso-a-paso"
FOUND = "mi_progreso*.json"  # también «mi_progreso (1).json», como lo llama un navegador
LARGEST = 20_000_000  # bytes
LEFT = ".equipaje"  # la huella de lo que se dejó, para no leerlo como si llegara
UNREAD = "«{}» no se entiende, o no es un mi_progreso.json de este curso: se queda como está."
BROUGHT = "De «{}»: respuestas, {}; y lo que estaba apuntado."
STAYS = "En {} ya habías escrito otra cosa, y se queda. Lo que traías está en «{}»."


def bring():
    """Pone aquí lo que falta de los archivos que hay, y escribe el de ahora. Devuelve frases que lo cuentan."""
    if progress.place() is None:
        return []
    folder, told, read = copies.student_folder() / copies.FOLDER, [], {}
    for path in sorted(one for one in folder.glob(FOUND) if "-antes-" not in one.name):
        try:
            data = path.read_bytes() if path.stat().st_size < LARGEST else b""
            found = json.loads(data.decode("utf-8-sig"))
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("course") != COURSE:
            told.append(UNREAD.format(path.name))
            continue
        read |= _objects(found, "read")
        if hashlib.sha256(data).hexdigest() != _left(folder):
            told += _take(found, path)
    now = packed(read)
    if any(now[kind] for kind in (*progress.KINDS, "written", "library")):
        copies._write(folder / NAME, now)
        (folder / LEFT).write_text(hashlib.sha256((folder / NAME).read_bytes()).hexdigest(), "utf-8")
    return told


def _left(folder):
    try:
        return (folder / LEFT).read_text("utf-8")
    except (OSError, ValueError):
        return ""


def packed(read):
    """Todo lo tuyo, como va en el archivo; ``read`` es lo leído en la página."""
    written = {name: text for name, _, text, touched in _cells() if touched}
    pieces = [[piece.number, piece.name, piece.mark, piece.code] for piece in library.read()[1]]
    return {"course": COURSE, **progress.load(), "read": read, "written": written, "library": pieces}


def _objects(found, name):
    """Lo que un archivo dice de algo, si es lo que tiene que ser."""
    return found[name] if isinstance(found.get(name), dict) else {}


def _cells():
    """Lo que se escribe en tus copias: su nombre en el archivo, su sitio, lo que dice y si lo has tocado."""
    folder = copies.student_folder() / copies.FOLDER
    for name, given in (copies._read(folder / copies.RECORD) or {}).items():
        try:
            for cell in copies._read(folder / name)["cells"]:
                text = "".join(cell["source"])
                what, number = exercise(text) or ("", cell["id"])
                if cell["cell_type"] == "code" and (what == "Ejercicio" or text.startswith("@your_line")):
                    touched = copies.fingerprint(cell) != given["cells"].get(cell["id"])
                    yield f"{name.removesuffix('.ipynb')}/{number}", (folder / name, cell["id"]), text, touched
        except (KeyError, TypeError, AttributeError):  # una copia rota: lo dice quien la pone al día
            continue


def _take(found, path):
    """Mete en lo tuyo lo que falta de un archivo."""

    def add(here):
        before = json.dumps(here)
        for kind in progress.KINDS:
            for number, one in _objects(found, kind).items():
                if isinstance(one, dict) and not here[kind].get(number, {}).get("date"):
                    here[kind][number] = one
        return json.dumps(here) != before

    told = [f"De «{path.name}» no se ha apuntado nada: {why}."] if (why := progress._change(add)) else []
    new, other, written = {}, [], _objects(found, "written")
    for name, (notebook, cell), text, touched in _cells():
        theirs = written.get(name)
        if isinstance(theirs, str) and theirs != text:
            new.setdefault(notebook, {})[cell] = theirs
            if touched:
                del new[notebook][cell]
                other.append(name.partition("/")[2])
    for notebook, cells in new.items():
        content = copies._read(notebook)
        for cell in content["cells"]:
            cell["source"] = cells.get(cell.get("id"), cell["source"])
        copies._write(notebook, content)
    mine = {piece.number for piece in library.read()[1]}
    brought = found.get("library")
    for piece in brought if isinstance(brought, list) else ():
        match piece:
            case [str(number), str(name), str(mark), str(code)] if library.MARK.fullmatch(mark) and number not in mine:
                library.keep(number, mark.split(" · ")[2], name, code)
    if many := sum(map(len, new.values())):
        told.append(BROUGHT.format(path.name, many))
    if other or path.name != NAME:  # ya está aquí: al lado, y no se lee otra vez
        aside = copies.beside(path)
        path.replace(aside)
    if other:
        told.append(STAYS.format(", ".join(other), aside.name))
    return told


if __name__ == "__main__":
    print(*bring(), sep="\n")
