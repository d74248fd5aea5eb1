"""Las escenas: el producto escalar, la fórmula, el mapa, la suma ponderada, el camino…"""

from functools import partial
from math import cos, degrees, radians, sin

import drawsvg as draw

from course_lib.plots import palette as c
from imagenes.animations import SIGNS, reading, sign_at
from imagenes.blocks import INPUTS, MASK, PRODUCT, SCALE, SOFTMAX
from imagenes.strokes import (
    MINIMUM,
    SIZE,
    SMALL,
    WIDTH,
    arrow,
    band,
    box,
    card,
    chip,
    line,
    n,
    text,
)


def still_dot_product(desc, norms=(3, 2), angles=(30, 90, 150)):
    """Tres instantes del producto escalar: positivo, cero y negativo."""
    norm_u, norm_v = norms
    drawing = card(352, "El producto escalar con tres ángulos", desc)
    scale, width = 46, 254
    for column, turn in enumerate(angles):
        left = 19 + column * width
        theta = radians(turn)
        colour, verdict = SIGNS[sign_at(turn)]
        cosine, product = reading(norms, turn)
        x, y = left + {0: 50, 1: 52, 2: 92}[column], 206
        tip = (x + norm_v * scale * cos(theta), y - norm_v * scale * sin(theta))
        chip(
            drawing,
            left + width / 2,
            46,
            width - 14,
            40,
            verdict.split(":")[0] + f": θ = {turn}°",
            colour,
            bold=True,
        )
        line(drawing, tip, (tip[0], y + 20), colour=c.GREY, width=1.5, dash="5 4")
        line(drawing, (x, y + 16), (tip[0], y + 16), colour=colour, width=9)
        radius = 30
        drawing.append(
            draw.Path(fill="none", stroke=c.INK, stroke_width=2)
            .M(x + radius, y)
            .A(radius, radius, 0, 0, 0, n(x + radius * cos(theta)), n(y - radius * sin(theta)))
        )
        text(drawing, x + 46 * cos(theta / 2), y - 46 * sin(theta / 2), "θ", SMALL)
        arrow(drawing, (x, y), (x + norm_u * scale, y), colour=c.QUERY, width=5, head=18)
        arrow(drawing, (x, y), tip, colour=c.KEY, width=5, head=18)
        text(drawing, x + norm_u * scale + 14, y, "u", 20, bold=True)
        text(drawing, tip[0] + 18 * cos(theta), tip[1] - 16, "v", 20, bold=True)
        text(drawing, left + width / 2, 256, f"cos θ = {cosine}", SIZE)
        text(drawing, left + width / 2, 286, f"u·v = {product}", 20, bold=True)
    text(
        drawing,
        WIDTH / 2,
        325,
        f"u·v = ‖u‖ ‖v‖ cos θ, con ‖u‖ = {norm_u} y ‖v‖ = {norm_v}. "
        "La barra: la proyección de v sobre u",
        SMALL,
    )
    return drawing


def shadows(desc, query=(2, 0), keys=((3, 3), (1, 0.2), (-1, 1.6))):
    """La sombra de cada key en la recta de la query, y el producto que sale de ella."""
    drawing = card(372, "La sombra de cada key en la recta de la query", desc)
    scale, x0, y0 = 84, 196, 282

    def at(x, y):
        return x0 + scale * x, y0 - scale * y

    line(drawing, at(-1.8, 0), at(3.4, 0), colour=c.GREY, width=1.5)
    for row, (x, y) in enumerate(keys):
        colour, _ = SIGNS[(x > 0) - (x < 0)]
        below = 14 + 13 * row
        line(drawing, at(x, y), (at(x, 0)[0], y0 + below), colour=c.GREY, width=1.5, dash="5 4")
        line(drawing, (x0, y0 + below), (at(x, 0)[0], y0 + below), colour=colour, width=9)
        arrow(drawing, (x0, y0), at(x, y), colour=c.KEY, width=5, head=18)
        (left, top), aside = at(x, y), 22 if x > 0 else -22
        text(drawing, left + aside, top - 6, "ABC"[row], 20, bold=True)
    arrow(drawing, (x0, y0), at(*query), colour=c.QUERY, width=5, head=18)
    text(drawing, at(*query)[0] + 18, y0 - 16, "q", 20, bold=True)
    text(drawing, 648, 96, "norma de q · sombra = producto", SMALL)
    for row, (x, _) in enumerate(keys):
        colour, _ = SIGNS[(x > 0) - (x < 0)]
        times, product = (f"({x})" if x < 0 else f"{x}", query[0] * x)
        words = f"{'ABC'[row]}: {query[0]} · {times} = {product}".replace("-", "−")
        chip(drawing, 648, 140 + 54 * row, 220, 42, words, colour)
    return drawing


