"""El ejemplo pequeño, dibujado: cada paso, con sus matrices y sus números."""

from dataclasses import dataclass
from functools import partial

import drawsvg as draw
from torch import isneginf

from course_lib.example import TARGET_TOKENS, TOKENS, W_K, W_Q, W_V, X
from course_lib.plots import palette as c
from course_lib.plots.inputs import number_text
from imagenes.blocks import MASK, PRODUCT, SCALE, SOFTMAX, SUM
from imagenes.example import D_K, steps, vector, written
from imagenes.strokes import MINIMUM, SIZE, SMALL, TINT, WIDTH, card, line, n, text

ROW = TOKENS.index("hungry")  # la fila que se sigue en todas
HEIGHT = 30  # de una casilla
HEADS = ("cabeza 0", "cabeza 1")


@dataclass
class Matrix:
    """Una matriz con su nombre encima; las casillas de `lit`, (fila, columna), señaladas."""

    values: object  # (filas, columnas)
    name: str
    colour: str
    rows: tuple = ()  # a la izquierda de cada fila
    columns: tuple = ()  # encima de cada columna, o de cada cabeza
    lit: tuple = ()
    shaded: bool = False  # cada casilla, tanto más viva cuanto mayor es su peso

    @property
    def size(self):
        return tuple(self.values.shape)

    @property
    def whole(self):
        return bool((self.values == self.values.round()).all()) and not self.shaded

    @property
    def cell(self):
        tokens = self.columns and len(self.columns) == self.size[1]
        if not self.whole and (self.values < 0).any():
            return 60
        return 56 if tokens or not self.whole else 37

    @property
    def width(self):
        return self.cell * self.size[1]

    @property
    def margin(self):
        """Lo que ocupan los nombres de las filas."""
        return 14 + max((9.6 * len(row) for row in self.rows), default=-14)

    @property
    def top(self):
        """Lo que ocupa lo que hay encima de las casillas."""
        return 46 if self.columns else 30

    def number(self, i, j):
        value = self.values[i, j]
        return written(value) if self.whole or value == 0 else number_text(float(value), 2)

    def draw(self, drawing, x, y):
        """Con la esquina de la primera casilla en (x, y)."""
        height, frame = HEIGHT * self.size[0], partial(draw.Rectangle, n(x), n(y), self.width)
        drawing.append(frame(height, fill=c.PAPER))
        if not self.shaded:
            drawing.append(frame(height, fill=self.colour, fill_opacity=TINT))
        for i in range(self.size[0]):
            for j in range(self.size[1]):
                self.square(drawing, x, y, i, j)
        for j in range(D_K, self.size[1], D_K):  # la raya entre las dos cabezas
            if len(self.columns) == len(HEADS) < self.size[1]:
                line(drawing, (x + j * self.cell, y), (x + j * self.cell, y + height), width=1.5)
        drawing.append(frame(height, fill="none", stroke=self.colour, stroke_width=2.5))
        text(drawing, x + self.width / 2, y - self.top + 14, self.name, SIZE, bold=True)
        for i, row in enumerate(self.rows):
            text(drawing, x - 9, y + HEIGHT * (i + 0.5), row, SMALL, "end")
        for j, column in enumerate(self.columns):
            part = self.width / len(self.columns)
            text(drawing, x + part * (j + 0.5), y - 11, column, MINIMUM)

    def square(self, drawing, x, y, i, j):
        """Una casilla: su fondo, si lo tiene, y su número."""
        left, top = x + j * self.cell, y + i * HEIGHT
        rectangle = partial(draw.Rectangle, n(left), n(top), self.cell, HEIGHT)
        lit = (i, j) in self.lit
        if self.shaded:
            shade = n(0.75 * float(self.values[i, j]))
            drawing.append(rectangle(fill=self.colour, fill_opacity=shade))
        if lit:
            drawing.append(rectangle(fill=c.YELLOW, fill_opacity=0.7))
        middle = (left + self.cell / 2, top + HEIGHT / 2)
        text(drawing, *middle, self.number(i, j), SMALL, bold=lit)


