"""Exploradores: piezas que responden a la mano, en el cuaderno.

Cada explorador son dos archivos con el mismo nombre: el de Python, el control que guarda su estado y
una función pura de él (`compute`; sus argumentos son los del control); el de JavaScript, que lo dibuja
sin esperar al kernel; y todos comparten `common.js` y `explorer.css`; algunos, también `sentences.js`.
Las cuentas que JavaScript repite para ir deprisa se comparan con las de Python en sus pruebas.

El texto que representa a un explorador describe su estado: es lo que ve quien lee el cuaderno donde
no hay controles, y lo que comparan las pruebas.
"""

from course_lib import lazy

# De cada uno: sus archivos; los de JavaScript que solo llevan algunos; y quién le contesta en el sitio.
EXPLORERS = {
    "AttentionExplorer": ("attention", ["sentences", "arcs"], "bert"),
    "BlocksExplorer": ("blocks", [], ""),
    "CrossAttentionExplorer": ("cross", ["sentences"], "translator"),
    "GeometryExplorer": ("geometry", ["goals"], ""),
    "InfluenceExplorer": ("influence", ["heatmap"], ""),
    "LearningExplorer": ("learning", ["goals", "heatmap"], ""),
    "LlmExplorer": ("llm", ["sentences"], ""),
    "MaskExplorer": ("mask", [], ""),
    "MultiHeadExplorer": ("heads", ["sentences", "goals"], "bert"),
    "QKVExplorer": ("qkv", ["sentences"], "bert"),
    "SeeExplorer": ("see", ["sentences", "sound"], ""),
    "SoftmaxExplorer": ("softmax", [], ""),
}
_MODULE_OF = {name: module for name, (module, *_) in EXPLORERS.items()}
__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
