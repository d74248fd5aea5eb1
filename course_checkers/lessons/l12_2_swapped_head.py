"""12.2 · Intercambiar una cabeza: {su trozo, otro, columnas salteadas, un token…} × {el de la otra frase,
0, una media…} × {la misma forma, sin esas columnas…}.
"""

import numpy as np
import torch

from course_checkers.engine import Case, Exercise, Stage, difference, drawn, same
from course_checkers.engine.mistakes import stepping, told
from course_checkers.engine.properties import each_output, laws, right_shape


def how_many(look):
    """Cuántos números cambian sin ser de la cabeza, y cuántos suyos se quedan."""
    yours, right, concat = look.yours, look.right, look.case.arguments[0]
    if yours.shape != right.shape:
        return difference(look)
    moved = int(((yours != concat) & (right == concat)).sum())
    kept = int(((yours == concat) & (right != concat)).sum())
    numbers = {"moved": moved, "kept": kept, "all": int((right != concat).sum())}
    return (moved or kept) and SEEN["cuenta"].saying(name=look.case.name, **numbers).text


step = stepping(told(__file__, "12.2", how_many))
SEEN, LAWS = told(__file__, "12.2 propiedades"), laws(__file__, "12.2 propiedades")

# --- Qué números se cambian -----------------------------------------------------------------------


def its_columns(m, i, h, d):
    return m[..., i * d : (i + 1) * d]


def every(n):
    """Como si cada cabeza midiera siempre ``n``."""
    return lambda m, i, h, d: its_columns(m, i, h, n)


def part_of_it(index):
    return lambda m, i, h, d: its_columns(m, i, h, d)[index]


# De lo que dicen las cabezas, de cuál se apaga, de cuántas hay y de lo que mide cada una, un trozo.
SLICES = step(
    its_columns,
    ("empieza-en-cabeza·h", lambda m, i, h, d: m[..., i * h : i * h + d]),
    ("empieza-en-cabeza·h", lambda m, i, h, d: m[..., i * h : (i + 1) * d]),
    ("mide-h", lambda m, i, h, d: m[..., i * d : i * d + h]),
    ("empieza-en-cabeza", lambda m, i, h, d: m[..., i : i + d]),
    ("empieza-en-cabeza", lambda m, i, h, d: m[..., i : (i + 1) * d]),
    ("una-sola-columna", lambda m, i, h, d: m[..., i], lambda m, i, h, d: m[..., i * d]),
    ("cabeza-desde-1", lambda m, i, h, d: m[..., (i - 1) * d : i * d]),
    ("cabeza-desde-1", lambda m, i, h, d: m.unflatten(-1, (h, d))[:, :, i - 1]),
    ("cabeza-siguiente", lambda m, i, h, d: its_columns(m, i + 1, h, d)),
    ("columnas-salteadas", lambda m, i, h, d: m[..., i::h], lambda m, i, h, d: m[..., i::d]),
    ("columnas-salteadas", lambda m, i, h, d: m[..., i::d] if i < d else m[:0]),
    ("d_k-fijo", *map(every, (2, 3, 4, 8, 16, 32, 64, 128))),
    ("corrido", lambda m, i, h, d: m[..., i * d + 1 : (i + 1) * d + 1]),
    ("corrido", lambda m, i, h, d: m[..., i * d - 1 : (i + 1) * d - 1]),
    ("dos-cabezas", lambda m, i, h, d: m[..., i * d : (i + 2) * d]),
    ("dos-cabezas", lambda m, i, h, d: m[..., (i - 1) * d : (i + 1) * d]),
    ("en-algunos-tokens", *map(part_of_it, (np.s_[:, 1:], np.s_[:, 0], 0, -1))),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[:, i]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[i]),
    ("los-tokens", lambda m, i, h, d: m[:, i], lambda m, i, h, d: m[:, i * d : (i + 1) * d]),
    ("las-frases", lambda m, i, h, d: m[i], lambda m, i, h, d: m[i * d : (i + 1) * d]),
    ("hasta-el-final", lambda m, i, h, d: m[..., i * d :]),
    ("desde-el-principio", lambda m, i, h, d: m[..., : (i + 1) * d]),
    ("desde-el-principio", lambda m, i, h, d: m[..., : i * d]),
    ("las-demás", lambda m, i, h, d: (m[..., : i * d], m[..., (i + 1) * d :])),
    ("siempre-la-primera", lambda m, i, h, d: m[..., :d]),
    ("siempre-la-última", lambda m, i, h, d: m[..., -d:]),
    ("desde-el-final", lambda m, i, h, d: its_columns(m, h - 1 - i, h, d)),
    ("columna-de-menos", lambda m, i, h, d: m[..., i * d : (i + 1) * d - 1]),
    ("columna-de-menos", lambda m, i, h, d: m[..., i * d + 1 : (i + 1) * d]),
    ("columna-de-más", lambda m, i, h, d: m[..., i * d : (i + 1) * d + 1]),
    ("reparte-sin-trasponer", lambda m, i, h, d: m.view(len(m), h, -1, d)[:, i]),
    ("reparte-sin-trasponer", lambda m, i, h, d: m.view(h, len(m), -1, d)[i]),
    ("nada", lambda m, i, h, d: m[:0]),
    ("todo", lambda m, i, h, d: m),
    (("empieza-en-cabeza·h", "mide-h"), lambda m, i, h, d: its_columns(m, i, h, h)),
)


