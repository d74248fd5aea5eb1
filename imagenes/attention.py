"""La atención entera, para una palabra que pregunta. `highlight` señala uno de sus pasos."""

from functools import partial

import drawsvg as draw

from course_lib.example import TOKENS
from course_lib.plots import palette as c
from imagenes.blocks import MASK, PRODUCT, SCALE, SOFTMAX, SUM
from imagenes.example import HIDDEN, steps, vector, written
from imagenes.strokes import SIZE, SMALL, TINT, WIDTH, arrow, card, n, text

ASKS, HEAD = TOKENS.index("hungry"), 0
COLUMNS = (306, 492, 678)  # el centro de cada palabra
WIDE = 172

# nombre → (altura, rótulo, en palabras)
STEPS = {
    "palabras": (80, "Tres palabras", f"pregunta «{TOKENS[ASKS]}»"),
    "qkv": (112, "Q, K y V", "x por W_Q, W_K, W_V"),
    "puntuaciones": (72, "Puntuaciones", "q · k, con cada una"),
    "escala": (46, "Escala", "÷ √d_k"),
    "mascara": (46, "Máscara", "(opcional)"),
    "pesos": (60, "Pesos", "softmax: suman 1"),
    "mezcla": (120, "Mezcla", "cada peso, por su v"),
    "suma": (96, "Suma", "x más el cambio"),
}
# Lo mismo sin decir cómo se hace cada cosa: para el primer día.
PLAIN = {
    "palabras": (46, "Tres palabras", f"pregunta «{TOKENS[ASKS]}»"),
    "puntuaciones": (60, "1 · Puntuaciones", "cuánto encajan"),
    "pesos": (60, "2 · Pesos", "un reparto: suman 1"),
    "mezcla": (120, "3 · Mezcla", "parte de cada una"),
    "suma": (60, "Y se suma", "a lo que ya era"),
}
GAP = 12  # entre un paso y el siguiente: lo que mide la flecha


class Picture:
    """Un dibujo con lo señalado en color y lo demás, en gris."""

    def __init__(self, drawing, highlight, plain):
        self.drawing, self.highlight, self.plain = drawing, highlight, plain

    def lit(self, step):
        return self.highlight in (None, step)

    def words(self, step, x, y, words, size=SMALL, anchor="middle", bold=False):
        colour = c.INK if self.lit(step) else c.GREY
        text(self.drawing, x, y, words, size, anchor, bold and self.lit(step), colour)

    def cell(self, step, x, y, height, words, colour, width=WIDE, filled=1, bold=False, dash=None):
        """Una caja de papel, teñida hasta donde dice `filled`, con su texto."""
        lit, left, top = self.lit(step), n(x - width / 2), n(y - height / 2)
        style = {"stroke_dasharray": dash} if dash else {}
        rect = {"stroke": colour if lit else c.MIST, "stroke_width": 2.5} | style
        self.drawing.append(draw.Rectangle(left, top, width, height, rx=8, fill=c.PAPER))
        if lit:
            tint = TINT if filled == 1 else 0.6
            part = n(width * filled)
            self.drawing.append(
                draw.Rectangle(left, top, part, height, rx=8, fill=colour, fill_opacity=tint)
            )
        self.drawing.append(draw.Rectangle(left, top, width, height, rx=8, fill="none", **rect))
        lines = words.split("\n") if words else []
        for i, words_line in enumerate(lines):
            last = i == len(lines) - 1
            dy = (i - (len(lines) - 1) / 2) * 24
            self.words(step, x, y + dy, words_line, SIZE if last else SMALL, bold=bold and last)

    def arrow(self, step, *points, width=2.5):
        lit = self.lit(step)
        colour = c.INK if lit else c.GREY
        width = width if lit else 1.5
        arrow(self.drawing, *points, colour=colour, width=width, head=max(9, round(2.3 * width)))


