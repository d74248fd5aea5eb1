"""14.4 · De un config a un modelo que habla: lo que escribe cada Llama, bien montado o con un fallo.

Los textos son de SmolLM2: una prueba los hace otra vez, con sus pesos.
"""

from course_checkers.engine import question

PROMPT, LONGEST = "The sun rises in the", 10
RIGHT = " sky, casting a golden glow over the horizon."
MISBUILT = {
    "parejas-entrelazadas": " sky, and the stars are shining, the sky",
    "base-fija": " sky, and the stars appear to move across the",
    "sin-girar": " sky, the sky, the sky, the horizon",
    "gira-al-revés": " sky, the sky, the the the the the",
    "gira-los-values": " east, and the stars of the sky are set",
    "cabezas-salteadas": " Prase PRCrase UPompomp Prase",
    "sin-máscara": " morning in the morning in the morning in the morning",
    "sin-escala": " standard 3.111.Final or",
    "escala-√d_model": " morning. The sun rises. The sun rises.",
    "norma-después": " dismant" * 10,
    "sin-norma-final": "|','|',' and" + "firehose" * 7,
    "layernorm": " sky, and the stars appear to move in a",
    "puerta-al-revés": "icsicsit-  necessitotene_{}_{}_{}",
    "relu": " by alea and stats with lle",
    "gelu": " horizon, casting a golden glow over the horizon below",
}


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
