"""Lo que hace Python en la página: ejecutar una celda, o una respuesta y comprobarla. Lo llama ``web/obrero.js``.

En el navegador no hay hilos ni kernel: en su lugar se pone lo que aquí se escribe, y las comprobaciones
son las de siempre. No queda nada de una vez para otra: antes de cada cosa se ejecutan las celdas que le
hacen falta.
"""

import ast
import base64
import builtins
import importlib
import io
import json
import logging
import os
import re
import sys
import threading
import time
import types
import warnings
import zipfile
from pathlib import Path
from unittest import mock

import reader
from IPython.lib.pretty import pretty
from torch import core, creation, optim, overrides

from course_tools.code import Code, Nothing, changes, execute, needed, parse, remember

ROOMS = "nn", "nn.functional", "nn.init", "linalg", "cuda", "backends.mps"
DRAWING = "python/dibujo.zip"  # matplotlib, que llega con la primera celda que dibuja
FIGURES = []  # las que ha enseñado lo que se ejecuta
MOST, WIDE, HEAVY = 6, 30, 600_000  # de una celda, las que se enseñan; de una, lo que mide, en pulgadas, y en letras
OWN_LINES = []  # las líneas probadas, con su informe
CALL = 6.0  # segundos que se dan a una llamada: en la página, un bucle de Python tarda diez veces más
MISSING = "No encuentro «{}»: es el nombre que tiene que tener tu respuesta."
WHOLE = "para tenerla se han ejecutado todas las celdas del cuaderno, en su orden."
LESSON = 30.0  # segundos que se dan a una celda de la lección, con las que le hacen falta


# Quien mira el reloj: en cada vuelta de un bucle y en cada llamada o, antes de Python 3.12, en cada línea.
MONITORING = getattr(sys, "monitoring", None)
OTHERS = MONITORING and MONITORING.DISABLE  # de lo que no es de quien responde no se quiere saber más
WATCHED = []  # lo que se está ejecutando


def tick(code, *_):
    if not code.co_filename.startswith("<ejercicio") and not code.co_filename.endswith("matplotlib/artist.py"):
        return OTHERS
    one = WATCHED[-1]
    one.ticks += 1
    if one.ticks % 32 == 0 and time.monotonic() - one.began > one.limit:
        from course_checkers.engine.running import Stopped

        raise Stopped


def trace(frame, *_):
    own = frame.f_code.co_filename.startswith("<ejercicio")
    return trace if own and tick(frame.f_code) is None else None


def watch():
    """Enciende el reloj si hay algo que mirar, o lo apaga."""
    if MONITORING:
        events = MONITORING.events.JUMP | MONITORING.events.PY_START if WATCHED else 0
        MONITORING.set_events(MONITORING.PROFILER_ID, events)
    else:
        sys.settrace(trace if WATCHED else None)


if MONITORING:
    MONITORING.use_tool_id(MONITORING.PROFILER_ID, "reloj")
    for event in (MONITORING.events.JUMP, MONITORING.events.PY_START):
        MONITORING.register_callback(MONITORING.PROFILER_ID, event, tick)


class Inline:
    """Un hilo que se ejecuta al empezarlo. A lo que no acaba lo para el reloj."""

    limit, ident, daemon = CALL, 0, True

    def __init__(self, target=None, args=(), daemon=None):
        self.target, self.args = target, args

    def start(self):
        self.began, self.ticks = time.monotonic(), 0
        WATCHED.append(self)
        watch()
        try:
            self.target(*self.args)
        finally:
            WATCHED.pop()
            watch()

    def is_alive(self, *_):
        return False

    join = is_alive  # al empezarlo ya ha acabado


class Lacking:
    """Quien busca matplotlib donde aún no está: lo trae la página."""

    @staticmethod
    def find_spec(name, *_):
        if name in ("matplotlib", "PIL"):
            reader.WANTED.add(DRAWING)
            raise reader.Coming("Lo que dibuja aún no ha llegado a la página.")


def unpack(data):
    """Deja matplotlib en su sitio, y cargado: el reloj de una celda no cuenta lo que tarda."""
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        zipped.extractall(Path(reader.__file__).parent)
    sys.meta_path.remove(Lacking)
    importlib.invalidate_caches()
    os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import course_lib.plots.heatmaps
        import matplotlib.backends.backend_agg  # noqa: F401


