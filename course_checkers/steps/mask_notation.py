"""Cómo está escrita una máscara: con qué convenio (booleana, unos y ceros, aditiva…) y con qué ejes.

Se averigua y se pasa a la forma del curso, y así lo que deja mirar se juzga aparte: una máscara de
números y al revés son dos errores, y se dicen los dos.
"""

import contextlib
import math
from copy import copy

import numpy as np
import torch

from course_checkers.engine import Exercise, Tensors, same, show, told

CONVENTIONS, LAYOUTS_TOLD, SEEN = (told(__file__, x) for x in ("convention", "layout", "seen"))

# --- El convenio ----------------------------------------------------------------------------------

FAR = 30.0  # sumado a una puntuación, e⁻³⁰ ya no se ve
# Cómo se pasa cada uno a True = puede mirar. El que no está se deja como está.
TO_BOOLEAN = {
    **dict.fromkeys(("aditiva", "aditiva-débil", "aditiva-positiva"), lambda mask: mask == 0),
    "unos-y-ceros": lambda mask: mask != 0,
    "aditiva-con-unos": lambda mask: mask > 0,
    "aditiva-con-nan": torch.isnan,
    "negación-de-enteros": lambda mask: mask == -1,
}


def numbers_in(tensors):
    """Los números que aparecen en unas máscaras, de menor a mayor, y si hay NaN."""
    values = torch.cat([tensor.reshape(-1).double() for tensor in tensors]).unique()
    return values[~values.isnan()].tolist(), bool(values.isnan().any())


def convention_of(tensors):
    """El convenio que siguen todas, por los números que hay en ellas; ``""`` si no es ninguno."""
    if all(tensor.dtype == torch.bool for tensor in tensors):
        return "booleana"
    values, has_nan = numbers_in(tensors)
    found, low, high = set(values), min(values, default=0), max(values, default=0)
    if has_nan:
        return "aditiva-con-nan" if found and found <= {-math.inf, math.inf} else ""
    if found <= {0, 1}:
        return "solo-ceros" if found == {0} else "unos-y-ceros"
    if found <= {-1, -2} and not any(tensor.is_floating_point() for tensor in tensors):
        return "negación-de-enteros"
    if high <= 0:
        return "aditiva" if max(found - {0}) <= -FAR else "aditiva-débil"
    if low >= 0:
        return "aditiva-positiva" if min(found - {0}) >= FAR else ""
    return "aditiva-con-unos" if high == 1 and max(found - {1}) <= -FAR else ""


def added(tensors):
    """Lo que pasa si se suma: el peso que la primera fila que puede da a lo que tiene a 0."""
    for tensor in tensors:
        for row in tensor.double().reshape(-1, tensor.shape[-1]) if tensor.numel() > 1 else ():
            if 0 < row.sum() < len(row):
                amount = show(row.softmax(-1)[row == 0].sum())
                given = " ".join(f"{int(x)}" for x in row)
                return " " + SEEN["sumada"].saying(row=given, amount=amount).text
    return ""


def numeric(name, tensors):
    """Lo que se dice de una máscara de números."""
    numbers, has_nan = numbers_in(tensors)
    several = [*map(short, numbers[:4]), *["…"] * (len(numbers) > 4), *["NaN"] * has_nan]
    dtype = str(next(t.dtype for t in tensors if t.dtype != torch.bool))[6:]
    story = f"Es {dtype} y contiene {', '.join(several)}."
    story += added(tensors) if name == "unos-y-ceros" else ""
    return CONVENTIONS[name or "dtype"].found(story)


# --- Los ejes -------------------------------------------------------------------------------------

# Qué mide cada eje, por orden, y el error; sin él, vale por difusión. B son las frases y Q y K, todas las
# queries y todas las keys; b, q y k, eso o un 1, que se difunde.
LAYOUTS = {"b1qk": "", "BK": "sin-ejes", "k": "", "qk": "", "1qk": "", "Bqk": "falta-un-eje"}
LAYOUTS |= {"11BK": "ejes-delante", "1BK": "ejes-delante", "1Bqk": "lote-en-cabezas"}
LAYOUTS |= {"BK11": "keys-en-cabezas"}
LAYOUTS |= dict.fromkeys(("KB", "K11B"), "frases-y-keys-cambiadas")
LAYOUTS |= dict.fromkeys(("B111K", "B11QK", "B1Q1K"), "sobra-un-eje")
SQUARES = dict.fromkeys(("QK", "1QK", "11QK"), "")


def fits(layout, shape, B, L):
    """Si una máscara de esta forma tiene los ejes así."""
    sizes = {"1": (1,), "b": (1, B), "B": (B,), "q": (1, L), "k": (1, L), "Q": (L,), "K": (L,)}
    return len(shape) == len(layout) and all(n in sizes[axis] for n, axis in zip(shape, layout))


def back(mask, layout):
    """Pasa a (B, 1, L_q, L_k) una máscara que tiene los ejes así; los que faltan miden 1."""
    places = {axis.lower(): place for place, axis in enumerate(layout)}
    moved = sorted(range(mask.dim()), key=lambda place: "1bqk".index(layout[place].lower()))
    B, Q, K = (mask.shape[places[axis]] if axis in places else 1 for axis in "bqk")
    return mask.permute(moved).reshape(B, 1, Q, K)


# --- Leerla ---------------------------------------------------------------------------------------


