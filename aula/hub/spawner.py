"""El JupyterLab de cada estudiante: con su cuenta, en su jaula y con sus límites.

La cuenta la pone JupyterHub (``LocalProcessSpawner``), la jaula es bubblewrap y los límites son
los del sistema: los cgroups, si se puede escribir en ellos, y siempre los de cada proceso.
"""

import contextlib
import os
import pwd
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL

from jupyterhub.spawner import LocalProcessSpawner
from tornado.netutil import bind_unix_socket

from aula import cgroups
from aula.hub import accounts, place

PROCESSES = 200  # hilos incluidos: cada kernel tiene unos veinte
FILE = 2**28  # el archivo más grande que se puede escribir
# Se apunta en sus cgroups antes de nada; después ya no podría.
JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; umask 077; exec "$@"'


class ClassroomSpawner(LocalProcessSpawner):
    """``LocalProcessSpawner`` con jaula, límites y disco propios."""

    def reached(self):
        """Por dónde se llega a su JupyterLab: un archivo que solo abre el aula, y ningún puerto."""
        server = LocalProcessSpawner.server.fget(self)
        if server:
            server.connect_url = place.inside(f"lab-{self.user.name}")
        return server

    server = LocalProcessSpawner.server.getter(reached)

    def limited(self, user):
        """La orden que pone los límites y la cuenta, y ejecuta lo que sigue."""
        try:
            joined = cgroups.make(user, self.mem_limit, self.cpu_limit, PROCESSES)
        except OSError:  # al abrir el aula se ha dicho
            joined = []
        limits = {"data": self.mem_limit, "fsize": FILE, "nproc": PROCESSES}
        limits |= {"nofile": 1024, "core": 0}
        each = [f"--{what}={value}" for what, value in limits.items()]
        return ["sh", "-c", JOIN, "sh", *joined, "--", *accounts.become(user), "prlimit", *each]

    async def start(self):
        user, home = self.user.name, accounts.mount(self.user.name)
        place.publish()
        teaches = user in accounts.users(place.TEACHERS)
        whole = [place.ROOT / "notebooks"] if teaches else []
        door = bind_unix_socket(str(place.INSIDE / f"lab-{user}"))  # desde su jaula no podría
        with door:
            # Lo que dice no va al registro del aula: lo podría llenar, o borrar. Y entre «fork» y
            # «exec» no hay Python: con otros hilos en marcha, puede quedarse parado.
            self.popen_kwargs = {"stdout": DEVNULL, "stderr": DEVNULL, "preexec_fn": None}
            self.popen_kwargs["pass_fds"] = [door.fileno()]
            start = [sys.executable, str(place.HERE / "start.py"), str(door.fileno())]
            self.cmd = [*self.limited(user), *accounts.cage(home, *whole), *start]
            return await super().start()

    def load_state(self, state):
        """Si el Hub cayó, su JupyterLab sigue; pero ese número de proceso puede ser ya de otro."""
        super().load_state(state)
        order, home = Path(f"/proc/{self.pid}/cmdline"), pwd.getpwnam(self.user.name).pw_dir
        if not (order.exists() and f"\0{home}\0" in order.read_text()):
            self.pid = 0

    async def _signal(self, sig):
        with contextlib.suppress(ProcessLookupError):  # bubblewrap no pasa otra a lo que encierra
            os.killpg(self.pid, sig and signal.SIGKILL)
            return True
        return False

    async def progress(self):
        yield {"progress": 30, "message": "Se prepara tu copia de las lecciones…"}
