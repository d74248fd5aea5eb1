"""Lo que se vuelve a preguntar: tres preguntas cortas al abrir una lección, de las anteriores, y tres al cerrarla.

Lo que se pregunta está en ``course_checkers/lessons``, en ``lNN_asked.toml``: cada respuesta es lo que se dice y,
si no es la buena, qué se le dice a quien la da y qué error es, si lo nombra una comprobación. ``shown`` es la celda
o la prueba que lo calcula. Lo que se falla vuelve en otra lección, hasta que se acierta.
"""

import tomllib
from functools import cache

import traitlets

from course_checkers.engine import closing
from course_checkers.engine.mistakes import LESSONS
from course_lib.explorers.base import SHARED, Explorer, esm
from course_tools.opening import progress

OPTIONAL = "07"  # la que se puede saltar: sin nada apuntado de ella, no se vuelve a preguntar
MANY = 3  # las que se preguntan de una vez


@cache
def bank():
    """Todas las preguntas, por lecciones: nombre, como ``"03.b"``, → lo que dice su archivo."""
    files = sorted(LESSONS.glob("l??_asked.toml"))
    return {name: one for path in files for name, one in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def right(name):
    """La respuesta buena, como está escrita: es la única que no lleva una frase detrás."""
    return next(say for say, *why in bank()[name]["answers"] if not why)


def opening(lesson, noted):
    """Las que abren una lección: las que ya se han contestado en ella, las falladas antes y, si faltan, otras.

    Args:
        lesson: su número, como ``"03"``.
        noted: lo apuntado: nombre → ``{"said": …, "right": …, "date": …, "lesson": …}``.
    """
    earlier = [name for name in bank() if name[:2] < lesson]
    here = [name for name in earlier if noted.get(name, {}).get("lesson") == lesson]
    failed = [name for name in earlier if noted.get(name, {}).get("right") is False and name not in here]
    failed.sort(key=lambda name: str(noted[name].get("date", "")))
    skipped = {OPTIONAL} - {name[:2] for name in noted}
    return list(dict.fromkeys([*here, *failed, *spread(int(lesson), skipped)]))[:MANY] if earlier else []


def spread(lesson, skipped):
    """Tres de lecciones distintas, si las hay: las dos últimas y una más atrás; de las saltadas, ninguna.

    De cada lección, la que menos veces ha salido ya, al cerrarla o al abrir otra; y entre iguales, la más antigua.
    """
    by_lesson, seen = {}, {}  # y de cada pregunta, cuántas veces y dónde fue la última
    for name in (name for name in bank() if name[:2] not in skipped):
        by_lesson.setdefault(int(name[:2]), []).append(name)
    for here in range(1, lesson + 1):
        seen |= dict.fromkeys(by_lesson.get(here - 1, [])[:MANY], (1, here - 1))
        before, found = sorted((k for k in by_lesson if k < here), reverse=True), []
        for back in (0, 1, 2 + here % max(1, len(before) - 2)):
            mine = [name for name in by_lesson[before[back % len(before)]] if name not in found]
            found.append(min(mine, key=lambda name: seen.get(name, (0, 0))))
            seen[found[-1]] = seen.get(found[-1], (0, 0))[0] + 1, here
    yield from found
    yield from (name for k in before for name in by_lesson[k])  # si se repiten


def closing_of(lesson):
    """Las que cierran una lección: sus tres primeras."""
    return [name for name in bank() if name[:2] == lesson][:MANY]


def state(name):
    """De una pregunta, lo que la página necesita: y de cada respuesta, qué decirle."""
    asked, good = bank()[name], right(name)
    told = [(say, f"{why[0]} Es «{good}»." if why else "Sí.") for say, *why in asked["answers"]]
    answers = [{"say": say, "told": words[0].upper() + words[1:], "right": say == good} for say, words in told]
    return {"name": name, "question": asked["question"], "answers": answers}


class Questions(Explorer):
    """Tres preguntas de diez segundos; lo que se contesta se sabe al momento, y se apunta.

    Args:
        lesson: el número de la lección, como ``"03"``.
        closing: si son las que la cierran; si no, son de las lecciones anteriores.

    Raises:
        ValueError: si no hay preguntas para ella.
    """

    _esm = esm("asking")
    lesson = traitlets.Unicode().tag(**SHARED)
    closing = traitlets.Bool().tag(**SHARED)
    asked = traitlets.List().tag(**SHARED)
    said = traitlets.Dict().tag(**SHARED)  # nombre → lo último que se ha dicho
    note = traitlets.Unicode().tag(**SHARED)

    def __init__(self, lesson, closing=False):
        noted, known = progress.load()["asked"], isinstance(lesson, str) and lesson.isdecimal()
        names = known and (closing_of(lesson) if closing else opening(lesson, noted))
        if not names:
            raise ValueError(f'No hay preguntas para la lección {lesson!r}. Escribe su número entre comillas: "03".')
        asked = [state(name) for name in names]
        mine = {one["name"]: noted.get(one["name"], {}) for one in asked}
        said = {n: one["said"] for n, one in mine.items() if one.get("lesson") == lesson and heard(n, one.get("said"))}
        super().__init__(lesson=lesson, closing=closing, asked=asked, said=said)

    @traitlets.validate("said")
    def _check(self, proposal):
        return {name: said for name, said in proposal["value"].items() if name in bank() and heard(name, said)}

    @traitlets.observe("said")
    def _keep(self, change):
        old = change["old"] if isinstance(change["old"], dict) else {}
        for name, said in change["new"].items():
            if said != old.get(name):
                fault = closing.noted(progress.asked, name, said, said == right(name), self.lesson)
                self.note = fault and f"No se ha apuntado: {fault}."

    def describe(self):
        return described(self.asked)


def first(lesson, closing):
    """Las que se preguntan a quien empieza, como las guarda el cuaderno."""
    return [state(name) for name in (closing_of(lesson) if closing else opening(lesson, {}))]


def described(asked):
    """Unas preguntas y sus respuestas, en texto."""
    lines = []
    for one in asked:
        lines += [one["question"], *(f"  ○ {answer['say']}" for answer in one["answers"])]
    return "\n".join(lines)


def heard(name, said):
    """Si eso es una de las respuestas."""
    return isinstance(said, str) and said in [say for say, *_ in bank()[name]["answers"]]
