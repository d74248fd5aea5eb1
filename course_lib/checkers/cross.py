"""Comprueba la atención cruzada, y la suma y normalización que la envuelve.

La familia: {Q del decoder, K y V del encoder…} × {W_Q, W_K…} × {÷√d_k…} × {softmax…} × {máscara…}.
"""

import functools
import math
import warnings

import torch

from course_lib.attention import MultiHeadAttention
from course_lib.checkers.add_and_norm import AddAndNormalise
from course_lib.checkers.family import Case, Mistake, Option, Stage, show
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

# --- 9.1: atención cruzada de una cabeza ----------------------------------------------------------


def padding_weight(look):
    """Cuánto peso se llevan los tokens de relleno del origen."""
    mask, weights = look.case.arguments[5], look.traced["weights"]
    if mask is None or weights.shape != look.traced_right["weights"].shape:
        return ""
    if weights.isnan().any():
        return lost_numbers(look)
    leaked = (weights * ~mask[:, None]).abs().sum(-1)  # (B, m_D)
    if leaked.max() < 1e-6:
        return ""
    batch, row = divmod(int(leaked.argmax()), leaked.shape[1])
    return (
        f"Con {look.case.name}, tu query {row} de la frase {batch} da un peso de "
        f"{show(leaked[batch, row])} al relleno del origen, y tenía que dar 0."
    )


def shape_story(look):
    """Lo que mide la salida, si no es lo que tenía que medir."""
    if look.yours.shape == look.right.shape:
        return ""
    return (
        f"Con {look.case.name}, tu salida mide {tuple(look.yours.shape)} y tenía que medir "
        f"{tuple(look.right.shape)}: una fila por token del decoder."
    )


def source_mistake(name, text):
    return Mistake(name, text, "09 §1", shape_story)


SOURCES = [
    # De qué frase salen la query, la key y el value: D, decoder; E, encoder.
    Option("DEE"),
    Option(
        "EDD",
        source_mistake(
            "papeles-cambiados",
            "Las dos frases están cambiadas: pregunta el decoder (Q) y responde el encoder (K y V).",
        ),
    ),
    Option(
        "DDD",
        source_mistake(
            "todo-del-decoder",
            "Todo sale del decoder: eso es autoatención. K y V salen del encoder.",
        ),
    ),
    Option(
        "EEE",
        source_mistake(
            "todo-del-encoder", "Todo sale del encoder: eso es autoatención. Q sale del decoder."
        ),
    ),
    Option(
        "DED",
        source_mistake("values-del-decoder", "Los values salen del decoder, y son del encoder."),
    ),
    Option(
        "DDE", source_mistake("keys-del-decoder", "Las keys salen del decoder, y son del encoder.")
    ),
    Option(
        "EDE",
        source_mistake(
            "query-key-de-la-otra-frase",
            "La query sale del encoder y la key, del decoder: es al contrario.",
        ),
    ),
    Option(
        "EED",
        source_mistake(
            "query-value-de-la-otra-frase",
            "La query sale del encoder y el value, del decoder: es al contrario.",
        ),
    ),
    *(
        Option(
            order,
            source_mistake(
                "frases-juntas",
                "Has juntado las dos frases en las keys y los values: son solo los del encoder.",
            ),
        )
        for order in ("D+DE", "D+ED")
    ),
]
NO_MASK = mask_mistake(
    "falta",
    "No usas source_mask: el decoder lee también el relleno del origen.",
    padding_weight,
    "09 §4",
)
INSTEAD = mask_mistake(
    "causal-en-su-lugar",
    "Con máscara tapas el futuro, y lo que hay que tapar es el relleno del origen.",
    padding_weight,
    "09 §4",
)
ALIGNED = [
    # Cómo se pone la máscara (B, m_E) sobre unas puntuaciones (B, m_D, m_E).
    Option(lambda mask, scores: mask[:, None, :]),
    Option(
        lambda mask, scores: mask,
        mask_mistake(
            "sin-eje",
            "Usas source_mask (B, m_E) tal cual: el lote se toma por las queries. Le falta un eje, (B, 1, m_E).",
            None,
            "09 §4",
        ),
    ),
    Option(
        lambda mask, scores: mask[:, :, None],
        mask_mistake(
            "por-filas",
            "La máscara tapa filas (queries), y el relleno está en las columnas (keys): es (B, 1, m_E).",
            padding_weight,
            "04 §5.2",
        ),
    ),
    Option(
        lambda mask, scores: mask[:1, None, :],
        mask_mistake(
            "solo-la-primera",
            "Usas la máscara de la primera frase para todo el lote: cada frase tiene la suya.",
            padding_weight,
            "09 §4",
        ),
    ),
    Option(
        lambda mask, scores: torch.ones(scores.shape[-2:], dtype=torch.bool).tril(),
        INSTEAD,
    ),
]
FUTURE = mask_mistake(
    "causal-de-más",
    "Tapas el futuro, y aquí no lo hay: la frase de origen se conoce entera.",
    None,
    "09 §4",
)
NO_FUTURE = [
    Option(None),
    Option(lambda scores: scores.shape[-2:], FUTURE),
    Option(lambda scores: (scores.shape[-2],) * 2, FUTURE),
    Option(lambda scores: (scores.shape[-1],) * 2, FUTURE),
]


