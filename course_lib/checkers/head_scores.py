"""Comprueba dos medidas de una cabeza: cuánto mira al token anterior y si su efecto es grande.

La familia: {el anterior, el siguiente, él mismo…} × {la media, la suma…} × {por cabeza, juntas…}; y
{lo que ganan los dos nombres, uno solo…} × {la media…} × {entre la desviación de los efectos, la de
los pesos, el error típico…}.
"""

import functools

import torch

from course_lib.checkers.family import Case, Option, Stage, same, show
from course_lib.checkers.number_family import Numbers, itself, mistakes_in, rounded, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
siguiente · 11 §2 · Mides lo que se da al siguiente: las filas preguntan, y el anterior de i está en la columna i − 1.
él-mismo · 11 §2 · Mides la diagonal, lo que cada token se da a sí mismo: el anterior está un puesto a la izquierda.
dos-antes · 11 §2 · Mides el token de dos puestos antes, y es el anterior.
cuenta-la-primera-fila · 11 §2 · Cuentas la primera fila, y el primer token no tiene anterior: el índice −1 es el último.
todo-lo-anterior · 11 §2 · Sumas todo lo que va antes, y es solo el token justo anterior.
el-primero · 11 §2 · Mides lo que se da al primer token de la frase, y es al anterior de cada uno.
cuenta-victorias · 11 §2 · Cuentas en cuántas filas gana el anterior, y se pide el peso medio.
el-mayor-de-la-fila · 11 §2 · Tomas el peso más alto de cada fila, y es el del token anterior.
quita-filas · 11 §2 · Te dejas filas: solo sobra la primera, que no tiene anterior.
una-sola-fila · 11 §2 · Miras una sola fila, y es la media de todas menos la primera.
toda-la-tabla · 11 §2 · Haces la media de toda la tabla, y es la de las casillas del anterior.
ejes-de-diagonal · 11 §2 · diagonal() toma los ejes 0 y 1 si no le dices otros: los de los tokens son el 1 y el 2.
softmax-de-más · 11 §2 · Haces otra softmax: lo que recibes ya son pesos.
suma · 11 §2 · Sumas, y se pide la media.
divide-por-L · 11 §2 · Divides entre L, y los tokens que tienen anterior son L − 1.
divide-por-L² · 11 §2 · Divides entre todas las casillas de la tabla: son L − 1 las que cuentan.
divide-por-otro-número · 11 §2 · Divides entre otro número: los tokens que tienen anterior son L − 1.
máximo · 11 §2 · Te quedas con el mayor, y es la media.
mínimo · 11 §2 · Te quedas con el menor, y es la media.
mediana · 11 §2 · Haces la mediana, y es la media.
sin-media · 11 §2 · Falta la media: devuelves un número por token, y se pide uno por cabeza.
media-de-otro-eje · 11 §2 · Haces la media de las cabezas, y es la de los tokens: se pide un número por cabeza.
junta-las-cabezas · 11 §2 · Juntas las cabezas en un solo número, y se pide uno por cabeza.
una-sola-cabeza · 11 §2 · Devuelves una sola cabeza, y se piden todas.
qué-cabeza · 11 §2 · Devuelves qué cabeza gana, y se pide lo que mide cada una.
en-otro-orden · 11 §2 · Ordenas las cabezas: cada una va en su sitio.
umbral · 11 §2 · Devuelves si pasa de la mitad, y se pide el número.

