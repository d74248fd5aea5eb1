"""Los nombres que vienen de fuera: con letras que se pueden escribir, y el mismo se escriba como se escriba."""

import contextlib
import re
import unicodedata

BYTES = re.compile("[\udc80-\udcff]")  # un byte que no era UTF-8, como lo da el sistema de archivos
# Lo que no se escribe, y lo que se lee en otro orden del que se ha escrito.
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)")
CANVAS = re.compile(r"(?P<name>.+?)(?:_late)?_(?:20\d\d_20\d\d|(?P<id>\d{3,})_\d{3,})_.", re.IGNORECASE)  # o un curso
# Lo que añade al nombre de un archivo quien lo copia o lo baja dos veces: Windows, macOS, Drive, Jupyter.
OF = r"cop(?:ia|y)(?: \(?\d+\)?)? (?:de|of)"
COPY = re.compile(rf"^{OF}\b|[ -]+{OF}$|[ -]+cop(?:ia|y) ?\(?\d*\)?$|\(\d+\)$", re.IGNORECASE)
BOXES = re.compile("[\u2500-\u257f]")  # marcos: en un nombre, bytes de UTF-8 leídos como cp437


def plain(value):
    """Un valor cuyos textos se pueden escribir en cualquier sitio: HTML, CSV o SQLite.

    Los bytes de un nombre en Latin-1 son sus letras; lo que no se puede escribir, «�».
    """
    if isinstance(value, str):
        return ILLEGAL.sub("�", BYTES.sub(lambda byte: chr(ord(byte[0]) - 0xDC00), value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    return value


def line(text):
    """Un texto, en una línea: no parece lo que se dice de otro."""
    return " ".join(plain(text).split())


def composed(name):
    """Un nombre con sus letras en una pieza; el que se leyó como lo que no era, arreglado."""
    if BOXES.search(name):
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode()
    return unicodedata.normalize("NFC", name)


def spelled(name):
    """Un nombre, sin lo que cambia de un sistema a otro: cómo se componen sus letras, las mayúsculas, los
    espacios, y si es «Apellido, Nombre».
    """
    letters = unicodedata.normalize("NFKC", plain(name))
    seen = "".join(c for c in letters if unicodedata.category(c) != "Cf" and c != '"')
    last, _, first = seen.casefold().partition(",")
    return unicodedata.normalize("NFC", " ".join(f"{first} {last}".split()))


def unaccented(name):
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", plain(name).casefold()))


def slug(name, most=60):
    """Un nombre como lo admite cualquier sistema: «Ana Ñandú» es ``ana-nandu``."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:most].strip("-")


def words(name):
    """Las palabras de un nombre, sin tildes, ni mayúsculas, ni orden."""
    return " ".join(sorted(re.findall(r"[^\W_]+", unaccented(name))))


def run_together(name):
    """Las letras de un nombre, empiecen por donde empiecen: las de ``pérezluis``, de Canvas, son las de «Luis Pérez»."""
    letters = "".join(re.findall(r"[^\W_]", unaccented(name)))
    return min((letters[k:] + letters[:k] for k in range(len(letters))), default="")


def bare(name):
    """Un nombre, sin lo que va detrás entre paréntesis."""
    return re.sub(r"\(.*\)$", "", name)


def owner(parts, lessons):
    """De quién es un archivo, por su carpeta o por su nombre, sin el de la lección: (nombre, identificador)."""
    first = composed(parts[0])
    found = [match for way in [MOODLE, *[CANVAS][len(parts) - 1 :]] if (match := way.match(first))]
    if match := min(found, key=lambda one: one.end("name"), default=None):  # detrás, escribe quien entrega
        return match["name"].strip(), match["id"] or ""
    if len(parts) > 1:
        return first, ""
    stem = re.sub(r"(\.ipynb)?\.\w+$", "", first, flags=re.IGNORECASE)
    names = "|".join(name.replace("_", "[-_ ]") for name in sorted(lessons, key=len, reverse=True))
    rest = re.sub(rf"[-_ .]*(?:{names})[-_ .]*", " ", stem, flags=re.IGNORECASE).strip(" -_.")
    return COPY.sub("", rest).replace("_", " ").strip(" -.") or stem, ""
