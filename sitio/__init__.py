"""El sitio web del curso: ``python curso.py sitio``.

- ``build``: los pasos, con Sphinx, y la norma de seguridad de cada página.
- ``classes``: las clases, en diapositivas que se leen y se andan, y sus notas.
- ``conf``: los ajustes que lee Sphinx, y lo que se añade a cada página.
- ``exercises``: los ejercicios que se hacen en la página, y lo que Python necesita en ella.
- ``explorers``: los exploradores sin kernel, en un solo programa.
- ``formulas``: las fórmulas, en MathML.
- ``imitation``: lo que la página ejecuta en lugar de torch y del kernel.
- ``minutes``: «En seis minutos», la página que se mueve sola.
- ``notebook``: de un cuaderno guardado a lo que se lee en la web.
- ``pieces``: los modelos, en piezas que una página carga una a una.
- ``pyodide``: Python y NumPy para el navegador, tal como se publican.
- ``scorm``: el paquete que un aula virtual abre, y del que recibe las notas.
- ``search``: el buscador, apartado a apartado.
"""
