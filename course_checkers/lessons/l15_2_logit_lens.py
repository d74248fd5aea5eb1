"""15.2 · La lente de logits: {qué estados} × {qué posición} × {la norma} × {la tabla} × {la softmax}."""

import functools

import torch
import torch.nn.functional as F

from course_checkers.engine import Case, Numbers, Stage, laws, related, same, stepping, told
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, mean_square, rounded

step = stepping(told(__file__, "11") | told(__file__, "15.2"))
LAWS = laws(__file__, "15.2 propiedades")
EPS = 1e-5

AXES = {
    # De los estados, (Nx + 1, L, d_model), los que se miran.
    "layers": step(
        itself,
        ("quita-la-entrada", lambda s: s[1:]),
        ("quita-la-salida", lambda s: s[:-1]),
        ("capa-corrida", lambda s: s.roll(1, 0), lambda s: s.roll(-1, 0)),
        ("lo-que-añade-la-capa", lambda s: s.diff(dim=0), lambda s: torch.cat([s[:1], s.diff(dim=0)])),
    ),
    "place": step(
        lambda s: s[:, -1],
        ("primera-posición", lambda s: s[:, 0]),
        ("todas-las-posiciones", itself),
        ("media-de-posiciones", lambda s: s.mean(1), lambda s: s.sum(1)),
    ),
    "norm": step(
        lambda x: x / (mean_square(x) + EPS).sqrt(),
        ("sin-normalizar", itself),
        ("layernorm", lambda x: F.layer_norm(x, x.shape[-1:], eps=EPS)),
        ("longitud", lambda x: x / x.norm(dim=-1, keepdim=True)),
        ("una-norma-para-todos", lambda x: x / (mean_square(x, (*range(x.dim()),)) + EPS).sqrt()),
        ("sin-eps", *(lambda x, e=e: x / (mean_square(x) + e).sqrt() for e in (0.0, 1e-6))),
    ),
    "gain": step(
        lambda x, gain, norm: norm(x) * gain,
        ("sin-gain", lambda x, gain, norm: norm(x)),
        ("gain-antes", lambda x, gain, norm: norm(x * gain)),
        ("norma-dos-veces", lambda x, gain, norm: norm(norm(x) * gain) * gain),
    ),
    "softmax": step(
        lambda z, d: z.softmax(-1),
        ("sin-softmax", lambda z, d: z),
        ("log-softmax", lambda z, d: z.log_softmax(-1)),
        ("softmax-de-otro-eje", lambda z, d: z.softmax(0)),
        ("entre-√d", lambda z, d: (z / d**0.5).softmax(-1)),
        ("sigmoide", lambda z, d: z.sigmoid()),
        ("el-que-gana", lambda z, d: z.argmax(-1).float(), lambda z, d: z.softmax(-1).amax(-1)),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x.unsqueeze(1))),
}


def states_case(seed, N, L, d, V, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randn(N, L, d, generator=generator) * torch.linspace(0.5, 1.5, N)[:, None, None]
    gain = 0.5 + torch.rand(d, generator=generator)
    table = torch.randn(V, d, generator=generator)
    name = f"{N} estados de {L} tokens, d_model = {d} y {V} tokens en el vocabulario"
    return Case(name, (size * (steps.cumsum(0) + 0.3), gain, table))


CASES = (
    states_case(0, 4, 5, 6, 7),
    states_case(1, 3, 4, 8, 5),
    states_case(2, 5, 3, 4, 9),
    states_case(3, 3, 6, 6, 4, 0.002),
    states_case(4, 4, 4, 5, 5),
    states_case(5, 2, 3, 3, 6, 20.0),
)
near = functools.partial(same, relative=0, absolute=1e-3)
S, GAIN, TABLE = CASES[0].arguments
TURNED = S, GAIN, TABLE.flip(0)


class LogitLens(numbers.NumberExercise):
    """Comprueba una lente de logits.

    Args:
        function: recibe ``(states, gain, table)``: los estados de una frase, ``(Nx + 1, L, d_model)``;
            la escala de la última RMSNorm, ``(d_model,)``; y la tabla, ``(V, d_model)``. Devuelve
            ``(Nx + 1, V)``: en cada estado, las probabilidades del token que sigue al último.
    """

    number, title, points, section = "15.2", "la lente de logits", 3, "15 §3"
    letters = ("N L d", "d", "V d")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, most=2),)
    extra = (states_case(6, 31, 2, 16, 40), states_case(7, 3, 1, 4, 3))
    tiny = (Case("", (torch.tensor([[[3.0, 1.0]], [[1.0, 7.0]]]), torch.ones(2), torch.eye(2))),)
    reader = Numbers("un tensor (Nx + 1, V), una fila por estado")
    must = (
        *numbers.must(section, lambda states, gain, table: (len(states), len(table))),
        related(LAWS["propiedad-escala"], CASES[0], (3 * S, GAIN, TABLE), alike=near),
        related(LAWS["propiedad-vocabulario"], CASES[0], TURNED, lambda p: p.flip(-1)),
    )

    def compute(self, choice, states, gain, table):
        states, gain, table = states.double(), gain.double(), table.double()
        x = choice["place"](choice["layers"](states))
        scores = choice["gain"](x, gain, choice["norm"]) @ table.T
        output = choice["softmax"](scores, x.shape[-1])
        return {"output": choice["shape"](choice["finish"](output)).float()}
