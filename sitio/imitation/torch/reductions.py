"""Sumas, medias, máximos, órdenes y productos de matrices."""

import math
from collections import namedtuple

import numpy as np

from torch import types
from torch.core import (
    FUNCTIONS, Tensor, axes, axis, both, broadcast, changed, in_place, listed, made, moved, named,
    plain, summed,
)  # fmt: skip
from torch.fast import product as multiplied
from torch.overrides import fault, refuse, stop
from torch.shapes import index_select

SORTS = "max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"
SORTS = {name: namedtuple(name, ("values", "indices"), module="torch.return_types") for name in SORTS}
for name, kind in SORTS.items():
    kind.__name__ = f"torch.return_types.{name}"


def reduced(name, count, slope, kinds):
    """Una reducción: ``slope`` recibe la entrada, la salida con sus ejes y los ejes."""

    def operation(input, dim=None, keepdim=False, *, dtype=None):
        kind = dtype or kinds(input.dtype)
        if kind is None:
            raise RuntimeError(fault("reduce-dtype", name, input.dtype.said))
        where = axes(dim, input.ndim)
        x = input.array.astype(kind.stored, copy=False)
        whole = count(x, where) if where or not input.ndim else count(x, ())
        y = whole if keepdim else np.squeeze(whole, where)

        def back(g):
            g = g if keepdim else np.expand_dims(g, where)
            return np.broadcast_to(g, x.shape) * slope(x, whole, where)

        return made(y, (input, back), dtype=kind)

    return named(operation, name)


def how_many(x, where):
    return max(math.prod(x.shape[i] for i in where), 1)


whole_or_long = lambda kind: types.int64 if kind.category < 2 else kind  # noqa: E731
floating = lambda kind: None if kind.category < 2 else kind  # noqa: E731


def count_mean(x, where):
    found = x.sum(where, keepdims=True, dtype=x.dtype)
    return found / np.asarray(math.prod(x.shape[i] for i in where), x.dtype)


