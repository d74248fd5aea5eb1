"""Lo que comparten las pruebas de la biblioteca: casos, referencias y un detector de fugas."""

import math
import socket

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

from course_lib import (
    attention, bert, cache, causal_mask, combine_masks, decoder_only, flash, layers, llama, masks,
    padding_mask, sampling, transformer,
)  # fmt: skip
from course_lib.model_files import embedded, folders, hub, sentences, weights
from course_lib.plots import source

# Los módulos de referencia.
LIBRARY = attention, bert, layers, masks, sentences, source, transformer
LIBRARY += cache, decoder_only, flash, llama, sampling
LIBRARY += embedded, folders, hub, weights

# Los tensores son diminutos: repartir cada cuenta entre varios hilos solo la retrasa.
torch.set_num_threads(1)

# Pocos ejemplos y siempre los mismos: un fallo se repite igual en cualquier ordenador.
few = settings(max_examples=15, deadline=None, derandomize=True, database=None)

# Lo que puede variar un resultado según el tipo: (relativo, absoluto).
TOLERANCES = {
    torch.float64: (1e-10, 1e-11),
    torch.float32: (1e-4, 1e-5),
    torch.bfloat16: (5e-2, 5e-2),
    torch.float16: (1e-2, 1e-2),
}

MASKS = ("ninguna", "causal", "relleno", "causal y relleno", "una por cabeza", "solo keys")
MASKS += ("filas bloqueadas", "todo bloqueado")
WITH_BLOCKED_ROWS = MASKS[-2:]

seeds = st.integers(0, 10_000)


def sizes(count, largest=9):
    """Tamaños todos distintos, de 1 en adelante: un eje tomado por otro salta a la vista."""
    return st.lists(st.integers(1, largest), min_size=count, max_size=count, unique=True)


def make_mask(kind, batch, heads, L_q, L_k):
    """Máscara de las de ``MASKS`` (True = puede atender), que se difunde a (B, h, L_q, L_k)."""
    causal = causal_mask(max(L_q, L_k))[:L_q, :L_k]
    lengths = torch.randint(1, L_k + 1, (batch, 1))
    padding = padding_mask((torch.arange(L_k) < lengths).long())
    each = torch.rand(batch, heads, L_q, L_k) > 0.4
    each[..., 0] = True  # al menos una key en cada fila
    rows = torch.rand(batch, 1, L_q, 1) > 0.4
    rows[:, :, -1] = False
    return {
        "ninguna": None,
        "causal": causal,
        "relleno": padding,
        "causal y relleno": combine_masks(causal, padding),
        "una por cabeza": each,
        "solo keys": torch.arange(L_k) % 2 == 0,
        "filas bloqueadas": each & rows,
        "todo bloqueado": torch.zeros(1, 1, 1, L_k, dtype=torch.bool),
    }[kind]


def qkv(batch, heads, L_q, L_k, d_k, d_v, dtype=torch.float64):
    """Query, key y value al azar, con gradiente."""
    shapes = (batch, heads, L_q, d_k), (batch, heads, L_k, d_k), (batch, heads, L_k, d_v)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def oracle_attention(query, key, value, mask=None):
    """La ecuación 1 del artículo con bucles y números de Python, sin torch: fila a fila."""
    q, k, v = (x.detach().double().numpy() for x in (query, key, value))
    *leading, L_q, d_k = q.shape
    L_k, d_v = v.shape[-2:]
    shape = (*leading, L_q, L_k)
    keep = np.broadcast_to(True if mask is None else mask.numpy(), shape)
    output, weights = np.zeros((*leading, L_q, d_v)), np.zeros(shape)
    for index in np.ndindex(*leading, L_q):
        where, i = index[:-1], index[-1]
        allowed = [j for j in range(L_k) if keep[(*where, i, j)]]
        scores = {
            j: sum(a * b for a, b in zip(q[(*where, i)], k[(*where, j)], strict=True)) / math.sqrt(d_k)
            for j in allowed
        }
        exps = {j: math.exp(s - max(scores.values())) for j, s in scores.items()}
        for j, exp in exps.items():
            weights[(*where, i, j)] = exp / sum(exps.values())
            output[(*where, i)] += weights[(*where, i, j)] * v[(*where, j)]
    return torch.from_numpy(output), torch.from_numpy(weights)


def close(actual, expected, dtype=torch.float64):
    """``assert_close`` con la tolerancia de ``dtype``; compara los valores, no los tipos."""
    rtol, atol = TOLERANCES[dtype]
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, check_dtype=False)


