"""Comprueba las tres máscaras: la causal, la de relleno y la del decoder.

Con qué convenio y con qué ejes están escritas lo mira ``mask_notation``. Aquí, qué casillas dejan
mirar: {qué tokens son de verdad} × {columnas, filas…} × {causal, traspuesta…} × {con un Y, con un O…}.
"""

import functools
import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.checkers.family import Case, Option, Stage, same
from course_lib.checkers.mask_notation import MaskExercise, mistake
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.masks import causal_mask, combine_masks, padding_mask


def options(right, *wrong, read):
    """Las formas de dar un paso: la buena y, de cada mala, (valor, id, texto, dónde si es otro sitio)."""
    known = {}
    found = [Option(right)]
    for value, name, text, *where in wrong:
        known.setdefault(name, mistake(name, text, *where or (read,)))
        found.append(Option(value, known[name]))
    return found


INVERTED = (
    True,
    "al-revés",
    "Está al revés: marcas lo que no se puede mirar (el convenio block), y en este curso True es "
    "«puede mirar».",
)
NO_DIAGONAL = "sin-diagonal", "La diagonal está prohibida: cada token puede mirarse a sí mismo."
ONE_AHEAD = "un-futuro", "Cada token ve también el siguiente: te has pasado en una diagonal."
FLIPPED = "volteada", "Es un triángulo, pero volteado: apoyado en la otra diagonal."
CLOSED = "nada-permitido", "Todo está prohibido: ningún token puede mirar a nadie."

# --- 4.1 · La causal ------------------------------------------------------------------------------


class CausalMask(MaskExercise):
    """``length`` → (L, L), con True en j ≤ i."""

    number, title, points = "4.1", "la máscara causal", 1
    names, layouts = ("length",), ()
    axes = {
        "size": options(
            lambda length: length,
            (lambda length: length + 1, "mide-de-más", "Mide uno de más: es de L por L."),
            (
                lambda length: length - 1,
                "mide-de-menos",
                "Mide uno de menos: es de L por L.",
            ),
            read="04 §2",
        ),
        "base": options(
            None,  # un triángulo
            (lambda i, j: i + j >= 0, "todo-permitido", "Todo está permitido: no prohíbes nada."),
            (lambda i, j: i + j < 0, *CLOSED),
            (
                lambda i, j: i == j,
                "solo-diagonal",
                "Cada token se ve solo a sí mismo, y no su pasado.",
            ),
            (
                lambda i, j: i != j,
                "solo-los-demás",
                "Prohíbes solo la diagonal: el futuro está a la vista.",
            ),
            (lambda i, j: i + j >= len(i) - 1, *FLIPPED),
            (lambda i, j: i + j <= len(i) - 1, *FLIPPED),
            read="04 §2",
        ),
        # De qué diagonal a qué diagonal se puede mirar.
        "band": options(
            (-math.inf, 0),
            ((-math.inf, -1), *NO_DIAGONAL),
            ((-math.inf, 1), *ONE_AHEAD),
            read="04 §2",
        ),
        "transposed": options(
            False,
            (
                True,
                "traspuesta",
                "Es el triángulo de arriba, con su diagonal: cada token mira a lo que viene detrás y no a "
                "lo que ya pasó. Las filas son queries y las columnas, keys: se permite el triángulo de abajo.",
            ),
            read="04 §2",
        ),
        "inverted": options(False, INVERTED, read="04 §6"),
    }
    stages = (Stage(tuple(axes), tuple(Case(f"{n} tokens", (n,)) for n in (5, 4, 8, 2, 1))),)
    tiny = tuple(Case(f"length = {n}", (n,)) for n in (1, 2, 3, 4))
    shape_note, where = "Por difusión da lo mismo.", "04 §2"
    leak = "Tu máscara deja ver el futuro: hay permisos por encima de la diagonal."
    loss = "Tu máscara tapa lo que se puede ver: hay prohibiciones en la diagonal o debajo."

    def compute(self, choice, length):
        i = torch.arange(choice["size"](length))[:, None]
        j = i.mT
        if choice["base"]:
            if choice["band"] != (-math.inf, 0) or choice["transposed"] or choice["inverted"]:
                raise ValueError  # lo demás es cosa de un triángulo
            return {"output": choice["base"](i, j)}
        if choice["transposed"] and choice["inverted"]:
            raise ValueError  # vuelve a ser un triángulo de abajo
        ahead, (first, last) = (i - j if choice["transposed"] else j - i), choice["band"]
        mask = (first <= ahead) & (ahead <= last)
        return {"output": ~mask if choice["inverted"] else mask}

    def sizes(self, case):
        return case.arguments

    def canonical(self, mask, layout, case):
        """Sin los ejes de tamaño 1 que sobren delante."""
        return mask.reshape(mask.shape[-2:]) if set(mask.shape[:-2]) == {1} else mask

    def wanted(self, case):
        return case.arguments * 2

    def extra_options(self, learner):
        """Lo que se mide: si no depende de ``length``, y entre qué diagonales deja mirar."""
        mask, other = (self.call(learner, n).value for n in (9, 7))
        if not all(isinstance(x, torch.Tensor) and x.dim() == 2 for x in (mask, other)):
            return {}
        n = len(mask)
        if mask.shape == other.shape == (n, n):
            text = f"Tu máscara mide siempre {n}: no usas «length»."
            return {"size": [Option(lambda length: n, mistake("longitud-fija", text, "04 §2"))]}
        if mask.shape == (n, n) and n > 2:
            for keep in (mask != 0, mask == 0):
                seen = [d for d in range(1 - n, n) if keep.diagonal(d).any()]
                if seen and seen[-1] < n - 1:
                    return {
                        "band": [self.band(seen[0] if seen[0] > 1 - n else -math.inf, seen[-1])]
                    }
        return {}

    def band(self, first, last):
        """Un triángulo al que le faltan o le sobran diagonales."""
        wrong = [option.mistake for option in self.axes["band"][1:] if option.value[1] == last]
        if last not in (-1, 0, 1):
            text = (
                f"El triángulo está corrido: llega a la diagonal {last}, y tiene que llegar a la 0."
            )
            wrong.append(mistake("diagonal-corrida", text, "04 §2"))
        if first > -math.inf:
            text = (
                f"Tapas también el pasado lejano: no se ve nada por debajo de la diagonal {first}."
            )
            wrong.append(mistake("ventana", text, "04 §2"))
        return Option((first, last), tuple(wrong))

    def mistake_ids(self):
        return super().mistake_ids() | {"longitud-fija", "diagonal-corrida", "ventana"}


