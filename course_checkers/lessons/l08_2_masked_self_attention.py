"""8.2 · La autoatención enmascarada de una cabeza.

La familia: {x·W_Q, x·W_K…} × {÷√d_k…} × {softmax…} × {quién se ve} × {cómo se tapa} × {pesos·V…}.
"""

import torch

from course_checkers.engine import Exercise, Option, Pair, laws, right_shape, show, show_both, told, ways
from course_checkers.engine.case import Case
from course_checkers.steps import one_head as head
from course_checkers.steps.attention import not_a_number, within_values
from course_checkers.steps.hiding import leaked_weight, own_mask, triangle
from course_checkers.steps.pair import wrong_pair

# --- Quién se ve ----------------------------------------------------------------------------------


def square(size, offset=0):
    return triangle(size, size, offset)


FUTURE = leaked_weight(lambda x, *_: square(x.shape[1]), "a tokens que vienen después")
TOLD = told(
    __file__, "8.2", máscara_falta=FUTURE, máscara_diagonal=not_a_number,
    máscara_traspuesta=FUTURE, máscara_uno_de_más=FUTURE,
)  # fmt: skip
LAWS = laws(__file__, "8.2 propiedades")
HIDDEN, HIDE_OPTIONS = own_mask(TOLD["máscara-falta"], FUTURE)
ALLOWED = ways(
    # De x y W_Q, una tabla; True, se ve.
    TOLD,
    lambda x, W_Q: square(x.shape[1]),
    ("máscara-diagonal", lambda x, W_Q: square(x.shape[1], -1)),
    ("máscara-traspuesta", lambda x, W_Q: square(x.shape[1]).T),
    ("máscara-uno-de-más", lambda x, W_Q: square(x.shape[1], 1)),
    ("máscara-tamaño-B", lambda x, W_Q: square(x.shape[0])),
    ("máscara-tamaño-d_model", lambda x, W_Q: square(x.shape[2])),
    ("máscara-tamaño-d_k", lambda x, W_Q: square(W_Q.shape[1])),
    ("solo-su-value", lambda x, W_Q: torch.eye(x.shape[1], dtype=torch.bool)),
)


def scores(first):
    """Puntuaciones enteras: 200 por cada número de ``first``."""
    x, *matrices = head.whole_numbers(first, 5, 4)
    x[:, :, 1] = 1.0
    return x, *matrices


CASES = (
    Case("2 frases de 4 tokens", head.drawn(0, 2, (4,), 6, 5, 7)),
    Case("2 frases de 3 tokens y matrices cuadradas", head.drawn(1, 2, (3,), 4, 4, 4)),
    Case("una frase de 5 tokens", head.drawn(2, 1, (5,), 3, 6, 2)),
    Case("3 frases de 3 tokens", head.drawn(3, 3, (3,), 5, 2, 4)),
    Case("2 frases de 4 tokens, con d_model = 4", head.drawn(4, 2, (4,), 4, 6, 5)),
    Case("2 frases de 5 tokens, con d_k = 5", head.drawn(5, 2, (5,), 4, 5, 3)),
    Case("un token que es el vector 0", head.drawn(7, 2, (4,), 6, 5, 7, blank=1)),
    Case("una frase de un token", head.drawn(8, 1, (1,), 4, 3, 2)),
    Case("una frase de 70 tokens", head.drawn(9, 1, (70,), 6, 5, 4)),
    Case("puntuaciones muy grandes", scores([1.0, 2.0, 0.0, 1.0])),
    Case("puntuaciones muy negativas y un futuro mayor", scores([-12.0, -11.0, -9.0, 0.0])),
)
ONE = torch.ones(1, 1)


def one_number(attempt, token, *matrices):
    """La salida de uno de dos tokens, si es un número."""
    output = attempt.ask(torch.eye(2)[None], *matrices)
    known = output is not None and output.shape == (1, 2, 1)
    return float(output[0, token, 0]) if known else None


