"""Carpetas y zips de cada sistema: lo que hay, con su nombre como se escribió, con un tope y sin salirse de su sitio."""

import contextlib
import errno
import io
import os
import re
import stat
import struct
import tempfile
import time
import zipfile
import zlib
from itertools import takewhile
from pathlib import Path

from course_tools.foreign import Unreadable, is_full
from course_tools.foreign.names import MOODLE, composed

# Lo que ponen los programas, y no es de nadie.
JUNK = re.compile(
    r"(__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini|\.ipynb_checkpoints|\.?venv|\.(git|history|Trash.*))$",
    re.IGNORECASE,
)
LEFT = re.compile(r"\._|\.?~")  # y de sus archivos: los que dejan al lado de otro
USUAL = "áéíóúüñÁÉÍÓÚÜÑçÇàèòïÀÈÒÏâêîôûãõÂÊÔÃÕäëöªº¿¡«»"
ODD = re.compile(rf"[^\x00-\x7f{USUAL}](?<!l·)|(?<=[a-zà-ÿ])[À-Þ]")  # «JosÚ»: no es de su página
BOOK = re.compile(r"\.ipynb\b|\.zip$", re.IGNORECASE)  # también «05.ipynb.txt», como lo guarda un navegador
BROKEN = "No se puede abrir {}: está dañado o a medias, o no es un zip."
LOCKED = "lleva contraseña: pídelo sin ella"
UNKNOWN = "está comprimido de una forma que aquí no se abre: pide un zip corriente, o el cuaderno suelto"
DEEP = "{} trae un zip dentro de otro, y de otro: ábrelo en su carpeta"
DAMAGED = "está dañado: pídelo otra vez"
ERRORS = {
    errno.ENAMETOOLONG: "su nombre, con el de sus carpetas, es demasiado largo",
    **dict.fromkeys(
        (errno.ENOTDIR, errno.EISDIR, errno.EEXIST), "hay un archivo y una carpeta que se llaman igual"
    ),
}


def written(info):
    """Los bytes del nombre que dio quien hizo el zip: los de UTF-8, si los hay en «Unicode Path»."""
    raw, extra = info.orig_filename.encode("cp437"), info.extra
    while len(extra) >= 9:
        kind, size, version, check = struct.unpack("<HHBL", extra[:9])
        if size > 5 and (kind, version, check) == (0x7075, 1, zlib.crc32(raw)):
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


def of_people(archive):
    """De un zip, lo que es de alguien, con su nombre. De lo que ponen los programas, solo la carpeta en que está:
    quizá no hay otra cosa de esa persona.
    """
    infos, found = archive.infolist(), {}
    for info, name in zip(infos, true_names(infos)):
        *folders, last = name.split("/")
        mine = list(takewhile(lambda part: not JUNK.match(part), folders))
        if len(mine) < len(folders) or not last or JUNK.match(last) or LEFT.match(last):
            name = "/".join([*mine, ""])
            info.file_size = 0
        if name.strip("/"):
            found[name if name[-1] == "/" else info] = info, name
    return list(found.values())


def zipped(files, how=zipfile.ZIP_DEFLATED):
    """Un zip de unos archivos, nombre → lo que dicen: siempre los mismos bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # con fecha de 1980
            entry.compress_type, entry.external_attr = how, 0o644 << 16
            archive.writestr(entry, data)
    return made.getvalue()


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
        infos = of_people(archive)
        if len(infos) > room["files"] or sum(info.file_size for info, _ in infos) > room["bytes"]:
            most = f"{room['files']} archivos o de {room['bytes'] >> 20} MB"
            raise Unreadable(f"{path} trae demasiado: más de {most}.")
        for info, name in infos:
            info.filename = name if name[-1] == "/" else free(place, name)
            room["files"], room["bytes"] = room["files"] - 1, room["bytes"] - info.file_size
            # Lo que dice que mide cada uno es lo más que ``extract`` lee de él.
            try:
                made = archive.extract(info, place)
            except Exception as error:  # de ese archivo: los demás siguen
                if is_full(error):  # no es cosa de quien entrega
                    raise
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
    if isinstance(error, zipfile.BadZipFile | zlib.error | EOFError):
        return DAMAGED
    number = errno.ENAMETOOLONG if isinstance(error, RecursionError) else getattr(error, "errno", None)
    return ERRORS.get(number) or getattr(error, "strerror", None) or error


def visible(folder):
    """Lo que hay en una carpeta, sin lo que ponen los programas."""
    mine = [p for p in sorted(folder.iterdir()) if not JUNK.match(p.name)]
    return [p for p in mine if not LEFT.match(p.name) or os.path.isdir(p)]


def inner(folder, few=1):
    """La carpeta que de verdad tiene las de cada persona: la de dentro, si es lo único que hay, con ``few`` carpetas
    o más y ningún cuaderno suelto. La de una persona no se abre.
    """
    with contextlib.suppress(OSError):
        while len(inside := visible(folder)) == 1 and not MOODLE.match(inside[0].name):
            kids = [] if inside[0].is_symlink() else visible(inside[0])
            folders = [one for one in kids if one.is_dir()]
            moodle = any(MOODLE.match(one.name) for one in kids)
            loose = any(BOOK.search(one.name) for one in kids if one not in folders)
            if not moodle and (loose or len(folders) < few) or not kids:
                break
            folder = inside[0]
    return folder


def every_file(folder):
    """Los archivos de una carpeta, o ella si no se puede abrir. Los enlaces no se siguen: llevarían fuera."""
    left = [folder]
    while left:
        path = left.pop()
        if path == folder or os.path.isdir(path) and not os.path.islink(path):
            with contextlib.suppress(OSError):
                left += reversed(visible(path))
                continue
        yield path


def opened(file, parts, space, room, depth=3):
    """Un archivo de una entrega, con su camino, o, si es un zip, lo que trae y lo que no se ha podido sacar."""
    if file.suffix.lower() != ".zip" or not stat.S_ISREG(file.lstat().st_mode):
        yield parts, file
        return
    name = file.stem.strip(". ") or "zip"  # se ve en lo que se dice
    place = Path(tempfile.mkdtemp(dir=space or None), name)
    try:
        place.mkdir()
        if not depth:
            raise Unreadable(DEEP.format(file.name))
        lost = unzip(file, place, room)
    except Unreadable as problem:
        yield parts, Unreadable(str(problem).replace(str(file), file.name))
        return
    for one in every_file(place):
        where = *parts[:-1], file.stem, *one.relative_to(place).parts
        yield from opened(one, where, space, room, depth - 1)
    for name, error in lost:
        yield parts, Unreadable(f"{name[-60:]} no se ha podido sacar de {file.name}: {error}")
