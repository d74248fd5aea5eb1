"""Las copias de quien estudia: no llevan la respuesta, y ponerlas al día nunca pierde nada."""

import copy
import importlib.util
import json
import os
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tools import notebooks

from course_tools.opening import copies
from course_tools.renewed import MOVED, aged, renewed

LESSONS = [path for path in notebooks.course_notebooks() if notebooks.is_lesson(path)]

# --- Cuadernos de mentira -------------------------------------------------------------------------


def cell(name, text, kind="code"):
    extra = {"execution_count": 1, "outputs": [stream(f"sale {text}")]} if kind == "code" else {}
    exercise = text.startswith(("# Ejercicio", "# Comprobación"))
    metadata = {"nbgrader": {"grade_id": name}} if exercise else {}
    return {"id": name, "cell_type": kind, "metadata": metadata, "source": text, **extra}


def stream(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def lesson(*cells):
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def sources(nb):
    return ["".join(one["source"]) for one in nb["cells"]]


def marks(nb):
    """Lo que se apunta de lo entregado: la huella de cada celda."""
    return {one["id"]: copies.fingerprint(one) for one in nb["cells"]}


def joined(before, mine, after):
    """Lo que queda al pasar de la lección `before` a `after` con la copia `mine`."""
    delivered = copies.deliver(copy.deepcopy(before))
    return copies.merge(marks(delivered), mine, copies.deliver(copy.deepcopy(after)))


TEXT, STUB = "Un texto", "# Ejercicio 5.1\ndef f(x):\n    ..."
BASE = lesson(
    cell("a", TEXT, "markdown"),
    cell("b", "x = 1"),
    cell("c", "## Ejercicios", "markdown"),
    cell("d", STUB),
    cell("e", "# Comprobación 5.1\ncheck(f)"),
)


def edited(nb, **texts):
    """Una copia de `nb` con otro texto en algunas celdas; con None, sin ellas."""
    nb = copy.deepcopy(nb)
    for one in nb["cells"]:
        one["source"] = texts.get(one["id"], one["source"])
    nb["cells"] = [one for one in nb["cells"] if one["source"] is not None]
    return nb


# --- Un caso de cada --------------------------------------------------------------------------------


def test_an_untouched_copy_becomes_the_new_lesson():
    after = edited(BASE, a="Otro texto", b=None)
    result, touched = joined(BASE, copies.deliver(copy.deepcopy(BASE)), after)
    assert (result, touched) == (copies.deliver(copy.deepcopy(after)), False)


def test_running_a_lesson_is_not_touching_it():
    assert joined(BASE, BASE, BASE)[1] is False  # BASE lleva salidas y números de celda


def test_an_answer_stays_in_its_place_with_its_output():
    mine = edited(BASE, d="# Ejercicio 5.1\ndef f(x):\n    return x")
    result, touched = joined(BASE, mine, edited(BASE, c="## Ejercicios\n\nAhora, tú."))
    assert touched
    assert [one["id"] for one in result["cells"]] == list("abcde")
    assert result["cells"][3] == mine["cells"][3]
    assert sources(result)[2] == "## Ejercicios\n\nAhora, tú."


def test_a_new_stub_is_shown_and_never_run_over_the_answer():
    answer = "# Ejercicio 5.1\ndef f(x):\n    return x"
    stub = "# Ejercicio 5.1\ndef f(x, y):\n    ..."
    result, _ = joined(BASE, edited(BASE, d=answer), edited(BASE, d=stub))
    assert sources(result)[3] == answer
    told = result["cells"][4]
    assert told["cell_type"] == "markdown"
    assert stub in told["source"]
    assert sum(stub in one["source"] for one in result["cells"] if one["cell_type"] == "code") == 0


def test_an_own_cell_follows_the_one_it_followed():
    mine = copy.deepcopy(BASE)
    mine["cells"][2:2] = [cell("z1", "probando"), cell("z2", "nota", "markdown")]
    mine["cells"][0:0] = [cell("z0", "arriba", "markdown")]
    result, _ = joined(BASE, mine, edited(BASE, b="x = 2"))
    assert sources(result)[:6] == ["arriba", TEXT, "x = 2", "probando", "nota", "## Ejercicios"]


def test_both_change_a_cell_and_both_are_there():
    result, _ = joined(BASE, edited(BASE, b="x = 7"), edited(BASE, b="x = 2"))
    new, told, own = result["cells"][1:4]
    assert (new["source"], own["source"]) == ("x = 2", "x = 7")
    assert "Lo que tú tenías" in told["source"]


OLD = "from course_lib.checkers import check_f, show_progress"
NEW = "from course_checkers import check_f, show_progress"


def test_what_the_course_has_moved_is_renewed_in_your_cells_and_is_no_change_of_anyone():
    before, after = (lesson(cell("a", f"import torch\n\n{one}"), cell("d", STUB)) for one in (OLD, NEW))
    # Sin tocar, o ya puesta al día por ti: la del curso, y nada tuyo.
    for mine in (before, after):
        got = joined(before, copy.deepcopy(mine), after)
        assert got == (copies.deliver(copy.deepcopy(after)), False)
    # Con algo tuyo: se queda en su sitio, renovada, y no se dice que el curso la ha cambiado.
    mine = edited(before, a=f"import math\n{OLD}")
    mine["cells"].append(cell("yo", f"{OLD}\ncourse_lib.checkers.check_f(1)"))
    got, touched = joined(before, mine, after)
    assert touched
    assert sources(got) == [f"import math\n{NEW}", STUB, f"{NEW}\ncourse_checkers.check_f(1)"]
    # Y la vez siguiente no cambia nada más.
    again, _ = joined(after, got, lesson(*after["cells"], cell("z", "Nuevo", "markdown")))
    assert sources(again)[:1] == [f"import math\n{NEW}"]
    assert "Nuevo" in sources(again)
    # Si el curso la ha cambiado además en otra cosa, las dos, como siempre.
    other = lesson(cell("a", f"import torch\n\n{NEW}\nx = 1"), cell("d", STUB))
    assert sources(joined(before, mine, other)[0])[2] == f"import math\n{NEW}"


def test_only_whole_names_are_renewed():
    for text in ("course_lib.checkers_of_mine", "my.course_lib.checkers", "import course_lib", NEW):
        assert renewed(text) == text
    assert renewed("from course_lib.translator_model.training import PAD") == (
        "from course_lib.training import PAD"
    )
    assert aged(NEW) == OLD


def test_every_module_that_has_moved_is_where_it_says():
    for now in MOVED.values():
        assert importlib.util.find_spec(now), now


def test_a_pasted_picture_or_another_kind_of_cell_is_yours_too():
    mine = copy.deepcopy(BASE)
    mine["cells"][0]["attachments"] = {"foto.png": {"image/png": "AAAA"}}
    mine["cells"][1] = cell("b", "x = 1", "markdown")
    result, touched = joined(BASE, mine, edited(BASE, c="## Otro título"))
    assert touched
    assert result["cells"][:2] == mine["cells"][:2]


def test_what_has_no_place_goes_last_and_says_so():
    mine = edited(BASE, b="x = 7", d="# Ejercicio 5.1\nf = abs")
    result, _ = joined(BASE, mine, edited(BASE, b=None, d=None))
    assert sources(result)[3].startswith("## Tus celdas sin sitio")
    assert sources(result)[4:] == ["x = 7", "# Ejercicio 5.1\nf = abs"]


ANSWERED = "#@title Mi respuesta\n\n%%time\n#Ejercicio 5.1\nf = abs"  # como la deja otro programa


@pytest.mark.parametrize("lost", ["sin id", "otro id", "id repetido"])
def test_cells_that_lost_their_id_are_known_by_what_they_say(lost):
    """Otros programas quitan los id o los ponen nuevos."""
    mine = edited(BASE, d=ANSWERED)
    for number, one in enumerate(mine["cells"]):
        one["id"] = f"nuevo{number}" if lost == "otro id" else "d"
        if lost == "sin id":
            del one["id"]
    result, touched = joined(BASE, mine, edited(BASE, a="Otro texto"))
    assert touched
    if lost == "id repetido":  # ahí no se sabe cuál es cuál: no se pierde ninguna
        assert ANSWERED in sources(result)
    else:
        assert sources(result)[0] == "Otro texto"
        assert sources(result)[3] == ANSWERED
        assert len(result["cells"]) == 5


# --- Cualquier cosa -------------------------------------------------------------------------------

KINDS = ("edit", "insert", "delete", "move", "twin", "retype", "forget")
edits = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9)), max_size=6)
texts = st.lists(st.sampled_from(["texto", "código", "ejercicio"]), min_size=1, max_size=6)


