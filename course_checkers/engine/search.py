"""La búsqueda: qué errores, cuantos menos mejor, explican todo lo que devuelve una respuesta.

Una cuenta se hace en varios pasos y cada paso se puede dar de varias formas, una buena y otras
malas. Todas las combinaciones forman una familia. Si una respuesta da, en todas las pruebas, lo
mismo que un miembro de la familia, sus errores son los de ese miembro. Si no da lo mismo que
ninguno, no se adivina.
"""

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import NamedTuple

import torch

from course_checkers.engine.comparing import close, flat, shape_of
from course_checkers.engine.mistakes import mistakes

MOST = 40  # los miembros que se siguen de una etapa a otra, con menos errores primero
MEASURES = ("output", "slack")  # de lo que da ``compute``, lo que se guarda en una tabla
CREDIBLE = 4  # los errores juntos que se nombran: con más, casi todo se parece a algo


class Raised(NamedTuple):
    """Esta prueba no ha devuelto nada: el código se ha parado."""

    problem: object


@dataclass(frozen=True, eq=False)
class Stage:
    """Los pasos que se averiguan a la vez y las pruebas que los distinguen.

    Args:
        axes, cases: los pasos y las pruebas.
        most: cuántos errores se prueban a la vez, como mucho.
        frequent: con dos o más, alguno tiene que estar entre tantos primeros de su paso.
        usual: con tres o más, solo cuentan tantos primeros de cada paso.
        only: paso → los errores que se buscan aquí; sin nada, todos.
        styles: los pasos en que se prueban todas las formas buenas; en los demás, la primera.
        smallest: si solo se siguen los que menos errores añaden.
        sure: si lo averiguado hasta aquí ya no puede ser una coincidencia, y se puede nombrar.
        may_stop: si el código se puede parar en todas sus pruebas, y también así se reconoce algo.
        after: los errores, ya sabidos, sin los que esta etapa no se busca.
        otherwise: la etapa que se busca si en esta no se encuentra nada.
    """

    axes: tuple
    cases: tuple
    most: int = 3
    frequent: int = 1000
    usual: int = 1000
    only: dict = field(default_factory=dict)
    styles: tuple | None = None
    smallest: bool = False
    sure: bool = True
    may_stop: bool = False
    after: tuple = ()
    otherwise: "Stage | None" = None

    def all_cases(self):
        """Sus pruebas y las de las etapas que la suplen."""
        return (*self.cases, *(self.otherwise.all_cases() if self.otherwise else ()))


class Diagnosis(NamedTuple):
    """Lo que se ha reconocido."""

    choice: dict  # paso → cómo se ha dado
    complete: bool  # si con eso se explica todo
    alternatives: list = []  # errores entre los que no se puede elegir: dan lo mismo

    @property
    def named(self):
        """Los errores seguros: los de todas las explicaciones."""
        unsure = {mistake for way in self.alternatives for mistake in way}
        return [mistake for mistake in mistakes(self.choice) if mistake not in unsure]


def search(exercise, seen, measure=dict, stages=None):
    """El miembro de la familia con menos errores que da lo mismo en todas las pruebas.

    Args:
        exercise: sus ``axes``, sus ``stages``, y lo que da un miembro: ``trace``, ``agrees``, ``admits``;
            y ``plainest``.
        seen: prueba → lo que ha dado la respuesta, o ``Raised``.
        measure: sin argumentos, lo que se ha medido en la respuesta: paso → ``Option``.
        stages: las etapas, si no son las del ejercicio.
    """
    survivors, sure, stages = [{}], False, stages or exercise.stages
    for stage in stages:
        if not any(case in seen for case in stage.all_cases()):
            continue
        last = stage is stages[-1]
        found = explain(exercise, stage, survivors, seen, measure, last)
        if not found:
            return fewest(survivors if sure else [{}], complete=False)
        survivors, sure = (found if stage.smallest else simplest(found)), sure or stage.sure
    whole = [one for one in survivors if all(exercise.agrees(one, *x) for x in seen.items())]
    return fewest(exercise.plainest(whole or survivors), complete=bool(whole))


def explain(exercise, stage, survivors, seen, measure, last):
    """Los miembros que siguen dando lo mismo tras una etapa o, si no los hay, tras la que la suple."""
    cases = [case for case in stage.cases if case in seen]
    cases.sort(key=lambda case: isinstance(seen[case], Raised))
    found = []
    if cases and (stage.may_stop or not isinstance(seen[cases[0]], Raised)):
        found = matching(exercise, exercise.axes, stage, survivors, cases, seen, last)
        if not found:
            measured = {a: options for a, options in measure().items() if a in stage.axes}
            both = {a: [*options, *measured.get(a, ())] for a, options in exercise.axes.items()}
            for axis in filter(measured.get, measured):
                axes = both | {axis: measured[axis]}
                found += matching(exercise, axes, stage, survivors, cases, seen, last, axis)
    if found or stage.otherwise is None:
        return found
    ids = stage.otherwise.after
    known = [s for s in survivors if not ids or any(m.id in ids for m in mistakes(s))]
    return explain(exercise, stage.otherwise, known, seen, measure, last) if known else []


