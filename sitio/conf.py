"""El sitio web del curso, para Sphinx. Lo usa sitio/build.py."""

import json
import os
import re
from pathlib import Path

from docutils import nodes

from course_tools.opening.doors import badges
from sitio.notebook import FOLDS, OUTSIDE, for_the_web, linked_cells

project = "Atención paso a paso"
language = "es"
extensions = ["myst_nb"]
exclude_patterns = ["clases"]  # se presentan en JupyterLab
html_theme = "sphinx_book_theme"
html_title = project
html_favicon = "web/icono.svg"
html_static_path = ["web", "katex", "../imagenes/exploradores"]
html_css_files = ["katex.min.css", "sitio.css"]
html_use_index = html_copy_source = html_show_sourcelink = html_show_sphinx = (
    html_show_copyright
) = False
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "use_source_button": False,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "footer_content_items": "extra-footer.html",
    "extra_footer": "Los textos y las figuras, CC BY 4.0. El código, MIT.",
    "navbar_end": [],
    "navbar_persistent": [],
    "search_bar_text": "Buscar…",
}
html_context = {"default_mode": "auto"}
html_math_renderer = "katex"
nb_execution_mode = "off"
nb_code_prompt_show = "Ver lo que usa esta lección"
nb_code_prompt_hide = "Ocultarlo"
nb_ipywidgets_js = {}  # sin las direcciones de fuera
myst_enable_extensions = ["attrs_inline", "dollarmath", "substitution"]
url = os.environ.get("CURSO_URL")  # de dónde se descarga el curso, si está en algún sitio
myst_substitutions = {
    "curso": f"[Descarga el curso]({url})"
    if url
    else "Pídele el curso a quien te ha dado estas páginas",
    "puertas": badges(url),
}
myst_heading_anchors = 3


def read_source(app, docname, content):
    """Cada cuaderno, tal como se lee en la web."""
    if app.env.doc2path(docname).suffix == ".ipynb":
        notebook = json.loads(content[0])
        for_the_web(notebook, docname, *app.env.course_links)
        content[0] = json.dumps(notebook)
    else:
        content[0] = OUTSIDE.sub(r"\1", content[0])


def find_links(app):
    notebooks = list(Path(app.srcdir).glob("**/*.ipynb"))
    linked = linked_cells(path.read_text(encoding="utf-8") for path in notebooks)
    app.env.course_links = linked, {path.stem[:2]: path.stem for path in notebooks}


def fold_beside(app, doctree):
    """Pliega lo que está fuera del camino, menos el título y la frase que dice qué hay."""
    about = '<details class="beside"><summary>Desplegar</summary>'
    for comment in list(doctree.findall(nodes.comment)):
        if comment.astext() == FOLDS:
            comment.parent.append(nodes.raw("", "</details>", format="html"))
            comment.replace_self(nodes.raw("", about, format="html"))


def write_math(self, node):
    display = isinstance(node, nodes.math_block)
    tag, look = ("div", "math display") if display else ("span", "math")
    self.body.append(f'<{tag} class="{look}">{self.encode(node.astext())}</{tag}>')
    raise nodes.SkipNode


# Lo que hace contestar a cada explorador. Los que no están aquí no piden nada, salvo el del LLM, cuyo
# modelo no cabe en el sitio: `modelo.js` lo dice.
READS = ("wordpiece", "bert", "respuestas")
WRITES = ("bpe", "comprobaciones", "traductor")
ANSWERS = {"Attention": READS, "QKV": READS, "MultiHead": READS, "CrossAttention": WRITES}


def add_scripts(app, pagename, templatename, context, doctree):
    """Cada página lleva solo los programas que usa."""
    body = context.get("body", "")
    scripts = ["katex.min"] if 'class="math' in body else []
    kinds = set(re.findall(r'data-explorer="(\w+?)(?:Explorer)?"', body))
    needed = [name for kind in sorted(kinds) for name in ANSWERS.get(kind, ())]
    scripts += dict.fromkeys([*(["piezas"] if needed else []), *needed])
    scripts += [*(["modelo"] if kinds else []), "pagina"]
    for name in scripts:
        app.add_js_file(f"{name}.js", loading_method="defer")


def setup(app):
    app.add_html_math_renderer("katex", (write_math, None), (write_math, None))
    app.connect("builder-inited", find_links)
    app.connect("source-read", read_source)
    app.connect("doctree-read", fold_beside)
    app.connect("html-page-context", add_scripts)
