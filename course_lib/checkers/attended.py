"""Comprueba que se sabe leer una tabla de pesos: a quién mira más un token.

La familia: {la fila, la columna, toda la tabla…} × {contarse o no} × {con marcas, sin marcas…} × {el
peso más alto, el más bajo…} × {el token, su posición, su peso…}.
"""

import functools

import numpy as np
import torch

from course_lib.checkers.family import Case, Exercise, Raised, Stage, fewest, show
from course_lib.checkers.number_family import few_errors, mistakes_in, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
columna · 00 §4 · Has mirado la columna: ahí está quién mira al token. A quién mira él está en su fila.
toda-la-tabla · 00 §4 · Buscas en toda la tabla, y es solo en la fila del token.
una-fila-fija · 00 §4 · Miras siempre la misma fila, y es la del token que pregunta.
fila-de-al-lado · 00 §4 · Miras la fila de al lado: los tokens se cuentan desde 0, y las filas también.
media-de-las-filas · 00 §4 · Juntas todas las filas: eso dice quién recibe más peso de todos, no de este token.
diagonal · 00 §4 · Miras la diagonal, lo que cada token se mira a sí mismo, y es la fila del token.
siempre-it · 00 §4 · Miras siempre la fila de «it», y es la del token que pregunta.
sin-sí-mismo · 00 §4 · No dejas que un token se mire a sí mismo, y puede.
sin-las-marcas · 00 §4 · Quitas las marcas, y también se las puede mirar.
solo-lo-anterior · 00 §4 · Solo miras lo que va antes, y BERT también ve lo que viene después.
solo-lo-posterior · 00 §4 · Solo miras lo que va después, y BERT ve la frase entera.
tokens-repetidos · 00 §4 · Si un token sale dos veces, tu código los confunde: cada uno tiene su peso.
el-que-menos · 00 §4 · Devuelves el que recibe menos peso, y se pide el que recibe más.
el-segundo · 00 §4 · Devuelves el segundo, y se pide el que recibe más peso.
sin-mirar-los-pesos · 00 §4 · Tu respuesta no depende de los pesos, y los pesos deciden.
devuelve-la-posición · 00 §3 · Devuelves su posición, un número, y se pide el token, un texto.
devuelve-el-peso · 00 §4 · Devuelves el peso, y se pide el token que lo recibe.
devuelve-quien-pregunta · 00 §4 · Devuelves el token que pregunta, y se pide a quién mira.
uno-antes · 00 §3 · Devuelves el token de antes: ¿has quitado el principio de la fila? Entonces las posiciones cambian.
uno-después · 00 §3 · Devuelves el token de después: las posiciones se cuentan desde 0.
en-una-lista · 00 §3 · Devuelves una lista o una tupla, y se pide el texto solo.
devuelve-una-pareja · 00 §3 · Devuelves el token y algo más, y se pide el token solo.
devuelve-todos · 00 §4 · Devuelves todos los tokens, y se pide solo el que recibe más peso.
devuelve-la-fila · 00 §4 · Devuelves los pesos de la fila, y se pide el token que recibe el más alto.
"""


def told(look):
    """Qué dice la fila y qué dice quien aprende."""
    weights, _, p = look.case.arguments
    highest = show(weights[p].max())
    yours = f"devuelves {said(look.yours)}"
    if isinstance(look.yours, str) and look.yours == look.right:
        yours = "aquí aciertas solo porque dos errores se compensan"
    return (
        f"Con {look.case.name}, el peso más alto de su fila es {highest}, el de «{look.right}», y tú "
        f"{yours}."
    )


def said(value):
    return f"«{value}»" if isinstance(value, str) else show(value)


step = functools.partial(steps, mistakes_in(TEXTS, told))

# --- Los pasos ------------------------------------------------------------------------------------
# De una fila salen las parejas (posición, peso) que compiten.


def fixed(position):
    return lambda weights, tokens, p: weights[position]


ROWS = step(
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


ITSELF = step(None, ("sin-sí-mismo", keep(lambda i, L, p: i != p)))
KEPT = step(
    None,
    ("sin-las-marcas", no_marks),
    ("sin-las-marcas", keep(lambda i, L, p: 0 < i < L - 1)),
    ("sin-las-marcas", keep(lambda i, L, p: i > 0)),
    ("sin-las-marcas", keep(lambda i, L, p: i < L - 1)),
    ("solo-lo-anterior", keep(lambda i, L, p: i <= p)),
    ("solo-lo-posterior", keep(lambda i, L, p: i >= p)),
)
REPEATED = step(None, ("tokens-repetidos", last_of_each, summed))


def weight_of(pair):
    return pair[1]


WINNERS = step(
    lambda pairs: max(pairs, key=weight_of),
    ("el-que-menos", lambda pairs: min(pairs, key=weight_of)),
    ("el-segundo", lambda pairs: sorted(pairs, key=weight_of)[-2]),
)


def by_weight(pairs, tokens):
    return [tokens[i] for i, _ in sorted(pairs, key=weight_of, reverse=True)]


def alone(pairs, winner, tokens, p):
    return tokens[winner[0]]


RESULTS = step(
    alone,
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: tokens[0]),
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: tokens[-1]),
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: tokens[p - 1]),
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: tokens[p + 1]),
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: tokens[(p + 1) % len(tokens)]),
    ("sin-mirar-los-pesos", lambda pairs, winner, tokens, p: p),
    ("devuelve-la-posición", lambda pairs, winner, tokens, p: winner[0]),
    ("devuelve-la-posición", lambda pairs, winner, tokens, p: winner),
    ("devuelve-la-posición", lambda pairs, winner, tokens, p: winner[::-1]),
    ("devuelve-el-peso", lambda pairs, winner, tokens, p: winner[1]),
    ("devuelve-quien-pregunta", lambda pairs, winner, tokens, p: tokens[p]),
    ("uno-antes", lambda pairs, winner, tokens, p: tokens[winner[0] - 1]),
    ("uno-después", lambda pairs, winner, tokens, p: tokens[winner[0] + 1]),
    ("uno-después", lambda pairs, winner, tokens, p: tokens[(winner[0] + 1) % len(tokens)]),
    ("en-una-lista", lambda pairs, winner, tokens, p: (tokens[winner[0]],)),
    ("devuelve-una-pareja", lambda pairs, winner, tokens, p: (tokens[winner[0]], winner[1])),
    ("devuelve-una-pareja", lambda pairs, winner, tokens, p: (winner[1], tokens[winner[0]])),
    ("devuelve-una-pareja", lambda pairs, winner, tokens, p: (tokens[winner[0]], winner[0])),
    ("devuelve-una-pareja", lambda pairs, winner, tokens, p: (winner[0], tokens[winner[0]])),
    ("devuelve-una-pareja", lambda pairs, winner, tokens, p: (tokens[p], tokens[winner[0]])),
    ("devuelve-todos", lambda pairs, winner, tokens, p: by_weight(pairs, tokens)),
    ("devuelve-todos", lambda pairs, winner, tokens, p: tokens),
    ("devuelve-la-fila", lambda pairs, winner, tokens, p: [w for _, w in pairs]),
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
TINY = (
    Case("", (torch.tensor([[0.4, 0.6], [0.3, 0.7]]), ["a", "b"], 0)),
    Case("", (torch.tensor([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"], 1)),
    Case(
        "", (torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.7, 0.2]]), ["a", "b", "c"], 1)
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


class AttendedToken(Exercise):
    """Una tabla, sus tokens y una posición → el token que más peso recibe en esa fila."""

    number, title, points = "0.1", "a quién mira un token", 2
    names, where = ("weights", "tokens", "position"), "00 §4"
    axes = {
        "row": ROWS,
        "itself": ITSELF,
        "kept": KEPT,
        "repeated": REPEATED,
        "winner": WINNERS,
        "result": RESULTS,
    }
    stages = (Stage(tuple(axes), CASES),)
    tiny = TINY

    def compute(self, choice, weights, tokens, position):
        pairs = list(enumerate(choice["row"](weights, tokens, position).tolist()))
        for axis in ("repeated", "itself", "kept"):
            if choice[axis]:
                pairs = choice[axis](pairs, tokens, position)
        winner = choice["winner"](pairs)
        return {"output": plain(choice["result"](pairs, winner, tokens, position))}

    def diagnose(self, learner, seen):
        found = [
            choice
            for choice in few_errors(self.axes, most=3)
            if all(self.agrees(choice, case, answer) for case, answer in seen.items())
        ]
        return fewest(found or [{}], complete=bool(found))

    def read(self, value, case):
        if value is None:
            return super().read(value, case)
        try:
            return plain(value), None
        except TypeError as error:
            text = f"Tu código devuelve un «{error}» y tiene que devolver un texto: un token."
            return None, Finding("tipo", text)

    def properties(self, learner, seen):
        for case, answer in seen.items():
            if isinstance(answer, Raised):
                continue
            if not isinstance(answer, str):
                text = "Se pide un texto: uno de los tokens de la lista."
                return [Finding("propiedad-texto", text, f"Tú devuelves {said(answer)}.", "00 §3")]
            if answer not in case.arguments[1]:
                text = "Lo que devuelves no es ningún token de la frase."
                story = f"Con {case.name}, devuelves {said(answer)}."
                return [Finding("propiedad-token", text, story, "00 §3")]
        return list(self.laws(seen))

    def laws(self, seen):
        """Si da igual qué token pregunta, o cuántos aciertos hay."""
        answers = {case: answer for case, answer in seen.items() if isinstance(answer, str)}
        for sentence in SENTENCES[2:]:
            said_here = {answer for case, answer in answers.items() if sentence in case.name}
            if len(said_here) == 1:
                text = "Devuelves lo mismo pregunte quien pregunte, y cada token tiene su fila."
                story = f"Con la frase «{sentence}», siempre {said(said_here.pop())}."
                yield Finding("propiedad-posición", text, story, "00 §4")
                return
        good = sum(self.agrees({}, case, answer) for case, answer in answers.items())
        text = "No reconozco qué has hecho, pero no siempre es el token con el peso más alto de la fila."
        yield Finding(
            "propiedad-aciertos", text, f"Aciertas en {good} de {len(seen)} pruebas.", "00 §4"
        )


# --- 0.2 La forma de los pesos --------------------------------------------------------------------

THREE = ["The dog ate the bone", "The cat saw the bird", "The boy ate the cake"]


def shape(pick):
    """De los embeddings de las tres frases, una forma."""

    def compute():
        from course_lib import extract_embeddings

        return tuple(pick(extract_embeddings(THREE)))

    return compute


def sizes(embeddings):
    """Lote, cabezas, tokens, anchura y palabras."""
    B, h, L, _ = embeddings.attentions[3].shape
    return B, h, L, embeddings.contextual_embeddings.shape[-1], len(THREE[0].split())


def wrong_shape(id, text, pick, read="00 §3"):
    return Wrong(
        shape(lambda embeddings: pick(*sizes(embeddings), len(embeddings.attentions))),
        id,
        text,
        read,
    )


SHAPE = Question(
    "0.2",
    "la forma de los pesos",
    shape(lambda embeddings: embeddings.attentions[3].shape),
    (
        wrong_shape(
            "sin-contar-las-marcas",
            "Has contado palabras: el tokenizador añade dos marcas a cada frase, [CLS] y [SEP].",
            lambda B, h, L, d, words, layers: (B, h, words, words),
        ),
        wrong_shape(
            "una-sola-marca",
            "Has contado una sola marca: el tokenizador añade dos, [CLS] y [SEP].",
            lambda B, h, L, d, words, layers: (B, h, words + 1, words + 1),
        ),
        wrong_shape(
            "sin-cabezas",
            "Faltan las cabezas: cada una tiene su tabla de pesos.",
            lambda B, h, L, d, words, layers: (B, L, L),
        ),
        wrong_shape(
            "sin-lote",
            "Falta el lote: cada frase tiene sus tablas de pesos.",
            lambda B, h, L, d, words, layers: (h, L, L),
        ),
        wrong_shape(
            "capas-por-cabezas",
            "El segundo número es el de las capas: los pesos de una capa tienen uno por cabeza.",
            lambda B, h, L, d, words, layers: (B, layers, L, L),
            "00 §4",
        ),
        wrong_shape(
            "con-las-capas",
            "Sobran las capas: attentions[3] es ya una sola capa.",
            lambda B, h, L, d, words, layers: (layers, B, h, L, L),
            "00 §4",
        ),
        wrong_shape(
            "cabezas-primero",
            "El lote va delante: primero las frases y después las cabezas.",
            lambda B, h, L, d, words, layers: (h, B, L, L),
        ),
        wrong_shape(
            "una-sola-fila",
            "Falta un eje: cada token que pregunta da un peso a cada token que responde.",
            lambda B, h, L, d, words, layers: (B, h, L),
        ),
        wrong_shape(
            "vectores-por-cabeza",
            "Esa es la forma de los vectores de cada cabeza: un peso es un solo número para cada pareja.",
            lambda B, h, L, d, words, layers: (B, h, L, d // h),
        ),
        wrong_shape(
            "vectores",
            "Esa es la forma de los vectores, y se piden los pesos: uno para cada pareja de tokens.",
            lambda B, h, L, d, words, layers: (B, L, d),
        ),
        wrong_shape(
            "anchura-por-tokens",
            "El último número no es la anchura: un peso une dos tokens.",
            lambda B, h, L, d, words, layers: (B, h, L, d),
        ),
    ),
    kind="una forma: cuatro números entre paréntesis, como (1, 2, 3, 4)",
    read="00 §3",
)

ATTENDED = AttendedToken()
EXERCISES = (ATTENDED,)
QUESTIONS = (SHAPE,)


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
