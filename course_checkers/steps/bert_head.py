"""Un peso de una cabeza de BERT, con la cuenta bien hecha o con algo cambiado: se pregunta en tres lecciones."""

import functools
import math

import torch


@functools.cache
def heads_of(sentence):
    """Una frase que lee BERT, y la atención de cada una de sus capas."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    layers = encoder_from_bert(load_bert()).encoder.encoder_layers
    return extract_embeddings(sentence), [layer.multi_head_attention for layer in layers]


def weight(sentence, row, column, layer, head, entering=None, divisor=None, dim=-1, swapped=False,
           hide=(), shift=0, project=True):  # fmt: skip
    """El peso que la fila de una palabra da a otra.

    ``entering`` es lo que entra en la capa, si no es lo suyo: su nombre o el número de un estado; ``shift``, si
    las palabras se buscan corridas; y sin ``project`` faltan W_Q y W_K.
    """
    bert, attentions = heads_of(sentence)
    entering, attention = layer if entering is None else entering, attentions[layer]
    x = getattr(bert, entering) if isinstance(entering, str) else bert.hidden_states[entering]
    with torch.no_grad():
        projections = attention.query_projection, attention.key_projection
        q, k = (attention.split_heads(f(x))[0, head] if project else x[0] for f in projections)
    scores = (k @ q.mT if swapped else q @ k.mT) / (divisor or math.sqrt(k.shape[-1]))
    words = bert.tokens[0]
    hidden = torch.tensor([word in hide for word in words])
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim)
    return float(weights[words.index(row) + shift, words.index(column) + shift])
