"""Las cuentas de la clase: de Linux, cada una con su carpeta y, si se pide, con su disco.

El disco es un archivo con formato, montado en la carpeta: quien lo llena no llena el de nadie.
Las cuotas harían lo mismo, pero hay que activarlas en cada sistema de archivos.
"""

import csv
import grp
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys

from aula.hub import place
from course_tools.foreign.names import slug

COURSE = ("course_lib", "course_checkers", "course_tools", "imagenes", ".jupyter", "aula/hub")
TMP = 2**27  # lo que cabe en `/tmp` y en `/dev/shm`, que son de cada uno y están en su memoria


class ClassroomError(Exception):
    """Algo que se puede arreglar: su texto dice qué pasa y qué hacer."""


def do(*command, said=None, problem="No se ha podido hacer «{}»."):
    """Ejecuta una orden del sistema; si falla, lo dice con sus palabras."""
    command = [str(part) for part in command]
    done = subprocess.run(command, input=said, capture_output=True, text=True)
    if done.returncode:
        raise ClassroomError(f"{problem.format(command[0])}\n{done.stderr.strip()[-300:]}")


def become(user):
    """La orden que ejecuta lo que sigue con la cuenta de ``user``."""
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--init-groups"]


def cage(home, notebooks=place.SHOWN):
    """La orden que encierra: lo demás se lee y no se escribe, y los procesos de otros no se ven.

    No hay red: nadie ocupa los puertos de otro, ni se pone en el sitio del aula si se cae. Del curso
    se ve lo que hace falta para estudiar: ni soluciones, ni notas de quien da la clase, ni ``.git``,
    donde está todo. Tampoco las carpetas de los demás.
    """
    private = ["/dev/shm", "/tmp", "/var/tmp"]
    shown = {place.ROOT / name: place.ROOT / name for name in COURSE} | {sys.prefix: sys.prefix}
    shown[place.ROOT / "notebooks"] = notebooks
    hidden = [place.HOMES.resolve(), place.ROOT]
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(part for path in private for part in ("--size", str(TMP), "--tmpfs", path)),
        *(str(part) for path in hidden for part in ("--tmpfs", path)),
        *(str(part) for to, path in shown.items() for part in ("--ro-bind", path, to)),
        *("--bind", home, home, "--chdir", home, "--setenv", "SHELL", "/bin/sh"),
        *(str(part) for path in [*hidden, "/dev"] for part in ("--remount-ro", path)),
        *("--unshare-pid", "--unshare-ipc", "--unshare-net", "--"),
    ]


def users(group):
    """Las cuentas de un grupo de Linux."""
    return next((one.gr_mem for one in grp.getgrall() if one.gr_name == group), [])


def members():
    """Las cuentas de la clase, con el nombre de cada una."""
    known = users(place.STUDENTS)
    return {user: pwd.getpwnam(user).pw_gecos.split(",")[0] or user for user in known}


def enrol(names, disk=""):
    """Da de alta a quien falte. Devuelve sus filas: nombre, usuario y contraseña."""
    known, added, keys = members().values(), [], place.STATE / "claves.csv"
    keys.touch(mode=0o600)
    for group in (place.STUDENTS, place.TEACHERS):
        do("groupadd", "--force", group)
    clean = ("".join(c if c.isprintable() and c not in ":," else " " for c in one) for one in names)
    tidy = dict.fromkeys(" ".join(name.split())[:100] for name in clean)
    new = [name for name in tidy if name and name not in known]
    if disk:
        check_disk(disk, len(new))
    for name in new:
        user = free_user(name)
        do(  # caducada y sin intérprete: solo entra en el aula, ni por SSH ni en el teclado
            *("useradd", "--create-home", "--base-dir", place.HOMES, "--user-group"),
            *("--shell", "/usr/sbin/nologin", "--expiredate", "1970-01-02"),
            *("--groups", place.STUDENTS, f"--comment={name}", user),
        )
        if disk:
            make_disk(user, disk)
        os.chmod(mount(user), 0o700)
        added.append((name, user, set_password(user)))
        with keys.open("a", encoding="utf-8", newline="") as file:  # de una en una: si falla
            csv.writer(file).writerow(added[-1])  # la siguiente, esta no se pierde
    return added


def set_password(user, password=""):
    """Pone a ``user`` esa contraseña o, sin ella, una al azar. La devuelve."""
    password = password or secrets.token_hex(6)
    do("chpasswd", said=f"{user}:{password}\n")
    return password


def free_user(name):
    """Un nombre de cuenta libre para ``name``: «Ana Peña Gil» es ``ana-pena-gil``."""
    plain = slug(name, 24)
    if not re.match("[a-z]", plain):
        plain = f"alumno-{plain}".strip("-")
    taken = {one.pw_name for one in pwd.getpwall()} | {one.gr_name for one in grp.getgrall()}
    options = (plain, *(f"{plain}-{k}" for k in range(2, 1000)))
    return next(option for option in options if option not in taken)


def image(user):
    """El archivo que es el disco de ``user``, si lo tiene."""
    return place.STATE / "discos" / f"{user}.img"


def check_disk(size, count):
    """Mira que en el disco de verdad quepan, llenos, los que hay y ``count`` más de ``size``."""
    made = [path.stat() for path in image("*").parent.glob("*.img")]
    promised = sum(one.st_size - 512 * one.st_blocks for one in made)
    promised += count * int(size[:-1]) * {"M": 2**20, "G": 2**30}[size[-1]]
    free = shutil.disk_usage(place.STATE).free
    if promised > free:
        told = {"wanted": promised / 2**30, "free": free / 2**30}
        raise ClassroomError(place.say("no caben", count=count, size=size, **told))


def make_disk(user, size):
    """Hace el disco de ``user``, vacío y suyo."""
    file = image(user)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    do("truncate", "--size", size, file)
    one = pwd.getpwnam(user)
    do("mkfs.ext4", "-q", "-m", "0", "-E", f"root_owner={one.pw_uid}:{one.pw_gid}", file)


def mount(user):
    """Monta el disco de ``user`` en su carpeta, si tiene uno y no está ya. Devuelve la carpeta."""
    home = pwd.getpwnam(user).pw_dir
    if image(user).exists() and not os.path.ismount(home):
        do("mount", "-o", "loop,nosuid,nodev", image(user), home)
    return home
