"""Comprueba con qué se alimenta un decoder.

Desplazar: {a la derecha, sin desplazar, a la izquierda…} × {bos_id, otra cosa} × {tokens, frases}.
"""

import torch

from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.family import Case, Exercise, Mistake, Option, Raised, Stage, same, show

# --- 8.1: desplazar a la derecha ------------------------------------------------------------------


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


def shift_mistake(name, text, read="08 §6.1"):
    return Mistake(name, text, read, row_example)


NO_START = "Falta bos_id: "
STARTS = [
    # Lo que se pone de inicio: (frases, tokens), bos_id → una columna.
    Option(lambda rows, bos: torch.full_like(rows[:, :1], bos)),
    Option(
        lambda rows, bos: rows[:, -1:],
        shift_mistake(
            "inicio-último", NO_START + "en su sitio está el último token, que vuelve por delante."
        ),
    ),
    Option(
        lambda rows, bos: rows[:, :1],
        shift_mistake("inicio-primero", NO_START + "en su sitio se queda el primer token."),
    ),
    *(
        Option(
            lambda rows, bos, rest=rest: torch.cat(
                [torch.full_like(rows[:1, :1], bos), rest(rows)[1:]]
            ),
            shift_mistake(
                "inicio-solo-en-una", "Solo pones bos_id en la primera frase del lote: va en todas."
            ),
        )
        for rest in (lambda r: r[:, :1], lambda r: r[:, -1:], lambda r: torch.zeros_like(r[:, :1]))
    ),
]
TWO = shift_mistake("dos-puestos", "Desplazas dos puestos, y es uno.")
OVERLAP = shift_mistake(
    "se-pisan",
    "Copias cada token sobre el siguiente del mismo tensor, y al llegar a él ya no está: copia en otro tensor.",
)
END = shift_mistake(
    "quita-el-fin",
    "Quitas el token de fin, o lo borras: se quita siempre el último de la fila, sea cual sea.",
)


def without_end(rows, bos):
    """Sin el token 102, si hay uno por frase."""
    return rows[rows != 102].reshape(len(rows), rows.shape[1] - 1)


def without_last_real(rows, bos):
    """Sin el último que no es 0."""
    last = (rows != 0).long().cumsum(1).argmax(1, keepdim=True)
    keep = torch.arange(rows.shape[1]) != last
    return rows[keep].reshape(len(rows), rows.shape[1] - 1)


MOVES = [
    # De las frases y la columna de inicio, lo que sale.
    Option(lambda rows, start: torch.cat([start, rows[:, :-1]], 1)),
    Option(
        lambda rows, start: rows,
        shift_mistake(
            "sin-desplazar",
            "No desplazas nada: en cada posición está el token que hay que predecir.",
        ),
    ),
    Option(
        lambda rows, start: torch.cat([rows[:, 1:], start], 1),
        shift_mistake(
            "a-la-izquierda", "Desplazas a la izquierda: en cada posición está el token siguiente."
        ),
    ),
    Option(
        lambda rows, start: rows[:, 1:],
        shift_mistake(
            "quita-el-primero",
            "Quitas el primer token y no pones nada: queda desplazado a la izquierda.",
        ),
    ),
    Option(
        lambda rows, start: torch.cat([start, rows[:, 1:]], 1),
        shift_mistake(
            "pisa-el-primero", "Escribes bos_id encima del primer token: hay que correr los demás."
        ),
    ),
    Option(
        lambda rows, start: torch.cat([start, rows], 1),
        shift_mistake(
            "no-quita-el-último", "Pones bos_id delante y no quitas el último token: sobra uno."
        ),
    ),
    Option(
        lambda rows, start: torch.cat([rows, start], 1),
        shift_mistake(
            "inicio-añadido-al-final", "Añades bos_id al final: va delante, y se quita el último."
        ),
    ),
    Option(
        lambda rows, start: torch.cat([rows[:, :-1], start], 1),
        shift_mistake(
            "inicio-al-final", "Quitas el último token, pero pones bos_id en su sitio: va delante."
        ),
    ),
    Option(
        lambda rows, start: rows[:, :-1],
        shift_mistake("sin-inicio", "Quitas el último token y no pones bos_id delante: falta uno."),
    ),
    Option(lambda rows, start: torch.cat([start, start, rows[:, :-2]], 1), TWO),
    Option(lambda rows, start: torch.cat([start, start, rows], 1)[:, : rows.shape[1]], TWO),
    Option(lambda rows, start: torch.cat([start, rows.roll(2, 1)[:, 1:]], 1), TWO),
    Option(lambda rows, start: rows.roll(2, 1), TWO),
    Option(
        lambda rows, start: torch.cat([start, rows[:, :-2]], 1),
        shift_mistake("quita-dos", "Quitas dos tokens del final: se quita uno."),
    ),
    Option(lambda rows, start: torch.cat([start, rows[:, :1].expand_as(rows)[:, 1:]], 1), OVERLAP),
    Option(lambda rows, start: start.expand_as(rows), OVERLAP),
    Option(lambda rows, start: torch.cat([start, without_end(rows, start)], 1), END),
    Option(lambda rows, start: torch.cat([start, without_last_real(rows, start)], 1), END),
    Option(
        lambda rows, start: torch.cat([start, rows[:, :-1].masked_fill(rows[:, :-1] == 102, 0)], 1),
        END,
    ),
    Option(
        lambda rows, start: torch.cat([start, rows[:, :-1].flip(1)], 1),
        shift_mistake("del-revés", "Das la vuelta a la frase: los tokens siguen en su orden."),
    ),
]
LINES = [
    # Por qué eje se corre: ida y vuelta.
    Option((lambda ids: ids, lambda moved, ids: moved)),
    Option(
        (lambda ids: ids.mT, lambda moved, ids: moved.mT),
        shift_mistake(
            "eje-del-lote",
            "Desplazas las frases del lote, y son los tokens de cada frase: el eje 1.",
        ),
    ),
    Option(
        (lambda ids: ids.reshape(1, -1), lambda moved, ids: moved.reshape(ids.shape)),
        shift_mistake(
            "todo-seguido",
            "Tratas el lote como una sola fila: el último token de una frase pasa a la siguiente.",
        ),
    ),
]


