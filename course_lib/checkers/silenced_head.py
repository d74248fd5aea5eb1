"""Comprueba cómo se apaga una cabeza: poner a 0 su trozo de lo que han dicho todas.

La familia: {su trozo, otro, columnas salteadas, un token…} × {a 0, a su media…} × {la misma forma,
sin esas columnas…}.
"""

import functools

import torch

from course_lib.checkers.family import Case, Exercise, Mistake, Option, Stage, same, show
from course_lib.checkers.number_family import mistakes_in, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
empieza-en-cabeza·h · 11 §6 · El trozo empieza en cabeza·d_k, y no en cabeza·h: las de delante ocupan d_k cada una.
mide-h · 11 §6 · El trozo mide d_k columnas, lo que toca a cada cabeza, y no h.
empieza-en-cabeza · 11 §6 · El trozo empieza en cabeza·d_k: el número de la cabeza no es el de su columna.
una-sola-columna · 11 §6 · Apagas una sola columna, y cada cabeza tiene d_k.
cabeza-desde-1 · 11 §6 · Apagas la cabeza de antes: se cuentan desde 0.
cabeza-siguiente · 11 §6 · Apagas la cabeza siguiente: se cuentan desde 0.
d_k-fijo · 11 §6 · Tu d_k es siempre el mismo, y sale de repartir d_model entre las cabezas.
corrido · 11 §6 · El trozo está corrido una columna.
dos-cabezas · 11 §6 · Apagas dos cabezas, y es solo una.
en-algunos-tokens · 11 §6 · Apagas la cabeza solo en algunos tokens o frases, y es en todos.
columnas-salteadas · 06 §5 · Apagas columnas salteadas, y las de una cabeza van seguidas.
los-tokens · 11 §6 · Apagas un token, y es una cabeza: las columnas son el último eje.
las-frases · 11 §6 · Apagas una frase del lote, y es una cabeza: las columnas son el último eje.
hasta-el-final · 11 §6 · Apagas hasta la última columna: el trozo acaba donde empieza la cabeza siguiente.
desde-el-principio · 11 §6 · Apagas desde la primera columna: delante van las demás cabezas.
las-demás · 11 §6 · Has dejado solo esa cabeza: se apaga ella, y las demás se quedan.
siempre-la-primera · 11 §6 · Apagas siempre la primera cabeza, y es la del número que recibes.
siempre-la-última · 11 §6 · Apagas siempre la última cabeza, y es la del número que recibes.
desde-el-final · 11 §6 · Cuentas las cabezas desde el final, y se cuentan desde el principio.
columna-de-menos · 11 §6 · Te dejas una columna: en Python, el final de un trozo ya no entra.
columna-de-más · 11 §6 · Te llevas una columna de más: en Python, el final de un trozo ya no entra.
reparte-sin-trasponer · 06 §5 · Al repartir mezclas tokens y cabezas: es (B, L, h, d_k), y el eje de las cabezas es el 2.
nada · 11 §6 · Tu salida es igual que la entrada: no has apagado nada. ¿Guardas lo que calculas?
todo · 11 §6 · Lo has puesto todo a 0, y es solo una cabeza.
a-su-media · 11 §6 · Cambias la cabeza por una media, y aquí se pone a 0.
a-infinito · 11 §6 · Pones −∞ o NaN, y aquí se pone 0: esto ya no son puntuaciones.
cambia-el-signo · 11 §6 · Le cambias el signo, y se pone a 0.
a-la-mitad · 11 §6 · La dejas a la mitad, y se pone a 0.
reescala · 11 §6 · Multiplicas las demás para compensar, como un dropout: se quedan como están.
quita-las-columnas · 11 §6 · Quitas las columnas: W_O espera d_model, y el hueco se llena con ceros.
devuelve-el-trozo · 11 §6 · Devuelves solo el trozo de esa cabeza, y se piden todas las columnas.
junta-sin-trasponer · 06 §7 · Al juntar las cabezas las mezclas con los tokens: antes tiene que ser (B, L, h, d_k).
sin-juntar · 11 §6 · Devuelves las cabezas por separado: falta volver a juntarlas, (B, L, d_model).
"""


def how_many(look):
    """Cuántos números de más o de menos se han quedado a 0."""
    yours, right = look.yours, look.right
    if yours.shape != right.shape:
        return (
            f"Con {look.case.name}, tu salida mide {tuple(yours.shape)} y tenía que medir "
            f"{tuple(right.shape)}."
        )
    concat = look.case.arguments[0]
    lost = int(((yours == 0) & (right != 0)).sum())
    kept = int(((yours == concat) & (right == 0)).sum())
    if lost or kept:
        return (
            f"Con {look.case.name}, pones a 0 {lost} números que tenían que quedarse y dejas "
            f"{kept} de los {int((right == 0).sum())} de la cabeza."
        )
    return ""


MISTAKES = mistakes_in(TEXTS, how_many)
step = functools.partial(steps, MISTAKES)

# --- Los pasos ------------------------------------------------------------------------------------


def columns(start, stop):
    """Un trozo de columnas: sus límites, de la cabeza, cuántas hay y cuánto mide cada una."""

    def hidden(concat, head, heads):
        mask = torch.zeros(concat.shape, dtype=torch.bool)
        d_k = concat.shape[-1] // heads
        mask[..., start(head, heads, d_k) : stop(head, heads, d_k)] = True
        return mask

    return hidden


def taken(pick):
    """Lo que elige ``pick`` de una máscara vacía; recibe también la cabeza, cuántas hay y d_k."""

    def hidden(concat, head, heads):
        mask = torch.zeros(concat.shape, dtype=torch.bool)
        pick(mask, head, heads, concat.shape[-1] // heads).fill_(True)
        return mask

    return hidden


def others(concat, head, heads):
    return ~SLICES[0].value(concat, head, heads)


def start(head, heads, d_k):
    return head * d_k


def stop(head, heads, d_k):
    return (head + 1) * d_k


def own(mask, head, d_k):
    """Las columnas de la cabeza."""
    return mask[..., head * d_k : (head + 1) * d_k]


def every(n):
    """Como si cada cabeza midiera siempre ``n``."""
    return columns(lambda i, h, d: i * n, lambda i, h, d: (i + 1) * n)


SLICES = step(
    columns(start, stop),
    ("empieza-en-cabeza·h", columns(lambda i, h, d: i * h, lambda i, h, d: i * h + d)),
    ("empieza-en-cabeza·h", columns(lambda i, h, d: i * h, stop)),
    ("mide-h", columns(start, lambda i, h, d: i * d + h)),
    ("empieza-en-cabeza", columns(lambda i, h, d: i, lambda i, h, d: i + d)),
    ("empieza-en-cabeza", columns(lambda i, h, d: i, stop)),
    ("una-sola-columna", columns(lambda i, h, d: i, lambda i, h, d: i + 1)),
    ("una-sola-columna", columns(start, lambda i, h, d: i * d + 1)),
    ("cabeza-desde-1", columns(lambda i, h, d: (i - 1) * d, start)),
    ("cabeza-desde-1", taken(lambda m, i, h, d: m.unflatten(-1, (h, d))[:, :, i - 1])),
    ("cabeza-siguiente", columns(stop, lambda i, h, d: (i + 2) * d)),
    ("columnas-salteadas", taken(lambda m, i, h, d: m[..., i::h])),
    ("columnas-salteadas", taken(lambda m, i, h, d: m[..., i::d])),
    ("columnas-salteadas", taken(lambda m, i, h, d: m[..., i::d] if i < d else m[:0])),
    ("d_k-fijo", *map(every, (2, 3, 4, 8, 16, 32, 64, 128))),
    ("corrido", columns(lambda i, h, d: i * d + 1, lambda i, h, d: (i + 1) * d + 1)),
    ("corrido", columns(lambda i, h, d: i * d - 1, lambda i, h, d: (i + 1) * d - 1)),
    ("dos-cabezas", columns(start, lambda i, h, d: (i + 2) * d), columns(lambda i, h, d: (i - 1) * d, stop)),
    ("en-algunos-tokens", taken(lambda m, i, h, d: own(m, i, d)[:, 1:]), taken(lambda m, i, h, d: own(m, i, d)[:, 0])),
    ("en-algunos-tokens", taken(lambda m, i, h, d: own(m, i, d)[0]), taken(lambda m, i, h, d: own(m, i, d)[-1])),
    ("en-algunos-tokens", taken(lambda m, i, h, d: own(m, i, d)[:, i]), taken(lambda m, i, h, d: own(m, i, d)[i])),
    ("los-tokens", taken(lambda m, i, h, d: m[:, i])),
    ("los-tokens", taken(lambda m, i, h, d: m[:, i * d : (i + 1) * d])),
    ("las-frases", taken(lambda m, i, h, d: m[i])),
    ("las-frases", taken(lambda m, i, h, d: m[i * d : (i + 1) * d])),
    ("hasta-el-final", columns(start, lambda i, h, d: None)),
    ("desde-el-principio", columns(lambda i, h, d: 0, stop), columns(lambda i, h, d: 0, start)),
    ("las-demás", others),
    ("siempre-la-primera", columns(lambda i, h, d: 0, lambda i, h, d: d)),
    ("siempre-la-última", columns(lambda i, h, d: -d, lambda i, h, d: None)),
    ("desde-el-final", columns(lambda i, h, d: (h - 1 - i) * d, lambda i, h, d: (h - i) * d)),
    ("columna-de-menos", columns(start, lambda i, h, d: (i + 1) * d - 1)),
    ("columna-de-menos", columns(lambda i, h, d: i * d + 1, stop)),
    ("columna-de-más", columns(start, lambda i, h, d: (i + 1) * d + 1)),
    ("reparte-sin-trasponer", taken(lambda m, i, h, d: m.view(len(m), h, -1, d)[:, i])),
    ("reparte-sin-trasponer", taken(lambda m, i, h, d: m.view(h, len(m), -1, d)[i])),
    ("nada", taken(lambda m, i, h, d: m[:0])),
    ("todo", taken(lambda m, i, h, d: m)),
)  # fmt: skip
SLICES.append(
    Option(
        columns(lambda i, h, d: i * h, lambda i, h, d: (i + 1) * h),
        tuple(MISTAKES[id] for id in ("empieza-en-cabeza·h", "mide-h")),
    )
)


def put(value):
    """Cambia lo escondido por un número."""
    return lambda concat, hidden, heads: concat.masked_fill(hidden, value)


def mean_over(*axes):
    """Cambia lo escondido por la media de la cabeza, de cada columna…"""

    def fill(concat, hidden, heads):
        if not axes:
            return concat.masked_fill(hidden, concat[hidden].mean().item())
        return concat.where(~hidden, concat.mean(axes, keepdim=True))

    return fill


FILLS = step(
    put(0.0),
    ("a-su-media", mean_over(), mean_over(0, 1), mean_over(1), mean_over(0), mean_over(2)),
    ("a-su-media", mean_over(0, 1, 2)),
    ("a-infinito", put(-torch.inf), put(-1e9), put(torch.nan)),
    ("cambia-el-signo", lambda concat, hidden, heads: concat.where(~hidden, -concat)),
    ("a-la-mitad", lambda concat, hidden, heads: concat.where(~hidden, concat / 2)),
    ("reescala", lambda concat, hidden, heads: put(0.0)(concat, hidden, heads) * heads / (heads - 1)),
)  # fmt: skip


def only(which):
    """Las columnas que se esconden, o las demás, si en todos los tokens son las mismas."""

    def shape(output, concat, hidden, heads):
        first = hidden[0, 0]
        if (hidden != first).any():
            raise ValueError
        return which(output, concat, first)

    return shape


def split(output, heads):
    return output.unflatten(-1, (heads, -1))


def mixed(output, heads):
    """Como quien reparte sin trasponer y después traspone."""
    B, L, _ = output.shape
    return output.view(B, heads, L, -1).transpose(1, 2).reshape(B, L, -1)


SHAPES = step(
    lambda output, concat, hidden, heads: output,
    ("quita-las-columnas", only(lambda output, concat, hidden: output[..., ~hidden])),
    ("devuelve-el-trozo", only(lambda output, concat, hidden: concat[..., hidden])),
    ("devuelve-el-trozo", only(lambda output, concat, hidden: output[..., hidden])),
    (
        "junta-sin-trasponer",
        lambda output, concat, hidden, heads: (
            split(output, heads).transpose(1, 2).reshape(concat.shape)
        ),
    ),
    ("junta-sin-trasponer", lambda output, concat, hidden, heads: mixed(output, heads)),
    ("sin-juntar", lambda output, concat, hidden, heads: split(output, heads)),
    ("sin-juntar", lambda output, concat, hidden, heads: split(output, heads).transpose(1, 2)),
)


def concat_case(seed, B, L, heads, d_k, head):
    concat = torch.randn(B, L, heads * d_k, generator=torch.Generator().manual_seed(seed))
    name = f"la cabeza {head} de {heads}, de {d_k} números cada una"
    return Case(name, (concat, head, heads))


CASES = (
    concat_case(0, 2, 4, 3, 5, 1),
    concat_case(1, 3, 4, 4, 2, 2),
    concat_case(2, 2, 3, 2, 6, 0),
    concat_case(3, 5, 5, 5, 3, 3),
    concat_case(4, 4, 6, 4, 4, 1),
    concat_case(5, 1, 7, 3, 4, 2),
    concat_case(6, 6, 8, 6, 2, 5),
    concat_case(7, 7, 9, 3, 2, 1),
    concat_case(8, 1, 2, 2, 40, 1),
)


class WithoutHead(Exercise):
    """Lo que dicen las cabezas, (B, L, d_model) → lo mismo con el trozo de una a 0."""

    number, title, points = "11.2", "apagar una cabeza", 2
    names = ("concat", "head", "heads")
    axes = {"slice": SLICES, "fill": FILLS, "shape": SHAPES}
    stages = (Stage(tuple(axes), CASES),)
    tiny = (
        Case("", (torch.tensor([[[1.0, 2.0]]]), 0, 2)),
        Case("", (torch.tensor([[[1.0, 2.0]]]), 1, 2)),
        Case("", (torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 0, 2)),
        Case("", (torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 1, 2)),
    )

    def compute(self, choice, concat, head, heads):
        hidden = choice["slice"](concat, head, heads)
        output = choice["fill"](concat, hidden, heads)
        return {"output": choice["shape"](output, concat, hidden, heads)}

    def expects_tuple(self, value):
        return False

    def extra_options(self, learner):
        """Si en el sitio de la cabeza pone siempre el mismo número, cuál es."""
        concat, head, heads = CASES[0].arguments
        outcome = self.call(learner, concat.clone(), head, heads)
        value = outcome.value
        if outcome.problem or not isinstance(value, torch.Tensor) or value.shape != concat.shape:
            return {}
        changed = value != concat
        if not changed.any():
            return {}
        ways = []
        number, factor = value[changed], (value / concat)[changed]
        if same(number, number[:1].expand_as(number)):
            text = f"Pones {show(number[0])} en su sitio, y es 0."
            mistake = Mistake("otro-número", text, "11 §6", how_many)
            ways.append(Option(put(float(number[0])), mistake))
        if same(factor, factor[:1].expand_as(factor)):
            times = float(factor[0])
            text = f"La multiplicas por {show(times)}, y se pone a 0."
            mistake = Mistake("la-multiplica", text, "11 §6", how_many)
            ways.append(Option(lambda c, hidden, heads: c.where(~hidden, c * times), mistake))
        return {"fill": ways}

    def mistake_ids(self):
        return super().mistake_ids() | {"otro-número", "la-multiplica"}

    def properties(self, learner, seen):
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            concat, head, heads = case.arguments
            if output.shape != concat.shape:
                text = "Tu salida tiene que medir lo mismo que concat, (B, L, d_model)."
                story = f"Con {case.name}, mide {tuple(output.shape)} y tenía que medir {tuple(concat.shape)}."
                yield Finding("propiedad-forma", text, story, "11 §6")
                return
            hidden = SLICES[0].value(concat, head, heads)
            if (output[hidden] != 0).any():
                text = "Las columnas de la cabeza tienen que quedar a 0."
                left = int((output[hidden] != 0).sum())
                story = f"Con {case.name}, {left} de {int(hidden.sum())} no lo están."
                yield Finding("propiedad-cero", text, story, "11 §6")
                return
            if not same(output[~hidden], concat[~hidden]):
                text = "Las columnas de las demás cabezas no pueden cambiar."
                moved = int((output != concat)[~hidden].sum())
                story = f"Con {case.name}, cambian {moved} números de las demás."
                yield Finding("propiedad-las-demás", text, story, "11 §6")
                return


WITHOUT_HEAD = WithoutHead()
EXERCISES = (WITHOUT_HEAD,)


def check_without_head(function):
    """Comprueba una función que apaga una cabeza.

    Args:
        function: recibe ``(concat, head, heads)``: lo que han dicho todas las cabezas, una al lado de
            otra, ``(B, L, d_model)``; la que se apaga, desde 0; y cuántas hay. Devuelve otro tensor
            ``(B, L, d_model)``: igual, con el trozo de esa cabeza a 0. ``concat`` no cambia.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(WITHOUT_HEAD.check(function))
