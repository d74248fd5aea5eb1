"""Lo que se lee: la devolución de cada persona y el informe de la clase. HTML que se abre solo.

Todo lo que viene de una entrega (nombres, textos, código, salidas) lo escapa ``jinja2``.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from aula.calificar import marks, submissions
from aula.calificar.marks import STOPPED
from aula.calificar.text import attempt, whole
from course_lib.plots.palette import sheet
from course_tools.foreign.names import slug

HERE = Path(__file__).parent
# Lo que la comprobación dice cuando no sabe qué error es: solo lo que se ve.
UNNAMED = {"error", "otro", "respuesta", "respuesta-ilegible", "falta", *STOPPED}
FEW = 5  # con menos entregas de un ejercicio, un error diría de quién es: solo van las cuentas


def state(exercise):
    return "ok" if exercise["ok"] else "none" if exercise["unsolved"] else "no"


def page(template, title, **given):
    """Una página entera, sin nada de fuera."""
    writer = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True)
    style = Markup(sheet(HERE / "estilo.css", night="@media screen and (prefers-color-scheme: dark) { :root"))
    writer.filters["coma"] = lambda value: str(value).replace(".", ",")
    writer.globals |= {"style": style, "lessons": submissions.lessons(), "state": state}
    writer.globals |= {"section": submissions.section, "unnamed": UNNAMED}
    return writer.get_template(template).render(title=title, **given)


def write_feedback(people, folder):
    """Escribe la devolución de cada persona. Si una no se puede, lo dice, y siguen las demás."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.html"):  # quizá, de alguien que ya no está entre las entregas
        old.unlink()

    def one(k, person):
        whole(folder / f"{slug(person['name']) or 'entrega'}-{k}.html", feedback(person))

    made = [attempt(f"la devolución de {p['name']}", one, k, p) for k, p in enumerate(people, 1)]
    return "\n".join(["  devoluciones, una página por persona", *filter(None, made)])


def feedback(person):
    """La página de una persona."""
    got = {lesson: marks.total(person, lesson) for lesson in person["lessons"]}
    most = {lesson: result["most"] for lesson, result in person["lessons"].items()}
    return page("devolucion.html", person["name"], person=person, got=got, most=most)


class Tally:
    """Lo que ha hecho la clase en un ejercicio: cuántos lo resuelven, no o no lo hacen.

    De cada error, quién lo comete (cada persona, una vez), con qué frases y dónde se explica.
    """

    def __init__(self, title):
        self.title, self.states, self.people = title, Counter(), defaultdict(dict)
        self.texts, self.read, self.few = defaultdict(Counter), defaultdict(Counter), False

    def add(self, name, exercise):
        self.states[state(exercise)] += 1
        for finding in exercise["findings"] if state(exercise) == "no" else ():
            one, read = finding["id"], finding["read"]
            text = re.sub(r",? en la línea «.*?»(?=:)", "", finding["text"])  # es código de alguien
            self.people[one][name] = True
            self.texts[one][text] += 1
            self.read[one][read] += bool(read)

    def ranked(self):
        """Los errores, de los que más gente comete a los que menos."""
        return sorted(self.people, key=lambda one: (-len(self.people[one]), one in UNNAMED, one))

    def section_of(self, one):
        """Dónde se explica un error."""
        return next((read for read, n in self.read[one].most_common(1) if n), "")


def tallies(people, with_names=True):
    """Por lección y ejercicio, lo que ha hecho la clase."""
    found = defaultdict(dict)
    for person in people:
        for number, result in person["lessons"].items():
            for one in result["exercises"]:
                tally = found[number].setdefault(one["exercise"], Tally(one["title"]))
                tally.add(person["name"], one)
    for tally in (tally for lesson in found.values() for tally in lesson.values()):
        if tally.states.total() < FEW and not with_names:
            tally.people, tally.few = {}, True
    return dict(sorted(found.items()))


def again(found):
    """Las secciones a las que apuntan los errores: sección → quién se equivoca en lo que explica."""
    pointed = defaultdict(set)
    for tally in (tally for lesson in found.values() for tally in lesson.values()):
        for one, names in tally.people.items():
            for part in filter(None, tally.section_of(one).split(", ")):
                pointed[part].update(names)
    return sorted(pointed.items(), key=lambda item: (-len(item[1]), item[0]))


def inventory(kept):
    """Lo que la clase contesta al inventario, con lo que guarda cada cual; nada, si nadie lo ha contestado."""
    if not any(one.get("inventory") for one in kept):
        return ""
    from course_checkers.inventory import results  # carga PyTorch: solo si hace falta

    groups = results.of_class([[*results.of_progress(one)] for one in kept])
    return results.report(*groups) if groups[0] else ""


def class_report(people, with_names):
    """La página de la clase."""
    found = tallies(people, with_names)
    given = {"found": found, "ranking": again(found), "many": len(people)}
    given["took"] = inventory([one["took"][0] for one in people if one.get("took")])
    return page("clase.html", "Qué ha entendido la clase", with_names=with_names, **given)