def count_lse(x, where):
    top = x.max(where, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    return np.log(np.exp(x - top).sum(where, keepdims=True)) + top


def some(name, x):
    """El mismo array, si no está vacío."""
    said = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
    return x if x.size else stop(said, IndexError)


def ties(x, y, where):
    hit = x == y
    return hit / hit.sum(where, keepdims=True)


REDUCTIONS = {
    "sum": (lambda x, w: x.sum(w, keepdims=True, dtype=x.dtype), lambda x, y, where: 1.0, whole_or_long),
    "nansum": (lambda x, w: np.nansum(x, w, keepdims=True), lambda x, y, w: ~np.isnan(x), whole_or_long),
    "mean": (count_mean, lambda x, y, where: 1 / how_many(x, where), floating),
    "prod": (lambda x, w: x.prod(w, keepdims=True, dtype=x.dtype), lambda x, y, where: y / x, whole_or_long),
    "amax": (lambda x, w: some("amax", x).max(w, keepdims=True), ties, lambda k: k),
    "amin": (lambda x, w: some("amin", x).min(w, keepdims=True), ties, lambda k: k),
    "logsumexp": (count_lse, lambda x, y, where: np.exp(x - y), lambda k: types.float32 if k.category < 2 else k),
}
REDUCE = {name: reduced(name, *how) for name, how in REDUCTIONS.items()}
listed(REDUCE)
length = lambda x, where: np.sqrt((x * x).sum(where, keepdims=True))  # noqa: E731
length = reduced("norm", length, lambda x, y, where: x / y, floating)


def truths(count):
    return lambda input, dim=None, keepdim=False: made(
        count(input.array.astype(bool), axis=axes(dim, input.ndim), keepdims=keepdim)
    )


@both("var")
def var(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = (1 if unbiased else 0) if correction is None else correction
    where = axes(dim, input.ndim)
    mean = REDUCE["mean"](input, where, True)
    total = REDUCE["sum"]((input - mean) ** 2, where, keepdim)
    return total / max(how_many(input.array, where) - correction, 0)


def with_mean(name):
    return lambda input, dim=None, **options: (
        FUNCTIONS[name](input, dim, **options),
        REDUCE["mean"](input, dim, options.get("keepdim", False)),
    )


@both("norm")
def norm(input, p=2, dim=None, keepdim=False, dtype=None):
    if p in ("fro", 2, 2.0, None):
        return length(input, dim, keepdim)
    if p in (math.inf, "inf"):
        return REDUCE["amax"](input.abs(), dim, keepdim)
    if p == 0:
        return REDUCE["sum"]((input != 0).to(input.dtype), dim, keepdim)
    return REDUCE["sum"](input.abs() ** p, dim, keepdim) ** (1 / p)


def parted(name, values, index, dim, keepdim):
    """La pareja (valores, puestos), con su eje o sin él."""
    return SORTS[name](*(part if keepdim else part.squeeze(dim) for part in (values, index)))


def extreme(name, place):
    """max y min: de todo, de dos tensores o, con un eje, la pareja (valores, puestos)."""

    def operation(input, dim=None, keepdim=False):
        if isinstance(dim, Tensor):
            return getattr(input, f"{name}imum")(dim)
        if dim is None:
            return REDUCE[f"a{name}"](input)
        where = axis(dim, input.ndim)
        index = place(input.array, where)
        values = moved(input, lambda x: np.take_along_axis(x, np.expand_dims(index, where), where))
        return parted(name, values, made(np.expand_dims(index, where)), where, keepdim)

    def where_is(input, dim=None, keepdim=False):
        given = some(f"arg{name}", input.array)
        if dim is None:
            return made(place(given.reshape(-1), 0))
        found = place(given, axis(dim, input.ndim))
        return made(np.expand_dims(found, axis(dim, input.ndim)) if keepdim else found)

    return {name: operation, f"arg{name}": where_is}


def ordered(x, dim, descending):
    """Los puestos, por orden; entre iguales, el primero."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    n = x.shape[dim]
    found = np.argsort(np.flip(x, dim), dim, kind="stable")
    return n - 1 - np.flip(found, dim)


def picked(x, index, dim):
    return moved(x, lambda a: np.take_along_axis(a, index, dim))


@both("sort")
def sort(input, dim=-1, descending=False, stable=False):
    dim = axis(dim, input.ndim)
    index = ordered(input.array, dim, descending)
    return SORTS["sort"](picked(input, index, dim), made(index))


@both("topk")
def topk(input, k, dim=-1, largest=True, sorted=True):
    dim = axis(dim, input.ndim)
    if not 0 <= k <= input.shape[dim]:
        raise RuntimeError("selected index k out of range")
    index = np.take(ordered(input.array, dim, largest), np.arange(k), dim)
    return SORTS["topk"](picked(input, index, dim), made(index))


@both("mode")
def mode(input, dim=-1, keepdim=False):
    """El que más se repite; entre varios, el menor."""
    where = axis(dim, input.ndim)
    rows = np.moveaxis(input.array, where, -1)
    index = np.zeros(rows.shape[:-1], np.int64)
    for place in np.ndindex(index.shape):
        values, counts = np.unique(rows[place], return_counts=True)
        index[place] = np.nonzero(rows[place] == values[counts.argmax()])[0][-1]
    index = np.expand_dims(index, where)
    return parted("mode", picked(input, index, where), made(index), where, keepdim)


@both("unique")
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    found = np.unique(input.array, False, return_inverse, return_counts, dim)
    return tuple(map(made, found)) if isinstance(found, tuple) else made(found, dtype=input.dtype)


def running(count, back):
    def operation(input, dim, *, dtype=None):
        kind, where = dtype or whole_or_long(input.dtype), axis(dim, input.ndim)
        x = input.array.astype(kind.stored, copy=False)
        y = count.accumulate(x, where, x.dtype) if x.ndim else x
        return made(y, (input, lambda g: back(g, x, y, where)), dtype=kind)

    return operation


def ahead(g, where):
    return np.flip(np.cumsum(np.flip(g, where), where), where)


def best_so_far(name, count):
    def operation(input, dim):
        where = axis(dim, input.ndim)
        best = count.accumulate(input.array, where)
        steps = [-1 if i == where else 1 for i in range(input.ndim)]
        here = np.where(input.array == best, np.arange(input.size(dim)).reshape(steps), 0)
        index = np.maximum.accumulate(here, where)
        return SORTS[name](picked(input, index, where), made(index))

    return operation


listed({
    "any": truths(np.any),
    "all": truths(np.all),
    "std": lambda input, dim=None, unbiased=True, keepdim=False, *, correction=None:
        var(input, dim, unbiased, keepdim, correction=correction).sqrt(),
    **extreme("max", np.argmax),
    **extreme("min", np.argmin),
    "cumsum": running(np.add, lambda g, x, y, w: ahead(g, w)),
    "cumprod": running(np.multiply, lambda g, x, y, w: ahead(g * y, w) / x),
    "logcumsumexp": running(np.logaddexp, lambda g, x, y, w: np.exp(x) * ahead(g * np.exp(-y), w)),
    "cummax": best_so_far("cummax", np.maximum),
    "cummin": best_so_far("cummin", np.minimum),
})  # fmt: skip
listed({"var_mean": with_mean("var"), "std_mean": with_mean("std")}, method=False)
for name in ("cumsum", "cumprod", "logcumsumexp"):
    in_place(name, FUNCTIONS[name])


# --- softmax --------------------------------------------------------------------------------------


def need_floats(name, x):
    if x.dtype.category < 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.said}'")


@both("softmax")
def softmax(input, dim, dtype=None, *, out=None):
    found = shared(input, dim, dtype)
    return found if out is None else changed(out, found.array)


def shared(input, dim=None, dtype=None):
    """La softmax; sin decir el eje, el que elige ``F.softmax``."""
    x = input if dtype is None else input.to(dtype)
    need_floats("softmax_lastdim_kernel_impl", x)
    where = axis(0 if dim is None and x.ndim in (0, 1, 3) else 1 if dim is None else dim, x.ndim)
    e = np.exp(x.array - x.array.max(where, keepdims=True)) if x.array.size else x.array
    y = e / e.sum(where, keepdims=True) if x.ndim else np.ones_like(e)
    return made(y, (x, lambda g: y * (g - (g * y).sum(where, keepdims=True))), dtype=x.dtype)


@both("log_softmax")
def log_softmax(input, dim=None, dtype=None):
    x = input if dtype is None else input.to(dtype)
    need_floats("log_softmax_lastdim_kernel_impl", x)
    return x - REDUCE["logsumexp"](x, -1 if dim is None else dim, True)


# --- Productos ------------------------------------------------------------------------------------


SCALARS = "expected scalar type {} but found {}"
BATCHES = "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}]."
MATRICES = "expected m1 and m2 to have the same dtype, but got: {} != {}"


def alike(first, second, what=MATRICES):
    if first.dtype is not second.dtype:
        kinds = first.dtype, second.dtype
        said = (kind.said if what is SCALARS else types.SPOKEN.get(kind, kind.name) for kind in kinds)
        raise RuntimeError(what.format(*said))


@both("matmul", "__matmul__")
def matmul(input, other, *, out=None):
    for place, (name, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise TypeError(f"matmul(): argument '{name}' (position {place}) must be Tensor, not {type(x).__name__}")
    if not input.ndim or not other.ndim:
        raise RuntimeError(fault("matmul", input.ndim, other.ndim))
    a, b = input.ndim, other.ndim
    if a == b == 1:
        alike(input, other, "dot : expected both vectors to have same dtype, but found {} and {}")
    (n, m), (k, p) = ([1, 1, *x.shape][-2:] for x in (input, other))
    k = other.shape[0] if b == 1 else k
    if m != k:
        if a == b == 1:
            raise RuntimeError(fault("dot", m, k))
        if b <= 2:
            rows = math.prod(input.shape[:-1])
            if b == 1:
                raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{m}), vec ({k})")
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{m} and {k}x{p})")
        left = math.prod(broadcast(input.shape[:-2], other.shape[:-2]))
        raise RuntimeError(BATCHES.format(left, m, left, k))
    broadcast(input.shape[:-2], other.shape[:-2])
    if a > 1 and b == 1 and input.dtype is not other.dtype:
        v, m = other.dtype.said, input.dtype.said
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {v}, {m}, and {v}")
    alike(input, other, SCALARS if b > 2 else MATRICES)
    x, y = input.array, other.array
    found = multiplied(x, y)

    def left_back(g):
        wide = g[..., None, :] if a == 1 and b > 1 else g
        if b == 1:
            wide = wide[..., None] * y
            return summed(wide.reshape(g.shape + y.shape), x.shape)
        part = multiplied(wide, np.swapaxes(y, -1, -2))
        return summed(part[..., 0, :] if a == 1 else part, x.shape)

    def right_back(g):
        if a == 1 and b == 1:
            return g * x
        wide = g[..., None] if b == 1 else g[..., None, :] if a == 1 else g
        if b == 2 and a > 2:  # la suma de todo el lote es un solo producto
            return multiplied(x.reshape(-1, m).T, wide.reshape(-1, p))
        part = multiplied(np.swapaxes(np.atleast_2d(x), -1, -2), wide)
        return summed(part[..., 0] if b == 1 else part, y.shape)

    result = made(found, (input, left_back), (other, right_back), dtype=input.dtype)
    return result if out is None else changed(out, found)


Tensor.__matmul__ = lambda self, other: matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@both("bmm")
def bmm(input, mat2):
    for place, x in enumerate((input, mat2)):
        if x.ndim != 3:
            raise RuntimeError(f"batch{place + 1} must be a 3D tensor")
    if input.shape[::2] != mat2.shape[:2]:
        raise RuntimeError(BATCHES.format(*input.shape[::2], *mat2.shape[:2]))
    return matmul(input, mat2)


def added(product):
    def operation(input, first, second, *, beta=1, alpha=1):
        found = alpha * FUNCTIONS[product](first, second)
        return beta * input + found if beta else found

    return operation


@both("tensordot", method=False)
def tensordot(a, b, dims=2):
    first, second = (range(-dims, 0), range(dims)) if isinstance(dims, int) else dims
    left, right = list("abcdefghijkl"[: a.ndim]), list("mnopqrstuvwx"[: b.ndim])
    for i, j in zip(first, second, strict=True):
        if a.size(i) != b.size(j):
            raise RuntimeError(fault("tensordot", a.size(i), i, b.size(j), j))
        right[j] = left[i]
    rest = "".join(c for c in (*left, *right) if (c in left) != (c in right))
    return einsum(f"{''.join(left)},{''.join(right)}->{rest}", a, b)


def readable(equation, tensors):
    """Una ecuación de einsum: las letras de cada entrada y las de la salida, sin puntos suspensivos."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        more = "more" if len(terms) < len(tensors) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    spare = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation]
    many = max([x.ndim - len(term.replace("...", "")) for x, term in zip(tensors, terms) if "..." in term], default=0)
    found = []
    for term, x in zip(terms, tensors):
        plain_term = term.replace("...", "")
        if strange := next((c for c in plain_term if not c.isalpha()), None):
            raise RuntimeError(fault("einsum-letter", term.index(strange)))
        extra = x.ndim - len(plain_term)
        if "..." not in term and extra:
            raise RuntimeError(fault("einsum-number", len(plain_term), x.ndim, len(found)))
        found.append(term.replace("...", "".join(spare[many - extra : many])))
    if not arrow:
        letters = "".join(sorted(left.replace(",", "").replace("...", "")))
        right = "..." * ("..." in left) + "".join(c for c in letters if letters.count(c) == 1)
    right = right.replace("...", "".join(spare[:many]))
    for letter in right:
        if not any(letter in term for term in found):
            raise RuntimeError(fault("einsum-output", letter))
        if right.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
    sizes = {}
    for k, (term, x) in enumerate(zip(found, tensors)):
        for letter, n in zip(term, x.shape):
            if sizes.setdefault(letter, n) not in (n, 1) and n != 1:
                raise RuntimeError(fault("einsum-size", letter, n, k, sizes[letter]))
            sizes[letter] = max(sizes[letter], n)
    return found, right, sizes


@both("einsum", method=False)
def einsum(equation, *operands):
    if not isinstance(equation, str):
        raise TypeError("einsum(): the first argument must be the equation")
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], tuple | list) else list(operands)
    terms, right, sizes = readable(equation, tensors)
    kind = tensors[0].dtype
    if any(x.dtype is not kind for x in tensors):
        if len(tensors) > 2:
            refuse("torch.einsum")
        joined = set(terms[0]) & set(terms[1]) - set(right)
        if any(dict(zip(term, x.shape))[c] > 1 for c in joined for term, x in zip(terms, tensors)):
            alike(*tensors, SCALARS)
        kind = types.result(tensors)
    arrays = [x.array.astype(kind.stored, copy=False) for x in tensors]
    found = np.einsum(",".join(terms) + "->" + right, *arrays, optimize=len(arrays) > 2)

    def back(k):
        def send(g):
            once = "".join(dict.fromkeys(terms[k]))
            others = [(t, a) for j, (t, a) in enumerate(zip(terms, arrays)) if j != k]
            have = set(right) | {c for t, _ in others for c in t}
            missing = [c for c in once if c not in have]
            ones = [(c, np.ones(sizes[c], g.dtype)) for c in missing]
            parts = [(right, g), *others, *ones]
            part = np.einsum(",".join(t for t, _ in parts) + "->" + once, *(a for _, a in parts))
            if len(once) == len(terms[k]):
                return summed(part, arrays[k].shape)
            whole = np.zeros_like(arrays[k])
            grid = np.ogrid[tuple(slice(sizes[c]) for c in once)]
            whole[tuple(grid[once.index(c)] for c in terms[k])] = part
            return whole

        return send

    return made(found, *((x, back(k)) for k, x in enumerate(tensors)), dtype=kind)


