"""La atención de hoy: lo que se guarda, lo que se comparte, lo que gira y la capa que lo junta."""

from math import cos, exp, radians, sin

import drawsvg as draw

from course_lib.plots import palette as c
from course_lib.plots.inputs import number_text
from imagenes.blocks import PRODUCT, SCALE, SOFTMAX
from imagenes.strokes import (
    MINIMUM,
    SIZE,
    SMALL,
    WIDTH,
    arrow,
    block,
    box,
    card,
    chip,
    line,
    n,
    text,
)

TOKENS = ("<s>", "Le", "di", "a")
TRIANGLE = [t * (t + 1) // 2 for t in range(1, len(TOKENS) + 1)]  # los pesos de cada paso


def square(drawing, x, y, size, colour, words="", kept=False):
    """Una casilla: de color si se calcula ahora, gris si está guardada, vacía si ya no hace falta."""
    style = {"fill": c.MIST, "tint": 1, "border": c.GREY, "stroke": 1.5} if kept else {}
    if colour is None:
        style = {"fill": c.PAPER, "tint": 1, "border": c.GREY, "stroke": 1, "dash": "3 3"}
    chip(drawing, x, y, size, size, words, colour or c.GREY, **{"rx": 4, "size": MINIMUM, **style})


def step(drawing, left, top, t, cached):
    """Las keys, los values y los pesos del paso t."""
    side = 26
    for i in range(t):
        y, old = top + side * i, cached and i < t - 1
        square(drawing, left, y, side - 3, c.KEY, "k", kept=old)
        square(drawing, left + 28, y, side - 3, c.VALUE, "v", kept=old)
        for j in range(i + 1):
            square(drawing, left + 70 + side * j, y, side - 3, None if old else SOFTMAX)
    pairs, weights = (1, t) if cached else (t, TRIANGLE[t - 1])
    text(drawing, left - 12, top + 112, f"{pairs} k y {pairs} v", SMALL, "start")
    plural = "s" if weights > 1 else ""
    text(drawing, left - 12, top + 134, f"{weights} peso{plural}", SMALL, "start")


def key_value_cache(desc):
    """Escribir cuatro tokens, sin caché y con ella."""
    drawing = card(526, "La caché de keys y values, paso a paso", desc)
    rows = (
        (30, "Sin caché", "en cada paso se calcula todo otra vez"),
        (264, "Con caché", "lo gris está guardado; solo se calcula lo del token nuevo"),
    )
    for cached, (top, name, says) in enumerate(rows):
        text(drawing, 26, top, name, SIZE, "start", bold=True)
        text(drawing, 140, top, says, SMALL, "start")
        for i, token in enumerate(TOKENS):
            left = 40 + 192 * i
            words = f"paso {i + 1}: entra {token}"
            text(drawing, left - 12, top + 32, words, SMALL, "start", bold=True)
            step(drawing, left, top + 62, i + 1, cached)
    words = f"Cuatro pasos: sin caché, {sum(TRIANGLE[:4])} pesos y {TRIANGLE[3]} keys; con ella, "
    words += f"{TRIANGLE[3]} pesos y {len(TOKENS)} keys"
    text(drawing, WIDTH / 2, 500, words, SIZE, bold=True)
    return drawing


SCORES = (1, 3, 2, 5)


def running():
    """(máximo de antes, máximo, suma) tras cada puntuación."""
    m, total, rows = None, 0, []
    for score in SCORES:
        new = score if m is None else max(m, score)
        total = total * (0 if m is None else exp(m - new)) + exp(score - new)
        rows.append((m, new, total))
        m = new
    return rows


def shown(value):
    """Un número como se lee: «1», «0.14»."""
    return number_text(value, 0 if value == round(value) else 2)


def online_softmax(desc):
    """La softmax en línea: un máximo y una suma, que se corrige cuando el máximo sube."""
    drawing = card(448, "La softmax en línea", desc)
    names = ("Llega s", "Máximo m", "Lo de antes, por", "Se añade", "Suma l")
    heights = (44, 116, 196, 268, 340)
    for name, y in zip(names, heights, strict=True):
        text(drawing, 26, y, name, SIZE, "start", bold=True)
    wide, steps = 124, running()
    for i, (score, (before, m, total)) in enumerate(zip(SCORES, steps, strict=True)):
        x, up = 270 + 150 * i, before is not None and m > before
        for y, following in zip(heights, heights[1:]):
            arrow(drawing, (x, y + 18), (x, following - 19), width=2, head=9)
        chip(drawing, x, heights[0], 56, 36, str(score), PRODUCT, bold=True)
        block(drawing, x, heights[1], 56, 36, str(m), c.ORANGE, chosen=up)
        if before is None:
            chip(drawing, x, heights[2], wide, 38, "aún nada", c.GREY, dash="5 4", size=SMALL)
        else:
            words = f"e^{{{before}−{m}}} = {shown(exp(before - m))}"
            block(
                drawing,
                x,
                heights[2],
                wide,
                38,
                words,
                c.KEY if up else c.GREY,
                chosen=up,
                size=SMALL,
            )
            side, turn = x - wide / 2, x - 75
            path = ((x - 150 + 40, heights[4]), (turn, heights[4]), (turn, heights[2]))
            arrow(drawing, *path, (side, heights[2]), colour=c.KEY if up else c.GREY, width=3)
        words = f"e^{{{score}−{m}}} = {shown(exp(score - m))}"
        chip(drawing, x, heights[3], wide, 38, words, SOFTMAX, size=SMALL)
        chip(drawing, x, heights[4], 80, 36, shown(total), c.VALUE, bold=True)
    words = f"Al final se divide una vez: el peso de cada s es e^{{s−{m}}} ÷ {shown(total)}"
    text(drawing, WIDTH / 2, 408, words, SIZE, bold=True)
    return drawing


def blocked_attention(desc):
    """Un bloque de queries contra un bloque de keys; de la tabla no hay nada más."""
    drawing = card(476, "La atención por bloques", desc)
    left, top, side, gap = 176, 116, 62, 6
    row, column, pitch = 2, 1, side + gap
    where = [(left + pitch * i, top + pitch * i) for i in range(4)]
    text(
        drawing,
        26,
        34,
        "La tabla entera no existe nunca: solo el bloque de ahora",
        SIZE,
        "start",
        True,
    )
    for i, (x, y) in enumerate(where):
        small = {"size": SMALL, "rx": 6}
        for words, place, colour, width, height, lit in (
            (f"Q_{i + 1}", (104, y), c.QUERY, 68, side, i == row),
            (f"K_{i + 1}", (x, 68), c.KEY, side, 30, i == column),
            (f"V_{i + 1}", (x, 384), c.VALUE, side, 30, i == column),
        ):
            if lit:
                block(drawing, *place, width, height, words, colour, chosen=True, **small)
            else:
                chip(drawing, *place, width, height, words, colour, stroke=1.5, tint=0.08, **small)
        for j, (across, _) in enumerate(where):
            if (i, j) != (row, column):
                style = {"border": c.GREY, "stroke": 1, "dash": "3 4"}
                style["fill"] = c.MIST if (i, j) < (row, column) else c.PAPER
                box(drawing, across, y, side, side, **style)
    x, y = where[column][0], where[row][1]
    box(drawing, x, y, side, side, fill=c.PAPER, rx=2)
    for i in range(16):
        a, b = x + 15 * (i % 4 - 1.5), y + 15 * (i // 4 - 1.5)
        chip(drawing, a, b, 13, 13, "", SOFTMAX, rx=2, stroke=1.5, tint=0.45)
    arrow(drawing, (138, y), (x - side / 2 - 1, y), colour=c.QUERY, width=3.5)
    arrow(drawing, (x, 83), (x, y - side / 2 - 1), colour=c.KEY, width=3.5)
    arrow(drawing, (x, 369), (x, y + side / 2 + 1), colour=c.VALUE, width=3.5)
    right = 606
    text(drawing, right, 78, "De cada fila de Q_3 se lleva", SIZE, bold=True)
    box(drawing, right, 228, 324, 250, fill=c.MIST, border=c.GREY)
    arrow(drawing, (x + side / 2, y), (right - 162, y), width=3)
    kept = (
        ("m", "el máximo hasta ahora", "1 número", c.ORANGE),
        ("l", "la suma de e^{s−m}", "1 número", SOFTMAX),
        ("o", "la salida, sin dividir", "d_v números", c.VALUE),
    )
    for i, (letter, says, size, colour) in enumerate(kept):
        y = 150 + 78 * i
        chip(drawing, 484, y, 48, 48, letter, colour, size=22, bold=True)
        text(drawing, 522, y - 12, says, SMALL, "start")
        text(drawing, 522, y + 13, size, SMALL, "start", bold=True)
    for i, words in enumerate(("si m sube, l y o se encogen;", "tras el último bloque, o ÷ l")):
        text(drawing, right, 384 + 26 * i, words, SMALL)
    text(
        drawing,
        26,
        446,
        "En gris, los que ya han pasado. El siguiente: K_3 y V_3, con el mismo Q_3",
        SMALL,
        "start",
    )
    return drawing


SHARED = (
    ("Multicabeza", 4, "la caché de siempre"),
    ("GQA", 2, "la mitad"),
    ("MQA", 1, "la cuarta parte"),
)


def shared_heads(desc):
    """Cuatro cabezas de query, con cuatro, dos y una de key y value."""
    drawing = card(372, "Cabezas que comparten keys y values", desc)
    for i, (name, count, cost) in enumerate(SHARED):
        middle = 140 + 260 * i
        if i:
            line(drawing, (middle - 130, 28), (middle - 130, 344), colour=c.MIST, width=2)
        text(drawing, middle, 38, name, 20, bold=True)
        text(drawing, middle, 68, f"h = 4,  h_{{kv}} = {count}", SMALL)
        queries = [middle + 60 * (j - 1.5) for j in range(4)]
        shared = [
            sum(queries[j * 4 // count : (j + 1) * 4 // count]) * count / 4 for j in range(count)
        ]
        for j, x in enumerate(queries):
            below = shared[j * count // 4]
            line(drawing, (x, 146), (below, 222), colour=c.QUERY, width=3)
            chip(drawing, x, 124, 50, 44, f"q_{j}", c.QUERY)
        for j, x in enumerate(shared):
            chip(drawing, x, 242, 50, 40, f"k_{j}", c.KEY)
            chip(drawing, x, 284, 50, 40, f"v_{j}", c.VALUE)
        text(drawing, middle, 336, cost, SIZE, bold=True)
    return drawing


def plus(drawing, x, y, edge, since):
    """La suma, con el atajo que le llega por fuera."""
    drawing.append(draw.Circle(x, y, 14, fill=c.PAPER, stroke=c.INK, stroke_width=2.5))
    text(drawing, x, y - 1, "+", 20, bold=True)
    side = 14 if edge > x else -14
    arrow(drawing, (x, since), (edge, since), (edge, y), (x + side, y), colour=c.PURPLE, width=4)


def todays_layer(desc):
    """La capa del decoder de 2017 (Vaswani et al., figura 1) y la de Llama (Touvron et al. 2023)."""
    drawing = card(704, "La capa del decoder, la de 2017 y la de hoy", desc)
    old, new, wide, bottom = 204, 566, 226, 640
    text(drawing, old, 34, "2017", 20, bold=True)
    text(drawing, new, 34, "hoy; en amarillo, lo que cambia", 18, bold=True)

    def climb(x, *heights):
        for low, high in zip(heights[::2], heights[1::2]):
            arrow(drawing, (x, low), (x, high), head=9)

    def piece(x, y, height, words, colour, lit=False, **style):
        if lit:
            box(drawing, x, y, wide + 16, height + 14, fill=c.YELLOW, border=c.YELLOW, rx=12)
        block(drawing, x, y, wide, height, words, colour, size=SMALL, **style)

    edge = old - wide / 2 - 30
    climb(old, 618, 592, 540, 520, 492, 478, 446, 420, 368, 348, 320, 306, 274, 236, 192, 172)
    climb(old, 144, 130, 98, 76)
    box(drawing, old, bottom, 276, 44, "embedding + posición", fill=c.PAPER)
    for y, since in ((506, 605), (334, 433), (158, 258)):
        plus(drawing, old, y, edge, since)
        piece(old, y - 44, 32, "LayerNorm", c.PAPER, border=c.GREY)
    piece(old, 566, 52, "Multicabeza\nenmascarada", SCALE)
    piece(old, 394, 52, "Multicabeza\nencoder–decoder", SCALE)
    piece(old, 214, 44, "Red densa: ReLU", c.SKY)
    edge = new + wide / 2 + 32
    climb(new, 618, 589, 543, 522, 428, 410, 382, 326, 280, 256, 188, 162, 134, 76)
    box(drawing, new, bottom, 276, 44, "embedding, sin posición", fill=c.PAPER)
    plus(drawing, new, 396, edge, 605)
    plus(drawing, new, 148, edge, 354)
    piece(new, 566, 32, "RMSNorm, antes", c.PAPER, lit=True, border=c.GREY)
    piece(new, 475, 80, "Multicabeza\nenmascarada: GQA,\nRoPE en Q y K", SCALE, lit=True)
    piece(new, 303, 32, "RMSNorm, antes", c.PAPER, lit=True, border=c.GREY)
    piece(new, 222, 54, "SwiGLU:\ngate, up y down", c.SKY, lit=True)
    for x in (old, new):
        box(drawing, x, 62, 276, 28, fill=c.PAPER, words="salida", size=SMALL)
    text(drawing, WIDTH / 2, 682, "Hoy no hay encoder, ni sesgos en las capas lineales", SMALL)
    return drawing


THETA, Q_ANGLE, K_ANGLE = (
    25,
    15,
    10,
)  # grados: lo que gira un par en cada posición, y q y k sin girar
CASES = ((3, 1), (7, 5))  # posición de la query y de la key
BETWEEN = Q_ANGLE - K_ANGLE + THETA * (CASES[0][0] - CASES[0][1])


def hand(drawing, x, y, degrees, words, colour, radius=92):
    """Un par de números como la aguja de un reloj, con su nombre en la punta."""
    end = (x + radius * cos(radians(degrees)), y - radius * sin(radians(degrees)))
    line(drawing, (x, y), end, colour=colour, width=3.5)
    drawing.append(draw.Circle(n(end[0]), n(end[1]), 17, fill=c.PAPER))
    drawing.append(
        draw.Circle(
            n(end[0]),
            n(end[1]),
            17,
            fill=colour,
            fill_opacity=0.22,
            stroke=colour,
            stroke_width=2.5,
        )
    )
    text(drawing, *end, words, SMALL, bold=True)


def rotary_pair(desc):
    """RoPE (Su et al. 2021): un par gira según su posición, y solo queda la distancia."""
    drawing = card(352, "RoPE: un par que gira con la posición", desc)
    y, titles = 190, ["posiciones 0, 1, 2 y 3"]
    titles += [f"query en {q}, key en {k}" for q, k in CASES]
    for i, title in enumerate(titles):
        x = 140 + 260 * i
        text(drawing, x, 38, title, SMALL, bold=True)
        drawing.append(draw.Circle(x, y, 92, fill="none", stroke=c.MIST, stroke_width=2))
        if i:
            (q, k), radius = CASES[i - 1], 40
            start, end = K_ANGLE + THETA * k, Q_ANGLE + THETA * q
            spots = [
                (x + radius * cos(radians(a)), y - radius * sin(radians(a))) for a in (start, end)
            ]
            path = draw.Path(fill="none", stroke=c.PURPLE, stroke_width=5)
            path.M(*map(n, spots[0])).A(radius, radius, 0, 0, 0, *map(n, spots[1]))
            drawing.append(path)
            middle = radians((start + end) / 2)
            text(
                drawing,
                x + 66 * cos(middle),
                y - 66 * sin(middle),
                f"{end - start}°",
                SMALL,
                bold=True,
            )
            hand(drawing, x, y, end, "q", c.QUERY)
            hand(drawing, x, y, start, "k", c.KEY)
            words = f"q · k = {shown(cos(radians(end - start)))}"
        else:
            for position in range(4):
                hand(drawing, x, y, Q_ANGLE + THETA * position, str(position), c.QUERY)
            words = f"gira {THETA}° en cada una"
        text(drawing, x, 322, words, SIZE, bold=True)
        drawing.append(draw.Circle(x, y, 4, fill=c.INK))
    return drawing


# SmolLM2, en 32 bits: los megabytes de cada parte. La tabla de tokens es también la proyección al vocabulario.
PARTS = (("red densa", 79_626_240), ("vocabulario", 28_311_552), ("atención", 26_542_080))
WEIGHTS = {part: 4 * numbers / 1e6 for part, numbers in PARTS}
MEGABYTES, READ_AT_ONCE, TEXTS = sum(WEIGHTS.values()), 180, 8


def weights_bar(drawing, x, y, wide, named=False):
    """Los pesos de un modelo, en una barra: cada parte, de su tamaño."""
    for (part, size), colour in zip(WEIGHTS.items(), (c.BLUE, c.GREEN, c.ORANGE), strict=True):
        part_wide = wide * size / MEGABYTES
        words = f"{part}, {size:.0f}" if named else ""
        chip(drawing, x + part_wide / 2, y, part_wide, 40, words, colour, rx=4, size=MINIMUM)
        x += part_wide


def reading_and_writing(desc):
    """Los mismos pesos: una pasada para leer muchos tokens, para escribir uno y para escribir los de un lote."""
    drawing = card(456, "Leer y escribir", desc)
    for top, name, says, tokens in (
        (34, "Leer", f"{READ_AT_ONCE} tokens de una vez", READ_AT_ONCE),
        (204, "Escribir", "un token para un texto: pasan los mismos pesos", 1),
        (340, "En lote", f"un token para cada uno de {TEXTS} textos: pasan los mismos", TEXTS),
    ):
        text(drawing, 30, top, name, SIZE, "start", bold=True)
        text(drawing, 128, top, says, SMALL, "start")
        weights_bar(drawing, 30, top + 38, 740, named=True)
        wide = 3 * 740 / READ_AT_ONCE if tokens > TEXTS else 24
        for i in range(tokens):
            across, down = i % (READ_AT_ONCE // 3), i // (READ_AT_ONCE // 3)
            square(drawing, 30 + wide * (across + 0.5), top + (72, 80)[wide == 24] + wide * down, wide - 4, c.SKY)
        words = f"{MEGABYTES:.0f} MB entre {tokens}: {MEGABYTES / tokens:.0f} MB por token"
        text(drawing, 770, top + (118 if tokens > TEXTS else 80), words, SIZE, "end", bold=True)
    for y in (176, 312):
        line(drawing, (30, y), (770, y), colour=c.MIST, width=2)
    return drawing


STAGES = (
    (
        "Preentrenamiento",
        "textos, a montones",
        "«La luna es el\nsatélite de la Tierra…»",
        "acertar el siguiente",
    ),
    (
        "Ajuste (SFT)",
        "conversaciones escritas",
        "user: ¿Qué es la luna?\nassistant: El satélite…",
        "lo mismo, en la respuesta",
    ),
    (
        "Preferencias (RLHF)",
        "dos respuestas, y la preferida",
        "A: El satélite…   ✓\nB: Buena pregunta…",
        "que gane la preferida",
    ),
)


def from_text_to_chat(desc):
    """De un modelo que sigue textos a uno que contesta."""
    drawing = card(330, "De seguir textos a contestar", desc)
    for i, (name, what, sample, aim) in enumerate(STAGES):
        x = 140 + 260 * i
        chip(drawing, x, 46, 226, 44, name, (c.SKY, c.ORANGE, c.GREEN)[i], bold=True)
        text(drawing, x, 100, what, SMALL)
        box(drawing, x, 164, 226, 78, sample, fill=c.PAPER, border=c.GREY, size=SMALL)
        text(drawing, x, 232, "se le pide:", SMALL, colour=c.GREY)
        text(drawing, x, 258, aim, SMALL, bold=True)
        if i:
            arrow(drawing, (x - 145, 46), (x - 115, 46))
    text(drawing, 400, 304, "La red es la misma. Cambian los datos, y lo que se pide.", SIZE)
    return drawing


REPEATED = ("luna", "pan", "gato", "pez", "luna")


def induction(desc):
    """Una cabeza de inducción y la que la alimenta (Olsson et al. 2022)."""
    drawing = card(352, "Una cabeza de inducción", desc)
    y, xs = 190, [96 + 122 * i for i in range(6)]
    for i, word in enumerate(REPEATED):
        chip(drawing, xs[i], y, 96, 48, word, c.MIST, border=c.INK, tint=1, stroke=2)
    chip(drawing, xs[5], y, 96, 48, "¿…?", c.YELLOW, border=c.INK, bold=True)
    # Capa 0: la del token anterior apunta en «pan» quién va delante.
    arrow(drawing, (xs[1], y - 24), (xs[1], 118), (xs[0], 118), (xs[0], y - 24), colour=c.QUERY)
    chip(drawing, xs[1] + 104, 118, 174, 40, "«detrás de luna»", c.QUERY)
    line(drawing, (xs[1], 118), (xs[1] + 17, 118), colour=c.QUERY)
    text(drawing, 26, 44, "Capa 0: cada token mira al anterior y apunta quién es", SIZE, "start", bold=True)
    # Capa 1: la de inducción busca ese apunte, y copia.
    arrow(drawing, (xs[4], y + 24), (xs[4], 262), (xs[1], 262), (xs[1], y + 24), colour=c.KEY)
    chip(drawing, (xs[1] + xs[4]) / 2, 262, 264, 40, "¿quién va detrás de luna?", c.KEY)
    arrow(drawing, (xs[4], 262), (xs[5], 262), (xs[5], y + 24), colour=c.VALUE)
    text(drawing, xs[5] + 14, 262, "pan", SIZE, "start", bold=True)
    text(drawing, 26, 322, "Capa 1: el segundo «luna» mira al que lo lleva apuntado, y lo copia", SIZE, "start", bold=True)
    return drawing


FIGURES = {
    "leer-y-escribir.svg": (
        reading_and_writing,
        "Los pesos de SmolLM2, en una barra: "
        + ", ".join(f"{part}, {size:.0f} MB" for part, size in WEIGHTS.items())
        + f". Pasan enteros en cada viaje: al leer {READ_AT_ONCE} tokens, {MEGABYTES / READ_AT_ONCE:.0f} MB por token; "
        f"al escribir uno, {MEGABYTES:.0f}; en un lote de {TEXTS} textos, {MEGABYTES / TEXTS:.0f}.",
    ),
    "cache-keys-values.svg": (
        key_value_cache,
        "Cuatro pasos de escritura, dos veces. Arriba, sin caché: en el paso 4 se vuelven a calcular "
        "las cuatro keys, los cuatro values y los diez pesos del triángulo. Abajo, con caché: tres "
        "keys y tres values están guardados, y se calculan una key, un value y una fila de cuatro "
        "pesos. En los cuatro pasos, sin caché son 20 pesos y 10 keys; con ella, 10 pesos y 4 keys.",
    ),
    "softmax-en-linea.svg": (
        online_softmax,
        "La softmax en línea, con las puntuaciones "
        + ", ".join(map(str, SCORES))
        + ". Tras cada una, el máximo: "
        + ", ".join(str(m) for _, m, _ in running())
        + "; y la suma: "
        + ", ".join(shown(total) for *_, total in running())
        + ". Cuando el máximo sube, con el 3 y con el 5, lo de antes se multiplica por e elevado al máximo "
        "viejo menos el nuevo. Al final se divide una vez.",
    ),
    "atencion-bloques.svg": (
        blocked_attention,
        "La atención por bloques: la tabla de pesos, de puntos, partida en cuatro por cuatro bloques. "
        "Solo uno tiene números: el del tercer bloque de queries con el segundo de keys y de values. "
        "De cada fila de esas queries se lleva el máximo m, la suma l y la salida o, sin dividir; si m sube, "
        "l y o se encogen.",
    ),
    "cabezas-compartidas.svg": (
        shared_heads,
        "Cuatro cabezas de query. En la multicabeza, cada una tiene su key y su value: cuatro "
        "parejas. En GQA, con dos parejas, las queries 0 y 1 usan la primera, y las 2 y 3, la segunda: "
        "la mitad de caché. En MQA, las cuatro usan la misma: la cuarta parte.",
    ),
    "decoder-de-hoy.svg": (
        todays_layer,
        "Dos capas del decoder, de abajo arriba. La de 2017: entra el embedding más la posición; "
        "multicabeza enmascarada, multicabeza encoder–decoder y red densa con ReLU, y tras cada una, suma y "
        "LayerNorm. La de hoy: entra el embedding sin posición; RMSNorm, multicabeza enmascarada con "
        "RoPE y GQA, y suma; RMSNorm, SwiGLU, y suma. En amarillo, lo que cambia: se normaliza antes y no "
        "después, con RMSNorm; la posición va en la atención; y la red densa tiene puerta.",
    ),
    "de-texto-a-chat.svg": (
        from_text_to_chat,
        "Tres etapas, con la misma red. Preentrenamiento: textos, y acertar el token siguiente. "
        "Ajuste, SFT: conversaciones, y lo mismo en la respuesta. Preferencias, RLHF: dos "
        "respuestas, y que gane la preferida.",
    ),
    "rope-giro.svg": (
        rotary_pair,
        "RoPE, en un par de números, como una aguja. A la izquierda, la misma query en las posiciones 0, 1, 2 y "
        f"3: en cada una gira {THETA}° más. Después, dos casos con distancia 2: la query en la 3 y la key en "
        f"la 1, y la query en la 7 y la key en la 5. Las agujas cambian; el ángulo entre ellas, {BETWEEN}°, y su "
        f"producto, {shown(cos(radians(BETWEEN)))}, no.",
    ),
    "induccion.svg": (
        induction,
        "Cinco tokens, «luna», «pan», «gato», «pez» y otra vez «luna», y un hueco. Arriba, capa 0: «pan» mira al "
        "anterior, «luna», y apunta «detrás de luna». Abajo, capa 1: el segundo «luna» pregunta quién va detrás de "
        "luna, mira a «pan», que lo lleva apuntado, y en el hueco sale «pan».",
    ),
}
