"""8.2 · La autoatención enmascarada de una cabeza.

La familia: {x·W_Q, x·W_K…} × {÷√d_k…} × {softmax…} × {quién se ve} × {cómo se tapa} × {pesos·V…}.
"""

import functools
import math

import torch

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import right_shape, within_values
from course_lib.checkers.engine.reading import Pair
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.steps import one_head as head
from course_lib.checkers.steps.attention import not_a_number
from course_lib.checkers.steps.hiding import own_mask
from course_lib.checkers.steps.pair import wrong_pair

# --- Quién se ve ----------------------------------------------------------------------------------


def future_weight(look):
    """Cuánto peso se llevan los tokens que vienen después."""
    weights = look.traced["weights"]
    if weights.shape != look.traced_right["weights"].shape or weights.isnan().any():
        return not_a_number(look)
    leaked = weights[0].triu(1).abs().sum(-1)
    row = int(leaked.argmax())
    if leaked[row] < 1e-6:
        return ""
    return (
        f"Con {look.case.name}, tu query {row} da un peso de {show(leaked[row])} a tokens que vienen "
        "después, y tenía que dar 0."
    )


TOLD = told(
    __file__, "8.2", máscara_falta=future_weight, máscara_diagonal=not_a_number,
    máscara_traspuesta=future_weight, máscara_uno_de_más=future_weight,
)  # fmt: skip
HIDDEN, HIDE_OPTIONS = own_mask(TOLD["máscara-falta"], future_weight)


@functools.cache
def square(size, offset=0):
    return torch.ones(size, size, dtype=torch.bool).tril(offset)


ALLOWED = ways(
    # De x, W_Q y W_V, una tabla; True, se ve.
    TOLD,
    lambda x, q, v: square(x.shape[1]),
    ("máscara-diagonal", lambda x, q, v: square(x.shape[1], -1)),
    ("máscara-traspuesta", lambda x, q, v: square(x.shape[1]).T),
    ("máscara-uno-de-más", lambda x, q, v: square(x.shape[1], 1)),
    ("máscara-tamaño-B", lambda x, q, v: square(x.shape[0])),
    ("máscara-tamaño-d_model", lambda x, q, v: square(x.shape[2])),
    ("máscara-tamaño-d_k", lambda x, q, v: square(q.shape[1])),
    ("solo-su-value", lambda x, q, v: torch.eye(x.shape[1], dtype=torch.bool)),
)

# --- Las pruebas ----------------------------------------------------------------------------------


