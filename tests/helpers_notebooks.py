"""Lo que se compara de un cuaderno, como lo compara nbval."""

import re
from copy import deepcopy
from pathlib import Path

from tools import notebooks
from tools.way import code_cells

ROOT = Path(__file__).resolve().parents[1]
EXEMPT_TAGS = {"nbval-ignore-output", "nbval-skip", "raises-exception"}


def is_exempt(cell):
    return bool(EXEMPT_TAGS & set(cell.metadata.get("tags", ())))


# La misma regla que en nbval: en el HTML de una gráfica, los píxeles y el tamaño.
SANITIZED = (ROOT / "tests/nbval_sanitize.cfg").read_text(encoding="utf-8")
PIXELS = re.findall("^(?:regex|replace): (.*)$", SANITIZED, re.MULTILINE)


def compared_outputs(nb):
    """Lo que se compara de cada celda: todo, salvo las imágenes y las celdas exentas."""
    compared = [(cell.source, deepcopy(cell.outputs)) for cell in code_cells(nb) if not is_exempt(cell)]
    for _, outputs in compared:
        for output in outputs:
            output.pop("metadata", None)  # el tamaño de las imágenes
            output.pop("execution_count", None)  # de una parte, las celdas se cuentan otra vez
            for kind in ("image/png", "image/jpeg", notebooks.WIDGET_VIEW):
                output.get("data", {}).pop(kind, None)
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = re.sub(*PIXELS, output.data["text/html"])
    return compared
