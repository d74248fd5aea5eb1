"""Abre el aula: ``python curso.py aula``. También da de alta a la clase, hace el ensayo y lo de ``exchange``.

Lo que falta para abrir se dice antes de abrir, con lo que hay que hacer.
"""

import argparse
import compileall
import contextlib
import logging
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from aula import cgroups
from aula.hub import accounts, exchange, place
from aula.hub.accounts import ClassroomError

LOG = 2**24  # del registro se guarda lo último: entre una y dos veces esto


def main(arguments):
    parser = argparse.ArgumentParser("aula", add_help=False, allow_abbrev=False)
    parser.error = lambda _: parser.exit(1, f"\nNo ha podido ser. {place.say('opción')}\n")
    for name in ("alta", "disco", "clave", "informe", "devolver", "dominio", "certificado", "privada", "ip"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--recoger", nargs="+", default="")
    parser.add_argument("--port", default="8000")
    parser.add_argument("--soluciones", nargs="?", const="todas")
    parser.add_argument("--ensayo", type=int)
    parser.add_argument("--avisar", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    for name in ("alta", "devolver", "certificado", "privada"):  # desde donde se da la orden
        if given := getattr(options, name):
            setattr(options, name, os.path.join(os.environ.get("CURSO_DESDE", ""), given))
    if {"-h", "--help", "--ayuda"} & set(rest):
        page = (place.ROOT / "aula/hub/README.md").read_text(encoding="utf-8")
        print(page.partition("\n## ")[0])
        return 0
    try:
        if sys.platform != "linux" or os.geteuid():
            raise ClassroomError(place.say("administrador"))
        place.STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
        if options.alta:
            return enrol(Path(options.alta), options.disco)
        orders = {"clave": reset_password, "informe": exchange.report}
        orders |= {"recoger": exchange.collect, "devolver": exchange.give_back}
        for name, order in orders.items():
            if given := getattr(options, name):
                return order(given)
        install()
        if options.soluciones:
            return open_solutions(options.soluciones)
        check_students()
        if options.ensayo:
            rehearsal = place.ROOT / "tests/tools/rehearse_classroom.py"
            return subprocess.call([sys.executable, str(rehearsal), str(options.ensayo), *rest])
        if options.avisar:
            place.TOLD.touch()  # si ya estaba, vale desde la primera vez
        else:
            place.TOLD.unlink(missing_ok=True)
        return serve(options, certificate(options), rest)
    except (ClassroomError, OSError) as error:
        why = place.say("archivo", why=error.strerror) if isinstance(error, OSError) else error
        print(f"\nNo ha podido ser. {why}")
        return 1


def check_students():
    """Prueba, con una cuenta sin permisos, que la jaula se puede hacer y que dentro está el curso."""
    nobody = {"user": "nobody", "group": "nogroup", "extra_groups": [], "cwd": "/"}
    nobody |= {"check": True, "capture_output": True, "env": place.environment()}
    python = [sys.executable, "-c", "import course_lib, jupyterhub.singleuser"]
    for problem, command in {
        "bubblewrap": ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"],
        "python": [*accounts.cage("/usr"), *python],
    }.items():
        try:
            subprocess.run(command, **nobody)
        except (OSError, subprocess.CalledProcessError) as error:
            said = (getattr(error, "stderr", b"") or b"").decode("utf-8", "replace").strip()
            raise ClassroomError(f"{place.say(problem)}\n{said[-300:]}") from None


def install():
    """Instala, la primera vez, la puerta del aula, y deja las bibliotecas ya compiladas.

    Los estudiantes no pueden escribir en el entorno: sin compilar, cada uno lo haría cada vez.
    Y siempre, cómo se entra y las lecciones que ven.
    """
    shutil.copyfile(place.HERE / "pam.txt", place.PAM)
    for kind in place.OPENED:
        (place.SHOWN / kind).mkdir(parents=True, exist_ok=True)
    notebooks = place.ROOT / "notebooks"
    place.publish(*(notebooks / one.relative_to(place.SHOWN) for one in place.SHOWN.glob("*/*")))
    lock, stamp = place.HERE / "package-lock.json", place.PROXY / "instalada.txt"
    wanted = lock.read_text() + Path(sys.prefix, "instalado.txt").read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Preparo la puerta del aula y compilo las bibliotecas: menos de un minuto…", flush=True)
    for file in (lock, place.HERE / "package.json"):
        shutil.copy(file, place.PROXY)
    npm = [place.NODE / "bin/node", place.NODE / "lib/node_modules/npm/bin/npm-cli.js", "ci"]
    npm += ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place.PROXY]
    accounts.do(*npm, problem=place.say("npm"))
    compileall.compile_dir(sys.prefix, quiet=2, workers=0)
    for name in ("course_lib", "course_checkers", "course_tools"):
        compileall.compile_dir(place.ROOT / name, quiet=2)
    stamp.write_text(wanted)


def enrol(path, disk):
    """Da de alta a quien esté en la lista, un nombre por línea, y dice dónde están las contraseñas."""
    if disk and not re.fullmatch(r"[1-9]\d*[MG]", disk):
        raise ClassroomError(place.say("disco", disk=disk))
    try:
        names = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ClassroomError(place.say("lista", path=path)) from None
    added = accounts.enrol(names, disk)
    if added:
        print(f"Altas: {len(added)}. Sus contraseñas, en {place.STATE / 'claves.csv'}")
    print(f"En la clase hay {len(accounts.members())} cuentas. Las que ya estaban no se tocan.")
    if added and not disk:
        print(place.say("sin disco"))
    return 0


def reset_password(user):
    """Pone a una cuenta de la clase otra contraseña, y la dice."""
    known = accounts.users(place.STUDENTS) + accounts.users(place.TEACHERS)
    if user not in known:
        raise ClassroomError(place.say("cuenta", user=user, known=known))
    print(f"La contraseña nueva de {user}: {accounts.set_password(user)}")
    return 0


def open_solutions(lesson):
    """Enseña las soluciones y la clase de una lección, «05», o «todas»; «ninguna» las quita. Al momento."""
    notebooks, start = place.ROOT / "notebooks", "" if lesson == "todas" else f"{lesson[:2]}_"
    found = [one for kind in place.OPENED for one in notebooks.glob(f"{kind}/{start}*.ipynb")]
    if not found and lesson != "ninguna":
        raise ClassroomError(place.say("lección"))
    place.publish(*found)
    for path in () if found else place.SHOWN.glob("*/*.ipynb"):
        path.unlink()
    shown = sorted({path.name[:2] for path in place.SHOWN.glob("*/*.ipynb")})
    print(f"Soluciones y clases que ven los estudiantes: {', '.join(shown) or 'ninguna'}.")
    return 0


def certificate(options):
    """Lo que se dice a JupyterHub para que cifre y, con un dominio, para que cada uno tenga el suyo."""
    files = options.certificado, options.privada
    if not any((*files, options.dominio)):
        return {}
    if not all(map(os.path.isfile, files)):
        raise ClassroomError(place.say("certificado"))
    if os.stat(files[1]).st_mode & 0o044:
        raise ClassroomError(place.say("privada", path=files[1]))
    said = dict(zip(("ssl_cert", "ssl_key"), map(os.path.abspath, files)))
    if options.dominio:
        said["subdomain_host"] = f"https://{options.dominio}:{options.port}"
        said["cookie_host_prefix_enabled"] = True
    return said


def serve(options, secure, rest):
    """Abre el Hub, dice dónde está y lo cierra en orden."""
    ip, port = options.ip, options.port
    try:
        socket.create_server((ip, int(port))).close()
    except (OSError, ValueError, OverflowError):
        raise ClassroomError(place.say("puerto", port=port)) from None
    if not cgroups.work(place.memory() - 2**30):
        print(place.say("límites"))
    place.INSIDE.mkdir(mode=0o755, exist_ok=True)
    # La puerta muere con el Hub: JupyterHub pararía ese proceso, y su número puede ser ya de otro.
    for left in (place.STATE / "jupyterhub-proxy.pid", place.INSIDE / "puerta"):
        left.unlink(missing_ok=True)
    settings = {"bind_url": f"http{'s' * bool(secure)}://{ip}:{port}"} | secure
    command = [*place.WITH_PARENT, sys.executable, "-m", "jupyterhub"]
    command += ["-f", str(place.HERE / "jupyterhub_config.py")]
    command += [f"--JupyterHub.{name}={value}" for name, value in settings.items()]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # si no, mil, y cada página gasta varios
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    log = RotatingFileHandler(place.STATE / "aula.log", "a", LOG, backupCount=1, encoding="utf-8")
    write = lambda text: log.emit(logging.makeLogRecord({"msg": text}))  # noqa: E731
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "replace"}
    hub = subprocess.Popen(command + rest, cwd=place.STATE, start_new_session=True, **out)
    try:
        for line in hub.stdout:
            write(line.rstrip())
            if "is now running at" in line:
                directions(options.dominio or ip or socket.gethostname(), port, secure)
        print(f"El aula se ha cerrado sola. Lo último que dice; lo demás, en {log.baseFilename}:\n")
        print(*Path(log.baseFilename).read_text("utf-8").splitlines()[-8:], sep="\n")
        return hub.wait() or 1
    except KeyboardInterrupt:
        print("\nCierro el aula, en orden…", flush=True)
        hub.terminate()
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            write(hub.communicate(timeout=60)[0])
        hub.kill()
        shutil.rmtree(place.INSIDE)
        print("Cerrada. Lo que cada uno guardó sigue en su carpeta.")
        return 0


def directions(name, port, secure):
    """Dice la dirección, el enlace a una lección, cuántos caben, y qué falta o sigue siendo posible."""
    address = f"http{'s' * bool(secure)}://{name}:{port}"
    print(f"{place.say('abierta')}\n\n    {address}/\n")
    link = f"{address}/hub/user-redirect/lab/tree/mis_cuadernos/05_atencion.ipynb"
    print(f"El enlace a una lección: {link}")
    print(f"Caben unos {place.seats()} a la vez. Cuentas: {len(accounts.members())}.")
    missing = {"alta": accounts.members(), "http": secure, "compartida": "subdomain_host" in secure}
    print(*(place.say(what) for what, there in missing.items() if not there), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
