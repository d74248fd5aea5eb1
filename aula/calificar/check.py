"""Comprobar una entrega desde fuera de la jaula, con la biblioteca limpia.

La comprobación se hace aquí; dentro (``student``) solo se ejecuta la respuesta, con los argumentos que
se le mandan. Lo que llega de dentro son números y textos: nada de lo que allí se cambie puede decidir
una nota, salvo devolver lo que había que devolver.
"""

import builtins
import contextlib
import functools
import inspect
import json
import math
import os
import pickle
import struct
import subprocess
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from unittest import mock

import torch
from safetensors.torch import load

import course_checkers
from aula.calificar import limits
from aula.calificar.cage import command
from aula.calificar.text import SAYS
from course_checkers.engine import Finding, catalog, questions, running
from course_checkers.engine.report import Report
from course_tools.cells import exercise

MOST_TEXT, MOST = 2**18, 2**20  # bytes de un mensaje, y de sus números: más, no se lee
START, CELLS = 120, 120  # segundos para arrancar, y para ejecutar las celdas de un ejercicio
OTHERS = 10  # segundos que se guardan para cada ejercicio de detrás
OPENED = 15  # las jaulas que se abren sin que le cuente a nadie: más, es que las pide él
LIFE = 3600  # y los que dura una jaula: a cada llamada la para antes quien comprueba
LONGEST = 2000  # letras de una frase de un informe
TEXTS = SAYS["informes"]


class Gone(RuntimeError):
    """La jaula se ha cerrado, o lo que contesta no se entiende."""


def decode(value, tensors):
    """Un valor de ``student.encode``. Solo salen datos: números, textos, tensores, listas."""
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "...":
        return ...
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)(decode(item, tensors) for item in inside)
    if kind == "dict":
        return {decode(k, tensors): decode(v, tensors) for k, v in inside}
    if kind in ("tensor", "ndarray", "number"):
        tensor = tensors[inside]
        if math.prod(n or 1 for n in tensor.shape) > MOST:  # sin números no ocupa nada; en listas, sí
            raise ValueError
        array = tensor if kind == "tensor" else tensor.numpy()
        return array[()] if kind == "number" else array
    return type(str(inside)[:80], (), {})()  # de lo que no son datos, el nombre de su clase


def rebuilt(told):
    """Un error de dentro, como si fuera de aquí: su clase, lo que dice y su línea."""
    base, text, line = getattr(builtins, told["base"], None), str(told["text"]), str(told["line"])
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        base = Exception
    line = line if len(line) <= 90 else line[:90] + "…"
    body = {"__init__": lambda self: None, "__str__": lambda self: text, "own_line": line}
    return type(str(told["name"])[:80], (base,), body)()


def receive(pipe):
    """Lo que contesta la jaula: el mensaje y sus valores. Nada de lo que llega se ejecuta."""
    try:
        text, numbers = struct.unpack("<II", pipe.read(8))
        if text > MOST_TEXT or numbers > MOST:
            raise ValueError
        message, tensors = json.loads(pipe.read(text)), load(pipe.read(numbers))
        return message, {name: decode(one, tensors) for name, one in message["values"].items()}
    except Exception:  # se ha cerrado, o manda lo que nadie bueno manda
        raise Gone(TEXTS["se_cierra"]) from None


