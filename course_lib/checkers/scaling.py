"""Comprueba las puntuaciones escaladas, Q·Kᵀ/√d_k, y dos preguntas sobre su tamaño.

La familia: {Q·Kᵀ, Q·K, componente a componente…} × {÷√d_k, ÷d_k, ÷√d_model…} × {nada más, softmax…}.
"""

import functools
import math

import torch

from course_lib.checkers.family import Case, Mistake, Option, Raised, Stage, same, show
from course_lib.checkers.few_mistakes import FewMistakes
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.legacy_steps import CONSTANTS, SCALES

# --- Los errores ----------------------------------------------------------------------------------


def size(look):
    """La desviación de las puntuaciones, y la que tenían que tener."""
    yours, right = look.yours, look.right
    if yours.shape != right.shape or not yours.isfinite().all():
        return ""
    mine, good = float(yours.std()), float(right.std())
    if abs(mine - good) < 0.02 * good:
        return ""
    return (
        f"Con {look.case.name}, tus puntuaciones tienen una desviación de {show(mine)}, y tenía que ser "
        f"{show(good)}."
    )


WHERE = {"d_k": "03 §6.3", "√d_model": "03 §6.4", "normas": "03 §6.2", "ninguna": "03 §4"}


def scale_mistake(name, text):
    return Mistake(f"escala-{name}", text, WHERE.get(name, "03 §3"), size)


def over(divisor):
    """Dividir por lo que dice un divisor de la atención, que no mira las puntuaciones."""
    return lambda scores, q, k: scores / divisor(q, k, k)


def by_width(scores, q, k):
    return scores / math.sqrt(q.shape[-1])


def standardize(dims, correction, centered):
    def change(scores, q, k):
        axes = tuple(range(scores.dim())) if dims is None else dims
        mean = scores.mean(axes, keepdim=True)
        freedom = scores.numel() // mean.numel() - correction
        if freedom < 1:
            raise ValueError
        variance = ((scores - mean) ** 2).sum(axes, keepdim=True) / freedom
        return (scores - mean if centered else scores) / variance.sqrt()

    return change


def squeeze(scores, q, k):
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low)


def squeeze_rows(scores, q, k):
    low, high = scores.amin(-1, keepdim=True), scores.amax(-1, keepdim=True)
    return (scores - low) / (high - low)


def options(mistake, *values):
    return [Option(value, mistake) for value in values]


