"""Dentro de la jaula: ejecuta las celdas de una entrega y contesta llamadas. No sabe de notas.

Es lo único que comparte proceso con el código ajeno, que puede cambiar aquí lo que quiera: quien
comprueba está fuera (``check``), manda los argumentos y solo se cree números y textos.
"""

import ast
import builtins
import contextlib
import ctypes
import inspect
import io
import json
import linecache
import os
import pickle
import random
import re
import struct
import symtable
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from unittest.mock import MagicMock

INSIDE = Path(__file__).resolve().parents[2] / "course_checkers/inside"
LABEL = "<celda {}>"
CHANCE = "·azar"  # lo que usa quien pide números al azar y cambia quien pone la semilla
SEEDS = re.compile(r"\b(manual_seed|random\.seed)\(")
DRAWS = re.compile(r"\brand\w*\(|\bnormal_?\(|\bnn\.\w+\(|\bmultinomial\(|\bshuffle\(")
ORDERS = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)  # las de Jupyter, que no son Python
MAKES = re.compile(r"^(?:(?:def|class)\s+)?(\w+)\s*[(=:]", re.MULTILINE)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def encode(value, tensors):
    """Un valor en JSON, como lo lee ``check.decode``. Los números de un tensor van en ``tensors``."""
    import numpy as np
    import torch

    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if value is ...:
        return {"...": None}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(item, tensors) for item in value]}
    if type(value) is dict:
        return {"dict": [[encode(k, tensors), encode(v, tensors)] for k, v in value.items()]}
    kinds = {torch.Tensor: "tensor", np.ndarray: "ndarray", np.generic: "number"}
    with contextlib.suppress(Exception):  # lo que no es de estas clases, o no se deja copiar
        kind = next(name for known, name in kinds.items() if isinstance(value, known))
        value = value.detach() if kind == "tensor" else torch.from_numpy(np.array(value))
        dense = value if value.layout == torch.strided else value.to_dense()
        plain = dense.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        tensors[str(len(tensors))] = plain
        return {kind: str(len(tensors) - 1)}
    return {"other": type(value).__name__}  # de lo que no son datos, el nombre de su clase


def packed(message, values):
    """Un mensaje, con estos valores, en bytes: cuánto mide cada parte, el JSON y los tensores."""
    from safetensors.torch import save

    tensors = {}
    message["values"] = {name: encode(value, tensors) for name, value in values.items()}
    text, numbers = json.dumps(message).encode(), save(tensors)
    return struct.pack("<II", len(text), len(numbers)) + text + numbers


def frozen(value):
    """Un argumento, para saber si ha cambiado."""
    return packed({}, {"": getattr(value, "asked", value)})


def told(error):
    """Un error, en piezas: su clase, la de Python de la que viene, qué dice y en qué línea."""
    try:
        text = str(error)[:2000]
    except Exception:  # un error que ni siquiera sabe decir qué es
        text = ""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:7] == LABEL[:7]]
    line = (frames[-1].line or "").strip() if frames else ""
    if isinstance(error, SyntaxError) and error.text:
        line = error.text.strip()
    base = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return {"error": {"name": type(error).__name__, "base": base, "text": text, "line": line}}


# --- Las celdas que hacen falta -------------------------------------------------------------------