def clocks(desc, pairs=(0, 2, 4), width=32):
    """Las agujas de tres pares en las cinco primeras posiciones: (seno, coseno), desde las doce."""
    drawing = card(404, "Cada par de dimensiones, una aguja que gira a su ritmo", desc)
    for position in range(5):
        text(drawing, 268 + 118 * position, 40, f"posición {position}", SMALL)
    for row, pair in enumerate(pairs):
        rate, y = 10_000 ** (-2 * pair / width), 112 + 112 * row
        text(drawing, 104, y - 14, f"par {pair}", 20, bold=True)
        text(drawing, 104, y + 14, f"gira {round(degrees(rate))}° por lugar", SMALL)
        for position in range(5):
            x, turned = 268 + 118 * position, rate * position
            drawing.append(draw.Circle(x, y, 42, fill=c.PAPER, stroke=c.GREY, stroke_width=2))
            tip = (x + 38 * sin(turned), y - 38 * cos(turned))
            line(drawing, (x, y), tip, colour=c.QUERY, width=6)
    return drawing


def root(drawing, x, y, words, size):
    """Raíz cuadrada con centro en (x, y): el signo se traza y el radicando es texto."""
    half, top, bottom = 0.75 * size, y - 0.72 * size, y + 0.55 * size
    line(
        drawing,
        (x - half - 18, y + 2),
        (x - half - 13, y - 2),
        (x - half - 5, bottom),
        (x - half + 3, top),
        (x + half + 12, top),
    )
    text(drawing, x + 6, y, words, size, bold=True)


def bracket(drawing, x, y, height, side):
    """Paréntesis grande; side es −1 para el que abre y 1 para el que cierra."""
    half = height / 2
    drawing.append(
        draw.Path(fill="none", stroke=c.INK, stroke_width=3, stroke_linecap="round")
        .M(n(x), n(y - half))
        .Q(n(x + side * 16), n(y), n(x), n(y + half))
    )


def fraction(drawing, x, y):
    """Q·Kᵀ sobre √d_k, cada pieza con su color."""
    chip(drawing, x, y - 38, 152, 60, "", PRODUCT)
    chip(drawing, x - 37, y - 38, 60, 44, "Q", c.QUERY, size=26, bold=True)
    chip(drawing, x + 37, y - 38, 60, 44, "K^T", c.KEY, size=26, bold=True)
    line(drawing, (x - 80, y), (x + 80, y), width=3)
    chip(drawing, x, y + 38, 152, 60, "", SCALE)
    root(drawing, x + 6, y + 40, "d_k", 26)


def sdpa_formula(desc):
    """La fórmula de la atención (Vaswani et al. 2017, ecuación 1), con un color para cada pieza."""
    drawing = card(340, "Fórmula de Scaled Dot-Product Attention", desc)
    y = 166
    text(drawing, 30, y, "Atención(Q, K, V)", 24, "start", bold=True)
    text(drawing, 298, y, "=", 24, bold=True)
    chip(drawing, 494, y, 352, 168, "", SOFTMAX, rx=16)
    text(drawing, 392, y, "softmax", 26, bold=True)
    bracket(drawing, 470, y, 128, -1)
    fraction(drawing, 560, y)
    bracket(drawing, 650, y, 128, 1)
    chip(drawing, 716, y, 60, 60, "V", c.VALUE, size=28, bold=True)
    for x, start, label_y, words in (
        (392, y + 84, 292, "pesos: cada\nfila suma 1"),
        (560, y + 68, 292, "no depende\nde la anchura"),
        (716, y + 30, 292, "suma ponderada\nde values"),
        (560, y - 68, 36, "cada query con cada key"),
    ):
        up = label_y < y
        line(drawing, (x, start), (x, label_y + 14 if up else label_y - 26), colour=c.GREY, width=2)
        for i, words_line in enumerate(words.split("\n")):
            text(drawing, x, label_y + (0 if up else i * 22 - 11), words_line, SMALL)
    text(drawing, 30, 292, "forma: (B, L_q, d_v)", SMALL, "start")
    return drawing


