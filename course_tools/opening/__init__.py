"""Lo que abre el curso a quien estudia. Lo usa ``curso.py abrir``.

- ``copies``: tu copia de cada lección, y cómo se pone al día sin perder lo que has escrito.
- ``server``: arrancar JupyterLab, decir dónde está y cerrarlo en orden.
- ``doors``: las direcciones de las puertas que no piden instalar nada.
- ``progress``: el archivo en el que se guarda lo que has resuelto.
- ``desk``: lo que enseña el panel «Curso», y por dónde va quien estudia.
- ``library``: el archivo con lo que has escrito en cada ejercicio resuelto, ``mi_biblioteca.py``.
- ``contents``: dentro de JupyterLab, lo que es del curso no se cambia; al editarlo, solo lo que se escribe.

Todos menos ``contents`` solo usan lo que trae Python.
"""
