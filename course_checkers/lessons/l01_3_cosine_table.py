"""1.3 · La tabla de cosenos de una frase.

{filas, columnas, toda la tabla… entre su norma} × {X · Xᵀ, Xᵀ · X, fila a fila…} × {con diagonal o
sin ella} × {dejarla así, el valor absoluto, el ángulo, una softmax…}.
"""

import functools

import torch

from course_checkers.engine import Case, Exercise, Numbers, Stage, finish, laws, told, ways
from course_checkers.engine.comparing import same, show_both
from course_checkers.steps import numbers
from course_checkers.steps import vectors as steps
from course_checkers.steps.numbers import itself

KNOWN, LAWS = steps.KNOWN | told(__file__, "1.3"), laws(__file__, "1.3 propiedades")


def lengths(X):
    return X.norm(dim=-1, keepdim=True)


def unit(X):
    return X / lengths(X)


def both(*functions):
    """Hacer lo mismo con las dos X de X · Xᵀ."""
    for function in functions:
        yield lambda X, function=function: (function(X), function(X), 1.0)


def by(*norms):
    """Dividir cada X por algo que sale de ella."""
    return both(*(lambda X, norm=norm: X / norm(X) for norm in norms))


def one(function):
    """Hacer algo solo a la primera X, o solo a la segunda."""
    return lambda X: (function(X), X, 1.0), lambda X: (X, function(X), 1.0)


def over(*divisors):
    """Dividir X · Xᵀ por algo que sale de X."""
    for divisor in divisors:
        yield lambda X, divisor=divisor: (X, X, divisor(X))


def centered(scaled):
    """Restar la media de cada fila, de cada columna o de toda la tabla, y dividir por algo."""
    for dims in ((-1,), (0,), (0, 1)):
        yield from both(lambda X, dims=dims: scaled(X - X.mean(dims, keepdim=True), dims))


NORMALIZERS = ways(
    KNOWN,
    *by(lengths),
    ("sin-normalizar", *both(itself)),
    ("por-columnas", *by(lambda X: X.norm(dim=0))),
    ("norma-de-toda-la-tabla", *by(torch.norm), *over(torch.norm, lambda X: (X @ X.mT).norm())),
    ("solo-un-lado", *one(unit)),
    ("falta-la-raíz", *by(lambda X: lengths(X) ** 2), *one(lambda X: X / lengths(X) ** 2)),
    ("sin-paréntesis", *over(lambda X: lengths(X) / lengths(X).mT)),
    ("sin-paréntesis", *over(lambda X: lengths(X).mT / lengths(X))),
    ("normas-en-fila", *by(lambda X: X.norm(dim=-1))),
    ("norma-de-valores-absolutos", *by(lambda X: X.abs().sum(-1, True))),
    ("norma-del-mayor", *by(lambda X: X.amax(-1, True), lambda X: X.abs().amax(-1, True))),
    ("sumas", *by(lambda X: X.sum(-1, True))),
    ("norma-con-media", *by(lambda X: X.square().mean(-1, True).sqrt())),
    ("normas-sumadas", *over(lambda X: lengths(X) + lengths(X).mT)),
    ("raíz-de-las-normas", *by(lambda X: lengths(X).sqrt())),
    ("por-normas", *both(lambda X: X * lengths(X))),
    ("longitudes", *over(*(lambda X, a=a, p=p: X.shape[a] ** p for a in (1, 0) for p in (0.5, 1)))),
    ("máximo-de-la-tabla", *over(lambda X: (X @ X.mT).max(), lambda X: (X @ X.mT).amax(-1, True))),
    ("normaliza-la-tabla", *over(lambda X: lengths(X @ X.mT), lambda X: (X @ X.mT).sum(-1, True))),
    ("resta-la-media", *centered(lambda X, dims: unit(X))),
    ("estandariza", *centered(lambda X, dims: X / X.std(dims, correction=0, keepdim=True))),
    ("estandariza", *centered(lambda X, dims: X / X.std(dims, keepdim=True))),
    ("softmax-antes", *both(lambda X: X.softmax(-1), lambda X: X.softmax(0))),
)


def without(token):
    """La tabla, con la fila y la columna de un token a 0, o solo una: el bucle no pasa por él."""
    for places in ((token, (..., token)), ((..., token),), (token,)):

        def multiply(A, B, places=places):
            table = A @ B.mT
            for place in places:
                table[place] = 0
            return table

        yield multiply


TABLES = ways(
    KNOWN,
    lambda A, B: A @ B.mT,
    ("tabla-de-columnas", lambda A, B: A.mT @ B),
    ("sin-trasponer", torch.matmul),
    ("sin-multiplicar", lambda A, B: A),
    ("uno-a-uno", torch.mul),
    ("cada-uno-consigo", lambda A, B: (A * B).sum(-1), lambda A, B: (A * B).sum(0)),
    ("solo-vecinos", lambda A, B: (A[:-1] * B[1:]).sum(-1)),
    ("una-sola-fila", lambda A, B: A[0] @ B.mT, lambda A, B: A[:1] @ B.mT),
    ("una-sola-fila", lambda A, B: A[-1] @ B.mT, lambda A, B: A @ B[0]),
    ("media-tabla", lambda A, B: (A @ B.mT).triu(), lambda A, B: (A @ B.mT).tril()),
    ("falta-el-último-token", *without(-1)),
    ("falta-el-primer-token", *without(0)),
)
OTHERS = ways(
    KNOWN,
    None,
    ("distancias", lambda X: torch.cdist(X, X), lambda X: torch.cdist(X, X) ** 2),
    ("distancias", lambda X: torch.cdist(X, X, 1), lambda X: torch.cdist(unit(X), unit(X))),
    ("distancias", lambda X: 1 / (1 + torch.cdist(X, X))),
    ("medias-sin-normas", torch.cov, lambda X: torch.cov(X.mT)),
)


