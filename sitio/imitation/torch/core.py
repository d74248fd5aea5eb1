"""El tensor: un array de NumPy con su tipo y, si se le pide, de qué cuenta viene.

Cada operación se escribe una vez y vale como función y como método (``both``). Las que solo mueven
números de sitio comparten su gradiente (``moved``); las de número a número, el suyo (``elementwise``).
"""

import itertools
import math

import numpy as np

from torch import types
from torch.overrides import fault, heard, known, lacking, named, refuse, stop

FUNCTIONS = {}
# Los nombres de NumPy que torch también entiende.
NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
np.seterr(all="ignore")  # como torch, que divide entre cero sin avisar
grad_on = [True]
versions = itertools.count()


class Size(tuple):
    """Una forma."""


class device:
    """Dónde está un tensor: aquí solo hay un sitio."""

    def __init__(self, kind="cpu", index=None):
        self.type, self.index = str(kind).split(":")[0], index
        if self.type not in ("cpu", "meta"):
            refuse(f"torch.device('{kind}')")


class Storage:
    """La memoria en que está un tensor."""

    def __init__(self, array):
        self.array = array

    __getattr__ = staticmethod(lacking("torch.UntypedStorage"))


class Tensor:
    """Números con forma y tipo.

    Attributes:
        array: sus números, que otro tensor puede compartir.
        dtype: su tipo.
        requires_grad, grad: si se apunta de qué cuenta viene lo que salga de él, y su gradiente.
        edges: de qué tensores viene, y cómo les llega el gradiente.
        base: si comparte los números de otro, ``(el otro, cuáles)``.
    """

    layout, is_cuda, is_sparse, is_quantized, is_nested, is_meta, is_mps = "torch.strided", *6 * [False]
    names = None

    def __init__(self, *given, array=None, dtype=None, edges=()):
        if array is None:  # torch.Tensor(2, 3) o torch.Tensor([1, 2])
            one = given[0] if given else []
            shape = given if given and isinstance(one, int) else None
            array = np.zeros(shape, np.float32) if shape else np.asarray(plain(one), np.float32)
        self.array, self.dtype = array, dtype or types.of_array(array)
        self.edges, self.grad, self.base, self.order = edges, None, None, next(versions)
        self.requires_grad = bool(edges)

    # Lo que se le puede preguntar.

    shape = property(lambda self: Size(self.array.shape))
    ndim = property(lambda self: self.array.ndim)
    device = property(lambda self: device())
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.array.size * self.dtype.itemsize)
    is_leaf = property(lambda self: not self.edges)
    grad_fn = property(lambda self: self.edges or None)
    T = property(lambda self: self.permute(*range(self.ndim - 1, -1, -1)))
    mT = property(lambda self: self.transpose(-2, -1))
    H = property(lambda self: self.mT)
    real = property(lambda self: self)

    data = property(
        lambda self: self.detach(),
        lambda self, other: vars(self).update(array=other.array, dtype=other.dtype),
    )

    def __deepcopy__(self, memo):
        copy = type(self)(array=self.array.copy(), dtype=self.dtype)
        copy.requires_grad = self.requires_grad
        return memo.setdefault(id(self), copy)

    def __getattr__(self, name):
        known("Tensor", name, f"'{type(self).__name__}' object")

    # De qué cuenta viene.

    def requires_grad_(self, on=True):
        if on and self.dtype.category < 2:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.requires_grad = on
        return self

    def backward(self, gradient=None, retain_graph=None, create_graph=False):
        """Lleva el gradiente a todo lo que lo pide, de atrás adelante."""
        if not self.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if gradient is None and self.array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        start = np.ones(self.shape, self.array.dtype) if gradient is None else gradient.array
        pending, seen, stack = {id(self): start}, {}, [self]
        while stack:
            one = stack.pop()
            if id(one) not in seen:
                seen[id(one)] = one
                stack += [parent for parent, _ in one.edges]
        for one in sorted(seen.values(), key=lambda t: -t.order):
            given = pending.pop(id(one), None)
            if given is None:
                continue
            if not one.edges and one.requires_grad:
                before = 0 if one.grad is None else one.grad.array
                one.grad = Tensor(array=np.asarray(before + given, one.array.dtype), dtype=one.dtype)
            for parent, back in one.edges:
                if parent.requires_grad:
                    part = back(given)
                    pending[id(parent)] = pending[id(parent)] + part if id(parent) in pending else part


