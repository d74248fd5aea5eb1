"""2.4 · Proyectar a Q, K y V: {x·W, x·Wᵀ, sin W, con la de otra…} × {+ b, sin b, + otro b, b antes…} ×
{nada más, ÷√d_k, softmax…} × {en qué orden}.
"""

import math
from typing import NamedTuple

import torch

from course_checkers.engine import Case, Exercise, Option, Several, Stage, drawn, stepping, told, ways, whole
from course_checkers.steps import parts

TOLD = told(__file__, "2.4")
step = stepping(TOLD)
LETTERS = "QKV"


class Projected(NamedTuple):
    Q: torch.Tensor  # (B, L, d_k)
    K: torch.Tensor  # (B, L, d_k)
    V: torch.Tensor  # (B, L, d_v)


def said(name, own, used=""):
    return TOLD[name].saying(own=own, used=used)


def role(own):
    """Con qué matriz y qué sesgo sale una de las tres, ``(matriz, sesgo, traspuesta)``; «», ninguno."""
    others = [letter for letter in LETTERS if letter != own]
    return ways(
        {},
        (own, own, False),
        *((said("otra-matriz", own, x), (x, own, False), (x, x, False)) for x in others),
        (said("falta-un-sesgo", own), (own, "", False)),
        *((said("otro-sesgo", own, x), (own, x, False)) for x in others),
        *(((said("otra-matriz", own, x), said("falta-un-sesgo", own)), (x, "", False)) for x in others),
        (said("sin-su-matriz", own), ("", own, False), ("", "", False)),
        (said("una-traspuesta", own), (own, own, True)),
    )  # fmt: skip


AXES = {
    "every": step(
        None,
        ("traspuestas", lambda own: (own, own, True)),
        ("una-sola-matriz", *(lambda own, x=x: (x, own, False) for x in LETTERS)),
        ("una-sola-matriz", *(lambda own, x=x: (x, x, False) for x in LETTERS)),
        ("sin-proyectar", lambda own: ("", "", False), lambda own: ("", own, False)),
    ),
    # De x, W y b, lo proyectado.
    "bias": step(
        lambda x, W, b: x @ W + b,
        ("sin-sesgos", lambda x, W, b: x @ W),
        ("sesgo-antes", lambda x, W, b: (x + b) @ W),
        ("sesgo-restado", lambda x, W, b: x @ W - b),
        ("sesgo-dos-veces", lambda x, W, b: x @ W + 2 * b),
        ("sesgo-multiplicado", lambda x, W, b: x @ W * b),
    ),
    **{letter: role(letter) for letter in LETTERS},
    "residual": [Option(False), Option(True, TOLD["suma-la-entrada"])],
    # De Q, K y V, lo que se devuelve.
    "after": step(
        lambda q, d: q,
        ("escalada", lambda q, d: q / math.sqrt(d)),
        ("softmax-de-más", lambda q, d: q.softmax(-1)),
        ("normalizada", lambda q, d: q / q.norm(dim=-1, keepdim=True)),
    ),
    "which": [Option(LETTERS), *map(Option, ("Q", "QK"))],
    "order": step((0, 1, 2), ("otro-orden", *parts.ORDERS)),
}


def case(seed, B, L, d, d_k, d_v):
    shapes = (B, L, d), (d, d_k), (d, d_k), (d, d_v), (d_k,), (d_k,), (d_v,)
    name = f"{B} frases de {L} tokens, d_model = {d}, d_k = {d_k} y d_v = {d_v}"
    return Case(name, tuple(drawn(seed, *shapes)))


CASES = (
    case(0, 2, 3, 6, 4, 5),
    case(1, 2, 3, 4, 4, 4),
    case(2, 3, 4, 5, 5, 5),
    case(3, 2, 5, 3, 6, 6),
)
# El ejemplo del enunciado: la query es (16, 21).
SMALL = [[[1.0, 2.0]]], *[[[0.0, 1.0], [3.0, 0.0]]] * 3, *[[10.0, 20.0]] * 3


class Projections(Exercise):
    """Comprueba la proyección de una frase a sus queries, sus keys y sus values.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V, b_Q, b_K, b_V)``: ``(B, L, d_model)``, las matrices
            ``(d_model, d_k)`` dos veces y ``(d_model, d_v)``, que se usan como ``x @ W``, y un sesgo
            por matriz. Devuelve ``(Q, K, V)``, de formas ``(B, L, d_k)`` dos veces y ``(B, L, d_v)``.
    """

    number, title, points, axes = "2.4", "proyectar a Q, K y V", 3, AXES
    letters = ("B L d_model", *["d_model d_k"] * 2, "d_model d_v", "d_k", "d_k", "d_v")
    stages = (Stage(tuple(AXES), CASES, most=3, frequent=9, usual=6),)
    tiny = (whole(case(4, 1, 1, 1, 1, 1)), whole(case(7, 1, 1, 2, 2, 2)))
    extra = (Case("el ejemplo del enunciado", tuple(map(torch.tensor, SMALL))),)
    reader = Several(Projected._fields)
    must = parts.must(lambda x, *given: {n: (*x.shape[:-1], W.shape[-1]) for n, W in zip(LETTERS, given)})

    def skip(self, choice):
        """Si todas salen mal de la misma forma, cada una no cuenta por su lado."""
        some = [name for name in LETTERS if name in choice and choice[name].mistake]
        idle = choice.get("which") and not (choice.get("after") and choice["after"].mistake)
        every = choice.get("every") and choice["every"].mistake
        return bool(idle and choice["which"].value != LETTERS or every and some)

    def compute(self, choice, x, W_Q, W_K, W_V, b_Q, b_K, b_V):
        matrices, biases = zip(LETTERS, (W_Q, W_K, W_V)), zip(LETTERS, (b_Q, b_K, b_V))
        matrices, biases, found = dict(matrices), dict(biases), []
        for own in LETTERS:
            matrix, bias, turned = choice["every"](own) if choice["every"] else choice[own]
            W = matrices[matrix] if matrix else torch.eye(x.shape[-1])
            b = biases[bias] if bias else torch.zeros(W.shape[0 if turned else 1])
            y = choice["bias"](x, W.mT if turned else W, b)
            y = choice["after"](y, y.shape[-1]) if own in choice["which"] else y
            found.append(y + x if choice["residual"] else y)
        return {"output": Projected(*(found[i] for i in choice["order"]))}
