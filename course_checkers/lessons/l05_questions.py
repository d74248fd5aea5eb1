"""Lo que se pregunta en la lección 05: un peso de BERT y qué cambia los pesos."""

import functools
import math

import torch

from course_checkers.engine import drawn, question

# 5.2 Un peso, en una cabeza de BERT.
SENTENCE = "The cat drank the milk because it was thirsty"
MARKS = ("[CLS]", "[SEP]")


@functools.cache
def bert(layer=3):
    """Los tokens de la frase, lo que entra en una capa de BERT y la atención de la capa 3."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    found = extract_embeddings(SENTENCE)
    attention = encoder_from_bert(load_bert()).encoder.encoder_layers[3].multi_head_attention
    return found.tokens[0], found.hidden_states[layer], attention


def weight(row="it", token="cat", layer=3, head=1, scale=None, dim=-1, hide=MARKS, project=True):
    """El peso que la fila de ``row`` da a ``token``, con la cuenta bien hecha o con algo cambiado."""
    words, x, attention = bert(layer)
    with torch.no_grad():
        projections = attention.query_projection, attention.key_projection
        heads = [attention.split_heads(p(x))[0, head] for p in projections]
    q, k = heads if project else (x[0], x[0])
    scores = q @ k.mT / (scale or math.sqrt(k.shape[-1]))
    hidden = torch.tensor([word in hide for word in words])
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim)
    return float(weights[words.index(row), words.index(token)])


OF_WEIGHT = {
    "sin-máscara": lambda: weight(hide=()),
    "solo-cls": lambda: weight(hide=MARKS[:1]),
    "solo-sep": lambda: weight(hide=MARKS[1:]),
    "sin-it": lambda: weight(hide=(*MARKS, "it")),
    "máscara-al-revés": lambda: weight(hide=set(bert()[0]) - set(MARKS)),
    "fila-cambiada": lambda: weight(row="cat", token="it"),
    "otra-columna": lambda: weight(token="milk"),
    "softmax-queries": lambda: weight(dim=-2),
    "sin-escala": lambda: weight(scale=1.0),
    "escala-d_k": lambda: weight(scale=32),
    "escala-√d_model": lambda: weight(scale=math.sqrt(384)),
    "otra-cabeza": lambda: weight(head=0),
    "otra-capa#4": lambda: weight(layer=4),
    "otra-capa#2": lambda: weight(layer=2),
    "sin-proyectar": lambda: weight(project=False),
}
CAT = question(
    __file__, "5.2", "tu atención, en una cabeza de BERT", weight, OF_WEIGHT,
    kind="un número entre 0 y 1", read="05 §4.3", points=3,
)  # fmt: skip

# 5.3 Qué cambia los pesos.


def letter():
    """Qué cambia los pesos: multiplicar Q por 3, o sumar el mismo vector a todas las keys."""
    q, k, c = drawn(20, (3, 4), (5, 4), (1, 4))
    weights, longer, moved = (
        (q_ @ k_.mT / 2).softmax(-1) for q_, k_ in ((q, k), (3 * q, k), (q, k + c))
    )
    changes = not torch.allclose(weights, longer), not torch.allclose(weights, moved)
    return {(True, False): "b", (False, True): "a", (True, True): "c", (False, False): "d"}[changes]


LETTERS = {"todo-al-revés": "a", "sumar-no-cambia": "c", "multiplicar-sí-cambia": "d"}
CHANGES = question(
    __file__, "5.3", "qué cambia los pesos", letter,
    {n: lambda x=x: x for n, x in LETTERS.items()}, kind='una letra, "a", "b", "c" o "d"',
    read="03 §2", options="abcd",
)  # fmt: skip
QUESTIONS = (CAT, CHANGES)
