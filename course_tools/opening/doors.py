"""Las direcciones de las puertas que no piden instalar nada: la web y Colab."""

import re
from urllib.parse import urlsplit

BRANCH = "sin-instalar"  # la rama que publica .github/workflows/puertas.yml


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
        "colab": f"https://colab.research.google.com/github/{path}/blob/{BRANCH}",
    }


def badges(url):
    """La insignia de Colab, para el sitio: nada, si ``url`` no es de GitHub."""
    try:
        link = f"{doors(url or '')['url']}/tree/{BRANCH}#en-colab"
    except ValueError:
        return ""
    badge = f"[![Abrir en Colab](../imagenes/insignias/colab.svg)]({link})"
    return f"Las celdas, sin instalar nada: {badge}"
