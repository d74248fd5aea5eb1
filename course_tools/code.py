"""El código de una celda: qué crea, qué cambia y qué necesita. Se lee como Jupyter, y sin ejecutarlo.

Con esto se sabe qué celdas hacen falta para tener un nombre: al calificar, en la página y al guardar tu
biblioteca. ``student``, en la jaula, y la página lo ejecutan también: solo usa Python y el lector de IPython.
"""

import __future__
import ast
import builtins
import contextlib
import functools
import io
import linecache
import os
import re
import symtable
import sys
from collections import defaultdict

CHANCE = "·azar"  # lo que usa quien pide números al azar y cambia quien pone la semilla
ENVIRONMENT, FUTURE = "·entorno", "·futuro"  # ``%env``, para quien lo lee; y un ``__future__``, para todas
SEEDS = re.compile(r"\b(manual_seed|random\.seed|default_rng)\(")
DRAWS = re.compile(r"\brand\w*\(|\bnormal_?\(|\bnn\.\w+\(|\bmultinomial\(|\bshuffle\(")
MAKES = re.compile(r"^(?:(?:async )?(?:def|class)\s+)?(\w+)\s*[(=:]", re.MULTILINE)
# Puede crear o cambiar cualquier nombre.
WILD = re.compile(
    r"(?<![\w.])(exec|eval|globals|locals|import_module)\(|\b(user_ns|__main__|sys\.modules|vars\(\)|builtins\.)"
    r"|\.(push|run_cell|ex)\(|%run\b"
)
# Una orden de una línea que se entiende sin su %: IPython lo mira si la celda no tiene más.
ORDER = re.compile(r"(?:pip|conda|mamba|uv|cd|ls|pwd|cat|cp|mv|rm|mkdir|matplotlib|load_ext|reload_ext|autoreload"
                   r"|config|env|run|time|timeit|who|whos|history|reset|clear)\b(?!\s*[=(.,\[])")  # fmt: skip
# Las celdas %% que no ejecutan aquí lo que llevan dentro.
OTHER = {
    "bash", "sh", "script", "html", "HTML", "javascript", "js", "latex", "markdown", "svg",
    "SVG", "perl", "ruby", "python", "python2", "python3", "pypy", "system", "sx", "cmd", "!",
    "timeit", "writefile", "file", "sql", "cython",
}  # fmt: skip
TIMED = {"time", "prun", "memit", "capture", "debug"}  # las % que sí, en una línea
# Las órdenes que se hacen aquí, o que no hacen falta. Las demás, y las del sistema, no se hacen.
DONE = {
    "run", "env", "set_env", "pwd", "writefile", "file", "matplotlib", "config", "load_ext", "reload_ext",
    "html", "HTML", "javascript", "js", "latex", "markdown", "svg", "SVG", "who", "whos", "precision", "xmode",
}  # fmt: skip
UNDONE = re.compile(
    rf"get_ipython\(\)\.(?!run_\w+_magic\('(?:{'|'.join(DONE)}|autoreload|%\w*)'|user_ns|push|run_cell\b|ex\b|capture)"
)
OPTIONS = re.compile(r"^(?:(?:-[qr]+|--no-raise-error) +)+")
# Los métodos y las funciones que cambian lo que se les da; y los que acaban en «_» o empiezan como aquí.
CHANGING = {
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "add",
    "discard", "setdefault", "popitem", "appendleft", "extendleft", "popleft", "rotate", "fill",
    "put", "itemset", "resize", "setattr", "delattr", "shuffle", "insort", "insort_left",
    "insort_right", "heappush", "heappop", "heapify", "next", "copyto", "fill_diagonal",
    "apply", "train", "eval", "step", "backward", "zero_grad", "add_module", "write", "seek",
    "put_nowait", "intersection_update", "difference_update", "symmetric_difference_update",
    "move_to_end", "__setitem__", "__delitem__", "redirect_stdout", "redirect_stderr", "add_argument",
    "add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser", "add_scalar",
}  # fmt: skip
KEEPING = {"append", "extend", "insert", "add"}  # cambian lo que guarda, y no lo que se le da
STARTS = ("set_", "register", "load_state", "__setattr", "__iadd", "__ior")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}


# --- Como lo entiende Jupyter ---------------------------------------------------------------------


