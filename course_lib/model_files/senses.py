"""El modelo que mira y el que escucha: dónde están, y cómo se llaman sus pesos en el curso.

No vienen con el curso: los pone «python curso.py abrir --ver-y-oir», con ``course_tools.senses``.
Cada uno puede ser otro, de Hugging Face o de una carpeta: ``CURSO_VISION`` y ``CURSO_WHISPER``.
"""

import os
import re
import sys
from pathlib import Path

import torch

from course_lib.model_files import Kind, ModelUnavailableError
from course_lib.model_files.embedded import sha256
from course_lib.model_files.folders import read_model
from course_lib.model_files.hub import hub_folder

SAMPLES = Path(__file__).parents[1] / "samples"  # las fotografías y los sonidos del curso
FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", "ver-y-oir")
GET = "«python curso.py abrir --ver-y-oir» lo pone: descarga 250 MB, una sola vez. Sin él, la lección se lee entera."
OTHERWISE = f"usa el del curso. {GET}"
VISION = Kind("dinov2", "Dinov2Model", ("facebook/dinov2-small", "facebook/dinov2-base"), OTHERWISE)
WHISPER = Kind("whisper", "WhisperForConditionalGeneration", ("openai/whisper-base", "openai/whisper-tiny"), OTHERWISE)
VARIABLES = {VISION: "CURSO_VISION", WHISPER: "CURSO_WHISPER"}

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


def weights_of(kind, model_name=None):
    """Los pesos de un modelo, en 32 bits y con los nombres del curso, y la carpeta en que están.

    Args:
        kind: ``VISION`` o ``WHISPER``.
        model_name: uno de Hugging Face, o su carpeta; si no, el de su variable o el del curso.

    Raises:
        ModelUnavailableError: si falta, está dañado o es de otra clase.
    """
    from safetensors.torch import load_file

    name = model_name or os.environ.get(VARIABLES[kind])
    if name:
        folder = Path(name).expanduser()
        folder = folder if folder.is_dir() else hub_folder(os.fspath(name), kind)
        return course_names(read_model(name, folder, kind).state_dict()), folder
    if not sealed(kind.model_type):
        raise ModelUnavailableError(f"Falta el modelo {kind.model_type}, o está dañado. {GET}")
    found = load_file(FOLDER / f"{kind.model_type}.safetensors")
    return {name: tensor.float() for name, tensor in found.items()}, FOLDER


def sealed(name):
    """Si los pesos de ese modelo están, y son los que se escribieron: lo dice su huella, al lado."""
    path, seal = FOLDER / f"{name}.safetensors", FOLDER / f"{name}.huella.txt"
    return path.is_file() and seal.is_file() and seal.read_text() == sha256(path)


def sample(path):
    """El archivo de una muestra del curso, si ``path`` es su nombre, como «gata»; si no, ``path``."""
    return next(SAMPLES.glob(f"{path}.*"), path) if str(path).isidentifier() else path
