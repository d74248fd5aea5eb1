"""Comprueba el producto escalar y el coseno; la tabla de cosenos está en ``cosine_table``.

La familia: {a por b, a más b, a por a…} × {sumar, hacer la media, quedarse con uno…} × {dividir por
las normas, por una sola…} × {dejarlo así, el valor absoluto, el ángulo, redondear…}.
"""

import functools

import torch
from torch.nn import functional as F

from course_lib.checkers.cosine_table import SimilarityMatrix
from course_lib.checkers.family import Case, Stage, same, show
from course_lib.checkers.number_family import ANGLES, ENDINGS, SHAPES, Numbers, itself, step
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, Wrong
from course_lib.checkers.engine.report import Finding

# --- 1.1 El producto escalar ----------------------------------------------------------------------


def part(*limits):
    """La suma de un trozo."""
    return lambda x: x[slice(*limits)].sum(0)


def both_ways(function):
    """Lo mismo con a y b, y con b y a."""
    return function, lambda a, b: function(b, a)


def product_of(norm):
    """Una norma por la otra."""
    return lambda a, b: norm(a) * norm(b)


PAIRS = step(
    torch.mul,
    ("suma-los-números", torch.add),
    ("resta-los-números", *both_ways(torch.sub)),
    ("divide-los-números", *both_ways(torch.div)),
    ("potencia", *both_ways(torch.pow)),
    ("a-consigo", lambda a, b: a * a),
    ("b-consigo", lambda a, b: b * b),
    ("orden-al-revés", *both_ways(lambda a, b: a * b.flip(0))),
    ("lugar-corrido", *both_ways(lambda a, b: a * b.roll(1))),
    ("lugar-corrido", *both_ways(lambda a, b: a[:-1] * b[1:])),
    ("todos-con-todos", lambda a, b: a[:, None] * b, *both_ways(lambda a, b: a.sum() * b)),
    ("todos-con-todos", lambda a, b: torch.outer(a, b).flatten()),
    ("valor-absoluto", lambda a, b: (a * b).abs()),
    ("cuadrado-de-más", lambda a, b: (a * b) ** 2),
    ("trunca", lambda a, b: (a * b).trunc(), lambda a, b: a.trunc() * b.trunc()),
)
REDUCTIONS = step(
    torch.sum,
    ("sin-sumar", itself),
    ("suma-a-medias", lambda x: x.cumsum(0)),
    ("media", torch.mean),
    ("multiplica-todo", torch.prod),
    ("solo-el-mayor", torch.max),
    ("solo-el-menor", torch.min),
    ("solo-el-primero", lambda x: x[0]),
    ("solo-el-último", lambda x: x[-1]),
    ("falta-el-primero", part(1, None)),
    ("falta-el-último", part(-1)),
    ("faltan-los-extremos", part(1, -1)),
    ("primero-dos-veces", lambda x: x.sum() + x[0]),
    ("solo-dos", part(2)),
    ("solo-tres", part(3)),
    ("de-dos-en-dos", part(0, None, 2), part(1, None, 2)),
)
DOT_DIVISORS = step(
    lambda a, b: 1.0,
    ("divide-por-normas", product_of(torch.norm)),
    ("divide-por-una-norma", *both_ways(lambda a, b: a.norm())),
    ("divide-por-raíz", lambda a, b: len(a) ** 0.5),
    ("media", lambda a, b: len(a)),
    ("por-normas", lambda a, b: 1 / (a.norm() * b.norm())),
)
OTHERS = step(
    None,
    ("distancia", torch.dist, lambda a, b: torch.dist(a, b) ** 2),
    ("distancia", lambda a, b: torch.dist(a, b, 1), lambda a, b: 1 / (1 + torch.dist(a, b))),
    ("solo-normas", product_of(torch.norm)),
)


def as_they_are(a, b):
    return a, b


def vector_case(a, b):
    a, b = torch.tensor(a), torch.tensor(b)
    return Case(f"a = {show(a)} y b = {show(b)}", (a, b))


VECTORS = (
    vector_case([1.5, -2.0, 2.0], [2.0, 1.2, -1.0]),
    vector_case([-1.31, 2.47], [0.83, 1.92]),
    vector_case([1.27, -0.64, 2.15, 1.71, -3.42], [0.36, 1.83, 2.61, -1.18, -0.52]),
    vector_case([1.73, 0.42, 2.91, 1.16], [2.34, 1.57, 0.68, 1.91]),
    vector_case([-2.13, 1.48, 0.77, -1.36, 2.82, 0.31], [1.94, 2.23, -0.58, 1.67, -1.41, 3.12]),
    vector_case([0.137, 0.218, -0.353], [0.236, 0.192, 0.207]),
    vector_case([1.0, -3.0, 2.0, 1.0, 1.0], [-2.0, 6.0, -4.0, -2.0, -2.0]),  # coseno −1, exacto
)
TINY = (
    vector_case([2.0], [3.0]),
    vector_case([1.0, 2.0], [3.0, 5.0]),
    vector_case([1.0, -2.0], [3.0, 5.0]),
    vector_case([1.0, 2.0, 2.0], [3.0, 0.0, 4.0]),
)