def as_python(source):
    """Una celda en Python: sus órdenes %, ! y ?, sin los «>>>» de delante y sin el sangrado que le sobre."""
    with contextlib.suppress(SyntaxError, ValueError):
        ast.parse(source)
        if not re.match(r"\s*In ?\[\d*\]:", source):
            return source
    from IPython.core.inputtransformer2 import TransformerManager

    if "\n" not in (line := source.strip()) and ORDER.match(line):
        source = f"%{line}"
    return TransformerManager().transform_cell(source)


class Orders(ast.NodeTransformer):
    """Pone en su sitio el código que va dentro de una orden, «%time x = f()», o de una celda «%%time»."""

    def visit_Expr(self, node):
        if (found := ordered(node.value)) is None:
            return self.generic_visit(node)
        body = parse.__wrapped__(found[0]).body  # sin la copia guardada, que se le cambian las líneas
        body = [ast.increment_lineno(one, node.lineno - 1 + found[1]) for one in body]
        match body:
            case [ast.Assign([to], ast.Call(ast.Attribute(_, "capture_output")) as value), *rest]:
                return ast.copy_location(ast.With([ast.withitem(value, to)], rest or [ast.Pass()]), body[0])
        return body

    def visit_Call(self, node):
        if (found := ordered(node)) is not None:
            return ast.increment_lineno(ast.parse(found[0], mode="eval").body, node.lineno - 1)
        return self.generic_visit(node)


def ordered(node):
    """El código que va dentro de una orden de Jupyter y cuántas líneas más abajo; ``None`` si no lo hay."""
    match node:
        case ast.Call(ast.Attribute(_, "run_line_magic"), [ast.Constant(name), ast.Constant(code)]):
            return (OPTIONS.sub("", code), 0) if name in TIMED else None
        case ast.Call(
            ast.Attribute(_, "run_cell_magic"), [ast.Constant(name), ast.Constant(line), ast.Constant(code)]
        ):
            to = [word for word in line.split() if word[0] != "-"]
            kept = f"{to[-1]} = get_ipython().capture_output()\n" if name == "capture" and to else ""
            return None if name in OTHER else (kept + code, not kept)
    return None


@functools.lru_cache(4096)
def parse(source):
    """El árbol de una celda.

    Raises:
        SyntaxError: si Jupyter tampoco lo entiende.
    """
    text = as_python(source)
    tree = ast.parse(text)
    if text != source:  # IPython quita las líneas en blanco de delante
        ast.increment_lineno(tree, len(re.match(r"(?:[ \t]*\r?\n)*", source)[0].splitlines()))
    return ast.fix_missing_locations(Orders().visit(tree))


def inside(source):
    """Las instrucciones de una celda, una a una: su texto, con los comentarios de justo encima, y su árbol."""
    source = as_python(source)
    lines, body = source.split("\n"), []
    with contextlib.suppress(SyntaxError, ValueError):
        body = ast.parse(source).body
    for node in body:
        found = ordered(node.value) if isinstance(node, ast.Expr) else None
        if found is not None:
            yield from inside(found[0])
            continue
        starts = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
        first = min(starts) - 1
        while first and lines[first - 1].startswith("#"):
            first -= 1
        text = "\n".join(lines[first : node.end_lineno])
        if "_magic(" in text:  # una orden dentro de un ``if``, o detrás de un igual
            node = ast.fix_missing_locations(Orders().visit(node))
            text = ast.unparse(node)
        yield text, node


class UsageError(Exception):
    """Una orden mal puesta: el de IPython."""


