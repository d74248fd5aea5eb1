"""El traductor, para Python en la página: sus pesos, y su tokenizador (BPE: Sennrich et al., 2016), como ``web/bpe.js``."""

import json
import re
import types
import unicodedata
from pathlib import Path

import numpy as np
import reader

SPACE = "[^\\S\x1c-\x1f]"
PART = re.compile("S?[LMQ]*L|S?[^LS]|S")  # las letras de cada trozo, por su clase


def pieces():
    """Lo que el traductor tiene en la página: nombre → bytes."""
    names = ["tokenizador", "palabras", *(f"pesos-{n}" for n in range(json.loads(reader.need("traductor/datos"))["pieces"]))]
    return dict(zip(names, reader.need(*(f"traductor/{name}" for name in names))))


def load_file(path):
    """Los tensores de ``model.safetensors``, que son de 16 bits; al lado quedan las palabras que conoce."""
    import torch

    found = pieces()
    known = Path(path).with_name("words.json")
    if not known.exists():
        known.write_bytes(found["palabras"])
    data = b"".join(found[name] for name in found if name.startswith("pesos"))
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, one in json.loads(data[8:start]).items():
        first, last = one["data_offsets"]
        numbers = np.frombuffer(data[start + first : start + last], "<f2").reshape(one["shape"])
        tensors[name] = torch.from_numpy(numbers.astype("f4"))
    return tensors


def kind(letter):
    """La clase de una letra, para partir: espacio, apóstrofo, letra, tilde suelta u otra."""
    found = {"▁": "S", "'": "Q"}.get(letter) or unicodedata.category(letter)[0]
    return found if found in ("S", "Q", "L", "M") and (found != "S" or letter == "▁") else "O"


class Tokenizer:
    """Lo que el traductor pide a un ``tokenizers.Tokenizer``."""

    def __init__(self):
        told = json.loads(pieces()["tokenizador"])
        self.ids = told["model"]["vocab"]
        self.tokens = {number: token for token, number in self.ids.items()}
        self.id_to_token, self.token_to_id = self.tokens.get, self.ids.get
        self.get_vocab, self.get_vocab_size = self.ids.copy, self.ids.__len__
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(told["model"]["merges"])}
        self.marks = re.compile(f"({'|'.join(one['content'] for one in told['added_tokens'])})")
        self.unknown = self.ids[told["model"]["unk_token"]]
        replaced = [one for one in told["normalizer"]["normalizers"] if one["type"] == "Replace"]
        patterns = [(one["pattern"].get("Regex") or re.escape(one["pattern"]["String"]), one["content"]) for one in replaced]
        self.steps = [(re.compile(found.replace("\\s", SPACE)), content) for found, content in patterns]

    def encode(self, text):
        ids = []
        for i, part in enumerate(self.marks.split(text)):
            ids += [self.ids[part]] if i % 2 else [one for piece in self.split(part) for one in self.merge(piece)]
        return types.SimpleNamespace(ids=ids, tokens=[self.tokens[one] for one in ids])

    def split(self, text):
        text = unicodedata.normalize("NFC", text)
        for found, content in self.steps:
            text = found.sub(content, text)
        text = re.sub("^(?=[^▁])", "▁", text.strip(" ").replace(" ", "▁"))
        return [text[one.start() : one.end()] for one in PART.finditer("".join(map(kind, text)))]

    def merge(self, piece):
        """Junta las letras de un trozo de dos en dos: cada vez, la pareja que se aprendió antes."""
        parts = list(piece)
        while known := [(self.ranks[pair], k) for k, pair in enumerate(zip(parts, parts[1:])) if pair in self.ranks]:
            _, at = min(known)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids.get(part, self.unknown) for part in parts]

    def decode(self, ids):
        text = "".join(token for one in ids if not self.marks.fullmatch(token := self.tokens[one]))
        return text.replace("▁", " ").removeprefix(" ")