def pair(seed, B, m_D, m_E, d, d_k, d_v, real=None, blank=False):
    """Dos lotes de frases, W_Q, W_K y W_V sembrados, y cuántos tokens de origen son de verdad.

    ``blank`` pone a 0 un token de origen.
    """
    generator = torch.Generator().manual_seed(seed)
    decoder_x = torch.randn(B, m_D, d, generator=generator)
    encoder_x = torch.randn(B, m_E, d, generator=generator)
    if blank:
        encoder_x[:, 0] = 0.0
    matrices = (
        torch.randn(d, n, generator=generator) / math.sqrt(d) * 1.2 for n in (d_k, d_k, d_v)
    )
    mask = None if real is None else torch.arange(m_E) < torch.tensor(real)[:, None]
    return decoder_x, encoder_x, *matrices, mask


def whole_numbers(negative):
    """Puntuaciones enteras, exactas en float32: enormes o, si no, muy negativas y con un relleno mayor."""
    step = [[-12.0], [-11.0], [-9.0], [0.0]] if negative else [[1.0], [2.0], [0.0], [1.0]]
    values = torch.tensor([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.0], [2.0, 1.0]])
    encoder_x = torch.cat([torch.tensor(step), torch.zeros(4, 1), values], 1)[None]  # (1, 4, 4)
    decoder_x = torch.zeros(1, 3, 4)
    decoder_x[0, :, 1] = torch.tensor([1.0, 2.0, 1.0])
    W_Q, W_K, W_V = torch.zeros(4, 9), torch.zeros(4, 9), torch.zeros(4, 2)
    W_Q[1, 0], W_K[0, 0] = 600.0, 1.0
    W_V[2, 0] = W_V[3, 1] = 1.0
    return decoder_x, encoder_x, W_Q, W_K, W_V, torch.tensor([[True, True, True, False]])


CROSS = (
    Case("un origen con relleno", pair(0, 2, 3, 4, 6, 5, 7, (3, 2))),
    Case("3 tokens en el decoder y 5 en el encoder", pair(1, 2, 3, 5, 6, 4, 7)),
    Case("5 tokens en el decoder y 2 en el encoder", pair(2, 3, 5, 2, 4, 6, 3)),
    Case("3 tokens en cada frase y matrices cuadradas", pair(3, 2, 3, 3, 4, 4, 4)),
    Case("4 tokens en cada frase y relleno", pair(4, 2, 4, 4, 6, 5, 3, (2, 3))),
    Case("3 frases, 3 tokens en el decoder y relleno", pair(5, 3, 3, 5, 4, 6, 2, (5, 2, 4))),
    Case("una frase con relleno", pair(6, 1, 4, 3, 5, 2, 6, (2,))),
    Case("matrices cuadradas y relleno", pair(7, 2, 3, 4, 5, 5, 5, (1, 4))),
    Case("un token de origen que es el vector 0", pair(8, 2, 3, 4, 6, 5, 7, (3, 2), blank=True)),
    Case("puntuaciones muy grandes", whole_numbers(negative=False)),
    Case("puntuaciones muy negativas y un relleno mayor", whole_numbers(negative=True)),
)


