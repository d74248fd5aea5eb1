"""Las tres líneas de la lección 16: los trozos, como una frase; hacia dónde mira cada uno; y deshacer la baraja."""

import torch

from course_checkers.engine.lines import line
from course_checkers.lessons.l06_lines import numbers


def see(patches, W, positions):
    return patches @ W + positions


def shift(weights, places):
    return weights @ places - places


def put_back(weights, back):
    return weights[back][:, back]


SQUARE = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
LINES = (
    line(__file__, "16.a", see, ((numbers(5, 3), numbers(3, 4), numbers(5, 4, turn=2)), (numbers(1, 2, 6), numbers(6, 6), numbers(2, 6))), {
        "sin-posición": lambda patches, W, positions: patches @ W,
        "multiplica-la-posición": lambda patches, W, positions: (patches @ W) * positions,
        "solo-la-posición": lambda patches, W, positions: positions + 0 * (patches @ W),
    }),
    line(__file__, "16.b", shift, (((numbers(4, 4) + 1).softmax(-1), SQUARE), (numbers(3, 3, turn=2) / 40, numbers(3, 2))), {
        "sin-restar": lambda weights, places: weights @ places,
        "al-revés": lambda weights, places: places - weights @ places,
        "por-columnas": lambda weights, places: weights.mT @ places - places,
    }),
    line(__file__, "16.c", put_back, ((numbers(4, 4), torch.tensor([2, 0, 3, 1])), (numbers(5, 5, turn=3), torch.tensor([1, 2, 4, 0, 3]))), {
        "solo-filas": lambda weights, back: weights[back],
        "solo-columnas": lambda weights, back: weights[:, back],
        "una-pareja": lambda weights, back: weights[back, back],
        "baraja-otra-vez": lambda weights, back: put_back(weights, back.argsort()),
    }),
)  # fmt: skip