# --- 4.2 · La de relleno --------------------------------------------------------------------------


def from_the_end(real):
    """Cuántos tokens de verdad hay desde cada uno hasta el final."""
    return real.flip(-1).cumsum(-1).flip(-1)


def before(real, end):
    return (torch.arange(real.shape[-1]) < end).expand_as(real)


RIGHT_PADDING = (
    "relleno-delante",
    "Cuentas con que el relleno va siempre detrás, y también puede ir delante. Usa attention_mask tal cual.",
    "04 §7",
)
MIXED = "mezcla-frases", "Usas para todas las frases lo mismo: el relleno de cada una es suyo."
# Qué tokens se toman por tokens de verdad: (B, L) → (B, L). Después, los que miran a las demás frases.
OF_EACH = (
    (lambda real: before(real, real.sum(-1, keepdim=True)), *RIGHT_PADDING),
    (lambda real: from_the_end(real) > 0, *RIGHT_PADDING),
    (lambda real: real.cumprod(-1) > 0, *RIGHT_PADDING),
    (
        lambda real: before(real, real.int().argmin(-1, keepdim=True)),
        "corta-en-el-primer-cero",
        "Cortas en el primer 0, y una frase sin relleno no tiene ninguno: se queda sin nadie a quien mirar.",
    ),
    (lambda real: real.flip(-1), "al-contrario", "Has dado la vuelta al orden de los tokens."),
)
OF_OTHERS = (
    (
        lambda real: real[:1].expand_as(real),
        "primera-frase",
        "Usas solo la primera frase del lote.",
    ),
    (lambda real: real[-1:].expand_as(real), "última-frase", "Usas solo la última frase del lote."),
    (lambda real: real.all(0).expand_as(real), *MIXED),
    (lambda real: real.any(0).expand_as(real), *MIXED),
    (lambda real: before(real, real.sum(-1).max()), *MIXED),
    (lambda real: real.flip(0), "frases-cambiadas", "Has dado la vuelta al orden de las frases."),
)
SIDES = (
    # A qué se aplica: a las columnas (keys), a las filas (queries) o a las dos.
    (
        lambda column, row: row,
        "tapa-filas",
        "Tapas las filas del relleno (las queries) y no sus columnas (las keys): los tokens de verdad "
        "siguen mirando al relleno.",
    ),
    (
        lambda column, row: column & row,
        "filas-y-columnas",
        "Tapas también las filas del relleno, y solo hacen falta las columnas: esas filas se quedan sin "
        "nadie a quien mirar, y con −∞ dan NaN.",
    ),
    (
        lambda column, row: column | row,
        "filas-o-columnas",
        "Tapas solo el cruce del relleno consigo mismo: los tokens de verdad siguen mirando al relleno.",
    ),
)


