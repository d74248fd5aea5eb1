"""La multicabeza de una capa de BERT, de estación en estación: un token, desde X hasta la salida."""

import torch
import torch.nn.functional as F
import traitlets

from course_lib.attention import scaled_dot_product_attention
from course_lib.explorers import qkv
from course_lib.explorers.base import AskingExplorer, esm, written
from course_lib.explorers.declared import SHARED, TEXT, Declared, Items, Whole, count, last
from course_lib.explorers.typed import check_sentence

LAYER, MAX_TOKENS = 3, 12
STATIONS = ("X", "proyectar", "repartir", "atender", "concat", "mezclar")


def pack(sentence):
    """Prepara una frase para el viaje a la página.

    Returns:
        ``(data, notes)``: los tokens, ``tokens``; cuántas cabezas, ``heads``; para dibujarlos, en 8 bits, ``x``,
        ``(L, d_model)``, y ``q`` y ``outputs``, ``(h, L, d_k)``; y en 16, ``products`` (q · k), ``(h, L, L)``;
        ``lengths``, ``(h, L)``, la norma de lo que da cada token, su value por su trozo de W_O; ``written``,
        ``(h, L)``, la de lo que escribe cada cabeza en cada uno; y ``cosines``, ``(L, h, h)``, entre lo que
        escriben dos. Aparte, los avisos del tokenizador.
    """
    check_sentence("MultiHeadExplorer", sentence, MAX_TOKENS, 200)
    tokens, hidden, notes = qkv.read(sentence)
    Q, K, V = qkv.project(sentence, LAYER)  # (h, L, d_k)
    outputs, _ = scaled_dot_product_attention(Q, K, V)  # (h, L, d_k)
    pieces = qkv.blocks()[LAYER].output_projection.weight.detach().T.double().view(len(V), V.shape[-1], -1)
    given = outputs @ pieces  # (h, L, d_model)
    unit = F.normalize(given, dim=-1)
    drawn = {"x": hidden[LAYER][0].double(), "q": Q, "outputs": outputs}
    counted = {
        "products": Q @ K.mT, "lengths": (V @ pieces).norm(dim=-1), "written": given.norm(dim=-1),
        "cosines": torch.einsum("aqd,bqd->qab", unit, unit),
    }  # fmt: skip
    data = {name: qkv.packed(tensor, bits=8) for name, tensor in drawn.items()}
    data |= {name: qkv.packed(tensor) for name, tensor in counted.items()}
    return {"tokens": tokens, "heads": len(Q)} | data, notes


def compute(data, query, muted=()):
    """Sigue a un token por el bloque, con lo que devuelve ``pack``.

    Returns:
        Diccionario. De cada cabeza y cada token que mira, ``(h, L)``: ``products`` (q · k), ``scores``,
        ``weights`` y ``brought``, cuánto trae de él. De cada cabeza: ``written``, cuánto escribe, y ``turned``,
        el coseno con lo apagado. Y ``total``, lo que mide la suma de las encendidas; ``norm``, el cambio al
        apagar; y ``met``, si son dos y apagarlas juntas cambia menos que apagar cualquiera de las dos.
    """
    names = ("q", "products", "lengths", "written", "cosines")
    Q, products, lengths, sizes, cosines = (qkv.unpack(data[name]) for name in names)
    products, sizes = products[:, query], sizes[:, query]  # (h, L) y (h,)
    dots = cosines[query] * sizes * sizes[:, None]  # (h, h)
    muted = list(muted)
    kept = [head for head in range(len(Q)) if head not in muted]
    scores = products / Q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    total, norm = (dots[some][:, some].sum().clamp(min=0).sqrt().item() for some in (kept, muted))
    turned = dots[:, muted].sum(dim=1) / (sizes * norm) if norm else torch.zeros_like(sizes)
    numbers = {
        "products": products, "scores": scores, "weights": weights, "brought": weights * lengths,
        "written": sizes, "turned": turned,
    }  # fmt: skip
    met = len(muted) == 2 and norm < sizes[muted].min().item()
    return {name: tensor.tolist() for name, tensor in numbers.items()} | {"total": total, "norm": norm, "met": met}


class MultiHeadExplorer(AskingExplorer):
    """Sigue a un token por las doce cabezas de la capa 3 del BERT del curso, en seis estaciones.

    Args:
        sentence: la frase, de hasta 12 tokens.
        query, head: la posición del token que se sigue y la cabeza que se mira de cerca, desde 0.
        station: de 1 (X) a 6 (la salida).
        muted: la lista de las cabezas apagadas.
    """

    _esm = esm("heads")
    data = traitlets.Dict().tag(**SHARED)  # lo que hace `pack`
    notes = traitlets.List().tag(**SHARED)  # los avisos del tokenizador
    sentence = Declared(TEXT, qkv.DEFAULT, check=lambda _self, _name, text: pack(text) and text, key="frase")
    query = Whole(0, last("data.tokens"), 1, key="token")
    head = Whole(0, last("data.heads"), 1, key="cabeza")
    station = Whole(1, len(STATIONS), key="estacion")
    muted = Items(
        Whole(0, last("data.heads")), 0, count("data.heads"), "una lista de cabezas: enteros {}",
        once=True, key="apagadas",
    )  # fmt: skip

    def __init__(self, sentence=qkv.DEFAULT, **state):
        first = {"query": 8} if sentence == qkv.DEFAULT else {}  # «it»
        data, notes = pack(sentence)
        super().__init__(sentence=sentence, data=data, notes=notes, **first | state)

    @traitlets.observe("sentence")
    def _fill(self, _change):
        data, notes = pack(self.sentence)
        with self.hold_sync():  # llega a la página de una vez
            self.data, self.notes, self.error = data, notes, ""
            self.query = min(self.query, len(data["tokens"]) - 1)

    def _take(self, asked):
        self.sentence = asked["sentence"]

    def describe(self):
        data, result = self.data, compute(self.data, self.query, self.muted)
        words, row = data["tokens"], [round(weight, 9) for weight in result["weights"][self.head]]
        best, end = row.index(max(row)), "ninguna apagada"
        if self.muted:
            end = f"apagadas: {', '.join(map(str, self.muted))}; el cambio mide {written(result['norm'])}"
            end += "; cumple el reto" * result["met"]
        return (
            f"Multicabeza de BERT, capa {LAYER}: {len(words)} tokens, h = {data['heads']}; estación "
            f"{self.station} de 6, {STATIONS[self.station - 1]}; con la cabeza {self.head}, "
            f"«{words[self.query]}» mira sobre todo a «{words[best]}» ({row[best]:.2f}); {end}."
        )
