"""El JupyterLab de cada estudiante: con su cuenta, en su jaula y con sus límites.

La cuenta la pone JupyterHub (``LocalProcessSpawner``), la jaula es bubblewrap y los límites son
los del sistema: los cgroups, si se puede escribir en ellos, y siempre los de cada proceso.
"""

import contextlib
import os
import pwd
import resource
import signal
import sys
from pathlib import Path

from jupyterhub.spawner import LocalProcessSpawner

from aula.hub import accounts, place

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("+memory", "+cpu", "+pids")
PROCESSES = 200  # hilos incluidos: cada kernel tiene unos veinte
FILE = 2**28  # el archivo más grande que se puede escribir
COURSE = ("course_lib", "course_checkers", "course_tools", "imagenes", ".jupyter", "aula/hub")
TMP = 2**27  # lo que cabe en `/tmp` y en `/dev/shm`, que son de cada uno y están en su memoria


def cgroup(name, memory, cores=0, processes=0):
    """Hace el cgroup ``aula/name``, con sus límites. Devuelve dónde se apunta un proceso.

    Raises:
        OSError: si este sistema no deja.
    """
    quota, most = int(cores * 1e5), processes or "max"
    limits = {
        "memory": {"memory.limit_in_bytes": memory},
        "cpu": {"cpu.cfs_quota_us": quota or -1},
        "pids": {"pids.max": most},
    }
    if (CGROUPS / "cgroup.controllers").exists():  # versión 2
        used = f"{quota or 'max'} 100000"
        limits = {"": {"memory.max": memory, "cpu.max": used, "pids.max": most}}
    joined = []
    for kind, values in limits.items():
        folder = CGROUPS / kind / "aula" / name
        folder.mkdir(parents=True, exist_ok=True)
        for above in () if kind else [CGROUPS, folder.parent][: 2 if name else 1]:
            (above / "cgroup.subtree_control").write_text(" ".join(CONTROLLERS))
        for file, value in values.items():
            (folder / file).write_text(str(value))
        joined.append(str(folder / "cgroup.procs"))
    return joined


def cgroups_work():
    """Guarda un sitio para el Hub: ni entre todos los estudiantes llenan la memoria. Dice si se puede."""
    try:
        return bool(cgroup("", place.memory() - 2**30) and cgroup("prueba", 2**30))
    except OSError:
        return False


def cage(home, notebooks=place.SHOWN):
    """La orden que encierra: lo demás se lee y no se escribe, y los procesos de otros no se ven.

    Del curso se ve lo que hace falta para estudiar: ni soluciones, ni notas de quien da la clase, ni
    ``.git``, donde está todo. Tampoco las carpetas de los demás.
    """
    private = ["/dev/shm", "/tmp", "/var/tmp"]
    shown = {place.ROOT / name: place.ROOT / name for name in COURSE} | {sys.prefix: sys.prefix}
    shown[place.ROOT / "notebooks"] = notebooks
    hidden = [place.HOMES.resolve(), place.ROOT]
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(part for path in private for part in ("--size", str(TMP), "--tmpfs", path)),
        *(str(part) for path in hidden for part in ("--tmpfs", path)),
        *(str(part) for to, path in shown.items() for part in ("--ro-bind", path, to)),
        *("--bind", home, home, "--chdir", home),
        *(str(part) for path in hidden for part in ("--remount-ro", path)),
        *("--unshare-pid", "--unshare-ipc", "--"),
    ]


class ClassroomSpawner(LocalProcessSpawner):
    """``LocalProcessSpawner`` con jaula, límites y disco propios."""

    def make_preexec_fn(self, name):
        become = super().make_preexec_fn(name)
        try:
            joined = cgroup(name, self.mem_limit, self.cpu_limit, PROCESSES)
        except OSError:  # al abrir el aula se ha dicho
            joined = []
        limits = {resource.RLIMIT_DATA: self.mem_limit, resource.RLIMIT_FSIZE: FILE}
        limits |= {resource.RLIMIT_NPROC: PROCESSES, resource.RLIMIT_CORE: 0}

        def prepare():
            for file in joined:
                with open(file, "w") as handle:
                    handle.write(str(os.getpid()))
            for what, value in limits.items():
                resource.setrlimit(what, (value, value))
            os.umask(0o077)
            become()

        return prepare

    async def start(self):
        home = pwd.getpwnam(self.user.name).pw_dir
        accounts.mount(self.user.name, home)
        place.publish()
        teaches = self.user.name in accounts.users(place.TEACHERS)
        whole = [place.ROOT / "notebooks"] if teaches else []
        self.cmd = [*cage(home, *whole), sys.executable, str(place.HERE / "start.py")]
        return await super().start()

    def load_state(self, state):
        """Si el Hub cayó, su JupyterLab sigue; pero ese número de proceso puede ser ya de otro."""
        super().load_state(state)
        with contextlib.suppress(OSError):
            order = Path(f"/proc/{self.pid}/cmdline").read_text()
            if f"\0{pwd.getpwnam(self.user.name).pw_dir}\0" in order:
                return
        self.pid = 0

    async def _signal(self, sig):
        with contextlib.suppress(ProcessLookupError):  # bubblewrap no pasa otra a lo que encierra
            os.killpg(self.pid, sig and signal.SIGKILL)
            return True
        return False

    async def progress(self):
        yield {"progress": 30, "message": "Se prepara tu copia de las lecciones…"}
