"""Leer las entregas y el curso: de quién es cada cuaderno, de qué lección y qué hay en él.

De una entrega se lee el JSON y nada más: su código no se analiza aquí, sino en la jaula.
"""

import ast
import contextlib
import json
import os
import re
import stat
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aula.calificar import student
from aula.calificar.text import SAYS, Unreadable, line, plain
from course_tools.bare import definitions
from course_tools.cells import exercise
from course_tools.foreign import names, notebooks, zips
from course_tools.foreign.names import MOODLE, spelled, words
from course_tools.foreign.zips import BOOK, every_file, inner, opened, visible
from course_tools.homework import lesson_of
from course_tools.opening import luggage
from course_tools.renewed import renewed

ROOT = Path(__file__).resolve().parents[2]
SAID = SAYS["archivos"]
MOST_FILES, MOST_ZIP = 20_000, 4 * 2**30  # archivos de un zip, y bytes al abrirlo
CELLS = 3000  # celdas de un cuaderno
MOST_PROGRESS = 4 << 20  # bytes de un mi_progreso.json
MAYBE = {".json", ".txt", ".py", ""}  # lo que se mira por si es un cuaderno, y no hay otro de su lección
PACKED = {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zipx", ".z01"}
CHECKS = re.compile(r"^check_\w+\(.*\)$", re.MULTILINE)
READ = {stat.S_IFREG, stat.S_IFDIR}  # los archivos; y una carpeta cerrada, para decir por qué
ASIDE = re.compile(r"\.|soluciones$")  # dentro de una entrega, lo que solo se mira si no hay otra cosa


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
                number = exercise(source)[1]
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
        return lambda name: "\n".join(CHECKS.sub("", c.source) for c in student.needed(cells, name))
    return None


def written(number):
    """De un ejercicio, cómo se llama su respuesta, las celdas de su lección y lo que tiene ya escrito el curso."""
    lesson = lessons()[lesson_of(number)]
    name, code, says = lesson.answers[number], right(lesson.name), SAYS["parecidos"]
    found, used = {says["solucion"]: code(name)} if code else {}, {*re.findall(r"\w+", "\n".join(lesson.cells))}
    known = definitions(path.read_text(encoding="utf-8") for path in (ROOT / "course_lib").glob("*.py"))
    found |= {says["biblioteca"].format(one): known[one] for one in used & known.keys()}
    return name, lesson.cells, found


def section(read):
    """El apartado que dice una comprobación, con su título: «03 §9.3 · Cuatro errores…»."""
    match = re.match(r"(\d\d) §(\d+(?:\.\d+)?)", read)
    titles = lessons()[match[1]].sections if match and match[1] in lessons() else {}
    title = re.sub(r"[*`]", "", titles.get(match[2], "")) if match else ""
    return f"{match[0]} · {title}" if title else read


def owner(parts):
    """De quién es un archivo, por su carpeta o por su nombre: (nombre, identificador)."""
    return names.owner(parts, [lesson.name for lesson in lessons().values()])


def students(path, space):
    """Quién entrega y qué: (nombre, identificador) → sus archivos. Un zip se abre en ``space``.

    Un nombre escrito de dos formas es una persona. Lo que hay que decir va como ``Unreadable``.
    """
    folder, found, lost = Path(path), {}, []
    if folder.is_file():
        room = {"files": MOST_FILES, "bytes": MOST_ZIP}
        lost, folder = zips.unzip(path, space, room), Path(space)
    folder = inner(folder, 1 if Path(path).is_file() else 2)  # se dio la carpeta, no lo de dentro
    forms, given = defaultdict(dict), defaultdict(list)
    rooms = defaultdict(lambda: {"files": 2000, "bytes": notebooks.MOST_RAW})

    def put(who, *files):
        mark = who[1], "" if who[1] else spelled(who[0]) or who[0]
        forms[mark].setdefault(line(who[0]), who)
        given[mark] += files
        return rooms[mark]

    for place in visible(folder):
        if os.path.isdir(place) and place.name[0] != ".":  # aunque no tenga nada
            put(owner((place.name, "")))
    every = []
    for file in every_file(folder):
        outer = file.relative_to(folder).parts
        every += [(owner(outer), *one) for one in opened(file, outer, space, put(owner(outer)))]
    packed = lambda parts: not MOODLE.match(parts[0]) and len(parts) > 2 and MOODLE.match(parts[1])  # noqa: E731
    # Lo de Moodle, dentro de otra carpeta; lo que dice ser de quien ya entrega fuera lo ha escrito otra persona.
    known = {one for (name, ident), parts, _ in every if not packed(parts) for one in (ident, words(name))} - {""}
    for who, parts, one in every:
        if packed(parts) and known.isdisjoint((owner(parts[1:])[1], words(owner(parts[1:])[0]))):
            who, parts = owner(parts[1:]), parts[1:]
        put(who, (aside(parts[1:] or parts), one))
    for name, error in lost:
        parts = name.split("/")[len(folder.relative_to(space).parts) :] or (name,)
        problem = Unreadable(f"{parts[-1][:60]} no se ha podido sacar del zip: {error}")
        put(owner(parts), (False, problem))
    for mark, files in given.items():
        who, *others = forms[mark].values()
        own, more = ([one for beside, one in files if beside == here] for here in (False, True))
        if not any(map(is_book, own)):
            own += filter(is_book, more)
            if where := {one.parent.name for one in filter(is_book, more)}:
                own.append(Unreadable(SAID["aparte"].format(", ".join(sorted(where)))))
            elif who[0][0] == ".":  # de un programa
                continue
        if others:
            names = " y ".join(f"«{line(name)}»" for name, _ in (who, *others))
            own.append(Unreadable(SAID["formas"].format(names)))
        found[who] = own
    return dict(sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])))