@functools.lru_cache(maxsize=16384)  # las mismas pruebas, para todo el mundo
def quotient(other, center, pair, reduction, divisor, a, b):
    a, b = center(a, b)
    return (other(a, b) if other else reduction(pair(a, b))) / divisor(a, b)


class DotProduct(Numbers):
    """a, b → Σ aᵢ·bᵢ."""

    number, title, points = "1.1", "el producto escalar", 2
    names, where = ("a", "b"), "01 §1"
    axes = {
        "other": OTHERS,
        "pair": PAIRS,
        "reduction": REDUCTIONS,
        "divisor": DOT_DIVISORS,
        "finish": step(itself, *ENDINGS),
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), VECTORS),)
    tiny = TINY

    def compute(self, choice, a, b):
        chosen = (choice[axis] for axis in ("pair", "reduction", "divisor"))
        total = quotient(choice["other"], as_they_are, *chosen, a, b)
        return {"output": choice["shape"](choice["finish"](total))}

    def laws(self, learner, seen):
        a, b = VECTORS[0].arguments
        one, other, double = (self.ask(learner, *x) for x in ((a, b), (b, a), (2 * a, b)))
        if None in (one, other, double):
            return
        if not same(one, other):
            story = f"Con {VECTORS[0].name} da {show(one)} y, cambiados, {show(other)}."
            yield Finding("propiedad-orden", "a·b y b·a tienen que ser iguales.", story, "01 §5")
        if not same(2 * one, double):
            story = (
                f"Con {VECTORS[0].name} da {show(one)} y, con a el doble de largo, {show(double)}."
            )
            yield Finding(
                "propiedad-doble", "Si a es el doble de largo, a·b es el doble.", story, "01 §3"
            )


# --- 1.2 El coseno --------------------------------------------------------------------------------


def squares(x):
    return (x * x).sum()


def root_mean(x):
    return (x * x).mean().sqrt()


DIVISORS = step(
    product_of(torch.norm),
    ("sin-dividir", lambda a, b: 1.0),
    ("una-sola-norma", *both_ways(lambda a, b: a.norm())),
    ("misma-norma-dos-veces", *both_ways(lambda a, b: squares(a))),
    ("falta-la-raíz", product_of(squares), *both_ways(lambda a, b: squares(a) * b.norm())),
    ("normas-sumadas", lambda a, b: a.norm() + b.norm()),
    ("cuadrados-sumados", lambda a, b: squares(a) + squares(b)),
    ("cuadrados-sumados", lambda a, b: (squares(a) + squares(b)).sqrt()),
    ("sin-paréntesis", *both_ways(lambda a, b: a.norm() / b.norm())),
    ("por-normas", lambda a, b: 1 / (a.norm() * b.norm())),
    ("raíz-de-las-normas", product_of(lambda x: x.norm().sqrt())),
    ("longitudes", *(product_of(lambda x, p=p: len(x) ** p) for p in (0.25, 0.5, 1))),
    ("norma-de-valores-absolutos", product_of(lambda x: x.abs().sum())),
    ("norma-con-media", product_of(root_mean), product_of(lambda x: root_mean(x) ** 2)),
    ("norma-del-mayor", product_of(torch.max), product_of(lambda x: x.abs().max())),
    ("norma-de-la-suma", lambda a, b: (a + b).norm()),
    ("norma-de-la-resta", torch.dist),
    ("norma-de-los-productos", lambda a, b: (a * b).norm()),
    ("sumas", product_of(torch.sum)),
    ("norma-sin-sumar", product_of(torch.abs)),
)
CENTERS = step(as_they_are, ("resta-la-media", lambda a, b: (a - a.mean(), b - b.mean())))


