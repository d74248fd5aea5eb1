"""Los bloques de la arquitectura. `highlight` señala una de sus piezas."""

import drawsvg as draw

from course_lib.plots import palette as c
from imagenes.strokes import (
    MINIMUM,
    SIZE,
    SMALL,
    arrow,
    band,
    block,
    box,
    card,
    chip,
    line,
    stack,
    text,
)

# Cada paso de la atención tiene su color en todas las figuras.
PRODUCT, SCALE, MASK, SOFTMAX, SUM = c.PURPLE, c.ORANGE, c.GREY, c.SKY, c.GREEN

INPUTS = (("Q", c.QUERY, "d_k", "q"), ("K", c.KEY, "d_k", "k"), ("V", c.VALUE, "d_v", "k"))


# (nombre, altura, texto, color, qué hace, en palabras)
STEPS = (
    ("matmul-1", 480, "MatMul", PRODUCT, "Q·K^T", "cada query con cada key"),
    ("escala", 394, "Escala", SCALE, "÷ √d_k", "no depende de la anchura"),
    ("mascara", 308, "Máscara (opcional)", MASK, "+ máscara", "−∞ donde no se atiende"),
    ("softmax", 222, "SoftMax", SOFTMAX, "softmax por filas", "pesos: cada fila suma 1"),
    ("matmul-2", 136, "MatMul", SUM, "pesos · V", "suma ponderada de values"),
)


def sdpa_block(desc, highlight=None):
    """El bloque Scaled Dot-Product Attention (Vaswani et al. 2017, figura 2) y sus formas."""
    drawing = card(640, "El bloque Scaled Dot-Product Attention", desc)
    chain, inputs, note = 165, (95, 235, 395), 520
    for name, y, *_ in STEPS:
        if name == highlight:
            band(drawing, y, 74)
    for (letter, colour, dim, length), x in zip(INPUTS, inputs, strict=True):
        bottom = 158 if letter == "V" else 502
        arrow(drawing, (x, 556), (x, bottom), colour=colour, width=3.5, head=13)
        chip(drawing, x, 587, 128, 62, "", colour)
        text(drawing, x, 573, letter, 22, bold=True)
        text(drawing, x, 601, f"(B, L_{length}, {dim})")
    text(drawing, note, 573, "proyecciones de la entrada", SMALL, "start")
    text(drawing, note, 599, "una sola frase: L_q = L_k", SMALL, "start")
    for (name, y, words, colour, formula, meaning), lower in zip(
        STEPS, (None, *STEPS[:-1]), strict=True
    ):
        if lower:
            arrow(drawing, (chain, lower[1] - 22), (chain, y + 22))
            text(drawing, chain + 14, y + 43, "(B, L_q, L_k)", SIZE, "start")
        wide = name == "matmul-2"
        block(
            drawing,
            250 if wide else chain,
            y,
            380 if wide else 230,
            44,
            words,
            colour,
            chosen=name == highlight,
            dash="7 5" if name == "mascara" else None,
        )
        text(drawing, note, y - 13, formula, 20, "start", bold=True)
        text(drawing, note, y + 14, meaning, SMALL, "start")
    arrow(drawing, (250, 114), (250, 70))
    box(drawing, 250, 47, 250, 46, "salida  (B, L_q, d_v)", fill=c.PAPER)
    text(drawing, note, 47, "un vector nuevo por query", SMALL, "start")
    return drawing


