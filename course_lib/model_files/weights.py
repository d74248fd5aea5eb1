"""Los pesos de un BERT, y cómo se llama cada uno en el encoder del curso."""

import json
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

# Cómo llama BERT a cada pieza del encoder del curso: a las de la entrada y a las de cada capa.
ENTRANCE = {
    "input_embedding.table": "word_embeddings", "positional_encoding.table": "position_embeddings",
    "sentence_type": "token_type_embeddings", "normalization": "LayerNorm",
}  # fmt: skip
LAYER = {
    "multi_head_attention.query_projection": "attention.self.query",
    "multi_head_attention.key_projection": "attention.self.key",
    "multi_head_attention.value_projection": "attention.self.value",
    "multi_head_attention.output_projection": "attention.output.dense",
    "add_and_norm_1.normalization": "attention.output.LayerNorm",
    "feed_forward.feed_forward.0": "intermediate.dense",
    "feed_forward.feed_forward.2": "output.dense",
    "add_and_norm_2.normalization": "output.LayerNorm",
}


def name_in_bert(name):
    """De «encoder.encoder_layers.3.feed_forward.….weight» a «encoder.layer.3.output.….weight»."""
    piece, kind = name.rsplit(".", 1)
    if piece in ENTRANCE:
        return f"embeddings.{ENTRANCE[piece]}.{kind}"
    _, _, number, piece = piece.split(".", 3)
    return f"encoder.layer.{number}.{LAYER[piece]}.{kind}"


def read_weights(folder):
    """Lee ``config.json`` y ``model.safetensors``: la configuración y los tensores, sin transformers.

    Los tensores no se copian: son las páginas del archivo. Quien lo lee dos veces no gasta el
    doble de memoria, y si escribe en un tensor, el sistema le da su copia de esa página.
    """
    from safetensors.torch import load_file

    config = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
    return SimpleNamespace(**config), load_file(Path(folder, "model.safetensors"))


def copy_weights(model):
    """Lo mismo de un ``BertModel`` de transformers, con los tensores copiados en float32; o ``TypeError``."""
    if not (hasattr(model, "config") and hasattr(model, "embeddings")):
        raise TypeError(
            f"encoder_from_bert: has pasado {type(model).__name__} y espera un BERT ya cargado: "
            "encoder_from_bert(load_bert())."
        )
    state = model.state_dict().items()
    return model.config, {name: tensor.to(torch.float32, copy=True) for name, tensor in state}


class WithoutDraws(TorchFunctionMode):
    """Mientras dura, los parámetros nacen sin sortear: sobraría, si van a ser los de otro modelo."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_):
            return kwargs["tensor"]
        return func(*args, **(kwargs or {}))
