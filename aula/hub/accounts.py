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
import unicodedata

from aula.hub import place

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # sin las que se confunden al copiarlas


class ClassroomError(Exception):
    """Algo que se puede arreglar: su texto dice qué pasa y qué hacer."""


def do(*command, said=None, problem=""):
    """Ejecuta una orden del sistema; si falla, lo dice con sus palabras."""
    command = [str(part) for part in command]
    done = subprocess.run(command, input=said, capture_output=True, text=True)
    if done.returncode:
        problem = problem or f"No se ha podido hacer «{command[0]}»."
        raise ClassroomError(f"{problem}\n{done.stderr.strip()[-300:]}")


def users(group):
    """Las cuentas de un grupo de Linux."""
    return next((one.gr_mem for one in grp.getgrall() if one.gr_name == group), [])


def members():
    """Las cuentas de la clase: la de cada nombre."""
    known = users(place.STUDENTS)
    return {pwd.getpwnam(user).pw_gecos.split(",")[0] or user: user for user in known}


def enrol(names, disk=""):
    """Da de alta a quien falte. Devuelve sus filas: nombre, usuario y contraseña."""
    known, added = members(), []
    for group in (place.STUDENTS, place.TEACHERS):
        do("groupadd", "--force", group)
    tidy = dict.fromkeys(re.sub(r"[\s:,]+", " ", one).strip() for one in names)
    new = [name for name in tidy if name and name not in known]
    if disk:
        check_disk(disk, len(new))
    for name in new:
        user = free_user(name)
        do(
            *("useradd", "--create-home", "--base-dir", place.HOMES, "--user-group"),
            *("--groups", place.STUDENTS, "--shell", "/bin/bash", "--comment", name, user),
        )
        home = pwd.getpwnam(user).pw_dir
        os.chmod(home, 0o700)
        if disk:
            make_disk(user, home, disk)
        added.append((name, user, set_password(user)))
    return added


def set_password(user, password=""):
    """Pone a ``user`` esa contraseña o, sin ella, una al azar. La devuelve."""
    password = password or "".join(secrets.choice(LETTERS) for _ in range(12))
    do("chpasswd", said=f"{user}:{password}\n")
    return password


def free_user(name):
    """Un nombre de cuenta libre para ``name``: «Ana Peña Gil» es ``ana-pena-gil``."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:24].strip("-")
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


def make_disk(user, home, size):
    """Hace el disco de ``user`` y lo monta en su carpeta, vacío y solo suyo."""
    file = image(user)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    do("truncate", "--size", size, file)
    do("mkfs.ext4", "-q", "-m", "0", file)
    mount(user, home)
    shutil.rmtree(os.path.join(home, "lost+found"))
    shutil.chown(home, user, user)
    os.chmod(home, 0o700)


def mount(user, home):
    """Monta el disco de ``user`` en su carpeta, si tiene uno y no está ya."""
    if image(user).exists() and not os.path.ismount(home):
        do("mount", "-o", "loop,nosuid,nodev", image(user), home)


def write_passwords(added):
    """Añade las contraseñas a un archivo que solo lee el administrador. Devuelve su ruta."""
    path = place.STATE / "claves.csv"
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(added)
    return path
