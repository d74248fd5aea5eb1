"""Lo que va y viene entre quien da la clase y las carpetas del Hub: el informe, lo entregado y lo devuelto.

Lo lee y lo escribe la cuenta de cada uno, en su jaula: un enlace suyo no llega a nada que él no alcance.
"""

import html
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

from aula.hub import accounts, place
from course_tools.foreign.names import composed, line, words

COURSE = "atencion-paso-a-paso"  # de cada estudiante, en su carpeta
MOST = 20 * 2**20  # lo que se lee de un cuaderno


def inside(user, *order, said=None):
    """Lo que sale de una orden de «carpeta.sh» que hace ``user``, en 9 segundos a lo más."""
    cage = [*accounts.become(user), *accounts.cage(accounts.mount(user)), "timeout", "9"]
    order = [*cage, "sh", str(place.HERE / "carpeta.sh"), *order]
    return subprocess.run(order, input=said, capture_output=True, cwd="/")


def lesson(number):
    """El archivo de una lección, por su número."""
    names = [path.name for path in place.ROOT.glob(f"notebooks/{number[:2]}_*.ipynb")]
    if len(names) != 1:
        raise accounts.ClassroomError(place.say("lección"))
    return names[0]


def people():
    """De cada cuenta, el nombre de su carpeta: el suyo; y si hay otro que se lee igual, con su número."""
    names = accounts.members()
    alike = Counter(map(words, names.values()))
    for user, name in names.items():
        alone = words(name) and alike[words(name)] == 1
        plain = line(composed(name.replace("/", "-")))
        yield user, plain if alone else f"{plain} ({pwd.getpwnam(user).pw_uid})"


def copy(name, folder, since=0):
    """Copia en ``folder``, con su nombre y su fecha, lo guardado desde ``since``. Devuelve de quién hay algo."""
    found = {"done": [], "without": [], "unread": []}
    for user, person in people():
        read = inside(user, "lee", f"{COURSE}/mis_cuadernos/{name}", str(MOST))
        when, _, data = read.stdout.partition(b"\n")
        if read.returncode or len(data) == MOST:
            found["unread"].append(person)
        elif data and int(when) >= since:
            found["done"].append(person)
            path = folder / person / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (int(when), int(when)))
        else:
            found["without"].append(person)
    return found


def report(number):
    """El informe de una lección con lo que hay ahora en las carpetas, si la clase lo sabe."""
    name = lesson(number)
    if not place.TOLD.exists():
        raise accounts.ClassroomError(place.say("sin avisar"))
    with tempfile.TemporaryDirectory() as folder:
        copy(name, Path(folder), int(place.TOLD.stat().st_mtime))
        if not os.listdir(folder):
            raise accounts.ClassroomError(place.say("nadie"))
        order = [sys.executable, "-m", "aula.calificar.grade", folder]
        output = place.STATE / f"informe-{name[:2]}"
        return subprocess.call([*order, "--solo-informe", "--salida", output], cwd=place.ROOT)


def collect(numbers):
    """Copia lo que cada uno tiene guardado de unas lecciones. Otra vez, a otra carpeta."""
    names = [lesson(one) for one in dict.fromkeys(re.split("[, ]+", " ".join(numbers)))]
    title = "-".join(name[:2] for name in names)
    folder = place.STATE / f"entregas-{title}-{datetime.now():%Y-%m-%d-%H%M}"
    for name in names:
        print(place.say("recogida", lesson=name[:2], **copy(name, folder)))
    if not folder.exists():
        raise accounts.ClassroomError(place.say("sin entregas"))
    again = f"calificar {folder}", f"aula --devolver {folder}-calificadas"
    print(place.say("entregas", folder=folder), *again, sep="\n\n    sudo python3 curso.py ")
    return 0


def give_back(graded):
    """Deja a cada uno, en su carpeta, la página que le ha escrito «calificar»."""
    graded, pages = Path(graded).resolve(), {}
    for path in graded.glob("devoluciones/*.html"):
        page = path.read_text(encoding="utf-8", errors="replace")
        for title in re.findall("<title>(.*?)</title>", page)[:1]:
            pages[html.unescape(title)] = page.encode()
    if not pages:
        raise accounts.ClassroomError(place.say("sin devoluciones", folder=graded))
    name = graded.name.removeprefix("entregas-").removesuffix("-calificadas") + ".html"
    found = {"done": [], "without": [], "failed": [], "strange": pages}
    for user, person in people():
        page = pages.pop(person, None)
        done = page and not inside(user, "deja", f"{COURSE}/devoluciones", name, said=page).returncode
        found["without" if page is None else "done" if done else "failed"].append(person)
    print(place.say("devuelta", file=name, **found))
    return 0
