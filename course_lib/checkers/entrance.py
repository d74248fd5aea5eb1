"""Comprueba lo que entra en la primera capa de BERT: token + posición + tipo, normalizado.

La familia: {los tres sumandos, sin el tipo…} × {la norma después, antes, ninguna…} × {sobre cada vector,
sobre otro eje…} × {÷desviación, ÷varianza…} × {ε dentro de la raíz, fuera…} × {·γ + β…}.
"""

import math

import torch

from course_lib.checkers.family import Case, Mistake, Option, Raised, Stage, same, show
from course_lib.checkers.few_mistakes import FewMistakes
from course_lib.checkers.engine.report import Finding

ENTRANCE_TEXTS = {
    # Cada error: qué está mal; y, si no es en 02 §8, dónde se explica.
    "sin-token": "Falta sumar el vector del token.",
    "sin-posición": ("Falta sumar la posición.", "02 §5"),
    "posición-dos-veces": ("Has sumado la posición dos veces.", "02 §5"),
    "sin-tipo": "Falta sumar el tipo.",
    "√d_model": ("Has multiplicado por √d_model: BERT no lo hace.", "02 §7"),
    "media-de-los-tres": "Has hecho la media de los vectores: BERT los suma.",
    "norma-antes": "Normalizas antes de haberlo sumado todo: primero la suma y después la norma.",
    "sin-norma": "Devuelves la suma: falta normalizarla.",
    "norma-dos-veces": "Has normalizado dos veces.",
    "suma-de-más": "Has sumado otra vez la entrada a lo normalizado: aquí no hay conexión residual.",
    "producto": "Has multiplicado los tres vectores: se suman.",
    "norma-otro-eje": (
        "Has normalizado a lo largo de otro eje: es cada vector por su cuenta, dim=-1.",
        "02 §8",
    ),
    "norma-todo": "Has usado una sola media y una sola desviación para varios vectores: es una por vector.",
    "sin-centrar": "Falta restar la media de cada vector.",
    "varianza-n-1": "La varianza se divide por n, y no por n − 1: usa correction=0.",
    "sin-raíz": "Has dividido por la varianza: se divide por su raíz, la desviación.",
    "sin-dividir": "Falta dividir por la desviación.",
    "norma-l2": "Has dividido por la longitud del vector (su norma), y no por su desviación.",
    "sin-β": "No sumas β.",
    "sin-eps": "No usas ε: con un vector de números iguales divides por 0.",
    "eps-fijo": "No usas el ε que recibes, sino otro, siempre el mismo.",
    "eps-fuera": "Sumas ε a la desviación: va dentro de la raíz, con la varianza.",
    "sin-γ": "No multiplicas por γ.",
    "γ-y-β": "Has cambiado γ por β: γ multiplica y β se suma.",
    "β-antes": "Sumas β antes de multiplicar por γ: es después.",
}


def moment(look, measure, name):
    """La media o la desviación del vector que más se aparta, y la que tenía que tener."""
    if look.yours.shape != look.right.shape:
        return ""
    yours, right = (measure(x.double()).flatten() for x in (look.yours, look.right))
    worst = (yours - right).abs().nan_to_num(torch.inf).argmax()
    if abs(yours[worst] - right[worst]) < 1e-3:
        return ""
    mine, good = (round(float(x[worst]), 3) + 0.0 for x in (yours, right))
    return f"Con {look.case.name}, uno de tus vectores tiene {name} {show(mine)}, y tenía que tener {show(good)}."


def average(look):
    return moment(look, lambda x: x.mean(-1), "media")


def deviation(look):
    return moment(look, lambda x: x.std(-1, correction=0), "desviación")


SEEN_IN = {
    average: ("sin-β", "sin-centrar", "β-antes", "suma-de-más"),
    deviation: (
        *(
            "norma-antes",
            "norma-otro-eje",
            "norma-todo",
            "norma-dos-veces",
            "sin-norma",
            "varianza-n-1",
        ),
        *("sin-raíz", "sin-dividir", "norma-l2", "sin-eps", "eps-fijo", "eps-fuera"),
    ),
}


def mistaken(name, *values):
    """Las formas de cometer un error de ``ENTRANCE_TEXTS``."""
    text, read = found if isinstance(found := ENTRANCE_TEXTS[name], tuple) else (found, "02 §8")
    consequence = next((story for story, names in SEEN_IN.items() if name in names), None)
    return [Option(value, Mistake(name, text, read, consequence)) for value in values]


def spread(correction=0, root=True):
    """La desviación de ``x``, ya con su media quitada si toca: (inside, outside) son los dos ε."""

    def measure(x, dims, inside, outside):
        many = math.prod(x.shape[dim] for dim in dims) - correction
        variance = (x**2).sum(dims, keepdim=True) / many + inside
        return (variance.sqrt() if root else variance) + outside

    return measure