LESSONS = (
    ("Empieza aquí", c.MIST),
    ("Producto escalar", PRODUCT),
    ("De la frase a Q, K, V", c.QUERY),
    ("Softmax y escalado", SOFTMAX),
    ("Máscaras", MASK),
    ("La atención entera", c.VALUE),
    ("Multicabeza", c.MIST),
    ("Multicabeza a mano", c.MIST),
    ("Multicabeza\nenmascarada", c.MIST),
    ("Encoder–decoder", c.MIST),
    ("Transformer completo", c.MIST),
    ("El traductor", c.MIST),
    ("Dentro de BERT", c.MIST),
    ("La atención barata", c.MIST),
    ("Leer un LLM", c.MIST),
    ("Dentro de un LLM", c.MIST),
    ("Se ve y se oye", c.MIST),
)


def badge(drawing, x, y, number):
    """El número de una lección, en un círculo de tinta."""
    drawing.append(draw.Circle(n(x), n(y), 16, fill=c.INK, stroke=c.PAPER, stroke_width=2))
    text(drawing, x, y, f"{number:02}", MINIMUM, bold=True, colour=c.PAPER)


def course_map(desc):
    """Las lecciones, y en la fórmula el número de la que explica cada pieza."""
    drawing = card(688, "Mapa del curso", desc)
    y = 132
    chip(drawing, 366, y, 572, 168, "", SOFTMAX, rx=16)
    text(drawing, 144, y, "softmax", 24, bold=True)
    bracket(drawing, 218, y, 128, -1)
    fraction(drawing, 330, y)
    text(drawing, 434, y, "+", 28, bold=True)
    chip(drawing, 534, y, 152, 60, "máscara", MASK, size=24, bold=True)
    bracket(drawing, 624, y, 128, 1)
    chip(drawing, 702, y, 64, 64, "V", c.VALUE, size=28, bold=True)
    for x, dy, number in (
        (330, -68, 1),
        (252, -38, 2),
        (408, -38, 2),
        (702, -32, 2),
        (408, 38, 3),
        (534, -30, 4),
        (146, -84, 3),
        (702, 32, 5),
    ):
        badge(drawing, x, y + dy, number)
    for row, caption in enumerate(
        ("Una cabeza de atención", "", "Varias cabezas", "El modelo completo y la atención de hoy")
    ):
        top = (262, 318, 404, 490)[row]
        if caption:
            text(drawing, 26, top, caption, SIZE, "start", bold=True)
    for number, (name, colour) in enumerate(LESSONS):
        row, column = divmod(number, 3)
        x, top = 26 + 254 * column, (300, 356, 442, 528, 584, 640)[row]
        plain = {"border": c.INK, "tint": 1, "stroke": 2} if colour == c.MIST else {}
        chip(drawing, x + 120, top, 240, 44, "", colour, rx=21, **plain)
        badge(drawing, x + 22, top, number)
        lines = name.split("\n")
        for i, words in enumerate(lines):
            text(drawing, x + 43, top + 18 * (i - (len(lines) - 1) / 2), words, SMALL, "start")
        if column < 2 and number < len(LESSONS) - 1:
            arrow(drawing, (x + 240, top), (x + 254, top))
    return drawing


