"""Cómo está escrita una máscara: con qué convenio (booleana, unos y ceros, aditiva…) y con qué ejes.

Se averigua y se pasa a la forma del curso, y así lo que deja mirar se juzga aparte: una máscara de
números y al revés son dos errores, y se dicen los dos.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from course_lib.checkers.family import Case, Exercise, Mistake, Raised, clone, repeats, same, show
from course_lib.checkers.engine.report import Finding

# --- Cómo está escrita: el convenio ---------------------------------------------------------------


class Convention(NamedTuple):
    """Una forma de escribir permisos con números: ``read`` los pasa a True = puede mirar."""

    read: Callable
    mistake: Mistake | None = None


def convention(name, text, where, read):
    return Convention(read, Mistake(name, text, where))


FAR = 30.0  # sumado a una puntuación, e⁻³⁰ ya no se ve
BOOLEAN = Convention(lambda mask: mask)
NUMBERS = convention(
    "unos-y-ceros",
    "Tu máscara es de números, unos y ceros, y tiene que ser booleana: la atención de torch suma las que son "
    "float, y con las de enteros da un error.",
    "04 §4.4",
    lambda mask: mask != 0,
)
ADDITIVE = convention(
    "aditiva",
    "Tu máscara es la aditiva, la que se suma: 0 donde se puede mirar y un número muy negativo donde no. "
    "Aquí se pide la booleana.",
    "04 §6",
    lambda mask: mask == 0,
)
WEAK = convention(
    "aditiva-débil",
    "Tu máscara es la aditiva, con un número poco negativo, que no llega a prohibir. Y aquí se pide la "
    "booleana.",
    "04 §4.4",
    lambda mask: mask == 0,
)
ADDITIVE_ONES = convention(
    "aditiva-con-unos",
    "Tu máscara mezcla dos convenios: −∞ donde no se puede mirar, como la aditiva, y 1 donde se puede, "
    "como la de unos y ceros. Aquí se pide la booleana.",
    "04 §6",
    lambda mask: mask > 0,
)
POSITIVE = convention(
    "aditiva-positiva",
    "Tu máscara parece la aditiva con el signo cambiado: +∞, o un número enorme. Y aquí se pide la booleana.",
    "04 §6",
    lambda mask: mask == 0,
)
WITH_NAN = convention(
    "aditiva-con-nan",
    "Al multiplicar por −∞ para hacer la máscara aditiva te salen NaN: 0·∞ no es 0. Aquí se pide la booleana.",
    "04 §6",
    lambda mask: mask.isnan(),
)
BITS = convention(
    "negación-de-enteros",
    "Has negado enteros con ~, que les cambia los bits: de 1 sale −2 y de 0, −1. Pasa antes a booleano.",
    "04 §6",
    lambda mask: mask == -1,
)
ZEROS = convention(
    "solo-ceros",
    "Tu máscara es de números y todos son 0: leída como aditiva, no prohíbe nada; leída como unos y ceros, "
    "lo prohíbe todo. Se pide la booleana, que no deja dudas.",
    "04 §6",
    lambda mask: mask,
)
UNKNOWN = Convention(lambda mask: mask)
CONVENTIONS = (NUMBERS, ADDITIVE, WEAK, ADDITIVE_ONES, POSITIVE, WITH_NAN, BITS, ZEROS)


def numbers_in(tensors):
    """Los números que aparecen en unas máscaras, de menor a mayor, y si hay NaN."""
    values = torch.cat([tensor.reshape(-1).double() for tensor in tensors]).unique()
    return values[~values.isnan()].tolist(), bool(values.isnan().any())


def find_convention(tensors):
    """El convenio que siguen todas, por los números que aparecen en ellas."""
    if all(tensor.dtype == torch.bool for tensor in tensors):
        return BOOLEAN
    values, has_nan = numbers_in(tensors)
    found, low, high = set(values), min(values, default=0), max(values, default=0)
    if has_nan:
        return WITH_NAN if found and found <= {-math.inf, math.inf} else UNKNOWN
    if found == {0}:
        return ZEROS
    if found <= {0, 1}:
        return NUMBERS
    if found <= {-1, -2} and not any(tensor.is_floating_point() for tensor in tensors):
        return BITS
    if high <= 0:
        return ADDITIVE if max(found - {0}) <= -FAR else WEAK
    if low >= 0:
        return POSITIVE if min(found - {0}) >= FAR else UNKNOWN
    return ADDITIVE_ONES if high == 1 and max(found - {1}) <= -FAR else UNKNOWN


def added(tensors):
    """Lo que pasa si se suma: el peso que la primera fila que puede da a lo que tiene a 0."""
    for tensor in tensors:
        for row in tensor.double().reshape(-1, tensor.shape[-1]) if tensor.numel() > 1 else ():
            if 0 < row.sum() < len(row):
                amount = row.softmax(-1)[row == 0].sum()
                given = " ".join(f"{int(x)}" for x in row)
                return (
                    f"Sumada a unas puntuaciones de 0, una fila tuya, {given}, da a los ceros un peso de "
                    f"{show(amount)}: no prohíbe nada."
                )
    return ""


# --- Cómo está escrita: los ejes ------------------------------------------------------------------


class Layout(NamedTuple):
    """Una forma de colocar los ejes: si es esta, y cómo se pasa a la de 4 ejes."""

    fits: Callable  # (forma, B, L)
    back: Callable
    mistake: Mistake | None = None


def layout(name, text, fits, back, read="04 §5.1"):
    return Layout(fits, back, Mistake(name, text, read))


LAYOUTS = (
    Layout(
        lambda s, B, L: len(s) == 4 and all(n in (1, m) for n, m in zip(s, (B, 1, L, L))),
        lambda mask: mask,
    ),
    layout(
        "sin-ejes",
        "Faltan los dos ejes de tamaño 1, el de las cabezas y el de las queries: sin ellos, la difusión "
        "toma las frases por queries.",
        lambda s, B, L: s == (B, L),
        lambda mask: mask[:, None, None],
        "04 §5",
    ),
    # La misma para todo el lote: vale por difusión.
    Layout(
        lambda s, B, L: (
            0 < len(s) < 4 and all(n == 1 for n in s[:-2]) and all(n in (1, L) for n in s[-2:])
        ),
        lambda mask: mask.reshape(*[1] * (4 - mask.dim()), *mask.shape),
    ),
    layout(
        "falta-un-eje",
        "Falta el eje de tamaño 1 de las cabezas: con tres ejes, la difusión toma las frases por cabezas.",
        lambda s, B, L: len(s) == 3 and s[0] == B and all(n in (1, L) for n in s[1:]),
        lambda mask: mask[:, None],
    ),
    layout(
        "ejes-delante",
        "Has puesto los ejes nuevos delante de las frases, y van entre las frases y las keys.",
        lambda s, B, L: s in ((1, 1, B, L), (1, B, L)),
        lambda mask: mask.reshape(*mask.shape[-2:])[:, None, None],
    ),
    layout(
        "lote-en-cabezas",
        "Las frases están en el segundo eje, que es el de las cabezas: van en el primero.",
        lambda s, B, L: len(s) == 4 and s[:2] == (1, B) and all(n in (1, L) for n in s[2:]),
        lambda mask: mask.transpose(0, 1),
    ),
    layout(
        "keys-en-cabezas",
        "Las keys están en el segundo eje, que es el de las cabezas: van en el último.",
        lambda s, B, L: s == (B, L, 1, 1),
        lambda mask: mask.permute(0, 2, 3, 1),
    ),
    layout(
        "frases-y-keys-cambiadas",
        "Has trasladado las frases al último eje y las keys al primero: sobra una traspuesta.",
        lambda s, B, L: s in ((L, B), (L, 1, 1, B)),
        lambda mask: mask.reshape(mask.shape[0], -1).mT[:, None, None],
    ),
    layout(
        "sobra-un-eje",
        "Sobra un eje de tamaño 1: son cuatro, frases, cabezas, queries y keys.",
        lambda s, B, L: s in ((B, 1, 1, 1, L), (B, 1, 1, L, L), (B, 1, L, 1, L)),
        lambda mask: mask.reshape(mask.shape[0], 1, -1, mask.shape[-1]),
    ),
)

# --- Lo que se dice de una máscara ----------------------------------------------------------------


def short(number):
    """Un número de una máscara, con tres cifras."""
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return f"{number + 0:.3g}"  # + 0: sin ceros negativos


def rows(mask):
    """Una máscara pequeña, fila a fila, con unos y ceros."""
    table = mask.reshape(-1, mask.shape[-1]) if mask.numel() else mask.reshape(0, 0)
    return " ".join("[" + " ".join(map(short, row)) + "]" for row in table.double().tolist())


def thin(yours, right):
    """Si a todas las queries se les deja mirar lo mismo, basta la primera."""
    if yours.dim() == 4 and all(same(x, x[..., :1, :].expand_as(x)) for x in (yours, right)):
        return yours[..., :1, :], right[..., :1, :]
    return yours, right


def permissions(look):
    """Cuántas casillas se abren y cuántas se tapan sin deber."""
    yours, right = look.yours != 0, look.right
    if yours.shape != right.shape:
        return ""
    alone = int((right.any(-1) & ~yours.any(-1)).sum())
    yours, right = thin(yours, right)
    opened, closed = int((yours & ~right).sum()), int((right & ~yours).sum())
    said = []
    if opened:
        said.append(f"deja mirar en {opened} de las {int((~right).sum())} casillas prohibidas")
    if closed:
        said.append(f"tapa {closed} de las {int(right.sum())} permitidas")
    story = f"Con {look.case.name}, tu máscara {' y '.join(said)}" if said else ""
    if alone:
        story += (
            ", y una query se queda sin nadie a quien mirar"
            if alone == 1
            else f", y {alone} queries se quedan sin nadie a quien mirar"
        )
    return story and story + "."


def mistake(name, text, read="04 §5"):
    return Mistake(name, text, read, permissions)


class MaskExercise(Exercise):
    """Lo común a las tres: leer el convenio y los ejes, y contar lo que falla."""

    points, dtype = 2, torch.bool
    layouts: tuple = LAYOUTS
    leak = loss = ""
    where = "04 §5"

    def read(self, value, case):
        """El tensor y, si no lo era, de qué tipo es."""
        kind = ""
        if isinstance(value, list | np.ndarray):
            kind = "una lista" if isinstance(value, list) else "un array de NumPy"
            with contextlib.suppress(Exception):  # lo que no sea una tabla, se queda como está
                value = torch.from_numpy(np.array(value))
        if not isinstance(value, torch.Tensor) or value.is_complex():
            return super().read(value, case)
        value = value.detach()
        return (value if value.layout == torch.strided else value.to_dense(), kind), None

    def expects_tuple(self, value):
        return False

    def main(self, value, case):
        return value[0]

    def judge(self, learner, seen, values):
        tensors = [tensor for tensor, _ in values.values()]
        convention = find_convention(tensors)
        if convention is ZEROS:  # no se sabe qué deja mirar: no se adivina
            return list(self.tell_kind(convention, values)), []
        layout = self.find_layout({case: tensor for case, (tensor, _) in values.items()})

        def canonical(tensor, case):
            return self.canonical(convention.read(tensor), layout, case)

        def translated(*arguments):
            """El código de quien aprende, con la salida pasada al convenio y a los ejes del curso."""
            case = Case("", arguments)
            value, _ = self.read(learner(*arguments), case)
            return canonical(value[0], case)

        same_language = {
            case: value if isinstance(value, Raised) else canonical(value, case)
            for case, value in seen.items()
        }
        findings, notes = super().judge(translated, same_language, values)
        if layout and layout.mistake:
            findings.append(self.tell_layout(layout.mistake, values))
        findings += self.tell_kind(convention, values)
        for position, finding in enumerate(findings):  # lo ya dicho no se repite
            if finding.consequence in [before.consequence for before in findings[:position]]:
                findings[position] = replace(finding, consequence="")
        return findings, [*notes, *self.shape_notes(values)] if not findings else notes

    def matching(self, survivors, axes, stage, cases, seen):
        """Como siempre, sin probar lo que pide más de tres errores a la vez: nadie comete tantos."""
        return [
            choice
            for ways in product(*(axes[axis] for axis in stage.axes))
            if sum(bool(way.mistake) for way in ways) <= 3
            and not repeats(choice := dict(zip(stage.axes, ways)))
            and all(self.agrees(choice, case, seen[case]) for case in cases)
        ]

    def find_layout(self, tensors):
        for layout in self.layouts:
            if all(layout.fits(tuple(t.shape), *self.sizes(case)) for case, t in tensors.items()):
                return layout
        return None

    def sizes(self, case):
        return tuple(case.arguments[0].shape)

    def canonical(self, mask, layout, case):
        B, L = self.sizes(case)
        return layout.back(mask).expand(B, 1, L, L) if layout else mask

    def wanted(self, case):
        """La forma que tiene que tener la respuesta."""
        raise NotImplementedError

    def tell(self, mistake, choice, seen):
        """Lo de siempre y, si con este error el código se para a veces, con qué."""
        finding = super().tell(mistake, choice, seen)
        stopped = [case.name for case, value in seen.items() if isinstance(value, Raised)]
        without = {axis: way for axis, way in choice.items() if mistake not in way.mistakes}
        stops = [case for case in seen if self.trace(without, case) is None]
        if not stopped or len(stops) == len(stopped) or "se para" in finding.consequence:
            return finding
        story = f"Con {stopped[0]}, tu código se para. {finding.consequence}"
        return replace(finding, consequence=story)

    def tell_layout(self, mistake, values):
        case, (tensor, _) = next(iter(values.items()))
        story = f"Con {case.name}, tu máscara mide {tuple(tensor.shape)} y tenía que medir {self.wanted(case)}."
        return Finding(mistake.id, mistake.text, story, mistake.read)

    def tell_kind(self, convention, values):
        tensors = [tensor for tensor, _ in values.values()]
        kind = next(iter(values.values()))[1]
        if kind:
            yield Finding("tipo", f"Tu código devuelve {kind} y tiene que devolver un tensor.")
        if convention is BOOLEAN:
            return
        numbers, has_nan = numbers_in(tensors)
        several = [*map(short, numbers[:4]), *["…"] * (len(numbers) > 4), *["NaN"] * has_nan]
        dtype = str(next(t.dtype for t in tensors if t.dtype != torch.bool))[6:]
        story = f"Es {dtype} y contiene {', '.join(several)}."
        if convention is UNKNOWN:
            yield Finding("dtype", "Tu salida tiene que ser booleana (torch.bool).", story, "04 §2")
        else:
            found = convention.mistake
            more = added(tensors) if convention is NUMBERS else ""
            yield Finding(found.id, found.text, f"{story} {more}".strip(), found.read)

    def shape_notes(self, values):
        """Lo que se dice de una forma que vale y no es la pedida."""
        for case, (tensor, _) in values.items():
            if tuple(tensor.shape) != self.wanted(case):
                yield (
                    f"con {case.name}, tu máscara mide {tuple(tensor.shape)} y se pedía {self.wanted(case)}. "
                    f"{self.shape_note}"
                )
                return

    def mistake_ids(self):
        layouts = {layout.mistake.id for layout in self.layouts if layout.mistake}
        conventions = {convention.mistake.id for convention in CONVENTIONS}
        return super().mistake_ids() | layouts | conventions

    def properties(self, learner, seen):
        """Lo que se ve aunque no se reconozca nada: la forma, lo que se cuela y lo que se tapa."""
        for case, yours in seen.items():
            if isinstance(yours, Raised):
                continue
            right = self.trace({}, case)["output"]
            if yours.shape != right.shape:
                story = f"Con {case.name}, mide {tuple(yours.shape)} y tenía que medir {self.wanted(case)}."
                yield Finding("propiedad-forma", "Tu máscara no tiene la forma pedida.", story)
                return
            if same(yours, right):
                continue
            if not set(yours.unique().tolist()) <= {0, 1}:
                text = "Tu máscara contiene números que no se pueden leer como sí o no."
                yield Finding("propiedad-valores", text, read="04 §6")
                return
            yours, right = thin(yours, right)
            opened, closed = int(((yours != 0) & ~right).sum()), int((right & (yours == 0)).sum())
            for name, amount, text in (("deja", opened, self.leak), ("tapa", closed, self.loss)):
                if amount:
                    where = "1 casilla" if amount == 1 else f"{amount} casillas"
                    story = f"Con {case.name}, en {where}."
                    yield Finding(f"propiedad-{name}", text, story, self.where)
            return

    def counterexample(self, learner):
        for case in self.tiny:
            outcome = self.call(learner, *clone(case.arguments))
            if outcome.problem or not isinstance(outcome.value, torch.Tensor):
                continue
            yours, right = outcome.value, self.trace({}, case)["output"]
            if same(yours, right):
                continue
            given = f"{self.names[0]} = {show(case.arguments[0])}"
            if yours.shape != right.shape:
                return f"Con {given}, tu máscara mide {tuple(yours.shape)}."
            yours, right = thin(yours, right)
            seen = rows(yours)
            return f"Con {given}, tu máscara es {seen} y tenía que ser {rows(right)} (1 = puede mirar)."
        return None
