"""La query de un token, la key de cada uno y su producto, en una frase que se escribe."""

import base64
import math

import torch
import traitlets

from course_lib.bert import load_bert
from course_lib.explorers.base import AskingExplorer, esm
from course_lib.explorers.declared import SHARED, TEXT, Declared, Whole, last
from course_lib.explorers.typed import check_sentence, read_with_bert, shortened

DEFAULT = "I gave the dog a bone because it was hungry"
ROOM = 24, 400  # los tokens y las letras que caben


def compute(q, keys):
    """Multiplica la query de un token, ``(d_k,)``, por la key de cada uno, ``(L, d_k)``, número a número.

    Returns:
        Diccionario con ``parts`` ``(L, d_k)``, lo que da cada pareja de números; ``products``, su
        suma, q · k; ``scores``, q · k / √d_k; y ``top``, los tokens, de más puntuación a menos.
    """
    q, keys = (torch.as_tensor(x, dtype=torch.float64) for x in (q, keys))
    parts, products = q * keys, keys @ q
    return {
        "parts": parts.tolist(),
        "products": products.tolist(),
        "scores": (products / math.sqrt(len(q))).tolist(),
        "top": products.sort(descending=True, stable=True).indices.tolist(),
    }


def read(sentence):
    """Los tokens de una frase, lo que entra en cada capa de BERT y los avisos."""
    check_sentence("QKVExplorer", sentence, *ROOM)
    embeddings, notes = read_with_bert(sentence)
    return embeddings.tokens[0], embeddings.hidden_states, notes


def blocks():
    """La multicabeza de cada capa de BERT."""
    return [layer.multi_head_attention for layer in load_bert().encoder.encoder.encoder_layers]


def project(sentence, layer):
    """Q, K y V de todas las cabezas de una capa: tres tensores ``(h, L, d_k)``."""
    inside = blocks()[layer]
    projections = (inside.query_projection, inside.key_projection, inside.value_projection)
    with torch.no_grad():
        X = read(sentence)[1][layer]
        return [inside.split_heads(projection(X))[0].double() for projection in projections]


def packed(tensor, bits=16):
    """Un tensor, en enteros de 16 bits, o de 8, y su escala."""
    scale = tensor.abs().max().item() / (2 ** (bits - 1) - 1)
    whole = (tensor / scale).round().numpy().astype(f"<i{bits // 8}")
    numbers = base64.b64encode(whole.tobytes()).decode()
    return {"shape": list(tensor.shape), "scale": scale, "numbers": numbers}


def pack(sentence, layer):
    """Prepara una frase y una capa para el viaje a la página."""
    tokens, _, notes = read(sentence)
    numbers = map(packed, project(sentence, layer))
    return {"tokens": tokens, "notes": notes, "layer": layer} | dict(zip("qkv", numbers))


def unpack(data):
    """Los números que ``packed`` ha guardado."""
    raw = bytearray(base64.b64decode(data["numbers"]))
    size = len(raw) // math.prod(data["shape"])
    whole = torch.frombuffer(raw, dtype=torch.int16 if size == 2 else torch.int8)
    return whole.double().reshape(data["shape"]) * data["scale"]


class QKVExplorer(AskingExplorer):
    """Q, K y V de la frase que escribas, en cualquier capa y cabeza del BERT del curso.

    Enseña la query de un token, la key y el value de todos, y el producto de la query por cada
    key, número a número.

    Args:
        sentence: la frase, de hasta 24 tokens.
        layer, head, query: la capa, la cabeza y la posición del token que pregunta, desde 0.
    """

    _esm = esm("qkv")
    sentence = Declared(TEXT, DEFAULT, check=lambda _self, _name, text: read(text) and text, key="frase")
    layer = Whole(0, last("layers"), key="capa")
    head = Whole(0, last("data.q.shape.0"), 2, key="cabeza")
    query = Whole(0, last("data.tokens"), 1, key="token")
    data = traitlets.Dict().tag(**SHARED)  # lo que hace `pack`
    layers = traitlets.Int(0).tag(**SHARED)

    def __init__(self, sentence=DEFAULT, **state):
        first = {"query": 6} if sentence == DEFAULT else {}  # «bone»
        told = {"data": pack(sentence, 0), "layers": len(blocks())}
        super().__init__(sentence=sentence, **told | first | state)

    @traitlets.observe("sentence", "layer")
    def _fill(self, _change):
        tokens = read(self.sentence)[0]
        with self.hold_sync():  # llega a la página de una vez
            self.data, self.error = pack(self.sentence, self.layer), ""
            self.query = min(self.query, len(tokens) - 1)

    def _take(self, asked):
        self.sentence, self.layer = asked["sentence"], asked["layer"]

    def describe(self):
        tokens = self.data["tokens"]
        Q, K = (unpack(self.data[name])[self.head] for name in "qk")
        result = compute(Q[self.query], K)
        best = result["top"][0]
        return (
            f"Q, K y V de {shortened(self.sentence)}; capa {self.layer}, cabeza {self.head}; «{tokens[self.query]}» "
            f"(posición {self.query}) puntúa más a «{tokens[best]}» (posición {best}): "
            f"q · k = {result['products'][best]:.0f}, y entre √{len(Q[0])}, "
            f"{result['scores'][best]:.0f}."
        )
