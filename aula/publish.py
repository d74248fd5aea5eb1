"""Escribe lo que publica la rama «sin-instalar»: las puertas que no piden instalar nada.

    python -m aula.publish DIRECCIÓN CARPETA

DIRECCIÓN es la del repositorio en GitHub, y solo se dice aquí: la da ``.github/workflows/puertas.yml``,
que publica CARPETA en la rama «sin-instalar». En ella queda una página con las puertas y, de cada
lección, la copia que se abre en Colab.
"""

import json
import posixpath
import re
import sys
from pathlib import Path

from course_tools.opening import copies
from course_tools.opening.doors import doors

ROOT = Path(__file__).resolve().parents[1]
FETCH = (ROOT / "aula/first_cell.py").read_text(encoding="utf-8").rstrip()  # {url}: el curso
PAGE = (ROOT / "aula/sin_instalar.md").read_text(encoding="utf-8")


def for_colab(nb, links):
    """La lección ``nb`` como se abre en Colab: sin salidas, con su primera celda y enlaces enteros."""

    def whole(match):
        """Colab no ve lo que hay al lado del cuaderno: cada enlace lleva su dirección."""
        link, path = match[0], posixpath.normpath(f"{copies.FOLDER}/{match[0]}")
        if copies.LESSON.fullmatch(link):
            return f"{links['colab']}/{link}"
        if not (ROOT / path).exists():
            return link
        return f"{links['url']}/{'raw' if path.startswith('imagenes/') else 'blob'}/HEAD/{path}"

    nb = copies.deliver(nb)
    nb["metadata"].pop("widgets", None)
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
        else:
            source = re.sub(r"(?<=\]\()[^)#\s]+", whole, cell["source"])
            cell["source"] = source.replace(".ipynb#cell-id=", ".ipynb#scrollTo=")  # como en Colab
    fetch = {"cell_type": "code", "id": "trae-el-curso", "metadata": {}, "execution_count": None}
    fetch |= {"outputs": [], "source": FETCH.format(**links)}
    return {**nb, "cells": [fetch, *nb["cells"]]}


def publish(url, folder):
    """Escribe en ``folder`` la página de las puertas y las lecciones para Colab."""
    links, lines = doors(url), []
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        nb = for_colab(json.loads(path.read_text(encoding="utf-8")), links)
        copies._write(folder / path.name, nb)
        title = nb["cells"][1]["source"].splitlines()[0].lstrip("# ")
        lines.append(f"- [{title}]({links['colab']}/{path.name})")
    page = PAGE.format(lecciones="\n".join(lines), **links)
    (folder / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Di la dirección y la carpeta: «python -m aula.publish DIRECCIÓN CARPETA».")
    try:
        publish(sys.argv[1], Path(sys.argv[2]))
    except ValueError as error:
        sys.exit(f"No ha podido ser. {error}")