def later(name):
    """Una función de ``course_lib.plots``, que se carga al dibujar."""
    import course_lib.plots as plots

    def draw(*given, **options):
        return getattr(importlib.import_module(f"course_lib.plots.{plots._MODULE_OF[name]}"), name)(*given, **options)

    return draw


class Markdown(str):
    """Lo que se enseña como texto, sin las marcas de un trozo de código."""

    def __repr__(self):
        return re.sub(r"^```\w*\n?|\n```$", "", self)


def show(*values):
    """Enseña unos valores: una figura, debajo de la celda."""
    for value in values:
        if hasattr(value, "savefig"):
            FIGURES.append(value)
        elif value is not None:
            builtins._ = value
            print(pretty(value))


def opened():
    """Las figuras que ha abierto ``pyplot``, que ya no lo están."""
    plt = sys.modules.get("matplotlib.pyplot")
    found = [plt.figure(number) for number in plt.get_fignums()] if plt else []
    if found:
        plt.close("all")
    return found


def picture(figure):
    """Una figura, para la página: su PNG y su texto alternativo; ``None``, si es demasiado grande."""
    from course_lib.plots import describe

    made = io.BytesIO()
    if max(figure.get_size_inches()) < WIDE:
        if hasattr(figure, "_repr_mimebundle_"):
            made.write(figure._repr_mimebundle_()[0]["image/png"])
        else:
            figure.savefig(made, format="png", dpi=160, bbox_inches="tight")
    png = base64.b64encode(made.getvalue()).decode()
    return {"png": png, "alt": describe(figure)[:4000]} if 0 < len(png) < HEAVY else None


def prepare():
    """Deja listas las comprobaciones."""
    threading.Thread = Inline
    silent = types.ModuleType("silent")  # en la página, lo que se pregunta se contesta en su sitio
    silent.Prediction = silent.reveal = silent.Questions = lambda *_, **__: None
    sys.modules |= dict.fromkeys(("course_checkers.engine.prediction", "course_checkers.engine.asking"), silent)
    sys.modules |= dict.fromkeys(("js", "pyodide_js", "pyodide_js._api"))  # la página no es de quien responde
    for finder in sys.meta_path:  # y quien quite lo de arriba no la encuentra
        getattr(finder, "jsproxies", {}).clear()
    reader.install()
    import course_checkers
    import course_lib.plots
    from course_checkers.engine import closing, exercise, questions, running  # noqa: F401
    from course_tools.opening import library

    for name in course_lib.plots.__all__:
        if name.startswith("plot_"):
            setattr(course_lib.plots, name, later(name))
    optim.allowed[:] = [False, False]
    sys.meta_path.append(Lacking)
    shown = types.ModuleType("IPython.display")
    shown.display, shown.Markdown, shown.HTML, shown.clear_output = show, Markdown, Markdown, lambda **_: FIGURES.clear()
    sys.modules["IPython.display"] = shown
    library.place = lambda: Path(f"{library.MODULE}.py")

    closing.without_progress()
    closing.line = lambda report, function: OWN_LINES.append((report, function)) or report
    running.SECONDS = CALL  # aquí todo va más despacio
    rooms = [sys.modules[name] for name in ("torch", *(f"torch.{room}" for room in ROOMS))]
    kinds = core.Tensor, sys.modules["torch.nn"].Module, sys.modules["torch.nn"].Linear
    return course_checkers, [(place, dict(vars(place))) for place in (*rooms, *kinds)]


def restore(kept):
    """Deja torch como estaba, le haya hecho lo que le haya hecho una respuesta."""
    for place, before in kept:
        for name in vars(place).keys() - before.keys():
            delattr(place, name)
        for name, value in before.items():
            if vars(place).get(name) is not value:
                setattr(place, name, value)


class Undone:
    """La respuesta de un ejercicio de antes que aún está por hacer: a quien la usa se le dice cuál."""

    def __init__(self, name, number):
        self.told = f"«{name}» es la respuesta del ejercicio {number}, que aquí está por hacer"

    def __call__(self, *_, **__):
        raise NameError(self.told)


