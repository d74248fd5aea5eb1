"""6.1 · Repartir la última dimensión entre las cabezas: (B, L, d_model) → (B, h, L, d_k)."""

import itertools
from collections import Counter
from dataclasses import replace

import torch

from course_checkers.engine import Case, Exercise, Option, Stage, Tensors, drawn, told, ways
from course_checkers.engine.properties import each_output, laws, right_shape
from course_checkers.steps.heads import SPLITS, split_tokens

LAWS = laws(__file__, "6.1 propiedades")


def whence(look):
    """De dónde viene el primer número que no está en su sitio: cada número lleva su origen."""
    (yours, right), found = look.both(), told(__file__, "6.1 dónde")
    _, head, token, position = place = (yours != right).nonzero()[0].tolist()
    (whose, mine), (own, good) = (divmod(int(x[tuple(place)]) % 10000, 100) for x in (yours, right))
    given = {"name": look.case.name, "position": position, "token": token, "head": head}
    return found["fuera-de-sitio"].saying(**given, mine=mine, whose=whose, good=good, own=own).text


# Los del paso, contados con los números del reparto, y los que solo se ven aquí.
SHARED = {name: replace(mistake, consequence=whence) for name, mistake in SPLITS.items()}
OWN = told(__file__, "6.1", whence)
DIRECT, EARLY = SHARED["view-sin-trasponer"], SHARED["traspone-antes-de-repartir"]
INTERLEAVED, SWAPPED = SHARED["cabezas-intercaladas"], SHARED["h-y-d_k-cambiados"]

# --- Las formas de repartir -----------------------------------------------------------------------

TARGET = ("B", "h", "L", "d_k")
GOOD, TURNED = ("B", "L", "h", "d_k"), ("B", "L", "d_k", "h")
FIRST = ("h", "B", "L", "d_k")
IN_ORDER = {
    GOOD: OWN["falta-trasponer"],
    FIRST: OWN["cabezas-delante-del-lote"],
    ("B", "h", "d_k", "L"): OWN["cabezas-tumbadas"],
}


def ordered(order):
    """El error de unos ejes que no están en el orden (B, h, L, d_k)."""
    return IN_ORDER.get(order) or OWN["ejes-en-otro-orden"].saying(order=", ".join(order))


