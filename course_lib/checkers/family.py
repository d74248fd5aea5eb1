"""Encontrar qué error se ha cometido: un error es otra forma de hacer la misma cuenta.

Una cuenta se hace en varios pasos y cada paso se puede dar de varias formas, una buena y otras
malas. Todas las combinaciones forman una familia. Si lo que devuelve quien aprende es igual, en
todas las pruebas, que lo que devuelve un miembro de la familia, sus errores son los de ese miembro.
Si no es igual que ninguno, no se adivina: se dice solo lo que se ve.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from course_lib.checkers import running
from course_lib.checkers.report import Finding, Report

MOST = 40  # los miembros que se siguen de una etapa a otra, con menos errores primero
CREDIBLE = 4  # los errores juntos que se nombran: con más, casi todo se parece a algo
RELATIVE, ABSOLUTE = 1e-4, 1e-5  # float32: lo que dos formas buenas de contar pueden separarse


@dataclass(frozen=True)
class Mistake:
    """Un error que comete la gente.

    Args:
        id: nombre estable.
        text: qué está mal, en una frase.
        read: dónde se explica, como ``"03 §2"``.
        consequence: de un ``Look``, la frase que dice, con un número, qué le ha hecho a la salida.
            Sin ella se dice dónde se aparta más de la buena.
    """

    id: str
    text: str
    read: str = ""
    consequence: Callable | None = None


@dataclass(frozen=True)
class Option:
    """Una forma de dar un paso. Sin ``mistake``, es buena; con una tupla, son varios a la vez."""

    value: object
    mistake: Mistake | tuple[Mistake, ...] | None = None

    @property
    def mistakes(self):
        if isinstance(self.mistake, tuple):
            return self.mistake
        return (self.mistake,) if self.mistake else ()


@dataclass(frozen=True, eq=False)
class Case:
    """Una prueba: unos argumentos y cómo se llaman en una frase («con 3 queries y 5 keys»).

    Si el código se para en todas las pruebas de un ``group``, es que no admite esa clase de
    entrada: se dice en una nota, y se juzga por las demás. ``required`` es lo contrario.
    """

    name: str
    arguments: tuple
    group: str = ""
    required: bool = False


class Stage(NamedTuple):
    """Los pasos que se averiguan a la vez y las pruebas que los distinguen."""

    axes: tuple
    cases: tuple


class Look(NamedTuple):
    """Lo que se mira para contar una consecuencia."""

    case: Case
    yours: torch.Tensor  # lo que ha devuelto quien aprende
    right: torch.Tensor
    traced: dict  # la cuenta entera, con los errores encontrados
    traced_right: dict  # y sin ellos


class Diagnosis(NamedTuple):
    """Lo que se ha reconocido."""

    choice: dict  # paso → cómo se ha dado
    complete: bool  # si con eso se explica todo
    alternatives: list = []  # errores entre los que no se puede elegir: dan lo mismo

    @property
    def named(self):
        """Los errores seguros: los de todas las explicaciones."""
        unsure = {mistake for way in self.alternatives for mistake in way}
        return [mistake for mistake in mistakes(self.choice) if mistake not in unsure]


class Raised(NamedTuple):
    """Esta prueba no ha devuelto nada."""

    problem: Finding


class Table:
    """Los miembros de una familia cuya salida tiene la misma forma, listos para buscar."""

    def __init__(self, rows):
        self.choices = [choice for choice, _ in rows]
        self.outputs = torch.stack([flat(output) for _, output in rows])

    def equal_to(self, value):
        """Los que dan lo mismo que ``value``."""
        close = torch.isclose(self.outputs, flat(value), RELATIVE, ABSOLUTE, equal_nan=True)
        return [self.choices[row] for row in close.all(dim=1).nonzero().flatten().tolist()]


class Exercise:
    """Un ejercicio y su comprobación. Cada uno hereda de aquí y rellena lo suyo.

    Attributes:
        number, title, points: ``"5.2"``, su nombre y lo que vale.
        names, optional: los argumentos que recibe la función, y los que puede no recibir.
        axes: paso → formas de darlo; la primera es la buena.
        stages: en qué orden se averiguan.
        numpy: si también vale devolver un array de NumPy.
        dtype: si se indica, el tipo que tiene que tener la salida (``torch.bool``).
    """

    number = title = ""
    points = 2
    names: tuple = ()
    optional: tuple = ()
    axes: dict = {}
    stages: tuple = ()
    tiny: tuple = ()  # las pruebas más pequeñas, por orden, para enseñar un contraejemplo
    numpy = False
    returns = "un tensor"
    dtype = None
    groups: dict = {}  # grupo → lo que se dice si el código no lo admite

    # --- Lo que cada ejercicio escribe --------------------------------------------------------

    def compute(self, choice, *arguments):
        """La cuenta, con la forma elegida de dar cada paso: un diccionario con ``output`` y lo intermedio."""
        raise NotImplementedError

    def properties(self, learner, seen):
        """Los ``Finding`` de las propiedades que fallan, cuando no se reconoce ningún error."""
        return ()

    def extra_options(self, learner):
        """Formas de dar un paso que dependen de quien aprende: paso → lista de ``Option``."""
        return {}

    def main(self, value, case):
        """De lo que devuelve el código, el tensor que se compara."""
        return value

    def too_narrow(self, seen):
        """Un ``Finding`` si lo que el código admite no basta."""
        return ()

    def form(self, seen, choice):
        """Los ``Finding`` de la forma de la respuesta, una vez reconocida la cuenta."""
        return ()

    def notes(self, learner, seen):
        """Lo que está bien y conviene saber."""
        return ()

    def accepts(self, learner):
        """Un ``Finding`` si esto no se puede llamar; si no, ``None``."""
        return running.wrong_signature(learner, self.names, self.optional)

    def is_stub(self, learner):
        return running.is_stub(learner)

    def call(self, learner, *arguments, seed=0):
        """Ejecuta el código de quien aprende con estos argumentos."""
        return running.call(learner, *arguments, seed=seed)

    # --- La comprobación ----------------------------------------------------------------------

    def check(self, learner):
        """Comprueba ``learner`` y devuelve un ``Report``."""
        if learner is ... or (learner is not None and self.is_stub(learner)):
            return self.report(unsolved=True)
        if problem := self.accepts(learner):
            return self.report([problem])
        seen, values, printed = {}, {}, ""
        for case in self.all_cases():
            arguments = clone(case.arguments)
            outcome = self.call(learner, *arguments)
            if not seen:
                printed = outcome.printed
            if outcome.unsolved:
                return self.report(unsolved=True)
            if outcome.fatal:
                return self.report([outcome.problem], printed=printed)
            if not same(arguments, case.arguments, 0, 0):
                return self.report([self.changed(case, arguments)], printed=printed)
            if outcome.problem is None:
                values[case], problem = self.read(outcome.value, case)
                if problem:
                    return self.report([problem], printed=printed)
                seen[case] = self.main(values[case], case)
            else:
                seen[case] = Raised(outcome.problem)
        working = [case for case, value in seen.items() if not isinstance(value, Raised)]
        if not working:
            return self.report([next(iter(seen.values())).problem], printed=printed)
        again = self.call(learner, *clone(working[0].arguments), seed=1)
        if again.problem or not same(self.read(again.value, working[0])[0], values[working[0]]):
            return self.report([self.is_random(working[0])], printed=printed)
        findings, notes = self.judge(learner, seen, values)
        return self.report(findings, notes, printed=printed)

    def judge(self, learner, seen, values):
        """Los errores y las notas de unas salidas que existen y no son al azar."""
        findings, notes = [], []
        for group, message in self.groups.items():
            cases = [case for case in seen if case.group == group]
            if cases and all(isinstance(seen[case], Raised) for case in cases):
                problem = seen[cases[0]].problem
                if any(case.required for case in cases):
                    findings.append(Finding(f"sin-{group}", message, problem.text))
                else:
                    notes.append(f"{message} {problem.text}")
                for case in cases:
                    del seen[case]
        if narrow := list(self.too_narrow(seen)):
            findings, notes = narrow, []
        if all(self.agrees({}, case, value) for case, value in seen.items()):
            found = Diagnosis({}, True)
        else:
            found = self.diagnose(learner, seen)
        choice = found.choice
        findings += [self.tell(mistake, choice, seen) for mistake in found.named]
        if found.alternatives:
            findings.append(either(found.alternatives))
        elif found.complete:
            findings += calmly(lambda: list(self.form(values, choice)), [])
        else:
            findings += self.describe(learner, choice, seen)
        if not findings:
            notes += calmly(lambda: list(self.notes(learner, seen)), [])
        return without_echo(findings), notes

    def diagnose(self, learner, seen):
        """El miembro de la familia con menos errores que da lo mismo en todas las pruebas."""
        survivors = [{}]
        for stage in self.stages:
            cases = [case for case in stage.cases if case in seen]
            cases.sort(key=lambda case: isinstance(seen[case], Raised))
            if not cases:
                continue
            if isinstance(seen[cases[0]], Raised):
                return fewest(survivors, complete=False)
            matching = self.matching(survivors, self.axes, stage, cases, seen)
            if not matching:
                for axis, options in calmly(lambda: self.extra_options(learner), {}).items():
                    if axis in stage.axes:
                        axes = self.axes | {axis: options}
                        matching += self.matching(survivors, axes, stage, cases, seen)
            if not matching:
                return fewest(survivors, complete=False)
            survivors = simplest(matching)
        return fewest(survivors, complete=True)

    def matching(self, survivors, axes, stage, cases, seen):
        """Los que siguen dando lo mismo al averiguar los pasos de esta etapa."""
        if survivors == [{}] and axes is self.axes and type(self).agrees is Exercise.agrees:
            candidates = self.table(stage, cases[0]).get(shape_of(seen[cases[0]]))
            candidates = candidates.equal_to(seen[cases[0]]) if candidates else []
            candidates = sorted(candidates, key=lambda found: len(mistakes(found)))[: 10 * MOST]
        else:
            candidates = (
                choice
                for known in survivors
                for options in product(*(axes[axis] for axis in stage.axes))
                if not repeats(choice := known | dict(zip(stage.axes, options)))
            )
        return [
            choice
            for choice in candidates
            if all(self.agrees(choice, case, seen[case]) for case in cases)
        ]

    def table(self, stage, case):
        """Lo que dan en una prueba todos los miembros: se calcula una vez, y buscar es inmediato."""
        tables = self.__dict__.setdefault("tables", {})
        if case not in tables:
            rows = {}
            for options in product(*(self.axes[axis] for axis in stage.axes)):
                choice = dict(zip(stage.axes, options))
                if not repeats(choice) and (result := self.trace(choice, case)) is not None:
                    shape = shape_of(result["output"])
                    rows.setdefault(shape, []).append((choice, result["output"]))
            tables[case] = {shape: Table(found) for shape, found in rows.items()}
        return tables[case]

    def agrees(self, choice, case, value):
        """Si este miembro de la familia da en esta prueba lo mismo que quien aprende."""
        result = self.trace(choice, case)
        if result is None or isinstance(value, Raised):
            return result is None and isinstance(value, Raised)
        return same(result["output"], value)

    def trace(self, choice, case):
        """La cuenta de un miembro en una prueba, o ``None`` si se para."""
        chosen = {axis: options[0].value for axis, options in self.axes.items()}
        chosen |= {axis: option.value for axis, option in choice.items()}
        try:
            return self.compute(chosen, *case.arguments)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return None

    # --- Contarlo -----------------------------------------------------------------------------

    def tell(self, mistake, choice, seen):
        """Un error reconocido, con su consecuencia en la salida de quien aprende."""
        without = {a: option for a, option in choice.items() if mistake not in option.mistakes}
        stopped = ""
        for case, value in seen.items():
            if self.agrees(without, case, value):
                continue  # en esta prueba, este error no se nota
            if isinstance(value, Raised):
                stopped = stopped or f"Con {case.name}, tu código se para."
                continue
            right = self.trace({}, case)
            traced = self.trace(choice, case)
            if right is None or traced is None:
                continue
            look = Look(case, value, right["output"], traced, right)
            story = mistake.consequence and calmly(lambda: mistake.consequence(look), "")  # noqa: B023
            return Finding(mistake.id, mistake.text, story or difference(look), mistake.read)
        return Finding(mistake.id, mistake.text, stopped, mistake.read)

    def describe(self, learner, choice, seen):
        """Lo que se ve cuando no todo se reconoce: dónde se para, qué propiedad falla, un ejemplo."""
        unexplained = [
            case
            for case, value in seen.items()
            if not self.agrees(choice, case, value) and not self.agrees({}, case, value)
        ]
        for case in unexplained:
            if isinstance(seen[case], Raised):
                problem = seen[case].problem
                text = problem.text[0].lower() + problem.text[1:]
                return [Finding(problem.id, f"Con {case.name}, {text}")]
        failing = [case for case in unexplained if not isinstance(seen[case], Raised)]
        found = calmly(lambda: list(self.properties(learner, seen)), []) if failing else []
        if not found and failing:
            case = failing[0]
            look = Look(case, seen[case], self.trace({}, case)["output"], {}, {})
            found = [
                Finding(
                    "otro", "No reconozco qué ha pasado, pero no da lo mismo.", difference(look)
                )
            ]
        if found and (example := self.counterexample(learner)):
            first = found[0]
            story = " ".join(filter(None, (first.consequence, example)))
            found[0] = Finding(first.id, first.text, story, first.read)
        return found

    def counterexample(self, learner):
        """El ejemplo más pequeño en el que la salida no es la buena, o ``None``."""
        for case in self.tiny:
            outcome = self.call(learner, *clone(case.arguments))
            if outcome.problem:
                continue
            value, problem = self.read(outcome.value, case)
            right = self.trace({}, case)["output"]
            if not problem and not same(self.main(value, case), right):
                given = ", ".join(
                    f"{name} = {show(argument)}"
                    for name, argument in zip((*self.names, *self.optional), case.arguments)
                )
                yours, right = show_both(self.main(value, case), right)
                return f"Con {given}, tu salida es {yours} y tenía que ser {right}."
        return None

    def read(self, value, case):
        """Convierte lo devuelto en tensores sin historia, o dice por qué no se puede."""
        if value is None:
            return None, Finding("none", "Tu código devuelve None: ¿le falta el return?")
        if isinstance(value, tuple) and self.expects_tuple(value):
            read = [(None, None) if item is None else self.read(item, case) for item in value]
            problems = [problem for _, problem in read if problem]
            return (None, problems[0]) if problems else (tuple(item for item, _ in read), None)
        kind = type(value).__name__
        if self.numpy and kind in ("ndarray", "float32", "float64", "float", "int", "bool_"):
            value = torch.as_tensor(value)
        if not isinstance(value, torch.Tensor):
            name = "un array de NumPy" if kind == "ndarray" else f"un «{kind}»"
            text = f"Tu código devuelve {name} y tiene que devolver {self.returns}."
            return None, Finding("tipo", text)
        value = value.detach()
        if self.dtype and value.dtype != self.dtype:
            wanted, got = str(self.dtype)[6:], str(value.dtype)[6:]
            return None, Finding("dtype", f"Tu salida es {got} y tiene que ser {wanted}.")
        if self.dtype is None:
            if not value.is_floating_point():
                got = str(value.dtype)[6:]
                text = f"Tu salida es {got}: los decimales se pierden. Tiene que ser float32."
                return None, Finding("dtype", text)
            if value.dtype in (torch.float16, torch.bfloat16):
                got = str(value.dtype)[6:]
                text = f"Tu salida es {got}, y pierde decimales: tiene que ser float32."
                return None, Finding("dtype", text)
            if value.dtype == torch.float64 and not self.numpy:
                text = "Entra float32 y tu salida es float64: conserva el tipo de la entrada."
                return None, Finding("dtype", text)
            value = value.float()
        return value, None

    def expects_tuple(self, value):
        """Si una tupla como esta puede ser una respuesta."""
        return True

    def changed(self, case, arguments):
        names = (*self.names, *self.optional)
        which = [
            name
            for name, before, after in zip(names, case.arguments, arguments)
            if not same(before, after, 0, 0)
        ]
        return Finding(
            "cambia-la-entrada",
            f"Tu código cambia lo que recibe: {' y '.join(which)}. Quien lo llama se queda con otros "
            "números. Busca un += o una función acabada en _ y haz la cuenta en un tensor nuevo.",
        )

    def is_random(self, case):
        return Finding(
            "azar",
            f"Dos llamadas iguales no dan lo mismo con {case.name}: ¿queda algún número al azar, o un "
            "dropout encendido?",
        )

    def mistake_ids(self):
        """Los errores que esta comprobación sabe nombrar."""
        return {m.id for options in self.axes.values() for o in options for m in o.mistakes}

    def all_cases(self):
        return list(dict.fromkeys(case for stage in self.stages for case in stage.cases))

    def report(self, findings=(), notes=(), unsolved=False, printed=""):
        return Report(self.number, self.title, tuple(findings), tuple(notes), unsolved, printed)


def simplest(members):
    """Si son muchos, los que no tienen todos los errores de otro y alguno más, que no se ve."""
    members = sorted(members, key=lambda member: len(mistakes(member)))
    if len(members) <= MOST // 4:
        return members
    kept = []
    for member in members[: 10 * MOST]:
        mine = set(mistakes(member))
        if not any(set(mistakes(other)) < mine for other in kept):
            kept.append(member)
    return kept[:MOST]


def fewest(survivors, complete):
    """El miembro con menos errores. Si hay varios, lo que comparten, y lo demás como alternativas."""
    least = min(len(mistakes(choice)) for choice in survivors)
    if least > CREDIBLE:
        return Diagnosis({}, complete=False)
    best = [choice for choice in survivors if len(mistakes(choice)) == least]
    common = set.intersection(*(set(mistakes(choice)) for choice in best))
    shared = {a: option for a, option in best[0].items() if common.issuperset(option.mistakes)}
    others = {}
    for choice in best:
        ways = [mistake for mistake in mistakes(choice) if mistake not in common]
        others[frozenset(mistake.id for mistake in ways)] = ways
    if not complete:
        return Diagnosis(shared, False)
    return Diagnosis(best[0], True, list(others.values()) if len(others) > 1 else [])


def calmly(look, otherwise):
    """Lo que da ``look`` o, si con una respuesta muy rara no se puede mirar, ``otherwise``."""
    try:
        return look()
    except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):
        return otherwise


def without_echo(findings):
    """Los mismos, sin repetir una consecuencia que ya se ha contado."""
    told, kept = set(), []
    for finding in findings:
        story = "" if finding.consequence in told else finding.consequence
        told.add(story)
        kept.append(Finding(finding.id, finding.text, story, finding.read))
    return kept


def either(alternatives):
    """Varias explicaciones que dan lo mismo: no se elige por nadie."""
    if len(alternatives) > 3:
        return Finding("ambiguo", "Tu salida sale de varios errores juntos, y no sé de cuáles.")
    ways = [
        ", y además: ".join(mistake.text.rstrip(".") for mistake in way) for way in alternatives
    ]
    text = "; ".join(f"({letter}) {way}" for letter, way in zip("abc", ways))
    where = ", ".join(dict.fromkeys(m.read for way in alternatives for m in way if m.read))
    return Finding("ambiguo", f"Hay más de una forma de llegar a tu salida: {text}.", read=where)


def mistakes(choice):
    """Los errores de un miembro de la familia, por el orden de sus pasos."""
    return list(dict.fromkeys(m for option in choice.values() for m in option.mistakes))


def repeats(choice):
    """Si un mismo error aparece en dos pasos: sería contarlo una vez y cometerlo dos."""
    return sum(len(option.mistakes) for option in choice.values()) > len(mistakes(choice))


def clone(value):
    """Una copia de unos argumentos, con la que se puede hacer lo que sea."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, tuple | list):
        return type(value)(clone(item) for item in value)
    if isinstance(value, dict):
        return {key: clone(item) for key, item in value.items()}
    return value


