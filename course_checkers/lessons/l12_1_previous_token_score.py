"""12.1 · Cuánto mira cada cabeza al token anterior.

{el anterior, el siguiente, él mismo…} × {la media, la suma…} × {por cabeza, juntas…}.
"""

import torch

from course_checkers.engine import Case, Numbers, Stage, drawn, gives, laws, same, stepping, told
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

step = stepping(told(__file__, "11") | told(__file__, "12.1"))
LAWS = laws(__file__, "12.1 propiedades")


def diagonal(offset):
    return lambda w: w.diagonal(offset, -2, -1)


previous = diagonal(-1)


def with_first(column):
    """Las casillas del anterior y, en la primera fila, la de esa columna."""
    return lambda w: torch.cat([w[..., 0, column, None], previous(w)], -1)


def cut(*limits):
    return lambda w: previous(w)[..., slice(*limits)]


AXES = {
    "again": step(itself, ("softmax-de-más", lambda w: w.softmax(-1))),
    # De los pesos (h, L, L), los de cada token.
    "pick": step(
        previous,
        ("siguiente", diagonal(1)),
        ("él-mismo", diagonal(0)),
        ("dos-antes", diagonal(-2), lambda w: torch.cat([w[..., 1, -1:], diagonal(-2)(w)], -1)),
        ("cuenta-la-primera-fila", with_first(-1), with_first(0)),
        ("todo-lo-anterior", lambda w: w.tril(-1).sum(-1)[..., 1:], lambda w: w.tril(-1).sum(-1)),
        ("todo-lo-anterior", lambda w: w.tril().sum(-1)[..., 1:], lambda w: w.tril().sum(-1)),
        ("el-primero", lambda w: w[..., 1:, 0], lambda w: w[..., 0]),
        ("cuenta-victorias", lambda w: (previous(w) == w.amax(-1)[..., 1:]).float()),
        ("el-mayor-de-la-fila", lambda w: w.amax(-1)[..., 1:], lambda w: w.amax(-1)),
        ("quita-filas", cut(1, None), cut(-1), cut(1, -1)),
        ("una-sola-fila", cut(1), cut(-1, None)),
        ("toda-la-tabla", lambda w: w.flatten(-2)),
        ("ejes-de-diagonal", lambda w: w.diagonal(-1)),
        (("siguiente", "ejes-de-diagonal"), lambda w: w.diagonal(1)),
    ),
    # De los de cada token, uno por cabeza.
    "reduction": step(
        lambda x, L: x.mean(-1),
        ("suma", lambda x, L: x.sum(-1)),
        ("divide-por-L", lambda x, L: x.sum(-1) / L),
        ("divide-por-L²", lambda x, L: x.sum(-1) / L**2),
        ("divide-por-otro-número", lambda x, L: x.sum(-1) / (L - 2 if L > 2 else 1)),
        ("divide-por-otro-número", lambda x, L: x.sum(-1) / (L + 1), lambda x, L: x.sum(-1) / len(x)),
        ("máximo", lambda x, L: x.amax(-1)),
        ("mínimo", lambda x, L: x.amin(-1)),
        ("mediana", lambda x, L: x.median(-1).values, lambda x, L: x.quantile(0.5, -1)),
        ("sin-media", lambda x, L: x, lambda x, L: x.mT),
        ("media-de-otro-eje", lambda x, L: x.mean(0)),
    ),
    "heads": step(
        itself,
        ("junta-las-cabezas", torch.mean, torch.sum, torch.amax),
        ("una-sola-cabeza", lambda x: x[0], lambda x: x[-1]),
        ("qué-cabeza", lambda x: x.argmax().float()),
        ("en-otro-orden", lambda x: x.sort().values, lambda x: x.sort(descending=True).values),
        ("umbral", lambda x: (x > 0.5).float()),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[..., None])),
}


def weights_case(seed, h, L):
    scores = 1.5 * drawn(seed, (h, L, L))
    scores[seed % h] += 3 * torch.eye(L).roll(-1, -1).tril(-1)  # una mira casi siempre al anterior
    return Case(f"{h} cabeza{'s' * (h > 1)} y {L} tokens", (scores.softmax(-1),))


SIZES = (4, 6), (3, 5), (5, 5), (2, 9), (1, 4), (6, 2), (4, 3)
TINY = (
    [[[0.9, 0.1], [0.3, 0.7]]],
    [[[0.7, 0.2, 0.1], [0.6, 0.1, 0.3], [0.1, 0.4, 0.5]]],
    [[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]],
)
SHIFTED = torch.eye(4).roll(-1, -1).tril(-1)[None]
SHIFTED[0, 0, 0] = 1.0


class PreviousToken(numbers.NumberExercise):
    """Comprueba una función que mide cuánto mira cada cabeza al token anterior.

    Args:
        function: recibe los pesos de una frase, ``(h, L, L)``, y devuelve ``(h,)``: de cada cabeza, la
            media de lo que cada token da al anterior. El primero no tiene, y no cuenta.
    """

    number, title, section = "12.1", "cuánto mira al anterior", "12 §2"
    letters = ("h L L",)
    possible = staticmethod(lambda w: w.shape[-1] > 1 and same(w.sum(-1), torch.ones(w.shape[:-1])))
    axes = AXES
    cases = tuple(weights_case(seed, *sizes) for seed, sizes in enumerate(SIZES))
    stages = (Stage(tuple(axes), cases, most=2),)
    extra = (
        Case("una cabeza y dos tokens", (torch.tensor(TINY[0]),)),
        Case("todos los pesos iguales", (torch.full((2, 4, 4), 1 / 4),)),
        weights_case(7, 12, 130),
    )
    tiny = tuple(Case("", (torch.tensor(weights),)) for weights in TINY)
    reader = Numbers("un tensor con un número por cabeza, (h,)")
    must = (
        *numbers.must(section, lambda weights: weights.shape[:1]),
        gives(LAWS["propiedad-igual"], (torch.full((2, 4, 4), 1 / 4),), torch.full((2,), 1 / 4)),
        gives(LAWS["propiedad-todo"], (SHIFTED,), torch.ones(1)),
    )

    def compute(self, choice, weights):
        values = choice["pick"](choice["again"](weights))
        scores = choice["heads"](choice["reduction"](values, weights.shape[-1]))
        return {"output": choice["shape"](choice["finish"](scores))}