def multi_head_block(desc, highlight=None):
    """El bloque Multi-Head Attention (Vaswani et al. 2017, figura 2) y sus formas."""
    drawing = card(680, "El bloque Multi-Head Attention", desc)
    inputs, centre, note = (90, 240, 390), 240, 556
    rows = (
        ("proyeccion", 496, 92, "h proyecciones", "de d_{model} a d_k, d_k, d_v"),
        ("cabezas", 352, 112, "h atenciones", "cada cabeza, la suya"),
        ("concat", 224, 74, "Concat", "las h, una tras otra"),
        ("lineal", 134, 74, "· W_O", "mezcla las cabezas"),
    )
    for name, y, height, formula, meaning in rows:
        if name == highlight:
            band(drawing, y - 6 * (name in ("proyeccion", "cabezas")), height)
        text(drawing, note, y - 13, formula, 20, "start", bold=True)
        text(drawing, note, y + 14, meaning, SMALL, "start")
    for (letter, colour, dim, length), x in zip(INPUTS, inputs, strict=True):
        chip(drawing, x, 628, 140, 62, "", colour)
        text(drawing, x, 613, {"Q": "query", "K": "key", "V": "value"}[letter], 20, bold=True)
        text(drawing, x, 641, f"(B, L_{length}, d_{{model}})", SMALL)
        arrow(drawing, (x, 597), (x, 522), colour=colour, width=3.5, head=13)
        arrow(drawing, (x, 456), (x, 389), colour=colour, width=3.5, head=13)
        text(drawing, x + 10, 430, f"(B, h, L_{length}, {dim})", SMALL, "start")
        stack(
            drawing,
            x,
            496,
            112,
            52,
            f"Linear\nW_{letter}",
            colour,
            size=SMALL,
            chosen=highlight == "proyeccion",
        )
    text(drawing, note, 614, "en autoatención,", SMALL, "start")
    text(drawing, note, 640, "las tres son X", SMALL, "start")
    arrow(drawing, (centre, 302), (centre, 246))
    text(drawing, centre + 14, 273, "(B, h, L_q, d_v)", SIZE, "start")
    stack(
        drawing,
        centre,
        352,
        430,
        74,
        "Scaled Dot-Product Attention",
        SOFTMAX,
        chosen=highlight == "cabezas",
    )
    text(drawing, 496, 322, "× h", 20, bold=True)
    block(
        drawing,
        centre,
        224,
        430,
        44,
        "Concat",
        c.MIST,
        border=c.INK,
        tint=1,
        chosen=highlight == "concat",
    )
    arrow(drawing, (centre, 202), (centre, 156))
    text(drawing, centre + 14, 179, "(B, L_q, h·d_v)", SIZE, "start")
    block(drawing, centre, 134, 430, 44, "Linear W_O", PRODUCT, chosen=highlight == "lineal")
    arrow(drawing, (centre, 112), (centre, 70))
    box(drawing, centre, 47, 300, 46, "salida  (B, L_q, d_{model})", fill=c.PAPER)
    text(drawing, note, 47, "un vector nuevo por query", SMALL, "start")
    return drawing


ATTENTIONS = (
    (
        "encoder-multicabeza",
        "1 · Multicabeza del encoder",
        "la frase de origen se mira a sí misma",
    ),
    ("decoder-enmascarada", "2 · Multicabeza enmascarada", "ningún token ve a los siguientes"),
    ("encoder-decoder", "3 · Multicabeza encoder–decoder", "Q del decoder; K y V del encoder"),
)


