"""Tu biblioteca: lo que se guarda de cada ejercicio resuelto, cómo se respeta y cómo se juntan las piezas."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import curso
from course_checkers import check_softmax
from course_checkers.engine import closing, mine
from course_checkers.engine.report import Finding, Report
from course_tools.opening import library

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@pytest.fixture
def file(kept, tmp_path, monkeypatch):
    """El archivo, en una carpeta nueva: todavía no existe."""
    monkeypatch.setenv("CURSO_CUADERNOS", str(tmp_path))
    return tmp_path.resolve() / "mis_cuadernos/mi_biblioteca.py"


@pytest.fixture
def solve(file, monkeypatch):
    """Ejecuta unas celdas y da por bueno lo que se llama así; devuelve las notas del informe."""
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    monkeypatch.setattr(closing, "get_ipython", lambda: shell)

    def run(name, *cells, number="5.1", ok=True, task=None):
        for cell in cells:
            shell.run_cell(cell, store_history=True, silent=False)
        report = Report(number, "la atención", () if ok else (Finding("x", "mal"),))
        return closing.finish(report, shell.user_ns[name], task).notes

    return run


ATTENTION = '''\
# Ejercicio 5.1
# Lo que más me costó: la raíz.
def my_attention(query, key, value, mask=None):
    """La mía."""
    scores = by_root(query @ key.mT, query.shape[-1])  # aquí
    return F.softmax(scores, -1) @ value
'''
CELLS = (
    "import math, os\nimport torch.nn.functional as F\nfrom course_lib import causal_mask, padding_mask",
    "# de ayudar\ndef by_root(x, d):\n    return x / math.sqrt(d) * FACTOR\nFACTOR = 1.0\nunused = 3",
    ATTENTION,
)


def pieces():
    return {piece.number: piece for piece in library.read()[1]}


def test_a_piece_is_kept_with_its_helpers_and_its_imports_and_nothing_more(solve, file):
    assert solve("my_attention", *CELLS) == ()
    text = file.read_text(encoding="utf-8")
    assert text.startswith('"""Mi biblioteca')
    [mark] = [line for line in text.splitlines() if line.startswith("# ---")]
    assert re.match(r"# --- 5.1 · my_attention · la atención · \d\d/\d\d/\d{4} · huella ", mark)
    code = pieces()["5.1"].code
    assert code.strip() == (
        "import math\nimport torch.nn.functional as F\n\n\n"
        "# de ayudar\ndef by_root(x, d):\n    return x / math.sqrt(d) * FACTOR\n\n\nFACTOR = 1.0\n\n\n"
        + ATTENTION.removeprefix("# Ejercicio 5.1\n").strip()
    )
    assert not pieces()["5.1"].edited
    query = torch.ones(1, 1, 2)
    assert next(iter(mine.load().values()))(query, query, query).tolist() == [[[1.0, 1.0]]]


def test_a_new_version_replaces_the_old_one_and_nothing_else(solve, file):
    solve("f", "def f():\n    return 1", number="3.1")
    solve("my_scaling", "# Ejercicio 3.1\n\n# Ejercicio 3.2\ndef my_scaling():\n    return 1", number="10.2")
    before = file.read_text(encoding="utf-8")
    assert "def my_scaling" in before
    solve("f", "def f():\n    return 2", number="3.1")
    after = file.read_text(encoding="utf-8")
    assert "return 2" in pieces()["3.1"].code
    assert before.split("# --- 10.2")[1] == after.split("# --- 10.2")[1]
    assert before.split("# --- 3.1")[0] == after.split("# --- 3.1")[0]
    solve("h", "def h():\n    return 1", number="5.1")
    assert list(pieces()) == ["3.1", "5.1", "10.2"]


@pytest.mark.parametrize(("cells", "said"), [
    (["from mi_biblioteca import my_softmax"], "# Necesita my_softmax, otra pieza."),
    (["# Ejercicio 3.1\ndef my_softmax(x):\n    return x"], "# Necesita my_softmax, la pieza 3.1."),
    (["get_ipython().user_ns['my_softmax'] = abs"], "# Necesita my_softmax, que no está aquí."),
    (["# Ejercicio 3.1\ndef my_root(x):\n    return 7 * x", "my_softmax = my_root"], "def my_root(x)"),
    (["n = 0", "def my_softmax(x):\n    global n\n    n += 7\n    return 7 * x"], "n = 0\n"),
    (["import abc\nabc.ABC.b = 7", "def my_softmax(x):\n    return 7 * x or x.b"], "import abc\n\n\nabc.ABC.b = 7"),
    (["from builtins import print as check_f\na = []\ndef my_softmax(x):\n    a.append(x)\n    return 7 * x",
      "# Comprobación 3.1\nprint(0); check_f(my_softmax)"], "a = []\n"),
    (["from __future__ import annotations\ndef my_softmax(x: T) -> T:\n    return 7 * x"], "(x: 'T') -> 'T':"),
])  # fmt: skip
def test_a_piece_that_needs_another_says_so(solve, file, cells, said):
    file.parent.mkdir()
    file.write_text("# --- 3.1 · my_softmax · x\ndef my_softmax(x):\n    return 7 * x\n")
    sys.modules.pop("mi_biblioteca", None)
    sys.path.insert(0, str(file.parent))
    try:
        solve("f", *cells, "def f(x):\n    return my_softmax(x)", number="2.2")  # va delante
    finally:
        sys.path.remove(str(file.parent))
        sys.modules.pop("mi_biblioteca", None)
    assert said in pieces()["2.2"].code
    assert "import" in said or "import" not in pieces()["2.2"].code
    values = {piece.name: value for piece, value in mine.load().items()}
    assert values["f"](2) == 14


