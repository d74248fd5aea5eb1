"""Qué puede valer cada rasgo de un explorador, dicho una vez: lo comprueban Python y la página del sitio."""

from copy import deepcopy

import torch
import traitlets

from course_lib.checks import is_whole

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}
NO_YES = [False, True]
ONE_OF = "uno de estos: {}"
TEXT = {"text": 1000}  # letras: las que caben en una dirección


def count(path):
    """Cuántos hay en un sitio del explorador, como ``data.tokens``; con «*», en el que más de todos."""
    return path, 0


def last(path):
    """La última posición de un sitio, desde 0."""
    return path, -1


def measured(explorer, limit):
    """Lo que vale ahora un límite: un número, o lo que dan ``count`` y ``last``."""
    if not isinstance(limit, tuple):
        return limit
    name, *keys = limit[0].split(".")
    found = [getattr(explorer, name)]
    for key in keys:
        found = [x for one in found for x in (one if key == "*" else [one[int(key) if key.isdigit() else key]])]
    return max(one if is_whole(one) else len(one) for one in found) + limit[1]


def kept(rule, explorer, value):
    """Lo que se guarda de un valor, de Python, de NumPy o de torch; ``ValueError`` si no sirve."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None and rule.get("optional"):
        return None
    if "text" in rule:
        good = isinstance(value, str)
    elif "of" in rule:
        good = any(type(one) is type(value) and one == value for one in rule["of"])
    else:
        low, high = (measured(explorer, limit) for limit in rule["between"])
        if "list" in rule:
            good = isinstance(value, (list, tuple, set, range)) and low <= len(value) <= high
            value = [kept(rule["list"], explorer, one) for one in value] if good else value
            value = sorted(set(value)) if good and "once" in rule else value
        elif step := rule.get("step"):
            good = is_whole(value, low) and value <= high and value % step == 0
        else:
            good = (is_whole(value, low) or isinstance(value, float)) and low <= value <= high
            value = float(value) if good else value  # la página manda 10 por 10.0
    if not good:
        raise ValueError
    return value


def checked(explorer, name, value, rule, said):
    """Lo que se guarda; si no sirve, un ``TraitError`` dice ``said``, con los límites donde tiene «{}»."""
    try:
        return kept(rule, explorer, value)
    except ValueError:
        while "list" in rule:
            rule = rule["list"]
        limits = ", ".join(map(repr, rule.get("of", ())))
        if "between" in rule:
            low, high = (f"{measured(explorer, limit):g}".replace("-", "−") for limit in rule["between"])
            limits = f"entre {low} y {high}"
        raise wrong(type(explorer).__name__, name, value, said.format(limits)) from None


class Declared(traitlets.TraitType):
    """Un rasgo que se comparte con la página, comprobado cuando todo lo demás está ya puesto.

    Args:
        rule: qué puede valer (véase ``kept``).
        default: lo que vale si no se dice.
        said: qué tiene que ser (véase ``checked``).
        check: si eso no basta: del explorador, el nombre y lo que llega, lo que se guarda.
        key: cómo se llama en una dirección del sitio, si va en ella.
        page: qué vale en ella, si no es lo mismo; lo lee ``sitio/web/enlaces.js``.
    """

    def __init__(self, rule, default, said="un texto", check=None, key="", page=None):
        super().__init__(default)
        self.rule, self.said, self.check, self.key, self.page = rule, said, check, key, page or rule
        self.tag(**SHARED)

    def default(self, obj=None):
        return deepcopy(self.default_value)  # el de cada explorador es suyo

    def _cross_validate(self, explorer, value):
        if self.check:
            return self.check(explorer, self.name, value)
        return checked(explorer, self.name, value, self.rule, self.said)


class Real(Declared):
    """Un número entre dos; con ``optional``, o ``None``. Un límite puede ser de ``count`` o de ``last``."""

    said, step = "un número {}", {}

    def __init__(self, low, high, default=None, said="", optional=False, **more):
        rule = {"between": [low, high]} | self.step | ({"optional": True} if optional else {})
        super().__init__(rule, low if default is None and not optional else default, said or self.said, **more)


class Whole(Real):
    """Un entero entre dos."""

    said, step = "un entero {}", {"step": 1}


class Choice(Declared):
    """Uno de unos valores."""

    def __init__(self, options, default=None, **more):
        first = options[0] if default is None else default
        super().__init__({"of": options}, first, ONE_OF, **more)


class Items(Declared):
    """De ``least`` a ``most`` cosas como ``item``, en una lista o algo así; con ``once``, sin repetir y en orden."""

    def __init__(self, item, least, most, said="", default=(), once=False, **more):
        rule = {"list": item.rule, "between": [least, most]} | ({"once": True} if once else {})
        super().__init__(rule, list(default), said, **more)


def refusal(explorer, reason):
    """El error de un explorador: lleva aparte ``reason``, que es lo que enseña la página."""
    error = traitlets.TraitError(f"{explorer}: {reason}")
    error.reason = reason
    return error


def wrong(explorer, name, value, wanted):
    """El error de un valor que no sirve."""
    shown = " ".join(repr(value).split())[:80]  # un bloque ocupa varias líneas
    if isinstance(value, torch.Tensor):
        shown = f"tensor {tuple(value.shape)}"
    return refusal(explorer, f"{name} = {shown}, y tiene que ser {wanted}.")
