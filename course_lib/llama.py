"""Los pesos de un Llama de verdad en el decoder del curso.

Con el curso viene uno, SmolLM2-135M-Instruct. Para usar otro, con red o de una carpeta, pon su nombre
en la variable de entorno ``CURSO_LLAMA``.

Fuente: Touvron et al., «LLaMA» (2023); los nombres de los pesos, de ``modeling_llama.py``, en
transformers.
"""

import math
import os
import warnings
from pathlib import Path

import torch

from course_lib.decoder_only import DecoderOnly
from course_lib.model_files import Kind, ModelUnavailableError
from course_lib.model_files.folders import read_model, read_plain_tokenizer
from course_lib.model_files.hub import hub_folder
from course_lib.model_files.sentences import TokenizationWarning, advice, listed, remedy, why_broken
from course_lib.model_files.smollm import smollm_folder
from course_lib.model_files.weights import WithoutDraws, read_weights

ENVIRONMENT_VARIABLE = "CURSO_LLAMA"
LLAMA = Kind(
    "llama", "LlamaForCausalLM", ("HuggingFaceTB/SmolLM2-360M-Instruct",),
    f"sigue con el del curso: quita el argumento y la variable {ENVIRONMENT_VARIABLE}",
)  # fmt: skip

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
        raise TypeError(f"decoder_from_llama: llama es {type(llama).__name__} y tiene que ser un LlamaForCausalLM.")
    _check_config(config)
    return _decoder(config, {name: x.clone() for name, x in llama.state_dict().items()})


def _check_config(config):
    """Falla si el modelo usa algo que el decoder del curso no tiene."""
    rope = config.rope_parameters
    strange = {
        "attention_bias": config.attention_bias,
        "mlp_bias": config.mlp_bias,
        "hidden_act": config.hidden_act != "silu" and config.hidden_act,
        "rope_type": rope["rope_type"] not in ("default", "llama3") and rope["rope_type"],
        "head_dim": config.head_dim * config.num_attention_heads != config.hidden_size and config.head_dim,
    }
    if any(strange.values()):
        found = ", ".join(f"{name} = {value!r}" for name, value in strange.items() if value)
        raise ValueError(f"decoder_from_llama: este Llama usa {found}, y el decoder del curso no lo tiene.")


def _decoder(config, weights):
    """Un ``DecoderOnly`` cuyos parámetros **son** esos tensores, sin copiarlos."""
    with WithoutDraws():
        model = DecoderOnly(
            config.vocab_size, config.hidden_size, config.num_attention_heads,
            config.num_hidden_layers, kv_heads=config.num_key_value_heads,
            dim_hidden=config.intermediate_size, rotary_base=config.rope_parameters["rope_theta"],
            eps=config.rms_norm_eps, tied=config.tie_word_embeddings,
        )  # fmt: skip
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    named = {name: weights[name_in_llama(name)] for name in model.state_dict()}
    model.load_state_dict(named, assign=True)
    if config.tie_word_embeddings:  # al asignarla, la misma matriz es dos parámetros
        model.output_projection.weight = model.embedding.table.weight
    for layer in model.layers:
        layer.attention.rotary_stretch = rotary_stretch(config)
    return model.eval()


def rotary_stretch(config):
    """Por cuánto se multiplica la frecuencia de cada pareja desde Llama 3.1, (d_k/2,); si no, ``None``.

    Las parejas que dan menos de una vuelta en el contexto con que se entrenó giran ``factor`` veces
    más despacio, para leer textos más largos; las que dan muchas, igual, y las de en medio, en medio.

    Fuente: Grattafiori et al., «Llama 3» (2024), §3.2; los límites, de ``modeling_rope_utils.py``,
    en transformers.
    """
    rope = config.rope_parameters
    if rope["rope_type"] == "default":
        return None
    d_k = config.hidden_size // config.num_attention_heads
    frequency = rope["rope_theta"] ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    turns = rope["original_max_position_embeddings"] * frequency / (2 * math.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = ((turns - low) / (high - low)).clamp(0, 1)  # 0: se frena del todo; 1: igual
    return kept + (1 - kept) / rope["factor"]


@torch.inference_mode(False)  # lo que se carga se queda, y se tiene que poder entrenar
def load_llama(model_name=None):
    """Carga SmolLM2, u otro Llama, en el decoder del curso.

    Args:
        model_name: el nombre de uno de Hugging Face o su carpeta; por defecto, lo que diga
            ``CURSO_LLAMA``, y si no dice nada, SmolLM2, que no necesita red.

    Returns:
        ``(model, tokenizer)``: un ``DecoderOnly`` y un ``tokenizers.Tokenizer``:
        ``tokenizer.encode(texto).ids`` y ``tokenizer.decode(ids)``. Los pesos de SmolLM2 son las
        páginas de su archivo: no los cambies en su sitio.

    Raises:
        TypeError: si ``model_name`` no es un texto ni una ruta.
        ModelUnavailableError: si no se puede cargar; el mensaje dice por qué y qué hacer.
        ValueError: como ``decoder_from_llama``.
    """
    name = model_name or os.environ.get(ENVIRONMENT_VARIABLE)
    if not name:
        folder = smollm_folder()
        return _decoder(*read_weights(folder)), read_plain_tokenizer("SmolLM2", folder)
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"load_llama: model_name = {name!r}, y tiene que ser un nombre o carpeta.")
    folder = Path(name).expanduser()
    if folder.suffix == ".gguf":
        raise ModelUnavailableError(
            f"load_llama: «{folder.name}» es un GGUF, y el curso solo abre el suyo. De ese modelo, "
            "busca la carpeta con config.json, tokenizer.json y los pesos en safetensors."
        )
    if not folder.is_dir():
        folder = hub_folder(os.fspath(name), LLAMA)
    return decoder_from_llama(read_model(name, folder, LLAMA)), read_plain_tokenizer(name, folder)


def encode(tokenizer, text, limit=2048):
    """Los ids de un texto, ``(1, L)``, para un modelo que es solo decoder.

    Args:
        tokenizer: el de ``load_llama``.
        text: el texto.
        limit: los tokens que se admiten: la memoria que pide leer crece con el cuadrado.

    Raises:
        TypeError: si no es un texto.
        ValueError: si está vacío, tiene un carácter roto o pasa de ``limit`` tokens.

    Avisa con ``TokenizationWarning`` de los signos que no se ven y de las ligaduras: los lee tal cual.
    """
    if not isinstance(text, str):
        raise TypeError(f"encode: text = {text!r:.40} y tiene que ser un texto.{remedy(text)}")
    if not text:
        raise ValueError("encode: el texto está vacío. Escribe por lo menos una palabra.")
    if reason := why_broken("la frase", text):
        raise ValueError(f"encode: {reason}")
    ids = tokenizer.encode(text).ids
    if len(ids) > limit:
        raise ValueError(
            f"encode: el texto tiene {len(ids)} tokens y aquí caben {limit}. Escribe menos, o cambia "
            f"limit = {limit}."
        )
    odd = [x for x in dict.fromkeys(text) if not (x.isprintable() or x.isspace() or x == "\u200d")]
    odd += ["\ufffd"] * ("\ufffd" in text)
    told = [f"el modelo lee también {listed(odd, text)}: quítalo si sobra."] if odd else []
    for note in told + advice(text):
        warnings.warn(note, TokenizationWarning, stacklevel=2)
    return torch.tensor([ids])