class Page:
    """Las comprobaciones, listas."""

    def __init__(self):
        self.checkers, self.kept = prepare()
        self.call = self.checkers.engine.running.call

    def give(self, pieces):
        """Guarda lo que ha traído la página: piezas de BERT, o lo que dibuja."""
        for name, data in pieces.items():
            if name == DRAWING:
                unpack(bytes(data))
            else:
                reader.PIECES[name] = bytes(data)

    def check(self, asked):
        """Comprueba una respuesta, o ejecuta una celda. Recibe y da JSON: ``lesson``, ``before``, ``answer``…"""
        asked = json.loads(asked)
        overrides.REFUSED.clear()
        reader.WANTED.clear()
        try:
            found = self.judged(asked) if "check" in asked else self.ran(asked)
            if "source" in asked and optim.allowed[1] and (found["refused"] or found["findings"]):  # le hace falta
                optim.allowed[0] = True
                found = self.ran(asked)
        except reader.Coming:
            found = {}
        finally:
            reader.forget()
            restore(self.kept)
            creation.grad_on[0], optim.allowed[:] = True, [False, False]
        reader.rounds[0] = reader.rounds[0] + 1 if reader.WANTED else 0
        return json.dumps({"need": sorted(reader.WANTED)} if reader.WANTED else found)

    def rebuilt(self, asked, codes, last):
        """Los nombres que necesita el último trozo, después de ejecutar los de la lección que los hacen."""
        from course_tools.opening import library

        space, lost = {"__name__": "__main__", "In": list(asked["lesson"]), "get_ipython": Nothing}, {}
        kept = [library.Piece(*one, line=0) for one in asked.get("library", ())]
        library.read = lambda: (library.HEAD, kept)
        chosen = [codes[k] for k in last if k < len(asked["lesson"])]
        todo = [node for code in chosen for node in code.nodes or ()]
        with mock.patch.object(Inline, "limit", LESSON):
            outcome = self.call(lambda: rebuild(todo, space, lost, chosen), seconds=LESSON)
        if outcome.problem:  # una no acaba: falta lo que hacen ella y las que van detrás
            lost |= dict.fromkeys(affected(Code("", todo), chosen), str(outcome.problem)) | lost
        overrides.REFUSED.clear()  # lo que una no ha podido hacer lo sabrá quien la use
        return space, lost

    def ran(self, asked):
        """Ejecuta una celda de la lección: lo que escribe, y lo que da su última línea."""
        source = asked["source"]
        overrides.REFUSED.clear()
        if problem := unreadable("celda", source):
            return told("", [problem])
        codes = [*map(Code, asked["lesson"]), Code(source)]
        space, lost = self.rebuilt(asked, codes, needed(codes, (), [len(codes) - 1]))
        if missing := halted({n: lost[n] for n in lost if n not in space}, codes[-1:], space):
            return told("", missing)
        from course_checkers.engine import closing

        opened()
        FIGURES.clear()
        OWN_LINES.clear()
        drawn = []
        with mock.patch.object(Inline, "limit", LESSON), mock.patch.object(sys, "displayhook", show):
            outcome = self.call(lambda: run("celda", source, space, show=True), seconds=LESSON)
            FIGURES.extend(opened())
            problem = outcome.problem or self.call(lambda: drawn.extend(map(picture, FIGURES[:MOST])), seconds=LESSON).problem
        space["In"].append(source)
        pieces = [piece(r.exercise, closing.OWN_LINE, closing.line_written(r, f, space)) for r, f in OWN_LINES[-1:] if r.ok]
        kept = [one for one in drawn if one]
        notes = [f"tu celda dibuja {len(FIGURES)} figuras. Aquí están las {MOST} primeras."] if len(FIGURES) > MOST else []
        notes += ["una figura es demasiado grande para la página. Hazla más pequeña."] if None in drawn else []
        found = told("", [str(problem)] if problem else [], outcome.printed, notes) | {"figures": kept}
        found["unsolved"] = any(report.unsolved for report, _ in OWN_LINES[-1:])
        return found | {"piece": pieces[0]} if pieces else found

    def judged(self, asked):
        """El informe de una respuesta; si no está bien y hay celdas de quien responde, con el cuaderno en su orden."""
        number, answer = asked["number"], asked["answer"]
        if problem := unreadable(number, answer):
            return told(f"✗ Ejercicio {number}: todavía no.", [problem])
        call = ast.parse(asked["check"]).body[-1].value
        after = [("celda", source) for source in asked.get("after", ())]
        cells = [*asked["before"].items(), (number, answer), *after]
        codes = [*map(Code, asked["lesson"]), *(Code(source) for _, source in cells)]
        mine, name = len(codes) - 1 - len(after), getattr(call.args[-1], "id", "")
        found = self.tried(asked, call, cells, codes, needed(codes, [name], [mine]))
        if not found["ok"] and (asked.get("own") or any(Code(source).wild for _, source in cells)):
            whole = self.tried(asked, call, cells, codes, range(len(codes)))
            if whole["ok"]:
                found = whole | {"notes": [*whole["notes"], WHOLE]}
        return found

    def tried(self, asked, call, cells, codes, chosen):
        """El informe, después de ejecutar esas celdas."""
        from course_checkers.engine import written

        space, lost = self.rebuilt(asked, codes, chosen)
        for other, source in asked["undone"].items():
            for name in re.findall(r"^(?:def|class) (\w+)", source, re.MULTILINE):
                space[name] = Undone(name, other)
        printed, problem, skipped = "", None, len(asked["lesson"])
        for k in (k for k in chosen if k >= skipped and not problem):
            with mock.patch.object(sys, "displayhook", lambda one: one is None or space.update(_=one)):
                outcome = self.call(run, *cells[k - skipped], space, True)
            if cells[k - skipped][0] == asked["number"]:
                printed, problem = outcome.printed, outcome.problem
            elif outcome.problem:
                lost |= dict.fromkeys(affected(codes[k], codes), str(outcome.problem)) | lost
                overrides.REFUSED.clear()
        name = getattr(call.args[-1], "id", "answer")
        if problem := problem or name not in space and MISSING.format(name):
            found = told(f"✗ Ejercicio {asked['number']}: todavía no.", [str(problem)], printed)
        else:
            report = eval(ast.unparse(call), space | {call.func.id: getattr(self.checkers, call.func.id)})
            said, printed = [str(one) for one in report.findings], report.printed or printed
            found = told(report.head, said, printed, report.notes, report.ok, report.unsolved)
        missing = halted(lost, [codes[k] for k in chosen], space)
        if missing and not found["ok"] and not found["unsolved"]:
            overrides.REFUSED += re.findall("en la página no está «(.*?)»", missing[0])
            found = told(found["head"], missing, printed)
        if found["ok"] and callable(learner := space[name]):
            space["In"] += [source for _, source in cells]
            mine = written.written(learner, asked["number"], space)
            found["piece"] = piece(asked["number"], report.title, mine)
        return found


