"""Quien escucha qué funciones se usan, y lo que aquí no está."""

import functools
import re
from pathlib import Path

MODES, REFUSED = [], []
NAMES = Path(__file__).with_name("names.txt").read_text(encoding="utf-8").split()
NAMES = {room: set(rest.split(",")) for room, _, rest in (line.partition(":") for line in NAMES)}
FAULTS = Path(__file__).with_name("faults.txt").read_text(encoding="utf-8").splitlines()
FAULTS = dict(line.split(": ", 1) for line in FAULTS)


def fault(name, *values):
    """Lo que dice torch al parar, con sus números: los textos largos están en ``faults.txt``."""
    return FAULTS[name].format(*values)


def stop(said, kind=RuntimeError):
    """Para, en medio de una cuenta, con lo que dice torch."""
    raise kind(said)


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
        return told(function, arguments, options) if MODES else tried(function, arguments, options)

    return call


def told(function, arguments, options):
    """Lo dice a quien escucha, que es quien la hace. Mientras, no oye nadie."""
    modes, MODES[:] = MODES[:], []
    try:
        return modes[-1].__torch_function__(function, (), arguments, options)
    finally:
        MODES[:] = modes


def named(operation, name, home=""):
    """Una operación hecha dentro de otra, con el nombre con el que se queja."""
    operation.__name__, operation.__qualname__ = name, home + name
    return operation


def all_heard(table):
    """Las funciones de una tabla, que oye quien escuche."""
    return {name: heard(named(function, name)) for name, function in table.items()}


def tried(function, arguments, options):
    try:
        return function(*arguments, **options)
    except TypeError as error:
        name = re.escape(function.__name__)
        if found := re.match(rf"{name}\(\) missing \d+ required positional arguments?: (.*)", str(error)):
            many = re.findall(r"'(\w+)'", found[1])
            said = ", ".join(f'"{one}"' for one in many)
            raise TypeError(fault("missing", function.__name__, len(many), said)) from None
        raise


class NotHere(AttributeError):
    """Es de torch, y la imitación no lo tiene."""


def refuse(name):
    """Para, y lo apunta: lo que se diga después de esto no es de la respuesta."""
    REFUSED.append(name)
    raise NotHere(f"en la página no está «{name}»: abre este ejercicio en JupyterLab.")


def known(room, name, owner):
    """Un nombre que aquí no está: si es de torch, se dice que en la página no; si no, que no existe."""
    if name in NAMES.get(room, ()):
        refuse(f"torch.{'' if room == 'torch' else room + '.'}{name}")
    raise AttributeError(f"{owner} has no attribute '{name}'")


def lacking(place):
    """El ``__getattr__`` de un sitio de torch del que solo está lo que se usa."""
    room = place.removeprefix("torch.")

    def look(name):
        if room not in NAMES and name[0] != "_":
            refuse(f"{place}.{name}")
        known(room, name, f"module '{place}'")

    return look
