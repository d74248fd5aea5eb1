"""2.2 · Lo que entra en la primera capa de BERT: token + posición + tipo, normalizado.

La familia: {los tres sumandos, sin el tipo…} × {la norma después, antes, ninguna…} × {sobre cada vector,
sobre otro eje…} × {÷desviación, ÷varianza…} × {ε dentro de la raíz, fuera…} × {·γ + β…}.
"""

import math

import torch

import course_lib
from course_checkers.engine import Case, Exercise, Stage, drawn, same, show, show_both
from course_checkers.engine.mistakes import mistakes, stepping, told
from course_checkers.engine.properties import each_output, finite, half_precision, laws, right_shape
from course_checkers.steps.numbers import mean_square

# --- Los errores, y lo que le hacen a los vectores ------------------------------------------------


def moment(measure, name):
    """La media o la desviación del vector que más se aparta, y la que tenía que tener."""

    def consequence(look):
        yours, right = (measure(x.double()).flatten() for x in look.both())
        worst = (yours - right).abs().nan_to_num(torch.inf).argmax()
        mine, good = (round(float(x[worst]), 3) + 0.0 for x in (yours, right))
        if abs(yours[worst] - right[worst]) < 1e-3:
            return ""
        return f"Con {look.case.name}, uno de tus vectores tiene {name} {show(mine)}, y tenía que tener {show(good)}."

    return consequence


average = moment(lambda x: x.mean(-1), "media")
deviation = moment(lambda x: x.std(-1, correction=0), "desviación típica")
OF_MEAN = ("sin-β", "sin-centrar", "β-antes", "suma-de-más")
# Error → los pasos que ya no cuentan si se comete.
IDLE = {
    "sin-norma": ("axis", "center", "spread", "beta", "eps", "inside", "gamma", "affine"),
    **dict.fromkeys(("norma-l2", "sin-dividir"), ("eps", "inside")),
    **dict.fromkeys(("sin-raíz", "sin-eps"), ("inside",)),
}
OF_DEVIATION = (*IDLE, "norma-antes", "norma-otro-eje", "norma-todo", "norma-dos-veces")
OF_DEVIATION += ("varianza-n-1", "eps-fijo", "eps-fuera")
STORIES = dict.fromkeys(OF_MEAN, average) | dict.fromkeys(OF_DEVIATION, deviation)
TOLD, LAWS = told(__file__, "2.2", **STORIES), laws(__file__, "2.2 propiedades")
step = stepping(TOLD)


def spread(correction=0, root=True):
    """La desviación de ``x``, ya con su media quitada si toca: (inside, outside) son los dos ε."""

    def measure(x, dims, inside, outside):
        variance = mean_square(x, dims, correction) + inside
        return (variance.sqrt() if root else variance) + outside

    return measure


def norm(least):
    return lambda x, dims, inside, outside: (x**2).sum(dims, keepdim=True).sqrt().clamp_min(least)