# --- Las de una línea -----------------------------------------------------------------------------

listed({
    "mm": lambda input, mat2: matmul(input, mat2) if input.ndim == mat2.ndim == 2 else stop(
        f"{'mat2' if input.ndim == 2 else 'self'} must be a matrix"),
    "mv": lambda input, vec: matmul(input, vec) if (input.ndim, vec.ndim) == (2, 1) else stop(
        f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}"),
    "dot inner vdot": lambda input, tensor: matmul(input, tensor) if input.ndim == tensor.ndim == 1 else stop(
        f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors"),
    "baddbmm": added("bmm"),
    "addmm": added("mm"),
    "addmv": added("mv"),
    "kron": lambda input, other: refuse("torch.kron") if input.ndim != 2 or other.ndim != 2 else einsum(
        "ij,kl->ikjl", input, other).reshape(len(input) * len(other), -1),
    "kthvalue": lambda input, k, dim=-1, keepdim=False: parted("kthvalue", *(
        index_select(part, dim, made(np.asarray([k - 1]))) for part in sort(input, dim)), dim, keepdim),
    "median": lambda input, dim=None, keepdim=False:
        sort(input.reshape(-1)).values[(input.numel() - 1) // 2] if dim is None else SORTS["median"](
            *input.kthvalue((input.size(dim) + 1) // 2, dim, keepdim)),
    "aminmax": lambda input, *, dim=None, keepdim=False:
        namedtuple("aminmax", ("min", "max"))(*(REDUCE[name](input, dim, keepdim) for name in ("amin", "amax"))),
    "count_nonzero": lambda input, dim=None: made(np.asarray(np.count_nonzero(input.array, axes(dim, input.ndim)))),
    "dist": lambda input, other, p=2: norm(input - other, p),
    "argsort": lambda input, dim=-1, descending=False, stable=False:
        made(ordered(input.array, axis(dim, input.ndim), descending)),
    "quantile": lambda input, q, dim=None, keepdim=False:
        made(np.quantile(input.array, plain(q), dim, keepdims=keepdim).astype(input.array.dtype)),
    "outer ger": lambda input, vec2: input[:, None] * vec2,
    "trace": lambda input: REDUCE["sum"](input.diagonal()),
})  # fmt: skip
listed({
    "isin": lambda elements, test_elements, *, invert=False:
        made(np.isin(plain(elements), plain(test_elements), invert=invert)),
    "cosine_similarity": lambda x1, x2, dim=1, eps=1e-8: REDUCE["sum"](
        x1 / length(x1, dim, True).clamp(min=eps) * (x2 / length(x2, dim, True).clamp(min=eps)), dim),
    "cdist": lambda x1, x2, p=2.0: norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1),
}, method=False)  # fmt: skip
