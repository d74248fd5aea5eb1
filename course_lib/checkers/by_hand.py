"""Comprueba las cuentas a mano de la lección 07: una ecuación de ``einsum`` y la multi-cabeza entera.

La ecuación no se prueba: se lee. Dos ecuaciones con las mismas letras en los mismos sitios hacen la
misma cuenta, se llamen como se llamen las letras.
"""

import functools
import math
from string import ascii_letters

import torch

from course_lib.checkers import head_family as family
from course_lib.checkers.legacy_attention import Attention
from course_lib.checkers.family import Exercise, Mistake, Option, Stage, show
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding

# --- 7.1: la ecuación -----------------------------------------------------------------------------

AXES = ("B", "L_q", "h", "d_k"), ("B", "L_k", "h", "d_k")
OUTPUT = ("B", "h", "L_q", "L_k")
SIZES = {"B": 2, "h": 4, "L_q": 3, "L_k": 6, "d_k": 5}
READ = "07 §3"
EQUATION = {
    "como-si-traspuestas": (
        "Has escrito las letras como si las cabezas fueran delante, (B, h, L, d_k), y aquí entran como las "
        "deja view: (B, L, h, d_k).",
        "07 §5.3",
    ),
    "frases-cruzadas": (
        "El lote lleva letras distintas en Q y en K: cada frase se multiplica con todas. Es la misma letra.",
        "07 §5.4",
    ),
    "cabezas-cruzadas": (
        "Las cabezas llevan letras distintas en Q y en K: cada cabeza se multiplica con todas. Es la misma letra.",
        "07 §5",
    ),
    "d_k-con-dos-letras": (
        "El eje d_k lleva letras distintas en Q y en K: no se multiplica número a número. Es la misma letra.",
        READ,
    ),
    "tokens-con-una-letra": (
        "Los tokens de Q y los de K llevan la misma letra: solo se compararía cada token consigo mismo. Son dos "
        "letras.",
        "07 §4",
    ),
    "letra-de-otro-eje": ("Una letra nombra en Q un eje y en K otro distinto.", READ),
    "d_k-en-la-salida": ("El eje d_k está en la salida, así que no se suma: quita su letra.", READ),
    "suma-de-más": ("Falta una letra en la salida, y ese eje se suma.", READ),
    "salida-traspuesta": ("La salida está traspuesta: las filas son las queries y las columnas, las keys.", "07 §4"),
    "orden-de-la-salida": ("La salida tiene los ejes en otro orden, y es (B, h, L_q, L_k).", READ),
    "sin-flecha": (
        "Falta la flecha con la salida: sin ella, einsum deja las letras que salen una vez, por orden alfabético.",
        READ,
    ),
}  # fmt: skip


class Unreadable(Exception):
    """Lo que hay escrito no es una ecuación para estos dos tensores."""


def letters_of(text):
    """Las letras de cada tensor, las de la salida y si hay flecha, o ``Unreadable`` con lo que falla."""
    tidy = "".join(text.split()).replace("→", "->").replace("...", ".")
    left, arrow, output = tidy.partition("->")
    operands = left.split(",")
    if len(operands) != 2:
        raise Unreadable(f"Entran dos tensores, separados por una coma, y hay {len(operands)}.")
    if strange := [c for c in left + output if c not in ascii_letters + ",."]:
        raise Unreadable(f"«{strange[0]}» no es una letra sin tilde.")
    if not arrow:
        alone = sorted(c for c in left if left.count(c) == 1 and c not in ",.")
        output = "." * ("." in left) + "".join(alone)
    # Los puntos suspensivos son los ejes que no tienen letra, contados desde la derecha.
    hidden = [5 - len(part) if "." in part else 0 for part in operands]
    most = max(*hidden, 0)
    operands = [part.replace(".", "0123"[most - n : most]) for part, n in zip(operands, hidden)]
    output = output.replace(".", "0123"[:most])
    for name, letters in zip(("Q", "K"), operands):
        if len(letters) != 4:
            raise Unreadable(
                f"{name} tiene 4 ejes y le has puesto {len(letters)} letras: «{letters}»."
            )
        if len(set(letters)) < 4:
            raise Unreadable(f"{name} repite una letra, «{letters}»: cada eje tiene la suya.")
    query, key = operands
    for letter in output:
        if letter not in query + key:
            raise Unreadable(f"La salida tiene la letra «{letter}», que no está en ningún tensor.")
        if output.count(letter) > 1 and not letter == query[1] == key[1]:
            raise Unreadable(f"La salida repite la letra «{letter}».")
    return query, key, output, bool(arrow)


