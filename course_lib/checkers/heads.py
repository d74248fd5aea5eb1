"""Comprueba el reparto en cabezas y hace las preguntas de la lección 06.

La multi-cabeza entera, escrita como módulo, la comprueba ``multi_head``.
"""

import itertools

import torch

from course_lib.checkers.family import Case, Exercise, Mistake, Option, Stage
from course_lib.checkers.head_family import (
    BY_TOKENS,
    DIRECT,
    EARLY,
    INTERLEAVED,
    SINGLE,
    SIZES_SWAPPED,
    UNTRANSPOSED,
    split_tokens,
)
from course_lib.checkers.multi_head import MultiHead
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding

# --- 6.1: repartir --------------------------------------------------------------------------------


def whence(look):
    """De dónde viene el primer número que no está en su sitio: cada número lleva su origen."""
    yours, right, name = look.yours, look.right, look.case.name
    if yours.shape != right.shape:
        return f"Con {name}, tu salida mide {tuple(yours.shape)} y tenía que medir {tuple(right.shape)}."
    place = (yours != right).nonzero()[0].tolist()
    (mine, good), (_, head, token, position) = (
        (int(x[tuple(place)]) for x in (yours, right)),
        place,
    )
    return (
        f"Con {name}, en el número {position} del token {token} de la cabeza {head} pones la dimensión "
        f"{mine % 100} del token {mine // 100 % 100}, y le toca la dimensión {good % 100} del token "
        f"{good // 100 % 100}."
    )


def telling(mistake, text=None):
    """El mismo error, contado con los números del reparto."""
    return Mistake(mistake.id, text or mistake.text, mistake.read, whence)


def mistake(name, text, read="06 §5"):
    return Mistake(name, text, read, whence)


MISPLACED = telling(
    UNTRANSPOSED, "Falta poner el eje de las cabezas delante del de los tokens: es transpose(1, 2)."
)
SPLIT_DIRECT, SPLIT_EARLY = telling(DIRECT), telling(EARLY)
SPLIT_INTERLEAVED, SPLIT_SWAPPED = telling(INTERLEAVED), telling(SIZES_SWAPPED)
BATCH_INSIDE = mistake(
    "cabezas-delante-del-lote", "Pones las cabezas delante del lote: el orden es (B, h, L, d_k)."
)
SIDEWAYS = mistake(
    "cabezas-tumbadas", "Cada cabeza queda traspuesta, (d_k, L): el orden es (B, h, L, d_k)."
)
TARGET = ("B", "h", "L", "d_k")


def order_mistake(order):
    """El nombre de unos ejes que no están en el orden (B, h, L, d_k)."""
    known = {
        ("B", "L", "h", "d_k"): MISPLACED,
        ("h", "B", "L", "d_k"): BATCH_INSIDE,
        ("B", "h", "d_k", "L"): SIDEWAYS,
    }
    text = f"Los ejes quedan ({', '.join(order)}) y el orden es (B, h, L, d_k)."
    return known.get(order) or mistake("ejes-en-otro-orden", text)


def direct(order):
    text = (
        f"Lees los números como ({', '.join(order)}): view() y reshape() no mueven nada, y se mezclan tokens. Se "
        "leen como (B, L, h, d_k), y después se trasponen."
    )
    return Mistake(DIRECT.id, text, DIRECT.read, whence)


