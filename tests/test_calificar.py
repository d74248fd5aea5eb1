"""Calificar una clase: entregas buenas, malas y rotas; lo que se lee después, y quien hace trampa."""

import argparse
import csv
import io
import json
import os
import py_compile
import re
import signal
import struct
import subprocess
import sys
import time
import unicodedata
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import helpers_class as pretend
import numpy as np
import pytest
import torch
from answers import in_loops
from psutil import Process
from safetensors.torch import save
from test_nbgrader import ATTENTION as GOOD
from tools import class_of_40

from aula.calificar import cage, check, pages, student, submissions, workers
from aula.calificar import grade as grading
from aula.calificar import marks as marking
from course_checkers.engine import running

ROOT = pretend.ROOT
CAGED = cage.works()
caged = pytest.mark.skipif(not CAGED, reason="este sistema no deja aislar: falta bubblewrap")

if not CAGED and cage.is_root():
    pytest.skip("sin jaula no se califica siendo administrador", allow_module_level=True)

BY_D_K = GOOD.replace(" ** 0.5", "")
CHECK = "# Comprobación 5.1\ncheck_scaled_dot_product_attention(my_attention)"


def tiny(code, *more):
    """Un cuaderno corto de la lección 05, con esta respuesta al 5.1."""
    return json.dumps(pretend.notebook("import torch", f"# Ejercicio 5.1\n{code}", CHECK, *more))


def grade(code, answers=None, seconds=20):
    """El informe de una respuesta al 5.1, y lo que ha intentado."""
    cells = [(1, "import torch"), (2, code)]
    reports, noticed, _ = check.grade(cells, answers or {"5.1": "my_attention"}, CAGED, seconds)
    return reports[0], noticed


# --- La orden entera ------------------------------------------------------------------------------

