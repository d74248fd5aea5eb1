"""Propiedades que cumple cualquier respuesta buena: lo que se dice cuando no se reconoce el error.

Cada una es una función de un ``Attempt`` que da un ``Finding`` si falla.
"""

import torch

from course_checkers.engine.case import Case
from course_checkers.engine.comparing import clone, has_nan, same, show_both
from course_checkers.engine.mistakes import lines, texts_of
from course_checkers.engine.report import Finding
from course_checkers.inside.code import Heard


def each_output(known):
    """Una propiedad de cada salida: de ella y de los argumentos, el nombre de lo que falla y sus números."""

    def property_of(look):
        def found(attempt):
            for case, output in attempt.outputs():
                for name, numbers in look(output, *case.arguments):
                    return [known[name].saying(name=case.name, **numbers)]
            return []

        return found

    return property_of


def right_shape(shape, text, read, story="Con {name} mide {yours} y tenía que medir {right}."):
    """Que la salida tenga la forma que da ``shape`` con los argumentos de la prueba."""

    @each_output({"forma": Finding("propiedad-forma", text, story, read)})
    def look(output, *given):
        yours, right = tuple(output.shape), tuple(shape(*given))
        if yours != right:
            yield "forma", {"yours": yours, "right": right}

    return look


NOT_FINITE = "Tu salida tiene números que no son finitos."


def finite(read, text=NOT_FINITE, story="Con {name}, {bad} de {all} son NaN o ∞."):
    """Que no haya NaN ni ∞."""

    @each_output({"finita": Finding("propiedad-finita", text, story, read)})
    def look(output, *given):
        if bad := int((~output.isfinite()).sum()):
            yield "finita", {"bad": bad, "all": output.numel()}

    return look


def laws(file, section):
    """Lo que tiene que cumplir una respuesta: nombre → ``Finding`` del archivo de frases de un módulo.

    Su línea lleva, detrás de la frase, otra con la consecuencia: «… · Con {name}, la tuya es {yours}.».
    """
    found = {}
    for name, (read, text) in lines(texts_of(file))[section].items():
        text, _, story = text.partition(" · ")
        found[name] = Finding(name, text, story, read)
    return found


def related(law, case, after, expected=lambda one: one, alike=same):
    """Que lo que da con ``after`` sea lo ``expected`` de lo que da en ``case``: ``{one}`` y ``{other}``."""

    def look(attempt):
        one, other = attempt.ask(*case.arguments), attempt.ask(*after)
        if one is not None and other is not None and not alike(expected(one), other):
            one, other = show_both(one, other)
            yield law.saying(name=case.name, one=one, other=other)

    return look


def gives(law, arguments, right):
    """Que con estos argumentos dé ``right``; lo que da es ``{yours}``."""

    def look(attempt):
        yours = attempt.ask(*arguments)
        if yours is not None and not same(yours, right):
            yield law.saying(yours=show_both(yours, right)[0])

    return look


def gives_nan(note, *arguments):
    """La nota de quien da algún NaN con estos argumentos: no está mal, y conviene saberlo."""
    return lambda attempt: [note] if has_nan(attempt.ask(*arguments)) else []


def differs(note, *arguments):
    """La nota de quien, con estos argumentos, no da lo que la cuenta buena."""
    case = Case("", arguments)

    def look(attempt):
        value = attempt.ask(*arguments)
        if value is None or not attempt.exercise.agrees({}, case, value):
            yield note

    return look


def hits(law):
    """En cuántas pruebas acierta: lo último que se puede decir."""

    def look(attempt):
        seen = attempt.seen.items()
        good = sum(attempt.exercise.agrees({}, case, value) for case, value in seen)
        yield law.saying(good=good, all=len(seen))

    return look


def half_precision(attempt):
    """Que la cuenta no se haga con 16 bits: se acerca a la buena, y todo cabe justo en ellos."""
    trace = attempt.exercise.trace
    pairs = [(value, trace({}, case)["output"]) for case, value in attempt.outputs()]
    near = [v.shape == g.shape and bool((v - g).abs().max() < 0.02 * g.abs().max()) for v, g in pairs]
    for kind in (torch.bfloat16, torch.float16):
        if 2 * sum(near) > len(near) and all(same(v, v.to(kind).float(), 0, 0) for v, _ in pairs):
            text = f"Has hecho la cuenta en {str(kind)[6:]}, y pierde decimales: hazla en float32."
            return [Finding("media-precisión", text)]
    return []


def promised(attempt, choice, findings):
    """Lo que promete el enunciado y el código no admite, si es lo único que está mal: va en ``besides``."""
    exercise = attempt.exercise
    for group, message in exercise.groups.items():
        case = next(case for case in exercise.all_cases() if case.group == group)
        if not findings and case not in attempt.seen:
            yield Finding(f"sin-{group}", message, attempt.call(*case.arguments).problem.text)


TORCH = "scaled_dot_product_attention"
BORROWED = "lo que devuelves es lo que da {}: está bien, y el ejercicio es escribirlo."
READY = set()  # las notas de quien usa lo ya hecho


def heard(attempt):
    """Qué usa una respuesta (véase ``Heard``), en la primera prueba que admite."""
    found = Heard()

    def listened(*arguments):
        found.arguments = arguments
        with found:
            return found.result(attempt.learner(*arguments))

    attempt.exercise.call(listened, *clone(next(iter(attempt.values)).arguments))
    return found.names


def not_by_hand(names, note):
    """La nota de quien llama a una función de torch, o a un método de course_lib, que se pide no usar."""
    READY.add(note)
    return lambda attempt: [note] if heard(attempt) & set(names) else []


def borrowed(attempt):
    """La nota de quien devuelve lo que da la función de course_lib que hace lo mismo."""
    found = sorted(name for name in heard(attempt) if name.startswith("course_lib."))
    return [BORROWED.format(name) for name in found[:1]]


def is_borrowed(note):
    """Si una nota dice que la respuesta usa lo ya hecho."""
    return note in READY or note.startswith(BORROWED.partition("{")[0])
