"""Los cuadernos como archivos: ejecutarlos en un kernel limpio y dejarlos en forma normal.

    python curso.py cuadernos [archivos]              los ejecuta y los guarda
    python curso.py cuadernos --comprobar [archivos]  dice cuáles no están en forma normal
    python curso.py cuadernos --exploradores [...]        pone al día el JavaScript y el CSS guardados

Sin archivos, son todos los del curso. La forma normal es la misma para todos, así que un cambio
en un cuaderno se ve, línea a línea, y no trae ruido:

- nbformat 4.5, con identificadores de celda válidos y únicos;
- solo los metadatos que sirven para algo, y ninguna celda vacía;
- celdas numeradas 1…N y ningún error, aviso, ruta o dirección de memoria en las salidas;
- en las lecciones, qué es cada celda y qué está al lado del camino (``way``), y qué celdas son de un ejercicio, para
  calificarlas (`add_grades`); lo que se proyecta son las clases (`is_deck`), que dicen qué es cada celda;
- el JSON, tal como lo escribe nbformat.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
import tempfile
import textwrap
import time
from copy import deepcopy
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # cuando es una orden, falta

from tools import way  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CELL_TIMEOUT_S = 120

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
CELL_METADATA = ("deletable", "editable", "jupyter", way.FOLDED, "nbgrader", "slideshow", "tags")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
MAX_WIDGETS_BYTES = 380_000

VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
# Una ruta de cualquier ordenador, o de este: el curso, tu carpeta y la de los temporales.
ABSOLUTE_PATH = re.compile(
    r"(?<![\w./])(?:/(?:home|root|Users|tmp|var|private|opt|usr|mnt)/|[A-Z]:\\(?:Users|Temp)\b)\S*|"
    + "|".join(re.escape(str(path)) + r"\S*" for path in (ROOT, Path.home(), tempfile.gettempdir()))
)


class NotebookError(Exception):
    """Un cuaderno no se puede leer o ejecutar: el texto dice cuál, dónde y por qué."""


# --- La forma normal ------------------------------------------------------------------------------


def normalize(nb):
    """Devuelve una copia del cuaderno `nb` en forma normal. No ejecuta nada.

    Lo que solo se arregla cambiando una celda (un error, un aviso, una ruta) se queda como está:
    lo dice `problems`.
    """
    nb = deepcopy(nb)
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
    widgets = nb.metadata.get("widgets")
    nb.metadata.clear()
    nb.metadata.update(kernelspec=dict(KERNELSPEC), language_info={"name": "python"})

    seen = set()
    for position, cell in enumerate(nb.cells):
        cell.id = _valid_id(cell, position, seen)
        for key in list(cell.metadata):
            if key not in CELL_METADATA or cell.metadata[key] in ([], {}):
                del cell.metadata[key]
    for number, cell in enumerate(way.code_cells(nb), 1):
        cell.execution_count = number
        cell.outputs = _merge_streams(cell.get("outputs", ()))
        for output in cell.outputs:
            _clean_output(output, number)

    outputs = [output for cell in way.code_cells(nb) for output in cell.outputs]
    if widgets and any(WIDGET_VIEW in output.get("data", ()) for output in outputs):
        nb.metadata["widgets"] = widgets
        nb = _rename_widgets(nb)
    return nb


def problems(nb):
    """Dice, en una lista de frases, en qué se aparta `nb` de la forma normal."""
    import nbformat

    normal = normalize(nb)
    found = []
    if (nb.nbformat, nb.nbformat_minor) != (normal.nbformat, normal.nbformat_minor):
        found.append(f"Es nbformat {nb.nbformat}.{nb.nbformat_minor}, no 4.5.")
    for key in sorted(nb.metadata.keys() | normal.metadata.keys()):
        if nb.metadata.get(key) != normal.metadata.get(key):
            found.append(f"Metadato del cuaderno que sobra, falta o no es el normal: {key}.")
    if len(nb.cells) != len(normal.cells):
        found.append("Hay celdas vacías.")
    for number, (cell, good) in enumerate(zip(nb.cells, normal.cells, strict=False), 1):
        found += [
            f"Celda {number}: {_DIFFERENCES.get(key, 'tiene un campo que sobra o falta')} ({key})."
            for key in sorted(cell.keys() | good.keys())
            if key != "outputs" and cell.get(key) != good.get(key)
        ]
        if cell.get("outputs") != good.get("outputs"):
            found.append(f"Celda {number}: las salidas no están en forma normal.")
        found += [f"Celda {number}: {fault}" for fault in _faulty_outputs(cell)]
    if len(json.dumps(normal.metadata.get("widgets", ""))) > MAX_WIDGETS_BYTES:
        found.append(f"El estado de los controles ocupa más de {MAX_WIDGETS_BYTES} bytes.")
    if not nbformat.validator.isvalid(normal):
        found.append("No es un cuaderno válido para nbformat.")
    return found


_DIFFERENCES = {
    "id": "el identificador falta, está repetido o no es válido",
    "metadata": "tiene metadatos que sobran",
    "execution_count": "no está ejecutada en su orden",
}


def _valid_id(cell, position, seen):
    """Devuelve el id de la celda o, si no vale, uno que sale de su posición y de su texto."""
    identifier, attempt = cell.get("id", ""), 0
    while identifier in seen or not VALID_ID.fullmatch(identifier):
        text = f"{position}/{attempt}/{cell.cell_type}/{cell.source}"
        identifier, attempt = hashlib.sha256(text.encode()).hexdigest()[:8], attempt + 1
    seen.add(identifier)
    return identifier


def _merge_streams(outputs):
    """Une los trozos seguidos de una misma salida de texto."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _clean_output(output, number):
    """Quita de una salida lo que cambia de una ejecución a otra sin que se vea."""
    if output.output_type == "execute_result":
        output.execution_count = number
    if output.output_type == "error":
        output.traceback = [f"{output.ename}: {output.evalue}"]  # sin rutas
    if "image/png" in output.get("data", {}):
        output.data["image/png"] = _clean_png(output.data["image/png"])


