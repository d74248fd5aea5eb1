"""9.2 · La suma y la normalización que envuelven cada subcapa.

La familia: {x + subcapa, solo x…} × {por token, por frase…} × {media, varianza, eps…} × {weight y bias…}.
"""

import functools

import torch

from course_checkers.engine import Case, Exercise, Option, laws, messages, same, show, told, ways
from course_checkers.engine.properties import finite, not_by_hand, right_shape
from course_checkers.steps import one_head as head
from course_checkers.steps.numbers import mean_square


def moments(look):
    """Del vector que más se aparta, la media y la desviación típica, sin ``weight`` ni ``bias``."""
    yours, right = look.traced["normalized"], look.traced_right["normalized"]
    if yours.shape != right.shape or not yours.isfinite().all():
        return ""
    both = torch.stack([torch.stack([x.mean(-1), x.std(-1, correction=0)]) for x in (yours, right)])
    gap = (both[0] - both[1]).abs().sum(0)
    batch, token = divmod(int(gap.argmax()), gap.shape[1])
    numbers = [show(float(n)) if abs(n) > 1e-4 else "0" for n in both[..., batch, token].flatten()]
    story = LAWS["momentos"].saying(name=look.case.name, batch=batch, token=token, numbers=numbers)
    return story.consequence if gap.max() >= 1e-3 else ""


TOLD = told(__file__, "9.2") | told(__file__, "9.2, la normalización", moments)
LAWS = laws(__file__, "9.2 propiedades")
AXES = {
    "residual": ways(
        # De x, la subcapa, la normalización entera y la última cuenta (`weight` y `bias`).
        TOLD,
        lambda x, s, norm, affine: norm(x + s),
        ("sin-residual", lambda x, s, norm, affine: norm(s)),
        ("suma-fuera", lambda x, s, norm, affine: x + norm(s)),
        ("normaliza-solo-x", lambda x, s, norm, affine: norm(x) + s),
        ("suma-x-otra-vez", lambda x, s, norm, affine: x + norm(x + s)),
        ("normaliza-por-separado", lambda x, s, norm, affine: norm(x) + norm(s)),
        ("sin-subcapa", lambda x, s, norm, affine: norm(x)),
        ("multiplica", lambda x, s, norm, affine: norm(x * s)),
        ("resta", lambda x, s, norm, affine: norm(x - s), lambda x, s, norm, affine: norm(s - x)),
        ("sin-normalizar", lambda x, s, norm, affine: x + s, lambda x, s, norm, affine: affine(x + s)),
        ("suma-la-subcapa-otra-vez", lambda x, s, norm, affine: s + norm(x + s)),
        ("promedia", lambda x, s, norm, affine: norm((x + s) / 2)),
        ("normaliza-dos-veces", lambda x, s, norm, affine: norm(norm(x + s))),
        ("normaliza-la-subcapa", lambda x, s, norm, affine: norm(x + norm(s))),
        ("normaliza-x-antes", lambda x, s, norm, affine: norm(norm(x) + s)),
    ),
    "dims": ways(
        # Sobre qué ejes se hacen la media y la varianza.
        TOLD,
        (-1,),
        ("por-tokens", (1,)),
        ("por-lote", (0,)),
        ("por-frase", (1, 2)),
        ("todo-junto", (0, 1, 2)),
        ("como-batchnorm", (0, 1)),
    ),
    "root": ways(
        # El divisor, a partir de la varianza, eps y lo que se divide.
        TOLD,
        lambda var, eps, c, dims: (var + eps).sqrt(),
        ("eps-fuera", lambda var, eps, c, dims: var.sqrt() + eps),
        ("sin-eps", lambda var, eps, c, dims: var.sqrt()),
        ("divide-por-la-varianza", lambda var, eps, c, dims: var + eps),
        (("divide-por-la-varianza", "sin-eps"), lambda var, eps, c, dims: var),
        ("sin-dividir", lambda var, eps, c, dims: 1.0),
        ("multiplica-por-la-desviación", lambda var, eps, c, dims: 1 / (var + eps).sqrt()),
        ("eps-al-cuadrado", lambda var, eps, c, dims: (var + eps**2).sqrt()),
        ("divide-por-la-norma", lambda var, eps, c, dims: c.norm(2, dims, True)),
        ("divide-por-la-norma", lambda var, eps, c, dims: c.norm(2, dims, True).clamp(min=1e-12)),
        ("valor-absoluto", lambda var, eps, c, dims: c.abs().mean(dims, True) + eps),
        ("rango", lambda var, eps, c, dims: c.amax(dims, True) - c.amin(dims, True) + eps),
        ("resta-eps", lambda var, eps, c, dims: (var - eps).sqrt()),
        ("eps-de-tope", lambda var, eps, c, dims: var.clamp(min=eps).sqrt()),
    ),
    "affine": ways(
        # Lo último: `weight` y `bias`.
        TOLD,
        lambda z, weight, bias: z * weight + bias,
        (("sin-weight", "sin-bias"), lambda z, weight, bias: z),
        ("sin-bias", lambda z, weight, bias: z * weight),
        ("sin-weight", lambda z, weight, bias: z + bias),
        ("weight-bias-cambiados", lambda z, weight, bias: z * bias + weight),
        ("bias-antes", lambda z, weight, bias: (z + bias) * weight),
        ("resta-bias", lambda z, weight, bias: z * weight - bias),
        ("suma-weight", lambda z, weight, bias: z + weight + bias),
        ("uno-más-weight", lambda z, weight, bias: z * (1 + weight) + bias),
        ("divide-por-weight", lambda z, weight, bias: z / weight + bias),
    ),
    "center": ways(
        # Si se resta la media arriba, y si se resta en la varianza.
        TOLD,
        (True, True),
        ("sin-restar-la-media", (False, True)),
        ("rms", (False, False)),
        ("varianza-sin-media", (True, False)),
    ),
    "correction": ways(TOLD, 0, ("varianza-insesgada", 1)),
    # Si guardan su eje la media y la varianza.
    "keep": ways(TOLD, (True, True), ("sin-keepdim", (False, False), (False, True), (True, False))),
    "eps": [Option(lambda eps: eps)],
    "default": [Option(1e-5)],
}
CONSTANT_EPS = (1e-3, 1e-5, 1e-6, 1e-8, 1.0)


