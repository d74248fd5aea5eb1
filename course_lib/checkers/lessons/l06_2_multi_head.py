"""6.2 · La multi-cabeza entera, escrita como módulo por quien aprende.

Una clase puede guardar sus capas de muchas formas: ``steps.layers`` las encuentra y les pone los pesos
de la prueba. La cuenta, bien y mal, está en ``steps.heads``; lo que falla en las capas mismas, en
``l06_2_structure``.
"""

import inspect
import itertools
from typing import NamedTuple

import torch

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.exercise import Attempt
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import finite, right_shape
from course_lib.checkers.engine.reading import Pair
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.engine.search import Raised
from course_lib.checkers.lessons import l06_2_structure as structure
from course_lib.checkers.lessons.l06_2_cases import (
    LARGE,
    MASKED,
    ONE,
    QUIET,
    SINGLE,
    WIDE,
    WIDTH_12,
)
from course_lib.checkers.steps import attention as one
from course_lib.checkers.steps import heads, layers
from course_lib.checkers.steps.hiding import found_fills
from course_lib.checkers.steps.pair import RETURNED, wrong_pair
from course_lib.checkers.steps.sources import (
    LETTER,
    ROLES,
    SOURCES,
    join,
    projection_options,
)

SAID = told(__file__, "6.2")
KINDS = {
    # Cómo se proyecta mal, y cómo se llama.
    "none": SAID["sin-proyectar"],
    "twice": SAID["proyecta-dos-veces"],
    "no-bias": SAID["olvida-el-sesgo"],
    "turned": SAID["matriz-sin-trasponer"],
    "swapped": SAID["proyecciones-cambiadas"],
}
PAIR_OPTIONS, VALUE_PROJECTIONS = projection_options(KINDS)
OUTPUT_OPTIONS = ways(
    SAID,
    "own",
    ("sin-W_O", "none"),
    ("W_O-dos-veces", "twice"),
    ("W_O-sin-su-sesgo", "no-bias"),
    ("W_O-sin-trasponer", "turned"),
    *((SAID["W_O-es-otra"].saying(letter=LETTER[role]), role) for role in ROLES),
    ("suma-la-entrada", "residual"),
)
OTHER_SOURCE = SOURCES["otra-entrada#alguna"]
OTHER_PAIRS = [pair for pair in itertools.product(ROLES, repeat=2) if pair != ("query", "key")]

# --- Las etapas ---------------------------------------------------------------------------------

ONE_TOKEN = ("source_v", "project_v", "output", "value", "softmax", "scale", "merge")
WIDER = ("project_v", "projections", "split", "merge", "output", "value")
ONE_HEAD = (
    *("sources", "projections", "order", "batch", "split", "scale", "softmax", "extra", "value"),
    "merge",
)


def plan_of_stages(one_token):
    """De un token y una cabeza a muchos: al principio basta con una de las dos primeras pruebas."""
    first = {"only": heads.FIRST_ONLY, "sure": False}
    wider = heads.stage(WIDER, (ONE,), **first)
    quiet_one = heads.stage(one_token, (QUIET,), **first, otherwise=wider)
    every = heads.stage(
        ("sources", "projections", "merge", "scale", "softmax"),
        WIDE,
        styles=("merge", "scale"),
        after=heads.CONCEALING,
    )
    return (
        heads.stage(one_token, (ONE,), **first, otherwise=quiet_one),
        heads.stage(ONE_HEAD, (SINGLE,), styles=("scale",), only=heads.SINGLE_ONLY, sure=False),
        heads.stage(
            ("split", "merge", "scale", "value"), WIDE, styles=("merge", "scale"), otherwise=every
        ),
        heads.stage(("naive",), (LARGE,)),
        heads.stage(("mask",), MASKED, styles=("mask",)),
    )


# --- Ejecutar la clase ----------------------------------------------------------------------------


