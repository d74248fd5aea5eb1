"""La multi-cabeza: proyectar, repartir, atender, juntar y mezclar, bien y mal.

La usan la clase de la lección 06 y la función de la 07. Lo que cambia de una a otra es cómo se
proyecta, y eso lo pone cada una.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from course_lib.checkers.engine.exercise import Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.search import Stage
from course_lib.checkers.steps import attention as one
from course_lib.checkers.steps import hiding
from course_lib.checkers.steps.sources import OWN, ROLES


class Sizes(NamedTuple):
    heads: int
    width: int  # d_model
    d_k: int


def refuse(*_):
    """Un paso que no admite lo que recibe."""
    raise ValueError


# --- Atender: lo que ya conoce la atención de una cabeza -------------------------------------------

ATTEND = told(__file__, "attend", one.largest_weight, query_key_cambiadas=None)


def early(divisor):
    """Dividir las puntuaciones, y no los pesos."""
    return divisor, False


def by_root(q, k, sizes):
    return math.sqrt(sizes.d_k)


SCALE_OPTIONS = ways(
    one.SCALES | ATTEND,
    [
        early(by_root),
        early(lambda q, k, sizes: math.sqrt(q.shape[-1])),
    ],  # o lo que mida lo repartido
    (one.LATE, (by_root, True)),
    *(
        (f"escala-{name}", early(divisor))
        for name, divisor in (
            ("ninguna", lambda q, k, sizes: 1.0),
            ("√d_model", lambda q, k, sizes: math.sqrt(sizes.width)),
            ("d_k", lambda q, k, sizes: sizes.d_k),
            ("d_model", lambda q, k, sizes: sizes.width),
            ("√h", lambda q, k, sizes: math.sqrt(sizes.heads)),
            ("h", lambda q, k, sizes: sizes.heads),
            ("por-√d_k", lambda q, k, sizes: sizes.d_k**-0.5),
            ("por-d_k", lambda q, k, sizes: 1 / sizes.d_k),
            ("d_k²", lambda q, k, sizes: sizes.d_k**2),
            ("√L_k", lambda q, k, sizes: math.sqrt(k.shape[-2])),
            ("√L_q", lambda q, k, sizes: math.sqrt(q.shape[-2])),
            ("L_k", lambda q, k, sizes: k.shape[-2]),
            ("√lote", lambda q, k, sizes: math.sqrt(q.shape[0])),
            ("normas", lambda q, k, sizes: one.DIVISORS["normas"](q, k, None)),
        )
    ),
)
# Con cuatro ejes, el 2 es el -2, el 1 es el -3, y quien no dice el eje usa el 1.
SAME_AXES = {"softmax-eje-2", "softmax-eje--3", "softmax-sin-dim"}
SOFTMAX_OPTIONS = [
    option for option in one.SOFTMAX_OPTIONS if not {m.id for m in option.mistakes} & SAME_AXES
]

# --- Repartir -------------------------------------------------------------------------------------


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def split_directly(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def split_interleaved(x, heads):
    return x.reshape(*x.shape[:2], -1, heads).permute(0, 3, 1, 2)


def split_tokens(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1] // heads, x.shape[2])


def alike(how):
    """La query, la key y el value se reparten igual."""
    return (how,) * 3


def careless(how):
    """Solo una de las tres va mal, por un descuido."""
    return [tuple(how if i == wrong else split for i in range(3)) for wrong in range(3)]


SPLITS = told(__file__, "split")
SPLIT_OPTIONS = ways(
    SPLITS,
    alike(split),
    ("view-sin-trasponer", alike(split_directly)),
    ("falta-trasponer", alike(lambda x, heads: x.reshape(*x.shape[:2], heads, -1))),
    ("cabezas-intercaladas", alike(split_interleaved)),
    (
        "h-y-d_k-cambiados",
        alike(lambda x, heads: x.reshape(*x.shape[:2], -1, heads).transpose(1, 2)),
    ),
    ("una-sola-cabeza", alike(lambda x, heads: x[:, None])),
    (
        "traspone-antes-de-repartir",
        alike(lambda x, heads: x.mT.reshape(x.shape[0], heads, x.shape[1], -1)),
    ),
    ("reparte-los-tokens", alike(split_tokens)),
    ("view-sin-trasponer", *careless(split_directly)),
    ("cabezas-intercaladas", *careless(split_interleaved)),
)

# --- Juntar ---------------------------------------------------------------------------------------


def joined_shape(look):
    """Qué forma sale de juntar, si no es la buena."""
    yours, right = (tuple(traced["concat"].shape) for traced in (look.traced, look.traced_right))
    if yours == right:
        return ""
    return f"Con {look.case.name}, lo que sale de juntar mide {yours} y tenía que medir {right}."


MERGE_OPTIONS = ways(  # de las cabezas, del lote, de la longitud y de cuántas son
    told(__file__, "merge", joined_shape),
    [
        lambda x, batch, length, heads: x.transpose(1, 2).reshape(batch, length, -1),
        lambda x, batch, length, heads: x.transpose(1, 2).flatten(2),
    ],
    ("junta-sin-trasponer", lambda x, batch, length, heads: x.reshape(batch, length, -1)),
    (
        "junta-intercalando",
        lambda x, batch, length, heads: x.permute(0, 2, 3, 1).reshape(batch, length, -1),
    ),
    ("junta-otros-ejes", lambda x, batch, length, heads: x.mT.reshape(batch, length, -1)),
    ("media-de-cabezas", lambda x, *_: x.mean(1)),
    ("suma-de-cabezas", lambda x, *_: x.sum(1)),
    ("solo-la-primera-cabeza", lambda x, *_: x[:, 0]),
    ("solo-la-última-cabeza", lambda x, *_: x[:, -1]),
    (
        "concat-otro-eje",
        lambda x, *_: x.flatten(1, 2),
        lambda x, *_: x.transpose(1, 2).flatten(1, 2),
        lambda x, *_: x.flatten(0, 1),
        lambda x, *_: x.transpose(0, 1).flatten(0, 1),
    ),
    ("sin-juntar", lambda x, *_: x, lambda x, *_: x.transpose(1, 2)),
)
# Con este reparto, juntar así es lo que toca: el error es solo uno.
EXPECTED_MERGE = {
    "falta-trasponer": "junta-sin-trasponer",
    "cabezas-intercaladas": "junta-intercalando",
}

# --- La máscara -----------------------------------------------------------------------------------


def only(allowed, hide):
    """Tapar así, pero solo si la máscara tiene alguno de estos ejes; si no, el código se para."""
    return lambda scores, mask: hide(scores, mask) if mask.dim() in allowed else refuse()


HIDE = hiding.filled(-math.inf)
MASK_OPTIONS = [
    *hiding.MASK_OPTIONS,
    *ways(
        told(__file__, "mask"),
        (only((4,), HIDE), None),  # quien no admite (L_q, L_k): vale, con una nota
        ("sin-máscara", (refuse, None)),
        (
            "máscara-eje-de-más",
            (only((2,), HIDE), None),
            *hiding.before(
                lambda scores, mask: HIDE(scores, mask.unsqueeze(0)),
                lambda scores, mask: HIDE(scores, mask.unsqueeze(1)),
            ),
        ),
    ),
]

# --- Las etapas -----------------------------------------------------------------------------------

AXES = {
    "source_v": [Option("value")],
    "sources": [Option(("query", "key"))],
    "order": [Option(False), Option(True, ATTEND["query-key-cambiadas"])],
    "scale": SCALE_OPTIONS,
    "softmax": SOFTMAX_OPTIONS,
    "extra": [Option(False), Option(True, hiding.ALWAYS_CAUSAL)],
    "value": one.VALUE_OPTIONS,
    "split": SPLIT_OPTIONS,
    "merge": MERGE_OPTIONS,
    "naive": [Option(False), Option(True, one.UNSTABLE)],
    "mask": [Option((None, None))],
    "batch": [Option(False)],
}
FIRST_ONLY = {
    "split": ("h-y-d_k-cambiados",),
    "merge": ("sin-juntar", "concat-otro-eje", "media-de-cabezas", "suma-de-cabezas"),
}
SINGLE_ONLY = {"split": ("falta-trasponer", "h-y-d_k-cambiados", "traspone-antes-de-repartir")}
CONCEALING = ("falta-trasponer", "softmax-eje-1")  # tapan lo demás si hay una sola cabeza


def stage(axes, cases, most=2, styles=(), **more):
    """Una etapa de la multi-cabeza: solo se siguen las explicaciones con menos errores."""
    return Stage(axes, cases, most, styles=styles, smallest=True, may_stop=True, **more)


class Heads(Exercise):
    """Lo común: la cuenta, con cada paso bien o mal.

    La familia es demasiado grande para recorrerla. Las primeras pruebas tienen un solo token, y
    después una sola cabeza: ahí casi todos los pasos dan igual y los demás se averiguan solos.
    """

    repeated = True  # el mismo, en la query y en la key; «join» le da un solo nombre

    def __init__(self):
        # Las mismas cuentas se repiten en miles de miembros de la familia.
        self.divided = lru_cache(maxsize=None)(self._divided)
        self.compared = lru_cache(maxsize=None)(self._compared)
        self.weighed = lru_cache(maxsize=None)(self._weighed)

    def skip(self, choice):
        """Con un buen reparto, lo repartido mide d_k: sobra la otra forma de decirlo."""
        usual = not choice["split"].mistake
        return usual and choice["scale"].value is SCALE_OPTIONS[1].value

    def projected(self, given, role, source, how, batch):
        """(B, L, ·): lo que se reparte. Lo escribe cada ejercicio."""
        raise NotImplementedError

    def sizes(self, given):
        return Sizes(given.heads, given.width, given.width // given.heads)

    def _divided(self, given, role, source, how, batch, division):
        return division(self.projected(given, role, source, how, batch), given.heads)

    def _compared(self, given, query, key, order, scale):
        q, k = self.divided(given, *query), self.divided(given, *key)
        divisor, late = scale
        divide = divisor(q, k, self.sizes(given))
        scores = k @ q.mT if order else q @ k.mT
        return (scores, divide) if late else (scores / divide, None)

    def _weighed(self, given, query, key, order, scale, softmax, extra, naive, mask, hide):
        scores, late = self.compared(given, query, key, order, scale)
        if extra:
            scores = hiding.causal(scores)
            if hide[0] is hiding.causal_instead:
                raise ValueError  # ya se tapa el futuro
        if mask is not None and mask.dim() == 4 and scores.shape[1] == 1:
            mask = mask[:, :1]  # una sola cabeza
        before, after = hide
        scores = before(scores, mask) if before else scores
        weights = softmax(scores, naive)
        weights = weights if late is None else weights / late
        return scores, after(weights, mask) if after else weights

    def attend(self, choice, given, mask=None):
        """Desde las entradas hasta las cabezas juntas, con cada paso dado como se pide."""
        sources = (*choice["sources"], choice["source_v"])
        hows = (*choice["projections"], choice["project_v"])
        keys = [
            (role, source, role if how == OWN else how, choice["batch"], division)
            for role, source, how, division in zip(ROLES, sources, hows, choice["split"])
        ]
        q, k, v = (self.divided(given, *key) for key in keys)
        hide = choice["mask"] if mask is not None else (None, None)
        chosen = [choice[axis] for axis in ("order", "scale", "softmax", "extra", "naive")]
        scores, weights = self.weighed(given, *keys[:2], *chosen, mask, hide)
        mixed = choice["value"](weights, q, k, v)
        length = self.projected(given, "query", "query", "none", choice["batch"]).shape[1]
        concat = choice["merge"](mixed, q.shape[0], length, given.heads)
        return {"weights": weights, "scores": scores, "concat": concat}