# Fila «it» de la capa 3, cabeza 1 (contando desde 0) de all-MiniLM-L6-v2 con la frase
# "I gave the dog a bone because it was hungry": el token, su peso de atención y los
# 8 primeros de los 32 números de su value.
WEIGHTED_SUM = (
    ("[CLS]", 0.0785, (0.09, -0.01, -0.01, -0.00, 0.05, 0.01, -0.01, 0.03)),
    ("i", 0.0054, (0.07, -0.14, -0.30, 0.49, -0.11, -0.58, 0.18, 0.38)),
    ("gave", 0.0143, (-0.71, -0.95, -0.13, -0.10, 0.12, -1.14, 0.01, -0.60)),
    ("the", 0.0484, (-0.09, 0.46, 0.01, 0.02, -0.42, 0.29, -0.67, -0.57)),
    ("dog", 0.5315, (0.51, 1.00, -0.61, 0.12, 0.45, 0.44, -0.66, -0.69)),
    ("a", 0.0012, (-0.43, 0.85, 0.38, 0.53, -0.31, 0.35, -0.13, -0.90)),
    ("bone", 0.2194, (0.35, 0.49, 0.56, -0.12, 0.25, 0.51, 0.40, 0.01)),
    ("because", 0.0013, (0.39, -1.28, -0.34, 0.65, 0.38, 0.14, -0.43, 0.28)),
    ("it", 0.0467, (0.79, 0.23, -0.46, -0.45, -1.11, 0.72, -1.33, -1.18)),
    ("was", 0.0007, (0.11, -0.18, 0.41, 0.80, -0.19, -0.24, 0.30, -0.04)),
    ("hungry", 0.0272, (0.33, 0.80, -0.63, 0.84, 0.29, -1.48, -0.47, -0.12)),
    ("[SEP]", 0.0252, (0.59, -0.04, -0.16, -0.60, -0.07, -0.29, -1.32, 0.43)),
)


def strip(drawing, x, y, values, border, top, cell=22, width=2):
    """Un vector como tira de casillas: morado lo positivo y naranja lo negativo.

    La viveza sigue la raíz cuadrada del tamaño, para que también se vean los pequeños.
    """
    frame = partial(draw.Rectangle, n(x), n(y - cell / 2), cell * len(values), cell)
    drawing.append(frame(fill=c.PAPER))
    for i, value in enumerate(values):
        strength = round((abs(value) / top) ** 0.5, 2)
        drawing.append(
            draw.Rectangle(
                n(x + i * cell),
                n(y - cell / 2),
                cell,
                cell,
                fill=c.PURPLE if value >= 0 else c.ORANGE,
                fill_opacity=strength,
            )
        )
    drawing.append(frame(fill="none", stroke=border, stroke_width=width))


def weighted_sum(desc, table=WEIGHTED_SUM, row="it"):
    """El segundo producto: cada value por su peso, y la suma de todos."""
    pitch, first = 32, 86
    last = first + pitch * (len(table) - 1)
    drawing = card(last + 148, f"La salida de «{row}»: una suma ponderada de values", desc)
    values_x, products_x, size = 330, 562, 22
    top = max(abs(value) for *_, values in table for value in values)
    strongest = sorted(weight for _, weight, _ in table)[-2]
    for x, anchor, words in (
        (110, "end", "token"),
        (124, "start", "peso"),
        (values_x + 88, "middle", "value (8 de 32)"),
        (products_x + 88, "middle", "peso × value"),
    ):
        text(drawing, x, 44, words, SIZE, anchor, bold=True)
    for i, (token, weight, values) in enumerate(table):
        y = first + i * pitch
        if weight >= strongest:
            band(drawing, y, pitch)
        text(drawing, 110, y, token, SIZE, "end", bold=weight >= strongest)
        drawing.append(draw.Rectangle(124, y - 9, n(220 * weight), 18, fill=c.SKY))
        text(drawing, 132 + 220 * weight, y, f"{weight:.2f}", SMALL, "start")
        text(drawing, values_x - 20, y, "×")
        strip(drawing, values_x, y, values, c.VALUE, top)
        text(drawing, (values_x + 176 + products_x) / 2, y, "=")
        strip(drawing, products_x, y, [weight * value for value in values], c.GREY, top, width=1)
    output = [sum(weight * values[i] for _, weight, values in table) for i in range(8)]
    y = last + 92
    arrow(drawing, (products_x + 88, last + 16), (products_x + 88, y - 14), width=3, head=13)
    text(drawing, products_x + 104, last + 46, "se suman", SMALL, "start")
    strip(drawing, products_x, y, output, c.INK, top, size, width=4)
    text(drawing, products_x - 16, y, f"salida de «{row}»", SIZE, "end", bold=True)
    text(drawing, 36, y - 40, "capa 3, cabeza 1", SMALL, "start")
    for x, value, words in ((36, -1, "negativo"), (172, 1, "positivo")):
        strip(drawing, x, y, (value,), c.GREY, 1, width=1)
        text(drawing, x + 32, y, words, SMALL, "start")
    return drawing


