"""Las comprobaciones, atacadas: nada que devuelva, lance o escriba una respuesta las para ni las engaña."""

import importlib
import sys
import threading
import time

import numpy as np
import pytest
import torch
from torch import nn

from course_checkers import (
    check_einsum,
    check_multi_head_attention,
    check_scaled_dot_product_attention,
)
from course_checkers.engine import questions, running
from course_checkers.engine.case import Case
from course_checkers.engine.exercise import Exercise
from course_checkers.engine.mistakes import Mistake, Option
from course_checkers.engine.reading import Tensors
from course_checkers.engine.search import Stage
from course_lib import scaled_dot_product_attention

MINUS = Mistake("resta", "Restas.", "01 §1")


def forever(*arguments, **options):
    while True:
        pass


class Product(Exercise):
    """a·b, con NumPy o con tensores."""

    number, title, names = "0.0", "producto", ("a", "b")
    axes = {"join": [Option(torch.mul), Option(torch.sub, MINUS)]}
    cases = [Case(f"{n} números", (torch.arange(n) + 2.0, torch.arange(n) * 3.0)) for n in (2, 3)]
    stages, tiny = (Stage(("join",), tuple(cases)),), (Case("", (torch.ones(1), torch.ones(1))),)
    reader = Tensors("un tensor", numpy=True)

    def compute(self, choice, a, b):
        return {"output": choice["join"](a, b)}


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        raise RuntimeError("no me leas")


class Endless(torch.Tensor):
    __torch_function__ = classmethod(forever)


class Wicked:
    """Todo lo que se le pregunta no acaba; y dice que es un tensor."""

    __class__ = property(lambda self: torch.Tensor)
    __hash__ = None
    __eq__ = __len__ = __iter__ = __repr__ = __str__ = __bool__ = __getattr__ = __del__ = forever
    __index__ = __float__ = __array__ = __getitem__ = forever


class Row(list):
    __len__ = __iter__ = __eq__ = __getitem__ = forever


class Text(str):
    __str__ = __getitem__ = __len__ = __eq__ = forever
    __hash__ = str.__hash__


class Whole(int):
    __int__ = __index__ = __eq__ = forever


class Table(np.ndarray):
    __array_finalize__ = __array_ufunc__ = forever


def emptied():
    value = torch.zeros(10)
    value.untyped_storage().resize_(0)
    return value


def escaped():
    out = []
    torch.vmap(lambda x: (out.append(x), x)[1])(torch.ones(3, 2))
    return out[0]


def inside_itself():
    row = []
    row.append(row)
    return row


def with_a_trap():
    value = torch.zeros(2)
    value.trap = Wicked()
    return value


VALUES = {
    "expand enorme": lambda: torch.zeros(1).expand(10**12),
    "meta": lambda: torch.zeros(2, device="meta"),
    "anidado": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "anidado por filas": lambda: torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged
    ),
    "disperso enorme": lambda: torch.sparse_coo_tensor(size=(10**6, 10**6)),
    "cuantizado": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
    "vaciado": emptied,
    "escapado de vmap": escaped,
    "de 8 bits": lambda: torch.ones(2, dtype=torch.float8_e4m3fn),
    "de bits": lambda: torch.empty(2, dtype=torch.bits8),
    "conjugado": lambda: torch.ones(2, dtype=torch.complex64).conj().imag,
    "subclase que falla": lambda: torch.ones(2).as_subclass(Loud),
    "subclase que no acaba": lambda: torch.ones(2).as_subclass(Endless),
    "parámetro sin forma": nn.UninitializedParameter,
    "tensor con trampa": with_a_trap,
    "objeto que no acaba": Wicked,
    "lista que no acaba": lambda: Row([1, 2]),
    "texto que no acaba": lambda: Text("hola"),
    "entero que no acaba": lambda: Whole(3),
    "lista dentro de sí misma": inside_itself,
    "tuplas con trampa": lambda: (Wicked(), [Wicked()], {1: Wicked()}),
    "lista enorme": lambda: [0] * (running.MEMORY // 32),
    "generador": lambda: iter(int, 1),
    "entero enorme": lambda: 10**5000,
    "texto que no se escribe": lambda: "\ud800" * 10**6,
    "clase de nombre enorme": type("X" * 10**6, (), {}),
    "NumPy de objetos": lambda: np.array([Wicked.__mro__, 1], dtype=object),
    "NumPy de subclase": lambda: np.zeros(2).view(np.recarray),
    "NumPy que no acaba": lambda: np.ndarray.__new__(Table, 2),
    "NumPy enorme": lambda: np.broadcast_to(np.zeros(1), 10**12),
    "filas vacías": lambda: torch.zeros(2**40, 0),
    "NumPy de filas vacías": lambda: np.zeros((2**40, 0)),
    "NumPy al revés": lambda: np.zeros(2, ">f4"),
    "NumPy larguísimo": lambda: np.zeros(2, np.longdouble),
    "NumPy enmascarado": lambda: np.ma.masked,
}  # fmt: skip

