"""Las comprobaciones: cualquier cosa que se les dé se contesta en español, y nada más cambia."""

import json
import random
import re
import sys
import time
from types import SimpleNamespace
from typing import NamedTuple

import nbformat
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from torch import nn

import course_checkers
import course_lib
from course_checkers.engine import catalog, closing, places, progress, questions, running
from course_checkers.engine.case import Case, Look
from course_checkers.engine.comparing import contrast, difference, show
from course_checkers.engine.exercise import Exercise
from course_checkers.engine.mistakes import Mistake, Option
from course_checkers.engine.reading import Pair, Several
from course_checkers.engine.report import Finding, Report
from course_checkers.engine.search import Stage
from course_checkers.inside.code import is_stub
from course_tools import notebook
from course_tools.opening import progress as saved

MODULES = catalog.modules()
EXERCISES = [e for module in MODULES for e in catalog.exercises(module)]
QUESTIONS = [q for module in MODULES for q in getattr(module, "QUESTIONS", ())]

# Lo que se dice si se pide otra cosa que una función: una clase, o una ecuación.
NOT_A_FUNCTION = {"no-es-clase", "no-es-texto"}

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.number)
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.number)


# --- Lo que no es una respuesta -------------------------------------------------------------------


def loops(*arguments, **options):
    while True:
        pass


def loops_and_catches(*arguments, **options):
    """Atrapa también lo que lo para; por si acaso, en tres segundos acaba."""
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            while time.monotonic() < end:
                pass
        except BaseException:
            pass


def eats_memory(*arguments, **options):
    return torch.zeros(10**12)


def recurses(*arguments, **options):
    return recurses(*arguments)


def raises(*arguments, **options):
    return missing_name  # noqa: F821


def throws(error):
    def answer(*arguments, **options):
        raise error

    return answer


def spoils_everything(*arguments, **options):
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(1)
    torch.set_default_dtype(torch.float64)
    print("hola")
    print("adiós", file=sys.stderr)
    return torch.zeros(1)


class Awful(Exception):
    def __str__(self):
        raise ValueError


class Strange:
    """Un objeto con el que no se puede hacer casi nada."""

    def __eq__(self, other):
        raise RuntimeError("no me compares")

    __hash__ = None

    def __len__(self):
        raise RuntimeError("no me midas")


STRANGE = {
    "nada": None,
    "un número": 3,
    "un texto": "softmax",
    "un tensor": torch.zeros(2, 2),
    "una clase": Strange,
    "un objeto": Strange(),
    "un módulo de torch": nn.Linear,
    "sin argumentos": lambda: 1,
    "demasiados argumentos": lambda a, b, c, d, e, f, g, h: 1,
    "devuelve None": lambda *a, **k: None,
    "devuelve una lista": lambda *a, **k: [[1.0, 2.0], [3.0]],
    "devuelve un texto": lambda *a, **k: "hola",
    "devuelve un objeto": lambda *a, **k: Strange(),
    "devuelve una función": lambda *a, **k: print,
    "devuelve un diccionario": lambda *a, **k: {"output": torch.zeros(2)},
    "devuelve una tupla vacía": lambda *a, **k: (),
    "devuelve una tupla rara": lambda *a, **k: (Strange(), None, 3),
    "devuelve NumPy": lambda *a, **k: np.zeros((2, 3)),
    "devuelve complejos": lambda *a, **k: torch.zeros(2, dtype=torch.complex64),
    "devuelve enteros": lambda *a, **k: torch.zeros(2, 3, dtype=torch.long),
    "devuelve NaN": lambda *a, **k: torch.full((2, 3), torch.nan),
    "devuelve un tensor vacío": lambda *a, **k: torch.zeros(0),
    "devuelve un escalar": lambda *a, **k: torch.tensor(1.0),
    "devuelve muchos ejes": lambda *a, **k: torch.zeros(1, 1, 1, 1, 1, 1),
    "devuelve lo que recibe": lambda *a, **k: a[0] if a else None,
    "con gradiente": lambda *a, **k: torch.zeros(2, requires_grad=True),
    "al azar": lambda *a, **k: torch.rand(2, 3),
    "no existe un nombre": raises,
    "se va": throws(SystemExit(3)),
    "interrumpe": throws(KeyboardInterrupt),
    "un error que no se deja leer": throws(Awful),
    "se llama sin fin": recurses,
    "lo cambia todo": spoils_everything,
    "pide memoria": eats_memory,
    "pide memoria en Python": lambda *a, **k: [0] * 10**12,
}


def state():
    return torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()


