"""Comprueba la posición sinusoidal; con ella van los demás ejercicios de su lección.

La familia: {exponente 2i/d_model, el doble, la mitad…} × {base 10000, otra} × {÷, ×…} × {seno y coseno
alternados, por mitades…} × {posiciones desde 0, desde 1…} × {tabla, traspuesta…}.
"""

import math

import torch

from course_lib.checkers.entrance import ENCODER_INPUT
from course_lib.checkers.family import Case, Mistake, Option, Raised, Stage, same, show
from course_lib.checkers.few_mistakes import FewMistakes
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding
from course_lib.layers import PositionalEncoding


def first_row(look):
    """La fila 0 sale de un ángulo 0 en todas las parejas: 0, 1, 0, 1…"""
    if look.yours.shape != look.right.shape:
        return ""
    yours, right = (show(table[0, :4]) for table in (look.yours, look.right))
    return f"Con {look.case.name}, tu fila 0 empieza por {yours}, y tenía que empezar por {right}."


def products(look):
    """Lo que varía el producto de dos filas vecinas, que tendría que ser siempre el mismo."""
    if look.yours.shape != look.right.shape:
        return ""
    yours, right = ((table[1:] * table[:-1]).sum(-1) for table in (look.yours, look.right))
    if not yours.isfinite().all() or yours.max() - yours.min() < 0.01:
        return ""
    return (
        f"Con {look.case.name}, el producto de dos filas vecinas va de {show(yours.min())} a "
        f"{show(yours.max())} según dónde estén, y tenía que ser siempre {show(right[0])}."
    )


POSITION_TEXTS = {
    # Cada error: qué está mal y, si no es en 02 §6, dónde se explica; y su consecuencia.
    "posición-desde-1": ("Tus posiciones empiezan en 1: la primera es la 0.", first_row),
    "posición-al-revés": ("Tus posiciones van al revés: la fila 0 es la de pos = 0.", first_row),
    "posición-repartida": (
        "Las posiciones no van de 1 en 1 desde 0: has dividido pos por la longitud, o las has repartido."
    ),
    "exponente-desde-1": "El exponente no empieza en 0: la primera pareja es la de i = 0.",
    "exponente-al-revés": "Las parejas van al revés: la primera es la que gira más deprisa.",
    "frecuencias-distintas": (
        "El seno y el coseno de una pareja llevan exponentes distintos: es el mismo 2i/d_model en los dos.",
        products,
    ),
    "exponente-doble": (
        "Tu exponente es el doble: si la i del bucle ya es par (0, 2, 4…), ya es el 2i de la fórmula."
    ),
    "exponente-mitad": (
        "Tu exponente es la mitad: es 2i/d_model, y no i/d_model (usar 100 como base da lo mismo)."
    ),
    "exponente-sin-dividir": "Al exponente le falta dividir por d_model.",
    "exponente-divisor": "El exponente no se divide por d_model, sino por un número algo menor.",
    "exponente-entre-L": "Has dividido el exponente por la longitud, y no por d_model.",
    "exponente-entero": (
        "El exponente no cambia de una pareja a otra como debe: ¿falta la i, o divides con // y pierdes "
        "los decimales?"
    ),
    "posición-multiplicada": "Multiplicas pos por la potencia, o le cambias el signo: se divide.",
    "sin-potencia": "Multiplicas 10000 por el exponente: es una potencia, **.",
    "paréntesis": (
        "Los paréntesis de la potencia no están donde tienen que estar: en Python, ** se hace antes que * y /."
    ),
    "ángulos-casi-0": (
        "Tus ángulos salen casi 0 en todas las posiciones: ¿faltan los paréntesis del exponente? ** se hace "
        "antes que * y /."
    ),
    "división-entera": "Divides con // y el ángulo pierde los decimales: es /.",
    "grados": "Has convertido el ángulo a grados o desde grados: sin y cos usan radianes.",
    "vueltas": "Has multiplicado el ángulo por π o por 2π, y la fórmula no lo pide.",
    "coseno-primero": "Los pares llevan el coseno y los impares el seno: es al revés.",
    "solo-seno": "Todas tus columnas son senos: las impares llevan el coseno.",
    "solo-coseno": "Todas tus columnas son cosenos: las pares llevan el seno.",
    "impares-a-cero": "Tus columnas impares se quedan a 0: les falta el coseno.",
    "pares-a-cero": "Tus columnas pares se quedan a 0: les falta el seno.",
    "mitades": "Pones primero todos los senos y después todos los cosenos: se alternan, uno y uno.",
    "mitades-en-filas": "Has puesto los cosenos debajo de los senos: se alternan en las columnas.",
    "paridad-de-la-fila": "Eliges seno o coseno según la posición: es según la columna.",
    "media-tabla": "Solo hay un número por pareja, y son dos: el seno y el coseno.",
    "traspuesta": "Tu tabla está traspuesta: una fila por posición y una columna por dimensión.",
    "eje-de-más": "Tu tabla tiene un eje de más, de tamaño 1: tiene que medir (L, d_model).",
    "sin-aplanar": "Tus parejas están en un eje aparte, (L, d_model/2, 2): ponlas seguidas.",
    "argumentos-cambiados": "Has cambiado un argumento por otro: primero la longitud, L, y después la anchura, d_model.",
}