def measures(x, heads):
    batch, length, width = x.shape
    if width % heads:
        raise ValueError
    return {"B": batch, "L": length, "h": heads, "d_k": width // heads}


def read_as(order, wanted, early=False):
    """Leer los números como si los ejes fueran ``order`` y dejarlos como ``wanted``."""

    def way(x, heads):
        sizes = measures(x, heads)
        x = (x.mT if early else x).reshape([sizes[axis] for axis in order])
        return x.permute([order.index(axis) for axis in wanted])

    return way


def split_options():
    """Todas las formas de leer los números con cuatro ejes y de ordenar los ejes después."""
    good, swapped = ("B", "L", "h", "d_k"), ("B", "L", "d_k", "h")
    yield Option(read_as(good, TARGET))
    for wanted in itertools.permutations(TARGET):
        if wanted != TARGET:
            yield Option(read_as(good, wanted), order_mistake(wanted))
        if wanted == ("B", "d_k", "L", "h"):
            found = SPLIT_SWAPPED
        elif wanted == ("B", "L", "d_k", "h"):
            found = (SPLIT_SWAPPED, MISPLACED)
        else:
            found = (
                (SPLIT_INTERLEAVED,)
                if wanted == TARGET
                else (SPLIT_INTERLEAVED, order_mistake(wanted))
            )
        yield Option(read_as(swapped, wanted), found)
    for order in itertools.permutations(TARGET):
        for early, wrong in ((False, SPLIT_DIRECT), (True, SPLIT_EARLY)):
            if (
                order in (good, swapped)
                and not early
                or order[0] == "B"
                and order[3] == "L"
                and early
            ):
                continue  # es una lectura buena, o ya está
            if order != TARGET and not early:
                wrong = direct(order)
            yield Option(read_as(order, TARGET, early), wrong)
            if order != TARGET:
                yield Option(read_as(order, order, early), (wrong, order_mistake(order)))


MERGED = mistake(
    "lote-y-cabezas-juntos",
    "Has juntado el lote y las cabezas en un solo eje: la salida tiene cuatro, (B, h, L, d_k).",
)
LONG = mistake(
    "cabezas-en-fila",
    "Has puesto las cabezas una tras otra en el eje de los tokens: tienen su propio eje, (B, h, L, d_k).",
)
OTHERS = [
    (lambda x, h: x, mistake("sin-repartir", "La última dimensión sigue entera: se ve como dos, (h, d_k).")),
    (lambda x, h: x[:, None], telling(SINGLE, "Añades un eje y no repartes nada: queda una sola cabeza de d_model.")),
    (
        lambda x, h: x[:, None].repeat(1, h, 1, 1),
        mistake("todo-en-cada-cabeza", "Das a cada cabeza el vector entero: se reparten d_k números a cada una."),
    ),
    (
        lambda x, h: x[..., : x.shape[-1] // h][:, None],
        mistake("solo-la-primera-cabeza", "Te quedas solo con la primera cabeza."),
    ),
    (
        lambda x, h: x[..., : x.shape[-1] // h][:, None].repeat(1, h, 1, 1),
        mistake("misma-en-todas", "Das a todas las cabezas los mismos d_k números, los primeros."),
    ),
    (
        lambda x, h: torch.stack([x[..., i : i + x.shape[-1] // h] for i in range(h)], dim=1),
        mistake("cortes-solapados", "Tus cortes se solapan: la cabeza i va de i·d_k a (i + 1)·d_k."),
    ),
    (
        split_tokens,
        telling(BY_TOKENS),
    ),
    (lambda x, h: read_as(("B", "L", "h", "d_k"), TARGET)(x, h).flatten(0, 1), MERGED),
    (lambda x, h: read_as(("B", "L", "h", "d_k"), ("h", "B", "L", "d_k"))(x, h).flatten(0, 1), MERGED),
    (lambda x, h: read_as(TARGET, TARGET)(x, h).flatten(0, 1), (SPLIT_DIRECT, MERGED)),
    (lambda x, h: read_as(("B", "L", "h", "d_k"), TARGET)(x, h).flatten(1, 2), LONG),
    (lambda x, h: x.reshape(x.shape[0], x.shape[1] * h, -1), LONG),
]  # fmt: skip


def origins(batch, length, width):
    """Números que dicen de dónde vienen: 10000·frase + 100·token + dimensión."""
    axes = (10000 * torch.arange(batch), 100 * torch.arange(length), torch.arange(width))
    return (axes[0][:, None, None] + axes[1][:, None] + axes[2]).float()


def split_case(batch, length, width, heads):
    name = f"x de forma ({batch}, {length}, {width}) y heads = {heads}"
    return Case(name, (origins(batch, length, width), heads))


SIZES = ((2, 5, 12, 3), (2, 6, 12, 3), (3, 4, 8, 4), (1, 3, 10, 2), (2, 3, 4, 1), (2, 5, 4, 4))
SPLIT_CASES = tuple(split_case(*sizes) for sizes in SIZES)


class SplitHeads(Exercise):
    """(B, L, d_model) → (B, h, L, d_k)."""

    number, title, points = "6.1", "repartir las cabezas", 2
    names = ("x", "heads")
    axes = {"way": [*split_options(), *(Option(way, wrong) for way, wrong in OTHERS)]}
    stages = (Stage(("way",), SPLIT_CASES),)
    tiny = (split_case(1, 1, 2, 2), split_case(1, 2, 2, 2), split_case(1, 2, 4, 2))

    def compute(self, choice, x, heads):
        return {"output": choice["way"](x, heads)}

    def read(self, value, case):
        return super().read(tuple(value) if isinstance(value, list) else value, case)

    def main(self, value, case):
        """Quien devuelve una lista con las cabezas tiene la cuenta bien: le falta apilarlas."""
        if not isinstance(value, tuple):
            return value
        shapes = {None if item is None else item.shape for item in value}
        return (
            torch.stack(value, dim=1)
            if len(shapes) == 1 and None not in shapes and value[0].dim()
            else value
        )

    def form(self, values, choice):
        if any(isinstance(value, tuple) for value in values.values()):
            text = (
                "Devuelves una lista con las cabezas: se devuelve un solo tensor, (B, h, L, d_k)."
            )
            return [Finding("lista-de-cabezas", text, read="06 §5")]
        return []

    def mistake_ids(self):
        return super().mistake_ids() | {"lista-de-cabezas"}

    def properties(self, learner, seen):
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            x, heads = case.arguments
            shape = (x.shape[0], heads, x.shape[1], x.shape[2] // heads)
            if tuple(output.shape) != shape:
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {shape}."
                yield Finding(
                    "propiedad-forma", "La forma de tu salida no es (B, h, L, d_k).", story, "06 §5"
                )
                return
            if not torch.equal(output.flatten().sort().values, x.flatten().sort().values):
                lost = len(set(x.flatten().tolist()) - set(output.flatten().tolist()))
                story = f"Con {case.name}, de los {x.numel()} números de x faltan {lost}."
                text = "Repartir no pierde ni cambia ningún número: solo los coloca."
                yield Finding("propiedad-números", text, story, "06 §5")
                return
            if (mixed := output // 100 != x[:, None, :, :1] // 100).any():
                amount = int(mixed.sum())
                story = f"Con {case.name}, {amount} de los {x.numel()} números están en la fila de otro token."
                text = "En la fila de cada token van números de ese token, y de ningún otro."
                yield Finding("propiedad-token", text, story, "06 §5")
                return


# --- 6.3 y 6.4: preguntas -------------------------------------------------------------------------

HEADS, WIDTH = 8, 512  # las medidas del artículo


def parameters(bias=True, parts=4):
    """Los parámetros de la multi-cabeza del artículo, contados de verdad."""
    from course_lib import MultiHeadAttention

    module = MultiHeadAttention(HEADS, WIDTH, bias=bias)
    return sum(p.numel() for p in module.parameters()) // 4 * parts


PARAMETERS = Question(
    "6.3",
    "cuántos parámetros",
    parameters,
    wrong=(
        Wrong(
            lambda: HEADS * parameters(),
            "parámetros-por-cabezas",
            "Has multiplicado por h: cada cabeza es h veces más estrecha, y todas juntas hacen una matriz de "
            "d_model × d_model.",
        ),
        Wrong(
            lambda: parameters(parts=3) * HEADS + parameters(parts=1),
            "parámetros-por-cabezas",
            "Has multiplicado por h las tres primeras: cada cabeza es h veces más estrecha, y todas juntas hacen "
            "una matriz de d_model × d_model.",
        ),
        Wrong(lambda: parameters(bias=False), "sin-sesgos", "Te faltan los sesgos: cada capa lineal tiene el suyo."),
        Wrong(
            lambda: parameters(parts=3),
            "sin-W_O",
            "Te falta una capa: después de juntar las cabezas está W_O.",
            "06 §8",
        ),
        Wrong(
            lambda: parameters(bias=False, parts=3),
            "sin-sesgos-ni-W_O",
            "Te faltan los sesgos, y una capa: después de juntar las cabezas está W_O.",
            "06 §8",
        ),
        Wrong(
            lambda: 4 * (WIDTH * WIDTH // HEADS + WIDTH // HEADS),
            "una-cabeza",
            "Son los de una sola cabeza, y hay 8.",
        ),
        Wrong(
            lambda: parameters(parts=3) // HEADS + parameters(parts=1),
            "una-cabeza",
            "De las tres primeras has contado una sola cabeza, y hay 8.",
        ),
        Wrong(lambda: 4 * (WIDTH * WIDTH + 1), "sesgo-de-uno", "El sesgo de cada capa no es un número: son d_model."),
        Wrong(lambda: parameters(parts=1), "una-capa", "Son los de una sola capa, y hay cuatro."),
        Wrong(
            lambda: 4 * (2 * WIDTH),
            "suma-de-medidas",
            "Una matriz de d_model × d_model tiene d_model · d_model números: se multiplica.",
        ),
    ),
    kind="un número entero",
    tolerance=1e-9,
    read="06 §9",
)  # fmt: skip

SENTENCE, LAYER = "I gave the dog a bone because it was hungry", 4


def given(step, layer=LAYER):
    """Lo que cada cabeza da, de media, al token que está ``step`` lugares más allá: (h,)."""
    from course_lib import extract_embeddings

    weights = extract_embeddings(SENTENCE).attentions[layer][0]
    return weights.diagonal(step, dim1=-2, dim2=-1).mean(dim=-1)


def busiest(step, layer=LAYER):
    """La cabeza que más peso da, de media, al token que está ``step`` lugares más allá."""
    return int(given(step, layer).argmax())


def outdone(head):
    """Por qué no es esa cabeza, sin decir cuál es."""
    if not float(head).is_integer():
        return "Se pide el número de la cabeza, un entero, y no su peso."
    averages = given(1)
    if head not in range(len(averages)):
        return f"Las cabezas van de la 0 a la {len(averages) - 1}."
    return f"Esa da al siguiente {averages[int(head)]:.2f} de media; hay otra que da más."


NEXT_TOKEN = Question(
    "6.4",
    "la cabeza que más mira al siguiente",
    lambda: busiest(1),
    wrong=(
        Wrong(
            lambda: busiest(-1),
            "anterior",
            "Esa es la que más mira al token anterior: las filas son las queries y el token siguiente está a "
            "la derecha de la diagonal.",
        ),
        Wrong(
            lambda: busiest(0),
            "diagonal",
            "Esa es la que más peso da a cada token para sí mismo: el siguiente está un lugar a la derecha.",
        ),
        Wrong(lambda: busiest(1) + 1, "cuenta-desde-1", "Cuentas las cabezas desde 1, y van desde 0."),
        Wrong(
            lambda: busiest(1, LAYER - 1),
            "capa-desde-1",
            "Has mirado la capa 3, la cuarta: las capas se cuentan desde 0.",
        ),
    ),
    kind="el número de una cabeza, de 0 a 11",
    tolerance=0,
    read="06 §11",
    explain=outdone,
)  # fmt: skip

SPLIT_HEADS, MULTI_HEAD = SplitHeads(), MultiHead()
EXERCISES = (SPLIT_HEADS, MULTI_HEAD)
QUESTIONS = (PARAMETERS, NEXT_TOKEN)


def check_split_heads(function):
    """Comprueba el reparto de la última dimensión entre las cabezas.

    Args:
        function: recibe ``(x, heads)``: un tensor ``(B, L, d_model)`` y un entero que divide a
            ``d_model``. Devuelve un tensor ``(B, h, L, d_k)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SPLIT_HEADS.check(function))


def check_multi_head_attention(cls):
    """Comprueba una multi-cabeza escrita como módulo.

    Le pone unos pesos y compara lo que devuelve. Reconoce las capas por su nombre y, si no lo dice,
    por su forma y su orden.

    Args:
        cls: una clase que hereda de ``nn.Module``. Se crea con ``cls(heads, dim_embedding)`` y su
            ``forward(query, key, value, mask=None)`` recibe ``(B, L_q, d_model)``,
            ``(B, L_k, d_model)`` y ``(B, L_k, d_model)``, y una máscara booleana que se difunde hasta
            ``(B, h, L_q, L_k)``. Devuelve la salida ``(B, L_q, d_model)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(MULTI_HEAD.check(cls))
