"""El traductor por dentro: sus pesos, con su ficha (``README.md``), y cómo se leen.

- ``model.safetensors``, ``config.json`` y ``tokenizer.json``: el modelo; ``words.json``, las palabras
  que ha visto. ``weights`` los lee.
- ``marks``: los ids de relleno, inicio y fin, aquí y en ningún otro sitio.
- ``checks``: lo que se comprueba de lo que has escrito y de lo que ha salido; ``pieces``, cómo se
  juntan en palabras los trozos.
"""
