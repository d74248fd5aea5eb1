"""El viaje de las formas: los tensores de la multicabeza, y un `einsum`, con la letra de cada eje."""

import drawsvg as draw
import torch

from course_lib import example
from course_lib.plots import palette as c
from imagenes.blocks import PRODUCT, SOFTMAX, SUM
from imagenes.strokes import SIZE, SMALL, arrow, card, line, n, text

LENGTH, WIDTH = example.X.shape  # L = 3 y d_model = 4: el ejemplo pequeño
HEADS = example.HEADS
D_K = WIDTH // HEADS
ROW = example.TOKENS.index("hungry")  # la fila que se sigue
SIDE = 20  # de una casilla
SHADES = (0.22, 0.6)  # la cabeza 0, clara; la 1, oscura
PLAIN = (0.35,)  # lo que no es de ninguna
BACK = 6  # lo que asoma la otra frase del lote


def cells(drawing, x, y, size, colour, shades=PLAIN, across=False, side=(SIDE, SIDE)):
    """Una tabla con su esquina en (x, y): sus columnas (o sus filas), repartidas entre las sombras."""
    rows, columns = size
    width, height = side[0] * columns, side[1] * rows
    frame = n(x), n(y), n(width), n(height)
    drawing.append(draw.Rectangle(*frame, fill=c.PAPER))
    for k, shade in enumerate(shades):
        wide, tall = (width, height / len(shades)) if across else (width / len(shades), height)
        corner = (n(x), n(y + k * tall)) if across else (n(x + k * wide), n(y))
        drawing.append(
            draw.Rectangle(*corner, n(wide), n(tall), fill=colour, fill_opacity=shade)
        )
    for j in range(1, columns):
        line(drawing, (x + j * side[0], y), (x + j * side[0], y + height), colour=c.PAPER, width=1.5)
    for i in range(1, rows):
        line(drawing, (x, y + i * side[1]), (x + width, y + i * side[1]), colour=c.PAPER, width=1.5)
    drawing.append(draw.Rectangle(*frame, fill="none", stroke=colour, stroke_width=2.5))


def sides(drawing, x, y, size, names, side=(SIDE, SIDE), above=17):
    """Lo que se cuenta a lo alto, a la izquierda, y a lo ancho, encima."""
    rows, columns = size
    text(drawing, x - 11, y + side[1] * rows / 2, names[0], SMALL, bold=True)
    text(drawing, x + side[0] * columns / 2, y - above, names[1], SMALL, bold=True)


def tensor(drawing, x, y, size, colour, shades=SHADES, names="", follow=True):
    """Una tabla y, detrás, la de la otra frase del lote; si se sigue, con su fila recuadrada."""
    rows, columns = size
    width, height = n(SIDE * columns), n(SIDE * rows)
    behind = draw.Rectangle(n(x + BACK), n(y - BACK), width, height, fill=c.MIST, stroke=c.GREY, stroke_width=1.5)
    drawing.append(behind)
    cells(drawing, x, y, size, colour, shades)
    if follow:
        row = draw.Rectangle(n(x), n(y + ROW * SIDE), width, SIDE, fill="none", stroke=c.INK, stroke_width=2.5)
        drawing.append(row)
    if names:
        sides(drawing, x, y, size, names)


