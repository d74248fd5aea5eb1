"""Las celdas de las lecciones que se ejecutan en la página: las que, con la imitación de torch, escriben lo guardado.

    python tests/tools/page_cells.py            # dice cuáles, para sitio/celdas.txt
    python tests/tools/page_cells.py 05_atencion # y de una lección, qué le pasa a cada una

Delante en la ruta de Python va la imitación, y no lo que en la página no está.
"""

import json
import pickle
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 5  # segundos: lo que tarda más, en la página tarda demasiado
ABSENT = "matplotlib", "transformers", "anywidget", "ipywidgets", "sklearn", "safetensors", "tokenizers", "PIL"


def prepared(pieces):
    """Lo que comprueba en la página, con las piezas de BERT de ese archivo ya traídas."""
    sys.path[:0] = [str(ROOT / "sitio/imitation"), str(ROOT)]
    sys.modules |= dict.fromkeys(ABSENT)
    import page

    found = page.Page()
    found.give(pickle.loads(Path(pieces).read_bytes()))
    return found


def cells_of(name):
    """Las celdas de código de una lección que no son de un ejercicio: id → (programa, lo que sale)."""
    from course_tools.cells import CHECKING, is_check, tagged

    found = {}
    for cell in json.loads((ROOT / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]:
        own = cell["cell_type"] == "code" and not cell["metadata"].get("nbgrader")
        if own and not tagged(cell, CHECKING) and not is_check(cell):
            found[cell["id"]] = "".join(cell["source"]), cell["outputs"]
    return found


def text_of(outputs):
    """Lo que escribe una celda, sin sus figuras; ``None`` si da algo que no es texto ni figura."""
    parts = []
    for one in outputs:
        data = one.get("data", {}).keys()
        if data - {"text/plain", "image/png"}:
            return None
        if one["output_type"] == "stream" or data == {"text/plain"}:
            parts.append("".join(one.get("text") or one["data"]["text/plain"]).rstrip())
    return "\n".join(parts)


def run(pieces, *names):
    page = prepared(pieces)
    for name in names or sorted(path.stem for path in ROOT.glob("notebooks/[0-9]*.ipynb")):
        before, good = [], []
        for key, (source, outputs) in cells_of(name).items():
            saved = text_of(outputs)
            if saved and not source.startswith("# sin comparar"):
                began = time.monotonic()
                told = json.loads(page.check(json.dumps({"lesson": before, "source": source})))
                printed = told.get("printed", "").rstrip()
                right = not told.get("refused") and not told["findings"] and printed == saved
                right = right and time.monotonic() - began < LONGEST
                good += [key] * right
                if names and not right:
                    print(f"-- {key}: {source.splitlines()[0]}", told.get("refused") or told["findings"] or printed)
                    print("   guardado:", saved[:300])
            before.append(source)
        print(f"{name}: {' '.join(good)}", flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
