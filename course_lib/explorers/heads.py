"""La multicabeza, de estación en estación: un token, desde X hasta la salida."""

from functools import partial

import torch
import traitlets

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.checks import is_whole
from course_lib.explorers.base import SHARED, AskingExplorer, Checked, esm, number, wrong
from course_lib.explorers.typed import check_sentence, read_with_bert

SENTENCE, HEADS, WIDTH, SEED = "the dog found a bone", 3, 12, 54  # el ejemplo con que se abre
STATIONS = ("X", "proyectar", "repartir", "atender", "concat", "mezclar")
NAMES = [f"{name}_projection" for name in ("query", "key", "value", "output")]
CHANGED = 1e-6  # lo que se mueve menos no ha cambiado
refused = partial(wrong, "MultiHeadExplorer")


def too_long(name, tokens, letters):
    length = tokens - 2  # sin [CLS] ni [SEP]
    told = f"{name} tiene {length} token{'s' * (length > 1)}, y aquí caben de 2 a 8. Escribe otra."
    return told if length and not 2 <= length <= 8 else ""


def read(sentence):
    """Los tokens de una frase, su X, entera y a 2 decimales, y los avisos del tokenizador."""
    check_sentence("MultiHeadExplorer", sentence, too_long, "the cat sat")
    embeddings, notes = read_with_bert(sentence)
    return embeddings.tokens[0][1:-1], embeddings.encoder_input[0, 1:-1].round(decimals=2), notes


def build(heads, matrices, biases=None):
    """Un bloque de la biblioteca con estas matrices, W_Q, W_K, W_V y W_O, para x · W."""
    with torch.random.fork_rng(devices=[]):  # crear capas no gasta los números al azar de nadie
        block = MultiHeadAttention(heads, len(matrices[0]), bias=biases is not None)
    for i, layer in enumerate(getattr(block, name) for name in NAMES):
        layer.weight.data = torch.as_tensor(matrices[i], dtype=torch.float64).T
        if biases is not None:
            layer.bias.data = torch.as_tensor(biases[i], dtype=torch.float64)
    return block.requires_grad_(False)


def pack(tokens, x, attention):
    """Comprueba la frase y el bloque, y los deja en listas de 4 decimales: con eso se calcula."""
    layers = [getattr(attention, name, None) for name in NAMES]
    sizes = {getattr(layer, "in_features", 0) for layer in layers}
    if not isinstance(attention, MultiHeadAttention) or len(sizes) > 1:
        raise refused("attention", attention, "un MultiHeadAttention de course_lib, de una sola anchura")
    (width,), heads = sizes, attention.heads
    if width > 24 or heads > 6:
        raise refused("attention", attention, "un bloque de hasta 24 dimensiones y 6 cabezas")
    words = list(tokens) if isinstance(tokens, (list, tuple)) else []
    if not 2 <= len(words) <= 8 or not all(isinstance(w, str) and len(w) <= 24 for w in words):
        raise refused("tokens", tokens, "una lista de 2 a 8 textos, de hasta 24 letras")
    biases = [torch.zeros(width) if layer.bias is None else layer.bias for layer in layers]
    square = (width, width)
    return {
        "tokens": words, "heads": heads, "x": _numbers("x", x, (len(words), width)),
        "matrices": [_numbers("attention", layer.weight.T, square) for layer in layers],
        "biases": [_numbers("attention", bias, (width,)) for bias in biases],
    }  # fmt: skip


def compute(data, query, muted=()):
    """Sigue a un token por el bloque, con las piezas de la biblioteca y en doble precisión.

    Args:
        data: lo que devuelve ``pack``.
        query: la posición del token.
        muted: las cabezas apagadas: su trozo de Concat es 0.

    Returns:
        Diccionario: ``Q``, ``K`` y ``V`` ``(L, d_model)``, sin repartir. Del token y por cabeza,
        ``products`` (q · k), ``scores`` y ``weights`` ``(h, L)``, y ``outputs`` ``(h, d_k)``.
        Después, ``concat``, ``contributions`` ``(h, d_model)``, ``output``, ``full`` (la salida sin
        apagar nada), ``norm`` (la de ``output − full``) y ``changed`` (cuántos números cambian al
        apagar, en Concat y en la salida).
    """
    block = build(data["heads"], data["matrices"], data["biases"])
    X = torch.tensor([data["x"]], dtype=torch.float64)  # (1, L, d_model)
    projected = [getattr(block, name)(X) for name in NAMES[:3]]
    Q, K, V = map(block.split_heads, projected)  # (1, h, L, d_k)
    outputs, weights = scaled_dot_product_attention(Q, K, V)
    products = (Q @ K.transpose(-2, -1))[0, :, query]  # (h, L)
    kept = outputs.clone()
    kept[:, list(muted)] = 0.0
    before, concat = (block.concat_heads(heads)[0, query] for heads in (outputs, kept))
    full, output = map(block.output_projection, (before, concat))
    pieces = block.output_projection.weight.T.reshape(block.heads, block.dim_key, -1)
    numbers = dict(zip("QKV", (rows[0] for rows in projected))) | {
        "products": products, "scores": products / block.dim_key**0.5,
        "weights": weights[0, :, query], "outputs": outputs[0, :, query], "concat": concat,
        "contributions": torch.einsum("hk,hkd->hd", kept[0, :, query], pieces),
        "output": output, "full": full, "norm": (output - full).norm(),
    }  # fmt: skip
    changes = (concat - before, output - full)
    changed = [int((change.abs() > CHANGED).sum()) for change in changes]
    return {name: tensor.tolist() for name, tensor in numbers.items()} | {"changed": changed}


