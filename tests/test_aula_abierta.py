"""El aula de verdad: un JupyterHub con dos cuentas de Linux, y lo que una no puede hacerle a la otra.

Necesita ser administrador de un Linux, porque da de alta las cuentas; al acabar las borra.
"""

import asyncio
import contextlib
import os
import pwd
import re
import shutil
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jupyterhub", reason="lo instala «python curso.py aula»")
if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("bwrap"):
    pytest.skip("pide ser administrador de un Linux con bubblewrap", allow_module_level=True)

import aiohttp
from aiohttp.abc import AbstractResolver
from tools.rehearse_classroom import LESSON, ROOT, Student, classroom, processes
from yarl import URL

pytestmark = pytest.mark.lenta
SECRET = "la respuesta de Berta"
COURSE = ("course_checkers", "course_lib", "course_tools", "imagenes", "notebooks")


class Class:
    """Las dos cuentas y la de quien da la clase, y un solo hilo en el que pasa todo."""

    def __init__(self, hub, runner):
        self.hub, self.address, self.do = hub, hub.address, runner.run
        self.ana, self.berta, self.tea = (Student(hub.address, *one[1:]) for one in hub.added)

    def run(self, student, code, patience=90):
        """Lo que sale y el error al ejecutar ``code`` con la cuenta de ``student``."""
        return self.do(student.execute(code, patience))

    def ask(self, student, method, path, **options):
        return self.do(student.ask(method, path, **options))


@pytest.fixture(scope="module")
def room():
    names = ["Ana de Prueba", "Berta de Prueba", "Tea de Prueba"]
    with classroom(names, disk="80M", teachers=names[2:]) as hub, asyncio.Runner() as runner:
        room = runner.run(make(hub, runner))
        yield room
        for one in (room.ana, room.berta, room.tea):
            runner.run(one.close())


async def make(hub, runner):
    room = Class(hub, runner)
    for one in (room.ana, room.berta):
        await one.log_in()
        await one.follow_link()
        await one.open_lesson()
    await room.berta.execute(f"from pathlib import Path\nPath('nota.txt').write_text('{SECRET}')")
    return room


def home(student):
    return pwd.getpwnam(student.user).pw_dir


def fetch(room, student, url, **options):
    """El código, la dirección final y el texto de una página."""

    async def get():
        async with student.web.get(f"{room.address}{url}", **options) as answer:
            return answer.status, str(answer.url), await answer.text()

    return room.do(get())


def visit(room, user, password, url=None, **options):
    """Alguien que entra con otro navegador, mira ``url``, si se dice, y se va.

    Devuelve lo último que se le contesta, su texto y los nombres de las galletas que se lleva.
    """

    async def attempt():
        visitor = Student(room.address, user, password)
        answer = await visitor.log_in(**options)
        if url:
            answer = await visitor.web.get(f"{room.address}{url}")
        told = await answer.text()
        kept = {cookie.key for cookie in visitor.web.cookie_jar}
        await visitor.close()
        return answer, told, kept

    return room.do(attempt())


# --- Lo que recibe cada una -----------------------------------------------------------------------


def test_se_llega_a_la_leccion_con_el_enlace_y_se_ven_sus_figuras(room):
    status, model = room.ask(room.ana, "GET", f"api/contents/{LESSON}", params={"content": "0"})
    assert (status, model["writable"]) == (200, True)
    for path in ("files/imagenes/sdpa.svg", "files/mis_cuadernos/05_atencion.ipynb"):
        assert room.ask(room.ana, "GET", path)[0] == 200, path
    status, model = room.ask(room.ana, "GET", "api/contents/notebooks/05_atencion.ipynb", params={"content": "0"})
    assert (status, model["writable"]) == (200, False)


def test_la_comprobacion_nombra_el_error_y_acepta_la_buena(room):
    imports = next(c for c in room.ana.nb["cells"] if c["cell_type"] == "code")
    assert room.run(room.ana, "".join(imports["source"]))[1] == ""
    room.run(room.ana, "from course_checkers import check_scaled_dot_product_attention")
    assert room.do(room.ana.answer()) == []


# --- Quién entra ----------------------------------------------------------------------------------