def build(kinds):
    cells = []
    for number, kind in enumerate(kinds):
        text = f"# Ejercicio 1.{number}\n..." if kind == "ejercicio" else f"{kind} {number}"
        cells.append(cell(f"c{number}", text, "markdown" if kind == "texto" else "code"))
    return lesson(*cells)


def change(nb, operations, who):
    """Cambia `nb` al azar. Todo lo que escribe `who` es distinto de todo lo demás."""
    nb = copy.deepcopy(nb)
    cells = nb["cells"]
    for step, (kind, here, there) in enumerate(operations):
        text = f"{who} {step}"
        if kind == "insert" or not cells:
            cells.insert(here % (len(cells) + 1), cell(f"{who}{step}", text))
            continue
        one = cells[here % len(cells)]
        if kind == "edit":
            first = "".join(one["source"]).partition("\n")[0]
            one["source"] = [f"{first}\n", text]
        elif kind == "delete":
            cells.remove(one)
        elif kind == "move":
            cells.remove(one)
            cells.insert(there % (len(cells) + 1), one)
        elif kind == "twin" and who == "mío":  # copia y pega, con el mismo id
            cells.append({**copy.deepcopy(one), "source": f"copia {step}"})
        elif kind == "retype":
            one.update(cell(one.get("id", "x"), text, "markdown"))
        elif kind == "forget" and who == "mío":
            one.pop("id", None)
    return nb


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(texts, edits, edits, edits)
@example(["código"], [("edit", 0, 0)], [("delete", 0, 0)], [])
@example(["ejercicio", "texto"], [("twin", 0, 0), ("edit", 0, 0)], [("edit", 0, 0)], [("move", 0, 1)])
def test_nothing_is_ever_lost(kinds, mine, course, later):
    before = build(kinds)
    delivered = copies.deliver(copy.deepcopy(before))
    own = change(delivered, mine, "mío")
    after = change(before, course, "curso")
    for one in after["cells"]:
        one.setdefault("id", f"curso{len(one)}")
    result, touched = joined(before, own, after)

    names = [one["id"] for one in result["cells"]]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    given_texts, new_texts = Counter(sources(delivered)), Counter(sources(after))
    written = Counter(sources(own)) - given_texts - new_texts
    there = Counter(sources(result))
    assert not written - there, "falta una celda de quien estudia"
    assert touched or not written
    ids = {one["id"]: "".join(one["source"]) for one in result["cells"]}
    for one in after["cells"]:
        text = "".join(one["source"])
        stays = ids[one["id"]] in written or ids[one["id"]] not in {*given_texts, *new_texts}
        assert ids[one["id"]] == text or stays, "falta una celda del curso"
        if text not in given_texts:  # si el curso la ha cambiado, su texto se lee en algún sitio
            assert any(text in other for other in there)
    order = [one["id"] for one in result["cells"] if one["id"] in {c["id"] for c in after["cells"]}]
    assert order == [one["id"] for one in after["cells"]], "el curso, en otro orden"
    for one in own["cells"]:  # nada se mezcla: lo tuyo sigue igual, con lo que sacó
        if "".join(one["source"]) in written:
            same = [r for r in result["cells"] if r["source"] == "".join(one["source"])]
            assert one.get("outputs") in [r.get("outputs") for r in same]

    # Y otra vez, con otra versión, tampoco se pierde.
    twice, _ = joined(after, result, change(after, later, "después"))
    assert not written - Counter(sources(twice))


