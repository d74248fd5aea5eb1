"""16.2 · Cuándo se dijo cada palabra: {qué cabezas} × {cómo se juntan y qué se elige, como en la 11.1} × {en qué unidad}."""

import torch

from course_checkers.engine import Numbers, Option, Stage, each_output, laws, show, stepping, told
from course_checkers.engine.case import Case, drawn
from course_checkers.lessons.l11_1_alignment import AVERAGES, AXES as ALIGNED
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself

OWN, LAWS = told(__file__, "16.2"), laws(__file__, "16.2 propiedades")
step = stepping(OWN)
FRAME = 0.02


def again(options):
    """Los mismos pasos de la 11.1, con lo que de cada error se dice aquí; sin los que aquí no se dicen."""
    found = (Option(one.value, tuple(OWN.get(m.id) for m in one.mistakes)) for one in options)
    return [one for one in found if None not in one.mistakes]


def chosen(w, heads):
    return torch.stack([w[layer, head] for layer, head in heads])


AXES = {
    "which": step(
        chosen,
        ("todas-las-cabezas", lambda w, heads: w.flatten(0, 1)),
        ("capas-enteras", lambda w, heads: w[[layer for layer, _ in heads]].flatten(0, 1)),
        ("la-última-capa", lambda w, heads: w[-1]),
        ("capa-y-cabeza-cambiadas", lambda w, heads: chosen(w.transpose(0, 1), heads)),
    ),
    "heads": again(ALIGNED["heads"]) + step(None, ("argmax-de-cabezas", lambda t: t.argmax(0).float()))[1:],
    "choice": again(ALIGNED["choice"]),
    "unit": step(
        lambda x, n: x * FRAME,
        ("sin-segundos", lambda x, n: x * 1.0),
        ("centésimas", lambda x, n: x * FRAME / 2),
        ("milisegundos", lambda x, n: x * FRAME * 1000),
        ("entre-0.02", lambda x, n: x / FRAME),
        ("parte-del-sonido", lambda x, n: x / n),
        ("treinta-segundos", lambda x, n: x / n * 30),
    ),
    "finish": step(itself, ("columna-desde-1", lambda x: x + FRAME), ("enteros", torch.floor, torch.round)),
    "other": step(None, ("voto", lambda t: t.argmax(-1).mode(0).values), ("media-de-posiciones", *AVERAGES)),
}


def moment_case(seed, layers, h, T, L_E, *heads):
    w = 2 * drawn(seed, (layers, h, T, L_E)) + 2 * torch.eye(T).repeat_interleave(-(-L_E // T), 1)[:, :L_E]  # una diagonal
    return Case(f"{layers} capas de {h} cabezas, {T} tokens y {L_E} columnas", (w.softmax(-1), [*heads]))


CASES = (
    moment_case(0, 4, 4, 6, 30, (2, 1), (3, 0), (3, 2)), moment_case(1, 3, 4, 5, 21, (0, 2), (2, 1)),
    moment_case(2, 5, 5, 7, 40, (4, 1), (4, 3), (3, 2), (1, 0)), moment_case(3, 3, 3, 8, 16, (1, 2), (2, 0), (0, 1)),
    moment_case(4, 4, 6, 9, 60, (3, 0), (3, 1), (2, 3), (1, 2), (0, 3)),
    moment_case(1, 3, 4, 5, 21, (1, 3), (0, 1)),  # lo mismo, con otras cabezas
)  # fmt: skip


@each_output(LAWS)
def inside_the_sound(output, weights, heads):
    last = (weights.shape[-1] - 1) * FRAME
    if outside := [float(x) for x in output.flatten() if not -1e-6 <= x <= last + 1e-6][:1]:
        yield "propiedad-segundos", {"yours": show(outside[0]), "last": show(last)}


class Moments(numbers.NumberExercise):
    """Comprueba una función que dice cuándo se dijo cada token.

    Args:
        function: recibe ``(weights, heads)``: los pesos de la atención cruzada, ``(Nx, h, T, L_E)``, y una
            lista de parejas (capa, cabeza). Devuelve ``(T,)``: de cada token, el segundo en que empieza la
            columna con más peso, en la media de esas cabezas. Cada columna son 0,02 segundos.
    """

    number, title, points, section = "16.2", "cuándo se dijo cada palabra", 3, "16 §4"
    possible = staticmethod(lambda w, heads: all(i < w.shape[0] and j < w.shape[1] for i, j in heads))
    axes = AXES
    stages, unused = (Stage(tuple(AXES), CASES, most=2),), ("heads", "choice")
    extra = (moment_case(5, 6, 8, 20, 450, (3, 1), (4, 2), (5, 6)), moment_case(6, 2, 2, 1, 9, (1, 0)))
    tiny = (Case("", (torch.tensor([[[[0.1, 0.7, 0.2], [0.2, 0.2, 0.6]]]]), [(0, 0)])),)
    reader = Numbers("un tensor de segundos, (T,)")
    must = (*numbers.must(section, lambda weights, heads: weights.shape[2:3]), inside_the_sound)

    def compute(self, choice, weights, heads):
        table = choice["which"](weights, heads)
        found = choice["other"](table) if choice["other"] else choice["choice"](choice["heads"](table))
        return {"output": choice["finish"](choice["unit"](found, weights.shape[-1])).float()}
