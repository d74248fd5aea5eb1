"""Lo que comparten los exploradores en Python."""

from pathlib import Path

import anywidget

HERE = Path(__file__).parent

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    return "\n".join(
        (HERE / file).read_text(encoding="utf-8") for file in ("comun.js", f"{name}.js")
    )


class Explorer(anywidget.AnyWidget):
    """Un explorador. Su estado son sus traits; `describe` lo cuenta en una frase."""

    _css = HERE / "explorador.css"

    def describe(self):
        """Cuenta el estado en español, siempre igual para el mismo estado."""
        raise NotImplementedError

    def __repr__(self):
        return self.describe()
