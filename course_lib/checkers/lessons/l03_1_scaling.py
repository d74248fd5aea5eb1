"""3.1 · Las puntuaciones escaladas, Q·Kᵀ/√d_k.

La familia: {Q·Kᵀ, Q·K, componente a componente…} × {÷√d_k, ÷d_k, ÷√d_model…} × {nada más, softmax…}.
"""

import functools
import math

import torch

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import finite, half_precision, promised, right_shape
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.engine.search import Stage
from course_lib.checkers.steps import attention as steps

# --- Los errores ----------------------------------------------------------------------------------


def size(look):
    """La desviación de las puntuaciones, y la que tenían que tener."""
    yours, right = look.yours, look.right
    if yours.shape != right.shape or not yours.isfinite().all():
        return ""
    mine, good = float(yours.std()), float(right.std())
    if abs(mine - good) < 0.02 * good:
        return ""
    return (
        f"Con {look.case.name}, tus puntuaciones tienen una desviación de {show(mine)}, y tenía que ser "
        f"{show(good)}."
    )


SCALES = told(steps.__file__, "scale", size) | told(__file__, "3.1 escala", size)
TOLD = told(__file__, "3.1") | SCALES
step = functools.partial(ways, TOLD)

# --- Los pasos ------------------------------------------------------------------------------------


def over(divisor):
    """Dividir por un número, a partir de la query y la key: sin mirar las puntuaciones."""
    return lambda scores, q, k: scores / divisor(q, k, k)


def norms(x):
    return x.norm(dim=-1)


def standardize(dims, correction, centered):
    def change(scores, q, k):
        axes = tuple(range(scores.dim())) if dims is None else dims
        mean = scores.mean(axes, keepdim=True)
        freedom = scores.numel() // mean.numel() - correction  # si es 0, sale NaN, como en torch
        variance = ((scores - mean) ** 2).sum(axes, keepdim=True) / freedom
        return (scores - mean if centered else scores) / variance.sqrt()

    return change


def squeeze(scores, q, k):
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low)


def squeeze_rows(scores, q, k):
    low, high = scores.amin(-1, keepdim=True), scores.amax(-1, keepdim=True)
    return (scores - low) / (high - low)


SCALE_WAYS = step(
    over(steps.by_root),
    *(
        (option.mistake.id, over(option.value))
        for option in steps.SCALE_OPTIONS
        if option.mistake and option.mistake.id not in ("escala-√d_v", "escala-norma-de-V")
    ),
    (
        "escala-d_model",
        lambda scores, q, k: scores / (q.shape[-3] * q.shape[-1]),
        lambda scores, q, k: scores / (q.shape[1] * q.shape[-1]),
        lambda scores, q, k: scores / (q.shape[-1] * (q.shape[-3] if q.dim() == 4 else 1)),
    ),
    (
        "escala-otro-eje",
        lambda scores, q, k: scores / q.shape[-2],
        lambda scores, q, k: scores / q.shape[0],
        lambda scores, q, k: scores / k.shape[0],
        lambda scores, q, k: scores / q.shape[1],
        lambda scores, q, k: scores / k.shape[1],
        lambda scores, q, k: scores / math.sqrt(k.shape[0]),
        lambda scores, q, k: scores / math.sqrt(k.shape[1]),
    ),
    (
        "escala-máximo",
        lambda scores, q, k: scores / scores.max(),
        lambda scores, q, k: scores / scores.abs().max(),
        lambda scores, q, k: scores / scores.amax(-1, keepdim=True),
    ),
    (
        "escala-una-norma",
        lambda scores, q, k: scores / q.norm(),
        lambda scores, q, k: scores / k.norm(),
        lambda scores, q, k: scores / (q.norm() * k.norm()),
        lambda scores, q, k: scores / scores.norm(),
        lambda scores, q, k: scores / norms(scores)[..., None],
        lambda scores, q, k: scores / norms(q)[..., None],
        lambda scores, q, k: scores / norms(k)[..., None, :],
    ),
    (
        "escala-desviación",
        *(
            standardize(dims, correction, centered)
            for dims in (None, (-1,), (-2, -1))
            for correction in (0, 1)
            for centered in (False, True)
        ),
    ),
    ("entre-0-y-1", squeeze, squeeze_rows),
    (
        "raíz-de-todo",
        lambda scores, q, k: (scores / q.shape[-1]).sqrt(),
        lambda scores, q, k: scores.sqrt() / q.shape[-1],
        lambda scores, q, k: scores.sqrt(),
    ),
)
AXES = {
    "order": step(False, ("query-key-cambiadas", True)),
    "product": step(
        lambda q, k: q @ k.mT,
        ("sin-trasponer", lambda q, k: q @ k),
        ("query-traspuesta", lambda q, k: q.mT @ k),
        ("componente-a-componente", lambda q, k: q * k),
        (
            "solo-la-diagonal",
            lambda q, k: (q * k).sum(-1),
            lambda q, k: (q * k).sum(-1, keepdim=True),
        ),
    ),
    "scale": SCALE_WAYS,
    # De las puntuaciones ya divididas y de √d_k, la salida.
    "after": step(
        lambda scores, root: scores,
        *(
            ("softmax-de-más", lambda scores, root, dim=dim: scores.softmax(dim))
            for dim in (-1, -2)
        ),
        (
            ("softmax-de-más", "escala-después"),
            lambda scores, root: (scores * root).softmax(-1) / root,
        ),
        ("valor-absoluto", lambda scores, root: scores.abs()),
        ("signo", lambda scores, root: -scores),
        ("relu", lambda scores, root: scores.clamp_min(0)),
        (
            "recorta",
            lambda scores, root: scores.clamp(0, 1),
            lambda scores, root: scores.clamp(-1, 1),
            lambda scores, root: scores.tanh(),
            lambda scores, root: scores.sigmoid(),
        ),
        ("exponencial", lambda scores, root: scores.exp()),
        (
            "sin-decimales",
            lambda scores, root: scores.floor(),
            lambda scores, root: scores.trunc(),
            lambda scores, root: scores.round(),
        ),
    ),
}

