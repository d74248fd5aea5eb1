"""13.1 · Un paso de la softmax en línea: {el máximo de todo, solo el del bloque…} × {e elevado a la
diferencia, sin restar…} × {corrige lo de antes, no lo corrige, corrige lo nuevo…} × {sin dividir…}.
"""

from typing import NamedTuple

import torch

from course_checkers.engine import Case, Exercise, Several, Stage, drawn, gives_nan, laws, stepping, told
from course_checkers.engine.comparing import same, show_both
from course_checkers.steps import parts
from course_checkers.steps.numbers import itself


class State(NamedTuple):
    maximum: torch.Tensor  # (L_q, 1)
    total: torch.Tensor  # (L_q, 1)
    output: torch.Tensor  # (L_q, d_v)


def raw(s, m, n):
    """Sin restar nada: entonces tampoco hay nada que corregir."""
    return s.exp()


TOLD, LAWS = told(__file__, "13.1"), laws(__file__, "13.1 propiedades")
step = stepping(TOLD)
AXES = {
    # Del máximo de antes, m, y las puntuaciones del bloque, s, el nuevo.
    "maximum": step(
        lambda m, s: torch.maximum(m, s.amax(-1, True)),
        ("máximo-solo-del-bloque", lambda m, s: s.amax(-1, True)),
        ("máximo-de-antes", lambda m, s: m),
        ("máximo-de-todas", lambda m, s: torch.maximum(m, s.max())),
        ("máximo-de-todas", lambda m, s: torch.maximum(m, s.max()).amax().expand(m.shape)),
        ("sin-keepdim#máximo", lambda m, s: torch.maximum(m, s.amax(-1))),
        ("mínimo", lambda m, s: torch.maximum(m, s.amin(-1, True)), lambda m, s: s.amin(-1, True)),
        ("mínimo", lambda m, s: torch.minimum(m, s.amin(-1, True))),
    ),
    # De las puntuaciones, el máximo de antes y el nuevo, n: lo que pesa cada key del bloque.
    "weights": step(
        lambda s, m, n: (s - n).exp(),
        ("sin-restar", raw, lambda s, m, n: s.exp()),
        ("resta-el-de-antes", lambda s, m, n: (s - m).exp()),
        ("resta-el-del-bloque", lambda s, m, n: (s - s.amax(-1, True)).exp()),
        ("sin-exponencial", lambda s, m, n: s - n, lambda s, m, n: s),
        ("softmax-del-bloque", lambda s, m, n: s.softmax(-1)),
        ("resta-al-revés", lambda s, m, n: (n - s).exp()),
        ("potencias-de-2", lambda s, m, n: 2.0 ** (s - n)),
    ),
    # Del factor que corrige, f, y el que saldría con el máximo del bloque, g: por cuánto van la suma y la
    # salida de antes, y las del bloque.
    "factor": step(
        lambda f, g: (f, f, 1, 1),
        ("sin-corregir", lambda f, g: (1, 1, 1, 1)),
        ("salida-sin-corregir", lambda f, g: (f, 1, 1, 1)),
        ("total-sin-corregir", lambda f, g: (1, f, 1, 1)),
        ("factor-al-revés", lambda f, g: (1 / f, 1 / f, 1, 1)),
        ("factor-del-bloque", lambda f, g: (g, g, 1, 1)),
        ("corrige-lo-nuevo", lambda f, g: (1, 1, f, f), lambda f, g: (1, 1, 1 / f, 1 / f)),
        ("corrige-todo", lambda f, g: (f, f, f, f)),
        ("factor-sin-exponencial", lambda f, g: (f.log(), f.log(), 1, 1)),
        ("olvida-lo-de-antes", lambda f, g: (0, 0, 1, 1)),
        ("olvida-el-total", lambda f, g: (0, f, 1, 1)),
        ("olvida-la-salida", lambda f, g: (f, 0, 1, 1)),
    ),
    "sum": step(
        lambda w: w.sum(-1, True),
        ("suma-todas-las-filas", torch.sum),
        ("sin-keepdim", lambda w: w.sum(-1)),
        ("media-de-pesos", lambda w: w.mean(-1, True)),
    ),
    "product": step(
        lambda w, v: w @ v,
        ("values-sin-pesos", lambda w, v: v.sum(0).expand(len(w), -1)),
        ("divide-el-bloque", lambda w, v: w @ v / w.sum(-1, True)),
    ),
    # De la suma de antes, t, y la nueva: por cuánto va la salida de antes, y por cuánto se divide.
    "divided": step(lambda t, new: (1, 1), ("divide-ya", lambda t, new: (1, new), lambda t, new: (t, new))),
    "told": step(lambda m, n: n, ("devuelve-el-máximo-de-antes", lambda m, n: m)),
    "back": step(
        itself,
        ("otro-orden", *parts.reordered()),
        ("sin-eje", lambda s: State(s.maximum[:, 0], s.total[:, 0], s.output)),
        ("sin-eje", lambda s: s._replace(total=s.total[:, 0])),
    ),
}
RIGHT = {axis: options[0].value for axis, options in AXES.items()}


