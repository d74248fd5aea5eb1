"""Embeddings de un BERT de verdad, sin red.

El modelo por defecto es all-MiniLM-L6-v2 (6 capas, 12 cabezas, d_model = 384, licencia
Apache 2.0): un BERT completo, con el vocabulario de bert-base-uncased. Sus números los
calcula el encoder del curso, ``course_lib.transformer``, con los pesos de BERT. Para usar
otro, con red, pasa su nombre o ponlo en la variable de entorno ``CURSO_BERT``: ese lo carga
y lo calcula transformers.

De dónde salen los archivos, en ``course_lib.model_files``; cómo se trocea una frase, en
``course_lib.model_files.sentences``.

Fuente: Devlin et al., «BERT» (2019); Wang et al., «MiniLM» (2020); Reimers y Gurevych,
«Sentence-BERT» (2019).
"""

import os
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import torch.testing
from torch import nn

from course_lib.layers import LearnedPositionalEncoding
from course_lib.masks import padding_mask
from course_lib.model_files import Kind, ModelUnavailableError  # noqa: F401
from course_lib.model_files.embedded import EMBEDDED_MODEL, embedded_folder
from course_lib.model_files.folders import read_model, read_tokenizer
from course_lib.model_files.hub import hub_folder
from course_lib.model_files.sentences import (
    PlainTokenizer,
    TokenizationWarning,  # noqa: F401
    check_sentences,
    tokenize,
)
from course_lib.model_files.weights import WithoutDraws, copy_weights, name_in_bert, read_weights
from course_lib.transformer import TransformerEncoder

# La primera `assert_close` de un proceso importa los tensores repartidos entre varios ordenadores y, con ellos,
# `sympy`: dos segundos y 60 MiB en cada lección. Sin ellos compara igual; si torch les cambia el nombre, nada pasa.
torch.testing._comparison._HAS_DTENSOR = False

ENVIRONMENT_VARIABLE = "CURSO_BERT"
BERT = Kind(
    "bert", "BertModel", ("bert-base-uncased", "dccuchile/bert-base-spanish-wwm-uncased"),
    f"sigue con el modelo del curso: quita el argumento y la variable {ENVIRONMENT_VARIABLE}",
)  # fmt: skip


@dataclass(frozen=True)
class Bert:
    """Un BERT: su ``name`` y la ``folder`` de sus archivos.

    ``model`` y ``tokenizer`` son los de transformers. En el modelo del curso se leen la
    primera vez que se piden: ``extract_embeddings`` y ``encoder_from_bert`` no los necesitan.
    """

    name: str
    folder: Path = field(repr=False)

    @cached_property
    def model(self):
        """El ``BertModel`` de transformers, en modo evaluación."""
        return read_model(self.name, self.folder, BERT)

    @cached_property
    def tokenizer(self):
        """El tokenizador de transformers."""
        return read_tokenizer(self.name, self.folder)

    @cached_property
    def plain_tokenizer(self):
        """El que usa ``extract_embeddings``: en el modelo del curso, uno que no carga transformers."""
        if self.name == EMBEDDED_MODEL:
            return PlainTokenizer(self.folder / "tokenizer.json")
        return self.tokenizer

    @cached_property
    def encoder(self):
        """El encoder del curso con sus pesos, que usa ``extract_embeddings``; no lo cambies."""
        return encoder_from_bert(self)


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
        return f"BertEmbeddings(B={batch}, L={length}, d_model={width}, capas={len(self.attentions)})"


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
        ModelUnavailableError: si no se puede cargar; el mensaje dice por qué y qué hacer.
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
        ModelUnavailableError: si el modelo no se puede cargar.

    Avisa con ``TokenizationWarning`` si corta la frase, si no conoce algún carácter (un
    emoji se convierte en ``[UNK]``) o si quita las tildes.
    """
    sentences = check_sentences(sentences)
    bert = load_bert(model_name)
    if bert.name == EMBEDDED_MODEL:
        table, places = bert.encoder.input_embedding.table, bert.encoder.positional_encoding.table
    else:
        theirs = bert.model.embeddings
        table, places = theirs.word_embeddings, theirs.position_embeddings
    longest = places.num_embeddings
    input_ids, attention_mask, tokens = tokenize(sentences, bert.plain_tokenizer, longest)
    with torch.no_grad():
        hidden_states, attentions = _run(bert, input_ids, attention_mask)
        words = table(input_ids)
        # Una copia: si un estudiante la cambia, el modelo no se entera.
        positions = places.weight[: words.shape[1]].expand_as(words).clone()
    return BertEmbeddings(
        tokens=tokens, input_ids=input_ids, attention_mask=attention_mask, token_embeddings=words,
        positional_encodings=positions, embeddings_with_positional_encoding=words + positions,
        encoder_input=hidden_states[0], contextual_embeddings=hidden_states[-1],
        hidden_states=hidden_states, attentions=attentions,
    )  # fmt: skip


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
        longest = config.max_position_embeddings
        super().__init__(
            config.vocab_size,
            d_model,
            longest,
            config.num_attention_heads,
            config.num_hidden_layers,
            increment=config.intermediate_size / d_model,
            activation=config.hidden_act,
            eps=eps,
        )
        self.input_embedding.factor = 1.0
        self.positional_encoding = LearnedPositionalEncoding(longest, d_model)
        self.sentence_type = nn.Embedding(config.type_vocab_size, d_model)
        self.normalization = nn.LayerNorm(d_model, eps=eps)

    def embed(self, token_ids):
        """Lo que entra en la capa 1: (B, L) ids → (B, L, d_model). Todo es del tipo 0."""
        types = self.sentence_type(torch.zeros_like(token_ids))
        words = self.input_embedding(token_ids)
        return self.normalization(self.positional_encoding(words + types))


@torch.inference_mode(False)  # lo que se carga se queda, y se tiene que poder entrenar
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
    if isinstance(bert, Bert) and bert.name == EMBEDDED_MODEL:
        config, weights = read_weights(bert.folder)
    else:
        config, weights = copy_weights(bert.model if isinstance(bert, Bert) else bert)
    with WithoutDraws():
        encoder = BertEncoder(config)
    named = {name: weights[name_in_bert(name)] for name in encoder.state_dict()}
    encoder.load_state_dict(named, assign=True)
    return encoder.eval()


def _run(bert, input_ids, attention_mask):
    """Los ``hidden_states`` y las ``attentions``: el modelo del curso, con su propio encoder."""
    if bert.name != EMBEDDED_MODEL:
        options = {"output_hidden_states": True, "output_attentions": True}
        outputs = bert.model(input_ids=input_ids, attention_mask=attention_mask, **options)
        return outputs.hidden_states, outputs.attentions
    x, mask = bert.encoder.embed(input_ids), padding_mask(attention_mask)
    states, attentions = [x], []
    for layer in bert.encoder.encoder.encoder_layers:
        x, weights = layer(x, mask, need_weights=True)
        states.append(x)
        attentions.append(weights)
    return tuple(states), tuple(attentions)


@lru_cache(maxsize=4)
def _load(model_name):
    if model_name == EMBEDDED_MODEL:
        return Bert(model_name, embedded_folder())
    folder = Path(model_name).expanduser()
    if not folder.is_dir():
        folder = hub_folder(model_name, BERT)
    bert = Bert(model_name, folder)
    _ = bert.model, bert.tokenizer  # se leen ya: si algo falla, se dice al cargarlo
    return bert