def vectors(seed, B, L, d, *eps, size=1.0, same_numbers=False):
    """x, la subcapa, ``weight``, ``bias`` y, si se da, eps."""
    generator = torch.Generator().manual_seed(seed)
    x, sublayer = (torch.randn(B, L, d, generator=generator) * size for _ in range(2))
    x = x + 0.7 * size
    if same_numbers:
        x[:, 0], sublayer[:, 0] = 1.0, 2.0
    weight = torch.rand(d, generator=generator) + 0.5
    return x, sublayer, weight, torch.randn(d, generator=generator), *eps


def small(x, sublayer, *eps):
    """Un solo vector de dos números, con ``weight`` de unos y ``bias`` de ceros."""
    return torch.tensor([[x]]), torch.tensor([[sublayer]]), torch.ones(2), torch.zeros(2), *eps


CASES = (
    Case("2 frases de 3 tokens y eps = 0.1", vectors(0, 2, 3, 4, 0.1)),
    Case("2 frases de 4 tokens y eps = 0.4", vectors(1, 2, 4, 6, 0.4)),
    Case("3 frases de 3 tokens y d = 3", vectors(2, 3, 3, 3, 0.2)),
    Case("una frase de un token", vectors(3, 1, 1, 5, 0.3)),
    Case("3 frases de 2 tokens y el eps de siempre", vectors(4, 3, 2, 5, 1e-5, size=0.01)),
    Case("un vector con todos sus números iguales", vectors(5, 2, 2, 4, 1e-5, same_numbers=True)),
    Case("números pequeños, sin dar eps", vectors(6, 2, 3, 4, size=0.003), "sin-eps"),
)
X, SUBLAYER, WEIGHT, *OTHERS = vectors(8, 2, 3, 4, 0.2)
TINY = (([1.0, 0.0], [0.0, 0.0]), ([1.0, 0.0], [2.0, 1.0]), ([3.0, -1.0], [2.0, 5.0]))


def measured_eps(attempt, *eps):
    """El eps que se suma a la varianza de un vector muy pequeño."""
    a = 0.003
    value = attempt.ask(*small([a, -a], [0.0, 0.0], *eps))
    if value is None or value.shape != (1, 1, 2) or not 1e-6 < float(value[0, 0, 0]) < 1:
        return None
    return max(a * a * (1 / float(value[0, 0, 0]) ** 2 - 1), 0.0)


def fixed_eps(attempt):
    """Si el eps es siempre el mismo, cuál."""
    measured, found = [measured_eps(attempt, eps) for eps in (0.1, 0.2)], set(CONSTANT_EPS)
    if None not in measured and abs(measured[0] - measured[1]) < 1e-3 * abs(measured[0]):
        found |= {measured[0]}
    for number in sorted(found):
        yield Option(lambda eps, n=number: n, TOLD["eps-fijo"].saying(number=show(number)))


