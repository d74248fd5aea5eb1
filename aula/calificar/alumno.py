"""Dentro de la jaula: ejecuta las celdas de una entrega y contesta llamadas. No sabe de notas.

Es lo único que comparte proceso con el código ajeno, que puede cambiar aquí lo que quiera: quien
comprueba está fuera (``comprobar``), manda los argumentos y solo se cree números y textos.
"""

import ast
import builtins
import contextlib
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
import traceback
import types
import warnings

LABEL = "<celda {}>"
KEPT = 8  # las últimas llamadas de las que se mira si lo devuelto cambia después
DRAWS = re.compile(r"\brand\w*\(|\bnormal_?\(|\bnn\.\w+\(|\bmultinomial\(|\bshuffle\(")
EVENTS = {  # lo que se apunta para contarlo: hacerlo no sirve de nada
    "socket.connect": "ha intentado usar la red",
    "socket.getaddrinfo": "ha intentado usar la red",
    "os.fork": "ha intentado abrir otro proceso",
    "os.system": "ha intentado abrir otro programa",
    "subprocess.Popen": "ha intentado abrir otro programa",
}


# --- Lo que se manda: JSON, y los números de los tensores detrás ----------------------------------


def encode(value, buffers):
    """Un valor como lo lee ``comprobar.decode``. De lo que no son datos va solo el nombre de su clase."""
    import numpy as np
    import torch

    if value is None or isinstance(value, bool):
        return value
    if value is ...:
        return ["..."]
    if isinstance(value, str):
        return ["str", str(value)]
    if type(value) is int:
        return ["int", str(value)]
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is torch.Size:
        value = tuple(value)
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return [kind, [encode(item, buffers) for item in value]]
    if type(value) is dict:
        return ["dict", [[encode(k, buffers), encode(v, buffers)] for k, v in value.items()]]
    with contextlib.suppress(RuntimeError, TypeError, NotImplementedError):
        if isinstance(value, torch.Tensor):
            dense = value.detach()
            dense = dense if dense.layout == torch.strided else dense.to_dense()
            flat = dense.resolve_conj().resolve_neg().flatten()
            flat = flat.clone(memory_format=torch.contiguous_format)
            buffers.append(bytes(flat.view(torch.uint8).numpy()))
            return ["tensor", str(value.dtype)[6:], list(value.shape)]
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
            buffers.append(value.tobytes())
            return [
                "ndarray" if isinstance(value, np.ndarray) else "number",
                value.dtype.str,
                list(value.shape),
            ]
    return ["other", type(value).__name__]


def send(channel, message, **values):
    """Manda un mensaje con estos valores: su tamaño, el JSON y los trozos."""
    buffers = []
    message |= {name: encode(value, buffers) for name, value in values.items()}
    text = json.dumps(message | {"buffers": [len(part) for part in buffers]}).encode()
    channel.write(struct.pack("<II", len(text), sum(map(len, buffers))) + text + b"".join(buffers))
    channel.flush()


def told(error):
    """Un error, en piezas: su clase, las de Python de las que viene, qué dice y en qué línea."""
    try:
        text = str(error)[:2000]
    except Exception:  # un error que ni siquiera sabe decir qué es
        text = ""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:7] == LABEL[:7]]
    line = frames[-1].line.strip() if frames and frames[-1].line else ""
    if isinstance(error, SyntaxError) and error.text:
        line = error.text.strip()
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    line = line if len(line) <= 90 else line[:90] + "…"
    return {"error": {"name": type(error).__name__, "kinds": kinds, "text": text, "line": line}}


# --- Las celdas que hacen falta -------------------------------------------------------------------


