"""La capa que mira una fotografía y la que escucha: la del Transformer, con la norma delante.

Dentro está la atención de la lección 5, sin tocar. Cambia el orden: se normaliza **antes** de cada
subcapa (*pre-norm*), y lo que entra llega al final por una suma, sin normas en medio.

Fuente: Xiong et al., «On Layer Normalization in the Transformer Architecture» (2020), §3.
"""

from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward


class PreNormLayer(nn.Module):
    """x + Atención(norma(x)), después x + Cruzada(norma(x)) si la hay, y al final x + Densa(norma(x)).

    Args:
        heads, dim_embedding: cabezas, h, y anchura del modelo, d_model.
        cross: si tiene atención cruzada, como la capa de un decoder.
        eps: lo que se suma a la varianza al normalizar.

    Fuente: Xiong et al. (2020), §3, figura 1b.
    """

    def __init__(self, heads, dim_embedding, *, cross=False, eps=1e-5):
        super().__init__()
        self.normalization_1 = nn.LayerNorm(dim_embedding, eps)
        self.attention = MultiHeadAttention(heads, dim_embedding)
        if cross:
            self.normalization_2 = nn.LayerNorm(dim_embedding, eps)
            self.cross_attention = MultiHeadAttention(heads, dim_embedding)
        self.normalization_3 = nn.LayerNorm(dim_embedding, eps)
        self.feed_forward = FeedForward(dim_embedding, activation="gelu")

    def forward(self, x, encoded=None, mask=None, need_weights=False, cache=(None, None)):
        """Procesa un lote: de fotografías, de sonidos o de frases.

        Args:
            x: ``(B, L, d_model)``.
            encoded: lo que mira la atención cruzada, ``(B, L_E, d_model)``.
            mask: de la atención propia; se difunde hasta ``(B, h, L, L)``.
            need_weights: si se guardan los pesos.
            cache: dos ``KeyValueCache``, la de lo propio y la de ``encoded``; x son solo los tokens nuevos.

        Returns:
            ``(output, (own, cross))``: ``(B, L, d_model)``, y los pesos ``(B, h, L, L)`` y
            ``(B, h, L, L_E)``, o ``None``.
        """
        seen, cross = self.normalization_1(x), None
        attended, own = self.attention(seen, seen, seen, mask, need_weights, cache[0])
        x = x + attended
        if encoded is not None:
            seen = self.normalization_2(x)
            if cache[1] is not None and cache[1].length:
                encoded = encoded[:, :0]  # sus keys y sus values ya están guardados
            attended, cross = self.cross_attention(seen, encoded, encoded, None, need_weights, cache[1])
            x = x + attended
        return x + self.feed_forward(self.normalization_3(x)), (own, cross)
