"""El Transformer: encoder, decoder y los dos juntos.

Todo es *post-norm*, como en el artículo: cada subcapa calcula LayerNorm(x + f(x)).
Las máscaras son booleanas y True significa «puede atender» (``course_lib.masks``).

Todo lo que atiende devuelve un par, ``(output, weights)``: una atención, una capa, una pila y el
modelo entero. Aquí los pesos no se guardan si no se piden, con ``need_weights=True``: el segundo es
``None`` y trabaja el núcleo fundido de torch, que es más rápido y gasta menos memoria. Pedidos:

- ``EncoderLayer`` da los suyos, ``(B, h, L, L)``.
- ``DecoderLayer`` da dos: ``(propios, cruzados)``, ``(B, h, m_D, m_D)`` y ``(B, h, m_D, m_E)``.
- Una pila, sola o con su embedding, da una lista: lo que ha dado cada una de sus Nx capas.
- ``Transformer`` da un diccionario de tres listas: ``"encoder"``, ``"decoder"`` y ``"cross"``.

Opciones que comparten todas, por nombre: ``increment`` (anchura de la red densa,
en veces d_model), ``activation`` ("relu" o "gelu"), ``dropout`` y ``eps``.

Fuente: Vaswani et al., «Attention Is All You Need» (2017), §3 y figura 1.
"""

from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import AddAndNorm, Embedding, FeedForward, PositionalEncoding
from course_lib.masks import causal_mask, combine_masks


class EncoderLayer(nn.Module):
    """Una capa del encoder: autoatención y red densa, cada una con suma y norma.

    Args:
        heads, dim_embedding: número de cabezas, h, y anchura del modelo, d_model.
        increment, activation, dropout, eps: véase el módulo.

    Fuente: Vaswani et al. (2017), §3.1, «Encoder».
    """

    def __init__(self, heads, dim_embedding, *, increment=4, activation="relu", dropout=0.0, eps=1e-5):
        super().__init__()
        self.multi_head_attention = MultiHeadAttention(heads, dim_embedding)
        self.add_and_norm_1 = AddAndNorm(dim_embedding, dropout, eps)
        self.feed_forward = FeedForward(dim_embedding, increment, activation)
        self.add_and_norm_2 = AddAndNorm(dim_embedding, dropout, eps)

    def forward(self, x, mask=None, need_weights=False):
        """Procesa un lote de frases: (B, L, d_model) → (B, L, d_model), y los pesos.

        Args:
            x: ``(B, L, d_model)``.
            mask: se difunde hasta ``(B, h, L, L)``; lo normal, ``padding_mask(...)``.
        """
        attended, weights = self.multi_head_attention(x, x, x, mask, need_weights)
        x = self.add_and_norm_1(x, attended)
        return self.add_and_norm_2(x, self.feed_forward(x)), weights


class Encoder(nn.Module):
    """Pila de Nx capas de encoder.

    Args:
        heads, dim_embedding, Nx: cabezas, h; anchura del modelo, d_model; y capas (6 en el artículo).
        options: las de ``EncoderLayer``.

    Fuente: Vaswani et al. (2017), §3.1.
    """

    def __init__(self, heads, dim_embedding, Nx, **options):
        super().__init__()
        self.encoder_layers = nn.ModuleList(EncoderLayer(heads, dim_embedding, **options) for _ in range(Nx))

    def forward(self, x, mask=None, need_weights=False):
        """Pasa por todas las capas: (B, L, d_model) → (B, L, d_model), y los pesos."""
        all_weights = []
        for layer in self.encoder_layers:
            x, weights = layer(x, mask, need_weights)
            all_weights.append(weights)
        return x, all_weights if need_weights else None


class TransformerEncoder(nn.Module):
    """El encoder entero: embedding, posición y Nx capas.

    Args:
        vocab_size, max_sequence_len: tokens del vocabulario de origen y de la frase más larga.
        dim_embedding, heads, Nx: anchura del modelo, d_model; cabezas, h; y capas.
        dropout: también se aplica a la suma de embedding y posición (§5.4).
        options: las demás de ``EncoderLayer``.

    Fuente: Vaswani et al. (2017), figura 1, mitad izquierda.
    """

    def __init__(self, vocab_size, dim_embedding, max_sequence_len, heads, Nx, *, dropout=0.0, **options):
        super().__init__()
        self.input_embedding = Embedding(vocab_size, dim_embedding)
        self.positional_encoding = PositionalEncoding(max_sequence_len, dim_embedding, dropout)
        self.encoder = Encoder(heads, dim_embedding, Nx, dropout=dropout, **options)

    def embed(self, token_ids):
        """Lo que entra en la primera capa: (B, L) ids → (B, L, d_model)."""
        return self.positional_encoding(self.input_embedding(token_ids))

    def forward(self, token_ids, mask=None, need_weights=False):
        """De los ids a los vectores contextuales: (B, L) → (B, L, d_model), y los pesos.

        Args:
            token_ids: enteros ``(B, L)``.
            mask: ``padding_mask(attention_mask)``, ``(B, 1, 1, L)``.
        """
        return self.encoder(self.embed(token_ids), mask, need_weights)


