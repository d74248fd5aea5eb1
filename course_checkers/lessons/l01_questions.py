"""1.3 · ¿Quién se parece a «the»?"""

from functools import partial

import torch
from torch.nn import functional as F

import course_lib
from course_checkers.engine import question


def nearest(vectors="contextual_embeddings", cosines=True, itself=False, least=False):
    """El token de la frase que gana en la fila de «the»."""
    embeddings = course_lib.extract_embeddings("I gave the dog a bone because it was hungry")
    tokens, X = embeddings.tokens[0], getattr(embeddings, vectors)[0]
    row = tokens.index("the")
    values = F.normalize(X, dim=-1) @ F.normalize(X[row], dim=0) if cosines else X @ X[row]
    if not itself:
        values[row] = torch.inf if least else -torch.inf
    return tokens[int(values.argmin() if least else values.argmax())]


QUESTIONS = (question(__file__, "1.3", "el más parecido a «the»", nearest, {
    "él-mismo": partial(nearest, itself=True),
    "gana-en-producto": partial(nearest, cosines=False),
    "gana-en-la-tabla": partial(nearest, "token_embeddings"),
    "el-menos-parecido": partial(nearest, least=True),
}, kind="un token de la frase, entre comillas", read="01 §7"),)  # fmt: skip