@pytest.mark.parametrize("password", ["", "mala", "x" * 5000, "' OR 1=1 --"])
def test_una_contrasena_mala_no_entra(room, password):
    answer, text, cookies = visit(room, room.berta.user, password or "-")
    assert answer.status == 403
    assert "Ese nombre y esa contraseña no van juntos" in text
    assert not {name for name in cookies if name.startswith("jupyterhub-hub-login")}


@pytest.mark.parametrize("user", ["root", "nobody", "no-existe", "../root"])
def test_quien_no_es_de_la_clase_no_entra(room, user):
    assert visit(room, user, "clave")[0].status == 403


def test_una_cuenta_buena_de_fuera_del_grupo_no_entra(room):
    subprocess.run(["useradd", "--no-create-home", "fuera-de-clase"], check=True)
    try:
        subprocess.run(["chpasswd"], input=b"fuera-de-clase:una-clave-larga", check=True)
        answer, text, _ = visit(room, "fuera-de-clase", "una-clave-larga")
        assert answer.status == 403
        assert "esa cuenta no es de esta clase" in text
    finally:
        subprocess.run(["userdel", "fuera-de-clase"], check=True)


@pytest.mark.parametrize("link", ["https://malo.invalid/", "//malo.invalid/", "/\\malo.invalid", "http:malo.invalid"])
def test_un_enlace_falso_no_saca_del_aula(room, link):
    answer, _, _ = visit(room, room.berta.user, room.berta.password, then=link)
    assert all(str(one.url).startswith(room.address) for one in (*answer.history, answer))


# --- Por la web -----------------------------------------------------------------------------------


def test_el_servidor_de_otra_no_se_abre_ni_se_para(room):
    other = room.berta.user
    for url in (f"/user/{other}/lab", f"/user/{other}/api/contents/nota.txt", f"/hub/spawn/{other}"):
        status, final, text = fetch(room, room.ana, url)
        assert status in (403, 404), (url, status, final)
        assert SECRET not in text
    mine, room.ana.base = room.ana.base, room.berta.base
    try:  # 503: la rechaza sin acabar de leerla, y la puerta, que aún escribe, lo cuenta así
        for method, path in (("PUT", "api/contents/nota.txt"), ("POST", "api/kernels")):
            assert room.ask(room.ana, method, path, json={})[0] in (403, 404, 503), path
    finally:
        room.ana.base = mine


def test_sin_entrar_no_se_llega_a_nada(room):
    async def attempt(path):
        stranger = Student(room.address, "nadie", "")
        async with stranger.web.get(f"{room.berta.base}/{path}") as answer:
            found = answer.status, answer.url.path, await answer.text()
        await stranger.close()
        return found

    for path in ("api/contents", "lab", "files/mis_cuadernos/05_atencion.ipynb", "api/kernels"):
        status, where, text = room.do(attempt(path))
        assert where == "/hub/login" or status in (401, 403), (path, status, where)
        assert "nbformat" not in text


@pytest.mark.parametrize("path", [
    "../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd",
    "mis_cuadernos/atajo",
])  # fmt: skip
@pytest.mark.parametrize("door", ["api/contents", "files"])
def test_una_ruta_fuera_de_la_carpeta_se_rechaza(room, door, path):
    target = f"{home(room.berta)}/atencion-paso-a-paso/nota.txt"
    room.run(room.ana, f"import os\nif not os.path.islink('atajo'): os.symlink('{target}', 'atajo')")

    async def get():
        url = URL(f"{room.ana.base}/{door}/{path}", encoded=True)
        async with room.ana.web.get(url) as answer: return answer.status, await answer.text()

    status, text = room.do(get())
    assert status >= 400, (status, text[:200])
    assert "root:" not in text
    assert SECRET not in text


async def own_token(student):
    """Lo que se contesta a quien pide una clave para sí."""
    jar = [one for one in student.web.cookie_jar if one["path"] == "/hub/"]
    page = {"X-XSRFToken": next(one.value for one in jar if one.key == "_xsrf")}
    page["Referer"] = f"{student.address}/hub/token"
    url = f"{student.address}/hub/api/users/{student.user}/tokens"
    async with student.web.post(url, json={}, headers=page) as answer:
        return answer.status, await answer.text()


