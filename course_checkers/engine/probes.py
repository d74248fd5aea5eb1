"""Las pruebas que salen solas de las de un ejercicio, para las respuestas que han acertado todo lo demás.

Son otros números de la misma forma, otros tamaños, números menos mansos y los mismos números puestos
de otra manera en la memoria. Ninguna se sale de lo que promete el enunciado.
"""

import math
from collections.abc import Callable
from itertools import combinations, zip_longest
from typing import NamedTuple

import torch

from course_checkers.engine.case import Case
from course_checkers.engine.comparing import clone

SIZES = 1, 2, 17, 65


class Probe(NamedTuple):
    """Una prueba, y lo que tiene que dar.

    Args:
        case, right: la prueba, y lo que da la cuenta buena (véase ``Exercise.compute``).
        before: lo que daba antes de cambiar los números, si solo cambian ellos.
        lay: cómo se ponen los tensores en la memoria, si no es como siempre.
        optional: si da igual que el código se pare.
    """

    case: Case
    right: dict
    before: dict | None = None
    lay: Callable | None = None
    optional: bool = True


def probes(exercise, cases):
    """Las que salen de unas pruebas: de la primera de cada clase, todas. Se calculan una sola vez."""
    known, kinds = exercise.__dict__.setdefault("probes", {}), {}
    for case in sorted(cases, key=rich, reverse=True):
        kinds.setdefault((case.group, *map(kind, case.arguments)), case)
    first, *_ = chosen = list(kinds.values())
    for case in cases:
        if case not in known:
            known[case] = [*others(exercise, case, exercise.twins)]
            if case in chosen:
                known[case] += others(exercise, rounded(case), exercise.changes)
                known[case] += sized(exercise, case, SIZES if case is first else SIZES[:1])
                known[case] += [
                    *(wild(exercise, case) if case is first else ()),
                    *laid(exercise, case),
                ]
    found = [probe for case in reversed(cases) for probe in known[case]]
    return found + known.setdefault("tiny", [*small(exercise)])


def small(exercise):
    """Los ejemplos más pequeños. Quien no admite una frase suelta se para en ellos, y no se mira."""
    for case in exercise.tiny:
        one = Case(case.name or exercise.named(case), case.arguments)
        if (right := admitted(exercise, one)) is not None:
            yield Probe(one, right)


def rich(case):
    """Si en ella se nota todo: ningún eje mide 1, ningún tensor tiene solo un número y ningún entero es 0."""
    tensors = [x for x in case.arguments if isinstance(x, torch.Tensor)]
    return 0 not in [x for x in case.arguments if type(x) is int] and all(
        1 not in x.shape and x.numel() and bool((x != x.flatten()[0]).any()) for x in tensors
    )


def kind(x):
    return (x.dim(), x.dtype) if isinstance(x, torch.Tensor) else type(x)


def admitted(exercise, case):
    """Lo que da la cuenta buena, si el enunciado dice qué tiene que dar."""
    if not exercise.possible(*case.arguments) or (right := exercise.trace({}, case)) is None:
        return None
    parts = right["output"] if isinstance(right["output"], tuple) else (right["output"],)
    odd = (isinstance(x, torch.Tensor) and x.is_floating_point() and x.isnan().any() for x in parts)
    return None if any(odd) else right


# --- Otros números de la misma forma: quien guarda algo de antes no lo nota ------------------------


def others(exercise, case, changes):
    """La prueba, y después la misma con los números que da ``changes``."""
    if (before := admitted(exercise, case)) is None:
        return
    yield Probe(case, before)
    for name, arguments in changes(case.arguments):
        twin = Case(f"{name}, en {case.name}" if case.name else name, arguments)
        if (right := admitted(exercise, twin)) is not None:
            yield Probe(twin, right, before)


def twins(arguments, integers=True):
    """Los tensores con decimales del revés y, después, los demás."""
    tensors = [x for x in arguments if isinstance(x, torch.Tensor) and x.numel() > 1]
    for decimals in sorted({x.is_floating_point() for x in tensors}, reverse=True):
        if decimals or integers:
            changed = (turned(x) if is_kind(x, decimals) else x for x in arguments)
            yield "otros números", tuple(changed)