def marked(pick, concat, head, heads):
    """True en los números que elige ``pick``."""
    mask = torch.zeros(concat.shape, dtype=torch.bool)
    parts = pick(mask, head, heads, concat.shape[-1] // heads)
    for part in parts if isinstance(parts, tuple) else (parts,):
        part.fill_(True)
    return mask


# --- Qué se les hace, y qué se devuelve -----------------------------------------------------------


def mean_over(*axes, of=0):
    """Pone la media de cada columna, de cada token…, de lo que dice esta frase o de lo que dice la otra."""

    def fill(*both_and_hidden):
        *both, hidden, _ = both_and_hidden
        return both[0].where(~hidden, both[of].mean(axes, keepdim=True))

    return fill


MEANS = [mean_over(*axes, of=of) for of in (0, 1) for axes in ((0, 1), (1,), (0,), (2,), (0, 1, 2))]

FILLS = step(
    lambda concat, other, hidden, h: concat.where(~hidden, other),
    ("a-cero", lambda concat, other, hidden, h: concat.masked_fill(hidden, 0.0)),
    ("a-su-media", *MEANS),
    ("a-su-media", lambda x, other, hidden, h: x.masked_fill(hidden, x[hidden].mean().item())),
    ("a-medias", lambda concat, other, hidden, h: concat.where(~hidden, (concat + other) / 2)),
    ("las-suma", lambda concat, other, hidden, h: concat.where(~hidden, concat + other)),
)


def columns_of(hidden):
    """Las columnas que se esconden, si en todos los tokens son las mismas."""
    if (hidden != hidden[0, 0]).any():
        raise ValueError
    return hidden[0, 0]


def split(output, heads):
    return output.unflatten(-1, (heads, -1))


def mixed(output, concat, hidden, heads):
    """Como quien reparte sin trasponer y después traspone."""
    B, L, _ = output.shape
    return output.view(B, heads, L, -1).transpose(1, 2).reshape(B, L, -1)


SHAPES = step(
    lambda output, concat, hidden, h: output,
    ("quita-las-columnas", lambda output, concat, hidden, h: output[..., ~columns_of(hidden)]),
    ("devuelve-el-trozo", lambda output, concat, hidden, h: output[..., columns_of(hidden)]),
    ("junta-sin-trasponer", lambda x, c, hidden, h: split(x, h).transpose(1, 2).reshape(c.shape)),
    ("junta-sin-trasponer", mixed),
    ("sin-juntar", lambda x, c, _, h: split(x, h), lambda x, c, _, h: split(x, h).transpose(1, 2)),
)

# --- El ejercicio ---------------------------------------------------------------------------------


def concat_case(seed, B, L, heads, d_k, head):
    both = drawn(seed, (2, B, L, heads * d_k))
    name = f"la cabeza {head} de {heads}, de {d_k} números cada una"
    return Case(name, (*both, head, heads))


SIZES = [(2, 4, 3, 5, 1), (3, 4, 4, 2, 2), (2, 3, 2, 6, 0), (5, 5, 5, 3, 3), (4, 6, 4, 4, 1)]
SIZES += [(1, 7, 3, 4, 2), (6, 8, 6, 2, 5), (7, 9, 3, 2, 1), (1, 2, 2, 40, 1)]
CASES = tuple(concat_case(seed, *sizes) for seed, sizes in enumerate(SIZES))
ROWS = [[[1.0, 2.0]]], [[[1.0, 2.0, 3.0, 4.0]]]
EXAMPLE = Case("el ejemplo del enunciado", (torch.tensor(ROWS[1]), torch.tensor(ROWS[1]) + 4, 0, 2))


SHAPE = "Tu salida tiene que medir lo mismo que concat, (B, L, d_model).", "12 §4"
SHAPE += ("Con {name}, mide {yours} y tenía que medir {right}.",)


@each_output(LAWS)
def only_its_columns(output, concat, other, head, heads):
    """Que las columnas de la cabeza sean las de la otra frase, y las demás, las de antes."""
    hidden = marked(its_columns, concat, head, heads)
    for name, chosen, expected in (
        ("propiedad-la-suya", hidden, other),
        ("propiedad-las-demás", ~hidden, concat),
    ):
        if not same(output[chosen], expected[chosen]):
            moved = int((output[chosen] != expected[chosen]).sum())
            yield name, {"moved": moved, "all": int(chosen.sum())}


class SwappedHead(Exercise):
    """Comprueba una función que cambia lo que dice una cabeza por lo que dice en otra frase.

    Args:
        function: recibe ``(concat, other, head, heads)``: lo que dicen todas las cabezas, una al lado de
            otra, en una frase y en la otra, ``(B, L, d_model)``; la que se cambia, desde 0; y cuántas
            hay. Devuelve otro tensor ``(B, L, d_model)``: ``concat``, con el trozo de esa cabeza tomado
            de ``other``. Ninguno de los dos cambia.
    """

    number, title, points = "12.2", "intercambiar una cabeza", 2
    letters = ("B L -", "B L -")
    axes = {"slice": SLICES, "fill": FILLS, "shape": SHAPES}
    stages = (Stage(tuple(axes), CASES),)
    extra = EXAMPLE, concat_case(9, 2, 4, 3, 5, 2), concat_case(10, 1, 3, 24, 64, 20)
    tiny = tuple(
        Case("", (torch.tensor(rows), torch.tensor(rows) + 4, head, 2))
        for rows in ROWS
        for head in (0, 1)
    )
    must = (
        right_shape(lambda concat, *_: concat.shape, *SHAPE),
        only_its_columns,
    )

    def possible(self, concat, other, head, heads):
        return 0 <= head < heads and concat.shape[-1] % heads == 0

    def compute(self, choice, concat, other, head, heads):
        hidden = marked(choice["slice"], concat, head, heads)
        output = choice["fill"](concat, other, hidden, heads)
        return {"output": choice["shape"](output, concat, hidden, heads)}
