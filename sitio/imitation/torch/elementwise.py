"""Las cuentas que se hacen número a número, con su gradiente."""

import math

import numpy as np

from torch import types
from torch.core import FUNCTIONS, Tensor, both, broadcast, changed, in_place, listed, made, plain, summed, tensor_of
from torch.overrides import fault, named, stop


# Nombre → la cuenta y su derivada, que recibe la entrada y la salida. Las que dan siempre decimales.
FLOATS = {
    "exp": (np.exp, lambda x, y: y),
    "exp2": (np.exp2, lambda x, y: y * math.log(2)),
    "expm1": (np.expm1, lambda x, y: y + 1),
    "log": (np.log, lambda x, y: 1 / x),
    "log2": (np.log2, lambda x, y: 1 / (x * math.log(2))),
    "log10": (np.log10, lambda x, y: 1 / (x * math.log(10))),
    "log1p": (np.log1p, lambda x, y: 1 / (1 + x)),
    "sqrt": (np.sqrt, lambda x, y: 0.5 / y),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x, y: -0.5 * y**3),
    "reciprocal": (lambda x: 1 / x, lambda x, y: -y * y),
    "sin": (np.sin, lambda x, y: np.cos(x)),
    "cos": (np.cos, lambda x, y: -np.sin(x)),
    "tan": (np.tan, lambda x, y: 1 + y * y),
    "tanh": (np.tanh, lambda x, y: 1 - y * y),
    "sinh": (np.sinh, lambda x, y: np.cosh(x)),
    "cosh": (np.cosh, lambda x, y: np.sinh(x)),
    "arcsin asin": (np.arcsin, lambda x, y: 1 / np.sqrt(1 - x * x)),
    "arccos acos": (np.arccos, lambda x, y: -1 / np.sqrt(1 - x * x)),
    "arctan atan": (np.arctan, lambda x, y: 1 / (1 + x * x)),
    "sigmoid special_expit": (lambda x: 1 / (1 + np.exp(-x)), lambda x, y: y * (1 - y)),
    "deg2rad": (np.deg2rad, lambda x, y: math.pi / 180),
    "rad2deg": (np.rad2deg, lambda x, y: 180 / math.pi),
}
# Las que conservan el tipo.
SAME = {
    "abs absolute": (np.abs, lambda x, y: np.sign(x)),
    "neg negative": (np.negative, lambda x, y: -1.0),
    "positive": (np.positive, lambda x, y: 1.0),
    "square": (np.square, lambda x, y: 2 * x),
    "sign sgn": (np.sign, lambda x, y: 0.0 * x),
    "floor": (np.floor, lambda x, y: 0.0 * x),
    "ceil": (np.ceil, lambda x, y: 0.0 * x),
    "trunc fix": (np.trunc, lambda x, y: 0.0 * x),
    "frac": (lambda x: x - np.trunc(x), lambda x, y: 1.0),
    "relu": (lambda x: np.maximum(x, x.dtype.type(0)), lambda x, y: x > 0),
}
TESTS = "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "logical_not"


def one_by_one(name, count, slope, floats):
    def operation(input, *, out=None):
        x = input
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
        kind = types.default[0] if floats and x.dtype.category < 2 else x.dtype
        if name == "neg" and kind is types.bool_:
            raise RuntimeError(fault("neg"))
        given = x.array.astype(kind.stored, copy=False)
        if name in ("floor", "ceil", "trunc") and kind.category < 2:
            return made(given.copy(), dtype=kind)
        result = count(given)

        def back(g):
            return g * slope(given, result)

        found = made(result, (x, back), dtype=kind)
        return found if out is None else changed(out, found.array)

    return named(operation, name)


def with_names(names, operation):
    """Apunta una cuenta con cada uno de sus nombres, y la que la escribe en el tensor."""
    both(*names.split())(operation)
    for name in names.split():
        in_place(name, operation)


for table, floats in ((FLOATS, True), (SAME, False)):
    for names, (count, slope) in table.items():
        with_names(names, one_by_one(names.split()[0], count, slope, floats))


def tested(test):
    asks = lambda x: x.dtype.category > 1 or test is np.logical_not  # noqa: E731
    return lambda input: made(test(input.array) if asks(input) else np.zeros(input.shape, bool))


