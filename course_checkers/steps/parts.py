"""Los ejercicios que devuelven varias partes: lo que cada una tiene que cumplir."""

from itertools import permutations

from course_checkers.engine import laws

LAWS = laws(__file__, "parts")
ORDERS = [*permutations(range(3))][1:]  # los órdenes malos de tres partes


def reordered():
    """Las tres partes, en cada orden que no es el suyo."""
    return (lambda found, order=order: tuple(found[i] for i in order) for order in ORDERS)


def must(shapes):
    """Que cada parte mida lo que da ``shapes``, de los argumentos y por su nombre, y sea finita."""

    def shaped(attempt):
        for case, parts in attempt.values.items():
            for (name, right), part in zip(shapes(*case.arguments).items(), parts):
                if (yours := tuple(part.shape)) != tuple(right):
                    told = {"name": case.name, "part": name, "yours": yours, "right": tuple(right)}
                    return [LAWS["propiedad-forma"].saying(**told)]
        return []

    def finite(attempt):
        for case, parts in attempt.values.items():
            for name, part in zip(shapes(*case.arguments), parts):
                if not part.isfinite().all():
                    return [LAWS["propiedad-finita"].saying(name=case.name, part=name)]
        return []

    return shaped, finite
