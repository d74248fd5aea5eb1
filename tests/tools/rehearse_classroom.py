"""El ensayo del aula: ``python curso.py aula --ensayo 40``. Escribe su tabla y deshace lo que hace.

Da de alta cuentas de Linux de verdad, abre un Hub para ellas y hace con cada una lo que hace un
estudiante: entra, abre la lección 05, la ejecuta entera, contesta mal el ejercicio 5.1, lo
contesta bien y guarda. Después, unos llenan la memoria, dan vueltas sin fin o llenan el disco, y
se mira si los demás siguen. Al acabar borra esas cuentas.
"""

import asyncio
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import aiohttp
from yarl import URL

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))  # cuando es una orden, falta

LESSON = "mis_cuadernos/05_atencion.ipynb"
NAMED = "Has dividido por d_k y no por √d_k"
STUB = """# Ejercicio 5.1
def my_attention(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1]{power}
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ value, weights
"""
WRONG, RIGHT = STUB.format(power=""), STUB.format(power=" ** 0.5")
CHECK = "# Comprobación 5.1\ncheck_scaled_dot_product_attention(my_attention)"
PATIENCE_S = 900
DISK = "300M"


class Student:
    """Quien entra en el aula, visto desde su navegador."""

    def __init__(self, address, user, password, apart=False, **web):
        self.address, self.user, self.password = address, user, password
        self.times, self.faults, self.size = {}, [], 0
        self.web = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=aiohttp.ClientTimeout(total=PATIENCE_S), **web
        )
        own = address.replace("://", f"://{user}.") if apart else address
        self.base = f"{own}/user/{user}"
        self.channel = None

    async def close(self):
        """Cierra el navegador. Lo que ejecuta el kernel sigue."""
        if self.channel:
            await self.channel.close()
        await self.web.close()

    async def log_in(self, password=None, then="/hub/home"):
        """Escribe su nombre y su contraseña. Devuelve la respuesta."""
        async with self.web.get(f"{self.address}/hub/login") as page:
            form = re.search(r'name="_xsrf" value="([^"]*)"', await page.text())
        data = {"_xsrf": form[1], "username": self.user, "password": password or self.password}
        url = f"{self.address}/hub/login"
        async with self.web.post(url, params={"next": then}, data=data) as answer:
            await answer.read()
            return answer

    async def follow_link(self, lesson=LESSON):
        """Sigue el enlace de la lección. Si su JupyterLab no está, espera a que avise, como la página."""
        link = f"{self.address}/hub/user-redirect/lab/tree/{lesson}"
        for _ in range(5):
            async with self.web.get(link) as page: text, where = await page.text(), page.url.path
            if page.status == 200 and where.startswith(f"/user/{self.user}/lab"):
                return
            if not (progress := re.search(r'new EventSource\("([^"]+)"', text)):
                raise RuntimeError(f"{page.status}: {where}")
            url = self.address + progress[1].encode().decode("unicode_escape")
            async with self.web.get(URL(url, encoded=True)) as events: await events.read()
        raise TimeoutError("su JupyterLab no se abre")

    async def ask(self, method, path, **options):
        """Pide algo a su JupyterLab, como lo hace la página. Devuelve el código y lo que contesta."""
        cookies = self.web.cookie_jar.filter_cookies(URL(f"{self.base}/"))
        headers = {"X-XSRFToken": cookies["_xsrf"].value} if "_xsrf" in cookies else {}
        async with self.web.request(method, f"{self.base}/{path}", headers=headers, **options) as answer:
            text = await answer.text()
            with contextlib.suppress(ValueError):
                return answer.status, json.loads(text)
            return answer.status, text

    async def open_lesson(self, lesson=LESSON):
        """Lee su copia de la lección y le pone un kernel."""
        status, model = await self.ask("GET", f"api/contents/{lesson}", params={"content": "1"})
        assert status == 200, (status, model)
        self.nb = model["content"]
        await self.start_kernel(lesson)

    async def start_kernel(self, path="prueba.ipynb"):
        """Abre un kernel y se conecta a él."""
        wanted = {"path": path, "type": "notebook", "name": path, "kernel": {"name": "python3"}}
        status, session = await self.ask("POST", "api/sessions", json=wanted)
        assert status == 201, (status, session)
        self.kernel, self.session = session["kernel"]["id"], uuid.uuid4().hex
        await self.connect()

    async def connect(self):
        """Se conecta a su kernel."""
        url = f"{self.base}/api/kernels/{self.kernel}/channels".replace("http", "ws", 1)
        self.channel = await self.web.ws_connect(
            url, params={"session_id": self.session}, max_msg_size=0, origin=str(URL(url).origin())
        )

    async def execute(self, code, patience=PATIENCE_S):
        """Ejecuta ``code``. Devuelve lo que sale y, si falla, el nombre del error."""
        name = uuid.uuid4().hex
        header = {"msg_id": name, "msg_type": "execute_request", "session": self.session}
        header |= {"username": self.user, "version": "5.3", "date": ""}
        content = {"code": code, "silent": False, "allow_stdin": False, "stop_on_error": False}
        asked = {"channel": "shell", "header": header, "content": content}
        await self.channel.send_json(asked | {"parent_header": {}, "metadata": {}})
        said, error, replied, idle = [], "", False, False
        async with asyncio.timeout(patience):
            while not (replied and idle):
                message = await self.channel.receive()
                if message.type != aiohttp.WSMsgType.TEXT:
                    return "".join(said), error or "el kernel se ha ido"
                message = json.loads(message.data)
                kind, content = message["msg_type"], message["content"]
                if kind == "status" and content["execution_state"] in ("restarting", "dead"):
                    return "".join(said), "el kernel se ha ido"
                if message["parent_header"].get("msg_id") != name:
                    continue
                if kind == "execute_reply":
                    replied = True
                    error = content.get("ename", "") or error
                elif kind == "status" and content["execution_state"] == "idle":
                    idle = True
                elif kind == "stream":
                    said.append(content["text"])
                elif kind in ("execute_result", "display_data"):
                    said.append("".join(content["data"].get("text/plain", "")))
        return "".join(said), error

    async def run_all(self):
        """Ejecuta la lección entera, como ▶▶. Devuelve las celdas que fallan."""
        failed = []
        for cell in self.nb["cells"]:
            if cell["cell_type"] == "code":
                _, error = await self.execute("".join(cell["source"]))
                if error:
                    failed.append(f"{cell['id']}: {error}")
        return failed

    async def answer(self):
        """Contesta mal el 5.1 y después bien. Devuelve lo que no sale como debe."""
        await self.execute(WRONG)
        wrong, _ = await self.execute(CHECK)
        await self.execute(RIGHT)
        right, _ = await self.execute(CHECK)
        failed = [] if NAMED in wrong else [f"no nombra el error: {wrong[:200]}"]
        return failed + ([] if "✓" in right else [f"no acepta la buena: {right[:200]}"])

    async def save(self, lesson=LESSON, **changes):
        """Guarda su lección con el 5.1 contestado. Devuelve el código de la respuesta."""
        for cell in self.nb["cells"]:
            if "".join(cell["source"]).startswith("# Ejercicio 5.1"):
                cell["source"] = RIGHT
        model = {"type": "notebook", "format": "json", "content": self.nb, **changes}
        return (await self.ask("PUT", f"api/contents/{lesson}", json=model))[0]

    @contextlib.contextmanager
    def timed(self, what):
        """Apunta cuánto tarda algo y, si falla, qué ha sido."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.times[what] = time.monotonic() - start

    async def study(self, begin):
        """Una clase entera, desde que se da la señal."""
        try:
            with self.timed("entrar"):
                await self.log_in()
            with self.timed("abrir su JupyterLab"):
                await self.follow_link()
                await self.open_lesson()
            with self.timed("ejecutar la 05"):
                self.faults += await self.run_all()
            self.times["05 hecha"] = time.monotonic() - begin
            self.size = pss(pwd.getpwnam(self.user).pw_uid)
            with self.timed("contestar"):
                self.faults += await self.answer()
            if (status := await self.save()) != 200:
                self.faults.append(f"guardar: {status}")
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}"[:200])


class Hub:
    """El aula, que se abre con su orden. ``address`` es donde está; ``added``, sus cuentas."""

    def __init__(self, added, *options):
        from helpers_server import free_port

        self.added, self.process = added, None
        self.command = [sys.executable, "-m", "aula.hub.classroom", f"--port={free_port()}"]
        self.command += ["--ip=127.0.0.1", *options]

    def open(self):
        """Abre el aula, otra vez si hace falta, y espera a que diga su dirección."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stdout:  # la dirección va sola en su línea
            self.said.append(line)
            if re.match(r" +https?://", line):
                self.address = line.strip().rstrip("/")
                return self
        raise RuntimeError(f"El aula no se abre: {''.join(self.said)}")

    def close(self):
        """La cierra en orden."""
        if self.process:
            self.process.terminate()
            self.process.wait(120)