def columns(column, row):
    return column


def lots(*tables):
    """Las pruebas: cada tabla es un ``attention_mask``."""
    return tuple(Case(name, (torch.tensor(table),)) for name, table in tables)


CASES = lots(
    ("2 frases de 5 y 3 tokens", [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
    (
        "3 frases de 2, 4 y 1 tokens en 6 columnas",
        [[1] * 2 + [0] * 4, [1] * 4 + [0] * 2, [1] + [0] * 5],
    ),
    ("3 frases de 3, 2 y 1 tokens", [[1, 1, 1], [1, 1, 0], [1, 0, 0]]),
    ("1 frase de 3 tokens y un relleno", [[1, 1, 1, 0]]),
    ("2 frases con el relleno delante", [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]),
    ("2 frases sin relleno", [[1, 1, 1], [1, 1, 1]]),
    ("2 frases, una sin ningún token", [[1, 1, 1, 0], [0, 0, 0, 0]]),
)
TINY = lots(
    ("", [[1, 0]]), ("", [[1, 1]]), ("", [[0, 1]]), ("", [[1, 1, 0]]), ("", [[1, 0], [1, 1]])
)


class PaddingMask(MaskExercise):
    """attention_mask (B, L_k) → (B, 1, 1, L_k)."""

    number, title = "4.2", "la máscara de relleno"
    names = ("attention_mask",)
    axes = {
        "real": options(
            torch.clone,
            *OF_EACH,
            *OF_OTHERS,
            (torch.ones_like, "no-tapa-el-relleno", "El relleno no está tapado: se puede mirar."),
            (torch.zeros_like, *CLOSED),
            read="04 §5",
        ),
        "edge": options(
            torch.clone,
            (
                lambda real: real & (from_the_end(real) > 1),
                "falta-el-último",
                "Tapas el último token de verdad de cada frase: cortas uno antes de tiempo.",
            ),
            (
                lambda real: real | torch.nn.functional.pad(real, (1, 0))[:, :-1],
                "un-relleno-de-más",
                "Dejas mirar al primer token de relleno: cortas uno más allá.",
            ),
            (
                lambda real: real & (real.cumsum(-1) > 1),
                "falta-el-primero",
                "Tapas el primer token de verdad de cada frase, que también se puede mirar.",
            ),
            read="04 §5",
        ),
        "parts": options(False, INVERTED, read="04 §6"),
        "side": options(columns, *SIDES, read="04 §5.2"),
        "whole": options(False, INVERTED, read="04 §6"),
        "causal": options(
            False,
            (
                True,
                "causal-de-más",
                "Has juntado también la causal, y aquí solo se tapa el relleno.",
            ),
            read="04 §5.1",
        ),
    }
    stages, tiny = (Stage(tuple(axes), CASES),), TINY
    shape_note = "Da lo mismo si las queries son los mismos tokens que las keys. Con un 1 en su eje vale siempre."
    leak = "Tu máscara deja mirar al relleno: hay permisos en columnas en las que attention_mask vale 0."
    loss = "Tu máscara tapa tokens de verdad: hay prohibiciones en columnas en las que attention_mask vale 1."

    def compute(self, choice, attention_mask):
        return {"output": padding(*(choice[axis] for axis in self.axes), attention_mask)}

    def wanted(self, case):
        B, L = case.arguments[0].shape
        return (B, 1, 1, L)


@functools.lru_cache(maxsize=1 << 14)
def padding(real, edge, parts, side, whole, causal, attention_mask):
    """Lo que deja mirar una máscara de relleno, con cada paso dado de la forma que se pide."""
    B, L = attention_mask.shape
    if (parts or whole) and side is SIDES[2][0]:
        raise ValueError  # es la negación de «filas-y-columnas»
    tokens = edge(real(attention_mask == 1))
    tokens = ~tokens if parts else tokens
    mask = side(tokens[:, None, None], tokens[:, None, :, None])
    mask = ~mask if whole else mask
    return (mask & causal_mask(L) if causal else mask).expand(B, 1, L, L)


# --- 4.3 · La del decoder -------------------------------------------------------------------------


def triangle(cut):
    """Una causal a partir de su lado: (L, L)."""
    return lambda B, L: cut(torch.ones(L, L, dtype=torch.bool))


LOWER, UPPER, FUTURE, ALL = (
    triangle(cut) for cut in (torch.tril, torch.triu, lambda ones: ones.triu(1), torch.clone)
)
TRANSPOSED = (
    "causal-traspuesta",
    "La parte causal está traspuesta: se permite el triángulo de abajo, con su diagonal.",
)


def of_the_batch(B, L):
    return causal_mask(B)


def both(causal, mask):
    return causal & mask


def open_diagonal(causal, mask):
    return causal & mask | torch.eye(causal.shape[-1], dtype=torch.bool)


def exclusive(causal, mask):
    return causal ^ mask


def agreeing(causal, mask):
    return causal == mask


class DecoderMask(MaskExercise):
    """attention_mask (B, L) → (B, 1, L, L): causal y relleno."""

    number, title, points = "4.3", "la máscara del decoder", 3
    names = ("attention_mask",)
    axes = {
        "causal": options(
            LOWER,
            (triangle(lambda ones: ones.tril(-1)), *NO_DIAGONAL, "04 §2"),
            (triangle(lambda ones: ones.tril(1)), *ONE_AHEAD, "04 §2"),
            (UPPER, *TRANSPOSED, "04 §2"),
            (
                FUTURE,
                "causal-al-revés",
                "La parte causal está al revés: permites el futuro.",
                "04 §6",
            ),
            (ALL, "sin-causal", "Falta la causal: se puede mirar al futuro."),
            (
                of_the_batch,
                "longitud-del-lote",
                "Haces la causal con el número de frases, y va con el de tokens, el último eje de attention_mask.",
            ),
            read="04 §5.1",
        ),
        "real": options(
            torch.clone,
            *OF_EACH,
            *OF_OTHERS,
            (torch.ones_like, "sin-relleno", "Falta el relleno: se puede mirar a los [PAD]."),
            (torch.zeros_like, *CLOSED),
            read="04 §5",
        ),
        "parts": options(
            False,
            (True, "relleno-al-revés", "La parte del relleno está al revés: permites los [PAD]."),
            read="04 §6",
        ),
        "side": options(
            columns,
            *SIDES,
            (
                None,
                "sin-ejes",
                "Juntas attention_mask, (B, L_k), con la causal, (L, L), sin los dos ejes de tamaño 1: la "
                "difusión toma las frases por queries.",
                "04 §5.1",
            ),
            read="04 §5.2",
        ),
        "join": options(
            both,
            (
                lambda causal, mask: causal | mask,
                "o",
                "Las has juntado con un O (|, o sumando): se mira donde lo permiten las dos, con un Y (&).",
            ),
            (
                lambda causal, mask: causal.int() + mask.int(),
                "suma",
                "Has sumado las dos máscaras, y salen 0, 1 y 2: se juntan con un Y (&).",
            ),
            (
                exclusive,
                "o-exclusivo",
                "Dejas mirar donde lo permite una de las dos, y solo una: se juntan con un Y (&).",
            ),
            (agreeing, "iguales", "Dejas mirar donde las dos dicen lo mismo, aunque sea que no."),
            (
                open_diagonal,
                "diagonal-abierta",
                "Abres toda la diagonal, y el relleno se mira a sí mismo.",
            ),
            read="04 §5.1",
        ),
        "whole": options(False, INVERTED, read="04 §6"),
    }
    stages, tiny = (Stage(tuple(axes), CASES),), TINY
    shape_note = "Por difusión da lo mismo."
    leak = "Tu máscara deja mirar al futuro o al relleno."
    loss = "Tu máscara tapa casillas permitidas: un token de verdad, en el presente o en el pasado."

    def compute(self, choice, attention_mask):
        steps = tuple(choice[axis] for axis in self.axes)
        if said_otherwise(*steps):
            raise ValueError
        return {"output": decoder(*steps, attention_mask)}

    def wanted(self, case):
        B, L = case.arguments[0].shape
        return (B, 1, L, L)


@functools.cache
def said_otherwise(causal, real, parts, side, join, whole):
    """Si esto mismo es otro miembro de la familia, que se cuenta mejor."""
    missing = causal is ALL or real in (torch.ones_like, torch.zeros_like)
    others = {way[0] for way in OF_OTHERS} | {torch.zeros_like}
    return (
        (missing and (whole or join not in (both, open_diagonal)))
        or (whole and (parts or join is not both or causal is FUTURE))
        or ((parts or whole) and side is SIDES[2][0])
        or (causal in (UPPER, FUTURE) and join in (exclusive, agreeing))
        or (causal is FUTURE and join is open_diagonal)
        or (real in others and (side is None or causal is of_the_batch))
    )


@functools.lru_cache(maxsize=1 << 15)
def decoder(causal, real, parts, side, join, whole, attention_mask):
    """Lo que deja mirar una máscara de decoder, con cada paso dado de la forma que se pide."""
    B, L = attention_mask.shape
    tokens = real(attention_mask == 1)
    tokens = ~tokens if parts else tokens
    mask = tokens if side is None else side(tokens[:, None, None], tokens[:, None, :, None])
    mask = join(causal(B, L), mask)
    return (~mask if whole else mask).expand(B, 1, L, L)


# --- 4.4 · Una fila prohibida entera --------------------------------------------------------------

LEFT_PADDED = [[0, 0, 1, 1, 1]]
# Lo que recibe el último token en la primera fila: con −∞, con el más negativo y en course_lib.
OPTIONS = {
    "a": (0, 0, 0),
    "b": (math.nan, 1 / 3, 0),
    "c": (math.nan, 1 / 5, 0),
    "d": (math.nan, 1 / 5, 1 / 5),
}


def last_weights():
    """El peso del último token en la primera fila, de las tres formas."""
    keep = combine_masks(causal_mask(5), padding_mask(LEFT_PADDED))[0, 0]
    query = torch.linspace(-1, 1, 20).reshape(5, 4)
    scores = query @ query.T / 2
    naive = [
        scores.masked_fill(~keep, x).softmax(-1)
        for x in (-torch.inf, torch.finfo(scores.dtype).min)
    ]
    _, ours = scaled_dot_product_attention(query, query, query, keep)
    return torch.stack([weights[0, -1] for weights in (*naive, ours)])


def right_letter():
    right = last_weights()
    return next(
        letter
        for letter, row in OPTIONS.items()
        if same(right, torch.tensor(row, dtype=right.dtype))
    )


EMPTY_ROW = Question(
    "4.4",
    "una fila prohibida entera",
    right_letter,
    wrong=(
        Wrong(
            lambda: "a",
            "prohibido-siempre-cero",
            "Que algo esté prohibido no basta para que pese 0: la softmax divide por la suma de la fila, y si "
            "todo está prohibido no queda nada que sumar.",
        ),
        Wrong(
            lambda: "b",
            "reparte-entre-los-de-verdad",
            "Con el número más negativo, las cinco puntuaciones de la fila son iguales: la softmax no sabe "
            "cuáles eran tokens de verdad.",
        ),
        Wrong(
            lambda: "d",
            "course_lib-reparte",
            "La de course_lib también empieza por el número más negativo, pero después pone a 0 lo prohibido.",
        ),
    ),
    kind="una letra: a, b, c o d",
    read="04 §7",
    options="abcd",
)

CAUSAL, PADDING, DECODER = CausalMask(), PaddingMask(), DecoderMask()
EXERCISES = (CAUSAL, PADDING, DECODER)
QUESTIONS = (EMPTY_ROW,)


def check_causal_mask(function):
    """Comprueba una máscara causal.

    Args:
        function: recibe ``length``, un entero, y devuelve una máscara booleana ``(L, L)``: True si la
            query de esa fila puede mirar a la key de esa columna.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(CAUSAL.check(function))


def check_padding_mask(function):
    """Comprueba una máscara de relleno.

    Args:
        function: recibe ``attention_mask``, de forma ``(B, L_k)``, con 1 en los tokens de verdad y 0 en
            el relleno, y devuelve una máscara booleana ``(B, 1, 1, L_k)``; True = puede mirar.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(PADDING.check(function))


def check_decoder_mask(function):
    """Comprueba la máscara de un decoder: causal y de relleno a la vez.

    Args:
        function: recibe ``attention_mask``, de forma ``(B, L)``, con 1 en los tokens de verdad y 0 en el
            relleno, y devuelve una máscara booleana ``(B, 1, L, L)``; True = puede mirar.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(DECODER.check(function))
