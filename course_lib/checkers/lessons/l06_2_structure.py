"""6.2 · Lo que falla en las capas de la clase, y no en la cuenta: dónde se guardan y si aprenden."""

import inspect

import torch
from torch import nn

from course_lib.checkers.engine import running, told
from course_lib.checkers.lessons.l06_2_cases import WIDE
from course_lib.checkers.steps import layers
from course_lib.checkers.steps.sources import OWN, ROLES

TOLD, NOT_YET = told(__file__, "6.2, las capas"), told(__file__, "6.2, la clase")


def listed(names, most=4):
    """Unos nombres, en una frase."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} y {len(names) - most} más"


# --- Crearla --------------------------------------------------------------------------------------


def build(maker, heads, width, flipped=False):
    module = maker(width, heads) if flipped else maker(heads, width)
    if isinstance(module, nn.Module):
        module.eval()  # un nn.Dropout, aquí, estorba
        if any(isinstance(p, nn.UninitializedParameter) for p in module.parameters()):
            module(*(torch.zeros(1, 2, width) for _ in range(3)))  # las perezosas ya miden algo
    return module


def made(learner):
    """El módulo de una clase y si su constructor va al revés; un ``Finding``, o ``None`` si está sin hacer."""
    if learner is None or running.is_stub(getattr(learner, "forward", None)):
        return None
    name, kind = getattr(learner, "__name__", ""), type(learner).__name__
    if isinstance(learner, nn.Module):
        return NOT_YET["instancia"].saying(name=kind).found()
    if not callable(learner):
        return NOT_YET["no-es-clase"].saying(kind=kind).found()
    if isinstance(learner, type) and not issubclass(learner, nn.Module):
        return NOT_YET["no-es-modulo"].saying(name=name).found()
    if getattr(learner, "forward", None) is nn.Module.forward:
        return NOT_YET["sin-forward"].found()
    outcome, names = running.call(build, learner, 4, 12), parameters(learner)
    if outcome.unsolved:
        return None
    flipped = len(names) > 1 and "head" in names[1] and "head" not in names[0]
    if flipped:
        outcome = running.call(build, learner, 4, 12, True)
    if problem := outcome.problem:
        unprepared = "Module.__init__() call" in problem.text
        return NOT_YET["sin-super"].found(problem.text) if unprepared else problem
    module = outcome.value
    if not isinstance(module, nn.Module):
        return NOT_YET["no-es-modulo#crea"].saying(kind=type(module).__name__).found()
    try:
        inspect.signature(module.forward).bind("query", "key", "value")
    except TypeError:
        return NOT_YET["firma"].found()
    except ValueError:
        pass
    return module, flipped


def parameters(learner):
    try:
        return [name.lower() for name in inspect.signature(learner).parameters]
    except (TypeError, ValueError):
        return []


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

    def work():
        module = build(exercise.learner, 4, 12, exercise.flipped)
        layers.fill(module, exercise.plan, weights)
        output = exercise.reader.main(module(query, key, value), WIDE[0])
        if output.requires_grad:
            (output * torch.randn_like(output)).sum().backward()
        return module

    outcome = running.call(work)
    if outcome.problem or outcome.value is None:
        return
    module, idle = outcome.value, unused(exercise, choice)
    found = [x for x in layers.layers_of(module) if x.path.strip(".") in exercise.plan.homes]
    still = [x for x in found if x.weight.grad is None and x.home != "tensor"]
    stuck = [x.path.strip(".") for x in still if not idle & set(exercise.plan.roles(x.path))]
    if stuck:
        yield TOLD["corta-el-gradiente"].found(f"No llega a {listed(stuck)}.")
    ours = {id(x) for layer in found for x in (layer.weight, layer.bias)}
    every = dict(module.named_parameters())
    spare = [name for name, p in every.items() if p.grad is None and id(p) not in ours]
    if spare and len(stuck) < len(found):
        total = sum(p.numel() for p in every.values())
        idle = sum(every[name].numel() for name in spare)
        story = NOT_YET["cuántos"].saying(total=total, idle=idle, some=", ".join(spare[:3])).text
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
    exercise, called = attempt.exercise, []
    handle = nn.modules.module.register_module_forward_pre_hook(lambda m, _: called.append(m))
    try:
        attempt.call(*case.arguments)
    finally:
        handle.remove()
    made = [module for module in called if isinstance(module, nn.Linear)]
    outer = next((m for m in called if not isinstance(m, nn.Linear)), None)
    known = [layer.owner for layer in layers.layers_of(outer)] if outer is not None else []
    if any(not any(layer is k for k in known) for layer in made):
        return TOLD["capas-en-forward"].found()
    return strange(exercise.plan) if exercise.plan.unknown else None


def strange(plan):
    """No se sabe qué capas son estas."""
    found = ", ".join(f"{path} {shape}" for path, shape in plan.unknown[:5])
    return NOT_YET["capas"].found(NOT_YET["cuáles"].saying(found=found).text)