class DecoderLayer(nn.Module):
    """Una capa del decoder: autoatención enmascarada, atención cruzada y red densa.

    En la atención cruzada las queries salen del decoder, y las keys y los values, del encoder.

    Args:
        heads, dim_embedding: número de cabezas, h, y anchura del modelo, d_model.
        dim_encoder: anchura de la salida del encoder, si es otra.
        increment, activation, dropout, eps: véase el módulo.

    Fuente: Vaswani et al. (2017), §3.1, «Decoder», y §3.2.3.
    """

    def __init__(
        self, heads, dim_embedding, *, dim_encoder=None, increment=4, activation="relu", dropout=0.0, eps=1e-5
    ):
        super().__init__()
        self.masked_attention = MultiHeadAttention(heads, dim_embedding)
        self.add_and_norm_1 = AddAndNorm(dim_embedding, dropout, eps)
        self.cross_attention = MultiHeadAttention(heads, dim_embedding, kdim=dim_encoder, vdim=dim_encoder)
        self.add_and_norm_2 = AddAndNorm(dim_embedding, dropout, eps)
        self.feed_forward = FeedForward(dim_embedding, increment, activation)
        self.add_and_norm_3 = AddAndNorm(dim_embedding, dropout, eps)

    def forward(
        self, x, encoder_output, mask=None, source_mask=None, need_weights=False, cache=(None, None)
    ):
        """Procesa un lote de frases de destino: → (B, m_D, d_model), y los dos pesos.

        Args:
            x: ``(B, m_D, d_model)``.
            encoder_output: ``(B, m_E, d_model)`` (o dim_encoder).
            mask: para la autoatención, se difunde hasta ``(B, h, m_D, m_D)``. No se
                pone sola: sin ella cada posición ve el futuro.
            source_mask: para la atención cruzada, se difunde hasta ``(B, h, m_D, m_E)``;
                lo normal, la ``padding_mask`` del origen.
            cache: dos ``KeyValueCache``, la de lo escrito y la del origen. x son solo los tokens
                nuevos; ``encoder_output`` se proyecta la primera vez y después no se usa.
        """
        own, cross = cache
        attended, self_weights = self.masked_attention(x, x, x, mask, need_weights, own)
        x = self.add_and_norm_1(x, attended)
        if cross is not None and cross.length:
            encoder_output = encoder_output[:, :0]  # ya está guardado: nada nuevo que leer
        attended, cross_weights = self.cross_attention(
            x, encoder_output, encoder_output, source_mask, need_weights, cross
        )
        x = self.add_and_norm_2(x, attended)
        x = self.add_and_norm_3(x, self.feed_forward(x))
        return x, (self_weights, cross_weights) if need_weights else None


class Decoder(nn.Module):
    """Pila de Nx capas de decoder.

    Args:
        heads, dim_embedding, Nx: cabezas, h; anchura del modelo, d_model; y capas.
        options: las de ``DecoderLayer``.

    Fuente: Vaswani et al. (2017), §3.1.
    """

    def __init__(self, heads, dim_embedding, Nx, **options):
        super().__init__()
        self.decoder_layers = nn.ModuleList(DecoderLayer(heads, dim_embedding, **options) for _ in range(Nx))

    def forward(
        self, x, encoder_output, mask=None, source_mask=None, need_weights=False, cache=None
    ):
        """Pasa por todas las capas: (B, m_D, d_model) → (B, m_D, d_model), y los pesos."""
        all_weights = []
        for i, layer in enumerate(self.decoder_layers):
            kept = (None, None) if cache is None else (cache.own[i], cache.cross[i])
            x, weights = layer(x, encoder_output, mask, source_mask, need_weights, kept)
            all_weights.append(weights)
        return x, all_weights if need_weights else None