# Lo que no acaba al crearse o al borrarse: fuera de una llamada, es cosa de quien lo crea.
TRAPS = {"NumPy que no acaba", "tensor con trampa", "objeto que no acaba", "tuplas con trampa"}


def fails_with(text):
    def fail():
        raise ValueError(text)

    return fail


def fails_badly():
    raise type("Malo", (Exception,), {"__str__": forever, "own_line": Wicked()})


def hidden_name():
    raise type("Malo", (ImportError,), {"name": property(forever)})


def deep(number=0):
    sys.setrecursionlimit(10**9)
    return deep(number + 1)


def deep_in_c(number=0):
    sys.setrecursionlimit(10**9)
    return max([number], key=deep_in_c)


def never_yields():
    sys.setswitchinterval(10**6)
    forever()


def prints(many, text):
    def write():
        for _ in range(many):
            print(text)

    return write


def shuts():
    sys.stdout.close()
    print("¿sigues ahí?")


ACTS = {
    "error de 30 kB": fails_with("size (" * 5000),
    "error de 30 MB": fails_with("\n" * 1000 + "The size of tensor a (" + "1" * 3 * 10**7),
    "error que no se escribe": fails_with("\ud800"),
    "error que no acaba": fails_badly,
    "error sin nombre": hidden_name,
    "sin fin": deep,
    "sin fin, en C": deep_in_c,
    "no cede el turno": never_yields,
    "una línea de 10 MB": prints(1, "x" * 10**7),
    "vigila los hilos": lambda: threading.settrace(forever),
    "líneas sin fin": prints(10**9, "hola"),
    "cierra la salida": shuts,
    "escribe lo que no se escribe": prints(1, "\ud800"),
    "se comprueba a sí misma": lambda: Product().check(lambda a, b: a * b),
}


def returns(make):
    return lambda a, b: make()


def disguises(a, b):
    a.__class__ = Endless
    return a


def empties(a, b):
    a.untyped_storage().resize_(0)
    return b * 2


def leaves(a, b):
    a.data = torch.zeros(2, device="meta")
    return b * 2


class Sly:
    """Hace bien la cuenta; y a quien le pregunta de dónde salen sus nombres, lo echa."""

    def __call__(self, query, key, value, mask=None):
        return scaled_dot_product_attention(query, key, value, mask)

    def __getattr__(self, name):
        sys.exit() if name == "__globals__" else None
        raise AttributeError(name)


class Equation(str):
    strip = split = replace = property(lambda self: sys.exit())


class Signed:
    __signature__ = __code__ = property(forever)

    def __call__(self, a, b):
        return a * b


LEARNERS = {name: returns(make) for name, make in (VALUES | ACTS).items()}
LEARNERS |= {"disfraza lo que recibe": disguises, "vacía lo que recibe": empties}
LEARNERS |= {"deja lo que recibe sin números": leaves, "no dice qué recibe": Signed()}


@pytest.fixture
def hurried(monkeypatch, request):
    """Con menos paciencia: lo que importa es que vuelve."""
    if "anidado por filas" in request.node.name:  # lo carga torch, y a medias ya no sirve
        importlib.import_module("torch._dynamo")
    monkeypatch.setattr(running, "SECONDS", 0.3)
    monkeypatch.setattr(running, "TOTAL", 3.0)


