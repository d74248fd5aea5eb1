"""El sitio web del curso, para Sphinx. Lo usa sitio/build.py."""

import copy
import html
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

from docutils import nodes

from course_lib.explorers import EXPLORERS
from course_lib.explorers.base import HERE
from course_lib.plots.palette import sheet
from course_tools.opening.doors import badges
from sitio.classes import for_slides
from sitio.exercises import syllabus
from sitio.explorers import alone, program
from sitio.formulas import mathml
from sitio.notebook import FOLDS, OUTSIDE, for_the_web, linked_cells


def edition():
    """La versión y la fecha de lo que se lee, que no cambian si se hace otra vez."""
    root = Path(__file__).resolve().parents[1]
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    asked = ["git", "-C", str(root), "log", "-1", "--format=%cs"]
    try:
        date = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # descargado en un zip
        date = ""
    return f"Versión {version}" + (f", del {date}" if date else "")


project = "Atención paso a paso"
language = "es"
extensions = ["myst_nb", "sitio.minutes", "sitio.classes", "sitio.search"]
html_theme = "sphinx_book_theme"
html_title = project
html_favicon = "web/icono.svg"
html_static_path = ["web", "letra", "editor/editor.js", "../imagenes/exploradores"]
html_css_files = ["explorer.css", "sitio.css"]
templates_path = ["plantillas"]
html_sidebars = {"en_seis_minutos": []}  # todo el ancho, para la figura
html_use_index = html_copy_source = html_show_sourcelink = html_show_sphinx = html_show_copyright = False
html_theme_options = {f"use_{what}_button": False for what in ("download", "fullscreen", "source")}
html_theme_options |= {"show_toc_level": 2, "home_page_in_toc": True, "navbar_end": [], "navbar_persistent": []}
html_theme_options |= {"footer_content_items": "pie.html", "search_bar_text": "Buscar…"}
html_theme_options["extra_footer"] = f"Los textos y las figuras, CC BY 4.0. El código, MIT. {edition()}."
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
nb_execution_mode = "off"
nb_code_prompt_show = "Ver lo que usa esta lección"
nb_code_prompt_hide = "Ocultarlo"
nb_ipywidgets_js = {}  # sin las direcciones de fuera
myst_enable_extensions = ["attrs_inline", "dollarmath", "substitution"]
url = os.environ.get("CURSO_URL")  # de dónde se descarga el curso, si está en algún sitio
html_baseurl = os.environ.get("CURSO_SITIO", "")  # dónde se publica: con él, el mapa y la imagen
myst_substitutions = {
    "curso": f"[Descarga el curso]({url})" if url else "Pídele el curso a quien te ha dado estas páginas",
    "puertas": badges(url),
}
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # código abreviado con «…»: se colorea lo demás


def read_source(app, docname, content):
    """Cada cuaderno, tal como se lee en la web."""
    if app.env.doc2path(docname).suffix == ".ipynb":
        notebook = json.loads(content[0])
        if app.config.homework:
            app.config.homework.put(notebook["cells"], Path(docname).name[:2])
        if docname.startswith("clases/"):
            for_slides(notebook)
        for_the_web(notebook, docname, *app.env.course_links)
        if "soluciones" in app.config.exclude_patterns:  # lo que lleva a ellas, tampoco
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = SOLUTIONS.sub("", "".join(cell["source"]))
        content[0] = json.dumps(notebook)
    else:
        content[0] = OUTSIDE.sub(r"\1", content[0])
        if "soluciones" in app.config.exclude_patterns:
            content[0] = content[0].replace("soluciones/index\n", "")


SOLUTIONS = re.compile(r"[^.\n]*\[[^]]*\]\(soluciones/[^)]*\)[^.\n]*\.")


# Las palabras inglesas que se ponen en cursiva: un lector de pantalla las dice en inglés.
ENGLISH = set(Path(__file__).with_name("ingles.txt").read_text(encoding="utf-8").split())


def mark(app, doctree):
    """Pliega lo que está fuera del camino, menos el título y la frase que dice qué hay; y pone sus clases
    a las figuras y a las palabras inglesas.
    """
    about = '<details class="beside"><summary>Desplegar</summary>'
    for comment in list(doctree.findall(nodes.comment)):
        if comment.astext() == FOLDS:
            comment.parent.append(nodes.raw("", "</details>", format="html"))
            comment.replace_self(nodes.raw("", about, format="html"))
    for figure in doctree.findall(nodes.image):
        if len(figure.parent) == 1:  # en un teléfono se desliza y no encoge: con esta clase, tiene tabulador
            figure.parent["classes"].append("pst-scrollable-table-container")
    for node in doctree.findall(nodes.emphasis):
        words = re.findall("[^\\W\\d_]+", node.astext().lower())
        if words and words != ["a"] and ENGLISH.issuperset(words):
            node["classes"].append("language-en")  # se escribe lang="en"


