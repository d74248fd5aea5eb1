"""Lo que se comprueba antes de una cuenta: que un entero lo sea y que un tensor lleve decimales.

Torch también puede trazar una cuenta (``torch.compile``, ``torch.export``) o transformarla
(``torch.func``): entonces hay tensores que no se pueden leer, o en los que no se puede escribir.
"""

from contextlib import suppress
from numbers import Integral

import torch
from torch import nn

# En la página, torch es una imitación: ni traza, ni transforma, ni mezcla precisiones.
IMITATED = "compiler" not in vars(torch)
WHOLE = (int, Integral) if IMITATED else (int, Integral, torch.SymInt)


def is_whole(value, least=0):
    """Si es un entero (de Python, de NumPy o abierto, al trazar) desde ``least``; un booleano, no."""
    kinds = (*WHOLE, torch.Tensor) if is_tracing() else WHOLE
    return isinstance(value, kinds) and not isinstance(value, bool) and bool(value >= least)


def check_whole(where, least=1, **named):
    """Da el último, como ``int``; ``ValueError`` si alguno no es un entero de ``least`` en adelante."""
    for name, value in named.items():
        if not is_whole(value, least):
            wanted = f"y tiene que ser un entero de {least} en adelante."
            raise ValueError(f"{where}: {name} = {value!r} {wanted}")
    return int(value)


def is_tracing():
    """Si torch traza la cuenta, en lugar de hacerla."""
    return not IMITATED and (torch.compiler.is_compiling() or torch.jit.is_tracing())


def is_transformed():
    """Si ``torch.func``, o una derivada hacia delante, va con la cuenta: en sus tensores no se escribe."""
    if IMITATED:
        return False
    return torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0


def holds(condition):
    """Lo que dice un tensor de un booleano; ``True`` si no se puede leer (``vmap``, «meta», al trazar)."""
    try:
        return is_tracing() or bool(condition)
    except RuntimeError:
        return True


def is_autocast(x):
    """Si ``torch.autocast`` iguala los tipos de las cuentas con ``x``."""
    return not (IMITATED or x.is_meta or x.dtype == torch.float64) and torch.is_autocast_enabled(x.device.type)


def check_decimals(where, *widths, **named):
    """Comprueba que son tensores con decimales; de los pesos de ``where``, si es un módulo.

    También que su último eje mide ``widths``, uno por tensor o el mismo para todos.

    Raises:
        TypeError: si alguno no lleva decimales; el mensaje dice cómo se convierte.
        ValueError: si los pesos son de otro tipo o de otra anchura.
    """
    module = isinstance(where, nn.Module)
    who, dtype = (type(where).__name__, _dtype(where)) if module else (where, None)
    for (name, x), width in zip(named.items(), widths * len(named) or (None,) * len(named)):
        if not (isinstance(x, torch.Tensor) and x.is_floating_point()):
            tensor, text = as_tensor(name, x)
            end = ".real" if tensor is not None and tensor.is_complex() else ".float()"
            advice = f"Usa {text}{end}." if text else "¿Es lo que querías pasar?"
            wanted = "y tiene que ser un tensor de números con decimales"
            raise TypeError(f"{who}: {name} es {kind_of(x)} {wanted}. {advice}")
        if dtype not in (None, x.dtype) and not is_autocast(x):
            advice = f"Usa {name}.to({dtype})."
            raise ValueError(f"{who}: {name} es {x.dtype} y los pesos son {dtype}. {advice}")
        if width is not None and x.shape[-1:] != (width,):
            shape = f"tiene forma {tuple(x.shape)} y su último eje tiene que medir {width}"
            raise ValueError(f"{who}: {name} {shape}. ¿Es el embedding del modelo que toca?")


def _dtype(module):
    """El tipo de su primer parámetro. ``module.parameters()`` tarda más que alguna cuenta."""
    for own in module._parameters.values():
        return own.dtype if own is not None and own.is_floating_point() else None
    return next(filter(None, map(_dtype, module._modules.values())), None)


def kind_of(x):
    """Qué es lo recibido, para un error: el tipo de un tensor o la clase de otra cosa."""
    return str(x.dtype) if isinstance(x, torch.Tensor) else type(x).__name__


def as_tensor(name, x):
    """El tensor que dice lo mismo que x, y cómo se escribe; ``(None, None)`` si no lo hay."""
    if isinstance(x, torch.Tensor):
        return x, name
    for way, text in ((torch.as_tensor, name), (torch.stack, name), (torch.tensor, f"{name}.tolist()")):
        with suppress(TypeError, ValueError, RuntimeError, AttributeError):
            return way(x.tolist() if way is torch.tensor else x), f"torch.{way.__name__}({text})"
    return None, None
