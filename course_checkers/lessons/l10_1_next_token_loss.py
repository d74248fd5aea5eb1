"""10.1 · La pérdida con la que aprende un decoder: la entropía cruzada media por token.

{softmax sobre el vocabulario, sobre otro eje…} × {logaritmo o no} × {el token bueno, el siguiente…} ×
{sin relleno, con él…} × {la media, la suma…} × {signo, base del logaritmo…}.
"""

import functools
from math import log

import torch
from torch.nn import functional as F

from course_checkers.engine import Case, Stage, differs, gives, laws, related, same, show
from course_checkers.engine.mistakes import mistakes, stepping, told
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

step = stepping(told(__file__, "10.1"))
LAWS = laws(__file__, "10.1 propiedades")
NOTES = told(__file__, "10.1 notas")


def of(scores, ids):
    """Lo que saca cada posición en un token."""
    return scores.gather(-1, ids[..., None])[..., 0]


def moved(by):
    """Cada posición con el token de ``by`` puestos más allá; el relleno, el de una o el de la otra."""
    here, there = (slice(None, -by), slice(by, None)) if by > 0 else (slice(-by, None), slice(by))
    for padding in (there, here):
        yield lambda s, ids, padding=padding: (of(s[:, here], ids[:, there]), ids[:, padding])
    yield lambda s, ids: (of(s, ids.roll(-by, 1)), ids.roll(-by, 1))
    yield lambda s, ids: (of(s, ids.roll(-by, 1)), ids)


def same_ids(*functions):
    """Lo que saca cada posición, y los mismos ids."""
    for function in functions:
        yield lambda s, ids, function=function: (function(s, ids), ids)


def smoothed(epsilon):
    return lambda s, ids: (1 - epsilon) * of(s, ids) + epsilon * s.mean(-1)


def kept(*tests):
    """La suma y la cuenta, las dos solo con los que dice cada ``real``."""
    for real in tests:
        yield lambda x, ids, pad, V, real=real: (x * real(ids, pad), real(ids, pad).float())


def all_but_the_end(last):
    """Los que no van justo antes del relleno; el de la última columna, según ``last``."""
    return lambda ids, pad: (ids != pad) & F.pad(ids[:, 1:] != pad, (0, 1), value=last)


# Errores que, con alguno de estos, dan lo mismo que otro.
SAME = {
    "suma-el-relleno": {"suma", "divide-por-frases", "divide-por-posiciones", "sin-juntar"},
    "divide-por-la-última": {"cuenta-el-relleno", "divide-por-todos", "logits-a-cero"},
}

# --- Otras cuentas --------------------------------------------------------------------------------


def goal(p, ids):
    return F.one_hot(ids, p.shape[-1]).float()


def binary(p, ids):
    return F.binary_cross_entropy(p, goal(p, ids), reduction="none").sum(-1)


def on_average(*measures):
    """La media de lo que se mide, en los tokens de verdad o en todos, y por vocabulario; o la suma."""
    for m in measures:
        yield lambda x, ids, pad, m=m: m(x, ids)[ids != pad].mean()
        yield lambda x, ids, pad, m=m: m(x, ids).mean()
        yield lambda x, ids, pad, m=m: m(x, ids)[ids != pad].mean() / x.shape[-1]
        yield lambda x, ids, pad, m=m: m(x, ids).mean() / x.shape[-1]
        yield lambda x, ids, pad, m=m: m(x, ids)[ids != pad].sum()
        yield lambda x, ids, pad, m=m: m(x, ids).sum() / (ids != pad).sum()


def with_their_axes():
    """cross_entropy con los ejes como vienen: casi siempre se para."""
    for turned in (itself, lambda x: x.reshape(len(x), -1, x.shape[1])):
        yield lambda x, ids, pad, turned=turned: F.cross_entropy(turned(x), ids)
        yield lambda x, ids, pad, turned=turned: F.cross_entropy(turned(x), ids, ignore_index=pad)


