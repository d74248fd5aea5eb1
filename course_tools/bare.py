"""Un código, sin lo que cada uno pone a su gusto: nombres, espacios, comentarios, orden, tipos, comillas…

El código ajeno ni se ejecuta ni se analiza, que puede tumbar a Python: ``tokenize`` lo parte en palabras.
"""

import contextlib
import io
import re
import tokenize
from itertools import accumulate
from keyword import iskeyword

HEADS = {"if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "async"}
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
USUAL = {"F": "functional", "np": "numpy"}  # como los llaman las lecciones


def statements(code):
    """Las instrucciones de un código, en listas de palabras, sin los paréntesis que solo agrupan."""
    one, groups = [], []
    code = re.sub(r"^\s*[%!].*$", "", code, flags=re.MULTILINE)  # las órdenes de Jupyter
    with contextlib.suppress(tokenize.TokenError, SyntaxError, ValueError):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            text = token.string
            header = text == ":" and not groups and one and one[0] in HEADS and "lambda" not in one
            if token.type == tokenize.NEWLINE or text == ";" or header:
                yield untyped(one)
                one = []
            elif token.type in SKIPPED or not text.strip():
                continue
            elif text in "([{":
                called = one and re.search(r"[\w\])]$", one[-1]) and not iskeyword(one[-1])
                groups.append(text == "(" and not called)
                one += [] if groups[-1] else [text]
            elif text in ")]}":
                one += [] if groups and groups.pop() else [text]
            else:
                one.append(spelled(text))
    yield untyped(one)


def spelled(text):
    """Una palabra, escrita de una sola manera: los números, por su valor; los textos, sin sus comillas."""
    if text[0] in ".0123456789":
        with contextlib.suppress(ValueError):
            return f"{float(text):g}"
    quoted = re.fullmatch(r"""[a-zA-Z]*('{3}|"{3}|'|")(.*)\1""", text, re.DOTALL)
    return "'" + quoted[2] if quoted else text


def depths(one):
    """De cada palabra de una instrucción, dentro de cuántos paréntesis está."""
    return accumulate((text in ("(", "[", "{")) - (text in (")", "]", "}")) for text in one)


def untyped(one):
    """Una instrucción, sin las anotaciones de tipos ni las comas de más."""
    level, kept, skip = int("def" in one[:2]), [], False
    for text, depth in zip(one, depths(one)):
        if text == "->":
            break
        if text == ":" and depth == level and "lambda" not in kept:
            skip = True
        elif depth < level or depth == level and text in (",", "="):
            skip = False
        if text in (")", "]", "}") and kept[-1:] == [","]:
            kept.pop()
        kept += [] if skip else [text]
    return kept


def placed(one):
    """Las palabras de una instrucción, con la de antes, la de después y si son una opción: «dim=-1»."""
    inside = {"def", "lambda"}.isdisjoint(one)
    for text, before, after, depth in zip(one, ["", *one], [*one[1:], ""], depths(one)):
        yield text, before, after, inside and depth and after == "="


class Answer:
    """Una respuesta: sus trozos de tres palabras, ``grams``, y los que los forman, ``pieces``.

    Y lo que se le quita y quizá delata, ``own``: los nombres, y los comentarios de tres palabras o más (True).
    """

    def __init__(self, code):
        every = [one for one in statements(code) if one]
        names, parts, renamed = set(), set(), dict(USUAL)
        for one in every:
            if one[0] in ("import", "from"):
                renamed |= {new: old for old, sign, new in zip(one, one[1:], one[2:]) if sign == "as"}
                continue
            for text, before, after, option in placed(one):
                if not text.isidentifier() or iskeyword(text):
                    continue
                kept = before == "." and after[-1:] in ("=", ",") and one[0] != "return"
                alone = before != "." and after not in ("(", ".") and not option
                parts |= {text} if kept or before == "def" else set()
                names |= {text} if alone or before in ("def", "class") else set()
        self.grams = set()
        for one in every:
            if len(one) > 1 and one[0] not in ("import", "from", "print") and one[0][0] != "'":
                words = ["", ""]
                for text, before, _, option in placed(one):
                    mine = text in parts if before == "." else text in names and not option
                    words.append("v" if mine else renamed.get(text, text))
                words.append("")
                self.grams |= {*zip(words, words[1:], words[2:])}
        self.pieces = {part for g in self.grams for part in (g, g[1:], g[2:], (g[:-1],), (g[1:-1],))}
        said = [text for one in every if len(one) == 1 and one[0][0] == "'" for text in one[0].splitlines()]
        words = (" ".join(re.findall(r"\w+", text.casefold())) for text in re.findall("#(.*)", code) + said)
        self.own = {one: True for one in words if one.count(" ") > 1}
        self.own |= {one: False for one in names | parts if len(one) > 3}


def definitions(texts):
    """Las funciones y las clases de unos módulos: nombre → su código."""
    parts = (re.split(r"^(?=def |class |@|\w)", text, flags=re.MULTILINE) for text in texts)
    known = [part for one in parts for part in one if part.startswith(("def ", "class "))]
    return {re.match(r"\w+ (\w+)", part)[1]: part for part in known}
