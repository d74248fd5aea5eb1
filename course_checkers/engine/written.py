"""Lo que se ha escrito en un cuaderno para tener un nombre: su función o su clase, con lo que necesita.

Se toma de las celdas ejecutadas, instrucción a instrucción, con sus comentarios, y nada más: lo que
necesita y no está en ellas, o es la respuesta de otro ejercicio, se dice.
"""

import ast
import builtins
import contextlib
import inspect
import re

from course_tools.cells import exercise
from course_tools.code import CHANCE, Code, changes, inside, needed
from course_tools.opening.library import MODULE

EXERCISE = re.compile(r"# Ejercicio (\d+\.\d+)\s*$", re.MULTILINE)
NEEDS = "# Necesita {}{}."
MADE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Statement(Code):
    """Una instrucción: lo que hace (``Code``), su texto, su árbol, el ejercicio de su celda, la celda y su línea."""

    def __init__(self, text, node, exercise, cell, place):
        super().__init__(text, [node])
        self.text, self.node, self.exercise, self.cell, self.place = text, node, exercise, cell, place
        if isinstance(node, MADE):  # lo que pida al azar lo pedirá al llamarla
            self.needs.discard(CHANCE)

    def answers(self, number):
        """Si es la respuesta de otro ejercicio, u otra pieza: se dice, y no se copia."""
        other = isinstance(self.node, MADE) and self.exercise not in ("", number)
        return getattr(self.node, "module", "") == MODULE or other and self.node.name[:2].lower() == "my"

    def only_looks(self, wanted, own):
        """Si solo mira lo que hay: ni hace nada de lo que hace falta ni lo cambia."""
        value = getattr(self.node, "value", None) if isinstance(self.node, ast.Expr | ast.Assign) else None
        if value is None or self.wild or (self.makes | self.binds) & wanted:
            return False
        if isinstance(self.node, ast.Expr) and re.match(r"(print|display|check_\w+|show_\w+)\(", self.text):
            return True
        caller = ast.walk(getattr(value, "func", None) or ast.Constant(None)) if isinstance(self.node, ast.Expr) else ()
        acts = own & {getattr(one, "id", "") for one in caller}
        return not (acts or {name for _, found in self.touches for name in found} & wanted)


def waits(node):
    """Si tiene un ``await`` fuera de una función."""
    made = MADE | ast.Lambda
    return isinstance(node, ast.Await) or not isinstance(node, made) and any(map(waits, ast.iter_child_nodes(node)))


def statements(cells):
    """Las instrucciones de unas celdas, cada una con los comentarios que lleva justo encima."""
    for k, cell in enumerate(cells):
        what, number = exercise(cell) or ("", "")
        for text, node in inside(cell):
            if "get_ipython" in text or waits(node):
                continue  # fuera de un cuaderno no se puede
            text = EXERCISE.sub("", text).strip("\n")
            yield Statement(text, node, number if what == "Ejercicio" else "", cell, (k, node.lineno))


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
    if now and any(name in one.makes and now in one.cell for one in every):  # una celda que se paró antes no la creó
        every = [one for one in every if name not in one.makes or now in one.cell or name in one.needs]
    if not name or not any(name in made for made in (*changes(every), *(one.makes for one in every))):
        return None
    others = {name: one.exercise for one in every if one.answers(number) for name in one.makes}
    for one in every:
        if one.answers(number):
            one.needs = one.later = set()
    chosen = [every[k] for k in needed(every, [name])]
    wanted = {name}.union(*(one.needs | one.later for one in chosen))
    mine = {name for one in every if not imported(one.node) for name in one.makes}
    kept = [one for one in chosen if not one.answers(number) and not one.only_looks(wanted, mine)]
    wanted = {name}.union(*(one.needs | one.later for one in kept))
    made = set(dir(builtins)).union(*(one.makes | one.binds for one in kept))
    missing = set() if any(one.star for one in kept) else {n for n in wanted - made - others.keys() if n[0] != "·"}
    return name, "\n\n\n".join(filter(None, parts(kept, wanted, others, missing)))


def imported(node):
    return [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []


def parts(kept, wanted, others, missing):
    """Lo que se escribe: los ``import``, solo con los nombres que hacen falta; lo que falta; y lo demás."""
    lines, rest = [], {}
    for one in kept:
        if names := imported(one.node):
            used = [a for a in one.node.names if (a.asname or a.name.split(".")[0]) in wanted or "*" in names]
            lines.append(ast.unparse(type(one.node)(**{**vars(one.node), "names": used})))
        else:
            rest[one.place] = one.text  # varias en una línea, una vez
    for need in sorted(others.keys() & wanted):
        where = f", la pieza {others[need]}" if others[need] else ", otra pieza"
        lines.append(NEEDS.format(need, where))
    lines += [NEEDS.format(need, ", que no está aquí") for need in sorted(missing)]
    return ["\n".join(dict.fromkeys(lines)), *rest.values()]
