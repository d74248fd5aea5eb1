"""6.2 · Las pruebas de la multicabeza: de un token y una cabeza a muchos, con máscara y sin ella."""

import torch

from course_checkers.engine import Case, drawn
from course_checkers.inside import layers
from course_checkers.steps import heads
from course_lib.masks import causal_mask


def case(name, seed, sizes, mask=None, factor=1.0, weights=None):
    """Query, key, value y máscara de medidas (B, L_q, L_k, d_model), y los pesos de las capas."""
    batch, L_q, L_k, width = sizes
    q, k, v = drawn(seed, *((batch, n, width) for n in (L_q, L_k, L_k)))
    weights = weights or (WIDTH_12 if width == 12 else NARROW)
    return Case(name, (q * factor, k, v, mask, weights))


def quiet(weights):
    """Con una sola key, que las puntuaciones no dependan de qué se proyecta."""
    for role in ("query", "key"):
        weights.matrix[role] = torch.zeros_like(weights.matrix[role])
        weights.bias[role] = torch.ones_like(weights.bias[role])
    return weights


def random_mask(seed, *shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True
    return mask


NARROW, WIDTH_12 = layers.draw_weights(1, 6, seed=1), layers.draw_weights(4, 12, seed=4)
SILENCE = quiet(layers.draw_weights(1, 6, seed=9))
X = case("", 5, (2, 8, 8, 12)).arguments[0]
WIDE = (
    case("5 queries, 5 keys y 4 cabezas", 3, (2, 5, 5, 12)),
    case("5 queries, 7 keys y 4 cabezas", 4, (2, 5, 7, 12)),
    Case("una frase de 8 tokens que se mira a sí misma", (X, X, X, None, WIDTH_12)),
    case("4 tokens y 4 cabezas", 6, (3, 4, 4, 12)),
)
CASES = heads.Cases(
    first=(
        case("una frase de un token y una cabeza", 1, (1, 1, 1, 6)),
        case("una frase de un token y puntuaciones iguales", 13, (1, 1, 1, 6), weights=SILENCE),
    ),
    single=case("3 tokens y una sola cabeza", 2, (2, 3, 3, 6)),
    wide=WIDE,
    large=case("puntuaciones muy grandes", 7, (2, 3, 3, 6), factor=3000.0),
)
MORE = (
    case("45 queries, 52 keys y 4 cabezas", 14, (2, 45, 52, 12)),
    case("2 cabezas de 5", 15, (2, 4, 3, 10), weights=layers.draw_weights(2, 10, seed=15)),
    case("6 cabezas de 2", 16, (2, 4, 3, 12), weights=layers.draw_weights(6, 12, seed=16)),
)
FUTURE = causal_mask(5).expand(2, 1, 5, 5).clone()
PADDING = (torch.arange(7) < torch.tensor([4, 6])[:, None])[:, None, None]
MASKED = (
    case("la máscara causal, (B, 1, L, L)", 8, (2, 5, 5, 12), FUTURE),
    case("una máscara de relleno, (B, 1, 1, L_k)", 9, (2, 5, 7, 12), PADDING),
    case("una máscara por cabeza", 10, (2, 5, 7, 12), random_mask(0, 2, 4, 5, 7)),
    case("la máscara causal, (L, L)", 11, (2, 5, 5, 12), causal_mask(5)),
    case("máscara causal y puntuaciones grandes", 12, (2, 5, 5, 12), FUTURE, 60.0),
)