def step(choice, maximum, total, output, scores, values):
    new = choice["maximum"](maximum, scores)
    weights = choice["weights"](scores, maximum, new)
    f = torch.ones_like(maximum) if choice["weights"] is raw else (maximum - new).exp()
    a, b, c, d = choice["factor"](f, (maximum - scores.amax(-1, True)).exp())
    now = a * total + c * choice["sum"](weights)
    times, divisor = choice["divided"](total, now)
    mixed = (b * output * times + d * choice["product"](weights, values)) / divisor
    return choice["back"](State(choice["told"](maximum, new), now, mixed))


def block_case(seed, L_q, before, b, d_v, shift=0.0):
    """Un bloque de ``b`` keys cuando ya se han visto ``before``; puntuaciones en torno a ``shift``."""
    scores, values = drawn(seed, (L_q, before + b), (before + b, d_v))
    scores = shift + 1.5 * scores
    state = torch.full((L_q, 1), -torch.inf), torch.zeros(L_q, 1), torch.zeros(L_q, d_v)
    if before:
        state = step(RIGHT, *state, scores[:, :before], values[:before])
    name = f"L_q = {L_q}, {before} keys ya vistas y b = {b}"
    name += f", con puntuaciones en torno a {shift:g}" * bool(shift)
    return Case(name, (*state, scores[:, before:], values[before:]))


SIZES = ((4, 3, 5, 2), (3, 0, 4, 5), (4, 6, 1, 3), (5, 2, 5, 5), (1, 7, 2, 4), (2, 1, 3, 1))
SHIFTED = block_case(6, 4, 4, 3, 2, 300.0), block_case(7, 3, 5, 4, 2, -300.0)
CASES = (*(block_case(seed, *sizes) for seed, sizes in enumerate(SIZES)), *SHIFTED)
*SEEN, SCORES, VALUES = CASES[0].arguments
# Un bloque entero tapado, cuando ya se había visto algo.
HIDDEN = gives_nan(TOLD["bloque-tapado"].text, *SEEN, torch.full_like(SCORES, -torch.inf), VALUES)
TINY = (-torch.inf, 0.0, 0.0, 2.0, 10.0), (2.0, 1.0, 10.0, 1.0, 4.0), (2.0, 1.0, 10.0, 3.0, 4.0)


def by_pieces(attempt):
    """Que dé lo mismo leer un bloque de una vez o en dos trozos."""
    *state, scores, values = CASES[0].arguments
    whole, pieces = attempt.ask(*state, scores, values), state
    for block in (slice(0, 2), slice(2, None)):
        pieces = pieces and attempt.ask(*pieces, scores[:, block], values[block])
    if whole and pieces:
        one, other = (output / total for _, total, output in (whole, pieces))
        if one.shape == other.shape and not same(one, other):
            row = int((one - other).abs().amax(-1).argmax())
            one, other = show_both(one[row], other[row])
            yield LAWS["propiedad-trozos"].saying(row=row, one=one, other=other)


class OnlineSoftmax(Exercise):
    """Comprueba un paso de la softmax en línea.

    Args:
        function: recibe ``(maximum, total, output, scores, values)``, de formas ``(L_q, 1)``,
            ``(L_q, 1)``, ``(L_q, d_v)``, ``(L_q, b)`` y ``(b, d_v)``: lo que se sabe de unas queries y un
            bloque de keys. Devuelve las tres primeras, puestas al día; la salida, sin dividir.
    """

    number, title, points, axes = "13.1", "la softmax en línea", 3, AXES
    names = (*State._fields, "scores", "values")
    letters = ("L_q -", "L_q -", "L_q d_v", "L_q b", "b d_v")
    stages = (Stage(tuple(AXES), CASES, most=2),)
    extra = (block_case(8, 30, 200, 70, 8),)
    tiny = tuple(Case("", tuple(torch.tensor([[x]]) for x in given)) for given in TINY)
    reader, notes = Several(State._fields), (HIDDEN,)
    must = (*parts.must(lambda *given: {n: x.shape for n, x in zip(State._fields, given)}), by_pieces)

    def compute(self, choice, *given):
        return {"output": step(choice, *given)}
