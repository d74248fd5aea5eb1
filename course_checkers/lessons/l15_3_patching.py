"""15.3 · Parchear: {en qué posición} × {antes de qué capa} × {qué se pone} × {qué se devuelve}."""

import torch

from course_checkers.engine import Case, Stage, Tensors, drawn, laws, stepping, told
from course_checkers.engine import properties as law
from course_checkers.inside.model import FakeLayer
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded

step = stepping(told(__file__, "11") | told(__file__, "15.3"))
LAWS = laws(__file__, "15.3 propiedades")

AXES = {
    "way": step(
        lambda clean, other: (clean, other),
        ("sentido-contrario", lambda clean, other: (other, clean)),
    ),
    # De la capa que se pide y de cuántas hay, antes de cuáles se cambia.
    "when": step(
        lambda layer, n: {layer},
        ("capa-siguiente", lambda layer, n: {layer + 1}),
        ("capa-anterior", lambda layer, n: {layer - 1} if layer else set()),
        ("desde-esa-capa", lambda layer, n: set(range(layer, n + 1)), lambda layer, n: set(range(layer, n))),
        ("en-la-entrada", lambda layer, n: {0}),
        ("no-cambia-nada", lambda layer, n: set()),
    ),
    # Qué posiciones se cambian.
    "where": step(
        lambda at, place: at == place,
        ("todas-las-posiciones", lambda at, place: at >= 0),
        ("posición-siguiente", lambda at, place: at == place + 1),
        ("posición-anterior", lambda at, place: at == (place - 1) % len(at)),
        ("desde-esa-posición", lambda at, place: at >= place),
    ),
    # De los estados de la otra frase, el número de la capa y el de aquí, lo que se pone.
    "what": step(
        lambda theirs, i, x: theirs[i],
        ("la-entrada-de-la-otra", lambda theirs, i, x: theirs[0]),
        ("la-salida-de-la-otra", lambda theirs, i, x: theirs[-1]),
        ("estado-siguiente", lambda theirs, i, x: theirs[min(i + 1, len(theirs) - 1)]),
        ("pone-ceros", lambda theirs, i, x: torch.zeros_like(x)),
        ("suma-el-de-la-otra", lambda theirs, i, x: x + theirs[i]),
    ),
    # De la capa que se pide y de cuántas hay, las que se dan.
    "rest": step(lambda layer, n: range(n), ("se-para-ahí", lambda layer, n: range(layer))),
    "output": step(
        lambda x, place, plain: x,
        ("solo-la-posición", lambda x, place, plain: x[place], lambda x, place, plain: x[[place]]),
        ("solo-la-última", lambda x, place, plain: x[-1], lambda x, place, plain: x[-1:]),
        ("lo-que-cambia", lambda x, place, plain: x - plain, lambda x, place, plain: plain - x),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None])),
}  # fmt: skip


def patch_case(seed, n, L, d, layer, place):
    layers = [FakeLayer(10 * seed + i, d) for i in range(n)]
    clean, other = drawn(seed, (2, L, d))
    name = f"{n} capas y {L} tokens, layer = {layer} y place = {place}"
    return Case(name, (layers, clean, other, layer, place))


CASES = tuple(
    patch_case(seed, *sizes)
    for seed, sizes in enumerate(
        ((4, 5, 3, 2, 1), (3, 4, 4, 1, 2), (5, 6, 2, 2, 3), (3, 3, 3, 0, 1), (4, 5, 3, 3, 0))
    )
)
SHAPE = "Tu salida no mide lo mismo que la entrada, (L, d_model)."
LAYERS, CLEAN, _, _, PLACE = CASES[0].arguments


def earlier(attempt):
    """Que lo de antes de la posición no cambie: la causal no deja mirar hacia delante."""
    given, plain = attempt.ask(*CASES[0].arguments), CLEAN
    for layer in LAYERS:
        plain = layer(plain)
    if given is not None and given.shape == plain.shape:
        moved = (given[:PLACE] - plain[:PLACE]).abs().amax()
        if moved > 1e-4:
            yield LAWS["propiedad-antes"].saying(name=CASES[0].name, yours=f"{moved:.2g}")


class Patching(numbers.NumberExercise):
    """Comprueba una función que parchea un estado.

    Args:
        function: recibe ``(layers, clean, other, layer, place)``: una lista de capas, que se llaman como
            funciones, ``(L, d_model)`` → ``(L, d_model)``; lo que entra en la primera, de dos frases;
            antes de qué capa se cambia, desde 0; y qué posición. Devuelve la salida de ``clean`` tras
            todas las capas, con ese estado cambiado por el de ``other``. ``clean`` no cambia.
    """

    number, title, points, section = "15.3", "parchear", 3, "15 §4"
    letters = ("", "L -", "L -")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, most=2),)
    extra = (patch_case(6, 2, 2, 5, 1, 1), patch_case(7, 12, 9, 4, 10, 8), patch_case(8, 1, 3, 2, 0, 2))
    tiny = (Case("", ([FakeLayer(1, 2), FakeLayer(2, 2)], torch.zeros(2, 2), torch.ones(2, 2), 1, 0)),)
    reader = Tensors()
    must = (
        law.right_shape(lambda layers, clean, *_: clean.shape, SHAPE, section),
        law.finite(section),
        earlier,
    )

    def possible(self, layers, clean, other, layer, place):
        fits = clean.shape == other.shape and clean.shape[-1] == layers[0].d
        return fits and 0 <= layer < len(layers) and 0 <= place < len(clean)

    def compute(self, choice, layers, clean, other, layer, place):
        n = len(layers)
        x, z = choice["way"](clean, other)
        theirs, plain = [z], clean
        for each in layers:
            theirs.append(each(theirs[-1]))
            plain = each(plain)
        changed = choice["where"](torch.arange(len(x)), place)[:, None]
        kept, moments = choice["rest"](layer, n), choice["when"](layer, n)
        for i in range(n + 1):
            if i in moments:
                x = torch.where(changed, choice["what"](theirs, i, x), x)
            if i < n and i in kept:
                x = layers[i](x)
        output = choice["output"](x, place, plain)
        return {"output": choice["shape"](choice["finish"](output))}
