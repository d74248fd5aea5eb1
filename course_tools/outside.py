"""Una instrucción de una celda, fuera de su cuaderno: allí no hay kernel, ni lo que otras celdas importan."""

import ast
import contextlib
from itertools import accumulate

MAIN = ("__name__ == '__main__'", "'__main__' == __name__")


def waits(node):
    """Si tiene un ``await`` fuera de una función."""
    made = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    return isinstance(node, ast.Await) or not isinstance(node, made) and any(map(waits, ast.iter_child_nodes(node)))


def outside(text, node):
    """Su texto y su árbol allí, si puede ser; de «if __name__ == '__main__'», lo de dentro."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in MAIN:
        for one in node.body:
            yield from outside(ast.unparse(one), one)
    elif waits(node):
        return
    elif "get_ipython" not in (text := alone(text, node)) or isinstance(node, ast.Try | ast.ImportFrom):
        yield text, node
    elif isinstance(node, ast.Assign) and ast.unparse(node.value) == "get_ipython()":
        none = ast.unparse(ast.Assign(node.targets, ast.Constant(None), lineno=0))
        text = f"try:\n    {ast.unparse(node)}\nexcept NameError:  # fuera de un cuaderno\n    {none}"
        yield text, ast.parse(text).body[0]


def alone(text, node):
    """El texto de una instrucción, sin las que van en su misma línea."""
    with contextlib.suppress(SyntaxError, ValueError):
        if len(ast.parse(text).body) == 1:
            return text
    return ast.unparse(node)


def quoted(text, node, known):
    """Con las anotaciones de lo que no se conoce entre comillas: así no se buscan, como al importar ``annotations``."""
    starts = [0, *accumulate(len(line) + 1 for line in text.encode().split(b"\n"))]
    every = (getattr(one, kind, None) for one in ast.walk(ast.parse(text)) for kind in ("annotation", "returns"))
    found = [a for a in every if a and {n.id for n in ast.walk(a) if isinstance(n, ast.Name)} - known]
    new = text.encode()
    for a in sorted(found, key=lambda a: (a.lineno, a.col_offset), reverse=True):
        first, last = starts[a.lineno - 1] + a.col_offset, starts[a.end_lineno - 1] + a.end_col_offset
        new = new[:first] + repr(ast.unparse(a)).encode() + new[last:]
    return (new.decode(), ast.parse(new).body[0]) if found else (text, node)