def covered(table, value):
    """Una tabla cuadrada, con la diagonal tapada."""
    if table.shape != table.mT.shape:
        raise ValueError
    return table.masked_fill(torch.eye(len(table), dtype=torch.bool), value)


DIAGONALS = [lambda x, v=v: covered(x, v) for v in (0.0, -torch.inf, torch.nan, -1.0)]
TABLE_ENDINGS = (
    ("softmax", lambda x: x.softmax(-1), lambda x: x.softmax(0)),
    ("quién-gana", lambda x: x.argmax(-1).float()),
    ("media-de-la-tabla", torch.mean, lambda x: x.mean(-1)),
)
WITH_MORE_AXES = ("tabla-con-más-ejes", lambda x: x[None], lambda x: x[..., None])


def matrix_cases():
    """Filas de enteros y norma 2, 4 u 8: así un coseno de 1 es 1 exacto, y su ángulo, 0."""
    generator = torch.Generator().manual_seed(3)
    for L, d in ((4, 5), (5, 5), (3, 6), (7, 5), (6, 6)):
        rows = []
        while len(rows) < L:
            row = torch.randint(-6, 7, (d,), generator=generator).float()
            if row.square().sum() in (4, 16, 64) and row.sum() != 0:
                rows.append(row)
        yield Case(f"{L} tokens de {d} números", (torch.stack(rows),))


EXTRA = (
    Case("las filas (3, 4), (6, 8) y (−4, 3)", (torch.tensor([[3.0, 4], [6, 8], [-4, 3]]),)),
    Case("un solo token", (torch.tensor([[2.0, -1.0, 2.0]]),)),
    Case("40 tokens de 6 números", (torch.linspace(-9, 7, 240).sin().mul(30).reshape(40, 6),)),
)
TINY = [[2.0]], [[3.0, 4.0]], [[1.0, 0.0], [3.0, 4.0]], [[3.0, 4.0], [-4.0, 3.0]]


@functools.lru_cache(maxsize=16384)
def table_of(other, normalize, multiply, X):
    if other:
        return other(X)
    A, B, divisor = normalize(X)
    return multiply(A, B) / divisor


def is_list(attempt, choice):
    if any(listed for listed, _ in attempt.values.values()):
        yield LAWS["lista"]


def like_cosines(attempt):
    """Que la tabla sea simétrica, con unos en la diagonal y nada más allá de −1 y 1."""
    for case, table in attempt.outputs():
        ones, where = table.diagonal(), {"name": case.name}
        if not same(table, table.mT):
            i, j = divmod(int((table - table.mT).abs().nan_to_num(torch.inf).argmax()), len(table))
            one, other = show_both(table[i, j], table[j, i])
            return [LAWS["propiedad-simetría"].saying(**where, i=i, j=j, one=one, other=other)]
        if not same(ones, torch.ones_like(ones)):
            return [LAWS["propiedad-diagonal"].saying(**where, yours=show_both(ones, ones**0)[0])]
        if table.abs().max() > 1.0001:
            most = show_both(table.abs().max(), 1.0)[0]
            return [LAWS["propiedad-límites"].saying(**where, yours=most)]
    return []


class SimilarityMatrix(Exercise):
    """X → los cosenos de cada fila con cada fila."""

    number, title, points, names = "1.3", "la tabla de cosenos", 3, ("X",)
    letters = ("L d",)
    axes = {
        "other": OTHERS,
        "normalize": NORMALIZERS,
        "multiply": TABLES,
        "diagonal": ways(KNOWN, itself, ("diagonal-tapada", *DIAGONALS)),
        "finish": ways(KNOWN, itself, *steps.ENDINGS, *steps.ANGLES, *TABLE_ENDINGS),
        "shape": ways(KNOWN, itself, ("aplanada", torch.flatten), WITH_MORE_AXES),
    }
    stages = (Stage(tuple(axes), tuple(matrix_cases()), most=2),)
    extra, tiny = EXTRA, tuple(Case("", (torch.tensor(X),)) for X in TINY)
    # También se lee una lista de listas, para decir qué más falla.
    reader = Numbers("un tensor", noting=lambda value: isinstance(value, list | tuple))
    silent, also = (numbers.constant,), ("lista", *numbers.KNOWN)
    measured = {"finish": numbers.by_a_number("01 §6")}
    must = (*numbers.must("01 §6", lambda X: (len(X), len(X))), like_cosines)
    returned = (is_list,)

    def compute(self, choice, X):
        table = table_of(choice["other"], choice["normalize"], choice["multiply"], X)
        return {"output": choice["shape"](choice["finish"](choice["diagonal"](table)))}

    def skip(self, choice):
        return numbers.out_of_place(choice, "normalize", "multiply")


EXERCISES = (SimilarityMatrix(),)


def check_similarity_matrix(function):
    """Comprueba la tabla de cosenos de una frase.

    Args:
        function: recibe ``X``, un tensor de forma ``(L, d)`` con un token por fila, y devuelve otro
            de forma ``(L, L)``: en la fila i y la columna j, el coseno de los tokens i y j.
    """
    return finish(EXERCISES[0].check(function), function)
