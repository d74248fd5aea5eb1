"""Las preguntas de la lección 09: la forma de los pesos cruzados y los parámetros de dos anchuras."""

import functools
import warnings

import course_lib
from course_checkers.engine import question
from course_lib.attention import MultiHeadAttention

PAIR = ("The cat drank the milk because it was thirsty", "El gato bebió la leche porque tenía sed")


@functools.cache
def tokens_of_the_pair():
    """Cuántos tokens tienen las dos frases, con sus marcas; la española, sin la última."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # el tokenizador avisa de las tildes que pierde
        english, spanish = map(course_lib.extract_embeddings, PAIR)
    return len(spanish.tokens[0]) - 1, len(english.tokens[0])


SHAPES = {
    # De m_D y m_E, la forma que se contesta.
    "ejes-cambiados": lambda m_D, m_E: (1, 12, m_E, m_D),
    "cuadrada-del-origen": lambda m_D, m_E: (1, 12, m_E, m_E),
    "cuadrada-del-destino": lambda m_D, m_E: (1, 12, m_D, m_D),
    "sin-desplazar": lambda m_D, m_E: (1, 12, m_D + 1, m_E),
    "sin-desplazar-y-cambiados": lambda m_D, m_E: (1, 12, m_E, m_D + 1),
    "sin-marcas": lambda m_D, m_E: (1, 12, m_D - 1, m_E - 2),
    "cuenta-palabras": lambda *_: (1, 12, *(len(sentence.split()) for sentence in PAIR[::-1])),
    "sin-cabezas": lambda m_D, m_E: (1, m_D, m_E),
    "solo-la-tabla": lambda m_D, m_E: (m_D, m_E),
    "sin-lote": lambda m_D, m_E: (12, m_D, m_E),
    "cabezas-al-final": lambda m_D, m_E: (1, m_D, m_E, 12),
    "forma-de-la-salida": lambda m_D, m_E: (1, m_D, 384),
}
ANSWERS = {name: lambda f=shape: f(*tokens_of_the_pair()) for name, shape in SHAPES.items()}


@functools.cache
def parameters(kdim=1024, vdim=1024):
    block = MultiHeadAttention(8, 512, kdim=kdim, vdim=vdim)
    return sum(parameter.numel() for parameter in block.parameters())


QUESTIONS = (
    question(
        __file__, "9.3", "la forma de los pesos cruzados", lambda: (1, 12, *tokens_of_the_pair()), ANSWERS,
        kind="una forma, como (1, 2, 3)", read="09 §5",
    ),
    question(__file__, "9.4", "los parámetros de una cruzada con dos anchuras", parameters, {
        "todo-512": lambda: parameters(512, 512),
        "sin-sesgos": lambda: parameters() - 4 * 512,
        "todo-512-sin-sesgos": lambda: parameters(512, 512) - 4 * 512,
        "sin-W_O": lambda: parameters() - 512 * 513,
        "sin-W_O-ni-sesgos": lambda: parameters() - 512 * 513 - 3 * 512,
        "solo-las-keys": lambda: parameters(vdim=512),
        "por-las-cabezas": lambda: parameters() * 8,
        "todo-1024": lambda: 4 * (1024 * 512 + 512),
        "todo-del-encoder": lambda: 4 * (1024 * 1024 + 1024),
    }, read="09 §9.1"),
)  # fmt: skip
