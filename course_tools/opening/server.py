"""Abrir JupyterLab, decir dónde está y cerrarlo en orden. Solo usa lo que trae Python.

``curso.py abrir`` llama a ``serve``. JupyterLab escribe en un archivo, y la terminal solo dice lo
que hace falta. De un servidor abierto se sabe por la ficha que deja en la carpeta de Jupyter.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from course_tools.opening import desk

READ_ONLY, EDITED = (f"course_tools.opening.contents.{name}Contents" for name in ("Course", "Edited"))
CLOSING_S = 15  # lo que se espera a que JupyterLab se cierre solo
SAVING_S = 6  # lo que se espera a que las páginas abiertas guarden
# Con este aviso, que JupyterLab reparte a todas sus páginas, se les pide que guarden.
SAVE = {
    "schema_id": "https://events.jupyter.org/jupyter_server/contents_service/v1",
    "version": "1",
    "data": {"action": "save", "path": desk.CLOSING},
}
POSIX = os.name == "posix"
ANYWHERE = ("0.0.0.0", "::", "*", "")
# Firefox y Chromium, si vienen de «snap», no pueden leer el archivo con que Jupyter los abre.
SNAP = any(Path("/snap", name).exists() for name in ("firefox", "chromium"))


def serve(python, root, folder, arguments, env, say, editing=False):
    """Abre el curso y vuelve cuando se cierra.

    Args:
        python: el Python que tiene JupyterLab.
        root: la raíz que enseña JupyterLab.
        folder: el nombre, en ``root``, de la carpeta de las lecciones que se abren.
        arguments: lo que se le dice además a JupyterLab.
        env: las variables de entorno.
        say: cómo se escribe en la terminal.
        editing: si se puede cambiar el curso.

    Returns:
        El código de salida.
    """
    if POSIX and os.geteuid() == 0:
        say(
            "Lo abres como administrador («root»): es lo normal en un contenedor; si no, usa tu usuario."
        )
        arguments = ["--allow-root", *arguments]
    browser = "--no-browser" not in arguments and has_browser()
    port = _option(arguments, "port", env.get("JUPYTER_PORT", "8888"))
    busy = _answers(port)
    command = [
        *(str(python), "-m", "jupyterlab", "--log-level=WARN"),
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/{lesson(folder, editing)}",
        f"--ServerApp.contents_manager_class={EDITED if editing else READ_ONLY}",
        *(["--ServerApp.use_redirect_file=False"] if SNAP else []),
        *([] if browser else ["--no-browser"]),
        *arguments,
    ]
    runtime, log = runtime_folder(python, env), Path(root, folder, ".jupyterlab.log")
    known, began = set(runtime.glob("jpserver-*.json")), time.time()
    process = info = None
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, _as_ctrl_c)
    try:
        say("Abro JupyterLab. Para cerrarlo, pulsa aquí Ctrl+C.")
        process, pressed = _start(command, root, env, log)
        if pressed:
            raise KeyboardInterrupt
        while process.poll() is None and not info:
            time.sleep(0.05)
            new = (_read(path) for path in set(runtime.glob("jpserver-*.json")) - known)
            info = next((one for one in new if one and Path(one["root_dir"]) == Path(root)), None)
        if info:
            if busy and str(info["port"]) != port:
                say(f"El puerto {port} está ocupado: uso el {info['port']}.")
            _warm_up(python, env)
            where = lesson(folder, editing)
            say("\n".join(directions(info, where, browser, _option(arguments, "ip", ""))))
        while process.poll() is None:
            time.sleep(0.2)
        if not info and process.returncode:
            say(f"JupyterLab no arranca. Esto es lo último que dice; lo demás está en {log}:\n")
            say("".join(log.read_text(encoding="utf-8", errors="replace").splitlines(True)[-5:]))
            return process.returncode
    except KeyboardInterrupt as stop:
        _close(process, info, say, alone=bool(stop.args))
    finally:
        if process and process.poll() is None:
            process.kill()
    with contextlib.suppress(OSError):  # puede que ya no haya terminal
        say(saved_notebooks(Path(root, folder), began) if info else "Cerrado antes de abrirse.")
    return 0


def lesson(folder, editing):
    """Dónde se abre: por donde iba quien estudia, sin las pestañas de otro día; al editar, en la 00."""
    return f"lab/tree/{folder}/" + (desk.FIRST if editing else f"{quote(desk.last())}?reset")


def _warm_up(python, env):
    """Lee del disco lo que más tarda la primera vez, ``import torch``, mientras se abre la página."""
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    if POSIX:
        quiet["preexec_fn"] = lambda: os.nice(19)
    else:
        quiet["creationflags"] = subprocess.IDLE_PRIORITY_CLASS
    subprocess.Popen([str(python), "-c", "import torch, transformers"], env=env, **quiet)


def directions(info, where, browser, ip):
    """Las líneas que dicen cómo se llega al curso. La última es la dirección, con su clave."""
    port, here = info["port"], socket.gethostname()
    if ip in ANYWHERE and ip:
        yield f"Atiende también a otros ordenadores: en ellos, cambia localhost por {here} o por su IP."
        yield "Quien tenga la dirección entera puede entrar y ejecutar código: no la compartas."
    elif not browser:
        yield "Aquí no abro ningún navegador. Ábrelo tú, en este ordenador, con la dirección de abajo."
        yield f"Desde otro: «ssh -L {port}:localhost:{port} TU_USUARIO@{here}», y allí, la misma dirección."
        yield "En un contenedor, publica el puerto y abre el curso con --ip=0.0.0.0."
    else:
        yield "Si no se abre solo en tu navegador, copia en él esta dirección:"
    yield f"\n    {address(info, where)}\n"


def address(info, where):
    """La dirección de una lección, que dice ``lesson``, en un servidor abierto."""
    token = f"{'&' if '?' in where else '?'}token={info['token']}" if info["token"] else ""
    return f"{_base(info)}{where}{token}"


def has_browser():
    """Dice si hay un navegador con ventanas que se pueda abrir desde aquí."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        return (screen or sys.platform != "linux") and bool(webbrowser.get())
    except webbrowser.Error:
        return False


