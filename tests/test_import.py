"""Importar el curso es barato, y todo lo público está explicado."""

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
from helpers import LIBRARY
from jupyter_client.manager import start_new_kernel
from nbformat.v4 import new_code_cell, new_notebook
from torch import nn

import course_lib

ROOT = Path(__file__).resolve().parent.parent
HEAVY = "transformers", "matplotlib", "IPython", "huggingface_hub", "safetensors", "ipywidgets"
SPANISH = {"de", "la", "el", "los", "las", "que", "con", "y", "en", "una", "un", "es", "por", "se"}


def heavy_after(code):
    """Qué paquetes pesados quedan cargados, en un Python nuevo, después de ``code``."""
    program = f"{code}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return run.stdout.split()


@pytest.mark.parametrize("code", [
    "import course_lib; dir(course_lib)",
    "import course_lib, sys; assert 'torch' not in sys.modules",  # él solo, tampoco torch
    pytest.param("from course_lib import MultiHeadAttention, causal_mask", marks=pytest.mark.lenta),
    "from course_lib import Transformer, load_bert, show_source; import course_lib.bert",
])  # fmt: skip
def test_importing_is_light(code):
    """Importar no carga transformers, ni matplotlib, ni IPython; solo se cargan al usarlos."""
    assert heavy_after(code) == []


def test_an_explorer_reads_with_the_encoder_of_the_course():
    """Los que leen una frase no esperan a transformers: sus números ya los da el encoder de aquí."""
    names = "AttentionExplorer", "InfluenceExplorer", "MultiHeadExplorer", "QKVExplorer"
    made = "; ".join(f"explorers.{name}()" for name in names)
    assert "transformers" not in heavy_after(f"from course_lib import explorers; {made}")


# --- El kernel de las lecciones -------------------------------------------------------------------

LOADED = """import sys
print(*sorted({name.split(".")[0] for name in sys.modules} & {"course_checkers", "torch"}))"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Un kernel como el que abre JupyterLab con una lección: ejecuta código y da lo que sale."""
    path = tmp_path / "05_una.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("LAYER = 3")]), path)
    monkeypatch.setenv("JUPYTER_PATH", str(ROOT / ".jupyter"))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    manager, client = start_new_kernel(startup_timeout=180, cwd=str(tmp_path))

    def run(code):
        said = []
        client.execute_interactive(
            code, output_hook=lambda message: said.append(message["content"]), timeout=180
        )
        return "\n".join(one.get("text") or "\n".join(one.get("traceback", ())) for one in said)

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_fresh_kernel_loads_no_checker_until_a_lesson_asks(kernel):
    """Recién arrancado no tiene ni torch, y ya sabe qué celda crea el nombre que falta."""
    assert kernel(LOADED).split() == []
    assert "«LAYER» sale de una celda de más arriba" in kernel("LAYER")
    assert kernel(LOADED).split() == []
    kernel("from course_lib import causal_mask")
    assert kernel(LOADED).split() == ["torch"]
    kernel("from course_checkers import check_softmax")
    assert kernel(LOADED).split() == ["course_checkers", "torch"]


# --- Los nombres ----------------------------------------------------------------------------------


def test_every_name_resolves():
    """Todo lo anunciado existe, aparece en dir() y vive en el módulo que dice."""
    assert len(course_lib.__all__) == len(set(course_lib.__all__))
    for name in course_lib.__all__:
        assert getattr(course_lib, name) is not None
    assert set(course_lib.__all__) <= set(dir(course_lib))


def test_what_every_notebook_imports_exists():
    """De día también: las lecciones largas solo se ejecutan de noche."""
    lost = []
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in nbformat.read(path, 4).cells:
            plain = "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))
            for node in ast.walk(ast.parse(plain)) if cell.cell_type == "code" else ():
                if isinstance(node, ast.ImportFrom) and node.module.startswith("course_"):
                    given = importlib.import_module(node.module)
                    lost += [f"{path.name}: {node.module}.{one.name}" for one in node.names if not hasattr(given, one.name)]
    assert lost == []


def test_unknown_name():
    """El error dice qué no existe y qué hay."""
    with pytest.raises(AttributeError, match="«Atencion».*MultiHeadAttention"):
        course_lib.Atencion  # noqa: B018
    with pytest.raises(ImportError, match="Atencion"):
        exec("from course_lib import Atencion")


# --- Docstrings -----------------------------------------------------------------------------------


def public_things():
    """(nombre, objeto) de cada función, clase y método públicos de la biblioteca de referencia."""
    for module in LIBRARY:
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for method, function in vars(thing).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{module.__name__}.{name}.{method}", function


THINGS = dict(public_things())
each_thing = pytest.mark.parametrize("name", [name for name in THINGS if "extra_repr" not in name])


@each_thing
def test_docstring_in_spanish(name):
    """Toda función, clase y método públicos tienen una docstring en español."""
    text = inspect.getdoc(THINGS[name])
    assert text
    words = set(text.lower().split())
    assert words & SPANISH
    assert not words & {"the", "of", "returns", "with"}
    assert text.rstrip()[-1] in ".)»`:0123456789"


@each_thing
def test_docstring_says_arguments_results_and_shapes(name):
    """Los argumentos salen nombrados, en su lista o en la frase si es una; y las formas y las fuentes."""
    thing = THINGS[name]
    text = inspect.getdoc(thing)
    if inspect.isclass(thing) and not issubclass(thing, nn.Module):
        return
    parameters = [name for name in inspect.signature(thing).parameters if name != "self"]
    if name.endswith(".forward"):
        assert "(B, L" in text or "(B, m_" in text or "(..., L" in text, "falta la forma"
    elif len(parameters) > 1:
        assert "Args:" in text or "\n" not in text
        assert [name for name in parameters if name not in text] == []
    if inspect.isclass(thing):
        assert "Fuente:" in text or "et al." in text


def test_docstrings_name_their_errors():
    """Si el código de una función pública lanza un error, su docstring lo nombra."""
    for name, thing in THINGS.items():
        if not inspect.isfunction(thing):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing))))
        raised = {
            node.exc.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        }
        assert [error for error in raised if error not in thing.__doc__] == [], name


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="este entorno no lo ha hecho curso.py")
def test_jupyter_does_not_compile_what_nobody_uses():
    """El entorno que hace curso.py da por no instalada la gramática que jsonschema compila al cargarse."""
    code = "import sys, nbformat; print('lark' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