def read_as(order, wanted, early=False):
    """Leer los números como si los ejes fueran ``order`` y dejarlos como ``wanted``."""

    def way(x, heads):
        batch, length, width = x.shape
        if width % heads:
            raise ValueError
        sizes = {"B": batch, "L": length, "h": heads, "d_k": width // heads}
        x = (x.mT if early else x).reshape([sizes[axis] for axis in order])
        return x.permute([order.index(axis) for axis in wanted])

    return way


def split_options():
    """Todas las formas de leer los números con cuatro ejes y de ordenar los ejes después."""
    yield Option(read_as(GOOD, TARGET))
    for wanted in itertools.permutations(TARGET):
        if wanted != TARGET:
            yield Option(read_as(GOOD, wanted), ordered(wanted))
        swapped = {("B", "d_k", "L", "h"): SWAPPED, TURNED: (SWAPPED, IN_ORDER[GOOD])}
        usual = INTERLEAVED if wanted == TARGET else (INTERLEAVED, ordered(wanted))
        yield Option(read_as(TURNED, wanted), swapped.get(wanted, usual))
    for order in itertools.permutations(TARGET):
        for early, wrong in ((False, DIRECT), (True, EARLY)):
            known = order[0] == "B" and order[3] == "L" if early else order in (GOOD, TURNED)
            if known:
                continue  # es una lectura buena, o ya está
            if order != TARGET and not early:
                wrong = OWN["view-sin-trasponer"].saying(order=", ".join(order))
            yield Option(read_as(order, TARGET, early), wrong)
            if order != TARGET:
                yield Option(read_as(order, order, early), (wrong, ordered(order)))


def first_heads(x, h):
    return x[..., : x.shape[-1] // h][:, None]


OTHERS = ways(
    SHARED | OWN,
    [],
    ("sin-repartir", lambda x, h: x),
    ("una-sola-cabeza", lambda x, h: x[:, None]),
    ("todo-en-cada-cabeza", lambda x, h: x[:, None].repeat(1, h, 1, 1)),
    ("solo-la-primera-cabeza", first_heads),
    ("misma-en-todas", lambda x, h: first_heads(x, h).repeat(1, h, 1, 1)),
    ("cortes-solapados", lambda x, h: x.unfold(2, x.shape[2] // h, 1).transpose(1, 2)[:, :h]),
    ("reparte-los-tokens", split_tokens),
    ("lote-y-cabezas-juntos", lambda x, h: read_as(GOOD, TARGET)(x, h).flatten(0, 1)),
    ("lote-y-cabezas-juntos", lambda x, h: read_as(GOOD, FIRST)(x, h).flatten(0, 1)),
    ((DIRECT, "lote-y-cabezas-juntos"), lambda x, h: read_as(TARGET, TARGET)(x, h).flatten(0, 1)),
    ("cabezas-en-fila", lambda x, h: read_as(GOOD, TARGET)(x, h).flatten(1, 2)),
    ("cabezas-en-fila", lambda x, h: x.reshape(x.shape[0], x.shape[1] * h, -1)),
)

# --- Las pruebas, lo que se lee y lo que se cumple ------------------------------------------------


def case(batch, length, width, heads):
    """Números que dicen de dónde vienen: 10000·frase + 100·token + dimensión."""
    sentences, tokens = 10000 * torch.arange(batch), 100 * torch.arange(length)
    x = (sentences[:, None, None] + tokens[:, None] + torch.arange(width)).float()
    return Case(f"x de forma ({batch}, {length}, {width}) y heads = {heads}", (x, heads))


SIZES = ((2, 5, 12, 3), (2, 6, 12, 3), (3, 4, 8, 4), (1, 3, 10, 2), (2, 3, 4, 1), (2, 5, 4, 4))


class Listed(Tensors):
    """Quien devuelve una lista con las cabezas tiene la cuenta bien: le falta apilarlas."""

    def read(self, value, case):
        return super().read(tuple(value) if isinstance(value, list) else value, case)

    def main(self, value, case):
        parts = value if isinstance(value, tuple) else ()
        shapes = {getattr(part, "shape", None) for part in parts}
        stackable = len(shapes) == 1 and None not in shapes and value[0].dim()
        return torch.stack(value, dim=1) if stackable else value


def listed(attempt, choice):
    if any(isinstance(value, tuple) for value in attempt.values.values()):
        yield OWN["lista-de-cabezas"].found()


def output_shape(x, heads):
    return x.shape[0], heads, x.shape[1], x.shape[2] // heads


@each_output(LAWS)
def only_moved(output, x, heads):
    """Repartir coloca los números, y en la fila de cada token van los suyos."""
    if not torch.equal(output.flatten().sort().values, x.flatten().sort().values):
        lost = (Counter(x.flatten().tolist()) - Counter(output.flatten().tolist())).total()
        yield "propiedad-números", {"all": x.numel(), "lost": lost}
    if (mixed := output // 100 != x[:, None, :, :1] // 100).any():
        yield "propiedad-token", {"mixed": int(mixed.sum()), "all": x.numel()}


class SplitHeads(Exercise):
    """Comprueba el reparto de la última dimensión entre las cabezas.

    Args:
        function: recibe ``(x, heads)``: un tensor ``(B, L, d_model)`` y un entero que divide a
            ``d_model``. Devuelve un tensor ``(B, h, L, d_k)``.
    """

    number, title, points = "6.1", "repartir las cabezas", 2
    letters = ("B L -",)
    possible = staticmethod(lambda x, heads: heads > 0 and x.shape[-1] % heads == 0)
    axes = {"way": [*split_options(), *OTHERS]}
    stages = (Stage(("way",), tuple(case(*sizes) for sizes in SIZES)),)
    tiny = (case(1, 1, 2, 2), case(1, 2, 2, 2), case(1, 2, 4, 2))
    must = (right_shape(output_shape, "La forma de tu salida no es (B, h, L, d_k).", "06 §5"), only_moved)
    extra = (case(2, 48, 60, 5), Case("números con decimales y negativos", (drawn(0, (2, 5, 12)), 3)))
    reader, returned, also = Listed(pair=True), (listed,), ("lista-de-cabezas",)

    def compute(self, choice, x, heads):
        return {"output": choice["way"](x, heads)}
