"""Las notas, en el libro de nbgrader: para corregirlas a mano o exportarlas a donde él exporta."""

import os
import sys
import warnings

import entregas

NONE = "  (sin nbgrader, no hay gradebook.db)"
FAILED = "  (gradebook.db no se ha podido escribir: {})"
MADE = "  gradebook.db, lo mismo en el libro de nbgrader"


def write(people, folder, marks_of):
    """Escribe ``gradebook.db`` y dice cómo ha ido. Sin nbgrader, lo demás está igual."""
    try:
        fill(people, folder, marks_of)
    except ImportError:
        return NONE
    except Exception as error:  # el libro es de otra versión, o no se deja escribir
        return FAILED.format(error)
    return MADE


def fill(people, folder, marks_of):
    """Pone en el libro las lecciones, las personas y sus puntos; lo que ya estaba se pone al día."""
    place = os.environ.get("CURSO_NBGRADER", "")  # lo instala curso.py, fuera del entorno
    sys.path += [place] if place else []
    os.environ["PYTHONPATH"] = place  # nbgrader llama por su nombre al programa ``alembic``
    os.environ["PATH"] = os.pathsep.join([f"{place}/bin", os.environ.get("PATH", "")])
    from nbgrader.api import Gradebook

    lessons = sorted({lesson for person in people for lesson in person["lessons"]})
    warnings.simplefilter("ignore")  # los de ``sqlalchemy`` sobre nbgrader
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        for number in lessons:
            lesson = entregas.lessons()[number]
            book.update_or_create_assignment(lesson.name)
            book.update_or_create_notebook(lesson.name, lesson.name)
            for one, points in lesson.points.items():
                cell = f"comprobacion-{one.replace('.', '-')}"
                book.update_or_create_grade_cell(
                    cell, lesson.name, lesson.name, max_score=points, cell_type="code"
                )
        for person in people:
            book.update_or_create_student(person["name"], lms_user_id=person["id"] or None)
            for number in person["lessons"]:
                name = entregas.lessons()[number].name
                book.update_or_create_submission(name, person["name"])
                for one, mark in marks_of(person, number).items():
                    cell = f"comprobacion-{one.replace('.', '-')}"
                    grade = book.find_grade(cell, name, name, person["name"])
                    grade.auto_score, grade.needs_manual_grade = mark, False
        book.db.commit()