class Nothing(list):
    """Lo que da una orden de Jupyter que aquí no se hace: una lista vacía, que a todo contesta con otra."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return self

    user_ns = {}  # los nombres del cuaderno: los de lo último que se ejecuta

    def push(self, given, *_, **__):
        self.user_ns.update(given)

    def run_cell(self, text, *_, **__):
        execute(parse(text).body, "<celda>", self.user_ns)
        return self

    ex = run_cell

    def run_cell_magic(self, name, line, text):
        """``%%writefile``: lo que se escribe se puede importar después. Las demás, nada."""
        if name in ("writefile", "file"):
            *options, path = line.split()
            with open(path, "a" if "-a" in options else "w", encoding="utf-8") as file:
                file.write(text)
        return self

    def run_line_magic(self, name, line, *_, **__):
        """``%run programa.py``: sus nombres quedan en el cuaderno. Y ``%env`` y ``%pwd``. Las demás, nada."""
        if name[:1] == "%":
            raise UsageError(f"«%{name}» va en la primera línea de su celda")
        if name == "run" and line:
            with open(line.split()[-1], encoding="utf-8") as file:
                self.run_cell(file.read())
        if name in ("env", "set_env"):
            key, sign, value = line.strip().partition("=" if "=" in line else " ")
            if not sign:
                return os.environ[key] if key else dict(os.environ)
            os.environ[key.strip()] = value.strip()
        return os.getcwd() if name == "pwd" else self

    @contextlib.contextmanager
    def capture_output(self):
        """``%%capture out``: lo que escribe la celda queda en él."""
        out, err, kept = io.StringIO(), io.StringIO(), Nothing()
        kept.stdout = kept.stderr = ""
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield kept
        finally:
            kept.stdout, kept.stderr = out.getvalue(), err.getvalue()
            kept.show = lambda: print(kept.stdout, end="")


def undone(codes):
    """Si en alguno hay una orden, de Jupyter o del sistema, que aquí no se hace."""
    return any(UNDONE.search(ast.unparse(ast.Module(code.nodes or [], []))) for code in codes)


def execute(nodes, label, space, show=False):
    """Ejecuta unas instrucciones, también con ``await``; con ``show``, la última dice lo que da, como en Jupyter.

    Y como allí, un ``__future__`` vale desde que se importa.
    """
    Nothing.user_ns = space
    last = nodes[-1:] if show and nodes and isinstance(nodes[-1], ast.Expr) else []
    parts = [(ast.Module(nodes[: len(nodes) - len(last)], []), "exec"), (ast.Interactive(last), "single")]
    for tree, mode in parts[: 1 + len(last)]:
        flags = {one.compiler_flag for one in space.values() if isinstance(one, __future__._Feature)}
        code = compile(tree, label, mode, functools.reduce(int.__or__, flags, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        waiting = eval(code, space)
        if waiting is not None:
            run_until_done(waiting)


def run_until_done(coroutine):
    """Espera a que acabe lo que lleva ``await``."""
    if sys.platform != "emscripten":
        import asyncio

        return asyncio.run(coroutine)
    with contextlib.suppress(StopIteration):  # en el navegador no se puede esperar
        coroutine.send(None)
        raise RuntimeError("en la página no se puede esperar a algo que tarda")


def remember(label, source):
    """Para que un error enseñe su línea, la de la celda, sin los «>>>» de delante."""
    if re.match(r"\s*(>>>|In ?\[)", source):
        source = re.sub(r"^(>>>|\.\.\.|In ?\[\d*\]:|[ \t]*\.{3,}:) ?", "", source, flags=re.MULTILINE)
    linecache.cache[label] = len(source), None, source.splitlines(True), label


# --- Lo que crea, cambia y necesita ---------------------------------------------------------------


class Code:
    """Un trozo de código: una celda, o una instrucción.

    Attributes:
        ``makes``: los nombres que crea siempre: lo que había con ese nombre ya no cuenta.
        ``binds``: los que crea o quita, quizá.
        ``needs``, ``later``: los que usa al ejecutarse, y los que usan después sus funciones.
        ``touches``, ``hidden``: lo que puede cambiar, como (con qué, qué nombres): al ejecutarse, y sus funciones.
        ``changing``: sus funciones y métodos que cambian lo que reciben.
        ``alike``: parejas de nombres que pueden ser lo mismo: «a = b».
        ``stars``, ``wild``: de qué módulos importa «*», y si puede crear cualquier nombre.
    """

    def __init__(self, source, nodes=None):
        self.source, self.broken = source, None
        self.makes, self.binds, self.needs, self.later = set(), set(), set(), set()
        self.touches, self.hidden, self.alike, self.taken = [], [], [], set()
        self.changing, self.stars, self.wild = {}, [], bool(WILD.search(source))
        try:
            self.nodes = parse(source).body if nodes is None else nodes
            self.needs |= {FUTURE} if nodes is None else set()
            for node in self.nodes:
                self.read(node)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # mientras, lo que parece que crea
            self.nodes, self.broken, self.makes = None, error, set(MAKES.findall(source))
            return
        if written := re.match(r"\s*%%(?:writefile|file)\b.*?([\w-]+)\.py\s*$", source, re.MULTILINE):
            self.binds.add(f"·{written[1]}")
        if re.search(r"%(set_)?env\b", source):
            self.binds.add(ENVIRONMENT)
        if re.search(r"\b(os\.|environ|getenv)", source):
            self.needs.add(ENVIRONMENT)
        if SEEDS.search(source):
            self.makes.add(CHANCE)
        if DRAWS.search(source):
            self.needs.add(CHANCE)

    def read(self, node):
        if isinstance(node, ast.Import | ast.ImportFrom):  # quizá, de un módulo que ha escrito otra celda
            self.stars += [node.module or ""] if node.names[0].name == "*" else []
            self.binds |= {FUTURE} if getattr(node, "module", "") == "__future__" else set()
            self.needs |= {f"·{name}" for name in (getattr(node, "module", None), node.names[0].name) if name}
        binds, needs, later = names(node)
        if isinstance(node, ast.For | ast.AsyncFor):  # lo que va tomando los valores
            self.taken |= roots(node.target) - roots(node.iter)
        self.needs |= needs - self.makes - self.taken
        self.later |= later
        self.binds |= binds
        self.makes |= made(node)
        for one in ast.walk(node):
            if isinstance(one, ast.Nonlocal):  # una función que recuerda cambia cuando se la llama
                self.changing["__call__"] = [("", {"self"})]
            if isinstance(one, FUNCTIONS):
                self.read_function(one, later)
            self.alike += [(a, b) for to, of in pairs(one) for a in roots(to) for b in roots(of)]
        self.touches += touched(node)

    @property
    def star(self):
        return bool(self.stars)

    def may_make(self, name):
        """Si quizá cambia un nombre sin que se vea: con «*», si su módulo lo tiene, o con ``exec`` y los suyos."""
        known = map(sys.modules.get, self.stars)
        if any(one is None or name in getattr(one, "__all__", vars(one)) for one in known):
            return True
        hidden = r"(def|class)\s+{0}\b|\b{0}\s*=(?!=)|['\"]{0}['\"]\]\s*=(?!=)|(update|push|setattr)\(.*['\"]{0}['\"]"
        return self.wild and name not in self.makes and re.search(hidden.format(re.escape(name)), self.source)

    def read_function(self, one, outside):
        """Lo que cambia una función: de fuera de ella, y de lo que recibe."""
        body = [one.body] if isinstance(one, ast.Lambda) else one.body
        inner = [touch for part in body for touch in touched(part, bodies=True)]
        self.hidden += [(verb, kept) for verb, found in inner if (kept := found & outside)]
        if not isinstance(one, ast.Lambda) and one.name != "__init__":
            self.hidden += [("", {*part.names}) for part in ast.walk(one) if isinstance(part, ast.Global)]
            mine = one.args.posonlyargs + one.args.args + one.args.kwonlyargs
            own = {arg.arg for arg in (*mine, one.args.vararg, one.args.kwarg) if arg}
            self.changing[one.name] = [(verb, found & own) for verb, found in inner if found & own]


class Apart(ast.NodeTransformer):
    """Las listas por comprensión, como generadores: desde Python 3.12, ``symtable`` da los nombres de aquellas por de fuera."""

    def visit(self, node):
        self.generic_visit(node)
        match node:
            case ast.ListComp(one, loops) | ast.SetComp(one, loops):
                return ast.GeneratorExp(one, loops)
            case ast.DictComp(key, value, loops):
                return ast.GeneratorExp(ast.Tuple([key, value], ast.Load()), loops)
        return node


def names(node):
    """Los nombres de fuera que una instrucción escribe, los que lee y los que leen después sus funciones."""
    binds, needs, later = set(), roots(node.target) if isinstance(node, ast.AugAssign) else set(), set()
    try:
        text = ast.unparse(Apart().visit(ast.parse(ast.unparse(node))))
    except (ValueError, RecursionError):  # un árbol que no se deja escribir: todos sus nombres
        every = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        return made(node), every, every
    top = symtable.symtable(text, "celda", "exec")
    rooms = [(top, False)]
    while rooms:
        room, inside = rooms.pop()
        inside |= room.get_type() == "function" and room.get_name() not in COMPREHENSIONS
        rooms += ((child, inside) for child in room.get_children())
        for symbol in room.get_symbols():
            if room is top or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    binds.add(symbol.get_name())
                if symbol.is_referenced():
                    (later if inside else needs).add(symbol.get_name())
    shared = {name for one in ast.walk(node) if isinstance(one, ast.Global) for name in one.names}
    added = (one.target for one in ast.walk(node) if isinstance(one, ast.AugAssign))
    needs -= loads(node) - loose([node], set())
    later |= shared & {one.id for one in added if isinstance(one, ast.Name)}  # «n += 1» también lo lee
    return binds, needs, later


def loads(*nodes):
    """Los nombres que se leen en algún sitio de unos trozos."""
    every = (one for node in nodes if node for one in ast.walk(node))
    return {one.id for one in every if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Store)}


def stored(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)} if node else set()


def loose(block, bound):
    """Los nombres que unas instrucciones leen sin haberlos hecho ellas antes: no el de un ``for``, en su bucle."""
    found, bound = set(), set(bound)
    for node in block:
        match node:
            case ast.For(target, source, body, other):
                found |= loads(source, target) - bound | loose(body, bound | stored(target)) | loose(other, bound)
            case ast.With(items, body):
                for one in items:
                    found |= loads(one.context_expr) - bound
                    bound |= stored(one.optional_vars)
                found |= loose(body, bound)
            case ast.If(test, body, other):
                found |= loads(test) - bound | loose(body, bound) | loose(other, bound)
            case _:
                found |= loads(node) - bound
                bound |= made(node)
    return found


def made(node):
    """Los nombres que una instrucción crea siempre."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name.split(".")[0]) for one in node.names} - {"*"}
    match node:
        case ast.With([ast.withitem(ast.Call(ast.Attribute(_, "capture_output")), ast.Name(name))], body):
            return {name}.union(*map(made, body))
    targets = getattr(node, "targets", []) if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value:
        targets = [node.target]
    found = [one for target in targets for one in ast.walk(target)]
    return {one.id for one in found if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def roots(node):
    """Los nombres de los que sale un valor: de ``table['a'].b``, ``table``; de ``next(iter(x))``, ``x``."""
    match node:
        case ast.Name(name):
            return {name}
        case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value) | ast.Await(value):
            return roots(value)
        case ast.NamedExpr(target, value):
            return roots(target) | roots(value)
        case ast.Call(function, given):
            whose = isinstance(function, ast.Attribute) or getattr(function, "id", "")[:1].isupper()  # una clase
            inside = roots(function) if whose else set()
            return inside.union(*map(roots, given), *(roots(one.value) for one in node.keywords))
        case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts) | ast.Dict(_, parts) | ast.BoolOp(_, parts):
            return set().union(*map(roots, parts))
        case ast.IfExp(_, one, other):
            return roots(one) | roots(other)
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            return set().union(*(roots(one.iter) for one in node.generators))
    return set()


