"""Por dónde va quien estudia: se guarda entero o nada, y se abre ahí."""

import asyncio
import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tornado.web import HTTPError

from course_tools.opening import copies, desk, progress, server
from course_tools.opening.contents import CourseContents

SPOT = {"cell": "abc-1", "section": "5.1", "seen": ["1", "5"]}
PLACE = {"last": "06_multicabeza.ipynb", "at": {"06_multicabeza.ipynb": SPOT}}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """La carpeta de quien estudia, con la 06."""
    monkeypatch.setenv(copies.PLACE, str(tmp_path))
    monkeypatch.delenv(progress.PLACE, raising=False)
    (tmp_path / copies.FOLDER).mkdir()
    (tmp_path / copies.FOLDER / PLACE["last"]).touch()
    return tmp_path


def test_the_course_opens_where_it_was_left_and_clean(home):
    first = "lab/tree/mis_cuadernos/00_empieza_aqui.ipynb?reset"
    assert server.lesson(copies.FOLDER, editing=False) == first
    desk.keep(json.dumps(PLACE))
    assert desk.place() == PLACE
    assert [path.name for path in home.iterdir() if path.is_file()] == [".sitio.json"]
    there = server.lesson(copies.FOLDER, editing=False)
    assert there == "lab/tree/mis_cuadernos/06_multicabeza.ipynb?reset"
    assert server.lesson("notebooks", editing=True) == "lab/tree/notebooks/00_empieza_aqui.ipynb"
    (home / copies.FOLDER / PLACE["last"]).unlink()  # una lección que ya no está
    assert server.lesson(copies.FOLDER, editing=False) == first


WRONG_SPOTS = {"cell": "<b>"}, {"cell": 3}, {"section": "a" * 81}, {"seen": [3]}, {"seen": None}
WRONG_SPOTS += ({"seen": ["1"] * 501},)
NO_PLACES = [PLACE | {"last": "../curso.py"}, {"last": "../a.ipynb", "at": {"../a.ipynb": SPOT}}]
NO_PLACES += [PLACE | {"at": {PLACE["last"]: SPOT | wrong}} for wrong in WRONG_SPOTS]
NO_TEXTS = ["", json.dumps(PLACE)[:30], "[]", "3", "{}", "[" * 100_000]


@pytest.mark.parametrize("text", [*NO_TEXTS, *map(json.dumps, NO_PLACES)])
def test_what_is_not_a_place_is_as_if_it_were_not(home, text):
    (home / ".sitio.json").write_text(text, encoding="utf-8")
    assert desk.place() is None
    assert desk.last() == desk.FIRST
    (home / ".sitio.json").unlink()
    with contextlib.suppress(ValueError, RecursionError):
        desk.keep(text)
    assert not (home / ".sitio.json").exists()


def test_what_two_tabs_have_seen_is_kept(home):
    desk.keep(json.dumps(PLACE))
    here = {"last": "01_a.ipynb", "at": {"01_a.ipynb": SPOT}}
    desk.keep(json.dumps(here | {"at": {"01_a.ipynb": SPOT | {"seen": ["2", "5"]}}}))
    desk.keep(json.dumps(here))
    assert desk.place()["last"] == "01_a.ipynb"
    seen = {name: set(spot["seen"]) for name, spot in desk.place()["at"].items()}
    assert seen == {"01_a.ipynb": {"1", "2", "5"}, PLACE["last"]: {"1", "5"}}


def test_a_page_that_started_from_something_else_does_not_overwrite(home, monkeypatch):
    """Dos páginas guardan a la vez: la segunda lo sabe. Y lo que contestan al cerrar no es un archivo."""
    monkeypatch.chdir(home)
    manager = CourseContents(root_dir=str(home))

    def run(waiting):
        with ThreadPoolExecutor(1) as aside:  # en este proceso puede haber un navegador, con su bucle
            return aside.submit(asyncio.run, waiting).result()

    def saved(path, content, **more):
        return run(manager.save({"type": "file", "format": "text", "content": content, **more}, path))

    saved("a.txt", "uno")
    base = run(manager.get("a.txt", content=False, require_hash=True))["hash"]
    saved("a.txt", "dos", hash=base)
    with pytest.raises(HTTPError, match=r"a\.txt ha cambiado en el disco"):
        saved("a.txt", "tres", hash=base)
    assert (home / "a.txt").read_text() == "dos"
    with pytest.raises(HTTPError, match="es del curso"):
        saved("notebooks/clases/05.ipynb", "tres")
    for who, names in [("x", ["05.ipynb"]), ("y", []), ("x", [])]:
        saved(desk.CLOSING, json.dumps({"who": who, "unsaved": names}))
        said = run(manager.get(desk.CLOSING, content=False))["unsaved"]
        assert said[who] == names
    assert said == {"x": [], "y": []}
    assert not (home / desk.CLOSING).exists()


def test_without_progress_nothing_is_kept(home, monkeypatch):
    monkeypatch.setenv(progress.PLACE, "no")
    desk.keep(json.dumps(PLACE))
    assert desk.place() is None
    assert not (home / ".sitio.json").exists()


def test_the_panel_knows_the_lessons_and_what_is_done(home):
    progress.tried("5.1", True)
    said = desk.desk()
    assert said["exercises"] == ["5.1"]
    assert [one["name"][:2] for one in said["lessons"]] == [
        path.name[:2] for path in sorted(copies.ROOT.glob("notebooks/[0-9][0-9]_*.ipynb"))
    ]
    (fifth,) = (one for one in said["lessons"] if one["name"].startswith("05"))
    assert fifth["title"].startswith("05 · ")
    assert fifth["exercises"] == ["5.1", "5.2", "5.3"]
    assert fifth["sections"] == ["1", "2", "3", "4", "5"]
