"""14.2 · RMSNorm: {sobre qué ejes} × {qué se mide} × {dónde va eps} × {qué hace weight}."""

import torch

from course_checkers.engine import Case, Exercise, Option, Stage, Tensors, laws, messages, stepping, told
from course_checkers.engine.comparing import show, show_both
from course_checkers.engine import properties as law
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, mean_square, rounded

KNOWN, LAWS = told(__file__, "14.2"), laws(__file__, "14.2 propiedades")
step = stepping(KNOWN)

AXES = {
    # De x, ``weight`` y la norma, la salida.
    "gain": step(
        lambda x, weight, norm: norm(x) * weight,
        ("sin-weight", lambda x, weight, norm: norm(x)),
        ("weight-antes", lambda x, weight, norm: norm(x * weight)),
        ("uno-más-weight", lambda x, weight, norm: norm(x) * (1 + weight)),
        ("divide-por-weight", lambda x, weight, norm: norm(x) / weight),
        ("suma-weight", lambda x, weight, norm: norm(x) + weight),
        ("norma-dos-veces", lambda x, weight, norm: norm(norm(x)) * weight),
        ("suma-la-entrada", lambda x, weight, norm: x + norm(x) * weight),
    ),
    "dims": step(
        lambda n: (-1,),
        ("todo-junto", lambda n: tuple(range(n))),
        ("por-tokens", lambda n: (-2,)),
        ("por-frase", lambda n: (-2, -1)),
        ("por-lote", lambda n: (0,)),
        ("como-batchnorm", lambda n: tuple(range(n - 1))),
    ),
    # Si se resta la media arriba, y si se resta en lo que se mide.
    "center": step(
        (False, False),
        ("layernorm", (True, True)),
        ("resta-la-media", (True, False)),
        ("desviación-típica", (False, True)),
    ),
    "measure": step(
        mean_square,
        ("suma-en-vez-de-media", lambda x, dims: x.square().sum(dims, keepdim=True)),
        ("entre-d−1", lambda x, dims: mean_square(x, dims, 1)),
        ("longitud-entre-d", lambda x, dims: mean_square(x, dims) / x.shape[-1]),
        ("sin-media", lambda x, dims: x.square()),
        ("sin-cuadrado", lambda x, dims: x.mean(dims, keepdim=True)),
        ("cuadrado-de-la-media", lambda x, dims: x.mean(dims, keepdim=True).square()),
        ("valor-absoluto", lambda x, dims: x.abs().mean(dims, keepdim=True).square()),
        ("máximo", lambda x, dims: x.square().amax(dims, keepdim=True)),
    ),
    # El divisor, a partir de lo que se mide, m, y de eps.
    "root": step(
        lambda m, eps: (m + eps).sqrt(),
        ("eps-fuera", lambda m, eps: m.sqrt() + eps),
        ("sin-eps", lambda m, eps: m.sqrt(), lambda m, eps: m.sqrt().clamp(min=1e-12)),
        ("sin-raíz", lambda m, eps: m + eps),
        ("multiplica", lambda m, eps: (m + eps).rsqrt()),
        ("sin-dividir", lambda m, eps: torch.ones_like(m)),
        (("sin-raíz", "sin-eps"), lambda m, eps: m),
        ("multiplica#raíz", lambda m, eps: (m + eps).square()),
        ("raíz-de-más", lambda m, eps: (m + eps) ** 0.25),
        ("eps-al-cuadrado", lambda m, eps: (m + eps**2).sqrt()),
        ("eps-de-tope", lambda m, eps: m.clamp(min=eps).sqrt(), lambda m, eps: m.sqrt().clamp(min=eps)),
        ("resta-eps", lambda m, eps: (m - eps).sqrt()),
    ),
    "eps": step(itself),
    "keep": step(itself, ("sin-keepdim", lambda divisor: divisor.squeeze(-1))),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3, 4)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None])),
}