def pairs(node):
    """Lo que puede ser lo mismo: el destino y el valor de una asignación, un bucle o un ``with``."""
    match node:
        case ast.Assign(targets, value):
            return [(target, value) for target in targets]
        case ast.For(target, value) | ast.comprehension(target, value) | ast.NamedExpr(target, value):
            return [(target, value)]
        case ast.withitem(value, target) if target:
            return [(target, value)]
        case ast.ClassDef(name, bases):
            return [(ast.Name(name), base) for base in bases]
    return []


def touched(node, bodies=False):
    """Lo que puede cambiar: (con qué, los nombres), con «» si es seguro."""
    found, pending = [], [node]
    while pending:
        one = pending.pop()
        if bodies or not isinstance(one, FUNCTIONS):
            pending += ast.iter_child_nodes(one)
        else:
            pending += [*one.args.defaults, *filter(None, one.args.kw_defaults), *getattr(one, "decorator_list", ())]
        if isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load):
            found.append(("", roots(one)))
        elif isinstance(one, ast.Attribute):
            found.append((one.attr, roots(one)))
        elif isinstance(one, ast.Call):
            verb = getattr(one.func, "attr", getattr(one.func, "id", ""))
            given = [*one.args, *(word.value for word in one.keywords)]
            found += [(verb, roots(value)) for value in given if verb not in KEEPING]
            found += [("__call__", roots(one.func))] if isinstance(one.func, ast.Name) else []
            found += [("", roots(word.value)) for word in one.keywords if word.arg == "out"]
            found += [("write", roots(word.value)) for word in one.keywords if word.arg == "file"]
        elif isinstance(one, ast.AugAssign):
            found.append(("", roots(one.target)))
    return [(verb, names) for verb, names in found if names]


