"""13.4 · Cuánto ocupa la caché de keys y values."""

import math

from course_checkers.engine import question

LAYERS, HEADS, SHARED, D_K, D_MODEL, SENTENCES, TOKENS, BYTES = 28, 24, 8, 128, 3072, 5, 2000, 4
MEGABYTES = math.prod((2, LAYERS, SHARED, D_K, SENTENCES, TOKENS, BYTES)) / 1e6

# Lo que dice quien se equivoca, partido por lo bueno.
WRONG = {
    "con-todas-las-queries": HEADS / SHARED,
    "entre-h": 1 / SHARED,
    "entre-h/h_kv-otra-vez": SHARED / HEADS,
    "solo-las-keys": 1 / 2,
    "también-las-queries": (HEADS + 2 * SHARED) / (2 * SHARED),
    "tres-por-cabeza": 3 / 2,
    "en-bits": 8,
    "sin-bytes": 1 / BYTES,
    "una-capa": 1 / LAYERS,
    "una-frase": 1 / SENTENCES,
    "un-token": 1 / TOKENS,
    "un-token-de-una-frase": 1 / TOKENS / SENTENCES,
    "d_model-por-cabeza": D_MODEL / D_K,
    "tokens-al-cuadrado": TOKENS,
    "mebibytes": 1e6 / 2**20,
    "otra-unidad": 1e6,
    "otra-unidad#kB": 1e3,
    "otra-unidad#GB": 1e-3,
}
QUESTIONS = (question(
    __file__, "13.4", "cuánto ocupa la caché", lambda: MEGABYTES,
    {id: lambda f=f: f * MEGABYTES for id, f in WRONG.items()}, kind="un número de megabytes",
    read="13 §2.2",
),)  # fmt: skip
