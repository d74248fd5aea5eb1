"""Comprueba la tabla de cosenos de una frase.

La familia: {filas, columnas, toda la tabla… entre su norma} × {X · Xᵀ, Xᵀ · X, fila a fila…} × {con
diagonal o sin ella} × {dejarla así, el valor absoluto, el ángulo, una softmax…}.
"""

import functools

import torch

from course_lib.checkers.family import Case, Raised, Stage, same, show
from course_lib.checkers.number_family import ANGLES, ENDINGS, Numbers, itself, step
from course_lib.checkers.engine.report import Finding

# --- Los pasos ------------------------------------------------------------------------------------


def lengths(X):
    return X.norm(dim=-1, keepdim=True)


def both(function):
    """Hacer lo mismo con las dos X de X · Xᵀ."""
    return lambda X: (function(X), function(X), 1.0)


def one(function):
    """Hacérselo solo a la primera, o solo a la segunda."""
    return lambda X: (function(X), X, 1.0), lambda X: (X, function(X), 1.0)


def over(divisor):
    """X · Xᵀ dividida por algo que sale de X."""
    return lambda X: (X, X, divisor(X))


def unit(X):
    return X / lengths(X)


def centered(*dims):
    return both(lambda X: unit(X - X.mean(dims, keepdim=True)))


def standard(dims, correction):
    return both(
        lambda X: (X - X.mean(dims, True)) / X.std(dims, correction=correction, keepdim=True)
    )


EVERY_AXIS = ((-1,), (0,), (0, 1))
NORMALIZERS = step(
    both(unit),
    ("sin-normalizar", both(itself)),
    ("por-columnas", both(lambda X: X / X.norm(dim=0))),
    ("norma-de-toda-la-tabla", both(lambda X: X / X.norm()), over(torch.norm)),
    ("norma-de-toda-la-tabla", over(lambda X: (X @ X.mT).norm())),
    ("solo-un-lado", *one(unit)),
    ("falta-la-raíz", both(lambda X: X / lengths(X) ** 2), *one(lambda X: X / lengths(X) ** 2)),
    ("sin-paréntesis", over(lambda X: lengths(X) / lengths(X).mT)),
    ("sin-paréntesis", over(lambda X: lengths(X).mT / lengths(X))),
    ("normas-en-fila", both(lambda X: X / X.norm(dim=-1))),
    ("norma-de-valores-absolutos", both(lambda X: X / X.abs().sum(-1, True))),
    ("norma-del-mayor", both(lambda X: X / X.amax(-1, True))),
    ("norma-del-mayor", both(lambda X: X / X.abs().amax(-1, True))),
    ("sumas", both(lambda X: X / X.sum(-1, True))),
    ("norma-con-media", both(lambda X: X / X.square().mean(-1, True).sqrt())),
    ("normas-sumadas", over(lambda X: lengths(X) + lengths(X).mT)),
    ("raíz-de-las-normas", both(lambda X: X / lengths(X).sqrt())),
    ("por-normas", both(lambda X: X * lengths(X))),
    ("longitudes", *(over(lambda X, p=p: X.shape[1] ** p) for p in (0.5, 1))),
    ("longitudes", *(over(lambda X, p=p: X.shape[0] ** p) for p in (0.5, 1))),
    ("máximo-de-la-tabla", over(lambda X: (X @ X.mT).max())),
    ("máximo-de-la-tabla", over(lambda X: (X @ X.mT).amax(-1, True))),
    ("normaliza-la-tabla", over(lambda X: lengths(X @ X.mT))),
    ("normaliza-la-tabla", over(lambda X: (X @ X.mT).sum(-1, True))),
    ("resta-la-media", *(centered(*dims) for dims in EVERY_AXIS)),
    ("estandariza", *(standard(dims, correction) for dims in EVERY_AXIS for correction in (0, 1))),
    ("softmax-antes", both(lambda X: X.softmax(-1)), both(lambda X: X.softmax(0))),
)


def without(position, rows=True, columns=True):
    """La tabla, con la fila y la columna de un token a 0: el bucle no pasa por él."""

    def multiply(A, B):
        table = A @ B.mT
        if rows:
            table[position] = 0
        if columns:
            table[:, position] = 0
        return table

    return multiply