class TransformerDecoder(nn.Module):
    """El decoder entero: embedding, posición y Nx capas. La máscara causal la pone él.

    Args:
        vocab_size, max_sequence_len: tokens del vocabulario de destino y de la frase más larga.
        dim_embedding, heads, Nx: anchura del modelo, d_model; cabezas, h; y capas.
        dropout: también se aplica a la suma de embedding y posición (§5.4).
        options: las demás de ``DecoderLayer``.

    Fuente: Vaswani et al. (2017), figura 1, mitad derecha.
    """

    def __init__(self, vocab_size, dim_embedding, max_sequence_len, heads, Nx, *, dropout=0.0, **options):
        super().__init__()
        self.output_embedding = Embedding(vocab_size, dim_embedding)
        self.positional_encoding = PositionalEncoding(max_sequence_len, dim_embedding, dropout)
        self.decoder = Decoder(heads, dim_embedding, Nx, dropout=dropout, **options)

    def forward(
        self,
        token_ids,
        encoder_output,
        target_mask=None,
        source_mask=None,
        need_weights=False,
        cache=None,
    ):
        """De los ids de destino (ya desplazados) a sus vectores: (B, m_D, d_model), y los pesos.

        Args:
            token_ids: enteros ``(B, m_D)``.
            encoder_output: ``(B, m_E, d_model)``.
            target_mask: relleno del destino, ``(B, 1, 1, m_D)``; se suma a la causal.
            source_mask: relleno del origen, ``(B, 1, 1, m_E)``.
            cache: una ``DecoderCache``. ``token_ids`` son entonces solo los nuevos, que siguen a
                los guardados: m_D, en las máscaras y los pesos, cuenta también estos como keys.
        """
        past = 0 if cache is None else cache.length
        x = self.positional_encoding(self.output_embedding(token_ids), past)
        causal = causal_mask(past + token_ids.shape[-1], token_ids.device)[past:]
        mask = combine_masks(causal, target_mask)
        return self.decoder(x, encoder_output, mask, source_mask, need_weights, cache)


class Transformer(nn.Module):
    """El Transformer completo: de ids de origen y de destino a puntuaciones del token siguiente.

    Args:
        source_vocab_size, target_vocab_size: tokens de los vocabularios de origen y de destino.
        dim_embedding, heads: anchura del modelo, d_model, y cabezas, h.
        max_sequence_len: la frase más larga que admite, en tokens.
        Nx, Nx_decoder: capas del encoder y del decoder; si no se dice, tantas como el encoder.
        share_embeddings: si las dos tablas y la proyección final son la misma matriz,
            como en el artículo (§3.4); exige un solo vocabulario.
        options: las de ``EncoderLayer``.

    Fuente: Vaswani et al. (2017), figura 1.
    """

    def __init__(
        self, source_vocab_size, target_vocab_size, dim_embedding, max_sequence_len, heads, Nx, *,
        Nx_decoder=None, share_embeddings=False, **options,
    ):  # fmt: skip
        super().__init__()
        self.encoder = TransformerEncoder(
            source_vocab_size, dim_embedding, max_sequence_len, heads, Nx, **options
        )
        self.decoder = TransformerDecoder(
            target_vocab_size, dim_embedding, max_sequence_len, heads, Nx_decoder or Nx, **options
        )
        self.output_projection = nn.Linear(dim_embedding, target_vocab_size, bias=False)
        if share_embeddings:
            if source_vocab_size != target_vocab_size:
                raise ValueError(
                    "Transformer: share_embeddings necesita un solo vocabulario y hay "
                    f"{source_vocab_size} tokens de origen y {target_vocab_size} de destino."
                )
            shared = self.encoder.input_embedding.table
            self.decoder.output_embedding.table = shared
            self.output_projection.weight = shared.weight

    def forward(self, source_ids, target_ids, source_mask=None, target_mask=None, need_weights=False):
        """Puntúa, en cada posición del destino, todos los tokens que pueden venir después.

        Args:
            source_ids: enteros ``(B, m_E)``.
            target_ids: enteros ``(B, m_D)``, desplazados: empiezan por el token de inicio.
            source_mask, target_mask: rellenos, ``(B, 1, 1, m_E)`` y ``(B, 1, 1, m_D)``.

        Returns:
            ``(logits, weights)``: puntuaciones sin softmax, ``(B, m_D, target_vocab_size)``, y los
            pesos de las tres atenciones.
        """
        encoded, encoder_weights = self.encoder(source_ids, source_mask, need_weights)
        decoded, decoder_weights = self.decoder(target_ids, encoded, target_mask, source_mask, need_weights)
        logits = self.output_projection(decoded)
        if not need_weights:
            return logits, None
        own, cross = map(list, zip(*decoder_weights, strict=True))
        return logits, {"encoder": encoder_weights, "decoder": own, "cross": cross}