def turn(i, j=0):
    """De las parejas, cada día unas pocas: alguna de todos los ejercicios y de todo lo raro."""
    return () if (i + 2 * j) % 17 == 0 else pytest.mark.lenta


@pytest.mark.parametrize(("name", "exercise"), [
    pytest.param(name, exercise, id=f"{name}-{exercise.number}", marks=turn(i, j))
    for i, name in enumerate(STRANGE)
    for j, exercise in enumerate(EXERCISES)
])  # fmt: skip
def test_anything_gets_an_answer_in_spanish_and_nothing_else_changes(exercise, name, capsys):
    before = state(), torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    report = exercise.check(STRANGE[name])
    after = state(), torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    assert before == after
    assert capsys.readouterr() == ("", "")
    assert isinstance(report, Report)
    assert not report.ok
    assert report.unsolved or all(finding.id and finding.text for finding in report.findings)
    assert not re.search("course_(lib|checkers|tools)/", str(report))
    assert "<script" not in report._repr_html_()


@pytest.mark.parametrize("exercise", [
    pytest.param(exercise, id=exercise.number, marks=turn(i)) for i, exercise in enumerate(EXERCISES)
])  # fmt: skip
def test_what_never_ends_is_stopped(exercise, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.2)
    start = time.monotonic()
    report = exercise.check(loops)
    assert time.monotonic() - start < 10  # holgado: lo que importa es que vuelve
    if report.findings[0].id not in NOT_A_FUNCTION:
        assert report.findings[0].id == "no-acaba"
        assert re.search(r"tarda más de 0\.[26] s(?: con \S.*)?: o tiene un", report.findings[0].text)


def test_what_cannot_be_stopped_is_said():
    found = running.call(loops_and_catches, seconds=0.1).problem
    assert found.id == "no-acaba"
    assert "Lo he parado" in found.text or "reinicia el kernel" in found.text


@each_exercise
@pytest.mark.parametrize("stub", [..., lambda *a, **k: ...])
def test_an_empty_answer_is_not_an_error(exercise, stub):
    report = exercise.check(stub)
    assert not report.ok
    assert report.unsolved or report.findings[0].id in NOT_A_FUNCTION


# --- Ejecutar código ajeno ------------------------------------------------------------------------


def test_the_line_that_fails_is_the_learners():
    def learner(a, b):
        total = a + b
        return total @ b

    found = running.call(learner, torch.zeros(2, 3), torch.zeros(2, 3)).problem
    assert found.id == "error"
    assert "«return total @ b»" in found.text
    assert "(2, 3) por (2, 3): el 3 y el 2 tienen que ser iguales" in found.text


def test_memory_is_bounded_and_given_back():
    resource = pytest.importorskip("resource")  # Windows no lo tiene
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert running.call(eats_memory).problem.id == "memoria"
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert torch.zeros(10**6).sum() == 0


def test_what_is_printed_is_kept():
    assert running.call(print, "hola").printed == "hola\n"
    assert running.call(loops, seconds=0.1).problem.id == "no-acaba"


@pytest.mark.parametrize(("learner", "unsolved"), [
    (lambda: ..., True),
    (lambda: torch.softmax(..., -1), True),
    (lambda: (1, ..., 2), True),
    (lambda: None, False),
    (lambda: 1, False),
    (lambda: gives_up(0), False),  # hay más código: está hecho, y falla
])  # fmt: skip
def test_dots_left_halfway_are_unsolved(learner, unsolved):
    assert running.call(learner).unsolved == unsolved


def gives_up(scores):
    if scores == 0:
        raise NotImplementedError
    return scores


def test_a_stub_is_told_from_a_missing_return():
    def stub(scores):
        """Con docstring."""
        ...

    def pending(scores):
        """Con docstring."""
        raise NotImplementedError("sin hacer")

    def passes(scores):
        pass

    def returns_none(scores):
        x = scores  # noqa: F841

    assert all(map(is_stub, (stub, passes, pending)))
    assert not any(map(is_stub, (returns_none, lambda scores: scores, torch.softmax)))


# --- El motor -------------------------------------------------------------------------------------

PLUS, TIMES, TWICE, THRICE = (
    Mistake(name, f"Error {name}.", "01 §1") for name in ("suma", "por", "doble", "triple")
)


