"""Lo que la página ejecuta en lugar de torch y del kernel.

- ``page``: ejecutar una respuesta y comprobarla, en el navegador.
- ``torch``: la imitación, sobre NumPy.
"""
