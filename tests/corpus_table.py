"""La tabla del corpus: cuántas respuestas hay de cada ejercicio, y qué dice de ellas cada comprobación.

python tests/corpus_table.py    la escribe en tests/answers/README.md
"""

import re
from collections import Counter
from pathlib import Path

import torch
from helpers_answers import ALL, EXERCISES, verdict

from course_checkers.engine.comparing import same
from course_checkers.engine.exercise import told_by

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "answers" / "README.md"
COUNTED = 3  # las primeras columnas: el ejercicio y cuántas hay. Las demás piden comprobarlas todas


def einsum_output(equation):
    """Lo que da una ecuación con dos tensores, o ``None`` si no se puede calcular."""
    query, key = torch.randn(2, 3, 4, 5), torch.randn(2, 6, 4, 5)
    try:
        return torch.einsum(equation, query.clone(), key), torch.einsum(
            "bqhd,bkhd->bhqk", query, key
        )
    except (RuntimeError, TypeError, ValueError):
        return None


def attempt(answer, cases=None):
    """Lo que da el código en cada prueba; ``None`` si en alguna se para."""
    found = EXERCISES[answer.exercise].prepare(answer.code)
    if not isinstance(found, list):
        return None
    first = found[0]
    for case in first.exercise.all_cases()[:cases]:
        outcome = first.call(*case.arguments)
        reader = first.exercise.reader
        value, problem = (None, True) if outcome.problem else reader.read(outcome.value, case)
        if problem:
            return None
        first.values[case], first.seen[case] = value, reader.main(value, case)
    return first


def ordinary_check(answer):
    """Si la acepta una comprobación corriente: un ejemplo y `allclose`, en la primera prueba."""
    if answer.exercise == "7.1":
        found = einsum_output(answer.code)
        return found is not None and same(*found)
    found = attempt(answer, cases=1)
    return found is not None and all(found.exercise.agrees({}, c, v) for c, v in found.seen.items())


def property_check(answer):
    """Si la acepta una comprobación que solo mira propiedades: formas, sumas, fugas…"""
    if answer.exercise == "7.1":
        found = einsum_output(answer.code)
        return found is not None and found[0].shape == found[1].shape
    found = attempt(answer)
    return found is not None and not any(told_by(look, found) for look in found.exercise.must)


NAMED = ("exacto", "en parte", "sin nombre")


def count(number):
    """Cuántas respuestas de un ejercicio son buenas y cuántas malas."""
    kinds = [answer.kind for answer in ALL if answer.exercise == number]
    return [kinds.count("buena"), len(kinds) - kinds.count("buena")]


def judge(number):
    """Lo que dicen de las malas una comprobación corriente, una de propiedades y la del curso."""
    bad = [answer for answer in ALL if answer.exercise == number and answer.kind != "buena"]
    verdicts = Counter(map(verdict, bad))  # lo primero: alguna guarda lo que ya le han preguntado
    others = [sum(map(check, bad)) for check in (ordinary_check, property_check)]
    named = [sum(a.kind == "mala" and verdict(a) == v for a in bad) for v in NAMED]
    odd = sum(answer.kind == "rara" for answer in bad)
    return [*others, verdicts["pasa"], *named, odd, verdicts["nombre falso"]]


def table(slow=True):
    """Las filas de la tabla, enteras o solo lo que se cuenta."""
    rows = []
    for number, exercise in sorted(EXERCISES.items(), key=lambda item: float(item[0])):
        judged = judge(number) if slow else []
        rows.append([f"{number} {exercise.title}", *count(number), *judged])
    totals = ["**Todos**", *(sum(column) for column in list(zip(*rows))[1:])]
    return [[str(cell) for cell in cells] for cells in [*rows, totals]]


def written(slow=True):
    """Las filas que hay en el archivo, enteras o solo lo que se cuenta."""
    found = re.findall(r"^\| ((?:\d|\*).*) \|$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [cells.split(" | ") for cells in found]
    return [cells if slow else cells[:COUNTED] for cells in rows]


def main():
    """Escribe la tabla: lo demás del archivo se queda como está."""
    rows = [f"| {' | '.join(cells)} |" for cells in table()]
    text = FILE.read_text(encoding="utf-8")
    begin = re.search(r"^\|---.*\n", text, re.MULTILINE).end()
    FILE.write_text(text[:begin] + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
