"""Cómo está escrita una máscara: con qué convenio (booleana, unos y ceros, aditiva…) y con qué ejes.

Se averigua y se pasa a la forma del curso, y así lo que deja mirar se juzga aparte: una máscara de
números y al revés son dos errores, y se dicen los dos.
"""

import contextlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.mistakes import told
from course_lib.checkers.engine.reading import Tensors
from course_lib.checkers.engine.report import Finding

# --- El convenio ----------------------------------------------------------------------------------

TOLD = told(__file__, "convention")
FAR = 30.0  # sumado a una puntuación, e⁻³⁰ ya no se ve
# Cómo se pasa cada uno a True = puede mirar. El que no está se deja como está.
TO_BOOLEAN = {
    "unos-y-ceros": lambda mask: mask != 0,
    "aditiva": lambda mask: mask == 0,
    "aditiva-débil": lambda mask: mask == 0,
    "aditiva-con-unos": lambda mask: mask > 0,
    "aditiva-positiva": lambda mask: mask == 0,
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
                amount = row.softmax(-1)[row == 0].sum()
                given = " ".join(f"{int(x)}" for x in row)
                return (
                    f" Sumada a unas puntuaciones de 0, una fila tuya, {given}, da a los ceros un peso de "
                    f"{show(amount)}: no prohíbe nada."
                )
    return ""


# --- Los ejes -------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Una forma de colocar los ejes: si es esta, y cómo se pasa a la del curso."""

    fits: Callable  # de la forma, B y L
    back: Callable
    name: str = ""  # del error; sin él, vale por difusión


LAYOUTS = (
    Layout(
        lambda s, B, L: len(s) == 4 and all(n in (1, m) for n, m in zip(s, (B, 1, L, L))),
        lambda mask: mask,
    ),
    Layout(lambda s, B, L: s == (B, L), lambda mask: mask[:, None, None], "sin-ejes"),
    # La misma para todo el lote: vale por difusión.
    Layout(
        lambda s, B, L: (
            0 < len(s) < 4 and all(n == 1 for n in s[:-2]) and all(n in (1, L) for n in s[-2:])
        ),
        lambda mask: mask.reshape(*[1] * (4 - mask.dim()), *mask.shape),
    ),
    Layout(
        lambda s, B, L: len(s) == 3 and s[0] == B and all(n in (1, L) for n in s[1:]),
        lambda mask: mask[:, None],
        "falta-un-eje",
    ),
    Layout(
        lambda s, B, L: s in ((1, 1, B, L), (1, B, L)),
        lambda mask: mask.reshape(*mask.shape[-2:])[:, None, None],
        "ejes-delante",
    ),
    Layout(
        lambda s, B, L: len(s) == 4 and s[:2] == (1, B) and all(n in (1, L) for n in s[2:]),
        lambda mask: mask.transpose(0, 1),
        "lote-en-cabezas",
    ),
    Layout(
        lambda s, B, L: s == (B, L, 1, 1), lambda mask: mask.permute(0, 2, 3, 1), "keys-en-cabezas"
    ),
    Layout(
        lambda s, B, L: s in ((L, B), (L, 1, 1, B)),
        lambda mask: mask.reshape(mask.shape[0], -1).mT[:, None, None],
        "frases-y-keys-cambiadas",
    ),
    Layout(
        lambda s, B, L: s in ((B, 1, 1, 1, L), (B, 1, 1, L, L), (B, 1, L, 1, L)),
        lambda mask: mask.reshape(mask.shape[0], 1, -1, mask.shape[-1]),
        "sobra-un-eje",
    ),
)
LAYOUT_TOLD = told(__file__, "layout")
NAMES = (*TOLD, *LAYOUT_TOLD)

# --- Leerla ---------------------------------------------------------------------------------------


class Masks(Tensors):
    """Una máscara, escrita como sea: de una prueba, el tensor y, si no lo era, de qué tipo es.

    Args:
        wanted: de los argumentos, la forma que se pide.
        note: lo que se dice de otra que vale por difusión.
    """

    def __init__(self, wanted, note):
        super().__init__(dtype=torch.bool)
        self.wanted, self.note = wanted, note

    def read(self, value, case):
        kind = ""
        if isinstance(value, list | np.ndarray):
            kind = "una lista" if isinstance(value, list) else "un array de NumPy"
            with contextlib.suppress(Exception):  # lo que no sea una tabla, se queda como está
                value = torch.from_numpy(np.array(value))
        if not isinstance(value, torch.Tensor) or value.is_complex():
            return super().read(value, case)
        value = value.detach()
        return (value if value.layout == torch.strided else value.to_dense(), kind), None

    def main(self, value, case):
        return value[0]

    def settle(self, attempt):
        """Pasa la respuesta a la forma del curso, y dice cómo estaba escrita."""
        read = {case: tensor for case, (tensor, _) in attempt.values.items()}
        name, layout = convention_of(read.values()), None
        if name == "solo-ceros":  # no se sabe qué deja mirar: no se adivina
            attempt.seen = {case: attempt.exercise.trace({}, case)["output"] for case in read}
            return list(self.told_of(name, attempt))
        layout = self.layout_of(read)
        attempt.reader = Translated(self, TO_BOOLEAN.get(name, lambda mask: mask), layout)
        for case, value in attempt.values.items():
            attempt.seen[case] = attempt.reader.main(value, case)
        return [*self.told_axes(layout, attempt), *self.told_of(name, attempt)]

    def layout_of(self, read):
        """Cómo están colocados los ejes en todas las pruebas, o ``None``."""
        for layout in LAYOUTS:
            if all(layout.fits(tuple(t.shape), *c.arguments[0].shape) for c, t in read.items()):
                return layout
        return None

    def back(self, mask, layout, case):
        """Los ejes, como en el curso."""
        B, L = case.arguments[0].shape
        return layout.back(mask).expand(B, 1, L, L) if layout else mask

    def told_axes(self, layout, attempt):
        if layout and layout.name:
            story = self.measures(*next(iter(attempt.values.items())))
            found = LAYOUT_TOLD[layout.name]
            yield Finding(found.id, found.text, f"Con {story}.", found.read)

    def told_of(self, name, attempt):
        tensors, kinds = zip(*attempt.values.values())
        if kinds[0]:
            yield Finding("tipo", f"Tu código devuelve {kinds[0]} y tiene que devolver un tensor.")
        if name == "booleana":
            return
        numbers, has_nan = numbers_in(tensors)
        several = [*map(short, numbers[:4]), *["…"] * (len(numbers) > 4), *["NaN"] * has_nan]
        dtype = str(next(t.dtype for t in tensors if t.dtype != torch.bool))[6:]
        story = f"Es {dtype} y contiene {', '.join(several)}."
        if not name:
            yield Finding("dtype", "Tu salida tiene que ser booleana (torch.bool).", story, "04 §2")
            return
        story += added(tensors) if name == "unos-y-ceros" else ""
        yield Finding(name, TOLD[name].text, story, TOLD[name].read)

    def measures(self, case, value, asked="tenía que medir"):
        wanted = self.wanted(*case.arguments)
        return f"{case.name}, tu máscara mide {tuple(value[0].shape)} y {asked} {wanted}"

    def other_shape(self, attempt):
        """Lo que se dice de una forma que vale y no es la pedida."""
        for case, value in attempt.values.items():
            if tuple(value[0].shape) != self.wanted(*case.arguments):
                return [f"con {self.measures(case, value, 'se pedía')}. {self.note}"]
        return []


class Translated(Masks):
    """Lo mismo, de quien ya se sabe con qué convenio y con qué ejes escribe."""

    def __init__(self, masks, to_boolean, layout):
        super().__init__(masks.wanted, masks.note)
        self.masks, self.to_boolean, self.layout = masks, to_boolean, layout

    def main(self, value, case):
        return self.masks.back(self.to_boolean(value[0]), self.layout, case)


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


def contrast(yours, right):
    """Un contraejemplo, en una frase."""
    if yours.shape != right.shape:
        return f"tu máscara mide {tuple(yours.shape)}"
    yours, right = thin(yours, right)
    return f"tu máscara es {rows(yours)} y tenía que ser {rows(right)} (1 = puede mirar)"


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
        story += ", y una query se queda" if alone == 1 else f", y {alone} queries se quedan"
        story += " sin nadie a quien mirar"
    return story and story + "."


def permitted(leak, loss, read="04 §5"):
    """La propiedad de cualquier máscara: su forma, lo que se cuela (``leak``) y lo que se tapa."""

    def look(attempt):
        for case, yours in attempt.outputs():
            right = attempt.exercise.trace({}, case)["output"]
            if yours.shape != right.shape:
                wanted = attempt.reader.wanted(*case.arguments)
                story = f"Con {case.name}, mide {tuple(yours.shape)} y tenía que medir {wanted}."
                return [Finding("propiedad-forma", "Tu máscara no tiene la forma pedida.", story)]
            if same(yours, right):
                continue
            if not set(yours.unique().tolist()) <= {0, 1}:
                text = "Tu máscara contiene números que no se pueden leer como sí o no."
                return [Finding("propiedad-valores", text, read="04 §6")]
            yours, right = thin(yours != 0, right)
            told = []
            for name, wrong, text in (
                ("deja", yours & ~right, leak),
                ("tapa", right & ~yours, loss),
            ):
                if amount := int(wrong.sum()):
                    story = f"Con {case.name}, en {amount} casilla{'s' * (amount > 1)}."
                    told.append(Finding(f"propiedad-{name}", text, story, read))
            return told
        return []

    return look
