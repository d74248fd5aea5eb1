"""Una imitación de torch sobre NumPy, para la página: los tensores y lo que los ejercicios usan de ellos.

Dice lo que dice torch, también en sus errores. Lo que no imita se para y lo dice (``refuse``): nunca
se da un número que torch no daría.

- ``types``: los tipos, y de cuál sale una cuenta.
- ``core``: el tensor, y el gradiente.
- ``elementwise``, ``shapes``, ``reductions``, ``creation``: las operaciones.
- ``random``: los números al azar, los mismos que en torch.
- ``nn``: los módulos y sus funciones.
- ``overrides``: quien escucha lo que se usa; ``printing``: cómo se escribe un tensor.
"""

import math
import sys
from types import ModuleType

from torch import core, creation, elementwise, printing, random, reductions, shapes, types
from torch.core import FUNCTIONS, Size, Tensor, device
from torch.creation import contiguous_format, preserve_format
from torch.overrides import lacking, named
from torch.random import Generator, default_generator, get_rng_state, manual_seed, set_rng_state
from torch.types import dtype
from torch.types import promote as promote_types

__version__ = "2.13.0"
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
strided = "torch.strided"
set_default_device = get_default_device = device
for one in types.ALL:
    globals()[one.name] = one
float, double, half, long, int, short = float32, float64, float16, int64, int32, int16  # noqa: F821, A001
globals().update(FUNCTIONS)


def typed(kind):
    """``torch.LongTensor`` y las demás: de una lista, o de una forma."""

    def create(*given):
        shape = not given or isinstance(given[0], type(1))
        return FUNCTIONS["empty"](*given, dtype=kind) if shape else FUNCTIONS["tensor"](*given, dtype=kind)

    create.kind = kind
    return create


FloatTensor, DoubleTensor = typed(types.float32), typed(types.float64)
LongTensor, IntTensor, BoolTensor = typed(types.int64), typed(types.int32), typed(types.bool_)
__getattr__ = lacking("torch")


class finfo:
    """Los límites de un tipo con decimales."""

    def __init__(self, kind=None):
        import numpy as np

        kind = kind or types.default[0]
        if not kind.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{kind}'")
        found = np.finfo(kind.stored)
        self.max, self.min, self.eps = found.max.item(), found.min.item(), found.eps.item()
        self.tiny = self.smallest_normal = found.tiny.item()
        self.bits, self.dtype = kind.itemsize * 8, kind.name
        if kind is types.bfloat16:
            self.max, self.min, self.eps = 3.3895313892515355e38, -3.3895313892515355e38, 0.0078125


own = {
    "is_tensor": lambda thing: isinstance(thing, Tensor),
    "get_default_dtype": lambda: types.default[0],
    "set_default_dtype": lambda kind: types.default.__setitem__(0, kind),
    "get_num_threads": lambda: 1,
    "set_num_threads": lambda number: None,
}
globals().update({name: named(function, name) for name, function in own.items()})

# Los otros aparatos, que en la página no hay.
NO = {"is_available": lambda: False, "is_built": lambda: False, "device_count": lambda: 0}
NO |= dict.fromkeys(("manual_seed", "manual_seed_all", "empty_cache", "synchronize"), lambda *_: None)
ASIDE = "cuda", "mps", "xpu", "accelerator", "backends", "backends.mps", "backends.cudnn"
for home, _, last in (f"torch.{name}".rpartition(".") for name in ASIDE):
    place = sys.modules[f"{home}.{last}"] = ModuleType(f"{home}.{last}")
    vars(place).update(NO, __getattr__=lacking(f"{home}.{last}"))
    setattr(sys.modules[home], last, place)

from torch import linalg, nn, optim, testing  # noqa: E402
from torch.nn import functional  # noqa: E402