def is_kind(x, decimals):
    return isinstance(x, torch.Tensor) and x.numel() > 1 and x.is_floating_point() == decimals


def rounded(case):
    """La misma prueba, con números que se suman sin perder nada: así, el orden no cambia su suma."""
    return Case(f"{case.name}, y otros números", tuple(map(even, case.arguments)))


def even(x):
    if not (isinstance(x, torch.Tensor) and x.is_floating_point() and x.isfinite().any()):
        return x
    most = x[x.isfinite()].abs().max()
    step = 2.0 ** (math.frexp(float(most))[1] - 12)
    return (x / step).round() * step


def changes(names, arguments):
    """Cambiar un solo argumento, de varias formas, o todos un poco: ``(cómo se dice, argumentos)``."""
    for place, (name, x) in enumerate(zip(names, arguments)):
        for value in changed(x, optional=name.endswith("=None")):
            yield f"otro «{name.removesuffix('=None')}»", put(arguments, place, value)
    for decimals in (1, 2):
        yield "números casi iguales", tuple(nudged(x, decimals) for x in arguments)


def put(arguments, place, value):
    return (*arguments[:place], value, *arguments[place + 1 :])


def changed(x, optional=False):
    """Otros valores de un argumento: del revés, y también sin mover el primer número."""
    if isinstance(x, torch.Tensor) and x.numel() > 1:
        yield turned(x)
        yield but_first(x)
    elif isinstance(x, list):
        yield x[::-1]
    elif isinstance(x, float):
        yield 0.75 * x + 0.1
    elif isinstance(x, int):
        yield from (x + 1, x - 1, x + 2, x - 2, 2 * x, 1)
    if optional and x is not None:
        yield None


def turned(x):
    """Los números de un tensor, al revés."""
    return x.flip(tuple(range(x.dim()))) if x.is_floating_point() else x.flip(-1)


def but_first(x):
    """Cada fila al revés, menos el primero de todos los números: en las filas hay los mismos que había."""
    rows = x.reshape(-1, x.shape[-1]) if x.shape[-1] > 1 else x.reshape(1, -1)
    first = torch.cat([rows[:1, :1], rows[:1, 1:].flip(-1)], -1)
    return torch.cat([first, rows[1:].flip(-1)]).reshape(x.shape)


def nudged(x, decimals):
    """Un poco más cerca de lo que sale al redondear: redondeado, es lo mismo."""
    if not (isinstance(x, torch.Tensor) and x.is_floating_point()):
        return x
    return torch.where(x.isfinite(), (x + x.round(decimals=decimals)) / 2, x)


# --- Otros tamaños --------------------------------------------------------------------------------


def resized(exercise, case, wanted):
    """Con cada eje de cada tamaño, y con todos a la vez."""
    sizes = sizes_of(exercise, case.arguments)
    every = [{axis: n} for axis in sizes for n in wanted]
    for wanted in (*every, *(dict.fromkeys(sizes, n) for n in (1, 2))):
        if all(sizes[axis] == n for axis, n in wanted.items()):
            continue
        named = axes_of(exercise, case.arguments)
        arguments = tuple(resize(x, axes, sizes, wanted) for x, axes in zip(case.arguments, named))
        told = " y ".join(f"{axis} = {n}" for axis, n in wanted.items())
        yield Case(f"{case.name}, pero con {told}", arguments, case.group)


def axes_of(exercise, arguments):
    """Cómo se llaman los ejes de cada argumento. Los que no tienen letra son los de delante."""
    for x, text in zip_longest(arguments, exercise.letters[: len(arguments)]):
        axes = text.split() if text and isinstance(x, torch.Tensor) else []
        ahead = x.dim() - len(axes) if axes else 0
        yield [*(f"{i + 1}.º eje" for i in range(ahead)), *axes[max(-ahead, 0) :]]


def sizes_of(exercise, arguments):
    """Eje → lo que mide. Los que no se pueden cambiar de tamaño, que se llaman «-», no están."""
    sizes = {}
    for x, axes in zip(arguments, axes_of(exercise, arguments)):
        for axis, n in zip(axes, getattr(x, "shape", ())):
            sizes[axis] = max(n, sizes.get(axis, 0))
    sizes.pop("-", None)
    return sizes