def fine(report):
    """Que se pueda enseñar: en español, corto y con letras que se escriben."""
    text = str(report) + report._repr_html_()
    assert len(text.encode()) < 20_000
    assert "Traceback" not in text


def each(names):
    """Uno de cada seis, cada día."""
    marks = {i: () if i % 6 == 0 else pytest.mark.lenta for i in range(len(names))}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=marks[i]) for i, name in enumerate(names)]
    )


@each([*LEARNERS])
def test_no_answer_stops_a_check(name, hurried, capfd):
    state = sys.getrecursionlimit(), sys.getswitchinterval(), torch.get_default_dtype()
    start = time.monotonic()
    report = Product().check(LEARNERS[name])
    assert time.monotonic() - start < 20 * running.TOTAL  # holgado
    assert not report.ok
    fine(report)
    assert (sys.getrecursionlimit(), sys.getswitchinterval(), torch.get_default_dtype()) == state
    assert capfd.readouterr() == ("", "")
    assert Product().check(lambda a, b: a * b).ok


@each([*VALUES, *ACTS])
def test_no_answer_stops_a_question_or_a_class(name, hurried):
    make = (VALUES | ACTS)[name]
    fine(check_multi_head_attention.check(lambda heads, width: make()))
    question = questions.Question("0.0", "tres", lambda: 3)
    if name in VALUES and name not in TRAPS:
        report = question.check(make())
        assert not report.ok or name == "entero que no acaba"
        fine(report)
    assert question.check(3).ok


def test_what_is_asked_to_an_answer_is_asked_within_its_limits():
    assert check_scaled_dot_product_attention.check(Sly()).ok
    assert check_einsum.check(Equation("bqhd,bkhd->bhqk")).ok


def test_an_argument_that_cannot_be_looked_at_has_not_changed(hurried, monkeypatch):
    monkeypatch.setattr("course_checkers.engine.exercise.untouched", forever)
    assert [finding.id for finding in Product().check(lambda a, b: a * b).findings] == ["no-acaba"]


# --- Un tensor para todas las llamadas ------------------------------------------------------------


def shared(work):
    """Escribe siempre en el mismo sitio lo que da ``work``."""
    place = torch.zeros(100)

    def learner(a, b):
        out = place[: a.numel()]
        out.copy_(work(a, b))
        return out

    return learner


def test_what_is_told_was_returned():
    """Quien escribe siempre en el mismo tensor oye los errores de sus números; y si no hay, ese."""

    def ids(learner):
        return [finding.id for finding in Product().check(learner).findings]

    assert ids(shared(lambda a, b: a - b)) == ["resta"]
    assert ids(shared(lambda a, b: a * b)) == ["mismo-tensor"]
    known = {}
    assert ids(lambda a, b: known.setdefault(tuple(a.tolist() + b.tolist()), a * b)) == []


def test_what_is_kept_between_calls_does_not_move_the_limit(monkeypatch):
    pytest.importorskip("resource")  # Windows no lo tiene
    monkeypatch.setattr(running, "MEMORY", 2**29)
    kept = []

    def learner(a, b):
        kept.append(torch.empty(3 * 2**25))  # tres cuartos de lo que hay
        return a * b

    assert Product().check(lambda a, b: (torch.empty(3 * 2**25), a * b)[1]).ok
    report = Product().check(learner)
    assert "memoria" in {finding.id for finding in report.findings}


def test_a_check_ends_though_nobody_is_called(monkeypatch):
    """También cuenta lo que se tarda en averiguar qué ha pasado."""

    class Slow(Product):
        def compute(self, choice, a, b):
            time.sleep(0.02)
            return super().compute(choice, a, b)

    monkeypatch.setattr(running, "TOTAL", 0.1)
    report = Slow().check(lambda a, b: a + 5)
    assert [finding.id for finding in report.findings] == ["tarda"]
    assert "no sé si está bien" in str(report)
