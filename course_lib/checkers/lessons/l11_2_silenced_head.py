"""11.2 · Apagar una cabeza: {su trozo, otro, columnas salteadas, un token…} × {a 0, a su media…} × {la
misma forma, sin esas columnas…}.
"""

import torch

from course_lib.checkers.engine.comparing import difference, same, show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import right_shape
from course_lib.checkers.engine.search import Stage


def how_many(look):
    """Cuántos números de más o de menos se han quedado a 0."""
    yours, right = look.yours, look.right
    if yours.shape != right.shape:
        return difference(look)
    lost = int(((yours == 0) & (right != 0)).sum())
    kept = int(((yours == look.case.arguments[0]) & (right == 0)).sum())
    if not lost and not kept:
        return ""
    return (
        f"Con {look.case.name}, pones a 0 {lost} números que tenían que quedarse y dejas {kept} de los "
        f"{int((right == 0).sum())} de la cabeza."
    )


TOLD = told(__file__, "11.2", how_many)
SEEN = told(__file__, "11.2 propiedades")

# --- Qué números se cambian -----------------------------------------------------------------------


def its_columns(m, i, h, d):
    return m[..., i * d : (i + 1) * d]


def every(n):
    """Como si cada cabeza midiera siempre ``n``."""
    return lambda m, i, h, d: its_columns(m, i, h, n)