def methods(kind, table):
    """Pone en una clase los métodos de una línea de una tabla: nombre, o nombres → qué contesta."""
    for names, method in table.items():
        name, *others = names.split()
        for one in (name, *others):
            setattr(kind, one, named(method, name, f"{kind.__name__}."))


def single(x, kind=ValueError, said="only one element tensors can be converted to Python scalars"):
    """El número de un tensor que solo tiene uno; si no, para y lo dice."""
    return x.array.item() if x.array.size == 1 else stop(said, kind)


methods(device, {
    "__repr__": lambda self: "device(type='cpu')",
    "__str__": lambda self: self.type,
    "__eq__": lambda self, other: str(self) == str(other),
    "__hash__": lambda self: hash(self.type),
})  # fmt: skip
methods(Storage, {
    "nbytes __len__": lambda self: self.array.nbytes,
    "data_ptr": lambda self: self.array.__array_interface__["data"][0],
})  # fmt: skip
methods(Size, {
    "__repr__": lambda self: f"torch.Size({list(self)})",
    "__getitem__": lambda self, key: (Size if isinstance(key, slice) else int)(tuple.__getitem__(self, key)),
    "numel": lambda self: math.prod(self),
    "__add__": lambda self, other: Size(tuple(self) + tuple(other)),
})  # fmt: skip
methods(Tensor, {
    "size": lambda self, dim=None: self.shape if dim is None else self.array.shape[axis(dim, self.ndim)],
    "stride": lambda self, dim=None: self.stride()[axis(dim, self.ndim)] if dim is not None else tuple(
        s // self.array.itemsize for s in self.array.strides),
    "dim ndimension": lambda self: self.array.ndim,
    "numel nelement": lambda self: self.array.size,
    "element_size": lambda self: self.dtype.itemsize,
    "is_floating_point": lambda self: self.dtype.is_floating_point,
    "is_complex": lambda self: self.dtype.is_complex,
    "is_contiguous": lambda self, memory_format=None: self.array.flags.c_contiguous,
    "storage_offset": lambda self: (self.data_ptr() - self.storage().data_ptr()) // self.array.itemsize,
    "data_ptr": lambda self: Storage(self.array).data_ptr(),
    "untyped_storage storage": lambda self: Storage(root(self.array)),
    "item": lambda self:
        single(self, RuntimeError, f"a Tensor with {self.array.size} elements cannot be converted to Scalar"),
    "tolist": lambda self: self.array.tolist(),
    "detach": lambda self: Tensor(array=self.array, dtype=self.dtype),
    "adjoint": lambda self: self.mT,
    "numpy": lambda self, *, force=False: self.array if force or not self.requires_grad else stop(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
    "__len__": lambda self: len(self.array) if self.ndim else stop("len() of a 0-d tensor", TypeError),
    "__iter__": lambda self: iter([self[i] for i in range(len(self))]) if self.ndim else stop(
        "iteration over a 0-d tensor", TypeError),
    "__bool__": lambda self: bool(single(self, RuntimeError, "Boolean value of Tensor with "
        f"{'more than one value' if self.array.size else 'no values'} is ambiguous")),
    "__float__": lambda self: float(single(self)),
    "__int__": lambda self: int(single(self)),
    "__index__": lambda self: self.array.item() if self.array.size == 1 and self.dtype.category < 2 else stop(
        "only integer tensors of a single element can be converted to an index", TypeError),
    "__format__": lambda self, spec:
        object.__format__(self, spec) if self.ndim or type(self) is not Tensor else format(self.item(), spec),
    "__array__": lambda self, dtype=None, copy=None:
        self.numpy() if dtype is None else self.numpy().astype(dtype),
    "__array_wrap__": lambda self, array, context=None, return_scalar=False:
        Tensor(array=array.astype(np.uint8) if array.dtype == bool else array),
    "__contains__": lambda self, value: bool((self.array == plain(value)).any()),
    "__hash__": lambda self: id(self),
})  # fmt: skip


def plain(value):
    """Un número, una lista o un tensor, sin tensores dentro."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def root(array):
    """El array dueño de la memoria."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def made(array, *edges, dtype=None):
    """Un tensor recién contado, que viene de otros: ``(tensor, cómo le llega el gradiente)``."""
    array = np.asarray(array)
    if dtype is not None:
        array = types.stored(array, dtype)
    elif array.dtype.kind in "iu":  # los puestos de NumPy, que en el navegador son de 32 bits
        array = array.astype(np.int64, copy=False)
    kept = tuple(edge for edge in edges if edge[0].requires_grad) if grad_on[0] else ()
    one = Tensor(array=array, dtype=dtype)
    return one if not kept or one.dtype.category < 2 else Tensor(array=array, dtype=dtype, edges=kept)


def tensor_of(value, like=None):
    """Un tensor con ese valor; un número suelto, como en torch, sin ejes."""
    if isinstance(value, Tensor):
        return value
    kind = types.of_scalar(value)
    stored = np.float64 if kind.is_floating_point else kind.stored  # como en Python, hasta que se junta
    return Tensor(array=np.asarray(value, stored), dtype=kind)


def axis(dim, ndim):
    """Un eje, contado desde el principio."""
    if isinstance(dim, Tensor):
        dim = dim.__index__()
    most = max(ndim, 1)
    if not isinstance(dim, int | np.integer) or isinstance(dim, bool):
        raise TypeError(f"dim(): argument 'dim' must be int, not {type(dim).__name__}")
    if not -most <= dim < most:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got {dim})")
    return dim % most


def axes(dim, ndim):
    """Unos ejes, contados desde el principio; sin decir ninguno, todos."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found = tuple(axis(one, ndim) for one in (dim if isinstance(dim, tuple | list) else (dim,)))
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {found[-1]} appears multiple times in the list of dims")
    return found if ndim else ()


def summed(gradient, shape):
    """Un gradiente, sumado por los ejes que se habían difundido."""
    if gradient.shape == tuple(shape):
        return gradient
    extra = gradient.ndim - len(shape)
    gradient = gradient.sum(tuple(range(extra))) if extra else gradient
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    return gradient.sum(stretched, keepdims=True) if stretched else gradient


def broadcast(*shapes):
    """La forma a la que se difunden otras."""
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return shapes[0]
    found = []
    for shape in shapes:
        n = max(len(found), len(shape))
        a, b = ((1,) * (n - len(one)) + tuple(one) for one in (found, shape))
        for i in reversed(range(n)):
            if a[i] != b[i] and 1 not in (a[i], b[i]):
                raise RuntimeError(fault("broadcast", a[i], b[i], i))
        found = [y if x == 1 else x for x, y in zip(a, b)]
    return Size(found)


def both(*names, method=True, function=True):
    """Apunta una operación: como función de torch, como método, con uno o más nombres."""

    def keep(operation):
        own = operation.__code__.co_varnames if operation.__name__ not in ("norm", "split", "unique") else ()
        called = heard(operation, {n: real for n, real in NUMPY.items() if real in own and n not in own})
        for name in names or (operation.__name__,):
            if function:
                FUNCTIONS[name] = called
            if method:
                setattr(Tensor, name, called)
        return called

    return keep


def listed(table, **how):
    """Apunta las operaciones de una tabla: nombre, o nombres → la cuenta."""
    for names, operation in table.items():
        name, *others = names.split()
        both(name, *others, **how)(named(operation, name))


def moved(x, change, name=""):
    """Lo que solo mueve números: ``change`` vale para el array y, con sus puestos, para el gradiente."""
    array = change(x.array)
    if x.requires_grad and grad_on[0]:
        places = change(np.arange(x.array.size).reshape(x.shape)).ravel()

        def back(gradient):
            return np.bincount(places, gradient.ravel(), x.array.size).reshape(x.shape).astype(gradient.dtype)

        found = made(array, (x, back), dtype=x.dtype)
    else:
        found = Tensor(array=np.asarray(array), dtype=x.dtype)
    if found.array.size and np.may_share_memory(found.array, x.array):
        found.base = x, change
    return found


def changed(x, array, *edges):
    """Escribe en un tensor: lo ven también quienes comparten sus números."""
    if x.requires_grad and grad_on[0] and not x.edges and edges is not None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    fits = np.shape(array)
    if fits != x.array.shape and broadcast(x.shape, fits) != x.shape:
        raise RuntimeError(fault("inplace-shape", list(x.shape), list(broadcast(x.shape, fits))))
    if not x.array.flags.writeable:
        raise RuntimeError(fault("overlap-self"))
    kept = tuple((before(x) if one is x else one, back) for one, back in edges or () if one.requires_grad)
    x.array[...] = types.stored(np.asarray(array), x.dtype)
    if kept and grad_on[0] and x.dtype.category > 1:
        lineage(x, kept)
    return x


def apart(target, source):
    """No se lee de donde se está escribiendo, salvo que sea lo mismo, sitio a sitio."""
    if not np.may_share_memory(target, source):
        return
    where = [(x.__array_interface__["data"][0], x.shape, x.strides) for x in (target, source)]
    if where[0] == where[1]:
        return
    if all(x.size == 1 or dense(x) for x in (target, source)):
        raise RuntimeError(fault("overlap"))
    if np.shares_memory(target, source):  # en torch depende de en qué orden lo haga
        refuse("leer y escribir en el mismo sitio")


def dense(x):
    """Si sus números ocupan un trozo seguido de memoria."""
    steps = sorted((step, n) for step, n in zip(x.strides, x.shape) if n > 1)
    return all(step == x.itemsize * math.prod(n for _, n in steps[:i]) for i, (step, n) in enumerate(steps))


def in_place(name, operation):
    """Apunta la misma, que escribe en el tensor. La cuenta es con el de antes: de él viene el gradiente."""

    def write(self, *arguments, **options):
        for x in arguments:
            if isinstance(x, Tensor):
                apart(self.array, x.array)
        old = before(self)
        old.array = old.array.copy() if self.requires_grad and grad_on[0] else old.array
        found = operation(old, *arguments, **options)
        if types.promote(found.dtype, self.dtype) is not self.dtype and found.dtype.category > self.dtype.category:
            raise RuntimeError(fault("inplace-dtype", found.dtype.said, self.dtype.said))
        return changed(self, found.array, *found.edges)

    both(f"{name}_", function=False)(named(write, f"{name}_"))


def before(x):
    """Un tensor, como era antes de escribir en él: para el gradiente."""
    old = Tensor(array=x.array, dtype=x.dtype, edges=x.edges)
    old.requires_grad, old.order = x.requires_grad, x.order
    return old


def untouched(places):
    """Cómo llega el gradiente a lo de antes de escribir en esos puestos: a los demás."""

    def back(gradient):
        gradient = gradient.copy()
        gradient.reshape(-1)[np.ravel(places)] = 0
        return gradient

    return back


def lineage(x, edges):
    x.edges, x.requires_grad, x.order = edges, True, next(versions)
    if x.base:
        owner, change = x.base
        places = change(np.arange(owner.array.size).reshape(owner.shape))
        new = [(x, lambda gradient: gradient.reshape(-1)[places.ravel()].reshape(x.shape))]
        old = [(before(owner), untouched(places))] if owner.requires_grad else []
        lineage(owner, (*old, *new))
