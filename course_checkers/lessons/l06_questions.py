"""6.3 y 6.4 · Las preguntas de la lección 06."""

import course_lib
from course_checkers.engine import question

HEADS, WIDTH = 8, 512  # las medidas del artículo


def parameters(bias=True, parts=4):
    """Los parámetros de la multicabeza del artículo, contados de verdad."""
    module = course_lib.MultiHeadAttention(HEADS, WIDTH, bias=bias)
    return sum(p.numel() for p in module.parameters()) // 4 * parts


SENTENCE, LAYER = "I gave the dog a bone because it was hungry", 4


def given(step, layer=LAYER):
    """Lo que cada cabeza da, de media, al token que está ``step`` lugares más allá: (h,)."""
    weights = course_lib.extract_embeddings(SENTENCE).attentions[layer][0]
    return weights.diagonal(step, dim1=-2, dim2=-1).mean(dim=-1)


def busiest(step, layer=LAYER):
    """La cabeza que más peso da, de media, al token que está ``step`` lugares más allá."""
    return int(given(step, layer).argmax())


def outdone(head):
    """Por qué no es esa cabeza, sin decir cuál es."""
    if not float(head).is_integer():
        return "Se pide el número de la cabeza, un entero, y no su peso."
    averages = given(1)
    if head not in range(len(averages)):
        return f"Las cabezas van de la 0 a la {len(averages) - 1}."
    return f"Esa da al siguiente {averages[int(head)]:.2f} de media; hay otra que da más."


QUESTIONS = (
    question(__file__, "6.3", "cuántos parámetros", parameters, {
        "parámetros-por-cabezas": lambda: HEADS * parameters(),
        "parámetros-por-cabezas#tres": lambda: parameters(parts=3) * HEADS + parameters(parts=1),
        "sin-sesgos": lambda: parameters(bias=False),
        "sin-W_O": lambda: parameters(parts=3),
        "sin-sesgos-ni-W_O": lambda: parameters(bias=False, parts=3),
        "una-cabeza": lambda: parameters() // HEADS,
        "una-cabeza#tres": lambda: parameters(parts=3) // HEADS + parameters(parts=1),
        "sesgo-de-uno": lambda: 4 * (WIDTH * WIDTH + 1),
        "una-capa": lambda: parameters(parts=1),
        "suma-de-medidas": lambda: 4 * (2 * WIDTH),
    }, kind="un número entero", read="06 §9"),
    question(__file__, "6.4", "la cabeza que más mira al siguiente", lambda: busiest(1), {
        "anterior": lambda: busiest(-1),
        "diagonal": lambda: busiest(0),
        "cuenta-desde-1": lambda: busiest(1) + 1,
        "capa-desde-1": lambda: busiest(1, LAYER - 1),
    }, kind="el número de una cabeza, de 0 a 11", read="06 §6.1", explain=outdone),
)  # fmt: skip