def _clean_png(encoded):
    """Quita los textos y la fecha de un PNG en base 64. Los píxeles no cambian."""
    data = base64.b64decode(encoded)
    kept, start = data[:8], 8
    while start < len(data):
        end = start + 12 + int.from_bytes(data[start : start + 4])
        if data[start + 4 : start + 8] not in (b"tEXt", b"zTXt", b"iTXt", b"tIME"):
            kept += data[start:end]
        start = end
    return base64.b64encode(kept).decode("ascii")


def _rename_widgets(nb):
    """Numera los controles por orden de creación: sus nombres, al azar, cambian cada vez."""
    import nbformat

    text = json.dumps(nb)
    for number, name in enumerate(nb.metadata["widgets"].get(WIDGET_STATE, {}).get("state", ())):
        text = text.replace(name, f"{number:032x}")
    return nbformat.from_dict(json.loads(text))


def _faulty_outputs(cell):
    """Dice qué hay en las salidas de `cell` que nadie debería ver."""
    for output in cell.get("outputs", ()):
        data = {"text/plain": output.get("text", "")} | output.get("data", {})
        text = "\n".join(str(data[kind]) for kind in data if kind.startswith("text/"))
        text = re.sub('base64,[^"]*', "", text)  # unos píxeles pueden parecer una dirección
        expected = "raises-exception" in cell.metadata.get("tags", ())
        if output.output_type == "error" and not expected:
            yield f"falla: {output.ename}."
        if output.get("name") == "stderr":
            yield f"escribe un aviso: {output.text.strip()}"
            continue
        if address := ADDRESS.search(text):
            yield f"muestra una dirección de memoria: {address[0]}"
        if path := ABSOLUTE_PATH.search(text):
            yield f"muestra una ruta de un ordenador: {path[0]}"


# --- Los ejercicios -------------------------------------------------------------------------------

EXERCISE_LINE = re.compile(r"# (Ejercicio|Comprobación) (\d+\.\d+)\n")


def add_grades(nb):
    """Marca las celdas de los ejercicios de `nb` como las entiende nbgrader, para poder calificarlas.

    Se reconocen por su primera línea: «# Ejercicio 5.1» es el hueco que se rellena y
    «# Comprobación 5.1», la celda que lo comprueba y da los puntos.
    """
    for cell in way.code_cells(nb):
        if marks := _grade_marks(cell):
            cell.metadata["nbgrader"] = marks
        else:
            cell.metadata.pop("nbgrader", None)


def _grade_marks(cell):
    """Los metadatos de nbgrader de una celda, o ``None`` si no es de un ejercicio."""
    match = EXERCISE_LINE.match(cell.source)
    if not match:
        return None
    kind, number = match.groups()
    name = "ejercicio" if kind == "Ejercicio" else "comprobacion"
    marks = {
        "cell_type": "code",
        "grade": kind != "Ejercicio",
        "grade_id": f"{name}-{number.replace('.', '-')}",
        "locked": kind != "Ejercicio",
        "schema_version": 3,
        "solution": kind == "Ejercicio",
        "task": False,
    }
    if kind != "Ejercicio":
        from course_checkers.engine.catalog import catalog

        if number not in catalog():
            raise NotebookError(f"no hay ningún ejercicio {number} en course_checkers")
        marks["points"] = catalog()[number][1]
    return marks