SCALE_OPTIONS = [
    Option(by_width),
    *(
        Option(over(divisor), scale_mistake(name, text))
        for name, (divisor, text) in SCALES.items()
        if name not in ("√d_v", "norma-de-V", "máximo")
    ),
    *options(
        scale_mistake("√d_model", SCALES["√d_model"][1]),
        lambda scores, q, k: scores / math.sqrt(q.shape[-3] * q.shape[-1]),
        lambda scores, q, k: scores / math.sqrt(q.shape[1] * q.shape[-1]),
    ),
    *options(
        scale_mistake(
            "d_model", "Has dividido por d_model, y es por √d_k: la raíz, y la de una cabeza."
        ),
        lambda scores, q, k: scores / (q.shape[-3] * q.shape[-1]),
        lambda scores, q, k: scores / (q.shape[1] * q.shape[-1]),
        lambda scores, q, k: scores / (q.shape[-1] * (q.shape[-3] if q.dim() == 4 else 1)),
    ),
    *options(
        scale_mistake(
            "otro-eje", "Has dividido por la medida de otro eje: es por la raíz del último, √d_k."
        ),
        lambda scores, q, k: scores / q.shape[-2],
        lambda scores, q, k: scores / q.shape[0],
        lambda scores, q, k: scores / k.shape[0],
        lambda scores, q, k: scores / q.shape[1],
        lambda scores, q, k: scores / k.shape[1],
        lambda scores, q, k: scores / math.sqrt(k.shape[0]),
        lambda scores, q, k: scores / math.sqrt(k.shape[1]),
    ),
    *options(
        scale_mistake("máximo", SCALES["máximo"][1]),
        lambda scores, q, k: scores / scores.max(),
        lambda scores, q, k: scores / scores.abs().max(),
        lambda scores, q, k: scores / scores.amax(-1, keepdim=True),
    ),
    *options(
        scale_mistake("una-norma", "Has dividido por una norma, y no por √d_k."),
        lambda scores, q, k: scores / q.norm(),
        lambda scores, q, k: scores / k.norm(),
        lambda scores, q, k: scores / (q.norm() * k.norm()),
        lambda scores, q, k: scores / scores.norm(),
        lambda scores, q, k: scores / scores.norm(dim=-1, keepdim=True),
        lambda scores, q, k: scores / q.norm(dim=-1, keepdim=True),
        lambda scores, q, k: scores / k.norm(dim=-1)[..., None, :],
    ),
    *options(
        scale_mistake(
            "desviación",
            "Has dividido por la desviación de las puntuaciones: √d_k es una constante, que no las mira.",
        ),
        *(
            standardize(dims, correction, centered)
            for dims in (None, (-1,), (-2, -1))
            for correction in (0, 1)
            for centered in (False, True)
        ),
    ),
    *options(
        Mistake(
            "entre-0-y-1",
            "Has llevado las puntuaciones entre 0 y 1: dividir por √d_k no les pone tope.",
            "03 §6.1",
        ),
        squeeze,
        squeeze_rows,
    ),
    *options(
        Mistake(
            "raíz-de-todo",
            "Has hecho la raíz de las puntuaciones, y es la raíz de d_k: con un producto negativo sale NaN.",
            "03 §3",
        ),
        lambda scores, q, k: (scores / q.shape[-1]).sqrt(),
        lambda scores, q, k: scores.sqrt() / q.shape[-1],
        lambda scores, q, k: scores.sqrt(),
    ),
]
SOFTMAX = Mistake(
    "softmax-de-más",
    "Has hecho ya la softmax: aquí solo se piden las puntuaciones, antes de ella.",
    "03 §1",
)
TRUNCATED = Mistake(
    "sin-decimales",
    "Les has quitado los decimales a las puntuaciones: muchas se quedan iguales.",
    "03 §6.1",
)
AXES = {
    "order": [
        Option(False),
        Option(
            True,
            Mistake(
                "query-key-cambiadas",
                "Has cambiado los papeles de la query y la key: cada fila tiene que ser de una query.",
                "02 §11",
            ),
        ),
    ],
    "product": [
        Option(lambda q, k: q @ k.mT),
        *options(
            Mistake("sin-trasponer", "No has traspuesto la key: es Q·Kᵀ, y no Q·K.", "03 §1"),
            lambda q, k: q @ k,
        ),
        *options(
            Mistake(
                "query-traspuesta",
                "Has traspuesto la query y no la key: sale (d_k, d_k), y no un número por pareja de tokens.",
                "03 §1",
            ),
            lambda q, k: q.mT @ k,
        ),
        *options(
            Mistake(
                "componente-a-componente",
                "Has multiplicado componente a componente, con *: es un producto de matrices, @.",
                "03 §1",
            ),
            lambda q, k: q * k,
        ),
        *options(
            Mistake(
                "solo-la-diagonal",
                "Has multiplicado cada query solo por la key de su sitio: es cada query por todas las keys.",
                "03 §1",
            ),
            lambda q, k: (q * k).sum(-1),
            lambda q, k: (q * k).sum(-1, keepdim=True),
        ),
    ],
    "scale": SCALE_OPTIONS,
    # De las puntuaciones ya divididas y de √d_k, la salida.
    "after": [
        Option(lambda scores, root: scores),
        *options(
            SOFTMAX,
            lambda scores, root: scores.softmax(-1),
            lambda scores, root: scores.softmax(-2),
        ),
        Option(
            lambda scores, root: (scores * root).softmax(-1) / root,
            (
                SOFTMAX,
                scale_mistake("después", "Has dividido por √d_k después de la softmax: es antes."),
            ),
        ),
        *options(
            Mistake(
                "valor-absoluto",
                "Les has quitado el signo: una puntuación puede ser negativa.",
                "03 §6.1",
            ),
            lambda scores, root: scores.abs(),
        ),
        *options(
            Mistake("signo", "Has cambiado el signo de las puntuaciones.", "03 §1"),
            lambda scores, root: -scores,
        ),
        *options(
            Mistake(
                "relu", "Has puesto a 0 las puntuaciones negativas: también cuentan.", "03 §6.1"
            ),
            lambda scores, root: scores.clamp_min(0),
        ),
        *options(
            Mistake(
                "recorta",
                "Has recortado las puntuaciones entre dos topes: no tienen ninguno.",
                "03 §6.1",
            ),
            lambda scores, root: scores.clamp(0, 1),
            lambda scores, root: scores.clamp(-1, 1),
            lambda scores, root: scores.tanh(),
            lambda scores, root: scores.sigmoid(),
        ),
        *options(
            Mistake(
                "exponencial",
                "Has hecho ya la exponencial: es el primer paso de la softmax.",
                "03 §1",
            ),
            lambda scores, root: scores.exp(),
        ),
        *options(
            TRUNCATED,
            lambda scores, root: scores.floor(),
            lambda scores, root: scores.trunc(),
            lambda scores, root: scores.round(),
        ),
    ],
}

