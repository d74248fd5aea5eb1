"""Las funciones de ``torch.nn.functional``."""

import math

import numpy as np

from torch import reductions, types
from torch.core import FUNCTIONS, axes, made
from torch.overrides import all_heard, fault, heard, lacking, refuse
from torch.reductions import alike, log_softmax, matmul, need_floats
from torch.shapes import moved, one_hot  # noqa: F401

EXACT, SQRT2, SQRT_2PI = np.frompyfunc(math.erf, 1, 1), math.sqrt(2), math.sqrt(2 * math.pi)
TAIL = 0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223

LEAST = -100.0  # el menor logaritmo de una probabilidad
relu, sigmoid, tanh, cosine_similarity = map(FUNCTIONS.get, ("relu", "sigmoid", "tanh", "cosine_similarity"))


@heard
def linear(input, weight, bias=None):
    if bias is not None and input.shape[-1] == weight.shape[-1]:
        alike(input, weight, "mat1 and mat2 must have the same dtype, but got {} and {}")
    found = matmul(input, weight.T)
    return found if bias is None else found + bias


@heard
def embedding(input, weight, padding_idx=None):
    if input.dtype not in (types.int64, types.int32):
        raise RuntimeError(fault("embedding", input.dtype.said))
    ids = input.array
    if ids.size and (ids.max() >= len(weight) or ids.min() < 0):
        raise IndexError("index out of range in self")
    return moved(weight, lambda x: x[ids])


@heard
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    last = tuple(range(-len(normalized_shape), 0))
    if tuple(input.shape[last[0] :]) != tuple(normalized_shape):
        wanted = list(normalized_shape)
        raise RuntimeError(fault("layer_norm", wanted, str(wanted)[1:-1], list(input.shape)))
    mean = input.mean(last, keepdim=True)
    spread = ((input - mean) ** 2).mean(last, keepdim=True)
    found = (input - mean) / (spread + eps).sqrt()
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


@heard
def rms_norm(input, normalized_shape, weight=None, eps=None):
    last = axes(tuple(range(-len(normalized_shape), 0)), input.ndim)
    eps = np.finfo(input.array.dtype).eps.item() if eps is None else eps
    found = input * ((input * input).mean(last, keepdim=True) + eps).rsqrt()
    return found if weight is None else found * weight


@heard
def dropout(input, p=0.5, training=True, inplace=False):
    if not training or not p:
        return input
    kept = FUNCTIONS["rand"](*input.shape) >= p
    return input * kept / (1 - p)


