"""Los pesos de atención de un BERT de verdad, en la frase que quieras o en dos."""

import base64

import torch
import traitlets

from course_lib.explorers.base import AskingExplorer, esm
from course_lib.explorers.declared import SHARED, TEXT, Choice, Declared, Whole, last, wrong
from course_lib.explorers.typed import fault, read_with_bert, shortened

DEFAULT = [f"I gave the dog a bone because it was {word}" for word in ("hungry", "old")]
ROOM = 64, 1000  # los tokens y las letras que caben
STEPS = 65535  # cada peso viaja como un entero de 16 bits: el error no llega a 0.00001
ORDINALS = ("primera", "segunda")


def compute(weights, query, other=None):
    """Lee la fila ``query`` de los pesos de una cabeza y, si la hay, de los de otra frase.

    Returns:
        Diccionario con ``row`` (la fila), ``top`` (las keys, de más peso a menos; si empatan,
        antes la primera) y ``difference``: la fila de ``other`` menos esta, o ``None`` si no
        hay otra o no tienen los mismos tokens.
    """
    weights = torch.as_tensor(weights, dtype=torch.float64)
    row, difference = weights[query], None
    if other is not None and len(other) == len(weights):
        difference = (torch.as_tensor(other, dtype=torch.float64)[query] - row).tolist()
    top = row.sort(descending=True, stable=True).indices.tolist()
    return {"row": row.tolist(), "top": top, "difference": difference}


def _read(sentence):
    """Devuelve los tokens, los pesos (capas, cabezas, L, L) en enteros y los avisos."""
    embeddings, notes = read_with_bert(sentence)
    weights = torch.stack(embeddings.attentions)[:, 0].double()
    return embeddings.tokens[0], (weights * STEPS).round().int(), notes


def read(sentences):
    """Pasa por BERT una o dos frases; si alguna no sirve, lo dice un ``TraitError``."""
    if len(sentences) not in (1, 2) or not all(isinstance(text, str) for text in sentences):
        wanted = 'una lista de una o dos frases. Por ejemplo, ["The cat sat down"]'
        raise wrong("AttentionExplorer", "sentences", sentences, wanted)
    names = [f"La {ordinal} frase" for ordinal in ORDINALS] if len(sentences) > 1 else ["La frase"]
    for name, text in zip(names, sentences):
        if reason := fault(name, text, *ROOM):
            raise traitlets.TraitError(reason)
    return [_read(text) for text in sentences]


def pack(tokens, weights, notes):
    """Prepara una frase para el viaje a la página."""
    code = base64.b64encode(weights.numpy().astype("<u2").tobytes()).decode()
    return {"tokens": tokens, "shape": list(weights.shape), "weights": code, "notes": notes}


def _one_or_two(_explorer, _name, value):
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    return value if read(value) else None


class AttentionExplorer(AskingExplorer):
    """A quién mira cada token, en cualquier capa y cabeza del BERT del curso.

    Args:
        sentences: una frase, o una lista de una o dos, de hasta 64 tokens cada una.
        layer, head, query: la capa, la cabeza y la posición del token que mira, desde 0.
        view: ``"entero"``, con las 72 cabezas y sus matrices; o ``"arcos"``, con la frase en su línea
            y los arcos de una sola cabeza.
        shown: cuál de las dos frases se ve con arcos, desde 0.
    """

    _esm = esm("attention")
    sentences = Declared({"list": TEXT, "between": [1, 2]}, [], check=_one_or_two, key="frase")
    layer = Whole(0, last("data.0.shape.0"), 3, key="capa")
    head = Whole(0, last("data.0.shape.1"), 1, key="cabeza")
    query = Whole(0, last("data.*.tokens"), 1, key="token")
    view = Choice(("entero", "arcos"))
    shown = Whole(0, last("sentences"), key="vista")
    data = traitlets.List().tag(**SHARED)  # lo que `pack` hace de cada frase
    _failed = "No he podido calcular los pesos"

    def __init__(self, sentences=DEFAULT, **traits):
        sentences = list(sentences) if isinstance(sentences, (list, tuple)) else [sentences]
        first = {"query": 8} if sentences == DEFAULT else {}  # «it»
        data = [pack(*reading) for reading in read(sentences)]
        super().__init__(sentences=sentences, data=data, **first | traits)

    @traitlets.observe("sentences")
    def _fill(self, _change):
        readings, query = read(self.sentences), self.query
        before = self.data[0]["tokens"][query : query + 1] if self.data else []
        places = [i for i, token in enumerate(readings[0][0]) if [token] == before]
        if places:  # se sigue al mismo token, esté donde esté
            query = min(places, key=lambda place: abs(place - query))
        with self.hold_sync():  # llega a la página de una vez
            self.data, self.error = [pack(*reading) for reading in readings], ""
            self.query = min(query, max(len(tokens) for tokens, *_ in readings) - 1)
            self.shown = min(self.shown, len(readings) - 1)

    def _take(self, asked):
        first, second = (*asked["sentences"], "")[:2]
        self.sentences = [first, second] if second.strip() else [first]

    def describe(self):
        several = len(self.sentences) > 1
        names = " y ".join(map(shortened, self.sentences))
        parts = [f"Frase{'s' * several}: {names}", f"capa {self.layer}"]
        parts += [f"cabeza {self.head}", f"posición {self.query}"]
        for ordinal, (tokens, weights, _) in zip(ORDINALS, read(self.sentences)):
            text = "no hay token en esa posición"
            if self.query < len(tokens):
                result = compute(weights[self.layer, self.head].double() / STEPS, self.query)
                first, *second = result["top"][:2]  # el segundo, si se ve que no es 0
                seen = [first, *(j for j in second if result["row"][j] >= 0.005)]
                best = [f"«{tokens[j]}» ({result['row'][j]:.2f})" for j in seen]
                text = f"«{tokens[self.query]}» mira a {' y a '.join(best)}"
            parts.append(f"en la {ordinal}, {text}" if several else text)
        return "; ".join(parts) + "."