# --- 3.1 Las puntuaciones -------------------------------------------------------------------------


def draw(seed, leading, L_q, L_k, d_k):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*leading, L, d_k, generator=generator) * 1.5 for L in (L_q, L_k))


def cases():
    for group, leading, seed in (("4", (2, 3), 0), ("3", (2,), 10), ("2", (), 20)):
        L = 4 if group == "4" else 3
        say = {"4": ", con cabezas", "3": ", en un lote", "2": ", en una frase suelta"}[group]
        yield Case(f"{L} queries y 5 keys{say}", draw(seed, leading, L, 5, 6), group)
        yield Case(f"4 queries, 4 keys y d_k = 5{say}", draw(seed + 1, leading, 4, 4, 5), group)
        yield Case(f"4 queries, 4 keys y d_k = 4{say}", draw(seed + 2, leading, 4, 4, 4), group)


class Scaling(FewMistakes):
    """Q, K → Q·Kᵀ / √d_k."""

    number, title, points = "3.1", "las puntuaciones escaladas", 2
    names = ("query", "key")
    axes = AXES
    stages = (Stage(tuple(AXES), tuple(cases())),)
    tiny = (
        Case("1 query y 1 key", (torch.tensor([[3.0]]), torch.tensor([[2.0]]))),
        Case("1 query y 1 key, con d_k = 4", (torch.full((1, 4), 2.0), torch.full((1, 4), 3.0))),
        Case("2 queries y 1 key", (torch.tensor([[1.0], [-2.0]]), torch.tensor([[3.0]]))),
        Case("2 queries y 2 keys", (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.eye(2))),
    )
    groups = {
        "4": "Con (B, h, L, d_k), un lote y cabezas, no funciona.",
        "3": "Con (B, L, d_k), un lote sin cabezas, no funciona.",
        "2": "Con (L, d_k), una frase suelta, no funciona.",
    }

    def compute(self, choice, query, key):
        q, k = (key, query) if choice["order"] else (query, key)
        scores = choice["scale"](choice["product"](q, k), query, key)
        return {"output": choice["after"](scores, math.sqrt(query.shape[-1]))}

    def too_narrow(self, seen):
        if {case.group for case in seen} & {"3", "4"}:
            return
        text = "Tu código funciona con una frase suelta, (L, d_k), y tiene que admitir un lote, (..., L, d_k)."
        yield Finding("sin-lote", text, "Traspón solo los dos últimos ejes, con .mT.", "03 §2")

    def mistake_ids(self):
        return super().mistake_ids() | {"escala-fija", "escala-de-más", "escala-otra"}

    def extra_options(self, learner):
        """El divisor que usa quien aprende, medido en cada anchura de las pruebas."""
        known = [
            Option(
                lambda scores, q, k, fixed=fixed: scores / fixed,
                scale_mistake(
                    "fija",
                    f"Divides siempre por {show(fixed)}: es por √d_k, que depende de la anchura.",
                ),
            )
            for fixed in CONSTANTS
        ]
        measured = {d_k: self.measure(learner, d_k) for d_k in (4, 5, 6)}
        if not all(measured.values()):
            return {"scale": known}
        ratio = {d_k: divisor / math.sqrt(d_k) for d_k, divisor in measured.items()}
        if any(spread((fixed, *measured.values())) < 1e-4 for fixed in CONSTANTS):
            return {"scale": known}
        if spread(measured.values()) < 1e-4:
            text = f"Divides siempre por {show(measured[4])}, sea cual sea la anchura: es por √d_k."
            mistake = scale_mistake("fija", text)
        elif spread(ratio.values()) < 1e-4:
            text = f"Divides por {show(ratio[4])}·√d_k: sobra el {show(ratio[4])}."
            mistake = scale_mistake("de-más", text)
        else:
            text = f"Divides por un número que no es √d_k: si d_k = 4, por {show(measured[4])}, y es por 2."
            mistake = scale_mistake("otra", text)
        found = Option(lambda scores, q, k: scores / measured[q.shape[-1]], mistake)
        return {"scale": [*known, found]}

    def measure(self, learner, d_k):
        """Por cuánto divide un producto que vale 1; con cabezas, con lote o sin nada delante."""
        for leading in ((1, 1), (1,), ()):
            query = torch.zeros(*leading, 1, d_k)
            query[..., 0] = 1.0
            outcome = self.call(learner, query, query.clone())
            value, problem = self.read(outcome.value, None) if not outcome.problem else (None, True)
            if not problem and isinstance(value, torch.Tensor) and value.numel() == 1:
                score = abs(float(value))
                return 1 / score if math.isfinite(score) and score > 1e-6 else None
        return None

    def properties(self, learner, seen):
        """Lo que tienen que cumplir unas puntuaciones escaladas."""
        for case, output in seen.items():
            if isinstance(output, Raised) or not isinstance(output, torch.Tensor):
                continue
            query, key = case.arguments
            shape = (*query.shape[:-1], key.shape[-2])
            if output.shape != shape:
                text = "La forma de tu salida no es (..., L_q, L_k): una fila por query y una columna por key."
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {shape}."
                yield Finding("propiedad-forma", text, story, "03 §1")
                return
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                text = f"Con {case.name}, {bad} de tus {output.numel()} puntuaciones son NaN o ∞."
                yield Finding("propiedad-finita", text, "", "03 §1")
                return
            outcome = self.call(learner, 2 * query, key.clone())
            if outcome.problem is None and not same(
                self.read(outcome.value, case)[0], 2 * output, 1e-3, 1e-4
            ):
                text = "Con queries el doble de largas, las puntuaciones tienen que ser el doble, y las tuyas no."
                yield Finding("propiedad-doble", text, f"Se ve con {case.name}.", "03 §6.2")
                return


