"""Leer código ajeno: sus instrucciones numeradas, cuáles se ejecutan y, al lado, las del curso."""

import ast
import copy
import inspect
import sys
import textwrap
from html import escape
from typing import NamedTuple

from course_lib.plots.palette import CYCLE, GREY, INK, MIST, YELLOW

WIDEST, WRAPPED = 74, 160  # letras de una línea; con varias, las de una instrucción


class Statement(NamedTuple):
    """Una instrucción; de ``if``, ``for``, ``while`` y ``with``, solo su cabecera.

    Args:
        text: la instrucción, en una línea, con su sangría.
        lines: en qué líneas de su archivo está.
    """

    text: str
    lines: range


def statements(function):
    """Las instrucciones de una función, en orden y sin su texto de ayuda."""
    source, first = inspect.getsourcelines(inspect.unwrap(function))
    tree = ast.parse(textwrap.dedent("".join(source))).body[0]
    found = []

    def visit(nodes, depth, before=""):
        for node in nodes:
            alone = copy.copy(node)
            inner, rest = (getattr(node, name, []) for name in ("body", "orelse"))
            if inner:
                alone.body, alone.orelse = [], []
            last = inner[0].lineno - 1 if inner else node.end_lineno
            text = "  " * depth + before + " ".join(ast.unparse(alone).split())
            found.append(Statement(text, range(first + node.lineno - 1, first + last)))
            visit(inner, depth + 1)
            visit(rest[:1], depth, "el" if [*map(type, rest)] == [ast.If] else "else: ")
            visit(rest[1:], depth + 1)

    visit(tree.body[ast.get_docstring(tree) is not None :], 0)
    return found


def ran(function, call):
    """Qué instrucciones de una función se ejecutan al llamar a ``call``: sus posiciones, en orden."""
    code, lines = inspect.unwrap(function).__code__, set()

    def line(frame, event, _):
        lines.add(frame.f_lineno)
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: line if frame.f_code is code else None)
    try:
        call()
    finally:
        sys.settrace(before)
    return [i for i, one in enumerate(statements(function)) if lines.intersection(one.lines)]


class Listing:
    """Una o dos columnas de código, cada instrucción con su número y su etiqueta de color.

    Args:
        columns: título → filas ``(número, etiqueta, texto)``.
        foot: lo que se dice debajo.
    """

    def __init__(self, columns, foot=""):
        self.columns, self.foot = columns, foot

    def __repr__(self):
        parts = []
        for title, rows in self.columns.items():
            wide = max(len(label) for _, label, _ in rows)
            lines = [f"{i:>3} {name:{wide}} │ {_cut(text)}" for i, name, text in rows]
            parts += [title, *lines, ""]
        return "\n".join([*parts, self.foot]).rstrip()

    def _repr_html_(self):
        names = dict.fromkeys(name for rows in self.columns.values() for _, name, _ in rows if name)
        colours, html = dict(zip(sorted(names), (*CYCLE, YELLOW, GREY, INK) * 2)), []
        for title, rows in self.columns.items():
            cells = "".join(_row(*row, colours.get(row[1], MIST)) for row in rows)
            html.append(
                f'<div style="min-width:0"><strong><code>{escape(title)}</code></strong>{cells}</div>'
            )
        grid = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26em,100%),1fr));gap:0 2em"
        return f'<div style="{grid}">{"".join(html)}</div><p>{escape(self.foot).replace(chr(10), "<br>")}</p>'


def _cut(text, most=WIDEST):
    return text if len(text) <= most else text[: most - 1] + "…"


def _row(number, label, text, colour):
    style = f"border-left:6px solid {colour};padding-left:8px;display:grid;"
    style += "grid-template-columns:1.7em 6.5em minmax(0,1fr);align-items:baseline"
    code = f'<code style="white-space:pre-wrap;overflow-wrap:anywhere">{escape(_cut(text, WRAPPED))}</code>'
    return f'<div style="{style}"><span>{number}</span><strong>{escape(label)}</strong>{code}</div>'
