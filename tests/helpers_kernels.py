"""Los kernels que pide nbval, nacidos de un proceso que ya ha importado torch.

Importarlo es casi todo lo que tarda un kernel en arrancar. De lo nuestro, ese proceso no importa nada: cada
kernel lee la biblioteca y las comprobaciones, como siempre.
"""

import functools
import json
import os
import signal
import subprocess
import sys
from unittest import mock

import psutil
from jupyter_client.provisioning import local_provisioner
from nbval.kernel import start_new_kernel

INLINE = "module://matplotlib_inline.backend_inline"  # lo que pone ipykernel, antes de importar matplotlib


class Kernel(psutil.Process):
    """Un kernel, con lo que jupyter_client pide además a un proceso."""

    stdin = stdout = stderr = None

    def poll(self):
        return None if self.is_running() else 0


@functools.cache
def nursery():
    """El proceso del que nacen: uno para todos los cuadernos, que acaba cuando acaba este."""
    order, pipe = [sys.executable, "-P", __file__], subprocess.PIPE
    env = os.environ | {"MPLBACKEND": INLINE}
    return subprocess.Popen(order, stdin=pipe, stdout=pipe, text=True, env=env, start_new_session=True)


def launch(command, *, env, cwd=None, **_):
    """Como ``jupyter_client.launcher.launch_kernel``."""
    place = nursery()
    print(json.dumps([command[command.index("-f") :], dict(env), cwd or os.getcwd()]), file=place.stdin, flush=True)
    return Kernel(int(place.stdout.readline()))


def start(**options):
    """Como ``nbval.kernel.start_new_kernel``. Los kernels que no pide él arrancan como siempre."""
    with mock.patch.object(local_provisioner, "launch_kernel", launch):
        return start_new_kernel(**options)


def main():
    """Da a luz un kernel por cada línea que recibe, y escribe su número de proceso."""
    import ipykernel.kernelapp
    import ipywidgets  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import torch  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # los que acaban no esperan a que nadie lo sepa
    for line in sys.stdin:
        if os.fork():
            continue
        os.setsid()
        print(os.getpid(), flush=True)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        arguments, env, place = json.loads(line)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(place)
        return ipykernel.kernelapp.launch_new_instance(argv=arguments)


if __name__ == "__main__":
    main()