def norm(least):
    return lambda x, dims, inside, outside: (x**2).sum(dims, keepdim=True).sqrt().clamp_min(least)


ENTRANCE_AXES = {
    "token": [Option(1.0), *mistaken("sin-token", 0.0)],
    "position": [
        Option(1.0),
        *mistaken("sin-posición", 0.0),
        *mistaken("posición-dos-veces", 2.0),
    ],
    "type": [Option(1.0), *mistaken("sin-tipo", 0.0)],
    # Por cuánto se multiplican el token y cada sumando, a partir de d_model y de cuántos son.
    "scale": [
        Option(lambda d, n: (1, 1)),
        *mistaken("√d_model", lambda d, n: (math.sqrt(d), 1), lambda d, n: (1, math.sqrt(d))),
        *mistaken("media-de-los-tres", lambda d, n: (1, 1 / n)),
    ],
    # De los sumandos y de la normalización, la salida.
    "place": [
        Option(lambda parts, norm: norm(sum(parts))),
        *mistaken(
            "norma-antes",
            lambda parts, norm: norm(parts[0]) + sum(parts[1:]),
            lambda parts, norm: sum(map(norm, parts)),
            lambda parts, norm: norm(sum(parts[1:-1], parts[0])) + sum(parts[-1:]),
            lambda parts, norm: norm(parts[0] + parts[-1]) + sum(parts[1:-1]),
        ),
        *mistaken("sin-norma", lambda parts, norm: sum(parts)),
        *mistaken("norma-dos-veces", lambda parts, norm: norm(norm(sum(parts)))),
        *mistaken("suma-de-más", lambda parts, norm: sum(parts) + norm(sum(parts))),
        *mistaken("producto", lambda parts, norm: norm(math.prod(parts))),
    ],
    "axis": [
        Option((-1,)),
        *mistaken("norma-otro-eje", (-2,), (0,), (0, 1)),
        *mistaken("norma-todo", (-2, -1), (0, 1, 2)),
    ],
    # Si se resta la media en lo que se divide, y en lo que se usa para medir la desviación.
    "center": [Option((True, True)), *mistaken("sin-centrar", (False, True), (False, False))],
    "spread": [
        Option(spread()),
        *mistaken("varianza-n-1", spread(correction=1)),
        *mistaken("sin-raíz", spread(root=False)),
        *mistaken("sin-dividir", lambda x, dims, inside, outside: 1.0),
        *mistaken("norma-l2", norm(least=0.0), norm(least=1e-12)),
    ],
    "beta": [Option(True), *mistaken("sin-β", False)],
    "eps": [
        Option(lambda eps: eps),
        *mistaken("sin-eps", lambda eps: 0.0),
        *mistaken(
            "eps-fijo", *(lambda eps, p=p: 10.0**-p for p in (5, 12, 6, 8, 3, 4, 7, 9, 10, 2))
        ),
    ],
    "inside": [Option(True), *mistaken("eps-fuera", False)],
    "gamma": [Option(True), *mistaken("sin-γ", False)],
    # De lo normalizado, γ y β, la salida.
    "affine": [
        Option(lambda x, gamma, beta: x * gamma + beta),
        *mistaken("γ-y-β", lambda x, gamma, beta: x * beta + gamma),
        *mistaken("β-antes", lambda x, gamma, beta: (x + beta) * gamma),
    ],
}


def vectors(seed, shape, eps, factor=1.0, plain=True):
    """Tres lotes de vectores, γ, β y ε. ``plain``: γ y β son unos."""
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(shape, generator=generator) * factor for _ in range(3)]
    gamma, beta = torch.randn(2, shape[-1], generator=generator)
    ones = torch.ones(shape[-1])
    return (*parts, *((ones, ones.clone()) if plain else (gamma, beta)), eps)


def constant(shape, eps):
    """Vectores de números todos iguales: su varianza es 0."""
    ones = torch.ones(shape)
    each = torch.arange(1.0, 1 + shape[0] * shape[1]).reshape(*shape[:2], 1)
    return ones * each, ones * each**2, ones * 2, torch.ones(shape[-1]), torch.ones(shape[-1]), eps


