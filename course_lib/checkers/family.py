"""Lo que queda por llevar al motor: el ejercicio de antes."""

from itertools import product

import torch

from course_lib.checkers.engine import running
from course_lib.checkers.engine.comparing import (  # noqa: F401
    ABSOLUTE,
    RELATIVE,
    calmly,
    clone,
    difference,
    flat,
    same,
    shape_of,
    show,
    show_both,
)
from course_lib.checkers.engine.exercise import Case, Look, either, without_echo  # noqa: F401
from course_lib.checkers.engine.mistakes import Mistake, Option, mistakes, repeats  # noqa: F401
from course_lib.checkers.engine.report import Finding, Report
from course_lib.checkers.engine.search import MOST, Diagnosis, Raised, Stage, fewest, simplest  # noqa: F401


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
