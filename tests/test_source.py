"""show_source enseña el código que de verdad se ejecuta."""

import ast
import inspect

import pytest
from helpers import LIBRARY
from IPython.display import Markdown

import course_lib
from course_lib import MultiHeadAttention, show_source

PUBLIC = [name for name in course_lib.__all__ if callable(getattr(course_lib, name))]
OTHERS = ["MultiHeadAttention.forward", "bert._load", "bert.Bert", "model_files.folders.reading"]


def code_of(shown):
    """El código de un bloque ```python de Markdown."""
    assert isinstance(shown, Markdown)
    assert shown.data.startswith("```python\n")
    assert shown.data.endswith("\n```")
    code = shown.data[len("```python\n") : -len("\n```")]
    assert not any(line.lstrip().startswith("```") for line in code.split("\n")), "cierra el bloque"
    return code


class WithoutDocstrings(ast.NodeTransformer):
    """Quita las docstrings del árbol; si no queda nada más, pone «...»."""

    def visit(self, node):
        self.generic_visit(node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Expr(ast.Constant(...))]
        return node


@pytest.mark.parametrize("name", PUBLIC)
def test_the_text_is_the_source(name):
    """Por el objeto, por su nombre y por su nombre completo: lo mismo que inspect.getsource."""
    thing = getattr(course_lib, name)
    expected = inspect.getsource(inspect.unwrap(thing)).rstrip()
    for way in (thing, name, f"course_lib.{name}", f"{thing.__module__}.{thing.__qualname__}"):
        assert code_of(show_source(way)) == expected


@pytest.mark.parametrize("thing", [*PUBLIC, *OTHERS])
def test_without_docstrings_it_is_the_same_code(thing):
    """Sin docstrings se sigue pudiendo leer, y es el mismo programa menos las docstrings."""
    whole = ast.parse(code_of(show_source(thing)))
    short = code_of(show_source(thing, docstring=False))
    assert ast.dump(ast.parse(short)) == ast.dump(WithoutDocstrings().visit(whole))
    assert not any(
        ast.get_docstring(node)
        for node in ast.walk(ast.parse(short))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    )
    assert "\n\n\n" not in short


@pytest.mark.parametrize("module", LIBRARY, ids=lambda module: module.__name__)
def test_a_whole_module(module):
    assert code_of(show_source(module)) == inspect.getsource(module).rstrip()


@pytest.mark.parametrize(
    "name", ["NoExiste", "course_lib.attention.NoExiste", "no_existe.Nada", "", ".", "..mal", "a b"]
)
def test_unknown_names(name):
    """Un nombre que no existe: el error lo repite y da uno que sí."""
    with pytest.raises(ValueError, match="MultiHeadAttention") as error:
        show_source(name)
    assert f"«{name}»" in str(error.value)


@pytest.mark.parametrize(
    "thing", [3, None, len, MultiHeadAttention(1, 2)], ids=["número", "None", "len", "objeto"]
)
def test_things_without_source(thing):
    with pytest.raises(ValueError, match="no tiene código Python que enseñar.*show_source"):
        show_source(thing)