class Cell:
    """Una celda de código: los nombres que crea o cambia, y los que usa."""

    def __init__(self, index, source):
        self.label, self.source, self.tree = LABEL.format(index), source, None
        self.needs, self.binds, self.done, self.error = set(), set(), False, None
        for text in (source, ORDERS.sub(r"\1pass", source)):
            with contextlib.suppress(SyntaxError, ValueError):
                table, self.tree = symtable.symtable(text, self.label, "exec"), ast.parse(text)
                break
        if self.tree is None:  # se sabrá al ejecutarla: mientras, lo que parece que crea
            self.binds = set(MAKES.findall(source))
            return
        from course_checkers.inside.names import names

        self.binds, self.needs = names(table)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.AugAssign):
                self.needs.add(root(node.target))
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                self.binds.add(root(node))
        self.binds |= {CHANCE} if SEEDS.search(source) else set()
        self.needs |= {CHANCE} if DRAWS.search(source) else set()

    def run(self, namespace):
        """La ejecuta una vez, y apunta su error si se para."""
        if self.done:
            return
        self.done = True
        linecache.cache[self.label] = (0, None, self.source.splitlines(True), self.label)
        try:
            exec(compile(self.tree or self.source, self.label, "exec"), namespace)
        except BaseException as error:  # también SystemExit
            self.error = told(error)