def attention_row(desc, highlight=None, plain=False):
    """De la pregunta de una palabra a su vector cambiado; con `plain`, sin las cuentas."""
    rows = PLAIN if plain else STEPS
    height = 24 + sum(tall + GAP for tall, *_ in rows.values())
    title = "La atención en tres pasos" if plain else "La atención, entera"
    drawing = card(height, title, desc)
    picture = Picture(drawing, highlight, plain)
    numbers = steps("causal" if highlight == "mascara" else "entera")
    top = 18
    for name, (tall, title, meaning) in rows.items():
        if name == highlight:
            drawing.append(
                draw.Rectangle(
                    14, n(top - 4), WIDTH - 28, tall + 8, rx=12, fill=c.YELLOW, fill_opacity=0.45
                )
            )
        y = top + (tall if name == "qkv" else min(tall, 84)) / 2
        picture.words(name, 28, y - 12, title, SIZE, "start", bold=True)
        picture.words(name, 28, y + 13, meaning, SMALL, "start")
        DRAW[name](picture, numbers, top)
        top += tall + GAP
    return drawing


def token_row(picture, numbers, top):
    for i, (x, token) in enumerate(zip(COLUMNS, TOKENS, strict=True)):
        colour = c.QUERY if i == ASKS else c.GREY
        picture.cell("palabras", x, top + 22, 38, token, colour, bold=i == ASKS)
        if not picture.plain:
            picture.words("palabras", x, top + 62, f"x = {vector(numbers.x[i])}")


def projections(picture, numbers, top):
    for row, (letter, colour) in enumerate((("q", c.QUERY), ("k", c.KEY), ("v", c.VALUE))):
        for i, x in enumerate(COLUMNS):
            y, words = top + 18 + 38 * row, vector(getattr(numbers, letter)[HEAD, i])
            if letter == "q" and i != ASKS:  # también preguntan, pero en su fila
                picture.cell("qkv", x, y, 30, f"q = {words}", c.GREY, filled=0, dash="5 4")
            else:
                picture.cell("qkv", x, y, 30, f"{letter} = {words}", colour)


def scores(picture, numbers, top):
    q = vector(numbers.q[HEAD, ASKS])
    for i, x in enumerate(COLUMNS):
        score = written(numbers.scores[HEAD, ASKS, i])
        if picture.plain:
            picture.arrow("puntuaciones", (x, top - GAP - 5), (x, top + 10))
            picture.cell("puntuaciones", x, top + 30, 40, score, PRODUCT, bold=True)
        else:
            picture.arrow("puntuaciones", (x, top - GAP - 1), (x, top + 6))
            words = f"{q} · {vector(numbers.k[HEAD, i])}\n{score}"
            picture.cell("puntuaciones", x, top + 36, 60, words, PRODUCT, bold=True)


def scaled(picture, numbers, top):
    for i, x in enumerate(COLUMNS):
        picture.arrow("escala", (x, top - GAP - 6), (x, top + 6))
        picture.cell("escala", x, top + 23, 34, written(numbers.scaled[HEAD, ASKS, i]), SCALE)


def mask(picture, numbers, top):
    for i, x in enumerate(COLUMNS):
        picture.arrow("mascara", (x, top - GAP - 6), (x, top + 6))
        hidden = numbers.masked[HEAD, ASKS, i] == HIDDEN
        words = "no se ve: −∞" if hidden else "se ve"
        dash = None if hidden else "7 5"
        picture.cell("mascara", x, top + 23, 34, words, MASK, dash=dash, bold=hidden)


def weights(picture, numbers, top):
    for i, x in enumerate(COLUMNS):
        picture.arrow(
            "pesos", (x, top - GAP - 10 if picture.plain else top - GAP - 6), (x, top + 10)
        )
        if picture.plain:
            picture.words("pesos", x + 32, top - 6, f"÷ √{numbers.k.shape[-1]}")
        weight = numbers.weights[HEAD, ASKS, i]
        part = round(float(weight), 2)
        picture.cell("pesos", x, top + 30, 40, written(weight), SOFTMAX, filled=part, bold=True)


def mixture(picture, numbers, top):
    result, middle = top + 100, COLUMNS[1]
    for i, x in enumerate(COLUMNS):
        weight = float(numbers.weights[HEAD, ASKS, i])
        part = f"de {TOKENS[i]}" if picture.plain else f"· {vector(numbers.v[HEAD, i])}"
        picture.arrow("mezcla", (x, top - GAP - 10), (x, top + 6), width=2 + 5 * weight)
        picture.cell("mezcla", x, top + 24, 36, f"{written(weight)} {part}", SUM)
        side = (x > middle) - (x < middle)
        turn = (
            [(x, result), (middle + side * (WIDE / 2 + 8), result)] if side else [(x, result - 20)]
        )
        picture.arrow("mezcla", (x, top + 42), *turn, width=2 + 5 * weight)
    z = "lo que recibe" if picture.plain else f"z = {vector(numbers.output[HEAD, ASKS])}"
    picture.cell("mezcla", middle, result, 40, z, SUM, width=WIDE + 16, bold=True)


