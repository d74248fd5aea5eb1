"""Leer las entregas y el curso: de quién es cada cuaderno, de qué lección y qué hay en él.

De una entrega se lee el JSON y nada más: su código no se analiza aquí, sino en la jaula.
"""

import ast
import contextlib
import json
import os
import re
import stat
import time
import zipfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aula.calificar import student
from aula.calificar.text import Unreadable, plain
from course_tools.code import needed
from course_tools.renewed import renewed

ROOT = Path(__file__).resolve().parents[2]
MOST = 20 * 2**20  # bytes de un cuaderno
MOST_FILES, MOST_ZIP = 20_000, 4 * 2**30  # archivos de un zip, y bytes al abrirlo
CELLS = 3000  # celdas de un cuaderno
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)")
EXERCISE = re.compile(r"\s*# (Ejercicio|Comprobación) (\d+\.\d+)\b")
CHECKS = re.compile(r"^check_\w+\(.*\)$", re.MULTILINE)
READ = {stat.S_IFREG, stat.S_IFDIR}  # los archivos; y una carpeta cerrada, para decir por qué
IGNORED = {"__MACOSX", "soluciones", ".ipynb_checkpoints"}


class Lesson(NamedTuple):
    """Una lección: su número y su archivo, y de cada ejercicio lo que hay que buscar y mirar."""

    number: str  # "05"
    name: str  # "05_atencion"
    title: str
    answers: dict  # número del ejercicio → nombre de la respuesta
    points: dict
    checks: dict  # número → código de su comprobación
    cells: tuple  # el código de sus celdas
    sections: dict  # "9.3" → título


