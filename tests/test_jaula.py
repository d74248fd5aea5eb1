"""La jaula de calificar: quién ejecuta el código ajeno, dónde cabe y qué se dice cuando no se puede hacer."""

import ast
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import helpers_class as pretend
import pytest
from answers import in_loops

from aula.calificar import cage, limits

ROOT, NOBODY = pretend.ROOT, "65534"
caged = pytest.mark.skipif(not cage.works(), reason="este sistema no deja aislar")
is_root = os.name == "posix" and os.geteuid() == 0
USERS = ["administrador", "sin permisos"] if is_root else ["sin permisos"]


def as_plain_user(order):
    """La misma orden, como «nobody», que ve todo lo de aquí y el Python que la ejecuta."""
    if not is_root:
        return order
    python = Path(sys.base_prefix).resolve()
    closed = [one for one in python.parents if not one.stat().st_mode & 1][-1:]
    view = [word for one in closed for word in ("--perms", "755", "--tmpfs", str(one))]
    between = [one for one in [*python.parents][::-1] if closed and closed[0] in one.parents]
    view += [word for one in between for word in ("--dir", str(one))]
    view += ["--ro-bind", str(python), str(python)] if closed else []
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return ["bwrap", "--dev-bind", "/", "/", *view, "--", *become, *order]


