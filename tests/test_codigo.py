"""Lo que necesita una respuesta, esté escrita como esté: lo que da el cuaderno entero, en su orden.

Quien lo dice es IPython, que ejecuta las mismas celdas. Con ello tienen que dar lo mismo al calificar, en la
página y en tu biblioteca.
"""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import helpers_ways as ways
import numpy as np
import pytest
import torch
from helpers_answers import ALL, EXERCISES
from IPython.core.interactiveshell import InteractiveShell
from test_imitacion import imitated  # noqa: F401
from traitlets.config import Config

from aula.calificar import cage, check, student, submissions
from course_checkers.engine import written
from course_checkers.engine.comparing import clone, same
from course_tools.code import Code, needed

NAMES = {number: name for one in submissions.lessons().values() for number, name in one.answers.items()}


class Notebook:
    """Un cuaderno de verdad: lo que queda en él al ejecutar sus celdas, en su orden."""

    def __init__(self):
        self.shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))

    def run(self, cells):
        with mock.patch("gc.collect"):  # lo que más tarda
            self.shell.reset(new_session=True)
        self.shell.user_ns["check_answer_of"] = lambda answer: None
        for cell in cells:
            with torch.random.fork_rng():
                assert self.shell.run_cell(cell, store_history=True).success, cell
        return self.shell.user_ns


@pytest.fixture(scope="module")
def notebook():
    return Notebook()


READY = re.compile(", en la línea «return ready_made.*?»")  # la línea de quien la escribe por otro


def outputs(exercise, code):
    """Lo que da una respuesta en la primera prueba de su ejercicio: con ella se usa lo que la respuesta necesita."""
    attempts = exercise.prepare(code)
    if not isinstance(attempts, list):
        return attempts
    outcome = exercise.call(attempts[0].learner, *clone(exercise.all_cases()[0].arguments))
    return plain(outcome.value) if outcome.problem is None else READY.sub("", outcome.problem.text)


def plain(value):
    """Lo mismo, con los arrays como tensores, que se saben comparar."""
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    return torch.as_tensor(value) if isinstance(value, np.ndarray | np.generic) else value


def graded(cells, name):
    """Lo que queda con las celdas que elige quien califica: con las primeras o, si no, con las demás."""
    every = [cell for k, source in enumerate(cells) for cell in student.split(k, source)]
    for how, chosen in student.plans(every, name):
        one = student.Student([])
        one.module.check_answer_of = lambda answer: None
        for cell in chosen if how != "entero" else ():
            cell.done = False
            cell.run(vars(one.module))
        yield vars(one.module).get(name)


def kept(space, number, name):
    """Lo que da tu biblioteca: la pieza, ejecutada sola."""
    called, code = written.written(space[name], number, space)
    alone = {"__name__": "mi_biblioteca"}
    exec(compile(code, "mi_biblioteca.py", "exec"), alone)
    return alone[called]


def disagreements(answer, notebook):
    """Las formas de escribir una respuesta en que no se tiene lo mismo que en el cuaderno, y en cuántas se ha mirado.

    Se miran las que en el cuaderno dan lo de siempre: la que pisa un nombre suyo no se cuenta.
    """
    number, exercise = answer.exercise, EXERCISES[answer.exercise]
    base, found, many = ways.as_written(answer, NAMES[number]), [], 0
    wanted = outputs(exercise, answer.code)
    alike = lambda code: code is not None and same(outputs(exercise, code), wanted, 0, 0)  # noqa: E731
    for way in ways.notebooks(base, number):
        until = (*way.before, way.answer, *way.more, f"check_answer_of({base.name})")
        space = notebook.run(until)
        if not alike(space[base.name]):
            continue
        many += 1
        if not any(map(alike, graded((*until, *way.after), base.name))):
            found.append(f"{way.name}: al calificar")
        if way.piece and answer.kind == "buena" and not alike(kept(space, number, base.name)):
            found.append(f"{way.name}: en la biblioteca")
    return found, many


def chosen(kind, number, every=1):
    return [one for one in ALL if one.kind == kind and one.exercise == number][::every]


