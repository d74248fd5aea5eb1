"""13.3 · Atender con keys y values compartidos: {cada grupo con la suya, la serie repetida, todas con
la primera…} × {todas las queries, la media de cada grupo…} × los pasos de la atención.
"""

import torch

from course_checkers.engine import Case, Exercise, Pair, Stage, clone, drawn, stepping, told, ways, whole
from course_checkers.engine.properties import TORCH, finite, laws, not_by_hand, right_shape
from course_checkers.steps import attention as steps
from course_checkers.steps.heads import SOFTMAX_OPTIONS
from course_checkers.steps.pair import RETURNED, wrong_pair


def in_place(x, h):
    """0, 0, 0, 1, 1, 1."""
    return x.repeat_interleave(h // x.shape[1], 1)


def in_series(x, h):
    """0, 1, 0, 1, 0, 1."""
    return x.repeat(1, h // x.shape[1], 1, 1)


def tokens(x, h):
    """Cada token, seguido de sus copias, y después repartidos entre las cabezas."""
    return x.repeat_interleave(h // x.shape[1], 2).reshape(x.shape[0], h, *x.shape[2:])


def both(*functions):
    """Lo mismo con las keys y con los values."""
    return [(function, function) for function in functions]


def grouped(x, many):
    return x.unflatten(1, (many, -1))


def mean(q, h_kv):
    return grouped(q, h_kv).mean(2)


def one_each(q, h_kv):
    return grouped(q, h_kv)[:, :, 0]


step = stepping(told(__file__, "13.3"))
LAWS = laws(__file__, "13.3 propiedades")
AXES = {
    # De las keys y de los values, cómo se llega a h cabezas.
    "share": step(
        (in_place, in_place),
        ("repite-la-serie", (in_series, in_series)),
        ("repite-la-serie#keys", (in_series, in_place)),
        ("repite-la-serie#values", (in_place, in_series)),
        ("sin-repetir", *both(lambda x, h: x)),
        ("repite-h_kv-veces", *both(lambda x, h: x.repeat_interleave(x.shape[1], 1))),
        ("repite-h_kv-veces", *both(lambda x, h: x[:, torch.arange(h) // x.shape[1]])),
        ("repite-h-veces", *both(lambda x, h: x.repeat_interleave(h, 1))),
        ("todas-con-la-primera", *both(lambda x, h: x[:, :1].expand(-1, h, -1, -1))),
        ("media-de-lo-compartido", *both(lambda x, h: x.mean(1, True).expand(-1, h, -1, -1))),
        ("repite-los-tokens", *both(tokens)),
    ),
    # De las queries, cuáles preguntan; h_kv es cuántas keys hay.
    "asked": step(
        lambda q, h_kv: q,
        ("media-de-queries", mean, lambda q, h_kv: in_place(mean(q, h_kv), q.shape[1])),
        ("solo-h_kv-queries", lambda q, h_kv: q[:, :h_kv], one_each),
        ("solo-h_kv-queries", lambda q, h_kv: in_place(one_each(q, h_kv), q.shape[1])),
    ),
    "scale": steps.SCALE_OPTIONS,
    "softmax": SOFTMAX_OPTIONS,
    "value": steps.VALUE_OPTIONS,
    # De la salida, (B, h, L_q, d_v), lo que se devuelve.
    "back": step(
        lambda x, h, h_kv: x,
        ("media-de-salidas", lambda x, h, h_kv: grouped(x, h_kv).mean(2)),
        ("media-de-salidas", lambda x, h, h_kv: in_place(grouped(x, h_kv).mean(2), h)),
        ("suma-de-salidas", lambda x, h, h_kv: grouped(x, h_kv).sum(2)),
        ("cabezas-en-otro-orden", lambda x, h, h_kv: grouped(x, h_kv).transpose(1, 2).flatten(1, 2)),
        ("sin-juntar-los-grupos", lambda x, h, h_kv: grouped(x, h_kv)),
        ("sin-juntar-los-grupos", lambda x, h, h_kv: grouped(x, h_kv).transpose(1, 2)),
        ("sin-juntar-los-grupos", lambda x, h, h_kv: grouped(x, h // h_kv)),
        ("junta-las-cabezas", lambda x, h, h_kv: x.transpose(1, 2).flatten(2)),
        ("divide-por-el-grupo", lambda x, h, h_kv: x * h_kv / h),
    ),
    "naive": ways({"softmax-inestable": steps.UNSTABLE}, False, ("softmax-inestable", True)),
}


def shared_case(seed, h, h_kv, L_q, L_k, d_k, d_v, B=2, low=0.0):
    """``low``: cuánto se multiplican unas puntuaciones que son todas negativas."""
    query, key, value = drawn(seed, (B, h, L_q, d_k), (B, h_kv, L_k, d_k), (B, h_kv, L_k, d_v))
    name = f"h = {h} y h_kv = {h_kv}"
    if low:
        name, query, key = f"{name}, con puntuaciones muy negativas", low * query.abs(), -key.abs()
    return Case(name, (1.2 * query, key, value))


SIZES = (
    (6, 2, 3, 5, 4, 7),
    (6, 3, 4, 2, 5, 3),
    (5, 1, 3, 4, 6, 2),
    (3, 3, 2, 5, 4, 6),
    (8, 4, 4, 4, 4, 3),
)
CASES = (
    *(shared_case(seed, *sizes) for seed, sizes in enumerate(SIZES)),
    shared_case(5, 4, 2, 5, 3, 2, 6, B=1),
    shared_case(6, 4, 2, 3, 4, 5, 6, low=1500.0),
)
TINY = (2, 1, 1, 2, 1, 1), (2, 2, 1, 2, 1, 1), (4, 2, 1, 1, 1, 1), (4, 2, 1, 2, 1, 1)


def own_group(attempt):
    """Que cambiar una key y un value solo mueva las queries de su grupo."""
    arguments = CASES[0].arguments
    touched = clone(arguments)
    for x in touched[1:]:
        x[:, 0] += 1.0
    one, other = attempt.ask(*arguments), attempt.ask(*touched)
    if one is not None and other is not None and one.shape == other.shape == (2, 6, 3, 7):
        moved = ((one - other).abs().amax((0, 2, 3)) > 1e-5).nonzero()[:, 0].tolist()
        if moved != [0, 1, 2]:
            yield LAWS["propiedad-grupo"].saying(moved=moved)


class GroupedAttention(Exercise):
    """Comprueba una atención en la que varias cabezas de query comparten key y value.

    Args:
        function: recibe ``(query, key, value)``, de formas ``(B, h, L_q, d_k)``, ``(B, h_kv, L_k, d_k)`` y
            ``(B, h_kv, L_k, d_v)``; cada h / h_kv cabezas de query seguidas usan una de key y value.
            Devuelve la salida ``(B, h, L_q, d_v)``, o ``(salida, pesos)``.
    """

    number, title, points, axes = "13.3", "compartir keys y values", 3, AXES
    letters = ("B - L_q d_k", "B - L_k d_k", "B - L_k d_v")
    stages = (Stage(tuple(AXES), CASES, most=2, frequent=8),)
    extra = (shared_case(8, 32, 8, 20, 30, 8, 9),)
    tiny = tuple(whole(shared_case(20, *sizes, B=1)) for sizes in TINY)
    notes = (not_by_hand((f"{TORCH}, enable_gqa",), LAWS["ya-hecha"].text),)
    reader, returned, also = Pair(steps.output_shape, numpy=True), (wrong_pair,), RETURNED
    must = (
        right_shape(steps.output_shape, "La forma de tu salida no es (B, h, L_q, d_v).", "13 §5"),
        finite("03 §2"),
        own_group,
    )

    def compute(self, choice, query, key, value):
        q = choice["asked"](query, key.shape[1])
        k, v = (share(x, q.shape[1]) for share, x in zip(choice["share"], (key, value)))
        scores = q @ k.mT / choice["scale"](q, k, v)
        weights = choice["softmax"](scores, choice["naive"])
        mixed = choice["value"](weights, q, k, v)
        output = choice["back"](mixed, query.shape[1], key.shape[1])
        return {"output": output, "weights": weights, "scores": scores}
