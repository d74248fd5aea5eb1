"""Los diagramas quietos. Cada función devuelve un dibujo; `highlight` señala una de sus piezas."""

from math import cos, radians, sin

import drawsvg as draw

from course_lib import palette as c
from imagenes.animaciones import SIGNS, reading, sign_at
from imagenes.trazos import MINIMUM, SIZE, SMALL, TINT, WIDTH, arrow, box, card, chip, line, n, text

# Cada paso de la atención tiene su color en todas las figuras.
PRODUCT, SCALE, MASK, SOFTMAX, SUM = c.PURPLE, c.ORANGE, c.GREY, c.SKY, c.GREEN

THREE = (("Q", c.QUERY, "d_k", "q"), ("K", c.KEY, "d_k", "k"), ("V", c.VALUE, "d_v", "k"))


def band(drawing, y, height):
    """La franja amarilla que señala una fila, de lado a lado de la tarjeta."""
    drawing.append(draw.Rectangle(14, n(y - height / 2), WIDTH - 28, height, rx=12, fill=c.YELLOW, fill_opacity=0.45))


def block(drawing, x, y, width, height, words, colour, chosen=False, **style):
    """Un bloque de la arquitectura; el elegido, con borde de tinta y letra gruesa."""
    if chosen:
        box(drawing, x, y, width, height, fill=c.PAPER)
        style |= {"border": c.INK, "stroke": 4, "bold": True, "tint": 0.45}
    chip(drawing, x, y, width, height, words, colour, **style)


def still_dot_product(desc, norms=(3, 2), angles=(30, 90, 150)):
    """Tres instantes del producto escalar: positivo, cero y negativo."""
    norm_u, norm_v = norms
    drawing = card(352, "El producto escalar con tres ángulos", desc)
    scale, width = 46, 254
    for column, degrees in enumerate(angles):
        left = 19 + column * width
        theta = radians(degrees)
        colour, verdict = SIGNS[sign_at(degrees)]
        cosine, product = reading(norms, degrees)
        x, y = left + {0: 50, 1: 52, 2: 92}[column], 206
        tip = (x + norm_v * scale * cos(theta), y - norm_v * scale * sin(theta))
        chip(drawing, left + width / 2, 46, width - 14, 40, verdict.split(":")[0] + f": θ = {degrees}°", colour, bold=True)
        line(drawing, tip, (tip[0], y + 20), colour=c.GREY, width=1.5, dash="5 4")
        line(drawing, (x, y + 16), (tip[0], y + 16), colour=colour, width=9)
        radius = 30
        drawing.append(draw.Path(fill="none", stroke=c.INK, stroke_width=2).M(x + radius, y).A(
            radius, radius, 0, 0, 0, n(x + radius * cos(theta)), n(y - radius * sin(theta))))
        text(drawing, x + 46 * cos(theta / 2), y - 46 * sin(theta / 2), "θ", SMALL)
        arrow(drawing, (x, y), (x + norm_u * scale, y), colour=c.QUERY, width=5, head=18)
        arrow(drawing, (x, y), tip, colour=c.KEY, width=5, head=18)
        text(drawing, x + norm_u * scale + 14, y, "u", 20, bold=True)
        text(drawing, tip[0] + 18 * cos(theta), tip[1] - 16, "v", 20, bold=True)
        text(drawing, left + width / 2, 256, f"cos θ = {cosine}", SIZE)
        text(drawing, left + width / 2, 286, f"u·v = {product}", 20, bold=True)
    text(drawing, WIDTH / 2, 325, f"u·v = |u| |v| cos θ, con |u| = {norm_u} y |v| = {norm_v}. La barra: la proyección de v sobre u", SMALL)
    return drawing


# (nombre, altura, texto, color, qué hace, en palabras)
STEPS = (
    ("matmul-1", 480, "MatMul", PRODUCT, "Q·K^T", "cada query con cada key"),
    ("escala", 394, "Escala", SCALE, "÷ √d_k", "la varianza vuelve a 1"),
    ("mascara", 308, "Máscara (opcional)", MASK, "+ máscara", "−∞ donde no se atiende"),
    ("softmax", 222, "SoftMax", SOFTMAX, "softmax por filas", "pesos: cada fila suma 1"),
    ("matmul-2", 136, "MatMul", SUM, "pesos · V", "suma ponderada de values"),
)


def sdpa_block(desc, highlight=None):
    """El bloque Scaled Dot-Product Attention (Vaswani et al. 2017, figura 2), con la forma de cada tensor."""
    drawing = card(640, "Scaled Dot-Product Attention", desc)
    chain, inputs, note = 165, (95, 235, 395), 520
    for name, y, *_ in STEPS:
        if name == highlight:
            band(drawing, y, 74)
    for (letter, colour, dim, length), x in zip(THREE, inputs):
        bottom = 158 if letter == "V" else 502
        arrow(drawing, (x, 556), (x, bottom), colour=colour, width=3.5, head=13)
        chip(drawing, x, 587, 128, 62, "", colour)
        text(drawing, x, 573, letter, 22, bold=True)
        text(drawing, x, 601, f"(B, L_{length}, {dim})")
    text(drawing, note, 573, "proyecciones de la entrada", SMALL, "start")
    text(drawing, note, 599, "self-attention: L_q = L_k", SMALL, "start")
    for (name, y, words, colour, formula, meaning), lower in zip(STEPS, (None, *STEPS)):
        if lower:
            arrow(drawing, (chain, lower[1] - 22), (chain, y + 22))
            text(drawing, chain + 14, y + 43, "(B, L_q, L_k)", SIZE, "start")
        wide = name == "matmul-2"
        block(drawing, 250 if wide else chain, y, 380 if wide else 210, 44, words, colour,
              chosen=name == highlight, dash="7 5" if name == "mascara" else None)
        text(drawing, note, y - 13, formula, 20, "start", bold=True)
        text(drawing, note, y + 14, meaning, SMALL, "start")
    arrow(drawing, (250, 114), (250, 70))
    box(drawing, 250, 47, 250, 46, "salida  (B, L_q, d_v)", fill=c.PAPER)
    text(drawing, note, 47, "un vector nuevo por query", SMALL, "start")
    return drawing