class Cage:
    """Una entrega, con sus celdas (número, código), en su jaula. Si se cierra, se abre otra al seguir.

    ``course``, el código de las celdas de su lección: las demás las ha escrito quien entrega.
    """

    def __init__(self, cells, caged, seconds=CELLS, course=(), most=math.inf):
        self.cells, self.caged, self.seconds, self.course = cells, caged, seconds, course
        self.plan, self.plans, self.raised = 0, (), False  # con qué celdas (``student.plans``)
        self.stopped, self.asked = None, "(?!)"  # el error de la primera que se para; y cómo se comprueba
        self.process, self.target, self.noticed = None, None, []
        self.busy, self.closed = False, None  # si está a medias de algo, y el error que la ha cerrado
        self.frozen, self.shift = None, (0, 0)  # los tiempos, mientras se abre, y lo que se les quita
        self.uses = defaultdict(set)  # de cada respuesta, los nombres que usa
        self.endless = TEXTS["no_acaba"].format(seconds)
        self.waited, self.opened = 0, 0  # lo que han esperado a un procesador las jaulas de antes; y cuántas van
        self.end = self.until = self.clock() + most  # cuándo se deja a esta persona; y este ejercicio

    def open(self):
        self.kill()
        began = self.clock()
        order, settings = command(self.caged)
        if self.caged:
            order, settings = limits.fenced(order, settings)
        how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}  # sus errores, a la pantalla
        how |= {"env": settings, "start_new_session": True}
        # La abre el hilo que lee lo que contesta, que dura lo que ella: ``bwrap`` acaba con quien lo ha empezado.
        self.keeper = ThreadPoolExecutor(1)
        opened = self.keeper.submit(subprocess.Popen, order, **how)
        try:
            self.process = opened.result()
            given = [(k, source, source.strip() not in self.course) for k, source in self.cells]
            self.send(given, limits.inside(LIFE), course_checkers.__all__, seconds=START)
        except (Gone, OSError):
            self.closed = OSError("la jaula no se abre")
            raise self.closed from None
        lasted = (self.clock() - began) * (self.opened < OPENED)  # no es suyo
        self.end, self.until, self.opened = self.end + lasted, self.until + lasted, self.opened + 1

    def kill(self):
        if self.process:
            self.waited += limits.queued(self.process.pid)
            self.process.kill()
            self.process.wait()
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.process, self.busy = None, False

    def spent(self):
        """El reloj, y el procesador de aquí y de allí."""
        return time.monotonic(), time.process_time() + limits.spent(getattr(self.process, "pid", 0))

    def late(self):
        """Si se ha acabado lo que se espera a este ejercicio."""
        return self.clock() > self.until

    def clock(self):
        """El reloj, sin lo que se espera a un ordenador ocupado en otra cosa: no es culpa de nadie."""
        return time.monotonic() - self.waited - limits.queued(os.getpid())

    def share(self, others):
        """Da a un ejercicio lo que queda, menos algo para los ``others`` que vienen detrás."""
        left = self.end - self.clock()
        self.until = self.end - min(OTHERS * others, left / 2) if left > 0 else self.end

    def times(self):
        """Los de la respuesta (véase ``running.times``): lo que se tarda en abrir otra jaula no es suyo."""
        return self.frozen or tuple(a - b for a, b in zip(self.spent(), self.shift))

    def again(self):
        """Otra jaula, igual que la que ha dejado a medias una llamada que no acababa."""
        self.frozen = self.times()
        try:
            self.get(self.target)
        finally:
            self.shift = tuple(a - b for a, b in zip(self.spent(), self.frozen))
            self.frozen = None

    def send(self, *order, seconds):
        """Manda una orden y da lo que contesta. Se espera menos si se acaba lo de esta persona (``until``)."""
        data, sent = pickle.dumps(order), self.process.stdin
        # En su hilo: quien llena la tubería y no lee no deja ni mandarla. Si se ha cerrado, lo dice lo que llega.
        self.keeper.submit(lambda: (sent.write(data), sent.flush()))
        waiting = self.keeper.submit(receive, self.process.stdout)
        # A trozos: así, quien comprueba puede interrumpirlo.
        done = lambda pause: wait([waiting], pause).done or self.busy and self.late()  # noqa: E731
        if running.exceeded(done, seconds, self.spent) or not waiting.done():
            raise TimeoutError
        return waiting.result()

    def get(self, target):
        """Ejecuta allí lo que hace falta para tener ``target``. Dice qué es y, si son datos, los da."""
        self.target, self.closed = target, None
        if self.process is None or self.busy:
            self.open()
        found, values = self.ask("get", target, self.plan, self.asked, seconds=self.seconds)
        self.plans, self.raised = found.get("plans", ()), "error" in found or "missing" in found
        self.stopped = (stopped := found.get("stopped")) and stopped | {"undone": found.get("undone")}
        return found, values

    def ask(self, *order, seconds):
        """Lo que contesta a una orden. Si no contesta bien, o no acaba, de esa jaula no se espera más."""
        self.busy = True
        try:
            message, values = self.send(*order, seconds=seconds)
        except (Gone, TimeoutError) as error:
            self.closed = error
            raise
        self.busy = False
        if order[0] == "get":
            self.uses[order[1]] = {str(name) for name in message.get("uses", ())}
        noticed = [*self.noticed, *(str(text)[:200] for text in message.get("noticed", ()))]
        self.noticed = list(dict.fromkeys(noticed))[:5]  # también lo de otra jaula, antes
        return message, values

    def call(self, *arguments, holder=None, name=""):
        """La respuesta, como función de aquí: la ejecuta allí y da, o lanza, lo mismo.

        Con ``holder``, se llama allí a lo que dice ``name`` de quien tiene la respuesta.
        """
        modes = torch.overrides._get_current_function_mode_stack()
        heard = [mode for mode in modes if hasattr(mode, "names")]  # véase properties.not_by_hand
        order = "call", arguments, torch.initial_seed() % 2**63, bool(heard), holder, name
        if self.closed:
            raise self.closed
        if self.process is None or self.busy:
            self.again()
        answer, values = self.ask(*order, seconds=LIFE)
        for mode in heard:
            mode.names.update(map(str, answer.get("heard", ())))
        print(str(answer.get("printed", ""))[:20000], end="")
        for k, argument in enumerate(arguments):
            if str(k) in values:
                change(argument, values[str(k)])
        if "error" in answer:
            self.raised = True
            raise rebuilt(answer["error"])
        return values.get("value")


