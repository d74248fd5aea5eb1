"""14.4 · De un config a un modelo que habla: lo que escribe cada Llama, bien montado o con un fallo."""

import tomllib
from pathlib import Path

from course_checkers.engine import question

PROMPT, LONGEST = "The sun rises in the", 10
TEXTS = tomllib.loads(Path(__file__).with_name("l14_texts.toml").read_text(encoding="utf-8"))
RIGHT, MISBUILT = TEXTS["right"], TEXTS["wrong"]


def apart(answer):
    """Cuántas palabras del principio son las buenas."""
    pairs = zip(answer.split(), RIGHT.lower().split())
    same = next((i for i, (yours, right) in enumerate(pairs) if yours != right), None)
    if same is None:
        return "Empieza bien: son diez tokens justos, sin el principio que se le da."
    return f"Palabras buenas al principio: {same}. Compara con 6, capa a capa."


WRONG = {name: lambda text=text: text for name, text in MISBUILT.items()}
QUESTIONS = (question(
    __file__, "14.4", "de un config a un modelo que habla", lambda: RIGHT, WRONG, kind="un texto",
    read="14 §5", points=2, explain=apart,
),)  # fmt: skip