def find_open(python, root, folder, env, editing=False):
    """La dirección de un servidor ya abierto en ``root`` que contesta, o ``None``."""
    for path in runtime_folder(python, env).glob("jpserver-*.json"):
        info = _read(path)
        if info and Path(info["root_dir"]) == Path(root):
            said = _ask(info, "api/contents/notebooks?content=0")
            if said and said.get("writable") == editing:
                return address(info, lesson(folder, editing).removesuffix("?reset"))
    return None


def runtime_folder(python, env):
    """Donde Jupyter deja la ficha de cada servidor abierto."""
    code = "import jupyter_core.paths as p; print(p.jupyter_runtime_dir())"
    run = subprocess.run([python, "-c", code], env=env, capture_output=True, encoding="utf-8")
    return Path(run.stdout.strip() or ".")


def saved_notebooks(folder, began):
    """Dice qué cuadernos de ``folder`` se han guardado desde ``began``, y a qué hora."""
    times = {path.name: path.stat().st_mtime for path in sorted(folder.glob("*.ipynb"))}
    names = [
        f"{name}, a las {time.strftime('%H:%M:%S', time.localtime(when))}"
        for name, when in times.items()
        if when > began
    ]
    what = "; ".join(names) or "nada nuevo desde que lo abriste"
    return f"Cerrado. Guardado en {folder.name}: {what}."


def _start(command, root, env, log):
    """Arranca JupyterLab y dice si mientras tanto se ha pulsado Ctrl+C.

    A JupyterLab, Ctrl+C y que cierren la ventana no le llegan: cuándo se cierra lo decide ``serve``.
    """
    writing = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # lleva la clave
    options = {"stdin": subprocess.DEVNULL, "stdout": writing, "stderr": subprocess.STDOUT}
    if POSIX:
        deaf = signal.SIGINT, signal.SIGHUP
        options["preexec_fn"] = lambda: [signal.signal(one, signal.SIG_IGN) for one in deaf]
    else:
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        return subprocess.Popen(command, cwd=root, env=env, **options), bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(writing)


def _close(process, info, say, alone=False):
    """Cierra el servidor y lo que ejecuta, en orden; con otro Ctrl+C, o si aún carga, en el acto.

    Antes, las páginas guardan. Si algo queda sin guardar, lo dice y espera; ``alone``, si no hay a quien.
    """

    def tell(text):
        with contextlib.suppress(OSError):  # ya no hay terminal
            say(text)

    try:
        if info:
            tell("\nCierro JupyterLab, en orden. Con Ctrl+C otra vez, en el acto.")
            left = _unsaved(info)
            if left and not alone:
                tell(f"Sin guardar: {', '.join(left)}. Mira qué dice su página: al guardarse, cierro.")
            while left and not alone and process.poll() is None:
                left = _unsaved(info)
            _ask(info, "api/shutdown", method="POST")
            process.wait(CLOSING_S)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        pass


def _unsaved(info):
    """Pide a las páginas abiertas que guarden, y da lo que en ``SAVING_S`` segundos no han guardado."""
    shown = (_ask(info, "api/status") or {}).get("connections")  # si hay algún cuaderno con su kernel
    _ask(info, "api/events", "POST", SAVE)
    began, quiet = time.monotonic(), 0
    while quiet < 3:  # otra página puede contestar algo después
        time.sleep(0.2)
        waited = time.monotonic() - began
        answer = _ask(info, f"api/contents/{desk.CLOSING}?content=0")  # al editar, nadie contesta
        said = answer["unsaved"] if answer else {}
        left = sum(said.values(), []) or ["la página abierta"] * bool(answer and shown and not said)
        quiet = 0 if left or not said else quiet + 1
        if waited > (SAVING_S if left else SAVING_S / 2):  # quien no oye, guarda a los dos segundos
            break
    return sorted(set(left))


def _as_ctrl_c(number, frame):
    """Que cierren la ventana o manden terminar es lo mismo que Ctrl+C, y nadie lo pulsará otra vez."""
    raise KeyboardInterrupt(number)


def _ask(info, path, method="GET", said=None):
    """Lo que contesta un servidor, o ``None`` si no contesta."""
    data = json.dumps(said).encode() if said else None
    request = Request(_base(info) + path, data=data, method=method)
    request.add_header("Authorization", f"token {info['token']}")
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=3) as answer:
            return json.loads(answer.read() or "{}")
    except (OSError, ValueError):
        return None


def _base(info):
    host = "localhost" if info["hostname"] in ANYWHERE else info["hostname"]
    return f"http{'s' * info['secure']}://{host}:{info['port']}{info['base_url']}"


def _answers(port):
    """Dice si alguien atiende ya en ese puerto de este ordenador."""
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
        return True
    except (OSError, ValueError):
        return False


def _option(arguments, name, default):
    """El valor de ``--name`` (o ``--ServerApp.name``) entre los argumentos de JupyterLab."""
    for flag, following in zip(arguments, [*arguments[1:], ""]):
        key, equal, value = flag.partition("=")
        if key in (f"--{name}", f"--ServerApp.{name}"):
            return value if equal else following
    return default


def _read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # a medio escribir, o ya borrada
        return None
