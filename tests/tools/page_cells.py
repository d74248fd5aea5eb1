"""Las celdas de las lecciones que se ejecutan en la página: las que, en Chromium, enseñan lo guardado.

    python tests/tools/page_cells.py             # dice cuáles: son las de sitio/celdas.txt
    python tests/tools/page_cells.py 05_atencion # y de una lección, qué le pasa a cada una de las demás
    SITIO=_sitio python tests/tools/page_cells.py # en un sitio ya hecho

Con el ordenador sin otra cosa que hacer: de una que tarda más de ``LONGEST`` segundos se dice que tarda.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[2]
VIEW = "application/vnd.jupyter.widget-view+json"
UNSEEN = "Prediction(", "Questions(", "reveal("  # lo que no enseña su código
LONGEST = 20  # segundos: lo que tarda más, en la página tarda demasiado
ASK = """async ([source, lesson]) => {
    try {
        return await course.python.ask({lesson, source, library: []}, () => {}, new AbortController().signal);
    } catch (error) {
        return {findings: [error.message], refused: [], notes: [], printed: '', figures: []};
    }
}"""
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


def in_page(page, name, chosen=None):
    """De cada celda de una lección abierta: su id, su programa, lo que enseña, por qué no, lo guardado y segundos."""
    page.evaluate(ASK, ["1", []])  # Python arranca
    before = []
    for key, (source, outputs) in cells_of(name).items():
        if outputs is not None and not source.startswith(UNSEEN) and (chosen is None or key in chosen):
            began = time.monotonic()
            told = page.evaluate(ASK, [source, before])
            shown = "\n".join([told["printed"].rstrip(), *(one["alt"] for one in told["figures"])]).strip("\n")
            problem = told["refused"] or told["findings"] or told["notes"]
            saved = text_of(outputs)
            yield key, source, shown, problem, None if saved is None else saved.strip("\n"), time.monotonic() - began
        before.append(source)


WHY = {  # de lo que no se ejecuta: en qué se nota, y cómo se llama en celdas.txt
    "modelos": r"load_vision|load_whisper|read_picture|read_sound|'full'|'ears'|«(voices|sample|ALIGNMENT|RATE)»",
    "llm": r"llama|[Ll]lm_|llm\b|gguf|SmolLM|sha256|'model'", "transformers": "transformers|output_hidden_states|encoder.layer.0",
    "tarda": "tarda más de", "torch": r"\['torch|en la página no está",
}  # fmt: skip


def reason(problem, took, source):
    """Por qué una celda no se ejecuta en la página."""
    if source.startswith("# sin comparar") and not problem:
        return "azar"
    found = (name for name, sign in WHY.items() if re.search(sign, str(problem)))
    return next(found, "distinto") if problem else "tarda" if took >= LONGEST else "distinto"


def run(page, names):
    for name in names or sorted(path.stem for path in ROOT.glob("notebooks/[0-9]*.ipynb")):
        page.goto(f"{page.site}{name}.html")
        found = {"": []}
        for key, source, shown, problem, saved, took in in_page(page, name):
            right = not problem and shown == saved and took < LONGEST
            why = "" if right and not source.startswith("# sin comparar") else reason(problem, took, source)
            found.setdefault(why, []).append(key)
            if names:
                print(f"{'✗' if why else '✓'} {took:4.1f} s {key} {why}, {source.splitlines()[0]}")
                print(*(f"    {one}" for one in (problem or shown, saved) if why), sep="\n", end="\n" if why else "")
        for why, keys in found.items():
            print(f"{name} {why}".strip() + f": {' '.join(keys)}", flush=True)


def main(names):
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from helpers_browser import open_browser
    from helpers_sitio import build, serve

    with contextlib.ExitStack() as stack:
        folder = os.environ.get("SITIO") or Path(stack.enter_context(tempfile.TemporaryDirectory()), "_sitio")
        if "SITIO" not in os.environ:
            build(folder)
        page = stack.enter_context(open_browser()).new_page()
        page.set_default_timeout(120_000)
        page.site = stack.enter_context(serve(folder))
        run(page, names)


if __name__ == "__main__":
    main(sys.argv[1:])
