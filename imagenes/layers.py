"""Las capas del encoder y del decoder, por dentro, y qué entra y qué se predice en cada paso."""

import drawsvg as draw

from course_lib.plots import palette as c
from imagenes.blocks import SCALE
from imagenes.strokes import MINIMUM, SIZE, SMALL, WIDTH, arrow, block, box, card, chip, line, text

CENTRE, WIDE, NOTE = 290, 230, 512
SHORT = CENTRE - WIDE / 2 - 28  # por donde sube el atajo
DENSE = (("Linear", "de d_{model} a 4·d_{model}"), ("ReLU", "lo negativo, a 0"))
DENSE += (("Linear", "de 4·d_{model} a d_{model}"),)


def note(drawing, y, formula, meaning):
    """Qué se calcula y, debajo, en palabras."""
    text(drawing, NOTE, y - 12, formula, SIZE, "start", bold=True)
    text(drawing, NOTE, y + 13, meaning, SMALL, "start")


def ends(drawing, height, shape):
    """La entrada, abajo, y la salida, arriba."""
    box(drawing, CENTRE, height - 42, 250, 44, f"x  (B, {shape}, d_{{model}})", fill=c.PAPER)
    box(drawing, CENTRE, 40, 250, 44, f"salida  (B, {shape}, d_{{model}})", fill=c.PAPER)


def around(drawing, bottom, top, says, symbol, result):
    """El atajo, la suma y la normalización de una subcapa que va de `bottom` a `top`."""
    plus, norm = top - 36, top - 82
    line(drawing, (CENTRE, bottom), (CENTRE, bottom - 18))
    arrow(drawing, (CENTRE, top), (CENTRE, plus + 14), head=9)
    drawing.append(draw.Circle(CENTRE, plus, 14, fill=c.PAPER, stroke=c.INK, stroke_width=2.5))
    text(drawing, CENTRE, plus - 1, "+", 20, bold=True)
    path = ((CENTRE, bottom - 7), (SHORT, bottom - 7), (SHORT, plus), (CENTRE - 14, plus))
    arrow(drawing, *path, colour=c.PURPLE, width=4, head=12)
    middle = (bottom - 14 + plus) / 2
    for i, words in enumerate(("atajo:", f"{symbol}, tal cual")):
        text(drawing, SHORT - 12, middle + 22 * i - 11, words, SMALL, "end")
    note(drawing, plus, says, "lo que entró, más el cambio")
    arrow(drawing, (CENTRE, plus - 14), (CENTRE, norm + 16), head=9)
    block(drawing, CENTRE, norm, WIDE, 32, "normaliza", c.PAPER, size=SMALL, border=c.GREY)
    text(drawing, NOTE, norm, f"LayerNorm, por token: {result}", SMALL, "start")
    return norm - 16


def attention(drawing, bottom, words, letters="QKV"):
    """El bloque de atención, con las flechas de lo que le llega por abajo."""
    y = bottom - 64
    for letter, dx, colour in zip("QKV", (-70, 0, 70), (c.QUERY, c.KEY, c.VALUE), strict=True):
        if letter in letters:
            turn = ((CENTRE, bottom - 18), (CENTRE + dx, bottom - 18)) if dx else ()
            start = (*turn, (CENTRE + dx, bottom - 18)) if not dx else turn
            arrow(drawing, *start, (CENTRE + dx, bottom - 40), colour=colour, width=3.5)
            text(drawing, CENTRE + dx + 16, bottom - 30, letter, MINIMUM, bold=True)
    block(drawing, CENTRE, y, WIDE, 48, words, SCALE, size=SMALL if "\n" in words else SIZE)
    return y


def encoder_layer(desc):
    """Una capa del encoder (Vaswani et al. 2017, figura 1), con la red densa abierta."""
    height = 630
    drawing = card(height, "Una capa del encoder, por dentro", desc)
    ends(drawing, height, "m_E")
    bottom = height - 64
    y = attention(drawing, bottom, "Multicabeza")
    note(drawing, y, "Q, K y V salen de x", "los tokens se miran entre sí")
    middle = around(drawing, bottom, y - 24, "x + Atención(x)", "x", "y")
    top, foot = middle - 190, middle - 32
    box(drawing, CENTRE, (top + foot) / 2, WIDE, foot - top, fill=c.MIST, border=c.GREY)
    arrow(drawing, (CENTRE, middle - 18), (CENTRE, foot), head=9)
    text(drawing, NOTE, foot - 132, "Red densa (FFN)", SIZE, "start", bold=True)
    text(drawing, NOTE, foot - 107, "Linear, ReLU y Linear,", SMALL, "start")
    text(drawing, NOTE, foot - 84, "igual en cada token", SMALL, "start")
    for i, (name, words) in enumerate(DENSE):
        y = foot - 29 - 50 * i
        if i:
            arrow(drawing, (CENTRE, y + 34), (CENTRE, y + 19), head=9)
        chip(drawing, CENTRE, y, WIDE - 22, 38, "", c.SKY)
        text(drawing, CENTRE, y, name if i == 1 else words, SMALL)
    last = around(drawing, middle, top, "y + FFN(y)", "y", "salida")
    arrow(drawing, (CENTRE, last), (CENTRE, 62), head=9)
    return drawing


