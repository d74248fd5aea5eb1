"""Comprueba la atención de producto escalar escalado.

Sus pasos, y las formas malas de darlos, están en ``steps``. Aquí, las pruebas que los distinguen, lo
que se mide en el código de quien aprende y las propiedades que cumple cualquier atención.
"""

import functools
import math

import torch

from course_lib.checkers.family import Case, Exercise, Option, Raised, Stage, same, show
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.legacy_steps import (
    ALWAYS_CAUSAL,
    CONSTANTS,
    LATE,
    MASK_OPTIONS,
    SCALE_OPTIONS,
    SIGN,
    SOFTMAX_OPTIONS,
    SWAPPED,
    UNSTABLE,
    VALUE_OPTIONS,
    WEAK,
    causal,
    filled,
    scale_mistake,
)
from course_lib.masks import causal_mask, padding_mask

# --- Las pruebas ----------------------------------------------------------------------------------


def draw(seed, leading, L_q, L_k, d_k, d_v, mask=None, factor=1.0):
    """Q, K, V y máscara con números sembrados: ni saturan la softmax ni la dejan plana."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((L_q, d_k), (L_k, d_k), (L_k, d_v))
    q, k, v = (torch.randn(*leading, *shape, generator=generator) for shape in shapes)
    return q * factor, k, v, mask


def spread(mask, leading, L_q, L_k):
    return mask.expand(*leading, L_q, L_k).clone()


def attention_cases():
    """Las pruebas sin máscara, las de puntuaciones grandes y las de máscara."""
    plain_cases, large, masked = [], [], []
    for group, leading, seed in (("4", (2, 3), 0), ("3", (2,), 10), ("2", (), 20)):
        L_q, L_k = (4, 5) if group == "4" else (3, 5)
        say = {"4": ", con cabezas", "3": ", en un lote", "2": ", en una frase suelta"}[group]
        plain_cases += [
            Case(f"{L_q} queries y {L_k} keys{say}", draw(seed, leading, L_q, L_k, 6, 7), group),
            Case(
                f"6 tokens que se atienden entre sí{say}",
                draw(seed + 1, leading, 6, 6, 11, 11),
                group,
            ),
        ]
        large.append(
            Case(
                f"puntuaciones muy grandes{say}",
                draw(seed + 2, leading, 4, 4, 6, 7, factor=3000.0),
                group,
            )
        )
        future = spread(causal_mask(4), leading, 4, 4)
        batch = leading[0] if leading else 1
        lengths = torch.arange(5) < torch.tensor([3, 4][:batch])[:, None]
        padding = padding_mask(lengths)[..., 0, :] if group == "3" else padding_mask(lengths)
        padding = padding[0, 0] if group == "2" else padding
        square = torch.arange(4) < torch.tensor([2, 3][:batch])[:, None]
        square = (
            square[:, None, None] if group == "4" else square[:, None] if group == "3" else square
        )
        masked += [
            Case(f"la máscara causal{say}", draw(seed + 3, leading, 4, 4, 5, 5, future), group),
            Case(
                f"una máscara de relleno{say}",
                draw(seed + 4, leading, L_q, 5, 6, 7, spread(padding, leading, L_q, 5)),
                group,
            ),
            Case(
                f"una máscara de relleno y 4 tokens{say}",
                draw(seed + 5, leading, 4, 4, 6, 7, spread(square, leading, 4, 4)),
                group,
            ),
        ]
        if group == "4":
            plain_cases.append(
                Case("2 queries, 3 keys y una cabeza", draw(9, (1, 1), 2, 3, 6, 7), group)
            )
            # Puntuaciones de cientos: un −100 ya no tapa.
            q, k, v, _ = draw(seed + 6, leading, 4, 5, 6, 7)
            q, k = q.abs() * 100, -k.abs() * 10
            mixed = torch.tensor(
                [[True, False, True, True, False], [False, True, True, False, True]]
            )
            heads = [torch.cat([mixed[:, :2], mixed[:, 2:].roll(n, -1)], -1) for n in range(3)]
            mixed = spread(torch.stack(heads).repeat(1, 2, 1), leading, 4, 5)  # una por cabeza
            masked.append(Case("puntuaciones muy negativas y una máscara", (q, k, v, mixed), group))
            masked += [
                Case(
                    "una máscara (L_q, L_k), que se difunde",
                    draw(7, leading, 4, 4, 5, 5, causal_mask(4)),
                    "difusión",
                ),
                Case(
                    "una máscara (B, 1, 1, L_k), que se difunde",
                    draw(8, leading, 4, 5, 6, 7, padding),
                    "difusión",
                ),
            ]
    return tuple(plain_cases), tuple(large), tuple(masked)


PLAIN, LARGE, MASKED = attention_cases()


def tiny_cases():
    one, two = torch.tensor([[1.0]]), torch.tensor([[0.0], [2.0]])
    values = torch.tensor([[1.0], [3.0]])
    yield Case("1 token", (one, one, torch.tensor([[3.0]]), None))
    yield Case("1 query y 2 keys", (one, two, values, None))
    yield Case("2 queries y 2 keys", (two, two, values, None))
    yield Case(
        "2 queries, 2 keys y d_k = 2", (torch.eye(2) * 2, torch.ones(2, 2).tril(), values, None)
    )
    yield Case("la máscara causal", (two, two, values, causal_mask(2)))


@functools.lru_cache(maxsize=8192)  # las mismas pruebas, para todo el mundo
def attend(swapped, scale, softmax, always_causal, naive, before, after, query, key, value, mask):
    """Las puntuaciones y los pesos, con cada paso dado de la forma que se pide."""
    q, k = (key, query) if swapped else (query, key)
    divisor, late = scale
    scores, divide = q @ k.mT, divisor(query, key, value)
    if not late:
        scores = scores / divide
    if always_causal:
        scores = causal(scores)
    if before:
        scores = before(scores, mask)
    weights = softmax(scores, naive)
    if late:
        weights = weights / divide
    if after:
        weights = after(weights, mask)
    return scores, weights


class Attention(Exercise):
    """Q, K, V → softmax(Q·Kᵀ / √d_k)·V."""

    number, title, points = "5.2", "la atención entera", 4
    names, optional = ("query", "key", "value"), ("mask",)
    axes = {
        "order": [Option(False), Option(True, SWAPPED)],
        "scale": [
            *(Option((option.value, False), option.mistake) for option in SCALE_OPTIONS),
            Option((SCALE_OPTIONS[0].value, True), LATE),
            Option((lambda q, k, v: -math.sqrt(q.shape[-1]), False), SIGN),
        ],
        "softmax": SOFTMAX_OPTIONS,
        "extra": [Option(False)],
        "value": VALUE_OPTIONS,
        "naive": [Option(False), Option(True, UNSTABLE)],
        "mask": MASK_OPTIONS,
    }
    stages = (
        Stage(("order", "scale", "softmax", "extra", "value"), PLAIN),
        Stage(("naive",), LARGE),
        Stage(("mask",), MASKED),
    )
    tiny = tuple(tiny_cases())
    returns = "la salida, o la pareja (salida, pesos)"
    groups = {
        "4": "Con (B, h, L, d_k), un lote y cabezas, no funciona.",
        "3": "Con (B, L, d_k), un lote sin cabezas, no funciona.",
        "2": "Con (L, d_k), una frase suelta, no funciona.",
        "difusión": "Con una máscara que se difunde, como (L_q, L_k) o (B, 1, 1, L_k), no funciona.",
    }

    def compute(self, choice, query, key, value, mask=None):
        steps = tuple(choice[axis] for axis in ("order", "scale", "softmax", "extra", "naive"))
        hide = choice["mask"] if mask is not None else (None, None)
        scores, weights = attend(*steps, *hide, query, key, value, mask)
        output = choice["value"](weights, query, key, value)
        return {"output": output, "weights": weights, "scores": scores}

    def main(self, value, case):
        """La salida: lo que se devuelve o, si es una pareja, lo primero (o lo que tenga su forma)."""
        if not isinstance(value, tuple):
            return value
        query, _, values, _ = case.arguments
        shape = (*query.shape[:-1], values.shape[-1])
        first, second = (*value, None)[:2]
        if second is not None and first is not None and first.shape != shape == second.shape:
            return second
        return first

    def expects_tuple(self, value):
        return 1 <= len(value) <= 3

    def form(self, values, choice):
        """El orden de la pareja y lo que se devuelve como pesos."""
        for case, value in values.items():
            if not isinstance(value, tuple) or len(value) < 2 or value[1] is None:
                continue
            output, weights = value[:2]
            traced = self.trace(choice, case)
            if same(output, traced["weights"]) and same(weights, traced["output"]):
                text = "Devuelves (pesos, salida): en este curso el orden es (salida, pesos)."
                return [Finding("orden-de-la-pareja", text, read="05 §5")]
            if same(weights, traced["weights"]):
                continue
            if same(weights, traced["scores"]):
                text = "Como pesos devuelves las puntuaciones, antes de la softmax."
                return [Finding("devuelve-puntuaciones", text, read="05 §1")]
            if same(weights.mT, traced["weights"]):
                text = "Los pesos que devuelves están traspuestos: las filas son queries."
                return [Finding("devuelve-pesos-traspuestos", text, read="05 §4")]
            text = "Los pesos que devuelves no son los que dan tu salida."
            return [Finding("devuelve-otros-pesos", text, read="05 §4")]
        return []

    def too_narrow(self, seen):
        groups = {case.group for case in seen}
        if "4" in groups and "difusión" not in groups:
            text = (
                "Tu código se para con una máscara que se difunde, como (L_q, L_k) o (B, 1, 1, L_k): la "
                "misma para todas las cabezas o para todas las queries."
            )
            yield Finding("sin-difusión", text, read="04 §5.1")
        if groups & {"3", "4"}:
            return
        if any(isinstance(value, Raised) for value in seen.values()):
            return  # con una frase suelta tampoco funciona siempre
        text = (
            "Tu código funciona con una frase suelta, (L, d_k), y tiene que admitir un lote, "
            "(..., L, d_k)."
        )
        yield Finding("sin-lote", text, read="05 §5")

    def extra_options(self, learner):
        scales = [
            Option((option.value, False), option.mistake) for option in self.found_scale(learner)
        ]
        return {
            "scale": scales,
            "extra": [Option(True, ALWAYS_CAUSAL)] if self.hides_the_future(learner) else [],
            "mask": list(self.found_fill(learner)),
        }

    def hides_the_future(self, learner):
        """Si, sin máscara, lo primero no se entera de que cambia lo último."""
        for case in PLAIN:
            query, key, value, _ = case.arguments
            changed = value.clone()
            changed[..., -1, :] += 1.0
            outcomes = [self.call(learner, query, key, v, None) for v in (value, changed)]
            if any(outcome.problem for outcome in outcomes):
                continue
            read = [self.read(outcome.value, case) for outcome in outcomes]
            if any(problem for _, problem in read):
                return False
            first, second = (self.main(output, case) for output, _ in read)
            return isinstance(first, torch.Tensor) and same(first[..., 0, :], second[..., 0, :])
        return False

    def mistake_ids(self):
        measured = {f"escala-{name}" for name in ("fija", "de-más", "otra")}
        returned = {"orden-de-la-pareja", "devuelve-puntuaciones", "devuelve-pesos-traspuestos"}
        return super().mistake_ids() | measured | returned | {ALWAYS_CAUSAL.id}

    def found_fill(self, learner):
        """Con qué número tapa, si es pequeño: con puntuaciones a 0, se lee en la salida."""
        zeros = torch.zeros(1, 1, 2, 1)
        value, mask = torch.tensor([[[[0.0], [1.0]]]]), torch.tensor([[[[True, False]]]])
        weight = self.probe(learner, zeros[:, :, :1], zeros, value, mask)
        if weight is not None and 1e-6 < weight < 0.5:
            number = math.log(weight / (1 - weight))
            yield Option((filled(number), None), WEAK)
            yield Option((lambda scores, mask: scores + (~mask) * number, None), WEAK)

    def found_scale(self, learner):
        """El divisor que usa quien aprende: uno fijo conocido, o medido, por si es a·d_kᵖ."""
        measured = [self.measure(learner, d_k) for d_k in (1, 4)]
        for fixed in CONSTANTS:
            if any(found and abs(found - fixed) > 0.01 * fixed for found in measured):
                continue  # esta vez coincide, pero no es siempre
            text = f"Divides siempre por {show(fixed)}, sea cual sea la anchura: es por √d_k."
            yield Option(lambda q, k, v, fixed=fixed: fixed, scale_mistake("fija", text))
        if None in measured:
            return
        first, second = measured
        power = math.log(second / first, 4)
        if (
            abs(first - 1) < 0.01
            and min(abs(power - known) for known in (-1, -0.5, 0, 0.5, 1, 2)) < 0.01
        ):
            return  # ya está en la familia
        if abs(power) < 0.01 and min(abs(first - fixed) / fixed for fixed in CONSTANTS) < 1e-3:
            return
        if abs(power) < 0.01:
            text = f"Divides siempre por {show(first)}, sea cual sea la anchura: es por √d_k."
            name = "fija"
        elif abs(power - 0.5) < 0.01:
            text = f"Divides por {show(first)}·√d_k: sobra el {show(first)}."
            name = "de-más"
        else:
            text = (
                f"Divides por un número que no es √d_k: si d_k = 4, por {show(second)}, y es por 2."
            )
            name = "otra"
        yield Option(lambda q, k, v: first * q.shape[-1] ** power, scale_mistake(name, text))

    def measure(self, learner, d_k):
        """Por cuánto se dividen las puntuaciones: con dos keys, se lee en la salida."""
        query, key, value = (torch.zeros(1, 1, n, d) for n, d in ((1, d_k), (2, d_k), (2, 1)))
        query[..., 0], key[..., 0, 0], value[..., 0, 0] = 1.0, 1.0, 1.0
        weight = self.probe(learner, query, key, value, None)
        if weight is None or not 0.500001 < weight < 0.999999:
            return None
        return 1 / math.log(weight / (1 - weight))

    def probe(self, learner, query, key, value, mask):
        """La salida, si es un solo número; con cabezas, con lote o sin nada delante."""
        for axes in range(3):
            given = [
                x if x is None else x.reshape(x.shape[axes:]) for x in (query, key, value, mask)
            ]
            outcome = self.call(learner, *given)
            if outcome.problem:
                continue
            case = Case("", tuple(given))
            output, problem = self.read(outcome.value, case)
            output = None if problem else self.main(output, case)
            if isinstance(output, torch.Tensor) and output.numel() == 1:
                return float(output)
        return None

    def properties(self, learner, seen):
        """Lo que tiene que cumplir cualquier atención."""
        for case, output in seen.items():
            if not isinstance(output, torch.Tensor):
                continue
            query, key, value, mask = case.arguments
            shape = (*query.shape[:-1], value.shape[-1])
            if output.shape != shape:
                text = "La forma de tu salida no es (..., L_q, d_v)."
                story = f"Con {case.name} mide {tuple(output.shape)} y tenía que medir {shape}."
                yield Finding("propiedad-forma", text, story, "05 §4")
                return
            if not output.isfinite().all():
                bad = int((~output.isfinite()).sum())
                text = "Tu salida tiene números que no son finitos."
                story = f"Con {case.name}, {bad} de {output.numel()} son NaN o ∞."
                yield Finding("propiedad-finita", text, story, "05 §2")
                return
            low, high = value.amin(-2, keepdim=True), value.amax(-2, keepdim=True)
            outside = torch.maximum(low - output, output - high).amax()
            if outside > 1e-3:
                text = (
                    "Cada salida es una media ponderada de los values: está entre el menor y el mayor. "
                    "Mira si tus pesos son positivos y suman 1, y si añades algo después."
                )
                story = f"Con {case.name}, la tuya se sale en {show(outside)}."
                yield Finding("propiedad-media", text, story, "05 §4")
                return
        yield from self.leak(learner, seen)

    def leak(self, learner, seen):
        """Si cambiar un token prohibido cambia la salida, la máscara deja pasar algo."""
        for case, output in seen.items():
            query, key, value, mask = case.arguments
            if mask is None or not isinstance(output, torch.Tensor):
                continue
            blocked = ~mask.expand(*query.shape[:-1], key.shape[-2])
            changed = value.clone()
            changed[..., -1, :] += 1.0
            outcome = self.call(learner, *(x.clone() for x in (query, key, changed, mask)))
            other, problem = self.read(outcome.value, case) if not outcome.problem else (None, True)
            if problem or not isinstance(other := self.main(other, case), torch.Tensor):
                continue
            moved = ((other - output).abs().amax(-1) > 1e-4) & blocked[..., -1]
            if moved.any():
                text = "La máscara deja pasar algo: cambiar un token prohibido cambia la salida."
                amount = (other - output).abs().amax(-1)[moved].max()
                story = (
                    f"Con {case.name}, al sumar 1 al value del último token, una query que no lo ve se "
                    f"mueve {show(amount)}."
                )
                yield Finding("propiedad-fuga", text, story, "08 §3")
                return

    def notes(self, learner, seen):
        """Lo que solo se nota en los extremos: se dice, y vale."""
        if any(not self.agrees({}, case, output) for case, output in seen.items()):
            yield (
                "pones a 0 los pesos prohibidos y vuelves a dividir. Vale, salvo si lo prohibido tiene "
                "puntuaciones mucho más altas: entonces no queda nada que repartir. Lo cuenta 04 §4.2."
            )
        case = Case(
            "una query que no puede ver nada",
            draw(30, (1, 1), 2, 3, 4, 5, torch.tensor([[False] * 3, [True] * 3])),
        )
        outcome = self.call(learner, *clone_all(case.arguments))
        if outcome.problem:
            return
        value, problem = self.read(outcome.value, case)
        output = None if problem else self.main(value, case)
        if isinstance(output, torch.Tensor) and output.isnan().any():
            yield (
                "si una query no puede ver a nadie, tu salida es NaN; la de course_lib es 0. Lo cuenta 04 §7."
            )


def clone_all(arguments):
    return tuple(x.clone() for x in arguments)


ATTENTION = Attention()
EXERCISES = (ATTENTION,)


def check_scaled_dot_product_attention(function):
    """Comprueba una atención de producto escalar escalado.

    Args:
        function: recibe ``(query, key, value, mask=None)``, de formas ``(..., L_q, d_k)``,
            ``(..., L_k, d_k)`` y ``(..., L_k, d_v)``, y una máscara booleana que se difunde hasta
            ``(..., L_q, L_k)``. Devuelve la salida ``(..., L_q, d_v)``, o ``(salida, pesos)``.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(ATTENTION.check(function))
