"""Las tablas que van y vienen: en LibreOffice, y en las listas y hojas de Moodle, Canvas, Classroom y Teams."""

import csv
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Tree
from datetime import datetime

import pytest
from test_nbgrader import library  # noqa: F401
from test_notas import EVERYTHING, FOREIGN, exercise, person

from aula.calificar import marks, moodle
from course_tools.foreign import Unreadable, lms, tables
from course_tools.foreign.names import line, words

EVIL = ["Pérez,=1+2,Ana", 'a";=1+2;"b', "=1+2", "x\t=1+2\ty", "uno\n=1+2", "-1+1", "@SUM(1)", "'=1+2", "",
        '=HYPERLINK("http://x";"y")', "＝1+2", "x;+1", "a|=1", "José 中文 العربية Жук", "Paz, Luis"]  # fmt: skip
ROWS = [["Nombre", "Nota", "De", "Qué mirar"], *([one, 4.5, 10, one] for one in EVIL)]
TABLE, OFFICE = (f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("table", "office"))
OPTIONS = "--infilter=Text - txt - csv (StarCalc):44/59/9,34,76,1,,{},false,{},,,,,,,true"  # y que calcule


def opened(path, *how):
    """Lo que ve LibreOffice, con sus separadores de siempre: de cada casilla, su clase, lo que dice y su fórmula."""
    if not (office := shutil.which("soffice")):
        pytest.skip("falta LibreOffice («apt install libreoffice-calc-nogui»)")
    order = [office, f"-env:UserInstallation={path.parent.as_uri()}/perfil", "--headless", *how, "--convert-to", "fods"]
    subprocess.run([*order, "--outdir", path.parent, path], check=True, capture_output=True, timeout=300)
    for row in list(Tree.parse(path.with_suffix(".fods")).iter(f"{TABLE}table-row"))[: len(ROWS)]:
        texts = [(c, "".join(c.itertext()).strip()) for c in row.findall(f"{TABLE}table-cell")[:4]]
        yield [(c.get(f"{OFFICE}value-type"), c.get(f"{OFFICE}value", t), c.get(f"{TABLE}formula")) for c, t in texts]


@pytest.mark.lenta
@pytest.mark.parametrize(("form", "how", "mark"), [
    (tables.table, [OPTIONS.format(3082, "true")], ("float", "4.5", None)),  # en español
    (tables.table, [OPTIONS.format(1033, "false")], ("string", "4,5", None)),  # en inglés: nunca 45, ni una fecha
    (tables.workbook, [], ("float", "4.5", None)),
])  # fmt: skip
def test_libreoffice_computes_nothing(form, how, mark, library, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sys, "path", [*sys.path, str(library)])
    path = tmp_path / ("notas.csv" if how else "notas.xlsx")
    path.write_bytes(form(ROWS))
    for one, row in zip(EVIL, list(opened(path, *how))[1:], strict=True):
        said = tables.safe(one) if how else line(one)
        text = ("string" if said else None, said, None)
        assert row == [text, mark, ("float", "10", None), text]


def test_wherever_a_program_cuts_a_cell_no_piece_is_a_formula():
    """Excel en inglés corta por comas, y después de las primeras comillas ya no las mira."""
    pieces = re.split(r'[,;|\t"\r\n]+', tables.table(ROWS).decode("utf-8-sig"))
    assert [one for one in pieces if one.strip().startswith(tuple("=+-@＝"))] == []


@pytest.mark.parametrize("name", FOREIGN["hojas"])
def test_a_sheet_comes_back_with_the_grades_and_nothing_else_changed(name, tmp_path):
    known, path, made = FOREIGN["hojas"][name], tmp_path / "hoja.csv", tmp_path / "vuelve.csv"
    path.write_text(known["text"].replace("<p>", "<p>" * 50_000), encoding="utf-8-sig")  # una casilla larga
    sheet = lms.read_sheet(path, known.get("wanted", ""))
    people = [person(known.get("ana", "Ana Ñandú"), "101", _05=[exercise("5.1", ok=True), exercise("5.3", ok=True)])]
    people += [person("Luis Paz", _05=[exercise("5.1")]), person("Roto", "999"), person("Eva", "103", _05=[])]
    moodle.meet(sheet, people)
    assert [one["label"] for one in people] == known["labels"]
    assert words(people[0]["name"]) == "ana nandu"
    assert people[0].get("given") == (datetime(2026, 3, 3, 10) if "moodle" in name else None)
    absent = marks.call_roll(people, sheet.roll())
    assert [(words(one["name"]), one["id"]) for one in absent] == [("noa", "" if "@" in known["labels"][0] else "104")]
    moodle.fill(sheet, people + absent, ["05"], EVERYTHING, made)
    texts, column = (one.read_text(encoding="utf-8-sig").splitlines() for one in (path, made)), known["column"]
    before, after = ([*csv.reader(text, delimiter=sheet.mark)] for text in texts)
    assert [row[column] for row in after[1:]] == known["grades"]
    assert [row[:column] + row[column + 1 :] for row in after] == [row[:column] + row[column + 1 :] for row in before]
    assert made.read_bytes()[:3] == b"\xef\xbb\xbf"


def test_with_several_tasks_one_says_which_and_no_list_is_not_a_list(tmp_path):
    (tmp_path / "a.csv").write_text(FOREIGN["hojas"]["canvas"]["text"], encoding="utf-8")
    with pytest.raises(Unreadable, match="2 tareas.*--columna.*«Atención, 5 .52.»"):
        lms.read_sheet(tmp_path / "a.csv", "semana")
    (tmp_path / "b.csv").write_text("\n \n")
    with pytest.raises(Unreadable, match="no hay ningún nombre"):
        marks.read_list(tmp_path / "b.csv")
