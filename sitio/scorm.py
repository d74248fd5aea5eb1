"""El sitio, en un paquete SCORM 1.2: lo que sale al comprobar va al libro de notas de un aula virtual.

Todo el sitio es un SCO: Moodle da una nota por actividad y, si hay varios, se queda con la del mejor.
"""

import json
from pathlib import Path
from urllib.parse import quote

from jinja2 import Template

from course_tools.homework import lesson_of

PACKAGE = Path(__file__).parent / "paquete"
TITLE = "Atención paso a paso"


def package(site, task):
    """Lo que lleva el paquete, nombre → bytes: el sitio, la página que abre el aula y el manifiesto."""
    first = next(iter(task.points))
    pages = [name for name in sorted(site) if name.startswith(f"{lesson_of(first)}_")]
    told = {"first": f"{pages[0]}#responde-{first}" if task.said else "index.html"}
    told["lessons"] = [{"most": task.most(one), "points": task.of(one)} for one in task.lessons()]
    told["total"] = sum(lesson["most"] for lesson in told["lessons"])
    facts = {"title": (task.title or TITLE)[:200], "asked": json.dumps(told).replace("<", "\\u003c")}
    files = site | {path.name: path.read_bytes() for path in PACKAGE.glob("*.xsd")}
    files["lms.html"] = filled("lms.html", facts)
    facts["names"] = map(quote, sorted(files))
    return files | {"imsmanifest.xml": filled("imsmanifest.xml", facts)}


def filled(name, facts):
    return Template((PACKAGE / name).read_text("utf-8"), autoescape=True).render(facts).encode()