def with_weights(learner, plan, flipped):
    """La clase, como función de (query, key, value, mask) y los pesos de la prueba."""

    def run(query, key, value, mask, weights):
        module, refused = structure.build(learner, weights.heads, weights.width, flipped), []
        for layer in layers.fill(module, plan, weights):
            layer.register_forward_pre_hook(lambda layer, inputs: refused.append((layer, inputs)))
        given = () if mask is None else (mask,)
        named = "mask" in inspect.signature(module.forward).parameters
        try:
            if given and named:
                return module(query, key, value, mask=mask)
            return module(query, key, value, *given)
        except Exception:
            # Si W_O no admite lo que le llega, es eso lo que se mira.
            layer, inputs = refused[-1] if refused else (None, ())
            if inputs and isinstance(inputs[0], torch.Tensor):
                if inputs[0].shape[-1] != layer.in_features:
                    return inputs[0].detach()
            raise

    return run


def readings(exercise, learner):
    """Las formas de leer las capas de una clase: si con una da lo que debe, esa; si no, todas."""
    made = structure.made(learner)
    if made is None or isinstance(made, Finding):
        return made
    module, flipped = made
    plan = layers.plan_of(module, 4, 12)
    raw = any(not x.linear and x.weight.dim() == 2 for x in layers.layers_of(module))
    fused = {"qkv", "kv"} & {kind for _, kind, _ in plan.layers.values()}
    guesses = [None, *(itertools.permutations(plan.guessed) if len(plan.guessed) > 1 else ())]
    options = list(
        itertools.product(guesses, (False, True)[: 1 + raw], (False, True)[: 1 + bool(fused)])
    )
    for guess, turned, by_head in options if len(options) > 1 else ():
        other = attempt(learner, layers.plan_of(module, 4, 12, guess, turned, by_head), flipped)
        output = other.ask(*WIDE[1].arguments)
        if isinstance(output, torch.Tensor) and other.exercise.agrees({}, WIDE[1], output):
            return [other]
    plans = [plan, *([layers.plan_of(module, 4, 12, turned=True)] if raw else [])]
    return [attempt(learner, each, flipped) for each in plans]


def attempt(learner, plan, flipped):
    exercise = MultiHead(learner, plan, flipped)
    return Attempt(exercise, with_weights(learner, plan, flipped))


# --- Lo que se mide, lo que tiene que cumplir y lo que conviene saber ------------------------------


def alone(attempt, query, key, value, mask):
    """Una cabeza con matrices identidad: la atención sola, para medir en ella."""
    d_k = query.shape[-1]
    weights = layers.draw_weights(1, d_k, seed=0)
    for role in layers.ROLES:
        weights.matrix[role], weights.bias[role] = torch.eye(d_k), torch.zeros(d_k)
    value = torch.nn.functional.pad(value, (0, d_k - value.shape[-1]))
    output = first(attempt, query, key, value, mask, weights)
    return None if output is None else float(output[0, 0, 0])


def first(attempt, *arguments):
    """La salida, si tiene tres ejes."""
    outcome = attempt.call(*arguments)
    value = (
        outcome.value[0] if isinstance(outcome.value, tuple) and outcome.value else outcome.value
    )
    return value.detach() if isinstance(value, torch.Tensor) and value.dim() == 3 else None


def found_scale(attempt):
    def measure(d_k):
        query, key, value = (torch.zeros(1, n, d) for n, d in ((1, d_k), (2, d_k), (2, 1)))
        query[..., 0], key[:, 0, 0], value[:, 0, 0] = 1.0, 1.0, 1.0
        return one.divisor_in(alone(attempt, query, key, value, None))

    for option in one.found_scales(measure):
        divisor = option.value
        yield Option((lambda q, k, sizes, f=divisor: f(q, k, None), False), option.mistake)


def found_fill(attempt):
    zeros, value = torch.zeros(1, 2, 1), torch.tensor([[[0.0], [1.0]]])
    mask = torch.tensor([[[[True, False]]]])
    return found_fills(alone(attempt, zeros[:, :1], zeros, value, mask))