solo-el-primero · 11 §3.1 · Usas solo el primer nombre, y el efecto cuenta los dos.
solo-el-segundo · 11 §3.1 · Usas solo el segundo nombre, y el efecto cuenta los dos.
suma-los-dos · 11 §3.1 · Sumas lo que ganan los dos nombres en la misma frase: a cada uno le toca ganar en una.
una-sola-frase · 11 §3.1 · Usas una sola de las dos frases: no se ve qué cambia con el adjetivo.
cuenta-ganadores · 11 §3.3 · Cuentas quién gana, y se pide cuánto se mueve el peso.
cociente · 11 §3.1 · Divides los pesos entre sí, y se restan.
frases-cambiadas · 11 §3.1 · El signo está al revés: es positivo si cada nombre gana en su frase.
sin-signo · 11 §3.1 · Quitas el signo de cada efecto, y los que van al revés también cuentan.
quita-el-signo · 11 §3.3 · Quitas el signo de la d, y dice hacia dónde va.
mediana-de-efectos · 11 §3.3 · Arriba va la media de los efectos, y has puesto la mediana.
suma-de-efectos · 11 §3.3 · Arriba va la media de los efectos, y has puesto la suma.
sin-desviación · 11 §3.3 · Falta dividir por la desviación: devuelves el efecto medio.
divide-por-n · 11 §3.3 · Tu desviación divide entre n, y es entre n − 1: las parejas son una muestra.
varianza · 11 §3.3 · Divides por la varianza: le falta la raíz.
error-típico · 11 §3.3 · Divides por la desviación partida por √n: eso es la t, que crece con el número de parejas.
nombres-por-separado · 11 §3.3 · Tu desviación cuenta cada nombre por su lado: cada pareja da un solo efecto.
sin-emparejar · 11 §3.3 · Tu desviación no empareja las frases: es la de los efectos, uno por pareja.
desviación-de-los-pesos · 11 §3.3 · Divides por la desviación de los pesos, y es la de los efectos.
desviación-sin-centrar · 11 §3.3 · Tu desviación no resta la media antes de elevar al cuadrado.
desviación-absoluta · 11 §3.3 · Divides por la distancia media a la media, y la desviación lleva cuadrados y una raíz.
al-revés · 11 §3.3 · Divides al revés: la media va arriba y la desviación, abajo.
uno-por-pareja · 11 §3.3 · Devuelves un número por pareja, y se pide uno solo: falta la media.
devuelve-de-más · 11 §3.3 · Devuelves varios números, y se pide uno solo: la d.