def decoder_layer(desc):
    """Una capa del decoder (Vaswani et al. 2017, figura 1)."""
    height = 700
    drawing = card(height, "Una capa del decoder, por dentro", desc)
    ends(drawing, height, "m_D")
    bottom = height - 64
    y = attention(drawing, bottom, "Multicabeza\nenmascarada")
    note(drawing, y, "Q, K y V salen de x", "nadie ve a los siguientes")
    bottom = around(drawing, bottom, y - 24, "x + Atención(x)", "x", "y")
    y = attention(drawing, bottom, "Multicabeza\nencoder–decoder", "Q")
    edge, encoder = CENTRE + WIDE / 2, 650
    for dy, letter, colour in ((-13, "K", c.KEY), (13, "V", c.VALUE)):
        arrow(drawing, (encoder - 110, y + dy), (edge, y + dy), colour=colour, width=3.5)
        text(drawing, 500, y + 2.1 * dy, letter, MINIMUM, bold=True)
    box(drawing, encoder, y, 220, 52, "salida del encoder\n(B, m_E, d_{model})", size=SMALL)
    bottom = around(drawing, bottom, y - 24, "y + Cruzada(y, encoder)", "y", "z")
    y = bottom - 58
    arrow(drawing, (CENTRE, bottom - 18), (CENTRE, y + 22), head=9)
    block(drawing, CENTRE, y, WIDE, 44, "Red densa (FFN)", c.SKY)
    note(drawing, y, "la misma en cada token", "sin mirar a los demás")
    last = around(drawing, bottom, y - 22, "z + FFN(z)", "z", "salida")
    arrow(drawing, (CENTRE, last), (CENTRE, 62), head=9)
    return drawing


ENGLISH = ("Where", "is", "my", "book", "?", "</s>")
SPANISH = ("<s>", "¿", "Dónde", "está", "mi", "libro", "?", "</s>")
SHOWN = "libro"  # la palabra predicha que se señala


def enters_predicts(desc):
    """En el paso t entra el token t−1 y se predice el t; al escribir, lo predicho entra después."""
    drawing = card(480, "Entra t−1, predice t", desc)
    steps, right = len(SPANISH) - 1, 752
    pitch = (right - 22) / steps
    columns = [22 + pitch * (i + 0.5) for i in range(steps)]
    text(drawing, 22, 44, "Lo que lee el encoder", SMALL, "start", bold=True)
    box(drawing, 512, 44, 548, 54, fill=c.MIST, border=c.GREY)
    for i, word in enumerate(ENGLISH):
        chip(drawing, 287 + 90 * i, 44, 80, 38, word, c.KEY)
    predicted, deck, entered = 176, 262, 354
    shown = SPANISH.index(SHOWN) - 1
    box(
        drawing,
        columns[shown],
        (predicted + entered) / 2 - 18,
        pitch - 2,
        entered - predicted + 122,
        fill=c.YELLOW,
        tint=0.45,
        border=c.YELLOW,
    )
    arrow(drawing, (773, 71), (773, deck), (right, deck), colour=c.KEY, width=3.5)
    middle = (22 + right) / 2
    box(drawing, middle, deck, right - 22, 48, fill=c.MIST, border=c.GREY)
    text(drawing, middle, deck, "decoder: cada posición ve lo que ha entrado hasta ella", SIZE)
    for i, x in enumerate(columns):
        arrow(drawing, (x, entered - 20), (x, deck + 24))
        arrow(drawing, (x, deck - 24), (x, predicted + 20))
        text(drawing, x, predicted - 58, f"t = {i + 1}", SMALL, bold=True)
        text(drawing, x, predicted - 34, "predice", MINIMUM)
        chip(drawing, x, predicted, pitch - 16, 40, SPANISH[i + 1], c.VALUE, bold=i == shown)
        chip(drawing, x, entered, pitch - 16, 40, SPANISH[i], c.QUERY, bold=i == shown)
        text(drawing, x, entered + 34, "entra", MINIMUM)
    words = f"La fila que predice «{SHOWN}» es aquella en la que entra «{SPANISH[shown]}»"
    text(drawing, WIDTH / 2, 428, words, SIZE, bold=True)
    words = "Entra el token t − 1 y se predice el t: lo que se escribe entra en el paso siguiente"
    text(drawing, WIDTH / 2, 456, words, SMALL)
    return drawing


