"""Las piezas que rodean a la atención: embedding, posición, suma y norma, red densa.

Primero, las de Vaswani et al., «Attention Is All You Need» (2017), §3.1, §3.3, §3.4 y §3.5; después,
las que usan en su lugar los modelos de hoy: ``rotary``, ``RMSNorm`` y ``SwiGLU``.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks import as_tensor, check_decimals, holds, kind_of

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class Embedding(nn.Module):
    """Tabla que da un vector a cada token (Vaswani et al., 2017, §3.4).

    El artículo multiplica los embeddings por √d_model antes de sumar la posición.
    Eso supone que la tabla empieza con valores pequeños: aquí, de varianza
    1/d_model, así que la salida empieza con varianza 1. Con la tabla de varianza
    1 que trae torch, el factor √d_model taparía la posición.

    Args:
        vocab_size: número de tokens distintos del vocabulario.
        dim_embedding: anchura del modelo, d_model.
        scale: si se multiplica por √d_model. BERT no lo hace.
    """

    def __init__(self, vocab_size, dim_embedding, scale=True):
        super().__init__()
        self.vocab_size = vocab_size
        self.factor = math.sqrt(dim_embedding) if scale else 1.0
        self.table = nn.Embedding(vocab_size, dim_embedding)
        nn.init.normal_(self.table.weight, std=dim_embedding**-0.5)

    def forward(self, token_ids):
        """Busca el vector de cada token: (B, L) enteros → (B, L, d_model).

        Raises:
            ValueError: si algún id no está en el vocabulario.
            TypeError: si los ids no son enteros.
        """
        kind = kind_of(token_ids)
        if not isinstance(token_ids, torch.Tensor) or not kind.startswith(("torch.int", "torch.uint")):
            _, text = as_tensor("token_ids", token_ids)
            advice = f"Si son ids, usa {text}.long()." if text else "Pasa input_ids."
            raise TypeError(
                f"Embedding: los ids de los tokens son un tensor de enteros y estos son {kind}. ¿Has "
                f"pasado vectores o una lista en lugar de input_ids? {advice}"
            )
        token_ids = token_ids.long()
        if not holds(((token_ids >= 0) & (token_ids < self.vocab_size)).all()):
            low, high = token_ids.aminmax()
            raise ValueError(
                f"Embedding: hay ids entre {low} y {high}, y el vocabulario va de 0 a "
                f"{self.vocab_size - 1}. ¿El tokenizador es el de este modelo?"
            )
        return self.table(token_ids) * self.factor


class PositionalEncoding(nn.Module):
    """Suma a cada vector una señal sinusoidal que dice su posición.

        PE[pos, 2i]     = sin(pos / 10000^(2i / d_model))
        PE[pos, 2i + 1] = cos(pos / 10000^(2i / d_model))

    El seno y el coseno de cada par comparten frecuencia: por eso avanzar k
    posiciones es girar cada par un ángulo fijo, PE(pos + k) = R_k · PE(pos).

    Args:
        max_sequence_len: posiciones que se preparan. No es la longitud de una
            frase, sino la mayor que el modelo admite.
        dim_embedding: anchura del modelo, d_model, par o impar (si es impar, el
            último seno se queda sin su coseno).
        dropout: probabilidad de apagar cada número de la suma (§5.4).

    Fuente: Vaswani et al. (2017), §3.5.
    """

    def __init__(self, max_sequence_len, dim_embedding, dropout=0.0):
        super().__init__()
        self.max_sequence_len = max_sequence_len
        # En float64: con posiciones grandes, un ángulo en float32 ya pierde decimales.
        positions = torch.arange(max_sequence_len, dtype=torch.float64)[:, None]
        even = torch.arange(0, dim_embedding, 2, dtype=torch.float64)  # 0, 2, 4…: ya es 2i
        angles = positions / 10_000 ** (even / dim_embedding)  # (L, ⌈d_model/2⌉)
        table = torch.empty(max_sequence_len, dim_embedding, dtype=torch.float64)
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles.cos()[:, : dim_embedding // 2]
        # Un buffer viaja con el módulo (.to, .half) y no se aprende; este tampoco se guarda.
        self.register_buffer("positional_encoding", table.float(), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, start=0):
        """Suma la posición, de ``start`` en adelante: (B, L, d_model) → (B, L, d_model).

        Raises:
            ValueError: si ``start`` + L pasa de ``max_sequence_len`` o la anchura no es d_model.
        """
        check_positions(self, x, *self.positional_encoding.shape, start)
        return self.dropout(x + self.positional_encoding[start : start + x.shape[-2]])


class LearnedPositionalEncoding(nn.Module):
    """Suma a cada vector otro que se aprende, uno por posición, como hace BERT.

    Args:
        max_sequence_len, dim_embedding: posiciones (512 en BERT) y anchura del modelo, d_model.
        dropout: probabilidad de apagar cada número de la suma.

    Fuente: Vaswani et al. (2017), §3.5, y Devlin et al., «BERT» (2019), §3.
    """

    def __init__(self, max_sequence_len, dim_embedding, dropout=0.0):
        super().__init__()
        self.max_sequence_len = max_sequence_len
        self.table = nn.Embedding(max_sequence_len, dim_embedding)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        """Suma la posición: (B, L, d_model) → (B, L, d_model); mismos errores que la sinusoidal."""
        check_positions(self, x, *self.table.weight.shape)
        return self.dropout(x + self.table.weight[: x.shape[-2]])


class AddAndNorm(nn.Module):
    """Conexión residual y normalización: LayerNorm(x + Dropout(sublayer_output)).

    Se normaliza después de sumar (*post-norm*), como en el artículo y en BERT.

    Args:
        dim_embedding: anchura del modelo, d_model.
        dropout: probabilidad de apagar cada número de la subcapa (§5.4).
        eps: lo que se suma a la varianza para no dividir por cero.

    Fuente: Vaswani et al. (2017), §3.1; Ba et al., «Layer Normalization» (2016).
    """

    def __init__(self, dim_embedding, dropout=0.0, eps=1e-5):
        super().__init__()
        self.dim_embedding = dim_embedding
        self.normalization = nn.LayerNorm(dim_embedding, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer_output):
        """Suma y normaliza: dos tensores (B, L, d_model) → (B, L, d_model).

        Raises:
            ValueError: si no tienen la misma forma.
        """
        check_decimals(self, self.dim_embedding, x=x, sublayer_output=sublayer_output)
        if x.shape != sublayer_output.shape:
            raise ValueError(
                f"AddAndNorm: x tiene forma {tuple(x.shape)} y la salida de la subcapa "
                f"{tuple(sublayer_output.shape)}: para sumarlas tienen que coincidir."
            )
        return self.normalization(x + self.dropout(sublayer_output))


class FeedForward(nn.Module):
    """Red densa de dos capas, la misma en cada posición: W₂·f(W₁·x + b₁) + b₂.

    Args:
        dim_embedding: anchura del modelo, d_model.
        increment: cuántas veces más ancha es la capa de dentro (4 en el artículo).
        activation: ``"relu"`` (artículo) o ``"gelu"`` (BERT).

    Fuente: Vaswani et al. (2017), §3.3, ecuación 2.
    """

    def __init__(self, dim_embedding, increment=4, activation="relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"FeedForward: activation = {activation!r}. Elige una de {tuple(ACTIVATIONS)}.")
        dim_hidden = round(dim_embedding * increment)
        self.feed_forward = nn.Sequential(
            nn.Linear(dim_embedding, dim_hidden),
            ACTIVATIONS[activation](),
            nn.Linear(dim_hidden, dim_embedding),
        )

    def forward(self, x):
        """Transforma cada posición por separado: (B, L, d_model) → (B, L, d_model)."""
        check_decimals(self, self.feed_forward[0].in_features, x=x)
        return self.feed_forward(x)


def rotary(x, positions, base=10_000.0, stretch=None):
    """Gira cada pareja de números de x según su posición (RoPE).

    La pareja i la forman ``x[..., i]`` y ``x[..., i + d_k/2]``, y gira pos · base^(−2i / d_k): las
    frecuencias de ``PositionalEncoding``. Girar las dos por su posición hace que el producto de
    una query y una key dependa solo de la distancia entre ellas. Los values no se giran.

    Args:
        x: queries o keys, ``(..., L, d_k)``.
        positions: la de cada token, ``(L,)``.
        base: cuanto mayor, más despacio giran las últimas parejas.
        stretch: por cuánto se multiplica además la frecuencia de cada pareja, ``(d_k/2,)``.

    Returns:
        ``(..., L, d_k)``, con las mismas normas.

    Raises:
        ValueError: si d_k es impar o no hay una posición por token.

    Fuente: Su et al., «RoFormer» (2021), §3.4. El artículo empareja 2i con 2i + 1; Llama, en
    transformers, como aquí.
    """
    check_decimals("rotary", x=x)
    length, d_k = x.shape[-2:]
    if d_k % 2:
        raise ValueError(f"rotary: d_k = {d_k} es impar y los números se giran por parejas.")
    positions = torch.as_tensor(positions, device=x.device)
    if positions.shape[-1:] != (length,):
        raise ValueError(
            f"rotary: hay {length} tokens, de x {tuple(x.shape)}, y {positions.numel()} posiciones: "
            "hace falta una por token. Si hay caché, empiezan en lo que ya tiene guardado."
        )
    even = torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device)
    frequencies = base ** (-even / d_k) * (1 if stretch is None else stretch)
    angles = positions[..., None] * frequencies  # (L, d_k/2), en float64
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RMSNorm(nn.Module):
    """Divide cada vector por su valor cuadrático medio: x / √(media(x²) + ε) · g.

    Es una LayerNorm que no resta la media ni suma un sesgo.

    Args:
        dim_embedding: anchura del modelo, d_model.
        eps: lo que se suma dentro de la raíz para no dividir por cero.

    Fuente: Zhang y Sennrich, «Root Mean Square Layer Normalization» (2019), ecuación 4.
    """

    def __init__(self, dim_embedding, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim_embedding))

    def forward(self, x):
        """Normaliza cada posición por separado, con la misma g: (B, L, d_model) → (B, L, d_model)."""
        check_decimals(self, len(self.weight), x=x)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # en 16 bits, x² se desborda
        scale = (wide.pow(2).mean(dim=-1, keepdim=True) + self.eps).rsqrt()
        return self.weight * (wide * scale).to(x.dtype)


class SwiGLU(nn.Module):
    """Red densa con puerta, sin sesgos: W_down·(silu(W_gate·x) ⊙ W_up·x), silu(z) = z·σ(z).

    Args:
        dim_embedding: anchura del modelo, d_model.
        dim_hidden: anchura de dentro. Son tres matrices: para gastar lo mismo que una
            ``FeedForward`` de 4·d_model, 8/3·d_model.

    Fuente: Shazeer, «GLU Variants Improve Transformer» (2020), ecuación 6.
    """

    def __init__(self, dim_embedding, dim_hidden):
        super().__init__()
        self.gate = nn.Linear(dim_embedding, dim_hidden, bias=False)
        self.up = nn.Linear(dim_embedding, dim_hidden, bias=False)
        self.down = nn.Linear(dim_hidden, dim_embedding, bias=False)

    def forward(self, x):
        """Transforma cada posición por separado: (B, L, d_model) → (B, L, d_model)."""
        check_decimals(self, self.gate.in_features, x=x)
        return self.down(F.silu(self.gate(x)) * self.up(x))


def check_positions(module, x, max_sequence_len, dim_embedding, start=0):
    """``module`` da ``ValueError`` si x, en ``start``, pasa de ``max_sequence_len`` × ``dim_embedding``."""
    name = type(module).__name__
    check_decimals(name, x=x)
    if x.dim() < 2 or x.shape[-1] != dim_embedding:
        raise ValueError(f"{name}: x tiene forma {tuple(x.shape)} y tiene que ser (B, L, {dim_embedding}).")
    if start + x.shape[-2] > max_sequence_len:
        raise ValueError(
            f"{name}: la frase tiene {start + x.shape[-2]} tokens y hay {max_sequence_len} posiciones "
            "(max_sequence_len). Crea el módulo con más posiciones o acorta la frase."
        )
