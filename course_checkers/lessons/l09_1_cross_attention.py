"""9.1 · La atención cruzada de una cabeza.

La familia: {Q del decoder, K y V del encoder…} × {W_Q, W_K…} × {÷√d_k…} × {softmax…} × {máscara…}.
"""

import functools

import torch

from course_checkers.engine import Case, Exercise, Pair, difference, laws, right_shape, show, told, ways
from course_checkers.steps import one_head as head
from course_checkers.steps.attention import within_values
from course_checkers.steps.hiding import leaked_weight, own_mask, triangle
from course_checkers.steps.pair import wrong_pair


def shape_story(look):
    """Lo que mide la salida, si no es lo que tenía que medir."""
    wrong = look.yours.shape != look.right.shape
    return difference(look, more=": una fila por token del decoder") if wrong else ""


PADDING = leaked_weight(
    lambda *given: None if given[5] is None else given[5][:, None], "al relleno del origen", True
)
TOLD = told(__file__, "9.1", PADDING, máscara_sin_eje=None, máscara_causal_de_más=None)
CHANGED = (told(__file__, "9.1, las matrices")["W_Q-W_K-cambiadas"], "matrices cambiadas")
LAWS = laws(__file__, "9.1 propiedades")
HIDDEN, HIDE_OPTIONS = own_mask(TOLD["máscara-falta"], PADDING)
AXES = {
    "sources": ways(
        # De qué frase salen la query, la key y el value: D, decoder; E, encoder.
        told(__file__, "9.1, las frases", shape_story),
        "DEE",
        ("papeles-cambiados", "EDD"),
        ("todo-del-decoder", "DDD"),
        ("todo-del-encoder", "EEE"),
        ("values-del-decoder", "DED"),
        ("keys-del-decoder", "DDE"),
        ("query-key-de-la-otra-frase", "EDE"),
        ("query-value-de-la-otra-frase", "EED"),
        ("frases-juntas", "D+DE", "D+ED"),
    ),
    "hide": HIDE_OPTIONS,
    "allowed": ways(
        # Cómo se pone la máscara (B, m_E) sobre unas puntuaciones (B, m_D, m_E).
        TOLD,
        lambda mask, m_D, m_E: mask[:, None, :],
        ("máscara-sin-eje", lambda mask, m_D, m_E: mask),
        ("máscara-por-filas", lambda mask, m_D, m_E: mask[:, :, None]),
        ("máscara-solo-la-primera", lambda mask, m_D, m_E: mask[:1, None, :]),
        ("máscara-causal-en-su-lugar", lambda mask, m_D, m_E: triangle(m_D, m_E)),
        ("máscara-relleno-al-final", lambda mask, *_: mask.sort(1, True).values[:, None]),
    ),
    "scale": head.scale_options("√eje-1"),
    "softmax": list(head.softmax_options()),
    "every": ways(head.MATRICES, "propias", CHANGED, *head.EVERY),
    "causal": ways(
        TOLD,
        lambda m_D, m_E: None,
        ("máscara-causal-de-más", triangle, lambda m_D, m_E: triangle(m_D, m_D)),
        ("máscara-causal-de-más", lambda m_D, m_E: triangle(m_E, m_E)),
    ),
    "value": list(head.value_options()),
    **head.last_axes(),
}


def pair(seed, B, m_D, m_E, d, d_k, d_v, real=None, blank=None, left=False):
    """Dos lotes de frases, W_Q, W_K y W_V, y cuántos tokens de origen son de verdad.

    ``blank`` es un token de origen que es 0; ``left``, el relleno delante.
    """
    given = head.drawn(seed, B, (m_D, m_E), d, d_k, d_v, 1.2, blank)
    mask = None if real is None else torch.arange(m_E) < torch.tensor(real)[:, None]
    return *given, mask.flip(1) if left else mask


def scores(first):
    """Puntuaciones enteras: 200 o 400 por cada número de ``first``."""
    decoder_x = torch.zeros(1, 3, 4)
    decoder_x[0, :, 1] = torch.tensor([1.0, 2.0, 1.0])
    mask = torch.tensor([[True, True, True, False]])
    return decoder_x, *head.whole_numbers(first, 4, 9), mask


CASES = (
    Case("un origen con relleno", pair(0, 2, 3, 4, 6, 5, 7, (3, 2))),
    Case("3 tokens en el decoder y 5 en el encoder", pair(1, 2, 3, 5, 6, 4, 7)),
    Case("5 tokens en el decoder y 2 en el encoder", pair(2, 3, 5, 2, 4, 6, 3)),
    Case("3 tokens en cada frase y matrices cuadradas", pair(3, 2, 3, 3, 4, 4, 4)),
    Case("4 tokens en cada frase y relleno", pair(4, 2, 4, 4, 6, 5, 3, (2, 3))),
    Case("3 frases, 3 tokens en el decoder y relleno", pair(5, 3, 3, 5, 4, 6, 2, (5, 2, 4))),
    Case("una frase con relleno", pair(6, 1, 4, 3, 5, 2, 6, (2,))),
    Case("matrices cuadradas y relleno", pair(7, 2, 3, 4, 5, 5, 5, (1, 4))),
    Case("un token de origen que es el vector 0", pair(8, 2, 3, 4, 6, 5, 7, (3, 2), blank=0)),
    Case("el relleno delante", pair(9, 2, 3, 5, 6, 5, 4, (3, 2), left=True)),
    Case("puntuaciones muy grandes", scores([1.0, 2.0, 0.0, 1.0])),
    Case("puntuaciones muy negativas y un relleno mayor", scores([-12.0, -11.0, -9.0, 0.0])),
)


