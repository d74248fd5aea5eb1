"""El camino de una lección: cuánto se tarda y si se sostiene solo.

Lo que se pliega y lo que es cada celda lo mira la forma normal, en las lecciones de verdad.
"""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tools import way


def cell(text, position):
    """Una celda: de texto si empieza por un título o una lista; si no, de código."""
    prose = text.startswith(("# 0", "##", "*"))
    return (new_markdown_cell if prose else new_code_cell)(text, id=f"c{position}")


def lesson(*texts):
    return new_notebook(cells=[cell(text, i) for i, text in enumerate(texts)])


def test_what_only_prepares_is_folded_and_reads_as_one_line():
    nb = lesson("# 03 · Una", "import math\n\nimport torch", "x = 1\ny = 2")
    way.mark(nb, "03_una.ipynb")
    assert [c.metadata.get("jupyter") for c in nb.cells] == [None, {"source_hidden": True}, None]
    assert way.lines(nb) == 3
    nb.cells[1].source += "\nx = 1"
    way.mark(nb, "03_una.ipynb")
    assert not {"jupyter", "tags"} & set(nb.cells[1].metadata)


def test_what_only_looks_and_says_so_is_folded_and_is_not_read():
    checked = "# Se comprueba: suman 1\nassert x == 1\nprint(x)"
    nb = lesson("# 03 · Una", "x = 1\ny = 2\nprint(x)", checked, "Questions('03')", "a, b, c = 1, 2, 3", "\n".join("abcdefg"))
    way.mark(nb, "03_una.ipynb")
    assert [c.metadata.get("tags") for c in nb.cells[1:4]] == [None, ["mirar"], None]
    assert nb.cells[2].metadata["jupyter"] == {"source_hidden": True}
    assert way.lines(nb) == 3 + 1 + 1 + 7
    assert way.looking(nb) == pytest.approx(1 / 11)
    assert [one[0] for one in way.crowded(nb)] == ["a", "a"]


@pytest.mark.parametrize(("cells", "faulty"), [
    (["x = 1", "## Para profundizar", "y = x", "## 2. Fin", "x"], []),
    (["x = 1", "## Para profundizar", "y = x", "## 2. Fin", "y"], ["y"]),
    (["x = 1", "## Para profundizar", "x = 2", "## 2. Fin", "x"], ["x"]),
    (["x = 1", "## Para profundizar", "x = 2", "## 2. Fin", "x = 3\nx"], []),
    (["## Para profundizar", "import math", "## 2. Fin", "def f():\n    return math.pi"], ["math"]),
    (["## Para profundizar", "a = 1", "## 2. Fin", "def f(a):\n    return a"], []),
    (["## Para profundizar", "a = 1", "## 2. Fin", "[a for a in range(3)]"], []),
    (["## Para profundizar", "for a in (1,):\n    pass", "## 2. Fin", "print(a)"], ["a"]),
    (["## Para profundizar", "y = 1", "## Ejercicios", "y"], []),
])  # fmt: skip
def test_a_name_that_comes_from_beside_is_seen(cells, faulty):
    found = way.faults(lesson("# 03 · Una", *cells))
    assert len(found) == len(faulty)
    assert all(f"«{name}»" in fault for name, fault in zip(faulty, found))


def test_times():
    texts = ["* " + "una palabra " * 160, "x = 1\ny = 2", "## Para profundizar", "z = 3"]
    nb = lesson("# 03 · Una", *texts, "## Ejercicios", "# Ejercicio 3.1\ndef f():\n    ...")
    on_the_way, practised, whole = way.times(nb)
    assert on_the_way == pytest.approx(
        2 + 2 / 160 + 20 / 60 + way.SECONDS_TO_RUN["03"] / 60
    )  # el título tiene dos palabras
    assert practised == pytest.approx(on_the_way + 1 / 160 + 30 / 60 + way.MINUTES_AN_ANSWER[True])
    assert whole == pytest.approx(practised + 2 / 160 + 10 / 60)
