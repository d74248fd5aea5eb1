"""Las clases, como páginas que se leen y se andan, y sus notas, aparte. Es una extensión de Sphinx."""

import re

from course_tools.cells import tagged
from sitio.notebook import prose_cell

CUT = re.compile(r"</?section[^>]*>")
PERMALINK = re.compile(r'<a class="headerlink".*?</a>')
TITLE = re.compile(r"<h\d>(.*?)</h\d>", re.DOTALL)
END = "</div><!-- fin -->"
NOTES = re.compile(rf'<div class="notas">(.*?){END}', re.DOTALL)
BESIDE = re.compile(rf'<div class="(?:fragmento )?al-lado">.*?{END}', re.DOTALL)
MINUTES = re.compile(r"<strong>Minutos:</strong> (\d+)")
LOOKS = {"fragment": "fragmento", "notes": "notas"}


def for_slides(notebook):
    """Deja en una clase lo que se ve y sus notas, cada cosa en su caja."""
    cells = []
    for cell in notebook["cells"]:
        kind = cell["metadata"].get("slideshow", {}).get("slide_type")
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"].setdefault("tags", []).append("remove-input")
        look = " ".join(filter(None, [LOOKS.get(kind), "al-lado" * tagged(cell, "al-lado")]))
        box = [(f'<div class="{look}">', "abre"), (END, "cierra")] if look else []
        around = [prose_cell(cell, what, text) for text, what in box]
        cells += [] if kind == "skip" else [*around[:1], cell, *around[1:]]
    notebook["cells"] = cells
    notebook["metadata"] |= {"orphan": True, "nosearch": True}  # lo suyo está en la lección


def show(app, pagename, templatename, context, doctree):
    """La página de una clase: sus diapositivas, con su minuto y sin notas; y guarda las notas."""
    if not pagename.startswith("clases/"):
        return None
    context["script_files"].clear()  # los del tema mueven lo que aquí no está
    if not doctree:
        return None
    slides, clock = [], 0
    for part in filter(str.strip, CUT.split(PERMALINK.sub("", context["body"]))):
        notes = NOTES.search(part)[1]
        start, clock = clock, clock + int(MINUTES.search(notes)[1])
        title = TITLE.search(part)
        rest = NOTES.sub("", part.replace(title[0], ""))
        beside, rest = "".join(BESIDE.findall(rest)), BESIDE.sub("", rest)
        slides.append({"title": title, "notes": notes, "start": start, "end": clock})
        slides[-1] |= {"shown": rest, "beside": beside}
    context |= {"slides": slides, "lesson": pagename.partition("/")[2], "beside": app.config.class_notes}
    app.shown[pagename] = context["title"], slides
    for name in ("votos.js", "clase.js"):
        app.add_js_file(name, loading_method="defer")
    return "clase.html"


def notes(app):
    """Una página de notas por clase, si se piden."""
    for name, (title, slides) in app.shown.items() if app.config.class_notes else ():
        body = "".join(slide["notes"] for slide in slides)
        given = {"title": f"Notas · {title}", "slides": slides, "body": body, "notes": True}
        yield f"{name}-notas", given | {"lesson": name.partition("/")[2]}, "clase.html"


def setup(app):
    app.shown = {}
    app.add_config_value("class_notes", True, "html", bool)
    app.add_css_file("clase.css")
    app.connect("html-page-context", show)
    app.connect("html-collect-pages", notes)