def randomize(module):
    """Da a **todos** los parámetros valores al azar: también a los sesgos, que nacen en 0."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module


# --- Los mismos pesos, con los nombres de torch y con los del curso -------------------------------


def values(parameter):
    return parameter.detach()


def gradients(parameter):
    return parameter.grad


def named_as_ours(theirs, read=values):
    """Los tensores de un módulo de torch, con los nombres que tienen en el del curso.

    ``read`` elige qué se lee de cada parámetro: su valor o su gradiente.
    """
    kind = type(theirs).__name__
    if kind == "MultiheadAttention":
        return _attention_as_ours(theirs, read)
    if kind in ("LayerNorm", "Linear"):
        return {name: read(parameter) for name, parameter in theirs.named_parameters()}
    if kind in ("TransformerEncoder", "TransformerDecoder"):
        stack = kind.removeprefix("Transformer").lower() + "_layers"
        return _prefixed({f"{stack}.{i}": layer for i, layer in enumerate(theirs.layers)}, read)
    parts = {
        "feed_forward.feed_forward.0": theirs.linear1,
        "feed_forward.feed_forward.2": theirs.linear2,
        "add_and_norm_1.normalization": theirs.norm1,
        "add_and_norm_2.normalization": theirs.norm2,
    }
    if kind == "TransformerEncoderLayer":
        parts["multi_head_attention"] = theirs.self_attn
    else:
        parts["masked_attention"] = theirs.self_attn
        parts["cross_attention"] = theirs.multihead_attn
        parts["add_and_norm_3.normalization"] = theirs.norm3
    return _prefixed(parts, read)


def _attention_as_ours(theirs, read):
    if theirs.in_proj_weight is not None:
        weights = read(theirs.in_proj_weight).chunk(3)
    else:
        weights = map(read, (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight))
    names = ("query_projection", "key_projection", "value_projection")
    tensors = {f"{name}.weight": weight for name, weight in zip(names, weights, strict=True)}
    if theirs.in_proj_bias is not None:
        biases = read(theirs.in_proj_bias).chunk(3)
        tensors |= {f"{name}.bias": bias for name, bias in zip(names, biases, strict=True)}
    return tensors | _prefixed({"output_projection": theirs.out_proj}, read)


def _prefixed(parts, read):
    return {
        f"{prefix}.{name}": tensor
        for prefix, part in parts.items()
        for name, tensor in _part_as_ours(part, read).items()
    }


def _part_as_ours(part, read):
    if type(part).__name__ == "NonDynamicallyQuantizableLinear":  # así llama torch a su W_O
        return {name: read(parameter) for name, parameter in part.named_parameters()}
    return named_as_ours(part, read)


def same_gradients(ours, theirs, dtype=torch.float64):
    """Comprueba que cada parámetro de los dos módulos tiene el mismo gradiente."""
    expected = named_as_ours(theirs, gradients)
    actual = {name: parameter.grad for name, parameter in ours.named_parameters()}
    assert actual.keys() == expected.keys()
    for name in actual:
        close(actual[name], expected[name], dtype)


# --- Fugas ----------------------------------------------------------------------------------------


def influence(function, x, change):
    """Mapa de influencia: ``[i, j]`` es True si al cambiar el token j se mueve la salida i.

    Se mira bit a bit: o la salida es idéntica, o cuenta como movida.

    Args:
        function: de ``(B, L_k, ...)`` a ``(B, L_q, ...)``, determinista.
        x: la entrada.
        change: lo que se hace con el token: recibe ``x[:, j]`` y devuelve otro distinto.
    """
    with torch.no_grad():
        before = function(x)
        columns = []
        for j in range(x.shape[1]):
            changed = x.clone()
            changed[:, j] = change(x[:, j])
            assert not torch.equal(changed, x), "la prueba tiene que cambiar el token"
            moved = function(changed) != before
            columns.append(moved.transpose(0, 1).flatten(1).any(1))
    return torch.stack(columns, 1)


def leaks(function, x, may_see, change=lambda token: 3 * token + 1):
    """Pares (i, j) en los que la salida i cambia con el token j sin poder verlo."""
    return (influence(function, x, change) & ~may_see).nonzero().tolist()


# --- Sin red --------------------------------------------------------------------------------------


def cut_network(monkeypatch):
    """Hace fallar en el acto cualquier intento de conexión de este proceso."""

    def refuse(*args, **kwargs):
        raise OSError("red cortada por la prueba")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def contrast(*colors):
    """Cuánto se distinguen dos colores, «#RRGGBB» (WCAG 2.2, §1.4.3)."""
    shades = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    linear = np.where(shades <= 0.04045, shades / 12.92, ((shades + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ (0.2126, 0.7152, 0.0722))
    return (light + 0.05) / (dark + 0.05)
