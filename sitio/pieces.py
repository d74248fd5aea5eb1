"""Los modelos del curso, en piezas que una página carga una a una: nombre → bytes."""

import json
from pathlib import Path

from wasmtime import wat2wasm

from course_lib.model_files.embedded import embedded_folder
from course_lib.model_files.weights import LAYER, read_weights
from course_lib.translator import FOLDER, UNSURE
from course_lib.translator_model.checks import ENGLISH, LONGEST_SEEN, SPANISH

HERE = Path(__file__).parent
PIECE = 1_500_000  # bytes de cada pieza del traductor


def bert_pieces():
    """Las piezas de BERT, siempre las mismas.

    ``bert/vocabulario`` son los tokens en UTF-8, uno por línea, en el orden de sus ids. Las demás
    son tensores, uno tras otro y con el byte bajo delante. Un vector son float32. Una matriz son
    las escalas de sus filas, float32, y después enteros de 16 bits: W[i, j] = escala[i]·entero[i, j].

    - ``bert/palabras-000``…: la tabla, de 64 en 64 filas: se piden las que usa una frase.
    - ``bert/resto``: las posiciones, los dos vectores del tipo de frase, γ y β.
    - ``bert/programa``: bert.wat, ensamblado: las cuentas que más tardan.
    - ``bert/capa-0``…: W y b de la query, la key, el value y la salida; γ, β; W y b de las dos capas
      densas; γ, β. De la última, solo query, key y value: lo demás, que los exploradores no miran, está en
      ``bert/final``.
    - ``bert/configuracion``: su config.json.
    """
    folder = embedded_folder()
    config, weights = read_weights(folder)
    ids = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    words, places, types = (
        weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    norm = [weights[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias")]
    pieces = {"bert/vocabulario": "\n".join(sorted(ids, key=ids.get)).encode()}
    pieces |= {f"bert/palabras-{n:03}": _pack([rows]) for n, rows in enumerate(words.split(64))}
    pieces["bert/programa"] = assembled()
    pieces["bert/resto"] = _pack([places, types, *norm])
    names = [f"{part}.{kind}" for part in LAYER.values() for kind in ("weight", "bias")]
    layers = [[weights[f"encoder.layer.{n}.{name}"] for name in names] for n in range(config.num_hidden_layers)]
    pieces["bert/final"] = _pack(layers[-1][6:])
    layers[-1] = layers[-1][:6]
    pieces |= {f"bert/capa-{n}": _pack(tensors) for n, tensors in enumerate(layers)}
    return pieces | {"bert/configuracion": (folder / "config.json").read_bytes()}


def assembled():
    """bert.wat, como lo lee el navegador."""
    return bytes(wat2wasm((HERE / "bert.wat").read_text("utf-8")))


def _pack(tensors):
    data = b""
    for tensor in tensors:
        if tensor.dim() == 2:
            scale = tensor.abs().amax(dim=1, keepdim=True).clamp_min(1e-30) / 32767
            data += scale.numpy().astype("<f4").tobytes()
            data += (tensor / scale).round().numpy().astype("<i2").tobytes()
        else:
            data += tensor.numpy().astype("<f4").tobytes()
    return data


def translator_pieces():
    """Los archivos del traductor, tal como son, y lo que comprueba: diccionario de nombre a bytes."""
    weights = (FOLDER / "model.safetensors").read_bytes()
    parts = [weights[start : start + PIECE] for start in range(0, len(weights), PIECE)]
    facts = json.loads((FOLDER / "config.json").read_text("utf-8")) | {"pieces": len(parts)}
    facts |= {"longest_seen": LONGEST_SEEN, "unsure": UNSURE}
    facts |= {"spanish": SPANISH.split(), "english": ENGLISH.split()}
    pieces = {f"traductor/pesos-{i}": part for i, part in enumerate(parts)}
    pieces["traductor/datos"] = json.dumps(facts).encode()
    pieces["traductor/tokenizador"] = (FOLDER / "tokenizer.json").read_bytes()
    return pieces | {"traductor/palabras": (FOLDER / "words.json").read_bytes()}