@cache
def lessons():
    """Las lecciones con ejercicios, por su número."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        answers, points, checks, cells, sections, title = {}, {}, {}, [], {}, ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source, marks = "".join(cell["source"]), cell["metadata"].get("nbgrader", {})
            if cell["cell_type"] == "markdown":
                for head in re.findall(r"^#+ (.+)", source, re.MULTILINE):
                    title = title or head.split("·")[-1].strip()
                    if match := re.match(r"(\d+(?:\.\d+)?)[. ]+(.+)", head):
                        sections.setdefault(match[1], match[2].replace("Para profundizar: ", ""))
                continue
            cells.append(source.strip())
            if marks.get("grade"):
                number = EXERCISE.match(source)[2]
                answers[number] = ast.parse(source).body[-1].value.args[-1].id
                points[number], checks[number] = marks["points"], source.strip()
        if answers:
            name = path.stem
            more = points, checks, tuple(cells), sections
            found[name[:2]] = Lesson(name[:2], name, title, answers, *more)
    return found


@cache
def right(lesson):
    """De una lección, la función que da el código bueno de una respuesta, con lo que necesita."""
    path = ROOT / "notebooks/soluciones" / f"{lesson}.ipynb"
    with contextlib.suppress(OSError):
        book = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in book if cell["cell_type"] == "code"]
        cells = [one for k, source in enumerate(sources) for one in student.split(k, source)]
        chosen = lambda name: (cells[k] for k in needed(cells, [name]))  # noqa: E731
        return lambda name: "\n".join(CHECKS.sub("", cell.source) for cell in chosen(name))
    return None


def section(read):
    """El apartado que dice una comprobación, con su título: «03 §9.3 · Cuatro errores…»."""
    match = re.match(r"(\d\d) §(\d+(?:\.\d+)?)", read)
    titles = lessons()[match[1]].sections if match and match[1] in lessons() else {}
    title = re.sub(r"[*`]", "", titles.get(match[2], "")) if match else ""
    return f"{match[0]} · {title}" if title else read


def visible(folder):
    """Lo que hay en una carpeta, sin lo que ponen los programas."""
    return [p for p in sorted(folder.iterdir()) if p.name[0] != "." and p.name not in IGNORED]


def every_file(folder):
    """Los archivos de una carpeta, o ella si no se puede abrir. Los enlaces no se siguen: llevarían fuera."""
    try:
        found = visible(folder)
    except OSError:
        found = []
        yield folder
    for path in found:
        if os.path.isdir(path) and not os.path.islink(path):
            yield from every_file(path)
        else:
            yield path


def unzip(path, place):
    """Abre un zip en ``place``, con un tope de archivos y de tamaño: primero por lo que dice y luego, por lo
    que sale. ``extract`` no deja que ningún nombre se salga de ahí. Da lo que no se ha podido sacar.
    """
    lost = []
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > MOST_ZIP:
            most = f"{MOST_FILES} archivos o de {MOST_ZIP >> 20} MB"
            raise Unreadable(f"{path} trae demasiado: más de {most}.")
        for info in infos:
            # Lo que dice que mide cada uno es lo más que ``extract`` lee de él.
            try:
                made = archive.extract(info, place)
            except Exception as error:  # de ese archivo: los demás siguen
                lost.append((info.filename, getattr(error, "strerror", None) or error))
                continue
            with contextlib.suppress(ValueError, OverflowError):  # una fecha que no existe
                when = time.mktime((*info.date_time, 0, 0, -1))
                os.utime(made, (when, when))
    return lost


def owner(parts):
    """De quién es un archivo, por su carpeta o por su nombre: (nombre, identificador)."""
    if match := MOODLE.match(parts[0]):
        return match["name"].strip(), match["id"]
    if len(parts) > 1:
        return parts[0], ""
    stem = parts[0].rsplit(".", 1)[0]
    names = "|".join(sorted((lesson.name for lesson in lessons().values()), key=len, reverse=True))
    rest = re.sub(rf"[-_ .]*(?:{names})[-_ .]*", " ", stem).strip(" -_.")
    return rest or stem, ""


def students(path, space):
    """Quién entrega y qué: (nombre, identificador) → sus archivos. Un zip se abre en ``space``.

    Lo que no se ha podido sacar de él va como ``Unreadable``.
    """
    folder, found, lost = Path(path), {}, []
    if folder.is_file():
        try:
            lost = unzip(path, space)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise Unreadable(f"No se puede abrir {path}: {error}. ¿Es el zip entero?") from None
        folder = Path(space)
        match visible(folder):
            case [one] if one.is_dir() and not MOODLE.match(one.name):
                if all(inside.is_dir() for inside in visible(one)):
                    folder = one  # se comprimió la carpeta, y no lo que hay en ella
    for place in visible(folder):
        if os.path.isdir(place):  # aunque no tenga nada
            found[owner((place.name, ""))] = []
    for file in every_file(folder):
        found.setdefault(owner(file.relative_to(folder).parts), []).append(file)
    for name, error in lost:
        parts = PurePosixPath(name).parts[folder != Path(space) :] or (name,)
        problem = Unreadable(f"{parts[-1][:60]} no se ha podido sacar del zip: {error}")
        found.setdefault(owner(parts), []).append(problem)
    return dict(sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])))


class Notebook(NamedTuple):
    """Un cuaderno entregado: su lección, sus celdas de código y lo que hay que decir de él."""

    name: str
    lesson: str
    cells: list  # (número, código)
    own: dict  # número del ejercicio → lo que hay en su celda
    told: list
    data: bytes


def read_notebook(path):
    """El cuaderno de un archivo, o ``Unreadable`` con lo que le pasa."""
    name = path.name
    try:
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            raise Unreadable(f"{name} es un enlace a otro sitio, y no se sigue")
        if name.lower().endswith(".zip") or stat.S_IFMT(about.st_mode) not in READ:
            raise Unreadable(f"{name} no es un cuaderno: si es un zip, ábrelo en su carpeta")
        if about.st_size > MOST:
            raise Unreadable(f"{name} es demasiado grande: {about.st_size / 2**20:.0f} MB")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{name} no se puede leer: {error.strerror}") from None
    if not data.strip():
        raise Unreadable(f"{name} está vacío")
    try:
        book = json.loads(data.decode("utf-8-sig"))
        cells = [cell for cell in book["cells"][:CELLS] if cell["cell_type"] == "code"]
        sources = [renewed("".join(cell["source"])) for cell in cells]
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} está dañado: no se puede leer como cuaderno") from None
    except (KeyError, TypeError, AttributeError):
        raise Unreadable(f"{name} no es un cuaderno de Jupyter, o está dañado") from None
    if not any(source.strip() for source in sources):
        raise Unreadable(f"{name} no tiene ninguna celda de código")
    return recognise(name, sources, data)


def recognise(name, sources, data):
    """De qué lección es, y qué celda es de cada ejercicio."""
    own, checks = defaultdict(list), defaultdict(list)
    for source in sources:
        if line := EXERCISE.match(source):
            place = own if line[1] == "Ejercicio" else checks
            place[line[2]].append(source.strip())
    known = Counter(number.split(".")[0].zfill(2) for number in [*own, *checks])
    lesson = next((lessons()[n] for n, _ in known.most_common() if n in lessons()), None)
    if lesson is None:
        raise Unreadable(f"{name} no es de este curso: no tiene ningún ejercicio")
    told = []
    if lesson.name not in name:
        told.append(f"el archivo se llama {name} y es la lección {lesson.number}")
    for number, good in lesson.checks.items():
        if set(checks[number]) - {good}:
            told.append(f"ha cambiado la comprobación {number}: se usa la del curso")
    cells = [(k, source) for k, source in enumerate(sources, 1) if source.strip()]
    shown = {number: "\n\n".join(own[number]) for number in lesson.answers if number in own}
    return Notebook(name, lesson.number, cells, shown, told, data)


def collect(files):
    """De los archivos de una persona: lección → su cuaderno más reciente y dónde está, y lo que hay que decir."""
    chosen, told = {}, [str(file) for file in files if isinstance(file, Unreadable)]
    files = [file for file in files if isinstance(file, Path)]
    wanted = [f for f in files if f.suffix.lower() in (".ipynb", ".zip") or os.path.isdir(f)]
    when = lambda file: (os.lstat(file).st_mtime if os.path.lexists(file) else 0, file)  # noqa: E731
    for file in sorted(wanted, key=when):
        try:
            book = read_notebook(file)
        except Unreadable as problem:
            told.append(str(problem))
            continue
        if old := chosen.get(book.lesson):
            several = f"trae varios cuadernos de la lección {book.lesson}"
            told.append(f"{several}: vale {book.name}, y no {old[0].name}")
        chosen[book.lesson] = book, file
    if not wanted and not told:
        names = ", ".join(sorted(file.name for file in files)[:3])
        told.append(f"no trae ningún cuaderno{f', sino {names}' if names else ''}")
    return chosen, plain(told)
