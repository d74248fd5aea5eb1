"""Dentro de la jaula: ejecuta las celdas de una entrega y contesta llamadas. No sabe de notas.

Es lo único que comparte proceso con el código ajeno, que puede cambiar aquí lo que quiera: quien
comprueba está fuera (``check``), manda los argumentos y solo se cree números y textos.
"""

import ast
import contextlib
import ctypes
import inspect
import io
import json
import os
import pickle
import random
import re
import struct
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from unittest.mock import MagicMock

from course_tools import code
from course_tools.code import Code, Nothing, execute, remember

INSIDE = Path(__file__).resolve().parents[2] / "course_checkers/inside"
LABEL = "<celda {}>"
ANSWER = re.compile(r"\s*# (Ejercicio|Comprobación) \d")
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


class Cell(Code):
    """Una celda de código; ``own``, si la ha escrito o cambiado quien entrega."""

    def __init__(self, index, source, own=True):
        super().__init__(source)
        self.label, self.own = LABEL.format(index), own and not ANSWER.match(source)
        self.done, self.error = False, None

    def run(self, namespace):
        """La ejecuta una vez, y apunta su error si se para."""
        if self.done:
            return
        self.done = namespace.setdefault("get_ipython", Nothing)
        remember(self.label, self.source)
        try:
            if self.broken:
                raise self.broken
            execute(self.nodes, self.label, namespace, show=True)
        except BaseException as error:  # también SystemExit
            self.error = told(error)


def split(index, source, own=True):
    """Una celda o, si solo importa, una por cada línea: se importa solo lo que hace falta."""
    cell = Cell(index, source, own)
    if cell.nodes and all(isinstance(node, ast.Import | ast.ImportFrom) for node in cell.nodes):
        return [Cell(index, ast.unparse(node), own) for node in cell.nodes]
    return [cell]


def needed(cells, target, also=()):
    """Las celdas que hacen falta para tener ``target``, en su orden."""
    return [cells[k] for k in code.needed(cells, [target], also)]


def plans(cells, target):
    """Las maneras de tener ``target``, de menos a más: (cómo, las celdas que se ejecutan).

    ``parte``: las que hacen falta al final o, si después cambian, en su comprobación. ``propio``: además,
    todas las de quien entrega. ``entero``: el cuaderno, en su orden, hasta la respuesta.
    """
    asked = re.compile(rf"\bcheck_\w+\([^()]*\b{re.escape(target)}\b")
    ends = [len(cells), *(k for k, cell in enumerate(cells) if asked.search(cell.source))]
    found = [("parte", needed(cells[:end], target)) for end in ends]
    if not found[0][1]:  # ninguna la crea
        return found[:1]
    own = [k for k, cell in enumerate(cells) if cell.own]
    found += [("propio", needed(cells[:end], target, [k for k in own if k < end])) for end in ends]
    last = max(cells.index(one) for _, chosen in found for one in chosen)
    found += [("entero", cells[: last + 1])] if own or any(cell.wild for cell in cells) else []
    return [one for k, one in enumerate(found) if one[1] not in [other for _, other in found[:k]]]


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
    add(rules, denied, number(b"prctl"), 1, struct.pack("IIQQ", 0, 7, 2**32 - 1, 1))  # PDEATHSIG: la sobreviviría
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
        self.restart()

    def restart(self):
        """Un cuaderno en el que todavía no se ha ejecutado nada."""
        self.module, self.function = types.ModuleType("__main__"), None
        vars(self.module).update(display=lambda *_, **__: None)
        sys.modules["__main__"] = self.module
        for cell in self.cells or ():
            cell.done = False

    def get(self, target, plan=0, asked="(?!)"):
        """Ejecuta lo que hace falta para tener ``target``, o lo que se comprueba en su lugar, y dice qué es."""
        self.cells = self.cells or [cell for one in self.given for cell in split(*one)]
        known = plans(self.cells, target)
        if not known[0][1] and (others := re.findall(asked, "\n".join(c.source for c in self.cells))):
            known = plans(self.cells, target := others[-1])
        chosen = known[plan][1]
        done = [bool(cell.done) for cell in chosen]
        if True in done and False in done[: len(done) - done[::-1].index(True)]:
            self.restart()  # una de antes, después de otra de después
        space = vars(self.module)
        if "IPython" in sys.modules:
            sys.modules["IPython"].get_ipython = Nothing
        for cell in chosen:
            cell.run(space)
        # Lo que usa: quizá, la respuesta de otro ejercicio.
        used = set().union(*(c.makes | c.binds | c.needs | c.later for c in chosen))
        uses = {"uses": sorted(used)[:500], "plans": [how for how, _ in known], "undone": code.undone(chosen)}
        uses["stopped"] = next((cell.error["error"] for cell in chosen if cell.error), None)
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
    sys.path.append("")  # lo que una celda escriba aquí se puede importar
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
