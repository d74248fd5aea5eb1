"""15.4 · En cuántos estados gana una palabra, con la lente de logits y con ella mal hecha.

Los números son los de SmolLM2: están escritos, para que se pueda comprobar sin él, y una prueba los
vuelve a contar.
"""

from course_checkers.engine import question

TEXT, WORD, STATES = "The opposite of big is", " small", 31
WINS = 3, 0
QUESTIONS = (question(__file__, "15.4", "¿hace falta la norma?", lambda: WINS, {
    "la-norma-da-igual": lambda: (3, 3),
    "quita-la-salida": lambda: (2, 0),
    "solo-la-salida": lambda: (1, 0),
    "dice-el-estado": lambda: (28, 0),
    "otra-posición": lambda: (0, 0),
    "al-revés": lambda: (0, 3),
}, kind="una pareja de números, como (1, 2)", read="15 §3", points=2),)  # fmt: skip
