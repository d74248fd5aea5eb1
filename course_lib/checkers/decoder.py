"""Comprueba con qué se alimenta un decoder y su autoatención enmascarada.

Desplazar: {a la derecha, sin desplazar, a la izquierda…} × {bos_id, otra cosa} × {tokens, frases}.
Atender: {x·W_Q, x·W_K…} × {÷√d_k…} × {softmax…} × {quién se ve} × {cómo se tapa} × {pesos·V…}.
"""

import functools
import math

import torch

from course_lib.checkers.family import Case, Exercise, Mistake, Option, Raised, Stage, same, show
from course_lib.checkers.one_head import (
    ALL_TRANSPOSED,
    NOT_PROJECTED,
    OneHead,
    dot,
    hide_options,
    lost_numbers,
    mask_mistake,
    matrix_options,
    project,
    scale_options,
    softmaxes,
    value_options,
    weak,
)
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.legacy_steps import SWAPPED, UNSTABLE
from course_lib.masks import causal_mask

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


# --- 8.2: autoatención enmascarada de una cabeza --------------------------------------------------


def future_weight(look):
    """Cuánto peso se llevan los tokens que vienen después."""
    weights = look.traced["weights"]
    if weights.shape != look.traced_right["weights"].shape or weights.isnan().any():
        return lost_numbers(look)
    leaked = weights[0].triu(1).abs().sum(-1)
    row = int(leaked.argmax())
    if leaked[row] < 1e-6:
        return ""
    return (
        f"Con {look.case.name}, tu query {row} da un peso de {show(leaked[row])} a tokens que vienen "
        "después, y tenía que dar 0."
    )


@functools.cache
def square(size, offset=0):
    return torch.ones(size, size, dtype=torch.bool).tril(offset)


def size_mistake(name, which):
    text = f"Tu máscara mide {which}, y tiene que medir (L, L): una fila y una columna por token."
    return mask_mistake(f"tamaño-{name}", text, None, "08 §1")


NO_MASK = mask_mistake(
    "falta", "No hay máscara: cada token ve también los que vienen después.", future_weight, "08 §1"
)
ONLY_ITSELF = Mistake(
    "solo-su-value",
    "Cada token se queda solo con su value: falta la mezcla con los anteriores.",
    "05 §4",
)
ALLOWED = [
    # Quién se ve: de x y W_Q, W_V, una tabla; True, se ve.
    Option(lambda x, q, v: square(x.shape[1])),
    Option(
        lambda x, q, v: square(x.shape[1], -1),
        mask_mistake(
            "diagonal",
            "Tapas también la diagonal: cada token se ve a sí mismo, y el primero no tiene a nadie más.",
            lost_numbers,
            "04 §2",
        ),
    ),
    Option(
        lambda x, q, v: square(x.shape[1]).T,
        mask_mistake(
            "traspuesta",
            "Tu triángulo está del otro lado: se ve el futuro y se tapa el pasado.",
            future_weight,
            "04 §2",
        ),
    ),
    Option(
        lambda x, q, v: square(x.shape[1], 1),
        mask_mistake(
            "uno-de-más",
            "Cada token ve también el siguiente: el triángulo empieza un puesto tarde.",
            future_weight,
            "04 §2",
        ),
    ),
    Option(lambda x, q, v: square(x.shape[0]), size_mistake("B", "(B, B)")),
    Option(lambda x, q, v: square(x.shape[2]), size_mistake("d_model", "(d_model, d_model)")),
    Option(lambda x, q, v: square(q.shape[1]), size_mistake("d_k", "(d_k, d_k)")),
    Option(lambda x, q, v: torch.eye(x.shape[1], dtype=torch.bool), ONLY_ITSELF),
]