def vectors(seed, shape, eps, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    x = size * (0.7 + torch.randn(*shape, generator=generator))
    weight = torch.rand(shape[-1], generator=generator) + 0.5
    group = {1: "vector", 2: ""}.get(len(shape), "lote")
    return Case(f"x {shape} y eps = {eps}", (x, weight, eps), group)


CASES = (
    vectors(0, (3, 5), 0.3),
    vectors(1, (2, 3, 6), 0.1),
    vectors(2, (4, 4), 0.2),
    vectors(3, (2, 3, 4, 7), 0.4),
    vectors(4, (8,), 0.2),
    vectors(5, (2, 4), 0.4, 0.1),
    vectors(6, (3, 2), 1e-6, 0.002),
    Case("un vector de ceros y eps = 1e-05", (torch.zeros(1, 3), torch.ones(3), 1e-5)),
)


def fixed_eps(attempt):
    """El eps de quien no usa el que recibe, medido con un vector de números iguales."""
    value, known = attempt.ask(torch.full((1, 2), 0.01), torch.ones(2), 0.1), [1e-5, 1e-6, 1e-8]
    if value is not None and 0 < (y := float(value.flatten()[0])) < 1:
        known.append(1e-4 * (1 / y**2 - 1))
    for eps in known:
        yield Option(lambda _, eps=eps: eps, KNOWN["eps-fijo"].saying(number=show(eps)))


X = CASES[1].arguments[0]
ONES = torch.ones(6)
PLAIN = Case("eps = 0", (X, ONES, 0.0))
MINUTE = vectors(9, (2, 1, 1, 3, 4), 1e-12, 1e-5)


def power_one(attempt):
    """Que, con ``weight`` de unos, la media de los cuadrados sea 1."""
    value = attempt.ask(X, ONES, 0.0)
    if value is not None and (gap := (mean_square(value) - 1).abs()).max() > 1e-3:
        worst = mean_square(value).flatten()[gap.argmax()]
        yield LAWS["propiedad-1"].saying(yours=show_both(worst, 1.0)[0])


class RMSNorm(Exercise):
    """Comprueba una RMSNorm.

    Args:
        function: recibe ``(x, weight, eps)``: un tensor ``(..., d_model)``, otro ``(d_model,)`` y un
            número. Devuelve x entre √(media de sus cuadrados + eps), por ``weight``, de la forma de x.
    """

    number, title, points = "14.2", "RMSNorm", 2
    letters = ("d_model", "d_model")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, usual=4),)
    extra = (PLAIN, vectors(7, (2, 3, 64), 1e-6, 300.0), vectors(8, (4, 1), 0.5), MINUTE)
    tiny = tuple(
        Case("", (torch.tensor([x]), torch.tensor(weight), 0.0))
        for x, weight in (
            ([3.0, 1.0], [1.0, 1.0]),
            ([3.0, 4.0], [1.0, 2.0]),
            ([1.0, 7.0], [1.0, 1.0]),
            ([0.0, 2.0], [-1.0, -3.0]),
        )
    )
    measured = {"eps": fixed_eps, "finish": numbers.by_a_number("14 §3.1")}
    reader, also = Tensors(numpy=True), ("eps-fijo", *numbers.KNOWN)
    groups = messages(__file__, "14.2 grupos")
    must = (
        law.half_precision,
        law.right_shape(lambda x, *_: x.shape, "Tu salida no mide lo mismo que x.", "14 §3.1"),
        law.finite("14 §3.1"),
        power_one,
        law.related(LAWS["propiedad-escala"], PLAIN, (3 * X, ONES, 0.0)),
    )
    besides = (law.promised,)
    notes = (law.not_by_hand(("rms_norm",), LAWS["nota-a-mano"].text),)

    def compute(self, choice, x, weight, eps):
        dims, (above, below) = choice["dims"](x.dim()), choice["center"]
        eps = choice["eps"](eps)

        def norm(z):
            centred = z - z.mean(dims, keepdim=True)
            measured = choice["measure"](centred if below else z, dims)
            return (centred if above else z) / choice["keep"](choice["root"](measured, eps))

        x, weight = x.double(), weight.double()
        output = choice["gain"](x, weight, norm)
        return {"output": choice["shape"](choice["finish"](output)).float()}
