"""10.3 · Leer un alineamiento en la atención cruzada: de qué palabra sale cada una.

{la media de las cabezas, una sola, la mayor…} × {con la marca de fin o sin ella} × {la fila que
predice, la de al lado} × {el mayor peso de la fila, de la columna…}.
"""

import torch

from course_lib.checkers.engine import Case, Exercise, Stage, finish, same, show, told, ways
from course_lib.checkers.engine.properties import hits, laws
from course_lib.checkers.engine.reading import Numbers
from course_lib.checkers.steps import numbers
from course_lib.checkers.steps.numbers import itself

KNOWN, LAWS = told(__file__, "10.3"), laws(__file__, "10.3 propiedades")

# --- Los pasos ------------------------------------------------------------------------------------

MARKS = ways(
    KNOWN,
    lambda weights: weights[..., :-1],
    ("cuenta-la-marca", itself),
    ("quita-la-primera", lambda weights: weights[..., 1:], lambda weights: weights[..., 1:-1]),
    ("quita-la-última-fila", lambda weights: weights[..., :-1, :-1]),
    ("reparte-cada-cabeza", lambda weights: weights[..., :-1] / weights[..., :-1].sum(-1, True)),
    (("cuenta-la-marca", "quita-la-última-fila"), lambda weights: weights[..., :-1, :]),
)
HEADS = ways(
    KNOWN,
    lambda weights: weights.mean(0),
    ("sin-juntar-cabezas", itself),
    ("una-sola-cabeza", *(lambda weights, head=head: weights[head] for head in (0, 1, -1))),
    ("máximo-de-cabezas", lambda weights: weights.amax(0)),
    ("mínimo-de-cabezas", lambda weights: weights.amin(0)),
    ("mediana-de-cabezas", lambda weights: weights.median(0).values),
    ("mediana-de-cabezas", lambda weights: weights.quantile(0.5, 0)),
    ("producto-de-cabezas", lambda weights: weights.prod(0)),
    ("media-de-otro-eje", lambda weights: weights.mean(1), lambda weights: weights.mean(2)),
)
ROWS = ways(
    KNOWN,
    itself,
    ("fila-siguiente", lambda table: table.roll(-1, -2), lambda table: table[..., 1:, :]),
    ("fila-siguiente", lambda table: torch.cat([table[..., 1:, :], table[..., -1:, :]], -2)),
    ("fila-anterior", lambda table: table.roll(1, -2)),
    ("fila-anterior", lambda table: torch.cat([table[..., :1, :], table[..., :-1, :]], -2)),
)


def expected(table):
    return (table * torch.arange(table.shape[-1])).sum(-1) / table.sum(-1)


def diagonal(table):
    return torch.arange(table.shape[-2])


CHOICES = ways(
    KNOWN,
    lambda table: table.argmax(-1),
    ("por-columnas", lambda table: table.argmax(-2)),
    ("en-toda-la-tabla", torch.argmax, lambda table: table.argmax() % table.shape[-1]),
    ("el-que-menos", lambda table: table.argmin(-1)),
    ("el-segundo", lambda table: table.argsort(-1)[..., -2]),
    ("posición-media", expected, lambda table: expected(table).round()),
    ("posición-media", lambda table: expected(table).long()),
    ("devuelve-el-peso", lambda table: table.amax(-1)),
    ("devuelve-la-tabla", itself),
    ("en-diagonal", diagonal, lambda table: diagonal(table).clamp(max=table.shape[-1] - 1)),
)


def average(finish):
    return lambda weights: finish(weights.argmax(-1).float().mean(0))


VOTES = ways(
    KNOWN,
    None,
    ("voto", lambda weights: weights.argmax(-1).mode(0).values),
    ("media-de-posiciones", average(itself), average(torch.round), average(torch.floor)),
)


def paired(first):
    def pairs(places):
        order = torch.arange(places.shape[-1]).expand(places.shape)
        return torch.stack([order, places] if first else [places, order], -1)

    return pairs


# --- Las pruebas ----------------------------------------------------------------------------------


def alignment_case(seed, h, m_D, m_E, spread=1.3):
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(h, m_D, m_E, generator=generator)
    scores[..., -1] += 1.2  # la marca de fin se lleva mucho
    written = f"{m_D} tokens escritos" if m_D > 1 else "un token escrito"
    name = f"{h} cabeza{'s' * (h > 1)}, {written} y {m_E} de origen"
    return Case(name, (scores.softmax(-1),))


