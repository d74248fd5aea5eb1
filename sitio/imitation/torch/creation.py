"""Tensores nuevos, copias y cambios de tipo."""

import contextlib
import functools
import math

import numpy as np

from torch import types
from torch.core import FUNCTIONS, Tensor, apart, both, changed, grad_on, listed, made, plain, summed, tensor_of
from torch.overrides import named, refuse, stop
from torch.random import default_generator
from torch.shapes import sizes
from torch.shapes import stack as torch_stack

contiguous_format = preserve_format = "torch.contiguous_format"


def creates(function):
    """Una función que crea tensores: todas admiten ``device`` y otras opciones que aquí dan igual."""

    @functools.wraps(function)
    def call(*given, device=None, requires_grad=False, layout=None, pin_memory=None, memory_format=None, **options):
        if device is not None:
            str(device) in ("cpu", "None") or refuse(f"device='{device}'")
        found = function(*given, **options)
        return found.requires_grad_() if requires_grad else found

    return both(function.__name__.rstrip("_"), method=False)(call)


def inferred(value):
    """De qué tipo es un tensor hecho con una lista."""
    if isinstance(value, list | tuple | range):
        found = None
        for item in value:
            found = types.promote(found, inferred(item))
        return found
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, np.ndarray | np.generic):
        return types.of_array(np.asarray(value))
    if not isinstance(value, bool | int | float | complex):
        kind = type(value).__name__
        if isinstance(value, str):
            raise TypeError(f"new(): invalid data type '{kind}'")
        raise RuntimeError(f"Could not infer dtype of {kind}")
    return types.of_scalar(value)


def squared(value):
    """La forma de una lista de listas. Todas las de dentro miden lo mismo."""
    if isinstance(value, Tensor | np.ndarray):
        return tuple(value.shape)
    if not isinstance(value, list | tuple | range):
        return ()
    inside = [squared(item) for item in value]
    for i, one in enumerate(inside):
        if one != inside[0]:
            if one and inside[0]:
                raise ValueError(f"expected sequence of length {inside[0][0]} at dim 1 (got {one[0]})")
            raise TypeError("must be real number, not list" if one else f"not a sequence at {i}")
    return (len(value), *(inside[0] if inside else ()))


@creates
def tensor(data, dtype=None):
    data = list(data) if isinstance(data, range) else data
    kind = dtype or inferred(data) or types.default[0]
    if isinstance(data, list | tuple):
        squared(data)
    if isinstance(data, list | tuple) and any(isinstance(x, Tensor) and x.ndim for x in flat(data)):
        raise ValueError("only one element tensors can be converted to Python scalars")
    return made(types.stored(np.array(plain(data)), kind).copy(), dtype=kind)


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list | tuple) else [value]


@creates
def as_tensor(data, dtype=None):
    if isinstance(data, Tensor):
        return data if dtype is None else to(data, dtype)
    if isinstance(data, np.ndarray):
        return Tensor(array=data) if dtype is None else made(data, dtype=dtype)
    return tensor(data, dtype=dtype)


both("asarray", method=False)(as_tensor)


def family(name, make, how):
    """Las que crean de una forma (``zeros``, ``rand``…) y como otro tensor (``zeros_like``)."""
    own, other = (named(make(how), one) for one in (name, f"{name}_like"))

    def create(*shape, size=None, dtype=None, out=None, **options):
        shape = sizes(shape if size is None else (size,), f"{name}(): argument 'size'")
        return own(shape, dtype or types.default[0], **options)

    def like(input, *, dtype=None, **options):
        return other(tuple(input.shape), dtype or input.dtype, **options)

    creates(named(create, name))
    creates(named(like, f"{name}_like"))


def filled(value):
    return lambda shape, kind: full(shape, value, kind)


@creates
def full(size, fill_value, dtype=None):
    value = plain(fill_value)
    kind = dtype or (fill_value.dtype if isinstance(fill_value, Tensor) else types.of_scalar(value))
    return made(np.full(sizes((size,)), value, kind.stored), dtype=kind)


@creates
def arange(start, end=None, step=1, *, dtype=None):
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (plain(x).item() if isinstance(x, Tensor) else x for x in (start, end, step))
    kind = dtype or (types.int64 if all(isinstance(x, int) for x in (start, end, step)) else types.default[0])
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = math.ceil((end - start) / step)
    return made(start + np.arange(n) * step, dtype=kind)


