"""14.4 · Los parámetros de una capa de Llama, contados desde su configuración."""

from course_checkers.engine import question

D, HEADS, KV_HEADS, HIDDEN, LAYERS, VOCAB = 2048, 32, 8, 8192, 16, 128_256


def layer(kv_heads=KV_HEADS, queries=1, outputs=1, mlp=3, norms=2, bias=0):
    """Los parámetros de una capa, con otra cuenta si se pide."""
    d_k = D // HEADS
    attention = (queries + outputs) * D * D + 2 * D * kv_heads * d_k
    biases = 2 * D + 2 * kv_heads * d_k + 2 * HIDDEN + D
    return attention + mlp * D * HIDDEN + norms * D + bias * biases


MISCOUNTED = {
    "sin-compartir": lambda: layer(kv_heads=HEADS),
    "una-cabeza-de-kv": lambda: layer(kv_heads=1),
    "todas-como-las-keys": lambda: layer() - 2 * D * D + 2 * D * KV_HEADS * (D // HEADS),
    "sin-W_O": lambda: layer(outputs=0),
    "dos-matrices": lambda: layer(mlp=2),
    "dos-matrices-sin-compartir": lambda: layer(kv_heads=HEADS, mlp=2),
    "sin-normas": lambda: layer(norms=0),
    "una-norma": lambda: layer(norms=1),
    "normas-con-bias": lambda: layer(norms=4),
    "con-bias": lambda: layer(bias=1),
    "sin-compartir-ni-normas": lambda: layer(kv_heads=HEADS, norms=0),
    "solo-la-atención": lambda: layer(mlp=0, norms=0),
    "solo-la-red-densa": lambda: 3 * D * HIDDEN,
    "todas-las-capas": lambda: LAYERS * layer(),
    "todo-el-modelo": lambda: LAYERS * layer() + D + VOCAB * D,
    "reparte-d_model": lambda: layer() - 2 * D * KV_HEADS * (D // HEADS) + 2 * D * (D // KV_HEADS),
    "oculta-por-4": lambda: layer() - 3 * D * HIDDEN + 3 * D * 4 * HIDDEN,
}
QUESTIONS = (question(
    __file__, "14.4", "los parámetros de una capa", layer, MISCOUNTED, kind="un número entero",
    read="14 §5", points=2,
),)  # fmt: skip
