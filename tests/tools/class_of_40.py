"""Una clase de mentira de 40 personas, calificada de principio a fin: ¿sale lo que tiene que salir?

    python tests/tools/class_of_40.py [--personas 40] [--lecciones 03 05 06] [--carpeta CARPETA]

Las respuestas salen del corpus y de las preguntas, con los errores que hay que nombrar. Se califican
con la orden de siempre y se comparan las notas y las cuentas del informe con lo que ya se sabía.
"""

import argparse
import csv
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import helpers_class as pretend  # noqa: E402

from aula.calificar.pages import UNNAMED  # noqa: E402

ROOT = pretend.ROOT


def expected(people):
    """De cada ejercicio, cuántos lo resuelven y, de cada error, cuántos lo cometen."""
    counts = {}
    for lessons in people:
        for given in lessons.values():
            for exercise, one in given.items():
                count = counts.setdefault(exercise, Counter())
                count["bien"] += bool(one and one.right)
                count.update(set(one.mistakes) if one else ())
    return {exercise: +count for exercise, count in counts.items()}


def reported(page):
    """Lo mismo, leído en la página del informe."""
    counts = {}
    for part in re.split(r"<h3>", page)[1:]:
        exercise = re.match(r"[\d.]+", part)[0]
        count = counts[exercise] = Counter(bien=int(re.search(r"Resuelto por (\d+) de", part)[1]))
        for many, told in re.findall(r"<td>(\d+) de \d+<.*?</td><td>(.*?)</td>", part, re.DOTALL):
            count[html.unescape(re.search(r'"soft">\((.*?)\)</span>', told)[1])] += int(many)
    return {exercise: +count for exercise, count in counts.items()}


def differences(wanted, got):
    """Por ejercicio, las cuentas que no cuadran: error → (lo que tenía que ser, lo que dice).

    Los errores que la comprobación sabe nombrar y quién lo resuelve, exactos. Los demás (una salida
    que no es un tensor, una propiedad que falla) los da también una respuesta rara: al menos, esos.
    """
    found = {}
    for exercise, count in wanted.items():
        known = pretend.helpers_answers.EXERCISES.get(exercise)
        exact = set(known.mistake_ids()) | {"bien"} if known else {*count, *got[exercise]} - UNNAMED
        for one in {*count, *(set(got[exercise]) & exact)}:
            pair = count[one], got[exercise][one]
            if pair[0] > pair[1] or one in exact and pair[0] != pair[1]:
                found.setdefault(exercise, {})[one] = pair
    return found


def wrong_marks(people, table):
    """Las notas que no son las que tenían que ser."""
    found = []
    for k, (lessons, row) in enumerate(zip(people, table), 1):
        for number, given in lessons.items():
            for exercise, one in given.items():
                points = pretend.submissions.lessons()[number].points[exercise]
                right = points * bool(one and one.right)
                if row[f"{exercise} (de {points})"] != str(right):
                    found.append((k, exercise, row[f"{exercise} (de {points})"], right))
    return found


def grade(folder, *options):
    """Califica una carpeta con la orden. Da la carpeta de los resultados, lo que dice y cuánto tarda."""
    start = time.monotonic()
    order = [sys.executable, "-m", "aula.calificar.grade", str(folder), *options]
    env = os.environ | {"CURSO_DESDE": str(folder.parent)}
    done = subprocess.run(order, cwd=ROOT, env=env, capture_output=True, encoding="utf-8")
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    return folder.with_name(f"{folder.name.removesuffix('.zip')}-calificadas"), told, time.monotonic() - start


def compare(people, results):
    """Las notas que no son, y por ejercicio lo esperado y lo dicho."""
    with (results / "notas.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file, delimiter=";"))
    page = (results / "clase.html").read_text(encoding="utf-8")
    return wrong_marks(people, table), expected(people), reported(page)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--personas", type=int, default=40)
    parser.add_argument("--lecciones", nargs="+", default=["03", "05", "06"])
    parser.add_argument("--carpeta", type=Path)
    options = parser.parse_args(arguments)
    base = options.carpeta or Path(tempfile.mkdtemp(prefix="clase-"))
    folder = base / "entregas"
    people = pretend.draw(options.personas, options.lecciones)
    pretend.write_class(folder, people)
    results, told, seconds = grade(folder)
    bad, wanted, got = compare(people, results)
    books = options.personas * len(options.lecciones)
    print("| ejercicio | bien | errores nombrados | distintos | cuentas que no cuadran |")
    print("|---|---|---|---|---|")
    for exercise, count in wanted.items():
        off = len(differences(wanted, got).get(exercise, ()))
        named = {one: n for one, n in count.items() if one != "bien"}
        print(f"| {exercise} | {count['bien']} de {options.personas} | {sum(named.values())} | {len(named)} | {off} |")
    print(f"\nNotas que no son: {len(bad)}. {books} cuadernos en {seconds:.0f} s: {seconds / books:.1f} s cada uno.")
    print(f"Está en {results}")
    off = differences(wanted, got)
    for problem in (*bad, *off.items()):
        print(problem)
    return bool(bad or off)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
