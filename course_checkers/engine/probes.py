"""Las pruebas que salen solas de las de un ejercicio, para quien ha acertado todo lo demás.

Son otros números de la misma forma, otros tamaños, números menos mansos y los mismos, pero no seguidos
en la memoria. Ninguna se sale de lo que promete el enunciado: véase ``Exercise.possible``.
"""

from itertools import combinations, zip_longest
from typing import NamedTuple

import torch

from course_checkers.engine.case import Case
from course_checkers.engine.comparing import has_nan, same

SIZES = 1, 2, 17, 65, 300
ANY = {"con la misma fila, corrida": lambda x: shifted(x) if x.dim() > 1 else x}
APART = "con trozos de otros tensores"
WILD = {
    "con el signo cambiado": torch.neg,
    "siete veces mayor": lambda x: 7 * x,
    "cien veces menor": lambda x: x / 100,
    "con un número enorme": lambda x: x + 300 * (torch.arange(x.numel()) == 1).view_as(x),
    "con ceros": lambda x: x.relu() * torch.tensor([-0.0, 1.0])[(x > 0).long()],
    "con todos sus números iguales": lambda x: torch.full_like(x, 0.5),
}


class Probe(NamedTuple):
    """Una prueba y lo que da la cuenta buena.

    Args:
        of: si solo cambian los números, la prueba de la que sale.
        must: si es un error que el código se pare.
    """

    case: Case
    of: Case | None = None
    must: bool = False
    right: dict | None = None


def probes(exercise, cases):
    """Las que salen de unas pruebas: de la mejor de cada clase, todas. Se calculan una sola vez."""
    known, kinds = exercise.__dict__.setdefault("probes", {}), {}
    for case in sorted(cases, key=rich, reverse=True):
        kinds.setdefault((case.group, *map(kind, case.arguments)), case)
    first, *_ = best = list(kinds.values())
    for case in cases:
        if case not in known:
            others = [("otros números", tuple(map(turned, case.arguments)))]
            others += changed(exercise.names, case.arguments) if case in best else ()
            twins = (Probe(Case(f"{name}, en {case.name}", given), case) for name, given in others)
            made = [Probe(case, case), *twins]
            if case in best:
                made += sized(exercise, case, SIZES if case is first else SIZES[:1])
                made += wild(exercise, case) if case is first else []
                spaced = tuple(map(apart, case.arguments))
                made.append(Probe(Case(f"{case.name}, {APART}", spaced), must=True))
            known[case] = solved(exercise, made)
    if "tiny" not in known:
        small = (Case(case.name or exercise.named(case), case.arguments) for case in exercise.tiny)
        known["tiny"] = solved(exercise, map(Probe, small))
    return [probe for case in (*reversed(cases), "tiny") for probe in known[case]]


def solved(exercise, made):
    """Las que el enunciado admite, con lo que tienen que dar."""
    made = [probe for probe in made if exercise.possible(*probe.case.arguments)]
    found = [probe._replace(right=exercise.trace({}, probe.case)) for probe in made]
    return [probe for probe in found if probe.right and not has_nan(probe.right["output"])]


def rich(case):
    """Si en ella se nota todo: ningún eje mide 1, ningún tensor tiene solo un número y ningún entero es 0 o 1."""
    tensors = [x for x in case.arguments if isinstance(x, torch.Tensor)]
    small = any(type(x) is int and x in (0, 1) for x in case.arguments)
    return not small and all(1 not in x.shape and len(x.unique()) > 1 for x in tensors)


def kind(x):
    return (x.dim(), x.dtype) if isinstance(x, torch.Tensor) else type(x)