def addition(picture, numbers, top):
    x, change = numbers.x[ASKS], numbers.written[HEAD, ASKS]
    token = TOKENS[ASKS]
    cells = ((277, 112, c.GREY), (454, 190, SUM), (669, 190, c.QUERY))
    if picture.plain:
        contents = (f"«{token}»", "lo que recibe", f"«{token}», aquí")
    else:
        contents = tuple(map(vector, (x, change, x + change)))
    y = top + (30 if picture.plain else 34)
    picture.arrow("suma", (COLUMNS[1], top - GAP), (COLUMNS[1], y - 20))
    for (column, width, colour), words in zip(cells, contents, strict=True):
        picture.cell("suma", column, y, 40, "", colour, width=width)
        picture.words("suma", column, y, words)
    if not picture.plain:
        for (column, *_), label in zip(
            cells, ("x", "z por sus filas de W_O", "x nuevo"), strict=True
        ):
            picture.words("suma", column, top + 70, label)
    for column, sign in ((346, "+"), (562, "=")):
        picture.words("suma", column, y - 1, sign, 20)


DRAW = {
    "palabras": token_row,
    "qkv": projections,
    "puntuaciones": scores,
    "escala": scaled,
    "mascara": mask,
    "pesos": weights,
    "mezcla": mixture,
    "suma": addition,
}


def told(values):
    """Un número de cada palabra: ««the» −1, «hungry» −2 y «dog» 1»."""
    *others, last = (
        f"«{token}» {written(value)}" for token, value in zip(TOKENS, values, strict=True)
    )
    return f"{', '.join(others)} y {last}"


def figures():
    """nombre del archivo → (función que lo dibuja, texto alternativo)."""
    full, hidden = steps(), steps("causal")
    asks = f"«{TOKENS[ASKS]}»"
    x, change = full.x[ASKS], full.written[HEAD, ASKS]
    weights_told = told(full.weights[HEAD, ASKS])
    base = (
        f"La atención en tres palabras, de arriba abajo. Pregunta {asks}: su query por la key de "
        f"cada una da las puntuaciones, se dividen por la raíz de d_k, la softmax las convierte en "
        f"pesos ({{}}), los values se mezclan con esos pesos y lo que sale se suma al vector de {asks}"
    )
    row = base.format(weights_told)
    lit = {
        "qkv": "Señalados Q, K y V: cada palabra tiene una query, una key y un value, que son su "
        "vector x por W_Q, por W_K y por W_V.",
        "puntuaciones": f"Señaladas las puntuaciones, la query de {asks} por cada key: "
        f"{told(full.scores[HEAD, ASKS])}.",
        "pesos": f"Señalados los pesos, que en una fila suman 1: {weights_told}.",
        "mezcla": f"Señalada la mezcla: la suma de cada value por su peso es "
        f"{vector(full.output[HEAD, ASKS])}.",
        "suma": f"El dibujo de la atención en tres palabras, con la suma señalada: x, {vector(x)}, más el cambio que "
        f"escribe la cabeza 0, {vector(change)}, da el vector nuevo, {vector(x + change)}.",
    }
    table = {
        "atencion-tres-pasos.svg": (
            partial(attention_row, plain=True),
            f"La atención en tres pasos, para {asks}: una puntuación con cada palabra "
            f"({told(full.scores[HEAD, ASKS])}), que se divide por la raíz de 2; un peso para cada una "
            f"({weights_told}), y la mezcla de las tres, cada una con su peso. La mezcla se suma a lo "
            f"que {asks} ya era.",
        ),
    }
    for name, words in lit.items():
        table[f"atencion-{name}.svg"] = (partial(attention_row, highlight=name), words if name == "suma" else f"{row}. {words}")
    masked_row = base.format(told(hidden.weights[HEAD, ASKS]))
    table["atencion-mascara.svg"] = (
        partial(attention_row, highlight="mascara"),
        f"{masked_row}. Señalada la máscara: {asks} no ve a «dog», que viene después; su puntuación "
        f"pasa a −∞ y su peso, a 0.",
    )
    return table