def independence(attempt):
    """Una frase del lote no cambia a otra; barajar las keys con sus values no cambia nada."""
    query, key, value, _, weights = WIDE[1].arguments
    base = first(attempt, query, key, value, None, weights)
    if base is None:
        return
    touched = [torch.cat([x[:1], x[1:2] + 1.0, x[2:]]) for x in (query, key, value)]
    other = first(attempt, *touched, None, weights)
    if other is not None and not same(base[0], other[0]):
        moved = show((base[0] - other[0]).abs().max())
        text = "Las frases del lote se mezclan, y cada una va por su lado."
        story = f"Al cambiar la segunda frase de un lote, la salida de la primera se mueve {moved}."
        yield Finding("propiedad-lote", text, story, "06 §6")
    shuffled = first(attempt, query, key.flip(1), value.flip(1), None, weights)
    if shuffled is not None and not same(base, shuffled):
        moved = show((base - shuffled).abs().max())
        story = f"Al dar la vuelta a las keys con sus values, la salida se mueve {moved}."
        text = "El orden de las keys no puede importar si cada una lleva su value."
        yield Finding("propiedad-orden", text, story, "06 §6")


def good_to_know(attempt):
    """Lo que vale y es distinto de la biblioteca."""
    value = attempt.call(*WIDE[0].arguments).value
    if isinstance(value, tuple) and len(value) > 1 and value[1] is not None and value[1].dim() == 3:
        yield "los pesos que devuelves son la media de las cabezas; los de course_lib, uno por cabeza."
    if any(isinstance(attempt.seen.get(case), Raised) for case in MASKED):
        yield "tu código no admite una máscara (L_q, L_k), que se difunde; la de course_lib, sí."
    nobody = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    nobody[:, :, 0] = False
    output = first(attempt, *WIDE[0].arguments[:3], nobody, WIDTH_12)
    if output is not None and output.isnan().any():
        yield (
            "si una query no puede ver a nadie, tu salida es NaN; en course_lib, sus pesos son 0. Lo "
            "cuenta 04 §7."
        )


def returned(attempt, choice):
    """Los pesos: por cabeza o, si no, su media, que también vale."""
    full = dict(attempt.values)
    for case, value in attempt.values.items():
        if isinstance(value, tuple) and len(value) == 2 and value[1] is not None:
            traced = attempt.exercise.trace(choice, case)
            if traced is None or value[1].dim() == 3 and averaged(value[1], traced["weights"]):
                del full[case]
    return wrong_pair(attempt, choice, full)


def averaged(weights, by_head):
    return same(weights, by_head.mean(1)) or same(weights, by_head.flatten(0, 1))


def output_shape(query, *_):
    return tuple(query.shape)


class Given(NamedTuple):
    """Lo que entra en una prueba."""

    inputs: tuple  # query, key y value
    weights: layers.Weights

    @property
    def heads(self):
        return self.weights.heads

    @property
    def width(self):
        return self.weights.width


