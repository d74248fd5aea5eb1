"""9.1 · La atención cruzada de una cabeza.

La familia: {Q del decoder, K y V del encoder…} × {W_Q, W_K…} × {÷√d_k…} × {softmax…} × {máscara…}.
"""

import functools
import math

import torch

from course_lib.checkers.engine.comparing import show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import right_shape, within_values
from course_lib.checkers.engine.reading import Pair
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.steps import one_head as head
from course_lib.checkers.steps.attention import not_a_number
from course_lib.checkers.steps.hiding import own_mask
from course_lib.checkers.steps.pair import wrong_pair

# --- Los pasos ------------------------------------------------------------------------------------


def padding_weight(look):
    """Cuánto peso se llevan los tokens de relleno del origen."""
    mask, weights = look.case.arguments[5], look.traced["weights"]
    if mask is None or weights.shape != look.traced_right["weights"].shape:
        return ""
    if weights.isnan().any():
        return not_a_number(look)
    leaked = (weights * ~mask[:, None]).abs().sum(-1)  # (B, m_D)
    if leaked.max() < 1e-6:
        return ""
    batch, row = divmod(int(leaked.argmax()), leaked.shape[1])
    return (
        f"Con {look.case.name}, tu query {row} de la frase {batch} da un peso de "
        f"{show(leaked[batch, row])} al relleno del origen, y tenía que dar 0."
    )


def shape_story(look):
    """Lo que mide la salida, si no es lo que tenía que medir."""
    if look.yours.shape == look.right.shape:
        return ""
    return (
        f"Con {look.case.name}, tu salida mide {tuple(look.yours.shape)} y tenía que medir "
        f"{tuple(look.right.shape)}: una fila por token del decoder."
    )


SOURCES = ways(
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
)
TOLD = told(
    __file__, "9.1", máscara_falta=padding_weight, máscara_por_filas=padding_weight,
    máscara_solo_la_primera=padding_weight, máscara_causal_en_su_lugar=padding_weight,
    máscara_relleno_al_final=padding_weight,
)  # fmt: skip
HIDDEN, HIDE_OPTIONS = own_mask(TOLD["máscara-falta"], padding_weight)


def triangle(rows, columns):
    return torch.ones(rows, columns, dtype=torch.bool).tril()


ALLOWED = ways(
    # Cómo se pone la máscara (B, m_E) sobre unas puntuaciones (B, m_D, m_E).
    TOLD,
    lambda mask, m_D, m_E: mask[:, None, :],
    ("máscara-sin-eje", lambda mask, m_D, m_E: mask),
    ("máscara-por-filas", lambda mask, m_D, m_E: mask[:, :, None]),
    ("máscara-solo-la-primera", lambda mask, m_D, m_E: mask[:1, None, :]),
    ("máscara-causal-en-su-lugar", lambda mask, m_D, m_E: triangle(m_D, m_E)),
    (
        "máscara-relleno-al-final",
        lambda mask, m_D, m_E: mask.sort(dim=1, descending=True).values[:, None],
    ),
)
NO_FUTURE = ways(
    TOLD,
    lambda m_D, m_E: None,
    (
        "máscara-causal-de-más",
        triangle,
        lambda m_D, m_E: triangle(m_D, m_D),
        lambda m_D, m_E: triangle(m_E, m_E),
    ),
)

# --- Las pruebas ----------------------------------------------------------------------------------


def pair(seed, B, m_D, m_E, d, d_k, d_v, real=None, blank=False, left=False):
    """Dos lotes de frases, W_Q, W_K y W_V sembrados, y cuántos tokens de origen son de verdad.

    ``blank`` pone a 0 un token de origen; ``left``, el relleno delante.
    """
    generator = torch.Generator().manual_seed(seed)
    decoder_x = torch.randn(B, m_D, d, generator=generator)
    encoder_x = torch.randn(B, m_E, d, generator=generator)
    if blank:
        encoder_x[:, 0] = 0.0
    matrices = (
        torch.randn(d, n, generator=generator) / math.sqrt(d) * 1.2 for n in (d_k, d_k, d_v)
    )
    mask = None if real is None else torch.arange(m_E) < torch.tensor(real)[:, None]
    return decoder_x, encoder_x, *matrices, mask.flip(1) if left else mask


