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


def members():
    """Las cuentas de la clase: la de cada nombre."""
    users = next((group.gr_mem for group in grp.getgrall() if group.gr_name == place.STUDENTS), ())
    return {pwd.getpwnam(user).pw_gecos.split(",")[0] or user: user for user in users}


def enrol(names, disk=""):
    """Da de alta a quien falte. Devuelve sus filas: nombre, usuario y contraseña."""
    known, added = members(), []
    for group in (place.STUDENTS, place.TEACHERS):
        do("groupadd", "--force", group)
    tidy = dict.fromkeys(re.sub(r"[\s:,]+", " ", one).strip() for one in names)
    for name in filter(None, tidy):
        if name in known:
            continue
        user = free_user(name)
        do(
            *("useradd", "--create-home", "--base-dir", place.HOMES, "--user-group"),
            *("--groups", place.STUDENTS, "--shell", "/bin/bash", "--comment", name, user),
        )
        home = pwd.getpwnam(user).pw_dir
        os.chmod(home, 0o700)
        if disk:
            make_disk(user, home, disk)
        password = "".join(secrets.choice(LETTERS) for _ in range(12))
        do("chpasswd", said=f"{user}:{password}\n")
        added.append((name, user, password))
    return added


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
