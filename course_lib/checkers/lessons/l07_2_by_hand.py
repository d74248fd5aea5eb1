"""7.2 · La autoatención multi-cabeza con matrices, sin módulos. Sus pasos están en ``steps.heads``."""

from typing import NamedTuple

import torch

from course_lib.checkers.engine.comparing import show
from course_lib.checkers.engine.exercise import Case
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import finite, right_shape
from course_lib.checkers.engine.reading import Pair
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.steps import attention as one
from course_lib.checkers.steps import heads
from course_lib.checkers.steps.sources import (
    LETTER,
    ROLES,
    join,
    kind_mistake,
    projection_options,
)

SAID = told(__file__, "7.2")
KINDS = {
    # Cómo se proyecta mal, y cómo se llama.
    "none": SAID["sin-proyectar"],
    "twice": SAID["proyecta-dos-veces"],
    "turned": SAID["matriz-traspuesta"],
    "viewed": SAID["matriz-repartida-con-view"],
    "sliced": SAID["reparte-antes"],
    "shared": SAID["reparte-antes-y-comparte"],
    # Con una sola entrada, cambiar Q y K de sitio y cambiar sus matrices es lo mismo.
    "swapped": SAID["query-key-cambiadas"],
}
PIECES = [
    Option(False),
    *(Option(how, kind_mistake(how, ROLES, KINDS)) for how in ("sliced", "shared")),
]
BY_HEADS = ("matriz-repartida-con-view", "reparte-antes", "reparte-antes-y-comparte")
PAIR_OPTIONS, VALUE_PROJECTIONS = projection_options(KINDS)
OUTPUT_OPTIONS = ways(
    SAID,
    "own",
    ("sin-W_O", "none"),
    ("W_O-dos-veces", "twice"),
    ("W_O-traspuesta", "turned"),
    *((SAID["W_O-es-otra"].saying(letter=LETTER[role]), role) for role in ROLES),
    ("suma-la-entrada", "residual"),
)

# --- Las pruebas ----------------------------------------------------------------------------------


def case(name, seed, batch, length, width, heads, factor=1.0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, length, width, generator=generator)
    matrices = [torch.randn(width, width, generator=generator) * 1.2 / width**0.5 for _ in range(4)]
    return Case(name, (x * factor, *matrices, heads))


def tiny_case(x, width, heads):
    return Case("", (torch.tensor(x), *[torch.eye(width)] * 4, heads))


ONE = case("una frase de un token y una cabeza", 1, 1, 1, 6, 1)
SINGLE = case("2 frases de 3 tokens y una sola cabeza", 2, 2, 3, 6, 1)
WIDE = (
    case("2 frases de 5 tokens y 4 cabezas", 3, 2, 5, 12, 4),
    case("una frase de 8 tokens y 4 cabezas", 4, 1, 8, 12, 4),
    case("3 frases de 4 tokens y 4 cabezas", 5, 3, 4, 12, 4),
    case("2 frases de 3 tokens y 2 cabezas", 6, 2, 3, 10, 2),
)
LARGE = case("números muy grandes", 7, 2, 3, 6, 1, factor=60.0)
ONE_TOKEN = ("project_v", "output", "value", "softmax", "scale", "merge")
WIDER = ("project_v", "projections", "split", "merge", "output", "value")
ONE_HEAD = (
    *("projections", "order", "batch", "split", "scale", "softmax", "extra", "value", "merge"),
)
MANY_HEADS = ("split", "merge", "scale", "value", "projections", "project_v", "pieces")


def plan_of_stages(one_token):
    """De un token y una cabeza a muchos."""
    first = {"only": heads.FIRST_ONLY, "sure": False}
    both = ("merge", "scale")
    every = heads.stage(
        ("projections", "merge", "scale", "softmax"), WIDE, styles=both, after=heads.CONCEALING
    )
    by_heads = {"projections": BY_HEADS, "project_v": BY_HEADS}
    return (
        heads.stage(one_token, (ONE,), **first, otherwise=heads.stage(WIDER, (ONE,), **first)),
        heads.stage(ONE_HEAD, (SINGLE,), styles=("scale",), only=heads.SINGLE_ONLY, sure=False),
        heads.stage(MANY_HEADS, WIDE, styles=both, only=by_heads, otherwise=every),
        heads.stage(("naive",), (LARGE,)),
    )


# --- Lo que se mide y lo que tiene que cumplir ----------------------------------------------------


def again(attempt, x, others):
    """La salida, si mide lo que x."""
    output = attempt.ask(x, *others)
    return output if isinstance(output, torch.Tensor) and output.shape == x.shape else None


def found_scale(attempt):
    """El divisor, si no es ninguno de los de siempre: con dos tokens, se lee en la salida."""

    def measure(d_k):
        x, identity = torch.zeros(1, 2, d_k), torch.eye(d_k)
        x[0, 0, 0] = 1.0
        output = again(attempt, x, (identity, identity, identity, identity, 1))
        return one.divisor_in(None if output is None else float(output[0, 0, 0]))

    for option in one.found_scales(measure):
        divisor = option.value
        yield Option((lambda q, k, _, f=divisor: f(q, k, None), False), option.mistake)