def is_changing(verb, known):
    """Si algo que se llama así cambia lo que se le da."""
    own = verb[-1:] == "_" and verb[-2:] != "__"
    return not verb or own or verb in known or verb.startswith(STARTS)


def changes(codes):
    """De cada trozo, los nombres que cambia o que quizá crea, sabiendo qué hacen las funciones de todos."""
    modules, others, known, grown = set(), set(), set(CHANGING), True
    for code in codes:
        for node in code.nodes or ():
            place = modules if isinstance(node, ast.Import | ast.ImportFrom) else others
            place |= made(node)
    while grown:  # una función que llama a otra que cambia lo que recibe también lo cambia
        every = (one for code in codes for one in code.changing.items())
        grown = {name for name, inner in every if any(is_changing(verb, known) for verb, _ in inner)} - known
        known |= grown

    def of(touches):
        """Los nombres que cambian; a un módulo, solo lo que se le pone: «torch.softmax = otra»."""
        sure = {name for verb, found in touches if not verb or verb.startswith(STARTS) for name in found}
        return sure | {n for verb, found in touches if is_changing(verb, known) for n in found - (modules - others)}

    effects, alike = defaultdict(set), defaultdict(set)  # lo que cambia quien usa un nombre, y lo que puede ser él
    for _ in range(3):
        for code in codes:
            used = (code.needs | code.later) & effects.keys()
            if found := of(code.hidden).union(*map(effects.get, used)):
                for name in code.makes | code.binds:
                    effects[name] |= found
    for code in codes:
        for one, other in code.alike:
            if not {one, other} & (modules - others):
                alike[one].add(other)
                alike[other].add(one)
    changed = []
    for code in codes:
        own = of(code.touches).union(*map(effects.get, code.needs & effects.keys()))
        here = own & (code.makes | code.taken)  # lo que hace este trozo no es lo que otro llamó igual
        local = {x for pair in code.alike if here & {*pair} for x in pair} - (modules - others)
        own = own.union(local, *map(alike.get, own & alike.keys() - here))
        changed.append(own | code.binds - code.makes)
    return changed


