"""Lo que comparten los exploradores en Python."""

import warnings
from pathlib import Path

import anywidget
import traitlets

from course_lib.bert import extract_embeddings, load_bert
from course_lib.checks import is_whole
from course_lib.model_files import sentences

HERE = Path(__file__).parent

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}

# Lo que solo comparten algunos: así, el estado de los demás no lo lleva.
ALSO = dict.fromkeys(["cross", "heads", "llm", "qkv"], ["sentences"]) | {
    "attention": ["sentences", "arcs"],
}


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    files = ["common", *ALSO.get(name, []), name]
    return "\n".join((HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)


class Explorer(anywidget.AnyWidget):
    """Un explorador. Su estado son sus traits; `describe` lo cuenta en una frase."""

    _css = HERE / "explorer.css"

    def __init__(self, **traits):
        if unknown := [name for name in traits if not self.has_trait(name)]:
            raise refusal(type(self).__name__, f"no tiene {', '.join(unknown)}. Mira sus argumentos.")
        super().__init__(**traits)

    def describe(self):
        """Cuenta el estado en español, siempre igual para el mismo estado."""

    def __repr__(self):
        return self.describe()

    def _whole(self, name, value, low, high):
        """Ese número, si es un entero, de Python o de NumPy, entre esos dos."""
        if not is_whole(value, low) or value > high:
            wanted = f"y tiene que ser un entero entre {low} y {high}."
            raise refusal(type(self).__name__, f"{name} = {value!r:.40}, {wanted}")
        return int(value)


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


def fault(name, sentence, refuse):
    """Por qué no sirve una frase, como lo dice ``model_files.sentences``; si sirve, nada.

    ``refuse`` recibe su nombre y cuántos tokens y letras tiene, y dice lo mismo si no caben.
    """
    if reason := sentences.why_broken(name, sentence):
        return reason
    tokenizer = load_bert().plain_tokenizer
    ids = tokenizer([sentence], verbose=False)["input_ids"][0]
    return (
        refuse(name, len(ids), len(sentence))
        or sentences.why_blank(name, sentence)
        or sentences.why_invisible(name, sentence, ids, tokenizer)
    )


def read_with_bert(sentence):
    """Los embeddings de una frase que sirve, y los avisos."""
    embeddings, warned = with_warnings(extract_embeddings, sentence, sentences.TokenizationWarning)
    return embeddings, [str(warning) for warning in warned]


def with_warnings(function, sentence, category):
    """Lo que da una función con una frase, y los avisos de esa clase, que no salen por pantalla."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(sentence)
    return result, [w.message for w in caught if issubclass(w.category, category)]