@creates
def linspace(start, end, steps, *, dtype=None):
    kind = dtype or types.default[0]
    start, end = float(start), float(end)
    gap = (end - start) / max(steps - 1, 1)
    places = np.arange(steps)
    half = places < steps // 2
    return made(np.where(half, start + gap * places, end - gap * (steps - 1 - places)), dtype=kind)


@both("meshgrid", method=False)
def meshgrid(*tensors, indexing="ij"):
    tensors = tensors[0] if isinstance(tensors[0], list | tuple) else tensors
    return tuple(made(x, dtype=t.dtype) for x, t in zip(np.meshgrid(*map(plain, tensors), indexing=indexing), tensors))


# --- Al azar --------------------------------------------------------------------------------------


def chance(how):
    def make(shape, kind, generator=None):
        numbers = getattr(generator or default_generator, how)(math.prod(shape), kind.stored.type)
        return made(numbers.reshape(shape), dtype=kind)

    return make


FAMILIES = {"zeros": (filled, 0), "ones": (filled, 1), "empty": (filled, 0)}
FAMILIES |= {"rand": (chance, "uniform"), "randn": (chance, "normal")}
for name, how in FAMILIES.items():
    family(name, *how)


@creates
def randint(low, high, size=None, *, dtype=None, generator=None):
    low, high, size = (0, low, high) if size is None else (low, high, size)
    numbers = (generator or default_generator).below(low, high, math.prod(size))
    return made(numbers.reshape(tuple(size)), dtype=dtype or types.int64)


