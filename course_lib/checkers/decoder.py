"""Comprueba la autoatención enmascarada de un decoder.

Atender: {x·W_Q, x·W_K…} × {÷√d_k…} × {softmax…} × {quién se ve} × {cómo se tapa} × {pesos·V…}.
"""

import functools
import math

import torch

from course_lib.checkers.family import Case, Mistake, Option, Stage, same, show
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

MASKED_ATTENTION = MaskedSelfAttention()
EXERCISES = (MASKED_ATTENTION,)


def check_masked_self_attention(function):
    """Comprueba la autoatención enmascarada de una cabeza.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V)``, de formas ``(B, L, d_model)``, ``(d_model, d_k)`` dos
            veces y ``(d_model, d_v)``. Devuelve la salida ``(B, L, d_v)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce y, si deja escapar el futuro, dónde.
    """
    return finish(MASKED_ATTENTION.check(function))
