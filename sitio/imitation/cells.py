"""Las celdas de una lección, en la página: cuáles hacen falta para otra, y ejecutarlas."""

import ast
import contextlib
import symtable

CHANGING = {"append", "extend", "update", "add", "insert"}


def names(source):
    """Los nombres que una celda escribe o cambia, y los que usa sin haberlos escrito: dos conjuntos."""
    made, used = set(), set()
    with contextlib.suppress(SyntaxError):
        for node in ast.parse(source).body:
            own = set()
            if isinstance(node, ast.For):  # lo que va tomando los valores
                own = loaded(node.target) - loaded(node.iter)
            writes, reads = of_statement(node)
            used |= reads - made - own - {"_"}
            made |= writes - {"_"}
    return made, used


def loaded(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def of_statement(statement):
    top = symtable.symtable(ast.unparse(statement), "<celda>", "exec")
    made = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    for node in ast.walk(statement):  # x[0] = 1, x.y = 1, x.append(1) y x.mul_(2) cambian x
        if isinstance(node, ast.Subscript | ast.Attribute):
            name = getattr(node, "attr", "")
            if isinstance(node.ctx, ast.Store) or name in CHANGING or name[-1:] == "_":
                base = node.value
                while isinstance(base, ast.Subscript | ast.Attribute):
                    base = base.value
                made |= {base.id} if isinstance(base, ast.Name) else set()
    used, rooms = {one.get_name() for one in top.get_symbols() if one.is_referenced()}, [top]
    while rooms:
        rooms += (room := rooms.pop()).get_children()
        used |= {one.get_name() for one in room.get_symbols() if one.is_global()}
    return made, used


def needed(lesson, sources):
    """De las celdas de antes, las que hacen falta para ejecutar esos programas, por orden."""
    wanted, chosen = set().union(*(names(source)[1] for source in sources)), []
    for source in reversed(lesson):
        made, used = names(source)
        if made & wanted:
            chosen.append(source)
            wanted |= used
    return chosen[::-1]


def statements(source):
    """Las instrucciones de una celda. Un ``import`` de varios nombres, uno a uno."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in list(node.names):
                node.names = [name]
                yield node
        else:
            yield node


def rebuild(chosen, space, lost):
    """Ejecuta unas celdas. Lo que una instrucción no puede hacer, falta: en ``lost``, por qué."""
    for source in chosen:
        for node in statements(source):
            code = compile(ast.Module([node], []), "<ejercicio lección>", "exec")
            try:
                exec(code, space)
            except Exception as error:
                made, _ = of_statement(node)
                lost |= dict.fromkeys(made, f"{type(error).__name__}: {error}")
                for name in made:
                    space.pop(name, None)


def show(parsed, space):
    """Ejecuta una celda y escribe, como un cuaderno, lo que da su última línea."""
    name, tree = parsed
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(ast.Module(tree.body[: -1 if last else None], []), name, "exec"), space)
    if last:
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
        if value is not None:
            print(repr(value))

