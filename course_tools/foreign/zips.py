"""Carpetas y zips de cada sistema: lo que hay, con su nombre como se escribió, con un tope y sin salirse de su sitio."""

import contextlib
import os
import re
import stat
import struct
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

from course_tools.foreign import Unreadable
from course_tools.foreign.names import composed

# Lo que ponen los programas, y no es de nadie.
JUNK = re.compile(
    r"(__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini|\.ipynb_checkpoints|\.?venv|\.(git|history|Trash.*))$"
    r"|\._|\.?~",
    re.IGNORECASE,
)
USUAL = "áéíóúüñÁÉÍÓÚÜÑçÇàèòïÀÈÒÏâêîôûãõÂÊÔÃÕäëöªº¿¡«»"
ODD = re.compile(rf"[^\x00-\x7f{USUAL}](?<!l·)|(?<=[a-zà-ÿ])[À-Þ]")  # «JosÚ»: no es de su página
BROKEN = "No se puede abrir {}: está dañado o a medias, o no es un zip."
LOCKED = "lleva contraseña: pídelo sin ella"
UNKNOWN = "está comprimido de una forma que aquí no se abre: pide un zip corriente, o el cuaderno suelto"
DEEP = "{} trae un zip dentro de otro, y de otro: ábrelo en su carpeta"
DAMAGED = "está dañado: pídelo otra vez"


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
    odd = lambda *raw: lambda page: len(ODD.findall(b"/".join(raw).decode(page, "replace")))  # noqa: E731
    pages = sorted(("cp850", "cp1252"), key=odd(*(known[k] for k in old)))
    for k in old:
        names[k] = known[k].decode(min(pages, key=odd(known[k])), "replace")
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
        raise Unreadable(BROKEN.format(path)) from None
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
        return LOCKED
    if isinstance(error, NotImplementedError):
        return UNKNOWN
    damaged = isinstance(error, zipfile.BadZipFile | zlib.error | EOFError)
    return DAMAGED if damaged else getattr(error, "strerror", None) or error


def visible(folder):
    """Lo que hay en una carpeta, sin lo que ponen los programas."""
    return [p for p in sorted(folder.iterdir()) if not JUNK.match(p.name)]


def every_file(folder):
    """Los archivos de una carpeta, o ella si no se puede abrir. Los enlaces no se siguen: llevarían fuera."""
    try:
        found = visible(folder)
    except OSError:
        found = []
        yield folder
    for path in found:
        if os.path.isdir(path) and not os.path.islink(path):
            yield from every_file(path)
        else:
            yield path


def opened(file, parts, space, room, depth=3):
    """Un archivo de una entrega, con su camino, o, si es un zip, lo que trae y lo que no se ha podido sacar."""
    if file.suffix.lower() != ".zip" or not stat.S_ISREG(file.lstat().st_mode):
        yield parts, file
        return
    place = Path(tempfile.mkdtemp(dir=space or None))
    try:
        if not depth:
            raise Unreadable(DEEP.format(file.name))
        lost = unzip(file, place, room)
    except Unreadable as problem:
        yield parts, Unreadable(str(problem).replace(str(file), file.name))
        return
    for one in every_file(place):
        inner = *parts[:-1], file.stem, *one.relative_to(place).parts
        yield from opened(one, inner, space, room, depth - 1)
    for name, error in lost:
        yield parts, Unreadable(f"{name[-60:]} no se ha podido sacar de {file.name}: {error}")