def run(user, code, root=ROOT):
    """Lo que escribe este programa, ejecutado por quien se dice."""
    order = [sys.executable, "-c", textwrap.dedent(code)]
    order = as_plain_user(order) if user == "sin permisos" else order
    env = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(order, cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


INSIDE = """
import subprocess, sys
from aula.calificar import cage, limits
assert cage.works(), cage.problem()
order, settings = cage.command(caged=True)
order[-1:] = ["-c", {code!r}]
order, settings = limits.fenced(order, settings)
print(subprocess.run(order, env=settings, capture_output=True, text=True, check=True).stdout)
"""
WHO = """
import os
told = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(*(told[name].split()[-1] for name in ("Uid", "CapEff", "CapBnd", "NoNewPrivs")))
"""
WRITES = """
import os
def tries(path, mode):
    try: open(path, mode).close(); return True
    except OSError: return False
above = [os.path.join(a, n) for a, _, names in os.walk("/proc/sys") for n in names]
print([path for path in above if tries(path, "r+")])
print([p for p in ("/x", "/dev/x", {course!r} + "/x", "/etc/x") if tries(p, "w")])
print(os.statvfs("/proc/sys").f_flag & os.ST_RDONLY)
"""


@caged
@pytest.mark.parametrize("user", USERS)
def test_the_code_of_others_is_nobody_with_no_way_back(user):
    uid, effective, bound, no_more = run(user, INSIDE.format(code=WHO)).split()
    assert (uid, int(effective, 16), no_more) == (NOBODY, 0, "1")
    assert user == "sin permisos" or int(bound, 16) == 0


FOLDERS = """
import os
def fits(folder):
    for many in range(10_000):
        try: os.mkdir(f"{folder}/{many}")
        except OSError: return many
print(*map(fits, ("/tmp", "/dev/shm")), [line for line in open("/proc/mounts") if " /tmp " in line][0].count("nosuid,nodev"))
"""


@caged
@pytest.mark.parametrize("user", USERS)
def test_a_folder_for_each_number_does_not_fill_the_memory(user):
    """Una carpeta vacía no ocupa disco, y sí memoria del sistema, que no se le cuenta a nadie."""
    first, second, closed = map(int, run(user, INSIDE.format(code=FOLDERS)).split())
    assert 100 < first < limits.FILES and 100 < second < limits.FILES and closed


REACHES = """
import os
def opens(pid):
    try: return bool(os.listdir(f"/proc/{pid}/fd"))
    except OSError: return False
print([one for one in os.listdir("/proc") if one.isdigit() and int(one) != os.getpid() and opens(one)])
"""


@caged
@pytest.mark.parametrize("user", USERS)
def test_nobody_else_inside_is_within_reach(user):
    """De quien hace la jaula se llegaría a su pantalla, que está fuera, y a su memoria, que no tiene topes."""
    assert run(user, INSIDE.format(code=REACHES)) == "[]"


def test_the_limit_of_processes_is_of_the_account_only_without_groups(monkeypatch):
    """El de la cuenta lo gastarían entre todas las jaulas de un administrador."""
    for way, many in ((["grupo"], -1), ([], limits.PROCESSES)):
        monkeypatch.setattr(limits, "way", lambda way=way: way)
        assert limits.inside(1)["NPROC"] == many


@pytest.mark.skipif(not is_root, reason="hay que ser administrador para ver quién es fuera")
@caged
def test_it_is_nobody_outside_too():
    """Con un espacio de usuarios hecho por el administrador, dentro diría 65534 y fuera sería él."""
    order, settings = cage.command(caged=True)
    order[-1:] = ["-c", "print(1, flush=True); input()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(order, env=settings, **pipes) as process:
        process.stdout.readline()
        found = subprocess.run(
            ["ps", "-wweo", "uid=,args="], capture_output=True, text=True
        ).stdout.splitlines()
        inside = [line.split() for line in found if "print(1, flush=True); input()" in line]
        process.communicate(b"\n")
    running = [words[0] for words in inside if words[1] == sys.executable]
    assert running == [NOBODY]


@caged
@pytest.mark.parametrize("user", USERS)
def test_nothing_of_the_computer_is_written(user):
    code = WRITES.format(course=str(ROOT / "course_lib"))
    assert run(user, INSIDE.format(code=code)).splitlines() == ["[]", "[]", "1"]


@caged
@pytest.mark.parametrize("user", USERS)
def test_it_works_with_the_course_under_tmp(user, tmp_path_factory):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        os.chmod(base, 0o755)
        root = Path(base, "curso")
        for name in ("aula", "course_lib", "course_checkers/inside", "course_tools"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("hub", "__pycache__"))
        (root / "secreto").write_text("")
        code = f"import course_lib, os; print(course_lib.__file__, os.listdir({str(root)!r}), os.listdir('/tmp'))"
        code = f"import sys; sys.path.insert(0, {str(root)!r}); {code}"
        told = run(user, INSIDE.format(code=code), root)
    assert told.startswith(f"{root}/course_lib/")
    assert "secreto" not in told
    only = {place.parts[2] for place in (root, ROOT) if place.parts[1] == "tmp"}
    assert (
        set(ast.literal_eval(told[told.rindex("[") :])) == only
    )  # su venv puede estar también allí


FILE = """
with open("/dev/shm/a", "wb") as file:
    for _ in range(60): file.write(bytes(10**6))
held = [bytearray(10**7) for _ in range(40)]
print(1)
"""
FILLS = """
import ctypes, mmap, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))  # uno que ya es menor no quita los demás
sys.path.insert(0, {place!r})
import student
student.set_limits(**{limits!r})
kept, libc = [], ctypes.CDLL(None)
def denied(answer):  # sobrevivir a quien abre la jaula, en 64 bits; y lo que se reparte entre todos
    if answer < 0: raise OSError
def fills(one):
    try:
        for k in range(400): one(k)
    except (OSError, MemoryError): kept.clear(); return True
def shared(k):
    kept.append(mmap.mmap(-1, 2**24)); kept[-1].write(bytes(2**24))
print([fills(one) for one in (
    lambda k: open(f"/dev/shm/{{k}}", "wb").write(bytes(2**22)),
    lambda k: open(f"/tmp/{{k}}", "wb").write(bytes(2**22)),
    lambda k: os.close(os.memfd_create("x")),
    lambda k: os.fork() or os._exit(0),
    shared,
    lambda k: denied(libc.prctl(ctypes.c_ulong(2**32 * k + 1), 0)),
    lambda k: denied(libc.syscall(206, 8, ctypes.byref(ctypes.c_ulong()))),
)])
"""


@caged
@pytest.mark.parametrize(
    "user", [*USERS[:-1], pytest.param(USERS[-1], marks=pytest.mark.lenta if is_root else ())]
)
def test_shared_memory_and_files_have_a_limit(user):
    code = FILLS.format(place=str(cage.HERE), limits=limits.inside(60))
    assert run(user, INSIDE.format(code=code)) == str([True] * 7)


@pytest.mark.skipif(
    not (is_root and os.access("/sys/fs/cgroup", os.W_OK)),
    reason="este sistema no deja hacer grupos",
)
@caged
def test_the_whole_cage_has_a_limit():
    """Memoria que no es de ningún proceso: la de los archivos de dos carpetas, con el tope bajado."""
    code = f"""
from aula.calificar import limits
limits.WHOLE = 2**28
{INSIDE.format(code=FILE).replace("check=True", "")}"""
    assert run(USERS[0], code) == ""


@caged
def test_what_is_inside_ends_when_who_opened_it_is_killed():
    code = """
import subprocess, time
from aula.calificar import cage, limits
order, settings = cage.command(caged=True)
order[-1:] = ["-c", "import time; time.sleep(987)"]
order, settings = limits.fenced(order, settings)
process = subprocess.Popen(order, env=settings, start_new_session=True)
print(process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as outer:
        inner = int(outer.stdout.readline())
        time.sleep(0.3)
        outer.kill()
    until = time.monotonic() + 5
    while Path(f"/proc/{inner}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{inner}").exists()


GRADES = """
from aula.calificar import check
for number, name in {names!r}.items():
    [report], *_ = check.grade([(1, {code!r})], {{number: name}}, True)
    print(report.head[:1], *report.findings)
"""


@pytest.mark.lenta
@caged
@pytest.mark.parametrize("user", USERS)
def test_an_answer_in_loops_is_right_for_whoever_grades(user):
    names = {number: in_loops.NAMES[number] for number in ("2.4", "5.1", "6.2", "13.2")}
    code = Path(in_loops.__file__).read_text(encoding="utf-8")
    assert run(user, GRADES.format(names=names, code=code)).split() == ["✓"] * len(names)


@pytest.mark.parametrize(("told", "restricted", "name"), [
    ("bwrap: setting up uid map: Permission denied", "1", "apparmor"),
    ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "1", "apparmor"),
    ("bwrap: setting up uid map: Permission denied", "0", "contenedor"),
    ("bwrap: No permissions to create a new namespace, likely because…", "", "contenedor"),
    ("bwrap: Creating new namespace failed: Operation not permitted", "", "contenedor"),
    ("setpriv: failed to execute /root/python: Permission denied", "", "permisos"),
    ("bwrap: algo nuevo", "", "otra"),
])  # fmt: skip
def test_it_says_why_there_is_no_cage(told, restricted, name, monkeypatch, tmp_path):
    switch = tmp_path / "restrict"
    if restricted:
        switch.write_text(f"{restricted}\n")
    monkeypatch.setattr(cage, "RESTRICTED", switch)
    assert cage.cause(told) == name
    monkeypatch.setattr(cage, "problem", lambda: (name, told))
    monkeypatch.setattr(cage, "is_root", lambda: False)
    assert cage.CAUSES[name] in (said := cage.alone())
    assert told in said
    assert "--sin-aislar" in said
    assert "sysctl" not in said


@pytest.mark.parametrize(("system", "kernel", "name"), [
    ("win32", "", "windows"), ("darwin", "", "sistema"), ("linux", "Linux version 6.1.0-28-amd64", "bwrap"),
    ("linux", "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)", "wsl"),
    ("linux", "Linux version 5.15.90.1-microsoft-standard-WSL2 (oe-user@oe-host)", "bwrap_wsl"),
])  # fmt: skip
def test_on_windows_it_says_how_there_is_a_linux(system, kernel, name, monkeypatch, tmp_path):
    (tmp_path / "version").write_text(kernel)
    monkeypatch.setattr(cage, "KERNEL", tmp_path / "version")
    monkeypatch.setattr(cage.sys, "platform", system)
    monkeypatch.setattr(cage.shutil, "which", lambda name: None)
    assert cage.problem.__wrapped__() == (name, "")
    assert ("wsl" in cage.CAUSES[name].lower()) == (name not in ("sistema", "bwrap"))


@pytest.mark.parametrize("tool", ["bwrap", *(["setpriv"] if is_root else [])])
def test_it_says_what_is_not_installed(tool, monkeypatch):
    monkeypatch.setattr(cage.shutil, "which", lambda name: None if name == tool else name)
    cage.problem.cache_clear()
    try:
        assert cage.problem() == (tool, "")
    finally:
        cage.problem.cache_clear()