def found_length(attempt):
    """Si solo funciona con frases de una longitud, cuál es."""
    given = {L: head.drawn(20, 2, (L,), 12, 11, 13) for L in range(2, 11)}
    works = [L for L in given if attempt.ask(*given[L]) is not None]
    if len(works) == 1:
        fixed = TOLD["máscara-longitud-fija"].saying(number=works[0])
        yield Option(lambda x, W_Q: square(works[0]), fixed)


def output_shape(x, W_Q, W_K, W_V):
    return (*x.shape[:-1], W_V.shape[-1])


def influence(attempt):
    """El mapa de influencia con la frase más corta en la que algo no es un triángulo."""
    for L, j in ((length, token) for length in (2, 3, 4) for token in range(length)):
        x = torch.tensor([1.0, 2.0, 0.0, 3.0])[:L].reshape(1, L, 1)
        touched = x + torch.eye(L)[j].reshape(1, L, 1)
        base, other = (attempt.ask(given, ONE, ONE, ONE) for given in (x, touched))
        if base is None or other is None or not base.isfinite().all():
            return
        before, after = base[0, :, 0], other[0, :, 0]
        moved = (after - before).abs() > 1e-5
        wrong = torch.cat([moved[:j], ~moved[j:]])
        if wrong.any():
            i = int(wrong.nonzero()[0])
            law = LAWS["propiedad-fuga" if i < j else "propiedad-tapa-de-más"]
            one, other = show_both(before[i], after[i])
            yield law.saying(i=i, j=j, x=show(x[0, :, 0]), before=one, after=other)
            return


def so_far(values):
    """El menor y el mayor de los que ve cada token."""
    return values.cummin(1).values, values.cummax(1).values


class MaskedSelfAttention(Exercise):
    """Comprueba la autoatención enmascarada de una cabeza.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V)``, de formas ``(B, L, d_model)``, ``(d_model, d_k)`` dos
            veces y ``(d_model, d_v)``. Devuelve la salida ``(B, L, d_v)``, o ``(salida, pesos)``.
    """

    number, title, points = "8.2", "autoatención enmascarada", 4
    letters = ("B L d_model", "d_model d_k", "d_model d_k", "d_model d_v")
    axes = {
        "hide": HIDE_OPTIONS,
        "allowed": ALLOWED,
        "scale": head.scale_options("√L_q", "√eje-1"),
        "softmax": list(head.softmax_options()),
        "every": ways(head.MATRICES, "propias", *head.EVERY),
        "value": list(head.value_options(sin_pesos=None, suma_por_value=TOLD["solo-su-value"])),
        **head.last_axes(),
    }
    stages = head.few_errors(CASES, tuple(axes), tuple(axes)[:6])
    tiny = tuple(
        Case("", (torch.tensor(x).reshape(1, -1, 1), ONE, ONE, ONE))
        for x in ([2.0], [1.0, 2.0], [1.0, 2.0, 0.0])
    )
    measured = head.measured_in(one_number, HIDDEN["máscara-poco-negativa"])
    measured |= {"allowed": found_length}
    must = (
        right_shape(output_shape, "La forma de tu salida no es (B, L, d_v).", "08 §5.1"),
        head.ALL_FINITE,
        influence,
        head.apart(LAWS["propiedad-lote"], head.drawn(21, 2, (3,), 4, 4, 4), where=1, others=0),
        within_values(lambda x, *W: x @ W[-1], LAWS["propiedad-media"], so_far),
    )
    silent = (head.only_nan,)
    reader, returned = Pair(output_shape, "un tensor"), (wrong_pair,)
    also = ("máscara-longitud-fija", *head.ALSO)
    skip = head.covers_the_same

    def compute(self, choice, x, W_Q, W_K, W_V):
        q, k, v = head.query_key_value(choice, (x, x, x), W_Q, W_K, W_V)
        return head.attend(choice, x, q, k, v, choice["allowed"](x, W_Q))
