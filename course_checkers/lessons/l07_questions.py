"""7.3 y 7.4 · Las preguntas de la lección 07."""

import functools
import math

import torch

from course_checkers.engine import question

HEADS, WIDTH = 8, 512
SENTENCES = [f"I gave the dog a bone because it was {what}" for what in ("hungry", "old")]
LAYER, HEAD = 3, 8


def parameters(width):
    """Los de las tres capas de entrada, sin sesgo, contados de verdad."""
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(3)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def ratio():
    return parameters(WIDTH) / parameters(WIDTH // HEADS)


MISCOUNTED = {
    "solo-un-factor": lambda: HEADS,
    "los-de-la-lección": lambda: 4,
    "los-mismos": lambda: 1,
    "con-W_O": lambda: (parameters(WIDTH) + WIDTH**2) / (parameters(WIDTH // HEADS) + WIDTH**2),
    "por-tres": lambda: 3 * HEADS**2,
    "al-revés": lambda: 1 / HEADS**2,
}
RATIO = question(__file__, "7.3", "cuántas veces menos", ratio, MISCOUNTED, read="07 §6.1")


@functools.cache
def bert_weights(divisor=None, dim=-1):
    """Los pesos de la capa 3 de BERT, calculados a mano con las dos frases."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    x = extract_embeddings(SENTENCES).hidden_states[LAYER]
    layer = encoder_from_bert(load_bert()).encoder.encoder_layers[LAYER].multi_head_attention
    with torch.no_grad():
        projections = layer.query_projection, layer.key_projection
        q, k = (f(x).unflatten(-1, (12, 32)) for f in projections)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.softmax(scores / (divisor or math.sqrt(32)), dim=dim)


def from_it_to_bone(sentence=1, head=HEAD, turned=False, **how):
    from course_lib import extract_embeddings

    tokens = extract_embeddings(SENTENCES).tokens[sentence]
    places = tokens.index("it"), tokens.index("bone")
    return float(bert_weights(**how)[(sentence, head, *(places[::-1] if turned else places))])


MISTAKEN = {
    "primera-frase": lambda: from_it_to_bone(sentence=0),
    "cabeza-desde-1": lambda: from_it_to_bone(head=HEAD - 1),
    "de-bone-a-it": lambda: from_it_to_bone(turned=True),
    "escala-√d_model": lambda: from_it_to_bone(divisor=math.sqrt(384)),
    "sin-escala": lambda: from_it_to_bone(divisor=1.0),
    "escala-d_k": lambda: from_it_to_bone(divisor=32.0),
    "softmax-queries": lambda: from_it_to_bone(dim=-2),
}
WEIGHT = question(
    __file__, "7.4", "un peso de BERT, a mano", from_it_to_bone, MISTAKEN,
    kind="un número entre 0 y 1", read="07 §4.2",
)  # fmt: skip

QUESTIONS = (RATIO, WEIGHT)
