"""Los topes de una jaula: cuánta memoria, cuánto disco y cuántos procesos.

Cada proceso tiene los suyos (``student.set_limits``), que valen en todas partes. La memoria compartida y la de
los archivos temporales no es de ninguno: la jaula entera va además en un grupo de control (*cgroup*), si el
sistema da uno. Lo da ``systemd``, o lo hace aquí un administrador.
"""

import contextlib
import functools
import os
import shutil
import subprocess
from pathlib import Path

from aula import cgroups
from aula.calificar.text import SAYS

PARTS = SAYS["jaula"]
MEMORY, DISK = 2 * 2**30, 64 * 2**20  # bytes que puede pedir, con los de torch; y escribir
FILES = 2000  # y archivos y carpetas, en cada una de las dos en las que escribe
PROCESSES = 200  # hilos incluidos
WHOLE = MEMORY + 2 * DISK + 2**29  # de la jaula: lo anterior, y las bibliotecas que se leen
GROUP = "calificar."  # y el número del proceso


def inside(seconds):
    """Los topes que se pone el proceso de dentro (``student.set_limits``)."""
    # El de procesos es de la cuenta: con grupos, que los cuentan por jaula, una no se los quita a otra.
    most = {"NPROC": -1 if way() else PROCESSES, "NOFILE": 256, "CPU": seconds, "CORE": 0}
    most |= {"DATA": MEMORY, "FSIZE": DISK, "MSGQUEUE": 0, "MEMLOCK": 0}
    return most | {"forbidden": PARTS["prohibido"]}


@functools.cache
def way():
    """La orden que pone aquí un tope a lo que va detrás; ninguna, si no se puede."""
    tries = []
    if shutil.which("systemd-run") and Path("/run/systemd/system").exists():
        scope = PARTS["ambito"].format(memory=WHOLE, processes=PROCESSES).split()
        tries.append([*scope, *([] if os.geteuid() == 0 else ["--user"]), "--"])
    # El grupo de este proceso, que abre sus jaulas de una en una.
    with contextlib.suppress(OSError):
        cgroups.tidy(GROUP)
        joined = cgroups.make(f"{GROUP}{os.getpid()}", WHOLE, processes=PROCESSES)
        tries.append(["/bin/sh", "-c", PARTS["apunta"], "sh", *joined, "--"])
    return next((order for order in tries if runs(tuple(order), 20)), [])


@functools.cache
def runs(order, seconds=60):
    """Si esta orden sabe y puede ejecutar algo aquí."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return not subprocess.run([*order, "true"], capture_output=True, timeout=seconds).returncode
    return False


def spent(pid):
    """Los segundos de procesador que llevan un proceso y los que ha hecho; 0, si el sistema no lo dice así."""
    used = [one.rpartition(")")[2].split()[11:13] for one in told(pid, "stat")]
    return sum(map(int, sum(used, []))) / os.sysconf("SC_CLK_TCK") if used else 0


def queued(pid):
    """Los segundos que han esperado a que los demás dejaran un procesador libre."""
    return sum(int(one.split()[1]) for one in told(pid, "schedstat")) / 1e9


def told(pid, name):
    """Lo que dice el sistema de un proceso y de los que ha hecho."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum((told(child, name) for child in children), [Path(f"/proc/{pid}/{name}").read_text()])
    except OSError:
        return []


def fenced(order, settings):
    """La misma orden y sus variables, con un tope para la jaula entera si lo hay."""
    return [*way(), *order], settings | taken(PARTS["habla"])


def taken(names):
    """De las variables de aquí, estas."""
    return {name: os.environ[name] for name in names if name in os.environ}