TABLES = step(
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
    ("falta-el-último-token", without(-1), without(-1, rows=False), without(-1, columns=False)),
    ("falta-el-primer-token", without(0), without(0, rows=False), without(0, columns=False)),
)
OTHER_TABLES = step(
    None,
    ("distancias", lambda X: torch.cdist(X, X), lambda X: torch.cdist(X, X) ** 2),
    ("distancias", lambda X: torch.cdist(X, X, 1), lambda X: torch.cdist(unit(X), unit(X))),
    ("distancias", lambda X: 1 / (1 + torch.cdist(X, X))),
    ("medias-sin-normas", torch.cov, lambda X: torch.cov(X.mT)),
)


def diagonal(value):
    """Tapar la diagonal de una tabla cuadrada."""

    def cover(table):
        size = table.size(0)
        if table.shape != (size, size):
            raise ValueError
        return table.masked_fill(torch.eye(size, dtype=torch.bool), value)

    return cover


DIAGONALS = step(itself, ("diagonal-tapada", *map(diagonal, (0.0, -torch.inf, torch.nan, -1.0))))
TABLE_ENDINGS = (
    ("softmax", lambda x: x.softmax(-1), lambda x: x.softmax(0)),
    ("quién-gana", lambda x: x.argmax(-1).float()),
    ("media-de-la-tabla", torch.mean, lambda x: x.mean(-1)),
)
TABLE_SHAPES = step(
    itself,
    ("aplanada", torch.flatten),
    ("tabla-con-más-ejes", lambda x: x[None], lambda x: x[..., None]),
)


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


@functools.lru_cache(maxsize=16384)
def table_of(other, normalize, multiply, X):
    if other:
        return other(X)
    A, B, divisor = normalize(X)
    return multiply(A, B) / divisor


class SimilarityMatrix(Numbers):
    """X → los cosenos de cada fila con cada fila."""

    number, title, points = "1.3", "la tabla de cosenos", 3
    names, where, expected = ("X",), "01 §6", "un tensor"
    axes = {
        "other": OTHER_TABLES,
        "normalize": NORMALIZERS,
        "multiply": TABLES,
        "diagonal": DIAGONALS,
        "finish": step(itself, *ENDINGS, *ANGLES, *TABLE_ENDINGS),
        "shape": TABLE_SHAPES,
    }
    stages = (Stage(tuple(axes), tuple(matrix_cases())),)
    tiny = tuple(
        Case("", (torch.tensor(X),))
        for X in ([[2.0]], [[3.0, 4.0]], [[1.0, 0.0], [3.0, 4.0]], [[3.0, 4.0], [-4.0, 3.0]])
    )

    def compute(self, choice, X):
        table = table_of(choice["other"], choice["normalize"], choice["multiply"], X)
        return {"output": choice["shape"](choice["finish"](choice["diagonal"](table)))}

    def read(self, value, case):
        """También se lee una lista de listas, para decir qué más falla."""
        tensor, problem = super().read(value, case)
        return (tensor, problem) if problem else ((isinstance(value, list | tuple), tensor), None)

    def main(self, value, case):
        return value[1]

    def form(self, values, choice):
        if any(is_list for is_list, _ in values.values()):
            text = "Devuelves una lista, y se pide un tensor: pasa la lista por torch.tensor."
            return [Finding("lista", text, read="01 §5")]
        return []

    def mistake_ids(self):
        return super().mistake_ids() | {"lista"}

    def shape_of(self, X):
        return (len(X), len(X))

    def laws(self, learner, seen):
        for case, table in seen.items():
            if isinstance(table, Raised):
                continue
            if not same(table, table.mT):
                story = f"Con {case.name}, en [0, 1] vale {show(table[0, 1])} y en [1, 0], {show(table[1, 0])}."
                yield Finding(
                    "propiedad-simetría", "La tabla tiene que ser simétrica.", story, "01 §5"
                )
            ones = table.diagonal()
            if not same(ones, torch.ones_like(ones)):
                text = "La diagonal tiene que valer 1: cada vector apunta como él mismo."
                yield Finding(
                    "propiedad-diagonal",
                    text,
                    f"Con {case.name}, la tuya es {show(ones)}.",
                    "01 §6",
                )
            if table.abs().max() > 1.0001:
                text = "Un coseno está siempre entre −1 y 1."
                story = f"Con {case.name}, llegas a {show(table.abs().max())}."
                yield Finding("propiedad-límites", text, story, "01 §3")