def _grade_problems(nb):
    for number, cell in enumerate(nb.cells, 1):
        marks = _grade_marks(cell) if cell.cell_type == "code" else None
        if cell.metadata.get("nbgrader") != marks:
            yield f"Celda {number}: no dice, o dice mal, qué es para nbgrader."


def _way_problems(nb, name):
    """Dice qué celdas no dicen, o dicen mal, si están al lado del camino (``way``)."""
    marked = deepcopy(nb)
    way.mark(marked, name)
    for number, (cell, good) in enumerate(zip(nb.cells, marked.cells), 1):
        if cell != good:
            yield f"Celda {number}: no está marcada como pide el camino."


# --- Los archivos ---------------------------------------------------------------------------------


def lesson(number):
    """La lección de ese número, leída: «05»."""
    return read(next((ROOT / "notebooks").glob(f"{number}_*.ipynb")))


def course_notebooks():
    """Devuelve las rutas de todos los cuadernos del curso."""
    folders = "", "clases", "soluciones"
    return [path for name in folders for path in sorted((ROOT / "notebooks" / name).glob("*.ipynb"))]


def is_lesson(path):
    """Dice si `path` es una lección: ``notebooks/NN_nombre.ipynb``."""
    path = Path(path).resolve()
    return path.parent.name == "notebooks" and bool(re.fullmatch(r"\d\d_\w+\.ipynb", path.name))


def is_deck(path):
    """Dice si `path` es una clase: ``notebooks/clases/NN_nombre.ipynb``."""
    return Path(path).resolve().parent.name == "clases"


def read(path):
    """Lee el cuaderno tal como está, sin arreglar nada."""
    from nbformat import v4

    try:
        return v4.reads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, AttributeError) as error:
        raise NotebookError(f"no se puede leer como cuaderno de nbformat 4: {error}") from error


def to_text(nb):
    """Devuelve el texto del archivo de `nb`, como lo escribe nbformat."""
    import nbformat

    return nbformat.writes(nb, version=4) + "\n"


def file_problems(path):
    """Dice en qué se aparta el archivo `path` de la forma normal."""
    try:
        nb = read(path)
    except NotebookError as error:
        return [str(error)]
    found = problems(nb)
    if is_lesson(path):
        found += [*_grade_problems(nb), *_way_problems(nb, Path(path).name)]
    if not found and Path(path).read_text(encoding="utf-8") != to_text(nb):
        found.append("El JSON no está escrito como lo escribe nbformat.")
    return found


def client(nb, folder, timeout=CELL_TIMEOUT_S, **options):
    """Quien ejecuta las celdas de `nb` en un kernel limpio, desde la carpeta `folder`."""
    from nbclient import NotebookClient

    return NotebookClient(
        nb,
        kernel_name=KERNELSPEC["name"],
        timeout=timeout,
        iopub_timeout=timeout,  # con la máquina cargada, lo impreso llega tarde
        raise_on_iopub_timeout=True,  # y sin esto se pierde sin decir nada
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=40"],  # solo sus errores
        resources={"metadata": {"path": str(folder)}},
        **options,
    )


def execute(nb, folder):
    """Ejecuta `nb` en un kernel limpio, desde la carpeta `folder`, y lo devuelve normalizado.

    Raises:
        NotebookError: si una celda falla sin avisarlo con la etiqueta ``raises-exception``.
    """
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    nb = normalize(nb)
    for cell in way.code_cells(nb):
        cell.execution_count, cell.outputs = None, []
    started = []
    noted = client(nb, folder, on_cell_start=lambda cell, cell_index: started.append(cell_index))
    try:
        noted.execute()
    except CellExecutionError as error:
        reason = f"{error.ename}: {error.evalue}"
    except CellTimeoutError:
        reason = f"tarda más de {CELL_TIMEOUT_S} s"
    except DeadKernelError:
        reason = "el kernel ha muerto"
    else:
        return normalize(nb)
    source = textwrap.indent(nb.cells[started[-1]].source, "    ")
    raise NotebookError(f"la celda {started[-1] + 1} falla:\n\n{source}\n\n{reason}")