@contextlib.contextmanager
def classroom(names, *options, disk=DISK, teachers=()):
    """Un aula abierta solo para ``names``; los de ``teachers``, docentes. Al acabar, borra sus cuentas."""
    with tempfile.TemporaryDirectory(prefix="aula-", dir="/var/lib") as state:
        os.environ["CURSO_AULA"] = state
        from aula.hub import accounts, place

        place.STATE = Path(state)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for user, name in accounts.members().items():
            if name in names:  # las de otra vez, que se cortó
                remove(user, accounts)
        hub, added = None, []
        try:
            added = accounts.enrol(names, disk)
            for name, user, _ in added:
                if name in teachers:
                    subprocess.run(["usermod", "-aG", place.TEACHERS, user], check=True)
            hub = Hub(added, *options)
            yield hub.open()
        finally:
            if hub:
                hub.close()
            if keep := os.environ.get("CURSO_AULA_REGISTRO"):
                shutil.copy(Path(state) / "aula.log", keep)
            shutil.rmtree(Path("/run", Path(state).name), ignore_errors=True)
            for _, user, _ in added:
                remove(user, accounts)


def remove(user, accounts):
    """Borra una cuenta del ensayo, con su disco y lo que ejecute."""
    uid, home = pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_dir
    for process in processes(uid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    if os.path.ismount(home):
        for _ in range(20):
            if not subprocess.run(["umount", home], capture_output=True).returncode:
                break
            time.sleep(0.3)
    subprocess.run(["userdel", "--remove", user], capture_output=True)
    accounts.image(user).unlink(missing_ok=True)
    for group in Path("/sys/fs/cgroup").glob(f"**/aula/{user}"):
        with contextlib.suppress(OSError):
            group.rmdir()


def processes(uid):
    """Los procesos de una cuenta."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == uid:
                yield int(folder.name)


def pss(uid):
    """Los MiB de una cuenta: lo compartido, a partes iguales entre quienes lo comparten."""
    total = 0
    for process in processes(uid):
        with contextlib.suppress(OSError, TypeError):
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])
    return total / 1024


def available():
    """Los MiB de memoria que quedan."""
    return int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) / 1024


TROUBLES = {
    "llena la memoria": "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * 10_000_000))",
    "da vueltas sin fin": "while True:\n    pass",
    "llena el disco": "import os\nfor k in range(100):\n"
    "    with open(f'lleno{k}', 'wb') as file:\n        file.write(bytes(50_000_000))",
}


async def trouble(student, code, patience):
    """Lo que le pasa a quien ejecuta ``code``."""
    try:
        said, error = await student.execute(code, patience)
        return error or said[-100:] or "acaba"
    except TimeoutError:
        return f"sigue a los {patience} s"


def row(label, *values):
    """Una línea de la tabla."""
    print(f"| {label} | {' | '.join(values)} |", flush=True)


def spread(students, what):
    """La mediana y el último de un tiempo."""
    times = [student.times[what] for student in students if what in student.times]
    return f"{statistics.median(times):.0f} s | {max(times):.0f} s" if times else "— | —"


async def rehearse(address, added, before):
    """Hace el ensayo y escribe la tabla."""
    students = [Student(address, user, password) for _, user, password in added]
    begin = time.monotonic()
    await asyncio.gather(*(student.study(begin) for student in students))
    sizes = [student.size for student in students if student.size]
    answered = [pss(pwd.getpwnam(student.user).pw_uid) for student in students]
    used = before - available()
    faults = [f"{student.user}: {fault}" for student in students for fault in student.faults]
    print(f"\n{len(students)} estudiantes a la vez, desde que entran todos:\n")
    row("", "mediana", "el último")
    row("---", "---", "---")
    for what in ("entrar", "abrir su JupyterLab", "ejecutar la 05", "05 hecha", "contestar"):
        row(what, spread(students, what))
    for what, ours in (("con la 05 hecha", sizes), ("y todo contestado", answered)):
        if ours:
            middle, most = statistics.median(ours), max(ours)
            row(f"memoria de cada uno (PSS), {what}", f"{middle:.0f} MiB", f"{most:.0f} MiB")
    row("memoria de todo el ordenador", f"{used:.0f} MiB", f"{used / len(students):.0f} por persona")
    row("fallos", str(len(faults)), "")
    print(*faults[:20], sep="\n")
    if len(students) > len(TROUBLES):
        await with_troubles(students)
    for student in students:
        await student.close()
    return not faults


async def with_troubles(students):
    """Unos dan guerra mientras otros repiten la lección. Escribe qué pasa a unos y a otros."""
    culprits = dict(zip(TROUBLES, students))
    witnesses = students[len(TROUBLES) : len(TROUBLES) + 4]
    print(f"\nTres dan guerra y {len(witnesses)} repiten la lección:\n")
    start = time.monotonic()
    quiet = [fault for one in witnesses for fault in await one.run_all()]  # de uno en uno
    alone = (time.monotonic() - start) / len(witnesses)
    ends = {what: asyncio.create_task(trouble(one, TROUBLES[what], 60)) for what, one in culprits.items()}
    start = time.monotonic()
    runs = await asyncio.gather(*(one.run_all() for one in witnesses), return_exceptions=True)
    shared = time.monotonic() - start
    saved = [await one.save() for one in witnesses]
    for what, task in ends.items():
        row(f"quien {what}", str(await task))
        if what == "llena el disco":
            status = await culprits[what].save()
            row("y al guardar", f"código {status}")
    row("los demás, solos y con ellos", f"{alone:.0f} s y {shared:.0f} s, {len(witnesses)} a la vez")
    failed = quiet + [str(one) for one in runs if one] + [str(one) for one in saved if one != 200]
    row("fallos de los demás", str(len(failed)))
    print(*failed[:10], sep="\n")


def main():
    count = int(sys.argv[1])
    print(f"Ensayo con {count} cuentas. Tarda unos minutos y las borra al acabar.", flush=True)
    cpus, memory = os.cpu_count(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print(f"Este ordenador: {cpus} núcleos, {memory:.0f} GiB. Carga: {os.getloadavg()[0]:.1f}.")
    before = available()
    with classroom([f"Ensayo {k:02}" for k in range(1, count + 1)]) as hub:
        return not asyncio.run(rehearse(hub.address, hub.added, before))


if __name__ == "__main__":
    sys.exit(main())
