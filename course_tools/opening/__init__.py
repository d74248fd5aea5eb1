"""Lo que abre el curso a quien estudia. Lo usa ``curso.py abrir``.

- ``copies``: tu copia de cada lección, y cómo se pone al día sin perder lo que has escrito.
- ``server``: arrancar JupyterLab, decir dónde está y cerrarlo en orden.
- ``doors``: las direcciones de las puertas que no piden instalar nada.
- ``progress``: el archivo en el que se guarda lo que has resuelto.
- ``contents``: dentro de JupyterLab, lo que es del curso se abre sin poder cambiarlo.

Los cuatro primeros solo usan lo que trae Python.
"""