def change(argument, value):
    """Deja un argumento como lo ha dejado la respuesta, para que se vea que lo cambia."""
    if hasattr(argument, "asked"):  # el modelo de mentira: lo que se le ha pedido
        argument.asked = value if isinstance(value, list) else []
    elif isinstance(argument, torch.Tensor) and isinstance(value, torch.Tensor):
        argument.data = value
    elif isinstance(argument, list):
        argument[:] = value if isinstance(value, list) else []


@functools.cache
def exercises():
    """Los ejercicios y las preguntas del curso, por su número."""
    every = [*catalog.modules()]
    known = {e.number: e for m in every for e in catalog.exercises(m)}
    return known | {q.number: q for m in every for q in getattr(m, "QUESTIONS", ())}


def check(cage, exercise, target):
    """El informe de un ejercicio de una entrega.

    Si con las celdas que parecen bastar no está bien, se prueba con más (``student.plans``): con las de quien
    entrega y, si algo se para, con el cuaderno entero. Lo que sale de ellas es lo que sale en JupyterLab.
    """
    name = next((n for n in course_checkers.__all__ if getattr(course_checkers, n) is exercise), "check_answer")
    cage.asked = rf"\b{name}\(\s*(?:[\"']{exercise.number}[\"']\s*,\s*)?([^\W\d]\w*)\s*\)"
    best = patient(cage, exercise, target)
    kinds, raised = cage.plans, cage.raised
    for cage.plan in range(1, len(kinds)):
        how = kinds[cage.plan]
        if best.ok or how != "parte" and best.unsolved or how == "entero" and not raised or cage.late():
            continue
        cage.kill()
        report = patient(cage, exercise, target)
        if report.ok or how == "entero" and not {f.id for f in report.findings} & {"no-acaba", "tarda"}:
            best = replace(report, notes=(*report.notes, TEXTS[how]) if report.ok else report.notes)
    if stopped := not best.ok and raised and cage.stopped:  # quizá, por algo que en JupyterLab sí se puede
        why = "no_se_hace" if stopped["undone"] or isinstance(rebuilt(stopped), OSError) else "se_para"
        line = TEXTS[why].format(str(stopped["line"])[:90], str(stopped["name"])[:60])
        best = replace(best, notes=(*best.notes, line))
    if cage.plan:
        cage.kill()
        cage.plan = 0
    return best


def patient(cage, exercise, target):
    """Si una llamada no acaba, se prueba otra vez: quizá el ordenador estaba ocupado en otra cosa."""
    report = once(cage, exercise, target)
    late = [f.id in ("no-acaba", "tarda") and f.text != cage.endless for f in report.findings]
    return once(cage, exercise, target) if any(late) and not cage.late() else report


def reported(exercise, finding):
    """El informe de un ejercicio con un solo error."""
    return Report(exercise.number, exercise.title, (finding,))


def once(cage, exercise, target):
    """El informe, a la primera."""
    if cage.late():
        return reported(exercise, Finding("sin-tiempo", TEXTS["sin_tiempo"]))
    try:
        with mock.patch.object(running, "times", cage.times):
            report = clipped(judge(cage, exercise, target, *cage.get(target)))
        broken = cage.closed and not report.ok and not report.unsolved
    except Exception as error:  # contesta lo que nadie bueno contesta
        cage.closed, broken = cage.closed or error, True
    if broken:
        report = reported(exercise, closed(cage))
    if {f.id for f in report.findings} & {"no-acaba", "tarda", "memoria", "sin-tiempo"}:
        cage.kill()  # lo que queda dentro no atiende
    return report


def closed(cage):
    """Lo que se dice de una jaula que se ha cerrado. Si no se abre, no es culpa de la entrega: el error."""
    if isinstance(cage.closed, TimeoutError):
        return Finding("sin-tiempo", TEXTS["sin_tiempo"]) if cage.late() else Finding("no-acaba", cage.endless)
    if isinstance(cage.closed, OSError):
        raise cage.closed
    name = "se_cierra" if isinstance(cage.closed, Gone) else "no_se_puede"
    return Finding(name.replace("_", "-"), TEXTS[name])


