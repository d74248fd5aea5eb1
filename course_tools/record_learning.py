"""Graba los entrenamientos que enseña ``LearningExplorer``: ``python -m course_tools.record_learning``.

Tarda un par de minutos; con ``--textos``, nada: solo escribe otra vez lo que se pide y los mandos. Los
pesos se guardan en centésimas, los ceros seguidos, de una vez, y los aciertos, con cuatro decimales.
"""

import base64
import json
import math
import re
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

from course_lib import explorers, learn_neighbours

FILE = Path(explorers.__file__).parent / "learning.json"
EVERY, SEEDS, PASSED = 25, 3, 0.95  # cada cuántos pasos se mira, cuántos nacimientos, y qué es aprender
BIRTHS = {"×1": 1, "×√128": math.sqrt(128), "÷√128": 1 / math.sqrt(128)}
# Lo que se elige: de cada mando, su título y sus valores, con su nombre.
KNOBS = {
    "positions": ("posiciones", {True: "con", False: "sin"}),
    "mask": ("máscara causal", {False: "sin", True: "con"}),
    "scaled": ("dividir por √d_k", {True: "sí", False: "no"}),
    "birth": ("W_Q nace", dict(zip(BIRTHS, BIRTHS))),
    "rate": ("tamaño del paso", {0.001: "0.001", 0.01: "0.01"}),
    "heads": ("cabezas", {1: "una", 2: "dos"}),
}


def learnt(_, curves, now):
    """Acierta, ahora."""
    return min(curves[now]) > PASSED


def never(_, curves, now):
    """Ha acabado, y no ha acertado nunca."""
    return now == len(curves) - 1 and all(min(values) <= PASSED for values in curves)


class Scene(NamedTuple):
    """Qué se enseña: la tarea, los mandos, lo fijo de ``learn_neighbours``, los retos y qué se acierta.

    Un reto es lo que se pide, por qué sale, y si se cumple: con qué mandos, qué aciertos y cuándo.
    """

    task: str
    knobs: tuple
    fixed: dict
    goals: tuple
    curves: tuple = ("aciertos",)


RING = "Cada token tiene que decir cuál va antes. La frase es un corro: antes del 0 va el 9."
SCENES = {
    "nace": Scene(RING, (), {}, (
        ("Dale pasos hasta que acierte más del 95 %. ¿Qué dibujan los pesos?",
         "Una raya: cada fila mira a la columna de antes; la 0, a la 9.", learnt),
        ("Con otro nacimiento, hasta que acierte también. ¿Acaba mirando a otro sitio?",
         "Al mismo: adónde hay que mirar lo dice la tarea.", lambda k, *run: k["seed"] and learnt(k, *run)),
    )),
    "posiciones": Scene(RING, ("positions",), {}, (
        ("Quita las posiciones y llega al último paso. ¿Cuánto acierta?",
         "Uno de cada tres: sin posiciones no hay «antes», y solo puede apostar por el más repetido.",
         lambda k, *run: not k["positions"] and never(k, *run)),
        ("Devuélvelas: que acierte más del 95 %.",
         "Con ellas, cada query encuentra la key de la posición anterior.", learnt),
    )),
    "escala": Scene(RING, ("scaled", "birth", "rate"), {"dim_embedding": 128, "batch": 32, "steps": 200}, (
        ("Encuentra una cabeza que no pase del 95 % en 200 pasos.",
         "Solo ocurre con el paso grande: con 0.001 aprenden todas.", never),
        ("Y otra que, sin dividir, sí pase.",
         "A pasos pequeños, sin dividir también se aprende.", lambda k, *run: not k["scaled"] and learnt(k, *run)),
        ("Y, con el paso 0.01, otra que pase.",
         "Dividiendo y con W_Q tal cual, las tres; sin dividir, una de las nueve.",
         lambda k, *run: k["rate"] == 0.01 and learnt(k, *run)),
    )),
    "mascara": Scene(
        "El texto son cinco cifras al azar y, después, las mismas más 1: 3 0 5 2 7, 4 1 6 3 0 (tras el 7, "
        "el 0). Cada token tiene que decir el siguiente; y al escribir, los cinco últimos, uno a uno.",
        ("mask",), {"offsets": (1,), "period": 5}, (
        ("Encuentra una que acierte más del 95 % al aprender y no sepa escribir.",
         "Ha aprendido a mirar al siguiente, y al escribir aún no está.",
         lambda _, curves, now: curves[now][0] > PASSED and curves[now][1] < 0.5),
        ("Y otra que sepa escribir.",
         "Con la máscara solo hay pasado, y aprende a mirar al de cuatro antes.", learnt),
    ), ("al aprender", "al escribir")),
    "entera": Scene(RING, ("positions", "scaled", "rate"), {}, (
        ("Encuentra una cabeza que no pase del 95 % en 300 pasos.",
         "Sin posiciones, ninguna; con ellas, todas.", never),
        ("Y otra que pase en 25.",
         "Con el paso grande: dividiendo, en los tres nacimientos; sin dividir, en uno.",
         lambda k, curves, now: now == 1 and learnt(k, curves, now)),
    )),
    "cabezas": Scene(
        "Cada token tiene que decir cuál va antes y cuál va después. La frase es un corro.",
        ("heads",), {"offsets": (-1, 1)}, (
        ("Con una cabeza, encuentra un nacimiento que aprenda el de antes.",
         "Una cabeza sola reparte entre los dos, y se lee el que más pesa; el otro, casi, se adivina.",
         lambda k, curves, now: k["heads"] == 1 and curves[now][0] > PASSED),
        ("Encuentra una que acierte los dos.", "Con dos cabezas, cada una mira a un lado.", learnt),
    ), ("el de antes", "el de después")),
}  # fmt: skip


