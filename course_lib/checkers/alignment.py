"""Comprueba cómo se lee un alineamiento en la atención cruzada: de qué palabra sale cada una.

La familia: {la media de las cabezas, una sola, la mayor…} × {con la marca de fin o sin ella} × {la
fila que predice, la de al lado} × {el mayor peso de la fila, de la columna…}.
"""

import functools

import torch

from course_lib.checkers.family import Case, Option, Stage, same, show
from course_lib.checkers.number_family import Numbers, itself, mistakes_in, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
sin-juntar-cabezas · 10 §6 · Falta juntar las cabezas: haz la media de sus pesos antes de elegir.
una-sola-cabeza · 10 §6 · Usas una sola cabeza, y es la media de todas.
máximo-de-cabezas · 10 §6 · De cada casilla tomas la cabeza que más da, y es la media de todas.
mínimo-de-cabezas · 10 §6 · De cada casilla tomas la cabeza que menos da, y es la media de todas.
mediana-de-cabezas · 10 §6 · Haces la mediana de las cabezas, y es la media.
producto-de-cabezas · 10 §6 · Multiplicas los pesos de las cabezas, y es la media.
media-de-otro-eje · 10 §6 · La media no es de las cabezas: son el primer eje, el 0.
voto · 10 §6 · Eliges en cada cabeza y después haces que voten: primero se hace la media de los pesos.
media-de-posiciones · 10 §6 · Eliges en cada cabeza y haces la media de las posiciones: la media es de los pesos.
reparte-cada-cabeza · 10 §6 · Sin la marca, vuelves a repartir cada cabeza antes de la media: unas pesan más.
cuenta-la-marca · 10 §6 · Cuentas la última columna, la marca de fin: no es ninguna palabra.
quita-la-primera · 10 §6 · Quitas la primera columna, que es una palabra: la marca de fin es la última.
quita-la-última-fila · 10 §6 · Quitas la última fila: también hay que decir adónde mira el último token.
fila-siguiente · 10 §6 · Miras la fila siguiente, la que ya lee ese token: es la fila que lo predice, la suya.
fila-anterior · 10 §6 · Miras la fila anterior: la fila i es la que predice el token i.
por-columnas · 10 §6 · Eliges en cada columna: eso dice qué token escrito mira más a cada palabra del origen.
en-toda-la-tabla · 10 §6 · Eliges en toda la tabla, y se elige en cada fila.
el-que-menos · 10 §6 · Eliges el peso más bajo, y es el más alto.
el-segundo · 10 §6 · Eliges el segundo, y es el que más peso recibe.
posición-media · 10 §6 · Haces una media de las posiciones según su peso: se elige la de más peso, entera.
devuelve-el-peso · 10 §6 · Devuelves el peso, y se pide la posición que lo recibe. Mira argmax().
devuelve-la-tabla · 10 §6 · Devuelves la tabla de pesos, y se pide una posición por fila.
en-diagonal · 10 §6 · Devuelves 0, 1, 2…: no depende de los pesos, y las dos frases no llevan el mismo orden.
posición-desde-1 · 10 §6 · Sumas 1 a las posiciones, y se cuentan desde 0.
posición-menos-1 · 10 §6 · Restas 1 a las posiciones: si no has quitado nada por delante, no hace falta.
devuelve-parejas · 10 §6 · Devuelves parejas, y se pide solo la posición del origen.
sobran-ejes · 10 §6 · A tu salida le sobra un eje: se pide (m_D,).
"""
MISTAKES = mistakes_in(TEXTS)
step = functools.partial(steps, MISTAKES)

# --- Los pasos ------------------------------------------------------------------------------------


def shared_again(weights):
    weights = weights[..., :-1]
    return weights / weights.sum(-1, keepdim=True)


MARKS = step(
    lambda weights: weights[..., :-1],
    ("cuenta-la-marca", itself),
    ("quita-la-primera", lambda weights: weights[..., 1:]),
    ("quita-la-primera", lambda weights: weights[..., 1:-1]),
    ("quita-la-última-fila", lambda weights: weights[..., :-1, :-1]),
    ("reparte-cada-cabeza", shared_again),
)
MARKS.append(
    Option(
        lambda weights: weights[..., :-1, :],
        tuple(MISTAKES[id] for id in ("cuenta-la-marca", "quita-la-última-fila")),
    )
)
HEADS = step(
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
ROWS = step(
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


CHOICES = step(
    lambda table: table.argmax(-1),
    ("por-columnas", lambda table: table.argmax(-2)),
    ("en-toda-la-tabla", torch.argmax),
    ("en-toda-la-tabla", lambda table: table.argmax() % table.shape[-1]),
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


VOTES = step(
    None,
    ("voto", lambda weights: weights.argmax(-1).mode(0).values),
    ("media-de-posiciones", average(itself), average(torch.round), average(torch.floor)),
)
STARTS = step(
    itself,
    ("posición-desde-1", lambda places: places + 1),
    ("posición-menos-1", lambda places: places - 1),
)


def paired(places, first):
    order = torch.arange(places.shape[-1]).expand(places.shape)
    return torch.stack([order, places] if first else [places, order], -1)


SHAPES = step(
    itself,
    ("devuelve-parejas", lambda places: paired(places, True), lambda places: paired(places, False)),
    ("sobran-ejes", lambda places: places[None], lambda places: places[..., None]),
)

# --- Las pruebas ----------------------------------------------------------------------------------


def alignment_case(seed, h, m_D, m_E, spread=1.3):
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(h, m_D, m_E, generator=generator)
    scores[..., -1] += 1.2  # la marca de fin se lleva mucho
    name = f"{h} cabeza{'s' * (h > 1)}, {m_D} tokens escritos y {m_E} de origen"
    return Case(name, (scores.softmax(-1),))


CASES = (
    alignment_case(0, 4, 6, 7),
    alignment_case(1, 3, 5, 9),
    alignment_case(2, 4, 8, 6),
    alignment_case(3, 5, 5, 5),
    alignment_case(4, 6, 6, 6),
    alignment_case(5, 2, 4, 8),
    alignment_case(6, 1, 7, 7),
    alignment_case(7, 4, 4, 10),
    alignment_case(8, 5, 60, 32, spread=0.3),  # muchas filas: aquí no se acierta por suerte
)
TINY = (
    Case("", (torch.tensor([[[0.7, 0.2, 0.1]]]),)),
    Case("", (torch.tensor([[[0.1, 0.3, 0.6]]]),)),
    Case("", (torch.tensor([[[0.8, 0.1, 0.1]], [[0.1, 0.5, 0.4]], [[0.3, 0.6, 0.1]]]),)),
    Case("", (torch.tensor([[[0.1, 0.3, 0.6], [0.5, 0.2, 0.3]]]),)),
)


class Alignment(Numbers):
    """Pesos cruzados (h, m_D, m_E) → de cada token escrito, la posición de origen que más mira."""

    number, title, points = "10.3", "leer un alineamiento", 2
    names, where = ("weights",), "10 §6"
    expected = "un tensor de enteros, (m_D,)"
    axes = {
        "other": VOTES,
        "mark": MARKS,
        "heads": HEADS,
        "row": ROWS,
        "choice": CHOICES,
        "finish": STARTS,
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), CASES),)
    tiny = TINY

    def members(self, most):
        for choice in super().members(most):
            yield choice
            if choice.keys() == {"other"}:  # también quien vota puede equivocarse en lo demás
                for axis in ("mark", "row"):
                    for option in self.axes[axis][1:] if most > 1 else ():
                        yield choice | {axis: option}

    def compute(self, choice, weights):
        weights = choice["mark"](weights)
        if vote := choice["other"]:
            found = vote(choice["row"](weights))
        else:
            found = choice["choice"](choice["row"](choice["heads"](weights)))
        return {"output": choice["shape"](choice["finish"](found)).float()}

    def read(self, value, case):
        tensor, problem = super().read(value, case)
        if problem is None and has_decimals(value):
            tensor = tensor.double()  # así se recuerda hasta `form`
        return tensor, problem

    def form(self, values, choice):
        found = list(values.values())
        if found[0].dtype == torch.float64 and all(same(x, x.round(), 0, 0) for x in found):
            text = "Tu salida tiene decimales: una posición es un entero, y con decimales no sirve de índice."
            yield Finding("dtype", text, read="10 §6")

    def shape_of(self, weights):
        return weights.shape[1:2]

    def extra_options(self, learner):
        return {}  # aquí no se mide nada

    def mistake_ids(self):
        return super().mistake_ids() - {"factor-de-más", "suma-de-más"}

    def laws(self, learner, seen):
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            m_E = case.arguments[0].shape[-1]
            outside = (output < 0) | (output > m_E - 2) | (output != output.round())
            if outside.any():
                i = int(outside.nonzero()[0])
                text = "Cada número tiene que ser la posición de una palabra del origen."
                story = f"Con {case.name}, el {i} es {show(output[i])}, y van de 0 a {m_E - 2}."
                yield Finding("propiedad-posiciones", text, story, "10 §6")
                return
        good = sum(self.agrees({}, case, output) for case, output in seen.items())
        text = (
            "No reconozco qué has hecho, pero no siempre eliges el mayor peso medio de cada fila."
        )
        yield Finding(
            "propiedad-aciertos", text, f"Aciertas en {good} de {len(seen)} pruebas.", "10 §6"
        )


def has_decimals(value):
    """Si un resultado está escrito con decimales."""
    if isinstance(value, list | tuple):
        return any(map(has_decimals, value))
    if isinstance(value, torch.Tensor):
        return value.is_floating_point()
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


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
