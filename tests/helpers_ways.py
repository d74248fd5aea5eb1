"""Las formas en que la gente escribe una respuesta en un cuaderno: la misma, con celdas de muchas maneras."""

import ast
import inspect
import sys
import textwrap
from typing import NamedTuple

from course_tools.code import Code, inside, needed, roots


class Way(NamedTuple):
    """Celdas de antes, lo que la respuesta comprueba al usarla, y celdas de después.

    ``piece``: si en ``mi_biblioteca.py`` cabe entero. Lo que va en otro archivo, o con ``await``, no.
    """

    before: tuple
    holds: str
    after: tuple = ()
    piece: bool = True


NEEDS = {  # lo que usa la respuesta está hecho así
    "un asterisco": Way(("from math import *",), "sqrt(4) == 2"),
    "un asterisco sobre lo de Python": Way(("from math import *",), "isinstance(pow(2, 2), float)"),
    "una lista que llena otra celda": Way(("some = []", "some.append('b')"), "some == ['b']"),
    "una lista que llena una función": Way(
        ("some = []", "def fill(given):\n    given.extend('ab')", "fill(some)"), "len(some) == 2"),
    "una lista que llena un método": Way(
        ("class Box:\n    def __init__(self):\n        self.rows = []\n    def put(self, x):\n        self.rows.append(x)",
         "box = Box()", "box.put(3)"), "box.rows == [3]"),
    "otra que es la misma": Way(("some = []", "same = some", "same.append(2)"), "some == [2]"),
    "lo que llena map": Way(("some = []", "list(map(some.append, [1, 2]))"), "some == [1, 2]"),
    "una tabla que llena un bucle": Way(("table = {}", "for k in range(3):\n    table[k] = k"), "table[2] == 2"),
    "una tabla que llena un decorador": Way(
        ("table = {}\ndef keep(f):\n    table[1] = f", "@keep\ndef seven(): return 7"), "table[1]() == 7"),
    "una casilla": Way(("grid = [[0, 0]]", "grid[0][1] = 5"), "grid == [[0, 5]]"),
    "lo ordenado": Way(("some = [3, 1]", "some.sort()"), "some == [1, 3]"),
    "global": Way(("n = 0\ndef up():\n    global n\n    n += 1", "up()", "up()"), "n == 2"),
    "setattr": Way(("class Box:\n    pass", "setattr(Box, 'x', 3)"), "Box.x == 3"),
    "una clase cambiada después": Way(
        ("class Box:\n    pass", "def run(self):\n    return 5", "Box.run = run"), "Box().run() == 5"),
    "una clase cambiada detrás de la respuesta": Way(
        ("class Box:\n    def run(self):\n        return 0",), "Box().run() == 5", ("Box.run = lambda self: 5",)),
    "una clase que se cuenta": Way(
        ("class Box:\n    total = 0\n    def add(self):\n        Box.total += 1", "Box().add()"), "Box.total == 1"),
    "lo que una función despacha": Way(
        ("from functools import singledispatch", "@singledispatch\ndef kind(x):\n    return 0",
         "@kind.register\ndef _(x: int):\n    return 7"), "kind(3) == 7"),
    "la clase de un objeto": Way(("class Box:\n    pass", "box = Box()", "type(box).x = 4"), "Box().x == 4"),
    "una heredera": Way(("class Old:\n    x = 0", "class New(Old):\n    pass", "Old.x = 4"), "New().x == 4"),
    "los nombres del kernel": Way(("get_ipython().user_ns['given'] = 4",), "given == 4", piece=False),
    "del": Way(("sum = 3", "del sum"), "sum([1, 2]) == 3"),
    "lo de Python, cambiado": Way(("max = lambda *_: 9",), "max(1, 2) == 9"),
    ":=": Way(("if (ten := 10) > 5:\n    eleven = ten + 1",), "eleven == 11"),
    ":= en una lista": Way(("[last := k for k in range(4)]",), "last == 3"),
    "un nombre hecho dos veces": Way(
        ("def aid():\n    return 1", "def use():\n    return aid()", "def aid():\n    return 2"), "use() == 2"),
    "un nombre usado y hecho otra vez": Way(("aid = 1", "old_aid = aid", "aid = 2"), "(old_aid, aid) == (1, 2)"),
    "lo que se va sumando": Way(("total = 1", "total += 1", "total = total * 2"), "total == 4"),
    "un nombre quizá importado": Way(
        ("try:\n    import nothing_of_nothing as perhaps\nexcept ImportError:\n    perhaps = None",), "perhaps is None"),
    "with": Way(
        ("import contextlib\nwith contextlib.suppress(ZeroDivisionError):\n    q = 1\n    1 / 0",), "q == 1"),
    "match": Way(("match [1, 2]:\n    case [p, q]:\n        both = p + q",), "both == 3"),
    "varias cosas en una línea": Way(("a1 = 1; b1 = 2; c1, *d1 = 3, 4",), "(a1, b1, c1, d1) == (1, 2, 3, [4])"),
    "con su tipo": Way(("seen: int = 3",), "seen == 3"),
    "exec": Way(("exec('made = 4')",), "made == 4"),
    "globals": Way(("for k in range(3):\n    globals()[f'h{k}'] = k",), "h2 == 2"),
    "una ayuda de tres celdas más arriba": Way(
        ("def third(x): return x + 1", "def second(x): return third(x)", "first = lambda x: second(x)"), "first(1) == 2"),
    "un cierre": Way(
        ("def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up",
         "tick = counter()", "tick()"), "tick() > 1"),
    "%time": Way(("%time quick = 2",), "quick == 2"),
    "%%time": Way(("%%time\nslow = 2",), "slow == 2"),
    "%%capture": Way(("%%capture out\nquiet = 2\nprint(quiet)",), "quiet == 2"),
    "lo que guarda %%capture": Way(
        ("%%capture told\nprint(7)", "seven = int(told.stdout)"), "seven == 7", piece=False),
    "un __future__": Way(
        ("from __future__ import annotations", "def aid(x: Unknown):\n    return x"), "aid(2) == 2", piece=False),
    "una orden en medio": Way(("before = 1\nlen?\nafter = 2",), "before + after == 3"),
    "print a otro sitio": Way(("import io\nto = io.StringIO()", "print('a', file=to)"), "to.getvalue() == 'a\\n'"),
    "__main__": Way(("if __name__ == '__main__':\n    inner = 4",), "inner == 4"),
    "una orden en un if": Way(("if True:\n    %time deep = 2",), "deep == 2"),
    "!": Way(("files = !echo uno", "many = 1 + bool(files is not None)"), "many == 2", piece=False),
    "await": Way(
        ("import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 4", "slow = await later()"),
        "slow == 4", piece=False,),
    "%%writefile": Way(
        ("%%writefile written_aside.py\nnine = 9", "from written_aside import nine"), "nine == 9", piece=False),
}  # fmt: skip


