"""Las páginas de JupyterHub, en español: no trae traducciones.

Sus plantillas no se copian: al leerlas se cambia cada frase por la de ``espanol.tsv``. Así, con
otra versión se ve lo nuevo, en inglés, y no falla nada; una prueba dice qué frase ya no está.
"""

import re

from jinja2.ext import Extension

from aula.hub import place

LINES = (place.HERE / "espanol.tsv").read_text(encoding="utf-8").splitlines()
PAIRS = [(english, spanish) for english, _, spanish in (line.partition("\t") for line in LINES)]
PAGES = [
    (re.compile(r"\s+".join(map(re.escape, english.split()))), spanish)
    for english, spanish in PAIRS
    if english[0] != "~"
]
# Lo que dice el programa, y no una plantilla; vale la primera que coincide.
SAID = {english[1:]: spanish for english, spanish in PAIRS if english[0] == "~"}


def say(text):
    """La frase en español de ``text``, algo que JupyterHub dice en inglés; si no la hay, ``text``."""
    known = (said for english, said in SAID.items() if re.search(english, str(text)))
    return next(known, text)


def ready(spawner, event):
    """Lo que se lee cuando el JupyterLab ya está abierto."""
    link = f'<a href="{event["url"]}">Ya está.</a>'
    return event | {"message": "Ya está.", "html_message": link}


class Spanish(Extension):
    """Traduce cada plantilla al leerla, y añade el filtro ``es`` para lo que va dentro."""

    def __init__(self, environment):
        super().__init__(environment)
        environment.filters["es"] = say

    def preprocess(self, source, name, filename=None):
        for english, spanish in PAGES:
            source = english.sub(lambda _, spanish=spanish: spanish, source)
        return source
