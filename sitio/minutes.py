"""Los exploradores de las páginas de texto, y los números que dicen. Es una extensión de Sphinx.

En una página, ``<!-- explorador frase -->`` pone uno; ``<!-- paso frase {"query": 8} -->`` dice cómo
está mientras se lee el párrafo de debajo, y lo mueve ``web/minutos.js``; y ``<!-- dice PATRÓN -->``
escribe un número: lo que casa, en lo que cuenta el explorador de ese paso, con el paréntesis del patrón.
"""

import html
import json
import re

import torch

from course_lib import explorers, load_translator
from course_lib.explorers.mask import preset
from course_lib.translator import ALIGNMENT_LAYER
from sitio.explorers import explorer_html
from sitio.notebook import ROOMS

MARK = re.compile(r"<!-- (explorador|paso|dice) (\S+) ?(.*?) -->")
JUPYTERS = "layout", "tabbable", "tooltip"  # no son del explorador
WIDE = 64  # los números de cada flecha, en la escena de la raíz


def wide_scores():
    """Las puntuaciones de cuatro keys, con flechas al azar."""
    sample = torch.randn(5, WIDE, generator=torch.Generator().manual_seed(8))
    return [round(score, 1) for score in (sample[1:] @ sample[0]).tolist()]


def translator(sentence="I sent my brother a letter."):
    found = load_translator().translate(sentence)
    tokens = found.source_tokens, found.seen_tokens, found.target_tokens
    weights = found.cross_attention[ALIGNMENT_LAYER]
    return explorers.CrossAttentionExplorer(*tokens, weights, sentence=sentence)


SHOWN = {  # cada uno, y la lección que tiene su foto
    "frase": ("00", lambda: explorers.AttentionExplorer(view="arcos")),
    "cuenta": ("05", lambda: explorers.GeometryExplorer("salida")),
    "raiz": ("", lambda: explorers.SoftmaxExplorer(logits=wide_scores())),
    "mascara": ("04", lambda: explorers.MaskExplorer(mask=preset("sin máscara", 4))),
    "traductor": ("09", translator),
}


def place(app, docname, content):
    """Pone lo que piden los comentarios. Un estado o un número que la biblioteca no da para el sitio."""
    alive = {}

    def put(found):
        what, name, rest = found.groups()
        if what == "dice":
            return re.search(f"{name} {rest}".strip(), repr(alive["ahora"]))[1]
        if what == "explorador":
            one = alive[name] = SHOWN[name][1]()
            state = {key: value for key, value in one.get_state().items() if key not in JUPYTERS}
            drawn = f"{SHOWN[name][0]}-{type(one).__name__}"
            picture = f'<img src="_static/{drawn}.png" alt="" loading="lazy">' * (drawn in ROOMS)
            made = explorer_html(state, repr(one), picture, ROOMS.get(drawn, (0, 0)))
            return f'<div id="{name}">{made}</div>'
        one = alive["ahora"] = alive[name]
        traits = {k: preset(v, 4) if k == "mask" else v for k, v in json.loads(rest).items()}
        for trait, value in traits.items():
            setattr(one, trait, value)
        told = html.escape(json.dumps(traits))
        return f'<div class="paso" data-pieza="{name}" data-traits="{told}"></div>'

    content[0] = MARK.sub(put, content[0])


def setup(app):
    app.add_css_file("minutos.css")
    app.connect("source-read", place)
