"""El escalado: qué le hace a la softmax dividir q·k por una cosa o por otra."""

import base64
import functools
import math
import numbers

import numpy as np
import torch
import traitlets

from course_lib.explorers.base import SHARED, Explorer, esm

WIDTHS = tuple(2**i for i in range(11))  # 1, 2, 4, …, 1024
QUERIES, KEYS, HEADS = 320, 12, 12
LEVEL = 2.0**-11  # las muestras viajan en enteros de 16 bits: de −16 a 16, de LEVEL en LEVEL
SEED = 84  # elegida: con ella, una muestra pequeña se parece a una mucho mayor
BIN, BINS = 0.5, 50  # cajas de −12 a 12; en la primera y la última, todo lo que queda fuera
DIVISORS = {  # cómo se dice y cuánto vale
    "nada": ("sin dividir", lambda d_k: 1.0),
    "sqrt(d_k)": ("entre √d_k", math.sqrt),
    "d_k": ("entre d_k", float),
    "sqrt(d_model)": ("entre √d_model", lambda d_k: math.sqrt(HEADS * d_k)),
}


def draw(d_k):
    """Saca queries ``(320, 1, d_k)`` y, para cada una, 12 keys ``(320, 12, d_k)``: azar normal."""
    options = {"generator": torch.Generator().manual_seed(SEED + d_k), "dtype": torch.float64}
    return torch.randn(QUERIES, 1, d_k, **options), torch.randn(QUERIES, KEYS, d_k, **options)


@functools.cache
def pack():
    """Calcula una vez los q·k / √d_k de todas las anchuras y los escribe en base 64 (113 kB)."""
    products = [(q @ k.mT).squeeze(1) / math.sqrt(q.shape[-1]) for q, k in map(draw, WIDTHS)]
    levels = (torch.stack(products) / LEVEL).round()
    return base64.b64encode(levels.numpy().astype("<i2").tobytes()).decode()


@functools.lru_cache(maxsize=1)
def unpack(text):
    """Deshace ``pack``: las muestras, ``(anchuras, queries, keys)`` = (11, 320, 12)."""
    samples = np.frombuffer(base64.b64decode(text), "<i2") * LEVEL
    return torch.from_numpy(samples).reshape(len(WIDTHS), QUERIES, KEYS)


def compute(samples, d_k, divisor):
    """Divide los productos q·k y mide lo que hace con ellos la softmax.

    Args:
        samples: los q·k / √d_k de cada anchura, ``(11, 320, 12)``.
        d_k, divisor: una anchura de ``WIDTHS`` y un nombre de ``DIVISORS``.

    Returns:
        Diccionario con ``std``, la desviación típica de las puntuaciones, y ``theory``, la de la
        cuenta; las medias del peso mayor (``largest``), la entropía y la norma del jacobiano, y la
        mediana de esta; ``histogram``, cuántas caen en cada caja; y los dos argumentos.
    """
    theory = math.sqrt(d_k) / DIVISORS[divisor][1](d_k)
    scores = samples[WIDTHS.index(d_k)] * theory  # (queries, keys)
    p = torch.softmax(scores, dim=-1)
    norms = (torch.diag_embed(p) - p[..., :, None] * p[..., None, :]).norm(dim=(-2, -1))
    bins = ((scores / BIN).floor() + BINS // 2).clamp(0, BINS - 1).long()
    return {
        "d_k": d_k,
        "divisor": divisor,
        "theory": theory,
        "std": scores.std().item(),
        "largest": p.max(dim=-1).values.mean().item(),
        "entropy": torch.special.entr(p).sum(dim=-1).mean().item(),
        "jacobian_mean": norms.mean().item(),
        "jacobian_median": norms.median().item(),
        "histogram": torch.bincount(bins.flatten(), minlength=BINS).tolist(),
    }


def wrong(name, value, wanted):
    return traitlets.TraitError(f"ScalingExplorer: {name} = {value!r:.80}; tiene que ser {wanted}.")


class ScalingExplorer(Explorer):
    """Una barra para la anchura y cuatro divisores.

    Args:
        d_k: la anchura de la cabeza, una potencia de 2 entre 1 y 1024.
        divisor: ``"nada"``, ``"sqrt(d_k)"``, ``"d_k"`` o ``"sqrt(d_model)"``, con 12 cabezas.

    Raises:
        traitlets.TraitError: si no son de esos.
    """

    _esm = esm("scaling")
    d_k = traitlets.TraitType(64).tag(**SHARED)
    divisor = traitlets.TraitType("nada").tag(**SHARED)
    samples = traitlets.TraitType().tag(**SHARED)  # las de `pack`

    @traitlets.default("samples")
    def _draw_samples(self):
        return pack()

    @traitlets.validate("d_k")
    def _check_width(self, proposal):
        d_k = proposal["value"]
        if not isinstance(d_k, numbers.Real) or d_k not in WIDTHS:
            raise wrong("d_k", d_k, "una potencia de 2 entre 1 y 1024. Por ejemplo, 64")
        return int(d_k)

    @traitlets.validate("divisor")
    def _check_divisor(self, proposal):
        divisor = proposal["value"]
        if not isinstance(divisor, str) or divisor not in DIVISORS:
            raise wrong("divisor", divisor, f"uno de estos: {', '.join(map(repr, DIVISORS))}")
        return divisor

    @traitlets.validate("samples")
    def _check_samples(self, proposal):
        if proposal["value"] != pack():
            raise wrong("samples", proposal["value"], "la que ya tiene: no la cambies")
        return pack()

    def describe(self):
        # 1e-9 más: 0.125 se redondea a 0.13, como en JavaScript.
        r = compute(unpack(self.samples), self.d_k, self.divisor)
        return (
            f"Escalado con d_k = {self.d_k}, {DIVISORS[self.divisor][0]}: "
            f"desviación típica {r['std']:.2f} "
            f"(la teoría, {r['theory'] + 1e-9:.2f}), peso mayor {r['largest']:.2f}, entropía "
            f"{r['entropy']:.2f}, jacobiano {r['jacobian_mean']:.2f} de media y "
            f"{r['jacobian_median']:.2g} de mediana."
        )
