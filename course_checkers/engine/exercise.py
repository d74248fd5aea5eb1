"""Un ejercicio y su comprobación: ejecutar la respuesta, buscar qué errores la explican y contarlo.

Un error es otra forma de hacer la misma cuenta (véase ``search``). Si nada coincide se dice solo lo
que se ve: dónde se para, qué propiedad falla, el ejemplo más pequeño en que no da lo mismo.
"""

from dataclasses import replace
from functools import cache, cached_property
from inspect import signature

import torch

from course_checkers.engine import comparing, memory, probes, running
from course_checkers.engine.case import Case, Look
from course_checkers.engine.closing import finish
from course_checkers.engine.comparing import calmly, clone, close, difference, same, shape_of, show
from course_checkers.engine.mistakes import repeats
from course_checkers.engine.properties import borrowed
from course_checkers.engine.reading import Tensors, frozen, untouched
from course_checkers.engine.report import Finding, Report, either, without_echo
from course_checkers.engine.search import Diagnosis, Raised, search
from course_checkers.inside.code import is_stub

PART = 1 / 4  # del tiempo de una comprobación, hasta cuándo se hacen pruebas de más


class Ended(Exception):
    """Una respuesta que no se juzga: el ``Finding`` que lo impide o, si está sin hacer, nada."""


class Attempt:
    """Una respuesta, mientras se comprueba: lo que da al ejecutarla, con lo que después se juzga.

    Attributes:
        exercise, learner: el ejercicio, y el código de quien aprende.
        reader: cómo se lee lo que devuelve.
        values: prueba → lo que ha devuelto, leído.
        seen: prueba → lo que se compara, o ``Raised`` si el código se ha parado.
        late: las pruebas de más que no se han hecho, porque tarda, y lo que se dice de cada una.
        printed: lo que escribe en la primera prueba.
    """

    def __init__(self, exercise, learner):
        self.exercise, self.learner, self.reader = exercise, learner, exercise.reader
        self.values, self.seen, self.kept, self.late, self.printed = {}, {}, [], [], None

    def call(self, *arguments, seed=0):
        """Ejecuta el código con una copia de estos argumentos."""
        return self.call_with(clone(arguments), seed)

    def call_with(self, arguments, seed=0):
        """Ejecuta el código con estos mismos argumentos: después se puede mirar si los ha cambiado."""
        outcome = self.exercise.call(self.learner, *arguments, seed=seed)
        self.kept += outcome.kept
        return outcome

    def read(self, outcome, case):
        """Lo devuelto, leído, y lo que se compara de ello; si no se entiende, un ``Finding``."""
        try:
            value, problem = self.reader.read(outcome.value, case)
            return value, None if problem else self.reader.main(value, case), problem
        except Exception:  # algo tan raro que el lector no cuenta con ello
            return None, None, running.SAYS["ilegible"].found()

    def overwritten(self):
        """Un ``Finding`` si lo devuelto en una llamada ha cambiado después, en otra."""
        again = running.call(lambda: [returned for returned, _ in self.kept])
        copies = [copy for _, copy in self.kept]
        alike = again.fatal or not again.problem and same(again.value, copies, 0, 0)
        return [] if alike else [running.SAYS["mismo-tensor"].found()]

    def ask(self, *arguments):
        """Lo que da con estos argumentos, para compararlo; ``None`` si no da nada que se entienda."""
        case, outcome = Case("", arguments), self.call(*arguments)
        return None if outcome.problem else self.read(outcome, case)[1]

    def ask_all(self, cases):
        """De cada prueba, lo que da, o ``None``, por tandas que acaban a tiempo. La que no cabe ni sola va a
        ``late``, y las que queden al pasar un cuarto del tiempo: el resto es para explicar lo que falla."""
        found, given, pending = [], [], list(cases)

        def some(pending, found):
            nonlocal given
            began = running.times()
            for case in pending:
                given = poured(case.arguments, given)
                found.append((case, self.tried(case, given)))
                if running.over(began, running.SECONDS / 3):
                    break

        while pending and not running.too_late(PART):
            outcome = running.call(some, pending, fresh := [])
            self.late += () if fresh else [(pending[0], outcome.problem)]
            found += fresh  # y de las que quedan a quien va despacio, antes las más pequeñas
            pending = sorted(pending[len(fresh) or 1 :], key=weight)
        self.late += [(case, None) for case in pending]
        return found

    def tried(self, case, arguments):
        """Lo que da con estos argumentos, sin más red; ``None`` si se para o no se entiende."""
        try:
            value = frozen(self.exercise.run(self.learner, *arguments))
            value, problem = self.reader.read(value, case)
            return None if problem else clone(self.reader.main(value, case))
        except Exception:
            return None

    def note(self, case, outcome):
        """Apunta lo que ha dado en una prueba; si no se entiende, un ``Finding``."""
        if outcome.problem:
            self.seen[case] = Raised(outcome.problem)
            return None
        self.values[case], seen, problem = self.read(outcome, case)
        if not problem:
            self.seen[case] = seen
        return problem

    def outputs(self):
        """Las pruebas en que ha dado un tensor, con él."""
        return [(c, value) for c, value in self.seen.items() if isinstance(value, torch.Tensor)]