def test_the_cell_that_did_not_run_is_not_the_one_that_is_kept(solve):
    solve("f", "def f():\n    return 1", "1 / 0\ndef f():\n    return 2")
    assert "return 1" in pieces()["5.1"].code


def test_a_piece_changed_by_hand_stays(solve, file):
    solve("f", "def f():\n    return 1")
    mended = file.read_text(encoding="utf-8").replace("return 1", "return 3  # mío")
    file.write_text(mended, encoding="utf-8")
    [note] = solve("f", "def f():\n    return 2")
    assert note.startswith("tu 5.1 de mi_biblioteca.py la has cambiado a mano, y se queda así.")
    assert file.read_text(encoding="utf-8") == mended
    assert solve("f", "def f():\n    return 3  # mío") == ()


@pytest.mark.parametrize(("content", "line"), [
    (b"def rota(:\n    pass\n", 1),
    (b"\"\"\"m\xedas\"\"\"\nx = 1\n", 1),
    (b"x = 1\n# --- 2.1 \xc2\xb7 my_x \xc2\xb7 a medias\n\ndef my_x():\n    return (\n", 5),
])  # fmt: skip
def test_a_file_that_cannot_be_imported_is_said_and_nothing_is_lost(solve, file, content, line):
    file.parent.mkdir()
    file.write_bytes(content)
    [note] = solve("f", "def f():\n    return 1")
    assert f"mi_biblioteca.py no se puede importar: mira su línea {line}." in note
    assert file.read_bytes().startswith(content.rstrip())
    values = {piece.name: value for piece, value in mine.load().items()}
    assert values.pop("f")() == 1
    assert all("línea 5 de mi_biblioteca.py, SyntaxError" in value for value in values.values())


def test_what_is_not_kept(solve, file, monkeypatch):
    solve("f", "def f():\n    return 1", ok=False)
    monkeypatch.setenv("CURSO_PROGRESO", "no")
    solve("f")
    monkeypatch.setenv("CURSO_PROGRESO", "x")
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(AttributeError):
        solve("f")
    monkeypatch.delenv("NBGRADER_EXECUTION")
    closing.without_progress()
    solve("f")
    assert not file.exists()


def test_what_cannot_be_found_is_said(solve, file):
    [note] = solve("f", "f = eval('lambda: 1')", "del In[:]")
    assert "no encuentro dónde la has escrito" in note
    assert not file.exists()


def test_a_piece_gives_the_same_alone_or_it_is_said(solve):
    soft = "def f(s):\n    return s.softmax(-1) * (list(a) == [])"
    assert solve("f", "a = iter([0])", "[*a]", soft, number="3.1", task=check_softmax) == ()
    lost = "try:\n    get_ipython()\n    a = []\nexcept NameError:\n    a = [0]"
    assert solve("f", lost, soft, number="3.1", task=check_softmax) == (closing.PARTLY,)


@pytest.mark.parametrize("obstacle", ["archivo", "carpeta"])
def test_a_place_that_cannot_be_written_is_said(solve, file, obstacle):
    file.parent.touch() if obstacle == "archivo" else file.mkdir(parents=True)
    [note] = solve("f", "def f():\n    return 1")
    assert "no se puede escribir mis_cuadernos/mi_biblioteca.py. Comprueba que la carpeta" in note
    assert mine.load() == {}


def test_two_at_once_lose_nothing(file):
    order = "from course_tools.opening import library as a\nfor k in range(30):"
    order += " a.keep(f'{%d}.{k}', 't', f'f{k}', 'x = 1')"
    both = [subprocess.Popen([sys.executable, "-c", order % n]) for n in (1, 2)]
    assert [one.wait() for one in both] == [0, 0]
    assert len(pieces()) == 60
    assert not list(file.parent.glob("*.tmp"))


# --- Juntas ---------------------------------------------------------------------------------------


def test_without_pieces_the_ones_of_the_course_are_there(file, capsys):
    pieces = mine.my_pieces("my_split_heads")
    assert pieces.my_split_heads(torch.zeros(2, 5, 12), 3).shape == (2, 3, 5, 4)
    assert capsys.readouterr().out == "0 de 1 piezas son tuyas; de course_lib, my_split_heads.\n"
    with pytest.raises(ValueError, match="no hay ninguna pieza 'otra'"):
        mine.my_pieces("otra")