def update(path):
    """Ejecuta el cuaderno `path` y lo guarda en forma normal. Dice si ha cambiado.

    Raises:
        NotebookError: si falla o si en sus salidas hay algo que no debe verse. El archivo se
            queda como estaba.
    """
    path = Path(path)
    nb = execute(read(path), path.resolve().parent)
    if is_lesson(path):
        way.mark(nb, path.name)
        add_grades(nb)
    found = problems(nb)
    if found:
        raise NotebookError("\n".join(["no se puede dejar en forma normal:", *found]))
    text = to_text(nb).encode()
    changed = text != path.read_bytes()
    if changed:
        path.write_bytes(text)
    return changed


# --- Los exploradores guardados -------------------------------------------------------------------


def refresh_explorers(path):
    """Pone al día el JavaScript y el CSS de los exploradores guardados en `path`. No ejecuta nada.

    Deja lo que dejaría ejecutarlo si solo han cambiado esos archivos: los números que guarda cada
    explorador no se tocan. Dice si el archivo ha cambiado.

    Raises:
        NotebookError: si ya no existe uno de sus exploradores o si el cuaderno no está en forma
            normal. El archivo se queda como estaba.
    """
    from course_checkers.engine import asking, prediction
    from course_checkers.inventory import inventory
    from course_lib.explorers import learning

    path, nb = Path(path), read(path)
    models = nb.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    shown = [out.data for cell in nb.cells for out in cell.get("outputs", ()) if WIDGET_VIEW in out.get("data", {})]
    changed = False
    for key, state in ((key, model.state) for key, model in models.items()):
        name = state.get("_anywidget_id", "")
        if name.startswith("course_"):
            files = _explorer_files(name)
            if name.endswith(".Prediction"):  # lo que dice también está en un archivo, prediction.toml
                files |= prediction.state(state["name"])
            if name.endswith(".LearningExplorer"):  # sus entrenamientos, en learning.json
                files |= {"data": learning.SCENES[state["scene"]] | {"scene": state["scene"]}}
            if name.endswith(".Questions"):  # y lo que se pregunta, en los de cada lección
                files |= {"asked": asking.first(state["lesson"], state["closing"])}
                [data] = [data for data in shown if data[WIDGET_VIEW]["model_id"] == key]
                data["text/plain"] = asking.described(files["asked"])
            if name.endswith(".Inventory"):  # y lo del inventario, en el suyo
                files |= {"items": inventory.shown(state["form"], state["language"])}
                [data] = [data for data in shown if data[WIDGET_VIEW]["model_id"] == key]
                data["text/plain"] = inventory.described(files["items"])
            changed |= any(state.get(trait) != value for trait, value in files.items())
            state.update(files)
    if not changed:
        return False
    found = problems(nb)
    if found:
        raise NotebookError("\n".join(["no está en forma normal:", *found]))
    path.write_bytes(to_text(nb).encode())
    return True


def _explorer_files(name):
    """El JavaScript y el CSS de hoy del explorador `name`, «course_lib.explorers.módulo.Clase»."""
    from course_lib.explorers import _MODULE_OF, base

    *_, module, class_name = name.split(".")
    asked = {"Prediction": "prediction", "Questions": "asking", "Inventory": "inventory"}
    if (_MODULE_OF | asked).get(class_name) != module:
        raise NotebookError(f"guarda un explorador que ya no existe, {name}: vuelve a ejecutarlo.")
    return {"_esm": base.esm(module), "_css": base.css()}


def main(arguments=None):
    """Hace lo que pide la línea de órdenes y devuelve el código de salida."""
    parser = argparse.ArgumentParser(description="Ejecuta cuadernos y los deja en forma normal.")
    parser.add_argument("archivos", nargs="*", type=Path, help="sin archivos, todos los del curso")
    parser.add_argument("--comprobar", action="store_true", help="solo dice cuáles no lo están")
    parser.add_argument(
        "--exploradores",
        action="store_true",
        help="sin ejecutar, pone al día el JavaScript y el CSS de los exploradores guardados",
    )
    options = parser.parse_args(arguments)
    os.environ["CURSO_PROGRESO"] = "no"  # lo guardado no depende de quién lo ejecuta
    faults = 0
    for path in options.archivos or course_notebooks():
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        try:
            if options.comprobar:
                for fault in file_problems(path):
                    print(f"{name}: {fault}")
                    faults += 1
            else:
                start = time.monotonic()
                change = refresh_explorers if options.exploradores else update
                result = "guardado" if change(path) else "ya estaba así"
                print(f"{name}: {result}, {time.monotonic() - start:.0f} s", flush=True)
        except NotebookError as error:
            print(f"{name}: {error}\n\nEl archivo no se ha tocado.")
            return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
