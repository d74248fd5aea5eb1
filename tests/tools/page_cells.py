"""Las celdas de las lecciones que se ejecutan en la página: las que, con la imitación de torch, escriben lo guardado.

    python tests/tools/page_cells.py             # dice cuáles: son las de sitio/celdas.txt
    python tests/tools/page_cells.py 05_atencion # y de una lección, qué le pasa a cada una de las demás

Se ejecutan en otro proceso, en el que la imitación va delante y falta lo que en la página no está.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 5  # segundos: lo que tarda más, en la página tarda demasiado
ABSENT = "matplotlib", "transformers", "anywidget", "ipywidgets", "safetensors", "tokenizers", "PIL"


def write_pieces(folder):
    """Las piezas de BERT, cada una en su archivo."""
    from sitio.pieces import bert_pieces

    for name, data in bert_pieces().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read_pieces(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).glob("bert/*")}


def prepared(folder=None):
    """Lo que comprueba en la página; si se dice una carpeta, con sus piezas de BERT ya traídas."""
    sys.modules |= dict.fromkeys(ABSENT)
    import page

    found = page.Page()
    found.give(read_pieces(folder) if folder else {})
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
        if "image/png" not in data:
            if data - {"text/plain", "text/html"}:
                return None
            parts.append("".join(one.get("text") or one["data"]["text/plain"]).rstrip())
    return "\n".join(parts)


def outcome(page, before, source):
    """Lo que escribe una celda en la página, o por qué no lo escribe."""
    told = json.loads(page.check(json.dumps({"lesson": before, "source": source})))
    problem = told["refused"] or told["findings"]
    return ("", problem) if problem else (told["printed"].rstrip(), "")


def run(folder, names):
    page = prepared(folder)
    for name in names or sorted(path.stem for path in ROOT.glob("notebooks/[0-9]*.ipynb")):
        before, good = [], []
        for key, (source, outputs) in cells_of(name).items():
            saved = text_of(outputs)
            if saved and not source.startswith("# sin comparar"):
                began = time.monotonic()
                printed, problem = outcome(page, before, source)
                right = printed == saved and time.monotonic() - began < LONGEST
                good += [key] * right
                if names and not right:
                    print(f"✗ {key}, {source.splitlines()[0]}", problem or printed, saved, sep="\n    ")
            before.append(source)
        print(f"{name}: {' '.join(good)}", flush=True)


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        write_pieces(folder)
        paths = os.pathsep.join([str(ROOT / "sitio/imitation"), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": paths, "CURSO_PIEZAS": folder}
        return subprocess.run([sys.executable, __file__, *names], env=environment).returncode


if __name__ == "__main__":
    if folder := os.environ.get("CURSO_PIEZAS"):
        run(folder, sys.argv[1:])
    else:
        sys.path.insert(0, str(ROOT))
        sys.exit(main(sys.argv[1:]))
