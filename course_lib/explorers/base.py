"""Lo que comparten los exploradores en Python."""

from pathlib import Path

import anywidget
import traitlets

from course_lib.explorers import EXPLORERS
from course_lib.explorers.declared import SHARED, refusal
from course_lib.plots.palette import sheet

HERE = Path(__file__).parent

# Lo que solo comparten algunos: así, el estado de los demás no lo lleva.
ALSO = {module: also for module, also, _ in EXPLORERS.values()}


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    files = ["common", *ALSO.get(name, []), name]
    return "\n".join((HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)


def css():
    """La hoja de estilo de todos, con los colores de la paleta."""
    names = "q", "k", "v", "mute", "ring", "round"
    return sheet(HERE / "explorer.css", names, ".exp", "body[data-jp-theme-light='false'] .exp")


class Explorer(anywidget.AnyWidget):
    """Un explorador. Su estado son sus traits; `describe` lo cuenta en una frase.

    Lo que no sirve, al crearlo o después, es un ``traitlets.TraitError`` que dice qué tiene que ser.
    """

    _css = css()

    def __init__(self, **traits):
        if unknown := [name for name in traits if not self.has_trait(name)]:
            raise refusal(type(self).__name__, f"no tiene {', '.join(unknown)}. Mira sus argumentos.")
        super().__init__(**traits)

    def describe(self):
        """Cuenta el estado en español, siempre igual para el mismo estado."""

    def __repr__(self):
        return self.describe()


class AskingExplorer(Explorer):
    """Un explorador al que la página le pide otros números; `_take` hace lo que se pide."""

    request = traitlets.Dict().tag(**SHARED)  # lo que pide la página, con su número de orden
    answered = traitlets.Int(0).tag(**SHARED)  # el número de la última petición resuelta
    error = traitlets.Unicode("").tag(**SHARED)
    _failed = "algo ha fallado"

    @traitlets.observe("request")
    def _answer(self, change):
        with self.hold_sync():  # llega a la página de una vez
            try:
                self._take(change["new"])
                self.error = ""
            except traitlets.TraitError as error:
                self.error = getattr(error, "reason", str(error))
            except Exception as error:  # pase lo que pase, la página recibe respuesta
                self.error = f"{self._failed}: {str(error)[:300]}"
            finally:
                self.answered = change["new"].get("serial", 0)


def written(number, decimals=2):
    """Un número con sus decimales. Antes redondea a nueve: el último bit no decide un empate."""
    return f"{round(number, 9):z.{decimals}f}"


def listed(numbers):
    return ", ".join(map(written, numbers))