def whole_numbers(first):
    """Puntuaciones enteras, exactas en float32: 200 o 400 por cada número de ``first``."""
    values = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]])
    encoder_x = torch.cat([torch.tensor(first)[:, None], torch.zeros(4, 1), values], 1)[None]
    decoder_x = torch.zeros(1, 3, 4)
    decoder_x[0, :, 1] = torch.tensor([1.0, 2.0, 1.0])
    W_Q, W_K, W_V = torch.zeros(4, 9), torch.zeros(4, 9), torch.zeros(4, 2)
    W_Q[1, 0], W_K[0, 0] = 600.0, 1.0
    W_V[2, 0] = W_V[3, 1] = 1.0
    return decoder_x, encoder_x, W_Q, W_K, W_V, torch.tensor([[True, True, True, False]])


CASES = (
    Case("un origen con relleno", pair(0, 2, 3, 4, 6, 5, 7, (3, 2))),
    Case("3 tokens en el decoder y 5 en el encoder", pair(1, 2, 3, 5, 6, 4, 7)),
    Case("5 tokens en el decoder y 2 en el encoder", pair(2, 3, 5, 2, 4, 6, 3)),
    Case("3 tokens en cada frase y matrices cuadradas", pair(3, 2, 3, 3, 4, 4, 4)),
    Case("4 tokens en cada frase y relleno", pair(4, 2, 4, 4, 6, 5, 3, (2, 3))),
    Case("3 frases, 3 tokens en el decoder y relleno", pair(5, 3, 3, 5, 4, 6, 2, (5, 2, 4))),
    Case("una frase con relleno", pair(6, 1, 4, 3, 5, 2, 6, (2,))),
    Case("matrices cuadradas y relleno", pair(7, 2, 3, 4, 5, 5, 5, (1, 4))),
    Case("un token de origen que es el vector 0", pair(8, 2, 3, 4, 6, 5, 7, (3, 2), blank=True)),
    Case("el relleno delante", pair(9, 2, 3, 5, 6, 5, 4, (3, 2), left=True)),
    Case("puntuaciones muy grandes", whole_numbers([1.0, 2.0, 0.0, 1.0])),
    Case("puntuaciones muy negativas y un relleno mayor", whole_numbers([-12.0, -11.0, -9.0, 0.0])),
)
EXTRA = (
    Case("3 tokens en el decoder, 5 en el encoder y d_v = 4", pair(10, 1, 3, 5, 6, 5, 4)),
    Case("40 tokens en el decoder y 70 en el encoder", pair(11, 1, 40, 70, 6, 5, 3, (60,))),
)
ONE = torch.ones(1, 1)


@functools.lru_cache(maxsize=4096)
def sources(order, decoder_x, encoder_x):
    """De qué vectores salen la query, la key y el value."""
    if "+" in order:
        together = torch.cat([{"D": decoder_x, "E": encoder_x}[name] for name in order[2:]], 1)
        return decoder_x, together, together
    return tuple(decoder_x if name == "D" else encoder_x for name in order)


# --- Lo que se mide -------------------------------------------------------------------------------


def one_number(attempt, token, *matrices):
    """La salida de un token, si es un número; el primero no puede ver el segundo."""
    x, mask = torch.eye(2)[None], None if token else torch.tensor([[True, False]])
    output = attempt.ask(x[:, token : token + 1], x, *matrices, mask)
    return None if output is None or output.numel() != 1 else float(output)


# --- Lo que se ve cuando no se reconoce nada ------------------------------------------------------