class Masks(Tensors):
    """Una máscara, escrita como sea: de una prueba, el tensor y, si no lo era, de qué tipo es.

    ``wanted`` da la forma que se pide; ``note`` se dice de otra que vale; ``layouts`` son sus ejes.
    """

    def __init__(self, wanted, note, layouts=LAYOUTS):
        super().__init__(dtype=torch.bool)
        self.wanted, self.note, self.layouts = wanted, note, layouts
        self.to_boolean, self.layout = None, None  # hasta que se averigüe

    def read(self, value, case):
        kind = ""
        if isinstance(value, list | np.ndarray):
            kind = "una lista" if isinstance(value, list) else "un array de NumPy"
            with contextlib.suppress(Exception):  # lo que no sea una tabla, se queda como está
                value = torch.from_numpy(np.array(value))
        if not isinstance(value, torch.Tensor) or value.is_complex():
            return super().read(value, case)
        return (value, kind), None

    def main(self, value, case):
        """Lo que deja mirar: (B, 1, L, L), o (L, L) si es una sola."""
        mask = self.to_boolean(value[0]) if self.to_boolean else value[0]
        B, L = self.sizes(case)
        if self.layout is None or not fits(self.layout, mask.shape, B, L):
            return mask
        mask = back(mask, self.layout).expand(B, 1, L, L)
        return mask if len(self.wanted(*case.arguments)) == 4 else mask[0, 0]

    def sizes(self, case):
        wanted = self.wanted(*case.arguments)
        return wanted[0] if len(wanted) == 4 else 1, wanted[-1]

    def settle(self, attempt):
        """Averigua cómo está escrita, la pasa a la forma del curso y dice lo que no es la pedida."""
        case, (first, kind) = next(iter(attempt.values.items()))
        tensors = [tensor for tensor, _ in attempt.values.values()]
        name, reader, findings = convention_of(tensors), copy(self), []
        reader.to_boolean = TO_BOOLEAN.get(name)
        shapes = [(value[0].shape, *self.sizes(c)) for c, value in attempt.values.items()]
        known = (x for x in self.layouts if all(fits(x, *sizes) for sizes in shapes))
        reader.layout = next(known, next(iter(self.layouts)))  # si no, la del curso, donde lo sea
        attempt.reader = reader
        attempt.seen |= {c: reader.main(value, c) for c, value in attempt.values.items()}
        if name == "solo-ceros":  # no se sabe qué deja mirar: no se adivina
            attempt.seen = {c: attempt.exercise.trace({}, c)["output"] for c in attempt.values}
        elif wrong := self.layouts.get(reader.layout):
            story = f"Con {self.measures(case, first, 'tenía que medir')}."
            findings.append(LAYOUTS_TOLD[wrong].found(story))
        if kind:
            findings.append(SEEN["tipo"].saying(kind=kind).found())
        return findings if name == "booleana" else [*findings, numeric(name, tensors)]

    def measures(self, case, mask, asked):
        wanted = self.wanted(*case.arguments)
        return f"{case.name}, tu máscara mide {tuple(mask.shape)} y {asked} {wanted}"

    def other_shape(self, attempt):
        """Lo que se dice de una forma que vale y no es la pedida."""
        for case, (mask, _) in attempt.values.items():
            if tuple(mask.shape) != self.wanted(*case.arguments):
                return [f"con {self.measures(case, mask, 'se pedía')}. {self.note}"]
        return []


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


def wrong_cells(yours, right):
    """Cuántas casillas se abren y cuántas se tapan sin deber."""
    return int((yours & ~right).sum()), int((right & ~yours).sum())


def permissions(look):
    """Las casillas que se abren y las que se tapan, en una frase."""
    yours, right = (mask != 0 for mask in look.both())
    alone = int((right.any(-1) & ~yours.any(-1)).sum())
    yours, right = thin(yours, right)
    opened, closed = wrong_cells(yours, right)
    said = [f"deja mirar en {opened} de las {int((~right).sum())} casillas prohibidas"] * (opened > 0)
    said += [f"tapa {closed} de las {int(right.sum())} permitidas"] * (closed > 0)
    story = f"Con {look.case.name}, tu máscara {' y '.join(said)}" if said else ""
    if alone:
        story += ", y una query se queda" if alone == 1 else f", y {alone} queries se quedan"
        story += " sin nadie a quien mirar"
    return story and story + "."


def told_of(file, section):
    """Los errores de una máscara: los suyos y los de todas."""
    return told(file, section, permissions) | told(file, "todas", permissions)


def permitted(file, section):
    """La propiedad de cualquier máscara: su forma, lo que deja ver y lo que tapa, con esas frases."""
    known = told(file, section)

    def look(attempt):
        for case, yours in attempt.outputs():
            right, wanted = attempt.exercise.trace({}, case)["output"], attempt.reader.wanted
            if yours.shape != right.shape:
                sizes = f"mide {tuple(yours.shape)} y tenía que medir {wanted(*case.arguments)}"
                return [SEEN["propiedad-forma"].found(f"Con {case.name}, {sizes}.")]
            if same(yours, right):
                continue
            if not set(yours.unique().tolist()) <= {0, 1}:
                return [SEEN["propiedad-valores"].found()]
            amounts = wrong_cells(*thin(yours != 0, right))
            return [
                known[name].found(f"Con {case.name}, en {amount} casilla{'s' * (amount > 1)}.")
                for name, amount in zip(("propiedad-deja", "propiedad-tapa"), amounts)
                if amount
            ]
        return []

    return look


class MaskExercise(Exercise):
    """Lo que declaran las tres máscaras."""

    notes = (lambda attempt: attempt.reader.other_shape(attempt),)
    also = {*CONVENTIONS, *LAYOUTS_TOLD} - {"dtype"}

    def story(self, consequence, stopped):
        return f"{stopped} {consequence}".strip()

    def contrast(self, yours, right):
        if yours.shape != right.shape:
            return f"tu máscara mide {tuple(yours.shape)}"
        yours, right = thin(yours, right)
        return f"tu máscara es {rows(yours)} y tenía que ser {rows(right)} (1 = puede mirar)"