class Toy(Exercise):
    """a·b + a·b·k, con k = 1: para mirar el motor."""

    number, title = "0.0", "juguete"
    names = ("a", "b")
    axes = {
        "join": [Option(torch.mul), Option(torch.add, PLUS)],
        "scale": [Option(1.0), Option(2.0, TWICE), Option(3.0, THRICE)],
        "again": [Option(1.0), Option(1.5, TIMES), Option(0.5, (TIMES, PLUS))],
    }
    stages = (
        Stage(
            ("join", "scale", "again"),
            (
                Case("dos números", (torch.tensor([2.0, 5.0]), torch.tensor([3.0, 7.0]))),
                Case("uno", (torch.tensor([1.5]), torch.tensor([4.0]))),
            ),
        ),
    )
    tiny = (Case("uno", (torch.tensor([1.0]), torch.tensor([2.0]))),)

    def compute(self, choice, a, b):
        return {"output": choice["join"](a, b) * choice["scale"] * choice["again"]}


def ids(learner):
    return [finding.id for finding in Toy().check(learner).findings]


@pytest.mark.parametrize(("learner", "expected"), [
    (lambda a, b: a * b, []),
    (lambda a, b: a * b * 1.0000001, []),
    (lambda a, b: (a * b).requires_grad_(), []),
    (lambda a, b: a + b, ["suma"]),
    (lambda a, b: 2 * (a + b), ["suma", "doble"]),
    (lambda a, b: 6 * (a + b) * 0.75, ["suma", "triple", "por"]),
    # ×3 es un error «triple» o dos, «doble» y «por»: gana el que explica más con menos.
    (lambda a, b: 3 * a * b, ["triple"]),
    (lambda a, b: a.mul_(b), ["cambia-la-entrada"]),
    (lambda a, b: a * b + torch.rand(1), ["azar"]),
    (lambda a, b: (a * b).double(), ["dtype"]),
    (lambda a, b: (a * b).long(), ["dtype"]),
    (lambda a, b: (a * b).numpy(), ["tipo"]),
    (lambda a, b: (a * b).tolist(), ["tipo"]),
    (lambda a, b: print(a), ["none"]),
])  # fmt: skip
def test_each_mistake_is_named_and_no_other(learner, expected):
    assert ids(learner) == expected


def test_two_explanations_are_both_said(monkeypatch):
    monkeypatch.setattr(Toy, "axes", Toy.axes | {"scale": [Option(1.0), Option(1.5, TWICE)]})
    report = Toy().check(lambda a, b: 1.5 * a * b)
    assert [finding.id for finding in report.findings] == ["ambiguo"]
    assert "Error doble" in str(report)
    assert "Error por" in str(report)


def test_what_is_not_known_gets_no_name_but_the_smallest_example():
    report = Toy().check(lambda a, b: a * b + 0.01)
    assert [finding.id for finding in report.findings] == ["otro"]
    assert "Con a = [1], b = [2], tu salida es [2.01] y tenía que ser [2]." in str(report)


def test_what_is_kept_between_calls_is_seen():
    calls, first, last = [], {}, {}

    def grows(a, b):
        calls.append(1)
        return a * b * len(calls)

    def first_of_each_size(a, b):
        return first.setdefault(a.shape, a * b).clone()

    def adds_the_last(a, b):
        kept = last.get("a", torch.zeros(1)).sum()
        last["a"] = a if a.numel() == 1 else torch.zeros(1)
        return a * b + kept

    assert ids(grows) == ["guarda-estado"]
    assert ids(first_of_each_size) == ["guarda-estado"]
    assert ids(adds_the_last) == ["guarda-estado"]
    always = lambda a, b: last.setdefault("b", torch.ones(1)) * a * b  # noqa: E731
    assert ids(always) == []  # siempre lo mismo: vale


def test_a_check_has_an_end(monkeypatch):
    """Cada llamada acaba a tiempo, y entre todas no."""
    monkeypatch.setattr(running, "TOTAL", 0.0)
    assert ids(lambda a, b: a * b) == ["tarda"]
    monkeypatch.undo()
    assert ids(lambda a, b: a * b) == []


class Sized(Toy):
    letters = "n", "n"


def product_that(waits=lambda a: False, seconds=0.0, wrong=lambda a: False):
    """a·b, que para siempre con lo que dice ``waits``; y de cuántos números son sus llamadas."""
    sizes = []

    def learner(a, b):
        sizes.append(a.numel())
        time.sleep(seconds)
        while waits(a):
            time.sleep(0.01)
        return a * b + wrong(a)

    return learner, sizes