class Exercise:
    """Un ejercicio. Cada uno hereda de aquí, declara lo suyo y escribe ``compute``.

    Attributes:
        number, title, points: ``"5.1"``, su nombre y lo que vale.
        names: los argumentos que recibe la función, si no se llaman como los de ``compute``; uno que puede
            no recibir, como ``"mask=None"``.
        axes: paso → formas de darlo (véase ``mistakes.ways``).
        stages: en qué orden se averiguan, y con qué pruebas.
        measured: paso → función de un ``Attempt`` que da las ``Option`` que se miden en la respuesta.
        also: los errores que se nombran sin estar en ``axes``.
        unused: los pasos que no da quien hace otra cuenta, la que dice el paso ``other``.
        reader: cómo se lee lo que devuelve.
        groups: grupo de pruebas → lo que se dice si el código no lo admite.
        extra: las pruebas que solo se hacen si todo lo demás está bien: el ejemplo del enunciado,
            tamaños que no caben en una tabla escrita a mano…
        letters: de cada argumento, cómo se llaman sus últimos ejes; «-», uno que no puede medir otra cosa.
        tiny: las pruebas más pequeñas, por orden, para enseñar un contraejemplo.
        silent: funciones de un ``Attempt``: si alguna es cierta, su salida no dice qué cuenta hay detrás
            (una que no cambia nunca, por ejemplo), y no se busca ningún error.
        must: funciones de un ``Attempt`` con los ``Finding`` de las propiedades que fallan, cuando no
            se reconoce ningún error.
        returned: funciones de un ``Attempt`` y lo reconocido, con los ``Finding`` de la forma.
        besides: funciones de un ``Attempt``, lo reconocido y los ``Finding`` que hay, con los de lo que
            se ve sin ejecutar nada, o de otra forma. Van delante.
        notes: funciones de un ``Attempt``, con lo que está bien y conviene saber.
    """

    number = title = ""
    points = 2
    names = cached_property(lambda self: arguments_of(self.compute))
    axes: dict = {}
    stages: tuple = ()
    measured: dict = {}
    also: tuple = ()
    unused: tuple = ()
    reader = Tensors()
    groups: dict = {}
    extra: tuple = ()
    letters: tuple = ()
    tiny: tuple = ()
    silent: tuple = ()
    must: tuple = ()
    returned: tuple = ()
    besides: tuple = ()
    notes: tuple = ()

    # --- Lo que cada ejercicio escribe: siempre la cuenta y, si lo suyo es distinto, lo demás ---------

    def compute(self, choice, *arguments):
        """La cuenta, con la forma elegida de dar cada paso: un diccionario con ``output`` y lo intermedio.

        Si sus números pierden decimales, ``slack`` es lo que se le perdona a cada uno.
        """
        raise NotImplementedError

    def skip(self, choice):
        """Si este miembro de la familia repite otro más sencillo, y por eso sobra: quien hace otra cuenta se
        equivoca, además, en un paso que esa cuenta no tiene."""
        return any(choice[axis].mistakes for axis in self.unused if choice["other"].mistakes)

    def admits(self, choice):
        """Si este miembro cuenta. Un mismo error en dos pasos sería contarlo una vez y cometerlo dos."""
        return not repeats(choice) and not self.skip(choice)

    def prepare(self, learner):
        """Las formas de leer una respuesta, cada una un ``Attempt``; ``None`` si está sin hacer.

        Casi siempre hay una. Si no se puede llamar, un ``Finding``.
        """
        looked = running.call(running.wrong_signature, learner, self.names)
        return looked.problem or looked.value or [Attempt(self, learner)]

    def call(self, learner, *arguments, seed=0):
        """Ejecuta el código de quien aprende con estos argumentos."""
        return running.call(learner, *arguments, seed=seed)

    def run(self, learner, *arguments):
        """Lo mismo que ``call``, sin red: para hacer muchas llamadas en una."""
        return learner(*arguments)

    def possible(self, *arguments):
        """Si el enunciado dice qué dar con estos argumentos, que no son de ninguna prueba."""
        return True

    def unsteady(self, attempt, case):
        """Por qué dos llamadas iguales no dan lo mismo."""
        return memory.changes(attempt, case)

    def narrow(self, attempt):
        """Los ``Finding`` que hay si lo que el código admite no basta."""
        return ()

    def search(self, seen, measure):
        """Lo reconocido (véase ``search``)."""
        return search(self, seen, measure)

    def plainest(self, members):
        """Los que se dicen, si varios explican lo mismo y no se pueden distinguir."""
        return members

    def story(self, consequence, stopped):
        """Lo que se cuenta de un error: su consecuencia y, si ayuda, en qué prueba se para el código."""
        return consequence

    def contrast(self, yours, right):
        """La frase de un contraejemplo."""
        return comparing.contrast(yours, right)

    # --- La comprobación: se ejecuta la respuesta y, con lo que ha dado, se juzga ---------------------

    def __call__(self, learner):
        return finish(self.check(learner), learner, self)

    def check(self, learner):
        """Comprueba ``learner`` y devuelve un ``Report``: de las formas de leerlo, la que más explica."""
        try:
            with running.within_limits():
                return max(self.reports(learner), key=self.how_well)
        except (Ended, running.OutOfTime) as ended:
            return self.report(ended.args, unsolved=not ended.args)

    def reports(self, learner):
        """El informe de cada forma de leer una respuesta, hasta la primera que está bien o sin hacer."""
        for attempt in self.readings(learner):
            report = attempt.exercise.examine(attempt)
            yield report
            if report.ok or report.unsolved:
                break

    def readings(self, learner):
        """Las formas de leer una respuesta, si hay algo escrito y se puede llamar."""
        stub = learner is ... or learner is not None and running.call(is_stub, learner).value
        found = None if stub else self.prepare(learner)
        if not isinstance(found, list):
            raise Ended(*filter(None, [found]))
        return found

    def how_well(self, report):
        """Lo que explica un informe: si está bien; si no, si todo tiene nombre, y cuanto menos, mejor."""
        known = [finding.id in self.mistake_ids() for finding in report.findings]
        return report.ok, bool(known) and all(known), -len(known)

    def examine(self, attempt):
        """Ejecuta una respuesta y, si llega al final, la juzga."""
        try:
            self.execute(attempt)
        except Ended as ended:
            return self.report(ended.args, unsolved=not ended.args, printed=ended.args and attempt.printed)
        return self.report(*self.judge(attempt), printed=attempt.printed)

    # --- Ejecutarla ---------------------------------------------------------------------------

    def execute(self, attempt):
        """Ejecuta una respuesta en todas las pruebas y, en la primera en que da algo, otra vez."""
        for case in self.all_cases():
            self.try_case(attempt, case)
        if not attempt.values:
            raise Ended(next(iter(attempt.seen.values())).problem)
        first = next(iter(attempt.values))
        again = attempt.call(*first.arguments, seed=1)
        if again.fatal:
            raise Ended(during(again.problem, first))
        if again.problem or not same(attempt.read(again, first)[0], attempt.values[first]):
            raise Ended(self.unsteady(attempt, first))

    def try_case(self, attempt, case):
        """Ejecuta una prueba y apunta lo que ha dado."""
        outcome = attempt.call_with(arguments := clone(case.arguments))
        attempt.printed = outcome.printed if attempt.printed is None else attempt.printed
        if outcome.unsolved:
            raise Ended
        if outcome.fatal:
            raise Ended(during(outcome.problem, case))
        looked = running.call(untouched, case.arguments, arguments)
        if not looked.value:
            raise Ended(looked.problem if looked.fatal else self.changed(case, arguments))
        if problem := attempt.note(case, outcome):
            raise Ended(problem)

    # --- Juzgarla -----------------------------------------------------------------------------

    def judge(self, attempt):
        """Los errores y las notas de unas salidas que existen y no son al azar."""
        spoken = self.reader.settle(attempt)
        findings, notes = self.unsupported(attempt)
        if narrow := list(self.narrow(attempt)):
            findings, notes = narrow, []
        found = self.diagnose(attempt)
        findings += [*self.explained(attempt, found), *spoken]
        more = told_by(self.besides, attempt, found.choice, findings)
        findings = more + without_echo(findings)
        if not findings:
            findings = first(self.beyond(attempt, found.choice))
        if not findings:
            notes += told_by((*self.notes, borrowed), attempt)
            notes += [running.SAYS["despacio"].saying(name=case.name).text for case, _ in attempt.late[:1]]
        return findings, [] if more else notes

    def explained(self, attempt, found):
        """Lo reconocido, con su consecuencia, y lo que se ve de la forma o de lo que queda sin explicar."""
        told = [self.tell(mistake, found.choice, attempt.seen) for mistake in found.named]
        if found.alternatives:
            return [*told, either(found.alternatives)]
        if found.complete:
            return told + told_by(self.returned, attempt, found.choice)
        return told + self.describe(attempt, found.choice)

    def beyond(self, attempt, choice):
        """Lo que falla en las pruebas que solo se hacen si lo demás está bien: vale lo primero que salga."""
        made = {probe.case: probe for probe in probes.probes(self, list(attempt.values))}
        given = ((made[case], yours) for case, yours in attempt.ask_all([*made]))
        wrong = [one for one in given if self.misses(attempt, choice, *one)]
        if stale := [one for one in wrong if one[0].of]:
            yield memory.stale(attempt, stale)
        largest = max(map(weight, attempt.values))  # quien tarda con más que eso, quizá solo va despacio
        slow = (one for one in attempt.late if one[1] and weight(one[0]) <= largest)
        yield [during(problem, case) for case, problem in slow][:1]
        failing = [probe.case for probe, _ in wrong]
        if failing and all(c.name.endswith(probes.APART) and c in attempt.seen for c in failing):
            yield [running.SAYS["lee-la-memoria"].found()]
        groups = {"", *(case.group for case in attempt.seen)}
        for case in (*failing, *(case for case in self.extra if case.group in groups)):
            if case not in failing and running.too_late(PART):
                attempt.late.append((case, None))
            else:
                yield self.once_more(attempt, case, choice)
        yield attempt.overwritten()

    def misses(self, attempt, choice, probe, yours):
        """Si lo que da en una de esas pruebas no es lo que debe; lo que hay que dar siempre, se apunta."""
        if yours is None:
            return probe.must
        attempt.seen |= {probe.case: yours} if probe.must else {}
        return not self.fits(probe.right, yours) and not self.agrees(choice, probe.case, yours)

    def once_more(self, attempt, case, choice):
        """Lo que falla en una prueba más; si va despacio con tanto, no por eso está mal."""
        outcome = attempt.call(*case.arguments)
        attempt.late += [(case, outcome.problem)] if outcome.fatal else ()
        problem = None if outcome.fatal else attempt.note(case, outcome)
        return [problem] if problem else self.describe(attempt, choice)

    def unsupported(self, attempt):
        """Las clases de entrada que el código no admite: errores y notas. Sus pruebas se dejan."""
        findings, notes, seen = [], [], attempt.seen
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
        return findings, notes

    def diagnose(self, attempt):
        """El miembro de la familia con menos errores que da lo mismo en todas las pruebas."""
        seen = attempt.seen
        right = all(self.agrees({}, case, value) for case, value in seen.items())
        if right or any(look(attempt) for look in self.silent):
            return Diagnosis({}, complete=right)
        measured = self.measured.items()
        return self.search(seen, cache(lambda: {axis: told_by([look], attempt) for axis, look in measured}))

    def agrees(self, choice, case, value):
        """Si este miembro de la familia da en esta prueba lo mismo que quien aprende."""
        return self.fits(self.trace(choice, case), value)

    def fits(self, result, value):
        """Si lo que da la cuenta (véase ``compute``) es lo que da quien aprende."""
        if result is None or isinstance(value, Raised):
            return result is None and isinstance(value, Raised)
        if late := running.too_late():  # buscar puede durar mucho sin ejecutar el código de nadie
            raise running.OutOfTime(late)
        output, slack = result["output"], result.get("slack")
        if slack is None or shape_of(output) != shape_of(value):
            return same(output, value)
        return bool(close(output, value, slack).all())

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
            right, traced = self.trace({}, case), self.trace(choice, case)
            if right is None or traced is None:
                continue
            look = Look(case, value, right["output"], traced, right)
            story = mistake.consequence and calmly(lambda: mistake.consequence(look), "")  # noqa: B023
            return mistake.found(self.story(story or difference(look), stopped))
        return mistake.found(stopped)

    def describe(self, attempt, choice):
        """Lo que se ve cuando no todo se reconoce: dónde se para, qué propiedad falla, un ejemplo."""
        seen, members = attempt.seen, (choice, {})
        unexplained = [c for c in seen if not any(self.agrees(one, c, seen[c]) for one in members)]
        if not unexplained:
            return []
        for case in unexplained:
            if isinstance(seen[case], Raised):
                problem = seen[case].problem
                text = problem.text[0].lower() + problem.text[1:]
                return [Finding(problem.id, f"Con {case.name}, {text}")]
        found = memory.repeated(attempt) or first(told_by([look], attempt) for look in self.must)
        example, where = self.counterexample(attempt), probes.where(self, seen, unexplained)
        stories = [found[0].consequence, example, where] if found else []
        if not found:
            case = unexplained[0]
            look = Look(case, seen[case], self.trace({}, case)["output"], {}, {})
            found = [running.SAYS["otro"].found(difference(look))]
            stories = [example or found[0].consequence, where or probes.how_many(seen, unexplained)]
        return [replace(found[0], consequence=" ".join(filter(None, stories))), *found[1:]]

    def counterexample(self, attempt):
        """El ejemplo más pequeño en el que la salida no es la buena, o ``None``."""
        for case in self.tiny:
            yours, right = attempt.ask(*case.arguments), self.trace({}, case)["output"]
            if yours is not None and not same(yours, right):
                return f"Con {self.named(case)}, {self.contrast(yours, right)}."
        return None

    def named(self, case):
        """Una prueba pequeña, con todo lo que entra en ella."""
        return ", ".join(f"{name} = {show(x)}" for name, x in zip(self.given(), case.arguments))

    def changed(self, case, arguments):
        pairs = zip(self.given(), case.arguments, arguments)
        which = [name for name, *two in pairs if not running.call(untouched, *two).value]
        return running.SAYS["cambia-la-entrada"].saying(which=" y ".join(which)).found()

    def given(self):
        """Cómo se llama cada argumento."""
        return [name.removesuffix("=None") for name in self.names]

    def mistake_ids(self):
        """Los errores que esta comprobación sabe nombrar."""
        named = {m.id for options in self.axes.values() for o in options for m in o.mistakes}
        return named | set(self.also)

    def all_cases(self):
        return list(dict.fromkeys(case for stage in self.stages for case in stage.all_cases()))

    def report(self, findings=(), notes=(), unsolved=False, printed=""):
        told = tuple(finding.short() for finding in findings), tuple(notes)
        return Report(self.number, self.title, *told, unsolved, printed or "")


