"""Los ejercicios que se hacen en la página: lo que lleva cada uno, y el Python que los comprueba."""

import gzip
import html
import json
import re
import zipfile
from pathlib import Path

import IPython

from course_checkers.engine.lines import lines
from course_tools.cells import answered, checked
from course_tools.foreign.zips import zipped
from course_tools.opening.library import HEAD
from sitio.pieces import assembled

ROOT = Path(__file__).resolve().parents[1]
PYODIDE = ROOT / "sitio" / "pyodide"
IMITATION = ROOT / "sitio" / "imitation"
RUNNABLE = dict(line.split(":") for line in (ROOT / "sitio/celdas.txt").read_text("utf-8").splitlines())
# Lo que hace falta del curso para comprobar. Ni las lecciones ni los modelos.
COURSE = (
    "course_checkers/**/*", "course_lib/plots/*", "course_lib/explorers/*.py", "course_lib/explorers/*.js*", "course_lib/explorers/*.css",
    "course_lib/translator_model/*.py", "course_lib/translator_model/config.json", "course_lib/translator_model/*.md", "course_lib/model_files/*.py", "course_lib/*.py", "course_lib/probes/*", "course_tools/*.py", "course_tools/grammar.txt", "course_tools/opening/*.py", "course_lib/checks/*.py",
)  # fmt: skip
OWN_LINE = re.compile(r"@your_line\ndef (\w+)")
PREDICTION = re.compile(r"Prediction\(\"([\d.]+)\"\)")
# Y de `IPython` y `traitlets`, lo que lee y enseña una celda y lo que guarda el estado de un explorador; con su licencia.
OTHERS = (
    "IPython/core/inputtransformer2.py", "IPython/utils/tokenutil.py", "IPython/lib/pretty.py", "traitlets/*.py",
    "traitlets/utils/*.py", "ipython-*/**/LICENSE", "traitlets-*/**/LICENSE",
)  # fmt: skip


def exercises(cells):
    """De cada ejercicio que se hace aquí: número → su hueco y lo que lo comprueba."""
    answers = {answered(cell): "".join(cell["source"]) for cell in cells}
    checks = {checked(cell): "".join(cell["source"]) for cell in cells}
    return {n: {"start": answers[n], "check": checks[n]} for n in answers if n and n in checks}


def exercise_html(number, one):
    """El hueco de un ejercicio. Sin JavaScript se lee lo que hay que completar."""
    packed = json.dumps({"number": number, **one}, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<div class="exercise" id="responde-{number}"><pre>{html.escape(one["start"])}</pre>'
        f'<script type="application/json">{packed}</script></div>'
    )


def lesson_html(name):
    """Lo de todos los ejercicios de una lección: guardar las respuestas, y traerlas."""
    packed = json.dumps({"lesson": name, "library": HEAD}, ensure_ascii=False)
    about = "Guardar lo tuyo, llevártelo o decir quién eres"
    return f'<details class="answers-kept"><summary>{about}</summary><script type="application/json">{packed}</script></details>'


def runnable(name):
    """Los id de las celdas de una lección que se ejecutan en la página: lo que escriben es lo guardado."""
    return RUNNABLE.get(name, "").split()


ELSEWHERE = {  # por qué una celda no se ejecuta en la página, como lo dice celdas.txt
    "llm": "Pide el LLM", "modelos": "Pide dos modelos", "traductor": "Pide el traductor", "transformers": "Pide transformers", "tarda": "Aquí tarda demasiado",
    "torch": "Pide torch entero", "distinto": "Aquí sale distinto", "azar": "Cambia cada vez",
}  # fmt: skip


def elsewhere(name):
    """De una lección, las celdas que no se ejecutan en la página, y por qué: id → cinco palabras."""
    return {id: f"{told}: en JupyterLab." for why, told in ELSEWHERE.items() for id in runnable(f"{name} {why}")}


def cell_html(cell, source):
    """Lo que va debajo de una de esas celdas: si es una línea de quien aprende, con su número."""
    name = OWN_LINE.match(source)
    number = f' data-line="{lines()[name[1]].number}"' if name else ""
    return f'<div class="lesson-cell" data-cell="{cell}"{number}></div>'


def syllabus(folder):
    """De cada lección: su título, y los números de lo que en ella se escribe, se predice y se responde."""
    found = {}
    for path in sorted(folder.glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        asked = (PREDICTION.match(source) for source in sources)
        own = (OWN_LINE.match(source) for source in sources)
        found[path.stem] = {
            "title": sources[0].partition("\n")[0].removeprefix("# "),
            "lines": [lines()[one[1]].number for one in own if one],
            "predictions": [one[1] for one in asked if one],
            "exercises": [*exercises(cells)],
        }
    return found


def python_pieces():
    """Lo que Python necesita en la página, comprimido: nombre → bytes."""
    names = "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"
    files = {name: (PYODIDE / name).read_bytes() for name in (*names, "dibujo.zip")}
    files["numpy.whl"] = next(PYODIDE.glob("numpy-*.whl")).read_bytes()
    files |= {"curso.zip": course_zip(), "producto.wasm": assembled()}
    files["obrero.js"] = (ROOT / "sitio/web/obrero.js").read_bytes()
    return {f"python/{name}": gzip.compress(data, 9, mtime=0) for name, data in files.items()}


def course_zip():
    """Las comprobaciones, con lo que usan, y la imitación de torch."""
    found = {path.relative_to(ROOT).as_posix(): path for pattern in COURSE for path in ROOT.glob(pattern)}
    own = (*IMITATION.glob("*.py"), *IMITATION.glob("torch/**/*"))
    found |= {path.relative_to(IMITATION).as_posix(): path for path in own}
    place = Path(IPython.__file__).parents[1]
    found |= {path.relative_to(place).as_posix(): path for pattern in OTHERS for path in place.glob(pattern)}
    files = {name: found[name].read_bytes() for name in sorted(found) if found[name].is_file()}
    files = {name: data for name, data in files.items() if "__pycache__" not in name}
    files["IPython/__init__.py"] = "def get_ipython(): return None\n"
    return zipped(files, zipfile.ZIP_STORED)  # lo comprime quien lo guarda


def lesson_pieces(folder):
    """Los cuadernos de las lecciones, sin lo que sale al ejecutarlos: en ellos se guardan las respuestas."""
    pieces = {}
    for path in sorted(folder.glob("[0-9]*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        notebook["metadata"].pop("widgets", None)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        text = json.dumps(notebook, ensure_ascii=False)
        pieces[f"cuadernos/{path.stem}"] = gzip.compress(text.encode(), 9, mtime=0)
    return pieces
