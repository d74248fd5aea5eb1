"""Listas y tablas de quien califica, como las guarda una hoja de cálculo: en cualquier codificación y separador."""

import csv
import io
import re
from itertools import takewhile
from pathlib import Path

from course_tools.foreign import Unreadable
from course_tools.foreign.names import line, plain

csv.field_size_limit(2**31 - 1)  # una casilla puede traer una devolución entera
SHEET = "{} no es un texto, sino una hoja de cálculo: guárdala como CSV UTF-8, o pon un nombre por línea."
EMPTY = "En {} no hay ningún nombre: pon uno por línea, o una tabla con «Nombre»."
# Los títulos de una columna de nombres, y los de las de apellidos.
NAME = re.compile(
    r"(first ?|full )?name|nombres?( completo| y apellidos| ?/ ?apellido\(s\))?|apellidos( y|,) nombre|alumn\S+"
    r"|estudiantes?|students?( name)?",
    re.IGNORECASE,
)
SURNAME = re.compile(r"((primer|segundo) )?apellido(s|\(s\))?( \d)?|last ?name|surname", re.IGNORECASE)
# Las filas que no son de quien estudia: los puntos y las fechas de Canvas y de Classroom, quien convoca en Teams, y
# la persona de prueba de Canvas.
NOBODY = re.compile(
    r"\s*(points( possible)?|puntos( posibles)?|date|fecha|organi[sz]e[rd]|organizadora?|student, test|test student)\s*",
    re.IGNORECASE,
)
SECTION = re.compile(r"\d+\. \D")  # una parte de un informe de Teams: «3. In-Meeting Activities»
STARTS = re.compile(r"(^|[,;|\"]) *(?=[=+\-@＝＋－＠])")  # por donde empezaría una fórmula, y la casilla en que lo haría


def read_text(path):
    """Lo que dice un archivo, y su codificación: la de una hoja de cálculo, o UTF-8."""
    data = Path(path).read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), "utf-16"
    if data[:2] == b"PK" or b"\0" in data:
        raise Unreadable(SHEET.format(path))
    try:
        encoding = "utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else "utf-8"
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252"


def rows(text, mark):
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(row)]


def read_table(path):
    """Las filas de un CSV, y cómo estaba escrito: (codificación, separador)."""
    text, encoding = read_text(path)
    mark = max(";\t,", key=text.partition("\n")[0].count)
    return rows(text, mark) or [[""]], (encoding, mark)


def read_list(path):
    """Los nombres de una lista, como los da ``lms.Sheet.roll``: (nombre, "").

    Uno por línea; o una tabla, con los títulos de sus columnas o sin ellos: entonces es la primera casilla que no
    sea un número ni un correo. También las que dan Moodle, Canvas, Google Classroom y Teams.
    """
    text, _ = read_text(path)
    for mark in ";\t,":
        if named := titled(rows(text, mark)):
            break
    else:
        mark = next((one for one in ";\t" if one in text), ",")
        named = [", ".join(kept(row)[: None if mark == "," else 1]) for row in rows(text, mark)]
    names = [plain(re.sub(r"^\d+[.)\s-]+(?=\D)", "", name).strip()) for name in named]
    if not any(names):
        raise Unreadable(EMPTY.format(path))
    return [(name, "") for name in names if name]


def titled(table):
    """Los nombres de una tabla que dice en qué columnas están; lo de antes de sus títulos, si lo hay, no cuenta."""
    table = [[cell.strip() for cell in row] for row in table]
    heads = (k for k, row in enumerate(table[:20]) if any(map(NAME.fullmatch, row)) and (len(row) > 2 or not k))
    if (start := next(heads, None)) is None:
        return []
    columns = [k for one in (NAME, SURNAME) for k, head in enumerate(table[start]) if one.fullmatch(head)]
    same = lambda row: not (start and len(row) == 1 and SECTION.match(row[0]))  # noqa: E731
    more = takewhile(same, table[start + 1 :])  # hasta otra parte del informe
    people = [row for row in more if not any(map(NOBODY.fullmatch, row))]
    return [" ".join(row[k] for k in columns if k < len(row)) for row in people]


def kept(row):
    """De una fila sin títulos, lo que puede ser un nombre."""
    cells = [cell.strip() for cell in row]
    return [cell for cell in cells if cell and not re.fullmatch(r"\d+|\S+@\S+", cell)]


def table(rows):
    """Un CSV que una hoja de cálculo abre como es: cada casilla entre comillas, y ninguna es una fórmula."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL).writerows([map(safe, row) for row in rows])
    return text.getvalue().encode("utf-8-sig")


def safe(cell):
    """Una casilla que una hoja de cálculo no toma por una fórmula, la parta por donde la parta; los decimales, con
    coma.
    """
    if isinstance(cell, str):
        return STARTS.sub(r"\1'", line(cell))
    return str(cell).replace(".", ",")


def workbook(rows):
    """Lo mismo en .xlsx, en el que cada casilla dice qué es: los números se leen bien en cualquier idioma, y un texto
    no se calcula nunca.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise Unreadable("falta XlsxWriter: con red, la misma orden lo instala") from None
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        sheet.freeze_panes(1, 1)
        for k, row in enumerate(rows):
            for j, cell in enumerate(row):
                if isinstance(cell, str):
                    sheet.write_string(k, j, line(cell)[:32_000])
                else:
                    sheet.write_number(k, j, cell)
        sheet.autofit(400)
    return made.getvalue()
