"""13.2 · Atender con caché: {junta y atiende a todo, solo a lo nuevo…} × {la máscara corrida, sin
correr…} × {guarda las keys y los values, la query…} × los pasos de la atención.
"""

from typing import NamedTuple

import numpy as np
import torch

from course_checkers.engine import Exercise, Several, Stage, laws, running, stepping, told, ways
from course_checkers.engine.case import Case, drawn, whole
from course_checkers.engine.comparing import same, show_both
from course_checkers.steps import attention as steps
from course_checkers.steps import parts
from course_checkers.steps.heads import SOFTMAX_OPTIONS
from course_checkers.steps.hiding import TOO_WEAK, before, filled, own_mask, triangle
from course_checkers.steps.numbers import itself


class Cached(NamedTuple):
    output: torch.Tensor  # (B, h, n, d_v)
    keys: torch.Tensor  # (B, h, L + n, d_k)
    values: torch.Tensor  # (B, h, L + n, d_v)


def corner(n, L):
    """La de ``is_causal=True`` en torch."""
    return triangle(n, L + n)


# Como torch con la máscara al revés: una fila que no ve a nadie da 0.
UNSEEN = (lambda s, seen: s.masked_fill(seen, -torch.inf), lambda w, seen: w.nan_to_num())
WEAK = before(*map(filled, map(float, TOO_WEAK)))
TOLD, LAWS = told(__file__, "13.2"), laws(__file__, "13.2 propiedades")
step = stepping(TOLD)
HIDDEN, HIDE_OPTIONS = own_mask(TOLD["sin-máscara"], None)
AXES = {
    # De la query, la key y el value nuevos, lo que va a la caché.
    "new": step(lambda q, k, v: (k, v), ("guarda-la-query", lambda q, k, v: (q, v))),
    "join": step(
        lambda kept, new: torch.cat([kept, new], 2),
        ("nuevo-delante", lambda kept, new: torch.cat([new, kept], 2)),
    ),
    # A qué se atiende y qué se devuelve, de lo guardado (0), lo nuevo (1) y todo (2).
    "attended": step(2, ("solo-lo-nuevo", 1), ("solo-lo-guardado", 0)),
    "back": step(
        (2, 2),
        ("caché-sin-crecer", (0, 0), (2, 0), (0, 2)),
        ("caché-solo-lo-nuevo", (1, 1), (2, 1), (1, 2)),
    ),
    # Quién se ve, con n nuevos y L guardados.
    "seen": step(
        lambda n, L: triangle(n, L + n, L),
        ("máscara-sin-correr", corner, lambda n, L: corner(n, L) if n > 1 else triangle(n, L + n, L)),
        ("máscara-solo-al-empezar", lambda n, L: triangle(n, L + n, n + L if L else 0)),
        ("máscara-cuadrada", lambda n, L: triangle(n, n)),
        ("máscara-sin-sí-mismo", lambda n, L: triangle(n, L + n, L - 1)),
        ("máscara-uno-de-más", lambda n, L: triangle(n, L + n, L + 1)),
        ("máscara-corrida-n", lambda n, L: triangle(n, L + n, n)),
        ("máscara-traspuesta", lambda n, L: ~triangle(n, L + n, L - 1)),
    ),
    "hide": HIDE_OPTIONS + ways(HIDDEN, [], ("máscara-al-revés", UNSEEN), ("máscara-poco-negativa", *WEAK)),
    "scale": steps.SCALE_OPTIONS,
    "softmax": SOFTMAX_OPTIONS,
    "value": steps.VALUE_OPTIONS,
    "rows": step(
        itself,
        ("solo-el-último", lambda x: x[..., -1:, :], lambda x: x[..., -1, :]),
        ("junta-las-cabezas", lambda x: x.transpose(1, 2).flatten(2)),
    ),
    "order": step(itself, ("otro-orden", *parts.reordered())),
    "naive": ways({"softmax-inestable": steps.UNSTABLE}, False, ("softmax-inestable", True)),
}


def cache_case(seed, n, L, B=2, h=3, d_k=4, d_v=5, low=0.0):
    """``low``: cuánto se multiplican unas puntuaciones que son todas negativas."""
    shapes = (n, d_k), (n, d_k), (n, d_v), (L, d_k), (L, d_v)
    given = drawn(seed, *((B, h, *shape) for shape in shapes))
    name = f"{n} token{'s' * (n > 1)} nuevo{'s' * (n > 1)} y {L} en la caché"
    if low:
        name += ", con puntuaciones muy negativas"
        given[0], given[1], given[3] = low * given[0].abs(), -given[1].abs(), -given[3].abs()
    return Case(name, tuple(given))


