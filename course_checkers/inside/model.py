"""Los modelos de mentira: el de quien escribe token a token (10.2), unas capas y un encoder."""

import numpy as np
import torch

from course_lib.transformer import Encoder

PATIENCE = 40  # las veces que se le puede llamar en una prueba: quien pasa de ahí no iba a parar


class FakeModel:
    """Puntúa el siguiente token según todo lo escrito; siempre igual.

    Args:
        seed, V, bos, eos: con otra semilla, otras puntuaciones; cuántos tokens hay, y las marcas.
        push: cuánto se suma a la de fin.
        bold: si gana la de inicio cuando lo último es par. Si no, nunca es la que más puntúa.
    """

    def __init__(self, seed, V, bos, eos, push=0.3, bold=False):
        self.seed, self.V, self.bos, self.eos, self.push, self.bold = seed, V, bos, eos, push, bold
        self.known, self.asked = {}, []

    def __call__(self, written):
        self.asked.append(key := tuple(numbers(written)))
        if len(self.asked) >= PATIENCE:
            raise RuntimeError(f"ya has llamado {PATIENCE} veces a next_scores: ¿cuándo para?")
        return torch.tensor(self.scores(key))

    def scores(self, key):
        """Las puntuaciones después de eso, en una lista."""
        if key not in self.known:
            seed = self.seed
            for token in key:
                seed = (seed * 1000003 + int(1000 * token) + 7919) % 2**31
            scores = torch.randn(self.V, generator=torch.Generator().manual_seed(seed))
            scores[self.eos] += self.push
            last = key[-1] if key else self.bos
            says_bos = self.bold and last != self.bos and last % 2 == 0
            scores[self.bos] = scores.max() + 1 if says_bos else scores.mean()
            self.known[key] = scores.tolist()
        return self.known[key]

    def __getstate__(self):
        """Lo que viaja a otro proceso: sin lo que ya ha puntuado, que sigue el camino bueno."""
        return self.__dict__ | {"known": {}}

    def __str__(self):
        return f"(un modelo con {self.V} tokens)"


def numbers(value):
    """Los números de una lista, un tensor, una lista de tensores…"""
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.flatten().tolist()
    many = isinstance(value, list | tuple)
    return [number for item in value for number in numbers(item)] if many else [value]


class FakeLayer:
    """Una capa de mentira (15.3): a cada token le suma algo de lo que va antes, (L, d) → (L, d)."""

    def __init__(self, seed, d):
        self.seed, self.d = seed, d

    def __call__(self, x):
        weight = torch.randn(self.d, self.d, generator=torch.Generator().manual_seed(self.seed))
        before = x.cumsum(0) / torch.arange(1, len(x) + 1)[:, None]
        return x + torch.tanh(before @ weight.to(x.dtype))

    def __repr__(self):
        return f"capa {self.seed}"


class FakeEncoder(Encoder):
    """Un encoder del curso, pequeño y siempre igual (12.2)."""

    def __init__(self, seed, heads, d, n):
        with torch.random.fork_rng():
            super().__init__(heads, d, n)
        self.h, self.d, self.n, generator = heads, d, n, torch.Generator().manual_seed(seed)
        for name, weight in self.requires_grad_(False).named_parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            weight.copy_(drawn * (0.7 if weight.dim() > 1 else 0.1) + name.endswith("normalization.weight"))

    def __repr__(self):
        return f"(un encoder de {self.n} capas y {self.h} cabezas)"


def has_hooks(module):
    """Si alguien ha dejado un *hook* puesto."""
    return any(part._forward_pre_hooks or part._forward_hooks for part in module.modules())
