"""La jaula en la que se ejecuta una entrega, con lo que haya: ``bubblewrap`` o, si no, ``unshare``.

Dentro se ve Python, su entorno y ``course_lib``, sin poder escribir en ellos, y una carpeta temporal
pequeña. Ni red, ni las demás entregas, ni las notas, ni las soluciones, ni la carpeta de nadie.
"""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STUDENT = HERE / "alumno.py"
MEMORY, DISK = 2 * 2**30, 64 * 2**20  # bytes que puede pedir, además de los de torch; y escribir
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/nix/store")
WORK, HOME = "/tmp", "/tmp/.casa"

# ``unshare``, por dentro: una raíz nueva con lo que se ve, sin escritura, y ningún privilegio.
NEW_ROOT = r"""
root=$1; disk=$2; shift 2
mount -t tmpfs -o size=$disk,mode=755 jaula "$root"
while [ "$1" != -- ]; do
    if [ -L "$1" ]; then cp -P "$1" "$root$1"; shift; continue; fi
    if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; : > "$root$1"; fi
    mount --bind "$1" "$root$1"
    case $1 in /dev/*) ;; *) mount -o remount,bind,ro "$root$1" ;; esac
    shift
done
shift
mkdir -p "$root/proc" "$root/tmp"
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=$disk tmp "$root/tmp"
mount -o remount,bind,ro "$root"
cd "$root"
exec chroot . setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
"""

WITH = (
    "El código de las entregas se ejecuta aislado, con {}: sin red, sin ver tus archivos ni los de nadie, "
    "y con un tope de memoria, de tiempo y de disco."
)
LIMITS = (
    "solo el tiempo, la memoria y el disco de cada entrega"
    if sys.platform == "linux"
    else "el tiempo de cada entrega"
)
WITHOUT = (
    "Este sistema no aísla las entregas: su código puede leer tus archivos y usar la red. Se limita "
    f"{LIMITS}."
)
ALONE = (
    f"{WITHOUT} En Linux, instala bubblewrap («sudo apt install bubblewrap») y repite la orden; en "
    "otro sistema, usa uno con Linux. Si te fías de todas las entregas, añade --sin-aislar."
)


def seen():
    """Los archivos y carpetas que se ven dentro."""
    python = [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()]
    python += [Path(sys.executable).resolve().parents[1]]
    course = [ROOT / "course_lib", STUDENT]
    found = [*map(Path, SYSTEM), *python, *course]
    inside = [p for p in found if Path("/usr") in p.parents or not p.exists()]
    return list(dict.fromkeys(str(path) for path in found if path not in inside))


def command(kind, threads=1):
    """La orden que abre la jaula, y sus variables."""
    settings = {
        "PATH": "/usr/bin:/bin",
        "HOME": HOME,
        "LOGNAME": "estudiante",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "CURSO_PROGRESO": "no",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": str(threads),
    }
    python = [sys.executable, "-I", "-B", "-X", "utf8", str(STUDENT)]
    if kind == "bwrap":
        walls = (
            "--unshare-all --die-with-parent --new-session --cap-drop ALL --uid 65534 --gid 65534"
        )
        rooms = (
            rf"--proc /proc --dev /dev --size {DISK} --tmpfs {WORK} --chdir {WORK} --remount-ro /"
        )
        binds = []
        for path in seen():
            linked = os.path.islink(path)  # como `/bin`, en casi todos
            binds += ["--symlink", os.readlink(path), path] if linked else ["--ro-bind", path, path]
        return [kind, *walls.split(), *binds, *rooms.split(), *python], settings
    if kind == "unshare":
        walls = "--user --map-root-user --mount --net --pid --ipc --uts --fork --kill-child"
        devices = [f"/dev/{name}" for name in ("null", "zero", "urandom", "random")]
        script = ["sh", "-euc", NEW_ROOT, "jaula", empty_folder(), str(DISK)]
        return [kind, *walls.split(), *script, *devices, *seen(), "--", *python], settings
    keep = ("SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH")
    return python, settings | {name: os.environ[name] for name in keep if name in os.environ}


@functools.cache
def empty_folder():
    """Una carpeta vacía de la que colgar la raíz nueva; fuera de la jaula sigue vacía."""
    folder = tempfile.mkdtemp(prefix="jaula-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def works(kind):
    """Si esta forma de aislar funciona de verdad aquí."""
    if sys.platform != "linux" or not shutil.which(kind):
        return False
    order, settings = command(kind)
    probe = [*order[:-1], "-c", "print(1)"] if order[-1] == str(STUDENT) else order
    try:
        done = subprocess.run(probe, env=settings | outer(), capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == b"1"


def outer():
    """Lo que necesita para arrancar la orden que abre la jaula."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}


def choose():
    """La mejor forma de aislar que hay en este sistema; ``""`` si no hay ninguna."""
    return next((kind for kind in ("bwrap", "unshare") if works(kind)), "")
