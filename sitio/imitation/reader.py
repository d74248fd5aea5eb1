"""BERT, para Python en la página: lo que en el curso leen `tokenizers` y `safetensors`, aquí sale de las piezas.

El modelo es el del curso, con ``course_lib`` sin cambiar y sus pesos en 16 bits. Lo que hace falta y aún no
está se apunta en ``WANTED``: la página lo trae, y se empieza otra vez.
"""

import re
import sys
import tempfile
import types
import unicodedata
from collections import namedtuple
from operator import attrgetter
from pathlib import Path

import numpy as np
import pairs

CHUNK, WIDTH, INNER, POSITIONS = 64, 384, 1536, 512  # como en pieces.py y bert.js
SHAPES = {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}  # las demás, cuadradas
WANTED, PIECES = set(), {}
rounds = [0]  # las veces que, para lo que se ejecuta, se ha pedido algo
LAYERS = [f"bert/capa-{n}" for n in range(6)]
ALWAYS = {"bert/vocabulario", "bert/configuracion", "bert/resto", "bert/final", *LAYERS}
Given = namedtuple("Given", "last_hidden_state")
tables = []  # la tabla de cada BERT leído: se llena con las filas que piden las frases


class Coming(LookupError):
    """Falta una pieza del modelo: la página la trae."""


def need(*names, also=()):
    """Esas piezas, si han llegado. Si falta alguna, o de ``also``, las pide."""
    if missing := {*names, *also} - PIECES.keys():
        WANTED.update(missing)
        raise Coming(f"«{names[0]}» aún no ha llegado a la página.")
    return [PIECES[name] for name in names] if len(names) > 1 else PIECES[names[0]]


def piece(name):
    return need(name, also=ALWAYS)


def forget():
    """Que una respuesta no cambie el modelo de la siguiente."""
    tables.clear()
    for room, name in (("bert", "_load"), ("translator", "load_translator")):
        if found := sys.modules.get(f"course_lib.{room}"):
            getattr(found, name).cache_clear()


# --- Los pesos ------------------------------------------------------------------------------------


class Unpacked:
    """Los tensores de una pieza, uno tras otro, como los escribe pieces.py."""

    def __init__(self, name):
        self.data, self.at = piece(name), 0

    def take(self, kind, *shape):
        numbers = np.frombuffer(self.data, kind, int(np.prod(shape)), self.at).reshape(shape)
        self.at += numbers.nbytes
        return numbers

    def vector(self, size=WIDTH):
        return self.take("<f4", size).copy()

    def matrix(self, rows, columns=WIDTH):
        return self.take("<f4", rows)[:, None] * self.take("<i2", rows, columns)


def of_translator(path):
    return Path(path).parent.name == "translator_model"


def load_file(path):
    """Los tensores de BERT, con sus nombres; o los del traductor."""
    import torch

    if of_translator(path):
        return pairs.load_file(path)

    from course_lib.model_files.weights import LAYER

    rest, size = Unpacked("bert/resto"), len(vocabulary()[0])
    table = np.full((size, WIDTH), np.nan, "f4")  # la fila que no se ha traído no es un número
    found = {"embeddings.word_embeddings.weight": table}
    found["embeddings.position_embeddings.weight"] = rest.matrix(POSITIONS)
    found["embeddings.token_type_embeddings.weight"] = rest.matrix(2)
    for kind in ("weight", "bias"):
        found[f"embeddings.LayerNorm.{kind}"] = rest.vector()
    for n, name in enumerate(LAYERS):
        data = Unpacked(name)
        for k, part in enumerate(LAYER.values()):
            if name == LAYERS[-1] and k == 3:
                data = Unpacked("bert/final")
            rows, columns = SHAPES.get(part, (WIDTH, WIDTH))
            start = f"encoder.layer.{n}.{part}"
            found[f"{start}.weight"] = data.vector() if "LayerNorm" in part else data.matrix(rows, columns)
            found[f"{start}.bias"] = data.vector(rows)
    tables.append(table)
    fill(known)
    return {name: torch.from_numpy(array) for name, array in found.items()}


known = set()  # los trozos de la tabla que piden las frases ya leídas


def fill(names):
    """Pone en las tablas esos trozos. Los que faltan se apuntan: se piden los de todas las frases a la vez."""
    WANTED.update(names - PIECES.keys())
    for name in names & PIECES.keys():
        start = CHUNK * int(name[-3:])
        for table in tables:
            rows = min(CHUNK, len(table) - start)
            table[start : start + rows] = Unpacked(name).matrix(rows)


# --- Los trozos -----------------------------------------------------------------------------------

MARKS = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
IDEOGRAM = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
LONGEST = 100  # una palabra con más letras es desconocida


