"""Dibujar tensores: entra un tensor, sale una figura que sabe describirse con palabras.

Las funciones son puras: no cambian lo que reciben ni tocan el estado global de matplotlib.
Aceptan tensores (con gradiente o sin él), arrays y listas. Cada una devuelve una
``CourseFigure``: en un cuaderno se ve como imagen, con su descripción como texto alternativo.
Lo que no se puede dibujar es un ``ValueError`` que dice qué ha llegado y qué hace falta.

- ``heatmaps``, ``charts`` y ``vectors``: las gráficas.
- ``figure``: la figura que devuelven; ``inputs``, lo que comprueban de lo que reciben.
- ``palette``: los colores y la letra de todo el curso, también los de ``imagenes``.
- ``source``: enseñar el código de la biblioteca, con ``show_source``.
"""

from course_lib import lazy

# Nombre público → módulo. Se importa al usarlo: los colores no cargan matplotlib.
_MODULE_OF = {
    "CourseFigure": "figure", "describe": "figure", "plot_distributions": "charts",
    "plot_heads": "heatmaps", "plot_heatmap": "heatmaps", "plot_lines": "charts",
    "plot_patches": "heatmaps", "plot_rows": "charts", "plot_seconds": "heatmaps", "plot_stacks": "charts",
    "plot_vectors": "vectors",
}  # fmt: skip
__all__ = sorted(_MODULE_OF)
__getattr__, __dir__ = lazy(__name__, _MODULE_OF)
