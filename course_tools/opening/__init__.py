"""Lo que abre el curso a quien estudia. Lo usa ``curso.py abrir``.

- ``copies``: tu copia de cada lección, y cómo se pone al día sin perder lo que has escrito.
- ``server``: arrancar JupyterLab, decir dónde está y cerrarlo en orden.
- ``doors``: las direcciones de las puertas que no piden instalar nada.
- ``progress``: el archivo en el que se guarda lo que has resuelto.
- ``library``: el archivo con lo que has escrito en cada ejercicio resuelto, ``mi_biblioteca.py``.
- ``contents``: dentro de JupyterLab, lo que es del curso se abre sin poder cambiarlo.

Los cinco primeros solo usan lo que trae Python.
"""