# --- Los archivos ---------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Un curso con una lección, en el que se puede escribir."""
    root = tmp_path / "curso de atención, año 1"
    (root / "notebooks" / "soluciones").mkdir(parents=True)
    (root / "notebooks" / "glosario.md").touch()
    (root / "notebooks" / "soluciones" / "05_prueba.ipynb").touch()
    monkeypatch.setattr(copies, "ROOT", root)
    monkeypatch.delenv(copies.PLACE, raising=False)
    publish(root, BASE)
    return root


def publish(root, nb, name="05_prueba.ipynb"):
    (root / "notebooks" / name).write_text(json.dumps(nb), encoding="utf-8")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


ANSWER = "# Ejercicio 5.1\nf = abs"


@pytest.fixture
def path(course):
    """La copia de la lección de ese curso, recién hecha."""
    copies.update()
    return course / "mis_cuadernos" / "05_prueba.ipynb"


def write(path, **texts):
    """Cambia el texto de unas celdas de la copia."""
    path.write_text(json.dumps(edited(read(path), **texts)), encoding="utf-8")


def old_ones(root):
    return sorted((root / "mis_cuadernos" / "anteriores").glob("*-antes-*.ipynb"))


def test_the_first_time_makes_the_copies_and_the_second_does_nothing(course):
    told, written = copies.update()
    path = course / "mis_cuadernos" / "05_prueba.ipynb"
    assert written == [path]
    assert "05" in told[0]
    assert copies.update() == ([], [])
    path.unlink()  # quien la borra, la quiere limpia
    assert copies.update()[1] == [path]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_an_update_keeps_the_answer_and_the_old_copy(course, path, encoding):
    write(path, d=ANSWER)
    path.write_text(path.read_text(encoding="utf-8"), encoding=encoding)
    before = path.read_bytes()
    publish(course, edited(BASE, a="Otro texto"))
    told, written = copies.update()
    assert "lo tuyo dentro: 05" in told[0]
    assert written == [path]
    assert sources(read(path))[0] == "Otro texto"
    assert sources(read(path))[3] == ANSWER
    assert [old.read_bytes() for old in old_ones(course)] == [before]
    assert copies.update() == ([], [])


