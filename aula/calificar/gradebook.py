"""Las notas, en el libro de nbgrader: para corregirlas a mano o exportarlas a donde él exporta."""

import os
import shutil
import sys
import warnings
from urllib.parse import quote

from aula.calificar import submissions


def beside():
    """Pone a mano lo que instala curso.py fuera del entorno, nbgrader y XlsxWriter, y dice dónde está."""
    place = os.environ.get("CURSO_NBGRADER", "")
    sys.path += [place] if place and place not in sys.path else []
    return place


def write(people, folder):
    """Escribe ``gradebook.db``, entero o nada, y si no está nbgrader lo dice: lo demás está igual."""
    place = beside()
    os.environ["PYTHONPATH"] = place  # nbgrader llama por su nombre al programa ``alembic``
    os.environ["PATH"] = os.pathsep.join([f"{place}/bin", os.environ.get("PATH", "")])
    warnings.simplefilter("ignore")  # los de ``sqlalchemy`` sobre nbgrader
    try:
        from nbgrader import dbutil
        from nbgrader.api import Gradebook
    except ImportError:
        return "  (sin nbgrader, no hay gradebook.db)"
    path, half = folder / "gradebook.db", folder / ".gradebook-a-medias.db"
    try:
        if path.exists():
            shutil.copyfile(path, half)
        dbutil.ALEMBIC_DIR = dbutil.ALEMBIC_DIR.replace("%", "%%")  # va en un archivo de configuración
        with Gradebook(f"sqlite:///{quote(str(half))}") as book:
            fill(book, people)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
    return None


def fill(book, people):
    """Pone en el libro las lecciones, las personas y sus puntos; lo que ya estaba se pone al día."""
    for person in people:
        who = person["name"]
        book.update_or_create_student(who, lms_user_id=person["id"] or None)
        for lesson in (submissions.lessons()[number] for number in person["lessons"]):
            name = lesson.name
            book.update_or_create_assignment(name)
            book.update_or_create_notebook(name, name)
            for one in person["lessons"][lesson.number]["exercises"]:
                cell = f"comprobacion-{one['exercise'].replace('.', '-')}"
                given = {"max_score": one["points"], "cell_type": "code"}
                book.update_or_create_grade_cell(cell, name, name, **given)
            book.update_or_create_submission(name, who)
            for one in lesson.points.keys() & person["marks"].keys():
                grade = book.find_grade(f"comprobacion-{one.replace('.', '-')}", name, name, who)
                grade.auto_score, grade.needs_manual_grade = person["marks"][one], False
    book.db.commit()
