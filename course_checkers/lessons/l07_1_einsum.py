"""7.1 · La ecuación de ``einsum`` que da las puntuaciones.

La ecuación no se prueba: se lee. Dos ecuaciones con las mismas letras en los mismos sitios hacen la
misma cuenta, se llamen como se llamen las letras.
"""

from string import ascii_letters

import torch

from course_checkers.engine import Exercise, Finding, running, told

QUERY, KEY = ("B", "L_q", "h", "d_k"), ("B", "L_k", "h", "d_k")
OUTPUT = ("B", "h", "L_q", "L_k")
SIZES = {"B": 2, "h": 4, "L_q": 3, "L_k": 6, "d_k": 5}
TENSORS = [torch.ones([SIZES[axis] for axis in axes]) for axes in (QUERY, KEY)]
SAID, SHOWN = told(__file__, "7.1"), told(__file__, "7.1 ejemplo")


class Unreadable(Exception):
    """Lo que hay escrito no es una ecuación para estos dos tensores."""

    def __init__(self, which, **given):
        super().__init__(told(__file__, "7.1 ilegible")[which].saying(**given).text)


def letters_of(text):
    """Las letras de cada tensor, las de la salida y si hay flecha, o ``Unreadable`` con lo que falla."""
    tidy = "".join(text.split()).replace("...", ".")
    left, arrow, output = tidy.partition("->")
    operands = left.split(",")
    if len(operands) != 2:
        raise Unreadable("tensores", many=len(operands))
    if strange := [c for c in left + output if c not in ascii_letters + ",."]:
        raise Unreadable("letra", letter=strange[0])
    if not arrow:
        alone = sorted(c for c in left if left.count(c) == 1 and c not in ",.")
        output = "." * ("." in left) + "".join(alone)
    # Los puntos suspensivos son los ejes que no tienen letra, contados desde la derecha.
    hidden = [5 - len(part) if "." in part else 0 for part in operands]
    most = max(*hidden, 0)
    operands = [part.replace(".", "0123"[most - n : most]) for part, n in zip(operands, hidden)]
    output = output.replace(".", "0123"[:most])
    for name, letters in zip(("Q", "K"), operands):
        if len(letters) != 4:
            raise Unreadable("ejes", name=name, many=len(letters), letters=letters)
        if len(set(letters)) < 4:
            raise Unreadable("repetida", name=name, letters=letters)
    query, key = operands
    for letter in output:
        if letter not in query + key:
            raise Unreadable("salida-nueva", letter=letter)
        if output.count(letter) > 1 and not letter == query[1] == key[1]:
            raise Unreadable("salida-repetida", letter=letter)
    return query, key, output, bool(arrow)


def faults(query, key, output):
    """Los errores de unas letras, uno a uno, con lo que se ha visto."""
    heads_first = query[:2] == key[:2] and query[3] == key[3] and query[2] != key[2]
    if heads_first and set(output) == set(query[:3] + key[2]):
        yield "como-si-traspuestas", ""
        if output == query[:2] + key[2] + query[2]:
            yield "salida-traspuesta", ""
        return
    meaning = {}  # letra → los ejes que nombra
    for axis, letter in zip((*QUERY, *KEY), query + key):
        meaning.setdefault(letter, []).append(axis)
    crossed = [letter for letter, axes in meaning.items() if len(set(axes)) > 1]
    tokens = [letter for letter in crossed if set(meaning[letter]) == {"L_q", "L_k"}]
    if tokens:
        yield "tokens-con-una-letra", f"Es la «{tokens[0]}»."
    others = [letter for letter in crossed if letter not in tokens]
    for letter in others:
        first, second = meaning[letter]
        yield "letra-de-otro-eje", f"La «{letter}» es {first} en Q y {second} en K."
    if others:
        return  # los demás nombres ya no dicen nada
    names = {"frases-cruzadas": 0, "cabezas-cruzadas": 2, "d_k-con-dos-letras": 3}
    for name, position in names.items():
        if query[position] != key[position]:
            yield name, f"Ahora son la «{query[position]}» y la «{key[position]}»."
    yield from output_faults(query, key, output)


def output_faults(query, key, output):
    """Los errores de la salida: lo que sobra, lo que falta y el orden."""
    if query[3] in output or key[3] in output:
        yield "d_k-en-la-salida", ""
    wanted = (query[0], query[2], query[1], key[1])
    named = dict(zip(wanted, OUTPUT))
    missing = [axis for letter, axis in named.items() if letter not in output]
    if missing:
        yield "suma-de-más", f"Falta la de {' y la de '.join(missing)}."
        return
    order = [letter for letter in output if letter in wanted]
    if order in (list(wanted), list(dict.fromkeys(wanted))):
        return
    if order == [query[0], query[2], key[1], query[1]]:
        yield "salida-traspuesta", ""
    else:
        yield "orden-de-la-salida", f"La tuya es ({', '.join(named[c] for c in order)})."


def example(query, key, output):
    """Qué forma da esta ecuación con unos tensores de prueba."""
    shapes = [tuple(SIZES[axis] for axis in axes) for axes in (QUERY, KEY, OUTPUT)]
    given = dict(zip(("Q", "K", "right"), shapes))
    sizes = {}
    for letter, size in zip(query + key, (*shapes[0], *shapes[1])):
        sizes.setdefault(letter, set()).add(size)
    for letter, found in sizes.items():
        if len(found) > 1:
            return SHOWN["se-para"].saying(**given, letter=letter, low=min(found), high=max(found))
    shape = tuple(next(iter(sizes[letter])) for letter in output)
    name = "la-forma-es-buena" if shape == given["right"] else "otra-forma"
    return SHOWN[name].saying(**given, shape=shape)


class Einsum(Exercise):
    """Comprueba la ecuación de ``einsum`` que da las puntuaciones de cada cabeza.

    Args:
        equation: un texto como ``"ij,jm->im"``, para Q ``(B, L_q, h, d_k)`` y K ``(B, L_k, h, d_k)``.
            Las letras, las que quieras. La salida es ``(B, h, L_q, L_k)``.
    """

    number, title, points = "7.1", "las puntuaciones, con einsum", 2
    names, also = ("query", "key"), tuple(SAID)

    def check(self, learner):
        """Lee la ecuación y devuelve un ``Report``."""
        # De lo que da quien aprende, una copia de los datos.
        outcome = running.call(lambda: learner)
        equation = outcome.value
        blank = isinstance(equation, str) and not equation.strip(" .,->_")
        if outcome.problem or equation is None or equation is ... or blank:
            return self.report(filter(None, [outcome.problem]), unsolved=not outcome.problem)
        if not isinstance(equation, str):
            wrong = SHOWN["no-es-texto"].saying(kind=type(equation).__name__)
            return self.report([wrong.found()])
        try:
            query, key, output, arrow = letters_of(equation)
            wrong = list(faults(query, key, output))
            if not wrong and running.call(torch.einsum, equation, *TENSORS).problem:
                raise Unreadable("torch")
        except Unreadable as problem:
            return self.report([Finding("ecuación-ilegible", str(problem), read="07 §3")])
        if wrong and not arrow:
            wrong.insert(0, ("sin-flecha", ""))
        findings, story = [], example(query, key, output).text
        for name, detail in wrong:
            text = f"{SAID[name].text} {detail}".strip()
            findings.append(Finding(name, text, "" if findings else story, SAID[name].read))
        return self.report(findings)
