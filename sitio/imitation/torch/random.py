"""Los números al azar, uno a uno los de torch: el mismo Mersenne Twister y las mismas cuentas con él.

Así, una prueba con números al azar es la misma en la página que en JupyterLab.
"""

import contextlib
import math

import numpy as np

_BITS = np.uint32(2**24 - 1)


class Generator:
    """De dónde salen: ``manual_seed`` lo pone siempre igual."""

    def __init__(self, device="cpu"):
        self.manual_seed(67280421310721)

    def manual_seed(self, seed):
        self.seed, self.kept, self.bits = int(seed), None, np.random.MT19937()
        self.bits._legacy_seeding(self.seed & 0xFFFFFFFF)
        return self

    def initial_seed(self):
        return self.seed

    def get_state(self):
        return self.seed, self.kept, self.bits.state

    def set_state(self, state):
        self.seed, self.kept, self.bits.state = state
        return self

    def words(self, n):
        """``n`` enteros de 32 bits."""
        return self.bits.random_raw(n).astype(np.uint32) if n else np.zeros(0, np.uint32)

    def uniform(self, n, kind=np.float32):
        if kind == np.float64:
            high, low = self.words(2 * n).astype(np.uint64).reshape(n, 2).T
            return ((high << np.uint64(32) | low) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
        return (self.words(n) & _BITS).astype(np.float32) * np.float32(2.0**-24)

    def normal(self, n, kind=np.float32):
        """De dieciséis en dieciséis, si hay tantos; si no, de uno en uno, y el que sobra se guarda."""
        if n < 16:
            return np.array([self.one() for _ in range(n)]).astype(kind)
        found = self.uniform(n, kind)
        whole = n - n % 16
        found[:whole] = _normal16(found[:whole])
        if n % 16:
            found[n - 16 :] = _normal16(self.uniform(16, kind))
        return found

    def one(self):
        if self.kept is not None:
            value, self.kept = self.kept, None
            return value
        angle, u = (2 * math.pi, 1) * self.uniform(2, np.float64)
        radius = math.sqrt(-2 * math.log1p(-u))
        self.kept = radius * math.sin(angle)
        return radius * math.cos(angle)

    def below(self, low, high, n):
        return low + (self.words(n).astype(np.int64) % (high - low))

    def shuffled(self, n):
        found = np.arange(n)
        for i, word in enumerate(self.words(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            found[i], found[j] = found[j], found[i]
        return found


def _normal16(u):
    """Dieciséis números de una campana, de dieciséis entre 0 y 1 (Box y Muller)."""
    u = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - u[:, 0]))
    angle = u.dtype.type(2 * math.pi) * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)


default_generator = Generator()
manual_seed, get_rng_state = default_generator.manual_seed, default_generator.get_state


def set_rng_state(state):
    default_generator.set_state(state)


@contextlib.contextmanager
def fork_rng(devices=()):
    """Al salir, el azar queda como estaba."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
