"""Lo que se ha escrito en un cuaderno para tener un nombre: su función o su clase, con lo que necesita.

Se toma de las celdas ejecutadas, instrucción a instrucción, con sus comentarios, y nada más: lo que
necesita y no está en ellas, o es la respuesta de otro ejercicio, se dice.
"""

import ast
import builtins
import contextlib
import inspect
import re
from symtable import symtable
from typing import NamedTuple

from course_checkers.inside.names import names
from course_tools.opening.library import MODULE

EXERCISE = re.compile(r"# Ejercicio (\d+\.\d+)\s*$", re.MULTILINE)
NEEDS = "# Necesita {}{}."
MADE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
KEPT = MADE | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign


class Statement(NamedTuple):
    """Una instrucción de una celda: su texto, su árbol, el ejercicio de la celda y la celda entera."""

    text: str
    node: ast.AST
    exercise: str
    cell: str

    def names(self):
        """Los nombres que crea y los que necesita."""
        return names(symtable(ast.unparse(self.node), "celda", "exec"))


def statements(cells):
    """Las instrucciones de unas celdas, cada una con los comentarios que lleva justo encima."""
    for cell in cells:
        body, lines = [], cell.split("\n")
        with contextlib.suppress(SyntaxError, ValueError):
            body = ast.parse(cell).body
        exercise = EXERCISE.match(cell)
        for node in body:
            starts = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
            first = min(starts) - 1
            while first and lines[first - 1].startswith("#"):
                first -= 1
            text = EXERCISE.sub("", "\n".join(lines[first : node.end_lineno])).strip("\n")
            yield Statement(text, node, exercise[1] if exercise else "", cell)


def maker(name, every, now=""):
    """La última instrucción que crea ``name``, o ``None``. ``now``: el texto que tiene que estar en su celda."""
    for k in reversed(range(len(every))):
        if name in every[k].text and now in every[k].cell and name in every[k].names()[0]:
            return k
    return None


def written(learner, number, space):
    """De lo comprobado, cómo se llama y todo su código; ``None``, si no se sabe.

    Args:
        learner: la función o la clase.
        number: su ejercicio.
        space: los nombres del cuaderno, con las celdas ejecutadas en ``In``.
    """
    known = [name for name, value in list(space.items()) if value is learner and name[0] != "_"]
    own = getattr(learner, "__name__", "")
    name, now = own if own in known else next(iter(known), ""), ""
    every = list(statements(space.get("In", ())))
    with contextlib.suppress(OSError, TypeError):  # lo que se ejecutó, si se sabe
        now = inspect.getsource(inspect.unwrap(learner)).strip()
    if not name or (found := maker(name, every, now)) is None:
        return None
    chosen, others, missing, seen, pending = {found: set()}, {}, set(), {name}, [found]
    while pending:
        for need in every[pending.pop()].names()[1] - seen:
            seen.add(need)
            k = maker(need, every)
            if k is None:
                missing |= {need} - set(dir(builtins))
                continue
            one = every[k]
            if getattr(one.node, "module", "") == MODULE or (
                isinstance(one.node, MADE)
                and need[:2].lower() == "my"
                and one.exercise not in ("", number)
            ):
                others[need] = one.exercise
            elif isinstance(one.node, KEPT):
                pending += [k] * (k not in chosen)
                chosen.setdefault(k, set()).add(need)
            else:
                missing.add(need)
    stars = [k for k, one in enumerate(every) if "*" in imported(one.node)] if missing else []
    if stars:  # de alguno vendrá
        chosen, missing = chosen | {k: {"*"} for k in stars}, set()
    return name, "\n\n\n".join(filter(None, parts(every, chosen, others, missing)))


def imported(node):
    return [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []


def parts(every, chosen, others, missing):
    """Lo que se escribe: los ``import``, solo con los nombres que hacen falta; lo que falta; y lo demás."""
    lines, rest = [], []
    for k in sorted(chosen):
        if imported(every[k].node):
            used = [
                a for a in every[k].node.names if (a.asname or a.name.split(".")[0]) in chosen[k]
            ]
            lines.append(ast.unparse(type(every[k].node)(**{**vars(every[k].node), "names": used})))
        else:
            rest.append(every[k].text)
    for need in sorted(others):
        where = f", la pieza {others[need]}" if others[need] else ", otra pieza"
        lines.append(NEEDS.format(need, where))
    lines += [NEEDS.format(need, ", que no está aquí") for need in sorted(missing)]
    return ["\n".join(dict.fromkeys(lines)), *dict.fromkeys(rest)]