class Einsum(Exercise):
    """Q (B, L_q, h, d_k) y K (B, L_k, h, d_k) → puntuaciones (B, h, L_q, L_k)."""

    number, title, points = "7.1", "las puntuaciones, con einsum", 2
    names = ("query", "key")

    def check(self, learner):
        if (
            learner is None
            or learner is ...
            or isinstance(learner, str)
            and not learner.strip(" .,->_")
        ):
            return self.report(unsolved=True)
        if not isinstance(learner, str):
            text = (
                f"Esperaba una ecuación, entre comillas, y esto es un «{type(learner).__name__}»."
            )
            return self.report([Finding("no-es-texto", text)])
        try:
            query, key, output, arrow = letters_of(learner)
        except Unreadable as problem:
            return self.report([Finding("ecuación-ilegible", str(problem), read=READ)])
        return self.report(self.findings(query, key, output, arrow))

    def findings(self, query, key, output, arrow):
        story = self.story(query, key, output)
        wrong = list(self.faults(query, key, output))
        if wrong and not arrow:
            wrong.insert(0, ("sin-flecha", ""))
        for position, (name, detail) in enumerate(wrong):
            text, read = EQUATION[name]
            yield Finding(
                name, " ".join(filter(None, (text, detail))), story if not position else "", read
            )

    def faults(self, query, key, output):
        """Los errores de unas letras, uno a uno."""
        heads_first = query[:2] == key[:2] and query[3] == key[3] and query[2] != key[2]
        if heads_first and set(output) == set(query[:3] + key[2]):
            yield "como-si-traspuestas", ""
            if output == query[:2] + key[2] + query[2]:
                yield "salida-traspuesta", ""
            return
        meaning = {}  # letra → los ejes que nombra
        for axis, letter in zip((*AXES[0], *AXES[1]), query + key):
            meaning.setdefault(letter, []).append(axis)
        crossed = [letter for letter, axes in meaning.items() if len(set(axes)) > 1]
        tokens = [letter for letter in crossed if set(meaning[letter]) == {"L_q", "L_k"}]
        if tokens:
            yield "tokens-con-una-letra", f"Es la «{tokens[0]}»."
        for letter in crossed:
            if letter not in tokens:
                first, second = meaning[letter]
                yield "letra-de-otro-eje", f"La «{letter}» es {first} en Q y {second} en K."
        if any(letter not in tokens for letter in crossed):
            return  # los demás nombres ya no dicen nada
        for name, position in (
            ("frases-cruzadas", 0),
            ("cabezas-cruzadas", 2),
            ("d_k-con-dos-letras", 3),
        ):
            if query[position] != key[position]:
                yield name, f"Ahora son la «{query[position]}» y la «{key[position]}»."
        yield from self.output_faults(query, key, output)

    def output_faults(self, query, key, output):
        """Los errores de la salida: lo que sobra, lo que falta y el orden."""
        if query[3] in output or key[3] in output:
            yield "d_k-en-la-salida", ""
        wanted = (query[0], query[2], query[1], key[1])
        named = dict(zip(wanted, OUTPUT))
        missing = [axis for letter, axis in named.items() if letter not in output]
        if missing:
            yield "suma-de-más", f"Falta la de {' y la de '.join(missing)}."
            return
        order = [letter for letter in output if letter in wanted]
        if order in (list(wanted), list(dict.fromkeys(wanted))):
            return
        if order == [query[0], query[2], key[1], query[1]]:
            yield "salida-traspuesta", ""
        else:
            yield "orden-de-la-salida", f"La tuya es ({', '.join(named[c] for c in order)})."

    @staticmethod
    def story(query, key, output):
        """Qué forma da esta ecuación con unos tensores de prueba."""
        shapes = [tuple(SIZES[axis] for axis in axes) for axes in AXES]
        sizes = {}
        for letter, size in zip(query + key, (*shapes[0], *shapes[1])):
            sizes.setdefault(letter, set()).add(size)
        clash = next((letter for letter, found in sizes.items() if len(found) > 1), None)
        given = f"Con Q de forma {shapes[0]} y K de forma {shapes[1]}"
        right = tuple(SIZES[axis] for axis in OUTPUT)
        if clash:
            low, high = sorted(sizes[clash])
            return f"{given}, einsum se para: la «{clash}» no puede medir {low} y {high}."
        shape = tuple(next(iter(sizes[letter])) for letter in output)
        if shape == right:
            return f"{given}, la forma es la buena, {right}, y los números no."
        return f"{given}, tu salida mide {shape} y tenía que medir {right}."

    def mistake_ids(self):
        return set(EQUATION)


