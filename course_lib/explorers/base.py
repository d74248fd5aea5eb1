"""Lo que comparten los exploradores en Python."""

import warnings
from pathlib import Path

import anywidget
import traitlets

from course_lib.bert import extract_embeddings, load_bert
from course_lib.bert_files.sentences import TokenizationWarning

HERE = Path(__file__).parent

# Lo que comparten la página y Python, sin eco: uno que llega tarde desharía lo que la mano ha movido.
SHARED = {"sync": True, "echo_update": False}

# Lo que solo comparten algunos: así, el estado de los demás no lo lleva.
ALSO = dict.fromkeys(["attention", "heads", "qkv"], ["frases"]) | {
    "cross": ["frases", "rejilla"],
    "influence": ["rejilla"],
}


def esm(name):
    """Devuelve el módulo de JavaScript de un explorador: lo común y lo suyo."""
    files = ["comun", *ALSO.get(name, []), name]
    return "\n".join((HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)


class Explorer(anywidget.AnyWidget):
    """Un explorador. Su estado son sus traits; `describe` lo cuenta en una frase."""

    _css = HERE / "explorador.css"

    def describe(self):
        """Cuenta el estado en español, siempre igual para el mismo estado."""
        raise NotImplementedError

    def __repr__(self):
        return self.describe()


class AskingExplorer(Explorer):
    """Un explorador al que la página le pide otros números; `_take` hace lo que se pide."""

    request = traitlets.Dict().tag(**SHARED)  # lo que pide la página, con su número de orden
    answered = traitlets.Int(0).tag(**SHARED)  # el número de la última petición resuelta
    error = traitlets.Unicode("").tag(**SHARED)
    _failed = "algo ha fallado"

    def _take(self, asked):
        raise NotImplementedError

    @traitlets.observe("request")
    def _answer(self, change):
        with self.hold_sync():  # llega a la página de una vez
            try:
                self._take(change["new"])
                self.error = ""
            except traitlets.TraitError as error:
                self.error = str(error).removeprefix(f"{type(self).__name__}: ")
            except Exception as error:  # pase lo que pase, la página recibe respuesta
                self.error = f"{self._failed}: {str(error)[:300]}"
            finally:
                self.answered = change["new"].get("serial", 0)


def count_tokens(sentence):
    """Cuántos tokens de BERT tiene una frase; si está rota, un ``ValueError`` sin su sujeto."""
    if sentence.encode("utf-8", "ignore").decode() != sentence:
        raise ValueError(" tiene un carácter roto (medio emoji). Vuelve a escribirla.")
    return len(load_bert().plain_tokenizer([sentence], verbose=False)["input_ids"][0])


def read_with_bert(sentence):
    """Los embeddings de una frase y los avisos; si no sirve, un ``ValueError`` sin su sujeto."""
    try:
        return with_notes(extract_embeddings, sentence, TokenizationWarning)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("extract_embeddings: la frase 0")) from None


def with_notes(function, sentence, category):
    """Lo que da una función con una frase, y los avisos de esa clase, que no salen por pantalla."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(sentence)
    return result, [str(w.message) for w in caught if issubclass(w.category, category)]
