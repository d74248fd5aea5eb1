"""Los pasos de una cabeza que proyecta, y cómo se buscan varios errores a la vez.

Lo usan la autoatención enmascarada (lección 08) y la atención cruzada (lección 09).
"""

import functools
import math
from itertools import combinations, product

import torch

from course_lib.checkers.legacy_attention import Attention
from course_lib.checkers.family import (
    Case,
    Diagnosis,
    Exercise,
    Mistake,
    Option,
    Raised,
    clone,
    fewest,
)
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.legacy_steps import (
    LATE,
    SCALES,
    SOFTMAX_OPTIONS,
    VALUE_OPTIONS,
    filled,
    row_sums,
    scale_mistake,
)

# --- Buscar por número de errores -----------------------------------------------------------------


class FewestFirst(Exercise):
    """Busca primero quien no tenga ningún error, después uno, después dos, y unos pocos de tres.

    Sirve cuando todos los pasos se notan a la vez y no hay pruebas que los separen.
    """

    frequent = 8  # dos errores que no estén entre los primeros de sus pasos no se prueban juntos
    in_threes = ()  # de tres en tres, solo los cuatro primeros errores de estos pasos

    def diagnose(self, learner, seen):
        values = [value for value in seen.values() if isinstance(value, torch.Tensor)]
        if all(value.isnan().all() for value in values):
            return Diagnosis({}, complete=False)  # a eso se llega por muchos caminos
        found = self.search(self.axes, seen)
        if found.complete:
            return found
        extra = {axis: more for axis, more in self.extra_options(learner).items() if more}
        for axis in extra:
            axes = {name: [*options, *extra.get(name, ())] for name, options in self.axes.items()}
            measured = self.search(axes | {axis: extra[axis]}, seen, most=2)
            if measured.complete:
                return measured
        return found

    def search(self, axes, seen, most=3):
        cases = sorted(
            (case for case in self.all_cases() if case in seen),
            key=lambda case: isinstance(seen[case], Raised),
        )
        for size in range(most + 1):
            matching = [
                choice
                for choice in self.members(axes, size)
                if all(self.agrees(choice, case, seen[case]) for case in cases)
            ]
            if matching:
                return fewest(matching, complete=True)
        return Diagnosis({}, complete=False)

    def members(self, axes, size):
        """Las combinaciones con un error en ``size`` pasos, y solo en ellos."""
        good = {axis: [o for o in options if not o.mistake] for axis, options in axes.items()}
        bad = {axis: [o for o in options if o.mistake] for axis, options in axes.items()}
        if size > 2:
            bad = {axis: bad[axis][:4] for axis in self.in_threes}
        rare = {id(option) for options in bad.values() for option in options[self.frequent :]}
        for wrong in combinations(bad, size):
            lists = [bad[axis] if axis in wrong else good[axis] for axis in axes]
            for options in product(*lists):
                if size == 2 and rare and sum(id(option) in rare for option in options) == 2:
                    continue
                if not self.redundant(choice := dict(zip(axes, options))):
                    yield choice

    def redundant(self, choice):
        """Si da lo mismo que otra combinación con los mismos errores: no hace falta probarla."""
        return False


# --- Los pasos ------------------------------------------------------------------------------------


def lost_numbers(look):
    bad = int((~look.yours.isfinite()).sum())
    if not bad:
        return ""
    return (
        f"Con {look.case.name}, {bad} de los {look.yours.numel()} números de tu salida son NaN o ∞."
    )


MIXED = {
    # Sacar el value de otra matriz o multiplicar los pesos por otra cosa: da lo mismo.
    ("W_V", other): Mistake(
        f"{name}-por-value",
        f"Lo que mezclas son las {plural}, x·{other}: tienen que ser los values.",
        "05 §4",
    )
    for name, plural, other in (("key", "keys", "W_K"), ("query", "queries", "W_Q"))
}