def needed(codes, wanted, also=()):
    """Los trozos que hacen falta para tener unos nombres al final, en su orden.

    Args:
        codes: los ``Code``, en el orden en que se ejecutan.
        wanted: los nombres.
        also: los índices de los que hacen falta de todas formas.

    Returns:
        Sus índices. Si un nombre solo lo crea uno de más abajo, ese.
    """
    changed, end = changes(codes), len(codes)
    seen, chosen, pending = set(), set(), [(name, end) for name in wanted]

    def choose(k, before):
        if k not in chosen:
            chosen.add(k)
            pending.extend((name, k) for name in codes[k].needs)
        pending.extend((name, at) for name in codes[k].later for at in {k, before})

    for k in also:
        choose(k, end)
    while pending:
        name, before = asked = pending.pop()
        if asked in seen:
            continue
        seen.add(asked)
        makers = [k for k, code in enumerate(codes) if name in code.makes or name in changed[k]]
        earlier = [k for k in makers if k < before]
        sure = max((k for k in earlier if name in codes[k].makes), default=-1)  # lo de más arriba ya no cuenta
        for k in range(max(sure, 0), before):
            if k in earlier or name[0] != "·" and k > sure and codes[k].may_make(name):
                choose(k, before)
        if not earlier and name[0] != "·":  # quizá, de un «*»; o de lo que puede crear cualquier cosa
            for k in range(before):
                if codes[k].star or codes[k].wild and not hasattr(builtins, name):
                    choose(k, before)
            for k in makers[:1]:
                choose(k, end)
    return sorted(chosen)
