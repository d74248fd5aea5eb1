"""8.1 · Desplazar a la derecha: {un puesto, ninguno, dos…} × {bos_id, otra cosa} × {tokens, frases}."""

import torch

from course_checkers.engine import Case, Exercise, Stage, Tensors, each_output, laws, right_shape, same, show
from course_checkers.engine.mistakes import Option, stepping, told


def row_example(look):
    """La primera frase que sale mal, entera."""
    target, bos = look.case.arguments
    if look.yours.dim() == 2 and len(look.yours) == len(look.right):
        for rows in zip(target, look.yours, look.right):
            if not same(*rows[1:], 0, 0):
                given, yours, right = map(show, rows)
                return SEEN["ejemplo"].saying(target=given, bos=bos, yours=yours, right=right).text
    return ""


TOLD = told(__file__, "8.1", row_example)
step = stepping(TOLD)
SEEN, LAWS = told(__file__, "8.1 propiedades"), laws(__file__, "8.1 propiedades")


def full(rows, bos):
    return torch.full_like(rows[:, :1], bos)


def only_first(rest):
    """bos_id en la primera frase y, en las demás, otra cosa."""
    return lambda rows, bos: torch.cat([full(rows, bos)[:1], rest(rows)[1:]])


def after(rest):
    """La columna de inicio y, detrás, lo que se dice de las frases."""
    return lambda rows, start: torch.cat([start, rest(rows)], 1)


def without(keep):
    """Sin un token de cada frase: el que no cumple ``keep``, de las posiciones y las frases."""

    def rest(rows):
        return rows[keep(torch.arange(rows.shape[1]), rows)].reshape(len(rows), rows.shape[1] - 1)

    return after(rest)


AXES = {
    # De las frases y la columna de inicio, lo que sale.
    "move": step(
        after(lambda rows: rows[:, :-1]),
        ("sin-desplazar", lambda rows, start: rows),
        ("a-la-izquierda", lambda rows, start: torch.cat([rows[:, 1:], start], 1)),
        ("quita-el-primero", lambda rows, start: rows[:, 1:]),
        ("pisa-el-primero", after(lambda rows: rows[:, 1:])),
        ("no-quita-el-último", after(lambda rows: rows)),
        ("inicio-añadido-al-final", lambda rows, start: torch.cat([rows, start], 1)),
        ("inicio-al-final", lambda rows, start: torch.cat([rows[:, :-1], start], 1)),
        ("sin-inicio", lambda rows, start: rows[:, :-1]),
        ("dos-puestos", lambda rows, start: torch.cat([start, start, rows[:, :-2]], 1)),
        ("dos-puestos", lambda rows, start: torch.cat([start, start, rows], 1)[:, : rows.shape[1]]),
        ("dos-puestos", after(lambda rows: rows.roll(2, 1)[:, 1:]), lambda rows, _: rows.roll(2, 1)),
        ("quita-dos", after(lambda rows: rows[:, :-2])),
        ("se-pisan", after(lambda rows: rows[:, :1].expand_as(rows)[:, 1:])),
        ("se-pisan", lambda rows, start: start.expand_as(rows)),
        ("quita-el-fin", without(lambda i, rows: rows != 102)),
        # El último que no es 0: donde esté, o contando con que el relleno va detrás.
        ("quita-el-fin", without(lambda i, r: i != (r != 0).long().cumsum(1).argmax(1, keepdim=True))),
        ("quita-el-fin", without(lambda i, rows: i != (rows != 0).sum(1, keepdim=True) - 1)),
        ("quita-el-fin", after(lambda rows: rows.masked_fill(rows == 102, 0)[:, :-1])),
        ("del-revés", after(lambda rows: rows[:, :-1].flip(1))),
    ),
    # Lo que se pone de inicio: (frases, tokens), bos_id → una columna.
    "start": step(
        full,
        ("inicio-último", lambda rows, bos: rows[:, -1:]),
        ("inicio-primero", lambda rows, bos: rows[:, :1]),
        ("inicio-solo-en-una", only_first(lambda r: r[:, :1]), only_first(lambda r: r[:, -1:])),
        ("inicio-solo-en-una", only_first(lambda r: r[:, :1] * 0)),
    ),
    # Por qué eje se corre: ida y vuelta.
    "line": step(
        (lambda ids: ids, lambda moved, ids: moved),
        ("eje-del-lote", (lambda ids: ids.mT, lambda moved, ids: moved.mT)),
        ("todo-seguido", (lambda ids: ids.reshape(1, -1), lambda moved, ids: moved.reshape(ids.shape))),
    ),
}


