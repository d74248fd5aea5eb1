"""Ejecutar el código de quien aprende sin que se lleve nada por delante.

Se le dan copias, se le espera un rato, no puede pedir memoria sin fin y, si falla, se enseña su
línea y no la de la biblioteca. En su hilo, y con sus límites, se lee también lo que devuelve y lo
que dice su error: de ahí solo salen datos. Lo que no se puede parar desde Python es una cuenta
escrita en C que no suelta el intérprete.
"""

import contextlib
import contextvars
import ctypes
import functools
import gc
import io
import mmap
import random
import re
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch

import course_lib
from course_checkers.engine.mistakes import lines, texts_of, told
from course_checkers.engine.reading import Unreadable, frozen
from course_checkers.engine.report import PRINTED, Finding, cut
from course_checkers.inside.code import admits
from course_tools.notebook import advice

SECONDS = 2.0  # lo que se espera a una llamada (véase ``exceeded``)
TOTAL = 60.0  # y a una comprobación entera
MEMORY = 2 * 2**30  # bytes que puede pedir, además de los que se usan al empezar
DEEP = 3000  # las llamadas dentro de llamadas que se admiten
OURS = Path(__file__).parents[1], Path(course_lib.__file__).parent
LIBRARIES = ("site-packages", "dist-packages", *map(str, OURS), "<frozen")
SPENT = contextvars.ContextVar("spent", default=None)  # lo que lleva la comprobación que se hace
SAYS = told(__file__, "siempre")


class Stopped(BaseException):
    """Se lanza dentro de un hilo que no acaba. Ningún ``except Exception`` lo para."""


class OutOfTime(Exception):
    """Una comprobación que tarda demasiado; su ``Finding``, en ``args``."""


class Spent:
    """Cuántas llamadas lleva una comprobación y cuánto han tardado; y cuándo y con qué memoria empezó."""

    def __init__(self):
        self.calls, self.seconds = 0, 0.0
        self.began, self.memory = times()[0], in_use()


class Printed(io.StringIO):
    """Lo que se escribe con ``print``: lo primero. No se puede cerrar."""

    def write(self, text):
        super().write(cut(text, PRINTED)[: PRINTED - self.tell()])
        return len(text)

    def close(self):
        pass


class Outcome(NamedTuple):
    """Una copia de lo que devolvió una llamada o, si no devolvió nada, por qué.

    En ``kept``, cada tensor devuelto con su copia: para saber si alguien escribe en él después.
    """

    value: object = None
    problem: Finding | None = None
    printed: str = ""
    unsolved: bool = False
    kept: tuple = ()

    @property
    def fatal(self):
        """Si no tiene sentido seguir llamando."""
        return self.problem is not None and self.problem.id in ("no-acaba", "memoria", "tarda")


def call(function, *arguments, seconds=None, seed=0):
    """Llama a ``function`` y vuelve siempre: con lo que devuelve o con un ``Finding``.

    Lo que pida al azar sale de ``seed``. Los números al azar, el tipo por defecto de torch y la
    salida quedan como estaban.
    """
    warm_up()
    if late := too_late():
        return Outcome(problem=late)
    box, text, kept, spent = {}, Printed(), [], SPENT.get()
    seconds, began = seconds or SECONDS, times()[0]

    def work():
        with contextlib.suppress(BaseException):  # el de quien lo para
            try:
                torch.default_generator.manual_seed(seed)  # lo mismo, sin mirar si hay otros aparatos
                random.seed(seed)
                np.random.seed(seed)
                value = function(*arguments)
                box["reading"] = True
                box["value"] = frozen(value, kept)
            except Stopped:
                pass
            except BaseException as error:  # también SystemExit: el kernel no se cierra
                # Con unos puntos suspensivos a medio camino tampoco ha terminado. El de einsum es RuntimeError.
                halfway = isinstance(error, TypeError | AttributeError) and "reading" not in box
                box["unsolved"] = halfway and "ellipsis" in said_by(error)
                box["problem"] = explain(error, "reading" in box)

    # Con su contexto, lo que pregunta al kernel qué celda es la que se ejecuta lo sabe también.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), daemon=True)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), nothing_changes():
        thread.start()
        late = exceeded(lambda pause: thread.join(pause) or not thread.is_alive(), seconds)
        ended = not late or stop(thread)
    if spent is not None:
        spent.calls, spent.seconds = spent.calls + 1, spent.seconds + times()[0] - began
    printed = text.getvalue()
    if ended and "value" in box:
        value = box["value"]
        left = value if isinstance(value, tuple) else (value,)
        return Outcome(value, None, printed, any(part is ... for part in left), tuple(kept))
    if ended and "problem" in box:
        return Outcome(problem=box["problem"], printed=printed, unsolved=box["unsolved"])
    return Outcome(problem=never_ends(late or seconds, ended, "reading" in box), printed=printed)


