"""El texto exacto de todos los informes: el del corpus y el de lo que no es una respuesta.

python tests/record_reports.py            compara con lo guardado y enseña las diferencias
python tests/record_reports.py --guarda   lo guarda
python tests/record_reports.py 5.2 6.1    compara solo esos ejercicios
"""

import difflib  # noqa: I001
import importlib
import json
import pkgutil
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # con tensores pequeños, más hilos solo estorban
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
RECORDED = Path(__file__).with_name("informes.json")


def exercises():
    from course_lib.checkers.engine import progress

    for module in progress.modules():
        yield from ((e.number, e) for e in getattr(module, "EXERCISES", ()))


def reports(numbers=()):
    """Ejercicio y respuesta → el texto de su informe."""
    import answers
    from test_checkers import STRANGE

    for module in pkgutil.iter_modules(answers.__path__):
        importlib.import_module(f"answers.{module.name}")
    found, known = {}, dict(exercises())
    for answer in answers.ANSWERS:
        if not numbers or answer.exercise in numbers:
            exercise = known[answer.exercise]
            found[f"{answer.exercise} · {answer.name}"] = str(exercise.check(answer.code))
    for number, exercise in known.items():
        if not numbers or number in numbers:
            for name, code in STRANGE.items():
                found[f"{number} · raro: {name}"] = str(exercise.check(code))
    return found


def changes(numbers=()):
    """Lo que ha cambiado, como diferencias de texto."""
    before, now = json.loads(RECORDED.read_text(encoding="utf-8")), reports(numbers)
    if numbers:
        before = {key: text for key, text in before.items() if key.split(" · ")[0] in numbers}
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key, "(no estaba)"), now.get(key, "(ya no está)")
        if old != new:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), "antes", "ahora", lineterm="", n=0
            )
            yield "\n".join([key, *lines])


if __name__ == "__main__":
    began, arguments = time.process_time(), sys.argv[1:]
    if "--guarda" in arguments:
        text = json.dumps(reports(), ensure_ascii=False, indent=0)
        RECORDED.write_text(text + "\n", encoding="utf-8")
    else:
        found = list(changes(arguments))
        print("\n\n".join(found))
        print(f"{len(found)} diferencias, {time.process_time() - began:.1f} s de procesador")
        sys.exit(bool(found))
