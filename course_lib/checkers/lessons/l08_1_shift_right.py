"""8.1 · Desplazar a la derecha: {un puesto, ninguno, dos…} × {bos_id, otra cosa} × {tokens, frases}."""

import torch

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.properties import right_shape
from course_lib.checkers.engine.reading import Tensors
from course_lib.checkers.engine.search import Stage


def row_example(look):
    """La primera frase que sale mal, entera."""
    target, bos = look.case.arguments
    yours, right = look.yours, look.right
    if yours.dim() != 2 or len(yours) != len(right):
        return ""
    row = next((i for i in range(len(right)) if not same(yours[i], right[i], 0, 0)), None)
    if row is None:
        return ""
    return (
        f"De {show(target[row])}, con bos_id = {bos}, sacas {show(yours[row])}, y tenías que sacar "
        f"{show(right[row])}."
    )


TOLD = told(__file__, "8.1", row_example)
SEEN = told(__file__, "8.1 propiedades")

# --- Los pasos ------------------------------------------------------------------------------------


def full(rows, bos):
    return torch.full_like(rows[:, :1], bos)


def only_first(rest):
    """bos_id en la primera frase y, en las demás, otra cosa."""
    return lambda rows, bos: torch.cat([full(rows, bos)[:1], rest(rows)[1:]])


# Lo que se pone de inicio: (frases, tokens), bos_id → una columna.
STARTS = ways(
    TOLD,
    full,
    ("inicio-último", lambda rows, bos: rows[:, -1:]),
    ("inicio-primero", lambda rows, bos: rows[:, :1]),
    ("inicio-solo-en-una", only_first(lambda r: r[:, :1]), only_first(lambda r: r[:, -1:])),
    ("inicio-solo-en-una", only_first(lambda r: r[:, :1] * 0)),
)


def after(rest):
    """La columna de inicio y, detrás, lo que se dice de las frases."""
    return lambda rows, start: torch.cat([start, rest(rows)], 1)


def without_end(rows):
    """Sin el token 102, si hay uno por frase."""
    return rows[rows != 102].reshape(len(rows), rows.shape[1] - 1)


def without(place):
    """Sin el último que no es 0, que está en ``place``."""

    def rest(rows):
        keep = torch.arange(rows.shape[1]) != place((rows != 0).long())
        return rows[keep].reshape(len(rows), rows.shape[1] - 1)

    return rest


last_real = without(lambda real: real.cumsum(1).argmax(1, keepdim=True))
last_if_behind = without(lambda real: real.sum(1, keepdim=True) - 1)  # con el relleno detrás


# De las frases y la columna de inicio, lo que sale.
MOVES = ways(
    TOLD,
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
    (
        "dos-puestos",
        after(lambda rows: rows.roll(2, 1)[:, 1:]),
        lambda rows, start: rows.roll(2, 1),
    ),
    ("quita-dos", after(lambda rows: rows[:, :-2])),
    ("se-pisan", after(lambda rows: rows[:, :1].expand_as(rows)[:, 1:])),
    ("se-pisan", lambda rows, start: start.expand_as(rows)),
    ("quita-el-fin", after(without_end), after(last_real), after(last_if_behind)),
    ("quita-el-fin", after(lambda rows: rows.masked_fill(rows == 102, 0)[:, :-1])),
    ("del-revés", after(lambda rows: rows[:, :-1].flip(1))),
)
# Por qué eje se corre: ida y vuelta.
LINES = ways(
    TOLD,
    (lambda ids: ids, lambda moved, ids: moved),
    ("eje-del-lote", (lambda ids: ids.mT, lambda moved, ids: moved.mT)),
    ("todo-seguido", (lambda ids: ids.reshape(1, -1), lambda moved, ids: moved.reshape(ids.shape))),
)

# --- Las pruebas ----------------------------------------------------------------------------------