def aside(parts):
    """Si algo está en un sitio de los que solo se miran si no hay otra cosa."""
    return any(map(ASIDE.match, parts))


def is_book(one):
    """Si un archivo parece un cuaderno, o un zip que quizá lo trae."""
    return isinstance(one, Path) and bool(BOOK.search(one.name))


def gather(path, space, roll=()):
    """De cada persona: su nombre, su identificador, sus cuadernos, lo que hay que decir y su progreso.

    Dos nombres con las mismas palabras («Pérez Luis», «Luis Pérez») son una persona si no entregan lo mismo y la
    lista no dice que son dos.
    """
    people = [(*who, *collect(files), took(files)) for who, files in students(path, space).items()]
    known, same = Counter(words(name) for name, _ in roll), defaultdict(list)
    for one in people:
        if not one[1] and known[words(one[0])] < 2:
            same[words(one[0]) or one[0]].append(one)
    for first, *others in same.values():
        for other in others:
            names = f"«{line(first[0])}» y «{line(other[0])}»"
            if first[2].keys() & other[2].keys():
                first[3].append(SAID["parecido"].format(f"«{line(other[0])}»"))
                other[3].append(SAID["parecido"].format(f"«{line(first[0])}»"))
                continue
            first[2].update(other[2])
            first[3].extend([*other[3], SAID["formas"].format(names)])
            first[4].extend(other[4])
            people.remove(other)
    return people


def took(files):
    """Lo que dice el ``mi_progreso.json`` de una persona, el último, si lo entrega y se entiende."""
    kept = [f for f in files if isinstance(f, Path) and f.match(luggage.FOUND) and stat.S_ISREG(f.lstat().st_mode)]
    for file in sorted(kept, key=lambda one: one.lstat().st_mtime, reverse=True):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if file.lstat().st_size < MOST_PROGRESS:
                found = json.loads(file.read_text(encoding="utf-8"))
                return [found] if isinstance(found, dict) else []
    return []


