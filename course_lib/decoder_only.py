"""Un modelo que es solo decoder, como los LLM de hoy: lee lo escrito y puntúa lo que sigue.

Es la mitad derecha del Transformer sin la atención cruzada, con cinco cambios: se normaliza
**antes** de cada subcapa, con ``RMSNorm``; la posición no se suma al principio, sino que gira
queries y keys en cada capa (``rotary``); varias cabezas comparten keys y values; la red densa es
``SwiGLU``; y no hay sesgos. Es la arquitectura de Llama: ``course_lib.llama`` carga sus pesos.

Fuente: Touvron et al., «LLaMA» (2023), §2.2; Ainslie et al., «GQA» (2023), §2.
"""

from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import Embedding, RMSNorm, SwiGLU
from course_lib.masks import causal_mask, combine_masks


class DecoderOnlyLayer(nn.Module):
    """Una capa: x + Atención(RMSNorm(x)), y después x + SwiGLU(RMSNorm(x)).

    Args:
        heads: número de cabezas, h.
        dim_embedding: anchura del modelo, d_model.
        dim_hidden: anchura de dentro de la red densa.
        kv_heads: cabezas de keys y values, h_kv.
        rotary_base: la de ``rotary``.
        eps: la de ``RMSNorm``.

    Fuente: Touvron et al. (2023), §2.2.
    """

    def __init__(
        self, heads, dim_embedding, dim_hidden, *, kv_heads=None, rotary_base=1e4, eps=1e-6
    ):
        super().__init__()
        self.normalization_1 = RMSNorm(dim_embedding, eps)
        self.attention = MultiHeadAttention(
            heads, dim_embedding, kv_heads=kv_heads, bias=False, rotary_base=rotary_base
        )
        self.normalization_2 = RMSNorm(dim_embedding, eps)
        self.feed_forward = SwiGLU(dim_embedding, dim_hidden)

    def forward(self, x, mask=None, return_weights=False, cache=None):
        """Procesa un lote de frases.

        Args:
            x: ``(B, L, d_model)``.
            mask: se difunde hasta ``(B, h, L, L)``; sin ella cada posición ve el futuro.
            return_weights: si se devuelven también los pesos ``(B, h, L, L)``.
            cache: una ``KeyValueCache``; x son solo los tokens nuevos.

        Returns:
            ``(B, L, d_model)``, o el par ``(salida, pesos)``.
        """
        seen = self.normalization_1(x)
        attended, weights = self.attention(seen, seen, seen, mask, return_weights, cache)
        x = x + attended
        x = x + self.feed_forward(self.normalization_2(x))
        return (x, weights) if return_weights else x


class DecoderOnly(nn.Module):
    """El modelo entero: tabla, Nx capas, una última normalización y la proyección al vocabulario.

    Args:
        vocab_size: tokens del vocabulario.
        dim_embedding: anchura del modelo, d_model.
        heads: número de cabezas, h; ``dim_embedding / heads`` tiene que ser par.
        Nx: número de capas.
        kv_heads: cabezas de keys y values, h_kv; por defecto, tantas como ``heads``.
        dim_hidden: anchura de dentro de la red densa; por defecto, 8/3·d_model.
        rotary_base, eps: las de ``DecoderOnlyLayer``.
        tied: si la tabla y la proyección final son la misma matriz.

    Fuente: Touvron et al. (2023), §2.2; Ainslie et al. (2023).
    """

    def __init__(
        self,
        vocab_size,
        dim_embedding,
        heads,
        Nx,
        *,
        kv_heads=None,
        dim_hidden=None,
        rotary_base=1e4,
        eps=1e-6,
        tied=True,
    ):
        super().__init__()
        dim_hidden = dim_hidden or 8 * dim_embedding // 3
        options = {"kv_heads": kv_heads, "rotary_base": rotary_base, "eps": eps}
        self.embedding = Embedding(vocab_size, dim_embedding, scale=False)
        self.layers = nn.ModuleList(
            DecoderOnlyLayer(heads, dim_embedding, dim_hidden, **options) for _ in range(Nx)
        )
        self.normalization = RMSNorm(dim_embedding, eps)
        self.output_projection = nn.Linear(dim_embedding, vocab_size, bias=False)
        if tied:
            self.output_projection.weight = self.embedding.table.weight

    def forward(self, token_ids, mask=None, cache=None, return_weights=False):
        """Puntúa, en cada posición, todos los tokens que pueden venir después.

        Args:
            token_ids: enteros ``(B, L)``; con ``cache``, solo los nuevos.
            mask: relleno, ``(B, 1, 1, L)``, al final; con ``cache``, también lo guardado cuenta en
                L. La causal la pone el modelo.
            cache: una ``DecoderCache``.
            return_weights: si se devuelven también los pesos de cada capa.

        Returns:
            *Logits* ``(B, L, vocab_size)``, o ``(logits, pesos)``, con una lista de Nx tensores.
        """
        past = 0 if cache is None else cache.length
        causal = causal_mask(past + token_ids.shape[-1], token_ids.device)[past:]
        mask = combine_masks(causal, mask)
        x, all_weights = self.embedding(token_ids), []
        for i, layer in enumerate(self.layers):
            kept = None if cache is None else cache.own[i]
            x = layer(x, mask, return_weights, kept)
            if return_weights:
                x, weights = x
                all_weights.append(weights)
        logits = self.output_projection(self.normalization(x))
        return (logits, all_weights) if return_weights else logits
