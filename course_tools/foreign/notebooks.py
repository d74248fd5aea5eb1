"""Los cuadernos de cada programa y de cada formato: el código de sus celdas, y nada de lo que pesa."""

import json
import re

from course_tools.foreign import Unreadable

MOST = 20 * 2**20  # bytes de un cuaderno, sin sus salidas
MOST_RAW = 256 * 2**20  # y con ellas
MOST_TOKENS = 10_000_000
HEAVY = re.compile(
    rb'("(?:outputs|metadata|attachments)"\s*+:\s*+[\[{])|"(?:[^"\\]++|\\.)*+"?|[\]\[{}]', re.DOTALL
)
STEPS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}
PARTS = re.compile(r"^# ?(?:%%|In\[|COMMAND -).*$|^(?=#+ *(?:Ejercicio|Comprobación) \d)", re.MULTILINE)


def lean(name, data):
    """El JSON de un cuaderno, en bytes, sin lo que no se lee: salidas, metadatos y adjuntos."""
    kept, begin, depth = [], 0, 0
    for k, token in enumerate(HEAVY.finditer(data)):
        end = token.end()
        if k > MOST_TOKENS:
            raise Unreadable(f"{name} es demasiado grande: {len(data) >> 20} MB")
        if depth:
            depth += STEPS.get(data[end - 1], 0)
            begin = end
        elif token[1]:
            kept += [data[begin : end - 1], b"0"]
            begin, depth = end, 1
    made = b"".join([*kept, data[begin:]])
    if len(made) > MOST:
        raise Unreadable(f"{name} es demasiado grande: {len(made) >> 20} MB sin sus salidas")
    return made


def decoded(data):
    """Un texto, de la codificación en que esté."""
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
    zeros = {b"{\0": "utf-16-le", b"\0{": "utf-16-be"}
    for mark, name in (marks | zeros).items():
        if data.startswith(mark):
            return data.decode(name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def sources(name, data):
    """El código de las celdas de un cuaderno de cualquier formato o, de un programa de Python, de sus partes; y
    lo que dicen las celdas que no son de código.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: si no es ninguna de las dos cosas.
    """
    if name.lower().endswith(".py"):
        return [newlines(part) for part in PARTS.split(decoded(data[:MOST]))], []
    if b"\0" in data[:4]:
        data = decoded(data).encode("utf-8", "surrogatepass")
    book = json.loads(decoded(lean(name, data)))
    cells = [cell for sheet in book.get("worksheets") or [book] for cell in sheet["cells"]]
    join = ("\n" if book.get("nbformat") in (1, 2) else "").join
    code, rest = [], []
    for cell in cells:
        source = cell.get("source", cell.get("input", cell.get("code")))
        if cell["cell_type"] == "code":
            code.append(newlines(join(source) if isinstance(source, list) else source))
        else:
            rest.append(newlines("".join(map(str, source or ""))))
    return code, rest


def only_in(rest, code, name):
    """Si ``name`` no está hecho en el código, y sí en una celda que no lo es: alguien le ha cambiado la clase."""
    made = re.compile(rf"^[ \t]*(?:(?:def|class) {name}\b|{name} *(?::[^=\n]*)?=(?!=))", re.MULTILINE)
    return any(map(made.search, rest)) and not any(map(made.search, code))


def newlines(source):
    return source.replace("\r\n", "\n").replace("\r", "\n")
