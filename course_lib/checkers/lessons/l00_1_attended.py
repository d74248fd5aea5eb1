"""0.1 · Leer una tabla de pesos: a quién mira más un token.

{la fila, la columna, toda la tabla…} × {contarse o no} × {con marcas, sin marcas…} × {el peso más
alto, el más bajo…} × {el token, su posición, su peso…}.
"""

from typing import NamedTuple

import numpy as np
import torch

from course_lib.checkers.engine import Case, Exercise, Finding, Stage, finish, show, told, ways
from course_lib.checkers.engine.properties import hits, laws
from course_lib.checkers.engine.reading import Tensors
from course_lib.checkers.engine.search import Raised


def in_its_row(look):
    """Qué dice la fila y qué dice quien aprende."""
    weights, _, p = look.case.arguments
    yours = f"devuelves {said(look.yours)}"
    if isinstance(look.yours, str) and look.yours == look.right:
        yours = "aquí aciertas solo porque dos errores se compensan"
    return (
        f"Con {look.case.name}, el peso más alto de su fila es {show(weights[p].max())}, el de "
        f"«{look.right}», y tú {yours}."
    )


def said(value):
    return f"«{value}»" if isinstance(value, str) else show(value)


KNOWN, LAWS = told(__file__, "0.1", in_its_row), laws(__file__, "0.1 propiedades")

# --- Los pasos ------------------------------------------------------------------------------------


def fixed(position):
    return lambda weights, tokens, p: weights[position]


ROWS = ways(
    KNOWN,
    lambda weights, tokens, p: weights[p],
    ("columna", lambda weights, tokens, p: weights[:, p]),
    ("toda-la-tabla", lambda weights, tokens, p: weights.amax(0)),
    ("toda-la-tabla", lambda weights, tokens, p: weights.amax(1)),
    ("toda-la-tabla", lambda weights, tokens, p: weights.flatten()),
    ("una-fila-fija", *map(fixed, (0, 1, 2, -1))),
    ("fila-de-al-lado", lambda weights, tokens, p: weights[p - 1]),
    ("fila-de-al-lado", lambda weights, tokens, p: weights[p + 1]),
    ("fila-de-al-lado", lambda weights, tokens, p: weights[(p + 1) % len(tokens)]),
    ("media-de-las-filas", lambda weights, tokens, p: weights.mean(0)),
    ("diagonal", lambda weights, tokens, p: weights.diagonal()),
    ("siempre-it", lambda weights, tokens, p: weights[tokens.index("it")]),
)
# De la fila salen las parejas (posición, peso) que compiten.


def keep(condition):
    """Las parejas que cumplen ``condition``, que recibe la posición, cuántos tokens hay y ``p``."""
    return lambda pairs, tokens, p: [x for x in pairs if condition(x[0], len(tokens), p)]


def no_marks(pairs, tokens, p):
    return [pair for pair in pairs if tokens[pair[0]] not in ("[CLS]", "[SEP]")]


def last_of_each(pairs, tokens, p):
    """Como en un diccionario token → peso: de los repetidos queda el último."""
    return list({tokens[i]: (i, weight) for i, weight in pairs}.values())


def summed(pairs, tokens, p):
    """Como en un diccionario que suma los pesos de los repetidos."""
    total = {}
    for i, weight in pairs:
        total[tokens[i]] = total.get(tokens[i], 0.0) + weight
    return [(tokens.index(token), weight) for token, weight in total.items()]


KEPT = ways(
    KNOWN,
    None,
    ("sin-las-marcas", no_marks, keep(lambda i, L, p: 0 < i < L - 1)),
    ("sin-las-marcas", keep(lambda i, L, p: i > 0), keep(lambda i, L, p: i < L - 1)),
    ("solo-lo-anterior", keep(lambda i, L, p: i <= p)),
    ("solo-lo-posterior", keep(lambda i, L, p: i >= p)),
)


def weight_of(pair):
    return pair[1]


class Found(NamedTuple):
    """Lo que se sabe al acabar: las parejas que competían y la que gana."""

    pairs: list
    i: int
    weight: float
    tokens: list
    p: int

    def token(self, position):
        return self.tokens[position]


RESULTS = ways(
    KNOWN,
    lambda f: f.token(f.i),
    ("sin-mirar-los-pesos", lambda f: f.token(0), lambda f: f.token(-1), lambda f: f.p),
    ("sin-mirar-los-pesos", lambda f: f.token(f.p - 1), lambda f: f.token(f.p + 1)),
    ("sin-mirar-los-pesos", lambda f: f.token((f.p + 1) % len(f.tokens))),
    ("devuelve-la-posición", lambda f: f.i, lambda f: (f.i, f.weight), lambda f: (f.weight, f.i)),
    ("devuelve-el-peso", lambda f: f.weight),
    ("devuelve-quien-pregunta", lambda f: f.token(f.p)),
    ("uno-antes", lambda f: f.token(f.i - 1)),
    ("uno-después", lambda f: f.token(f.i + 1), lambda f: f.token((f.i + 1) % len(f.tokens))),
    ("en-una-lista", lambda f: (f.token(f.i),)),
    ("devuelve-una-pareja", lambda f: (f.token(f.i), f.weight), lambda f: (f.weight, f.token(f.i))),
    ("devuelve-una-pareja", lambda f: (f.token(f.i), f.i), lambda f: (f.i, f.token(f.i))),
    ("devuelve-una-pareja", lambda f: (f.token(f.p), f.token(f.i))),
    ("devuelve-todos", lambda f: [f.token(i) for i, _ in sorted(f.pairs, key=weight_of)[::-1]]),
    ("devuelve-todos", lambda f: f.tokens),
    ("devuelve-la-fila", lambda f: [weight for _, weight in f.pairs]),
)