class CosineSimilarity(Numbers):
    """a, b → a·b / (‖a‖·‖b‖)."""

    number, title, points = "1.2", "el coseno", 2
    names, where = ("a", "b"), "01 §3"
    axes = {
        "other": OTHERS,
        "center": CENTERS,
        "pair": PAIRS,
        "reduction": REDUCTIONS,
        "divisor": DIVISORS,
        "finish": step(itself, *ENDINGS, *ANGLES),
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), VECTORS),)
    tiny = TINY

    def compute(self, choice, a, b):
        chosen = [choice[axis] for axis in ("other", "center", "pair", "reduction", "divisor")]
        if chosen[0] and chosen[-1] is DIVISORS[0].value:
            chosen[-1] = DOT_DIVISORS[0].value  # quien mide otra cosa no la divide
        return {"output": choice["shape"](choice["finish"](quotient(*chosen, a, b)))}

    def laws(self, learner, seen):
        a, b = VECTORS[0].arguments
        one, long, itself = (self.ask(learner, *x) for x in ((a, b), (3 * a, b), (a, a)))
        if None in (one, long, itself):
            return
        for case, output in seen.items():
            if isinstance(output, torch.Tensor) and output.abs().max() > 1.0001:
                story = f"Con {case.name}, tu salida vale {show(output)}."
                yield Finding(
                    "propiedad-límites", "Un coseno está siempre entre −1 y 1.", story, "01 §3"
                )
                return
        if not same(itself, torch.tensor(1.0)):
            story = f"Con a = b = {show(a)}, tu salida vale {show(itself)}."
            yield Finding(
                "propiedad-consigo", "El coseno de un vector consigo mismo es 1.", story, "01 §6"
            )
        if not same(one, long):
            story = (
                f"Con {VECTORS[0].name} da {show(one)} y, con a el triple de largo, {show(long)}."
            )
            yield Finding(
                "propiedad-tamaño",
                "El coseno olvida el tamaño, y el tuyo cambia con él.",
                story,
                "01 §4",
            )

    def notes(self, learner, seen):
        value = self.ask(learner, torch.zeros(2), torch.ones(2))
        if value is not None and value.isnan().any():
            yield "con un vector nulo tu salida es NaN, porque 0 / 0 no existe: ese ángulo tampoco."


# --- 1.4 ¿Quién se parece a «the»? ----------------------------------------------------------------
HUNGRY = "I gave the dog a bone because it was hungry"


def nearest(vectors="contextual_embeddings", cosines=True, itself=False, least=False):
    """El token de la frase que gana en la fila de «the»."""
    from course_lib import extract_embeddings

    embeddings = extract_embeddings(HUNGRY)
    tokens, X = embeddings.tokens[0], getattr(embeddings, vectors)[0]
    row = tokens.index("the")
    values = F.normalize(X, dim=-1) @ F.normalize(X[row], dim=0) if cosines else X @ X[row]
    if not itself:
        values[row] = torch.inf if least else -torch.inf
    return tokens[int(values.argmin() if least else values.argmax())]


NEAREST = Question(
    "1.4",
    "el más parecido a «the»",
    nearest,
    (
        Wrong(
            lambda: nearest(itself=True),
            "él-mismo",
            "El coseno de un token consigo mismo es siempre 1. Busca el mayor de los demás.",
            "01 §6",
        ),
        Wrong(
            lambda: nearest(cosines=False),
            "gana-en-producto",
            "Ese gana en producto escalar, porque su vector es largo. Con cosenos gana otro.",
            "01 §4",
        ),
        Wrong(
            lambda: nearest("token_embeddings"),
            "gana-en-la-tabla",
            "Ese gana con los vectores de la tabla, que no han leído la frase. Usa los contextuales.",
            "01 §8",
        ),
        Wrong(
            lambda: nearest(least=True),
            "el-menos-parecido",
            "Ese es el que menos se le parece: tiene el coseno más bajo.",
            "01 §3",
        ),
    ),
    kind="un token de la frase, entre comillas",
    read="01 §7",
)

DOT_PRODUCT, COSINE, SIMILARITY = DotProduct(), CosineSimilarity(), SimilarityMatrix()
EXERCISES = (DOT_PRODUCT, COSINE, SIMILARITY)
QUESTIONS = (NEAREST,)


def check_dot_product(function):
    """Comprueba un producto escalar.

    Args:
        function: recibe ``(a, b)``, dos tensores de forma ``(n,)``, y devuelve un número: un tensor
            sin ejes, un número de NumPy o un ``float``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(DOT_PRODUCT.check(function))


def check_cosine_similarity(function):
    """Comprueba el coseno del ángulo entre dos vectores.

    Args:
        function: recibe ``(a, b)``, dos tensores de forma ``(n,)``, y devuelve un número entre −1
            y 1: un tensor sin ejes, un número de NumPy o un ``float``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(COSINE.check(function))


def check_similarity_matrix(function):
    """Comprueba la tabla de cosenos de una frase.

    Args:
        function: recibe ``X``, un tensor de forma ``(L, d)`` con un token por fila, y devuelve otro
            de forma ``(L, L)``: en la fila i y la columna j, el coseno de los tokens i y j.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(SIMILARITY.check(function))