@pytest.fixture
def aside(tmp_path, monkeypatch):
    """Una carpeta para lo que una celda escriba en otro archivo."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("written_aside", None)


def all_alike(answers, notebook):
    with ThreadPoolExecutor(1) as aside:  # en este proceso puede haber un navegador, con su bucle
        judged = aside.map(lambda one: disagreements(one, notebook), answers)
        found = {f"{one.exercise} {one.name}": told for one, told in zip(answers, judged)}
    assert {name: wrong for name, (wrong, _) in found.items() if wrong} == {}
    assert max(many for _, many in found.values()) >= 45


@pytest.mark.usefixtures("aside")
@pytest.mark.parametrize("number", ["5.1", "6.2"])
def test_what_is_right_in_a_notebook_is_right_however_it_is_written(notebook, number):
    all_alike(chosen("buena", number)[:1], notebook)


def test_what_an_answer_is_called_is_known():
    """La pieza que falta se dice por su número: ``written`` lo sabe sin leer los cuadernos."""
    assert {NAMES[number]: number for number in written.ANSWERS.values()} == written.ANSWERS


CODED = [number for number, one in EXERCISES.items() if number != "7.1"]  # que es un texto


@pytest.mark.lenta
@pytest.mark.turnos
@pytest.mark.usefixtures("aside")
@pytest.mark.parametrize("number", CODED)
def test_every_right_answer_is_right_however_it_is_written(notebook, number):
    all_alike(chosen("buena", number), notebook)


@pytest.mark.lenta
@pytest.mark.usefixtures("aside")
@pytest.mark.parametrize("number", CODED)
def test_a_wrong_answer_gives_the_same_however_it_is_written(notebook, number):
    all_alike(chosen("mala", number, 40), notebook)


# --- Calificada de verdad, y en la página ---------------------------------------------------------

CAGED = cage.works()


def some(answers, step):
    """De cada respuesta, una forma, cada vez otra."""
    for k, one in enumerate(answers):
        base = ways.as_written(one, NAMES[one.exercise])
        if "ready_made" not in base.text:  # las que se pueden escribir
            every = list(ways.notebooks(base, one.exercise))
            yield one, base, every[k * step % len(every)]


@pytest.mark.lenta
@pytest.mark.parametrize("number", EXERCISES)
def test_the_mark_is_the_one_it_deserves_in_any_of_its_ways(number):
    answers = chosen("buena", number, 4) + chosen("mala", number, 60)
    for k, (one, base, way) in enumerate(some(answers, 7 * int(number.split(".")[0]) + 1)):
        cells = [*way.before, way.answer, *way.more, f"check_answer_of({base.name})", *way.after]
        [report], *_ = check.grade([*enumerate(["check_answer_of = print", *cells])], {number: base.name}, CAGED)
        assert report.ok == (one.kind == "buena"), (one.name, way.name, k, str(report))


SOFTMAX = "def my_softmax(scores):\n    return torch.softmax(scores, -1) * part"
CHECK = "check_softmax(my_softmax)"
ASIDE = {  # lo que no está en una celda de las que hacen falta, y qué nota sale y qué se dice
    "con otro nombre": ([SOFTMAX, CHECK, "part = 1"], "my_softmax", "mine", True, ""),
    "se para": (["part = 1 / 0", SOFTMAX, CHECK], "", "", False, "se para en «part = 1 / 0» (ZeroDivisionError)"),
    "no se entiende": (["part = = 1", SOFTMAX, CHECK], "", "", False, "se para en «part = = 1» (SyntaxError)"),
    "con _": (["1.0", "part = _", SOFTMAX, CHECK], "", "", True, "todas las celdas que has escrito tú"),
    "%env": (["%env P=1", "import os", "part = int(os.environ['P'])", SOFTMAX, CHECK], "", "", True, ""),
    "!": (["out = !echo 1", "part = int(out[0])", SOFTMAX, CHECK], "", "", False, "no se ejecutan órdenes"),
    "%%time debajo": (["0\n%%time\npart = 1", SOFTMAX, CHECK], "", "", False, "en «%%time» (UsageError): tampoco"),
    "eval": (["# Ejercicio 3.1\nmy_softmax = eval('lambda x: torch.softmax(x, -1)')"], "", "", True, "el cuaderno entero"),
    "cambiada después": (["part = 1", SOFTMAX, CHECK, "my_softmax = abs"], "", "", True, "como estaba en su comprobación"),
}


@pytest.mark.parametrize("how", [pytest.param(how, marks=pytest.mark.lenta if k else ()) for k, how in enumerate(ASIDE)])
def test_what_else_is_run_is_said(how):
    cells, old, new, ok, said = ASIDE[how]
    given = [*enumerate(["import torch", *(cell.replace(old, new) if old else cell for cell in cells)])]
    [report], *_ = check.grade(given, {"3.1": "my_softmax"}, CAGED, course=["import torch"])
    assert report.ok == ok, str(report)
    assert said in " ".join(report.notes)


PAGE = """
import json, os, sys
sys.path.insert(0, {tools!r})
import page_cells
here, found = page_cells.prepared(), []
for asked in {asked!r}:
    while "need" in (told := json.loads(here.check(json.dumps(asked)))):
        here.give(page_cells.read_pieces(os.environ["CURSO_PIEZAS"]))
    found.append([told["ok"] or bool(told["refused"]), told["findings"], told.get("piece") is not None])
