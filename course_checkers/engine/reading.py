"""Leer lo que devuelve una respuesta: pasarlo a tensores, o decir por qué no se puede.

Un ejercicio elige su lector. ``read`` da ``(valor, None)`` o ``(None, Finding)``; ``main``, de ese
valor, lo que se compara.
"""

import math

import numpy as np
import torch

from course_checkers.engine.comparing import same
from course_checkers.engine.report import Finding, cut
from course_checkers.inside.code import output_of
from course_checkers.inside.model import has_hooks

LARGEST, DEEPEST = 10**7, 20  # los números que se leen de una vez, y las listas dentro de otras

NOTHING = Finding("none", "Tu código devuelve None: ¿le falta el return?")


class Unreadable(Exception):
    """Lo que devuelve quien aprende no se puede leer, y por qué."""


def frozen(value, kept=None, depth=0):
    """Una copia de lo que devuelve quien aprende, hecha solo de datos corrientes.

    Se hace en su hilo y con sus límites: leer un objeto ajeno es ejecutarlo. De lo que no son datos
    queda un objeto vacío, de una clase que se llama igual. En ``kept`` se apuntan los tensores
    devueltos, cada uno con su copia.
    """
    kind = type(value)  # y no lo que él dice: quien quiere, dice que es de otra clase
    if value is None or value is ... or kind in (bool, float, Finding):
        return value
    if issubclass(kind, str):
        return cut(value, 10_000)
    if issubclass(kind, np.ndarray | np.generic) and np.asarray(value).dtype.kind in "biufcU":
        array = np.asarray(value)
        check_size(max(array.nbytes // 4, math.prod(n or 1 for n in array.shape)))
        copy = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        return copy[()] if issubclass(kind, np.generic) else copy
    if issubclass(kind, int):
        check_size(int.bit_length(value), 64)
        return int.__int__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if kind in (torch.Tensor, torch.nn.Parameter):
        copy = plain(value)
        if kept is not None and copy.numel():
            kept.append((value.detach(), copy))
        return copy
    if base := next((base for base in (tuple, list, dict) if issubclass(kind, base)), None):
        check_size(base.__len__(value))
        if depth > DEEPEST:
            raise Unreadable(f"listas dentro de listas, y así más de {DEEPEST} veces")
        items = dict.items(value) if base is dict else base.__iter__(value)
        return base([frozen(item, kept, depth + 1) for item in items])
    return type(kind.__name__, (), {"__repr__": lambda self: f"un «{kind.__name__}»"})()


def untouched(given, now):
    """Si un argumento sigue como se dio, le haya hecho lo que le haya hecho quien lo recibe."""
    if isinstance(given, torch.Tensor):
        return same(given, frozen(now), 0, 0)
    if isinstance(given, tuple | list):
        alike = type(now) is type(given) and len(now) == len(given)
        return alike and all(map(untouched, given, now))
    if isinstance(given, torch.nn.Module):
        return not has_hooks(now) and untouched([*given.parameters()], [*now.parameters()])
    return same(given, now, 0, 0)


def check_size(number, most=LARGEST):
    if number > most:
        raise Unreadable("algo demasiado grande para leerlo, y lo que se pide es mucho menor")


def plain(value):
    """Una copia corriente de un tensor: densa, contigua y sin historia."""
    if value.is_meta:
        raise Unreadable("un tensor «meta», que tiene forma y no tiene números")
    if value.is_nested or value.is_quantized:
        kind = "anidado" if value.is_nested else "cuantizado"
        raise Unreadable(f"un tensor {kind}, y tiene que ser uno corriente")
    check_size(math.prod(n or 1 for n in value.shape))  # sin números no ocupa nada; en listas, sí
    value = value.detach()
    value = value if value.layout == torch.strided else value.to_dense()
    last = value.storage_offset() + sum((n - 1) * s for n, s in zip(value.shape, value.stride()))
    if value.numel() and value.untyped_storage().nbytes() < (last + 1) * value.element_size():
        raise Unreadable("un tensor vaciado: sus números ya no están en la memoria")
    whole = value.resolve_conj().resolve_neg().cpu()
    copy = whole.clone(memory_format=torch.contiguous_format)
    copy.view(-1)[-1:].tolist()  # hay tipos que no se dejan leer
    return copy


class Tensors:
    """Un tensor de float32.

    Args:
        returns: lo que se pide, como se dice en una frase.
        dtype: si se indica, el tipo que tiene que tener (``torch.bool``).
        numpy: si también vale un array de NumPy.
        pair: si vale también una tupla.
    """

    def __init__(self, returns="un tensor", dtype=None, numpy=False, pair=False):
        self.returns, self.dtype, self.numpy, self.pair = returns, dtype, numpy, pair

    def main(self, value, case):
        return value

    def refused(self, what):
        return None, Finding("tipo", f"Tu código devuelve {what} y tiene que devolver {self.returns}.")

    def settle(self, attempt):
        """Los ``Finding`` de cómo está escrita la respuesta entera, vistas todas las pruebas."""
        return []

    def read(self, value, case):
        if value is None:
            return None, NOTHING
        if isinstance(value, tuple) and self.pair:
            if any(isinstance(item, tuple) for item in value):
                return self.refused("una tupla dentro de otra,")
            read = [(None, None) if item is None else self.read(item, case) for item in value]
            problems = [problem for _, problem in read if problem]
            return (None, problems[0]) if problems else (tuple(item for item, _ in read), None)
        kind = type(value).__name__
        if self.numpy and kind in ("ndarray", "float32", "float64", "float", "int", "bool_"):
            value = torch.as_tensor(value)
        if not isinstance(value, torch.Tensor):
            return self.refused("un array de NumPy" if kind == "ndarray" else f"un «{kind}»")
        if problem := self.wrong_dtype(value.dtype):
            return None, Finding("dtype", problem)
        return (value if self.dtype else value.float()), None

    def wrong_dtype(self, dtype):
        """Qué decir si no es el tipo que se pide; si lo es, nada."""
        got = str(dtype)[6:]
        if self.dtype:
            wanted = str(self.dtype)[6:]
            return "" if dtype == self.dtype else f"Tu salida es {got} y tiene que ser {wanted}."
        if dtype.is_complex:
            return f"Tu salida es {got}, de números complejos. Tiene que ser float32."
        if not dtype.is_floating_point:
            return f"Tu salida es {got}: los decimales se pierden. Tiene que ser float32."
        if dtype in (torch.float16, torch.bfloat16):
            return lost_decimals(got)
        if dtype == torch.float64 and not self.numpy:
            return "Entra float32 y tu salida es float64: conserva el tipo de la entrada."
        return ""


def lost_decimals(got):
    return f"Tu salida es {got}, y pierde decimales: tiene que ser float32."


class Pair(Tensors):
    """La salida, o la pareja (salida, pesos).

    Args:
        shape: de los argumentos de una prueba, la forma de la salida.
        numpy: como en ``Tensors``.
    """

    def __init__(self, shape, returns="la salida, o la pareja (salida, pesos)", numpy=False):
        super().__init__(returns, numpy=numpy, pair=True)
        self.shape = shape

    def read(self, value, case):
        if isinstance(value, tuple) and not 1 <= len(value) <= 3:
            return self.refused("un «tuple»")
        return super().read(value, case)

    def main(self, value, case):
        return output_of(value, self.shape(*case.arguments))


class Numbers(Tensors):
    """Un número o una tabla, como sea: un tensor, un array, un ``float``, una lista…

    Args:
        returns: lo que se pide, como se dice en una frase.
        noting: si se indica, lo que hay que recordar de lo devuelto: se lee ``(eso, tensor)``.
    """

    def __init__(self, returns="un número", noting=None):
        super().__init__(returns)
        self.noting = noting

    def main(self, value, case):
        return value[1] if self.noting else value

    def read(self, value, case):
        if value is None:
            return None, NOTHING
        tensor = to_tensor(value)
        if tensor is None:
            return self.refused(f"un «{type(value).__name__}»")
        if (kind := str(getattr(value, "dtype", ""))).endswith("float16"):  # también el de NumPy
            return None, Finding("dtype", lost_decimals(kind.removeprefix("torch.")))
        return (self.noting(value), tensor) if self.noting else tensor, None


class Several(Numbers):
    """Varias partes en orden, cada una como sea: una tupla o una lista.

    Args:
        parts: cómo se llama cada una.
    """

    def __init__(self, parts):
        super().__init__(f"{len(parts)} tensores: ({', '.join(parts)})")
        self.many = len(parts)

    def read(self, value, case):
        if value is None:
            return None, NOTHING
        parts = value if isinstance(value, tuple | list) else (value,)
        read = [super(Several, self).read(part, case) for part in parts]
        problems = [problem for _, problem in read if problem]
        if len(parts) == self.many and all(problem.id == "dtype" for problem in problems):
            whole = tuple(part.clone() for part, _ in read if not problems)
            return (None, problems[0]) if problems else (whole, None)
        return self.refused(f"({', '.join(type(part).__name__ for part in parts)})")


def to_tensor(value):
    """Un tensor float32 a partir de números, arrays, tensores o listas; si no se puede, ``None``."""
    if isinstance(value, list | tuple):
        items = [to_tensor(item) for item in value]
        alike = all(item is not None and item.shape == items[0].shape for item in items)
        return torch.stack(items) if items and alike else None
    if isinstance(value, np.ndarray | np.generic | int | float):
        value = np.asarray(value)
        value = torch.as_tensor(value.copy()) if value.dtype.kind in "biuf" else None
    if not isinstance(value, torch.Tensor) or value.is_complex():
        return None
    return value.detach().float()
