"""Las páginas de JupyterHub, en español: no trae traducciones.

Sus plantillas no se copian: al leerlas se cambia cada frase por la de ``espanol.tsv``. Así, con
otra versión se ve lo nuevo, en inglés, y no falla nada; una prueba dice qué frase ya no está.
"""

import re

from jinja2.ext import Extension

from aula.hub import place

LINES = (place.HERE / "espanol.tsv").read_text(encoding="utf-8").splitlines()
PAGES = [
    (re.compile(r"\s+".join(map(re.escape, english.split()))), spanish)
    for english, _, spanish in (line.partition("\t") for line in LINES)
]
SAID = {  # lo que dice el programa, y no una plantilla; vale la primera que coincide
    r"Invalid username or password": "Ese nombre y esa contraseña no van juntos, o esa cuenta no es de esta "
    "clase. Escríbelos otra vez.",
    r"Active user limit|too many users": "El aula está llena. Prueba dentro de unos minutos.",
    r"Spawn failed: Timeout|failed to (start|respond)|didn't respond": "Tu JupyterLab tarda demasiado "
    "en abrirse. Inténtalo otra vez; si no, avisa a quien da la clase.",
    r"Spawn failed|Failed to start": "Tu JupyterLab no se ha abierto. Inténtalo otra vez; si vuelve a "
    "pasar, puede que tu disco esté lleno: avisa a quien da la clase.",
    r"Spawn cancelled": "Has parado la apertura.",
    r"Sorry, you are not currently authorized": "Esa cuenta no es de esta clase. Pide que te añadan.",
    r"XSRF|_xsrf|Cross.?Origin": "Esta página ha caducado. Ábrela otra vez.",
    r"Forbidden|not (have|authorized)|insufficient": "No tienes permiso: es de otra persona.",
    r"No access to resources": "No existe, o es de otra persona",
    r"Not Found|^None$": "No existe",
    r"Unauthorized|Bad Request": "Así no se puede. Entra otra vez desde el principio.",
    r"Unavailable|Bad Gateway|Too Many": "Ahora no contesta. Prueba dentro de un momento.",
    r"Internal Server Error": "Algo ha fallado dentro. Avisa a quien da la clase.",
}


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
