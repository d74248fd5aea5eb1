"""El glosario: ordenado, sin repetir, con enlaces ciertos y con una sola traducción por término.

Lo comprobado está en ``notebooks/glosario.md``: la primera tabla dice qué es cada término y en qué
lección se explica; la segunda, «No digas», los nombres que no se usan en ningún sitio.
"""

import functools
import re
import unicodedata

import pytest
from prose import ROOT, markdown_piece, pieces, sources, without_italics
from tools import notebooks

FOLDER = ROOT / "notebooks"
GLOSSARY = "notebooks/glosario.md"
TEXT = (ROOT / GLOSSARY).read_text(encoding="utf-8")
HEADERS = ["término", "en español", "símbolo o forma", "qué es", "dónde se explica"], ["di", "no digas"]


def plain(text):
    """El texto sin tildes y en minúsculas, salvo la de la ñ."""
    text = unicodedata.normalize("NFD", text.replace("ñ", "\0").casefold())
    return re.sub(r"[\u0300-\u036f]", "", text).replace("\0", "ñ")


def read_tables(text):
    """Las tablas de un Markdown, cada una como una lista de filas; la primera es la cabecera."""
    tables, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and not inside:
            tables.append([])
        inside = line.startswith("|")
        if inside and not re.fullmatch(r"[\s|:-]+", line):
            tables[-1].append(cells)
    return tables


def names(cell):
    """Los nombres de una casilla: «traspuesta; trasponer», «softmax (la)»."""
    return [re.sub(r"\s*\(.*?\)", "", name).strip(" *`") for name in cell.split(";")]


def whole(name):
    """El patrón de un nombre entero, en singular o en plural, con los espacios que sean."""
    parts = (re.escape(part) + "(?:e?s)?" for part in name.split())
    return r"(?<![\w-])" + r"[\s>]+".join(parts) + r"(?![\w-])"


# --- Los términos ---------------------------------------------------------------------------------


@functools.cache
def text_of(lesson):
    nb = notebooks.read(FOLDER / lesson)
    texts = [cell.source.replace("*", "") for cell in nb.cells if cell.cell_type == "markdown"]
    return plain("\n".join(texts))


@functools.cache
def stressed(lesson):
    """Lo que una lección señala: lo que va en negrita o en cursiva, y sus títulos."""
    nb = notebooks.read(FOLDER / lesson)
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    found = re.findall(r"\*{1,2}([^*\n]+)\*{1,2}|^#+ (.+)$", text, re.MULTILINE)
    return plain("\n".join(part for parts in found for part in parts))


def lessons():
    return sorted(path.name for path in FOLDER.glob("[0-9]*.ipynb"))


def term_faults(text):
    """Dice qué falla en la tabla de términos de un glosario."""
    header, *rows = read_tables(text)[0]
    if header != HEADERS[0]:
        yield f"la cabecera no es {HEADERS[0]}"
    keys = [plain(row[0].strip("*")) for row in rows]
    for before, after in zip(keys, keys[1:], strict=False):
        if before == after:
            yield f"«{after}» está repetido"
        elif before > after:
            yield f"«{after}» va antes que «{before}»"
    spanish = [plain(name) for row in rows for name in names(row[1])]
    yield from (f"«{name}» traduce dos términos" for name in sorted(set(spanish)) if spanish.count(name) > 1)
    linked = set()
    for row in rows:
        if len(row) != len(header) or not all((row[0], row[1], row[3], row[4])):
            yield f"a la fila de «{row[0]}» le falta o le sobra algo"
            continue
        links = re.findall(r"\[(\d\d)\]\(([^)]+)\)", row[4])
        linked.update(target for _, target in links)
        for number, target in links:
            if not target.startswith(f"{number}_") or target not in lessons():
                yield f"«{row[0]}»: no hay una lección {number} en {target}"
            elif not any(re.search(whole(plain(name)), text_of(target)) for name in names(row[1])):
                yield f"«{row[0]}»: la lección {number} no dice «{row[1]}»"
        known = [target for _, target in links if target in lessons()]
        if known and not any(plain(name) in stressed(n) for n in known for name in names(row[1])):
            yield f"«{row[0]}»: ninguna de sus lecciones lo señala, en negrita o en cursiva"
    yield from (f"nada enlaza a {lesson}" for lesson in lessons() if lesson not in linked)


def test_terms():
    assert list(term_faults(TEXT)) == []


# --- No digas -------------------------------------------------------------------------------------


@functools.cache
def forbidden():
    """De cada nombre que no se usa, su patrón y el que hay que decir."""
    header, *rows = read_tables(TEXT)[1]
    assert header == HEADERS[1]
    return [(re.compile(whole(name), re.IGNORECASE), row[0]) for row in rows for name in names(row[1])]


def is_proper_name(text, match):
    """Multi-Head, LayerNorm o «Layer Normalization»: una mayúscula que no empieza una frase."""
    starts = re.search(r"(?:^|[.:?!¿¡|\n])[\s>#*-]*$", text[: match.start()])
    return match[0][1:] != match[0][1:].lower() or (match[0][0].isupper() and not starts)


def other_names(piece):
    """Dice dónde usa un trozo de prosa un nombre que no es el del curso."""
    text = without_italics(piece.text)
    for pattern, right in forbidden():
        for match in pattern.finditer(text):
            if not is_proper_name(text, match) and not re.fullmatch(whole(right), match[0]):
                yield f"{piece.where(match.start())}: «{match[0]}»; di «{right}»"


# Los bloques de las figuras llevan el nombre que les da el artículo: sus programas no se miran.
NAMED = [file for file in sources() if file != GLOSSARY and not re.match(r"imagenes/.*\.py", file)]


@pytest.mark.parametrize("file", NAMED)
def test_a_term_has_one_name(file):
    assert [fault for piece in pieces(file) for fault in other_names(piece)] == []


def test_the_glossary_uses_its_own_names():
    (piece,) = [markdown_piece(TEXT.partition("## No digas")[0], GLOSSARY)]
    assert list(other_names(piece)) == []


def test_forbidden_names_are_sorted_and_do_not_contradict_the_terms():
    rows = read_tables(TEXT)[1][1:]
    used = {plain(name) for row in read_tables(TEXT)[0][1:] for name in names(row[1])}
    articles = re.compile(r"^(el|la) ")
    keys = [plain(articles.sub("", row[0])) for row in rows]
    assert keys == sorted(set(keys))
    assert used.isdisjoint(plain(name) for row in rows for name in names(row[1]))
