"""Atención paso a paso: las implementaciones de referencia del curso.

Lo que enseñan las lecciones, en su orden. Cada módulo se lee de una sentada:

- ``example``: tres palabras y números enteros, para hacer la atención a mano.
- ``masks``: quién puede atender a quién.
- ``attention``: atención de producto escalar escalado y multicabeza.
- ``neighbours``: una atención que aprende, en un segundo, a quién tiene que mirar.
- ``layers``: las piezas que la rodean, de los embeddings a la red densa.
- ``transformer``: con todas ellas, el encoder, el decoder y el Transformer entero.
- ``cache``: las keys y los values que un decoder guarda mientras escribe.
- ``training``: cómo se entrena un Transformer.
- ``decoding``: cómo escribe un Transformer entrenado, token a token.
- ``bert``: embeddings de un BERT real, sin red, calculados por el encoder de aquí arriba.
- ``translator``: un traductor entrenado que dice adónde ha mirado.
- ``flash``: la atención por bloques, sin guardar nunca la tabla de pesos.
- ``decoder_only``: un modelo que es solo decoder, como los LLM de hoy.
- ``sampling``: cómo sigue escribiendo ese modelo, y cómo se sortea el token siguiente.
- ``llama``: los pesos de un Llama de verdad en ese modelo.
- ``induction``: una cabeza que nace, la que busca qué venía detrás la otra vez.
- ``pre_norm``: la misma capa con la norma delante, para lo que no son palabras.
- ``seeing``: una fotografía es una frase de trozos.
- ``hearing``: un sonido es otra, y se escribe mientras se oye.
- ``plots``: dibujar tensores, con los colores del curso, y enseñar este código.

Lo demás tiene su propio cuarto:

- ``checks``: lo que se comprueba antes de una cuenta.
- ``explorers``: las piezas que responden a la mano en un cuaderno.
- ``probes``: preguntas que se le hacen a un modelo entrenado, y las tablas con sus frases.
- ``model_files``: los archivos de un modelo: de dónde se descargan, su huella y cómo se leen.
- ``translator_model``: los pesos del traductor, los ids de sus marcas y cómo se leen.

Al lado, lo usan los demás: ``course_tools``, lo que abre el curso y entrena el traductor;
``course_checkers``, las comprobaciones de los ejercicios; ``imagenes``, ``sitio`` y ``aula``.

Las letras de las formas son las mismas en todo el curso:

====== =================================================================
letra  qué cuenta
====== =================================================================
B      frases del lote (*batch*)
L      tokens de una frase; L_q los que preguntan, L_k los que responden
h      cabezas
d_model anchura del modelo (``dim_embedding``)
d_k    anchura de una query y de una key en una cabeza
d_v    anchura de un value en una cabeza
====== =================================================================
"""

from importlib import import_module


def lazy(package, module_of):
    """El ``__getattr__`` y el ``__dir__`` de un paquete cuyos nombres se importan al usarlos.

    ``module_of`` dice en qué módulo del paquete está cada nombre público.
    """

    def find(name):
        if name not in module_of:
            raise AttributeError(f"{package} no tiene «{name}». Tiene: {', '.join(module_of)}.")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return find, lambda: sorted(module_of)


# Nombre público → módulo: `import course_lib` no carga ni matplotlib ni transformers.
_MODULE_OF = {
    "scaled_dot_product_attention": "attention", "ScaledDotProductAttention": "attention",
    "MultiHeadAttention": "attention", "learn_neighbours": "neighbours", "causal_mask": "masks",
    "padding_mask": "masks", "combine_masks": "masks", "convert_mask": "masks",
    "window_mask": "masks", "Embedding": "layers", "PositionalEncoding": "layers",
    "AddAndNorm": "layers", "FeedForward": "layers", "rotary": "layers", "RMSNorm": "layers",
    "SwiGLU": "layers", "EncoderLayer": "transformer", "Encoder": "transformer",
    "TransformerEncoder": "transformer", "DecoderLayer": "transformer", "Decoder": "transformer",
    "TransformerDecoder": "transformer", "Transformer": "transformer", "load_bert": "bert",
    "extract_embeddings": "bert", "encoder_from_bert": "bert", "load_translator": "translator",
    "flash_attention": "flash", "DecoderOnly": "decoder_only", "generate": "sampling",
    "next_token_probabilities": "sampling", "decoder_from_llama": "llama", "load_llama": "llama",
    "learn_induction": "induction", "load_vision": "seeing", "read_picture": "seeing",
    "load_whisper": "hearing", "read_sound": "hearing", "spectrogram": "hearing", "transcribe": "hearing",
    "show_source": "plots.source",
}  # fmt: skip

__all__ = list(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
