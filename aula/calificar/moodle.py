"""De vuelta a Moodle, a Canvas o a Google Classroom: su hoja de calificaciones, rellena; y, a Moodle, un zip con las
devoluciones, en las que busca a cada uno por el nombre de la carpeta, el mismo que puso él.
"""

import calendar
import re
from datetime import datetime

from aula.calificar import marks
from aula.calificar.text import SAYS, whole
from course_tools.foreign.names import words
from course_tools.foreign.zips import zipped
from course_tools.homework import MONTHS

NAMES = MONTHS, calendar.month_name[1:]  # en español y en inglés
NUMBER = {name[:3].casefold(): k for names in NAMES for k, name in enumerate(names, 1)}


def meet(sheet, people):
    """Pone a cada persona su fila y su identificador; a quien puede ser de varias filas, ninguno.

    De Canvas, también su nombre: en sus archivos va todo seguido.
    """
    rows, names = list(sheet.people()), {person["name"] for person in people}
    found, doubts = marks.pair(people, [row[:2] for row in rows])
    for k, place in found.items():
        if k in doubts:
            people[k]["told"].append(SAYS["archivos"]["iguales"].format(*doubts[k]))
            continue
        name, people[k]["id"], people[k]["row"] = rows[place]
        people[k]["label"] = people[k]["row"][sheet.who]
        if sheet.given is not None:
            people[k]["given"] = when(people[k]["row"][sheet.given])
        if words(name) != words(people[k]["name"]) and sheet.file == "canvas.csv" and name not in names:
            people[k]["name"] = name
            names.add(name)


def fill(sheet, people, lessons, task, path):
    """Escribe la hoja con las calificaciones de quien tiene algo calificado, sobre el máximo de la tarea."""
    most = sum(task.most(lesson) for lesson in lessons)
    for person in people:
        row, given = person.get("row"), [one for one in lessons if one in person["lessons"]]
        got = [marks.total(person, lesson) for lesson in given]
        if row is not None and given and "" not in got:  # sin calificar, lo decide quien califica
            sheet.put(row, sum(got) / most, most)
    whole(path, sheet.written())


def when(text):
    """Una fecha de Moodle: «viernes, 4 de diciembre de 2026, 23:10» o «Friday, 4 December 2026, 11:10 PM»."""
    match = re.search(r"(\d+) (?:de )?([^\W\d]{3})\w* (?:de )?(\d{4}), (\d+):(\d\d)(?:\s?([AP])M)?", text, re.IGNORECASE)
    if not match or match[2].casefold() not in NUMBER:
        return None
    day, month, year, hour, minute = int(match[1]), NUMBER[match[2].casefold()], *map(int, match.group(3, 4, 5))
    if match[6]:
        hour = hour % 12 + 12 * (match[6] in "pP")
    return datetime(year, month, day, hour, minute)


def zip_feedback(people, page, path):
    """Escribe el zip de las devoluciones: lo que da ``page`` de cada persona, en la carpeta que Moodle espera."""
    files = {}
    for person in (person for person in people if person["id"]):
        name = re.sub(r'[_/\\:*?"<>|\s]+', " ", person["name"]).strip(" .~")
        files[f"{name}_{person['id']}_assignsubmission_file_/devolucion.html"] = page(person)
    whole(path, zipped(files))