def matrix_options(name, own):
    """De dónde sale la query, la key o el value: de su matriz o, por error, de otra."""
    options = [Option((own, False))]
    for other in ("W_Q", "W_K", "W_V"):
        if other != own:
            mistake = Mistake(
                f"{own}-cambiada-por-{other}",
                f"Has sacado {name} con {other}: sale de {own}.",
                "02 §10",
            )
            options.append(Option((other, False), MIXED.get((own, other), mistake)))
    text = f"No has proyectado {name}: es x·{own}."
    options.append(Option((None, False), Mistake(f"sin-{own}", text, "02 §10")))
    text = f"Has traspuesto {own}: se multiplica tal cual, x @ {own}."
    options.append(Option((own, True), Mistake(f"{own}-traspuesta", text, "06 §3")))
    return options


ALL_TRANSPOSED = Mistake(
    "matrices-traspuestas", "Has traspuesto las matrices: se multiplica tal cual, x @ W.", "06 §3"
)
NOT_PROJECTED = Mistake(
    "sin-proyectar",
    "No usas W_Q, W_K ni W_V: la query, la key y el value son el mismo vector.",
    "02 §10",
)


def scale_options(skip=(), **other):
    """Los divisores de la atención, con x delante; √d_model es aquí la anchura de x."""
    yield Option((lambda x, q, k, v: math.sqrt(q.shape[-1]), False))
    for name, (divisor, text) in SCALES.items():
        if divisor is None or name in skip:
            continue
        if name == "√d_model":
            chosen = (lambda x, q, k, v: math.sqrt(x.shape[-1]), False)
            text = "Has dividido por √d_model, la anchura de x, y no por √d_k, la de las queries."
        else:
            chosen = (lambda x, q, k, v, divisor=divisor: divisor(q, k, v), False)
        yield Option(chosen, scale_mistake(name, text))
    text = "Has dividido por d_model, la anchura de x, y no por √d_k."
    yield Option((lambda x, q, k, v: x.shape[-1], False), scale_mistake("d_model", text))
    yield Option((lambda x, q, k, v: math.sqrt(q.shape[-1]), True), LATE)


def softmaxes():
    """Las formas de repartir. Con tres ejes, dim=1 es dim=−2, y dim=2 es dim=−1."""
    naive_softmax = SOFTMAX_OPTIONS[0].value
    yield Option(
        lambda scores, naive: naive_softmax(scores, naive) if naive else scores.softmax(-1)
    )
    for option in SOFTMAX_OPTIONS[1:]:
        name = option.mistake.id.removeprefix("softmax-")
        if name == "base-2":  # también bien hecha, sin que se desborde
            yield Option(
                lambda scores, naive: naive_softmax(scores * math.log(2), naive), option.mistake
            )
        elif name not in ("eje-1", "eje-2", "eje--3", "sin-dim"):
            yield option


def value_options(other=None):
    """Lo que se hace con los pesos; de qué matriz sale el value se averigua aparte."""
    for option in VALUE_OPTIONS:
        name = option.mistake.id if option.mistake else ""
        if name == "sin-pesos" and other:
            continue
        if name not in ("key-por-value", "query-por-value"):
            alone = other and name == "suma-por-value"
            yield Option(option.value, other if alone else option.mistake)


@functools.lru_cache(maxsize=4096)
def project(name, transposed, x, W_Q, W_K, W_V):
    """x por una de las matrices, o sola."""
    W = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, None: None}[name]
    return x if W is None else x @ (W.mT if transposed else W)


@functools.lru_cache(maxsize=4096)
def dot(query, key):
    return query @ key.mT


def hidden_zeros(scores, mask):
    kept = scores * mask
    return kept.masked_fill(kept == 0, -torch.inf)


def divided_again(weights, mask):
    kept = weights * mask
    return kept / kept.sum(-1, keepdim=True)


def mask_mistake(name, text, consequence=None, read="04 §4"):
    return Mistake(f"máscara-{name}", text, read, consequence)


