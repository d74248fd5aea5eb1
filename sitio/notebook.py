"""De un cuaderno, como está guardado, a lo que se lee en la web. El cuaderno no se toca."""

import json
import re
from itertools import takewhile
from pathlib import Path

from course_tools.cells import (
    CHECKING, EXERCISES, FOLDED, LOOKING, PREDICTION, SETUP, TRY, UNSOLVED, answered, is_check, opens_beside,
    tagged,
)  # fmt: skip
from sitio.exercises import cell_html, elsewhere, exercise_html, exercises, lesson_html, runnable
from sitio.explorers import explorer_html, explorer_kind

WIDGET, STATES = (f"application/vnd.jupyter.widget-{kind}+json" for kind in ("view", "state"))
# Un enlace a una celda de otro cuaderno, en un texto o en el HTML de una salida. Se mira desde donde
# empieza una ruta: desde cada letra de una imagen en base 64, tardaría medio minuto.
LINK = re.compile(r"(?<![./\w-])([./\w-]*?)((\d\d)_\w+)\.ipynb#cell-id=([\w-]+)")
PAGE = re.compile(r'(href="[^"]*)\.ipynb')
# Un enlace a lo que el sitio no tiene.
OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!\.\./|imagenes/|\d\d_)[^)]*\)")
ANSWER_ENDS = re.compile(r"^(\(celda-.*\n)?#", re.MULTILINE)  # la respuesta a una predicción: en el título siguiente
ASKED = re.compile(r'Prediction\("([\d.]+)"\)')
YOURS = "@your_line"  # una línea de quien aprende: ni ella ni el párrafo que la pide esperan a nada
LAST = re.compile(r"[^\n]+\s*\Z")  # el último párrafo
# «lección 04» es un enlace, si no está ya en uno ni en un trozo de código.
LESSON = re.compile(r"\[[^\]]*\]\([^)]*\)|`[^`]*`|^#.*|\blección (\d\d)\b", re.MULTILINE)
# Las frases que mandan a las teclas, a las órdenes o a las celdas de JupyterLab no se pueden seguir aquí.
SENTENCE = re.compile(r"(?<=[.!?;)»`]) (?=[A-ZÁÉÍÓÚ¿¡(«*`<])")
BY_HAND = re.compile(
    r"<kbd>|\*Run\*|`python curso\.py|\bejecutarlas\b|la ejecutas\b|La primera vez tarda|forget_progress"
    r"|\bcelda (con puntos|siguiente|de abajo)\b"
)
NAVIGATION = re.compile(r"\n+\[←[^\n]*\Z|\n+\[El mapa\][^\n]*\Z")  # la página tiene la suya
HERE = """
```{{admonition}} Se hacen aquí
:class: tip kernel
Escribe tu respuesta y pulsa **Comprobar**: el curso te dice qué has hecho bien y qué falta. La primera
vez tarda unos segundos, lo que tarda en llegar Python. Nada de lo que escribes sale de la página: se
queda en este navegador, y cada función que está bien, en tu biblioteca. El ✓ es para ti: si te califican,
lo comprueba otra vez `calificar`.
Cuando lo hayas intentado, mira [las soluciones](soluciones/{name}.ipynb).
```
"""
UNSEEN = "Questions(", "Prediction(", "reveal("  # a quien solo lee, su código no le dice nada; ni el que solo importa
FOLDS = "plegar"  # en un comentario de MyST: desde ahí, el apartado se lee plegado
TO_TRY = "\n\nPara probarlo, [abre el curso en tu ordenador](index.md#en-tu-ordenador).\n"


def linked_cells(sources):
    """Las celdas a las que lleva algún enlace: → conjunto de (número de la lección, id)."""
    return {found.groups()[2:] for source in sources for found in LINK.finditer(source)}


