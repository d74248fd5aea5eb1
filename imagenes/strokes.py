"""Los trazos de la familia: tarjeta, texto con subíndices, cajas y flechas.

Todo se dibuja con drawsvg en un lienzo de 800 píxeles de ancho. El texto sigue
siendo texto, y las cajas dejan sitio a letras más anchas que la del curso.
"""

import re

import drawsvg as draw

from course_lib.plots import palette as c

WIDTH = 800
FONTS = f"{c.FONT}, Verdana, sans-serif"
SIZE, SMALL, MINIMUM = 18, 16, 14  # el texto de las cajas, el secundario y el de los subíndices
TINT = 0.22  # opacidad de los rellenos de color: el texto encima sigue siendo legible

MARK = re.compile(r"([_^])(\{[^}]*\}|\w)")  # L_q, W_{O}, K^T


class Desc(draw.Title):
    """La descripción larga de un SVG; drawsvg solo trae el título."""

    TAG_NAME = "desc"


def card(height, title, desc):
    """Lienzo nuevo con su tarjeta opaca, su título y su descripción."""
    drawing = draw.Drawing(WIDTH, height, role="img", font_family=FONTS)
    drawing.append_title(title)
    drawing.append(Desc(desc))
    drawing.append(
        draw.Rectangle(
            1, 1, WIDTH - 2, height - 2, rx=18, fill=c.PAPER, stroke=c.MIST, stroke_width=2
        )
    )
    return drawing


def text(drawing, x, y, words, size=SIZE, anchor="middle", bold=False, colour=c.INK):
    """Texto centrado en la altura y. «L_q» baja la q, «K^T» sube la T."""
    element = draw.Text("", size, n(x), n(y + 0.36 * size), text_anchor=anchor, fill=colour)
    if bold:
        element.args["font-weight"] = "bold"
    small, shift = max(MINIMUM, round(0.72 * size)), 0
    pieces = MARK.split(words)
    for i, piece in enumerate(pieces):
        if not piece or i % 3 == 1:
            continue
        target, size_here = 0, size
        if i % 3 == 2:
            target, size_here = (0.22 if pieces[i - 1] == "_" else -0.38) * size, small
            piece = piece.strip("{}")
        style = {"font_size": size_here} if size_here != size else {}
        if target != shift:
            style["dy"] = n(target - shift)
        element.append(draw.TSpan(piece.replace("  ", "\u00a0 "), **style))
        shift = target
    drawing.append(element)


def box(
    drawing,
    x,
    y,
    width,
    height,
    words="",
    fill=c.MIST,
    tint=1,
    border=c.INK,
    stroke=2,
    dash=None,
    size=SIZE,
    bold=False,
    rx=10,
):
    """Caja redondeada con centro en (x, y) y un texto, en una o varias líneas, dentro."""
    style = {"fill_opacity": tint} if tint != 1 else {}
    if dash:
        style["stroke_dasharray"] = dash
    drawing.append(
        draw.Rectangle(
            n(x - width / 2),
            n(y - height / 2),
            n(width),
            n(height),
            rx=rx,
            fill=fill,
            stroke=border,
            stroke_width=stroke,
            **style,
        )
    )
    lines = words.split("\n") if words else []
    for i, line in enumerate(lines):
        text(drawing, x, y + (i - (len(lines) - 1) / 2) * 1.35 * size, line, size, bold=bold)


def chip(drawing, x, y, width, height, words, colour, **style):
    """Caja teñida de un color, sobre papel, con el borde de ese color y el texto en tinta."""
    drawing.append(
        draw.Rectangle(
            n(x - width / 2),
            n(y - height / 2),
            n(width),
            n(height),
            rx=style.get("rx", 10),
            fill=c.PAPER,
        )
    )
    box(
        drawing,
        x,
        y,
        width,
        height,
        words,
        **{"fill": colour, "tint": TINT, "border": colour, "stroke": 2.5, **style},
    )


def block(drawing, x, y, width, height, words, colour, chosen=False, **style):
    """Un bloque de la arquitectura; el elegido, con borde de tinta y letra gruesa."""
    if chosen:
        style |= {"border": c.INK, "stroke": 4, "bold": True, "tint": 0.45}
    chip(drawing, x, y, width, height, words, colour, **style)


def stack(drawing, x, y, width, height, words, colour, copies=3, step=7, **style):
    """Un bloque repetido: copias detrás, hacia arriba y a la derecha."""
    for back in range(copies - 1, 0, -1):
        chip(drawing, x + step * back, y - step * back, width, height, "", colour)
    block(drawing, x, y, width, height, words, colour, **style)


def band(drawing, y, height):
    """La franja amarilla que señala una fila, de lado a lado de la tarjeta."""
    drawing.append(
        draw.Rectangle(
            14, n(y - height / 2), WIDTH - 28, height, rx=12, fill=c.YELLOW, fill_opacity=0.45
        )
    )


def line(drawing, *points, colour=c.INK, width=2.5, dash=None):
    """Línea quebrada por los puntos (x, y) dados."""
    style = {"stroke_dasharray": dash} if dash else {}
    drawing.append(
        draw.Lines(
            *(n(value) for point in points for value in point),
            fill="none",
            stroke=colour,
            stroke_width=width,
            stroke_linejoin="round",
            **style,
        )
    )


def arrow(drawing, *points, colour=c.INK, width=2.5, head=11, dash=None):
    """Línea quebrada que acaba en una punta que toca el último punto."""
    (x0, y0), (x1, y1) = points[-2:]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    base = (x1 - head * ux, y1 - head * uy)
    line(drawing, *points[:-1], base, colour=colour, width=width, dash=dash)
    side = 0.55 * head
    drawing.append(
        draw.Lines(
            n(x1),
            n(y1),
            n(base[0] - side * uy),
            n(base[1] + side * ux),
            n(base[0] + side * uy),
            n(base[1] - side * ux),
            close=True,
            fill=colour,
        )
    )


def n(value):
    """Número con dos decimales como mucho: el mismo texto en cualquier procesador."""
    value = round(value, 2)
    return int(value) if value == int(value) else value
