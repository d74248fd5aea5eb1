"""Las hojas de cada clase, para imprimir: la que se reparte, las diapositivas y el guion con las notas.

Es la orden «python curso.py hojas». Salen de lo que las clases tienen guardado, sin ejecutarlas y sin
red. Si en el ordenador hay un Chromium, Chrome o Edge, deja al lado los PDF.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
from jinja2 import Environment
from markupsafe import Markup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from playwright.sync_api import Error, sync_playwright

from course_lib.explorers.base import css
from course_lib.plots.palette import sheet
from course_tools import homework
from sitio.explorers import explorer_html, program
from sitio.formulas import mathml
from sitio.notebook import STATES, WIDGET

ROOT = Path(__file__).resolve().parents[1]
DECKS = ROOT / "notebooks/clases"
LOOKS = ("sitio/letra/latinmodern-math.woff2", "sitio/web/modelo.js")

BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
DRAWN = """() => document.fonts.status === 'loaded'
    && !document.querySelector('.course-explorer:not(.alive)')"""


class Renderer(IPythonRenderer):
    """El Markdown de ``nbconvert``, con las fórmulas en MathML y las figuras dentro."""

    def block_math(self, body):
        return f'<span class="math display">{mathml(body.strip(), display=True)}</span>'

    def inline_math(self, body):
        return f'<span class="math">{mathml(body)}</span>'

    def image(self, text, url, title=None):
        return super().image(text, url.removeprefix("../../"), title)


def prose(text):
    """El HTML de un texto; una línea de puntos es sitio para escribir a mano."""
    renderer = Renderer(escape=False, embed_images=True, exclude_anchor_links=True, path=str(ROOT))
    html = MarkdownWithMath(renderer).render(text)
    return Markup(re.sub("…{4,}", '<span class="line"></span>', html))


def kind(cell):
    """Qué es una celda en la clase: «slide», «fragment», «notes», «skip» o, si sigue, «»."""
    return cell.metadata.get("slideshow", {}).get("slide_type", "")


def tagged(cells, tag):
    return [cell for cell in cells if tag in cell.metadata.get("tags", ())]


def slides(nb):
    """Las diapositivas: de cada una, sus celdas, con las notas y sin las que nunca se ven."""
    found = []
    for cell in (cell for cell in nb.cells if kind(cell) != "skip"):
        found += [[]] if kind(cell) == "slide" or not found else []
        found[-1].append(cell)
    return found


def minutes(cells):
    """Los minutos que dicen las notas."""
    said = "\n".join(cell.source for cell in cells if kind(cell) == "notes")
    return sum(map(int, re.findall(r"^\*\*Minutos:\*\* (\d+)$", said, re.MULTILINE)))


def page(nb, number, what):
    """El HTML de la «hoja», las «diapositivas» o el «guion» de la clase ``number``."""
    states = nb.metadata.get("widgets", {}).get(STATES, {}).get("state", {})

    def explorer(data):
        return Markup(explorer_html(states[data[WIDGET]["model_id"]]["state"], data["text/plain"]))

    jinja = Environment(autoescape=True)
    jinja.filters.update(prose=prose, kind=kind, tagged=tagged, minutes=minutes)
    template = jinja.from_string((ROOT / "aula/hojas.html").read_text(encoding="utf-8"))
    deck = slides(nb)
    title = re.sub(rf"^# ({number} · )?|[$*`]", "", deck[0][0].source.splitlines()[0])
    given = {"what": what, "title": f"{number} · {title}", "nb": nb, "slides": deck}
    return template.render(given, explorer=explorer, view=WIDGET)


def dress(folder):
    """Deja en la carpeta lo que las páginas usan."""
    place = folder / "aspecto"
    place.mkdir(parents=True, exist_ok=True)
    for look in LOOKS:
        shutil.copy(ROOT / look, place)
    looks = sheet(ROOT / "aula/hojas.css", ("ink", "soft", "rule", "mist", "text"))
    for name, text in (("exploradores.js", program()), ("explorer.css", css()), ("hojas.css", looks)):
        (place / name).write_text(text, encoding="utf-8")


def print_pages(paths):
    """Hace el PDF de cada página, al lado. Dice si hay con qué."""
    names = filter(None, (os.environ.get("CHROMIUM"), *BROWSERS))
    found = next(filter(None, map(shutil.which, names)), None)
    ways = {"executable_path": found}, {"channel": "chrome"}, {"channel": "msedge"}
    with sync_playwright() as playwright, contextlib.ExitStack() as stack:
        for way in ways:
            with contextlib.suppress(Error):
                browser = stack.enter_context(playwright.chromium.launch(**way))
                break
        else:
            return False
        tab = browser.new_page(viewport={"width": 1000, "height": 20_000})  # entera: se dibuja
        for path in paths:
            tab.goto(path.as_uri())
            with contextlib.suppress(Error):  # un explorador sin dibujar lleva su texto
                tab.wait_for_function(DRAWN, timeout=10_000)
            tab.pdf(path=path.with_suffix(".pdf"), prefer_css_page_size=True, print_background=True)
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="curso.py hojas", description=__doc__.partition("\n")[0])
    parser.add_argument("lecciones", nargs="*", help="sus números, como 05; sin ellos, todas")
    parser.add_argument("--notas", action="store_true", help="también el guion: notas y clave de la hoja")
    parser.add_argument("--carpeta", default=ROOT / "hojas", help="dónde; si no se dice, en «hojas»")
    words = "los de casa, como 5.1; si no, los de cada lección"
    options, task = homework.asked(parser, arguments, words)
    folder = Path(os.environ.get("CURSO_DESDE", "."), options.carpeta).resolve()
    decks = {path.name[:2]: path for path in sorted(DECKS.glob("[0-9]*.ipynb"))}
    made, faults = {}, 0
    for number in dict.fromkeys(options.lecciones) or decks:
        try:
            deck = decks[number.zfill(2)]
            nb = nbformat.read(deck, as_version=4)
            task.put(nb.cells, deck.name[:2])
            for what in ["hoja", "diapositivas"] + ["guion"] * options.notas:
                made[folder / f"{deck.stem}-{what}.html"] = page(nb, deck.name[:2], what)
        except (ValueError, LookupError, AttributeError):
            faults = 1
            print(f"No hay clase {number}, o está dañada. Las hay de: {', '.join(decks)}.")
    try:
        dress(folder)
        for path, text in made.items():
            path.with_suffix(".pdf").unlink(missing_ok=True)  # el de antes ya no dice lo mismo
            path.write_text(text, encoding="utf-8")
    except OSError:
        print(f"No se puede escribir en {folder}. Mira si es tuya y si queda disco, o di «--carpeta OTRA».")
        return 1
    print(f"{len(made)} páginas hechas, en {folder}.")
    if made and not print_pages(made):
        print("Para el PDF hace falta Chromium, Chrome o Edge. Si no, ábrelas e imprime.")
    return faults


if __name__ == "__main__":
    sys.exit(main())