def runs(scene):
    """Los entrenamientos de una escena: su clave, con el número de cada valor, y lo elegido."""
    names = (*SCENES[scene].knobs, "seed")
    values = [list(KNOBS[name][1]) if name in KNOBS else range(SEEDS) for name in names]
    for places in product(*(range(len(options)) for options in values)):
        chosen = {name: options[i] for name, options, i in zip(names, values, places)}
        yield "".join(map(str, places)), chosen


def rows_of(scene):
    """Las filas que se enseñan: en un texto, al último no se le pregunta nada."""
    return 9 if "period" in SCENES[scene].fixed else 10


def record(scene, chosen):
    """Entrena una vez: con lo fijo de la escena y lo elegido."""
    options = {"heads": 1} | SCENES[scene].fixed | chosen
    if "birth" in options:
        options["birth"] = BIRTHS[options["birth"]]
    weights, curves = b"", []
    for moment in learn_neighbours(every=EVERY, **options):
        hundredths = (100 * moment.weights[:, : rows_of(scene)]).round().flatten().tolist()
        weights += bytes(map(int, hundredths))
        values = moment.accuracy.tolist() + ([] if moment.written is None else [moment.written])
        curves.append([round(value, 4) for value in values])
    packed = re.sub(rb"\0{1,155}", lambda zeros: bytes([100 + len(zeros[0])]), weights)
    return {"weights": base64.b64encode(packed).decode(), "curves": curves}


def dressed(scene, made):
    """La escena como viaja a la página: sus textos, sus mandos y, de lo grabado, cuándo cumple cada reto."""
    task, knobs, fixed, goals, curves = SCENES[scene]
    kept = {}
    for key, chosen in runs(scene):
        known = made[key]["curves"]
        met = [[i for i in range(len(known)) if goal(chosen, known, i)] for *_, goal in goals]
        kept[key] = {"weights": made[key]["weights"], "curves": known, "met": met}
    options = [[name, KNOBS[name][0], list(map(list, KNOBS[name][1].items()))] for name in knobs]
    return {
        "task": task, "knobs": options, "curves": list(curves), "steps": fixed.get("steps", 300),
        "rows": rows_of(scene), "goals": [list(goal[:2]) for goal in goals], "runs": kept,
    }  # fmt: skip


def main(arguments):
    """Graba todas las escenas o, con «--textos», les pone los de ahora."""
    if "--textos" in arguments:
        known = json.loads(FILE.read_text(encoding="utf-8"))
        made = {scene: known[scene]["runs"] for scene in SCENES}
    else:
        made = {scene: {key: record(scene, how) for key, how in runs(scene)} for scene in SCENES}
    written = {scene: dressed(scene, made[scene]) for scene in SCENES}
    FILE.write_text(json.dumps(written, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