def for_the_web(notebook, name, linked, lessons):
    """Cambia un cuaderno, leído de su JSON, por lo que se lee en la web.

    Args:
        notebook: el diccionario del cuaderno; cambia.
        name: su nombre, como «05_atencion» o «soluciones/05_atencion».
        linked: lo que devuelve ``linked_cells``.
        lessons: el nombre de cada lección, por su número: ``{"05": "05_atencion"}``.
    """
    states = notebook["metadata"].pop("widgets", {}).get(STATES, {}).get("state", {})
    lesson = "/" not in name
    here = exercises(notebook["cells"]) if lesson else {}
    given, (first, reveals) = notebook["cells"], _answers(notebook["cells"])
    cells, predicting, told, open_ = [], False, False, False
    for i, cell in enumerate(given):
        source, outputs = "".join(cell["source"]), cell.get("outputs", [])
        if i in first:
            predicting = told = True
        if cell["cell_type"] == "markdown":
            text = _prose(cell, source, name, linked, lessons)
            if predicting and told:  # lo que contesta también se esconde
                end = ANSWER_ENDS.search(text)
                if _is_yours(given[i + 1 : i + 2]):
                    end = end or LAST.search(text)
                answer = text[: end.start() if end else None]
                if answer.strip():
                    cells += [] if open_ else [prose_cell(cell, "abre", OPEN)]
                    cells.append(prose_cell(cell, "contesta", answer))
                    open_, text = True, text[len(answer) :]
            if open_:
                cells.append(prose_cell(cell, "cierra", CLOSE))
            predicting = told = open_ = False
            cells += [cell | {"source": text}] if text.strip() else []
            if lesson and tagged(cell, EXERCISES):
                cells.append(_html(cell, "guarda", lesson_html(name)))
        elif lesson and (number := answered(cell)):
            cells.append(_html(cell, "responde", exercise_html(number, here[number])))
        elif not (lesson and (tagged(cell, CHECKING) or is_check(cell))):
            if tagged(cell, UNSOLVED):  # lo que enseñaría quien lo resolviera
                cell["metadata"]["tags"].remove(UNSOLVED)
                cell["outputs"] = outputs = []
            bare = source.startswith("Inventory(") or lesson and (source.startswith(UNSEEN) or tagged(cell, SETUP))
            if bare or tagged(cell, SETUP) or tagged(cell, LOOKING):
                cell["metadata"].setdefault("tags", []).append("remove-input" if bare else "hide-input")
            if tagged(cell, LOOKING):  # su primera línea dice qué hay dentro
                named = source.partition("\n")[0].removeprefix("# ")
                cell["metadata"]["mystnb"] = dict.fromkeys(("code_prompt_show", "code_prompt_hide"), named)
            alive = [_bring_to_life(output, states, name) for output in outputs]
            asks = tagged(cell, PREDICTION)
            if asks and open_:
                cells.append(prose_cell(cell, "cierra", CLOSE))
                open_ = False
            yours = _is_yours([cell])
            predicting = predicting and not asks
            told = (told and not yours) or (i in reveals and bool(outputs))  # si el texto habla de lo que se esconde
            if predicting and outputs and not any(alive) and not open_ and not yours:
                only = {"id": f"{cell['id']}-sale", "metadata": {"tags": ["remove-input"]}}
                hidden = cell | only
                cells += [dict(cell, outputs=[]), prose_cell(cell, "abre", OPEN), hidden]
                open_ = True
            else:
                cells.append(cell)
    cells += [prose_cell(cell, "cierra", CLOSE)] if open_ else []
    run, others, whole = runnable(name), elsewhere(name), []
    for cell in cells:
        whole.append(cell)
        if cell["id"] in run:
            whole.append(_html(cell, "ejecuta", cell_html(cell["id"], "".join(cell["source"]))))
        elif told := others.get(cell["id"]):
            whole.append(_html(cell, "fuera", f'<p class="elsewhere">{told}</p>'))
    notebook["cells"] = whole


# Lo que mide cada explorador en un teléfono y en un portátil: la página se lo guarda mientras llega.
PICTURES = Path(__file__).resolve().parents[1] / "imagenes" / "exploradores"
ROOMS = json.loads((PICTURES / "alturas.json").read_text("utf-8"))
OPEN = '<details class="answer"><summary>Ver qué sale</summary>'
CLOSE = "</details>"


