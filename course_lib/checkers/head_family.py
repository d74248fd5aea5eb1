"""La familia de la multi-cabeza: proyectar, repartir, atender, juntar y mezclar, bien y mal.

La usan la clase de la lección 06 y la función de la 07. Lo que cambia de una a otra es cómo se
proyecta, y eso lo pone cada una.
"""

import functools
import itertools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from course_lib.checkers import legacy_steps as steps
from course_lib.checkers.family import Case, Exercise, Mistake, Option, Raised, fewest

MOST = 2  # errores que se buscan a la vez en cada etapa


class Sizes(NamedTuple):
    heads: int
    width: int  # d_model
    d_k: int


@dataclass(frozen=True, eq=False)
class HeadsCase(Case):
    """Una prueba con sus cabezas y su anchura."""

    heads: int = 1
    width: int = 6


def refuse(*_):
    """Un paso que no admite lo que recibe."""
    raise ValueError


# --- Los errores que ya conoce la atención de una cabeza ------------------------------------------


def safe(consequence):
    """La consecuencia o, si los pesos no tienen la forma que espera, nada."""

    def story(look):
        try:
            return consequence(look)
        except (RuntimeError, IndexError):
            return ""

    return consequence and story


@functools.cache
def borrowed(mistake):
    if isinstance(mistake, tuple):
        return tuple(map(borrowed, mistake))
    return mistake and replace(mistake, consequence=safe(mistake.consequence))


def borrow(options, without=()):
    """Formas de dar un paso de la lección 05, menos las que aquí serían otra con otro nombre."""
    return [
        Option(option.value, borrowed(option.mistake))
        for option in options
        if not {mistake.id for mistake in option.mistakes} & set(without)
    ]


def scale(name, text=None):
    text = text or steps.SCALES[name][1]
    return borrowed(steps.scale_mistake(name, text))


def by_root(q, k, sizes):
    return math.sqrt(sizes.d_k)


SCALE_OPTIONS = [
    Option((by_root, False)),
    Option((lambda q, k, sizes: math.sqrt(q.shape[-1]), False)),  # lo que mida lo repartido
    Option((by_root, True), borrowed(steps.LATE)),
    *(
        Option((divisor, False), scale(name, text))
        for name, divisor, text in (
            ("ninguna", lambda q, k, sizes: 1.0, None),
            ("√d_model", lambda q, k, sizes: math.sqrt(sizes.width), None),
            ("d_k", lambda q, k, sizes: sizes.d_k, None),
            ("d_model", lambda q, k, sizes: sizes.width, "Has dividido por d_model, y es por √d_k."),
            ("√h", lambda q, k, sizes: math.sqrt(sizes.heads), "Has dividido por √h, el número de "
             "cabezas, y es por √d_k, la anchura de cada una."),
            ("h", lambda q, k, sizes: sizes.heads, "Has dividido por h, el número de cabezas, y es por √d_k."),
            ("por-√d_k", lambda q, k, sizes: sizes.d_k**-0.5, None),
            ("por-d_k", lambda q, k, sizes: 1 / sizes.d_k, None),
            ("d_k²", lambda q, k, sizes: sizes.d_k**2, None),
            ("√L_k", lambda q, k, sizes: math.sqrt(k.shape[-2]), None),
            ("√L_q", lambda q, k, sizes: math.sqrt(q.shape[-2]), None),
            ("L_k", lambda q, k, sizes: k.shape[-2], None),
            ("√lote", lambda q, k, sizes: math.sqrt(q.shape[0]), "Has dividido por la raíz del tamaño "
             "del lote, y es por √d_k."),
            ("normas", lambda q, k, sizes: q.norm(dim=-1)[..., None] * k.norm(dim=-1)[..., None, :], None),
        )
    ),
]  # fmt: skip
# Con cuatro ejes, el 2 es el -2, el 1 es el -3, y quien no dice el eje usa el 1.
SAME_AXES = ("softmax-eje-2", "softmax-eje--3", "softmax-sin-dim")
SOFTMAX_OPTIONS = borrow(steps.SOFTMAX_OPTIONS, without=SAME_AXES)
VALUE_OPTIONS = borrow(steps.VALUE_OPTIONS)
SWAPPED = replace(
    steps.SWAPPED,
    text="Al atender, la query y la key van cambiadas: sale Kᵀ por Q y es Q por Kᵀ.",
)