def test_su_clave_del_hub_solo_vale_para_lo_suyo(room):
    code = """
import http.client, os, socket, urllib.parse
def ask(path, method="GET"):
    url = urllib.parse.urlsplit(os.environ["JUPYTERHUB_API_URL"])
    web = http.client.HTTPConnection("hub")
    web.sock = socket.socket(socket.AF_UNIX)
    web.sock.connect(urllib.parse.unquote(url.netloc))
    headers = {"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"]}
    web.request(method, url.path + path, headers=headers)
    return web.getresponse().status
"""
    other = room.berta.user
    code += f"""
print([ask("/users"), ask("/users/{other}"), ask("/users/{other}/server", "DELETE"),
       ask("/users/{other}/tokens", "POST"), ask("/proxy"), ask("/shutdown", "POST")])
print(sorted(k for k in os.environ if "CONFIGPROXY" in k or "SECRET" in k))
"""
    said, error = room.run(room.ana, code)
    assert error == ""
    codes, leaked = said.strip().splitlines()
    assert set(eval(codes)) <= {403, 404}, codes
    status, made = room.do(own_token(room.ana))
    assert status == 403, made  # no caducaría, y con miles se llena el disco del Hub
    assert leaked == "[]"


# --- Desde el kernel ------------------------------------------------------------------------------


def test_los_archivos_de_otra_no_se_leen_ni_se_cambian_ni_se_ven(room):
    folder = home(room.berta)
    for code in (
        f"import os; os.listdir('{folder}')",
        f"open('{folder}/atencion-paso-a-paso/nota.txt').read()",
        f"open('{folder}/nuevo', 'w')",
        f"import os; os.remove('{folder}/atencion-paso-a-paso/nota.txt')",
        f"import os; os.rename('{folder}', '/tmp/suyo')",
    ):
        said, error = room.run(room.ana, code)
        assert error in ("FileNotFoundError", "OSError"), (code, said, error)
    assert room.run(room.berta, "print(open('nota.txt').read())")[0].strip() == SECRET


def test_lo_que_escribe_cada_una_no_lo_lee_nadie_mas(room):
    said, _ = room.run(room.ana, "import os\nopen('mio','w').close()\nprint(oct(os.stat('mio').st_mode & 0o777))")
    assert said.strip() == "0o600"
    assert oct(os.stat(home(room.ana)).st_mode & 0o777) == "0o700"
    room.run(room.berta, "open('/tmp/secreto', 'w').write('x')")
    said, _ = room.run(room.ana, "import os; print(os.path.exists('/tmp/secreto'))")
    assert said.strip() == "False"


def test_el_curso_y_el_sistema_no_se_cambian(room):
    for path in (ROOT / "curso.py", ROOT / "course_lib/nuevo.py", "/etc/hostname", "/var/lib/x"):
        _, error = room.run(room.ana, f"open({str(path)!r}, 'a')")
        assert error in ("PermissionError", "OSError"), path


def test_los_procesos_de_otra_no_se_ven_ni_se_paran(room):
    theirs = set(processes(pwd.getpwnam(room.berta.user).pw_uid))
    code = f"""
import glob, os
print({{os.stat(path).st_uid for path in glob.glob("/proc/[0-9]*")}} == {{os.getuid()}})
for pid in {theirs}:
    try:
        print(open(f"/proc/{{pid}}/environ").read())
    except OSError:
        pass
    try:
        if pid > 1000:
            os.kill(pid, 9)
    except OSError:
        pass
"""
    assert room.run(room.ana, code) == ("True\n", "")
    assert set(processes(pwd.getpwnam(room.berta.user).pw_uid)) == theirs


def test_los_secretos_del_hub_no_se_leen(room):
    state = os.environ["CURSO_AULA"]
    for name in ("jupyterhub.sqlite", "jupyterhub_cookie_secret", "aula.log", "discos"):
        _, error = room.run(room.ana, f"open('{state}/{name}')")
        assert error == "PermissionError", name


