"""Lo que se sabe del código de quien aprende: si está sin hacer, y qué usa de torch y de course_lib."""

import dis
import inspect
import sys

from torch.overrides import TorchFunctionMode

IDLE = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "CACHE"}
RAISES = {"LOAD_GLOBAL", "PUSH_NULL", "PRECALL", "CALL", "RAISE_VARARGS"}


def is_stub(function):
    """Dice si en una función no hay más que su docstring y unos puntos suspensivos, o ``NotImplementedError``."""
    if (code := getattr(function, "__code__", None)) is None:
        return False
    names = {instruction.opname for instruction in dis.get_instructions(code)}
    if "RAISE_VARARGS" in names and code.co_names == ("NotImplementedError",):
        return names <= IDLE | RAISES
    return names <= IDLE and set(code.co_consts) <= {None, ..., function.__doc__}


def admits(function, names):
    """Si se puede llamar a una función con estos argumentos, en este orden."""
    try:
        inspect.signature(function).bind(*names)
    except TypeError:
        return False
    except ValueError:  # algunas funciones escritas en C no dicen qué reciben
        pass
    return True


class Heard(TorchFunctionMode):
    """Mientras dura, apunta qué funciones de torch se usan, también con cada opción: «function, option».

    De course_lib, los métodos, «Class.method». Y «course_lib.function» si una función suya recibe lo
    mismo que la respuesta, ``arguments``, y la respuesta devuelve lo que ella da (``result``).
    """

    def __init__(self, arguments=()):
        super().__init__()
        self.names, self.arguments, self.calls, self.given = set(), arguments, set(), []

    def __enter__(self):
        self.before = sys.getprofile()
        sys.setprofile(self.watch)
        return super().__enter__()

    def __exit__(self, *error):
        sys.setprofile(self.before)
        return super().__exit__(*error)

    def watch(self, frame, event, value):
        if not str(frame.f_globals.get("__name__")).startswith("course_lib."):
            return
        if event == "call":
            got = {id(one) for one in frame.f_locals.values()}
            self.calls |= {frame} if {id(one) for one in self.arguments} <= got else set()
            self.names |= {frame.f_code.co_qualname} if "self" in frame.f_locals else set()
        elif event == "return" and frame in self.calls:
            self.given.append((frame.f_code.co_qualname, pieces(value)))

    def result(self, value):
        """Lo mismo, tras mirar de quién viene."""
        for name, given in self.given:
            if any(one is other for one in pieces(value) for other in given if other is not None):
                self.names.add(f"course_lib.{name}")
        return value

    def __torch_function__(self, function, types, arguments=(), options=None):
        name = getattr(function, "__name__", "")
        self.names |= {name, *(f"{name}, {key}" for key, on in (options or {}).items() if on is True)}
        return function(*arguments, **(options or {}))


def pieces(value):
    return (value, *value) if type(value) is tuple else (value,)


def output_of(value, shape):
    """La salida: lo que se devuelve o, si es una pareja, lo primero (o lo que tenga esa forma)."""
    if not isinstance(value, tuple):
        return value
    first, second = (*value, None)[:2]
    if second is not None and first is not None and first.shape != shape == second.shape:
        return second
    return first