# --- Repartir -------------------------------------------------------------------------------------


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def split_directly(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def split_interleaved(x, heads):
    return x.reshape(*x.shape[:2], -1, heads).permute(0, 3, 1, 2)


def split_tokens(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1] // heads, x.shape[2])


DIRECT = Mistake(
    "view-sin-trasponer",
    "Repartes con view() o reshape() directamente a (B, h, L, d_k): cada cabeza recibe trozos de otros "
    "tokens. Es view(B, L, h, d_k) y después transpose(1, 2).",
    "06 §5",
)
UNTRANSPOSED = Mistake(
    "falta-trasponer",
    "Te falta transpose(1, 2) después de repartir: con (B, L, h, d_k) se atienden las cabezas de un "
    "mismo token entre sí, y ningún token mira a otro.",
    "06 §5",
)
INTERLEAVED = Mistake(
    "cabezas-intercaladas",
    "Repartes con (d_k, h) y no con (h, d_k): cada cabeza se lleva un número de cada h, en lugar de "
    "d_k seguidos.",
    "06 §5",
)
SIZES_SWAPPED = Mistake(
    "h-y-d_k-cambiados",
    "Has cambiado h y d_k al repartir: salen d_k cabezas de h números, y son h cabezas de d_k.",
    "06 §5",
)
SINGLE = Mistake(
    "una-sola-cabeza",
    "No repartes: atiendes una vez con las d_model dimensiones, como si h fuera 1.",
    "06 §5",
)
EARLY = Mistake(
    "traspone-antes-de-repartir",
    "Traspones (L, d_model) y luego repartes: los números de un token se mezclan con los de otros. "
    "Primero view(B, L, h, d_k) y después transpose(1, 2).",
    "06 §5",
)
BY_TOKENS = Mistake(
    "reparte-los-tokens",
    "Repartes los tokens entre las cabezas: se reparte la anchura, y cada cabeza ve todos los tokens.",
    "06 §5",
)
ALIKE = (split,) * 3
SPLIT_OPTIONS = [
    Option(ALIKE),
    *(
        Option((how,) * 3, mistake)
        for how, mistake in (
            (split_directly, DIRECT),
            (lambda x, heads: x.reshape(*x.shape[:2], heads, -1), UNTRANSPOSED),
            (split_interleaved, INTERLEAVED),
            (lambda x, heads: x.reshape(*x.shape[:2], -1, heads).transpose(1, 2), SIZES_SWAPPED),
            (lambda x, heads: x[:, None], SINGLE),
            (
                lambda x, heads: x.mT.reshape(x.shape[0], heads, x.shape[1], -1),
                EARLY,
            ),
            (split_tokens, BY_TOKENS),
        )
    ),
    *(
        # Solo una de las tres va mal, por un descuido.
        Option(tuple(how if i == wrong else split for i in range(3)), mistake)
        for how, mistake in ((split_directly, DIRECT), (split_interleaved, INTERLEAVED))
        for wrong in range(3)
    ),
]

# --- Juntar ---------------------------------------------------------------------------------------


def joined_shape(look):
    """Qué forma sale de juntar, si no es la buena."""
    yours, right = (tuple(traced["concat"].shape) for traced in (look.traced, look.traced_right))
    if yours == right:
        return ""
    return f"Con {look.case.name}, lo que sale de juntar mide {yours} y tenía que medir {right}."


CONCAT = Mistake(
    "concat-otro-eje",
    "Juntas las cabezas en otro eje: se ponen una tras otra en la última dimensión, la de los números, "
    "y sigue habiendo L tokens.",
    "06 §7",
    joined_shape,
)
UNJOINED = Mistake(
    "sin-juntar",
    "No juntas las cabezas antes de W_O: hay que volver a (B, L, h·d_k).",
    "06 §7",
    joined_shape,
)
MERGES = {
    "junta-sin-trasponer": (
        lambda x, batch, length, heads: x.reshape(batch, length, -1),
        "Juntas con view() o reshape() sin deshacer antes la traspuesta: un token recibe números de otros.",
        "06 §7",
    ),
    "junta-intercalando": (
        lambda x, batch, length, heads: x.permute(0, 2, 3, 1).reshape(batch, length, -1),
        "Al juntar, intercalas los números de las cabezas: van todos los de una y después los de la siguiente.",
        "06 §7",
    ),
    "junta-otros-ejes": (
        lambda x, batch, length, heads: x.mT.reshape(batch, length, -1),
        "Antes de juntar traspones otros ejes: es transpose(1, 2), el de las cabezas y el de los tokens.",
        "06 §7",
    ),
    "media-de-cabezas": (
        lambda x, batch, length, heads: x.mean(1),
        "Haces la media de las cabezas: se juntan una tras otra, y las mezcla W_O.",
        "06 §8",
    ),
    "suma-de-cabezas": (
        lambda x, batch, length, heads: x.sum(1),
        "Sumas las cabezas: se juntan una tras otra, y las mezcla W_O.",
        "06 §8",
    ),
    "solo-la-primera-cabeza": (
        lambda x, batch, length, heads: x[:, 0], "Te quedas solo con la primera cabeza.", "06 §7",
    ),
    "solo-la-última-cabeza": (
        lambda x, batch, length, heads: x[:, -1],
        "Te quedas solo con la última cabeza: ¿el bucle machaca las anteriores?",
        "06 §7",
    ),
}  # fmt: skip
MERGE_OPTIONS = [
    Option(lambda x, batch, length, heads: x.transpose(1, 2).reshape(batch, length, -1)),
    Option(lambda x, batch, length, heads: x.transpose(1, 2).flatten(2)),
    *(
        Option(how, Mistake(name, text, read, joined_shape))
        for name, (how, text, read) in MERGES.items()
    ),
    Option(lambda x, batch, length, heads: x.flatten(1, 2), CONCAT),
    Option(lambda x, batch, length, heads: x.transpose(1, 2).flatten(1, 2), CONCAT),
    Option(lambda x, batch, length, heads: x.flatten(0, 1), CONCAT),
    Option(lambda x, batch, length, heads: x.transpose(0, 1).flatten(0, 1), CONCAT),
    Option(lambda x, batch, length, heads: x, UNJOINED),
    Option(lambda x, batch, length, heads: x.transpose(1, 2), UNJOINED),
]
# Con este reparto, juntar así es lo que toca: el error es solo uno.
EXPECTED_MERGE = {UNTRANSPOSED: "junta-sin-trasponer", INTERLEAVED: "junta-intercalando"}

# --- La máscara -----------------------------------------------------------------------------------


def only(allowed, hide):
    """Tapar así, pero solo si la máscara tiene alguno de estos ejes; si no, el código se para."""
    return lambda scores, mask: hide(scores, mask) if mask.dim() in allowed else refuse()


HIDE = steps.filled(-torch.inf)
NO_MASK = Mistake(
    "sin-máscara",
    "Tu código no admite una máscara: es el cuarto argumento, mask=None.",
    "04 §4",
)
MASK_AXES = Mistake(
    "máscara-eje-de-más",
    "Añades un eje a la máscara que recibes, y ya se difunde sola hasta (B, h, L_q, L_k).",
    "06 §6",
)
MASK_OPTIONS = [
    *borrow(steps.MASK_OPTIONS),
    Option((only((4,), HIDE), None)),  # quien no admite (L_q, L_k): vale, con una nota
    Option((refuse, None), NO_MASK),
    Option((only((2,), HIDE), None), MASK_AXES),
    *(
        Option(
            (lambda scores, mask, axis=axis: HIDE(scores, mask.unsqueeze(axis)), None), MASK_AXES
        )
        for axis in (0, 1)
    ),
]


# --- Qué se proyecta y con qué --------------------------------------------------------------------

ROLES = ("query", "key", "value")
LETTER = {"query": "W_Q", "key": "W_K", "value": "W_V"}
OWN = "own"
KINDS = {
    # Cómo se proyecta mal: identificador y frase, que se completa con los papeles que van mal.
    "none": ("sin-proyectar", "Falta proyectar: {roles}."),
    "twice": ("proyecta-dos-veces", "Proyectas dos veces: {roles}."),
    "no-bias": (
        "olvida-el-sesgo",
        "Usas la matriz de la capa y olvidas su sesgo al proyectar: {roles}.",
    ),
    "turned": (
        "matriz-sin-trasponer",
        "Multiplicas por capa.weight sin trasponer (nn.Linear guarda su matriz como (salida, entrada)) al "
        "proyectar: {roles}.",
        "06 §4",
    ),
}
SWAPPED_MATRICES = (
    "proyecciones-cambiadas",
    "W_Q y W_K están cambiadas: la query se proyecta con W_K y la key, con W_Q.",
)
OTHER_SOURCE = Mistake("otra-entrada", "Proyectas una entrada que no es la que toca.", "06 §10")
OTHER_PROJECTION = Mistake("otra-proyección", "Proyectas con la matriz que no toca.", "06 §10")


def kind_mistake(how, roles, kinds=KINDS):
    if how in ROLES:
        return OTHER_PROJECTION
    name, text, *read = kinds[how]
    names = {"query": "las queries", "key": "las keys", "value": "los values"}
    which = ", ".join(names[role] for role in roles)
    return Mistake(name, text.format(roles=which), *(read or ["06 §3"]))


def projection_options(hows, kinds=KINDS):
    """Formas de proyectar la query y la key, y el value."""
    hows = [*ROLES, *hows]
    first = [how for how in hows if how != "query"]
    second = [how for how in hows if how != "key"]
    pairs = [(how, OWN) for how in first] + [(OWN, how) for how in second]
    pairs += [(how, how) for how in hows if how not in ("query", "key")] + [("key", "query")]
    both = [Option((OWN, OWN))]
    for pair in pairs:
        how = next(how for how in pair if how != OWN)
        both.append(Option(pair, kind_mistake(how, ROLES, kinds)))
    third = [Option(how, kind_mistake(how, ROLES, kinds)) for how in hows if how != "value"]
    return both, [Option(OWN), *third]


def name_projections(hows, kinds=KINDS):
    """El nombre de lo que va mal en las tres proyecciones: papel → ``Mistake``."""
    used = tuple(role if how == OWN else how for role, how in zip(ROLES, hows))
    wrong = [role for role, how in zip(ROLES, hows) if how in ROLES]
    if len(set(used)) == 1 and used[0] in ROLES:
        text = f"Una sola capa, {LETTER[used[0]]}, proyecta las queries, las keys y los values: cada una tiene la suya."
        other = Mistake("una-sola-proyección", text, "06 §3")
    elif used[:2] == ("key", "query") and "value" not in wrong:
        name, text = kinds.get("swapped", SWAPPED_MATRICES)
        other = Mistake(name, text, "06 §10")
    else:
        uses = [
            f"{role} se proyecta con {LETTER[how]} y le toca {LETTER[role]}"
            if role != "value"
            else f"los pesos mezclan vectores proyectados con {LETTER[how]}, y tienen que ser los de W_V"
            for role, how in zip(ROLES, hows)
            if role in wrong
        ]
        text = f"{'; '.join(uses)}."
        other = Mistake("otra-proyección", text[0].upper() + text[1:], "06 §10")
    named = dict.fromkeys(wrong, other)
    for kind in set(hows) - {OWN, *ROLES}:
        roles = [role for role, how in zip(ROLES, hows) if how == kind]
        named |= dict.fromkeys(roles, kind_mistake(kind, roles, kinds))
    return named


def name_sources(sources):
    """El nombre de unas entradas que no son (query, key, value)."""
    if sources == ("query",) * 3:
        text = "Solo miras query: las keys y los values también los sacas de ella, y salen de key y value."
        return Mistake("solo-query", text, "06 §10")
    if set(sources) == set(ROLES):
        text = (
            f"Los argumentos van en otro orden: usas {', '.join(sources)} como query, key y value."
        )
        return Mistake("otro-orden", text, "06 §10")
    uses = [f"{role} sale de {source}" for role, source in zip(ROLES, sources) if role != source]
    return Mistake("otra-entrada", f"Con otra entrada: tu {'; tu '.join(uses)}.", "06 §10")


# --- La búsqueda y la cuenta ----------------------------------------------------------------------


class HeadsExercise(Exercise):
    """Lo común: la cuenta, con cada paso bien o mal, y la búsqueda de los errores.

    La familia es demasiado grande para recorrerla. Las primeras pruebas tienen un solo token, y
    después una sola cabeza: ahí casi todos los pasos dan igual y los demás se averiguan solos. En
    cada etapa se prueban los errores de uno en uno y por parejas.
    """

    kinds = KINDS
    axes = {
        "source_v": [Option("value")],
        "sources": [Option(("query", "key"))],
        "order": [Option(False), Option(True, SWAPPED)],
        "scale": SCALE_OPTIONS,
        "softmax": SOFTMAX_OPTIONS,
        "extra": [Option(False), Option(True, borrowed(steps.ALWAYS_CAUSAL))],
        "value": VALUE_OPTIONS,
        "split": SPLIT_OPTIONS,
        "merge": MERGE_OPTIONS,
        "naive": [Option(False), Option(True, borrowed(steps.UNSTABLE))],
        "mask": [Option((None, None))],
        "batch": [Option(False)],
    }
    narrow: dict = {}  # (etapa, paso) → los errores que se buscan ahí; sin nada, todos
    wider: dict = {}  # etapa → los pasos en que se busca si con los suyos no basta
    decisive = 2  # la etapa desde la que lo averiguado ya no puede ser una coincidencia
    styles: dict = {}  # etapa → los pasos que ahí se pueden dar bien de varias formas

    def diagnose(self, learner, seen):
        found, known = self.stage_by_stage(learner, seen)
        if not found.complete and any("value" in choice for choice in known):
            # Con un solo token, «pesos por keys» y «values mal proyectados» son lo mismo.
            self.skipped = {(0, "value")}
            other, _ = self.stage_by_stage(learner, seen)
            self.skipped = set()
            found = other if other.complete else found
        return self.joint(found)

    def stage_by_stage(self, learner, seen):
        """El miembro de la familia que da lo mismo, y lo que se sabe tras la primera etapa."""
        survivors, first, sure = [{}], [], False
        for number in range(len(self.stages)):
            matching = self.explain(learner, number, survivors, seen)
            if not matching:
                # Con menos pruebas que estas, un nombre podría ser una coincidencia.
                return fewest(survivors if sure else [{}], complete=False), first
            survivors, sure = matching, sure or number >= self.decisive
            first = first or matching
        # Con lo averiguado tiene que cuadrar todo, también las primeras pruebas.
        final = [
            choice
            for choice in survivors
            if all(self.agrees(choice, case, value) for case, value in seen.items())
        ]
        return fewest(final or survivors, complete=bool(final)), first

    def explain(self, learner, number, survivors, seen):
        """Lo que se sabe después de una etapa: varias explicaciones, si aún no se distinguen."""
        places = self.stages[number].axes
        cases = [case for case in self.stages[number].cases if case in seen]
        cases.sort(key=lambda case: isinstance(seen[case], Raised))

        def search(starts, cases, places, most=MOST):
            return self.smallest(number, starts, cases, seen, places, most)

        # Al principio basta con una de las dos pruebas: cada una calla unas cosas.
        for some in [cases] if number else [[case] for case in cases]:
            if matching := search(survivors, some, places):
                return matching
        for axis, options in self.extra_options(learner).items():
            measured = [s | {axis: o} for s in survivors for o in options if axis not in s]
            if axis in places and (matching := search(measured, cases[:1], places, MOST - 1)):
                return matching
        hidden = [known for known in survivors if self.hidden(number, known)]
        first = cases if number else cases[:1]
        return search(hidden, first, self.wider.get(number, ()))

    def smallest(self, number, starts, cases, seen, places, most):
        """Lo menos que hay que añadir a lo que ya se sabe para que todo cuadre en estas pruebas."""
        levels = zip(*(self.deviations(number, known, places, most) for known in starts))
        for level in levels:  # sin errores nuevos, con uno, con dos…
            found = [
                known | extra
                for known, extras in zip(starts, level)
                for extra in extras
                if all(self.agrees(known | extra, case, seen[case]) for case in cases)
            ]
            if found:
                return found
        return []

    def deviations(self, number, known, places, most):
        """Los cambios sin ningún error, los de un paso, los de dos…: ``most`` como mucho."""
        pools, styles = [], []
        for axis in places:
            if axis in known or (number, axis) in self.skipped:
                continue
            wanted = (
                None
                if number and places is self.wider.get(number)
                else self.narrow.get((number, axis))
            )
            wrong = [option for option in self.axes[axis] if option.mistakes]
            pools.append([(axis, o) for o in wrong if wanted is None or o.mistakes[0].id in wanted])
            if axis in self.styles.get(number, ()):
                good = [option for option in self.axes[axis][1:] if not option.mistakes]
                styles.append([None, *((axis, option) for option in good)])
        for size in range(most + 1):
            yield (
                extra
                for some in itertools.combinations(pools, size)
                for wrong in itertools.product(*some)
                for style in itertools.product(*styles)
                if self.sensible(number, known, extra := dict(filter(None, style)) | dict(wrong))
            )

    def sensible(self, number, known, extra):
        """Con un buen reparto, lo repartido mide d_k; y con una cabeza, da igual cómo se junte."""
        if "split" in known or "split" in extra:
            return True
        scale, merge = extra.get("scale"), extra.get("merge")
        if scale and not scale.mistake:
            return False
        alone = number == 1 and merge and merge.mistake
        return not (alone and merge.mistake.id != "junta-otros-ejes")

    @staticmethod
    def hidden(number, known):
        """Si algo de lo que se sabe tapa lo demás en las pruebas de una sola cabeza."""
        ids = {mistake.id for option in known.values() for mistake in option.mistakes}
        return number == 0 or bool(ids & {"falta-trasponer", "softmax-eje-1"})

    def joint(self, found):
        """Los errores que van juntos, con un solo nombre."""
        choice = dict(found.choice)
        chosen = self.chosen(choice)
        merge, division = choice.get("merge"), choice.get("split")
        if merge and merge.mistake and division:
            expected = EXPECTED_MERGE.get(division.mistake)
            if expected == merge.mistake.id:
                choice["merge"] = Option(merge.value)
        sources = (*chosen["sources"], chosen["source_v"])
        for axis in ("sources", "source_v"):
            if axis in choice and choice[axis].mistake:
                choice[axis] = Option(choice[axis].value, name_sources(sources))
        named = name_projections((*chosen["projections"], chosen["project_v"]), self.kinds)
        for axis, roles in (("projections", ROLES[:2]), ("project_v", ROLES[2:])):
            mistakes = tuple(dict.fromkeys(named[role] for role in roles if role in named))
            if mistakes and axis in choice:
                choice[axis] = Option(choice[axis].value, mistakes)
        self.choice = choice
        return found._replace(choice=choice)

    def chosen(self, choice):
        return self.good | {axis: option.value for axis, option in choice.items()}

    def trace(self, choice, case):
        try:
            return self.compute(self.chosen(choice), case)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return None

    def __init__(self):
        # Las mismas cuentas se repiten en miles de miembros de la familia.
        self.skipped = set()
        self.choice = {}  # lo último que se ha reconocido
        self.good = {axis: options[0].value for axis, options in self.axes.items()}
        self.divided = functools.lru_cache(maxsize=None)(self._divided)
        self.compared = functools.lru_cache(maxsize=None)(self._compared)
        self.weighed = functools.lru_cache(maxsize=None)(self._weighed)

    def projected(self, case, role, source, how, batch):
        """(B, L, ·): lo que se reparte. Lo escribe cada ejercicio."""
        raise NotImplementedError

    def sizes(self, case):
        return Sizes(case.heads, case.width, case.width // case.heads)

    def _divided(self, case, role, source, how, batch, division):
        return division(self.projected(case, role, source, how, batch), case.heads)

    def _compared(self, case, query, key, order, scale):
        q, k = self.divided(case, *query), self.divided(case, *key)
        divisor, late = scale
        divide = divisor(q, k, self.sizes(case))
        scores = k @ q.mT if order else q @ k.mT
        return (scores, divide) if late else (scores / divide, None)

    def _weighed(self, case, query, key, order, scale, softmax, extra, naive, mask, hide):
        scores, late = self.compared(case, query, key, order, scale)
        if extra:
            scores = steps.causal(scores)
            if hide[0] is steps.FIRST["causal"][0]:
                raise ValueError  # ya se tapa el futuro
        if mask is not None and mask.dim() == 4 and scores.shape[1] == 1:
            mask = mask[:, :1]  # una sola cabeza
        before, after = hide
        scores = before(scores, mask) if before else scores
        weights = softmax(scores, naive)
        weights = weights if late is None else weights / late
        return scores, after(weights, mask) if after else weights

    def attend(self, choice, case, mask=None):
        """Desde las entradas hasta las cabezas juntas, con cada paso dado como se pide."""
        sources, hows = (
            (*choice["sources"], choice["source_v"]),
            (*choice["projections"], choice["project_v"]),
        )
        keys = [
            (role, source, role if how == OWN else how, choice["batch"], division)
            for role, source, how, division in zip(ROLES, sources, hows, choice["split"])
        ]
        q, k, v = (self.divided(case, *key) for key in keys)
        hide = choice["mask"] if mask is not None else (None, None)
        chosen = [choice[axis] for axis in ("order", "scale", "softmax", "extra", "naive")]
        scores, weights = self.weighed(case, *keys[:2], *chosen, mask, hide)
        mixed = choice["value"](weights, q, k, v)
        length = self.projected(case, "query", "query", "none", choice["batch"]).shape[1]
        concat = choice["merge"](mixed, q.shape[0], length, case.heads)
        return {"weights": weights, "scores": scores, "concat": concat}
