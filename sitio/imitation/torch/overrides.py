"""Quien escucha qué funciones se usan, y lo que aquí no está."""

import functools

MODES, REFUSED = [], []


class TorchFunctionMode:
    """Mientras dura, cada función pasa por ``__torch_function__``."""

    def __enter__(self):
        MODES.append(self)
        return self

    def __exit__(self, *error):
        MODES.remove(self)

    def __torch_function__(self, function, types, arguments=(), options=None):
        return function(*arguments, **(options or {}))


def heard(function):
    """Una función que oye quien escuche. Lo que usa por dentro, no."""

    @functools.wraps(function)
    def call(*arguments, **options):
        if not MODES:
            return function(*arguments, **options)
        modes, MODES[:] = MODES[:], []
        try:
            if not modes:
                return function(*arguments, **options)
            return modes[-1].__torch_function__(function, (), arguments, options)
        finally:
            MODES[:] = modes

    return call


class NotHere(AttributeError):
    """Es de torch, y la imitación no lo tiene."""


def refuse(name):
    """Para, y lo apunta: lo que se diga después de esto no es de la respuesta."""
    REFUSED.append(name)
    raise NotHere(f"en la página no está «{name}»: abre este ejercicio en JupyterLab.")