def test_a_slow_answer_is_asked_all_that_a_fast_one_is(monkeypatch):
    fast, wanted = product_that()
    assert Sized().check(fast).ok
    monkeypatch.setattr(running, "SECONDS", 0.12)
    slow, asked = product_that(seconds=0.03)
    report = Sized().check(slow)
    assert (report.ok, report.notes, sorted(asked)) == (True, (), sorted(wanted))
    slow, _ = product_that(seconds=0.03, wrong=lambda a: a.numel() == 300)
    assert not Sized().check(slow).ok


def test_what_does_not_fit_in_its_time_is_wrong_only_if_it_is_small(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.1)
    large, small = product_that(lambda a: a.numel() == 300)[0], product_that(lambda a: a[0] == 5)[0]
    assert "n = 300»): no por eso está mal" in str(Sized().check(large).notes)
    (finding,) = Sized().check(small).findings
    assert finding.id == "no-acaba"
    assert "tarda más de 0.3 s con otros números, en dos números: o tiene un bucle" in finding.text
    # Y con todas las pruebas del enunciado bien, lo que se deja porque no queda tiempo no cuenta.
    monkeypatch.setattr(running, "TOTAL", 2.0)
    report = Sized().check(product_that(seconds=0.05)[0])
    assert report.ok
    assert "no por eso está mal" in str(report.notes)


class Paired(Toy):
    reader = Pair(lambda a, b: tuple(a.shape))


def test_a_pair_inside_a_pair_is_said():
    found = Paired().check(lambda a, b: ((a * b, None), None)).findings
    assert [finding.id for finding in found] == ["tipo"]
    assert "una tupla dentro de otra" in found[0].text
    assert Paired().check(lambda a, b: (a * b, None)).ok


class Parts(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@pytest.mark.parametrize(("value", "said"), [
    ((torch.ones(2), [1, 2.5]), ""),
    ([np.ones(2), 3], ""),
    (torch.ones(2), "(Tensor) y tiene que devolver 2 tensores: (first, second)"),
    ((torch.ones(2), None), "(Tensor, NoneType)"),
    ((torch.ones(2), (torch.ones(1), torch.ones(2))), "(Tensor, tuple)"),
    ((1.0, 2.0, 3.0), "(float, float, float)"),
    ((torch.ones(2).half(), torch.ones(2)), "float16, y pierde decimales"),
    (None, "¿le falta el return?"),
])  # fmt: skip
def test_several_parts_are_read_or_it_is_said_what_came(value, said):
    read, problem = Several(Parts._fields).read(value, None)
    assert (problem is None) == (said == "") == (read is not None)
    assert said in getattr(problem, "text", "")


def test_what_was_returned_is_copied():
    """Quien escribe siempre en el mismo tensor no cambia lo que ya se ha leído."""
    kept = torch.ones(2)
    read, _ = Several(Parts._fields).read((kept, kept), None)
    kept.zero_()
    assert read[0].tolist() == [1, 1]


def test_the_part_that_is_not_equal_is_named():
    right, yours = Parts(torch.ones(1), torch.ones(2)), (torch.ones(1), torch.tensor([1.0, 3.0]))
    look = Look(Case("dos", ()), yours, right, {}, {})
    assert difference(look) == ("Con dos, tu «second» en la posición [1] vale 3 y tenía que valer 1.")
    assert contrast(yours, right) == "tu «second» es [1, 3] y tenía que ser [1, 1]"
    assert contrast(*(torch.tensor(x) for x in (1.0, 2.0))) == "tu salida es 1 y tenía que ser 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [(torch.tensor([0.5, 2.0]), "[0.5, 2]"), (1234.5, "1234"), (torch.tensor(True), "True")],
)
def test_numbers_are_written_short(value, text):
    assert show(value) == text


# --- El informe -----------------------------------------------------------------------------------


def test_report_is_text_and_never_html():
    finding = Finding("x", "<b>mal</b>", "1 < 2.", "05 §1")
    report = Report("5.1", "softmax", (finding,), ("a & b",), printed="<i>\n" * 20)
    assert "<b>mal" not in report._repr_html_()
    assert "&lt;b&gt;mal" in report._repr_html_()
    assert "a &amp; b" in report._repr_html_()
    assert "<i>" not in report._repr_html_()
    assert "y 12 líneas más" in str(report)
    assert str(report).startswith("✗ Ejercicio 5.1 · softmax: todavía no.\n  1. <b>mal</b> 1 < 2. Mira")
    assert not report
    assert not report.ok


# --- Los enlaces ----------------------------------------------------------------------------------


