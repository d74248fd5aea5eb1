"""Influencia: qué salidas se mueven al tocar un token, con máscara causal y sin ella."""

from functools import lru_cache

import torch
import traitlets

from course_lib.bert import extract_embeddings, load_bert
from course_lib.explorers.base import Explorer, esm
from course_lib.explorers.declared import NO_YES, SHARED, Choice, Whole, count, last
from course_lib.masks import causal_mask

SENTENCE = "I gave the dog a bone because it was hungry"
LAYERS = 3


def influence_maps(layers, x):
    """Mide cuánto cambia cada salida al tocar cada entrada.

    Args:
        layers: capas de encoder, que se aplican una tras otra.
        x: la entrada de la primera, ``(1, L, d_model)``.

    Returns:
        ``(capas, 2, L, L)``: tras cada capa, sin máscara y con la causal, la norma del cambio de
        la salida i al empujar la entrada j.
    """
    length = x.shape[1]
    generator = torch.Generator().manual_seed(0)
    push = torch.randn(x.shape[-1], generator=generator)
    touched = x.repeat(length + 1, 1, 1)  # la última copia se queda como está
    touched[range(length), range(length)] += push
    maps = []
    for mask in (None, causal_mask(length)):
        y, after = touched, []
        for layer in layers:
            y, _ = layer(y, mask)
            after.append((y[:-1] - y[-1]).norm(dim=-1).T)  # (L salidas, L tocados)
        maps.append(torch.stack(after))
    return torch.stack(maps, dim=1)


@lru_cache(maxsize=1)
def bert_maps():
    """Los tokens y los mapas de las primeras capas de BERT, con la frase del curso."""
    hungry = extract_embeddings(SENTENCE)
    layers = load_bert().encoder.encoder.encoder_layers[:LAYERS]
    with torch.no_grad():
        maps = influence_maps(layers, hungry.encoder_input)
    return hungry.tokens[0], maps


def compute(maps, layers, masked, token):
    """Dice qué salidas se mueven al tocar un token, según unos mapas, ``(capas, 2, L, L)``.

    Returns:
        Diccionario: ``changes`` (cuánto cambia cada salida), ``moved`` (las que cambian algo) y
        ``leaks`` (las que cambian y van antes del token tocado).
    """
    changes = [row[token] for row in maps[layers - 1][int(masked)]]
    moved = [i for i, change in enumerate(changes) if change > 0]
    return {"changes": changes, "moved": moved, "leaks": [i for i in moved if i < token]}


class InfluenceExplorer(Explorer):
    """Toca un token y mira qué salidas se mueven, en las primeras capas de BERT.

    Args:
        token: el que se toca, desde 0.
        layers: cuántas capas se recorren, de 1 a 3.
        masked: si llevan la máscara causal.
    """

    _esm = esm("influence")
    tokens = traitlets.List(traitlets.Unicode()).tag(**SHARED)
    maps = traitlets.List().tag(**SHARED)
    token = Whole(0, last("tokens"), 8, key="token")
    layers = Whole(1, count("maps"), key="capas")
    masked = Choice(NO_YES, True, key="causal")

    def __init__(self, **state):
        tokens, maps = bert_maps()
        # Cuatro cifras bastan para dibujar, y un cero sigue siendo cero.
        numbers = [[[[float(f"{x:.4g}") for x in row] for row in m] for m in pair] for pair in maps]
        super().__init__(tokens=tokens, maps=numbers, **state)

    def describe(self):
        result = compute(self.maps, self.layers, self.masked, self.token)
        moved = len(result["moved"])
        before = f"{len(result['leaks'])} de ellas anteriores"
        if self.token == 0:
            before = "y es el primero: antes no hay nada"
        mask = "con máscara causal" if self.masked else "sin máscara"
        plural = "s" if self.layers > 1 else ""
        return (
            f"Influencia tras {self.layers} capa{plural} de BERT, {mask}: tocar "
            f"«{self.tokens[self.token]}» mueve {moved} de {len(self.tokens)} salidas, {before}."
        )
