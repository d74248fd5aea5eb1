"""Lo que abre el curso a quien estudia. Lo usa ``curso.py abrir``.

- ``copies``: tu copia de cada lección, y cómo se pone al día sin perder lo que has escrito.
- ``server``: arrancar JupyterLab, decir dónde está y cerrarlo en orden.
- ``contents``: dentro de JupyterLab, lo que es del curso se abre sin poder cambiarlo.

Los dos primeros solo usan lo que trae Python.
"""
