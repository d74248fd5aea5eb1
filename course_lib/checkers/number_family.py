"""Lo que comparten las comprobaciones de la lección 01: los errores, la búsqueda y el final.

Los pasos son muchos y sus combinaciones, demasiadas: se buscan las que tienen hasta dos errores.
"""

import functools
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import torch

from course_lib.checkers.family import (
    Exercise,
    Mistake,
    Option,
    Raised,
    Table,
    fewest,
    repeats,
    same,
    shape_of,
    show,
)
from course_lib.checkers.engine.report import Finding

# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
suma-los-números · 01 §1 · Sumas los números de a y b, y se multiplican.
resta-los-números · 01 §1 · Restas los números de a y b, y se multiplican.
divide-los-números · 01 §1 · Divides los números de a y b, y se multiplican.
potencia · 01 §1 · Usas una potencia, con dos asteriscos: los números se multiplican, con uno.
a-consigo · 01 §2 · Multiplicas a por sí mismo: falta b.
b-consigo · 01 §2 · Multiplicas b por sí mismo: falta a.
orden-al-revés · 01 §1 · Recorres un vector al revés: cada número va con el de su mismo lugar.
lugar-corrido · 01 §1 · Multiplicas cada número por el del lugar de al lado, y va con el de su mismo lugar.
todos-con-todos · 01 §1 · Multiplicas todos los números de a por todos los de b: cada uno va solo con el de su lugar.
distancia · 01 §3 · Mides la distancia entre los dos vectores, que es otra cosa.
solo-normas · 01 §3 · Multiplicas las normas y falta el coseno: solo vale si los dos apuntan igual.

sin-sumar · 01 §1 · Falta sumar: devuelves un número por cada lugar, y se pide uno solo.
suma-a-medias · 01 §1 · Devuelves la suma después de cada paso, y se pide solo la última.
media · 01 §1 · Haces la media y se pide la suma: sobra dividir por cuántos hay.
multiplica-todo · 01 §1 · Multiplicas los resultados entre sí, y se suman.
solo-el-mayor · 01 §1 · Te quedas con el mayor, y se suman todos.
solo-el-menor · 01 §1 · Te quedas con el menor, y se suman todos.
solo-el-primero · 01 §1 · Cuentas solo el primer lugar: ¿hay un «return» dentro del bucle?
solo-el-último · 01 §1 · Cuentas solo el último lugar: en cada vuelta se pierde lo anterior.
falta-el-primero · 01 §1 · Te saltas el primer número: en Python se cuenta desde 0.
falta-el-último · 01 §1 · Te saltas el último número: range(n) ya acaba en n − 1.
faltan-los-extremos · 01 §1 · Te saltas el primer número y el último.
primero-dos-veces · 01 §1 · Cuentas dos veces el primer lugar.
solo-dos · 01 §1 · Cuentas solo los dos primeros números: los vectores pueden ser más largos.
solo-tres · 01 §1 · Cuentas solo los tres primeros números: los vectores pueden ser más largos.
de-dos-en-dos · 01 §1 · Te saltas un número de cada dos.

valor-absoluto · 01 §3 · Quitas el signo, y el signo importa.
signo-cambiado · 01 §3 · Tu salida tiene el signo cambiado.
negativos-a-cero · 01 §3 · Cambias los negativos por 0, y el signo importa.
trunca · 01 §7 · Te quedas con la parte entera: los decimales se pierden.
redondea · 01 §7 · Redondeas lo que devuelves: redondea solo al mostrarlo.
cuadrado-de-más · 01 §2 · Elevas al cuadrado, y sobra: es para la norma.
raíz-de-más · 01 §2 · Haces la raíz cuadrada, y sobra: es para la norma.
sobran-ejes · 01 §1 · Devuelves una lista o un tensor con ejes, y se pide un número solo.

divide-por-normas · 01 §3 · Divides por las dos normas: eso es el coseno.
divide-por-una-norma · 01 §3 · Divides por una norma, y el producto escalar no se divide.
divide-por-raíz · 01 §1 · Divides por la raíz de la longitud, y el producto escalar no se divide.
por-normas · 01 §3 · Multiplicas por las normas, y no hay que multiplicar por ellas.