def weak(leaked):
    text = "El número con que tapas no es bastante negativo: a lo prohibido le queda peso. Usa −∞."
    return mask_mistake("poco-negativa", text, leaked)


def hide_options(missing, leaked):
    """Qué se hace con la máscara: a las puntuaciones, antes de la softmax, y a los pesos, después.

    Args:
        missing: el error de no usarla.
        leaked: la consecuencia de los que dejan peso a lo prohibido.
    """
    inverted = mask_mistake(
        "al-revés",
        "Has tapado lo permitido y has dejado lo prohibido: se tapa donde la máscara es False.",
        leaked,
        "04 §6",
    )
    zero = mask_mistake(
        "a-cero",
        "Pones a 0 las puntuaciones prohibidas, o las multiplicas por la máscara: e⁰ es 1, y siguen ahí.",
        leaked,
        "04 §4.3",
    )
    added = mask_mistake(
        "sumada",
        "A lo prohibido solo le restas 1 respecto a lo permitido: se suma 0 o −∞, no 1 o 0.",
        leaked,
        "04 §4.4",
    )
    more = mask_mistake(
        "suma-uno",
        "Sumas 1 a las puntuaciones prohibidas: así pesan más. Usa −∞.",
        leaked,
        "04 §4.4",
    )
    afterwards = mask_mistake(
        "después",
        "Aplicas la máscara después de la softmax y no vuelves a repartir: las filas ya no suman 1.",
        row_sums,
        "04 §4.1",
    )
    zero_is_blocked = mask_mistake(
        "cero-prohibido",
        "Tapas las puntuaciones que valen 0, y una puntuación permitida también puede valer 0.",
        lost_numbers,
        "04 §4.3",
    )
    sign = mask_mistake(
        "signo",
        "Tapas con +∞ o un número muy grande: lo prohibido se lo lleva todo. Es −∞.",
        leaked,
    )
    again = mask_mistake(
        "reparte-otra-vez",
        "Tapas los pesos y vuelves a dividir: si lo prohibido se lleva todo el peso, es 0/0. Tapa las "
        "puntuaciones.",
        lost_numbers,
        "04 §4.2",
    )
    overwritten = mask_mistake(
        "tapa-pesos",
        "Tapas los pesos, después de la softmax, con un número muy negativo: son las puntuaciones, antes.",
        None,
        "04 §4.1",
    )
    between = mask_mistake(
        "entre-dos-softmax",
        "Haces una softmax, tapas y haces otra: se tapa antes de la única softmax.",
        None,
        "04 §4.1",
    )
    onto_weights = mask_mistake(
        "suma-a-pesos", "Sumas la máscara a los pesos, después de la softmax.", row_sums, "04 §4.4"
    )
    before = [
        (filled(-torch.inf), None),
        (filled(-1e9), None),
        (None, missing),
        (lambda scores, mask: scores.masked_fill(mask, -torch.inf), inverted),
        (lambda scores, mask: scores * mask, zero),
        (lambda scores, mask: scores + mask, added),
        (lambda scores, mask: scores.masked_fill(mask, -1e9), inverted),
        (lambda scores, mask: scores - (~mask).float(), added),
        (lambda scores, mask: scores + mask * -1e9, inverted),
        (lambda scores, mask: scores + (~mask).float(), more),
        (filled(torch.inf), sign),
        (filled(1e9), sign),
        (hidden_zeros, zero_is_blocked),
    ]
    after = [
        (lambda weights, mask: weights * mask, afterwards),
        (divided_again, again),
        (lambda weights, mask: weights * ~mask, (afterwards, inverted)),
        (lambda weights, mask: weights.masked_fill(~mask, -torch.inf), overwritten),
        (lambda weights, mask: weights.masked_fill(~mask, -1e9), overwritten),
        (
            lambda weights, mask: weights.masked_fill(~mask, torch.finfo(torch.float32).min),
            overwritten,
        ),
        (lambda weights, mask: weights.masked_fill(~mask, -torch.inf).softmax(-1), between),
        (lambda weights, mask: weights + mask, onto_weights),
    ]
    options = [Option((function, None), mistake) for function, mistake in before]
    options.insert(2, Option((filled(-1e9), lambda weights, mask: weights * mask)))
    options[5:5] = [Option((None, function), mistake) for function, mistake in after[:1]]
    return options + [Option((None, function), mistake) for function, mistake in after[1:]]