@functools.lru_cache(maxsize=4096)
def sources(order, decoder_x, encoder_x):
    """De qué vectores salen la query, la key y el value."""
    if "+" in order:
        together = torch.cat([{"D": decoder_x, "E": encoder_x}[name] for name in order[2:]], 1)
        return decoder_x, together, together
    return tuple(decoder_x if name == "D" else encoder_x for name in order)


@functools.lru_cache(maxsize=4096)
def query_key_value(order, every, query, key, value, decoder_x, encoder_x, W_Q, W_K, W_V):
    if every == "cambiadas":
        W_Q, W_K = W_K, W_Q
    out = []
    for x, (name, transposed) in zip(sources(order, decoder_x, encoder_x), (query, key, value)):
        name = None if every == "ninguna" else name
        out.append(project(name, transposed or every == "traspuestas", x, W_Q, W_K, W_V))
    return (out[1], out[0], out[2]) if every == "key-por-query" else tuple(out)


class CrossAttention(OneHead):
    """softmax(Q·Kᵀ / √d_k)·V, con Q del decoder y K y V del encoder."""

    number, title, points = "9.1", "la atención cruzada", 4
    names = ("decoder_x", "encoder_x", "W_Q", "W_K", "W_V")
    optional = ("source_mask",)
    axes = {
        "sources": SOURCES,
        "hide": hide_options(NO_MASK, padding_weight),
        "allowed": ALIGNED,
        "scale": list(scale_options(skip=("√eje-1",))),
        "softmax": list(softmaxes()),
        "every": [
            Option("propias"),
            Option(
                "cambiadas",
                Mistake(
                    "W_Q-W_K-cambiadas",
                    "W_Q y W_K están cambiadas: Q = X_D·W_Q y K = X_E·W_K.",
                    "09 §3",
                ),
            ),
            Option("key-por-query", SWAPPED),
            Option("traspuestas", ALL_TRANSPOSED),
            Option("ninguna", NOT_PROJECTED),
        ],
        "causal": NO_FUTURE,
        "value": list(value_options()),
        "query": matrix_options("la query", "W_Q"),
        "key": matrix_options("la key", "W_K"),
        "value_matrix": matrix_options("el value", "W_V"),
        "naive": [Option(False), Option(True, UNSTABLE)],
    }
    stages = (Stage(tuple(axes), CROSS),)
    weak = weak(padding_weight)
    in_threes = ("sources", "hide", "allowed", "scale", "softmax")
    one = torch.tensor([[1.0]])
    tiny = (
        Case("1 y 1", (torch.tensor([[[1.0]]]), torch.tensor([[[2.0]]]), one, one, one, None)),
        Case(
            "1 y 2", (torch.tensor([[[1.0]]]), torch.tensor([[[2.0], [1.0]]]), one, one, one, None)
        ),
        Case(
            "2 y 1", (torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[2.0]]]), one, one, one, None)
        ),
        Case(
            "1 y 2, uno de relleno",
            (
                torch.tensor([[[1.0]]]),
                torch.tensor([[[2.0], [1.0]]]),
                *(one, one, one, torch.tensor([[True, False]])),
            ),
        ),
    )

    def compute(self, choice, decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None):
        ways = (choice[axis] for axis in ("sources", "every", "query", "key", "value_matrix"))
        q, k, v = query_key_value(*ways, decoder_x, encoder_x, W_Q, W_K, W_V)
        divide, late = choice["scale"]
        divisor = divide(decoder_x, q, k, v)
        scores = dot(q, k) if late else dot(q, k) / divisor
        if choice["causal"]:
            past = torch.ones(choice["causal"](scores), dtype=torch.bool).tril()
            scores = scores.masked_fill(~past, -torch.inf)
        before, after = choice["hide"] if source_mask is not None else (None, None)
        allowed = choice["allowed"](source_mask, scores) if before or after else None
        if before:
            scores = before(scores, allowed)
        weights = choice["softmax"](scores, choice["naive"])
        if late:
            weights = weights / divisor
        if after:
            weights = after(weights, allowed)
        return {"output": choice["value"](weights, q, k, v), "weights": weights, "scores": scores}

    def redundant(self, choice):
        # Si ya se tapa siempre el futuro, taparlo en lugar del relleno es no usar la máscara.
        twice = choice["causal"].mistake and choice["allowed"].mistake is INSTEAD
        return bool(twice) or super().redundant(choice)

    def shape(self, arguments):
        decoder_x, _, _, _, W_V, *_ = arguments
        return (*decoder_x.shape[:-1], W_V.shape[-1])

    def measure(self, learner, d_k):
        """Por cuánto se dividen las puntuaciones: con dos keys, se lee en el reparto."""
        W_Q, W_K, W_V = torch.zeros(2, d_k), torch.zeros(2, d_k), torch.tensor([[1.0], [0.0]])
        W_Q[1, 0] = W_K[0, 0] = 1.0
        output = self.ask(learner, torch.eye(2)[None, 1:], torch.eye(2)[None], W_Q, W_K, W_V, None)
        if output is None or output.shape != (1, 1, 1):
            return None
        weight = float(output)
        return 1 / math.log(weight / (1 - weight)) if 0.500001 < weight < 0.999999 else None

    def leaked(self, learner, low):
        W_Q, W_K = torch.tensor([[-low], [0.0]]), torch.tensor([[1.0], [0.0]])
        values, mask = torch.tensor([[0.0], [1.0]]), torch.tensor([[True, False]])
        x = torch.eye(2)[None]
        output = self.ask(learner, x[:, :1], x, W_Q, W_K, values, mask)
        return float(output) if output is not None and output.numel() == 1 else math.nan

    def properties(self, learner, seen):
        if faults := self.malformed(
            seen,
            "La forma de tu salida no es (B, m_D, d_v): una fila por token del decoder.",
            "09 §2",
        ):
            yield from faults
            return
        moves = list(self.what_moves(learner))
        yield from moves
        for case, output in seen.items():
            if moves or not isinstance(output, torch.Tensor):
                continue
            values = case.arguments[1] @ case.arguments[4]
            low, high = values.amin(1, keepdim=True), values.amax(1, keepdim=True)
            outside = torch.maximum(low - output, output - high).amax()
            if outside > 1e-3:
                text = "Cada salida es una media ponderada de los values del encoder: ¿suman 1 tus pesos?"
                story = f"Con {case.name}, la tuya se sale de entre ellos en {show(outside)}."
                yield Finding("propiedad-media", text, story, "09 §2")
                return

    def what_moves(self, learner):
        """Qué salidas se mueven al tocar cada cosa."""
        arguments = pair(20, 2, 3, 4, 5, 5, 5, (4, 2))
        base = self.ask(learner, *arguments)

        def moved(which, batch, token):
            touched = list(arguments)
            touched[which] = arguments[which].clone()
            touched[which][batch, token] += 1.0
            output = self.ask(learner, *touched)
            return (
                None
                if output is None or output.shape != base.shape
                else (output - base).abs().amax(-1)
            )

        if base is None or base.dim() != 3:
            return
        checks = (
            (1, 1, 3, "propiedad-fuga", "09 §4", "El relleno se cuela: tocar un token de relleno del origen "
             "mueve la salida.", lambda gap: gap > 1e-5),
            (0, 0, 1, "propiedad-fila", "09 §2", "Cada salida es de un solo token del decoder: tocar uno mueve "
             "las de otros.", lambda gap: gap[:, [0, 2]] > 1e-5),
            (1, 0, 2, "propiedad-lote", "07 §5.4", "Las frases del lote se mezclan: tocar una mueve la salida "
             "de otra.", lambda gap: gap[1:] > 1e-5),
            (1, 0, 2, "propiedad-no-lee", "09 §2", "Hay salidas que no leen el origen: tocar un token del "
             "encoder no las mueve.", lambda gap: gap[:1] <= 1e-6),
        )  # fmt: skip
        for which, batch, token, name, read, text, bad in checks:
            gap = moved(which, batch, token)
            if gap is not None and bad(gap).any():
                side = "decoder" if which == 0 else "encoder"
                story = (
                    f"Al sumar 1 al token {token} del {side} en la frase {batch}, la salida que más se mueve lo "
                    f"hace en {show(gap.max())}."
                )
                if name == "propiedad-no-lee":
                    row = int(bad(gap)[0].nonzero()[0])
                    story = f"Al sumar 1 al token {token} del encoder, tu salida {row} no cambia."
                yield Finding(name, text, story, read)
                return


