"""La prosa del curso: lo que lee una persona, sin código, fórmulas ni direcciones.

Lo comparten la prueba de ortografía y la del glosario. Lo que no es prosa se cambia por ceros, letra
a letra: así, cada palabra conserva su línea.
"""

import ast
import functools
import io
import os
import re
import tokenize
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from spylls.hunspell import Dictionary
from tools import notebooks

ROOT = Path(__file__).resolve().parents[1]

EXTENSIONS = "py|ipynb|md|txt|toml|svg|gif|png|json|yml|cfg|ini|log"
NOT_PROSE = re.compile(
    r"(?P<front>\A---\n.*?^---$)"  # los ajustes de una página
    r"|(?P<fence>^[ >]*(?P<marks>```|~~~).*?^[ >]*(?P=marks))"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<formula>(?<!\\)\$\$.+?\$\$|(?<!\\)\$[^$]+\$)"
    r"|(?P<tag><!--.*?-->|</?[A-Za-z][^<>]*>)"
    r"|(?P<target>(?<=\])\([^()\s]*(?:\s+\"[^\"]*\")?\))"
    r"|(?P<mistake>(?<=\d · )[^\s:]+(?=:))"  # en las notas de una clase, el nombre de un error
    r"|(?P<address>https?://[^\s)>]+|\b\w+\.org\b[\w/]*|&\w+;)"
    rf"|(?P<file>[\w./\\-]*\w\.(?:{EXTENSIONS})\b)"
    r"|(?P<option>(?<!\S)-(?:-[\w-]+|\w \w+))",
    re.DOTALL | re.MULTILINE,
)
CHECKED = {"function", "cls", "equation"}  # lo que recibe una comprobación: lo cuenta su clase
WITH_DOCSTRING = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
ITALICS = re.compile(r"(?<![*\w\\])\*(?![*\s])([^*]+)\*(?![*\w])")
QUOTES = re.compile(r"«([^«»]+)»|“([^“”]+)”|\"([^\"\n]+)\"")


class Piece(NamedTuple):
    """Un trozo de prosa: de qué archivo y celda sale, en qué línea empieza y qué dice."""

    file: str
    cell: int | None
    line: int
    text: str
    is_string: bool = False

    def where(self, position):
        """Dice en qué sitio está el carácter `position` del texto."""
        line = self.line + self.text.count("\n", 0, position)
        cell = f", celda {self.cell}" if self.cell else ""
        return f"{self.file}{cell}, línea {line}"


def zeros(text):
    return re.sub(r"[^\n]", "0", text)


def _hide(match):
    if match["formula"]:  # de una fórmula se lee lo que va en \text{…}, como si fuera cursiva
        return re.sub(
            r"\\text\{([^{}]*)\}|[^\n]",
            lambda part: f"    *{part[1]}* " if part[1] else zeros(part[0]),
            match[0],
        )
    alternative = re.search(r"\balt=([\"'])(.*?)\1", match["tag"] or "", re.DOTALL)
    if alternative:
        start, end = alternative.span(2)
        return f"{zeros(match[0][: start - 1])} {alternative[2]} {zeros(match[0][end + 1 :])}"
    return zeros(match[0])


def clean(text):
    """Deja de un texto en Markdown solo la prosa; las cursivas siguen entre asteriscos."""
    return NOT_PROSE.sub(_hide, text).replace("**", "  ")


def without_italics(text):
    """Quita de un texto ya limpio lo que va en cursiva."""
    return ITALICS.sub(lambda match: zeros(match[0]), text)


# --- Los archivos del curso -----------------------------------------------------------------------


@functools.cache
def ignored_patterns():
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    return [line.strip("/") for line in lines if line and not line.startswith("#")]


