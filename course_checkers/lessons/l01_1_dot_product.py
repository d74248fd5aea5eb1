"""1.1 · El producto escalar. Las formas de dar sus pasos están en ``steps.vectors``."""

from course_checkers.engine import Stage, laws, related, stepping, told
from course_checkers.steps import numbers
from course_checkers.steps import vectors as steps

step = stepping(steps.KNOWN | told(__file__, "1.1"))
LAWS = laws(__file__, "1.1 propiedades")
CASE = steps.VECTORS[0]
A, B = CASE.arguments


class DotProduct(numbers.NumberExercise):
    """Comprueba un producto escalar.

    Args:
        function: recibe ``(a, b)``, dos tensores de forma ``(n,)``, y devuelve un número: un tensor
            sin ejes, un número de NumPy o un ``float``.
    """

    number, title, section = "1.1", "el producto escalar", "01 §1"
    letters = ("n", "n")
    axes = {
        "other": steps.OTHERS,
        "pair": steps.PAIRS,
        "reduction": steps.REDUCTIONS,
        "divisor": step(
            None,
            ("divide-por-normas", lambda a, b: a.norm() * b.norm()),
            ("divide-por-una-norma", *steps.both_ways(lambda a, b: a.norm())),
            ("divide-por-raíz", lambda a, b: len(a) ** 0.5),
            ("media", lambda a, b: len(a)),
            ("por-normas", lambda a, b: 1 / (a.norm() * b.norm())),
        ),
        "finish": step(numbers.itself, *steps.ENDINGS),
        "shape": steps.SHAPES,
    }
    unused = ("pair", "reduction", "divisor")
    stages = (Stage(tuple(axes), steps.VECTORS, most=2),)
    extra, tiny = steps.EXTRA, steps.TINY
    must = (
        *numbers.must(section, lambda a, b: ()),
        related(LAWS["propiedad-orden"], CASE, (B, A)),
        related(LAWS["propiedad-doble"], CASE, (2 * A, B), lambda one: 2 * one),
    )

    def compute(self, choice, a, b):
        chosen = (choice[axis] for axis in ("pair", "reduction", "divisor"))
        total = steps.quotient(choice["other"], None, *chosen, a, b)
        return {"output": choice["shape"](choice["finish"](total))}
