"""Lo que usa un ejercicio: qué errores se cometen, cómo se buscan y cómo se cuentan."""

from course_lib.checkers.engine.comparing import same, show
from course_lib.checkers.engine.exercise import Case, Exercise
from course_lib.checkers.engine.mistakes import Option, told, ways
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.questions import Question, wrong_answers
from course_lib.checkers.engine.reading import Numbers, Pair, Tensors
from course_lib.checkers.engine.report import Finding
from course_lib.checkers.engine.search import Raised, Stage

__all__ = [
    "Case", "Exercise", "Finding", "Numbers", "Option", "Pair", "Question", "Raised", "Stage",
    "Tensors", "finish", "same", "show", "told", "ways", "wrong_answers",
]  # fmt: skip
