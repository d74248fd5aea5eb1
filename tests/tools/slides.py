"""Qué es cada celda de una lección en las diapositivas: lo que no dice su autor se calcula."""

import re

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# Sin «-»: con él, `jupyterlab-slideshow` 0.3.4 no enseña la celda nunca.
SLIDE_TYPES = ("slide", "subslide", "fragment", "skip", "notes")
# Lo que cabe en una diapositiva y lo que ocupa cada cosa, en líneas de texto. Son las medidas de
# los estilos de `.jupyter/labconfig`, algo por lo alto; tests/test_slides.py mira si cabe de verdad.
SLIDE_LINES = 22
TEXT_COLUMNS = 98
HEADING, FORMULA, MATRIX_ROW, IMAGE, TABLE_ROW, CODE_LINE, GAP = 2.5, 3, 1.2, 12.5, 1.3, 0.8, 0.6
FIGURE = 16  # un control, o una figura de tamaño desconocido o grande: se encoge hasta ahí
PIXELS_PER_LINE = 30


def add_slides(nb):
    """Decide qué es en las diapositivas cada celda de la lección `nb` que no lo dice.

    La primera celda y las que empiezan con un título de sección abren diapositiva (``slide``). Cada
    texto abre una debajo (``subslide``). El código aparece al avanzar (``fragment``) en la de su
    texto si cabe, con sus salidas; si no, abre otra. Lo que ya dice una celda no se toca.
    """
    used = 0
    for position, cell in enumerate(nb.cells):
        slideshow = cell.metadata.setdefault("slideshow", {})
        height = _slide_lines(cell)
        if not slideshow.get("slide_type"):  # JupyterLab lo borra o lo deja vacío
            if position == 0 or cell.source.startswith("## "):
                slideshow["slide_type"] = "slide"
            elif cell.cell_type == "code" and used + height <= SLIDE_LINES:
                slideshow["slide_type"] = "fragment"
            else:
                slideshow["slide_type"] = "subslide"
        if slideshow["slide_type"] in ("slide", "subslide"):
            used = height
        elif slideshow["slide_type"] == "fragment":
            used += height


def slide_problems(nb):
    """Dice qué celdas de la lección `nb` no dicen, o dicen mal, qué son en las diapositivas."""
    for number, cell in enumerate(nb.cells, 1):
        slide_type = cell.metadata.get("slideshow", {}).get("slide_type")
        if slide_type is None:
            yield f"Celda {number}: no dice qué es en las diapositivas (`slideshow`)."
        elif slide_type not in SLIDE_TYPES:
            yield f"Celda {number}: «{slide_type}» no es un tipo de diapositiva: {SLIDE_TYPES}."


def _slide_lines(cell):
    """Calcula cuántas líneas de una diapositiva ocupan una celda y sus salidas."""
    if cell.cell_type != "code":
        return sum(map(_block_lines, re.split(r"\n\s*\n", cell.source)))
    total = CODE_LINE * len(cell.source.splitlines()) + GAP
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if WIDGET_VIEW in data:
            total += FIGURE
        elif image := next((kind for kind in data if kind.startswith("image/")), None):
            height = output.metadata.get(image, {}).get("height", FIGURE * PIXELS_PER_LINE)
            total += min(height / PIXELS_PER_LINE, FIGURE)
        else:
            text = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
            total += CODE_LINE * len(text.splitlines()) + GAP
    return total


def _block_lines(block):
    """Calcula las líneas de un párrafo, una lista, una tabla, una fórmula o un título."""
    if block.startswith("$$"):
        rows = max(part.count(r"\\") for part in block.split(r"\end"))
        return FORMULA + MATRIX_ROW * rows + GAP
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", block)
    images = IMAGE * (text != block)
    text = re.sub(r"(?<=\])\([^)\s]*\)|\\[a-zA-Z]+|[{}$*`]", "", text)
    total = 0
    for line in filter(str.strip, text.splitlines()):
        if line.startswith("#"):
            total += HEADING
        elif line.startswith("|"):
            total += TABLE_ROW
        else:
            total += -(-len(line) // TEXT_COLUMNS)
    return images + total + GAP