def independence(attempt):
    """Una frase del lote no cambia a otra, y el orden de los tokens no importa."""
    x, *others = WIDE[0].arguments
    base = again(attempt, x, others)
    other = again(attempt, torch.cat([x[:1], x[1:] + 1.0]), others)
    if base is None or other is None:
        return
    if not torch.allclose(base[0], other[0], atol=1e-4):
        text = "Las frases del lote se mezclan, y cada una va por su lado."
        moved = show((base[0] - other[0]).abs().max())
        story = f"Al cambiar la segunda frase de un lote, la salida de la primera se mueve {moved}."
        yield Finding("propiedad-lote", text, story, "07 §5.4")
    turned = again(attempt, x.flip(1), others)
    if turned is not None and not torch.allclose(turned.flip(1), base, atol=1e-4):
        text = (
            "El orden de los tokens no puede importar: si los das al revés, salen los mismos vectores al "
            "revés."
        )
        moved = show((turned.flip(1) - base).abs().max())
        story = f"Con {WIDE[0].name}, se mueven {moved}."
        yield Finding("propiedad-orden", text, story, "05 §4")


def output_shape(x, *_):
    return tuple(x.shape)


class Given(NamedTuple):
    """Lo que entra en una prueba."""

    x: torch.Tensor
    matrices: tuple  # W_Q, W_K, W_V y W_O
    heads: int

    @property
    def width(self):
        return self.x.shape[-1]


class ByHand(heads.Heads):
    """x, cuatro matrices y ``heads`` → la autoatención multi-cabeza, sin módulos."""

    number, title, points = "7.2", "la multi-cabeza, sin módulos", 4
    names = ("x", "W_Q", "W_K", "W_V", "W_O", "heads")
    axes = heads.AXES | {
        "order": [Option(False)],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "value": [o for o in one.VALUE_OPTIONS if not o.mistake or "por-value" not in o.mistake.id],
        "output": OUTPUT_OPTIONS,
        "batch": ways(SAID, False, ("frases-juntas", "together"), ("lote-por-tokens", "across")),
        "pieces": PIECES,
    }
    stages = plan_of_stages(ONE_TOKEN)
    # Con un solo token, «pesos por keys» y «values mal proyectados» son lo mismo.
    second_try = plan_of_stages([axis for axis in ONE_TOKEN if axis != "value"])
    tiny = (
        tiny_case([[[2.0]]], 1, 1),
        tiny_case([[[0.0], [1.0]]], 1, 1),
        tiny_case([[[0.0, 1.0], [2.0, 0.0]]], 2, 2),
    )
    measured = {"scale": found_scale}
    must = (
        right_shape(output_shape, "La forma de tu salida no es (B, L, d_model).", "07 §5.2"),
        finite("05 §2"),
        independence,
    )
    reader = Pair(output_shape, returns="un tensor")
    also = (
        *("una-sola-proyección", "query-key-cambiadas"),
        *("escala-fija", "escala-de-más", "escala-otra"),
    )

    def __init__(self):
        super().__init__()
        self.good = {axis: options[0].value for axis, options in self.axes.items()}

    def joined(self, choice):
        return join(choice, self.good, KINDS, heads.EXPECTED_MERGE)

    def projected(self, given, role, source, how, batch):
        x = given.x.transpose(0, 1) if batch == "across" else given.x
        x = x.reshape(1, -1, given.width) if batch == "together" else x
        return self.project(given, how if how in ROLES else role, x, how)

    def project(self, given, role, x, how):
        matrix = given.matrices[(*ROLES, "output").index(role)]
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
            d_k = given.width // given.heads
            blocks = [matrix[i : i + d_k, i : i + d_k] for i in range(0, given.width, d_k)]
            matrix = torch.block_diag(*(blocks[:1] * given.heads if how == "shared" else blocks))
        return x @ matrix

    def compute(self, choice, x, W_Q, W_K, W_V, W_O, heads):
        given, batch, how = Given(x, (W_Q, W_K, W_V, W_O), heads), choice["batch"], choice["output"]
        if pieces := choice["pieces"]:
            choice = choice | {"projections": (pieces, pieces), "project_v": pieces}
        traced = self.attend(choice, given)
        role = how if how in ROLES else "output"
        output = self.project(given, role, traced["concat"], how)
        output = output.transpose(0, 1) if batch == "across" else output
        output = output.reshape(x.shape) if batch == "together" else output
        return traced | {"output": output + x if how == "residual" else output}


BY_HAND = ByHand()
EXERCISES = (BY_HAND,)


def check_attention_by_hand(function):
    """Comprueba una autoatención multi-cabeza escrita con matrices, sin módulos.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V, W_O, heads)``: ``x`` es ``(B, L, d_model)``; cada matriz,
            ``(d_model, d_model)``, que multiplica como ``x @ W``; ``heads`` divide a ``d_model``.
            Devuelve la salida ``(B, L, d_model)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(BY_HAND.check(function))
