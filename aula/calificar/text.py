"""Lo que llega de fuera, hecho de letras que se pueden escribir; lo que se dice; y los archivos, enteros o nada."""

import tomllib
from pathlib import Path

from course_tools.foreign import Unreadable as Unreadable
from course_tools.foreign import is_full
from course_tools.foreign.names import line as line
from course_tools.foreign.names import plain as plain

SAYS = tomllib.loads(Path(__file__).with_name("textos.toml").read_text(encoding="utf-8"))


def attempt(what, write, *given):
    """Escribe algo y da lo que haya que decir. Si no se puede, es una línea, y lo demás se escribe igual."""
    try:
        return write(*given)
    except Exception as error:
        why = "no queda sitio en el disco" if is_full(error) else line(str(error))
        return f"  ({what} no se ha podido escribir: {why})"


def whole(path, data):
    """Escribe un archivo entero: hasta que no está, queda el que había."""
    half = path.with_name(f".a-medias-{path.name}")
    try:
        half.write_bytes(data.encode() if isinstance(data, str) else data)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
