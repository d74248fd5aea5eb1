"""16.3 · De la fotografía más grande, cuántos tokens, y cuánto crece la tabla de pesos."""

from course_checkers.engine import question

TOKENS = 32 * 24 + 1  # 448 × 336, con trozos de 14, y el del principio
GROWS = (TOKENS / 257) ** 2
QUESTIONS = (question(__file__, "16.3", "una fotografía más grande", lambda: (TOKENS, GROWS), {
    "sin-el-principio": lambda: (TOKENS - 1, ((TOKENS - 1) / 256) ** 2),
    "sin-el-principio#solo-tokens": lambda: (TOKENS - 1, GROWS),
    "crece-como-los-tokens": lambda: (TOKENS, TOKENS / 257),
    "los-de-siempre": lambda: (257, 1),
    "píxeles": lambda: (448 * 336, (448 * 336 / 50176) ** 2),
    "píxeles#uno-más": lambda: (448 * 336 + 1, ((448 * 336 + 1) / 257) ** 2),
    "por-filas": lambda: (32 + 24, (56 / 257) ** 2),
    "tres-colores": lambda: (3 * 768 + 1, ((3 * 768 + 1) / 257) ** 2),
}, kind="una pareja de números, como (1, 2.5)", read="16 §1", points=2),)  # fmt: skip
