"""Dónde está, en las lecciones, un apartado o lo que sigue: los enlaces de un informe."""

import re
from html import escape
from pathlib import Path

from course_tools.notebook import cells


def link(lesson, title, text=""):
    """Un enlace a la celda con ese título de la lección de al lado o, si no está, solo ``text``."""
    folder = Path("..") if Path.cwd().name == "soluciones" else Path()
    path = min(folder.glob(f"{lesson}_*.ipynb"), key=lambda path: len(path.name), default=folder)
    for _, source, name in cells(path, "markdown"):
        if match := re.search(f"^#+ ({title})", source, re.MULTILINE):
            href = escape(f"{path.as_posix()}#cell-id={name}")
            return f'<a href="{href}">{text or escape(match[1])}</a>'
    return text


def linked(text):
    """El HTML de un texto, con un enlace en cada apartado que nombra: «03 §3.1»."""
    section = r"(\d\d) §(\d+(?:\.\d+)?)"
    return re.sub(section, lambda m: link(m[1], re.escape(m[2]) + "[. ]", m[0]), escape(text))


def onward(number):
    """El HTML de un enlace al ejercicio siguiente o, si es el último, a la lección siguiente."""
    lesson, exercise = map(int, number.split("."))
    found = link(f"{lesson:02}", rf"Ejercicio {lesson}\.{exercise + 1} · .*")
    found = found or link(f"{lesson + 1:02}", f"{lesson + 1:02} · .*")
    return f"<p>Siguiente: {found}</p>" if found else ""