def judge(cage, exercise, target, found, values):
    """El informe, sabiendo ya qué es la respuesta."""
    if "error" in found:
        return reported(exercise, running.explain(rebuilt(found["error"])))
    if "missing" in found:
        return reported(exercise, Finding("falta", TEXTS["falta"].format(target)))
    if not found["callable"]:
        return exercise.check(values["value"])
    if isinstance(exercise, questions.Question):
        return exercise.check(type("function", (), {})())
    if found["stub"] is True:
        return exercise.check(...)
    if holder := getattr(exercise, "holder", None):  # la respuesta no es una función: es una clase
        return exercise.check(held(cage, holder))
    return exercise.check(stand_in(cage, found))


def stand_in(cage, found):
    """Una función de aquí con los argumentos de la de allí, que la llama."""

    def learner(*arguments):
        return cage.call(*arguments)

    if found["signature"] is not None:
        empty, kinds = inspect.Parameter.empty, inspect._ParameterKind
        learner.__signature__ = inspect.Signature(
            inspect.Parameter(str(name), kinds(kind), default=None if optional else empty)
            for name, kind, optional in found["signature"]
        )
    return learner


def held(cage, holder):
    """Un ``holder`` de aquí que todo lo pregunta al de allí."""

    def asked(name):
        return lambda self, *arguments: cage.call(*arguments, holder=holder, name=name)

    names = [n for n, one in vars(holder).items() if inspect.isfunction(one) and n[:2] != "__"]
    body = {"__init__": lambda self: None} | {name: asked(name) for name in names}
    return type(holder.__name__, (holder,), body)()


def clipped(report):
    """El mismo, sin frases enormes: en ellas van nombres y valores que pone quien entrega."""
    cut = [Finding(*(part[:LONGEST] for part in vars(one).values())) for one in report.findings]
    return replace(report, findings=tuple(cut))


def grade(cells, answers, caged, seconds=CELLS, right=None, course=(), asked=None, most=math.inf):
    """Los informes de una entrega, lo que ha intentado hacer fuera de lo suyo y los errores de arrastre.

    ``answers`` da el nombre de la respuesta de cada ejercicio; ``right``, el código bueno de un nombre;
    ``course``, las celdas de la lección, y ``asked``, los ejercicios que se piden. De los demás se prueban los
    que usa uno de estos que no está bien, por si el error es suyo. A los ``most`` segundos se deja.
    """
    cage, reports = Cage(cells, caged, seconds, course, most), {}
    asked = list(answers) if asked is None else [number for number in answers if number in asked]
    try:
        for after, number in zip(range(len(asked))[::-1], asked):
            cage.share(after)
            reports[number] = check(cage, exercises()[number], answers[number])
        used = set().union(*(cage.uses[answers[number]] for number in asked if not reports[number].ok))
        for number, name in answers.items() if right else ():
            if number not in reports and name in used:
                reports[number] = check(cage, exercises()[number], name)
    finally:
        cage.kill()
    every = [reports[number] for number in answers if number in reports]
    found = carried(cage, every, answers, right) if right else {}
    return [reports[number] for number in asked], cage.noticed, {n: o for n, o in found.items() if n in asked}


def carried(cage, reports, answers, right):
    """Los ejercicios que estarían bien si lo estuvieran otros, de antes, que usan: número → los otros.

    Se prueban en otra jaula, que tiene ya la respuesta de esos otros: de ella solo sale si este está bien.
    La de uno de después traería la de este, que quizá usa.
    """
    wrong = [report.exercise for report in reports if not report.ok]
    found = {}
    for k, number in enumerate(wrong):
        used = [other for other in wrong[:k] if answers[other] in cage.uses[answers[number]]]
        if not (codes := {other: right(answers[other]) for other in used}):
            continue
        cells, left = with_right(cage.cells, number, codes), cage.end - cage.clock()
        second = Cage(cells, cage.caged, cage.seconds, cage.course, left)
        try:
            if once(second, exercises()[number], answers[number]).ok:
                found[number] = used
        finally:
            second.kill()
    return found


def with_right(cells, number, codes):
    """Las celdas de una entrega, con el código bueno de otros ejercicios donde estaba el suyo."""
    made, pending = [], [(f"b{other}", code) for other, code in codes.items()]
    for k, source in cells:
        what, mine = exercise(source) or ("", "")
        mine = mine if what == "Ejercicio" else ""
        if mine in codes or mine == number:  # el código bueno trae lo que usa: va todo junto
            made, pending = made + pending, []
        if mine not in codes:
            made.append((k, source))
    return made
