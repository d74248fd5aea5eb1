"""Formas, índices y sitios: lo que mueve números sin cambiarlos."""

import math

import numpy as np

from torch import types
from torch.core import (
    FUNCTIONS, Size, Tensor, apart, axes, axis, before, both, broadcast, grad_on, in_place, lineage,
    listed, made, moved, plain, root, summed, tensor_of, untouched,
)  # fmt: skip
from torch.overrides import fault, refuse, stop


def sizes(given, name="size(): argument 'size'"):
    """Una forma, dada suelta o en una tupla."""
    one = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    for i, n in enumerate(one):
        if isinstance(n, bool) or not isinstance(n, int | np.integer | Tensor):
            kind = type(n).__name__
            raise TypeError(fault("sizes", name, i + 1, kind) if i else f"{name} must be tuple of ints, not {kind}")
    return tuple(int(n) for n in one)


def fitted(shape, total):
    """Una forma, con su −1 contado."""
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    known = math.prod(n for n in shape if n != -1)
    wrong = total % known if -1 in shape and known else total != known
    if wrong or -1 in shape and not known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {total}")
    return tuple(total // known if n == -1 else n for n in shape)


@both("reshape")
def reshape(input, *shape):
    shape = fitted(sizes(shape, "reshape(): argument 'shape'"), input.array.size)
    return moved(input, lambda x: x.reshape(shape))


@both("view", function=False)
def view(input, *shape):
    if shape and isinstance(shape[0], types.dtype):
        refuse("torch.Tensor.view(dtype)")
    shape = fitted(sizes(shape, "view(): argument 'size'"), input.array.size)
    found = input.array.reshape(shape)
    if found.size and not np.may_share_memory(found, input.array):
        raise RuntimeError(fault("view"))
    return moved(input, lambda x: x.reshape(shape))


@both("flatten")
def flatten(input, start_dim=0, end_dim=-1):
    if not input.ndim:
        return reshape(input, 1)
    first, last = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input.shape
    return reshape(input, *shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@both("unflatten")
def unflatten(input, dim, sizes):
    dim = axis(dim, input.ndim)
    n = input.shape[dim]
    try:
        parts = fitted(tuple(map(int, sizes)), n)
    except RuntimeError:
        raise RuntimeError(fault("unflatten", list(sizes), dim, n)) from None
    return reshape(input, *input.shape[:dim], *parts, *input.shape[dim + 1 :])


@both("transpose", "swapaxes", "swapdims")
def transpose(input, dim0, dim1):
    one, other = axis(dim0, input.ndim), axis(dim1, input.ndim)
    return moved(input, lambda x: np.swapaxes(x, one, other) if x.ndim else x)


@both("permute")
def permute(input, *dims):
    order = sizes(dims, "permute(): argument 'dims'")
    if len(order) != input.ndim:
        raise RuntimeError(fault("permute", input.ndim, len(order)))
    order = axes(order, input.ndim)
    return moved(input, lambda x: np.transpose(x, order))


def turned(name):
    """La misma, que cambia la forma del tensor."""
    return lambda self, *given: (vars(self).update(array=FUNCTIONS[name](self, *given).array), self)[1]


@both("expand", function=False)
def expand(self, *shape):
    shape = sizes(shape, "expand(): argument 'size'")
    extra = len(shape) - self.ndim
    if extra < 0:
        raise RuntimeError(fault("expand", self.dtype.said, list(self.shape), list(shape), len(shape), self.ndim))
    mine = (1,) * extra + tuple(self.shape)
    wanted = tuple(m if n == -1 else n for n, m in zip(shape, mine))
    for i, (n, m) in enumerate(zip(wanted, mine)):
        if m not in (1, n):
            raise RuntimeError(fault("expand-size", n, m, i, list(wanted), list(self.shape)))
    return moved(self, lambda x: np.broadcast_to(x, wanted))


@both("broadcast_shapes", method=False)
def broadcast_shapes(*shapes):
    found = Size()
    for index, shape in enumerate(tuple(s) if isinstance(s, tuple | list) else (s,) for s in shapes):
        for i in range(1, min(len(found), len(shape)) + 1):
            if found[-i] != shape[-i] and 1 not in (found[-i], shape[-i]):
                raise RuntimeError(fault("broadcast_shapes", shape[-i], -i, index, tuple(shape), list(found)))
        found = broadcast(found, shape)
    return found


@both("repeat", function=False)
def repeat(self, *times):
    times = sizes(times, "repeat(): argument 'repeats'")
    if len(times) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return moved(self, lambda x: np.tile(x, times))


def counted(repeats):
    found = plain(repeats)
    if isinstance(found, float):
        raise TypeError("repeat_interleave() received an invalid combination of arguments - got (float, int)")
    return found.astype(np.intp) if isinstance(found, np.ndarray) else found


@both("narrow")
def narrow(input, dim, start, length):
    dim = axis(dim, input.ndim)
    start = int(start) + (input.shape[dim] if start < 0 else 0)
    if length < 0 or start + length > input.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    return moved(input, lambda x: x[(slice(None),) * dim + (slice(start, start + length),)])


@both("split")
def split(tensor, split_size_or_sections, dim=0):
    n, size = tensor.size(dim), split_size_or_sections
    equal = isinstance(size, int)
    parts = ([min(size, n - i) for i in range(0, n, size)] or [0]) if equal else list(size)
    if sum(parts) != n:
        raise RuntimeError(fault("split", n, dim, parts))
    starts = np.cumsum([0, *parts[:-1]])
    return tuple(narrow(tensor, dim, int(i), k) for i, k in zip(starts, parts))


@both("tensor_split")
def tensor_split(input, indices_or_sections, dim=0):
    n, where = input.size(dim), plain(indices_or_sections)
    if isinstance(where, int):
        where = np.cumsum([n // where + (i < n % where) for i in range(where)])[:-1]
    edges = [0, *(int(min(i, n) if i >= 0 else max(i + n, 0)) for i in where), n]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in zip(edges, edges[1:]))


@both("diagonal")
def diagonal(input, offset=0, dim1=0, dim2=1):
    def change(x):
        found = np.diagonal(x, offset, axis(dim1, x.ndim), axis(dim2, x.ndim))
        if x.flags.writeable:
            found.setflags(write=True)
        return found

    return moved(input, change)


@both("diag")
def diag(input, diagonal=0):
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 2:
        return moved(input, lambda x: np.diagonal(x, diagonal).copy())
    g = lambda grad: np.diagonal(grad, diagonal).copy()  # noqa: E731
    return made(np.diag(input.array, diagonal), (input, g), dtype=input.dtype)


def kept_triangle(name, count):
    def operation(input, diagonal=0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return made(count(input.array, diagonal), (input, lambda g: count(g, diagonal)), dtype=input.dtype)

    both(name)(operation)
    in_place(name, operation)


kept_triangle("tril", np.tril)
kept_triangle("triu", np.triu)


# --- Juntar ---------------------------------------------------------------------------------------


@both("cat", "concat", "concatenate", method=False)
def cat(tensors, dim=0):
    many = check_many("cat", tensors)
    many = [x for x in many if x.shape != (0,)] or many[:1]
    kind = types.result(many)
    if not many[0].ndim:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dim = axis(dim, many[0].ndim)
    for k, x in enumerate(many):
        if x.ndim != many[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {many[0].ndim} and {x.ndim}")
        for i, (n, m) in enumerate(zip(many[0].shape, x.shape)):
            if n != m and i != dim:
                raise RuntimeError(fault("cat", dim, n, m, k))
    starts = np.cumsum([0, *(x.shape[dim] for x in many)])
    ahead = (slice(None),) * dim
    edges = [(x, lambda g, a=a, b=b: g[(*ahead, slice(a, b))]) for x, a, b in zip(many, starts, starts[1:])]
    return made(np.concatenate([x.array.astype(kind.stored) for x in many], dim), *edges, dtype=kind)


def check_many(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, tuple | list):
        raise TypeError(fault("tensors", name, type(tensors).__name__))
    many = list(tensors)
    for i, x in enumerate(many):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    if not many:
        what = {"cat": "torch.cat(): expected a non-empty list of Tensors"}
        raise RuntimeError(what.get(name, "stack expects a non-empty TensorList"))
    return many


@both("stack", method=False)
def stack(tensors, dim=0):
    many = check_many("stack", tensors)
    for i, x in enumerate(many):
        if x.shape != many[0].shape:
            raise RuntimeError(fault("stack", list(many[0].shape), list(x.shape), i))
    place = axis(dim, many[0].ndim + 1)
    return cat([x.unsqueeze(place) for x in many], place)


@both("block_diag", method=False)
def block_diag(*tensors):
    rows = sum(x.shape[0] for x in tensors), sum(x.shape[1] for x in tensors)
    found, i, j = np.zeros(rows, tensors[0].array.dtype), 0, 0
    for x in tensors:
        found[i : i + x.shape[0], j : j + x.shape[1]] = x.array
        i, j = i + x.shape[0], j + x.shape[1]
    return made(found)


# --- Índices --------------------------------------------------------------------------------------


def index_of(key, shape):
    """Un índice de torch, en dos: el que elige y corta, y el que recoge puestos sueltos."""
    key = key if isinstance(key, tuple) else (key,)
    parts = []
    for one in key:
        if isinstance(one, Tensor) and one.dtype.category > 1 or isinstance(one, float):
            raise IndexError(fault("index-tensor" if isinstance(one, Tensor) else "index", type(one).__name__))
        one = plain(one)
        if isinstance(one, list | range):
            one = np.asarray(one) if one else np.zeros(0, np.int64)
        if isinstance(one, np.ndarray) and not one.ndim and one.dtype != bool:
            one = int(one)
        if isinstance(one, slice):
            one = slice(*(None if x is None else position(x) for x in (one.start, one.stop, one.step)))
            if one.step is not None and one.step <= 0:
                raise ValueError("step must be greater than zero")
        parts.append(one)
    used = sum(
        p.ndim if isinstance(p, np.ndarray) and p.dtype == bool else p is not None and p is not ...
        for p in parts
        if not isinstance(p, bool)
    )
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    missing = (slice(None),) * (len(shape) - used)
    place = next((i for i, p in enumerate(parts) if p is ...), None)
    parts = [*parts, *missing] if place is None else [*parts[:place], *missing, *parts[place + 1 :]]
    first, then, dim = [], [], 0
    for p in parts:
        if isinstance(p, np.ndarray | bool):
            p = np.asarray(p)
            masked = p.shape if p.dtype == bool else ()
            for i, n in enumerate(masked):
                if n != shape[dim + i]:
                    raise IndexError(fault("mask", list(p.shape), i, list(shape), dim + i))
            wide = len(masked) if p.dtype == bool else 1
            first += [slice(None)] * wide
            dim += wide
            then.append(p)
        else:
            if isinstance(p, int | np.integer) and not -shape[dim] <= p < shape[dim]:
                raise IndexError(f"index {p} is out of bounds for dimension {dim} with size {shape[dim]}")
            first.append(p)
            dim += p is not None
            if not isinstance(p, int | np.integer):
                then.append(slice(None))
    loose = any(isinstance(p, np.ndarray) for p in then)
    return tuple(first), tuple(then) if loose else None


def position(x):
    said = "slice indices must be integers or None or have an __index__ method"
    return x.__index__() if hasattr(x, "__index__") else stop(said, TypeError)


def plainly(part):
    """Si una parte de un índice es un entero o un trozo corriente: NumPy lo entiende igual."""
    return type(part) is int or type(part) is slice and part.step is None


def get(self, key):
    parts = key if type(key) is tuple else (key,)
    if all(map(plainly, parts)):  # lo de casi siempre, deprisa
        try:
            return moved(self, lambda x: x[(*parts, ...)])
        except (IndexError, TypeError):
            pass
    first, then = index_of(key, self.array.shape)
    return moved(self, lambda x: x[(*first, ...)] if then is None else x[first][then])


def put(self, key, value):
    first, then = index_of(key, self.array.shape)
    given = tensor_of(value)
    inside, chosen = self.array[(*first, ...)], ... if then is None else then
    if self.requires_grad and not self.edges and grad_on[0]:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    numbers = types.stored(given.array, self.dtype)
    target = inside[chosen].shape
    while numbers.ndim > len(target) and numbers.shape[0] == 1:
        numbers = numbers[0]
    extra = numbers.ndim - len(target)
    for i, n in enumerate(numbers.shape):
        m = target[i - extra] if i >= extra else 1
        if extra > 0 or n not in (1, m):
            if then is None:
                raise RuntimeError(fault("expand-size", m, n, max(i - extra, 0), list(target), list(given.shape)))
            raise RuntimeError(fault("setitem", list(given.shape), list(target)))
    places = np.arange(self.array.size).reshape(self.array.shape)[(*first, ...)][chosen]
    old = before(self)
    if then is None:
        apart(inside, given.array)
    inside[chosen] = numbers

    def picked(g):
        return summed(g.reshape(-1)[places], given.shape)

    if grad_on[0] and (given.requires_grad or old.requires_grad) and self.dtype.category > 1:
        edges = [(old, untouched(places))] * old.requires_grad + [(given, picked)] * given.requires_grad
        lineage(self, tuple(edges))


Tensor.__getitem__, Tensor.__setitem__ = get, put


def check_index(name, index):
    if index.dtype not in (types.int64, types.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


@both("index_select")
def index_select(input, dim, index):
    check_index("index_select", index)
    dim = axis(dim, input.ndim)
    if index.array.size and (index.array.max() >= input.shape[dim] or index.array.min() < 0):
        raise IndexError("index out of range in self")
    return moved(input, lambda x: np.take(x, index.array.astype(np.intp), dim))


@both("gather")
def gather(input, dim, index):
    check_index("gather", index)
    if index.ndim != input.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    dim = axis(dim, input.ndim)
    cut = tuple(slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape))
    return moved(input, lambda x: np.take_along_axis(x[cut], index.array, dim))


@both("scatter")
def scatter(input, dim, index, src=None, *, value=None):
    check_index("scatter", index)
    dim, src = axis(dim, input.ndim), src if value is None else value
    cut, places = tuple(slice(n) for n in index.shape), list(np.indices(index.shape))
    places[dim] = index.array
    places, found = tuple(places), input.array.copy()
    found[places] = src.array[cut] if isinstance(src, Tensor) else src

    def rest(g):
        g = g.copy()
        g[places] = 0
        return g

    def back(g):
        part = np.zeros_like(src.array)
        part[cut] = g[places]
        return part

    return made(found, (input, rest), *([(src, back)] if isinstance(src, Tensor) else []), dtype=input.dtype)


def placed(x, index, value):
    """Un tensor, después de poner algo en esos puestos."""
    put(x, index, value)
    return x


def along(input, dim, index, value):
    """Una copia, con otra cosa en esos puestos de un eje."""
    return placed(input.clone(), (slice(None),) * axis(dim, input.ndim) + (index,), value)


@both("masked_scatter")
def masked_scatter(input, mask, source):
    found = input.expand(*broadcast(input.shape, mask.shape)).clone()
    here = mask.expand(*found.shape)
    found[here] = source.reshape(-1)[: int(here.array.sum())]
    return found


@both("nonzero")
def nonzero(input, *, as_tuple=False):
    found = np.nonzero(input.array)
    if as_tuple:
        return tuple(made(x) for x in found)
    return made(np.stack(found, -1) if found else np.zeros((int(bool(input.array)), 0), np.int64))


@both("one_hot", method=False, function=False)
def one_hot(tensor, num_classes=-1):
    if tensor.dtype is not types.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    n = int(tensor.array.max()) + 1 if num_classes == -1 else num_classes
    if tensor.array.size and tensor.array.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return made((tensor.array[..., None] == np.arange(n)).astype(np.int64))


@both("as_strided")
def as_strided(input, size, stride, storage_offset=None):
    start = input.storage_offset() if storage_offset is None else storage_offset
    whole, wide = root(input.array), input.array.itemsize
    whole = whole if whole.flags.c_contiguous else whole.reshape(-1, order="K")
    strides = tuple(s * wide for s in stride)
    found = np.ndarray(tuple(size), whole.dtype, whole, start * wide, strides)
    return Tensor(array=found, dtype=input.dtype)


@both("unfold", function=False)
def unfold(self, dimension, size, step):
    dim = axis(dimension, self.ndim)
    kept = (slice(None),) * dim + (slice(None, None, step),)
    return moved(self, lambda x: np.lib.stride_tricks.sliding_window_view(x, size, dim)[kept])


# --- Las de una línea -----------------------------------------------------------------------------

listed({
    "squeeze": lambda input, dim=None:
        moved(input, lambda x: np.squeeze(x, tuple(i for i in axes(dim, x.ndim) if x.shape[i] == 1))),
    "unsqueeze": lambda input, dim: moved(input, lambda x: np.expand_dims(x, axis(dim, x.ndim + 1))),
    "t": lambda input: moved(input, np.transpose) if input.ndim < 3 else stop(
        f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D"),
    "ravel": lambda input: reshape(input, -1),
    "movedim moveaxis": lambda input, source, destination: moved(input, lambda x: np.moveaxis(x, source, destination)),
    "broadcast_to": lambda input, size: expand(input, *size),
    "tile": lambda input, *dims: moved(input, lambda x: np.tile(x, sizes(dims))),
    "flip": lambda input, *dims:
        moved(input, lambda x: np.ascontiguousarray(np.flip(x, axes(sizes(dims), x.ndim))).reshape(x.shape)),
    "fliplr": lambda input: input.flip(1),
    "flipud": lambda input: input.flip(0),
    "roll": lambda input, shifts, dims=None: moved(input, lambda x: np.roll(x, shifts, None if dims == () else dims)),
    "repeat_interleave": lambda input, repeats, dim=None:
        moved(input, lambda x: np.repeat(x, counted(repeats), None if dim is None else axis(dim, x.ndim))),
    "select": lambda input, dim, index: input[(slice(None),) * axis(dim, input.ndim) + (index,)],
    "chunk": lambda input, chunks, dim=0: split(input, max(-(-input.size(dim) // chunks), 1), dim),
    "unbind": lambda input, dim=0: tuple(input.select(dim, i) for i in range(input.size(dim))),
    "diag_embed": lambda input: input.unsqueeze(-1) * made(np.eye(input.shape[-1]), dtype=input.dtype),
    "atleast_1d": lambda input: input if input.ndim else input.reshape(1),
    "atleast_2d": lambda input: input if input.ndim > 1 else input.reshape(1, -1),
    "take_along_dim": lambda input, indices, dim=None: moved(input, lambda x: np.take_along_axis(x, indices.array, dim)),
    "index_copy": lambda input, dim, index, source: along(input, dim, index, source),
    "index_fill": lambda input, dim, index, value: along(input, dim, index, value),
    "diff": lambda input, n=1, dim=-1: input if n < 1 else (
        narrow(input, dim, 1, size := input.size(dim) - 1) - narrow(input, dim, 0, size)).diff(n - 1, dim),
    "argwhere": lambda input: nonzero(input),
    "masked_select": lambda input, mask: moved(
        input.expand(broadcast(input.shape, mask.shape)), lambda x: x[np.broadcast_to(mask.array, x.shape)]),
    "index_put": lambda input, indices, values, accumulate=False:
        placed(input.clone(), tuple(indices), values),
})  # fmt: skip
for name in ("scatter", "index_fill", "masked_scatter"):
    in_place(name, FUNCTIONS[name])
listed({
    "view_as": lambda self, other: view(self, *other.shape),
    "reshape_as": lambda self, other: reshape(self, *other.shape),
    "expand_as": lambda self, other: expand(self, *other.shape),
    "index_put_": lambda self, indices, values, accumulate=False: placed(self, tuple(indices), values),
    **{f"{name}_": turned(name) for name in ("squeeze", "unsqueeze", "transpose", "t")},
}, function=False)  # fmt: skip
listed({
    "broadcast_tensors": lambda *tensors: tuple(x.expand(broadcast(*(y.shape for y in tensors))) for x in tensors),
    "hstack": lambda tensors: cat(tensors, 0 if tensors[0].ndim == 1 else 1),
    "vstack": lambda tensors: cat([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors], 0),
    "column_stack": lambda tensors: cat([x if x.ndim > 1 else x.reshape(-1, 1) for x in tensors], 1),
}, method=False)  # fmt: skip