def same(first, second, relative=RELATIVE, absolute=ABSOLUTE):
    """Si dos resultados son iguales: forma y números, con NaN igual a NaN."""
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(
            same(a, b, relative, absolute) for a, b in zip(first, second)
        )
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same(first[key], second[key], relative, absolute) for key in first
        )
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        if first.shape != second.shape:
            return False
        if first.numel():  # un solo número descarta casi todo, y es mucho más rápido
            a, b = float(first.reshape(-1)[-1]), float(second.reshape(-1)[-1])
            if abs(a - b) > absolute + relative * abs(b):
                return False
        return torch.allclose(first.double(), second.double(), relative, absolute, equal_nan=True)
    return type(first) is type(second) and first == second


def flat(value):
    """Todos los números de un resultado, en una fila."""
    if isinstance(value, tuple | list):
        return torch.cat([flat(item) for item in value]) if value else torch.zeros(0).double()
    return torch.as_tensor(value).double().flatten()


def shape_of(value):
    """La forma de un resultado: dos con formas distintas no se comparan."""
    if isinstance(value, tuple | list):
        return tuple(shape_of(item) for item in value)
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value)


def difference(look):
    """Dónde se aparta más la salida de la buena, en una frase."""
    yours, right = look.yours, look.right
    if isinstance(right, tuple):
        pairs = [pair for pair in zip(yours, right) if not same(*pair)]
        return difference(look._replace(yours=pairs[0][0], right=pairs[0][1])) if pairs else ""
    if not isinstance(yours, torch.Tensor):
        return ""
    if yours.shape != right.shape:
        return (
            f"Con {look.case.name}, tu salida mide {tuple(yours.shape)} y tenía que medir "
            f"{tuple(right.shape)}."
        )
    gap = (yours.double() - right.double()).abs().nan_to_num(torch.inf, torch.inf)
    position = np.unravel_index(int(gap.argmax()), gap.shape)
    index = ", ".join(str(int(i)) for i in position)
    where = f" en la posición [{index}]" if index else ""
    mine, good = show_both(yours[position], right[position])
    return f"Con {look.case.name}, tu salida{where} vale {mine} y tenía que valer {good}."


def show_both(first, second):
    """Dos números distintos, con las cifras que hagan falta para que se vea."""
    for digits in (3, 5, 8):
        texts = show(first, digits), show(second, digits)
        if texts[0] != texts[1]:
            break
    return texts


def show(value, digits=3):
    """Un tensor pequeño o un número, como se escribe en una frase."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(show(item, digits) for item in value) + "]"
    if isinstance(value, float):
        return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
