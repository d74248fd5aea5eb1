"""Si una respuesta guarda algo de una llamada a otra, o usa números al azar.

Una función tiene que dar siempre lo mismo con los mismos argumentos, y otra cosa con otros aunque midan
igual. Quien guarda una máscara por su forma, o una lista que crece, acierta en las primeras pruebas.
"""

import torch

from course_checkers.engine.case import Case, Look
from course_checkers.engine.comparing import difference, same
from course_checkers.engine.report import Finding

KEEPS = (
    "Tu código guarda algo de una llamada a otra, y lo que da depende de las llamadas de antes: cada una "
    "tiene que empezar de cero."
)
SAME_AS_BEFORE = (
    "Con otros números de la misma forma das lo mismo que con los de antes: o guardas algo de una llamada "
    "a otra, o no miras todo lo que recibes."
)


def changes(attempt, case):
    """Por qué dos llamadas iguales no han dado lo mismo."""
    first, other, again = (answer(attempt, case, seed) for seed in (0, 1, 0))
    if same(first, other) or not same(first, again):
        # Con otra semilla da lo mismo, o con la misma no: no es el azar.
        story = f"Dos llamadas iguales no dan lo mismo con {case.name}."
        return Finding("guarda-estado", KEEPS, story)
    return Finding(
        "azar",
        f"Dos llamadas iguales no dan lo mismo con {case.name}: ¿queda algún número al azar, o un "
        "dropout encendido?",
    )


def answer(attempt, case, seed):
    """Lo que da en una prueba con esta semilla; ``None``, si se para."""
    outcome = attempt.call(*case.arguments, seed=seed)
    return None if outcome.problem else attempt.reader.read(outcome.value, case)[0]


def repeated(attempt):
    """Un ``Finding`` si, después de las demás, una prueba ya no da lo mismo que la primera vez."""
    for case, value in attempt.seen.items():
        yours = attempt.ask(*case.arguments) if case in attempt.values else None
        if yours is not None and not same(yours, value):
            look = Look(case, yours, value, {}, {})
            story = difference(look, expected="antes medía", wanted="antes valía")
            return [Finding("guarda-estado", KEEPS, story)]
    return []


def keeps(attempt, choice):
    """Un ``Finding`` si, con otros números de la misma forma, se usan los de otra llamada.

    Se mira en las respuestas que lo han acertado todo, en el orden contrario al de las pruebas: así una
    máscara que se queda guardada llega a las que no la llevan. ``choice`` es la forma buena reconocida.
    """
    if found := repeated(attempt):
        return found
    exercise = attempt.exercise
    for case in reversed(list(attempt.values)):
        for arguments in exercise.twins(case):
            name = f"otros números, en {case.name}" if case.name else "otros números"
            twin = Case(name, arguments)
            right, yours = exercise.trace(choice, twin), attempt.ask(*arguments)
            if right is None or yours is None or same(yours, right["output"]):
                continue
            look = Look(twin, yours, right["output"], {}, {})
            before = exercise.trace(choice, case)
            if before is not None and same(yours, before["output"]):
                return [Finding("guarda-estado", SAME_AS_BEFORE, difference(look))]
            return [unrecognised(look)]
    return []


def unrecognised(look):
    return Finding("otro", "No reconozco qué ha pasado, pero no da lo mismo.", difference(look))


def twins(arguments, integers=True):
    """Los mismos argumentos con otros números: los tensores con decimales y, después, los demás."""
    tensors = [x for x in arguments if isinstance(x, torch.Tensor) and x.numel() > 1]
    for decimals in sorted({x.is_floating_point() for x in tensors}, reverse=True):
        if not (decimals or integers):
            continue
        yield tuple(turned(x) if is_kind(x, decimals) else x for x in arguments)


def is_kind(x, decimals):
    return isinstance(x, torch.Tensor) and x.numel() > 1 and x.is_floating_point() == decimals


def turned(x):
    """Los números de un tensor, al revés."""
    return x.flip(tuple(range(x.dim()))) if x.is_floating_point() else x.flip(-1)
