"""Lo que se pregunta en la lección 03: el tamaño de las puntuaciones y un peso de BERT."""

import math
from functools import partial

from course_checkers.engine import question
from course_checkers.steps import bert_head

# 3.3 El tamaño, con papel y lápiz.
D_K, QUERY_SPREAD, KEY_SPREAD = 16, 3, 2


def predicted(divisor, variance=False):
    """La desviación de q·k entre un divisor: Var(q·k) = d_k·σ_q²·σ_k²."""
    found = D_K * QUERY_SPREAD**2 * KEY_SPREAD**2 / divisor**2
    return found if variance else math.sqrt(found)


# 3.4 En una cabeza de BERT.
LAYER, HEAD = 0, 4
weight = partial(bert_head.weight, "She sat on the bank of the river", "bank", "river")
weight = partial(weight, layer=LAYER, head=HEAD)
QUESTIONS = (
    question(__file__, "3.3", "queries y keys más largas", lambda: predicted(math.sqrt(D_K)), {
        "siempre-1": lambda: math.sqrt(D_K * 1 * 1 / D_K),
        "varianza": lambda: predicted(math.sqrt(D_K), variance=True),
        "sin-dividir": lambda: predicted(1),
        "varianza-sin-dividir": lambda: predicted(1, variance=True),
        "entre-d_k": lambda: predicted(D_K),
        "varianza-entre-raíz": lambda: predicted(1, variance=True) / math.sqrt(D_K),
        "varianza-entre-d_k": lambda: predicted(D_K, variance=True),
        "olvida-k": lambda: QUERY_SPREAD,
        "olvida-q": lambda: KEY_SPREAD,
        "olvida-el-cuadrado": lambda: math.sqrt(QUERY_SPREAD * KEY_SPREAD),
    }, read="03 §6"),
    question(__file__, "3.4", "lo que «bank» mira a «river»", weight, {
        "sin-dividir": lambda: weight(divisor=1.0),
        "entre-d_k": lambda: weight(divisor=32),
        "entre-√d_model": lambda: weight(divisor=math.sqrt(384)),
        "softmax-queries": lambda: weight(dim=-2),
        "query-key-cambiadas": lambda: weight(swapped=True),
        "olvida-CLS": lambda: weight(shift=-1),
        "cabeza-desde-1": lambda: weight(head=HEAD - 1),
        "otra-capa": lambda: weight(layer=LAYER + 1),
        "otra-entrada": lambda: weight(entering="token_embeddings"),
        "otra-entrada#posición": lambda: weight(entering="embeddings_with_positional_encoding"),
        "otra-entrada#salida": lambda: weight(entering="contextual_embeddings"),
    }, kind="un número entre 0 y 1", read="03 §7", points=2),
)  # fmt: skip
