"""Listas y tablas de quien califica, como las guarda una hoja de cálculo: en cualquier codificación y separador."""

import csv
import io
import re
from pathlib import Path

from course_tools.foreign import Unreadable
from course_tools.foreign.names import line, plain

csv.field_size_limit(2**31 - 1)  # una casilla puede traer una devolución entera
SHEET = "{} no es un texto, sino una hoja de cálculo: guárdala como CSV UTF-8, o pon un nombre por línea."
# Los títulos de una columna de nombres, y los de las de apellidos.
NAME = re.compile(
    r"(first |full )?name|nombres?( completo| y apellidos)?|apellidos( y|,) nombre|alumn\S+|estudiantes?",
    re.IGNORECASE,
)
SURNAME = re.compile(r"((primer|segundo) )?apellido(s|\(s\))?( \d)?|last name|surname", re.IGNORECASE)


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
    """Los nombres de una lista, como los da ``moodle.Sheet.roll``: (nombre, "").

    Uno por línea; o una tabla, con los títulos de sus columnas o sin ellos: entonces es la primera casilla que no
    sea un número ni un correo.
    """
    text, _ = read_text(path)
    for mark in ";\t,":
        heads, *more = [[cell.strip() for cell in row] for row in rows(text, mark)] or [[]]
        columns = [k for one in (NAME, SURNAME) for k, head in enumerate(heads) if one.fullmatch(head)]
        if any(map(NAME.fullmatch, heads)):
            found = [" ".join(row[k] for k in columns if k < len(row)) for row in more]
            break
    else:
        mark = next((one for one in ";\t" if one in text), ",")
        found = [", ".join(kept(row)[: None if mark == "," else 1]) for row in rows(text, mark)]
    names = [plain(re.sub(r"^\d+[.)\s-]+(?=\D)", "", name).strip()) for name in found]
    return [(name, "") for name in names if name]


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
    """Una casilla que una hoja de cálculo no toma por una fórmula; los decimales, con coma."""
    if isinstance(cell, float):
        return str(cell).replace(".", ",")
    text = line(cell) if isinstance(cell, str) else cell
    return f"'{text}" if isinstance(text, str) and text[:1] in tuple("=+-@") else text
