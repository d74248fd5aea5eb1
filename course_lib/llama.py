"""Los pesos de un Llama de verdad en el decoder del curso.

Con el curso no viene ninguno: el más pequeño que se publica ocupa cientos de megas. Con red, o con
uno en una carpeta, pon su nombre en la variable de entorno ``CURSO_LLAMA``.

Fuente: Touvron et al., «LLaMA» (2023); los nombres de los pesos, de ``modeling_llama.py``, en
transformers.
"""

import os
from pathlib import Path

from course_lib.decoder_only import DecoderOnly
from course_lib.model_files import Kind, ModelUnavailableError
from course_lib.model_files.folders import read_model, read_tokenizer
from course_lib.model_files.hub import hub_folder

ENVIRONMENT_VARIABLE = "CURSO_LLAMA"
LLAMA = Kind(
    "llama",
    "LlamaForCausalLM",
    ("HuggingFaceTB/SmolLM2-135M",),
    f"sigue sin él: quita el argumento y la variable {ENVIRONMENT_VARIABLE}",
)

# El nombre de cada pieza en el curso → el suyo en transformers.
NAMES = {
    "embedding.table": "model.embed_tokens",
    "output_projection": "lm_head",
    "normalization": "model.norm",
    "normalization_1": "input_layernorm",
    "normalization_2": "post_attention_layernorm",
    "attention.query_projection": "self_attn.q_proj",
    "attention.key_projection": "self_attn.k_proj",
    "attention.value_projection": "self_attn.v_proj",
    "attention.output_projection": "self_attn.o_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj",
}


def name_in_llama(name):
    """El nombre que da transformers a un peso de ``DecoderOnly``."""
    if not name.startswith("layers."):
        return f"{NAMES[name.removesuffix('.weight')]}.weight"
    _, number, part = name.removesuffix(".weight").split(".", 2)
    return f"model.layers.{number}.{NAMES[part]}.weight"


def decoder_from_llama(llama):
    """Llena un ``DecoderOnly`` del curso con los pesos de un Llama.

    Args:
        llama: un ``LlamaForCausalLM`` de transformers.

    Returns:
        ``DecoderOnly`` en modo evaluación, con copias de los pesos.

    Raises:
        TypeError: si no es un Llama.
        ValueError: si usa algo que el decoder del curso no tiene; el mensaje dice qué.
    """
    config = getattr(llama, "config", None)
    if getattr(config, "model_type", None) != "llama" or not hasattr(llama, "lm_head"):
        raise TypeError(
            f"decoder_from_llama: llama es {type(llama).__name__} y tiene que ser un LlamaForCausalLM."
        )
    rope = config.rope_parameters
    strange = {
        "attention_bias": config.attention_bias,
        "mlp_bias": config.mlp_bias,
        "hidden_act": config.hidden_act != "silu" and config.hidden_act,
        "rope_type": rope["rope_type"] != "default" and rope["rope_type"],
        "head_dim": config.head_dim * config.num_attention_heads != config.hidden_size
        and config.head_dim,
    }
    if any(strange.values()):
        found = ", ".join(f"{name} = {value!r}" for name, value in strange.items() if value)
        raise ValueError(
            f"decoder_from_llama: este Llama usa {found}, y el decoder del curso no lo tiene."
        )
    model = DecoderOnly(
        config.vocab_size,
        config.hidden_size,
        config.num_attention_heads,
        config.num_hidden_layers,
        kv_heads=config.num_key_value_heads,
        dim_hidden=config.intermediate_size,
        rotary_base=rope["rope_theta"],
        eps=config.rms_norm_eps,
        tied=config.tie_word_embeddings,
    )
    theirs = llama.state_dict()
    model.load_state_dict({name: theirs[name_in_llama(name)] for name in model.state_dict()})
    return model.to(llama.dtype).eval()


def load_llama(model_name=None):
    """Carga un Llama de Hugging Face, o de una carpeta, en el decoder del curso.

    Args:
        model_name: su nombre o su carpeta; por defecto, lo que diga ``CURSO_LLAMA``.

    Returns:
        ``(model, tokenizer)``: un ``DecoderOnly`` y el tokenizador de transformers.

    Raises:
        TypeError: si ``model_name`` no es un texto ni una ruta.
        ModelUnavailableError: si no se ha pedido ninguno o no se puede cargar; el mensaje dice por
            qué y qué hacer.
        ValueError: como ``decoder_from_llama``.
    """
    name = model_name or os.environ.get(ENVIRONMENT_VARIABLE)
    if not name:
        raise ModelUnavailableError(
            "load_llama: con el curso no viene ningún Llama. Si tienes red, abre el curso con la "
            f"variable {ENVIRONMENT_VARIABLE}={LLAMA.examples[0]} (unos 270 MB), o pon la ruta de una "
            "carpeta."
        )
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(
            f"load_llama: model_name = {name!r}, y tiene que ser un nombre o una carpeta."
        )
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = hub_folder(os.fspath(name), LLAMA)
    return decoder_from_llama(read_model(name, folder, LLAMA)), read_tokenizer(name, folder)
