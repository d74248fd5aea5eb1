"""Un modelo que es solo decoder, como los LLM de hoy: lee lo escrito y puntúa lo que sigue.

Es la mitad derecha del Transformer sin la atención cruzada, con cinco cambios: se normaliza
**antes** de cada subcapa, con ``RMSNorm``; la posición no se suma al principio, sino que gira
queries y keys en cada capa (``rotary``); varias cabezas comparten keys y values; la red densa es
``SwiGLU``; y no hay sesgos. Es la arquitectura de Llama: ``course_lib.llama`` carga sus pesos.

Fuente: Touvron et al., «LLaMA» (2023), §2.2; Ainslie et al., «GQA» (2023), §2.
"""

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, check_heads
from course_lib.layers import Embedding, RMSNorm, SwiGLU, rotary
from course_lib.masks import causal_mask, combine_masks


class GroupedQueryAttention(MultiHeadAttention):
    """La multicabeza de los modelos de hoy: cabezas que comparten keys y values, y que giran.

    Args:
        heads, dim_embedding: cabezas de queries, h, y anchura del modelo, d_model.
        kv_heads: cabezas de keys y values, h_kv: cada una la comparten ``heads / kv_heads`` cabezas
            de queries seguidas (GQA; con 1, MQA). Por defecto, tantas como ``heads``.
        bias: si las cuatro proyecciones llevan sesgo.
        rotary_base: si se da, queries y keys se giran según su posición (``layers.rotary``).

    Raises:
        ValueError: si ``heads`` no divide a ``dim_embedding``, o ``kv_heads`` a ``heads``.

    Fuente: Shazeer (2019); Ainslie et al., «GQA» (2023), §2; el giro, Su et al., «RoFormer» (2021).
    """

    def __init__(self, heads, dim_embedding, *, kv_heads=None, bias=True, rotary_base=None):
        kv_heads = heads if kv_heads is None else kv_heads
        check_heads("GroupedQueryAttention", heads, dim_embedding, kv_heads)
        dim_kv = int(dim_embedding) // int(heads) * int(kv_heads)
        super().__init__(heads, dim_embedding, bias=bias, dim_kv=dim_kv)
        self.kv_heads, self.rotary_base, self.rotary_stretch = int(kv_heads), rotary_base, None

    def forward(self, query, key, value, mask=None, need_weights=True, cache=None):
        """Atiende con todas las cabezas, y cada una con las keys y los values de su grupo.

        Args:
            query, key, value: ``(B, L_q, d_model)`` y ``(B, L_k, d_model)``.
            mask, need_weights: como en ``MultiHeadAttention``.
            cache: una ``KeyValueCache``, que guarda las keys ya giradas y sin repetir,
                ``(B, h_kv, L, d_k)``. El giro sigue donde se quedó.

        Returns:
            ``(output, weights)``: ``(B, L_q, d_model)`` y ``(B, h, L_q, L_k)``, o ``None``.
        """
        self._check_inputs(query, key, value)
        q = self.split_heads(self.query_projection(query))  # (B, h, L, d_k)
        k = self.split_heads(self.key_projection(key))  # (B, h_kv, L, d_k)
        v = self.split_heads(self.value_projection(value))
        if self.rotary_base is not None:
            start = 0 if cache is None else cache.length
            positions = torch.arange(start, start + k.shape[-2], device=k.device)
            q, k = (rotary(x, positions, self.rotary_base, self.rotary_stretch) for x in (q, k))
        if cache is not None:
            k, v = cache.extend(k, v)
        if self.kv_heads < self.heads:  # (B, h_kv, L, d_k) → (B, h, L, d_k)
            k, v = (x.repeat_interleave(self.heads // self.kv_heads, dim=1) for x in (k, v))
        output, weights = self.attention(q, k, v, mask, need_weights)
        return self.output_projection(self.concat_heads(output)), weights


class DecoderOnlyLayer(nn.Module):
    """Una capa: x + Atención(RMSNorm(x)), y después x + SwiGLU(RMSNorm(x)).

    Args:
        heads, dim_embedding: número de cabezas, h, y anchura del modelo, d_model.
        dim_hidden, kv_heads: anchura de dentro de la red densa, y cabezas de keys y values, h_kv.
        rotary_base, eps: la de ``rotary`` y la de ``RMSNorm``.

    Fuente: Touvron et al. (2023), §2.2.
    """

    def __init__(self, heads, dim_embedding, dim_hidden, *, kv_heads=None, rotary_base=1e4, eps=1e-6):
        super().__init__()
        self.normalization_1 = RMSNorm(dim_embedding, eps)
        self.attention = GroupedQueryAttention(
            heads, dim_embedding, kv_heads=kv_heads, bias=False, rotary_base=rotary_base
        )
        self.normalization_2 = RMSNorm(dim_embedding, eps)
        self.feed_forward = SwiGLU(dim_embedding, dim_hidden)

    def forward(self, x, mask=None, need_weights=False, cache=None):
        """Procesa un lote de frases.

        Args:
            x: ``(B, L, d_model)``.
            mask: se difunde hasta ``(B, h, L, L)``; sin ella cada posición ve el futuro.
            cache: una ``KeyValueCache``; x son solo los tokens nuevos.

        Returns:
            ``(output, weights)``: ``(B, L, d_model)`` y ``(B, h, L, L)``; sin pesos, ``None``.
        """
        seen = self.normalization_1(x)
        attended, weights = self.attention(seen, seen, seen, mask, need_weights, cache)
        x = x + attended
        return x + self.feed_forward(self.normalization_2(x)), weights


class DecoderOnly(nn.Module):
    """El modelo entero: tabla, Nx capas, una última normalización y la proyección al vocabulario.

    Args:
        vocab_size, dim_embedding: tokens del vocabulario y anchura del modelo, d_model.
        heads, Nx: cabezas, h, y capas; ``dim_embedding / heads`` tiene que ser par.
        kv_heads: cabezas de keys y values, h_kv; por defecto, tantas como ``heads``.
        dim_hidden: anchura de dentro de la red densa; por defecto, 8/3·d_model.
        rotary_base, eps: las de ``DecoderOnlyLayer``.
        tied: si la tabla y la proyección final son la misma matriz.

    Fuente: Touvron et al. (2023), §2.2; Ainslie et al. (2023).
    """

    def __init__(
        self, vocab_size, dim_embedding, heads, Nx, *, kv_heads=None, dim_hidden=None,
        rotary_base=1e4, eps=1e-6, tied=True,
    ):  # fmt: skip
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

    def forward(self, token_ids, mask=None, need_weights=False, cache=None):
        """Puntúa, en cada posición, todos los tokens que pueden venir después.

        Args:
            token_ids: enteros ``(B, L)``; con ``cache``, solo los nuevos.
            mask: relleno, ``(B, 1, 1, L)``, al final; con ``cache``, también lo guardado cuenta en
                L. La causal la pone el modelo.
            cache: una ``DecoderCache``.

        Returns:
            ``(logits, weights)``: ``(B, L, vocab_size)`` y una lista de Nx tensores
            ``(B, h, L, L)``; sin pesos, ``None``.
        """
        past = 0 if cache is None else cache.length
        x, all_weights = self.embedding(token_ids), []
        causal = causal_mask(past + token_ids.shape[-1], token_ids.device)[past:]
        mask = combine_masks(causal, mask)
        for i, layer in enumerate(self.layers):
            kept = None if cache is None else cache.own[i]
            x, weights = layer(x, mask, need_weights, kept)
            all_weights.append(weights)
        logits = self.output_projection(self.normalization(x))
        return logits, all_weights if need_weights else None