json.dump(found, sys.stdout)
"""


def in_the_page(imitated, tmp_path, answers, step):
    asked, names = [], []
    for one, base, way in some(answers, step):
        if way.more or way.after or "await" in way.name or "%%writefile" in way.name:
            continue  # en la página, una respuesta se escribe una vez
        lesson = next(le for le in submissions.lessons().values() if one.exercise in le.answers)
        check_it = lesson.checks[one.exercise]
        more = {"number": one.exercise, "answer": way.answer, "check": check_it, "before": {}, "undone": {}}
        asked.append({"lesson": list(way.before)} | more)
        names.append(f"{one.exercise} {one.name}, {way.name}")
    program = PAGE.format(tools=str(Path(__file__).parent / "tools"), asked=asked)
    (tmp_path / "programa.py").write_text(program, encoding="utf-8")
    found = json.loads(imitated(tmp_path / "programa.py"))
    assert [(name, one) for name, one in zip(names, found, strict=True) if not one[0]] == []
    return len(found)


@pytest.mark.parametrize(("numbers", "least"), [(["5.1"], 5), pytest.param(EXERCISES, 250, marks=pytest.mark.lenta)])
def test_the_right_ones_are_right_in_the_page_too(imitated, tmp_path, numbers, least):  # noqa: F811
    slow = () if len(numbers) > 1 else ("with_loops",)  # 17 s
    answers = [one for one in ALL if one.kind == "buena" and one.exercise in numbers and one.name not in slow]
    assert in_the_page(imitated, tmp_path, answers, 5) > least


# --- Qué celdas hacen falta -----------------------------------------------------------------------


@pytest.mark.parametrize(("target", "cells", "wanted"), [
    ("f", ["import torch\nimport math\nprint('hola')", "slow = 1", "def f():\n    return math.pi", "f()"], [0, 2]),
    ("f", ["def f(): return 1", "def f(): return 2", "def f(:"], [2]),
    ("f", ["def f(): return h()", "def h(): return 1"], [0, 1]),
    ("x", ["torch.manual_seed(0)", "%time\nx = torch.randn(2)", "y = x"], [0, 1]),
    ("f", ["x = 1", "y = x", "print(x)", "x.mean()", "def f(): return x"], [0, 4]),
    ("f", ["model = make()", "model.eval()", "def f(): return model"], [0, 1, 2]),
    ("f", ["import torch", "torch.manual_seed(0)", "torch.relu = None", "def f(): return torch"], [0, 2, 3]),
    ("g", ["def f(): pass", "def h(x): x.append(1)"], []),
    ("f", ["nonlocal x", "return 3\ndef f(): return 1", "def g(): return f'{1!r:>{4}}'"], [1]),
    ("w", ["opt = Adam(model.parameters())", "model = make()", "opt.step()", "w = model"], [0, 1, 2, 3]),
    ("f", ["from torch import Tensor\nTensor.soft = 3", "import os", "os.environ['X'] = '1'", "def f(): return os"], [1, 2, 3]),
    ("f", ["def sqrt(x): return 9", "from math import *", "from json import *", "def f(): return sqrt(4)"], [0, 1, 3]),
    ("f", ["def f(): return 1", "print(eval('f'))", "exec('def f(): return 2')", "globals()['f'] = abs"], [0, 2, 3]),
    ("f", ["n = 0", "1 + 1", "def f():\n    global n\n    n += 1"], [0, 2]),
    ("f", ["w = 1", "for w in 'ab': print(w)", "for v in 'ab':\n    w = v\n    print(w)\nf = 1"], [2]),
    ("f", ["w = 1", "with a() as w: f = w", "x = w"], [1]),
    ("f", ["x = [1]", "kept = []\nkept.append(x)", "x.append(2)", "f = x"], [0, 2, 3]),
    ("f", ["w = 1", "for v in w: print(w)\nf = w"], [0, 1]),
    ("f", ["w = 1", "if 1:\n    w = 2\nf = w"], [0, 1]),
    ("p", ["p = Parser()", "p.add_argument('x')", "with redirect_stdout(p): 1", "print(1, file=p)"], [0, 1, 2, 3]),
])  # fmt: skip
def test_only_what_the_answer_needs_is_run(target, cells, wanted):
    assert needed([Code(cell) for cell in cells], [target]) == wanted