OPTIONS = ["--segundos", "3"] + ([] if CAGED else ["--sin-aislar"])
EVIL = "<img src=x onerror=alert(1)>"
CLASS = {
    "Ana Ñandú_101_assignsubmission_file_/05_atencion.ipynb": tiny(GOOD, "# Ejercicio 5.3\nmy_letter = 'b'"),
    f"=Luis {EVIL.replace('/', '')}_102_assignsubmission_file_/mi tarea.ipynb": tiny(
        f"# {EVIL}\n{BY_D_K}\nprint({EVIL!r})\nopen('nota.txt', 'w').write('10')"
    ).replace("check_scaled_dot_product_attention(my_attention)", "print('bien')"),
    "Eva_103_assignsubmission_file_/05_atencion.ipynb": tiny(f"while True: pass\n{BY_D_K}"),
    "Eva_104_assignsubmission_file_/05_atencion.ipynb": "",
    "Roto_105_assignsubmission_file_/05_atencion.ipynb": '{"cells": [',
    "Otro_106_assignsubmission_file_/ajeno.ipynb": json.dumps(pretend.notebook("print(1)")),
    "Papel_107_assignsubmission_file_/tarea.pdf": "%PDF",
    # Uno de otra lección: no cambia el total de nadie. Y su respuesta dice lo que no se puede escribir.
    "Suelto_108_assignsubmission_file_/03_atencion.ipynb": json.dumps(
        pretend.notebook(
            "import torch",
            "# Ejercicio 3.1\ndef my_softmax(*a, **k):\n    raise ValueError(chr(0xD800) + chr(0))",
            "# Comprobación 3.1",
        )
    ),
    "Otra_109_assignsubmission_file_/05_atencion.ipynb": tiny(GOOD + "\n# otra"),
    "Uno más_110_assignsubmission_file_/05_atencion.ipynb": tiny(GOOD + "\n# uno más"),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Una clase pequeña, en un zip como los de Moodle, calificada."""
    base = tmp_path_factory.mktemp("clase ñ")
    with zipfile.ZipFile(base / "tarea.zip", "w") as archive:
        for name, text in CLASS.items():
            archive.writestr(name, text)
    results, told, _ = class_of_40.grade(base / "tarea.zip", *OPTIONS)
    return results, told


def rows(results):
    with (results / "notas.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["Nombre"]: row for row in csv.DictReader(file, delimiter=";")}


def test_marks_are_the_ones_each_one_deserves_and_nobody_is_missing(graded):
    table = rows(graded[0])
    columns = "5.1 (de 4)", "5.3 (de 1)", "Total 05", "De 05", "Total 05 sin arrastre", "Total 03"
    assert {name: tuple(row[one] for one in columns) for name, row in table.items()} == {
        "Ana Ñandú": ("4", "1", "5", "8", "5", ""),
        "'=Luis <img src=x onerror=alert(1)>": ("0", "0", "0", "8", "0", ""),
        "Eva (103)": ("0", "0", "0", "8", "0", ""),
        "Eva (104)": ("", "", "0", "8", "0", ""),
        "Roto": ("", "", "0", "8", "0", ""),
        "Otro": ("", "", "0", "8", "0", ""),
        "Papel": ("", "", "0", "8", "0", ""),
        "Suelto": ("", "", "0", "8", "0", "0"),
        "Otra": ("4", "0", "4", "8", "4", ""),
        "Uno más": ("4", "0", "4", "8", "4", ""),
    }
    assert table["Ana Ñandú"]["Identificador"] == "Participante 101"


def test_what_went_wrong_is_in_the_marks_and_in_the_terminal(graded):
    table, told = rows(graded[0]), graded[1]
    for name, sentences in {
        "Eva (103)": ["el 5.1 no acaba"],
        "Eva (104)": ["05_atencion.ipynb está vacío"],
        "Roto": ["05_atencion.ipynb está dañado"],
        "Otro": ["ajeno.ipynb no es de este curso"],
        "Papel": ["no trae ningún cuaderno, sino tarea.pdf"],
        "'=Luis <img src=x onerror=alert(1)>": [
            "el archivo se llama mi tarea.ipynb y es la lección 05",
            "ha cambiado la comprobación 5.1: se usa la del curso",
            "ha escrito archivos, que se han perdido",
        ],
    }.items():
        for sentence in sentences:
            assert sentence in table[name]["Qué mirar"]
            assert f"{name.removeprefix(chr(39))}: " in told
            assert sentence in told
    assert table["Ana Ñandú"]["Qué mirar"] == ""


class Tags(HTMLParser):
    """Las etiquetas de una página y el texto que se ve."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_feedback_says_the_mistake_and_what_a_student_writes_is_text(graded):
    pages = {path.stem: path.read_text(encoding="utf-8") for path in graded[0].glob("devoluciones/*.html")}
    assert len(pages) == len(CLASS)
    luis = Tags(next(page for name, page in pages.items() if name.startswith("luis")))
    assert "Has dividido por d_k y no por √d_k" in luis.text
    assert "03 §9.3 · No se divide por d_k" in luis.text
    assert luis.text.count(EVIL) >= 3  # su nombre, su código y lo que escribe
    for page in pages.values():
        tags = Tags(page).tags
        assert not {"img", "script", "link", "iframe"} & {tag for tag, _ in tags}
        assert not any(key.startswith("on") or key in ("src", "href") for _, a in tags for key in a)


def test_the_report_counts_names_the_section_and_nobody(graded):
    page = (graded[0] / "clase.html").read_text(encoding="utf-8")
    text = Tags(page).text
    assert class_of_40.reported(page)["5.1"] == {"bien": 3, "escala-d_k": 1, "no-acaba": 1}
    assert class_of_40.reported(page)["3.1"] == {}  # es de una sola persona: ni su error
    assert "03 §9.3 · No se divide por d_k" in text
    for name in ("Ana", "Luis", "Eva", "onerror"):
        assert name not in page


def test_what_is_graded_is_not_graded_again_and_the_marks_do_not_change(graded, capsys, monkeypatch):
    results = graded[0]
    before = (results / "notas.csv").read_bytes()
    again = []
    monkeypatch.setattr(workers.Worker, "ask", lambda self, *order: again.append(order[0]) or {"problem": ""})
    zipfile.ZipFile(results.with_name("tarea.zip")).extractall(results.with_name("tarea"))
    monkeypatch.chdir(results)  # la carpeta, desde otra: quien la califica está en la del curso
    order = ["../tarea", "--salida", ".", *OPTIONS, "--nombres"]
    assert grading.main(order) == 0
    assert "Ya estaban calificados 6 de 6" in capsys.readouterr().out
    assert (results / "notas.csv").read_bytes() == before and not again
    assert grading.main([*order, "--tope", "200"]) == 0  # lo que no acaba se prueba otra vez si se espera más
    assert "Ya estaban calificados 5 de 6" in capsys.readouterr().out
    found = [(Path(path).parent.name[:7], Path(path).is_absolute()) for path in again]
    assert found == [("Eva_103", True)]
    after = (results / "notas.csv").read_bytes()
    eva = lambda text: [line for line in text.splitlines() if b"Eva (103)" not in line]  # noqa: E731
    assert eva(after) == eva(before)
    assert "Ana" not in (page := (results / "clase.html").read_text(encoding="utf-8"))
    assert "onerror=alert(1)&gt;" in page  # con --nombres, quién; y como texto


@pytest.mark.parametrize("name", [
    "course_lib/masks.py", "course_lib/translator_model/weights.safetensors",
    "course_checkers/lessons/l05.txt", "course_checkers/inside/layers.py",
    "course_tools/renewed.py", "aula/calificar/student.py", "requirements.txt",
])  # fmt: skip
def test_whatever_decides_a_mark_makes_it_be_graded_again(name, tmp_path, monkeypatch):
    for part in (*grading.DECIDES, *grading.PINS):
        place = tmp_path / part
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if (ROOT / part).is_dir() else place.touch()
    monkeypatch.setattr(cage, "ROOT", tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    seals = []
    for text in ("a", "b"):
        (tmp_path / name).write_text(text)
        (tmp_path / "course_lib/__pycache__").mkdir(exist_ok=True)
        (tmp_path / "course_lib/__pycache__/masks.pyc").write_text(text)  # esto no decide nada
        seals += [grading.fingerprint(True, 60), grading.fingerprint(True, 60)]
    assert seals[0] == seals[1] != seals[2] == seals[3]


def test_the_order_and_the_lessons_decide_a_mark_too(monkeypatch):
    seals = {grading.fingerprint(*options) for options in ((True, 60), (True, 3), (False, 60))}
    fewer = {"05": submissions.lessons()["05"]._replace(points={"5.1": 9})}
    monkeypatch.setattr(submissions, "lessons", lambda: fewer)
    assert len(seals | {grading.fingerprint(True, 60)}) == 4


@pytest.mark.lenta
def test_only_the_report_has_no_names_and_no_marks(graded, tmp_path, monkeypatch, capsys):
    results = tmp_path / "r"
    (results / grading.DONE).mkdir(parents=True)
    for kept in (graded[0] / grading.DONE).iterdir():
        (results / grading.DONE / kept.name).write_bytes(kept.read_bytes())
    (tmp_path / "lista.txt").write_text("De otra clase\n")
    order = [str(graded[0].with_name("tarea.zip")), "--lista", "lista.txt", "--salida", str(results), "--solo-informe"]
    monkeypatch.chdir(tmp_path)
    assert grading.main([*order, *OPTIONS]) == 0
    assert {path.name for path in results.iterdir()} == {grading.DONE, "clase.html"}
    told = capsys.readouterr().out + (results / "clase.html").read_text(encoding="utf-8")
    assert "Resuelto por 3 de" in told
    assert "Nadie de la lista sale en las entregas" in told
    assert not [name for name in ("Ana", "Luis", "Eva", "Roto") if name in told]


def exercise(*findings, ok=False, unsolved=False):
    """Un ejercicio calificado, como se guarda."""
    known = {"exercise": "5.1", "title": "t", "points": 4, "notes": [], "printed": [], "answer": ""}
    names = ("id", "text", "consequence", "read")
    findings = [dict(zip(names, finding)) for finding in findings]
    return known | {"ok": ok, "unsolved": unsolved, "findings": findings}


def test_each_person_counts_once_and_sections_are_ranked_by_people():
    twice = exercise(["x", "Uno", "", "03 §2"], ["x", "Dos", "", "03 §2"], ["y", "<i>", "", "05 §4"])
    every = [twice, exercise(["x", "Uno", "", "03 §2"]), exercise(ok=True), exercise(unsolved=True)]
    every += [exercise(unsolved=True)]
    people = [
        {"name": f"P{k}", "told": [], "lessons": {"05": {"lesson": "05", "exercises": [one]}}}
        for k, one in enumerate(every)
    ]
    page = pages.class_report(people, with_names=False)
    assert class_of_40.reported(page) == {"5.1": {"bien": 1, "x": 2, "y": 1}}
    assert "2 sin hacer" in page
    assert "&lt;i&gt;" in page
    assert "P0" not in page
    assert "P0, P1" in pages.class_report(people, with_names=True)
    ranking = pages.again(pages.tallies(people))
    assert ranking == [("03 §2", {"P0", "P1"}), ("05 §4", {"P0"})]
    page = pages.class_report(people[:4], with_names=False)
    assert class_of_40.reported(page) == {"5.1": {"bien": 1}}
    assert "Uno" not in page
    assert "03 §2" not in page
    assert "Uno" in pages.class_report(people[:4], with_names=True)


# --- Leer las entregas ----------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "who"), [
    ("Ana Paz_12_assignsubmission_file_/a.ipynb", ("Ana Paz", "12")),
    ("Ana Paz_12_assignsubmission_file_05_atencion.ipynb", ("Ana Paz", "12")),
    ("ana/05_atencion/05_atencion.ipynb", ("ana", "")),
    ("05_atencion_ana paz.ipynb", ("ana paz", "")),
    ("ana-05_atencion.ipynb", ("ana", "")), ("05_atencion_Ana_Paz.ipynb", ("Ana Paz", "")),
    ("Ana Paz - Copia de 05_atencion.ipynb", ("Ana Paz", "")), ("ana_12345_678901_05_atencion.ipynb", ("ana", "12345")),
    ("ana_LATE_12345_678902_06.ipynb", ("ana", "12345")), ("ana_2025_2026_05_atencion.ipynb", ("ana", "")),
    ("05_atencion.ipynb", ("05_atencion", "")), ("mala_777_888_x_12345_assignsubmission_file_.ipynb", ("mala", "777")),
])  # fmt: skip
def test_whose_it_is(path, who):
    assert submissions.owner(tuple(path.split("/"))) == who