sin-dividir · 01 §3 · No divides por las normas: tu salida es el producto escalar.
una-sola-norma · 01 §3 · Divides por la norma de un solo vector: la del otro sigue en la salida.
misma-norma-dos-veces · 01 §3 · Divides dos veces por la norma del mismo vector, y falta la del otro.
falta-la-raíz · 01 §2 · Divides por la norma al cuadrado: a la suma de cuadrados le falta la raíz.
normas-sumadas · 01 §3 · Sumas las normas, y se multiplican.
cuadrados-sumados · 01 §3 · Sumas los cuadrados de los dos vectores, y son sus normas las que se multiplican.
sin-paréntesis · 01 §3 · Divides por una norma y multiplicas por la otra: su producto va entre paréntesis.
raíz-de-las-normas · 01 §2 · Haces otra raíz a las normas, y ya la llevan.
longitudes · 01 §2 · Divides por cuántos números hay, y la norma es otra cosa: cuánto mide la flecha.
norma-de-valores-absolutos · 01 §2 · Tu norma suma valores absolutos: suma cuadrados y haz la raíz.
norma-con-media · 01 §2 · Tu norma hace la media de los cuadrados, y es la suma.
norma-del-mayor · 01 §2 · Tu norma es el número más grande: es la raíz de la suma de los cuadrados.
norma-de-la-suma · 01 §3 · Divides por la norma de a + b, y es por el producto de las dos normas.
norma-de-la-resta · 01 §3 · Divides por la distancia entre a y b, y es por el producto de las dos normas.
norma-de-los-productos · 01 §3 · Divides por la norma de a * b, y es por el producto de las dos normas.
sumas · 01 §2 · Divides por la suma de los números, que no es la norma.
norma-sin-sumar · 01 §2 · Tu norma no suma: la raíz de cada cuadrado es solo su valor absoluto.
resta-la-media · 01 §3 · Restas una media a los vectores: eso es la correlación, no el coseno.

ángulo · 01 §3 · Devuelves el ángulo, en radianes, y se pide su coseno.
ángulo-en-grados · 01 §3 · Devuelves el ángulo, en grados, y se pide su coseno.
coseno-de-más · 01 §3 · Haces el coseno de la salida, y el cociente ya es el coseno.
distancia-coseno · 01 §3 · Restas el coseno de 1: eso mide lo distintos que son.
entre-0-y-1 · 01 §3 · Llevas el coseno al intervalo de 0 a 1: va de −1 a 1.
cociente-al-revés · 01 §3 · Divides al revés: el producto escalar va arriba y las normas, abajo.
solo-el-signo · 01 §3 · Devuelves solo el signo: 1, 0 o −1.