def test_an_untouched_copy_leaves_nothing_beside(course):
    copies.update()
    publish(course, edited(BASE, a="Otro texto"))
    assert copies.update()[0] == ["Puestas al día: 05."]
    assert old_ones(course) == []


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": [1]}', '{"cells": [{"id": 3}]}'])
def test_a_broken_copy_is_kept_and_a_clean_one_comes(course, path, content):
    path.write_text(content, encoding="utf-8")
    publish(course, edited(BASE, a="Otro texto"))
    assert "No se podía leer" in copies.update()[0][0]
    assert sources(read(path))[0] == "Otro texto"
    assert old_ones(course)[0].read_text(encoding="utf-8") == content


def test_without_the_record_nothing_is_lost(course, path):
    write(path, d=ANSWER)
    (path.parent / copies.RECORD).unlink()
    publish(course, edited(BASE, a="Otro texto"))
    copies.update()
    there = Counter(sources(read(path)))
    assert {"Otro texto", TEXT, ANSWER} <= set(there)
    assert there["x = 1"] == 1  # lo que es igual en las dos está una vez


@pytest.mark.parametrize("touched", [True, False])
def test_a_lesson_that_leaves_the_course_takes_no_answer_with_it(course, path, touched):
    if touched:
        write(path, b="x = 7")
    (course / "notebooks" / "05_prueba.ipynb").rename(course / "notebooks" / "06_prueba.ipynb")
    copies.update()
    assert not path.exists()
    assert len(old_ones(course)) == touched
    assert (path.parent / "06_prueba.ipynb").exists()