def times():
    """El reloj y el procesador de la respuesta. Quien la ejecuta en otro proceso pone los de allí."""
    return time.monotonic(), time.process_time()


def exceeded(wait, seconds, read=None):
    """Espera a lo que ``wait`` diga que ha acabado. Si acaba a tiempo, 0; si no, lo que ha esperado (``over``)."""
    began = (read or times)()
    while not wait(0.05):
        if late := over(began, seconds, read):
            return late
    return 0


def over(began, seconds, read=None):
    """Si se han gastado ``seconds`` de procesador o, porque espera o porque el ordenador está a otra cosa, el
    triple de reloj, cuántos son; si no, 0."""
    passed, used = (now - then for now, then in zip((read or times)(), began))
    return seconds if used >= seconds else 3 * seconds * (passed >= 3 * seconds)


@functools.cache
def warm_up():
    """torch carga algunas piezas la primera vez que se usan: que no cuente en el tiempo de nadie."""
    torch.broadcast_shapes((1,), (1,))


def stop(thread):
    """Para un hilo de Python, aunque atrape los errores. Dice si lo ha conseguido."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for _ in range(5):
        raise_in(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        thread.join(0.1)
        if not thread.is_alive():
            return True
    return False


def too_late(part=1):
    """Un ``Finding`` si la comprobación que se hace ha gastado ya su tiempo, o esta parte de él."""
    spent = SPENT.get()
    if spent is None or (passed := times()[0] - spent.began) <= part * TOTAL:
        return None
    known = SAYS["tarda#aquí" if spent.seconds < passed / 2 else "tarda"]
    return known.saying(total=TOTAL, calls=spent.calls, seconds=spent.seconds).found()


def never_ends(seconds, ended, reading=False):
    tail = "Lo he parado." if ended else "No he podido pararlo: reinicia el kernel."
    found = SAYS["no-acaba#leer" if reading else "no-acaba"].saying(seconds=seconds)
    return Finding(found.id, f"{found.text} {tail}")


@contextlib.contextmanager
def within_limits():
    """Lo que dura una comprobación: con un tiempo entre todas las llamadas, y un solo hilo.

    Con tensores pequeños, repartir cada cuenta entre varios hilos solo la retrasa.
    """
    if SPENT.get() is not None:
        raise RuntimeError("una comprobación no se hace dentro de otra")
    threads = torch.get_num_threads()
    with swept():
        began = SPENT.set(Spent())
        torch.set_num_threads(1)
        try:
            with same_chance():
                yield
        finally:
            torch.set_num_threads(threads)
            SPENT.reset(began)


@contextlib.contextmanager
def swept():
    """Lo que deje suelto quien aprende se recoge al final, en un hilo que se puede parar.

    Recoger un objeto es ejecutar su ``__del__``: si no, le tocaría a cualquier línea nuestra.
    """
    collecting = gc.isenabled()
    gc.disable()
    gc.freeze()  # así, solo se mira lo de ahora
    try:
        yield
    finally:
        call(gc.collect)
        gc.unfreeze()
        if collecting:
            gc.enable()


@contextlib.contextmanager
def same_chance():
    """Deja los números al azar como estaban."""
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    numpy_state = np.random.get_state()
    try:
        yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        np.random.set_state(numpy_state)


@contextlib.contextmanager
def nothing_changes():
    """Deja como estaban lo que el código de fuera puede tocar, y limita la memoria."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    deep, same_as_ever = sys.getrecursionlimit(), {"setrecursionlimit", "setswitchinterval"}
    watchers = threading.gettrace(), threading.getprofile()
    fixed = mock.patch.multiple(sys, **dict.fromkeys(same_as_ever, lambda number: None))
    # En una comprobación, los números al azar se dejan como estaban al acabarla.
    chance = same_chance() if SPENT.get() is None else contextlib.nullcontext()
    try:
        sys.setrecursionlimit(min(deep, DEEP))
        with chance, warnings.catch_warnings(), bounded_memory(), fixed:
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.setrecursionlimit(deep)
        threading.settrace(watchers[0])
        threading.setprofile(watchers[1])
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


