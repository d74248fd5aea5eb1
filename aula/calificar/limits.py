"""Los topes de una jaula: cuánta memoria, cuánto disco y cuántos procesos.

Cada proceso tiene los suyos (``student.set_limits``), que valen en todas partes. La memoria compartida y
la de los archivos temporales no es de ningún proceso: la jaula entera va además en un grupo de control
(*cgroup*), si el sistema da uno. Lo da ``systemd``, o se hace aquí.
"""

import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import time
from pathlib import Path

MEMORY, DISK = 2 * 2**30, 64 * 2**20  # bytes que puede pedir, con los de torch; y escribir
PROCESSES = 200  # hilos incluidos
WHOLE = (
    MEMORY + 2 * DISK + 2**29
)  # lo que cabe en la jaula: lo anterior, y las bibliotecas que se leen
CGROUPS = Path("/sys/fs/cgroup")
NAME = "calificar"
SCOPE = ["systemd-run", "--quiet", "--scope", "--collect", "-p", f"MemoryMax={WHOLE}"]
SCOPE += ["-p", "MemorySwapMax=0", "-p", f"TasksMax={PROCESSES}"]
# Con qué se habla con el systemd de quien califica, si no es el administrador.
NEEDS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
# Apunta un proceso en los grupos que se le dicen, y después es otro: el que va tras «--».
JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 9; shift; done; shift; exec "$@"'
JOIN = ["/bin/sh", "-c", JOIN, "sh"]
COUNT = itertools.count()

TOGETHER = "El tope de memoria y de procesos es de la jaula entera."
APART = (
    "Aquí no se puede poner un tope a la jaula entera (no hay systemd, o no deja hacer cgroups): el de "
    f"memoria es de su proceso, y aparte caben {2 * DISK // 2**20} MB de archivos."
)


def inside(seconds):
    """Los topes que se pone el proceso de dentro (``student.set_limits``)."""
    return {"memory": MEMORY, "disk": DISK, "seconds": seconds, "processes": PROCESSES}


def groups():
    """Dónde se hacen los grupos: en cada carpeta, sus topes."""
    if (CGROUPS / "cgroup.controllers").exists():  # versión 2
        most = {"memory.max": WHOLE, "memory.swap.max": 0, "pids.max": PROCESSES}
        return {CGROUPS / NAME: most}
    with open("/proc/self/cgroup") as file:
        own = {kind: path[1:] for _, kind, path in (line.strip().split(":", 2) for line in file)}
    found = {}
    for kind, most in {
        "memory": {"memory.limit_in_bytes": WHOLE, "memory.memsw.limit_in_bytes": WHOLE},
        "pids": {"pids.max": PROCESSES},
    }.items():
        above = CGROUPS / kind / own.get(kind, "")
        found[(above if above.exists() else CGROUPS / kind) / NAME] = most
    return found


def make_group():
    """Un grupo nuevo, con sus topes: sus carpetas.

    Raises:
        OSError: si este sistema no deja.
    """
    made = []
    for above, limits in groups().items():
        above.mkdir(exist_ok=True)
        gone = [one for one in above.iterdir() if one.is_dir() and not alive(one.name)]
        remove(gone)  # los que dejó quien se cortó
        if above.parent == CGROUPS:
            for folder in (CGROUPS, above):
                (folder / "cgroup.subtree_control").write_text("+memory +pids")
        folder = above / f"{os.getpid()}-{next(COUNT)}"
        folder.mkdir()
        made.append(folder)
        for name, most in limits.items():
            if (folder / name).exists() or name in (
                "memory.limit_in_bytes",
                "memory.max",
                "pids.max",
            ):
                (folder / name).write_text(str(most))
    return made


def alive(name):
    """Si sigue ahí quien hizo un grupo: su nombre empieza por su número."""
    return Path("/proc", name.split("-")[0]).exists()


def remove(folders):
    """Quita los grupos que ya no tienen a nadie."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def scope():
    """La orden de systemd que pone los topes, y las variables que pide."""
    if os.geteuid() == 0:
        return SCOPE, {}
    return [*SCOPE, "--user"], {name: os.environ[name] for name in NEEDS if name in os.environ}


@functools.cache
def way():
    """Cómo se pone aquí un tope a la jaula entera: «systemd», «cgroup» o de ninguna manera."""
    if shutil.which("systemd-run") and Path("/run/systemd/system").exists():
        order, settings = scope()
        env = os.environ | settings
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if not subprocess.run(
                [*order, "true"], env=env, capture_output=True, timeout=20
            ).returncode:
                return "systemd"
    with contextlib.suppress(OSError):
        made = make_group()
        done = subprocess.run(
            [*JOIN, *(f"{one}/cgroup.procs" for one in made), "--", "true"], capture_output=True
        )
        remove(made)
        return "" if done.returncode else "cgroup"
    return ""


@contextlib.contextmanager
def fenced(order, settings):
    """La misma orden y sus variables, con la jaula entera en un grupo, que al acabar se quita."""
    if way() == "systemd":
        more, needed = scope()
        yield [*more, "--", *order], settings | needed
        return
    made = make_group() if way() == "cgroup" else []
    joined = [f"{folder}/cgroup.procs" for folder in made]
    try:
        yield [*JOIN, *joined, "--", *order] if made else order, settings
    finally:
        until = time.monotonic() + 2  # lo de dentro puede tardar un instante en cerrarse
        while any(folder.exists() for folder in made) and time.monotonic() < until:
            remove(made)
            time.sleep(0.01)
