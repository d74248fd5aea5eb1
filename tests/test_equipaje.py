"""Lo tuyo va de la página a tu ordenador y vuelve: ``mi_progreso.json``, de un lado."""

import json

import pytest

from course_tools.opening import copies, library, luggage, progress

LESSON = "03_softmax_y_escalado"
ANSWER = "# Ejercicio 3.1\ndef my_softmax(scores):\n    return scores.softmax(-1)\n"
LINE = "@your_line\ndef share(numbers):\n    return numbers / numbers.sum(-1, keepdim=True)"
PIECE = ["3.1", "my_softmax", "# --- 3.1 · my_softmax · la softmax · 01/03/2026 · huella 0", "\n\n" + ANSWER]
BROUGHT = {
    "course": luggage.COURSE,
    "exercises": {"3.1": {"tries": 2, "date": "2026-03-01"}, "5.1": {"tries": 1, "date": None}},
    "predictions": {"03.1": {"said": "0.67", "right": True, "date": "2026-03-01"}},
    "lines": {"3.a": {"tries": 1, "date": "2026-03-01"}},
    "asked": {},
    "inventory": {},
    "read": {LESSON: ["la-temperatura"]},
    "written": {f"{LESSON}/3.1": ANSWER, f"{LESSON}/tuya-share": LINE},
    "library": [PIECE],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """``mis_cuadernos``, con la copia de una lección."""
    monkeypatch.setenv("CURSO_CUADERNOS", str(tmp_path))
    monkeypatch.delenv("CURSO_PROGRESO", raising=False)
    copies.update([copies.ROOT / f"notebooks/{LESSON}.ipynb"])
    return tmp_path / copies.FOLDER


def put(folder, found=BROUGHT, name=luggage.NAME):
    text = found if isinstance(found, str) else json.dumps(found)
    (folder / name).write_text(text, "utf-8", errors="surrogatepass")


def sources(folder):
    cells = json.loads((folder / f"{LESSON}.ipynb").read_text("utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


def test_what_is_brought_is_put_in_its_place(folder):
    put(folder)
    assert luggage.bring() == ["De «mi_progreso.json»: respuestas, 2; y lo que estaba apuntado."]
    assert sources(folder)["tuya-share"] == LINE and ANSWER in sources(folder).values()
    assert progress.solved() == {"3.1": "2026-03-01"}
    assert [(one.number, one.name, one.edited) for one in library.read()[1]] == [("3.1", "my_softmax", False)]
    given = json.loads((folder / luggage.NAME).read_text("utf-8"))
    assert given | {"library": []} == BROUGHT | {"library": []}, "y se devuelve todo"
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.ipynb")}
    assert luggage.bring() == [] and before == {path: path.stat().st_mtime_ns for path in before}


def test_what_is_erased_here_does_not_come_back(folder):
    """Ni al reponer una lección, ni al olvidar lo hecho; y si se trae otra vez, sí."""
    put(folder, name="mi_progreso (1).json")  # como lo llama un navegador
    luggage.bring()
    copies.restore("03")
    progress.forget()
    assert luggage.bring() == [] and ANSWER not in sources(folder).values() and not progress.solved()
    assert json.loads((folder / luggage.NAME).read_text("utf-8"))["read"] == BROUGHT["read"]
    put(folder)
    assert luggage.bring() and ANSWER in sources(folder).values()


def test_what_is_written_here_stays(folder):
    put(folder)
    luggage.bring()
    mine = BROUGHT | {"written": {f"{LESSON}/3.1": "# Ejercicio 3.1\n# otra"}, "exercises": {"3.1": {"tries": 9, "date": "2026-05-01"}}}
    put(folder, mine, "mi_progreso (1).json")
    (told,) = luggage.bring()
    assert told.startswith("En 3.1 ya habías escrito otra cosa, y se queda. Lo que traías está en «mi_progreso (1)-antes-")
    assert ANSWER in sources(folder).values()
    assert progress.load()["exercises"]["3.1"] == BROUGHT["exercises"]["3.1"]
    assert [json.loads(path.read_text("utf-8")) for path in folder.glob("*-antes-*")] == [mine]
    assert luggage.bring() == [] and [*folder.glob("*-antes-*")], "lo apartado no se pierde, ni se lee otra vez"


@pytest.mark.parametrize(
    "found",
    [
        "", "[", "[1]", "null", "{}", "[" * 100_000, json.dumps({"course": "otro"}), '{"course": 3}', "\ud800",
        json.dumps(BROUGHT).encode("utf-16").decode("latin-1"),
    ],
)  # fmt: skip
def test_a_file_of_other_things_changes_nothing(folder, found):
    before = sources(folder)
    put(folder, found)
    (told,) = luggage.bring()
    assert told.startswith("«mi_progreso.json» no se entiende, o no es un mi_progreso.json de este curso")
    assert sources(folder) == before and not progress.solved()


@pytest.mark.parametrize("strange", [None, 3, "x", [], [[]], {"3.1": 3, f"{LESSON}/3.1": 7, "../x": "y"}])
def test_a_strange_part_is_as_if_it_were_not_there(folder, strange):
    before = sources(folder)
    put(folder, {"course": luggage.COURSE, **dict.fromkeys(list(BROUGHT)[1:], strange)})
    assert luggage.bring() == []
    assert sources(folder) == before and not progress.solved() and library.read()[1] == []


def test_nothing_is_written_where_nothing_is_kept(folder, monkeypatch):
    assert luggage.bring() == [] and not (folder / luggage.NAME).exists()
    put(folder)
    monkeypatch.setenv("CURSO_PROGRESO", "no")
    assert luggage.bring() == [] and ANSWER not in sources(folder).values()
