"""Una traducción del traductor del curso, y a qué mira cada palabra al escribirse."""

import drawsvg as draw

from course_lib.plots import palette as c
from imagenes.strokes import SMALL, WIDTH, card, chip, n, text

ENGLISH = ["I", "sent", "my", "brother", "a", "letter"]
SPANISH = ["Le", "mandé", "una", "carta", "a", "mi", "hermano"]
# Peso de cada palabra inglesa en cada española, en centésimas: última capa, media de las cabezas.
WEIGHTS = (
    (10, 71, 2, 1, 2, 1),
    (22, 47, 1, 1, 1, 1),
    (0, 1, 23, 1, 44, 25),
    (0, 1, 0, 2, 1, 90),
    (3, 5, 41, 10, 12, 6),
    (0, 2, 71, 23, 0, 1),
    (0, 0, 0, 98, 0, 0),
)
SHOWN = 8  # centésimas: por debajo, la línea no se dibuja


def aligned_translation(desc):
    """Las dos frases, una sobre otra, unidas por líneas tan gruesas como el peso."""
    drawing = card(330, "Una traducción y adónde mira cada palabra", desc)
    top, bottom = 84, 236
    text(drawing, 26, 34, "lo que escribe", SMALL, "start", colour=c.GREY)
    text(drawing, 26, 290, "lo que lee", SMALL, "start", colour=c.GREY)
    legend = "línea: peso de atención; en naranja, el mayor de cada palabra"
    text(drawing, WIDTH - 26, 290, legend, SMALL, "end", colour=c.GREY)
    above, below = places(SPANISH), places(ENGLISH)
    for row, (x, _) in zip(WEIGHTS, above):
        for weight, (end, _) in zip(row, below):
            if weight >= SHOWN:
                line(drawing, x, top + 19, end, bottom - 19, weight, weight == max(row))
    for words, boxes, y, colour in (
        (SPANISH, above, top, c.QUERY),
        (ENGLISH, below, bottom, c.KEY),
    ):
        for word, (x, width) in zip(words, boxes):
            chip(drawing, x, y, width, 38, word, colour, bold=True)
    return drawing


def line(drawing, x, y, end_x, end_y, weight, largest):
    """Una curva de arriba abajo, tan gruesa como el peso."""
    style = {
        "stroke": c.KEY if largest else c.GREY,
        "stroke_opacity": 0.9 if largest else 0.45,
        "stroke_width": n(weight / 8),
    }
    path = draw.Path(fill="none", **style)
    bend = (end_y - y) / 2
    drawing.append(path.M(n(x), y).C(n(x), y + bend, n(end_x), end_y - bend, n(end_x), end_y))


def places(words):
    """Centro y anchura de la caja de cada palabra, repartidas por todo el ancho."""
    widths = [30 + 12 * len(word) for word in words]
    gap = (WIDTH - 60 - sum(widths)) / (len(words) - 1)
    boxes, x = [], 30
    for width in widths:
        boxes.append((x + width / 2, width))
        x += width + gap
    return boxes