def is_made(path):
    """Si es de lo que se hace al usar el curso, y ``.gitignore`` lo dice: ``mis_cuadernos``, ``_sitio``…"""
    parts = path.strip("/").split("/")
    wholes = {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return any(fnmatch(one, rule) for rule in ignored_patterns() for one in {*parts, *wholes})


@functools.cache
def course_files():
    """Las rutas de todo lo que es del curso, desde la raíz."""
    found = set()
    for folder, inside, names in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        inside[:] = [one for one in inside if one != ".git" and not is_made((here / one).as_posix())]
        found |= {(here / name).as_posix() for name in names}
    return {path for path in found if not is_made(path)}


def documents():
    """Los documentos: todo lo que está en Markdown y no es un cuaderno."""
    return sorted(path for path in course_files() if path.endswith(".md"))


# --- De cada archivo, sus trozos ------------------------------------------------------------------


def sources():
    """Los archivos con prosa en español que lee un estudiante o quien contribuye."""
    modules = [
        path
        for folder in ("course_lib", "course_checkers", "course_tools", "imagenes", "sitio", "aula")
        for path in (ROOT / folder).rglob("*.py")
        if "imitation/torch" not in path.as_posix()  # sus errores son los de torch, en inglés
    ]
    told = (ROOT / "course_checkers").rglob("*.txt")  # las frases de las comprobaciones
    decks = sorted(ROOT.glob("notebooks/clases/*.ipynb"))
    paths = [ROOT / "curso.py", *sorted(modules), *sorted(told), *notebooks.course_notebooks()]
    found = [path.relative_to(ROOT).as_posix() for path in dict.fromkeys(paths + decks)]
    asked = "course_checkers/engine/prediction.toml"
    return [*found, asked, "course_lib/probes/sentences_es.json", *documents()]


@functools.cache
def pieces(file):
    """Los trozos de prosa del archivo `file`, con su ruta desde la raíz del curso."""
    path = ROOT / file
    if path.suffix == ".ipynb":
        return list(notebook_pieces(notebooks.read(path), file))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":  # los huecos de una plantilla: «El {first}»
        text = re.sub(r"\{\w+\}", lambda match: zeros(match[0]), text)
    if path.suffix == ".toml":  # lo que va entre comillas
        lines = enumerate(text.splitlines(), 1)
        found = ((n, said) for n, line in lines for said in re.findall(r'"([^"]*)"', line))
        return [Piece(file, None, n, clean(said), True) for n, said in found]
    if path.suffix == ".txt":
        return list(told_pieces(text, file))
    return list(python_pieces(text, file)) if path.suffix == ".py" else [markdown_piece(text, file)]


def markdown_piece(text, file="", cell=None):
    return Piece(file, cell, 1, clean(text))


def notebook_pieces(nb, file=""):
    """El texto de un cuaderno y, de su código, los comentarios y lo que enseña."""
    for number, cell in enumerate(nb.cells, 1):
        if cell.cell_type == "markdown":
            yield markdown_piece(cell.source, file, number)
        elif cell.cell_type == "code":
            yield from python_pieces(cell.source, file, number)


def python_pieces(source, file="", cell=None):
    """Las docstrings, los comentarios y los textos con espacios de un programa."""
    tree, lines = ast.parse(source), source.split("\n")
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | CHECKED
    for node in ast.walk(tree):  # lo que guarda un explorador o un informe se declara en su clase
        if isinstance(node, ast.ClassDef):
            fields = [target for line in node.body for target in getattr(line, "targets", ())]
            fields += [line.target for line in node.body if isinstance(line, ast.AnnAssign)]
            names |= {field.id for field in fields if isinstance(field, ast.Name)}
    for line, text in _comments(source):
        yield Piece(file, cell, line, _clean_python(text, names))
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node) is not None:
            value = node.body[0].value
            docstrings.add(value)
            yield Piece(file, cell, value.lineno, _clean_python(value.value, names))
    for node, text in _strings(tree):
        if " " in text and node not in docstrings and not _is_raw(lines, node):
            yield Piece(file, cell, node.lineno, _clean_python(text, names), is_string=True)


def _is_raw(lines, node):
    """Dice si un texto es r"…": una expresión regular."""
    return re.match(rb"(?i)r|fr|rf", lines[node.lineno - 1].encode()[node.col_offset :])


def told_pieces(source, file=""):
    """Las frases de las comprobaciones, «nombre · dónde se explica · frase», y sus comentarios."""
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("#"):
            yield Piece(file, None, number, _clean_python(line[1:], ()))
        elif " · " in line:
            sentence = _clean_python(line.split("·", 2)[2], ())
            yield Piece(file, None, number, sentence, is_string=True)


# En un texto de un programa: {campos}, llamadas(x), nombres.con.puntos, tablas[0], nombres = valor y
# "valores".
CODE = re.compile(
    r"\{[^{}\n]*\}|\w+\([^()\n]*\)|\w+(?=\()|\w*(?:\.[A-Za-z_]\w*)+|\w+\[\w*\]|\w+(?= ?= )|\w+=\S+"
    r'|"[a-z_]+"'
)


def _clean_python(text, names):
    """Quita además el código y los argumentos: los de «Args:» y las listas como (query, key)."""
    argument = "|".join(sorted(names)) or "-"
    arguments = (
        rf"^ *(?:{argument})(?:, (?:{argument}))*:|^ *(?:Args|Attributes|Returns|Raises|Yields):$"
        rf"|\((?:(?:{argument}), )+(?:{argument})\)"
    )
    text = CODE.sub(lambda match: zeros(match[0]), clean(text))
    return re.sub(arguments, lambda match: zeros(match[0]), text, flags=re.MULTILINE)


def _comments(source):
    """Los comentarios, con su línea; los que van uno debajo de otro son uno solo."""
    blocks, below = [], None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|# *(noqa|fmt):", token.string):
            continue
        line, column = token.start
        if (line, column) == below:
            blocks[-1][1] += "\n" + token.string[1:]
        else:
            blocks.append([line, token.string[1:]])
        below = line + 1, column
    return blocks


def _strings(tree):
    """Los textos del programa; lo que una f-string calcula cuenta como un cero."""
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(part for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if node in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            values = [part.value if isinstance(part, ast.Constant) else "0" for part in node.values]
            yield node, "".join(values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


@functools.cache
def dictionary(language):
    own = ROOT / "tests" / "diccionario" / language  # el inglés viene con spylls
    return Dictionary.from_files(language if language == "en_US" else str(own))


@functools.cache
def is_in(language, word):
    """Dice si la palabra está en el diccionario de esa lengua, «es_ES» o «en_US»."""
    return dictionary(language).lookup(word)
