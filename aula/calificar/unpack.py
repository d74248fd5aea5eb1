"""Lo que escriben otros programas: zips de cada sistema, y cuadernos de cada formato, leídos sin sus salidas."""

import contextlib
import json
import os
import re
import struct
import time
import unicodedata
import zipfile
import zlib

from aula.calificar.text import SAYS, Unreadable

SAID = SAYS["archivos"]
MOST = 20 * 2**20  # bytes de un cuaderno, sin sus salidas
MOST_RAW = 256 * 2**20  # y con ellas; y lo que caben los zips de una persona, abiertos
MOST_TOKENS = 10_000_000
# Lo que ponen los programas, y no es de nadie.
JUNK = re.compile(
    r"(__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini|\.ipynb_checkpoints|\.?venv|\.(git|history|Trash.*))$"
    r"|\._|\.?~",
    re.IGNORECASE,
)
USUAL = "áéíóúüñÁÉÍÓÚÜÑçÇàèòïÀÈÒÏâêîôûãõÂÊÔÃÕäëöªº¿¡«»"
ODD = re.compile(rf"[^\x00-\x7f{USUAL}](?<!l·)|(?<=[a-zà-ÿ])[À-Þ]")  # «JosÚ»: no es de su página
BOXES = re.compile("[\u2500-\u257f]")  # marcos: en un nombre, bytes de UTF-8 leídos como cp437
HEAVY = re.compile(
    rb'("(?:outputs|metadata|attachments)"\s*+:\s*+[\[{])|"(?:[^"\\]++|\\.)*+"?|[\]\[{}]', re.DOTALL
)
STEPS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}
PARTS = re.compile(r"^# (?:%%|In\[|COMMAND -).*$|^(?=#+ *(?:Ejercicio|Comprobación) \d)", re.MULTILINE)


# --- Zips -----------------------------------------------------------------------------------------


def composed(name):
    """Un nombre con sus letras en una pieza; el que se leyó como lo que no era, mendado."""
    if BOXES.search(name):
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode()
    return unicodedata.normalize("NFC", name)


def written(info):
    """Los bytes del nombre que dio quien hizo el zip: los de UTF-8, si los hay en «Unicode Path»."""
    raw, extra = info.orig_filename.encode("cp437"), info.extra
    while len(extra) >= 9:
        kind, size, version, check = struct.unpack("<HHBL", extra[:9])
        if (kind, version, check) == (0x7075, 1, zlib.crc32(raw)):
            return extra[9 : 4 + size]
        extra = extra[4 + size :]
    return raw


def true_names(infos):
    """Los nombres de un zip. Sin la marca de UTF-8, Python los lee como cp437: aquí, como se escribieron.

    Son de UTF-8 (macOS) o de una página de Windows: entre todos dicen cuál.
    """
    known = {k: written(info) for k, info in enumerate(infos) if not info.flag_bits & 0x800}
    names, old = [info.orig_filename for info in infos], []
    for k, raw in known.items():
        try:
            names[k] = raw.decode()
        except UnicodeDecodeError:
            old.append(k)
    page = lambda page: len(ODD.findall(b"/".join(known[k] for k in old).decode(page, "replace")))  # noqa: E731
    best = min("cp850", "cp1252", key=page)
    names = [known[k].decode(best, "replace") if k in old else name for k, name in enumerate(names)]
    for name in names:
        name = composed(name.partition("\0")[0].replace("\\", "/"))
        parts = re.sub(r"^[A-Za-z]:/", "", name).split("/")
        inside = "/".join(part for part in parts if part not in ("", ".", ".."))
        yield inside + "/" * name.endswith("/")


def free(place, name):
    """El mismo nombre o, si ya hay uno, otro: dos que se llaman igual son dos."""
    (stem, dot, tail), k = name.rpartition("."), 1
    made = name
    while os.path.isfile(os.path.join(place, made)):
        k += 1
        made = f"{stem} ({k}){dot}{tail}" if stem else f"{name} ({k})"
    return made


def unzip(path, place, room):
    """Abre un zip en ``place``, con los topes de ``room``, archivos y bytes: primero por lo que dice y luego,
    por lo que sale. Ningún nombre se sale de ahí. Da lo que no se ha podido sacar, y de ``room`` quita lo gastado.
    """
    lost = []
    try:
        archive = zipfile.ZipFile(path)
    except Exception:  # no es un zip, o está a medias, o es de los que no se leen
        raise Unreadable(SAID["no_es_zip"].format(path)) from None
    with archive:
        infos = archive.infolist()
        if len(infos) > room["files"] or sum(info.file_size for info in infos) > room["bytes"]:
            most = f"{room['files']} archivos o de {room['bytes'] >> 20} MB"
            raise Unreadable(f"{path} trae demasiado: más de {most}.")
        for info, name in zip(infos, true_names(infos)):
            if not name.strip("/") or any(JUNK.match(part) for part in name.split("/")):
                continue
            info.filename = name if name[-1] == "/" else free(place, name)
            room["files"], room["bytes"] = room["files"] - 1, room["bytes"] - info.file_size
            # Lo que dice que mide cada uno es lo más que ``extract`` lee de él.
            try:
                made = archive.extract(info, place)
            except Exception as error:  # de ese archivo: los demás siguen
                lost.append((name, why(info, error)))
                continue
            with contextlib.suppress(ValueError, OverflowError):  # una fecha que no existe
                when = time.mktime((*info.date_time, 0, 0, -1))
                os.utime(made, (when, when))
    return lost


def why(info, error):
    """Por qué no se ha podido sacar un archivo de un zip."""
    if info.flag_bits & 1:
        return SAID["clave"]
    if isinstance(error, NotImplementedError):
        return SAID["metodo"]
    damaged = isinstance(error, zipfile.BadZipFile | zlib.error | EOFError)
    return SAID["danado"] if damaged else getattr(error, "strerror", None) or error


# --- Cuadernos ------------------------------------------------------------------------------------


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
    """El código de las celdas de un cuaderno de cualquier formato o, de un programa de Python, de sus partes.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: si no es ninguna de las dos cosas.
    """
    if name.lower().endswith(".py"):
        return [newlines(part) for part in PARTS.split(decoded(data[:MOST]))]
    if b"\0" in data[:4]:
        data = decoded(data).encode("utf-8", "surrogatepass")
    book = json.loads(decoded(lean(name, data)))
    cells = [cell for sheet in book.get("worksheets") or [book] for cell in sheet["cells"]]
    join = ("\n" if book.get("nbformat") in (1, 2) else "").join
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    found = [cell.get("source", cell.get("input", cell.get("code"))) for cell in code]
    return [newlines(join(source) if isinstance(source, list) else source) for source in found]


def newlines(source):
    return source.replace("\r\n", "\n").replace("\r", "\n")