class Cell:
    """Una celda de código: los nombres que crea o cambia, y los que usa."""

    def __init__(self, index, source):
        self.label, self.needs, self.binds, self.error = LABEL.format(index), set(), set(), None
        try:
            self.tree = ast.parse(source)
        except (SyntaxError, ValueError):  # quizá por una orden de Jupyter
            source = re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)
            try:
                self.tree = ast.parse(source)
            except (SyntaxError, ValueError):
                self.tree = None
        self.source = source
        if self.tree is None:  # se sabrá al ejecutarla: mientras, lo que parece que crea
            self.binds = set(re.findall(r"^(?:(?:def|class)\s+)?(\w+)\s*[(=:]", source, re.M))
            return
        self.look(symtable.symtable(source, self.label, "exec"))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.needs.add(node.target.id)
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                while isinstance(node, ast.Attribute | ast.Subscript):
                    node = node.value
                if isinstance(node, ast.Name):
                    self.binds.add(node.id)
        if re.search(r"\b(manual_seed|random\.seed)\(", source):
            self.binds.add("·azar")
        if DRAWS.search(source):
            self.needs.add("·azar")

    def look(self, table):
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            name, bound = symbol.get_name(), symbol.is_assigned() or symbol.is_imported()
            if (top or symbol.is_declared_global()) and bound:
                self.binds.add(name)
            if symbol.is_referenced() and (top or symbol.is_global()):
                self.needs.add(name)
        for child in table.get_children():
            self.look(child)

    def only_imports(self):
        return self.tree and all(
            isinstance(x, ast.Import | ast.ImportFrom | ast.Expr) for x in self.tree.body
        )

    def run(self, namespace, wanted):
        """La ejecuta; de una celda que solo importa, lo que hace falta."""
        tree = self.tree or ast.parse(self.source, self.label)
        if self.only_imports():
            body = []
            for node in tree.body:
                names = {a.asname or a.name.split(".")[0] for a in getattr(node, "names", ())}
                if names & (wanted | {"*"}):
                    body.append(node)
            tree = ast.Module(body, [])
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.label] = (len(self.source), None, lines, self.label)
        exec(compile(tree, self.label, "exec"), namespace)


def needed(cells, target):
    """Las celdas que hacen falta para tener ``target``, en su orden, y todos los nombres que piden."""
    chosen, wanted, pending = set(), {target}, [(target, len(cells))]
    while pending:
        name, before = pending.pop()
        makers = [k for k, cell in enumerate(cells) if name in cell.binds]
        earlier = [k for k in makers if k < before]
        # Una función puede usar lo que se crea más abajo.
        found = earlier[-1:] or ([] if name == "·azar" else makers[:1])
        for k in found:
            if k not in chosen:
                chosen.add(k)
                more = cells[k].needs - set(dir(builtins))
                own = {target} if name == target else set()
                if not cells[k].only_imports():
                    wanted |= more
                    pending += [(other, k) for other in more - own]
    return [cells[k] for k in sorted(chosen)], wanted


# --- Los límites ----------------------------------------------------------------------------------


