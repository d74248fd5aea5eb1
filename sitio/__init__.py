"""El sitio web del curso: ``python curso.py sitio``.

- ``build``: los pasos, con Sphinx, y la norma de seguridad de cada página.
- ``conf``: los ajustes que lee Sphinx, y lo que se añade a cada página.
- ``explorers``: los exploradores sin kernel, en un solo programa.
- ``formulas``: las fórmulas, en MathML.
- ``minutes``: «En seis minutos», la página que se mueve sola.
- ``notebook``: de un cuaderno guardado a lo que se lee en la web.
- ``pieces``: los modelos, en piezas que una página carga una a una.
"""