def prompts(cell):
    first, *rest = cell.split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest)])


def numbered(cell):
    first, *rest = cell.split("\n")
    return "\n".join([f"In [1]: {first}", *(f"   ...: {line}" for line in rest)])


SHAPES = {  # la celda de la respuesta está escrita así
    "sangrada": lambda cell: textwrap.indent(cell, "    "),
    "con >>>": prompts,
    "con In [1]": numbered,
    "de Windows": lambda cell: cell.replace("\n", "\r\n"),
    "%%time": lambda cell: f"%%time\n{cell}",
    "%%capture": lambda cell: f"\n\n%%capture\n{cell}",
    "con ?": lambda cell: f"{cell}\n\nlen?",
    "con !": lambda cell: f"!echo hola\n%env CURSO_HOLA=1\n{cell}",
    "en un if": lambda cell: "if True:\n" + textwrap.indent(cell, "    "),
}


class Written(NamedTuple):
    """Una respuesta escrita en celdas: lo que importa, lo suyo, ella y cómo se tiene que llamar."""

    before: tuple
    text: str
    name: str


def as_written(answer, name):
    """Una respuesta del corpus, como se escribe en un cuaderno; la que no es un ``def``, se importa."""
    code = answer.code
    place = next((m for m in sys.modules if m.startswith("answers.") and vars(sys.modules[m]).get(answer.name) is code), "")
    codes = [Code(text, [node]) for text, node in inside(inspect.getsource(sys.modules[place]))] if place else []
    made = [k for k, one in enumerate(codes) if answer.name in one.makes]
    node = codes[made[-1]].nodes[0] if made else None
    others = [k for k in needed(codes, [answer.name]) if k != made[-1]] if made else []
    more = {root for one in getattr(node, "decorator_list", ()) for root in roots(getattr(one, "func", one))}
    plain = isinstance(node, ast.FunctionDef | ast.ClassDef) and more <= {"right", "wrong", "odd"}
    if not plain or any(answer.name in codes[k].needs for k in others):
        found = f"next(one.code for one in ANSWERS if (one.exercise, one.name) == {(answer.exercise, answer.name)!r})"
        text = f"def {name}(*given, **more):\n    return ready_made(*given, **more)"
        if inspect.isclass(code):
            text = f"class {name}(ready_made):\n    def __init__(self, *given):\n        super().__init__(*given)"
        return Written(("from answers import ANSWERS", f"ready_made = {found}"), text, name)
    before = []
    for own in (codes[k].nodes[0] for k in others):
        if "answers" not in (getattr(own, "module", "") or "") and not isinstance(own, ast.Expr):
            vars(own).get("decorator_list", []).clear()
            before.append(ast.unparse(own))
    node.decorator_list, node.name = [], name
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id == answer.name:
            one.id = name
    return Written(tuple(before), ast.unparse(node), name)


def that_checks(written, holds):
    """La misma respuesta, que al usarla comprueba además eso."""
    tree = ast.parse(written.text)
    [node] = tree.body
    for one in [node] if isinstance(node, ast.FunctionDef) else node.body:
        if isinstance(one, ast.FunctionDef):
            doc = isinstance(one.body[0], ast.Expr) and isinstance(one.body[0].value, ast.Constant)
            one.body.insert(int(doc), ast.parse(f"assert {holds}, {holds!r}").body[0])
    return ast.unparse(tree)


class Cells(NamedTuple):
    """Una respuesta en un cuaderno: las celdas de antes, la suya, las que siguen y, tras comprobarla, las demás."""

    name: str
    before: tuple
    answer: str
    more: tuple = ()
    after: tuple = ()
    piece: bool = True


def notebooks(written, number):
    """Las formas de escribir una respuesta."""
    head, before = f"# Ejercicio {number}\n", written.before
    for name, way in NEEDS.items():
        answer = head + that_checks(written, way.holds)
        yield Cells(f"usa {name}", (*before, *way.before), answer, way.after, piece=way.piece)
    for name, shape in SHAPES.items():
        yield Cells(f"escrita {name}", before, shape(written.text))
    stub, wrong = f"{head}def {written.name}(*_):\n    ...", f"def {written.name}(*_):\n    return None"
    yield Cells("otra vez, debajo del hueco", (*before, stub, "1 + 1"), written.text)
    yield Cells("cambiada después", before, head + written.text, after=(wrong, "2 + 2"))
    yield Cells("mal, y bien debajo", (*before, head + wrong), written.text)