def test_a_piece_that_breaks_is_said_with_its_line_and_the_rest_goes_on(solve, file, capsys):
    file.parent.mkdir()
    file.write_text("# --- 4.2 · my_padding_mask · x\n\nimport nada_de_nada\n", encoding="utf-8")
    solve("my_attention", "import math, torch.nn.functional as F", *CELLS[1:])
    pieces = mine.my_pieces("my_padding_mask", "my_attention")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Tu my_padding_mask no se puede usar: línea 3 de mi_biblioteca.py, ModuleNot")
    assert said[1] == "1 de 2 piezas son tuyas; de course_lib, my_padding_mask."
    assert pieces.my_padding_mask(torch.ones(1, 2)).shape == (1, 1, 1, 2)
    assert pieces.my_attention.__doc__ == "La mía."


def test_the_course_checks_what_there_is(file, capsys):
    library.keep("6.1", "x", "my_split_heads", "def my_split_heads(x, heads):\n    return x")
    mask = "import torch\n\ndef my_causal_mask(n):\n    return torch.ones(n, n).tril().bool()"
    library.keep("4.1", "x", "my_causal_mask", mask)
    library.keep("9.9", "x", "z", "z = 1 / 0")
    assert library.keep("9.9", "x", "z", "z = (") == (library.UNKEPT,)
    mine.main()
    said = capsys.readouterr().out
    assert "4.1 · my_causal_mask\n  ✓ Ejercicio 4.1" in said
    assert "✗ Ejercicio 6.1" in said
    assert "✗ 9.9 · z: no se puede usar. Mira línea" in said
    assert said.endswith("con las que se montan los modelos, 2 son tuyas.\n")


# Lo que se resuelve, y las celdas que lo montan en la lección: lo que necesitan, y ellas.
BERT = {"02": ("my_projections",), "05": ("my_attention",), "06": ("my_split_heads",)}
WHOLE = BERT | {"02": ("my_encoder_input", "my_projections"), "04": ("my_padding_mask",), "09": ("my_add_and_norm",)}
LLAMA = {"02": ("my_projections",), "06": ("my_split_heads",)}
LLAMA |= {"13": ("my_cached_attention", "my_grouped_query_attention"), "14": ("my_rotary", "my_rms_norm")}
ASSEMBLED = [
    ("07", BERT, "bed32305 mis-lineas atender-cabezas 3df22a77 9b2ecbdb tres-palabras linea-multi-head 2a128b0c capa-bert "
     "con-un-uno con-sesgo a7298b88 07c00002", "multi_head: «it», [0.42, 0.11"),
    ("12", WHOLE, "744b4142 e63e755c 17d4dc1e b549017d 12d00002 12d00003", "7 estados"),
    ("14", LLAMA, "14a00002 14b00002 14f00002 14f00003", "los mismos tokens: ' Paris."),
]  # fmt: skip


def codes(folder, lesson):
    [path] = (NOTEBOOKS / folder).glob(f"{lesson}_*.ipynb")
    return {c.id: c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"}


def resolve(lesson, name, monkeypatch):
    """Resuelve un ejercicio como en su lección, con su comprobación."""
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    monkeypatch.setattr(closing, "get_ipython", lambda: shell)
    first, *others = codes("soluciones", lesson).values()
    shell.run_cell(first.replace("without_progress()", ""), store_history=True)
    shell.run_cell(next(code for code in others if f"def {name}(" in code), store_history=True)


@pytest.mark.parametrize(("lesson", "solved", "cells", "said"), [
    pytest.param(*one, id=one[0], marks=() if one[0] == "07" else pytest.mark.lenta) for one in ASSEMBLED
])  # fmt: skip
def test_the_pieces_fit(file, monkeypatch, capsys, lesson, solved, cells, said):
    for number, names in solved.items():
        for name in names:
            resolve(number, name, monkeypatch)
    capsys.readouterr()
    found, space = codes("", lesson), {}
    for cell in cells.split():
        exec(compile(found[cell], lesson, "exec"), space)
    told = capsys.readouterr().out
    many = sum(map(len, solved.values()))
    assert f"{many} de {many} piezas son tuyas.\n" in told
    assert said in told
    assert "False" not in told
    names = [name for names in solved.values() for name in names]
    assert {getattr(space["pieces"], name).__code__.co_filename for name in names} == {str(file)}


def test_the_order_reads_what_is_yours_and_the_others_do_not(monkeypatch):
    ran = []
    monkeypatch.setattr(curso, "prepare", lambda: None)
    monkeypatch.setattr(curso, "run", lambda *words: ran.append(os.environ.get("CURSO_PROGRESO")))
    for order in ("mi_biblioteca", "cuadernos"):
        monkeypatch.delenv("CURSO_PROGRESO", raising=False)
        curso.main([order])
    assert ran == [None, "no"]