# --- La comprobación ------------------------------------------------------------------------------


class OneHead(FewestFirst):
    """Lo que comparten la autoatención enmascarada y la cruzada, de una cabeza."""

    weak = None  # el error de tapar con un número pequeño
    in_threes = ("hide", "allowed", "scale", "softmax", "every", "value")
    expects_tuple = Attention.expects_tuple
    form = Attention.form
    found_scale = Attention.found_scale

    def shape(self, arguments):
        """La forma que tiene que tener la salida."""
        raise NotImplementedError

    def malformed(self, seen, text, section):
        """Lo primero que se mira cuando no se reconoce nada: la forma, y que todo sea finito."""
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            shape = self.shape(case.arguments)
            if output.shape != shape:
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {shape}."
                return [Finding("propiedad-forma", text, story, section)]
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                text = "Tu salida tiene números que no son finitos. Recuerda que 0·(−∞) es NaN."
                story = f"Con {case.name}, {bad} de {output.numel()} son NaN o ∞."
                return [Finding("propiedad-finita", text, story, "04 §7")]
        return []

    def leaked(self, learner, low):
        """El peso de un token tapado frente a otro que se ve y tiene de puntuación ``-low``."""
        raise NotImplementedError

    def redundant(self, choice):
        # Con qué se tapa solo se nota si puede quedar tapado todo lo que se reparte.
        whole = choice["softmax"].mistake or choice["allowed"].mistake
        return choice["hide"] in self.axes["hide"][1:3] and not whole

    def main(self, value, case):
        """La salida: lo que se devuelve o, si es una pareja, lo primero (o lo que tenga su forma)."""
        if not isinstance(value, tuple):
            return value
        shape = self.shape(case.arguments)
        first, second = (*value, None)[:2]
        if second is not None and first is not None and first.shape != shape == second.shape:
            return second
        return first

    def extra_options(self, learner):
        scales = [
            Option(
                (lambda x, q, k, v, divisor=option.value: divisor(q, k, v), False), option.mistake
            )
            for option in self.found_scale(learner)
        ]
        return {"scale": scales, "hide": list(self.found_fill(learner))}

    def mistake_ids(self):
        measured = {f"escala-{name}" for name in ("fija", "de-más", "otra")}
        returned = {"orden-de-la-pareja", "devuelve-puntuaciones", "devuelve-pesos-traspuestos"}
        return super().mistake_ids() | measured | returned | {self.weak.id}

    def ask(self, learner, *arguments):
        """La salida de quien aprende con estos argumentos, o ``None``."""
        outcome = self.call(learner, *clone(arguments))
        case = Case("", arguments)
        value, problem = (None, True) if outcome.problem else self.read(outcome.value, case)
        output = None if problem else self.main(value, case)
        return output if isinstance(output, torch.Tensor) else None

    def found_fill(self, learner):
        """Con qué número tapa: se baja la puntuación que se ve hasta que lo tapado pesa lo mismo."""
        low, high = 0.0, 4096.0
        if not self.leaked(learner, low) < 0.5 < self.leaked(learner, high):
            return
        for _ in range(40):
            middle = (low + high) / 2
            weight = self.leaked(learner, middle)
            if 0.01 < weight < 0.99:
                number = math.log(weight / (1 - weight)) - middle
                number = round(number) if abs(number - round(number)) < 1e-3 else number
                yield Option((filled(number), None), self.weak)
                return
            low, high = (middle, high) if weight < 0.5 else (low, middle)
