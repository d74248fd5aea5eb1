"""Un peso de una cabeza de BERT, con la cuenta bien hecha o con algo cambiado: se pregunta en tres lecciones."""

import functools
import math

import torch

import course_lib


@functools.cache
def attentions():
    """La atención de cada capa de BERT."""
    layers = course_lib.encoder_from_bert(course_lib.load_bert()).encoder.encoder_layers
    return [layer.multi_head_attention for layer in layers]


@functools.cache
def read(sentence):
    """Una frase, leída por BERT."""
    return course_lib.extract_embeddings(sentence)


def weight(sentence, row, column, layer, head, entering=None, divisor=None, dim=-1, swapped=False,
           hide=(), shift=0, project=True):  # fmt: skip
    """El peso que la fila de una palabra da a otra.

    ``entering`` es lo que entra en la capa, si no es lo suyo: su nombre o el número de un estado; ``shift``, si
    las palabras se buscan corridas; y sin ``project`` faltan W_Q y W_K.
    """
    bert, attention = read(sentence), attentions()[layer]
    entering = layer if entering is None else entering
    x = getattr(bert, entering) if isinstance(entering, str) else bert.hidden_states[entering]
    with torch.no_grad():
        projections = attention.query_projection, attention.key_projection
        q, k = (attention.split_heads(f(x))[0, head] if project else x[0] for f in projections)
    scores = (k @ q.mT if swapped else q @ k.mT) / (divisor or math.sqrt(k.shape[-1]))
    words = bert.tokens[0]
    hidden = torch.tensor([word in hide for word in words])
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim)
    return float(weights[words.index(row) + shift, words.index(column) + shift])