listed({
    **{name: tested(getattr(np, name)) for name in TESTS},
    "bitwise_not": lambda input:
        made(np.invert(input.array), dtype=input.dtype) if input.dtype.category < 2 else stop(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors", TypeError),
})  # fmt: skip


# --- Entre dos ------------------------------------------------------------------------------------


def halves(a, b, first):
    """El gradiente de un máximo o un mínimo: a quien lo da y, si empatan, a medias."""
    return first + 0.5 * (a == b), ~(first | (a == b)) + 0.5 * (a == b)


# Nombre → la cuenta y las dos derivadas.
PAIRS = {
    "add": (np.add, lambda a, b, y: (1.0, 1.0)),
    "sub subtract": (np.subtract, lambda a, b, y: (1.0, -1.0)),
    "mul multiply": (np.multiply, lambda a, b, y: (b, a)),
    "div divide true_divide": (np.true_divide, lambda a, b, y: (1 / b, -a / (b * b))),
    "pow": (np.power, lambda a, b, y:
        (b * np.power(a, b - 1), np.where(a > 0, y * np.log(np.where(a > 0, a, 1)), 0))),
    "maximum": (np.maximum, lambda a, b, y: halves(a, b, a > b)),
    "minimum": (np.minimum, lambda a, b, y: halves(a, b, a < b)),
    "fmax": (np.fmax, lambda a, b, y: halves(a, b, a > b)),
    "fmin": (np.fmin, lambda a, b, y: halves(a, b, a < b)),
    "atan2 arctan2": (np.arctan2, lambda a, b, y: (b / (a * a + b * b), -a / (a * a + b * b))),
    "floor_divide": (np.floor_divide, lambda a, b, y: (0.0 * a, 0.0 * b)),
    "remainder": (np.remainder, lambda a, b, y: (1.0, -np.floor(a / b))),
    "fmod": (np.fmod, lambda a, b, y: (1.0, -np.trunc(a / b))),
    "hypot": (np.hypot, lambda a, b, y: (a / y, b / y)),
    "logaddexp": (np.logaddexp, lambda a, b, y: (np.exp(a - y), np.exp(b - y))),
    "xlogy": (lambda a, b: np.where(a == 0, 0, a * np.log(b)), lambda a, b, y: (np.log(b), a / b)),
}  # fmt: skip
FLOATING = "div", "atan2", "hypot", "logaddexp", "xlogy"
SUBTRACTION = "Subtraction, the `-` operator, with {} is not supported. "
INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
XOR = "Use the `^` or `logical_xor()` operator instead."


def pair(name, count, slopes):
    def operation(input, other, *, alpha=1, rounding_mode=None, out=None):
        if not accepted(input) or not accepted(other):
            strange = other if accepted(input) else input
            raise TypeError(f"{name}(): argument 'other' (position 2) must be Tensor, not {type(strange).__name__}")
        kind = types.result((input, other))
        if name == "sub" and types.bool_ in (kinds := [tensor_of(x).dtype for x in (input, other)]):
            both_are = kinds[0] is kinds[1]
            said = SUBTRACTION.format("two bool tensors" if both_are else "a bool tensor")
            raise RuntimeError(said + (XOR if both_are else INVERT))
        if name in FLOATING and kind.category < 2 and rounding_mode is None:
            kind = types.default[0]
        first, second = tensor_of(input), tensor_of(other)
        if name == "pow" and kind.category < 2 and not isinstance(other, Tensor) and other < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        broadcast(first.shape, second.shape)
        a, b = (x.array.astype(kind.stored, copy=False) for x in (first, second))
        if name in ("floor_divide", "remainder", "fmod") and kind.category < 2 and (b == 0).any():
            raise RuntimeError("ZeroDivisionError")
        b = b if alpha == 1 else b * np.asarray(alpha, b.dtype)
        y = count(a, b)
        if rounding_mode:
            y = {"floor": np.floor, "trunc": np.trunc}[rounding_mode](y)

        def back(place, x):
            def send(g):
                part = g * slopes(a, b, y)[place] * (alpha if place else 1)
                return summed(part if part.shape == g.shape else np.broadcast_to(part, g.shape), x.shape)

            return x, send

        found = made(y, back(0, first), back(1, second), dtype=kind)
        return found if out is None else changed(out, found.array)

    return named(operation, name)


def accepted(x):
    return isinstance(x, Tensor | bool | int | float | complex | np.generic)


for names, (count, slopes) in PAIRS.items():
    with_names(names, pair(names.split()[0], count, slopes))

COMPARE = {"eq": np.equal, "ne not_equal": np.not_equal, "lt less": np.less, "le less_equal": np.less_equal}
COMPARE |= {"gt greater": np.greater, "ge greater_equal": np.greater_equal, "logical_and": np.logical_and}
COMPARE |= {"logical_or": np.logical_or, "logical_xor": np.logical_xor}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


def between(name, count):
    """Una comparación, que da verdades, o una cuenta de bits, que conserva el tipo."""

    def operation(input, other):
        if name not in BITS and not accepted(other):
            raise TypeError(f"{name}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
        first, second = tensor_of(input), tensor_of(other)
        kind = types.result((input, other))
        if name in BITS and kind.category > 1:
            raise NotImplementedError(f'"{name}_cpu" not implemented for \'{kind.said}\'')
        broadcast(first.shape, second.shape)
        found = count(first.array.astype(kind.stored), second.array.astype(kind.stored))
        return made(found, dtype=kind if name in BITS else None)

    return named(operation, name)


for names, count in (COMPARE | BITS).items():
    with_names(names, between(names.split()[0], count))


SIGNS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "remainder"}
SIGNS |= {"floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
ORDER = "eq", "ne", "lt", "le", "gt", "ge"


def signed(operation):
    """Un operador de Python: si lo otro no es un número, que lo intente el otro."""
    return lambda self, other: operation(self, other) if accepted(other) else NotImplemented


for sign, name in (SIGNS | dict(zip(ORDER, ORDER))).items():
    operation = Tensor.__dict__[name]
    setattr(Tensor, f"__{sign}__", signed(operation))
    if name not in ORDER:
        setattr(Tensor, f"__r{sign}__", signed(lambda self, other, count=operation: count(other, self)))
        setattr(Tensor, f"__i{sign}__", signed(Tensor.__dict__[f"{name}_"]))
Tensor.__neg__, Tensor.__invert__ = Tensor.neg, Tensor.bitwise_not
Tensor.__pos__ = lambda self: self
Tensor.__abs__ = Tensor.abs
Tensor.__array_priority__ = 1000


@both("clamp", "clip")
def clamp(input, min=None, max=None):
    if min is None and max is None:
        raise ValueError("clamp: At least one of 'min' or 'max' must not be None")
    kind = types.result([x for x in (input, min, max) if x is not None])
    low, high = (None if x is None else np.asarray(plain(x)).astype(kind.stored) for x in (min, max))
    a = input.array.astype(kind.stored)
    y = np.clip(a, low, high)
    inside = (a >= (low if low is not None else -np.inf)) & (a <= (high if high is not None else np.inf))
    return made(y, (input, lambda g: summed(g * inside, input.shape)), dtype=kind)


@both("round")
def round_(input, *, decimals=0):
    if input.dtype.category < 2:
        return made(input.array.copy(), dtype=input.dtype)
    ten = np.asarray(10.0**decimals, input.array.dtype)
    found = np.round(input.array * ten) / ten if decimals else np.round(input.array)
    return made(found, (input, lambda g: 0 * g), dtype=input.dtype)


@both("where")
def where(condition, input=None, other=None):
    if input is None:
        return condition.nonzero(as_tuple=True)
    if not isinstance(condition, Tensor):
        raise TypeError(f"where() received an invalid combination of arguments - got ({type(condition).__name__})")
    if condition.dtype not in (types.bool_, types.uint8):
        raise RuntimeError(fault("where", condition.dtype.said))
    kind = types.result((input, other))
    a, b, here = tensor_of(input), tensor_of(other), condition.array.astype(bool)
    broadcast(condition.shape, a.shape, b.shape)
    y = np.where(here, a.array.astype(kind.stored), b.array.astype(kind.stored))
    left = a, lambda g: summed(np.where(here, g, 0), a.shape)
    right = b, lambda g: summed(np.where(here, 0, g), b.shape)
    return made(y, left, right, dtype=kind)


Tensor.where = lambda self, condition, other: where(condition, self, other)


@both("masked_fill")
def masked_fill(input, mask, value):
    broadcast(mask.shape, input.shape)
    if mask.dtype is not types.bool_:
        said = types.SPOKEN.get(mask.dtype, mask.dtype.name)
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {said}")
    given = tensor_of(value)
    if given.ndim:
        raise RuntimeError(fault("masked_fill", given.ndim))
    whole, number = input.dtype.category < 2, abs(given.array.item())
    most = np.inf if input.dtype is types.bool_ else (np.iinfo if whole else np.finfo)(input.dtype.stored).max
    if number > most and (whole or number != math.inf) or whole and number != number:
        said = "int64_t" if input.dtype is types.int64 else types.SPOKEN[input.dtype]
        raise RuntimeError(f"value cannot be converted to type {said} without overflow")
    y = np.where(mask.array, given.array.astype(input.array.dtype), input.array)
    return made(y, (input, lambda g: summed(np.where(mask.array, 0, g), input.shape)), dtype=input.dtype)


listed({
    "nan_to_num": lambda input, nan=0.0, posinf=None, neginf=None:
        made(np.nan_to_num(input.array, True, nan, posinf, neginf),
             (input, lambda g: g * np.isfinite(input.array)), dtype=input.dtype),
    "rsub": lambda input, other: FUNCTIONS["sub"](other, input),
    "clamp_min": lambda input, min: clamp(input, min),
    "lerp": lambda input, end, weight: input + weight * (end - input),
    "addcmul": lambda input, tensor1, tensor2, *, value=1: input + value * tensor1 * tensor2,
    "allclose": lambda input, other, rtol=1e-05, atol=1e-08, equal_nan=False:
        bool(isclose(input, other, rtol, atol, equal_nan).array.all()),
    "equal": lambda input, other: input.shape == other.shape and bool((input.array == other.array).all()),
})  # fmt: skip
for name in ("round", "masked_fill", "clamp", "clamp_min", "nan_to_num", "lerp"):
    in_place(name, FUNCTIONS[name])


@both("isclose")
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if input.dtype is not other.dtype:
        said = [types.SPOKEN.get(x.dtype, x.dtype.name).capitalize() for x in (input, other)]
        raise RuntimeError("{} did not match {}".format(*said))
    broadcast(input.shape, other.shape)
    return made(np.isclose(input.array, other.array, rtol, atol, equal_nan))
