"""La tabla del corpus: cuántas respuestas hay de cada ejercicio, y qué dice de ellas cada comprobación.

python tests/corpus_table.py    la escribe en tests/answers/README.md
"""

import re
from collections import Counter
from pathlib import Path

import torch
from helpers_answers import ALL, EXERCISES, verdict

from course_checkers.engine.comparing import same

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "answers" / "README.md"
COUNTED = 3  # las primeras columnas: el ejercicio y cuántas hay. Las demás piden comprobarlas todas


def einsum_output(equation):
    """Lo que da una ecuación con dos tensores, o ``None`` si no se puede calcular."""
    query, key = torch.randn(2, 3, 4, 5), torch.randn(2, 6, 4, 5)
    try:
        return torch.einsum(equation, query.clone(), key), torch.einsum("bqhd,bkhd->bhqk", query, key)
    except (RuntimeError, TypeError, ValueError):
        return None


def ordinary_check(answer):
    """Si la acepta una comprobación corriente: un ejemplo y `allclose`, en la primera prueba."""
    if answer.exercise == "7.1":
        found = einsum_output(answer.code)
        return found is not None and same(*found)
    found = EXERCISES[answer.exercise].prepare(answer.code)
    if not isinstance(found, list):
        return False
    exercise, case = found[0].exercise, found[0].exercise.all_cases()[0]
    outcome = found[0].call(*case.arguments)
    if outcome.problem:
        return False
    value, problem = exercise.reader.read(outcome.value, case)
    return not problem and exercise.agrees({}, case, exercise.reader.main(value, case))


NAMED = ("exacto", "en parte", "sin nombre")


def count(number):
    """Cuántas respuestas de un ejercicio son buenas y cuántas malas."""
    kinds = [answer.kind for answer in ALL if answer.exercise == number]
    return [kinds.count("buena"), len(kinds) - kinds.count("buena")]


def judge(number):
    """Lo que dicen de las malas una comprobación corriente y la del curso."""
    bad = [answer for answer in ALL if answer.exercise == number and answer.kind != "buena"]
    verdicts = Counter(map(verdict, bad))  # lo primero: alguna guarda lo que ya le han preguntado
    named = [sum(a.kind == "mala" and verdict(a) == v for a in bad) for v in NAMED]
    odd = sum(answer.kind == "rara" for answer in bad)
    accepted = sum(map(ordinary_check, bad))
    return [accepted, verdicts["pasa"], *named, odd, verdicts["nombre falso"]]


def row(number, slow=True):
    """La fila de un ejercicio, entera o solo lo que se cuenta."""
    judged = judge(number) if slow else []
    return [f"{number} {EXERCISES[number].title}", *map(str, [*count(number), *judged])]


def totals(rows):
    """La última fila."""
    return ["**Todos**", *(str(sum(map(int, column))) for column in list(zip(*rows))[1:])]


def table(slow=True):
    """Las filas de la tabla, enteras o solo lo que se cuenta."""
    rows = [row(number, slow) for number in sorted(EXERCISES, key=float)]
    return [*rows, totals(rows)]


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