def draw(rows, length, seed, largest=29000):
    """Ids distintos, como los de un vocabulario grande."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randperm(largest - 1000, generator=generator)[: rows * length]
    return drawn.reshape(rows, length) + 1000


def shift_cases():
    sizes = [(3, 5, 101), (4, 4, 1), (1, 6, 101), (2, 1, 7), (5, 2, 0)]
    for seed, (rows, length, bos) in enumerate(sizes):
        say = "una frase" if rows == 1 else f"{rows} frases"
        name = f"{say} de {length} token{'s' * (length > 1)}"
        yield Case(name, (draw(rows, length, seed), bos))
    behind = [[2040, 3899, 102, 0, 0], [1996, 101, 3899, 102, 0], [2003, 2182, 5, 6, 102]]
    before = [[0, 0, 2040, 3899, 102], [0, 1996, 101, 3899, 102], [5, 5, 5, 6, 102]]
    yield Case("3 frases con fin y relleno", (torch.tensor(behind), 101))
    yield Case("3 frases con el relleno delante", (torch.tensor(before), 101))


EXTRA = (
    Case("las 2 frases del enunciado", (torch.tensor([[7, 8, 9], [4, 5, 6]]), 1)),
    Case("6 frases de 70 tokens de un vocabulario enorme", (draw(6, 70, 9, 250000), 101)),
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
        number = int(first.pop())
        mistake = TOLD["inicio-fijo"].saying(number=number)
        yield Option(lambda rows, bos: full(rows, number), mistake)


def with_decimals(attempt, choice):
    for value in attempt.values.values():
        if value.is_floating_point():
            return [SEEN["dtype"].saying(dtype=str(value.dtype)[6:]).found()]
    return []


def order(attempt):
    """Que cada frase empiece por bos_id y siga con lo suyo, corrido un puesto."""
    for case, output in attempt.outputs():
        target, bos = case.arguments
        if (output[:, 0] != bos).any():
            name, row = "propiedad-inicio", int((output[:, 0] != bos).nonzero()[0])
            story = f"la fila {row} empieza por {show(output[row, 0])}, y bos_id es {bos}"
        elif not same(output[:, 1:], target[:, :-1], 0, 0):
            name = "propiedad-orden"
            row, i = (int(n[0]) for n in (output[:, 1:] != target[:, :-1]).nonzero(as_tuple=True))
            mine, good = show(output[row, i + 1]), show(target[row, i])
            story = f"en [{row}, {i + 1}] está {mine} y tenía que estar {good}"
        else:
            continue
        return [SEEN[name].found(f"Con {case.name}, {story}.")]
    return []


class ShiftRight(Exercise):
    """Los ids que hay que predecir, corridos un puesto: delante, el de inicio."""

    number, title, points = "8.1", "desplazar la entrada del decoder", 2
    names = ("target_ids", "bos_id")
    axes = {"move": MOVES, "start": STARTS, "line": LINES}
    stages, extra = (Stage(tuple(axes), tuple(shift_cases())),), EXTRA
    tiny = tuple(Case("", (torch.tensor(rows), 1)) for rows in TINY)
    measured, reader, returned = {"start": found_start}, Ids(dtype=torch.int64), (with_decimals,)
    must = (
        right_shape(
            lambda target_ids, bos_id: target_ids.shape,
            "La salida tiene que medir lo mismo que target_ids, (B, L).",
            "08 §6.1",
        ),
        order,
    )
    also = ("inicio-fijo", "dtype")

    def compute(self, choice, target_ids, bos_id):
        there, back = choice["line"]
        rows = there(target_ids)
        moved = choice["move"](rows, choice["start"](rows, bos_id))
        return {"output": back(moved, target_ids)}


SHIFT = ShiftRight()
EXERCISES = (SHIFT,)


def check_shift_right(function):
    """Comprueba una función que prepara la entrada de un decoder.

    Args:
        function: recibe ``(target_ids, bos_id)``: los ids que hay que predecir, ``(B, L)``, y el de
            la marca de inicio. Devuelve los ids de entrada, ``(B, L)``: bos_id delante y sin el último.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SHIFT.check(function))