# --- Las pruebas ----------------------------------------------------------------------------------


def draw(seed, leading, L_q, L_k, d_k, size=1.5):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*leading, L, d_k, generator=generator) * size for L in (L_q, L_k))


EXAMPLE = (torch.full((1, 4), 2.0), torch.full((1, 4), 3.0))


def cases():
    for group, leading, seed, say in (
        ("cabezas", (2, 3), 0, ", con cabezas"),
        ("lote", (2,), 10, ", en un lote"),
        ("frase", (), 20, ", en una frase suelta"),
    ):
        L = 4 if group == "cabezas" else 3
        yield Case(f"{L} queries y 5 keys{say}", draw(seed, leading, L, 5, 6), group)
        yield Case(f"4 queries, 4 keys y d_k = 5{say}", draw(seed + 1, leading, 4, 4, 5), group)
        yield Case(f"4 queries, 4 keys y d_k = 4{say}", draw(seed + 2, leading, 4, 4, 4), group)
        if group == "cabezas":
            large = draw(seed + 3, leading, 7, 9, 64, size=300.0)
            yield Case(f"7 queries y 9 keys muy largas, con d_k = 64{say}", large, group)
    yield Case("la query y la key del enunciado", EXAMPLE, group)


# --- Lo que se mira en la respuesta ---------------------------------------------------------------


def divisor(attempt, d_k):
    """Por cuánto divide un producto que vale 1; con cabezas, con lote o sin nada delante."""
    for leading in ((1, 1), (1,), ()):
        query = torch.zeros(*leading, 1, d_k)
        query[..., 0] = 1.0
        value = attempt.ask(query, query)
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            score = abs(float(value))
            return 1 / score if math.isfinite(score) and score > 1e-6 else None
    return None