def write_math(self, node):
    """Una fórmula, en MathML: se lee igual sin JavaScript."""
    display = isinstance(node, nodes.math_block)
    tag, look = ("div", "math display") if display else ("span", "math")
    self.body.append(f'<{tag} class="{look}">{mathml(node.astext(), display)}</{tag}>')
    raise nodes.SkipNode


# Lo que hace contestar a un explorador. Los demás no piden nada, salvo el del LLM, cuyo modelo no cabe
# en el sitio: `modelo.js` lo dice.
ANSWERS = {
    "bert": ["cuentas", "wordpiece", "bert", "respuestas"],
    "translator": ["cuentas", "bpe", "comprobaciones", "traductor"],
}


def add_scripts(app, pagename, templatename, context, doctree):
    """Cada página lleva solo los programas que usa, y ninguno la hace esperar."""
    body = context.get("body", "")
    kinds = set(re.findall(r'data-explorer="(\w+)"', body))
    answering = sorted({EXPLORERS[kind][-1] for kind in kinds & EXPLORERS.keys()})
    needed = [name for one in answering for name in ANSWERS.get(one, ())]
    answers = 'class="exercise"' in body
    scripts = dict.fromkeys([*(["piezas"] if needed or answers else []), *needed])
    keeps = ["quien", "equipaje"] if 'class="answers-kept"' in body and not answers else []
    own = ["python", "mesa", "quien", "propias", "ejercicios", "celdas"] if answers else []
    linked = ["enlaces"] if 'Explorer" id="' in body else []
    moves = ["minutos"] if 'class="paso"' in body else []
    finds = {"search": ["buscador"], "glosario": ["glosario"]}.get(pagename, [])
    names = ["temario", "progreso", *moves, *finds, *scripts, *(["exploradores", *linked, "modelo"] if kinds else []), "pagina", *own, *keeps]
    context["ours"] = {f"_static/{name}.js" for name in names}
    for name in names:
        told = {"piezas": {"data-version": app.models}}
        told["progreso"] = {"data-lesson": pagename} if pagename[:2].isdigit() else {}
        app.add_js_file(f"{name}.js", loading_method="defer", **told.get(name, {}))
    if pagename != "search":  # que carga el buscador
        files = context["script_files"]
        files[:] = [copy.deepcopy(file) for file in files if file.filename]  # se comparten
        for file in files:
            file.attributes["defer"] = "defer"
    words = re.sub(r"<(script|style|pre|h\d)\b.*?</\1>|<[^>]+>", " ", body, flags=re.DOTALL)
    paragraphs = re.findall(r"<p>(?!<img)(.*?)</p>", body, re.DOTALL)
    first = next((one for one in paragraphs if len(one) > 60), words)
    context["description"] = " ".join(html.unescape(re.sub("<[^>]+>", "", first)).split())[:200]
    if pagename[:2].isdigit():
        lesson = f"../{pagename}.html"
        for name, question, explorer in alone(body, lesson):
            found = {"title": context["title"], "question": question, "body": explorer}
            place = f"{lesson}#{name.partition('-')[2]}"
            app.alone[f"exploradores/{name}"] = found | {"lesson": place}
    app.styles = [file.filename for file in context["css_files"]]


def start(app):
    """Antes de leer: busca a qué celdas llevan los enlaces, y escribe los archivos que se hacen aquí."""
    notebooks = list(Path(app.srcdir).glob("**/*.ipynb"))
    linked = linked_cells(path.read_text(encoding="utf-8") for path in notebooks)
    app.env.course_links = linked, {path.stem[:2]: path.stem for path in notebooks}
    folder = Path(app.outdir, "_static")
    folder.mkdir(parents=True, exist_ok=True)
    found = json.dumps(syllabus(Path(app.srcdir)), ensure_ascii=False)
    for name, text in {
        "exploradores.js": program(),
        "explorer.css": sheet(HERE / "explorer.css", night="@media screen { html[data-theme='dark']"),
        "temario.js": f"(globalThis.course ??= {{}}).syllabus = {found};\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")


def more_pages(app):
    """La que da un servidor cuando no encuentra la que se le pide, desde cualquier carpeta; y la de cada
    explorador, que otra puede llevar dentro.
    """
    home = app.config.html_baseurl or "/"
    yield "404", {"title": "Esta página no está", "home": home}, "404.html"
    for name, context in app.alone.items():
        yield name, context, "explorador.html"


def setup(app):
    app.alone = {}
    app.add_config_value("homework", None, "env")
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("builder-inited", start)
    app.connect("html-collect-pages", more_pages)
    app.connect("source-read", read_source)
    app.connect("doctree-read", mark)
    app.connect("html-page-context", add_scripts, priority=900)
