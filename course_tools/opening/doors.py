"""Las direcciones de las puertas que no piden instalar nada: Colab, Binder y Codespaces."""

import re
from urllib.parse import urlsplit

BRANCH = "sin-instalar"  # la rama que publica .github/workflows/puertas.yml
START = "lab/tree/mis_cuadernos/00_empieza_aqui.ipynb"


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
    owner, _, repository = path.partition("/")
    return {
        "url": f"https://github.com/{path}",
        "web": f"https://{owner.lower()}.github.io/{repository}/",  # GitHub Pages
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