@contextlib.contextmanager
def bounded_memory():
    """En Linux, lo que pida más memoria que ``MEMORY`` recibe un error, y el kernel sigue vivo.

    Cuenta desde que empieza la comprobación: lo que se guarda entre dos llamadas no da más.
    """
    try:
        import resource

        used = in_use() if SPENT.get() is None else SPENT.get().memory
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    except (ImportError, OSError, ValueError):  # otro sistema, o ya hay un límite menor
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def in_use():
    """Los bytes que ocupa este proceso; 0, si el sistema no lo dice así."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * mmap.PAGESIZE if statm.exists() else 0


# --- Antes de llamar ------------------------------------------------------------------------------


def wrong_signature(function, names):
    """Un ``Finding`` si ``function`` no admite estos argumentos, en este orden; si no, ``None``."""
    expected = ", ".join(names)
    if not callable(function):
        kind = type(function).__name__
        text = f"Esperaba una función que reciba ({expected}), y esto es un «{kind}»."
        if function is None or isinstance(function, torch.Tensor):
            text += " Da su nombre, sin llamarla: sin paréntesis."
        return Finding("no-es-funcion", text)
    if not admits(function, names):
        return Finding("firma", f"Tu función tiene que poder recibir ({expected}), en ese orden.")
    return None


# --- Los errores, en español (sus frases, en running.txt) -----------------------------------------


def explain(error, reading=False):
    """Cuenta en español un error de quien aprende, con su línea; ``reading``, si sale al leer lo que da."""
    if reading and not isinstance(error, MemoryError):
        known = type(error) is Unreadable and Finding("ilegible", f"Tu código devuelve {error}.")
        return known or SAYS["ilegible"].found()
    kind, message = in_spanish(said_by(error))
    if isinstance(error, MemoryError):
        kind, message = "memoria", "ha pedido demasiada memoria"
    line = own_line(error)
    where = f", en la línea «{line}»" if line else ""
    name = cut(type(error).__name__, 60)
    text = f"Tu código se para con {name}{where}: {message[:200].rstrip('.')}. {advice(error)}"
    return Finding(kind, text.rstrip())


def said_by(error):
    """La primera línea de lo que dice un error; se corta antes de mirarla, por si es enorme."""
    try:
        return cut(str(error)).strip().splitlines()[0]
    except Exception:  # no dice nada, o ni siquiera sabe decir qué es
        return cut(type(error).__name__)


def in_spanish(message):
    """De qué clase es un error de Python, de NumPy o de torch, y cómo se cuenta."""
    for kind in ("error", "memoria"):
        for pattern, (_, spanish) in lines(texts_of(__file__))[kind].items():
            if match := re.search(pattern, message):
                return kind, match.expand(spanish)
    return "error", message


def own_line(error):
    """La última línea del error que escribió quien aprende, o ``None``.

    Un error que viene de otro proceso la trae ya, en ``own_line``: aquí no queda su rastro.
    """
    if (known := vars(type(error)).get("own_line")) is not None:
        return known
    for frame in reversed(traceback.extract_tb(error.__traceback__, limit=-100)):
        if frame.line and not any(name in frame.filename for name in LIBRARIES):
            return cut(frame.line.strip(), 90)
    return None
