"""El texto exacto de todos los informes, antes y después de un cambio en las comprobaciones.

    python tests/tools/record_reports.py --guarda   lo guarda en informes.json, que no se sube
    python tests/tools/record_reports.py            enseña lo que ha cambiado desde entonces
    python tests/tools/record_reports.py 5.2 6.1    lo mismo, solo de esos ejercicios

Son los informes de las respuestas del corpus y los de lo que no es una respuesta.
"""

import difflib
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # con tensores pequeños, más hilos solo estorban
TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))  # cuando es una orden, falta
RECORDED = Path(__file__).with_name("informes.json")


def reports(numbers=()):
    """Ejercicio y respuesta → el texto de su informe."""
    from helpers_answers import ALL, EXERCISES
    from test_checkers import STRANGE

    asked = [(answer.exercise, answer.name, answer.code) for answer in ALL]
    asked += [(n, f"raro: {name}", code) for n in EXERCISES for name, code in STRANGE.items()]
    return {
        f"{number} · {name}": str(EXERCISES[number].check(code))
        for number, name, code in asked
        if not numbers or number in numbers
    }


def changes(numbers=()):
    """Lo que ha cambiado, como diferencias de texto."""
    before, now = json.loads(RECORDED.read_text(encoding="utf-8")), reports(numbers)
    if numbers:
        before = {key: text for key, text in before.items() if key.split(" · ")[0] in numbers}
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key, "(no estaba)"), now.get(key, "(ya no está)")
        if old != new:
            texts = old.splitlines(), new.splitlines()
            lines = difflib.unified_diff(*texts, "antes", "ahora", lineterm="", n=0)
            yield "\n".join([key, *lines])


if __name__ == "__main__":
    began, arguments = time.process_time(), sys.argv[1:]
    if "--guarda" in arguments:
        text = json.dumps(reports(), ensure_ascii=False, indent=0)
        RECORDED.write_text(text + "\n", encoding="utf-8")
    elif not RECORDED.exists():
        sys.exit("No hay nada guardado: antes de cambiar nada, ejecútalo con --guarda.")
    else:
        found = list(changes(arguments))
        print("\n\n".join(found))
        print(f"{len(found)} diferencias, {time.process_time() - began:.1f} s de procesador")
        sys.exit(bool(found))
