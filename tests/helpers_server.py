"""Un servidor de JupyterLab sobre una carpeta, sin tocar la configuración de quien prueba."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from urllib.parse import quote


def free_port():
    """Devuelve un puerto que ahora no usa nadie."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serve_lab(course, home, *arguments, **variables):
    """Arranca JupyterLab sobre la carpeta `course`, sin tocar la configuración del usuario.

    Con otros argumentos y otras variables de entorno, si se dicen. Da la dirección del servidor, con su clave.
    """
    settings = dict.fromkeys(("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"), course / ".jupyter")
    for lab, own in {"": ("config", "data", "runtime"), "LAB": ("settings", "workspaces")}.items():
        settings |= {f"JUPYTER{lab}_{name.upper()}_DIR": home / name for name in own}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--expose-app-in-browser", f"--ServerApp.port={free_port()}"]
    command += [f"--ServerApp.root_dir={course}", *arguments]
    environment = os.environ | {key: str(path) for key, path in settings.items()} | variables
    with (home / "lab.log").open("wb") as log:
        options = {"stdout": log, "stderr": subprocess.STDOUT, "env": environment}
        server = subprocess.Popen(command, cwd=course, **options)
        try:
            yield wait_for_server(server, home)
        finally:
            server.terminate()
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:  # con el ordenador muy ocupado
                server.kill()


def wait_for_server(server, home):
    """Espera a que el servidor escriba dónde atiende."""
    for _ in range(1800):  # tres minutos
        for path in (home / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # a medio escribir
                info = json.loads(path.read_text(encoding="utf-8"))
                return f"http://127.0.0.1:{info['port']}/lab?reset&token={quote(info['token'])}"
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("JupyterLab no arranca:\n" + (home / "lab.log").read_text(encoding="utf-8"))
