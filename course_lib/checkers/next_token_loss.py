"""Comprueba la pérdida con la que aprende un decoder: la entropía cruzada media por token.

La familia: {softmax sobre el vocabulario, sobre otro eje…} × {logaritmo o no} × {el token bueno, el
siguiente…} × {sin relleno, con él…} × {la media, la suma…} × {signo, base del logaritmo…}.
"""

import functools
import math

import torch
from torch.nn import functional as F

from course_lib.checkers.family import Case, Stage, clone, mistakes, same, show
from course_lib.checkers.number_family import Numbers, itself, mistakes_in, rounded, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
softmax-otro-eje · 10 §4 · La softmax va sobre el vocabulario, el último eje: las probabilidades de una posición suman 1.
sin-softmax · 10 §4 · Usas los logits tal cual: primero la softmax, y después el logaritmo.
softmax-dos-veces · 10 §4 · Haces la softmax dos veces: cross_entropy y log_softmax ya la hacen, y reciben logits.
sigmoide · 10 §4 · Haces una sigmoide de cada número de los logits: las opciones compiten, y es una softmax.
sin-logaritmo · 10 §4 · Falta el logaritmo: usas la probabilidad del token, y es su logaritmo.
uno-menos-la-probabilidad · 10 §4 · Restas la probabilidad de 1, y la pérdida es menos su logaritmo.
desplaza-otra-vez · 10 §3 · Comparas cada posición con el token siguiente, y la i predice targets[i]: ya va desplazado.
desplaza-al-revés · 10 §3 · Comparas cada posición con el token anterior: la posición i predice targets[i].
sin-el-primero · 10 §3 · Te saltas la primera posición, que también predice: el primer token.
sin-el-último · 10 §3 · Te saltas la última posición, que también predice.
no-cuenta-el-fin · 10 §3 · Te saltas el último token de verdad de cada frase: acertar dónde se acaba también se aprende.
el-más-probable · 10 §4 · Usas la probabilidad más alta, y es la del token bueno, el de «targets».
todo-el-vocabulario · 10 §4 · Usas todo el vocabulario, y solo cuenta el token bueno, el de «targets».
entropía-del-modelo · 10 §4 · Mides lo repartidas que están las probabilidades, sin mirar cuál es el token bueno.
etiquetas-suavizadas · 10 §4.2 · Suavizas las etiquetas: aquí todo el objetivo es para el token bueno.
todos-con-todos · 10 §4 · Cada posición va con los tokens de todas las demás, y es solo con el suyo: usa gather().
cuenta-el-relleno · 10 §4.1 · Cuentas el relleno: en él no hay nada que predecir.
divide-por-todos · 10 §4.1 · Quitas el relleno de la suma, pero divides entre todas las posiciones.
suma-el-relleno · 10 §4.1 · Divides entre los tokens de verdad, pero el relleno sigue en la suma.
solo-el-relleno · 10 §4.1 · Tu máscara está al revés: te quedas con el relleno.
relleno-otro-id · 10 §4.1 · El relleno es el id que recibes en «pad», y puede ser cualquiera: los demás son tokens.
logits-a-cero · 10 §4.1 · Pones a 0 los logits del relleno, y siguen contando: así cada uno añade ln(V).
cuenta-un-relleno · 10 §4.1 · Cuentas también el primer relleno de cada frase.
media-de-medias · 10 §4.1 · Haces la media de cada frase y después la de todas: los tokens de las cortas pesan más.
media-por-posición · 10 §4.1 · Haces la media de cada posición y después la de todas: es una sola, de todos los tokens.
suma · 10 §4.1 · Sumas y falta dividir entre los tokens de verdad.
divide-por-frases · 10 §4.1 · Divides entre las frases, y es entre los tokens de verdad.
divide-por-posiciones · 10 §4.1 · Divides entre la longitud, y es entre los tokens de verdad de todo el lote.
divide-por-vocabulario · 10 §4.1 · Divides también por el tamaño del vocabulario: ¿una media sobre un eje de más?
divide-por-la-última · 10 §4.1 · Divides entre los tokens de la última frase: ¿vuelve el contador a 0 en cada vuelta?
sin-juntar · 10 §4.1 · Devuelves varios números, y se pide uno: la media de todos los tokens de verdad.
solo-una-frase · 10 §4.1 · Devuelves la pérdida de una sola frase: ¿hay un «return» dentro del bucle?
la-mayor · 10 §4.1 · Devuelves la mayor, y es la media.
mediana · 10 §4.1 · Devuelves la mediana, y es la media.
sin-el-menos · 10 §4 · Falta el signo menos: un logaritmo de una probabilidad es negativo, y la pérdida, positiva.
perplejidad · 10 §4 · Devuelves la perplejidad, la exponencial de la pérdida.
logaritmo-en-base-2 · 10 §4 · Tu logaritmo es en base 2, y se pide el natural, en nats.
logaritmo-en-base-10 · 10 §4 · Tu logaritmo es en base 10, y se pide el natural, en nats.
redondea · 01 §7 · Redondeas lo que devuelves: redondea solo al mostrarlo.
sobran-ejes · 10 §4 · Devuelves una lista o un tensor con ejes, y se pide un número solo.
cuenta-aciertos · 10 §4 · Cuentas aciertos o fallos: eso no dice cuánta probabilidad se llevó el token bueno.
logaritmo-de-la-media · 10 §4 · Haces el logaritmo de la media de las probabilidades, y es la media de los logaritmos.
error-cuadrático · 10 §4 · Mides la distancia al 1 del token bueno, al cuadrado, y la pérdida es menos un logaritmo.
binaria · 10 §4 · Cuentas también los demás tokens, con 1 − p: solo cuenta el bueno.
ejes-de-cross_entropy · 10 §4 · cross_entropy espera el vocabulario en el eje 1, y está en el 2: usa flatten(0, 1).
"""
step = functools.partial(steps, mistakes_in(TEXTS))

# --- Los pasos ------------------------------------------------------------------------------------

SOFTMAXES = step(
    lambda logits: logits.log_softmax(-1),
    ("softmax-otro-eje", lambda logits: logits.log_softmax(1)),
    ("softmax-otro-eje", lambda logits: logits.log_softmax(0)),
    ("softmax-otro-eje", lambda logits: logits.flatten().log_softmax(0).reshape(logits.shape)),
    ("softmax-otro-eje", lambda logits: logits.flatten(0, 1).log_softmax(0).reshape(logits.shape)),
    ("sin-softmax", itself),
    ("softmax-dos-veces", lambda logits: logits.softmax(-1).log_softmax(-1)),
    ("sigmoide", F.logsigmoid),
)
LOGARITHMS = step(
    itself,
    ("sin-logaritmo", torch.exp),
    ("uno-menos-la-probabilidad", lambda scores: scores.exp() - 1),
)


def of(scores, ids):
    """Lo que saca cada posición en un token."""
    return scores.gather(-1, ids[..., None])[..., 0]


def moved(by):
    """Cada posición con el token de ``by`` puestos más allá; el relleno, el de una o el de la otra."""
    here, there = (slice(None, -by), slice(by, None)) if by > 0 else (slice(-by, None), slice(by))
    yield lambda scores, ids: (of(scores[:, here], ids[:, there]), ids[:, there])
    yield lambda scores, ids: (of(scores[:, here], ids[:, there]), ids[:, here])
    yield lambda scores, ids: (of(scores, ids.roll(-by, 1)), ids.roll(-by, 1))
    yield lambda scores, ids: (of(scores, ids.roll(-by, 1)), ids)


def smoothed(epsilon):
    return lambda scores, ids: ((1 - epsilon) * of(scores, ids) + epsilon * scores.mean(-1), ids)


def every_context(scores, ids):
    """Como ``scores[..., ids]``: la media, para cada token, de lo que saca en todas las posiciones."""
    return scores[..., ids].mean((0, 1)), ids


# De las puntuaciones y los ids, un número por posición y los ids que dicen cuáles son relleno.
PICKS = step(
    lambda scores, ids: (of(scores, ids), ids),
    ("desplaza-otra-vez", *moved(1)),
    ("desplaza-al-revés", *moved(-1)),
    ("sin-el-primero", lambda scores, ids: (of(scores, ids)[:, 1:], ids[:, 1:])),
    ("sin-el-último", lambda scores, ids: (of(scores, ids)[:, :-1], ids[:, :-1])),
    ("el-más-probable", lambda scores, ids: (scores.amax(-1), ids)),
    ("todo-el-vocabulario", lambda scores, ids: (scores.sum(-1), ids)),
    ("todo-el-vocabulario", lambda scores, ids: (scores.mean(-1), ids)),
    ("entropía-del-modelo", lambda scores, ids: ((scores.exp() * scores).sum(-1), ids)),
    ("etiquetas-suavizadas", *map(smoothed, (0.05, 0.1, 0.2))),
    ("todos-con-todos", every_context),
    ("divide-por-vocabulario", lambda scores, ids: (of(scores, ids) / scores.shape[-1], ids)),
)


def kept(real):
    """La suma y la cuenta, las dos solo con los que dice ``real``."""
    return lambda values, ids, pad, V: (values * real(ids, pad), real(ids, pad).float())


def earlier(real, last):
    """``real``, un puesto antes; en la última columna, ``last``."""
    return torch.cat([real[:, 1:], last], 1)


def all_but_the_end(ids, pad):
    real = ids != pad
    return earlier(real, torch.zeros_like(real[:, :1]))


# De cada posición, lo que suma y cuánto cuenta al dividir.
PADDINGS = step(
    kept(lambda ids, pad: ids != pad),
    ("cuenta-el-relleno", lambda values, ids, pad, V: (values, torch.ones(values.shape))),
    (
        "divide-por-todos",
        lambda values, ids, pad, V: (values * (ids != pad), torch.ones(values.shape)),
    ),
    ("suma-el-relleno", lambda values, ids, pad, V: (values, (ids != pad).float())),
    ("solo-el-relleno", kept(lambda ids, pad: ids == pad)),
    ("relleno-otro-id", kept(lambda ids, pad: ids != 0), kept(lambda ids, pad: ids > pad)),
    ("relleno-otro-id", kept(lambda ids, pad: ids < pad)),
    (
        "logits-a-cero",
        lambda values, ids, pad, V: (
            values.where(ids != pad, torch.tensor(math.log(V))),
            torch.ones(values.shape),
        ),
    ),
    ("no-cuenta-el-fin", kept(all_but_the_end)),
    ("no-cuenta-el-fin", kept(lambda ids, pad: earlier(ids != pad, (ids != pad)[:, -1:]))),
    (
        "cuenta-un-relleno",
        kept(lambda ids, pad: torch.cat([ids[:, :1] == ids[:, :1], (ids != pad)[:, :-1]], 1)),
    ),
)


def only(row):
    return lambda total, count: total[row].sum() / count[row].sum()


REDUCTIONS = step(
    lambda total, count: total.sum() / count.sum(),
    ("media-de-medias", lambda total, count: (total.sum(1) / count.sum(1)).mean()),
    ("media-por-posición", lambda total, count: (total.sum(0) / count.sum(0)).mean()),
    ("suma", lambda total, count: total.sum()),
    ("divide-por-frases", lambda total, count: total.sum() / len(total)),
    ("divide-por-posiciones", lambda total, count: total.sum() / total.shape[1]),
    ("divide-por-la-última", lambda total, count: total.sum() / count[-1].sum()),
    ("sin-juntar", lambda total, count: total, lambda total, count: total[count > 0]),
    ("sin-juntar", lambda total, count: total.flatten()),
    ("sin-juntar", lambda total, count: total.sum(1), lambda total, count: total.sum(0)),
    ("sin-juntar", lambda total, count: total.sum(1) / count.sum(1)),
    ("sin-juntar", lambda total, count: total.sum(0) / count.sum(0)),
    ("solo-una-frase", only(0), only(-1)),
    ("la-mayor", lambda total, count: total[count > 0].max()),
    ("mediana", lambda total, count: total[count > 0].median()),
    ("mediana", lambda total, count: total[count > 0].quantile(0.5)),
)
# Errores que, con alguno de estos, dan lo mismo que otro.
SAME = {
    "suma-el-relleno": {"suma", "divide-por-frases", "divide-por-posiciones", "sin-juntar"},
    "divide-por-la-última": {"cuenta-el-relleno", "divide-por-todos", "logits-a-cero"},
}
BASES = (("logaritmo-en-base-2", math.log(2)), ("logaritmo-en-base-10", math.log(10)))
ENDINGS = step(
    itself,
    ("sin-el-menos", torch.neg),
    ("perplejidad", torch.exp),
    *((name, lambda x, unit=unit: x / unit) for name, unit in BASES),
    ("redondea", *map(rounded, range(4))),
)
SHAPES = step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[None, None]))


# --- Otras cuentas --------------------------------------------------------------------------------


def hits(logits, targets, pad):
    return (logits.argmax(-1) == targets).float()


def miss(logits, targets, pad):
    return 1 - hits(logits, targets, pad)


def squares(logits, targets, pad):
    return (logits.softmax(-1) - F.one_hot(targets, logits.shape[-1])).square().sum(-1)


def target_square(logits, targets, pad):
    return (1 - of(logits.softmax(-1), targets)).square()


def binary(logits, targets, pad):
    goal = F.one_hot(targets, logits.shape[-1]).float()
    return F.binary_cross_entropy(logits.softmax(-1), goal, reduction="none").sum(-1)


def of_logits(logits, targets, pad):
    goal = F.one_hot(targets, logits.shape[-1]).float()
    return F.binary_cross_entropy_with_logits(logits, goal, reduction="none").sum(-1)


def log_of_the_mean(real):
    """Menos el logaritmo de la probabilidad media, en los tokens de verdad o en todos."""

    def compute(logits, targets, pad):
        chosen = of(logits.softmax(-1), targets)
        return -(chosen[targets != pad] if real else chosen).mean().log()

    return compute


def on_average(measure):
    """La media de lo que se mide, en los tokens de verdad o en todos, y por vocabulario; o la suma."""

    def real(logits, targets, pad):
        return measure(logits, targets, pad)[targets != pad].mean()

    yield real
    yield lambda logits, targets, pad: measure(logits, targets, pad).mean()
    yield lambda logits, targets, pad: real(logits, targets, pad) / logits.shape[-1]
    yield lambda logits, targets, pad: measure(logits, targets, pad).mean() / logits.shape[-1]
    yield lambda logits, targets, pad: measure(logits, targets, pad)[targets != pad].sum()
    yield lambda logits, targets, pad: measure(logits, targets, pad).sum() / (targets != pad).sum()


def untransposed(**options):
    """cross_entropy con los ejes como vienen: casi siempre se para."""
    return lambda logits, targets, pad: F.cross_entropy(logits, targets, **options)


def viewed(logits, targets, pad, **options):
    return F.cross_entropy(logits.reshape(len(logits), -1, logits.shape[1]), targets, **options)


OTHERS = step(
    None,
    ("cuenta-aciertos", *on_average(hits), *on_average(miss)),
    ("logaritmo-de-la-media", log_of_the_mean(True), log_of_the_mean(False)),
    ("error-cuadrático", *on_average(squares), *on_average(target_square)),
    ("binaria", *on_average(binary), *on_average(of_logits)),
    ("ejes-de-cross_entropy", untransposed()),
    ("ejes-de-cross_entropy", viewed),
    ("ejes-de-cross_entropy", lambda logits, targets, pad: untransposed(ignore_index=pad)(logits, targets, pad)),
    ("ejes-de-cross_entropy", lambda logits, targets, pad: viewed(logits, targets, pad, ignore_index=pad)),
)  # fmt: skip


# --- Las pruebas ----------------------------------------------------------------------------------


def batch(seed, lengths, V, pad, m_D=None):
    """Unos logits sembrados y sus ``targets``: frases de esas longitudes, rellenas hasta ``m_D``."""
    generator = torch.Generator().manual_seed(seed)
    m_D = m_D or max(lengths)
    logits = 1.5 * torch.randn(len(lengths), m_D, V, generator=generator)
    tokens = torch.tensor([token for token in range(V) if token != pad])
    targets = tokens[torch.randint(V - 1, (len(lengths), m_D), generator=generator)]
    targets[torch.arange(m_D) >= torch.tensor(lengths)[:, None]] = pad
    return logits, targets, pad


CASES = (
    Case("2 frases de 5 y 3 tokens, y un vocabulario de 7", batch(0, (5, 3), 7, 0)),
    Case("3 frases de 4, 2 y 3 tokens, y pad = 2", batch(1, (4, 2, 3), 6, 2)),
    Case("una frase de 4 tokens, sin relleno", batch(2, (4,), 5, 0)),
    Case("3 frases, 3 posiciones y un vocabulario de 3", batch(3, (3, 1, 2), 3, 0)),
    Case("5 posiciones y un vocabulario de 5, y pad = 4", batch(4, (5, 2), 5, 4)),
    Case("4 frases y pad = 8, el último id", batch(5, (2, 6, 4, 1), 9, 8)),
    Case("2 frases de un solo token", batch(6, (1, 1), 4, 3)),
    Case("3 frases con relleno de sobra", batch(7, (2, 3, 4), 8, 1, m_D=6)),
)
HUGE = Case("logits enormes", (torch.tensor([[[0.0, 400.0]]]), torch.tensor([[0]]), 1))


def tiny(logits, targets, pad):
    return Case("", (torch.tensor(logits), torch.tensor(targets), pad))


@functools.lru_cache(maxsize=8192)  # las mismas pruebas, para todo el mundo
def picked(softmax, logarithm, pick, logits, targets):
    return pick(log_probabilities(softmax, logarithm, logits), targets)


@functools.lru_cache(maxsize=1024)
def log_probabilities(softmax, logarithm, logits):
    return logarithm(softmax(logits))


class NextTokenLoss(Numbers):
    """La media de menos el logaritmo de lo que se da al token bueno, sin contar el relleno."""

    number, title, points = "10.1", "la pérdida", 3
    names, where = ("logits", "targets", "pad"), "10 §4"
    axes = {
        "other": OTHERS,
        "softmax": SOFTMAXES,
        "logarithm": LOGARITHMS,
        "pick": PICKS,
        "padding": PADDINGS,
        "reduction": REDUCTIONS,
        "finish": ENDINGS,
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), CASES),)
    tiny = (
        tiny([[[0.0, 0.0]]], [[1]], 0),
        tiny([[[0.0, 1.0]]], [[1]], 0),
        tiny([[[0.0, 1.0], [2.0, 0.0]]], [[1, 1]], 0),
        tiny([[[0.0, 1.0], [2.0, 0.0]]], [[1, 0]], 0),
        tiny([[[0.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [2.0, 1.0]]], [[1, 1], [1, 0]], 0),
    )

    def members(self, most):
        """Las combinaciones, sin las que dan lo mismo que otra más sencilla."""
        for choice in super().members(most):
            ids = {mistake.id for mistake in mistakes(choice)}
            if not any(one in ids and ids & others for one, others in SAME.items()):
                yield choice

    def compute(self, choice, logits, targets, pad):
        if choice["other"]:
            value = choice["other"](logits, targets, pad)
            return {"output": choice["shape"](choice["finish"](value))}
        steps = (choice[axis] for axis in ("softmax", "logarithm", "pick"))
        values, ids = picked(*steps, logits, targets)
        total, count = choice["padding"](-values, ids, pad, logits.shape[-1])
        return {"output": choice["shape"](choice["finish"](choice["reduction"](total, count)))}

    def ask(self, learner, *arguments):
        outcome = self.call(learner, *arguments)
        value, problem = self.read(outcome.value, None) if not outcome.problem else (None, True)
        return None if problem or value.dim() else value

    def laws(self, learner, seen):
        logits, targets, pad = CASES[0].arguments
        plain = self.ask(learner, logits.clone(), targets.clone(), pad)
        if plain is None:
            return
        noisy = logits.clone()
        noisy[targets == pad] += torch.linspace(-2, 2, logits.shape[-1])
        checks = (
            ("propiedad-relleno", noisy, "La pérdida no puede depender de los logits del relleno."),
            ("propiedad-constante", logits + 3.0, "Sumar lo mismo a todos los logits no cambia sus probabilidades."),
        )  # fmt: skip
        for name, changed, text in checks:
            value = self.ask(learner, changed, targets.clone(), pad)
            if value is not None and not same(value, plain):
                story = f"Con {CASES[0].name}, al cambiarlos la tuya pasa de {show(plain)} a {show(value)}."
                yield Finding(name, text, story, self.where)
        V = logits.shape[-1]
        value = self.ask(learner, torch.zeros_like(logits), targets.clone(), pad)
        if value is not None and not same(value, torch.tensor(math.log(V))):
            text = "Con todos los logits iguales, la pérdida es ln(V): cada token tiene 1 / V."
            story = f"Con V = {V} es {show(math.log(V))} y la tuya, {show(value)}."
            yield Finding("propiedad-uniforme", text, story, self.where)

    def notes(self, learner, seen):
        value = self.ask(learner, *clone(HUGE.arguments))
        if value is None or not value.isfinite():
            yield (
                "con logits muy grandes, la probabilidad del token bueno se queda en 0 y su logaritmo es "
                "−∞. log_softmax hace las dos cuentas juntas y no le pasa."
            )


LOSS = NextTokenLoss()
EXERCISES = (LOSS,)


def check_next_token_loss(function):
    """Comprueba la pérdida de un modelo que predice el token siguiente.

    Args:
        function: recibe ``(logits, targets, pad)``: las puntuaciones, ``(B, m_D, V)``; los ids que había
            que predecir, ``(B, m_D)``; y el id del relleno. Devuelve un número: la media, en los
            tokens de verdad de todo el lote, de menos el logaritmo natural de la probabilidad del
            token bueno.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(LOSS.check(function))
