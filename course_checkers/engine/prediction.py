"""Las predicciones: se contestan antes de ejecutar la celda que las calcula, y se apunta lo dicho.

Lo que se pregunta está en ``prediction.toml``. Cuenta lo primero que se dice, si aún no ha salido; se
puede contestar otra vez, y no cambia lo apuntado. Lo elegido y sin decir queda dicho al ejecutar su celda
otra vez, o la que lo calcula.
"""

import tomllib
from functools import cache
from pathlib import Path

import traitlets

from course_checkers.engine import closing
from course_lib.explorers.base import SHARED, Explorer, esm
from course_tools.opening import progress

FIRST = "Lo apuntado es lo primero que dijiste."
LATE = "Ya había salido: esto no se apunta."

_last, _out = {}, set()  # en este kernel: la última de cada nombre, y los de las que ya han salido


@cache
def predictions():
    """Lo que dice ``prediction.toml``, por el nombre de cada una."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def right(name):
    """La respuesta buena, como está escrita: es la única que no lleva una frase detrás."""
    return next(say for say, *why in predictions()[name]["answers"] if not why)


def state(name):
    """Lo que la página necesita: la pregunta, la barra si es un número y, de cada respuesta, qué decirle.

    En lo que se dice, ``{}`` es la respuesta; ``nearly``, lo que se dice de un número que casi es el bueno,
    y ``other``, de otro cualquiera.
    """
    asked = predictions()[name]
    number, good = asked.get("number", {}), right(name)
    came = f"Sale {good} {number.get('unit', '')}".rstrip() if number else f"Sale «{good}»"
    said, hit = ("{}", "Dijiste {}: acertaste.") if number else ("«{}»", "Lo dijiste.")
    told = [(say, f"Dijiste {said}: {why[0]}" if why else hit) for say, *why in asked["answers"]]
    more = {"right": good, "nearly": f"Dijiste {{}}: casi. {came}.", "other": f"Dijiste {{}}. {came}."}
    return {
        "name": name,
        "question": asked["question"],
        "number": number and number | more,
        "answers": [{"say": say, "told": f"{words} {came}."} for say, words in told],
    }


def heard(name, said):
    """Qué se le dice a quien dice eso, y si acierta; ``None`` si no es una de las respuestas.

    De un número, la respuesta es la más cercana, si lo está bastante (``near``). La buena, si no es ella, es
    casi; y acierta solo lo que se mide, y no se cuenta, hasta donde dice ``hit``.
    """
    asked, good = state(name), right(name)
    number, told = asked["number"], {one["say"]: one["told"] for one in asked["answers"]}
    if not number or not isinstance(said, str):
        return (told[said].replace("{}", said), said == good) if said in [*told] else None
    try:
        if not number["min"] <= float(said) <= number["max"]:
            return None
    except ValueError:
        return None
    one = min(told, key=lambda say: abs(float(say) - float(said)))
    far = abs(float(one) - float(said))
    hit = one == good and far <= number.get("hit", 0) + 1e-9
    words = number["nearly"] if one == good and not hit else told[one]
    return (words if far <= number["near"] else number["other"]).replace("{}", said), hit


def hits(name, noted):
    """Si acierta lo apuntado, ``noted``: se juzga otra vez, y de lo que ya no se pregunta vale lo que dice."""
    told = name in predictions() and heard(name, noted.get("said"))
    return told[1] if told else noted.get("right") is True


def kept(name):
    """Lo que hay apuntado, si es una de las respuestas."""
    said = progress.load()["predictions"].get(name, {}).get("said")
    return said if heard(name, said) else ""


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
            raise ValueError(f"No hay ninguna predicción {name!r}. Las que hay: {some}.")
        before, _last[name] = _last.get(name), self
        self.chosen = before.chosen if before else ""
        super().__init__(**state(name), said=self.chosen or kept(name))
        self.on_msg(self._choose)

    def _choose(self, _, content, buffers):
        """Lo que la mano elige en la página; si no lo dice, se da por dicho al ejecutar."""
        said = content.get("chosen")
        self.chosen = said if heard(self.name, said) else ""
        self.note = LATE * (self.name in _out and not kept(self.name))

    @traitlets.validate("said")
    def _check(self, proposal):
        said = proposal["value"]
        if said and not heard(self.name, said):
            raise traitlets.TraitError(f"{said!r:.80} no es una de las respuestas.")
        return said

    @traitlets.observe("said")
    def _keep(self, change):
        """Apunta lo que se acaba de decir, si cuenta; si no, dice por qué."""
        first, out = kept(self.name), self.name in _out
        self.revealed = out and bool(self.said)
        if not self.said:
            self.note = ""
        elif first not in ("", self.said):
            self.note = FIRST
        elif out and not (first or self.early):
            self.note = LATE
        else:  # y lo ya apuntado se juzga otra vez
            fault = closing.noted(progress.predicted, self.name, self.said, heard(self.name, self.said)[1])
            self.note = fault and f"No se ha apuntado: {fault}." * (not first)

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
    asked, good = _last.get(name), right(name)
    if asked is not None:
        asked.said = asked.chosen or asked.said
    came = value if isinstance(value, str) else f"{value:z.{len(good.partition('.')[2])}f}"  # z: -0 es 0
    text = f"En la predicción {name} sale {came!r}, y prediction.toml da por buena {good!r}"
    assert came == good, f"{text}. Si has cambiado la cuenta, es normal."
    _out.add(name)
    if asked is not None and asked.said:
        asked.revealed = True
        print(heard(name, asked.said)[0])
