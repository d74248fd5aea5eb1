"""De vuelta a Moodle: su hoja de calificaciones, rellena, y un zip con las devoluciones.

La hoja es la de «Descargar hoja de calificaciones». Se devuelve igual, con otra cosa en una sola columna:
Moodle busca a cada uno por «Identificador», no admite más que la calificación máxima y mira la fecha de la
última modificación. En el zip, a cada uno lo busca por el nombre de la carpeta, el mismo que puso él.
"""

import calendar
import csv
import io
import re
import zipfile
from datetime import datetime

from aula.calificar import marks
from aula.calificar.text import SAYS, Unreadable, plain, whole
from course_tools.homework import MONTHS

NAMES = MONTHS, calendar.month_name[1:]  # en español y en inglés
NUMBER = {name[:3].casefold(): k for names in NAMES for k, name in enumerate(names, 1)}


class Sheet:
    """Una hoja de calificaciones de Moodle."""

    def __init__(self, path):
        self.rows, (self.encoding, self.mark) = marks.read_table(path)
        heads = [head.strip() for head in self.rows[0]]
        find = lambda names: next((k for k, head in enumerate(heads) if head in names), None)  # noqa: E731
        self.who, self.name, self.grade, self.most, self.given = map(find, SAYS["moodle"].values())
        if self.who is None or self.grade is None:
            raise Unreadable(SAYS["hoja"].format(path))

    def found(self):
        """De cada fila: el nombre, el número de su identificador y ella."""
        for row in self.rows[1:]:
            row += [""] * (len(self.rows[0]) - len(row))
            name = row[self.who if self.name is None else self.name]
            yield plain(name.strip()), re.search(r"\d*$", row[self.who].strip())[0], row

    def roll(self):
        """Los que tienen que entregar: (nombre, identificador)."""
        return [one[:2] for one in self.found()]

    def meet(self, people):
        """Pone a cada persona el identificador como lo escribe Moodle; a quien puede ser de varias filas, ninguno."""
        rows = list(self.found())
        found, doubts = marks.pair(people, [row[:2] for row in rows])
        for k, place in found.items():
            if k in doubts:
                people[k]["told"].append(SAYS["archivos"]["iguales"].format(*doubts[k]))
                continue
            _, people[k]["id"], people[k]["row"] = rows[place]
            people[k]["label"] = rows[place][2][self.who]
            if self.given is not None:
                people[k]["given"] = when(rows[place][2][self.given])

    def fill(self, people, lessons, task, path):
        """Escribe la hoja con las calificaciones de quien tiene algo calificado, sobre el máximo de la tarea."""
        for person in people:
            row, given = person.get("row"), [one for one in lessons if one in person["lessons"]]
            got = [marks.total(person, lesson) for lesson in given]
            if row is None or not given or "" in got:  # sin calificar: lo decide quien califica
                continue
            limit = row[self.most] if self.most is not None else ""
            if marks.number(limit) is None:
                raise Unreadable("su calificación máxima no es un número")
            part = sum(got) / sum(task.most(lesson) for lesson in lessons)
            text = f"{marks.number(limit) * part:.2f}"
            row[self.grade] = text.replace(".", ",") if "," in limit else text
        table = io.StringIO(newline="")
        csv.writer(table, delimiter=self.mark, lineterminator="\n").writerows(self.rows)
        whole(path, table.getvalue().encode(self.encoding))


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
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for person in people:
            if person["id"]:
                name = re.sub(r'[_/\\:*?"<>|\s]+', " ", person["name"]).strip(" .~")
                folder = f"{name}_{person['id']}_assignsubmission_file_"
                archive.writestr(f"{folder}/devolucion.html", page(person))
    whole(path, data.getvalue())