def default_eps(attempt):
    """El eps de quien no lo da, si no es el que se pide."""
    default = measured_eps(attempt)
    if default is not None and abs(default - 1e-5) > 1e-7:
        yield Option(default, TOLD["eps-por-defecto"].saying(number=show(default)))


GIVEN = vectors(20, 2, 3, 4, 1e-5)


def only_the_sum(attempt):
    """Que la salida no cambie si la misma suma se reparte de otra forma."""
    x, sublayer, *others = GIVEN
    base = attempt.ask(*GIVEN)
    moved = attempt.ask(x + 1.5 * sublayer, -0.5 * sublayer, *others)
    if base is not None and moved is not None and not same(base, moved, 1e-3, 1e-4):
        yield LAWS["propiedad-suma"].saying(gap=show((base - moved).abs().max()))


def standard(attempt):
    """Que cada vector quede con media 0 y desviación típica 1, antes de ``weight`` y ``bias``."""
    plain = attempt.ask(*GIVEN[:2], torch.ones(4), torch.zeros(4), GIVEN[4])
    if plain is not None:
        mean, deviation = plain.mean(-1).abs().max(), plain.std(-1, correction=0).flatten()
        worst = deviation[(deviation - 1).abs().argmax()]
        if mean > 1e-3 or abs(worst - 1) > 1e-3:
            yield LAWS["propiedad-momentos"].saying(mean=mean, worst=worst)


class AddAndNormalise(Exercise):
    """Comprueba la suma y la normalización que envuelven cada subcapa.

    Args:
        function: recibe ``(x, sublayer_output, weight, bias, eps=1e-5)``, de formas ``(B, L, d)`` dos
            veces y ``(d,)`` dos veces. Devuelve LayerNorm(x + sublayer_output), de forma ``(B, L, d)``.
    """

    number, title, points = "9.2", "sumar y normalizar", 3
    letters = ("B L d", "B L d", "d", "d")
    axes = AXES
    stages = head.few_errors(CASES, tuple(axes), tuple(axes)[:6], frequent=20)
    extra = (
        Case("la γ con negativos", (X, SUBLAYER, -WEIGHT * torch.tensor([1, -2, 0, 3]), *OTHERS)),
        Case("la suma del enunciado, (3, 1)", small([2.0, 1.0], [1.0, 0.0], 1e-5)),
        Case("números de miles", vectors(7, 2, 3, 4, 1e-5, size=1000.0)),
        Case("números minúsculos y eps = 1e-12", vectors(9, 2, 3, 4, 1e-12, size=1e-5)),
    )
    tiny = tuple(Case("", small(x, s, 0.0)) for x, s in TINY)
    measured = {"eps": fixed_eps, "default": default_eps}
    must = (
        right_shape(lambda x, *_: x.shape, "La salida tiene que medir lo mismo que x, (B, L, d).", "09 §6"),
        finite("09 §6", "Tu salida tiene números que no son finitos: ¿divides por 0?"),
        only_the_sum,
        head.apart(LAWS["propiedad-token"], GIVEN, (0, 1, 0), torch.arange(6).view(2, 3) != 1),
        standard,
    )
    silent = (head.only_nan,)
    notes = (not_by_hand(("layer_norm", "native_layer_norm"), LAWS["nota-a-mano"].text),)
    groups = messages(__file__, "9.2 grupos")
    also = ("eps-fijo", "eps-por-defecto")

    def compute(self, choice, x, sublayer_output, weight, bias, eps=None):
        eps = choice["eps"](choice["default"] if eps is None else eps)
        affine = functools.partial(choice["affine"], weight=weight, bias=bias)
        dims, (subtract, central) = choice["dims"], choice["center"]
        keep_mean, keep_var = choice["keep"]
        normalized = x + sublayer_output

        def norm(z):
            nonlocal normalized
            mean = z.mean(dims, keepdim=True)
            var = mean_square(z - mean if central else z, dims, choice["correction"])
            centred = z - (mean if keep_mean else mean.squeeze(dims)) if subtract else z
            var = var if keep_var else var.squeeze(dims)
            normalized = centred / choice["root"](var, eps, centred, dims)
            return affine(normalized)

        output = choice["residual"](x, sublayer_output, norm, affine)
        return {"output": output, "normalized": normalized}