def transformer_architecture(desc, highlight=None):
    """La arquitectura completa (Vaswani et al. 2017, figura 1)."""
    drawing = card(800, "Arquitectura del Transformer", desc)
    left, right = 235, 565
    box(drawing, 228, 497, 266, 298, fill=c.MIST, border=c.GREY, rx=18)
    box(drawing, 572, 427, 266, 438, fill=c.MIST, border=c.GREY, rx=18)
    text(drawing, 97, 308, "Encoder:", SMALL, "start", bold=True)
    text(drawing, 97, 332, "capa  × N", SMALL, "start", bold=True)
    text(drawing, 582, 192, "Decoder: capa  × N", SMALL, "start", bold=True)
    where = {
        "encoder-multicabeza": (left, 574),
        "decoder-enmascarada": (right, 574),
        "encoder-decoder": (right, 430),
    }
    if highlight:
        box(drawing, *where[highlight], 232, 70, fill=c.YELLOW, border=c.YELLOW, rx=14)

    def attention(x, y, words, name):
        block(drawing, x, y, 210, 52, words, SCALE, size=SMALL, chosen=name == highlight)

    def norm(x, y, outside, since, start=0):
        """Suma y normalización, con el atajo que rodea a la capa por el lado de fuera."""
        edge = x + outside * 105
        arrow(
            drawing,
            (x + start, since),
            (edge + outside * 18, since),
            (edge + outside * 18, y),
            (edge, y),
            width=2,
        )
        block(drawing, x, y, 210, 34, "suma y normaliza", c.PAPER, size=SMALL, border=c.GREY)

    def split(x, y, top, offsets):
        arrow(drawing, (x, y), (x, top))
        for offset in offsets:
            arrow(drawing, (x, y), (x + offset, y), (x + offset, top))

    for x, outside, words, name, source in (
        (left, -1, "Multicabeza", "encoder-multicabeza", "frase de origen"),
        (
            right,
            1,
            "Multicabeza\nenmascarada",
            "decoder-enmascarada",
            "frase de destino, desplazada",
        ),
    ):
        text(drawing, x, 778, source, SMALL)
        arrow(drawing, (x, 764), (x, 748), head=9)
        block(drawing, x, 728, 210, 40, "Embedding", c.PURPLE)
        line(drawing, (x, 708), (x, 680))
        line(drawing, (x, 652), (x, 622))
        arrow(drawing, (x + outside * 78, 666), (x + outside * 14, 666), head=9)
        text(drawing, x + outside * 86, 666, "posición", SMALL, "start" if outside > 0 else "end")
        drawing.append(draw.Circle(x, 666, 14, fill=c.PAPER, stroke=c.INK, stroke_width=2.5))
        text(drawing, x, 665, "+", 20, bold=True)
        split(x, 622, 600, (-60, 60))
        attention(x, 574, words, name)
        line(drawing, (x, 548), (x, 533))
        norm(x, 516, outside, 630)
    # encoder: feed forward y su salida
    arrow(drawing, (left, 499), (left, 452))
    block(drawing, left, 430, 210, 44, "Red densa (FFN)", c.SKY)
    line(drawing, (left, 408), (left, 393))
    norm(left, 376, -1, 480)
    # encoder–decoder: K y V llegan del encoder, Q del propio decoder
    line(drawing, (left, 359), (left, 318), (400, 318), (400, 482), (right - 60, 482), colour=c.INK)
    for offset, letter, colour in ((-60, "K", c.KEY), (0, "V", c.VALUE), (60, "Q", c.QUERY)):
        arrow(
            drawing,
            (right + offset, 499 if letter == "Q" else 482),
            (right + offset, 456),
            colour=colour,
            width=3.5,
        )
        text(drawing, right + offset - 14, 472, letter, MINIMUM, bold=True)
    line(drawing, (right - 60, 482), (right, 482))
    attention(right, 430, "Multicabeza\nencoder–decoder", "encoder-decoder")
    line(drawing, (right, 404), (right, 389))
    norm(right, 372, 1, 486, start=60)
    arrow(drawing, (right, 355), (right, 316))
    block(drawing, right, 294, 210, 44, "Red densa (FFN)", c.SKY)
    line(drawing, (right, 272), (right, 257))
    norm(right, 240, 1, 340)
    arrow(drawing, (right, 223), (right, 178))
    block(drawing, right, 158, 210, 40, "Linear", c.PURPLE)
    arrow(drawing, (right, 138), (right, 112))
    block(drawing, right, 92, 210, 40, "SoftMax", c.SKY)
    arrow(drawing, (right, 72), (right, 52))
    box(drawing, right, 35, 310, 34, "probabilidad del siguiente token", fill=c.PAPER, size=SMALL)
    for row, (name, title, meaning) in enumerate(ATTENTIONS):
        y = 62 + 72 * row
        if name == highlight:
            box(drawing, 208, y + 12, 384, 64, fill=c.YELLOW, tint=0.45, border=c.YELLOW)
        text(drawing, 28, y, title, SIZE, "start", bold=True)
        text(drawing, 28, y + 26, meaning, SMALL, "start")
    return drawing
