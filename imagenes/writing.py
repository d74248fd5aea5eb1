"""Lo que escribe una cabeza del ejemplo pequeño: un desplazamiento, y un mapa de pocas filas útiles."""

import drawsvg as draw

from course_lib.example import TOKENS, W_O, W_V, X
from course_lib.plots import palette as c
from imagenes.example import D_K, steps, vector
from imagenes.matrices import ROW, Matrix, decimals, draw_line, measures
from imagenes.strokes import MINIMUM, SMALL, TINT, WIDTH, arrow, card, line, n, text

NAMED = [1, 3]  # los números de X que son de una sola palabra: el de «hungry» y el de «dog»
UNIT, LEFT, FLOOR, DOT = 330, 150, 400, 6  # un número 1, dónde está el origen y lo que mide un punto


def place(point):
    return LEFT + UNIT * float(point[0]), FLOOR - UNIT * float(point[1])


def border(start, end):
    """Donde una flecha que va a un punto toca su borde."""
    x, y = (b - a for a, b in zip(start, end))
    rest = 1 - DOT / (x * x + y * y) ** 0.5
    return start[0] + rest * x, start[1] + rest * y


def displacement(desc):
    """La fila que se sigue, en los dos números con nombre: dónde estaba y adónde la lleva cada cabeza."""
    s = steps()
    drawing = card(490, "Lo que escribe cada cabeza, como un desplazamiento", desc)
    ends = [place((1.55, 0)), place((0, 1.12))]
    for end, words, (x, y) in zip(
        ends, (f"2.º número, el de «{TOKENS[1]}»", f"4.º número, el de «{TOKENS[2]}»"), ((-70, 26), (90, -8))
    ):
        line(drawing, place((0, 0)), end, colour=c.GREY, width=2)
        text(drawing, end[0] + x, end[1] + y, words, SMALL)
    for token, point in zip(TOKENS, X[:, NAMED]):
        x, y = place(point)
        drawing.append(draw.Circle(n(x), n(y), DOT, fill=c.INK))
        text(drawing, x - 14, y + 22 * (not point[1]), f"«{token}»", SMALL, "end", bold=token == TOKENS[ROW])
    at = X[ROW, NAMED]
    for head, (colour, x, y) in enumerate(((c.VALUE, -14, 60), (c.KEY, 20, -26))):
        moved = at + s.written[head, ROW, NAMED]
        arrow(drawing, place(at), border(place(at), place(moved)), colour=colour, width=5, head=16)
        drawing.append(draw.Circle(*map(n, place(moved)), DOT, fill=c.INK))
        middle = [(a + b) / 2 for a, b in zip(place(at), place(moved))]
        words = f"cabeza {head}: {decimals(moved - at)}"
        text(drawing, middle[0] + x, middle[1] + y, words, SMALL, "start" if head else "end", bold=True)
        at = moved
    x, y = place(at)
    text(drawing, x + 16, y, decimals(at), SMALL, "start", bold=True)
    weights = s.weights[0, ROW].tolist()
    text(
        drawing, WIDTH / 2, 464, f"La cabeza 0: {weights[2]:.2f} por (0, 1), lo que da «{TOKENS[2]}», más "
        f"{weights[1]:.2f} por (1, 0), lo que da «{TOKENS[1]}»", SMALL,
    )  # fmt: skip
    return drawing


def one_map():
    """W_V y W_O de la cabeza 0, y su producto."""
    return W_V[:, :D_K], W_O[:D_K], W_V[:, :D_K] @ W_O[:D_K]


def low_rank(desc):
    """Lo que lee y lo que escribe una cabeza es un solo mapa; y el de BERT, a escala."""
    reads, writes, both = one_map()
    lit = ((3, 3),)
    items = (
        Matrix(reads, "W_{V,0}", c.VALUE, [f"lee el {i}.º" for i in range(1, 5)], lit=((3, 0), (3, 1))),
        "·",
        Matrix(writes, "W_{O,0}", c.GREY, lit=tuple((i, 3) for i in range(2))),
        "=",
        Matrix(both, "W_{V,0} W_{O,0}", c.QUERY, columns=[f"al {i}.º" for i in range(1, 5)], lit=lit),
    )
    top = sum(measures(items))
    drawing = card(top + 330, "Lo que lee y lo que escribe una cabeza: un solo mapa", desc)
    draw_line(drawing, 20, items)
    told = "El 4.º número, el de «dog», acaba en el 4.º de quien lo mira. El 1.º y el 3.º no los lee"
    text(drawing, WIDTH / 2, top + 46, told, SMALL)
    line(drawing, (60, top + 74), (WIDTH - 60, top + 74), colour=c.MIST)
    middle, side, thin = top + 190, 192, 16  # en BERT, 384 y 32: la mitad
    for x, wide, tall, colour, words in (
        (220, thin, side, c.VALUE, "384 × 32"),
        (390, side, thin, c.GREY, "32 × 384"),
        (640, side, side, c.QUERY, "384 × 384, de rango 32"),
    ):
        place = (n(x - wide / 2), n(middle - tall / 2), wide, tall)
        drawing.append(draw.Rectangle(*place, fill=colour, fill_opacity=TINT, stroke=colour, stroke_width=2.5))
        text(drawing, x, middle + side / 2 + 20 if tall == side else middle + 28, words, SMALL)
    for x, sign in ((261, "·"), (515, "=")):
        text(drawing, x, middle, sign, 22)
    text(drawing, 60, top + 96, "En BERT, a escala", MINIMUM, "start")
    return drawing


def figures():
    """nombre del archivo → (función que lo dibuja, texto alternativo)."""
    s = steps()
    start, (first, second), end = X[ROW, NAMED], s.written[:, ROW][:, NAMED], s.sum[ROW, NAMED]
    both = one_map()[2]
    return {
        "ejemplo-desplazamiento.svg": (
            displacement,
            f"Un plano con el segundo número, el de «{TOKENS[1]}», y el cuarto, el de «{TOKENS[2]}». «{TOKENS[ROW]}» "
            f"empieza en {vector(start)}; la cabeza 0 la desplaza {decimals(first)}, casi derecha hacia "
            f"«{TOKENS[2]}», y la 1, {decimals(second)}: acaba en {decimals(end)}.",
        ),
        "ejemplo-mapa.svg": (
            low_rank,
            f"W_V por W_O, de la cabeza 0 del ejemplo: un mapa de cuatro por cuatro. El segundo número pasa al "
            f"segundo y al tercero, {vector(both[1])}; el cuarto, al cuarto, {vector(both[3])}. Debajo, a escala, el "
            f"de BERT: una tira de 384 por 32, por otra de 32 por 384, da un cuadrado de rango 32.",
        ),
    }