def write(path, *cells):
    """Un cuaderno con estas celdas; cada una se llama como su posición: c0, c1…"""
    for number, cell in enumerate(cells):
        cell.id = f"c{number}"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), path)


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """Una carpeta con dos lecciones, la copia de una y una tercera que no se entiende."""
    folder = tmp_path / "mis_cuadernos"
    write(
        folder / "05_una.ipynb",
        new_markdown_cell("# 05 · Una\n\n## 31. Otro\n\n## 311. Otro"),
        new_code_cell("### 3.1 En un comentario"),
        new_markdown_cell("## 3. Tres\n\nEl 3.1 viene luego."),
        new_markdown_cell("### 3.1 Tres uno"),
        new_markdown_cell("### Ejercicio 5.2 · a < b"),
    )
    write(folder / "05_una-antes-2026.ipynb", new_markdown_cell("## 7. Siete"))
    inside = {"tags": ["profundizar"]}
    folded = inside | {"jp-MarkdownHeadingCollapsed": True}
    write(
        folder / "06_otra.ipynb",
        new_markdown_cell("# 06 · Otra\n\n## 1. Uno"),
        new_markdown_cell("## 2. Para profundizar", metadata=folded),
        new_code_cell("x = 1", metadata=inside),
        new_markdown_cell("### 2.1 Dentro", metadata=inside),
        new_markdown_cell("## 3. Fuera"),
    )
    (folder / "07_rota.ipynb").write_text("{")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(("text", "html"), [
    ("05 §3.1", '<a href="05_una.ipynb#cell-id=c3">05 §3.1</a>'),
    ("06 §2", '<a href="06_otra.ipynb#cell-id=c1">06 §2</a>'),
    ("06 §2.1", '<a href="06_otra.ipynb#cell-id=c1">06 §2.1</a>'),  # la suya está plegada
    ("06 §3", '<a href="06_otra.ipynb#cell-id=c4">06 §3</a>'),
    ("05 §3, <b> 08 §1", '<a href="05_una.ipynb#cell-id=c2">05 §3</a>, &lt;b&gt; 08 §1'),
    ("<b> 05 §3.2, 05 §7, 07 §1, 08 §1", "&lt;b&gt; 05 §3.2, 05 §7, 07 §1, 08 §1"),
])  # fmt: skip
def test_a_section_is_a_link_if_it_is_there(lessons, text, html):
    assert places.linked(text) == html


def test_what_a_report_sends_to_is_a_link_in_html_and_only_there(lessons):
    report = Report("5.1", "softmax", (Finding("x", "mal", read="05 §3"),), ("Lo cuenta 06 §1.",))
    assert 'Mira <a href="05_una.ipynb#cell-id=c2">05 §3</a>.' in report._repr_html_()
    assert 'Lo cuenta <a href="06_otra.ipynb#cell-id=c0">06 §1</a>.' in report._repr_html_()
    assert str(report) == (
        "✗ Ejercicio 5.1 · softmax: todavía no.\n  1. mal Mira 05 §3.\n  Nota: Lo cuenta 06 §1."
    )


def test_a_strange_id_is_text(lessons):
    nb = nbformat.read(lessons / "06_otra.ipynb", 4)
    nb.cells[0].id = '"><script>'
    (lessons / "06_otra.ipynb").write_text(json.dumps(nb))
    assert "<script" not in places.linked("06 §1")
    assert "&lt;script" in places.linked("06 §1")


# --- Un nombre que falta --------------------------------------------------------------------------

