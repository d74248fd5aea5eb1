"""La jaula en la que se ejecuta una entrega: la hace ``bubblewrap``.

Dentro se ve Python, su entorno, ``course_lib`` y lo que acompaña a la respuesta, sin poder escribir en
ellos, y dos carpetas temporales pequeñas. Ni red, ni las demás entregas, ni las notas, ni las soluciones,
ni las comprobaciones, que saben lo que hay que responder, ni la carpeta de nadie.

Quien califica sin ser administrador entra en un espacio de usuarios propio. Un administrador hace las paredes,
que pueden asomar a carpetas suyas, y antes de que arranque Python pasa a ser «nobody», sin vuelta atrás.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from aula.calificar import limits
from aula.calificar.text import SAYS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STUDENT = HERE / "student.py"
OURS = [ROOT / "course_lib", ROOT / "course_checkers/inside", STUDENT]
OURS += [ROOT / "course_tools" / name for name in ("__init__.py", "code.py")]
NOBODY = 65534
RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
KERNEL = Path("/proc/version")
CAUSES, PARTS = SAYS["causas"], SAYS["jaula"]


def is_root():
    """Si quien califica es el administrador (en Windows no se pregunta)."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def seen():
    """Los archivos y carpetas que se ven dentro: los de fuera del curso y, de él, los que hacen falta."""
    python = (Path(sys.base_prefix).resolve(), Path(sys.prefix), Path(sys.executable).resolve())
    found = [*map(Path, PARTS["sistema"]), *python[:2], python[2].parents[1], *OURS]
    found = dict.fromkeys(p for p in found if p.exists())
    inner = [p for p in found if ROOT in p.parents]
    outer = [p for p in found if p not in inner and Path("/usr") not in p.parents]
    return outer, inner


def command(caged):
    """La orden que ejecuta ``student``, en la jaula o no, y sus variables."""
    settings = PARTS["dentro"] | limits.taken(PARTS["fuera"])
    python = [sys.executable, "-I", "-B", "-X", "utf8", str(STUDENT)]
    if not caged:
        return python, settings
    outer, inner = ([bound(path) for path in paths] for paths in seen())
    # Si el curso está en una carpeta que se ve, se tapa; y encima, lo suyo que hace falta.
    cover = [*parents(ROOT), "--tmpfs", str(ROOT)]
    close = ["--remount-ro", str(ROOT), "--chdir", "/tmp", "--remount-ro", "/"]
    # ``/tmp`` va antes que lo demás: si el curso está dentro, se ve encima.
    given = {"nobody": NOBODY, "disk": limits.DISK, "files": limits.FILES}
    say = lambda name: PARTS[name].format(**given).split()  # noqa: E731
    rooms = [*say("salas"), *sum(outer, []), *cover, *sum(inner, []), *close]
    walls = ["bwrap", *say("paredes"), *say("puede" if is_root() else "cualquiera")]
    last = ["/bin/sh", "-c", PARTS["caben"].format(**given), "sh"]
    last += say("nadie" if is_root() else "nada")
    counted = [*walls, *say("monta"), *rooms, *last]
    if limits.runs(tuple(counted)):  # cuántos archivos caben se dice con un permiso, que se quita después
        return [*counted, *python], settings
    return [*walls, *rooms, *(last[4:] if is_root() else []), *python], settings


def bound(path):
    """La orden que deja ver ``path``, sin poder escribir. Puede ser un enlace, como ``/bin`` en casi todos."""
    linked = os.path.islink(path)
    words = ["--symlink", os.readlink(path)] if linked else ["--ro-bind", str(path)]
    return [*parents(path), *words, str(path)]


def parents(path):
    """La orden que hace las carpetas en las que está ``path``: vacías, y todos pueden pasar por ellas."""
    return [word for above in [*path.parents][-2::-1] for word in ("--dir", str(above))]


@functools.cache
def problem():
    """Por qué no funciona la jaula aquí: una de ``CAUSES`` y lo que dice ``bwrap``; o nada, si funciona."""
    if sys.platform != "linux":
        return "windows" if sys.platform == "win32" else "sistema", ""
    about = KERNEL.read_text() if KERNEL.exists() else ""
    if re.search("Microsoft(?!.*WSL2)", about):  # en WSL 2, con minúscula, o «WSL2»
        return "wsl", ""
    for tool in ("bwrap", "setpriv")[: 1 + is_root()]:
        if not shutil.which(tool):
            return f"{tool}_wsl" if "microsoft" in about and tool == "bwrap" else tool, ""
    order, settings = command(caged=True)
    # No basta con que arranque: dentro tiene que ser otro, y poder leer lo que hace falta.
    read = f"open(find_spec('torch').origin), open({str(STUDENT)!r}), print(os.getuid())"
    order[-1:] = ["-c", f"import os; from importlib.util import find_spec; {read}"]
    try:
        done = subprocess.run(order, env=settings, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "otra", str(error)
    if done.stdout.strip() == str(NOBODY):
        return None
    return cause(done.stderr), done.stderr.strip()[-300:]


def cause(told):
    """De lo que dice ``bwrap``, cuál de ``CAUSES`` es."""
    userns = re.search(r"uid\smap|RTM_NEWADDR", told)
    if userns and RESTRICTED.exists() and RESTRICTED.read_text().strip() == "1":
        return "apparmor"
    if userns or re.search("namespace|permissions|permitted", told):
        return "contenedor"
    return "permisos" if "ermission" in told or "ModuleNotFound" in told else "otra"


def works():
    """Si la jaula funciona de verdad aquí."""
    return problem() is None


def alone():
    """Qué pasa sin jaula, por qué no la hay y qué hacer."""
    name, told = problem() or ("otra", "")
    told = f" (Dice: {told})" if told else ""
    last = SAYS["administrador" if is_root() else "confianza"]
    return f"{SAYS['sin_aislar']}\n{CAUSES[name]}{told}\n{last}"


def start(caged):
    """Lo que se dice al empezar: si se aísla, y si el tope es de la jaula entera."""
    whole = SAYS["junto"] if limits.way() else SAYS["aparte"].format(2 * limits.DISK >> 20)
    return f"{SAYS['aislado']}\n{whole}" if caged else SAYS["sin_aislar"]
