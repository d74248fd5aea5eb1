"""7.2 · La autoatención multicabeza con matrices, sin módulos. Sus pasos están en ``steps.heads``."""

import torch

from course_checkers.engine import Case, Option, Pair, drawn, finite, laws, right_shape, told, ways
from course_checkers.steps import attention as one
from course_checkers.steps import heads
from course_checkers.steps.pair import RETURNED
from course_checkers.steps.sources import ROLES, kind_mistake, output_options, projection_options

SAID, LAWS = told(__file__, "7.2"), laws(__file__, "7.2 propiedades")
KINDS = {  # cómo se proyecta mal, y cómo se llama
    "none": SAID["sin-proyectar"],
    "twice": SAID["proyecta-dos-veces"],
    "turned": SAID["matriz-traspuesta"],
    "viewed": SAID["matriz-repartida-con-view"],
    "sliced": SAID["reparte-antes"],
    "shared": SAID["reparte-antes-y-comparte"],
    # Con una sola entrada, cambiar Q y K de sitio y cambiar sus matrices es lo mismo.
    "swapped": SAID["query-key-cambiadas"],
}
PIECES = [Option(how, kind_mistake(how, ROLES, KINDS)) for how in ("sliced", "shared")]
BY_HEADS = ("matriz-repartida-con-view", "reparte-antes", "reparte-antes-y-comparte")
PAIR_OPTIONS, VALUE_PROJECTIONS = projection_options(KINDS)


def case(name, seed, batch, length, width, heads, factor=1.0):
    x, *matrices = drawn(seed, (batch, length, width), *[(width, width)] * 4)
    return Case(name, (x * factor, *(W * 1.2 / width**0.5 for W in matrices), heads))


def tiny_case(x, width, heads):
    return Case("", (torch.tensor(x), *[torch.eye(width)] * 4, heads))


CASES = heads.Cases(
    first=(case("una frase de un token y una cabeza", 1, 1, 1, 6, 1),),
    single=case("2 frases de 3 tokens y una sola cabeza", 2, 2, 3, 6, 1),
    wide=(
        case("2 frases de 5 tokens y 4 cabezas", 3, 2, 5, 12, 4),
        case("una frase de 8 tokens y 4 cabezas", 4, 1, 8, 12, 4),
        case("3 frases de 4 tokens y 4 cabezas", 5, 3, 4, 12, 4),
        case("2 frases de 3 tokens y 2 cabezas", 6, 2, 3, 10, 2),
    ),
    large=case("números muy grandes", 7, 2, 3, 6, 1, factor=60.0),
)

# --- Lo que se mide y lo que tiene que cumplir ----------------------------------------------------


def found_scale(attempt):
    """El divisor, si no es ninguno de los de siempre: con dos tokens, se lee en la salida."""

    def measure(d_k):
        x, identity = torch.zeros(1, 2, d_k), torch.eye(d_k)
        x[0, 0, 0] = 1.0
        output = heads.output_of(attempt, x, *[identity] * 4, 1)
        return one.divisor_in(None if output is None else float(output[0, 0, 0]))

    return one.early_scales(measure)


def independence(attempt):
    """Una frase del lote no cambia a otra, y el orden de los tokens no importa."""
    x, *others = CASES.wide[0].arguments
    given = x, torch.cat([x[:1], x[1:] + 1.0]), x.flip(1)
    base, other, turned = (heads.output_of(attempt, each, *others) for each in given)
    yield from heads.moved(LAWS["propiedad-lote"], base, other, 0)
    turned = None if turned is None else turned.flip(1)
    yield from heads.moved(LAWS["propiedad-orden"], base, turned)


class ByHand(heads.Heads):
    """Comprueba una autoatención multicabeza escrita con matrices, sin módulos.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V, W_O, heads)``: ``x`` es ``(B, L, d_model)``; cada matriz,
            ``(d_model, d_model)``, que multiplica como ``x @ W``; ``heads`` divide a ``d_model``.
            Devuelve la salida ``(B, L, d_model)``, o ``(salida, pesos)``.
    """

    number, title, points = "7.2", "la multicabeza, sin módulos", 4
    names = ("x", "W_Q", "W_K", "W_V", "W_O", "heads")
    letters = ("B L -",)
    possible = staticmethod(lambda x, *others: others[-1] > 0 and x.shape[-1] % others[-1] == 0)
    axes = heads.AXES | {
        "order": [Option(False)],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "value": [o for o in one.VALUE_OPTIONS if not o.mistake or "por-value" not in o.mistake.id],
        "output": output_options(SAID, ("W_O-traspuesta", "turned")),
        "batch": ways(SAID, False, ("frases-juntas", "together"), ("lote-por-tokens", "across")),
        "pieces": [Option(False), *PIECES],
    }
    stages, second_try = heads.plans_of_stages(
        CASES,
        ("projections", "project_v", "pieces"),
        only={"projections": BY_HEADS, "project_v": BY_HEADS},
    )
    tiny = (
        tiny_case([[[2.0]]], 1, 1),
        tiny_case([[[0.0], [1.0]]], 1, 1),
        tiny_case([[[0.0, 1.0], [2.0, 0.0]]], 2, 2),
    )
    measured = {"scale": found_scale}
    must = (
        right_shape(heads.output_shape, "La forma de tu salida no es (B, L, d_model).", "07 §1"),
        finite("03 §2"),
        independence,
    )
    reader = Pair(heads.output_shape, returns="un tensor")
    kinds, returned = KINDS, (heads.returned,)
    extra = (case("2 frases de 48 tokens y 4 cabezas", 8, 2, 48, 12, 4),)
    also = ("una-sola-proyección", "query-key-cambiadas", *one.FOUND_SCALES, *RETURNED)

    def projected(self, given, role, source, how, batch):
        x = given.inputs.transpose(0, 1) if batch == "across" else given.inputs
        x = x.reshape(1, -1, given.width) if batch == "together" else x
        return self.project(given, how if how in ROLES else role, x, how)

    def project(self, given, role, x, how):
        matrix = given.weights[(*ROLES, "output").index(role)]
        if how == "none":
            return x
        if how == "twice":
            return x @ matrix @ matrix
        if how == "turned":
            return x @ matrix.T
        if how == "viewed":
            by_head = matrix.reshape(given.heads, given.width, -1)
            matrix = by_head.transpose(0, 1).reshape(matrix.shape)
        if how in ("sliced", "shared"):
            places = [slice(i, i + given.d_k) for i in range(0, given.width, given.d_k)]
            blocks = [matrix[place, place] for place in places]
            matrix = torch.block_diag(*(blocks[:1] * given.heads if how == "shared" else blocks))
        return x @ matrix

    def compute(self, choice, x, W_Q, W_K, W_V, W_O, many):
        width = x.shape[-1]
        given = heads.Given(x, (W_Q, W_K, W_V, W_O), many, width, width // many)
        batch, how = choice["batch"], choice["output"]
        if pieces := choice["pieces"]:
            choice = choice | {"projections": (pieces, pieces), "project_v": pieces}
        traced = self.attend(choice, given)
        output = self.project(given, how if how in ROLES else "output", traced["concat"], how)
        output = output.transpose(0, 1) if batch == "across" else output
        output = output.reshape(x.shape) if batch == "together" else output
        return traced | {"output": output + x if how == "residual" else output}
