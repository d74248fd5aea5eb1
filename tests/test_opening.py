"""El curso se abre como lo abre quien llega: con `curso.py abrir`, y la página de la lección 00 contesta.

El entorno es el de estas pruebas, visto desde una copia del curso con espacios y ñ en la ruta. Como
en un aula o en un contenedor: sin red, sin navegador, con el puerto ocupado y, a veces, sin poder escribir.
"""

import contextlib
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers_server import free_port
from playwright.sync_api import expect

from course_tools.opening import copies, server

ROOT = Path(__file__).resolve().parents[1]
COURSE = "curso.py requirements.txt constraints.txt imagenes notebooks course_lib course_checkers"
COURSE = (*COURSE.split(), "course_tools", ".jupyter")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="usa señales y permisos de Unix")
AS_ROOT = os.name == "posix" and os.geteuid() == 0
# Como administrador, los permisos de una carpeta no impiden nada: se monta de solo lectura.
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && exec "$@"'


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Una copia del curso, ya preparada: su entorno usa lo que hay instalado en este."""
    root = tmp_path_factory.mktemp("español") / "curso de atención, año 1"
    root.mkdir()
    for name in COURSE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    venv = root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    for name in ("share", "etc"):
        if (Path(sys.prefix) / name).exists():
            (venv / name).symlink_to(Path(sys.prefix) / name)
    packages = [path for path in sys.path if path.endswith("-packages")]
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "curso.pth").write_text("\n".join([str(root), *packages]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("curso_copiado", root / "curso.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (venv / "instalado.txt").write_text(module.expected_stamp(), encoding="utf-8")
    return root


def hear_ctrl_c():
    """Lo que se arranca en segundo plano nace sin oír Ctrl+C: que lo oiga, como en una terminal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Opened:
    """Un `curso.py abrir` en marcha y lo que ha escrito en la terminal."""

    def __init__(self, course, home, *arguments, prefix=()):
        home.mkdir(exist_ok=True)
        hidden = re.compile("JUPYTER|DISPLAY|WAYLAND|BROWSER|CURSO|XDG")
        env = {name: value for name, value in os.environ.items() if not hidden.match(name)}
        nobody = f"http://127.0.0.1:{free_port()}"  # sin red: nadie atiende ahí
        env.update(HOME=str(home), http_proxy=nobody, https_proxy=nobody, PIP_INDEX_URL=nobody)
        command = [*prefix, sys.executable, "curso.py", "abrir", *arguments]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        streams |= {"stderr": subprocess.STDOUT, "encoding": "utf-8", "cwd": course, "env": env}
        alone = {"start_new_session": True, "preexec_fn": hear_ctrl_c}
        self.process = subprocess.Popen(command, **streams, **alone)
        self.text, self.url = "", None

    def wait(self):
        """Espera a la dirección, que es lo último que se escribe."""
        for line in self.process.stdout:
            self.text += line
            if found := re.search(r"https?://localhost\S+lab\S+", line):
                self.url = found[0]
                break
        assert self.url, self.text
        return self

    def get(self, path):
        """Lo que contesta el servidor."""
        base, token = self.url.split("lab/tree")[0], self.url.split("token=")[1]
        request = urllib.request.Request(base + path, headers={"Authorization": f"token {token}"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(100):  # la dirección se dice un instante antes de que atienda
            with contextlib.suppress(urllib.error.URLError):
                return opener.open(request, timeout=120).read().decode()
            time.sleep(0.1)
        return opener.open(request, timeout=120).read().decode()

    def stop(self, times=1):
        for _ in range(times):
            os.killpg(self.process.pid, signal.SIGINT)
            time.sleep(0.1)
        stuck = self.process.pid, signal.SIGKILL
        late = threading.Timer(180, os.killpg, stuck)  # no colgarse nunca
        late.start()
        self.text += self.process.stdout.read()
        code = self.process.wait(timeout=120)
        late.cancel()
        assert "Traceback" not in self.text, self.text
        return code


@pytest.fixture
def opened(course, tmp_path):
    """Cómo se abre: lo que quede abierto al acabar, se cierra."""
    running = []

    def start(*arguments, **options):
        running.append(Opened(course, tmp_path / "casa", *arguments, **options))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)


def is_spanish(text):
    """Dice si en `text` no hay ninguna de las palabras que solo usa el inglés."""
    return not re.search(r"(?i)\b(the|is|to|you|of|running|server|warning|error|file|http server)\b", text)


@pytest.mark.lenta
def test_a_newcomer_gets_to_lesson_00(course, opened, tmp_path):
    before = {path: path.read_bytes() for path in (course / "notebooks").rglob("*") if path.is_file()}
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        first = opened(f"--port={port}").wait()
    assert f"El puerto {port} está ocupado: uso el " in first.text
    assert ("administrador («root»)" in first.text) is AS_ROOT
    assert "Aquí no abro ningún navegador" in first.text
    assert "ssh -L" in first.text
    said = first.text.replace(str(course), "")
    assert is_spanish(re.sub(r"https?://\S+|«ssh.*?»|--\S+", "", said)), said

    page = first.get("lab/tree/mis_cuadernos/00_empieza_aqui.ipynb")
    assert "jupyter-config-data" in page
    model = json.loads(first.get("api/contents/mis_cuadernos/00_empieza_aqui.ipynb"))
    assert model["writable"] is True
    assert model["content"]["cells"][0]["source"].startswith("# 00 · Empieza aquí")
    outputs = [out for cell in model["content"]["cells"] for out in cell.get("outputs", ())]
    assert all(copies.WIDGET_VIEW in out["data"] for out in outputs), "solo, los exploradores"
    language = model["content"]["metadata"]["language_info"]  # no lo añade JupyterLab
    assert language["file_extension"] == ".py"
    solution = json.loads(first.get("api/contents/notebooks/soluciones/00_empieza_aqui.ipynb"))
    assert solution["writable"] is False

    again = opened()
    assert again.wait().url == first.url.replace("?reset&", "?")  # sus pestañas siguen ahí
    assert again.process.wait(timeout=120) == 0
    assert "ya está abierto" in again.text

    lesson = course / "mis_cuadernos" / "05_atencion.ipynb"
    os.utime(lesson)
    assert first.stop() == 0
    assert "Cierro JupyterLab, en orden." in first.text
    saved = r"Guardado en mis_cuadernos: 05_\w+\.ipynb, a las \d\d:\d\d:\d\d\."
    assert re.search(saved, first.text)
    assert is_spanish(first.text.split("Cierro")[1])
    with pytest.raises(OSError, match="refused|111|61"):
        first.get("api")
    now = {path: path.read_bytes() for path in (course / "notebooks").rglob("*") if path.is_file()}
    assert now == before, "abrir el curso lo ha cambiado"


@pytest.mark.lenta
def test_a_shared_course_that_cannot_be_written(course, opened, tmp_path):
    if AS_ROOT:
        prefix = ("unshare", "-m", "sh", "-c", READ_ONLY, str(course))
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            pytest.skip("aquí no se puede montar una carpeta de solo lectura")
    else:
        prefix = ()
        for path in (course, *course.rglob("*")):
            path.is_symlink() or path.chmod(path.stat().st_mode & ~0o222)
    try:
        one = opened(f"--port={free_port()}", prefix=prefix).wait()
        folder = tmp_path / "casa" / "atencion-paso-a-paso"
        assert f"En {folder}/mis_cuadernos tienes tu copia de: 00" in one.text
        model = json.loads(one.get("api/contents/mis_cuadernos/00_empieza_aqui.ipynb"))
        assert model["writable"] is True
        assert "<svg" in one.get("api/contents/imagenes/mapa-del-curso.svg")
        assert json.loads(one.get("api/contents/notebooks/soluciones/05_atencion.ipynb"))
        assert one.stop(times=2) == 0  # dos veces: en el acto
        stamp = course / ".venv" / "instalado.txt"
        if AS_ROOT:  # y si nadie la ha preparado, una frase
            text = stamp.read_text(encoding="utf-8")
            stamp.write_text("nada", encoding="utf-8")
            two = opened(prefix=prefix)
            assert two.stop(times=0) == 1
            assert "es de solo lectura y no está preparada" in two.text
            stamp.write_text(text, encoding="utf-8")
    finally:
        if not AS_ROOT:
            for path in (course, *course.rglob("*")):
                path.is_symlink() or path.chmod(path.stat().st_mode | 0o200)


def test_ctrl_c_while_it_loads(opened):
    one = opened("--otro", f"--port={free_port()}")
    while "Abro JupyterLab" not in one.text:
        one.text += one.process.stdout.readline()
    assert one.stop() == 0
    assert "Cerrado antes de abrirse." in one.text


TYPE = "texto => lesson.content.widgets[2].model.sharedModel.setSource(texto)"


@pytest.mark.lenta
@pytest.mark.navegador
def test_what_was_just_typed_is_saved_whatever_closes(course, opened, browser):
    """Con Ctrl+C, si cierran la ventana de la terminal y, si el servidor no está, al volver."""
    options = "--expose-app-in-browser", f"--port={free_port()}"
    lesson = course / "mis_cuadernos" / "01_producto_escalar.ipynb"
    with contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        for turn, closing in enumerate((signal.SIGINT, signal.SIGHUP, signal.SIGTERM)):
            one = opened(*options).wait()
            if not turn:
                page.goto(one.url.replace("00_empieza_aqui", lesson.stem))
                page.wait_for_function(
                    "window.lesson = window.jupyterapp?.shell.currentWidget, lesson?.context?.isReady"
                )
            expect(page.locator(".cu-notice p")).to_have_count(0)
            page.evaluate(TYPE, f"# escrito al cerrar, {turn}")
            send = os.kill if closing is signal.SIGTERM else os.killpg  # la terminal, a los dos
            send(one.process.pid, closing)
            assert one.stop(times=0) == 0
            assert f"# escrito al cerrar, {turn}" in lesson.read_text(encoding="utf-8")
            page.evaluate(TYPE, f"# sin servidor, {turn}")
            expect(page.locator(".cu-notice")).to_contain_text("JupyterLab no contesta.")
        opened(*options).wait()
        page.wait_for_function("!lesson.content.model.dirty")
        assert "# sin servidor, 2" in lesson.read_text(encoding="utf-8")
        page.wait_for_function("lesson.sessionContext.session?.kernel?.status === 'idle'")
        assert page.locator(".jp-Dialog").count() == 0


@pytest.mark.parametrize(("answers", "shown", "left"), [
    ([None], 0, []),  # al editar, o sin ninguna página
    ([None], 1, []),
    ([{}], 0, []),
    ([{}], 1, ["la página abierta"]),  # que no contesta
    ([{}, {"a": ["05.ipynb"]}, {"a": []}], 1, []),
    ([{"a": ["05.ipynb"], "b": ["05.ipynb"]}, {"a": [], "b": ["05.ipynb"]}], 1, ["05.ipynb"]),
])  # fmt: skip
def test_before_closing_the_pages_are_asked_to_save(monkeypatch, answers, shown, left):
    asked, clock = [], itertools.count(step=0.2)

    def ask(info, path, method="GET", said=None):
        asked.append((path, said))
        if "contents" not in path:
            return {"connections": shown}
        said = answers.pop(0) if len(answers) > 1 else answers[0]
        return said if said is None else {"unsaved": said}

    monkeypatch.setattr(server, "_ask", ask)
    monkeypatch.setattr(server, "time", SimpleNamespace(sleep=id, monotonic=lambda: next(clock)))
    assert server._unsaved({}) == left
    assert ("api/events", server.SAVE) in asked


def test_what_is_not_saved_is_said_and_waited_for(monkeypatch):
    """Hasta que se guarda; si no hay terminal, no."""
    for alone, saved in ((False, 2), (True, 0)):
        left, told, asked = [["05.ipynb"], ["05.ipynb"], []], [], []
        monkeypatch.setattr(server, "_unsaved", lambda info, left=left: left.pop(0))
        monkeypatch.setattr(server, "_ask", lambda *one, asked=asked, **_: asked.append(one[1]))
        process = SimpleNamespace(poll=lambda: None, wait=lambda seconds: 0)
        server._close(process, {"port": 1}, told.append, alone=alone)
        assert any("Sin guardar: 05.ipynb." in one for one in told) is not alone
        assert (3 - len(left), asked) == (1 + saved, ["api/shutdown"])


# --- Las piezas -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("platform", "variables", "expected"), [
    ("linux", {}, False),
    ("linux", {"DISPLAY": ":0"}, True),
    ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
    ("linux", {"BROWSER": "mi-editor"}, True),
    ("darwin", {}, True),
    ("win32", {}, True),
])  # fmt: skip
def test_no_browser_is_tried_without_a_screen(monkeypatch, platform, variables, expected):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(server.sys, "platform", platform)
    monkeypatch.setattr(server.webbrowser, "get", lambda: "navegador")
    assert server.has_browser() is expected

    def none():
        raise server.webbrowser.Error

    monkeypatch.setattr(server.webbrowser, "get", none)
    assert server.has_browser() is False


