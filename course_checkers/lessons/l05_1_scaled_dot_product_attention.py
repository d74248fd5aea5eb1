"""5.1 · La atención de producto escalar escalado.

Sus pasos, y las formas malas de darlos, están en ``steps``. Aquí, las pruebas que los distinguen, lo
que se mide en la respuesta y las propiedades que cumple cualquier atención.
"""

import functools
import math

import torch

from course_checkers.engine import Case, Exercise, Pair, Raised, Stage, differs, drawn, gives_nan, same
from course_checkers.engine.mistakes import Option, messages
from course_checkers.engine.properties import TORCH, finite, laws, not_by_hand, promised, right_shape
from course_checkers.steps import attention as steps
from course_checkers.steps import hiding
from course_checkers.steps.pair import RETURNED, both, wrong_pair
from course_lib.masks import causal_mask, padding_mask

LAWS = laws(__file__, "5.1")


def draw(seed, leading, L_q, L_k, d_k, d_v, mask=None, factor=1.0):
    """Q, K, V y máscara con números sembrados: ni saturan la softmax ni la dejan plana."""
    q, k, v = drawn(seed, (*leading, L_q, d_k), (*leading, L_k, d_k), (*leading, L_k, d_v))
    return q * factor, k, v, mask


def real_tokens(lengths, total, leading):
    """La máscara de relleno de un lote, con tantos ejes delante como haga falta."""
    lengths = torch.tensor(lengths[: leading[0] if leading else 1])
    mask = padding_mask(torch.arange(total) < lengths[:, None])
    return mask if len(leading) == 2 else mask[:, 0] if leading else mask[0, 0]


PLAIN, LARGE, MASKED = [], [], []
for group, leading, seed, say in (
    ("4", (2, 3), 0, ", con cabezas"),
    ("3", (2,), 10, ", en un lote"),
    ("2", (), 20, ", en una frase suelta"),
):

    def case(name, *given, group=group, say=say):
        return Case(f"{name}{say}", draw(*given), group)

    def spread(mask, L_q, L_k, leading=leading):
        return mask.expand(*leading, L_q, L_k).clone()

    L_q = 4 if group == "4" else 3
    padding, square = real_tokens((3, 4), 5, leading), real_tokens((2, 3), 4, leading)
    future = spread(causal_mask(4), 4, 4)
    PLAIN += [
        case(f"{L_q} queries y 5 keys", seed, leading, L_q, 5, 6, 7),
        case("6 tokens que se atienden entre sí", seed + 1, leading, 6, 6, 11, 11),
    ]
    LARGE.append(case("puntuaciones muy grandes", seed + 2, leading, 4, 4, 6, 7, None, 3000.0))
    padded, square = spread(padding, L_q, 5), spread(square, 4, 4)
    MASKED += [
        case("la máscara causal", seed + 3, leading, 4, 4, 5, 5, future),
        case("una máscara de relleno", seed + 4, leading, L_q, 5, 6, 7, padded),
        case("una máscara de relleno y 4 tokens", seed + 5, leading, 4, 4, 6, 7, square),
    ]
    if group == "4":
        PLAIN.append(Case("2 queries, 3 keys y una cabeza", draw(9, (1, 1), 2, 3, 6, 7), group))
        # Puntuaciones de cientos, y una máscara por cabeza: un −100 ya no tapa.
        q, k, v, _ = draw(seed + 6, leading, 4, 5, 6, 7)
        mixed = torch.tensor([[True, False, True, True, False], [False, True, True, False, True]])
        heads = [torch.cat([mixed[:, :2], mixed[:, 2:].roll(n, -1)], -1) for n in range(3)]
        given = q.abs() * 100, -k.abs() * 10, v, spread(torch.stack(heads).repeat(1, 2, 1), 4, 5)
        MASKED.append(Case("puntuaciones muy negativas y una máscara", given, group))
        name = "una máscara {}, que se difunde"
        small = draw(7, leading, 4, 4, 5, 5, causal_mask(4)), draw(8, leading, 4, 5, 6, 7, padding)
        shapes = "(L_q, L_k)", "(B, 1, 1, L_k)"
        MASKED += [Case(name.format(n), given, "difusión") for n, given in zip(shapes, small)]

MIXED = torch.tensor([[True, False, True], [True, True, False]])
THIN = (
    ("(h, 1, L_k)", draw(44, (3, 2), 4, 3, 6, 7, MIXED[:, None])),
    ("(B, 1, L_q, L_k)", draw(45, (2, 3), 2, 3, 6, 7, torch.stack([MIXED, MIXED.roll(1, 0)])[:, None])),
)
LONG = causal_mask(60).expand(2, 60, 60).clone()
ONE, TWO, VALUES = torch.tensor([[1.0]]), torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [3.0]])


# --- La cuenta ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8192)  # las mismas pruebas, para todo el mundo
def attend(swapped, scale, softmax, always_causal, naive, hide, query, key, value, mask):
    """Las puntuaciones y los pesos, con cada paso dado de la forma que se pide."""
    q, k = (key, query) if swapped else (query, key)
    divisor, late = scale
    scores, divide = q @ k.mT, divisor(query, key, value)
    scores = scores if late else scores / divide
    scores = hiding.causal(scores) if always_causal else scores
    return hiding.shared(scores, mask, hide, softmax, naive, divide if late else None)