class EncoderInput(FewMistakes):
    """Token + posición + tipo, normalizado: lo que entra en la primera capa de BERT."""

    number, title, points = "2.2", "lo que entra en la primera capa", 3
    names = ("token_vectors", "position_vectors", "type_vectors", "gamma", "beta", "eps")
    axes = ENTRANCE_AXES
    idle = {
        "sin-norma": ("axis", "center", "spread", "beta", "eps", "inside", "gamma", "affine"),
        "norma-l2": ("eps", "inside"),
        "sin-dividir": ("eps", "inside"),
        "sin-raíz": ("inside",),
        "sin-eps": ("inside",),
    }
    stages = (
        Stage(
            ("token", "position", "type", "scale", "place", "axis", "center", "spread", "beta"),
            (
                Case(
                    "2 frases de 3 tokens, d_model = 6 y ε = 1e-9",
                    vectors(0, (2, 3, 6), 1e-9, 30.0),
                ),
                Case(
                    "3 frases de 4 tokens, d_model = 4 y ε = 1e-9",
                    vectors(1, (3, 4, 4), 1e-9, 30.0),
                ),
            ),
        ),
        Stage(
            ("eps", "inside"),
            (
                Case("ε = 0.5", vectors(2, (2, 3, 6), 0.5)),
                Case("números muy pequeños y ε = 1e-6", vectors(3, (2, 3, 5), 1e-6, 1e-4)),
                Case("vectores de números iguales y ε = 0.001", constant((2, 3, 4), 1e-3)),
            ),
        ),
        Stage(
            ("gamma", "affine"),
            (
                Case("una γ y una β cualesquiera", vectors(4, (2, 3, 6), 0.1, plain=False)),
                Case("otra γ y otra β", vectors(5, (3, 4, 4), 0.1, plain=False)),
            ),
        ),
    )
    tiny = (
        Case(
            "un vector de 2 números",
            (
                torch.tensor([[[1.0, 3.0]]]),
                *(torch.zeros(1, 1, 2),) * 2,
                torch.ones(2),
                torch.zeros(2),
                0.0,
            ),
        ),
        Case(
            "un vector de 2 números, con γ y β",
            (
                *(torch.tensor([[[1.0, 2.0]]]),) * 3,
                torch.tensor([2.0, 3.0]),
                torch.tensor([0.0, 1.0]),
                0.0,
            ),
        ),
    )

    def compute(self, choice, token, position, type_, gamma, beta, eps):
        chosen = [
            (part, choice[name])
            for name, part in (("token", token), ("position", position), ("type", type_))
            if choice[name]
        ]
        if not chosen:
            raise ValueError
        first, each = choice["scale"](token.shape[-1], len(chosen))
        parts = [
            part * (factor * each * (first if part is token else 1)) for part, factor in chosen
        ]
        inside = choice["eps"](eps)
        inside, outside = (inside, 0.0) if choice["inside"] else (0.0, inside)

        def normalize(x):
            dims = choice["axis"]
            centered = x - x.mean(dims, keepdim=True)
            above, measured = (centered if center else x for center in choice["center"])
            x = above / choice["spread"](measured, dims, inside, outside)
            scale = gamma if choice["gamma"] else torch.ones_like(gamma)
            shift = beta if choice["beta"] else torch.zeros_like(beta)
            return choice["affine"](x, scale, shift)

        return {"output": choice["place"](parts, normalize)}

    def properties(self, learner, seen):
        """Lo que tiene que cumplir lo normalizado, con γ y β a 1."""
        for case, output in seen.items():
            if isinstance(output, Raised):
                continue
            token, *_, gamma, beta, eps = case.arguments
            if output.shape != token.shape:
                text = "La forma de tu salida no es (B, L, d_model)."
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {tuple(token.shape)}."
                yield Finding("propiedad-forma", text, story, "02 §8")
                return
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                text = f"Con {case.name}, {bad} de los {output.numel()} números de tu salida son NaN o ∞."
                yield Finding("propiedad-finita", text, "", "02 §8")
                return
            if bool((gamma == 1).all()) and not same(
                output.mean(-1), torch.ones(output.shape[:-1])
            ):
                text = "Con γ y β llenos de unos, la media de cada vector tiene que ser 1."
                wrong = (output.mean(-1) - 1).abs().argmax()
                story = f"Con {case.name}, uno de los tuyos tiene media {float(output.mean(-1).flatten()[wrong]):.2f}."
                yield Finding("propiedad-media", text, story, "02 §8")
                return

    def notes(self, learner, seen):
        """Con los vectores de verdad, tiene que salir lo que entra en la primera capa de BERT."""
        from course_lib import extract_embeddings, load_bert

        bert, layer = extract_embeddings("I gave the dog a bone"), load_bert().model.embeddings
        kind = (
            layer.token_type_embeddings.weight[0].detach().expand_as(bert.token_embeddings).clone()
        )
        tables = (bert.token_embeddings.clone(), bert.positional_encodings.clone(), kind)
        last = layer.LayerNorm
        outcome = self.call(
            learner, *tables, last.weight.detach().clone(), last.bias.detach().clone(), last.eps
        )
        if not outcome.problem and same(outcome.value.detach(), bert.encoder_input, 1e-3, 1e-3):
            yield "con las tablas de BERT, sale justo lo que entra en su primera capa."


ENCODER_INPUT = EncoderInput()
