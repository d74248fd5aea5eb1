"""Las predicciones: se contestan antes de ejecutar la celda que las calcula, y se apunta lo dicho.

Lo que se pregunta está en ``prediction.toml``. Cuenta lo primero que se dice, si aún no ha salido; se
puede contestar otra vez, y no cambia lo apuntado.
"""

import tomllib
from functools import cache
from pathlib import Path

import traitlets

from course_checkers.engine import closing
from course_lib.explorers.base import SHARED, Explorer, esm
from course_tools.opening import progress

TEXTS = Path(__file__).with_suffix(".toml")
FIRST = "Lo apuntado es lo primero que dijiste."
LATE = "Ya había salido: esto no se apunta."

_last, _out = {}, set()  # en este kernel: la última de cada nombre, y los de las que ya han salido


@cache
def predictions():
    """Lo que dice ``prediction.toml``, por el nombre de cada una."""
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def right(name):
    """La respuesta buena, como está escrita: es la única que no lleva una frase detrás."""
    return next(say for say, *why in predictions()[name]["answers"] if not why)


def state(name):
    """Lo que la página necesita: la pregunta, la barra si es un número y, de cada respuesta, qué decirle.

    En lo que se dice, ``{}`` es la respuesta; ``other``, lo que se dice de un número cualquiera.
    """
    asked = predictions()[name]
    number, good = asked.get("number", {}), right(name)
    came = f"Sale {good} {number.get('unit', '')}".rstrip() if number else f"Sale «{good}»"
    said, hit = ("{}", "Dijiste {}: acertaste.") if number else ("«{}»", "Lo dijiste.")
    told = [(say, f"Dijiste {said}: {why[0]}" if why else hit) for say, *why in asked["answers"]]
    return {
        "name": name,
        "question": asked["question"],
        "number": number and number | {"other": f"Dijiste {{}}. {came}."},
        "answers": [{"say": say, "told": f"{words} {came}."} for say, words in told],
    }


def heard(name, said):
    """Qué se le dice a quien dice eso, y si acierta; ``None`` si no es una de las respuestas.

    De un número, la respuesta es la más cercana, si lo está bastante (``near``).
    """
    asked = state(name)
    number, answers = asked["number"], asked["answers"]
    if not number:
        told = next((one["told"] for one in answers if one["say"] == said), None)
        return told and (told.replace("{}", said), said == right(name))
    try:
        if not number["min"] <= float(said) <= number["max"]:
            return None
    except ValueError:
        return None
    one = min(answers, key=lambda one: abs(float(one["say"]) - float(said)))
    close = abs(float(one["say"]) - float(said)) <= number["near"]
    told = one["told"] if close else number["other"]
    return told.replace("{}", said), close and one["say"] == right(name)


class Prediction(Explorer):
    """Una pregunta que se contesta antes de ejecutar la celda que la calcula (véase ``reveal``).

    Args:
        name: la lección y su número, como ``"05.1"``, en ``prediction.toml``.

    Raises:
        ValueError: si no hay ninguna con ese nombre.
    """

    _esm = esm("prediction")
    name, question = (traitlets.Unicode().tag(**SHARED) for _ in range(2))
    answers = traitlets.List().tag(**SHARED)
    number = traitlets.Dict().tag(**SHARED)
    said = traitlets.Unicode().tag(**SHARED)
    early = traitlets.Bool().tag(**SHARED)  # se dijo en la página, con esta celda sin ejecutar
    revealed = traitlets.Bool().tag(**SHARED)  # ha salido, y la página puede decirlo
    note = traitlets.Unicode().tag(**SHARED)

    def __init__(self, name):
        if name not in predictions():
            some = ", ".join(f'"{known}"' for known in predictions())
            text = f"No hay ninguna predicción {name!r}. Las que hay: {some}."
            raise ValueError(text)
        super().__init__(**state(name))
        _last[name] = self

    @property
    def _kept(self):
        """Lo que hay apuntado, si es una de las respuestas."""
        said = progress.load()["predictions"].get(self.name, {}).get("said")
        return said if isinstance(said, str) and heard(self.name, said) else ""

    @traitlets.default("said")
    def _said_before(self):
        return self._kept

    @traitlets.default("revealed")
    def _out_before(self):
        return self.name in _out and bool(self.said)

    @traitlets.validate("said")
    def _check(self, proposal):
        said = proposal["value"]
        if said and not heard(self.name, said):
            raise traitlets.TraitError(f"{said!r:.80} no es una de las respuestas.")
        return said

    @traitlets.observe("said")
    def _keep(self, change):
        """Apunta lo que se acaba de decir, si cuenta; si no, dice por qué."""
        first, out = self._kept, self.name in _out
        self.revealed = out and bool(self.said)
        if not self.said:
            self.note = ""
        elif first:
            self.note = FIRST * (first != self.said)
        elif out and not self.early:
            self.note = LATE
        else:
            fault = closing.predicted(self.name, self.said, heard(self.name, self.said)[1])
            self.note = fault and f"No se ha apuntado: {fault}."

    def describe(self):
        if ends := self.number:
            return f"{self.question}\n  Un número de {ends['min']} a {ends['max']}."
        return "\n".join([self.question, *(f"  ○ {answer['say']}" for answer in self.answers)])


def reveal(name, value):
    """Dice qué se había dicho en una predicción, ahora que sale. Sin respuesta, no dice nada.

    Args:
        name: la de ``Prediction``.
        value: lo que ha calculado la celda: el texto de una respuesta, o un número.

    Raises:
        AssertionError: si lo que sale no es la respuesta que ``prediction.toml`` da por buena.
    """
    good = right(name)
    came = value if isinstance(value, str) else f"{value:z.{len(good.partition('.')[2])}f}"  # z: -0 es 0
    text = f"En la predicción {name} sale {came!r}, y prediction.toml da por buena {good!r}"
    assert came == good, f"{text}. Si has cambiado la cuenta, es normal."
    _out.add(name)
    asked = _last.get(name)
    if asked is not None and asked.said:
        asked.revealed = True
        print(heard(name, asked.said)[0])