def measures(items):
    """Lo que ocupa una línea por encima de las casillas más altas, y esas casillas."""
    matrices = [item for item in items if isinstance(item, Matrix)]
    return max(m.top for m in matrices), HEIGHT * max(m.size[0] for m in matrices)


def draw_line(drawing, top, items):
    """Matrices y signos, uno tras otro y centrados; el signo puede llevar una palabra encima."""
    sizes = [
        item.margin + item.width
        if isinstance(item, Matrix)
        else 24 + 10 * max(map(len, item.split("\n")))
        for item in items
    ]
    head, tall = measures(items)
    x, middle = (WIDTH - sum(sizes)) / 2, top + head + tall / 2
    for item, size in zip(items, sizes, strict=True):
        if isinstance(item, Matrix):
            item.draw(drawing, x + item.margin, middle - HEIGHT * item.size[0] / 2)
        else:
            *above, sign = item.split("\n")
            text(drawing, x + size / 2, middle, sign, 22)
            for words in above:
                text(drawing, x + size / 2, middle - 24, words, SMALL)
        x += size


def picture(title, lines, *captions):
    """La función que dibuja unas líneas de matrices con su pie."""

    def drawn(desc):
        heights = [sum(measures(items)) + 22 for items in lines]
        drawing = card(20 + sum(heights) + 28 * len(captions), title, desc)
        top = 20
        for items, height in zip(lines, heights, strict=True):
            draw_line(drawing, top, items)
            top += height
        for i, words in enumerate(captions):
            text(drawing, WIDTH / 2, top + 4 + 28 * i, words, SMALL)
        return drawing

    return drawn


def product(left, right):
    """«1·0 + 1·(−1) = −1»: una fila por una columna, término a término."""

    def term(value, decimals):
        words = number_text(float(value), decimals)
        return f"({words})" if words.startswith("−") else words

    decimals = [0 if bool((v == v.round()).all()) else 2 for v in (left, right)]
    terms = (
        f"{term(a, decimals[0])}·{term(b, decimals[1])}" for a, b in zip(left, right, strict=True)
    )
    return f"{' + '.join(terms)} = {written(left @ right)}"


def cells(row=None, column=None, size=4):
    """Las casillas de una fila o de una columna."""
    return tuple((row, i) if column is None else (i, column) for i in range(size))


def projections():
    """X por W_Q, W_K y W_V."""
    s, last = steps(), len(X[0])
    lines = [
        (
            Matrix(X, "X", c.GREY, TOKENS, lit=cells(row=ROW)),
            "·",
            Matrix(matrix, f"W_{name}", colour, (), HEADS, lit=cells(column=0)),
            "=",
            Matrix(result, name, colour, TOKENS, HEADS, lit=((ROW, 0),)),
        )
        for name, matrix, result, colour in (
            ("Q", W_Q, s.Q, c.QUERY),
            ("K", W_K, s.K, c.KEY),
            ("V", W_V, s.V, c.VALUE),
        )
    ]
    assert last == 2 * D_K
    caption = f"Lo señalado, en Q: {product(X[ROW], W_Q[:, 0])}"
    return picture("Del vector de cada palabra a Q, K y V", lines, caption)


def scores():
    s = steps()
    best = int(s.scores[0, ROW].argmax())
    lines = [
        (
            Matrix(s.q[h], "Q", c.QUERY, TOKENS, lit=cells(row=ROW, size=2) * (1 - h)),
            "·",
            Matrix(s.k[h].T, "K^T", c.KEY, (), TOKENS, lit=cells(column=best, size=2) * (1 - h)),
            "=",
            Matrix(
                s.scores[h],
                f"puntuaciones, {HEADS[h]}",
                PRODUCT,
                TOKENS,
                TOKENS,
                lit=((ROW, best),) * (1 - h),
            ),
        )
        for h in range(2)
    ]
    caption = f"Lo señalado: {product(s.q[0, ROW], s.k[0, best])}"
    return picture("Las puntuaciones de cada cabeza", lines, caption)


