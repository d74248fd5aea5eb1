"""Tu biblioteca: lo que has escrito en cada ejercicio resuelto, en ``mis_cuadernos/mi_biblioteca.py``.

Cada pieza empieza por una línea con su número, su nombre, el día y su huella. La huella dice si la has
cambiado a mano: entonces se queda como la dejas. El archivo se escribe entero o no se escribe.
"""

import contextlib
import hashlib
import re
from datetime import date
from typing import NamedTuple

from course_tools.opening import progress
from course_tools.opening.copies import FOLDER, student_folder

MODULE = "mi_biblioteca"
HEAD = '''\
"""Mi biblioteca: lo que he escrito en los ejercicios del curso, cuando ya estaba bien.

El curso pone aquí cada pieza, y la cambia si la resuelvo de otra forma. Si la cambio yo, se queda
como la dejo. «python curso.py mi_biblioteca» dice cuáles hay y las comprueba.
"""
'''
MARK = re.compile(r"^# --- (\d+\.(?:\d+|[a-z])) · (\w+)\b.*$", re.MULTILINE)
EDITED = (
    f"tu {{}} de {MODULE}.py la has cambiado a mano, y se queda así. Para poner la de ahora, borra allí la "
    "tuya y repite esta celda."
)
BROKEN = f"{MODULE}.py no se puede importar: mira su línea {{}}. De lo que hay en él no se ha perdido nada."
UNKEPT = (
    f"está bien, pero no se guarda entera en {MODULE}.py: con ella, el archivo no se podría importar. Se queda "
    "como estaba."
)


class Piece(NamedTuple):
    """Un trozo del archivo: qué ejercicio es, cómo se llama, su línea de cabecera, su código y dónde empieza."""

    number: str
    name: str
    mark: str
    code: str
    line: int

    @property
    def edited(self):
        return f"huella {digest(self.code)}" not in self.mark


def place():
    """El archivo, o ``None`` si no se guarda nada (véase ``progress.place``)."""
    path = student_folder() / FOLDER / f"{MODULE}.py"
    return path if progress.place() else None


def digest(code):
    return hashlib.sha256(code.strip().encode("utf-8", "surrogateescape")).hexdigest()[:8]


def read():
    """Lo que dice el archivo: lo de delante, que es solo tuyo, y las piezas.

    Raises:
        OSError: si no se puede leer.
    """
    if (path := place()) is None or not path.exists():
        return HEAD, []
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    marks = [*MARK.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pieces = [
        Piece(mark[1], mark[2], mark[0], text[mark.end() : end], text.count("\n", 0, mark.end()))
        for mark, end in zip(marks, ends)
    ]
    return text[: marks[0].start() if marks else None], pieces


def heading(number, title, name, code):
    """La línea por la que empieza una pieza."""
    return f"# --- {number} · {name} · {title} · {date.today():%d/%m/%Y} · huella {digest(code)}"


def broken(text):
    """La línea en que un texto deja de entenderse; 0, si se entiende."""
    try:
        compile(text, f"{MODULE}.py", "exec")
    except (SyntaxError, ValueError) as error:
        return getattr(error, "lineno", None) or 1
    return 0


def keep(number, title, name, code):
    """Guarda una pieza en su sitio, en lugar de la que había. Da lo que conviene decir, o nada."""
    path, told = place(), []
    mark = heading(number, title, name, code)
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)

    def edit():
        head, pieces = read()
        old = [piece for piece in pieces if piece.number == number]
        if any(piece.code.strip() == code.strip() for piece in old):
            return None
        if any(piece.edited for piece in old):
            told.append(EDITED.format(number))
            return None
        at = next(
            (k for k, p in enumerate(pieces) if order(p.number) >= order(number)), len(pieces)
        )
        after = "".join(p.mark + p.code for p in pieces[at:] if p.number != number)
        before = head + "".join(p.mark + p.code for p in pieces[:at])
        text = f"{before.rstrip()}\n\n\n{mark}\n\n{code.strip()}\n" + (after and f"\n\n{after}")
        if line := broken(text):
            whole = head + "".join(p.mark + p.code for p in pieces)
            told.append(BROKEN.format(line) if broken(whole) else UNKEPT)
            return text if broken(whole) else None
        return text

    if problem := progress.change(path, edit):
        told.append(f"está bien, pero no se ha podido guardar: {problem}; y repite esta celda.")
    return tuple(told)


def order(number):
    """Las líneas de una lección, 3.a, van delante de sus ejercicios, 3.1."""
    lesson, _, own = number.partition(".")
    return int(lesson), own.isdigit(), int(own, 36)
