"""La tarea: qué se pide, cuánto vale y hasta cuándo. Se dice una vez: de ella salen notas, informe, hojas y sitio.

Es «--ejercicios 5.1», o un archivo de la clase, en TOML; cómo es, en ``README.md``. Sin decirla, se piden todos
los ejercicios, con los puntos del curso.
"""

import json
import os
import re
import tomllib
from datetime import date, datetime, time
from difflib import get_close_matches
from functools import cache
from numbers import Real
from pathlib import Path
from typing import NamedTuple

from course_tools.cells import checked, tagged
from course_tools.foreign import Unreadable
from course_tools.foreign.tables import read_text

KEYS = "titulo", "entrega", "retraso", "ejercicios", "errores"
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
# Donde una lección o su clase dicen lo de casa, hasta donde dicen lo que es optativo.
HOME = re.compile(
    r"(\*\*Para casa:\*\*|[Pp]ara casa,) (?=el ).*?\.(?=\s|$)(?: (?:Los|Cuando) .*?\.(?=\s|$))?"
)
EXAMPLE = "aula/calificar/README.md trae un archivo como este."


class Homework(NamedTuple):
    """Lo que se pide."""

    points: dict  # ejercicio → puntos
    said: bool = False  # si lo ha dicho alguien
    optional: frozenset = frozenset()  # los que suman, y no se echan de menos
    parts: dict = {}  # (ejercicio, error con nombre) → qué parte de los puntos
    title: str = ""
    due: datetime | None = None
    a_day: float = 0  # lo que se quita por cada día de retraso empezado
    at_most: float = 1  # y lo que se quita como mucho

    def of(self, lesson):
        """Los puntos de cada ejercicio que se pide de una lección."""
        return {one: points for one, points in self.points.items() if lesson_of(one) == lesson}

    def lessons(self):
        """Las lecciones de las que se pide algo."""
        return sorted(set(map(lesson_of, self.points)))

    def most(self, lesson):
        """Los puntos de una lección, sin los optativos."""
        return sum(points for one, points in self.of(lesson).items() if one not in self.optional)

    def penalty(self, given):
        """Los días de retraso empezados de lo que se entrega en ``given``, y la parte que se quita."""
        late = (given - self.due).total_seconds() if given and self.due else 0
        days = -int(-late // 86400) if late > 0 else 0
        return days, min(days * self.a_day, self.at_most)

    def text(self, lesson):
        """Lo que se pide de una lección, en una frase: «el 5.1 (4 puntos) y, si quieres, el 5.2 (2)»."""
        kinds = [
            [f"el {one} ({counted(points)})" for one, points in self.of(lesson).items() if (one in self.optional) == more]
            for more in (False, True)
        ]
        told = [listed(kinds[0]), f"si quieres, {listed(kinds[1])}" if kinds[1] else ""]
        told = ["; ".join(filter(None, told)), f"Hasta el {moment(self.due)}" if self.due else ""]
        most = f", y el {100 * self.at_most:g} a lo más" if self.at_most < 1 else ""
        told += [f"Por cada día de más se quita el {100 * self.a_day:g} %{most}" if self.a_day else ""]
        return f"{'. '.join(filter(None, told))}."

    def put(self, cells, lesson):
        """Lo dice en las celdas de una lección o de su clase: donde se habla de casa y en la pregunta de salida."""
        told = self.text(lesson)
        for cell in cells if self.said and self.of(lesson) else ():
            if cell["cell_type"] == "markdown":
                cell["source"] = HOME.sub(lambda found: f"{found[1]} {told}", "".join(cell["source"]))
            if tagged(cell, "salida"):
                cell["source"] += f"\n\n**Para casa:** {told}"


@cache
def known():
    """Los puntos que tiene cada ejercicio en el curso."""
    folder = Path(__file__).resolve().parents[1] / "notebooks"
    books = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))]
    checks = [cell for book in books for cell in book["cells"] if checked(cell)]
    return {checked(cell): cell["metadata"]["nbgrader"]["points"] for cell in checks}


def lesson_of(exercise):
    return exercise.partition(".")[0].zfill(2)


def counted(points):
    return f"{points:g} {'punto' if points == 1 else 'puntos'}".replace(".", ",")


def listed(items):
    return " y ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def moment(when):
    """Un día y una hora, como se dicen: «4 de diciembre de 2026, a las 23:59»."""
    return f"{when.day} de {MONTHS[when.month - 1]} de {when.year}, a las {when:%H:%M}"