def softmaxes(case):
    """De las puntuaciones a los pesos; con la máscara, de las escaladas a los pesos."""
    s = steps(case)
    lines = []
    for h in range(2):
        scaled = Matrix(s.scaled[h], "escaladas", SCALE, (), TOKENS)
        weights = Matrix(s.weights[h], f"pesos, {HEADS[h]}", SOFTMAX, (), TOKENS, shaded=True)
        if case == "causal":
            scaled.rows = TOKENS
            hidden = tuple(map(tuple, isneginf(s.masked[h]).nonzero().tolist()))
            masked = Matrix(s.masked[h], "con máscara", MASK, (), TOKENS, lit=hidden)
            lines.append((scaled, "tapar\n→", masked, "softmax\n→", weights))
        else:
            start = Matrix(s.scores[h], "puntuaciones", PRODUCT, TOKENS, TOKENS)
            lines.append((start, "÷ √2\n→", scaled, "softmax\n→", weights))
    total = " + ".join(number_text(w, 2) for w in s.weights[0, ROW].tolist() if w)
    caption = f"Cada fila suma 1. La de «{TOKENS[ROW]}», en la cabeza 0: {total} = 1"
    title = (
        "Los pesos, con máscara causal" if case == "causal" else "De las puntuaciones a los pesos"
    )
    return picture(title, lines, caption)


def mixtures():
    s = steps()
    lines = [
        (
            Matrix(
                s.weights[h],
                f"pesos, {HEADS[h]}",
                SOFTMAX,
                TOKENS,
                TOKENS,
                shaded=True,
                lit=cells(row=ROW, size=3) * (1 - h),
            ),
            "·",
            Matrix(s.v[h], "V", c.VALUE, TOKENS, lit=cells(column=0, size=3) * (1 - h)),
            "=",
            Matrix(s.output[h], "salida", SUM, TOKENS, lit=((ROW, 0),) * (1 - h)),
        )
        for h in range(2)
    ]
    caption = f"Lo señalado: {product(s.weights[0, ROW], s.v[0, :, 0])}"
    return picture("La mezcla de los values en cada cabeza", lines, caption)


def heads():
    s = steps()
    lit = cells(row=ROW, size=2)
    outputs = [
        Matrix(s.output[h], HEADS[h], SUM, TOKENS if not h else (), lit=lit) for h in range(2)
    ]
    joined = Matrix(s.concat, "concat", SUM, (), HEADS, lit=cells(row=ROW))
    caption = (
        f"La fila de «{TOKENS[ROW]}»: {decimals(s.output[0, ROW])} y, detrás, "
        f"{decimals(s.output[1, ROW])}. Son cuatro números, como en X"
    )
    return picture(
        "Las dos cabezas, una tras otra", [(outputs[0], "y", outputs[1], "→", joined)], caption
    )


def crossing():
    s = steps("cruzada")
    best = int(s.weights[0, 1].argmax())
    first = (
        Matrix(s.x, "X_D", c.GREY, ("entra <s>, predice el", "entra el, predice perro")),
        "·",
        Matrix(W_Q, "W_Q", c.QUERY, (), HEADS),
        "=",
        Matrix(s.Q, "Q", c.QUERY, (), HEADS),
    )
    lines = [first]
    for h in range(2):
        lit = ((1, best),) * (1 - h)
        lines.append(
            (
                Matrix(s.q[h], "Q", c.QUERY, TARGET_TOKENS),
                "·",
                Matrix(s.k[h].T, "K^T", c.KEY, (), TOKENS),
                "=",
                Matrix(s.scores[h], "puntuaciones", PRODUCT, (), TOKENS),
                "→",
                Matrix(
                    s.weights[h], f"pesos, {HEADS[h]}", SOFTMAX, (), TOKENS, shaded=True, lit=lit
                ),
            )
        )
    caption = f"Entra «el», que va a predecir «perro»: en la cabeza 0 mira a «{TOKENS[best]}»"
    return picture("La atención cruzada: dos preguntan, tres responden", lines, caption)


