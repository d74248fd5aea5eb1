"""Lo que se hace con lo calificado: totales, arrastre, parciales, listas, Moodle; y que nada se pierda."""

import argparse
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from datetime import datetime
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import helpers_class as pretend
import pytest
from psutil import Process

from aula.calificar import cage, check, gradebook, marks, moodle, pages, submissions, text, workers
from aula.calificar import grade as grading
from course_tools import homework
from course_tools.foreign import lms, zips
from course_tools.opening import contents, copies

caged = pytest.mark.skipif(not cage.works(), reason="este sistema no deja aislar")
EVERYTHING = homework.Homework(homework.known())
NASTY = "A\ud800\x00\x1bna"


def options(**more):
    plain = {"partial": {}, "sin_arrastre": False, "nombres": False, "homework": EVERYTHING}
    return argparse.Namespace(**plain | more)


def exercise(number, ok=False, ids=(), carried=(), unsolved=False):
    most = submissions.lessons()[number.split(".")[0].zfill(2)].points[number]
    findings = [{"id": i, "text": NASTY, "consequence": "", "read": ""} for i in ids]
    return {"exercise": number, "title": "t", "points": most, "ok": ok, "unsolved": unsolved,
            "findings": findings, "notes": [], "printed": [NASTY], "answer": NASTY,
            "carried": list(carried)}  # fmt: skip


PLAIN = options()


def person(name, ident="", told=(), given=PLAIN, **lessons):
    one = {"name": name, "id": ident, "label": ident and f"Participante {ident}", "told": list(told)}
    one |= {"lessons": {}, "marks": {}}
    for lesson, exercises in lessons.items():
        result = {"lesson": lesson[1:], "told": [], "exercises": exercises}
        marks.join(one, text.plain(result), given)
    return one


def table(people, path, **more):
    marks.write(people, path, options(**more))
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    return {
        row["Nombre"]: row
        for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=";")
    }


# --- Nada se pierde -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "made"),
    [(NASTY, "A���na"), ("Mu\udcf1oz", "Muñoz"), ("a\tb\nñ", "a\tb\nñ"), ({"\x00": ["\ud800", 1]}, {"�": ["�", 1]}),
     ("\u202ea\u2066", "�a�")],
)  # fmt: skip
def test_a_text_from_outside_can_be_written(given, made):
    assert text.plain(given) == made
    json.dumps(made, ensure_ascii=False).encode()


@pytest.mark.skipif(os.name == "nt", reason="allí los nombres no son bytes")
@pytest.mark.parametrize(("made", "names"), [
    ([b"Mu\xf1oz", b"raro\xff", b"raro\xfe"], ["Muñoz", "raroþ", "raroÿ"]),  # no son UTF-8
    ([b"Eva_1_assignsubmission_file_", b"Eva_2_assignsubmission_file_", b"Eva (2)", b"Ana\nEva: un 10\r"],
     ["Ana Eva: un 10", "Eva (1)", "Eva (2)", "Eva (2) bis"]),
])  # fmt: skip
def test_nobody_has_the_name_of_another_and_a_name_is_read_in_one_line(made, names, tmp_path):
    for name in made:
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    asked = argparse.Namespace(entregas=tmp_path, segundos=1)
    people, _ = grading.read_class(asked, tmp_path, True, "")
    assert [one["name"] for one in people] == names


def test_a_folder_that_cannot_be_opened_is_one_line(tmp_path, monkeypatch):
    for name in ("ana", "cerrada"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "05_atencion.ipynb").write_text("{")
    visible, read = zips.visible, Path.read_bytes

    def refuse(does, path):
        if path.name == "cerrada":
            raise PermissionError(13, "Permission denied")
        return does(path)

    monkeypatch.setattr(zips, "visible", lambda path: refuse(visible, path))
    monkeypatch.setattr(Path, "read_bytes", lambda path: refuse(read, path))
    found = submissions.students(tmp_path, "")
    assert [submissions.collect(files)[1] for files in found.values()] == [
        ["05_atencion.ipynb está dañado: no se puede leer como cuaderno"],
        ["cerrada no se puede leer: Permission denied"],
    ]


