"""Enseñar en un cuaderno el código de la propia biblioteca."""

import ast
import inspect
import pkgutil
import re
import textwrap


def show_source(thing, docstring=True):
    """Muestra el código de una función o clase del curso, coloreado.

    El texto se lee del archivo en el momento: lo que ves es lo que se ejecuta.

    Args:
        thing: una clase, función o método, o su nombre completo: por ejemplo,
            ``MultiHeadAttention`` o ``"course_lib.attention.MultiHeadAttention.forward"``.
        docstring: si es False se omiten los textos de ayuda y queda solo el código.

    Returns:
        Un objeto que el cuaderno muestra como código de Python.

    Raises:
        ValueError: si el nombre no existe o no tiene código que enseñar.
    """
    from IPython.display import Markdown

    if isinstance(thing, str):
        thing = _find(thing)
    try:
        code = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    except (TypeError, OSError):
        raise ValueError(
            f"show_source: {thing!r} no tiene código Python que enseñar. Pásale una clase o una "
            "función, por ejemplo show_source(MultiHeadAttention)."
        ) from None
    if not docstring:
        code = _without_docstrings(code)
    # Markdown y no HTML: así los colores son los del tema, claro u oscuro.
    return Markdown(f"```python\n{code.rstrip()}\n```")


def _find(name):
    for full_name in (f"course_lib.{name}", name):
        try:
            return pkgutil.resolve_name(full_name)
        except (ImportError, AttributeError, ValueError):
            pass
    raise ValueError(
        f"show_source: no encuentro «{name}». Escribe su nombre completo, por ejemplo "
        '"course_lib.attention.MultiHeadAttention".'
    )


def _without_docstrings(code):
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            text = node.body[0]
            first = text.lineno - 1
            lines[first : text.end_lineno] = [None] * (text.end_lineno - first)
            if len(node.body) == 1:  # una función que solo tiene su docstring
                lines[first] = " " * text.col_offset + "..."
    # Sin la docstring, tras la cabecera no queda una línea en blanco; ni dos, en ningún sitio.
    kept = "\n".join(line for line in lines if line is not None)
    return re.sub(r"(:\n|\n\n)\n+", r"\1", kept)
