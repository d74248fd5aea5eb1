"""11.1 · Leer un alineamiento en la atención cruzada: de qué palabra sale cada una.

{la media de las cabezas, una sola, la mayor…} × {con la marca de fin o sin ella} × {la fila que
predice, la de al lado} × {el mayor peso de la fila, de la columna…}.
"""

import torch

from course_checkers.engine import Case, Exercise, Numbers, Stage, drawn, each_output, hits, laws, same, show
from course_checkers.engine.mistakes import stepping, told
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself

step = stepping(told(__file__, "11.1"))
LAWS = laws(__file__, "11.1 propiedades")


def expected(t):
    return (t * torch.arange(t.shape[-1])).sum(-1) / t.sum(-1)


AVERAGES = [
    lambda w, finish=finish: finish(w.argmax(-1).float().mean(0))
    for finish in (itself, torch.round, torch.floor)
]
# Los pesos son w, (h, m_D, m_E); los de una cabeza o los de su media, t; las posiciones elegidas, x.
AXES = {
    "other": step(None, ("voto", lambda w: w.argmax(-1).mode(0).values), ("media-de-posiciones", *AVERAGES)),
    "mark": step(
        lambda w: w[..., :-1],
        ("cuenta-la-marca", itself),
        ("quita-la-primera", lambda w: w[..., 1:], lambda w: w[..., 1:-1]),
        ("quita-la-última-fila", lambda w: w[..., :-1, :-1]),
        ("reparte-cada-cabeza", lambda w: w[..., :-1] / w[..., :-1].sum(-1, True)),
        (("cuenta-la-marca", "quita-la-última-fila"), lambda w: w[..., :-1, :]),
    ),
    "heads": step(
        lambda w: w.mean(0),
        ("sin-juntar-cabezas", itself),
        ("una-sola-cabeza", lambda w: w[0], lambda w: w[1], lambda w: w[-1]),
        ("máximo-de-cabezas", lambda w: w.amax(0)),
        ("mínimo-de-cabezas", lambda w: w.amin(0)),
        ("mediana-de-cabezas", lambda w: w.median(0).values, lambda w: w.quantile(0.5, 0)),
        ("producto-de-cabezas", lambda w: w.prod(0)),
        ("media-de-otro-eje", lambda w: w.mean(1), lambda w: w.mean(2)),
    ),
    "row": step(
        itself,
        ("fila-siguiente", lambda t: t.roll(-1, -2), lambda t: t[..., 1:, :]),
        ("fila-siguiente", lambda t: torch.cat([t[..., 1:, :], t[..., -1:, :]], -2)),
        ("fila-anterior", lambda t: t.roll(1, -2), lambda t: torch.cat([t[..., :1, :], t[..., :-1, :]], -2)),
    ),
    "choice": step(
        lambda t: t.argmax(-1),
        ("por-columnas", lambda t: t.argmax(-2)),
        ("en-toda-la-tabla", torch.argmax, lambda t: t.argmax() % t.shape[-1]),
        ("el-que-menos", lambda t: t.argmin(-1)),
        ("el-segundo", lambda t: t.argsort(-1)[..., -2]),
        ("posición-media", expected, lambda t: expected(t).round(), lambda t: expected(t).long()),
        ("devuelve-el-peso", lambda t: t.amax(-1)),
        ("devuelve-la-tabla", itself),
        ("en-diagonal", lambda t: torch.arange(t.shape[-2])),
        ("en-diagonal", lambda t: torch.arange(t.shape[-2]).clamp(max=t.shape[-1] - 1)),
    ),
    "finish": step(itself, ("posición-desde-1", lambda x: x + 1), ("posición-menos-1", lambda x: x - 1)),
    "shape": step(
        itself,
        ("devuelve-parejas", lambda x: paired(x, True), lambda x: paired(x, False)),
        ("sobran-ejes", lambda x: x[None], lambda x: x[..., None]),
    ),
}


def paired(x, first):
    place = torch.arange(x.shape[-1]).expand(x.shape)
    return torch.stack([place, x] if first else [x, place], -1)


def alignment_case(seed, h, m_D, m_E, spread=1.3):
    scores = spread * drawn(seed, (h, m_D, m_E))
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
TINY = (
    [[[0.7, 0.2, 0.1]]],
    [[[0.1, 0.3, 0.6]]],
    [[[0.8, 0.1, 0.1]], [[0.1, 0.5, 0.4]], [[0.3, 0.6, 0.1]]],
    [[[0.1, 0.3, 0.6], [0.5, 0.2, 0.3]]],
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


@each_output(LAWS)
def places_of_words(output, weights):
    last = weights.shape[-1] - 2
    outside = (output < 0) | (output > last) | (output != output.round())
    if outside.any():
        i = int(outside.nonzero()[0])
        yield "propiedad-posiciones", {"i": i, "yours": show(output[i]), "last": last}


class Alignment(Exercise):
    """Comprueba una función que lee un alineamiento en los pesos de la atención cruzada.

    Args:
        function: recibe los pesos de una capa, ``(h, m_D, m_E)``; la última columna es la marca de fin
            del origen, que no cuenta. Devuelve ``(m_D,)``, enteros: de cada token escrito, la posición
            del token de origen con más peso, en la media de las cabezas.
    """

    number, title = "11.1", "leer un alineamiento"
    letters = ("h m_D m_E",)
    possible = staticmethod(lambda weights: weights.shape[-1] > 1)
    axes = AXES
    stages, unused = (Stage(tuple(axes), CASES, most=2),), ("heads", "choice")
    extra, tiny = EXTRA, tuple(Case("", (torch.tensor(weights),)) for weights in TINY)
    reader = Numbers("un tensor de enteros, (m_D,)", noting=has_decimals)
    silent, returned, also = (numbers.constant,), (not_integers,), ("siempre-lo-mismo",)
    must = (
        *numbers.must("11 §2", lambda weights: weights.shape[1:2]),
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
