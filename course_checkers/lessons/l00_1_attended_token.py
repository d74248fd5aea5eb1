"""0.1 · Leer una tabla de pesos: a quién mira más un token.

{la fila, la columna, toda la tabla…} × {contarse o no} × {con marcas, sin marcas…} × {el peso más
alto, el más bajo…} × {el token, su posición, su peso…}.
"""

from collections import namedtuple
from operator import itemgetter

import numpy as np
import torch

from course_checkers.engine import Case, Exercise, Raised, Stage, Tensors, hits, laws, show, stepping, told


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
step = stepping(KNOWN)


def keep(*conditions):
    """De las parejas (posición, peso) de la fila, las que compiten: de i, t y p, si se queda."""
    for condition in conditions:
        yield lambda pairs, t, p, condition=condition: [x for x in pairs if condition(x[0], t, p)]


def last_of_each(pairs, tokens, p):
    """Como en un diccionario token → peso: de los repetidos queda el último."""
    return list({tokens[i]: (i, weight) for i, weight in pairs}.values())


def summed(pairs, tokens, p):
    """Como en un diccionario que suma los pesos de los repetidos."""
    total = {}
    for i, weight in pairs:
        total[tokens[i]] = total.get(tokens[i], 0.0) + weight
    return [(tokens.index(token), weight) for token, weight in total.items()]


weight_of = itemgetter(1)
# Lo que se sabe al acabar: los tokens, quién pregunta, las parejas que competían y la que gana.
Found = namedtuple("Found", ["t", "p", "pairs", "i", "weight"])
AXES = {
    # De los pesos, w, los tokens, t, y la posición que pregunta, p, la fila que se mira.
    "row": step(
        lambda w, t, p: w[p],
        ("columna", lambda w, t, p: w[:, p]),
        ("toda-la-tabla", lambda w, t, p: w.amax(0), lambda w, t, p: w.amax(1), lambda w, t, p: w.flatten()),
        ("una-fila-fija", *(lambda w, t, p, i=i: w[i] for i in (0, 1, 2, -1))),
        ("fila-de-al-lado", lambda w, t, p: w[p - 1], lambda w, t, p: w[p + 1]),
        ("fila-de-al-lado", lambda w, t, p: w[(p + 1) % len(t)]),
        ("media-de-las-filas", lambda w, t, p: w.mean(0)),
        ("diagonal", lambda w, t, p: w.diagonal()),
        ("siempre-it", lambda w, t, p: w[t.index("it")]),
    ),
    "itself": step(None, ("sin-sí-mismo", *keep(lambda i, t, p: i != p))),
    "kept": step(
        None,
        ("sin-las-marcas", *keep(lambda i, t, p: t[i] not in ("[CLS]", "[SEP]"))),
        ("sin-las-marcas", *keep(lambda i, t, p: 0 < i < len(t) - 1)),
        ("sin-las-marcas", *keep(lambda i, t, p: i > 0, lambda i, t, p: i < len(t) - 1)),
        ("solo-lo-anterior", *keep(lambda i, t, p: i <= p)),
        ("solo-lo-posterior", *keep(lambda i, t, p: i >= p)),
    ),
    "repeated": step(None, ("tokens-repetidos", last_of_each, summed)),
    "winner": step(
        lambda pairs: max(pairs, key=weight_of),
        ("el-que-menos", lambda pairs: min(pairs, key=weight_of)),
        ("el-segundo", lambda pairs: sorted(pairs, key=weight_of)[-2]),
    ),
    "result": step(
        lambda f: f.t[f.i],
        ("sin-mirar-los-pesos", lambda f: f.t[0], lambda f: f.t[-1], lambda f: f.p),
        ("sin-mirar-los-pesos", lambda f: f.t[f.p - 1], lambda f: f.t[f.p + 1]),
        ("sin-mirar-los-pesos", lambda f: f.t[(f.p + 1) % len(f.t)]),
        ("devuelve-la-posición", lambda f: f.i, lambda f: (f.i, f.weight), lambda f: (f.weight, f.i)),
        ("devuelve-el-peso", lambda f: f.weight),
        ("devuelve-quien-pregunta", lambda f: f.t[f.p]),
        ("uno-antes", lambda f: f.t[f.i - 1]),
        ("uno-después", lambda f: f.t[f.i + 1], lambda f: f.t[(f.i + 1) % len(f.t)]),
        ("en-una-lista", lambda f: (f.t[f.i],)),
        ("devuelve-una-pareja", lambda f: (f.t[f.i], f.weight), lambda f: (f.weight, f.t[f.i])),
        ("devuelve-una-pareja", lambda f: (f.t[f.i], f.i), lambda f: (f.i, f.t[f.i])),
        ("devuelve-una-pareja", lambda f: (f.t[f.p], f.t[f.i])),
        ("devuelve-todos", lambda f: [f.t[i] for i, _ in sorted(f.pairs, key=weight_of)[::-1]]),
        ("devuelve-todos", lambda f: f.t),
        ("devuelve-la-fila", lambda f: [weight for _, weight in f.pairs]),
    ),
}

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
NAMES = [f"t{i}" for i in range(60)]
EXTRA = (
    Case("un solo token", (torch.ones(1, 1), ["a"], 0)),
    Case("los tokens «a» y «b»", (torch.tensor([[0.2, 0.8], [0.6, 0.4]]), ["a", "b"], 0)),
    *(Case(f"60 tokens y position = {p}", (LONG, NAMES, p)) for p in (0, 41)),
)
TINY = (
    ([[0.4, 0.6], [0.3, 0.7]], "ab", 0),
    ([[0.9, 0.1], [0.2, 0.8]], "ab", 1),
    ([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.7, 0.2]], "abc", 1),
)


