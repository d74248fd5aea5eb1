"""16.2 · Cuándo se dijo cada palabra: {qué cabezas} × {qué se elige, de qué fila} × {en qué unidad}."""

import torch

from course_checkers.engine import Case, Exercise, Numbers, Stage, drawn, laws, stepping, told
from course_checkers.engine.comparing import show
from course_checkers.engine.properties import each_output
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself

step = stepping(told(__file__, "16.2"))
LAWS = laws(__file__, "16.2 propiedades")
FRAME = 0.02


def chosen(w, heads):
    return torch.stack([w[layer, head] for layer, head in heads])


def each(reduce):
    """De las cabezas elegidas, lo que da esa cuenta."""
    return lambda w, heads: reduce(chosen(w, heads))


def late(reduce):
    """Elegir en cada cabeza, y juntar después lo elegido: se da como una tabla con un solo 1 por fila."""
    return lambda w, heads: reduce(chosen(w, heads).argmax(-1))


AXES = {
    "heads": step(
        each(lambda t: t.mean(0)),
        ("todas-las-cabezas", lambda w, heads: w.mean((0, 1))),
        ("capas-enteras", lambda w, heads: w[[layer for layer, _ in heads]].mean((0, 1))),
        ("una-sola-cabeza", each(lambda t: t[0]), each(lambda t: t[-1])),
        ("la-última-capa", lambda w, heads: w[-1].mean(0)),
        ("capa-y-cabeza-cambiadas", lambda w, heads: torch.stack([w[head, layer] for layer, head in heads]).mean(0)),
        ("máximo-de-cabezas", each(lambda t: t.amax(0))),
        ("sin-juntar-cabezas", each(itself)),
        ("argmax-de-cabezas", each(lambda t: t.argmax(0).float())),
        ("media-de-otro-eje", each(lambda t: t.mean(1))),
    ),
    "choice": step(
        lambda t: t.argmax(-1),
        ("por-columnas", lambda t: t.argmax(-2)),
        ("momento-medio", lambda t: (t * torch.arange(t.shape[-1])).sum(-1) / t.sum(-1)),
        ("devuelve-el-peso", lambda t: t.amax(-1)),
        ("en-toda-la-tabla", torch.argmax),
        ("el-que-menos", lambda t: t.argmin(-1)),
        ("devuelve-la-tabla", itself),
    ),
    "unit": step(
        lambda x, n: x * FRAME,
        ("sin-segundos", lambda x, n: x * 1.0),
        ("centésimas", lambda x, n: x * FRAME / 2),
        ("milisegundos", lambda x, n: x * FRAME * 1000),
        ("entre-0.02", lambda x, n: x / FRAME),
        ("parte-del-sonido", lambda x, n: x / n),
        ("treinta-segundos", lambda x, n: x / n * 30),
    ),
    "finish": step(
        itself,
        ("columna-desde-1", lambda x: x + FRAME),
        ("enteros", torch.floor, torch.round),
    ),
    "other": step(None, ("voto", late(lambda x: x.mode(0).values)), ("media-de-momentos", late(lambda x: x.float().mean(0)))),
}  # fmt: skip


def moment_case(seed, layers, h, T, L_E, heads):
    w = 2 * drawn(seed, (layers, h, T, L_E))
    w += 2 * torch.eye(T).repeat_interleave(-(-L_E // T), 1)[:, :L_E]  # una diagonal, con ruido
    return Case(f"{layers} capas de {h} cabezas, {T} tokens y {L_E} columnas", (w.softmax(-1), heads))


CASES = (
    moment_case(0, 4, 4, 6, 30, [(2, 1), (3, 0), (3, 2)]), moment_case(1, 3, 4, 5, 21, [(0, 2), (2, 1)]),
    moment_case(2, 5, 5, 7, 40, [(4, 1), (4, 3), (3, 2), (1, 0)]), moment_case(3, 3, 3, 8, 16, [(1, 2), (2, 0), (0, 1)]),
    moment_case(4, 4, 6, 9, 60, [(3, 0), (3, 1), (2, 3), (1, 2), (0, 3)]),
)  # fmt: skip


@each_output(LAWS)
def inside_the_sound(output, weights, heads):
    last = (weights.shape[-1] - 1) * FRAME
    if outside := [float(x) for x in output.flatten() if not -1e-6 <= x <= last + 1e-6][:1]:
        yield "propiedad-segundos", {"yours": show(outside[0]), "last": show(last)}


class Moments(Exercise):
    """Comprueba una función que dice cuándo se dijo cada token.

    Args:
        function: recibe ``(weights, heads)``: los pesos de la atención cruzada, ``(Nx, h, T, L_E)``, y una
            lista de parejas (capa, cabeza). Devuelve ``(T,)``: de cada token, el segundo en que empieza la
            columna con más peso, en la media de esas cabezas. Cada columna son 0,02 segundos.
    """

    number, title, points = "16.2", "cuándo se dijo cada palabra", 3
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, most=2),)
    extra = (moment_case(5, 6, 8, 20, 450, [(3, 1), (4, 2), (5, 6)]), moment_case(6, 2, 2, 1, 9, [(1, 0)]))
    tiny = (Case("", (torch.tensor([[[[0.1, 0.7, 0.2], [0.2, 0.2, 0.6]]]]), [(0, 0)])),)
    reader = Numbers("un tensor de segundos, (T,)")
    silent, also = (numbers.constant,), tuple(numbers.KNOWN)
    measured = {"finish": numbers.by_a_number("16 §4")}
    must = (*numbers.must("16 §4", lambda weights, heads: weights.shape[2:3]), inside_the_sound)

    def possible(self, weights, heads):
        return all(layer < weights.shape[0] and head < weights.shape[1] for layer, head in heads)

    def compute(self, choice, weights, heads):
        if choice["other"]:
            found = choice["other"](weights, heads)
        else:
            found = choice["choice"](choice["heads"](weights, heads))
        return {"output": choice["finish"](choice["unit"](found, weights.shape[-1])).float()}

    def skip(self, choice):
        return numbers.out_of_place(choice, "heads", "choice")