def found_scales(attempt):
    """El divisor que usa quien aprende: uno fijo conocido, o medido en cada anchura de las pruebas."""
    fixed = SCALES["escala-fija"]
    for number in steps.CONSTANTS:
        yield Option(over(lambda *_, n=number: n), fixed.saying(number=show(number)))
    measured = {d_k: divisor(attempt, d_k) for d_k in (4, 5, 6, 64)}
    if not all(measured.values()):
        return
    ratio = {d_k: found / math.sqrt(d_k) for d_k, found in measured.items()}
    if any(alike((number, *measured.values())) for number in steps.CONSTANTS):
        return
    if alike(measured.values()):
        found = fixed.saying(number=show(measured[4]))
    elif alike(ratio.values()):
        found = SCALES["escala-de-más"].saying(number=show(ratio[4]))
    else:
        width = next(d_k for d_k, found in ratio.items() if not alike((found, 1.0)))
        found = SCALES["escala-otra"].saying(
            width=width, number=show(measured[width]), right=show(math.sqrt(width))
        )
    yield Option(over(lambda q, *_: measured[q.shape[-1]]), found)


def found_limits(attempt):
    """Entre qué topes se recortan las puntuaciones: los que da un producto enorme."""
    tops = [
        attempt.ask(sign * torch.full((1, 1), 1e6), torch.full((1, 1), 1e6)) for sign in (-1, 1)
    ]
    if all(top is not None and top.numel() == 1 for top in tops):
        low, high = map(float, tops)
        yield Option(lambda scores, root: scores.clamp(low, high), TOLD["recorta"])


def alike(numbers):
    return (max(numbers) - min(numbers)) / max(numbers) < 1e-4


def only_one_sentence(attempt):
    if not {case.group for case in attempt.seen} & {"lote", "cabezas"}:
        text = "Tu código funciona con una frase suelta, (L, d_k), y tiene que admitir un lote, (..., L, d_k)."
        yield Finding("sin-lote", text, "Traspón solo los dos últimos ejes, con .mT.", "03 §2")


def doubles(attempt):
    """Que, con queries el doble de largas, las puntuaciones sean el doble."""
    for case, output in attempt.outputs():
        query, key = case.arguments
        longer = attempt.ask(2 * query, key)
        if longer is not None and not same(longer, 2 * output, 1e-3, 1e-4):
            text = "Con queries el doble de largas, las puntuaciones tienen que ser el doble, y las tuyas no."
            return [Finding("propiedad-doble", text, f"Se ve con {case.name}.", "03 §6.2")]
    return []


class Scaling(Exercise):
    """Q, K → Q·Kᵀ / √d_k."""

    number, title, points = "3.1", "las puntuaciones escaladas", 2
    names = ("query", "key")
    axes = AXES
    stages = (Stage(tuple(AXES), tuple(cases())),)
    tiny = (
        Case("1 query y 1 key", (torch.tensor([[3.0]]), torch.tensor([[2.0]]))),
        Case("1 query y 1 key, con d_k = 4", EXAMPLE),
        Case("2 queries y 1 key", (torch.tensor([[1.0], [-2.0]]), torch.tensor([[3.0]]))),
        Case("2 queries y 2 keys", (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.eye(2))),
    )
    measured = {"scale": found_scales, "after": found_limits}
    must = (
        half_precision,
        right_shape(
            lambda query, key: (*query.shape[:-1], key.shape[-2]),
            "La forma de tu salida no es (..., L_q, L_k): una fila por query y una columna por key.",
            "03 §1",
        ),
        finite("03 §1"),
        doubles,
    )
    groups = {
        "cabezas": "Con (B, h, L, d_k), un lote y cabezas, no funciona.",
        "lote": "Con (B, L, d_k), un lote sin cabezas, no funciona.",
        "frase": "Con (L, d_k), una frase suelta, no funciona.",
    }
    narrow, besides = (only_one_sentence,), (promised,)
    also = ("escala-fija", "escala-de-más", "escala-otra")

    def compute(self, choice, query, key):
        q, k = (key, query) if choice["order"] else (query, key)
        scores = choice["scale"](choice["product"](q, k), query, key)
        return {"output": choice["after"](scores, math.sqrt(query.shape[-1]))}


SCALING = Scaling()
EXERCISES = (SCALING,)


def check_scaling(function):
    """Comprueba unas puntuaciones escaladas.

    Args:
        function: recibe ``(query, key)``, de formas ``(..., L_q, d_k)`` y ``(..., L_k, d_k)``, y
            devuelve Q·Kᵀ/√d_k, ``(..., L_q, L_k)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SCALING.check(function))
