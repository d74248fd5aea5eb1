"""Comparar lo que da una respuesta con lo que tenía que dar, y contarlo con números."""

import copy

import numpy as np
import torch

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # float32: lo que dos formas buenas de contar pueden separarse
SHOWN = 100  # los números de un tensor que caben en una frase


def calmly(look, otherwise):
    """Lo que da ``look`` o, si con una respuesta muy rara no se puede mirar, ``otherwise``."""
    try:
        return look()
    except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):
        return otherwise


def clone(value):
    """Una copia de unos argumentos, con la que se puede hacer lo que sea."""
    if isinstance(value, torch.Tensor):
        if value.is_contiguous() or 0 in value.stride():
            return value.clone()
        held = value.untyped_storage().nbytes() // value.element_size()
        whole = value.as_strided((held,), (1,), 0).clone()  # con los mismos huecos
        return whole.as_strided(value.shape, value.stride(), value.storage_offset())
    if isinstance(value, tuple | list):
        return type(value)(clone(item) for item in value)
    if isinstance(value, dict):
        return {key: clone(item) for key, item in value.items()}
    return copy.deepcopy(value) if isinstance(value, torch.nn.Module) else value


def same(first, second, relative=RELATIVE, absolute=ABSOLUTE):
    """Si dos resultados son iguales: forma y números, con NaN igual a NaN."""
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(
            same(a, b, relative, absolute) for a, b in zip(first, second)
        )
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same(first[key], second[key], relative, absolute) for key in first
        )
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        if first.shape != second.shape:
            return False
        if first.numel():  # un solo número descarta casi todo, y es mucho más rápido
            a, b = float(first.reshape(-1)[-1]), float(second.reshape(-1)[-1])
            if abs(a - b) > absolute + relative * abs(b):
                return False
        return torch.allclose(first.double(), second.double(), relative, absolute, equal_nan=True)
    return type(first) is type(second) and first == second


def close(outputs, value, slack=None):
    """Número a número, si son iguales. ``slack``: lo que además se le perdona a cada uno."""
    alike = torch.isclose(outputs, value, RELATIVE, ABSOLUTE, equal_nan=True)
    return alike if slack is None else alike | ((outputs - value).abs() <= slack)


def flat(value):
    """Todos los números de un resultado, en una fila."""
    if isinstance(value, tuple | list):
        return torch.cat([flat(item) for item in value]) if value else torch.zeros(0).double()
    return torch.as_tensor(value).double().flatten()


def has_nan(value):
    """Si en un resultado, o en una de sus partes, hay algún NaN."""
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(x, torch.Tensor) and x.isnan().any() for x in parts)


def shape_of(value):
    """La forma de un resultado: dos con formas distintas no se comparan."""
    if isinstance(value, tuple | list):
        return tuple(shape_of(item) for item in value)
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value)


def difference(look, name="tu salida", expected="tenía que medir", wanted="tenía que valer", more=""):
    """Dónde se aparta más la salida de la buena, en una frase; ``more``, su final."""
    yours, right = look.yours, look.right
    if isinstance(right, tuple):
        name, yours, right = first_part(yours, right)
        part = look._replace(yours=yours, right=right)
        return difference(part, name, expected, wanted, more) if name else ""
    if not isinstance(yours, torch.Tensor):
        return ""
    if yours.shape != right.shape:
        mine, good = tuple(yours.shape), tuple(right.shape)
        return f"Con {look.case.name}, {name} mide {mine} y {expected} {good}{more}."
    return f"Con {look.case.name}, {name}{farthest(yours, right, wanted)}{more}."


def farthest(yours, right, wanted):
    """Dónde se apartan más dos tensores de la misma forma, y cuánto vale allí cada uno."""
    gap = (yours.double() - right.double()).abs().nan_to_num(torch.inf, torch.inf)
    position = np.unravel_index(int(gap.argmax()), gap.shape)
    index = ", ".join(str(int(i)) for i in position)
    where = f" en la posición [{index}]" if index else ""
    mine, good = show_both(yours[position], right[position])
    return f"{where} vale {mine} y {wanted} {good}"


def first_part(yours, right):
    """De dos resultados con varias partes, la primera que no es igual: su nombre y las dos."""
    names = [f"tu «{name}»" for name in getattr(right, "_fields", ())] or ["tu salida"] * len(right)
    different = (part for part in zip(names, yours, right) if not same(*part[1:]))
    return next(different, ("", None, None))


def contrast(yours, right):
    """Un contraejemplo pequeño, en una frase."""
    name = "tu salida"
    if hasattr(right, "_fields") and len(yours) == len(right):
        name, yours, right = first_part(yours, right)
    if isinstance(right, torch.Tensor) and right.numel() > SHOWN and right.shape == yours.shape:
        return f"{name}{farthest(yours, right, 'tenía que valer')}"
    yours, right = show_both(yours, right)
    return f"{name} es {yours} y tenía que ser {right}"


def show_both(first, second):
    """Dos números, con las cifras que hagan falta para que se vea si son distintos."""
    texts = [(show(first, digits), show(second, digits)) for digits in (3, 5, 9)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


def show(value, digits=3):
    """Un tensor pequeño o un número, como se escribe en una frase."""
    if isinstance(value, torch.Tensor) and value.numel() > SHOWN:
        return f"un tensor de forma {tuple(value.shape)}"
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(show(item, digits) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 and digits == 3 else f"{value:.{digits}g}"
    return str(value)