# --- Las preguntas --------------------------------------------------------------------------------


PAIR = ("The cat drank the milk because it was thirsty", "El gato bebió la leche porque tenía sed")


@functools.cache
def tokens_of_the_pair():
    """Cuántos tokens tienen las dos frases, con sus marcas; la española, sin la última."""
    from course_lib import extract_embeddings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # el tokenizador avisa de las tildes que pierde
        english, spanish = map(extract_embeddings, PAIR)
    return len(spanish.tokens[0]) - 1, len(english.tokens[0])


def cross_shape(change=lambda m_D, m_E: (1, 12, m_D, m_E)):
    return lambda: change(*tokens_of_the_pair())


@functools.cache
def parameters(**widths):
    block = MultiHeadAttention(8, 512, **widths)
    return sum(parameter.numel() for parameter in block.parameters())


WIDE = {"kdim": 1024, "vdim": 1024}
QUESTIONS = (
    Question(
        "9.3",
        "la forma de los pesos cruzados",
        cross_shape(),
        (
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_E, m_D)),
                "ejes-cambiados",
                "Los dos últimos ejes están cambiados: las filas son del decoder y las columnas, del encoder.",
                "09 §2",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_E, m_E)),
                "cuadrada-del-origen",
                "Esos son los pesos del encoder, que se mira a sí mismo: las filas son del decoder.",
                "09 §9",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_D, m_D)),
                "cuadrada-del-destino",
                "Esos son los pesos de la enmascarada: en la cruzada, las columnas son del encoder.",
                "09 §9",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_D + 1, m_E)),
                "sin-desplazar",
                "Has contado todos los tokens de la frase española: la entrada del decoder va desplazada, sin "
                "el último.",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_E, m_D + 1)),
                "sin-desplazar-y-cambiados",
                "Las filas son del decoder, y su entrada va desplazada: un token menos.",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, 12, m_D - 1, m_E - 2)),
                "sin-marcas",
                "Te faltan las marcas: [CLS] y [SEP] también son tokens.",
            ),
            Wrong(
                lambda: (1, 12, *(len(sentence.split()) for sentence in reversed(PAIR))),
                "cuenta-palabras",
                "Has contado palabras: el tokenizador parte algunas y añade [CLS] y [SEP].",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, m_D, m_E)),
                "sin-cabezas",
                "Falta el eje de las cabezas: hay una tabla por cabeza.",
                "09 §3",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (m_D, m_E)),
                "solo-la-tabla",
                "Esa es la tabla de una cabeza: faltan los ejes del lote y de las cabezas.",
                "09 §3",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (12, m_D, m_E)),
                "sin-lote",
                "Falta el eje del lote: aunque haya una sola frase, B = 1.",
                "09 §3",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, m_D, m_E, 12)),
                "cabezas-al-final",
                "El eje de las cabezas va delante de las dos longitudes: (B, h, m_D, m_E).",
                "09 §3",
            ),
            Wrong(
                cross_shape(lambda m_D, m_E: (1, m_D, 384)),
                "forma-de-la-salida",
                "Esa es la forma de la salida: se preguntan los pesos.",
                "09 §3",
            ),
        ),
        kind="una forma, como (1, 2, 3)",
        tolerance=1e-6,
        read="09 §5",
        points=1,
    ),
    Question(
        "9.4",
        "los parámetros de una cruzada con dos anchuras",
        lambda: parameters(**WIDE),
        (
            Wrong(
                lambda: parameters(),
                "todo-512",
                "Has puesto 512 en todas: W_K y W_V reciben los vectores del encoder, de 1024.",
                "09 §3.1",
            ),
            Wrong(
                lambda: parameters(**WIDE) - 4 * 512,
                "sin-sesgos",
                "Te faltan los sesgos: cada una de las cuatro capas tiene uno por cada salida.",
                "06 §9",
            ),
            Wrong(
                lambda: parameters() - 4 * 512,
                "todo-512-sin-sesgos",
                "Has puesto 512 en todas y te faltan los sesgos: W_K y W_V reciben vectores de 1024.",
                "09 §3.1",
            ),
            Wrong(
                lambda: parameters(**WIDE) - 512 * 513,
                "sin-W_O",
                "Falta W_O, que mezcla las cabezas: de 512 a 512, con su sesgo.",
                "06 §8",
            ),
            Wrong(
                lambda: parameters(**WIDE) - 512 * 513 - 3 * 512,
                "sin-W_O-ni-sesgos",
                "Faltan W_O, que mezcla las cabezas, y los sesgos.",
                "06 §8",
            ),
            Wrong(
                lambda: parameters(kdim=1024),
                "solo-las-keys",
                "Solo has ensanchado W_K: W_V también recibe los vectores del encoder.",
                "09 §3.1",
            ),
            Wrong(
                lambda: parameters(**WIDE) * 8,
                "por-las-cabezas",
                "Has multiplicado por 8: cada cabeza proyecta a 512 / 8, y entre todas suman 512.",
                "06 §9",
            ),
            Wrong(
                lambda: 4 * (1024 * 512 + 512),
                "todo-1024",
                "Has puesto 1024 en las cuatro: W_Q recibe los vectores del decoder y W_O, los de las cabezas.",
                "09 §3.1",
            ),
            Wrong(
                lambda: 4 * (1024 * 1024 + 1024),
                "todo-del-encoder",
                "Has usado la anchura del encoder en todo: el bloque trabaja con la del decoder, 512.",
                "09 §3.1",
            ),
        ),
        tolerance=1e-6,
        read="09 §3.1",
        points=1,
    ),
)

CROSS_ATTENTION, ADD_AND_NORM = CrossAttention(), AddAndNormalise()
EXERCISES = (CROSS_ATTENTION, ADD_AND_NORM)


def check_cross_attention(function):
    """Comprueba la atención cruzada de una cabeza.

    Args:
        function: recibe ``(decoder_x, encoder_x, W_Q, W_K, W_V, source_mask=None)``, de formas
            ``(B, m_D, d)``, ``(B, m_E, d)``, ``(d, d_k)`` dos veces, ``(d, d_v)`` y una máscara booleana
            ``(B, m_E)``; True, token de verdad. Devuelve la salida ``(B, m_D, d_v)``, o
            ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(CROSS_ATTENTION.check(function))


def check_add_and_norm(function):
    """Comprueba la suma y la normalización que envuelven cada subcapa.

    Args:
        function: recibe ``(x, sublayer_output, weight, bias, eps=1e-5)``, de formas ``(B, L, d)`` dos
            veces y ``(d,)`` dos veces. Devuelve LayerNorm(x + sublayer_output), de forma ``(B, L, d)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(ADD_AND_NORM.check(function))
