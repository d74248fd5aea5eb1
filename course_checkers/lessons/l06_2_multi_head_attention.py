"""6.2 · La multicabeza entera, escrita como módulo por quien aprende.

Una clase puede guardar sus capas de muchas formas: ``inside.layers`` las encuentra y les pone los pesos
de la prueba, e ``inside.classes`` la llama. La cuenta, bien y mal, está en ``steps.heads``; lo que falla
en las capas mismas, en ``l06_structure``.
"""

import itertools
from functools import partial

import torch

from course_checkers.engine import Attempt, Finding, Option, Pair, Raised, told
from course_checkers.engine.properties import finite, laws, not_by_hand, right_shape
from course_checkers.inside import layers
from course_checkers.inside.classes import WrittenClass
from course_checkers.lessons import l06_cases as cases
from course_checkers.lessons import l06_structure as structure
from course_checkers.lessons.l06_cases import MASKED, WIDE
from course_checkers.steps import attention as one
from course_checkers.steps import heads
from course_checkers.steps.hiding import measured_in
from course_checkers.steps.pair import RETURNED, has_both
from course_checkers.steps.sources import ROLES, SOURCES, output_options, projection_options

SAID, LAWS = told(__file__, "6.2"), laws(__file__, "6.2 propiedades")
MADE = "multi_head_attention_forward", "_native_multi_head_attention", "MultiHeadAttention.forward"
KINDS = {  # cómo se proyecta mal, y cómo se llama
    "none": SAID["sin-proyectar"],
    "twice": SAID["proyecta-dos-veces"],
    "no-bias": SAID["olvida-el-sesgo"],
    "turned": SAID["matriz-sin-trasponer"],
    "swapped": SAID["proyecciones-cambiadas"],
}
PAIR_OPTIONS, VALUE_PROJECTIONS = projection_options(KINDS)
OTHER_SOURCE = SOURCES["otra-entrada#alguna"]
OTHER_PAIRS = [pair for pair in itertools.product(ROLES, repeat=2) if pair != ("query", "key")]

MASKED_STAGE = heads.stage(("mask",), MASKED, styles=("mask",))

# --- Leer la clase --------------------------------------------------------------------------------


def readings(learner):
    """Las formas de leer las capas de una clase: si con una da lo que debe, esa; si no, todas."""
    written = learner if isinstance(learner, WrittenClass) else WrittenClass(learner)
    made = structure.made(written)
    if made is None or isinstance(made, Finding):
        return made
    found, flipped = made

    def attempt(*how, **more):
        plan = layers.plan_of(found, 4, 12, *how, **more)
        return Attempt(MultiHead(written, plan, flipped), partial(written.run, plan, flipped))

    usual = attempt()
    plan, either = usual.exercise.plan, (False, True)
    raw = any(not x.linear and len(x.shape) == 2 for x in found)
    fused = any(kind in ("qkv", "kv") for _, kind, _ in plan.layers.values())
    guesses = [None, *(itertools.permutations(plan.guessed) if len(plan.guessed) > 1 else ())]
    options = list(itertools.product(guesses, either[: 1 + raw], either[: 1 + fused]))
    for option in options if len(options) > 1 else ():
        other = attempt(*option)
        output = other.ask(*WIDE[1].arguments)
        if isinstance(output, torch.Tensor) and other.exercise.agrees({}, WIDE[1], output):
            return [other]
    return [usual, attempt(turned=True)] if raw else [usual]


# --- Lo que se mide, lo que tiene que cumplir y lo que conviene saber ------------------------------


def alone(attempt, query, key, value, mask):
    """Una cabeza con matrices identidad: la atención sola, para medir en ella."""
    d_k = query.shape[-1]
    weights = layers.draw_weights(1, d_k, seed=0)
    for role in layers.ROLES:
        weights.matrix[role], weights.bias[role] = torch.eye(d_k), torch.zeros(d_k)
    value = torch.nn.functional.pad(value, (0, d_k - value.shape[-1]))
    output = heads.output_of(attempt, query[0], key[0], value[0], mask, weights)
    return None if output is None else float(output[0, 0, 0])


def independence(attempt):
    """Una frase del lote no cambia a otra; barajar las keys con sus values no cambia nada."""
    *inputs, _, weights = WIDE[1].arguments
    query, key, value = inputs
    touched = [torch.cat([x[:1], x[1:2] + 1.0, x[2:]]) for x in inputs]
    shuffled = query, key.flip(1), value.flip(1)
    every = (inputs, touched, shuffled)
    base, other, turned = (heads.output_of(attempt, *given, None, weights) for given in every)
    yield from heads.moved(LAWS["propiedad-lote"], base, other, 0)
    yield from heads.moved(LAWS["propiedad-orden"], base, turned)