@both("multinomial")
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Uno a uno: quien más pesa, después de dividir por números al azar de una exponencial."""
    source = generator or default_generator
    weights = np.atleast_2d(input.array)
    if num_samples == 1 or not replacement:
        noise = -np.log(1 - source.uniform(weights.size, np.float32)).reshape(weights.shape)
        found = np.argsort(-(weights / noise), -1, kind="stable")[:, :num_samples]
    else:
        edges = np.cumsum(weights / weights.sum(-1, keepdims=True), -1)
        drawn = source.uniform(len(weights) * num_samples, np.float64).reshape(len(weights), -1)
        found = (drawn[..., None] > edges[:, None, :]).sum(-1)
    return made(found.reshape(*input.shape[:-1], num_samples).astype(np.int64))


def drawn(self, how, start, width, generator):
    """Cambia los números de un tensor por otros al azar: desde ``start``, y ``width`` veces los de ``how``."""
    kind = self.array.dtype.type
    numbers = getattr(generator or default_generator, how)(self.numel(), kind)
    return changed(self, numbers.reshape(self.shape) * kind(width) + kind(start))


# --- Copias y tipos -------------------------------------------------------------------------------


@both("clone")
def clone(input, *, memory_format=None):
    order = "C" if memory_format == contiguous_format or 0 in input.array.strides else "K"
    return made(np.array(input.array, order=order), (input, lambda g: g), dtype=input.dtype)


@both("to", function=False)
def to(self, *given, dtype=None, device=None, copy=False, non_blocking=False):
    for one in given:
        if isinstance(one, types.dtype):
            dtype = one
        elif isinstance(one, Tensor):
            dtype = one.dtype
        elif isinstance(one, str) or one.__class__.__name__ == "device":
            device = one
    if device is not None and str(device) != "cpu":
        refuse(f"device='{device}'")
    if dtype in (None, self.dtype):
        return clone(self) if copy else self
    found = types.stored(self.array, dtype)
    return made(found, (self, lambda g: g.astype(self.array.dtype)), dtype=dtype)


TYPES = {f"torch.{kind.said}Tensor": kind for kind in types.ALL}
CASTS = {"float": types.float32, "double": types.float64, "long": types.int64, "int": types.int32}
CASTS |= {"bool": types.bool_, "half": types.float16, "bfloat16": types.bfloat16, "short": types.int16}
CASTS |= {"byte": types.uint8, "char": types.int8, "cfloat": types.complex64}
for name, kind in CASTS.items():
    both(name, function=False)(lambda self, memory_format=None, kind=kind: to(self, kind))
both("resolve_conj", "resolve_neg", "conj", "to_dense")(lambda input, *given: input)


@both("copy_", function=False)
def copy_(self, src, non_blocking=False):
    apart(self.array, src.array)
    if tuple(src.shape) != tuple(self.shape):
        src = src.expand(*self.shape)
    return changed(self, src.array, (src, lambda g: g))


# --- Las de una línea -----------------------------------------------------------------------------

for name, create in {
    "full_like": lambda input, fill_value, dtype=None:
        full(tuple(input.shape), fill_value, dtype=dtype or input.dtype),
    "eye": lambda n, m=None, *, dtype=None: made(np.eye(n, m), dtype=dtype or types.default[0]),
    "logspace": lambda start, end, steps, base=10.0, *, dtype=None:
        made(float(base) ** linspace(start, end, steps, dtype=types.float64).array, dtype=dtype or types.default[0]),
    "tril_indices": lambda row, col, offset=0: made(np.stack(np.tril_indices(row, offset, col))),
    "triu_indices": lambda row, col, offset=0: made(np.stack(np.triu_indices(row, offset, col))),
    "randperm": lambda n, *, generator=None, dtype=None:
        made((generator or default_generator).shuffled(n), dtype=dtype or types.int64),
}.items():  # fmt: skip
    creates(named(create, name))
listed({
    "complex polar": lambda *given: refuse("torch.complex"),
    "from_numpy": lambda array: Tensor(array=array) if isinstance(array, np.ndarray) else stop(
        f"expected np.ndarray (got {type(array).__name__})", TypeError),
    "frombuffer": lambda buffer, *, dtype: Tensor(array=np.frombuffer(buffer, dtype.stored), dtype=dtype),
    "cartesian_prod": lambda *tensors: torch_stack([x.reshape(-1) for x in meshgrid(*tensors)], 1),
}, method=False)  # fmt: skip
listed({
    "normal_": lambda self, mean=0.0, std=1.0, *, generator=None: drawn(self, "normal", mean, std, generator),
    "uniform_": lambda self, a=0.0, b=1.0, *, generator=None: drawn(self, "uniform", a, b - a, generator),
    "new_zeros": lambda self, *shape, dtype=None, device=None: full(sizes(shape), 0, dtype or self.dtype),
    "new_ones": lambda self, *shape, dtype=None, device=None: full(sizes(shape), 1, dtype or self.dtype),
    "new_empty": lambda self, *shape, dtype=None, device=None: full(sizes(shape), 0, dtype or self.dtype),
    "new_full": lambda self, size, value, **o: full(size, value, dtype=o.get("dtype", self.dtype)),
    "new_tensor": lambda self, data, **o: tensor(data, dtype=o.get("dtype", self.dtype)),
    "contiguous": lambda self, memory_format=None:
        self if self.is_contiguous() else clone(self, memory_format=contiguous_format),
    "type": lambda self, dtype=None, non_blocking=False:
        f"torch.{self.dtype.said}Tensor" if dtype is None else to(
            self, TYPES[dtype] if isinstance(dtype, str) else getattr(dtype, "kind", dtype)),
    "type_as": lambda self, other: to(self, other.dtype),
    "cpu": lambda self: self,
    "cuda": lambda self, *given: refuse("torch.Tensor.cuda"),
    "fill_": lambda self, value:
        changed(self, (given := tensor_of(value)).array, (given, lambda g: summed(g, given.shape))),
    "zero_": lambda self: changed(self, np.zeros((), self.array.dtype)),
    "fill_diagonal_": lambda self, value: (np.fill_diagonal(self.array, value), self)[1],
    "set_ resize_": lambda self, *given: refuse("torch.Tensor.set_"),
}, function=False)  # fmt: skip


# --- Sin gradiente --------------------------------------------------------------------------------


class grad_mode(contextlib.ContextDecorator):
    """Lo de dentro se cuenta con gradiente, o sin él. También adorna una función."""

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.before, grad_on[0] = grad_on[0], self.on

    def __exit__(self, *error):
        grad_on[0] = self.before

    def _recreate_cm(self):  # en cada llamada, otro
        return grad_mode(self.on)


def mode(name, on):
    return named(lambda function=None: grad_mode(on)(function) if callable(function) else grad_mode(on), name)


no_grad = mode("no_grad", False)


class set_grad_enabled(grad_mode):
    def __init__(self, on):
        super().__init__(on)
        self.before, grad_on[0] = grad_on[0], on

    def __enter__(self):
        pass


FUNCTIONS |= {"no_grad": no_grad, "inference_mode": no_grad, "enable_grad": mode("enable_grad", True)}
FUNCTIONS |= {"set_grad_enabled": set_grad_enabled, "is_grad_enabled": named(lambda: grad_on[0], "is_grad_enabled")}
