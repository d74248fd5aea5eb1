"""Ejecutar el código de quien aprende sin que se lleve nada por delante.

Se le dan copias, se le espera un rato, no puede pedir memoria sin fin y, si falla, se enseña su
línea y no la de la biblioteca.
"""

import contextlib
import contextvars
import ctypes
import functools
import inspect
import io
import random
import re
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import course_lib
from course_checkers.engine.mistakes import lines, texts_of
from course_checkers.engine.report import Finding
from course_tools.notebook import advice

SECONDS = 2.0  # lo que se espera a una llamada
TOTAL = 30.0  # y a todas las de una comprobación
MEMORY = 2 * 2**30  # bytes que puede pedir, además de los que ya se usan
OURS = Path(__file__).parents[1], Path(course_lib.__file__).parent
LIBRARIES = ("site-packages", "dist-packages", *map(str, OURS), "<frozen")
SPENT = contextvars.ContextVar("spent", default=None)  # cuántas llamadas van, y cuánto han tardado


class Stopped(BaseException):
    """Se lanza dentro de un hilo que no acaba. Ningún ``except Exception`` lo para."""


class Outcome(NamedTuple):
    """Lo que devolvió una llamada o, si no devolvió nada, por qué."""

    value: object = None
    problem: Finding | None = None
    printed: str = ""
    unsolved: bool = False

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
    if (spent := SPENT.get()) is not None and spent[1] > TOTAL:
        return Outcome(problem=too_slow(*spent))
    box, text = {}, io.StringIO()
    seconds, started = seconds or SECONDS, time.monotonic()

    def work():
        try:
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed)
            box["value"] = function(*arguments)
        except BaseException as error:  # también SystemExit: el kernel no se cierra
            box["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), nothing_changes():
        began = time.process_time()
        thread.start()
        thread.join(seconds)
        if thread.is_alive() and time.process_time() - began < seconds / 2:
            thread.join(2 * seconds)  # el ordenador está ocupado en otra cosa: se le da más tiempo
            seconds *= 3
        ended = not thread.is_alive() or stop(thread)
    if spent is not None:
        spent[:] = spent[0] + 1, spent[1] + time.monotonic() - started
    printed, error = text.getvalue(), box.get("error")
    if not ended or isinstance(error, Stopped):
        return Outcome(problem=never_ends(seconds, ended), printed=printed)
    if error is None:
        value = box.get("value")
        left = value if isinstance(value, tuple) else (value,)
        return Outcome(value, printed=printed, unsolved=any(part is ... for part in left))
    # Quien deja unos puntos suspensivos a medio camino tampoco ha terminado de resolverlo. einsum
    # también dice «ellipsis», y su error es RuntimeError.
    pending = isinstance(error, NotImplementedError)
    pending = pending or isinstance(error, TypeError | AttributeError) and "ellipsis" in str(error)
    return Outcome(problem=explain(error), printed=printed, unsolved=pending)


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


def too_slow(calls, seconds):
    text = (
        f"Tu código tarda demasiado: {calls} pruebas pequeñas han tardado {seconds:.0f} segundos, "
    )
    return Finding("tarda", text + "y quedan más. Busca un bucle que repita lo que ya está hecho.")


def never_ends(seconds, ended):
    tail = "Lo he parado." if ended else "No he podido pararlo: reinicia el kernel."
    text = f"Tu código no ha terminado en {seconds:.2g} segundos: busca un bucle que no acabe. "
    return Finding("no-acaba", text + tail)


@contextlib.contextmanager
def within_limits():
    """Lo que dura una comprobación: con un tiempo entre todas las llamadas, y un solo hilo.

    Con tensores pequeños, repartir cada cuenta entre varios hilos solo la retrasa.
    """
    threads, began = torch.get_num_threads(), SPENT.set([0, 0.0])
    torch.set_num_threads(1)
    try:
        with same_chance():
            yield
    finally:
        torch.set_num_threads(threads)
        SPENT.reset(began)


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
    # En una comprobación, los números al azar se dejan como estaban al acabarla.
    chance = same_chance() if SPENT.get() is None else contextlib.nullcontext()
    try:
        with chance, warnings.catch_warnings(), bounded_memory():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


@contextlib.contextmanager
def bounded_memory(extra=None):
    """En Linux, lo que pida más memoria que ``extra`` recibe un error, y el kernel sigue vivo."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        used, (soft, hard) = pages * resource.getpagesize(), resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + (extra or MEMORY), hard))
    except (ImportError, OSError, ValueError):  # otro sistema, o ya hay un límite menor
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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
    try:
        inspect.signature(function).bind(*names)
    except TypeError:
        return Finding("firma", f"Tu función tiene que poder recibir ({expected}), en ese orden.")
    except ValueError:  # algunas funciones escritas en C no dicen qué reciben
        return None
    return None


# --- Los errores, en español (sus frases, en running.txt) -----------------------------------------


def explain(error):
    """Cuenta en español un error de quien aprende, con su línea."""
    try:
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
    except Exception:  # un error que ni siquiera sabe decir qué es
        message = type(error).__name__
    kind, message = in_spanish(message)
    if isinstance(error, MemoryError):
        kind, message = "memoria", "ha pedido demasiada memoria"
    line = own_line(error)
    where = f", en la línea «{line}»" if line else ""
    name = type(error).__name__
    text = f"Tu código se para con {name}{where}: {message[:200].rstrip('.')}. {advice(error)}"
    return Finding(kind, text.rstrip())


def in_spanish(message):
    """De qué clase es un error de Python, de NumPy o de torch, y cómo se cuenta."""
    for kind, known in lines(texts_of(__file__)).items():
        for pattern, (_, spanish) in known.items():
            if match := re.search(pattern, message):
                return kind, match.expand(spanish)
    return "error", message


def own_line(error):
    """La última línea del error que escribió quien aprende, o ``None``.

    Un error que viene de otro proceso la trae ya, en ``own_line``: aquí no queda su rastro.
    """
    if (known := vars(type(error)).get("own_line")) is not None:
        return known
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.line and not any(name in frame.filename for name in LIBRARIES):
            line = frame.line.strip()
            return line if len(line) <= 90 else line[:90] + "…"
    return None