def draw(rows, length, seed, largest=29000):
    """Ids distintos, como los de un vocabulario grande."""
    drawn = torch.randperm(largest - 1000, generator=torch.Generator().manual_seed(seed))
    return drawn[: rows * length].reshape(rows, length) + 1000


BEHIND = [[2040, 3899, 102, 0, 0], [1996, 101, 3899, 102, 0], [2003, 2182, 5, 6, 102]]
BEFORE = [[0, 0, 2040, 3899, 102], [0, 1996, 101, 3899, 102], [5, 5, 5, 6, 102]]
CASES = (
    Case("3 frases de 5 tokens", (draw(3, 5, 0), 101)),
    Case("4 frases de 4 tokens", (draw(4, 4, 1), 1)),
    Case("una frase de 6 tokens", (draw(1, 6, 2), 101)),
    Case("2 frases de 1 token", (draw(2, 1, 3), 7)),
    Case("5 frases de 2 tokens", (draw(5, 2, 4), 0)),
    Case("3 frases con fin y relleno", (torch.tensor(BEHIND), 101)),
    Case("3 frases con el relleno delante", (torch.tensor(BEFORE), 101)),
)
EXTRA = (
    Case("las 2 frases del enunciado", (torch.tensor([[7, 8, 9], [4, 5, 6]]), 1)),
    Case("6 frases de 300 tokens de un vocabulario enorme", (draw(6, 300, 9, 250000), 101)),
)
TINY = ([[5]], [[5, 6]], [[5, 6, 7]], [[5, 6], [7, 8]])


class Ids(Tensors):
    """Ids. Si llevan decimales, también se juzgan, y se dice aparte."""

    def wrong_dtype(self, dtype):
        kind = str(dtype)[6:]
        odd = dtype == torch.bool or dtype.is_complex
        return f"Tu salida es {kind}: los ids de los tokens son enteros." if odd else ""


def found_start(attempt):
    """Si en el sitio de bos_id pone siempre el mismo número, cuál es."""
    outputs = [attempt.ask(torch.tensor([[5, 6, 7]]), bos) for bos in (3, 11)]
    first, second = (set(output.flatten().tolist()) - {5, 6, 7} for output in outputs)
    if first and same(*outputs):
        mistake = TOLD["inicio-fijo"].saying(number=(number := int(first.pop())))
        yield Option(lambda rows, bos: full(rows, number), mistake)


def with_decimals(attempt, choice):
    dtypes = [str(v.dtype)[6:] for v in attempt.values.values() if v.is_floating_point()]
    return [SEEN["dtype"].saying(dtype=dtype).found() for dtype in dtypes[:1]]


@each_output(LAWS)
def order(output, target, bos):
    """Que cada frase empiece por bos_id y siga con lo suyo, corrido un puesto."""
    if (starts := output[:, 0] != bos).any():
        row = int(starts.nonzero()[0])
        yield "propiedad-inicio", {"row": row, "mine": show(output[row, 0]), "bos": bos}
    if (moved := output[:, 1:] != target[:, :-1]).any():
        row, i = moved.nonzero()[0].tolist()
        mine, good = show(output[row, i + 1]), show(target[row, i])
        yield "propiedad-orden", {"row": row, "i": i + 1, "mine": mine, "good": good}


SHAPE = "La salida tiene que medir lo mismo que target_ids, (B, L).", "08 §4.1"


class ShiftRight(Exercise):
    """Comprueba una función que prepara la entrada de un decoder.

    Args:
        function: recibe ``(target_ids, bos_id)``: los ids que hay que predecir, ``(B, L)``, y el de
            la marca de inicio. Devuelve los ids de entrada, ``(B, L)``: bos_id delante y sin el último.
    """

    number, title, points = "8.1", "desplazar la entrada del decoder", 2
    axes = AXES
    letters = ("B L",)
    stages, extra = (Stage(tuple(axes), CASES),), EXTRA
    tiny = tuple(Case("", (torch.tensor(rows), 1)) for rows in TINY)
    measured, reader, returned = {"start": found_start}, Ids(dtype=torch.int64), (with_decimals,)
    must = right_shape(lambda target_ids, bos_id: target_ids.shape, *SHAPE), order
    also = ("inicio-fijo", "dtype")

    def compute(self, choice, target_ids, bos_id):
        there, back = choice["line"]
        rows = there(target_ids)
        moved = choice["move"](rows, choice["start"](rows, bos_id))
        return {"output": back(moved, target_ids)}
