"""15.1 · La puntuación de inducción de cada cabeza: como en la 12.1, pero con otra diagonal.

{lo que siguió, la repetición, el de antes…} × {la media, la suma…} × {por cabeza, juntas…}.
"""

import torch

from course_checkers.engine import Case, Stage, drawn, gives, laws, stepping, told
from course_checkers.lessons.l12_1_previous_token_score import PreviousToken
from course_checkers.steps import numbers

step = stepping(told(__file__, "15.1"))
LAWS = laws(__file__, "15.1 propiedades")


def half(w):
    return w.shape[-1] // 2


def diagonal(w, offset):
    """Las casillas de una diagonal que están en las filas de la segunda mitad."""
    return w.diagonal(offset, -2, -1)[..., max(0, half(w) + min(0, offset)) :]


def beside(distance):
    """Lo que se da a quien está a esa distancia de la aparición anterior."""
    return lambda w: diagonal(w, distance - half(w))


followed = beside(1)


def cut(*limits):
    return lambda w: followed(w)[..., slice(*limits)]


# De los pesos (h, L, L), los de cada token.
PICKS = step(
    followed,
    ("fila-de-más", lambda w: w.diagonal(1 - half(w), -2, -1)),
    ("la-repetición", beside(0)),
    ("el-de-antes", beside(-1)),
    ("dos-después", beside(2)),
    ("al-anterior", lambda w: diagonal(w, -1), lambda w: w.diagonal(-1, -2, -1)),
    ("él-mismo", lambda w: diagonal(w, 0), lambda w: w.diagonal(0, -2, -1)),
    ("filas-y-columnas", lambda w: followed(w.mT)),
    ("quita-filas", cut(1, None), cut(-1), cut(1, -1)),
    ("una-sola-fila", cut(1), cut(-1, None)),
    ("toda-la-primera-mitad", lambda w: w[:, half(w) :, : half(w)].sum(-1)),
    ("el-mayor-de-la-fila", lambda w: w[:, half(w) :].amax(-1)),
    ("cuenta-victorias", lambda w: (followed(w) == w[:, half(w) :].amax(-1)).float()),
    ("ejes-de-diagonal", lambda w: w.diagonal(1 - half(w))),
)
# De los de cada token, uno por cabeza.
REDUCTIONS = step(
    lambda x, L: x.mean(-1),
    ("suma", lambda x, L: x.sum(-1)),
    ("divide-por-L", lambda x, L: x.sum(-1) / L),
    ("divide-por-otro-número", *(lambda x, L, k=k: x.sum(-1) / (L // 2 + k) for k in (-1, 1))),
    ("máximo", lambda x, L: x.amax(-1)),
    ("sin-media", lambda x, L: x, lambda x, L: x.mT),
    ("media-de-otro-eje", lambda x, L: x.mean(0)),
)


def weights_case(seed, h, half, causal=False):
    scores = 1.5 * drawn(seed, (h, 2 * half, 2 * half))
    scores[seed % h].diagonal(1 - half)[1:] += 3  # una es de inducción
    if causal:
        scores = scores.masked_fill(~torch.ones(2 * half, 2 * half).tril().bool(), -torch.inf)
    name = f"{h} cabeza{'s' * (h > 1)} y {half} tokens, dos veces"
    return Case(name, (scores.softmax(-1),))


SIZES = (4, 4), (3, 6), (5, 3), (2, 7), (8, 5), (1, 5)
ROWS = [1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.6, 0.3, 0], [0.2, 0.1, 0.3, 0.4]
EXAMPLE = Case("el ejemplo del enunciado", (torch.tensor([ROWS]),))
ALL = torch.eye(6)[[0, 1, 2, 1, 2, 3]][None]


class Induction(PreviousToken):
    """Comprueba una función que mide si cada cabeza es de inducción.

    Args:
        function: recibe los pesos de una secuencia cuya segunda mitad repite la primera, ``(h, L, L)``,
            y devuelve ``(h,)``: de cada cabeza, la media de lo que cada token de la segunda mitad da al
            que siguió a su aparición anterior.
    """

    number, title, section = "15.1", "la puntuación de inducción", "15 §1"
    axes = PreviousToken.axes | {"pick": PICKS, "reduction": REDUCTIONS}
    cases = tuple(weights_case(seed, *sizes) for seed, sizes in enumerate(SIZES))
    stages = (Stage(tuple(axes), (*cases, weights_case(6, 3, 4, causal=True)), most=2),)
    extra = (EXAMPLE, weights_case(7, 12, 40, True))
    tiny = extra[:1]
    must = (
        *numbers.must(section, lambda weights: weights.shape[:1]),
        gives(LAWS["propiedad-todo"], (ALL,), torch.ones(1)),
        gives(LAWS["propiedad-igual"], (torch.full((2, 8, 8), 1 / 8),), torch.full((2,), 1 / 8)),
    )

    def possible(self, weights):
        L = weights.shape[-1]
        return L > 3 and L % 2 == 0 and super().possible(weights)
