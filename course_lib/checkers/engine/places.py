"""Lo que se sabe de los cuadernos: dónde está un apartado, qué sigue y qué falta por ejecutar."""

import json
import os
import re
from contextlib import suppress
from html import escape
from itertools import takewhile
from pathlib import Path
from symtable import symtable

from IPython import get_ipython

FOLDED = "jp-MarkdownHeadingCollapsed"
RUN_ABOVE = ("Run", "Ejecutar todo por encima de la celda seleccionada")  # así, en los menús


def cells(path, kind):
    """De las celdas de una clase del cuaderno ``path``: su id, su texto y el id de la que se ve.

    Lo que hay en un apartado «Para profundizar» se abre plegado: de él se ve el título, y JupyterLab
    no va a una celda que no se ve. Si no se entiende el cuaderno, ninguna.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        fold, found = None, []
        for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
            beside = "profundizar" in cell["metadata"].get("tags", ())
            fold = cell["id"] if cell["metadata"].get(FOLDED) else fold if beside else None
            shown = fold or cell["id"]
            if cell["cell_type"] == kind:
                found.append((cell["id"], "".join(cell["source"]), shown))
        return found
    return []


def link(lesson, title, text=""):
    """Un enlace a la celda con ese título de la lección de al lado o, si no está, solo ``text``."""
    folder = Path("..") if Path.cwd().name == "soluciones" else Path()
    path = min(folder.glob(f"{lesson}_*.ipynb"), key=lambda path: len(path.name), default=folder)
    for _, source, name in cells(path, "markdown"):
        if match := re.search(f"^#+ ({title})", source, re.MULTILINE):
            href = escape(f"{path.as_posix()}#cell-id={name}")
            return f'<a href="{href}">{text or escape(match[1])}</a>'
    return text


def linked(text):
    """El HTML de un texto, con un enlace en cada apartado que nombra: «03 §3.1»."""
    section = r"(\d\d) §(\d+(?:\.\d+)?)"
    return re.sub(section, lambda m: link(m[1], re.escape(m[2]) + "[. ]", m[0]), escape(text))


def onward(number):
    """El HTML de un enlace al ejercicio siguiente o, si es el último, a la lección siguiente."""
    lesson, exercise = map(int, number.split("."))
    found = link(f"{lesson:02}", rf"Ejercicio {lesson}\.{exercise + 1} · .*")
    found = found or link(f"{lesson + 1:02}", f"{lesson + 1:02} · .*")
    return f"<p>Siguiente: {found}</p>" if found else ""


def advice(error):
    """Qué ejecutar para tener el nombre que falta, si lo crea una celda de arriba; si no, nada."""
    kernel = getattr(get_ipython(), "kernel", None)
    here = kernel and kernel.get_parent().get("metadata", {}).get("cellId")
    code = cells(os.environ.get("JPY_SESSION_NAME", ""), "code") if type(error) is NameError else []
    for _, source, _ in takewhile(lambda cell: cell[0] != here, code):
        with suppress(SyntaxError, KeyError):  # una celda que no es solo Python, o sin ese nombre
            symbol = symtable(source, "celda", "exec").lookup(error.name)
            if symbol.is_assigned() or symbol.is_imported():
                menu, order = RUN_ABOVE
                return (
                    f"«{error.name}» sale de una celda de más arriba. Vuelve a esta y, en el menú "
                    f"«{menu}», elige «{order}»; cuando acabe, ejecútala otra vez."
                )
    return ""


def load_ipython_extension(shell):
    """Un ``NameError`` se enseña como siempre y, si se sabe, con lo que hay que ejecutar."""

    def show(shell, kind, error, trace, tb_offset=None):
        if text := advice(error):
            error.add_note(text)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((NameError,), show)