# --- 7.2: la multi-cabeza a mano ------------------------------------------------------------------

KINDS = {
    "none": ("sin-proyectar", "Falta proyectar: {roles}."),
    "twice": ("proyecta-dos-veces", "Proyectas dos veces: {roles}."),
    "turned": (
        "matriz-traspuesta",
        "Multiplicas por la matriz traspuesta al proyectar: {roles}. Aquí es x @ W, sin trasponer.",
        "07 §4",
    ),
    "viewed": (
        "matriz-repartida-con-view",
        "Repartes la matriz con view(h, d_model, d_k) al proyectar: {roles}. A cada cabeza le tocan d_k "
        "columnas: view(d_model, h, d_k).",
        "07 §5.2",
    ),
    "sliced": (
        "reparte-antes",
        "Repartes x antes de proyectar: {roles}. Cada cabeza proyecta las d_model dimensiones, y no "
        "solo su trozo.",
        "07 §6.1",
    ),
    "shared": (
        "reparte-antes-y-comparte",
        "Repartes x antes de proyectar, y todas las cabezas usan el mismo bloque de la matriz: {roles}. "
        "Cada cabeza proyecta las d_model dimensiones, con sus columnas.",
        "07 §6.1",
    ),
}
PIECES = [
    Option(False),
    *(Option(how, family.kind_mistake(how, family.ROLES, KINDS)) for how in ("sliced", "shared")),
]
BY_HEADS = ("matriz-repartida-con-view", "reparte-antes", "reparte-antes-y-comparte")
PAIR_OPTIONS, VALUE_PROJECTIONS = family.projection_options(tuple(KINDS), KINDS)
# Con una sola entrada, cambiar Q y K de sitio y cambiar sus matrices es lo mismo.
NAMES = KINDS | {
    "swapped": (
        "query-key-cambiadas",
        "Los papeles de la query y la key están cambiados: W_Q es de la que pregunta, en las filas, y W_K, "
        "de la que responde.",
    )
}
TOGETHER = Mistake(
    "frases-juntas",
    "Las frases del lote se miran entre sí: has puesto todos los tokens en una sola fila.",
    "07 §5.4",
)
ACROSS = Mistake(
    "lote-por-tokens",
    "Se atienden las frases entre sí, token a token: los tokens son el segundo eje.",
    "07 §5.4",
)
OUTPUT_OPTIONS = [
    Option("own"),
    Option("none", Mistake("sin-W_O", "Falta la última proyección, W_O.", "07 §5.2")),
    Option("twice", Mistake("W_O-dos-veces", "Multiplicas por W_O dos veces.", "07 §5.2")),
    Option(
        "turned",
        Mistake(
            "W_O-traspuesta",
            "Multiplicas por W_O traspuesta: es concat @ W_O, sin trasponer.",
            "07 §4",
        ),
    ),
    *(
        Option(
            role,
            Mistake(
                "W_O-es-otra",
                f"La última proyección es {family.LETTER[role]}, y es W_O.",
                "07 §5.2",
            ),
        )
        for role in family.ROLES
    ),
    Option(
        "residual",
        Mistake("suma-la-entrada", "Sumas x a la salida: la conexión residual va fuera.", "06 §2"),
    ),
]


def case(name, seed, batch, length, width, heads):
    generator = torch.Generator().manual_seed(seed)
    matrices = (torch.randn(width, width, generator=generator) * 1.2 / width**0.5 for _ in range(4))
    x = torch.randn(batch, length, width, generator=generator)
    return family.HeadsCase(name, (x, *matrices, heads), heads=heads, width=width)


def tiny(x, width, heads):
    one = torch.eye(width)
    return family.HeadsCase(
        "", (torch.tensor(x), one, one, one, one, heads), heads=heads, width=width
    )