def test_no_hay_puertos_que_ocupar_ni_por_los_que_entrar(room):
    """Con red, quien cogía el puerto de otra antes que su JupyterLab le servía una página suya."""
    port = room.address.rpartition(":")[2]
    code = f"""
import os, socket, urllib.parse
hub = urllib.parse.unquote(urllib.parse.urlsplit(os.environ["JUPYTERHUB_API_URL"]).netloc)
inside = os.path.dirname(hub)
doors = [("AF_INET", ("127.0.0.1", {port}))]
doors += [("AF_UNIX", f"{{inside}}/{{name}}") for name in ("lab-{room.berta.user}", "puerta")]
for kind, where in doors:
    try:
        socket.socket(getattr(socket, kind)).connect(where)
        print("entra en", where)
    except OSError as error:
        print(type(error).__name__)
try:
    os.remove(hub)
except OSError as error:
    print(type(error).__name__)
"""
    said, error = room.run(room.ana, code)
    closed = ["ConnectionRefusedError", "PermissionError", "PermissionError", "OSError"]
    assert (said.split(), error) == (closed, "")
    uid = pwd.getpwnam(room.berta.user).pw_uid
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    assert not [line for lines in tables for line in lines if int(line.split()[7]) == uid]


def test_el_registro_del_aula_no_se_escribe_ni_se_borra_desde_un_kernel(room):
    """Su salida era el archivo del registro: lo podía llenar hasta el disco, o vaciarlo."""
    for process in processes(pwd.getpwnam(room.ana.user).pw_uid):
        for number in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                assert not os.readlink(number).startswith(os.environ["CURSO_AULA"]), number
    assert room.run(room.ana, "open('/dev/lleno', 'w')")[1] == "OSError"  # y otro disco, sin límite


def test_una_cuenta_de_la_clase_no_entra_en_el_ordenador_por_otro_sitio(room):
    """Por SSH o en el teclado no hay jaula: vería las soluciones y ocuparía los puertos."""
    entry = pwd.getpwnam(room.ana.user)
    assert entry.pw_shell == "/usr/sbin/nologin"
    shadow = Path("/etc/shadow").read_text().splitlines()
    expires = next(line.split(":")[7] for line in shadow if line.startswith(f"{room.ana.user}:"))
    assert int(expires) == 1  # el segundo día de 1970, y en el aula entra


# --- Lo que no está hasta que se abre -------------------------------------------------------------


def aula(*arguments):
    """Lo que dice una orden del aula."""
    order = [sys.executable, "-m", "aula.hub.classroom", *arguments]
    return subprocess.run(order, cwd=ROOT, capture_output=True, text=True).stdout


def test_ni_soluciones_ni_notas_ni_historia_del_curso_se_ven(room):
    code = f"import os\nprint(sorted(os.listdir({str(ROOT)!r})), os.path.exists('/home/{room.tea.user}'))"
    said, _ = room.run(room.ana, code)
    assert said.strip() == str([".jupyter", ".venv", "aula", *sorted(COURSE)]) + " False"
    code = f"import glob\nprint(len(glob.glob({str(ROOT)!r} + '/notebooks/[0-9]*.ipynb')))"
    assert int(room.run(room.ana, code)[0]) == len(list(ROOT.glob("notebooks/[0-9]*.ipynb")))
    names = ["soluciones/05_atencion.ipynb", "clases/05_atencion.ipynb", "guia_docente.md"]
    for name in names:
        assert room.run(room.ana, f"open('../notebooks/{name}')")[1] == "FileNotFoundError"
        assert room.ask(room.ana, "GET", f"api/contents/notebooks/{name}")[0] == 404


def test_las_soluciones_se_abren_y_se_cierran_al_momento(room):
    def seen():
        paths = [f"{kind}/{n}_" for kind in ("soluciones", "clases") for n in ("05", "06")]
        code = f"print([len(glob.glob('../notebooks/' + path + '*')) for path in {paths}])"
        return room.run(room.ana, f"import glob\n{code}")[0].strip()

    try:
        assert aula("--soluciones", "05").strip().endswith("estudiantes: 05.")
        assert seen() == "[1, 0, 1, 0]"
        found = room.ask(room.ana, "GET", "api/contents/notebooks/soluciones/05_atencion.ipynb")
        assert (found[0], found[1]["writable"]) == (200, False)
        assert "05, 06" in aula("--soluciones")
        assert seen() == "[1, 1, 1, 1]"
        assert "dos cifras" in aula("--soluciones", "nada")
    finally:
        assert aula("--soluciones", "ninguna").strip().endswith("ninguna.")
    assert seen() == "[0, 0, 0, 0]"


