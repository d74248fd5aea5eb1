"""Exploradores: piezas que responden a la mano, en el cuaderno.

Cada explorador son dos archivos con el mismo nombre: el de Python, una función pura de su estado
(`compute`) y el control que lo guarda; el de JavaScript, que lo dibuja sin esperar al kernel; y los
dos comparten `common.js` y `explorer.css`; algunos, también `sentences.js`. Las
cuentas que JavaScript repite para ir deprisa se comparan con las de Python en
`tests/test_explorers.py`.

El texto que representa a un explorador describe su estado: es lo que ve quien lee el cuaderno donde
no hay controles, y lo que comparan las pruebas.
"""

from course_lib import lazy

_MODULE_OF = {
    "AttentionExplorer": "attention", "BlocksExplorer": "blocks",
    "CrossAttentionExplorer": "cross", "GeometryExplorer": "geometry",
    "InfluenceExplorer": "influence", "LearningExplorer": "learning", "LlmExplorer": "llm",
    "MaskExplorer": "mask", "MultiHeadExplorer": "heads", "QKVExplorer": "qkv", "SeeExplorer": "see",
    "SoftmaxExplorer": "softmax",
}  # fmt: skip
__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
