"""Leer las entregas y el curso: de quién es cada cuaderno, de qué lección y qué hay en él.

De una entrega se lee el JSON y nada más: su código no se analiza aquí, sino en la jaula.
"""

import ast
import json
import re
import stat
import zipfile
from collections import Counter
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MOST = 20 * 2**20  # bytes de un cuaderno o de un zip dentro de otro
CELLS = 3000  # celdas de un cuaderno
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)")
EXERCISE = re.compile(r"\s*# (Ejercicio|Comprobación) (\d+\.\d+)\b")
MARK = re.compile(r"(ejercicio|comprobacion)-(\d+)-(\d+)")
IGNORED = {"__MACOSX", "soluciones", ".ipynb_checkpoints"}


class Unreadable(Exception):
    """Un cuaderno, o una entrega, que no se puede calificar: el texto dice por qué."""


# --- El curso -------------------------------------------------------------------------------------


class Lesson(NamedTuple):
    """Una lección: su número y su archivo, y de cada ejercicio lo que hay que buscar y mirar."""

    number: str  # "05"
    name: str  # "05_atencion"
    title: str
    answers: dict  # número del ejercicio → nombre de la respuesta
    points: dict
    checks: dict  # número → código de su comprobación
    sections: dict  # "9.3" → título


@cache
def lessons():
    """Las lecciones con ejercicios, por su número."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        answers, points, checks, sections, title = {}, {}, {}, {}, ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source, marks = "".join(cell["source"]), cell["metadata"].get("nbgrader", {})
            if cell["cell_type"] == "markdown":
                for head in re.findall(r"^#+ (.+)", source, re.MULTILINE):
                    title = title or head.split("·")[-1].strip()
                    if match := re.match(r"(\d+(?:\.\d+)?)[. ]+(.+)", head):
                        sections.setdefault(match[1], match[2].replace("Para profundizar: ", ""))
            elif marks.get("grade"):
                number = ".".join(MARK.fullmatch(marks["grade_id"]).groups()[1:])
                call = ast.parse(source).body[-1].value
                answers[number], points[number] = call.args[-1].id, marks["points"]
                checks[number] = source.strip()
        if answers:
            name = path.stem
            found[name[:2]] = Lesson(name[:2], name, title, answers, points, checks, sections)
    return found


def section(read):
    """El apartado que dice una comprobación, con su título: «03 §9.3 · Cuatro errores…»."""
    match = re.match(r"(\d\d) §(\d+(?:\.\d+)?)", read)
    titles = lessons()[match[1]].sections if match and match[1] in lessons() else {}
    title = re.sub(r"[*`]", "", titles.get(match[2], "")) if match else ""
    return f"{match[0]} · {title}" if title else read


# --- Los archivos ---------------------------------------------------------------------------------


class Found(NamedTuple):
    """Un archivo de las entregas: su camino, desde la carpeta o el zip, y cómo se lee."""

    parts: tuple
    when: tuple
    size: int
    read: object


def in_zip(data, before=()):
    """Los archivos de un zip. No se extrae nada: ningún nombre puede salirse de su sitio."""
    archive = zipfile.ZipFile(data)
    for info in archive.infolist():
        parts = tuple(
            part for part in re.split(r"[\\/]", info.filename) if part not in ("", ".", "..")
        )
        if info.is_dir() or not parts:
            continue

        def read(info=info):
            with archive.open(info) as file:
                return file.read(MOST + 1)

        yield Found((*before, *parts), info.date_time, info.file_size, read)


def in_folder(folder, before=()):
    """Los archivos de una carpeta. Los enlaces no se siguen: llevarían fuera."""
    for path in sorted(folder.iterdir()):
        parts, known = (*before, path.name), path.lstat()
        if path.is_symlink():
            yield Found(parts, (), -1, None)
        elif path.is_dir():
            yield from in_folder(path, parts) if path.name[0] != "." else ()
        elif stat.S_ISREG(known.st_mode):
            read = path.read_bytes if known.st_size <= MOST else None
            yield Found(parts, (known.st_mtime,), known.st_size, read)


def every_file(path):
    """Todos los archivos de las entregas, también los que van en un zip dentro de otro."""
    if path.is_dir():
        found = list(in_folder(path))
    else:
        found = list(in_zip(path))
        top = {file.parts[0] for file in found}
        nested = all(len(file.parts) > 2 for file in found)
        if len(top) == 1 and nested and not MOODLE.match(min(top)):  # se comprimió la carpeta
            found = [file._replace(parts=file.parts[1:]) for file in found]
    for file in found:
        if file.parts[-1].lower().endswith(".zip") and 0 <= file.size <= MOST:
            try:
                yield from in_zip(BytesIO(file.read()), file.parts)
                continue
            except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
                pass  # se dirá que no se puede leer
        yield file


def owner(parts):
    """De quién es un archivo, por su carpeta o por su nombre: (nombre, identificador)."""
    first, alone = parts[0], len(parts) == 1
    if match := MOODLE.match(first):
        return match["name"].strip(), match["id"]
    if not alone and not first.lower().endswith(".zip"):
        return first, ""
    stem = first.rsplit(".", 1)[0]
    names = "|".join(sorted((lesson.name for lesson in lessons().values()), key=len, reverse=True))
    rest = re.sub(rf"[-_ .]*(?:{names})[-_ .]*", " ", stem).strip(" -_.")
    return rest or stem, ""


def students(path):
    """Quién entrega y qué: (nombre, identificador) → sus archivos."""
    found = {}
    try:
        for file in every_file(Path(path)):
            if IGNORED & set(file.parts) or any(part.startswith(".") for part in file.parts):
                continue
            found.setdefault(owner(file.parts), []).append(file)
        for folder in Path(path).iterdir() if Path(path).is_dir() else ():
            if folder.is_dir() and folder.name[0] != "." and folder.name not in IGNORED:
                found.setdefault(owner((folder.name, "")), [])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise Unreadable(f"No se puede abrir {path}: {error}. ¿Es el zip entero?") from None
    return dict(sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])))


# --- Un cuaderno ----------------------------------------------------------------------------------


class Notebook(NamedTuple):
    """Un cuaderno entregado: su lección, sus celdas de código y lo que hay que decir de él."""

    lesson: str
    cells: list  # (número, código)
    own: dict  # número del ejercicio → lo que hay en su celda
    told: list
    data: bytes


def read_notebook(file):
    """El cuaderno de un archivo, o ``Unreadable`` con lo que le pasa."""
    name = file.parts[-1]
    if file.size < 0:
        raise Unreadable(f"{name} es un enlace a otro sitio, y no se sigue")
    if file.size > MOST or file.read is None:
        raise Unreadable(f"{name} es demasiado grande: {file.size / 2**20:.0f} MB")
    try:
        data = file.read()
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise Unreadable(f"{name} no se puede leer: {error}") from None
    if not data.strip():
        raise Unreadable(f"{name} está vacío")
    if len(data) > MOST:
        raise Unreadable(f"{name} es demasiado grande")
    try:
        book = json.loads(data.decode("utf-8-sig"))
        cells = [cell for cell in book["cells"][:CELLS] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
        names = [
            str(cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")) for cell in cells
        ]
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} está dañado: no se puede leer como cuaderno") from None
    except (KeyError, TypeError, AttributeError):
        raise Unreadable(f"{name} no es un cuaderno de Jupyter, o está dañado") from None
    if not any(source.strip() for source in sources):
        raise Unreadable(f"{name} no tiene ninguna celda de código")
    return recognise(name, [*zip(sources, names)], data)


def recognise(name, cells, data):
    """De qué lección es, y qué celda es de cada ejercicio."""
    own, checks = {}, {}
    for source, mark in cells:
        line, grade = EXERCISE.match(source), MARK.fullmatch(mark)
        if line or grade:
            kind = line[1] if line else grade[1].capitalize()
            number = line[2] if line else f"{grade[2]}.{grade[3]}"
            place = own if kind == "Ejercicio" else checks
            place.setdefault(number, []).append(source)
    known = Counter(n.split(".")[0].zfill(2) for n in [*own, *checks])
    lesson = next((lessons()[n] for n, _ in known.most_common() if n in lessons()), None)
    if lesson is None:
        raise Unreadable(f"{name} no es de este curso: no tiene ningún ejercicio")
    told = []
    if lesson.name not in name:
        told.append(f"el archivo se llama {name} y es la lección {lesson.number}")
    for number, sources in checks.items():
        good = lesson.checks.get(number)
        if good and any(source.strip() != good for source in sources):
            told.append(f"ha cambiado la comprobación {number}: se usa la del curso")
    numbered = [(k, source) for k, (source, _) in enumerate(cells, 1) if source.strip()]
    shown = {n: "\n\n".join(sources) for n, sources in own.items() if n in lesson.answers}
    return Notebook(lesson.number, numbered, shown, told, data)


def collect(files):
    """De los archivos de una persona: lección → su cuaderno más reciente, y lo que hay que decir."""
    chosen, told, seen = {}, [], 0
    for file in sorted(files, key=lambda file: (file.when, file.parts)):
        name = file.parts[-1]
        if not name.lower().endswith((".ipynb", ".zip")):
            continue
        seen += 1
        if name.lower().endswith(".zip"):
            told.append(f"{name} no se puede abrir, o trae otro zip dentro")
            continue
        try:
            book = read_notebook(file)
        except Unreadable as problem:
            told.append(str(problem))
            continue
        if book.lesson in chosen:
            old = chosen[book.lesson][0].parts[-1]
            told.append(
                f"trae varios cuadernos de la lección {book.lesson}: vale {name}, y no {old}"
            )
        chosen[book.lesson] = file, book
    if not seen:
        names = ", ".join(sorted(file.parts[-1] for file in files)[:3])
        told.append(f"no trae ningún cuaderno{f', sino {names}' if names else ''}")
    return {lesson: book for lesson, (_, book) in chosen.items()}, told