def root(node):
    """El nombre con el que empieza ``node``: de ``table['a'].b``, ``table``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", "")


def split(index, source):
    """Una celda o, si solo importa, una por cada línea: se importa solo lo que hace falta."""
    cell = Cell(index, source)
    body = cell.tree.body if cell.tree else ()
    if all(isinstance(node, ast.Import | ast.ImportFrom | ast.Expr) for node in body) and body:
        return [Cell(index, ast.unparse(node)) for node in body]
    return [cell]


def needed(cells, target):
    """Las celdas que hacen falta para tener ``target``, en su orden."""
    chosen, pending = set(), [(target, len(cells))]
    while pending:
        name, before = pending.pop()
        makers = [k for k, cell in enumerate(cells) if name in cell.binds]
        earlier = [k for k in makers if k < before]
        # Una función puede usar lo que se crea más abajo.
        for k in earlier[-1:] or makers[: name != CHANCE]:
            if k not in chosen:
                chosen.add(k)
                pending += [(other, k) for other in cells[k].needs - {target, *dir(builtins)}]
    return [cells[k] for k in sorted(chosen)]


def set_limits(forbidden, **most):
    """Memoria, tiempo, tamaño de archivo y, en Linux, ni procesos ni programas ni red.

    ``DATA`` es la memoria propia; ``AS``, con la compartida, se cuenta desde lo que ya ocupa torch.
    """
    with contextlib.suppress(ImportError, OSError):
        import resource

        with open("/proc/self/statm") as used:
            taken = int(used.read().split()[0]) * resource.getpagesize()
        for name, value in (most | {"AS": most["DATA"] + taken}).items():
            with contextlib.suppress(ValueError):  # ya tiene uno menor
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # un Linux sin ``libseccomp``
            forbid(forbidden, ctypes.CDLL("libseccomp.so.2"))


def forbid(names, library):
    """Con ``libseccomp``: otro proceso, otro programa o la red dan «no permitido»; un hilo, no."""
    allow, denied, unknown, thread = 0x7FFF0000, 0x00050001, 0x00050026, 0x00010000
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(allow))
    add, number = library.seccomp_rule_add_array, library.seccomp_syscall_resolve_name
    for name in names.encode().split():
        add(rules, denied, number(name), 0, None)
    # ``clone3`` no existe, y se prueba entonces con ``clone``, que sí dice si es para un hilo.
    add(rules, unknown, number(b"clone3"), 0, None)
    no_thread = struct.pack("IIQQ", 0, 7, thread, 0)  # su primer argumento, sin CLONE_THREAD
    add(rules, denied, number(b"clone"), 1, no_thread)
    library.seccomp_load(rules)


def watch(noticed):
    """Apunta los archivos que quiere escribir el código de la entrega."""
    usual = os.environ["HOME"], "/dev/"
    tempfile.gettempdir()  # la primera vez escribe, para ver si puede: no es cosa de la entrega

    def hook(event, arguments):
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            path = arguments[0] if isinstance(arguments[0], str) else "/dev/"
            if len(noticed) < 5 and not os.path.abspath(path).startswith(usual):
                noticed[f"ha escrito archivos, que se han perdido ({path[-60:]})"] = True

    sys.addaudithook(hook)


def pretend(public):
    """Un ``course_checkers`` con sus nombres y nada detrás: una celda los importa junto a su respuesta.

    De verdad solo está ``inside``. Lo demás no se puede importar, ni con la jaula ni sin ella.
    """
    checkers = types.ModuleType("course_checkers")
    vars(checkers).update(dict.fromkeys(public, MagicMock()), __all__=list(public))
    inside = types.ModuleType("course_checkers.inside")
    inside.__path__ = [str(INSIDE)]
    sys.modules |= {one.__name__: one for one in (checkers, inside)}


class Student:
    """La entrega: sus celdas y la función que se llama."""

    def __init__(self, given):
        self.given, self.cells = given, None
        self.module, self.function = types.ModuleType("__main__"), None
        self.module.display = self.module.get_ipython = lambda *_, **__: None
        sys.modules["__main__"] = self.module

    def get(self, target):
        """Ejecuta lo que hace falta para tener ``target`` y dice qué es."""
        self.cells = self.cells or [c for one in self.given for c in split(*one)]
        space, chosen = vars(self.module), needed(self.cells, target)
        for cell in chosen:
            cell.run(space)
        # Lo que usa: quizá, la respuesta de otro ejercicio.
        uses = {"uses": sorted(set().union(*(c.binds | c.needs for c in chosen)))[:500]}
        if target not in space:
            failed = [cell.error for cell in chosen if cell.error]
            return (failed[-1] if failed else {"missing": True}) | uses, {}
        value = self.function = space[target]
        if not callable(value):
            return {"callable": False} | uses, {"value": value}
        from course_checkers.inside.code import is_stub

        try:
            parameters = inspect.signature(value).parameters.values()
            signature = [[p.name, int(p.kind), p.default is not p.empty] for p in parameters]
        except (TypeError, ValueError):
            signature = None
        stub = bool(is_stub(value))
        return {"callable": True, "signature": signature, "stub": stub} | uses, {}

    def call(self, arguments, seed, listen, holder=None, name=""):
        """Llama a la función y dice qué devuelve, qué escribe y si cambia lo que recibe.

        Si la respuesta no es una función, se llama a lo que dice ``name`` de quien la tiene, ``holder``.
        """
        import numpy as np
        import torch

        from course_checkers.inside.code import Heard

        function = getattr(holder(self.function), name) if holder else self.function
        before, text = [frozen(x) for x in arguments], io.StringIO()
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        heard = Heard(arguments)
        answer, values = {}, {}
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                with heard if listen else contextlib.nullcontext():
                    values["value"] = function(*arguments)
                heard.result(values["value"])
        except BaseException as error:  # también SystemExit
            answer = told(error)
        torch.set_default_dtype(torch.float32)
        for k, (argument, old) in enumerate(zip(arguments, before)):
            if frozen(argument) != old:
                values[str(k)] = getattr(argument, "asked", argument)
        names = sorted(heard.names)[:200]
        return answer | {"printed": text.getvalue()[:20000], "heard": names}, values


def main():
    """Atiende lo que llega por la entrada hasta que se cierre."""
    source, channel = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cells, limits, public = pickle.load(source)
    pretend(public)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.makedirs(os.environ["HOME"], exist_ok=True)
    os.chdir(os.path.dirname(os.environ["HOME"]))
    set_limits(**limits)
    noticed, student, answer, values = {}, Student(cells), {}, {}
    watch(noticed)
    while True:
        answer["noticed"] = list(noticed)
        try:
            message = packed(answer, values)
        except Exception as error:  # algo que no se deja mandar
            message = packed(told(error), {})
        channel.write(message)
        channel.flush()
        try:
            order, *arguments = pickle.load(source)
        except EOFError:
            return
        try:
            answer, values = getattr(student, order)(*arguments)
        except BaseException as error:
            answer, values = told(error), {}


if __name__ == "__main__":
    main()