redondea · 01 §7 · Redondeas lo que devuelves: redondea solo al mostrarlo.
sobran-ejes · 11 §2 · A tu salida le sobra un eje.
"""
MISTAKES = mistakes_in(TEXTS)
step = functools.partial(steps, MISTAKES)


def several(way, *ids):
    """Una forma de dar un paso que comete varios errores a la vez."""
    return Option(way, tuple(MISTAKES[id] for id in ids))


ROUNDED = ("redondea", *(rounded(decimals) for decimals in range(1, 4)))

# --- 11.1 Cuánto mira al anterior -----------------------------------------------------------------


def diagonal(offset):
    return lambda weights: weights.diagonal(offset, -2, -1)


def with_first(column):
    """Las casillas del anterior y, en la primera fila, la de esa columna."""
    return lambda weights: torch.cat([weights[..., 0, column, None], diagonal(-1)(weights)], -1)


def wins(weights):
    previous = torch.arange(weights.shape[-1] - 1)
    return (weights.argmax(-1)[..., 1:] == previous).float()


def cut(*limits):
    return lambda weights: diagonal(-1)(weights)[..., slice(*limits)]


# De los pesos (h, L, L), los de cada token.
PICKS = step(
    diagonal(-1),
    ("siguiente", diagonal(1)),
    ("él-mismo", diagonal(0)),
    ("dos-antes", diagonal(-2), lambda w: torch.cat([w[..., 1, -1:], diagonal(-2)(w)], -1)),
    ("cuenta-la-primera-fila", with_first(-1), with_first(0)),
    ("todo-lo-anterior", lambda w: w.tril(-1).sum(-1)[..., 1:], lambda w: w.tril().sum(-1)[..., 1:]),
    ("todo-lo-anterior", lambda w: w.tril(-1).sum(-1), lambda w: w.tril().sum(-1)),
    ("el-primero", lambda w: w[..., 1:, 0], lambda w: w[..., 0]),
    ("cuenta-victorias", wins),
    ("el-mayor-de-la-fila", lambda w: w.amax(-1)[..., 1:], lambda w: w.amax(-1)),
    ("quita-filas", cut(1, None), cut(-1), cut(1, -1)),
    ("una-sola-fila", cut(1), cut(-1, None)),
    ("toda-la-tabla", lambda w: w.flatten(-2)),
    ("ejes-de-diagonal", lambda w: w.diagonal(-1)),
)  # fmt: skip
PICKS.append(several(lambda w: w.diagonal(1), "siguiente", "ejes-de-diagonal"))
# De los de cada token, uno por cabeza.
REDUCTIONS = step(
    lambda values, L: values.mean(-1),
    ("suma", lambda values, L: values.sum(-1)),
    ("divide-por-L", lambda values, L: values.sum(-1) / L),
    ("divide-por-L²", lambda values, L: values.sum(-1) / L**2),
    (
        "divide-por-otro-número",
        lambda values, L: values.sum(-1) / (L - 2) if L > 2 else values.sum(-1),
    ),
    ("divide-por-otro-número", lambda values, L: values.sum(-1) / (L + 1)),
    ("divide-por-otro-número", lambda values, L: values.sum(-1) / len(values)),
    ("máximo", lambda values, L: values.amax(-1)),
    ("mínimo", lambda values, L: values.amin(-1)),
    ("mediana", lambda values, L: values.median(-1).values),
    ("mediana", lambda values, L: values.quantile(0.5, -1)),
    ("sin-media", lambda values, L: values, lambda values, L: values.mT),
    ("media-de-otro-eje", lambda values, L: values.mean(0)),
)
HEADS = step(
    itself,
    ("junta-las-cabezas", torch.mean, torch.sum, torch.amax),
    ("una-sola-cabeza", lambda scores: scores[0], lambda scores: scores[-1]),
    ("qué-cabeza", lambda scores: scores.argmax().float()),
    ("en-otro-orden", lambda scores: scores.sort().values, lambda scores: scores.sort(descending=True).values),
    ("umbral", lambda scores: (scores > 0.5).float()),
)  # fmt: skip
SHAPES = step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[..., None]))


def weights_case(seed, h, L):
    generator = torch.Generator().manual_seed(seed)
    scores = 1.5 * torch.randn(h, L, L, generator=generator)
    scores[seed % h] += 3 * torch.eye(L).roll(-1, -1).tril(
        -1
    )  # una que mira casi siempre al anterior
    return Case(f"{h} cabeza{'s' * (h > 1)} y {L} tokens", (scores.softmax(-1),))


WEIGHTS = (
    weights_case(0, 4, 6),
    weights_case(1, 3, 5),
    weights_case(2, 5, 5),
    weights_case(3, 2, 9),
    weights_case(4, 1, 4),
    weights_case(5, 6, 2),
    weights_case(6, 4, 3),
)
half = [[0.5, 0.5], [0.5, 0.5]]


class PreviousToken(Numbers):
    """Pesos (h, L, L) → de cada cabeza, lo que los tokens dan de media al anterior, (h,)."""

    number, title, points = "11.1", "cuánto mira al anterior", 2
    names, where = ("weights",), "11 §2"
    expected = "un tensor con un número por cabeza, (h,)"
    axes = {
        "again": step(itself, ("softmax-de-más", lambda weights: weights.softmax(-1))),
        "pick": PICKS,
        "reduction": REDUCTIONS,
        "heads": HEADS,
        "finish": step(itself, ROUNDED),
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), WEIGHTS),)
    tiny = (
        Case("", (torch.tensor([[[0.9, 0.1], [0.3, 0.7]]]),)),
        Case("", (torch.tensor([[[0.7, 0.2, 0.1], [0.6, 0.1, 0.3], [0.1, 0.4, 0.5]]]),)),
        Case("", (torch.tensor([[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]]),)),
    )

    def compute(self, choice, weights):
        values = choice["pick"](choice["again"](weights))
        scores = choice["heads"](choice["reduction"](values, weights.shape[-1]))
        return {"output": choice["shape"](choice["finish"](scores))}

    def shape_of(self, weights):
        return weights.shape[:1]

    def laws(self, learner, seen):
        L = 4
        even = self.ask(learner, torch.full((2, L, L), 1 / L))
        if even is not None and not same(even, torch.full((2,), 1 / L)):
            text = "Si una cabeza reparte por igual, da 1/L al anterior."
            yield Finding(
                "propiedad-igual", text, f"Con L = {L} es 0.25 y la tuya, {show(even)}.", self.where
            )
        shifted = torch.zeros(1, L, L)
        shifted[0, range(1, L), range(L - 1)] = shifted[0, 0, 0] = 1.0
        all_of_it = self.ask(learner, shifted)
        if all_of_it is not None and not same(all_of_it, torch.ones(1)):
            text = "Si todos dan todo su peso al anterior, sale 1."
            yield Finding("propiedad-todo", text, f"A ti te sale {show(all_of_it)}.", self.where)


# --- 11.3 El tamaño del efecto --------------------------------------------------------------------
# De los pesos con un adjetivo y con el otro, (n, 2) los dos, un efecto por pareja.


def gain(first, second):
    """Lo que gana cada nombre en la frase en que le toca ganar."""
    return first[:, 0] - second[:, 0], second[:, 1] - first[:, 1]


def effect(first, second):
    one, other = gain(first, second)
    return (one + other) / 2


def flips(first, second):
    return ((first[:, 0] > first[:, 1]) & (second[:, 1] > second[:, 0])).float()


EFFECTS = [
    *step(
        effect,
        ("solo-el-primero", lambda a, b: gain(a, b)[0]),
        ("solo-el-segundo", lambda a, b: gain(a, b)[1]),
        ("suma-los-dos", lambda a, b: (gain(a, b)[0] - gain(a, b)[1]) / 2, lambda a, b: gain(a, b)[0] - gain(a, b)[1]),
        ("una-sola-frase", lambda a, b: a[:, 0] - a[:, 1], lambda a, b: b[:, 0] - b[:, 1]),
        ("una-sola-frase", lambda a, b: b[:, 1] - b[:, 0]),
        ("cuenta-ganadores", flips, lambda a, b: (effect(a, b) > 0).float()),
        ("cuenta-ganadores", lambda a, b: effect(a, b).sign()),
        ("cociente", lambda a, b: a[:, 0] / b[:, 0], lambda a, b: a[:, 0] / a[:, 1] - b[:, 0] / b[:, 1]),
        ("frases-cambiadas", lambda a, b: -effect(a, b), lambda a, b: -2 * effect(a, b)),
        ("sin-signo", lambda a, b: effect(a, b).abs(), lambda a, b: 2 * effect(a, b).abs()),
        ("sin-signo", lambda a, b: gain(a, b)[0].abs() + gain(a, b)[1].abs()),
    ),
    Option(lambda a, b: 2 * effect(a, b)),  # sin el 1/2 sale la misma d
]  # fmt: skip
CENTERS = step(
    torch.mean,
    ("mediana-de-efectos", torch.median, lambda x: x.quantile(0.5)),
    ("suma-de-efectos", torch.sum),
)


def pooled(first, second, x):
    """La desviación de dos grupos sueltos: la de la d de Cohen de dos muestras."""
    return ((first.var() + second.var()) / 2).sqrt()


def gaps(first, second):
    return first[:, 0] - first[:, 1], second[:, 0] - second[:, 1]


# Por qué se divide: de los pesos y los efectos.
SPREADS = step(
    lambda a, b, x: x.std(),
    ("sin-desviación", lambda a, b, x: 1.0),
    ("divide-por-n", lambda a, b, x: x.std(correction=0)),
    ("varianza", lambda a, b, x: x.var(), lambda a, b, x: x.var(correction=0)),
    ("error-típico", lambda a, b, x: x.std() / len(x) ** 0.5, lambda a, b, x: x.std() / (len(x) - 1) ** 0.5),
    ("nombres-por-separado", lambda a, b, x: torch.cat(gain(a, b)).std(), lambda a, b, x: (a - b).std()),
    ("sin-emparejar", lambda a, b, x: gaps(a, b)[0].std(), lambda a, b, x: gaps(a, b)[1].std()),
    ("sin-emparejar", lambda a, b, x: pooled(*gaps(a, b), x) * 2**0.5),
    ("sin-emparejar", lambda a, b, x: pooled(*gaps(a, b), x), lambda a, b, x: pooled(*gaps(a, b), x) / 2),
    ("sin-emparejar", lambda a, b, x: pooled(a[:, 0], b[:, 0], x), lambda a, b, x: pooled(a[:, 1], b[:, 1], x)),
    ("sin-emparejar", lambda a, b, x: torch.cat(gaps(a, b)).std(), lambda a, b, x: pooled(a, b, x)),
    ("desviación-de-los-pesos", lambda a, b, x: a.std(), lambda a, b, x: torch.stack([a, b]).std()),
    ("desviación-de-los-pesos", lambda a, b, x: b.std(), lambda a, b, x: a[:, 0].std()),
    ("desviación-sin-centrar", lambda a, b, x: x.square().mean().sqrt(), lambda a, b, x: x.norm()),
    ("desviación-absoluta", lambda a, b, x: (x - x.mean()).abs().mean()),
)  # fmt: skip
SPREADS += [
    several(lambda a, b, x: x.std(correction=0) / len(x) ** 0.5, "divide-por-n", "error-típico"),
    several(
        lambda a, b, x: pooled(*gaps(a, b), x) * ((len(x) - 1) / len(x)) ** 0.5,
        "divide-por-n",
        "sin-emparejar",
    ),
]


def ratio(mean, spread, x):
    return mean / spread


QUOTIENTS = step(
    ratio,
    ("al-revés", lambda mean, spread, x: spread / mean),
    ("uno-por-pareja", lambda mean, spread, x: x / spread, lambda mean, spread, x: (x - mean) / spread),
    ("devuelve-de-más", lambda mean, spread, x: torch.stack([mean, mean / spread])),
    ("devuelve-de-más", lambda mean, spread, x: torch.stack([mean / spread, mean])),
    ("devuelve-de-más", lambda mean, spread, x: torch.stack([mean, spread])),
    ("devuelve-de-más", lambda mean, spread, x: torch.stack([mean, spread, mean / spread])),
)  # fmt: skip
ENDINGS = step(
    itself, ("quita-el-signo", torch.abs), ROUNDED, ("redondea", torch.round, torch.trunc)
)


def pairs_case(seed, n, move):
    """Los pesos de n parejas: lo que se mueve de un nombre al otro al cambiar el adjetivo."""
    generator = torch.Generator().manual_seed(seed)
    first = 0.15 + 0.5 * torch.rand(n, 2, generator=generator)
    moved = move + 0.15 * torch.randn(n, 2, generator=generator)
    second = (first - moved * torch.tensor([1.0, -1.0])).abs() + 0.01
    way = "hacia donde debe" if move > 0 else "al revés"
    return Case(f"{n} parejas y un efecto que va {way}", (first, second))


PAIRS = (
    pairs_case(0, 6, 0.12),
    pairs_case(1, 5, -0.1),
    pairs_case(2, 9, 0.05),
    pairs_case(3, 3, 0.2),
    pairs_case(4, 12, 0.1),
    pairs_case(5, 4, -0.2),
)


class EffectSize(Numbers):
    """Pesos de los dos nombres en las dos frases de cada pareja → la d de Cohen del efecto."""

    number, title, points = "11.3", "el tamaño del efecto", 3
    names, where = ("with_first", "with_second"), "11 §3.3"
    axes = {
        "effect": EFFECTS,
        "center": CENTERS,
        "spread": SPREADS,
        "quotient": QUOTIENTS,
        "finish": ENDINGS,
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), PAIRS),)
    tiny = (
        Case("", (torch.tensor([[0.6, 0.2], [0.5, 0.3]]), torch.tensor([[0.2, 0.6], [0.3, 0.3]]))),
        Case("", (torch.tensor([[0.6, 0.2], [0.5, 0.1]]), torch.tensor([[0.4, 0.5], [0.7, 0.3]]))),
    )

    def members(self, most):
        """Con el 1/2 y sin él: los dos son buenos, salvo que no se divida por la desviación."""
        for choice in super().members(most):
            yield choice
            if "effect" not in choice:
                yield choice | {"effect": EFFECTS[-1]}

    def compute(self, choice, first, second):
        x = choice["effect"](first, second)
        mean, spread = choice["center"](x), choice["spread"](first, second, x)
        output = choice["quotient"](mean, spread, x)
        return {"output": choice["shape"](choice["finish"](output))}

    def laws(self, learner, seen):
        first, second = PAIRS[0].arguments
        d, turned, swapped = (
            self.ask(learner, *x)
            for x in ((first, second), (second, first), (first.flip(1), second.flip(1)))
        )
        double = self.ask(learner, torch.cat([first, first]), torch.cat([second, second]))
        if None in (d, turned, swapped):
            return
        for name, other, what in (
            ("propiedad-frases", turned, "las dos frases"),
            ("propiedad-nombres", swapped, "los dos nombres"),
        ):
            if not same(-d, other):
                text = f"Al cambiar entre sí {what}, la d cambia de signo y de nada más."
                story = f"Con {PAIRS[0].name}, la tuya pasa de {show(d)} a {show(other)}."
                yield Finding(name, text, story, "11 §3.1")
        if double is not None and not 0.9 < float(double / d) < 1.2:
            text = "La d casi no cambia al repetir las parejas: no depende de cuántas hay."
            story = f"Con {PAIRS[0].name} es {show(d)}; con ellas dos veces, {show(double)}."
            yield Finding("propiedad-cuántas", text, story, self.where)


PREVIOUS, EFFECT = PreviousToken(), EffectSize()
EXERCISES = (PREVIOUS, EFFECT)


def check_previous_token_score(function):
    """Comprueba una función que mide cuánto mira cada cabeza al token anterior.

    Args:
        function: recibe los pesos de una frase, ``(h, L, L)``, y devuelve ``(h,)``: de cada cabeza, la
            media de lo que cada token da al anterior. El primero no tiene, y no cuenta.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(PREVIOUS.check(function))


def check_effect_size(function):
    """Comprueba una función que da la d de Cohen del efecto de un adjetivo.

    Args:
        function: recibe ``(with_first, with_second)``, ``(n, 2)`` los dos: lo que da la cabeza a los
            dos nombres de cada pareja, con el adjetivo del primero y con el del segundo. Devuelve un
            número: la media de los n efectos partida por su desviación.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(EFFECT.check(function))