# --- Quien da la clase ----------------------------------------------------------------------------


def test_quien_da_la_clase_ve_quien_esta_y_no_abre_lo_de_nadie(room):
    other, own = f"/hub/api/users/{room.berta.user}", f"/hub/api/users/{room.tea.user}"
    student = f"/hub/api/users/{room.ana.user}/server"
    forbidden = [
        ("GET", f"/user/{room.berta.user}/lab", None),
        ("GET", f"/user/{room.berta.user}/api/contents/nota.txt", None),
        ("GET", f"/user/{room.berta.user}/files/nota.txt", None),
        ("POST", f"{other}/tokens", {}),
        ("GET", f"{other}/tokens", None),
        ("POST", f"{own}/tokens", {"scopes": [f"access:servers!user={room.berta.user}"]}),
        ("PATCH", own, {"admin": True}),
        ("POST", "/hub/api/users/otra", {}),
        ("POST", "/hub/api/groups/g/users", {"users": [room.berta.user]}),
        ("POST", f"/hub/api/shares/{room.berta.user}/", {"user": room.tea.user}),
        ("POST", "/hub/api/shutdown", {}),
    ]

    async def teach():
        await room.tea.log_in()
        await room.tea.web.get(f"{room.address}/hub/admin")
        jar = [one for one in room.tea.web.cookie_jar if one["path"] == "/hub/"]
        page = {"X-XSRFToken": next(one.value for one in jar if one.key == "_xsrf")}
        page["Referer"] = f"{room.address}/hub/token"

        async def ask(method, path, given=None):
            url = room.address + path
            async with room.tea.web.request(method, url, json=given, headers=page) as answer:
                return answer.status, await answer.text()

        for asked in [*forbidden, ("POST", f"{own}/tokens", {})]:
            status, text = await ask(*asked)
            assert status in (400, 403, 404), (asked, status, text)
            assert SECRET not in text
        assert room.berta.user in (await ask("GET", "/hub/api/users", None))[1]
        closed = [(await ask(how, student, {}))[0] for how in ("DELETE", "POST")]
        await room.ana.follow_link()
        await room.ana.open_lesson()
        return closed

    assert room.do(teach()) in ([204, 201], [204, 202])


# --- La contraseña --------------------------------------------------------------------------------


def change(room, student, old, new, again=None):
    """Lo que dice la página al cambiar la contraseña."""

    async def fill():
        url = f"{room.address}/hub/clave"
        async with student.web.get(url) as page:
            form = re.search(r'name="_xsrf" value="([^"]*)"', await page.text())
        data = {"_xsrf": form[1], "old": old, "new": new, "again": again or new}
        async with student.web.post(url, data=data) as answer:
            return re.search(r'role="status">([^<]*)', await answer.text())[1]

    return room.do(fill())


def enters(room, student, password):
    """Si entra con esa contraseña."""
    return visit(room, student.user, password)[0].status == 200


def test_cada_una_cambia_su_contrasena_y_quien_da_la_clase_la_repone(room):
    first = room.ana.password
    assert "no es esa" in change(room, room.ana, "otra-cosa", "una nueva más larga")
    for bad, again in (
        ("corta", None),
        ("una larga", "otra larga"),
        ("ocho letras\nroot:x", None),
        ("😀" * 200, None),  # «chpasswd» no admite tantos bytes
    ):
        assert "no vale" in change(room, room.ana, first, bad, again)
    assert "Hecho" in change(room, room.ana, first, "ñandú: 7 letras")
    assert not enters(room, room.ana, first)
    assert enters(room, room.ana, "ñandú: 7 letras")
    assert "No hay en la clase" in aula("--clave", "root")
    room.ana.password = aula("--clave", room.ana.user).split()[-1]
    assert enters(room, room.ana, room.ana.password)


