"""Tus líneas: cada una se juzga bien, dice su error por su nombre, y la lección sigue con la que toca."""

import inspect
import re

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from tools import notebooks, way
from traitlets.config import Config

from course_checkers import your_line
from course_checkers.engine import closing, lines, mine
from course_tools.opening import library, progress

LINES = lines.lines()
LESSONS = [*(f"{lesson:02}" for lesson in range(1, 8)), "16"]
each = pytest.mark.parametrize("one", LINES.values(), ids=lambda one: one.number)
each_lesson = pytest.mark.parametrize("lesson", LESSONS)
SETUP = "import math\nfrom course_checkers import your_line\nfrom course_checkers.lessons.l03_lines import scale"


@pytest.fixture
def kernel(kept, tmp_path, monkeypatch, capsys):
    """Ejecuta celdas en un cuaderno nuevo, con su progreso, y da lo que se lee."""
    monkeypatch.setenv("CURSO_CUADERNOS", str(tmp_path))
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    for module in (closing, lines):
        monkeypatch.setattr(module, "get_ipython", lambda: shell)
    shell.events.register("post_run_cell", lines.still_ours)
    monkeypatch.setattr("IPython.display.display", print)

    def run(*cells):
        for cell in cells:
            shell.run_cell(cell, store_history=True)
        return capsys.readouterr().out

    run.names = shell.user_ns
    run(SETUP)
    return run


def written(body, name="scale", given="scores, d_k"):
    return f"@your_line\ndef {name}({given}):\n    return {body}"


@each
def test_the_line_of_the_course_is_right_and_each_mistake_is_named(one):
    assert lines.check(one, one.right).ok
    assert len(one.wrong) >= 2
    for mistake, form in one.wrong:
        [found] = lines.check(one, form).findings
        assert found.id == mistake.id
        assert found.read.startswith(f"{int(one.number.split('.')[0]):02} §")


@each
def test_one_that_gives_anything_else_is_told_with_its_numbers(one):
    def other(*given):
        value = one.right(*given)
        return tuple(x * 3 for x in value) if isinstance(value, tuple) else ~value if value.dtype == torch.bool else value * 3 + 1

    other.__signature__ = inspect.signature(one.right)
    report = lines.check(one, other)
    assert not report.ok
    assert all(re.search(r"\d|True|False", str(found)) for found in report.findings)


PASSES_AND_BREAKS = {  # lo que da los números buenos y estropea lo que sigue: el nombre de la línea, lo escrito y qué se dice
    "cambia lo que recibe": ("unit", "def unit(v): v /= v.norm(dim=-1, keepdim=True); return v", "Tu código cambia lo que recibe: v."),
    "cambia las puntuaciones": ("hide", "def hide(scores, mask): return scores.masked_fill_(~mask, -torch.inf)", "cambia lo que recibe: scores."),
    "cambia el tipo": ("step_back", "def step_back(length): return torch.eye(length).double().roll(1, 0)", "y son torch.float64."),
    "baja a 32 bits": ("scale", "def scale(scores, d_k): return (scores / d_k**0.5).float()", "y son torch.float32."),
    "pierde el gradiente": ("match", "def match(Q, K): return torch.tensor((Q @ K.T).tolist(), dtype=Q.dtype)", "con ellos no se aprende."),
    "no son booleanos": ("past", "def past(length): return torch.ones(length, length).tril()", "tienen que ser booleanos"),
}  # fmt: skip


@pytest.mark.parametrize("how", PASSES_AND_BREAKS)
def test_one_that_would_break_what_follows_does_not_pass(how):
    name, code, said = PASSES_AND_BREAKS[how]
    space = {"torch": torch}
    exec(code, space)
    [found] = lines.check(LINES[name], space[name]).findings
    assert said in found.text


@each_lesson
def test_each_way_has_three_and_the_lesson_runs_on_them(lesson):
    nb = notebooks.lesson(lesson)
    codes = [cell.source for cell in way.code_cells(way.part(nb, way.WAY))]
    found = {re.search(r"def (\w+)", code)[1]: k for k, code in enumerate(codes) if way.YOURS.match(code)}
    mine = [one.name for one in LINES.values() if one.number.split(".")[0] == str(int(lesson))]
    assert {*found} == {*mine}
    assert len(mine) == 3
    for name, k in found.items():
        assert re.search(r"return \.\.\.", codes[k])
        assert len(codes[k].splitlines()) <= 4
        assert any(re.search(rf"(?<![\w.]){name}\b(?! =)", code) for code in codes[k + 1 :]), f"nadie usa {name}"
        assert re.search(rf"from course_checkers\.lessons\.l{lesson}_lines import .*\b{name}\b|(?s:l{lesson}_lines import \([^)]*\b{name}\b)", "\n".join(codes[: k]))