def spread(numbers):
    """Cuánto se separan, en proporción, el menor y el mayor."""
    low, high = min(numbers), max(numbers)
    return (high - low) / high


# --- 3.2 El tamaño, con papel y lápiz -------------------------------------------------------------

D_K, QUERY_SPREAD, KEY_SPREAD = 16, 3, 2


def predicted(divisor, variance=False):
    """La desviación de q·k entre un divisor: Var(q·k) = d_k·σ_q²·σ_k²."""
    found = D_K * QUERY_SPREAD**2 * KEY_SPREAD**2 / divisor**2
    return found if variance else math.sqrt(found)


LONG_QUERIES = Question(
    "3.2",
    "queries y keys más largas",
    lambda: predicted(math.sqrt(D_K)),
    (
        Wrong(
            lambda: math.sqrt(D_K * 1 * 1 / D_K),
            "siempre-1",
            "√d_k deja la desviación en 1 si las componentes la tienen en 1, y aquí es 3 en q y 2 en k.",
            "03 §3",
        ),
        Wrong(
            lambda: predicted(math.sqrt(D_K), variance=True),
            "varianza",
            "Esa es la varianza de las puntuaciones: su desviación es la raíz.",
            "03 §2",
        ),
        Wrong(
            lambda: predicted(1),
            "sin-dividir",
            "Esa es la desviación de q·k antes de dividir por √d_k.",
            "03 §3",
        ),
        Wrong(
            lambda: predicted(1, variance=True),
            "varianza-sin-dividir",
            "Esa es la varianza de q·k, y antes de dividir: falta la raíz y falta √d_k.",
            "03 §3",
        ),
        Wrong(
            lambda: predicted(D_K),
            "entre-d_k",
            "Has dividido por d_k, y es por su raíz.",
            "03 §6.3",
        ),
        Wrong(
            lambda: predicted(1, variance=True) / math.sqrt(D_K),
            "varianza-entre-raíz",
            "Has dividido la varianza por √d_k: la que se divide por √d_k es la desviación.",
            "03 §3",
        ),
        Wrong(
            lambda: predicted(D_K, variance=True),
            "varianza-entre-d_k",
            "Esa es la varianza de (q·k)/d_k: se pide la desviación, y se divide por √d_k.",
            "03 §6.3",
        ),
        Wrong(
            lambda: QUERY_SPREAD,
            "olvida-k",
            "Has contado solo la desviación de q: las componentes de k la tienen en 2.",
            "03 §3",
        ),
        Wrong(
            lambda: KEY_SPREAD,
            "olvida-q",
            "Has contado solo la desviación de k: las componentes de q la tienen en 3.",
            "03 §3",
        ),
        Wrong(
            lambda: math.sqrt(QUERY_SPREAD * KEY_SPREAD),
            "olvida-el-cuadrado",
            "Multiplicar por 3 multiplica la varianza por 9, y no por 3; por 2, la multiplica por 4.",
            "03 §3",
        ),
    ),
    read="03 §3",
)