IMPORTS = "used\nimport torch\nimport numpy as np\nfrom math import (\n    pi, sqrt,\n)"
BODY = "LAYER, HEAD = 3, 1\ndef query_and_key(x):\n    inner = x\n    return inner\nclass Box: ..."


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Un cuaderno abierto en JupyterLab, que ejecuta su celda c4."""
    path = tmp_path / "05_una.ipynb"
    write(
        path,
        new_code_cell(IMPORTS),
        new_code_cell("%time magic = 1"),
        new_markdown_cell("text = 1"),
        new_code_cell(BODY),
        new_code_cell("here = below + missing"),
        new_code_cell("below = 1"),
    )
    parent = {"metadata": {"cellId": "c4"}}
    shell = SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: parent))
    monkeypatch.setattr(notebook, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return parent


def missing(name):
    """El error de usar un nombre que no existe."""
    with pytest.raises(NameError) as caught:
        eval(name, {"__builtins__": {}})
    return caught.value


@pytest.mark.parametrize("name", ["torch", "np", "sqrt", "LAYER", "HEAD", "query_and_key", "Box", "magic"])
def test_a_name_of_a_cell_above_says_what_to_run(opened, name):
    assert notebook.advice(missing(name)).startswith(f"«{name}» sale de una celda de más arriba. ")


def test_only_a_missing_name_of_a_cell_above_is_explained(opened):
    for name in ("numpy", "troch", "text", "inner", "used", "here", "below"):
        assert notebook.advice(missing(name)) == ""
    assert notebook.advice(UnboundLocalError("torch")) == ""
    assert notebook.advice(NameError("torch")) == ""
    assert notebook.advice(AttributeError("torch", name="torch")) == ""


def test_without_a_notebook_nothing_is_explained(opened, monkeypatch, tmp_path):
    opened.clear()  # no se sabe qué celda es: se mira en todas
    assert notebook.advice(missing("below")) != ""
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "no.ipynb"))
    assert notebook.advice(missing("torch")) == ""
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert notebook.advice(missing("torch")) == ""


def test_the_code_of_a_learner_says_it_too(opened):
    found = running.call(lambda: query_and_key).problem  # noqa: F821
    assert "no existe nada que se llame «query_and_key». «query_and_key» sale de" in found.text
    assert running.call(raises).problem.text.endswith("no existe nada que se llame «missing_name».")


def notes_of(code):
    """Lo que el kernel añade al error de una celda: uno que no le interesa, lo enseña sin mirarlo."""
    told, events = {}, SimpleNamespace(register=lambda *_: None)
    shell = SimpleNamespace(showtraceback=lambda *_, **__: None, events=events)
    shell.set_custom_exc = lambda kinds, show: told.update(kinds=kinds, show=show)
    notebook.load_ipython_extension(shell)
    with pytest.raises((ImportError, ZeroDivisionError)) as caught:
        exec(code, {})
    if isinstance(caught.value, told["kinds"]):
        told["show"](shell, caught.type, caught.value, caught.tb)
    return getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize("leftover", ["", "checkers", "checkers/engine"])
def test_the_place_where_checkers_were_says_where_they_are(leftover, tmp_path, monkeypatch):
    """De lo que había puede quedar una carpeta: Python la toma por un módulo, sin nada dentro."""
    (tmp_path / leftover).mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("course_lib.__path__", [*course_lib.__path__, str(tmp_path)])
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    for code in ("from course_lib.checkers import check_top_p", "import course_lib.checkers.engine.places"):
        assert notes_of(code) == [notebook.MOVED]
    assert "cambia course_lib.checkers por course_checkers en esta celda" in notebook.MOVED


@pytest.mark.parametrize("code", ["import course_libre", "from course_lib.masks import nothing", "1 / 0"])
def test_what_is_missing_elsewhere_is_not_explained(code):
    assert notes_of(code) == []


def test_a_cell_that_is_not_understood_is_not_judged_by_the_one_before(monkeypatch):
    shell = InteractiveShell()
    monkeypatch.setattr(notebook, "get_ipython", lambda: shell)
    notebook.load_ipython_extension(shell)
    good = "# Ejercicio 5.1\ndef mine(x):\n    return x"
    shell.run_cell(good)
    shell.run_cell("y = mine(")  # una celda cualquiera no quita nada
    assert shell.run_cell("mine(3)").result == 3
    shell.run_cell(good + "\n    return (")
    error = shell.run_cell("mine(3)").error_in_exec
    assert "error de sintaxis" in error.__notes__[0]
    shell.run_cell(good)
    assert shell.run_cell("mine(3)").result == 3


# --- Las preguntas --------------------------------------------------------------------------------


@each_question
def test_the_right_answer_passes_and_each_wrong_one_is_named(question):
    assert question.check(question.right).ok
    for wrong in question.wrong:
        report = question.check(wrong.value())
        assert [finding.id for finding in report.findings] == [wrong.mistake.id], str(report)


@each_question
def test_no_answer_and_nonsense(question):
    for nothing in (None, ...):
        assert question.check(nothing).unsolved
    for nonsense in (object(), {}, b"x", print, float("nan"), "una frase", -987654.25, ()):
        report = question.check(nonsense)
        assert not report.ok
        assert not report.unsolved
        assert report.findings[0].id in ("respuesta", "respuesta-ilegible")


def test_an_unknown_question_or_lesson_is_said():
    for number in ("5.99", "x"):
        with pytest.raises(ValueError, match=f"no hay ninguna pregunta '{number}'"):
            questions.check_answer(number, 1)
    with pytest.raises(ValueError, match="la lección 99 no tiene ejercicios"):
        progress.show_progress(99)


@pytest.mark.parametrize(("answer", "tidied"), [
    (" A) ", "a"),
    (torch.tensor(2.5), 2.5),
    (torch.Size([1, 2]), (1, 2)),
    ([1, torch.tensor(2)], (1, 2)),
    (np.float32(0.5), 0.5),
    ((1, ...), ...),
])  # fmt: skip
def test_what_does_not_matter_in_an_answer(answer, tidied):
    assert questions.tidy(answer) == tidied


@pytest.mark.parametrize(("answer", "shown"), [
    ("(3, 12, 7, 7)", "«(3, 12, 7, 7)»"),
    (" Hola. ", "« Hola. »"),
    ([1, torch.tensor(2.5)], "(1, 2.5)"),
    ("x" * 70, "«" + "x" * 59 + "…"),
])  # fmt: skip
def test_an_answer_is_shown_as_it_was_written(answer, shown):
    assert str(questions.check_answer("6.4", answer)).count(f"Tu respuesta es {shown}, y") == 1


# --- El progreso ----------------------------------------------------------------------------------


def solved(number="5.1"):
    return Report(number, "softmax")


def wrong(number="5.1"):
    return Report(number, "softmax", (Finding("x", "mal"),))


def test_what_is_solved_is_kept_and_what_is_not_is_not(kept):
    closing.finish(Report("5.1", "softmax", unsolved=True))
    assert not kept.exists()
    closing.finish(wrong())
    closing.finish(wrong("5.3"))
    closing.finish(solved())
    closing.finish(solved("5.2"))
    closing.finish(wrong())
    assert list(saved.solved()) == ["5.1", "5.2"]
    tries = {number: one["tries"] for number, one in saved.load()["exercises"].items()}
    assert tries == {"5.1": 2, "5.2": 1, "5.3": 1}
    text = str(progress.show_progress(5))
    assert text.startswith("Has resuelto 2 de los")
    assert "✓ 5.1" in text
    assert "○ 5.3" in text
    assert text.endswith("A la primera: 5.2")  # el 5.1 costó dos
    for name, right in (("05.1", True), ("05.2", False), ("06.1", True)):
        saved.predicted(name, "a", right)
    assert str(progress.show_progress(5)).endswith("Predicciones acertadas: 1 de 2")
    assert "A la primera" not in str(progress.show_progress(4))
    assert "○ Lección 05: 2 de" in str(progress.show_progress())


def flat(x):
    return x.as_strided(x.shape, torch.empty(x.shape).stride(), x.storage_offset())


@pytest.mark.parametrize(
    "look",
    [lambda q, k, v: (flat(q), flat(k), flat(v)), lambda q, k, v: (q, flat(k), v)],
    ids=["los tres", "key"],
)
def test_reading_the_memory_of_a_tensor_is_said_and_always_the_same(look):
    def answer(query, key, value, mask=None):
        return course_lib.scaled_dot_product_attention(*look(query, key, value), mask)

    reports = [course_checkers.check_scaled_dot_product_attention(answer) for _ in range(3)]
    assert [[f.id for f in report.findings] for report in reports] == 3 * [["lee-la-memoria"]]


def through(query, key, value, mask=None):
    output, weights = course_lib.scaled_dot_product_attention(query, key, value, mask)
    return output, weights


@pytest.mark.parametrize(("check", "theirs", "name"), [
    ("causal_mask", course_lib.causal_mask, "course_lib.causal_mask"),
    ("scaled_dot_product_attention", through, "course_lib.scaled_dot"),
    ("multi_head_attention", course_lib.MultiHeadAttention, "de course_lib"),
])  # fmt: skip
def test_an_answer_that_is_the_librarys_is_said(check, theirs, name):
    report = getattr(course_checkers, f"check_{check}")(theirs)
    assert report.ok
    assert [name in note for note in report.notes] == [True]


def test_it_is_forgotten_on_request(kept, capsys):
    closing.finish(solved())
    progress.forget_progress()
    progress.forget_progress()
    assert not kept.exists()
    assert "Olvidado" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["{", "[]", '"hola"', ""])
def test_a_broken_file_does_not_break_anything(kept, content):
    kept.write_text(content)
    assert "Has resuelto 0 de" in str(progress.show_progress(5))
    closing.finish(solved())
    assert list(saved.solved()) == ["5.1"]
    assert [path.read_text() for path in kept.parent.glob("*-antes-*")] == [content]


@pytest.mark.parametrize(("before", "after", "done"), [
    ('{"exercises": {"5.1": {"tries": "muchos"}}}', {"tries": 1, "date": None}, ["5.2"]),
    ('{"5.1": "2026-01-02"}', {"tries": None, "date": "2026-01-02"}, ["5.1", "5.2"]),
])  # fmt: skip
def test_a_strange_file_or_one_of_before_is_read_and_goes_on(kept, before, after, done):
    kept.write_text(before)
    closing.finish(wrong("5.1"))
    closing.finish(solved("5.2"))
    assert (saved.load()["exercises"]["5.1"], list(saved.solved())) == (after, done)


@pytest.mark.parametrize("name", ["archivo/progreso.json", "no/existe.json", "carpeta"])
def test_a_place_that_cannot_be_written_is_said(kept, monkeypatch, tmp_path, name):
    (tmp_path / "archivo").touch()
    (tmp_path / "carpeta").mkdir()
    monkeypatch.setenv("CURSO_PROGRESO", str(tmp_path / name))
    report = closing.finish(solved())
    assert report.ok
    for text in (str(report), report._repr_html_()):
        assert "Nota: está bien, pero no se ha podido apuntar" in text
        assert f"/{name.split('/')[-1]}. Comprueba que la carpeta" in text
        assert str(tmp_path.parent) not in text


def test_progress_is_kept_beside_the_notebooks_of_the_student(monkeypatch, tmp_path):
    monkeypatch.delenv("CURSO_PROGRESO")
    monkeypatch.setenv("CURSO_CUADERNOS", str(tmp_path))
    assert saved.place() == tmp_path.resolve() / ".progreso.json"


def test_what_is_right_ends_with_what_comes_next(kept, lessons, monkeypatch):
    assert "Siguiente" not in progress.show_progress(5)._repr_html_()
    report = closing.finish(solved())
    exercise = '<a href="05_una.ipynb#cell-id=c4">Ejercicio 5.2 · a &lt; b</a>'
    assert progress.show_progress(5)._repr_html_().endswith(f"<p>Siguiente: {exercise}</p>")
    assert report._repr_html_().endswith(f"<p>Siguiente: {exercise}</p></div>")
    assert str(report) == str(solved())
    lesson = '<a href="06_otra.ipynb#cell-id=c0">06 · Otra</a>'
    assert lesson in closing.finish(solved("5.2"))._repr_html_()
    closing.finish(solved("5.3"))
    assert lesson in progress.show_progress(5)._repr_html_()
    assert "Siguiente" not in closing.finish(solved("6.1"))._repr_html_()
    assert "Siguiente" not in closing.finish(wrong())._repr_html_()
    closing.without_progress()
    assert "Siguiente" not in closing.finish(solved())._repr_html_()


def test_nothing_is_kept_if_not_wanted(kept, monkeypatch):
    closing.without_progress()
    closing.finish(solved())
    assert not kept.exists()
    monkeypatch.setattr(closing, "_recording", True)
    monkeypatch.setenv("CURSO_PROGRESO", "no")
    closing.finish(solved())
    progress.forget_progress()
    assert not kept.exists()


def test_when_graded_what_is_wrong_fails_and_what_is_right_does_not(kept, monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(closing.NotSolved, match="todavía no") as caught:
        closing.finish(wrong())
    assert all(len(line) <= 80 for line in caught.value._render_traceback_())
    assert closing.finish(solved()) is None
    assert "está bien" in capsys.readouterr().out
    assert not kept.exists()


@pytest.mark.parametrize(("answer", "said"), [
    (2, "Esa da al siguiente 0.02 de media; hay otra que da más"),
    (0.2545, "un entero, y no su peso"),
    (40, "van de la 0 a la 11"),
])  # fmt: skip
def test_a_wrong_head_is_told_what_it_gives(answer, said):
    """El número de una cabeza no es grande ni pequeño."""
    text = str(questions.check_answer("6.4", answer))
    assert said in text
    assert "demasiado" not in text


@pytest.mark.parametrize("nine", [
    *(torch.tensor(9).reshape(shape) for shape in ((), (1,), (1, 1))),
    np.array([9]), np.full((1, 1), 9.0), np.int8(9), np.array(9.0),
])  # fmt: skip
def test_one_number_in_a_tensor_or_an_array_is_a_number(nine):
    assert questions.check_answer("6.4", nine).ok


def test_what_python_does_not_understand_is_said_in_spanish():
    told = {"f(": "falta cerrar «(»", "if a\n  b": "le faltan los dos puntos", "a = = 1": "falta o sobra algo, ahí o justo antes"}
    for source, spanish in told.items():
        with pytest.raises(SyntaxError) as error:
            compile(source, "<unknown>", "exec")
        assert running.in_spanish(str(error.value)) == ("error", spanish)