def arguments_of(compute):
    known = [*signature(compute).parameters.values()][1:]  # el primero es la elección
    return tuple(f"{one.name}=None" if one.default is None else one.name for one in known)


def during(problem, case):
    """Lo que se dice de una llamada que tarda, con su prueba."""
    return replace(problem, text=problem.text.replace(" s:", f" s con {case.name}:", 1))


def weight(case):
    """Lo grande que es una prueba: los bytes de sus tensores, y sus enteros."""
    return sum(getattr(x, "nbytes", x if type(x) is int else 1) for x in case.arguments)


def poured(arguments, given):
    """Estos argumentos, en los tensores de ``given`` si miden lo mismo; si tienen huecos, tal cual."""
    if [kind_of(x) for x in arguments] != [kind_of(x) for x in given]:
        return list(clone(arguments))
    return [old.copy_(x) if isinstance(x, torch.Tensor) else clone(x) for x, old in zip(arguments, given)]


def kind_of(x):
    return (x.shape, x.stride(), x.dtype) if isinstance(x, torch.Tensor) else None


def first(many):
    """La primera lista que no está vacía."""
    return next(filter(None, many), [])


def told_by(looks, attempt, *more):
    """Lo que dicen unas funciones de un ejercicio; la que con una respuesta muy rara se para, nada."""
    return [one for look in looks for one in calmly(lambda: list(look(attempt, *more)), [])]  # noqa: B023