sin-normalizar · 01 §6 · No divides por las normas: son productos, no cosenos.
por-columnas · 01 §6 · Divides cada columna por su norma, y un token es una fila: usa dim=-1.
norma-de-toda-la-tabla · 01 §6 · Divides por la norma de toda la tabla: cada fila va por la suya.
solo-un-lado · 01 §6 · Solo has normalizado una de las dos X: falta dividir por la norma de la otra.
normas-en-fila · 01 §6 · A la norma le falta keepdim=True: sin él, divides columnas por normas de filas.
máximo-de-la-tabla · 01 §6 · Divides la tabla por su número más grande, y es por las normas.
normaliza-la-tabla · 01 §6 · Normalizas las filas de la tabla de productos, y son las de X.
estandariza · 01 §6 · Restas la media y divides por la desviación, y es solo por la norma.
softmax-antes · 01 §6 · Haces una softmax a los vectores: se dividen por su norma.
medias-sin-normas · 01 §6 · Restas medias y no divides por las normas.
tabla-de-columnas · 01 §5 · Has hecho Xᵀ · X, que compara columnas, y los tokens son las filas.
sin-trasponer · 01 §5 · Falta trasponer la segunda X.
sin-multiplicar · 01 §5 · Preparas las filas y falta multiplicar por la traspuesta.
uno-a-uno · 01 §5 · Multiplicas número a número, y falta sumar: usa @.
cada-uno-consigo · 01 §5 · Devuelves un número por token, el de cada uno consigo mismo: es cada uno con todos.
solo-vecinos · 01 §5 · Comparas cada token con el siguiente, y es cada uno con todos.
una-sola-fila · 01 §5 · Comparas un solo token con los demás, y es cada uno con todos.
distancias · 01 §3 · Mides distancias entre los vectores, y se piden cosenos.
media-tabla · 01 §5 · Rellenas solo media tabla: la otra media es igual, pero también va.
falta-el-último-token · 01 §5 · Te dejas el último token: range(n) ya acaba en n − 1.
falta-el-primer-token · 01 §5 · Te dejas el primer token: en Python se cuenta desde 0.
diagonal-tapada · 01 §6 · Tapas la diagonal: el coseno de un token consigo mismo es 1, y también va.
softmax · 01 §6 · Haces una softmax a la tabla, y se piden los cosenos.
quién-gana · 01 §6 · Devuelves qué token gana en cada fila, y se pide la tabla entera.
media-de-la-tabla · 01 §6 · Haces una media, y se pide la tabla entera.
aplanada · 01 §5 · Devuelves los números en una fila, y se pide una tabla (L, L).
tabla-con-más-ejes · 01 §5 · Tu tabla tiene un eje de más: se pide (L, L).
"""


def mistakes_in(texts, consequence=None):
    """De líneas «nombre · lección y sección · qué está mal», los errores por su nombre."""
    fields = (line.split(" · ", 2) for line in texts.split("\n") if line)
    return {id: Mistake(id, text, read, consequence) for id, read, text in fields}


def steps(known, right, *errors):
    """Las formas de dar un paso: la buena y, de cada error, las formas de cometerlo."""
    return [Option(right), *(Option(way, known[id]) for id, *ways in errors for way in ways)]


def with_decimals(look):
    """Dónde se aparta más la salida, con los decimales que hacen falta para verlo."""
    yours, right = look.yours.flatten(), look.right.flatten()
    if yours.shape != right.shape:
        return ""
    i = (yours - right).abs().argmax()
    return f"Con {look.case.name}, donde va {right[i]:.6g} tú devuelves {yours[i]:.6g}."


MISTAKES = mistakes_in(TEXTS)
MISTAKES["redondea"] = replace(MISTAKES["redondea"], consequence=with_decimals)
step = functools.partial(steps, MISTAKES)

# --- Lo que tienen en común -----------------------------------------------------------------------


def to_tensor(value):
    """Un tensor float32 a partir de números, arrays, tensores o listas; si no se puede, ``None``."""
    if isinstance(value, list | tuple):
        items = [to_tensor(item) for item in value]
        alike = all(item is not None and item.shape == items[0].shape for item in items)
        return torch.stack(items) if items and alike else None
    if isinstance(value, np.ndarray | np.generic | int | float):
        value = np.asarray(value)
        value = torch.as_tensor(value.copy()) if value.dtype.kind in "biuf" else None
    if not isinstance(value, torch.Tensor) or value.is_complex():
        return None
    return value.detach().float()


def few_errors(axes, most):
    """Las formas de cometer un error, dos… hasta ``most``, cada uno en un paso."""
    for errors in range(1, most + 1):
        for chosen in combinations(axes, errors):
            for options in product(*(axes[axis][1:] for axis in chosen)):
                if not repeats(choice := dict(zip(chosen, options))):
                    yield choice


def is_constant(seen):
    """Si la salida es la misma en todas las pruebas."""
    first, *others = seen.values()
    return isinstance(first, torch.Tensor) and all(same(first, other) for other in others)


class Numbers(Exercise):
    """Un ejercicio que devuelve números: un tensor, un array, un ``float``…

    Los pasos son muchos y sus combinaciones, demasiadas: se buscan las que tienen hasta dos errores.
    """

    expected, where = "un número", ""

    def members(self, most):
        """Las formas de cometer pocos errores. Quien hace otra cuenta no da los pasos de esta."""
        for choice in few_errors(self.axes, most):
            if "other" not in choice or choice.keys() <= {"other", "diagonal", "finish", "shape"}:
                yield choice

    def table(self, stage, case):
        tables = self.__dict__.setdefault("tables", {})
        if case not in tables:
            rows = {}
            for choice in self.members(most=2):
                if (result := self.trace(choice, case)) is not None:
                    output = result["output"]
                    rows.setdefault(shape_of(output), []).append((choice, output))
            tables[case] = {shape: Table(found) for shape, found in rows.items()}
        return tables[case]

    def diagnose(self, learner, seen):
        # Una salida que no cambia con los datos no dice qué cuenta hay detrás.
        return fewest([{}], False) if is_constant(seen) else super().diagnose(learner, seen)

    def matching(self, survivors, axes, stage, cases, seen):
        if axes is self.axes:
            return super().matching(survivors, axes, stage, cases, seen)
        others = [{}, *(choice for choice in self.members(most=1) if "finish" not in choice)]
        return [
            choice
            for option in axes["finish"]
            for other in others
            if (choice := other | {"finish": option})
            and all(self.agrees(choice, case, seen[case]) for case in cases)
        ]

    def read(self, value, case):
        if value is None:
            return super().read(value, case)
        tensor = to_tensor(value)
        if tensor is None:
            kind = type(value).__name__
            text = f"Tu código devuelve un «{kind}» y tiene que devolver {self.expected}."
            return None, Finding("tipo", text)
        return tensor, None

    def ask(self, learner, *arguments):
        """Lo que devuelve el código con otros argumentos, o ``None``."""
        outcome = self.call(learner, *(x.clone() for x in arguments))
        value, problem = self.read(outcome.value, None) if not outcome.problem else (None, True)
        return None if problem else self.main(value, None)

    def extra_options(self, learner):
        """Si la salida es la buena por un número fijo, o más un número fijo, se mide cuál."""
        case = self.stages[0].cases[0]
        yours, right = self.ask(learner, *case.arguments), self.trace({}, case)["output"]
        if yours is None or yours.shape != right.shape or not yours.isfinite().all():
            return {}
        factor, extra = float((yours / right).reshape(-1)[0]), float((yours - right).reshape(-1)[0])
        by = f"Tu salida es siempre la buena multiplicada por {show(factor)}: sobra ese número."
        plus = f"Tu salida es siempre la buena más {show(extra)}: sobra ese número."
        return {
            "finish": [
                Option(lambda x: x * factor, Mistake("factor-de-más", by, self.where)),
                Option(lambda x: x + extra, Mistake("suma-de-más", plus, self.where)),
            ]
        }

    def mistake_ids(self):
        return super().mistake_ids() | {"factor-de-más", "suma-de-más", "siempre-lo-mismo"}

    def shape_of(self, *arguments):
        """La forma que tiene que tener la salida."""
        return ()

    def properties(self, learner, seen):
        if is_constant(seen) and (value := next(iter(seen.values()))).isfinite().all():
            text = "Tu salida no cambia con los datos."
            story = f"Vale {show(value)} en todas las pruebas."
            if not value.any():
                story += " ¿Multiplicas por un total que empieza en 0?"
            return [Finding("siempre-lo-mismo", text, story, self.where)]
        for case, output in seen.items():
            if isinstance(output, Raised):
                continue
            shape = self.shape_of(*case.arguments)
            if output.shape != shape:
                text = "La forma de tu salida no es la que se pide."
                story = f"Con {case.name}, mide {tuple(output.shape)} y tenía que medir {shape}."
                return [Finding("propiedad-forma", text, story, self.where)]
            if not output.isfinite().all():
                text = "Tu salida no es un número de verdad: es NaN o ∞."
                return [Finding("propiedad-finita", text, f"Pasa con {case.name}.", self.where)]
        return list(self.laws(learner, seen))[:1]

    def laws(self, learner, seen):
        """Lo que cumple cualquier respuesta buena."""
        return ()


# --- El final de la cuenta, igual en los tres ejercicios -------------------------------------------


def rounded(decimals):
    return lambda x: (x.double() * 10**decimals).round().div(10**decimals).float()


def strict(function):
    """Como las funciones de ``math``, que se paran donde torch da NaN."""

    def stops(x):
        if (result := function(x)).isnan().any():
            raise ValueError
        return result

    return stops


def degrees(x):
    return x.arccos().rad2deg()


ENDINGS = (
    ("valor-absoluto", torch.abs),
    ("signo-cambiado", torch.neg),
    ("negativos-a-cero", torch.relu),
    ("trunca", torch.trunc, torch.floor),
    ("redondea", *map(rounded, range(5))),
    ("cuadrado-de-más", torch.square),
    ("raíz-de-más", torch.sqrt, strict(torch.sqrt)),
)
ANGLES = (
    ("ángulo", torch.arccos, strict(torch.arccos), lambda x: x.clamp(-1, 1).arccos()),
    ("ángulo-en-grados", degrees, strict(degrees), lambda x: degrees(x.clamp(-1, 1))),
    ("coseno-de-más", torch.cos),
    ("distancia-coseno", lambda x: 1 - x),
    ("entre-0-y-1", lambda x: (1 + x) / 2),
    ("cociente-al-revés", torch.reciprocal),
    ("solo-el-signo", torch.sign),
)


def itself(x):
    return x


SHAPES = step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[None, None]))
