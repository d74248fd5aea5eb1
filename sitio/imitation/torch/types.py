"""Los tipos de los números, y de qué tipo sale una cuenta entre varios."""

import numpy as np
from torch.overrides import fault


class dtype:
    """Un tipo de torch y el de NumPy en que se guarda. bfloat16, que NumPy no tiene, va en float32."""

    def __init__(self, name, stored, rank, said):
        self.name, self.stored, self.rank, self.said = name, np.dtype(stored), rank, said
        kind = self.stored.kind
        self.is_floating_point, self.is_complex = kind == "f", kind == "c"
        self.is_signed = kind != "b" and name != "uint8"
        self.itemsize = 2 if name == "bfloat16" else self.stored.itemsize
        self.category = "biufc".replace("u", "").index(kind.replace("u", "i"))

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name


bool_ = dtype("bool", "?", 0, "Bool")
uint8 = dtype("uint8", "u1", 1, "Byte")
int8 = dtype("int8", "i1", 1, "Char")
int16 = dtype("int16", "i2", 2, "Short")
int32 = dtype("int32", "i4", 3, "Int")
int64 = dtype("int64", "i8", 4, "Long")
float16 = dtype("float16", "f2", 5, "Half")
bfloat16 = dtype("bfloat16", "f4", 5, "BFloat16")
float32 = dtype("float32", "f4", 6, "Float")
float64 = dtype("float64", "f8", 7, "Double")
complex64 = dtype("complex64", "c8", 8, "ComplexFloat")
complex128 = dtype("complex128", "c16", 9, "ComplexDouble")
ALL = bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128
OF_STORED = {one.stored: one for one in ALL if one is not bfloat16}
SPOKEN = {float16: "c10::Half", bfloat16: "c10::BFloat16", int64: "long", int32: "int", int16: "short"}
SPOKEN |= {float32: "float", float64: "double", bool_: "bool", uint8: "unsigned char", int8: "signed char"}
default = [float32]


def of_array(array):
    """El tipo de torch de un array. Los que torch no tiene se dicen."""
    found = OF_STORED.get(array.dtype.newbyteorder("="))
    if found is None:
        raise TypeError(fault("from_numpy", array.dtype.type))
    return found


def of_scalar(value):
    kinds = {bool | np.bool_: bool_, int | np.integer: int64, complex: complex64}
    return next((kind for known, kind in kinds.items() if isinstance(value, known)), default[0])


def promote(a, b):
    if a is b or b is None:
        return a
    if a is None:
        return b
    if a.rank == b.rank:  # uint8 con int8, float16 con bfloat16
        return int16 if a.rank == 1 else float32
    return a if a.rank > b.rank else b


def together(higher, lower):
    """Un tensor con ejes manda sobre un número suelto, salvo que este sea de otra clase superior."""
    if higher is None or lower is None:
        return higher or lower
    more = lower.is_floating_point or lower.is_complex or higher is bool_
    return promote(higher, lower) if more and lower.category > higher.category else higher


def result(items):
    """El tipo de una cuenta con estos tensores y números."""
    levels = [None, None, None]
    for item in items:
        if hasattr(item, "array"):
            level, found = (0 if item.array.ndim else 1), item.dtype
        else:
            level, found = 2, of_scalar(item)
        levels[level] = promote(levels[level], found)
    return together(together(levels[0], levels[1]), levels[2])


def rounded(array):
    """Los números de un array, con los siete bits de bfloat16 (al más cercano, y si empatan, al par)."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    near = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(array), np.float32(np.nan), near).astype(np.float32)


def stored(array, kind):
    """Un array, como se guarda en un tensor de ese tipo."""
    if kind.category < 2 and array.dtype.kind == "f":
        return array.astype(kind.stored) if kind is not bool_ else array != 0
    array = array.astype(kind.stored, copy=False)
    return rounded(array) if kind is bfloat16 else array