class Notebook(NamedTuple):
    """Un cuaderno entregado: su lección, sus celdas de código y lo que hay que decir de él."""

    name: str
    lesson: str
    cells: list  # (número, código); lo demás que había no se lee
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
        if stat.S_IFMT(about.st_mode) not in READ:
            raise Unreadable(f"{name} no es un cuaderno, ni un archivo corriente")
        if about.st_size > notebooks.MOST_RAW:
            raise Unreadable(f"{name} es demasiado grande: {about.st_size >> 20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{name} no se puede leer: {error.strerror}") from None
    if not data.strip():
        raise Unreadable(f"{name} está vacío")
    try:
        code, rest = notebooks.sources(name, data)
        sources = [renewed(source) for source in code[:CELLS]]
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} está dañado: no se puede leer como cuaderno") from None
    except (KeyError, TypeError, AttributeError):
        raise Unreadable(f"{name} no es un cuaderno de Jupyter, o está dañado") from None
    if not any(source.strip() for source in sources):
        raise Unreadable(f"{name} no tiene ninguna celda de código")
    return recognise(name, sources, rest)


def recognise(name, sources, rest=()):
    """De qué lección es, y qué celda es de cada ejercicio."""
    own, checks = defaultdict(list), defaultdict(list)
    for source in sources:
        if about := exercise(source):
            place = own if about[0] == "Ejercicio" else checks
            place[about[1]].append(source.strip())
    known = Counter(number.split(".")[0].zfill(2) for number in [*own, *checks])
    if not known.keys() & lessons().keys():  # sin esas líneas, por los nombres de sus respuestas
        used = set(re.findall(r"\w+", "\n".join(sources)))
        for number, one in lessons().items():
            if many := len(used & {*one.answers.values()}):
                known[number] = many + (one.name in name) / 2
    lesson = next((lessons()[n] for n, _ in known.most_common() if n in lessons()), None)
    if lesson is None:
        raise Unreadable(f"{name} no es de este curso: no tiene ningún ejercicio")
    told = []
    if lesson.name not in name:
        told.append(f"el archivo se llama {name} y es la lección {lesson.number}")
    for number, good in lesson.checks.items():
        if not all(text.startswith(good) for text in checks[number]):  # en un .py, sigue otra cosa
            told.append(f"ha cambiado la comprobación {number}: se usa la del curso")
    for number, answer in lesson.answers.items():
        if notebooks.only_in(rest, sources, answer):
            told.append(SAID["texto"].format(number))
    cells = [(k, source) for k, source in enumerate(sources, 1) if source.strip()]
    shown = {number: "\n\n".join(own[number]) for number in lesson.answers if number in own}
    return Notebook(name, lesson.number, cells, shown, told, json.dumps(cells).encode())


def collect(files):
    """De los archivos de una persona: lección → su cuaderno más reciente y dónde está, y lo que hay que decir."""
    chosen, told = {}, [str(file) for file in files if isinstance(file, Unreadable)]
    files = [file for file in files if isinstance(file, Path)]
    packed = [file for file in files if file.suffix.lower() in PACKED]
    told += [SAID["otro"].format(file.name) for file in packed]
    books = []
    for file in files:
        sure = file not in packed and is_book(file) or os.path.isdir(file)
        if sure or file.suffix.lower() in MAYBE:
            try:
                books.append((read_notebook(file), file))
            except Unreadable as problem:
                told += [str(problem)] if sure else []
    given = {book.lesson for book, file in books if is_book(file)}
    # El último; antes que uno que solo tiene nombres, uno que dice de qué ejercicio es cada celda.
    copy = lambda file: int((re.search(r"\((\d{1,9})\)", file.stem) or [0, 0])[1])  # noqa: E731
    order = lambda one: (bool(one[0].own), one[1].lstat().st_mtime, copy(one[1]), one[1])  # noqa: E731
    for book, file in sorted(books, key=order):
        if not is_book(file) and (book.lesson in given or not book.own):  # sin decirlo, no es de un cuaderno
            continue
        if old := chosen.get(book.lesson):
            several = f"trae varios cuadernos de la lección {book.lesson}"
            where = (f.relative_to(f.parents[file.name == old[1].name]) for f in (file, old[1]))
            told.append("{}: vale {}, y no {}".format(several, *where))
        chosen[book.lesson] = book, file
        if file.suffix.lower() == ".py":
            told.append(SAID["programa"].format(file.name))
    if not chosen and not told:
        names = ", ".join(sorted(file.name for file in files)[:3])
        told.append(f"no trae ningún cuaderno{f', sino {names}' if names else ''}")
    return chosen, plain(told)
