"""La jaula en la que se ejecuta una entrega: la hace ``bubblewrap``.

Dentro se ve Python, su entorno, ``course_lib`` y lo que acompaña a la respuesta, sin poder escribir en
ellos, y una carpeta temporal pequeña. Ni red, ni las demás entregas, ni las notas, ni las soluciones, ni
las comprobaciones, que saben lo que hay que responder, ni la carpeta de nadie.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STUDENT = HERE / "student.py"
OURS = (ROOT / "course_lib", ROOT / "course_checkers/inside", STUDENT)
MEMORY, DISK = 2 * 2**30, 64 * 2**20  # bytes que puede pedir, con los de torch; y escribir
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/nix/store")
WALLS = "--unshare-all --die-with-parent --new-session --cap-drop ALL --uid 65534 --gid 65534"
ROOMS = rf"--proc /proc --dev /dev --size {DISK} --tmpfs /tmp --chdir /tmp --remount-ro /"
INSIDE = {
    "HOME": "/tmp/.casa",
    "LOGNAME": "estudiante",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "CURSO_PROGRESO": "no",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}
OUTSIDE = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH")  # lo que pide el sistema

WITH = (
    "El código de las entregas se ejecuta aislado: sin red, sin ver tus archivos ni los de nadie, y "
    "con un tope de memoria, de tiempo y de disco."
)
WITHOUT = (
    "Este sistema no aísla las entregas: su código puede leer tus archivos, también las soluciones y las "
    "comprobaciones, y usar la red."
)
ALONE = (
    f"{WITHOUT} En Linux, instala bubblewrap («sudo apt install bubblewrap») y repite la orden; en "
    "otro sistema, usa uno con Linux. Si te fías de todas las entregas, añade --sin-aislar."
)


def seen():
    """Los archivos y carpetas que se ven dentro: los de fuera del curso y, de él, los que hacen falta."""
    python = (Path(sys.base_prefix).resolve(), Path(sys.prefix), Path(sys.executable).resolve())
    found = [*map(Path, SYSTEM), *python[:2], python[2].parents[1], *OURS]
    found = dict.fromkeys(p for p in found if p.exists())
    inner = [p for p in found if ROOT in p.parents]
    outer = [p for p in found if p not in inner and Path("/usr") not in p.parents]
    return outer, inner


def command(caged):
    """La orden que ejecuta ``student``, en la jaula o no, y sus variables."""
    settings = INSIDE | {name: os.environ[name] for name in OUTSIDE if name in os.environ}
    python = [sys.executable, "-I", "-B", "-X", "utf8", str(STUDENT)]
    if not caged:
        return python, settings
    outer, inner = (list(map(bound, paths)) for paths in seen())
    # Si el curso está en una carpeta que se ve, se tapa; y encima, lo suyo que hace falta.
    outer.append(["--tmpfs", str(ROOT)])
    inner.append(["--remount-ro", str(ROOT)])
    binds = [word for order in (*outer, *inner) for word in order]
    return ["bwrap", *WALLS.split(), *binds, *ROOMS.split(), *python], settings


def bound(path):
    """La orden que deja ver ``path``, sin poder escribir. Puede ser un enlace, como ``/bin`` en casi todos."""
    path = str(path)
    linked = os.path.islink(path)
    return ["--symlink", os.readlink(path), path] if linked else ["--ro-bind", path, path]


def works():
    """Si la jaula funciona de verdad aquí."""
    if not (sys.platform == "linux" and shutil.which("bwrap")):
        return False
    order, settings = command(caged=True)
    order[-1:] = ["-c", "print(1)"]
    try:
        done = subprocess.run(order, env=settings, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == b"1"
