"""11.2 · Con qué frecuencia acierta una flecha que no es admisible."""

from course_checkers.engine import question

# Las palabras; las que señalan a la más cara; las de flecha admisible; y las que son las dos cosas.
WORDS, COSTLIEST, ADMISSIBLE, BOTH = 200, 150, 180, 147
RIGHT = COSTLIEST - BOTH, WORDS - ADMISSIBLE

# La fracción que dice quien se equivoca: lo de arriba y lo de abajo.
WRONG = {
    "de-todas-las-palabras": (RIGHT[0], WORDS),
    "de-las-que-coinciden": (RIGHT[0], COSTLIEST),
    "de-las-admisibles": (RIGHT[0], ADMISSIBLE),
    "las-admisibles": (BOTH, ADMISSIBLE),
    "todas": (COSTLIEST, WORDS),
    "las-que-no-coinciden": (RIGHT[1] - RIGHT[0], RIGHT[1]),
    "las-admisibles-que-no-coinciden": (ADMISSIBLE - BOTH, ADMISSIBLE),
    "ninguna-coincide": (0, 1),
    "cuántas-flechas": (RIGHT[1], WORDS),
    "las-que-fallan": (WORDS - COSTLIEST, WORDS),
    "sin-dividir": (RIGHT[0], 1),
    "en-porcentaje": (100 * RIGHT[0], RIGHT[1]),
}
QUESTIONS = (question(
    __file__, "11.2", "cuando la flecha engaña", lambda: RIGHT[0] / RIGHT[1],
    {id: lambda f=f: f[0] / f[1] for id, f in WRONG.items()}, kind="un número, entre 0 y 1",
    read="11 §3.1",
),)  # fmt: skip