def good_to_know(attempt):
    """Lo que vale y es distinto de la biblioteca."""
    value = attempt.values[WIDE[0]]
    if has_both(value) and value[1].dim() == 3:
        yield LAWS["media-de-los-pesos"].text
    if any(isinstance(attempt.seen.get(case), Raised) for case in MASKED):
        yield LAWS["máscara-que-se-difunde"].text
    nobody = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    nobody[:, :, 0] = False
    output = heads.output_of(attempt, *WIDE[0].arguments[:3], nobody, cases.WIDTH_12)
    if output is not None and output.isnan().any():
        yield LAWS["nadie-a-quien-mirar"].text


class MultiHead(heads.Heads):
    """Comprueba una multicabeza escrita como módulo.

    Le pone unos pesos y compara lo que devuelve. Reconoce las capas por su nombre y, si no lo dice,
    por su forma y su orden.

    Args:
        cls: una clase que hereda de ``nn.Module``. Se crea con ``cls(heads, dim_embedding)`` y su
            ``forward(query, key, value, mask=None)`` recibe ``(B, L_q, d_model)``,
            ``(B, L_k, d_model)`` y ``(B, L_k, d_model)``, y una máscara booleana que se difunde hasta
            ``(B, h, L_q, L_k)``. Devuelve la salida ``(B, L_q, d_model)``, o ``(salida, pesos)``.
    """

    number, title, points = "6.2", "la multicabeza, en una clase", 6
    names = ("query", "key", "value", "mask=None")
    letters = ("B L_q -", "B L_k -", "B L_k -", "B - L_q L_k")
    axes = heads.AXES | {
        "sources": [Option(("query", "key")), *(Option(p, OTHER_SOURCE) for p in OTHER_PAIRS)],
        "source_v": [Option("value"), *(Option(role, OTHER_SOURCE) for role in ROLES[:2])],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "output": output_options(SAID, ("W_O-sin-su-sesgo", "no-bias"), ("W_O-sin-trasponer", "turned")),
        "batch": [Option(False), Option(True, SAID["lote-por-tokens"])],
        "mask": heads.MASK_OPTIONS,
    }
    stages, second_try = heads.plans_of_stages(cases.CASES, last=(MASKED_STAGE,))
    measured = measured_in(alone)
    must = (
        right_shape(heads.output_shape, "La forma de tu salida no es (B, L_q, d_model).", "06 §8"),
        finite("03 §2"),
        independence,
    )
    reader = Pair(heads.output_shape)
    returned, extra = (heads.returned,), cases.MORE
    notes = (good_to_know, not_by_hand(MADE, LAWS["ya-hecha"].text))
    besides, kinds = (structure.faults,), KINDS
    holder = WrittenClass  # quien tiene la clase: si está en otro proceso, ``check`` recibe uno que le pregunta allí
    also = (*one.FOUND_SCALES, *RETURNED, *structure.TOLD, "una-sola-proyección", "proyecciones-cambiadas")
    also += ("solo-query", "otro-orden")

    def __init__(self, written=None, plan=None, flipped=False):
        super().__init__()
        self.written, self.plan, self.flipped = written, plan or layers.Plan(), flipped
        self.before = ()

    def prepare(self, learner):
        return readings(learner)

    def run(self, learner, *arguments):
        """La misma instancia se llama antes con lo de la vez anterior."""
        before, self.before = self.before, arguments
        again = before and before[-1] is arguments[-1]
        return learner(*arguments, before if again else ())

    def unsteady(self, attempt, case):
        return structure.unsteady(attempt, case) or super().unsteady(attempt, case)

    def project(self, given, role, x, how="own"):
        if how == "none":
            return x
        matrix, bias = layers.effective(self.plan, given.weights, role)
        if how == "turned":
            return x @ matrix
        once = x @ matrix.T if bias is None or how == "no-bias" else x @ matrix.T + bias
        return self.project(given, role, once) if how == "twice" else once

    def projected(self, given, role, source, how, batch):
        x = given.inputs[ROLES.index(source)]
        x = x.transpose(0, 1) if batch else x
        return self.project(given, how if how in ROLES else role, x, how)

    def compute(self, choice, query, key, value, mask, weights):
        wide = self.plan.kind.get("query", [""])[0] == "ancha"
        d_k = weights.width if wide else weights.d_k
        given = heads.Given((query, key, value), weights, weights.heads, weights.width, d_k)
        if choice["batch"] and query.shape != key.shape:
            raise ValueError
        traced = self.attend(choice, given, mask)
        concat, how = traced["concat"], choice["output"]
        admitted = layers.effective(self.plan, weights, "output")[0].shape[1]
        if how in ("own", "twice", "residual") and concat.shape[-1] != admitted:
            how = "none"  # W_O no lo admite
        output = self.project(given, how if how in ROLES else "output", concat, how)
        if how == "residual":
            output = output + given.inputs[ROLES.index(choice["sources"][0])]
        return traced | {"output": output.transpose(0, 1) if choice["batch"] else output}