AXES = {
    "other": step(
        None,
        ("cuenta-aciertos", *on_average(lambda x, ids: (x.argmax(-1) == ids).float())),
        ("cuenta-aciertos", *on_average(lambda x, ids: (x.argmax(-1) != ids).float())),
        ("error-cuadrático", *on_average(lambda x, ids: ((x.softmax(-1) - goal(x, ids)) ** 2).sum(-1))),
        ("error-cuadrático", *on_average(lambda x, ids: (1 - of(x.softmax(-1), ids)).square())),
        ("binaria", *on_average(lambda x, ids: binary(x.softmax(-1), ids))),
        ("binaria", *on_average(lambda x, ids: binary(x.sigmoid(), ids))),
        ("logaritmo-de-la-media", lambda x, ids, pad: -of(x.softmax(-1), ids)[ids != pad].mean().log()),
        ("logaritmo-de-la-media", lambda x, ids, pad: -of(x.softmax(-1), ids).mean().log()),
        ("ejes-de-cross_entropy", *with_their_axes()),
    ),
    "softmax": step(
        lambda x: x.log_softmax(-1),
        ("softmax-otro-eje", lambda x: x.log_softmax(1), lambda x: x.log_softmax(0)),
        ("softmax-otro-eje", lambda x: x.flatten().log_softmax(0).reshape(x.shape)),
        ("softmax-otro-eje", lambda x: x.flatten(0, 1).log_softmax(0).reshape(x.shape)),
        ("sin-softmax", itself),
        ("softmax-dos-veces", lambda x: x.softmax(-1).log_softmax(-1)),
        ("sigmoide", F.logsigmoid),
    ),
    "logarithm": step(
        itself,
        ("sin-logaritmo", torch.exp),
        ("uno-menos-la-probabilidad", lambda s: s.exp() - 1),
    ),
    # De las puntuaciones y los ids, un número por posición y los ids que dicen cuáles son relleno.
    "pick": step(
        *same_ids(of),
        ("desplaza-otra-vez", *moved(1)),
        ("desplaza-al-revés", *moved(-1)),
        ("sin-el-primero", lambda s, ids: (of(s, ids)[:, 1:], ids[:, 1:])),
        ("sin-el-último", lambda s, ids: (of(s, ids)[:, :-1], ids[:, :-1])),
        ("el-más-probable", *same_ids(lambda s, ids: s.amax(-1))),
        ("todo-el-vocabulario", *same_ids(lambda s, ids: s.sum(-1), lambda s, ids: s.mean(-1))),
        ("entropía-del-modelo", *same_ids(lambda s, ids: (s.exp() * s).sum(-1))),
        ("etiquetas-suavizadas", *same_ids(*map(smoothed, (0.05, 0.1, 0.2)))),
        # La media, para cada token, de lo que saca en todas las posiciones.
        ("todos-con-todos", *same_ids(lambda s, ids: s[..., ids].mean((0, 1)))),
        ("divide-por-vocabulario", *same_ids(lambda s, ids: of(s, ids) / s.shape[-1])),
    ),
    # De cada posición, lo que suma y cuánto cuenta al dividir.
    "padding": step(
        *kept(lambda ids, pad: ids != pad),
        ("cuenta-el-relleno", lambda x, ids, pad, V: (x, torch.ones_like(x))),
        ("divide-por-todos", lambda x, ids, pad, V: (x * (ids != pad), torch.ones_like(x))),
        ("suma-el-relleno", lambda x, ids, pad, V: (x, (ids != pad).float())),
        ("solo-el-relleno", *kept(lambda ids, pad: ids == pad)),
        ("relleno-otro-id", *kept(lambda ids, pad: ids != 0)),
        ("relleno-otro-id", *kept(lambda ids, pad: ids > pad, lambda ids, pad: ids < pad)),
        ("logits-a-cero", lambda x, ids, pad, V: (x.where(ids != pad, log(V)), torch.ones_like(x))),
        ("no-cuenta-el-fin", *kept(*map(all_but_the_end, (False, True)))),
        ("cuenta-un-relleno", *kept(lambda ids, pad: F.pad(ids[:, :-1] != pad, (1, 0), value=True))),
    ),
    # De lo que suman, ``x``, y cuánto cuentan, ``n``, la pérdida.
    "reduction": step(
        lambda x, n: x.sum() / n.sum(),
        ("media-de-medias", lambda x, n: (x.sum(1) / n.sum(1)).mean()),
        ("media-por-posición", lambda x, n: (x.sum(0) / n.sum(0)).mean()),
        ("suma", lambda x, n: x.sum()),
        ("divide-por-frases", lambda x, n: x.sum() / len(x)),
        ("divide-por-posiciones", lambda x, n: x.sum() / x.shape[1]),
        ("divide-por-la-última", lambda x, n: x.sum() / n[-1].sum()),
        ("sin-juntar", lambda x, n: x, lambda x, n: x[n > 0], lambda x, n: x.flatten()),
        ("sin-juntar", lambda x, n: x.sum(1), lambda x, n: x.sum(0)),
        ("sin-juntar", lambda x, n: x.sum(1) / n.sum(1), lambda x, n: x.sum(0) / n.sum(0)),
        ("solo-una-frase", lambda x, n: x[0].sum() / n[0].sum(), lambda x, n: x[-1].sum() / n[-1].sum()),
        ("la-mayor", lambda x, n: x[n > 0].max()),
        ("mediana", lambda x, n: x[n > 0].median(), lambda x, n: x[n > 0].quantile(0.5)),
    ),
    "finish": step(
        itself,
        ("sin-el-menos", torch.neg),
        ("perplejidad", torch.exp),
        ("logaritmo-en-base-2", lambda x: x / log(2)),
        ("logaritmo-en-base-10", lambda x: x / log(10)),
        ("redondea", *map(rounded, range(4))),
    ),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[None, None])),
}


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
HALF_AND_QUARTER = torch.tensor([[[0.125, 0.5, 0.375], [0.5, 0.25, 0.25]]]).log()
LOGITS, TARGETS, PAD = CASES[0].arguments
NOISY = LOGITS + torch.linspace(-2, 2, 7) * (TARGETS == PAD)[..., None]
TINY = (
    ([[[0.0, 0.0]]], [[1]]),
    ([[[0.0, 1.0]]], [[1]]),
    ([[[0.0, 1.0], [2.0, 0.0]]], [[1, 1]]),
    ([[[0.0, 1.0], [2.0, 0.0]]], [[1, 0]]),
    ([[[0.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [2.0, 1.0]]], [[1, 1], [1, 0]]),
)


@functools.lru_cache(maxsize=8192)  # las mismas pruebas, para todo el mundo
def picked(softmax, logarithm, pick, logits, targets):
    return pick(logarithm(softmax(logits)), targets)


def overflows(attempt):
    value = attempt.ask(torch.tensor([[[0.0, 400.0]]]), torch.tensor([[0]]), 1)
    if value is None or not value.isfinite():
        yield NOTES["desborda"].text
    elif not same(value, torch.tensor(400.0)):
        yield NOTES["recorta"].saying(yours=show(value)).text


class NextTokenLoss(numbers.NumberExercise):
    """Comprueba la pérdida de un modelo que predice el token siguiente.

    Args:
        function: recibe ``(logits, targets, pad)``: las puntuaciones, ``(B, m_D, V)``; los ids que había
            que predecir, ``(B, m_D)``; y el id del relleno. Devuelve un número: la media, en los
            tokens de verdad de todo el lote, de menos el logaritmo natural de la probabilidad del
            token bueno.
    """

    number, title, points, section = "10.1", "la pérdida", 3, "10 §4"
    letters = ("B m_D -", "B m_D")
    axes = AXES
    stages, unused = (Stage(tuple(axes), CASES, most=2),), tuple(axes)[1:6]
    extra = (
        Case("dos tokens, de p = 1/2 y p = 1/4", (HALF_AND_QUARTER, torch.tensor([[1, 2]]), 0)),
        Case("dos tokens casi imposibles", (-11.0 * torch.eye(3)[None, 1:], torch.tensor([[1, 2]]), 0)),
        Case("30 frases de hasta 60 tokens, y un vocabulario de 300", batch(8, range(31, 61), 300, 3)),
    )
    tiny = tuple(Case("", (torch.tensor(x), torch.tensor(ids), 0)) for x, ids in TINY)
    must = (
        *numbers.must(section, lambda logits, targets, pad: ()),
        related(LAWS["propiedad-relleno"], CASES[0], (NOISY, TARGETS, PAD)),
        related(LAWS["propiedad-constante"], CASES[0], (LOGITS + 3.0, TARGETS, PAD)),
        gives(LAWS["propiedad-uniforme"], (LOGITS * 0, TARGETS, PAD), torch.tensor(log(7))),
    )
    notes = (overflows, differs(NOTES["relleno-delante"].text, LOGITS.flip(1), TARGETS.flip(1), PAD))

    def possible(self, logits, targets, pad):
        """El relleno va al final, y nada es casi imposible: hay quien suma un épsilon."""
        at_the_end = ((targets == pad).int().diff(dim=1) >= 0).all()
        return at_the_end and logits.log_softmax(-1).min() > -12

    def compute(self, choice, logits, targets, pad):
        if choice["other"]:
            value = choice["other"](logits, targets, pad)
        else:
            steps = (choice[axis] for axis in ("softmax", "logarithm", "pick"))
            values, ids = picked(*steps, logits, targets)
            value = choice["reduction"](*choice["padding"](-values, ids, pad, logits.shape[-1]))
        return {"output": choice["shape"](choice["finish"](value))}

    def skip(self, choice):
        ids = {mistake.id for mistake in mistakes(choice)}
        return any(one in ids and ids & others for one, others in SAME.items()) or super().skip(choice)