def unreadable(number, source):
    """Por qué Python no entiende un programa, si no lo entiende."""
    try:
        remember(f"<ejercicio {number}>", source)
        compile(parse(source), f"<ejercicio {number}>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        from course_checkers.engine.running import in_spanish

        line = (error.text or "").strip()
        where = f"la línea {error.lineno}" + (f", «{line[:90]}»" if line else "")
        return f"Python no entiende {where}: {in_spanish(error.msg)[1]}."


def piece(number, title, found):
    """Una pieza de ``mi_biblioteca.py``: su número, su nombre, su cabecera y su código."""
    from course_tools.opening import library

    return found and [number, found[0], library.heading(number, title, *found), f"\n\n{found[1].strip()}\n"]


def run(number, source, space, show=False):
    remember(f"<ejercicio {number}>", source)
    execute(parse(source).body, f"<ejercicio {number}>", space, show)


def rebuild(todo, space, lost, chosen):
    """Ejecuta unas instrucciones, y las quita. Lo que una no puede hacer, falta: en ``lost``, por qué."""
    while todo:
        node = todo[0]
        names = node.names if isinstance(node, ast.Import | ast.ImportFrom) else [None]
        for name in names:  # un ``import`` de varios nombres, uno a uno
            one = type(node)(**vars(node) | {"names": [name]}) if name else node
            try:
                execute([one], "<ejercicio lección>", space)
            except Exception as error:
                made = Code("", [one])
                lost |= dict.fromkeys(affected(made, chosen), f"{type(error).__name__}: {error}") | lost
                for gone in made.makes | made.binds:
                    space.pop(gone, None)
        del todo[0]


def affected(code, others):
    """Los nombres que un trozo hace o cambia."""
    return sorted(code.makes | code.binds | changes([*others, code])[-1])


def halted(lost, codes, space):
    """Lo primero que usan esos trozos y no está como se quería, y por qué."""
    used = set().union(*(code.needs | code.later for code in codes))
    for name in (name for name in lost if name in used and name[0] != "·"):
        how = "está a medias" if name in space else "no está"
        return [f"«{name}» {how}, porque su celda se ha parado: {lost[name]}"]


def told(head, findings, printed="", notes=(), ok=False, unsolved=False):
    """Lo que se dice de una respuesta: solo texto."""
    found = {"head": head, "findings": findings, "notes": list(notes), "ok": ok, "unsolved": unsolved}
    return found | {"printed": printed[:4000], "refused": sorted(set(overrides.REFUSED))}