AXES = {
    "token": step(1.0, ("sin-token", 0.0)),
    "position": step(1.0, ("sin-posición", 0.0), ("posición-dos-veces", 2.0)),
    "type": step(1.0, ("sin-tipo", 0.0)),
    # Por cuánto se multiplican el token y cada sumando, a partir de d_model y de cuántos son.
    "scale": step(
        lambda d, n: (1, 1),
        ("√d_model", lambda d, n: (math.sqrt(d), 1), lambda d, n: (1, math.sqrt(d))),
        ("media-de-los-tres", lambda d, n: (1, 1 / n)),
    ),
    # De los sumandos y de la normalización, la salida.
    "place": step(
        lambda parts, norm: norm(sum(parts)),
        ("norma-antes", lambda parts, norm: norm(parts[0]) + sum(parts[1:])),
        ("norma-antes", lambda parts, norm: sum(map(norm, parts))),
        ("norma-antes", lambda parts, norm: norm(sum(parts[1:-1], parts[0])) + sum(parts[-1:])),
        ("norma-antes", lambda parts, norm: norm(parts[0] + parts[-1]) + sum(parts[1:-1])),
        ("sin-norma", lambda parts, norm: sum(parts)),
        ("norma-dos-veces", lambda parts, norm: norm(norm(sum(parts)))),
        ("suma-de-más", lambda parts, norm: sum(parts) + norm(sum(parts))),
        ("producto", lambda parts, norm: norm(math.prod(parts))),
    ),
    "axis": step((-1,), ("norma-otro-eje", (-2,), (0,), (0, 1)), ("norma-todo", (-2, -1), (0, 1, 2))),
    # Si se resta la media en lo que se divide, y en lo que se usa para medir la desviación.
    "center": step((True, True), ("sin-centrar", (False, True), (False, False))),
    "spread": step(
        spread(),
        ("varianza-n-1", spread(correction=1)),
        ("sin-raíz", spread(root=False)),
        ("sin-dividir", lambda x, dims, inside, outside: 1.0),
        ("norma-l2", norm(least=0.0), norm(least=1e-12)),
    ),
    "beta": step(True, ("sin-β", False)),
    "eps": step(
        lambda eps: eps,
        ("sin-eps", lambda eps: 0.0),
        ("eps-fijo", *(lambda eps, p=p: 10.0**-p for p in (5, 12, 6, 8, 3, 4, 7, 9, 10, 2))),
    ),
    "inside": step(True, ("eps-fuera", False)),
    "gamma": step(True, ("sin-γ", False)),
    # De lo normalizado, γ y β, la salida.
    "affine": step(
        lambda x, gamma, beta: x * gamma + beta,
        ("γ-y-β", lambda x, gamma, beta: x * beta + gamma),
        ("β-antes", lambda x, gamma, beta: (x + beta) * gamma),
    ),
}


def vectors(seed, shape, eps, factor=1.0, plain=True):
    """Tres lotes de vectores, γ, β y ε. ``plain``: γ y β son unos."""
    *parts, affine = drawn(seed, *[shape] * 3, (2, shape[-1]))
    return (*(part * factor for part in parts), *(torch.ones_like(affine) if plain else affine), eps)


def constant(eps):
    """Vectores de números todos iguales: su varianza es 0."""
    ones, each = torch.ones(2, 3, 4), torch.arange(1.0, 7).reshape(2, 3, 1)
    return ones * each, ones * each**2, ones * 2, torch.ones(4), torch.ones(4), eps


def uneven():
    """Vectores anchos con un número mucho mayor que los demás, y una γ grande."""
    token, position, kind, gamma, beta, _ = vectors(6, (2, 5, 64), 0.0, plain=False)
    token[..., 3] += 1e4
    return token, position, kind, 50 * gamma, beta, 1e-12


def tiny(name, token, rest, gamma, beta):
    token, rest, gamma, beta = map(torch.tensor, ([[token]], [[rest]], gamma, beta))
    return Case(name, (token, rest, rest, gamma, beta, 0.0))


SUMS = (
    Case("2 frases de 3 tokens, d_model = 6 y ε = 1e-9", vectors(0, (2, 3, 6), 1e-9, 30.0)),
    Case("3 frases de 4 tokens, d_model = 4 y ε = 1e-9", vectors(1, (3, 4, 4), 1e-9, 30.0)),
)
EPSILONS = (
    Case("ε = 0.5", vectors(2, (2, 3, 6), 0.5)),
    Case("números muy pequeños y ε = 1e-6", vectors(3, (2, 3, 5), 1e-6, 1e-4)),
    Case("vectores de números iguales y ε = 0.001", constant(1e-3)),
)
AFFINE = (
    Case("una γ y una β cualesquiera", vectors(4, (2, 3, 6), 0.1, plain=False)),
    Case("otra γ y otra β", vectors(5, (3, 4, 4), 0.1, plain=False)),
    Case("d_model = 64 y un número mucho mayor que los demás", uneven()),
)


