"""El traductor por dentro: sus pesos, con su ficha (``README.md``), y cómo se entrena uno.

- ``model.safetensors``, ``config.json`` y ``tokenizer.json``: el modelo; ``words.json``, las palabras
  que ha visto. ``weights`` los lee.
- ``marks``: los ids de relleno, inicio y fin, aquí y en ningún otro sitio.
- ``checks``: lo que se comprueba de lo que has escrito y de lo que ha salido; ``pieces``, cómo se
  juntan en palabras los trozos.
- ``training``: los pasos de un entrenamiento; ``grammar``, las frases del juguete de la lección 10.
- ``train_translator``: el programa que entrenó el del curso. ``sentences``, ``tokens`` y
  ``checkpoints``: cómo cambia las frases, cómo las parte y cómo sigue si se corta.
- ``phrase_book``: los saludos, las horas, los precios… que se le añadieron; sus palabras y sus moldes,
  en ``phrase_book.json``.
"""