@heard
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Los cuadrados de un lote de imágenes, en columnas: (B, C, H, W) → (B, C·k·k, L)."""
    tall, wide, down, along = (n if isinstance(n, int) else n[i] for n in (kernel_size, stride) for i in (0, 1))
    if dilation not in (1, (1, 1)) or padding not in (0, (0, 0)):
        refuse("torch.nn.functional.unfold(dilation, padding)")
    cut = input.unfold(2, tall, down).unfold(3, wide, along)  # (B, C, filas, columnas, k, k)
    return cut.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)


@heard
def pad(input, pad, mode="constant", value=None):
    if mode != "constant":
        refuse(f"torch.nn.functional.pad(mode='{mode}')")
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    around = [(max(a, 0), max(b, 0)) for a, b in pairs]
    inside = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape))
    found = np.pad(input.array[inside], around, constant_values=value or 0)
    middle = tuple(slice(a, n - b) for (a, b), n in zip(around, found.shape))

    def back(g):
        whole = np.zeros_like(input.array)
        whole[inside] = g[middle]
        return whole

    return made(found, (input, back), dtype=input.dtype)


def erf(x):
    """La función de error: en 32 bits, toda de una vez (Press et al., «Numerical Recipes», §6.2: a menos de 1.2e-7)."""
    if x.dtype != np.float32:
        return EXACT(x).astype(x.dtype)
    size = np.abs(x.astype("f8"))
    t = 1 / (1 + size / 2)
    return np.copysign(1 - t * np.exp(np.polyval(TAIL, t) - size * size), x).astype(x.dtype)


@heard
def gelu(input, approximate="none"):
    x = input.array
    need_floats("GeluKernelImpl", input)
    if approximate == "tanh":
        return 0.5 * input * (1 + (math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)).tanh())
    below = 0.5 * (1 + erf(x / SQRT2))
    slope = below + x * np.exp(-0.5 * x * x) / SQRT_2PI
    return made(x * below, (input, lambda g: g * slope), dtype=input.dtype)


@heard
def softplus(input, beta=1, threshold=20):
    return (input * beta).where(input * beta > threshold, (1 + (input * beta).exp()).log()) / beta


def joined(loss, reduction):
    """Una pérdida, entera, sumada o en media."""
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


@heard
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    kept = target != ignore_index
    places = target.where(kept, 0)
    found = -input.gather(1, places.unsqueeze(1)).squeeze(1)
    heavy = kept if weight is None else weight[places] * kept
    found = found.where(kept, 0.0) if weight is None else found * heavy
    return found.sum() / heavy.sum() if reduction == "mean" else joined(found, reduction)


@heard
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):  # fmt: skip
    if label_smoothing:
        weight is None and target.dtype is types.int64 and reduction == "mean" or refuse("torch.nn.functional.cross_entropy(label_smoothing=)")
        every = -log_softmax(input, 1).mean(1)[target != ignore_index].mean()
        plain = cross_entropy(input, target, ignore_index=ignore_index)
        return (1 - label_smoothing) * plain + label_smoothing * every
    if target.is_floating_point():
        weight is None or refuse("torch.nn.functional.cross_entropy(weight=)")
        if target.shape != input.shape:
            raise RuntimeError(fault("cross_entropy", target.dtype.said))
        loss = -(target * log_softmax(input, 1 if input.ndim > 1 else 0)).sum(1 if input.ndim > 1 else 0)
        return joined(loss, reduction)
    if input.ndim == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
    n = len(input)
    if target.shape != (n, *input.shape[2:]):
        if input.ndim == 2 and target.ndim == 1:
            raise ValueError(f"Expected input batch_size ({n}) to match target batch_size ({len(target)}).")
        raise RuntimeError(f"Expected target size {[n, *input.shape[2:]]}, got {list(target.shape)}")
    ids = target.array[target.array != ignore_index]
    if ids.size and (ids.min() < 0 or ids.max() >= input.shape[1]):
        raise IndexError(f"Target {ids[(ids < 0) | (ids >= input.shape[1])][0]} is out of bounds.")
    return nll_loss(log_softmax(input, 1), target, weight, ignore_index=ignore_index, reduction=reduction)


@heard
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):  # fmt: skip
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        many = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(many, -3), value.repeat_interleave(many, -3)
    scores = matmul(query, key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = made(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    if attn_mask is not None and attn_mask.dtype is types.bool_:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = reductions.softmax(scores, -1)
    weights = weights.masked_fill((scores == -math.inf).all(-1, keepdim=True), 0.0)
    return matmul(dropout(weights, dropout_p), value)


globals().update(all_heard({
    "softmax": lambda input, dim=None, _stacklevel=3, dtype=None: reductions.shared(input, dim, dtype),
    "mse_loss": lambda input, target, size_average=None, reduce=None, reduction="mean":
        joined((input - target) ** 2, reduction),
    "binary_cross_entropy":
        lambda input, target, weight=None, size_average=None, reduce=None, reduction="mean": joined(
            -(target * input.log().clamp(LEAST) + (1 - target) * (1 - input).log().clamp(LEAST)), reduction),
    "binary_cross_entropy_with_logits":
        lambda input, target, weight=None, size_average=None, reduce=None, reduction="mean":
            joined(input.clamp(min=0) - input * target + (-input.abs()).exp().log1p(), reduction),
    "normalize": lambda input, p=2.0, dim=1, eps=1e-12:
        input / reductions.norm(input, p, dim, True).clamp(min=eps).expand_as(input),
    "silu": lambda input, inplace=False: input * sigmoid(input),
    "logsigmoid": lambda input: -softplus(-input),
    "softmin": lambda input, dim=None: reductions.softmax(-input, dim),
}))  # fmt: skip
__getattr__ = lacking("torch.nn.functional")
