"""La multicabeza: proyectar, repartir, atender, juntar y mezclar, bien y mal.

La usan la clase de la lección 06 y la función de la 07. Lo que cambia de una a otra es cómo se
proyecta, y eso lo pone cada una.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch

from course_checkers.engine import Case, Exercise, Option, Stage, same, show, told, ways
from course_checkers.engine.search import search
from course_checkers.steps import attention as one
from course_checkers.steps import hiding
from course_checkers.steps.pair import has_both, wrong_pair
from course_checkers.steps.sources import OWN, ROLES, join


class Given(NamedTuple):
    """Lo que entra en una prueba."""

    inputs: object  # x, o query, key y value
    weights: object  # los de las cuatro proyecciones
    heads: int
    width: int  # d_model
    d_k: int


# --- Atender: lo que ya conoce la atención de una cabeza -------------------------------------------

ATTEND = told(__file__, "attend", one.largest_weight, query_key_cambiadas=None)


def by_root(q, k, given):
    return math.sqrt(given.d_k)


DIVISORS = {  # cada divisor malo, a partir de lo repartido y de lo que entra
    "√d_model": lambda q, k, given: math.sqrt(given.width),
    "d_k": lambda q, k, given: given.d_k,
    "d_model": lambda q, k, given: given.width,
    "√h": lambda q, k, given: math.sqrt(given.heads),
    "h": lambda q, k, given: given.heads,
    "por-√d_k": lambda q, k, given: given.d_k**-0.5,
    "por-d_k": lambda q, k, given: 1 / given.d_k,
    "d_k²": lambda q, k, given: given.d_k**2,
    "√lote": one.DIVISORS["√eje-0"],
} | {name: one.DIVISORS[name] for name in ("ninguna", "√L_k", "√L_q", "L_k", "normas")}
SCALE_OPTIONS = ways(  # el divisor, y si se divide después
    one.SCALES | ATTEND,
    [(by_root, False), (one.by_root, False)],  # o lo que mida lo repartido
    (one.LATE, (by_root, True)),
    *((f"escala-{name}", (divisor, False)) for name, divisor in DIVISORS.items()),
)
# Con cuatro ejes, el 2 es el -2, el 1 es el -3, y quien no dice el eje usa el 1.
SAME_AXES = {"softmax-eje-2", "softmax-eje--3", "softmax-sin-dim"}
SOFTMAX_OPTIONS = [o for o in one.SOFTMAX_OPTIONS if not {m.id for m in o.mistakes} & SAME_AXES]

# --- Repartir -------------------------------------------------------------------------------------


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def split_directly(x, heads, length=None):
    return x.reshape(x.shape[0], heads, length or x.shape[1], -1)


def split_interleaved(x, heads):
    return x.reshape(*x.shape[:2], -1, heads).permute(0, 3, 1, 2)


def split_tokens(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1] // heads, x.shape[2])


def careless(how):
    """Solo una de las tres va mal, por un descuido."""
    return [tuple(how if i == wrong else split for i in range(3)) for wrong in range(3)]


SPLITS = told(__file__, "split")
WRONG_SPLITS = (
    ("view-sin-trasponer", split_directly),
    ("falta-trasponer", lambda x, heads: x.reshape(*x.shape[:2], heads, -1)),
    ("cabezas-intercaladas", split_interleaved),
    ("h-y-d_k-cambiados", lambda x, heads: x.reshape(*x.shape[:2], -1, heads).transpose(1, 2)),
    ("una-sola-cabeza", lambda x, heads: x[:, None]),
    ("traspone-antes-de-repartir", lambda x, heads: split_directly(x.mT, heads, x.shape[1])),
    ("reparte-los-tokens", split_tokens),
)
SPLIT_OPTIONS = ways(  # de la query, la key y el value: casi siempre se reparten igual
    SPLITS,
    (split,) * 3,
    *((name, (how,) * 3) for name, how in WRONG_SPLITS),
    ("view-sin-trasponer", *careless(split_directly)),
    ("cabezas-intercaladas", *careless(split_interleaved)),
)

# --- Juntar ---------------------------------------------------------------------------------------


def joined_shape(look):
    """Qué forma sale de juntar, si no es la buena."""
    yours, right = (tuple(traced["concat"].shape) for traced in (look.traced, look.traced_right))
    return "" if yours == right else one.story("juntar", look, yours=yours, right=right)


def flat(x, batch, length):
    return x.reshape(batch, length, -1)


MERGE_OPTIONS = ways(  # de las cabezas, del lote y de la longitud
    told(__file__, "merge", joined_shape),
    [
        lambda x, batch, length: flat(x.transpose(1, 2), batch, length),
        lambda x, batch, length: x.transpose(1, 2).flatten(2),
    ],
    ("junta-sin-trasponer", flat),
    ("junta-intercalando", lambda x, *sizes: flat(x.permute(0, 2, 3, 1), *sizes)),
    ("junta-otros-ejes", lambda x, *sizes: flat(x.mT, *sizes)),
    ("media-de-cabezas", lambda x, *_: x.mean(1)),
    ("suma-de-cabezas", lambda x, *_: x.sum(1)),
    ("solo-la-primera-cabeza", lambda x, *_: x[:, 0]),
    ("solo-la-última-cabeza", lambda x, *_: x[:, -1]),
    ("concat-otro-eje", lambda x, *_: x.flatten(1, 2), lambda x, *_: x.transpose(1, 2).flatten(1, 2)),
    ("concat-otro-eje", lambda x, *_: x.flatten(0, 1), lambda x, *_: x.transpose(0, 1).flatten(0, 1)),
    ("sin-juntar", lambda x, *_: x, lambda x, *_: x.transpose(1, 2)),
)
# Con este reparto, juntar así es lo que toca: el error es solo uno.
EXPECTED_MERGE = {"falta-trasponer": "junta-sin-trasponer", "cabezas-intercaladas": "junta-intercalando"}

# --- La máscara -----------------------------------------------------------------------------------

HIDE = hiding.filled(-math.inf)


def only(*axes):
    """Tapar bien, pero solo si la máscara tiene tantos ejes; si no, el código se para."""

    def hide(scores, mask):
        if mask.dim() not in axes:
            raise ValueError
        return HIDE(scores, mask)

    return hide, None


def with_axis(axis):
    return lambda scores, mask: HIDE(scores, mask.unsqueeze(axis)), None


MASK_OPTIONS = [
    *hiding.MASK_OPTIONS,
    *ways(
        told(__file__, "mask"),
        only(4),  # quien no admite (L_q, L_k): vale, con una nota
        ("sin-máscara", only()),
        ("máscara-eje-de-más", only(2), with_axis(0), with_axis(1)),
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
WIDER = ("project_v", "projections", "split", "merge", "output", "value")
# Con un solo token, «pesos por keys» y «values mal proyectados» son lo mismo: después, sin lo primero.
BARE = ("source_v", "project_v", "output", "softmax", "scale", "merge")
ONE_TOKEN = (*BARE[:3], "value", *BARE[3:]), BARE
ONE_HEAD = ("sources", "projections", "order", "batch", "split", "scale", "softmax", "extra")
ONE_HEAD += ("value", "merge")
MANY_HEADS = ("split", "merge", "scale", "value")
AGAIN = ("sources", "projections", "merge", "scale", "softmax")  # si antes algo lo tapaba


def stage(axes, cases, most=2, styles=(), **more):
    """Una etapa de la multicabeza: solo se siguen las explicaciones con menos errores."""
    return Stage(axes, cases, most, styles=styles, smallest=True, may_stop=True, **more)


class Cases(NamedTuple):
    """Las pruebas de la multicabeza sin máscara."""

    first: tuple  # de un token y una cabeza
    single: Case  # de varios tokens y una cabeza
    wide: tuple
    large: Case  # con puntuaciones muy grandes


def plans_of_stages(cases, many_heads=(), last=(), **by_heads):
    """De un token y una cabeza a muchos. Y otro plan, por si con él no se explica todo.

    Args:
        cases: las pruebas, ``Cases``. Al principio basta con una de ``cases.first``.
        many_heads: los pasos de un ejercicio que se miran con varias cabezas.
        last: las etapas de un ejercicio, detrás de todas.
        by_heads: lo demás de la etapa con varias cabezas.
    """
    first, both = {"only": FIRST_ONLY, "sure": False}, ("merge", "scale")
    every = stage(AGAIN, cases.wide, styles=both, after=CONCEALING)
    rest = (
        stage(ONE_HEAD, (cases.single,), styles=("scale",), only=SINGLE_ONLY, sure=False),
        stage((*MANY_HEADS, *many_heads), cases.wide, styles=both, otherwise=every, **by_heads),
        stage(("naive",), (cases.large,)),
        *last,
    )
    for one_token in ONE_TOKEN:
        start = stage(WIDER, cases.first[:1], **first)
        for case in reversed(cases.first):
            start = stage(one_token, (case,), **first, otherwise=start)
        yield start, *rest


def output_shape(first, *_):
    return tuple(first.shape)


def output_of(attempt, *arguments):
    """La salida, si mide lo que lo primero que recibe."""
    output = attempt.ask(*arguments)
    alike = isinstance(output, torch.Tensor) and output.shape == arguments[0].shape
    return output if alike else None


def moved(law, one, other, row=slice(None)):
    """Que dos salidas sean la misma, al menos en una frase del lote; ``{moved}`` es lo que se apartan."""
    if one is not None and other is not None and not same(one[row], other[row]):
        yield law.saying(moved=show((one[row] - other[row]).abs().max()))


def returned(attempt, choice):
    """Los pesos: por cabeza o, si no, su media, que también vale."""
    values = attempt.values.items()
    kept = {case: value for case, value in values if not averaged(attempt, choice, case, value)}
    return wrong_pair(attempt, choice, kept)


def averaged(attempt, choice, case, value):
    if not has_both(value) or len(value) != 2:
        return False
    if (traced := attempt.exercise.trace(choice, case)) is None:
        return True
    forms = traced["weights"].mean(1), traced["weights"].flatten(0, 1)
    return value[1].dim() == 3 and any(same(value[1], form) for form in forms)


class Heads(Exercise):
    """Lo común: la cuenta, con cada paso bien o mal.

    La familia es demasiado grande para recorrerla. Las primeras pruebas tienen un solo token, y
    después una sola cabeza: ahí casi todos los pasos dan igual y los demás se averiguan solos.
    """

    kinds: dict = {}  # cómo se proyecta mal → cómo se llama
    second_try: tuple = ()  # el otro plan (véase ``plans_of_stages``)

    def __init__(self):
        self.good = {axis: options[0].value for axis, options in self.axes.items()}
        for name in ("divided", "compared", "weighed"):  # se repiten en miles de miembros
            setattr(self, name, lru_cache(maxsize=None)(getattr(self, name)))

    def admits(self, choice):
        """Un error puede estar en la query y en la key: «join» le da un solo nombre."""
        return not self.skip(choice)

    def search(self, seen, measure):
        found = super().search(seen, measure)
        other = found if found.complete else search(self, seen, measure, self.second_try)
        found = other if other.complete else found
        return found._replace(choice=join(found.choice, self.good, self.kinds, EXPECTED_MERGE))

    def skip(self, choice):
        """Con un buen reparto, lo repartido mide d_k: sobra la otra forma de decirlo."""
        return not choice["split"].mistake and choice["scale"] is SCALE_OPTIONS[1]

    def projected(self, given, role, source, how, batch):
        """(B, L, ·): lo que se reparte. Lo escribe cada ejercicio."""
        raise NotImplementedError

    def divided(self, given, role, source, how, batch, division):
        return division(self.projected(given, role, source, how, batch), given.heads)

    def compared(self, given, query, key, order, scale):
        q, k = self.divided(given, *query), self.divided(given, *key)
        divisor, late = scale
        divide = divisor(q, k, given)
        scores = k @ q.mT if order else q @ k.mT
        return (scores, divide) if late else (scores / divide, None)

    def weighed(self, given, query, key, order, scale, softmax, extra, naive, mask, hide):
        scores, late = self.compared(given, query, key, order, scale)
        if extra:
            scores = hiding.causal(scores)
            if hide[0] is hiding.causal_instead:
                raise ValueError  # ya se tapa el futuro
        if mask is not None and mask.dim() == 4 and scores.shape[1] == 1:
            mask = mask[:, :1]  # una sola cabeza
        return hiding.shared(scores, mask, hide, softmax, naive, late)

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
        concat = choice["merge"](mixed, q.shape[0], length)
        return {"weights": weights, "scores": scores, "concat": concat}
