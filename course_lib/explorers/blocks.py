"""La atención por bloques: la tabla de puntuaciones, a trozos, sin tenerla nunca entera."""

import math

import torch
import traitlets

from course_lib.explorers.base import Explorer, esm
from course_lib.explorers.declared import NO_YES, SHARED, Choice, Whole, count, last
from course_lib.explorers.qkv import DEFAULT, project, read
from course_lib.masks import causal_mask

LAYER, HEAD = 3, 1  # la cabeza que va de «it» a «dog»


def compute(scores, values, query, block, causal, step):
    """Atiende por bloques, y cuenta cómo va una fila tras los primeros bloques de keys.

    Las puntuaciones, ``(L, L)``, llegan ya divididas por √d_k. El último bloque quizá es más pequeño; los
    que son todo futuro no se calculan; y si no hay ``step`` bloques, se ven todos.

    Returns:
        Diccionario: ``queries`` y ``keys``, de dónde a dónde va cada bloque; ``steps``, lo que hace
        cada uno de los vistos: el máximo ``m``, el ``factor`` exp(m de antes − m), lo que suma
        (``added``) y la suma, ``total``; ``output``, la salida con lo visto; ``whole``, la de la
        atención entera; ``difference``, lo más que se separan; ``alive`` y ``table``, cuántos
        números hay a la vez y en la tabla entera; ``done`` y ``count``, bloques que van y que son.
    """
    scores, values = (torch.as_tensor(x, dtype=torch.float64) for x in (scores, values))
    length, index = len(scores), query // block
    first, end, blocks = index * block, min((index + 1) * block, length), -(-length // block)
    if causal:
        scores = scores.masked_fill(~causal_mask(length), -math.inf)
    keys = [[j, min(j + block, length)] for j in range(0, end if causal else length, block)]
    m, total, output, steps = torch.tensor(-math.inf), 0.0, torch.zeros_like(values[0]), []
    start = stop = 0
    for start, stop in keys[:step]:
        row, before = scores[query, start:stop], m
        m = torch.maximum(before, row.max())
        factor, weights = (before - m).exp(), (row - m).exp()
        total = total * factor + weights.sum()
        output = output * factor + weights @ values[start:stop]
        numbers = {"m": m, "factor": factor, "added": weights.sum(), "total": total}
        steps.append({name: number.item() for name, number in numbers.items()})
    output = output / total if steps else output
    whole = scores[query].softmax(dim=-1) @ values
    return {
        "queries": [first, end],
        "keys": keys,
        "steps": steps,
        "output": output.tolist(),
        "whole": whole.tolist(),
        "difference": (output - whole).abs().max().item(),
        "alive": (end - first) * (stop - start + 2),  # el bloque, y m y l de cada fila
        "table": length**2,
        "done": (index * (index + 1) // 2 if causal else index * blocks) + len(steps),
        "count": blocks * (blocks + 1) // 2 if causal else blocks**2,
    }


class BlocksExplorer(Explorer):
    """La atención por bloques, como FlashAttention, paso a paso: capa 3, cabeza 1 de BERT.

    Args:
        query, causal: la fila que se sigue, desde 0, y si lleva la máscara causal.
        block, step: cuántas queries y keys tiene un bloque, y cuántos de keys ha visto esa fila.
    """

    _esm = esm("blocks")
    tokens = traitlets.List(traitlets.Unicode()).tag(**SHARED)
    scores = traitlets.List().tag(**SHARED)
    values = traitlets.List().tag(**SHARED)
    query = Whole(0, last("tokens"), 8, key="token")
    block = Whole(1, count("tokens"), 4, key="bloque")
    causal = Choice(NO_YES, key="causal")
    step = Whole(0, count("tokens"), 1, key="paso")

    def __init__(self, **state):
        Q, K, V = (tensor[HEAD] for tensor in project(DEFAULT, LAYER))
        data = {"scores": Q @ K.mT / math.sqrt(K.shape[-1]), "values": V}
        data = {name: tensor.round(decimals=4).tolist() for name, tensor in data.items()}
        super().__init__(tokens=read(DEFAULT)[0], **data, **state)

    def describe(self):
        names = ("scores", "values", "query", "block", "causal", "step")
        r = compute(*(getattr(self, name) for name in names))
        now = "sin empezar"
        for step in r["steps"]:
            now = f"m = {step['m']:.2f} y l = {step['total']:.2f}"
        return (
            f"Atención por bloques de {self.block}, {'causal' if self.causal else 'sin máscara'}: "
            f"«{self.tokens[self.query]}» (posición {self.query}) ha visto {len(r['steps'])} de "
            f"{len(r['keys'])} bloques de keys; {now}; de la atención entera se separa "
            f"{r['difference']:.2f}. En memoria, {r['alive']} números; la tabla tiene {r['table']}."
        )