def vocabulary():
    """Los tokens, por su id, y el id de cada uno."""
    tokens = piece("bert/vocabulario").decode().split("\n")
    return tokens, {token: i for i, token in enumerate(tokens)}


def clean(text):
    kept = (c for c in text if c in "\t\n\r" or not (c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co")))
    text = unicodedata.normalize("NFD", IDEOGRAM.sub(r" \g<0> ", "".join(kept)))
    return "".join(c for c in text if unicodedata.category(c) != "Mn").replace("Σ", "σ").lower()


def words(text):
    """Las palabras y los signos de un texto, sin tildes y en minúsculas."""
    spaced = ""
    for letter in clean(text):
        sign = unicodedata.category(letter)[0] == "P" or (letter.isascii() and letter in "$+<=>^`|~")
        spaced += f" {letter} " if sign else letter
    return spaced.split()


def split(word, ids):
    """El trozo más largo que esté en el vocabulario; luego, lo mismo con lo que queda."""
    found, start = [], 0
    while start < len(word) <= LONGEST:
        for end in range(len(word), start, -1):
            part = "##" * bool(start) + word[start:end]
            if part in ids:
                break
        else:
            return ["[UNK]"]
        found.append(part)
        start = end
    return found or ["[UNK]"]


class Tokenizer:
    """Lo que ``course_lib`` pide a un ``tokenizers.Tokenizer``."""

    @classmethod
    def from_file(cls, path):
        return pairs.Tokenizer() if of_translator(path) else cls()

    def __init__(self):
        self.names, self.ids = vocabulary()

    def no_padding(self):
        pass

    no_truncation = no_padding

    def encode(self, text, add_special_tokens=True):
        tokens = []
        for i, part in enumerate(MARKS.split(text)):
            tokens += [part] if i % 2 else [one for word in words(part) for one in split(word, self.ids)]
        if add_special_tokens:
            tokens = ["[CLS]", *tokens, "[SEP]"]
        ids = [self.ids[token] for token in tokens]
        names = {f"bert/palabras-{one // CHUNK:03}" for one in [0, *ids]}
        fill(names - known)
        known.update(names & PIECES.keys())
        return types.SimpleNamespace(ids=ids, tokens=tokens)

    def id_to_token(self, one):
        if WANTED and rounds[0] < 2:  # después se sigue sin ellas, y se piden a la vez las de todas las frases
            raise Coming("Faltan palabras de la tabla.")
        return self.names[one]

    def num_special_tokens_to_add(self, is_pair=False):
        return 3 if is_pair else 2


# --- En su sitio ----------------------------------------------------------------------------------


def folder():
    """Una carpeta con la configuración del modelo, que ``course_lib`` lee de un archivo."""
    place = Path(tempfile.gettempdir())
    (place / "config.json").write_bytes(piece("bert/configuracion"))
    return place


def read_tokenizer(*_):
    """Lo que una lección pide al tokenizador de transformers."""
    from course_lib.model_files.sentences import PlainTokenizer

    class Reading(PlainTokenizer):
        def __call__(self, given, **_):
            many = super().__call__([given] if isinstance(given, str) else given)["input_ids"]
            ids = many[0] if isinstance(given, str) else many
            return {"input_ids": ids, "token_type_ids": [0] * len(ids), "attention_mask": [1] * len(ids)}

    return Reading("")


def read_model(*_):
    """Lo que una lección pide al ``BertModel`` de transformers: su entrada, su configuración y lo que da."""
    from torch import nn

    from course_lib.bert import encoder_from_bert, load_bert
    from course_lib.masks import padding_mask
    from course_lib.model_files.weights import ENTRANCE, read_weights

    class Model(nn.Module):
        def forward(self, input_ids, attention_mask=None):
            mask = None if attention_mask is None else padding_mask(attention_mask)
            return Given(self.encoder(input_ids, mask)[0])

    model = Model()
    model.embeddings = nn.Module()
    model.encoder, model.config = encoder_from_bert(load_bert()), read_weights(folder())[0]
    for ours, theirs in ENTRANCE.items():
        setattr(model.embeddings, theirs, attrgetter(ours)(model.encoder))
    return model.eval()


def install():
    """Deja en ``sys.modules`` lo que ``course_lib.bert`` importa y aquí no está."""
    for name, holds in {
        "tokenizers": {"Tokenizer": Tokenizer},
        "safetensors": {},
        "safetensors.torch": {"load_file": load_file},
        "course_lib.model_files.folders": {
            "read_model": read_model, "read_tokenizer": read_tokenizer, "read_plain_tokenizer": read_tokenizer,
        },
        "course_lib.model_files.embedded": {"EMBEDDED_MODEL": "all-MiniLM-L6-v2", "embedded_folder": folder},
    }.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(holds)