SAYS = {  # lo escrito, cómo empieza lo que se dice, y si sigue la suya
    "sin escribir": (written("..."), "○ Tu línea «scale»: sin escribir. Lo que sigue usa la del curso.", False),
    "a medias": (written("scores / ..."), "○ Tu línea «scale»: sin escribir.", False),
    "mal": (written("scores / d_k"), "✗ Tu línea «scale»: todavía no. Lo que sigue usa la del curso.\n  1. Divides por d_k, ", False),
    "se para": (written("scores / dk"), "✗ Tu línea «scale»: todavía no. Lo que sigue usa la del curso.\n  1. Tu código se para con NameError", False),
    "no da nada": (written("print()"), "✗ Tu línea «scale»: todavía no.", False),
    "una lista": (written("(scores / d_k ** 0.5).tolist()"), "✗ Tu línea «scale»: todavía no. Lo que sigue usa la del curso.\n  1. Tiene que dar un tensor", False),
    "de NumPy": (written("scores.numpy() / d_k ** 0.5"), "✗ Tu línea «scale»: todavía no. Lo que sigue usa la del curso.\n  1. Tiene que dar un tensor", False),
    "otros argumentos": (written("scores", given="scores"), "✗ Tu línea «scale»: todavía no.", False),
    "con otro nombre": (written("scores", "other"), "No hay ninguna línea «other»: deja el nombre que tenía.", False),
    "bien": (written("scores / math.sqrt(d_k)"), "✓ Tu línea «scale»: está bien. Lo que sigue usa la tuya.\n", True),
    "bien, de otra forma": (written("scores * d_k ** -.5"), "✓ Tu línea «scale»: está bien.", True),
}  # fmt: skip


@pytest.mark.parametrize("way_of", SAYS)
def test_what_is_said_and_with_which_the_lesson_goes_on(way_of, kernel):
    cell, said, own = SAYS[way_of]
    assert kernel(cell).startswith(said)
    used = kernel.names["scale"]
    assert (used.__module__ == "__main__") == own
    torch.testing.assert_close(used(torch.ones(2, 2), 4), torch.full((2, 2), 0.5))


def test_one_that_python_does_not_understand_leaves_the_one_before(kernel):
    said = kernel(written("(scores / d_k"))
    assert said.endswith(lines.BROKEN + "\n")
    assert kernel.names["scale"] is LINES["scale"].right


def test_a_right_one_is_kept_as_written_and_comes_back_in_another_lesson(kernel):
    kernel("half = lambda d: d ** 0.5", written("scores / half(d_k)  # la mía"))
    [piece] = library.read()[1]
    assert (piece.number, piece.name, piece.edited) == ("3.c", "scale", False)
    assert "your_line" not in piece.code
    assert piece.code.strip().endswith("def scale(scores, d_k):\n    return scores / half(d_k)  # la mía")
    assert progress.load()["lines"]["3.c"]["date"]
    pieces = mine.my_pieces("scale", "share")
    torch.testing.assert_close(pieces.scale(torch.ones(2), 4), torch.full((2,), 0.5))
    assert pieces.share is LINES["share"].right


def test_it_goes_before_the_exercises_of_its_lesson(kernel):
    library.keep("3.1", "la softmax", "my_softmax", "def my_softmax(scores):\n    return scores.softmax(-1)")
    library.keep("2.4", "otra", "my_projections", "my_projections = None")
    kernel(written("scores / math.sqrt(d_k)"))
    assert [piece.number for piece in library.read()[1]] == ["2.4", "3.c", "3.1"]


def test_a_wrong_try_does_not_take_the_right_one_away(kernel):
    kernel(written("scores / math.sqrt(d_k)"), written("scores"))
    assert progress.load()["lines"]["3.c"]["date"]
    assert len(library.read()[1]) == 1


def test_outside_a_notebook_it_is_printed(capsys):
    def scale(scores, d_k):
        return scores / d_k

    assert your_line(scale) is LINES["scale"].right
    assert capsys.readouterr().out.startswith("✗ Tu línea «scale»: todavía no.")