def matching(exercise, axes, stage, survivors, cases, seen, last, measured=None):
    """Los miembros que siguen dando lo mismo al averiguar los pasos de esta etapa.

    En la última bastan los que menos errores tienen. Antes no: el que tiene uno de más puede ser
    el único que lo explique todo.
    """
    found = []
    errors = [0 if stage.smallest else len(mistakes(known)) for known in survivors]
    for total in range(min(errors), max(errors) + stage.most + 1):
        for known, already in zip(survivors, errors):
            if not 0 <= total - already <= stage.most:
                continue
            if known or measured:
                candidates = members(exercise, axes, stage, total - already, known, measured)
            else:
                candidates = table(exercise, stage, cases[0], total, seen[cases[0]])
            found += [
                choice
                for choice in candidates
                if all(exercise.agrees(choice, case, seen[case]) for case in cases)
            ]
        if found and (last or stage.smallest):
            break
    return found


def members(exercise, axes, stage, number, known=None, measured=None):
    """Lo sabido, con un error más en ``number`` de los pasos de una etapa: paso → ``Option``.

    Los pasos que se dan de la primera forma, la buena, no se escriben.
    """
    known = known or {}
    places = [axis for axis in stage.axes if axis not in known]
    first = {axis: options[0] for axis, options in exercise.axes.items()}
    right, wrong = {}, {}
    for axis in places:
        styles = stage.styles is None or axis in stage.styles
        ids = stage.only.get(axis)
        right[axis] = [o for o in axes[axis] if not o.mistakes][: None if styles else 1]
        wrong[axis] = [o for o in axes[axis] if o.mistakes and (ids is None or o.mistakes[0].id in ids)]
    if measured:
        right[measured] = []
    if number > 2:
        wrong = {axis: options[: stage.usual] for axis, options in wrong.items()}
    rare = {id(option) for options in wrong.values() for option in options[stage.frequent :]}
    for chosen in combinations(places, number):
        if measured and measured not in chosen:
            continue
        for options in product(*(wrong[a] if a in chosen else right[a] for a in places)):
            if number > 1 and sum(id(option) in rare for option in options) == number:
                continue
            whole = first | known | dict(zip(places, options))
            if exercise.admits(whole):
                new = zip(places, options)
                yield known | {a: option for a, option in new if option is not first[a]}


def table(exercise, stage, case, number, value):
    """Los miembros con ``number`` errores que dan ``value`` en una prueba.

    Lo que dan todos se calcula una vez y se guarda: buscar es comparar una fila con una tabla.
    """
    tables = exercise.__dict__.setdefault("tables", {})
    if (stage, case, number) not in tables:
        rows = {}
        for choice in members(exercise, exercise.axes, stage, number):
            output = exercise.trace(choice, case)
            shape = Raised if output is None else shape_of(output["output"])
            rows.setdefault(shape, []).append((choice, output))
        tables[stage, case, number] = {
            shape: ([choice for choice, _ in found], *(stack(found, shape, n) for n in MEASURES))
            for shape, found in rows.items()
        }
    shape = Raised if isinstance(value, Raised) else shape_of(value)
    choices, outputs, slack = tables[stage, case, number].get(shape, ((), None, None))
    if outputs is None:
        return choices
    wanted, rows = flat(value), torch.arange(len(choices))
    for some in (slice(-1, None), slice(None)):  # un solo número descarta casi todo
        forgiven = None if slack is None else slack[rows, some]
        rows = rows[close(outputs[rows, some], wanted[some], forgiven).all(dim=1)]
    return [choices[row] for row in rows.tolist()]


def stack(found, shape, name):
    """Las salidas, una por fila; ``None`` si no son números: entonces se comparan una a una."""
    if shape is Raised or isinstance(shape, type) and not issubclass(shape, int | float):
        return None
    try:
        return torch.stack([flat(output[name]) for _, output in found])
    except (KeyError, TypeError, ValueError, RuntimeError):
        return None


def simplest(members):
    """Si son muchos, los que no tienen todos los errores de otro y alguno más, que no se ve."""
    members = sorted(members, key=lambda member: len(mistakes(member)))
    if len(members) <= MOST // 4:
        return members
    kept = []
    for member in members[: 10 * MOST]:
        mine = set(mistakes(member))
        if not any(set(mistakes(other)) < mine for other in kept):
            kept.append(member)
    return kept[:MOST]


def fewest(survivors, complete):
    """El miembro con menos errores. Si hay varios, lo que comparten, y lo demás como alternativas."""
    least = min(len(mistakes(choice)) for choice in survivors)
    if least > CREDIBLE:
        return Diagnosis({}, complete=False)
    best = [choice for choice in survivors if len(mistakes(choice)) == least]
    common = set.intersection(*(set(mistakes(choice)) for choice in best))
    shared = {a: option for a, option in best[0].items() if common.issuperset(option.mistakes)}
    others = {}
    for choice in best:
        way = [mistake for mistake in mistakes(choice) if mistake not in common]
        others[frozenset(mistake.id for mistake in way)] = way
    if not complete:
        return Diagnosis(shared, False)
    return Diagnosis(best[0], True, list(others.values()) if len(others) > 1 else [])
