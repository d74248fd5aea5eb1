"""Los números del ejemplo pequeño, paso a paso, y cómo se escriben."""

from functools import cache
from types import SimpleNamespace

import torch

from course_lib import causal_mask, scaled_dot_product_attention
from course_lib.example import HEADS, W_K, W_O, W_Q, W_V, X_D, X
from course_lib.plots.inputs import number_text

D_K = X.shape[-1] // HEADS
HIDDEN = -torch.inf  # lo que pone la máscara en una puntuación


@cache
def steps(case="entera"):
    """Todos los pasos del caso: «entera», «causal» (con máscara) o «cruzada» (pregunta X_D).

    Lo que es de cada cabeza tiene un eje delante: (h, L_q, …).
    """
    asks = X_D if case == "cruzada" else X
    mask = causal_mask(len(X)) if case == "causal" else None
    Q, K, V = asks @ W_Q, X @ W_K, X @ W_V
    q, k, v = (torch.stack(matrix.split(D_K, dim=-1)) for matrix in (Q, K, V))
    scores = q @ k.mT
    scaled = scores / D_K**0.5
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    change = torch.cat(list(output), dim=-1) @ W_O
    return SimpleNamespace(
        x=asks,
        Q=Q,
        K=K,
        V=V,
        q=q,
        k=k,
        v=v,
        scores=scores,
        scaled=scaled,
        masked=scaled if mask is None else scaled.masked_fill(~mask, HIDDEN),
        weights=weights,
        output=output,
        concat=torch.cat(list(output), dim=-1),
        # lo que escribe cada cabeza: su salida por sus filas de W_O
        written=output @ torch.stack(W_O.split(D_K)),
        change=change,
        sum=asks + change,
    )


def written(value):
    """Un número como se lee: los enteros, sin decimales; los demás, con dos."""
    value = float(value)
    return number_text(value, 0 if value == round(value, 3) == round(value) else 2)


def vector(values):
    """Un vector entre paréntesis: «(1, 0.09)»."""
    return f"({', '.join(map(written, values))})"