LENGTHS = (3, 4), (5, 0), (1, 6), (2, 5), (4, 2), (1, 0)
CASES = (
    *(cache_case(seed, *lengths) for seed, lengths in enumerate(LENGTHS)),
    cache_case(6, 3, 3, 3, 3, 3, 3),  # todo mide lo mismo: nada se para
    cache_case(7, 4, 3, d_k=6, d_v=6, low=1500.0),
)
TINY = (1, 1), (2, 1), (1, 0), (2, 0)


def shapes_of(query, key, value, kept_keys, kept_values):
    n, kept = value.shape[2], (kept_keys, kept_values)
    grown = [(*x.shape[:2], x.shape[2] + n, x.shape[3]) for x in kept]
    return dict(zip(Cached._fields, (value.shape, *grown)))


def step_by_step(attempt):
    """Que los tokens de uno en uno den la misma salida que de una vez."""
    query, key, value, *kept = CASES[0].arguments
    whole, outputs = attempt.ask(query, key, value, *kept), []
    for i in range(query.shape[2]):
        found = attempt.ask(*(x[:, :, i : i + 1] for x in (query, key, value)), *kept)
        if found is None or whole is None:
            return
        outputs, kept = [*outputs, found[0]], found[1:]
    pieces, whole = torch.cat(outputs, 2), whole[0]
    if pieces.shape == whole.shape and not same(pieces, whole):
        gap = (pieces - whole).abs().nan_to_num(torch.inf).amax(-1)
        batch, head, row = place = np.unravel_index(int(gap.argmax()), gap.shape)
        one, other = show_both(whole[place], pieces[place])
        told = {"batch": batch, "head": head, "row": row, "one": one, "other": other}
        yield LAWS["propiedad-pasos"].saying(**told)


def written_over(attempt, choice, findings):
    """Que lo devuelto siga igual después de otra llamada."""
    case = CASES[0]
    kept = attempt.call(*case.arguments).kept
    attempt.call(*(x + 1.0 for x in case.arguments))
    after = running.call(lambda: [returned for returned, _ in kept]).value or ()
    for name, (_, one), other in zip(Cached._fields, kept, after):
        if not findings and not same(one, other):
            yield LAWS["caché-compartida"].saying(name=case.name, part=name)
            return


class CachedAttention(Exercise):
    """Comprueba una atención con caché de keys y values.

    Args:
        function: recibe ``(query, key, value, kept_keys, kept_values)``: las tres primeras, de los n
            tokens nuevos, ``(B, h, n, d_k)`` dos veces y ``(B, h, n, d_v)``; las otras, de los L
            guardados, con L quizá 0. Devuelve ``(output, keys, values)``: la salida de los nuevos,
            ``(B, h, n, d_v)``, y la caché con ellos detrás. Nadie ve el futuro.
    """

    number, title, points, axes = "13.2", "atender con caché", 4, AXES
    letters = ("B h n d_k", "B h n d_k", "B h n d_v", "B h L d_k", "B h L d_v")
    stages = (Stage(tuple(AXES), CASES, most=2, frequent=9),)
    # La última recibe una caché que mide lo que la de la anterior, y no es esa.
    extra = cache_case(8, 40, 60), cache_case(9, 5, 0), cache_case(10, 2, 5)
    tiny = tuple(whole(cache_case(20, *lengths, 1, 1, 1, 1)) for lengths in TINY)
    besides = (written_over,)
    reader, must = Several(Cached._fields), (*parts.must(shapes_of), step_by_step)

    def compute(self, choice, query, key, value, kept_keys, kept_values):
        pairs = zip((kept_keys, kept_values), choice["new"](query, key, value))
        keys, values = ((kept, new, choice["join"](kept, new)) for kept, new in pairs)
        k, v = keys[choice["attended"]], values[choice["attended"]]
        n, L = query.shape[2], kept_keys.shape[2]
        seen = choice["seen"](n, L)
        seen = (seen[:, :L], seen[:, -n:], seen)[choice["attended"]]
        hide, clean = choice["hide"]
        scores = query @ k.mT / choice["scale"](query, k, v)
        scores = hide(scores, seen) if hide else scores
        weights = choice["softmax"](scores, choice["naive"]) if k.shape[2] else scores
        weights = clean(weights, seen) if clean else weights
        output = choice["rows"](choice["value"](weights, query, k, v))
        found = Cached(output, *(x[i] for x, i in zip((keys, values), choice["back"])))
        return {"output": choice["order"](found), "weights": weights, "scores": scores}