def plain(value):
    """Lo devuelto, con pocos tipos: texto, entero, tupla o, si tiene decimales, tensor."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return torch.tensor(value)
    if isinstance(value, list | tuple):
        items = tuple(map(plain, value))
        pile = items and all(isinstance(item, torch.Tensor) and item.dim() == 0 for item in items)
        return torch.stack(items) if pile else items
    if not isinstance(value, str | int):
        raise TypeError(type(value).__name__)
    return str(value) if isinstance(value, str) else value  # también los textos de NumPy


class Plain(Tensors):
    """Lo que sea, con pocos tipos: lo que se pide es un texto."""

    def read(self, value, case):
        try:
            return (plain(value), None) if value is not None else super().read(value, case)
        except TypeError as error:
            return None, KNOWN["tipo"].saying(kind=error).found()


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
    """Comprueba una función que dice a quién mira más un token.

    Args:
        function: recibe ``(weights, tokens, position)``: una tabla de pesos de forma ``(L, L)``, con
            una fila por token que pregunta; la lista de los L tokens; y la posición, desde 0, de quien
            pregunta. Devuelve el token, un texto, que recibe más peso de él.
    """

    number, title = "0.1", "a quién mira un token"
    possible = staticmethod(lambda weights, tokens, position: 0 <= position < len(tokens))
    axes = AXES
    stages = (Stage(tuple(axes), CASES),)
    extra, tiny = EXTRA, tuple(Case("", (torch.tensor(w), list(t), p)) for w, t, p in TINY)
    reader = Plain()
    must = (a_token, moves_with_position, hits(LAWS["propiedad-aciertos"]))

    def compute(self, choice, weights, tokens, position):
        pairs = list(enumerate(choice["row"](weights, tokens, position).tolist()))
        for axis in ("repeated", "itself", "kept"):
            if choice[axis]:
                pairs = choice[axis](pairs, tokens, position)
        found = Found(tokens, position, pairs, *choice["winner"](pairs))
        return {"output": plain(choice["result"](found))}
