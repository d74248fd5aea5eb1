"""Cómo se llega a cada respuesta mala de 14.4: de un modelo, (módulo, atributo, lo que se pone en su lugar)."""

import operator

import torch

from course_lib import decoder_only
from course_lib.layers import RMSNorm, SwiGLU, rotary


def neighbours(x, positions, base, stretch=None):
    order = torch.arange(64).view(32, 2).T.flatten()  # los pares, y después los impares
    return rotary(x[..., order], positions, base)[..., order.argsort()]


def every(model, part, name, value):
    return [(one, name, value) for layer in model.layers for one in [operator.attrgetter(part)(layer)]]


def scaled(factor):
    return lambda layer, x: torch.nn.functional.linear(x, layer.weight) * factor


def after_the_sum(self, x, mask=None, *_):
    x = self.normalization_1(x + self.attention(x, x, x, mask)[0])
    return self.normalization_2(x + self.feed_forward(x)), None


def gate(activation, first="gate", second="up"):
    return lambda self, x: self.down(activation(getattr(self, first)(x)) * getattr(self, second)(x))


def centred(self, x, forward=RMSNorm.forward):
    return forward(self, x - x.mean(dim=-1, keepdim=True))


def turned(layer, x):
    values = torch.nn.functional.linear(x, layer.weight).unflatten(-1, (3, 64)).transpose(1, 2)
    return rotary(values, torch.arange(x.shape[1]), 100_000.0).transpose(1, 2).flatten(2)


SPOILED = {
    "parejas-entrelazadas": lambda m: [(decoder_only, "rotary", neighbours)],
    "base-fija": lambda m: every(m, "attention", "rotary_base", 10_000.0),
    "sin-girar": lambda m: every(m, "attention", "rotary_base", None),
    "gira-al-revés": lambda m: [(decoder_only, "rotary", lambda x, places, *more: rotary(x, -places, *more))],
    "gira-los-values": lambda m: every(m, "attention.value_projection", "forward", turned),
    "cabezas-salteadas": lambda m: [(torch.Tensor, "repeat_interleave", lambda x, n, dim: x.repeat(1, n, 1, 1))],
    "sin-máscara": lambda m: [(decoder_only, "causal_mask", lambda n, device: torch.ones(n, n).bool())],
    "sin-escala": lambda m: every(m, "attention.query_projection", "forward", scaled(8.0)),
    "escala-√d_model": lambda m: every(m, "attention.query_projection", "forward", scaled((64 / 576) ** 0.5)),
    "norma-después": lambda m: [(decoder_only.DecoderOnlyLayer, "forward", after_the_sum)],
    "sin-norma-final": lambda m: [(m.normalization, "forward", lambda layer, x: x)],
    "layernorm": lambda m: [(RMSNorm, "forward", centred)],
    "puerta-al-revés": lambda m: [(SwiGLU, "forward", gate(torch.nn.functional.silu, "up", "gate"))],
    "relu": lambda m: [(SwiGLU, "forward", gate(torch.relu))],
    "gelu": lambda m: [(SwiGLU, "forward", gate(torch.nn.functional.gelu))],
}
