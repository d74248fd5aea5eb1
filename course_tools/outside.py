"""Una instrucción de una celda, fuera de su cuaderno: allí no hay kernel, ni lo que otras celdas importan."""

import ast
import contextlib
import re
from itertools import accumulate

from course_tools.code import roots

MAIN = ("__name__ == '__main__'", "'__main__' == __name__")

# Lo que se puede importar y ejecutar otra vez sin que se note fuera.
PURE = {
    "abc", "collections", "contextlib", "copy", "course_lib", "dataclasses", "einops", "enum", "fractions",
    "functools", "io", "itertools", "math", "numpy", "operator", "random", "statistics", "string", "torch", "typing",
}  # fmt: skip
RISKY = re.compile(
    r"\b(open|input|setattr|delattr|hub|jit|multiprocessing|distributed|register_module_\w+|\w*save\w*|\w*load\w*"
    r"|\w*memmap|tofile|\w*compile\w*|sys|builtins|__import__)\b"
)


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
        text = f"try:\n    {ast.unparse(node)}\nexcept NameError:\n    {none}"
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


def poured(node):
    """En qué escribe: «print(…, file=log)», «redirect_stdout(log)»."""
    if not isinstance(node, ast.Call):
        return []
    into = [word.value for word in node.keywords if word.arg == "file"]
    return into + (node.args if ast.unparse(node.func).split(".")[-1].startswith("redirect_std") else [])


def puts(node, modules):
    """Los atributos que una instrucción pone en lo que se ha importado."""
    found = set()
    for one in ast.walk(node) if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ():
        match one:
            case ast.Attribute(value, attr, ast.Store()) if roots(value) & modules:
                found.add(attr)
            case ast.Call(ast.Name("setattr"), [value, ast.Constant(str(attr)), _]) if roots(value) & modules:
                found.add(attr)
    return found


def harmless(code):
    """Si ejecutarlo otra vez no deja nada fuera de él: importa poco, y en ello no pone nada."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    wholes = {(getattr(one, "module", None) or a.name).split(".")[0] for one in imports for a in one.names}
    names = {(a.asname or a.name).split(".")[0] for one in imports for a in one.names}
    stores = (one for one in ast.walk(tree) if isinstance(one, ast.Attribute | ast.Subscript))
    changed = any(roots(one) & names for one in stores if not isinstance(one.ctx, ast.Load))
    return wholes <= PURE and not changed and not RISKY.search(code)