@pytest.mark.parametrize("asked", ["05", "5", "05_prueba.ipynb", 5, "mis_cuadernos/05_prueba.ipynb"])
def test_a_clean_lesson_keeps_the_old_one_with_its_date(course, path, asked):
    path.write_text("mío", encoding="utf-8")
    told, written = copies.restore(asked)
    assert sources(read(path)) == sources(BASE)
    (old,) = old_ones(course)
    assert re.fullmatch(r"05_prueba-antes-\d{4}-\d\d-\d\d-\d{6}\.ipynb", old.name)
    assert old.read_text(encoding="utf-8") == "mío"
    assert old.name in told[0]
    copies.restore(asked)  # dos veces en el mismo segundo tampoco pisa nada
    assert len(old_ones(course)) == 2


@pytest.mark.parametrize("asked", ["77", "cinco", "", "5x"])
def test_an_unknown_lesson_is_named(course, asked):
    with pytest.raises(copies.CopiesError, match=f"«{asked}»"):
        copies.restore(asked)


def test_links_work_from_the_copy(course):
    text = "[g](glosario.md) [s](soluciones/05_prueba.ipynb#x) [l](05_prueba.ipynb) [w](https://a.es)"
    text += " ![f](../imagenes/f.svg) `d[k](x)` [m](#2.-Título)"
    publish(course, lesson(cell("a", text, "markdown")))
    copies.update()
    assert sources(read(course / "mis_cuadernos" / "05_prueba.ipynb")) == [
        "[g](../notebooks/glosario.md) [s](../notebooks/soluciones/05_prueba.ipynb#x) "
        "[l](05_prueba.ipynb) [w](https://a.es) ![f](../imagenes/f.svg) `d[k](x)` [m](#2.-Título)"
    ]
    copies.restore("05")  # la de antes está una carpeta más adentro
    (old,) = old_ones(course)
    assert sources(read(old)) == [
        "[g](../../notebooks/glosario.md) [s](../../notebooks/soluciones/05_prueba.ipynb#x) "
        "[l](../05_prueba.ipynb) [w](https://a.es) ![f](../../imagenes/f.svg) `d[k](x)` [m](#2.-Título)"
    ]
    assert not [p for p in (course / "mis_cuadernos").iterdir() if "antes-" in p.name]


def test_another_folder_has_what_the_lessons_need(course, tmp_path, monkeypatch):
    home = tmp_path / "lo mío"
    (course / "imagenes").mkdir()
    (course / "course_lib").mkdir()
    monkeypatch.setenv(copies.PLACE, str(home))
    copies.update()
    assert (home / "mis_cuadernos" / "05_prueba.ipynb").exists()
    for name in copies.LINKED:
        assert (home / name).samefile(course / name)
    moved = course.with_name("otro sitio")
    course.rename(moved)  # el curso cambia de sitio: los enlaces, también
    monkeypatch.setattr(copies, "ROOT", moved)
    copies.update()
    assert (home / "imagenes").samefile(moved / "imagenes")


def test_where_it_cannot_be_written_is_one_sentence(course, tmp_path, monkeypatch):
    (tmp_path / "archivo").touch()
    monkeypatch.setenv(copies.PLACE, str(tmp_path / "archivo" / "dentro"))
    with pytest.raises(copies.CopiesError, match=f"No se puede escribir en .*{copies.PLACE}"):
        copies.update()


# --- Las lecciones de verdad ----------------------------------------------------------------------


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_copy_shows_no_answer_and_keeps_its_explorers(path):
    nb = json.loads(path.read_text(encoding="utf-8"))
    drawn = sum(copies.WIDGET_VIEW in str(one.get("outputs")) for one in nb["cells"])
    result = copies.deliver(copy.deepcopy(nb))
    for one in result["cells"]:
        for output in one.get("outputs", ()):
            assert copies.WIDGET_VIEW in output["data"]
        assert one.get("execution_count") is None
    assert sum(bool(one.get("outputs")) for one in result["cells"]) == drawn
    assert result["metadata"] == nb["metadata"]
    nbformat.validate(nbformat.from_dict(result))
    for one in result["cells"]:
        if one["cell_type"] == "markdown":
            for target in re.findall(r"\]\(([^)#\s]+\.\w+)", one["source"]):
                if "://" not in target:
                    folder = path.parent if re.match(r"\d\d_", target) else path.parents[1] / "x"
                    assert (Path(os.path.normpath(folder / target))).exists(), target
