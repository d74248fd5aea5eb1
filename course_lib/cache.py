"""La caché de keys y values: lo que un decoder guarda mientras escribe.

Lo ya escrito no cambia, y con máscara causal tampoco sus keys ni sus values: se calculan una vez.
En cada paso entra solo el token nuevo; su query atiende a todo lo guardado y a sí mismo.

Por frase ocupa 2 · capas · h_kv · d_k · L números: keys y values, de cada capa, de cada cabeza de
keys y values, de cada token. Crece con L, y por eso se reduce h_kv (``GroupedQueryAttention``).

Fuente: Shazeer, «Fast Transformer Decoding: One Write-Head is All You Need» (2019), §2.
"""

import torch


class KeyValueCache:
    """Las keys y los values de **una** atención.

    Attributes:
        keys, values: ``(B, h_kv, L, d_k)``, o ``None`` si aún no hay nada.
    """

    def __init__(self):
        self.keys = self.values = None

    @property
    def length(self):
        """Tokens guardados, L."""
        return 0 if self.keys is None else self.keys.shape[-2]

    @property
    def nbytes(self):
        """Lo que ocupa, en bytes."""
        return 0 if self.keys is None else self.keys.nbytes + self.values.nbytes

    def extend(self, keys, values):
        """Añade lo de los tokens nuevos y devuelve todo lo guardado.

        Args:
            keys, values: ``(B, h_kv, n, d_k)``.

        Raises:
            ValueError: si el lote, las cabezas o la anchura no son los de lo guardado.
        """
        if self.keys is not None:
            for name, old, new in (("keys", self.keys, keys), ("values", self.values, values)):
                if old.shape[:-2] != new.shape[:-2] or old.shape[-1] != new.shape[-1]:
                    raise ValueError(
                        f"KeyValueCache: las {name} nuevas tienen forma {tuple(new.shape)} y las "
                        f"guardadas {tuple(old.shape)}: solo puede cambiar el eje de los tokens. "
                        "Cada lote de frases necesita su propia caché."
                    )
            keys = torch.cat([self.keys, keys], dim=-2)
            values = torch.cat([self.values, values], dim=-2)
        self.keys, self.values = keys, values
        return keys, values

    def keep(self, rows):
        """Se queda con esas frases del lote, en ese orden (una puede repetirse): ``(M,)``."""
        if self.keys is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


class DecoderCache:
    """La caché de un decoder entero. De cada capa, ``own`` guarda lo escrito y ``cross``, la frase de origen.

    Un modelo que es solo decoder no tiene atención cruzada: ``cross`` se queda vacía.

    Args:
        Nx: número de capas.
    """

    def __init__(self, Nx):
        self.own = [KeyValueCache() for _ in range(Nx)]
        self.cross = [KeyValueCache() for _ in range(Nx)]

    @property
    def length(self):
        """Tokens ya leídos: la posición del siguiente."""
        return self.own[0].length

    @property
    def nbytes(self):
        """Lo que ocupa, en bytes."""
        return sum(cache.nbytes for cache in self.own + self.cross)

    def keep(self, rows):
        """Se queda con esas frases del lote, en ese orden: ``rows``, ``(M,)``."""
        for cache in self.own + self.cross:
            cache.keep(rows)
