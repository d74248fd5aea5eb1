"""Lo que se sabe del código de quien aprende: si está sin hacer, y a qué funciones de torch llama."""

import dis

from torch.overrides import TorchFunctionMode


def is_stub(function):
    """Dice si en una función no hay más que su docstring y unos puntos suspensivos."""
    if (code := getattr(function, "__code__", None)) is None:
        return False
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "CACHE"}
    names = {instruction.opname for instruction in dis.get_instructions(code)}
    return names <= idle and set(code.co_consts) <= {None, ..., function.__doc__}


class Heard(TorchFunctionMode):
    """Mientras dura, apunta qué funciones de torch se usan, también con cada opción: «function, option»."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_function__(self, function, types, arguments=(), options=None):
        name = getattr(function, "__name__", "")
        self.names |= {
            name,
            *(f"{name}, {key}" for key, on in (options or {}).items() if on is True),
        }
        return function(*arguments, **(options or {}))


def output_of(value, shape):
    """La salida: lo que se devuelve o, si es una pareja, lo primero (o lo que tenga esa forma)."""
    if not isinstance(value, tuple):
        return value
    first, second = (*value, None)[:2]
    if second is not None and first is not None and first.shape != shape == second.shape:
        return second
    return first
