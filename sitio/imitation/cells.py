"""Las celdas de una lección, en la página: cuáles hacen falta para otra, y ejecutarlas."""

import ast
import symtable

CHANGING = {"append", "extend", "update", "add", "insert"}


def names(source):
    """Los nombres que una celda escribe o cambia, y los que usa: dos conjuntos."""
    try:
        tree, top = ast.parse(source), symtable.symtable(source, "<celda>", "exec")
    except SyntaxError:
        return set(), set()
    made = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    for node in ast.walk(tree):  # x[0] = 1, x.y = 1, x.append(1) y x.mul_(2) cambian x
        if isinstance(node, ast.Subscript | ast.Attribute):
            changes = isinstance(node.ctx, ast.Store) or getattr(node, "attr", "") in CHANGING
            if changes or getattr(node, "attr", "")[-1:] == "_" and isinstance(node.value, ast.Name):
                made |= {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
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
                made = names(ast.unparse(node))[0]
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