def set_limits(memory, disk, seconds):
    """Memoria, tiempo, tamaño de archivo y, en Linux, ni procesos ni programas ni red."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with contextlib.suppress(OSError):
            with open("/proc/self/statm") as statm:
                memory += int(statm.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if sys.platform == "linux":
        forbid_processes()


def forbid_processes():
    """Con ``seccomp``: otro proceso, otro programa o la red dan «no permitido»; un hilo, no."""
    import ctypes

    numbers = {  # AUDIT_ARCH, clone, clone3, y lo que se niega
        "x86_64": (0xC000003E, 56, 435, (57, 58, 59, 322, 41, 101, 272, 310, 311, 425)),
        "aarch64": (0xC00000B7, 220, 435, (221, 281, 198, 117, 97, 270, 271, 425)),
    }
    if os.uname().machine not in numbers:
        return
    arch, clone, clone3, denied = numbers[os.uname().machine]
    LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
    DENY, UNKNOWN, ALLOW, THREAD = 0x00050001, 0x00050026, 0x7FFF0000, 0x00010000
    rules = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, arch), (RETURN, 0, 0, DENY), (LOAD, 0, 0, 0)]
    rules += [(AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, DENY)]  # las llamadas de x32
    for number in denied:
        rules += [(EQUAL, 0, 1, number), (RETURN, 0, 0, DENY)]
    rules += [(EQUAL, 0, 1, clone3), (RETURN, 0, 0, UNKNOWN)]  # y se prueba entonces con ``clone``
    rules += [(EQUAL, 0, 4, clone), (LOAD, 0, 0, 16), (AND, 0, 0, THREAD)]
    rules += [(EQUAL, 1, 0, THREAD), (RETURN, 0, 0, DENY), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0)  # PR_SET_SECCOMP, con filtro


def watch(noticed):
    """Apunta lo que intenta el código de la entrega y la jaula no deja, o se queda en la jaula."""
    home, writing = os.environ.get("HOME", "/"), os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def hook(event, arguments):
        text = EVENTS.get(event)
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & writing:
            path = arguments[0] if isinstance(arguments[0], str) else "/dev/"
            if not os.path.abspath(path).startswith((home, "/dev/")):
                text = f"ha escrito archivos, que se han perdido ({path[-60:]})"
        if text and len(noticed) < 5 and text not in noticed:
            noticed.append(text)

    sys.addaudithook(hook)


# --- Contestar ------------------------------------------------------------------------------------


class Student:
    """La entrega: sus celdas, lo que ya se ha ejecutado y la función que se llama."""

    def __init__(self, cells):
        self.cells = [Cell(index, source) for index, source in cells]
        self.module = types.ModuleType("__main__")
        self.module.display = self.module.get_ipython = lambda *_, **__: None
        sys.modules["__main__"], self.done, self.function = self.module, set(), None
        self.returned, self.calls = {}, 0

    def get(self, target):
        """Ejecuta lo que hace falta para tener ``target`` y dice qué es."""
        space, failed = self.module.__dict__, None
        chosen, wanted = needed(self.cells, target)
        for cell in chosen:
            if cell.label in self.done and not cell.only_imports():
                continue
            self.done.add(cell.label)
            try:
                cell.run(space, wanted)
            except BaseException as error:
                cell.error = told(error)
        failed = next((cell.error for cell in reversed(chosen) if cell.error), None)
        if target not in space:
            makers = [cell for cell in self.cells if target in cell.binds]
            return failed or {"missing": not makers}, {}
        value = self.function = space[target]
        self.returned, self.calls = {}, 0
        if not callable(value):
            return {"callable": False}, {"value": value}
        from course_lib.checkers.engine import running

        try:
            parameters = inspect.signature(value).parameters.values()
            signature = [[p.name, int(p.kind), p.default is not p.empty] for p in parameters]
        except (TypeError, ValueError):
            signature = None
        known = {"callable": True, "name": getattr(value, "__name__", "?")}
        return known | {"signature": signature, "stub": bool(running.is_stub(value))}, {}

    def call(self, arguments, seed, listen):
        """Llama a la función y dice qué devuelve, qué escribe y si cambia lo que recibe."""
        import numpy as np
        import torch

        from course_lib.checkers.engine.properties import Heard

        before, text = [frozen(x) for x in arguments], io.StringIO()
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        answer, values, heard = {}, {}, Heard() if listen else contextlib.nullcontext()
        try:
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), heard:
                values["value"] = self.function(*arguments)
        except BaseException as error:  # también SystemExit
            answer = told(error)
        torch.set_default_dtype(torch.float32)
        for k, (argument, old) in enumerate(zip(arguments, before)):
            if frozen(argument) != old:
                values[f"changed {k}"] = getattr(argument, "asked", argument)
        for k, (value, old) in self.returned.items():
            if frozen(value) != old:  # lo que devolvió entonces ya no es lo que era
                values[f"again {k}"] = value
                self.returned[k] = value, frozen(value)
        if "value" in values:
            self.returned[self.calls] = values["value"], frozen(values["value"])
            self.returned.pop(self.calls - KEPT, None)
        self.calls += 1
        names = sorted(heard.names)[:200] if listen else []
        return answer | {"printed": text.getvalue()[:20000], "heard": names}, values

    def check(self, number):
        """De una clase: lo que dice aquí dentro su comprobación. Fuera no se cree: se confirma."""
        from course_lib.checkers.lessons import l06_2_multi_head as lesson

        exercise = lesson.MULTI_HEAD
        assert exercise.number == number
        report = exercise.check(self.function)
        if report.ok:
            found = exercise.prepare(self.function)
            self.function = next(a.learner for a in found if a.exercise.examine(a).ok)
        return {
            "findings": [[f.id, f.text, f.consequence, f.read] for f in report.findings],
            "notes": list(report.notes),
            "unsolved": report.unsolved,
            "printed": report.printed,
        }, {}


def frozen(value):
    """Un argumento, para saber si ha cambiado."""
    buffers = []
    return json.dumps(encode(getattr(value, "asked", value), buffers)), buffers


def main():
    """Atiende lo que llega por la entrada hasta que se cierre."""
    source, channel = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    limits = pickle.load(source)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    noticed, student = [], None
    os.makedirs(os.environ["HOME"], exist_ok=True)
    os.chdir(os.path.dirname(os.environ["HOME"]))
    set_limits(**limits)
    watch(noticed)
    send(channel, {"ready": True})
    while True:
        try:
            order, *arguments = pickle.load(source)
        except EOFError:
            return
        values = {}
        try:
            if order == "open":
                student = Student(*arguments)
                answer = {}
            else:
                answer, values = getattr(student, order)(*arguments)
        except BaseException as error:
            answer, values = told(error), {}
        try:
            send(channel, answer | {"noticed": noticed}, **values)
        except Exception as error:  # algo que no se deja mandar
            send(channel, told(error) | {"noticed": noticed})


if __name__ == "__main__":
    main()
