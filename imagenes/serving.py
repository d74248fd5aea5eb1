"""Servir: cuántos aprovechan un viaje de los pesos, qué se guarda entre ellos y quién juzga a quién."""

from course_lib.plots import palette as c
from imagenes.strokes import MINIMUM, SIZE, SMALL, WIDTH, arrow, box, card, chip, line, text
from imagenes.today import square

# Tres plazas y seis textos que llegan a la vez: cuántos tokens escribe cada uno.
PLACES, ANSWERS = 3, {"A": 2, "B": 6, "C": 3, "D": 5, "E": 4, "F": 2}
PREFIX, OWN = 40, 6  # tokens que leer antes: los que todos tienen iguales, y los de cada pregunta
FIRST, COLUMN = 124, 60  # el centro de la primera columna, y de una a otra
COLOURS = dict(zip(ANSWERS, (c.BLUE, c.VERMILION, c.GREEN, c.ORANGE, c.PURPLE, c.SKY), strict=True))


def served(continuous):
    """Quién ocupa cada plaza en cada viaje: (plaza, viaje, texto, si es el primero de los suyos)."""
    free, rows, trips = [0] * PLACES, [], 0
    for i, (name, wanted) in enumerate(ANSWERS.items()):
        if not continuous and i % PLACES == 0:  # nadie entra hasta que acaban todos
            free = [max(free)] * PLACES
        place = free.index(min(free)) if continuous else i % PLACES
        rows += [(place, free[place] + k, name, k == 0) for k in range(wanted)]
        free[place] += wanted
        trips = max(free)
    return rows, trips


def read(continuous):
    """Los tokens que se leen: con el prefijo guardado, los de cada pregunta y, una vez, los que todos comparten."""
    return OWN * len(ANSWERS) + PREFIX * (1 if continuous else len(ANSWERS))


def empty(continuous):
    """Las plazas que un viaje lleva sin nadie."""
    return PLACES * served(continuous)[1] - sum(ANSWERS.values())


def grid(drawing, top, continuous):
    """Las plazas, una en cada fila, y los viajes, uno en cada columna."""
    left, wide, tall = FIRST, COLUMN, 44
    rows, trips = served(continuous)
    for t in range(trips):
        text(drawing, left + wide * t, top - 36, str(t + 1), SMALL)
    text(drawing, 26, top - 36, "viaje", SMALL, "start")
    for place in range(PLACES):
        y = top + (tall + 4) * place
        text(drawing, 26, y, f"plaza {place + 1}", SMALL, "start")
        taken = {t: (name, first) for at, t, name, first in rows if at == place}
        for t in range(trips):
            x = left + wide * t
            if t not in taken:
                box(drawing, x, y, wide - 4, tall, fill=c.PAPER, border=c.GREY, stroke=1, dash="3 4", rx=4)
                continue
            name, first = taken[t]
            chip(drawing, x, y, wide - 4, tall, "" if first else name, COLOURS[name], rx=4, bold=True)
            if first:
                text(drawing, x, y - 10, name, SMALL, bold=True)
                words = f"lee {OWN}" if continuous else f"lee {PREFIX + OWN}"
                text(drawing, x, y + 10, words, MINIMUM)


def continuous_batching(desc):
    """Los mismos seis textos, con un lote que espera a todos y con uno en que entra el siguiente."""
    drawing = card(556, "El lote que no espera, y el prefijo que se guarda", desc)
    for top, continuous, name, says in (
        (112, False, "Lote fijo", "entran tres, y nadie más hasta que acaban los tres"),
        (390, True, "Lote continuo", "quien acaba deja su plaza, y en el viaje siguiente entra otro"),
    ):
        text(drawing, 26, top - 76, name, SIZE, "start", bold=True)
        text(drawing, 180, top - 76, says, SMALL, "start")
        grid(drawing, top, continuous)
        words = f"{served(continuous)[1]} viajes, {empty(continuous)} plazas vacías; {read(continuous)} tokens leídos: "
        words += f"{PREFIX} y, de cada uno, {OWN}" if continuous else f"de cada uno, {PREFIX + OWN}"
        text(drawing, 26, top + 138, words, SIZE, "start", bold=True)
    line(drawing, (26, 280), (WIDTH - 26, 280), colour=c.MIST, width=2)
    x, y = 688, 438
    chip(drawing, x, y, 190, 92, "", c.GREY, tint=0.12)
    for i, words in enumerate((f"el prefijo, {PREFIX} tokens:", "leído una vez; todos", "usan su caché")):
        text(drawing, x, y - 25 + 25 * i, words, SMALL)
    arrow(drawing, (x - 95, y), (FIRST + COLUMN * 7 + COLUMN / 2 - 2, y), colour=c.GREY, head=9)
    return drawing


