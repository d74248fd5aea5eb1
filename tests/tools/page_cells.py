"""Las celdas de las lecciones que se ejecutan en la página: las que, con la imitación de torch, escriben lo guardado.

    python tests/tools/page_cells.py             # dice cuáles: son las de sitio/celdas.txt
    python tests/tools/page_cells.py 05_atencion # y de una lección, qué le pasa a cada una de las demás

Se ejecutan en otro proceso, en el que la imitación va delante y falta lo que en la página no está.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[2]
VIEW = "application/vnd.jupyter.widget-view+json"
UNSEEN = "Prediction(", "Questions(", "reveal("  # lo que no enseña su código
LONGEST = 5  # segundos: lo que tarda más, en la página tarda demasiado
ABSENT = "transformers", "ipywidgets", "safetensors", "tokenizers", "gguf"


def write_pieces(folder):
    """Las piezas de BERT y del traductor, cada una en su archivo."""
    from sitio.pieces import bert_pieces, translator_pieces

    for name, data in (bert_pieces() | translator_pieces()).items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read_pieces(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).glob("*/*")}


def prepared(folder=None):
    """Lo que comprueba en la página; si se dice una carpeta, con sus piezas de BERT ya traídas."""
    sys.modules |= dict.fromkeys(ABSENT)
    import page

    page.time = SimpleNamespace(monotonic=time.process_time)  # lo mismo, con el ordenador ocupado
    found = page.Page()
    found.give(read_pieces(folder) if folder else {})
    return found


def cells_of(name):
    """Las celdas de código de una lección: id → (programa, lo que sale), o ``None`` si es de un ejercicio o solo importa."""
    from course_tools.cells import CHECKING, SETUP, answered, is_check, tagged

    found = {}
    for cell in json.loads((ROOT / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and not is_check(cell):
            other = answered(cell) or tagged(cell, SETUP) or tagged(cell, CHECKING)
            found[cell["id"]] = "".join(cell["source"]), None if other else cell["outputs"]
    return found


def text_of(outputs):
    """Lo que enseña una celda: lo que escribe y, de sus figuras, su texto alternativo; ``None`` si da otra cosa."""
    parts, pictures = [], []
    for one in outputs:
        data = one.get("data", {})
        if "image/png" in data:
            pictures.append("".join(data["text/plain"]))
        elif "text/markdown" in data:
            parts.append(re.sub(r"^```\w*\n?|\n```$", "", "".join(data["text/markdown"])))
        elif data.keys() - {"text/plain", "text/html", VIEW}:
            return None
        else:
            parts.append("".join(one.get("text") or data["text/plain"]).rstrip())
    return "\n".join([*parts, *pictures])


def outcome(page, before, source):
    """Lo que enseña una celda en la página, o por qué no lo enseña."""
    told = json.loads(page.check(json.dumps({"lesson": before, "source": source})))
    problem = told["refused"] or told["findings"] or told["notes"]
    return ("", problem) if problem else ("\n".join([told["printed"].rstrip(), *(one["alt"] for one in told["figures"])]).strip("\n"), "")


WHY = {  # de lo que no se ejecuta: en qué se nota, y cómo se llama en celdas.txt
    "llm": r"llama|[Ll]lm_|llm\b|gguf|SmolLM", "traductor": r"[Tt]ranslator|traductor", "transformers": "transformers",
    "tarda": "tarda más de|dan muchas vueltas", "torch": r"\['torch|en la página no está",
}  # fmt: skip


def reason(problem, took, source):
    """Por qué una celda no se ejecuta en la página."""
    if source.startswith("# sin comparar") and not problem:
        return "azar"
    found = (name for name, sign in WHY.items() if re.search(sign, str(problem)))
    return next(found, "distinto") if problem else "tarda" if took >= LONGEST else "distinto"


def run(folder, names):
    page = prepared(folder)
    here = page.ran.__globals__
    here["LESSON"] = LONGEST
    here["picture"] = lambda figure: {"alt": here["describe"](figure)}  # su imagen no se compara, y es lo que tarda
    for name in names or sorted(path.stem for path in ROOT.glob("notebooks/[0-9]*.ipynb")):
        before, found = [], {"": []}
        for key, (source, outputs) in cells_of(name).items():
            if outputs is not None and not source.startswith(UNSEEN):
                began = time.process_time()
                printed, problem = outcome(page, before, source)
                took, saved = time.process_time() - began, text_of(outputs)
                right = not problem and saved is not None and printed == saved.strip("\n") and took < LONGEST
                why = "" if right and not source.startswith("# sin comparar") else reason(problem, took, source)
                found.setdefault(why, []).append(key)
                if why and (names or os.environ.get("VER")):
                    print(f"✗ {name[:2]} {key} {why} {took:.1f} s, {source.splitlines()[0]}", problem or printed, saved, sep="\n    ")
            before.append(source)
        for why, keys in found.items():
            print(f"{name} {why}".strip() + f": {' '.join(keys)}", flush=True)


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
