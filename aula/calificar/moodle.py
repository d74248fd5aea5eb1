"""De vuelta a Moodle: su hoja de calificaciones, rellena, y un zip con las devoluciones.

La hoja es la de «Descargar hoja de calificaciones». Se devuelve igual, con otra cosa en una sola columna:
Moodle busca a cada uno por «Identificador», no admite más que la calificación máxima y mira la fecha de la
última modificación. En el zip, a cada uno lo busca por el nombre de la carpeta, el mismo que puso él.
"""

import csv
import io
import re
import zipfile

from aula.calificar import marks
from aula.calificar.text import key, plain, whole

# Los títulos de Moodle, en español, inglés, catalán y gallego.
WHO = {"Identificador", "Identifier"}
NAME = {"Nombre completo", "Full name", "Nom complet", "Nome completo", "Nome"}
GRADE = {"Calificación", "Grade", "Qualificació", "Cualificación"}
MOST = {"Calificación máxima", "Maximum Grade", "Maximum grade", "Qualificació màxima"}
MOST |= {"Cualificación máxima"}
IDENT = re.compile(r"\d+$")


class Sheet:
    """Una hoja de calificaciones de Moodle."""

    def __init__(self, path):
        self.rows, (self.encoding, self.mark) = marks.read_table(path)
        heads = [head.strip() for head in self.rows[0]]
        find = lambda names: next((k for k, head in enumerate(heads) if head in names), None)  # noqa: E731
        self.who, self.name, self.grade, self.most = map(find, (WHO, NAME, GRADE, MOST))
        if self.who is None or self.grade is None:
            raise marks.BadTable(
                f"{path} no es una hoja de calificaciones de Moodle: le falta «Identificador» o «Calificación»."
            )

    def people(self):
        """De cada fila: la fila, el número de su identificador y el nombre."""
        for row in self.rows[1:]:
            row += [""] * (len(self.rows[0]) - len(row))
            match = IDENT.search(row[self.who].strip())
            yield (
                row,
                match[0] if match else "",
                "" if self.name is None else row[self.name].strip(),
            )

    def roll(self):
        """Los que tienen que entregar: (nombre, identificador)."""
        return [(plain(name or row[self.who]), ident) for row, ident, name in self.people()]

    def meet(self, people):
        """Pone a cada persona el identificador como lo escribe Moodle. La busca por su número o por su nombre."""
        by_name = {key(name): (row, ident) for row, ident, name in self.people() if name}
        by_ident = {ident: (row, ident) for row, ident, _ in self.people() if ident}
        for person in people:
            found = by_ident.get(person["id"]) or (
                not person["id"] and by_name.get(key(person["name"]))
            )
            if found:
                person["row"], person["id"] = found
                person["label"] = found[0][self.who]

    def fill(self, people, lessons, path):
        """Escribe la hoja con las calificaciones de quien tiene algo calificado, sobre el máximo de la tarea."""
        whole_marks = sum(marks.most(lesson) for lesson in lessons)
        for person in people:
            row = person.get("row")
            if row is None or not set(lessons) & set(person["lessons"]):
                continue
            limit = row[self.most] if self.most is not None else ""
            most = marks.number(limit)
            if most is None:
                raise marks.BadTable(
                    "la calificación máxima de la hoja no es un número: usa una tarea con puntos"
                )
            got = sum(marks.total(person, lesson) for lesson in lessons)
            text = f"{most * got / whole_marks:.2f}"
            row[self.grade] = text.replace(".", ",") if "," in limit else text
        table = io.StringIO(newline="")
        csv.writer(table, delimiter=self.mark, lineterminator="\n").writerows(self.rows)
        whole(path, table.getvalue().encode(self.encoding))


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