def base_mistake(text):
    return Mistake("base", text, "02 §6")


def misplaced(name, *values):
    """Las formas de cometer un error de ``POSITION_TEXTS``."""
    text, consequence = found if isinstance(found := POSITION_TEXTS[name], tuple) else (found, None)
    section = "02 §6.2" if name in ("frecuencias-distintas", "exponente-doble") else "02 §6"
    mistake = Mistake(name, text, section, consequence)
    return [Option(value, mistake) for value in values]


def matrix(out):
    return out if out.dim() == 2 else None


def without(axis):
    return lambda out: out.squeeze(axis) if out.dim() == 3 and out.shape[axis] == 1 else None


def flattened(out):
    return out.flatten(1) if out.dim() == 3 and out.shape[2] == 2 else None


def zero(angle):
    return 0.0


sin, cos = math.sin, math.cos
POSITION_AXES = {
    # Qué número lleva cada fila, a partir de la fila y de L.
    "positions": [
        Option(lambda row, L: row),
        *misplaced("posición-desde-1", lambda row, L: row + 1),
        *misplaced("posición-al-revés", lambda row, L: L - 1 - row),
        *misplaced(
            "posición-repartida",
            lambda row, L: row / L,
            lambda row, L: row / (L - 1),
            lambda row, L: row * L / (L - 1),
        ),
    ],
    # El 2i de la fórmula, a partir de la pareja y de d_model, y lo que se le suma en el segundo.
    "pairs": [
        Option(lambda i, d: 2 * i),
        *misplaced("exponente-desde-1", lambda i, d: 2 * i + 2, lambda i, d: 2 * i + 1),
        *misplaced("exponente-al-revés", lambda i, d: d - 2 - 2 * i),
    ],
    "other": [Option(0), *misplaced("frecuencias-distintas", 1, 2, -1)],
    "exponent": [
        Option(lambda k, d, L: k / d),
        *misplaced("exponente-doble", lambda k, d, L: 2 * k / d),
        *misplaced("exponente-mitad", lambda k, d, L: k / (2 * d)),
        *misplaced(
            "exponente-sin-dividir", lambda k, d, L: k, lambda k, d, L: k / 2, lambda k, d, L: 2 * k
        ),
        *misplaced("exponente-divisor", lambda k, d, L: k / (d - 2), lambda k, d, L: k / (d - 1)),
        *misplaced("exponente-entre-L", lambda k, d, L: k / L, lambda k, d, L: k / L / 2),
        *misplaced("exponente-entero", lambda k, d, L: 0.0, lambda k, d, L: 2 * k // d),
    ],
    "base": [
        Option(1e4),
        *(Option(b, base_mistake(f"La base es 10000, y usas {b:.0f}.")) for b in (1e3, 1e5, 10.0)),
        Option(
            math.e, base_mistake("Tu base es e, y es 10000: ¿falta log(10000) en la exponencial?")
        ),
        Option(
            math.e**4,
            base_mistake("Tu base es e⁴: en la exponencial va el logaritmo natural, no log10."),
        ),
    ],
    # El ángulo, a partir de pos, la base, el exponente y los números de los que sale.
    "operation": [
        Option(lambda p, b, x, k, d: p / b**x),
        *misplaced("posición-multiplicada", lambda p, b, x, k, d: p * b**x),
        *misplaced("sin-potencia", lambda p, b, x, k, d: p / (b * x)),
        *misplaced("ángulos-casi-0", lambda p, b, x, k, d: p / b**2 * k / d),
        *misplaced(
            "paréntesis",
            lambda p, b, x, k, d: p / (b**2 * k / d),
            lambda p, b, x, k, d: p / b**k / d,
            lambda p, b, x, k, d: p / (b**k / d),
            lambda p, b, x, k, d: (p / b) ** x,
        ),
        *misplaced("división-entera", lambda p, b, x, k, d: p // b**x),
    ],
    "unit": [
        Option(1.0),
        *misplaced("grados", math.pi / 180, 180 / math.pi),
        *misplaced("vueltas", 2 * math.pi, math.pi),
    ],
    # La función del primero y del segundo de cada pareja.
    "functions": [
        Option((sin, cos)),
        *misplaced("coseno-primero", (cos, sin)),
        *misplaced("solo-seno", (sin, sin)),
        *misplaced("solo-coseno", (cos, cos)),
        *misplaced("impares-a-cero", (sin, zero)),
        *misplaced("pares-a-cero", (zero, cos)),
    ],
    # Lo que mide la tabla, y qué va en cada casilla: fila, función, pareja y si es la segunda.
    "layout": [
        Option((lambda L, d: (L, d), lambda r, c, L, d: (r, c % 2, c // 2, c % 2))),
        *misplaced(
            "mitades",
            (lambda L, d: (L, d), lambda r, c, L, d: (r, 2 * c // d, c % (d // 2), 2 * c // d)),
        ),
        *misplaced(
            "mitades-en-filas",
            (lambda L, d: (2 * L, d // 2), lambda r, c, L, d: (r % L, r // L, c, r // L)),
        ),
        *misplaced(
            "paridad-de-la-fila",
            (lambda L, d: (L, d), lambda r, c, L, d: (r, r % 2, c // 2, c % 2)),
        ),
        *misplaced("media-tabla", (lambda L, d: (L, d // 2), lambda r, c, L, d: (r, 0, c, 0))),
    ],
    # Cómo se coloca la tabla, y cómo se deshace.
    "shape": [
        Option((lambda table: table, matrix)),
        *misplaced(
            "traspuesta", (lambda table: table.T, lambda out: out.T if out.dim() == 2 else None)
        ),
        *misplaced(
            "eje-de-más",
            (lambda table: table[None], without(0)),
            (lambda table: table[:, None], without(1)),
        ),
        *misplaced("sin-aplanar", (lambda table: table.unflatten(1, (-1, 2)), flattened)),
    ],
    "swapped": [Option(False), *misplaced("argumentos-cambiados", True)],
}


RIGHT = {axis: options[0].value for axis, options in POSITION_AXES.items()}


def entry(steps, row, column, length, width):
    """Una casilla y el ángulo del que sale."""
    at, which, pair, second = steps["layout"][1](row, column, length, width)
    number = steps["pairs"](pair, width) + second * steps["other"]
    try:
        exponent = steps["exponent"](number, width, length)
        place = steps["positions"](at, length)
        angle = steps["operation"](place, steps["base"], exponent, number, width) * steps["unit"]
        return steps["functions"][which](angle), angle
    except (ZeroDivisionError, OverflowError, ValueError):
        return math.nan, 0.0


class Positions(FewMistakes):
    """(L, d_model) → la tabla de senos y cosenos."""

    number, title, points = "2.1", "la posición sinusoidal", 3
    names = ("length", "dim_embedding")
    axes = POSITION_AXES
    idle = {"ángulos-casi-0": ("pairs", "other", "exponent", "base", "unit")}
    numpy = True
    stages = (
        Stage(
            tuple(POSITION_AXES),
            tuple(
                Case(f"length = {length} y dim_embedding = {width}", (length, width))
                for length, width in ((6, 4), (4, 8), (6, 6), (12, 10))
            ),
        ),
    )
    tiny = tuple(
        Case(f"length = {length} y dim_embedding = {width}", (length, width))
        for length, width in ((1, 2), (2, 2), (2, 4))
    )

    def steps(self, choice):
        return RIGHT | {axis: option.value for axis, option in choice.items()}

    def compute(self, choice, length, width):
        if choice["swapped"]:
            length, width = width, length
        rows, columns = choice["layout"][0](length, width)
        table = [
            [entry(choice, r, c, length, width)[0] for c in range(columns)] for r in range(rows)
        ]
        return {"output": choice["shape"][0](torch.tensor(table))}

    def agrees(self, choice, case, value):
        """Casilla a casilla, hasta la primera que no: así se puede mirar una familia enorme.

        Un ángulo grande pierde decimales en float32: se perdona lo que eso mueve el seno.
        """
        if isinstance(value, Raised) or not value.numel() or value.min() == value.max():
            return False  # de una tabla con un solo número no se aprende nada
        steps, (length, width) = self.steps(choice), case.arguments
        if steps["swapped"]:
            length, width = width, length
        rows, columns = steps["layout"][0](length, width)
        table = steps["shape"][1](value)
        if table is None or tuple(table.shape) != (rows, columns):
            return False
        for row, numbers in sorted(enumerate(table.tolist()), key=lambda pair: pair[0] == 0):
            for column, number in enumerate(numbers):
                expected, angle = entry(steps, row, column, length, width)
                if math.isnan(expected) or math.isnan(number):
                    if math.isnan(expected) != math.isnan(number):
                        return False
                elif abs(expected - number) > 2e-5 + min(3e-6 * abs(angle), 0.05):
                    return False
        return True

    def table(self, learner, *arguments):
        """Lo que devuelve el código, o ``None``."""
        outcome = self.call(learner, *arguments)
        value, problem = self.read(outcome.value, None) if not outcome.problem else (None, True)
        return None if problem or not isinstance(value, torch.Tensor) else value

    def extra_options(self, learner):
        """La base que usa quien aprende, leída en los ángulos de la segunda pareja."""
        table = self.table(learner, 4, 4)
        if table is None or table.numel() != 16:
            return {}
        found = set()
        for number in table.reshape(-1)[1:8].tolist():
            for angle in (math.asin(number), math.acos(number)) if 0 < number < 1 else ():
                base = float(f"{angle**-2:.7g}")
                if 1.5 < base < 1e7 and abs(base / 10_000 - 1) > 0.01:
                    found.add(base)
        text = "La base es 10000, y la tuya es {}."
        return {"base": [Option(b, base_mistake(text.format(show(b)))) for b in sorted(found)]}

    def properties(self, learner, seen):
        """Lo que tiene que cumplir la tabla."""
        for case, table in seen.items():
            if isinstance(table, Raised):
                continue
            if tuple(table.shape) != case.arguments:
                text = "La forma de tu tabla no es (L, d_model)."
                story = f"Con {case.name} mide {tuple(table.shape)}."
                yield Finding("propiedad-forma", text, story, "02 §6")
            elif not table.isfinite().all():
                bad = int((~table.isfinite()).sum())
                text = f"Con {case.name}, {bad} de los {table.numel()} números son NaN o ∞."
                yield Finding("propiedad-finita", text, "", "02 §6")
            elif table.abs().max() > 1.0001:
                text = "Un seno y un coseno están entre −1 y 1, y en tu tabla hay números mayores."
                story = f"Con {case.name}, uno vale {show(table.abs().max())}."
                yield Finding("propiedad-entre-1", text, story, "02 §6")
            elif not same(table[0], torch.tensor([0.0, 1.0] * (table.shape[1] // 2))):
                text = (
                    "En la posición 0 todos los ángulos son 0: la fila 0 tiene que ser 0, 1, 0, 1…"
                )
                story = f"Con {case.name}, la tuya empieza por {show(table[0, :4])}."
                yield Finding("propiedad-fila-0", text, story, "02 §6")
            elif (gap := ((table[:, 0::2] ** 2 + table[:, 1::2] ** 2) - 1).abs()).max() > 1e-3:
                pair = int(gap.amax(0).argmax())
                text = (
                    "En cada pareja, sen² + cos² tiene que ser 1: el ángulo de los dos es el mismo."
                )
                story = f"Con {case.name}, en la pareja {pair} te apartas hasta {show(gap.max())}."
                yield Finding("propiedad-pareja", text, story, "02 §6.2")
            else:
                continue
            return

    def notes(self, learner, seen):
        """Un d_model impar: el artículo no lo usa, y se dice lo que pasa."""
        table, right = self.table(learner, 4, 5), PositionalEncoding(4, 5).positional_encoding
        if table is None:
            yield "con un d_model impar tu código se para; el de course_lib deja al último seno sin coseno."
        elif not same(table, right):
            yield "con un d_model impar, tu tabla no es la de course_lib, que deja al último seno sin coseno."


# --- 2.3 Los dos «the» ----------------------------------------------------------------------------


STOPS = (
    "token_embeddings",
    "embeddings_with_positional_encoding",
    "encoder_input",
    "contextual_embeddings",
)


def equal_stops(first, second, word):
    """En cuántas paradas son iguales los vectores de una palabra: la primera vez y la última."""
    from course_lib import extract_embeddings

    first, second = extract_embeddings(first), extract_embeddings(second)
    i = first.tokens[0].index(word)
    j = len(second.tokens[0]) - 1 - second.tokens[0][::-1].index(word)
    pairs = ((getattr(first, stop)[0, i], getattr(second, stop)[0, j]) for stop in STOPS)
    return sum(torch.allclose(one, other, atol=1e-5) for one, other in pairs)


CHASE = "The dog chased the cat"
TWO_THE = Question(
    "2.3",
    "los dos «the»",
    lambda: equal_stops(CHASE, CHASE, "the"),
    (
        Wrong(
            lambda: equal_stops(CHASE, "The dog chased a cat", "the"),
            "olvida-la-posición",
            "Solo la salida ha leído la frase, es verdad. Pero la posición se suma antes, y los dos «the» no "
            "están en el mismo sitio.",
            "02 §5",
        ),
        Wrong(
            lambda: len(STOPS),
            "una-palabra-un-vector",
            "Que la palabra sea la misma solo asegura que es la misma fila de la tabla. ¿Qué se le suma después?",
            "02 §9",
        ),
        Wrong(
            lambda: equal_stops(CHASE, CHASE, "the") - 1,
            "ni-la-tabla",
            "La fila de la tabla la elige el id, y los dos «the» tienen el mismo id.",
            "02 §3",
        ),
    ),
    kind="un número entero",
    read="02 §9",
)

POSITIONS = Positions()
EXERCISES = (POSITIONS, ENCODER_INPUT)
QUESTIONS = (TWO_THE,)


def check_positional_encoding(function):
    """Comprueba una tabla de posiciones sinusoidales.

    Args:
        function: recibe ``(length, dim_embedding)``, dos enteros, L y d_model (par), y devuelve la
            tabla, ``(L, d_model)``: un tensor o un array de NumPy.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(POSITIONS.check(function))


def check_encoder_input(function):
    """Comprueba lo que entra en la primera capa de BERT.

    Args:
        function: recibe ``(token_vectors, position_vectors, type_vectors, gamma, beta, eps)``: tres
            tensores ``(B, L, d_model)``, dos ``(d_model,)`` y un número. Devuelve ``(B, L, d_model)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(ENCODER_INPUT.check(function))