def _answers(cells):
    """Dónde empieza lo que contesta a cada ``Prediction``, y qué celdas la descubren: → dos conjuntos de sitios.

    Es lo que sigue a la pregunta, si sale algo antes del primer texto. Si no, ese texto pide otra cosa, y lo
    que contesta son las celdas de código que van con la que la descubre.
    """
    first, reveals = set(), set()
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not tagged(cell, PREDICTION):
            continue
        asked = ASKED.search("".join(cell["source"]))
        told = asked and f'reveal("{asked[1]}"'
        found = next((j for j in range(i + 1, len(cells)) if told and told in "".join(cells[j]["source"])), i)
        following = [*takewhile(lambda one: one["cell_type"] == "code", cells[i + 1 :])]
        shows = any(WIDGET not in output.get("data", {}) for one in following for output in one["outputs"])
        start = i + 1 if shows or found <= i + len(following) else found
        while start > i + 1 and cells[start - 1]["cell_type"] == "code":
            start -= 1
        first.add(start)
        reveals.add(found)
    return first, reveals


def _is_yours(cells):
    """Si la celda, la única de esas, es de una línea de quien aprende."""
    return any(cell["cell_type"] == "code" and YOURS in "".join(cell["source"]) for cell in cells)


def prose_cell(cell, what, source):
    return {"cell_type": "markdown", "id": f"{cell['id']}-{what}", "metadata": {}, "source": source}


def _html(cell, what, text):
    """Una celda de la que solo se ve lo que da."""
    shown = {"output_type": "display_data", "data": {"text/html": text}, "metadata": {}}
    made = {"cell_type": "code", "id": f"{cell['id']}-{what}", "metadata": {"tags": ["remove-input"]}}
    return made | {"source": what, "execution_count": None, "outputs": [shown]}


def _prose(cell, source, name, linked, lessons):
    """El texto de una celda, con sus enlaces y con las palabras de quien lee y no ejecuta."""
    lesson = "/" not in name
    source = OUTSIDE.sub(r"\1", NAVIGATION.sub("\n", source))
    source = LINK.sub(r"#celda-\3-\4", source)
    up = "" if lesson else "../"

    def link(found):
        stem = lessons.get(found[1])
        return f"[lección {found[1]}]({up}{stem}.ipynb)" if stem else found[0]

    source = LESSON.sub(link, source)
    if BY_HAND.search(source):
        lines = [(line, _what_can_be_done(line)) for line in source.split("\n")]
        source = "\n".join(now for line, now in lines if now or not line)
    if opens_beside(cell):
        title, _, rest = source.partition("\n")
        shown, folded = (source, "") if cell["metadata"].get(FOLDED) else (title, rest)
        source = f"{shown}\n\n% {FOLDS}\n\n{folded}"
    if lesson and tagged(cell, EXERCISES):
        source += "\n" + HERE.format(name=name)
    if tagged(cell, TRY):
        source += TO_TRY
    if lesson and (name[:2], cell["id"]) in linked:
        source = f"(celda-{name[:2]}-{cell['id']})=\n{source}"
    return source


def _what_can_be_done(line):
    """El párrafo sin las frases que aquí no se pueden seguir; si no queda ninguna, nada."""
    start = "- " * line.startswith("- ")
    kept = [one for one in SENTENCE.split(line.removeprefix("- ")) if not BY_HAND.search(one)]
    return (start + " ".join(kept)) * bool(kept)


def _bring_to_life(output, states, name):
    """Pone el estado de un explorador, y su imagen, en el sitio de su vista. Dice si es uno."""
    data = output.get("data", {})
    if "text/html" in data:
        text = LINK.sub(r"\1\2.ipynb#celda-\3-\4", "".join(data["text/html"]))
        data["text/html"] = PAGE.sub(r"\1.html", text)
    if WIDGET not in data:
        return False
    state = states[data[WIDGET]["model_id"]]["state"]
    kind = explorer_kind(state)
    drawn = kind.endswith("Explorer") and "/" not in name  # una predicción se lee en su frase
    picture = f'<img src="_static/{name[:2]}-{kind}.png" alt="">' * drawn
    number = name.rpartition("/")[2][:2]
    room = ROOMS.get(f"{number}-{kind}", (272, 226))  # una predicción
    page = f"exploradores/{name[:2]}-{kind}.html" if drawn else ""
    words = "".join(data["text/plain"])
    output["data"] = {"text/html": explorer_html(state, words, picture, room, page)}
    return True
