"""El inventario en JupyterLab y en la página: 24 preguntas, y lo dicho se queda en el ordenador de quien contesta."""

import traitlets

from course_checkers.engine import closing
from course_checkers.inventory import FORMS, VERSION, concepts, items
from course_lib.explorers.base import SHARED, Explorer, esm
from course_tools.opening import progress


class Inventory(Explorer):
    """Las 24 preguntas de una forma: antes de empezar, a mitad, al final y dos semanas después.

    Args:
        form: ``"A"`` o ``"B"``: preguntan lo mismo, con otros números.
        language: ``"es"`` o ``"en"``.

    Raises:
        ValueError: si no hay esa forma o ese idioma.
    """

    _esm = esm("inventory")
    form, language = (traitlets.Unicode().tag(**SHARED) for _ in range(2))
    version = traitlets.Int(VERSION).tag(**SHARED)
    items = traitlets.List().tag(**SHARED)
    said = traitlets.Dict().tag(**SHARED)
    takes = traitlets.Dict().tag(**SHARED)  # lo apuntado: de cada vez, ``{"form", "version", "date", "said", "right"}``
    note = traitlets.Unicode().tag(**SHARED)

    def __init__(self, form, language="es"):
        for name, value, valid in (("form", form, FORMS), ("language", language, ("es", "en"))):
            if value not in valid:
                choices = " o ".join(f'"{one}"' for one in valid)
                raise ValueError(f"Inventory: {name} = {value!r:.80}, y tiene que ser {choices}.")
        super().__init__(form=form, language=language, items=shown(form, language), takes=progress.load()["inventory"])

    @traitlets.validate("takes")
    def _check(self, proposal):
        return {name: one for name, one in proposal["value"].items() if whole(one)}

    @traitlets.observe("takes")
    def _keep(self, change):
        old = change["old"] if isinstance(change["old"], dict) else {}
        for name, record in change["new"].items():
            if record != old.get(name):
                fault = closing.noted(progress.taken, name, record)
                self.note = fault and f"No se ha apuntado: {fault}."

    def describe(self):
        return described(self.items)


def shown(form, language="es"):
    """Lo que la página necesita de una forma."""
    titles = {name: one[language]["titulo"] for name, one in concepts()[0].items()}
    return [
        {"concept": one.concept, "title": titles[one.concept], "lesson": one.lesson, "question": one.question,
         "answers": [*one.answers], "right": one.right}
        for one in items(form, language)
    ]  # fmt: skip


def whole(record):
    """Si una vez apuntada se entiende: la forma, y de cada concepto, qué respuesta."""
    said = record.get("said") if isinstance(record, dict) else None
    return isinstance(said, dict) and record.get("form") in FORMS and all(isinstance(k, int) for k in said.values())


def described(asked):
    """Las preguntas y sus respuestas, en texto."""
    return "\n".join("\n  ○ ".join([f"{k}. {one['question']}", *one["answers"]]) for k, one in enumerate(asked, 1))