MEASURED = {
    "una-sola-proyección",
    "query-key-cambiadas",
    "escala-fija",
    "escala-de-más",
    "escala-otra",
}
ONE = case("una frase de un token y una cabeza", 1, 1, 1, 6, 1)
SINGLE = case("2 frases de 3 tokens y una sola cabeza", 2, 2, 3, 6, 1)
WIDE = (
    case("2 frases de 5 tokens y 4 cabezas", 3, 2, 5, 12, 4),
    case("una frase de 8 tokens y 4 cabezas", 4, 1, 8, 12, 4),
    case("3 frases de 4 tokens y 4 cabezas", 5, 3, 4, 12, 4),
    case("2 frases de 3 tokens y 2 cabezas", 6, 2, 3, 10, 2),
)
LARGE = case("números muy grandes", 7, 2, 3, 6, 1)
LARGE.arguments[0].mul_(60.0)


class ByHand(family.HeadsExercise):
    """x, cuatro matrices y ``heads`` → la autoatención multi-cabeza, sin módulos."""

    number, title, points = "7.2", "la multi-cabeza, sin módulos", 4
    names = ("x", "W_Q", "W_K", "W_V", "W_O", "heads")
    kinds = NAMES
    axes = family.HeadsExercise.axes | {
        "order": [Option(False)],
        "projections": PAIR_OPTIONS,
        "project_v": VALUE_PROJECTIONS,
        "value": [
            o for o in family.VALUE_OPTIONS if not o.mistake or "por-value" not in o.mistake.id
        ],
        "output": OUTPUT_OPTIONS,
        "batch": [Option(False), Option("together", TOGETHER), Option("across", ACROSS)],
        "pieces": PIECES,
    }
    stages = (
        Stage(("project_v", "output", "value", "softmax", "scale", "merge"), (ONE,)),
        Stage(
            (
                "projections",
                "order",
                "batch",
                "split",
                "scale",
                "softmax",
                "extra",
                "value",
                "merge",
            ),
            (SINGLE,),
        ),
        Stage(("split", "merge", "scale", "value", "projections", "project_v", "pieces"), WIDE),
        Stage(("naive",), (LARGE,)),
    )
    narrow = {
        (0, "split"): ("h-y-d_k-cambiados",),
        (0, "merge"): ("sin-juntar", "concat-otro-eje", "media-de-cabezas", "suma-de-cabezas"),
        (1, "split"): ("falta-trasponer", "h-y-d_k-cambiados", "traspone-antes-de-repartir"),
        (2, "projections"): BY_HEADS,
        (2, "project_v"): BY_HEADS,
    }
    wider = {
        0: ("project_v", "projections", "split", "merge", "output", "value"),
        2: ("projections", "merge", "scale", "softmax"),
    }
    styles = {1: ("scale",), 2: ("merge", "scale")}
    tiny = (
        tiny([[[2.0]]], 1, 1),
        tiny([[[0.0], [1.0]]], 1, 1),
        tiny([[[0.0, 1.0], [2.0, 0.0]]], 2, 2),
    )

    def projected(self, case, role, source, how, batch):
        x = case.arguments[0]
        x = (
            x.reshape(1, -1, case.width)
            if batch == "together"
            else x.transpose(0, 1)
            if batch
            else x
        )
        return self.project(case, how if how in family.ROLES else role, x, how)

    def project(self, case, role, x, how):
        matrix = case.arguments[1 + (*family.ROLES, "output").index(role)]
        if how == "none":
            return x
        if how == "twice":
            return x @ matrix @ matrix
        if how == "turned":
            return x @ matrix.T
        if how == "viewed":
            matrix = (
                matrix.reshape(case.heads, case.width, -1).transpose(0, 1).reshape(matrix.shape)
            )
        if how in ("sliced", "shared"):
            d_k = case.width // case.heads
            blocks = [matrix[i : i + d_k, i : i + d_k] for i in range(0, case.width, d_k)]
            matrix = torch.block_diag(*(blocks[:1] * case.heads if how == "shared" else blocks))
        return x @ matrix

    def compute(self, choice, case):
        x, batch, how = case.arguments[0], choice["batch"], choice["output"]
        if pieces := choice["pieces"]:
            choice = choice | {"projections": (pieces, pieces), "project_v": pieces}
        traced = self.attend(choice, case)
        output = self.project(case, how if how in family.ROLES else "output", traced["concat"], how)
        output = output.transpose(0, 1) if batch == "across" else output
        output = output.reshape(x.shape) if batch == "together" else output
        return traced | {"output": output + x if how == "residual" else output}

    def expects_tuple(self, value):
        return len(value) in (1, 2)

    def main(self, value, case):
        """La salida; si además se devuelven los pesos, lo primero."""
        if not isinstance(value, tuple):
            return value
        first, second = (*value, None)[:2]
        shape = case.arguments[0].shape
        return second if second is not None and second.shape == shape != first.shape else first

    def mistake_ids(self):
        return super().mistake_ids() | MEASURED

    def extra_options(self, learner):
        """El divisor de quien aprende, medido, si no es ninguno de los de siempre."""
        found = Attention.found_scale(self, learner)
        options = [
            Option((lambda q, k, _, f=o.value: f(q, k, None), False), o.mistake) for o in found
        ]
        return {"scale": options}

    def measure(self, learner, d_k):
        """Por cuánto se dividen las puntuaciones: con dos tokens, se lee en la salida."""
        x, one = torch.zeros(1, 2, d_k), torch.eye(d_k)
        x[0, 0, 0] = 1.0
        output = self.again(learner, x, (one, one, one, one, 1))
        weight = None if output is None else float(output[0, 0, 0])
        inside = weight is not None and 0.500001 < weight < 0.999999
        return 1 / math.log(weight / (1 - weight)) if inside else None

    def properties(self, learner, seen):
        """Lo que tiene que cumplir cualquier autoatención multi-cabeza."""
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            x = case.arguments[0]
            if output.shape != x.shape:
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {tuple(x.shape)}."
                yield Finding(
                    "propiedad-forma",
                    "La forma de tu salida no es (B, L, d_model).",
                    story,
                    "07 §5.2",
                )
                return
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                story = f"Con {case.name}, {bad} de {output.numel()} son NaN o ∞."
                yield Finding(
                    "propiedad-finita",
                    "Tu salida tiene números que no son finitos.",
                    story,
                    "05 §2",
                )
                return
        x, *others = WIDE[0].arguments
        base = self.again(learner, x, others)
        other = self.again(learner, torch.cat([x[:1], x[1:] + 1.0]), others)
        if base is None or other is None:
            return
        if not torch.allclose(base[0], other[0], atol=1e-4):
            text = "Las frases del lote se mezclan, y cada una va por su lado."
            moved = show((base[0] - other[0]).abs().max())
            story = (
                f"Al cambiar la segunda frase de un lote, la salida de la primera se mueve {moved}."
            )
            yield Finding("propiedad-lote", text, story, "07 §5.4")
        turned = self.again(learner, x.flip(1), others)
        if turned is not None and not torch.allclose(turned.flip(1), base, atol=1e-4):
            text = "El orden de los tokens no puede importar: si los das al revés, salen los mismos vectores al revés."
            moved = show((turned.flip(1) - base).abs().max())
            yield Finding(
                "propiedad-orden", text, f"Con {WIDE[0].name}, se mueven {moved}.", "05 §4"
            )

    def again(self, learner, x, others):
        outcome = self.call(learner, x.clone(), *others)
        value = outcome.value
        value = value[0] if isinstance(value, tuple) and value else value
        return (
            value.detach() if isinstance(value, torch.Tensor) and value.shape == x.shape else None
        )