INFO = {"hostname": "0.0.0.0", "port": 8888, "base_url": "/", "token": "abc", "secure": False}


@pytest.mark.parametrize(("browser", "ip", "said"), [
    (True, "", "Si no se abre solo"),
    (False, "", "ssh -L 8888:localhost:8888"),
    (False, "0.0.0.0", "Quien tenga la dirección entera puede entrar"),
])  # fmt: skip
def test_the_address_is_the_last_line(browser, ip, said):
    where = "lab/tree/mis_cuadernos/00_empieza_aqui.ipynb"
    *lines, last = server.directions(INFO, where, browser, ip)
    assert said in "\n".join(lines)
    assert last.strip() == f"http://localhost:8888/{where}?token=abc"


def test_options_of_jupyter_are_read():
    for arguments in (["--port=9"], ["--port", "9"], ["--ServerApp.port=9"], ["-x", "--port=9"]):
        assert server._option(arguments, "port", "8888") == "9"
    assert server._option(["--ip=0"], "port", "8888") == "8888"


def test_a_stale_server_is_not_an_open_one(tmp_path, monkeypatch):
    stale = {**INFO, "hostname": "localhost", "port": free_port(), "root_dir": str(tmp_path)}
    (tmp_path / "jpserver-1.json").write_text(json.dumps(stale), encoding="utf-8")
    (tmp_path / "jpserver-2.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(server, "runtime_folder", lambda *_: tmp_path)
    assert server.find_open("python", tmp_path, "mis_cuadernos", {}) is None