def output_shape(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
    return (*decoder_x.shape[:-1], W_V.shape[-1])


TOUCHED = (
    # Qué se toca (argumento, frase y token), qué se dice si se mueve lo que no debe, y qué no debe.
    (1, 1, 3, "propiedad-fuga", "09 §4", "El relleno se cuela: tocar un token de relleno del origen "
     "mueve la salida.", lambda gap: gap > 1e-5),
    (0, 0, 1, "propiedad-fila", "09 §2", "Cada salida es de un solo token del decoder: tocar uno mueve "
     "las de otros.", lambda gap: gap[:, [0, 2]] > 1e-5),
    (1, 0, 2, "propiedad-lote", "07 §5.4", "Las frases del lote se mezclan: tocar una mueve la salida "
     "de otra.", lambda gap: gap[1:] > 1e-5),
    (1, 0, 2, "propiedad-no-lee", "09 §2", "Hay salidas que no leen el origen: tocar un token del "
     "encoder no las mueve.", lambda gap: gap[:1] <= 1e-6),
)  # fmt: skip


def what_moves(attempt):
    """Qué salidas se mueven al tocar cada cosa."""
    arguments = pair(20, 2, 3, 4, 5, 5, 5, (4, 2))
    base = attempt.ask(*arguments)
    if base is None or base.dim() != 3:
        return
    for which, batch, token, name, read, text, bad in TOUCHED:
        touched = list(arguments)
        touched[which] = arguments[which].clone()
        touched[which][batch, token] += 1.0
        output = attempt.ask(*touched)
        if output is None or output.shape != base.shape:
            continue
        gap = (output - base).abs().amax(-1)
        if bad(gap).any():
            side = "decoder" if which == 0 else "encoder"
            story = (
                f"Al sumar 1 al token {token} del {side} en la frase {batch}, la salida que más se "
                f"mueve lo hace en {show(gap.max())}."
            )
            if name == "propiedad-no-lee":
                row = int(bad(gap)[0].nonzero()[0])
                story = f"Al sumar 1 al token {token} del encoder, tu salida {row} no cambia."
            yield Finding(name, text, story, read)
            return


# --- El ejercicio ---------------------------------------------------------------------------------


class CrossAttention(Exercise):
    """softmax(Q·Kᵀ / √d_k)·V, con Q del decoder y K y V del encoder."""

    number, title, points = "9.1", "la atención cruzada", 4
    names = ("decoder_x", "encoder_x", "W_Q", "W_K", "W_V")
    optional = ("source_mask",)
    axes = {
        "sources": SOURCES,
        "hide": HIDE_OPTIONS,
        "allowed": ALLOWED,
        "scale": head.scale_options("√eje-1"),
        "softmax": list(head.softmax_options()),
        "every": ways(
            head.MATRICES,
            "propias",
            (TOLD["W_Q-W_K-cambiadas"], "matrices cambiadas"),
            *head.EVERY,
        ),
        "causal": NO_FUTURE,
        "value": list(head.value_options()),
        **head.last_axes(),
    }
    stages = head.few_errors(CASES, tuple(axes), ("sources", "hide", "allowed", "scale", "softmax"))
    extra = EXTRA
    tiny = tuple(
        Case("", (torch.tensor([x]), torch.tensor([y]), ONE, ONE, ONE, mask))
        for x, y, mask in (
            ([[1.0]], [[2.0]], None),
            ([[1.0]], [[2.0], [1.0]], None),
            ([[1.0], [0.0]], [[2.0]], None),
            ([[1.0]], [[2.0], [1.0]], torch.tensor([[True, False]])),
        )
    )
    measured = head.measured_in(one_number, HIDDEN["máscara-poco-negativa"])
    must = (
        right_shape(
            output_shape,
            "La forma de tu salida no es (B, m_D, d_v): una fila por token del decoder.",
            "09 §2",
        ),
        head.ALL_FINITE,
        what_moves,
        within_values(
            lambda decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None: encoder_x @ W_V,
            "09 §2",
            "Cada salida es una media ponderada de los values del encoder: ¿suman 1 tus pesos?",
            "la tuya se sale de entre ellos en {gap}",
        ),
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
        twice = instead and choice["causal"].mistake
        return bool(twice) or head.covers_the_same(self, choice)


CROSS_ATTENTION = CrossAttention()
EXERCISES = (CROSS_ATTENTION,)


def check_cross_attention(function):
    """Comprueba la atención cruzada de una cabeza.

    Args:
        function: recibe ``(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None)``, de formas
            ``(B, m_D, d)``, ``(B, m_E, d)``, ``(d, d_k)`` dos veces, ``(d, d_v)`` y una máscara booleana
            ``(B, m_E)``; True, token de verdad. Devuelve la salida ``(B, m_D, d_v)``, o
            ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(CROSS_ATTENTION.check(function))