@pytest.mark.skipif(os.name == "nt", reason="los enlaces piden permisos")
def test_no_name_of_a_zip_leaves_its_place_and_no_link_is_followed(tmp_path):
    (tmp_path / "secreto.ipynb").write_text(tiny(GOOD))
    folder, space = tmp_path / "e", tmp_path / "dentro"
    (folder / "eva").mkdir(parents=True)
    (folder / "eva/05_atencion.ipynb").symlink_to(tmp_path / "secreto.ipynb")
    (folder / "leo").symlink_to(tmp_path)
    found = {who: submissions.collect(files) for who, files in submissions.students(folder, "").items()}
    assert found[("eva", "")] == ({}, ["05_atencion.ipynb es un enlace a otro sitio, y no se sigue"])
    assert ("leo", "") not in found or not found[("leo", "")][0]
    space.mkdir()
    with zipfile.ZipFile(tmp_path / "clase.zip", "w") as archive:
        archive.writestr("ana/../../../05_atencion.ipynb", tiny(GOOD))
        archive.writestr("/leo/05_atencion.ipynb", tiny(BY_D_K))
    found = submissions.students(tmp_path / "clase.zip", space)
    assert {who: list(submissions.collect(files)[0]) for who, files in found.items()} == {
        ("ana", ""): ["05"],
        ("leo", ""): ["05"],
    }
    names = ["clase.zip", "dentro", "e", "secreto.ipynb"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_zip_of_a_student_is_said_and_so_is_what_is_not_a_file(tmp_path):
    (tmp_path / "ana").mkdir()
    (tmp_path / "ana/05.zip").write_bytes(b"PK")
    os.mkfifo(tmp_path / "ana/05_atencion.ipynb")
    (files,) = submissions.students(tmp_path, "").values()
    books, told = submissions.collect(files)
    assert books == {}
    assert sorted(told) == [
        "05_atencion.ipynb no es un cuaderno, ni un archivo corriente",
        "No se puede abrir 05.zip: está dañado o a medias, o no es un zip.",
    ]


@pytest.mark.parametrize(("text", "reason"), [
    (b" \n", "está vacío"),
    (b"\xff\xfe{", "está dañado"),
    (b"[" * 100_000, "está dañado"),
    (b'{"cells": 3}', "no es un cuaderno"),
    (b'{"cells": [3]}', "no es un cuaderno"),
    (b'{"cells": []}', "no tiene ninguna celda de código"),
    (b"{}", "no es un cuaderno"),
])  # fmt: skip
def test_a_broken_notebook_is_a_sentence(text, reason, tmp_path):
    (tmp_path / "a.ipynb").write_bytes(text)
    with pytest.raises(submissions.Unreadable, match=reason):
        submissions.read_notebook(tmp_path / "a.ipynb")


def test_a_submission_of_before_is_read_with_the_names_of_now(tmp_path):
    book = tiny(f"from course_lib.checkers import check_scaled_dot_product_attention\n{GOOD}")
    (tmp_path / "05_atencion.ipynb").write_text(book)
    cells = submissions.read_notebook(tmp_path / "05_atencion.ipynb").cells
    report, *_ = check.grade(cells, {"5.1": "my_attention"}, CAGED)
    assert report[0].ok, report[0]


def test_every_lesson_says_what_it_asks_for():
    numbers = [number for lesson in submissions.lessons().values() for number in lesson.answers]
    assert set(numbers) == set(check.exercises())


# --- Lo que escriben otros programas --------------------------------------------------------------

WHOLE = ["Ana Peña", "José Íñiguez", "María Ángeles Güell", "Óscar Ñúñez"]  # todo lo que distingue una página


class RawInfo(zipfile.ZipInfo):
    """Un archivo de un zip, con los bytes que se quieran por nombre."""

    def _encodeFilenameFlags(self):
        return self.raw, self.flag_bits | self.mark


def raw_zip(path, files, encoding, mark=0, extra=lambda raw, name: b"", form="NFC", slash="/"):
    """Un zip con los nombres como los deja un sistema; ``files``: nombre → texto."""
    with zipfile.ZipFile(path, "w") as archive:
        for k, (name, text) in enumerate(files.items()):
            info = RawInfo(f"{k}")
            info.raw = unicodedata.normalize(form, name).replace("/", slash).encode(encoding, "replace")
            info.mark, info.extra = mark, extra(info.raw, name)
            archive.writestr(info, text)


def unicode_path(raw, name):
    """El campo «Unicode Path»: la suma del otro nombre, y el bueno en UTF-8."""
    told = struct.pack("<BL", 1, zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(told)) + told


@pytest.mark.parametrize(
    "made",
    [{"encoding": "cp850"}, {"encoding": "cp1252"}, {"encoding": "utf-8"}, {"encoding": "utf-8", "form": "NFD"},
     {"encoding": "utf-8", "mark": 0x800}, {"encoding": "ascii", "extra": unicode_path},
     {"encoding": "cp850", "slash": "\\"}],
    ids=["Explorador de Windows", "un zip en ANSI", "Finder", "Finder, NFD", "7-Zip", "Info-ZIP", "con barras de Windows"],
)  # fmt: skip
@pytest.mark.parametrize("whole", [True, False])
def test_a_name_of_a_zip_is_read_as_it_was_written(whole, made, tmp_path):
    """Una clase, comprimida entera o la carpeta que la tiene; y contra la lista, nadie falta."""
    files = {f"{'' if whole else 'clase/'}{name}/05_atención.ipynb": tiny(GOOD) for name in WHOLE}
    raw_zip(tmp_path / "e.zip", files, **made)
    people = submissions.gather(tmp_path / "e.zip", tmp_path / "dentro")
    assert [(name, list(books)) for name, _, books, *_ in people] == [(name, ["05"]) for name in WHOLE]
    roll = [(unicodedata.normalize("NFD", name.upper()), "") for name in WHOLE]
    assert marking.call_roll([{"name": one[0], "id": "", "told": []} for one in people], roll) == []


@pytest.mark.parametrize(
    ("names", "people"),
    [
        (["Ana Peña/05.ipynb", "Ana Pen\u0303a/06.ipynb"], {"Ana Peña": ["05", "06"]}),
        (["Ana  Paz/05.ipynb", "ana\u00a0paz/06.ipynb"], {"Ana  Paz": ["05", "06"]}),
        (["Luis Pérez/05.ipynb", "Pérez, Luis/06.ipynb"], {"Luis Pérez": ["05", "06"]}),
        (["Luis Pérez/05.ipynb", "Perez Luis/06.ipynb"], {"Luis Pérez": ["05", "06"]}),
        (["Luis Pérez/05.ipynb", "Pérez Luis/05.ipynb"], {"Luis Pérez": ["05"], "Pérez Luis": ["05"]}),
        (["A_1_assignsubmission_file_/05.ipynb", "A_2_assignsubmission_file_/06.ipynb"], {"A": ["05"], "A·": ["06"]}),
        (["Martín Alonso/05.ipynb", "Alonso Martín/06.ipynb"], {"Martín Alonso": ["05"], "Alonso Martín": ["06"]}),
        (["Pen╠âa/05.ipynb"], {"Peña": ["05"]}), (["~Eva/05.ipynb"], {"~Eva": ["05"]}),
        (["t/Ana/05.ipynb", "t/Eva/05.ipynb", "t/leeme.pdf"], {"Ana": ["05"], "Eva": ["05"], "leeme": []}),
        ([f"t/{who}_assignsubmission_file_/05.ipynb" for who in ("A_1", "B_2")], {"A": ["05"], "B·": ["05"]}),
        (["Ana/05.ipynb", "Mala/Ana_2_assignsubmission_file_/05.ipynb"], {"Ana": ["05"], "Mala": ["05"]}),
        (["ana/05_atencion.py", "ana/06.ipynb", "eva/05.ipynb", "eva/05_atencion.py"], {"ana": ["05", "06"], "eva": ["05"]}),
        (["soluciones/05.ipynb", ".x/05.ipynb", ".vacía/nada.txt"], {"soluciones": ["05"], ".x": ["05"]}),
        (["ana/05.ipynb", "ana/soluciones/06.ipynb"], {"ana": ["05"]}),
        (["ana/soluciones/06.ipynb", "ana/.ipynb_checkpoints/05.ipynb"], {"ana": ["06"]}),
        (["ana/._05.ipynb", "ana/~$05.ipynb", "Thumbs.db", "desktop.ini", ".DS_Store", "ana/05.ipynb"], {"ana": ["05"]}),
        (["ana/05.ipynb.txt", "eva/05.ipynb.json", "leo/05.IPYNB", "noa/05.json"],
         {"ana": ["05"], "eva": ["05"], "leo": ["05"], "noa": ["05"]}),
        (["ana-05_atencion (1).ipynb", "Copia de 05_atencion_eva.ipynb", "leo_05_atencion - copia.ipynb"],
         {"ana": ["05"], "eva": ["05"], "leo": ["05"]}),
        (["05_atencion.ipynb", "05_atencion (1).ipynb", "Copia de 05_atencion.ipynb"],
         {"05_atencion": ["05"], "05_atencion (1)": ["05"], "Copia de 05_atencion": ["05"]}),
    ],
)  # fmt: skip
def test_one_person_by_any_form_of_the_name_and_nobody_is_another(names, people, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        made = tiny(GOOD).replace("5.1", "6.1") if name.endswith("06.ipynb") else tiny(GOOD)
        (tmp_path / name).write_text(PERCENT if name.endswith(".py") else made)
    roll = [("Martín Alonso", ""), ("Alonso Martín", "")]
    found = submissions.gather(tmp_path, "", roll)
    assert {name + "·" * (ident == "2"): sorted(books) for name, ident, books, *_ in found} == people
    merged = len(names) > 1 and len(found) == 1 and len({Path(name).parts[0].casefold() for name in names}) > 1
    if merged and "\u0303" not in str(names):  # se dice, si no se escriben igual
        assert any("se han juntado" in text for text in found[0][3]) or len(names) > 3


@pytest.mark.parametrize(("listed", "given", "absent", "told"), [
    (["Pérez, Luis"], ["Luis  PEREZ"], [], [""]),
    (["Ana Gil", "Ana Gil"], ["Ana Gil"], ["Ana Gil"], ["hay 2 en la lista y 1 entregas"]),
    (["Ana Gil"], ["Ana Gil (1)", "Ana Gil (2)"], [], ["hay 1 en la lista y 2", "hay 1 en la lista y 2"]),
    (["Martín Alonso", "Alonso Martín"], ["Alonso Martín"], ["Martín Alonso"], [""]),
    (["😀", "😎"], ["😎"], ["😀"], [""]),
    (["Ana\u200b Gil"], ["ana gil"], [], [""]),
])  # fmt: skip
def test_the_list_knows_two_people_of_one_name(listed, given, absent, told):
    people = [{"name": name, "id": "", "told": []} for name in given]
    missing = marking.call_roll(people, [(name, "") for name in listed])
    assert [one["name"] for one in missing] == absent
    for person, text in zip(people, told):
        assert text in " ".join(person["told"])
        assert bool(text) == bool(person["told"]) or "no está" in person["told"][0]


def test_a_zip_of_a_student_is_opened_with_the_same_limits(tmp_path, monkeypatch):
    """Uno dentro de otro, con carpetas, y con un nombre que quiere salirse; y lo que no se puede abrir se dice."""
    for place in ("dentro", "e/ana", "e/bea", "e/cid", "e/dan", "e/eva"):
        (tmp_path / place).mkdir(parents=True)
    raw_zip(tmp_path / "d.zip", {"../../05_atención.ipynb": tiny(GOOD)}, "cp850")
    with zipfile.ZipFile(tmp_path / "e/ana/Entrega.ZIP", "w") as archive:
        archive.write(tmp_path / "d.zip", "mía/d.zip")
        archive.writestr("__MACOSX/mía/._d.zip", "x")
    with zipfile.ZipFile(tmp_path / "e/bea/a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("05.ipynb", bytes(10**6))
    for who, at in (("cid", (b"PK\x03\x04", 6, 1)), ("dan", (b"PK\x03\x04", 8, 9))):
        raw_zip(tmp_path / "e" / who / "a.zip", {"05.ipynb": tiny(GOOD)}, "utf-8")
        data = bytearray((tmp_path / "e" / who / "a.zip").read_bytes())
        data[at[1]] = data[data.index(b"PK\x01\x02") + at[1] + 2] = at[2]
        (tmp_path / "e" / who / "a.zip").write_bytes(data)
    (tmp_path / "e/eva/05_atencion.ipynb").write_text(tiny(GOOD))
    for name in ("más.rar", "05.ipynb.gz"):
        (tmp_path / "e/eva" / name).write_bytes(b"Rar!")
    monkeypatch.setattr(submissions.notebooks, "MOST_RAW", 10**5)
    people = submissions.gather(tmp_path / "e", tmp_path / "dentro")
    found = {name: (list(books), told) for name, _, books, told, _ in people}
    assert found["ana"] == (["05"], [])
    assert "a.zip trae demasiado" in found["bea"][1][0]
    assert "lleva contraseña" in found["cid"][1][0]
    assert "de una forma que aquí no se abre" in found["dan"][1][0]
    told = [f"{name} no se abre aquí: descomprímelo en su carpeta" for name in ("05.ipynb.gz", "más.rar")]
    assert found["eva"] == (["05"], told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.zip", "dentro", "e"]


OLD = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
CELL = {"cell_type": "code", "language": "python", "collapsed": False, "metadata": {}, "outputs": [], "prompt_number": 1}


def old(number, *sources):
    """Un cuaderno del formato 2 o 3: las celdas, en hojas; y el 2, sin los saltos de línea."""
    cut = lambda text: text.splitlines(keepends=number > 2) if number else text  # noqa: E731
    cells = [CELL | {"input": cut(source)} for source in sources]
    return json.dumps({**OLD, "nbformat": number, "worksheets": [{"cells": cells, "metadata": {}}]})


SOURCES = "import torch", f"# Ejercicio 5.1\n{GOOD}", CHECK
HEAVY = json.loads(tiny(GOOD))
HEAVY["cells"][1]["outputs"] = [{"output_type": "stream", "name": "a]}", "text": ['"cells": [\\"\n'] * 10**5}]
HEAVY["metadata"] = {"widgets": {"state": {"outputs": [{"]": "{" * 10**6}]}}}
BARE = {"cells": [{"cell_type": "code", "source": source} for source in SOURCES]}
PERCENT = "".join(f"# %% [parte]\n{source}\n\n" for source in SOURCES)
WRITTEN = {
    "formato 2": old(2, *SOURCES),
    "formato 3": old(3, *SOURCES),
    "sin ids ni metadatos": json.dumps(BARE),
    "con líneas en listas": json.dumps({"cells": [CELL | {"source": s.splitlines(True)} for s in SOURCES]}),
    "con BOM": b"\xef\xbb\xbf" + tiny(GOOD).encode(),
    "UTF-16": json.dumps(json.loads(tiny(GOOD)), ensure_ascii=False).encode("utf-16"),
    "UTF-16 sin marca": tiny(GOOD).encode("utf-16-le"),
    "cp1252": json.dumps(json.loads(tiny(GOOD)), ensure_ascii=False).encode("cp1252"),
    "CRLF": json.dumps(json.loads(tiny(GOOD).replace("\\n", "\\r\\n")), indent=1).replace("\n", "\r\n"),
    "con mucho dentro": json.dumps(HEAVY),
    "Colab": tiny(GOOD).replace("# Ejercicio", "\\n#@title Mi respuesta { display-mode: \\\"form\\\" }\\n# ejercicio"),
    "una orden delante": tiny(GOOD).replace("# Ejercicio", "%%time\\n\\n#Ejercicio"),
    "VS Code, programa.py": PERCENT,
    "Spyder, programa.py": PERCENT.replace("# %%", "#%%"),
    "Colab, programa.py": "\n\n".join([*SOURCES, '"""## Lo que sigue"""', "x = 1"]),
    "nbconvert, programa.py": "#!/usr/bin/env python\n" + "".join(f"# In[{k}]:\n\n\n{s}\n\n\n" for k, s in enumerate(SOURCES)),
}  # fmt: skip


@pytest.mark.parametrize("how", WRITTEN)
def test_a_notebook_of_any_program_is_read(how, tmp_path, monkeypatch):
    monkeypatch.setattr(submissions.notebooks, "MOST", 10**5)  # lo que queda, sin sus salidas
    path = tmp_path / ("05_atencion.py" if how.endswith(".py") else "05_atencion.ipynb")
    made = WRITTEN[how]
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    (book, _), told = submissions.collect([path])[0]["05"], submissions.collect([path])[1]
    assert f"{GOOD}\n{CHECK}" in "\n".join(source.strip() for _, source in book.cells)
    assert (book.own["5.1"].endswith(GOOD), book.told) == (True, [] if path.suffix == ".ipynb" else book.told)
    assert not any("cambiado la comprobación" in text for text in [*book.told, *told])


def test_what_is_left_of_a_notebook_has_a_limit_and_so_has_the_whole(tmp_path, monkeypatch):
    path = tmp_path / "05_atencion.ipynb"
    path.write_text(tiny(GOOD + "#" * 10**5))
    for name, value in (("MOST", 10**4), ("MOST_RAW", 10**4), ("MOST_TOKENS", 10)):
        with monkeypatch.context() as patch, pytest.raises(submissions.Unreadable, match="demasiado grande"):
            patch.setattr(submissions.notebooks, name, value)
            submissions.read_notebook(path)
    for half in (b'{"outputs": [' + b"[" * 10**5, b'"' + b'\\"' * 10**5, b'{"outputs" ' * 10**4):
        path.write_bytes(half)
        with pytest.raises(submissions.Unreadable, match="está dañado"):
            submissions.read_notebook(path)


def test_a_notebook_without_its_lines_is_known_by_its_names_and_never_before_one_that_has_them(tmp_path):
    for k, name in enumerate(("05_atencion.ipynb", "pruebas.ipynb")):
        lines = tiny(GOOD) if k == 0 else json.dumps(pretend.notebook("import torch", GOOD))
        (tmp_path / name).write_text(lines)
        os.utime(tmp_path / name, (k, k))
    for k in (10, 9, 2):  # a la vez, el del número mayor
        (tmp_path / f"05_atencion ({k}).ipynb").write_text(tiny(GOOD))
        os.utime(tmp_path / f"05_atencion ({k}).ipynb", (0, 0))
    assert submissions.collect(sorted(tmp_path.glob("05*")))[0]["05"][1].name == "05_atencion (10).ipynb"
    files = [tmp_path / "05_atencion.ipynb", tmp_path / "pruebas.ipynb"]
    assert submissions.collect(files)[0]["05"][1] == files[0]
    assert submissions.collect(files[1:])[0]["05"][0].cells[1][1] == GOOD
    for kind, many in (("raw", 1), ("markdown", 1), ("code", 0)):  # con «r» o «m», ya no es código, y se dice
        made = pretend.notebook(CHECK, pretend.cell(f"```python\n# Ejercicio 5.1\n{GOOD}") | {"cell_type": kind})
        files[0].write_text(json.dumps(made))
        assert len(re.findall("la respuesta del 5.1 está en", str(submissions.read_notebook(files[0]).told))) == many


# --- Quien hace trampa ----------------------------------------------------------------------------

WRONG = "def my_attention(query, key, value, mask=None):\n    return value[..., :1, :1], value"
CHEATS = {
    "parchea la comprobación": """
import course_checkers, sys
from course_checkers.engine import exercise, report
exercise.Exercise.check = lambda self, f: report.Report(self.number, self.title)
report.Report.ok = property(lambda self: True)
course_checkers.check_scaled_dot_product_attention = lambda f: True""",
    "parchea torch y Python": """
import builtins, torch, torch.testing
torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
builtins.all = builtins.any = builtins.isinstance = lambda *a: True""",
    "cambia la biblioteca por otra": """
import sys, types
for name in [n for n in sys.modules if n.startswith("course_lib")]:
    sys.modules[name] = types.ModuleType(name)""",
    "un tensor que dice que es igual a todo": """
import torch
class Same(torch.Tensor):
    __eq__ = lambda self, other: True
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None): return True
value = torch.zeros(1)
def my_attention(query, key, value, mask=None): return value.as_subclass(Same), value""",
    "cambia lo que recibe": """
def my_attention(query, key, value, mask=None):
    query.zero_(), key.zero_(), value.zero_()
    return torch.zeros(*query.shape[:-1], value.shape[-1]), torch.zeros(*query.shape[:-1], key.shape[-2])
import sys
sys.modules["__main__"].frozen = lambda value: 0""",
    "se hace pasar por quien contesta": """
import gc, sys, types
for frame in sys._current_frames().values():
    while frame:
        if "frozen" in frame.f_globals:
            frame.f_globals["told"] = lambda error: {"ok": True, "callable": False}
            frame.f_globals["packed"] = lambda *a, **k: b""
        frame = frame.f_back""",
    "escribe en la conversación": """
import json, os, struct, threading
text = json.dumps({"callable": True, "ok": True, "unsolved": False, "findings": [], "buffers": []}).encode()
def shout():
    for _ in range(50):
        for number in range(3, 20):
            try: os.write(number, struct.pack("<II", len(text), 0) + text)
            except OSError: pass
shout()
threading.Thread(target=shout, daemon=True).start()""",
    "manda algo que se ejecuta al leerlo": """
import os, pickle, struct
class Bomb:
    def __reduce__(self): return exec, ("open('/tmp/bomba', 'w')",)
data = pickle.dumps(Bomb())
for number in range(3, 20):
    try: os.write(number, struct.pack("<II", len(data), 0) + data)
    except OSError: pass""",
    "manda mucho": """
import os, struct
for number in range(3, 20):
    try: os.write(number, struct.pack("<II", 2**31, 2**31))
    except OSError: pass""",
    "cierra Python": "import os; os._exit(0)",
    "se va con atexit": "import atexit, os; atexit.register(os._exit, 0); raise SystemExit(0)",
    "da vueltas": "\nresult = []\nresult.append(result)\ndef my_attention(*a, **k): return result",
    "se llama a sí misma": "\ndef my_attention(query, key, value, mask=None): return my_attention(query, key, value)",
    "enorme": "\ndef my_attention(query, key, value, mask=None): return torch.zeros(1).expand(10**10), value",
}


@pytest.fixture(scope="module")
def next_one():
    """Las trampas no estropean la respuesta de quien va después, que empieza en una jaula nueva."""
    yield
    assert grade(GOOD)[0].ok


@pytest.mark.lenta
@caged
@pytest.mark.usefixtures("next_one")
@pytest.mark.parametrize("trick", CHEATS)
def test_no_trick_raises_a_mark(trick):
    report, _ = grade(f"{WRONG}\n{CHEATS[trick]}")
    assert not report.ok


# Quien busca la respuesta buena donde está: cada una deja en «found» el ejercicio del curso.
LESSON, FILE = "l05_1_scaled_dot_product_attention", ROOT / "course_checkers/lessons/l05_1_scaled_dot_product_attention.py"
SOLVED = ROOT / "notebooks/soluciones/05_atencion.ipynb"
IMPORTS = {
    "importa la lección": f"from course_checkers.lessons.{LESSON} import Attention\nfound = Attention()",
    "importa el motor": """from course_checkers.engine.catalog import exercises, modules
found = next(e for m in modules("05") for e in exercises(m))""",
    "lo saca de la comprobación": """import course_checkers
found = course_checkers.check_scaled_dot_product_attention""",
}
READS = {
    "ejecuta el archivo": f"""found = {{"__name__": "course_checkers.lessons.{LESSON}", "__file__": {str(FILE)!r}}}
exec(open({str(FILE)!r}).read(), found)
found = found["Attention"]()""",
    "lo carga por su ruta": f"""import importlib.util, sys
sys.path.insert(0, {str(ROOT)!r})
found = importlib.util.spec_from_file_location("lesson", {str(FILE)!r})
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
found = module.Attention()""",
    "ejecuta lo traducido": f"""import glob, marshal
(path,) = glob.glob({str(FILE.parent)!r} + "/__pycache__/{LESSON}.cpython-*[0-9].pyc")
found = {{"__name__": "course_checkers.lessons.{LESSON}", "__file__": {str(FILE)!r}}}
exec(marshal.loads(open(path, "rb").read()[16:]), found)
found = found["Attention"]()""",
}
USES = """
def answer(query, key, value, mask=None):
    from course_checkers.engine.case import Case
    traced = found.trace({}, Case("", (query, key, value, mask)))
    return traced["output"], traced["weights"]"""
FOUND = {
    **{name: ("5.1", code + USES) for name, code in (IMPORTS | READS).items()},
    "copia la solución": ("5.1", f"""import json, math
cells = ["".join(cell["source"]) for cell in json.load(open({str(SOLVED)!r}))["cells"]]
exec(next(source for source in cells if source.startswith("def my_attention")))
answer = my_attention"""),
    "importa la letra": ("5.3", """from course_checkers.lessons.l05_questions import QUESTIONS
answer = next(question.right for question in QUESTIONS if question.number == "5.3")"""),
    "pide la letra al motor": ("5.3", """from course_checkers.engine.questions import questions
answer = questions("05")["5.3"].right"""),
    "mira lo que el modelo de mentira ya ha puntuado": ("10.2", """
def answer(next_scores, bos, eos, longest):
    path = list(max(next_scores.known, key=len))
    return [*path[1:], int(next_scores(path).argmax())]"""),
    # La última: después no queda nada que importar.
    "quita lo que hay en sys.modules": ("5.1", f"""import importlib, sys
sys.path.insert(0, {str(ROOT)!r})
for name in [name for name in sys.modules if name.startswith("course_checkers")]:
    del sys.modules[name]
found = importlib.import_module("course_checkers.lessons.{LESSON}").Attention()""" + USES),
}  # fmt: skip
HONEST = f"""from course_checkers import check_scaled_dot_product_attention, show_progress
from course_checkers import *
{GOOD}
assert check_scaled_dot_product_attention(my_attention).ok
print(show_progress(5))
answer = my_attention"""


def marks(asked, aside):
    """De quien entrega todo esto en un cuaderno, qué está bien. Lo honrado va delante y casi al final."""
    honest, asked = ("honrado", ("5.1", HONEST)), list(asked.items())
    asked = [honest, *asked[:-1], honest, asked[-1]]
    codes = [code.replace("answer", f"answer_{k}") for k, (_, (_, code)) in enumerate(asked)]
    place = check.Cage([(0, "import torch"), *enumerate(codes, 1)], aside)
    try:
        return [
            name
            for k, (name, (number, _)) in enumerate(asked)
            if check.check(place, check.exercises()[number], f"answer_{k}").ok
        ]
    finally:
        place.kill()


@caged
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.lenta)])
def test_no_right_answer_is_found_inside_the_cage(step):
    py_compile.compile(str(FILE))  # también traducida, como la deja quien la haya usado
    *some, last = FOUND.items()
    assert marks(dict([*some[::step], last]), CAGED) == ["honrado", "honrado"]


@pytest.mark.lenta
def test_without_a_cage_the_checkers_are_not_imported_either():
    imports = {name: FOUND[name] for name in (*IMPORTS, "importa la letra", "pide la letra al motor")}
    assert marks(imports, aside=False) == ["honrado", "honrado"]


def test_what_is_seen_inside_knows_no_answer():
    """Lo del curso que se ve: la biblioteca y lo que acompaña a la respuesta, que no importa nada más."""
    inside = ROOT / "course_checkers/inside"
    ours = [path for path in cage.seen()[1] if path != Path(sys.prefix)]
    tools = [ROOT / "course_tools" / name for name in ("__init__.py", "code.py")]
    assert ours == [ROOT / "course_lib", inside, ROOT / "aula/calificar/student.py", *tools]
    text = "\n".join(path.read_text(encoding="utf-8") for path in inside.glob("*.py"))
    named = re.findall(r"^ *(?:from|import) (course_\w+[\w.]*|aula[\w.]*)", text, re.MULTILINE)
    assert set(named) == {name for name in named if name.startswith(("course_checkers.inside", "course_lib"))}
    assert named


def test_the_course_is_covered_even_inside_a_folder_that_is_seen(monkeypatch):
    """Con el curso en una carpeta que se ve entera, se tapa antes de poner encima lo suyo."""
    monkeypatch.setattr(sys, "base_prefix", str(ROOT.parent))
    order = cage.command(caged=True)[0]
    places = [order.index(str(path)) for path in (ROOT.parent, ROOT, ROOT / "course_lib")]
    assert places == sorted(places)
    assert order[places[1] - 1] == "--tmpfs"


# --- La clase de la 6.2, que se mira allí donde está ------------------------------------------------

QUERY_BACK = """from torch import nn
class MyMultiHeadAttention(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
    def forward(self, query, key, value, mask=None): return query
"""
LIES = {
    "lo que se ve": "look = lambda self: {'lacks': '', 'parameters': ['heads'], 'name': '', 'kind': ''}",
    "lo que sale": "run = lambda self, plan, flipped, q, k, v, mask, weights: q",
    "algo que no se entiende": "look = lambda self: 3",
    "muchas capas": "create = lambda self, _=False: "
    "{'module': True, 'binds': True, 'layers': [('.q' * 99, (12, 12), True, True, '')] * 5000}",
}


@pytest.mark.lenta
@caged
@pytest.mark.parametrize("lie", LIES)
def test_a_class_that_patches_who_looks_at_it_is_not_believed(lie):
    code = f"{QUERY_BACK}from course_checkers.inside.classes import WrittenClass\nWrittenClass.{LIES[lie]}"
    report, _ = grade(code, answers={"6.2": "MyMultiHeadAttention"})
    assert report.findings
    assert max(len(finding.text) for finding in report.findings) <= check.LONGEST


@pytest.mark.lenta
@caged
def test_a_class_gets_the_same_report_inside_and_outside():
    """De las clases del corpus, unas cuantas de cada: hechas, mal hechas y raras."""
    every = [one for one in pretend.helpers_answers.ALL if one.exercise == "6.2"]
    for answer in every[:: len(every) // 12]:
        given = pretend.from_corpus(answer, "MyMultiHeadAttention")
        inside, _ = grade(given.code, answers={"6.2": "MyMultiHeadAttention"})
        outside = pretend.helpers_answers.EXERCISES["6.2"].check(answer.code)
        assert inside.findings == outside.findings, answer.name
        assert inside.notes == outside.notes, answer.name


def test_what_the_library_does_for_you_has_its_note():
    report, _ = grade("from course_lib import scaled_dot_product_attention as my_attention")
    assert report.ok
    assert ["course_lib.scaled_dot_product_attention" in note for note in report.notes] == [True]


LOOKS = """
import glob, os, socket
seen = []
for path in {paths!r}:
    seen += [one for one in glob.glob(path) + glob.glob(path + "/*") if os.path.exists(one)][:3]
for path in ("/tmp/fuera", "{root}/course_lib/fuera", "/fuera", os.path.expanduser("~/fuera")):
    try: open(path, "w").write("x" * 10**8); seen.append(path)
    except OSError: pass
try: socket.create_connection(("127.0.0.1", {port}), 2); seen.append("red")
except OSError: pass
try: os.fork(); seen.append("fork")
except OSError: pass
try: os.execv("/bin/sh", ["sh"]); seen.append("exec")
except OSError: pass
def my_attention(query, key, value, mask=None):
    raise ValueError(" ".join(seen) or "nada")"""


@pytest.mark.lenta
@caged
def test_nothing_of_the_teacher_is_seen_and_nothing_is_written(tmp_path):
    import socket

    (tmp_path / "notas.csv").write_text("secreto")
    paths = [
        str(tmp_path),
        *(str(ROOT / name) for name in ("notebooks", "tests", "sitio", "course_tools/opening", "aula/hub")),
        *(str(ROOT / "course_checkers" / name) for name in ("lessons", "steps", "engine", "*.py")),
        "/home",
        "/root/.ssh",
        "/etc/pass*",
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        report, noticed = grade(LOOKS.format(paths=paths, root=ROOT, port=port), seconds=60)
    assert "ValueError" in report.findings[0].text
    assert ": nada." in report.findings[0].text, report
    assert "fuera)" in " ".join(noticed)
    assert not (ROOT / "course_lib/fuera").exists()


@pytest.mark.lenta
@caged
@pytest.mark.parametrize(("code", "finding"), [
    ("\n    while True: pass", "no-acaba"),
    ("\n    x = []\n    while True: x.append(bytearray(2**28))", "memoria"),
    ("\n    return torch.zeros(10**11)", "memoria"),
    ("\n    import threading\n    while True: threading.Thread(target=threading.Event().wait).start()", "error"),
    ("\n    open('/tmp/a', 'wb').write(bytes(10**9))", "error"),
    ("\n    exit()", "error"),
])  # fmt: skip
def test_limits(code, finding):
    report, _ = grade(f"def my_attention(query, key, value, mask=None):{code}")
    assert [one.id for one in report.findings] == [finding], report
    left = subprocess.run(["pgrep", "-f", str(cage.STUDENT)], capture_output=True, text=True)
    assert not set(left.stdout.split()) & {str(one.pid) for one in Process().children(True)}


@caged
def test_a_call_that_does_not_end_leaves_the_next_ones_as_they_were():
    """Se abre otra jaula: lo que tarda no es de nadie, y dura más que el hilo que la ha pedido."""
    place = check.Cage([(1, "def answer(x):\n    while x == 0: pass\n    return x")], CAGED)
    try:
        start = time.monotonic()
        assert place.get("answer")[0]["callable"]
        opening = time.monotonic() - start
        with mock.patch.object(running, "times", place.times):
            start, mine, began = time.monotonic(), time.process_time(), place.times()
            told = [running.call(place.call, x, seconds=0.4) for x in (1, 0, 2, 3)]
            clock, used = (now - then for now, then in zip(place.times(), began))
        assert [one.value for one in told] == [1, None, 2, 3]
        assert "tarda más de" in told[1].problem.text
        assert used > time.process_time() - mine + 0.05  # se ve lo que gasta allí
        assert time.monotonic() - start - clock > opening / 4  # y no lo que tarda en abrirse
    finally:
        place.kill()


MANY = """import sys
frame = sys._getframe()
while "known" not in frame.f_locals: frame = frame.f_back
frame.f_locals["known"].extend(frame.f_locals["known"] * 5000)
my_attention = print"""


@caged
@pytest.mark.lenta
def test_who_asks_for_many_cages_spends_his_own_time(monkeypatch):
    monkeypatch.setattr(check, "OPENED", 1)
    start, limit = time.monotonic(), {"5.1": "my_attention"}
    check.grade([(1, MANY)], limit, CAGED, 5, most=5)
    assert time.monotonic() - start < 90


def test_who_does_not_read_is_not_waited_for():
    place = check.Cage([], CAGED)
    place.process = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    place.keeper = ThreadPoolExecutor(1)
    with pytest.raises(TimeoutError):
        place.send(bytes(10**6), seconds=0.2)
    place.kill()


@pytest.mark.lenta
@pytest.mark.turnos
@caged
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("number", in_loops.NAMES)
def test_a_slow_answer_is_right_here_too(number, waits):
    """Con bucles; o la primera buena del corpus, que espera en cada llamada."""
    code, name = Path(in_loops.__file__).read_text(encoding="utf-8"), in_loops.NAMES[number]
    if waits:
        every = pretend.helpers_answers.ALL
        answer = next(one for one in every if (one.exercise, one.kind) == (number, "buena"))
        code += f"\n{pretend.from_corpus(answer, name).code}\n{name} = slowly({name})"
    report, _ = grade(code, {number: name}, seconds=60)
    assert report.ok, str(report)


# --- Lo demás -------------------------------------------------------------------------------------


def test_without_a_cage_it_does_not_start_unless_asked(tmp_path, monkeypatch, capsys):
    (tmp_path / "e/ana").mkdir(parents=True)
    (tmp_path / "e/ana/05_atencion.ipynb").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cage, "works", lambda: False)
    monkeypatch.setattr(cage, "is_root", lambda: True)
    assert grading.main(["e", "--sin-aislar"]) == 1
    assert "no se califica así siendo administrador" in capsys.readouterr().out
    monkeypatch.setattr(cage, "is_root", lambda: False)
    assert grading.main(["e"]) == 1
    assert "puede leer tus archivos" in (told := capsys.readouterr().out)
    assert "--sin-aislar" in told
    assert grading.main(["e", "--sin-aislar"]) == 0
    told = capsys.readouterr().out
    assert told.index("Este sistema no aísla") < told.index("está vacío")


@pytest.mark.parametrize(("arguments", "reason"), [
    (["nada"], "No existe"),
    (["a.txt"], "no es una carpeta ni un zip"),
    (["mal.zip"], "No se puede abrir"),
    (["vacía"], "no hay entregas"),
    (["e", "--salida", "e/dentro"], "no pueden ir dentro de las entregas"),
    (["e", "--salida", "llena"], "tiene otras cosas dentro"),
    (["e", "--que"], "No entiendo la orden"),
])  # fmt: skip
def test_every_refusal_says_what_to_do(arguments, reason, tmp_path, monkeypatch, capsys):
    (tmp_path / "vacía").mkdir()
    (tmp_path / "e/ana").mkdir(parents=True)
    (tmp_path / "llena").mkdir()
    (tmp_path / "llena/algo").write_text("mío")
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "mal.zip").write_text("x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cage, "works", lambda: True)
    assert grading.main(arguments) == 1
    assert reason in capsys.readouterr().out
    assert (tmp_path / "llena/algo").read_text() == "mío"


def test_pages_have_different_and_safe_names_and_the_old_ones_go(tmp_path):
    names = ["Ana", "ana", "ÁNA", "../../x", "con", "你好", "", "a" * 300]
    people = [{"name": name, "told": [], "lessons": {}, "marks": {}} for name in names]
    pages.write_feedback([*people, people[0]], tmp_path / "d")
    pages.write_feedback(people, tmp_path / "d")
    made = [path.stem for path in tmp_path.rglob("*.html")]
    assert len(made) == len(names)
    assert {path.name for path in tmp_path.iterdir()} == {"d"}
    for part in made:
        assert part.isascii()
        assert "." not in part
        assert len(part) < 70
        assert part != "con"


@pytest.mark.parametrize(
    "value",
    [{"tensor": "__class__"}, {"ndarray": "1"}, {"tuple": 3}, {"dict": 3}, {"dict": [[{"list": []}, 1]]},
     {}, {"int": 1, "str": 2}, {"other": "\0"}, {"ndarray": "0"}],
)  # fmt: skip
def test_what_comes_from_the_cage_is_only_data(value):
    numbers = save({"0": torch.zeros(1, dtype=torch.bfloat16)})
    for values, blob in (({"value": value}, numbers), ([value], numbers), ({}, numbers[:-1])):
        text = json.dumps({"values": values}).encode()
        sent = struct.pack("<II", len(text), len(blob)) + text + blob
        with pytest.raises(check.Gone):
            check.receive(io.BytesIO(sent))
    thing = type(check.decode({"other": "Thing"}, {}))
    assert (thing.__name__, thing.__mro__[1:]) == ("Thing", (object,))


def test_a_huge_value_is_not_read_and_a_long_sentence_is_cut(monkeypatch):
    for value in (torch.zeros(2**18), torch.zeros(2**40, 0)):  # la otra, que no ocupa, es una lista de 2**40
        with pytest.raises(check.Gone):
            check.receive(io.BytesIO(student.packed({}, {"value": value})))
    long = check.Finding("x", "a" * 10**5, "b" * 10**5)
    monkeypatch.setattr(check, "judge", lambda cage, one, *_: check.reported(one, long))
    asked = argparse.Namespace(get=lambda _: ({}, {}), closed=None, times=time.monotonic, late=int)
    (finding,) = check.once(asked, check.exercises()["5.1"], "x").findings
    assert len(finding.text) == len(finding.consequence) == check.LONGEST


class Named(dict):
    """Un diccionario que no es de los de siempre."""


@pytest.mark.parametrize(
    "value",
    [None, True, ..., "ñ", 10**30, -0.0, float("inf"), [1, (2.5, [])], {"a": [1], (1, 2): None},
     torch.arange(6).reshape(2, 3).mT, torch.zeros(0, 3), torch.tensor(2.5), torch.eye(2).to_sparse(),
     torch.tensor([True]), torch.ones(2, dtype=torch.bfloat16), torch.ones(1, dtype=torch.complex64).conj(),
     np.float64(0.1), np.arange(3), np.array([[True]])],
    ids=str,
)  # fmt: skip
def test_a_value_arrives_from_the_cage_as_it_was(value):
    sent = student.packed({}, {"value": value})
    got = check.receive(io.BytesIO(sent))[1]["value"]
    assert type(got) is type(value)
    if isinstance(value, torch.Tensor):
        assert torch.equal(got, value.to_dense() if value.is_sparse else value.resolve_conj())
        assert got.dtype == value.dtype
    else:
        assert (np.array_equal(got, value) if isinstance(value, np.ndarray) else repr(got) == repr(value))


def test_looking_for_where_to_write_is_not_writing():
    """Python prueba, la primera vez, en qué carpeta puede escribir: no es cosa de la entrega."""
    code = "from aula.calificar import student; noticed = {}; student.watch(noticed); "
    code += "import tempfile; tempfile.gettempdir(); print(noticed)"
    environment = os.environ | {"HOME": "/ninguna"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "{}", done.stderr


def test_what_is_not_data_arrives_as_a_name():
    for value in (print, 1j, Named(), np.array([print]), torch.zeros(1).expand(10**12)):
        assert student.encode(value, {}) == {"other": type(value).__name__}


@pytest.mark.lenta
@pytest.mark.turnos
@caged
@pytest.mark.parametrize("number", sorted(submissions.lessons()))
def test_the_solutions_of_a_lesson_get_every_point(number):
    book = pretend.solved(number)
    cells = [(k, cell["source"]) for k, cell in enumerate(book["cells"], 1)]
    reports, noticed, _ = check.grade(cells, submissions.lessons()[number].answers, CAGED)
    assert [str(report) for report in reports if not report.ok] == []
    assert noticed == []


@pytest.mark.lenta
@caged
def test_a_class_drawn_from_the_corpus_gets_its_marks_and_its_counts(tmp_path):
    people = pretend.draw(5, ["03", "05", "06"], seed=7)
    pretend.write_class(tmp_path / "e", people)
    results, _, _ = class_of_40.grade(tmp_path / "e")
    bad, wanted, got = class_of_40.compare(people, results)
    assert bad == []
    assert class_of_40.differences(wanted, got) == {}


@pytest.mark.lenta
@caged
def test_an_interrupted_grading_goes_on_where_it_was(tmp_path):
    for k in range(4):
        place = tmp_path / f"e/p{k}"
        place.mkdir(parents=True)
        (place / "05_atencion.ipynb").write_text(tiny(GOOD + f"\n# {k}"))
    order = [sys.executable, "-m", "aula.calificar.grade", str(tmp_path / "e"), "--procesos", "1"]
    kept = tmp_path / "e-calificadas" / grading.DONE
    process = subprocess.Popen(order, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while not list(kept.glob("*.json")):
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=180)[0]
    done = {path: path.read_bytes() for path in kept.glob("*.json")}
    assert process.returncode == 130
    assert f"Interrumpido: {len(done)} de 4" in told
    assert not (tmp_path / "e-calificadas/notas.csv").exists()
    told = subprocess.run(order, capture_output=True, text=True).stdout
    assert f"Ya estaban calificados {len(done)} de 4" in told
    assert {row["Total 05"] for row in rows(tmp_path / "e-calificadas").values()} == {"4"}
    assert all(path.read_bytes() == data for path, data in done.items())
