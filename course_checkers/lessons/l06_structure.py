"""6.2 · Lo que falla en las capas de la clase, y no en la cuenta: dónde se guardan y si aprenden."""

from course_checkers.engine import clone, running, told
from course_checkers.inside import layers
from course_checkers.lessons.l06_cases import WIDE
from course_checkers.steps.sources import OWN, ROLES

TOLD, NOT_YET = told(__file__, "6.2, las capas"), told(__file__, "6.2, la clase")


def listed(names, most=4):
    """Unos nombres, en una frase."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} y {len(names) - most} más"


# --- Crearla --------------------------------------------------------------------------------------

MOST = 1000  # las capas que se miran


def made(written):
    """Lo que se ve de las capas de una clase y si su constructor va al revés.

    Si no se puede usar, un ``Finding``; si está sin hacer, ``None``.
    """
    outcome = running.call(written.look)
    if outcome.problem:
        return outcome.problem
    look = outcome.value
    if look["lacks"]:
        unsolved = look["lacks"] == "todo"
        return None if unsolved else NOT_YET[look["lacks"]].saying(**look).found()
    outcome, names = running.call(written.create), look["parameters"]
    if outcome.unsolved:
        return None
    flipped = len(names) > 1 and "head" in names[1] and "head" not in names[0]
    if flipped:
        outcome = running.call(written.create, True)
    if problem := outcome.problem:
        unprepared = "Module.__init__() call" in problem.text
        return NOT_YET["sin-super"].found(problem.text) if unprepared else problem
    if not outcome.value["module"]:
        return NOT_YET["no-es-modulo#crea"].saying(**outcome.value).found()
    if not outcome.value["binds"]:
        return NOT_YET["firma"].found()
    return [layers.Seen(*one) for one in outcome.value["layers"][:MOST]], flipped


# --- Mirarla --------------------------------------------------------------------------------------


def faults(attempt, choice, findings):
    """Lo que está mal en las capas. Si la cuenta se ha reconocido, también si aprenden."""
    exercise = attempt.exercise
    yield from layout(exercise)
    named = {finding.id for finding in findings} <= exercise.mistake_ids()
    if exercise.plan.unknown and not exercise.plan.kind and not named:
        yield strange(exercise.plan)
    if named:
        yield from learning(attempt, choice)


def layout(exercise):
    """Lo que se ve sin ejecutar nada."""
    plan = exercise.plan
    kinds = [plan.kind.get(role, ["entera"]) for role in ROLES]
    names = {"trozo": "reparte-antes", "ancha": "cabezas-anchas"}
    wrong = [names[kind[0]] for kind in kinds if kind[0] in names]
    wrong += ["misma-proyección-en-todas"] * (["cabeza"] in kinds)
    yield from (TOLD[name].found() for name in dict.fromkeys(wrong))
    for home, name in (("lista", "lista-de-python"), ("tensor", "tensor-sin-parameter")):
        if unseen := [path for path, where in plan.homes.items() if where == home]:
            yield TOLD[name].found(f"No se ven: {listed(unseen)}.")
    if exercise.flipped:
        yield TOLD["constructor-al-revés"].found()


def learning(attempt, choice):
    """Si el gradiente llega a todo lo que se usa, y si sobra algo."""
    exercise = attempt.exercise
    query, key, value, _, weights = WIDE[0].arguments
    plan, given = exercise.plan, (query, key, value, weights)
    outcome = running.call(exercise.written.learns, plan, exercise.flipped, *given)
    if outcome.problem:
        return
    (found, every), idle = outcome.value, unused(exercise, choice)
    still = [path for path, home, reached in found if not reached and home != "tensor"]
    stuck = [path.strip(".") for path in still if not idle & set(plan.roles(path))]
    if stuck:
        yield TOLD["corta-el-gradiente"].found(f"No llega a {listed(stuck)}.")
    spare = {name: many for name, many, reached, ours in every if not reached and not ours}
    if spare and len(stuck) < len(found):
        total, some = sum(many for _, many, *_ in every), ", ".join(list(spare)[:3])
        story = NOT_YET["cuántos"].saying(total=total, idle=sum(spare.values()), some=some).text
        yield TOLD["parámetros-de-más"].found(story)


LOSES = (  # los errores que dejan sin usar un papel
    ({"key-por-value", "query-por-value", "sin-value"}, {"value"}),
    ({"sin-W_O", "W_O-es-otra"}, {"output"}),
    ({"solo-la-primera-cabeza", "solo-la-última-cabeza", "suma-por-value"}, set(ROLES)),
    ({"falta-trasponer"}, set(ROLES)),
)


def unused(exercise, choice):
    """Los papeles que, por los errores ya reconocidos, no se usan."""
    chosen = exercise.good | {axis: option.value for axis, option in choice.items()}
    hows = (*chosen["projections"], chosen["project_v"])
    used = {role if how == OWN else how for role, how in zip(ROLES, hows)}
    used |= {role for role, how in zip(ROLES, hows) if how not in (*ROLES, "none")}
    used |= {chosen["output"]} if chosen["output"] in ROLES else set()
    lost = {m.id for option in choice.values() for m in option.mistakes}
    idle = set(ROLES) - used
    for ids, roles in LOSES:
        idle |= roles if lost & ids else set()
    if any(name.startswith("softmax-") for name in lost):
        idle |= {"query", "key"}  # alguna no deja pasar el gradiente
    return idle


# --- Si dos llamadas no dan lo mismo --------------------------------------------------------------


def unsteady(attempt, case):
    """Capas nuevas en cada llamada, o capas raras; si no es eso, ``None``."""
    exercise = attempt.exercise
    how = exercise.plan, exercise.flipped, *clone(case.arguments)
    if running.call(exercise.written.makes_layers, *how).value:
        return TOLD["capas-en-forward"].found()
    return strange(exercise.plan) if exercise.plan.unknown else None


def strange(plan):
    """No se sabe qué capas son estas."""
    found = ", ".join(f"{path} {shape}" for path, shape in plan.unknown[:5])
    return NOT_YET["capas"].found(NOT_YET["cuáles"].saying(found=found).text)