def test_what_cannot_be_written_is_one_line_and_the_rest_is_there(tmp_path, monkeypatch):
    people = [person(name, _05=[exercise("5.1", ok=True)]) for name in ("Ana", "Eva")]
    feedback = pages.feedback
    monkeypatch.setattr(pages, "feedback", lambda one: feedback(one) if one["name"] == "Eva" else 1 / 0)
    monkeypatch.setattr(pages, "class_report", lambda *_: 1 / 0)
    monkeypatch.setattr(gradebook, "write", lambda *_: None)
    monkeypatch.setattr(grading, "workbook", lambda _: exec("raise OSError(28, 'No space left on device')"))
    more = {"roll": [], "sheet": None, "lecciones": None, "solo_informe": False}
    told, _ = grading.write(people, tmp_path, options(**more))
    assert "la devolución de Ana no se ha podido escribir" in told
    assert "(clase.html no se ha podido escribir" in told
    assert "(notas.xlsx no se ha podido escribir: no queda sitio en el disco)" in told
    assert [path.stem for path in tmp_path.glob("devoluciones/*")] == ["eva-2"]
    assert told.startswith("  notas.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["devoluciones", "notas.csv"]


def test_the_gradebook_is_written_where_the_path_says(tmp_path, monkeypatch):
    asked, util, place = [], SimpleNamespace(ALEMBIC_DIR="/100%/a"), tmp_path / "a%20b? #"
    api = SimpleNamespace(Gradebook=lambda url: asked.append(url) or nullcontext())
    for name, module in (("nbgrader", SimpleNamespace(dbutil=util)), ("nbgrader.api", api)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(gradebook, "fill", lambda *_: None)
    monkeypatch.setattr(os, "environ", {})  # las cambia
    with pytest.raises(FileNotFoundError):  # el libro de mentira no escribe nada
        gradebook.write([], place)
    assert (unquote(asked[0]), util.ALEMBIC_DIR) == (f"sqlite:///{place / '.gradebook-a-medias.db'}", "/100%%/a")


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path, monkeypatch):
    text.whole(tmp_path / "a", "antes")
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        text.whole(tmp_path / "a", "después")
    assert (tmp_path / "a").read_text() == "antes"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("zipped", [True, False])
def test_a_full_disk_is_a_sentence_and_nobodys_fault(zipped, tmp_path, monkeypatch, capsys):
    """Al abrir un zip, y al guardar lo calificado: no se califica a medias, y no queda nada a medias."""
    (tmp_path / "e/ana").mkdir(parents=True)
    full = lambda *_, **__: exec("raise OSError(28, 'No space left on device')")  # noqa: E731
    with zipfile.ZipFile(tmp_path / "e/ana/a.zip", "w") as archive:
        archive.writestr("05_atencion.ipynb", json.dumps(pretend.notebook("# Ejercicio 5.1\nx = 1")))
    monkeypatch.setattr(*((zipfile.ZipFile, "extract") if zipped else (grading, "whole")), full)
    monkeypatch.setattr(workers, "grade_all", lambda orders, *_: ((job, job.start() and {}) for job, *_ in orders))
    assert grading.main([str(tmp_path / "e"), *([] if cage.works() else ["--sin-aislar"])]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("No ha podido ser. No queda sitio en el disco")
    assert [one.name for one in (tmp_path / "e-calificadas").iterdir()] == [grading.DONE]


SERVES = """
import json, os, sys, time
for line in sys.stdin:
    path, *_ = json.loads(line)
    if path == "muere" and not os.path.exists({flag!r}) or path == "siempre":
        open({flag!r}, "w"); os.kill(os.getpid(), 9)
    print(json.dumps({{"path": path}}), flush=True)
"""


def test_a_worker_that_dies_is_opened_again_and_the_others_do_not_notice(tmp_path, monkeypatch):
    code = SERVES.format(flag=str(tmp_path / "muerto"))
    popen = subprocess.Popen
    opened = []

    def open_other(order, **given):
        opened.append(popen([sys.executable, "-c", code], **given))
        return opened[-1]

    monkeypatch.setattr(workers.subprocess, "Popen", open_other)
    orders = [(k, path) for k, path in enumerate(["a", "muere", "siempre", "b"])]
    found = dict(workers.grade_all(orders, 2))
    assert found == {0: {"path": "a"}, 1: {"path": "muere"}, 2: {"problem": workers.DIED}, 3: {"path": "b"}}
    assert all(process.wait(5) is not None for process in opened)


def test_a_worker_ends_when_who_asks_is_killed():
    order = [sys.executable, "-m", "aula.calificar.workers"]
    with subprocess.Popen(order, cwd=pretend.ROOT, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(20) == 1


@pytest.mark.lenta
@caged
@pytest.mark.skipif(os.name == "nt", reason="hay que mandar señales")
@pytest.mark.parametrize("stop", ["SIGINT", "SIGTERM"])
def test_ctrl_c_ends_in_seconds_in_the_middle_of_a_big_notebook(stop, tmp_path):
    """También con celdas de muchos kB y una entrega que no acaba; y no queda nada en marcha ni de lo entregado."""
    endless = "# Ejercicio 5.1\n" + "# relleno\n" * 30_000 + "while True: pass"
    for k in range(4):
        (tmp_path / f"e/p{k}").mkdir(parents=True)
        book = pretend.notebook("import torch", endless, f"# Ejercicio 5.3\nmy_letter = {k}")
        (tmp_path / f"e/p{k}/05_atencion.ipynb").write_text(json.dumps(book))
    order = [sys.executable, "-m", "aula.calificar.grade", str(tmp_path / "e"), "--procesos", "3"]
    (tmp_path / "t").mkdir()
    more = {"cwd": pretend.ROOT, "env": os.environ | {"TMPDIR": str(tmp_path / "t")}}
    process = subprocess.Popen(order, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)

    def inside():
        order = ["pgrep", "-f", f"bwrap.*{cage.STUDENT}"]
        return set(subprocess.run(order, capture_output=True, text=True).stdout.split())

    mine = set()
    while len(mine) < 3:
        time.sleep(0.2)
        assert process.poll() is None
        mine = inside() & {str(one.pid) for one in Process(process.pid).children(True)}
    began = time.monotonic()
    process.send_signal(getattr(signal, stop))
    assert "Interrumpido: 0 de 4" in process.communicate(timeout=60)[0].decode()
    assert process.returncode == 130
    assert time.monotonic() - began < 30
    until = time.monotonic() + 10
    while inside() & mine and time.monotonic() < until:
        time.sleep(0.1)
    assert not inside() & mine
    assert list((tmp_path / "t").glob("entregas-*")) == []


@pytest.mark.parametrize(("name", "value"), [("MOST_FILES", 2), ("MOST_ZIP", 10)])
def test_a_zip_has_a_limit_before_it_is_opened(name, value, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        for k in range(3):
            archive.writestr(f"p{k}/a.txt", "x" * 5)
    (tmp_path / "sitio").mkdir()
    monkeypatch.setattr(submissions, name, value)
    with pytest.raises(text.Unreadable, match="trae demasiado"):
        submissions.students(tmp_path / "e.zip", tmp_path / "sitio")
    assert list((tmp_path / "sitio").iterdir()) == []


@pytest.mark.parametrize("bad", ["ñ" * 200 + ".ipynb", "a/" * 1500 + "b.ipynb", "ocupado/b.ipynb"])
def test_one_file_of_a_zip_that_cannot_be_made_loses_nobody_else(bad, tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MOST_FILES", 4)  # lo que ponen los programas no se cuenta
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        for name in ("Eva_1*ocupado", f"Eva_1*{bad}", "Noa_3*.venv/a", "Noa_3*._05.ipynb"):
            archive.writestr(name.replace("*", "_assignsubmission_file_/"), "x")
        archive.writestr("Leo_2_assignsubmission_file_/05_atencion.ipynb", "{}")
    found = submissions.students(tmp_path / "e.zip", tmp_path / "sitio")
    (eva,), leo, noa = (submissions.collect(files)[1] for files in found.values())
    assert eva.endswith(("del zip: su nombre, con el de sus carpetas, es demasiado largo", "que se llaman igual"))
    assert leo + noa == ["05_atencion.ipynb no es un cuaderno de Jupyter, o está dañado", "no trae ningún cuaderno"]


def test_a_zip_that_lies_about_its_size_does_not_grow(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "e.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/a.txt", bytes(10**6))
    data = (tmp_path / "e.zip").read_bytes()
    (tmp_path / "e.zip").write_bytes(data.replace((10**6).to_bytes(4, "little"), (9).to_bytes(4, "little")))
    (tmp_path / "sitio").mkdir()
    monkeypatch.setattr(submissions, "MOST_ZIP", 10)
    found = submissions.students(tmp_path / "e.zip", tmp_path / "sitio")
    assert "a.txt no se ha podido sacar del zip" in submissions.collect(found["p", ""])[1][0]
    assert sum(path.stat().st_size for path in tmp_path.rglob("sitio/**/*.txt")) < 10


# --- Las cuentas ----------------------------------------------------------------------------------


def test_a_stray_notebook_changes_nobodys_total(tmp_path):
    people = [person(f"P{k}", _05=[exercise("5.1", ok=True), exercise("5.2")]) for k in range(3)]
    alone = table(people, tmp_path / "a.csv")
    people.append(person("Suelto", _03=[exercise("3.1", ok=True)]))
    both = table(people, tmp_path / "b.csv")
    for name, row in alone.items():
        assert both[name] | row == both[name]
        assert both[name]["Total 03"] == both[name]["De 03"] == ""
    assert marks.asked(people) == ["05"]
    assert [both["Suelto"][one] for one in ("Total 03", "Total 05", "De 05")] == ["3", "0", "8"]


def test_both_marks_are_shown_and_the_teacher_chooses(tmp_path):
    made = [exercise("6.1", ids=["x"]), exercise("6.2", ids=["y"], carried=["6.1"])]
    for chosen, other, own in ((False, "sin", "0"), (True, "con", "5")):
        one = person("Ana", given=options(sin_arrastre=chosen), _06=json.loads(json.dumps(made)))
        row = table([one], tmp_path / "a.csv", sin_arrastre=chosen)["Ana"]
        assert (
            row[f"6.2 (de {made[1]['points']})"]
            == row["Total 06"]
            == (own if chosen is False else str(made[1]["points"]))
        )
        assert row[f"Total 06 {other} arrastre"] == (str(made[1]["points"]) if not chosen else "0")
        page = pages.feedback(one)
        assert "Usa el 6.1" in page
        assert f"{made[1]['points']} sin el error de arrastre" in page


def test_a_named_mistake_is_worth_what_the_teacher_writes(tmp_path):
    path = tmp_path / "parciales.csv"
    path.write_text("ejercicio;error;parte\n5.1;escala-d_k;0,6\n5.1;máscara-después;0.25\n", encoding="utf-8-sig")
    given = options(partial=marks.read_partial(path))
    for ids, got in (("escala-d_k", "2,4"), ("escala-d_k máscara-después", "1"), ("escala-d_k z", "0"), ("", "0")):
        people = [person("Ana", given=given, _05=[exercise("5.1", ids=ids.split())])]
        row = table(people, tmp_path / "a.csv")["Ana"]
        assert (row["5.1 (de 4)"], row["Total 05"]) == (got, got)
    unsolved = person("Ana", given=given, _05=[exercise("5.1", ids=["escala-d_k"], unsolved=True)])
    assert unsolved["marks"] == {"5.1": 0}
    for bad in ("5.1;x;2", "99.1;x;1", "5.1;x", "5.1;x;1"):
        path.write_text(f"ejercicio;error;parte\n{bad}\n")
        with pytest.raises(text.Unreadable, match="no tiene ningún error «x»" if bad == "5.1;x;1" else "no entiendo"):
            marks.read_partial(path)


FOREIGN = tomllib.loads(Path(__file__).with_name("hojas_de_fuera.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("which", FOREIGN["listas"])
def test_the_list_says_who_has_handed_in_nothing(which, tmp_path):
    listed = FOREIGN["listas"][which]
    (tmp_path / "lista.txt").write_text(listed["text"], encoding=listed["encoding"])
    people = [person("ñandúana" if which == "Teams" else "Ana Nandu"), person("luis paz", "7"), person("Otro")]
    absent = marks.call_roll(people, marks.read_list(tmp_path / "lista.txt"))
    assert [one["name"] for one in absent] == ["Eva"]
    assert [one["told"] for one in people] == [[], [], ["no está en la lista"]]
    assert table(people + absent, tmp_path / "a.csv")["Eva"]["Qué mirar"] == marks.ABSENT


# --- Moodle ---------------------------------------------------------------------------------------

def test_the_zip_of_feedback_has_the_folders_moodle_looks_for(tmp_path):
    people = [person("Ana_María / Paz", "101"), person("Sin número")]
    moodle.zip_feedback(people, lambda one: "página", tmp_path / "moodle.zip")
    with zipfile.ZipFile(tmp_path / "moodle.zip") as archive:
        (name,) = archive.namelist()
    # Así lo parte Moodle: por «_», y el segundo trozo es el número.
    parts = name.split("/")[0].split("_", 4)
    assert parts == ["Ana María Paz", "101", "assignsubmission", "file", ""]
    assert submissions.owner(tuple(name.split("/"))) == ("Ana María Paz", "101")


def test_a_sheet_of_nobody_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("Nombre,Nota\nAna,3\n")
    with pytest.raises(text.Unreadable, match="no es una hoja de calificaciones conocida"):
        lms.read_sheet(tmp_path / "a.csv")
    for data in (b"PK\3\4", "Ana".encode("utf-16-le")):
        (tmp_path / "a.csv").write_bytes(data)
        with pytest.raises(text.Unreadable, match="guárdala como CSV"):
            marks.read_list(tmp_path / "a.csv")


# --- El arrastre ----------------------------------------------------------------------------------

DOT = {
    "mal": "def my_dot_product(a, b):\n    return (a + b).sum()",
    "sin hacer": "def my_dot_product(a, b):\n    ...",
}
COSINE = """def my_cosine_similarity(a, b):
    return my_dot_product(a, b) / (my_dot_product(a, a) * my_dot_product(b, b)) ** 0.5"""


# La buena del 1.2 trae la del 1.1, que usa.
STEALS = """found, used = globals().get("my_dot_product"), my_cosine_similarity
def my_dot_product(a, b):
    return found(a, b)"""


def carried(dot, cosine):
    cells = [(1, "import torch"), (2, f"# Ejercicio 1.1\n{dot}"), (3, f"# Ejercicio 1.2\n{cosine}")]
    lesson = submissions.lessons()["01"]
    answers = {number: lesson.answers[number] for number in ("1.1", "1.2")}
    reports, _, found = check.grade(cells, answers, cage.works(), 20, submissions.right(lesson.name))
    return [report.ok for report in reports], found


@pytest.mark.parametrize(
    ("dot", "cosine", "found"),
    [(DOT["mal"], COSINE, {"1.2": ["1.1"]}),
     pytest.param(DOT["mal"], COSINE.replace("** 0.5", ""), {}, marks=pytest.mark.lenta),
     pytest.param(DOT["mal"], "def my_cosine_similarity(a, b):\n    return a.sum()", {}, marks=pytest.mark.lenta),
     pytest.param(STEALS, "def my_cosine_similarity(a, b):\n    return a.sum()", {}, marks=pytest.mark.lenta)],
    ids=["solo arrastre", "y un error suyo", "no lo usa", "busca la suya en la buena de otro"],
)  # fmt: skip
def test_an_error_is_charged_once(dot, cosine, found):
    assert carried(dot, cosine) == ([False, False], found)


@caged
@pytest.mark.lenta
def test_the_first_mark_does_not_see_the_answer_of_the_second_try():
    """Quien rebusca en todas sus celdas y archivos no encuentra, a la primera, la respuesta buena."""
    spy = """import gc
def my_dot_product(a, b):
    named = lambda x: callable(x) and getattr(x, "__name__", "") == "my_dot_product"
    return next(x for x in gc.get_objects() if named(x) and x is not my_dot_product)(a, b)"""
    assert carried(spy, COSINE) == ([False, False], {"1.2": ["1.1"]})


# --- La tarea -------------------------------------------------------------------------------------

TASK = """titulo = "Semana 5"
entrega = 2026-12-04
retraso = {por_dia = 0.1, hasta = 0.5}
[ejercicios]
5.1 = 10
"5.2" = {puntos = 2.5, opcional = true}
3.1 = {}
[errores.5.1]
"escala-d_k" = 0.5
"""


def set_task(tmp_path, text=TASK):
    (tmp_path / "tarea.toml").write_text(text, encoding="utf-8-sig")
    return homework.said(str(tmp_path / "tarea.toml"), None, EVERYTHING.points)


def test_what_is_set_is_what_counts(tmp_path):
    """Los puntos, los optativos, los errores y el retraso que dice el archivo; los demás ejercicios no están."""
    task = set_task(tmp_path)
    assert (task.lessons(), task.most("05"), task.of("03")) == (["03", "05"], 10, {"3.1": EVERYTHING.points["3.1"]})
    assert task.text("05") == (
        "el 5.1 (10 puntos); si quieres, el 5.2 (2,5 puntos). Hasta el 4 de diciembre de 2026, a las 23:59. "
        "Por cada día de más se quita el 10 %, y el 50 a lo más."
    )
    given = options(homework=task, partial=task.parts)
    results = {
        "Ana": ([exercise("5.1", ok=True), exercise("5.2", ok=True)], datetime(2026, 12, 4, 23, 59), 10),
        "Eva": ([exercise("5.1", ids=["escala-d_k"]), exercise("5.2", ok=True)], datetime(2026, 12, 4), 7.5),
        "Luis": ([exercise("5.1", ok=True), exercise("5.2")], datetime(2026, 12, 6, 10), 8),
        "Noa": ([exercise("5.1", ok=True), exercise("5.2")], datetime(2027, 1, 6), 5),
        "Sin": ([exercise("5.1", ok=True), exercise("5.2")], datetime(1980, 1, 1), 10),
    }
    people = [person(name) for name in results]
    for one, (exercises, when, _) in zip(people, results.values()):
        marks.join(one, {"lesson": "05", "told": [], "exercises": exercises}, given, when)
    found = table([*people, person("Nada")], tmp_path / "notas.csv", homework=task)
    totals = {name: found[name]["Total 05"] for name in found}
    assert totals == {name: str(total).replace(".", ",") for name, (*_, total) in results.items()} | {"Nada": "0"}
    assert list(found["Ana"])[2:10] == [
        f"3.1 (de {EVERYTHING.points['3.1']})", "Total 03", "De 03", "Total 03 sin arrastre",
        "5.1 (de 10)", "5.2 (optativo, de 2.5)", "Total 05", "De 05",
    ]  # fmt: skip
    assert "con 2 días de retraso; se quita el 20 %" in found["Luis"]["Qué mirar"]
    assert "no se sabe cuándo se entregó" in found["Sin"]["Qué mirar"]
    assert "Por el retraso se quita el 20 %" in pages.feedback(people[2])
    (tmp_path / "a-mano.csv").write_text("Nombre;Ejercicio;Puntos\nLuis;5.1;10\nNoa;5.1;11\nEva;5.2;2,5\n")  # 11 no caben
    strange = marks.by_hand(people, tmp_path / "a-mano.csv")
    assert (len(strange), "Noa" in strange[0]) == (1, True)
    assert [marks.total(one, "05") for one in people] == [10, 7.5, 10, 5, 10]  # lo puesto a mano no llega tarde


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("5.1 = 10", "5.1 = -1"), ["el 5.1", "opcional = true"]),
        (("5.1 = 10", "5.1 = 'diez'"), ["el 5.1", "'diez'"]),
        (("5.1 = 10", "5.9 = 10"), ["«5.9»", "¿Es"]),
        (("3.1 = {}", "0.9 = 1"), ["«0.9»", "0.1"]),
        (("5.1 = 10", "5.1 = 10 puntos"), ["no se entiende", "line"]),
        (("titulo", "título"), ["no se entiende"]),
        (("titulo", "nombre"), ["«nombre»", "ejercicios"]),
        (("2026-12-04", "'4/12/2026'"), ["«entrega»", "sin comillas"]),
        (("entrega = 2026-12-04", ""), ["«entrega»"]),
        (("por_dia = 0.1", "por_dia = 10"), ["«retraso»", "de 0 a 1"]),
        (("{por_dia = 0.1, hasta = 0.5}", "0.1"), ["«retraso»"]),
        (("= 0.5\n", "= 50\n"), ["escala-d_k", "de 0 a 1"]),
        (("[errores.5.1]", "[errores.5.3]"), ["5.3", "que se pida"]),
        (("escala-d_k", "mascara-despues"), ["«mascara-despues»", "¿Es «máscara-después»?", "escala-d_k"]),
        (("5.1 = 10", "5.1 = {opcional = true}\n3.2 = {opcional = true}"), ["5.1", "3.2"]),
    ],
)  # fmt: skip
def test_a_task_that_is_not_understood_says_what_to_write(change, words, tmp_path):
    told = TASK.replace(*change)
    assert told != TASK
    if "3.2" in words:
        told = told.replace("3.1 = {}", "")
        words = ["no se pide ningún ejercicio"]
    with pytest.raises(text.Unreadable, match="tarea.toml") as error:
        marks.named(set_task(tmp_path, told).parts, "tarea.toml")
    assert all(word in str(error.value) for word in words), str(error.value)


def test_the_task_is_said_once_and_the_numbers_are_of_the_course():
    said = lambda *words: homework.said(None, words, EVERYTHING.points)  # noqa: E731
    assert said("5.1,5.3", "3.1").points == {one: EVERYTHING.points[one] for one in ("5.1", "5.3", "3.1")}
    assert not said().said and said("5.1").said
    with pytest.raises(text.Unreadable, match="«5.11».*5.1"):
        said("5.11")
    with pytest.raises(text.Unreadable, match="una vez"):
        homework.said("a", ["5.1"], EVERYTHING.points)


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def said_in(cells):
    return "\n".join("".join(cell["source"]) for cell in cells)


LESSONS = sorted((copies.ROOT / "notebooks").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.name[:2])
def test_the_task_is_said_in_the_lesson_and_in_its_class(lesson):
    """En lugar de lo que dicen la lección, las notas y la hoja; y en la pregunta de salida."""
    number = lesson.name[:2]
    task = EVERYTHING._replace(points=EVERYTHING.of(number), said=True)
    for path, times in ((lesson, 1), (lesson.parent / "clases" / lesson.name, 2)):
        task.put(cells := cells_of(path), number)
        assert said_in(cells).count(f"**Para casa:** {task.text(number)}") == times
        assert not re.search(r"ara casa, el ejercicio|Cuando quieras, \d", said_in(cells))
        EVERYTHING.put(cells := cells_of(path), number)  # sin decirla, nada
        assert said_in(cells) == said_in(cells_of(path))


def test_the_class_in_jupyterlab_says_the_task_that_is_with_the_notebooks(tmp_path, monkeypatch):
    monkeypatch.setenv("CURSO_CUADERNOS", str(tmp_path))
    path = copies.ROOT / "notebooks/clases/05_atencion.ipynb"
    (tmp_path / copies.FOLDER).mkdir()
    for written, told in (("", ""), (TASK, set_task(tmp_path).text("05")), ("a = 1", "no entiendo «a»")):
        if written:
            (tmp_path / copies.FOLDER / "tarea.toml").write_text(written, encoding="utf-8")
        contents.say_homework(path.name, cells := cells_of(path))
        [exit_] = (cell for cell in cells if "salida" in cell["metadata"].get("tags", ()))
        assert told in "".join(exit_["source"])
        assert ("Para casa" in "".join(exit_["source"])) is bool(written)


def test_what_is_written_by_hand_stays(tmp_path):
    """Puntos y comentarios de alguien: se usan, no se tocan, y lo que no es de nadie se dice."""
    path, people = tmp_path / "a-mano.csv", [person("Ana Ñandú", _05=[exercise("5.1"), exercise("5.3", ok=True)])]
    assert marks.by_hand(people, path) == []
    assert path.read_text("utf-8-sig").strip() == '"Nombre";"Ejercicio";"Puntos";"Comentario"'
    rows = "Nombre,Ejercicio,Puntos,Comentario\nANA ÑANDÚ,5.1,\"2,5\",\"Casi: <b>mira</b> el eje\"\nAna Ñandú,,,Muy bien\n"
    path.write_text(f"{rows}Otra,5.1,1,\nAna Ñandú,5.2,1,\nAna Ñandú,5.1,mucho,\n", encoding="cp1252")
    before = path.read_bytes()
    for _ in range(2):
        strange = marks.by_hand(people, path)
    assert len(strange) == 3 and "Otra" in strange[0] and path.read_bytes() == before
    assert people[0]["marks"] == {"5.1": 2.5, "5.3": EVERYTHING.points["5.3"]}
    page = pages.feedback(people[0])
    assert "Casi: &lt;b&gt;mira&lt;/b&gt; el eje" in page and "Muy bien" in page and page.count("puestos a mano") == 1


def test_nobody_stalls_the_class(tmp_path, capsys, monkeypatch):
    """Cada persona tiene un tope, y lo lento se guarda: la segunda vez no se espera a nadie."""
    slow = "import time\n# Ejercicio 5.1\ntime.sleep(300)\ndef my_attention(query, key, value, mask=None):\n    pass"
    good = "# Ejercicio 5.3\nmy_letter = 'a'"
    for who, cells in {"Ana": [good], "Lenta": [slow, good]}.items():
        (tmp_path / "e" / who).mkdir(parents=True)
        book = json.dumps(pretend.notebook("import torch", *cells))
        (tmp_path / "e" / who / "05_atencion.ipynb").write_text(book)
    monkeypatch.setattr(gradebook, "write", lambda *_: None)
    order = [str(tmp_path / "e"), "--ejercicios", "5.1", "5.3", "--procesos", "2", "--tope", "14"]
    order += [] if cage.works() else ["--sin-aislar"]
    started = time.monotonic()
    assert grading.main(order) == 0
    said = capsys.readouterr()
    assert time.monotonic() - started < 120
    assert "Lenta: el 5.1 no se ha probado entero" in said.out and "--tope" in said.out
    assert "De la 05: el 5.1 (4 puntos) y el 5.3 (1 punto)." in said.out
    assert "el 5.3" not in said.out.partition("Lo que hay que mirar")[2]  # lo demás suyo se prueba
    assert "Lenta" in said.err  # en la barra, por quién va
    monkeypatch.setattr(workers.Worker, "ask", lambda *_: 1 / 0)
    assert grading.main(order) == 0
    assert "Ya estaban calificados 2 de 2" in capsys.readouterr().out