# La misma fila con "it was hungry" y con "it was old".
TWO_SENTENCES = (
    tuple((token, weight) for token, weight, _ in WEIGHTED_SUM),
    (
        ("[CLS]", 0.0503),
        ("i", 0.0011),
        ("gave", 0.0077),
        ("the", 0.0057),
        ("dog", 0.2090),
        ("a", 0.0016),
        ("bone", 0.6896),
        ("because", 0.0008),
        ("it", 0.0125),
        ("was", 0.0005),
        ("old", 0.0073),
        ("[SEP]", 0.0139),
    ),
)


def changes_its_mind(desc, rows=TWO_SENTENCES, query="it"):
    """Los pesos de una misma query en dos frases que solo se distinguen en una palabra."""
    drawing = card(476, f"A quién atiende «{query}»", desc)
    pitch, tall = 61, 170
    for panel, row in enumerate(rows):
        floor = 184 + 226 * panel
        (changed,) = {token for token, _ in row} - {token for token, _ in rows[1 - panel]}
        winner = max(weight for _, weight in row)
        text(drawing, 36, floor - 138, f"… because it was {changed}", 20, "start", bold=True)
        line(drawing, (30, floor), (770, floor), colour=c.GREY, width=2)
        for i, (token, weight) in enumerate(row):
            x, best = 64 + pitch * i, weight == winner
            style = {"stroke": c.INK, "stroke_width": 3} if best else {"fill_opacity": 0.6}
            height = n(tall * weight)
            drawing.append(
                draw.Rectangle(x - 20, n(floor - height), 40, height, fill=c.SKY, **style)
            )
            text(
                drawing,
                x,
                floor - height - 14,
                f"{weight:.2f}",
                SMALL if best else MINIMUM,
                bold=best,
            )
            if token == query:
                chip(drawing, x, floor + 22, 44, 30, "", c.QUERY)
            elif best:
                drawing.append(
                    draw.Rectangle(
                        x - 26, floor + 7, 52, 30, rx=10, fill=c.YELLOW, fill_opacity=0.45
                    )
                )
            text(drawing, x, floor + 22, token, MINIMUM, bold=best or token in (query, changed))
    text(drawing, 764, 46, "capa 3, cabeza 1", SMALL, "end")
    return drawing


# Los tokens de la frase que se dibujan: posición, token, id y los 4 primeros números de su fila en
# la tabla de tokens y en la de posiciones de all-MiniLM-L6-v2.
SENTENCE = "I gave the dog a bone because it was hungry"
PATH = (
    (0, "[CLS]", 101, (-0.018, -0.008, 0.047, -0.087), (-0.086, -0.033, -0.017, 0.104)),
    (1, "i", 1045, (-0.045, -0.058, -0.002, 0.048), (-0.033, 0.002, 0.021, 0.019)),
    (2, "gave", 2435, (-0.010, 0.095, -0.065, -0.011), (-0.013, -0.010, 0.032, -0.015)),
    (3, "the", 1996, (-0.004, -0.020, 0.009, 0.016), (-0.023, 0.001, 0.029, -0.016)),
    (4, "dog", 3899, (0.021, 0.012, 0.074, -0.114), (-0.031, 0.016, 0.033, 0.000)),
    (11, "[SEP]", 102, (0.033, -0.009, -0.040, 0.010), (-0.029, 0.004, 0.024, 0.026)),
)