def _some_heads(explorer, name, value):
    last = explorer.data["heads"] - 1
    numbers = list(value) if isinstance(value, (list, tuple, set)) else [None]
    if not all(is_whole(head) and head <= last for head in numbers):
        raise refused(name, value, f"una lista de cabezas: enteros entre 0 y {last}")
    return sorted(set(map(int, numbers)))


class MultiHeadExplorer(AskingExplorer):
    """Sigue a un token por la multicabeza, con todos sus números, en seis estaciones.

    De serie, X son las 12 primeras dimensiones de los embeddings de BERT de «the dog found a bone»
    (lo que entra en su primera capa, sin [CLS] ni [SEP], a 2 decimales), y las matrices son números
    al azar entre −1 y 1, con semilla y sin sesgos: el bloque no está entrenado.

    Args:
        tokens, x: de 2 a 8 textos y su X, ``(L, d_model)``, con d_model hasta 24.
        attention: un ``MultiHeadAttention`` de la biblioteca, de hasta 6 cabezas.
        sentence: otra frase, de 2 a 8 tokens, si no se dan ``tokens`` y ``x``.
        query, head: la posición del token que se sigue y la cabeza que se mira de cerca, desde 0.
        station: de 1 (X) a 6 (la salida).
        muted: la lista de las cabezas apagadas.

    Raises:
        traitlets.TraitError: si algo no encaja, no existe o es demasiado grande para dibujarlo.
    """

    _esm = esm("heads")
    data = traitlets.Dict(read_only=True).tag(**SHARED)
    note = traitlets.Unicode().tag(**SHARED)
    notes = traitlets.List().tag(**SHARED)  # los avisos del tokenizador
    query = number(1, 0, lambda self: len(self.data["tokens"]) - 1)
    head = number(0, 0, lambda self: self.data["heads"] - 1)
    station = number(1, 1, len(STATIONS))
    muted = Checked([], _some_heads)
    # Vacía si los tokens se dan a mano.
    sentence = Checked("", lambda _self, _name, sentence: sentence if read(sentence) else "")

    def __init__(self, tokens=None, x=None, attention=None, sentence=SENTENCE, **state):
        notes = []
        if tokens is None and x is None:
            tokens, x, _ = read(sentence)
            x, state = x[:, :WIDTH], state | {"sentence": sentence}
            notes.append(f"X: las {WIDTH} primeras dimensiones de los embeddings de BERT.")
        if attention is None:
            generator = torch.Generator().manual_seed(SEED)
            numbers = 2 * torch.rand(len(NAMES), WIDTH, WIDTH, generator=generator) - 1
            attention = build(HEADS, numbers.round(decimals=2))
            notes.append("Matrices: números al azar, con semilla; sin entrenar.")
        self._packed = pack(tokens, x, attention)
        super().__init__(**{"note": " ".join(notes), "muted": []} | state)

    @traitlets.default("data")
    def _first(self):
        return self._packed

    @traitlets.observe("sentence")
    def _fill(self, _change):
        tokens, x, notes = read(self.sentence)
        width = len(self.data["x"][0])
        new = {"tokens": tokens, "x": _numbers("x", x[:, :width], (len(tokens), width))}
        with self.hold_sync():  # llega a la página de una vez
            self.set_trait("data", self.data | new)
            self.notes, self.error = notes, ""
            self.query = min(self.query, len(tokens) - 1)

    def _take(self, asked):
        self.sentence = asked["sentence"]

    def describe(self):
        data, result = self.data, compute(self.data, self.query, self.muted)
        words, width = data["tokens"], len(data["x"][0])
        row = [round(weight, 9) for weight in result["weights"][self.head]]
        best, end = row.index(max(row)), "ninguna apagada"
        if self.muted:
            end = (
                f"apagadas: {', '.join(map(str, self.muted))}; cambian {result['changed'][0]} de "
                f"{width} números en Concat y {result['changed'][1]} de {width} en la salida, y el "
                f"cambio mide {round(result['norm'], 9):.2f}"
            )
        return (
            f"Multicabeza: {len(words)} tokens, d_model = {width}, h = {data['heads']}; estación "
            f"{self.station} de 6, {STATIONS[self.station - 1]}; con la cabeza {self.head}, "
            f"«{words[self.query]}» mira sobre todo a «{words[best]}» ({row[best]:.2f}); {end}."
        )


def _numbers(name, value, shape):
    """Los números de un tensor o de una lista con esa forma, a 4 decimales."""
    try:
        tensor = torch.as_tensor(value).detach().double()
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise refused(name, value, f"un tensor de números de forma {shape}") from None
    tensor = tensor[0] if name == "x" and tensor.dim() == 3 and len(tensor) == 1 else tensor
    if tensor.shape != shape:
        found = f"de forma {shape}, y es de forma {tuple(tensor.shape)}"
        raise refused(name, value, f"{found}: una fila por token, y la anchura del bloque")
    if not (tensor.abs() <= 10).all():
        raise refused(name, value, "de números entre −10 y 10")
    return (tensor.round(decimals=4) + 0.0).tolist()