@each_output(LAWS)
def mean_one(output, token, position, kind, gamma, *others):
    """Que, con γ y β a 1, la media de cada vector sea 1."""
    means = output.mean(-1)
    if bool((gamma == 1).all()) and not same(means, torch.ones(means.shape)):
        worst = float(means.flatten()[(means - 1).abs().argmax()])
        yield "propiedad-media", {"mean": show_both(worst, 1.0)[0]}


def like_bert(attempt):
    """Con los vectores de verdad, tiene que salir lo que entra en la primera capa de BERT."""
    bert = course_lib.extract_embeddings("I gave the dog a bone")
    encoder = course_lib.load_bert().encoder
    kind, last = encoder.sentence_type.weight[0].detach(), encoder.normalization
    parts = bert.token_embeddings, bert.positional_encodings, kind.expand_as(bert.token_embeddings)
    output = attempt.ask(*parts, last.weight.detach(), last.bias.detach(), last.eps)
    if output is not None and same(output, bert.encoder_input, 1e-3, 1e-3):
        yield "con las tablas de BERT, sale justo lo que entra en su primera capa."


same_shape = right_shape(lambda x, *rest: x.shape, "La forma de tu salida no es (B, L, d_model).", "02 §6")
SUMMED = ("token", "position", "type")


class EncoderInput(Exercise):
    """Comprueba lo que entra en la primera capa de BERT.

    Args:
        function: recibe ``(token_vectors, position_vectors, type_vectors, gamma, beta, eps)``: tres
            tensores ``(B, L, d_model)``, dos ``(d_model,)`` y un número. Devuelve ``(B, L, d_model)``.
    """

    number, title, points = "2.2", "lo que entra en la primera capa", 3
    names = ("token_vectors", "position_vectors", "type_vectors", "gamma", "beta", "eps")
    letters = (*["B L d_model"] * 3, "d_model", "d_model")
    axes = AXES
    stages = (
        Stage((*SUMMED, "scale", "place", "axis", "center", "spread", "beta"), SUMS),
        Stage(("eps", "inside"), EPSILONS),
        Stage(("gamma", "affine"), AFFINE),
    )
    extra = (Case("números minúsculos y ε = 1e-12", vectors(7, (2, 3, 5), 1e-12, 1e-5)),)
    tiny = (
        tiny("un vector de 2 números", [1.0, 3.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]),
        tiny("un vector de 2 números, con γ y β", [1.0, 2.0], [1.0, 2.0], [2.0, 3.0], [0.0, 1.0]),
    )
    must = (half_precision, same_shape, finite("02 §6"), mean_one)
    notes = (like_bert,)

    def skip(self, choice):
        """Si comete un error en un paso que otro de sus errores deja sin efecto."""
        idle = {axis for mistake in mistakes(choice) for axis in IDLE.get(mistake.id, ())}
        return any(choice[axis].mistake for axis in idle & choice.keys())

    def compute(self, choice, token, position, type_, gamma, beta, eps):
        times = [(x, choice[name]) for name, x in zip(SUMMED, (token, position, type_))]
        times = [(x, factor) for x, factor in times if factor]
        if not times:
            raise ValueError
        first, each = choice["scale"](token.shape[-1], len(times))
        parts = [x * (factor * each * (first if x is token else 1)) for x, factor in times]
        inside = choice["eps"](eps)
        inside, outside = (inside, 0.0) if choice["inside"] else (0.0, inside)
        scale = gamma if choice["gamma"] else torch.ones_like(gamma)
        shift = beta if choice["beta"] else torch.zeros_like(beta)

        def normalize(x):
            dims = choice["axis"]
            centered = x - x.mean(dims, keepdim=True)
            above, measured = (centered if center else x for center in choice["center"])
            x = above / choice["spread"](measured, dims, inside, outside)
            return choice["affine"](x, scale, shift)

        return {"output": choice["place"](parts, normalize)}