def test_con_diez_fallos_esa_cuenta_espera_y_las_demas_no(room):
    for _ in range(10):
        assert not enters(room, room.tea, "mala")
    try:
        assert not enters(room, room.tea, room.tea.password)
        assert enters(room, room.berta, room.berta.password)
    finally:
        subprocess.run(["faillock", "--user", room.tea.user, "--reset"], check=True)
    assert enters(room, room.tea, room.tea.password)


# --- Quien da guerra ------------------------------------------------------------------------------


def test_llenar_la_memoria_solo_le_pasa_a_quien_la_llena(room):
    said, error = room.run(room.ana, "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * 10_000_000))")
    assert error in ("MemoryError", "el kernel se ha ido"), (said, error)
    assert room.ask(room.ana, "GET", "api/status")[0] == 200
    assert room.run(room.berta, "print(6 * 7)")[0].strip() == "42"


def test_llenar_el_disco_no_borra_lo_guardado_ni_llena_el_de_otra(room):
    before = room.ask(room.ana, "GET", f"api/contents/{LESSON}")[1]["content"]
    fill = "for k in range(40):\n    open(f'lleno{k}', 'wb').write(bytes(5_000_000))"
    assert room.run(room.ana, fill)[1] == "OSError"
    rest = """
import os
try:
    with open("relleno", "wb", 0) as file:
        while True:
            file.write(bytes(4096))
finally:
    os.truncate("relleno", os.path.getsize("relleno") - 100_000)
"""
    assert room.run(room.ana, rest)[1] == "OSError"
    assert room.do(room.ana.save()) >= 400
    after = room.ask(room.ana, "GET", f"api/contents/{LESSON}")[1]["content"]
    assert after["cells"] == before["cells"]
    assert room.run(room.berta, "open('cabe', 'wb').write(bytes(5_000_000))")[1] == ""
    room.run(room.ana, "import glob, os\nfor f in glob.glob('*lleno*'): os.remove(f)")
    assert room.do(room.ana.save()) == 200


def test_muchos_procesos_solo_le_faltan_a_quien_los_hace(room):
    """Puede quedarse sin su propio JupyterLab, que se abre otra vez; los demás, no."""
    code = """
import os, time
count = 0
try:
    while count < 3000:
        if not os.fork():
            time.sleep(20)
            os._exit(0)
        count += 1
except OSError:
    print("no hay más", count)
"""
    said, error = room.run(room.ana, code, 120)
    assert "no hay más" in said or error, said
    uid = pwd.getpwnam(room.ana.user).pw_uid
    assert len(list(processes(uid))) < 500
    assert room.run(room.berta, "print(6 * 7)")[0].strip() == "42"


# --- En español -----------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["/hub/login", "/hub/home", "/hub/nada", "/hub/spawn/otra"])
def test_las_paginas_estan_en_espanol(room, url):
    known = room.berta.user, room.berta.password
    _, text, _ = visit(room, *(("nadie", "-") if url == "/hub/login" else known), url)
    assert '<html lang="es">' in text
    for english in ("Sign in", "Your server", "My Server", "Not Found", "Logout", "moons", "None"):
        assert english not in text


# --- Si se cae ------------------------------------------------------------------------------------


def test_lo_guardado_sigue_si_se_cae_su_servidor(room):
    """Guardó en la prueba del disco; después, sin avisar, desaparece su JupyterLab.

    Antes dejó configuración y páginas en sus carpetas: el que se abre no las lee ni las da.
    """
    own, page = Path(home(room.ana)), "<script>1 + 1</script>"
    read = f"open('{own}/leida', 'w')"
    for path, text in {
        ".jupyter/jupyter_server_config.py": read,
        ".jupyter/jupyter_config.py": read,
        "jupyter_server_config.py": read,
        ".jupyter/custom/mala.html": page,
        ".local/share/jupyter/labextensions/mala/static/mala.html": page,
        ".local/share/jupyter/nbextensions/mala.html": page,
    }.items():
        (own / path).parent.mkdir(parents=True, exist_ok=True)
        (own / path).write_text(text)
    subprocess.run(["chown", "-R", room.ana.user, own], check=True)
    for process in processes(pwd.getpwnam(room.ana.user).pw_uid):
        os.kill(process, 9)

    async def again():
        for _ in range(90):
            await asyncio.sleep(1)
            async with room.ana.web.get(f"{room.address}/hub/spawn/{room.ana.user}") as page:
                if page.status == 200 and page.url.path.startswith("/user/"):
                    break
        await room.ana.open_lesson()

    room.do(again())
    sources = ["".join(cell["source"]) for cell in room.ana.nb["cells"]]
    assert any("key.shape[-1] ** 0.5" in source for source in sources)
    assert not (own / "leida").exists()
    for door in ("custom", "lab/extensions/mala/static", "nbextensions", "static"):
        assert "<script>1 + 1" not in str(room.ask(room.ana, "GET", f"{door}/mala.html")), door


