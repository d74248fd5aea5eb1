"""Lo que comparten los exploradores en Python."""

from pathlib import Path

import anywidget
import torch
import traitlets

from course_lib.checks import is_whole
from course_lib.plots.palette import sheet

HERE = Path(__file__).parent

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}

# Lo que solo comparten algunos: así, el estado de los demás no lo lleva.
ALSO = dict.fromkeys(["cross", "llm", "qkv"], ["sentences"]) | {
    "attention": ["sentences", "arcs"], "heads": ["sentences", "goals"],
    "geometry": ["goals"], "influence": ["heatmap"], "learning": ["goals", "heatmap"],
    "see": ["sentences", "sound"],
}  # fmt: skip


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    files = ["common", *ALSO.get(name, []), name]
    return "\n".join((HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)


def css():
    """La hoja de estilo de todos, con los colores de la paleta."""
    names = "q", "k", "v", "mute", "ring", "round"
    return sheet(HERE / "explorer.css", names, ".exp", "body[data-jp-theme-light='false'] .exp")


class Checked(traitlets.TraitType):
    """Lo que se comparte con la página, comprobado cuando todo lo demás está ya puesto.

    ``check``: del explorador, el nombre y lo que llega, lo que se guarda. Lo que no sirve lo dice en
    español; un ``traitlets.Int`` o una ``traitlets.List`` lo dirían en inglés.
    """

    def __init__(self, default, check):
        super().__init__(default)
        self.check = check
        self.tag(**SHARED)

    def _cross_validate(self, explorer, value):
        return self.check(explorer, self.name, value)


def number(default, low, high, kind="entero", advice="", optional=False):
    """Un número, de Python o de NumPy, entre dos; ``high`` puede ser lo que dé el explorador."""

    def check(explorer, name, value):
        found = value.item() if getattr(value, "shape", None) == () else value
        last = high(explorer) if callable(high) else high
        known = is_whole(found, low) or (kind == "número" and isinstance(found, float))
        if not (known and low <= found <= last) and not (optional and value is None):
            limits = f"{low:g} y {last:g}".replace("-", "−")
            raise wrong(type(explorer).__name__, name, value, f"un {kind} entre {limits}{advice}")
        return float(found) if isinstance(default, float) else found  # la página manda 10 por 10.0

    return Checked(default, check)


def choice(default, options):
    """Una de unas opciones, todas del mismo tipo; pueden ser las que dé el explorador."""

    def check(explorer, name, value):
        valid = options(explorer) if callable(options) else options
        if type(value) is not type(valid[0]) or value not in valid:
            shown = ", ".join(map(repr, valid))
            raise wrong(type(explorer).__name__, name, value, f"uno de estos: {shown}")
        return value

    return Checked(default, check)


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


def written(number, decimals=2):
    """Un número con sus decimales. Antes redondea a nueve: el último bit no decide un empate."""
    return f"{round(number, 9):z.{decimals}f}"


def listed(numbers):
    return ", ".join(map(written, numbers))
