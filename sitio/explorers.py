"""Los exploradores, fuera de JupyterLab: cada uno con su estado, y el programa que los dibuja."""

import html
import json
import re

from course_lib import explorers
from course_lib.explorers.base import ALSO, HERE
from course_lib.explorers.declared import Declared

LEADING = re.compile(r"^[ \t]+|^[ \t]*//[^\n]*\n|^[ \t]*/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)  # lo que no se ejecuta


def explorer_kind(state):
    """Qué explorador es el de ese estado."""
    return state["_anywidget_id"].rpartition(".")[2]


def explorer_html(state, words, picture="", room=(0, 0), page=""):
    """Un explorador: su estado, con el que ``modelo.js`` lo dibuja, y lo que se lee si no puede.

    Con ``page``, la página que es solo suya, tiene además una dirección que lleva su estado.
    """
    kept = {key: value for key, value in state.items() if key[0] != "_"}
    packed = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    kind = explorer_kind(state)
    own = f'id="{kind}" data-page="{page}" ' * bool(page)
    return (
        f'<div class="course-explorer" data-explorer="{kind}" {own}'
        f'style="--narrow: {room[0]}px; --wide: {room[1]}px">'
        f"{picture}<p>{html.escape(words)}</p>"
        f'<script type="application/json">{packed}</script></div>'
    )


ALONE = re.compile(r'<div class="course-explorer"[^>]*( data-page="exploradores/(.*?)\.html").*?</script></div>', re.S)
QUESTION = re.compile(r"<p>((?:(?!</p>).)*¿.*?)</p>", re.S)
NEAR = re.compile(r'(href|src)="(?!\w+:)(#?)')


def alone(body, lesson):
    """Cada explorador de una lección, con la pregunta que tiene encima: → nombre de su página, HTML de los dos.

    ``lesson`` es la dirección de la lección desde la carpeta de esas páginas.
    """
    link = lambda found: f'{found[1]}="' + (lesson + "#" if found[2] else "../")  # noqa: E731
    for found in ALONE.finditer(body):
        *_, question = QUESTION.findall(body[: found.start()])
        yield found[2], NEAR.sub(link, question), NEAR.sub(link, found[0].replace(found[1], ""))


def moves(kind):
    """Lo que se puede mover de un explorador en su dirección: cómo se llama en ella → cuál es y qué vale."""
    declared = {name: one for name, one in vars(getattr(explorers, kind)).items() if isinstance(one, Declared)}
    return {one.key: {"trait": name, "rule": one.page} for name, one in declared.items() if one.key}


def program():
    """El de todos los exploradores, en uno: lo comparten todas las páginas, con lo común una vez."""
    kinds = {kind: getattr(explorers, kind).__module__ for kind in explorers.__all__}
    names = {kind: name.rpartition(".")[2] for kind, name in kinds.items()} | {"Prediction": "prediction", "Questions": "asking", "Inventory": "inventory"}
    code = "\n".join(f"course.explorers.{kind} = (() => {{\n{own(name)}\n}})();" for kind, name in names.items())
    code = LEADING.sub("", f"{{\n{source('common')}\n{code}\n}}\n")
    told = json.dumps({kind: moves(kind) for kind in explorers.__all__}, ensure_ascii=False)
    return f"'use strict';\nglobalThis.course ??= {{}};\ncourse.explorers = {{}};\ncourse.moves = {told};\n{code}"


def source(name):
    return (HERE / f"{name}.js").read_text(encoding="utf-8")


def own(name):
    """Lo de un explorador: un módulo, como función que devuelve lo que exporta."""
    text = "\n".join(map(source, [*ALSO.get(name, ()), name]))
    return re.sub(r"^export default", "return", text, flags=re.M).replace("\nexport ", "\n")
