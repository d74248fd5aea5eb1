"""Lo que comparten los exploradores en Python."""

from pathlib import Path

import anywidget

HERE = Path(__file__).parent

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}

# Lo que solo comparten algunos: así, el estado de los demás no lo lleva.
ALSO = {"attention": "frases", "qkv": "frases", "cross": "rejilla", "influence": "rejilla"}


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    files = dict.fromkeys(["comun", ALSO.get(name, "comun"), name])
    return "\n".join((HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)


class Explorer(anywidget.AnyWidget):
    """Un explorador. Su estado son sus traits; `describe` lo cuenta en una frase."""

    _css = HERE / "explorador.css"

    def describe(self):
        """Cuenta el estado en español, siempre igual para el mismo estado."""
        raise NotImplementedError

    def __repr__(self):
        return self.describe()
