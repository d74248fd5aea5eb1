"""La atención: producto escalar escalado y multicabeza.

    Attention(Q, K, V) = softmax(Q·Kᵀ / √d_k) · V

Los argumentos van siempre en el orden (query, key, value, mask). La máscara es
booleana y True significa «puede atender» (véase ``course_lib.masks``).

Fuente: Vaswani et al., «Attention Is All You Need» (2017), §3.2.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks import check_decimals, check_whole, is_tracing, is_transformed
from course_lib.masks import check_shapes


def scaled_dot_product_attention(query, key, value, mask=None):
    """Atención de producto escalar escalado: softmax(Q·Kᵀ / √d_k)·V.

    Los ejes de delante, «...», son los que haya: lo habitual es el lote y las cabezas,
    ``(B, h)``, y así se dan las formas en el código.

    Args:
        query: ``(..., L_q, d_k)``.
        key: ``(..., L_k, d_k)``.
        value: ``(..., L_k, d_v)``.
        mask: booleana, se difunde hasta ``(..., L_q, L_k)``; True = puede atender.

    Returns:
        ``(output, weights)``: la salida ``(..., L_q, d_v)`` y los pesos
        ``(..., L_q, L_k)``. Cada fila de pesos suma 1; si la máscara bloquea
        una fila entera, sus pesos y su salida son 0, nunca NaN.

    Raises:
        ValueError: si las formas no encajan; el mensaje las nombra.
        TypeError: si la máscara no es booleana.

    Fuente: Vaswani et al. (2017), §3.2.1, ecuación 1.
    """
    check_shapes(query, key, value, mask)
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1)  # (B, h, L_q, L_k)
    scaled = scores / math.sqrt(d_k)  # (B, h, L_q, L_k)
    if mask is not None:
        # Lo bloqueado recibe el número más negativo que cabe, y su exponencial es 0.
        scaled = scaled.masked_fill(~mask, torch.finfo(scaled.dtype).min)  # (B, h, L_q, L_k)
    weights = torch.softmax(scaled, dim=-1)  # (B, h, L_q, L_k)
    if mask is not None:
        # Solo cambia las filas bloqueadas del todo: ahí la softmax reparte a partes
        # iguales entre tokens prohibidos, y aquí se queda en 0.
        weights = weights.masked_fill(~mask, 0.0)  # (B, h, L_q, L_k)
    output = weights @ value  # (B, h, L_q, d_v)
    return output, weights


class ScaledDotProductAttention(nn.Module):
    """Atención de producto escalar escalado, como bloque (Vaswani et al., 2017, §3.2.1).

    No tiene parámetros: lo que se aprende son las proyecciones que hay antes. Hace las
    mismas cuentas que ``scaled_dot_product_attention``, con más prisa.

    Args:
        dim_key: anchura de las queries y las keys, d_k.
    """

    def __init__(self, dim_key):
        super().__init__()
        self.dim_key = dim_key

    def forward(self, query, key, value, mask=None, need_weights=True):
        """Atiende.

        Args:
            query, key, value, mask: como en la función; query, ``(..., L_q, d_k)``.
            need_weights: si es False no se guardan los pesos y hace el trabajo el
                núcleo fundido de torch, que gasta mucha menos memoria.

        Returns:
            ``(output, weights)``; ``weights`` es ``None`` si ``need_weights=False``.

        Raises:
            ValueError: si las formas no encajan entre sí o con ``dim_key``.
        """
        check_shapes(query, key, value, mask)
        if query.shape[-1] != self.dim_key:
            raise ValueError(
                f"ScaledDotProductAttention(dim_key={self.dim_key}): query tiene forma "
                f"{tuple(query.shape)} y su último eje tiene que medir {self.dim_key}."
            )
        if is_transformed() or (need_weights and is_tracing()):
            output, weights = scaled_dot_product_attention(query, key, value, mask)  # sin trucos
            return output, weights if need_weights else None
        if need_weights:
            return _attend_fast(query, key, value, mask)
        if mask is not None:
            mask = torch.atleast_2d(mask)  # el núcleo fundido no entiende una máscara (L_k,)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), None

    def extra_repr(self):
        return f"dim_key={self.dim_key}"


class MultiHeadAttention(nn.Module):
    """Atención multicabeza (Vaswani et al., 2017, §3.2.2).

        MultiHead(Q, K, V) = Concat(head_1, …, head_h)·W_O
        head_i = Attention(Q·W_Q,i, K·W_K,i, V·W_V,i)

    Cada cabeza proyecta **todas** las d_model dimensiones a d_k = d_model / h. Las
    h proyecciones de las queries se calculan juntas, en una sola capa de d_model a
    h·d_k, y después se reparten; lo mismo con las keys y los values.

    Sus nombres y los del artículo: ``query_projection`` = W_Q, ``key_projection`` =
    W_K, ``value_projection`` = W_V, ``output_projection`` = W_O (con sesgo, como en
    BERT y en torch).

    Args:
        heads, dim_embedding: cabezas, h, y anchura del modelo, d_model, que ``heads`` divide.
        kdim, vdim: anchura de lo que entra como key y como value, si no es
            d_model (en la atención cruzada el encoder puede tener otra).
        bias: si las cuatro proyecciones llevan sesgo.
        dim_kv: lo que miden juntas las keys de todas las cabezas: d_model, salvo en la heredera
            que las comparte, ``course_lib.decoder_only.GroupedQueryAttention``.

    Raises:
        ValueError: si ``heads`` no divide a ``dim_embedding``.
    """

    def __init__(self, heads, dim_embedding, *, kdim=None, vdim=None, bias=True, dim_kv=None):
        super().__init__()
        check_heads(type(self).__name__, heads, dim_embedding)
        self.heads, self.dim_embedding = heads, dim_embedding = int(heads), int(dim_embedding)
        self.dim_key = dim_embedding // heads
        dim_kv = dim_kv or dim_embedding
        self._widths = dim_embedding, kdim or dim_embedding, vdim or dim_embedding
        self.query_projection = nn.Linear(dim_embedding, dim_embedding, bias=bias)
        self.key_projection = nn.Linear(kdim or dim_embedding, dim_kv, bias=bias)
        self.value_projection = nn.Linear(vdim or dim_embedding, dim_kv, bias=bias)
        self.attention = ScaledDotProductAttention(self.dim_key)
        self.output_projection = nn.Linear(dim_embedding, dim_embedding, bias=bias)

    def forward(self, query, key, value, mask=None, need_weights=True, cache=None):
        """Atiende con todas las cabezas.

        Args:
            query: ``(B, L_q, d_model)``.
            key, value: ``(B, L_k, d_model)`` (o kdim y vdim).
            mask: booleana, se difunde hasta ``(B, h, L_q, L_k)``; True = puede atender.
            need_weights: si es False usa el núcleo fundido y no devuelve pesos.
            cache: una ``KeyValueCache``. Guarda las keys y los values nuevos, y se atiende a
                todo lo guardado: en la máscara y en los pesos, L_k lo cuenta también.

        Returns:
            ``(output, weights)``: ``(B, L_q, d_model)`` y ``(B, h, L_q, L_k)``, o ``None``.

        Raises:
            ValueError: si las formas no encajan; el mensaje las nombra.
        """
        self._check_inputs(query, key, value)
        # (B, L, d_model) → (B, h, L, d_k)
        q = self.split_heads(self.query_projection(query))
        k = self.split_heads(self.key_projection(key))
        v = self.split_heads(self.value_projection(value))
        if cache is not None:  # para escribir token a token: con lo de los tokens de antes
            k, v = cache.extend(k, v)
        output, weights = self.attention(q, k, v, mask, need_weights)
        return self.output_projection(self.concat_heads(output)), weights

    def split_heads(self, x):
        """Reparte la última dimensión entre las cabezas: (B, L, h·d_k) → (B, h, L, d_k)."""
        batch, length, width = x.shape
        return x.view(batch, length, width // self.dim_key, self.dim_key).transpose(1, 2)

    def concat_heads(self, x):
        """Junta las cabezas, una tras otra: (B, h, L, d_k) → (B, L, h·d_k)."""
        return x.transpose(1, 2).flatten(-2)

    def _check_inputs(self, query, key, value):
        layer, shape = self._modules["query_projection"], getattr(query, "shape", ())
        if query is key is value and len(shape) == 3 and self._widths == 3 * (shape[-1],):  # lo corriente
            if query.dtype == getattr(layer, "weight", query).dtype:
                return
        named, widths = {"query": query, "key": key, "value": value}, self._widths
        check_decimals(self, *widths, **named)
        for (name, x), width in zip(named.items(), widths):
            if x.dim() != 3:
                advice = f" Si es una sola frase, usa {name}.unsqueeze(0)." if x.dim() == 2 else ""
                raise ValueError(
                    f"{type(self).__name__}: {name} tiene forma {tuple(x.shape)} y tiene que tener "
                    f"tres ejes: (B, L, {width}).{advice}"
                )


def check_heads(where, heads, dim_embedding, kv_heads=1):
    """``ValueError``, de ``where``, si ``heads`` no divide a ``dim_embedding`` o ``kv_heads`` a ``heads``."""
    check_whole(where, heads=heads, dim_embedding=dim_embedding, kv_heads=kv_heads)
    if dim_embedding % heads:
        raise ValueError(
            f"{where}: heads = {heads} no divide a dim_embedding = {dim_embedding}"
            f"{_suggest_heads(heads, dim_embedding)}"
        )
    if heads % kv_heads:
        raise ValueError(
            f"{where}: kv_heads = {kv_heads} no divide a heads = {heads}: cada cabeza de keys y "
            "values la comparten las mismas cabezas de queries. Prueba con otro divisor."
        )


def _attend_fast(query, key, value, mask):
    """Da lo mismo que ``scaled_dot_product_attention``, con tres trucos para ir más deprisa."""
    learns, (L_k, d_k) = query.requires_grad or key.requires_grad, key.shape[-2:]
    # 1. La escala multiplica las puntuaciones, como en BERT, y así redondea igual que él; o las
    # queries, que son menos números, si los tokens son muchos o hay gradiente que guardar.
    early = learns or L_k > 16 * d_k  # BERT no pasa de ahí
    # 2. Las keys de cada cabeza están a saltos en la memoria: juntarlas ahorra una copia lenta.
    scores = (query * d_k**-0.5 if early else query) @ key.contiguous().transpose(-2, -1)
    if not early:
        scores *= d_k**-0.5
    # 3. La máscara y, si no hay gradiente que guardar, la softmax se escriben encima de las puntuaciones.
    if mask is not None:
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1, out=None if scores.requires_grad else scores)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


def _suggest_heads(heads, dim_embedding):
    divisors = [n for n in range(1, dim_embedding + 1) if dim_embedding % n == 0]
    *others, last = map(str, sorted(sorted(divisors, key=lambda n: abs(n - heads))[:4]))
    options = f"{', '.join(others)} o {last}" if others else last
    return f": sobran {dim_embedding % heads} dimensiones. Prueba con heads = {options}."
