"""Cómo se mide y cómo se cuenta lo medido: lo usan los demás ``bench_*.py``."""

import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest
import torch
from helpers import named_as_ours

ROOT = Path(__file__).resolve().parents[2]
THREADS = int(os.environ.get("CURSO_HILOS", "1"))
# Con un solo hilo cuenta el tiempo de procesador: no le afecta lo que haga el resto del ordenador.
# Con varios no sirve (también cuenta las esperas de unos a otros), y en Windows es muy poco fino.
CPU_TIME = THREADS == 1 and sys.platform != "win32"
HOW = "1 hilo, tiempo de procesador" if CPU_TIME else f"{THREADS} hilo(s), tiempo de reloj"
clock = time.process_time if CPU_TIME else time.perf_counter


@dataclass
class Comparison:
    """Segundos del curso y de la referencia (medianas) y su razón (mediana de las rondas)."""

    course: float
    reference: float
    ratio: float


def compare(benchmark, course, reference, seconds=3):
    """Mide dos funciones en el mismo bucle, una ronda de cada una por turno.

    Lo que frena el ordenador frena a las dos por igual: por eso la razón se calcula ronda a ronda
    y es más de fiar que los segundos. Antes de cada llamada medida hay otra igual sin medir: así
    cada función encuentra en la memoria caché lo suyo y no lo de la otra.

    Args:
        benchmark: la fixture de pytest-benchmark, que mide ``course``.
        course, reference: funciones sin argumentos.
        seconds: cuánto dura, más o menos, la medida.

    Returns:
        ``Comparison``.
    """
    if benchmark.disabled:
        pytest.skip("las medidas están apagadas: usa «python curso.py medir»")
    times = []

    def measure_reference():
        reference()
        start = clock()
        reference()
        times.append(clock() - start)
        course()

    measure_reference()  # la primera vez es más lenta
    start = time.perf_counter()
    measure_reference()
    course()
    rounds = min(1000, max(5, round(seconds / (time.perf_counter() - start))))
    times.clear()
    benchmark.pedantic(course, setup=measure_reference, rounds=rounds)
    ours = benchmark.stats.stats.data
    ratios = [a / b for a, b in zip(ours, times, strict=True)]
    return Comparison(median(ours), median(times), median(ratios))


class Table:
    """La tabla de Markdown con todo lo medido, que se imprime al final."""

    def __init__(self, title, how, header):
        self.title, self.how, self.header = title, how, header
        self.rows = []
        self.load = _load()

    def add(self, benchmark, what, size, course, reference, ratio, limit=None, noise=0.0):
        """Apunta una fila. Si la razón pasa del límite, la prueba falla y la tabla dice «no».

        Args:
            benchmark: la fixture, que guarda en ``extra_info`` la razón y el límite.
            what, size, course, reference: textos.
            ratio: curso ÷ referencia, o ``None`` si no hay referencia.
            limit: la mayor razón que se admite, o ``None`` si solo se informa.
            noise: lo que se perdona por encima del límite, porque la medida oscila.
        """
        met = None if limit is None else ratio <= limit + noise
        benchmark.extra_info.update(ratio=ratio, limit=limit, noise=noise, met=met)
        bar = _ratio(limit) + (f" + {_ratio(noise)}" if noise else "")
        verdict = {None: "—", True: "sí", False: "**no**"}[met]
        self.rows.append((what, size, course, reference, _ratio(ratio), bar, verdict))
        if met is False:
            pytest.fail(f"{what}, {size}: razón {_ratio(ratio)}, límite {bar}", pytrace=False)

    def add_times(self, benchmark, what, size, measured, limit=None, noise=0.0):
        """Apunta una fila con los segundos de una ``Comparison``."""
        course, reference = seconds(measured.course), seconds(measured.reference)
        self.add(benchmark, what, size, course, reference, measured.ratio, limit, noise)

    def markdown(self):
        """El texto de la tabla, con la máquina y la manera de medir."""
        lines = [
            f"Máquina: {machine()}. Carga al empezar: {self.load}.",
            "",
            self.how,
            "",
            *("| " + " | ".join(row) + " |" for row in [self.header, ["---"] * len(self.header), *self.rows]),
        ]
        return "\n".join(lines) + "\n"

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section(self.title)
        terminalreporter.write_line(self.markdown())
        path = os.environ.get("CURSO_MEDIDAS")
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{self.markdown()}\n")


COMPARED = ("qué se mide", "tamaño", "curso", "referencia", "razón", "límite", "¿cumple?")


def registered(request, title, how, header=COMPARED):
    """Una ``Table`` que se imprime al final."""
    ratio = "Razón = curso ÷ referencia: menos de 1, el curso gana. " if header is COMPARED else ""
    table = Table(title, ratio + how, header)
    request.config.pluginmanager.register(table)
    return table


def copy_weights(theirs, ours):
    """Escribe en un módulo de ``torch.nn`` los pesos del suyo del curso."""
    mine = ours.state_dict()
    for name, tensor in named_as_ours(theirs).items():
        tensor.copy_(mine[name])


def seconds(value):
    """Segundos en la unidad que mejor se lee."""
    for unit, size, decimals in (("s", 1, 2), ("ms", 1e-3, 1)):
        if value >= size:
            return f"{_number(value / size, decimals)} {unit}"
    return f"{_number(value / 1e-3, 2)} ms"


def machine():
    """Procesador, núcleos, memoria y versiones."""
    memory = f", {total_memory() / 2**30:.0f} GiB de RAM" if total_memory() else ""
    return (
        f"{_processor()}, {os.cpu_count()} núcleos{memory}, {platform.system()}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def total_memory():
    """Bytes de RAM, o 0 si el sistema no lo dice."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        return 0


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _load():
    return _number(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else "desconocida"


def _ratio(value):
    """Una razón: con dos decimales o, si es pequeña, como fracción («1/200»)."""
    if value is None:
        return "—"
    return f"1/{1 / value:.0f}" if 0 < value < 0.02 else _number(value, 2)


def _number(value, decimals):
    return f"{value:.{decimals}f}".replace(".", ",")