def shape_trip(desc):
    """La multicabeza del ejemplo pequeño: proyectar y repartir, atender, y juntar y mezclar."""
    drawing = card(826, "El viaje de las formas por la multicabeza", desc)
    whole, part, square = (LENGTH, WIDTH), (LENGTH, D_K), (WIDTH, WIDTH)
    wide, tall, x0 = SIDE * WIDTH, SIDE * LENGTH, 128

    def band(top, words, formula, gap):
        """El título de una franja; da la altura de cada cabeza, la del medio y la de los nombres."""
        text(drawing, 24, top, words, SIZE, "start", bold=True)
        text(drawing, 776, top, formula, SMALL, "end")
        lanes = [top + 46, top + 46 + tall + gap]
        return lanes, (lanes[0] + lanes[1] + tall) / 2, lanes[1] + tall + 20

    def labels(y, *pairs):
        for x, words in pairs:
            text(drawing, x, y, words, SMALL)

    def sign(x, y, words):
        text(drawing, x, y, words, 24, bold=words == "·")

    lanes, middle, under = band(30, "1 · Proyectar y repartir", "X · W_Q; lo mismo, con W_K y W_V", 16)
    tensor(drawing, 70, middle - tall / 2, whole, c.GREY, PLAIN, f"{LENGTH}{WIDTH}")
    sign(186, middle, "·")
    cells(drawing, 228, middle - wide / 2, square, c.QUERY, SHADES)
    sides(drawing, 228, middle - wide / 2, square, f"{WIDTH}{WIDTH}", above=13)
    sign(342, middle, "=")
    tensor(drawing, 385, middle - tall / 2, whole, c.QUERY, names=f"{LENGTH}{WIDTH}")
    text(drawing, 520, middle - 16, "split", SMALL, bold=True)
    for head, y in enumerate(lanes):
        arrow(drawing, (385 + wide + 8, middle), (564, middle), (564, y + tall / 2), (624, y + tall / 2))
        tensor(drawing, 624, y, part, c.QUERY, SHADES[head : head + 1])
        text(drawing, 686, y + tall / 2, f"cabeza {head}", SMALL, "start")
    text(drawing, 645, lanes[0] - 17, f"{D_K}", SMALL, bold=True)
    labels(under, (112, "X  (B, L, d_{model})"), (270, "W_Q"), (427, "(B, L, h·d_k)"), (650, "Q  (B, h, L, d_k)"))

    lanes, middle, under = band(under + 42, "2 · Atender, cada cabeza por su lado", "softmax(Q·K^T ÷ √d_k) · V", 32)
    for head, y in enumerate(lanes):
        shade, centre = SHADES[head : head + 1], y + tall / 2
        text(drawing, 24, centre, f"cabeza {head}", SMALL, "start")
        tensor(drawing, x0, y, part, c.QUERY, shade, "qd")
        sign(190, centre, "·")
        tensor(drawing, 226, centre - D_K * SIDE / 2, part[::-1], c.KEY, shade, "dk", follow=False)
        sign(313, centre, "=")
        tensor(drawing, 348, y, (LENGTH, LENGTH), PRODUCT, shade, "qk")
        text(drawing, 460, centre - 19, "softmax", SMALL)
        sign(460, centre, "→")
        tensor(drawing, 512, y, (LENGTH, LENGTH), SOFTMAX, shade, "qk")
        sign(594, centre, "·")
        tensor(drawing, 626, y, part, c.VALUE, shade, "kd", follow=False)
        sign(688, centre, "=")
        tensor(drawing, 722, y, part, SUM, shade, "qd")
    labels(under, (149, "Q"), (257, "K^T"), (380, "(B, h, L, L)"), (543, "pesos"), (647, "V"), (730, "(B, h, L, d_v)"))

    lanes, middle, under = band(under + 42, "3 · Juntar y mezclar", "Concat · W_O", 16)
    text(drawing, 280, middle - 16, "join", SMALL, bold=True)
    for head, y in enumerate(lanes):
        text(drawing, 24, y + tall / 2, f"cabeza {head}", SMALL, "start")
        tensor(drawing, x0, y, part, SUM, SHADES[head : head + 1])
        arrow(drawing, (x0 + 2 * SIDE + 8, y + tall / 2), (244, y + tall / 2), (244, middle), (320, middle))
    tensor(drawing, 320, middle - tall / 2, whole, SUM)
    sign(440, middle, "·")
    cells(drawing, 478, middle - wide / 2, square, PRODUCT, SHADES, across=True)
    sign(592, middle, "=")
    tensor(drawing, 634, middle - tall / 2, whole, c.GREY, PLAIN)
    for head in range(HEADS):
        text(drawing, 320 + (head + 0.5) * SIDE * D_K, middle - tall / 2 - 19, f"{D_K}", SMALL, bold=True)
    labels(under, (149, "(B, h, L, d_v)"), (362, "(B, L, h·d_v)"), (520, "W_O"), (676, "(B, L, d_{model})"))
    text(drawing, 400, under + 38, "Recuadrada, la fila de «hungry». Detrás, en gris, otra frase del lote, b", SMALL)
    text(drawing, 400, under + 64, "q, los que preguntan;  k, los que responden;  d, los números de un vector", SMALL)
    return drawing


