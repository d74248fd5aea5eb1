"""Quien escucha qué funciones se usan, y lo que aquí no está."""

import functools
import re

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


def heard(function, names={}):  # noqa: B006
    """Una función que oye quien escuche. Lo que usa por dentro, no. ``names``: otros que tienen sus argumentos."""

    @functools.wraps(function)
    def call(*arguments, **options):
        if options and names:
            if "axis" in options and "out" in options:
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'axis'")
            options = {names.get(name, name): value for name, value in options.items()}
        if not MODES:
            return tried(function, arguments, options)
        modes, MODES[:] = MODES[:], []
        try:
            return modes[-1].__torch_function__(function, (), arguments, options)
        finally:
            MODES[:] = modes

    return call


def tried(function, arguments, options):
    try:
        return function(*arguments, **options)
    except TypeError as error:
        name = re.escape(function.__name__)
        if found := re.match(rf"{name}\(\) missing \d+ required positional arguments?: (.*)", str(error)):
            many = re.findall(r"'(\w+)'", found[1])
            said = ", ".join(f'"{one}"' for one in many)
            raise TypeError(
                f"{function.__name__}() missing {len(many)} required positional arguments: {said}"
            ) from None
        raise


class NotHere(AttributeError):
    """Es de torch, y la imitación no lo tiene."""


def refuse(name):
    """Para, y lo apunta: lo que se diga después de esto no es de la respuesta."""
    REFUSED.append(name)
    raise NotHere(f"en la página no está «{name}»: abre este ejercicio en JupyterLab.")


def lacking(room):
    """El ``__getattr__`` de un sitio de torch del que solo está lo que se usa."""

    def look(name):
        if name[0] == "_":
            raise AttributeError(name)
        refuse(f"{room}.{name}")

    return look
