"""La atención que aprende, en película: cómo va el mapa de pesos, y cuánto acierta, paso a paso.

Los entrenamientos están grabados, en learning.json: lo escribe ``course_tools.record_learning``.
"""

import base64
import json

import traitlets

from course_lib.explorers import declared
from course_lib.explorers.base import HERE, Explorer, esm
from course_lib.explorers.declared import NO_YES, SHARED, Choice, Declared, Whole, count

EVERY, SEEDS = 25, 3  # cada cuántos pasos se ha mirado, y cuántos nacimientos hay
STEPS = f"un entero {{}}, de {EVERY} en {EVERY}"
SCENES = json.loads((HERE / "learning.json").read_text(encoding="utf-8"))


def compute(run, rows, step):
    """Lee un momento de un entrenamiento.

    Args:
        run: ``weights``, en base 64: un byte por peso, en centésimas, o, de 101 en adelante, cuántos
            ceros seguidos, más 100; ``curves``, los aciertos; y ``met``, cuándo se cumple cada reto.
        rows: cuántas filas se enseñan, de 10 columnas.
        step: el paso, múltiplo de ``EVERY``.

    Returns:
        Diccionario con ``weights``, ``(h, filas, 10)``; ``best``, la columna que más pesa en cada
        fila; ``values``, los aciertos; y ``goals``, qué retos se cumplen.
    """
    now, packed = step // EVERY, base64.b64decode(run["weights"])
    data = b"".join(bytes(n - 100) if n > 100 else bytes([n]) for n in packed)
    size = len(data) // len(run["curves"])
    flat = [byte / 100 for byte in data[now * size : (now + 1) * size]]
    lines = [flat[i : i + 10] for i in range(0, size, 10)]
    weights = [lines[i : i + rows] for i in range(0, len(lines), rows)]
    return {
        "weights": weights, "best": [[row.index(max(row)) for row in head] for head in weights],
        "values": run["curves"][now], "goals": [now in moments for moments in run["met"]],
    }  # fmt: skip


def _one_of(explorer, name, value):
    """Lo que vale en su escena; la escena no cambia, y lo que ella no mueve, tampoco."""
    valid = explorer.options().get(name, [explorer.traits()[name].default_value])
    return declared.checked(explorer, name, value, {"of": valid}, declared.ONE_OF)


class LearningExplorer(Explorer):
    """Entrenamientos de ``learn_neighbours``, grabados: se elige uno, y se ve paso a paso.

    Args:
        scene: qué se puede mover, una de ``SCENES``.
        seed: el nacimiento, de 0 a 2.
        step: el paso que se ve, de 25 en 25.
        state: los mandos que tenga la escena, con los nombres de ``learn_neighbours``; ``birth`` es
            ``"×1"``, ``"×√128"`` o ``"÷√128"``.
    """

    _esm = esm("learning")
    scene = Choice(list(SCENES), check=_one_of)
    positions = Choice(NO_YES, True, check=_one_of, key="posiciones")
    mask = Choice(NO_YES, check=_one_of, key="mascara")
    scaled = Choice(NO_YES, True, check=_one_of, key="dividir")
    birth = Choice(["×1", "×√128", "÷√128"], check=_one_of, key="nace")
    rate = Choice([0.001, 0.01], check=_one_of, key="velocidad")
    heads = Choice([1, 2], check=_one_of, key="cabezas")
    seed = Whole(0, SEEDS - 1, key="nacimiento")
    step = Declared({"between": [0, count("data.steps")], "step": EVERY}, 0, STEPS, key="paso")
    data = traitlets.Dict().tag(**SHARED)  # la escena, con sus entrenamientos

    def __init__(self, scene="nace", **state):
        declared.checked(self, "scene", scene, {"of": list(SCENES)}, declared.ONE_OF)
        super().__init__(scene=scene, data=SCENES[scene] | {"scene": scene}, **state)

    def options(self):
        """Los valores de cada mando de la escena, y la escena."""
        known = {name: [value for value, _ in labels] for name, _, labels in self.data["knobs"]}
        return known | {"scene": [self.data["scene"]]}

    def describe(self):
        options, names = self.options(), [name for name, *_ in self.data["knobs"]]
        places = [options[name].index(getattr(self, name)) for name in names]
        run = self.data["runs"]["".join(map(str, [*places, self.seed]))]
        result, said = compute(run, self.data["rows"], self.step), []
        for (_, title, labels), place in zip(self.data["knobs"], places):
            said.append(f"{title}: {labels[place][1]}")
        said += [f"nacimiento {self.seed}", f"paso {self.step} de {self.data['steps']}"]
        said += [f"{name}: {value:.0%}" for name, value in zip(self.data["curves"], result["values"])]
        tops = [max(row) for head in result["weights"] for row in head]
        said.append(f"el peso mayor de cada fila, de media, {sum(tops) / len(tops):.2f}")
        done = [str(i) for i, goal in enumerate(result["goals"], 1) if goal]
        return f"Aprende: {'; '.join(said)}{'; cumple el reto ' * bool(done)}{' y el '.join(done)}."
