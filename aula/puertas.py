"""Las puertas que no piden instalar nada: Colab, Binder y Codespaces.

    python aula/puertas.py DIRECCIÓN CARPETA

DIRECCIÓN es la del repositorio en GitHub, y solo se dice aquí: la da ``.github/workflows/puertas.yml``,
que publica CARPETA en la rama «sin-instalar». En ella queda una página con las puertas y, de cada
lección, la copia que se abre en Colab.
"""

import json
import posixpath
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course_lib.opening import copies  # noqa: E402 — después de decir dónde está

BRANCH = "sin-instalar"
START = "lab/tree/mis_cuadernos/00_empieza_aqui.ipynb"

FETCH = (ROOT / "aula/primera_celda.py").read_text(encoding="utf-8").rstrip()  # {url}: el curso
PAGE = (ROOT / "aula/sin_instalar.md").read_text(encoding="utf-8")


def doors(url):
    """Las direcciones de las puertas del repositorio ``url``; la de Colab, sin la lección.

    Raises:
        ValueError: si ``url`` no es la de un repositorio de GitHub.
    """
    parts = urlsplit(url)
    path = parts.path.strip("/").removesuffix(".git")
    name = re.fullmatch(r"[\w.-]+/[\w.-]+", path, re.ASCII)
    if (parts.scheme, parts.netloc) != ("https", "github.com") or not name or ".." in path:
        raise ValueError(f"«{url}» no es una dirección como https://github.com/QUIEN/CURSO")
    return {
        "url": f"https://github.com/{path}",
        "binder": f"https://mybinder.org/v2/gh/{path}/HEAD?urlpath={START}",
        "codespaces": f"https://codespaces.new/{path}",
        "colab": f"https://colab.research.google.com/github/{path}/blob/{BRANCH}",
    }


def badges(url):
    """Las insignias de las puertas, para el sitio: nada, si ``url`` no es de GitHub."""
    try:
        links = doors(url or "")
    except ValueError:
        return ""
    links["colab"] = f"{links['url']}/tree/{BRANCH}#en-colab"
    image = "![Abrir en {}](../imagenes/insignias/{}.svg)"
    names = ("Colab", "Binder", "Codespaces")
    told = (f"[{image.format(n, n.lower())}]({links[n.lower()]})" for n in names)
    return " ".join(["O en el navegador, sin instalar nada:", *told])


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
            cell["source"] = source.replace(
                ".ipynb#cell-id=", ".ipynb#scrollTo="
            )  # así va en Colab
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
        sys.exit("Di la dirección y la carpeta: «python aula/puertas.py DIRECCIÓN CARPETA».")
    try:
        publish(sys.argv[1], Path(sys.argv[2]))
    except ValueError as error:
        sys.exit(f"No ha podido ser. {error}")
