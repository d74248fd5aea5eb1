"""1.2 · El coseno. Las formas de dar sus pasos están en ``steps.vectors``; aquí, las de las normas."""

import torch

from course_checkers.engine import Case, Stage, show_both, stepping, told
from course_checkers.engine.properties import each_output, gives, gives_nan, laws, not_by_hand, related
from course_checkers.steps import numbers
from course_checkers.steps import vectors as steps
from course_checkers.steps.vectors import both_ways, product_of

step = stepping(steps.KNOWN | told(__file__, "1.2"))
LAWS = laws(__file__, "1.2 propiedades")


def squares(x):
    return (x * x).sum()


DIVISORS = step(
    *product_of(torch.norm),
    ("sin-dividir", lambda a, b: 1.0),
    ("una-sola-norma", *both_ways(lambda a, b: a.norm())),
    ("misma-norma-dos-veces", *both_ways(lambda a, b: squares(a))),
    ("falta-la-raíz", *product_of(squares), *both_ways(lambda a, b: squares(a) * b.norm())),
    ("normas-sumadas", lambda a, b: a.norm() + b.norm()),
    ("cuadrados-sumados", lambda a, b: squares(a) + squares(b)),
    ("cuadrados-sumados", lambda a, b: (squares(a) + squares(b)).sqrt()),
    ("sin-paréntesis", *both_ways(lambda a, b: a.norm() / b.norm())),
    ("por-normas", lambda a, b: 1 / (a.norm() * b.norm())),
    ("raíz-de-las-normas", *product_of(lambda x: x.norm().sqrt())),
    ("longitudes", *product_of(*(lambda x, p=p: len(x) ** p for p in (0.25, 0.5, 1)))),
    ("norma-de-valores-absolutos", *product_of(lambda x: x.abs().sum())),
    ("norma-con-media", *product_of(lambda x: (x * x).mean().sqrt(), lambda x: (x * x).mean())),
    ("norma-del-mayor", *product_of(torch.max, lambda x: x.abs().max())),
    ("norma-de-la-suma", lambda a, b: (a + b).norm()),
    ("norma-de-la-resta", torch.dist),
    ("norma-de-los-productos", lambda a, b: (a * b).norm()),
    ("sumas", *product_of(torch.sum)),
    ("norma-sin-sumar", *product_of(torch.abs)),
)
CASE = steps.VECTORS[0]
A, B = CASE.arguments
PROMISED = [steps.vector_case([3.0, 4.0], b) for b in ([6.0, 8.0], [-4.0, 3.0])]


@each_output(LAWS)
def within_limits(output, a, b):
    if output.abs().max() > 1.0001:
        yield "propiedad-límites", {"yours": show_both(output, 1.0)[0]}


NULL = "con un vector nulo tu salida es NaN, porque 0 / 0 no existe: ese ángulo tampoco."
READY_MADE = "usas cosine_similarity, que ya da el coseno. Prueba también a escribir la cuenta."


class CosineSimilarity(numbers.NumberExercise):
    """Comprueba el coseno del ángulo entre dos vectores.

    Args:
        function: recibe ``(a, b)``, dos tensores de forma ``(n,)``, y devuelve un número entre −1
            y 1: un tensor sin ejes, un número de NumPy o un ``float``.
    """

    number, title, section = "1.2", "el coseno", "01 §3"
    letters = ("n", "n")
    axes = {
        "other": steps.OTHERS,
        "center": step(None, ("resta-la-media", lambda a, b: (a - a.mean(), b - b.mean()))),
        "pair": steps.PAIRS,
        "reduction": steps.REDUCTIONS,
        "divisor": DIVISORS,
        "finish": step(numbers.itself, *steps.ENDINGS, *steps.ANGLES),
        "shape": steps.SHAPES,
    }
    unused = ("center", "pair", "reduction", "divisor")
    stages = (Stage(tuple(axes), steps.VECTORS, most=2),)
    extra, tiny = (*PROMISED, Case("dos vectores iguales", (A, A)), *steps.EXTRA), steps.TINY
    must = (
        *numbers.must(section, lambda a, b: ()),
        within_limits,
        gives(LAWS["propiedad-consigo"], (A, A), torch.tensor(1.0)),
        related(LAWS["propiedad-tamaño"], CASE, (3 * A, B)),
    )
    notes = (gives_nan(NULL, torch.zeros(2), torch.ones(2)), not_by_hand(["cosine_similarity"], READY_MADE))

    def compute(self, choice, a, b):
        chosen = [choice[axis] for axis in ("other", "center", "pair", "reduction", "divisor")]
        if chosen[0]:
            chosen[-1] = None  # quien mide otra cosa no la divide
        return {"output": choice["shape"](choice["finish"](steps.quotient(*chosen, a, b)))}