def sentences(seed, B, L, d_model, d_k, d_v, blank=False):
    """x, W_Q, W_K y W_V sembrados; ``blank`` pone a 0 un token, como un relleno."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(B, L, d_model, generator=generator)
    if blank:
        x[:, 1] = 0.0
    widths = (d_k, d_k, d_v)
    return x, *(torch.randn(d_model, n, generator=generator) / math.sqrt(d_model) for n in widths)


def whole_numbers(first):
    """Puntuaciones enteras, exactas en float32: 200 por cada número de ``first``."""
    values = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]])
    x = torch.cat([torch.tensor(first)[:, None], torch.ones(4, 1), values, torch.zeros(4, 1)], 1)
    W_Q, W_K, W_V = torch.zeros(5, 4), torch.zeros(5, 4), torch.zeros(5, 2)
    W_Q[1, 0], W_K[0, 0] = 400.0, 1.0
    W_V[2, 0] = W_V[3, 1] = 1.0
    return x[None], W_Q, W_K, W_V


CASES = (
    Case("2 frases de 4 tokens", sentences(0, 2, 4, 6, 5, 7)),
    Case("2 frases de 3 tokens y matrices cuadradas", sentences(1, 2, 3, 4, 4, 4)),
    Case("una frase de 5 tokens", sentences(2, 1, 5, 3, 6, 2)),
    Case("3 frases de 3 tokens", sentences(3, 3, 3, 5, 2, 4)),
    Case("2 frases de 4 tokens, con d_model = 4", sentences(4, 2, 4, 4, 6, 5)),
    Case("2 frases de 5 tokens, con d_k = 5", sentences(5, 2, 5, 4, 5, 3)),
    Case("un token que es el vector 0", sentences(7, 2, 4, 6, 5, 7, blank=True)),
    Case("una frase de un token", sentences(8, 1, 1, 4, 3, 2)),
    Case("una frase de 70 tokens", sentences(9, 1, 70, 6, 5, 4)),
    Case("puntuaciones muy grandes", whole_numbers([1.0, 2.0, 0.0, 1.0])),
    Case("puntuaciones muy negativas y un futuro mayor", whole_numbers([-12.0, -11.0, -9.0, 0.0])),
)
EXTRA = (
    Case("una frase de un token", sentences(8, 1, 1, 4, 3, 2)),
    Case("una frase de 70 tokens", sentences(9, 1, 70, 6, 5, 4)),
)
ONE = torch.ones(1, 1)

# --- Lo que se mide -------------------------------------------------------------------------------


def one_number(attempt, token, *matrices):
    """La salida de uno de dos tokens, si es un número."""
    output = attempt.ask(torch.eye(2)[None], *matrices)
    known = output is not None and output.shape == (1, 2, 1)
    return float(output[0, token, 0]) if known else None


def found_length(attempt):
    """Si solo funciona con frases de una longitud, cuál es."""
    works = [L for L in range(2, 11) if attempt.ask(*sentences(20, 2, L, 12, 11, 13)) is not None]
    if len(works) == 1:
        fixed = TOLD["máscara-longitud-fija"].saying(number=works[0])
        yield Option(lambda x, q, v: square(works[0]), fixed)


# --- Lo que se ve cuando no se reconoce nada ------------------------------------------------------


def output_shape(x, W_Q, W_K, W_V):
    return (*x.shape[:-1], W_V.shape[-1])


def influence(attempt):
    """El mapa de influencia con la frase más corta en la que algo no es un triángulo."""
    for L in (2, 3, 4):
        x = torch.tensor([1.0, 2.0, 0.0, 3.0])[:L].reshape(1, L, 1)
        base = attempt.ask(x, ONE, ONE, ONE)
        if base is None or base.shape != x.shape or not base.isfinite().all():
            return
        for j in range(L):
            touched = x.clone()
            touched[0, j] += 1.0
            other = attempt.ask(touched, ONE, ONE, ONE)
            if other is None or other.shape != x.shape:
                return
            moved = (other - base).abs()[0, :, 0] > 1e-5
            tale = f"Con x = {show(x[0, :, 0])} (d_model = 1, matrices de un 1), al sumar 1 al token {j}"
            if moved[:j].any():
                i = int(moved.nonzero()[0])
                text = "El futuro se escapa: tocar un token mueve una salida anterior."
                story = (
                    f"{tale}, tu salida {i} pasa de {show(base[0, i, 0])} a {show(other[0, i, 0])}."
                )
                yield Finding("propiedad-fuga", text, story, "08 §3")
                return
            if not moved[j:].all():
                i = j + int((~moved[j:]).nonzero()[0])
                text = "Tapas de más: tocar un token no mueve una salida que puede verlo."
                story = f"{tale}, tu salida {i} no cambia."
                yield Finding("propiedad-tapa-de-más", text, story, "08 §3")
                return


def sentences_apart(attempt):
    """Que tocar una frase del lote no mueva la salida de otra."""
    first, *matrices = sentences(21, 2, 3, 4, 4, 4)
    other = first.clone()
    other[1] += 1.0
    before, after = (attempt.ask(x, *matrices) for x in (first, other))
    if before is not None and after is not None and not same(before[0], after[0]):
        amount = show((before[0] - after[0]).abs().max())
        text = "Las frases del lote se mezclan: tocar una cambia la salida de otra."
        story = f"Al sumar 1 a la segunda de 2 frases, la salida de la primera se mueve {amount}."
        yield Finding("propiedad-lote", text, story, "07 §5.4")


# --- El ejercicio ---------------------------------------------------------------------------------


class MaskedSelfAttention(Exercise):
    """x → softmax(Q·Kᵀ / √d_k, sin futuro)·V, con Q = x·W_Q, K = x·W_K y V = x·W_V."""

    number, title, points = "8.2", "autoatención enmascarada", 4
    names = ("x", "W_Q", "W_K", "W_V")
    axes = {
        "hide": HIDE_OPTIONS,
        "allowed": ALLOWED,
        "scale": head.scale_options("√L_q", "√eje-1"),
        "softmax": list(head.softmax_options()),
        "every": ways(head.MATRICES, "propias", *head.EVERY),
        "value": list(head.value_options(sin_pesos=None, suma_por_value=TOLD["solo-su-value"])),
        **head.last_axes(),
    }
    stages = head.few_errors(
        CASES, tuple(axes), ("hide", "allowed", "scale", "softmax", "every", "value")
    )
    extra = EXTRA
    tiny = tuple(
        Case("", (torch.tensor(x).reshape(1, -1, 1), ONE, ONE, ONE))
        for x in ([2.0], [1.0, 2.0], [1.0, 2.0, 0.0])
    )
    measured = head.measured_in(one_number, HIDDEN["máscara-poco-negativa"]) | {
        "allowed": found_length
    }
    must = (
        right_shape(output_shape, "La forma de tu salida no es (B, L, d_v).", "08 §2"),
        head.ALL_FINITE,
        influence,
        sentences_apart,
        within_values(
            lambda x, W_Q, W_K, W_V: x @ W_V,
            "05 §4",
            "Cada salida es una media ponderada de los values que ve: ¿suman 1 tus pesos?",
            "tu salida {row} se sale de entre ellos en {gap}",
            lambda values: (values.cummin(1).values, values.cummax(1).values),
        ),
    )
    silent = (head.only_nan,)
    reader, returned = Pair(output_shape, "un tensor"), (wrong_pair,)
    also = ("máscara-longitud-fija", *head.ALSO)

    def compute(self, choice, x, W_Q, W_K, W_V):
        q, k, v = head.query_key_value(choice, (x, x, x), W_Q, W_K, W_V)
        return head.attend(choice, x, q, k, v, choice["allowed"](x, W_Q, W_V))

    def skip(self, choice):
        return head.covers_the_same(self, choice)


MASKED_ATTENTION = MaskedSelfAttention()
EXERCISES = (MASKED_ATTENTION,)


def check_masked_self_attention(function):
    """Comprueba la autoatención enmascarada de una cabeza.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V)``, de formas ``(B, L, d_model)``, ``(d_model, d_k)`` dos
            veces y ``(d_model, d_v)``. Devuelve la salida ``(B, L, d_v)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce y, si deja escapar el futuro, dónde.
    """
    return finish(MASKED_ATTENTION.check(function))