def smallest(x, y, mask=None):
    """Una frase en cada lado, con d = 1 y matrices de un 1."""
    return Case("", (torch.tensor([x]), torch.tensor([y]), *torch.ones(3, 1, 1), mask))


@functools.lru_cache(maxsize=4096)
def sources(order, decoder_x, encoder_x):
    """De qué vectores salen la query, la key y el value."""
    if "+" in order:
        together = torch.cat([{"D": decoder_x, "E": encoder_x}[name] for name in order[2:]], 1)
        return decoder_x, together, together
    return tuple(decoder_x if name == "D" else encoder_x for name in order)


def one_number(attempt, token, *matrices):
    """La salida de un token, si es un número; el primero no puede ver el segundo."""
    x, mask = torch.eye(2)[None], None if token else torch.tensor([[True, False]])
    output = attempt.ask(x[:, token : token + 1], x, *matrices, mask)
    return None if output is None or output.numel() != 1 else float(output)


SHAPE = "La forma de tu salida no es (B, m_D, d_v): una fila por token del decoder.", "09 §2"


def output_shape(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return (*decoder_x.shape[:-1], W_V.shape[-1])


TOUCHED = (
    # Lo que falla, qué se toca (argumento, y frase y token) y, de lo que se mueve cada salida, cuáles mal.
    ("propiedad-fuga", 1, (1, 3), lambda gap: gap > 1e-5),
    ("propiedad-fila", 0, (0, 1), lambda gap: gap[:, [0, 2]] > 1e-5),
    ("propiedad-lote", 1, (0, 2), lambda gap: gap[1:] > 1e-5),
    ("propiedad-no-lee", 1, (0, 2), lambda gap: gap[:1] <= 1e-6),
)


def what_moves(attempt):
    """Qué salidas se mueven al tocar cada cosa."""
    for name, which, (batch, token), bad in TOUCHED:
        gap = head.moved_by(attempt, pair(20, 2, 3, 4, 5, 5, 5, (4, 2)), which, (batch, token))
        if gap is not None and bad(gap).any():
            where = {"side": ("decoder", "encoder")[which], "batch": batch, "token": token}
            row = int(bad(gap).nonzero()[0, -1])
            yield LAWS[name].saying(**where, row=row, gap=show(gap.max()))
            return


class CrossAttention(Exercise):
    """Comprueba la atención cruzada de una cabeza.

    Args:
        function: recibe ``(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None)``, de formas
            ``(B, m_D, d)``, ``(B, m_E, d)``, ``(d, d_k)`` dos veces, ``(d, d_v)`` y una máscara booleana
            ``(B, m_E)``; True, token de verdad. Devuelve la salida ``(B, m_D, d_v)``, o
            ``(salida, pesos)``.
    """

    number, title, points = "9.1", "la atención cruzada", 4
    letters = ("B m_D d", "B m_E d", "d d_k", "d d_k", "d d_v", "B m_E")
    axes = AXES
    stages = head.few_errors(CASES, tuple(axes), tuple(axes)[:5])
    extra = (
        Case("3 tokens en el decoder, 5 en el encoder y d_v = 4", pair(10, 1, 3, 5, 6, 5, 4)),
        Case("40 tokens en el decoder y 300 en el encoder", pair(11, 1, 40, 300, 6, 5, 3, (280,))),
    )
    tiny = (
        smallest([[1.0]], [[2.0]]),
        smallest([[1.0]], [[2.0], [1.0]]),
        smallest([[1.0], [0.0]], [[2.0]]),
        smallest([[1.0]], [[2.0], [1.0]], torch.tensor([[True, False]])),
    )
    measured = head.measured_in(one_number, HIDDEN["máscara-poco-negativa"])
    must = (
        right_shape(output_shape, *SHAPE),
        head.ALL_FINITE,
        what_moves,
        within_values(lambda *given: given[1] @ given[4], LAWS["propiedad-media"]),
    )
    silent = (head.only_nan,)
    reader, returned = Pair(output_shape, "un tensor"), (wrong_pair,)
    also = head.ALSO

    def compute(self, choice, decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        vectors = sources(choice["sources"], decoder_x, encoder_x)
        q, k, v = head.query_key_value(choice, vectors, W_Q, W_K, W_V)
        lengths = q.shape[-2], k.shape[-2]
        past = choice["causal"](*lengths)
        allowed = None if source_mask is None else choice["allowed"](source_mask, *lengths)
        return head.attend(choice, decoder_x, q, k, v, allowed, past)

    def skip(self, choice):
        # Si ya se tapa siempre el futuro, taparlo en lugar del relleno es no usar la máscara.
        instead = choice["allowed"].mistake is TOLD["máscara-causal-en-su-lugar"]
        return bool(instead and choice["causal"].mistake) or head.covers_the_same(self, choice)
