"""El español del curso, sin faltas: lecciones, docstrings, mensajes, textos alternativos y documentos.

El diccionario de ``tests/diccionario`` es el de LibreOffice (RLA-ES 2.8) y lo lee spylls, un Hunspell
escrito en Python. Las palabras del curso que no conoce están en ``tests/palabras.txt``, una por
línea y por orden alfabético. Lo que va entre comillas o en cursiva puede estar en inglés.
"""

import functools
import itertools
import re
import unicodedata
from pathlib import Path

import pytest
from prose import ITALICS, QUOTES, dictionary, is_in, pieces, sources

HERE = Path(__file__).resolve().parent
LETTERS = "a-zA-ZáéíóúüñÁÉÍÓÚÜÑ"
TOKEN = re.compile(r"\w+(?:[-'’]\w+)*")
DOUBLED = re.compile(
    rf"(?<![\w-])([{LETTERS}]{{2,}}|[aeouy])(?:[ \t]+|[ \t]*\n[ \t>]*)\1(?![\w-])", re.IGNORECASE
)


def pairs_in(text):
    """Las parejas de una lista como «dos tres, cuatro cinco»: palabra → palabra."""
    return dict(pair.split() for pair in text.split(","))


# Palabras que existen y que aquí son una falta: la ortografía de antes de 2010, o la tilde olvidada.
UNWANTED = pairs_in("""
sólo solo, guión guion, éste este, ésta esta, éstos estos, éstas estas, ésto esto, ése ese, ésa
esa, ésos esos, ésas esas, aquél aquel, aquélla aquella, aquéllos aquellos, aquéllas aquellas,
mas más, mascara máscara, mascaras máscaras, numero número, ultimo último, ultima última, titulo
título, articulo artículo, calculo cálculo, indice índice, vacio vacío, valla vaya, echo hecho
""")


def plain(text):
    """El texto sin tildes y en minúsculas: por él se ordena."""
    return unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode().casefold()


@functools.cache
def own_words():
    return frozenset((HERE / "palabras.txt").read_text(encoding="utf-8").split())


def is_own(word):
    return word in own_words() or word.lower() in own_words()


def is_known(word):
    return is_own(word) or is_in("es_ES", word)


def is_english(word):
    return is_own(word) or is_in("en_US", word)


def accented(word):
    """Las palabras españolas que solo se distinguen de `word` en una tilde."""
    marks = str.maketrans("aeiouáéíóú", "áéíóúaeiou")
    variants = (word[:i] + c.translate(marks) + word[i + 1 :] for i, c in enumerate(word))
    return [variant for variant in variants if variant != word and is_in("es_ES", variant)]


@functools.cache
def suggestions(word):
    """Hasta tres palabras que quizá querías escribir; primero, las que solo cambian en una tilde."""
    if word.lower() in UNWANTED:
        return [UNWANTED[word.lower()]]
    others = (w for w in dictionary("es_ES").suggest(word) if re.fullmatch(r"\w+", w))
    return list(dict.fromkeys([*accented(word), *itertools.islice(others, 3)]))[:3]


# --- Las faltas de un trozo de prosa --------------------------------------------------------------


def words(text):
    """Las palabras que se pueden comprobar, con su sitio: ni siglas, ni identificadores, ni letras."""
    for match in TOKEN.finditer(text):
        token = match[0]
        if is_own(token) or re.search(rf"[^{LETTERS}'’-]", token):
            continue
        for part in re.finditer(r"[^'’-]{2,}", token):
            if not any(letter.isupper() for letter in part[0][1:]):
                yield match.start() + part.start(), part[0]


def foreign_spans(piece):
    """Los trozos en inglés: cursivas, comillas y textos enteros de los que todo lo es."""
    spans = [m.span() for pattern in (ITALICS, QUOTES) for m in pattern.finditer(piece.text)]
    if piece.is_string:
        spans.append((0, len(piece.text)))
    for start, end in spans:
        inside = [word for _, word in words(piece.text[start:end])]
        if all(map(is_english, inside)) and (len(inside) > 2 or not any(map(accented, inside))):
            yield range(start, end)


def in_any(position, spans):
    return any(position in span for span in spans)


def faults(piece):
    """Dice las faltas de un trozo: dónde están, qué palabra es y qué se puede escribir."""
    foreign = list(foreign_spans(piece))
    for position, word in words(piece.text):
        if word.lower() not in UNWANTED and is_known(word):
            continue
        if not in_any(position, foreign):
            options = ", ".join(suggestions(word)) or "nada parecido"
            yield f"{piece.where(position)}: «{word}» (¿{options}?)"
    for match in DOUBLED.finditer(piece.text):
        if not in_any(match.start(), foreign):
            yield f"{piece.where(match.start())}: «{match[1]} {match[1]}» (palabra repetida)"


@pytest.mark.parametrize("file", sources())
def test_spelling(file):
    found = [fault for piece in pieces(file) for fault in faults(piece)]
    assert found == [], "\n".join(["Si alguna no es una falta, va en tests/palabras.txt:", *found])


# --- La lista del curso ---------------------------------------------------------------------------


def test_own_words_are_sorted_and_needed():
    lines = (HERE / "palabras.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines), key=lambda word: (plain(word), word))
    assert [word for word in lines if is_in("es_ES", word) or not re.fullmatch(r"\S+", word)] == []
    assert [word for word in lines if word != word.lower() and word.lower() in lines] == []