def resize(x, axes, sizes, wanted):
    """Un tensor con otros tamaños: se corta o, si falta, se repite, cada vez más pequeño."""
    for dim, axis in enumerate(axes):
        if axis in wanted and (n := x.shape[dim]) == sizes[axis] and n:
            place = torch.arange(wanted[axis])
            if x.is_floating_point():
                x = x.index_select(dim, place % n)
                x = x / (1 + place // n).view(-1, *[1] * (x.dim() - dim - 1))
            else:  # lo último, como el relleno, sigue hasta el final
                x = x.index_select(dim, place.clamp(max=n - 1))
    return x


# --- Números menos mansos -------------------------------------------------------------------------

WILD = {
    "con el signo cambiado": torch.neg,
    "siete veces mayor": lambda x: 7 * x,
    "cien veces menor": lambda x: x / 100,
    "con un número enorme": lambda x: x + 300 * (torch.arange(x.numel()) == 1).view_as(x),
    "con ceros": lambda x: x.relu() * torch.tensor([-0.0, 1.0])[(x > 0).long()],
    "con todos sus números iguales": lambda x: torch.full_like(x, 0.5),
}


def sized(exercise, case, sizes):
    for one in resized(exercise, case, sizes):
        if (right := admitted(exercise, one)) is not None:
            yield Probe(one, right, optional=False)


def wild(exercise, case):
    """En cada argumento que puede ser cualquier número, otros órdenes de magnitud."""
    for place, (name, x) in enumerate(zip(exercise.given(), case.arguments)):
        free = isinstance(x, torch.Tensor) and x.is_floating_point() and (x < 0).any()
        for told, change in WILD.items() if free and x.isfinite().all() else ():
            one = Case(f"{case.name}, y {name} {told}", put(case.arguments, place, change(x)))
            if (right := admitted(exercise, one)) is not None:
                yield Probe(one, right, optional=False)


# --- Los mismos números, puestos de otra manera en la memoria --------------------------------------


def spaced(x):
    """Uno de cada dos números."""
    return torch.stack([x, x], -1)[..., 0]


def crossed(x):
    """Uno de cada dos, y por columnas: como lo deja trasponer."""
    return spaced(x.mT).mT if x.dim() > 1 else spaced(x)


def laid(exercise, case):
    right = exercise.trace({}, case)
    for lay in exercise.views() if right is not None else ():
        name = f"{case.name}, con tensores que son vistas de otros"
        yield Probe(Case(name, clone(case.arguments)), right, lay=lay, optional=lay is not spaced)


# --- En qué pruebas falla -------------------------------------------------------------------------


def facts(exercise, case):
    """Lo que se puede decir de una prueba con los nombres del enunciado."""
    sizes = sizes_of(exercise, case.arguments)
    yield from (f"{axis} = {n}" for axis, n in sizes.items())
    yield from (f"{axis} ≥ {n}" for n in SIZES[2:] for axis in sizes if sizes[axis] >= n)
    for one, other in combinations(sizes, 2):
        if one[0] == other[0]:
            yield f"{one} {'=' if sizes[one] == sizes[other] else '≠'} {other}"
    for name, x in zip(exercise.names, case.arguments):
        if x is None or isinstance(x, int):
            yield f"{name.removesuffix('=None')} = {x}"
        elif name.endswith("=None"):
            yield name.removesuffix("=None")
        elif isinstance(x, torch.Tensor):
            yield f"{name} de {x.dim()} ejes"


def where(exercise, seen, failing):
    """En qué pruebas falla: qué tienen todas ellas, y ninguna de las demás."""
    known = {case: set(facts(exercise, case)) for case in seen}
    for fact in facts(exercise, failing[0]) if 1 < len(failing) < len(seen) else ():
        if all((fact in known[case]) == (case in failing) for case in seen):
            return f"De las pruebas, fallan justo las que tienen {fact}."
    return ""


def how_many(failing, seen):
    if len(failing) == len(seen):
        return "Falla en todas las pruebas." if len(seen) > 1 else ""
    if len(failing) == 1:
        return "En las demás pruebas da lo que debe."
    return f"Falla en {len(failing)} de {len(seen)} pruebas."