def said(path, words, known):
    """La tarea de un archivo, o de lo escrito tras «--ejercicios»; sin nada, todo.

    ``known`` da los puntos que tiene en el curso cada ejercicio.
    """
    if path and words:
        raise Unreadable("La tarea se dice una vez: con --tarea o con --ejercicios.")
    if path:
        return read(path, known)
    numbers = re.findall(r"[^\s,;]+", " ".join(words or ()))
    return Homework({one: worth(one, "--ejercicios", known) for one in numbers}, said=True) if words else Homework(known)


def chosen(options):
    """La tarea que dicen «--tarea», desde la carpeta en que se da la orden, o «--ejercicios»."""
    path = options.tarea and Path(os.environ.get("CURSO_DESDE", "."), options.tarea)
    if path and not path.is_file():
        raise Unreadable(f"No encuentro la tarea, {path}. Mira si su nombre está bien escrito.")
    return said(path, options.ejercicios, known())


def asked(parser, arguments, words):
    """Las opciones de una orden que admite «--ejercicios», que ``words`` dice cuáles son, y «--tarea»; y la tarea."""
    parser.add_argument("--ejercicios", nargs="+", help=words)
    parser.add_argument("--tarea", help="lo mismo, en un archivo: el que se da a «calificar»")
    options = parser.parse_args(arguments)
    try:
        return options, chosen(options)
    except (Unreadable, OSError) as problem:
        raise SystemExit(f"No ha podido ser. {problem}") from None


def worth(exercise, where, known):
    """Los puntos de un ejercicio en el curso, que lo tiene que tener."""
    if exercise not in known:
        close = listed(get_close_matches(exercise, known, 3, 0.3)) or "5.1"
        raise Unreadable(f"{where}: en el curso no hay ningún ejercicio «{exercise}» que se califique. ¿Es {close}?")
    return known[exercise]


def read(path, known):
    """La tarea que dice un archivo. Lo que no se entiende, se dice, con lo que hay que escribir."""

    def refuse(told):
        raise Unreadable(f"En {path}, {told} {EXAMPLE}") from None

    try:
        given = tomllib.loads(read_text(path)[0].removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        refuse(f"hay algo que no se entiende: {error}.")
    for strange in given.keys() - {*KEYS}:
        refuse(f"no entiendo «{strange}»: se puede poner {listed(KEYS)}.")
    points, optional, parts = {}, set(), {}
    for one, about in numbered(given.get("ejercicios")).items():
        about = about if isinstance(about, dict) else {"puntos": about}
        points[one], maybe = about.get("puntos", worth(one, path, known)), about.get("opcional", False)
        worth(one, path, known)
        if about.keys() - {"puntos", "opcional"} or not between(points[one], 0.01, 1000) or maybe not in (True, False):
            refuse(f"el {one}: no entiendo {about}. Pon sus puntos, como 4, o {{puntos = 4, opcional = true}}.")
        optional |= {one} if maybe else set()
    if not points.keys() - optional:
        refuse("no se pide ningún ejercicio: pon uno, sin «opcional», en [ejercicios].")
    for one, mistakes in numbered(given.get("errores")).items():
        for name, part in mistakes.items() if isinstance(mistakes, dict) else [("", mistakes)]:
            if one not in points or not between(part, 0, 1):
                refuse(f"el error «{name}» del {one}: pon un ejercicio que se pida y qué parte vale, de 0 a 1.")
            parts[one, name] = part
    late, due = given.get("retraso", {}), given.get("entrega")
    rates = [late.get(name, other) for name, other in (("por_dia", 0), ("hasta", 1))] if isinstance(late, dict) else []
    if not (rates and all(between(one, 0, 1) for one in rates) and late.keys() <= {"por_dia", "hasta"}):
        refuse(f"no entiendo «retraso»: {late}. Pon {{por_dia = 0.1, hasta = 0.5}}, lo que se quita, de 0 a 1.")
    if not isinstance(due, date) and (late or due is not None):
        refuse("«entrega» tiene que ser un día, sin comillas: entrega = 2026-12-04, o 2026-12-04 23:59:00.")
    if due and not isinstance(due, datetime):
        due = datetime.combine(due, time(23, 59, 59))  # el día entero
    due = due.astimezone().replace(tzinfo=None) if due and due.tzinfo else due
    return Homework(points, True, frozenset(optional), parts, str(given.get("titulo", "")), due, *rates)


def numbered(table):
    """Una tabla por ejercicios. Sin comillas, TOML entiende ``5.1`` como el 1 que hay dentro de 5."""
    found = {}
    for key, about in table.items() if isinstance(table, dict) else ():
        inside = isinstance(about, dict) and "." not in key
        found |= {f"{key}.{more}": one for more, one in about.items()} if inside else {key: about}
    return found


def between(value, least, most):
    return isinstance(value, Real) and not isinstance(value, bool) and least <= value <= most