def decimals(values):
    return f"({', '.join(number_text(value, 2) for value in values.tolist())})"


def figures():
    """nombre del archivo → (función que lo dibuja, texto alternativo)."""
    s, hidden, cross = steps(), steps("causal"), steps("cruzada")
    asks = f"«{TOKENS[ROW]}»"
    rows = f"una fila por palabra, «{TOKENS[0]}», «{TOKENS[1]}» y «{TOKENS[2]}»"
    return {
        "ejemplo-x-qkv.svg": (
            projections(),
            f"El ejemplo pequeño: X, {rows}, por W_Q, por W_K y por W_V da Q, K y V, con dos columnas "
            f"para cada cabeza. La fila de {asks} es {vector(X[ROW])} en X, {vector(s.Q[ROW])} en Q, "
            f"{vector(s.K[ROW])} en K y {vector(s.V[ROW])} en V.",
        ),
        "ejemplo-puntuaciones.svg": (
            scores(),
            f"En cada cabeza, Q por K traspuesta da una tabla de puntuaciones de tres por tres: una fila "
            f"por palabra que pregunta y una columna por palabra que responde. La fila de {asks} es "
            f"{vector(s.scores[0, ROW])} en la cabeza 0 y {vector(s.scores[1, ROW])} en la 1.",
        ),
        "ejemplo-pesos.svg": (
            softmaxes("entera"),
            f"En cada cabeza, las puntuaciones se dividen por la raíz de 2 y la softmax las convierte "
            f"en pesos. La fila de {asks}, en la cabeza 0, pasa de {vector(s.scores[0, ROW])} a "
            f"{decimals(s.scaled[0, ROW])} y a {decimals(s.weights[0, ROW])}; en la 1, los pesos son "
            f"{decimals(s.weights[1, ROW])}.",
        ),
        "ejemplo-mascara.svg": (
            softmaxes("causal"),
            f"Los pesos con máscara causal: en las puntuaciones escaladas, lo que está por encima de la "
            f"diagonal pasa a −∞, y su peso es 0. La fila de {asks}, que ya no ve a «{TOKENS[2]}», es "
            f"{decimals(hidden.weights[0, ROW])} en la cabeza 0 y "
            f"{decimals(hidden.weights[1, ROW])} en la 1.",
        ),
        "ejemplo-mezcla.svg": (
            mixtures(),
            f"En cada cabeza, los pesos por V dan una salida de dos números por palabra. La de {asks} es "
            f"{decimals(s.output[0, ROW])} en la cabeza 0 y {decimals(s.output[1, ROW])} en la 1.",
        ),
        "ejemplo-cabezas.svg": (
            heads(),
            f"Las salidas de las dos cabezas, de dos columnas, se ponen una tras otra y dan concat, de "
            f"cuatro: la fila de {asks} es {decimals(s.concat[ROW])}.",
        ),
        "ejemplo-cruzada.svg": (
            crossing(),
            f"La atención cruzada del ejemplo: preguntan los dos tokens del decoder, la marca de inicio y «el», y "
            f"responden las tres palabras del origen. X_D por W_Q da Q; Q por la K traspuesta de antes da "
            f"puntuaciones de dos por tres. En la cabeza 0, la fila en la que entra «el» y se predice "
            f"«perro» reparte sus pesos así: {decimals(cross.weights[0, 1])}, y el mayor es el de «dog».",
        ),
    }
