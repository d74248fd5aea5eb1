"""Los límites de varios procesos juntos, con los grupos de control de Linux, en sus dos versiones."""

import contextlib
from pathlib import Path

ALL = Path("/sys/fs/cgroup")
CONTROLLERS = "+memory +cpu +pids"


def make(name, memory, cores=0, processes=0):
    """Hace el grupo ``aula/name``, con sus límites. Devuelve dónde se apunta un proceso.

    Raises:
        OSError: si este sistema no deja.
    """
    quota, most = int(cores * 1e5), processes or "max"
    limits = {"memory": {"memory.limit_in_bytes": memory}, "pids": {"pids.max": most}}
    limits |= {"cpu": {"cpu.cfs_quota_us": quota}} if cores else {}
    if (ALL / "cgroup.controllers").exists():  # versión 2
        used = f"{quota or 'max'} 100000"
        limits = {"": {"memory.max": memory, "cpu.max": used, "pids.max": most}}
    joined = []
    for kind, values in limits.items():
        folder = ALL / kind / "aula" / name
        folder.mkdir(parents=True, exist_ok=True)
        for above in () if kind else [ALL, folder.parent][: 2 if name else 1]:
            (above / "cgroup.subtree_control").write_text(CONTROLLERS)
        for file, value in values.items():
            (folder / file).write_text(str(value))
        joined.append(str(folder / "cgroup.procs"))
    return joined


def tidy(start):
    """Quita los grupos ``aula/{start}n`` del proceso ``n`` que ya no está, si no queda nadie dentro."""
    for folder in (*ALL.glob(f"aula/{start}*"), *ALL.glob(f"*/aula/{start}*")):
        if not Path("/proc", folder.name.removeprefix(start)).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def work(memory):
    """Dice si se puede. Todos juntos no pasan de ``memory``: queda sitio para lo demás."""
    try:
        return bool(make("", memory) and make("prueba", memory))
    except OSError:
        return False