# De lo que dicen las cabezas, de cuál se apaga, de cuántas hay y de lo que mide cada una, un trozo.
SLICES = ways(
    TOLD,
    its_columns,
    ("empieza-en-cabeza·h", lambda m, i, h, d: m[..., i * h : i * h + d]),
    ("empieza-en-cabeza·h", lambda m, i, h, d: m[..., i * h : (i + 1) * d]),
    ("mide-h", lambda m, i, h, d: m[..., i * d : i * d + h]),
    ("empieza-en-cabeza", lambda m, i, h, d: m[..., i : i + d]),
    ("empieza-en-cabeza", lambda m, i, h, d: m[..., i : (i + 1) * d]),
    ("una-sola-columna", lambda m, i, h, d: m[..., i : i + 1]),
    ("una-sola-columna", lambda m, i, h, d: m[..., i * d : i * d + 1]),
    ("cabeza-desde-1", lambda m, i, h, d: m[..., (i - 1) * d : i * d]),
    ("cabeza-desde-1", lambda m, i, h, d: m.unflatten(-1, (h, d))[:, :, i - 1]),
    ("cabeza-siguiente", lambda m, i, h, d: its_columns(m, i + 1, h, d)),
    ("columnas-salteadas", lambda m, i, h, d: m[..., i::h]),
    ("columnas-salteadas", lambda m, i, h, d: m[..., i::d]),
    ("columnas-salteadas", lambda m, i, h, d: m[..., i::d] if i < d else m[:0]),
    ("d_k-fijo", *map(every, (2, 3, 4, 8, 16, 32, 64, 128))),
    ("corrido", lambda m, i, h, d: m[..., i * d + 1 : (i + 1) * d + 1]),
    ("corrido", lambda m, i, h, d: m[..., i * d - 1 : (i + 1) * d - 1]),
    ("dos-cabezas", lambda m, i, h, d: m[..., i * d : (i + 2) * d]),
    ("dos-cabezas", lambda m, i, h, d: m[..., (i - 1) * d : (i + 1) * d]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[:, 1:]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[:, 0]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[0]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[-1]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[:, i]),
    ("en-algunos-tokens", lambda m, i, h, d: its_columns(m, i, h, d)[i]),
    ("los-tokens", lambda m, i, h, d: m[:, i]),
    ("los-tokens", lambda m, i, h, d: m[:, i * d : (i + 1) * d]),
    ("las-frases", lambda m, i, h, d: m[i]),
    ("las-frases", lambda m, i, h, d: m[i * d : (i + 1) * d]),
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


def put(value):
    """Cambia lo escondido por un número."""
    return lambda concat, hidden, heads: concat.masked_fill(hidden, value)


def times(number):
    """Multiplica lo escondido por un número."""
    return lambda concat, hidden, heads: concat.where(~hidden, concat * number)


def mean_over(*axes):
    """Cambia lo escondido por la media de la cabeza, de cada columna…"""

    def fill(concat, hidden, heads):
        if not axes:
            return concat.masked_fill(hidden, concat[hidden].mean().item())
        return concat.where(~hidden, concat.mean(axes, keepdim=True))

    return fill


FILLS = ways(
    TOLD,
    put(0.0),
    ("a-su-media", *(mean_over(*axes) for axes in ((), (0, 1), (1,), (0,), (2,), (0, 1, 2)))),
    ("a-infinito", put(-torch.inf), put(-1e9), put(torch.nan)),
    ("cambia-el-signo", times(-1)),
    ("a-la-mitad", times(0.5)),
    ("reescala", lambda concat, hidden, h: put(0.0)(concat, hidden, h) * h / (h - 1)),
)


def only(which):
    """Las columnas que se esconden, o las demás, si en todos los tokens son las mismas."""

    def shape(output, concat, hidden, heads):
        columns = hidden[0, 0]
        if (hidden != columns).any():
            raise ValueError
        return which(output, concat, columns)

    return shape


def split(output, heads):
    return output.unflatten(-1, (heads, -1))


def mixed(output, concat, hidden, heads):
    """Como quien reparte sin trasponer y después traspone."""
    B, L, _ = output.shape
    return output.view(B, heads, L, -1).transpose(1, 2).reshape(B, L, -1)


SHAPES = ways(
    TOLD,
    lambda output, concat, hidden, h: output,
    ("quita-las-columnas", only(lambda output, concat, hidden: output[..., ~hidden])),
    ("devuelve-el-trozo", only(lambda output, concat, hidden: concat[..., hidden])),
    ("devuelve-el-trozo", only(lambda output, concat, hidden: output[..., hidden])),
    ("junta-sin-trasponer", lambda x, c, hidden, h: split(x, h).transpose(1, 2).reshape(c.shape)),
    ("junta-sin-trasponer", mixed),
    ("sin-juntar", lambda output, concat, hidden, h: split(output, h)),
    ("sin-juntar", lambda output, concat, hidden, h: split(output, h).transpose(1, 2)),
)

# --- El ejercicio ---------------------------------------------------------------------------------


def concat_case(seed, B, L, heads, d_k, head):
    concat = torch.randn(B, L, heads * d_k, generator=torch.Generator().manual_seed(seed))
    name = f"la cabeza {head} de {heads}, de {d_k} números cada una"
    return Case(name, (concat, head, heads))


SIZES = [(2, 4, 3, 5, 1), (3, 4, 4, 2, 2), (2, 3, 2, 6, 0), (5, 5, 5, 3, 3), (4, 6, 4, 4, 1)]
SIZES += [(1, 7, 3, 4, 2), (6, 8, 6, 2, 5), (7, 9, 3, 2, 1), (1, 2, 2, 40, 1)]
EXAMPLE = Case("el ejemplo del enunciado", (torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 0, 2))
CASES = tuple(concat_case(seed, *sizes) for seed, sizes in enumerate(SIZES))
EXTRA = EXAMPLE, concat_case(9, 2, 4, 3, 5, 2), concat_case(10, 1, 3, 24, 64, 20)
TINY = (([1.0, 2.0], 0), ([1.0, 2.0], 1), ([1.0, 2.0, 3.0, 4.0], 0), ([1.0, 2.0, 3.0, 4.0], 1))


def found_fill(attempt):
    """Si en el sitio de la cabeza pone siempre el mismo número, o la multiplica por él, cuál es."""
    concat, value = CASES[0].arguments[0], attempt.ask(*CASES[0].arguments)
    changed = value != concat
    number, factor = value[changed], (value / concat)[changed]
    for fill, name, found in ((put, "otro-número", number), (times, "la-multiplica", factor)):
        if same(found, found[:1].expand_as(found)):
            mistake = TOLD[name].saying(number=show(found[0]))
            yield Option(fill(float(found[0])), mistake)


def all_nan(attempt):
    return all(output.isnan().all() for _, output in attempt.outputs())


def only_its_columns(attempt):
    """Que las columnas de la cabeza queden a 0 y las demás, como estaban."""
    for case, output in attempt.outputs():
        hidden = marked(its_columns, *case.arguments)
        moved = (output != case.arguments[0])[~hidden]
        if (output[hidden] != 0).any():
            left = int((output[hidden] != 0).sum())
            name, story = "propiedad-cero", f"{left} de {int(hidden.sum())} no lo están"
        elif not same(output[~hidden], case.arguments[0][~hidden]):
            story = f"cambian {int(moved.sum())} números de las demás"
            name = "propiedad-las-demás"
        else:
            continue
        return [SEEN[name].found(f"Con {case.name}, {story}.")]
    return []


class WithoutHead(Exercise):
    """Lo que dicen las cabezas, (B, L, d_model) → lo mismo con el trozo de una a 0."""

    number, title, points = "11.2", "apagar una cabeza", 2
    names = ("concat", "head", "heads")
    axes = {"slice": SLICES, "fill": FILLS, "shape": SHAPES}
    stages, extra = (Stage(tuple(axes), CASES),), EXTRA
    tiny = tuple(Case("", (torch.tensor([[row]]), head, 2)) for row, head in TINY)
    measured, silent = {"fill": found_fill}, (all_nan,)
    must = (
        right_shape(
            lambda concat, head, heads: concat.shape,
            "Tu salida tiene que medir lo mismo que concat, (B, L, d_model).",
            "11 §6",
            "Con {name}, mide {yours} y tenía que medir {right}.",
        ),
        only_its_columns,
    )
    also = ("otro-número", "la-multiplica")

    def compute(self, choice, concat, head, heads):
        hidden = marked(choice["slice"], concat, head, heads)
        output = choice["fill"](concat, hidden, heads)
        return {"output": choice["shape"](output, concat, hidden, heads)}


WITHOUT_HEAD = WithoutHead()
EXERCISES = (WITHOUT_HEAD,)


def check_without_head(function):
    """Comprueba una función que apaga una cabeza.

    Args:
        function: recibe ``(concat, head, heads)``: lo que han dicho todas las cabezas, una al lado de
            otra, ``(B, L, d_model)``; la que se apaga, desde 0; y cuántas hay. Devuelve otro tensor
            ``(B, L, d_model)``: igual, con el trozo de esa cabeza a 0. ``concat`` no cambia.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(WITHOUT_HEAD.check(function))