# --- 7.3 y 7.4: preguntas -------------------------------------------------------------------------

HEADS, WIDTH = 8, 512
SENTENCES = [
    "I gave the dog a bone because it was hungry",
    "I gave the dog a bone because it was old",
]
LAYER, HEAD = 3, 8


def parameters(width):
    """Los de las tres capas de entrada, sin sesgo, contados de verdad."""
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(3)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


RATIO = Question(
    "7.3",
    "cuántas veces menos",
    lambda: parameters(WIDTH) / parameters(WIDTH // HEADS),
    wrong=(
        Wrong(
            lambda: HEADS,
            "solo-un-factor",
            "Hay dos factores: la matriz pequeña tiene h veces menos filas y h veces menos columnas.",
        ),
        Wrong(lambda: 4, "los-de-la-lección", "Eso es con 2 cabezas, como en el apartado 6.1; aquí hay 8."),
        Wrong(lambda: 1, "los-mismos", "No son los mismos: se guarda un solo bloque, y el resto son ceros."),
        Wrong(
            lambda: (parameters(WIDTH) + WIDTH**2) / (parameters(WIDTH // HEADS) + WIDTH**2),
            "con-W_O",
            "Has contado también W_O, que no cambia: son las tres capas de entrada.",
        ),
        Wrong(
            lambda: 3 * HEADS**2, "por-tres", "Las tres capas se encogen lo mismo: el cociente no se multiplica por 3."
        ),
        Wrong(
            lambda: 1 / HEADS**2,
            "al-revés",
            "Es la parte que queda: la pregunta es cuántas veces menos, un número mayor que 1.",
        ),
    ),
    read="07 §6.1",
)  # fmt: skip


@functools.cache
def bert_weights(divisor=None, dim=-1):
    """Los pesos de la capa 3 de BERT, calculados a mano con las dos frases."""
    from course_lib import encoder_from_bert, extract_embeddings, load_bert

    x = extract_embeddings(SENTENCES).hidden_states[LAYER]
    layer = encoder_from_bert(load_bert()).encoder.encoder_layers[LAYER].multi_head_attention
    with torch.no_grad():
        q, k = (
            f(x).unflatten(-1, (12, 32)) for f in (layer.query_projection, layer.key_projection)
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    return torch.softmax(scores / (divisor or math.sqrt(32)), dim=dim)


def from_it_to_bone(weights, sentence=1, head=HEAD, turned=False):
    from course_lib import extract_embeddings

    tokens = extract_embeddings(SENTENCES).tokens[sentence]
    places = tokens.index("it"), tokens.index("bone")
    return float(weights[(sentence, head, *(places[::-1] if turned else places))])


WEIGHT = Question(
    "7.4",
    "un peso de BERT, a mano",
    lambda: from_it_to_bone(bert_weights()),
    wrong=(
        Wrong(
            lambda: from_it_to_bone(bert_weights(), sentence=0),
            "primera-frase",
            "Ese es el de la primera frase del lote: la segunda es la número 1.",
            "07 §8",
        ),
        Wrong(
            lambda: from_it_to_bone(bert_weights(), head=HEAD - 1),
            "cabeza-desde-1",
            "Ese es el de la cabeza 7: las cabezas se cuentan desde 0.",
            "07 §8",
        ),
        Wrong(
            lambda: from_it_to_bone(bert_weights(), turned=True),
            "de-bone-a-it",
            "Ese es el que da bone a it: las filas son las queries, las que preguntan.",
            "07 §4",
        ),
        Wrong(
            lambda: from_it_to_bone(bert_weights(math.sqrt(384))),
            "escala-√d_model",
            "Has dividido por √384, y cada cabeza mide 32.",
            "07 §8.1",
        ),
        Wrong(lambda: from_it_to_bone(bert_weights(1.0)), "sin-escala", "Te falta dividir por √32.", "07 §7"),
        Wrong(lambda: from_it_to_bone(bert_weights(32.0)), "escala-d_k", "Has dividido por 32, y es por √32.", "07 §7"),
        Wrong(
            lambda: from_it_to_bone(bert_weights(dim=-2)),
            "softmax-queries",
            "Has hecho la softmax sobre las queries: es sobre las keys, el último eje.",
            "07 §4",
        ),
    ),
    kind="un número entre 0 y 1",
    tolerance=0.01,
    read="07 §8",
)  # fmt: skip

EINSUM, BY_HAND = Einsum(), ByHand()
EXERCISES = (EINSUM, BY_HAND)
QUESTIONS = (RATIO, WEIGHT)


def check_einsum(equation):
    """Comprueba la ecuación de ``einsum`` que da las puntuaciones de cada cabeza.

    Args:
        equation: un texto como ``"ij,jk->ik"``, para Q ``(B, L_q, h, d_k)`` y K ``(B, L_k, h, d_k)``.
            Las letras, las que quieras. La salida es ``(B, h, L_q, L_k)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(EINSUM.check(equation))


def check_attention_by_hand(function):
    """Comprueba una autoatención multi-cabeza escrita con matrices, sin módulos.

    Args:
        function: recibe ``(x, W_Q, W_K, W_V, W_O, heads)``: ``x`` es ``(B, L, d_model)``; cada matriz,
            ``(d_model, d_model)``, que multiplica como ``x @ W``; ``heads`` divide a ``d_model``.
            Devuelve la salida ``(B, L, d_model)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(BY_HAND.check(function))