# --- Lo que se mide, lo que se admite y lo que conviene saber --------------------------------------


def one_number(attempt, *arguments):
    """La salida, si es un solo número; con cabezas, con lote o sin nada delante."""
    for axes in range(3):
        given = [x if x is None else x.reshape(x.shape[axes:]) for x in arguments]
        output = attempt.ask(*given)
        if isinstance(output, torch.Tensor) and output.numel() == 1:
            return float(output)
    return None


def hides_the_future(attempt):
    """Si, sin máscara, lo primero no se entera de que cambia lo último."""
    for case in PLAIN:
        query, key, value, _ = case.arguments
        changed = value.clone()
        changed[..., -1, :] += 1.0
        first, second = (attempt.ask(query, key, v, None) for v in (value, changed))
        if first is not None and second is not None:
            hidden = same(first[..., 0, :], second[..., 0, :])
            return [Option(True, hiding.ALWAYS_CAUSAL)] if hidden else []
    return []


NOBODY = draw(30, (1, 1), 2, 3, 4, 5, torch.tensor([[False] * 3, [True] * 3]))


class Attention(Exercise):
    """Comprueba una atención de producto escalar escalado.

    Args:
        function: recibe ``(query, key, value, mask=None)``, de formas ``(..., L_q, d_k)``,
            ``(..., L_k, d_k)`` y ``(..., L_k, d_v)``, y una máscara booleana que se difunde hasta
            ``(..., L_q, L_k)``. Devuelve la pareja ``(salida, pesos)``, de formas
            ``(..., L_q, d_v)`` y ``(..., L_q, L_k)``.
    """

    number, title, points = "5.1", "la atención entera", 4
    letters = ("L_q d_k", "L_k d_k", "L_k d_v", "L_q L_k")
    axes = {
        "order": [Option(False), Option(True, steps.SWAPPED)],
        "scale": [
            *(Option((option.value, False), option.mistake) for option in steps.SCALE_OPTIONS),
            Option((steps.by_root, True), steps.LATE),
            Option((lambda q, k, v: -math.sqrt(q.shape[-1]), False), steps.SIGN),
        ],
        "softmax": steps.SOFTMAX_OPTIONS,
        "extra": [Option(False)],
        "value": steps.VALUE_OPTIONS,
        "naive": [Option(False), Option(True, steps.UNSTABLE)],
        "mask": hiding.MASK_OPTIONS,
    }
    stages = (
        Stage(("order", "scale", "softmax", "extra", "value"), tuple(PLAIN)),
        Stage(("naive",), tuple(LARGE)),
        Stage(("mask",), tuple(MASKED)),
    )
    tiny = (
        Case("1 token", (ONE, ONE, torch.tensor([[3.0]]), None)),
        Case("1 query y 2 keys", (ONE, TWO, VALUES, None)),
        Case("2 queries y 2 keys", (TWO, TWO, VALUES, None)),
        Case("d_k = 2", (torch.eye(2) * 2, torch.ones(2, 2).tril(), VALUES, None)),
        Case("la máscara causal", (TWO, TWO, VALUES, causal_mask(2))),
    )
    extra = (
        Case("50 tokens, con cabezas", draw(40, (2, 3), 50, 50, 8, 8), "4"),
        Case("60 tokens y la máscara causal, en un lote", draw(41, (2,), 60, 60, 8, 8, LONG), "3"),
        Case("cinco ejes", draw(42, (2, 1, 3), 4, 5, 6, 7), "4"),
        *(Case(f"una máscara {name}, que se difunde", given, "difusión") for name, given in THIN),
    )
    measured = hiding.measured_in(one_number) | {"extra": hides_the_future}
    must = (
        right_shape(steps.output_shape, "La forma de tu salida no es (..., L_q, d_v).", "05 §1"),
        finite("03 §2"),
        steps.within_values(lambda query, key, value, mask: value),
        steps.leak,
    )
    reader = Pair(steps.output_shape, "la pareja (salida, pesos), dos tensores")
    groups = messages(__file__, "5.1 grupos")
    besides = (promised,)
    notes = (
        gives_nan(LAWS["nadie-a-quien-mirar"].text, *NOBODY),
        differs(LAWS["una-fila"].text, *draw(43, (2,), 4, 3, 6, 7, MIXED[0])),
        not_by_hand((TORCH,), LAWS["ya-hecha"].text),
    )
    returned = (wrong_pair, both)
    also = (*steps.FOUND_SCALES, hiding.ALWAYS_CAUSAL.id, *RETURNED, "sin-los-pesos")

    def narrow(self, attempt):
        groups = {case.group for case in attempt.seen}
        if "4" in groups and "difusión" not in groups:
            yield LAWS["sin-difusión"]
        stops = any(isinstance(value, Raised) for value in attempt.seen.values())
        if not groups & {"3", "4"} and not stops:  # si una frase suelta tampoco va, no es eso
            yield LAWS["sin-lote"]

    def compute(self, choice, query, key, value, mask=None):
        ways = (choice[axis] for axis in ("order", "scale", "softmax", "extra", "naive"))
        scores, weights = attend(*ways, choice["mask"], query, key, value, mask)
        output = choice["value"](weights, query, key, value)
        return {"output": output, "weights": weights, "scores": scores}

    def skip(self, choice):
        again = choice["mask"].value in hiding.SHARED_AGAIN and not choice["mask"].mistake
        return again and not choice["softmax"].mistake
