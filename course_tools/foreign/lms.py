"""Las hojas de calificaciones de cada sistema: de quién es cada fila, y dónde va su nota.

Cada una vuelve igual, con otra cosa en una sola columna: así la admite quien la dio. De Moodle, es la de
«Descargar hoja de calificaciones», o su libro entero; de Canvas, «Exportar todo el libro de calificaciones», que busca a cada uno
por «ID»; de Classroom (o de Teams), la que trae un correo en cada fila: no se puede subir, y sirve para copiar
las notas en su orden.
"""

import csv
import io
import re

from course_tools.foreign import Unreadable
from course_tools.foreign.names import line, plain
from course_tools.foreign.tables import NAME, NOBODY, SURNAME, read_table

MAIL = re.compile(r"e-?mail( address)?|(dirección de )?correo( electrónico)?", re.IGNORECASE)
# La fila de lo que vale cada tarea; y las columnas que no son de una.
POINTS = re.compile(r"\s*(points|puntos)( possible| posibles)?\s*", re.IGNORECASE)
OTHER = re.compile(r"overall grade|nota (media|general|global)|.*\b(points|feedback|comentarios)", re.IGNORECASE)
UNKNOWN = (
    "{} no es una hoja de calificaciones conocida: la de Moodle lleva «Identificador» y «Calificación»; la de Canvas, "
    "«Student», «ID» y las tareas; la de Google Classroom, nombre, apellidos, correo y las tareas."
)
WHICH = "En {} hay {} tareas: di cuál con --columna y una parte de su título, que solo lleve ella: {}."


def number(text):
    """Un número escrito con coma o con punto; ``None`` si no lo es."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


class Sheet:
    """Una hoja de calificaciones: qué columnas tiene y, de cada persona, su fila."""

    file, given = "", None  # cómo se llama al volver; y la columna en que dice cuándo se entregó, si la tiene

    def __init__(self, rows, how):
        self.rows, (self.encoding, self.mark) = rows, how
        self.heads = [head.strip() for head in rows[0]]
        for row in rows:
            row += [""] * (len(self.heads) - len(row))
        self.names = self.columns(NAME) + self.columns(SURNAME)
        self.look()

    def columns(self, *patterns):
        """Los sitios de las columnas con uno de estos títulos."""
        return [k for k, head in enumerate(self.heads) if any(re.fullmatch(one, head) for one in patterns)]

    def people(self):
        """De cada persona: su nombre, el número que la identifica y su fila."""
        for row in self.rows[1:]:
            if self.is_person(row):
                name = " ".join(row[k] for k in self.names or [self.who])
                yield plain(name.strip()), self.ident(row), row

    def is_person(self, row):
        return True

    def ident(self, row):
        """El número con que acaba lo que identifica a alguien."""
        return re.search(r"\d*$", row[self.who].strip())[0]

    def roll(self):
        """Los que tienen que entregar: (nombre, identificador)."""
        return [one[:2] for one in self.people()]

    def put(self, row, part, most):
        """Pone una nota en su fila: ``part``, de 0 a 1, de su máximo; si la hoja no lo dice, de ``most``."""
        limit = self.limit(row) or f"{most:g}"
        if number(limit) is None:
            raise Unreadable("su calificación máxima no es un número")
        text = f"{number(limit) * part:.2f}"
        row[self.grade] = text.replace(".", ",") if "," in limit else text

    def written(self):
        """La hoja, como estaba escrita."""
        table = io.StringIO(newline="")
        csv.writer(table, delimiter=self.mark, lineterminator="\n").writerows(self.rows)
        return table.getvalue().encode(self.encoding)


class Moodle(Sheet):
    file = "moodle.csv"

    def look(self):
        find = lambda *titles: next(iter(self.columns(*map(re.escape, titles))), None)  # noqa: E731
        self.who, self.grade = find("Identificador", "Identifier"), find("Calificación", "Grade")
        self.most = find("Calificación máxima", "Maximum Grade", "Maximum grade")
        self.given = find("Última modificación (entrega)", "Last modified (submission)")
        self.tasks = [] if None in (self.who, self.grade) else [self.grade]

    def limit(self, row):
        return "?" if self.most is None else row[self.most] or "?"


class Canvas(Sheet):
    file = "canvas.csv"

    def look(self):
        self.who = next(iter(self.columns("ID")), None)
        numbered = self.columns(re.compile(r".* \(\d+\)", re.DOTALL)) if self.names and self.who else []
        # Las que no dicen cuánto valen no se pueden cambiar.
        self.tasks = [k for k in numbered if number(self.worth(k)) is not None]

    def worth(self, k):
        """Lo que vale una tarea, como lo dice la hoja; nada, si no lo dice."""
        return next((row[k] for row in self.rows[1:] if any(map(POINTS.fullmatch, row[:k]))), "")

    def is_person(self, row):
        return bool(self.ident(row)) and not any(map(NOBODY.fullmatch, row[: self.who]))

    def limit(self, row):
        return self.worth(self.grade)


class Classroom(Canvas):
    file = "classroom.csv"

    def look(self):
        self.who = next(iter(self.columns(MAIL)), None)
        after = range(self.who + 1, len(self.heads)) if self.names and self.who else []
        self.tasks = [k for k in after if self.heads[k] and not OTHER.fullmatch(self.heads[k])]

    def worth(self, k):
        match = re.search(r"\(([\d.,]+) (?:points|puntos)\)", self.heads[k])
        return super().worth(k) or (match[1] if match else "")

    def is_person(self, row):
        return "@" in row[self.who]

    def ident(self, row):
        return ""


class MoodleBook(Classroom):
    """El libro entero de Moodle, que entra por «Importar»: de cada actividad, lo que lleva detrás «(Real)»."""

    file = "moodle-libro.csv"

    def look(self):
        super().look()
        real = re.compile(r"(?!(total del|course total)\b).*\((real|puntos)\)", re.IGNORECASE)
        self.tasks = [k for k in self.tasks if real.fullmatch(self.heads[k])]


def read_sheet(path, wanted=""):
    """La hoja de un archivo. Si tiene varias tareas, la de ``wanted``, una parte de su título."""
    table, how = read_table(path)
    sheet = next((one for kind in (Moodle, Canvas, MoodleBook, Classroom) if (one := kind(table, how)).tasks), None)
    if not sheet:
        raise Unreadable(UNKNOWN.format(path))
    titles = {k: line(sheet.heads[k]) for k in sheet.tasks}
    chosen = [k for k, title in titles.items() if wanted and wanted.casefold() in title.casefold()]
    chosen = sheet.tasks if len(titles) == 1 else chosen
    if len(chosen) != 1:
        some = ", ".join(f"«{one}»" for one in [*titles.values()][:8])
        raise Unreadable(WHICH.format(path, len(titles), some))
    sheet.grade = chosen[0]
    return sheet