def sentences(seed, B, L, d_model, d_k, d_v, blank=False):
    """x, W_Q, W_K y W_V sembrados; ``blank`` pone a 0 un token, como un relleno."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(B, L, d_model, generator=generator)
    if blank:
        x[:, 1] = 0.0
    widths = (d_k, d_k, d_v)
    return x, *(torch.randn(d_model, n, generator=generator) / math.sqrt(d_model) for n in widths)


def whole_numbers(negative):
    """Puntuaciones enteras, exactas en float32: enormes o, si no, muy negativas y con un futuro mayor."""
    low = [[1.0], [2.0], [0.0], [1.0]]
    step = torch.tensor(low if not negative else [[-12.0], [-11.0], [-9.0], [0.0]])
    ones = torch.ones(4, 1)
    values = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]])
    x = torch.cat([step, ones, values, torch.zeros(4, 1)], 1)[None]  # (1, 4, 5)
    W_Q, W_K, W_V = torch.zeros(5, 4), torch.zeros(5, 4), torch.zeros(5, 2)
    W_Q[1, 0], W_K[0, 0] = 400.0, 1.0
    W_V[2, 0] = W_V[3, 1] = 1.0
    return x, W_Q, W_K, W_V


MASKED = (
    Case("2 frases de 4 tokens", sentences(0, 2, 4, 6, 5, 7)),
    Case("2 frases de 3 tokens y matrices cuadradas", sentences(1, 2, 3, 4, 4, 4)),
    Case("una frase de 5 tokens", sentences(2, 1, 5, 3, 6, 2)),
    Case("3 frases de 3 tokens", sentences(3, 3, 3, 5, 2, 4)),
    Case("2 frases de 4 tokens, con d_model = 4", sentences(4, 2, 4, 4, 6, 5)),
    Case("2 frases de 5 tokens, con d_k = 5", sentences(5, 2, 5, 4, 5, 3)),
    Case("un token que es el vector 0", sentences(7, 2, 4, 6, 5, 7, blank=True)),
    Case("puntuaciones muy grandes", whole_numbers(negative=False)),
    Case("puntuaciones muy negativas y un futuro mayor", whole_numbers(negative=True)),
)


@functools.lru_cache(maxsize=4096)
def query_key_value(every, query, key, value, *arguments):
    """La query, la key y el value, cada uno con la matriz que se pide."""
    out = []
    for name, transposed in (query, key, value):
        name = None if every == "ninguna" else name
        out.append(project(name, transposed or every == "traspuestas", *arguments))
    return (out[1], out[0], out[2]) if every == "cambiadas" else tuple(out)


class MaskedSelfAttention(OneHead):
    """x → softmax(Q·Kᵀ / √d_k, sin futuro)·V, con Q = x·W_Q, K = x·W_K y V = x·W_V."""

    number, title, points = "8.2", "autoatención enmascarada", 4
    names = ("x", "W_Q", "W_K", "W_V")
    axes = {
        "hide": hide_options(NO_MASK, future_weight),
        "allowed": ALLOWED,
        "scale": list(scale_options(skip=("√L_q", "√eje-1"))),
        "softmax": list(softmaxes()),
        "every": [
            Option("propias"),
            Option("cambiadas", SWAPPED),
            Option("traspuestas", ALL_TRANSPOSED),
            Option("ninguna", NOT_PROJECTED),
        ],
        "value": list(value_options(ONLY_ITSELF)),
        "query": matrix_options("la query", "W_Q"),
        "key": matrix_options("la key", "W_K"),
        "value_matrix": matrix_options("el value", "W_V"),
        "naive": [Option(False), Option(True, UNSTABLE)],
    }
    stages = (Stage(tuple(axes), MASKED),)
    weak = weak(future_weight)
    tiny = (
        Case("1 token", (torch.tensor([[[2.0]]]), *[torch.tensor([[1.0]])] * 3)),
        Case("2 tokens", (torch.tensor([[[1.0], [2.0]]]), *[torch.tensor([[1.0]])] * 3)),
        Case("3 tokens", (torch.tensor([[[1.0], [2.0], [0.0]]]), *[torch.tensor([[1.0]])] * 3)),
    )

    def compute(self, choice, x, W_Q, W_K, W_V):
        matrices = tuple(choice[axis] for axis in ("every", "query", "key", "value_matrix"))
        arguments = (x, W_Q, W_K, W_V)
        q, k, v = query_key_value(*matrices, *arguments)
        divide, late = choice["scale"]
        divisor = divide(x, q, k, v)
        scores = dot(q, k) if late else dot(q, k) / divisor
        before, after = choice["hide"]
        allowed = choice["allowed"](x, W_Q, W_V) if before or after else None
        if before:
            scores = before(scores, allowed)
        weights = choice["softmax"](scores, choice["naive"])
        if late:
            weights = weights / divisor
        if after:
            weights = after(weights, allowed)
        return {"output": choice["value"](weights, q, k, v), "weights": weights, "scores": scores}

    def shape(self, arguments):
        x, *_, W_V = arguments
        return (*x.shape[:-1], W_V.shape[-1])

    def extra_options(self, learner):
        return super().extra_options(learner) | {"allowed": list(self.found_length(learner))}

    def mistake_ids(self):
        return super().mistake_ids() | {"máscara-longitud-fija"}

    def measure(self, learner, d_k):
        """Por cuánto se dividen las puntuaciones: se lee en el reparto del segundo de dos tokens."""
        W_Q, W_K, W_V = torch.zeros(2, d_k), torch.zeros(2, d_k), torch.tensor([[1.0], [0.0]])
        W_Q[1, 0] = W_K[0, 0] = 1.0
        output = self.ask(learner, torch.eye(2)[None], W_Q, W_K, W_V)
        if output is None or output.shape != (1, 2, 1):
            return None
        weight = float(output[0, 1, 0])
        return 1 / math.log(weight / (1 - weight)) if 0.500001 < weight < 0.999999 else None

    def leaked(self, learner, low):
        W_Q, W_K = torch.tensor([[-low], [0.0]]), torch.tensor([[1.0], [0.0]])
        output = self.ask(learner, torch.eye(2)[None], W_Q, W_K, torch.tensor([[0.0], [1.0]]))
        return (
            float(output[0, 0, 0]) if output is not None and output.shape == (1, 2, 1) else math.nan
        )

    def found_length(self, learner):
        """Si solo funciona con frases de una longitud, cuál es."""
        works = [
            L
            for L in range(2, 11)
            if self.ask(learner, *sentences(20, 2, L, 12, 11, 13)) is not None
        ]
        if len(works) == 1:
            text = (
                f"Tu máscara es siempre de {works[0]} × {works[0]}: se hace con la longitud L de x."
            )
            mistake = mask_mistake("longitud-fija", text, None, "04 §2")
            yield Option(lambda x, q, v: square(works[0]), mistake)

    # --- Lo que se ve cuando no se reconoce nada --------------------------------------------------

    def properties(self, learner, seen):
        if faults := self.malformed(seen, "La forma de tu salida no es (B, L, d_v).", "08 §2"):
            yield from faults
            return
        leaks = list(self.influence(learner))
        yield from leaks
        for case, output in seen.items():
            if leaks or not isinstance(output, torch.Tensor):
                continue
            x, *_, W_V = case.arguments
            values = x @ W_V
            low, high = values.cummin(1).values, values.cummax(1).values
            outside = torch.maximum(low - output, output - high)
            if outside.amax() > 1e-3:
                row = int(outside.amax((0, 2)).argmax())
                text = (
                    "Cada salida es una media ponderada de los values que ve: ¿suman 1 tus pesos?"
                )
                story = f"Con {case.name}, tu salida {row} se sale de entre ellos en {show(outside.amax())}."
                yield Finding("propiedad-media", text, story, "05 §4")
                return

    def influence(self, learner):
        """El mapa de influencia con la frase más corta en la que algo no es un triángulo."""
        one = torch.ones(1, 1)
        for L in (2, 3, 4):
            x = torch.tensor([1.0, 2.0, 0.0, 3.0])[:L].reshape(1, L, 1)
            base = self.ask(learner, x, one, one, one)
            if base is None or base.shape != x.shape or not base.isfinite().all():
                return
            for j in range(L):
                touched = x.clone()
                touched[0, j] += 1.0
                other = self.ask(learner, touched, one, one, one)
                if other is None or other.shape != x.shape:
                    return
                moved = (other - base).abs()[0, :, 0] > 1e-5
                tale = f"Con x = {show(x[0, :, 0])} (d_model = 1, matrices de un 1), al sumar 1 al token {j}"
                if moved[:j].any():
                    i = int(moved.nonzero()[0])
                    text = "El futuro se escapa: tocar un token mueve una salida anterior."
                    story = f"{tale}, tu salida {i} pasa de {show(base[0, i, 0])} a {show(other[0, i, 0])}."
                    yield Finding("propiedad-fuga", text, story, "08 §3")
                    return
                if not moved[j:].all():
                    i = j + int((~moved[j:]).nonzero()[0])
                    text = "Tapas de más: tocar un token no mueve una salida que puede verlo."
                    story = f"{tale}, tu salida {i} no cambia."
                    yield Finding("propiedad-tapa-de-más", text, story, "08 §3")
                    return
        first, W_Q, W_K, W_V = sentences(21, 2, 3, 4, 4, 4)
        other = first.clone()
        other[1] += 1.0
        outputs = [self.ask(learner, x, W_Q, W_K, W_V) for x in (first, other)]
        if None not in outputs and not same(outputs[0][0], outputs[1][0]):
            amount = (outputs[0][0] - outputs[1][0]).abs().max()
            text = "Las frases del lote se mezclan: tocar una cambia la salida de otra."
            story = f"Al sumar 1 a la segunda de 2 frases, la salida de la primera se mueve {show(amount)}."
            yield Finding("propiedad-lote", text, story, "07 §5.4")


# --- Las preguntas --------------------------------------------------------------------------------


def zeros_of_the_map(length=20):
    """Las casillas del futuro: con máscara en todas las capas, son cero exacto."""
    return int((~causal_mask(length)).sum())


@functools.cache
def tokens_that_know():
    """Cuántas salidas anteriores a la palabra cambiada se mueven, con cada entrada."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    pair = [extract_embeddings(f"The dog slept in the {word}") for word in ("garden", "kitchen")]
    attention = encoder_from_bert(load_bert()).encoder.encoder_layers[0].multi_head_attention
    last = pair[0].tokens[0].index("garden")
    counts = []
    with torch.no_grad():
        for field in ("encoder_input", "contextual_embeddings"):
            sentence = [getattr(embeddings, field) for embeddings in pair]
            mask = causal_mask(sentence[0].shape[1])
            first, second = (attention(x, x, x, mask)[0] for x in sentence)
            counts.append(int(((first - second)[0, :last].norm(dim=-1) > 1e-4).sum()))
    return tuple(counts), last


