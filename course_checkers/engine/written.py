"""Lo que se ha escrito en un cuaderno para tener un nombre: su función o su clase, con lo que necesita.

Se toma de las celdas ejecutadas, instrucción a instrucción, con sus comentarios, y nada más: lo que
necesita y no está en ellas, o es la respuesta de otro ejercicio, se dice.
"""

import ast
import builtins
import contextlib
import inspect
import re

from course_checkers import _MODULE_OF
from course_tools.cells import exercise
from course_tools.code import CHANCE, CHANGING, Code, changes, inside, is_changing, needed, roots
from course_tools.opening.library import MODULE
from course_tools.outside import outside, poured, puts, quoted

EXERCISE = re.compile(r"# Ejercicio (\d+\.\d+)\s*$", re.MULTILINE)
NEEDS = "# Necesita {}{}."
MADE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
LOOKS = re.compile(r"(print|display|check_\w+|show_\w+)\(")
CALLED = {  # las respuestas que no se llaman como lo que las comprueba
    "scaled_dot_product_attention": "my_attention", "multi_head_attention": "MyMultiHeadAttention",
    "attention_by_hand": "my_multi_head", "online_softmax": "my_online_step", "einsum": "my_equation",
    "sampling": "my_next_probabilities", "patching": "my_patched",
}  # fmt: skip
ANSWERS = {
    CALLED.get(name[6:], f"my_{name[6:]}"): f"{int(found[1])}.{found[2]}"
    for name, module in _MODULE_OF.items()
    if name[:6] == "check_" and (found := re.match(r"lessons\.l(\d+)_(\d+)_", module))
}


class Statement(Code):
    """Una instrucción: lo que hace (``Code``), su texto, su árbol, el ejercicio de su celda y la celda."""

    def __init__(self, text, node, exercise, cell):
        super().__init__(text, [node])
        self.text, self.node, self.exercise, self.cell = text, node, exercise, cell
        if isinstance(node, MADE):  # lo que pida al azar lo pedirá al llamarla
            self.needs.discard(CHANCE)
        for one in ast.walk(node):
            self.later |= {*one.names} if isinstance(one, ast.Global) else set()  # «n += 1» también lo lee
            self.touches += [("", roots(value)) for value in poured(one)]

    def answers(self, number, name):
        """Si es la respuesta de otro ejercicio, u otra pieza: se dice, y no se copia."""
        other = isinstance(self.node, MADE) and self.exercise not in ("", number) and self.node.name != name
        return getattr(self.node, "module", "") == MODULE or other and self.node.name in ANSWERS

    def only_looks(self, wanted, own):
        """Si solo mira lo que hay: ni hace nada de lo que hace falta ni lo cambia."""
        value = getattr(self.node, "value", None) if isinstance(self.node, ast.Expr | ast.Assign) else None
        if value is None or self.wild or (self.makes | self.binds) & wanted:
            return False
        acts = any(found & wanted and is_changing(verb, CHANGING) for verb, found in self.touches)
        if isinstance(self.node, ast.Expr) and LOOKS.match(ast.unparse(self.node)) and not acts:
            return True
        caller = ast.walk(getattr(value, "func", None) or ast.Constant(None)) if isinstance(self.node, ast.Expr) else ()
        acts = (own or set()) & {getattr(one, "id", "") for one in caller}
        return own is not None and not (acts or {name for _, found in self.touches for name in found} & wanted)


def statements(cells):
    """Las instrucciones de unas celdas, cada una con los comentarios que lleva justo encima."""
    for cell in cells:
        what, number = exercise(cell) or ("", "")
        for given, whole in inside(cell):
            for text, node in outside(given, whole):
                yield Statement(EXERCISE.sub("", text).strip("\n"), node, number if what == "Ejercicio" else "", cell)


def reached(every, name, wide):
    """Las que hacen falta, y las que ponen en lo importado un atributo que usan: «torch.Tensor.mine = f»."""
    modules, also, more = {n for one in every if imported(one.node) for n in one.makes}, set(), {()}
    put = [puts(one.node, modules) for one in every]
    if wide:
        made = {n for k in needed(every, [name]) for n in every[k].makes | every[k].binds} - modules - {name}
        also = {k for k, one in enumerate(every) if one.needs & made and not isinstance(one.node, MADE)}
    while more:
        chosen = needed(every, [name], also)
        used = {n.attr for k in chosen for n in ast.walk(every[k].node) if isinstance(n, ast.Attribute)}
        more = {k for k, found in enumerate(put) if found & used} - {*chosen}
        also |= more
    return [every[k] for k in chosen]


def written(learner, number, space, wide=False):
    """De lo comprobado, cómo se llama y todo su código; ``None``, si no se sabe.

    Args:
        learner: la función o la clase.
        number: su ejercicio.
        space: los nombres del cuaderno, con las celdas ejecutadas en ``In``.
        wide: si va también lo que usa algo suyo, aunque no parezca que lo cambie: «list(numbers)».
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
    if not any(one.star for one in every):
        known = {*dir(builtins)}.union(*(one.makes | one.binds for one in every))
        every = [Statement(*quoted(one.text, one.node, known), one.exercise, one.cell) for one in every]
    elsewhere = [one for one in every if one.answers(number, name)]
    others = {made: one.exercise and ANSWERS.get(made, "") for one in elsewhere for made in one.makes}
    for one in elsewhere:
        one.needs = one.later = set()
    chosen = reached(every, name, wide)
    wanted = {name}.union(*(one.needs | one.later for one in chosen))
    mine = {name for one in every if not imported(one.node) for name in one.makes}
    kept = [one for one in chosen if one not in elsewhere and not one.only_looks(wanted, None if wide else mine)]
    wanted = {name}.union(*(one.needs | one.later for one in kept))
    made = {*dir(builtins), "get_ipython", "__name__"}.union(*(one.makes | one.binds for one in kept))
    missing = set() if any(one.star for one in kept) else {n for n in wanted - made - others.keys() if n[0] != "·"}
    return name, "\n\n\n".join(filter(None, parts(kept, wanted, others, missing)))


def imported(node):
    return [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []


def parts(kept, wanted, others, missing):
    """Lo que se escribe: los ``import``, solo con los nombres que hacen falta; lo que falta; y lo demás."""
    lines, rest, before = [], [], set()
    for one in kept:
        if names := imported(one.node):
            used = [a for a in one.node.names if (a.asname or a.name.split(".")[0]) in wanted or "*" in names]
            text = ast.unparse(type(one.node)(**{**vars(one.node), "names": used})) if used else ""
            (rest if before & one.makes or before and one.star else lines).append(text)
        else:
            rest.append(one.text)
            before |= one.makes | one.binds
    for need in sorted(others.keys() & wanted):
        where = f", la pieza {others[need]}" if others[need] else ", otra pieza"
        lines.append(NEEDS.format(need, where))
    lines += [NEEDS.format(need, ", que no está aquí") for need in sorted(missing)]
    return ["\n".join(dict.fromkeys(filter(None, lines))), *rest]
