"""Un cuaderno por dentro: sus celdas y, cuando en él falta un nombre, qué celda o qué módulo lo da.

El kernel de las lecciones arranca con esta extensión: véase ``.jupyter/kernels``.
"""

import json
import os
import re
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from IPython import get_ipython

from course_tools.cells import BESIDE, FOLDED, exercise, tagged
from course_tools.code import Code

RUN_ABOVE = ("Run", "Ejecutar todo por encima de la celda seleccionada")  # así, en los menús
OLD_PLACE = "course_lib.checkers"  # donde estaban las comprobaciones
UNREADABLE = set()  # los nombres que iba a crear una celda de respuesta que no se entiende
MOVED = (
    f"Las comprobaciones están ahora en course_checkers: cambia {OLD_PLACE} por course_checkers en esta "
    "celda y ejecútala otra vez."
)


def cells(path, kind):
    """De las celdas de una clase del cuaderno ``path``: su id, su texto y el id de la que se ve.

    Lo que hay en un apartado «Para profundizar» se abre plegado: de él se ve el título, y JupyterLab
    no va a una celda que no se ve. Si no se entiende el cuaderno, ninguna.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        fold, found = None, []
        for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
            below = fold if tagged(cell, BESIDE) else None
            fold = cell["id"] if cell["metadata"].get(FOLDED) else below
            shown = fold or cell["id"]
            if cell["cell_type"] == kind:
                found.append((cell["id"], "".join(cell["source"]), shown))
        return found
    return []


def forget(result):
    """Si una celda de respuesta no se entiende, lo que creó otra vez no se queda en su lugar.

    Sin esto, la comprobación de debajo juzgaría lo de antes.
    """
    code = str(result.info.raw_cell)
    answer = (exercise(code) or [""])[0] == "Ejercicio"
    broken = isinstance(result.error_before_exec, SyntaxError) and answer
    for pair in re.findall(r"^(?:(?:def|class) (\w+)|(\w+) *=(?!=))", code, re.MULTILINE):
        for name in filter(None, pair):
            UNREADABLE.discard(name)
            if broken:
                get_ipython().user_ns.pop(name, None)
                UNREADABLE.add(name)


def advice(error):
    """Qué hacer para tener el nombre que falta, si lo crea una celda de arriba o ha cambiado de sitio.

    De las comprobaciones de antes puede quedar una carpeta sin nada: por eso no siempre es un
    ``ModuleNotFoundError``.
    """
    if isinstance(error, ImportError) and (error.name or "").startswith(OLD_PLACE):
        return MOVED
    if type(error) is NameError and error.name in UNREADABLE:
        return f"La celda que crea «{error.name}» tiene un error de sintaxis: arréglala y ejecútala otra vez."
    kernel = getattr(get_ipython(), "kernel", None)
    here = kernel and kernel.get_parent().get("metadata", {}).get("cellId")
    code = cells(os.environ.get("JPY_SESSION_NAME", ""), "code") if type(error) is NameError else []
    for _, source, _ in takewhile(lambda cell: cell[0] != here, code):
        made = Code(source)
        if error.name in made.makes | made.binds:
            menu, order = RUN_ABOVE
            return (
                f"«{error.name}» sale de una celda de más arriba. Vuelve a esta y, en el menú "
                f"«{menu}», elige «{order}»; cuando acabe, ejecútala otra vez."
            )
    return ""


def load_ipython_extension(shell):
    """Si falta un nombre, el error se enseña como siempre y, si se sabe, con lo que hay que hacer."""

    def show(shell, kind, error, trace, tb_offset=None):
        if text := advice(error):
            error.add_note(text)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.events.register("post_run_cell", forget)
    shell.set_custom_exc((NameError, ImportError), show)