QUESTIONS = (
    Question(
        "8.3",
        "cuántos ceros tiene el mapa de influencia",
        zeros_of_the_map,
        (
            Wrong(
                lambda: int(causal_mask(20).sum()),
                "cuenta-lo-permitido",
                "Has contado las casillas que sí pueden moverse: las del pasado y la diagonal.",
            ),
            Wrong(
                lambda: int((~causal_mask(20)).sum()) * 2,
                "cuenta-los-dos-lados",
                "Has contado los dos lados de la diagonal: por debajo está el pasado, que sí se ve.",
            ),
            Wrong(
                lambda: 20 * 20 // 2,
                "la-mitad",
                "Has tomado la mitad justa, y la diagonal rompe el empate: cada token se ve a sí mismo.",
            ),
            Wrong(
                lambda: int((~causal_mask(19)).sum()),
                "una-fila-de-menos",
                "Te falta una fila: el token 0 tiene delante todos los demás, 19.",
            ),
            Wrong(
                lambda: 0,
                "las-capas-lo-cuelan",
                "Apilar capas no deja pasar el futuro: una pila de triángulos es un triángulo.",
                "08 §4",
            ),
            Wrong(
                lambda: 20 * 20, "todas", "Si todas fueran cero, ninguna salida dependería de nada."
            ),
            *(
                Wrong(
                    lambda times=times: zeros_of_the_map() * times,
                    f"por-{times}",
                    "Has multiplicado por las capas o las cabezas: el mapa es uno solo, y mira el decoder "
                    "desde fuera.",
                )
                for times in (6, 8, 48)
            ),
        ),
        tolerance=1e-6,
        read="08 §3",
        points=1,
    ),
    Question(
        "8.4",
        "la salida de BERT ya ha leído el final",
        lambda: tokens_that_know()[0],
        (
            Wrong(
                lambda: (0, 0),
                "la-máscara-basta",
                "Con la entrada del encoder, cierto. La salida de BERT ya lleva dentro la última palabra, y la "
                "máscara no puede sacarla.",
            ),
            Wrong(
                lambda: tokens_that_know()[0][::-1],
                "al-revés",
                "Están cambiadas: primero, con encoder_input; después, con contextual_embeddings.",
            ),
            Wrong(
                lambda: (tokens_that_know()[1],) * 2,
                "las-dos-lo-saben",
                "En encoder_input cada vector es de un solo token: la máscara lo tapa del todo. ¿Has pasado "
                "causal_mask(L)?",
            ),
            Wrong(
                lambda: (0, tokens_that_know()[1] - 1),
                "sin-el-primero",
                "Te falta uno: [CLS], en la posición 0, también ha leído la frase.",
            ),
            Wrong(
                lambda: (2, tokens_that_know()[1] + 2),
                "cuenta-los-posteriores",
                "Has contado también la palabra cambiada y [SEP], que sí la pueden ver: son las anteriores.",
            ),
            Wrong(
                lambda: (1, tokens_that_know()[1] + 1),
                "cuenta-la-cambiada",
                "Has contado también la palabra cambiada, o [SEP]: son solo las posiciones anteriores.",
            ),
        ),
        kind="una pareja de números, como (1, 2)",
        tolerance=1e-6,
        read="08 §6.3",
        points=2,
    ),
)

SHIFT, MASKED_ATTENTION = ShiftRight(), MaskedSelfAttention()
EXERCISES = (SHIFT, MASKED_ATTENTION)


def check_shift_right(function):
    """Comprueba una función que prepara la entrada de un decoder.

    Args:
        function: recibe ``(target_ids, bos_id)``: los ids que hay que predecir, ``(B, L)``, y el de
            la marca de inicio. Devuelve los ids de entrada, ``(B, L)``: bos_id delante y sin el último.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SHIFT.check(function))


def check_masked_self_attention(function):
    """Comprueba la autoatención enmascarada de una cabeza.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V)``, de formas ``(B, L, d_model)``, ``(d_model, d_k)`` dos
            veces y ``(d_model, d_v)``. Devuelve la salida ``(B, L, d_v)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce y, si deja escapar el futuro, dónde.
    """
    return finish(MASKED_ATTENTION.check(function))