SIZES = (4, 6, 7), (3, 5, 9), (4, 8, 6), (5, 5, 5), (6, 6, 6), (2, 4, 8), (1, 7, 7), (4, 4, 10)
CASES = (
    *(alignment_case(seed, *sizes) for seed, sizes in enumerate(SIZES)),
    alignment_case(8, 5, 60, 32, spread=0.3),  # muchas filas: aquí no se acierta por suerte
)
EXTRA = (
    Case("una cabeza y dos tokens", (torch.tensor([[[0.2, 0.5, 0.3], [0.3, 0.1, 0.6]]]),)),
    alignment_case(9, 3, 1, 6),
    alignment_case(10, 3, 90, 400),  # posiciones que no caben en un entero de 8 bits
)
TINY = tuple(
    Case("", (torch.tensor(weights),))
    for weights in (
        [[[0.7, 0.2, 0.1]]],
        [[[0.1, 0.3, 0.6]]],
        [[[0.8, 0.1, 0.1]], [[0.1, 0.5, 0.4]], [[0.3, 0.6, 0.1]]],
        [[[0.1, 0.3, 0.6], [0.5, 0.2, 0.3]]],
    )
)


def has_decimals(value):
    """Si un resultado está escrito con decimales."""
    if isinstance(value, list | tuple):
        return any(map(has_decimals, value))
    if isinstance(value, torch.Tensor):
        return value.is_floating_point()
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def not_integers(attempt, choice):
    noted, outputs = zip(*attempt.values.values())
    if noted[0] and all(same(output, output.round(), 0, 0) for output in outputs):
        yield LAWS["dtype"]


def places_of_words(attempt):
    for case, output in attempt.outputs():
        last = case.arguments[0].shape[-1] - 2
        outside = (output < 0) | (output > last) | (output != output.round())
        if outside.any():
            i = int(outside.nonzero()[0])
            law = LAWS["propiedad-posiciones"]
            return [law.saying(name=case.name, i=i, yours=show(output[i]), last=last)]
    return []


class Alignment(Exercise):
    """Pesos cruzados (h, m_D, m_E) → de cada token escrito, la posición de origen que más mira."""

    number, title, names = "10.3", "leer un alineamiento", ("weights",)
    axes = {
        "other": VOTES,
        "mark": MARKS,
        "heads": HEADS,
        "row": ROWS,
        "choice": CHOICES,
        "finish": ways(
            KNOWN,
            itself,
            ("posición-desde-1", lambda places: places + 1),
            ("posición-menos-1", lambda places: places - 1),
        ),
        "shape": ways(
            KNOWN,
            itself,
            ("devuelve-parejas", paired(True), paired(False)),
            ("sobran-ejes", lambda places: places[None], lambda places: places[..., None]),
        ),
    }
    stages = (Stage(tuple(axes), CASES, most=2),)
    extra, tiny = EXTRA, TINY
    reader = Numbers("un tensor de enteros, (m_D,)", noting=has_decimals)
    silent, returned, also = (numbers.constant,), (not_integers,), ("siempre-lo-mismo",)
    must = (
        *numbers.must("10 §6", lambda weights: weights.shape[1:2]),
        places_of_words,
        hits(LAWS["propiedad-aciertos"]),
    )

    def compute(self, choice, weights):
        table = choice["mark"](weights)
        if choice["other"]:
            found = choice["other"](choice["row"](table))
        else:
            found = choice["choice"](choice["row"](choice["heads"](table)))
        return {"output": choice["shape"](choice["finish"](found)).float()}

    def skip(self, choice):
        return numbers.out_of_place(choice, "heads", "choice")


ALIGNMENT = Alignment()
EXERCISES = (ALIGNMENT,)


def check_alignment(function):
    """Comprueba una función que lee un alineamiento en los pesos de la atención cruzada.

    Args:
        function: recibe los pesos de una capa, ``(h, m_D, m_E)``; la última columna es la marca de fin
            del origen, que no cuenta. Devuelve ``(m_D,)``, enteros: de cada token escrito, la posición
            del token de origen con más peso, en la media de las cabezas.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(ALIGNMENT.check(function))