def sentence_path(desc, sentence=SENTENCE, table=PATH):
    """De la frase a X, y de X a Q, K y V por tres proyecciones."""
    drawing = card(680, "De la frase a Q, K y V", desc)
    centre = 484
    rows = {
        "frase": 44,
        "tokens": 108,
        "ids": 168,
        "tabla de tokens": 228,
        "+ posición": 276,
        "= X": 330,
    }
    for name, y in rows.items():
        text(drawing, 26, y, name, SMALL, "start", bold=True)
    box(drawing, centre, rows["frase"], 596, 42, sentence)
    columns = [226 + 92 * i + (56 if i == len(table) - 1 else 0) for i in range(len(table))]
    gap = (columns[-2] + columns[-1]) / 2
    top = max(
        abs(value)
        for *_, token, place in table
        for a, b in zip(token, place, strict=True)
        for value in (a, b, a + b)
    )
    for x, (position, token, number, by_token, by_position) in zip(columns, table, strict=True):
        if token.startswith("["):  # los especiales no vienen de la frase: los añade el tokenizador
            chip(drawing, x, rows["tokens"], 80, 36, token, c.GREY, size=SMALL, dash="6 4")
        else:
            arrow(drawing, (x, 65), (x, 90), head=9, width=2)
            chip(drawing, x, rows["tokens"], 80, 36, token, c.SKY, size=SMALL)
        arrow(drawing, (x, 126), (x, 150), head=9, width=2)
        box(drawing, x, rows["ids"], 80, 36, str(number), fill=c.PAPER, size=SMALL)
        arrow(drawing, (x, 186), (x, 217), head=9, width=2)
        strip(drawing, x - 36, rows["tabla de tokens"], by_token, c.INK, top, cell=18)
        strip(drawing, x - 36, rows["+ posición"], by_position, c.GREY, top, cell=18)
        text(drawing, x, 252, f"+ pos. {position}", MINIMUM)
        line(drawing, (x - 44, 300), (x + 44, 300), width=2)
        strip(
            drawing,
            x - 36,
            rows["= X"],
            [a + b for a, b in zip(by_token, by_position, strict=True)],
            c.INK,
            top,
            cell=18,
            width=3,
        )
    for y in (
        rows["tokens"],
        rows["ids"],
        rows["tabla de tokens"],
        rows["+ posición"],
        rows["= X"],
    ):
        text(drawing, gap, y, "…", SIZE)
    text(
        drawing, centre, 368, "X: una fila por token (BERT suma además el tipo y normaliza)", SMALL
    )
    for y, value, words in ((368, -1, "negativo"), (394, 1, "positivo")):
        strip(drawing, 26, y, (value,), c.GREY, 1, width=1)
        text(drawing, 58, y, words, SMALL, "start")
    arrow(drawing, (centre, 382), (centre, 412))
    box(drawing, centre, 434, 230, 44, "X  (B, L, d_{model})", fill=c.PAPER, stroke=3, bold=True)
    text(drawing, 26, 434, "tres copias", SMALL, "start", bold=True)
    text(drawing, 26, 528, "proyecciones", SMALL, "start", bold=True)
    for (letter, colour, dim, _), x in zip(
        INPUTS, (centre - 210, centre, centre + 210), strict=True
    ):
        turn = (
            ((centre + (x - centre) / 3, 456), (centre + (x - centre) / 3, 480), (x, 480))
            if x != centre
            else ((x, 456),)
        )
        arrow(drawing, *turn, (x, 506), colour=colour, width=3.5, head=13)
        chip(drawing, x, 528, 120, 44, f"· W_{letter}", colour, bold=True)
        arrow(drawing, (x, 550), (x, 588), colour=colour, width=3.5, head=13)
        chip(drawing, x, 618, 176, 60, "", colour)
        text(drawing, x, 604, letter, 22, bold=True)
        text(drawing, x, 632, f"(B, L, {dim})")
    return drawing