# Lo que se comprueba en la lección: la respuesta propuesta, con una palabra cambiada, y lo que escribe el modelo.
DRAFT = ("The", "capital", "of", "France", "is", "Rome", ".", "fin")
OWN_ANSWER, KEPT = ("The", "capital", "of", "France", "is", "Paris"), 15


def shifted_mask(desc):
    """La máscara de lo que entra a comprobarse: quién ve a quién, y qué fila juzga a qué token."""
    side, left, top = 34, 236, 104
    drawing = card(top + side * (len(DRAFT) + 1) + 40, "Comprobar lo propuesto, en un viaje", desc)
    text(drawing, 26, 32, "Entran nueve, y cada fila juzga al primero que no ve", SIZE, "start", bold=True)
    for x, words in ((26, "entra"), (138, f"caché: {KEPT}"), (left, "y los que entran, hasta él")):
        text(drawing, x, 68, words, SMALL, "start")
    text(drawing, 564, 68, "escribe", SMALL, "start")
    text(drawing, 652, 68, "juzga a", SMALL, "start")
    wrong = len(OWN_ANSWER) - 1
    for i, entering in enumerate(("(pregunta)", *DRAFT)):
        y, late = top + side * i, i > wrong
        colour, ink = (c.GREY, c.GREY) if late else (c.BLUE, c.INK)
        text(drawing, 26, y, entering, SMALL, "start", bold=not late, colour=ink)
        chip(drawing, 180, y, 84, side - 5, "", c.GREY if late else c.ORANGE, rx=4, stroke=1.5)
        for j in range(len(DRAFT) + 1):
            square(drawing, left + 14 + side * j, y, side - 5, colour if j <= i else None)
        if late:
            text(drawing, 564, y, "ya no cuenta", SMALL, "start", colour=c.GREY)
            continue
        good = "✓" if OWN_ANSWER[i] == DRAFT[i] else "✗"
        text(drawing, left + 14 + side * (i + 1), y, good, SMALL, bold=True)
        text(drawing, 564, y, OWN_ANSWER[i], SMALL, "start", bold=True)
        text(drawing, 652, y, f"{DRAFT[i]}  {good}", SMALL, "start", bold=i == wrong)
    words = f"Se quedan {wrong}, y «{OWN_ANSWER[wrong]}», que lo ha escrito él: {wrong + 1} tokens en un viaje"
    text(drawing, 26, top + side * (len(DRAFT) + 1) + 12, words, SIZE, "start", bold=True)
    return drawing


def figures():
    """nombre del archivo → (función que lo dibuja, texto alternativo)."""
    wrong = len(OWN_ANSWER) - 1
    return {
        "lote-continuo.svg": (
            continuous_batching,
            f"Seis textos, tres plazas y un prefijo de {PREFIX} tokens. Lote fijo: quien acaba deja su plaza vacía "
            f"hasta que acaban los tres; {served(False)[1]} viajes, {empty(False)} plazas vacías, {read(False)} tokens "
            f"leídos. Lote continuo, con el prefijo guardado: entra otro; {served(True)[1]} viajes, {empty(True)} plazas "
            f"vacías, {read(True)} tokens leídos.",
        ),
        "especular-mascara.svg": (
            shifted_mask,
            f"Nueve filas comprueban «{' '.join(DRAFT[:-2])}.». Ven los {KEPT} tokens de la caché y, en triángulo, los "
            f"que entran. Cada una escribe un token y juzga al primero que no ve: la de «{DRAFT[wrong - 1]}» escribe "
            f"«{OWN_ANSWER[wrong]}» y rechaza «{DRAFT[wrong]}»; lo que sigue no cuenta.",
        ),
    }
