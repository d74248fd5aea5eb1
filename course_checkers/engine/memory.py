"""Si una respuesta guarda algo de una llamada a otra, o usa números al azar.

Una función tiene que dar siempre lo mismo con los mismos argumentos, y otra cosa con otros aunque midan
igual. Quien guarda una máscara por su forma, o una lista que crece, acierta en las primeras pruebas.
"""

from course_checkers.engine.case import Look
from course_checkers.engine.comparing import difference, same
from course_checkers.engine.running import SAYS


def changes(attempt, case):
    """Por qué dos llamadas iguales no han dado lo mismo."""
    first, other, again = (answer(attempt, case, seed) for seed in (0, 1, 0))
    if same(first, other) or not same(first, again):
        # Con otra semilla da lo mismo, o con la misma no: no es el azar.
        story = f"Dos llamadas iguales no dan lo mismo con {case.name}."
        return SAYS["guarda-estado"].found(story)
    return SAYS["azar"].saying(name=case.name).found()


def answer(attempt, case, seed):
    """Lo que da en una prueba con esta semilla; ``None``, si se para."""
    outcome = attempt.call(*case.arguments, seed=seed)
    return None if outcome.problem else attempt.read(outcome, case)[0]


def repeated(attempt):
    """Un ``Finding`` si, después de las demás, una prueba ya no da lo mismo que la primera vez."""
    for case, value in attempt.seen.items():
        yours = attempt.ask(*case.arguments) if case in attempt.values else None
        if yours is not None and not same(yours, value):
            look = Look(case, yours, value, {}, {})
            story = difference(look, expected="antes medía", wanted="antes valía")
            return [SAYS["guarda-estado"].found(story)]
    return []


def stale(attempt, found):
    """El ``Finding`` de unos números nuevos con los que no da lo que debe: quizá los de otra llamada.

    ``found`` son las pruebas en que pasa, cada una con lo que da. Vale la que mejor lo enseñe.
    """
    looks = [Look(probe.case, yours, probe.right["output"], {}, {}) for probe, yours in found]
    for (probe, yours), look in zip(found, looks):
        before = attempt.exercise.trace({}, probe.of)
        if probe.of is not probe.case and before and attempt.exercise.fits(before, yours):
            return [SAYS["guarda-estado#igual"].found(difference(look))]
    return repeated(attempt) or [SAYS["otro"].found(difference(looks[0]))]
