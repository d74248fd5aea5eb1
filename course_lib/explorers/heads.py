"""La multicabeza de una capa de BERT, de estación en estación: un token, desde X hasta la salida."""

import torch
import torch.nn.functional as F
import traitlets

from course_lib.checks import is_whole
from course_lib.explorers import qkv
from course_lib.explorers.base import SHARED, AskingExplorer, Checked, esm, number, written, wrong
from course_lib.explorers.typed import check_sentence, longer_than

LAYER, MAX_TOKENS = 3, 12
STATIONS = ("X", "proyectar", "repartir", "atender", "concat", "mezclar")
too_long = longer_than(MAX_TOKENS, 200)


def pack(sentence):
    """Prepara una frase para el viaje a la página: enteros de 16 bits y su escala.

    Returns:
        ``(data, notes)``: los tokens, ``tokens``; cuántas cabezas, ``heads``; ``x``, ``(L, d_model)``;
        ``q``, ``k`` y ``v``, ``(h, L, d_k)``; ``lengths``, ``(h, L)``, la norma de lo que da cada token,
        su value por su trozo de W_O; ``written``, ``(h, L)``, la de lo que escribe cada cabeza en cada uno;
        ``cosines``, ``(L, h, h)``, entre lo que escriben dos; y los avisos del tokenizador.

    Raises:
        traitlets.TraitError: si la frase no sirve.
    """
    check_sentence("MultiHeadExplorer", sentence, too_long, "the cat sat")
    tokens, hidden, notes = qkv.read(sentence)
    Q, K, V = qkv.project(sentence, LAYER)  # (h, L, d_k)
    output = qkv.block(LAYER).output_projection.weight.detach().T.double()
    values = V @ output.view(len(V), V.shape[-1], -1)  # (h, L, d_model)
    given = torch.softmax(Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1) @ values  # (h, L, d_model)
    unit = F.normalize(given, dim=-1)
    numbers = {
        "x": hidden[LAYER][0], "q": Q, "k": K, "v": V, "lengths": values.norm(dim=-1),
        "written": given.norm(dim=-1), "cosines": torch.einsum("aqd,bqd->qab", unit, unit),
    }  # fmt: skip
    packed = {name: qkv.packed(tensor.double()) for name, tensor in numbers.items()}
    return {"tokens": tokens, "heads": len(Q)} | packed, notes


def compute(data, query, muted=()):
    """Sigue a un token por el bloque.

    Args:
        data: lo que devuelve ``pack``.
        query: la posición del token.
        muted: las cabezas apagadas: su trozo de Concat es 0.

    Returns:
        Diccionario. De cada cabeza y cada token que mira, ``(h, L)``: ``products`` (q · k), ``scores``,
        ``weights`` y ``brought``, cuánto trae de él. De cada cabeza: ``outputs``, ``(h, d_k)``; ``concat``,
        lo mismo, sin lo apagado; ``written``, cuánto escribe; y ``turned``, el coseno con lo apagado.
        Y ``total``, lo que mide la suma de las encendidas; ``norm``, el cambio al apagar; y ``met``, si
        son dos y apagarlas juntas cambia menos que apagar cualquiera de las dos.
    """
    Q, K, V, lengths = (qkv.unpack(data[name]) for name in ("q", "k", "v", "lengths"))
    sizes = qkv.unpack(data["written"])[:, query]  # (h,)
    dots = qkv.unpack(data["cosines"])[query] * sizes * sizes[:, None]  # (h, h)
    muted = list(muted)
    kept = [head for head in range(len(Q)) if head not in muted]
    products = (K @ Q[:, query, :, None])[..., 0]  # (h, L)
    scores = products / Q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    outputs = (weights[:, None] @ V)[:, 0]  # (h, d_k)
    concat = outputs.clone()
    concat[muted] = 0.0
    total, norm = (dots[chosen][:, chosen].sum().clamp(min=0).sqrt().item() for chosen in (kept, muted))
    against = dots[:, muted].sum(dim=1)
    turned = against / (sizes * norm) if norm else torch.zeros(len(Q), dtype=Q.dtype)
    numbers = {
        "products": products, "scores": scores, "weights": weights, "brought": weights * lengths,
        "outputs": outputs, "concat": concat, "written": sizes, "turned": turned,
    }  # fmt: skip
    met = len(muted) == 2 and norm < sizes[muted].min().item()
    return {name: tensor.tolist() for name, tensor in numbers.items()} | {"total": total, "norm": norm, "met": met}


def _some_heads(_explorer, name, value):
    last = qkv.block(LAYER).heads - 1
    numbers = list(value) if isinstance(value, (list, tuple, set)) else [None]
    if not all(is_whole(head) and head <= last for head in numbers):
        raise wrong("MultiHeadExplorer", name, value, f"una lista de cabezas: enteros entre 0 y {last}")
    return sorted(set(map(int, numbers)))


class MultiHeadExplorer(AskingExplorer):
    """Sigue a un token por las doce cabezas de la capa 3 del BERT del curso, en seis estaciones.

    Args:
        sentence: la frase, de hasta 12 tokens.
        query, head: la posición del token que se sigue y la cabeza que se mira de cerca, desde 0.
        station: de 1 (X) a 6 (la salida).
        muted: la lista de las cabezas apagadas.

    Raises:
        traitlets.TraitError: si la frase no sirve, o algo no existe.
    """

    _esm = esm("heads")
    data = traitlets.Dict(read_only=True).tag(**SHARED)  # lo que hace `pack`
    notes = traitlets.List().tag(**SHARED)  # los avisos del tokenizador
    sentence = Checked(qkv.DEFAULT, lambda _self, _name, sentence: sentence if pack(sentence) else "")
    query = number(1, 0, lambda self: len(qkv.read(self.sentence)[0]) - 1)
    head = number(1, 0, lambda _self: qkv.block(LAYER).heads - 1)
    station = number(1, 1, len(STATIONS))
    muted = Checked([], _some_heads)

    def __init__(self, sentence=qkv.DEFAULT, **state):
        first = {"query": 8} if sentence == qkv.DEFAULT else {}  # «it»
        super().__init__(sentence=sentence, **first | {"muted": []} | state)
        self._fill()

    @traitlets.observe("sentence")
    def _fill(self, _change=None):
        data, notes = pack(self.sentence)
        with self.hold_sync():  # llega a la página de una vez
            self.set_trait("data", data)
            self.notes, self.error = notes, ""
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
