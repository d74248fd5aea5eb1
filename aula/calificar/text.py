"""Lo que llega de fuera, hecho de letras que se pueden escribir; lo que se dice; y los archivos, enteros o nada."""

import re
import tomllib
import unicodedata
from pathlib import Path

SAYS = tomllib.loads(Path(__file__).with_name("textos.toml").read_text(encoding="utf-8"))

BYTES = re.compile("[\udc80-\udcff]")  # un byte que no era UTF-8, como lo da el sistema de archivos
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Unreadable(Exception):
    """Algo de fuera que no se puede leer o usar: el texto dice por qué, y qué hacer."""


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


def attempt(what, write, *given):
    """Escribe algo y da lo que haya que decir. Si no se puede, es una línea, y lo demás se escribe igual."""
    try:
        return write(*given)
    except Exception as error:
        return f"  ({what} no se ha podido escribir: {line(str(error))})"


def spelled(name):
    """Un nombre, sin lo que cambia de un sistema a otro: cómo se componen sus letras, las mayúsculas, los
    espacios, y si es «Apellido, Nombre».
    """
    letters = unicodedata.normalize("NFKC", plain(name))
    seen = "".join(c for c in letters if unicodedata.category(c) != "Cf" and c != '"')
    last, _, first = seen.casefold().partition(",")
    return unicodedata.normalize("NFC", " ".join(f"{first} {last}".split()))


def words(name):
    """Las palabras de un nombre, sin tildes, ni mayúsculas, ni orden."""
    letters = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", plain(name).casefold()))
    return " ".join(sorted(re.findall(r"\w+", letters)))


def bare(name):
    """Un nombre, sin lo que va detrás entre paréntesis."""
    return re.sub(r"\(.*\)$", "", name)


def whole(path, data):
    """Escribe un archivo entero: hasta que no está, queda el que había."""
    half = path.with_name(f".a-medias-{path.name}")
    try:
        half.write_bytes(data.encode() if isinstance(data, str) else data)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