def integers(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.int64 and x.numel()


def real(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


# --- Otros números de la misma forma: quien guarda algo de antes no lo nota ------------------------


def changed(names, arguments):
    """Cambiar un solo argumento, de varias formas, o todos un poco: ``(cómo se dice, argumentos)``."""
    for place, (name, x) in enumerate(zip(names, arguments)):
        others = [y.flatten()[0].item() for y in arguments if integers(y)] if type(x) is int else []
        for value in (*values(x, optional=name.endswith("=None")), *others):
            yield f"otro «{name.removesuffix('=None')}»", put(arguments, place, value)
    for decimals in (1, 2):
        yield "números casi iguales", tuple(nudged(x, decimals) for x in arguments)


def put(arguments, place, value):
    return (*arguments[:place], value, *arguments[place + 1 :])


def values(x, optional):
    """Otros valores de un argumento."""
    if isinstance(x, torch.Tensor) and x.numel() > 1:
        yield from (turned(x), but_first(x))
    elif isinstance(x, list):
        yield x[::-1]
    elif isinstance(x, float):
        yield 0.75 * x + 0.1
    elif isinstance(x, int):
        yield from (x + 1, x - 1, x + 2, x - 2, 2 * x, 1)
    if optional and isinstance(x, torch.Tensor):
        yield None


def turned(x):
    """Los números de un tensor, al revés."""
    if not isinstance(x, torch.Tensor) or not x.dim():
        return x
    return x.flip(tuple(range(x.dim()))) if real(x) else x.flip(-1)


def but_first(x):
    """Cada fila al revés, menos la primera, o su primera mitad: en cada una hay los números que había."""
    rows = x.reshape(-1, x.shape[-1]) if x.shape[-1] > 1 else x.reshape(1, -1)
    kept = rows.shape[1] if len(rows) > 1 else rows.shape[1] // 2
    first = torch.cat([rows[:1, :kept], rows[:1, kept:].flip(-1)], -1)
    return torch.cat([first, rows[1:].flip(-1)]).reshape(x.shape)


def nudged(x, decimals):
    """Otros números que, redondeados, son los mismos. Si cada fila suma 1, lo sigue sumando."""
    if not real(x):
        return x
    gap = (x.round(decimals=decimals) - x).nan_to_num(0.0)
    change = gap.where(gap != 0, 0.6 / 10**decimals) / 2
    shared = x.dim() and same(x.sum(-1), torch.ones(x.shape[:-1]))
    return x + (change - change.mean(-1, keepdim=True) if shared else change)


# --- Otros tamaños, otros números y otra memoria --------------------------------------------------


def sized(exercise, case, wanted):
    """Con cada eje de cada tamaño, y con todos a la vez."""
    sizes, axes = sizes_of(exercise, case.arguments), axes_of(exercise, case.arguments)
    every = [{axis: n} for axis in sizes for n in wanted]
    made = []
    whole = (1, 2, 24) if len(sizes) < 3 else (1, 2)  # con más ejes serían demasiados números
    for new in (*every, *(dict.fromkeys(sizes, n) for n in whole)):
        arguments = (resize(x, names, sizes, new) for x, names in zip(case.arguments, axes))
        told = " y ".join(f"{axis} = {n}" for axis, n in new.items())
        made.append(Probe(Case(f"{case.name}, pero con {told}", tuple(arguments)), must=True))
    return made


def axes_of(exercise, arguments):
    """Cómo se llaman los ejes de cada argumento. Los que no tienen letra son los de delante."""
    found = []
    for x, text in zip_longest(arguments, exercise.letters[: len(arguments)]):
        axes = text.split() if text and isinstance(x, torch.Tensor) else []
        ahead = x.dim() - len(axes) if axes else 0
        found.append([*(f"{i + 1}.º eje" for i in range(ahead)), *axes[max(-ahead, 0) :]])
    return found


def sizes_of(exercise, arguments):
    """Eje → lo que mide. Los que no pueden medir otra cosa, «-», no están."""
    sizes = {}
    for x, axes in zip(arguments, axes_of(exercise, arguments)):
        for axis, n in zip(axes, getattr(x, "shape", ())):
            sizes[axis] = max(n, sizes.get(axis, 0))
    return {axis: n for axis, n in sizes.items() if axis != "-"}


def resize(x, axes, sizes, new):
    """Un tensor con otros tamaños: se corta o se repite, corrido; lo que no son decimales, lo último.

    En el último eje, cada vez más pequeño: así no hay dos números iguales en la misma fila.
    """
    for dim, axis in enumerate(axes):
        if axis in new and (n := x.shape[dim]) == sizes[axis] and n:
            place = torch.arange(new[axis])
            if not real(x):
                x = x.index_select(dim, place.clamp(max=n - 1))
            elif dim < x.dim() - 1:
                copies = [x.roll(i, -1) for i in range(1 + new[axis] // n)]
                x = torch.cat(copies, dim).narrow(dim, 0, new[axis]).contiguous()
            else:
                x = x.index_select(dim, place % n) / (1 + place // n)
    return x


def wild(exercise, case):
    """En cada argumento, la misma fila corrida; y si puede ser cualquier número, otros órdenes de magnitud."""
    return [
        Probe(Case(f"{case.name}, y {name} {told}", put(case.arguments, i, change(x))), must=True)
        for i, (name, x) in enumerate(zip(exercise.given(), case.arguments))
        if real(x) and x.isfinite().all()
        for told, change in (ANY | WILD if (x < 0).any() else ANY).items()
    ]


def shifted(x):
    """En todas las filas de una tabla, los números de la primera, corridos."""
    return torch.stack([x[..., 0, :].roll(i, -1) for i in range(x.shape[-2])], -2)


def apart(x):
    """El mismo tensor, con huecos entre sus números."""
    return torch.stack([x, x], -1)[..., 0] if isinstance(x, torch.Tensor) else x


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
        elif isinstance(x, torch.Tensor):
            yield f"{name} de {x.dim()} ejes".replace("=None", "")


def where(exercise, seen, failing):
    """Qué tienen todas las pruebas que fallan y ninguna de las demás, si algo."""
    known = {case: set(facts(exercise, case)) for case in seen}
    for fact in facts(exercise, failing[0]) if 1 < len(failing) < len(seen) else ():
        if all((fact in known[case]) == (case in failing) for case in seen):
            return f"De las pruebas, fallan justo las que tienen {fact}."
    return ""


def how_many(seen, failing):
    if len(failing) == 1 < len(seen):
        return "En las demás pruebas da lo que debe."
    every = len(failing) == len(seen)
    return "Falla en todas las pruebas." if every else f"Falla en {len(failing)} de {len(seen)}."
