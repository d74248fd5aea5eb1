"""La query de un token, la key de cada uno y su producto, en una frase que se escribe."""

import base64
import math
from functools import lru_cache

import torch
import traitlets

from course_lib.bert import encoder_from_bert, load_bert
from course_lib.explorers.base import SHARED, AskingExplorer, esm, fault, read_with_bert, refusal

DEFAULT = "I gave the dog a bone because it was hungry"
MAX_TOKENS, MAX_LETTERS = 24, 400
STEPS = 32767  # cada número viaja como un entero de 16 bits


def compute(q, keys):
    """Multiplica la query de un token por la key de cada uno, número a número.

    Args:
        q: la query, ``(d_k,)``.
        keys: las keys, ``(L, d_k)``.

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


@lru_cache(maxsize=2)
def _layers(_model_name):
    return encoder_from_bert(load_bert()).encoder.encoder_layers


@lru_cache(maxsize=16)
def _read(sentence, model_name):
    """Devuelve los tokens de una frase, lo que entra en cada capa y los avisos."""
    embeddings, notes = read_with_bert(sentence)
    return embeddings.tokens[0], embeddings.hidden_states, notes


def too_long(name, tokens, letters):
    size, room = f"{tokens} tokens y {letters} caracteres", f"{MAX_TOKENS} y {MAX_LETTERS}"
    told = f"{name} tiene {size}, y aquí caben {room}. Escribe una más corta."
    return told if tokens > MAX_TOKENS or letters > MAX_LETTERS else ""


def read(sentence):
    """Pasa una frase por BERT; si no sirve, lo dice un ``TraitError``."""
    if not isinstance(sentence, str):
        reason = f"sentence = {sentence!r:.60}, y tiene que ser un texto, como «The cat sat»."
        raise refusal("QKVExplorer", reason)
    if reason := fault("la frase", sentence, too_long):
        raise refusal("QKVExplorer", reason)
    return _read(sentence, load_bert().name)


def project(sentence, layer):
    """Q, K y V de todas las cabezas de una capa: tres tensores ``(h, L, d_k)``."""
    block = _layers(load_bert().name)[layer].multi_head_attention
    projections = (block.query_projection, block.key_projection, block.value_projection)
    with torch.no_grad():
        X = read(sentence)[1][layer]
        return [block.split_heads(projection(X))[0].double() for projection in projections]


def pack(sentence, layer):
    """Prepara una frase y una capa para el viaje a la página: enteros de 16 bits y su escala."""
    tokens, _, notes = read(sentence)
    data = {"tokens": tokens, "notes": notes, "layer": layer}
    for name, tensor in zip("qkv", project(sentence, layer)):
        scale = tensor.abs().max().item() / STEPS
        whole = (tensor / scale).round().short().numpy().astype("<i2")
        data[name] = {
            "shape": list(tensor.shape),
            "scale": scale,
            "numbers": base64.b64encode(whole.tobytes()).decode(),
        }
    return data


def unpack(packed):
    """Los números que ``pack`` ha guardado de Q, de K o de V: ``(h, L, d_k)``."""
    whole = torch.frombuffer(bytearray(base64.b64decode(packed["numbers"])), dtype=torch.int16)
    return whole.double().reshape(packed["shape"]) * packed["scale"]


class QKVExplorer(AskingExplorer):
    """Q, K y V de la frase que escribas, en cualquier capa y cabeza del BERT del curso.

    Enseña la query de un token, la key y el value de todos, y el producto de la query por cada
    key, número a número.

    Args:
        sentence: la frase, de hasta 24 tokens.
        layer, head, query: la capa, la cabeza y la posición del token que pregunta, desde 0.

    Raises:
        traitlets.TraitError: si la frase no sirve, o la capa, la cabeza o la query no existen.
    """

    _esm = esm("qkv")
    sentence = traitlets.TraitType(DEFAULT).tag(**SHARED)  # lo que vale lo dicen los validadores
    layer = traitlets.TraitType(0).tag(**SHARED)
    head = traitlets.TraitType(2).tag(**SHARED)
    query = traitlets.TraitType(1).tag(**SHARED)
    data = traitlets.Dict().tag(**SHARED)  # lo que hace `pack`
    layers = traitlets.Int(0).tag(**SHARED)

    def __init__(self, sentence=DEFAULT, **state):
        first = {"query": 6} if sentence == DEFAULT else {}  # «bone»
        super().__init__(sentence=sentence, **first | state)
        self._fill()

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal):
        read(proposal["value"])
        return proposal["value"]

    @traitlets.validate("layer", "head", "query")
    def _check_index(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        config = load_bert().model.config
        limits = {"layer": config.num_hidden_layers, "head": config.num_attention_heads}
        limit = limits[name] if name in limits else len(read(self.sentence)[0])
        return self._whole(name, value, 0, limit - 1)

    @traitlets.observe("sentence", "layer")
    def _fill(self, _change=None):
        tokens = read(self.sentence)[0]
        with self.hold_sync():  # llega a la página de una vez
            self.layers = load_bert().model.config.num_hidden_layers
            self.data, self.error = pack(self.sentence, self.layer), ""
            self.query = min(self.query, len(tokens) - 1)

    def _take(self, asked):
        self.sentence, self.layer = asked["sentence"], asked["layer"]

    def describe(self):
        tokens = self.data["tokens"]
        Q, K = (unpack(self.data[name])[self.head] for name in "qk")
        result = compute(Q[self.query], K)
        best = result["top"][0]
        text = self.sentence if len(self.sentence) <= 60 else f"{self.sentence[:59]}…"
        return (
            f"Q, K y V de «{text}»; capa {self.layer}, cabeza {self.head}; «{tokens[self.query]}» "
            f"(posición {self.query}) puntúa más a «{tokens[best]}» (posición {best}): "
            f"q · k = {result['products'][best]:.0f}, y entre √{len(Q[0])}, "
            f"{result['scores'][best]:.0f}."
        )
