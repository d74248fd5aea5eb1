"""6.2 · Las pruebas de la multi-cabeza: de un token y una cabeza a muchos, con máscara y sin ella."""

import torch

from course_lib.checkers.engine.exercise import Case
from course_lib.checkers.steps import layers
from course_lib.masks import causal_mask


def draw(seed, batch, L_q, L_k, width, mask=None, factor=1.0):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(batch, n, width, generator=generator) for n in (L_q, L_k, L_k))
    return q * factor, k, v, mask


def quiet(weights):
    """Con una sola key, que las puntuaciones no dependan de qué se proyecta."""
    for role in ("query", "key"):
        weights.matrix[role] = torch.zeros_like(weights.matrix[role])
        weights.bias[role] = torch.ones_like(weights.bias[role])
    return weights


NARROW, WIDTH_12 = layers.draw_weights(1, 6, seed=1), layers.draw_weights(4, 12, seed=4)


def case(name, inputs, weights=WIDTH_12):
    return Case(name, (*inputs, weights))


def random_mask(seed, *shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True
    return mask


SILENCE = quiet(layers.draw_weights(1, 6, seed=9))
ONE = case("una frase de un token y una cabeza", draw(1, 1, 1, 1, 6), NARROW)
QUIET = case("una frase de un token y puntuaciones iguales", draw(13, 1, 1, 1, 6), SILENCE)
SINGLE = case("3 tokens y una sola cabeza", draw(2, 2, 3, 3, 6), NARROW)
X = draw(5, 2, 8, 8, 12)[0]
WIDE = (
    case("5 queries, 5 keys y 4 cabezas", draw(3, 2, 5, 5, 12)),
    case("5 queries, 7 keys y 4 cabezas", draw(4, 2, 5, 7, 12)),
    case("una frase de 8 tokens que se mira a sí misma", (X, X, X, None)),
    case("4 tokens y 4 cabezas", draw(6, 3, 4, 4, 12)),
)
LARGE = case("puntuaciones muy grandes", draw(7, 2, 3, 3, 6, factor=3000.0), NARROW)
FUTURE = causal_mask(5).expand(2, 1, 5, 5).clone()
PADDING = (torch.arange(7) < torch.tensor([4, 6])[:, None])[:, None, None]
MASKED = (
    case("la máscara causal, (B, 1, L, L)", draw(8, 2, 5, 5, 12, FUTURE)),
    case("una máscara de relleno, (B, 1, 1, L_k)", draw(9, 2, 5, 7, 12, PADDING)),
    case("una máscara por cabeza", draw(10, 2, 5, 7, 12, random_mask(0, 2, 4, 5, 7))),
    case("la máscara causal, (L, L)", draw(11, 2, 5, 5, 12, causal_mask(5))),
    case("máscara causal y puntuaciones grandes", draw(12, 2, 5, 5, 12, FUTURE, 60.0)),
)