class MultiHead(heads.Heads):
    """Query, key, value → Concat(cabezas)·W_O, en un módulo de quien aprende.

    Attributes:
        learner, plan, flipped: la clase, qué es cada una de sus capas, y si el constructor recibe antes
            la anchura.
    """

    number, title, points = "6.2", "la multi-cabeza, en una clase", 6
    names, optional = ("query", "key", "value"), ("mask",)
    axes = heads.AXES | {
        "sources": [Option(("query", "key")), *(Option(p, OTHER_SOURCE) for p in OTHER_PAIRS)],
        "source_v": [Option("value"), *(Option(role, OTHER_SOURCE) for role in ROLES[:2])],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "output": OUTPUT_OPTIONS,
        "batch": [Option(False), Option(True, SAID["lote-por-tokens"])],
        "mask": heads.MASK_OPTIONS,
    }
    stages = plan_of_stages(ONE_TOKEN)
    # Con un solo token, «pesos por keys» y «values mal proyectados» son lo mismo.
    second_try = plan_of_stages([axis for axis in ONE_TOKEN if axis != "value"])
    measured = {"scale": found_scale, "mask": found_fill}
    must = (
        right_shape(output_shape, "La forma de tu salida no es (B, L_q, d_model).", "06 §8"),
        finite("05 §2"),
        independence,
    )
    reader = Pair(output_shape)
    returned, notes = (returned,), (good_to_know,)
    besides, unsteady = (structure.faults,), staticmethod(structure.unsteady)
    reading_of = staticmethod(readings)
    also = (
        *("escala-fija", "escala-de-más", "escala-otra", *RETURNED, *structure.TOLD),
        *("una-sola-proyección", "proyecciones-cambiadas", "solo-query", "otro-orden"),
    )

    def __init__(self, learner=None, plan=None, flipped=False):
        super().__init__()
        self.learner, self.plan, self.flipped = learner, plan or layers.Plan(), flipped
        self.good = {axis: options[0].value for axis, options in self.axes.items()}

    def joined(self, choice):
        return join(choice, self.good, KINDS, heads.EXPECTED_MERGE)

    def sizes(self, given):
        wide = self.plan.kind.get("query", [""])[0] == "ancha"
        d_k = given.width if wide else given.width // given.heads
        return heads.Sizes(given.heads, given.width, d_k)

    def project(self, given, role, x, how="own"):
        matrix, bias = layers.effective(self.plan, given.weights, role)
        if how == "turned":
            return x @ matrix
        return x @ matrix.T if bias is None or how == "no-bias" else x @ matrix.T + bias

    def projected(self, given, role, source, how, batch):
        x = given.inputs[ROLES.index(source)]
        x = x.transpose(0, 1) if batch else x
        if how == "none":
            return x
        if how == "twice":
            return self.project(given, role, self.project(given, role, x))
        return self.project(given, how, x) if how in ROLES else self.project(given, role, x, how)

    def compute(self, choice, query, key, value, mask, weights):
        given = Given((query, key, value), weights)
        if choice["batch"] and query.shape != key.shape:
            raise ValueError
        traced = self.attend(choice, given, mask)
        concat, how = traced["concat"], choice["output"]
        refused = concat.shape[-1] != self.width_in(given)
        if how == "none" or how in ("own", "twice", "residual") and refused:
            output = concat  # o W_O no lo admite
        elif how == "twice":
            output = self.project(given, "output", self.project(given, "output", concat))
        elif how == "residual":
            source = given.inputs[ROLES.index(choice["sources"][0])]
            output = self.project(given, "output", concat) + source
        elif how in ROLES:
            output = self.project(given, how, concat)
        else:
            output = self.project(given, "output", concat, how)
        return traced | {"output": output.transpose(0, 1) if choice["batch"] else output}

    def width_in(self, given):
        """Lo que admite W_O."""
        kinds = self.plan.kind.get("output", ["entera"])
        d_k = given.width // given.heads
        sizes = {"estrecha": d_k, "ancha-salida": given.heads * given.width}
        return sizes.get(kinds[0], given.width) if len(kinds) == 1 else given.width


MULTI_HEAD = MultiHead()
EXERCISES = (MULTI_HEAD,)


def check_multi_head_attention(cls):
    """Comprueba una multi-cabeza escrita como módulo.

    Le pone unos pesos y compara lo que devuelve. Reconoce las capas por su nombre y, si no lo dice,
    por su forma y su orden.

    Args:
        cls: una clase que hereda de ``nn.Module``. Se crea con ``cls(heads, dim_embedding)`` y su
            ``forward(query, key, value, mask=None)`` recibe ``(B, L_q, d_model)``,
            ``(B, L_k, d_model)`` y ``(B, L_k, d_model)``, y una máscara booleana que se difunde hasta
            ``(B, h, L_q, L_k)``. Devuelve la salida ``(B, L_q, d_model)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(MULTI_HEAD.check(cls))
