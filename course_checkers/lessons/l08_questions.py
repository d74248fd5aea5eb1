"""Las preguntas de la lección 08: el mapa de influencia y lo que ya ha leído la salida de BERT."""

import functools

import torch

from course_checkers.engine import question
from course_checkers.steps import bert_head
from course_lib.masks import causal_mask


def zeros_of_the_map(length=20):
    """Las casillas del futuro: con máscara en todas las capas, son cero exacto."""
    return int((~causal_mask(length)).sum())


@functools.cache
def tokens_that_know():
    """Cuántas salidas anteriores a la palabra cambiada se mueven, con cada entrada; y cuántas hay."""
    pair = [bert_head.read(f"The dog slept in the {word}") for word in ("garden", "kitchen")]
    attention, last, counts = bert_head.attentions()[0], pair[0].tokens[0].index("garden"), []
    for field in ("encoder_input", "contextual_embeddings"):
        sentences = [getattr(embeddings, field) for embeddings in pair]
        mask = causal_mask(sentences[0].shape[1])
        with torch.no_grad():
            first, second = (attention(x, x, x, mask)[0][0, :last] for x in sentences)
        counts.append(int(((first - second).norm(dim=-1) > 1e-4).sum()))
    return tuple(counts), last


QUESTIONS = (
    question(__file__, "8.3", "cuántos ceros tiene el mapa de influencia", zeros_of_the_map, {
        "cuenta-lo-permitido": lambda: int(causal_mask(20).sum()),
        "cuenta-los-dos-lados": lambda: zeros_of_the_map() * 2,
        "la-mitad": lambda: 20 * 20 // 2,
        "una-fila-de-menos": lambda: zeros_of_the_map(19),
        "las-capas-lo-cuelan": lambda: 0,
        "todas": lambda: 20 * 20,
        **{f"por-{n}": lambda n=n: zeros_of_the_map() * n for n in (6, 8, 48)},
    }, read="08 §2"),
    question(__file__, "8.4", "la salida de BERT ya ha leído el final", lambda: tokens_that_know()[0], {
        "la-máscara-basta": lambda: (0, 0),
        "al-revés": lambda: tokens_that_know()[0][::-1],
        "las-dos-lo-saben": lambda: (tokens_that_know()[1],) * 2,
        "sin-el-primero": lambda: (0, tokens_that_know()[1] - 1),
        "cuenta-los-posteriores": lambda: (2, tokens_that_know()[1] + 2),
        "cuenta-la-cambiada": lambda: (1, tokens_that_know()[1] + 1),
    }, kind="una pareja de números, como (1, 2)", read="08 §4.3", points=2),
)  # fmt: skip