# --- 3.3 En una cabeza de BERT --------------------------------------------------------------------

SENTENCE, LAYER, HEAD = "She sat on the bank of the river", 0, 4
ROOT = math.sqrt(32)


@functools.cache
def sentence():
    """La frase, y la atención de las dos primeras capas."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    layers = encoder_from_bert(load_bert()).encoder.encoder_layers[:2]
    return extract_embeddings(SENTENCE), [layer.multi_head_attention for layer in layers]


def weight(divisor=ROOT, layer=LAYER, head=HEAD, dim=-1, swapped=False, shift=0, entering=None):
    """El peso de una palabra en la fila de otra, con la cuenta bien hecha o cambiada."""
    bert, attentions = sentence()
    attention = attentions[layer]
    x = getattr(bert, entering) if entering else bert.hidden_states[layer]
    row, column = (bert.tokens[0].index(word) + shift for word in ("bank", "river"))
    with torch.no_grad():
        projections = (attention.query_projection, attention.key_projection)
        q, k = (attention.split_heads(projection(x))[0, head] for projection in projections)
        scores = (k @ q.mT if swapped else q @ k.mT) / divisor
    return float(scores.softmax(dim)[row, column])


BANK = Question(
    "3.3",
    "lo que «bank» mira a «river»",
    lambda: weight(),
    (
        Wrong(
            lambda: weight(divisor=1.0),
            "sin-dividir",
            "Con puntuaciones tan grandes la softmax se satura: no has dividido por √d_k, o has multiplicado.",
            "03 §4",
        ),
        Wrong(
            lambda: weight(divisor=32),
            "entre-d_k",
            "Has dividido por d_k, y es por su raíz: los pesos quedan casi a partes iguales.",
            "03 §6.3",
        ),
        Wrong(
            lambda: weight(divisor=math.sqrt(384)),
            "entre-√d_model",
            "Has dividido por √d_model, y es por √d_k, la anchura de una cabeza: 32.",
            "03 §6.4",
        ),
        Wrong(
            lambda: weight(dim=-2),
            "softmax-queries",
            "Has hecho la softmax por columnas: va por filas, sobre las keys.",
            "03 §1",
        ),
        Wrong(
            lambda: weight(swapped=True),
            "query-key-cambiadas",
            "Has cambiado los papeles de Q y K: la query es la de «bank», y la key, la de «river».",
            "02 §11",
        ),
        Wrong(
            lambda: weight(shift=-1),
            "olvida-CLS",
            "Has contado las palabras sin [CLS], que ocupa la posición 0: busca con tokens.index.",
            "02 §2",
        ),
        Wrong(
            lambda: weight(head=HEAD - 1),
            "cabeza-desde-1",
            "Esa es la cabeza 3: las cabezas se cuentan desde 0.",
            "02 §10",
        ),
        Wrong(
            lambda: weight(layer=LAYER + 1),
            "otra-capa",
            "Esa es la capa 1: las capas se cuentan desde 0.",
            "02 §10",
        ),
        *(
            Wrong(
                lambda entering=entering: weight(entering=entering),
                "otra-entrada",
                "Has proyectado otros vectores: en la capa 0 entra hidden_states[0], ya normalizado.",
                "02 §8",
            )
            for entering in (
                "token_embeddings",
                "embeddings_with_positional_encoding",
                "contextual_embeddings",
            )
        ),
    ),
    kind="un número entre 0 y 1",
    read="03 §1",
    points=2,
)

SCALING = Scaling()
EXERCISES = (SCALING,)
QUESTIONS = (LONG_QUERIES, BANK)


def check_scaling(function):
    """Comprueba unas puntuaciones escaladas.

    Args:
        function: recibe ``(query, key)``, de formas ``(..., L_q, d_k)`` y ``(..., L_k, d_k)``, y
            devuelve Q·Kᵀ/√d_k, ``(..., L_q, L_k)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SCALING.check(function))