def ids(rows, length, seed):
    """Ids distintos, como los de un vocabulario grande."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(28000, generator=generator)[: rows * length].reshape(rows, length) + 1000


def shift_cases():
    for seed, (rows, length, bos) in enumerate(
        [(3, 5, 101), (4, 4, 1), (1, 6, 101), (2, 1, 7), (5, 2, 0)]
    ):
        say = "una frase" if rows == 1 else f"{rows} frases"
        yield Case(f"{say} de {length} token{'s' * (length > 1)}", (ids(rows, length, seed), bos))
    padded = torch.tensor(
        [[2040, 3899, 102, 0, 0], [1996, 101, 3899, 102, 0], [2003, 2182, 5, 6, 102]]
    )
    yield Case("3 frases con fin y relleno", (padded, 101))


class ShiftRight(Exercise):
    """Los ids que hay que predecir, corridos un puesto: delante, el de inicio."""

    number, title, points = "8.1", "desplazar la entrada del decoder", 2
    names = ("target_ids", "bos_id")
    axes = {"move": MOVES, "start": STARTS, "line": LINES}
    stages = (Stage(("move", "start", "line"), tuple(shift_cases())),)
    tiny = tuple(
        Case("", (torch.tensor(rows), 1))
        for rows in ([[5]], [[5, 6]], [[5, 6, 7]], [[5, 6], [7, 8]])
    )
    dtype = False  # se mira en `form`: un float con los números buenos también se reconoce

    def compute(self, choice, target_ids, bos_id):
        there, back = choice["line"]
        rows = there(target_ids)
        moved = choice["move"](rows, choice["start"](rows, bos_id))
        return {"output": back(moved, target_ids)}

    def read(self, value, case):
        value, problem = super().read(value, case)
        if problem is None and (value.dtype == torch.bool or value.is_complex()):
            kind = str(value.dtype)[6:]
            return None, Finding(
                "dtype", f"Tu salida es {kind}: los ids de los tokens son enteros."
            )
        return value, problem

    def expects_tuple(self, value):
        return False

    def form(self, values, choice):
        floating = [value for value in values.values() if value.is_floating_point()]
        if not floating:
            return []
        text = (
            f"Tu salida es {str(floating[0].dtype)[6:]}: los ids son enteros (int64), y con decimales no "
            "se pueden buscar en la tabla."
        )
        return [Finding("dtype", text, read="02 §2")]

    def extra_options(self, learner):
        """Si en el sitio de bos_id pone siempre el mismo número, cuál es."""
        seen = set()
        for bos in (3, 11):
            outcome = self.call(learner, torch.tensor([[5, 6, 7]]), bos)
            if outcome.problem or not isinstance(outcome.value, torch.Tensor):
                return {}
            seen.add(tuple(outcome.value.flatten().tolist()))
        if len(seen) > 1 or not (strange := {x for x in seen.pop() if x not in (5, 6, 7)}):
            return {}
        number = int(strange.pop())
        text = f"Pones siempre un {number}, y no el bos_id que recibes."
        mistake = shift_mistake("inicio-fijo", text)
        return {"start": [Option(lambda rows, bos: torch.full_like(rows[:, :1], number), mistake)]}

    def mistake_ids(self):
        return super().mistake_ids() | {"inicio-fijo", "dtype"}

    def properties(self, learner, seen):
        for case, output in seen.items():
            if isinstance(output, Raised):
                continue
            target, bos = case.arguments
            if output.shape != target.shape:
                text = "La salida tiene que medir lo mismo que target_ids, (B, L)."
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {tuple(target.shape)}."
                yield Finding("propiedad-forma", text, story, "08 §6.1")
                return
            if (output[:, 0] != bos).any():
                row = int((output[:, 0] != bos).nonzero()[0])
                text = "Todas las frases tienen que empezar por bos_id."
                story = f"Con {case.name}, la fila {row} empieza por {show(output[row, 0])}, y bos_id es {bos}."
                yield Finding("propiedad-inicio", text, story, "08 §6.1")
                return
            if not same(output[:, 1:], target[:, :-1], 0, 0):
                row, i = (
                    int(n[0]) for n in (output[:, 1:] != target[:, :-1]).nonzero(as_tuple=True)
                )
                text = "En la posición i tiene que estar el token i−1 de la misma frase."
                story = (
                    f"Con {case.name}, en [{row}, {i + 1}] está {show(output[row, i + 1])} y tenía que estar "
                    f"{show(target[row, i])}."
                )
                yield Finding("propiedad-orden", text, story, "08 §6.1")
                return


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