def letters(desc, row=1, column=2):
    """«ij,jm->im» con números: qué eje es cada letra, y cuál se suma."""
    drawing = card(372, "Un einsum, letra por letra", desc)
    left, right = torch.arange(6).view(2, 3), torch.arange(12).view(3, 4)
    colours = {"i": c.QUERY, "j": c.ORANGE, "m": c.KEY}
    tables = ((70, left, "ij"), (300, right, "jm"), (556, left @ right, "im"))
    side, y = (44, 32), 176
    where = {}
    for k, (x, values, names) in enumerate(tables):
        size = tuple(values.shape)
        middle, high = x + side[0] * size[1] / 2, y + side[1] * (3 - size[0]) / 2
        for m, name in enumerate(names):
            at = middle + 46 * (m - 0.5)
            chip_at(drawing, at, 46, name, colours[name])
            where[k, name] = at
        cells(drawing, x, high, size, c.GREY, (0,), side=side)
        lit = [(row, j) for j in range(3)], [(j, column) for j in range(3)], [(row, column)]
        for i in range(size[0]):
            for j in range(size[1]):
                if (i, j) in lit[k]:
                    spot = draw.Rectangle(n(x + j * side[0]), n(high + i * side[1]), *side, fill=c.YELLOW, fill_opacity=0.7)
                    drawing.append(spot)
                text(drawing, x + (j + 0.5) * side[0], high + (i + 0.5) * side[1], str(int(values[i, j])), SMALL, bold=(i, j) in lit[k])
        chip_at(drawing, x - 28, high + side[1] * size[0] / 2, names[0], colours[names[0]])
        chip_at(drawing, middle, high - 26, names[1], colours[names[1]])
    text(drawing, 251, 46, ",", 24, bold=True)
    text(drawing, 516, 46, "→", 24, bold=True)
    a, b = where[0, "j"], where[1, "j"]
    line(drawing, (a, 64), (a, 84), (b, 84), (b, 64), colour=colours["j"], width=3)
    text(drawing, (a + b) / 2, 103, "la misma letra: avanzan a la vez", SMALL)
    terms = [f"{left[row, j]}·{right[j, column]}" for j in range(3)]
    text(drawing, 400, 322, f"Fila i = {row}, columna m = {column}:  {' + '.join(terms)} = {(left @ right)[row, column]}", SIZE)
    text(drawing, 400, 350, "j no está a la derecha de la flecha: se suma; i y m se quedan", SMALL)
    return drawing


def chip_at(drawing, x, y, letter, colour):
    """La ficha de un eje."""
    drawing.append(draw.Rectangle(n(x - 17), n(y - 16), 34, 32, rx=8, fill=c.PAPER))
    tinted = draw.Rectangle(n(x - 17), n(y - 16), 34, 32, rx=8, fill=colour, fill_opacity=0.22, stroke=colour, stroke_width=2.5)
    drawing.append(tinted)
    text(drawing, x, y, letter, SIZE, bold=True)


def figures():
    """nombre del archivo → (función que lo dibuja, texto alternativo)."""
    return {
        "viaje-formas.svg": (
            shape_trip,
            "El viaje de las formas. Proyectar: X, de 3 × 4, por W_Q, de 4 × 4, y se parte por columnas, "
            "una mitad por cabeza. Atender: en cada una, Q (ejes q, d) por K traspuesta (d, k) da puntuaciones y "
            "pesos (q, k), que por V (k, d) dan la mezcla (q, d). Juntar: las mezclas se ponen en fila, y W_O "
            "devuelve la forma de X.",
        ),
        "einsum-letras.svg": (
            letters,
            "El einsum ij,jm->im con números. Las dos j van unidas. La fila i = 1 de una tabla por la columna "
            "m = 2 de la otra: 3·2 + 4·6 + 5·10 = 80.",
        ),
    }