# --- Las pruebas ----------------------------------------------------------------------------------

SENTENCES = (
    "[CLS] it slept [SEP]",
    "[CLS] the dog saw it [SEP]",
    "[CLS] the dog and the cat [SEP]",
    "it was the old dog the boy saw",
    "[CLS] a bone [SEP]",
    "the cat and the dog",
    "[CLS] a boy fed it and it slept [SEP]",
)


def attended_cases():
    generator = torch.Generator().manual_seed(0)
    for sentence in SENTENCES:
        tokens = sentence.split()
        scores = torch.randn(len(tokens), len(tokens), generator=generator)
        if sentence == SENTENCES[1]:
            scores[0] *= 10  # el peso más alto de la tabla, en la primera fila
        weights = (1.5 * scores).softmax(-1)
        for p, token in enumerate(tokens):
            yield Case(f"la frase «{sentence}» y position = {p} («{token}»)", (weights, tokens, p))


CASES = tuple(attended_cases())
LONG = torch.linspace(0, 400, 60 * 60).sin().reshape(60, 60).softmax(-1)
EXTRA = (
    Case("los tokens «a» y «b»", (torch.tensor([[0.2, 0.8], [0.6, 0.4]]), ["a", "b"], 0)),
    *(
        Case(f"60 tokens y position = {p}", (LONG, [f"t{i}" for i in range(60)], p))
        for p in (0, 41)
    ),
)


def plain(value):
    """Lo devuelto, con pocos tipos: texto, entero, tupla o, si tiene decimales, tensor."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str):
        return str(value)  # también los textos de NumPy
    if isinstance(value, float):
        return torch.tensor(value)
    if isinstance(value, list | tuple):
        items = tuple(map(plain, value))
        pile = items and all(isinstance(item, torch.Tensor) and item.dim() == 0 for item in items)
        return torch.stack(items) if pile else items
    if isinstance(value, int):
        return value
    raise TypeError(type(value).__name__)


class Plain(Tensors):
    """Lo que sea, con pocos tipos: lo que se pide es un texto."""

    def read(self, value, case):
        if value is None:
            return super().read(value, case)
        try:
            return plain(value), None
        except TypeError as error:
            text = f"Tu código devuelve un «{error}» y tiene que devolver un texto: un token."
            return None, Finding("tipo", text)


def a_token(attempt):
    for case, answer in attempt.seen.items():
        if not isinstance(answer, str | Raised):
            return [LAWS["propiedad-texto"].saying(yours=said(answer))]
        if isinstance(answer, str) and answer not in case.arguments[1]:
            return [LAWS["propiedad-token"].saying(name=case.name, yours=said(answer))]
    return []


def moves_with_position(attempt):
    for sentence in SENTENCES[2:]:
        here = {c: answer for c, answer in attempt.seen.items() if sentence in c.name}
        answers = {answer for answer in here.values() if isinstance(answer, str)}
        if len(answers) == 1 and not all(attempt.exercise.agrees({}, *one) for one in here.items()):
            law = LAWS["propiedad-posición"]
            return [law.saying(sentence=sentence, yours=said(answers.pop()))]
    return []


class AttendedToken(Exercise):
    """Una tabla, sus tokens y una posición → el token que más peso recibe en esa fila."""

    number, title, names = "0.1", "a quién mira un token", ("weights", "tokens", "position")
    axes = {
        "row": ROWS,
        "itself": ways(KNOWN, None, ("sin-sí-mismo", keep(lambda i, L, p: i != p))),
        "kept": KEPT,
        "repeated": ways(KNOWN, None, ("tokens-repetidos", last_of_each, summed)),
        "winner": ways(
            KNOWN,
            lambda pairs: max(pairs, key=weight_of),
            ("el-que-menos", lambda pairs: min(pairs, key=weight_of)),
            ("el-segundo", lambda pairs: sorted(pairs, key=weight_of)[-2]),
        ),
        "result": RESULTS,
    }
    stages = (Stage(tuple(axes), CASES),)
    extra = EXTRA
    tiny = (
        Case("", (torch.tensor([[0.4, 0.6], [0.3, 0.7]]), ["a", "b"], 0)),
        Case("", (torch.tensor([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"], 1)),
        Case("", (torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.7, 0.2]]), list("abc"), 1)),
    )  # fmt: skip
    reader = Plain()
    must = (a_token, moves_with_position, hits(LAWS["propiedad-aciertos"]))

    def compute(self, choice, weights, tokens, position):
        pairs = list(enumerate(choice["row"](weights, tokens, position).tolist()))
        for axis in ("repeated", "itself", "kept"):
            if choice[axis]:
                pairs = choice[axis](pairs, tokens, position)
        found = Found(pairs, *choice["winner"](pairs), tokens, position)
        return {"output": plain(choice["result"](found))}


ATTENDED = AttendedToken()
EXERCISES = (ATTENDED,)


def check_attended_token(function):
    """Comprueba una función que dice a quién mira más un token.

    Args:
        function: recibe ``(weights, tokens, position)``: una tabla de pesos de forma ``(L, L)``, con
            una fila por token que pregunta; la lista de los L tokens; y la posición, desde 0, de quien
            pregunta. Devuelve el token, un texto, que recibe más peso de él.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(ATTENDED.check(function))