GOAL, LEAKED = ("Le", "di", "un"), "di"
# De cada fuga: su nombre, lo que entra, qué entradas llevan la respuesta, cuáles se ven y por qué.
LEAKS = (
    ("1 · sin máscara", ("<inicio>", "Le", "di"), (2,), (0, 1, 2), "entra un puesto después,\ny nada lo tapa"),
    ("2 · sin desplazar", ("Le", "di", "un"), (1,), (0, 1), "entra en su puesto, y la\ndiagonal está permitida"),
    ("3 · entra la salida de BERT", ("[CLS]", "Le", "di"), (0, 1, 2), (0, 1), "cada vector ha leído ya\nla frase entera"),
)  # fmt: skip


def leaks(desc):
    """Por dónde llega una palabra a la posición que tiene que predecirla."""
    drawing = card(346, "Por dónde se cuela la respuesta", desc)
    words = f"¿Por dónde llega «{LEAKED}» a la posición que la predice?"
    text(drawing, WIDTH / 2, 34, words, SIZE, bold=True)
    predicted, entered = 126, 232
    for middle, (name, enters, guilty, seen, why) in zip((140, 400, 660), LEAKS):
        columns = [middle + 84 * (i - 1) for i in range(3)]
        text(drawing, middle, 72, name, SMALL, bold=True)
        for i in seen:
            style = {"colour": c.KEY, "width": 4, "head": 13} if i in guilty else {"colour": c.GREY}
            goal = (middle + 16 * (i - 1), predicted + 19)
            arrow(drawing, (columns[i], entered - 19), goal, **style)
        for i, x in enumerate(columns):
            chip(
                drawing, x, predicted, 78, 38, GOAL[i], c.VALUE, size=SMALL, bold=GOAL[i] == LEAKED
            )
            colour, bold = (c.KEY, True) if i in guilty else (c.QUERY, False)
            chip(drawing, x, entered, 78, 38, enters[i], colour, size=MINIMUM, bold=bold)
            text(drawing, x, predicted - 30, "predice", MINIMUM)
            text(drawing, x, entered + 31, "entra", MINIMUM)
        for i, line_of_why in enumerate(why.split("\n")):
            text(drawing, middle, 296 + 22 * i, line_of_why, SMALL)
    return drawing


def named(token):
    """Cómo se nombra un token donde no cabe `<s>`, que en un texto alternativo sería HTML."""
    return {"<s>": "la marca de inicio", "</s>": "la de fin"}.get(token, f"«{token}»")


FIGURES = {
    "encoder-capa.svg": (
        encoder_layer,
        "Una capa del encoder, de abajo arriba. Entra x; la multicabeza, con Q, K y V sacadas de x, da un "
        "cambio; un atajo lleva x, tal cual, hasta la suma, y lo que sale se normaliza: es y. La red "
        "densa, dos capas lineales con ReLU en medio, da otro cambio; otro atajo lleva y hasta la "
        "segunda suma, y se normaliza otra vez. Entra y sale la misma forma, (B, m_E, d_model).",
    ),
    "decoder-capa.svg": (
        decoder_layer,
        "Una capa del decoder, de abajo arriba: tres subcapas, cada una con un atajo desde su entrada "
        "hasta la suma, y una normalización. La multicabeza enmascarada saca Q, K y V de x; la "
        "encoder–decoder saca Q del decoder, y K y V de la salida del encoder; la tercera es la red "
        "densa. Entra y sale la misma forma, (B, m_D, d_model).",
    ),
    "entra-predice.svg": (
        enters_predicts,
        "El encoder lee «Where is my book?» y el decoder escribe «¿Dónde está mi libro?», en siete pasos. "
        "En cada paso entra el token anterior y se predice el siguiente: "
        + "; ".join(f"entra {named(a)}, predice {named(b)}" for a, b in zip(SPANISH, SPANISH[1:]))
        + f". Señalado el que predice «{SHOWN}».",
    ),
    "fugas-del-futuro.svg": (
        leaks,
        "Tres maneras de que «di» llegue a la posición que tiene que predecirla, cuando se predice «Le di "
        "un». Sin máscara: la frase entra desplazada, «di» entra un puesto después y nada lo tapa. Sin "
        "desplazar: «di» entra en su propio puesto, y la diagonal está permitida. Con la salida de BERT: "
        "cada vector que entra, también el primero, ha leído ya la frase entera.",
    ),
}
