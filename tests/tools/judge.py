"""Lo que dicen las comprobaciones de las respuestas del corpus, con el torch que haya.

    python tests/tools/judge.py --una-de-cada 25
    python tests/tools/judge.py --estas '["5.1 · with_matmul"]'

Escribe JSON: respuesta → ``[si pasa, su informe, lo que no está imitado]``. Delante en la ruta de Python
va la imitación, o no: por eso es un proceso aparte. En CURSO_PIEZAS, las de BERT.
"""

import importlib
import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":  # delante de los demás
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.path[1:1] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]


def with_bert():
    """La imitación, con el BERT de la página."""
    if folder := os.environ.get("CURSO_PIEZAS"):
        import reader
        from page_cells import read_pieces

        reader.install()
        reader.PIECES.update(read_pieces(folder))


def judged(every=1, names=None):
    """Respuesta → si pasa, su informe y lo que no está imitado. De esas, o una de cada ``every``."""
    from helpers_answers import ALL, EXERCISES

    refused = getattr(importlib.import_module("torch.overrides"), "REFUSED", [])
    asked = {f"{one.exercise} · {one.name}": one for one in ALL if one.exercise in EXERCISES}
    found = {}
    for name in list(asked)[::every] if names is None else names:
        refused.clear()
        report = EXERCISES[asked[name].exercise].check(asked[name].code)
        found[name] = [report.ok, str(report), sorted(set(refused))]
    return found


if __name__ == "__main__":
    option, value = sys.argv[1:]
    with_bert()
    some = {"names": json.loads(value)} if option == "--estas" else {"every": int(value)}
    json.dump(judged(**some), sys.stdout)