def test_si_el_hub_muere_se_sigue_donde_se_estaba(room):
    """Con la misma orden se abre otra vez: mismo puerto, mismos kernels, y el registro entero."""
    room.do(room.berta.connect())
    room.run(room.berta, "kept = 'sin guardar'")
    log = Path(os.environ["CURSO_AULA"], "aula.log")
    before, theirs = log.read_bytes(), set(processes(pwd.getpwnam(room.berta.user).pw_uid))
    hub = int(subprocess.check_output(["pgrep", "-P", str(room.hub.process.pid)]))
    os.kill(hub, signal.SIGKILL)
    assert room.hub.process.wait(30) != 0
    assert set(processes(pwd.getpwnam(room.berta.user).pw_uid)) == theirs
    room.hub.open()
    assert room.hub.address == room.address
    assert log.read_bytes().startswith(before)

    async def go_on():
        await room.berta.connect()
        said = await room.berta.execute("print(kept)")
        return said, await room.berta.save()

    assert room.do(go_on()) == (("sin guardar\n", ""), 200)
    room.hub.close()  # y al cerrarla en orden, también para los que encontró abiertos
    assert not set(processes(pwd.getpwnam(room.berta.user).pw_uid))


# --- Cada una en su dirección, con HTTPS ----------------------------------------------------------


class Here(AbstractResolver):
    """Todos los nombres llevan a este ordenador."""

    async def resolve(self, host, port=0, family=0):
        known = {"proto": 0, "flags": 0, "family": 2}
        return [{"hostname": host, "host": "127.0.0.1", "port": port, **known}]

    async def close(self):
        pass


def test_con_un_dominio_cada_una_tiene_su_direccion_y_nada_de_las_demas(tmp_path):
    domain, names = "aula.prueba", ["Carla de Prueba", "Dora de Prueba"]
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    both = f"subjectAltName=DNS:{domain},DNS:*.{domain}"
    order = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    order += ["-subj", "/CN=x", "-addext", both, "-keyout", key, "-out", cert]
    subprocess.run(order, check=True, capture_output=True)
    key.chmod(0o600)
    options = [f"--dominio={domain}", f"--certificado={cert}", f"--privada={key}"]

    async def study(hub):
        web = {"ssl": ssl.create_default_context(cafile=cert), "resolver": Here()}
        people = [
            Student(hub.address, *one[1:], apart=True, connector=aiohttp.TCPConnector(**web))
            for one in hub.added
        ]
        for one in people:
            await one.log_in()
            await one.follow_link()
            await one.open_lesson()
            assert (await one.execute("print(6 * 7)"))[0] == "42\n"
            assert await one.save() == 200
        ana, berta = people
        async with ana.web.get(f"{berta.base}/api/contents") as answer: assert answer.status == 403
        found = {(c.key, c["domain"]): c for c in ana.web.cookie_jar if "jupyterhub" in c.key}
        enter = [(c, key, domain) for (key, domain), c in found.items() if "session-id" not in key]
        assert {one for _, _, one in enter} == {domain, f"{ana.user}.{domain}"}
        assert all(key.startswith("__Host-") and c["secure"] for c, key, _ in enter), enter
        with contextlib.suppress(aiohttp.ClientError):  # sin cifrar no contesta
            plain = hub.address.replace("https", "http")
            await ana.web.get(plain)
            raise AssertionError("contesta sin cifrar")
        for one in people:
            await one.close()

    with classroom(names, *options, disk="") as hub:
        assert hub.address.startswith(f"https://{domain}:")
        asyncio.run(study(hub))
